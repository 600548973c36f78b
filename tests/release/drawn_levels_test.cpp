// Rows whose counts are those expected, rounded.
#include "gibbsite/release/drawn_levels.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <sstream>
#include <string>

#include "gibbsite/model/network_model.hpp"
#include "gibbsite/release/network_query.hpp"

namespace gibbsite {
namespace drawn_levels_test {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// a -> b, a -> c: b and c are independent where a is known. One share is 0.
const Network network{{3, 4, 2}, {{}, {0}, {0}}};
const std::vector<std::vector<double>> shares{
    {0.15, 0.25, 0.6},
    {0.1, 0.2, 0.3, 0.4, 0.7, 0.1, 0.2, 0.0, 0.25, 0.25, 0.25, 0.25},
    {0.5, 0.5, 0.9, 0.1, 0.35, 0.65}};

std::vector<std::vector<std::uint32_t>> rows(std::uint64_t count, std::uint64_t seed,
                                             std::uint64_t part = 0) {
  return drawn_levels(network, shares, count, StreamKey::from_seed(seed), part);
}

TEST(DrawnLevels, AreWithinOneOfWhatIsExpected) {
  for (const std::uint64_t count : {1U, 2U, 7U, 100U, 1237U}) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      const auto drawn = rows(count, seed);
      ASSERT_THAT(drawn, SizeIs(3));
      std::vector<double> of_a(3), of_ab(12), of_ac(6);
      for (std::size_t i = 0; i < count; ++i) {
        ++of_a[drawn[0][i]];
        ++of_ab[drawn[0][i] * 4 + drawn[1][i]];
        ++of_ac[drawn[0][i] * 2 + drawn[2][i]];
      }
      for (std::size_t a = 0; a < 3; ++a) {
        EXPECT_LT(std::abs(of_a[a] - static_cast<double>(count) * shares[0][a]), 1 + 1e-9);
        for (std::size_t b = 0; b < 4; ++b)
          EXPECT_LT(std::abs(of_ab[a * 4 + b] - of_a[a] * shares[1][a * 4 + b]), 1 + 1e-9);
        for (std::size_t c = 0; c < 2; ++c)
          EXPECT_LT(std::abs(of_ac[a * 2 + c] - of_a[a] * shares[2][a * 2 + c]), 1 + 1e-9);
      }
      EXPECT_EQ(of_ab[7], 0);
    }
  }
}

// Every cell's mean over seeds is that of independent draws, and so is that of the first row alone;
// b and c are independent given a. One of 48 is six standard errors off with probability 1e-7.
TEST(DrawnLevels, AreUnbiasedAndIndependentWhereTheNetworkSaysSo) {
  constexpr std::uint64_t seeds = 20'000, count = 5;
  std::vector<double> first(24), all(24);
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const auto drawn = rows(count, seed);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t cell = (drawn[0][i] * 4 + drawn[1][i]) * 2 + drawn[2][i];
      if (i == 0) ++first[cell];
      ++all[cell];
    }
  }
  for (std::size_t cell = 0; cell < 24; ++cell) {
    const std::size_t a = cell / 8, b = cell / 2 % 4, c = cell % 2;
    const double p = shares[0][a] * shares[1][a * 4 + b] * shares[2][a * 2 + c];
    const double error = std::sqrt(p * (1 - p) * seeds) + 1e-9;
    EXPECT_NEAR(first[cell], p * seeds, 6 * error);
    EXPECT_NEAR(all[cell], p * seeds * count, 6 * error * std::sqrt(double{count}));
  }
}

