// The claims of networks against brute force over all small tables and all of their neighbors.
#include "gibbsite/mechanism/network.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <numeric>
#include <random>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/mechanism/ledger_guarantee.hpp"
#include "gibbsite/mechanism/noise_law.hpp"
#include "gibbsite/privacy/conjugate.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "support/repeats.hpp"

namespace gibbsite {
namespace network_test {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

using People = std::vector<std::vector<std::uint32_t>>;  // [n][K]

constexpr Neighbors replaced{}, added{.adjacency = Adjacency::add_remove};

// N ||N_XP - N_X N_P / N||_1 of a table [a][b], exactly.
long long scaled_score(const std::vector<long long>& cells, std::size_t b) {
  const std::size_t a = cells.size() / b;
  std::vector<long long> x(a), p(b);
  for (std::size_t i = 0; i < cells.size(); ++i) x[i / b] += cells[i], p[i % b] += cells[i];
  const long long n = std::accumulate(x.begin(), x.end(), 0LL);
  long long out = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    out += std::llabs(n * cells[i] - x[i / b] * p[i % b]);
  }
  return out;
}
double score(const std::vector<long long>& cells, std::size_t b) {
  const long long n = std::accumulate(cells.begin(), cells.end(), 0LL);
  return n == 0 ? 0 : static_cast<double>(scaled_score(cells, b)) / static_cast<double>(n);
}

// Every way to put n into these cells.
void each_table(std::size_t cells, long long n, std::vector<long long>& table,
                const std::function<void()>& visit) {
  if (table.size() + 1 == cells) {
    table.push_back(n);
    visit();
    table.pop_back();
    return;
  }
  for (long long here = 0; here <= n; ++here) {
    table.push_back(here);
    each_table(cells, n - here, table, visit);
    table.pop_back();
  }
}

// The largest change of a score over all tables of n rows and all moves of k of them.
double largest_move(std::size_t a, std::size_t b, long long n, int k) {
  double out = 0;
  std::vector<long long> table;
  each_table(a * b, n, table, [&] {
    const double before = score(table, b);
    std::vector<long long> moved = table;
    const std::function<void(int)> move = [&](int left) {
      out = std::max(out, std::abs(score(moved, b) - before));
      if (left == 0) return;
      for (long long& from : moved) {
        if (from == 0) continue;
        for (long long& to : moved) {
          if (&from == &to) continue;
          --from, ++to;
          move(left - 1);
          ++from, --to;
        }
      }
    };
    move(k);
  });
  return out;
}

double largest_addition(std::size_t a, std::size_t b, long long n) {
  double out = 0;
  std::vector<long long> table;
  each_table(a * b, n, table, [&] {
    const double before = score(table, b);
    std::vector<long long> more = table;
    for (long long& cell : more) {
      ++cell;
      out = std::max(out, std::abs(score(more, b) - before));
      --cell;
    }
  });
  return out;
}

NetworkProblem problem_of(std::vector<std::uint64_t> levels, std::uint64_t rows = 1000) {
  return {.rows = rows, .levels = std::move(levels)};
}
NetworkProblem chain_of(std::vector<std::uint64_t> levels, std::uint64_t rows = 1000) {
  NetworkProblem p = problem_of(std::move(levels), rows);
  p.parents.emplace(p.levels.size());
  for (std::uint32_t i = 1; i < p.levels.size(); ++i) (*p.parents)[i] = {i - 1};
  return p;
}

TEST(NetworkScore, MovesByNoMoreThanItsChangeOverAllSmallTables) {
  const double most = score_change_up(problem_of({2, 2}), replaced);
  EXPECT_EQ(most, 6);
  for (long long n = 1; n <= 9; ++n) {
    const double sharper = most * (1 - 1 / static_cast<double>(n)) + 1e-12;
    EXPECT_LE(largest_move(2, 2, n, 1), sharper);
    if (n <= 5) {
      EXPECT_LE(largest_move(2, 3, n, 1), sharper);
    }
    if (n <= 4) {
      EXPECT_LE(largest_move(3, 3, n, 1), sharper);
    }
  }
  // And is nearly attained: one row of 100, which a claim of 5 would not cover.
  const std::vector<long long> before{0, 0, 0, 0, 81, 9, 0, 9, 1};
  std::vector<long long> after = before;
  --after[8], ++after[0];
  EXPECT_GT(std::abs(score(after, 3) - score(before, 3)), 5.5);
  const Neighbors two{.rows_per_person = 2};
  EXPECT_EQ(score_change_up(problem_of({2, 2}), two), 12);
  for (long long n = 2; n <= 6; ++n) EXPECT_LE(largest_move(2, 2, n, 2), 12);
  // Twice that table, two rows: a claim for one row would not cover it.
  std::vector<long long> doubled(9);
  std::ranges::transform(before, doubled.begin(), [](long long cell) { return 2 * cell; });
  std::vector<long long> moved = doubled;
  moved[8] -= 2, moved[0] += 2;
  EXPECT_GT(std::abs(score(moved, 3) - score(doubled, 3)), 11);
}

TEST(NetworkScore, GrowsByExactlyItsChangeInTheLimit) {
  const double most = score_change_up(problem_of({2, 2}), added);
  EXPECT_EQ(most, 4);
  EXPECT_EQ(largest_addition(2, 2, 0), 0);
  for (long long n = 1; n <= 9; ++n) {
    const double limit = 4.0 * static_cast<double>(n) / static_cast<double>(n + 1);
    EXPECT_NEAR(largest_addition(2, 2, n), limit, 1e-12);
    if (n <= 5) {
      EXPECT_LE(largest_addition(2, 3, n), limit + 1e-12);
    }
    if (n <= 4) {
      EXPECT_LE(largest_addition(3, 3, n), limit + 1e-12);
    }
  }
}

std::vector<long long> counts_of(const People& people, const Network& network, std::size_t node) {
  std::vector<long long> out(network.cells(node));
  for (const auto& row : people) {
    std::uint64_t at = 0;
    for (const std::uint32_t parent : network.parents[node]) {
      at = at * network.levels[parent] + row[parent];
    }
    ++out[at * network.levels[node] + row[node]];
  }
  return out;
}

void each_row(const std::vector<std::uint64_t>& levels, std::vector<std::uint32_t>& row,
              const std::function<void()>& visit) {
  if (row.size() == levels.size()) return visit();
  for (std::uint32_t l = 0; l < levels[row.size()]; ++l) {
    row.push_back(l);
    each_row(levels, row, visit);
    row.pop_back();
  }
}
std::vector<std::vector<std::uint32_t>> rows_of(const std::vector<std::uint64_t>& levels) {
  std::vector<std::vector<std::uint32_t>> out;
  std::vector<std::uint32_t> row;
  each_row(levels, row, [&] { out.push_back(row); });
  return out;
}

TEST(NetworkCounts, TablesCostTogetherWhatTheNoiseSays) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 200; ++trial) {
    Network network{std::vector<std::uint64_t>(1 + random() % 12), {}};
    for (auto& levels : network.levels) levels = 1 + random() % 40;
    network.parents.resize(network.size());
    for (std::uint32_t i = 2; i < network.size(); ++i) {
      if (random() % 2 == 0) network.parents[i] = {i - 2, i - 1};
    }
    const double noise = std::exp(static_cast<double>(random() % 60) - 30);
    const std::vector<double> deviations = table_deviations(noise, network);
    Wide cost = 0;
    for (const double s : deviations) cost += 1 / (Wide(s) * Wide(s));
    cost *= Wide(noise) * Wide(noise);
    EXPECT_LE(cost, Wide(1));
    EXPECT_GT(cost, Wide(1 - 1e-14));
    for (std::size_t i = 0; i < network.size(); ++i) {
      EXPECT_GE(deviations[i], noise);  // what the release grid rests on
      for (std::size_t j = 0; j < i; ++j) {
        const double ratio = std::cbrt(static_cast<double>(network.cells(i)) /
                                       static_cast<double>(network.cells(j)));
        EXPECT_NEAR(deviations[j] / deviations[i] / ratio, 1, 1e-12);
      }
    }
  }
}

