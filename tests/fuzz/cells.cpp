// First byte: a format of dates; the rest is one cell. What is a day is written and read again to
// the same, and a bought schema counts a cell in the class that its columns then read.
#include <algorithm>
#include <array>
#include <cmath>

#include "data/encoder.hpp"
#include "fuzz.hpp"
#include "gibbsite/data/cell_counts.hpp"
#include "gibbsite/model/date.hpp"

namespace gibbsite::fuzz {
namespace {

constexpr std::array<std::string_view, 6> formats{"%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y",
                                                  "%d%b%Y",   "%Y%m%d",   "%b %d, %Y"};

void require_day(std::string_view cell, std::string_view format) {
  const std::optional<double> day = parse_date(cell, format);
  if (!day) return;
  require(*day >= first_day && *day <= last_day && *day == std::floor(*day), "a day", cell);
  require(parse_date(date_text(*day, format), format) == day, "a day that does not read back",
          cell);
}

// Whether a column whose numbers are written so reads the cell.
bool is_read(std::string_view cell, Written form) {
  Encoding encoding;
  encoding.numbers = numbers_written(form);
  return encoding.number(cell).has_value();
}

}  // namespace

void run(std::string_view in) {
  const unsigned byte = take_byte(in);
  require(date_format_fault(formats[byte % formats.size()]).empty(), "a format");
  require_day(in, formats[byte % formats.size()]);
  const std::size_t place = class_of_cell(in);
  require(place < cell_classes, "a class", in);
  constexpr auto first = static_cast<std::size_t>(CellClass::first_bin);
  if (place == static_cast<std::size_t>(CellClass::date))
    require(parse_date(in).has_value(), "a date that is not read", in);
  if (place >= first_date_class) {
    const auto is_date = [&](std::string_view format) {
      return parse_date(in, format).has_value();
    };
    const auto is_either = [&](const auto& pair) { return std::ranges::any_of(pair, is_date); };
    require(std::ranges::any_of(date_formats, is_date) ||
                std::ranges::any_of(paired_date_formats, is_either),
            "a date that is not read", in);
    require(!parse_date(in) && !is_read(in, Written::plain), "a date of another class", in);
  } else if (place >= first)
    require(is_read(in, static_cast<Written>((place - first) / number_bins)),
            "a number that is not read", in);
  if (place == static_cast<std::size_t>(CellClass::text)) {
    require(!parse_date(in), "a date that is no date", in);
    for (const Written form : {Written::plain, Written::comma})
      require(!is_read(in, form), "a number that is none", in);
  }
  require(level_of_cell(in).size() <= longest_level, "a level", in);
}

}  // namespace gibbsite::fuzz
