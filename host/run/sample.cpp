#include "run/sample.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>

#include "chains/minimizer.hpp"
#include "core/key_access.hpp"
#include "data/digest.hpp"
#include "gibbsite/chains/potential.hpp"
#include "gibbsite/chains/proximal.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/model/model.hpp"
#include "mechanism/minimizer_reach.hpp"

namespace gibbsite {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

template <class T>
void require_equal(const T& data, const T& plan, std::string_view name) {
  if (data != plan) {
    throw BadInput(
        fmt::format("{}: {} here, {} in the plan; plan again for this data", name, data, plan));
  }
}

// Strong convexity that the mechanism gives the potential.
double precision_of(const Mechanism& mechanism) {
  const auto ridge = setting(mechanism, "ridge");
  return ridge ? *ridge : setting(mechanism, "prior_precision").value_or(0);
}

// The guarantee rests on these: the shape that was planned for, and rows within their norm.
void require_planned(const Model& model, const Dataset& data, const Plan& plan) {
  // One object a name: another of that name would have other gradients than its constants bound.
  if (model.loss != &loss_named(model.loss->name())) {
    throw BadInput(fmt::format("loss: this is not the library's {}; make the model with glm()",
                               model.loss->name()));
  }
  const Problem& planned = plan.problem;
  const Problem here = model.constants(data.schema, planned.rows);
  require_equal(here.loss, planned.loss, "loss");
  require_equal(here.features, planned.features, "features");
  require_equal(here.row_norm, planned.row_norm, "row_norm");
  require_equal(here.intercept, planned.intercept, "intercept");
  require_equal(here.max_abs_residual, planned.max_abs_residual, "max_abs_residual");
  require_equal(here.curvature, planned.curvature, "curvature");
  require_equal(here.center_norm, planned.center_norm, "center_norm");
  if (model.prior_precision) {
    require_equal(*model.prior_precision, precision_of(plan.offer().mechanism), "prior_precision");
  }
  const std::uint64_t rows = data.rows();
  if (plan.budget.adjacency == Adjacency::replace_one) {
    require_equal(rows, planned.rows, "rows");
  } else if (rows > planned.rows) {
    throw BadInput(fmt::format(
        "rows: the table has more than the public cap {} of the plan; plan again with a "
        "larger cap (private: how many rows there are is not public)",
        planned.rows));
  }
  if (!data.labeled()) throw BadInput("data: has no labels; give a table with the label column");
}

// In double, so up to d roundings of slack; readers clip exactly.
void require_planned_rows(const Engine& engine, const Problem& planned) {
  const double limit =
      planned.row_norm * planned.row_norm *
      (1 + static_cast<double>(engine.features() + 2) * std::numeric_limits<double>::epsilon());
  const auto fault = engine.first_fault({limit, planned.intercept});
  if (!fault) return;
  throw BadInput(fmt::format("data: row {} {}; read it through a schema", fault->row + 1,
                             fault->what == RowFault::What::label
                                 ? "has a label other than -1 and 1"
                                 : "is longer than row_norm or lacks the intercept"));
}

// What every run needs.
struct Task {
  const Model& model;
  const Problem& problem;
  std::uint64_t draws;
  std::shared_ptr<Engine> engine;
  StreamKey key;

