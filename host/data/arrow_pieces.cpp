// Rows of a batch in pieces, shared among threads, and cells column by column.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <concepts>
#include <exception>
#include <mutex>
#include <type_traits>
#include <utility>

#include "data/arrow_reader.hpp"
#include "gibbsite/core/error.hpp"

namespace gibbsite::arrow_rows {

std::int64_t ArrowReader::read_pieces(const std::vector<Part>& parts, std::int64_t at,
                                      std::int64_t most) {
  if (used_.empty() || !rows_.is_decided() || row_by_row_) return 0;
  const std::size_t pieces = (static_cast<std::size_t>(most) + piece_rows_ - 1) / piece_rows_;
  const bool dense = rows_.is_dense();
  const std::size_t here = std::min(pieces, dense ? most_dense_pieces : most_pieces);
  const std::size_t count = std::min(static_cast<std::size_t>(most), here * piece_rows_);
  float* const out = dense ? rows_.extend(count) : nullptr;
  std::vector<std::size_t> done(here);
  if (!dense) made_.resize(here);
  // Rows of a task in a row: threads that began neighboring pieces would touch the same new page
  // of 2 MiB first, and each clear one.
  const std::size_t run =
      dense ? std::clamp<std::size_t>(run_bytes / (piece_rows_ * schema_features_ * sizeof(float)),
                                      1, std::max<std::size_t>(here / (4 * pool_->members()), 1))
            : 1;
  std::atomic<std::uint64_t> rows_done{0};
  std::atomic<bool> stopped{false};
  std::exception_ptr failed;
  std::mutex failing;
  const auto encode = [&](std::size_t piece, std::size_t member) {
    const std::size_t first = piece * piece_rows_, some = std::min(piece_rows_, count - first);
    const std::int64_t from = at + static_cast<std::int64_t>(first);
    Worker& worker = worker_of(member, parts);
    done[piece] = dense ? encode_dense(worker, from, some, out + first * schema_features_)
                        : encode_sparse(worker, from, some, made_[piece]);
    rows_done += some;
    if (member == 0) report(bytes_ + rows_done * row_bytes_, false);
    return done[piece] == some;
  };
  std::size_t labeled = 0;
  pool_->each(1 + (here + run - 1) / run, [&](std::size_t task, std::size_t member) {
    try {
      if (task == 0) labeled = set_known_labels(parts, at, count);
      for (std::size_t piece = (std::max<std::size_t>(task, 1) - 1) * run;
           piece < std::min(here, task * run); ++piece)
        if (stopped.load(std::memory_order_relaxed) || !encode(piece, member)) return;
    } catch (...) {
      stopped = true;
      const std::lock_guard lock(failing);
      if (!failed) failed = std::current_exception();
    }
  });
  if (failed) std::rethrow_exception(failed);
  std::size_t whole = 0;
  for (std::size_t piece = 0; piece < here; ++piece) {
    if (!dense) rows_.append(made_[piece], done[piece]);
    whole += done[piece];
    if (done[piece] < std::min(piece_rows_, count - piece * piece_rows_)) break;
  }
  if (dense) rows_.end_rows(whole, count);
  if (labeled > whole) rows_.drop_labels(labeled - whole);
  labeled = std::min(labeled, whole);
  row_ += labeled;
  set_labels(parts, at + static_cast<std::int64_t>(labeled), whole - labeled);
  bytes_ += whole * row_bytes_;
  for (const auto& worker : workers_)
    if (worker) bytes_ += std::exchange(worker->cells.text_bytes, 0);
  return static_cast<std::int64_t>(whole);
}

Worker& ArrowReader::worker_of(std::size_t member, const std::vector<Part>& parts) {
  std::unique_ptr<Worker>& worker = workers_[member];
  if (!worker) {
    ReadOptions of_worker = in_memory(options_);
    of_worker.to_files = nullptr;
    of_worker.unreadable = ReadOptions::Unreadable::by_schema;  // such a row goes in alone
    worker = std::make_unique<Worker>(schema_, of_worker, fields_.size(), rows_.slots());
  }
  if (worker->batch != batch_) {
    worker->parts.clear();
    worker->parts.reserve(parts.size());
    for (const Part& part : parts) worker->parts.push_back(part);
    worker->batch = batch_;
  }
  return *worker;
}

std::size_t ArrowReader::encode_dense(Worker& worker, std::int64_t at, std::size_t count,
                                      float* out) const {
  const std::size_t d = schema_features_, k = d - (schema_.intercept ? 1 : 0);
  if (!schema_.interactions.empty()) return lay_out_sparse(worker, at, count, out);
  std::size_t good = count;
  if (!others_.empty()) std::fill_n(out, count * d, 0.0F);
  for (const NumberGroup& group : groups_)
    good = std::min(good, encode_group(worker, group, at, good, out + group.feature));
  worker.block.resize(count);
  for (const std::size_t f : others_) {
    const CellEncoder::Entry* const entries = worker.block.data();
    good = fill_good(worker, f, at, good, worker.block.data(), 1);
    for (std::size_t i = 0; i < good; ++i)
      entries[i].each([&](std::uint32_t feature, float value) { out[i * d + feature] = value; });
  }
  for (std::size_t i = 0; i < good; ++i, out += d) {
    if (may_clip_ && NumberRows::clip({out, k}, true, schema_.row_norm, worker.room))
      ++worker.clipped_rows;
    if (k < d) out[k] = 1.0F;
  }
  return good;
}

std::size_t ArrowReader::lay_out_sparse(Worker& worker, std::int64_t at, std::size_t count,
                                        float* out) const {
  const std::size_t good = encode_sparse(worker, at, count, worker.made);
  std::fill_n(out, good * schema_features_, 0.0F);
  std::size_t entry = 0;
  for (std::size_t i = 0; i < good; ++i, out += schema_features_) {
    for (const std::size_t end = entry + worker.made.sizes[i]; entry < end; ++entry)
      out[worker.made.features[entry]] = worker.made.values[entry];
  }
  return good;
}

std::size_t ArrowReader::encode_sparse(Worker& worker, std::int64_t at, std::size_t count,
                                       CellEncoder::SparseRowsMade& made) const {
  const std::size_t width = rows_.slots();
  worker.block.resize(count * width);
  std::size_t good = count;
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    if (f == label_) continue;
    const std::size_t slot = fields_[f].target.encoding->slot;
    good = fill_good(worker, f, at, good, worker.block.data() + slot, width);
  }
  made.sizes.clear();
  made.features.clear();
  made.values.clear();
  made.clipped_rows = 0;
  for (std::size_t i = 0; i < good; ++i)
    worker.encoder.add_row({worker.block.data() + i * width, width}, made);
  worker.clipped_rows += made.clipped_rows;
  return good;
}

