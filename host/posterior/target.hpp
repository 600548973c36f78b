#pragma once
// The potential of all chains at once, and where a minimizer about is.
#include <Eigen/Core>
#include <functional>
#include <memory>

#include "gibbsite/chains/potential.hpp"
#include "gibbsite/posterior/posterior.hpp"

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

class NormalModel;

/// U and its gradient for all chains at once: on the backend, or of the normal model.
class Target {
 public:
  Target(const Potential& potential, const PosteriorOptions& options);
  ~Target();

  /// Coordinates of a state.
  [[nodiscard]] std::size_t parameters() const;
  /// Whether the last coordinate is the logarithm of a deviation.
  [[nodiscard]] bool learns_noise() const { return normal_ != nullptr; }

  /// out[C x d] = grad U of each row of theta [C x d]; reads X once.
  void gradients(const Rowwise& theta, Rowwise& out);
  /// out[C] = U.
  void values(const Rowwise& theta, Eigen::VectorXd& out);
  /// Both; reads X once where the backend can.
  void values_and_gradients(const Rowwise& theta, Eigen::VectorXd& values, Rowwise& gradients);

  [[nodiscard]] const Eigen::VectorXd& center() const { return center_; }
  /// Where U is lowest [d]: its gradient is at most `tolerance` there, as far as rounding lets it.
  [[nodiscard]] Eigen::VectorXd mode(double tolerance) const;
  /// The Hessian of U [d x d], and its diagonal [d].
  [[nodiscard]] Eigen::MatrixXd hessian(const Eigen::VectorXd& at) const;
  [[nodiscard]] Eigen::VectorXd hessian_diagonal(const Eigen::VectorXd& at) const;

 private:
  // From those of the loss, in their place.
  void add_prior_to_gradients(const Rowwise& theta, Rowwise& out) const;
  void add_prior_to_values(const Rowwise& theta, Eigen::VectorXd& out) const;

  const Potential& u_;
  std::unique_ptr<NormalModel> normal_;
  Eigen::VectorXd center_;
};

/// Within about a tenth of a deviation of the minimizer, by L-BFGS (Nocedal and Wright 2006,
/// algorithm 7.4) with backtracking, preconditioned by `variance` [d]: the inverse diagonal of the
/// Hessian at the center. `poll` is called in each iteration.
Eigen::VectorXd near_minimum(Target& target, const Eigen::VectorXd& variance,
                             const std::function<void()>& poll);

}  // namespace gibbsite
