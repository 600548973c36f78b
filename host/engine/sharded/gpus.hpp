#pragma once
// Which rank has which GPU.
#include <cstddef>
#include <span>
#include <string>

#include "gibbsite/machine/communicator.hpp"

namespace gibbsite::sharded {

/// The place of this rank's GPU among those that it sees, by ids that no two GPUs share: the first
/// that no rank before it has. So ranks of a machine take its GPUs in turn, whether each sees all
/// of them or a launcher shows each its own. Collective. Throws NoDevice on all ranks alike if one
/// is left without. `machine` is its name, for that line.
std::size_t own_gpu(Communicator& ranks, std::span<const std::string> ids,
                    const std::string& machine);

}  // namespace gibbsite::sharded
