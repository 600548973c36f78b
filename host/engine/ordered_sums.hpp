#pragma once
// Engines whose gradients are sums of rows one after another, compensated, and not of blocks in a
// tree: what the rows of an earlier rank left is what those of the next one are added to.
#include <span>

#include "gibbsite/engine/engine.hpp"

namespace gibbsite {

class OrderedSums {
 public:
  virtual ~OrderedSums() = default;
  /// state [d x 2]: sums and what they lost, before these rows and then behind them; zeros at
  /// first. A sum is the one plus the other.
  virtual void add_gradient(std::span<const double> theta, std::span<double> state) = 0;
  /// Likewise, with the loss in the last row of state [(d + 1) x 2].
  virtual void add_value_and_gradient(std::span<const double> theta, std::span<double> state) = 0;
  /// Adds the sums of `capped`, which this engine made; the last row of state [(d + 1) x 2] is for
  /// the traces.
  virtual void add_capped(CappedLoss& capped, std::span<const double> theta,
                          std::span<double> state) = 0;
};

}  // namespace gibbsite
