#pragma once
// Processors that this process may use at once.
#include <filesystem>

namespace gibbsite::cpu {

/// Cores' worth of time that the control groups of the process allow (cpu.max of version 2,
/// cpu.cfs_quota_us of version 1; its own group and those above it that can be seen); infinity
/// where nothing is said. `process` is its folder in /proc.
double quota(const std::filesystem::path& process = "/proc/self");
/// In its affinity mask; at least 1.
int allowed_processors();

}  // namespace gibbsite::cpu
