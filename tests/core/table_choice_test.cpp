#include "gibbsite/core/table_choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace table_choice_test {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;
using Levels = std::vector<std::uint64_t>;

std::vector<TableCandidate> all_pairs(std::size_t columns, std::mt19937_64& bits, double scale) {
  std::exponential_distribution<double> score(1 / scale);
  std::vector<TableCandidate> out;
  for (std::uint32_t a = 0; a < columns; ++a)
    for (std::uint32_t b = a + 1; b < columns; ++b)
      out.push_back({{a, b}, score(bits), b + 1 == columns ? 3.0 : 1.0});
  return out;
}

double weight_of(const std::vector<TableCandidate>& tables, const ColumnList& columns) {
  return std::ranges::find(tables, columns, &TableCandidate::columns)->weight;
}

// What a set of candidates gains if it shares mu^2 in the best way: by its definition.
double gain_of(const Levels& cells, const std::vector<TableCandidate>& tables, double sensitivity,
               double mu) {
  double score = 0, cost = 0;
  for (const TableCandidate& t : tables) {
    const double s = t.weight * static_cast<double>(table_cells(cells, t.columns));
    score += t.weight * t.score;
    cost += std::pow(s * std::sqrt(2 / std::numbers::pi) * sensitivity, 2.0 / 3);
  }
  return score - std::pow(cost, 1.5) / mu;
}

TEST(TableChoice, SharesTheBudgetForTheLeastNoise) {
  std::mt19937_64 bits(1);
  const Levels levels{2, 5, 9, 14, 20};
  const std::vector<TableCandidate> pairs = all_pairs(5, bits, 8000);
  const TableChoice choice = choose_tables(levels, levels, pairs, {}, 1.5, 0.25);
  const auto cells = [&](const ChosenTable& t) {
    return weight_of(pairs, t.columns) * static_cast<double>(table_cells(levels, t.columns));
  };
  ASSERT_GT(choice.tables.size(), 3U);
  double budget = 0, noise = 0;
  for (const ChosenTable& t : choice.tables) {
    budget += std::pow(1.5 / t.deviation, 2);
    noise += cells(t) * t.deviation;
  }
  EXPECT_NEAR(budget, 0.25 * 0.25, 1e-12);
  // A little of one table's budget given to another one only adds noise.
  for (std::size_t a = 0; a < choice.tables.size(); ++a)
    for (std::size_t b = 0; b < choice.tables.size(); ++b) {
      if (a == b) continue;
      double moved = 0;
      for (std::size_t i = 0; i < choice.tables.size(); ++i) {
        const ChosenTable& t = choice.tables[i];
        double share = std::pow(1.5 / t.deviation, 2);
        share += i == a ? -1e-4 : i == b ? 1e-4 : 0;
        moved += cells(t) * 1.5 / std::sqrt(share);
      }
      EXPECT_GT(moved, noise);
    }
}

// The best of all subsets that a tree within the limits holds, by enumeration: most choices find
// it, and none gains less than nine tenths of it.
TEST(TableChoice, IsNearTheBestSetThereIs) {
  std::mt19937_64 bits(2);
  int found = 0;
  constexpr int repeats = 60;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    Levels levels;
    for (int k = 0; k < 5; ++k) levels.push_back(2 + bits() % 12);
    const std::vector<TableCandidate> pairs = all_pairs(5, bits, 2000);
    const TableLimits limits{.cells = 300 + bits() % 2000, .columns = 4};
    const TableChoice choice = choose_tables(levels, levels, pairs, limits, 1.0, 0.2);
    std::vector<ColumnList> sets;
    std::vector<TableCandidate> chosen;
    for (const ChosenTable& t : choice.tables) {
      sets.push_back(t.columns);
      for (const TableCandidate& p : pairs)
        if (p.columns == t.columns) chosen.push_back(p);
    }
    EXPECT_LE(largest_clique(levels, sets).cells, limits.cells);
    EXPECT_LE(largest_clique(levels, sets).columns, limits.columns);
    EXPECT_NEAR(choice.gain, gain_of(levels, chosen, 1.0, 0.2), 1e-6);
    double best = 0;
    for (std::uint32_t subset = 0; subset < 1U << pairs.size(); ++subset) {
      std::vector<TableCandidate> some;
      std::vector<ColumnList> held;
      for (std::size_t p = 0; p < pairs.size(); ++p)
        if ((subset >> p & 1) != 0) {
          some.push_back(pairs[p]);
          held.push_back(pairs[p].columns);
        }
      const double gain = gain_of(levels, some, 1.0, 0.2);
      if (gain <= best) continue;
      const LargestClique most = largest_clique(levels, held);
      if (most.cells <= limits.cells && most.columns <= limits.columns) best = gain;
    }
    EXPECT_LE(choice.gain, best + 1e-6);
    EXPECT_GE(choice.gain, 0.9 * best);
    if (choice.gain > best - 1e-6) ++found;
  }
  EXPECT_GT(found, repeats / 2);
}

