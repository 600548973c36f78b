#pragma once
// The public domain of a table, written by a person: ranges, levels, row norm. Never derived from
// data.
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gibbsite/core/positive_share.hpp"
#include "gibbsite/core/problem.hpp"

namespace gibbsite {

/// exposure: of a count, over how much (years, hours, people) it was counted; no feature.
enum class ColumnType { number, category, exposure, ignore };

struct Column {
  std::string name;
  ColumnType type = ColumnType::ignore;
  double lo = 0, hi = 1;  ///< number: public range; cells are clamped, then scaled to [0,1];
                          ///< exposure: public range above 0; cells are clamped
  std::vector<std::string> levels = {};  ///< category: one-hot, in this order
  bool other = false;                    ///< category: levels not listed become one more, "(other)"
  bool has_missing = false;              ///< the column has its own `missing`
  std::string missing = {};              ///< how a missing cell reads here
  /// number, in a network: where its public bins meet, ascending, between lo and hi; a bin holds
  /// its lower end. Empty: default_bins of equal width.
  std::vector<double> edges = {};
  /// number, in a synthetic table: how many decimals it is written with; none: as many as tell a
  /// hundredth of its narrowest bin.
  std::optional<int> decimals = {};
  /// number, in a network: whether missing cells are a level of their own, "(missing)", behind the
  /// bins, and are written as such in a synthetic table. None: they are if the column has its own
  /// `missing`. Else they are in the bin that holds the middle of the range.
  std::optional<bool> missing_level = {};
  /// What that comes to in a schema of network_schema; elsewhere false, and numbers have no levels.
  bool has_missing_bin = false;
  /// category: the listed level that missing cells without a level, and with `other` levels not
  /// listed, count as; empty: they have none, or become "(other)".
  std::string unlisted = {};
  /// category: the level that the table of effects sets the others against; one of
  /// Schema::level_names. Empty: the most frequent one. Nothing in a fit depends on it.
  std::string reference = {};
  std::vector<std::string> also_missing = {};  ///< with `missing`: further marks of a missing cell

  bool operator==(const Column&) const = default;
};

/// What may group digits by thousands: "," "." "'" "_", a blank, the typographic apostrophe, and
/// the blanks that do not break, wide and narrow.
inline constexpr std::string_view thousands_signs[] = {",", ".",      "'",      "_",
                                                       " ", "\u2019", "\u00a0", "\u202f"};

/// Bins of a number in a network, where the schema does not say.
inline constexpr std::uint64_t default_bins = 10;
inline constexpr std::uint64_t most_bins = 1'000;
inline constexpr int most_decimals = 15;

/// What a cell of the level "(missing)" of a number is in place of its part of the range, and from
/// where on a cell is in that level. No number is beyond 1.
inline constexpr float missing_bin_value = 2, missing_bin_edge = 1.5;

/// Where bins of equal width meet [bins - 1].
std::vector<double> equal_edges(double lo, double hi, std::uint64_t bins);

/// What becomes of a cell that the schema cannot read: not a finite number, a level that is not
/// listed (without `other`), an empty cell where none is `missing`, an empty label, of several
/// classes a label that is not listed.
/// refuse: the table is refused, which tells about that row (an assumption of the certificate).
/// middle: a number is the middle of its range, a level is "(other)" or none of the listed ones, a
/// label the negative class, of several the first one that is listed, or the middle of its range
/// (of counts the whole number below it).
enum class Invalid { refuse, middle };

/// Rows as the model sees them: columns in the schema's order (numbers one feature, categories one
/// per level, then "(missing)" when the column itself says how a missing cell reads and does not
/// list that level, then "(other)"), then the intercept.
struct Schema {
  std::string label;                    ///< name of the column to predict
  std::string positive;                 ///< its positive class (y = +1); every other is y = -1
  std::string negative;                 ///< name of the other class; empty: "not <positive>"
  bool refuses_unlisted_label = false;  ///< with `negative`: a third class is refused, not y = -1
  LabelKind label_kind = LabelKind::two_classes;  ///< of others there is no `positive`
  /// Names of several classes: y is a place in this list, from 0. Empty for other labels.
  std::vector<std::string> classes;
  /// How much a row of each class counts, above 0, in the order of class_names(); empty if all
  /// count the same. Public: never from the table's frequencies.
  std::vector<double> class_weights = {};
  double label_lo = 0, label_hi = 0;  ///< public range of an amount or a count; labels are clamped
  std::vector<double> label_edges = {};    ///< as Column::edges, of a label that is a number
  std::optional<int> label_decimals = {};  ///< as Column::decimals
  /// The unit of an amount y, and of the errors that the losses of amounts count in.
  double tolerance = 0;
  Invalid invalid = Invalid::refuse;  ///< cells and labels that cannot be read
  char decimal = '.';                 ///< of numbers in text: "." or ","
  double row_norm = 1.0;              ///< R: rows are scaled down to this norm
  bool intercept = false;             ///< append a constant feature 1
  bool has_missing = false;           ///< `missing` was given for the table
  std::string missing;                ///< how a missing cell reads where the column does not say
  std::vector<Column> columns;        ///< in the order of the schema file
  /// [network]: parents by column, for those that have any; none: it is not there.
  std::optional<std::map<std::string, std::vector<std::string>>> network{};
  std::vector<std::string> also_missing = {};  ///< as Column::also_missing, of the table
  /// What groups the digits of numbers in text by thousands; empty: nothing does.
  std::string thousands = {};
  /// The public share of positive rows of two classes, for plans. Nothing in a fit depends on it,
  /// and no model file has it.
  std::optional<PositiveShare> positive_share{};

