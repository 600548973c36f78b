#pragma once
// Private rows, and the readers that make them. `privacy` and `mechanism` never see this.
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "gibbsite/core/message.hpp"
#include "gibbsite/data/rows.hpp"
#include "gibbsite/model/schema.hpp"

namespace gibbsite {

class CacheWriter;
class PersonIds;

/// Counts of the cells of one column that the reader changed. Private.
struct CellCounts {
  std::uint64_t clamped = 0;  ///< numbers outside their public range
  std::uint64_t missing = 0;
  std::uint64_t other = 0;    ///< levels mapped to "(other)"
  std::uint64_t invalid = 0;  ///< cells that cannot be read, under Invalid::middle

  [[nodiscard]] std::uint64_t sum() const { return clamped + missing + other + invalid; }
};

/// Counts of what the reader changed. Private: for the curator, never released.
struct IngestCounts {
  std::uint64_t clamped_cells = 0;  ///< the sums over `columns`
  std::uint64_t missing_cells = 0;
  std::uint64_t other_cells = 0;
  std::uint64_t invalid_cells = 0;
  std::uint64_t invalid_labels = 0;   ///< empty or missing, under Invalid::middle
  std::uint64_t unlisted_labels = 0;  ///< none of the classes, of a schema that names all
  std::uint64_t clamped_labels = 0;   ///< amounts and counts outside their public range
  std::uint64_t clipped_rows = 0;     ///< rows scaled down to row_norm
  std::vector<CellCounts> columns;    ///< [columns of the schema]

  /// Pointers to all counts, in a fixed order; valid while `columns` does not change.
  [[nodiscard]] std::vector<std::uint64_t*> numbers();
};

/// The place of a cell that its column cannot read.
struct UnreadableCell {
  std::uint64_t row = 0;     ///< of the Dataset, from 0
  std::uint32_t column = 0;  ///< place in the schema's columns
};

/// Rows of a table after scaling, encoding and clipping. Every row without the intercept has norm
/// <= row_norm in exact arithmetic; the intercept (if any) is the last feature. Private.
struct Dataset : BesideRows {
  Schema schema;
  RowStorage storage;
  IngestCounts counts;
  /// [n] Whose each row is, as a place among people in the order in which they came; may be let go
  /// after hold_people. Of a row without an id nobody. Private.
  std::vector<std::uint32_t> person{};
  static constexpr std::uint32_t nobody = ~std::uint32_t{0};
  std::uint64_t people = 0;          ///< how many people have rows, after hold_people
  std::uint64_t rows_of_person = 0;  ///< k of hold_people; 0: nothing is held
  /// Rows among which people were counted by hold_people: of ranks those of all. Private.
  std::uint64_t rows_counted = 0;
  /// Under ReadOptions::Unreadable::marked: the cells that were read as something else, by row.
  std::vector<UnreadableCell> unreadable{};