// Sum over tables of ||change||^2 / sigma^2 over all pairs of neighbors: mu^2, and attained.
TEST(NetworkCounts, MuIsTheLargestDistanceOfNeighbors) {
  const NetworkProblem p = chain_of({2, 3, 2});
  const Network network = p.network();
  const double noise = 7;
  const std::vector<double> deviations = table_deviations(noise, network);
  const auto rows = rows_of(network.levels);
  const auto distance = [&](const People& one, const People& other) {
    double out = 0;
    for (std::size_t i = 0; i < network.size(); ++i) {
      const auto a = counts_of(one, network, i), b = counts_of(other, network, i);
      for (std::size_t j = 0; j < a.size(); ++j) {
        const double change = static_cast<double>(a[j] - b[j]) / deviations[i];
        out += change * change;
      }
    }
    return std::sqrt(out);
  };
  double one_replaced = 0, two_replaced = 0, two_added = 0;
  for (const auto& a : rows) {
    for (const auto& b : rows) {
      one_replaced = std::max(one_replaced, distance({a}, {b}));
      two_added = std::max(two_added, distance({a, b}, {}));
      for (const auto& c : rows) {
        for (const auto& d : rows) two_replaced = std::max(two_replaced, distance({a, b}, {c, d}));
      }
    }
  }
  const auto mu = [&](const Neighbors& who) {
    return analyze(NetworkCounts{.noise = noise}, p, who, 1).guarantee.mu;
  };
  const auto holds = [](double claimed, double found) {
    EXPECT_LE(found, claimed * (1 + 1e-12));
    EXPECT_GT(found, claimed * (1 - 1e-12));
  };
  holds(mu(replaced), one_replaced);
  holds(mu({.rows_per_person = 2}), two_replaced);
  holds(mu({.adjacency = Adjacency::add_remove, .rows_per_person = 2}), two_added);
  EXPECT_NEAR(mu(added), 1 / noise, 1e-15);
}

