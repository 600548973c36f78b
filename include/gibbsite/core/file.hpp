#pragma once
// Files that are whole or absent.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "gibbsite/core/error.hpp"

namespace gibbsite {

/// The permissions of a new file. What holds anything that rows say is private.
inline constexpr unsigned public_file = 0644, private_file = 0600;

struct CannotWrite : BadInput {
  CannotWrite(const std::string& path, const Message& wrong, const Message& hint, int number)
      : BadInput(FilePosition{path}, wrong, hint), error(number) {}
  int error;  ///< errno
};

/// Removes what writers of `path` that were killed left beside it: files and folders
/// "PATH.tmp-PID-N" of this user on which nobody holds a lock. Their writer holds one (flock) while
/// it lives, so it does not matter whose number PID is now, nor, where the file system shares
/// locks, on which machine it runs; links, and everything where there are no locks, are left alone.
/// Returns whether there was any. Throws BadInput "PATH: cannot be removed: ...; ...".
bool remove_abandoned(const std::string& path);

/// What becomes of a file that has the name already, however late it came.
enum class Existing { replaced, kept };

/// A new file or folder "PATH.tmp-PID-N" beside its place, locked; it goes with this object unless
/// it was renamed.
class Temporary {
 public:
  enum class Kind { file, folder };

  /// Removes what was abandoned first. Throws CannotWrite "PATH: cannot write: ...; ...".
  Temporary(std::string path, Kind kind, unsigned mode);
  ~Temporary();
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  /// Where it lies until it is renamed.
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] int descriptor() const { return fd_; }
  /// Gives it the place of `path`; where what is there is kept, the error is EEXIST and there is no
  /// moment between looking and renaming. Returns 0 or the error.
  int rename(Existing existing = Existing::replaced);

 private:
  bool take();

  std::string path_, name_;
  int fd_ = -1;
  bool renamed_ = false;
};

/// Writes `text` to a Temporary beside `path`, syncs and renames it. A path that exists and is
/// not a regular file (/dev/stdout, a pipe) is written directly. `mode` is the permission of a new
/// file. Throws CannotWrite "PATH: cannot write: ...; ..." and leaves nothing behind; its error is
/// EEXIST where a file is there that is to be kept.
void write_file_atomically(const std::string& path, std::string_view text,
                           unsigned mode = private_file, Existing existing = Existing::replaced);

/// A file of any length that is written front to back and is there whole or not at all: what
/// write_file_atomically does, piece by piece. What is not committed goes with this object.
class StreamedFile {
 public:
  /// Throws CannotWrite as write_file_atomically.
  explicit StreamedFile(std::string path, unsigned mode = private_file);
  ~StreamedFile();
  StreamedFile(const StreamedFile&) = delete;
  StreamedFile& operator=(const StreamedFile&) = delete;

  void append(std::string_view text);
  /// Syncs and gives it its place; nothing is appended afterwards.
  void commit(Existing existing = Existing::replaced);

 private:
  std::string path_;
  std::optional<Temporary> temporary_;
  int direct_ = -1;  ///< of a device or a pipe
};

/// A new file that is written front to back. Throws BadInput as above; what is there already, a
/// link included, is not written to.
class NewFile {
 public:
  NewFile(std::string path, unsigned mode);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void append(const void* bytes, std::size_t count);
  /// Syncs what was written.
  void sync();

 private:
  std::string path_;
  int fd_ = -1;
};

/// A new folder of files: filled under another name beside `path`, then renamed, so that it is
/// there whole or not at all.
class NewFolder {
 public:
  /// Throws BadInput "PATH: ..." when `path` is a file or a folder that is not empty, or when its
  /// own folder cannot be written to; makes nothing.
  static void require_free(const std::string& path);

  /// Throws as above. `mode` is its permission. What is not committed goes with this object.
  NewFolder(const std::string& path, unsigned mode);
  /// Where to write the file of that name.
  [[nodiscard]] std::string file(const std::string& name) const {
    return temporary_.name() + "/" + name;
  }
  /// Syncs the names and gives the folder its own.
  void commit();

 private:
  std::string path_;
  Temporary temporary_;
};

/// Syncs the names in a folder, where its file system allows that.
void sync_folder(const std::string& path);

}  // namespace gibbsite
