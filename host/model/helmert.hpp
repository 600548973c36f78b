#pragma once
// Contrasts of levels and of hats.
#include <cmath>
#include <cstddef>

namespace gibbsite {

/// Entry (level, contrast) of Helmert's contrasts, contrast = 0, 1, ...: the levels up to
/// `contrast` against the next one. The contrasts are orthonormal, and each adds up to 0.
inline double helmert(std::size_t level, std::size_t contrast) {
  const auto before = static_cast<double>(contrast + 1);
  if (level > contrast + 1) return 0;
  const double length = std::sqrt(before * (before + 1));
  return (level <= contrast ? 1.0 : -before) / length;
}

}  // namespace gibbsite
