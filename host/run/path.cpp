// Runs of path: Langevin chains from theta0, whose steps say nothing of the data.
#include "run/ensemble.hpp"

namespace gibbsite {
namespace {

class PathRun final : public EnsembleRun {
 public:
  PathRun(const Path& settings, const Task& task)
      : EnsembleRun(langevin_chains(settings, task), task), ball_(settings.ball) {}

  void advance(std::uint64_t steps) override {
    if (ball_ > 0) {
      advance_in_ball(*task_.engine, ensemble_, ball_, steps);
    } else {
      EnsembleRun::advance(steps);
    }
  }

 private:
  double ball_;
};

}  // namespace

std::unique_ptr<MechanismRun> sampler_of(const Path& settings, const Task& task) {
  return std::make_unique<PathRun>(settings, task);
}

}  // namespace gibbsite
