#include "gibbsite/model/bought_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <system_error>
#include <utility>

#include "gibbsite/core/network.hpp"
#include "gibbsite/model/family_model.hpp"
#include "gibbsite/model/network_model.hpp"

namespace gibbsite {
namespace {

// A level with this part of a column's numbers has a bin of its own.
constexpr double own_bin = 1.0 / static_cast<double>(default_bins);
constexpr double constant_part = .95;
// Numbers are whole where so many texts are; of a wide range one is enough, as little is lost.
constexpr std::size_t few_texts = 3, few_numbers = 10;
constexpr double wide_range = 1000;

// A number with what was counted of it.
struct Heap {
  double value = 0, rows = 0;
};

// The released levels of a column of plain numbers, ascending; none if one is no such number.
std::vector<Heap> heaps_of(const ColumnAnswers& column) {
  std::vector<Heap> out;
  for (const LevelAnswer& level : column.levels) {
    double value = 0;
    const char* const end = level.text.data() + level.text.size();
    const auto read = std::from_chars(level.text.data(), end, value);
    if (read.ec != std::errc() || read.ptr != end || !std::isfinite(value)) return {};
    out.push_back({value, std::max(level.rows, 0.0)});
  }
  std::ranges::sort(out, {}, &Heap::value);
  return out;
}

bool are_whole(const std::vector<Heap>& heaps, std::size_t least) {
  return heaps.size() >= least && std::ranges::all_of(heaps, [](const Heap& heap) {
           return heap.value == std::nearbyint(heap.value);
         });
}

// Where the cumulated counts reach each of `parts` equal parts, within [lo, hi]; counts below 0
// are 0.
std::vector<double> quantiles(const std::vector<double>& ends, const std::vector<double>& rows,
                              std::size_t parts) {
  double all = 0;
  for (const double count : rows) all += std::max(count, 0.0);
  std::vector<double> out;
  double sum = 0;
  for (std::size_t bin = 0; bin < rows.size() && all > 0; ++bin) {
    const double here = std::max(rows[bin], 0.0);
    while (out.size() + 1 < parts && here > 0) {
      const double at = all * static_cast<double>(out.size() + 1) / static_cast<double>(parts);
      if (sum + here < at) break;
      out.push_back(ends[bin] + (ends[bin + 1] - ends[bin]) * ((at - sum) / here));
    }
    sum += here;
  }
  return out;
}

// The least width of a bin. A frequent whole number has a bin of its own, as far as a float of the
// range tells it from its neighbors: made-up rows then have it as often.
double least_bin(const Column& column, WholeBins rule) {
  const double range = column.hi - column.lo;
  return column.decimals == 0 && rule == WholeBins::of_one ? range * 0x1p-20
                                                           : range / static_cast<double>(most_bins);
}

// The number of so many decimals next to it, alike on every machine.
double with_decimals(double value, int decimals) {
  const std::string out = fmt::format("{:.{}f}", value, decimals);
  double found = value;
  std::from_chars(out.data(), out.data() + out.size(), found);
  return found;
}

// Rounds to three digits of the width.
double rounded(double value, double width) {
  const std::string text = fmt::format("{:.17e}", width);
  int exponent = 0;
  const char* const from = text.data() + text.find('e') + 1;
  std::from_chars(*from == '+' ? from + 1 : from, text.data() + text.size(), exponent);
  return with_decimals(value, std::max(2 - exponent, 0));
}

// Edges between the column's ends, apart from each other and from both by a public part of the
// range; a whole number lies between any two.
std::vector<double> apart(std::vector<double> edges, const Column& column, WholeBins rule) {
  const double least = least_bin(column, rule);
  const auto is_bin = [&](double from, double to) {
    return to - from >= least && (column.decimals != 0 || std::ceil(from) < to);
  };
  std::ranges::sort(edges);
  std::vector<double> out;
  for (const double edge : edges) {
    if (is_bin(out.empty() ? column.lo : out.back(), edge) && is_bin(edge, column.hi))
      out.push_back(edge);
  }
  return out;
}

double step_of(int decimals) {
  double out = 1;
  for (; decimals > 0; --decimals) out /= 10;
  return out;
}

// Decimals of a column that is mostly few numbers: three digits of the range, so that frequent
// ones of no more are written as they are and the others nearly so.
int decimals_of(double range) {
  constexpr double steps = 400;  // half of one is no narrower than a bin may be
  int out = 0;
  while (out < most_decimals && step_of(out + 1) >= range / steps) ++out;
  return out;
}

bool have_decimals(const std::vector<Heap>& heaps, int decimals) {
  return !heaps.empty() && std::ranges::all_of(heaps, [&](const Heap& heap) {
    return heap.value == with_decimals(heap.value, decimals);
  });
}

// Whether next to all cells that are there are few numbers.
bool are_few_numbers(const ColumnAnswers& answer, const BoughtSchema& answers) {
  if (answers.questions <= lone_questions || answer.levels.size() > few_numbers) return false;
  const double gone = answer.classes[static_cast<std::size_t>(CellClass::empty)] +
                      answer.classes[static_cast<std::size_t>(CellClass::mark)];
  double held = 0;
  for (const LevelAnswer& level : answer.levels) held += level.rows;
  return held >= constant_part * (static_cast<double>(answers.scale.rows) - std::max(gone, 0.0));
}

// Edges of a number's bins by its last histogram; empty: default_edges.
std::vector<double> noisy_edges(const Column& column, const RangeAnswer& answer,
                                const std::vector<Heap>& heaps, WholeBins rule) {
  const std::vector<double> ends = RangeQuestion{0, answer.lo, answer.hi}.edges();
  std::vector<double> rows = answer.rows;
  double all = 0, of_heaps = 0;
  for (const double count : rows) all += std::max(count, 0.0);
  for (const Heap& heap : heaps) of_heaps += heap.rows;
  all = std::max(all, of_heaps);  // texts may be frequent that the histogram does not count
  std::vector<double> edges;
  std::size_t parts = default_bins;
  const bool whole = column.decimals == 0;
  const double half = whole                         ? .5
                      : column.decimals.has_value() ? .5 * step_of(*column.decimals)
                                                    : least_bin(column, rule);
  for (const Heap& heap : heaps) {
    const bool is_often = heap.rows >= own_bin * all;
    if (!is_often || heap.value < column.lo || heap.value > column.hi || parts == 0) continue;
    edges.push_back(heap.value - half);
    edges.push_back(heap.value + half);
    const auto next =
        static_cast<std::size_t>(std::ranges::upper_bound(ends, heap.value) - ends.begin());
    rows[std::clamp<std::size_t>(next, 1, refined_bins) - 1] -= heap.rows;
    --parts;
  }
  for (const double edge : quantiles(ends, rows, std::max<std::size_t>(parts, 2)))
    edges.push_back(whole ? std::floor(edge) + .5 : rounded(edge, column.hi - column.lo));
  return apart(std::move(edges), column, rule);
}

void bin(Column& column, const ColumnAnswers& answer, bool few, WholeBins rule) {
  // Numbers in another form are other numbers than their texts look like.
  const std::vector<Heap> heaps = column.numbers ? std::vector<Heap>() : heaps_of(answer);
  const double range = column.hi - column.lo;
  if (are_whole(heaps, range >= wide_range ? 1 : few_texts))
    column.decimals = 0;
  else if (few && have_decimals(heaps, decimals_of(range)))
    column.decimals = decimals_of(range);
  if (answer.ranges.empty() || answer.ranges.back().lo >= answer.ranges.back().hi) return;
  Column even = column;
  even.edges.clear();
  const std::vector<double> usual = default_edges(even);
  const bool values_have_bins =
      column.decimals == 0 &&
      usual.size() ==
          static_cast<std::size_t>(std::max(std::floor(column.hi) - std::ceil(column.lo), 0.0));
  if (!values_have_bins) column.edges = noisy_edges(column, answer.ranges.back(), heaps, rule);
}

// A column with next to one text alone has that level, which no share of the budget is spent on.
bool is_constant(const ColumnAnswers& answer, double rows) {
  return answer.levels.size() == 1 && answer.levels.front().rows >= constant_part * rows &&
         answer.levels.front().text.front() != '(';
}

Column constant_column(const ColumnAnswers& answer) {
  const std::string& only = answer.levels.front().text;
  return {.name = answer.name,
          .type = ColumnType::category,
          .levels = {only},
          .other = true,
          .unlisted = only};
}

}  // namespace

Schema bought_network_schema(const BoughtSchema& answers, WholeBins rule) {
  Schema out = schema_of(answers);
  drop_label(out);
  out.columns.resize(answers.columns.size());  // parts of dates, behind them, are no nodes
  const auto rows = static_cast<double>(answers.scale.rows);
  std::uint64_t used = 0;
  for (std::size_t k = 0; k < out.columns.size(); ++k) {
    Column& column = out.columns[k];
    const ColumnAnswers& answer = answers.columns[k];
    if (answers.counting.names(answer.name)) continue;  // beside the nodes
    if (column.is_date()) column = {.name = column.name};
    if (column.type == ColumnType::ignore && is_constant(answer, rows))
      column = constant_column(answer);
    if (column.type == ColumnType::ignore) continue;
    if (++used > most_network_columns) {
      column = {.name = column.name};
      continue;
    }
    if (column.type == ColumnType::number)
      bin(column, answer, are_few_numbers(answer, answers), rule);
    // "(missing)" and "(other)" are levels too.
    if (column.levels.size() + 2 > most_network_levels)
      column.levels.resize(most_network_levels - 2);
  }
  if (used == 0) {
    const auto first = std::ranges::find_if(answers.columns, &ColumnAnswers::asked);
    Column& column = out.columns[static_cast<std::size_t>(first - answers.columns.begin())];
    column = {.name = first->name, .type = ColumnType::number, .lo = 0, .hi = 1};
    column.missing_level = false;
  }
  return network_schema(out);
}

}  // namespace gibbsite
