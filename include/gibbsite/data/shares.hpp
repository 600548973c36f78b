#pragma once
// A table whose rows are read a range at a time, by several processes together: each reads its
// share, and all find out whether every row was read once (docs/how-to/cluster.md).
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gibbsite/data/dataset.hpp"
#include "gibbsite/machine/communicator.hpp"

namespace gibbsite {

/// Rows [first, last) of a table.
struct RowRange {
  std::uint64_t first = 0, last = 0;

  [[nodiscard]] std::uint64_t rows() const { return last - first; }
};

/// Whether the path is a folder, or a pattern (* ? [) that no file is called by: a table in parts.
bool is_in_parts(const std::string& path);
/// The parts, sorted by name: files of the folder but for hidden ones and those that begin with
/// "_", or those of the pattern; the path itself where it is neither. Throws BadInput where there
/// is none, on two that are one file, and on names of several extensions (in a folder: or of none
/// that is known): a copy that an editor left would have its rows counted twice.
std::vector<std::string> parts_of(const std::string& path);
/// Whether a file, that is there or not, is in the folder or of the pattern `path`, or the same
/// file as a part: to write it would destroy a part, or make one.
bool would_be_part(const std::string& file, const std::string& path);

/// Where the rows of a table lie. A .npy table's are found by their size; lines of
/// CSV and LIBSVM text by one scan, of which every rank does its part; those of Parquet and Arrow
/// files by what they say of themselves. A folder or pattern of files is one table, its parts read
/// in the order of their names; each of CSV has its own header, each of .npy its own labels.
///
/// The files are the same at all ranks: names and sizes are compared, and every MiB of them is
/// digested by two ranks, one of which reads its rows; whoever reads rows of a part looks at the
/// pieces that hold its header too.
class SharedTable {
 public:
  /// All ranks call it together, as they call `read`. Throws at all ranks what the first of them
  /// has to say: BadInput as read_table, on a pipe, and on files that differ.
  /// The communicator must outlive this.
  SharedTable(const std::string& path, const Schema& schema, const ReadOptions& options,
              Communicator& ranks);
  SharedTable(const SharedTable&) = delete;
  SharedTable& operator=(const SharedTable&) = delete;
  ~SharedTable();

  /// Rows of the whole table. Private under add-remove.
  [[nodiscard]] std::uint64_t rows() const;
  /// BLAKE2b-256, in hex, of the digests of all files' pieces; empty for one rank with its rows in
  /// memory.
  [[nodiscard]] const std::string& digest() const;
  /// This rank's rows, none perhaps: as they are in read_table of the whole table, bit by bit, and
  /// sparse where those are; where options.cache says so, or, under `automatic`, where the ranks of
  /// one machine cannot hold theirs together, all map them from files of their own
  /// (docs/reference/data.md, Cache). Counts are of these rows alone. Throws at all ranks BadInput
  /// where one cannot read its rows or found others than it should, and where the ranges are not
  /// all rows, each once, in the order of ranks.
  [[nodiscard]] Dataset read(RowRange range) const;

 private:
  struct Files;
  std::unique_ptr<Files> files_;
};

/// Removes the cache of that rank's share and what a kill left of it; throws BadInput when it
/// cannot be removed. What is mapped stays readable.
bool remove_cache_of_share(const std::string& table, std::size_t rank, std::size_t ranks);

/// a's rows, then b's, of one schema and layout.
void append_rows(Dataset& a, Dataset&& b);

}  // namespace gibbsite
