#include "gibbsite/speed/made_up.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "speed/mix.hpp"

namespace gibbsite {
namespace {

constexpr int numbers_a_word = 4;  // of 16 bits, of which a sign

std::int32_t number_of(std::uint64_t word, int k) {
  return static_cast<std::int16_t>(static_cast<std::uint16_t>(word >> (16 * k)));
}

// The largest float with features (2^15 scale)^2 <= 1.
float scale_for(std::size_t features) {
  const double exact = 0x1p-15 / std::sqrt(static_cast<double>(features));
  return std::nextafter(static_cast<float>(exact), 0.0F);
}

}  // namespace

MadeUpTable::MadeUpTable(std::uint64_t seed, std::uint64_t rows, std::size_t features,
                         bool intercept)
    : seed_(mix(seed)),
      rows_(rows),
      features_(features),
      intercept_(intercept),
      scale_(scale_for(features)) {}

void MadeUpTable::make(std::uint64_t first, std::uint64_t last, std::span<float> x,
                       std::span<float> y) const {
  const std::uint64_t words = (features_ + numbers_a_word - 1) / numbers_a_word + 1;
  // Four 16-bit numbers have deviation 2 * 2^15/sqrt(3); x.w, in those units, sqrt(d) 2^15/sqrt(3).
  const auto noise =
      std::max<std::int64_t>(1, std::llround(std::sqrt(static_cast<double>(features_)) / 2));
  float* at = x.data();
  for (std::uint64_t i = first; i < last; ++i) {
    const std::uint64_t counter = seed_ + i * words;
    std::int64_t score = 0;
    std::size_t j = 0;
    for (std::uint64_t w = 0; w + 1 < words; ++w) {
      const std::uint64_t word = mix(counter + w);
      for (int k = 0; k < numbers_a_word && j < features_; ++k, ++j) {
        const std::int32_t number = number_of(word, k);
        at[j] = static_cast<float>(number) * scale_;
        score += j % 2 == 0 ? number : -number;
      }
    }
    const std::uint64_t word = mix(counter + words - 1);
    for (int k = 0; k < numbers_a_word; ++k) score += noise * number_of(word, k);
    if (intercept_) at[features_] = 1;
    at += features();
    y[i - first] = score > 0 ? 1.0F : -1.0F;
  }
}

Schema MadeUpTable::schema() const {
  Schema out;
  out.label_name = std::string("y");  // GCC 12 warns of a literal
  out.label = TwoClasses{.positive = std::string("1")};
  out.intercept = intercept_;
  for (std::size_t j = 0; j < features_; ++j) {
    out.columns.push_back({.name = fmt::format("x{}", j + 1), .type = ColumnType::number});
  }
  return out;
}

double MadeUpTable::agreement(std::span<const double> theta) const {
  double product = 0, squares = 0;
  for (std::size_t j = 0; j < features_; ++j) {
    product += j % 2 == 0 ? theta[j] : -theta[j];
    squares += theta[j] * theta[j];
  }
  return product / std::sqrt(squares * static_cast<double>(features_));
}

}  // namespace gibbsite
