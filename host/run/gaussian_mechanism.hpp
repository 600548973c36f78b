#pragma once
// The one place of a run that adds noise to what rows gave, and that rounds to a public grid
// (docs/theory/noise-law.md). The test `walls` holds that no other file here does.
#include <cstdint>
#include <span>
#include <vector>

#include "gibbsite/core/matrix_view.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/mechanism/analysis.hpp"

namespace gibbsite {

/// Releases sums over rows: adds Gaussian noise of a deviation and rounds to
/// answer_grid(deviation). One object makes one answer of a run. Each number takes a normal of its
/// own, in the order of the calls.
class GaussianMechanism {
 public:
  /// For `numbers` numbers. Every answer of a run needs its own `answer`.
  GaussianMechanism(const StreamKey& key, std::uint64_t answer, std::size_t numbers);

  /// sum + N(0, deviation^2) on the grid. Throws BadInput if it is not finite, and if all numbers
  /// were released.
  double release(double sum, double deviation);
  std::vector<double> release(std::span<const double> sums, double deviation);
  /// Releases the lower triangle, by rows, of symmetric `sums` [k x k]: noise of `deviation` on the
  /// diagonal and of 1/sqrt(2) of it beside the diagonal.
  std::vector<double> release_symmetric(MatrixView<const double> sums, double deviation);

 private:
  std::vector<double> normals_;
  std::size_t released_ = 0;
};

/// Where a vector of noise comes from: the stream of a draw, and a step of it.
struct NoisePlace {
  const StreamKey& key;
  std::uint32_t stream = 0;
  std::uint64_t step = 0;
};
/// Fills out [d] with noise. Gaussian: N(0, noise^2 I), of fill_normals at start_step and of
/// answer_normals at any other step. Pure: a density proportional to exp(-noise ||b||).
void fill_noise(NoiseLaw law, double noise, const NoisePlace& place, std::span<double> out);
/// out [d] = vector + that noise. `release` rounds it to the grid of its plan.
void add_noise(NoiseLaw law, double noise, const NoisePlace& place, std::span<const double> vector,
               std::span<double> out);

/// The nearest multiple of `grid`, a power of two: exact. Throws BadInput if `value` is not finite.
double on_grid(double value, double grid);

}  // namespace gibbsite
