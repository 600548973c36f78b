#pragma once
// The designs as the engine sees them. A gradient source turns rows and thetas into partial
// gradients: the engine gives it rows (all of them, or a chunk when X is streamed), sums what it
// leaves and moves the chains (kernels/finish.hpp). A step loop makes many whole steps in one
// launch.
#include <memory>

#include "engine/cuda/design.hpp"
#include "engine/cuda/device.hpp"

namespace gibbsite::cuda {

using kernels::View;

/// What a source is made for.
struct DeviceProblem {
  Shape shape;  ///< all rows, all chains
  Arithmetic arithmetic = Arithmetic::float64;
  unsigned loss = 0;  ///< place on the GPU (kernels/losses.hpp), of one output
  Gpu gpu;
};

/// Rows on the device. x is padded with zeros to a multiple of 4 floats.
struct Chunk {
  View<const float> x;  ///< [rows x d] row-major
  View<const float> y;  ///< [rows]
  std::size_t rows = 0;
};

class GradientSource {
 public:
  virtual ~GradientSource() = default;

  /// Partial gradients that `rows` rows leave: [partials(rows) x C x d] doubles, or floats.
  [[nodiscard]] virtual std::size_t partials(std::size_t rows) const = 0;
  [[nodiscard]] virtual bool single_partials() const { return false; }
  /// Device memory of its own for chunks of at most `rows` rows, in bytes.
  [[nodiscard]] virtual std::size_t scratch_bytes(std::size_t /*rows*/) const { return 0; }
  /// Most additions between a row's term and a partial (mechanism/map_error.hpp).
  [[nodiscard]] virtual std::size_t depth(std::size_t rows) const = 0;
  /// A captured step can be replayed: no choice of the host between two steps.
  [[nodiscard]] virtual bool capturable() const { return true; }

  /// Called when theta was uploaded, where all rows are one chunk that stays (centers, packed
  /// rows).
  virtual void begin(Device& /*device*/, const Chunk& /*chunk*/, View<const double> /*theta*/,
                     std::byte* /*scratch*/) {}
  /// Enqueues: partials <- sums over the chunk's rows for each of `chains` rows of theta [C x d].
  virtual void enqueue(Device& device, const Chunk& chunk, View<const double> theta,
                       std::size_t chains, std::byte* partials, std::byte* scratch) = 0;
};

/// Chains on the device, and the rows they move on.
struct Residents {
  Chunk rows;                        ///< all of them
  View<double> theta;                ///< [C x d]
  View<const double> centers;        ///< [C x d]
  View<const kernels::Chain> chain;  ///< [C]
  View<const std::uint64_t> clock;   ///< [1] steps done since the upload; the engine counts on
  std::size_t chains = 0, features = 0;
};

class StepLoop {
 public:
  virtual ~StepLoop() = default;
  [[nodiscard]] virtual std::size_t scratch_bytes() const { return 0; }
  /// Most additions between a row's term and a gradient (mechanism/map_error.hpp).
  [[nodiscard]] virtual std::size_t depth() const = 0;
  /// Enqueues `steps` steps of every unfinished chain: chain c at step
  /// chain[c].step + clock[0] + k.
  virtual void enqueue(Device& device, const Residents& run, std::uint64_t steps,
                       std::byte* scratch) = 0;
};

/// The source of that design; null for the designs that are a loop (A, B).
std::unique_ptr<GradientSource> make_source(Design design, const DeviceProblem& problem);
/// The loop of that design; null for the designs that are a source.
std::unique_ptr<StepLoop> make_loop(Design design, const DeviceProblem& problem);

/// Rows of a leaf (kernels/leaf_gradient.hpp) of a table of that many: a power of two, 128 or more.
std::size_t leaf_rows(std::size_t rows);

// One function a design, one file each.
std::unique_ptr<GradientSource> make_one_pass_source(const DeviceProblem& problem);
std::unique_ptr<GradientSource> make_warp_group_source(const DeviceProblem& problem);
std::unique_ptr<GradientSource> make_blocked_source(const DeviceProblem& problem);
std::unique_ptr<GradientSource> make_tiled_source(const DeviceProblem& problem);
std::unique_ptr<GradientSource> make_double_matrix_source(const DeviceProblem& problem);
std::unique_ptr<StepLoop> make_resident_loop(const DeviceProblem& problem);
std::unique_ptr<StepLoop> make_cooperative_loop(const DeviceProblem& problem);

}  // namespace gibbsite::cuda
