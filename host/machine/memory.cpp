#include "gibbsite/machine/memory.hpp"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace gibbsite {

namespace {
// `key` of a file of lines "key: N kB", in bytes; 0 when it is not there.
std::uint64_t bytes_of(const char* file, const std::string& key) {
  std::ifstream lines(file);
  for (std::string name, rest; lines >> name && std::getline(lines, rest);)
    if (name == key) return std::stoull(rest) * 1024;
  return 0;
}
}  // namespace

std::uint64_t available_memory_of_machine() {
  std::uint64_t available = bytes_of("/proc/meminfo", "MemAvailable:");
  if (available == 0) return 0;
  // A container's own limit (cgroup v2, v1); "max" fails to parse as a number.
  for (const char* file :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"})
    if (std::uint64_t limit = 0; std::ifstream(file) >> limit)
      available = std::min(available, limit);
  return available;
}

std::uint64_t available_memory() {
  std::uint64_t available = available_memory_of_machine();
  if (available == 0) return 0;
  // ulimit -d
  if (rlimit data{}; ::getrlimit(RLIMIT_DATA, &data) == 0 && data.rlim_cur != RLIM_INFINITY) {
    const std::uint64_t used = bytes_of("/proc/self/status", "VmData:");
    // At least 1: 0 is "unknown".
    available = std::min(available, data.rlim_cur > used ? data.rlim_cur - used : 1);
  }
  return available;
}

void prefer_huge_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  // Below that what malloc takes may be of its heap, which others use after.
  constexpr std::size_t huge = std::size_t{2} << 20, least = 32 * huge;
  if (bytes < least) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::size_t lead = (huge - begin % huge) % huge;
  (void)::madvise(static_cast<std::byte*>(memory) + lead, (bytes - lead) / huge * huge,
                  MADV_HUGEPAGE);
#endif
}

}  // namespace gibbsite
