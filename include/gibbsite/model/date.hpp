#pragma once
// Days as text: what a cell of a column of dates may be. Every cell depends on its text and the
// public format alone.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gibbsite {

/// The format of ISO 8601: "2024-12-31".
inline constexpr std::string_view iso_date = "%Y-%m-%d";
/// First and last day there is, 0001-01-01 and 9999-12-31, in days since 1970-01-01.
inline constexpr double first_day = -719'162, last_day = 2'932'896;

/// What is wrong with a format of dates; empty: nothing. A format has each of %Y (four digits), %m
/// (or %b, an English name such as Jan) and %d once, and other signs but digits between them, which
/// stand for themselves. %m and %d have two digits, or one where such signs are about them.
std::string date_format_fault(std::string_view format);

/// Days since 1970-01-01 of a text in a legal format; none: it is no day of the calendar. A time
/// behind it ("T23:59:00.5Z", " 23:59 +01:00") is cut off: the day is the one that is written.
std::optional<double> parse_date(std::string_view text, std::string_view format = iso_date);

/// What of a day is a feature of its own: its number since 1970-01-01 (none), its year, its month
/// or its weekday.
enum class DatePart { none, year, month, weekday };

/// "year", "month" or "weekday"; empty of `none`.
std::string_view to_string(DatePart part);
/// The part of that name; none: of another name.
std::optional<DatePart> date_part_named(std::string_view name);

/// What a part may be, in its order: "Jan" to "Dec", "Mon" to "Sun". Empty of years, which are
/// numbers.
std::vector<std::string> part_levels(DatePart part);

/// The year of a day from first_day to last_day, or the place of its month or weekday in
/// part_levels.
int part_of_day(DatePart part, double days);

/// The text of a day from first_day to last_day; parts of a day are cut off.
std::string date_text(double days, std::string_view format = iso_date);

}  // namespace gibbsite
