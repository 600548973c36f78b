// Design F on the host: passes of whole row blocks that stay in L2.
#include <algorithm>

#include "engine/cuda/source.hpp"
#include "gibbsite/core/summation.hpp"

namespace gibbsite::cuda {
namespace {

constexpr std::size_t workspace_bytes = std::size_t{32} << 20;  // what cuBLASLt asks for on Hopper

template <class T>
View<const std::byte> bytes(const View<const T>& view, std::size_t first, std::size_t count) {
  const View<const T> part = view.part(first, count);
  return {reinterpret_cast<const std::byte*>(part.data), count * sizeof(T)};
}

// 256 MiB, of a GPU of less than 16 GiB a 64th, but never less than half of what stays in L2.
std::size_t pass_bytes(const Gpu& gpu) {
  const std::size_t share = std::min(std::size_t{256} << 20, gpu.total_bytes / 64);
  return std::max(share, cache_for_all(gpu) / 2);
}

class BlockedSource final : public GradientSource {
 public:
  explicit BlockedSource(const DeviceProblem& problem)
      : problem_(problem),
        single_(problem.arithmetic != Arithmetic::float64),
        // A product may add its rows one after another: half a row_block leaves room for the sum
        // over blocks of the longest tables.
        block_rows_(single_ ? row_block : row_block / 2) {
    // X and Z of a pass. More rows than L2 holds: a pass of three blocks leaves most of a GPU
    // idle, which costs up to twice the time (docs/reference/cuda.md).
    const std::size_t per_row = element() * (problem.shape.features + problem.shape.chains);
    const std::size_t rows = pass_bytes(problem.gpu) / per_row;
    pass_blocks_ = std::max<std::size_t>(1, rows / block_rows_);
  }

  [[nodiscard]] std::size_t partials(std::size_t rows) const override {
    return kernels::ceil_div(rows, block_rows_);
  }
  [[nodiscard]] bool single_partials() const override { return single_; }
  [[nodiscard]] std::size_t scratch_bytes(std::size_t rows) const override {
    return layout(nullptr, rows).end;
  }
  [[nodiscard]] std::size_t depth(std::size_t rows) const override {
    return single_ ? 0 : std::min(rows, block_rows_);
  }

  void enqueue(Device& device, const Chunk& chunk, View<const double> theta, std::size_t chains,
               std::byte* partials, std::byte* scratch) override {
    const std::size_t d = problem_.shape.features;
    const Scratch s = layout(scratch, chunk.rows);
    View<const std::byte> thetas = bytes(theta, 0, chains * d);
    if (single_) {
      device.launch(kernels::Convert{.single_from = {},
                                     .double_to = {},
                                     .double_from = theta,
                                     .single_to = {reinterpret_cast<float*>(s.theta), chains * d},
                                     .count = chains * d});
      thetas = {s.theta, chains * d * element()};
    }
    const std::size_t blocks = this->partials(chunk.rows);
    for (std::size_t first = 0; first < blocks; first += pass_blocks_) {
      const std::size_t first_row = first * block_rows_;
      const std::size_t rows = std::min(pass_blocks_ * block_rows_, chunk.rows - first_row);
      View<const std::byte> x = bytes(chunk.x, first_row * d, rows * d);
      if (!single_) {
        device.launch(kernels::Convert{.single_from = chunk.x.part(first_row * d, rows * d),
                                       .double_to = {reinterpret_cast<double*>(s.x), rows * d},
                                       .double_from = {},
                                       .single_to = {},
                                       .count = rows * d});
        x = {s.x, rows * d * element()};
      }
      const std::size_t whole = rows / block_rows_;
      const std::size_t cells = chains * d * element();  // of a partial, in bytes
      const View<std::byte> z{
          s.z, kernels::ceil_div(rows, block_rows_) * chains * block_rows_ * element()};
      const View<std::byte> g{partials + first * cells,
                              kernels::ceil_div(rows, block_rows_) * cells};
      const auto each = [&](auto&& product) {  // whole blocks together, then what is left
        if (whole > 0) product(std::size_t{0}, block_rows_, whole);
        if (rows % block_rows_ != 0) product(whole, rows % block_rows_, std::size_t{1});
      };
      // Z = X Theta^T: column-major X is d x rows, Theta d x C, Z rows x C.
      each([&](std::size_t block, std::size_t count, std::size_t batch) {
        device.launch(product(true, count, chains, d, batch, from(x, block * block_rows_ * d),
                              thetas, from(z, block * chains * block_rows_), d, d, block_rows_,
                              block_rows_ * d, 0, chains * block_rows_, s));
      });
      const View<double> logits{reinterpret_cast<double*>(s.z), single_ ? 0 : z.size / element()};
      const View<float> logits_single{reinterpret_cast<float*>(s.z),
                                      single_ ? z.size / element() : 0};
      const View<const float> labels = chunk.y.part(first_row, rows);
      if (const std::size_t outputs = problem_.shape.outputs; outputs > 1) {
        device.launch(kernels::SoftmaxDerivatives{.z = logits,
                                                  .z_single = logits_single,
                                                  .y = labels,
                                                  .rows = rows,
                                                  .chains = chains / outputs,
                                                  .outputs = outputs,
                                                  .block_rows = block_rows_});
      } else {
        device.launch(kernels::Derivatives{.z = logits,
                                           .z_single = logits_single,
                                           .y = labels,
                                           .rows = rows,
                                           .chains = chains,
                                           .block_rows = block_rows_,
                                           .loss = problem_.loss});
      }
      // G^T = X^T Z: d x C in column-major order is [C x d] in ours.
      each([&](std::size_t block, std::size_t count, std::size_t batch) {
        device.launch(product(false, d, chains, count, batch, from(x, block * block_rows_ * d),
                              from(z, block * chains * block_rows_), from(g, block * chains * d), d,
                              block_rows_, d, block_rows_ * d, chains * block_rows_, chains * d,
                              s));
      });
    }
  }

