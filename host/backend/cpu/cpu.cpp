// One pass over X per step for all chains of a group. For a sub-block of rows that stays in cache:
// the logits of every chain, their residuals, and X^T r added to the sum of the sub-block's
// 1024-row block; the sums of blocks are added pairwise (pairwise.hpp). So the bits of a chain
// depend on the machine's instruction set and on whether at most `few_chains` (one, where rows are
// sparse) or more are unfinished, not on the number of threads, not on how a run is cut.
//
//   few chains:  reads n*d floats, 4*n*d flops a chain: bound by memory (kernels.hpp)
//   many chains: 4*n*d*C flops on panels of chains: bound by FMA and, per (row, chain), one exp.
//                A group is as many panels as stay in cache with their sums; X is read once a group
//
// Where few entries are not zero (one-hot categories), those are kept beside X, row after row, and
// the others skipped: the same sums without their zeros.
//
// Long tables are cut into blocks among the threads, step by step. Short ones are not: each thread
// takes groups of chains and makes all their steps, X in cache, nothing to wait for.
#include "backend/cpu/cpu.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "backend/checks.hpp"
#include "backend/cpu/kernels.hpp"
#include "backend/cpu/pairwise.hpp"
#include "backend/cpu/wide.hpp"
#include "gibbsite/schedule/map_error.hpp"

namespace gibbsite {
namespace {

using cpu::PairwiseSum;

constexpr std::size_t most_threads = 64;     // accumulation_depth allows no more
constexpr std::size_t small_work = 1 << 16;  // n*d*C below this: threads cost more than they give
constexpr std::size_t row_bytes = 12 << 10;  // a sub-block of few chains: half of it in L1
constexpr std::size_t panel_rows = 48;       // whole tiles; residuals [48 x width] stay in L1
constexpr std::size_t group_bytes = 384 << 10;  // theta and sums of a group of panels: in L2

int threads_available() {
  return std::clamp(omp_get_max_threads(), 1, static_cast<int>(most_threads));
}

struct Range {
  std::size_t first = 0, last = 0;
  [[nodiscard]] std::size_t size() const { return last - first; }
};

// Part k of [0, n) in `parts` contiguous parts.
Range part(std::size_t n, std::size_t k, std::size_t parts) {
  return {n * k / parts, n * (k + 1) / parts};
}

// Chains side by side in lanes: [d x width].
struct Panel {
  Range chains;
  std::size_t width = 0;
  std::size_t offset = 0;  // of this panel in its group's [size] numbers
};

// Chains that share a pass over X: panels of many, or few without a panel, packed one by one.
struct Group {
  Range chains;
  std::vector<Panel> panels;
  std::size_t size = 0;
};

// Entries that are not zero, or nothing where most are not.
class Entries {
 public:
  explicit Entries(const Rows& x) : entries_(x.sparse) {
    if (!x.is_sparse() && x.cols <= std::numeric_limits<std::uint32_t>::max()) gather(x.matrix());
  }
  [[nodiscard]] bool used() const { return entries_.begin != nullptr; }
  [[nodiscard]] SparseRows rows(Range range) const {
    return entries_.part(range.first, range.last);
  }

 private:
  static std::uint64_t count(std::span<const float> row) {
    return row.size() - static_cast<std::size_t>(std::ranges::count(row, 0.0f));
  }

  void gather(const MatrixView<const float>& x) {
    std::uint64_t entries = 0;
#pragma omp parallel for schedule(static) reduction(+ : entries)
    for (std::size_t i = 0; i < x.rows; ++i) entries += count(x.row(i));
    if (static_cast<double>(entries) >
        most_sparse_density * static_cast<double>(x.rows) * static_cast<double>(x.cols)) {
      return;
    }
    begin_.assign(x.rows + 1, 0);
#pragma omp parallel for schedule(static)
    for (std::size_t i = 0; i < x.rows; ++i) begin_[i + 1] = count(x.row(i));
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    feature_.resize(begin_.back());
    value_.resize(begin_.back());
#pragma omp parallel for schedule(static)
    for (std::size_t i = 0; i < x.rows; ++i) {
      std::size_t e = begin_[i];
      for (std::size_t j = 0; j < x.cols; ++j) {
        const float v = x.data[i * x.cols + j];
        if (v == 0.0f) continue;
        feature_[e] = static_cast<std::uint32_t>(j);
        value_[e++] = v;
      }
    }
    entries_ = {begin_.data(), feature_.data(), value_.data(), x.rows};
  }

