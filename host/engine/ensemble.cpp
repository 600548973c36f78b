#include "gibbsite/engine/ensemble.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/format_message.hpp"
#include "engine/langevin.hpp"
#include "gibbsite/core/ball.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/engine/engine.hpp"

namespace gibbsite {
namespace {

void require_center(std::span<const double> center, std::size_t features) {
  if (center.size() != features) {
    throw BadInput(
        fmt::format("center: has {} coordinates, the rows have {}; give one per "
                    "feature",
                    center.size(), features));
  }
  if (!std::all_of(center.begin(), center.end(), [](double v) { return std::isfinite(v); })) {
    throw BadInput("center: has a coordinate that is not finite; give finite numbers");
  }
}

}  // namespace

bool Ensemble::finished() const {
  for (std::size_t c = 0; c < chains(); ++c) {
    if (step[c] < specs[c].iterations) return false;
  }
  return true;
}

Ensemble start(std::vector<ChainSpec> specs, std::size_t features) {
  if (specs.empty()) throw BadInput("chains: there is none; give at least one");
  Ensemble ensemble;
  ensemble.features = features;
  for (const ChainSpec& spec : specs) {
    require_finite_nonnegative(spec.inverse_temperature, "inverse_temperature");
    require_finite_nonnegative(spec.prior_precision, "prior_precision");
    require_finite_positive(spec.step_size, "step_size");
    if (spec.iterations < 1) throw BadInput("iterations: must be at least 1, got 0; give one");
    if (!spec.center.empty()) require_center(spec.center, features);
    ensemble.theta.insert(ensemble.theta.end(), spec.center.begin(), spec.center.end());
    if (spec.center.empty()) ensemble.theta.resize(ensemble.theta.size() + features, 0.0);
  }
  ensemble.step.assign(specs.size(), 0);
  ensemble.specs = std::move(specs);
  return ensemble;
}

void start_at_random(Ensemble& ensemble, std::span<const double> center, double deviation) {
  require_center(center, ensemble.features);
  require_finite_nonnegative(deviation, "deviation");
  for (std::size_t c = 0; c < ensemble.chains(); ++c) {
    const std::span<double> theta = ensemble.chain(c);
    fill_normals(ensemble.specs[c].key, ensemble.specs[c].stream, start_step, theta);
    for (std::size_t j = 0; j < theta.size(); ++j) theta[j] = center[j] + deviation * theta[j];
  }
}

void advance_in_ball(Engine& engine, Ensemble& ensemble, double ball, std::uint64_t steps) {
  require_ball(ball, Field{"ball"});
  for (; steps > 0 && !ensemble.finished(); --steps) {
    engine.advance(ensemble, 1);
    for (std::size_t c = 0; c < ensemble.chains(); ++c) {
      if (ensemble.step[c] < ensemble.specs[c].iterations) project_on_ball(ensemble.chain(c), ball);
    }
  }
}

void Engine::advance(Ensemble& ensemble, std::uint64_t steps) {
  ChainStepper* const steps_chains = stepper();
  if (steps_chains == nullptr) {
    throw BadInput(format_message(
        "engine: these rows answer sums, and no chain steps on them; ask for {} whitened",
        Field{"mechanism"}));
  }
  steps_chains->advance(ensemble, steps);
}

void RowSums::loss_values_and_gradients(MatrixView<const double> theta, std::span<double> values,
                                        MatrixView<double> gradients) {
  loss_values(theta, values);
  loss_gradients(theta, gradients);
}

std::vector<double> RowSums::loss_terms(MatrixView<const double> theta) {
  std::vector<double> values(theta.rows);
  loss_values(theta, values);
  return values;
}

std::uint32_t output_stream(std::uint32_t stream, std::size_t outputs, std::size_t k) {
  const std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
  if (outputs == 0 || k >= outputs || outputs > most || stream > (most - k) / outputs) {
    throw BadInput(fmt::format(
        "stream: chain {} of {} outputs draws beyond the 2^32 streams of a key; give chains "
        "lower "
        "numbers",
        stream, outputs));
  }
  return static_cast<std::uint32_t>(outputs * stream + k);
}

void require_output_streams(const Ensemble& ensemble, std::size_t outputs) {
  for (const ChainSpec& spec : ensemble.specs) {
    static_cast<void>(output_stream(spec.stream, outputs, outputs - 1));
  }
}

void langevin_update(const ChainSpec& spec, std::span<const double> loss_gradient,
                     std::span<const double> noise, std::span<double> theta) {
  const double noise_scale = std::sqrt(2 * spec.step_size);
  for (std::size_t j = 0; j < theta.size(); ++j) {
    theta[j] = langevin_coordinate(
        theta[j], loss_gradient[j], spec.center.empty() ? 0.0 : spec.center[j],
        spec.inverse_temperature, spec.prior_precision, spec.step_size, noise_scale, noise[j]);
  }
}

void langevin_update(const ChainSpec& spec, std::uint64_t step,
                     std::span<const double> loss_gradient, std::span<double> theta,
                     std::span<double> noise, std::size_t outputs) {
  const std::size_t d = noise.size() / outputs;
  for (std::size_t k = 0; k < outputs; ++k) {
    fill_normals(spec.key, output_stream(spec.stream, outputs, k), step, noise.subspan(k * d, d));
  }
  langevin_update(spec, loss_gradient, noise, theta);
}

}  // namespace gibbsite
