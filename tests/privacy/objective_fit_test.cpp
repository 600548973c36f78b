#include "gibbsite/privacy/objective_fit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "support/repeats.hpp"

namespace gibbsite {
namespace objective_fit_test {

// psi of docs/theory/objective-perturbation.md, Theorem 1, from `high` down to `high` - s with a
// slope of -t that begins at `from`: what rows of one direction shift the noise by.
struct Ramp {
  double high, s, t, from;
  [[nodiscard]] double at(double y) const { return high - std::clamp(t * (y - from), 0.0, s); }
  [[nodiscard]] double fall(double y) const { return y > from && y < from + s / t ? t : 0; }
  // Density of Y = X + psi(Y), X ~ N(0, 1).
  [[nodiscard]] double density(double y) const {
    const double z = y - at(y);
    return std::exp(-z * z / 2) / std::sqrt(8 * std::atan(1.0)) * (1 + fall(y));
  }
};
constexpr double nowhere = 1e9;  // where a ramp begins that is flat

std::vector<double> density_on(const Ramp& ramp, double step) {
  std::vector<double> out;
  for (double y = -14; y < 14; y += step) out.push_back(ramp.density(y));
  return out;
}

double hockey_stick_on(const std::vector<double>& p, const std::vector<double>& q, double epsilon,
                       double step) {
  double sum = 0;
  const double x = std::exp(epsilon);
  for (std::size_t i = 0; i < p.size(); ++i) sum += std::max(0.0, p[i] - x * q[i]);
  return sum * step;
}

// Over a grid of epsilon, how often laws of neighbors are further apart than the pair says.
int laws_beyond(double mu, double delta0, const std::vector<Ramp>& some,
                const std::vector<Ramp>& others) {
  constexpr double step = 1.0 / 256;
  int out = 0;
  for (const Ramp& a : some) {
    const std::vector<double> p = density_on(a, step);
    for (const Ramp& b : others) {
      const std::vector<double> q = density_on(b, step);
      for (double epsilon = 0; epsilon < 3; epsilon += 1.0 / 8) {
        const double most = (delta0 + (1 - delta0) * gdp_delta_up(epsilon, mu)) * (1 + 1e-4);
        out += (hockey_stick_on(p, q, epsilon, step) > most ? 1 : 0) +
               (hockey_stick_on(q, p, epsilon, step) > most ? 1 : 0);
      }
    }
  }
  return out;
}

// Rows taken away, or put in instead: psi in [0, s], in [-s, 0]; in [-s, s] of two-signed losses.
std::vector<Ramp> ramps(double low, double s, double t) {
  std::vector<Ramp> out{{low + s, s, t, nowhere}};
  for (const double from : {0.0, 2.0, 3.0, 4.0}) out.push_back({low + s, s, t, from});
  return out;
}
const std::vector<Ramp> no_row{{0, 0, 1, nowhere}};

// 0.261, 0.302, 0.297.
TEST(ObjectiveFit, IsThatOfTheReferenceExamples) {
  const Neighbors who{Adjacency::add_remove, 1};
  const double most[] = {0.2505, 0.295, 0.290};
  int i = 0;
  for (const double t : {0.02, 0.1, 0.25}) {
    const ObjectiveScale scale = objective_scale_down({1, t, true}, 1, 1e-6, who);
    const double mu = objective_fit_up({scale.s, t, true}, who, 1e-9);
    EXPECT_LE(mu, most[i++]) << t;
    EXPECT_GE(mu, 0.237) << t;  // of the Gaussian mechanism with that (epsilon, delta)
  }
}

TEST(ObjectiveFit, IsTheGaussianWhereThereIsNoCurvature) {
  for (const auto adjacency : {Adjacency::add_remove, Adjacency::replace_one}) {
    for (const std::uint64_t rows : {1ULL, 3ULL}) {
      const double s = 0.1, steps = adjacency == Adjacency::add_remove ? 1.0 : 2.0;
      const double exact = s * steps * static_cast<double>(rows);
      const double mu = objective_fit_up({s, 1e-10, true}, {adjacency, rows}, 1e-9);
      EXPECT_GT(mu, exact * 0.9999) << rows;
      EXPECT_LT(mu, exact * 1.01) << rows;
    }
  }
}

// Rows without curvature shift the noise: by s each, away from it and toward it again. No point
// may lie below that law's profile, and few far above.
TEST(ObjectiveFit, ChainsAreAboveAndNearTheLawsOfSeveralRows) {
  int near = 0, met = 0;
  support::Thinned sweep(5);
  for (const auto adjacency : {Adjacency::add_remove, Adjacency::replace_one}) {
    for (const std::uint64_t rows : {1ULL, 2ULL, 5ULL}) {
      const double steps = adjacency == Adjacency::add_remove ? 1.0 : 2.0;
      for (const double s : {0.05, 0.4}) {
        if (sweep.skips()) continue;
        const double exact = s * steps * static_cast<double>(rows);
        for (const ProfilePoint& p :
             objective_profile_up({s, 1e-10, true}, {adjacency, rows}, 1e-9)) {
          const double least = gdp_delta_up(p.epsilon, exact);
          EXPECT_GE(p.delta, least * (1 - 1e-12)) << rows << ' ' << s << ' ' << p.epsilon;
          near += p.delta < 1.2 * least ? 1 : 0;
          ++met;
        }
      }
    }
  }
  EXPECT_GE(met, support::repeats(600, 60));
  EXPECT_GE(near, met * 9 / 10);
}

TEST(ObjectiveFit, CoversExactLawsOfNeighbors) {
  if (support::sanitized) GTEST_SKIP() << "a release tells";
  constexpr double delta0 = 1e-9;
  int met = 0;
  for (const bool one_signed : {true, false}) {
    for (const double t : {0.05, 0.25, 1.0}) {
      for (const double s : {0.05, 0.25}) {
        for (const std::uint64_t rows : {1ULL, 3ULL}) {
          const auto k = static_cast<double>(rows);
          // Rows of one direction: their psi add.
          const double low = one_signed ? 0 : -k * s, wide = (one_signed ? 1 : 2) * k * s;
          const ObjectivePair pair{s, t, one_signed};
          const double one = objective_fit_up(pair, {Adjacency::add_remove, rows}, delta0);
          const double two = objective_fit_up(pair, {Adjacency::replace_one, rows}, delta0);
          ASSERT_TRUE(std::isfinite(one) && std::isfinite(two)) << s << ' ' << t;
          EXPECT_EQ(laws_beyond(one, delta0, ramps(low, wide, k * t), no_row), 0) << s << ' ' << t;
          EXPECT_EQ(laws_beyond(two, delta0, ramps(low, wide, k * t),
                                ramps(one_signed ? -wide : low, wide, k * t)),
                    0)
              << s << ' ' << t << ' ' << rows;
          EXPECT_LT(one, two);
          met += rows == 1 && t > 0.1 && one_signed ? 1 : 0;
          // A planted claim: without the determinant.
          if (one_signed && rows == 1 && t == 1) {
            const double flat = objective_fit_up({s, 1e-10, true}, {}, delta0);
            EXPECT_GT(laws_beyond(flat / 2, delta0, ramps(low, wide, t), no_row), 0) << s;
          }
        }
      }
    }
  }
  EXPECT_GE(met, 4);
}

TEST(ObjectiveFit, GrowsWithWhatARowCanDo) {
  if (support::sanitized) GTEST_SKIP() << "a release tells";
  const Neighbors who{};
  double before = 0;
  for (const double s : {1e-3, 1e-2, 0.1, 0.5, 2.0}) {
    const double mu = objective_fit_up({s, 0.1, true}, who, 1e-9);
    EXPECT_GT(mu, before) << s;
    before = mu;
  }
  before = 0;
  for (const double t : {1e-3, 1e-2, 0.1, 0.5, 2.0, 10.0}) {
    const double mu = objective_fit_up({0.1, t, true}, who, 1e-9);
    EXPECT_GT(mu, before) << t;
    before = mu;
  }
  EXPECT_EQ(objective_fit_up({0.1, 0.1, true, Calibration::redberg}, who, 1e-9),
            objective_fit_up({0.1, 0.1, true, Calibration::exact}, who, 1e-9));
}

TEST(ObjectiveFit, EndsAtItsLimits) {
  const Neighbors who{}, many{Adjacency::replace_one, most_fitted_rows + 1};
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(objective_fit_up({0.1, 0.1, true}, many, 1e-9), infinity);
  EXPECT_EQ(objective_fit_up({100, 0.1, true}, who, 1e-9), infinity);
  EXPECT_EQ(objective_fit_up({0.1, 1e300, true}, who, 1e-9), infinity);
  for (const double delta0 : {1e-300, 1e-30, 0.9}) {
    EXPECT_GT(objective_fit_up({1e-6, 1e-6, false}, who, delta0), 0) << delta0;
  }
  EXPECT_THROW(objective_fit_up({0, 0.1, true}, who, 1e-9), BadInput);
  EXPECT_THROW(objective_fit_up({0.1, 0, true}, who, 1e-9), BadInput);
  EXPECT_THROW(objective_fit_up({0.1, 0.1, true}, who, 0), BadInput);
  EXPECT_THROW(objective_fit_up({0.1, 0.1, true}, {Adjacency::replace_one, 0}, 1e-9), BadInput);
}

}  // namespace objective_fit_test
}  // namespace gibbsite
