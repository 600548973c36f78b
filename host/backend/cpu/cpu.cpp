// One pass over X per step for all chains. For a sub-block of rows that stays in cache: the logits
// of every chain, their residuals, and X^T r added to the sum of the sub-block's 1024-row block;
// the sums of blocks are added pairwise (pairwise.hpp). So the bits of a chain depend on the
// machine's instruction set and on whether it runs alone, not on the number of threads, not on how
// a run is cut.
//
//   1 chain:    reads n*d floats, 4*n*d flops: bound by memory (kernels.hpp, lanes along features)
//   C chains:   4*n*d*C flops on panels of chains: bound by FMA and, per (row, chain), one exp
#include "backend/cpu/cpu.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <utility>

#include "backend/checks.hpp"
#include "backend/cpu/kernels.hpp"
#include "backend/cpu/pairwise.hpp"
#include "gibbsite/schedule/map_error.hpp"

namespace gibbsite {
namespace {

using cpu::Buffer;
using cpu::PairwiseSum;

constexpr std::size_t most_threads = 64;     // accumulation_depth allows no more
constexpr std::size_t small_work = 1 << 16;  // n*d*C below this: threads cost more than they give
constexpr std::size_t l1_floats = 24 << 10 >> 2;    // a sub-block of float rows, one chain
constexpr std::size_t l2_doubles = 128 << 10 >> 3;  // a sub-block of widened rows, many chains

int threads_available() {
  return std::clamp(omp_get_max_threads(), 1, static_cast<int>(most_threads));
}

struct Range {
  std::size_t first, last;
};

// Part k of [0, n) in `parts` contiguous parts.
Range part(std::size_t n, std::size_t k, std::size_t parts) {
  return {n * k / parts, n * (k + 1) / parts};
}

// Chains [first, first + chains) of an ensemble, side by side in lanes.
struct Panel {
  std::size_t first, chains, width;
  std::size_t offset;  // of this panel in a [sum of widths x d] buffer, in doubles
};

// What one thread does: its blocks of rows for its panels.
struct Worker {
  Range blocks, panels;
  std::size_t offset;         // of its first panel
  PairwiseSum gradient;       // [panels][d x width], or packed for one chain
  Buffer rows;                // [sub-block x d] widened
  Buffer logits;              // [sub-block x width]
  std::vector<float> labels;  // [sub-block x width], each label repeated
};

class CpuEngine final : public Engine {
 public:
  CpuEngine(MatrixView<const float> x, std::span<const float> y, const Loss& loss)
      : x_(x), y_(y), loss_(loss) {}

  [[nodiscard]] std::size_t rows() const override { return x_.rows; }
  [[nodiscard]] std::size_t features() const override { return x_.cols; }

  void advance(Ensemble& ensemble, std::uint64_t steps) override {
    const std::size_t d = features();
    for (std::uint64_t k = 0; k < steps; ++k) {
      active_.clear();
      for (std::size_t c = 0; c < ensemble.chains(); ++c) {
        if (ensemble.step[c] < ensemble.specs[c].iterations) active_.push_back(c);
      }
      if (active_.empty()) return;
      theta_.resize(active_.size() * d);
      gradient_.resize(active_.size() * d);
      noise_.resize(active_.size() * d);
      for (std::size_t a = 0; a < active_.size(); ++a) {
        std::ranges::copy(std::as_const(ensemble).chain(active_[a]), &theta_[a * d]);
      }
      loss_gradients({theta_.data(), active_.size(), d}, {gradient_.data(), active_.size(), d});
      // Each chain on its own: theta <- theta - h (beta g + m (theta - theta0)) + sqrt(2h) xi
#pragma omp parallel for schedule(static) num_threads(threads_for(active_.size() * d * 64))
      for (std::size_t a = 0; a < active_.size(); ++a) {
        const std::size_t c = active_[a];
        langevin_update(ensemble.specs[c], ensemble.step[c], {&gradient_[a * d], d},
                        ensemble.chain(c), {&noise_[a * d], d});
        ++ensemble.step[c];
      }
    }
  }