std::size_t ArrowReader::fill_good(Worker& worker, std::size_t f, std::int64_t at,
                                   std::size_t count, CellEncoder::Entry* out,
                                   std::size_t stride) const {
  std::size_t row = 0;
  try {
    fill(worker.cells, f, worker.parts[f], at, count, out, stride, row);
  } catch (const BadInput&) {
    return row;
  } catch (const MalformedArrow&) {
    return row;
  }
  return count;
}

template <class T>
bool ArrowReader::lie_as(const Worker& worker, const NumberGroup& group, std::int64_t at,
                         NumberRows::Columns& columns) {
  columns.floats = std::same_as<T, float>;
  for (std::size_t c = 0; c < columns.count; ++c) {
    columns.values[c] = worker.parts[group.fields[c]].values.template lying<T>(at);
    if (columns.values[c] == nullptr) return false;
  }
  return true;
}

void ArrowReader::gather(const Part& part, bool has_nulls, double null, std::int64_t at,
                         std::size_t count, double* out) const {
  part.values.visit([&](const auto& get) {
    using Value = std::decay_t<decltype(get(at))>;
    if constexpr (!std::same_as<Value, std::string_view>) {
      const auto last = static_cast<std::int64_t>(count);
      if (has_nulls) {
        for (std::int64_t i = 0; i < last; ++i)
          out[i] = is_null(part, at + i) ? null : static_cast<double>(get(at + i));
      } else {
        for (std::int64_t i = 0; i < last; ++i) out[i] = static_cast<double>(get(at + i));
      }
    }
  });
}

std::size_t ArrowReader::put_nulls(const Part& part, const Field& field, std::int64_t at,
                                   std::size_t count, float* out, CellCounts& counts) const {
  for (std::size_t i = 0; i < count; ++i, out += schema_features_)
    if (is_null(part, at + static_cast<std::int64_t>(i)) &&
        !put_null(*field.target.encoding, *out, counts))
      return i;
  return count;
}

template <class T>
std::size_t ArrowReader::put_cells(const Part& part, const Field& field, const T* values,
                                   std::int64_t at, std::size_t count, float* out,
                                   CellCounts& counts) const {
  const Encoding& e = *field.target.encoding;
  for (std::size_t i = 0; i < count; ++i, out += schema_features_) {
    if (is_null(part, at + static_cast<std::int64_t>(i))) {
      if (!put_null(e, *out, counts)) return i;
      continue;
    }
    const auto value = static_cast<double>(values[i]);
    if (e.is_missing(value)) {
      ++counts.missing;
      *out = e.middle();
    } else if (!std::isfinite(value)) {
      if (schema_.invalid == Invalid::refuse) return i;
      ++counts.invalid;
      *out = e.middle();
    } else {
      const double inside = value < e.lo ? e.lo : value > e.hi ? e.hi : value;
      counts.clamped += inside != value ? 1U : 0U;
      *out = static_cast<float>((inside - e.lo) / (e.hi - e.lo)) + 0.0F;
    }
  }
  return count;
}

