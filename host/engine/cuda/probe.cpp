#include "engine/cuda/probe.hpp"

#include <fmt/format.h>

#include "gibbsite/core/error.hpp"

namespace gibbsite::cuda {
namespace {

std::string version(int number) { return fmt::format("{}.{}", number / 1000, number % 1000 / 10); }

}  // namespace

void require_usable(const Probe& probe) {
  if (probe.driver_version == 0) {
    throw NoDevice("`backend` cuda: this machine has no NVIDIA driver; use `backend` cpu or auto");
  }
  if (probe.driver_version < probe.runtime_version && !probe.answered) {
    throw CudaError(fmt::format(
        "`backend` cuda: the NVIDIA driver supports CUDA {} and this build needs {}; update the "
        "driver, build with an older toolkit, or use `backend` cpu",
        version(probe.driver_version), version(probe.runtime_version)));
  }
  if (!probe.answered) {
    throw CudaError(fmt::format(
        "`backend` cuda: the driver does not answer ({}); try nvidia-smi, or use `backend` cpu",
        probe.error));
  }
  if (probe.devices == 0) {
    throw NoDevice(
        "`backend` cuda: no GPU can be seen; check CUDA_VISIBLE_DEVICES, or use `backend` cpu");
  }
  if (probe.capability < least_capability) {
    throw NoDevice(fmt::format(
        "`backend` cuda: the GPU is too old: compute capability {}.{}, at least {}.{} is needed; "
        "use `backend` cpu",
        probe.capability / 10, probe.capability % 10, least_capability / 10,
        least_capability % 10));
  }
}

}  // namespace gibbsite::cuda
