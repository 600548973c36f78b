#pragma once
// The two halves of clip_row_to_norm.
#include <span>

namespace gibbsite {

/// What brings a row inside of row_norm: below 1, or 1 where it lies inside. Throws like
/// clip_row_to_norm.
double clip_factor(std::span<const float> row, double row_norm);
/// Every value times the factor, rounded to a float.
void scale_row(std::span<float> row, double factor);

}  // namespace gibbsite
