#include "gibbsite/core/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, int error) {
  const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  const bool no_folder = error == ENOENT || error == ENOTDIR;
  throw CannotWrite(path, "cannot write: " + std::generic_category().message(error),
                    full        ? "free space or choose another path"
                    : no_folder ? "create the folder first or choose another path"
                                : "choose another path",
                    error);
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

// What only closing reports, on some file systems; the file and its lock stay.
int error_of_close(int fd) {
  const int copy = ::dup(fd);
  return copy < 0 || ::close(copy) != 0 ? errno : 0;
}

int rename_over(const char* from, const char* to) { return ::rename(from, to) == 0 ? 0 : errno; }
// Replaces nothing: EEXIST where there is something.
int rename_new(const char* from, const char* to) {
  if (::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;  // else the file system has no such rename
  if (::link(from, to) == 0) {
    ::unlink(from);  // where that fails, the next writer sweeps it
    return 0;
  }
  if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS) return errno;
  // Nor a second name for a file: the name is taken by an empty one first.
  const int claim = ::open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (claim < 0) return errno;
  ::close(claim);
  const int error = rename_over(from, to);
  if (error != 0) ::unlink(to);
  return error;
}

// /dev/stdout and its kin name an open descriptor: replacing what is behind it would cut it off.
bool names_a_descriptor(const std::string& path) {
  return path == "/dev/stdout" || path == "/dev/stderr" || path.starts_with("/dev/fd/") ||
         path.starts_with("/proc/");
}
// Its number; -1 for other paths.
int descriptor_of(std::string_view path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    int number = -1;
    const char* const end = path.data() + path.size();
    const auto [stop, error] = std::from_chars(path.data() + folder.size(), end, number);
    if (error == std::errc{} && stop == end) return number;
  }
  return -1;
}

// Absolute, links resolved, no slash at the end.
std::string whole_path(const std::string& path) {
  std::error_code error;
  fs::path whole = fs::absolute(path, error);
  if (!error) whole = fs::weakly_canonical(whole, error);
  if (error) fail(path, error.value());
  return (whole.has_filename() ? whole : whole.parent_path()).string();
}

// A symbolic link stays one: what it points to is replaced.
std::string target_of(const std::string& path) {
  std::error_code ignored;
  return fs::is_symlink(path, ignored) && fs::exists(path, ignored)
             ? fs::canonical(path, ignored).string()
             : path;
}

// "PID-N"
bool two_numbers(std::string_view text) {
  const auto is_number = [](std::string_view part) {
    return !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
  };
  const std::size_t dash = text.find('-');
  return dash != std::string_view::npos && is_number(text.substr(0, dash)) &&
         is_number(text.substr(dash + 1));
}

bool remove_if_abandoned(const std::string& name) {
  struct stat there {
  }, held{};
  if (::lstat(name.c_str(), &there) != 0 || there.st_uid != ::geteuid()) return false;
  const bool folder = S_ISDIR(there.st_mode);
  if (!folder && !S_ISREG(there.st_mode)) return false;
  // A lock of one alone needs a file that is open for writing on NFS.
  const int fd = ::open(name.c_str(), (folder ? O_RDONLY | O_DIRECTORY : O_WRONLY) | O_NOFOLLOW |
                                          O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return false;
  // A writer renames its file and may make the next under the same name: what is locked must be
  // what is there.
  const bool abandoned = ::flock(fd, LOCK_EX | LOCK_NB) == 0 && ::fstat(fd, &held) == 0 &&
                         ::lstat(name.c_str(), &there) == 0 && there.st_dev == held.st_dev &&
                         there.st_ino == held.st_ino;
  std::error_code error;
  const bool removed = abandoned && fs::remove_all(name, error) > 0;
  ::close(fd);
  if (error) {
    throw BadInput(fmt::format(
        "{}: cannot be removed: {}; remove it yourself, it was left by a run that was killed", name,
        error.message()));
  }
  return removed;
}

// What no new file can take the place of.
bool is_special(const std::string& path) {
  std::error_code ignored;
  const auto status = fs::status(path, ignored);
  return names_a_descriptor(path) || (fs::exists(status) && !fs::is_regular_file(status));
}
int open_directly(const std::string& path) {
  // A socket, or a terminal of another user, can be written to but not opened anew.
  const int named = descriptor_of(path);
  const int fd = named >= 0 ? ::fcntl(named, F_DUPFD_CLOEXEC, 0)
                            : ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0) fail(path, errno);
  return fd;
}

