#pragma once
// Private rows, and the readers that make them. `privacy` and `mechanism` never see this.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gibbsite/core/message.hpp"
#include "gibbsite/core/unset.hpp"
#include "gibbsite/data/rows.hpp"
#include "gibbsite/model/schema.hpp"

namespace gibbsite {

class CacheWriter;

/// What the reader changed in the cells of one column. Private.
struct CellCounts {
  std::uint64_t clamped = 0;  ///< numbers outside their public range
  std::uint64_t missing = 0;
  std::uint64_t other = 0;    ///< levels mapped to "(other)"
  std::uint64_t invalid = 0;  ///< cells that cannot be read, under Invalid::middle

  [[nodiscard]] std::uint64_t sum() const { return clamped + missing + other + invalid; }
};

/// What the reader changed. Private: for the curator's eyes, never released.
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

  /// All of them, in one order; of use while the columns stay.
  [[nodiscard]] std::vector<std::uint64_t*> numbers();
};

/// A cell that its column cannot read.
struct UnreadableCell {
  std::uint64_t row = 0;     ///< of the Dataset, from 0
  std::uint32_t column = 0;  ///< place in the schema's columns
};

/// Rows of a table after scaling, encoding and clipping: every row without the intercept has
/// norm <= row_norm in exact arithmetic, the intercept (if any) is the last feature.
struct Dataset {
  Schema schema;
  /// [n x d] row-major; empty when the rows are sparse, or in files.
  UnsetFloats x;
  SparseTable sparse;                       ///< no rows when they are dense, or in files
  std::shared_ptr<const Rows> mapped = {};  ///< [n x d] in the files of a cache; null in memory
  std::vector<float> y;         ///< [n] as LabelKind says; empty when the file had no label column
  std::vector<float> offset{};  ///< [n] of Schema::scaled_exposure; empty without an exposure
  IngestCounts counts;
  /// Under ReadOptions::Unreadable::marked: each cell that was read as something else, by row.
  std::vector<UnreadableCell> unreadable{};
  /// So many rows that a backend makes itself (engine/made_rows.hpp), the only one to take them: x
  /// and y are empty.
  std::uint64_t made = 0;

  [[nodiscard]] std::uint64_t rows() const;
  [[nodiscard]] std::uint64_t features() const { return schema.features(); }
  [[nodiscard]] bool labeled() const { return !y.empty() || made > 0; }
  [[nodiscard]] Rows view() const;
  /// Of X and y, for one row.
  [[nodiscard]] double bytes_per_row() const;
};

/// How to read. Rows are kept sparse where at most most_sparse_density (data/rows.hpp) of the first
/// 1024 rows' features are not zero, whatever the format.
struct ReadOptions {
  /// fit and evaluate need labels, predict does not: with `optional` a table without a label
  /// column, or with a label that the schema refuses, is read as unlabeled (y empty).
  enum class Labels { required, optional } labels = Labels::required;
  /// What becomes of a cell that its column cannot read: a level that is not listed, text that is
  /// no number, an empty cell.
  enum class Unreadable {
    by_schema,  ///< as `invalid` of the schema says
    /// An error whose advice leaves the schema alone: it is that of a model, which is published.
    refused,
    /// Predicted all the same: read as under Invalid::middle, but an empty cell of a category as a
    /// missing one where the schema has a level for that. Dataset::unreadable lists them.
    marked
  } unreadable = Unreadable::by_schema;
  bool may_be_empty = false;  ///< a table without rows is no error: there is nothing to predict
  bool ignore_extra_columns =
      false;                    ///< predict and evaluate: columns not in the schema are skipped
  std::string label_path = {};  ///< .npy only: the file of y
  /// Rows in files beside the table instead of in memory (docs/reference/data.md, Cache). `automatic`: where
  /// memory cannot hold them, or a cache is there already; not for a pipe.
  enum class Cache { never, automatic, always } cache = Cache::never;
  /// Of a stream, and of a .npy file or an array whose columns are all numbers: at most so many at
  /// work; 0: one for each processor that may be used. The same rows, counts and errors for any
  /// number of them.
  std::size_t threads = 0;
  /// Whether rows are kept sparse: as their first ones say, or as all of a table are of which these
  /// are some.
  enum class Layout { automatic, dense, sparse } layout = Layout::automatic;
  /// Rows of the table before the first that is read, for what is said of one by its number.
  std::uint64_t rows_before = 0;
  /// About how many rows a stream has (read_arrow), where somebody knows: room is taken at once.
  std::uint64_t expected_rows = 0;
  /// Of rows that are some of a table: the files (data/cache.hpp, not owned) that they go to,
  /// behind those that are there. The Dataset has their labels and counts, and no rows.
  CacheWriter* to_files = nullptr;
  /// Called with (bytes read, bytes in all; 0 when unknown) every 4 MiB or sooner; return false to
  /// stop (throws Interrupted).
  std::function<bool(std::uint64_t, std::uint64_t)> progress = {};
  /// Called with a line for people about the cache: made, used, or why it is made anew.
  std::function<void(const Message&)> note = {};
};

