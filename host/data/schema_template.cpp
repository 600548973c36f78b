// A schema to be filled in, from a table's header line.
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>

#include "core/format_message.hpp"
#include "data/arrow.hpp"
#include "data/csv.hpp"
#include "data/schema_writer.hpp"
#include "data/text.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/schema_file.hpp"

namespace gibbsite {

// The cell itself stays unsaid.
void require_names(const std::vector<std::string>& header, const std::string& path) {
  for (std::size_t j = 0; j < header.size(); ++j) {
    double value = 0;
    const bool number = parse_number(header[j], value);
    if (!number && !header[j].empty()) continue;
    throw BadInput(format_message(
        "{}:1: cell {} is {}, so this looks like a row and not like a header: its cells would be "
        "published as names; put a line of names above it, or give {} yes if these are the names",
        path, j + 1, number ? "a number" : "empty", Field{"header"}));
  }
}

namespace {

// A line of words above another line of words may be a person's.
void require_unlike_rows(const std::vector<std::string>& header, const std::string& path) {
  const std::vector<std::string> row = read_csv_first_row(path);
  const auto is_word = [](const std::string& cell) {
    double value = 0;
    return !cell.empty() && !parse_number(cell, value);
  };
  if (row.size() != header.size() || !std::ranges::all_of(row, is_word)) return;
  throw BadInput(format_message(
      "{}:1: the second line looks like the first one, all words, so the first may be a row, "
      "whose cells would be published as names; put a line of names above it, or give {} yes if "
      "these are the names",
      path, Field{"header"}));
}

}  // namespace

std::vector<std::string> first_line_names(const std::string& path) {
  return is_arrow_file(path) ? std::vector<std::string>() : read_csv_header(path);
}

std::vector<std::string> column_names(const std::string& path) {
  return is_arrow_file(path) ? read_arrow_file_names(path) : read_csv_header(path);
}

std::string schema_template(const std::string& path, Header header_is) {
  const bool has_names = is_arrow_file(path);
  if (!has_names) require_csv_header_on_top(path);
  const std::vector<std::string> header = column_names(path);
  if (header_is == Header::unknown && !has_names) {
    require_names(header, path);
    require_unlike_rows(header, path);
  }
  std::string out =
      R"(# A schema, to be filled in by a person. It becomes part of the released model.
#
# Only the header line of the table was read: ranges, levels or classes picked from the rows would
# tell about people outside of the privacy budget. Write what is known without this table: a
# codebook, a form, a law, common sense. Too wide a range costs a little accuracy; cells outside of
# it are moved to its ends.

label = ""       # the column to predict; delete its line under [columns]
positive = ""    # its class whose probability the model gives. For a label of another kind, in its place:
# classes = ["north", "east", "south"]   # one of several classes: name them all
# range = [0, 500000]                    # an amount: labels are moved into this range
# counts = true                          # beside range: a whole number from 0 up
# missing = ""   # how a missing cell reads, such as "?" or "" (empty); without this it is an error

# One line a column. Put one of these behind the equals sign, and change its numbers and words:
#   {type = "number", range = [17, 90]}                  its effect is a straight line
#   {type = "number", range = [17, 90], curve = "auto"}  a curve, as fine as the budget allows
#   {type = "category", levels = ["north", "south"]}     other = true adds a level for all others
#   {type = "date", range = ["1990-01-01", "2030-01-01"]}  format = "%d.%m.%Y" if so written
#   {type = "boolean"}                                   yes or no, however it is spelled
#   {type = "exposure", range = [0.1, 10]}               what a count is over, such as years
#   {type = "weight", range = [0, 5000]}                 how much a row counts, of the largest
#   {type = "person"}                                    whose a row is: rows of one count together
#   {type = "ignore"}                                    not used; an id of people with several rows
#                                                        is type = "person", else each row is one
# A part of a date is a line of its own: hired_month = {type = "month", of = "hired"}; also "year"
# and "weekday".
# docs/reference/data.md has all keys: unlisted and unreadable cells, decimal signs, weights of
# classes, the intercept, the bound on rows, and [network], what a column depends on.
[columns]
)";
  for (const std::string& name : header) out += toml_key(name) + " = {type = \"\"}\n";
  try {
    (void)toml::parse(out);
  } catch (const toml::parse_error& error) {
    throw BadInput(
        fmt::format("{}:1: the header cannot be written as TOML: {}; save the file as UTF-8", path,
                    shown(error.description())));
  }
  return out;
}

}  // namespace gibbsite
