#pragma once
// The table of effects: what a model's coefficients say in the units of the columns, and how sure
// that is. A function of the released model alone (docs/how-to/report.md, "Effects").
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "gibbsite/model/linear_model.hpp"

namespace gibbsite {

/// The meaning of the intervals in a table of effects of two classes, for readers.
inline constexpr std::string_view interval_meaning =
    "95 % intervals include privacy noise and sampling. On simulated tables they held 94 to 100 % of "
    "the effects on average, the worst effect in about nine tables of ten (docs/theory/intervals.md).";
/// The meaning of intervals of two classes with people or weights, of classes too, for readers.
inline constexpr std::string_view interval_meaning_of_people =
    "95 % intervals include privacy noise and sampling. On simulated tables of people and of weighted "
    "rows they held 94 to 99 % of the effects on average, the worst effect in about nine tables of "
    "ten (docs/theory/intervals.md).";
/// The meaning of intervals of amounts, of counts and of several classes, for readers.
inline constexpr std::string_view interval_meaning_of_amounts =
    "95 % intervals include privacy noise and sampling. On simulated tables they held 95 to 97 % of "
    "the effects on average where errors are symmetric. Where they are very skewed, as of costs, "
    "effects are smaller than those on the mean whatever the budget, by up to a tenth with the usual "
    "tolerance and a third with a fourth of it: intervals held 87 to 90 % on average and the worst "
    "effect in half of the tables, with such a tolerance none (docs/theory/intervals.md).";
inline constexpr std::string_view interval_meaning_of_people_amounts =
    "95 % intervals include privacy noise and sampling. On simulated tables of people they held 94 to "
    "99 % of the effects on average, the worst effect in nearly nine tables of ten. Where errors are very "
    "skewed an effect is not the one on the mean (docs/theory/intervals.md).";
inline constexpr std::string_view interval_meaning_of_counts =
    "95 % intervals include privacy noise and sampling. On simulated tables they held 95 to 99 % of "
    "the effects on average, a rare level in about nine tables of ten. Where their variance is twice a "
    "Poisson's or more its effect is up to a quarter too small, within a wide interval. A number over "
    "whose range the mean grows fiftyfold may come out a twentieth too small, and not within it "
    "(docs/theory/intervals.md).";
inline constexpr std::string_view interval_meaning_of_classes =
    "95 % intervals include privacy noise and sampling. On simulated tables they held 95 to 99 % of "
    "the effects on average, and about 85 % where classes nearly separate and the budget is "
    "small (docs/theory/intervals.md).";
inline constexpr std::string_view interval_meaning_of_people_classes =
    "95 % intervals include privacy noise and sampling. On simulated tables of people and of weighted "
    "rows of three classes they held 95 to 100 % of the effects on average, the worst effect in nine "
    "tables of ten (docs/theory/intervals.md).";
/// The meaning of intervals of a model with curves, for readers.
inline constexpr std::string_view interval_meaning_of_curves =
    "95 % intervals include privacy noise and sampling. On simulated tables with curves they held 94 "
    "to 100 % of the effects on average, the worst effect in about nine tables of ten; many are wide "
    "(docs/theory/intervals.md).";
/// Likewise, of several classes.
inline constexpr std::string_view interval_meaning_of_class_curves =
    "95 % intervals include privacy noise and sampling. How often they hold the effects of a model of "
    "several classes with curves has not been simulated yet, so do not rest a claim on them alone.";
/// The meaning of intervals of a model with interactions, for readers.
inline constexpr std::string_view interval_meaning_of_interactions =
    "95 % intervals include privacy noise and sampling. How often they hold the effects of a model "
    "with interactions has not been simulated yet, so do not rest a claim on them alone.";
inline std::string_view interval_meaning_of(const Schema& schema) {
  const Label& label = schema.label;
  const bool counted = schema.person() != nullptr || schema.weight() != nullptr ||
                       !scaled_class_weights(label).empty();
  if (!schema.interactions.empty()) return interval_meaning_of_interactions;
  if (std::ranges::any_of(schema.columns, &Column::is_curve))
    return is<Classes>(label) ? interval_meaning_of_class_curves : interval_meaning_of_curves;
  return is<Amount>(label) && schema.person() != nullptr ? interval_meaning_of_people_amounts
         : is<Amount>(label)                             ? interval_meaning_of_amounts
         : is<Count>(label)                              ? interval_meaning_of_counts
         : is<Classes>(label) && counted                 ? interval_meaning_of_people_classes
         : is<Classes>(label)                            ? interval_meaning_of_classes
         : counted                                       ? interval_meaning_of_people
                                                         : interval_meaning;
}

/// What the intervals of a released model mean, for readers, in full sentences: how often they held
/// on simulated tables; or what their effects are of where that is not the columns as they stand
/// (read_otherwise_meaning), or that the classes nearly separate. Then what weights of classes do
/// to effects, where labels and weights are held, and what rows of one person were taken for.
/// `rows_per_person`: the guarantee's. A function of public numbers alone.
std::string interval_meaning_of(const LinearModel& model, std::uint64_t rows_per_person);
/// The sentences, for readers, on effects of rows that the schema's norm scales, and of numbers of
/// which a missing one is read as the middle of its range; empty if there are neither.
std::string read_otherwise_meaning(const Schema& schema);

/// The sentence for an effect that the table cannot tell from those of other columns.
inline constexpr std::string_view collinear_meaning = "the table cannot tell it from other columns";

/// One row of the table. Estimates are log-odds (two classes), log of a mean (counts), the label's
/// own unit (amounts) or scores (several classes). Without intervals only `estimate` is known.
struct Effect {
  std::string name;       ///< "age, 17 to 90", "sex=Male", "(baseline)", "(intercept)"
  std::string column;     ///< empty: the constant
  std::string level;      ///< empty: a number, or the constant
  std::string of_class;   ///< one of several classes, else empty
  double lo = 0, hi = 0;  ///< public range of a number; equal otherwise
  /// The shrunk coefficient of the encoded feature, which predictions are made by.
  double coefficient = 0;
  /// The estimated effect: a number over its range, a level against the mean of its column's levels
  /// by their shares. The constant is for all levels at that mean. Without intervals it is the
  /// coefficient.
  EffectEstimate effect;
  std::optional<EffectEstimate> per_unit;           ///< a number: for one more of its unit
  bool of_days = false;                             ///< a date, whose unit is a day
  std::optional<double> share;                      ///< a level: answered share of the rows
  std::optional<EffectEstimate> against_reference;  ///< a level other than the reference level
  std::string reference;                            ///< the reference level of the column

