#pragma once
// What no design of the GPU takes.
#include <string>

#include "gibbsite/model/loss.hpp"

namespace gibbsite::cuda {

/// Why no engine takes the loss, of rows that have an exposure or weights (`more`) or neither: "has
/// no kernels of ..."; empty: one does.
std::string why_no_kernels(const Loss& loss, bool more);

}  // namespace gibbsite::cuda
