#pragma once
// What every page has in common: its frame, its style, its numbers, pictures in a square.
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "gibbsite/core/ticks.hpp"
#include "release/html.hpp"

namespace gibbsite {

std::string number(double value);
/// An end of a range, in all its digits.
std::string exact(double value);
const char* plural(std::uint64_t count);

/// From the first byte to <main>; `more` ends the head.
void open_page(Html& page, const std::string& title, const Markup& more = {});
/// The whole page.
std::string closed(Html& page);
void heading(Html& page, std::string_view id, std::string_view title);
/// Says first that a model is void, so that nobody quotes the page as a guarantee.
void void_line(Html& page);

/// Ends a picture in a <figure>.
void end_figure(Html& page, const Markup& caption);

/// A square between two axes, in a <figure> that is left open for its caption.
struct SquarePlot {
  Range across, up;
  double left = 44;
  static constexpr double top = 12, side = 290;

  [[nodiscard]] double x(double value) const { return left + side * across.share(value); }
  [[nodiscard]] double y(double value) const { return top + side * (1 - up.share(value)); }
  /// `above`: room above y = 0.
  static void begin(Html& page, std::string_view says, int above = 0);
  /// 0, 50 and 100 % of shares, both ways.
  void share_grid(Html& page) const;
  /// What is across and what is up, the latter ending at `up_at`.
  void names(Html& page, std::string_view of_across, std::string_view of_up, double up_at) const;
};

}  // namespace gibbsite
