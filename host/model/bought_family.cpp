#include "gibbsite/model/bought_family.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/model/curve.hpp"
#include "gibbsite/model/family_model.hpp"

namespace gibbsite {
namespace {

// Levels beside those that are listed: "(missing)" and "(other)".
constexpr std::size_t beside_levels = 2;

void as_levels(Column& column, const ColumnAnswers& answers, bool of_two) {
  if (column.type != ColumnType::category || of_two) {
    Column levels{.name = column.name, .type = ColumnType::category};
    for (const LevelAnswer& level : answers.levels)
      if (level.text != "(missing)" && level.text != "(other)") levels.levels.push_back(level.text);
    if (levels.levels.empty()) {
      throw BadInput(Field{"column"},
                     fmt::format("no text of {} is frequent enough to be seen through the noise",
                                 quoted(column.name)),
                     "ask for a larger epsilon, or write its levels");
    }
    if (of_two) levels.levels.resize(1);
    column = std::move(levels);
  }
  column.other = true;
  column.levels.resize(
      std::min<std::size_t>(column.levels.size(), most_family_levels - beside_levels));
}

// From the least to the largest text that is a number: few values are levels to a schema.
std::optional<std::pair<double, double>> range_of_levels(const ColumnAnswers& answers) {
  std::optional<std::pair<double, double>> out;
  for (const LevelAnswer& level : answers.levels) {
    double value = 0;
    const char* const end = level.text.data() + level.text.size();
    const auto read = std::from_chars(level.text.data(), end, value);
    if (read.ec != std::errc() || read.ptr != end || !(std::fabs(value) <= series_ends.back()))
      continue;
    if (!out) out = {value, value};
    *out = {std::min(out->first, value), std::max(out->second, value)};
  }
  return out;
}

// The next end of a bin above one that is an end itself, or 0.
double end_above(double end) {
  if (end == 0) return series_ends.front();
  if (end > 0) {
    const auto next = std::ranges::upper_bound(series_ends, end);
    return next == series_ends.end() ? end : *next;
  }
  const auto at = std::ranges::lower_bound(series_ends, -end);
  return at == series_ends.begin() ? 0 : -*std::prev(at);
}

void as_numbers(Column& column, const ColumnAnswers& answers, Family family, double center) {
  if (column.type != ColumnType::number) {
    const auto [lo, hi] = range_of_levels(answers).value_or(std::pair{0.0, 1.0});
    column = {.name = column.name, .type = ColumnType::number, .lo = lo, .hi = hi};
  } else {  // a bin at each end that the noise may hide
    if (column.lo != 0) column.lo = -end_above(-column.lo);
    if (column.hi != 0) column.hi = end_above(column.hi);
  }
  if (family == Family::variance || family == Family::laplace) {
    column.lo = std::min(column.lo, center);
    column.hi = std::max(column.hi, center);
  }
  if (family == Family::rate) {
    column.lo = 0;
    column.hi = std::clamp(std::ceil(column.hi), 1.0, most_family_count);
  }
  if (family == Family::waiting && !(column.hi > 0)) column.hi = 1;
  if (!(column.lo < column.hi)) column.hi = column.lo + std::max(1.0, std::fabs(column.lo));
  constexpr double narrowest = 1e-6;  // of the highest: what waiting takes
  if (family == Family::waiting && !(column.lo >= 2 * narrowest * column.hi))
    column.lo = least_distance * column.hi;
}

}  // namespace

Schema bought_family_schema(const BoughtSchema& answers, Family family, double center) {
  // The bins of the first question hold nearly all numbers, the narrower range that further answers
  // lead to may lack a tenth of them: a slope loses little by that, an estimate its truth.
  BoughtSchema widest = answers;
  if (!widest.columns.empty()) widest.columns.front().ranges.clear();
  Schema out = schema_of(widest);
  Column& column = out.columns.front();
  const bool of_two = family == Family::bernoulli;
  if (of_two || family == Family::categorical)
    as_levels(column, answers.columns.front(), of_two);
  else if (!column.is_date())
    as_numbers(column, answers.columns.front(), family, center);
  // Missing cells, which nobody knew of before, count as the middle: screens say so.
  Schema one = one_column_schema(out, answers.columns.front().name);
  without_curve(one.columns.front());  // a number is drawn as it is
  return one;
}

}  // namespace gibbsite
