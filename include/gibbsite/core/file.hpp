#pragma once
// Files that are whole or absent.
#include <string>
#include <string_view>

namespace gibbsite {

/// Writes `text` to a temporary file beside `path`, syncs and renames it. A path that exists and is
/// not a regular file (/dev/stdout, a pipe) is written directly. `mode` is the permission of a new
/// file. Throws BadInput "PATH: cannot write: ...; ..." and leaves nothing behind.
void write_file_atomically(const std::string& path, std::string_view text, unsigned mode = 0644);

}  // namespace gibbsite
