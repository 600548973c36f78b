#pragma once
// What reads a stream's rows, in arrow.cpp and the files named below.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/arrow_cells.hpp"
#include "data/arrow_stream.hpp"
#include "gibbsite/data/arrow.hpp"
#include "machine/thread_pool.hpp"

namespace gibbsite::arrow_rows {

class ArrowReader {
 public:
  ArrowReader(Stream& stream, const Schema& schema, const ReadOptions& options,
              std::span<const double> labels, const std::string& source)
      : stream_(stream),
        schema_(schema),
        options_(options),
        labels_(labels),
        source_(source),
        rows_(
            schema, in_memory(options), nullptr,
            [this] {
              return in_rows_ ? fmt::format("{}: row {}", source_, options_.rows_before + row_ + 1)
                              : source_;
            },
            source),
        may_clip_(schema.may_clip()) {}

  Dataset read() {
    try {
      return read_batches();
    } catch (const MalformedArrow& error) {
      stream_.malformed(error);
    }
  }

 private:
  static ReadOptions in_memory(ReadOptions options) {
    options.cache = ReadOptions::Cache::never;
    return options;
  }

  Dataset read_batches();
  void read_batch(const ArrowArray& batch);
  void count_nulls(const ArrowArray& batch, std::vector<Part>& parts, std::int64_t last);
  [[noreturn]] void wrong_labels(std::uint64_t rows) const;
  // Some of the next rows, of any kind. Returns how many.
  std::int64_t read_block(std::vector<Part>& parts, std::int64_t at, std::int64_t most);
  // A row cell by cell, in the table's order.
  void refuse(const std::vector<Part>& parts, std::int64_t i);
  void set_cell(const Field& field, const Part& part, std::int64_t i);
  void report(bool now) { report(bytes_, now); }
  void report(std::uint64_t bytes, bool now);

  // arrow_schema.cpp
  void match(const ArrowSchema& schema);
  void find_groups();
  [[noreturn]] void no_number(const std::string& name) const;
  // Bools have no other words: under any other every label would be of the negative class, or
  // unlisted.
  void require_word(const std::string& name) const;
  void require_dates_where_expected(const Field& field, const ArrowType& values) const;

  // arrow_pieces.cpp

  // The next rows in pieces, up to one that must be read alone. Returns how many: 0 where a block
  // is the way.
  std::int64_t read_pieces(const std::vector<Part>& parts, std::int64_t at, std::int64_t most);
  Worker& worker_of(std::size_t member, const std::vector<Part>& parts);
  // A piece of rows; returns how many come before one that is refused.
  std::size_t encode_dense(Worker& worker, std::int64_t at, std::size_t count, float* out) const;
  std::size_t encode_sparse(Worker& worker, std::int64_t at, std::size_t count,
                            CellEncoder::SparseRowsMade& made) const;
  // Dense rows from sparse ones: interactions need every cell of a row.
  std::size_t lay_out_sparse(Worker& worker, std::int64_t at, std::size_t count, float* out) const;
  // The cells of a column, up to one that is refused: what it is, is said when its row is read
  // alone.
  std::size_t fill_good(Worker& worker, std::size_t f, std::int64_t at, std::size_t count,
                        CellEncoder::Entry* out, std::size_t stride) const;
  std::size_t encode_group(Worker& worker, const NumberGroup& group, std::int64_t at,
                           std::size_t count, float* out) const;
  template <class T>
  static bool lie_as(const Worker& worker, const NumberGroup& group, std::int64_t at,
                     NumberRows::Columns& columns);
  // Values as doubles, `null` in place of nulls.
  void gather(const Part& part, bool has_nulls, double null, std::int64_t at, std::size_t count,
              double* out) const;
  // A null becomes missing or no number. Returns how many rows come before one that is refused.
  bool put_null(const Encoding& e, float& out, CellCounts& counts) const {
    if (!e.has_missing() && schema_.invalid == Invalid::refuse) return false;
    ++(e.has_missing() ? counts.missing : counts.invalid);
    out = e.middle();
    return true;
  }
  std::size_t put_nulls(const Part& part, const Field& field, std::int64_t at, std::size_t count,
                        float* out, CellCounts& counts) const;
  // Puts a column with cells that are missing or not finite.
  template <class T>
  std::size_t put_cells(const Part& part, const Field& field, const T* values, std::int64_t at,
                        std::size_t count, float* out, CellCounts& counts) const;
  // The cells of one column, up to `count` or one that is refused, `row`.
  void fill(Cells& cells, std::size_t f, Part& part, std::int64_t at, std::size_t count,
            CellEncoder::Entry* out, std::size_t width, std::size_t& row) const;
  // A dictionary's value, encoded once a batch.
  static CellEncoder::Entry listed(Cells& cells, const Encoding& e, Part& part,
                                   std::int64_t index) {
    const auto k = static_cast<std::size_t>(index);
    if (!part.may_keep) {
      set_value(cells, e, {*part.dictionary, index});
      return cells.rows.entry(e);
    }
    if (part.is_kept[k] != 0) {
      cells.rows.count_again(e, part.kept[k]);
    } else {
      part.kept[k] = cells.rows.keep(e, [&] { set_value(cells, e, {*part.dictionary, index}); });
      part.is_kept[k] = 1;
    }
    return part.kept[k].entry;
  }
  // A cell by what its own type has. In a union there may be a date where none is read, or a number
  // where dates are: these become their texts, as days since 1970 are of columns of dates alone.
  static void set_value(Cells& cells, const Encoding& e, const Part::Cell& cell) {
    if (cell.is_null()) return cells.rows.set_null(e);
    const ArrowType& type = cell.of.type();
    if (e.is_person() && has_own_ids(type)) return set_id(cells.rows, e, cell.of, cell.at);
    if (!e.is_person() && type.is_date() != e.is_date())
      return cells.rows.set(e, std::string_view(cell_text(cell.of, cell.at)));
    cell.of.visit([&](const auto& get) { cells.set.set(e, get(cell.at)); });
  }

