#pragma once
// The profile of objective perturbation, argmin J(theta) + b.theta with b ~ N(0, sigma^2 I), for
// one row and for one person (docs/theory/objective-perturbation.md). Everything is rounded to the
// safe side.
#include "gibbsite/privacy/calibrate.hpp"

namespace gibbsite {

/// A pair of tables that differ in one row, of which nothing else matters.
struct ObjectivePair {
  double s = 0;             ///< L/sigma
  double t = 0;             ///< phi R^2/Lambda
  bool one_signed = false;  ///< f' of one row has one sign whatever theta
  /// `exact`, or `redberg`: Redberg, Koskela, Wang 2023, which needs t < 1.
  Calibration calibration = Calibration::exact;
};

/// I(epsilon; s, t) = (1/t) int_0^s max_y {[(1+t) phi(y-v) - e^epsilon phi(y)]_+
///                                         - [phi(y-v) - e^epsilon phi(y)]_+} dv
/// by `panels` panels, each of which bounds it from above: what the log-determinant adds to the
/// profile where a row is taken away. 0 < s <= sqrt(2 epsilon), t > 0.
double objective_excess_up(double epsilon, double s, double t, int panels = 4096);

/// delta(epsilon) of the law without a row against the law with it, and the other way round.
/// epsilon >= 0. Throw BadInput on anything out of range, or another calibration.
double objective_insert_delta_up(const ObjectivePair& pair, double epsilon);
double objective_delete_delta_up(const ObjectivePair& pair, double epsilon);

/// delta(epsilon) of one draw for a person of who.rows_per_person rows: a step a row, first those
/// taken away, with `deletion_epsilon` of epsilon for them all, then those put in. Add/remove: all
/// of epsilon for the one or the other.
double objective_delta_up(const ObjectivePair& pair, double epsilon, double deletion_epsilon,
                          const Neighbors& who);

/// The largest s found with objective_delta_up <= delta, and the part of epsilon that deletions
/// take; pair.s is not read. s = 0 where there is none.
struct ObjectiveScale {
  double s = 0, deletion_epsilon = 0;
};
ObjectiveScale objective_scale_down(const ObjectivePair& pair, double epsilon, double delta,
                                    const Neighbors& who);

}  // namespace gibbsite
