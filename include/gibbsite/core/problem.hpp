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

/// The kind of label, and what a row keeps of it as y. two_classes: -1 or +1. amount: the distance
/// from the middle of its range in tolerances. count: the part of the largest count, from 0 to 1.
/// classes (three or more): the place in the schema's list, from 0.
enum class LabelKind { two_classes, amount, count, classes };
/// "two classes", "an amount", "a count", "several classes".
std::string_view to_string(LabelKind kind);

/// The name of a loss without class weights: logistic for logistic(0.4,1).
std::string_view unweighted_name(std::string_view loss);

/// The space that rows live in; a Schema converts to it.
struct FeatureSpace {
  std::uint64_t features = 0;  ///< d, the intercept included
  double row_norm = 1.0;       ///< R: every row without the intercept has norm <= R
  bool intercept = false;      ///< a constant feature 1 is the last coordinate
  /// Norm of a typical row: a guess from public numbers, no bound. Numbers are about the middle of
  /// their ranges if there is an intercept. 0: unknown.
  double typical_row_norm = 0;
  LabelKind label = LabelKind::two_classes;
  double label_bound = 1;     ///< sup |y|
  std::uint64_t classes = 2;  ///< how many, where the label is one of several
  /// Weight of a row's loss for each class, in the order of y, the largest 1. Empty if all are 1.
  std::vector<float> class_weights{};
  /// Upper bound of |o| for a count's predictor x.theta + o, where o is the log of the exposure; 0:
  /// rows have none.
  double offset_bound = 0;
  double largest_count = 0;  ///< N of a label of counts; 0: unknown
  /// Rows count by a weight of their own, from 0 to 1 (docs/theory/row-weights.md).
  bool weighted = false;
  /// A column says whose each row is, and the rows of one person count together.
  bool people = false;
};

/// The largest number of features with a private metric: beyond it the noise of d^2 second moments,
/// and their work, outweigh the gain.
inline constexpr std::uint64_t most_metric_features = 2000;

/// Traces of a loss's Hessian in its predictors, in parts of `curvature`: 1 of one output.
struct HessianTraces {
  double most = 1;      ///< of the Hessian anywhere
  double majorant = 1;  ///< of one matrix above the Hessian everywhere
};

/// The most rows of a table of people, of whom alone the number is public. Nothing but the depth of
/// sums follows from it (core/summation.hpp).
inline constexpr std::uint64_t most_rows_of_people = std::uint64_t{1} << 40;

/// Public constants of a GLM on n rows (docs/reference/certificate.md). Nothing here may come from
/// the data but n under replace-one adjacency; under add/remove `rows` is a public cap on n.
struct Problem {
  std::uint64_t rows = 0;  ///< n, or its public cap; with rows_of_person of people, not of rows
  /// k: `rows` counts people, and weights hold all rows of one person to at most k rows together.
  /// 0: `rows` counts rows.
  std::uint64_t rows_of_person = 0;
  /// Coordinates of theta: d, the intercept included, for each output of the loss.
  std::uint64_t features = 0;
  std::uint64_t outputs = 1;      ///< K of the loss
  double row_norm = 1.0;          ///< R of the schema
  bool intercept = false;         ///< row norm with the intercept is sqrt(R^2 + 1)
  double typical_row_norm = 0;    ///< of the schema; decides about accuracy alone
  double label_bound = 1;         ///< sup |y| of the schema; of an amount 1 or more
  double largest_count = 0;       ///< N of a label of counts; decides about accuracy alone
  double offset_bound = 0;        ///< sup |o|: a row's predictor is x.theta + o, of the schema
  bool weighted = false;          ///< a row's part is multiplied by its weight in [0, 1]
  std::string loss = "logistic";  ///< name of the loss
  /// sup |f'|, for several outputs of the vector's norm. Infinite if only a ball bounds it.
  double max_abs_derivative = 1.0;
  double derivative_at_zero = 1.0;  ///< sup |f'(0, y)|; at most max_abs_derivative
  double curvature = 0.25;          ///< phi = sup f'' along the linear predictors
  HessianTraces traces{};           ///< of the loss
  double self_concordance = 1;      ///< c with |f'''| <= c f''; infinite where f'' jumps
  /// Upper bound of f(o, y) - inf f over all y and o.
  double drop_from_zero = std::numeric_limits<double>::infinity();
  bool one_signed = false;                ///< f'(., y) has one sign, whatever y
  std::optional<double> prior_precision;  ///< m, when the model fixes it; else the schedule does
  double center_norm = 0;                 ///< ||theta0||, rounded up

  /// Number of features of a row, d, the intercept included.
  [[nodiscard]] std::uint64_t row_features() const { return features / outputs; }
  /// Upper bound of ||x|| with the intercept: R, or sqrt(R^2 + 1) rounded up.
  [[nodiscard]] double full_row_norm_up() const;
  /// Whether `rows` counts people.
  [[nodiscard]] bool of_people() const { return rows_of_person > 0; }
  /// Upper bound of the sum of what rows count: n, of people k n. Rounded up.
  [[nodiscard]] double most_weight_up() const;
  /// The most rows that are added up: n, of people most_rows_of_people.
  [[nodiscard]] std::uint64_t most_rows() const { return of_people() ? most_rows_of_people : rows; }
  /// True if |f'| is bounded for every theta. If not, only a mechanism that keeps theta in a ball
  /// has a guarantee, and the functions below throw BadInput unless they are given a ball.
  [[nodiscard]] bool bounded() const;
  /// The Lipschitz constant sup |f'| over ||theta|| <= ball, rounded up. f' is phi-Lipschitz, and
  /// |x . theta| is at most the whole row's norm times the ball. ball = 0: over every theta.
  [[nodiscard]] double max_abs_derivative_up(double ball = 0) const;
  /// L = sup |f'| * sup ||x||, in a ball if one is given, rounded up.
  [[nodiscard]] double lipschitz_up(double ball = 0) const;
  /// Sensitivity S of the gradient of U, rounded up: k * 2 beta L under replace-one, k * beta L
  /// under add/remove (docs/theory/path.md).
  [[nodiscard]] double sensitivity_up(double beta, Adjacency adjacency,
                                      std::uint64_t rows_per_person) const;
  /// Smoothness M = beta n phi R^2 + m of U, with the intercept in R, rounded up
  /// (docs/theory/path.md).
  [[nodiscard]] double smoothness_up(double beta, double strong_convexity) const;

  /// Upper bound of ||theta* - theta0|| for the minimizer theta* of U: the smaller one of beta n
  /// L/m and sqrt(2 beta n (f(0) - inf f)/m + ||theta0||^2). The latter holds because U(theta*) <=
  /// U(0). m > 0.
  [[nodiscard]] double minimizer_distance_up(double beta, double strong_convexity) const;

  /// Throws BadInput naming the field that is out of range.
  void validate() const;
};

}  // namespace gibbsite
