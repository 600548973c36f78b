#pragma once
// Noise and update of the CPU backend in vector lanes, compiled for every instruction set and
// chosen at run time (Highway). Words are those of core/random.hpp bit by bit; normals are within
// 1e-15 of Box-Muller's and, on one instruction set, the same bits whatever lane they are made in.
//
// Lanes run along the chains of a panel [.. x width], whose ciphers need no shuffle; few chains
// take their words one after another from libsodium, which has vectors of its own.
//
//   ChaCha20: 980 operations on 32-bit lanes for 8 normals a lane
//   Philox:    80 operations on 64-bit lanes for 2
//   Box-Muller: 60, a division and a square root on double lanes for 2
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/cpu/pairwise.hpp"
#include "gibbsite/engine/ensemble.hpp"

namespace gibbsite::cpu {

/// Coordinates of a cipher block: 64 bytes of ChaCha20, four blocks of Philox.
inline constexpr std::size_t block_coordinates = 8;

/// Words 2p and 2p + 1 become normals 2p and 2p + 1 (`box_muller`); an even number of words, no
/// fewer than normals.
void normals(std::span<const std::uint64_t> words, std::span<double> out);

/// The chains of a panel as the noise and the update read them. A lane without a chain does not
/// move from 0.
class PanelChains {
 public:
  PanelChains() = default;
  /// `width`: whole vectors of double.
  explicit PanelChains(std::size_t width);
  /// Forgets every chain.
  void clear();
  /// Lane c moves as `spec` says; its next step is number `step`.
  void set(std::size_t c, const ChainSpec& spec, std::uint64_t step) {
    set(c, spec, step, spec.stream);
  }
  /// With the noise of another stream.
  void set(std::size_t c, const ChainSpec& spec, std::uint64_t step, std::uint32_t stream);

  [[nodiscard]] std::size_t width() const { return width_; }
  /// Word i < 8 of the keys [width], 32 bits in 64.
  [[nodiscard]] const std::uint64_t* key(std::size_t i) const { return bits_.data() + i * width_; }
  [[nodiscard]] const std::uint64_t* stream() const { return key(8); }
  [[nodiscard]] const std::uint64_t* step() const { return key(9); }
  /// All bits where a chain's noise is Philox.
  [[nodiscard]] const std::uint64_t* philox() const { return key(10); }
  [[nodiscard]] bool any(NoiseKind kind) const { return any_[kind == NoiseKind::philox]; }
  [[nodiscard]] const double* inverse_temperature() const { return numbers_.data(); }
  [[nodiscard]] const double* prior_precision() const { return numbers_.data() + width_; }
  [[nodiscard]] const double* step_size() const { return numbers_.data() + 2 * width_; }
  [[nodiscard]] const double* noise_scale() const { return numbers_.data() + 3 * width_; }

 private:
  std::size_t width_ = 0;
  Aligned<std::uint64_t> bits_;  // [11 x width]
  Aligned<double> numbers_;      // [4 x width]
  bool any_[2] = {false, false};
};

/// Blocks [first, last) of the coordinates of a panel.
struct PanelBlocks {
  const PanelChains* chains;
  std::uint64_t step;  ///< steps since the chains were set
  std::size_t features, first, last;
};

/// out [2 ceil(d/2) x width]: word j of every chain (`fill_words`), those of the blocks written.
void panel_words(const PanelBlocks& blocks, std::uint64_t* out);

/// theta <- theta - h (beta g + m (theta - center)) + sqrt(2h) xi (`langevin_coordinate`), each
/// number read and written once.
struct PanelUpdate {
  PanelBlocks blocks;
  const double* gradient;  ///< [d x width]
  const double* center;    ///< [d x width]; null: 0
  double* theta;           ///< [d x width]
  float* rounded;          ///< [d x width] theta in float, where that is wanted
};
void langevin_panel(const PanelUpdate& update);

}  // namespace gibbsite::cpu
