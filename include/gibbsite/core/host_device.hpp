#pragma once
// GIBBSITE_HD marks a function that also runs on the device when nvcc compiles it. GIBBSITE_UNROLL
// stands before a loop over a register array, whose indices must be constants on a device.
#ifdef __CUDACC__
#define GIBBSITE_HD __host__ __device__
#define GIBBSITE_UNROLL _Pragma("unroll")
#else
#define GIBBSITE_HD
#define GIBBSITE_UNROLL
#endif
