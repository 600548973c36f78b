// Nothing beats the certificate of several classes: the exact laws of a chain on D and on a
// neighbor D', by quadrature, against the curve of path (docs/theory/path.md,
// docs/theory/losses.md). Nothing here is random.
//
// One column, K classes: theta in R^K. A row's gradient is x (p - e_y), whose coordinates add up to
// 0, and p does not change where every theta_k moves alike. So with an orthonormal basis of the
// sum direction u and of its complement, u.theta is an autoregression of the prior and the noise
// alone, independent of the rest and of one law on D and D'; the rest is a Langevin chain of its
// own, in K - 1 dimensions. delta(epsilon) of two products P x R and Q x R is that of P and Q.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gibbsite/core/problem.hpp"
#include "gibbsite/mechanism/path.hpp"
#include "gibbsite/model/loss.hpp"
#include "statistical/exact_curve.hpp"
#include "statistical/quadrature.hpp"

namespace gibbsite {
namespace softmax_certificate_test {

using Eigen::MatrixXd;
using Eigen::VectorXd;

/// z_k = x theta_k + offset_k: a second column whose coefficients are frozen at public values. Far
/// ahead of the others, the class `ahead` has probability 1 whatever theta is.
struct ClassRow {
  double x = 1;
  int y = 0, ahead = -1;
  double by = 1e3;
};
using ClassRows = std::vector<ClassRow>;

struct ClassPair {
  std::string name;
  ClassRows before, after;  ///< shorter: removed
};

struct Settings {
  double beta = 1, m = 0, h = 1;
};

/// Columns: an orthonormal basis of what is orthogonal to (1, .., 1), e_0 - e_1 first.
MatrixXd basis_of(int classes) {
  MatrixXd out = MatrixXd::Zero(classes, classes - 1);
  for (int j = 0; j < classes - 1; ++j) {
    out.col(j).head(j + 1).setOnes();
    out(j + 1, j) = -(j + 1);
    out.col(j).normalize();
  }
  return out;
}

/// The gradient of U in coordinates of that basis, by the library's residuals.
class ClassSlope {
 public:
  ClassSlope(ClassRows rows, int classes, const Settings& chain)
      : rows_(std::move(rows)),
        basis_(basis_of(classes)),
        chain_(chain),
        loss_(&loss_named("softmax-" + std::to_string(classes))),
        z_(static_cast<std::size_t>(classes) * rows_.size()),
        r_(z_.size()) {
    for (const ClassRow& row : rows_) y_.push_back(static_cast<float>(row.y));
  }
  VectorXd operator()(const VectorXd& at) {
    const std::size_t n = rows_.size(), classes = static_cast<std::size_t>(basis_.rows());
    const VectorXd theta = basis_ * at;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < classes; ++k) {
        z_[k * n + i] = rows_[i].x * theta(static_cast<Eigen::Index>(k)) +
                        (static_cast<int>(k) == rows_[i].ahead ? rows_[i].by : 0);
      }
    }
    loss_->derivatives(z_, y_, r_);
    VectorXd g = VectorXd::Zero(theta.size());
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < classes; ++k)
        g(static_cast<Eigen::Index>(k)) += rows_[i].x * r_[k * n + i];
    }
    return basis_.transpose() * (chain_.beta * g + chain_.m * theta);
  }

 private:
  ClassRows rows_;
  MatrixXd basis_;
  Settings chain_;
  const Loss* loss_;
  std::vector<double> z_, r_;
  std::vector<float> y_;
};

/// Both laws of two classes, one dimension; the coarse ones price the error.
class TwoClasses {
 public:
  static constexpr int classes = 2;
  static constexpr double most_mu = 5;
  static constexpr int stride = 1;  // of the sweep: what is met
  TwoClasses(const ClassPair& pair, const Settings& chain)
      : fine_{law(pair.before, chain, 2), law(pair.after, chain, 2)},
        coarse_{law(pair.before, chain, 1.5), law(pair.after, chain, 1.5)} {}
  void step() {
    for (auto& law : fine_) law.step();
    for (auto& law : coarse_) law.step();
  }
  [[nodiscard]] std::vector<Exact> curve(double mu) const {
    const quadrature::HockeyStick fine(fine_[0], fine_[1]), coarse(coarse_[0], coarse_[1]);
    std::vector<Exact> out;
    for (const double epsilon : epsilons_about(mu)) {
      const double delta = fine.delta(epsilon);
      out.push_back({epsilon, delta, std::fabs(delta - coarse.delta(epsilon)) + 1e-12 * delta});
    }
    return out;
  }

