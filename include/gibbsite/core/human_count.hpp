#pragma once
// Numbers for people.
#include <string>

namespace gibbsite {

/// "4,526": whole numbers with thousands separators below 10 million, else 3 digits.
std::string human_count(double count);

/// 2 Phi(1.96) - 1 = 95 %.
inline constexpr double two_sided_95 = 1.959963984540054;

}  // namespace gibbsite