  [[nodiscard]] std::size_t features() const { return engine->features(); }
  [[nodiscard]] Potential potential(double beta, double prior_precision) const {
    return {engine, beta, prior_precision, model.center};
  }
  // A minimizer that meets its public tolerance (docs/proximal.md, "The start").
  [[nodiscard]] std::vector<double> minimizer(double beta, double prior_precision,
                                              double tolerance) const {
    // Public numbers: a plan that was not edited has passed this.
    if (!minimizer_in_reach(problem, beta, prior_precision,
                            problem.smoothness_up(beta, prior_precision), tolerance)) {
      throw Infeasible(
          fmt::format("the minimizer cannot be computed to within its public tolerance {:.3g}; use "
                      "`mechanism` path",
                      tolerance));
    }
    return minimizer_within(potential(beta, prior_precision), problem.full_row_norm_up(),
                            tolerance);
  }
};

// The step that a chain stops at: the last one, or one drawn at random (docs/averaged.md).
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

// What moves the chains of a plan, a little at a time.
class Sampler {
 public:
  virtual ~Sampler() = default;
  /// At the plan's start; may read the data, and take long.
  virtual void begin() = 0;
  /// Some steps, about `steps` of each chain. Nothing to do when `done() == total()`.
  virtual void advance(std::uint64_t steps) = 0;
  [[nodiscard]] virtual std::uint64_t done() const = 0;
  [[nodiscard]] virtual std::uint64_t total() const = 0;
  [[nodiscard]] virtual std::vector<std::vector<double>> draws() const = 0;
  virtual void save(Checkpoint& checkpoint) const = 0;
  [[nodiscard]] virtual bool fits(const Checkpoint& checkpoint) const = 0;
  virtual void restore(const Checkpoint& checkpoint) = 0;
};

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
  void advance(std::uint64_t steps) override { task_.engine->advance(ensemble_, steps); }

 private:
  M settings_;
};

/// Proximal, Rejection.
class ProposalSampler final : public Sampler {
 public:
  ProposalSampler(const Proximal& m, const Task& task)
      : ProposalSampler(m, m.schedule, !m.padded(), 1.0, task) {}
  ProposalSampler(const Rejection& m, const Task& task)
      : ProposalSampler(m, m.schedule(), true, 0.0, task) {}

  void begin() override {
    const double beta = potential_.beta, m = potential_.prior_precision;
    if (minimizes_) {
      center_ = task_.minimizer(beta, m, tolerance_);
    } else {  // padded: public, and so is the number of passes
      center_ =
          task_.model.center.empty() ? std::vector<double>(features(), 0.0) : task_.model.center;
    }
    make_chains();
    if (spread_ > 0) {
      chains_->start_at_random(spread_ / std::sqrt(task_.problem.smoothness_up(beta, m)));
    }
  }
  void advance(std::uint64_t /*steps*/) override { chains_->advance(iterations()); }
  [[nodiscard]] std::uint64_t done() const override { return sum(chains_->iterations()); }
  [[nodiscard]] std::uint64_t total() const override { return task_.draws * iterations(); }
  [[nodiscard]] std::vector<std::vector<double>> draws() const override {
    std::vector<std::vector<double>> out;
    for (std::size_t c = 0; c < task_.draws; ++c) {
      const auto theta = chains_->theta(c);
      out.emplace_back(theta.begin(), theta.end());
    }
    return out;
  }
  // Of each chain its position, a pair, and the center that all started from.
  void save(Checkpoint& checkpoint) const override {
    const auto positions = chains_->positions();
    const std::size_t pair = 2 * features();
    checkpoint.theta.clear();
    for (std::size_t c = 0; c < task_.draws; ++c) {
      const auto* const position = positions.data() + c * pair;
      checkpoint.theta.insert(checkpoint.theta.end(), position, position + pair);
      checkpoint.theta.insert(checkpoint.theta.end(), center_.begin(), center_.end());
    }
    checkpoint.step = chains_->iterations();
  }
  [[nodiscard]] bool fits(const Checkpoint& checkpoint) const override {
    return checkpoint.theta.size() == 3 * task_.draws * features() &&
           checkpoint.step.size() == task_.draws &&
           std::ranges::all_of(checkpoint.step,
                               [&](std::uint64_t step) { return step <= iterations(); });
  }
  void restore(const Checkpoint& checkpoint) override {
    const std::span<const double> theta = checkpoint.theta;
    const std::size_t d = features();
    const auto center = theta.last(d);
    center_.assign(center.begin(), center.end());
    make_chains();
    std::vector<double> positions;
    for (std::size_t c = 0; c < task_.draws; ++c) {
      const auto pair = theta.subspan(3 * c * d, 2 * d);
      positions.insert(positions.end(), pair.begin(), pair.end());
    }
    chains_->restore(positions, checkpoint.step);
  }

