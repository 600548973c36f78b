#pragma once
// What this card can do, measured in the process that reports a fraction of it: medians of seven
// runs after two to warm up, on random data.
namespace gibbsite::bench {

struct GpuRoofs {
  double copy = 0;             ///< bytes/s, read and written, of a device-to-device copy
  double float_fma = 0;        ///< flop/s of fused multiply-adds in registers
  double double_fma = 0;       ///< the same in double
  double double_matrix = 0;    ///< flop/s of cuBLASLt's largest double product
  double bfloat16_matrix = 0;  ///< flop/s of cuBLASLt, BF16 in and out, float sums
};

/// On the current device. Throws std::runtime_error when the card refuses.
GpuRoofs measure_gpu_roofs();

}  // namespace gibbsite::bench
