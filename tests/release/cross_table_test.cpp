// Cross tables from noisy counts: least squares, margins that agree, intervals that cover.
#include "gibbsite/release/cross_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/mechanism/network.hpp"
#include "gibbsite/mechanism/noise_law.hpp"

namespace gibbsite {
namespace cross_table_test {

using ::testing::HasSubstr;
using Parents = std::vector<std::vector<std::uint32_t>>;

// Columns a, b, c, ... of so many levels.
NetworkModel model_of(const std::vector<std::uint64_t>& levels, const Parents& parents,
                      double noise) {
  NetworkModel out;
  out.schema.label_name = "(none)";
  out.schema.label = TwoClasses{.positive = "(none)"};
  for (std::size_t c = 0; c < levels.size(); ++c) {
    Column column{.name = std::string(1, static_cast<char>('a' + c)), .type = ColumnType::category};
    for (std::uint64_t l = 0; l < levels[c]; ++l) column.levels.push_back(std::to_string(l));
    out.schema.columns.push_back(column);
  }
  out.network = {levels, parents};
  out.network.validate();
  out.noise = table_deviations(noise, out.network);
  return out;
}

// Column c's level of a cell of the whole table, its last column fastest.
std::uint64_t level_of(const std::vector<std::uint64_t>& levels, std::size_t cell, std::size_t c) {
  for (std::size_t after = levels.size() - 1; after > c; --after) cell /= levels[after];
  return cell % levels[c];
}

// The cell of these columns' table that a cell of the whole one is counted in.
std::size_t cell_among(const std::vector<std::uint64_t>& levels, std::size_t cell,
                       const std::vector<std::uint32_t>& columns) {
  std::size_t out = 0;
  for (const std::uint32_t c : columns) out = out * levels[c] + level_of(levels, cell, c);
  return out;
}

std::size_t cells_of(const std::vector<std::uint64_t>& levels) {
  return std::accumulate(levels.begin(), levels.end(), std::size_t{1}, std::multiplies{});
}

std::vector<std::uint32_t> laid_out(const Network& network, std::size_t node) {
  std::vector<std::uint32_t> out = network.parents[node];
  out.push_back(static_cast<std::uint32_t>(node));
  return out;
}

// Fills in noisy counts of the true table, on their grids.
void count(NetworkModel& model, const std::vector<double>& truth, std::mt19937_64& bits) {
  std::normal_distribution<double> normal;
  const Network& network = model.network;
  model.counts.clear();
  for (std::size_t node = 0; node < network.size(); ++node) {
    std::vector<double> counts(network.cells(node), 0.0);
    for (std::size_t cell = 0; cell < truth.size(); ++cell)
      counts[cell_among(network.levels, cell, laid_out(network, node))] += truth[cell];
    const double grid = answer_grid(model.noise[node]);
    for (double& one : counts)
      one = std::nearbyint((one + model.noise[node] * normal(bits)) / grid) * grid;
    model.counts.push_back(std::move(counts));
  }
}

double variance_of(double noise) { return noise * noise + std::pow(answer_grid(noise), 2) / 12; }

// Generalized least squares over these nodes' tables, dense: the estimates of all cells of the
// whole table and their covariance. With `rows` the total is that (Lagrange).
struct Dense {
  std::vector<double> estimates;
  std::vector<std::vector<double>> covariance;
};
Dense dense(const NetworkModel& model, const std::vector<std::size_t>& nodes,
            std::optional<std::uint64_t> rows) {
  const Network& network = model.network;
  const std::size_t n = cells_of(network.levels), m = n + (rows ? 1 : 0);
  std::vector<std::vector<double>> a(m, std::vector<double>(2 * m, 0.0));
  std::vector<double> right(m, 0.0);
  for (const std::size_t node : nodes) {
    const double weight = 1 / variance_of(model.noise[node]);
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t at = cell_among(network.levels, i, laid_out(network, node));
      right[i] += weight * model.counts[node][at];
      for (std::size_t j = 0; j < n; ++j)
        if (cell_among(network.levels, j, laid_out(network, node)) == at) a[i][j] += weight;
    }
  }
  if (rows) {
    for (std::size_t i = 0; i < n; ++i) a[i][n] = a[n][i] = 1;
    right[n] = static_cast<double>(*rows);
  }
  for (std::size_t i = 0; i < m; ++i) a[i][m + i] = 1;
  for (std::size_t k = 0; k < m; ++k) {  // Gauss and Jordan
    std::size_t pivot = k;
    for (std::size_t i = k; i < m; ++i)
      if (std::abs(a[i][k]) > std::abs(a[pivot][k])) pivot = i;
    std::swap(a[k], a[pivot]);
    const double by = a[k][k];
    for (double& value : a[k]) value /= by;
    for (std::size_t i = 0; i < m; ++i) {
      if (i == k) continue;
      const double times = a[i][k];
      for (std::size_t j = 0; j < 2 * m; ++j) a[i][j] -= times * a[k][j];
    }
  }
  Dense out{std::vector<double>(n, 0.0), {}};
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < m; ++j) out.estimates[i] += a[i][m + j] * right[j];
    out.covariance.emplace_back(a[i].begin() + static_cast<std::ptrdiff_t>(m),
                                a[i].begin() + static_cast<std::ptrdiff_t>(m + n));
  }
  return out;
}

