#include "gibbsite/release/effects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/reading_warnings.hpp"
#include "gibbsite/model/loss.hpp"
#include "gibbsite/release/coefficients.hpp"
#include "gibbsite/release/predict.hpp"
#include "release/csv_text.hpp"

namespace gibbsite {
namespace {

EffectEstimate scaled(EffectEstimate effect, double factor) {
  effect.estimate *= factor;
  effect.standard_error *= factor;
  effect.lower *= factor;
  effect.upper *= factor;
  return effect;
}

EffectEstimate without_interval(double estimate) {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  return {estimate, unknown, unknown, unknown, unknown, false, false};
}

Column category_named(const Schema& schema, const std::string& name) {
  std::vector<std::string> names;
  for (const Column& column : schema.terms()) {
    if (!column.has_levels()) continue;
    if (column.name == name) return column;
    names.push_back(column.name);
  }
  throw BadInput(Field{"reference"},
                 fmt::format("no category is called {}{}", quoted(name), did_you_mean(name, names)),
                 "name a column with levels");
}

std::size_t reference_place(const Schema& schema, const Column& column, const std::string& level) {
  const auto place = schema.level_index(column, level);
  if (place) return *place;
  throw BadInput(Field{"reference"},
                 fmt::format("column {} has no level {}{}", quoted(column.name), quoted(level),
                             did_you_mean(level, schema.level_names(column))),
                 "name one of its levels");
}

// Which of the column's levels others are set against.
std::size_t reference_of(const LinearModel& model, const Column& column,
                         const References& references, std::span<const double> shares) {
  const auto given = references.find(column.name);
  if (given != references.end()) return reference_place(model.schema, column, given->second);
  if (!column.reference.empty()) return reference_place(model.schema, column, column.reference);
  if (shares.empty()) return 0;
  return static_cast<std::size_t>(std::ranges::max_element(shares) - shares.begin());
}

// The table of the coefficients of one output, class k of several.
class OutputTable {
 public:
  // `collinearity`: of the model's estimates; null where it has none.
  OutputTable(const LinearModel& model, const References& references,
              const Collinearity* collinearity, std::size_t k)
      : model_(model),
        schema_(model.schema),
        references_(references),
        collinearity_(collinearity),
        k_(k),
        theta_(coefficients_of(model.schema, model.draws.front(), k)),
        shares_(feature_means_of(model)) {
    unit_ = coefficient_unit(schema_.label);
    if (const auto* const several = std::get_if<Classes>(&schema_.label))
      class_ = several->names[k];
  }

  void add_to(std::vector<Effect>& out) const {
    std::size_t first = 0;
    for (const Column& column : schema_.terms()) {
      if (column.has_levels()) {
        add_levels(out, column, first);
      } else if (column.type == ColumnType::number) {
        out.push_back(number(column, first));
        if (schema_.has_missing_level(column)) out.push_back(missing(column, first + 1));
      }
      first += schema_.features_of(column);
    }
    if (schema_.intercept || model_.estimates) out.push_back(constant());
  }

 private:
  [[nodiscard]] Effect named(std::string name, std::size_t j) const {
    Effect out;
    out.name = std::move(name);
    out.of_class = class_;
    out.coefficient = unit_ * theta_[j];
    return out;
  }
  [[nodiscard]] EffectEstimate estimated(std::size_t j) const {
    if (!model_.estimates) return without_interval(unit_ * theta_[j]);
    return combined(feature_combination(*model_.estimates, schema_, j, k_));
  }

  [[nodiscard]] EffectEstimate combined(const std::vector<double>& c) const {
    EffectEstimate out = scaled(model_.estimates->combination(c), unit_);
    out.collinear = collinearity_->holds(c);
    return out;
  }

  [[nodiscard]] Effect number(const Column& column, std::size_t j) const {
    Effect out = named(fmt::format("{}, {} to {}", column.name, column.text_of(column.lo),
                                   column.text_of(column.hi)),
                       j);
    out.column = column.name;
    out.lo = column.lo;
    out.hi = column.hi;
    out.effect = estimated(j);
    out.per_unit = scaled(out.effect, 1 / (column.hi - column.lo));
    out.of_days = column.is_date();
    return out;
  }

  // A missing cell against the low end of the range, where the number's feature is 0 too.
  [[nodiscard]] Effect missing(const Column& column, std::size_t j) const {
    Effect out = named(column.name + "=(missing)", j);
    out.column = column.name;
    out.level = "(missing)";
    out.effect = estimated(j);
    return out;
  }

