#pragma once
// The profile of objective perturbation, argmin J(theta) + b.theta with b ~ N(0, sigma^2 I), for
// one row and for one person (docs/theory/objective-perturbation.md). Everything is rounded to the
// safe side.
#include <cstdint>

#include "gibbsite/privacy/calibrate.hpp"

namespace gibbsite {

/// What matters of a pair of tables that differ in one row.
struct ObjectivePair {
  double s = 0;             ///< L/sigma
  double t = 0;             ///< phi R^2/Lambda; of K classes R^2/(K Lambda)
  bool one_signed = false;  ///< f' of one row has one sign whatever theta; so of classes
  /// `exact`, or `redberg`: Redberg, Koskela, Wang 2023, which needs t < 1.
  Calibration calibration = Calibration::exact;
  /// K - 1, in how many directions one row of K classes moves the slope: `exact` and one-signed
  /// alone if above 1.
  std::uint64_t directions = 1;
};

/// I(epsilon; s, t) = (1/t) int_0^s max_y {[(1+t) phi(y-v) - e^epsilon phi(y)]_+
///                                         - [phi(y-v) - e^epsilon phi(y)]_+} dv
/// by `panels` panels, each of which bounds it from above: what the log-determinant adds to the
/// profile where a row is taken away. 0 < s <= sqrt(2 epsilon), t > 0.
double objective_excess_up(double epsilon, double s, double t, int panels = 4096);

/// The profile of inserting a row (the law without it against the law with it), and of deleting
/// one. epsilon >= 0. Both throw BadInput on arguments out of range, or another calibration.
double objective_insert_delta_up(const ObjectivePair& pair, double epsilon);
double objective_delete_delta_up(const ObjectivePair& pair, double epsilon);

/// The profile of one draw for a person of who.rows_per_person rows, with one step for each row.
/// Under replace-one rows are first deleted, with `deletion_epsilon` of epsilon for all of them,
/// and then inserted. Under add/remove all of epsilon is for the one or the other.
double objective_delta_up(const ObjectivePair& pair, double epsilon, double deletion_epsilon,
                          const Neighbors& who);

/// The largest s found with objective_delta_up <= delta, and the part of epsilon that deletions
/// take. pair.s is not read. s is 0 if there is none.
struct ObjectiveScale {
  double s = 0, deletion_epsilon = 0;
};
ObjectiveScale objective_scale_down(const ObjectivePair& pair, double epsilon, double delta,
                                    const Neighbors& who);

}  // namespace gibbsite
