#include "release/forest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gibbsite {
namespace {

constexpr double left = 12, width = 216;  // of the axis, of 240
constexpr double most_ticks = 6;

// 0.1, 0.2, 0.5, 1, 2, 5, 10, ... within the range of their logarithms; where these are too many,
// 0.1, 0.3, 1, 3, 10, ..., and then 0.1, 1, 10, ...
std::vector<double> round_ratios(const Range& range) {
  std::vector<double> out;
  for (const std::vector<double>& digits :
       {std::vector<double>{1, 2, 5}, std::vector<double>{1, 3}, std::vector<double>{1}}) {
    out.clear();
    for (int power = -9; power <= 9; ++power) {
      for (const double digit : digits) {
        const double at = std::log(digit * std::pow(10.0, power));
        if (at >= range.low && at <= range.high) out.push_back(at);
      }
    }
    if (static_cast<double>(out.size()) <= most_ticks) break;
  }
  return out;
}

}  // namespace

std::string effect_text(double value) {
  const double size = std::fabs(value);
  if (!(size >= 999.5 && size < 1e7)) return fmt::format("{:.3g}", value);
  const double unit = std::pow(10.0, std::floor(std::log10(size * 1.0005)) - 2);
  return fmt::format("{:.0f}", std::round(value / unit) * unit);
}

std::vector<EffectTick> effect_ticks(const Range& range, bool ratio) {
  std::vector<double> places = ratio ? round_ratios(range) : std::vector<double>{};
  if (places.size() < 3) places = gibbsite::ticks(range.low, range.high, 4);
  while (static_cast<double>(places.size()) > most_ticks) {  // every other one, 0 among them
    const auto zero = std::ranges::find(places, 0.0) - places.begin();
    std::vector<double> fewer;
    for (std::size_t i = 0; i < places.size(); ++i)
      if ((i + static_cast<std::size_t>(zero)) % 2 == 0) fewer.push_back(places[i]);
    places = std::move(fewer);
  }
  std::vector<EffectTick> out;
  for (const double at : places) out.push_back({at, effect_text(ratio ? std::exp(at) : at + 0.0)});
  return out;
}

Forest::Forest(std::span<const Whisker> all, bool ratio) {
  range_ = {0, 0};
  for (const Whisker& one : all) {
    for (const double end : {one.low, one.value, one.high}) {
      if (!std::isfinite(end)) continue;
      range_.low = std::min(range_.low, end);
      range_.high = std::max(range_.high, end);
    }
  }
  if (!(range_.high > range_.low)) range_ = {-1, 1};
  const double margin = 0.05 * (range_.high - range_.low);
  range_ = {range_.low - margin, range_.high + margin};
  ticks_ = effect_ticks(range_, ratio);
}

double Forest::x(double value) const {
  return left + width * std::clamp(range_.share(value), 0.0, 1.0);
}

Markup Forest::axis() const {
  std::string out = fmt::format(
      "<svg viewBox=\"0 0 240 26\" aria-hidden=\"true\"><path class=\"axis\" d=\"M{} 22h{}\"/>",
      left, width);
  for (const EffectTick& tick : ticks_) {
    out += fmt::format(
        "<path class=\"axis\" d=\"M{0:.1f} 18v8\"/><text class=\"middle\" x=\"{0:.1f}\" "
        "y=\"14\">{1}</text>",
        x(tick.at), tick.label);
  }
  return {out + "</svg>"};
}

Markup Forest::foot() const {
  std::string out = fmt::format(
      "<svg viewBox=\"0 0 240 26\" aria-hidden=\"true\"><path class=\"axis\" d=\"M{} 4h{}\"/>",
      left, width);
  for (const EffectTick& tick : ticks_) {
    out += fmt::format(
        "<path class=\"axis\" d=\"M{0:.1f} 0v8\"/><text class=\"middle\" x=\"{0:.1f}\" "
        "y=\"21\">{1}</text>",
        x(tick.at), tick.label);
  }
  return {out + "</svg>"};
}

Markup Forest::row(const Whisker& whisker) const {
  std::string out = "<svg viewBox=\"0 0 240 20\" aria-hidden=\"true\">";
  for (const EffectTick& tick : ticks_)
    if (tick.at != 0) out += fmt::format("<path class=\"rule\" d=\"M{:.1f} 0v20\"/>", x(tick.at));
  out += fmt::format("<path class=\"even\" d=\"M{:.1f} 0v20\"/>", x(0));
  // The dot first: the ends of a narrow interval stand out above and below it.
  const bool inside = whisker.value >= range_.low && whisker.value <= range_.high;
  if (inside)
    out += fmt::format("<circle class=\"dot\" cx=\"{:.1f}\" cy=\"10\" r=\"3\"/>", x(whisker.value));
  if (whisker.high > whisker.low) {
    const double from = x(whisker.low), to = x(whisker.high);
    out += fmt::format("<path class=\"whisker\" d=\"M{:.1f} 10H{:.1f}\"/>", from, to);
    const auto end = [&](double at, bool beyond, double towards) {
      // A bar where the interval ends, an arrow where it goes on.
      out += beyond ? fmt::format("<path class=\"whisker\" d=\"M{:.1f} 5l{:.0f} 5l{:.0f} 5\"/>",
                                  at - towards, towards, -towards)
                    : fmt::format("<path class=\"whisker\" d=\"M{:.1f} 3v14\"/>", at);
    };
    end(from, whisker.low < range_.low, -6);
    end(to, whisker.high > range_.high, 6);
  }
  return {out + "</svg>"};
}

}  // namespace gibbsite
