// The claim of a histogram against the exact law of its counts on neighboring tables.
#include "gibbsite/mechanism/histogram.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/mechanism/ledger_guarantee.hpp"
#include "gibbsite/mechanism/network.hpp"
#include "gibbsite/mechanism/noise_law.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "support/repeats.hpp"

namespace gibbsite {
namespace histogram_test {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr Neighbors histogram_replaced{}, histogram_added{.adjacency = Adjacency::add_remove};

// The law of a noisy count on its grid, within 9 deviations of 0 .. 10, with the mass beyond at
// both ends.
std::vector<double> histogram_law(double count, double sigma, double grid) {
  const auto most = static_cast<int>(std::ceil((10 + 9 * sigma) / grid));
  const auto below = [&](double at) { return std::erfc((count - at) / sigma / std::sqrt(2)) / 2; };
  const auto above = [&](double at) { return std::erfc((at - count) / sigma / std::sqrt(2)) / 2; };
  std::vector<double> out{below((-most - 0.5) * grid)};
  for (int i = -most; i <= most; ++i) {
    const double low = (i - 0.5) * grid, high = (i + 0.5) * grid;
    out.push_back(low > count ? above(low) - above(high) : below(high) - below(low));
  }
  out.push_back(above((most + 0.5) * grid));
  return out;
}

// The exact delta at epsilon of two tables' noisy counts: sum over all outcomes of the cells that
// differ, one or two of them; the others cancel.
double histogram_delta(const std::vector<double>& here, const std::vector<double>& there,
                       double sigma, double grid, double epsilon) {
  std::vector<double> p{1}, q{1};
  for (std::size_t cell = 0; cell < here.size(); ++cell) {
    if (here[cell] == there[cell]) continue;
    const auto one = histogram_law(here[cell], sigma, grid),
               other = histogram_law(there[cell], sigma, grid);
    std::vector<double> both_p, both_q;
    for (std::size_t i = 0; i < p.size(); ++i) {
      for (std::size_t j = 0; j < one.size(); ++j) {
        both_p.push_back(p[i] * one[j]);
        both_q.push_back(q[i] * other[j]);
      }
    }
    p.swap(both_p), q.swap(both_q);
  }
  double out = 0;
  for (std::size_t i = 0; i < p.size(); ++i) out += std::max(0.0, p[i] - std::exp(epsilon) * q[i]);
  return out;
}

// Neighbors of three-cell tables: of no row, of one, of many; noise is tight within 5 %, and 10 %
// less of it, or a row that counts twice, breaks the claim.
TEST(Histogram, KeepsTheClaimByItsExactLawOnTheGrid) {
  if (support::sanitized) GTEST_SKIP() << "a release tells";
  struct Case {
    Neighbors who;
    std::vector<double> here, there;
  };
  const std::vector<Case> cases{
      {histogram_replaced, {1, 0, 0}, {0, 1, 0}},  // n = 1
      {histogram_replaced, {9, 7, 0}, {8, 7, 1}},
      {histogram_replaced, {3, 0, 0}, {2, 1, 0}},  // one class
      {{.rows_per_person = 3}, {5, 5, 5}, {2, 8, 5}},
      {histogram_added, {0, 0, 0}, {0, 1, 0}},  // the empty table and one of a row
      {histogram_added, {9, 7, 3}, {9, 8, 3}},
      {{.adjacency = Adjacency::add_remove, .rows_per_person = 2}, {9, 0, 0}, {9, 0, 2}}};
  for (const Case& c : cases) {
    for (const double noise : {1.7, 5.0}) {
      const HistogramProblem problem{.rows = 50, .cells = 3};
      const HistogramCounts settings{.noise = noise};
      const double sigma = histogram_deviation(settings, problem);
      const double grid = answer_grid(sigma);
      const Guarantee claim = analyze(settings, problem, c.who, 1).guarantee;
      for (const double epsilon : {0.01, 0.05, 0.5, 1.0}) {
        const double claimed = delta_up(claim, epsilon);
        for (const auto& [p, q] : {std::pair{c.here, c.there}, std::pair{c.there, c.here}}) {
          const double exact = histogram_delta(p, q, sigma, grid, epsilon);
          EXPECT_LE(exact, claimed) << noise << " " << epsilon;
          EXPECT_GT(exact, 0.93 * claimed - 1e-13) << noise << " " << epsilon;
          if (claimed < 1e-10) continue;
          EXPECT_GT(histogram_delta(p, q, 0.9 * sigma, grid, epsilon), claimed);
        }
      }
    }
  }
}

TEST(Histogram, SpendsItsBudgetAndNoMore) {
  for (const Adjacency adjacency : {Adjacency::replace_one, Adjacency::add_remove}) {
    for (const double epsilon : {1e-3, 0.1, 1.0, 10.0, 100.0}) {
      for (const double delta : {1e-12, 1e-6, 0.1}) {
        const Budget budget{.epsilon = epsilon, .delta = delta, .adjacency = adjacency};
        const HistogramPlan plan = plan_histogram({.rows = 10'000, .cells = 72}, budget);
        const double spent = delta_up(plan.guarantee, epsilon);
        EXPECT_LE(spent, delta);
        EXPECT_GT(spent, 0.999 * delta);
        EXPECT_EQ(plan.guarantee.who, budget.neighbors());
        // As much noise as one table of a network: the formula, not the code.
        const double step = adjacency == Adjacency::replace_one ? std::sqrt(2.0) : 1;
        if (epsilon <= 10) {  // beyond, e^epsilon times the computed noise's tv takes its part
          EXPECT_NEAR(plan.deviation * gdp_mu_down(epsilon, delta), step, 1e-6 * step);
        }
        const Guarantee paid = ledger_guarantee(plan);
        EXPECT_EQ(paid.epsilon0, 0);
        EXPECT_GE(paid.mu, plan.guarantee.mu);
        EXPECT_LE(delta_up(paid, epsilon), delta * (1 + 1e-4));
      }
    }
  }
}

TEST(Histogram, OfOneRowOfOneCellAndOfManyRowsAPerson) {
  EXPECT_GT(plan_histogram({.rows = 1, .cells = 4}, {}).deviation, 0);
  EXPECT_GT(plan_histogram({.rows = 9, .cells = 1}, {}).deviation, 0);
  const double one = plan_histogram({.rows = 99, .cells = 4}, {}).deviation;
  const double five = plan_histogram({.rows = 99, .cells = 4}, {.rows_per_person = 5}).deviation;
  EXPECT_NEAR(five / one, 5, 1e-9);
}

TEST(Histogram, SaysWhatItRefuses) {
  const HistogramProblem problem{.rows = 10, .cells = 4};
  EXPECT_THAT([&] { plan_histogram({.rows = 0, .cells = 4}, {}); },
              ThrowsMessage<BadInput>(HasSubstr("rows")));
  EXPECT_THAT([&] { plan_histogram({.rows = 10, .cells = 0}, {}); },
              ThrowsMessage<BadInput>(HasSubstr("cells")));
  EXPECT_THAT([&] { plan_histogram({.rows = 10, .cells = 1001}, {}); },
              ThrowsMessage<BadInput>(HasSubstr("cells")));
  EXPECT_THAT([&] { plan_histogram(problem, {.draws = 2}); },
              ThrowsMessage<BadInput>(HasSubstr("`draws`")));
  EXPECT_THAT([&] { plan_histogram(problem, {.rows_per_person = 11}); },
              ThrowsMessage<BadInput>(HasSubstr("rows_per_person")));
  EXPECT_THROW(plan_histogram(problem, {.epsilon = 0}), BadInput);
  EXPECT_THROW(plan_histogram(problem, {.epsilon = std::nan("")}), BadInput);
  EXPECT_THROW(plan_histogram(problem, {.delta = 0}), BadInput);
  EXPECT_THROW(plan_histogram(problem, {.delta = 1e-300}), Infeasible);
  for (const double noise : {0.0, -1.0, 1e300, std::nan("")}) {
    EXPECT_THROW(analyze(HistogramCounts{.noise = noise}, problem, {}, 1), BadInput) << noise;
  }
  EXPECT_THROW(analyze(HistogramCounts{.noise = 6}, problem, {}, 2), BadInput);
}

}  // namespace histogram_test
}  // namespace gibbsite