  // Of rows that came dense.
  std::vector<std::uint64_t> begin_;    // [n + 1]
  std::vector<std::uint32_t> feature_;  // [entries]
  std::vector<float> value_;            // [entries]
  SparseRows entries_;
};

// What one thread needs to compute gradients of a group over a range of blocks.
template <class T>
struct Worker {
  PairwiseSum gradient;           // [size]
  cpu::Aligned<T> sums;           // [size] of a block; double sums are added in place
  cpu::Aligned<T> rows, scratch;  // a sub-block of x as T; its residuals
  cpu::Aligned<T> packed;         // theta of the group, when it is this thread's alone
  std::vector<double> noise;      // [d]
};

template <class T>
class CpuEngine final : public Engine {
 public:
  CpuEngine(const Rows& x, std::span<const float> y, const Loss& loss)
      : x_(x.matrix()), y_(y), entries_(x), loss_(loss), choice_(cpu::choose_loss(loss)) {}

  [[nodiscard]] std::size_t rows() const override { return x_.rows; }
  [[nodiscard]] std::size_t features() const override { return x_.cols; }
  [[nodiscard]] bool certifiable() const override { return !single; }

  void advance(Ensemble& ensemble, std::uint64_t steps) override {
    const std::size_t d = features();
    while (steps > 0) {
      // Until the next chain is done, all that are not move together.
      std::uint64_t now = steps;
      active_.clear();
      for (std::size_t c = 0; c < ensemble.chains(); ++c) {
        if (ensemble.step[c] >= ensemble.specs[c].iterations) continue;
        active_.push_back(c);
        now = std::min(now, ensemble.specs[c].iterations - ensemble.step[c]);
      }
      if (active_.empty()) return;
      prepare(active_.size());
      theta_.resize(active_.size() * d);
      gradient_.resize(active_.size() * d);
      for (std::size_t a = 0; a < active_.size(); ++a) {
        std::ranges::copy(std::as_const(ensemble).chain(active_[a]), &theta_[a * d]);
      }
      move(ensemble, now);
      for (std::size_t a = 0; a < active_.size(); ++a) {
        std::copy_n(&theta_[a * d], d, ensemble.chain(active_[a]).begin());
        ensemble.step[active_[a]] += now;
      }
      steps -= now;
    }
  }

  void loss_gradients(MatrixView<const double> theta, MatrixView<double> out) override {
    if (theta.rows == 0) return;
    prepare(theta.rows);
    if (by_groups_) {
      const auto threads = static_cast<int>(workers_.size());
#pragma omp parallel for schedule(static) num_threads(threads)
      for (std::size_t g = 0; g < groups_.size(); ++g) {
        group_gradient(groups_[g], theta.data, out.data);
      }
    } else {
      for (const Group& group : groups_) blocks_gradient(group, theta.data, out.data);
    }
  }

  void loss_values(MatrixView<const double> theta, std::span<double> out) override {
    const std::size_t n_blocks = blocks();
    std::vector<double> packed(cpu::packed_size<double>(features())), values(n_blocks);
    for (std::size_t c = 0; c < theta.rows; ++c) {
      cpu::pack(theta.row(c), packed.data());
#pragma omp parallel for schedule(static) num_threads(threads_for(x_.rows* x_.cols))
      for (std::size_t b = 0; b < n_blocks; ++b) {
        const Range rows = rows_of(b);
        double z[row_block];
        logits(rows, theta.row(c), packed.data(), z);
        values[b] = loss_.value_sum({z, rows.size()}, y_.subspan(rows.first, rows.size()));
      }
      out[c] = 0;
      for (const double value : values) out[c] += value;
    }
  }

 private:
  void logits(Range rows, std::span<const double> theta, const double* packed, double* z) const {
    if (!sparse()) return cpu::row_logits(view(rows), packed, z);
    const Rows x(entries_.rows(rows), features());
    for (std::size_t i = 0; i < rows.size(); ++i) z[i] = x.dot(i, theta);
  }

  static constexpr bool single = sizeof(T) == sizeof(float);

