// Runs of averaged: Langevin chains from a minimizer, each stopped at a step drawn at random.
#include "run/ensemble.hpp"

namespace gibbsite {
namespace {

class AveragedRun final : public EnsembleRun {
 public:
  AveragedRun(const Averaged& settings, const Task& task)
      : EnsembleRun(stopped_chains(settings, task), task), settings_(settings) {}

  void begin() override {
    start_at_random(
        ensemble_,
        task_.minimizer(settings_.beta, settings_.prior_precision, settings_.start_gradient_norm),
        0);
  }

 private:
  static std::vector<ChainSpec> stopped_chains(const Averaged& m, const Task& task) {
    std::vector<ChainSpec> out = langevin_chains(m, task);
    for (std::size_t c = 0; c < out.size(); ++c) {
      std::uint64_t word = 0;
      fill_words(task.key, static_cast<std::uint32_t>(c), stop_step, {&word, 1});
      out[c].iterations = static_cast<std::uint64_t>(
          averaged_stop(m.prior_precision, m.step_size, m.iterations, word));
    }
    return out;
  }

  Averaged settings_;
};

}  // namespace

std::unique_ptr<MechanismRun> sampler_of(const Averaged& settings, const Task& task) {
  return std::make_unique<AveragedRun>(settings, task);
}

}  // namespace gibbsite
