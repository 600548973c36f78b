#pragma once
// Which design computes a step: a readable function of (n, d, C, arithmetic, GPU).
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/cuda/device.hpp"
#include "gibbsite/engine/engine.hpp"

namespace gibbsite::cuda {

/// docs/reference/cuda.md says what each does and where it is the fastest.
enum class Design {
  resident,       ///< A: X in one block's shared memory, all steps in one kernel
  cooperative,    ///< B: X in all shared memory or L2, persistent kernel
  one_pass,       ///< C: X streamed once, few chains
  tiled,          ///< D: float, register tiles, one pass
  warp_group,     ///< E: BF16 warp-group matrix instructions (sm_90a), float by pairs
  blocked,        ///< F: cuBLASLt on row blocks: every shape
  double_matrix,  ///< G: double matrix instructions, one pass
};
std::string_view to_string(Design design);
/// Throws BadInput listing the names.
Design design_named(std::string_view name);

struct Shape {
  std::size_t rows = 0, features = 0;
  std::size_t chains = 0;   ///< rows of theta [chains x features]: of K outputs K for each chain
  std::size_t outputs = 1;  ///< K of the loss
  bool logistic = true;     ///< the loss is one of the logistic ones, which every design takes
};

/// Bytes that stay in the GPU's cache when every multiprocessor reads them: on A100, H100 and B200
/// the cache has two halves, and each keeps its own copy of what its multiprocessors read.
std::size_t cache_for_all(const Gpu& gpu);

/// Why that design cannot run that problem on that GPU; empty when it can.
std::string why_not(Design design, const Shape& shape, Arithmetic arithmetic, const Gpu& gpu);

struct Choice {
  Design design = Design::blocked;
  std::string why;  ///< one line for people
};

/// The design for that problem; `asked` overrides. Throws BadInput when the design asked for cannot
/// run it, with the reason.
Choice choose_design(const Shape& shape, Arithmetic arithmetic, const Gpu& gpu,
                     std::optional<Design> asked = std::nullopt);

/// The design that computes gradients alone where `design` makes whole steps in a loop.
Design gradient_design(Design design, const Shape& shape);

}  // namespace gibbsite::cuda
