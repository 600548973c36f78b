#include "data/compressed.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <limits>
#include <new>

#include "data/text.hpp"

namespace gibbsite {

namespace {

using namespace std::string_view_literals;
constexpr std::string_view gzip_magic = "\x1f\x8b"sv, zstd_magic = "\x28\xb5\x2f\xfd"sv;

constexpr const char* trailing_bytes =
    "other bytes follow the end of the compressed text; write the file again";

/// Members one behind another are one text, as `gzip -dc` reads them.
class Gzip : public Decompressor {
 public:
  Gzip() {
    constexpr int largest_window = 15, gzip_only = 16;
    if (::inflateInit2(&stream_, largest_window + gzip_only) != Z_OK) throw std::bad_alloc();
  }
  ~Gzip() override { ::inflateEnd(&stream_); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  Step step(const char* in, std::size_t n, char* out, std::size_t room) override {
    constexpr std::size_t most = std::numeric_limits<uInt>::max();
    if (ended_) {
      if (n == 0) return {};
      if (*in != gzip_magic[0]) throw DamagedFile{trailing_bytes};
      ::inflateReset(&stream_);
      ended_ = false;
    }
    // zlib takes its input as bytes that it may write to, and does not write to them.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in));
    stream_.avail_in = static_cast<uInt>(std::min(n, most));
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = static_cast<uInt>(std::min(room, most));
    const uInt before_in = stream_.avail_in, before_out = stream_.avail_out;
    const int status = ::inflate(&stream_, Z_NO_FLUSH);
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) {
      const char* const what = members_ > 0 && stream_.total_out == 0 ? trailing_bytes : nullptr;
      throw DamagedFile{what != nullptr
                            ? what
                            : fmt::format("the gzip file is damaged ({}); copy or write it again",
                                          stream_.msg != nullptr ? stream_.msg : "no gzip")};
    }
    ended_ = status == Z_STREAM_END;
    members_ += ended_ ? 1 : 0;
    return {before_in - stream_.avail_in, before_out - stream_.avail_out};
  }
  [[nodiscard]] bool may_end() const override { return ended_; }

 private:
  z_stream stream_{};
  bool ended_ = false;
  std::size_t members_ = 0;
};

/// Frames one behind another are one text. A frame whose window is larger than 128 MiB is refused,
/// so that no file says how much memory is taken.
class Zstd : public Decompressor {
 public:
  Zstd() : stream_(::ZSTD_createDStream()) {
    if (stream_ == nullptr) throw std::bad_alloc();
    constexpr int largest_window = 27;
    ::ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, largest_window);
  }
  ~Zstd() override { ::ZSTD_freeDStream(stream_); }
  Zstd(const Zstd&) = delete;
  Zstd& operator=(const Zstd&) = delete;

  Step step(const char* in, std::size_t n, char* out, std::size_t room) override {
    if (ended_ && n == 0) return {};
    ZSTD_inBuffer from{in, n, 0};
    ZSTD_outBuffer to{out, room, 0};
    const std::size_t status = ::ZSTD_decompressStream(stream_, &to, &from);
    if (::ZSTD_isError(status) != 0) {
      const ZSTD_ErrorCode code = ::ZSTD_getErrorCode(status);
      if (code == ZSTD_error_memory_allocation) throw std::bad_alloc();
      if (code == ZSTD_error_frameParameter_windowTooLarge)
        throw DamagedFile{
            "the zstd file needs a window of more than 128 MiB; compress it with a smaller one"};
      if (code == ZSTD_error_prefix_unknown && frames_ > 0) throw DamagedFile{trailing_bytes};
      throw DamagedFile{fmt::format("the zstd file is damaged ({}); copy or write it again",
                                    ::ZSTD_getErrorName(status))};
    }
    if (status == 0 && (from.pos > 0 || !ended_)) ++frames_;
    ended_ = status == 0;
    return {from.pos, to.pos};
  }
  [[nodiscard]] bool may_end() const override { return ended_; }

 private:
  ZSTD_DStream* stream_;
  bool ended_ = false;
  std::size_t frames_ = 0;
};

}  // namespace

bool is_compressed(std::string_view head) {
  return head.starts_with(gzip_magic) || head.starts_with(zstd_magic);
}

std::unique_ptr<Decompressor> decompressor_of(std::string_view head) {
  if (head.starts_with(gzip_magic)) return std::make_unique<Gzip>();
  if (head.starts_with(zstd_magic)) return std::make_unique<Zstd>();
  return nullptr;
}

bool is_compressed_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  std::array<char, 4> head{};
  const ssize_t got = ::pread(fd, head.data(), head.size(), 0);
  ::close(fd);
  return got > 0 && is_compressed({head.data(), static_cast<std::size_t>(got)});
}

std::string without_compression(const std::string& path) {
  for (const std::string_view extension : {".gz"sv, ".zst"sv})
    if (extension_of(path) == extension) return path.substr(0, path.size() - extension.size());
  return path;
}

}  // namespace gibbsite
