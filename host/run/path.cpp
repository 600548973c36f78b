// Runs of path: Langevin chains from theta0, whose steps say nothing of the data.
#include "run/ensemble.hpp"

namespace gibbsite {
namespace {

class PathSampler final : public EnsembleSampler {
 public:
  PathSampler(const Path& settings, const Task& task)
      : EnsembleSampler(langevin_chains(settings, task), task), ball_(settings.ball) {}

  void advance(std::uint64_t steps) override {
    if (ball_ > 0) {
      advance_in_ball(*task_.engine, ensemble_, ball_, steps);
    } else {
      EnsembleSampler::advance(steps);
    }
  }

 private:
  double ball_;
};

}  // namespace

std::unique_ptr<Sampler> sampler_of(const Path& settings, const Task& task) {
  return std::make_unique<PathSampler>(settings, task);
}

}  // namespace gibbsite