  [[nodiscard]] std::string negative_name() const;
  /// Names of the classes in the order of y: [negative_name, positive], of several `classes`; of
  /// amounts and counts none.
  [[nodiscard]] std::vector<std::string> class_names() const;
  /// Whether the label is an amount or a count.
  [[nodiscard]] bool has_number_label() const {
    return label_kind == LabelKind::amount || label_kind == LabelKind::count;
  }
  /// What y = 0 is in the label's own unit: the middle of an amount's range; else 0.
  [[nodiscard]] double label_middle() const;
  /// What y grows by 1 for: an amount's tolerance, the largest count; else 1.
  [[nodiscard]] double label_unit() const;
  /// sup |y|, rounded up to a float.
  [[nodiscard]] float label_bound() const;
  /// class_weights divided by the largest, as floats; none where all are the same.
  [[nodiscard]] std::vector<float> scaled_class_weights() const;
  /// The column of type exposure; null: there is none.
  [[nodiscard]] const Column* exposure() const;
  /// o of an exposure: the log of what it is, clamped to the range, as a part of the highest, so
  /// -offset_bound() <= o <= 0. A float.
  [[nodiscard]] float scaled_exposure(double value) const;
  /// An exposure scaled by the range [lo, hi].
  static float scaled_exposure(double value, double lo, double hi);
  /// log(highest/lowest exposure), rounded up to a float; 0 without one.
  [[nodiscard]] float offset_bound() const;
  /// y of a label: clamped to the range, then (value - middle)/unit, rounded to a float.
  [[nodiscard]] float scaled_label(double value) const;
  /// The first mark of a missing cell of the column, which writers write; null: none is missing.
  [[nodiscard]] const std::string* missing_in(const Column& column) const;
  /// Every mark of a missing cell of the column, its own or else the table's; empty: there is none.
  [[nodiscard]] std::vector<std::string> missing_marks(const Column& column) const;
  /// The listed level of a category that is one of its marks of missing; null: no level is one.
  [[nodiscard]] const std::string* missing_level(const Column& column) const;
  /// Whether a text marks a missing label: one of the table's marks.
  [[nodiscard]] bool marks_missing_label(std::string_view text) const;
  /// Whether this category has a "(missing)" feature: it has marks of its own, none of them listed.
  [[nodiscard]] bool has_missing_level(const Column& column) const;
  /// How many features a column becomes: 1 for a number, 0 when ignored.
  [[nodiscard]] std::size_t features_of(const Column& column) const;
  /// Names of a category's features: its levels, then "(missing)" and "(other)" where they are
  /// features; of other columns none.
  [[nodiscard]] std::vector<std::string> level_names(const Column& column) const;
  /// The place of a level in level_names. A missing cell's own text stands for "(missing)". Null if
  /// the column has no such level.
  [[nodiscard]] std::optional<std::size_t> level_index(const Column& column,
                                                       std::string_view level) const;
  /// d, the intercept included.
  [[nodiscard]] std::size_t features() const;
  /// "age", "workclass=Private", "workclass=(other)", ..., "(intercept)" [d].
  [[nodiscard]] std::vector<std::string> feature_names() const;
  /// Where a row's middle is, from public ranges: 1/2 for numbers, 0 for levels and the intercept;
  /// all 0 without an intercept, which would have to take it up [d].
  [[nodiscard]] std::vector<double> middle() const;
  /// Largest norm a row can have before it is scaled down: sqrt(columns used), rounded up. When it
  /// is <= row_norm no row is ever clipped and coefficients convert exactly to the units of the
  /// columns.
  [[nodiscard]] double max_unclipped_norm() const;
  /// What `row_norm = "auto"` means in a file: max_unclipped_norm, which costs nothing in a private
  /// metric; 1 beyond most_metric_features, where none can be had and the longest row sets the
  /// noise.
  [[nodiscard]] double auto_row_norm() const;
  operator FeatureSpace() const;  // NOLINT: a schema is the space its rows live in
  /// Throws BadInput "SOURCE: what; what to do" on row_norm <= 0, no columns, lo >= hi, duplicate
  /// levels or classes, a label that is also a feature, and so on.
  void validate(const std::string& source) const;
  bool operator==(const Schema&) const = default;
};

}  // namespace gibbsite
