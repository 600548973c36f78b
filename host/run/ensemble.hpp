#pragma once
// Runs whose chains are an ensemble: Langevin chains, and noise about one minimizer.
#include <cstdint>
#include <vector>

#include "gibbsite/engine/ensemble.hpp"
#include "run/mechanism_run.hpp"

namespace gibbsite {

/// Chains that are an ensemble; each step is one of the engine's.
class EnsembleRun : public MechanismRun {
 public:
  void begin() override {}
  void advance(std::uint64_t steps) override { task_.engine->advance(ensemble_, steps); }
  [[nodiscard]] std::uint64_t done() const override;
  [[nodiscard]] std::uint64_t total() const override;
  [[nodiscard]] std::vector<std::vector<double>> draws() const override;
  void save(Checkpoint& checkpoint) const override;
  [[nodiscard]] bool fits(const Checkpoint& checkpoint) const override;
  void restore(const Checkpoint& checkpoint) override;

 protected:
  /// One chain of each spec, at its public start; its center and stream are set here.
  EnsembleRun(std::vector<ChainSpec> specs, const Task& task);
  /// `draws` chains of one step each.
  static std::vector<ChainSpec> single_steps(double ridge, const Task& task);
  /// Langevin chains, all of as many steps.
  template <class M>
  static std::vector<ChainSpec> langevin_chains(const M& m, const Task& task) {
    return std::vector<ChainSpec>(task.draws,
                                  {.inverse_temperature = m.beta,
                                   .prior_precision = m.prior_precision,
                                   .step_size = m.step_size,
                                   .iterations = static_cast<std::uint64_t>(m.iterations),
                                   .key = task.key});
  }

  Ensemble ensemble_;
  Task task_;
};

}  // namespace gibbsite
