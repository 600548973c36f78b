#pragma once
// Global memory: what is allocated, and who read and wrote each word in the launch that runs.
#include <map>
#include <vector>

#include "support/ptx/program.hpp"

namespace gibbsite::ptx {

/// An access by a thread of a block, at its time there (races.hpp).
struct GlobalAccess {
  u32 block = 0, generation = 0, clock = 0;
  u16 thread = 0;
  u8 bytes = 0;  // mask of the word's bytes, 0: no access
  bool strong = false;
};

/// Four bytes of global memory. Of readers the last one and the last one of another block are kept.
struct GlobalWord {
  u32 launch = 0;  // of which the rest is
  GlobalAccess write = {}, read = {}, other_read = {};
};

class GlobalMemory {
 public:
  struct Allocation {
    u64 at = 0, size = 0;
    std::vector<GlobalWord> words = {};  // empty until a kernel accesses it
  };
  void add(u64 at, u64 size);
  void remove(u64 at);
  /// Null where not all of these bytes are in one allocation.
  Allocation* find(u64 at, u64 size) {
    if (last_ != nullptr && at >= last_->at && at + size <= last_->at + last_->size) return last_;
    return search(at, size);
  }

 private:
  Allocation* search(u64 at, u64 size);
  std::map<u64, Allocation> allocations_;
  Allocation* last_ = nullptr;
};
GlobalMemory& global_memory();

}  // namespace gibbsite::ptx
