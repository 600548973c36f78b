#pragma once
// Certificates of gibbsite-release/1 files, as this version writes them.
#include <nlohmann/json.hpp>

namespace gibbsite {

/// Every field by its name of today; what that version left out is filled in, and what it never had
/// stays where it is. Anything that is no such certificate comes back as it was.
nlohmann::json from_version_1(nlohmann::json certificate);

}  // namespace gibbsite
