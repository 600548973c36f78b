#include "model/level_events.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <numeric>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/model/boolean.hpp"

namespace gibbsite {
namespace {

constexpr std::string_view event_blanks = " \t\r\n";

// None where the text is no number, or goes on after it.
std::optional<double> parsed_number(const std::string& text) {
  double value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  return error == std::errc() && end == last ? std::optional(value) : std::nullopt;
}

std::vector<std::uint32_t> every_level_of(std::size_t count) {
  std::vector<std::uint32_t> out(count);
  std::iota(out.begin(), out.end(), 0U);
  return out;
}

}  // namespace

double cells_below(const Column& column, double x, bool with_x) {
  const double steps = x * std::pow(10.0, *column.decimals), whole = std::round(steps);
  const bool on_it = std::abs(steps - whole) <= 1e-9 * std::max(1.0, std::abs(steps));
  return on_it ? whole + (with_x ? 1 : 0) : std::ceil(steps);
}

std::string listed_names(const std::vector<std::string>& names) {
  constexpr std::size_t most = 40;
  std::vector<std::string> first(
      names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(most, names.size())));
  for (std::string& name : first) name = shown(name);
  return fmt::format("{}{}", fmt::join(first, ", "),
                     names.size() > most ? fmt::format(", ... ({} in all)", names.size()) : "");
}

EventReader::EventReader(const Schema& columns, std::string_view text, std::string what,
                         std::string form, std::string_view ends)
    : columns_(columns), what_(std::move(what)), form_(std::move(form)), ends_(ends), rest_(text) {
  for (const Column& column : node_columns(columns)) names_.push_back(column.name);
}

void EventReader::refuse(const std::string& what) const {
  throw BadInput(fmt::format("{}: {}", what_, what));
}
void EventReader::refuse_form(const std::string& what) const { refuse(what + "; " + form_); }

void EventReader::refuse_unknown(const std::string& column) const {
  refuse(fmt::format("the network has no column {}; its columns are {}", gibbsite::quoted(column),
                     listed_names(names_)));
}

void EventReader::skip() {
  const auto first = rest_.find_first_not_of(event_blanks);
  rest_.remove_prefix(first == std::string_view::npos ? rest_.size() : first);
}

bool EventReader::take(std::string_view word) {
  if (!rest_.starts_with(word)) return false;
  rest_.remove_prefix(word.size());
  skip();
  return true;
}

// What is there up to a sign that may end a name, for messages.
std::string EventReader::piece(std::string_view ends) const {
  std::string out(rest_.substr(0, rest_.find_first_of(ends)));
  out.erase(out.find_last_not_of(event_blanks) + 1);
  return out;
}

// The name that comes next: in quotes, a quote in it doubled, or the longest that `follows` may
// stand behind. None: nothing is taken.
template <class Follows>
std::optional<std::uint32_t> EventReader::name(const std::vector<std::string>& names,
                                               const Follows& follows) {
  std::optional<std::uint32_t> found;
  std::size_t length = 0;
  const auto behind = [&](std::size_t taken) {
    const std::string_view after = rest_.substr(taken);
    const auto first = after.find_first_not_of(event_blanks);
    return follows(after,
                   first == std::string_view::npos ? std::string_view() : after.substr(first));
  };
  if (rest_.starts_with('\'') || rest_.starts_with('"')) {
    std::string text;
    std::size_t i = 1;
    for (; i < rest_.size(); ++i) {
      if (rest_[i] == rest_[0] && (i + 1 == rest_.size() || rest_[i + 1] != rest_[0])) break;
      if (rest_[i] == rest_[0]) ++i;
      text += rest_[i];
    }
    const auto at = std::ranges::find(names, text);
    if (i < rest_.size() && at != names.end() && behind(i + 1)) {
      found = static_cast<std::uint32_t>(at - names.begin());
      length = i + 1;
    }
  }
  for (std::size_t k = 0; k < names.size(); ++k) {
    if (names[k].size() < length || !rest_.starts_with(names[k])) continue;
    if (!behind(names[k].size())) continue;
    found = static_cast<std::uint32_t>(k);
    length = names[k].size();
  }
  if (found) {
    rest_.remove_prefix(length);
    skip();
  }
  return found;
}

