#include "gibbsite/core/memory.hpp"

#include <algorithm>
#include <fstream>
#include <string>

namespace gibbsite {

std::uint64_t available_memory() {
  std::uint64_t available = 0;
  std::ifstream meminfo("/proc/meminfo");
  for (std::string key, unit; meminfo >> key >> available && std::getline(meminfo, unit);)
    if (key == "MemAvailable:") break;
  if (!meminfo) return 0;
  available *= 1024;
  // A container's own limit (cgroup v2, v1); "max" fails to parse as a number.
  for (const char* file :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"})
    if (std::uint64_t limit = 0; std::ifstream(file) >> limit)
      available = std::min(available, limit);
  return available;
}

}  // namespace gibbsite
