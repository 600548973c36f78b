#pragma once
// The public, worst-case numbers of a problem: all that `privacy` and `mechanism` may know.
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gibbsite {

/// Which data sets count as neighbors (docs/reference/certificate.md).
enum class Adjacency { replace_one, add_remove };

/// What is to be predicted, and what a row keeps of it as y: -1 or +1; an amount's distance from
/// the middle of its range in tolerances; a count as a part of the largest one, from 0 to 1; of
/// three classes and more the place of one in the schema's list, from 0.
enum class LabelKind { two_classes, amount, count, classes };
/// "two classes", "an amount", "a count", "several classes".
std::string_view to_string(LabelKind kind);

/// A loss's name without the weights of its classes: logistic of logistic(0.4,1).
std::string_view unweighted_name(std::string_view loss);

/// The space that rows live in; a Schema converts to it.
struct FeatureSpace {
  std::uint64_t features = 0;  ///< d, the intercept included
  double row_norm = 1.0;       ///< R: every row without the intercept has norm <= R
  bool intercept = false;      ///< a constant feature 1 is the last coordinate
  /// Norm of a typical row, numbers about the middle of their ranges where there is an intercept: a
  /// guess from public numbers, no bound. 0: unknown.
  double typical_row_norm = 0;
  LabelKind label = LabelKind::two_classes;
  double label_bound = 1;     ///< sup |y|
  std::uint64_t classes = 2;  ///< how many, where the label is one of several
  /// What a row's loss is multiplied by for each class, in the order of y, the largest 1; empty if
  /// all are 1.
  std::vector<float> class_weights{};
  /// sup |o| of a count's predictor x.theta + o, o the log of the exposure; 0: rows have none.
  double offset_bound = 0;
};

/// Beyond it the noise of d^2 second moments, and their work, outweigh what a private metric gives.
inline constexpr std::uint64_t most_metric_features = 2000;

/// Traces of a loss's Hessian in its predictors, in parts of `curvature`: 1 of one output.
struct HessianTraces {
  double most = 1;      ///< of the Hessian anywhere
  double majorant = 1;  ///< of one matrix above the Hessian everywhere
};

/// Public constants of a GLM on n rows (docs/reference/certificate.md). Nothing here may come from
/// the data but n under replace-one adjacency; under add/remove `rows` is a public cap on n.
struct Problem {
  std::uint64_t rows = 0;  ///< n, or its public cap
  /// Coordinates of theta: d, the intercept included, for each output of the loss.
  std::uint64_t features = 0;
  std::uint64_t outputs = 1;      ///< K of the loss
  double row_norm = 1.0;          ///< R of the schema
  bool intercept = false;         ///< row norm with the intercept is sqrt(R^2 + 1)
  double typical_row_norm = 0;    ///< of the schema; decides about accuracy alone
  double label_bound = 1;         ///< sup |y| of the schema; of an amount 1 or more
  double offset_bound = 0;        ///< sup |o|: a row's predictor is x.theta + o, of the schema
  std::string loss = "logistic";  ///< name of the loss
  /// sup |f'|, of several outputs the vector's length; infinite where only a ball bounds it.
  double max_abs_residual = 1.0;
  double residual_at_zero = 1.0;  ///< sup |f'(0, y)|; at most max_abs_residual
  double curvature = 0.25;        ///< phi = sup f'' along the linear predictors
  HessianTraces traces{};         ///< of the loss
  double self_concordance = 1;    ///< c with |f'''| <= c f''; infinite where f'' jumps
  /// f(o, y) - inf f is at most this, whatever y and o.
  double drop_from_zero = std::numeric_limits<double>::infinity();
  bool one_signed = false;                ///< f'(., y) has one sign, whatever y
  std::optional<double> prior_precision;  ///< m, when the model fixes it; else the schedule does
  double center_norm = 0;                 ///< ||theta0||, rounded up

  /// d: features of a row, the intercept included.
  [[nodiscard]] std::uint64_t row_features() const { return features / outputs; }
  /// sup ||x|| with the intercept: R, or sqrt(R^2 + 1) rounded up.
  [[nodiscard]] double full_row_norm_up() const;
  /// Whether |f'| has a bound wherever theta is. Where it has none only what keeps theta in a ball
  /// can have a guarantee: the functions below then throw BadInput unless they are given one.
  [[nodiscard]] bool bounded() const;
  /// sup |f'| over ||theta|| <= ball, rounded up: f' is phi-Lipschitz and |x . theta| at most the
  /// whole row's norm times the ball. ball = 0: over every theta.
  [[nodiscard]] double max_abs_residual_up(double ball = 0) const;
  /// L = sup |f'| * sup ||x||, in a ball where one is given, rounded up.
  [[nodiscard]] double lipschitz_up(double ball = 0) const;
  /// S = k * 2 beta L (replace-one) or k * beta L (add/remove), rounded up (docs/theory/path.md).
  [[nodiscard]] double sensitivity_up(double beta, Adjacency adjacency,
                                      std::uint64_t rows_per_person) const;
  /// M = beta n phi R^2 + m with the intercept in R, rounded up (docs/theory/path.md).
  [[nodiscard]] double smoothness_up(double beta, double strong_convexity) const;

  /// Bound on ||theta* - theta0||, theta* the minimizer of U, rounded up: the smaller one of beta n
  /// L/m and sqrt(2 beta n (f(0) - inf f)/m + ||theta0||^2), because U(theta*) <= U(0). m > 0.
  [[nodiscard]] double minimizer_distance_up(double beta, double strong_convexity) const;

  /// Throws BadInput naming the field that is out of range.
  void validate() const;
};

}  // namespace gibbsite
