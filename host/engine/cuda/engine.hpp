#pragma once
// An Engine on a Device: memory, queues and the order of a step. Knows no kernel but the last one
// of a step (kernels/finish.hpp); gradients come from a GradientSource.
#include <memory>
#include <optional>

#include "engine/cuda/design.hpp"
#include "engine/cuda/device.hpp"
#include "gibbsite/engine/engine.hpp"

namespace gibbsite::cuda {

struct EngineOptions {
  Arithmetic arithmetic = Arithmetic::float64;
  std::optional<Design> design;  ///< none: choose_design
  NoiseSource noise = NoiseSource::streams;
  std::size_t memory_limit = ~std::size_t{0};  ///< bytes of the GPU that a run may take
};

/// Kernels take dense rows, so sparse ones are written out in host memory first. Throws BadInput
/// when that has no room for them or the loss has no kernels; CudaError with the numbers when not
/// even a streamed run fits the GPU's free memory.
std::unique_ptr<Engine> make_engine(std::shared_ptr<Device> device, const Rows& x,
                                    std::span<const float> y, const Loss& loss,
                                    const EngineOptions& options);

/// How a run is laid out in device memory, and in which portions its rows are taken.
struct Layout {
  std::size_t chunk_rows = 0;  ///< rows that are summed at a time
  std::size_t chunks = 1;
  bool streamed = false;       ///< chunks are copied in each step; else all of X is on the GPU
  std::size_t row_bytes = 0;   ///< of X: all of it, or one of two chunks when it is streamed
  std::size_t work_bytes = 0;  ///< everything else
};

class GradientSource;
/// X whole if it fits `free_bytes` (less a reserve for the driver), else streamed; in the largest
/// chunks, a power of two rows and at least row_block, that keep the longest path of additions
/// within `most_depth`. Throws CudaError naming what is needed and what is free.
Layout plan_layout(const Shape& shape, const GradientSource& source, std::size_t free_bytes,
                   std::size_t most_depth);
/// The layout for rows that are the whole table (accumulation_depth).
Layout plan_layout(const Shape& shape, const GradientSource& source, std::size_t free_bytes);

/// How much of the longest path that a certificate counts is left to the sums of these rows: all of
/// it but the additions of other parts' sums (Rows::Whole).
std::size_t depth_left(const Rows& x);

/// Additions on the longest path from a row to a gradient; 0 where the source promises nothing.
std::size_t summation_depth(const GradientSource& source, const Layout& layout);

}  // namespace gibbsite::cuda
