#include "reading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "gibbsite/core/human_count.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/effective_rows.hpp"
#include "gibbsite/data/reading_warnings.hpp"
#include "gibbsite/data/reshape.hpp"
#include "ranks.hpp"
#include "text.hpp"

namespace gibbsite::cli {
namespace {

template <class T>
std::vector<T> gathered(const std::vector<T>& mine, Readers readers) {
  return readers == Readers::this_process ? mine : ranks().gather(std::span<const T>(mine));
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

std::size_t warn_of(const std::vector<Message>& lines) {
  for (const Message& line : lines)
    if (is_first_rank()) warn("private: " + line);
  return lines.size();
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
  const std::string changes = changed_lines({.schema = data.schema, .counts = counts});
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
  const bool labeled = any_labeled(data, readers);
  const bool of_classes = labeled && number_of(data.schema.label) == nullptr;
  return warn_of(reading_warnings(
      {.schema = data.schema,
       .counts = counts,
       .rows = rows,
       .labeled = labeled,
       .classes = of_classes ? classes_there(data, readers) : std::vector<bool>{}}));
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
  return ranks().size() > 1 ? 0 : warn_of(alike_warnings(data));
}

std::size_t warn_of_network_reading(const Dataset& data) {
  return warn_of(network_reading_warnings(data));
}

std::string checked_words(std::size_t warnings) {
  return fmt::format(
      "\nChecked: nothing was released or spent, and no model was written.\n{}\n",
      warnings == 0 ? "The table reads as the schema says; leave out --check to fit."
                    : "Look at the warnings first: what is spent on a table that reads otherwise "
                      "than it should does not come back.");
}

}  // namespace gibbsite::cli
