#pragma once
// The fast CPU backend: Highway and OpenMP, double or float arithmetic on float rows.
#include <memory>

#include "gibbsite/sampler/backend.hpp"

namespace gibbsite {
/// float64 or float32.
std::unique_ptr<Backend> make_cpu_backend(Arithmetic arithmetic = Arithmetic::float64);
}  // namespace gibbsite
