#include "gibbsite/core/rounded_text.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <string>

namespace gibbsite {
namespace {

constexpr double ignored_part = 1e-12;
constexpr double least_shown = 1e-300;  // a step moves no subnormal number

// Infinite beyond the doubles. No locale has a say.
double value_of_text(const std::string& text) {
  double out = std::numeric_limits<double>::infinity();
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

// A step of half a unit in the last digit of 9.99…, the least one in proportion, until the nearest
// text is on the right side.
template <class IsSafe>
std::string nearest_safe(double value, int digits, double step, const IsSafe& is_safe) {
  std::string out = fmt::format("{:.{}g}", value, digits);
  for (double next = value; !is_safe(value_of_text(out)); next *= step) {
    out = fmt::format("{:.{}g}", next, digits);
  }
  return out;
}

bool is_no_positive(double value) { return !(value > 0) || !std::isfinite(value); }

double half_digit(int digits) { return 0.5 * std::pow(10.0, -digits); }

}  // namespace

std::string text_up(double value, int digits) {
  if (is_no_positive(value)) return fmt::format("{:.{}g}", value, digits);
  if (value < least_shown) return "1e-300";
  return nearest_safe(value, digits, 1 + half_digit(digits),
                      [&](double text) { return text >= value * (1 - ignored_part); });
}

std::string text_down(double value, int digits) {
  if (is_no_positive(value)) return fmt::format("{:.{}g}", value, digits);
  if (value < least_shown) return "0";
  return nearest_safe(value, digits, 1 - half_digit(digits),
                      [&](double text) { return text <= value * (1 + ignored_part); });
}

}  // namespace gibbsite
