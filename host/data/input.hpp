#pragma once
// A file of rows, read front to back in chunks.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/digest.hpp"
#include "data/compressed.hpp"

namespace gibbsite {

/// Bytes that are read at a time. Few under a fuzzer, so that pieces end everywhere.
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
inline constexpr std::size_t chunk_bytes = 64;
#else
inline constexpr std::size_t chunk_bytes = std::size_t{256} << 10;
#endif
/// Bytes between two reports of progress, at most.
inline constexpr std::size_t progress_bytes = 16 * chunk_bytes;

/// What to say of a file that cannot be opened because of that error number.
std::string cannot_open(const std::string& path, int error);

/// Ends a line that quotes nothing of the table but tells what one of its rows is like.
inline constexpr const char* tells_of_row = " (private: this line tells about the table)";

class Input {
 public:
  using Progress = std::function<bool(std::uint64_t, std::uint64_t)>;

  /// Whether a file that gzip or zstd compressed is refused, or its text handed out.
  enum class Compressed { refused, text };

  /// Opens the file; "-" is standard input, read as a pipe. Throws BadInput when it is missing,
  /// empty, a directory, UTF-16 or of a known format that is not read, compressed ones among them.
  /// Where compressed text is handed out, what reads ahead, counts lines or restricts may not be
  /// called, and `size` and progress are of the file's own bytes.
  Input(const std::string& path, Progress progress, Compressed compressed = Compressed::refused);
  ~Input();
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Bytes of a regular file; 0 for a pipe.
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// Lines in all of a regular file (an upper bound on its rows); 0 for a pipe or compressed text.
  [[nodiscard]] std::uint64_t count_lines() const;

  /// Behind a byte order mark: the first byte that is handed out.
  [[nodiscard]] std::uint64_t text_begin() const { return text_begin_; }
  /// What comes first: a line that is not blank, or all that the first chunk holds; not taken.
  std::string_view peek();
  /// The rest of the first chunk, while nothing behind it was taken; for messages.
  [[nodiscard]] std::string peek_all() const;
  /// The next bytes up to and including a newline, or to the end of the chunk; empty at the end of
  /// the file. Valid until the next call. A byte order mark at the start is dropped.
  std::string_view next_piece();
  /// Exactly n bytes, or fewer at the end of the file.
  std::size_t read(char* out, std::size_t n);
  /// Whether read_ahead and skip may be called: not for a pipe, nor where all bytes are digested.
  [[nodiscard]] bool reads_ahead() const { return size_ > 0 && !digest_ && !decompressor_; }
  /// Up to n bytes from `ahead` bytes behind what was handed out, which stay to be read. From any
  /// thread; fewer at the end of the file or where it cannot be read, which `read` tells.
  std::size_t read_ahead(std::uint64_t ahead, char* out, std::size_t n) const;
  /// Hands out n bytes of which read_ahead gave a copy, and reports progress.
  void skip(std::uint64_t n);

  /// From now on only bytes [first, last) of a regular file are handed out, and progress is of
  /// them.
  void restrict(std::uint64_t first, std::uint64_t last);

  /// From now on `digest` can be asked for: what was read so far is read once more, for it.
  void start_digest();
  /// BLAKE2b-256 of the whole file, in hex. Throws BadInput when it changed since it was opened.
  std::string digest();

 private:
  bool fill();
  std::size_t read_file(char* out, std::uint64_t most);
  std::size_t read_some(std::size_t held);  // into the chunk behind `held` bytes
  void report();

  std::string path_;
  Progress progress_;
  int fd_ = -1;
  std::uint64_t size_ = 0, bytes_read_ = 0, reported_ = 0;
  std::uint64_t text_begin_ = 0;
  std::uint64_t begin_ = 0, end_ = ~std::uint64_t{0};  // of what is handed out
  std::vector<char> chunk_;
  const char *first_ = nullptr, *last_ = nullptr;  // what of the chunk is not handed out yet
  std::optional<Digest> digest_;
  std::unique_ptr<Decompressor> decompressor_;
  std::vector<char> raw_;  // compressed bytes
  std::size_t raw_first_ = 0, raw_last_ = 0;
  std::uint64_t made_ = 0, made_reported_ = 0;  // bytes of text
  std::int64_t changed_ = 0;                    // when it was opened, ns
};

/// The numbers, in words, when n rows of d features do not fit in memory, so many bytes each; else
/// empty.
std::string memory_shortage(const std::string& path, std::uint64_t rows, std::uint64_t features,
                            double row_bytes);

}  // namespace gibbsite
