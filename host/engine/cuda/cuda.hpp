#pragma once
// The cuda backend on whatever device it is given.
#include <memory>
#include <string>
#include <vector>

#include "engine/cuda/device.hpp"
#include "gibbsite/engine/engine.hpp"

namespace gibbsite::cuda {

/// Whether this build has the kernels.
bool compiled();
/// The first GPU that can be used. Throws NotCompiled, NoDevice (none, or too old) or CudaError (a
/// driver older than the toolkit, a GPU that does not answer).
std::unique_ptr<Device> make_device();

/// A GPU that the runtime shows this process.
struct VisibleGpu {
  int index = 0;   ///< its place among the runtime's
  std::string id;  ///< its UUID, which no other GPU has on any machine
};
/// Those that can be used, in the runtime's order: one at least. Throws as make_device does.
std::vector<VisibleGpu> usable_gpus();
/// One of them.
std::unique_ptr<Device> make_device(int index);

/// The backend on that device. Throws BadInput on an unknown design.
std::unique_ptr<Backend> make_cuda_backend(std::shared_ptr<Device> device,
                                           const BackendOptions& options);

}  // namespace gibbsite::cuda