  void add_levels(std::vector<Effect>& out, const Column& column, std::size_t first) const {
    const std::vector<std::string> levels = schema_.level_names(column);
    const auto shares =
        shares_.empty() ? std::span<const double>() : shares_.subspan(first, levels.size());
    const std::size_t reference = reference_of(model_, column, references_, shares);
    for (std::size_t l = 0; l < levels.size(); ++l) {
      const std::size_t j = first + l;
      Effect level = named(column.name + "=" + levels[l], j);
      level.column = column.name;
      level.level = levels[l];
      level.reference = levels[reference];
      level.effect = estimated(j);
      if (!shares.empty()) level.share = std::clamp(shares[l], 0.0, 1.0);
      if (l != reference) {
        level.against_reference =
            model_.estimates
                ? combined(level_combination(*model_.estimates, schema_, j, first + reference, k_))
                : without_interval(unit_ * (theta_[j] - theta_[first + reference]));
      }
      out.push_back(std::move(level));
    }
  }

  [[nodiscard]] Effect constant() const {
    if (!model_.estimates) {
      Effect out = named("(intercept)", theta_.size() - 1);
      out.effect = without_interval(out.coefficient);
      return out;
    }
    Effect out;
    out.name = "(baseline)";
    out.of_class = class_;
    out.coefficient = schema_.intercept ? unit_ * theta_.back() : 0;
    // Every level stands against the mean of its column, so the constant takes up the means.
    const std::size_t d = schema_.features();
    std::vector<double> c((k_ + 1) * d);
    c.resize(model_.draws.front().size());
    const auto own = std::span(c).subspan(k_ * d, d);
    std::size_t first = 0;
    for (const Column& column : schema_.terms()) {
      const std::size_t features = schema_.features_of(column);
      if (column.has_levels())
        std::ranges::copy(level_weights(shares_, first, features), own.subspan(first).begin());
      first += features;
    }
    if (schema_.intercept) own.back() = 1;
    out.effect = scaled(model_.estimates->combination(c), unit_);
    move(out.effect, baseline_shift());
    return out;
  }

  // From the score of 0 to what is expected there: an amount, or the log of a mean of exposure 1.
  [[nodiscard]] double baseline_shift() const {
    double out = label_middle(schema_.label);
    if (is<Count>(schema_.label))
      out += std::log(label_unit(schema_.label) * loss_named(model_.loss).predicted(0));
    if (const Column* const exposure = schema_.exposure()) out -= std::log(exposure->hi);
    return out;
  }
  static void move(EffectEstimate& of, double by) {
    if (by == 0) return;
    for (double* const end : {&of.estimate, &of.lower, &of.upper}) *end += by;
    of.p_value = std::numeric_limits<double>::quiet_NaN();  // 0 is no more than another number
  }

