// How near a model on a junction tree comes to Adult's ten columns: mean total variation of all
// pairs and triples of columns, of rows drawn from it, over seeds of simulated noise; then 50
// columns. It reads the table itself, so it is a simulation and no release.
//   bench_tree adult-train.csv adult-test.csv [seeds]
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <numbers>
#include <random>
#include <set>
#include <sstream>
#include <string>

#include "gibbsite/core/table_choice.hpp"
#include "gibbsite/model/network_model.hpp"
#include "gibbsite/model/tree_model.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "gibbsite/release/drawn_levels.hpp"

namespace {

using namespace gibbsite;

struct Table {
  std::vector<std::uint64_t> levels;              // [K]
  std::vector<std::vector<std::uint32_t>> cells;  // [K][rows]
  [[nodiscard]] std::size_t rows() const { return cells.front().size(); }
};

using Texts = std::map<std::string, std::vector<std::string>>;
Texts read(const std::string& path) {
  std::ifstream file(path);
  std::string line, cell;
  std::vector<std::string> names;
  Texts out;
  while (std::getline(file, line)) {
    std::vector<std::string> cells;
    for (std::istringstream in(line); std::getline(in, cell, ',');) {
      const auto first = cell.find_first_not_of(' '), last = cell.find_last_not_of(" .\r");
      cells.push_back(first == cell.npos ? "" : cell.substr(first, last + 1 - first));
    }
    if (names.empty()) {
      names = cells;
    } else if (cells.size() == names.size()) {
      for (std::size_t k = 0; k < names.size(); ++k) out[names[k]].push_back(cells[k]);
    }
  }
  return out;
}

// Levels as the comparison with peers has them (docs/reference/peers.md).
Table adult(const std::string& train, const std::string& test) {
  struct Bins {
    double lo = 0, hi = 0;
    std::uint64_t count = 0;  // 0: a category
  };
  const std::vector<std::pair<std::string, Bins>> columns{{"age", {17, 90, 10}},
                                                          {"workclass", {}},
                                                          {"education_num", {1, 17, 16}},
                                                          {"marital_status", {}},
                                                          {"occupation", {}},
                                                          {"relationship", {}},
                                                          {"sex", {}},
                                                          {"capital_gain", {0, 100'000, 10}},
                                                          {"hours_per_week", {1, 100, 10}},
                                                          {"income", {}}};
  Texts texts = read(train), others = read(test);
  Table out;
  for (const auto& [name, bins] : columns) {
    auto& cells = out.cells.emplace_back();
    if (bins.count > 0) {
      for (const std::string& text : texts[name]) {
        const double place = (std::stod(text) - bins.lo) / (bins.hi - bins.lo);
        const double bin = std::floor(place * static_cast<double>(bins.count) + 1e-9);
        cells.push_back(
            static_cast<std::uint32_t>(std::clamp(bin, 0.0, static_cast<double>(bins.count - 1))));
      }
      out.levels.push_back(bins.count);
      continue;
    }
    std::set<std::string> known(texts[name].begin(), texts[name].end());
    known.insert(others[name].begin(), others[name].end());
    for (const std::string& text : texts[name])
      cells.push_back(static_cast<std::uint32_t>(std::distance(known.begin(), known.find(text))));
    out.levels.push_back(known.size());
  }
  return out;
}

// Columns beside those of `from`, each a copy of one of them in which one cell of five is another
// row's.
Table widened(const Table& from, std::size_t columns) {
  std::mt19937_64 bits(1);
  Table out = from;
  for (std::size_t k = from.levels.size(); k < columns; ++k) {
    const std::size_t of = k % from.levels.size();
    out.levels.push_back(from.levels[of]);
    auto& cells = out.cells.emplace_back(from.cells[of]);
    for (std::uint32_t& cell : cells)
      if (bits() % 5 == 0) cell = from.cells[of][bits() % from.rows()];
  }
  return out;
}

std::vector<double> counted(const std::vector<std::uint64_t>& levels,
                            const std::vector<std::vector<std::uint32_t>>& cells,
                            const ColumnList& columns) {
  std::vector<double> out(table_cells(levels, columns));
  for (std::size_t i = 0; i < cells.front().size(); ++i) {
    std::size_t at = 0;
    for (const std::uint32_t k : columns) at = at * levels[k] + cells[k][i];
    ++out[at];
  }
  return out;
}

double distance(const Table& table, const std::vector<std::vector<std::uint32_t>>& drawn,
                const std::vector<ColumnList>& sets) {
  double sum = 0;
  for (const ColumnList& columns : sets) {
    const auto a = counted(table.levels, table.cells, columns);
    const auto b = counted(table.levels, drawn, columns);
    for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - b[i]);
  }
  return sum / 2 / static_cast<double>(table.rows()) / static_cast<double>(sets.size());
}

std::vector<ColumnList> subsets(std::uint32_t columns, std::size_t size) {
  std::vector<ColumnList> out;
  for (std::uint32_t a = 0; a < columns; ++a)
    for (std::uint32_t b = a + 1; b < columns; ++b) {
      if (size == 2) out.push_back({a, b});
      for (std::uint32_t c = b + 1; size == 3 && c < columns; ++c) out.push_back({a, b, c});
    }
  return out;
}

struct Outcome {
  TreeNetwork network;
  std::size_t tables = 0;
  std::uint64_t clique = 0, iterations = 0;
  double seconds = 0;  // of one processor, for the choice, the fit and the network
};

// The steps of a release (docs/theory/network.md) with simulated noise.
Outcome fitted(const Table& table, double mu, bool replace, std::uint64_t limit,
               std::uint64_t seed) {
  std::mt19937_64 bits(seed);
  std::normal_distribution<double> normal;
  const auto columns = static_cast<std::uint32_t>(table.levels.size());
  const auto rows = static_cast<double>(table.rows());
  const double a = replace ? std::numbers::sqrt2 : 1.0;
  const double one_way = a * std::sqrt(columns / 0.1) / mu;
  std::vector<MeasuredTable> all, measured;
  for (std::uint32_t k = 0; k < columns; ++k) {
    all.push_back({{k}, counted(table.levels, table.cells, {k}), one_way});
    for (double& count : all.back().counts) count += one_way * normal(bits);
  }
  const LevelGroups groups = group_rare_levels(all);
  const std::vector<std::uint64_t> levels = groups.levels();
  std::vector<std::vector<std::uint32_t>> cells = table.cells;
  std::vector<std::vector<double>> expected;
  for (std::uint32_t k = 0; k < columns; ++k) {
    for (std::uint32_t& cell : cells[k]) cell = groups.group[k][cell];
    MeasuredTable& one =
        measured.emplace_back(MeasuredTable{{k}, std::vector<double>(levels[k]), one_way});
    for (std::size_t l = 0; l < table.levels[k]; ++l)
      one.counts[groups.group[k][l]] += all[k].counts[l];
    expected.push_back(projected_counts(one.counts, rows));
  }
  const std::vector<ColumnList> pairs = subsets(columns, 2);
  const double score_noise =
      (replace ? 2.0 : 1.0) * std::sqrt(static_cast<double>(pairs.size()) / 0.1) / mu;
  std::vector<TableCandidate> candidates;
  for (const ColumnList& pair : pairs) {
    const std::vector<double> counts = counted(levels, cells, pair);
    double score = score_noise * normal(bits);
    for (std::size_t i = 0; i < counts.size(); ++i)
      score += std::abs(counts[i] - expected[pair[0]][i / levels[pair[1]]] *
                                        expected[pair[1]][i % levels[pair[1]]] / rows);
    candidates.push_back({pair, score});
  }
  std::clock_t begin = std::clock();
  Outcome out;
  const TableChoice choice = choose_tables(table.levels, levels, candidates,
                                           {.cells = limit, .columns = 11}, a, mu * std::sqrt(0.8));
  std::clock_t used = std::clock() - begin;
  std::vector<ColumnList> sets;
  for (const ChosenTable& chosen : choice.tables) {
    sets.push_back(chosen.columns);
    measured.push_back({chosen.columns, counted(levels, cells, chosen.columns), chosen.deviation});
    for (double& count : measured.back().counts) count += chosen.deviation * normal(bits);
  }
  begin = std::clock();
  const TreeFit fit = fit_tree(levels, junction_tree(table.levels, sets), measured, rows);
  out.network = split_groups(network_of(fit.model), groups);
  used += std::clock() - begin;
  out.iterations = fit.iterations;
  out.tables = sets.size();
  out.clique = largest_clique(table.levels, sets).cells;
  out.seconds = static_cast<double>(used) / CLOCKS_PER_SEC;
  return out;
}

void print_adult(const Table& table, std::uint64_t seeds) {
  const auto columns = static_cast<std::uint32_t>(table.levels.size());
  const std::vector<ColumnList> pairs = subsets(columns, 2), triples = subsets(columns, 3);
  for (const std::uint64_t limit : {20'000U, 120'000U})
    for (const bool replace : {true, false})
      for (const double epsilon : {0.5, 1.0, 2.0, 4.0}) {
        const double mu = gdp_mu_down(epsilon, 1e-6);
        double of_pairs = 0, of_triples = 0, seconds = 0;
        std::size_t tables = 0;
        std::uint64_t clique = 0;
        for (std::uint64_t seed = 0; seed < seeds; ++seed) {
          const Outcome one = fitted(table, mu, replace, limit, seed);
          const auto drawn = drawn_levels(one.network.network, one.network.tables, table.rows(),
                                          StreamKey::from_seed(seed));
          of_pairs += distance(table, drawn, pairs);
          of_triples += distance(table, drawn, triples);
          seconds += one.seconds;
          tables = std::max(tables, one.tables);
          clique = std::max(clique, one.clique);
        }
        const auto n = static_cast<double>(seeds);
        fmt::print(
            "{:>6} cells, {:<11} epsilon {:<3}: pairs {:.4f}, triples {:.4f}, up to {} "
            "tables, a clique of {}, {:.2f} s\n",
            limit, replace ? "replace-one" : "add-remove", epsilon, of_pairs / n, of_triples / n,
            tables, clique, seconds / n);
        std::fflush(stdout);
      }
}

void print_wide(const Table& table) {
  const Table wide = widened(table, 50);
  const Outcome one = fitted(wide, gdp_mu_down(1, 1e-6), true, 20'000, 0);
  fmt::print("50 columns: {} tables, a clique of {} cells, {} iterations, {:.1f} s, pairs {:.4f}\n",
             one.tables, one.clique, one.iterations, one.seconds,
             distance(wide,
                      drawn_levels(one.network.network, one.network.tables, wide.rows(),
                                   StreamKey::from_seed(0)),
                      subsets(50, 2)));
}

void print_rows(const Table& table) {
  const Outcome one = fitted(table, gdp_mu_down(1, 1e-6), true, 120'000, 0);
  constexpr std::uint64_t rows = 1 << 18;
  for (std::uint64_t part = 0; part < 3; ++part) {
    const std::clock_t begin = std::clock();
    const auto drawn =
        drawn_levels(one.network.network, one.network.tables, rows, StreamKey::from_seed(0), part);
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    fmt::print("{} rows of {} columns: {:.1f} million a second of one processor\n", rows,
               drawn.size(), rows / seconds / 1e6);
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) {
    fmt::print(stderr, "usage: bench_tree adult-train.csv adult-test.csv [seeds]\n");
    return 2;
  }
  const Table table = adult(arguments[1], arguments[2]);
  print_rows(table);
  print_wide(table);
  print_adult(table, count > 3 ? std::strtoull(arguments[3], nullptr, 10) : 3);
  return 0;
}
