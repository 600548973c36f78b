#include "engine/cuda/probe.hpp"

#include <fmt/format.h>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"

namespace gibbsite::cuda {
namespace {

std::string version(int number) { return fmt::format("{}.{}", number / 1000, number % 1000 / 10); }

}  // namespace

void require_usable(const Probe& probe) {
  if (probe.driver_version == 0) {
    throw NoDevice(format_message("{} cuda", Field{"backend"}),
                   "this machine has no NVIDIA "
                   "driver",
                   format_message("use {} cpu or auto", Field{"backend"}));
  }
  if (probe.driver_version < probe.runtime_version && !probe.answered) {
    throw CudaError(format_message("{} cuda", Field{"backend"}),
                    fmt::format("the NVIDIA driver supports CUDA {} and this build needs {}",
                                version(probe.driver_version), version(probe.runtime_version)),
                    format_message("update the driver, build with an older toolkit, or use {} cpu",
                                   Field{"backend"}));
  }
  if (!probe.answered) {
    throw CudaError(format_message("{} cuda", Field{"backend"}),
                    fmt::format("the driver does not answer ({})", probe.error),
                    format_message("try nvidia-smi, or use {} cpu", Field{"backend"}));
  }
  if (probe.devices == 0) {
    throw NoDevice(format_message("{} cuda", Field{"backend"}), "no GPU can be seen",
                   format_message("check CUDA_VISIBLE_DEVICES, or use {} cpu", Field{"backend"}));
  }
  if (probe.capability < least_capability) {
    throw NoDevice(
        format_message("{} cuda", Field{"backend"}),
        fmt::format("the GPU is too old: compute capability {}.{}, at least {}.{} is needed",
                    probe.capability / 10, probe.capability % 10, least_capability / 10,
                    least_capability % 10),
        format_message("use {} cpu", Field{"backend"}));
  }
}

}  // namespace gibbsite::cuda
