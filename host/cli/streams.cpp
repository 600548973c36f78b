#include "streams.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

#include "gibbsite/core/error.hpp"

namespace gibbsite::cli {
namespace {

void open_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
    // open() takes the lowest free number, which is this one. Reading 0 and writing 1 fail.
    const int way = stream == STDOUT_FILENO ? O_RDONLY : O_WRONLY;
    if (::open("/dev/null", way) != stream) return;  // NOLINT: POSIX
  }
}

#ifdef __GLIBC__
// Writes to stderr as far as that can be done, and says that all was written.
ssize_t write_what_goes(void*, const char* text, std::size_t size) {
  for (std::size_t done = 0; done < size;) {
    const ssize_t written = ::write(STDERR_FILENO, text + done, size - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    done += static_cast<std::size_t>(written);
  }
  return static_cast<ssize_t>(size);
}
#endif

// Takes no memory: there may be none.
[[noreturn]] void say_last_words() {
  std::string_view line = "gibbsite: an error that nothing handles; please report this\n";
  try {
    if (std::current_exception() != nullptr) std::rethrow_exception(std::current_exception());
  } catch (const std::bad_alloc&) {
    line = "gibbsite: out of memory; use a machine with more, or a smaller table\n";
  } catch (...) {
  }
  static_cast<void>(::write(STDERR_FILENO, line.data(), line.size()) < 0);
  std::_Exit(static_cast<int>(Status::bad_input));
}

}  // namespace

void fail_output(int error) {
  std::clearerr(stdout);
  if (error == EPIPE) throw ReaderLeft();
  throw BadInput(
      fmt::format("standard output: cannot write: {}; what goes to files was written; free space, "
                  "or choose another place for the rest",
                  std::strerror(error)));
}

SafeStreams::SafeStreams() : held_pipe_(std::signal(SIGPIPE, SIG_IGN)) {
  open_closed_streams();
#ifdef __GLIBC__
  std::FILE* const safe = ::fopencookie(
      nullptr, "w", {.read = nullptr, .write = write_what_goes, .seek = nullptr, .close = nullptr});
  if (safe == nullptr) return;
  std::setvbuf(safe, nullptr, _IONBF, 0);
  held_stderr_ = stderr;
  stderr = safe;  // a variable like others in the GNU C library
#endif
}

SafeStreams::~SafeStreams() {
#ifdef __GLIBC__
  if (held_stderr_ != nullptr) {
    std::fclose(stderr);
    stderr = static_cast<std::FILE*>(held_stderr_);
  }
#endif
  std::signal(SIGPIPE, held_pipe_);
}

void (*say_last_words_at_the_end())() { return std::set_terminate(say_last_words); }

LastWords::LastWords() : held_(say_last_words_at_the_end()) {}
LastWords::~LastWords() { std::set_terminate(held_); }

}  // namespace gibbsite::cli
