#pragma once
#include <string_view>

namespace gibbsite {

/// Whether a backend is called so, compiled or not.
bool is_backend_name(std::string_view name);

}  // namespace gibbsite
