#include "gibbsite/sampler/sample.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>

#include "gibbsite/core/error.hpp"

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

// The guarantee rests on these: the shape that was planned for, and rows within their norm.
void require_planned(const Model& model, const Dataset& data, const Plan& plan) {
  const ProblemConstants& planned = plan.constants;
  const ProblemConstants here = model.constants(data.schema, planned.rows);
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
    throw BadInput(
        fmt::format("rows: {} here, more than the public cap {} of the plan; plan again "
                    "with a larger cap",
                    rows, planned.rows));
  }
  if (!data.labelled()) throw BadInput("data: has no labels; give a table with the label column");

  // In double, so up to d roundings of slack; readers clip exactly.
  const Rows x = data.view();
  x.validate();
  const std::size_t columns = x.cols - (planned.intercept ? 1 : 0);
  const double limit =
      planned.row_norm * planned.row_norm *
      (1 + static_cast<double>(x.cols + 2) * std::numeric_limits<double>::epsilon());
  for (std::size_t i = 0; i < x.rows; ++i) {
    double squared = 0;
    x.for_each(i, [&](std::size_t j, float v) {
      if (j < columns) squared += static_cast<double>(v) * static_cast<double>(v);
    });
    if (!(squared <= limit) || (planned.intercept && x(i, columns) != 1.0f)) {
      throw BadInput(fmt::format(
          "data: row {} is longer than row_norm or lacks the intercept; read it through a schema",
          i + 1));
    }
    if (std::fabs(data.y[i]) != 1.0f) {
      throw BadInput(
          fmt::format("data: row {} has a label other than -1 and 1; read it through a "
                      "schema",
                      i + 1));
    }
  }
}

// Bound on the error of Potential::gradient at theta (docs/map-error.md, steps 2 and 3, for plain
// sums over n rows).
double gradient_error(const ProblemConstants& c, const Potential& u,
                      std::span<const double> theta) {
  const auto gamma = [](double k) { return 1.01 * k * 0x1p-53; };
  const double norm =
      std::sqrt(std::inner_product(theta.begin(), theta.end(), theta.begin(), 0.0)) + c.center_norm;
  const auto n = static_cast<double>(u.x.rows), d = static_cast<double>(u.x.cols);
  const double row = c.full_row_norm_up();
  return u.beta * n * row *
             (gamma(n + 20) * c.max_abs_residual + c.curvature * gamma(d) * row * norm) +
         gamma(8) * u.prior_precision * norm;
}

// Dalalyan's start: N(theta_hat, I/M) around a minimiser that meets its public tolerance (THEORY
// 3.1); every draw has a start of its own.
void start_near_minimum(Ensemble& ensemble, const Model& model, const Dataset& data,
                        const Plan& plan) {
  const CertificatePlan& c = plan.certificate();
  const Potential u{model.loss, data.view(), data.y, c.beta, c.prior_precision, model.center};
  const Minimum minimum = minimise(u, c.start_gradient_norm / 4);
  if (!(minimum.gradient_norm + gradient_error(plan.constants, u, minimum.theta) <=
        c.start_gradient_norm)) {
    throw Infeasible(
        fmt::format("--certificate dalalyan: the minimiser it starts from was not found to within "
                    "its public tolerance {:.3g}; use --certificate path",
                    c.start_gradient_norm));
  }
  start_at_random(ensemble, minimum.theta, 1 / std::sqrt(c.smoothness));
}

Ensemble planned_ensemble(const Model& model, const Dataset& data, const Plan& plan,
                          const Key& key) {
  const CertificatePlan& c = plan.certificate();
  std::vector<ChainSpec> specs;
  for (std::uint64_t draw = 0; draw < plan.budget.draws; ++draw) {
    specs.push_back({.inverse_temperature = c.beta,
                     .prior_precision = c.prior_precision,
                     .step_size = c.step_size,
                     .iterations = static_cast<std::uint64_t>(c.iterations),
                     .center = model.center,
                     .key = key,
                     .stream = static_cast<std::uint32_t>(draw)});
  }
  return start(std::move(specs), data.features());
}

// Of everything a resumed run must share with the run it continues: keyed, so that it says nothing
// about the data to a reader without the key.
std::string fingerprint_of(const Model& model, const Dataset& data, const Plan& plan,
                           const Key& key) {
  const ProblemConstants& p = plan.constants;
  const CertificatePlan& c = plan.certificate();
  std::string text =
      fmt::format("{} {} {} {:a} {} {}\n{} {:a} {:a} {:a} {:a} {:a}\n{}\n{}\n", to_string(key.kind),
                  p.rows, p.features, p.row_norm, p.intercept, plan.budget.draws, to_string(c.kind),
                  c.beta, c.prior_precision, c.step_size, c.iterations, c.smoothness,
                  model.loss->name(), to_toml(data.schema));
  for (const double v : model.center) text += fmt::format("{:a} ", v);
  std::array<unsigned char, 32> hash;
  crypto_generichash_state state;
  crypto_generichash_init(&state, key.bytes.data(), key.bytes.size(), hash.size());
  const auto update = [&](const void* bytes, std::size_t size) {
    crypto_generichash_update(&state, static_cast<const unsigned char*>(bytes), size);
  };
  update(text.data(), text.size());
  const auto update_numbers = [&](const auto* numbers, std::size_t count) {
    update(numbers, count * sizeof(*numbers));
  };
  const Rows x = data.view();  // the same in memory and in files
  if (x.is_sparse()) {
    update_numbers(x.sparse.begin, x.rows + 1);
    update_numbers(x.sparse.feature, x.sparse.entries());
    update_numbers(x.sparse.value, x.sparse.entries());
  } else {
    update_numbers(x.dense, x.rows * x.cols);
  }
  update_numbers(data.y.data(), data.y.size());
  crypto_generichash_final(&state, hash.data(), hash.size());
  return {hash.begin(), hash.end()};
}

