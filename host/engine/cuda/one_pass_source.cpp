// Design C on the host: leaves of rows, a block of threads each.
#include <algorithm>
#include <bit>

#include "engine/cuda/source.hpp"
#include "gibbsite/core/summation.hpp"

namespace gibbsite::cuda {

// Small tables are cut finer, so that every multiprocessor has a leaf; by rows alone, so that the
// bits do not depend on the GPU. 128 rows are two turns of a block.
std::size_t leaf_rows(std::size_t rows) {
  return std::clamp<std::size_t>(std::bit_ceil(rows / 1024 + 1), 128, row_block);
}

namespace {

class OnePassSource final : public GradientSource {
 public:
  explicit OnePassSource(const DeviceProblem& problem)
      : problem_(problem), leaf_rows_(cuda::leaf_rows(problem.shape.rows)) {}

  [[nodiscard]] std::size_t partials(std::size_t rows) const override {
    return kernels::ceil_div(rows, leaf_rows_);
  }
  [[nodiscard]] std::size_t depth(std::size_t rows) const override {
    if (problem_.arithmetic != Arithmetic::float64) return 0;
    return kernels::leaf_depth(std::min(rows, leaf_rows_), problem_.shape.features);
  }
  void enqueue(Device& device, const Chunk& chunk, View<const double> theta, std::size_t chains,
               std::byte* partials, std::byte* /*scratch*/) override {
    const std::size_t d = problem_.shape.features;
    device.launch(kernels::OnePass{
        .x = chunk.x,
        .y = chunk.y,
        .theta = theta,
        .partials = {reinterpret_cast<double*>(partials), this->partials(chunk.rows) * chains * d},
        .rows = chunk.rows,
        .features = d,
        .chains = chains,
        .leaf_rows = leaf_rows_,
        .loss = problem_.loss,
        .single = problem_.arithmetic != Arithmetic::float64});
  }

 private:
  DeviceProblem problem_;
  std::size_t leaf_rows_;
};

}  // namespace

std::unique_ptr<GradientSource> make_one_pass_source(const DeviceProblem& problem) {
  return std::make_unique<OnePassSource>(problem);
}

}  // namespace gibbsite::cuda
