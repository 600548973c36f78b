#pragma once
// The normal model of draws: the squared loss of an amount, and the deviation of its noise.
#include <string_view>

#include "gibbsite/model/label.hpp"

namespace gibbsite {

/// Whether draws of a model learn the noise (LearnedNoise): of "normal", which "auto" is for
/// amounts. The loss is "squared" then.
inline bool is_normal_model(std::string_view model, const Label& label) {
  return model == "normal" || (model == "auto" && is<Amount>(label));
}

/// The name of the parameter.
inline constexpr const char* noise_name = "(noise)";

}  // namespace gibbsite
