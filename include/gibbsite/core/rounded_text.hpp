#pragma once
// Short text of a number that stands for a guarantee: it may not say less than the number.
#include <string>

namespace gibbsite {

/// Text of `value` >= 0 with `digits` significant decimal digits, the least that is not below it:
/// "0.02803" of 0.028021. What is above by at most 1e-12 of it, a rounding of doubles, does not
/// count: 1.0000000000000002 is "1". A positive value is never "0"; what is no finite number above
/// 0 is as `fmt` prints it.
std::string text_up(double value, int digits = 4);
/// `text_up` to the other side, not above `value`: what is left of a budget. "0" below 1e-300.
std::string text_down(double value, int digits = 4);

}  // namespace gibbsite
