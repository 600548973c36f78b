#include "gibbsite/mechanism/family.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "gibbsite/core/error.hpp"
#include "gibbsite/privacy/conjugate.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "support/reference_values.hpp"
#include "support/repeats.hpp"

namespace gibbsite {
namespace family_test {

using ::testing::HasSubstr;

FamilyProblem levels(std::uint64_t K, std::uint64_t rows, std::vector<double> prior) {
  FamilyProblem p{.family = K == 2 ? Family::bernoulli : Family::categorical, .rows = rows};
  p.levels = K;
  p.prior = std::move(prior);
  return p;
}
FamilyProblem numbers(Family family, std::uint64_t rows, double lo, double hi) {
  FamilyProblem p{.family = family, .rows = rows, .levels = 0, .lo = lo, .hi = hi};
  p.variance = family == Family::mean ? (hi - lo) * (hi - lo) / 4 : 0;
  if (p.is_centered()) p.center = lo + (hi - lo) / 4;
  p.prior = p.default_prior();
  return p;
}
std::vector<FamilyProblem> problems() {
  std::vector<FamilyProblem> out{levels(2, 100, {6, 18}),
                                 levels(2, 5000, {1, 1}),
                                 levels(3, 400, {1, 2, 0.5}),
                                 levels(7, 100'000, {1, 1, 1, 1, 1, 1, 1}),
                                 numbers(Family::rate, 1000, 0, 20),
                                 numbers(Family::waiting, 1000, 0.5, 100),
                                 numbers(Family::mean, 1000, -3, 5),
                                 numbers(Family::bounded_mean, 1000, -3, 11),
                                 numbers(Family::variance, 1000, -3, 5),
                                 numbers(Family::laplace, 1000, -3, 5)};
  const std::size_t plain = out.size();
  for (std::size_t i = 0; i < plain; ++i) {
    FamilyProblem cut = out[i];
    cut.trim = cut.has_levels()             ? std::pair{0.02, 0.0}
               : cut.family == Family::mean ? std::pair{-1.0, 2.0}
               : cut.is_waiting()           ? std::pair{0.02, 1.0}
                                            : std::pair{0.5, 8.0};
    out.push_back(cut);
  }
  return out;
}

// What the exact profile is worth.
TEST(Families, WeightsAreThoseOfTheReferenceValues) {
  const auto cases = support::reference_cases("mechanisms_beta_calibration");
  if (cases.empty()) GTEST_SKIP() << support::no_reference_values;
  ASSERT_GE(cases.size(), 3U);
  for (const auto& c : cases) {
    const auto value = [&](const char* name) { return support::number(c[name]); };
    const FamilyProblem p = levels(2, c["n"], {value("a0"), value("b0")});
    const Budget budget{.epsilon = value("epsilon"), .delta = value("delta")};
    const auto exact = plan_family(p, budget, {.concentrated = false});
    EXPECT_NEAR(weight_of(exact.mechanism) / value("r_exact"), 1, 1e-8) << c;
    EXPECT_LE(delta_up(exact.guarantee, budget.epsilon), budget.delta);
    if (value("a0") != 6) continue;  // seconds each
    const auto renyi =
        plan_family(p, budget, {.calibration = Calibration::geumlek_rdp, .concentrated = false});
    EXPECT_NEAR(weight_of(renyi.mechanism) / value("r_rdp_order_grid"), 1, 2e-5) << c;
  }
}

TEST(Families, AMeanIsGaussianAsTheReferenceValuesSay) {
  const auto cases = support::reference_cases("mechanisms_gaussian_mean");
  if (cases.empty()) GTEST_SKIP() << support::no_reference_values;
  for (const auto& c : cases) {
    const auto value = [&](const char* name) { return support::number(c[name]); };
    FamilyProblem p = numbers(Family::mean, c["n"], -value("data_radius"), value("data_radius"));
    p.variance = value("variance");
    p.prior = {value("prior_precision")};
    const Analysis found = analyze(ConjugateDraw{.weight = value("beta")}, p, {}, 1);
    EXPECT_NEAR(found.guarantee.mu / value("mu"), 1, 1e-14) << c;
  }
}

TEST(Families, PlansKeepTheirBudget) {
  const auto all = problems();
  for (std::size_t i = 0; i < all.size(); i += support::repeats(1U, 29U)) {
    const FamilyProblem& p = all[i];
    for (const double epsilon : {0.1, 8.0}) {
      for (const std::uint64_t draws : {1U, 20U}) {
        for (const bool concentrated : {false, true}) {
          const Budget budget{.epsilon = epsilon, .delta = 1e-6, .draws = draws};
          const FamilyPlan plan = plan_family(p, budget, {.concentrated = concentrated});
          const Analysis found = analyze(plan.mechanism, p, {}, draws);
          EXPECT_LE(delta_up(found.guarantee, epsilon), 1e-6)
              << to_string(p.family) << " " << epsilon;
          EXPECT_GT(plan.deviation, plan.sample_deviation);
          // And use it up, unless every record already counts whole under the prior as it is.
          if (weight_of(plan.mechanism) == 1 && prior_scale_of(plan.mechanism) == 1) continue;
          // A cut draw may be pure: then its log ratio's range uses epsilon up.
          const auto* const cut = std::get_if<TrimmedDraw>(&plan.mechanism);
          if (cut != nullptr && cut->epsilon > 0 && found.guarantee.delta0 == 0) {
            EXPECT_NEAR(cut->weight * record_range_up(p) * static_cast<double>(draws), epsilon,
                        1e-9 * epsilon);
            continue;
          }
          EXPECT_GT(delta_up(found.guarantee, epsilon), 0.99e-6)
              << to_string(p.family) << " " << epsilon << " " << concentrated;
        }
      }
    }
  }
}

// Scaling the prior up is worth more than weighing records down: the reason for the default.
TEST(Families, TheDefaultIsTheMoreAccurate) {
  for (const FamilyProblem& p : problems()) {
    if (p.trim || p.family == Family::mean) continue;
    const Budget budget{.epsilon = 0.5, .delta = 1e-6};
    FamilyProblem weak = p;
    weak.prior = p.default_prior();
    EXPECT_LT(plan_family(weak, budget).deviation,
              plan_family(weak, budget, {.concentrated = false}).deviation)
        << to_string(p.family);
  }
}

// What a table without the record's weight, half of it, or the other cell left out would claim: the
// exact profile of what is then drawn is above the claim.
TEST(Families, PlantedErrorsAreAboveTheClaim) {
  const Budget budget{.epsilon = 1, .delta = 1e-6};
  const FamilyProblem p = levels(2, 50, {3, 3});
  const auto plan = plan_family(p, budget, {.concentrated = false});
  const double r = weight_of(plan.mechanism);
  EXPECT_LE(beta_delta_up(3, 3, r, 50, 1), 1e-6);
  EXPECT_GT(beta_delta_up(3, 3, 1.01 * r, 50, 1), 1e-6);
  // One more record in one cell against one more in the other, not against none.
  EXPECT_GT(beta_delta_up(3, 3, 2 * r, 50, 1), 100e-6);
  const FamilyProblem counts = numbers(Family::rate, 50, 0, 20);
  const auto rate = plan_family(counts, budget);
  const double prior = prior_scale_of(rate.mechanism) * counts.prior[0];
  EXPECT_LE(gamma_pair_delta_up(prior, 20, 1), 1e-6);
  EXPECT_GT(gamma_pair_delta_up(prior / 2, 20, 1), 10e-6);
}

// log theta_i - log theta_j over the trimmed set, by its corners: a tree's shares are independent.
TEST(Families, RecordRangeIsThatOfEveryPairOfLevels) {
  std::mt19937_64 random(7);
  for (const std::uint64_t K : {2U, 3U, 4U, 5U, 7U}) {
    FamilyProblem p = levels(K, 10, std::vector<double>(K, 1.0));
    p.trim = {0.4 / static_cast<double>(K), 0.0};
    std::size_t splits = 0;
    for_each_split(0, K, [&](auto, auto, auto) { ++splits; });
    ASSERT_EQ(splits, K - 1);
    std::vector<double> most(K * K, -INFINITY);
    for (std::uint64_t corner = 0; corner < (1U << splits); ++corner) {
      std::vector<double> log_share(K, 0.0);
      std::size_t split = 0;
      for_each_split(0, K, [&](std::uint64_t first, std::uint64_t middle, std::uint64_t last) {
        const auto [low, high] = split_trim(p, first, middle, last);
        EXPECT_LT(low, high);
        const double share = (corner >> split++ & 1) == 0 ? low : high;
        for (std::uint64_t i = first; i < last; ++i) {
          log_share[i] += std::log(i < middle ? share : 1 - share);
        }
      });
      for (std::uint64_t i = 0; i < K; ++i) {
        for (std::uint64_t j = 0; j < K; ++j) {
          most[i * K + j] = std::max(most[i * K + j], log_share[i] - log_share[j]);
        }
      }
    }
    double range = 0;
    for (std::uint64_t i = 0; i < K; ++i) {
      for (std::uint64_t j = 0; j < K; ++j) {
        range = std::max(range, most[i * K + j] + most[j * K + i]);
      }
    }
    EXPECT_NEAR(record_range_up(p), range, 1e-12) << K;
    if (K == 2) {
      EXPECT_NEAR(range, 2 * std::log(0.8 / 0.2), 1e-12);
    }
  }
  FamilyProblem rate = numbers(Family::rate, 10, 0, 20);
  rate.trim = {0.5, 8.0};
  EXPECT_NEAR(record_range_up(rate), 20 * std::log(16.0), 1e-12);
  FamilyProblem mean = numbers(Family::mean, 10, -3, 5);
  mean.trim = {-1.0, 2.0};
  EXPECT_NEAR(record_range_up(mean), 3.0 * 8 / 16, 1e-14);
}

// What is cut, its log density but for a constant, at a statistic of the common records.
struct CutLaw {
  FamilyProblem p;
  std::vector<double> sums;  // of the common records
  double step;               // by which the last record moves the sum
  double claimed_least;      // of the largest exact delta over the claim's
  std::function<double(double theta, double sum, double r)> log_density;
};

// The largest, over the statistics and four epsilons, of the exact delta over that of `mu`.
double worst_over_claim(const CutLaw& law, double r, double mu) {
  constexpr int cells = 20'000;
  const auto [low, high] =
      law.p.has_levels() ? std::pair{law.p.trim->first, 1 - law.p.trim->first} : *law.p.trim;
  const auto at = [&, from = low, width = high - low](double sum) {
    std::vector<double> out(cells);
    for (int i = 0; i < cells; ++i) {
      out[static_cast<std::size_t>(i)] = law.log_density(from + width * (i + 0.5) / cells, sum, r);
    }
    const double top = *std::ranges::max_element(out);
    double total = 0;
    for (double& v : out) total += v = std::exp(v - top);
    for (double& v : out) v /= total;
    return out;
  };
  double most = 0;
  for (const double sum : law.sums) {
    const auto here = at(sum), there = at(sum + law.step);
    for (const double epsilon : {0.0, mu / 2, mu, 2 * mu}) {
      double one = 0, other = 0;
      for (std::size_t i = 0; i < here.size(); ++i) {
        one += std::max(0.0, here[i] - std::exp(epsilon) * there[i]);
        other += std::max(0.0, there[i] - std::exp(epsilon) * here[i]);
      }
      most = std::max(most, std::max(one, other) / gdp_delta_up(epsilon, mu));
    }
  }
  return most;
}

std::vector<CutLaw> cut_laws() {
  std::vector<CutLaw> out;
  const auto steps = [](double from, double to, int count) {
    std::vector<double> sums;
    for (int i = 0; i < count; ++i) sums.push_back(from + (to - from) * i / (count - 1));
    return sums;
  };
  for (const int n : {4, 40, 2000}) {
    FamilyProblem p = levels(2, static_cast<std::uint64_t>(n), {0.01, 0.01});
    p.trim = {0.05, 0.0};
    out.push_back({p, steps(0, n - 1, n < 100 ? n : 80), 1, n < 100 ? 0.3 : 0.75,
                   [n](double x, double ones, double r) {
                     return (r * ones - 0.99) * std::log(x) +
                            (r * (n - ones) - 0.99) * std::log1p(-x);
                   }});
  }
  FamilyProblem rate = numbers(Family::rate, 200, 0, 3);
  rate.trim = {0.5, 4.0};
  rate.prior = {1, 0.5};
  out.push_back({rate, steps(0, 199 * 3, 60), 3, 0.7, [](double x, double sum, double r) {
                   return r * sum * std::log(x) - (0.5 + 200 * r) * x;
                 }});
  FamilyProblem waiting = numbers(Family::waiting, 200, 0.5, 3);
  waiting.trim = {0.3, 1.5};
  waiting.prior = {2, 1};
  out.push_back({waiting, steps(100, 598, 60), 2.5, 0.7, [](double x, double sum, double r) {
                   return (1 + 200 * r) * std::log(x) - (1 + r * sum) * x;
                 }});
  // Normal values about 1 in [-1, 3], each half of a `waiting` record of its square.
  FamilyProblem variance = numbers(Family::variance, 200, -1, 3);
  variance.center = 1;
  variance.prior = {2, 1};
  variance.trim = {0.3, 1.5};
  out.push_back({variance, steps(0.1, 796, 60), 4 - 4e-4, 0.7, [](double x, double sum, double r) {
                   return (1 + 100 * r) * std::log(x) - (1 + r * sum / 2) * x;
                 }});
  FamilyProblem laplace = numbers(Family::laplace, 200, -1, 3);
  laplace.center = 1;
  laplace.prior = {2, 1};
  laplace.trim = {0.6, 2.5};
  out.push_back({laplace, steps(4, 398, 60), 1.98, 0.7, [](double x, double sum, double r) {
                   return (1 + 200 * r) * std::log(x) - (1 + r * sum) * x;
                 }});
  // Parts of a record, x the mean of values in [0, 1].
  FamilyProblem part = numbers(Family::bounded_mean, 40, 0, 1);
  part.prior = {0.01, 0.01};
  part.trim = {0.05, 0.95};
  out.push_back({part, steps(0, 39, 118), 1, 0.3, [](double x, double ones, double r) {
                   return (r * ones - 0.99) * std::log(x) +
                          (r * (40 - ones) - 0.99) * std::log1p(-x);
                 }});
  FamilyProblem mean = numbers(Family::mean, 200, -1, 3);
  mean.variance = 1;
  mean.prior = {0.5};
  mean.trim = {0.0, 2.0};
  out.push_back({mean, steps(-200, 596, 60), 4, 0.9, [](double x, double sum, double r) {
                   return -0.25 * (x - 1) * (x - 1) + r * (sum * x - 100 * x * x);
                 }});
  return out;
}

// One trimmed draw, its exact law on neighbors whose last record is at either end: below the
// Gaussian claim at every epsilon, near it somewhere, and above it by far with more weight.
TEST(Families, TrimmedLawsOfNeighborsAreBelowTheClaim) {
  if (support::sanitized) GTEST_SKIP() << "a release tells";
  for (const CutLaw& law : cut_laws()) {
    for (const double r : {0.05, 1.0}) {
      SCOPED_TRACE(std::string(to_string(law.p.family)) + " " + std::to_string(law.p.rows) + " " +
                   std::to_string(r));
      const double mu = analyze(TrimmedDraw{r}, law.p, {}, 1).guarantee.mu;
      EXPECT_LE(worst_over_claim(law, r, mu), 1 + 1e-6);
      // The range is the smaller price of few records that count little.
      EXPECT_EQ(mu == curvature_mu_up(law.p, r, 1), law.p.rows > 4 || r == 1);
      if (r == 1) {
        EXPECT_GT(worst_over_claim(law, r, mu), law.claimed_least);
        EXPECT_GT(worst_over_claim(law, r, law.p.rows > 4 ? mu / 2 : mu / 3), 1);
      }
    }
  }
}

// The larger hockey stick of two laws of the line, in a coordinate where both are smooth; to some
// 3e-5 of it, at the kink.
double apart(const std::function<double(double)>& one, const std::function<double(double)>& other,
             double epsilon) {
  constexpr int cells = 40'000;
  constexpr double reach = 30;
  double here = 0, there = 0;
  for (int i = 0; i < cells; ++i) {
    const double t = -reach + 2 * reach * (i + 0.5) / cells;
    const double p = std::exp(one(t)), q = std::exp(other(t));
    here += std::max(0.0, p - std::exp(epsilon) * q),
        there += std::max(0.0, q - std::exp(epsilon) * p);
  }
  return std::max(here, there) * 2 * reach / cells;
}

// In log odds, of the mean's share of its range; and in the logarithm of a rate.
auto odds_law(double a, double b) {
  return [=, constant = std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b)](double t) {
    return constant - a * std::log1p(std::exp(-t)) - b * std::log1p(std::exp(t));
  };
}
auto rate_law(double shape, double rate) {
  return [=, constant = shape * std::log(rate) - std::lgamma(shape)](double t) {
    return constant + shape * t - rate * std::exp(t);
  };
}

// The delta that one draw's certificate has.
double claimed_delta(const FamilyProblem& p, double weight, double epsilon, std::uint64_t k) {
  return analyze(ConjugateDraw{.weight = weight, .epsilon = epsilon}, p, {.rows_per_person = k}, 1)
      .guarantee.delta0;
}

// Tables of 1, 2, 5 and 30 records whose sums are any: all at either end, all alike, and between;
// the person's records move by all of their range, or by parts of it.
TEST(Families, MeansOfParts) {
  if (support::sanitized) GTEST_SKIP() << "a release tells";
  const FamilyProblem any = numbers(Family::bounded_mean, 1, -3, 11);
  for (const std::uint64_t n : {1U, 2U, 5U, 30U}) {
    for (const std::uint64_t k : {1U, 2U}) {
      if (k > n) continue;
      for (const double r : {0.3, 1.0}) {
        for (const double epsilon : {0.1, 1.0}) {
          FamilyProblem p = any;
          p.rows = n;
          p.prior = {3, 5};
          const double claim = claimed_delta(p, r, epsilon, k);
          const auto all = static_cast<double>(n), person = static_cast<double>(k);
          const auto at = [&](double sum) { return odds_law(3 + r * sum, 5 + r * (all - sum)); };
          double worst = 0;
          for (int i = 0; i <= 12; ++i) {
            const double common = (all - person) * i / 12;
            for (const double moved : {0.4, 0.99, 1.0}) {
              const double from = common + (1 - moved) / 2 * person;
              worst = std::max(worst, apart(at(from), at(from + moved * person), epsilon));
            }
          }
          EXPECT_LE(worst, claim * (1 + 1e-4) + 1e-12)
              << n << " " << k << " " << r << " " << epsilon;
          EXPECT_GT(worst, 0.6 * claim) << n << " " << k << " " << r << " " << epsilon;
          // A value that is not clipped to the range, or a record that counts twice.
          EXPECT_GT(apart(at(0), at(1.5 * person), epsilon), claim);
          EXPECT_GT(apart(at(0), at(2 * person), epsilon), claim);
        }
      }
    }
  }
}

TEST(Families, DistancesFromAKnownCenter) {
  if (support::sanitized) GTEST_SKIP() << "a release tells";
  for (const Family family : {Family::variance, Family::laplace}) {
    for (const std::uint64_t n : {1U, 2U, 20U}) {
      for (const std::uint64_t k : {1U, 2U}) {
        if (k > n) continue;
        for (const double epsilon : {0.1, 1.0}) {
          FamilyProblem p = numbers(family, n, -3, 5);  // about -1: distances to 6
          p.prior = {4, 200};
          const double r = 0.7, c = family == Family::variance ? 0.5 : 1;
          const double claim = claimed_delta(p, r, epsilon, k);
          const auto all = static_cast<double>(n), person = static_cast<double>(k);
          const auto value = [&](double cell) {
            const double off = std::clamp(std::abs(cell + 1), 0.06, 6.0);
            return family == Family::variance ? off * off : off;
          };
          const auto at = [&](double sum) { return rate_law(4 + r * c * all, 200 + r * c * sum); };
          double worst = 0;
          for (const double others : {-3.0, -1.0, -0.9, 2.0, 5.0}) {
            const double common = (all - person) * value(others);
            for (const double one : {-3.0, -1.0, 5.0})
              for (const double other : {-1.0, 2.0, 5.0})
                worst = std::max(worst, apart(at(common + person * value(one)),
                                              at(common + person * value(other)), epsilon));
          }
          EXPECT_LE(worst, claim * (1 + 1e-4) + 1e-12) << to_string(family) << " " << n;
          EXPECT_GT(worst, 0.99 * claim) << to_string(family) << " " << n;
          // Not clipped; counted twice; about the table's own mean, which moves every record.
          const double low = (all - person) * value(-1);
          EXPECT_GT(apart(at(low + person * value(-1)), at(low + person * 2 * value(5)), epsilon),
                    claim);
          if (n == 20) {
            const auto own = [&](double last) {
              const double mean = (19 * -2.9 + last) / 20;
              const auto of = [&](double x) {
                return c == 0.5 ? (x - mean) * (x - mean) : std::abs(x - mean);
              };
              return at(19 * of(-2.9) + of(last));
            };
            EXPECT_GT(apart(own(-2.9), own(5), epsilon), k == 1 ? claim : 0);
          }
          // What a cell becomes.
          for (const double cell : {-3.0, -1.0, -0.95, 0.5, 5.0})
            EXPECT_NEAR(p.value_of(cell), value(cell), 1e-12);
        }
      }
    }
  }
}

// N draws of two levels: both prices and the profile, at the weights that the plan finds.
TEST(Families, TrimmedWeightsAreThoseOfTheBestPrice) {
  FamilyProblem p = levels(2, 100, {1, 1});
  p.trim = {0.05, 0.0};
  const Budget budget{.epsilon = 1, .delta = 1e-6};
  const auto one = plan_family(p, budget);
  EXPECT_NEAR(weight_of(one.mechanism), 0.72, 0.01);
  const auto& settings = std::get<TrimmedDraw>(one.mechanism);
  EXPECT_NEAR(settings.epsilon, 1, 1e-12);
  EXPECT_LE(delta_up(one.guarantee, 1), 1e-6);
  // 1 % more would be too much, and the next epsilon needs the profile, not the one point.
  EXPECT_GT(cut_beta_delta_up({1, 1, 0.05, 1.01 * settings.weight, 100, 1}, 1), 1e-6);
  EXPECT_LE(best_guess_percent(one.mechanism, p, one.guarantee, 1), 66);
  // Old files hold a weight alone, at the price of a bounded range or more.
  const double before = bounded_range_mu_up(0.064 * record_range_up(p));
  EXPECT_LE(analyze(TrimmedDraw{0.064}, p, {}, 1).guarantee.mu, before);

  p.rows = 10'000;
  Budget many = budget;
  many.draws = 100;
  const auto all = plan_family(p, many);
  EXPECT_NEAR(weight_of(all.mechanism), 0.2663, 0.001);
  EXPECT_EQ(std::get<TrimmedDraw>(all.mechanism).epsilon, 0);
  EXPECT_LE(delta_up(all.guarantee, 1), 1e-6);

  // More than two levels: one draw is pure.
  FamilyProblem tree = levels(5, 100, std::vector<double>(5, 1.0));
  tree.trim = {0.02, 0.0};
  const auto pure = plan_family(tree, budget);
  EXPECT_NEAR(weight_of(pure.mechanism), 1 / record_range_up(tree), 1e-6);
  EXPECT_EQ(pure.guarantee.delta0, 0);
  EXPECT_EQ(pure.guarantee.mu, 0);
  EXPECT_THROW(analyze(TrimmedDraw{1, 0.5}, tree, {}, 1), BadInput);
  EXPECT_THROW(analyze(TrimmedDraw{1, -0.5}, p, {}, 1), BadInput);
}

// The best guess about a person is that of the total variation, which (epsilon, delta) hides.
TEST(Families, TheBestGuessIsThatOfTheTotalVariation) {
  const FamilyProblem p = levels(2, 500, {1, 1});
  const auto plan = plan_family(p, {.epsilon = 1, .delta = 1e-6});
  const double scale = prior_scale_of(plan.mechanism);
  const double apart = beta_delta_up(scale, scale, 1, 500, 0);
  const double guess = best_guess_percent(plan.mechanism, p, plan.guarantee, 1);
  EXPECT_NEAR(guess, 50 + 50 * apart, 0.1001);
  EXPECT_GE(guess, 50 + 50 * apart);
  EXPECT_LT(guess, 56);
  EXPECT_NEAR(best_guess_percent(plan.guarantee), 73.2, 0.1);
}

TEST(Families, SeveralDrawsTakeTheBetterComposition) {
  const FamilyProblem p = levels(2, 10'000, {1, 1});
  const Budget ten{.epsilon = 1, .delta = 1e-6, .draws = 10};
  const auto plan = plan_family(p, ten);
  EXPECT_EQ(std::get<ConjugateDraw>(plan.mechanism).calibration, Calibration::geumlek_rdp);
  EXPECT_LT(prior_scale_of(plan.mechanism), 250);
  EXPECT_GT(prior_scale_of(plan_family(p, ten, {.calibration = Calibration::exact}).mechanism),
            1500);
}

// Ranges and sizes that people have: planned at once, and the largest prior there is not begun
// with.
TEST(Families, WideRangesArePlanned) {
  for (const FamilyProblem& p :
       {numbers(Family::rate, 1'000'000, 0, 5'000), numbers(Family::mean, 1000, 0, 100'000),
        numbers(Family::waiting, 1000, 1e-7, 1e-3), numbers(Family::mean, 1000, 0, 1e-7)}) {
    const auto plan = plan_family(p, {.epsilon = 1, .delta = 1e-6});
    EXPECT_LE(delta_up(plan.guarantee, 1), 1e-6) << to_string(p.family);
  }
}

template <class F>
std::string refusal(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Families, RefusalsSayWhatToDo) {
  const auto plan = [](FamilyProblem p, Budget budget = {}, FamilyWishes plan_options = {}) {
    return refusal([&] { plan_family(p, budget, plan_options); });
  };
  EXPECT_THAT(plan(levels(2, 10, {0, 1})),
              HasSubstr("`prior`: must be numbers, the first from 1e-06"));
  EXPECT_THAT(plan(levels(2, 10, {-1, 1})), HasSubstr("`prior`"));
  EXPECT_THAT(plan(levels(2, 10, {1})), HasSubstr("`prior`: bernoulli takes 2 numbers, got 1"));
  EXPECT_THAT(plan(levels(2, 0, {1, 1})), HasSubstr("rows"));
  FamilyProblem cut = levels(5, 10, {1, 1, 1, 1, 1});
  cut.trim = {0.2, 0.0};
  EXPECT_THAT(plan(cut), HasSubstr("below 1/5, got 0.2"));
  EXPECT_THAT(plan(numbers(Family::rate, 10, 0, 20.5)), HasSubstr("whole counts"));
  EXPECT_THAT(plan(numbers(Family::rate, 10, 1, 20)), HasSubstr("whole counts"));
  EXPECT_THAT(plan(numbers(Family::waiting, 10, 0, 20)), HasSubstr("lowest time above 0"));
  EXPECT_THAT(plan(numbers(Family::waiting, 10, -1, 20)), HasSubstr("times above 0"));
  FamilyProblem off = numbers(Family::variance, 10, 1, 20);
  off.center = 21;
  EXPECT_THAT(plan(off), HasSubstr("`center`: must be within the range [1, 20], got 21"));
  FamilyProblem wide = numbers(Family::bounded_mean, 10, 1, 20);
  wide.trim = {1.0, 5.0};
  EXPECT_THAT(plan(wide), HasSubstr("`trim`: must be two numbers inside the range [1, 20]"));
  EXPECT_THAT(plan(levels(3, 10, {1, 1, 1}), {.rows_per_person = 2}),
              HasSubstr("one row a person"));
  EXPECT_THAT(plan(levels(2, 10, {1, 1}), {.adjacency = Adjacency::add_remove}),
              HasSubstr("replace-one"));
  EXPECT_THAT(
      plan(numbers(Family::waiting, 10, 1, 20), {}, {.calibration = Calibration::geumlek_rdp}),
      HasSubstr("leave it out for waiting"));
  EXPECT_THAT(plan(levels(2, 10, {1, 1}), {}, {.calibration = Calibration::redberg}),
              HasSubstr("exact or geumlek-rdp"));
  EXPECT_THAT(plan(levels(2, 10, {1e-6, 1e-6}), {.epsilon = 1e-6}, {.concentrated = false}),
              HasSubstr("give a stronger `prior`"));
  EXPECT_EQ(plan(levels(2, 10, {1, 1}), {.rows_per_person = 3}), "");
}

// Where some table's posterior would be cut to nothing that 50 digits hold, and a law would be
// lost.
TEST(Families, ATrimFarFromWhatATableMayHoldIsRefused) {
  FamilyProblem p = numbers(Family::mean, 10'000, 0, 1e6);
  p.variance = 1e5;
  p.prior = {p.default_prior()[0]};
  p.trim = {500'000.0, 500'000.1};
  EXPECT_THAT(refusal([&] { plan_family(p, {.epsilon = 1, .delta = 1e-8, .draws = 3}); }),
              ::testing::HasSubstr("further outside"));
  p.variance = 1e9;
  p.trim = {400'000.0, 600'000.0};
  EXPECT_EQ(refusal([&] { plan_family(p, {.epsilon = 1, .delta = 1e-8}); }), "");
  FamilyProblem rate = numbers(Family::rate, 1'000'000'000, 0, 1000);
  rate.trim = {1e-3, 2e-3};
  EXPECT_THAT(refusal([&] { analyze(TrimmedDraw{1}, rate, {}, 1); }),
              ::testing::HasSubstr("further outside"));
}

TEST(Families, RegretFallsWithTheDraws) {
  EXPECT_NEAR(regret_of_draws(2, 100, 0.05), 2 * std::sqrt(std::log(80) / 200), 1e-15);
  EXPECT_LT(regret_of_draws(2, 400, 0.05), regret_of_draws(2, 100, 0.05));
}

}  // namespace family_test
}  // namespace gibbsite