// The dense estimate of the cells that lie in cell `at` of these columns, and its deviation.
std::pair<double, double> dense_sum(const NetworkModel& model, const Dense& of,
                                    const std::vector<std::uint32_t>& columns, std::size_t at) {
  double sum = 0, variance = 0;
  const auto is_in = [&](std::size_t cell) {
    return cell_among(model.network.levels, cell, columns) == at;
  };
  for (std::size_t i = 0; i < of.estimates.size(); ++i) {
    if (!is_in(i)) continue;
    sum += of.estimates[i];
    for (std::size_t j = 0; j < of.estimates.size(); ++j)
      if (is_in(j)) variance += of.covariance[i][j];
  }
  return {sum, std::sqrt(std::max(variance, 0.0))};
}

struct Case {
  std::vector<std::uint64_t> levels;
  Parents parents;
  std::vector<std::string> columns;  // asked
  std::vector<std::size_t> nodes;    // whose tables tell
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {{4}, {{}}, {}, {0}},
      {{2, 3}, {{}, {0}}, {"a", "b"}, {0, 1}},
      {{3, 2}, {{1}, {}}, {"a", "b"}, {0, 1}},
      {{3, 2, 4}, {{1}, {}, {0, 1}}, {}, {0, 1, 2}},
      {{3, 2, 4}, {{1}, {}, {0, 1}}, {"c", "b"}, {0, 1, 2}},
      {{3, 2, 4}, {{1}, {}, {0, 1}}, {"a"}, {0, 1, 2}},
      {{1, 3, 2}, {{}, {0}, {0, 1}}, {"b", "a", "c"}, {0, 1, 2}},
      // A network that is no chain: only tables that are margins of the one asked are used.
      {{2, 2, 3}, {{}, {}, {0, 1}}, {"b", "c"}, {0, 2}},
  };
  return all;
}

