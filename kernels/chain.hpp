#pragma once
// A chain as the device sees it, and its Langevin step of two neighboring coordinates.
#include <cmath>
#include <cstring>

#include "engine/langevin.hpp"
#include "gibbsite/core/random_bits.hpp"
#include "gibbsite/engine/ensemble.hpp"
#include "kernels/block.hpp"

namespace gibbsite::kernels {

/// What drives one chain (ChainSpec) and where it stood when the run was uploaded.
struct Chain {
  double inverse_temperature, prior_precision, step_size, noise_scale;  ///< beta, m, h, sqrt(2h)
  std::uint64_t step, iterations;                                       ///< at upload; T
  std::uint32_t key[8];
  std::uint32_t stream;
  std::uint32_t chacha20;  ///< 1: ChaCha20, 0: Philox
};

/// The chain of that spec, `step` steps done.
inline Chain make_chain(const ChainSpec& spec, std::uint64_t step) {
  Chain chain{.inverse_temperature = spec.inverse_temperature,
              .prior_precision = spec.prior_precision,
              .step_size = spec.step_size,
              .noise_scale = std::sqrt(2 * spec.step_size),
              .step = step,
              .iterations = spec.iterations,
              .key = {},
              .stream = spec.stream,
              .chacha20 = spec.key.kind == NoiseKind::chacha20 ? 1u : 0u};
  std::memcpy(chain.key, spec.key.bytes.data(), sizeof(chain.key));
  return chain;
}

/// Words of coordinates 2p and 2p + 1 at that step (core/random.hpp, `fill_words`).
GIBBSITE_HD inline WordPair chain_words(const Chain& chain, std::uint64_t step,
                                        std::uint32_t pair) {
  return chain.chacha20 != 0 ? chacha20_pair(chain.key, chain.stream, step, pair)
                             : philox_pair(chain.key, chain.stream, step, pair);
}

/// N(0,1) of coordinates 2p and 2p + 1 at that step (core/random.hpp, `fill_normals`).
GIBBSITE_HD inline NormalPair chain_normals(const Chain& chain, std::uint64_t step,
                                            std::uint32_t pair) {
  return box_muller_pair(chain_words(chain, step, pair));
}

}  // namespace gibbsite::kernels
