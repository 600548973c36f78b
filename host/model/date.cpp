#include "gibbsite/model/date.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

namespace gibbsite {
namespace {

constexpr std::array<std::string_view, 12> month_names{"jan", "feb", "mar", "apr", "may", "jun",
                                                       "jul", "aug", "sep", "oct", "nov", "dec"};

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
  return text.empty() || ((take(text, ':') || true) && two(59) && text.empty());
}

}  // namespace

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
  if (!text.empty() && !is_time(text)) return {};
  namespace calendar = std::chrono;
  const calendar::year_month_day date{calendar::year(year),
                                      calendar::month(static_cast<unsigned>(month)),
                                      calendar::day(static_cast<unsigned>(day))};
  if (year < 1 || !date.ok()) return {};
  return static_cast<double>(calendar::sys_days(date).time_since_epoch().count());
}

std::string date_text(double days, std::string_view format) {
  namespace calendar = std::chrono;
  const double inside = std::floor(std::clamp(days, first_day, last_day));
  const calendar::year_month_day date{calendar::sys_days(calendar::days(static_cast<int>(inside)))};
  const auto month = static_cast<unsigned>(date.month());
  std::string out;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out += format[i];
      continue;
    }
    switch (format[++i]) {
      case 'Y':
        out += fmt::format("{:04}", static_cast<int>(date.year()));
        break;
      case 'b':
        out += static_cast<char>(month_names[month - 1][0] - 'a' + 'A');
        out += month_names[month - 1].substr(1);
        break;
      default:
        out += fmt::format("{:02}", format[i] == 'm' ? month : static_cast<unsigned>(date.day()));
    }
  }
  return out;
}

}  // namespace gibbsite