 private:
  ProposalSampler(const auto& m, const ProximalSchedule& schedule, bool minimizes, double spread,
                  const Task& task)
      : task_(task),
        schedule_(schedule),
        potential_(task.potential(m.beta, m.prior_precision)),
        minimizes_(minimizes),
        tolerance_(m.start_gradient_norm),
        spread_(spread) {}

  void make_chains() {
    chains_ =
        std::make_unique<ProximalChains>(potential_, schedule_, center_, task_.draws, task_.key);
  }
  [[nodiscard]] std::uint64_t iterations() const {
    return static_cast<std::uint64_t>(schedule_.iterations);
  }
  [[nodiscard]] std::size_t features() const { return task_.features(); }

  Task task_;
  ProximalSchedule schedule_;
  Potential potential_;
  bool minimizes_;
  double tolerance_, spread_;
  std::vector<double> center_;  // [d]
  std::unique_ptr<ProximalChains> chains_;
};

/// OutputPerturbation: one minimizer, and noise of its own for every draw.
class OutputSampler final : public EnsembleSampler {
 public:
  OutputSampler(const OutputPerturbation& settings, const Task& task)
      : EnsembleSampler(at_start(settings, task), task), settings_(settings) {}

  void begin() override {}
  void advance(std::uint64_t /*steps*/) override {
    start_at_random(ensemble_, task_.minimizer(1, settings_.ridge, settings_.gradient_norm),
                    settings_.noise_scale);
    std::ranges::fill(ensemble_.step, 1);
  }

 private:
  static Ensemble at_start(const OutputPerturbation& settings, const Task& task) {
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

  OutputPerturbation settings_;
};

std::unique_ptr<Sampler> sampler_of(const OutputPerturbation& m, const Task& task) {
  return std::make_unique<OutputSampler>(m, task);
}
std::unique_ptr<Sampler> sampler_of(const Proximal& m, const Task& task) {
  return std::make_unique<ProposalSampler>(m, task);
}
std::unique_ptr<Sampler> sampler_of(const Rejection& m, const Task& task) {
  return std::make_unique<ProposalSampler>(m, task);
}
std::unique_ptr<Sampler> sampler_of(const auto& m, const Task& task) {
  return std::make_unique<LangevinSampler<std::decay_t<decltype(m)>>>(m, task);
}

std::unique_ptr<Sampler> make_sampler(const Model& model, const Plan& plan,
                                      const std::shared_ptr<Engine>& engine, const StreamKey& key) {
  const Task task{model, plan.problem, plan.budget.draws, engine, key};
  return std::visit([&](const auto& m) { return sampler_of(m, task); }, plan.offer().mechanism);
}

// Of everything a resumed run must share with the run it continues: keyed, so that it says nothing
// about the data to a reader without the key.
std::string fingerprint_of(const Model& model, const Dataset& data, const Plan& plan,
                           const StreamKey& key) {
  const Problem& p = plan.problem;
  std::string text =
      fmt::format("{} {} {} {:a} {} {}\n{}\n{}\n{} ", to_string(key.kind), p.rows, p.features,
                  p.row_norm, p.intercept, plan.budget.draws, model.loss->name(),
                  to_toml(data.schema), name_of(plan.offer().mechanism));
  struct Writer {
    std::string& text;
    void operator()(const char* name, double value, Legal /*legal*/) const {
      text += fmt::format("{} {:a} ", name, value);
    }
    void operator()(const char* name, Calibration value) const {
      text += fmt::format("{} {} ", name, to_string(value));
    }
  };
  visit_fields(plan.offer().mechanism, Writer{text});
  for (const double v : model.center) text += fmt::format("{:a} ", v);
  return keyed_digest(key.bytes, text, data);
}

// Throws BadInput when the checkpoint belongs to another run.
void require_same_run(const Checkpoint& checkpoint, const FitOptions& options,
                      const StreamKey& asked, const Sampler& sampler,
                      const std::string& fingerprint) {
  const std::string& path = options.checkpoint;
  if (checkpoint.key.kind != asked.kind ||
      (asked.kind == NoiseKind::philox && checkpoint.key.bytes != asked.bytes)) {
    throw BadInput(fmt::format(
        "{}: this checkpoint was made with another `seed` (or with none); give the same, or remove "
        "it and start again",
        path));
  }
  if (checkpoint.fingerprint != fingerprint || !sampler.fits(checkpoint)) {
    throw BadInput(fmt::format(
        "{}: this checkpoint is of another run: the data or the plan changed; give what it was "
        "made with, or remove it and start again",
        path));
  }
}

}  // namespace

