// Which columns of a stream are read, as what, and which of them as one.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/format_message.hpp"
#include "data/arrow_reader.hpp"
#include "data/columns.hpp"
#include "machine/processors.hpp"

namespace gibbsite::arrow_rows {

void ArrowReader::match(const ArrowSchema& schema) {
  const std::vector<std::string> names = names_in(schema);
  require_distinct(names, source_, "the table");
  const bool has_labels = !labels_.empty();
  const std::vector<ColumnTarget> targets =
      match_columns(names, schema_, options_, "the table", has_labels, rows_);
  for (std::size_t j = 0; j < names.size(); ++j) {
    if (targets[j].encoding == nullptr && !targets[j].is_label) continue;
    const ArrowSchema& column = *schema.children[j];
    Field field{static_cast<std::int64_t>(j), names[j], targets[j], {}, {}};
    of_column(names[j], [&] { set_types(column, field); });
    const ArrowType& values = field.values();
    if (values.kind == ArrowType::Kind::refused)
      rows_.fail(fmt::format("column {}: {}", gibbsite::quoted(names[j]), values.refusal));
    require_dates_where_expected(field, values);
    row_bytes_ += static_cast<std::uint64_t>(std::max(field.type.bytes, 1));
    if (field.target.is_label) {
      if (values.kind == ArrowType::Kind::boolean) {
        if (number_of(schema_.label) != nullptr) no_number(names[j]);
        require_word(names[j]);
      } else if (values.is_number()) {
        rows_.compare_labels_as_numbers();
      }
      fields_.push_back(std::move(field));
      continue;
    }
    // Once for each column of the schema that reads it.
    for (const Encoding* e = field.target.encoding; e != nullptr; e = e->next_of_cell) {
      used_.push_back(*e);
      field.target.encoding = e;
      fields_.push_back(field);
    }
  }
  if (has_labels) rows_.expect(labels_.size());
  cells_.emplace(rows_, schema_, fields_.size());
  find_groups();
  const std::size_t threads =
      options_.threads > 0 ? options_.threads : static_cast<std::size_t>(usable_processors());
  pool_.emplace(std::clamp<std::size_t>(threads, 1, ThreadPool::most_members));
  workers_.resize(pool_->members());
  // Whole vectors of rows.
  constexpr std::size_t lanes = NumberRows::most_lanes;
  const std::size_t fit = piece_bytes / std::max<std::size_t>(row_bytes_, 1);
  piece_rows_ = std::clamp<std::size_t>(fit / lanes, 1, 64) * lanes;
}

// Days are of columns of dates alone: a number elsewhere would count them from a day nobody chose,
// and numbers in a column of dates may be anything, such as 20241231.
void ArrowReader::require_dates_where_expected(const Field& field, const ArrowType& values) const {
  const bool wants = !field.target.is_label && field.target.encoding->is_date();
  const bool is_number = values.is_number() || values.kind == ArrowType::Kind::boolean;
  if (wants && is_number)
    rows_.fail(fmt::format(
        "column {}: numbers, and the schema says type = \"date\"; give it as dates, timestamps or "
        "text",
        gibbsite::quoted(field.name)));
  const bool is_id = !field.target.is_label && field.target.encoding->is_person();
  if (wants || is_id || !values.is_date()) return;
  rows_.fail(fmt::format("column {}: a timestamp or a date; {}", gibbsite::quoted(field.name),
                         field.target.is_label
                             ? "give a label as text or as numbers (say days since a public date)"
                             : "set type = \"date\", or type = \"ignore\""));
}

void ArrowReader::find_groups() {
  std::vector<std::size_t> numbers;
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    const Field& field = fields_[f];
    if (field.target.is_label)
      label_ = f;
    else if (schema_.interactions.empty() && field.target.encoding->is_plain_number() &&
             field.type.is_number() && !field.listed &&
             field.target.encoding->missing_numbers.size() <= 1)
      numbers.push_back(f);
    else
      others_.push_back(f);
  }
  const auto encoding = [this](std::size_t f) -> const Encoding& {
    return *fields_[f].target.encoding;
  };
  std::ranges::sort(numbers, {}, [&](std::size_t f) { return encoding(f).first; });
  for (const std::size_t f : numbers) {
    const Encoding& e = encoding(f);
    if (groups_.empty() || groups_.back().columns.count == NumberRows::Columns::most ||
        groups_.back().feature + groups_.back().columns.count != e.first) {
      groups_.emplace_back().feature = e.first;
    }
    NumberGroup& group = groups_.back();
    const std::size_t c = group.columns.count++;
    const double missing = e.missing_numbers.empty() ? std::numeric_limits<double>::quiet_NaN()
                                                     : e.missing_numbers.front();
    const std::array<double, 4> of = {e.lo, e.hi, e.hi - e.lo, missing};
    std::ranges::copy(of, group.columns.of[c]);
    if (c == 0)  // in place of columns that there are not
      for (auto& other : group.columns.of) std::ranges::copy(of, other);
    group.columns.any_missing = group.columns.any_missing || !std::isnan(missing);
    group.fields[c] = f;
    group.slots[c] = e.slot;
    group.harmless[c] = missing == e.lo ? e.hi : e.lo;
  }
}

void ArrowReader::no_number(const std::string& name) const {
  rows_.fail(format_message(
      "label column {} is of type bool and the schema's label is {}; give a column of numbers, "
      "or name the class in {} in place of {}",
      gibbsite::quoted(name), to_string(kind_of(schema_.label)), Word{"positive"}, Word{"range"}));
}

void ArrowReader::require_word(const std::string& name) const {
  if (is<Classes>(schema_.label)) {
    const auto listed = [&](std::string_view word) { return is_class(schema_, word); };
    if (std::ranges::any_of(boolean_spellings(true), listed) &&
        std::ranges::any_of(boolean_spellings(false), listed))
      return;
    rows_.fail(format_message(
        "label column {} is of type bool and {} does not list \"true\" and \"false\"; list both, "
        "or give the column as text",
        gibbsite::quoted(name), Word{"classes"}));
  }
  const std::string& positive = std::get<TwoClasses>(schema_.label).positive;
  for (const bool value : {true, false})
    if (std::ranges::find(boolean_spellings(value), positive) != boolean_spellings(value).end())
      return;
  rows_.fail(format_message(
      "label column {} is of type bool and {} is {}; set it to \"true\" or \"false\", or give "
      "the column as text",
      gibbsite::quoted(name), Word{"positive"}, gibbsite::quoted(positive)));
}

void set_types(const ArrowSchema& column, Field& field) {
  field.type = arrow_type(column);
  if (column.dictionary == nullptr || field.type.kind == ArrowType::Kind::refused) return;
  if (field.type.kind < ArrowType::Kind::int8 || field.type.kind > ArrowType::Kind::uint64)
    throw MalformedArrow{"indices of a dictionary that are no integers"};
  field.listed = arrow_type(*column.dictionary);
  if (column.dictionary->dictionary != nullptr || field.listed->kind == ArrowType::Kind::mixed)
    field.listed = refused_type("a dictionary of dictionaries or of a union", "it decoded");
}

}  // namespace gibbsite::arrow_rows
