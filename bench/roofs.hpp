#pragma once
// This machine's own roofs, measured in the process that reports a fraction of them. Best of many
// short windows: what the machine can do, not what it did on average.
#include <span>

namespace gibbsite::bench {

/// Bytes/s of reading `x` with all threads.
double read_bandwidth(std::span<const float> x);
/// Flop/s of fused multiply-adds in registers, with all threads.
double double_fma_rate();
double float_fma_rate();

}  // namespace gibbsite::bench
