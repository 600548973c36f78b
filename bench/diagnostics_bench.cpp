// Diagnostics of an ensemble: draws a second, for chains that forget at once and for slow ones, on
// the host and, where there is one, on the GPU. The yardstick is std::sort of as many draws: two
// sorts are the least that ranks and folded ranks take.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/posterior/diagnostics.hpp"

namespace gibbsite {
namespace {

constexpr std::size_t parameters = 4;

/// AR(1) draws [N x C x 4].
std::vector<double> slow_draws(std::size_t draws, std::size_t chains, double rho) {
  const StreamKey key = StreamKey::from_seed(1);
  const std::size_t row = chains * parameters;
  std::vector<double> values(draws * row);
  for (std::size_t t = 0; t < draws; ++t) {
    fill_normals(key, 0, t, std::span(values).subspan(t * row, row));
    for (std::size_t i = t * row; t > 0 && i < (t + 1) * row; ++i) {
      values[i] += rho * values[i - row];
    }
  }
  return values;
}

void diagnostics(benchmark::State& state, Processor processor) {
  const auto chains = static_cast<std::size_t>(state.range(0));
  const auto draws = static_cast<std::size_t>(state.range(1));
  const auto values = slow_draws(draws, chains, static_cast<double>(state.range(2)) / 100);
  try {
    for (auto _ : state) {
      auto summaries = summarize({values, draws, chains, parameters}, {}, processor);
      benchmark::DoNotOptimize(summaries.data());
    }
  } catch (const BackendUnavailable& error) {
    state.SkipWithError(std::string(error.what()).c_str());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(values.size()));
}
void shapes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"chains", "draws", "rho_percent"})->Unit(benchmark::kMillisecond);
  for (const std::int64_t rho : {0, 95}) b->Args({256, 1000, rho})->Args({4, 64000, rho});
}
BENCHMARK_CAPTURE(diagnostics, host, Processor::host)->Apply(shapes)->UseRealTime();
BENCHMARK_CAPTURE(diagnostics, device, Processor::device)->Apply(shapes)->UseRealTime();

void sort(benchmark::State& state) {
  const auto draws = slow_draws(static_cast<std::size_t>(state.range(0)), 1, 0);
  for (auto _ : state) {
    auto sorted = draws;
    std::sort(sorted.begin(), sorted.end());
    benchmark::DoNotOptimize(sorted.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(draws.size()));
}
BENCHMARK(sort)->Arg(64000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gibbsite

BENCHMARK_MAIN();
