// Runs of dalalyan: Langevin chains from a Gaussian around a minimizer.
#include <cmath>

#include "run/ensemble.hpp"

namespace gibbsite {
namespace {

class DalalyanSampler final : public EnsembleSampler {
 public:
  DalalyanSampler(const Dalalyan& settings, const Task& task)
      : EnsembleSampler(langevin_chains(settings, task), task), settings_(settings) {}

  void begin() override {
    const double beta = settings_.beta, m = settings_.prior_precision;
    start_at_random(ensemble_, task_.minimizer(beta, m, settings_.start_gradient_norm),
                    1 / std::sqrt(task_.problem.smoothness_up(beta, m)));
  }

 private:
  Dalalyan settings_;
};

}  // namespace

std::unique_ptr<Sampler> sampler_of(const Dalalyan& settings, const Task& task) {
  return std::make_unique<DalalyanSampler>(settings, task);
}

}  // namespace gibbsite
