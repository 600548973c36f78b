#pragma once
// The potential of all chains at once, and where a minimizer about is.
#include <Eigen/Core>
#include <functional>

#include "gibbsite/chains/potential.hpp"

namespace gibbsite {

/// Points, one a row [C x d].
using Rowwise = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

inline Eigen::Index index(std::size_t n) { return static_cast<Eigen::Index>(n); }
inline std::span<const double> view(const Eigen::VectorXd& v) {
  return {v.data(), static_cast<std::size_t>(v.size())};
}
inline Eigen::VectorXd vector(std::span<const double> v) {
  return Eigen::Map<const Eigen::VectorXd>(v.data(), index(v.size()));
}

/// U and its gradient for all chains at once, on the backend.
class Target {
 public:
  explicit Target(const Potential& potential) : u_(potential), center_(index(u_.features())) {
    for (std::size_t j = 0; j < u_.features(); ++j) center_(index(j)) = u_.prior_center(j);
  }

  /// out[C x d] = grad U of each row of theta [C x d]; reads X once.
  void gradients(const Rowwise& theta, Rowwise& out) {
    u_.engine->loss_gradients(shape(theta.data(), theta), shape(out.data(), out));
    if (u_.priors.empty()) {
      out = u_.beta * out + u_.prior_precision * (theta.rowwise() - center_.transpose());
      return;
    }
    out *= u_.beta;
    for (Eigen::Index c = 0; c < theta.rows(); ++c) {
      for (Eigen::Index j = 0; j < theta.cols(); ++j)
        out(c, j) += u_.prior_derivative(static_cast<std::size_t>(j), theta(c, j));
    }
  }

  /// out[C] = U.
  void values(const Rowwise& theta, Eigen::VectorXd& out) {
    u_.engine->loss_values(shape(theta.data(), theta),
                           {out.data(), static_cast<std::size_t>(out.size())});
    if (u_.priors.empty()) {
      out = u_.beta * out + u_.prior_precision / 2 *
                                (theta.rowwise() - center_.transpose()).rowwise().squaredNorm();
      return;
    }
    const auto d = static_cast<std::size_t>(theta.cols());
    for (Eigen::Index c = 0; c < theta.rows(); ++c)
      out(c) = u_.beta * out(c) + u_.prior_value({theta.row(c).data(), d});
  }

  [[nodiscard]] const Eigen::VectorXd& center() const { return center_; }

 private:
  template <class T>
  static MatrixView<T> shape(T* data, const Rowwise& m) {
    return {data, static_cast<std::size_t>(m.rows()), static_cast<std::size_t>(m.cols())};
  }

  const Potential& u_;
  Eigen::VectorXd center_;
};

/// Within about a tenth of a deviation of the minimizer, by L-BFGS (Nocedal and Wright 2006,
/// algorithm 7.4) with backtracking, preconditioned by `variance` [d]: the inverse diagonal of the
/// Hessian at the center. `poll` is called in each iteration.
Eigen::VectorXd near_minimum(Target& target, const Eigen::VectorXd& variance,
                             const std::function<void()>& poll);

}  // namespace gibbsite
