// Chain after chain, one pass over the entries each: a thread takes a contiguous part of the rows
// and adds r_i x_ij to sums of its own [d], compensated, so their error does not grow with the
// number of rows and no tree of blocks is needed (docs/map-error.md, step 3). The threads' sums are
// added in their order.
//
//   reads 8 bytes an entry twice (once from memory where a row's entries stay in cache) and at
//   random 8 bytes of theta and 16 of a sum: bound by those
#include "backend/cpu/wide.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>

#include "backend/cpu/kernels.hpp"
#include "backend/cpu/noise.hpp"
#include "gibbsite/schedule/map_error.hpp"

namespace gibbsite::cpu {
namespace {

constexpr std::size_t sub_block = 256;  // rows whose entries are met twice while in cache
constexpr std::size_t most_threads = 64;
constexpr std::size_t small_work = 1 << 16;  // entries and features that are not worth a thread

// sum + low is the sum of what was added, up to u of itself and (n u)^2 of the sum of the terms'
// sizes (Ogita, Rump, Oishi, SIAM J. Sci. Comput. 26 (2005), Sum2).
struct Compensated {
  double sum = 0, low = 0;
  void add(double v) {
    const double next = sum + v, back = next - sum;
    low += (sum - (next - back)) + (v - back);
    sum = next;
  }
  [[nodiscard]] double value() const { return sum + low; }
};

class WideEngine final : public Engine {
 public:
  WideEngine(const Rows& x, std::span<const float> y, const Loss& loss)
      : x_(x), y_(y), loss_(loss), choice_(choose_loss(loss)) {
    const std::size_t work = x.sparse.entries() + x.cols;
    const auto threads = static_cast<std::size_t>(std::max(omp_get_max_threads(), 1));
    const std::size_t parts = std::clamp<std::size_t>(work / small_work, 1, most_threads);
    sums_.resize(std::min({parts, threads, x.rows}));
    for (auto& sums : sums_) sums.resize(x.cols);
    gradient_.resize(x.cols);
    noise_.resize(x.cols);
    words_.resize(x.cols + x.cols % 2);
  }

  [[nodiscard]] std::size_t rows() const override { return x_.rows; }
  [[nodiscard]] std::size_t features() const override { return x_.cols; }

  void advance(Ensemble& ensemble, std::uint64_t steps) override {
    for (std::size_t c = 0; c < ensemble.chains(); ++c) {
      const ChainSpec& spec = ensemble.specs[c];
      std::uint64_t& step = ensemble.step[c];
      for (std::uint64_t k = 0; k < steps && step < spec.iterations; ++k, ++step) {
        gradient(ensemble.chain(c), gradient_);
        fill_words(spec.key, spec.stream, step, words_);
        normals(words_, noise_);
        langevin_update(spec, gradient_, noise_, ensemble.chain(c));
      }
    }
  }

  void loss_gradients(MatrixView<const double> theta, MatrixView<double> out) override {
    for (std::size_t c = 0; c < theta.rows; ++c) gradient(theta.row(c), out.row(c));
  }

  void loss_values(MatrixView<const double> theta, std::span<double> out) override {
    const std::size_t blocks = (x_.rows + row_block - 1) / row_block;
    std::vector<double> values(blocks);
    for (std::size_t c = 0; c < theta.rows; ++c) {
#pragma omp parallel for schedule(static) num_threads(threads())
      for (std::size_t b = 0; b < blocks; ++b) {
        const std::size_t first = b * row_block;
        const std::size_t n = std::min<std::size_t>(row_block, x_.rows - first);
        double z[row_block];
        for (std::size_t i = 0; i < n; ++i) z[i] = x_.dot(first + i, theta.row(c));
        values[b] = loss_.value_sum({z, n}, y_.subspan(first, n));
      }
      out[c] = 0;
      for (const double value : values) out[c] += value;
    }
  }

 private:
  [[nodiscard]] int threads() const { return static_cast<int>(sums_.size()); }

  void gradient(std::span<const double> theta, std::span<double> out) {
    const std::size_t parts = sums_.size();
#pragma omp parallel num_threads(threads())
    {
#pragma omp for schedule(static, 1)
      for (std::size_t p = 0; p < parts; ++p) {
        add_rows(theta, x_.rows * p / parts, x_.rows * (p + 1) / parts, sums_[p]);
      }
#pragma omp for schedule(static)
      for (std::size_t j = 0; j < out.size(); ++j) {
        out[j] = sums_[0][j].value();
        for (std::size_t p = 1; p < parts; ++p) out[j] += sums_[p][j].value();
      }
    }
  }

  // sums <- sum of f'(x_i . theta, y_i) x_i over rows [first, last).
  void add_rows(std::span<const double> theta, std::size_t first, std::size_t last,
                std::vector<Compensated>& sums) const {
    std::ranges::fill(sums, Compensated());
    for (; first < last; first += sub_block) {
      const std::size_t n = std::min(sub_block, last - first);
      double r[sub_block];
      for (std::size_t i = 0; i < n; ++i) r[i] = x_.dot(first + i, theta);
      residuals(choice_, {r, n}, y_.subspan(first, n), {r, n});
      for (std::size_t i = 0; i < n; ++i) {
        x_.for_each(first + i,
                    [&](std::size_t j, float v) { sums[j].add(r[i] * static_cast<double>(v)); });
      }
    }
  }

  Rows x_;                    // [n x d], sparse
  std::span<const float> y_;  // [n]
  const Loss& loss_;
  LossChoice choice_;
  std::vector<std::vector<Compensated>> sums_;  // [threads][d]
  std::vector<double> gradient_, noise_;        // [d]
  std::vector<std::uint64_t> words_;            // [d], an even number of them
};

}  // namespace

bool is_wide(const Rows& x) {
  // Where (n u)^2 would pass what the map error allows for a sum, blocks go on.
  constexpr double most_rows = 3e9;
  return x.is_sparse() && static_cast<double>(x.rows) <= most_rows &&
         static_cast<double>(x.cols) * static_cast<double>(x.rows) >
             static_cast<double>(row_block) * static_cast<double>(x.sparse.entries());
}

std::unique_ptr<Engine> make_wide_engine(const Rows& x, std::span<const float> y,
                                         const Loss& loss) {
  return std::make_unique<WideEngine>(x, y, loss);
}

}  // namespace gibbsite::cpu
