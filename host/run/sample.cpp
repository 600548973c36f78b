#include "run/sample.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>

#include "chains/minimiser.hpp"
#include "core/key_access.hpp"
#include "data/digest.hpp"
#include "gibbsite/chains/potential.hpp"
#include "gibbsite/chains/proximal.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/mechanism/averaged.hpp"
#include "gibbsite/model/model.hpp"
#include "mechanism/minimiser_reach.hpp"

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

// The guarantee rests on these: the shape that was planned for and, below, rows within their norm.
void require_planned(const Model& model, const Dataset& data, const Plan& plan) {
  // One object a name: another of that name would have other gradients than its constants bound.
  if (model.loss != &loss_named(model.loss->name())) {
    throw BadInput(fmt::format("loss: this is not the library's {}; make the model with glm()",
                               model.loss->name()));
  }
  const Problem& planned = plan.constants;
  const Problem here = model.constants(data.schema, planned.rows);
  require_equal(here.loss, planned.loss, "loss");
  require_equal(here.features, planned.features, "features");
  require_equal(here.row_norm, planned.row_norm, "row_norm");
  require_equal(here.intercept, planned.intercept, "intercept");
  require_equal(here.max_abs_residual, planned.max_abs_residual, "max_abs_residual");
  require_equal(here.curvature, planned.curvature, "curvature");
  require_equal(here.center_norm, planned.center_norm, "center_norm");
  if (model.prior_precision) {
    require_equal(*model.prior_precision, plan.certificate().prior_precision, "prior_precision");
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
  if (!data.labelled()) throw BadInput("data: has no labels; give a table with the label column");
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

Potential potential_of(const Model& model, const std::shared_ptr<Engine>& engine,
                       const CertificatePlan& c) {
  return {engine, c.beta, c.prior_precision, model.center};
}

// Where TV certificates start: a minimiser that meets its public tolerance (THEORY 3.1).
std::vector<double> certified_minimiser(const Model& model, const Plan& plan,
                                        const std::shared_ptr<Engine>& engine) {
  const CertificatePlan& c = plan.certificate();
  // Public numbers: a plan that was not edited has passed this.
  if (!minimiser_in_reach(plan.constants, c.beta, c.prior_precision, c.smoothness,
                          c.start_gradient_norm)) {
    throw Infeasible(
        fmt::format("--certificate {}: the minimiser it starts from cannot be computed to within "
                    "its public tolerance {:.3g}; use --certificate path",
                    to_string(c.kind), c.start_gradient_norm));
  }
  return minimiser_within(potential_of(model, engine, c), plan.constants.full_row_norm_up(),
                          c.start_gradient_norm);
}

// The step that a chain stops at: the last one, or one drawn at random (docs/averaged.md).
std::uint64_t stop_of(const CertificatePlan& c, const StreamKey& key, std::uint32_t stream) {
  double stop = c.iterations;
  if (c.kind == CertificateKind::averaged) {
    std::uint64_t word = 0;
    fill_words(key, stream, stop_step, {&word, 1});
    stop = averaged_stop(c.prior_precision, c.step_size, c.iterations, word);
  }
  return static_cast<std::uint64_t>(stop);
}

Ensemble planned_ensemble(const Model& model, const Plan& plan, std::size_t features,
                          const StreamKey& key) {
  const CertificatePlan& c = plan.certificate();
  std::vector<ChainSpec> specs;
  for (std::uint64_t draw = 0; draw < plan.budget.draws; ++draw) {
    specs.push_back({.inverse_temperature = c.beta,
                     .prior_precision = c.prior_precision,
                     .step_size = c.step_size,
                     .iterations = stop_of(c, key, static_cast<std::uint32_t>(draw)),
                     .center = model.center,
                     .key = key,
                     .stream = static_cast<std::uint32_t>(draw)});
  }
  return start(std::move(specs), features);
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

/// path, dalalyan, averaged.
class LangevinSampler final : public Sampler {
 public:
  LangevinSampler(const Model& model, const Plan& plan, const std::shared_ptr<Engine>& engine,
                  const StreamKey& key)
      : model_(model),
        plan_(plan),
        engine_(engine),
        ensemble_(planned_ensemble(model, plan, engine->features(), key)) {}

  void begin() override {
    const CertificatePlan& c = plan_.certificate();
    if (c.kind == CertificateKind::path) return;
    const auto minimiser = certified_minimiser(model_, plan_, engine_);
    start_at_random(ensemble_, minimiser,
                    c.kind == CertificateKind::dalalyan ? 1 / std::sqrt(c.smoothness) : 0.0);
  }
  void advance(std::uint64_t steps) override { engine_->advance(ensemble_, steps); }
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

 private:
  const Model& model_;
  const Plan& plan_;
  std::shared_ptr<Engine> engine_;
  Ensemble ensemble_;
};

/// proximal, rejection.
class RejectionSampler final : public Sampler {
 public:
  RejectionSampler(const Model& model, const Plan& plan, const std::shared_ptr<Engine>& engine,
                   const StreamKey& key)
      : model_(model),
        plan_(plan),
        key_(key),
        potential_(potential_of(model, engine, plan.certificate())) {}

  void begin() override {
    const CertificatePlan& c = plan_.certificate();
    if (c.gradients > 0) {  // padded: public, and so is the number of passes
      center_ =
          model_.center.empty() ? std::vector<double>(potential_.features(), 0.0) : model_.center;
    } else {
      center_ = certified_minimiser(model_, plan_, potential_.engine);
    }
    make_chains();
    if (c.kind == CertificateKind::proximal) {
      chains_->start_at_random(1 / std::sqrt(c.smoothness));
    }
  }
  void advance(std::uint64_t /*steps*/) override { chains_->advance(iterations()); }
  [[nodiscard]] std::uint64_t done() const override { return sum(chains_->iterations()); }
  [[nodiscard]] std::uint64_t total() const override { return draws_asked() * iterations(); }
  [[nodiscard]] std::vector<std::vector<double>> draws() const override {
    std::vector<std::vector<double>> out;
    for (std::size_t c = 0; c < draws_asked(); ++c) {
      const auto theta = chains_->theta(c);
      out.emplace_back(theta.begin(), theta.end());
    }
    return out;
  }
  // Of each chain its position, a pair, and the center that all started from.
  void save(Checkpoint& checkpoint) const override {
    const auto positions = chains_->positions();
    const std::size_t pair = 2 * potential_.features();
    checkpoint.theta.clear();
    for (std::size_t c = 0; c < draws_asked(); ++c) {
      const auto* const position = positions.data() + c * pair;
      checkpoint.theta.insert(checkpoint.theta.end(), position, position + pair);
      checkpoint.theta.insert(checkpoint.theta.end(), center_.begin(), center_.end());
    }
    checkpoint.step = chains_->iterations();
  }
  [[nodiscard]] bool fits(const Checkpoint& checkpoint) const override {
    return checkpoint.theta.size() == 3 * draws_asked() * potential_.features() &&
           checkpoint.step.size() == draws_asked() &&
           std::ranges::all_of(checkpoint.step,
                               [&](std::uint64_t step) { return step <= iterations(); });
  }
  void restore(const Checkpoint& checkpoint) override {
    const std::span<const double> theta = checkpoint.theta;
    const std::size_t d = potential_.features();
    const auto center = theta.last(d);
    center_.assign(center.begin(), center.end());
    make_chains();
    std::vector<double> positions;
    for (std::size_t c = 0; c < draws_asked(); ++c) {
      const auto pair = theta.subspan(3 * c * d, 2 * d);
      positions.insert(positions.end(), pair.begin(), pair.end());
    }
    chains_->restore(positions, checkpoint.step);
  }

 private:
  void make_chains() {
    const CertificatePlan& c = plan_.certificate();
    chains_ = std::make_unique<ProximalChains>(
        potential_,
        ProximalSchedule{c.step_size, c.iterations, c.proposals, c.rounds, c.residual, c.gradients},
        center_, draws_asked(), key_);
  }
  [[nodiscard]] std::uint64_t iterations() const {
    return static_cast<std::uint64_t>(plan_.certificate().iterations);
  }
  [[nodiscard]] std::uint64_t draws_asked() const { return plan_.budget.draws; }

  const Model& model_;
  const Plan& plan_;
  StreamKey key_;
  Potential potential_;
  std::vector<double> center_;  // [d]
  std::unique_ptr<ProximalChains> chains_;
};

std::unique_ptr<Sampler> make_sampler(const Model& model, const Plan& plan,
                                      const std::shared_ptr<Engine>& engine, const StreamKey& key) {
  const CertificateKind kind = plan.certificate().kind;
  if (kind == CertificateKind::proximal || kind == CertificateKind::rejection) {
    return std::make_unique<RejectionSampler>(model, plan, engine, key);
  }
  return std::make_unique<LangevinSampler>(model, plan, engine, key);
}

// Of everything a resumed run must share with the run it continues: keyed, so that it says nothing
// about the data to a reader without the key.
std::string fingerprint_of(const Model& model, const Dataset& data, const Plan& plan,
                           const StreamKey& key) {
  const Problem& p = plan.constants;
  const CertificatePlan& c = plan.certificate();
  std::string text =
      fmt::format("{} {} {} {:a} {} {}\n{} {:a} {:a} {:a} {:a} {:a}\n{}\n{}\n", to_string(key.kind),
                  p.rows, p.features, p.row_norm, p.intercept, plan.budget.draws, to_string(c.kind),
                  c.beta, c.prior_precision, c.step_size, c.iterations, c.smoothness,
                  model.loss->name(), to_toml(data.schema));
  text += fmt::format("{:a} {:a} {:a} {:a} ", c.proposals, c.rounds, c.residual, c.gradients);
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
        "{}: this checkpoint was made with another --seed (or with none); give the same, or remove "
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
  require_planned_rows(*engine, plan.constants);
  if (!engine->certifiable()) {
    throw BadInput(
        fmt::format("--backend {}: its arithmetic or its noise is for throughput only and no "
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
               : "nothing was kept; give --checkpoint FILE to be able to go on"));
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
