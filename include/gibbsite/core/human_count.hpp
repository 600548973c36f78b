#pragma once
// Numbers for people.
#include <string>

namespace gibbsite {

/// A count for people: whole numbers with thousands separators ("4,526") below 10 million, else 3
/// digits.
std::string human_count(double count);

/// The two-sided 95 % quantile z of the standard normal: 2 Phi(z) - 1 = 0.95.
inline constexpr double two_sided_95 = 1.959963984540054;

}  // namespace gibbsite
