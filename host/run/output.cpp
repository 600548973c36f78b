// Runs of output and output-pure: one minimizer, and noise of its own for every draw.
#include <algorithm>

#include "run/ensemble.hpp"
#include "run/gaussian_mechanism.hpp"

namespace gibbsite {
namespace {

template <NoiseLaw law>
class OutputRun final : public EnsembleRun {
 public:
  OutputRun(const PerturbedMinimizer<law>& settings, const Task& task)
      : EnsembleRun(single_steps(settings.ridge, task), task), settings_(settings) {}

  void advance(std::uint64_t /*steps*/) override {
    const auto minimizer = task_.minimizer(1, settings_.ridge, settings_.gradient_norm);
    const std::uint64_t step = law == NoiseLaw::pure ? 0 : start_step;
    for (std::size_t c = 0; c < ensemble_.chains(); ++c) {
      add_noise(law, settings_.noise, {task_.key, ensemble_.specs[c].stream, step}, minimizer,
                ensemble_.chain(c));
    }
    std::ranges::fill(ensemble_.step, 1);
  }

 private:
  PerturbedMinimizer<law> settings_;
};

}  // namespace

std::unique_ptr<MechanismRun> sampler_of(const OutputPerturbation& settings, const Task& task) {
  return std::make_unique<OutputRun<NoiseLaw::gaussian>>(settings, task);
}
std::unique_ptr<MechanismRun> sampler_of(const PureOutputPerturbation& settings, const Task& task) {
  return std::make_unique<OutputRun<NoiseLaw::pure>>(settings, task);
}

}  // namespace gibbsite
