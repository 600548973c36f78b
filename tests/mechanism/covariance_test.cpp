// The claim of noisy moments against pairs of rows that try to break it.
#include "gibbsite/mechanism/covariance.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/mechanism/ledger_guarantee.hpp"
#include "gibbsite/privacy/any_rows.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "support/repeats.hpp"

namespace gibbsite {
namespace covariance_test {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

using Row = std::vector<double>;

// What a row adds to all sums, each over its deviation.
Row added(const Row& x, const MomentDeviations& of) {
  Row out;
  if (of.count > 0) out.push_back(1 / of.count);
  for (std::size_t a = 0; a < x.size(); ++a) {
    out.push_back(x[a] / of.sum);
    out.push_back((x[a] * x[a] - of.shift) / of.square);
    for (std::size_t b = 0; b < a; ++b) out.push_back(x[a] * x[b] / of.product);
  }
  return out;
}

double distance(const Row& x, const Row& y, const MomentDeviations& of) {
  const Row p = added(x, of), q = y.empty() ? Row(p.size()) : added(y, of);
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) sum += (p[i] - q[i]) * (p[i] - q[i]);
  return std::sqrt(sum);
}

// The furthest pair found: every pair of corners, then steps of single numbers from many starts.
double furthest(std::size_t d, Adjacency adjacency) {
  const MomentDeviations of = moment_deviations(CovarianceMoments{1}, d, adjacency);
  const bool replaced = adjacency == Adjacency::replace_one;
  double best = 0;
  std::mt19937_64 random(d);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int start = 0; start < 60; ++start) {
    Row x(d), y(replaced ? d : 0);
    for (double& v : x) v = start % 2 == 0 ? std::copysign(1.0, uniform(random)) : uniform(random);
    for (double& v : y) v = start % 3 == 0 ? std::copysign(1.0, uniform(random)) : uniform(random);
    double found = distance(x, y, of);
    for (double step = 1; step > 1e-4; step /= 2) {
      for (Row* row : {&x, &y}) {
        for (double& v : *row) {
          for (const double to : {v - step, v + step, 0.0, -v}) {
            const double before = v;
            v = std::clamp(to, -1.0, 1.0);
            const double now = distance(x, y, of);
            if (now > found) {
              found = now;
            } else {
              v = before;
            }
          }
        }
      }
    }
    best = std::max(best, found);
  }
  return best;
}

double furthest_corners(std::size_t d, Adjacency adjacency) {
  const MomentDeviations of = moment_deviations(CovarianceMoments{1}, d, adjacency);
  const auto corner = [d](unsigned bits) {
    Row out;  // of -1, 0 and 1
    for (std::size_t j = 0; j < d; ++j, bits /= 3) out.push_back(static_cast<int>(bits % 3) - 1);
    return out;
  };
  const auto corners = static_cast<unsigned>(std::lround(std::pow(3, d)));
  double best = 0;
  for (unsigned a = 0; a < corners; ++a) {
    if (adjacency == Adjacency::add_remove) best = std::max(best, distance(corner(a), {}, of));
    for (unsigned b = 0; b < a && adjacency == Adjacency::replace_one; ++b)
      best = std::max(best, distance(corner(a), corner(b), of));
  }
  return best;
}

// No pair is further apart than is claimed, and some pair nearly is: under add-remove all of it.
TEST(Covariance, NoRowMovesTheSumsByMore) {
  for (const Adjacency adjacency : {Adjacency::replace_one, Adjacency::add_remove}) {
    for (const std::size_t d : {1U, 2U, 3U, 4U, 5U, 9U}) {
      const double claimed = covariance_change_up(d, adjacency);
      double found = furthest(d, adjacency);
      if (d <= 5) found = std::max(found, furthest_corners(d, adjacency));
      EXPECT_LE(found, claimed) << d;
      const double least = adjacency == Adjacency::add_remove ? 0.999999 : d == 1 ? 0.94 : 0.96;
      EXPECT_GE(found, least * claimed) << d;
    }
  }
}

// Rows of one person add a combination of what single rows add, with shares f >= 0 of sum at most
// k, and those of another person take its place, or nothing. The furthest pair found, by steps of
// shares and numbers from many starts.
double furthest_people(std::size_t d, Adjacency adjacency, double k) {
  const MomentDeviations of = moment_deviations(CovarianceMoments{1}, d, adjacency, true);
  const bool replaced = adjacency == Adjacency::replace_one;
  constexpr std::size_t rows = 3;  // of each of two people
  std::mt19937_64 random(d);
  std::uniform_real_distribution<double> uniform(-1, 1);
  struct People {
    std::vector<Row> rows;
    Row shares;
  };
  const auto apart = [&](const std::vector<People>& all) {
    Row sum(added(Row(d), of).size());
    for (std::size_t p = 0; p < all.size(); ++p) {
      double held = 0;
      for (const double share : all[p].shares) held += share;
      const double scale = k / std::max(held, 1.0);
      for (std::size_t i = 0; i < rows; ++i) {
        const Row one = added(all[p].rows[i], of);
        for (std::size_t j = 0; j < one.size(); ++j)
          sum[j] += (p == 0 ? 1 : -1) * scale * all[p].shares[i] * one[j];
      }
    }
    double squares = 0;
    for (const double v : sum) squares += v * v;
    return std::sqrt(squares);
  };
  double best = 0;
  for (int start = 0; start < 40; ++start) {
    std::vector<People> all(replaced ? 2 : 1);
    for (People& one : all) {
      for (std::size_t i = 0; i < rows; ++i) {
        Row& row = one.rows.emplace_back();
        for (std::size_t j = 0; j < d; ++j)
          row.push_back(start % 2 == 0 ? std::copysign(1.0, uniform(random)) : uniform(random));
        one.shares.push_back(std::fabs(uniform(random)));
      }
    }
    double found = apart(all);
    const auto climb = [&](double& v, double lo, const std::vector<double>& tries) {
      for (const double to : tries) {
        const double before = std::exchange(v, std::clamp(to, lo, 1.0));
        const double now = apart(all);
        if (now > found) {
          found = now;
        } else {
          v = before;
        }
      }
    };
    for (double step = 1; step > 1e-3; step /= 2) {
      for (People& one : all) {
        for (std::size_t i = 0; i < rows; ++i) {
          climb(one.shares[i], 0, {one.shares[i] - step, one.shares[i] + step});
          for (double& v : one.rows[i]) climb(v, -1, {v - step, v + step, 0.0, -v});
        }
      }
    }
    best = std::max(best, found);
  }
  return best;
}