double phi(double z) { return std::erfc(-z / std::sqrt(2.0)) / 2; }

// The law of a noisy count on its release grid: probability by grid index.
std::map<long long, double> law_of_count(double mean, double deviation) {
  const double grid = answer_grid(deviation);
  std::map<long long, double> out;
  const auto half = static_cast<long long>(12 * deviation / grid);
  const auto middle = static_cast<long long>(std::floor(mean / grid));
  for (long long i = middle - half; i <= middle + half; ++i) {
    const double lo = ((static_cast<double>(i) - 0.5) * grid - mean) / deviation;
    const double hi = ((static_cast<double>(i) + 0.5) * grid - mean) / deviation;
    out[i] = lo > 0 ? phi(-lo) - phi(-hi) : phi(hi) - phi(lo);
  }
  return out;
}
double mass(const std::map<long long, double>& law, long long at) {
  const auto found = law.find(at);
  return found == law.end() ? 0 : found->second;
}

// Two counts that differ, whatever the others: their exact law on the grid.
double pair_delta(double epsilon, const std::array<double, 2>& deviations,
                  const std::array<double, 2>& moves) {
  const auto p0 = law_of_count(3, deviations[0]), q0 = law_of_count(3 + moves[0], deviations[0]);
  const auto p1 = law_of_count(5, deviations[1]), q1 = law_of_count(5 + moves[1], deviations[1]);
  double out = 0;
  for (const auto& [i, a] : p0) {
    for (const auto& [j, b] : p1) {
      out += std::max(0.0, a * b - std::exp(epsilon) * mass(q0, i) * mass(q1, j));
    }
  }
  return out;
}

TEST(NetworkCounts, KeepTheClaimByTheirExactLawOnTheGrid) {
  if (support::sanitized) GTEST_SKIP() << "a release tells";
  struct Case {
    NetworkProblem problem;
    Neighbors who;
    std::array<double, 2> moves;
  };
  const std::vector<Case> cases{
      {chain_of({2}), replaced, {1, -1}},  // one table, from one count to the other
      {chain_of({2}), {.rows_per_person = 3}, {3, -3}},
      {chain_of({2, 3}), added, {1, 1}}};  // two tables, one count of each
  for (const Case& c : cases) {
    const Network network = c.problem.network();
    for (const double noise : {0.9, 4.0}) {
      const auto deviations = table_deviations(noise, network);
      const std::array<double, 2> two{deviations[0], deviations.back()};
      const Guarantee claim = analyze(NetworkCounts{.noise = noise}, c.problem, c.who, 1).guarantee;
      for (const double epsilon : {0.01, 0.3, 1.0}) {
        const double claimed = delta_up(claim, epsilon);
        const double exact = pair_delta(epsilon, two, c.moves);
        EXPECT_LE(exact, claimed) << noise << " " << epsilon;
        EXPECT_GT(exact, 0.95 * claimed)
            << noise << " " << epsilon;  // rounding hides next to nothing
        const std::array<double, 2> less{0.95 * two[0], 0.95 * two[1]};
        EXPECT_GT(pair_delta(epsilon, less, c.moves), claimed);  // a tenth less noise is seen
      }
    }
  }
}

