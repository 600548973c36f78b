#pragma once
#include <cstdint>

namespace gibbsite {

/// Most columns whose moments are released together.
inline constexpr std::uint64_t most_covariance_columns = 64;

}  // namespace gibbsite
