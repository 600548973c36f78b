#pragma once
// The normal model of an amount, whose noise has a deviation that is learned.
#include <Eigen/Core>

#include "gibbsite/posterior/posterior.hpp"
#include "posterior/target.hpp"

namespace gibbsite {

/// U of states (theta, s), s the logarithm of the noise's deviation sigma in tolerances:
///
///   U = beta (W s + e^(-2s) L(theta)) + prior(theta) + prior(e^s) - s
///
/// W is the sum of the rows' weights and L the squared loss; -s makes it a density of s. L is a
/// quadratic, so its value, gradient and Hessian at one point are all that the chains need of the
/// rows: work d^2 for a gradient of a chain, and memory d^2.
class NormalModel {
 public:
  /// Reads the rows some times, at the minimizer for sigma = 1. Throws BadInput on another loss
  /// than the squared one, and for more than most_dense_features.
  NormalModel(const Potential& potential, const LearnedNoise& noise);

  /// U of each row of states [C x (d + 1)], to out [C].
  void values(const Rowwise& states, Eigen::VectorXd& out) const;
  /// Its gradient, to out [C x (d + 1)].
  void gradients(const Rowwise& states, Rowwise& out) const;
  /// Where U is lowest [d + 1]. Throws BadInput where the rows are fitted exactly, so that nothing
  /// holds s.
  [[nodiscard]] Eigen::VectorXd mode() const;
  /// The Hessian of U [(d + 1) x (d + 1)], with Prior::curvature for each theta.
  [[nodiscard]] Eigen::MatrixXd hessian(const Eigen::VectorXd& state) const;

 private:
  struct Losses {
    Eigen::VectorXd value;  // [C]
    Rowwise gradient;       // [C x d]
  };
  [[nodiscard]] Losses losses(const Rowwise& thetas) const;
  [[nodiscard]] Eigen::VectorXd weights(const Rowwise& states) const;
  [[nodiscard]] double lowest(double s, double loss) const;

  const Potential& u_;
  double rows_;
  Eigen::VectorXd center_;    // [d] where the quadratic is held
  double loss_ = 0;           // there
  Eigen::VectorXd gradient_;  // [d] of the loss there
  Eigen::MatrixXd hessian_;   // [d x d] of the loss
};

}  // namespace gibbsite
