// Nothing beats the certificate: the exact laws of a chain on D and on a neighbor D', by
// quadrature, against the curve delta(epsilon; mu_T) of the path certificate (docs/theory/path.md).
//
// Nothing here is random. "Beats" means: delta by quadrature exceeds the certificate's by more than
// the quadrature's own error (the change when the grid is halved, and the mass that is missing).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "gibbsite/core/problem.hpp"
#include "gibbsite/mechanism/path.hpp"
#include "gibbsite/model/loss.hpp"
#include "gibbsite/model/losses.hpp"
#include "statistical/exact_curve.hpp"
#include "statistical/quadrature.hpp"

namespace gibbsite {
namespace certificate_test {

using quadrature::HockeyStick;
using quadrature::Slope;

/// A row of a logistic regression in two parameters, the second one frozen at a public value:
/// z = x theta + offset. With a far negative offset the gradient is saturated, which is what lets
/// two rows reach the gradient difference 2 beta L; in one free dimension they stop at 1.052 beta
/// L.
struct Row {
  double x = 1, y = 1, offset = 0;
};

/// One row of each kind of neighbor: `before` is replaced by `after` (shorter: removed).
struct Neighbor {
  std::string name;
  std::vector<Row> before, after;
};

struct Chain {
  double beta = 1, m = 0, h = 1;
};

template <class F>
Slope slope_of(std::vector<Row> rows, const Chain& chain) {
  return [rows = std::move(rows), chain](double theta) {
    double sum = 0;
    for (const Row& row : rows) sum += F::derivative(row.x * theta + row.offset, row.y) * row.x;
    return chain.beta * sum + chain.m * theta;
  };
}
Slope logistic_slope(std::vector<Row> rows, const Chain& chain) {
  return slope_of<losses::logistic>(std::move(rows), chain);
}

std::vector<Row> joined(std::vector<Row> rows, const std::vector<Row>& more) {
  rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

Problem logistic_constants(std::uint64_t rows) {
  return {.rows = rows, .features = 1, .prior_precision = {}};
}

/// Both laws on two lattices; the coarse one prices the error.
struct Laws {
  quadrature::ChainLaw d, neighbor, d_coarse, neighbor_coarse;
  Laws(const Slope& u, const Slope& v, double h)
      : d(u, 0, h, 2),
        neighbor(v, 0, h, 2),
        d_coarse(u, 0, h, 1.5),
        neighbor_coarse(v, 0, h, 1.5) {}
  void step() { d.step(), neighbor.step(), d_coarse.step(), neighbor_coarse.step(); }
};

std::vector<Exact> exact_curve(const Laws& laws, const std::vector<double>& epsilons) {
  const HockeyStick fine(laws.d, laws.neighbor), coarse(laws.d_coarse, laws.neighbor_coarse);
  const double lost = std::fabs(1 - laws.d.mass()) + std::fabs(1 - laws.neighbor.mass());
  std::vector<Exact> out;
  for (const double epsilon : epsilons) {
    const double delta = fine.delta(epsilon);
    // The mass lost is relative: it is lost where the mass is.
    out.push_back(
        {epsilon, delta, std::fabs(delta - coarse.delta(epsilon)) + (lost + 1e-12) * delta});
  }
  return out;
}

Comparison compare(const Laws& laws, double mu) {
  return compare(exact_curve(laws, epsilons_about(mu)), mu);
}

std::vector<Neighbor> neighbors(std::mt19937_64& random) {
  std::uniform_real_distribution<double> x(-1, 1);
  return {
      {"label flipped", {{1, 1, 0}}, {{1, -1, 0}}},  // difference beta L at every theta
      {"worst in one dimension", {{1, 1, 0}}, {{-0.3, 1, 0}}},
      {"random", {{x(random), 1, 0}}, {{x(random), -1, 0}}},
      {"half saturated", {{1, 1, -6}}, {{-1, 1, -6}}},
      {"saturated", {{1, 1, -1e3}}, {{-1, 1, -1e3}}},  // difference 2 beta L at every theta
      {"removed", {{1, 1, -1e3}}, {}},                 // difference beta L
      {"two rows of one person", {{1, 1, -1e3}, {1, 1, -6}}, {{-1, 1, -1e3}, {-1, 1, -6}}},
  };
}

TEST(Certificate, IsNotBeatenByAnyNeighbor) {
  std::mt19937_64 random(20240611);
  std::uniform_real_distribution<double> x(-1, 1);
  double tightest = 0;
  int curves = 0;
  for (const std::uint64_t n : {1U, 2U, 5U, 20U}) {
    const Problem constants = logistic_constants(n);
    for (const Neighbor& pair : neighbors(random)) {
      if (pair.before.size() > n) continue;
      const auto adjacency = pair.after.empty() ? Adjacency::add_remove : Adjacency::replace_one;
      std::vector<Row> shared;
      for (std::size_t i = pair.before.size(); i < n; ++i) {
        shared.push_back({x(random), random() % 2 ? 1.0 : -1.0, 0});
      }
      for (const double beta : {0.5, 2.0}) {
        for (const double m : {0.0, 0.15}) {
          const double M = constants.smoothness_up(beta, m);
          const double S = constants.sensitivity_up(beta, adjacency, pair.before.size());
          // A short step, the edge of 2/(M+m), the edge of 2/M.
          for (const double h : {0.1 / M, 2 / (M + m) * (1 - 1e-12), 2 / M * (1 - 1e-12)}) {
            const Chain chain{beta, m, h};
            Laws laws(logistic_slope(joined(shared, pair.before), chain),
                      logistic_slope(joined(shared, pair.after), chain), h);
            for (int T = 1; T <= 100; ++T) {
              if (T > 1) laws.step();
              if (T != 1 && T != 2 && T != 5 && T != 20 && T != 100) continue;
              const double mu = path_mu_up(S, m, M, h, T);
              if (mu > 5) break;  // no privacy left, and tails beyond the reach of the grid
              const Comparison found = compare(laws, mu);
              ASSERT_FALSE(found.beaten) << pair.name << ", n " << n << ", beta " << beta << ", m "
                                         << m << ", h M " << h * M << ", T " << T << ", mu " << mu;
              ASSERT_LE(found.error, 1e-6);
              tightest = std::max(tightest, found.tightness);
              ++curves;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(curves, 900);
  EXPECT_NEAR(tightest, 1,
              1e-9);  // some neighbor reaches the curve: the comparison has power
}

// Expects that no exact curve beats the certificate for losses of amounts and counts. Their slopes
// have two signs and their curvature jumps: the quadrature converges more slowly, and its error
// says so.
template <class F>
void expect_not_beaten(const std::vector<Neighbor>& pairs, const std::vector<double>& labels) {
  std::mt19937_64 random(20240612);
  std::uniform_real_distribution<double> x(-1, 1);
  double tightest = 0;
  int curves = 0;
  for (const std::uint64_t n : {1U, 6U}) {
    Problem constants{.rows = n, .features = 1, .prior_precision = {}};
    constants.label_bound = 9;
    set_loss(constants, loss_named(F::name));
    for (const Neighbor& pair : pairs) {
      if (pair.before.size() > n) continue;
      const auto adjacency = pair.after.empty() ? Adjacency::add_remove : Adjacency::replace_one;
      std::vector<Row> shared;
      for (std::size_t i = pair.before.size(); i < n; ++i)
        shared.push_back({x(random), labels[random() % labels.size()], 0});
      for (const double m : {0.0, 0.15}) {
        const double beta = 0.7, M = constants.smoothness_up(beta, m);
        const double S = constants.sensitivity_up(beta, adjacency, pair.before.size());
        for (const double h : {0.1 / M, 2 / M * (1 - 1e-12)}) {
          const Chain chain{beta, m, h};
          Laws laws(slope_of<F>(joined(shared, pair.before), chain),
                    slope_of<F>(joined(shared, pair.after), chain), h);
          for (int T = 1; T <= 20; ++T) {
            if (T > 1) laws.step();
            if (T != 1 && T != 5 && T != 20) continue;
            const double mu = path_mu_up(S, m, M, h, T);
            if (mu > 5) break;
            const Comparison found = compare(laws, mu);
            ASSERT_FALSE(found.beaten) << F::name << ": " << pair.name << ", n " << n << ", m " << m
                                       << ", h M " << h * M << ", T " << T << ", mu " << mu;
            ASSERT_LE(found.error, 0.05) << F::name << ": " << pair.name << " T " << T;
            tightest = std::max(tightest, found.tightness);
            ++curves;
          }
        }
      }
    }
  }
  EXPECT_GT(curves, 50);
  EXPECT_NEAR(tightest, 1, 1e-6) << F::name;
}

TEST(Certificate, OfAmountsAndCountsIsNotBeatenByAnyNeighbor) {
  const std::vector<Neighbor> amounts{
      {"ends of the range", {{1, 9, 1e3}}, {{1, -9, -1e3}}},
      {"ends, in reach", {{1, 9, 0}}, {{1, -9, 0}}},
      {"across the middle", {{1, 0.8, 0}}, {{1, -1.2, 0}}},
      {"another row", {{1, 2, 0}}, {{-0.4, 2, 0}}},
      {"opposite rows", {{1, 3, 0}}, {{-1, 3, 0}}},
      {"removed", {{1, 9, 0}}, {}},
      {"two rows", {{1, 9, 0}, {1, 1, 0}}, {{1, -9, 0}, {1, -1, 0}}}};
  expect_not_beaten<losses::huber>(amounts, {-9, -0.5, 0, 2, 9});
  expect_not_beaten<losses::pseudo_huber>(amounts, {-9, -0.5, 0, 2, 9});
  const std::vector<Neighbor> counts{{"none and all", {{1, 1, 0}}, {{1, 0, 0}}},
                                     {"saturated", {{1, 1, -1e3}}, {{-1, 1, -1e3}}},
                                     {"beyond the mean's end", {{1, 0, 1e3}}, {{-1, 0, 1e3}}},
                                     {"at the mean's end", {{1, 0, 2.3}}, {{-1, 0.5, 2.3}}},
                                     {"removed", {{1, 0, 50}}, {}}};
  expect_not_beaten<losses::poisson>(counts, {0, 0.1, 0.5, 1});
  const std::vector<Neighbor> classes{{"label flipped", {{1, 1, 0}}, {{1, -1, 0}}},
                                      {"saturated", {{1, 1, -1e3}}, {{-1, 1, -1e3}}},
                                      {"at the band's ends", {{1, 1, 1}}, {{-0.5, -1, 0}}}};
  expect_not_beaten<losses::smoothed_hinge>(classes, {-1, 1});
}

// A quadratic loss f = (z - y)^2 / 2 on rows x = +-1: the gradients of neighbors differ by
// beta |y - y'| = 2 beta at every theta, and U has one curvature K = beta n + m, so the laws are
// Gaussians of one variance and the certificate for m = K must be attained.
Slope quadratic_slope(double n, double sum_xy, const Chain& chain) {
  return [=](double theta) { return chain.beta * (n * theta - sum_xy) + chain.m * theta; };
}

TEST(Certificate, QuadraticAttainsItInClosedForm) {
  for (const double n : {1.0, 3.0, 1000.0}) {
    for (const double beta : {0.01, 1.0}) {
      for (const double m : {0.0, 0.5}) {
        for (const double relative : {0.01, 0.5, 1.0}) {
          const long double K = static_cast<long double>(beta) * n + m;
          const auto curvature = static_cast<double>(K);
          const double h = relative / curvature;
          // theta' = (1 - hK) theta + h beta sum xy + sqrt(2h) xi, step by step.
          long double shift = 0, variance = 0;
          for (int T = 1; T <= 2000; ++T) {
            const long double factor = 1 - h * K;
            shift = factor * shift + 2.0L * h * beta;
            variance = factor * factor * variance + 2.0L * h;
            if (T != 1 && T != 2 && T != 5 && T != 20 && T != 100 && T != 2000) continue;
            const auto mu = static_cast<double>(shift / std::sqrt(variance));
            const double claimed = path_mu_up(2 * beta, curvature, curvature, h, T);
            EXPECT_GE(claimed, mu * (1 - 1e-15));
            EXPECT_LE(claimed, mu * (1 + 1e-9)) << "n " << n << ", beta " << beta << ", m " << m
                                                << ", hK " << relative << ", T " << T;
          }
        }
      }
    }
  }
}

// For h > 2/(M+m), c = hM - 1 and the step reverses a difference. No fixed neighbor attains the
// certificate there; one whose gradient difference changes sign at each step does (the theorem
// covers it: it bounds every step alone).
TEST(Certificate, AlternatingDifferenceAttainsItForLongSteps) {
  const double M = 1.0, m = 0.1, S = 0.7;
  for (const double h : {1.85, 1.9, 1.99}) {
    long double shift = 0, variance = 0;
    for (int T = 1; T <= 100; ++T) {
      const long double factor = 1 - static_cast<long double>(h) * M;
      shift = factor * shift + (shift > 0 ? -1 : 1) * static_cast<long double>(S) * h;
      variance = factor * factor * variance + 2.0L * h;
      const auto mu = static_cast<double>(std::fabs(shift) / std::sqrt(variance));
      const double claimed = path_mu_up(S, m, M, h, T);
      EXPECT_GE(claimed, mu * (1 - 1e-15));
      EXPECT_LE(claimed, mu * (1 + 1e-9)) << "h " << h << ", T " << T;
    }
  }
}

TEST(Certificate, QuadraticAttainsItByQuadrature) {
  for (const double relative : {0.1, 1.0}) {
    const Chain chain{0.3, 0.2, relative / (0.3 * 4 + 0.2)};
    const double K = 0.3 * 4 + 0.2;
    Laws laws(quadratic_slope(4, 2, chain), quadratic_slope(4, 0, chain), chain.h);
    for (int T = 1; T <= 20; ++T) {
      if (T > 1) laws.step();
      const Comparison found = compare(laws, path_mu_up(2 * chain.beta, K, K, chain.h, T));
      EXPECT_FALSE(found.beaten) << "T " << T;
      EXPECT_NEAR(found.tightness, 1, 1e-8) << "T " << T;
      EXPECT_NEAR(found.looseness, 1, 1e-8) << "T " << T;
    }
  }
}

// The power of the comparison: certificates with a planted error are beaten, by real logistic rows.
TEST(Certificate, WrongCertificatesAreBeaten) {
  const double beta = 0.8, m = 0.4;
  const int T = 5;
  const Problem one = logistic_constants(1), two = logistic_constants(2);
  const double M = one.smoothness_up(beta, m), h = 0.3 / (M + m);
  const double S = one.sensitivity_up(beta, Adjacency::replace_one, 1);
  const Chain chain{beta, m, h};
  const auto laws_after = [&](const std::vector<Row>& d, const std::vector<Row>& neighbor) {
    Laws laws(logistic_slope(d, chain), logistic_slope(neighbor, chain), h);
    for (int t = 1; t < T; ++t) laws.step();
    return laws;
  };
  const Laws saturated = laws_after({{1, 1, -1e3}}, {{-1, 1, -1e3}});
  const double right = path_mu_up(S, m, M, h, T);
  EXPECT_FALSE(compare(saturated, right).beaten);

  struct Wrong {
    const char* what;
    double mu;
  };
  for (const Wrong& wrong : {
           Wrong{"0.1 % too small", 0.999 * right},
           Wrong{"S without its factor 2 under replace-one",
                 path_mu_up(one.sensitivity_up(beta, Adjacency::add_remove, 1), m, M, h, T)},
           Wrong{"one step forgotten", path_mu_up(S, m, M, h, T - 1)},
           Wrong{"c^(T/2) for c^T", path_mu_up(S, m, M, h, 0.5 * T)},
           Wrong{"noise 2 sqrt(h) for sqrt(2h)", right / std::sqrt(2.0)},
           Wrong{"contraction of M for that of m", path_mu_up(S, M, M, h, T)},
           Wrong{"only the last step counted", path_mu_up(S, m, M, h, 1)},
       }) {
    EXPECT_TRUE(compare(saturated, wrong.mu).beaten) << wrong.what;
  }
  // A certificate that is too large is not beaten, but no longer reached: c^(2T) for c^T.
  const Comparison loose = compare(saturated, path_mu_up(S, m, M, h, 2 * T));
  EXPECT_FALSE(loose.beaten);
  EXPECT_LT(loose.tightness, 1 - 1e-3);

  // A person with two rows under the certificate of one. M is the larger one of n = 2.
  const double M2 = two.smoothness_up(beta, m);
  const Laws person = laws_after({{1, 1, -1e3}, {1, 1, -1e3}}, {{-1, 1, -1e3}, {-1, 1, -1e3}});
  EXPECT_FALSE(
      compare(person, path_mu_up(two.sensitivity_up(beta, Adjacency::replace_one, 2), m, M2, h, T))
          .beaten);
  EXPECT_TRUE(
      compare(person, path_mu_up(two.sensitivity_up(beta, Adjacency::replace_one, 1), m, M2, h, T))
          .beaten);

  // A pair that is not Gaussian has power too.
  const Laws half = laws_after({{1, 1, -4}}, {{-1, 1, -4}});
  EXPECT_TRUE(compare(half, 0.9 * right).beaten);
}

}  // namespace certificate_test
}  // namespace gibbsite
