#pragma once
#include <cmath>

namespace gibbsite::support {

/// How far apart two tables are by what was released, in deviations, and where in between the
/// answers lie: z ~ N(0, 1) on the first one.
struct Apart {
  double squared = 0, product = 0;
  void add(double answer, double here, double there, double deviation) {
    const double step = (there - here) / deviation;
    squared += step * step;
    product += step * (answer - here) / deviation;
  }
  [[nodiscard]] double z() const { return product / std::sqrt(squared); }
};

}  // namespace gibbsite::support