  [[nodiscard]] std::uint64_t rows() const { return view().rows; }
  [[nodiscard]] std::uint64_t features() const { return schema.features(); }
  [[nodiscard]] bool labeled() const { return !y.empty(); }
  [[nodiscard]] Rows view() const;
  /// The rows, if they are stored so; throws std::bad_variant_access if not.
  [[nodiscard]] DenseTable& dense() { return std::get<DenseTable>(storage); }
  [[nodiscard]] const DenseTable& dense() const { return std::get<DenseTable>(storage); }
  [[nodiscard]] SparseTable& sparse() { return std::get<SparseTable>(storage); }
  [[nodiscard]] const SparseTable& sparse() const { return std::get<SparseTable>(storage); }
  /// Whether the rows are mapped from the files of a cache.
  [[nodiscard]] bool on_disk() const { return std::holds_alternative<MappedTable>(storage); }
  /// Gives the rows weights that the table does not hold: `weights` [n], of which a row counts its
  /// part of `highest`, clamped to [0, highest]. The schema gets a column "sample_weight" of them.
  /// A weight that is not finite counts 0 under Invalid::middle. Throws BadInput on one under
  /// Invalid::refuse, on another number of weights, on a table that has weights, and unless
  /// `highest` is finite and above 0.
  void weigh(std::span<const double> weights, double highest);
  /// Weighs the rows of a person who has m of them by min(1, k/m), rounded down, so that together
  /// they count at most k, beside the weights that they have; a row of nobody counts 0. Throws
  /// BadInput unless 1 <= k <= 2^53, without a column of people, on a second
  /// time, and on more than most_rows_of_people rows. Of rows that are a rank's share,
  /// `hold_people` of data/shares.hpp counts those of all. (docs/theory/row-weights.md)
  void hold_people(std::uint64_t k);
  /// Gives rows people that the table does not name: `places` [n], below n, of each row's among all
  /// people, `nobody` of a row without one. The schema gets a column "groups". Throws BadInput on a
  /// table that names people, other places, and rows of nobody under Invalid::refuse.
  void group(std::span<const std::uint32_t> places);
  /// What plans count: people where the schema has them, of whom the number is public under
  /// replace-one; else rows. Throws BadInput before hold_people.
  [[nodiscard]] std::uint64_t counted() const;
  /// Memory of a row with what stands beside it, in bytes.
  [[nodiscard]] double bytes_per_row() const;
};

/// Options of the readers. Rows are kept sparse if at most most_sparse_density (data/rows.hpp) of
/// the first 1024 rows' features are not zero, whatever the format.
struct ReadOptions {
  /// Whether labels are required: fit and evaluate need them, predict does not. With `optional`, a
  /// table without a label column, or with a label that the schema refuses, is read as unlabeled (y
  /// empty).
  enum class Labels { required, optional } labels = Labels::required;
  /// What happens to a cell that its column cannot read: an unlisted level, text that is no number,
  /// an empty cell.
  enum class Unreadable {
    by_schema,  ///< as `invalid` of the schema says
    /// An error whose advice does not mention the schema: it is that of a published model.
    refused,
    /// The row is predicted and the cell is read as under Invalid::middle. An empty cell of a
    /// category counts as missing if there is a level for that. Dataset::unreadable lists such
    /// cells.
    marked
  } unreadable = Unreadable::by_schema;
  bool may_be_empty = false;  ///< a table without rows is no error: there is nothing to predict
  bool ignore_extra_columns =
      false;                    ///< predict and evaluate: columns not in the schema are skipped
  std::string label_path = {};  ///< .npy only: the file of y
  /// Whether columns of weights and of people are read. Predicting, where labels are optional,
  /// needs none: there they are skipped, and may be missing. Rows without a label are counted.
  [[nodiscard]] bool reads_weights(const Schema& of) const;
  /// Whether the caller holds people to their rows (Dataset::hold_people). If not, a table with a
  /// column of people is refused wherever weights are read.
  bool holds_people = false;
  /// Whether rows are kept in files beside the table instead of in memory (docs/reference/data.md,
  /// Cache). `automatic`: if memory cannot hold them, or a cache exists already; not for a pipe.
  enum class Cache { never, automatic, always } cache = Cache::never;
  /// Number of threads that read a stream, or numeric columns of a .npy file or an array. 0: one
  /// for each processor that may be used. Rows, counts and errors do not depend on it.
  std::size_t threads = 0;
  /// Whether rows are kept sparse. automatic: as the first rows say. The others are for parts of a
  /// table, which are laid out as the whole one.
  enum class Layout { automatic, dense, sparse } layout = Layout::automatic;
  /// Number of rows before the first one that is read, for messages that number rows.
  std::uint64_t rows_before = 0;
  /// Expected number of rows of a stream (read_arrow), for which room is taken at once; 0: unknown.
  std::uint64_t expected_rows = 0;
  /// The cache files (data/cache.hpp, not owned) that a part's rows are appended to. The Dataset
  /// then has labels and counts, but no rows.
  CacheWriter* to_files = nullptr;
  /// The table of ids (data/person_ids.hpp, not owned) that gives people their places, if a table
  /// is read by several readers; null: each reader has its own.
  PersonIds* people = nullptr;
  /// Called with (bytes read, bytes in all; 0 if unknown) at least every 4 MiB; returning false
  /// stops with Interrupted.
  std::function<bool(std::uint64_t, std::uint64_t)> progress = {};
  /// Called with a line for people about the cache: made, used, or why it is made anew.
  std::function<void(const Message&)> note = {};
};

/// Reads CSV with a header line; it is streamed, so the text is never held in memory. Quotes, CRLF,
/// a byte order mark, blanks around cells and blank lines are accepted. If the header has one name,
/// a blank line is a row. Columns of type "ignore" may be absent.
/// Throws BadInput "FILE:LINE: ..." on a missing or empty file, a header without rows, a ragged
/// row, and an unknown or missing column. More rows than memory holds, and a table of one column
/// whose last line has no end, throw too. So do cells that cannot be read, unless schema.invalid is
/// `middle`: no finite number, an unlisted level (without `other`), an empty cell or label, an
/// unlisted class (docs/reference/refusals.md).
Dataset read_csv(const std::string& path, const Schema& schema, const ReadOptions& options = {});
/// Reads LIBSVM/svmlight text "label index:value ...", with increasing indices from 1. Column k of
/// the schema is index k. Absent indices are the number 0 before scaling; work and memory grow with
/// the entries that are not zero after it. The level of a category is the number's shortest text
/// ("3"). Labels that are numbers are compared as numbers. Lines that are blank or begin with #,
/// except comments at the top, are rows without a label (docs/reference/data.md). Throws BadInput
/// as read_csv does.
Dataset read_libsvm(const std::string& path, const Schema& schema, const ReadOptions& options = {});
/// Reads NumPy .npy files, float32 or float64, in C order: X [n x k] with column j of the schema in
/// column j. y [n] in options.label_path is compared as a number with the schema's classes. Throws
/// BadInput.
Dataset read_npy(const std::string& path, const Schema& schema, const ReadOptions& options = {});
/// Reads a table by the file's extension: .npy; .svm, .libsvm, .svmlight; .parquet, .arrow,
/// .feather, .ipc (data/arrow.hpp opens them); anything else is CSV. An existing cache is mapped if
/// its hashes say that it is of this table, schema and software; else it is made anew. Throws
/// BadInput if a needed cache cannot be written, or a cache is asked for beside a single Parquet or
/// Arrow file.
Dataset read_table(const std::string& path, const Schema& schema, const ReadOptions& options = {});
/// Removes the table's cache, with those of ranks' shares and what killed runs left of one. Returns
/// whether there was any. Throws BadInput if it cannot be removed.
bool remove_cache(const std::string& table);

/// Clips `row` (without intercept): scales it down so that its norm in exact arithmetic is <=
/// row_norm, and not below row_norm (1 - 1.3e-7). A row within row_norm keeps its bits
/// (docs/reference/data.md, Clipping). Returns whether it changed. Throws BadInput if a value is
/// not finite or row_norm is not positive.
bool clip_row_to_norm(std::span<float> row, double row_norm);

}  // namespace gibbsite
