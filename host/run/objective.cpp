// Runs of objective and objective-pure: a minimizer for every draw, about a center that its noise
// has moved.
#include <fmt/format.h>

#include "chains/minimizer.hpp"
#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "run/ensemble.hpp"
#include "run/gaussian_mechanism.hpp"

namespace gibbsite {
namespace {

template <NoiseLaw law>
class ObjectiveRun final : public EnsembleRun {
 public:
  ObjectiveRun(const PerturbedObjective<law>& settings, const Task& task)
      : EnsembleRun(single_steps(settings.ridge, task), task), settings_(settings) {}

  void advance(std::uint64_t steps) override {
    const double search = objective_search_norm_down(settings_, task_.problem);
    if (!(analyze(settings_, task_.problem, task_.who, task_.draws).guarantee.tv < 1)) {
      throw Infeasible(format_message(
          "the minimizer cannot be computed to within its public tolerance {:.3g}; use {} path",
          search, Field{"mechanism"}));
    }
    for (std::size_t c = 0; c < ensemble_.chains() && steps > 0; ++c) {
      if (ensemble_.step[c] == 1) continue;
      const ChainSpec& spec = ensemble_.specs[c];
      std::vector<double> center(ensemble_.chain(c).size());
      fill_noise(law, settings_.noise, {task_.key, spec.stream, 0}, center);
      for (std::size_t j = 0; j < center.size(); ++j) {
        center[j] = (spec.center.empty() ? 0.0 : spec.center[j]) - center[j] / settings_.ridge;
      }
      const Potential u{task_.engine, 1, settings_.ridge, center};
      const std::uint64_t last = law == NoiseLaw::pure ? 2 : start_step;
      add_noise(law, settings_.output_noise, {task_.key, spec.stream, last},
                minimizer_within(u, task_.problem.full_row_norm_up(), search), ensemble_.chain(c));
      ensemble_.step[c] = 1;
      --steps;
    }
  }

 private:
  PerturbedObjective<law> settings_;
};

}  // namespace

std::unique_ptr<MechanismRun> sampler_of(const ObjectivePerturbation& settings, const Task& task) {
  return std::make_unique<ObjectiveRun<NoiseLaw::gaussian>>(settings, task);
}
std::unique_ptr<MechanismRun> sampler_of(const PureObjectivePerturbation& settings,
                                         const Task& task) {
  return std::make_unique<ObjectiveRun<NoiseLaw::pure>>(settings, task);
}

}  // namespace gibbsite
