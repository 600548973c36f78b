// Design G on the host: ranges of rows by tiles of chains, a block of threads each.
#include <algorithm>

#include "engine/cuda/source.hpp"

namespace gibbsite::cuda {
namespace {

class DoubleMatrixSource final : public GradientSource {
 public:
  explicit DoubleMatrixSource(const DeviceProblem& problem)
      : problem_(problem),
        range_rows_(kernels::double_matrix_range(problem.shape.rows, problem.shape.features,
                                                 problem.shape.chains)),
        buffers_(buffers(problem.shape, problem.gpu)) {}

  [[nodiscard]] std::size_t partials(std::size_t rows) const override {
    return kernels::ceil_div(rows, range_rows_);
  }
  [[nodiscard]] std::size_t depth(std::size_t rows) const override {
    return kernels::double_matrix_depth(std::min(rows, range_rows_));
  }
  void enqueue(Device& device, const Chunk& chunk, View<const double> theta, std::size_t chains,
               std::byte* partials, std::byte* /*scratch*/) override {
    const std::size_t d = problem_.shape.features;
    device.launch(kernels::DoubleMatrix{
        .x = chunk.x,
        .y = chunk.y,
        .theta = theta,
        .partials = {reinterpret_cast<double*>(partials), this->partials(chunk.rows) * chains * d},
        .rows = chunk.rows,
        .features = d,
        .chains = chains,
        .range_rows = range_rows_,
        .buffers = buffers_,
        .loss = problem_.loss});
  }

 private:
  // A second tile of X hides the copies where registers allow no second block; where they do, two
  // blocks of a tile each hide the slopes as well. The driver keeps 1 KiB of each block.
  static unsigned buffers(const Shape& shape, const Gpu& gpu) {
    const auto fits = [&](unsigned count, std::size_t blocks) {
      const std::size_t driver = 1024;
      return blocks * (driver +
                       kernels::double_matrix_shared_bytes(shape.features, shape.chains, count)) <=
             driver + gpu.shared_bytes;
    };
    const bool two = kernels::double_matrix_blocks(shape.features, shape.chains) == 2 && fits(1, 2);
    return fits(2, two ? 2 : 1) ? 2 : 1;
  }

  DeviceProblem problem_;
  std::size_t range_rows_;
  unsigned buffers_;
};

}  // namespace

std::unique_ptr<GradientSource> make_double_matrix_source(const DeviceProblem& problem) {
  return std::make_unique<DoubleMatrixSource>(problem);
}

}  // namespace gibbsite::cuda
