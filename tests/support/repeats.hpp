// Sanitizers look for faults of memory and of the language: the thousandth pass of one path shows
// them no better than the hundredth, and costs as much as all of it in a release. Their build runs
// fewer; a release runs everything.
#pragma once
#include <cstddef>

namespace gibbsite::support {

#ifdef GIBBSITE_SANITIZED
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

/// `full`, or `fewer` under sanitizers.
template <class T>
constexpr T repeats(T full, T fewer) {
  return sanitized ? fewer : full;
}

/// Thins out a sweep: every `stride`-th turn under sanitizers, beginning with the first, and every
/// `in_release`-th in a release. A stride without a factor in common with the lengths of the
/// sweep's lists meets every element of each.
class Thinned {
 public:
  explicit Thinned(std::size_t stride, std::size_t in_release = 1)
      : stride_(sanitized ? stride : in_release) {}
  bool skips() { return turn_++ % stride_ != 0; }

 private:
  std::size_t stride_, turn_ = 0;
};

}  // namespace gibbsite::support