void add_event(LevelEvent event, std::vector<LevelEvent>& to) {
  const auto same = std::ranges::find(to, event.column, &LevelEvent::column);
  if (same == to.end()) {
    to.push_back(std::move(event));
    return;
  }
  std::vector<std::uint32_t> both;
  std::ranges::set_intersection(same->levels, event.levels, std::back_inserter(both));
  same->levels = std::move(both);
}

std::vector<LevelEvent> EventReader::events() {
  std::vector<LevelEvent> out;
  do add_event(event(), out);
  while (take(","));
  return out;
}

std::uint32_t EventReader::column() {
  const auto found = name(names_, [](std::string_view, std::string_view next) {
    return next.starts_with('|') || next.starts_with(')');
  });
  if (found) return *found;
  const std::string word = piece("=!<>,|){");
  if (std::ranges::find(names_, word) != names_.end()) refuse_form("is not of one column alone");
  refuse_unknown(word);
}

LevelEvent EventReader::event() {
  const auto is_operator = [](std::string_view after, std::string_view next) {
    if (next.starts_with("in")) {
      const bool apart = after.data() != next.data();
      return apart && next.size() > 2 &&
             (next[2] == '{' || event_blanks.find(next[2]) != event_blanks.npos);
    }
    return next.starts_with("!=") ||
           (!next.empty() && std::string_view("=<>").find(next[0]) != std::string_view::npos);
  };
  const auto column = name(names_, is_operator);
  if (!column) {
    const std::string word = piece("=!<>,|){");
    if (word.empty()) refuse_form("lacks a column before " + std::string(rest_.substr(0, 1)));
    if (std::ranges::find(names_, word) != names_.end()) {
      refuse(
          fmt::format("says nothing of {}; write = or != and a level, in {{level, level}}, of "
                      "a number < or >=",
                      gibbsite::quoted(word)));
    }
    refuse_unknown(word);
  }
  const std::vector<std::string> levels = network_level_names(columns_, *column);
  const bool number = columns_.columns[*column].type == ColumnType::number;
  LevelEvent out{*column, {}};
  for (const std::string_view sign : {"<=", ">=", "<", ">"}) {
    if (!take(sign)) continue;
    if (!number) {
      refuse(fmt::format("{} is no number and takes =, != and in; its levels are {}",
                         gibbsite::quoted(names_[*column]), listed_names(levels)));
    }
    out.levels = compared(*column, sign);
    return out;
  }
  const bool not_equal = take("!=");
  if (take("in")) {
    if (!take("{")) refuse_form("has no { after in");
    if (take("}")) refuse_form("lists no level in { }");
    do out.levels.push_back(level(*column, levels, ",}"));
    while (take(","));
    if (!take("}")) refuse_form("has no closing }");
  } else {
    if (!not_equal) take("=");
    out.levels.push_back(level(*column, levels, ends_));
  }
  std::ranges::sort(out.levels);
  out.levels.erase(std::unique(out.levels.begin(), out.levels.end()), out.levels.end());
  if (not_equal) {
    std::vector<std::uint32_t> others;
    const auto all = every_level_of(levels.size());
    std::ranges::set_difference(all, out.levels, std::back_inserter(others));
    out.levels = std::move(others);
  }
  return out;
}

std::uint32_t EventReader::level(std::uint32_t column, const std::vector<std::string>& levels,
                                 std::string_view ends) {
  const auto follows = [&](std::string_view, std::string_view next) {
    return next.empty() ? ends.empty() : ends.find(next[0]) != std::string_view::npos;
  };
  if (const auto found = name(levels, follows)) return *found;
  for (const bool value : {false, true}) {  // "yes" where the level is "true"
    if (!columns_.columns[column].is_boolean || !name(boolean_spellings(value), follows)) continue;
    return static_cast<std::uint32_t>(std::ranges::find(levels, boolean_levels[value ? 1 : 0]) -
                                      levels.begin());
  }
  const bool number = columns_.columns[column].type == ColumnType::number;
  if (const auto bin = bin_of_number(column, piece(ends))) {
    rest_.remove_prefix(piece(ends).size());
    skip();
    return *bin;
  }
  refuse(fmt::format("{} has no {} {}; {} {}{}", gibbsite::quoted(names_[column]),
                     number ? "bin" : "level", gibbsite::quoted(piece(ends)),
                     number ? "its bins are" : "its levels are", listed_names(levels),
                     number ? "; write one of them, or < or >= and an end of a bin" : ""));
}