  [[nodiscard]] std::size_t blocks() const { return (x_.rows + row_block - 1) / row_block; }
  [[nodiscard]] Range rows_of(std::size_t block) const {
    return {block * row_block, std::min<std::size_t>((block + 1) * row_block, x_.rows)};
  }
  [[nodiscard]] MatrixView<const float> view(Range rows) const {
    return {x_.data + rows.first * x_.cols, rows.size(), x_.cols};
  }
  [[nodiscard]] static int threads_for(std::size_t work) {
    return work < small_work ? 1 : threads_available();
  }
  [[nodiscard]] bool sparse() const { return entries_.used(); }
  // Chains go one by one; the entries of sparse rows serve a panel better from two chains on.
  [[nodiscard]] bool few() const { return chains_ <= (sparse() ? 1 : cpu::few_chains); }
  // Numbers of one chain where there are few.
  [[nodiscard]] std::size_t packed_size() const {
    return sparse() ? features() : cpu::packed_size<T>(features());
  }
  [[nodiscard]] std::size_t panel_width(std::size_t chains) const {
    const std::size_t width = cpu::panel_width<T>(chains);
    return sparse() ? std::min(width, cpu::max_sparse_width<T>()) : width;
  }

  // Lays out the work for C chains; everything a step needs is allocated here.
  void prepare(std::size_t chains) {
    if (chains == chains_) return;
    const std::size_t d = features();
    chains_ = chains;
    const auto threads = static_cast<std::size_t>(threads_for(x_.rows * d * chains));
    groups_.clear();
    if (few()) {
      groups_.push_back({{0, chains}, {}, chains * packed_size()});
      by_groups_ = false;
    } else {
      const std::size_t width = panel_width(chains);
      const std::size_t panels = (chains + width - 1) / width;
      // Blocks enough for every thread: groups by cache alone. Else a group a thread, if there are.
      by_groups_ = blocks() < 8 * threads && panels >= threads;
      const std::size_t fit =
          std::max<std::size_t>(group_bytes / (2 * sizeof(double) * d * width), 1);
      const std::size_t per_group =
          by_groups_ ? std::min(fit, (panels + threads - 1) / threads) : fit;
      for (std::size_t first = 0; first < chains;) {
        Group group{{first, first}, {}, 0};
        while (group.panels.size() < per_group && first < chains) {
          const std::size_t w = panel_width(chains - first);
          const std::size_t last = std::min(first + w, chains);
          group.panels.push_back({{first, last}, w, group.size});
          group.size += w * d;
          first = last;
        }
        group.chains.last = first;
        groups_.push_back(std::move(group));
      }
    }
    sub_block_ = sparse() ? row_block
                 : few()  ? std::clamp<std::size_t>(row_bytes / (d * sizeof(float)) / 8 * 8, 8, 256)
                          : panel_rows;

    std::size_t size = 0, width = cpu::few_chains;
    for (const Group& group : groups_) {
      size = std::max(size, group.size);
      for (const Panel& panel : group.panels) width = std::max(width, panel.width);
    }
    packed_ = cpu::Aligned<T>(by_groups_ ? 0 : size);
    workers_.clear();
    const std::size_t n_workers =
        by_groups_ ? std::min(threads, groups_.size()) : std::min(threads, blocks());
    for (std::size_t w = 0; w < n_workers; ++w) {
      const Range all = by_groups_ ? Range{0, blocks()} : part(blocks(), w, n_workers);
      Worker<T> worker;
      worker.gradient = PairwiseSum(size, all.first, all.last);
      if (single) worker.sums = cpu::Aligned<T>(size);
      if (!few() && !single && !sparse()) worker.rows = cpu::Aligned<T>(sub_block_ * d);
      worker.scratch = cpu::Aligned<T>(sub_block_ * width);
      worker.packed = cpu::Aligned<T>(by_groups_ ? size : 0);
      worker.noise.resize(d);
      workers_.push_back(std::move(worker));
    }
  }

  // theta [C x d] of a group's chains as the kernels read them.
  void pack(const Group& group, const double* theta, T* packed) const {
    const std::size_t d = features();
    if (group.panels.empty()) {
      for (std::size_t c = 0; c < group.chains.size(); ++c) {
        const std::span<const double> from(theta + (group.chains.first + c) * d, d);
        T* const to = packed + c * packed_size();
        if (sparse()) {
          std::ranges::transform(from, to, [](double v) { return static_cast<T>(v); });
        } else {
          cpu::pack<T>(from, to);
        }
      }
      return;
    }
    for (const Panel& panel : group.panels) {
      T* const out = packed + panel.offset;  // [d x width], unused lanes 0
      std::fill_n(out, panel.width * d, T{0});
      for (std::size_t c = 0; c < panel.chains.size(); ++c) {
        const double* const from = theta + (panel.chains.first + c) * d;
        for (std::size_t j = 0; j < d; ++j) out[j * panel.width + c] = static_cast<T>(from[j]);
      }
    }
  }

