#pragma once
// What this GPU can do, measured in the process that reports a fraction of it: medians of seven
// runs after two to warm up, on random data.
#include <string>
#include <vector>

namespace gibbsite::bench {

struct GpuRoofs {
  double copy = 0;             ///< bytes/s, read and written, of a device-to-device copy
  double float_fma = 0;        ///< flop/s of fused multiply-adds in registers
  double double_fma = 0;       ///< the same in double
  double double_matrix = 0;    ///< flop/s of cuBLASLt's largest double product
  double tf32_matrix = 0;      ///< the same of floats rounded to TF32, float sums
  double bfloat16_matrix = 0;  ///< flop/s of cuBLASLt, BF16 in and out, float sums
};

/// On the current device. Throws std::runtime_error when the card refuses.
GpuRoofs measure_gpu_roofs();

/// One more rate of the current device, which says what a kernel could become.
struct GpuRate {
  std::string name;                   ///< dmma-16x8x16, convert, barrier, dgemm-512x16x100, ...
  std::string unit;                   ///< flop/s, conversion/s, s
  double (*measure)(const GpuRate&);  ///< 0 where the GPU has no such instruction
  unsigned m = 0, n = 0, k = 0;
};
/// Matrix instructions in double by shape, float to double, the barrier of a grid, the library's
/// double products on blocks of rows.
const std::vector<GpuRate>& gpu_rates();

}  // namespace gibbsite::bench
