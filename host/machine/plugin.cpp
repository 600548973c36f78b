#include "machine/plugin.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>

namespace gibbsite {

void* plugin_function(
    const char* library, const char* function, int flags,
    const std::function<void(const std::string& place, const std::string& why)>& refuse) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  void* opened = nullptr;
  for (const char* const folder : {".", "../lib", "../lib64"}) {
    const fs::path place = program / folder / library;
    if (program.empty() || opened != nullptr || !fs::exists(place, ignored)) continue;
    opened = ::dlopen(place.c_str(), flags);
    if (opened == nullptr) refuse(place.string(), ::dlerror());  // NOLINT: of this thread
  }
  if (opened == nullptr) opened = ::dlopen(library, flags);
  return opened == nullptr ? nullptr : ::dlsym(opened, function);
}

}  // namespace gibbsite
