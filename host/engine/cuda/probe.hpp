#pragma once
// What a look at this machine's CUDA driver found, and what it means. Plain data, so that each
// error can be tested without a driver.
#include <string>

namespace gibbsite::cuda {

struct Probe {
  bool answered = false;    ///< the runtime could count devices
  std::string error;        ///< what it said otherwise
  int driver_version = 0;   ///< 1000 * major + 10 * minor of the CUDA it supports; 0: no driver
  int runtime_version = 0;  ///< of the toolkit this build is linked with
  int devices = 0;
  int capability = 0;  ///< of the most capable device, 10 * major + minor
};

inline constexpr int least_capability = 80;  ///< Ampere: asynchronous copies

/// Returns when there is a device to use. Throws NoDevice (no driver, no GPU, or one that is too
/// old) or CudaError (a driver older than the toolkit, a driver that does not answer).
void require_usable(const Probe& probe);

}  // namespace gibbsite::cuda
