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

/// Syncs the names in a folder, where its file system allows that.
void sync_folder(const std::string& path);

}  // namespace gibbsite