// Any number of rows of people, held to k together, move the sums as k rows do, and what all rows
// count is answered at no cost under replace-one.
TEST(Covariance, NoPersonMovesWeightedSumsByMore) {
  if (support::sanitized) GTEST_SKIP() << "a release tells";
  for (const Adjacency adjacency : {Adjacency::replace_one, Adjacency::add_remove}) {
    for (const std::size_t d : {1U, 2U, 3U, 5U}) {
      for (const double k : {1.0, 3.0}) {
        const double claimed = k * covariance_change_up(d, adjacency, true);
        const double found = furthest_people(d, adjacency, k);
        EXPECT_LE(found, claimed) << d;
        EXPECT_GE(found, 0.94 * claimed) << d;
      }
      if (adjacency == Adjacency::add_remove) continue;
      EXPECT_NEAR(covariance_change_up(d, adjacency, true), covariance_change_up(d, adjacency),
                  1e-6);
    }
  }
}

TEST(Covariance, APlanOfPeopleSpendsItsBudget) {
  for (const Adjacency adjacency : {Adjacency::replace_one, Adjacency::add_remove}) {
    for (const std::uint64_t k : {1U, 4U}) {
      const Budget budget{
          .epsilon = 0.7, .delta = 1e-6, .adjacency = adjacency, .rows_per_person = k};
      const CovarianceProblem problem{
          .rows = 5000, .columns = 3, .weighted = true, .rows_of_person = k};
      const CovariancePlan plan = plan_covariance(problem, budget);
      EXPECT_LE(delta_up(plan.guarantee, budget.epsilon), budget.delta);
      const double noise = std::get<CovarianceMoments>(plan.mechanism).noise;
      const double change = static_cast<double>(k) * covariance_change_up(3, adjacency, true);
      EXPECT_NEAR(plan.guarantee.mu * noise, change, 1e-9 * change);
      EXPECT_EQ(own_guarantee(plan).who.rows_per_person, any_rows);
      EXPECT_THROW(static_cast<void>(analyze(plan.mechanism, problem, {adjacency, k + 1}, 1)),
                   BadInput);
    }
  }
  EXPECT_THROW(CovarianceProblem({.rows = 9, .columns = 1, .rows_of_person = 1}).validate(),
               BadInput);
  EXPECT_THROW(
      CovarianceProblem(
          {.rows = most_covariance_rows, .columns = 1, .weighted = true, .rows_of_person = 2})
          .validate(),
      BadInput);
}

TEST(Covariance, APlanSpendsItsBudget) {
  for (const Adjacency adjacency : {Adjacency::replace_one, Adjacency::add_remove}) {
    for (const std::uint64_t k : {1U, 4U}) {
      const Budget budget{
          .epsilon = 0.7, .delta = 1e-6, .adjacency = adjacency, .rows_per_person = k};
      const CovariancePlan plan = plan_covariance({.rows = 5000, .columns = 7}, budget);
      EXPECT_LE(delta_up(plan.guarantee, budget.epsilon), budget.delta);
      const double mu = gdp_mu_down(budget.epsilon, budget.delta);
      EXPECT_GT(plan.guarantee.mu, 0.999 * mu);
      const double noise = std::get<CovarianceMoments>(plan.mechanism).noise;
      const double change = static_cast<double>(k) * covariance_change_up(7, adjacency);
      EXPECT_NEAR(plan.guarantee.mu * noise, change, 1e-9 * change);
      EXPECT_GE(ledger_guarantee(plan).mu, plan.guarantee.mu);
    }
  }
}

TEST(Covariance, RefusesWhatNoReleaseHas) {
  const Budget budget{.epsilon = 1, .delta = 1e-6};
  const auto plan = [&](const CovarianceProblem& problem, const Budget& with) {
    return [=] { static_cast<void>(plan_covariance(problem, with)); };
  };
  EXPECT_THAT(plan({.rows = 0, .columns = 2}, budget), ThrowsMessage<BadInput>(HasSubstr("rows")));
  EXPECT_THAT(plan({.rows = 9, .columns = 0}, budget),
              ThrowsMessage<BadInput>(HasSubstr("columns")));
  EXPECT_THAT(plan({.rows = 9, .columns = 65}, budget),
              ThrowsMessage<BadInput>(HasSubstr("columns")));
  Budget several = budget;
  several.draws = 2;
  EXPECT_THAT(plan({.rows = 9, .columns = 2}, several),
              ThrowsMessage<BadInput>(HasSubstr("released once")));
  EXPECT_THROW(
      static_cast<void>(analyze(CovarianceMoments{0}, {.rows = 9, .columns = 2}, Neighbors{}, 1)),
      BadInput);
}

}  // namespace covariance_test
}  // namespace gibbsite
