#pragma once
// Launches of every kernel family, for host code; each is compiled in kernels/NAME.cu.
struct CUstream_st;

namespace gibbsite::kernels {

/// Enqueues the body that fits `params` on a CUDA stream; the caller checks cudaGetLastError().
template <class Params>
void launch(const Params& params, CUstream_st* stream);

}  // namespace gibbsite::kernels
