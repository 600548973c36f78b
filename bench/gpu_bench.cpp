// Steps on a GPU: every design over the shapes it is meant for, the noise by itself, and long runs
// for a power meter. scripts/gpu-bench runs it design by design and makes the tables; what the GPU
// itself can do is measured in the same process (gpu_roofs.cu) and is in the JSON's context.
//
//   step/DESIGN/ARITHMETIC/ROWSxFEATURES/CHAINS   seconds of one step of all chains
//   noise/KIND                                    seconds of one kernels::Finish
//   metric/QUESTION/ROWSxFEATURES                 seconds of one answer in a full P: a capped
//   gradient,
//                                                 one that finds its caps first, second moments
//   long/ARITHMETIC/ROWSxFEATURES/CHAINS          the chosen design for some seconds
//
//   roof/WHAT                                     one more rate of the GPU itself
//
// --seconds=S: cases that start later than that are skipped and say so. --roofs=off: the context is
// without what the GPU itself can do.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "engine/cuda/cuda.hpp"
#include "engine/cuda/design.hpp"
#include "gibbsite/core/error.hpp"
#include "gpu_roofs.hpp"

namespace gibbsite {
namespace {

using Clock = std::chrono::steady_clock;
using cuda::Design;
using cuda::Shape;

constexpr int windows = 7;  // a figure is the median of these
constexpr double window_seconds = 0.08;
constexpr double slowest_step = 0.7;  // seconds; slower cases are left out

Clock::time_point deadline = Clock::time_point::max();

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

template <class F>
double seconds_of(F&& work) {
  const auto begin = Clock::now();
  work();
  return seconds_since(begin);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

const std::shared_ptr<cuda::Device>& device() {
  static const std::shared_ptr<cuda::Device> gpu = cuda::make_device();
  return gpu;
}

// Rows of norm about 1, uniform, from their place alone; labels at random.
struct Table {
  std::size_t rows = 0, features = 0;
  std::vector<float> x, y;

  // splitmix64
  static float uniform(std::uint64_t i) {
    std::uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<float>(static_cast<std::int64_t>(z ^ (z >> 31)) >> 40) * 0x1p-23F;
  }
  Table(std::size_t n, std::size_t d) : rows(n), features(d), x(n * d), y(n) {
    const float scale = std::sqrt(3.0F / static_cast<float>(d));
#pragma omp parallel for
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = scale * uniform(i);
    for (std::size_t i = 0; i < n; ++i) y[i] = uniform(~i) < 0 ? -1.0F : 1.0F;
  }
};

// The last one asked for is kept.
const Table& table(std::size_t rows, std::size_t features) {
  static std::unique_ptr<Table> kept;
  if (!kept || kept->rows != rows || kept->features != features) {
    kept.reset();
    kept = std::make_unique<Table>(rows, features);
  }
  return *kept;
}

// Chains that keep moving about the origin, with the certified noise.
Ensemble chains_of(const Shape& shape) {
  std::vector<ChainSpec> specs(shape.chains, {.key = {NoiseKind::chacha20, {1}}});
  for (std::size_t c = 0; c < specs.size(); ++c) {
    specs[c].inverse_temperature = 1 / static_cast<double>(shape.rows);
    specs[c].step_size = 1e-2;
    specs[c].iterations = ~std::uint64_t{0};
    specs[c].stream = static_cast<std::uint32_t>(c);
  }
  return start(std::move(specs), shape.features);
}

struct Running {
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Engine> engine;
  Ensemble ensemble;

  Running(const Shape& shape, Arithmetic arithmetic, std::string_view design)
      : backend(cuda::make_cuda_backend(device(),
                                        {.arithmetic = arithmetic, .design = std::string(design)})),
        ensemble(chains_of(shape)) {
    const Table& t = table(shape.rows, shape.features);
    engine = backend->load({t.x.data(), t.rows, t.features}, t.y, loss_named("logistic"));
    engine->advance(ensemble, 2);  // memory, the copy of X, a captured step
  }
  double seconds(std::uint64_t steps) {
    return seconds_of([&] { engine->advance(ensemble, steps); });
  }
  // Steps that take about that long together.
  std::uint64_t steps_of(double length) {
    std::uint64_t steps = 1;
    double taken = seconds(steps);
    while (taken < length / 8 && steps < (std::uint64_t{1} << 24)) taken = seconds(steps *= 4);
    const double wanted = std::ceil(length / taken * static_cast<double>(steps));
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(wanted));
  }
  void require_finite() const {
    for (const double v : ensemble.theta) {
      if (!std::isfinite(v)) throw CudaError("the chains left the finite numbers");
    }
  }
};

void describe(benchmark::State& state, const Shape& shape, const Engine& engine) {
  state.counters["rows"] = static_cast<double>(shape.rows);
  state.counters["features"] = static_cast<double>(shape.features);
  state.counters["chains"] = static_cast<double>(shape.chains);
  state.SetLabel(engine.design());
}

// Runs `work`; an error is the case's result, not the program's end.
template <class F>
void guarded(benchmark::State& state, F&& work) {
  if (Clock::now() > deadline) return state.SkipWithError("skipped: no time was left");
  try {
    work();
  } catch (const std::exception& error) {
    state.SkipWithError(error.what());
  }
}

void step(benchmark::State& state, Design design, Arithmetic arithmetic, const Shape& shape) {
  guarded(state, [&] {
    const std::string why = cuda::why_not(design, shape, arithmetic, device()->gpu());
    if (!why.empty()) {
      return state.SkipWithError(fmt::format("refused: {} {}", to_string(design), why).c_str());
    }
    Running run(shape, arithmetic, to_string(design));
    const double first = run.seconds(1);
    if (first > slowest_step) {
      return state.SkipWithError(fmt::format("skipped: a step takes {:.2g} s", first).c_str());
    }
    const std::uint64_t steps = run.steps_of(window_seconds);
    std::vector<double> each;
    for (auto _ : state) {
      each.push_back(run.seconds(steps) / static_cast<double>(steps));
      state.SetIterationTime(each.back());
    }
    run.require_finite();
    describe(state, shape, *run.engine);
    state.counters["seconds"] = median(each);
    state.counters["least_seconds"] = std::ranges::min(each);
    state.counters["largest_seconds"] = std::ranges::max(each);
    state.counters["steps"] = static_cast<double>(steps);
  });
}

void long_run(benchmark::State& state, Arithmetic arithmetic, const Shape& shape) {
  guarded(state, [&] {
    Running run(shape, arithmetic, "auto");
    const std::uint64_t steps = run.steps_of(7);
    using Unix = std::chrono::duration<double>;
    for (auto _ : state) {
      state.counters["begin_unix"] =
          Unix(std::chrono::system_clock::now().time_since_epoch()).count();
      const double seconds = run.seconds(steps);
      state.counters["end_unix"] =
          Unix(std::chrono::system_clock::now().time_since_epoch()).count();
      state.counters["seconds"] = seconds / static_cast<double>(steps);
      state.SetIterationTime(seconds);
    }
    run.require_finite();
    describe(state, shape, *run.engine);
  });
}

enum class Question { gradient, first_gradient, moments };

void metric(benchmark::State& state, Question question, const Shape& shape) {
  guarded(state, [&] {
    const std::size_t n = shape.rows, d = shape.features;
    const Table& t = table(n, d);
    const auto engine = cuda::make_cuda_backend(device(), {})
                            ->load(Rows(t.x.data(), n, d), t.y, loss_named("logistic"));
    std::vector<double> P(d * d), theta(d, 0.1), gradient(d), moments(d * d);
    for (std::size_t at = 0; at < P.size(); ++at) {
      P[at] = (at % (d + 1) == 0 ? 1 : 0) + 1e-3 * static_cast<double>(Table::uniform(at));
    }
    const MatrixView<const double> view{P.data(), d, d};
    std::unique_ptr<CappedLoss> loss = engine->capped_loss(view, {.clip = 0.8});
    const auto ask = [&] {
      if (question == Question::moments) {
        return engine->second_moments(view, 0.8, {moments.data(), d, d});
      }
      if (question == Question::first_gradient) loss = engine->capped_loss(view, {.clip = 0.8});
      loss->gradient(theta, gradient);
    };
    const auto answers = [&](int count) {
      return seconds_of([&] {
        for (int k = 0; k < count; ++k) ask();
      });
    };
    answers(2);  // memory, the copy of X
    const int count = std::clamp(static_cast<int>(std::ceil(window_seconds / answers(1))), 1, 1000);
    std::vector<double> each;
    for (auto _ : state) {
      each.push_back(answers(count) / count);
      state.SetIterationTime(each.back());
    }
    describe(state, shape, *engine);
    state.counters["seconds"] = median(each);
    state.counters["least_seconds"] = std::ranges::min(each);
    state.counters["largest_seconds"] = std::ranges::max(each);
  });
}

enum class Noise { given, chacha20, philox, curand };

struct DeviceMemory {
  std::byte* data;
  explicit DeviceMemory(std::size_t bytes) : data(device()->allocate(bytes)) {
    device()->fill_zero(cuda::Queue::compute, data, bytes);
  }
  ~DeviceMemory() { device()->release(data); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  template <class T>
  [[nodiscard]] kernels::View<T> as(std::size_t count) const {
    return {reinterpret_cast<T*>(data), count};
  }
};

// The end of a step of 4096 chains, noise made in it, by cuRAND before it, or there already.
void noise(benchmark::State& state, Noise kind) {
  guarded(state, [&] {
    constexpr std::size_t chains = 4096, features = 1000, cells = chains * features;
    const DeviceMemory partials(cells * sizeof(double)), theta(cells * sizeof(double)),
        normals(cells * sizeof(double)), chain(chains * sizeof(kernels::Chain)), clock(256);
    const Ensemble like = chains_of({1, features, chains});
    std::vector<kernels::Chain> specs(chains);
    for (std::size_t c = 0; c < chains; ++c) {
      specs[c] = {.inverse_temperature = 1,
                  .prior_precision = 1,
                  .step_size = like.specs[c].step_size,
                  .noise_scale = std::sqrt(2 * like.specs[c].step_size),
                  .step = 0,
                  .iterations = like.specs[c].iterations,
                  .key = {},
                  .stream = like.specs[c].stream,
                  .chacha20 = kind == Noise::chacha20 ? 1U : 0U};
      std::memcpy(specs[c].key, like.specs[c].key.bytes.data(), sizeof(specs[c].key));
    }
    device()->copy_in(cuda::Queue::compute, chain.data, specs.data(),
                      chains * sizeof(kernels::Chain));
    device()->fill_normals(normals.as<double>(cells), 1, 0);
    device()->fill_normals(partials.as<double>(cells), 2, 0);
    const bool made_elsewhere = kind == Noise::given || kind == Noise::curand;
    kernels::Finish finish{};
    finish.partials = partials.as<const double>(cells);
    finish.count = 1;
    finish.chains = chains;
    finish.features = features;
    finish.theta = theta.as<double>(cells);
    finish.chain = chain.as<const kernels::Chain>(chains);
    finish.clock = clock.as<const std::uint64_t>(1);
    if (made_elsewhere) finish.normals = normals.as<const double>(cells);
    std::uint64_t offset = 0;
    const auto launches = [&](int count) {
      return seconds_of([&] {
        for (int k = 0; k < count; ++k) {
          if (kind == Noise::curand) {
            device()->fill_normals(normals.as<double>(cells), 1, offset += cells);
          }
          device()->launch(finish);
        }
        device()->synchronize();
      });
    };
    launches(3);
    const int count =
        std::clamp(static_cast<int>(std::ceil(window_seconds / launches(3) * 3)), 1, 1000);
    std::vector<double> each;
    for (auto _ : state) {
      each.push_back(launches(count) / count);
      state.SetIterationTime(each.back());
    }
    state.counters["seconds"] = median(each);
    state.counters["normals"] = static_cast<double>(cells);
  });
}

// The shapes: one block's shared memory, Adult, Covertype, a large table, one of short rows, two of
// long ones.
constexpr Shape tables[] = {{32561, 108, 0},  {581012, 54, 0},   {1000000, 100, 0}, {1000, 25, 0},
                            {2000000, 20, 0}, {100000, 1000, 0}, {300000, 200, 0}};
constexpr std::size_t chain_counts[] = {1, 256, 16, 64, 1024, 8, 4, 2};  // the telling ones first

struct Range {
  Design design;
  Arithmetic arithmetic;
  std::size_t most_chains;
};
constexpr Range ranges[] = {
    {Design::double_matrix, Arithmetic::float64, 1024},
    {Design::blocked, Arithmetic::float64, 1024},
    {Design::blocked, Arithmetic::float32, 1024},
    {Design::one_pass, Arithmetic::float64, 256},  // beyond where another design is chosen, so that
    {Design::one_pass, Arithmetic::float32, 64},   // the crossing is seen
    {Design::tiled, Arithmetic::float32, 1024},
    {Design::warp_group, Arithmetic::bfloat16, 1024},
    {Design::warp_group, Arithmetic::float32, 1024},
    {Design::cooperative, Arithmetic::float64, 8},
    {Design::cooperative, Arithmetic::float32, 8},
    {Design::resident, Arithmetic::float64, 1024},
    {Design::resident, Arithmetic::float32, 1024},
};

void roof(benchmark::State& state, const bench::GpuRate& rate) {
  guarded(state, [&] {
    device();
    double value = 0;
    for (auto _ : state) {
      value = rate.measure(rate);
      state.SetIterationTime(1);
    }
    if (value == 0) return state.SkipWithError("the card has no such instruction");
    state.counters["value"] = value;
    state.SetLabel(fmt::format("{:.4g} {}", value, rate.unit));
  });
}

std::string named(const Shape& shape) {
  return fmt::format("{}x{}/{}", shape.rows, shape.features, shape.chains);
}

void register_all() {
  const auto add = [](const std::string& name, auto&& work, int iterations) {
    benchmark::RegisterBenchmark(name.c_str(), work)
        ->UseManualTime()
        ->Iterations(iterations)
        ->Unit(benchmark::kMicrosecond);
  };
  for (const Range& range : ranges) {
    for (const Shape& at : tables) {
      for (const std::size_t chains : chain_counts) {
        if (chains > range.most_chains) continue;
        const Shape shape{at.rows, at.features, chains};
        add(
            fmt::format("step/{}/{}/{}", to_string(range.design), to_string(range.arithmetic),
                        named(shape)),
            [=](benchmark::State& state) { step(state, range.design, range.arithmetic, shape); },
            windows);
      }
    }
  }
  for (const bench::GpuRate& rate : bench::gpu_rates()) {
    add(
        "roof/" + rate.name, [&rate](benchmark::State& state) { roof(state, rate); }, 1);
  }
  constexpr std::pair<const char*, Noise> kinds[] = {{"given", Noise::given},
                                                     {"chacha20", Noise::chacha20},
                                                     {"philox", Noise::philox},
                                                     {"curand", Noise::curand}};
  for (const auto& [name, kind] : kinds) {
    add(
        fmt::format("noise/{}", name),
        [kind = kind](benchmark::State& state) { noise(state, kind); }, windows);
  }
  constexpr std::pair<const char*, Question> questions[] = {
      {"gradient", Question::gradient},
      {"first-gradient", Question::first_gradient},
      {"moments", Question::moments}};
  for (const Shape& at : tables) {
    for (const auto& [name, question] : questions) {
      add(
          fmt::format("metric/{}/{}x{}", name, at.rows, at.features),
          [=, question = question](benchmark::State& state) {
            metric(state, question, {at.rows, at.features, 1});
          },
          windows);
    }
  }
  constexpr std::pair<Arithmetic, std::size_t> runs[] = {
      {Arithmetic::float64, 1}, {Arithmetic::float32, 256}, {Arithmetic::bfloat16, 1024}};
  for (const auto& [arithmetic, chains] : runs) {
    const Shape shape{1000000, 100, chains};
    add(
        fmt::format("long/{}/{}", to_string(arithmetic), named(shape)),
        [=, arithmetic = arithmetic](benchmark::State& state) {
          long_run(state, arithmetic, shape);
        },
        1);
  }
}

void add_context(bool roofs_wanted) {
  const auto add = [](const char* name, double value) {
    benchmark::AddCustomContext(name, fmt::format("{:.6g}", value));
  };
  const cuda::Gpu gpu = device()->gpu();
  benchmark::AddCustomContext("card", gpu.name);
  add("l2_bytes", static_cast<double>(cuda::cache_for_all(gpu)));
  if (!roofs_wanted) return;
  const bench::GpuRoofs roofs = bench::measure_gpu_roofs();
  add("copy_bytes_per_second", roofs.copy);
  add("float_fma_flops", roofs.float_fma);
  add("double_fma_flops", roofs.double_fma);
  add("double_matrix_flops", roofs.double_matrix);
  add("tf32_matrix_flops", roofs.tf32_matrix);
  add("bfloat16_matrix_flops", roofs.bfloat16_matrix);
}

int run(int argc, char** argv) {
  std::vector<char*> arguments;
  bool roofs_wanted = true;
  for (int k = 0; k < argc; ++k) {
    const std::string_view word = argv[k];
    if (word == "--roofs=off") {
      roofs_wanted = false;
    } else if (word.starts_with("--seconds=")) {
      const double seconds = std::stod(std::string(word.substr(word.find('=') + 1)));
      deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                    std::chrono::duration<double>(seconds));
    } else {
      arguments.push_back(argv[k]);
    }
  }
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
  try {
    add_context(roofs_wanted);
  } catch (const BackendUnavailable& error) {
    fmt::print(stderr, "gpu_bench: {}\n", error.what());
    return static_cast<int>(error.status());
  }
  register_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace
}  // namespace gibbsite

int main(int argc, char** argv) { return gibbsite::run(argc, argv); }
