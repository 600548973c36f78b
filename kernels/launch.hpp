#pragma once
// Launches of every kernel family, for host code; each is compiled in kernels/NAME.cu.
#include <cstddef>

struct CUstream_st;

namespace gibbsite::kernels {

/// Enqueues the body that fits `params` on a CUDA stream; the caller checks cudaGetLastError().
template <class Params>
void launch(const Params& params, CUstream_st* stream);

/// Blocks of that launch that a multiprocessor of the current GPU holds at once; 0 when not one,
/// and the caller checks cudaGetLastError(). For families whose grid has a barrier.
template <class Params>
std::size_t blocks_at_once(const Params& params);

}  // namespace gibbsite::kernels
