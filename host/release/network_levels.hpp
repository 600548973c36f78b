#pragma once
// What a question to a network leaves of its columns' levels. Internal to the release module.
#include <cstdint>
#include <vector>

#include "gibbsite/model/network_model.hpp"
#include "gibbsite/release/network_query.hpp"

namespace gibbsite {

/// All levels of every column, ascending [K][levels].
std::vector<std::vector<std::uint32_t>> every_level(const NetworkModel& model);
/// Leaves those for which the events hold.
void restrict_to(const std::vector<LevelEvent>& events,
                 std::vector<std::vector<std::uint32_t>>& allowed);

}  // namespace gibbsite
