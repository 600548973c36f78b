// Design D on the host: ranges of rows by tiles of chains, a block of threads each.
#include <algorithm>

#include "engine/cuda/source.hpp"

namespace gibbsite::cuda {
namespace {

class TiledSource final : public GradientSource {
 public:
  explicit TiledSource(const DeviceProblem& problem)
      : problem_(problem),
        range_rows_(
            kernels::tiled_range(problem.shape.rows, problem.shape.features, problem.shape.chains)),
        buffers_(kernels::tiled_buffers(problem.shape.features, problem.shape.chains,
                                        problem.gpu.shared_bytes)) {}

  [[nodiscard]] std::size_t partials(std::size_t rows) const override {
    return kernels::ceil_div(rows, range_rows_);
  }
  // Sums of a range are float: as doubles they would say no more and take twice the traffic.
  [[nodiscard]] bool single_partials() const override { return true; }
  // Float arithmetic promises no depth.
  [[nodiscard]] std::size_t depth(std::size_t /*rows*/) const override { return 0; }
  void enqueue(Device& device, const Chunk& chunk, View<const double> theta, std::size_t chains,
               std::byte* partials, std::byte* /*scratch*/) override {
    const std::size_t d = problem_.shape.features;
    device.launch(kernels::Tiled{
        .x = chunk.x,
        .y = chunk.y,
        .theta = theta,
        .partials = {reinterpret_cast<float*>(partials), this->partials(chunk.rows) * chains * d},
        .rows = chunk.rows,
        .features = d,
        .chains = chains,
        .range_rows = range_rows_,
        .buffers = buffers_,
        .loss = problem_.loss});
  }

 private:
  DeviceProblem problem_;
  std::size_t range_rows_;
  unsigned buffers_;
};

}  // namespace

std::unique_ptr<GradientSource> make_tiled_source(const DeviceProblem& problem) {
  return std::make_unique<TiledSource>(problem);
}

}  // namespace gibbsite::cuda
