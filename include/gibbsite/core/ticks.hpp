#pragma once
// Axes of pictures.
#include <vector>

namespace gibbsite {

/// Round numbers in [low, high], about `count` of them.
std::vector<double> ticks(double low, double high, double count);

struct Range {
  double low = 0, high = 1;
  /// The place of a value in the range: 0 at `low`, 1 at `high`.
  [[nodiscard]] double share(double value) const { return (value - low) / (high - low); }
};

}  // namespace gibbsite
