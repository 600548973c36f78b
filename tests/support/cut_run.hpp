#pragma once
// A run of chains in pieces, which must have the bits of the same run in one.
#include "gibbsite/engine/engine.hpp"

namespace gibbsite::support {

/// One step, two steps, and up to a thousand more.
inline Ensemble advanced_in_pieces(Engine& engine, Ensemble chains) {
  for (const std::uint64_t steps : {1U, 2U, 1000U}) engine.advance(chains, steps);
  return chains;
}

}  // namespace gibbsite::support
