#pragma once
// What every backend asks of the data it is given.
#include <fmt/format.h>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/matrix_view.hpp"

namespace gibbsite {

inline void require_loadable(MatrixView<const float> x, std::span<const float> y) {
  if (x.rows == 0) throw BadInput("data: there are no rows; give at least one");
  if (x.cols == 0) throw BadInput("data: the rows have no features; give at least one");
  if (y.size() != x.rows) {
    throw BadInput(
        fmt::format("data: {} rows but {} labels; give one label per row", x.rows, y.size()));
  }
}

}  // namespace gibbsite
