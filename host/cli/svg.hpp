#pragma once
// Pictures as SVG, by hand: nothing to install. Readable on white and on dark.
#include <fmt/format.h>

#include <iterator>
#include <string>
#include <utility>

#include "gibbsite/core/ticks.hpp"

namespace gibbsite::cli {

/// Okabe and Ito's, without black and yellow, which vanish on dark and on white, and two more.
inline constexpr const char* svg_colors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                             "#e69f00", "#56b4e9", "#8a7a00", "#7d6a5b"};

/// Text for XML; control characters, which it has not, are '?'.
std::string escaped(const std::string& text);

/// A picture that is written front to back.
class Svg {
 public:
  /// The classes of style are in svg.cpp. `left`: where the title stands.
  void begin(double width, double height, double left, const std::string& title);
  template <typename... T>
  void put(fmt::format_string<T...> text, T&&... values) {
    fmt::format_to(std::back_inserter(out_), text, std::forward<T>(values)...);
  }
  std::string end();

 private:
  std::string out_;
};

}  // namespace gibbsite::cli