  // gradient [C x d] of a group's chains, from its sums.
  void unpack(const Group& group, const double* sums, double* gradient) const {
    const std::size_t d = features();
    if (group.panels.empty()) {
      for (std::size_t c = 0; c < group.chains.size(); ++c) {
        const double* const from = sums + c * packed_size();
        const std::span<double> to(gradient + (group.chains.first + c) * d, d);
        if (sparse()) {
          std::copy_n(from, d, to.begin());
        } else {
          cpu::unpack<T>(from, to);
        }
      }
      return;
    }
    for (const Panel& panel : group.panels) {
      for (std::size_t c = 0; c < panel.chains.size(); ++c) {
        double* const out = gradient + (panel.chains.first + c) * d;
        const double* const from = sums + panel.offset + c;
        for (std::size_t j = 0; j < d; ++j) out[j] = from[j * panel.width];
      }
    }
  }

  // worker.gradient <- sums of those blocks for a group packed in theta.
  void sum_blocks(Worker<T>& worker, const Group& group, const T* theta, Range blocks) {
    worker.gradient.clear(group.size);
    for (std::size_t b = blocks.first; b < blocks.last; ++b) {
      double* const total = worker.gradient.open();
      T* sums = nullptr;
      if constexpr (single) {
        sums = worker.sums.data();
        std::fill_n(sums, group.size, T{0});
      } else {
        sums = total;
      }
      const Range block = rows_of(b);
      for (std::size_t first = block.first; first < block.last; first += sub_block_) {
        const Range rows{first, std::min(first + sub_block_, block.last)};
        group.panels.empty() ? add_few(worker, group, theta, rows, sums)
                             : add_panels(worker, group, theta, rows, sums);
      }
      if constexpr (single) {
        for (std::size_t i = 0; i < group.size; ++i) total[i] = static_cast<double>(sums[i]);
      }
      worker.gradient.close();
    }
  }

  void add_few(Worker<T>& worker, const Group& group, const T* theta, Range rows, T* sums) {
    if (sparse()) {
      return cpu::sparse_row_gradient(cpu::SparseRowGradient<T>{.x = entries_.rows(rows),
                                                                .y = &y_[rows.first],
                                                                .loss = choice_,
                                                                .features = features(),
                                                                .chains = group.chains.size(),
                                                                .theta = theta,
                                                                .r = worker.scratch.data(),
                                                                .g = sums});
    }
    cpu::row_gradient(cpu::RowGradient<T>{.x = view(rows),
                                          .y = &y_[rows.first],
                                          .loss = choice_,
                                          .chains = group.chains.size(),
                                          .theta = theta,
                                          .r = worker.scratch.data(),
                                          .g = sums});
  }

  void add_panels(Worker<T>& worker, const Group& group, const T* theta, Range rows, T* sums) {
    if (sparse()) {
      for (const Panel& panel : group.panels) {
        cpu::sparse_panel_gradient(cpu::SparsePanelGradient<T>{.x = entries_.rows(rows),
                                                               .y = &y_[rows.first],
                                                               .width = panel.width,
                                                               .loss = choice_,
                                                               .theta = theta + panel.offset,
                                                               .g = sums + panel.offset});
      }
      return;
    }
    const std::size_t n = rows.size(), d = features();
    const float* const stored = x_.data + rows.first * d;
    const T* x = nullptr;
    if constexpr (single) {
      x = stored;
    } else {
      cpu::widen({stored, n * d}, worker.rows.data());
      x = worker.rows.data();
    }
    for (const Panel& panel : group.panels) {
      cpu::panel_gradient(cpu::PanelGradient<T>{.x = x,
                                                .y = &y_[rows.first],
                                                .rows = n,
                                                .features = d,
                                                .width = panel.width,
                                                .loss = choice_,
                                                .theta = theta + panel.offset,
                                                .r = worker.scratch.data(),
                                                .g = sums + panel.offset});
    }
  }

