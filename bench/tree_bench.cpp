// How near a model on a junction tree comes to Adult's ten columns: mean total variation of all
// pairs and triples of columns, of rows drawn from it, over seeds of simulated noise; then 50
// columns. It reads the table itself, so it is a simulation and no release.
//   bench_tree adult-train.csv adult-test.csv [seeds]
//   bench_tree --triples adult-train.csv adult-test.csv [seeds]    triples counted beside pairs
//   bench_tree --shares table.csv [seeds]    shares of the budget; numbers in tenths
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

// Levels as in the comparison with other programs.
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
  std::size_t tables = 0, triples = 0;
  std::uint64_t clique = 0, iterations = 0;
  double seconds = 0;  // of one processor, for the choice, the fit and the network
};

// What is measured beside pairs.
enum class Triples {
  none,
  known,   // chosen together with pairs by how far the model of pairs is off, at no cost: a bound
  second,  // scored and counted by a part of the budget, once the model of pairs is there
};
struct How {
  double mu = 1;
  bool replace = true;
  std::uint64_t limit = 20'000;
  double one_ways = .1, scores = .1;  // shares of mu^2
  Triples triples = Triples::none;
  double triple_scores = 0, triple_counts = 0;  // shares of mu^2, of `second`
};

using Cells = std::vector<std::vector<std::uint32_t>>;
// ||N - n p||_1 of each of these sets, p the model's.
std::vector<double> misses(const std::vector<std::uint64_t>& levels, const Cells& cells,
                           const TreeNetwork& model, const std::vector<ColumnList>& sets) {
  // By many rows drawn of the model: what it says of a set across cliques is no short sum.
  constexpr std::uint64_t times = 16;
  const std::size_t rows = cells.front().size();
  const Cells drawn =
      drawn_levels(model.network, model.tables, times * rows, StreamKey::from_seed(99));
  std::vector<double> out;
  for (const ColumnList& columns : sets) {
    const auto a = counted(levels, cells, columns), b = counted(levels, drawn, columns);
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
      sum += std::abs(a[i] - b[i] / static_cast<double>(times));
    out.push_back(sum);
  }
  return out;
}

