#pragma once
// What moves a run of a plan, a little at a time: one sampler a mechanism.
#include <cstdint>
#include <memory>
#include <vector>

#include "gibbsite/chains/potential.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/mechanism/mechanism.hpp"
#include "gibbsite/model/linear_model.hpp"
#include "gibbsite/model/model.hpp"
#include "run/run_plan.hpp"

namespace gibbsite {

/// What every run needs.
struct Task {
  const Model& model;
  const Problem& problem;
  Neighbors who;
  std::uint64_t draws;
  const Schema& schema;
  std::shared_ptr<Engine> engine;
  StreamKey key;
  Backend& backend;                ///< that the engine is of
  std::span<const float> labels;   ///< [n]
  const float* offsets = nullptr;  ///< [n]; null: none
  const float* weights = nullptr;  ///< [n]; null: none
  /// Columns of the rows that the chains run on, where those are made later; 0: the engine's.
  std::size_t later_columns = 0;
  /// [n] Whose each row is (Dataset::person); empty: nobody says so.
  std::span<const std::uint32_t> person{};

  /// K of the loss.
  [[nodiscard]] std::size_t outputs() const { return engine->loss().outputs(); }
  /// Coordinates of theta, of all outputs of the loss.
  [[nodiscard]] std::size_t features() const {
    return later_columns > 0 ? outputs() * later_columns : engine->features();
  }
  /// Columns of the rows.
  [[nodiscard]] std::size_t row_features() const { return features() / outputs(); }
  [[nodiscard]] Potential potential(double beta, double prior_precision) const {
    return {engine, beta, prior_precision, model.center};
  }
  /// One that meets its public tolerance (docs/theory/proximal.md, "The start"); throws Infeasible
  /// where rounding does not allow it.
  [[nodiscard]] std::vector<double> minimizer(double beta, double prior_precision,
                                              double tolerance) const;
};

/// The state of a run.
class MechanismRun {
 public:
  virtual ~MechanismRun() = default;
  /// At the plan's start; may read the data, and take long.
  virtual void begin() = 0;
  /// Some steps, about `steps` of each chain or question. Nothing to do when `done() == total()`.
  virtual void advance(std::uint64_t steps) = 0;
  [[nodiscard]] virtual std::uint64_t done() const = 0;
  [[nodiscard]] virtual std::uint64_t total() const = 0;
  [[nodiscard]] virtual std::vector<std::vector<double>> draws() const = 0;
  /// What predicting needs beside coefficients, and what else was asked to be released.
  virtual void complete(LinearModel& /*model*/) const {}
  virtual void save(Checkpoint& checkpoint) const = 0;
  [[nodiscard]] virtual bool fits(const Checkpoint& checkpoint) const = 0;
  virtual void restore(const Checkpoint& checkpoint) = 0;
};

std::unique_ptr<MechanismRun> sampler_of(const Whitened& settings, const Task& task);
std::unique_ptr<MechanismRun> sampler_of(const MetricPath& settings, const Task& task);
std::unique_ptr<MechanismRun> sampler_of(const MetricProximal& settings, const Task& task);
std::unique_ptr<MechanismRun> sampler_of(const Path& settings, const Task& task);
std::unique_ptr<MechanismRun> sampler_of(const Rejection& settings, const Task& task);
std::unique_ptr<MechanismRun> sampler_of(const Proximal& settings, const Task& task);
std::unique_ptr<MechanismRun> sampler_of(const Averaged& settings, const Task& task);
std::unique_ptr<MechanismRun> sampler_of(const Dalalyan& settings, const Task& task);
std::unique_ptr<MechanismRun> sampler_of(const OutputPerturbation& settings, const Task& task);
std::unique_ptr<MechanismRun> sampler_of(const PureOutputPerturbation& settings, const Task& task);
std::unique_ptr<MechanismRun> sampler_of(const ObjectivePerturbation& settings, const Task& task);
std::unique_ptr<MechanismRun> sampler_of(const PureObjectivePerturbation& settings,
                                         const Task& task);

}  // namespace gibbsite
