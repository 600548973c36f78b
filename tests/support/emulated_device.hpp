#pragma once
// A GPU in software: kernels run through the emulator, queues are real queues. What two queues do
// is interleaved at random, as late or as early as events allow, so a missing wait shows as a wrong
// result; memory is poisoned with NaN, so what is read before it is written shows too. What a real
// GPU refuses it refuses: cooperative grids that are not resident at once, in a capture anything
// but launches and products that ran before, products whose operands are not as aligned as their
// key says, events that were recorded over.
#include <memory>

#include "engine/cuda/device.hpp"

namespace gibbsite::support {

struct EmulatedGpu {
  std::size_t total_bytes = std::size_t{1} << 30;
  unsigned multiprocessors = 4;
  std::size_t shared_bytes = 227 << 10;
  std::size_t l2_bytes = std::size_t{1} << 20;
  unsigned blocks_of_multiprocessor = 2;  ///< that its registers are enough for
  int capability = 90;
  std::uint64_t seed = 1;
  std::size_t* copied_in = nullptr;   ///< bytes copied to the GPU are added here
  bool watches_global = true;         ///< races between blocks are looked for; dear
  std::uint64_t fault_at_launch = 0;  ///< this launch (from 1) faults when it runs; 0: none does
};

std::unique_ptr<cuda::Device> make_emulated_device(const EmulatedGpu& gpu = {});

}  // namespace gibbsite::support