  [[nodiscard]] bool is_constant() const { return column.empty(); }
  [[nodiscard]] bool is_reference() const { return !level.empty() && level == reference; }
};

/// The effect's name as people read it: the knot of a curve with few digits.
std::string shown_name(const Schema& schema, const Effect& effect);

/// What a number does for one more of its unit, which is there; of a date for a year of 365.25
/// days, as a day moves little. With what that is called, "unit" or "year".
std::pair<EffectEstimate, std::string_view> shown_per_unit(const Effect& effect);

struct EffectTable {
  bool has_intervals = false;
  /// The meaning of exp(estimate): "odds ratio" or "rate ratio"; empty if it has none.
  std::string ratio;
  std::string unit;  ///< of estimates: "log-odds", "log of the mean", "score", or the label's name
  bool has_classes = false;
  std::vector<Effect> effects;  ///< in the schema's order, the constant last; class after class

  /// Places in `effects`, the surest first: by |estimate| over the half of the interval that
  /// extends towards 0. So effects whose interval excludes 0 come first. Effects that noise hides
  /// come after all others, constants last. Without intervals, the order of the others is by how
  /// far an effect spreads the scores if shares are known, else by size.
  [[nodiscard]] std::vector<std::size_t> by_certainty() const;
  /// `ratio` as a key of data: "odds_ratio" or "rate_ratio"; empty if there is none.
  [[nodiscard]] std::string ratio_key() const;
  /// How many effects noise hides, constants aside.
  [[nodiscard]] std::size_t hidden() const;
  /// How many effects the table cannot tell from those of other columns, constants aside.
  [[nodiscard]] std::size_t collinear() const;
};

/// Reference level by column, which replaces the schema's `reference`.
using References = std::map<std::string, std::string>;
/// Reads "column=level". Throws BadInput on an unknown column or level, with the nearest spelling.
void add_reference(const Schema& schema, std::string_view text, References& references);

/// The table of effects of a model. The reference level of a category is the one in `references`,
/// else the schema's. Without either it is the most frequent level by released shares, else the
/// first. Throws BadInput on an unknown column or level.
EffectTable effect_table(const LinearModel& model, const References& references = {});

/// A cell of the table as data: empty, a text, a number, or true or false.
using EffectCell = std::variant<std::monostate, std::string, double, bool>;
/// Names of the columns of the table as data: "estimate", "std_err", "p_value", ...
std::vector<std::string> effect_columns(const EffectTable& table);
/// The cells of one effect, in the order of effect_columns.
std::vector<EffectCell> effect_cells(const EffectTable& table, const Effect& effect);
/// The whole table as CSV in the schema's order (RFC 4180; numbers with all their digits).
std::string effects_csv(const EffectTable& table);

/// A p-value as text: "0.0123", or "<0.001" for smaller ones.
std::string p_value_text(double p);

}  // namespace gibbsite
