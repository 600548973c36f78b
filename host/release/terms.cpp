// The terms of a released model as numbers: the table of effects, column by column.
#include "gibbsite/release/terms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "gibbsite/core/text.hpp"
#include "gibbsite/release/effects.hpp"

namespace gibbsite {
namespace {

constexpr double no_end = std::numeric_limits<double>::quiet_NaN();

// Weights of the points of a term in its middle, where no shares are known: of a knot the range
// that it stands for, of levels all equal.
std::vector<double> plain_weights(const Column& column, std::size_t points) {
  std::vector<double> out(points, 1.0);
  if (column.is_curve()) {
    const std::vector<double>& at = column.knots;
    for (std::size_t i = 0; i < points; ++i)
      out[i] = at[std::min(i + 1, points - 1)] - at[i == 0 ? 0 : i - 1];
  }
  double sum = 0;
  for (const double weight : out) sum += weight;
  for (double& weight : out) weight /= sum;
  return out;
}

TermPoint point_of(const Effect& effect, bool has_intervals) {
  TermPoint out;
  out.name = effect.level;
  out.value = effect.effect.estimate;
  out.lower = has_intervals ? effect.effect.lower : no_end;
  out.upper = has_intervals ? effect.effect.upper : no_end;
  out.hidden = has_intervals && effect.effect.hidden;
  out.reference = effect.is_reference();
  return out;
}

// Half of the effect below the middle of the range and half above it.
TermOutput line_of(const Column& column, std::span<const Effect* const> effects,
                   bool has_intervals) {
  TermOutput out;
  const TermPoint whole = point_of(*effects.front(), has_intervals);
  for (const double side : {-0.5, 0.0, 0.5}) {
    TermPoint point = whole;
    point.at = column.lo + (0.5 + side) * (column.hi - column.lo);
    point.name = column.text_of(point.at);
    point.value = side * whole.value + 0.0;
    point.lower = std::min(side * whole.lower, side * whole.upper);
    point.upper = std::max(side * whole.lower, side * whole.upper);
    out.points.push_back(std::move(point));
  }
  if (effects.size() > 1) {  // its effect is against the low end; no interval is known of this one
    TermPoint missing = point_of(*effects[1], false);
    missing.value -= whole.value / 2;
    out.missing = std::move(missing);
  }
  return out;
}

TermOutput levels_of(const Column& column, std::span<const Effect* const> effects,
                     bool has_intervals) {
  TermOutput out;
  for (const Effect* const effect : effects) out.points.push_back(point_of(*effect, has_intervals));
  if (column.is_curve()) {
    const std::size_t knots = column.knots.size();
    if (out.points.size() > knots) out.missing = out.points.back();
    out.points.resize(std::min(knots, out.points.size()));
    for (std::size_t i = 0; i < out.points.size(); ++i) out.points[i].at = column.knots[i];
  }
  if (has_intervals) return out;
  const std::vector<double> weights = plain_weights(column, out.points.size());
  double middle = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) middle += weights[i] * out.points[i].value;
  for (TermPoint& point : out.points) point.value -= middle;
  if (out.missing) out.missing->value -= middle;
  return out;
}

// A curve by ratios: half of its knots are in the lowest tenth of the range.
bool is_by_ratio(const Column& number, const std::vector<double>& knots) {
  return knots.size() > 2 &&
         knots[(knots.size() - 1) / 2] <= number.lo + 0.1 * (number.hi - number.lo);
}

// An interaction of two columns, one of them a number at least, that is drawn over that number.
struct Crossing {
  const Interaction::Part* over = nullptr;
  const Interaction::Part* beside = nullptr;
  bool over_is_first = true;
};

std::optional<Crossing> crossing_of(const Interaction& interaction) {
  if (interaction.parts.size() != 2) return std::nullopt;
  const Interaction::Part &first = interaction.parts[0], &second = interaction.parts[1];
  if (first.knots.empty() && second.knots.empty()) return std::nullopt;
  if (first.knots.size() >= second.knots.size()) return Crossing{&first, &second, true};
  return Crossing{&second, &first, false};
}

// One output for each level or knot of the other column, from all products, of which the first
// column's place varies slowest.
std::vector<TermOutput> crossed(const Schema& schema, const Crossing& crossing,
                                const std::vector<TermPoint>& products) {
  const std::vector<std::string> places = schema.level_names(*crossing.over),
                                 levels = schema.level_names(*crossing.beside);
  std::vector<TermOutput> out;
  for (std::size_t l = 0; l < levels.size(); ++l) {
    TermOutput& output = out.emplace_back();
    output.beside = fmt::format("{} = {}", crossing.beside->column, levels[l]);
    for (std::size_t k = 0; k < places.size(); ++k) {
      TermPoint point =
          products[crossing.over_is_first ? k * levels.size() + l : l * places.size() + k];
      point.name = places[k];
      if (k == crossing.over->knots.size()) {
        output.missing = std::move(point);
      } else {
        point.at = crossing.over->knots[k];
        output.points.push_back(std::move(point));
      }
    }
  }
  return out;
}

// A term without its outputs.
Term described(const Schema& schema, const Column& column,
               const std::optional<Crossing>& crossing) {
  Term term;
  term.column = column.name;
  const Column* const number = crossing ? schema.column_named(crossing->over->column)
                               : column.type == ColumnType::number ? &column
                                                                   : nullptr;
  if (number == nullptr) return term;
  const std::vector<double>& knots = crossing ? crossing->over->knots : number->knots;
  term.kind = knots.empty() ? Term::Kind::line : Term::Kind::curve;
  term.across = number->name;
  term.lo = number->lo;
  term.hi = number->hi;
  term.is_date = number->is_date();
  term.by_ratio = is_by_ratio(*number, knots);
  return term;
}

}  // namespace

std::vector<Term> terms_of(const LinearModel& model) {
  const EffectTable table = effect_table(model);
  std::map<std::pair<std::string, std::string>, std::vector<const Effect*>> by_column;
  for (const Effect& effect : table.effects)
    by_column[{effect.of_class, effect.column}].push_back(&effect);
  std::map<std::string, std::size_t> certainty;  // of each column, its surest effect's
  const std::vector<std::size_t> order = table.by_certainty();
  for (std::size_t i = 0; i < order.size(); ++i)
    certainty.emplace(table.effects[order[i]].column, i);
  const std::vector<std::string> classes =
      table.has_classes ? class_names(model.schema.label) : std::vector<std::string>{""};
  std::vector<Term> out;
  const std::vector<Column> terms = model.schema.terms();
  for (std::size_t t = 0; t < terms.size(); ++t) {
    const Column& column = terms[t];
    if (model.schema.features_of(column) == 0) continue;
    std::optional<Crossing> crossing;
    if (t >= model.schema.columns.size())
      crossing = crossing_of(model.schema.interactions[t - model.schema.columns.size()]);
    Term term = described(model.schema, column, crossing);
    term.certainty = certainty.at(column.name);
    for (const std::string& name : classes) {
      const std::vector<const Effect*>& effects = by_column[{name, column.name}];
      TermOutput whole = term.kind == Term::Kind::line
                             ? line_of(column, effects, table.has_intervals)
                             : levels_of(column, effects, table.has_intervals);
      std::vector<TermOutput> outputs;
      if (crossing)
        outputs = crossed(model.schema, *crossing, whole.points);
      else
        outputs.push_back(std::move(whole));
      for (TermOutput& output : outputs) {
        output.of_class = name;
        term.outputs.push_back(std::move(output));
      }
    }
    out.push_back(std::move(term));
  }
  return out;
}

}  // namespace gibbsite
