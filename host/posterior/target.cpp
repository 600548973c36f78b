#include "posterior/target.hpp"

#include <deque>
#include <utility>

namespace gibbsite {

using Eigen::VectorXd;

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
