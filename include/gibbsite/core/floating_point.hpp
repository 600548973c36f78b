#pragma once
// The floating-point environment that every certificate assumes.
#include <cfenv>

namespace gibbsite {

/// Sets the floating-point environment of this thread for as long as it lives: rounding to nearest,
/// subnormal numbers kept, no traps. The environment of before comes back at its end. A library
/// that was built with -ffast-math, or a caller, may have changed it: bounds would then be rounded
/// to the wrong side, and small noise would become 0.
class StandardArithmetic {
 public:
  /// Throws BadInput if the processor does not compute as asked.
  StandardArithmetic();
  ~StandardArithmetic();
  StandardArithmetic(const StandardArithmetic&) = delete;
  StandardArithmetic& operator=(const StandardArithmetic&) = delete;

  /// Throws BadInput if this thread does not round to nearest, or takes subnormal numbers for 0.
  /// Found by computing, not by asking the processor's registers.
  static void require();

 private:
  std::fenv_t before_{};
};

/// Sets that environment for a thread of the library, until the thread ends.
void set_standard_arithmetic();

}  // namespace gibbsite
