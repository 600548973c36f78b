#include "speed.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace gibbsite::cli {

double seconds_per_pass(Backend& backend, const ProblemConstants& constants, std::uint64_t draws) {
  using Clock = std::chrono::steady_clock;
  constexpr std::uint64_t most_cells = 8 << 20;
  const std::uint64_t d = constants.features;
  const std::uint64_t n =
      std::clamp<std::uint64_t>(most_cells / d, 1, std::max<std::uint64_t>(1, constants.rows));
  const auto cell = static_cast<float>(constants.row_norm / std::sqrt(static_cast<double>(d)));
  std::vector<float> x(n * d);
  std::vector<float> y(n);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = i % 3 == 0 ? cell : -cell;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = i % 2 == 0 ? 1.0F : -1.0F;
  const auto engine = backend.load({x.data(), n, d}, y, loss_named(constants.loss));

  const std::uint64_t chains = std::min<std::uint64_t>(draws, 16);
  std::vector<ChainSpec> specs(chains);
  for (std::size_t c = 0; c < chains; ++c) {
    specs[c].step_size = 1e-6;
    specs[c].iterations = std::uint64_t{1} << 40;
    specs[c].key = Key::from_seed(0);
    specs[c].stream = static_cast<std::uint32_t>(c);
  }
  Ensemble ensemble = start(specs, d);
  engine->advance(ensemble, 1);  // threads and caches
  std::uint64_t steps = 0;
  double seconds = 0;
  const auto begin = Clock::now();
  for (std::uint64_t batch = 1; seconds < 0.1; batch *= 2) {
    engine->advance(ensemble, batch);
    steps += batch;
    seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  }
  return seconds / static_cast<double>(steps * chains) *
         (static_cast<double>(constants.rows) / static_cast<double>(n));
}

}  // namespace gibbsite::cli
