#include "gibbsite/mechanism/rdp.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "gibbsite/privacy/conjugate.hpp"
#include "gibbsite/privacy/rdp.hpp"

namespace gibbsite {
namespace rdp_test {

constexpr double inf = std::numeric_limits<double>::infinity();

double log_beta(double a, double b) { return std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b); }

// log of the integral of p^order q^(1-order) over order - 1: of two Beta laws a Beta function.
double beta_divergence(double a, double b, double c, double d, double order) {
  const double x = order * a + (1 - order) * c, y = order * b + (1 - order) * d;
  if (!(x > 0 && y > 0)) return inf;
  return (log_beta(x, y) - order * log_beta(a, b) - (1 - order) * log_beta(c, d)) / (order - 1);
}

// Over every table of n rows and every neighbor of it.
TEST(RenyiOfFamilies, IsTheLargestOverAllTables) {
  const FamilyProblem problem{
      .family = Family::bernoulli, .rows = 30, .levels = 2, .prior = {1.5, 4}};
  for (const std::uint64_t k : {1U, 3U}) {
    for (const double weight : {0.05, 0.3}) {
      for (const double order : {1.5, 2.0, 5.0}) {
        double worst = 0;
        for (std::uint64_t i = 0; i <= problem.rows; ++i) {
          for (std::uint64_t j = 0; j <= problem.rows; ++j) {
            if ((i > j ? i - j : j - i) > k) continue;
            const auto a = [&](std::uint64_t n) { return 3 + weight * static_cast<double>(n); };
            const auto b = [&](std::uint64_t n) {
              return 8 + weight * static_cast<double>(problem.rows - n);
            };
            worst = std::max(worst, beta_divergence(a(i), b(i), a(j), b(j), order));
          }
        }
        const ConjugateDraw s{.weight = weight, .prior_scale = 2, .epsilon = 1};
        const Neighbors who{.rows_per_person = k};
        const double claimed = renyi_up(s, problem, who, 1, order);
        EXPECT_GE(claimed, worst * (1 - 1e-12)) << k << " " << weight << " " << order;
        // Beyond one row a person the common records are left out.
        EXPECT_LE(claimed, k == 1 ? worst + 1e-10 : 10 * worst);
        if (!std::isfinite(claimed)) continue;  // an order that is not defined there
        EXPECT_NEAR(renyi_up(s, problem, who, 4, order), 4 * claimed, 1e-12);
      }
    }
  }
}

TEST(RenyiOfFamilies, IsThatOfTheGuaranteeWhereItIsGaussian) {
  const FamilyProblem mean{
      .family = Family::mean, .rows = 100, .lo = 0, .hi = 1, .variance = 0.25, .prior = {4}};
  const ConjugateDraw s{.weight = 0.1};
  const Guarantee g = analyze(FamilyMechanism(s), mean, {}, 2).guarantee;
  EXPECT_EQ(renyi_up(s, mean, {}, 2, 3), renyi_up(g, 3));
}

// Any order's conversion bounds delta: that of the exact divergence is never below the exact delta.
TEST(RenyiOfFamilies, ImpliesNoLessThanTheExactDelta) {
  const FamilyProblem rate{.family = Family::rate, .rows = 50, .lo = 0, .hi = 3, .prior = {2, 1}};
  const ConjugateDraw s{.weight = 0.1, .prior_scale = 1, .epsilon = 1};
  double best = 1;
  for (double order = 1.2; order < 7; order += 0.1) {
    const double divergence = renyi_up(s, rate, {}, 1, order);
    if (!std::isfinite(divergence)) break;
    best =
        std::min(best, std::exp((order - 1) * (divergence - 1 + std::log(1 - 1 / order))) / order);
  }
  const double exact = gamma_pair_delta_up(2, 0.3, 1);
  EXPECT_GE(best, exact);
  EXPECT_LT(best, 10 * exact);
}

}  // namespace rdp_test
}  // namespace gibbsite
