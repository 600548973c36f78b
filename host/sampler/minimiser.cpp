#include "sampler/minimiser.hpp"

#include <Eigen/Core>

#include "sampler/gradient_error.hpp"

namespace gibbsite {

std::optional<std::vector<double>> minimiser_within(const Potential& u, Engine& engine,
                                                    double row_norm, double tolerance) {
  using Eigen::VectorXd;
  Minimum minimum = minimise(u, tolerance / 4);
  const std::size_t d = u.x.cols;
  const auto size = static_cast<Eigen::Index>(d);
  VectorXd gradient(size);
  engine.loss_gradients({minimum.theta.data(), 1, d}, {gradient.data(), 1, d});
  const Eigen::Map<const VectorXd> theta(minimum.theta.data(), size);
  VectorXd away = theta;
  double prior_norm = 0;
  if (!u.center.empty()) {
    const Eigen::Map<const VectorXd> center(u.center.data(), size);
    away -= center;
    prior_norm = center.norm();
  }
  const double far = theta.norm() + prior_norm;
  const double error = u.beta * loss_gradient_error(*u.loss, u.x.rows, d, row_norm, far) +
                       gamma_of(8) * u.prior_precision * far;
  const double slope = (u.beta * gradient + u.prior_precision * away).norm();
  if (!(slope + error <= tolerance)) return std::nullopt;
  return std::move(minimum.theta);
}

}  // namespace gibbsite
