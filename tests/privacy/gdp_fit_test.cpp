#include "gibbsite/privacy/gdp_fit.hpp"

#include <gtest/gtest.h>

#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "core/special.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/privacy/conjugate.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "support/reference_values.hpp"
#include "support/repeats.hpp"

namespace gibbsite {
namespace gdp_fit_test {

// reveal + (1 - reveal) H(epsilon; mu)
double covered_at(double epsilon, double mu, double delta0) {
  return delta0 + (1 - delta0) * gdp_delta_up(epsilon, mu);
}

// How many of a dense grid of epsilon, from 0 to far beyond where the profile passes the reveal,
// have more delta than the cover.
int violations(const Profile& profile, double mu, double delta0, double last, int count) {
  int out = 0;
  for (int i = 0; i <= count; ++i) {
    const double epsilon = 1.5 * last * i / count;
    if (profile(epsilon) > covered_at(epsilon, mu, delta0) * (1 + 1e-14)) ++out;
  }
  return out;
}

double where_below(const Profile& profile, double delta0) {
  double lo = 0, hi = 1;
  while (profile(hi) > delta0) hi *= 2;
  for (int i = 0; i < 40; ++i) (profile((lo + hi) / 2) > delta0 ? lo : hi) = (lo + hi) / 2;
  return hi;
}

struct Pair {
  const char* name;
  Profile claim, about;
  double least, most;  // of mu at reveal 1e-9
};
std::vector<Pair> pairs() {
  const auto beta = [](double a, double b, double r, std::uint64_t n, Digits digits) {
    return [=](double e) { return beta_delta_up(a, b, r, n, e, digits); };
  };
  const auto gamma = [](double a, double shift, Digits digits) {
    return [=](double e) { return gamma_pair_delta_up(a, shift, e, digits); };
  };
  const auto scale = [](double a, double gap, Digits digits) {
    return [=](double e) { return scale_pair_delta_up(a, gap, e, digits); };
  };
  const auto gaussian = [](double mu) { return [=](double e) { return gdp_delta_up(e, mu); }; };
  constexpr Digits fifty = Digits::fifty, few = Digits::few;
  return {
      // 0.258
      {"Beta(6, 18)", beta(6, 18, 0.404, 100, fifty), beta(6, 18, 0.404, 100, few), 0.25, 0.2581},
      {"Beta(1, 1)", beta(1, 1, 0.09, 1000, fifty), beta(1, 1, 0.09, 1000, few), 0.25, 0.276},
      {"one row", beta(2, 3, 0.1, 1, fifty), beta(2, 3, 0.1, 1, few), 0.1, 0.3},
      {"light rows", beta(5, 5, 1e-6, 3, fifty), beta(5, 5, 1e-6, 3, few), 3e-7, 2e-6},
      {"Gamma(20)", gamma(20, 1, fifty), gamma(20, 1, few), 0.2, 0.28},
      {"Gamma(1)", gamma(1, 1, fifty), gamma(1, 1, few), 1, 2.75},
      {"scales", scale(1e4, 1e-3, fifty), scale(1e4, 1e-3, few), 0.1, 0.103},
      {"a Gaussian", gaussian(0.25), gaussian(0.25), 0.25, 0.2515},
      {"a wide Gaussian", gaussian(3), gaussian(3), 3, 3.04},
      {"a narrow Gaussian", gaussian(1e-5), {}, 0.99e-5, 1.005e-5},
  };
}

TEST(Cover, PureAndBoundedRangesAreThoseOfTheReferenceValues) {
  const auto cases = support::reference_cases("mechanisms_pure_to_gdp");
  if (cases.empty()) GTEST_SKIP() << support::no_reference_values;
  ASSERT_GE(cases.size(), 7U);
  for (const auto& c : cases) {
    const auto number = [&](const char* name) { return support::number(c[name]); };
    EXPECT_NEAR(gdp_cover_up(0, number("epsilon")) / number("mu_pure"), 1, 1e-14) << c;
    EXPECT_NEAR(bounded_range_mu_up(number("epsilon")) / number("mu_bounded_range"), 1, 1e-13) << c;
  }
}

// e^pure Phi(-z) <= Phi(z - mu) in 50 digits, and not at less than a part in 1e12 below.
TEST(Cover, IsTheLeastFixedPointRoundedUp) {
  int met = 0;
  for (const double epsilon0 : {1e-30, 1e-12, 1e-3, 0.1, 1.0, 4.0, 30.0, 600.0}) {
    for (const double mu : {0.0, 1e-9, 1e-3, 0.2, 1.0, 5.0, 50.0}) {
      const auto holds = [&](const Wide& found) {
        return exp(Wide(epsilon0)) * normal_cdf(-found / 2) <= normal_cdf(found / 2 - Wide(mu));
      };
      const double found = gdp_cover_up(mu, epsilon0);
      EXPECT_TRUE(holds(found)) << mu << ' ' << epsilon0;
      EXPECT_GE(found, mu);
      if (mu < 5 && epsilon0 > 1e-9) {
        EXPECT_FALSE(holds(Wide(found) * (1 - Wide(1e-12)))) << mu << ' ' << epsilon0;
      }
      ++met;
    }
  }
  EXPECT_EQ(met, 56);
  EXPECT_EQ(gdp_cover_up(0.7, 0), 0.7);
  EXPECT_EQ(gdp_cover_up(0, 0), 0);
}

// Whether (mu', reveal) lies below what `guarantee` promises at every error of the first kind a,
// G_mu(e^pure a) - reveal, up to where that meets its mirror image.
bool lies_below(double covering, const Guarantee& g) {
  const boost::math::normal law;
  const Wide kept = 1 - Wide(g.delta0);
  for (double y = covering / 2; y < covering / 2 + 8; y += 1.0 / 3) {
    const Wide a = kept * normal_cdf(-Wide(y)), b = exp(Wide(g.epsilon0)) * a;
    if (b > 0.5 && b > 1 - 1e-9) return false;
    const double w = -boost::math::quantile(law, static_cast<double>(b));
    const Wide promised = normal_cdf(Wide(w) - Wide(g.mu)) - Wide(g.delta0);
    const Wide least = kept * normal_cdf(Wide(y) - Wide(covering));
    if (least > promised + Wide(1e-13) + Wide(1e-12) * a) return false;
  }
  return true;
}

TEST(Cover, LiesBelowEveryTradeThatTheGuaranteeAllows) {
  support::Thinned sweep(5);
  int met = 0;
  for (const double mu : {0.0, 0.05, 0.8}) {
    for (const double epsilon0 : {0.0, 0.3, 1.0}) {
      for (const double delta0 : {0.0, 1e-6, 0.05}) {
        if (sweep.skips() || (mu == 0 && epsilon0 == 0)) continue;
        const Guarantee g{mu, epsilon0, delta0, 1e-9, {Adjacency::add_remove, 2}};
        const Guarantee covered = gdp_cover_up(g);
        EXPECT_EQ(covered.epsilon0, 0);
        EXPECT_EQ(covered.delta0, delta0);
        EXPECT_EQ(covered.tv, g.tv);
        EXPECT_EQ(covered.who, g.who);
        EXPECT_TRUE(lies_below(covered.mu, g)) << mu << ' ' << epsilon0 << ' ' << delta0;
        if (delta0 < 0.01) {  // nothing smaller: a planted 1 % less
          EXPECT_FALSE(lies_below(covered.mu * 0.99, g)) << mu << ' ' << epsilon0 << ' ' << delta0;
        }
        ++met;
      }
    }
  }
  EXPECT_GE(met, support::repeats(24, 4));
}

TEST(Cover, SaysWhereNothingIsPromised) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(gdp_cover_up(61, 1), infinity);
  EXPECT_EQ(gdp_cover_up(1, 651), infinity);
  EXPECT_EQ(gdp_cover_up(infinity, 0), infinity);
  EXPECT_EQ(gdp_cover_up(Guarantee{1, 0, 1}).mu, infinity);
  EXPECT_EQ(gdp_cover_up(Guarantee{0.01, 13, 0.3}).mu, infinity);  // delta(0) is above 1
  EXPECT_THROW(gdp_cover_up(-1, 1), BadInput);
  EXPECT_THROW(gdp_cover_up(1, -1), BadInput);
  EXPECT_THROW(gdp_cover_up(1, std::nan("")), BadInput);
  EXPECT_THROW(gdp_cover_up(Guarantee{1, 0, std::nan("")}), BadInput);
}

TEST(Fit, NeverLiesBelowTheProfile) {
  support::Thinned sweep(7);
  for (const Pair& pair : pairs()) {
    if (sweep.skips()) continue;
    constexpr double delta0 = 1e-9;
    int claims = 0;
    const double mu =
        gdp_fit_up([&](double e) { return ++claims, pair.claim(e); }, delta0, pair.about);
    EXPECT_GE(mu, pair.least) << pair.name;
    EXPECT_LE(mu, pair.most) << pair.name;
    EXPECT_LE(claims, pair.about ? 60 : 120) << pair.name;
    const double last = where_below(pair.claim, delta0);
    EXPECT_EQ(violations(pair.claim, mu, delta0, last, 150), 0) << pair.name;
    // Not by being too large: 2 % less is too little somewhere.
    EXPECT_GT(violations(pair.claim, mu * 0.98, delta0, last, 150), 0) << pair.name;
  }
}

TEST(Fit, IsNeverWorseThanThePointThatItStartsFrom) {
  // One point, at the reveal: (epsilon, delta)-privacy alone.
  for (const double epsilon : {0.1, 1.0, 5.0}) {
    const std::vector<ProfilePoint> one{{epsilon, 1e-6}};
    EXPECT_NEAR(gdp_fit_up(one, 1e-6) / gdp_cover_up(0, epsilon), 1, 1e-3);
    EXPECT_GE(gdp_fit_up(one, 1e-6), gdp_cover_up(0, epsilon));
  }
}

TEST(Fit, LargerRevealsNeedLess) {
  const Profile claim = [](double e) { return beta_delta_up(6, 18, 0.404, 100, e); };
  double before = std::numeric_limits<double>::infinity();
  for (const double delta0 : {1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4}) {
    const double mu = gdp_fit_up(claim, delta0);
    EXPECT_LT(mu, before) << delta0;
    before = mu;
  }
}

// Mistakes that a fit on a grid can make, and what refuses them.
TEST(Fit, RefusesPlantedMistakes) {
  constexpr double delta0 = 1e-9;
  const Profile claim = [](double e) { return beta_delta_up(6, 18, 0.404, 100, e); };
  const double mu = gdp_fit_up(claim, delta0), last = where_below(claim, delta0);
  // delta compared at the grid's points alone, of which there are few: in between it is larger.
  const std::vector<ProfilePoint> few{{0, claim(0)}, {last, claim(last)}};
  double at_points = 0.01;
  while (covered_at(0, at_points, delta0) < claim(0)) at_points *= 1.01;
  EXPECT_LT(at_points, 0.95 * mu);
  EXPECT_GT(violations(claim, at_points, delta0, last, 150), 0);
  EXPECT_FALSE(gdp_covers(at_points, delta0, few));
  EXPECT_GT(gdp_fit_up(few, delta0), mu);
  // The last cell left open: delta beyond it is above the reveal for ever.
  const std::vector<ProfilePoint> open{{0, 0.1}, {1, 1e-3}, {2, 1e-8}};
  EXPECT_FALSE(gdp_covers(30, delta0, open));
  EXPECT_EQ(gdp_fit_up(open, delta0), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(gdp_covers(30, 1e-8, open));
  // The first one left open: nothing is known of epsilon below 5.
  const std::vector<ProfilePoint> late{{5, 1e-12}};
  EXPECT_FALSE(gdp_covers(4.9, delta0, late));
  EXPECT_TRUE(gdp_covers(4.95, delta0, late));
  // Points that are none.
  const std::vector<ProfilePoint> turned{{1, 1e-3}, {0.5, 1e-10}}, sure{{0, 1}, {1, 1e-10}},
      negative{{-1, 0.5}, {1, 1e-10}}, nothing{}, unknown{{1, std::nan("")}};
  for (const auto* points : {&turned, &sure, &negative, &nothing, &unknown}) {
    EXPECT_FALSE(gdp_covers(30, delta0, *points));
  }
  EXPECT_THROW(gdp_covers(0, delta0, few), BadInput);
  EXPECT_THROW(gdp_covers(1, 0, few), BadInput);
  EXPECT_THROW(gdp_fit_up(few, 1), BadInput);
}

// Two steps of (1, 1e-9) are not one of (2, 2e-9): what the first reveals with probability 1e-9 the
// second can have made 290 times as likely (docs/theory/gdp-fit.md, "Never doubled").
TEST(Fit, TwoStepsAreNotDoubled) {
  constexpr double mu = 1, delta0 = 1e-9;
  const auto step = [](double e) { return delta0 + (1 - delta0) * gdp_delta_up(e, mu); };
  const Profile two = [&](double e) {
    double least = 1;
    for (double first = 0; first <= e; first += e / 64) {
      least = std::min(least, step(first) + std::exp(first) * step(e - first));
      if (e == 0) break;
    }
    return least;
  };
  // The middle law has 1e-9 on an event that the third has not: the first may have this on it.
  const double event =
      static_cast<double>(normal_cdf(Wide(mu) - Wide("5.99780701500768716")));  // Phi^-1(1 - 1e-9)
  EXPECT_NEAR(event, 2.9e-7, 1e-8);
  EXPECT_GT(event, 2 * delta0 + gdp_delta_up(40, 2 * mu));  // the doubled claim is violated
  EXPECT_GE(two(40), event);
  EXPECT_EQ(gdp_fit_up(two, 2 * delta0), std::numeric_limits<double>::infinity());
  const double fitted = gdp_fit_up(two, 1e-6);
  EXPECT_GT(fitted, 1.9);
  EXPECT_LT(fitted, 2.5);
}

TEST(Fit, SaysSoWhereThereIsNone) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  // A prior so weak that what one count tells has no end below 600.
  EXPECT_EQ(gdp_fit_up([](double e) { return gamma_pair_delta_up(0.01, 1, e); }, 1e-9), infinity);
  EXPECT_EQ(gdp_fit_up([](double) { return 1.0; }, 1e-9), infinity);
  EXPECT_EQ(gdp_fit_up([](double) { return 1e-3; }, 1e-9), infinity);
  // A search that is wrong may not become a claim: it sees a hundredth of the profile.
  const Profile claim = [](double e) { return gdp_delta_up(e, 0.5); };
  const double misled = gdp_fit_up(claim, 1e-9, [&](double e) { return claim(e) / 100; });
  EXPECT_TRUE(misled == infinity ||
              violations(claim, misled, 1e-9, where_below(claim, 1e-9), 400) == 0)
      << misled;
  EXPECT_THROW(gdp_fit_up(claim, 0), BadInput);
  EXPECT_THROW(gdp_fit_up(claim, 1), BadInput);
}

}  // namespace gdp_fit_test
}  // namespace gibbsite
