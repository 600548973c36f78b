#include "core/backend_names.hpp"

namespace gibbsite {

bool is_backend_name(std::string_view name) {
  return name == "reference" || name == "cpu" || name == "cuda";
}

}  // namespace gibbsite
