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

std::string schema_template(const std::string& path, Header header_is) {
  const bool has_names = is_arrow_file(path);
  if (!has_names) require_csv_header_on_top(path);
  const std::vector<std::string> header =
      has_names ? read_arrow_file_names(path) : read_csv_header(path);
  if (header_is == Header::unknown && !has_names) {
    require_names(header, path);
    require_unlike_rows(header, path);
  }
  std::string out =
      R"(# A schema, to be filled in by a person. It becomes part of the released model.
#
# Only the header line of the table was read, on purpose: the guarantee protects the rows, and ranges,
# levels or classes picked from the rows would tell about them outside of the privacy budget. Write
# what is known without this table: a codebook, a form, a law, common sense. Too wide a range costs a
# little accuracy; values outside of it are moved to its ends.

label = ""          # the column to predict; remove its line under [columns]
positive = ""       # the class whose probability the model gives; of several classes, an amount or a count, in its place:
# classes = ["north", "east", "south"]   # every class of the label, known without the data
# range = [0, 500000]  # of the label, known without the data: labels are moved into it
# tolerance = 50000    # an error of a prediction beyond which it is far off; a fifth of the range without it
# counts = true        # labels are whole numbers from 0 up
# class_weights = {"north" = 1, "south" = 2.5}   # how much a row of each class counts; never from how many the table has
# positive_share = [0.001, 0.01]   # how many rows are positive, known without the data: what `plan` says is of such a table
# negative = ""     # the name of the other class; without it, every label but `positive`
# unlisted_label = "negative"   # beside `negative`: a third label counts as it; "refuse": is an error
# invalid = "refuse"   # cells and labels that cannot be read as written here are errors, and then whether
#                      # there is a model tells about them; "middle": they count as the middle of the
#                      # range, as (other) or no level, as the negative or the first class, and nothing is refused
# decimal = ","     # numbers are written 3,5
# thousands = ","   # or "." or "'" or a blank: numbers may be written 1,234
row_norm = "auto"   # rows longer than a number given here are scaled down to it; "auto" (docs/reference/data.md) scales none
                    # where there are at most 2000 features
intercept = "auto"  # whether a constant feature is added: true or false; "auto" adds it
# missing = ""      # how a missing cell reads, such as "?"; "" is an empty cell: the middle of a range, no level
# missing = ["NA", ""]   # several marks: each of them is a missing cell

# One line per column; write one of these kinds between its braces:
#   type = "number", range = [17, 90]                cells are moved into [lowest, highest], then scaled to [0, 1];
#                                                    in a network bins = 8, or bins = [25, 40, 65], and decimals = 0
#   type = "category", levels = ["north", "south"]   one feature per level; other = true adds one for all other levels
#   type = "exposure", range = [0.1, 10]             what the label's count is over (years, people); of counts
#   type = "ignore"                                  not used
# missing = "..." in a category's braces adds a level for the cells that read so.
# For a network (model `network`), which takes every column and needs no label, put below all columns what each depends on:
#   [network]
#   income = ["education", "sex"]
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