void write_directly(const std::string& path, std::string_view text) {
  const int fd = open_directly(path);
  int error = write_all(fd, text);
  if (::close(fd) != 0 && error == 0) error = errno;
  if (error != 0) fail(path, error);
}

}  // namespace

bool remove_abandoned(const std::string& path) {
  const fs::path target = target_of(path);
  const std::string prefix = target.filename().string() + ".tmp-";
  const fs::path folder = target.parent_path();
  bool removed = false;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix) && two_numbers(std::string_view(name).substr(prefix.size()))) {
      removed = remove_if_abandoned(entry.path()) || removed;
    }
  }
  return removed;
}

Temporary::Temporary(std::string path, Kind kind, unsigned mode) : path_(std::move(path)) {
  remove_abandoned(path_);
  for (int attempt = 0;; ++attempt) {
    name_ = fmt::format("{}.tmp-{}-{}", path_, ::getpid(), attempt);
    if (kind == Kind::file) {
      fd_ = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    } else if (::mkdir(name_.c_str(), mode) == 0) {
      fd_ = ::open(name_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      if (fd_ < 0 && errno == ENOENT) continue;  // swept before it was locked
    }
    if (fd_ < 0 && (errno != EEXIST || attempt == 1000)) fail(path_, errno);
    if (fd_ >= 0 && take()) return;
  }
}

// False when another process found it before it was locked, and removes it.
bool Temporary::take() {
  struct stat info {};
  const bool locked = ::flock(fd_, LOCK_EX | LOCK_NB) == 0;
  const bool contested = !locked && errno == EWOULDBLOCK;  // else there are no locks here
  if (!contested && (::fstat(fd_, &info) != 0 || info.st_nlink != 0)) return true;
  ::close(fd_);
  fd_ = -1;
  return false;
}

Temporary::~Temporary() {
  std::error_code ignored;
  if (!renamed_) fs::remove_all(name_, ignored);
  ::close(fd_);
}

int Temporary::rename(Existing existing) {
  const auto give = existing == Existing::kept ? rename_new : rename_over;
  if (const int error = give(name_.c_str(), path_.c_str()); error != 0) return error;
  renamed_ = true;
  // The rename itself survives a power cut once the folder is synced.
  sync_folder(fs::path(path_).parent_path());
  return 0;
}

void write_file_atomically(const std::string& path, std::string_view text, unsigned mode,
                           Existing existing) {
  if (is_special(path)) return write_directly(path, text);
  Temporary file(target_of(path), Temporary::Kind::file, mode);
  int error = write_all(file.descriptor(), text);
  if (error == 0) error = error_of_close(file.descriptor());
  if (error == 0) error = file.rename(existing);
  if (error != 0) fail(path, error);
}

StreamedFile::StreamedFile(std::string path, unsigned mode) : path_(std::move(path)) {
  if (is_special(path_)) {
    direct_ = open_directly(path_);
  } else {
    temporary_.emplace(target_of(path_), Temporary::Kind::file, mode);
  }
}

StreamedFile::~StreamedFile() {
  if (direct_ >= 0) ::close(direct_);
}

void StreamedFile::append(std::string_view text) {
  const int error = write_bytes(temporary_ ? temporary_->descriptor() : direct_, text);
  if (error != 0) fail(path_, error);
}

void StreamedFile::commit(Existing existing) {
  int error = sync_bytes(temporary_ ? temporary_->descriptor() : direct_);
  if (error == 0 && temporary_) error = error_of_close(temporary_->descriptor());
  if (error == 0 && temporary_) error = temporary_->rename(existing);
  if (error != 0) fail(path_, error);
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

NewFolder::NewFolder(const std::string& path, unsigned mode)
    : path_((require_free(path), whole_path(path))),
      temporary_(path_, Temporary::Kind::folder, mode) {}

void NewFolder::commit() {
  sync_folder(temporary_.name());
  if (const int error = temporary_.rename(); error != 0) fail(path_, error);
}

void sync_folder(const std::string& path) {
  const int dir = ::open(path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir < 0) return;
  ::fsync(dir);
  ::close(dir);
}

}  // namespace gibbsite