// Two columns of 16 levels that are independent given a column of one level: their table is the
// product of theirs, but for rounding. Were the rows not in a new order for each column, every
// level of the one would meet one level of the other.
TEST(DrawnLevels, MixRowsAnewForEachColumn) {
  const Network apart{{1, 16, 16}, {{}, {0}, {0}}};
  const std::vector<std::vector<double>> even{
      {1}, std::vector<double>(16, 1.0 / 16), std::vector<double>(16, 1.0 / 16)};
  constexpr std::uint64_t count = 25'600;
  const auto drawn = drawn_levels(apart, even, count, StreamKey::from_seed(3));
  std::vector<double> cells(256);
  for (std::size_t i = 0; i < count; ++i) ++cells[drawn[1][i] * 16 + drawn[2][i]];
  double square = 0;
  for (const double cell : cells) square += (cell - 100) * (cell - 100) / 100;
  // Chi squared of 225 degrees: mean 225, deviation 21; beyond 6 of them once in a million at most.
  EXPECT_LT(square, 225 + 6 * 21.3);
  EXPECT_GT(square, 225 - 6 * 21.3);
  // Nor do rows come sorted.
  double falls = 0;
  for (std::size_t i = 1; i < count; ++i) falls += drawn[1][i] < drawn[1][i - 1] ? 1 : 0;
  EXPECT_NEAR(falls, (count - 1) * 15.0 / 32, 6 * std::sqrt(count / 4.0));
}

// Configurations of a row or two each: the points run on from one to the next, so that the counts
// over many of them are nearly those expected, where independent draws are off by 70.
TEST(DrawnLevels, OfManySmallConfigurationsAddUp) {
  const Network many{{10'000, 2}, {{}, {0}}};
  std::vector<std::vector<double>> of{std::vector<double>(10'000, 1e-4), {}};
  for (int c = 0; c < 10'000; ++c) of[1].insert(of[1].end(), {0.3, 0.7});
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto drawn = drawn_levels(many, of, 20'000, StreamKey::from_seed(seed));
    double zeros = 0;
    for (const std::uint32_t level : drawn[1]) zeros += level == 0 ? 1 : 0;
    EXPECT_NEAR(zeros, 6000, 12);
  }
}

TEST(DrawnLevels, AreAFunctionOfTheirArguments) {
  EXPECT_EQ(rows(1000, 1), rows(1000, 1));
  EXPECT_NE(rows(1000, 1), rows(1000, 2));
  EXPECT_NE(rows(1000, 1), rows(1000, 1, 1));
  for (const auto& column : rows(0, 1)) EXPECT_THAT(column, IsEmpty());
}

// Rows as text: more than one part of them, on one thread and on three.
TEST(DrawnLevels, AreWhatATreeIsWrittenBy) {
  Schema whole;
  whole.label_name = "(none)";
  whole.label = TwoClasses{.positive = "(none)"};
  whole.columns = {{.name = "a", .type = ColumnType::category, .levels = {"x", "y"}},
                   {.name = "b", .type = ColumnType::number, .lo = 0, .hi = 8}};
  whole.columns[0].other = true;  // a third level
  whole.columns[1].edges = {1, 2, 5};
  whole.columns[1].decimals = 1;
  NetworkModel model;
  model.schema = network_schema(whole);
  model.network = {network_levels(model.schema), {{}, {0}}};
  ASSERT_EQ(model.network.levels, (std::vector<std::uint64_t>{3, 4}));
  model.tables = {{shares[0], shares[1]}};
  model.tree.emplace();
  constexpr std::uint64_t count = 300'000;
  const StreamKey stream = StreamKey::from_seed(5);
  const auto text_of = [&](std::size_t threads) {
    std::string out;
    synthesize(model, count, stream, [&](std::string_view piece) { out += piece; },
               {.threads = threads});
    return out;
  };
  const std::string text = text_of(1);
  EXPECT_EQ(text, text_of(3));
  std::map<std::string, double> first;
  double lines = 0;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line); ++lines) ++first[line.substr(0, 2)];
  EXPECT_EQ(lines, count + 1);
  // Each of two parts is off by one at most.
  EXPECT_NEAR(first["x,"], 0.15 * count, 2.001);
  EXPECT_NEAR(first["y,"], 0.25 * count, 2.001);
  EXPECT_EQ(synthetic_rows(model, count, stream).rows(), count);
}

}  // namespace drawn_levels_test
}  // namespace gibbsite