/// CSV with a header line through libcsv; streamed, so the text is never held in memory. Quotes,
/// CRLF, a byte order mark, blanks around cells and blank lines are accepted; behind a header of
/// one name a blank line is a row. Throws BadInput "FILE:LINE: ..." on a missing or empty file, a
/// header without rows, a ragged row, an unknown or missing column, more rows than memory holds, of
/// one column a last line without its end and, unless schema.invalid is `middle`, on a cell that is
/// not a finite number, a level that is not in the schema (unless `other`), an empty cell or label,
/// a label that is none of several classes (docs/reference/refusals.md). Columns of type "ignore" may be
/// absent.
Dataset read_csv(const std::string& path, const Schema& schema, const ReadOptions& options = {});
/// LIBSVM/svmlight text "label index:value ...", indices from 1, increasing. Column k of the schema
/// is index k. Absent indices are the number 0 before scaling; work and memory grow with the
/// entries that are not zero after it. In a category the number's shortest
/// text ("3") is the level. Labels are compared as numbers where they are numbers. Lines that are
/// blank or begin with #, but for comments at the top, are rows without a label (docs/reference/data.md).
Dataset read_libsvm(const std::string& path, const Schema& schema, const ReadOptions& options = {});
/// NumPy .npy, float32 or float64, C order: X [n x k] with column j of the schema in column j, and
/// y [n] in options.label_path, compared as a number with the schema's classes.
Dataset read_npy(const std::string& path, const Schema& schema, const ReadOptions& options = {});
/// By the file's extension: .npy; .svm, .libsvm, .svmlight; .parquet, .arrow, .feather, .ipc, by
/// what data/arrow.hpp opens them with; anything else is CSV. A cache that is there and of this
/// table, schema and software, by their hashes, is mapped in place of that; one that is not is made
/// anew. Throws BadInput when a cache is needed and cannot be written, or is asked for beside a
/// Parquet or Arrow file that is not a part of a folder or pattern.
Dataset read_table(const std::string& path, const Schema& schema, const ReadOptions& options = {});
/// Removes the table's cache, those of ranks' shares among them, and what runs that were killed
/// left of one. Returns whether there was any; throws BadInput when it cannot be removed.
bool remove_cache(const std::string& table);

/// Scales `row` (no intercept) down so that its norm in exact arithmetic is <= row_norm, and not
/// below row_norm (1 - 1.3e-7); a row that is inside already keeps its bits (docs/reference/data.md,
/// Clipping). Returns whether it changed. Throws BadInput when a value is not finite or row_norm is
/// not positive.
bool clip_row_to_norm(std::span<float> row, double row_norm);

}  // namespace gibbsite
