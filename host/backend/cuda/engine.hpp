#pragma once
// An Engine on a Device: memory, queues and the order of a step. Knows no kernel but the last one
// of a step (kernels/finish.hpp); gradients come from a GradientSource.
#include <memory>
#include <optional>

#include "backend/cuda/design.hpp"
#include "backend/cuda/device.hpp"
#include "gibbsite/sampler/backend.hpp"

namespace gibbsite::cuda {

struct EngineOptions {
  Arithmetic arithmetic = Arithmetic::float64;
  std::optional<Design> design;  ///< none: choose_design
};

/// Throws BadInput when the loss has no kernels; CudaError with the numbers when not even a
/// streamed run fits the card's free memory.
std::unique_ptr<Engine> make_engine(std::shared_ptr<Device> device, MatrixView<const float> x,
                                    std::span<const float> y, const Loss& loss,
                                    const EngineOptions& options);

/// How a run is laid out in device memory.
struct Layout {
  std::size_t chunk_rows = 0;  ///< rows on the device at a time: all of them when X fits
  std::size_t chunks = 1;
  std::size_t row_bytes = 0;   ///< of X: one buffer, or two when it is streamed
  std::size_t work_bytes = 0;  ///< everything else
};

class GradientSource;
/// The largest chunks that fit `free_bytes` (less a reserve for the driver), chunks being a power
/// of two of row_block rows. Throws CudaError naming what is needed and what is free.
Layout plan_layout(const Shape& shape, const GradientSource& source, std::size_t free_bytes);

}  // namespace gibbsite::cuda
