#include "gibbsite/chains/potential.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseCore>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace {
class HessianProduct;
}
}  // namespace gibbsite

namespace Eigen::internal {
template <>
struct traits<gibbsite::HessianProduct> : traits<SparseMatrix<double>> {};
}  // namespace Eigen::internal

namespace gibbsite {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Beyond, a Hessian (n d^2/2 operations) costs more than some hundred products with it.
constexpr std::size_t most_dense_features = 1000;

Eigen::Index index(std::size_t n) { return static_cast<Eigen::Index>(n); }

std::span<double> view(VectorXd& v) { return {v.data(), static_cast<std::size_t>(v.size())}; }
std::span<const double> view(const VectorXd& v) {
  return {v.data(), static_cast<std::size_t>(v.size())};
}

// z[i] = x_i^T theta.
std::vector<double> logits(const Rows& x, std::span<const double> theta) {
  std::vector<double> z(x.rows);
  for (std::size_t i = 0; i < x.rows; ++i) z[i] = x.dot(i, theta);
  return z;
}

// X^T diag(w) X, lower triangle, over blocks of rows.
void add_dense(const Rows& x, std::span<const double> weight, MatrixXd& h) {
  constexpr std::size_t block = 1024;
  const auto d = index(x.cols);
  for (std::size_t first = 0; first < x.rows; first += block) {
    const auto n = index(std::min(block, x.rows - first));
    const Eigen::Map<const RowMajor> rows(x.matrix().row(first).data(), n, d);
    const Eigen::Map<const VectorXd> w(weight.data() + first, n);
    const MatrixXd scaled = w.array().sqrt().matrix().asDiagonal() * rows.cast<double>();
    h.selfadjointView<Eigen::Lower>().rankUpdate(scaled.transpose());
  }
}

// The same by pairs of entries.
void add_sparse(const Rows& x, std::span<const double> weight, MatrixXd& h) {
  for (std::size_t i = 0; i < x.rows; ++i) {
    x.for_each(i, [&](std::size_t j, float v) {
      x.for_each(i, [&](std::size_t k, float w) {
        if (k <= j)
          h(index(j), index(k)) += weight[i] * static_cast<double>(v) * static_cast<double>(w);
      });
    });
  }
}

// beta f''(z[i], y[i]).
std::vector<double> weights(const Potential& u, std::span<const double> theta) {
  const auto z = logits(u.x, theta);
  std::vector<double> weight(u.x.rows);
  u.loss->curvatures(z, u.y, weight);
  for (double& w : weight) w *= u.beta;
  return weight;
}

// grad^2 U, lower triangle.
MatrixXd lower_hessian(const Potential& u, std::span<const double> theta) {
  const auto weight = weights(u, theta);
  MatrixXd h = MatrixXd::Zero(index(u.x.cols), index(u.x.cols));
  u.x.is_sparse() ? add_sparse(u.x, weight, h) : add_dense(u.x, weight, h);
  h.diagonal().array() += u.prior_precision;
  return h;
}

// v -> grad^2 U v without the matrix, for Eigen's solvers.
class HessianProduct : public Eigen::EigenBase<HessianProduct> {
 public:
  using Scalar = double;
  using RealScalar = double;
  using StorageIndex = int;
  enum { ColsAtCompileTime = -1, MaxColsAtCompileTime = -1, IsRowMajor = false };

  HessianProduct(const Potential& u, std::vector<double> weight)
      : u_(u), weight_(std::move(weight)) {}
  [[nodiscard]] Eigen::Index rows() const { return index(u_.x.cols); }
  [[nodiscard]] Eigen::Index cols() const { return rows(); }
  template <class Rhs>
  Eigen::Product<HessianProduct, Rhs, Eigen::AliasFreeProduct> operator*(
      const Eigen::MatrixBase<Rhs>& v) const {
    return {*this, v.derived()};
  }
  [[nodiscard]] VectorXd times(const VectorXd& v) const {
    VectorXd out = u_.prior_precision * v;
    for (std::size_t i = 0; i < u_.x.rows; ++i) {
      const double scaled = weight_[i] * u_.x.dot(i, view(v));
      u_.x.for_each(
          i, [&](std::size_t j, float x) { out(index(j)) += scaled * static_cast<double>(x); });
    }
    return out;
  }

 private:
  const Potential& u_;
  std::vector<double> weight_;
};

}  // namespace
}  // namespace gibbsite

namespace Eigen::internal {
template <class Rhs>
struct generic_product_impl<gibbsite::HessianProduct, Rhs, SparseShape, DenseShape, GemvProduct>
    : generic_product_impl_base<gibbsite::HessianProduct, Rhs,
                                generic_product_impl<gibbsite::HessianProduct, Rhs>> {
  template <class Out>
  static void scaleAndAddTo(Out& out, const gibbsite::HessianProduct& h, const Rhs& v,
                            double scale) {
    out += scale * h.times(v);
  }
};
}  // namespace Eigen::internal

