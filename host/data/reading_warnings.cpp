#include "gibbsite/data/reading_warnings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "core/format_message.hpp"
#include "gibbsite/core/human_count.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/alike_columns.hpp"
#include "gibbsite/data/reshape.hpp"

namespace gibbsite {
namespace {

// "range [17, 90]"
std::string range_text(double lo, double hi) {
  return fmt::format("range [{:.6g}, {:.6g}]", lo, hi);
}

std::string range_text(const Column& column) {
  return column.is_date()
             ? fmt::format("range [{}, {}]", column.text_of(column.lo), column.text_of(column.hi))
             : range_text(column.lo, column.hi);
}

// What a missing cell of a column counts as.
std::string missing_cells(const Schema& schema, const Column& column) {
  return reads_missing_as_middle(schema, column)
             ? fmt::format("missing, counted as {}, the middle of the range",
                           column.text_of(column.lo / 2 + column.hi / 2))
             : "missing";
}

std::string count_line(const CellCounts& c, const Schema& schema, const Column& column) {
  std::string out;
  const auto add = [&out](std::uint64_t count, const std::string& what) {
    if (count == 0) return;
    out +=
        fmt::format("{}{} {} {}", out.empty() ? "" : "; ", human_count(static_cast<double>(count)),
                    count == 1 ? "cell" : "cells", what);
  };
  add(c.clamped, "outside the " + range_text(column) + ", counted as its nearer end");
  add(c.missing, missing_cells(schema, column));
  add(c.other, "of a level that is not listed, counted as (other)");
  add(c.invalid, "unreadable");
  return out;
}

// A slip in the schema's classes goes unpunished: the table is fitted all the same.
void warn_of_missing_class(const TableRead& of, std::vector<Message>& out) {
  const Label& label = of.schema.label;
  if (number_of(label) != nullptr) return;
  const std::vector<bool>& there = of.classes;
  if (const Classes* const several = std::get_if<Classes>(&label)) {
    const std::vector<std::string>& classes = several->names;
    const auto absent = std::ranges::find(there, false);
    if (absent == there.end()) return;
    out.emplace_back(format_message(
        "no label is of the class '{}' ({} of {} have none); is {} what the schema should say?",
        shown(classes[static_cast<std::size_t>(absent - there.begin())]),
        std::ranges::count(there, false), classes.size(), Word{"classes"}));
    return;
  }
  const bool positive = there[1];
  if (there[0] && positive) return;
  out.emplace_back(format_message(
      "{} label is of the positive class '{}'; is {} what the schema should say?",
      positive ? "every" : "no", shown(std::get<TwoClasses>(label).positive), Word{"positive"}));
}

// "600 of 600"
std::string of_rows(std::uint64_t count, std::uint64_t rows) {
  return fmt::format("{} of {}", count, rows);
}

// More than half of it: a unit, a spelling or a word for missing that the schema does not have.
void warn_of_columns(const TableRead& of, std::vector<Message>& out) {
  constexpr std::size_t most = 10;
  std::size_t warnings = 0;
  for (std::size_t j = 0; j < of.counts.columns.size(); ++j) {
    const Column& column = of.schema.columns[j];
    const CellCounts& c = of.counts.columns[j];
    const auto mostly = [&](std::uint64_t count) { return 2 * count > of.rows; };
    Message what;
    if (column.type == ColumnType::weight && c.clamped > 0) {
      // A few large ones may be most of a sum.
      what = fmt::format(
          "{} weights are beyond the {} and count as its ends, so sums of weights are off; "
          "does the range hold every weight that there can be?",
          of_rows(c.clamped, of.rows), range_text(column));
    } else if (mostly(c.clamped)) {
      what =
          fmt::format("{} cells are beyond the {} and count as its ends; are they in another unit?",
                      of_rows(c.clamped, of.rows), range_text(column));
    } else if (mostly(c.other)) {
      what = fmt::format(
          "{} cells are none of the levels and count as (other); does the table "
          "spell them otherwise?",
          of_rows(c.other, of.rows));
    } else if (mostly(c.invalid)) {
      what = fmt::format("{} cells cannot be read as the schema says; is it another column?",
                         of_rows(c.invalid, of.rows));
    } else if (mostly(c.missing)) {
      what = format_message("{} cells are missing; is {} how the table writes that?",
                            of_rows(c.missing, of.rows), Word{"missing"});
    } else if (mostly(c.sum())) {
      what = fmt::format("{} cells do not count as they are written: {}", of_rows(c.sum(), of.rows),
                         count_line(c, of.schema, column));
    }
    if (what.empty()) continue;
    if (++warnings <= most)
      out.emplace_back(format_message("column {}: {}", gibbsite::quoted(column.name), what));
  }
  if (warnings > most)
    out.emplace_back(fmt::format("and {} more columns like these", warnings - most));
}

// No label of neither class is right, so the first one is said.
void warn_of_labels(const TableRead& of, std::vector<Message>& out) {
  const Schema& schema = of.schema;
  const IngestCounts& counts = of.counts;
  if (!of.labeled) return;
  if (counts.unlisted_labels > 0) {
    // What such labels count as is the first of both, and of several.
    const std::vector<std::string> names = class_names(schema.label);
    const std::string first = gibbsite::quoted(names.front());
    out.push_back(is<TwoClasses>(schema.label)
                      ? format_message(
                            "{} labels are neither {} nor {} and count as {}; does the table spell "
                            "them otherwise?",
                            of_rows(counts.unlisted_labels, of.rows),
                            gibbsite::quoted(names.back()), first, first)
                      : format_message("{} labels are none of {} and count as the first one, {}",
                                       of_rows(counts.unlisted_labels, of.rows), Word{"classes"},
                                       first));
  }
  const NumberLabel* const range = number_of(schema.label);
  if (counts.invalid_labels > 0) {
    out.emplace_back(format_message(
        "{} labels are missing or unreadable and count as {}: effects and predictions take them for "
        "that; if rows without one should not count, leave them out of the table",
        of_rows(counts.invalid_labels, of.rows),
        range != nullptr ? std::string("the middle of the range")
                         : gibbsite::quoted(class_names(schema.label).front())));
  }
  if (range != nullptr && 2 * counts.clamped_labels > of.rows) {
    out.emplace_back(
        fmt::format("{} labels are beyond the range [{:.6g}, {:.6g}] and count as its ends; are "
                    "they in another unit?",
                    of_rows(counts.clamped_labels, of.rows), range->lo, range->hi));
  }
  warn_of_missing_class(of, out);
}

// A line for each of the columns that changed most.
std::string changed_cells(const TableRead& of) {
  const IngestCounts& counts = of.counts;
  constexpr std::size_t most = 10;
  std::vector<std::size_t> changed;
  for (std::size_t j = 0; j < counts.columns.size(); ++j)
    if (counts.columns[j].sum() > 0) changed.push_back(j);
  std::ranges::stable_sort(changed, std::greater{},
                           [&](std::size_t j) { return counts.columns[j].sum(); });
  std::string out;
  for (std::size_t i = 0; i < std::min(most, changed.size()); ++i) {
    const Column& column = of.schema.columns[changed[i]];
    out += fmt::format("private:   column {}: {}\n", gibbsite::quoted(column.name),
                       count_line(counts.columns[changed[i]], of.schema, column));
  }
  if (changed.size() > most)
    out += fmt::format("private:   and {} columns with fewer\n", changed.size() - most);
  return out;
}

// Lines on the label and on long rows.
std::string changed_labels(const TableRead& of) {
  const IngestCounts& counts = of.counts;
  const Label& label = of.schema.label;
  std::string what;
  const auto add = [&what](std::uint64_t count, const std::string& why) {
    if (count > 0) what += fmt::format("{}{} {}", what.empty() ? "" : "; ", count, why);
  };
  add(counts.invalid_labels, "unreadable");
  add(counts.unlisted_labels,
      is<TwoClasses>(label) ? "of neither class" : "of a class that is not listed");
  if (const NumberLabel* const range = number_of(label))
    add(counts.clamped_labels,
        "outside the " + range_text(range->lo, range->hi) + ", counted as its nearer end");
  std::string out;
  if (!what.empty()) out += fmt::format("private:   labels: {}\n", what);
  if (counts.clipped_rows > 0)
    out += fmt::format("private:   rows longer than row_norm = {:.4g}, scaled down to it: {}\n",
                       of.schema.row_norm, counts.clipped_rows);
  return out;
}

}  // namespace

bool reads_missing_as_middle(const Schema& schema, const Column& column) {
  return column.type == ColumnType::number && !column.has_missing_bin &&
         !schema.has_missing_level(column);
}

TableRead table_read(const Dataset& data) {
  const bool of_classes = data.labeled() && number_of(data.schema.label) == nullptr;
  return {.schema = data.schema,
          .counts = data.counts,
          .rows = data.rows(),
          .labeled = data.labeled(),
          .classes = of_classes ? classes_present(data) : std::vector<bool>{}};
}

std::vector<Message> reading_warnings(const TableRead& of) {
  std::vector<Message> out;
  if (of.rows == 0) return out;
  warn_of_columns(of, out);
  warn_of_labels(of, out);
  return out;
}

std::string unreadable_words(const Dataset& data) {
  if (data.unreadable.empty()) return "";
  std::vector<std::size_t> of_column(data.schema.columns.size());
  std::size_t rows = 0;
  for (std::size_t k = 0; k < data.unreadable.size(); ++k) {
    ++of_column[data.unreadable[k].column];
    rows += k == 0 || data.unreadable[k].row != data.unreadable[k - 1].row ? 1U : 0U;
  }
  std::string columns;
  constexpr std::size_t most = 5;
  std::size_t named = 0;
  for (std::size_t j = 0; j < of_column.size(); ++j) {
    if (of_column[j] == 0 || ++named > most) continue;
    columns += fmt::format("{}{} in {}", named == 1 ? "" : ", ", of_column[j],
                           gibbsite::quoted(data.schema.columns[j].name));
  }
  return fmt::format(
      "{} of {} rows have a cell that the model cannot read, a level that is not listed, no number "
      "or empty ({}{})",
      rows, data.rows(), columns, named > most ? ", ..." : "");
}

std::string changed_lines(const TableRead& of) { return changed_cells(of) + changed_labels(of); }

std::vector<Message> alike_warnings(const Dataset& data) {
  std::vector<Message> out;
  constexpr std::size_t most = 10;
  const std::vector<AlikeColumns> alike = alike_columns(data);
  for (std::size_t k = 0; k < std::min(most, alike.size()); ++k) {
    const std::string first = gibbsite::quoted(data.schema.columns[alike[k].first].name),
                      second = gibbsite::quoted(data.schema.columns[alike[k].second].name);
    switch (alike[k].kind) {
      case AlikeColumns::Kind::constant:
        out.emplace_back(
            fmt::format("column {} is the same in every row and tells nothing; leave it out if "
                        "that is known without the table",
                        first));
        break;
      case AlikeColumns::Kind::turned:
        out.emplace_back(
            fmt::format("column {} is {} turned around in every row, so their effects cannot be "
                        "told apart; leave one out if that is known without the table",
                        second, first));
        break;
      case AlikeColumns::Kind::equal:
        out.emplace_back(
            fmt::format("columns {} and {} say the same in every row, so their effects cannot be "
                        "told apart; leave one out if that is known without the table",
                        first, second));
    }
  }
  if (alike.size() > most)
    out.emplace_back(fmt::format("and {} more columns like these", alike.size() - most));
  return out;
}

// Without missing_level a network has no level for a number that is missing: the middle bin would
// be made of them.
std::vector<Message> network_reading_warnings(const Dataset& data) {
  const IngestCounts& counts = data.counts;
  std::vector<Message> out;
  for (std::size_t j = 0; j < counts.columns.size(); ++j) {
    const Column& column = data.schema.columns[j];
    const std::uint64_t none = counts.columns[j].missing + counts.columns[j].invalid;
    if (column.type != ColumnType::number || column.has_missing_bin || none == 0) continue;
    out.emplace_back(fmt::format(
        "column {}: {} cells are missing or unreadable, and a network counts them in the bin that "
        "holds the middle of the range, {:.6g}; give it {}missing_level = true, for a level of "
        "their own",
        gibbsite::quoted(column.name), of_rows(none, data.rows()), (column.lo + column.hi) / 2,
        data.schema.missing_in(column) == nullptr ? "missing = \"\" and " : ""));
  }
  return out;
}

}  // namespace gibbsite
