#pragma once
// Pictures as SVG, by hand: nothing to install. Readable on white and on dark.
#include <fmt/format.h>

#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "gibbsite/core/ticks.hpp"

namespace gibbsite {

/// Okabe and Ito's, without black and yellow, which vanish on dark and on white, and two more.
inline constexpr const char* svg_colors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                             "#e69f00", "#56b4e9", "#8a7a00", "#7d6a5b"};

/// Text for XML; control characters, which it has not, are '?'.
std::string escaped_xml(const std::string& text);

/// Height of a line of small text.
inline constexpr double svg_line = 18;

/// Lines of small text, broken at blanks, that fit into `room` units in every common font: a viewer
/// without ours takes a wider one, and what leaves a picture is cut.
std::vector<std::string> lines_that_fit(const std::string& text, double room);

/// A picture that is written front to back.
class Svg {
 public:
  /// The classes of style are in svg.cpp. `left`: where the title stands. A title that is longer
  /// than the picture is wide takes several lines, and `mark`, what must be read first, stands
  /// below it on lines of its own; both push down what follows and add to the height. `says` is
  /// the text for who cannot see it; without one it is the title.
  void begin(double width, double height, double left, const std::string& title,
             const std::string& mark = "", const std::string& says = "");
  template <typename... T>
  void put(fmt::format_string<T...> text, T&&... values) {
    fmt::format_to(std::back_inserter(out_), text, std::forward<T>(values)...);
  }
  /// Lines of small text, the first of them at y.
  void lines(double x, double y, const std::vector<std::string>& text, const char* kind = "");
  std::string end();

 private:
  std::string out_;
};

}  // namespace gibbsite
