#pragma once
// The double matrix instruction of a device (kernels/double_unit.hpp). Before Hopper it is two of 8
// rows each, which hold the same elements in the same registers.
#include "kernels/block.cuh"
#include "kernels/double_unit.hpp"

namespace gibbsite::kernels {

__device__ inline void multiply_double(DeviceBlock& /*block*/, double (&d)[4], const double (&a)[2],
                                       double b) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
      "{%0, %1, %2, %3};"
      : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
      : "d"(a[0]), "d"(a[1]), "d"(b));
#else
  GIBBSITE_UNROLL
  for (unsigned r = 0; r < 2; ++r) {
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(d[2 * r]), "+d"(d[2 * r + 1])
                 : "d"(a[r]), "d"(b));
  }
#endif
}

}  // namespace gibbsite::kernels
