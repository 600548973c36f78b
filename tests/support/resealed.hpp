#pragma once
// Files that somebody edits and gives a new digest.
#include <functional>
#include <nlohmann/json.hpp>

#include "certificate/model_json.hpp"
#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/core/error.hpp"

namespace gibbsite::support {

/// Whether the edited file verifies; one that is refused when it is read does not.
inline bool verifies_resealed(nlohmann::json file,
                              const std::function<void(nlohmann::json&)>& edit) {
  edit(file);
  file["certificate"]["digest"] = file_digest(file);
  try {
    return verify(file).valid;
  } catch (const BadInput&) {
    return false;
  }
}

}  // namespace gibbsite::support
