#pragma once
// Counts for people.
#include <string>

namespace gibbsite {

/// "4,526": whole numbers with thousands separators below 10 million, else 3 digits.
std::string human_count(double count);

}  // namespace gibbsite
