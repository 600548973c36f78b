#include "gibbsite/model/bought_schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "core/special.hpp"
#include "gibbsite/core/problem.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/model/boolean.hpp"
#include "gibbsite/model/curve.hpp"
#include "gibbsite/model/date.hpp"

namespace gibbsite {
namespace {

// The first nine are those of first_questions.
constexpr std::array<std::string_view, 26> marks{
    "NA",   "N/A", "NaN",  "nan", "null", "NULL", "None", "?", ".",  "na", "n/a", "N.A.", "n.a.",
    "#N/A", "#NA", "<NA>", "NaT", "Null", "nil",  "NIL",  "-", "--", "..", ":",   "\\N",  "*"};
constexpr std::size_t first_marks = 9;
constexpr std::size_t zero_bin = series_ends.size() + 1;  // among the bins of numbers

// Rules found by measurement (docs/theory/bought-schema.md).
constexpr std::size_t few_levels = 10;
constexpr double held_by_few = .95, held_by_range = .9, dropped_at_ends = .005;
constexpr double wide_beside_levels = 50;
constexpr double false_alarm = .001;  // chance of one false bin over all bins and columns
constexpr double refined_above = 3.7, farther_above = 1.5;

// Where the range of dates is looked for: 1900 to 2100.
constexpr double first_dates = -25'567, last_dates = 47'482;

// z with P(N(0,1) > z) = false_alarm over all bins of all columns: the same on every machine. The
// bins of a range are looked at three times, those of further forms of numbers once.
double alarm_height_at(std::size_t columns, std::uint64_t questions) {
  const double looks = questions == first_questions ? 3 : 3 + (number_forms - 1);
  const Wide tail = Wide(false_alarm) / (looks * 118.0 * static_cast<double>(columns));
  double low = 0, high = 40;
  for (int i = 0; i < 30; ++i) {
    const double middle = low + (high - low) / 2;
    (normal_cdf(-Wide(middle)) > tail ? low : high) = middle;
  }
  return high;
}

// That height, which is asked for again and again of one table.
double alarm_height(std::size_t columns, std::uint64_t questions) {
  thread_local std::size_t last_columns = 0;
  thread_local std::uint64_t last_questions = 0;
  thread_local double height = 0;
  if (columns != last_columns || questions != last_questions || height == 0)
    height = alarm_height_at(last_columns = columns, last_questions = questions);
  return height;
}

struct Span {
  std::size_t first = 0, last = 0;  // bins, both within
};

std::vector<double> cumulated(std::span<const double> rows) {
  std::vector<double> out{0};
  for (const double count : rows) out.push_back(out.back() + count);
  return out;
}

// How the bins of a histogram are looked at.
struct Look {
  double deviation = 0;  // of a count
  double rows = 0;       // n
  double above = 0;      // in deviations of a window's sum
  std::span<const std::size_t> windows;
  std::optional<std::size_t> gap;  // bins farther away have to stand `farther_above` higher
};

// The largest bin, or window, that stands above the noise, then windows outside of it that do, each
// up to where 0.8 of it lies; ends that hold next to nothing are let go where the noise is small.
std::optional<Span> extent(std::span<const double> rows, const Look& look) {
  const std::vector<double> sums = cumulated(rows);
  std::optional<Span> span;
  for (const std::size_t w : look.windows) {
    if (w > rows.size()) break;
    const double unit = look.deviation * std::sqrt(static_cast<double>(w));
    std::vector<double> height;
    for (std::size_t i = 0; i + w < sums.size(); ++i)
      height.push_back((sums[i + w] - sums[i]) / unit);
    const auto top = std::ranges::max_element(height);
    if (!(*top >= look.above)) continue;
    if (!span) {
      const auto i = static_cast<std::size_t>(top - height.begin());
      span = Span{i, i + w - 1};
    }
    for (bool grew = true; grew;) {
      grew = false;
      std::optional<std::size_t> up, down;
      for (std::size_t i = 0; i < height.size(); ++i) {
        const bool far =
            look.gap && (i > span->last + 1 + *look.gap || i + w + *look.gap < span->first);
        if (!(height[i] >= look.above + (far ? farther_above : 0))) continue;
        if (i > span->last) up = i;
        if (i + w <= span->first && !down) down = i;
      }
      if (up) {
        const double part = .8 * (sums[*up + w] - sums[*up]);
        std::size_t t = 0;
        while (t + 1 < w && !(sums[*up + t + 1] - sums[*up] >= part)) ++t;
        span->last = *up + t;
        grew = true;
      }
      if (down) {
        const double part = .8 * (sums[*down + w] - sums[*down]);
        std::size_t t = 0;
        while (t + 1 < w && !(sums[*down + w] - sums[*down + w - 1 - t] >= part)) ++t;
        span->first = *down + w - 1 - t;
        grew = true;
      }
    }
  }
  if (!span) return {};
  const Span all = *span;
  const double least = dropped_at_ends * look.rows;
  const auto droppable = [&](std::size_t from, std::size_t to) {
    return std::max(sums[to] - sums[from], 0.0) <= least &&
           look.deviation * std::sqrt(static_cast<double>(to - from)) <= least;
  };
  while (span->first < span->last && droppable(all.first, span->first + 1)) ++span->first;
  while (span->last > span->first && droppable(span->last, all.last + 1)) --span->last;
  return span;
}

double series_end(std::size_t i) {
  return i == 0 ? 0 : series_ends[std::min(i - 1, series_ends.size() - 1)];
}

struct Range {
  double lo = 0, hi = 1;
  bool operator==(const Range&) const = default;
};

// The range of the bins of the series: negative and positive numbers apart, 0 by itself.
std::optional<Range> first_range(std::span<const double> bins, double deviation, double n,
                                 double present, double above) {
  static constexpr std::array<std::size_t, 5> windows{1, 2, 3, 4, 6};
  const Look look{deviation, n, above, windows, 3};
  const bool has_zero = bins[zero_bin] >= above * deviation;
  std::vector<double> negative(bins.begin(), bins.begin() + zero_bin);
  std::ranges::reverse(negative);
  const std::vector<double> positive(bins.begin() + zero_bin + 1, bins.end());
  const auto found = [&](const std::vector<double>& part, bool may_grow) {
    std::optional<Span> span = extent(part, look);
    if (!span || !may_grow) return span;
    double lacks = held_by_range * present - (has_zero ? std::max(bins[zero_bin], 0.0) : 0);
    for (std::size_t i = span->first; i <= span->last; ++i) lacks -= part[i];
    for (int step = 0; step < 2; ++step) {  // where clearly too few rows are within
      const auto width = static_cast<double>(span->last - span->first + 2);
      const bool can_up = span->last + 1 < part.size(), can_down = span->first > 0;
      if (lacks <= 2 * deviation * std::sqrt(width) || !(can_up || can_down)) break;
      if (can_up && (!can_down || part[span->last + 1] >= part[span->first - 1]))
        lacks -= std::max(part[++span->last], 0.0);
      else
        lacks -= std::max(part[--span->first], 0.0);
    }
    return span;
  };
  const std::optional<Span> below = found(negative, !has_zero), over = found(positive, true);
  if (!below && !over) return has_zero ? std::optional(Range{0, 1}) : std::nullopt;
  return Range{below      ? -series_end(below->last + 1)
               : has_zero ? 0
                          : series_end(over->first),
               over       ? series_end(over->last + 1)
               : has_zero ? 0
                          : -series_end(below->first)};
}

// Adds bins on the side whose next ones hold more until the span holds so many noisy rows.
Span grown(std::span<const double> rows, Span span, double mass) {
  constexpr std::size_t look = 4;
  const std::vector<double> sums = cumulated(rows);
  for (std::size_t step = 0; step < 2 * rows.size(); ++step) {
    const bool can_up = span.last + 1 < rows.size(), can_down = span.first > 0;
    if (sums[span.last + 1] - sums[span.first] >= mass || !(can_up || can_down)) break;
    const std::size_t from = span.first - std::min(look, span.first),
                      to = std::min(span.last + 1 + look, rows.size());
    const double down = sums[span.first] - sums[from], up = sums[to] - sums[span.last + 1];
    if (can_up && (!can_down || up >= down))
      ++span.last;
    else
      --span.first;
  }
  return span;
}

// The decimal exponent of a positive number, the same on every machine.
int exponent_of(double value) {
  const std::string text = fmt::format("{:.17e}", value);
  int out = 0;
  const char* const from = text.data() + text.find('e') + 1;
  std::from_chars(*from == '+' ? from + 1 : from, text.data() + text.size(), out);
  return out;
}

double power_of_ten(int exponent) {
  const std::string text = fmt::format("1e{}", exponent);
  double out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

// Two digits of the width, outward.
Range outward(Range r) {
  const int digits = exponent_of(std::max(r.hi - r.lo, 1e-9)) - 1;
  const double unit = power_of_ten(std::abs(digits));
  const auto steps = [&](double v) { return digits < 0 ? v * unit : v / unit; };
  const auto value = [&](double s) { return (digits < 0 ? s / unit : s * unit) + 0.0; };
  return {value(std::floor(steps(r.lo) + 1e-9)), value(std::ceil(steps(r.hi) - 1e-9))};
}

// Whole public lists: three or more levels that are all on one stand for it, spelled the same way.
constexpr std::array<std::string_view, 4> lists{
    "jan feb mar apr may jun jul aug sep oct nov dec",
    "january february march april may june july august september october november december",
    "mon tue wed thu fri sat sun", "monday tuesday wednesday thursday friday saturday sunday"};

std::vector<std::string> words_of(std::string_view list) {
  std::vector<std::string> out(1);
  for (const char c : list) {
    if (c == ' ')
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

// The list with small letters (0), with capital ones (1) or with one first (2).
std::vector<std::string> spelled(std::vector<std::string> words, int how) {
  for (std::string& word : words)
    for (std::size_t i = 0; i < word.size(); ++i)
      if (how == 1 || (how == 2 && i == 0)) word[i] = upper(word[i]);
  return words;
}

std::vector<std::string> whole_list(std::vector<std::string> levels) {
  if (levels.size() < 3) return levels;
  for (const std::string_view list : lists) {
    for (int how = 0; how < 3; ++how) {
      const std::vector<std::string> all = spelled(words_of(list), how);
      const auto on_list = [&](const std::string& level) {
        return std::ranges::find(all, level) != all.end();
      };
      if (!std::ranges::all_of(levels, on_list)) continue;
      for (const std::string& word : all)
        if (std::ranges::find(levels, word) == levels.end()) levels.push_back(word);
      return levels;
    }
  }
  return levels;
}

// What one column is taken for, with what is still to be asked of it.
struct Reading {
  enum class Type { ignored, levels, number, date } type = Type::ignored;
  Written written = Written::plain;  // of numbers
  bool missing = false, skewed = false;
  std::vector<std::string> marks;  // of missing cells, beside the public ones
  double marked = 0;               // rows of them
  std::string_view date_format = iso_date;
  double dates = 0;
  std::vector<std::string> levels;
  std::map<double, double>
      heaps;  // rows of single numbers that most cells are, if others are sought
  Range range{};
  std::optional<Range> pending;  // to be asked about next
  std::string words;
};

std::span<const double> bins_of(const ColumnAnswers& column, Written form) {
  const std::size_t first =
      static_cast<std::size_t>(CellClass::first_bin) + static_cast<std::size_t>(form) * number_bins;
  return std::span(column.classes).subspan(first, number_bins);
}

// The form that some bin of a column stands above the noise in; a decimal comma before groups,
// which a number of three decimals ("1,234") seems to have.
Written form_of(const ColumnAnswers& column, std::uint64_t questions, double height) {
  if (questions == first_questions) return Written::plain;
  for (const Written form : {Written::comma, Written::grouped})
    if (std::ranges::max(bins_of(column, form)) >= height) return form;
  return Written::plain;
}

// Noisy rows of the format of dates that most cells have. Formats beside ISO 8601 have to stand
// above the noise: of so many classes one is high by chance.
struct DatesSeen {
  std::string_view format = iso_date;  // empty: the noise hides whether the day comes first
  double rows = 0, deviation = 0;
};

constexpr double above_noise = 4;  // deviations

std::span<const double> further_dates(const ColumnAnswers& column) {
  const std::span<const double> all(column.classes);
  return all.size() == cell_classes ? all.subspan(first_date_class) : std::span<const double>();
}

DatesSeen dates_of(const ColumnAnswers& column, double noise) {
  DatesSeen out{.rows = column.classes[static_cast<std::size_t>(CellClass::date)],
                .deviation = noise};
  std::span<const double> left = further_dates(column);
  if (left.empty()) return out;
  const auto take = [&](const DatesSeen& one) {
    if (one.rows > out.rows && one.rows >= above_noise * one.deviation) out = one;
  };
  for (const std::string_view format : date_formats) {
    take({format, left.front(), noise});
    left = left.subspan(1);
  }
  const double of_two = std::sqrt(2.0) * noise;
  for (const auto& [day_first, month_first] : paired_date_formats) {
    const double day = left[0], month = left[1], either = left[2];
    const bool is_hidden = std::fabs(day - month) < above_noise * of_two;
    take({is_hidden     ? std::string_view()
          : day > month ? day_first
                        : month_first,
          std::max(day, month) + either, of_two});
    left = left.subspan(3);
  }
  return out;
}

// Noisy rows of a column's cells by what they may be read as.
struct CellTally {
  double gone = 0, texts = 0, numbers = 0;
  DatesSeen dates;
};

// Dates in other formats than the one that is read are texts, if they are seen at all.
CellTally tally_of(const ColumnAnswers& column, const AnswerScale& scale) {
  const auto rows_of = [&](CellClass c) { return column.classes[static_cast<std::size_t>(c)]; };
  CellTally out{.gone = rows_of(CellClass::empty) + rows_of(CellClass::mark),
                .texts = rows_of(CellClass::text),
                .dates = dates_of(column, scale.bins_noise)};
  const auto seen = [&](double rows) { return rows >= above_noise * scale.bins_noise ? rows : 0; };
  double other_dates = 0;
  for (const double rows : further_dates(column)) other_dates += seen(rows);
  if (out.dates.format != iso_date) other_dates += seen(rows_of(CellClass::date)) - out.dates.rows;
  out.texts += std::max(other_dates, 0.0);
  out.numbers = static_cast<double>(scale.rows) - out.gone - out.texts - out.dates.rows;
  return out;
}

// Texts without a digit of which some are frequent enough to be released, among cells of which half
// are numbers or dates: they say that there is none ("unknown").
void take_marks(Reading& out, const ColumnAnswers& column) {
  constexpr std::size_t most_marks = 3;
  std::vector<std::string> marks;
  double rows = 0;
  for (const LevelAnswer& level : column.levels) {
    const bool has_digit =
        std::ranges::any_of(level.text, [](char c) { return c >= '0' && c <= '9'; });
    if (has_digit) continue;
    marks.push_back(level.text);
    rows += level.rows;
  }
  if (marks.size() > most_marks) return;
  out.marks = std::move(marks);
  out.marked = rows;
}

// Whether cells beside a frequent value are kept where they stand out of the noise. Fits of a label
// take them together: so their figures were measured.
bool keeps_rest(const BoughtSchema& answers) {
  return answers.questions > lone_questions && answers.label.empty();
}

// The number that a text is to programs, if it is one.
std::optional<double> plain_number(const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end || !std::isfinite(value)) return {};
  return value;
}

// Whether numbers beside the few that are levels stand above the noise: of a column that is mostly
// 0, what the other rows have. Numbers of a narrow range are codes, unless one is next to all.
bool spreads_beside_levels(const ColumnAnswers& column, const BoughtSchema& answers, double present,
                           double above) {
  if (!keeps_rest(answers)) return false;
  const AnswerScale& scale = answers.scale;
  const auto plain = bins_of(column, Written::plain);
  std::vector<double> rest(plain.begin(), plain.end());
  std::vector<double> levels;
  for (const LevelAnswer& level : column.levels) {
    const std::optional<double> value = plain_number(level.text);
    if (!value) return false;
    levels.push_back(*value);
    rest[number_class(*value) - static_cast<std::size_t>(CellClass::first_bin)] -= level.rows;
  }
  rest[zero_bin] = 0;  // 0 is one number
  const double noise =
      std::sqrt(scale.bins_noise * scale.bins_noise +
                static_cast<double>(levels.size()) * scale.levels_noise * scale.levels_noise);
  const auto range = first_range(rest, noise, static_cast<double>(scale.rows), 0, above);
  if (!range) return false;
  const double width = std::max(range->hi, *std::ranges::max_element(levels)) -
                       std::min(range->lo, *std::ranges::min_element(levels));
  // A level far from all others stands for none of them ("999999999", the largest double): they
  // would be one bin of a range that holds it.
  if (!(width <= static_cast<double>(refined_bins) * (range->hi - range->lo))) return false;
  return width >= wide_beside_levels || column.levels.front().rows >= held_by_few * present;
}

// A column's type, and its range by the bins of the series.
Reading first_reading(const ColumnAnswers& column, const BoughtSchema& answers, double above) {
  const AnswerScale& scale = answers.scale;
  Reading out;
  if (!column.asked()) {
    out.words = "named like an id, and so not asked about";
    return out;
  }
  const auto n = static_cast<double>(scale.rows);
  const double bins_noise = scale.bins_noise, levels_noise = scale.levels_noise;
  CellTally cells = tally_of(column, scale);
  const auto is_missing = [&] { return cells.gone >= std::max(.005 * n, 3 * 1.42 * bins_noise); };
  const auto all_present = [&] { return std::max(n - (out.missing ? cells.gone : 0), 1.0); };
  out.missing = is_missing();
  double present = all_present();
  double held = 0;
  for (const LevelAnswer& level : column.levels) held += level.rows;
  const bool few = !column.levels.empty() && column.levels.size() <= few_levels;
  const bool spreads = few && held >= held_by_few * present &&
                       spreads_beside_levels(column, answers, present, above);
  const double of_rest =
      std::sqrt(levels_noise * levels_noise + scale.rows_noise * scale.rows_noise +
                (out.missing ? 2 * bins_noise * bins_noise : 0));
  const bool has_rest = keeps_rest(answers) && !column.levels.empty() &&
                        present - column.levels.front().rows >= above_noise * of_rest;
  if (column.levels.size() == 1 && !spreads && !has_rest &&
      column.levels.front().rows >= .995 * present - 1.5 * levels_noise) {
    out.words = "nearly constant";
    return out;
  }
  const bool few_hold_it = few && held >= held_by_few * present && !spreads;
  const bool missing_by_public_marks = out.missing;
  if (answers.questions > iso_questions && !few_hold_it &&
      std::max(cells.numbers, cells.dates.rows) >= .5 * present) {
    take_marks(out, column);
    cells.gone += out.marked;
    cells.texts -= out.marked;
    out.missing = is_missing();
    present = all_present();
  }
  const double rest = std::max(.05 * present, std::min(3 * bins_noise, .3 * present));
  const auto& [gone, texts, numbers, dates] = cells;
  const bool is_number = numbers >= .5 * present && present - numbers <= 2 * rest &&
                         texts + dates.rows <= rest && numbers >= 4 * bins_noise;
  const bool is_date =
      dates.rows >= .5 * present && texts <= rest && dates.rows >= 4 * dates.deviation;
  if (is_date && !few_hold_it && answers.questions == first_questions) {
    out.words = "dates, which are not read as numbers";
    return out;
  }
  if (is_date && !few_hold_it) {
    if (dates.format.empty()) {
      out.words = "dates of which the noise hides whether the day comes first: write a schema";
      return out;
    }
    out.type = Reading::Type::date;
    out.date_format = dates.format;
    out.dates = dates.rows;
    out.range = {first_dates, last_dates};
    out.pending = out.range;
    return out;
  }
  if (is_number && !few_hold_it) {
    out.written = form_of(column, answers.questions, above * bins_noise);
    const auto plain = bins_of(column, Written::plain);
    std::vector<double> bins(plain.begin(), plain.end());
    double noise = bins_noise;
    if (out.written != Written::plain) {  // whole numbers below 1,000 are in the plain form
      std::ranges::transform(bins, bins_of(column, out.written), bins.begin(), std::plus<>());
      noise *= std::sqrt(2.0);
    }
    const auto range = first_range(bins, noise, n, present, above);
    if (!range) {
      out.words = "numbers whose range the noise hides: give one";
      return out;
    }
    out.type = Reading::Type::number;
    out.range = *range;
    if (spreads)
      for (const LevelAnswer& level : column.levels)
        out.heaps[*plain_number(level.text)] += level.rows;
    // Only 0 stands out: 0/1, or "not 0". Only [1, 2): it may be 0/1 too.
    if (*range == Range{1, 2}) out.range = {0, 2};
    if (*range != Range{0, 1} || spreads) out.pending = out.range;
    return out;
  }
  out.marks.clear();
  out.marked = 0;
  out.missing = missing_by_public_marks;
  for (const LevelAnswer& level : column.levels) out.levels.push_back(level.text);
  // Names of the features that stand for missing and for other cells.
  std::erase(out.levels, "(missing)");
  std::erase(out.levels, "(other)");
  if (out.levels.empty()) {
    out.words = "no text is frequent enough to be seen (names, ids, or too many levels)";
    return out;
  }
  out.levels = whole_list(std::move(out.levels));
  out.type = Reading::Type::levels;
  return out;
}

// Whole months about days, or whole years where there are ten of them.
Range whole_months(Range r) {
  const auto first_of = [](double day, bool year) {
    const std::string text = date_text(day);
    return *parse_date(text.substr(0, year ? 4 : 7) + (year ? "-01-01" : "-01"));
  };
  const bool years = r.hi - r.lo >= 3'650;
  // No month has more than 31 days, no year more than 366.
  return {first_of(r.lo, years), first_of(first_of(r.hi, years) + (years ? 366 : 31), years) - 1};
}

// Narrows the range of the numbers beside the heaps, which are in it too, where they are seen.
void narrow_rest(Reading& reading, const RangeAnswer& answer, double deviation, double n) {
  static constexpr std::array<std::size_t, 6> windows{1, 2, 4, 8, 16, 32};
  const std::vector<double> ends = RangeQuestion{0, answer.lo, answer.hi}.edges();
  std::vector<double> rest = answer.rows;
  for (const auto& [value, rows] : reading.heaps) {
    const auto bin = std::ranges::upper_bound(ends, value) - ends.begin();
    rest[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(bin, 1, refined_bins)) - 1] = 0;
  }
  const double of_rest = (1 - held_by_few) * n;
  const std::optional<Span> found = extent(rest, {deviation, of_rest, refined_above, windows, {}});
  if (!found) return;
  const Span span = grown(rest, *found, held_by_range * std::max(cumulated(rest).back(), 0.0));
  reading.range = outward({std::min(ends[span.first], reading.heaps.begin()->first),
                           std::max(ends[span.last + 1], reading.heaps.rbegin()->first)});
  reading.pending = reading.range;
}

// Narrows the range by the counts of its bins; the last answer of a column says so.
void narrow(Reading& reading, const RangeAnswer& answer, double deviation, double n, bool last) {
  static constexpr std::array<std::size_t, 6> windows{1, 2, 4, 8, 16, 32};
  reading.pending.reset();
  if (!reading.heaps.empty()) return narrow_rest(reading, answer, deviation, n);
  const std::optional<Span> found = extent(answer.rows, {deviation, n, refined_above, windows, {}});
  if (!found) return;
  const std::vector<double> ends = RangeQuestion{0, answer.lo, answer.hi}.edges();
  if (answer.lo == 0 && answer.hi == 2 && found->first == found->last && ends[found->first] == 1)
    return;  // all of it is 1
  const double all = cumulated(answer.rows).back();
  const double room = 2 * deviation * std::sqrt(static_cast<double>(refined_bins) / 2);
  const Span span = grown(answer.rows, *found, held_by_range * all - room);
  const bool narrow_enough = span.last - span.first >= 8;
  if (last || narrow_enough) {
    const Range found_in{ends[span.first], ends[span.last + 1]};
    reading.range =
        reading.type == Reading::Type::date ? whole_months(found_in) : outward(found_in);
  } else {
    reading.range = {ends[span.first - std::min<std::size_t>(span.first, 1)],
                     ends[std::min(span.last + 2, refined_bins)]};
    reading.pending = reading.range;
  }
}

// What the last histogram says beside the range: skewed, or flat over more values than rows.
void finish(Reading& reading, const RangeAnswer* answer, double deviation, double n) {
  if (reading.type != Reading::Type::number) return;
  const auto ignore = [&](const char* why) {
    reading.type = Reading::Type::ignored;
    reading.words = why;
  };
  const Range r = reading.range;
  if (!(r.lo < r.hi)) return ignore("one value");
  if (answer == nullptr) return;
  const std::vector<double>& rows = answer->rows;
  double low = 0, all = 0;
  for (std::size_t b = 0; b < rows.size(); ++b) {
    const double part = std::max(rows[b] - 2 * deviation, 0.0);
    all += part;
    if (b < rows.size() / 8) low += part;
  }
  reading.skewed = all > 0 && r.lo >= 0 && low >= .5 * all;
  const std::vector<double> ends = RangeQuestion{0, answer->lo, answer->hi}.edges();
  std::vector<double> within;
  for (std::size_t b = 0; b < rows.size(); ++b)
    if (ends[b] >= r.lo - 1e-9 && ends[b + 1] <= r.hi + 1e-9) within.push_back(rows[b]);
  const std::size_t width = within.size() / 8;
  if (width == 0 || !(r.hi - r.lo >= .9 * n)) return;
  std::array<double, 8> parts{};
  for (std::size_t b = 0; b < 8 * width; ++b) parts[b / width] += within[b];
  double mean = 0;
  for (const double part : parts) mean += part / 8;
  const double noise = deviation * std::sqrt(static_cast<double>(width));
  const bool flat = std::ranges::all_of(
      parts, [&](double part) { return std::fabs(part - mean) < 3 * noise + .02 * mean; });
  if (noise < .1 * mean && flat) ignore("flat over as many numbers as rows: a row number or an id");
}

// The deviation of answers to question `round` about ranges: that of the columns asked then.
double refined_deviation(const BoughtSchema& answers, std::size_t round) {
  std::size_t asked = 0;
  for (const ColumnAnswers& column : answers.columns)
    if (column.ranges.size() > round) ++asked;
  return answers.scale.refine_noise * std::sqrt(static_cast<double>(asked));
}

std::vector<Reading> readings(const BoughtSchema& answers) {
  const auto asked =
      static_cast<std::size_t>(std::ranges::count_if(answers.columns, &ColumnAnswers::asked));
  const double above = alarm_height(std::max<std::size_t>(asked, 1), answers.questions);
  const auto n = static_cast<double>(answers.scale.rows);
  std::vector<Reading> out;
  for (const ColumnAnswers& column : answers.columns) {
    Reading& reading = out.emplace_back(first_reading(column, answers, above));
    for (std::size_t round = 0; round < column.ranges.size(); ++round)
      narrow(reading, column.ranges[round], refined_deviation(answers, round), n,
             round + 1 == refinements);
  }
  return out;
}

std::string counted(double rows) { return fmt::format("{:.0f}", std::max(rows, 0.0) + 0.0); }

// Noisy counts in words, those of the first levels.
std::string level_words(const ColumnAnswers& column) {
  constexpr std::size_t most = 8;
  std::string out = "about ";
  for (std::size_t k = 0; k < std::min(most, column.levels.size()); ++k)
    out += fmt::format("{}{} {}", k == 0 ? "" : ", ", counted(column.levels[k].rows),
                       shown(column.levels[k].text));
  if (column.levels.size() > most) out += fmt::format(", and {} more", column.levels.size() - most);
  return out;
}

std::string missing_words(const ColumnAnswers& column, const Reading& reading) {
  const double gone = column.classes[static_cast<std::size_t>(CellClass::empty)] +
                      column.classes[static_cast<std::size_t>(CellClass::mark)] + reading.marked;
  std::string out = fmt::format("; about {} missing", counted(gone));
  for (const std::string& mark : reading.marks)
    out += fmt::format("{}{}", &mark == &reading.marks.front() ? ", also " : ", ", shown(mark));
  return out;
}

void mark_missing(std::uint64_t questions, bool& has, std::string& first,
                  std::vector<std::string>& others) {
  has = true;
  first.clear();
  const auto known = public_marks(questions);
  others.assign(known.begin(), known.end());
}

// Levels of yes and no, one of them in several spellings or in words.
bool are_booleans_of(const std::vector<std::string>& levels, std::uint64_t questions) {
  const bool digits = std::ranges::all_of(
      levels, [](const std::string& level) { return level == "0" || level == "1"; });
  return questions != first_questions && !digits && are_booleans(levels);
}

// A part of a column that holds dates. What reads one cell says alike what marks a missing one.
Column part_column(const Column& date, DatePart part, std::uint64_t questions) {
  Column out{.name = part_name(date.name, part), .date = date.date, .part = part, .of = date.name};
  out.has_missing = date.has_missing;
  out.missing = date.missing;
  out.also_missing = date.also_missing;
  if (part == DatePart::year) {
    out.type = ColumnType::number;
    out.lo = part_of_day(part, date.lo);
    out.hi = std::max<double>(part_of_day(part, date.hi), out.lo + 1);
    out.missing_level = date.missing_level;
    return out;
  }
  out.type = ColumnType::category;
  out.levels = part_levels(part);
  if (date.missing_level.value_or(false) && !out.has_missing)
    mark_missing(questions, out.has_missing, out.missing, out.also_missing);
  return out;
}

}  // namespace

bool CountingColumns::names(std::string_view column) const {
  return !column.empty() && (column == person || column == weight || column == exposure);
}

std::vector<Column> CountingColumns::columns() const {
  std::vector<Column> out;
  if (!person.empty()) out.push_back({.name = person, .type = ColumnType::person});
  const auto add = [&](const std::string& name, ColumnType type, double lo, double hi) {
    if (name.empty()) return;
    Column& column = out.emplace_back();
    column.name = name;
    column.type = type;
    column.lo = lo;
    column.hi = hi;
  };
  add(weight, ColumnType::weight, weight_lo, weight_hi);
  add(exposure, ColumnType::exposure, exposure_lo, exposure_hi);
  return out;
}

std::string part_name(const std::string& column, DatePart part) {
  return fmt::format("{}_{}", column, to_string(part));
}

std::size_t number_class(double value, Written form) {
  const std::size_t first =
      static_cast<std::size_t>(CellClass::first_bin) + static_cast<std::size_t>(form) * number_bins;
  if (value == 0) return first + zero_bin;
  if (value > 0) {
    const auto end = std::ranges::upper_bound(series_ends, value);
    return first + zero_bin + 1 + static_cast<std::size_t>(end - series_ends.begin());
  }
  // -end_k <= value < -end_(k-1): as many ends as lie below |value|.
  const auto end = std::ranges::lower_bound(series_ends, -value);
  return first + zero_bin - 1 - static_cast<std::size_t>(end - series_ends.begin());
}

std::span<const std::string_view> public_marks(std::uint64_t questions) {
  const std::span<const std::string_view> all(marks);
  return questions == first_questions ? all.first(first_marks) : all;
}

NumberText numbers_written(Written form) {
  if (form == Written::plain) return {};
  NumberText out{.decimal = form == Written::comma ? ',' : '.'};
  for (const std::string_view sign : thousands_signs)
    if (sign != std::string_view(&out.decimal, 1)) out.thousands.emplace_back(sign);
  return out;
}

std::vector<double> RangeQuestion::edges() const {
  std::vector<double> out;
  for (std::size_t i = 0; i < refined_bins; ++i)
    out.push_back(lo + (hi - lo) * (static_cast<double>(i) / static_cast<double>(refined_bins)));
  out.push_back(hi);
  return out;
}

Message names_fault(std::span<const std::string> names) {
  const std::set<std::string_view> all(names.begin(), names.end());
  for (const std::string& name : names) {
    if (name == "(intercept)")
      return "a column is named (intercept), as a model's constant is; rename it";
    for (std::size_t at = name.find('='); at != name.npos; at = name.find('=', at + 1)) {
      const std::string_view before = std::string_view(name).substr(0, at);
      if (all.contains(before))
        return fmt::format(
            "the names {} and {} could become one feature's; write the second without \"=\"",
            quoted(before), quoted(name));
    }
  }
  return {};
}

Message parts_fault(std::span<const ColumnAnswers> columns, std::span<const WantedParts> wanted) {
  std::set<std::string> names;
  for (const ColumnAnswers& column : columns) names.insert(column.name);
  for (const WantedParts& of : wanted) {
    const auto is_it = [&](const ColumnAnswers& column) { return column.name == of.column; };
    const auto column = std::find_if(columns.begin(), columns.end(), is_it);
    if (column == columns.end() || !column->asked())
      return fmt::format("{} is no column that is asked about; name one of the table's dates",
                         quoted(of.column));
    for (const DatePart part : of.parts) {
      if (!names.insert(part_name(of.column, part)).second)
        return fmt::format("{} would be the name of two columns; rename the table's, or ask once",
                           quoted(part_name(of.column, part)));
    }
  }
  const std::vector<std::string> all(names.begin(), names.end());
  return names_fault(all);
}

bool named_like_an_id(std::string_view name) {
  static constexpr std::array<std::string_view, 8> words{"id",     "uuid",    "guid",     "ssn",
                                                         "person", "rowname", "rownames", "index"};
  if (name.size() > 2 && (name.ends_with("Id") || name.ends_with("ID"))) {
    const char before = name[name.size() - 3];
    if (before >= 'a' && before <= 'z') return true;
  }
  std::string last(name.substr(name.find_last_of("_. \t") + 1));
  for (char& c : last) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return std::ranges::find(words, last) != words.end();
}

std::vector<RangeQuestion> range_questions(const BoughtSchema& answers) {
  const std::vector<Reading> all = readings(answers);
  std::size_t rounds = 0;
  for (const ColumnAnswers& column : answers.columns)
    rounds = std::max(rounds, column.ranges.size());
  std::vector<RangeQuestion> out;
  if (rounds >= refinements) return out;
  for (std::size_t k = 0; k < all.size(); ++k) {
    const bool is_next = answers.columns[k].ranges.size() == rounds;
    if (all[k].pending && is_next && all[k].pending->lo < all[k].pending->hi)
      out.push_back({k, all[k].pending->lo, all[k].pending->hi,
                     all[k].type == Reading::Type::date ? all[k].date_format : std::string_view(),
                     all[k].written});
  }
  return out;
}

std::vector<ColumnFinding> findings(const BoughtSchema& answers) {
  std::vector<Reading> all = readings(answers);
  const auto n = static_cast<double>(answers.scale.rows);
  std::vector<ColumnFinding> out;
  for (std::size_t k = 0; k < all.size(); ++k) {
    const ColumnAnswers& column = answers.columns[k];
    const std::size_t rounds = column.ranges.size();
    finish(all[k], rounds == 0 ? nullptr : &column.ranges.back(),
           rounds == 0 ? 0 : refined_deviation(answers, rounds - 1), n);
  }
  for (std::size_t k = 0; k < all.size(); ++k) {
    const ColumnAnswers& answer = answers.columns[k];
    Reading& reading = all[k];
    ColumnFinding& found = out.emplace_back();
    Column& column = found.column;
    column.name = answer.name;
    found.words = reading.words;
    if (reading.type == Reading::Type::levels) {
      column.type = ColumnType::category;
      column.levels = std::move(reading.levels);
      column.is_boolean = are_booleans_of(column.levels, answers.questions);
      if (column.is_boolean)
        column.levels.assign(std::begin(boolean_levels), std::end(boolean_levels));
      column.other = true;
      if (reading.missing)
        mark_missing(answers.questions, column.has_missing, column.missing, column.also_missing);
      found.words = level_words(answer);
    } else if (reading.type == Reading::Type::date) {
      column.type = ColumnType::number;
      column.date = reading.date_format;
      column.lo = std::floor(reading.range.lo);
      column.hi = std::ceil(reading.range.hi);
      column.missing_level = reading.missing;
      column.automatic_curve = true;
      found.words = fmt::format("about {} dates", counted(reading.dates));
      if (reading.date_format != iso_date)
        found.words += fmt::format(" like {}", date_text(19'722, reading.date_format));
    } else if (reading.type == Reading::Type::number) {
      column.type = ColumnType::number;
      column.lo = reading.range.lo;
      column.hi = reading.range.hi;
      if (reading.written != Written::plain) column.numbers = numbers_written(reading.written);
      column.missing_level = reading.missing;
      column.automatic_curve = true;
      if (reading.skewed) column.scale = KnotScale::log;
      double numbers = 0;
      for (const double count : bins_of(answer, Written::plain)) numbers += count;
      if (reading.written != Written::plain)
        for (const double count : bins_of(answer, reading.written)) numbers += count;
      found.words = fmt::format("about {} numbers{}{}", counted(numbers),
                                reading.written == Written::comma     ? " with a decimal comma"
                                : reading.written == Written::grouped ? " in groups of digits"
                                                                      : "",
                                reading.skewed ? ", skewed" : "");
    }
    if (reading.missing && !reading.marks.empty()) {
      mark_missing(answers.questions, column.has_missing, column.missing, column.also_missing);
      column.also_missing.insert(column.also_missing.end(), reading.marks.begin(),
                                 reading.marks.end());
    }
    if (reading.missing) found.words += missing_words(answer, reading);
  }
  for (const Column& counting : answers.counting.columns()) {
    for (ColumnFinding& found : out) {
      if (found.column.name != counting.name) continue;
      found = {counting, counting.type == ColumnType::person   ? "says whose a row is"
                         : counting.type == ColumnType::weight ? "says how much a row counts"
                                                               : "says what a count is over"};
    }
  }
  return out;
}

Schema schema_of(const BoughtSchema& answers) {
  Schema out;
  out.label_name = answers.label;
  out.label = answers.target;
  out.invalid = Invalid::middle;
  out.intercept = true;
  mark_missing(answers.questions, out.text.has_missing, out.text.missing, out.text.also_missing);
  for (ColumnFinding& found : findings(answers)) out.columns.push_back(std::move(found.column));
  for (const WantedParts& wanted : answers.parts) {
    const Column* const found = out.column_named(wanted.column);
    if (found == nullptr || !found->is_date()) continue;
    const Column date = *found;
    for (const DatePart part : wanted.parts)
      out.columns.push_back(part_column(date, part, answers.questions));
  }
  out.row_norm = out.auto_row_norm();
  return out;
}

Schema fit_schema_of(const BoughtSchema& answers, std::uint64_t most) {
  Schema out = schema_of(answers);
  const std::size_t room = most - 1;  // beside the constant
  const auto is = [](ColumnType type) {
    return [type](const Column& column) { return column.type == type; };
  };
  // Numbers: with knots and a level for missing cells where half of the room holds them so.
  const auto numbers =
      static_cast<std::size_t>(std::ranges::count_if(out.columns, is(ColumnType::number)));
  const bool curves = numbers * (most_automatic_knots + 1) <= room / 2;
  const std::size_t width = curves ? most_automatic_knots + 1 : 2;
  std::size_t left = room, kept = 0;
  for (Column& column : out.columns) {
    if (column.type != ColumnType::number) continue;
    if (++kept * width > room / 2) {
      column = {.name = column.name};
      continue;
    }
    if (!curves) without_curve(column);
    left -= width;
  }
  // Categories: one level at least, beside "(missing)" and "(other)"; the longest lists are cut.
  // Months and weekdays are whole, or left out.
  constexpr std::size_t beside = 2;
  std::vector<Column*> categories;
  for (Column& column : out.columns) {
    if (column.type != ColumnType::category) continue;
    if (column.part != DatePart::none) {
      if (column.levels.size() + beside > left / 2)
        column = {.name = column.name};
      else
        left -= column.levels.size() + beside;
    }
  }
  for (Column& column : out.columns) {
    if (column.type != ColumnType::category || column.part != DatePart::none) continue;
    if ((categories.size() + 1) * (beside + 1) > left)
      column = {.name = column.name};
    else
      categories.push_back(&column);
  }
  std::size_t levels = 0;
  for (const Column* const column : categories) levels += column->levels.size() + beside;
  for (; levels > left; --levels) {
    const auto size = [](const Column* column) { return column->levels.size(); };
    (*std::ranges::max_element(categories, {}, size))->levels.pop_back();
  }
  // The table has no columns of these names.
  out.columns.erase(
      std::remove_if(out.columns.begin() + static_cast<std::ptrdiff_t>(answers.columns.size()),
                     out.columns.end(),
                     [](const Column& column) { return column.type == ColumnType::ignore; }),
      out.columns.end());
  if (out.features() == 1) {
    for (std::size_t k = 0; k < answers.columns.size(); ++k) {
      if (!answers.columns[k].asked()) continue;
      out.columns[k] = {
          .name = answers.columns[k].name, .type = ColumnType::number, .lo = 0, .hi = 1};
      out.columns[k].missing_level = false;
      break;
    }
  }
  out.row_norm = out.auto_row_norm();
  return out;
}

}  // namespace gibbsite