// The steps of a release (docs/theory/network.md) with simulated noise.
Outcome fitted(const Table& table, const How& how, std::uint64_t seed) {
  const double mu = how.mu;
  const bool replace = how.replace;
  const std::uint64_t limit = how.limit;
  std::mt19937_64 bits(seed);
  std::normal_distribution<double> normal;
  const auto columns = static_cast<std::uint32_t>(table.levels.size());
  const auto rows = static_cast<double>(table.rows());
  const double a = replace ? std::numbers::sqrt2 : 1.0;
  const double one_way = a * std::sqrt(columns / how.one_ways) / mu;
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
      (replace ? 2.0 : 1.0) * std::sqrt(static_cast<double>(pairs.size()) / how.scores) / mu;
  std::vector<TableCandidate> candidates;
  for (const ColumnList& pair : pairs) {
    const std::vector<double> counts = counted(levels, cells, pair);
    double score = score_noise * normal(bits);
    for (std::size_t i = 0; i < counts.size(); ++i)
      score += std::abs(counts[i] - expected[pair[0]][i / levels[pair[1]]] *
                                        expected[pair[1]][i % levels[pair[1]]] / rows);
    candidates.push_back({pair, score});
  }
  const double left = 1 - how.one_ways - how.scores;
  const std::size_t columns_counted = measured.size();
  Outcome out;
  std::vector<ColumnList> sets;
  std::clock_t used = 0;
  const auto count_and_fit = [&](const std::vector<TableCandidate>& from, double share) {
    std::clock_t begin = std::clock();
    TableLimits within{.cells = limit, .columns = 11};
    within.held = sets;
    const TableChoice choice =
        choose_tables(table.levels, levels, from, within, a, mu * std::sqrt(share));
    used += std::clock() - begin;
    for (const ChosenTable& chosen : choice.tables) {
      sets.push_back(chosen.columns);
      if (chosen.columns.size() == 3) ++out.triples;
      measured.push_back(
          {chosen.columns, counted(levels, cells, chosen.columns), chosen.deviation});
      for (double& count : measured.back().counts) count += chosen.deviation * normal(bits);
    }
    begin = std::clock();
    const TreeFit fit = fit_tree(levels, junction_tree(table.levels, sets), measured, rows);
    used += std::clock() - begin;
    out.iterations += fit.iterations;
    return network_of(fit.model);
  };
  const bool two_rounds = how.triples == Triples::second;
  TreeNetwork model =
      count_and_fit(candidates, left - (two_rounds ? how.triple_scores + how.triple_counts : 0));
  if (how.triples != Triples::none) {
    const std::vector<ColumnList> triples = subsets(columns, 3);
    std::vector<ColumnList> scored;
    for (const ColumnList& one : triples)
      if (table_cells(table.levels, one) <= limit) scored.push_back(one);
    const std::vector<double> off = misses(levels, cells, model, scored);
    const double noise = (replace ? 2.0 : 1.0) *
                         std::sqrt(static_cast<double>(scored.size()) / how.triple_scores) / mu;
    std::vector<TableCandidate> more;
    for (std::size_t i = 0; i < scored.size(); ++i)
      more.push_back({scored[i], off[i] + (two_rounds ? noise * normal(bits) : 0)});
    if (!two_rounds) {
      measured.resize(columns_counted);
      sets.clear();
      more.insert(more.end(), candidates.begin(), candidates.end());
    }
    out.triples = 0;
    model = count_and_fit(more, two_rounds ? how.triple_counts : left);
  }
  const std::clock_t begin = std::clock();
  out.network = split_groups(model, groups);
  used += std::clock() - begin;
  out.tables = sets.size();
  out.clique = largest_clique(table.levels, sets).cells;
  out.seconds = static_cast<double>(used) / CLOCKS_PER_SEC;
  return out;
}

// Mean and standard error of what seeds gave.
struct Mean {
  std::vector<double> of;
  [[nodiscard]] double mean() const {
    double sum = 0;
    for (const double v : of) sum += v;
    return sum / static_cast<double>(of.size());
  }
  [[nodiscard]] double error() const {
    double sum = 0;
    for (const double v : of) sum += (v - mean()) * (v - mean());
    const auto n = static_cast<double>(of.size());
    return std::sqrt(sum / std::max(n - 1, 1.0) / n);
  }
};

void print_means(const Table& table, const How& how, std::uint64_t seeds, const std::string& name) {
  const auto columns = static_cast<std::uint32_t>(table.levels.size());
  Mean pairs, triples, of_triples, tables;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const Outcome one = fitted(table, how, seed);
    const Cells drawn = drawn_levels(one.network.network, one.network.tables, table.rows(),
                                     StreamKey::from_seed(seed));
    pairs.of.push_back(distance(table, drawn, subsets(columns, 2)));
    triples.of.push_back(distance(table, drawn, subsets(columns, 3)));
    of_triples.of.push_back(static_cast<double>(one.triples));
    tables.of.push_back(static_cast<double>(one.tables));
  }
  fmt::print(
      "{}: pairs {:.5f} +- {:.5f}, triples {:.5f} +- {:.5f}, {:.1f} tables, {:.1f} of "
      "triples\n",
      name, pairs.mean(), pairs.error(), triples.mean(), triples.error(), tables.mean(),
      of_triples.mean());
  std::fflush(stdout);
}

void print_triples(const Table& table, std::uint64_t seeds) {
  for (const double epsilon : {1.0, 4.0}) {
    How how{.mu = gdp_mu_down(epsilon, 1e-6)};
    print_means(table, how, seeds, fmt::format("epsilon {}, pairs", epsilon));
    how.triples = Triples::known;
    print_means(table, how, seeds, fmt::format("epsilon {}, best triples known", epsilon));
    how.triples = Triples::second;
    for (const double counts : {.1, .2, .4}) {
      how.triple_scores = .05, how.triple_counts = counts;
      print_means(table, how, seeds,
                  fmt::format("epsilon {}, triples scored by .05, counted by {}", epsilon, counts));
    }
  }
}

