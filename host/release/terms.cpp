// The terms of a released model as numbers: the table of effects, column by column.
#include "gibbsite/release/terms.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
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
  for (const Column& column : model.schema.terms()) {
    if (model.schema.features_of(column) == 0) continue;
    Term term;
    term.column = column.name;
    term.certainty = certainty.at(column.name);
    term.kind = column.is_curve()     ? Term::Kind::curve
                : column.has_levels() ? Term::Kind::levels
                                      : Term::Kind::line;
    if (column.type == ColumnType::number) {
      term.lo = column.lo;
      term.hi = column.hi;
      term.is_date = column.is_date();
      term.by_ratio = column.is_curve() && column.knots[(column.knots.size() - 1) / 2] <=
                                               column.lo + 0.1 * (column.hi - column.lo);
    }
    for (const std::string& name : classes) {
      const std::vector<const Effect*>& effects = by_column[{name, column.name}];
      term.outputs.push_back(term.kind == Term::Kind::line
                                 ? line_of(column, effects, table.has_intervals)
                                 : levels_of(column, effects, table.has_intervals));
      term.outputs.back().of_class = name;
    }
    out.push_back(std::move(term));
  }
  return out;
}

}  // namespace gibbsite
