#include "run/ensemble.hpp"

#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "chains/minimizer.hpp"
#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "mechanism/minimizer_reach.hpp"

namespace gibbsite {

std::vector<double> Task::minimizer(double beta, double prior_precision, double tolerance) const {
  // Public numbers: a plan that was not edited has passed this.
  if (!minimizer_in_reach(problem, beta, prior_precision,
                          problem.smoothness_up(beta, prior_precision), tolerance)) {
    throw Infeasible(format_message(
        "the minimizer cannot be computed to within its public tolerance {:.3g}; use {} path",
        tolerance, Field{"mechanism"}));
  }
  return minimizer_within(potential(beta, prior_precision), problem.full_row_norm_up(), tolerance);
}

EnsembleRun::EnsembleRun(std::vector<ChainSpec> specs, const Task& task) : task_(task) {
  for (std::size_t c = 0; c < specs.size(); ++c) {
    specs[c].center = task.model.center;
    specs[c].stream = static_cast<std::uint32_t>(c);
  }
  ensemble_ = start(std::move(specs), task.features());
}

std::vector<ChainSpec> EnsembleRun::single_steps(double ridge, const Task& task) {
  return std::vector<ChainSpec>(
      task.draws, {.inverse_temperature = 1, .prior_precision = ridge, .key = task.key});
}

std::uint64_t EnsembleRun::done() const {
  return std::accumulate(ensemble_.step.begin(), ensemble_.step.end(), std::uint64_t{0});
}

std::uint64_t EnsembleRun::total() const {
  std::uint64_t out = 0;
  for (const ChainSpec& spec : ensemble_.specs) out += spec.iterations;
  return out;
}

std::vector<std::vector<double>> EnsembleRun::draws() const {
  std::vector<std::vector<double>> out;
  for (std::size_t c = 0; c < ensemble_.chains(); ++c) {
    out.emplace_back(ensemble_.chain(c).begin(), ensemble_.chain(c).end());
  }
  return out;
}

void EnsembleRun::save(Checkpoint& checkpoint) const {
  checkpoint.theta = ensemble_.theta;
  checkpoint.step = ensemble_.step;
}

bool EnsembleRun::fits(const Checkpoint& checkpoint) const {
  bool fits = checkpoint.theta.size() == ensemble_.theta.size() &&
              checkpoint.step.size() == ensemble_.chains();
  for (std::size_t c = 0; fits && c < ensemble_.chains(); ++c) {
    fits = checkpoint.step[c] <= ensemble_.specs[c].iterations;
  }
  return fits;
}

void EnsembleRun::restore(const Checkpoint& checkpoint) {
  ensemble_.theta = checkpoint.theta;
  ensemble_.step = checkpoint.step;
}

}  // namespace gibbsite
