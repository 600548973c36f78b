// Design E on the host, in BF16 or in float by pairs: X packed once, then per step the reference,
// its logits, the gradients.
#include "engine/cuda/source.hpp"

namespace gibbsite::cuda {
namespace {

template <unsigned Parts>
class WarpGroupSource final : public GradientSource {
 public:
  explicit WarpGroupSource(const DeviceProblem& problem)
      : problem_(problem), width_(kernels::warp_group_width(problem.shape.features)) {}

  [[nodiscard]] std::size_t partials(std::size_t rows) const override {
    return kernels::ceil_div(rows, kernels::warp_group_range(rows, problem_.shape.chains));
  }
  [[nodiscard]] bool single_partials() const override { return true; }
  [[nodiscard]] std::size_t scratch_bytes(std::size_t rows) const override {
    return layout(nullptr, rows).bytes;
  }
  [[nodiscard]] std::size_t depth(std::size_t /*rows*/) const override { return 0; }

  void begin(Device& device, const Chunk& chunk, View<const double> /*theta*/,
             std::byte* scratch) override {
    if (!resident_) pack(device, chunk, layout(scratch, chunk.rows));
    resident_ = true;
  }

  void enqueue(Device& device, const Chunk& chunk, View<const double> theta, std::size_t chains,
               std::byte* partials, std::byte* scratch) override {
    const std::size_t d = problem_.shape.features;
    const Scratch s = layout(scratch, chunk.rows);
    if (!resident_) pack(device, chunk, s);  // a chunk of streamed rows
    device.launch(kernels::CenterReference{.theta = theta,
                                           .reference = s.reference,
                                           .moved = s.moved,
                                           .chains = chains,
                                           .features = d});
    device.launch(kernels::ReferenceLogits{.x = chunk.x,
                                           .reference = s.reference,
                                           .moved = s.moved,
                                           .logits = s.logits,
                                           .rows = chunk.rows,
                                           .features = d});
    device.launch(kernels::WarpGroupOf<Parts>{
        .x = s.packed,
        .logits = s.logits,
        .theta = theta,
        .reference = s.reference,
        .partials = {reinterpret_cast<float*>(partials), this->partials(chunk.rows) * chains * d},
        .rows = chunk.rows,
        .features = d,
        .chains = chains,
        .range_rows = kernels::warp_group_range(chunk.rows, problem_.shape.chains),
        .loss = problem_.loss});
  }

 private:
  struct Scratch {
    View<kernels::Line> packed;      // [padded rows x Parts * width] BF16
    View<kernels::RowLogit> logits;  // [padded rows]
    View<double> reference;          // [width]
    View<unsigned> moved;            // [reference_blocks]
    std::size_t bytes = 0;
  };

  [[nodiscard]] Scratch layout(std::byte* base, std::size_t rows) const {
    const std::size_t padded = kernels::round_up_to(rows, kernels::warp_group_rows);
    Scratch s;
    const auto take = [&]<class T>(View<T>& part, std::size_t count) {
      part = {base == nullptr ? nullptr : reinterpret_cast<T*>(base + s.bytes), count};
      s.bytes += kernels::round_up_to(count * sizeof(T), 256);
    };
    take(s.packed, padded * (Parts * width_ / 8));
    take(s.logits, padded);
    take(s.reference, width_);
    take(s.moved, kernels::reference_blocks(problem_.shape.features));
    return s;
  }

  void pack(Device& device, const Chunk& chunk, const Scratch& s) const {
    device.launch(kernels::PackRows{.x = chunk.x,
                                    .y = chunk.y,
                                    .packed = s.packed,
                                    .logits = s.logits,
                                    .reference = s.reference,
                                    .rows = chunk.rows,
                                    .features = problem_.shape.features,
                                    .width = width_,
                                    .parts = Parts});
  }

  DeviceProblem problem_;
  std::size_t width_;
  bool resident_ = false;  // the scratch holds all rows, packed
};

}  // namespace

std::unique_ptr<GradientSource> make_warp_group_source(const DeviceProblem& problem) {
  if (problem.arithmetic == Arithmetic::float32) {
    return std::make_unique<WarpGroupSource<2>>(problem);
  }
  return std::make_unique<WarpGroupSource<1>>(problem);
}

}  // namespace gibbsite::cuda