  [[nodiscard]] bool is_null(const Part& part, std::int64_t i) const {
    return (whole_ != nullptr && (whole_[i >> 3] >> (i & 7) & 1) == 0) || part.values.is_null(i);
  }

  // arrow_labels.cpp

  // The first of the next `count` labels that can be set while other threads make the rows, as
  // nothing can be said of them. Returns how many.
  std::size_t set_known_labels(const std::vector<Part>& parts, std::int64_t at, std::size_t count);
  // Sets the labels of the next rows, which begin at `at` of the batch.
  void set_labels(const std::vector<Part>& parts, std::int64_t at, std::size_t count);
  template <class Get>
  void set_number_labels(const Get& get, std::int64_t at, std::size_t count);
  // As their dictionary has them: each of its values once a batch.
  template <class Each>
  void set_listed_labels(const Part& part, const Each& each);
  void set_label(const Part& part, std::int64_t i);

  static constexpr std::size_t block_entries = 8192, none = ~std::size_t{0};
  // A piece of a row_bytes_ fits in a core's second cache, as the rows made of it.
  static constexpr std::size_t piece_bytes = progress_bytes / 32, most_pieces = 512,
                               most_dense_pieces = 8192, run_bytes = std::size_t{4} << 20;

  Stream& stream_;
  const Schema& schema_;
  const ReadOptions& options_;
  std::span<const double> labels_;
  const std::string& source_;
  bool in_rows_ = false;
  std::uint64_t row_ = 0;
  CellEncoder rows_;
  bool may_clip_;
  // Offsets, weights and people are made row by row.
  bool row_by_row_ =
      schema_.exposure() != nullptr || schema_.weight() != nullptr || schema_.person() != nullptr;
  std::size_t schema_features_ = schema_.features();
  std::optional<Cells> cells_;
  std::int64_t children_ = 0;
  std::vector<Field> fields_;
  std::vector<Encoding> used_;                       // of the columns that are used, as they come
  std::size_t label_ = none;                         // its field
  std::vector<CellEncoder::KeptLabel> kept_labels_;  // of its dictionary
  std::uint64_t labels_of_ = 0;                      // the batch that they are of
  std::vector<NumberGroup> groups_;
  std::vector<std::size_t> others_;        // fields that are in no group
  std::vector<CellEncoder::Entry> block_;  // [rows x columns used]
  std::uint64_t batch_ = 0;
  std::size_t piece_rows_ = 0;
  std::optional<ThreadPool> pool_;
  std::vector<std::unique_ptr<Worker>> workers_;  // of the thread pool
  std::vector<CellEncoder::SparseRowsMade> made_;
  const unsigned char* whole_ = nullptr;  // of a batch: which rows are there
  std::uint64_t row_bytes_ = 0, bytes_ = 0, reported_ = 0;
};

}  // namespace gibbsite::arrow_rows
