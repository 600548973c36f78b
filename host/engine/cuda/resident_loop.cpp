// Design A on the host: launches of many steps, a block for each group of chains.
#include <algorithm>

#include "engine/cuda/source.hpp"

namespace gibbsite::cuda {
namespace {

// A launch ends now and then, so that a GPU that also drives a display, or a user, can interrupt.
constexpr std::uint64_t row_steps_of_launch = std::uint64_t{1} << 20;
constexpr std::size_t fewest_rows = 128;  // a step costs no less than that of so many rows

// Chains of a block: enough blocks for a large GPU first, then shared reads of X. Bits do not
// depend on it.
unsigned group_of(const DeviceProblem& problem) {
  const Shape& s = problem.shape;
  const bool single = problem.arithmetic != Arithmetic::float64;
  for (const unsigned group : {8u, 4u}) {
    if (s.chains >= 128 * group &&
        kernels::resident_pool(s.rows, s.features, group, single).bytes <=
            problem.gpu.shared_bytes) {
      return group;
    }
  }
  return 1;
}

class ResidentLoop final : public StepLoop {
 public:
  explicit ResidentLoop(const DeviceProblem& problem)
      : problem_(problem), group_(group_of(problem)) {}

  [[nodiscard]] std::size_t depth() const override {
    return problem_.arithmetic == Arithmetic::float64
               ? kernels::resident_depth(problem_.shape.rows, problem_.shape.features)
               : 0;  // of float arithmetic: no promise
  }
  void enqueue(Device& device, const Residents& run, std::uint64_t steps,
               std::byte* /*scratch*/) override {
    const std::uint64_t most = row_steps_of_launch / std::max(run.rows.rows, fewest_rows);
    for (std::uint64_t first = 0; first < steps; first += most) {
      device.launch(kernels::Resident{.x = run.rows.x,
                                      .y = run.rows.y,
                                      .theta = run.theta,
                                      .centers = run.centers,
                                      .chain = run.chain,
                                      .clock = run.clock,
                                      .rows = run.rows.rows,
                                      .features = run.features,
                                      .chains = run.chains,
                                      .first = first,
                                      .steps = static_cast<unsigned>(std::min(most, steps - first)),
                                      .group = group_,
                                      .loss = problem_.loss,
                                      .single = problem_.arithmetic != Arithmetic::float64});
    }
  }

 private:
  DeviceProblem problem_;
  unsigned group_;
};

}  // namespace

std::unique_ptr<StepLoop> make_resident_loop(const DeviceProblem& problem) {
  return std::make_unique<ResidentLoop>(problem);
}

}  // namespace gibbsite::cuda
