#include "gibbsite/core/unset.hpp"

namespace gibbsite {

UnsetFloats& UnsetFloats::operator=(UnsetFloats&& other) noexcept = default;
UnsetFloats::~UnsetFloats() = default;

}  // namespace gibbsite
