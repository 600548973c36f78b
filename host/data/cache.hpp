#pragma once
// Rows of a table in files beside it, mapped instead of held: TABLE.gibbsite-cache/
// (data/cache.cpp has the layout). The rows are private: the folder has mode 0700, its files 0600.
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/digest.hpp"
#include "gibbsite/core/file.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/data/shares.hpp"

namespace gibbsite {

/// The folder of a table's cache, and of the cache of a rank's share: beside the table. A pattern's
/// is beside what it matches, its signs and slashes as '_'.
std::string cache_of(const std::string& table);
std::string cache_of_share(const std::string& table, std::size_t rank, std::size_t ranks);

/// What a cache's rows were read from: digests in hex.
struct CacheOrigin {
  std::string input;
  std::uint64_t input_bytes = 0;
  std::string label_file;         ///< "" when there is none, or it is of `input`
  std::optional<RowRange> share;  ///< those rows of it; none: all
};

/// Writes a cache into a folder beside its place, which is renamed when all is there and else goes
/// with this object.
class CacheWriter {
 public:
  enum Array { x, begin, feature, value, labels, offsets, weights };

  /// Removes a cache that is there. Throws BadInput when the folder cannot be made.
  explicit CacheWriter(std::string cache);

  template <class T>
  void append(Array array, std::span<const T> values) {
    append(array, values.data(), values.size_bytes());
  }
  /// So many more rows are appended, with which there are so many entries.
  void add_rows(std::uint64_t rows, std::uint64_t entries) {
    rows_ += rows;
    entries_ = entries;
  }
  [[nodiscard]] std::uint64_t rows() const { return rows_; }
  [[nodiscard]] std::uint64_t entries() const { return entries_; }
  /// Labels and description of what was appended, then the rename. Returns the rows, mapped.
  MappedTable finish(const Dataset& data, bool sparse, const CacheOrigin& origin,
                     const ReadOptions& options);

 private:
  struct Part {
    std::unique_ptr<NewFile> file;
    Digest digest;
    std::uint64_t bytes = 0;
  };
  void append(Array array, const void* bytes, std::size_t count);

  std::string cache_;
  std::optional<Temporary> folder_;
  std::array<Part, 7> parts_;
  std::uint64_t rows_ = 0, entries_ = 0;
};

/// BLAKE2b-256 of a file, in hex.
std::string digest_of_file(const std::string& path);
/// Whether a folder is there that may be used and replaced. One of another user may not: with
/// Cache::automatic it is as if there were none, with Cache::always BadInput is thrown.
bool has_cache(const std::string& cache, const ReadOptions& options);
/// The rows of the cache that is there; nothing, after a note that says why, when it is damaged or
/// of another table, schema, way of reading or software. Reads the table and the cache once, for
/// their digests; progress counts the bytes of both.
std::optional<Dataset> open_cache(const std::string& table, const Schema& schema,
                                  const ReadOptions& options);
/// Opens the cache in that folder if its rows are of that origin, which is known already: only the
/// cache is read.
std::optional<Dataset> open_cache(const std::string& cache, const Schema& schema,
                                  const ReadOptions& options, const CacheOrigin& origin);
/// Removes one cache and what runs that were killed left of it, as `remove_cache`.
bool remove_cache_folder(const std::string& cache);

inline void note(const ReadOptions& options, const Message& line) {
  if (options.note) options.note(line);
}

}  // namespace gibbsite