 private:
  static quadrature::ChainLaw law(const ClassRows& rows, const Settings& chain, double resolution) {
    return {[slope = ClassSlope(rows, 2, chain)](double t) mutable {
              return slope(VectorXd::Constant(1, t))(0);
            },
            0, chain.h, resolution};
  }
  std::vector<quadrature::ChainLaw> fine_, coarse_;
};

/// Both laws of three classes, two dimensions.
class ThreeClasses {
 public:
  static constexpr int classes = 3;
  static constexpr double most_mu = 3;
  static constexpr int stride = 3;
  ThreeClasses(const ClassPair& pair, const Settings& chain)
      : fine_{law(pair.before, chain, 2), law(pair.after, chain, 2)},
        coarse_{law(pair.before, chain, 1.5), law(pair.after, chain, 1.5)} {}
  void step() {
    for (auto& law : fine_) law.step();
    for (auto& law : coarse_) law.step();
  }
  [[nodiscard]] std::vector<Exact> curve(double mu) const {
    const quadrature::HockeyStick2 fine(fine_[0].law(), fine_[1].law(), 4);
    const quadrature::HockeyStick2 coarse(coarse_[0].law(), coarse_[1].law(), 3);
    std::vector<Exact> out;
    for (const double epsilon : epsilons_about(mu)) {
      const double delta = fine.delta(epsilon);
      out.push_back({epsilon, delta, std::fabs(delta - coarse.delta(epsilon)) + 1e-10 * delta});
    }
    return out;
  }

 private:
  // Points per unit of theta where that is less than sqrt(2h).
  static quadrature::ChainLaw2 law(const ClassRows& rows, const Settings& chain,
                                   double resolution) {
    return {[slope = ClassSlope(rows, 3, chain)](const Eigen::Vector2d& t) mutable {
              return Eigen::Vector2d(slope(t));
            },
            Eigen::Vector2d::Zero(), chain.h, resolution * std::max(1.0, std::sqrt(2 * chain.h))};
  }
  std::vector<quadrature::ChainLaw2> fine_, coarse_;
};

std::vector<ClassPair> pairs_of(int classes) {
  const int last = classes - 1;
  return {
      // Difference 2 sqrt(2) beta at every theta: the worst there is.
      {"opposite rows, both wrong", {{1, 0, 1}}, {{-1, 0, 1}}},
      {"each of the other's class", {{1, 0, 1}}, {{1, 1, 0}}},
      {"wrong, and gone", {{1, 0, 1}}, {}},  // sqrt(2) beta
      {"nearly wrong", {{1, last, 0, 6}}, {{-1, last, 0, 6}}},
      {"another class", {{1, 0}}, {{1, last}}},
      {"another row and class", {{0.8, 0}}, {{-0.5, 1}}},
      {"a row of nothing", {{1, last}}, {{0, last}}},
      {"gone", {{1, 0}}, {}},
      {"two rows of one person", {{1, 0, 1}, {1, 0, 1, 6}}, {{-1, 0, 1}, {-1, 0, 1, 6}}},
  };
}

/// What the others have in a table.
struct Others {
  std::string name;
  ClassRows rows;
};
std::vector<Others> others_of(int classes) {
  const int last = classes - 1;
  return {{"nobody else", {}},
          {"one class", {{0.7, 0}, {-0.4, 0}, {1, 0}}},
          {"one row, again and again", {{0.9, last}, {0.9, last}, {0.9, last}}},
          {"every class", {{0.8, 0}, {-1, 1}, {0.5, last}}}};
}

Problem problem_of(int classes, std::size_t rows) {
  Problem out{.rows = rows, .features = static_cast<std::uint64_t>(classes), .prior_precision = {}};
  set_loss(out, loss_named("softmax-" + std::to_string(classes)));
  return out;
}