 private:
  struct Scratch {
    std::byte *theta, *x, *z, *workspace;
    std::size_t end;
  };

  [[nodiscard]] std::size_t element() const { return single_ ? sizeof(float) : sizeof(double); }

  template <class Bytes>
  [[nodiscard]] Bytes from(const Bytes& view, std::size_t element_index) const {
    const std::size_t first = element_index * element();
    return view.part(first, view.size - first);
  }

  [[nodiscard]] Scratch layout(std::byte* base, std::size_t rows) const {
    const std::size_t d = problem_.shape.features, chains = problem_.shape.chains;
    const std::size_t pass = std::min(pass_blocks_, partials(rows)) * block_rows_;
    std::size_t used = 0;
    const auto take = [&](std::size_t size) {
      std::byte* const at = base == nullptr ? nullptr : base + used;
      used += kernels::round_up_to(size, 256);
      return at;
    };
    Scratch s{};
    s.theta = take(single_ ? chains * d * element() : 0);
    s.x = take(single_ ? 0 : pass * d * element());
    s.z = take(pass * chains * element());
    s.workspace = take(workspace_bytes);
    s.end = used;
    return s;
  }

  [[nodiscard]] kernels::Gemm product(bool transpose_a, std::size_t m, std::size_t n, std::size_t k,
                                      std::size_t batch, View<const std::byte> a,
                                      View<const std::byte> b, View<std::byte> c, std::size_t lda,
                                      std::size_t ldb, std::size_t ldc, std::size_t stride_a,
                                      std::size_t stride_b, std::size_t stride_c,
                                      const Scratch& s) const {
    return {.single = single_,
            .transpose_a = transpose_a,
            .m = m,
            .n = n,
            .k = k,
            .batch = batch,
            .a = a,
            .b = b,
            .c = c,
            .lda = lda,
            .ldb = ldb,
            .ldc = ldc,
            .stride_a = stride_a,
            .stride_b = stride_b,
            .stride_c = stride_c,
            .workspace = {s.workspace, workspace_bytes}};
  }

  DeviceProblem problem_;
  bool single_;
  std::size_t block_rows_;
  std::size_t pass_blocks_ = 1;
};

}  // namespace

std::unique_ptr<GradientSource> make_blocked_source(const DeviceProblem& problem) {
  return std::make_unique<BlockedSource>(problem);
}

}  // namespace gibbsite::cuda
