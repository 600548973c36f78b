// Apart from the registry, so that whoever asks for a name alone does not link every backend.
#include "gibbsite/sampler/backend.hpp"

namespace gibbsite {

bool is_backend_name(std::string_view name) {
  return name == "reference" || name == "cpu" || name == "cuda";
}

}  // namespace gibbsite
