#include "gibbsite/core/ticks.hpp"

#include <cmath>

namespace gibbsite {

std::vector<double> ticks(double low, double high, double count) {
  const double rough = (high - low) / count;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double times : {5.0, 2.0, 1.0}) {
    if (times * power >= rough) step = times * power;
  }
  std::vector<double> out;
  for (double k = std::ceil(low / step); k * step <= high; ++k) out.push_back(k * step + 0.0);
  return out;
}

}  // namespace gibbsite