TEST(CrossTable, EstimatesAreGeneralizedLeastSquares) {
  std::mt19937_64 bits(5);
  for (const Case& one : cases()) {
    for (const bool is_public : {false, true}) {
      NetworkModel model = model_of(one.levels, one.parents, 6.3);
      std::vector<double> truth(cells_of(one.levels));
      for (double& cell : truth) cell = static_cast<double>(bits() % 60);
      count(model, truth, bits);
      const auto rows = static_cast<std::uint64_t>(std::accumulate(truth.begin(), truth.end(), 0.));
      const auto total = is_public ? std::optional(rows) : std::nullopt;
      const CrossTable table = cross_table(model, total, one.columns);
      const Dense right = dense(model, one.nodes, total);
      const double near = static_cast<double>(truth.size()) * 0.01;  // of the grid of estimates
      std::vector<std::uint32_t> asked;
      for (const std::string& column : table.columns)
        asked.push_back(static_cast<std::uint32_t>(column[0] - 'a'));
      const auto expect = [&](const TableNumber& number, const std::vector<std::uint32_t>& columns,
                              std::size_t at) {
        const auto sum = dense_sum(model, right, columns, at);
        EXPECT_NEAR(number.estimate, sum.first, near);
        EXPECT_NEAR(number.deviation, sum.second, 1e-6);
      };
      for (std::size_t cell = 0; cell < table.cells.size(); ++cell)
        expect(table.cells[cell], asked, cell);
      for (std::size_t c = 0; c < asked.size(); ++c)
        for (std::size_t l = 0; l < table.margins[c].size(); ++l)
          expect(table.margins[c][l], {asked[c]}, l);
      expect(table.total, {}, 0);
      if (one.columns.empty()) {  // what a plan says beforehand
        const TableDeviations is = cross_table_deviations(model.network, model.noise, is_public);
        EXPECT_EQ(is.cell, table.cells.front().deviation);
        EXPECT_EQ(is.total, table.total.deviation);
        for (std::size_t c = 0; c < asked.size(); ++c)
          EXPECT_EQ(is.margins[c], table.margins[c].front().deviation);
      }
    }
  }
}

// Another table in the chain tells more, and one that is no margin of it is left out.
TEST(CrossTable, TheChainIsWorthIt) {
  const NetworkModel chain = model_of({2, 8}, {{}, {0}}, 10);
  const TableDeviations is = cross_table_deviations(chain.network, chain.noise, false);
  EXPECT_LT(is.cell, chain.noise[1]);
  EXPECT_LT(is.margins[0], chain.noise[0]);
  EXPECT_LT(is.margins[0], std::sqrt(8.0) * 10);  // of the table alone
  EXPECT_LT(is.total, std::sqrt(16.0) * 10);
  const TableDeviations of_public = cross_table_deviations(chain.network, chain.noise, true);
  EXPECT_LT(of_public.cell, is.cell);
  EXPECT_LT(of_public.margins[0], is.margins[0]);
  EXPECT_EQ(of_public.total, 0);
}

void expect_sums(const CrossTable& table, double TableNumber::*what) {
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    std::vector<double> sums(table.levels[c].size(), 0.0);
    for (std::size_t cell = 0; cell < table.cells.size(); ++cell)
      sums[table.levels_of(cell)[c]] += table.cells[cell].*what;
    double total = 0;
    for (std::size_t l = 0; l < sums.size(); ++l) {
      EXPECT_EQ(sums[l], table.margins[c][l].*what);
      total += sums[l];
    }
    EXPECT_EQ(total, table.total.*what);
  }
}

