#pragma once
// Accuracy against epsilon, a line for each mechanism.
#include <string>
#include <vector>

#include "gibbsite/compare/compare.hpp"

namespace gibbsite::cli {

struct CurvePoint {
  double epsilon = 0;
  Spread accuracy;
};
struct Curve {
  std::string name;
  std::vector<CurvePoint> points;  ///< ascending in epsilon
};
struct Level {
  std::string name;
  double accuracy = 0;
};

/// Curves with bars of one standard deviation to either side (none where it is NaN) over a
/// logarithmic axis, levels dashed, names at the right end. `note` stands below, `mark` right
/// below the title. XML.
std::string accuracy_plot(const std::string& title, const std::string& note,
                          const std::string& mark, const std::vector<Curve>& curves,
                          const std::vector<Level>& levels);

}  // namespace gibbsite::cli