// Throws BadInput when the checkpoint belongs to another run.
void require_same_run(const Checkpoint& checkpoint, const SampleOptions& options, const Key& asked,
                      const Ensemble& ensemble, const std::string& fingerprint) {
  const std::string& path = options.checkpoint;
  if (checkpoint.key.kind != asked.kind ||
      (asked.kind == NoiseKind::philox && checkpoint.key.bytes != asked.bytes)) {
    throw BadInput(fmt::format(
        "{}: this checkpoint was made with another --seed (or with none); give the same, or remove "
        "it and start again",
        path));
  }
  const bool fits = checkpoint.theta.size() == ensemble.theta.size() &&
                    checkpoint.step.size() == ensemble.chains() &&
                    std::ranges::all_of(checkpoint.step, [&](std::uint64_t step) {
                      return step <= ensemble.specs.front().iterations;
                    });
  if (!fits || checkpoint.fingerprint != fingerprint) {
    throw BadInput(fmt::format(
        "{}: this checkpoint is of another run: the data or the plan changed; give what it was "
        "made with, or remove it and start again",
        path));
  }
}

std::uint64_t steps_done(const Ensemble& ensemble) {
  return std::accumulate(ensemble.step.begin(), ensemble.step.end(), std::uint64_t{0});
}

}  // namespace

Run sample(const Model& model, const Dataset& data, const Plan& plan, Backend& backend,
           const Key& key, const SampleOptions& options) {
  const CertificatePlan& certificate = require_feasible(plan);
  require_planned(model, data, plan);

  const bool keep = !options.checkpoint.empty();
  Checkpoint checkpoint;
  Ensemble ensemble;
  std::error_code ignored;
  if (keep && std::filesystem::exists(options.checkpoint, ignored)) {
    checkpoint = read_checkpoint(options.checkpoint);
    ensemble = planned_ensemble(model, data, plan, checkpoint.key);
    require_same_run(checkpoint, options, key, ensemble,
                     fingerprint_of(model, data, plan, checkpoint.key));
    ensemble.theta = checkpoint.theta;
    ensemble.step = checkpoint.step;
  } else {
    ensemble = planned_ensemble(model, data, plan, key);
    if (certificate.kind == CertificateKind::dalalyan) {
      start_near_minimum(ensemble, model, data, plan);
    }
    checkpoint.key = key;
    if (keep) checkpoint.fingerprint = fingerprint_of(model, data, plan, key);
  }
  const auto save = [&] {
    checkpoint.theta = ensemble.theta;
    checkpoint.step = ensemble.step;
    write_checkpoint(options.checkpoint, checkpoint);
  };

  const auto engine = backend.load(data.view(), data.y, *model.loss);
  if (!engine->certifiable()) {
    throw BadInput(
        fmt::format("--backend {}: its arithmetic or its noise is for throughput only and no "
                    "certificate covers "
                    "it; use double arithmetic and the chains' own noise",
                    backend.name()));
  }
  // At once, so that a path that cannot be written is found before hours of work.
  if (keep) save();
  const std::uint64_t total = ensemble.chains() * ensemble.specs.front().iterations;
  auto last_save = Clock::now();
  std::uint64_t chunk = 1;
  while (!ensemble.finished()) {
    if (options.stop != nullptr && *options.stop) {
      if (keep) save();
      throw Interrupted(fmt::format(
          "interrupted after {} of {} steps; {}", steps_done(ensemble), total,
          keep ? fmt::format("give the same command again to go on from {}", options.checkpoint)
               : "nothing was kept; give --checkpoint FILE to be able to go on"));
    }
    const auto chunk_start = Clock::now();
    engine->advance(ensemble, chunk);
    // The next call lasts about a tenth of a second, so progress and `stop` are polled often.
    const double ratio = 0.1 / std::max(seconds_since(chunk_start), 1e-6);
    chunk = static_cast<std::uint64_t>(
        std::clamp(static_cast<double>(chunk) * std::min(ratio, 8.0), 1.0, 1e9));
    if (options.progress) options.progress(steps_done(ensemble), total);
    if (keep && seconds_since(last_save) >= options.checkpoint_every_seconds) {
      save();
      last_save = Clock::now();
    }
  }
  if (keep) std::filesystem::remove(options.checkpoint, ignored);

  Run run;
  for (std::size_t c = 0; c < ensemble.chains(); ++c) {
    run.draws.emplace_back(ensemble.chain(c).begin(), ensemble.chain(c).end());
  }
  run.schema = data.schema;
  run.loss = model.loss->name();
  run.noise = checkpoint.key.kind;
  run.backend = backend.name();
  run.design = engine->design();
  return run;
}

}  // namespace gibbsite
