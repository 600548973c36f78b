#pragma once
// Vectors that grow without a pass over their memory.
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace gibbsite {

/// An allocator whose vector leaves elements that `resize(n)` adds uninitialized. Their pages are
/// touched first by the thread that writes them. `resize(n, 0)` sets them.
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

/// A vector of floats with that allocator. It is freed by a function that is always compiled with
/// optimization: without it, GCC keeps the loop that destroys each float, 28 ms for 400 MB.
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