Run sample(const Model& model, const Dataset& data, const Plan& plan, Backend& backend, Key&& key,
           const FitOptions& options) {
  const StreamKey asked = KeyAccess::take(std::move(key));
  static_cast<void>(require_feasible(plan));
  require_planned(model, data, plan);

  const std::shared_ptr<Engine> engine = backend.load(data.view(), data.y, *model.loss);
  require_planned_rows(*engine, plan.problem);
  if (!engine->certifiable()) {
    throw BadInput(
        fmt::format("`backend` {}: its arithmetic or its noise is for throughput only and no "
                    "certificate covers "
                    "it; use double arithmetic and the chains' own noise",
                    backend.name()));
  }
  const bool keep = !options.checkpoint.empty();
  Checkpoint checkpoint{asked, {}, {}, {}};
  std::unique_ptr<Sampler> sampler;
  std::error_code ignored;
  if (keep && std::filesystem::exists(options.checkpoint, ignored)) {
    checkpoint = read_checkpoint(options.checkpoint);
    sampler = make_sampler(model, plan, engine, checkpoint.key);
    require_same_run(checkpoint, options, asked, *sampler,
                     fingerprint_of(model, data, plan, checkpoint.key));
    sampler->restore(checkpoint);
  } else {
    if (keep) checkpoint.fingerprint = fingerprint_of(model, data, plan, asked);
    sampler = make_sampler(model, plan, engine, asked);
    sampler->begin();
  }
  const auto save = [&] {
    sampler->save(checkpoint);
    write_checkpoint(options.checkpoint, checkpoint);
  };

  // At once, so that a path that cannot be written is found before hours of work.
  if (keep) save();
  const std::uint64_t total = sampler->total();
  auto last_save = Clock::now();
  std::uint64_t chunk = 1;
  while (sampler->done() < total) {
    if (options.stop != nullptr && *options.stop) {
      if (keep) save();
      throw Interrupted(fmt::format(
          "interrupted after {} of {} steps; {}", sampler->done(), total,
          keep ? fmt::format("give the same command again to go on from {}", options.checkpoint)
               : "nothing was kept; give `checkpoint` FILE to be able to go on"));
    }
    const auto chunk_start = Clock::now();
    sampler->advance(chunk);
    // The next call lasts about a tenth of a second, so progress and `stop` are polled often.
    const double ratio = 0.1 / std::max(seconds_since(chunk_start), 1e-6);
    chunk = static_cast<std::uint64_t>(
        std::clamp(static_cast<double>(chunk) * std::min(ratio, 8.0), 1.0, 1e9));
    if (options.progress) options.progress(sampler->done(), total);
    if (keep && seconds_since(last_save) >= options.checkpoint_every_seconds) {
      save();
      last_save = Clock::now();
    }
  }
  if (keep) save();
  if (options.design) options.design(engine->design());
  return {plan,
          sampler->draws(),
          data.schema,
          std::string(model.loss->name()),
          checkpoint.key.kind,
          std::string(backend.name())};
}

}  // namespace gibbsite
