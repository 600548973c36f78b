#pragma once
// What an answer says of who gave it.
#include <array>
#include <string>
#include <string_view>

#include "core/digest.hpp"
#include "gibbsite/engine/engine.hpp"

namespace gibbsite::remote {

using Bytes = std::array<unsigned char, Digest::bytes>;

/// Version and arithmetic, by which the bits of sums are told.
std::string name_of_program(const Backend& local);
Bytes raw_digest(std::string_view bytes);

}  // namespace gibbsite::remote
