#pragma once
// The noise of a step on its own: what the chains of a run would add, as words and as normals.
// Starts chains at random, and lets host and device be compared bit by bit.
//
// Work: per pair of coordinates a ChaCha20 or Philox block and a Box-Muller; traffic 8 bytes a
// normal.
#include "kernels/block.hpp"
#include "kernels/chain.hpp"

namespace gibbsite::kernels {

struct Normals {
  View<const Chain> chain;    ///< [C]
  View<double> normals;       ///< [C x d]; or empty
  View<std::uint64_t> words;  ///< [C x 2 ceil(d/2)] the words they are made of; or empty
  std::size_t chains = 0, features = 0;
  std::uint64_t step = 0;
};

struct NormalsBody {
  using Params = Normals;
  static constexpr unsigned threads = 128;

  static LaunchShape shape(const Normals& p) {
    return {ceil_div(p.chains * ceil_div(p.features, 2), threads), threads, 0, false};
  }

  template <class Block>
  GIBBSITE_HD static void run(Block& block, const Normals& p) {
    const std::size_t pairs = ceil_div(p.features, 2);
    const std::size_t i = block.block() * threads + block.thread();
    const std::size_t c = i / pairs, pair = i % pairs;
    if (c >= p.chains) return;
    const WordPair words = chain_words(p.chain[c], p.step, static_cast<std::uint32_t>(pair));
    if (p.words.size != 0) {
      p.words[2 * i] = words.first;
      p.words[2 * i + 1] = words.second;
    }
    if (p.normals.size == 0) return;
    const NormalPair xi = box_muller_pair(words);
    p.normals[c * p.features + 2 * pair] = xi.first;
    if (2 * pair + 1 < p.features) p.normals[c * p.features + 2 * pair + 1] = xi.second;
  }
};

template <class Visit>
void with_body(const Normals&, Visit&& visit) {
  visit.template operator()<NormalsBody>();
}

}  // namespace gibbsite::kernels
