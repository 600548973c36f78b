// Steps and gradients of the CPU backends over the shapes of bench/README.md, beside this
// machine's own roofs, measured in this process. bench_step --limit=SECONDS leaves out what would
// take longer a gradient, --rows=N larger tables; OMP_NUM_THREADS is the number of threads.
//
//   step/BACKEND/ARITHMETIC/ROWSxFEATURES/CHAINS/threads:T      one Langevin step of all chains
//   gradient/...                                                the loss gradients of all chains
//   classes/ARITHMETIC/ROWSxFEATURES/K/CHAINS                   of K classes, and of as many chains
//                                                               of the logistic loss as it has
//                                                               outputs; `ratio` is of the two
//   moments/..., first_capped/..., capped/...                   in a full metric P [d x d]: second
//                                                               moments; a capped gradient with and
//                                                               without finding the caps
//   noise/KIND/FEATURES/CHAINS                                  normals of one step on one thread;
//                                                               with the update where chains are
//                                                               many
//
// Data are functions of their place (see u below), so that a peer computes on the same numbers; the
// context's fingerprint/ROWSxFEATURES is chain 0's gradient: three coordinates and the norm.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/cpu/kernels.hpp"
#include "engine/cpu/noise.hpp"
#include "gibbsite/engine/engine.hpp"
#include "gibbsite/engine/machine.hpp"

