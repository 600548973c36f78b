#pragma once
// Which rank has which card.
#include <cstddef>
#include <span>
#include <string>

#include "gibbsite/machine/communicator.hpp"

namespace gibbsite::sharded {

/// Of the cards that this rank sees, by ids that no two cards have, the place of its own: the first
/// that no rank before it has. So ranks of a machine have its cards in turn, whether each sees all
/// of them or a launcher shows each its own. Collective. Throws NoDevice, on all ranks the same,
/// where one is left without. `machine`: its name, for that line.
std::size_t own_card(Communicator& ranks, std::span<const std::string> ids,
                     const std::string& machine);

}  // namespace gibbsite::sharded
