#pragma once
// What the cuda engine asks of a GPU. Two of them: the real one (kernels/cuda_device.cpp) and one
// that the tests emulate (tests/support/emulated_device.hpp), so that the engine's layout, queues
// and step are executed in CI without a GPU.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "gibbsite/machine/device_ranks.hpp"
#include "kernels/blocked.hpp"
#include "kernels/capped.hpp"
#include "kernels/cooperative.hpp"
#include "kernels/double_matrix.hpp"
#include "kernels/finish.hpp"
#include "kernels/moments.hpp"
#include "kernels/normals.hpp"
#include "kernels/one_pass.hpp"
#include "kernels/projected_rows.hpp"
#include "kernels/resident.hpp"
#include "kernels/shares.hpp"
#include "kernels/softmax.hpp"
#include "kernels/tiled.hpp"
#include "kernels/values.hpp"
#include "kernels/warp_group.hpp"

namespace gibbsite::cuda {

/// What the choice of a design and the memory plan need to know of a GPU.
struct Gpu {
  std::string name;
  int capability = 90;  ///< 10 * major + minor
  unsigned multiprocessors = 1;
  std::size_t shared_bytes = 0;  ///< most shared memory of one block
  std::size_t l2_bytes = 0;
  std::size_t total_bytes = 0;
  std::size_t free_bytes = 0;  ///< when asked
};

/// Every kernel there is: the parameters of one launch.
using Kernel =
    std::variant<kernels::OnePass, kernels::Cooperative, kernels::Tiled, kernels::Resident,
                 kernels::PackRows, kernels::CenterReference, kernels::ReferenceLogits,
                 kernels::WarpGroup, kernels::WarpGroupPair, kernels::Gemm, kernels::Derivatives,
                 kernels::SoftmaxDerivatives, kernels::Convert, kernels::Finish, kernels::Tick,
                 kernels::Normals, kernels::Values, kernels::SoftmaxValues, kernels::ProjectedRows,
                 kernels::Capped, kernels::Moments, kernels::DoubleMatrix, kernels::MarkTheta,
                 kernels::AddShares>;

/// Work queues of a device: a queue keeps its order, two queues meet at events only.
enum class Queue { compute, copy };
using Event = std::uint64_t;
using Graph = std::uint64_t;

/// Every call throws CudaError when the GPU refuses. Not thread-safe.
class Device {
 public:
  virtual ~Device() = default;
  [[nodiscard]] virtual Gpu gpu() const = 0;

  /// Device memory, 256-byte aligned, contents undefined. Throws CudaError naming the bytes asked
  /// for and free.
  virtual std::byte* allocate(std::size_t bytes) = 0;
  /// Host memory that copies overlap with.
  virtual std::byte* allocate_pinned(std::size_t bytes) = 0;
  virtual void release(std::byte* memory) noexcept = 0;
  virtual void release_pinned(std::byte* memory) noexcept = 0;

  /// In the order of the queue; host memory must stay until the queue has passed (`synchronize`).
  virtual void copy_in(Queue queue, std::byte* to, const void* from, std::size_t bytes) = 0;
  virtual void copy_out(Queue queue, void* to, const std::byte* from, std::size_t bytes) = 0;
  virtual void fill_zero(Queue queue, std::byte* to, std::size_t bytes) = 0;
  /// Blocks of that cooperative launch that the GPU holds at once: its grid has no more.
  [[nodiscard]] virtual std::size_t blocks_at_once(const kernels::Cooperative& kernel) = 0;
  /// On the compute queue.
  virtual void launch(const Kernel& kernel) = 0;

  /// `ranks`' gather and broadcast of this GPU's memory, on the compute queue; no part of a
  /// capture.
  virtual void gather(DeviceRanks& ranks, const std::byte* mine, std::byte* all,
                      std::size_t bytes) = 0;
  virtual void broadcast(DeviceRanks& ranks, std::byte* data, std::size_t bytes) = 0;

  /// N(0,1) from position `offset` of the library's Philox sequence of that seed, on the compute
  /// queue: cuRAND on a GPU. For uncertified runs.
  virtual void fill_normals(kernels::View<double> out, std::uint64_t seed,
                            std::uint64_t offset) = 0;

  /// Marks this place in the queue; an event may be used for one place at a time.
  virtual Event record(Queue queue) = 0;
  virtual void wait(Queue queue, Event event) = 0;  ///< the queue, not the host
  virtual void wait_host(Event event) = 0;
  /// The host waits for everything; faults of kernels come out here.
  virtual void synchronize() = 0;

  /// Launches that `enqueue` makes on the compute queue are kept, not run. It makes nothing else,
  /// and no product (kernels::Gemm) that has not run before: choosing how is not for a capture.
  virtual Graph capture(const std::function<void()>& enqueue) = 0;
  virtual void replay(Graph graph) = 0;
  virtual void discard(Graph graph) noexcept = 0;
};

}  // namespace gibbsite::cuda