// To the last bit; wholes are within 1 of the estimates, counts whole and of at least 0.
TEST(CrossTable, MarginsAgreeExactly) {
  std::mt19937_64 bits(6);
  for (const double noise : {1e-5, 0.3, 7.77, 1e5}) {
    for (const Case& one : cases()) {
      for (const bool is_public : {false, true}) {
        NetworkModel model = model_of(one.levels, one.parents, noise);
        std::vector<double> truth(cells_of(one.levels));
        for (double& cell : truth)
          cell = bits() % 3 == 0 ? 0 : static_cast<double>(bits() % 50'000);
        count(model, truth, bits);
        const auto rows =
            static_cast<std::uint64_t>(std::accumulate(truth.begin(), truth.end(), 1.));
        const CrossTable table =
            cross_table(model, is_public ? std::optional(rows) : std::nullopt, one.columns);
        expect_sums(table, &TableNumber::estimate);
        expect_sums(table, &TableNumber::whole);
        expect_sums(table, &TableNumber::count);
        for (const TableNumber& cell : table.cells) {
          EXPECT_LE(std::abs(cell.whole - cell.estimate), 1.5);
          EXPECT_EQ(cell.whole, std::round(cell.whole));
          EXPECT_GE(cell.count, 0);
          EXPECT_EQ(cell.count, std::round(cell.count));
          EXPECT_GE(cell.lower, 0);
          EXPECT_LE(cell.lower, cell.upper);
        }
        if (is_public) {
          EXPECT_EQ(table.total.estimate, static_cast<double>(rows));
          EXPECT_EQ(table.total.count, static_cast<double>(rows));
          EXPECT_EQ(table.total.lower, table.total.upper);
        }
      }
    }
  }
}

// 4,000 tables of seeded noise: an interval holds the true count 3,800 times, with a deviation of
// 13.8; 75 off, 5.4 deviations, happens by chance with probability below 7e-8, of all these
// numbers below 1e-6. The deviation of the table that was measured in place of the least squares'
// one, and half of the noise of the widest table, are seen.
TEST(CrossTable, IntervalsCover) {
  constexpr int tables = 4'000, right = 3'800, off = 75;
  const std::vector<double> truth{40, 0, 25, 3, 300, 12};  // a nobody has among them
  for (const bool is_public : {false, true}) {
    std::mt19937_64 bits(7);
    NetworkModel model = model_of({2, 3}, {{}, {0}}, 9.1);
    int cell = 0, empty = 0, few = 0, first = 0, last = 0, total = 0, naive_cell = 0,
        naive_first = 0, small = 0;
    for (int i = 0; i < tables; ++i) {
      count(model, truth, bits);
      const CrossTable table =
          cross_table(model, is_public ? std::optional<std::uint64_t>(380) : std::nullopt);
      const auto covers = [](const TableNumber& number, double is) {
        return static_cast<int>(number.lower <= is && is <= number.upper);
      };
      const auto covers_by = [](const TableNumber& number, double deviation, double is) {
        return static_cast<int>(std::abs(number.estimate - is) <=
                                half_width_deviations * deviation);
      };
      cell += covers(table.cells[4], 300);
      empty += covers(table.cells[1], 0);
      few += covers(table.cells[3], 3);
      for (const TableNumber& number : table.cells) EXPECT_LT(number.lower, number.upper);
      first += covers(table.margins[0][1], 315);
      last += covers(table.margins[1][2], 37);
      total += covers(table.total, 380);
      naive_cell += covers_by(table.cells[4], model.noise[1], 300);
      naive_first += covers_by(table.margins[0][1], model.noise[0], 315);
      small += covers_by(table.cells[4], model.noise[1] / 2, 300);
    }
    for (const int covered : {cell, first, last}) EXPECT_NEAR(covered, right, off);
    EXPECT_NEAR(empty, 3'900, 54);  // cut at 0, an interval below it holds 0
    EXPECT_NEAR(few, 3'900, 54);    // and any other count that is less than half an interval
    if (is_public) {
      EXPECT_EQ(total, tables);
      EXPECT_GT(naive_cell, right + off);
    } else {
      EXPECT_NEAR(total, right, off);
    }
    EXPECT_GT(naive_first, right + off);
    EXPECT_LT(small, right - off);
  }
}

// "0 to 0" would say that certainly nobody is there, where noise made the estimate low by chance.
// The interval that is cut alone, [0, 0] there, is the planted error.
TEST(CrossTable, NoIntervalIsASinglePoint) {
  constexpr double deviation = 5, half = half_width_deviations * deviation;
  for (const double most : {std::numeric_limits<double>::infinity(), 40.0, 3.0, 0.0}) {
    CountInterval before;
    for (double estimate = -60; estimate <= 100; estimate += 0.5) {
      const CountInterval is = count_interval(estimate, deviation, most);
      EXPECT_GE(is.lower, 0);
      EXPECT_LE(is.upper, most);
      if (most > 0) {
        EXPECT_LT(is.lower, is.upper) << estimate << " of " << most;
      }
      EXPECT_GE(is.lower, before.lower);
      EXPECT_GE(is.upper, before.upper);
      before = is;
      // Whatever is possible and within half a width of the estimate is in it.
      const double low = std::max(estimate - half, 0.0), high = std::min(estimate + half, most);
      if (low > high) continue;
      EXPECT_LE(is.lower, low);
      EXPECT_GE(is.upper, high);
    }
  }
  EXPECT_DOUBLE_EQ(count_interval(-19, 9, 1e9).upper, 9 * half_width_deviations);
  EXPECT_EQ(count_interval(7, 0, 9).lower, 7);  // known
  EXPECT_EQ(count_interval(7, 0, 9).upper, 7);
}

TEST(CrossTable, SaysWhatACountIs) {
  CrossTable of;
  EXPECT_EQ(unit_of_counts(of), "rows");
  EXPECT_EQ(counting_words(of), "");
  of.person = "pid";
  of.rows_of_person = 1;
  EXPECT_EQ(unit_of_counts(of), "people");
  EXPECT_THAT(counting_words(of), HasSubstr("one pid count as one together"));
  EXPECT_THAT(counting_words(of), HasSubstr("a part in each"));
  of.rows_of_person = 4;
  EXPECT_EQ(unit_of_counts(of), "rows, at most 4 of a person");
  EXPECT_THAT(counting_words(of), HasSubstr("one pid count as at most 4 together"));
  of.weight = "w", of.unit = 480;
  EXPECT_EQ(unit_of_counts(of), "rows of w = 480, at most 4 of a person");
  of.rows_of_person = 1;
  EXPECT_EQ(unit_of_counts(of), "people of w = 480");
  EXPECT_THAT(counting_words(of),
              HasSubstr("a count is a sum over people of the mean w of their rows, over 480"));
  of.person = "", of.rows_of_person = 0;
  EXPECT_EQ(unit_of_counts(of), "rows of w = 480");
  EXPECT_THAT(counting_words(of), HasSubstr("a count is a sum of w, over 480."));
}

TEST(CrossTable, PrintsWhatNoiseLeavesOfACount) {
  EXPECT_EQ(interval_text({.deviation = 20, .lower = 0, .upper = 39.2}), "0 to 39");
  EXPECT_EQ(interval_text({.deviation = 1, .lower = 0, .upper = 1.96}), "0.0 to 2.0");
  EXPECT_EQ(interval_text({.deviation = 0.1, .lower = 0, .upper = 0.196}), "0.00 to 0.20");
  EXPECT_EQ(interval_text({.deviation = 20, .lower = 1790.1, .upper = 1814}, 480),
            "859248 to 870720");
  EXPECT_EQ(count_text(3612.56, 20, 480), "1734029");
  EXPECT_EQ(count_text(-0.2, 20), "0");
}

TEST(CrossTable, OfOneCellAndOfNobody) {
  std::mt19937_64 bits(8);
  NetworkModel one = model_of({1}, {{}}, 3);
  count(one, {5}, bits);
  const CrossTable exact = cross_table(one, 5);
  EXPECT_EQ(exact.cells.front().estimate, 5);
  EXPECT_EQ(exact.cells.front().deviation, 0);
  EXPECT_FALSE(exact.cells.front().hidden());
  const CrossTable noisy = cross_table(one, std::nullopt);
  EXPECT_EQ(noisy.cells.front().estimate, one.counts[0][0]);
  EXPECT_NEAR(noisy.total.deviation, std::sqrt(variance_of(one.noise[0])), 1e-12);

  NetworkModel empty = model_of({2, 2}, {{}, {0}}, 3);
  count(empty, {0, 0, 0, 0}, bits);
  const CrossTable nobody = cross_table(empty, std::nullopt);
  expect_sums(nobody, &TableNumber::count);
  // Counts that came out below 0 are nobody's, and their intervals hold 0.
  empty.counts = {{-9, -8}, {-5, -4, -3, -6}};
  const CrossTable below = cross_table(empty, std::nullopt);
  for (const TableNumber& cell : below.cells) {
    EXPECT_LT(cell.estimate, 0);
    EXPECT_EQ(cell.count, 0);
    EXPECT_EQ(cell.lower, 0);
    EXPECT_GT(cell.upper, 0);
    EXPECT_TRUE(cell.hidden());
  }
  EXPECT_EQ(below.total.count, 0);
}

// A file may hold any numbers: what is said of absurd ones ends all the same.
TEST(CrossTable, EndsOfAnyNumbers) {
  for (const double huge : {1e17, 1e100, 1.7e308}) {
    NetworkModel model = model_of({2, 3}, {{}, {0}}, 3);
    model.counts = {{huge, -huge}, {huge, 3, -7, huge, 1, huge}};
    for (const auto& rows : {std::optional<std::uint64_t>(10), std::optional<std::uint64_t>()})
      EXPECT_EQ(cross_table(model, rows).cells.size(), 6U);
    model.counts = {{1, 2}, {1, 2, 3, 4, 5, 6}};
    model.noise = {huge, 1 / huge};
    EXPECT_EQ(cross_table(model, 10).cells.size(), 6U);
  }
}

TEST(CrossTable, NamesItsLevels) {
  NetworkModel model = model_of({2, 3}, {{}, {0}}, 3);
  model.schema.columns[1] = {.name = "b", .type = ColumnType::number, .lo = 0, .hi = 2};
  model.schema.columns[1].edges = {0.5, 1.5};
  model.schema.columns[1].decimals = 0;
  std::mt19937_64 bits(9);
  count(model, {1, 2, 3, 4, 5, 6}, bits);
  const CrossTable table = cross_table(model, std::nullopt, {"b", "a"});
  EXPECT_THAT(table.levels[0], ::testing::ElementsAre("0", "1", "2"));
  EXPECT_THAT(table.levels_of(3), ::testing::ElementsAre(1U, 1U));
  // A bin that several whole numbers are in keeps its ends, and missing cells are no number.
  NetworkModel missing = model_of({2, 6}, {{}, {0}}, 3);
  missing.schema.columns[1] = {.name = "b", .type = ColumnType::number, .lo = 0, .hi = 100};
  missing.schema.columns[1].edges = {1, 40, 60, 80};
  missing.schema.columns[1].decimals = 0;
  missing.schema.columns[1].has_missing_bin = true;
  count(missing, std::vector<double>(12, 1), bits);
  EXPECT_THAT(
      cross_table(missing, std::nullopt, {"b"}).levels[0],
      ::testing::ElementsAre("0", "[1, 40)", "[40, 60)", "[60, 80)", "[80, 100]", "(missing)"));
  EXPECT_EQ(all_levels(table), "(all)");
  model.schema.columns[0].levels = {"(all)", "x"};
  EXPECT_EQ(all_levels(cross_table(model, std::nullopt)), "((all))");
}

void expect_refused(const NetworkModel& model, const std::vector<std::string>& columns,
                    const std::string& what) {
  EXPECT_THAT([&] { static_cast<void>(cross_table(model, std::nullopt, columns)); },
              ::testing::Throws<BadInput>(::testing::Property(&BadInput::what, HasSubstr(what))));
}

TEST(CrossTable, RefusesWhatWasNotCounted) {
  std::mt19937_64 bits(10);
  NetworkModel model = model_of({2, 2, 2}, {{}, {0}, {0}}, 3);
  count(model, std::vector<double>(8, 1), bits);
  expect_refused(model, {"b", "c"}, "no table that was counted has all of these");
  expect_refused(model, {}, "no table that was counted has all of these");
  expect_refused(model, {"d"}, "'d' is no column");
  expect_refused(model, {"a", "a"}, "'a' is given twice");
  model.counts.clear();
  expect_refused(model, {"a"}, "drawn, not counted");
}

}  // namespace cross_table_test
}  // namespace gibbsite
