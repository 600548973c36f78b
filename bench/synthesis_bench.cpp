// Rows of people drawn from a network a second, formatted as CSV, beside copying that text.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstring>

#include "gibbsite/release/network_query.hpp"

namespace {

using namespace gibbsite;

// Ten columns as Adult's: numbers of many values and few, categories of 2 to 42 levels, two
// parents.
NetworkModel ten_columns() {
  Schema whole;
  whole.label_name = "(none)";
  whole.label = TwoClasses{.positive = "(none)"};
  const auto category = [&](const char* name, int levels) {
    Column column{.name = name, .type = ColumnType::category};
    for (int l = 0; l < levels; ++l) column.levels.push_back(fmt::format("{}-{}", name, l));
    whole.columns.push_back(column);
  };
  const auto number = [&](const char* name, double lo, double hi, std::optional<int> decimals) {
    Column column{.name = name, .type = ColumnType::number, .lo = lo, .hi = hi};
    column.decimals = decimals;
    whole.columns.push_back(column);
  };
  number("age", 17, 90, 0);
  category("workclass", 9);
  number("fnlwgt", 0, 1'500'000, 0);
  category("education", 16);
  category("marital", 7);
  category("relationship", 6);
  category("race", 5);
  number("score", 0, 1, {});
  category("country", 42);
  category("income", 2);
  NetworkModel out;
  out.schema = network_schema(whole);
  out.network.levels = network_levels(out.schema);
  out.network.parents.resize(10);
  for (std::uint32_t k = 1; k < 10; ++k) {
    if (k > 1) out.network.parents[k].push_back(k - 2);
    out.network.parents[k].push_back(k - 1);
  }
  auto& tables = out.tables.emplace_back();
  for (std::size_t k = 0; k < 10; ++k) {
    auto& table = tables.emplace_back(out.network.cells(k));
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = 1.0 + static_cast<double>(i * i % 17);
    const std::size_t levels = out.network.levels[k];
    for (std::size_t c = 0; c < table.size(); c += levels) {
      double sum = 0;
      for (std::size_t l = 0; l < levels; ++l) sum += table[c + l];
      for (std::size_t l = 0; l < levels; ++l) table[c + l] /= sum;
    }
  }
  return out;
}

void synthesis(benchmark::State& state) {
  const NetworkModel model = ten_columns();
  constexpr std::uint64_t rows = 1'000'000;
  SynthesisOptions options;
  options.threads = static_cast<std::size_t>(state.range(0));
  std::size_t bytes = 0;
  for (auto _ : state) {
    synthesize(
        model, rows, StreamKey::from_seed(1), [&](std::string_view text) { bytes += text.size(); },
        options);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(rows) * state.iterations());
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
}
BENCHMARK(synthesis)->Arg(1)->Arg(2)->MeasureProcessCPUTime()->UseRealTime()->Unit(
    benchmark::kMillisecond);

void copying(benchmark::State& state) {
  std::string text;
  synthesize(ten_columns(), 1'000'000, StreamKey::from_seed(1),
             [&](std::string_view piece) { text += piece; });
  std::string copy(text.size(), ' ');
  for (auto _ : state) {
    std::memcpy(copy.data(), text.data(), text.size());
    benchmark::DoNotOptimize(copy.data());
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(text.size()) * state.iterations());
}
BENCHMARK(copying)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);

void joint_of_two(benchmark::State& state) {
  const NetworkModel model = ten_columns();
  for (auto _ : state) {
    const std::uint32_t ends[] = {0, 9};
    benchmark::DoNotOptimize(joint(model, ends));
  }
}
BENCHMARK(joint_of_two)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
