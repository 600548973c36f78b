// Objective perturbation without a delta: exact laws of neighbors in one and two dimensions that
// try to break the claim, what is planted must break it; offers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/mechanism/objective.hpp"
#include "gibbsite/mechanism/plan.hpp"
#include "gibbsite/model/losses.hpp"
#include "support/repeats.hpp"
#include "tests/mechanism/problems.hpp"

namespace gibbsite {
namespace objective_pure_test {

using boost::math::quadrature::gauss_kronrod;
using support::problem;
using ::testing::HasSubstr;

// --- laws ---------------------------------------------------------------------------------------

/// f' and f'' of z for a label, and the constants that they keep to.
struct Curve {
  std::function<double(double, double)> slope, curvature;
  double most_slope, most_curvature, self_concordance;
};

const Curve logistic{[](double z, double y) { return -y / (1 + std::exp(y * z)); },
                     [](double z, double y) {
                       const double p = 1 / (1 + std::exp(y * z));
                       return p * (1 - p);
                     },
                     1, 0.25, 1};

/// The program's own; a count's label is that of a class moved to 0 and 1.
template <class F>
Curve curve_of() {
  const auto label = [](double y) {
    if constexpr (std::is_same_v<F, losses::poisson>) return (std::clamp(y, -1.0, 1.0) + 1) / 2;
    return y;
  };
  return {[=](double z, double y) { return F::derivative(z, label(y)); },
          [=](double z, double y) { return F::second_derivative(z, label(y)); },
          F::max_abs_derivative, F::curvature, F::self_concordance};
}
const Curve huber = curve_of<losses::huber>(), pseudo_huber = curve_of<losses::pseudo_huber>(),
            smoothed_hinge = curve_of<losses::smoothed_hinge>(),
            poisson = curve_of<losses::poisson>();

Problem problem_of(const Curve& curve, double row_norm) {
  Problem p = problem(1, 1);
  p.row_norm = row_norm;
  p.max_abs_derivative = curve.most_slope;
  p.curvature = curve.most_curvature;
  p.self_concordance = curve.self_concordance;
  return p;
}

struct Row {
  double x, y;
};

/// J' and J'' in one dimension.
struct Table {
  const Curve* curve;
  std::vector<Row> rows;
  double ridge, center;
  [[nodiscard]] double gradient(double theta) const {
    double out = ridge * (theta - center);
    for (const Row& r : rows) out += r.x * curve->slope(r.x * theta, r.y);
    return out;
  }
  [[nodiscard]] double hessian(double theta) const {
    double out = ridge;
    for (const Row& r : rows) out += r.x * r.x * curve->curvature(r.x * theta, r.y);
    return out;
  }
  // The density of argmin J + b theta, where b has the density gamma/2 exp(-gamma |b|).
  [[nodiscard]] double density(double theta, double rate) const {
    return rate / 2 * std::exp(-rate * std::fabs(gradient(theta))) * hessian(theta);
  }
};

// The largest privacy loss of either table against the other.
double loss_between(const Table& one, const Table& other, double rate, double reach) {
  double most = 0;
  for (int i = -700; i <= 700; ++i) {
    const double theta = reach * i / 700;
    const double loss = rate * (std::fabs(other.gradient(theta)) - std::fabs(one.gradient(theta))) +
                        std::log(one.hessian(theta) / other.hessian(theta));
    most = std::max(most, std::fabs(loss));
  }
  return most;
}

// P(theta in [a, b]).
double mass(const Table& table, double rate, double a, double b) {
  return gauss_kronrod<double, 31>::integrate([&](double v) { return table.density(v, rate); }, a,
                                              b, 12, 1e-12);
}

// It is the law of the minimizer: cells of theta have the mass that their noise has.
TEST(ObjectivePureLaw, TheDensityOfTheTestsIsTheLaw) {
  for (const Curve* curve : {&logistic, &pseudo_huber}) {
    const Table table{curve, {{1.2, 1}, {-0.7, -1}, {0.4, 1}}, 0.8, 0.3};
    for (const double rate : {0.5, 3.0}) {
      const auto above = [&](double b) {  // P(noise > b)
        return b > 0 ? std::exp(-rate * b) / 2 : 1 - std::exp(rate * b) / 2;
      };
      for (double a = -6; a < 6; a += 0.75) {
        // theta <= v exactly where b >= -J'(v).
        const double truth = above(-table.gradient(a + 0.75)) - above(-table.gradient(a));
        EXPECT_NEAR(mass(table, rate, a, a + 0.75), truth, 1e-9);
      }
    }
  }
}

struct Pair {
  std::vector<Row> one, other;
  Neighbors who;
};

// Rows inserted, deleted and replaced, wherever other rows and the center have moved the minimum.
std::vector<Pair> pairs(double R) {
  const Neighbors alone{Adjacency::add_remove, 1}, replaced{Adjacency::replace_one, 1},
      two{Adjacency::add_remove, 2}, both{Adjacency::replace_one, 2};
  return {{{{R, 1}}, {}, alone},
          {{{-R, 1}}, {}, alone},
          {{{R / 3, -1}}, {}, alone},
          {{{R, 1}}, {{R, -1}}, replaced},
          {{{R, 1}}, {{-R / 2, 1}}, replaced},
          {{{R, 1}}, {}, replaced},
          {{{R, 1}, {R, 1}}, {}, two},
          {{{R, 1}, {-R, 1}}, {}, two},
          {{{R, 1}, {R, 1}}, {{R, -1}, {-R, 1}}, both}};
}

// The largest ratio of a pair's privacy loss to the claimed epsilon.
double worst_share(const Curve& curve, double R, double ridge, double rate,
                   const std::function<double(const Neighbors&)>& claim) {
  double worst = 0;
  for (const Pair& pair : pairs(R)) {
    for (const std::vector<Row>& others :
         {std::vector<Row>{}, {{R, -1}, {R / 2, 1}}, {{-R, 1}, {-R, 1}, {-R, 1}}}) {
      for (const double center : {0.0, 2.0, -7.0, 40.0}) {
        Table one{&curve, others, ridge, center}, other = one;
        one.rows.insert(one.rows.end(), pair.one.begin(), pair.one.end());
        other.rows.insert(other.rows.end(), pair.other.begin(), pair.other.end());
        worst = std::max(worst, loss_between(one, other, rate, 45) / claim(pair.who));
      }
    }
  }
  return worst;
}

std::function<double(const Neighbors&)> claim_of(const Curve& curve, double R, double ridge,
                                                 double rate) {
  return [=, p = problem_of(curve, R)](const Neighbors& who) {
    return objective_epsilon_up(p, who, ridge, rate);
  };
}

TEST(ObjectivePureLaw, NoNeighborsAreToldApartBeyondEpsilon) {
  if (support::sanitized) GTEST_SKIP() << "a release tells";
  for (const Curve* curve : {&logistic, &huber, &pseudo_huber, &smoothed_hinge, &poisson}) {
    double closest = 0;
    for (const double R : {0.5, 1.0, 3.0}) {
      for (const double ridge : {0.05, 0.4, 2.0, 20.0}) {
        for (const double rate : {0.01, 0.1, 0.5, 2.0}) {
          const double share =
              worst_share(*curve, R, ridge, rate, claim_of(*curve, R, ridge, rate));
          EXPECT_LE(share, 1 + 1e-12) << R << ' ' << ridge << ' ' << rate;
          closest = std::max(closest, share);
        }
      }
    }
    EXPECT_TRUE(closest > 0.98) << closest;
  }
}

// Two-signed losses whose curvature ends where the slope is largest pay for all of it: the claim is
// reached for a row alone and for one replaced by its opposite.
TEST(ObjectivePureLaw, TheDeterminantIsPaidOnceAndNotLess) {
  const double R = 1, ridge = 2, rate = 0.7;
  const Problem p = problem_of(huber, R);
  // Just below f' = 1 of the row, the noise is still on the other side: the center is far.
  const Table with{&huber, {{1, -0.5}}, ridge, 30}, without{&huber, {}, ridge, 30},
      instead{&huber, {{1, 30}}, ridge, 30};
  const auto loss_at = [&](const Table& one, const Table& other, double theta) {
    return rate * (std::fabs(other.gradient(theta)) - std::fabs(one.gradient(theta))) +
           std::log(one.hessian(theta) / other.hessian(theta));
  };
  const double theta = 0.5 - 1e-9;
  const double alone = objective_epsilon_up(p, {Adjacency::add_remove, 1}, ridge, rate),
               replaced = objective_epsilon_up(p, {Adjacency::replace_one, 1}, ridge, rate);
  EXPECT_NEAR(alone, std::log1p(1 / ridge) + rate, 1e-15);
  EXPECT_NEAR(replaced, std::log1p(1 / ridge) + 2 * rate, 1e-15);
  EXPECT_NEAR(loss_at(with, without, theta), alone, 1e-7);
  EXPECT_NEAR(loss_at(with, instead, theta), replaced, 1e-7);
}

// The logistic loss pays for curvature where its slope is not largest: its claim is the maximum of
// gamma p + log(1 + p (1 - p)/Lambda)'s upper bound, within 2 % of what it comes to, and nothing
// beyond gamma L where gamma Lambda >= R.
TEST(ObjectivePureLaw, OfTheLogisticLossHasCurvatureForLittle) {
  const Neighbors alone{Adjacency::add_remove, 1};
  for (const double ridge : {0.1, 0.5, 2.0, 10.0, 300.0}) {
    for (const double rate : {0.02, 0.1, 0.5, 3.0}) {
      const double claim = objective_epsilon_up(problem_of(logistic, 1), alone, ridge, rate);
      double truth = 0;
      for (int i = 0; i <= 100000; ++i) {
        const double p = i / 100000.0;
        truth = std::max(truth, rate * p + std::log1p(p * (1 - p) / ridge));
      }
      EXPECT_GE(claim, truth * (1 - 1e-15));
      EXPECT_LE(claim, rate + std::log1p(0.25 / ridge) + 1e-15);
      if (rate * ridge >= 1) {
        EXPECT_NEAR(claim, rate, 1e-15);
      } else {
        EXPECT_GT(claim, rate);
      }
    }
  }
}

// What a careless program would claim, each broken by a law.
TEST(ObjectivePureLaw, PlantedClaimsAreBroken) {
  const double R = 1, ridge = 0.8, rate = 0.5;
  const auto claim = claim_of(huber, R, ridge, rate);
  const auto worst = [&](const std::function<double(const Neighbors&)>& planted) {
    return worst_share(huber, R, ridge, rate, planted);
  };
  EXPECT_LE(worst(claim), 1 + 1e-12);
  // The log-determinant not paid.
  EXPECT_GT(worst([&](const Neighbors& who) {
              return claim(who) - static_cast<double>(who.rows_per_person) * std::log1p(1 / ridge);
            }),
            1.5);
  // Replaced rows as one change.
  EXPECT_GT(worst([&](const Neighbors& who) {
              return claim({Adjacency::add_remove, who.rows_per_person});
            }),
            1.3);
  // A person's two rows as one.
  EXPECT_GT(worst([&](const Neighbors& who) { return claim({who.adjacency, 1}); }), 1.5);
  // Half the noise.
  EXPECT_GT(worst(claim_of(huber, R, ridge, rate / 2)), 1.2);
  // The logistic loss's discount for one whose curvature stays to the end; and for itself below
  // gamma Lambda = R.
  Problem discounted = problem_of(huber, R);
  discounted.self_concordance = 1;
  EXPECT_GT(worst([&](const Neighbors& who) {
              return objective_epsilon_up(discounted, who, ridge, rate);
            }),
            1.1);
  EXPECT_GT(worst_share(logistic, 1, 0.1, 0.1,
                        [](const Neighbors& who) {
                          const double steps = who.adjacency == Adjacency::replace_one ? 2 : 1;
                          return steps * static_cast<double>(who.rows_per_person) * 0.1;
                        }),
            3);
}

// In two dimensions, at random coefficients: log of exp(-gamma ||grad J||) det(Hessian), whose
// constant is the same on every table.
TEST(ObjectivePureLaw, InTwoDimensionsToo) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(-1, 1);
  const double R = 1.3;
  const auto row = [&](double norm) {
    const double angle = M_PI * uniform(random);
    return std::array{norm * std::cos(angle), norm * std::sin(angle),
                      uniform(random) < 0 ? -1.0 : 1.0};
  };
  double closest = 0;
  for (const Curve* curve : {&logistic, &huber, &pseudo_huber}) {
    for (int trial = 0; trial < 40; ++trial) {
      const double ridge = std::exp(2 * uniform(random)), rate = std::exp(2 * uniform(random) - 1);
      const Neighbors who{trial % 2 == 0 ? Adjacency::add_remove : Adjacency::replace_one,
                          static_cast<std::uint64_t>(1 + trial / 2 % 2)};
      std::vector<std::array<double, 3>> common, one, other;
      for (int i = 0; i < trial % 5; ++i) common.push_back(row(R));
      for (std::uint64_t i = 0; i < who.rows_per_person; ++i) {
        one.push_back(row(R));
        if (who.adjacency == Adjacency::replace_one) other.push_back(row(R));
      }
      const std::array center{8 * uniform(random), 8 * uniform(random)};
      const auto log_density = [&](const std::vector<std::array<double, 3>>& own, double a,
                                   double b) {
        double g0 = ridge * (a - center[0]), g1 = ridge * (b - center[1]);
        double h00 = ridge, h01 = 0, h11 = ridge;
        for (const auto* rows :
             std::initializer_list<const std::vector<std::array<double, 3>>*>{&common, &own}) {
          for (const auto& [x, z, y] : *rows) {
            const double logit = a * x + b * z;
            const double slope = curve->slope(logit, y), bend = curve->curvature(logit, y);
            g0 += slope * x;
            g1 += slope * z;
            h00 += bend * x * x;
            h01 += bend * x * z;
            h11 += bend * z * z;
          }
        }
        return -rate * std::hypot(g0, g1) + std::log(h00 * h11 - h01 * h01);
      };
      Problem p = problem_of(*curve, R);
      p.features = 2;
      const double claim = objective_epsilon_up(p, who, ridge, rate);
      for (int i = 0; i < 4000; ++i) {
        const double a = 12 * uniform(random), b = 12 * uniform(random);
        const double loss = std::fabs(log_density(one, a, b) - log_density(other, a, b));
        EXPECT_LE(loss, claim * (1 + 1e-12));
        closest = std::max(closest, loss / claim);
      }
    }
  }
  EXPECT_GT(closest, 0.9);
}

TEST(ObjectivePureLaw, ItsClaimGrowsWithWhatMakesItGrow) {
  for (const double kappa : {1.0, 3.0, std::numeric_limits<double>::infinity()}) {
    for (const double ridge : {0.01, 0.3, 1.0, 40.0}) {
      for (const double rate : {0.001, 0.1, 1.0, 30.0}) {
        Problem p = problem(1, 1);
        p.self_concordance = kappa;
        const Neighbors who{Adjacency::replace_one, 2};
        const double here = objective_epsilon_up(p, who, ridge, rate);
        EXPECT_GT(objective_epsilon_up(p, who, ridge, rate * 1.01), here);
        EXPECT_LE(objective_epsilon_up(p, who, ridge * 1.01, rate), here);
        p.self_concordance = kappa * 1.1;
        EXPECT_GE(objective_epsilon_up(p, who, ridge, rate), here);
        p.curvature *= 1.1;
        EXPECT_GE(objective_epsilon_up(p, who, ridge, rate), here);
        p.row_norm *= 1.1;
        EXPECT_GT(objective_epsilon_up(p, who, ridge, rate), here);
      }
    }
  }
}

// --- offers -------------------------------------------------------------------------------------

Candidate offered(const Problem& p, const Budget& budget = {}) {
  return gibbsite::candidate(std::type_identity<PureObjectivePerturbation>{}, p, budget, {});
}

PureObjectivePerturbation settings_of(const Candidate& candidate) {
  EXPECT_TRUE(candidate.feasible) << candidate.why;
  return std::get<PureObjectivePerturbation>(candidate.mechanism);
}

TEST(ObjectivePureOffer, EveryOneKeepsItsBudgetAndUsesIt) {
  support::expect_output_candidates<PureObjectivePerturbation>(
      1e-20, [](const Problem& p, const Budget& budget, const Guarantee& all, const auto& s) {
        EXPECT_EQ(all.mu, 0);
        EXPECT_EQ(all.delta0, 0);
        EXPECT_LE(all.epsilon0, budget.epsilon);
        EXPECT_GE(all.epsilon0, budget.epsilon * (1 - 1e-6)) << "budget left unused";
        EXPECT_EQ(delta_up(all, budget.epsilon * 0.999), 1);
        const auto draws = static_cast<double>(budget.draws);
        const double one = objective_epsilon_up(p, budget.neighbors(), s.ridge, s.noise),
                     search = 2 * s.gradient_norm * s.output_noise / s.ridge;
        EXPECT_LE(draws * (one + search), all.epsilon0 * (1 + 1e-15));
        EXPECT_NEAR(draws * (one + search) / all.epsilon0, 1, 1e-6);
      });
}

// What the search for the minimizer costs: of epsilon, and of noise beside that of the objective
// where the data tell most; of many rows, where they tell little.
TEST(ObjectivePureOffer, PaysLittleForTheSearch) {
  for (const std::uint64_t rows : {100ULL, 32561ULL}) {
    for (const std::uint64_t features : {1ULL, 20ULL, 108ULL}) {
      const Problem p = problem(rows, features);
      const PureObjectivePerturbation s = settings_of(offered(p));
      EXPECT_GT(objective_epsilon_up(p, {}, s.ridge, s.noise), 0.98);
      const double here = rows == 100 ? 0.2 / p.smoothness_up(1, s.ridge) : 0.01 / s.ridge;
      EXPECT_LT(1 / s.output_noise, here / s.noise);
      EXPECT_GT(objective_search_norm_down(s, p), 0);
      EXPECT_LT(objective_search_norm_down(s, p), s.gradient_norm);
    }
  }
}

TEST(ObjectivePureOffer, KeepsThePriorThatWasGivenAsItsRidge) {
  Problem p = problem(1000, 5);
  p.prior_precision = 7.5;
  EXPECT_EQ(settings_of(offered(p)).ridge, 7.5);
  p.prior_precision = 0.0;
  EXPECT_THAT(offered(p).why, HasSubstr("above 0"));
  p.prior_precision = 0.1;  // log(1 + 2.5) > 1
  EXPECT_FALSE(offered(p).feasible);
  EXPECT_THAT(offered(p).why, HasSubstr("larger `prior_precision`"));
  p.prior_precision = 1e-300;
  EXPECT_FALSE(offered(p).feasible);
}

// A curvature that costs noise is paid for, to the last: no larger rate keeps epsilon.
TEST(ObjectivePureOffer, HasTheLargestRateThatEpsilonPaysFor) {
  for (const double kappa : {1.0, std::numeric_limits<double>::infinity()}) {
    for (const double ridge : {0.2, 0.5, 3.0, 50.0}) {
      Problem p = problem(1000, 5);
      p.self_concordance = kappa;
      p.drop_from_zero = support::logistic_drop;
      p.prior_precision = ridge;
      const Candidate candidate = offered(p, {.epsilon = 2, .delta = 1e-12});
      if (!candidate.feasible) continue;
      const auto& s = std::get<PureObjectivePerturbation>(candidate.mechanism);
      EXPECT_NEAR(objective_epsilon_up(p, {}, s.ridge, s.noise), 2 * 63.0 / 64, 1e-6);
    }
  }
}

TEST(ObjectivePureOffer, IsNeverChosenUnaskedAndTakesNoOptionsOfChains) {
  for (const double delta : {1e-6, 1e-30}) {
    const Plan made = plan(problem(1000, 1), {.epsilon = 1, .delta = delta}, {});
    EXPECT_NE(name_of(made.candidate().mechanism), "objective-pure");
  }
  const auto asked = [](const PlanOptions& plan_options) {
    static_cast<void>(plan(problem(1000, 5), {}, plan_options));
  };
  EXPECT_THROW(asked({.mechanism = "objective-pure", .tv = 1e-9}), BadInput);
  EXPECT_THROW(asked({.mechanism = "objective-pure", .iterations = 9.0}), BadInput);
  EXPECT_THROW(asked({.mechanism = "objective-pure", .calibration = Calibration::redberg}),
               BadInput);
}

// Legal numbers that there is no noise for are its own trouble, not the plan's.
TEST(ObjectivePureOffer, BeyondDoubleSaysSo) {
  struct Case {
    double row_norm;
    std::optional<double> prior_precision;
  };
  for (const auto& [row_norm, prior] :
       {Case{1e160, {}}, Case{1, 1e300}, Case{1e-160, {}}, Case{1, 1e-320}}) {
    Problem p = problem(1000, 5);
    p.row_norm = row_norm;
    p.prior_precision = prior;
    const Candidate candidate =
        gibbsite::candidate(std::type_identity<PureObjectivePerturbation>{}, p, {}, {});
    EXPECT_FALSE(candidate.feasible) << row_norm;
    EXPECT_NE(candidate.why, "") << row_norm;
  }
}

// Settings of which one is wrong promise nothing, or less.
TEST(ObjectivePureAnalysis, PromisesNoMoreThanItsSettings) {
  const Problem p = problem(10000, 20);
  const PureObjectivePerturbation good = settings_of(offered(p));
  const auto pure = [&](const PureObjectivePerturbation& s) {
    return analyze(s, p, {}, 1).guarantee.epsilon0;
  };
  ASSERT_LE(pure(good), 1);
  const auto with = [&](double PureObjectivePerturbation::*field, double factor) {
    PureObjectivePerturbation s = good;
    s.*field *= factor;
    return pure(s);
  };
  EXPECT_GT(with(&PureObjectivePerturbation::noise, 1.001), 1);
  EXPECT_GT(with(&PureObjectivePerturbation::ridge, 0.5), 1.01);
  EXPECT_GT(with(&PureObjectivePerturbation::output_noise, 1.01), 1);
  EXPECT_GT(with(&PureObjectivePerturbation::gradient_norm, 1.01), 1);
  // All draws' epsilons, and what rounding costs.
  const Analysis two = analyze(good, p, {}, 2);
  EXPECT_GT(two.noise.epsilon, 0);
  EXPECT_NEAR(two.guarantee.epsilon0, 2 * pure(good), 1e-9);
  EXPECT_NEAR(two.guarantee.tv / analyze(good, p, {}, 1).guarantee.tv, 2, 1e-9);
  // Below what computing the noise takes, and what the search can reach.
  PureObjectivePerturbation far = good;
  far.gradient_norm = (good.gradient_norm - objective_search_norm_down(good, p)) * 0.99;
  EXPECT_LE(objective_search_norm_down(far, p), 0);
  EXPECT_EQ(delta_up(analyze(far, p, {}, 1).guarantee, 10), 1);
  far.gradient_norm /= 0.98;
  EXPECT_GT(objective_search_norm_down(far, p), 0);
  EXPECT_EQ(delta_up(analyze(far, p, {}, 1).guarantee, 10), 1);
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    for (const auto field :
         {&PureObjectivePerturbation::ridge, &PureObjectivePerturbation::noise,
          &PureObjectivePerturbation::gradient_norm, &PureObjectivePerturbation::output_noise}) {
      PureObjectivePerturbation s = good;
      s.*field = bad;
      EXPECT_THROW(static_cast<void>(analyze(s, p, {}, 1)), BadInput);
    }
  }
  EXPECT_FALSE(coefficient_noise_up(good, p));
}

// Deltas that its arithmetic does not resolve are refused.
TEST(ObjectivePureAnalysis, PaysForRadiiFarFromTheMiddleOfTheirWords) {
  const Problem p = problem(1'000'000, 20);
  EXPECT_TRUE(offered(p, {.epsilon = 1, .delta = 1e-23}).feasible);
  const Candidate none = offered(p, {.epsilon = 1, .delta = 1e-25});
  EXPECT_FALSE(none.feasible);
  EXPECT_THAT(none.why, HasSubstr("computed in double"));
  // 11 pairs of zeta and 10 of xi, 2^40 + 1 words of 2^128 each.
  EXPECT_GE(analyze(settings_of(offered(p)), p, {}, 1).guarantee.tv, 21 * std::ldexp(1, -88));
}

}  // namespace objective_pure_test
}  // namespace gibbsite
