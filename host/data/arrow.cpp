// Arrow's C stream interface. Rows go in pieces, shared among threads, column by column: numbers
// four columns at a time (number_rows.hpp), others by a loop for each type. A piece ends before a
// row that is refused; that one is said, and rows go before it is known whether they are dense, in
// blocks by one thread.
#include "gibbsite/data/arrow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "data/arrow.hpp"
#include "data/arrow_reader.hpp"
#include "data/columns.hpp"
#include "data/input.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/floating_point.hpp"

namespace gibbsite {
namespace arrow_rows {

Dataset ArrowReader::read_batches() {
  Released<ArrowSchema> schema;
  stream_.get_schema(schema.it);
  match(schema.it);
  children_ = schema.it.n_children;
  in_rows_ = true;
  for (;;) {
    Released<ArrowArray> batch;
    if (!stream_.get_next(batch.it)) break;
    read_batch(batch.it);
  }
  in_rows_ = false;
  for (const auto& worker : workers_) {
    if (!worker) continue;
    rows_.add_counts(worker->counts, worker->clipped_rows);
    rows_.add_counts(worker->encoder.counts(), 0);
  }
  if (!labels_.empty() && row_ != labels_.size()) wrong_labels(row_);
  return rows_.finish();
}

void ArrowReader::read_batch(const ArrowArray& batch) {
  std::vector<Part> parts = parts_of(batch, children_, fields_);
  const std::int64_t last = batch.offset + batch.length;
  whole_ = batch.n_buffers > 0 ? static_cast<const unsigned char*>(batch.buffers[0]) : nullptr;
  if (batch.null_count > 0 && whole_ == nullptr)
    throw MalformedArrow{"nulls without a buffer that says which"};
  count_nulls(batch, parts, last);
  if (require_nulls(batch, whole_, batch.offset, last) == 0) whole_ = nullptr;
  const auto count = static_cast<std::uint64_t>(batch.length);
  if (!labels_.empty() && row_ + count > labels_.size()) wrong_labels(row_ + count);
  rows_.expect(std::max<std::uint64_t>({options_.expected_rows, labels_.size(), row_ + count}));
  ++batch_;
  std::int64_t at = batch.offset;
  while (at < last) {
    const std::int64_t shared = read_pieces(parts, at, last - at);
    at += shared > 0 ? shared : read_block(parts, at, last - at);
    report(false);
  }
  report(true);  // of a producer that is slow too
}

std::vector<Part> parts_of(const ArrowArray& batch, std::int64_t columns,
                           const std::vector<Field>& fields) {
  require_shape(batch);
  if (batch.n_children != columns)
    throw MalformedArrow{"a batch that has not the columns of the table"};
  if (batch.n_buffers > 1 || batch.dictionary != nullptr)
    throw MalformedArrow{"a batch that is no struct of columns"};
  std::vector<Part> parts;
  parts.reserve(fields.size());
  for (const Field& field : fields) {
    of_column(field.name, [&] {
      const ArrowArray* const child = batch.children[field.child];
      if (child == nullptr) throw MalformedArrow{"it is not there"};
      parts.emplace_back(field, *child, batch.offset, batch.offset + batch.length);
    });
  }
  return parts;
}

void ArrowReader::count_nulls(const ArrowArray& batch, std::vector<Part>& parts,
                              std::int64_t last) {
  std::vector<std::optional<MalformedArrow>> wrong(parts.size());
  const std::size_t tasks =
      std::min<std::size_t>(parts.size(), batch.length < 1 << 16 ? 1 : 4 * pool_->members());
  const auto count = [&](std::size_t task, std::size_t) {
    for (std::size_t f = task; f < parts.size(); f += tasks) {
      try {
        parts[f].values.require_nulls(*batch.children[fields_[f].child], batch.offset, last);
      } catch (const MalformedArrow& error) {
        wrong[f] = error;
      }
    }
  };
  if (tasks == 1)
    count(0, 0);
  else if (tasks > 1)
    pool_->each(tasks, count);
  for (std::size_t f = 0; f < parts.size(); ++f)
    if (wrong[f]) of_column(fields_[f].name, [&] { throw MalformedArrow(*wrong[f]); });
}

void ArrowReader::wrong_labels(std::uint64_t rows) const {
  throw BadInput(
      fmt::format("{}: {} labels for {} rows or more (private under add-remove); give "
                  "one a row",
                  source_, labels_.size(), rows));
}

std::int64_t ArrowReader::read_block(std::vector<Part>& parts, std::int64_t at, std::int64_t most) {
  const std::size_t slots = rows_.slots();  // of columns that are not read too, such as people
  const auto count = static_cast<std::size_t>(std::min<std::int64_t>(
      most, static_cast<std::int64_t>(std::clamp<std::size_t>(
                block_entries / std::max<std::size_t>(slots, 1), 16, 1024))));
  block_.resize(count * slots);
  // The first row of which a cell is refused, for whichever column; it is then said as in a file.
  std::size_t good = count;
  std::exception_ptr refusal;
  rows_.mark_unreadable(false);
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    if (fields_[f].target.is_label) continue;
    std::size_t row = 0;
    try {
      of_column(fields_[f].name, [&] {
        fill(*cells_, f, parts[f], at, good, block_.data() + fields_[f].target.encoding->slot,
             slots, row);
      });
    } catch (const BadInput&) {
      good = row;
      refusal = std::current_exception();
    }
  }
  for (std::size_t i = 0; i < good; ++i) {
    set_labels(parts, at + static_cast<std::int64_t>(i), 1);
    rows_.end_row({block_.data() + i * slots, slots});
  }
  rows_.end_entries();
  rows_.mark_unreadable(true);
  std::size_t done = good;
  if (refusal) {
    refuse(parts, at + static_cast<std::int64_t>(good));
    if (options_.unreadable != ReadOptions::Unreadable::marked) std::rethrow_exception(refusal);
    if (!labels_.empty()) rows_.set_class(labels_[row_]);
    rows_.end_row();
    ++row_;
    ++done;
  }
  bytes_ += done * row_bytes_ + std::exchange(cells_->text_bytes, 0);
  return static_cast<std::int64_t>(done);
}

void ArrowReader::refuse(const std::vector<Part>& parts, std::int64_t i) {
  for (std::size_t f = 0; f < fields_.size(); ++f)
    of_column(fields_[f].name, [&] { set_cell(fields_[f], parts[f], i); });
}

void ArrowReader::set_cell(const Field& field, const Part& part, std::int64_t i) {
  if (field.target.is_label) return set_label(part, i);
  const Encoding& e = *field.target.encoding;
  is_null(part, i) ? rows_.set_null(e) : set_value(*cells_, e, part.cell(i));
}

void ArrowReader::report(std::uint64_t bytes, bool now) {
  if (!now && bytes < reported_ + progress_bytes / 4) return;
  do {  // others may have done more pieces
    reported_ = std::max(reported_, std::min<std::uint64_t>(bytes, reported_ + progress_bytes));
    if (options_.progress && !options_.progress(reported_, 0))
      throw Interrupted(source_ + ": reading was stopped");
  } while (reported_ < bytes);
}

}  // namespace arrow_rows

Dataset read_arrow(ArrowArrayStream& stream, const Schema& schema, const ReadOptions& options,
                   std::span<const double> labels, const std::string& source) {
  const StandardArithmetic arithmetic;
  if (options.unreadable != ReadOptions::Unreadable::by_schema &&
      schema.invalid != Invalid::refuse) {
    Schema strict = schema;  // as in read_table
    strict.invalid = Invalid::refuse;
    Dataset data = read_arrow(stream, strict, options, labels, source);
    data.schema.invalid = schema.invalid;
    return data;
  }
  arrow_rows::Stream owned(stream, source);
  return arrow_rows::ArrowReader(owned, schema, options, labels, source).read();
}

std::vector<std::string> arrow_names(ArrowArrayStream& stream, const std::string& source) {
  arrow_rows::Stream owned(stream, source);
  arrow_rows::Released<ArrowSchema> schema;
  owned.get_schema(schema.it);
  std::vector<std::string> names = arrow_rows::names_in(schema.it);
  require_distinct(names, source, "the table");
  return names;
}

}  // namespace gibbsite
