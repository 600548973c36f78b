#pragma once
// Libraries that are part of gibbsite and not linked to it: what only some jobs need.
#include <functional>
#include <string>

namespace gibbsite {

/// A function of the library of that name beside the program, in ../lib or ../lib64 of it, or where
/// the system looks; null where none is found. `flags`: as of dlopen. One that is there and does
/// not load is told to `refuse` (its place, why), which throws.
[[nodiscard]] void* plugin_function(
    const char* library, const char* function, int flags,
    const std::function<void(const std::string& place, const std::string& why)>& refuse);

}  // namespace gibbsite
