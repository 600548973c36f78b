#include "posterior/rotation_tuning.hpp"

#include <algorithm>
#include <cmath>

namespace gibbsite {
namespace {

constexpr double least_angle = 0.45 * std::numbers::pi, most_angle = 0.65 * std::numbers::pi;
constexpr std::uint64_t least_rotations = 10;  // that choose an angle
constexpr double square_counts = 1.5;          // of a mean
constexpr std::uint64_t stuck = 8, enough_to_see = 500;

double effective(double kept) { return kept / (2 - kept); }  // kept = 1 - rho

}  // namespace

void RotationTuning::Line::add(double w, double a, double acceptance) {
  weight += w;
  angle += w * a;
  angle2 += w * a * a;
  accepted += w * acceptance;
  both += w * a * acceptance;
}

double RotationTuning::Line::at(double a) const {
  const double mean = angle / weight, spread = angle2 / weight - mean * mean;
  const double slope = spread > 0 ? (both / weight - mean * accepted / weight) / spread : 0;
  return std::clamp(accepted / weight + slope * (a - mean), 0.0, 1.0);
}

double RotationTuning::angle(double u) { return least_angle + u * (most_angle - least_angle); }

void RotationTuning::add(double angle, const Rowwise& from, const Rowwise& to,
                         const Eigen::VectorXd& acceptance) {
  for (Eigen::Index c = 0; c < from.rows(); ++c) {
    const double jump = (to.row(c) - from.row(c)).squaredNorm();
    const double square = (to.row(c).cwiseAbs2() - from.row(c).cwiseAbs2()).squaredNorm();
    if (!std::isfinite(square)) continue;
    means_.add(jump, angle, acceptance(c));
    squares_.add(square, angle, acceptance(c));
  }
  ++rotations_;
}

void RotationTuning::took(std::size_t chain, bool moved) {
  refused_[chain] = moved ? 0 : refused_[chain] + 1;
  longest_ = std::max(longest_, refused_[chain]);
}

double RotationTuning::best_angle() const {
  if (rotations_ < least_rotations) return usual_angle;
  constexpr int steps = 40;
  double best = usual_angle, most = 0;
  for (int i = 0; i <= steps; ++i) {
    const double a = angle(static_cast<double>(i) / steps), sine = std::sin(a);
    const double means = effective(means_.at(a) * (1 - std::cos(a)));
    const double squares = effective(squares_.at(a) * sine * sine);
    const double least = std::min(means, square_counts * squares);
    if (!(least > most)) continue;
    most = least;
    best = a;
  }
  return best;
}

std::uint64_t RotationTuning::period() const {
  return longest_ < stuck && rotations_ * refused_.size() >= enough_to_see ? rare_period
                                                                           : usual_period;
}

}  // namespace gibbsite
