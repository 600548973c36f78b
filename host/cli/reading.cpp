#include "reading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "gibbsite/core/human_count.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/alike_columns.hpp"
#include "gibbsite/data/effective_rows.hpp"
#include "gibbsite/data/reshape.hpp"
#include "gibbsite/release/effects.hpp"
#include "ranks.hpp"

namespace gibbsite::cli {
namespace {

template <class T>
std::vector<T> gathered(const std::vector<T>& mine, Readers readers) {
  return readers == Readers::this_process ? mine : ranks().gather(std::span<const T>(mine));
}

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

// Whether a rank has labels: one without rows has none, and asks the others all the same.
bool any_labeled(const Dataset& data, Readers readers) {
  const std::vector<std::uint64_t> mine{data.labeled() ? 1U : 0U};
  const std::vector<std::uint64_t> all = gathered<std::uint64_t>(mine, readers);
  return std::ranges::any_of(all, [](std::uint64_t labeled) { return labeled > 0; });
}

// Which of the classes, of two [-1, +1], a label of any rank is of.
std::vector<bool> classes_there(const Dataset& data, Readers readers) {
  const std::vector<bool> present = classes_present(data);
  const std::vector<std::uint64_t> mine(present.begin(), present.end());
  const std::vector<std::uint64_t> all = gathered<std::uint64_t>(mine, readers);
  std::vector<bool> there(mine.size());
  for (std::size_t k = 0; k < all.size(); ++k)
    if (all[k] != 0) there[k % mine.size()] = true;
  return there;
}

void warn(const std::string& what) {
  if (is_first_rank()) fmt::print(stderr, "gibbsite: warning: private: {}\n", what);
}

// A slip in the schema's classes goes unpunished: the table is fitted all the same.
std::size_t warn_of_missing_class(const Dataset& data, Readers readers) {
  const Label& label = data.schema.label;
  if (number_of(label) != nullptr) return 0;
  const std::vector<bool> there = classes_there(data, readers);
  if (const Classes* const several = std::get_if<Classes>(&label)) {
    const std::vector<std::string>& classes = several->names;
    const auto absent = std::ranges::find(there, false);
    if (absent == there.end()) return 0;
    warn(fmt::format(
        "no label is of the class '{}' ({} of {} have none); is `classes` what the schema should "
        "say?",
        shown(classes[static_cast<std::size_t>(absent - there.begin())]),
        std::ranges::count(there, false), classes.size()));
    return 1;
  }
  const bool positive = there[1];
  if (there[0] && positive) return 0;
  warn(fmt::format(
      "{} label is of the positive class '{}'; is `positive` what the schema should say?",
      positive ? "every" : "no", shown(std::get<TwoClasses>(label).positive)));
  return 1;
}

// "600 of 600"
std::string of_rows(std::uint64_t count, std::uint64_t rows) {
  return fmt::format("{} of {}", count, rows);
}

// More than half of it: a unit, a spelling or a word for missing that the schema does not have.
std::size_t warn_of_columns(const Dataset& data, const IngestCounts& counts, std::uint64_t rows) {
  constexpr std::size_t most = 10;
  std::size_t warnings = 0;
  for (std::size_t j = 0; j < counts.columns.size(); ++j) {
    const Column& column = data.schema.columns[j];
    const CellCounts& c = counts.columns[j];
    const auto mostly = [&](std::uint64_t count) { return 2 * count > rows; };
    std::string what;
    if (column.type == ColumnType::weight && c.clamped > 0) {
      // A few large ones may be most of a sum.
      what = fmt::format(
          "{} weights are beyond the {} and count as its ends, so sums of weights are off; "
          "does the range hold every weight that there can be?",
          of_rows(c.clamped, rows), range_text(column));
    } else if (mostly(c.clamped)) {
      what =
          fmt::format("{} cells are beyond the {} and count as its ends; are they in another unit?",
                      of_rows(c.clamped, rows), range_text(column));
    } else if (mostly(c.other)) {
      what = fmt::format(
          "{} cells are none of the levels and count as (other); does the table "
          "spell them otherwise?",
          of_rows(c.other, rows));
    } else if (mostly(c.invalid)) {
      what = fmt::format("{} cells cannot be read as the schema says; is it another column?",
                         of_rows(c.invalid, rows));
    } else if (mostly(c.missing)) {
      what = fmt::format("{} cells are missing; is `missing` how the table writes that?",
                         of_rows(c.missing, rows));
    } else if (mostly(c.sum())) {
      what = fmt::format("{} cells do not count as they are written: {}", of_rows(c.sum(), rows),
                         count_line(c, data.schema, column));
    }
    if (what.empty()) continue;
    if (++warnings <= most) warn(fmt::format("column {}: {}", gibbsite::quoted(column.name), what));
  }
  if (warnings > most) warn(fmt::format("and {} more columns like these", warnings - most));
  return warnings;
}

// Without missing_level a network has no level for a number that is missing: the middle bin would
// be made of them.
std::size_t warn_of_middle_bins(const Dataset& data, const IngestCounts& counts,
                                std::uint64_t rows) {
  std::size_t warnings = 0;
  for (std::size_t j = 0; j < counts.columns.size(); ++j) {
    const Column& column = data.schema.columns[j];
    const std::uint64_t none = counts.columns[j].missing + counts.columns[j].invalid;
    if (column.type != ColumnType::number || column.has_missing_bin || none == 0) continue;
    ++warnings;
    warn(fmt::format(
        "column {}: {} cells are missing or unreadable, and a network counts them in the bin that "
        "holds the middle of the range, {:.6g}; give it {}missing_level = true, for a level of "
        "their own",
        gibbsite::quoted(column.name), of_rows(none, rows), (column.lo + column.hi) / 2,
        data.schema.missing_in(column) == nullptr ? "missing = \"\" and " : ""));
  }
  return warnings;
}

// No label of neither class is right, so the first one is said.
std::size_t warn_of_labels(const Dataset& data, const IngestCounts& counts, std::uint64_t rows,
                           Readers readers) {
  const Schema& schema = data.schema;
  if (!any_labeled(data, readers)) return 0;
  std::size_t warnings = 0;
  if (counts.unlisted_labels > 0) {
    ++warnings;
    // What such labels count as is the first of both, and of several.
    const std::vector<std::string> names = class_names(schema.label);
    const std::string first = gibbsite::quoted(names.front());
    warn(is<TwoClasses>(schema.label)
             ? fmt::format("{} labels are neither {} nor {} and count as {}; does the table spell "
                           "them otherwise?",
                           of_rows(counts.unlisted_labels, rows), gibbsite::quoted(names.back()),
                           first, first)
             : fmt::format("{} labels are none of `classes` and count as the first one, {}",
                           of_rows(counts.unlisted_labels, rows), first));
  }
  const NumberLabel* const range = number_of(schema.label);
  if (range != nullptr && 2 * counts.clamped_labels > rows) {
    ++warnings;
    warn(
        fmt::format("{} labels are beyond the range [{:.6g}, {:.6g}] and count as its ends; are "
                    "they in another unit?",
                    of_rows(counts.clamped_labels, rows), range->lo, range->hi));
  }
  return warnings + warn_of_missing_class(data, readers);
}

}  // namespace

IngestCounts counts_of(const Dataset& data, Readers readers) {
  if (readers == Readers::this_process || ranks().size() == 1) return data.counts;
  IngestCounts out = data.counts;
  const std::vector<std::uint64_t*> numbers = out.numbers();
  std::vector<std::uint64_t> mine;
  for (const std::uint64_t* const n : numbers) mine.push_back(*n);
  const std::vector<std::uint64_t> all = ranks().gather(std::span<const std::uint64_t>(mine));
  for (std::uint64_t* const n : numbers) *n = 0;
  for (std::size_t k = 0; k < all.size(); ++k) *numbers[k % numbers.size()] += all[k];
  return out;
}

namespace {

// A line for each of the columns that changed most.
std::string changed_cells(const Schema& schema, const IngestCounts& counts) {
  constexpr std::size_t most = 10;
  std::vector<std::size_t> changed;
  for (std::size_t j = 0; j < counts.columns.size(); ++j)
    if (counts.columns[j].sum() > 0) changed.push_back(j);
  std::ranges::stable_sort(changed, std::greater{},
                           [&](std::size_t j) { return counts.columns[j].sum(); });
  std::string out;
  for (std::size_t i = 0; i < std::min(most, changed.size()); ++i) {
    const Column& column = schema.columns[changed[i]];
    out += fmt::format("private:   column {}: {}\n", gibbsite::quoted(column.name),
                       count_line(counts.columns[changed[i]], schema, column));
  }
  if (changed.size() > most)
    out += fmt::format("private:   and {} columns with fewer\n", changed.size() - most);
  return out;
}

// Lines on the label and on long rows.
std::string changed_labels(const Dataset& data, const IngestCounts& counts) {
  const Label& label = data.schema.label;
  std::string what;
  const auto add = [&what](std::uint64_t count, const std::string& of) {
    if (count > 0) what += fmt::format("{}{} {}", what.empty() ? "" : "; ", count, of);
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
                       data.schema.row_norm, counts.clipped_rows);
  return out;
}

}  // namespace

std::string ingest_report(const Dataset& data, const IngestCounts& counts, bool verbose,
                          Readers readers) {
  // How rows lie, of the first rank that has some.
  std::vector<double> layout{data.rows() > 0 ? data.bytes_per_row() : 0, data.on_disk() ? 1.0 : 0.0,
                             data.view().is_sparse() ? 1.0 : 0.0};
  const std::vector<double> all = gathered<double>(layout, readers);
  for (std::size_t at = 0; at < all.size(); at += layout.size()) {
    if (all[at] == 0) continue;
    std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(at), layout.size(), layout.begin());
    break;
  }
  const std::string how_rows_lie =
      fmt::format("private:   {:.0f} bytes a row {} ({})\n", layout[0],
                  layout[1] != 0 ? "on disk" : "in memory",
                  layout[2] != 0 ? "entries that are not zero" : "dense");
  const std::string changes = changed_cells(data.schema, counts) + changed_labels(data, counts);
  return fmt::format("private, for the curator only, do not publish: {}\n{}{}",
                     changes.empty() ? "every cell and label counts as it is written"
                                     : "what does not count as it is written:",
                     changes, verbose ? how_rows_lie : "");
}

