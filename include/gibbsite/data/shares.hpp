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

/// True if the path is a folder, or a pattern (* ? [) that is no file's name: a table in parts.
bool is_in_parts(const std::string& path);
/// The parts of a table, sorted by name: the files that match the pattern, or the path itself if it
/// is one file. In a folder they are all files but hidden ones and those that begin with "_".
/// Throws BadInput if there is none, if two are one file, or if extensions differ (in a folder also
/// if none is known). A copy that an editor left would have its rows counted twice.
std::vector<std::string> parts_of(const std::string& path);
/// True if a file, existing or not, would be in the folder or match the pattern `path`, or is the
/// same file as a part. Writing it would destroy or add a part.
bool would_be_part(const std::string& file, const std::string& path);

/// Finds where the rows of a table lie. Rows of a .npy table follow from its size, lines of CSV and
/// LIBSVM text from one scan that the ranks share. Parquet and Arrow files say it themselves. A
/// folder or pattern of files is one table, with its parts in the order of their names. Each CSV
/// part has its own header, each .npy part its own labels.
/// The files must be the same at all ranks. Names and sizes are compared, and two ranks digest
/// every MiB, one of them the rank that reads its rows. A rank that reads rows of a part also reads
/// the pieces that contain its header.
class SharedTable {
 public:
  /// All ranks call the constructor and `read` together. Throws at all ranks the error of the first
  /// one that has one: BadInput as read_table, on a pipe, and on files that differ. The
  /// communicator must outlive this object.
  SharedTable(const std::string& path, const Schema& schema, const ReadOptions& options,
              Communicator& ranks);
  SharedTable(const SharedTable&) = delete;
  SharedTable& operator=(const SharedTable&) = delete;
  ~SharedTable();

  /// Number of rows of the whole table. Private under add-remove.
  [[nodiscard]] std::uint64_t rows() const;
  /// BLAKE2b-256, in hex, of the digests of all files' pieces. Empty for one rank with its rows in
  /// memory.
  [[nodiscard]] const std::string& digest() const;
  /// This rank's rows, maybe none, with the bits and the layout of read_table of the whole table.
  /// All ranks map them from files of their own if options.cache says so. Under `automatic` they do
  /// if one machine's ranks cannot hold theirs together (docs/reference/data.md, Cache). Counts are
  /// of these rows alone. Throws BadInput at all ranks if one cannot read its rows or found others
  /// than it should. Throws it too unless the ranges are all rows, each once, in the order of
  /// ranks. If the schema says whose rows are, places of people are those of the whole table: ranks
  /// exchange hashes of ids under one key, which rank 0 draws and which lasts as long as this call.
  [[nodiscard]] Dataset read(RowRange range) const;

 private:
  struct Files;
  std::unique_ptr<Files> files_;
};

/// Removes the cache of a rank's share and what a killed run left of it. What is mapped stays
/// readable. Returns whether there was any; throws BadInput if it cannot be removed.
bool remove_cache_of_share(const std::string& table, std::size_t rank, std::size_t ranks);

/// Weighs the rows of a person who has m of them on all ranks together, as Dataset::hold_people
/// does. `share` is what this rank read by SharedTable::read, whose people have the same places on
/// all ranks; each rank counts its own rows, and the ranks exchange these counts. All ranks call it
/// together; it throws at all of them what Dataset::hold_people would of the whole table.
void hold_people(Dataset& share, std::uint64_t k, Communicator& ranks);

/// Appends b's rows to a's; both have one schema and layout.
void append_rows(Dataset& a, Dataset&& b);

}  // namespace gibbsite
