#pragma once
// What the warm-up learns of rotations: their angle, and how often a trajectory must help them.
#include <Eigen/Core>
#include <cstdint>
#include <numbers>
#include <vector>

#include "posterior/target.hpp"

namespace gibbsite {

/// The angle where nothing is tuned.
inline constexpr double usual_angle = 0.55 * std::numbers::pi;
/// One of so many transitions of rotating chains is a leapfrog trajectory: kicks alone are refused
/// again and again far out, where the slope is far from the Gaussian's. Rare is enough where the
/// warm-up saw none of that.
inline constexpr std::uint64_t usual_period = 16, rare_period = 64;

/// Rotations by angles from all over a range, as their chains met them.
///
/// A rotation of a Gaussian by a that is accepted leaves cos a of q and cos^2 a of q^2 - 1. With w
/// the mean acceptance, weighted by how far moves go, the correlation after one transition is
/// rho = 1 - w (1 - cos a) for means, weights |q' - q|^2, and rho = 1 - w sin^2 a for squares,
/// weights |q'^2 - q^2|^2; effective draws a gradient are (1 - rho)/(1 + rho). w is taken as a line
/// in the angle, fitted by least squares with these weights.
class RotationTuning {
 public:
  explicit RotationTuning(std::size_t chains) : refused_(chains, 0) {}

  /// The angle of the next rotation, for u uniform on [0, 1).
  [[nodiscard]] static double angle(double u);
  /// A rotation by the angle of all chains from q to q' [C x d], accepted so likely [C].
  void add(double angle, const Rowwise& from, const Rowwise& to, const Eigen::VectorXd& acceptance);
  /// Whether chain c took it; or took a trajectory.
  void took(std::size_t chain, bool moved);

  /// The angle at which the least of effective draws for means and 1.5 times those for squares is
  /// largest: squares lose what means gain beyond pi/2.
  [[nodiscard]] double best_angle() const;
  /// rare_period where no chain was refused eight times in a row in 500 rotations or more.
  [[nodiscard]] std::uint64_t period() const;

 private:
  // Weighted sums of a line through acceptances by angles.
  struct Line {
    double weight = 0, angle = 0, angle2 = 0, accepted = 0, both = 0;
    void add(double w, double a, double acceptance);
    [[nodiscard]] double at(double a) const;
  };
  Line means_, squares_;
  std::uint64_t rotations_ = 0;         // of one chain
  std::uint64_t longest_ = 0;           // refusals in a row
  std::vector<std::uint64_t> refused_;  // [C] in a row, at present
};

}  // namespace gibbsite