namespace gibbsite {
namespace {

struct Shape {
  std::size_t rows, features;
};
constexpr Shape shapes[] = {
    {1'000, 25}, {32'561, 108}, {581'012, 54}, {1'000'000, 100}, {100'000, 1'000}};
constexpr std::size_t chain_counts[] = {1, 4, 16, 64, 256, 1024};

// Uniform in [0, 1): number i of that seed, by SplitMix64 (Steele, Lea, Flood 2014).
double u(std::uint64_t seed, std::uint64_t i) {
  std::uint64_t z = (seed << 40) + i + 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

// One table is in memory at a time: cases come shape by shape.
struct Table {
  Shape shape{};
  std::vector<float> x, y;
  double read_roof = 0;
  SparseTable entries;  // the one-hot rows, where they were asked for

  void make(const Shape& wanted) {
    if (shape.rows == wanted.rows && shape.features == wanted.features) return;
    shape = wanted;
    x = {};
    x.resize(shape.rows * shape.features);
    y.resize(shape.rows);
    const double width = std::sqrt(3 / static_cast<double>(shape.features));
#pragma omp parallel for schedule(static)
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((2 * u(1, i) - 1) * width);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = u(2, i) < 0.5 ? -1.0f : 1.0f;
    read_roof = read_bandwidth(x);
    entries = {};
  }
  // One-hot rows of that shape: one entry in every eight features, so an eighth of X.
  void make_entries() {
    if (entries.rows() > 0) return;
    const std::size_t groups = (shape.features + 7) / 8;
    entries.begin.resize(shape.rows + 1);
    entries.feature.resize(shape.rows * groups);
    entries.value.assign(shape.rows * groups,
                         static_cast<float>(std::sqrt(1.0 / static_cast<double>(groups))));
#pragma omp parallel for schedule(static)
    for (std::size_t i = 0; i < shape.rows; ++i) {
      entries.begin[i + 1] = (i + 1) * groups;
      for (std::size_t k = 0; k < groups; ++k) {
        const std::size_t width = std::min<std::size_t>(8, shape.features - 8 * k);
        const double at = u(4, i * groups + k) * static_cast<double>(width);
        entries.feature[i * groups + k] =
            static_cast<std::uint32_t>(8 * k + static_cast<std::size_t>(at));
      }
    }
  }
  [[nodiscard]] std::unique_ptr<Engine> load(const char* backend, Arithmetic arithmetic) const {
    return make_backend(backend, {.arithmetic = arithmetic})
        ->load({x.data(), shape.rows, shape.features}, y, loss_named("logistic"));
  }
  [[nodiscard]] std::unique_ptr<Engine> load_entries(Arithmetic arithmetic) const {
    return make_backend("cpu", {.arithmetic = arithmetic})
        ->load({entries.view(), shape.features}, y, loss_named("logistic"));
  }
};
Table table;

std::vector<double> thetas(std::size_t chains, std::size_t d) {
  std::vector<double> theta(chains * d);
  for (std::size_t i = 0; i < theta.size(); ++i) theta[i] = 2 * u(3, i) - 1;
  return theta;
}

std::string fingerprint(const Shape& shape) {
  table.make(shape);
  const std::vector<double> theta = thetas(1, shape.features);
  std::vector<double> g(shape.features);
  table.load("cpu", Arithmetic::float64)
      ->loss_gradients({theta.data(), 1, g.size()}, {g.data(), 1, g.size()});
  double square = 0;
  for (const double v : g) square += v * v;
  return fmt::format("{:.15g},{:.15g},{:.15g},{:.15g}", g[0], g[1], g[2], std::sqrt(square));
}

struct Case {
  const char* backend;
  Arithmetic arithmetic;
  Shape shape;
  std::size_t chains;
};

double flops(const Case& c) {
  return 4.0 * static_cast<double>(c.shape.rows * c.shape.features * c.chains);
}

double fma_roof(Arithmetic arithmetic) {
  static const double in_double = double_fma_rate(), in_float = float_fma_rate();
  return arithmetic == Arithmetic::float64 ? in_double : in_float;
}

// Times `work` once an iteration and reports the median.
template <class F>
void measure(benchmark::State& state, const Case& c, F&& work) {
  work();
  std::vector<double> seconds;
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    state.SetIterationTime(taken.count());
    seconds.push_back(taken.count());
  }
  std::ranges::nth_element(seconds, seconds.begin() + static_cast<long>(seconds.size() / 2));
  const double median = seconds[seconds.size() / 2];
  const double bytes = 4.0 * static_cast<double>(c.shape.rows * c.shape.features);
  state.counters["rows"] = static_cast<double>(c.shape.rows);
  state.counters["features"] = static_cast<double>(c.shape.features);
  state.counters["chains"] = static_cast<double>(c.chains);
  state.counters["seconds"] = median;
  state.counters["chain_gradients/s"] = static_cast<double>(c.chains) / median;
  state.counters["Gflop/s"] = flops(c) / median / 1e9;
  state.counters["of_fma_roof"] = flops(c) / median / fma_roof(c.arithmetic);
  state.counters["read_roof"] = table.read_roof;
  state.counters["of_read_roof"] = bytes / median / table.read_roof;
}

void gradient_of(benchmark::State& state, const Case& c, Engine& engine) {
  const std::size_t d = c.shape.features;
  const std::vector<double> theta = thetas(c.chains, d);
  std::vector<double> out(theta.size());
  measure(state, c, [&] {
    engine.loss_gradients({theta.data(), c.chains, d}, {out.data(), c.chains, d});
    benchmark::DoNotOptimize(out.data());
  });
}

void gradient(benchmark::State& state, const Case& c) {
  table.make(c.shape);
  gradient_of(state, c, *table.load(c.backend, c.arithmetic));
}

// Gradients of softmax beside those of the same number of outputs of the logistic loss, turn by
// turn.
void classes(benchmark::State& state, const Case& c, std::size_t outputs) {
  table.make(c.shape);
  const std::size_t d = c.shape.features, lanes = c.chains * outputs;
  std::vector<float> y(c.shape.rows);
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] = static_cast<float>(static_cast<std::size_t>(u(6, i) * static_cast<double>(outputs)));
  }
  const auto logistic = table.load("cpu", c.arithmetic);
  const auto softmax = make_backend("cpu", {.arithmetic = c.arithmetic})
                           ->load({table.x.data(), c.shape.rows, d}, y,
                                  loss_named(fmt::format("softmax-{}", outputs)));
  const std::vector<double> theta = thetas(lanes, d);
  std::vector<double> out(theta.size());
  std::vector<double> ratios;
  measure(state, {c.backend, c.arithmetic, c.shape, lanes}, [&] {
    const auto begin = std::chrono::steady_clock::now();
    softmax->loss_gradients({theta.data(), c.chains, outputs * d},
                            {out.data(), c.chains, outputs * d});
    const auto middle = std::chrono::steady_clock::now();
    logistic->loss_gradients({theta.data(), lanes, d}, {out.data(), lanes, d});
    const auto end = std::chrono::steady_clock::now();
    ratios.push_back(std::chrono::duration<double>(middle - begin) /
                     std::chrono::duration<double>(end - middle));
  });
  std::ranges::nth_element(ratios, ratios.begin() + static_cast<long>(ratios.size() / 2));
  state.counters["ratio"] = ratios[ratios.size() / 2];
}

// The metric of `moments` and `capped`: full, the scale of the rows.
std::vector<double> metric(std::size_t d) {
  std::vector<double> p(d * d);
  for (std::size_t i = 0; i < p.size(); ++i) p[i] = 2 * u(5, i) - 1;
  return p;
}

// n d k + n k^2 / 2 multiply-adds, k = d, the first in float.
void moments(benchmark::State& state, const Case& c) {
  table.make(c.shape);
  const auto engine = table.load(c.backend, c.arithmetic);
  const std::size_t d = c.shape.features;
  const std::vector<double> p = metric(d);
  std::vector<double> out(d * d);
  measure(state, c, [&] {
    engine->second_moments({p.data(), d, d}, std::sqrt(static_cast<double>(d)) / 2,
                           {out.data(), d, d});
    benchmark::DoNotOptimize(out.data());
  });
}

// The gradient of the capped loss: of a new one, which finds its caps, or of one that has them.
void capped(benchmark::State& state, const Case& c, bool first) {
  table.make(c.shape);
  const auto engine = table.load(c.backend, c.arithmetic);
  const std::size_t d = c.shape.features;
  const std::vector<double> p = metric(d), theta = thetas(1, d);
  std::vector<double> out(d);
  const auto make = [&] {
    return engine->capped_loss({p.data(), d, d}, {.clip = std::sqrt(static_cast<double>(d)) / 2});
  };
  auto loss = make();
  measure(state, c, [&] {
    if (first) loss = make();
    benchmark::DoNotOptimize(loss->gradient(theta, out));
  });
}
void first_capped(benchmark::State& state, const Case& c) { capped(state, c, true); }
void next_capped(benchmark::State& state, const Case& c) { capped(state, c, false); }

void sparse(benchmark::State& state, const Case& c) {
  table.make(c.shape);
  table.make_entries();
  gradient_of(state, c, *table.load_entries(c.arithmetic));
  state.counters["entries"] = static_cast<double>(table.entries.value.size());
}

void step(benchmark::State& state, const Case& c) {
  table.make(c.shape);
  const auto engine = table.load(c.backend, c.arithmetic);
  std::vector<ChainSpec> specs(c.chains, {.key = {NoiseKind::chacha20, {1}}});
  for (std::size_t k = 0; k < c.chains; ++k) {
    specs[k].iterations = ~std::uint64_t{0};
    specs[k].stream = static_cast<std::uint32_t>(k);
    specs[k].step_size = 1e-6;
  }
  Ensemble ensemble = start(std::move(specs), c.shape.features);
  measure(state, c, [&] { engine->advance(ensemble, 1); });
}

// At least 7 of them, half a second at 20 Gflop/s; Google Benchmark cannot choose, since what it
// would stop at is the sum of all.
std::int64_t iterations(const Case& c) {
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(1e10 / flops(c)), 7, 20'000);
}

void add(const char* what, void (*run)(benchmark::State&, const Case&), const Case& c) {
  const std::string name =
      fmt::format("{}/{}/{}/{}x{}/{}/threads:{}", what, c.backend, to_string(c.arithmetic),
                  c.shape.rows, c.shape.features, c.chains, omp_get_max_threads());
  benchmark::RegisterBenchmark(name.c_str(), run, c)
      ->Iterations(iterations(c))
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

// The noise of `chains` chains as the cpu engine makes it: one by one where they are few, in panels
// of double where they are many.
void noise(benchmark::State& state, NoiseKind kind, std::size_t d, std::size_t chains) {
  ChainSpec spec{.step_size = 1e-6, .key = {kind, {1}}};
  std::vector<std::uint64_t> words(d + d % 2);
  std::vector<double> out(d);
  const std::size_t width = cpu::panel_width<double>(chains), panels = chains / width;
  std::vector<cpu::PanelChains> moves;
  for (std::size_t p = 0; p < panels; ++p) {
    moves.emplace_back(width);
    for (std::size_t c = 0; c < width; ++c) {
      spec.stream = static_cast<std::uint32_t>(p * width + c);
      moves[p].set(c, spec, 0);
    }
  }
  std::vector<double> theta(d * chains), gradient(d * chains);
  const std::size_t blocks = (d + cpu::block_coordinates - 1) / cpu::block_coordinates;
  std::uint64_t at = 0;
  for (auto _ : state) {
    ++at;
    if (chains <= cpu::few_chains) {
      for (std::size_t c = 0; c < chains; ++c) {
        fill_words(spec.key, static_cast<std::uint32_t>(c), at, words);
        cpu::normals(words, out);
      }
    } else {
      for (std::size_t p = 0; p < panels; ++p) {
        cpu::langevin_panel({.blocks = {&moves[p], at, d, 0, blocks},
                             .gradient = &gradient[p * width * d],
                             .center = nullptr,
                             .theta = &theta[p * width * d],
                             .rounded = nullptr});
      }
    }
    benchmark::DoNotOptimize(out.data());
    benchmark::DoNotOptimize(theta.data());
    benchmark::ClobberMemory();
  }
  const auto normals = static_cast<double>(state.iterations()) * static_cast<double>(d * chains);
  state.counters["normals/s"] = benchmark::Counter(normals, benchmark::Counter::kIsRate);
}

// Takes `--name=NUMBER` out of the arguments.
double option(int& argc, char** argv, std::string_view name, double otherwise) {
  const std::string prefix = fmt::format("--{}=", name);
  for (int i = 1; i < argc; ++i) {
    if (!std::string_view(argv[i]).starts_with(prefix)) continue;
    otherwise = std::stod(argv[i] + prefix.size());
    std::copy(argv + i + 1, argv + argc, argv + i);
    --argc;
    break;
  }
  return otherwise;
}

int run(int argc, char** argv) {
  const double limit = option(argc, argv, "limit", 4), most_rows = option(argc, argv, "rows", 1e9);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const int threads = omp_get_max_threads();
  const auto context = [&](const char* name, double value) {
    benchmark::AddCustomContext(fmt::format("{}_{}", name, threads), fmt::format("{:.6g}", value));
  };
  context("double_fma_flops", fma_roof(Arithmetic::float64));
  context("float_fma_flops", fma_roof(Arithmetic::float32));
  {
    const std::vector<float> large(std::size_t{64} << 20, 1.0f);  // 256 MiB: no cache holds it
    context("read_bytes_per_second", read_bandwidth(large));
  }
  for (const NoiseKind kind : {NoiseKind::chacha20, NoiseKind::philox}) {
    for (const std::size_t d : {25u, 108u, 1000u}) {
      for (const std::size_t chains : {1u, 1024u}) {
        const std::string name = fmt::format("noise/{}/{}/{}", to_string(kind), d, chains);
        benchmark::RegisterBenchmark(name.c_str(), noise, kind, d, chains);
      }
    }
  }
  for (const Arithmetic arithmetic : {Arithmetic::float32, Arithmetic::float64}) {
    for (const std::size_t d : {54u, 784u}) {
      for (const std::size_t outputs : {3u, 10u, 100u}) {
        for (const std::size_t chains : {1u, 16u, 64u}) {
          const Case c{"cpu", arithmetic, {200'000 / d, d}, chains};
          const std::string name = fmt::format("classes/{}/{}x{}/{}/{}", to_string(arithmetic),
                                               c.shape.rows, d, outputs, chains);
          benchmark::RegisterBenchmark(name.c_str(), classes, c, outputs)
              ->Iterations(15)
              ->UseManualTime()
              ->Unit(benchmark::kMillisecond);
        }
      }
    }
  }
  for (const Shape& shape : shapes) {
    if (static_cast<double>(shape.rows) > most_rows) continue;
    benchmark::AddCustomContext(fmt::format("fingerprint/{}x{}", shape.rows, shape.features),
                                fingerprint(shape));
    for (const Arithmetic arithmetic : {Arithmetic::float32, Arithmetic::float64}) {
      for (const std::size_t chains : chain_counts) {
        const Case c{"cpu", arithmetic, shape, chains};
        if (flops(c) / 20e9 > limit * threads) continue;
        add("gradient", gradient, c);
        add("sparse", sparse, c);
        add("step", step, c);
      }
    }
    if (shape.features >= 100) {
      const Case c{"cpu", Arithmetic::float64, shape, 1};
      add("moments", moments, c);
      add("first_capped", first_capped, c);
      add("capped", next_capped, c);
    }
    if (shape.rows == 32'561) {
      add("step", step, {"reference", Arithmetic::float64, shape, 1});
      add("step", step, {"reference", Arithmetic::float64, shape, 16});
    }
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace
}  // namespace gibbsite

int main(int argc, char** argv) { return gibbsite::run(argc, argv); }
