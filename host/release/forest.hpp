#pragma once
// A forest plot, a row at a time: estimates with whiskers on one axis, in the cells of a table.
#include <span>
#include <string>
#include <vector>

#include "gibbsite/core/ticks.hpp"
#include "release/html.hpp"

namespace gibbsite {

/// An estimate and its interval, which may be a point.
struct Whisker {
  double low = 0, value = 0, high = 0;
};

/// Three digits of a number, "2270" among them.
std::string effect_text(double value);
/// A place on an axis of effects, with the number that is written there.
struct EffectTick {
  double at = 0;
  std::string label;
};
/// At most six places in the range. `ratio`: its numbers are logarithms, and the labels are what
/// they are logarithms of.
std::vector<EffectTick> effect_ticks(const Range& range, bool ratio);

class Forest {
 public:
  /// One axis for all of them, with 0 on it. `ratio`: values are logarithms, and the axis is
  /// labelled with what they are logarithms of.
  Forest(std::span<const Whisker> all, bool ratio);

  /// The axis with its scale: the head of the column of pictures.
  [[nodiscard]] Markup axis() const;
  /// The axis below the last row, its labels under it.
  [[nodiscard]] Markup foot() const;
  /// A row: a dot, whiskers with ends, an arrow where one goes on beyond the axis, a line at 0.
  [[nodiscard]] Markup row(const Whisker& whisker) const;

 private:
  [[nodiscard]] double x(double value) const;
  Range range_;
  std::vector<EffectTick> ticks_;
};

}  // namespace gibbsite