// Levels as they are, numbers of more than `most_single` values in tenths of the rows.
Table in_tenths(const std::string& path) {
  constexpr std::size_t most_single = 20;
  Table out;
  for (const auto& [name, texts] : read(path)) {
    const std::set<std::string> known(texts.begin(), texts.end());
    std::vector<double> numbers;
    for (const std::string& text : texts) {
      char* end = nullptr;
      const double value = std::strtod(text.c_str(), &end);
      if (!text.empty() && *end == 0) numbers.push_back(value);
    }
    auto& cells = out.cells.emplace_back();
    if (known.size() > most_single && numbers.size() == texts.size()) {
      std::vector<double> sorted = numbers, edges;
      std::ranges::sort(sorted);
      for (std::size_t tenth = 1; tenth < 10; ++tenth)
        edges.push_back(sorted[tenth * sorted.size() / 10]);
      edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
      for (const double value : numbers)
        cells.push_back(
            static_cast<std::uint32_t>(std::ranges::upper_bound(edges, value) - edges.begin()));
      out.levels.push_back(edges.size() + 1);
    } else {
      for (const std::string& text : texts)
        cells.push_back(static_cast<std::uint32_t>(std::distance(known.begin(), known.find(text))));
      out.levels.push_back(known.size());
    }
  }
  return out;
}

void print_shares(const Table& table, std::uint64_t seeds) {
  for (const double epsilon : {0.5, 1.0, 4.0})
    for (const auto& [one_ways, scores] :
         {std::pair{.1, .1}, std::pair{.05, .1}, std::pair{.1, .05}, std::pair{.05, .05},
          std::pair{.15, .1}, std::pair{.1, .2}})
      print_means(
          table, {.mu = gdp_mu_down(epsilon, 1e-6), .one_ways = one_ways, .scores = scores}, seeds,
          fmt::format("epsilon {}, {} of columns, {} of scores", epsilon, one_ways, scores));
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
          const Outcome one = fitted(table, {.mu = mu, .replace = replace, .limit = limit}, seed);
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
  const Outcome one = fitted(wide, {.mu = gdp_mu_down(1, 1e-6)}, 0);
  fmt::print("50 columns: {} tables, a clique of {} cells, {} iterations, {:.1f} s, pairs {:.4f}\n",
             one.tables, one.clique, one.iterations, one.seconds,
             distance(wide,
                      drawn_levels(one.network.network, one.network.tables, wide.rows(),
                                   StreamKey::from_seed(0)),
                      subsets(50, 2)));
}

void print_rows(const Table& table) {
  const Outcome one = fitted(table, {.mu = gdp_mu_down(1, 1e-6), .limit = 120'000}, 0);
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
  const std::vector<std::string> given(arguments + 1, arguments + count);
  const auto seeds_at = [&](std::size_t place) {
    return given.size() > place ? std::strtoull(given[place].c_str(), nullptr, 10) : 3;
  };
  if (given.size() >= 2 && given[0] == "--shares") {
    print_shares(in_tenths(given[1]), seeds_at(2));
    return 0;
  }
  if (given.size() >= 3 && given[0] == "--triples") {
    print_triples(adult(given[1], given[2]), seeds_at(3));
    return 0;
  }
  if (given.size() < 2) {
    fmt::print(stderr,
               "usage: bench_tree [--triples] adult-train.csv adult-test.csv [seeds]\n"
               "       bench_tree --shares table.csv [seeds]\n");
    return 2;
  }
  const Table table = adult(given[0], given[1]);
  print_rows(table);
  print_wide(table);
  print_adult(table, seeds_at(2));
  return 0;
}