  const LinearModel& model_;
  const Schema& schema_;
  const References& references_;
  const Collinearity* collinearity_;
  std::size_t k_;
  std::span<const double> theta_, shares_;
  double unit_ = 1;
  std::string class_;
};

// Places by descending certainty, and the words of why.
double certainty(const Effect& effect, bool has_intervals) {
  const EffectEstimate& is = effect.effect;
  const double size = std::fabs(is.estimate);
  if (has_intervals) {
    const double towards_zero = is.estimate > 0 ? is.estimate - is.lower : is.upper - is.estimate;
    return size / std::max(towards_zero, 1e-300);
  }
  // By how far it spreads the scores of people: a level that few have moves few.
  return effect.share ? size * std::sqrt(*effect.share * (1 - *effect.share)) : size * 0.29;
}

EffectCell cell(double value) {
  return std::isfinite(value) ? EffectCell(value) : EffectCell(std::monostate{});
}

std::string missing_as_middle(const Schema& schema) {
  std::vector<std::string> names;
  for (const Column& column : schema.columns)
    if (schema.missing_in(column) != nullptr && reads_missing_as_middle(schema, column))
      names.push_back(column.name);
  if (names.empty()) return "";
  return fmt::format(
      "A missing cell of {} is read as the middle of its range, and effects are of columns read so: "
      "where a twentieth of the cells or more is missing, an interval may miss the effect of the "
      "numbers themselves, which is further from none; missing_level = true in the schema mends that.",
      short_list(names));
}

// A weight of the class multiplies the odds of the class in every row alike.
std::string weighted_classes_meaning(const Schema& schema) {
  if (scaled_class_weights(schema.label).empty()) return "";
  return schema.intercept
             ? " Classes count by the weights of the schema: where the model holds, effects are "
               "those without weights and only the intercept moves; where it does not, they are "
               "of the population in which classes count so."
             : " Classes count by the weights of the schema: effects are of the population in which "
               "they count so.";
}

// Where labels and weights are held or missing, readers of the file alone cannot know how many.
std::string held_meaning(const Schema& schema) {
  std::string out;
  if (const auto* const amount = std::get_if<Amount>(&schema.label))
    out = fmt::format(" Labels below {} or above {} count as that.", number_text(amount->lo),
                      number_text(amount->hi));
  if (const auto* const count = std::get_if<Count>(&schema.label))
    out = fmt::format(" Labels above {} count as that.", number_text(count->hi));
  if (const Column* const weight = schema.weight())
    out += fmt::format(" Weights above {} count as that.", number_text(weight->hi));
  if (schema.invalid == Invalid::middle)
    out +=
        fmt::format(" A missing {} counts as {}.", schema.label_name,
                    number_of(schema.label) != nullptr ? std::string("the middle of the range")
                                                       : quoted(class_names(schema.label).front()));
  return out;
}

// Where scores spread this far noise hides how far, and estimates may be too small.
constexpr double separated_spread = 6.5;

// With four fifths of the counts 0, the others of mean 5, 20 was found, and a rare level's effect
// of 1.04 came out at 0.
std::string dispersion_meaning(const LinearModel& model) {
  constexpr double much = 5;  // from here on their intervals are widened
  if (!model.estimates || !(model.estimates->count_dispersion >= much)) return "";
  return fmt::format(
      "The counts spread far beyond Poisson's law (variance: the mean and about {:.2g} times its "
      "square), and large ones are held: such counts hardly tell the effects of levels that a tenth of "
      "the rows or fewer have, so their intervals are wide and their estimates near 0. Where most counts are 0, fit whether there are any "
      "as two classes.",
      model.estimates->count_dispersion);
}

std::string separation_meaning(const LinearModel& model) {
  if (!model.estimates || !is<TwoClasses>(model.schema.label)) return "";
  const Estimates& e = *model.estimates;
  double variance = 0;
  for (std::size_t j = 0; j < e.feature_deviations.size(); ++j) {
    double mean = 0;
    for (std::size_t c = 0; c < e.means.size(); ++c) mean += e.weights[c] * e.means[c][j];
    variance += std::pow(mean * e.feature_deviations[j], 2);
  }
  if (!(variance >= separated_spread * separated_spread)) return "";
  return fmt::format(
      "The classes nearly separate (log-odds spread by {:.2g}): on simulated tables like it effects "
      "were up to a fifth too small, and down to half of their intervals held them, so rest no claim "
      "on a size.",
      std::sqrt(variance));
}

// A number of a small part of its range whose effect is hardly known: the noise of the moments may
// be more than its cells spread, so rows are taken to differ where they do not.
constexpr double narrow_deviation = 0.005;

bool is_hardly_known(const EffectEstimate& effect) {
  return effect.hidden || effect.upper - effect.lower > std::fabs(effect.estimate);
}

std::string narrow_meaning(const LinearModel& model) {
  const Schema& schema = model.schema;
  if (!model.estimates || (!is<TwoClasses>(schema.label) && !is<Classes>(schema.label))) return "";
  const std::vector<double>& deviations = model.estimates->feature_deviations;
  std::vector<std::string> narrow;
  std::size_t j = 0;
  for (const Column& column : schema.terms()) {
    if (column.type == ColumnType::number && !column.is_curve() && j < deviations.size() &&
        deviations[j] < narrow_deviation &&
        is_hardly_known(feature_effect(*model.estimates, schema, j)))
      narrow.push_back(column.name);
    j += schema.features_of(column);
  }
  if (narrow.empty()) return "";
  return fmt::format(
      "Noise hides how the cells of {} spread in a small part of the range, so effects may be too "
      "small: on simulated tables down to none of the intervals held such a number's, and half those "
      "of other columns; give it a narrower public range.",
      short_list(narrow));
}

}  // namespace

std::pair<EffectEstimate, std::string_view> shown_per_unit(const Effect& effect) {
  constexpr double days_of_year = 365.25;
  if (!effect.of_days) return {*effect.per_unit, "unit"};
  return {scaled(*effect.per_unit, days_of_year), "year"};
}

std::string read_otherwise_meaning(const Schema& schema) {
  std::string out;
  if (schema.may_clip())
    out = fmt::format(
        "Rows longer than the schema's row_norm, {:.4g}, are scaled down to it (rows may be up to "
        "{:.4g} long), and effects are those of the scaled rows, not of the columns as they are; "
        "row_norm = \"auto\" scales none.",
        schema.row_norm, schema.max_unclipped_norm());
  const std::string missing = missing_as_middle(schema);
  return out + (out.empty() || missing.empty() ? "" : " ") + missing;
}

std::string interval_meaning_of(const LinearModel& model, std::uint64_t rows_per_person) {
  const Schema& schema = model.schema;
  std::string other = read_otherwise_meaning(schema);
  for (const std::string& words :
       {narrow_meaning(model), separation_meaning(model), dispersion_meaning(model)})
    if (!words.empty()) other.insert(0, words + (other.empty() ? "" : " "));
  std::string out = other.empty() ? std::string(interval_meaning_of(schema))
                                  : "95 % intervals include privacy noise and sampling. " + other;
  out += weighted_classes_meaning(schema);
  out += held_meaning(schema);
  // The root of a weighted score is the plain model's only where the model holds.
  if (model.estimates && is<TwoClasses>(schema.label))
    out +=
        " Where an effect bends, or depends on another column, unlike in this model, unusual rows "
        "count less in it than in a fit without privacy.";
  if (!model.estimates || rows_per_person == 1 || schema.person() != nullptr) return out;
  const std::uint64_t k = rows_per_person;
  if (model.estimates->rows_alike == k)
    return out + fmt::format(
                     " The {} rows of a person are taken for alike; a column of ids (type = "
                     "\"person\") holds what they are.",
                     k);
  return out + fmt::format(
                   " The program that made this file took the {} rows of a person for those "
                   "of {} people: where they are alike, intervals are up to {:.2g} times too "
                   "narrow.",
                   k, k, std::sqrt(static_cast<double>(k)));
}

std::string shown_name(const Schema& schema, const Effect& effect) {
  const auto column = std::ranges::find(schema.columns, effect.column, &Column::name);
  return column == schema.columns.end() || !column->is_curve()
             ? effect.name
             : column->name + '=' + shown_level(*column, effect.level);
}

std::vector<std::size_t> EffectTable::by_certainty() const {
  std::vector<std::size_t> order(effects.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto group = [&](std::size_t i) {
    return effects[i].is_constant() ? 2 : effects[i].effect.hidden ? 1 : 0;
  };
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    if (group(a) != group(b)) return group(a) < group(b);
    return certainty(effects[a], has_intervals) > certainty(effects[b], has_intervals);
  });
  return order;
}

