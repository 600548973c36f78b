#pragma once
// What the equations of run/estimates and run/estimates_classes are made of: the features of a
// schema in the answered metric, their prior, and linear algebra that survives rounding. Sees no
// row: noisy answers and public numbers alone.
#include <Eigen/Core>
#include <vector>

#include "gibbsite/model/schema.hpp"
#include "run/estimates.hpp"

namespace gibbsite {

/// tau, the prior's deviation: in log-odds for a level, and for one standard deviation of a number.
inline constexpr double prior_scale = 2.5;
/// The least share that a level counts with.
inline constexpr double rarest_share = 1e-4;

/// (M + M^T)/2.
Eigen::MatrixXd symmetric(const Eigen::MatrixXd& M);
/// The inverse of a symmetric positive definite matrix; where rounding spoils that, of the nearest
/// one that is.
Eigen::MatrixXd inverse_of(const Eigen::MatrixXd& M);
Eigen::MatrixXd pseudo_inverse(const Eigen::MatrixXd& P);
/// To ten significant digits, so that a file holds no more and means the same.
double rounded(double value);

/// Whether all answers are finite, and what must be positive is.
bool is_usable(const AnsweredScores& answers);

/// Gauss-Hermite quadrature for the standard normal: eigenpairs of the Jacobi matrix of its
/// polynomials (Golub and Welsch 1969).
struct NormalQuadrature {
  Eigen::ArrayXd points, weights;
  explicit NormalQuadrature(Eigen::Index count = 61);
};

/// Features of a category.
struct Levels {
  Eigen::Index first = 0, size = 0;
  // P holds contrasts of these levels: their coefficients add up to 0, their cells to a constant.
  bool contrasts = false;
};

/// The features of a schema as the equations see them: numbers centered at the middle of their
/// range, and what the answered moments say of them.
struct Features {
  Eigen::MatrixXd
      metric;  // P with the constant's coefficient taken at the middle of all ranges [d x k]
  Eigen::MatrixXd inverse;  // pseudo-inverse [k x d]: x = inverse^T z
  std::vector<Eigen::Index> numbers;
  std::vector<Levels> categories;
  Eigen::Index constant = -1;  // none: -1
  Eigen::VectorXd middle;      // of the ranges [d]
  Eigen::VectorXd one;         // the constant is one . z [k]; empty where no feature is one
  double one_moment = 1;       // answered second moment of the constant
  Eigen::VectorXd mean;        // of the centered features; of levels their shares [d]
  Eigen::VectorXd deviation;   // [d]
  Eigen::VectorXd precision;   // of the prior [d]

  Features(const AnsweredScores& answers, const Schema& schema);

 private:
  void answer_moments(const Eigen::VectorXd& lambda);
};

/// [J x k] Unit directions in the metric along which each number and each level varies, then the
/// axes.
Eigen::MatrixXd unit_directions(const Features& features, const Eigen::VectorXd& lambda);

}  // namespace gibbsite
