#pragma once
// What every harness asks of a reader: it takes its input, or it throws a gibbsite::Error of one
// line that a terminal may show. Anything else ends the program, which libFuzzer reports.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"

namespace gibbsite::fuzz {

inline void require(bool holds, std::string_view what, std::string_view shown = {}) {
  if (holds) return;
  fmt::print(stderr, "finding: {}: {}\n", what, shown);
  std::abort();
}

inline void require_one_line(std::string_view text) {
  require(shown(text) == text, "a line that is more than one, or not safe to show", shown(text));
}

/// Whether `f` returned; false when it threw an Error.
template <class F>
bool accepts(F f) {
  try {
    f();
    return true;
  } catch (const Error& error) {
    require_one_line(error.what());
    return false;
  }
}

/// A file in memory that readers open by its path.
class File {
 public:
  File() : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) { require(fd_ >= 0, "memfd_create"); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { ::close(fd_); }

  const std::string& holding(std::string_view bytes) {
    const auto size = static_cast<ssize_t>(bytes.size());
    require(::ftruncate(fd_, size) == 0 && ::pwrite(fd_, bytes.data(), bytes.size(), 0) == size,
            "memfd");
    return path_;
  }

 private:
  int fd_;
  std::string path_ = fmt::format("/proc/self/fd/{}", fd_);
};

/// Takes the first byte off, for options; 0 of nothing.
inline unsigned take_byte(std::string_view& in) {
  if (in.empty()) return 0;
  const auto byte = static_cast<unsigned char>(in.front());
  in.remove_prefix(1);
  return byte;
}

void run(std::string_view in);  // the harness

}  // namespace gibbsite::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gibbsite::fuzz::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