namespace gibbsite {
namespace {

// H^-1 gradient to within 1e-3 of its size: Newton's method converges all the same.
VectorXd conjugate_gradients(const HessianProduct& h, const VectorXd& gradient) {
  Eigen::ConjugateGradient<HessianProduct, Eigen::Lower | Eigen::Upper,
                           Eigen::IdentityPreconditioner>
      solver;
  solver.setTolerance(1e-3);
  solver.compute(h);
  return solver.solve(gradient);
}

// -(grad^2 U)^-1 gradient; m > 0.
VectorXd newton(const Potential& u, const VectorXd& theta, const VectorXd& gradient) {
  if (u.x.cols > most_dense_features) {
    return -conjugate_gradients({u, weights(u, view(theta))}, gradient);
  }
  return -lower_hessian(u, view(theta)).selfadjointView<Eigen::Lower>().ldlt().solve(gradient);
}

// With m = 0 a minimum exists only when the loss alone attains one. Where it does not (the classes
// can be separated), the gradient fades out along a direction in which Newton's step keeps moving
// the logits by about 1; near a minimum the step vanishes with the gradient.
bool step_moves_logits(const Potential& u, const VectorXd& step) {
  const auto moved = logits(u.x, view(step));
  return std::any_of(moved.begin(), moved.end(), [](double z) { return !(std::fabs(z) <= 0.5); });
}

}  // namespace

double Potential::value(std::span<const double> theta) const {
  double prior = 0;
  for (std::size_t j = 0; j < theta.size(); ++j) {
    const double from_center = theta[j] - (center.empty() ? 0.0 : center[j]);
    prior += from_center * from_center;
  }
  return beta * loss->value_sum(logits(x, theta), y) + prior_precision / 2 * prior;
}

void Potential::gradient(std::span<const double> theta, std::span<double> out) const {
  const auto z = logits(x, theta);
  std::vector<double> r(x.rows);
  loss->residuals(z, y, r);
  std::fill(out.begin(), out.end(), 0.0);
  for (std::size_t i = 0; i < x.rows; ++i) {
    x.for_each(i, [&](std::size_t j, float v) { out[j] += r[i] * static_cast<double>(v); });
  }
  for (std::size_t j = 0; j < out.size(); ++j) {
    const double from_center = theta[j] - (center.empty() ? 0.0 : center[j]);
    out[j] = beta * out[j] + prior_precision * from_center;
  }
}

std::vector<double> hessian(const Potential& u, std::span<const double> theta) {
  std::vector<double> out(theta.size() * theta.size());
  Eigen::Map<MatrixXd>(out.data(), index(theta.size()), index(theta.size())) =
      lower_hessian(u, theta).selfadjointView<Eigen::Lower>();
  return out;
}

std::vector<double> hessian_diagonal(const Potential& u, std::span<const double> theta) {
  const auto weight = weights(u, theta);
  std::vector<double> out(theta.size(), u.prior_precision);
  for (std::size_t i = 0; i < u.x.rows; ++i) {
    u.x.for_each(i, [&](std::size_t j, float v) {
      out[j] += weight[i] * static_cast<double>(v) * static_cast<double>(v);
    });
  }
  return out;
}

std::vector<double> newton_step(const Potential& u, std::span<const double> theta,
                                std::span<const double> gradient) {
  const auto d = index(theta.size());
  const VectorXd step = newton(u, Eigen::Map<const VectorXd>(theta.data(), d),
                               Eigen::Map<const VectorXd>(gradient.data(), d));
  return {step.begin(), step.end()};
}

double damping(const Loss& loss, double logits_moved) {
  const double D = loss.self_concordance() * logits_moved;
  return D > 0 ? std::log1p(D) / D : 1.0;
}

Minimum minimise(const Potential& u, double tolerance) {
  require_finite_nonnegative(tolerance, "tolerance");
  const bool flat = u.prior_precision == 0;
  // Without a prior and without a minimum each step adds about 1 to the margin; 25 is where the
  // curvature left, exp(-25), nears the ridge below.
  const int most_iterations = flat ? 25 : 100;
  const auto d = index(u.x.cols);
  VectorXd theta = VectorXd::Zero(d), gradient(d), trial_gradient(d);
  if (!u.center.empty() && !flat) theta = Eigen::Map<const VectorXd>(u.center.data(), d);
  u.gradient(view(theta), view(gradient));
  double value = u.value(view(theta));

  int iteration = 0;
  bool attained = false;
  for (; iteration < most_iterations; ++iteration) {
    if (!flat && gradient.norm() <= tolerance) break;

    VectorXd step;
    if (flat) {
      // Collinear features make H singular at m = 0; the ridge leaves those directions alone and
      // slows none of the others.
      MatrixXd h = lower_hessian(u, view(theta));
      h.diagonal().array() += 1e-13 * h.diagonal().maxCoeff();
      step = -h.selfadjointView<Eigen::Lower>().ldlt().solve(gradient);
    } else {
      step = newton(u, theta, gradient);
    }
    attained = !flat || !step_moves_logits(u, step);
    if (attained && gradient.norm() <= tolerance) break;

    // Armijo's rule while U resolves the decrease it asks for; closer to the minimum a full step is
    // good when it makes the gradient smaller, and rounding has stopped progress when it does not.
    const double slope = gradient.dot(step);
    const bool resolved = -slope > 1e-12 * std::fabs(value);
    VectorXd trial = theta + step;
    double trial_value = u.value(view(trial));
    for (double t = 1; resolved && t > 1e-10 && !(trial_value <= value + 1e-4 * t * slope);) {
      t /= 2;
      trial = theta + t * step;
      trial_value = u.value(view(trial));
    }
    u.gradient(view(trial), view(trial_gradient));
    const bool better = resolved ? trial_value < value : trial_gradient.norm() < gradient.norm();
    if (!better) break;
    theta = trial;
    value = trial_value;
    gradient = trial_gradient;
  }
  if (flat && !attained) {
    throw BadInput(
        "prior_precision: 0, and the loss has no minimum (the classes can be separated); give a "
        "prior precision above 0");
  }
  return {{theta.begin(), theta.end()}, gradient.norm(), iteration};
}

}  // namespace gibbsite
