#include "data/encoder.hpp"

#include <fmt/format.h>

#include "gibbsite/core/error.hpp"

namespace gibbsite {

namespace {
/// Numbers in their shortest form, other text as it is.
std::string canonical(std::string_view text) {
  double value = 0;
  return parse_number(text, value) ? number_text(value) : std::string(text);
}
}  // namespace

RowEncoder::RowEncoder(const Schema& schema, const ReadOptions& options, const Input& input,
                       std::function<std::string()> where)
    : features_(schema.features()),
      may_clip_(schema.max_unclipped_norm() > schema.row_norm),
      labels_(options.labels),
      positive_(schema.positive),
      negative_(schema.negative),
      path_(input.path()),
      where_(std::move(where)) {
  schema.validate("schema");
  data_.schema = schema;
  std::size_t next = 0;
  for (const Column& column : schema.columns) {
    Encoding e;
    e.name = column.name;
    e.type = column.type;
    e.lo = column.lo;
    e.hi = column.hi;
    e.first = next;
    e.slot = values_.size();
    if (column.type != ColumnType::ignore) {
      values_.push_back(0.0F);
      positions_.push_back(e.first);
    }
    for (const std::string& level : column.levels) e.levels.emplace(level, next++);
    if (schema.has_missing_level(column))
      e.missing = next++;
    else if (schema.has_missing && column.type == ColumnType::category)
      e.missing = e.levels.at(schema.missing);
    if (column.type == ColumnType::category && column.other) e.other = next++;
    next = e.first + schema.features_of(column);
    encodings_.push_back(std::move(e));
  }
  if (double value = 0; schema.has_missing && parse_number(schema.missing, value))
    missing_number_ = value;
}

void RowEncoder::reserve(std::uint64_t rows) {
  require_memory(path_, rows, features_);
  try {
    data_.x.reserve(rows * features_);  // address space only, until rows are written
    data_.y.reserve(rows);
  } catch (const std::bad_alloc&) {
    throw BadInput(fmt::format("{}: no memory for {} rows of {} features; use a machine with more",
                               path_, rows, features_));
  }
}

void RowEncoder::fail(const std::string& what) const { throw BadInput(where_() + ": " + what); }

void RowEncoder::fail(const Encoding& e, const std::string& what) const {
  fail(fmt::format("column {}: {}", quoted(e.name), what));
}

void RowEncoder::fail_number(const Encoding& e, std::string_view cell) const {
  if (cell.empty()) fail(e, "the cell is empty; fill it, or set missing = \"\" in the schema");
  fail(e, fmt::format("{} is not a finite number; fix the cell{}", quoted(cell),
                      data_.schema.has_missing ? "" : ", or set `missing` in the schema"));
}

void RowEncoder::set(const Encoding& e, double value) {
  if (missing_number_ &&
      (value == *missing_number_ || (std::isnan(value) && std::isnan(*missing_number_))))
    set_missing(e);
  else if (!std::isfinite(value))
    fail_number(e, number_text(value));
  else if (e.type == ColumnType::number)
    set_in_range(e, value);
  else
    set_level(e, number_text(value));
}

void RowEncoder::set_missing(const Encoding& e) {
  ++data_.counts.missing_cells;
  if (e.type == ColumnType::number)
    values_[e.slot] = 0.5F;
  else
    set_one(e, e.missing);
}

void RowEncoder::set_level(const Encoding& e, std::string_view cell) {
  const auto level = e.levels.find(cell);
  if (level != e.levels.end()) {
    set_one(e, level->second);
    return;
  }
  if (cell.empty()) fail(e, "the cell is empty; fill it, or set missing = \"\" in the schema");
  if (e.other == Encoding::none)
    fail(e, fmt::format("level {} is not in the schema; fix the cell, list the level, or set "
                        "other = true",
                        quoted(cell)));
  ++data_.counts.other_cells;
  set_one(e, e.other);
}

void RowEncoder::compare_labels_as_numbers() {
  labels_are_numbers_ = true;
  positive_ = canonical(positive_);
  negative_ = canonical(negative_);
}

void RowEncoder::set_unlabelled(const std::string& why) {
  if (labels_ != ReadOptions::Labels::optional) fail(why);
  labelled_ = false;
}

void RowEncoder::set_label(std::string_view text) {
  if (labels_are_numbers_)
    add_label(canonical(text));
  else
    add_label(text);
}

void RowEncoder::add_label(std::string_view label) {
  if (!labelled_) return;
  const Schema& schema = data_.schema;
  const bool missing = label.empty() || (schema.has_missing && label == schema.missing);
  const bool positive = label == positive_;
  if (!positive && !missing && negative_.empty()) negative_ = label;  // the first other class
  if (positive || (!missing && label == negative_)) {
    data_.y.push_back(positive ? 1.0F : -1.0F);
    positives_ += positive ? 1 : 0;
  } else if (missing) {
    set_unlabelled("the label is missing; fill it or remove the row");
  } else if (!schema.negative.empty()) {
    set_unlabelled(fmt::format("label {} is neither {} nor {}; remove the row or fix the schema",
                               quoted(label), quoted(positive_), quoted(negative_)));
  } else {
    set_unlabelled(fmt::format(
        "label has a third class {} beside {} and {}; remove its rows, or map it to one of the two",
        quoted(label), quoted(positive_), quoted(negative_)));
  }
}

void RowEncoder::end_row() {
  if (may_clip_ && clip_row_to_norm(values_, data_.schema.row_norm)) ++data_.counts.clipped_rows;
  const std::size_t start = data_.x.size();
  if (start + features_ > data_.x.capacity()) reserve(2 * data_.rows() + 1024);
  data_.x.resize(start + features_);
  float* const row = data_.x.data() + start;
  for (std::size_t k = 0; k < values_.size(); ++k) row[positions_[k]] = values_[k];
  if (data_.schema.intercept) row[features_ - 1] = 1.0F;
}

Dataset RowEncoder::finish() {
  const std::uint64_t rows = data_.rows();
  if (rows == 0) throw BadInput(path_ + ": the table has no rows; give at least two");
  if (!labelled_) data_.y.clear();
  if (labels_ == ReadOptions::Labels::required_two_classes) {
    if (positives_ == rows)
      throw BadInput(fmt::format("{}: every label is {}; a fit needs rows of both classes", path_,
                                 quoted(positive_)));
    if (positives_ == 0)
      throw BadInput(
          fmt::format("{}: every label is {} and none is {}; a fit needs rows of both "
                      "classes (check `positive` in the schema)",
                      path_, quoted(negative_), quoted(positive_)));
  }
  return std::move(data_);
}

}  // namespace gibbsite
