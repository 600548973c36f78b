#pragma once
// gzip and zstd, decompressed piece by piece.
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace gibbsite {

/// Why a compressed file cannot be read, with what to do; behind "FILE: ".
struct DamagedFile {
  std::string why;
};

/// Decompresses a stream of bytes; memory is bounded whatever the stream holds.
class Decompressor {
 public:
  /// Bytes taken from the input and written to the output.
  struct Step {
    std::size_t taken = 0, made = 0;
  };

  virtual ~Decompressor() = default;
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;

  /// Decompresses some of in [n] to out [room]. Throws DamagedFile on bytes that are not of the
  /// format, those that follow its end among them.
  virtual Step step(const char* in, std::size_t n, char* out, std::size_t room) = 0;
  /// Whether the input may end here: all of it is decompressed.
  [[nodiscard]] virtual bool may_end() const = 0;

 protected:
  Decompressor() = default;
};

/// Whether bytes begin as gzip or zstd does.
bool is_compressed(std::string_view head);
/// For bytes that begin so; null where they do not.
std::unique_ptr<Decompressor> decompressor_of(std::string_view head);

/// Whether a file's first bytes are those of gzip or zstd; false where it cannot be read.
bool is_compressed_file(const std::string& path);
/// "table.csv" of "table.csv.gz" and "table.csv.zst"; any other path as it is.
std::string without_compression(const std::string& path);

}  // namespace gibbsite
