// Lattices of coefficients in a ball, and what a choice among their points says of them.
#include "gibbsite/model/coefficient_ball.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "gibbsite/core/error.hpp"
#include "gibbsite/model/selection.hpp"

namespace gibbsite {
namespace coefficient_ball_test {

Schema schema_of(std::size_t numbers, bool intercept = false) {
  Schema out;
  out.label_name = "y";
  out.label = TwoClasses{.positive = "a", .negative = "b"};
  out.row_norm = 2;
  out.intercept = intercept;
  for (std::size_t j = 0; j < numbers; ++j)
    out.columns.push_back({"x" + std::to_string(j), ColumnType::number, 0, 1, {}, false});
  return out;
}

std::uint64_t square_of(const std::vector<std::int64_t>& z) {
  return static_cast<std::uint64_t>(std::inner_product(z.begin(), z.end(), z.begin(), 0LL));
}

// Against all whole points of a cube.
TEST(CoefficientBall, HasAllPointsOfTheBall) {
  for (const std::uint64_t q : {1U, 2U, 5U, 9U}) {
    const CoefficientBall ball{schema_of(3), 2, q};
    std::set<std::vector<std::int64_t>> expected;
    for (std::int64_t a = -3; a <= 3; ++a)
      for (std::int64_t b = -3; b <= 3; ++b)
        for (std::int64_t c = -3; c <= 3; ++c)
          if (square_of({a, b, c}) <= q) expected.insert({a, b, c});
    const auto found = ball.lattice();
    EXPECT_TRUE(std::ranges::is_sorted(found));
    EXPECT_EQ(std::set(found.begin(), found.end()), expected) << q;
    EXPECT_EQ(found.size(), expected.size());
    EXPECT_EQ(ball.points(1000), expected.size());
    EXPECT_EQ(ball.points(2), 3U);
  }
}

TEST(CoefficientBall, IsTheFinestOfSoManyPoints) {
  for (const std::size_t d : {1U, 2U, 3U, 5U, 8U, 14U, 60U, 100U}) {
    const CoefficientBall ball = coefficient_ball(schema_of(d), 4, 10'000);
    const auto lattice = ball.lattice();
    EXPECT_EQ(square_of(*std::ranges::max_element(lattice, {}, square_of)), ball.squares);
    CoefficientBall finer = ball;  // the next one with other points
    while (finer.points(20'000) == ball.points(20'000)) ++finer.squares;
    EXPECT_GT(finer.points(20'000), 10'000U) << d;
    EXPECT_LE(ball.points(10'000), 10'000U) << d;
    const std::vector<double> last = ball.coefficients(lattice.back());
    EXPECT_NEAR(
        std::inner_product(last.begin(), last.end(), last.begin(), 0.0),
        16.0 * static_cast<double>(square_of(lattice.back())) / static_cast<double>(ball.squares),
        1e-12);
  }
  EXPECT_EQ(coefficient_ball(schema_of(1), 4, 10'000).squares, 4999U * 4999U);
  EXPECT_EQ(coefficient_ball(schema_of(8), 4, 10'000).points(10'000), 6'865U);
}

// The norm of a row is its columns', where that is less than row_norm, and has the intercept.
TEST(CoefficientBall, ItsRangeIsThatOfARowsLoss) {
  const auto expect = [](const CoefficientBall& ball, double reach) {
    const auto [lo, hi] = ball.log_likelihoods();
    EXPECT_NEAR(lo, -std::log1p(std::exp(reach)), 1e-12);
    EXPECT_NEAR(hi, -std::log1p(std::exp(-reach)), 1e-12);
    EXPECT_NEAR(hi - lo, reach, 1e-12);
  };
  expect({schema_of(1), 3, 1}, 3);
  expect({schema_of(9), 3, 1}, 6);
  expect({schema_of(9, true), 3, 1}, 3 * std::sqrt(5.0));
  const auto [lo, hi] = CoefficientBall{schema_of(1), 1e5, 1}.log_likelihoods();
  EXPECT_EQ(lo, -1e5);
  EXPECT_EQ(hi, 0);
}

TEST(CoefficientBall, RefusesWhatHasNoDraw) {
  const auto refused = [](const Schema& schema, double radius) {
    EXPECT_THROW(coefficient_ball(schema, radius, 10'000), BadInput);
  };
  const double inf = std::numeric_limits<double>::infinity();
  for (const double radius : {0.0, -1.0, std::nan(""), inf, 1e-8, 1e8})
    refused(schema_of(2), radius);
  refused(schema_of(101), 1);
  Schema other = schema_of(2);
  other.label = TwoClasses{.positive = "a", .weights = {0.5, 1}};
  refused(other, 1);
  other.label = Classes{{"a", "b", "c"}};
  refused(other, 1);
  other = schema_of(2);
  other.columns[1].type = ColumnType::weight;
  refused(other, 1);
  other.columns[1].type = ColumnType::person;
  refused(other, 1);
  other = schema_of(2);
  other.columns[0].automatic_curve = true;
  refused(other, 1);
  EXPECT_THROW(coefficient_ball(schema_of(2), 1, 4), BadInput);
}

TEST(SelectionInABall, KnowsItsPoints) {
  SelectionModel model = selection_in_ball({schema_of(2), 6, 4});
  EXPECT_EQ(model.candidates.size(), 13U);
  EXPECT_EQ(model.candidates.front(), "-2 0");
  EXPECT_THAT(*model.coefficients(), ::testing::ElementsAre(-6, 0));
  model.validate();
  SelectionModel edited = model;
  edited.candidates[3] = "0 9";
  EXPECT_THROW(edited.validate(), BadInput);
  edited = model;
  edited.ball->squares = 3;
  EXPECT_THROW(edited.validate(), BadInput);
  edited.ball->squares = std::uint64_t{1} << 40;  // not listed before it is refused
  EXPECT_THROW(edited.validate(), BadInput);
  edited = model;
  edited.hi += 1e-6;
  EXPECT_THROW(edited.validate(), BadInput);
  edited = model;
  edited.ball.reset();
  EXPECT_THROW(edited.validate(), BadInput);
}

}  // namespace coefficient_ball_test
}  // namespace gibbsite