std::size_t ArrowReader::encode_group(Worker& worker, const NumberGroup& group, std::int64_t at,
                                      std::size_t count, float* out) const {
  constexpr std::size_t most = NumberRows::Columns::most;
  NumberRows::Columns columns = group.columns;
  const std::size_t d = schema_features_;
  bool any_null = false;
  std::array<bool, most> has_nulls{};
  for (std::size_t c = 0; c < columns.count; ++c) {
    const ArrowValues& values = worker.parts[group.fields[c]].values;
    has_nulls[c] = whole_ != nullptr || values.any_null(at, static_cast<std::int64_t>(count));
    any_null = any_null || has_nulls[c];
  }
  if (any_null ||
      (!lie_as<float>(worker, group, at, columns) && !lie_as<double>(worker, group, at, columns))) {
    worker.numbers.resize(most * piece_rows_);
    columns.floats = false;
    for (std::size_t c = 0; c < columns.count; ++c) {
      double* const to = worker.numbers.data() + c * piece_rows_;
      gather(worker.parts[group.fields[c]], has_nulls[c], group.harmless[c], at, count, to);
      columns.values[c] = to;
    }
  }
  for (std::size_t c = columns.count; c < most; ++c) columns.values[c] = columns.values[0];
  std::array<std::uint64_t, most> clamped{};
  std::size_t good = count;
  if (NumberRows::scale(columns, count, out, d, clamped.data())) {
    for (std::size_t c = 0; c < columns.count; ++c) {
      CellCounts& counts = worker.counts[group.slots[c]];
      counts.clamped += clamped[c];
      if (has_nulls[c])
        good = std::min(good, put_nulls(worker.parts[group.fields[c]], fields_[group.fields[c]], at,
                                        good, out + c, counts));
    }
    return good;
  }
  for (std::size_t c = 0; c < columns.count; ++c) {
    const std::size_t f = group.fields[c];
    const auto put = [&](const auto* values) {
      good = std::min(good, put_cells(worker.parts[f], fields_[f], values, at, good, out + c,
                                      worker.counts[group.slots[c]]));
    };
    columns.floats ? put(static_cast<const float*>(columns.values[c]))
                   : put(static_cast<const double*>(columns.values[c]));
  }
  return good;
}

void ArrowReader::fill(Cells& cells, std::size_t f, Part& part, std::int64_t at, std::size_t count,
                       CellEncoder::Entry* out, std::size_t width, std::size_t& row) const {
  const Encoding& e = *fields_[f].target.encoding;
  CellEncoder& rows = cells.rows;
  const bool has_nulls =
      whole_ != nullptr || part.values.any_null(at, static_cast<std::int64_t>(count));
  const auto each = [&](const auto& set) {
    for (; row < count; ++row, out += width) {
      const std::int64_t i = at + static_cast<std::int64_t>(row);
      if (has_nulls && is_null(part, i)) {
        rows.set_null(e);
        *out = rows.entry(e);
      } else {
        *out = set(i);
      }
    }
  };
  if (e.is_person() && has_own_ids(part.values.type())) {
    return each([&](std::int64_t i) {
      set_id(rows, e, part.values, i);
      return rows.entry(e);
    });
  }
  if (part.is_mixed()) {
    return each([&](std::int64_t i) {
      set_value(cells, e, part.cell(i));
      return rows.entry(e);
    });
  }
  part.values.visit([&](const auto& get) {
    using Value = std::decay_t<decltype(get(at))>;
    if (part.dictionary) {
      each([&](std::int64_t i) { return listed(cells, e, part, part.index(get(i))); });
    } else if constexpr (std::same_as<Value, std::string_view>) {
      each([&](std::int64_t i) {
        const std::string_view text = get(i);
        cells.text_bytes += text.size();
        rows.set(e, text);
        return rows.entry(e);
      });
    } else if (e.type == ColumnType::category) {
      std::unique_ptr<RecentNumbers>& recent = cells.recent[f];
      if (!recent) recent = std::make_unique<RecentNumbers>();
      each([&](std::int64_t i) {
        const Value value = get(i);
        RecentNumbers::Seen& seen = recent->at(bits_of(value));
        if (seen.there && seen.bits == bits_of(value)) {
          rows.count_again(e, seen.kept);
        } else {
          seen.there = false;
          seen.kept = rows.keep(e, [&] { cells.set.set(e, value); });
          seen.bits = bits_of(value);
          seen.there = true;
        }
        return seen.kept.entry;
      });
    } else {
      each([&](std::int64_t i) {
        cells.set.set(e, get(i));
        return rows.entry(e);
      });
    }
  });
}

}  // namespace gibbsite::arrow_rows
