#pragma once
// The fast CPU backend: Highway and threads, double or float arithmetic on float rows.
#include <memory>

#include "gibbsite/engine/engine.hpp"

namespace gibbsite {
/// float64 or float32; so many threads, or 0 for thread_count() of them.
std::unique_ptr<Backend> make_cpu_backend(Arithmetic arithmetic = Arithmetic::float64,
                                          std::size_t threads = 0);
}  // namespace gibbsite