std::string label_counts(const Dataset& data, Readers readers) {
  const Label& label = data.schema.label;
  if (number_of(label) != nullptr || !any_labeled(data, readers)) return "";
  const std::vector<std::string> names = class_names(label);
  const bool two = is<TwoClasses>(label);
  std::vector<std::uint64_t> mine(names.size());
  for (const float y : data.y) ++mine[two ? (y > 0 ? 1U : 0U) : static_cast<std::size_t>(y)];
  const std::vector<std::uint64_t> all = gathered<std::uint64_t>(mine, readers);
  constexpr std::size_t most = 10;
  std::string out;
  for (std::size_t k = 0; k < std::min(most, names.size()); ++k) {
    std::uint64_t rows = 0;
    for (std::size_t at = k; at < all.size(); at += names.size()) rows += all[at];
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", rows, shown(names[k]));
  }
  if (names.size() > most) out += fmt::format(", and {} more classes", names.size() - most);
  return fmt::format("private:   rows of each class: {}\n", out);
}

std::string effective_rows(const Dataset& data, Readers readers) {
  const bool alike =
      data.schema.weight() == nullptr && scaled_class_weights(data.schema.label).empty();
  if (alike && data.schema.person() == nullptr) return "";
  const EffectiveRows sums =
      readers == Readers::this_process ? effective_rows_of(data) : effective_rows_of(data, ranks());
  const bool people = data.schema.person() != nullptr, one = sums.units == 1;
  const std::string row = human_count(sums.sum) == "1" ? "row" : "rows";
  return fmt::format(
      "private:   {0} {1} count{2} as {3} {4}; effective sample size {5} (Kish):\nprivate:   so "
      "many {6} {7} tell as much about a mean\n",
      human_count(sums.units), people ? (one ? "person" : "people") : (one ? "row" : "rows"),
      one ? "s" : "", human_count(sums.sum),
      alike    ? row
      : people ? row + " of the largest weight"
               : "of the largest weight",
      human_count(std::round(sums.effective())), people ? "people" : "rows",
      people ? "that count the same" : "of one weight");
}

