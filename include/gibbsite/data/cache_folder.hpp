#pragma once
// Where caches of rows are kept (docs/reference/data.md, Cache).
#include <string>

namespace gibbsite {

/// From now on caches are made, looked for and removed in this folder, which is made with mode 0700
/// where it is not there; a table's own in it is called by the table's name and place. Empty: in
/// the folder that GIBBSITE_CACHE_DIR names, or beside the table where that is not set. Not while
/// tables are read.
void set_cache_folder(std::string folder);

}  // namespace gibbsite
