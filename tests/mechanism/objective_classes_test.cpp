// Objective perturbation of K classes (docs/theory/objective-perturbation.md, Theorem 4): the
// determinant, and exact laws of neighbors of three classes that climb against the profile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/mechanism/objective.hpp"
#include "gibbsite/mechanism/plan.hpp"
#include "gibbsite/model/loss.hpp"
#include "gibbsite/privacy/objective.hpp"
#include "gibbsite/privacy/objective_fit.hpp"
#include "mechanism/objective_pair.hpp"
#include "support/repeats.hpp"

namespace gibbsite {
namespace objective_classes_test {

using Eigen::Matrix2d;
using Eigen::MatrixXd;
using Eigen::Vector2d;
using Eigen::Vector3d;
using Eigen::VectorXd;

constexpr Neighbors add_remove{Adjacency::add_remove, 1}, replace_one{Adjacency::replace_one, 1};

ObjectivePair pair_of(double s, double t) { return {s, t, true, Calibration::exact, 2}; }

MatrixXd hessian(const VectorXd& p) { return MatrixXd(p.asDiagonal()) - p * p.transpose(); }

// log det(I + tau H G) for p anywhere and 0 <= G <= I is at most (K - 1) log(1 + tau/K), which the
// uniform p attains at G = I.
TEST(ObjectiveClasses, TheDeterminantIsThatOfEqualProbabilitiesAtMost) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  for (const Eigen::Index K : {2, 3, 4, 7}) {
    for (const double tau : {0.01, 0.3, 2.0, 50.0}) {
      const auto bound = static_cast<double>(K - 1) * std::log1p(tau / static_cast<double>(K));
      const auto log_det = [&](const VectorXd& p, const MatrixXd& G) {
        return std::log((MatrixXd::Identity(K, K) + tau * hessian(p) * G).determinant());
      };
      const VectorXd equal = VectorXd::Constant(K, 1 / static_cast<double>(K));
      EXPECT_NEAR(log_det(equal, MatrixXd::Identity(K, K)) / bound, 1, 1e-9);
      for (int i = 0; i < support::repeats(2000, 50); ++i) {
        const double spread = i % 3 == 0 ? 0.01 : 2;
        VectorXd p =
            (spread * VectorXd::NullaryExpr(K, [&] { return normal(random); })).array().exp();
        p /= p.sum();
        MatrixXd G = MatrixXd::NullaryExpr(K, K, [&] { return normal(random); });
        G = G * G.transpose();
        G /= Eigen::SelfAdjointEigenSolver<MatrixXd>(G).eigenvalues()[K - 1];
        EXPECT_LE(log_det(p, i % 2 == 0 ? G : MatrixXd::Identity(K, K)), bound * (1 + 1e-9));
      }
    }
  }
}

// ---- Laws of the minimizer of three classes and one feature. Along (1, 1, 1) no row moves it, so
// theta = Q u, Q the other two directions; u has the density of b = -grad J(u) times det J''(u).

struct Row {
  double x = 1;
  int y = 0;
};

struct Table {
  std::vector<Row> rows;
  Vector2d center = Vector2d::Zero();  // of the ridge
};

struct Setting {
  double s = 1, t = 1;  // R = 1: sigma = sqrt(2)/s, Lambda = 1/(3t)
  [[nodiscard]] double sigma() const { return std::sqrt(2.0) / s; }
  [[nodiscard]] double ridge() const { return 1 / (3 * t); }
};

const Eigen::Matrix<double, 3, 2>& contrasts() {
  static const Eigen::Matrix<double, 3, 2> Q =
      (Eigen::Matrix<double, 3, 2>() << 1 / std::sqrt(2.0), 1 / std::sqrt(6.0), -1 / std::sqrt(2.0),
       1 / std::sqrt(6.0), 0, -2 / std::sqrt(6.0))
          .finished();
  return Q;
}

// b/sigma at u, and det J''(u)/Lambda^2.
struct Slope {
  Vector2d b;
  double determinant = 1;
};
Slope slope_at(const Table& table, const Setting& of, const Vector2d& u) {
  Vector2d gradient = of.ridge() * (u - table.center);
  Matrix2d second = of.ridge() * Matrix2d::Identity();
  for (const Row& row : table.rows) {
    const Vector3d z = row.x * (contrasts() * u);
    Vector3d p = (z.array() - z.maxCoeff()).exp();
    p /= p.sum();
    second += row.x * row.x * contrasts().transpose() * hessian(p) * contrasts();
    p[row.y] -= 1;
    gradient += row.x * contrasts().transpose() * p;
  }
  return {-gradient / of.sigma(), second.determinant() / (of.ridge() * of.ridge())};
}

double density(const Slope& at) {
  return std::exp(-at.b.squaredNorm() / 2) / (2 * M_PI) * at.determinant;
}

// Over u in units of sigma/Lambda, about where b is 0 without the rows; what rows move it by is
// within their slopes. A part of that tells no more than all.
struct Told {
  double inserted = 0, deleted = 0, mass = 0;  // HS of (without, with), (with, without)
};
Told told(const Table& without, const Table& with, const Setting& of, double epsilon, int points,
          double part = 1) {
  const double unit = of.sigma() / of.ridge();
  const double reach = part * (6.5 + of.s * static_cast<double>(with.rows.size()));
  const double step = 2 * reach / points;
  Told out;
  for (int i = 0; i < points; ++i) {
    for (int j = 0; j < points; ++j) {
      const Vector2d v(-reach + (i + 0.5) * step, -reach + (j + 0.5) * step);
      const Vector2d u = without.center + unit * v;
      const double p = density(slope_at(without, of, u)), q = density(slope_at(with, of, u));
      out.inserted += std::max(0.0, p - std::exp(epsilon) * q) * step * step;
      out.deleted += std::max(0.0, q - std::exp(epsilon) * p) * step * step;
      out.mass += q * step * step;
    }
  }
  return out;
}

Table with_row(Table table, const Row& row) {
  table.rows.push_back(row);
  return table;
}

TEST(ObjectiveClasses, TheDensityOfTheTestsIsOne) {
  const Table table{{{0.7, 1}, {-0.9, 2}}, Vector2d(0.3, -1)};
  EXPECT_NEAR(told(table, with_row(table, {1, 0}), {0.5, 0.3}, 1, 160).mass, 1, 1e-6);
}

// Random neighbors, then those near the worst: how near they come to the profile.
struct Worst {
  double inserted = 0, deleted = 0;
};
Worst climb(const Setting& of, double epsilon, int steps, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::normal_distribution<double> normal;
  const double unit = of.sigma() / of.ridge();
  const auto any = [&] {
    Table out{{}, unit * of.s * Vector2d(normal(random), normal(random))};
    for (int i = 0; i < static_cast<int>(random() % 3); ++i) {
      out.rows.push_back({uniform(random), static_cast<int>(random() % 3)});
    }
    return out;
  };
  const double claimed_in = objective_insert_delta_up(pair_of(of.s, of.t), epsilon);
  const double claimed_out = objective_delete_delta_up(pair_of(of.s, of.t), epsilon);
  Worst out;
  for (const bool deletes : {false, true}) {
    double best = 0;
    Table table = any();
    Row row{1, 0};
    for (int i = 0; i < steps; ++i) {
      Table next = i % 4 == 0 ? any() : table;
      Row moved = row;
      if (i % 4 != 0) {
        next.center += 0.2 * unit * of.s * Vector2d(normal(random), normal(random));
        for (Row& r : next.rows) r.x = std::clamp(r.x + 0.2 * normal(random), -1.0, 1.0);
        moved.x = std::clamp(row.x + 0.1 * normal(random), -1.0, 1.0);
      }
      const Told now = told(next, with_row(next, moved), of, epsilon, 120);
      const double ratio = deletes ? now.deleted / claimed_out : now.inserted / claimed_in;
      if (ratio > best) best = ratio, table = next, row = moved;
    }
    (deletes ? out.deleted : out.inserted) = best;
  }
  return out;
}

TEST(ObjectiveClasses, NoNeighborThatIsClimbedToIsAboveTheProfile) {
  if (support::sanitized) GTEST_SKIP() << "a release tells";
  unsigned seed = 1;
  for (const auto& [s, t, epsilon] :
       {std::array{0.6, 0.1, 0.5}, std::array{1.0, 0.6, 1.0}, std::array{0.5, 2.0, 0.3},
        std::array{0.3, 0.3, 0.05}, std::array{1.5, 8.0, 2.5}, std::array{0.8, 0.2, 0.0}}) {
    const Worst found = climb({s, t}, epsilon, 40, seed++);
    EXPECT_LE(found.inserted, 1 + 1e-3) << s << ' ' << t << ' ' << epsilon;
    EXPECT_LE(found.deleted, 1 + 1e-3) << s << ' ' << t << ' ' << epsilon;
    EXPECT_GT(found.inserted, 0.25) << s << ' ' << t << ' ' << epsilon;
  }
}

// A row alone between two other classes: both of its corners count, and the profile is that sum.
const Table alone{};

// Where the ridge is small, a minimum is in one class or another: the sum over corners is nearly
// reached.
TEST(ObjectiveClasses, TheInsertionIsReachedWhereTheRidgeIsSmall) {
  if (support::sanitized) GTEST_SKIP() << "a release integrates";
  const Told found = told(alone, with_row(alone, {1, 0}), {0.5, 300}, 1, 900);
  EXPECT_GT(found.inserted, 0.9 * objective_insert_delta_up(pair_of(0.5, 300), 1));
  EXPECT_LE(found.inserted, 1.001 * objective_insert_delta_up(pair_of(0.5, 300), 1));
}

// What a careless program would claim, each broken by a law.
TEST(ObjectiveClasses, PlantedClaimsAreBroken) {
  if (support::sanitized) GTEST_SKIP() << "a release integrates";
  // K - 1 corners counted once.
  ObjectivePair once = pair_of(0.5, 300);
  once.directions = 1;
  EXPECT_GT(told(alone, with_row(alone, {1, 0}), {0.5, 300}, 1, 900).inserted,
            1.5 * objective_insert_delta_up(once, 1));
  // The determinant of one direction: equal probabilities where b is likely.
  ObjectivePair one = pair_of(0.05, 1);
  const Told near = told(alone, with_row(alone, {1, 0}), {0.05, 1}, 1, 300, 0.04);
  EXPECT_LE(near.deleted, objective_delete_delta_up(one, 1));
  one.t = std::sqrt(1 + one.t) - 1;  // two directions of it are one of t
  EXPECT_GT(near.deleted, 10 * objective_delete_delta_up(one, 1));
  // |f'| <= 1 of one class for sqrt(2): a center where another class is sure.
  const Setting of{0.5, 0.3};
  const Table far{{}, contrasts().transpose() * Vector3d(-40, 40, 0)};
  EXPECT_GT(told(far, with_row(far, {1, 0}), of, 1, 300).inserted,
            2 * objective_insert_delta_up(pair_of(of.s / std::sqrt(2.0), of.t), 1));
}

// Rows replaced, and the points that a ledger's fit covers, against a law of three classes.
TEST(ObjectiveClasses, ReplacedRowsAndPointsOfAFitAreAboveTheLaw) {
  if (support::sanitized) GTEST_SKIP() << "a release integrates";
  const Setting of{0.4, 0.1};
  const Table one{{{1, 0}}, Vector2d(0.5, 0.2)}, other{{{-1, 1}}, Vector2d(0.5, 0.2)};
  for (const double epsilon : {0.3, 1.0, 2.0}) {
    const Told found = told(one, other, of, epsilon, 240);
    double claim = 1;
    for (const double part : {0.4, 0.5, 0.6, 0.7}) {
      claim = std::min(
          claim, objective_delta_up(pair_of(of.s, of.t), epsilon, part * epsilon, replace_one));
    }
    EXPECT_LE(std::max(found.inserted, found.deleted), claim);
    EXPECT_GT(found.inserted, 0);
  }
  for (const auto& point : objective_profile_up(pair_of(of.s, of.t), replace_one, 1e-6)) {
    if (point.epsilon > 3) continue;
    EXPECT_LE(told(one, other, of, point.epsilon, 160).deleted, point.delta * (1 + 1e-3));
  }
}

TEST(ObjectiveClasses, TwoClassesAreOfOneDirection) {
  for (const double epsilon : {0.1, 1.0}) {
    const ObjectivePair two{0.3, 0.2, true, Calibration::exact, 1}, logistic{0.3, 0.2, true};
    EXPECT_EQ(objective_delete_delta_up(two, epsilon),
              objective_delete_delta_up(logistic, epsilon));
  }
}

TEST(ObjectiveClasses, TheScaleKeepsItsDeltaAndMoreClassesNeedLittleMoreNoise) {
  for (const Neighbors who : {add_remove, replace_one, Neighbors{Adjacency::replace_one, 3}}) {
    double before = HUGE_VAL;
    for (const std::uint64_t K : {2ULL, 3ULL, 10ULL, 1000ULL}) {
      const auto t = 0.1 / static_cast<double>(who.rows_per_person * (K - 1));
      ObjectivePair pair{0, t, true, Calibration::exact, K - 1};
      const ObjectiveScale found = objective_scale_down(pair, 1, 1e-6, who);
      ASSERT_GT(found.s, 0);
      pair.s = found.s;
      EXPECT_LE(objective_delta_up(pair, 1, found.deletion_epsilon, who), 1e-6);
      EXPECT_LT(found.s, before);
      before = found.s;
    }
  }
}

TEST(ObjectiveClasses, RefusesOtherSettings) {
  EXPECT_THROW(
      static_cast<void>(objective_insert_delta_up({1, 1, false, Calibration::exact, 2}, 1)),
      BadInput);
  EXPECT_THROW(
      static_cast<void>(objective_insert_delta_up({1, 0.5, true, Calibration::redberg, 2}, 1)),
      BadInput);
  EXPECT_THROW(static_cast<void>(objective_insert_delta_up({1, 1, true, Calibration::exact, 0}, 1)),
               BadInput);
}

// ---- The pure form, and offers.

Problem softmax_problem(std::uint64_t rows, std::uint64_t columns, std::uint64_t classes) {
  Problem p;
  p.rows = rows;
  p.features = columns * classes;
  set_loss(p, loss_named(full_loss_name("softmax", classes)));
  return p;
}

// gamma R |p - e_y| + log det(I + R^2 H/Lambda), which one row can reach, at most.
double most_loss(Eigen::Index K, double rate, double ridge) {
  std::mt19937_64 random(4);
  std::exponential_distribution<double> exponential;
  double most = 0;
  for (int i = 0; i < support::repeats(20000, 500); ++i) {
    VectorXd p = VectorXd::NullaryExpr(K, [&] { return exponential(random); });
    if (i % 2 == 0) p = p.array().pow(6 * exponential(random));
    p /= p.sum();
    const double determinant = (MatrixXd::Identity(K, K) + hessian(p) / ridge).determinant();
    p[0] -= 1;
    most = std::max(most, rate * p.norm() + std::log(determinant));
  }
  return most;
}

// kappa = 2 sqrt(2) prices the determinant, and less does not: of two classes alone sqrt(2) would.
TEST(ObjectiveClasses, NoRowOfThePureFormIsBeyondItsEpsilon) {
  for (const std::uint64_t K : {2ULL, 3ULL, 6ULL}) {
    const Problem p = softmax_problem(100, 1, K);
    for (const double ridge : {0.2, 1.0, 5.0}) {
      for (const double free : {0.0, 0.3, 1.0, 1.8, 2.6, 3.0, 6.0}) {
        const double rate = (free + 1e-3) / ridge;  // free = gamma Lambda/R
        const double claim = objective_epsilon_up(p, add_remove, ridge, rate);
        const double truth = most_loss(static_cast<Eigen::Index>(K), rate, ridge);
        EXPECT_LE(truth, claim * (1 + 1e-12)) << K << ' ' << ridge << ' ' << free;
        EXPECT_GT(truth, 0.6 * claim) << K << ' ' << ridge << ' ' << free;
      }
    }
    // Curvature is not free at gamma Lambda/R = 2, which kappa = sqrt(2) would say.
    if (K > 2) {
      EXPECT_GT(most_loss(static_cast<Eigen::Index>(K), 2.0, 1), 2 * std::sqrt(2.0) * 1.01);
    }
  }
}

// What is priced is what Theorem 4 says of the settings.
TEST(ObjectiveClasses, ThePairIsThatOfTheSettings) {
  for (const std::uint64_t K : {2ULL, 3ULL, 10ULL}) {
    Problem p = softmax_problem(5000, 6, K);
    p.row_norm = 2;
    const auto m = std::get<ObjectivePerturbation>(
        plan(p, {1, 1e-6}, {.mechanism = "objective"}).candidate().mechanism);
    const ObjectivePair pair = objective_pair_of(m, p);
    EXPECT_TRUE(pair.one_signed);
    EXPECT_EQ(pair.directions, K - 1);
    EXPECT_NEAR(pair.t * m.ridge * static_cast<double>(K) / 4, 1, 1e-12);
    EXPECT_NEAR(pair.s * m.noise / (2 * std::sqrt(2.0)), 1, 1e-12);
    EXPECT_GE(pair.t * m.ridge * static_cast<double>(K), 4 * (1 - 1e-15));
  }
}

TEST(ObjectiveClasses, OffersKeepTheBudgetAndUseIt) {
  for (const char* const name : {"objective", "objective-pure"}) {
    for (const std::uint64_t K : {2ULL, 3ULL, 10ULL}) {
      for (const double epsilon : {0.1, 1.0, 8.0}) {
        const Problem p = softmax_problem(5000, 6, K);
        const Budget budget{epsilon, 1e-6};
        const Candidate found = plan(p, budget, {.mechanism = name}).candidate();
        ASSERT_TRUE(found.feasible) << found.why;
        const Analysis again = analyze(found.mechanism, p, budget.neighbors(), 1);
        EXPECT_LE(delta_up(again.guarantee, epsilon), 1e-6) << name << K;
        EXPECT_GT(delta_up(again.guarantee, epsilon * 0.9), 1e-6) << name << K;
      }
    }
  }
}

TEST(ObjectiveClasses, ThePublishedFormAndOtherLossesOfSeveralOutputsAreRefused) {
  Problem p = softmax_problem(5000, 6, 3);
  const Plan published =
      plan(p, {1, 1e-6}, {.mechanism = "objective", .calibration = Calibration::redberg});
  EXPECT_FALSE(published.candidate().feasible);
  EXPECT_THAT(std::string(published.candidate().why),
              ::testing::HasSubstr("is of losses of one output"));
  const Mechanism settings = plan(p, {1, 1e-6}, {.mechanism = "objective"}).candidate().mechanism;
  p.loss = "own-3";
  EXPECT_THROW(static_cast<void>(analyze(settings, p, {}, 1)), BadInput);
}

}  // namespace objective_classes_test
}  // namespace gibbsite
