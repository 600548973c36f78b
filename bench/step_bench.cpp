// One Langevin step at Adult's shape: gradient passes/s, chain-gradients/s, and how near they come
// to this machine's own roofs, measured in this process: the read bandwidth of a table of that size
// and the rate of double fused multiply-adds. Then the noise: normals/s of each generator.
#include <benchmark/benchmark.h>

#include <cmath>
#include <random>
#include <vector>

#include "gibbsite/sampler/backend.hpp"
#include "roofs.hpp"

namespace gibbsite {
namespace {

constexpr std::size_t rows = 32561, features = 108;  // Adult, one-hot, no intercept

struct Table {
  std::vector<float> x, y;
};

const Table& table() {
  static const Table t = [] {
    std::mt19937 gen(1);
    std::normal_distribution<float> normal(0, 1 / std::sqrt(static_cast<float>(features)));
    Table out{std::vector<float>(rows * features), std::vector<float>(rows)};
    for (float& v : out.x) v = normal(gen);
    for (float& v : out.y) v = normal(gen) < 0 ? -1.0f : 1.0f;
    return out;
  }();
  return t;
}

double read_roof() {
  static const double roof = bench::read_bandwidth(table().x);
  return roof;
}

double flop_roof() {
  static const double roof = bench::double_fma_rate();
  return roof;
}

void step(benchmark::State& state, const char* name) {
  const auto chains = static_cast<std::size_t>(state.range(0));
  const auto backend = make_backend(name);
  const auto engine =
      backend->load({table().x.data(), rows, features}, table().y, loss_named("logistic"));
  std::vector<ChainSpec> specs(chains);
  for (std::size_t c = 0; c < chains; ++c) {
    specs[c].iterations = ~std::uint64_t{0};
    specs[c].stream = static_cast<std::uint32_t>(c);
    specs[c].step_size = 1e-4;
    specs[c].key.bytes[0] = 1;
  }
  Ensemble ensemble = start(std::move(specs), features);
  engine->advance(ensemble, 1);
  for (auto _ : state) engine->advance(ensemble, 1);

  using benchmark::Counter;
  const double steps = static_cast<double>(state.iterations());
  const double bytes = 4.0 * rows * features,
               flops = 4.0 * rows * features * static_cast<double>(chains);
  state.counters["passes/s"] = Counter(steps, Counter::kIsRate);
  state.counters["chain_gradients/s"] =
      Counter(steps * static_cast<double>(chains), Counter::kIsRate);
  state.counters["GB/s"] = Counter(steps * bytes / 1e9, Counter::kIsRate);
  state.counters["Gflop/s"] = Counter(steps * flops / 1e9, Counter::kIsRate);
  state.counters["of_read_roof"] = Counter(steps * bytes / read_roof(), Counter::kIsRate);
  state.counters["of_flop_roof"] = Counter(steps * flops / flop_roof(), Counter::kIsRate);
  state.SetLabel(backend->description());
}
BENCHMARK_CAPTURE(step, cpu, "cpu")
    ->Arg(1)
    ->Arg(16)
    ->Arg(256)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(step, reference, "reference")
    ->Arg(1)
    ->Arg(16)
    ->Arg(256)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

void roofs(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(read_roof() + flop_roof());
  state.counters["read_GB/s"] = read_roof() / 1e9;
  state.counters["fma_Gflop/s"] = flop_roof() / 1e9;
}
BENCHMARK(roofs)->Iterations(1);

void noise(benchmark::State& state, NoiseKind kind) {
  Key key;
  key.kind = kind;
  std::vector<double> out(features);
  std::uint64_t at = 0;
  for (auto _ : state) {
    fill_normals(key, 0, at++, out);
    benchmark::DoNotOptimize(out.data());
  }
  state.counters["normals/s"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * features, benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(noise, chacha20, NoiseKind::chacha20);
BENCHMARK_CAPTURE(noise, philox, NoiseKind::philox);

}  // namespace
}  // namespace gibbsite

BENCHMARK_MAIN();
