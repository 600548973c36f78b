#pragma once
// Processors that this process may use at once.
#include <filesystem>

namespace gibbsite {

/// Cores' worth of time that the control groups of the process allow (cpu.max of version 2,
/// cpu.cfs_quota_us of version 1; its own group and those above it that can be seen); infinity
/// where nothing is said. `process` is its folder in /proc.
double quota(const std::filesystem::path& process = "/proc/self");
/// In its affinity mask; at least 1.
int allowed_processors();
/// Threads worth starting: one for each of them, not more than the quota rounded up, nor than
/// OMP_NUM_THREADS where it is set; at least 1.
int usable_processors();
/// How many of `wanted` threads, the caller among them, the system lets this process have now: they
/// are started and ended. Where OpenMP is asked for more it ends the program.
int startable_threads(int wanted);

}  // namespace gibbsite
