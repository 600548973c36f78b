#include "gibbsite/mechanism/select.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/privacy/conjugate.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "gibbsite/privacy/rdp.hpp"

namespace gibbsite {
namespace select_test {

using Law = std::vector<double>;

Law law_of(const std::vector<double>& sums, double weight) {
  const double best = *std::ranges::max_element(sums);
  Law out;
  double total = 0;
  for (const double sum : sums) total += out.emplace_back(std::exp(weight * (sum - best)));
  for (double& one : out) one /= total;
  return out;
}

// The largest log ratio, and how long the interval of them is.
struct Ratios {
  double largest = 0, range = 0;
};
Ratios ratios_of(const Law& p, const Law& q) {
  double low = 1e300, high = -1e300;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double ratio = std::log(p[i] / q[i]);
    low = std::min(low, ratio), high = std::max(high, ratio);
  }
  return {std::max(high, -low), high - low};
}

double hockey_stick(const Law& p, const Law& q, double epsilon) {
  double out = 0;
  for (std::size_t i = 0; i < p.size(); ++i) out += std::max(0.0, p[i] - std::exp(epsilon) * q[i]);
  return out;
}

double divergence(const Law& p, const Law& q, double order) {
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) sum += q[i] * std::exp(order * std::log(p[i] / q[i]));
  return std::log(sum) / (order - 1);
}

// Every pair of neighbors whose one person has scores of 0, 1/2 or 1, about tables that lean to
// each candidate: all that is claimed holds, and what is claimed is reached.
TEST(Select, LawsOfNeighborsKeepWhatIsClaimed) {
  for (const Adjacency adjacency : {Adjacency::replace_one, Adjacency::add_remove}) {
    for (const std::uint64_t k : {1U, 3U}) {
      const Budget budget{
          .epsilon = 0.8, .delta = 1e-15, .adjacency = adjacency, .rows_per_person = k};
      const SelectPlan plan = plan_select({.rows = 50, .candidates = 3}, budget);
      const double w = std::get<ExponentialPick>(plan.mechanism).weight;
      const Neighbors who = budget.neighbors();
      const Guarantee cover = select_cover_up(plan.mechanism, plan.problem, who);
      const std::vector<double> orders{1.5, 4, 30};
      std::vector<double> claimed;
      for (const double order : orders) claimed.push_back(renyi_up(plan.mechanism, who, order));
      const double even = gdp_delta_up(0, cover.mu), later = gdp_delta_up(0.3, cover.mu);
      double largest = 0, widest = 0;
      const auto rows = static_cast<double>(k);
      for (const double lean : {-40.0, -3.0, 0.0, 3.0, 40.0}) {
        for (int mine = 0; mine < 27; ++mine) {
          for (int other = 0; other < 27; ++other) {
            if (adjacency == Adjacency::add_remove && other != 0) continue;
            const auto sums = [&](int scores) {
              std::vector<double> out{20 + lean, 20, 20};
              for (double& one : out) one += rows * (scores % 3) / 2.0, scores /= 3;
              return out;
            };
            const Law p = law_of(sums(mine), w), q = law_of(sums(other), w);
            const Ratios found = ratios_of(p, q);
            largest = std::max(largest, found.largest);
            widest = std::max(widest, found.range);
            ASSERT_LE(hockey_stick(p, q, 0), even + 1e-14);
            ASSERT_LE(hockey_stick(p, q, 0.3), later + 1e-14);
            ASSERT_LE(hockey_stick(q, p, 0.3), later + 1e-14);
            for (std::size_t i = 0; i < orders.size(); ++i) {
              ASSERT_LE(divergence(p, q, orders[i]), claimed[i] * (1 + 1e-12) + 1e-14);
              ASSERT_LE(divergence(q, p, orders[i]), claimed[i] * (1 + 1e-12) + 1e-14);
            }
          }
        }
      }
      EXPECT_LE(largest, plan.guarantee.epsilon0 * (1 + 1e-12));
      EXPECT_LE(widest, plan.guarantee.epsilon0 * (1 + 1e-12));
      EXPECT_GT(largest, 0.99 * plan.guarantee.epsilon0);  // a weight of 2 % more would break it
      EXPECT_GT(widest, 0.99 * plan.guarantee.epsilon0);
      EXPECT_LE(plan.guarantee.epsilon0, budget.epsilon);
    }
  }
}

TEST(Select, PlansTheLargestWeight) {
  const SelectPlan plan = plan_select({.rows = 9, .candidates = 4}, {.epsilon = 1});
  const double w = std::get<ExponentialPick>(plan.mechanism).weight;
  EXPECT_LE(select_range_up(plan.mechanism, {}), 1);
  EXPECT_GT(select_range_up(ExponentialPick{std::nextafter(w, 1)}, {}), 1);
  EXPECT_LE(delta_up(plan.guarantee, 1), 1e-25);
  // The Gaussian that a ledger adds is far from that of the pure part alone.
  const Guarantee cover = select_cover_up(plan.mechanism, plan.problem, {});
  EXPECT_EQ(cover.mu, bounded_range_mu_up(plan.guarantee.epsilon0));
  EXPECT_LT(cover.mu, 0.63);
  EXPECT_LT(renyi_up(plan.mechanism, {}, 2), 0.4 * renyi_up(plan.guarantee, 2));
}

// exp(-w t) of a hundred others, all t behind.
TEST(Select, SaysHowFarBehindTheChosenOneIs) {
  const SelectPlan plan = plan_select({.rows = 999, .candidates = 101}, {.epsilon = 1});
  std::vector<double> sums(101, 500 - plan.behind);
  sums[0] = 500;
  const Law law = law_of(sums, std::get<ExponentialPick>(plan.mechanism).weight);
  EXPECT_GE(law[0], 0.95);
  EXPECT_LE(law[0], 0.96);
}

TEST(Select, RefusesWhatIsNone) {
  const Budget budget;
  EXPECT_THROW(plan_select({.rows = 9, .candidates = 1}, budget), BadInput);
  EXPECT_THROW(plan_select({.rows = 0, .candidates = 2}, budget), BadInput);
  EXPECT_THROW(plan_select({.rows = 9, .candidates = 2}, {.draws = 2}), BadInput);
  EXPECT_THROW(plan_select({.rows = 9, .candidates = 2}, {.rows_per_person = 10}), BadInput);
  EXPECT_THROW(analyze(ExponentialPick{0}, {.rows = 9, .candidates = 2}, {}, 1), BadInput);
  EXPECT_THROW(analyze(ExponentialPick{400}, {.rows = 9, .candidates = 2}, {}, 1), BadInput);
  EXPECT_THROW(plan_select({.rows = 9, .candidates = 2}, {.epsilon = 1, .delta = 1e-30}),
               Infeasible);
}

}  // namespace select_test
}  // namespace gibbsite
