#pragma once
// This machine's own roofs, measured in the process that reports a fraction of them. Best of many
// short windows: what the machine can do, not what it did on average.
#include <span>
#include <string>

namespace gibbsite {

/// Instruction set of the vector kernels: "AVX-512", "AVX2", "NEON", ... It is the best one of the
/// machine, or the one that the environment variable GIBBSITE_INSTRUCTIONS (sse4, avx2, avx512)
/// names; BadInput where the machine lacks that one. The variable is read once a process.
std::string instruction_set();
/// Threads that a backend on the CPU uses at most: one for each processor in the affinity mask, not
/// more than the quota of the control groups rounded up, nor than OMP_NUM_THREADS where it is set.
int thread_count();

/// Bytes/s of reading `x` with all threads: from memory when no cache holds it.
double read_bandwidth(std::span<const float> x);
/// Flop/s of fused multiply-adds in registers, two flops each, with all threads.
double double_fma_rate();
double float_fma_rate();

}  // namespace gibbsite
