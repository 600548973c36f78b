// Design B on the host: scratch for the partials, launches of many steps.
#include <algorithm>

#include "core/format_message.hpp"
#include "engine/cuda/source.hpp"
#include "gibbsite/core/error.hpp"

namespace gibbsite::cuda {
namespace {

class CooperativeLoop final : public StepLoop {
 public:
  explicit CooperativeLoop(const DeviceProblem& problem)
      : problem_(problem), leaf_rows_(leaf_rows(problem.shape.rows)) {}

  [[nodiscard]] std::size_t scratch_bytes() const override { return cells() * sizeof(double); }
  [[nodiscard]] std::size_t depth() const override {
    return kernels::cooperative_depth(problem_.shape.rows, leaf_rows_, problem_.shape.features);
  }
  void enqueue(Device& device, const Residents& run, std::uint64_t steps,
               std::byte* scratch) override {
    kernels::Cooperative all{.x = run.rows.x,
                             .y = run.rows.y,
                             .theta = run.theta,
                             .centers = run.centers,
                             .chain = run.chain,
                             .clock = run.clock,
                             .partials = {reinterpret_cast<double*>(scratch), cells()},
                             .rows = narrow(run.rows.rows),
                             .features = narrow(run.features),
                             .chains = narrow(run.chains),
                             .leaf_rows = narrow(leaf_rows_),
                             .leaves = narrow(leaves()),
                             .blocks = narrow(leaves()),
                             .loss = problem_.loss,
                             .single = problem_.arithmetic != Arithmetic::float64};
    all.blocks = grid(device, all);
    const std::uint64_t most =
        kernels::cooperative_most_steps(run.rows.rows, run.features, run.chains);
    for (all.first = 0; all.first < steps; all.first += most) {
      all.steps = narrow(std::min(most, steps - all.first));
      device.launch(all);
    }
  }

 private:
  // The rows fit in a cache (why_not), so their number fits in 32 bits.
  static unsigned narrow(std::size_t count) { return static_cast<unsigned>(count); }
  [[nodiscard]] std::size_t leaves() const {
    return kernels::ceil_div(problem_.shape.rows, leaf_rows_);
  }
  // As many blocks as the GPU holds at once: the barrier of the grid waits for all of them. Fewer
  // blocks have more coordinates each and may need more shared memory for them.
  static unsigned grid(Device& device, kernels::Cooperative kernel) {
    const std::size_t shared = device.gpu().shared_bytes;
    for (;;) {
      // A GPU does not say how many blocks it holds that no block could be: it fails.
      const bool fits = kernels::cooperative_shared_bytes(kernel) <= shared;
      const std::size_t most = fits ? device.blocks_at_once(kernel) : 0;
      if (most == 0) {
        throw CudaError(format_message("{} cuda", Field{"backend"}),
                        "the card holds no block of design cooperative",
                        format_message("use {} one-pass", Field{"design"}));
      }
      if (most >= kernel.blocks) return kernel.blocks;
      kernel.blocks = narrow(most);
    }
  }
  // [leaves x C x d]
  [[nodiscard]] std::size_t cells() const {
    return leaves() * problem_.shape.chains * problem_.shape.features;
  }

  DeviceProblem problem_;
  std::size_t leaf_rows_;
};

}  // namespace

std::unique_ptr<StepLoop> make_cooperative_loop(const DeviceProblem& problem) {
  return std::make_unique<CooperativeLoop>(problem);
}

}  // namespace gibbsite::cuda