  void loss_gradients(MatrixView<const double> theta, MatrixView<double> out) override {
    if (theta.rows == 0) return;
    if (theta.rows != chains_) prepare(theta.rows);
    pack(theta);
    const auto workers = static_cast<int>(workers_.size());
#pragma omp parallel for schedule(static, 1) num_threads(workers)
    for (int w = 0; w < workers; ++w) {
      run(workers_[static_cast<std::size_t>(w)]);
    }
    for (std::size_t w = 0; w < workers_.size(); ++w) {
      // Workers of the same panels hold consecutive blocks.
      if (workers_[w].blocks.first != 0) continue;
      for (std::size_t v = w + 1; v < workers_.size() && workers_[v].blocks.first != 0; ++v) {
        workers_[w].gradient.append(workers_[v].gradient);
      }
      unpack(workers_[w], out);
    }
  }

  void loss_values(MatrixView<const double> theta, std::span<double> out) override {
    const std::size_t n_blocks = blocks();
    std::vector<double> packed(cpu::packed_size(features())), values(n_blocks);
    for (std::size_t c = 0; c < theta.rows; ++c) {
      cpu::pack(theta.row(c), packed.data());
#pragma omp parallel for schedule(static) num_threads(threads_for(x_.rows* x_.cols))
      for (std::size_t b = 0; b < n_blocks; ++b) {
        const Range rows = rows_of(b);
        double z[row_block];
        cpu::row_logits(view(rows), packed.data(), z);
        values[b] = loss_.value_sum({z, rows.last - rows.first}, labels(rows));
      }
      out[c] = 0;
      for (const double value : values) out[c] += value;
    }
  }

 private:
  [[nodiscard]] std::size_t blocks() const { return (x_.rows + row_block - 1) / row_block; }
  [[nodiscard]] Range rows_of(std::size_t block) const {
    return {block * row_block, std::min<std::size_t>((block + 1) * row_block, x_.rows)};
  }
  [[nodiscard]] MatrixView<const float> view(Range rows) const {
    return {x_.data + rows.first * x_.cols, rows.last - rows.first, x_.cols};
  }
  [[nodiscard]] std::span<const float> labels(Range rows) const {
    return y_.subspan(rows.first, rows.last - rows.first);
  }
  [[nodiscard]] static int threads_for(std::size_t work) {
    return work < small_work ? 1 : threads_available();
  }

  // Lays out the work for C chains; everything a step needs is allocated here.
  void prepare(std::size_t chains) {
    const std::size_t d = features();
    chains_ = chains;
    panels_.clear();
    std::size_t size = 0;
    if (chains == 1) {
      size = cpu::packed_size(d);
      panels_.push_back({0, 1, 1, 0});
      sub_block_ = l1_floats / d;
    } else {
      for (std::size_t first = 0; first < chains;) {
        const std::size_t width = cpu::panel_width(chains - first);
        panels_.push_back({first, std::min(width, chains - first), width, size});
        first += width;
        size += width * d;
      }
      sub_block_ = l2_doubles / d;
    }
    sub_block_ = std::clamp<std::size_t>(sub_block_ / 24 * 24, 24, 192);
    packed_ = Buffer(size);

    const auto threads = static_cast<std::size_t>(threads_for(x_.rows * d * chains));
    const bool by_panels = panels_.size() >= 4 * threads;
    const std::size_t n_workers = by_panels ? threads : std::min(threads, blocks());
    workers_.clear();
    for (std::size_t w = 0; w < n_workers; ++w) {
      const Range all_blocks{0, blocks()}, all_panels{0, panels_.size()};
      Worker worker{by_panels ? all_blocks : part(blocks(), w, n_workers),
                    by_panels ? part(panels_.size(), w, n_workers) : all_panels,
                    0,
                    {},
                    {},
                    {},
                    {}};
      const auto [first, last] = worker.panels;
      worker.offset = panels_[first].offset;
      const std::size_t end = last == panels_.size() ? size : panels_[last].offset;
      worker.gradient = PairwiseSum(end - worker.offset, worker.blocks.first, worker.blocks.last);
      if (chains > 1) worker.rows = Buffer(sub_block_ * d);
      worker.logits = Buffer(sub_block_ * panels_.front().width);
      worker.labels.resize(sub_block_ * panels_.front().width);
      workers_.push_back(std::move(worker));
    }
  }

