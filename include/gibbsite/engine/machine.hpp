#pragma once
// This machine's own roofs, measured in the process that reports a fraction of them. Best of many
// short windows: what the machine can do, not what it did on average.
#include <span>
#include <string>

namespace gibbsite {

/// The instruction set of the vector kernels: "AVX-512", "AVX2", "NEON", ... It is the machine's
/// best one, or the one that the environment variable GIBBSITE_INSTRUCTIONS names (sse4, avx2,
/// avx512). The variable is read once a process. Throws BadInput if the machine lacks that set.
std::string instruction_set();
/// The largest number of threads of a CPU backend: one for each processor in the affinity mask. It
/// is at most the quota of the control groups, rounded up, and OMP_NUM_THREADS if that is set.
int thread_count();

/// Bytes/s of reading `x` with all threads, from memory if no cache holds it.
double read_bandwidth(std::span<const float> x);
/// Flop/s of fused multiply-adds in registers with all threads; each counts as two.
double double_fma_rate();
double float_fma_rate();

}  // namespace gibbsite
