#pragma once
// Days as text: what a cell of a column of dates may be. Every cell depends on its text and the
// public format alone.
#include <optional>
#include <string>
#include <string_view>

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

/// The text of a day from first_day to last_day; parts of a day are cut off.
std::string date_text(double days, std::string_view format = iso_date);

}  // namespace gibbsite
