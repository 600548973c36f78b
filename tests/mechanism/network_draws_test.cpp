#include "mechanism/network_draws.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "gibbsite/core/error.hpp"
#include "gibbsite/mechanism/family.hpp"
#include "gibbsite/privacy/conjugate.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "support/repeats.hpp"

namespace gibbsite {
namespace network_draws_test {

using ::testing::HasSubstr;
using Parents = std::vector<std::vector<std::uint32_t>>;

constexpr std::type_identity<NetworkTrimmed> trimmed_tables{};
constexpr std::type_identity<NetworkConjugate> conjugate_tables{};

NetworkProblem network_of(std::vector<std::uint64_t> levels, Parents parents, std::uint64_t rows,
                          double prior = 0.5) {
  NetworkProblem p{.rows = rows, .levels = std::move(levels), .parents = std::move(parents)};
  p.prior = prior;
  return p;
}

// A -> B, both of two levels: rows A, B given A = 0, B given A = 1.
NetworkProblem pair_of_bits(double prior) { return network_of({2, 2}, {{}, {0}}, 100, prior); }
using Record = std::array<int, 2>;

// One row's law under either table, as points: weight under the first, log ratio.
struct Points {
  std::vector<double> weight, ratio;
};
Points unmoved() { return {{1.0}, {0.0}}; }

// Densities theta^a (1 - theta)^b over logits from -reach to reach, each normalized.
Points beta_points(double a, double b, double c, double d, double reach, int count) {
  if (a == c && b == d) return unmoved();
  std::vector<double> first, second;
  double first_sum = 0, second_sum = 0;
  for (int i = 0; i < count; ++i) {
    const double x = reach * (2 * (i + 0.5) / count - 1);
    const double on = -std::log1p(std::exp(-x)), off = -std::log1p(std::exp(x));
    first.push_back(a * on + b * off), second.push_back(c * on + d * off);
    first_sum += std::exp(first.back()), second_sum += std::exp(second.back());
  }
  Points out;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const double one = first[i] - std::log(first_sum), other = second[i] - std::log(second_sum);
    out.weight.push_back(std::exp(one));
    out.ratio.push_back(one - other);
  }
  return out;
}

// sup_A P(A) - e^epsilon Q(A) of three independent rows.
double hockey_stick(const std::array<Points, 3>& rows, double epsilon) {
  double sum = 0;
  for (std::size_t i = 0; i < rows[0].weight.size(); ++i) {
    for (std::size_t j = 0; j < rows[1].weight.size(); ++j) {
      const double both = rows[0].weight[i] * rows[1].weight[j];
      if (both < 1e-14) continue;
      const double left = epsilon - rows[0].ratio[i] - rows[1].ratio[j];
      for (std::size_t k = 0; k < rows[2].weight.size(); ++k) {
        sum += both * rows[2].weight[k] * std::max(0.0, -std::expm1(left - rows[2].ratio[k]));
      }
    }
  }
  return sum;
}

// Posterior laws of the three rows given two tables.
std::array<Points, 3> row_laws(const std::vector<Record>& one, const std::vector<Record>& other,
                               double prior, double weight, double reach, int count) {
  const auto counts = [&](const std::vector<Record>& table) {
    std::array<std::array<double, 2>, 3> out{};
    for (auto& row : out) row = {prior, prior};
    for (const auto& [a, b] : table) {
      out[0][static_cast<std::size_t>(a)] += weight;
      out[1 + static_cast<std::size_t>(a)][static_cast<std::size_t>(b)] += weight;
    }
    return out;
  };
  const auto first = counts(one), second = counts(other);
  std::array<Points, 3> out;
  for (std::size_t i = 0; i < 3; ++i) {
    out[i] = beta_points(first[i][0], first[i][1], second[i][0], second[i][1], reach, count);
  }
  return out;
}

constexpr std::array<Record, 4> records{{{0, 0}, {0, 1}, {1, 0}, {1, 1}}};

// The worst of all tables that have `common` records and one that is replaced.
double worst_replaced(std::size_t common, double prior, double weight, double reach, int count,
                      double epsilon) {
  double worst = 0;
  std::size_t tables = 1;
  for (std::size_t i = 0; i < common; ++i) tables *= 4;
  for (std::size_t t = 0; t < tables; ++t) {
    std::vector<Record> shared;
    for (std::size_t i = 0, rest = t; i < common; ++i, rest /= 4) {
      shared.push_back(records[rest % 4]);
    }
    for (const Record& z : records) {
      for (const Record& other : records) {
        if (z == other) continue;
        std::vector<Record> one = shared, two = shared;
        one.push_back(z), two.push_back(other);
        const auto laws = row_laws(one, two, prior, weight, reach, count);
        worst = std::max(worst, hockey_stick(laws, epsilon));
      }
    }
  }
  return worst;
}

const Neighbors one_replaced{};
const Neighbors one_added{.adjacency = Adjacency::add_remove};

TEST(ConjugateTables, NoNeighborsOfTinyTablesAreFurtherApart) {
  struct Case {
    double prior, weight, epsilon;
  };
  for (const Case& c : {Case{1, 1, 1}, Case{1, 1, 3}, Case{4, 1, 0.5}, Case{2, 0.3, 0.5}}) {
    const double reach = 40 / (c.prior + 1), exact_count = support::repeats(90, 24);
    const double claim = tables_analysis(NetworkConjugate{.weight = c.weight, .epsilon = c.epsilon},
                                         pair_of_bits(c.prior), one_replaced, 1)
                             .guarantee.delta0;
    double worst = 0;
    for (const std::size_t common : {0U, 1U}) {
      worst = std::max(worst, worst_replaced(common, c.prior, c.weight, reach,
                                             static_cast<int>(exact_count), c.epsilon));
    }
    EXPECT_LE(worst, claim * 1.001) << c.prior << " " << c.weight << " " << c.epsilon;
    EXPECT_GE(worst, claim / 20) << c.prior << " " << c.weight << " " << c.epsilon;
    // One table's price for two, and one row's for the two that a record leaves and enters.
    EXPECT_GT(worst, 1.1 * beta_pair_delta_up(c.prior, c.prior, c.weight, 1, c.epsilon));
    EXPECT_GT(worst, 1.1 * gamma_pair_delta_up(c.prior, c.weight, c.epsilon));
  }
}

// What the proof goes by: a row that gains a count is at most the Gamma pair, and the more so the
// less of the row lies in that level.
TEST(ConjugateTables, ARowThatGainsACountIsAGammaPairAtMost) {
  const double epsilon = 0.7;
  for (const double a : {0.5, 2.0, 6.0}) {
    for (const double h : {0.2, 1.0}) {
      const double most = gamma_pair_delta_up(a, h, epsilon);
      double last = 0;
      for (const double b : {0.3, 1.0, 10.0, 1000.0}) {
        double here = 0;
        for (const bool gains : {true, false}) {
          const double reach = 60 / std::min(a, 1.0);
          const Points points = gains ? beta_points(a + h, b, a, b, reach, 40'000)
                                      : beta_points(a, b, a + h, b, reach, 40'000);
          here = std::max(here, hockey_stick({points, unmoved(), unmoved()}, epsilon));
        }
        EXPECT_LE(here, most * 1.0001 + 1e-9) << a << " " << h << " " << b;
        EXPECT_GE(here, last * 0.9999 - 1e-9) << a << " " << h << " " << b;
        last = here;
      }
      EXPECT_GT(last, 0.9 * most) << a << " " << h;
      // Two Gamma pairs are one Beta pair: their sum tells nothing.
      EXPECT_LE(most, beta_pair_delta_up(a, a, h, 1, epsilon));
    }
  }
}

TEST(ConjugateTables, OneTableIsOneExactPair) {
  const NetworkConjugate s{.weight = 0.4, .prior_scale = 6, .epsilon = 1};
  const NetworkProblem one = network_of({3}, {{}}, 50);
  EXPECT_EQ(tables_analysis(s, one, one_replaced, 1).guarantee.delta0,
            beta_pair_delta_up(3, 3, 0.4, 1, 1));
  // Columns of one level say nothing, and structure costs nothing more.
  const NetworkProblem with_constant = network_of({3, 1}, {{1}, {}}, 50);
  EXPECT_EQ(tables_analysis(s, with_constant, one_replaced, 1).guarantee.delta0,
            beta_pair_delta_up(3, 3, 0.4, 1, 1));
  const double two = tables_analysis(s, one, one_replaced, 2).guarantee.delta0;
  EXPECT_EQ(
      two, tables_analysis(s, network_of({3, 5}, {{}, {0}}, 50), one_replaced, 1).guarantee.delta0);
  EXPECT_GT(two, beta_pair_delta_up(3, 3, 0.4, 1, 1));
  // Adding a record moves one row of each table.
  EXPECT_LT(tables_analysis(s, one, one_added, 1).guarantee.delta0,
            tables_analysis(s, one, one_replaced, 1).guarantee.delta0);
}

// Extremes of a difference of log likelihoods over the trimmed set lie at its corners: all of them.
double range_by_corners(const NetworkProblem& p, bool replace) {
  const std::size_t K = p.levels.size();
  // Per node and configuration the log shares at every corner.
  const auto corners = [&](std::uint64_t levels) {
    FamilyProblem row{.family = levels == 2 ? Family::bernoulli : Family::categorical,
                      .rows = 9,
                      .levels = levels,
                      .prior = std::vector<double>(levels, 1.0),
                      .trim = {}};
    row.trim = {*p.trim, 0.0};
    std::vector<std::vector<double>> out{std::vector<double>(levels, 0.0)};
    for_each_split(0, levels, [&](std::uint64_t first, std::uint64_t middle, std::uint64_t last) {
      const auto [low, high] = split_trim(row, first, middle, last);
      std::vector<std::vector<double>> next;
      for (const auto& corner : out) {
        for (const double share : {low, high}) {
          next.push_back(corner);
          for (std::uint64_t i = first; i < last; ++i) {
            next.back()[i] += std::log(i < middle ? share : 1 - share);
          }
        }
      }
      out = std::move(next);
    });
    return out;
  };
  std::uint64_t all = 1;
  for (const std::uint64_t levels : p.levels) all *= levels;
  const auto record = [&](std::uint64_t code) {
    std::vector<std::uint64_t> out(K);
    for (std::size_t i = 0; i < K; ++i, code /= p.levels[i == 0 ? 0 : i - 1]) {
      out[i] = code % p.levels[i];
    }
    return out;
  };
  double widest = 0;
  for (std::uint64_t z = 0; z < all; ++z) {
    for (std::uint64_t other = 0; other < (replace ? all : 1); ++other) {
      const auto one = record(z), two = record(other);
      double range = 0;
      for (std::size_t i = 0; i < K; ++i) {  // tables are apart: their ranges add
        bool same = true;
        for (const std::uint32_t parent : (*p.parents)[i]) same &= one[parent] == two[parent];
        double lowest = INFINITY, highest = -INFINITY;
        const auto set = corners(p.levels[i]);
        for (const auto& here : set) {
          for (const auto& there : set) {
            const auto& second = same ? here : there;
            const double at = here[one[i]] - (replace ? second[two[i]] : 0.0);
            lowest = std::min(lowest, at), highest = std::max(highest, at);
          }
        }
        range += highest - lowest;
      }
      widest = std::max(widest, range);
    }
  }
  return widest;
}

TEST(TrimmedTables, RangesAreThoseOfTheCorners) {
  for (const auto& levels :
       std::vector<std::vector<std::uint64_t>>{{2, 2}, {3, 3}, {3, 2}, {4, 5}}) {
    for (const Parents& parents : {Parents{{}, {0}}, Parents{{}, {}}, Parents{{1}, {}}}) {
      NetworkProblem p = network_of(levels, parents, 100);
      p.trim = 0.03;
      const double exact = range_by_corners(p, true),
                   claimed = network_range_up(p, one_replaced.adjacency);
      EXPECT_GE(claimed, exact * (1 - 1e-12)) << levels[0] << levels[1];
      EXPECT_LE(claimed, exact * (1 + 1e-9)) << levels[0] << levels[1];
      const double alone = range_by_corners(p, false);
      EXPECT_NEAR(network_range_up(p, Adjacency::add_remove), alone, 1e-9 * alone);
    }
  }
}

// A record's two rows are apart: the range within one row would be less than the truth.
TEST(TrimmedTables, RangesWithinOneRowWouldBeTooShort) {
  NetworkProblem p = network_of({3, 3}, {{}, {0}}, 100);
  p.trim = 0.03;
  FamilyProblem row{.family = Family::categorical, .rows = 100, .levels = 3, .prior = {1, 1, 1}};
  row.trim = {0.03, 0.0};
  const double within = 2 * record_range_up(row);
  EXPECT_LT(within, 0.95 * range_by_corners(p, true));
  EXPECT_LT(network_range_up(p, one_replaced.adjacency) / 2, 0.95 * range_by_corners(p, true));
  EXPECT_GT(2 * level_range_up(row), record_range_up(row));
}

// The range for a structure that is still to be chosen is at least that of every structure it could
// be.
TEST(TrimmedTables, NoStructureHasALongerRange) {
  NetworkProblem open{.rows = 100, .levels = {2, 3, 5}};
  open.trim = 0.02;
  open.limits.cells = 1'000;
  const double most = network_range_up(open, one_replaced.adjacency);
  double longest = 0;
  for (const Parents& parents :
       {Parents{{}, {0}, {0}}, Parents{{1}, {}, {0, 1}}, Parents{{2}, {2}, {}},
        Parents{{1, 2}, {2}, {}}, Parents{{}, {}, {}}, Parents{{}, {0}, {0, 1}}}) {
    NetworkProblem p = open;
    p.parents = parents;
    longest = std::max(longest, network_range_up(p, one_replaced.adjacency));
  }
  EXPECT_EQ(most, longest);
  EXPECT_EQ(drawn_numbers(open), 500U + 2 * 333 + 4 * 200);
  EXPECT_GE(tables_analysis(NetworkTrimmed{0.01}, open, one_replaced, 1).guarantee.tv,
            (500 + 2 * 333 + 4 * 200) * 0x1p-60);
}

TEST(TrimmedTables, LawsOfNeighborsKeepTheClaim) {
  const double trim = 0.05, prior = 0.5, reach = std::log(0.95 / 0.05);
  NetworkProblem p = pair_of_bits(prior);
  p.trim = trim;
  double excess = 0;
  for (const double weight : {0.15, 0.5, 1.0}) {
    const double mu = tables_analysis(NetworkTrimmed{weight}, p, one_replaced, 1).guarantee.mu;
    for (const double epsilon : {0.0, 0.5, 1.0, 2.0}) {
      const double claim = gdp_delta_up(epsilon, mu);
      const int count = support::repeats(60, 16);
      for (const std::size_t common : {0U, 1U}) {
        EXPECT_LE(worst_replaced(common, prior, weight, reach, count, epsilon), claim * 1.001)
            << weight << " " << epsilon;
      }
      // Records of six times the weight.
      excess =
          std::max(excess, worst_replaced(0, prior, 6 * weight, reach, count, epsilon) / claim);
    }
  }
  EXPECT_GT(excess, 1.1);
}

TEST(TrimmedTables, GuaranteesFollowWeightPersonAndDraws) {
  NetworkProblem p = pair_of_bits(0.5);
  p.trim = 0.05;
  const double eta = network_range_up(p, one_replaced.adjacency);
  EXPECT_NEAR(eta, 4 * std::log(19), 1e-12);
  const auto mu = [&](double weight, std::uint64_t k, std::uint64_t draws) {
    return tables_analysis(NetworkTrimmed{weight}, p, {.rows_per_person = k}, draws).guarantee.mu;
  };
  EXPECT_NEAR(mu(0.1, 1, 1) / bounded_range_mu_up(0.1 * eta), 1, 1e-12);
  EXPECT_NEAR(mu(0.1, 3, 1) / bounded_range_mu_up(0.3 * eta), 1, 1e-12);
  EXPECT_NEAR(mu(0.1, 1, 4) / mu(0.1, 1, 1), 2, 1e-12);
}

TEST(DrawnTables, OffersKeepAndUseUpTheBudget) {
  for (const double epsilon : {0.01, 0.1, 1.0, 4.0}) {
    for (const std::uint64_t draws : {1U, 5U}) {
      const Budget budget{.epsilon = epsilon, .delta = 1e-6, .draws = draws};
      NetworkProblem p = network_of({4, 3, 7}, {{}, {0}, {0, 1}}, 30'000);
      const auto spent = [&](const auto& settings) {
        return delta_up(tables_analysis(settings, p, one_replaced, draws).guarantee, epsilon);
      };
      const NetworkCandidate drawn = tables_candidate(conjugate_tables, p, budget, 0, 0);
      ASSERT_TRUE(drawn.feasible) << drawn.why;
      auto s = std::get<NetworkConjugate>(drawn.mechanism);
      EXPECT_LE(spent(s), budget.delta);
      EXPECT_EQ(s.epsilon, epsilon);
      if (s.weight < 1) {
        s.weight = std::min(1.0, s.weight * 1.01);
        EXPECT_GT(spent(s), budget.delta) << epsilon << " " << draws;
      }
      EXPECT_TRUE(std::isfinite(drawn.deviation));

      p.trim = 0.01;
      const NetworkCandidate cut = tables_candidate(trimmed_tables, p, budget, 0, 0);
      ASSERT_TRUE(cut.feasible) << cut.why;
      auto t = std::get<NetworkTrimmed>(cut.mechanism);
      EXPECT_LE(spent(t), budget.delta);
      if (t.weight < 1) {
        t.weight = std::min(1.0, t.weight * 1.01);
        EXPECT_GT(spent(t), budget.delta) << epsilon << " " << draws;
      }
      // Beside a structure that costs half of mu^2 there is room for less.
      NetworkProblem open = p;
      open.parents.reset();
      open.limits.cells = 84;
      const double mu = gdp_mu_down(epsilon, 1e-6) * std::sqrt(0.5);
      const NetworkCandidate beside = tables_candidate(trimmed_tables, open, budget, mu, 1e-15);
      ASSERT_TRUE(beside.feasible) << beside.why;
      const std::vector<Guarantee> both{beside.guarantee,
                                        {.mu = mu, .tv = 1e-15, .who = one_replaced}};
      EXPECT_LE(delta_up(compose_up(both), epsilon), budget.delta);
      EXPECT_LT(std::get<NetworkTrimmed>(beside.mechanism).weight,
                std::get<NetworkTrimmed>(cut.mechanism).weight);
    }
  }
}

TEST(DrawnTables, OffersSayWhyTheyBuyNothing) {
  NetworkProblem p = network_of({4, 3}, {{}, {0}}, 30'000);
  const Budget budget{};
  EXPECT_THAT(tables_candidate(trimmed_tables, p, budget, 0, 0).why,
              HasSubstr("`trim`: is missing"));
  EXPECT_THAT(tables_candidate(conjugate_tables, p, {.rows_per_person = 2}, 0, 0).why,
              HasSubstr("one row a person"));
  EXPECT_THAT(tables_candidate(conjugate_tables, p, budget, 0.1, 0).why, HasSubstr("given"));
  EXPECT_THAT(tables_candidate(conjugate_tables, p, {.delta = 1e-18}, 0, 0).why,
              HasSubstr("`delta`"));
  EXPECT_THAT(tables_candidate(conjugate_tables, p, {.draws = 500'000}, 0, 0).why,
              HasSubstr("`draws`"));
  EXPECT_THAT(tables_candidate(conjugate_tables, p, {.epsilon = 1e-12, .delta = 1e-13}, 0, 0).why,
              HasSubstr("larger epsilon"));
  p.trim = 0.3;
  EXPECT_THAT(tables_candidate(trimmed_tables, p, budget, 0, 0).why, HasSubstr("4 levels"));
  p.trim = 0.01;
  EXPECT_THAT(tables_candidate(conjugate_tables, p, budget, 0, 0).why, HasSubstr("not cut"));
  EXPECT_THAT(tables_candidate(trimmed_tables, p, budget, 5, 0).why, HasSubstr("structure"));
  EXPECT_THAT(tables_candidate(trimmed_tables, p, {.epsilon = 1e-6, .delta = 1e-12}, 0, 0).why,
              HasSubstr("larger"));
  for (const NetworkCandidate& candidate : {tables_candidate(trimmed_tables, p, budget, 5, 0),
                                            tables_candidate(conjugate_tables, p, budget, 0, 0)}) {
    EXPECT_FALSE(candidate.feasible);
  }
  p.rows = std::uint64_t{1} << 38;
  EXPECT_THROW(tables_analysis(NetworkTrimmed{1}, p, one_replaced, 1),
               BadInput);  // too far outside
  p.trim.reset();
  const NetworkConjugate sound{.epsilon = 1};
  EXPECT_NO_THROW(tables_analysis(sound, p, one_replaced, 1));
  EXPECT_THROW(tables_analysis(NetworkConjugate{.weight = 2, .epsilon = 1}, p, one_replaced, 1),
               BadInput);
  EXPECT_THROW(
      tables_analysis(NetworkConjugate{.prior_scale = 0.5, .epsilon = 1}, p, one_replaced, 1),
      BadInput);
  EXPECT_THROW(tables_analysis(NetworkConjugate{.epsilon = 0}, p, one_replaced, 1), BadInput);
}

// One row of three levels, its share uniform over the simplex, against the formula. 2e5 trials: off
// by 2 % with probability below 1e-6.
TEST(DrawnTables, DeviationsAreThoseOfSimulatedDraws) {
  const NetworkProblem p = network_of({3}, {{}}, 600, 0.5);
  const double weight = 0.3, scale = 20;
  std::mt19937_64 random(7);
  const auto gamma = [&](double a) { return std::gamma_distribution<double>(a)(random); };
  const double prior = scale * 0.5, total = 3 * prior + weight * 600, kept = weight * 600 / total;
  double noise = 0, pulled = 0;
  const int trials = support::repeats(200'000, 2'000);
  for (int i = 0; i < trials; ++i) {
    std::array<double, 3> share{gamma(1), gamma(1), gamma(1)};
    const double sum = share[0] + share[1] + share[2];
    for (double& x : share) x /= sum;
    std::array<double, 3> drawn{};
    for (std::size_t l = 0; l < 3; ++l) drawn[l] = gamma(prior + weight * 600 * share[l]);
    const double t = drawn[0] / (drawn[0] + drawn[1] + drawn[2]);
    const double expected = (prior + weight * 600 * share[0]) / total;
    noise += std::pow(600 * (t - expected) / kept, 2);
    pulled += std::pow(600 * (expected - share[0]), 2);
  }
  const double exact = std::sqrt((noise + pulled) / trials);
  EXPECT_NEAR(drawn_deviation(p, weight, scale, 1) / exact, 1, support::sanitized ? 0.2 : 0.02);
}

}  // namespace network_draws_test
}  // namespace gibbsite
