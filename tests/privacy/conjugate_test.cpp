#include "gibbsite/privacy/conjugate.hpp"

#include <gtest/gtest.h>

#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "gibbsite/core/error.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "support/reference_values.hpp"
#include "support/repeats.hpp"

namespace gibbsite {
namespace conjugate_test {

double number(const nlohmann::json& c, const char* name) { return support::number(c[name]); }

TEST(Conjugate, ProfilesAreThoseOfTheReferenceValues) {
  const auto beta = support::reference_cases("mechanisms_beta_profile");
  const auto gamma = support::reference_cases("mechanisms_gamma_profile");
  const auto renyi = support::reference_cases("mechanisms_beta_renyi");
  if (beta.empty()) GTEST_SKIP() << support::no_reference_values;
  ASSERT_GE(beta.size() + gamma.size() + renyi.size(), 12U);
  for (const auto& c : beta) {
    const double found = beta_delta_up(number(c, "a0"), number(c, "b0"), number(c, "r"),
                                       c["n"].get<std::uint64_t>(), number(c, "epsilon"));
    EXPECT_NEAR(found / number(c, "delta"), 1, 1e-11) << c;
  }
  for (const auto& c : gamma) {
    const double found =
        gamma_pair_delta_up(number(c, "a0"), number(c, "shift"), number(c, "epsilon"));
    EXPECT_NEAR(found / number(c, "delta"), 1, 1e-11) << c;
  }
  for (const auto& c : renyi) {
    const double found = beta_renyi(number(c, "a0"), number(c, "b0"), number(c, "r"),
                                    c["n"].get<std::uint64_t>(), number(c, "order"));
    EXPECT_NEAR(found / number(c, "renyi"), 1, 1e-11) << c;
  }
}

using Density = std::function<double(double)>;  // its logarithm

// sup_A P(A) - e^epsilon Q(A) over [lo, hi] by quadrature between the sign changes, which a ratio
// that rises or falls has one of.
double hockey_stick(const Density& p, const Density& q, double lo, double hi, double epsilon) {
  const auto above = [&](double x) { return p(x) - q(x) > epsilon; };
  double a = lo + 1e-14 * (hi - lo), b = hi - 1e-14 * (hi - lo);
  const bool left = above(a), right = above(b);
  double from = lo, to = hi;
  if (left != right) {
    for (int i = 0; i < 200; ++i) (above((a + b) / 2) == left ? a : b) = (a + b) / 2;
    (left ? to : from) = a;
  } else if (!left) {
    return 0;
  }
  return boost::math::quadrature::gauss_kronrod<double, 31>::integrate(
      [&](double x) { return std::exp(p(x)) - std::exp(epsilon + q(x)); }, from, to, 12, 1e-12);
}
double both_ways(const Density& p, const Density& q, double lo, double hi, double epsilon) {
  return std::max(hockey_stick(p, q, lo, hi, epsilon), hockey_stick(q, p, lo, hi, epsilon));
}

// In log odds, where densities are bounded.
Density beta_density(double a, double b) {
  const double constant = std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b);
  return [=](double t) {
    return constant - a * std::log1p(std::exp(-t)) - b * std::log1p(std::exp(t));
  };
}
// In logs.
Density gamma_density(double shape, double rate) {
  return [=](double t) {
    return shape * (t + std::log(rate)) - std::lgamma(shape) - rate * std::exp(t);
  };
}

// Every pair of neighbors of a small table, by quadrature: none is above, and one all but attains.
TEST(Conjugate, NoNeighborsOfASmallTableAreAboveTheBetaProfile) {
  const struct {
    double a, b, weight;
    std::uint64_t rows;
  } tables[] = {{1, 1, 0.3, 1}, {1, 1, 1, 5}, {2, 7, 0.5, 9}, {6, 18, 0.4, 12}, {0.5, 3, 1, 4}};
  for (const auto& t : tables) {
    for (const double epsilon : {0.01, 0.3, 1.0, 3.0}) {
      const double claim = beta_delta_up(t.a, t.b, t.weight, t.rows, epsilon);
      const double for_any = beta_delta_up(t.a, t.b, t.weight, 1, epsilon);
      EXPECT_LE(claim, for_any);
      double worst = 0;
      for (std::uint64_t k = 0; k < t.rows; ++k) {
        const auto at = [&](std::uint64_t ones) {
          return beta_density(t.a + t.weight * static_cast<double>(ones),
                              t.b + t.weight * static_cast<double>(t.rows - ones));
        };
        worst = std::max(worst, both_ways(at(k), at(k + 1), -60, 60, epsilon));
      }
      EXPECT_LE(worst, claim + 1e-9) << t.a << " " << t.b << " " << epsilon;
      EXPECT_GT(worst, claim - 1e-9) << t.a << " " << t.b << " " << epsilon;
    }
  }
}

// Several rows of one person: all counts of both tables.
TEST(Conjugate, PairsOfSeveralRecordsCoverEveryTable) {
  const double a = 1.5, b = 4, weight = 0.4;
  for (const std::uint64_t rows : {3U, 6U}) {
    for (const std::uint64_t k : {2U, 3U}) {
      for (const double epsilon : {0.2, 1.0, 2.5}) {
        double claim = 0, worst = 0;
        for (std::uint64_t j = 1; j <= k; ++j) {
          claim = std::max(claim, beta_pair_delta_up(a, b, weight, j, epsilon));
        }
        for (std::uint64_t here = 0; here <= rows; ++here) {
          for (std::uint64_t there = 0; there <= rows; ++there) {
            if (here == there || (here > there ? here - there : there - here) > k) continue;
            const auto at = [&](std::uint64_t ones) {
              return beta_density(a + weight * static_cast<double>(ones),
                                  b + weight * static_cast<double>(rows - ones));
            };
            worst = std::max(worst, both_ways(at(here), at(there), -60, 60, epsilon));
          }
        }
        EXPECT_LE(worst, claim + 1e-9) << rows << " " << k << " " << epsilon;
      }
    }
  }
}

TEST(Conjugate, GammaAndScalePairsAreTheirIntegrals) {
  for (const double a : {0.3, 1.0, 5.0, 40.0}) {
    for (const double shift : {0.05, 1.0, 3.0}) {
      for (const double epsilon : {0.01, 0.5, 2.0}) {
        const double exact =
            both_ways(gamma_density(a, 1), gamma_density(a + shift, 1), -70 / a, 7, epsilon);
        EXPECT_NEAR(gamma_pair_delta_up(a, shift, epsilon), exact, 1e-9)
            << a << " " << shift << " " << epsilon;
        const double scaled =
            both_ways(gamma_density(a, 1), gamma_density(a, 1 + shift), -70 / a, 7, epsilon);
        EXPECT_NEAR(scale_pair_delta_up(a, shift, epsilon), scaled, 1e-9)
            << a << " " << shift << " " << epsilon;
      }
    }
  }
  // What docs/theory/conjugate.md takes from the theory: they rise with the shift, the ratio, the
  // shape.
  EXPECT_LT(gamma_pair_delta_up(5, 0.9, 1), gamma_pair_delta_up(5, 1, 1));
  EXPECT_LT(gamma_pair_delta_up(6, 1, 1), gamma_pair_delta_up(5, 1, 1));
  EXPECT_LT(scale_pair_delta_up(5, 0.4, 0.5), scale_pair_delta_up(5, 0.5, 0.5));
  EXPECT_LT(scale_pair_delta_up(5, 0.5, 0.5), scale_pair_delta_up(6, 0.5, 0.5));
}

// Far in the tails nothing is lost, and nothing promised that is not there.
TEST(Conjugate, TailsAreRoundedUp) {
  EXPECT_GT(beta_pair_delta_up(50, 50, 1, 1, 4), 0);
  EXPECT_LT(beta_pair_delta_up(50, 50, 1, 1, 4), 1e-30);
  EXPECT_GT(gamma_pair_delta_up(20, 1e-3, 30), 0);
  EXPECT_NEAR(beta_pair_delta_up(1e-6, 1e-6, 1, 1, 0), 1, 2e-6);
  EXPECT_GT(beta_pair_delta_up(1e9, 1e9, 1, 1, 1e-5), 0);
  for (const double bad : {0.0, -1.0, std::nan(""), double{INFINITY}}) {
    EXPECT_THROW(beta_pair_delta_up(bad, 1, 1, 1, 1), BadInput);
    EXPECT_THROW(gamma_pair_delta_up(1, bad, 1), BadInput);
    EXPECT_THROW(scale_pair_delta_up(1, bad, 1), BadInput);
    EXPECT_THROW(beta_delta_up(1, 1, bad, 5, 1), BadInput);
  }
}

// More rows than are scanned: what fewer give covers them, and is not looser than Renyi.
TEST(Conjugate, ManyRowsAreNotWorse) {
  const double few = beta_delta_up(35, 35, 1, 20'000, 1);
  EXPECT_EQ(beta_delta_up(35, 35, 1, 20'001, 1), few);
  EXPECT_EQ(beta_delta_up(35, 35, 1, 1'000'000'000, 1), few);
  EXPECT_LT(few, beta_delta_up(35, 35, 1, 1, 1));
  EXPECT_LT(few, beta_renyi_delta_up(35, 35, 1, 20'001, 1, 1));
  EXPECT_LE(beta_delta_up(9e5, 9e5, 1, 1'000'000, 1e-4), beta_delta_up(9e5, 9e5, 1, 1, 1e-4));
}

// What a search goes by is what the claim comes to.
TEST(Conjugate, FewDigitsAreEnoughToSearchWith) {
  support::Thinned sweep(3);
  for (const double scale : {1.0, 1e3, 1e6, 1e9}) {
    if (sweep.skips()) continue;
    const double shift = 0.2 * std::sqrt(scale);
    const auto near = [&](double few, double claim) {
      EXPECT_NEAR(few / claim, 1, 1e-5) << scale << " " << claim;
    };
    near(beta_pair_delta_up(scale, 2 * scale, shift, 1, 0.5, Digits::few),
         beta_pair_delta_up(scale, 2 * scale, shift, 1, 0.5));
    near(gamma_pair_delta_up(scale, shift, 0.5, Digits::few),
         gamma_pair_delta_up(scale, shift, 0.5));
    near(scale_pair_delta_up(scale, 0.2 / std::sqrt(scale), 0.5, Digits::few),
         scale_pair_delta_up(scale, 0.2 / std::sqrt(scale), 0.5));
    near(beta_renyi_delta_up(scale, scale, shift, 1, 3, 2, Digits::few),
         beta_renyi_delta_up(scale, scale, shift, 1, 3, 2));
    near(gamma_renyi_delta_up(scale, shift, 3, 2, Digits::few),
         gamma_renyi_delta_up(scale, shift, 3, 2));
  }
  EXPECT_THROW(gamma_pair_delta_up(1e12, 1, 1), BadInput);  // seconds, and then minutes
}

// Draws compose in every order: N at ten times the prior's strength beat basic composition.
TEST(Conjugate, SeveralDrawsComposeByRenyi) {
  const double one = beta_renyi_delta_up(24, 24, 1, 10'000, 1, 1);
  EXPECT_GT(beta_renyi_delta_up(24, 24, 1, 10'000, 2, 1), one);
  EXPECT_LT(beta_renyi_delta_up(240, 240, 1, 10'000, 10, 1), 1e-6);
  EXPECT_GT(beta_delta_up(240, 240, 1, 10'000, 0.1), 1e-5);
}

// By Taylor's series order r^2 (psi1(a) + psi1(b))/2 and less than 1e-9 of it more: terms of 1e10,
// over order - 1, cancel down to 1e-21.
TEST(Conjugate, RenyiOfLargeShapesIsRoundedUp) {
  const double shape = 1e9, less = 1e-12;
  for (int i = 1; i < 40; ++i) {
    const double r = i * 1e-7, beta = r * r / shape;
    const double found = beta_renyi(shape, shape, r, 1, 1 + less);
    EXPECT_GE(found, beta) << r;
    EXPECT_LE(found, beta * 1.01 + 1e-24) << r;
    const double gamma = gamma_renyi(shape, r, 1 + less);
    EXPECT_GE(gamma, beta / 2) << r;
    EXPECT_LE(gamma, beta / 2 * 1.01 + 1e-24) << r;
    const double ratio = r * 1e-20, scale = scale_renyi(shape, ratio, 1 + less);
    EXPECT_GE(scale, shape * ratio * ratio / 2 * (1 - 1e-15)) << r;
  }
}

TEST(Conjugate, RenyiIsLooserThanTheProfile) {
  support::Thinned sweep(4);
  for (const double epsilon : {0.3, 1.0, 3.0}) {
    for (const double weight : {0.05, 0.3, 1.0}) {
      if (sweep.skips()) continue;
      const double exact = beta_delta_up(6, 18, weight, 100, epsilon);
      // The profiles' own slack: nothing below 1e-60 is told apart.
      EXPECT_GE(beta_renyi_delta_up(6, 18, weight, 100, 1, epsilon) + 2e-60, exact);
      EXPECT_GE(gamma_renyi_delta_up(6, weight, 1, epsilon) + 2e-60,
                gamma_pair_delta_up(6, weight, epsilon));
    }
  }
  EXPECT_EQ(beta_renyi(6, 18, 1, 100, 7.5), INFINITY);  // beyond 1 + 6/1
}

// A release whose log ratio ranges over `range` is covered: all binary ones are, and the symmetric
// one lies on the curve at its own epsilon.
TEST(Conjugate, ABoundedRangeIsGaussianWithNothingToSpare) {
  for (const double range : {1e-6, 0.1, 1.0, 4.0, 30.0}) {
    const double mu = bounded_range_mu_up(range);
    double slack = 1;
    for (int i = 1; i < 400; i += support::repeats(1, 7)) {
      const double logit = -range + (range + 6) * i / 400.0 - 3;
      const double p = 1 / (1 + std::exp(-logit - range)), q = 1 / (1 + std::exp(-logit));
      for (const double epsilon : {0.0, 0.1 * range, 0.5 * range, 0.9 * range}) {
        const double delta = p - std::exp(epsilon) * q;
        EXPECT_LE(delta, gdp_delta_up(epsilon, mu) * (1 + 1e-12) + 1e-15) << range << " " << logit;
        if (delta > 0) slack = std::min(slack, gdp_delta_up(epsilon, mu) - delta);
      }
    }
    const double half = 1 / (1 + std::exp(-range / 2));  // p = half, q = 1 - half
    EXPECT_NEAR(gdp_delta_up(0, mu), 2 * half - 1, 1e-12);
    EXPECT_LE(bounded_range_down(mu), range * (1 + 1e-9));  // mu is up by its last digits
    EXPECT_NEAR(bounded_range_down(mu) / range, 1, 1e-9);
    EXPECT_LE(bounded_range_mu_up(bounded_range_down(mu)), mu);
  }
  EXPECT_NEAR(bounded_range_mu_up(0.1), 0.627 * 0.1, 1e-3 * 0.1);
  // However small: where the probabilities themselves are one half to all digits.
  double before = 0;
  for (const double range : {1e-300, 1e-30, 1e-12, 0.999e-6, 1.001e-6, 1e-5, 0.999e-3, 1.001e-3}) {
    const double mu = bounded_range_mu_up(range);
    EXPECT_NEAR(mu / (0.6266570686577501 * range), 1, 1e-6) << range;
    EXPECT_GT(mu, before);
    before = mu;
  }
}

// Values by quadrature in 30 digits over every count and both directions, on which either is the
// larger; the count that is worst is inside, not at an end.
TEST(Conjugate, CutProfilesAreTheWorstOverAllCounts) {
  if (support::sanitized) GTEST_SKIP() << "a release tells";
  struct Case {
    double a0, b0, low, r;
    std::uint64_t rows, records;
    double epsilon, delta;
  };
  for (const Case& c : {Case{1, 1, .05, .7, 30, 1, 1, 0.00061789302497645871159},
                        Case{.5, 3, .1, .8, 12, 1, .5, 0.04416182562027023194},
                        Case{3, .5, .1, .8, 12, 1, .5, 0.04416182562027023194},
                        Case{2, 2, .05, .3, 20, 2, .8, 0.0086370378196293568391},
                        Case{.5, .5, .3, 1, 25, 1, .25, 0.060199736662384322989},
                        Case{40, 1, .05, 1, 10, 1, .25, 0.076598550276295442489},
                        Case{1, 40, .05, 1, 10, 1, .25, 0.076598550276295442489}}) {
    const double up =
        cut_beta_delta_up({c.a0, c.b0, c.low, c.r, c.rows, c.records}, c.epsilon, Digits::fifty);
    EXPECT_NEAR(up / c.delta, 1, 1e-13) << c.a0 << " " << c.rows;
    EXPECT_NEAR(
        cut_beta_delta_up({c.a0, c.b0, c.low, c.r, c.rows, c.records}, c.epsilon, Digits::few), up,
        1e-10);
  }
  // Mostly cut off, at 1e-300 of the posterior and less: what a double cannot hold.
  const double deep = cut_beta_delta_up({1, 1, 0.4, 1, most_cut_rows, 1}, 0.1);
  EXPECT_GT(deep, 0);
  EXPECT_LT(deep, 0.05);
  // More than the log ratio's range: nothing.
  EXPECT_LE(cut_beta_delta_up({1, 1, 0.05, 0.1, 50, 1}, 0.6), 1e-24);
  // Near 1/2 masses are small differences, in which double keeps too few digits to skip a pair by.
  const double few_rows = 0.0008575553995285335, near_half = 0.4999999488857464;
  EXPECT_GE(cut_beta_delta_up({1, few_rows, near_half, 1, 1000, 20}, 1.947615869979001e-06),
            cut_beta_delta_up({981, few_rows, near_half, 1, 20, 20}, 1.947615869979001e-06));
  EXPECT_THROW(cut_beta_delta_up({1, 1, 0.05, 1, most_cut_rows + 1, 1}, 1), BadInput);
  EXPECT_THROW(cut_beta_delta_up({1, 1, 0.5, 1, 10, 1}, 1), BadInput);
  EXPECT_THROW(cut_beta_delta_up({1, 1, 0.05, 1, 10, 11}, 1), BadInput);
}

}  // namespace conjugate_test
}  // namespace gibbsite