bool any_changed(const IngestCounts& counts) {
  IngestCounts all = counts;
  return std::ranges::any_of(all.numbers(), [](const std::uint64_t* n) { return *n > 0; });
}

std::size_t warn_of_reading(const Dataset& data, const IngestCounts& counts, std::uint64_t rows,
                            Readers readers) {
  if (rows == 0) return 0;
  const std::size_t columns = warn_of_columns(data, counts, rows);
  return columns + warn_of_labels(data, counts, rows, readers);
}

namespace {

void tell(const Dataset& data, std::uint64_t rows, Readers readers) {
  const IngestCounts counts = counts_of(data, readers);
  static_cast<void>(warn_of_reading(data, counts, rows, readers));
  const bool changed = counts.clamped_cells + counts.other_cells + counts.invalid_cells +
                           counts.invalid_labels + counts.unlisted_labels + counts.clamped_labels >
                       0;
  const std::string report = ingest_report(data, counts, false, readers);
  if (changed && is_first_rank()) fmt::print(stderr, "{}", report);
}

}  // namespace

void tell_reading(const Dataset& data) { tell(data, data.rows(), Readers::this_process); }

void tell_reading_of_ranks(const Dataset& data, std::uint64_t rows) {
  tell(data, rows, Readers::all_ranks);
}

