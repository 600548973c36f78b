#pragma once
// Files that are whole or absent.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "gibbsite/core/error.hpp"

namespace gibbsite {

/// Permissions of new files. Files with anything that rows say are private.
inline constexpr unsigned public_file = 0644, private_file = 0600;

struct CannotWrite : BadInput {
  CannotWrite(const std::string& path, const Message& wrong, const Message& hint, int number)
      : BadInput(FilePosition{path}, wrong, hint), error(number) {}
  int error;  ///< errno
};

/// Removes what killed writers of `path` left beside it: files and folders "PATH.tmp-PID-N" of this
/// user on which nobody holds a lock. A live writer holds a lock (flock), so neither the PID nor,
/// if the file system shares locks, the machine matters. Links are left alone, and so is everything
/// if there are no locks. Returns whether there was any. Throws BadInput "PATH: cannot be removed:
/// ...; ...".
bool remove_abandoned(const std::string& path);

/// Whether a file that has the name already is replaced or kept, however late it came.
enum class Existing { replaced, kept };

/// A new file or folder "PATH.tmp-PID-N" beside `path`, locked. The destructor removes it unless it
/// was renamed.
class Temporary {
 public:
  enum class Kind { file, folder };

  /// Makes it, after removing what was abandoned. Throws CannotWrite "PATH: cannot write: ...;
  /// ...".
  Temporary(std::string path, Kind kind, unsigned mode);
  ~Temporary();
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  /// Its path until it is renamed.
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] int descriptor() const { return fd_; }
  /// Renames it to `path` and returns 0 or the errno. With Existing::kept it is EEXIST if the name
  /// is taken, with no moment between looking and renaming.
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

/// A file of any length that is written front to back and exists whole or not at all:
/// write_file_atomically, piece by piece. The destructor removes what was not committed.
class StreamedFile {
 public:
  /// Throws CannotWrite as write_file_atomically.
  explicit StreamedFile(std::string path, unsigned mode = private_file);
  ~StreamedFile();
  StreamedFile(const StreamedFile&) = delete;
  StreamedFile& operator=(const StreamedFile&) = delete;

  void append(std::string_view text);
  /// Syncs the file and renames it to its place; nothing can be appended afterwards.
  void commit(Existing existing = Existing::replaced);

 private:
  std::string path_;
  std::optional<Temporary> temporary_;
  int direct_ = -1;  ///< of a device or a pipe
};

/// A new file that is written front to back. Throws BadInput "PATH: ...". An existing file or link
/// is not written to.
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

/// A new folder of files. It is filled under another name beside `path` and then renamed, so it
/// exists whole or not at all.
class NewFolder {
 public:
  /// Throws BadInput "PATH: ..." when `path` is a file or a folder that is not empty, or when its
  /// own folder cannot be written to; makes nothing.
  static void require_free(const std::string& path);

  /// Makes the folder with the permission `mode`. Throws as require_free. The destructor removes
  /// what was not committed.
  NewFolder(const std::string& path, unsigned mode);
  /// The path for the file `name` of the folder.
  [[nodiscard]] std::string file(const std::string& name) const {
    return temporary_.name() + "/" + name;
  }
  /// Syncs the names and renames the folder to its place.
  void commit();

 private:
  std::string path_;
  Temporary temporary_;
};

/// Syncs the names in a folder, if its file system allows that.
void sync_folder(const std::string& path);

}  // namespace gibbsite
