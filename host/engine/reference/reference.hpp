#pragma once
// The oracle: double, plain Eigen, one thread, written to be read.
#include <memory>

#include "gibbsite/engine/engine.hpp"

namespace gibbsite {
std::unique_ptr<Backend> make_reference_backend();
}
