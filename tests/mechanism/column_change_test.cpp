// The claims of one column of a person against neighbors that differ in it alone and try to break
// them.
#include "gibbsite/mechanism/column_change.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <boost/math/distributions/beta.hpp>
#include <boost/math/distributions/gamma.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/mechanism/noise_law.hpp"
#include "gibbsite/privacy/gdp.hpp"

namespace gibbsite {
namespace column_change_test {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

using Person = std::vector<std::vector<std::uint32_t>>;  // [k][K] levels of a person's rows

std::uint32_t below(std::mt19937_64& random, std::uint64_t n) {
  return static_cast<std::uint32_t>(random() % n);
}

// A structure of up to four columns of one to three levels, every parent before its child.
NetworkProblem random_network(std::mt19937_64& random) {
  NetworkProblem out{.rows = 50, .levels = {}};
  out.parents.emplace();
  const std::uint32_t columns = 1 + below(random, 4);
  for (std::uint32_t i = 0; i < columns; ++i) {
    out.levels.push_back(1 + below(random, 3));
    std::vector<std::uint32_t> parents;
    for (std::uint32_t j = 0; j < i; ++j)
      if (below(random, 2) == 0) parents.push_back(j);
    out.parents->push_back(parents);
  }
  return out;
}

Person random_person(const std::vector<std::uint64_t>& levels, std::uint64_t rows,
                     std::mt19937_64& random) {
  Person out(rows);
  for (auto& row : out)
    for (const std::uint64_t r : levels) row.push_back(below(random, r));
  return out;
}

// All rows of a person alike, or not, and then another value in the column.
Person with_column(Person person, std::uint32_t column, std::uint64_t levels, bool together,
                   std::mt19937_64& random) {
  const std::uint32_t to = below(random, levels);
  for (auto& row : person) {
    if (together) row = person.front();
    row[column] = together ? to : below(random, levels);
  }
  return person;
}

std::vector<double> table_of(const Person& person, const Network& network, std::size_t node) {
  std::vector<double> out(network.cells(node));
  for (const auto& row : person) {
    std::uint64_t cell = 0;
    for (const std::uint32_t parent : network.parents[node])
      cell = cell * network.levels[parent] + row[parent];
    out[cell * network.levels[node] + row[node]] += 1;
  }
  return out;
}

double squared_distance(const std::vector<double>& a, const std::vector<double>& b) {
  double out = 0;
  for (std::size_t i = 0; i < a.size(); ++i) out += (a[i] - b[i]) * (a[i] - b[i]);
  return out;
}

Neighbors neighbors_of(std::uint64_t k, bool replaced) {
  return {replaced ? Adjacency::replace_one : Adjacency::add_remove, k};
}

TEST(ColumnChange, CountsOfEveryStructure) {
  std::mt19937_64 random(1);
  int nothing = 0;
  for (int structure = 0; structure < 60; ++structure) {
    const NetworkProblem p = random_network(random);
    const Network network = p.network();
    const Neighbors who = neighbors_of(1 + below(random, 3), below(random, 2) == 0);
    const NetworkMechanism m = NetworkCounts{.noise = 2};
    const Guarantee whole = analyze(m, p, who, 1).guarantee;
    const std::vector<double> deviations = table_deviations(2, network);
    for (std::uint32_t column = 0; column < p.levels.size(); ++column) {
      const ColumnPrice price = column_price(m, p, whole, 1, std::array{column});
      double furthest = 0;
      for (int tried = 0; tried < 60; ++tried) {
        Person a = random_person(p.levels, who.rows_per_person, random);
        const bool together = tried % 2 == 0;
        if (together) a.assign(a.size(), a.front());
        const Person b = with_column(a, column, p.levels[column], together, random);
        double sum = 0;
        for (std::size_t i = 0; i < network.size(); ++i) {
          sum += squared_distance(table_of(a, network, i), table_of(b, network, i)) /
                 (deviations[i] * deviations[i]);
        }
        furthest = std::max(furthest, std::sqrt(sum));
      }
      EXPECT_LE(furthest, price.guarantee.mu * (1 + 1e-12));
      EXPECT_GE(furthest, .99 * price.guarantee.mu);
      const double most = who.adjacency == Adjacency::replace_one ? 1 : std::sqrt(2.0) + 1e-12;
      EXPECT_LE(price.guarantee.mu, most * whole.mu);
      nothing += price.guarantee.mu == 0;
      EXPECT_EQ(price.guarantee.mu == 0, p.levels[column] == 1);
    }
  }
  EXPECT_GT(nothing, 0);  // columns of one level were among them
}

// All three vectors of a tree, where every chosen table holds the column: counts of the columns,
// scores about any answers, and the tables.
double tree_distance(const NetworkProblem& p, const NetworkTree& s, const Person& a,
                     const Person& b, const std::vector<std::vector<double>>& answered,
                     std::uint32_t held) {
  const std::size_t columns = p.levels.size();
  double sum = 0;
  Network singles{p.levels, std::vector<std::vector<std::uint32_t>>(columns)};
  for (std::size_t k = 0; k < columns; ++k) {
    sum += squared_distance(table_of(a, singles, k), table_of(b, singles, k)) /
           (s.one_way_noise * s.one_way_noise);
  }
  std::vector<double> change;  // of the tables {held, other}
  std::vector<std::uint64_t> cells;
  for (const auto& [first, second] : scored_pairs(p)) {
    singles.parents[second] = {first};
    const auto of = [&, node = second](const Person& x) {
      std::vector<std::uint64_t> counts;
      for (const double count : table_of(x, singles, node))
        counts.push_back(static_cast<std::uint64_t>(count));
      return counts;
    };
    const auto here = of(a), there = of(b);
    const double moved = pair_score(here, answered[first], answered[second], 50) -
                         pair_score(there, answered[first], answered[second], 50);
    sum += moved * moved / (s.score_noise * s.score_noise);
    if (first == held || second == held) {
      change.push_back(squared_distance({here.begin(), here.end()}, {there.begin(), there.end()}));
      cells.push_back(here.size());
    }
    singles.parents[second].clear();
  }
  if (cells.empty()) return std::sqrt(sum);
  const std::vector<double> deviations = table_deviations(s.noise, cells);
  for (std::size_t t = 0; t < change.size(); ++t) sum += change[t] / deviations[t] / deviations[t];
  return std::sqrt(sum);
}

TEST(ColumnChange, TreesWhateverIsChosen) {
  std::mt19937_64 random(2);
  for (int table = 0; table < 40; ++table) {
    const std::uint32_t columns = 1 + below(random, 4);
    NetworkProblem p{.rows = 50, .levels = {}, .limits = tree_limits(columns)};
    for (std::uint32_t k = 0; k < columns; ++k) p.levels.push_back(1 + below(random, 3));
    const Neighbors who = neighbors_of(1 + below(random, 3), below(random, 2) == 0);
    NetworkTree s{.one_way_noise = 3};
    if (!scored_pairs(p).empty()) s.score_noise = 4, s.noise = 2;
    const Guarantee whole = analyze(NetworkMechanism(s), p, who, 1).guarantee;
    for (std::uint32_t column = 0; column < columns; ++column) {
      const double mu = column_price(s, p, whole, 1, std::array{column}).guarantee.mu;
      if (p.levels[column] == 1) {
        EXPECT_EQ(mu, 0);
        continue;
      }
      double furthest = 0;
      for (int tried = 0; tried < 40; ++tried) {
        Person a = random_person(p.levels, who.rows_per_person, random);
        const bool together = tried % 2 == 0;
        if (together) a.assign(a.size(), a.front());
        const Person b = with_column(a, column, p.levels[column], together, random);
        // All answered rows have the new cell, where scores move the most, or lie anywhere.
        std::vector<std::vector<double>> answered;
        for (std::uint32_t k = 0; k < columns; ++k) {
          std::vector<double> counts(p.levels[k]);
          counts[tried % 4 < 2 ? b.front()[k] : below(random, p.levels[k])] = 50;
          answered.push_back(counts);
        }
        furthest = std::max(furthest, tree_distance(p, s, a, b, answered, column));
      }
      EXPECT_LE(furthest, mu * (1 + 1e-12));
      // A table without a scored pair for the column has none that holds it.
      const bool held = std::ranges::any_of(
          scored_pairs(p), [&](const auto& of) { return of[0] == column || of[1] == column; });
      if (held || scored_pairs(p).empty()) {
        EXPECT_GE(furthest, .99 * mu);
      }
    }
  }
}

// Shares of two levels at either end of the trim: the log ratio's range over all tables.
TEST(ColumnChange, TrimmedTables) {
  std::mt19937_64 random(3);
  constexpr double trim = .1;
  const double end = std::log((1 - trim) / trim);
  for (int structure = 0; structure < 20; ++structure) {
    NetworkProblem p = random_network(random);
    for (std::uint64_t& levels : p.levels) levels = 2;
    p.trim = trim;
    const NetworkMechanism m = NetworkTrimmed{.weight = .01};
    const Guarantee whole = analyze(m, p, {}, 2).guarantee;
    for (std::uint32_t column = 0; column < p.levels.size(); ++column) {
      // Own table: one row's two shares; a child's: one level of two rows. Each moves by 2 ends.
      double range = 2 * end;
      for (const auto& parents : *p.parents)
        if (std::ranges::find(parents, column) != parents.end()) range += 2 * end;
      const double mu = column_price(m, p, whole, 2, std::array{column}).guarantee.mu;
      EXPECT_NEAR(mu, std::sqrt(2.0) * bounded_range_mu_up(.01 * range), 1e-12);
      EXPECT_LE(mu, whole.mu);
    }
  }
}

// Drawn tables of a column and its child: both together cost what a person costs, the child alone
// the pair of laws of its own table, whose curve is reached.
TEST(ColumnChange, ConjugateTables) {
  NetworkProblem p{.rows = 20, .levels = {2, 2}};
  p.parents.emplace(std::vector<std::vector<std::uint32_t>>{{}, {0}});
  const NetworkConjugate s{.weight = .5, .prior_scale = 4, .epsilon = 2};
  const Guarantee whole = analyze(NetworkMechanism(s), p, {}, 1).guarantee;
  const ColumnPrice child = column_price(s, p, whole, 1, std::array{1U});
  const ColumnPrice both = column_price(s, p, whole, 1, std::array{0U});
  EXPECT_NEAR(both.delta(2, Digits::fifty), whole.delta0, 1e-12);  // both tables hold the first
  EXPECT_LT(child.delta(2, Digits::fifty), whole.delta0);
  EXPECT_LT(column_epsilon_up(child, whole.delta0), 2);
  // The child's own table has two independent rows, of which one is changed: a Beta pair.
  const double a = 4 * .5, e = .7;
  const boost::math::beta_distribution<> here(a + .5, a), there(a, a + .5);
  double best = 0;
  for (double x = 0; x < 1; x += 2e-3) {
    best = std::max(best, cdf(complement(here, x)) - std::exp(e) * cdf(complement(there, x)));
  }
  EXPECT_LE(best, child.delta(e, Digits::fifty));
  EXPECT_GE(best, .99 * child.delta(e, Digits::fifty));
}

std::vector<double> moments_of(const std::vector<double>& x, const MomentDeviations& of) {
  std::vector<double> out;
  for (std::size_t i = 0; i < x.size(); ++i) {
    out.push_back(x[i] / of.sum);
    out.push_back((x[i] * x[i] - of.shift) / of.square);
    for (std::size_t j = 0; j < i; ++j) out.push_back(x[i] * x[j] / of.product);
  }
  return out;
}

// One number of a row moves by at most `by`: steps of single numbers from many starts.
double furthest_moments(std::size_t d, Adjacency adjacency, double by, std::mt19937_64& random) {
  const MomentDeviations of = moment_deviations(CovarianceMoments{1}, d, adjacency);
  std::uniform_real_distribution<double> uniform(-1, 1);
  double best = 0;
  for (int start = 0; start < 12; ++start) {
    std::vector<double> x(d);
    for (double& v : x) v = uniform(random);
    double to = std::clamp(x[0] + by * uniform(random), -1.0, 1.0);
    const auto distance = [&] {
      std::vector<double> y = x;
      y[0] = to;
      return std::abs(to - x[0]) <= by
                 ? std::sqrt(squared_distance(moments_of(x, of), moments_of(y, of)))
                 : 0;
    };
    double found = distance();
    for (double step = 1; step > 1e-5; step /= 2) {
      for (std::size_t j = 0; j <= d; ++j) {
        double& v = j < d ? x[j] : to;
        for (const double move : {-step, step, -2 * v}) {
          const double before = v;
          v = std::clamp(v + move, -1.0, 1.0);
          const double now = distance();
          if (now > found) {
            found = now;
          } else {
            v = before;
          }
        }
      }
      for (const double move : {-step, step}) {  // both ends together
        const double before = x[0], end = to;
        x[0] = std::clamp(x[0] + move, -1.0, 1.0), to = std::clamp(to + move, -1.0, 1.0);
        const double now = distance();
        if (now > found) {
          found = now;
        } else {
          x[0] = before, to = end;
        }
      }
    }
    best = std::max(best, found);
  }
  return best;
}

TEST(ColumnChange, Covariances) {
  std::mt19937_64 random(4);
  for (const Adjacency adjacency : {Adjacency::replace_one, Adjacency::add_remove}) {
    for (const std::size_t d : {1U, 2U, 3U, 5U}) {
      for (const double by : {.01, .3, 1.0, 1.3, 2.0}) {
        const double claim = covariance_column_change_up(d, adjacency, by);
        const double found = furthest_moments(d, adjacency, by, random);
        EXPECT_LE(found, claim) << d << " " << by;
        EXPECT_GE(found, .99 * claim) << d << " " << by;
        if (adjacency == Adjacency::replace_one) {
          EXPECT_LE(claim, covariance_change_up(d, adjacency) * (1 + 1e-7));
        }
      }
    }
  }
}

TEST(ColumnChange, CovarianceReleases) {
  const CovarianceProblem p{1000, 3};
  const CovarianceMechanism m = CovarianceMoments{20};
  for (const bool replaced : {true, false}) {
    const Guarantee whole = analyze(m, p, neighbors_of(2, replaced), 1).guarantee;
    const double all = column_price(m, p, whole, 1).guarantee.mu;
    const double part = column_price(m, p, whole, .05).guarantee.mu;
    EXPECT_NEAR(part, 2 * covariance_column_change_up(3, whole.who.adjacency, .1 + 0x1p-22) / 20,
                1e-9);
    EXPECT_LT(part, all);
    if (!replaced) {  // the cell may be missing, and the row with it
      EXPECT_GE(all, whole.mu);
    }
  }
}

// The largest H_e of two laws with a monotone ratio, either way round.
template <class Law>
double apart(const Law& here, const Law& there, double e, double from, double to) {
  double best = 0;
  for (int i = 0; i <= 400; ++i) {
    const double x = from + (to - from) * i / 400;
    for (const auto& [p, q] : {std::pair(here, there), std::pair(there, here)}) {
      best = std::max({best, cdf(p, x) - std::exp(e) * cdf(q, x),
                       cdf(complement(p, x)) - std::exp(e) * cdf(complement(q, x))});
    }
  }
  return best;
}

FamilyProblem family(Family which, double lo, double hi) {
  FamilyProblem out{.family = which, .rows = 6, .lo = lo, .hi = hi};
  if (which == Family::mean) out.variance = 4;
  if (which == Family::laplace || which == Family::variance) out.center = (lo + hi) / 2;
  out.prior = out.default_prior();
  return out;
}

TEST(ColumnChange, DrawsOfANumberThatMoves) {
  using Gamma = boost::math::gamma_distribution<>;
  using Beta = boost::math::beta_distribution<>;
  const ConjugateDraw s{.weight = .5, .prior_scale = 3, .epsilon = 1};
  const double e = .3;
  {  // the mean count: five rows of 0 to 10, one that moves by 2
    const FamilyProblem p = family(Family::rate, 0, 10);
    const Guarantee whole = analyze(FamilyMechanism(s), p, {}, 1).guarantee;
    const double claim = column_price(s, p, whole, 1, 2).delta(e, Digits::fifty);
    double most = 0;
    for (const int sum : {0, 1, 2, 5, 20, 58}) {
      const double shape = 3 * p.prior[0] + .5 * sum;
      most = std::max(most, apart(Gamma(shape, 1), Gamma(shape + 1, 1), e, 0, shape + 20));
    }
    EXPECT_LE(most, claim * (1 + 1e-9));
    EXPECT_GE(most, .99 * claim);
  }
  {  // the mean of any law: one of six moves by a quarter of the range
    const FamilyProblem p = family(Family::bounded_mean, 0, 4);
    const Guarantee whole = analyze(FamilyMechanism(s), p, {}, 1).guarantee;
    const double claim = column_price(s, p, whole, 1, 1).delta(e, Digits::fifty);
    double most = 0;
    for (double others = 0; others <= 5.75; others += .5) {
      const double a = 3 * p.prior[0] + .5 * others, b = 3 * p.prior[1] + .5 * (6 - others);
      most = std::max(most, apart(Beta(a, b), Beta(a + .125, b - .125), e, 0, 1));
    }
    EXPECT_LE(most, claim);
    EXPECT_LT(claim, apart(Beta(3 * p.prior[0] + .5, 3 * p.prior[1]),
                           Beta(3 * p.prior[0], 3 * p.prior[1] + .5), e, 0, 1));
  }
  for (const Family which : {Family::waiting, Family::laplace, Family::variance}) {
    const FamilyProblem p = family(which, 1, 9);
    const Guarantee whole = analyze(FamilyMechanism(s), p, {}, 1).guarantee;
    const double claim = column_price(s, p, whole, 1, 2).delta(e, Digits::fifty);
    double most = 0;
    for (double x = 1; x <= 7; x += .5) {
      const double least = p.values().first, r = .5 * p.records();
      const double from = std::min(p.value_of(x), p.value_of(x + 2));
      const double to = std::max(p.value_of(x), p.value_of(x + 2));
      const double rate = 3 * p.prior[1] + r * 5 * least, shape = 3 * p.prior[0] + 6 * r;
      most = std::max(most, apart(Gamma(shape, 1 / (rate + r * from)),
                                  Gamma(shape, 1 / (rate + r * to)), e, 0, 3 * shape / rate));
    }
    EXPECT_LE(most, claim * (1 + 1e-9)) << to_string(which);
    // For variances the theorem takes the furthest move beside the least rate.
    if (which == Family::waiting) {
      EXPECT_GE(most, .99 * claim);
    }
  }
}

TEST(ColumnChange, GaussianMeansAndTrimmedDraws) {
  FamilyProblem p = family(Family::mean, 0, 20);
  const ConjugateDraw s{.weight = .5, .prior_scale = 2};
  const Guarantee whole = analyze(FamilyMechanism(s), p, neighbors_of(2, true), 3).guarantee;
  const double mu = column_price(s, p, whole, 3, 1).guarantee.mu;
  // Two rows of a person move by 1: exact distance of three draws of variance 1/M.
  const double precision = 2 * p.prior[0] + 6 * .5 / 4;
  EXPECT_NEAR(mu, std::sqrt(3.0) * 2 * (.5 / 4) / std::sqrt(precision), 1e-5 * mu);
  EXPECT_EQ(column_price(s, p, whole, 3, 20).guarantee.mu, whole.mu);
  p = family(Family::waiting, 1, 9);
  p.trim = {.2, .8};
  const TrimmedDraw cut{.weight = .3};
  const Guarantee all = analyze(FamilyMechanism(cut), p, {}, 1).guarantee;
  const double moved = column_price(cut, p, all, 1, 2).guarantee.mu;
  // log f(z) - log f(z + 2) = 2 theta - ...: an interval of .3 * 2 * (.8 - .2).
  EXPECT_LE(moved, bounded_range_mu_up(.3 * 2 * .6) * (1 + 1e-6));
  EXPECT_NEAR(moved, all.mu / 4, .02 * moved);
}

TEST(ColumnChange, EpsilonAndGuess) {
  const NetworkProblem p{.rows = 50, .levels = {2, 3}, .parents = {{{}, {}}}};
  const NetworkMechanism m = NetworkCounts{.noise = 2};
  const Guarantee whole = analyze(m, p, {}, 1).guarantee;
  const ColumnPrice price = column_price(m, p, whole, 1, std::array{0U});
  const double epsilon = column_epsilon_up(price, 1e-6);
  EXPECT_LE(delta_up(price.guarantee, epsilon), 1e-6);
  EXPECT_GT(delta_up(price.guarantee, epsilon - 1e-6), 1e-6);
  EXPECT_LT(column_guess_percent(price), best_guess_percent(whole));
  const ColumnPrice none{};
  EXPECT_EQ(column_epsilon_up(none, 1e-6), 0);
  EXPECT_EQ(column_guess_percent(none), 50);
}

TEST(ColumnChange, RefusesWhatHasNoTheorem) {
  const NetworkProblem chosen{.rows = 50, .levels = {2, 3}};
  const NetworkMechanism m = NetworkCounts{.noise = 2, .score_weight = .1};
  const Guarantee replaced = analyze(m, chosen, {}, 1).guarantee;
  EXPECT_EQ(column_price(m, chosen, replaced, 1, std::array{0U}).guarantee.mu, replaced.mu);
  const Guarantee added = analyze(m, chosen, neighbors_of(1, false), 1).guarantee;
  EXPECT_THAT([&] { column_price(m, chosen, added, 1, std::array{0U}); },
              ThrowsMessage<BadInput>(HasSubstr("add-remove")));
  FamilyProblem levels{.family = Family::bernoulli, .rows = 6, .levels = 2};
  levels.prior = levels.default_prior();
  EXPECT_THAT([&] { column_price(ConjugateDraw{.epsilon = 1}, levels, Guarantee{}, 1, .5); },
              ThrowsMessage<BadInput>(HasSubstr("moves_by")));
}

}  // namespace column_change_test
}  // namespace gibbsite
