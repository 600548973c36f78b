#include "support/ptx/global_memory.hpp"

namespace gibbsite::ptx {

void GlobalMemory::add(u64 at, u64 size) { allocations_[at] = {.at = at, .size = size}; }

void GlobalMemory::remove(u64 at) {
  last_ = nullptr;
  allocations_.erase(at);
}

GlobalMemory::Allocation* GlobalMemory::search(u64 at, u64 size) {
  auto next = allocations_.upper_bound(at);
  if (next == allocations_.begin()) return nullptr;
  Allocation& found = std::prev(next)->second;
  if (at + size > found.at + found.size) return nullptr;
  last_ = &found;
  return last_;
}

GlobalMemory& global_memory() {
  static auto* const memory = new GlobalMemory;  // modules release their variables at exit
  return *memory;
}

}  // namespace gibbsite::ptx