  // A thread's own group, all rows.
  void group_gradient(const Group& group, const double* theta, double* gradient) {
    Worker<T>& worker = workers_[static_cast<std::size_t>(omp_get_thread_num())];
    pack(group, theta, worker.packed.data());
    sum_blocks(worker, group, worker.packed.data(), {0, blocks()});
    unpack(group, worker.gradient.total(), gradient);
  }

  // A group of which every thread sums its blocks.
  void blocks_gradient(const Group& group, const double* theta, double* gradient) {
    pack(group, theta, packed_.data());
    const std::size_t n_workers = workers_.size();
    const auto threads = static_cast<int>(n_workers);
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (std::size_t w = 0; w < n_workers; ++w) {
      sum_blocks(workers_[w], group, packed_.data(), part(blocks(), w, n_workers));
    }
    for (std::size_t w = 1; w < n_workers; ++w) {
      workers_.front().gradient.append(workers_[w].gradient);
    }
    unpack(group, workers_.front().gradient.total(), gradient);
  }

  // theta <- theta - h (beta g + m (theta - theta0)) + sqrt(2h) xi for a group's chains.
  void update(const Ensemble& ensemble, Range chains, std::uint64_t k) {
    const std::size_t d = features();
    Worker<T>& worker = workers_[static_cast<std::size_t>(omp_get_thread_num())];
    for (std::size_t a = chains.first; a < chains.last; ++a) {
      const std::size_t c = active_[a];
      langevin_update(ensemble.specs[c], ensemble.step[c] + k, {&gradient_[a * d], d},
                      {&theta_[a * d], d}, worker.noise);
    }
  }

  // `steps` steps of theta_ [active x d].
  void move(const Ensemble& ensemble, std::uint64_t steps) {
    const auto threads = static_cast<int>(workers_.size());
    if (by_groups_) {
#pragma omp parallel for schedule(static) num_threads(threads)
      for (std::size_t g = 0; g < groups_.size(); ++g) {
        for (std::uint64_t k = 0; k < steps; ++k) {
          group_gradient(groups_[g], theta_.data(), gradient_.data());
          update(ensemble, groups_[g].chains, k);
        }
      }
      return;
    }
    for (std::uint64_t k = 0; k < steps; ++k) {
      for (const Group& group : groups_) blocks_gradient(group, theta_.data(), gradient_.data());
      const std::size_t parts = std::min(workers_.size(), active_.size());
#pragma omp parallel for schedule(static, 1) num_threads(static_cast <int>(parts))
      for (std::size_t p = 0; p < parts; ++p) {
        update(ensemble, part(active_.size(), p, parts), k);
      }
    }
  }

  MatrixView<const float> x_;  // [n x d]; without numbers where they came sparse
  std::span<const float> y_;   // [n]
  Entries entries_;
  const Loss& loss_;
  cpu::LossChoice choice_;

  std::size_t chains_ = 0;  // that the layout below is for
  std::size_t sub_block_ = 0;
  bool by_groups_ = false;  // a thread takes groups; else blocks of rows
  std::vector<Group> groups_;
  std::vector<Worker<T>> workers_;
  cpu::Aligned<T> packed_;                // theta of one group
  std::vector<std::size_t> active_;       // unfinished chains
  std::vector<double> theta_, gradient_;  // [active x d]
};

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(Arithmetic arithmetic) : arithmetic_(arithmetic) {}

  [[nodiscard]] std::string_view name() const override { return "cpu"; }
  [[nodiscard]] std::string description() const override {
    const int threads = threads_available();
    return fmt::format("{} on float storage; {}; {} thread{}", to_string(arithmetic_),
                       cpu::instruction_set(), threads, threads == 1 ? "" : "s");
  }
  std::unique_ptr<Engine> load(const Rows& x, std::span<const float> y, const Loss& loss) override {
    require_loadable(x, y);
    if (cpu::is_wide(x)) return cpu::make_wide_engine(x, y, loss);
    if (arithmetic_ == Arithmetic::float32) return std::make_unique<CpuEngine<float>>(x, y, loss);
    return std::make_unique<CpuEngine<double>>(x, y, loss);
  }

 private:
  Arithmetic arithmetic_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(Arithmetic arithmetic) {
  return std::make_unique<CpuBackend>(arithmetic);
}

}  // namespace gibbsite
