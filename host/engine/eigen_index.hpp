#pragma once
// Sizes as Eigen counts them.
#include <Eigen/Core>
#include <cstddef>

namespace gibbsite {

inline Eigen::Index index(std::size_t n) { return static_cast<Eigen::Index>(n); }

}  // namespace gibbsite
