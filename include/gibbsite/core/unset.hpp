#pragma once
// Vectors that grow without a pass over their memory.
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace gibbsite {

/// An allocator whose vector leaves what `resize(n)` adds unset: its pages are touched first by who
/// writes them, on any thread. `resize(n, 0)` sets them.
template <class T>
struct LeaveUnset : std::allocator<T> {
  LeaveUnset() = default;
  template <class U>
  LeaveUnset(const LeaveUnset<U>&) noexcept {}  // NOLINT: allocators are converted
  template <class U>
  struct rebind {
    using other = LeaveUnset<U>;
  };
  template <class U>
  void construct(U* at) noexcept {
    ::new (static_cast<void*>(at)) U;
  }
  template <class U, class... Arguments>
  void construct(U* at, Arguments&&... arguments) {
    ::new (static_cast<void*>(at)) U(std::forward<Arguments>(arguments)...);
  }
};

/// Such a vector of floats. It is freed by a function that is compiled once, with optimization:
/// where it is not optimized GCC keeps the loop that destroys each float, 28 ms for 400 MB.
struct UnsetFloats : std::vector<float, LeaveUnset<float>> {
  using Base = std::vector<float, LeaveUnset<float>>;
  using Base::Base;
  using Base::operator=;
  UnsetFloats() = default;
  UnsetFloats(const UnsetFloats&) = default;
  UnsetFloats(UnsetFloats&&) noexcept = default;
  UnsetFloats& operator=(const UnsetFloats&) = default;
  UnsetFloats& operator=(UnsetFloats&& other) noexcept;
  ~UnsetFloats();
};

}  // namespace gibbsite
