// Design D on the host: ranges of rows by tiles of chains, a block of threads each.
#include <algorithm>
#include <bit>

#include "engine/cuda/source.hpp"

namespace gibbsite::cuda {
namespace {

// 512 to 1024 ranges, so that blocks fill a card evenly, of at most 4096 rows, which float adds up;
// by rows alone, so that the bits depend neither on the card nor on the number of chains.
std::size_t range_rows(std::size_t rows) {
  return std::clamp<std::size_t>(std::bit_floor(rows / 512 + 1), kernels::tiled_row_multiple, 4096);
}

// Two tiles of X hide the copies of one behind the products of the other; so do two blocks on a
// multiprocessor, which hide the barriers as well. The driver keeps 1 KiB of each block.
unsigned buffers(const DeviceProblem& problem) {
  const auto fits = [&](unsigned count, std::size_t blocks) {
    const std::size_t driver = 1024;
    return blocks * (driver + kernels::tiled_shared_bytes(problem.shape.features,
                                                          problem.shape.chains, count)) <=
           driver + problem.card.shared_bytes;
  };
  return fits(2, 2) || (fits(2, 1) && !fits(1, 2)) ? 2 : 1;
}

class TiledSource final : public GradientSource {
 public:
  explicit TiledSource(const DeviceProblem& problem)
      : problem_(problem),
        range_rows_(range_rows(problem.shape.rows)),
        buffers_(buffers(problem)) {}

  [[nodiscard]] std::size_t partials(std::size_t rows) const override {
    return kernels::ceil_div(rows, range_rows_);
  }
  // Sums of a range are float: as doubles they would say no more and take twice the traffic.
  [[nodiscard]] bool single_partials() const override { return true; }
  // Of float arithmetic: no promise.
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
