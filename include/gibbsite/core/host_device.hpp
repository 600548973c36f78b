#pragma once
// GIBBSITE_HD marks a function that also runs on the device when nvcc compiles it.
#ifdef __CUDACC__
#define GIBBSITE_HD __host__ __device__
#else
#define GIBBSITE_HD
#endif
