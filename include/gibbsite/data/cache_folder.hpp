#pragma once
// Where caches of rows are kept (docs/reference/data.md, Cache).
#include <string>

namespace gibbsite {

/// Sets the folder in which caches are made, found and removed; it is created with mode 0700 if
/// needed. A table's folder in it is named by the table's name and place. If empty: the folder that
/// GIBBSITE_CACHE_DIR names, or beside the table without that variable. Must not be called while
/// tables are read.
void set_cache_folder(std::string folder);

}  // namespace gibbsite