template <class Laws>
void expect_not_beaten(const std::vector<int>& steps, int least_curves, double reached) {
  double tightest = 0;
  int curves = 0;
  int turn = 0;
  for (const Others& others : others_of(Laws::classes)) {
    for (const ClassPair& rows : pairs_of(Laws::classes)) {
      ClassPair pair = rows;
      for (ClassRows* table : {&pair.before, &pair.after})
        table->insert(table->end(), others.rows.begin(), others.rows.end());
      const auto adjacency = rows.after.empty() ? Adjacency::add_remove : Adjacency::replace_one;
      const Problem problem = problem_of(Laws::classes, pair.before.size());
      for (const double m : {0.0, 0.3}) {
        const double beta = 0.7, M = problem.smoothness_up(beta, m);
        const double S = problem.sensitivity_up(beta, adjacency, rows.before.size());
        for (const double relative : {0.2, 1.99}) {  // of 1/M
          if (turn++ % Laws::stride != 0) continue;
          const double h = relative / M;
          Laws laws(pair, {beta, m, h});
          for (int T = 1, at = 0; at < static_cast<int>(steps.size()); ++T) {
            if (T > 1) laws.step();
            if (T != steps[static_cast<std::size_t>(at)]) continue;
            ++at;
            const double mu = path_mu_up(S, m, M, h, T);
            if (mu > Laws::most_mu) break;  // tails beyond the reach of the grid
            const Comparison found = compare(laws.curve(mu), mu);
            const std::string where = rows.name + ", beside " + others.name + ", m " +
                                      std::to_string(m) + ", h M " + std::to_string(relative) +
                                      ", T " + std::to_string(T) + ", mu " + std::to_string(mu);
            ASSERT_FALSE(found.beaten) << where;
            ASSERT_LE(found.error, 0.02) << where;
            tightest = std::max(tightest, found.tightness);
            ++curves;
          }
        }
      }
    }
  }
  EXPECT_GT(curves, least_curves);
  EXPECT_NEAR(tightest, 1, reached);  // some neighbor reaches the curve
}

TEST(SoftmaxCertificate, OfTwoClassesIsNotBeatenByAnyNeighbor) {
  expect_not_beaten<TwoClasses>({1, 2, 5, 20}, 150, 1e-8);
}

TEST(SoftmaxCertificate, OfThreeClassesIsNotBeatenByAnyNeighbor) {
  expect_not_beaten<ThreeClasses>({1, 3}, 60, 1e-6);
}

// The power of the comparison.
template <class Laws>
void expect_power() {
  const double beta = 0.6, m = 0.4;
  const int T = 3;
  const Problem problem = problem_of(Laws::classes, 1);
  const double M = problem.smoothness_up(beta, m), h = 0.3 / (M + m);
  const double S = problem.sensitivity_up(beta, Adjacency::replace_one, 1);
  Laws laws({"", {{1, 0, 1}}, {{-1, 0, 1}}}, {beta, m, h});
  for (int t = 1; t < T; ++t) laws.step();
  struct Wrong {
    const char* what;
    double S, m, M, T;
  };
  for (const Wrong& wrong :
       {Wrong{"a row's slope of 1 for sqrt(2)", S / std::sqrt(2.0), m, M, T},
        Wrong{"0.1 % too small", 0.999 * S, m, M, T},
        Wrong{"one row for two", problem.sensitivity_up(beta, Adjacency::add_remove, 1), m, M, T},
        Wrong{"one step forgotten", S, m, M, T - 1},
        Wrong{"contraction of M for that of m", S, M, M, T}}) {
    const double mu = path_mu_up(wrong.S, wrong.m, wrong.M, h, wrong.T);
    EXPECT_TRUE(compare(laws.curve(mu), mu).beaten) << wrong.what;
  }
  const double mu = path_mu_up(S, m, M, h, T);
  EXPECT_FALSE(compare(laws.curve(mu), mu).beaten);
  // A pair that bends.
  Laws bent({"", {{1, 0, 1, 5}}, {{-1, 0, 1, 5}}}, {beta, m, h});
  for (int t = 1; t < T; ++t) bent.step();
  EXPECT_TRUE(compare(bent.curve(0.9 * mu), 0.9 * mu).beaten);
}

TEST(SoftmaxCertificate, WrongCertificatesOfTwoClassesAreBeaten) { expect_power<TwoClasses>(); }
TEST(SoftmaxCertificate, WrongCertificatesOfThreeClassesAreBeaten) { expect_power<ThreeClasses>(); }

}  // namespace softmax_certificate_test
}  // namespace gibbsite
