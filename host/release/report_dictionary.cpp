// The page's dictionary: what a column and the label may hold, what becomes of other cells.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gibbsite/core/overloaded.hpp"
#include "gibbsite/release/network_query.hpp"
#include "release/page.hpp"
#include "release/report_parts.hpp"

namespace gibbsite {
namespace {

constexpr std::size_t most_columns = 400;  // of the dictionary, runs of alike ones counted once

std::string or_refused(const Schema& schema, const std::string& middle) {
  return schema.invalid == Invalid::refuse ? "refused" : middle;
}

std::string range_words(const Column& c) {
  return fmt::format("{} to {}", c.text_of(c.lo), c.text_of(c.hi));
}

std::string knots_words(const Column& c) {
  std::string out;
  for (const double knot : c.knots)
    out += (out.empty() ? ", a curve through " : ", ") + c.text_of(knot);
  return out;
}

// What a cell of no listed level is, other than refused: the level that it counts as, a level
// "(other)", or none.
std::string unlisted_level(const Column& c) {
  return !c.unlisted.empty() ? "counted as “" + c.unlisted + "”"
         : c.other           ? std::string("“(other)”")
                             : std::string("no level");
}

// What becomes of a cell that is missing.
std::string missing_words(const Schema& schema, const Column& c) {
  const std::string* const reads = schema.missing_in(c);
  const bool category = c.type == ColumnType::category;
  const std::string middle = fmt::format("read as {}, the middle", c.text_of(c.lo / 2 + c.hi / 2));
  if (reads == nullptr) {
    return "none is expected; an empty cell is " +
           or_refused(schema, category ? unlisted_level(c) : middle);
  }
  std::string how;
  const std::vector<std::string> marks = schema.missing_marks(c);
  for (std::size_t k = 0; k < marks.size(); ++k) {
    if (k > 0) how += k + 1 < marks.size() ? ", " : " or ";
    how += marks[k].empty() ? "an empty cell" : "“" + marks[k] + "”";
  }
  if (c.has_missing_bin) return how + " is a level of its own";
  if (schema.has_missing_level(c)) return how + " is a level of its own";
  if (!category) return how + " is " + middle;
  if (const std::string* const level = schema.missing_level(c))
    return how +
           (marks.size() == 1 ? " is a listed level" : " is the listed level “" + *level + "”");
  return how + " is " + (c.unlisted.empty() ? "no level" : unlisted_level(c));
}

std::string unlisted_words(const Schema& schema, const Column& c) {
  if (c.type == ColumnType::category)
    return std::string(c.part == DatePart::none ? "an unlisted level" : "what is no day") + " is " +
           (c.other ? unlisted_level(c) : or_refused(schema, unlisted_level(c)));
  return fmt::format("below or above counts as the nearer end; what is no {} is ",
                     c.date.empty() ? "number" : "day") +
         or_refused(schema, c.has_missing_bin ? "taken for missing" : "read as the middle");
}

std::string levels_words(const Column& c) {
  std::string out = c.is_boolean ? "however spelled: " : "";
  if (c.part != DatePart::none) out = fmt::format("{} of “{}”: ", to_string(c.part), c.cell_name());
  for (std::size_t k = 0; k < std::min(c.levels.size(), most_levels); ++k)
    out += (k == 0 ? "" : " · ") + c.levels[k];
  if (c.levels.size() > most_levels)
    out += fmt::format(" · and {} more (all in the file)", c.levels.size() - most_levels);
  return out;
}

std::string interaction_words(const Schema& schema, const Interaction& interaction) {
  std::string out = fmt::format("interaction of {} features", schema.features_of(interaction));
  for (const Interaction::Part& part : interaction.parts) {
    if (part.knots.empty()) continue;
    out += fmt::format("; {} at", part.column);
    for (const double knot : part.knots)
      out += fmt::format(" {}", schema.column_named(part.column)->text_of(knot));
  }
  return out;
}

bool alike(Column a, const Column& b) {
  a.name = b.name;
  return a == b;
}

}  // namespace

void label_rules(Html& page, const Schema& schema) {
  page.put("<p><strong>{}</strong> is what is predicted: ", schema.label_name);
  std::visit(
      Overloaded{
          [&](const TwoClasses& two) {
            const std::string negative = "“" + two.negative + "”";
            page.put("“{}”, against {}.", two.positive,
                     two.negative.empty() ? "every other value" : negative);
            if (!two.negative.empty())
              page.put(" A third value is {}.",
                       two.refuses_unlisted ? "refused" : "counted as " + negative);
            page.put(" A missing one is {}.",
                     or_refused(schema, "counted as “" + two.negative_name() + "”"));
          },
          [&](const Classes& several) {
            Column listed;
            listed.levels = several.names;
            page.put("one of {}. One that is missing or not listed is {}.", levels_words(listed),
                     or_refused(schema, "counted as the first of them"));
          },
          [&](const Amount& amount) {
            page.put(
                "an amount from {} to {}; below or above counts as the nearer end. An error of more "
                "than {} counts as far off. What is missing or no number is {}.",
                exact(amount.lo), exact(amount.hi), exact(amount.tolerance),
                or_refused(schema, "read as the middle"));
          },
          [&](const Count& count) {
            page.put(
                "a count from 0 to {}; above counts as that. What is missing or no count is {}.",
                exact(count.hi), or_refused(schema, "read as half of it"));
          }},
      schema.label);
  page.put("</p>\n");
  if (const auto weights = class_weights(schema.label); !weights.empty()) {
    page.put("<p>Public weights of the classes:");
    const std::vector<std::string> names = class_names(schema.label);
    for (std::size_t k = 0; k < names.size() && k < most_levels; ++k)
      page.put(" {} {}{}", names[k], exact(weights[k]), k + 1 == names.size() ? "." : ",");
    page.put("</p>\n");
  }
}

namespace {

// Where the bins of a network's number meet.
std::string bins_words(const Column& c) {
  std::string out = c.decimals == 0 ? ", whole numbers" : "";
  const std::vector<double> ends = bin_ends(c);
  if (ends.size() < 3) return out + ", one bin";
  out += ", in bins that meet at ";
  for (std::size_t k = 1; k + 1 < ends.size() && k <= most_levels; ++k)
    out += (k == 1 ? "" : " · ") + exact(ends[k]);
  if (ends.size() - 2 > most_levels)
    out += fmt::format(" · and {} more (all in the file)", ends.size() - 2 - most_levels);
  return out;
}

}  // namespace

void dictionary_table(Html& page, const Schema& schema, bool has_bins, const Markup& caption) {
  page.put(
      "<table><caption>{}</caption><thead><tr><th scope=\"col\">column</th><th scope=\"col\">range "
      "or levels</th><th scope=\"col\">what becomes of other cells</th></tr></thead><tbody>\n",
      caption);
  std::size_t lines = 0;
  const auto& columns = schema.columns;
  for (std::size_t i = 0; i < columns.size();) {
    std::size_t end = i + 1;
    while (end < columns.size() && alike(columns[end], columns[i])) ++end;
    if (end - i < 4) end = i + 1;
    if (++lines > most_columns) {
      page.put("<tr><td colspan=\"3\">and {} more columns (all in the file)</td></tr>\n",
               columns.size() - i);
      break;
    }
    const Column& c = columns[i];
    const std::string name = end - i == 1 ? c.name
                                          : fmt::format("{} to {} ({} columns, all alike)", c.name,
                                                        columns[end - 1].name, end - i);
    if (c.type == ColumnType::ignore) {
      page.put("<tr><th scope=\"row\">{}</th><td>not used</td><td></td></tr>\n", name);
    } else if (c.type == ColumnType::person) {
      page.put(
          "<tr><th scope=\"row\">{}</th><td>whose a row is: all rows of one count together</td><td>"
          "{}</td></tr>\n",
          name,
          schema.invalid == Invalid::refuse ? "a row of nobody is refused"
                                            : "a row of nobody counts 0");
    } else {
      const std::string what =
          c.type == ColumnType::category   ? levels_words(c)
          : c.type == ColumnType::exposure ? "exposure, over which is counted: " + range_words(c)
          : c.type == ColumnType::weight
              ? "weight: a row counts by it over the largest, " + range_words(c)
              : range_words(c) + (has_bins ? bins_words(c) : "") + knots_words(c);
      page.put("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}; {}</td></tr>\n", name, what,
               missing_words(schema, c), unlisted_words(schema, c));
    }
    i = end;
  }
  for (const Interaction& interaction : schema.interactions) {
    page.put("<tr><th scope=\"row\">{}</th><td>{}</td><td></td></tr>\n", interaction.name(),
             interaction_words(schema, interaction));
  }
  page.put("</tbody></table>\n");
}

}  // namespace gibbsite
