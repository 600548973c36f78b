#pragma once
// A thread whose floating-point environment somebody changed.
#include <cfenv>
#include <cstdint>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace gibbsite::test_arithmetic {

/// Changes this thread's arithmetic for as long as it lives.
class ChangedArithmetic {
 public:
  static constexpr int flush_to_zero = -1;

  /// A rounding mode of <cfenv>, or flush_to_zero: subnormal results and operands are 0, as a
  /// library built with -ffast-math leaves it.
  explicit ChangedArithmetic(int what) {
    std::fegetenv(&before_);
    if (what != flush_to_zero) {
      works_ = std::fesetround(what) == 0;
      return;
    }
#if defined(__x86_64__)
    _mm_setcsr(_mm_getcsr() | 0x8040U);
    works_ = true;
#elif defined(__aarch64__)
    std::uint64_t control = 0;
    asm volatile("mrs %0, fpcr" : "=r"(control));
    control |= std::uint64_t{1} << 24;
    asm volatile("msr fpcr, %0" : : "r"(control));
    works_ = true;
#endif
  }
  ~ChangedArithmetic() { std::fesetenv(&before_); }
  ChangedArithmetic(const ChangedArithmetic&) = delete;
  ChangedArithmetic& operator=(const ChangedArithmetic&) = delete;

  [[nodiscard]] bool works() const { return works_; }

 private:
  std::fenv_t before_{};
  bool works_ = false;
};

}  // namespace gibbsite::test_arithmetic