std::size_t warn_of_alike_columns(const Dataset& data) {
  if (ranks().size() > 1) return 0;
  constexpr std::size_t most = 10;
  const std::vector<AlikeColumns> alike = alike_columns(data);
  for (std::size_t k = 0; k < std::min(most, alike.size()); ++k) {
    const std::string first = gibbsite::quoted(data.schema.columns[alike[k].first].name),
                      second = gibbsite::quoted(data.schema.columns[alike[k].second].name);
    switch (alike[k].kind) {
      case AlikeColumns::Kind::constant:
        warn(
            fmt::format("column {} is the same in every row and tells nothing; leave it out if "
                        "that is known without the table",
                        first));
        break;
      case AlikeColumns::Kind::turned:
        warn(
            fmt::format("column {} is {} turned around in every row, so their effects cannot be "
                        "told apart; leave one out if that is known without the table",
                        second, first));
        break;
      case AlikeColumns::Kind::equal:
        warn(
            fmt::format("columns {} and {} say the same in every row, so their effects cannot be "
                        "told apart; leave one out if that is known without the table",
                        first, second));
    }
  }
  if (alike.size() > most) warn(fmt::format("and {} more columns like these", alike.size() - most));
  return alike.size();
}

std::size_t warn_of_network_reading(const Dataset& data) {
  return warn_of_middle_bins(data, data.counts, data.rows());
}

std::string checked_words(std::size_t warnings) {
  return fmt::format(
      "\nChecked: nothing was released or spent, and no model was written.\n{}\n",
      warnings == 0 ? "The table reads as the schema says; leave out --check to fit."
                    : "Look at the warnings first: what is spent on a table that reads otherwise "
                      "than it should does not come back.");
}

}  // namespace gibbsite::cli
