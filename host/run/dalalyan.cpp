// Runs of dalalyan: Langevin chains from a Gaussian around a minimizer.
#include <cmath>

#include "run/ensemble.hpp"

namespace gibbsite {
namespace {

class DalalyanRun final : public EnsembleRun {
 public:
  DalalyanRun(const Dalalyan& settings, const Task& task)
      : EnsembleRun(langevin_chains(settings, task), task), settings_(settings) {}

  void begin() override {
    const double beta = settings_.beta, m = settings_.prior_precision;
    start_at_random(ensemble_, task_.minimizer(beta, m, settings_.start_gradient_norm),
                    1 / std::sqrt(task_.problem.smoothness_up(beta, m)));
  }

 private:
  Dalalyan settings_;
};

}  // namespace

std::unique_ptr<MechanismRun> sampler_of(const Dalalyan& settings, const Task& task) {
  return std::make_unique<DalalyanRun>(settings, task);
}

}  // namespace gibbsite
