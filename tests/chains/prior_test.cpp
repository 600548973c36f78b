#include "gibbsite/chains/prior.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "gibbsite/chains/potential.hpp"

namespace gibbsite {
namespace prior_test {

const Prior priors[] = {{.center = 0, .scale = 1},
                        {.center = -2, .scale = 0.3},
                        {.center = 1, .scale = 2, .degrees = 1},
                        {.center = 0.5, .scale = 0.7, .degrees = 3},
                        {.center = 0, .scale = 1, .degrees = 200}};

// The densities by their formulas; 1e-13 of a value of at most some hundreds.
TEST(Prior, IsMinusTheLogDensity) {
  for (const Prior& p : priors) {
    for (const double theta : {-7.0, -2.0, 0.0, 0.4, 1.0, 9.0}) {
      const double r = (theta - p.center) / p.scale;
      const double density = p.is_normal() ? std::exp(-r * r / 2)
                                           : std::pow(1 + r * r / p.degrees, -(p.degrees + 1) / 2);
      if (density > 0) {
        EXPECT_NEAR(p.value(theta), -std::log(density), 1e-11);
      }
    }
    EXPECT_EQ(p.value(p.center), 0);
  }
}

// Central differences: truncation of the third derivative times s^2, at most 1e-8 here.
TEST(Prior, DerivativeIsTheValues) {
  for (const Prior& p : priors) {
    for (const double theta : {-7.0, -2.0, 0.1, 0.4, 1.0, 9.0}) {
      const double s = 1e-5;
      EXPECT_NEAR(p.derivative(theta), (p.value(theta + s) - p.value(theta - s)) / (2 * s), 1e-6);
    }
  }
}

// Where Student's t is not convex too.
TEST(Prior, QuadraticOfItsCurvatureIsNowhereBelow) {
  for (const Prior& p : priors) {
    for (const double at : {-30.0, -2.0, 0.1, 1.0, 5.0}) {
      const double w = p.curvature(at);
      EXPECT_GT(w, 0);
      for (const double to : {-100.0, -3.0, -0.5, 0.0, 0.7, 2.0, 40.0}) {
        const double above =
            p.value(at) + p.derivative(at) * (to - at) + w / 2 * (to - at) * (to - at);
        EXPECT_LE(p.value(to), above + 1e-12 * std::abs(above)) << at << " " << to;
      }
    }
    // The second derivative of a t is below 0 where r^2 = 400 is above its degrees.
    const double s = 1e-3, far = p.center + 20 * p.scale;
    const double second = (p.derivative(far + s) - p.derivative(far - s)) / (2 * s);
    EXPECT_EQ(second < 0, !p.is_normal()) << p.degrees;
    EXPECT_NEAR(
        p.curvature(p.center),
        p.degrees < 1e9 ? (p.degrees + 1) / p.degrees / p.scale / p.scale : 1 / p.scale / p.scale,
        1e-12 / p.scale / p.scale);
  }
}

struct Instance {
  std::vector<float> x{1, 0.5F, -1, 2, 0.25F, -0.75F, 1, 1, -2, 0.5F}, y{1, 1, -1, 1, -1};
  [[nodiscard]] Potential potential(std::span<const Prior> given) const {
    Potential u{
        make_backend("reference")->load({x.data(), 5, 2}, y, loss_named("logistic")), 1.5, 0, {}};
    u.priors = given;
    return u;
  }
};

TEST(Prior, GradientAndHessianOfAPotential) {
  const Instance p;
  const std::vector<Prior> given{{.center = 3, .scale = 0.5},
                                 {.center = -1, .scale = 2, .degrees = 4}};
  const Potential u = p.potential(given);
  std::vector<double> g(2), up(2), down(2);
  const std::vector<double> theta{0.3, -0.6};
  u.gradient(theta, g);
  const double s = 1e-5;
  const auto h = hessian(u, theta), diagonal = hessian_diagonal(u, theta);
  for (std::size_t j = 0; j < 2; ++j) {
    auto higher = theta, lower = theta;
    higher[j] += s;
    lower[j] -= s;
    EXPECT_NEAR(g[j], (u.value(higher) - u.value(lower)) / (2 * s), 1e-6);
    u.gradient(higher, up);
    u.gradient(lower, down);
    // The second derivative, but of the t its majorizer's.
    const double own = (up[j] - down[j]) / (2 * s);
    const double second =
        (given[j].derivative(higher[j]) - given[j].derivative(lower[j])) / (2 * s);
    EXPECT_NEAR(h[j * 2 + j], own - second + given[j].curvature(theta[j]), 1e-5);
    EXPECT_NEAR(diagonal[j], h[j * 2 + j], 1e-12);
  }
  EXPECT_EQ(u.least_precision(), 5.0 / 4 / 4);
}

// A normal by name is the prior precision of old, and Newton's steps find modes that are no
// minimum of a convex function.
TEST(Prior, TheMinimizerIsFound) {
  const Instance p;
  const std::vector<Prior> same(2, {.center = 0, .scale = 1 / std::sqrt(0.3)});
  Potential old = p.potential({});
  old.prior_precision = 0.3;
  const Minimum a = minimize(old, 1e-12), b = minimize(p.potential(same), 1e-12);
  for (std::size_t j = 0; j < 2; ++j) EXPECT_NEAR(a.theta[j], b.theta[j], 1e-11);
  for (const double degrees : {0.5, 1.0, 3.0}) {
    const std::vector<Prior> heavy{{.center = 8, .scale = 0.1, .degrees = degrees},
                                   {.center = -9, .scale = 0.2, .degrees = degrees}};
    const Potential u = p.potential(heavy);
    const Minimum found = minimize(u, 1e-9);
    EXPECT_LE(found.gradient_norm, 1e-9) << degrees;
    for (const double away : {-0.01, 0.01}) {
      for (std::size_t j = 0; j < 2; ++j) {
        auto theta = found.theta;
        theta[j] += away;
        EXPECT_GT(u.value(theta), u.value(found.theta));
      }
    }
  }
}

}  // namespace prior_test
}  // namespace gibbsite
