// Runs whose chains are an ensemble: Langevin chains, and noise about one minimizer.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>
#include <utility>

#include "chains/minimizer.hpp"
#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "mechanism/minimizer_reach.hpp"
#include "run/sampler.hpp"

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

namespace {

// The step that a chain stops at: the last one, or one drawn at random (docs/theory/averaged.md).
template <class M>
std::uint64_t stop_of(const M& m, const StreamKey& key, std::uint32_t stream) {
  double stop = m.iterations;
  if constexpr (std::is_same_v<M, Averaged>) {
    std::uint64_t word = 0;
    fill_words(key, stream, stop_step, {&word, 1});
    stop = averaged_stop(m.prior_precision, m.step_size, m.iterations, word);
  }
  return static_cast<std::uint64_t>(stop);
}

template <class M>
Ensemble ensemble_of(const M& m, const Task& task) {
  std::vector<ChainSpec> specs;
  for (std::uint64_t draw = 0; draw < task.draws; ++draw) {
    const auto stream = static_cast<std::uint32_t>(draw);
    specs.push_back({.inverse_temperature = m.beta,
                     .prior_precision = m.prior_precision,
                     .step_size = m.step_size,
                     .iterations = stop_of(m, task.key, stream),
                     .center = task.model.center,
                     .key = task.key,
                     .stream = stream});
  }
  return start(std::move(specs), task.features());
}

std::uint64_t sum(std::span<const std::uint64_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

/// Chains that are an ensemble.
class EnsembleSampler : public Sampler {
 public:
  [[nodiscard]] std::uint64_t done() const override { return sum(ensemble_.step); }
  [[nodiscard]] std::uint64_t total() const override {
    std::uint64_t out = 0;
    for (const ChainSpec& spec : ensemble_.specs) out += spec.iterations;
    return out;
  }
  [[nodiscard]] std::vector<std::vector<double>> draws() const override {
    std::vector<std::vector<double>> out;
    for (std::size_t c = 0; c < ensemble_.chains(); ++c) {
      out.emplace_back(ensemble_.chain(c).begin(), ensemble_.chain(c).end());
    }
    return out;
  }
  void save(Checkpoint& checkpoint) const override {
    checkpoint.theta = ensemble_.theta;
    checkpoint.step = ensemble_.step;
  }
  [[nodiscard]] bool fits(const Checkpoint& checkpoint) const override {
    bool fits = checkpoint.theta.size() == ensemble_.theta.size() &&
                checkpoint.step.size() == ensemble_.chains();
    for (std::size_t c = 0; fits && c < ensemble_.chains(); ++c) {
      fits = checkpoint.step[c] <= ensemble_.specs[c].iterations;
    }
    return fits;
  }
  void restore(const Checkpoint& checkpoint) override {
    ensemble_.theta = checkpoint.theta;
    ensemble_.step = checkpoint.step;
  }

 protected:
  EnsembleSampler(Ensemble ensemble, const Task& task)
      : ensemble_(std::move(ensemble)), task_(task) {}

  Ensemble ensemble_;
  Task task_;
};

/// Path, Averaged, Dalalyan.
template <class M>
class LangevinSampler final : public EnsembleSampler {
 public:
  LangevinSampler(const M& settings, const Task& task)
      : EnsembleSampler(ensemble_of(settings, task), task), settings_(settings) {}

  void begin() override {
    if constexpr (!std::is_same_v<M, Path>) {
      const double m = settings_.prior_precision, beta = settings_.beta;
      const auto center = task_.minimizer(beta, m, settings_.start_gradient_norm);
      const double deviation =
          std::is_same_v<M, Dalalyan> ? 1 / std::sqrt(task_.problem.smoothness_up(beta, m)) : 0.0;
      start_at_random(ensemble_, center, deviation);
    }
  }
  void advance(std::uint64_t steps) override {
    if constexpr (std::is_same_v<M, Path>) {
      if (settings_.ball > 0) {
        advance_in_ball(*task_.engine, ensemble_, settings_.ball, steps);
        return;
      }
    }
    task_.engine->advance(ensemble_, steps);
  }

 private:
  M settings_;
};

void add_noise(const OutputPerturbation& m, std::span<const double> minimizer, Ensemble& draws) {
  start_at_random(draws, minimizer, m.noise_scale);
}
void add_noise(const PureOutputPerturbation& m, std::span<const double> minimizer,
               Ensemble& draws) {
  for (std::size_t c = 0; c < draws.chains(); ++c) {
    const std::span<double> theta = draws.chain(c);
    fill_laplace(draws.specs[c].key, draws.specs[c].stream, 0, m.noise_rate, theta);
    for (std::size_t j = 0; j < theta.size(); ++j) theta[j] += minimizer[j];
  }
}

// One step a draw.
template <class M>
Ensemble output_start(const M& settings, const Task& task) {
  std::vector<ChainSpec> specs;
  for (std::uint64_t draw = 0; draw < task.draws; ++draw) {
    specs.push_back({.inverse_temperature = 1,
                     .prior_precision = settings.ridge,
                     .center = task.model.center,
                     .key = task.key,
                     .stream = static_cast<std::uint32_t>(draw)});
  }
  return start(std::move(specs), task.features());
}

/// OutputPerturbation, PureOutputPerturbation: one minimizer, and noise of its own for every draw.
template <class M>
class OutputSampler final : public EnsembleSampler {
 public:
  OutputSampler(const M& settings, const Task& task)
      : EnsembleSampler(output_start(settings, task), task), settings_(settings) {}

  void begin() override {}
  void advance(std::uint64_t /*steps*/) override {
    add_noise(settings_, task_.minimizer(1, settings_.ridge, settings_.gradient_norm), ensemble_);
    std::ranges::fill(ensemble_.step, 1);
  }

 private:
  M settings_;
};

// b, the noise in the slope.
void slope_noise(const ObjectivePerturbation& m, const ChainSpec& spec, std::span<double> b) {
  answer_normals(spec.key, spec.stream, 0, b);
  for (double& v : b) v *= m.noise_scale;
}
void slope_noise(const PureObjectivePerturbation& m, const ChainSpec& spec, std::span<double> b) {
  fill_laplace(spec.key, spec.stream, 0, m.noise_rate, b);
}
// What is added last.
void last_noise(const ObjectivePerturbation& m, const ChainSpec& spec, std::span<double> out) {
  fill_normals(spec.key, spec.stream, start_step, out);
  for (double& v : out) v *= m.output_noise;
}
void last_noise(const PureObjectivePerturbation& m, const ChainSpec& spec, std::span<double> out) {
  fill_laplace(spec.key, spec.stream, 2, m.output_rate, out);
}

/// ObjectivePerturbation, PureObjectivePerturbation: a minimizer for every draw, about a center
/// that its noise has moved.
template <class M>
class ObjectiveSampler final : public EnsembleSampler {
 public:
  ObjectiveSampler(const M& settings, const Task& task)
      : EnsembleSampler(output_start(settings, task), task), settings_(settings) {}

  void begin() override {}
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
      const std::span<double> theta = ensemble_.chain(c);
      std::vector<double> center(theta.size());
      slope_noise(settings_, spec, center);
      for (std::size_t j = 0; j < center.size(); ++j) {
        center[j] = (spec.center.empty() ? 0.0 : spec.center[j]) - center[j] / settings_.ridge;
      }
      const Potential u{task_.engine, 1, settings_.ridge, center};
      const auto minimizer = minimizer_within(u, task_.problem.full_row_norm_up(), search);
      last_noise(settings_, spec, theta);
      for (std::size_t j = 0; j < theta.size(); ++j) theta[j] = minimizer[j] + theta[j];
      ensemble_.step[c] = 1;
      --steps;
    }
  }