// The law of all picks: exponential mechanism by exp(b (score - penalty cells)), greedily.
std::vector<double> law_of_picks(const People& people, const NetworkProblem& p, double b,
                                 double penalty) {
  const std::size_t K = p.levels.size();
  std::vector<double> out;
  const std::function<void(std::uint32_t, double)> pick = [&](std::uint32_t placed, double weight) {
    if (placed == (1U << K) - 1) {
      out.push_back(weight);
      return;
    }
    std::vector<std::pair<std::uint32_t, double>> candidates;
    for (std::uint32_t x = 0; x < K; ++x) {
      if ((placed >> x & 1U) != 0) continue;
      for (std::uint32_t set = 0; set < 1U << K; ++set) {
        if ((set & ~placed) != 0) continue;
        Network network{p.levels, std::vector<std::vector<std::uint32_t>>(K)};
        for (std::uint32_t parent = 0; parent < K; ++parent) {
          if ((set >> parent & 1U) != 0) network.parents[x].push_back(parent);
        }
        const std::uint64_t cells = network.cells(x);
        if (network.parents[x].size() > p.limits.parents || cells > p.limits.cells) continue;
        const double value = score(counts_of(people, network, x), p.levels[x]);
        candidates.emplace_back(x, std::exp(b * (value - penalty * static_cast<double>(cells))));
      }
    }
    double sum = 0;
    for (const auto& [x, w] : candidates) sum += w;
    for (const auto& [x, w] : candidates) pick(placed | 1U << x, weight * w / sum);
  };
  pick(1, 1);
  return out;
}

double hockey_stick(const std::vector<double>& p, const std::vector<double>& q, double epsilon) {
  double out = 0;
  for (std::size_t i = 0; i < p.size(); ++i) out += std::max(0.0, p[i] - std::exp(epsilon) * q[i]);
  return out;
}

Guarantee picks_claim(const NetworkProblem& p, double b, const Neighbors& who) {
  // Tables that cost nothing beside them.
  return analyze(NetworkCounts{.noise = 1e30, .score_weight = b}, p, who, 1).guarantee;
}

TEST(NetworkStructure, PicksKeepTheClaimByTheirExactLawOnAllSmallTables) {
  NetworkProblem p = problem_of({2, 2, 2}, 3);
  p.limits.cells = 8;
  const auto rows = rows_of(p.levels);
  const double b = 0.7, penalty = 0.1;
  const Guarantee one = picks_claim(p, b, replaced), add = picks_claim(p, b, added);
  const std::vector<double> epsilons{0.01, 0.5, 1.5, 3.0};
  std::map<double, double> worst_replaced, worst_added;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = i; j < rows.size(); ++j) {
      const auto fewer = law_of_picks({rows[i], rows[j]}, p, b, penalty);
      std::vector<std::vector<double>> laws;
      for (const auto& last : rows) {
        laws.push_back(law_of_picks({rows[i], rows[j], last}, p, b, penalty));
      }
      for (const double epsilon : epsilons) {
        for (const auto& law : laws) {
          double& top = worst_added[epsilon];
          top =
              std::max({top, hockey_stick(law, fewer, epsilon), hockey_stick(fewer, law, epsilon)});
          for (const auto& other : laws) {
            double& most = worst_replaced[epsilon];
            most = std::max(most, hockey_stick(law, other, epsilon));
          }
        }
      }
    }
  }
  for (const double epsilon : epsilons) {
    EXPECT_LE(worst_replaced[epsilon], delta_up(one, epsilon)) << epsilon;
    EXPECT_LE(worst_added[epsilon], delta_up(add, epsilon)) << epsilon;
  }
  EXPECT_GT(worst_replaced[0.01], 0.3);  // something is told at all
}

// Where one row moves a score by 5.6: parents or none. A claim for a change of 2.5 would be false.
TEST(NetworkStructure, PicksNeedTheChangeThatIsClaimed) {
  NetworkProblem p = problem_of({3, 3}, 100);
  const std::vector<long long> before{0, 0, 0, 0, 81, 9, 0, 9, 1};
  std::vector<long long> after = before;
  --after[8], ++after[0];
  for (const double b : {0.1, 0.5}) {
    const double penalty = (score(before, 3) + score(after, 3)) / 2 / 6;  // of 9 - 3 cells more
    const auto law = [&](const std::vector<long long>& table) {
      const double taken = 1 / (1 + std::exp(-b * (score(table, 3) - 6 * penalty)));
      return std::vector<double>{taken, 1 - taken};
    };
    const Guarantee claim = picks_claim(p, b, replaced);
    const double told = hockey_stick(law(after), law(before), 0.01);
    EXPECT_LE(told, delta_up(claim, 0.01));
    EXPECT_GT(told, gdp_delta_up(0.01, bounded_range_mu_up(2 * b * 2.5)));
  }
}

