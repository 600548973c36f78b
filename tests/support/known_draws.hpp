#pragma once
// Draws that tests/scripts/make_diagnostics.py makes too, bit for bit: one kind a parameter.
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "gibbsite/posterior/diagnostics.hpp"

namespace gibbsite::support {

inline constexpr std::array<std::string_view, 8> draw_kinds = {
    "iid", "slow", "antithetic", "apart", "heavy", "ties", "constant", "binary"};

/// Uniform number i of a parameter: splitmix64, 52 bits, in (0, 1).
inline double known_uniform(std::size_t parameter, std::size_t i) {
  std::uint64_t z = ((std::uint64_t{parameter} << 40) + i + 1) * 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  z = z ^ (z >> 31);
  return (static_cast<double>(z >> 12) + 0.5) * 0x1p-52;
}

/// values [N x C x 8], parameter j of kind draw_kinds[j].
inline std::vector<double> known_draws(std::size_t draws, std::size_t chains) {
  const std::size_t kinds = draw_kinds.size();
  std::vector<double> values(draws * chains * kinds);
  for (std::size_t j = 0; j < kinds; ++j) {
    for (std::size_t i = 0; i < draws * chains; ++i) {
      std::array<double, 4> u{};
      for (std::size_t q = 0; q < 4; ++q) u[q] = known_uniform(j, 4 * i + q);
      const double near_normal = ((u[0] + u[1]) + (u[2] + u[3])) - 2;
      const double before = i < chains ? 0 : values[(i - chains) * kinds + j];
      const std::array<double, 8> x = {near_normal + 100,
                                       0.9 * before + near_normal,
                                       -0.5 * before + near_normal,
                                       near_normal + static_cast<double>(i % chains),
                                       (u[0] - 0.5) / (u[0] * (1 - u[0])),
                                       std::floor(u[0] * 6) * 0.1,
                                       0.3,
                                       std::floor(u[0] * 2)};
      values[i * kinds + j] = x[j];
    }
  }
  return values;
}

}  // namespace gibbsite::support