// "13" for [12.5, 13.5) of whole numbers, as tables of counts call it.
std::optional<std::uint32_t> EventReader::bin_of_number(std::uint32_t column,
                                                        const std::string& text) const {
  const Column& of = columns_.columns[column];
  const std::optional<double> value = parsed_number(text);
  if (!value || of.type != ColumnType::number) return {};
  for (std::size_t bin = 0; bin + 1 < bin_ends(of).size(); ++bin)
    if (number_of_bin(of, bin) == value) return static_cast<std::uint32_t>(bin);
  return {};
}

std::vector<std::uint32_t> EventReader::compared(std::uint32_t column, std::string_view sign) {
  const Column& of = columns_.columns[column];
  const std::vector<double> ends = bin_ends(of);
  const std::string text = piece(ends_);
  const std::optional<double> value = parsed_number(text);
  const auto same = [&](double a, double b) {
    double narrowest = ends[1] - ends[0];
    for (std::size_t i = 1; i + 1 < ends.size(); ++i)
      narrowest = std::min(narrowest, ends[i + 1] - ends[i]);
    return std::abs(a - b) <= 1e-9 * narrowest;
  };
  std::optional<std::size_t> cut;  // levels below
  const bool closed = sign == "<=" || sign == ">";
  for (std::size_t i = 0; value && !closed && !cut && i + 1 < ends.size(); ++i)
    if (same(*value, ends[i])) cut = i;
  if (value && closed && same(*value, ends.back())) cut = ends.size() - 1;
  // Cells of so many decimals are multiples of a step: an end means what the value does if as many
  // of them lie below it.
  const auto below = [&](double x, bool with_x) { return cells_below(of, x, with_x); };
  for (std::size_t i = 0; value && of.decimals && !cut && i + 1 < ends.size(); ++i)
    if (below(*value, closed) == below(ends[i], false)) cut = i;
  if (value && of.decimals && !cut && below(*value, closed) >= below(ends.back(), true))
    cut = ends.size() - 1;
  if (value && !cut && *value > ends.back()) cut = ends.size() - 1;  // cells are clamped
  if (value && !cut && *value < ends.front()) cut = 0;
  if (!cut) {
    std::vector<std::string> texts;
    for (const double e : ends) texts.push_back(number_text(e));
    refuse(
        fmt::format("{} {} {} {}; its bins hold their lower end and meet at {}: write < or >= "
                    "and one of them",
                    gibbsite::quoted(names_[column]), sign, shown(text),
                    value ? "cuts a bin" : "compares with no number", listed_names(texts)));
  }
  rest_.remove_prefix(text.size());
  skip();
  std::vector<std::uint32_t> out;
  for (std::size_t l = 0; l + 1 < ends.size(); ++l)
    if ((l < *cut) == sign.starts_with('<')) out.push_back(static_cast<std::uint32_t>(l));
  return out;
}

std::vector<StructuralZero> structural_zeros(const Schema& columns) {
  std::vector<StructuralZero> out;
  for (std::size_t i = 0; i < columns.never.size(); ++i) {
    const std::string what = fmt::format("schema: never[{}]", i);
    std::vector<LevelEvent> events;
    for (const std::string& text : columns.never[i]) {
      EventReader reader(columns, text, what, "write \"column = level\" or \"number >= 40\"", "");
      reader.skip();
      add_event(reader.event(), events);
      if (!reader.rest().empty()) reader.refuse_form(quoted(text) + " goes on after its event");
    }
    if (events.empty())
      throw BadInput(what + ": has no event; give those that never hold together, or leave it out");
    std::ranges::sort(events, {}, &LevelEvent::column);
    StructuralZero& zero = out.emplace_back();
    for (LevelEvent& event : events) {
      if (event.levels.empty()) {
        throw BadInput(
            fmt::format("{}: no level of {} is meant, so it forbids nothing; leave it out", what,
                        quoted(columns.columns[event.column].name)));
      }
      zero.columns.push_back(event.column);
      zero.levels.push_back(std::move(event.levels));
    }
  }
  return out;
}

}  // namespace gibbsite
