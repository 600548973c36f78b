#pragma once
// Rows of a table in files beside it, mapped instead of held: TABLE.gibbsite-cache/
// (docs/formats.md, Cache). The rows are private: the folder has mode 0700, its files 0600.
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/digest.hpp"
#include "data/input.hpp"
#include "gibbsite/core/file.hpp"
#include "gibbsite/data/dataset.hpp"

namespace gibbsite {

/// Writes a cache into a folder beside its place, which is renamed when all is there and else goes
/// with this object.
class CacheWriter {
 public:
  enum Array { x, begin, feature, value, labels, offsets };

  /// Removes a cache that is there. Throws BadInput when the folder cannot be made.
  explicit CacheWriter(const std::string& table);

  template <class T>
  void append(Array array, std::span<const T> values) {
    append(array, values.data(), values.size_bytes());
  }
  /// Labels and description of what was appended, then the rename. Returns the rows, mapped.
  std::shared_ptr<const Rows> finish(const Dataset& data, std::uint64_t rows, bool sparse,
                                     Input& input, const ReadOptions& options);

 private:
  struct Part {
    std::unique_ptr<NewFile> file;
    Digest digest;
    std::uint64_t bytes = 0;
  };
  void append(Array array, const void* bytes, std::size_t count);

  std::string cache_;
  std::optional<Temporary> folder_;
  std::array<Part, 6> parts_;
};

/// Whether a folder is there that may be used and replaced. One of another user may not: with
/// Cache::automatic it is as if there were none, with Cache::always BadInput is thrown.
bool has_cache(const std::string& table, const ReadOptions& options);
/// The rows of the cache that is there; nothing, after a note that says why, when it is damaged or
/// of another table, schema, way of reading or software. Reads the table and the cache once, for
/// their digests; progress counts the bytes of both.
std::optional<Dataset> open_cache(const std::string& table, const Schema& schema,
                                  const ReadOptions& options);

inline void note(const ReadOptions& options, const std::string& line) {
  if (options.note) options.note(line);
}

}  // namespace gibbsite