TEST(NetworkStructure, TakesItsShareAndComposesWithTheTables) {
  NetworkProblem p = problem_of({4, 7, 3, 2, 16}, 30'000);
  p.limits.cells = 100;
  for (const double share : {0.05, 0.2, 0.6}) {
    const Budget budget{.epsilon = 1, .delta = 1e-6};
    const NetworkPlan plan =
        plan_network(p, budget, {.mechanism = "counts", .structure_share = share});
    const auto& s = std::get<NetworkCounts>(plan.candidate().mechanism);
    const double range = 2 * s.score_weight * 6;
    const double picks = 2 * bounded_range_mu_up(range);  // sqrt(K - 1) = 2
    const double tables = std::sqrt(2.0) / s.noise, mu = plan.candidate().guarantee.mu;
    EXPECT_NEAR(picks * picks / (mu * mu), share, 1e-9);
    EXPECT_NEAR(std::hypot(picks, tables), mu, 1e-12);
    // As many answers as there may be: how many there are is known only afterwards.
    const Analysis found = analyze(s, p, {}, 1);
    const auto cost = noise_cost_up(AnsweredNoise{500}, 1);
    EXPECT_EQ(found.noise.tv, cost.tv);
    EXPECT_GE(found.guarantee.epsilon0, cost.epsilon);
    EXPECT_GE(found.guarantee.tv, cost.tv + 4 * 0x1p-100);
  }
}

TEST(NetworkPlans, KeepTheirBudgetAndUseItUp) {
  NetworkProblem chosen = problem_of({4, 7, 3, 2, 16}, 30'000);
  chosen.limits.cells = 400;
  const std::vector<NetworkProblem> problems{
      chain_of({2}),           chain_of({1}),      problem_of({1}),           problem_of({3}),
      chain_of({1, 1, 5}, 50), problem_of({1, 1}), chain_of({16, 9, 2, 100}), chosen};
  for (const NetworkProblem& p : problems) {
    for (const double epsilon : {1e-6, 0.1, 1.0, 8.0, 100.0}) {
      for (const Neighbors& who : {replaced, added, Neighbors{.rows_per_person = 5}}) {
        const Budget budget{.epsilon = epsilon,
                            .delta = 1e-6,
                            .adjacency = who.adjacency,
                            .rows_per_person = who.rows_per_person};
        const NetworkPlan plan = plan_network(p, budget, {.mechanism = "counts"});
        ASSERT_EQ(plan.candidates.size(), p.parents ? 3U : 4U);  // a tree is chosen
        const Analysis found = analyze(plan.candidate().mechanism, p, who, 1);
        const double delta = delta_up(found.guarantee, epsilon);
        EXPECT_LE(delta, 1e-6) << p.levels.size() << " " << epsilon;
        EXPECT_GT(delta, 0.999e-6) << p.levels.size() << " " << epsilon;
        EXPECT_GT(plan.candidate().deviation, 0);
      }
    }
  }
}

TEST(NetworkPlans, OfOneRowAndOfATinyDelta) {
  const NetworkProblem one = chain_of({2, 2}, 1);
  EXPECT_TRUE(plan_network(one, {}, {.mechanism = "counts"}).candidate().feasible);
  EXPECT_THROW(plan_network(one, {.rows_per_person = 2}), BadInput);
  // Below what the noise as computed can keep.
  EXPECT_THAT(
      [&] {
        plan_network(chain_of({2, 2}), {.epsilon = 1, .delta = 1e-45}, {.mechanism = "counts"});
      },
      ThrowsMessage<Infeasible>(HasSubstr("leave nothing")));
  EXPECT_NO_THROW(
      plan_network(chain_of({2, 2}), {.epsilon = 1, .delta = 1e-30}, {.mechanism = "counts"}));
}

TEST(NetworkPlans, AutoTakesTheLeastDeviation) {
  NetworkProblem adult = problem_of({16, 9, 16, 7, 15, 6, 5, 2, 16, 2}, 32'561);
  adult.parents.emplace(10);
  for (std::uint32_t i = 2; i < 10; ++i) (*adult.parents)[i] = {i - 2, i - 1};
  adult.trim = 0.002;  // conjugate tables are not cut, and not offered
  const NetworkPlan plan = plan_network(adult, {});
  EXPECT_EQ(name_of(plan.candidate().mechanism), "network-counts");
  EXPECT_TRUE(plan.candidates[1].feasible);
  for (const NetworkCandidate& other : plan.candidates) {
    if (other.feasible) {
      EXPECT_GE(other.deviation, plan.candidate().deviation);
    }
    EXPECT_FALSE(other.why.empty());
  }
  EXPECT_EQ(name_of(plan_network(adult, {}, {.mechanism = "network-counts"}).candidate().mechanism),
            "network-counts");
}

TEST(NetworkPlans, SayWhatTheyRefuse) {
  const NetworkProblem given = chain_of({2, 3}), chosen = problem_of({2, 3});
  EXPECT_THAT([&] { plan_network(given, {}, {.mechanism = "path"}); },
              ThrowsMessage<BadInput>(HasSubstr("give auto, counts, trimmed, conjugate or tree")));
  EXPECT_THAT([&] { plan_network(given, {}, {.structure_share = 0.2}); },
              ThrowsMessage<BadInput>(HasSubstr("this one is given")));
  for (const double share : {0.0, 1.0, -0.1, std::nan("")}) {
    EXPECT_THAT([&] { plan_network(chosen, {}, {.structure_share = share}); },
                ThrowsMessage<BadInput>(HasSubstr("structure_share")));
  }
  EXPECT_THAT([&] { plan_network(given, {.draws = 2}, {.mechanism = "counts"}); },
              ThrowsMessage<Infeasible>(HasSubstr("any number of people")));
  EXPECT_THAT([&] { plan_network(chosen, {}, {.mechanism = "conjugate"}); },
              ThrowsMessage<Infeasible>(HasSubstr("structure that is given")));
}

TEST(NetworkAnalysis, RefusesSettingsThatNoPlanHas) {
  const NetworkProblem given = chain_of({2, 3}), chosen = problem_of({2, 3});
  const auto refuses = [](const NetworkMechanism& m, const NetworkProblem& p, const char* why,
                          const Neighbors& who = {}, std::uint64_t draws = 1) {
    EXPECT_THAT([&] { analyze(m, p, who, draws); }, ThrowsMessage<BadInput>(HasSubstr(why)));
  };
  refuses(NetworkCounts{.noise = 0}, given, "noise:");
  refuses(NetworkCounts{.noise = INFINITY}, given, "noise:");
  refuses(NetworkCounts{.noise = std::nan("")}, given, "noise:");
  refuses(NetworkCounts{.noise = 1, .score_weight = 1}, given, "score_weight: is of a structure");
  refuses(NetworkCounts{.noise = 1}, chosen, "score_weight");
  refuses(NetworkCounts{.noise = 1, .score_weight = 1e308}, chosen, "score_weight");
  refuses(NetworkCounts{.noise = 1}, given, "`draws`", {}, 2);
  refuses(NetworkCounts{.noise = 1}, given, "`rows_per_person`", {.rows_per_person = 0});
  refuses(NetworkConjugate{.epsilon = 1}, chosen, "a structure that is given");
  // Noise beside which sums are no longer exact promises nothing.
  NetworkProblem large = given;
  large.rows = 1ULL << 38;
  EXPECT_EQ(analyze(NetworkCounts{.noise = 1e-5}, large, {}, 1).guarantee.tv, 1);
}

TEST(NetworkLedger, AddsTheGaussianThatCoversTheTables) {
  const NetworkPlan plan = plan_network(problem_of({4, 7, 3}, 5000), {}, {.mechanism = "counts"});
  const Guarantee own = plan.candidate().guarantee, added_up = ledger_guarantee(plan);
  EXPECT_EQ(added_up.epsilon0, 0);
  EXPECT_EQ(added_up.delta0, 0);
  EXPECT_EQ(added_up.tv, own.tv);
  EXPECT_GE(added_up.mu, own.mu);
  EXPECT_LT(added_up.mu, own.mu * (1 + 1e-6));
}

}  // namespace network_test
}  // namespace gibbsite
