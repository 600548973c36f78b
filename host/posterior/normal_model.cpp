#include "posterior/normal_model.hpp"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "gibbsite/core/error.hpp"
#include "gibbsite/model/losses/squared.hpp"

namespace gibbsite {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr std::size_t most_dense_features = 4000;
// Labels are floats: below that, a deviation in tolerances is rounding.
const double least_log_deviation = std::log(1e-7);

// The prior of sigma: the half of Student's t above 0, as regressions in Stan have it.
constexpr double degrees = 3, scale = 2.5;

double odds(double s) { return std::exp(2 * s) / (degrees * scale * scale); }
// V = -log prior(e^s) - s, and its derivatives.
double noise_value(double s) { return (degrees + 1) / 2 * std::log1p(odds(s)) - s; }
double noise_derivative(double s) { return (degrees + 1) * odds(s) / (1 + odds(s)) - 1; }
double noise_curvature(double s) {
  const double v = odds(s);
  return 2 * (degrees + 1) * v / ((1 + v) * (1 + v));
}

}  // namespace

NormalModel::NormalModel(const Potential& potential, const LearnedNoise& noise)
    : u_(potential), rows_(noise.rows) {
  if (u_.loss().name() != losses::squared::name) {
    throw BadInput(Field{"model"}, "only the squared loss has a noise to learn", "give normal");
  }
  require_finite_positive(rows_, "noise: rows");
  const std::size_t d = u_.features();
  if (d > most_dense_features) {
    throw BadInput(
        Field{"model"},
        fmt::format("normal takes {} parameters at most, the rows have {}", most_dense_features, d),
        "give huber");
  }
  const std::vector<double> theta = minimize(u_, 1e-6 * std::sqrt(u_.least_precision())).theta;
  center_ = vector(theta);
  loss_ = u_.engine->plain_value(theta);
  std::vector<double> gradient(d);
  u_.engine->plain_gradient(theta, gradient);
  gradient_ = vector(gradient);
  hessian_.resize(index(d), index(d));
  u_.engine->hessian(theta, 1)->dense({hessian_.data(), d, d});
}

NormalModel::Losses NormalModel::losses(const Rowwise& thetas) const {
  const Rowwise moved = thetas.rowwise() - center_.transpose();
  Losses out;
  out.gradient.noalias() = moved * hessian_;
  out.value = moved * gradient_ + moved.cwiseProduct(out.gradient).rowwise().sum() / 2;
  out.value = (out.value.array() + loss_).cwiseMax(0);  // rounding, where the fit is next to exact
  out.gradient.rowwise() += gradient_.transpose();
  return out;
}

// beta e^(-2s): what a row's loss counts.
VectorXd NormalModel::weights(const Rowwise& states) const {
  return u_.beta * (-2 * states.col(states.cols() - 1)).array().exp();
}

void NormalModel::values(const Rowwise& states, VectorXd& out) const {
  const Eigen::Index d = center_.size();
  const Rowwise thetas = states.leftCols(d);
  out = weights(states).cwiseProduct(losses(thetas).value);
  for (Eigen::Index c = 0; c < states.rows(); ++c) {
    const double s = states(c, d);
    out(c) += u_.beta * rows_ * s + noise_value(s) +
              u_.prior_value({thetas.row(c).data(), static_cast<std::size_t>(d)});
  }
}

void NormalModel::gradients(const Rowwise& states, Rowwise& out) const {
  const Eigen::Index d = center_.size();
  const Rowwise thetas = states.leftCols(d);
  const Losses loss = losses(thetas);
  const VectorXd weight = weights(states);
  out.resize(states.rows(), d + 1);
  out.leftCols(d) = weight.asDiagonal() * loss.gradient;
  for (Eigen::Index c = 0; c < states.rows(); ++c) {
    for (Eigen::Index j = 0; j < d; ++j)
      out(c, j) += u_.prior_derivative(static_cast<std::size_t>(j), thetas(c, j));
    out(c, d) = u_.beta * rows_ - 2 * weight(c) * loss.value(c) + noise_derivative(states(c, d));
  }
}

// The s where U is lowest for a loss: U is convex in s, and Newton's steps from where it is held to
// at most 1 do not leave.
double NormalModel::lowest(double s, double loss) const {
  for (int step = 0; step < 200; ++step) {
    const double fit = 2 * u_.beta * loss * std::exp(-2 * s);
    const double move =
        -(u_.beta * rows_ - fit + noise_derivative(s)) / (2 * fit + noise_curvature(s));
    s += std::clamp(move, -1.0, 1.0);
    if (std::fabs(move) < 1e-14 || s < least_log_deviation) break;
  }
  return s;
}

VectorXd NormalModel::mode() const {
  constexpr int most_steps = 1000;
  const Eigen::Index d = center_.size();
  VectorXd theta = center_;
  double s = 0, loss = loss_;
  for (int step = 0; step < most_steps; ++step) {
    const double before = s;
    s = lowest(s, loss);
    if (!(s >= least_log_deviation)) {
      throw BadInput(Field{"model"},
                     "normal has no noise to learn: the terms fit the labels exactly",
                     "give fewer terms, or huber");
    }
    const double weight = u_.beta * std::exp(-2 * s);
    MatrixXd h = weight * hessian_;
    VectorXd slope = weight * losses(theta.transpose()).gradient.transpose();
    for (Eigen::Index j = 0; j < d; ++j) {
      const auto place = static_cast<std::size_t>(j);
      h(j, j) += u_.prior_curvature(place, theta(j));
      slope(j) += u_.prior_derivative(place, theta(j));
    }
    const VectorXd move = -h.selfadjointView<Eigen::Lower>().ldlt().solve(slope);
    theta += move;
    loss = losses(theta.transpose()).value(0);
    // The metric's length of what is left to go, squared.
    if (step > 0 && -move.dot(slope) < 1e-16 && std::fabs(s - before) < 1e-9) break;
  }
  VectorXd out(d + 1);
  out << theta, s;
  return out;
}

MatrixXd NormalModel::hessian(const VectorXd& state) const {
  const Eigen::Index d = center_.size();
  const Losses loss = losses(state.head(d).transpose());
  const double s = state(d), weight = u_.beta * std::exp(-2 * s);
  MatrixXd out(d + 1, d + 1);
  out.topLeftCorner(d, d) = weight * hessian_;
  for (Eigen::Index j = 0; j < d; ++j)
    out(j, j) += u_.prior_curvature(static_cast<std::size_t>(j), state(j));
  out.topRightCorner(d, 1) = -2 * weight * loss.gradient.transpose();
  out.bottomLeftCorner(1, d) = out.topRightCorner(d, 1).transpose();
  out(d, d) = 4 * weight * loss.value(0) + noise_curvature(s);
  return out;
}

}  // namespace gibbsite
