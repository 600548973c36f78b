#include "gibbsite/chains/potential.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseCore>
#include <algorithm>
#include <cmath>
#include <limits>

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

// Beyond, a Hessian (n d^2/2 operations) costs more than some hundred products with it.
constexpr std::size_t most_dense_features = 1000;

Eigen::Index index(std::size_t n) { return static_cast<Eigen::Index>(n); }

std::span<double> view(VectorXd& v) { return {v.data(), static_cast<std::size_t>(v.size())}; }
std::span<const double> view(const VectorXd& v) {
  return {v.data(), static_cast<std::size_t>(v.size())};
}

// grad^2 U, all of it.
MatrixXd dense_hessian(const Potential& u, std::span<const double> theta) {
  const std::size_t d = u.features();
  MatrixXd h(index(d), index(d));
  u.engine->hessian(theta, u.beta)->dense({h.data(), d, d});
  for (std::size_t j = 0; j < d; ++j) h(index(j), index(j)) += u.prior_curvature(j, theta[j]);
  return h;
}

// v -> grad^2 U v without the matrix, for Eigen's solvers.
class HessianProduct : public Eigen::EigenBase<HessianProduct> {
 public:
  using Scalar = double;
  using RealScalar = double;
  using StorageIndex = int;
  enum { ColsAtCompileTime = -1, MaxColsAtCompileTime = -1, IsRowMajor = false };

  HessianProduct(const Potential& u, std::span<const double> theta)
      : loss_(u.engine->hessian(theta, u.beta)), prior_(index(theta.size())) {
    for (std::size_t j = 0; j < theta.size(); ++j)
      prior_(index(j)) = u.prior_curvature(j, theta[j]);
  }
  [[nodiscard]] Eigen::Index rows() const { return prior_.size(); }
  [[nodiscard]] Eigen::Index cols() const { return rows(); }
  template <class Rhs>
  Eigen::Product<HessianProduct, Rhs, Eigen::AliasFreeProduct> operator*(
      const Eigen::MatrixBase<Rhs>& v) const {
    return {*this, v.derived()};
  }
  [[nodiscard]] VectorXd times(const VectorXd& v) const {
    VectorXd out = prior_.cwiseProduct(v);
    loss_->add_product(view(v), view(out));
    return out;
  }

 private:
  std::unique_ptr<LossHessian> loss_;
  VectorXd prior_;  // [d] curvatures
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
  if (u.features() > most_dense_features) return -conjugate_gradients({u, view(theta)}, gradient);
  return -dense_hessian(u, view(theta)).selfadjointView<Eigen::Lower>().ldlt().solve(gradient);
}

// With m = 0 a minimum exists only when the loss alone attains one. Where it does not (the classes
// can be separated), the gradient fades out along a direction in which Newton's step keeps moving
// the logits by about 1; near a minimum the step vanishes with the gradient.
bool step_moves_logits(const Potential& u, const VectorXd& step) {
  return !(u.engine->largest_logit(view(step)) <= 0.5);
}

}  // namespace

double Potential::prior_value(std::span<const double> theta) const {
  double sum = 0;
  if (!priors.empty()) {
    for (std::size_t j = 0; j < theta.size(); ++j) sum += priors[j].value(theta[j]);
    return sum;
  }
  for (std::size_t j = 0; j < theta.size(); ++j) {
    const double from_center = theta[j] - prior_center(j);
    sum += from_center * from_center;
  }
  return prior_precision / 2 * sum;
}

double Potential::value(std::span<const double> theta) const {
  return beta * engine->plain_value(theta) + prior_value(theta);
}

void Potential::gradient(std::span<const double> theta, std::span<double> out) const {
  engine->plain_gradient(theta, out);
  for (std::size_t j = 0; j < out.size(); ++j) {
    out[j] = beta * out[j] + prior_derivative(j, theta[j]);
  }
}

double Potential::least_precision() const {
  if (priors.empty()) return prior_precision;
  double least = std::numeric_limits<double>::infinity();
  for (const Prior& prior : priors) least = std::min(least, prior.curvature(prior.center));
  return least;
}

std::vector<double> hessian(const Potential& u, std::span<const double> theta) {
  const MatrixXd h = dense_hessian(u, theta);
  return {h.data(), h.data() + h.size()};
}

std::vector<double> hessian_diagonal(const Potential& u, std::span<const double> theta) {
  std::vector<double> out(theta.size());
  for (std::size_t j = 0; j < theta.size(); ++j) out[j] = u.prior_curvature(j, theta[j]);
  u.engine->hessian(theta, u.beta)->add_diagonal(out);
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
  if (!std::isfinite(loss.self_concordance())) return 0;
  const double D = loss.self_concordance() * logits_moved;
  return D > 0 ? std::log1p(D) / D : 1.0;
}

Minimum minimize(const Potential& u, double tolerance) {
  require_finite_nonnegative(tolerance, "tolerance");
  const bool flat = u.priors.empty() && u.prior_precision == 0;
  // Without a prior and without a minimum each step adds about 1 to the margin; 25 is where the
  // curvature left, exp(-25), nears the ridge below.
  const int most_iterations = flat ? 25 : 100;
  const auto d = index(u.features());
  VectorXd theta = VectorXd::Zero(d), gradient(d), trial_gradient(d);
  if (!flat) {
    for (std::size_t j = 0; j < u.features(); ++j) theta(index(j)) = u.prior_center(j);
  }
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
      MatrixXd h = dense_hessian(u, view(theta));
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
