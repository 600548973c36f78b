#include "gibbsite/model/date.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace gibbsite {
namespace {

constexpr std::array<std::string_view, 12> month_names{"jan", "feb", "mar", "apr", "may", "jun",
                                                       "jul", "aug", "sep", "oct", "nov", "dec"};

struct Day {
  int year = 0, month = 0, day = 0;
};

// The calendar repeats every 400 years of 146,097 days; years are counted from March on, so that a
// leap day is a year's last, and months then have 153 days in five of them. <chrono> has these too,
// and a clock, which no public module may know.
constexpr int days_of_400 = 146'097, days_to_1970 = 719'468;  // from 0000-03-01

bool exists(Day d) {
  const bool leap = d.year % 4 == 0 && (d.year % 100 != 0 || d.year % 400 == 0);
  constexpr std::array<int, 12> days{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return d.year >= 1 && d.month >= 1 && d.month <= 12 && d.day >= 1 &&
         d.day <= days[static_cast<std::size_t>(d.month - 1)] + (leap && d.month == 2 ? 1 : 0);
}

int days_of(Day d) {
  const int from_march = (d.month + 9) % 12, year = d.month <= 2 ? d.year - 1 : d.year;
  return year / 400 * days_of_400 + year % 400 * 365 + year % 400 / 4 - year % 400 / 100 +
         (153 * from_march + 2) / 5 + d.day - 1 - days_to_1970;
}

Day day_of(int days) {
  const int all = days + days_to_1970, within = all % days_of_400;
  const int year = (within - within / 1'460 + within / 36'524 - within / 146'096) / 365;
  const int of_year = within - (365 * year + year / 4 - year / 100);
  const int from_march = (5 * of_year + 2) / 153;
  const int month = from_march < 10 ? from_march + 3 : from_march - 9;
  return {all / days_of_400 * 400 + year + (month <= 2 ? 1 : 0), month,
          of_year - (153 * from_march + 2) / 5 + 1};
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
char small(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Takes `least` to `most` digits from the front, as many as there are.
std::optional<int> take_number(std::string_view& text, std::size_t least, std::size_t most) {
  std::size_t count = 0;
  int out = 0;
  for (; count < most && count < text.size() && is_digit(text[count]); ++count)
    out = 10 * out + (text[count] - '0');
  if (count < least) return {};
  text.remove_prefix(count);
  return out;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<int> take_month_name(std::string_view& text) {
  for (std::size_t m = 0; m < month_names.size() && text.size() >= 3; ++m) {
    if (!std::ranges::equal(text.substr(0, 3), month_names[m], {}, small)) continue;
    text.remove_prefix(3);
    return static_cast<int>(m) + 1;
  }
  return {};
}

// "T23:59:00.5Z", " 23:59 +01:00", with hours from 00 to 24 and minutes and seconds to 60.
bool is_time(std::string_view text) {
  if (!take(text, 'T') && !take(text, ' ')) return false;
  const auto two = [&](int highest) {
    const auto value = take_number(text, 2, 2);
    return value && *value <= highest;
  };
  if (!two(24)) return false;
  if (take(text, ':')) {
    if (!two(59)) return false;
    if (take(text, ':')) {
      if (!two(60)) return false;
      if ((take(text, '.') || take(text, ',')) && !take_number(text, 1, 9)) return false;
    }
  }
  if (text.empty() || text == "Z" || text == " UTC") return true;
  (void)take(text, ' ');
  if (!take(text, '+') && !take(text, '-')) return false;
  if (!two(24)) return false;
  if (text.empty()) return true;
  (void)take(text, ':');
  return two(59) && text.empty();
}

}  // namespace

namespace {
constexpr std::array<std::string_view, 4> part_names{"", "year", "month", "weekday"};
}  // namespace

std::string_view to_string(DatePart part) { return part_names.at(static_cast<std::size_t>(part)); }

std::optional<DatePart> date_part_named(std::string_view name) {
  for (const DatePart part : {DatePart::year, DatePart::month, DatePart::weekday})
    if (to_string(part) == name) return part;
  return {};
}

std::vector<std::string> part_levels(DatePart part) {
  if (part == DatePart::weekday) return {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
  std::vector<std::string> out;
  if (part != DatePart::month) return out;
  for (const std::string_view name : month_names) {
    std::string& level = out.emplace_back(name);
    level[0] = static_cast<char>(level[0] - 'a' + 'A');
  }
  return out;
}

int part_of_day(DatePart part, double days) {
  const int whole = static_cast<int>(std::floor(std::clamp(days, first_day, last_day)));
  // 1970-01-01 was a Thursday, three days behind a Monday.
  if (part == DatePart::weekday) return ((whole + 3) % 7 + 7) % 7;
  const Day day = day_of(whole);
  return part == DatePart::month ? day.month - 1 : day.year;
}

std::string date_format_fault(std::string_view format) {
  constexpr std::string_view like = "\"%Y-%m-%d\" or \"%d.%m.%Y\"";
  int years = 0, months = 0, days = 0;
  for (std::size_t i = 0; i < format.size(); ++i) {
    const char c = format[i];
    if (is_digit(c)) return fmt::format("has the digit {}; write one such as {}", c, like);
    if (c != '%') continue;
    const char what = ++i < format.size() ? format[i] : ' ';
    if (what == 'y')
      return "has %y, a year of two digits, which says no century; write years whole, %Y";
    if (what != 'Y' && what != 'm' && what != 'b' && what != 'd')
      return fmt::format("has a % that is neither %Y, %m, %b nor %d; write one such as {}", like);
    (what == 'Y' ? years : what == 'd' ? days : months) += 1;
  }
  if (years == 1 && months == 1 && days == 1) return {};
  return fmt::format("must have a year, a month and a day once each; write one such as {}", like);
}

std::optional<double> parse_date(std::string_view text, std::string_view format) {
  int year = 0, month = 0, day = 0;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      if (!take(text, format[i])) return {};
      continue;
    }
    const char what = format[++i];
    // One digit will do between signs that are no digits.
    const bool follows = i >= 3 && format[i - 3] == '%';
    const std::size_t least = follows || format.substr(i + 1).starts_with('%') ? 2 : 1;
    const std::optional<int> value = what == 'Y'   ? take_number(text, 4, 4)
                                     : what == 'b' ? take_month_name(text)
                                                   : take_number(text, least, 2);
    if (!value) return {};
    (what == 'Y' ? year : what == 'd' ? day : month) = *value;
  }
  if ((!text.empty() && !is_time(text)) || !exists({year, month, day})) return {};
  return days_of({year, month, day});
}

std::string date_text(double days, std::string_view format) {
  const Day day = day_of(static_cast<int>(std::floor(std::clamp(days, first_day, last_day))));
  std::string out;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out += format[i];
      continue;
    }
    switch (format[++i]) {
      case 'Y':
        out += fmt::format("{:04}", day.year);
        break;
      case 'b':
        out += part_levels(DatePart::month)[static_cast<std::size_t>(day.month - 1)];
        break;
      default:
        out += fmt::format("{:02}", format[i] == 'm' ? day.month : day.day);
    }
  }
  return out;
}

}  // namespace gibbsite
