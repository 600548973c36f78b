#pragma once
// The fast CPU backend: Highway and OpenMP, double arithmetic on float rows.
#include <memory>

#include "gibbsite/sampler/backend.hpp"

namespace gibbsite {
std::unique_ptr<Backend> make_cpu_backend();
}