std::size_t EffectTable::hidden() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      effects, [](const Effect& e) { return e.effect.hidden && !e.is_constant(); }));
}

std::size_t EffectTable::collinear() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      effects, [](const Effect& e) { return e.effect.collinear && !e.is_constant(); }));
}

void add_reference(const Schema& schema, std::string_view text, References& references) {
  // A column's name may hold "=": the longest one that is a category's.
  for (std::size_t at = text.rfind('='); at != std::string_view::npos && at > 0;
       at = text.rfind('=', at - 1)) {
    const std::string name(text.substr(0, at)), level(text.substr(at + 1));
    for (const Column& column : schema.terms()) {
      if (!column.has_levels() || column.name != name) continue;
      static_cast<void>(reference_place(schema, column, level));
      references[name] = level;
      return;
    }
  }
  const std::size_t at = text.find('=');
  if (at == std::string_view::npos)
    throw BadInput(Field{"reference"}, fmt::format("{} is no column=level", quoted(text)),
                   "write, say, race=white");
  static_cast<void>(category_named(schema, std::string(text.substr(0, at))));
}

EffectTable effect_table(const LinearModel& model, const References& references) {
  const Schema& schema = model.schema;
  for (const auto& [column, level] : references)
    static_cast<void>(reference_place(schema, category_named(schema, column), level));
  EffectTable out;
  out.has_intervals = model.estimates.has_value();
  out.has_classes = is<Classes>(schema.label);
  if (is<Amount>(schema.label)) {
    out.unit = schema.label_name;
  } else if (is<Count>(schema.label)) {
    out.unit = "log of the mean";
    out.ratio = "rate ratio";
  } else if (is<TwoClasses>(schema.label) && scores_are_log_odds(model)) {
    out.unit = "log-odds";
    out.ratio = "odds ratio";
  } else {
    out.unit = "score";
  }
  const std::size_t outputs = out.has_classes ? class_names(schema.label).size() : 1;
  std::optional<Collinearity> collinearity;
  if (model.estimates) collinearity.emplace(*model.estimates);
  for (std::size_t k = 0; k < outputs; ++k) {
    OutputTable(model, references, collinearity ? &*collinearity : nullptr, k).add_to(out.effects);
  }
  return out;
}

