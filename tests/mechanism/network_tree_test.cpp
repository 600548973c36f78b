// The changes that network-tree's noise is for, against brute force over small tables and all of
// their neighbors, and what a budget buys.
#include "gibbsite/mechanism/network_tree.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include "gibbsite/core/error.hpp"
#include "gibbsite/mechanism/ledger_guarantee.hpp"
#include "gibbsite/mechanism/network.hpp"
#include "gibbsite/privacy/gdp.hpp"

namespace gibbsite {
namespace network_tree_test {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr Neighbors replaced{}, added{.adjacency = Adjacency::add_remove};

NetworkProblem problem_of(std::vector<std::uint64_t> levels, std::uint64_t rows = 1000) {
  const StructureLimits limits = tree_limits(levels.size());
  return {.rows = rows, .levels = std::move(levels), .limits = limits};
}

using Row = std::vector<std::uint32_t>;
using Table = std::vector<Row>;

std::vector<Row> all_rows(const std::vector<std::uint64_t>& levels) {
  std::vector<Row> out{{}};
  for (const std::uint64_t r : levels) {
    std::vector<Row> longer;
    for (const Row& row : out) {
      for (std::uint32_t l = 0; l < r; ++l) {
        longer.push_back(row);
        longer.back().push_back(l);
      }
    }
    out = std::move(longer);
  }
  return out;
}

// Every table of n rows, whatever their order.
void each_table(const std::vector<Row>& rows, std::size_t n, std::size_t from, Table& table,
                const std::function<void(const Table&)>& visit) {
  if (table.size() == n) return visit(table);
  for (std::size_t i = from; i < rows.size(); ++i) {
    table.push_back(rows[i]);
    each_table(rows, n, i, table, visit);
    table.pop_back();
  }
}

std::vector<double> one_ways(const Table& table, const std::vector<std::uint64_t>& levels) {
  std::vector<double> out;
  for (std::size_t k = 0; k < levels.size(); ++k) {
    std::vector<double> counts(levels[k]);
    for (const Row& row : table) ++counts[row[k]];
    out.insert(out.end(), counts.begin(), counts.end());
  }
  return out;
}

std::vector<std::uint64_t> pair_counts(const Table& table, std::uint32_t a, std::uint32_t b,
                                       const std::vector<std::uint64_t>& levels) {
  std::vector<std::uint64_t> out(levels[a] * levels[b]);
  for (const Row& row : table) ++out[row[a] * levels[b] + row[b]];
  return out;
}

// Against expected counts that are given, or the table's own.
using Expected = std::function<std::vector<double>(const Table&, std::uint32_t column)>;
std::vector<double> scores(const Table& table, const NetworkProblem& p, const Expected& expected) {
  std::vector<double> out;
  for (const auto& [a, b] : scored_pairs(p)) {
    const std::vector<double> first = expected(table, a), second = expected(table, b);
    const double rows = std::max(std::accumulate(first.begin(), first.end(), 0.0), 1.0);
    out.push_back(pair_score(pair_counts(table, a, b, p.levels), first, second, rows));
  }
  return out;
}

double distance(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
  return std::sqrt(sum);
}

// The largest move of a vector over all tables of up to `most` rows and all of their neighbors.
double largest_move(const NetworkProblem& p, std::size_t most, Adjacency adjacency,
                    const std::function<std::vector<double>(const Table&)>& vector) {
  double out = 0;
  const std::vector<Row> rows = all_rows(p.levels);
  for (std::size_t n = 1; n <= most; ++n) {
    Table start;
    each_table(rows, n, 0, start, [&](const Table& table) {
      const std::vector<double> before = vector(table);
      for (std::size_t i = 0; i < n; ++i) {
        Table other = table;
        if (adjacency == Adjacency::add_remove) {
          other.erase(other.begin() + static_cast<std::ptrdiff_t>(i));
          out = std::max(out, distance(before, vector(other)));
          continue;
        }
        for (const Row& row : rows) {
          other[i] = row;
          out = std::max(out, distance(before, vector(other)));
        }
      }
    });
  }
  return out;
}

Expected fixed(std::vector<std::vector<double>> counts) {
  return [counts = std::move(counts)](const Table&, std::uint32_t k) { return counts[k]; };
}
std::vector<double> own(const Table& table, std::uint32_t k,
                        const std::vector<std::uint64_t>& levels) {
  std::vector<double> out(levels[k]);
  for (const Row& row : table) ++out[row[k]];
  return out;
}

TEST(NetworkTreeChange, OfOneWayCountsIsMetAndNeverExceeded) {
  for (const auto& levels :
       std::vector<std::vector<std::uint64_t>>{{2}, {2, 2}, {2, 3}, {2, 1, 2}}) {
    const NetworkProblem p = problem_of(levels);
    for (const Neighbors& who : {replaced, added}) {
      const double most = one_way_change_up(p, who);
      const double seen =
          largest_move(p, 4, who.adjacency, [&](const Table& t) { return one_ways(t, levels); });
      EXPECT_LE(seen, most);
      EXPECT_GT(seen, most * (1 - 1e-12));
    }
  }
  // k rows at once, of one person: k times that.
  Neighbors many = replaced;
  many.rows_per_person = 3;
  EXPECT_NEAR(one_way_change_up(problem_of({2, 3}), many), 3 * 2, 1e-12);
  many.adjacency = Adjacency::add_remove;
  EXPECT_NEAR(one_way_change_up(problem_of({2, 3}), many), 3 * std::sqrt(2.0), 1e-12);
}

// Whatever was answered: near the table, far from it, between whole numbers. Where no table's cell
// is within a row of what is expected one pair at least moves by all it can.
TEST(NetworkTreeChange, OfScoresIsNeverExceededOverAllSmallTables) {
  struct Case {
    std::vector<std::uint64_t> levels;
    std::vector<std::vector<double>> expected;
    std::size_t rows;
    bool met;
  };
  const std::vector<Case> cases{{{2, 2}, {{1.5, 2.5}, {3.25, 0.75}}, 6, false},
                                {{2, 2}, {{0, 40}, {40, 0}}, 6, true},
                                {{2, 3}, {{7, 5}, {12, 0, 0}}, 4, true},
                                {{2, 2, 2}, {{90, 10}, {10, 90}, {50, 50}}, 3, false},
                                {{2, 2, 2}, {{100, 0}, {0, 100}, {100, 0}}, 3, true},
                                {{3, 2, 1}, {{1, 1, 1}, {1.5, 1.5}, {3}}, 4, false}};
  for (const Case& one : cases) {
    const NetworkProblem p = problem_of(one.levels);
    for (const Neighbors& who : {replaced, added}) {
      const double most = pair_scores_change_up(p, who);
      const double seen = largest_move(p, one.rows, who.adjacency, [&](const Table& t) {
        return scores(t, p, fixed(one.expected));
      });
      EXPECT_LE(seen, most);
      if (one.met) {
        EXPECT_GT(seen, most * 0.57);  // one pair of three at least
      }
    }
  }
}

// A climb over tables of 60 rows of 4 columns and over what was answered comes to the bound.
TEST(NetworkTreeChange, OfScoresIsNearlyMetByAClimb) {
  const std::vector<std::uint64_t> levels{3, 4, 2, 5};
  const NetworkProblem p = problem_of(levels);
  std::mt19937_64 bits(5);
  const auto row = [&] {
    Row out;
    for (const std::uint64_t r : levels) out.push_back(static_cast<std::uint32_t>(bits() % r));
    return out;
  };
  for (const Neighbors& who : {replaced, added}) {
    const double most = pair_scores_change_up(p, who);
    Table table;
    for (int i = 0; i < 60; ++i) table.push_back(row());
    Row other = row();
    std::vector<std::vector<double>> expected;
    for (const std::uint64_t r : levels) expected.emplace_back(r, 60.0 / static_cast<double>(r));
    const auto move = [&](const Table& of, const Row& to,
                          const std::vector<std::vector<double>>& against) {
      Table neighbor = of;
      if (who.adjacency == Adjacency::replace_one) {
        neighbor.back() = to;
      } else {
        neighbor.pop_back();
      }
      return distance(scores(of, p, fixed(against)), scores(neighbor, p, fixed(against)));
    };
    double best = move(table, other, expected);
    for (int step = 0; step < 4'000; ++step) {
      Table changed = table;
      Row to = other;
      auto against = expected;
      const auto which = bits() % 3;
      if (which == 0) changed[bits() % changed.size()] = row();
      if (which == 1) to = row();
      if (which == 2) {
        auto& counts = against[bits() % levels.size()];
        double& from = counts[bits() % counts.size()];
        double& more = counts[bits() % counts.size()];
        const double part = from / 2;
        from -= part, more += part;
      }
      const double here = move(changed, to, against);
      EXPECT_LE(here, most);
      if (here < best) continue;
      best = here, table = changed, other = to, expected = against;
    }
    EXPECT_GT(best, 0.95 * most);
  }
}

// Planted: scores against the table's own counts of columns move by up to three times as much.
TEST(NetworkTreeChange, AgainstTheTablesOwnCountsWouldBeExceeded) {
  const NetworkProblem p = problem_of({2, 3});
  const double seen = largest_move(p, 6, Adjacency::replace_one, [&](const Table& t) {
    return scores(t, p,
                  [&](const Table& table, std::uint32_t k) { return own(table, k, p.levels); });
  });
  EXPECT_GT(seen, 1.2 * pair_scores_change_up(p, replaced));
}

TEST(PairScore, IsExactOnItsGrid) {
  EXPECT_EQ(pair_score({3, 1, 0, 4}, {4, 4}, {3, 5}, 8), 1.5 + 1.5 + 1.5 + 1.5);
  EXPECT_EQ(pair_score({0, 0}, {1}, {0, 1}, 1), 1);
  // One row of a third of one is rounded to a multiple of 2^-20; a whole row moves by whole ones.
  const double third = pair_score({0, 5}, {1}, {1. / 3, 2. / 3}, 1);
  EXPECT_EQ(pair_score({0, 6}, {1}, {1. / 3, 2. / 3}, 1) - third, 1);
  EXPECT_EQ(std::ldexp(third, 20), std::floor(std::ldexp(third, 20)));
  const std::uint64_t most = std::uint64_t{1} << 38;
  EXPECT_EQ(pair_score({most, 0, 0, 0}, {0, 0x1p38}, {0, 0x1p38}, 0x1p38), 0x1p39);
}

TEST(ScoredPairs, AreThoseWithATableWithinTheLimits) {
  NetworkProblem p = problem_of({2, 1, 600, 700});
  using Pairs = std::vector<std::array<std::uint32_t, 2>>;
  EXPECT_EQ(scored_pairs(p), (Pairs{{0, 2}, {0, 3}}));  // 420,000 cells are too many
  p.limits.cells = 200;
  EXPECT_EQ(scored_pairs(p), Pairs{});
  EXPECT_EQ(scored_pairs(problem_of({7})), Pairs{});
}

TEST(PlanTree, SpendsTheBudgetInThreeParts) {
  const NetworkProblem p = problem_of({2, 3, 4}, 5'000);
  for (const Adjacency adjacency : {Adjacency::replace_one, Adjacency::add_remove}) {
    const Budget budget{.epsilon = 1, .delta = 1e-6, .adjacency = adjacency, .rows_per_person = 2};
    const NetworkPlan plan = plan_network(p, budget);
    EXPECT_EQ(name_of(plan.candidate().mechanism), "network-tree");
    const auto& s = std::get<NetworkTree>(plan.candidate().mechanism);
    const Neighbors who = budget.neighbors();
    const double mu = plan.candidate().guarantee.mu, whole = mu * mu;
    const auto part = [&](double change, double noise) {
      return std::pow(change / noise, 2) / whole;
    };
    const bool replaces = adjacency == Adjacency::replace_one;
    EXPECT_NEAR(part(2 * std::sqrt(replaces ? 6 : 3), s.one_way_noise), 0.1, 1e-9);
    EXPECT_NEAR(part(2 * (replaces ? 2 : 1) * std::sqrt(3.0), s.score_noise), 0.1, 1e-9);
    EXPECT_NEAR(part(2 * (replaces ? std::sqrt(2.0) : 1), s.noise), 0.8, 1e-9);
    EXPECT_LE(delta_up(plan.candidate().guarantee, 1), 1e-6);
    EXPECT_GT(mu, 0.999 * gdp_mu_down(1, 1e-6));
    EXPECT_GE(ledger_guarantee(plan).mu, mu);
    // Less noise in any of the three costs more.
    for (double NetworkTree::*noise :
         {&NetworkTree::one_way_noise, &NetworkTree::score_noise, &NetworkTree::noise}) {
      NetworkTree less = s;
      less.*noise *= 0.99;
      EXPECT_GT(analyze(less, p, who, 1).guarantee.mu, mu * (1 + 1e-4));
    }
  }
}

TEST(PlanTree, GivesAllToTheColumnsWhereNoPairMayBeCounted) {
  NetworkProblem p = problem_of({7, 9});
  p.limits.cells = 9;
  const NetworkPlan plan = plan_network(p, {.epsilon = 1, .delta = 1e-6});
  const auto& s = std::get<NetworkTree>(plan.candidate().mechanism);
  EXPECT_EQ(s.score_noise, 0);
  EXPECT_EQ(s.noise, 0);
  EXPECT_NEAR(2 / s.one_way_noise, plan.candidate().guarantee.mu, 1e-9);
  EXPECT_THAT(
      [&] {
        analyze(NetworkTree{1, 1, 1}, p, replaced, 1);
      },
      ThrowsMessage<BadInput>(HasSubstr("no pair of columns may be counted")));
}

TEST(PlanTree, RefusesWhatItCannotDo) {
  NetworkProblem p = problem_of({2, 3});
  EXPECT_THAT(
      [&] {
        analyze(NetworkTree{1, 1, 1}, p, replaced, 2);
      },
      ThrowsMessage<BadInput>(HasSubstr("counts are released once")));
  EXPECT_THAT(
      [&] {
        analyze(NetworkTree{1, 0, 1}, p, replaced, 1);
      },
      ThrowsMessage<BadInput>(HasSubstr("score_noise: must be from")));
  EXPECT_THAT([&] { plan_network(p, {.epsilon = 1, .delta = 1e-6, .draws = 3}); },
              ThrowsMessage<Infeasible>(HasSubstr("releases one model")));
  p.parents = {{}, {0}};
  EXPECT_THAT([&] { plan_network(p, {.epsilon = 1, .delta = 1e-6}, {.mechanism = "tree"}); },
              ThrowsMessage<Infeasible>(HasSubstr("the structure is given")));
  EXPECT_EQ(plan_network(p, {.epsilon = 1, .delta = 1e-6}).candidates.size(), 3U);
  const NetworkProblem wide = problem_of({2, 10'000});
  EXPECT_THAT([&] { wide.validate(); }, ThrowsMessage<BadInput>(HasSubstr("10000")));
}

// 50 columns: more than a pick of parents may choose from, and no limit of a tree.
TEST(PlanTree, TakesManyColumns) {
  const NetworkPlan plan = plan_network(problem_of(std::vector<std::uint64_t>(50, 12), 30'000), {});
  EXPECT_TRUE(plan.candidate().feasible);
  EXPECT_THAT([&] { plan_network(plan.problem, {}, {.mechanism = "counts"}); },
              ThrowsMessage<BadInput>(HasSubstr("would choose among")));
}

}  // namespace network_tree_test
}  // namespace gibbsite
