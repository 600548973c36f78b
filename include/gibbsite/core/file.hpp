#pragma once
// Files that are whole or absent.
#include <cstddef>
#include <string>
#include <string_view>

namespace gibbsite {

/// Writes `text` to a temporary file beside `path`, syncs and renames it. A path that exists and is
/// not a regular file (/dev/stdout, a pipe) is written directly. `mode` is the permission of a new
/// file. Throws BadInput "PATH: cannot write: ...; ..." and leaves nothing behind.
void write_file_atomically(const std::string& path, std::string_view text, unsigned mode = 0644);

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

  /// Throws as above. `mode` is its permission.
  NewFolder(const std::string& path, unsigned mode);
  ~NewFolder();  ///< removes what was not committed
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  /// Where to write the file of that name.
  [[nodiscard]] std::string file(const std::string& name) const { return temporary_ + "/" + name; }
  /// Syncs the names and gives the folder its own.
  void commit();

 private:
  std::string path_, temporary_;
};

/// Syncs the names in a folder, where its file system allows that.
void sync_folder(const std::string& path);

}  // namespace gibbsite
