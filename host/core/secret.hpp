#pragma once
// Bytes that hold a key: no copy of them is left in memory that was given back.
#include <sodium.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace gibbsite {

template <class T>
struct WipingAllocator {
  using value_type = T;
  WipingAllocator() = default;
  template <class U>
  WipingAllocator(const WipingAllocator<U>& /*other*/) {}  // NOLINT: allocators convert
  T* allocate(std::size_t n) { return std::allocator<T>().allocate(n); }
  void deallocate(T* memory, std::size_t n) {
    sodium_memzero(memory, n * sizeof(T));
    std::allocator<T>().deallocate(memory, n);
  }
  bool operator==(const WipingAllocator& /*other*/) const = default;
};

/// (A string would keep short ones in itself.)
using SecretBytes = std::vector<char, WipingAllocator<char>>;

}  // namespace gibbsite