std::string EffectTable::ratio_key() const {
  std::string out = ratio;
  std::ranges::replace(out, ' ', '_');
  return out;
}

std::vector<std::string> effect_columns(const EffectTable& table) {
  const std::string ratio = table.ratio_key();
  std::vector<std::string> out;
  if (table.has_classes) out.emplace_back("class");
  for (const char* name :
       {"term", "column", "level", "unit", "estimate", "std_err", "lower", "upper", "p_value"})
    out.emplace_back(name);
  const auto ratios = [&](const std::string& of) {
    if (ratio.empty()) return;
    for (const char* part : {"", "_lower", "_upper"}) out.push_back(of + ratio + part);
  };
  ratios("");
  for (const char* name :
       {"hidden", "share", "per_unit", "per_unit_std_err", "per_unit_lower", "per_unit_upper"})
    out.emplace_back(name);
  ratios("per_unit_");
  for (const char* name : {"reference", "vs_reference", "vs_reference_std_err",
                           "vs_reference_lower", "vs_reference_upper", "vs_reference_p_value"})
    out.emplace_back(name);
  ratios("vs_reference_");
  out.emplace_back("vs_reference_hidden");
  out.emplace_back("coefficient");
  out.emplace_back("collinear");
  return out;
}

std::vector<EffectCell> effect_cells(const EffectTable& table, const Effect& effect) {
  std::vector<EffectCell> out;
  const auto text = [&](const std::string& value) {
    out.push_back(value.empty() ? EffectCell(std::monostate{}) : EffectCell(value));
  };
  const auto ratios = [&](const EffectEstimate& of) {
    if (table.ratio.empty()) return;
    for (const double value : {of.estimate, of.lower, of.upper})
      out.push_back(cell(std::exp(value)));
  };
  const auto numbers = [&](const EffectEstimate& of, bool with_p) {
    for (const double value : {of.estimate, of.standard_error, of.lower, of.upper})
      out.push_back(cell(value));
    if (with_p) out.push_back(cell(of.p_value));
    ratios(of);
  };
  const EffectEstimate none = without_interval(std::numeric_limits<double>::quiet_NaN());
  if (table.has_classes) text(effect.of_class);
  text(effect.name);
  text(effect.column);
  text(effect.level);
  text(table.unit);
  numbers(effect.effect, true);
  out.push_back(table.has_intervals || effect.effect.hidden ? EffectCell(effect.effect.hidden)
                                                            : EffectCell(std::monostate{}));
  out.push_back(effect.share ? cell(*effect.share) : EffectCell(std::monostate{}));
  numbers(effect.per_unit.value_or(none), false);
  text(effect.reference);
  numbers(effect.against_reference.value_or(none), true);
  out.push_back(table.has_intervals && effect.against_reference
                    ? EffectCell(effect.against_reference->hidden)
                    : EffectCell(std::monostate{}));
  out.push_back(cell(effect.coefficient));
  out.push_back(table.has_intervals ? EffectCell(effect.effect.collinear)
                                    : EffectCell(std::monostate{}));
  return out;
}

std::string effects_csv(const EffectTable& table) {
  std::string out;
  const auto line = [&](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) out += ',';
      out += csv_text(cells[i]);
    }
    out += '\n';
  };
  line(effect_columns(table));
  for (const Effect& effect : table.effects) {
    std::vector<std::string> cells;
    for (const EffectCell& one : effect_cells(table, effect)) {
      if (const auto* text = std::get_if<std::string>(&one))
        cells.push_back(*text);
      else if (const auto* number = std::get_if<double>(&one))
        cells.push_back(fmt::format("{}", *number));
      else if (const auto* truth = std::get_if<bool>(&one))
        cells.emplace_back(*truth ? "true" : "false");
      else
        cells.emplace_back();
    }
    line(cells);
  }
  return out;
}

std::string p_value_text(double p) {
  if (!(p >= 0)) return "";
  return p < 0.001 ? "<0.001" : fmt::format("{:.2g}", p);
}

}  // namespace gibbsite