TEST(TableChoice, ChoosesNothingThatIsNotWorthIt) {
  const Levels levels{10, 10, 10};
  const std::vector<TableCandidate> poor{{{0, 1}, 1}, {{1, 2}, 0}, {{0, 2}, -50}};
  EXPECT_THAT(choose_tables(levels, levels, poor, {}, 1, 0.1).tables, IsEmpty());
  EXPECT_EQ(choose_tables(levels, levels, poor, {}, 1, 0.1).gain, 0);
  EXPECT_THAT(choose_tables(levels, levels, {}, {}, 1, 0.1).tables, IsEmpty());
  // Nor what no tree holds.
  const std::vector<TableCandidate> rich{{{0, 1}, 1e6}, {{1, 2}, 1e6}};
  EXPECT_THAT(choose_tables(levels, levels, rich, {.cells = 99}, 1, 0.1).tables, IsEmpty());
  EXPECT_EQ(choose_tables(levels, levels, rich, {.cells = 100}, 1, 0.1).tables.size(), 2U);
}

// Pairs of the General Social Survey's eleven columns, in rows. Where noise is small the room of
// the tree is what is short: tables of few cells take less of it.
TEST(TableChoice, LeavesRoomWhereNoiseIsSmall) {
  const Levels levels{9, 11, 13, 11, 12, 9, 10, 9, 6, 6, 2};
  const std::vector<double> scores{
      4989,  5554,  5566,  5846,  3966,  2473,  5353,  6012,  5800,  894,   18800,
      13347, 14140, 13040, 6893,  32631, 12189, 9289,  10551, 5731,  5868,  5231,
      15246, 21176, 8715,  18743, 1551,  72177, 36783, 4234,  11914, 19020, 5339,
      17034, 36597, 4420,  11804, 20218, 5485,  14803, 3625,  9609,  17339, 4936,
      3089,  8429,  6084,  18345, 4158,  8881,  11331, 12423, 4741,  1810,  5661};
  std::vector<TableCandidate> pairs;
  for (std::uint32_t a = 0; a < levels.size(); ++a)
    for (std::uint32_t b = a + 1; b < levels.size(); ++b)
      pairs.push_back({{a, b}, scores[pairs.size()]});
  TableLimits limits{.cells = 363'636};
  const TableChoice now = choose_tables(levels, levels, pairs, limits, std::numbers::sqrt2, 1.2);
  limits.penalties = TableLimits::Penalties::to_16;
  const TableChoice before = choose_tables(levels, levels, pairs, limits, std::numbers::sqrt2, 1.2);
  EXPECT_NEAR(before.gain, 543'169, 100);
  EXPECT_NEAR(now.gain, 549'090, 100);
  // More penalties lose nothing.
  for (const double mu : {0.15, 0.3, 0.6}) {
    limits.penalties = TableLimits::Penalties::to_16;
    const TableChoice some = choose_tables(levels, levels, pairs, limits, 1, mu);
    limits.penalties = TableLimits::Penalties::to_1024;
    EXPECT_GE(choose_tables(levels, levels, pairs, limits, 1, mu).gain, some.gain - 1e-6) << mu;
  }
}

// Merged levels cost less noise; cliques are bounded by all levels.
TEST(TableChoice, NoiseIsOfMergedLevels) {
  const Levels levels{100, 100}, merged{3, 4};
  const std::vector<TableCandidate> one{{{0, 1}, 5000}};
  EXPECT_THAT(choose_tables(levels, levels, one, {}, 1, 0.1).tables, IsEmpty());
  EXPECT_EQ(choose_tables(levels, merged, one, {}, 1, 0.1).tables.size(), 1U);
  EXPECT_THAT(choose_tables(levels, merged, one, {.cells = 9'999}, 1, 0.1).tables, IsEmpty());
}

TEST(TableChoice, OfFiftyColumns) {
  std::mt19937_64 bits(3);
  Levels levels;
  for (int k = 0; k < 50; ++k) levels.push_back(2 + bits() % 20);
  const TableChoice choice = choose_tables(levels, levels, all_pairs(50, bits, 4000), {}, 1.4, 0.2);
  std::vector<ColumnList> sets;
  for (const ChosenTable& t : choice.tables) sets.push_back(t.columns);
  EXPECT_GT(sets.size(), 40U);
  EXPECT_LE(largest_clique(levels, sets).cells, 20'000U);
}

TEST(TableChoice, OfTwoHundredColumnsMostlyOfNoise) {
  std::mt19937_64 bits(4);
  std::normal_distribution<double> noise(0, 1000);
  const Levels levels(200, 8);
  std::vector<TableCandidate> pairs = all_pairs(200, bits, 1);
  for (TableCandidate& pair : pairs) pair.score += noise(bits);
  const TableChoice choice = choose_tables(levels, levels, pairs, {}, 1.4, 0.2);
  std::vector<ColumnList> sets;
  for (const ChosenTable& t : choice.tables) sets.push_back(t.columns);
  EXPECT_LE(largest_clique(levels, sets).cells, 20'000U);
}

TEST(TableChoice, RefusesWhatIsNoBudget) {
  const Levels levels{2, 2};
  EXPECT_THAT([&] { choose_tables(levels, Levels{2}, {}, {}, 1, 1); },
              ThrowsMessage<BadInput>(HasSubstr("cells")));
  for (const double bad : {0.0, -1.0, std::nan("")}) {
    EXPECT_THAT([&] { choose_tables(levels, levels, {}, {}, 1, bad); },
                ThrowsMessage<BadInput>(HasSubstr("mu")));
    EXPECT_THAT([&] { choose_tables(levels, levels, {}, {}, bad, 1); },
                ThrowsMessage<BadInput>(HasSubstr("mu")));
  }
}

}  // namespace table_choice_test
}  // namespace gibbsite