  void pack(MatrixView<const double> theta) {
    if (chains_ == 1) return cpu::pack(theta.row(0), packed_.data());
    for (const Panel& panel : panels_) {
      double* out = packed_.data() + panel.offset;  // [d x width], unused lanes 0
      std::fill_n(out, panel.width * features(), 0.0);
      for (std::size_t c = 0; c < panel.chains; ++c) {
        for (std::size_t j = 0; j < features(); ++j) {
          out[j * panel.width + c] = theta(panel.first + c, j);
        }
      }
    }
  }

  void unpack(Worker& worker, MatrixView<double> out) {
    const double* total = worker.gradient.total();
    if (chains_ == 1) return cpu::unpack(total, out.row(0));
    for (std::size_t p = worker.panels.first; p < worker.panels.last; ++p) {
      const Panel& panel = panels_[p];
      const double* sums = total + (panel.offset - worker.offset);
      for (std::size_t c = 0; c < panel.chains; ++c) {
        for (std::size_t j = 0; j < features(); ++j) {
          out(panel.first + c, j) = sums[j * panel.width + c];
        }
      }
    }
  }

  void run(Worker& worker) {
    worker.gradient.clear();
    for (std::size_t b = worker.blocks.first; b < worker.blocks.last; ++b) {
      double* sums = worker.gradient.open();
      const Range block = rows_of(b);
      for (std::size_t first = block.first; first < block.last; first += sub_block_) {
        const Range rows{first, std::min(first + sub_block_, block.last)};
        chains_ == 1 ? one_chain(worker, rows, sums) : many_chains(worker, rows, sums);
      }
      worker.gradient.close();
    }
  }

  // g += X^T f'(X theta, y)
  void one_chain(Worker& worker, Range rows, double* g) {
    double* z = worker.logits.data();
    const std::size_t n = rows.last - rows.first;
    cpu::row_logits(view(rows), packed_.data(), z);
    loss_.residuals({z, n}, labels(rows), {z, n});
    cpu::row_accumulate(view(rows), z, g);
  }

  // G += X^T f'(X Theta, y) for each panel of chains
  void many_chains(Worker& worker, Range rows, double* sums) {
    const std::size_t n = rows.last - rows.first, d = features();
    double* x = worker.rows.data();
    double* z = worker.logits.data();
    cpu::widen({x_.data + rows.first * d, n * d}, x);
    std::size_t repeated = 0;
    for (std::size_t p = worker.panels.first; p < worker.panels.last; ++p) {
      const Panel& panel = panels_[p];
      const std::size_t width = panel.width;
      if (repeated != width) {
        for (std::size_t i = 0; i < n; ++i) {
          std::fill_n(&worker.labels[i * width], width, y_[rows.first + i]);
        }
        repeated = width;
      }
      cpu::panel_multiply({.rows = n,
                           .inner = d,
                           .width = width,
                           .a = x,
                           .row_stride = d,
                           .inner_stride = 1,
                           .b = packed_.data() + panel.offset,
                           .out = z,
                           .accumulate = false});
      loss_.residuals({z, n * width}, {worker.labels.data(), n * width}, {z, n * width});
      cpu::panel_multiply({.rows = d,
                           .inner = n,
                           .width = width,
                           .a = x,
                           .row_stride = 1,
                           .inner_stride = d,
                           .b = z,
                           .out = sums + (panel.offset - worker.offset),
                           .accumulate = true});
    }
  }

  MatrixView<const float> x_;  // [n x d]
  std::span<const float> y_;   // [n]
  const Loss& loss_;

  std::size_t chains_ = 0;  // that the layout below is for
  std::size_t sub_block_ = 0;
  std::vector<Panel> panels_;
  std::vector<Worker> workers_;
  Buffer packed_;                                 // theta: packed, or [panels][d x width]
  std::vector<std::size_t> active_;               // unfinished chains
  std::vector<double> theta_, gradient_, noise_;  // [active x d]
};

class CpuBackend final : public Backend {
 public:
  [[nodiscard]] std::string_view name() const override { return "cpu"; }
  [[nodiscard]] std::string description() const override {
    const int threads = threads_available();
    return fmt::format("double on float storage; {}; {} thread{}", cpu::instruction_set(), threads,
                       threads == 1 ? "" : "s");
  }
  std::unique_ptr<Engine> load(MatrixView<const float> x, std::span<const float> y,
                               const Loss& loss) override {
    require_loadable(x, y);
    return std::make_unique<CpuEngine>(x, y, loss);
  }
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend() { return std::make_unique<CpuBackend>(); }

}  // namespace gibbsite
