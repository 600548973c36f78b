#pragma once
// What every backend asks of the data it is given.
#include <fmt/format.h>

#include "gibbsite/core/error.hpp"
#include "gibbsite/data/rows.hpp"
#include "gibbsite/engine/ensemble.hpp"
#include "gibbsite/model/loss.hpp"

namespace gibbsite {

inline void require_loadable(const Rows& x, std::span<const float> y, const Loss& loss) {
  x.validate();
  if (y.size() != x.rows) {
    throw BadInput(
        fmt::format("data: {} rows but {} labels; give one label per row", x.rows, y.size()));
  }
  if (x.offset != nullptr && loss.outputs() > 1) {
    throw BadInput(fmt::format(
        "data: rows have an exposure, and {} has several outputs; leave it out", loss.name()));
  }
}

/// Chains as long as the loss and the rows have it: what is behind their end is not theirs.
inline void require_fitting(const Ensemble& ensemble, std::size_t features) {
  if (ensemble.features != features || ensemble.theta.size() != ensemble.chains() * features) {
    throw BadInput(
        fmt::format("chains: have {} coordinates, and this loss of these rows has {}; start them "
                    "with as many",
                    ensemble.features, features));
  }
}

}  // namespace gibbsite
