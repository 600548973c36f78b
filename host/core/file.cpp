#include "gibbsite/core/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, int error) {
  const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  const bool no_folder = error == ENOENT || error == ENOTDIR;
  throw BadInput(fmt::format("{}: cannot write: {}; {}", path,
                             std::generic_category().message(error),
                             full        ? "free space or choose another path"
                             : no_folder ? "create the folder first or choose another path"
                                         : "choose another path"));
}

// Both return 0 or the error.
int write_bytes(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}
int sync_bytes(int fd) {
  // A pipe or a terminal cannot be synced and says EINVAL or EROFS.
  if (::fsync(fd) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP) return errno;
  return 0;
}
int write_all(int fd, std::string_view text) {
  const int error = write_bytes(fd, text);
  return error != 0 ? error : sync_bytes(fd);
}

// /dev/stdout and its kin name an open descriptor: replacing what is behind it would cut it off.
bool names_a_descriptor(const std::string& path) {
  return path == "/dev/stdout" || path == "/dev/stderr" || path.starts_with("/dev/fd/") ||
         path.starts_with("/proc/");
}

// Absolute, links resolved, no slash at the end.
std::string whole_path(const std::string& path) {
  std::error_code error;
  fs::path whole = fs::absolute(path, error);
  if (!error) whole = fs::weakly_canonical(whole, error);
  if (error) fail(path, error.value());
  return (whole.has_filename() ? whole : whole.parent_path()).string();
}

void write_directly(const std::string& path, std::string_view text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0) fail(path, errno);
  int error = write_all(fd, text);
  if (::close(fd) != 0 && error == 0) error = errno;
  if (error != 0) fail(path, error);
}

}  // namespace

void write_file_atomically(const std::string& path, std::string_view text, unsigned mode) {
  std::error_code ignored;
  const auto status = fs::status(path, ignored);
  if (names_a_descriptor(path) || (fs::exists(status) && !fs::is_regular_file(status))) {
    return write_directly(path, text);
  }
  // A symbolic link stays one: what it points to is replaced.
  const std::string target = fs::is_symlink(path, ignored) && fs::exists(status)
                                 ? fs::canonical(path, ignored).string()
                                 : path;
  std::string temporary;
  int fd = -1;
  for (int attempt = 0; fd < 0; ++attempt) {
    temporary = fmt::format("{}.tmp-{}-{}", target, ::getpid(), attempt);
    fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0 && (errno != EEXIST || attempt == 1000)) fail(path, errno);
  }
  int error = write_all(fd, text);
  if (::close(fd) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(temporary.c_str(), target.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(temporary.c_str());
    fail(path, error);
  }
  // The rename itself survives a power cut once the folder is synced.
  sync_folder(fs::path(target).parent_path());
}

NewFile::NewFile(std::string path, unsigned mode)
    : path_(std::move(path)),
      fd_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)) {
  if (fd_ < 0) fail(path_, errno);
}

NewFile::~NewFile() { ::close(fd_); }

void NewFile::append(const void* bytes, std::size_t count) {
  const int error = write_bytes(fd_, {static_cast<const char*>(bytes), count});
  if (error != 0) fail(path_, error);
}

void NewFile::sync() {
  const int error = sync_bytes(fd_);
  if (error != 0) fail(path_, error);
}

void NewFolder::require_free(const std::string& path) {
  if (path.empty()) fail(path, ENOENT);
  std::error_code error;
  const auto status = fs::status(path, error);
  const bool there = fs::exists(status);
  if (there && !fs::is_directory(status)) {
    throw BadInput(fmt::format("{}: is a file; give a new folder", path));
  }
  if (there && !fs::is_empty(path, error) && !error) {
    throw BadInput(
        fmt::format("{}: is there and not empty; remove it or give another folder", path));
  }
  if (there && fs::equivalent(path, ".", error)) {
    throw BadInput(fmt::format("{}: is the current folder; give a new one in it", path));
  }
  const fs::path parent = fs::path(whole_path(path)).parent_path();
  if (::access(parent.c_str(), W_OK | X_OK) != 0) fail(path, errno);
}

NewFolder::NewFolder(const std::string& path, unsigned mode) : path_(whole_path(path)) {
  require_free(path);
  for (int attempt = 0;; ++attempt) {
    temporary_ = fmt::format("{}.tmp-{}-{}", path_, ::getpid(), attempt);
    if (::mkdir(temporary_.c_str(), mode) == 0) return;
    if (errno != EEXIST || attempt == 1000) fail(path, errno);
  }
}

NewFolder::~NewFolder() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

void NewFolder::commit() {
  sync_folder(temporary_);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail(path_, errno);
  temporary_.clear();
  sync_folder(fs::path(path_).parent_path());
}

void sync_folder(const std::string& path) {
  const int dir = ::open(path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir < 0) return;
  ::fsync(dir);
  ::close(dir);
}

}  // namespace gibbsite
