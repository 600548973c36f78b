#pragma once
// The label of a table: its kind, with the public numbers and names of that kind.
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gibbsite/core/positive_share.hpp"
#include "gibbsite/core/problem.hpp"

namespace gibbsite {

/// One of two classes: y is +1 for the positive class, and -1 for every other.
struct TwoClasses {
  static constexpr LabelKind kind = LabelKind::two_classes;
  std::string positive = {};
  std::string negative = {};      ///< name of the other class; empty: "not <positive>"
  bool refuses_unlisted = false;  ///< with `negative`: a third class is refused, not y = -1
  /// Weight of a row of each class, above 0, in the order of class_names(); empty if all are equal.
  /// Weights are public and never computed from the table's frequencies.
  std::vector<double> weights = {};
  /// The public share of positive rows, which plans use. No fit depends on it, and no model file
  /// has it.
  std::optional<PositiveShare> positive_share = {};

  [[nodiscard]] std::string negative_name() const {
    return negative.empty() ? "not " + positive : negative;
  }
  bool operator==(const TwoClasses&) const = default;
};

/// One of three or more classes: y is a place in the list, from 0.
struct Classes {
  static constexpr LabelKind kind = LabelKind::classes;
  std::vector<std::string> names = {};
  std::vector<double> weights = {};  ///< as TwoClasses::weights

  bool operator==(const Classes&) const = default;
};

/// What amounts and counts have in common.
struct NumberLabel {
  double lo = 0, hi = 0;             ///< public range; labels are clamped
  std::vector<double> edges = {};    ///< as Column::edges
  std::optional<int> decimals = {};  ///< as Column::decimals

  bool operator==(const NumberLabel&) const = default;
};

/// A number of a range: y is its distance from the middle of the range, in tolerances.
struct Amount : NumberLabel {
  static constexpr LabelKind kind = LabelKind::amount;
  double tolerance = 0;  ///< the unit of y, and of the errors that losses count

  [[nodiscard]] double middle() const { return lo + (hi - lo) / 2; }
  bool operator==(const Amount&) const = default;
};

/// A whole number from 0 to `hi`: y is its part of `hi`.
struct Count : NumberLabel {
  static constexpr LabelKind kind = LabelKind::count;

  bool operator==(const Count&) const = default;
};

using Label = std::variant<TwoClasses, Classes, Amount, Count>;

/// The tag of the label in the public problem.
LabelKind kind_of(const Label& label);

/// Whether the label is of that kind: is<Amount>(label).
template <class Kind>
bool is(const Label& label) {
  return std::holds_alternative<Kind>(label);
}

/// The range of an amount or a count; null for classes.
const NumberLabel* number_of(const Label& label);

/// Names of the classes in the order of y: [negative_name(), positive] for two, all for several.
/// Empty for amounts and counts.
std::vector<std::string> class_names(const Label& label);

/// The least probability for which the positive of two classes is predicted: `given`, or one half.
/// Throws BadInput about `threshold` if it is outside [0, 1], or given where the label of `source`
/// is another.
double decision_threshold(std::optional<double> given, const Label& label, std::string_view source);

/// Weights of the classes as in the schema; empty if all are equal, and for amounts and counts.
std::span<const double> class_weights(const Label& label);

/// class_weights divided by the largest, as floats; empty if all are equal. Throws BadInput
/// "class_weights: ..." if one is not above 0, or far below the largest.
std::vector<float> scaled_class_weights(const Label& label);

/// The label's value for y = 0, in its own unit: the middle of an amount's range, else 0.
double label_middle(const Label& label);

/// The label's unit, which adds 1 to y: an amount's tolerance, the largest count, else 1.
double label_unit(const Label& label);

/// What multiplies a coefficient for people: an amount's tolerance, else 1.
double coefficient_unit(const Label& label);

/// Upper bound of |y|, rounded up to a float.
float label_bound(const Label& label);

/// The label y of an amount or a count: clamped to the range, then (value - middle)/unit, rounded
/// to a float. 0 for classes, which have no such values.
float scaled_label(const Label& label, double value);

}  // namespace gibbsite
