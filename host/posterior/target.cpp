#include "posterior/target.hpp"

#include <deque>
#include <utility>

#include "posterior/normal_model.hpp"

namespace gibbsite {

using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {
template <class T>
MatrixView<T> shape(T* data, const Rowwise& m) {
  return {data, static_cast<std::size_t>(m.rows()), static_cast<std::size_t>(m.cols())};
}
}  // namespace

Target::Target(const Potential& potential, const PosteriorOptions& options) : u_(potential) {
  if (options.noise) {
    normal_ = std::make_unique<NormalModel>(u_, *options.noise);
    center_ = normal_->mode();
    return;
  }
  center_.resize(index(u_.features()));
  for (std::size_t j = 0; j < u_.features(); ++j) center_(index(j)) = u_.prior_center(j);
}
Target::~Target() = default;

std::size_t Target::parameters() const { return static_cast<std::size_t>(center_.size()); }

void Target::gradients(const Rowwise& theta, Rowwise& out) {
  if (normal_) return normal_->gradients(theta, out);
  u_.engine->loss_gradients(shape(theta.data(), theta), shape(out.data(), out));
  add_prior_to_gradients(theta, out);
}

void Target::values(const Rowwise& theta, VectorXd& out) {
  if (normal_) return normal_->values(theta, out);
  u_.engine->loss_values(shape(theta.data(), theta),
                         {out.data(), static_cast<std::size_t>(out.size())});
  add_prior_to_values(theta, out);
}

void Target::values_and_gradients(const Rowwise& theta, VectorXd& values, Rowwise& gradients) {
  if (normal_) {
    normal_->values(theta, values);
    return normal_->gradients(theta, gradients);
  }
  u_.engine->loss_values_and_gradients(shape(theta.data(), theta),
                                       {values.data(), static_cast<std::size_t>(values.size())},
                                       shape(gradients.data(), gradients));
  add_prior_to_values(theta, values);
  add_prior_to_gradients(theta, gradients);
}

void Target::add_prior_to_gradients(const Rowwise& theta, Rowwise& out) const {
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

void Target::add_prior_to_values(const Rowwise& theta, VectorXd& out) const {
  if (u_.priors.empty()) {
    out = u_.beta * out +
          u_.prior_precision / 2 * (theta.rowwise() - center_.transpose()).rowwise().squaredNorm();
    return;
  }
  const auto d = static_cast<std::size_t>(theta.cols());
  for (Eigen::Index c = 0; c < theta.rows(); ++c)
    out(c) = u_.beta * out(c) + u_.prior_value({theta.row(c).data(), d});
}

VectorXd Target::mode(double tolerance) const {
  return normal_ ? center_ : vector(minimize(u_, tolerance).theta);
}

MatrixXd Target::hessian(const VectorXd& at) const {
  if (normal_) return normal_->hessian(at);
  const std::vector<double> h = gibbsite::hessian(u_, view(at));
  return Eigen::Map<const MatrixXd>(h.data(), at.size(), at.size());
}

VectorXd Target::hessian_diagonal(const VectorXd& at) const {
  if (normal_) return normal_->hessian(at).diagonal();
  return vector(gibbsite::hessian_diagonal(u_, view(at)));
}

VectorXd near_minimum(Target& target, const VectorXd& variance, const std::function<void()>& poll) {
  constexpr std::size_t pairs = 10;
  constexpr int most_iterations = 500;
  const auto d = variance.size();
  Rowwise at = target.center().transpose(), gradient(1, d), trial(1, d), trial_gradient(1, d);
  VectorXd value(1), trial_value(1);
  std::deque<std::pair<VectorXd, VectorXd>> moves;  // of theta, of the gradient
  target.gradients(at, gradient);
  target.values(at, value);
  for (int iteration = 0; iteration < most_iterations; ++iteration) {
    poll();
    const VectorXd g = gradient.transpose();
    if (g.cwiseAbs2().dot(variance) <= 0.01 * static_cast<double>(d)) break;
    VectorXd step = -g;
    std::vector<double> taken;
    for (auto pair = moves.rbegin(); pair != moves.rend(); ++pair) {
      taken.push_back(pair->first.dot(step) / pair->first.dot(pair->second));
      step -= taken.back() * pair->second;
    }
    step = step.cwiseProduct(variance);
    for (const auto& [move, change] : moves) {
      step += (taken.back() - change.dot(step) / move.dot(change)) * move;
      taken.pop_back();
    }
    const double slope = g.dot(step);
    double t = 1;
    for (; t > 1e-10; t /= 2) {
      trial = at + t * step.transpose();
      target.values(trial, trial_value);
      if (trial_value(0) <= value(0) + 1e-4 * t * slope) break;
    }
    if (!(t > 1e-10)) break;  // rounding
    target.gradients(trial, trial_gradient);
    moves.emplace_back((trial - at).transpose(), (trial_gradient - gradient).transpose());
    if (!(moves.back().first.dot(moves.back().second) > 0)) moves.pop_back();
    if (moves.size() > pairs) moves.pop_front();
    at = trial;
    gradient = trial_gradient;
    value = trial_value;
  }
  return at.transpose();
}

}  // namespace gibbsite
