#pragma once
// The normal model of draws: the squared loss of an amount, and the deviation of its noise.
#include <string_view>

#include "gibbsite/data/rows.hpp"
#include "gibbsite/model/label.hpp"

namespace gibbsite {

/// Whether draws of a model learn the noise (LearnedNoise): of "normal", which "auto" is for
/// amounts. The loss is "squared" then.
inline bool is_normal_model(std::string_view model, const Label& label) {
  return model == "normal" || (model == "auto" && is<Amount>(label));
}

/// The name of the parameter.
inline constexpr const char* noise_name = "(noise)";

/// The sum of the rows' weights, for LearnedNoise::rows.
inline double counted_rows(const Rows& rows) {
  if (rows.weight == nullptr) return static_cast<double>(rows.rows);
  double sum = 0;
  for (std::size_t i = 0; i < rows.rows; ++i) sum += rows.weight_of(i);
  return sum;
}

}  // namespace gibbsite
