#include "gibbsite/privacy/budget.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "gibbsite/core/error.hpp"

using namespace gibbsite;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

namespace budget_test {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

std::string refusal(const Budget& budget) {
  try {
    budget.validate();
  } catch (const BadInput& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Budget, AcceptsTheWholeRange) {
  EXPECT_EQ(refusal({}), "accepted");
  EXPECT_EQ(refusal({.epsilon = 1e-3, .delta = 1e-15}), "accepted");
  EXPECT_EQ(refusal({.epsilon = 700, .delta = 1e-300, .rows_per_person = 7, .draws = 100}),
            "accepted");
}

TEST(Budget, RefusesEpsilonByItsOption) {
  EXPECT_EQ(refusal({.epsilon = 0}),
            "`epsilon`: must be a finite number above 0, got 0; give for example 1");
  EXPECT_THAT(refusal({.epsilon = -1}), AllOf(StartsWith("`epsilon`: "), HasSubstr("got -1")));
  EXPECT_THAT(refusal({.epsilon = nan}), AllOf(StartsWith("`epsilon`: "), HasSubstr("got nan")));
  EXPECT_THAT(refusal({.epsilon = inf}), AllOf(StartsWith("`epsilon`: "), HasSubstr("got inf")));
}

TEST(Budget, RefusesWhatPromisesNothing) {
  EXPECT_THAT(refusal({.epsilon = 1000}),
              AllOf(StartsWith("`epsilon`: must be at most 700, got 1000"), HasSubstr("promises")));
  EXPECT_EQ(refusal({.delta = 0.4999}), "accepted");
  for (const double delta : {0.5, 0.7, 0.999}) {
    EXPECT_THAT(refusal({.delta = delta}), StartsWith("`delta`: must be below 0.5, got "));
  }
}

TEST(Budget, ADeltaOfOneInTheNumberOfRowsIsLarge) {
  EXPECT_TRUE((Budget{.delta = 1e-3}.delta_is_large(1000)));
  EXPECT_TRUE((Budget{.delta = 0.25}.delta_is_large(1000)));
  EXPECT_FALSE((Budget{.delta = 9e-4}.delta_is_large(1000)));
}

TEST(Budget, RefusesDeltaByItsOption) {
  EXPECT_THAT(refusal({.delta = 1}),
              AllOf(StartsWith("`delta`: must lie strictly between 0 and 1, got 1; "),
                    HasSubstr("far below 1/rows")));
  EXPECT_THAT(refusal({.delta = -0.5}), AllOf(StartsWith("`delta`: "), HasSubstr("got -0.5")));
  EXPECT_THAT(refusal({.delta = nan}), AllOf(StartsWith("`delta`: "), HasSubstr("got nan")));
}

TEST(Budget, SaysThatPureDifferentialPrivacyIsNotOnOffer) {
  EXPECT_THAT(refusal({.delta = 0}),
              AllOf(StartsWith("`delta`: must lie strictly between 0 and 1, got 0; "),
                    HasSubstr("no guarantee with delta = 0"), HasSubstr("give for example 1e-6")));
}

TEST(Budget, RefusesCountsOfZero) {
  EXPECT_THAT(refusal({.rows_per_person = 0}), StartsWith("`rows_per_person`: "));
  EXPECT_THAT(refusal({.draws = 0}), StartsWith("`draws`: "));
  EXPECT_THAT(refusal({.draws = 1ULL << 32}), StartsWith("`draws`: "));
}

TEST(Adjacency, NamesRoundTrip) {
  for (const Adjacency a : {Adjacency::replace_one, Adjacency::add_remove}) {
    EXPECT_EQ(adjacency_from_string(to_string(a)), a);
  }
  EXPECT_EQ(to_string(Adjacency::replace_one), "replace-one");
  EXPECT_EQ(to_string(Adjacency::add_remove), "add-remove");
  try {
    adjacency_from_string("swap");
    FAIL();
  } catch (const BadInput& e) {
    EXPECT_STREQ(e.what(), "`adjacency`: unknown adjacency 'swap'; use replace-one or add-remove");
  }
}

}  // namespace budget_test
