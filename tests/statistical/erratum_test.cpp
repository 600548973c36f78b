// docs/theory/dalalyan.md: the iteration count printed by Minami et al. (NIPS 2016, eq. 17; m to
// the first power) misses its own total-variation target, the corrected one keeps it. Nothing here
// is random.
//
// The step is tiny (h ~ 1e-8) and the count huge (1e7 to 3e10), so the law is not carried on a
// lattice of spacing sqrt(2h) but as a smooth density in a sinc basis: one exact step
//   p'(x) = E_xi[ p(g(x - sqrt(2h) xi)) g'(x - sqrt(2h) xi) ],   g = phi^-1, phi = id - h U',
// is a matrix A = I + E on its values at 240 points, and A^K comes from repeated squaring of
// E -> 2E + E^2, which keeps the digits that I + E would lose.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>

#include "gibbsite/mechanism/dalalyan.hpp"
#include "gibbsite/model/losses/logistic.hpp"
#include "statistical/quadrature.hpp"
#include "support/printed_count.hpp"

namespace gibbsite {
namespace erratum_test {

constexpr double beta = 2, m = 0.05, M = 0.55;  // one row (1, +1): M = beta/4 + m
constexpr double lowest = -22, spacing = 0.25;  // mass outside: below 1e-15
constexpr Eigen::Index points = 248;

double U(double t) { return beta * losses::logistic::value(t, 1.0) + 0.5 * m * t * t; }
double slope(double t) { return beta * losses::logistic::derivative(t, 1.0) + m * t; }
double curvature(double t) { return beta * losses::logistic::second_derivative(t, 1.0) + m; }
double node(Eigen::Index i) { return lowest + spacing * static_cast<double>(i); }

double minimizer() {
  double t = 0;
  for (int i = 0; i < 50; ++i) t -= slope(t) / curvature(t);
  return t;
}

/// sinc(x / spacing): interpolates node values; its error is the spectrum beyond pi / spacing,
/// exp(-pi^2 / spacing) = 7e-18 for a density with poles at distance pi.
double sinc(double x) {
  const double z = std::numbers::pi * x / spacing;
  return std::fabs(z) < 1e-8 ? 1 - z * z / 6 : std::sin(z) / z;
}

/// E = A - I of one step.
Eigen::MatrixXd step_minus_identity(double h) {
  // E over xi by Gauss-Hermite with 5 nodes: the density varies over 1, the noise over sqrt(2h) <
  // 0.004.
  const double a = std::sqrt(5 - std::sqrt(10.0)), b = std::sqrt(5 + std::sqrt(10.0));
  const double wa = (7 + 2 * std::sqrt(10.0)) / 60, wb = (7 - 2 * std::sqrt(10.0)) / 60;
  const double xi[5] = {0, a, -a, b, -b}, weight[5] = {8.0 / 15, wa, wa, wb, wb};
  Eigen::MatrixXd E = -Eigen::MatrixXd::Identity(points, points);
  for (Eigen::Index i = 0; i < points; ++i) {
    for (int k = 0; k < 5; ++k) {
      const double u = node(i) - std::sqrt(2 * h) * xi[k];
      double x = u;
      for (int newton = 0; newton < 6; ++newton) {
        x -= (x - h * slope(x) - u) / (1 - h * curvature(x));
      }
      const double density = weight[k] / (1 - h * curvature(x));
      for (Eigen::Index j = 0; j < points; ++j) E(i, j) += density * sinc(x - node(j));
    }
  }
  return E;
}

/// A^count p.
Eigen::VectorXd advance(Eigen::MatrixXd E, double count, Eigen::VectorXd p) {
  for (auto k = static_cast<std::uint64_t>(count); k > 0; k /= 2) {
    if (k % 2 == 1) p += E * p;
    if (k > 1) E = (2 * E + E * E).eval();
  }
  return p;
}

/// 1/2 integral |p - q| from node values, on a 16 times finer grid for the kinks.
double total_variation(const Eigen::VectorXd& p, const Eigen::VectorXd& q) {
  const Eigen::VectorXd difference = p - q;
  double sum = 0;
  for (Eigen::Index fine = 0; fine < 16 * points; ++fine) {
    const double x = lowest + spacing * static_cast<double>(fine) / 16;
    double value = 0;
    for (Eigen::Index j = 0; j < points; ++j) value += difference(j) * sinc(x - node(j));
    sum += std::fabs(value) * spacing / 16;
  }
  return sum / 2;
}

struct Laws {
  Eigen::VectorXd start, target;
};

Laws laws() {
  Laws out{Eigen::VectorXd(points), Eigen::VectorXd(points)};
  const double mode = minimizer();
  for (Eigen::Index i = 0; i < points; ++i) {
    const double t = node(i);
    out.start(i) = std::exp(-M / 2 * (t - mode) * (t - mode));
    out.target(i) = std::exp(U(mode) - U(t));
  }
  out.start /= spacing * out.start.sum();  // trapezoid: exact to 1e-15 at this spacing
  out.target /= spacing * out.target.sum();
  return out;
}

/// TV between the law after `count` steps of size h from N(theta*, 1/M) and the posterior.
double distance_after(double h, double count) {
  const Laws law = laws();
  const Eigen::VectorXd p = advance(step_minus_identity(h), count, law.start);
  EXPECT_NEAR(spacing * p.sum(), 1, 1e-5);  // rounding: 3e-16 per step and 3e10 steps
  return total_variation(p, law.target);
}

TEST(Erratum, PrintedCountMissesItsTargetCorrectedCountKeepsIt) {
  for (const auto& [tv, as_printed] : {std::pair{0.02, 0.071}, std::pair{0.001, 0.036}}) {
    const DalalyanSchedule schedule = dalalyan_schedule(1, m, M, tv);
    const double printed = support::dalalyan_iterations_as_printed(1, m, M, tv);
    EXPECT_NEAR(distance_after(schedule.step_size, printed), as_printed, 1e-3);
    EXPECT_LT(distance_after(schedule.step_size, schedule.iterations), 0.01 * tv);
  }
}

// The sinc basis against the lattice of quadrature.hpp, where both can be used.
TEST(Erratum, TwoQuadraturesAgree) {
  const double h = 5e-3;
  quadrature::ChainLaw lattice(slope, 1.0, h, 2);
  for (int t = 1; t < 300; ++t) lattice.step();  // smooth enough for the sinc basis
  const auto values = [&] {
    Eigen::VectorXd p(points);
    for (Eigen::Index i = 0; i < points; ++i) p(i) = lattice.law().density(node(i));
    return p;
  };
  const Eigen::VectorXd before = values();
  for (int t = 0; t < 300; ++t) lattice.step();
  EXPECT_GT((values() - before).lpNorm<Eigen::Infinity>(), 0.02);
  EXPECT_LT((values() - advance(step_minus_identity(h), 300, before)).lpNorm<Eigen::Infinity>(),
            1e-10);
}

}  // namespace erratum_test
}  // namespace gibbsite
