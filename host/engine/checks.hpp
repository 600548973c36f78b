#pragma once
// What every backend asks of the data it is given.
#include <fmt/format.h>

#include "gibbsite/core/error.hpp"
#include "gibbsite/data/rows.hpp"

namespace gibbsite {

inline void require_loadable(const Rows& x, std::span<const float> y) {
  x.validate();
  if (y.size() != x.rows) {
    throw BadInput(
        fmt::format("data: {} rows but {} labels; give one label per row", x.rows, y.size()));
  }
}

}  // namespace gibbsite