 private:
  M settings_;
};

}  // namespace

std::unique_ptr<Sampler> sampler_of(const Path& settings, const Task& task) {
  return std::make_unique<LangevinSampler<Path>>(settings, task);
}
std::unique_ptr<Sampler> sampler_of(const Averaged& settings, const Task& task) {
  return std::make_unique<LangevinSampler<Averaged>>(settings, task);
}
std::unique_ptr<Sampler> sampler_of(const Dalalyan& settings, const Task& task) {
  return std::make_unique<LangevinSampler<Dalalyan>>(settings, task);
}
std::unique_ptr<Sampler> sampler_of(const OutputPerturbation& settings, const Task& task) {
  return std::make_unique<OutputSampler<OutputPerturbation>>(settings, task);
}
std::unique_ptr<Sampler> sampler_of(const PureOutputPerturbation& settings, const Task& task) {
  return std::make_unique<OutputSampler<PureOutputPerturbation>>(settings, task);
}

std::unique_ptr<Sampler> sampler_of(const ObjectivePerturbation& settings, const Task& task) {
  return std::make_unique<ObjectiveSampler<ObjectivePerturbation>>(settings, task);
}
std::unique_ptr<Sampler> sampler_of(const PureObjectivePerturbation& settings, const Task& task) {
  return std::make_unique<ObjectiveSampler<PureObjectivePerturbation>>(settings, task);
}

}  // namespace gibbsite
