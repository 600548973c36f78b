#pragma once
// Symmetric matrices as what is added up or sent: their lower triangle by rows.
#include <cstddef>
#include <span>

#include "gibbsite/core/matrix_view.hpp"

namespace gibbsite {

/// Numbers of a triangle of k rows.
constexpr std::size_t triangle_size(std::size_t k) { return k * (k + 1) / 2; }

/// half [triangle_size(k)] = the lower triangle of whole [k x k].
inline void pack_triangle(MatrixView<const double> whole, std::span<double> half) {
  for (std::size_t a = 0, at = 0; a < whole.rows; ++a) {
    for (std::size_t b = 0; b <= a; ++b) half[at++] = whole(a, b);
  }
}
/// whole [k x k] = the symmetric matrix of that lower triangle.
inline void unpack_triangle(std::span<const double> half, MatrixView<double> whole) {
  for (std::size_t a = 0, at = 0; a < whole.rows; ++a) {
    for (std::size_t b = 0; b <= a; ++b) whole(a, b) = whole(b, a) = half[at++];
  }
}

}  // namespace gibbsite
