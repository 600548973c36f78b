#include "engine/cpu/whitened.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/clip.hpp"
#include "gibbsite/core/summation.hpp"
#include "gibbsite/model/losses/softmax.hpp"

namespace gibbsite::cpu {
namespace {

constexpr std::size_t nodes_bytes = 64 << 20;  // sums of all nodes
constexpr std::size_t most_nodes = 128;
constexpr std::size_t tile_rows = 48;  // whole tiles of products

// Sums [size] over all blocks of rows: threads take nodes of the tree.
class BlockSums {
 public:
  BlockSums(ThreadPool& pool, std::size_t rows, std::size_t size, std::size_t work)
      : pool_(pool), rows_(rows), size_(size), blocks_(blocks_of(rows)), node_blocks_(blocks_) {
    const std::size_t threads = work < small_work ? 1 : std::min(pool.members(), blocks_);
    if (threads > 1) {
      const std::size_t most =
          std::clamp(nodes_bytes / (sizeof(double) * size), 4 * threads, 2 * most_nodes);
      for (node_blocks_ = 1; nodes() > most;) node_blocks_ *= 2;
      for (std::size_t k = 0; k < nodes(); ++k) results_.emplace_back(size);
    }
    // Any helper may come, whatever the number of tasks.
    for (std::size_t w = 0; w < members(); ++w) workers_.emplace_back(size, node_blocks_);
  }
  [[nodiscard]] std::size_t members() const { return results_.empty() ? 1 : pool_.members(); }

  /// add(first row, last row, member, sum) of each block; their sum.
  template <class Add>
  const double* operator()(const Add& add) {
    const auto node = [&](std::size_t k, std::size_t member) {
      PairwiseSum& sum = workers_[member];
      sum.clear(size_);
      const std::size_t last = std::min((k + 1) * node_blocks_, blocks_);
      for (std::size_t b = k * node_blocks_; b < last; ++b) {
        double* const block = sum.open();
        add(b * row_block, std::min<std::size_t>((b + 1) * row_block, rows_), member, block);
        sum.close();
      }
      return sum.total();
    };
    if (results_.empty()) return node(0, 0);
    pool_.each(nodes(), [&](std::size_t k, std::size_t member) {
      std::copy_n(node(k, member), size_, results_[k].data());
    });
    return sum_nodes(nodes(), size_, [&](std::size_t k) { return results_[k].data(); });
  }

 private:
  [[nodiscard]] std::size_t nodes() const { return (blocks_ + node_blocks_ - 1) / node_blocks_; }

  ThreadPool& pool_;
  std::size_t rows_, size_, blocks_, node_blocks_;
  std::vector<PairwiseSum> workers_;
  std::vector<Aligned<double>> results_;  // of nodes; none for one thread
};

std::size_t packed_or_plain(const Table& table) {
  return table.dense() ? packed_size<double>(table.features) : table.features;
}
void pack_for(const Table& table, std::span<const double> v, double* to) {
  table.dense() ? pack(v, to) : void(std::ranges::copy(v, to));
}

// A member's rows in a metric, clipped.
class ClippedRows {
 public:
  ClippedRows(const Metric& metric, std::size_t most)
      : metric_(metric), u_(most * metric.stride), v_(most * metric.stride) {}

  // P^T x times its factor, of norm at most `clip`, in units of 2^exponent, [rows x stride].
  const double* operator()(const RowsPart& rows, double clip, const RowFactors& of = {}) {
    project(metric_, rows, u_.data());
    clip_rows(metric_, rows.size(), u_.data(), clip, of, v_.data());
    return v_.data();
  }

 private:
  const Metric& metric_;
  Aligned<float> u_;
  Aligned<double> v_;
};
std::vector<ClippedRows> clipped_rows_of(const Metric& metric, std::size_t members,
                                         std::size_t most) {
  std::vector<ClippedRows> out;
  for (std::size_t w = 0; w < members; ++w) out.emplace_back(metric, most);
  return out;
}

class Capped final : public CappedLoss {
 public:
  Capped(HostRows& host, const Table& table, ThreadPool& pool, MatrixView<const double> P,
         const ScoreLimits& limits)
      : host_(host),
        table_(table),
        pool_(pool),
        limits_(limits),
        caps_(table, host.loss(), P, limits.clip),
        choice_(choose_loss(host.loss())),
        packed_(packed_or_plain(table)),
        theta_(outputs() * packed_),
        sums_(pool, table.rows.size(), outputs() * packed_ + 1, outputs() * table.numbers()) {
    if (outputs() > 1) P_.assign(P.data, P.data + P.rows * P.cols);
    constexpr std::size_t bytes = 12 << 10;  // half of it in the nearest cache
    sub_block_ = table.dense() ? std::clamp<std::size_t>(
                                     bytes / (table.features * sizeof(float)) / 8 * 8, 8, 256)
                               : 128;
    for (std::size_t w = 0; w < sums_.members(); ++w) {
      // Logits, residuals and curvatures; of several outputs logits alone, which become the others.
      workers_.push_back(
          {Aligned<double>((outputs() == 1 ? 3 : outputs()) * sub_block_), caps_.scratch()});
    }
  }

  void information_between(std::span<const double> theta, ClassPair pair,
                           MatrixView<double> out) override {
    require_information(*choice_.other, limits_, pair);
    if (!found_) {
      std::vector<double> unused(theta.size());
      gradient(theta, unused);
    } else {
      pack_all(theta);
    }
    class_information(table_, pool_, caps_, limits_, outputs(), theta_.data(), pair, out);
  }
  void information(std::span<const double> theta, MatrixView<double> out) override {
    require_information(*choice_.other, limits_);
    find_rows(theta, false);
    cpu::information(table_, pool_, caps_.metric(), limits_, of_rows_, out);
    of_rows_.clear();
  }
  void score_moments(std::span<const double> theta, MatrixView<double> out) override {
    require_score_moments(*choice_.other, caps_.metric().columns, out);
    if (outputs() > 1) {
      const MatrixView<const double> P{P_.data(), table_.features, caps_.metric().columns};
      return host_.HostRows::capped_loss(P, limits_)->score_moments(theta, out);
    }
    find_rows(theta, true);
    cpu::score_moments(table_, pool_, caps_.metric(), limits_, of_rows_, out);
    of_rows_.clear();
  }
  double gradient(std::span<const double> theta, std::span<double> out) override {
    const std::size_t d = table_.features, K = outputs();
    pack_all(theta);
    const double* const sums =
        sums_([&](std::size_t first, std::size_t last, std::size_t member, double* sum) {
          // Products want more rows at a time than gradients where rows are long.
          const std::size_t ahead = (tile_rows + sub_block_ - 1) / sub_block_ * sub_block_;
          for (std::size_t row = first; row < last; row += sub_block_) {
            if (!found_ && (row - first) % ahead == 0) {
              caps_.find(row, std::min(row + ahead, last), workers_[member].of_caps);
            }
            add(row, std::min(row + sub_block_, last), workers_[member], sum);
          }
        });
    found_ = true;
    for (std::size_t k = 0; k < K; ++k) {
      const auto part = out.subspan(k * d, d);
      if (table_.dense()) {
        unpack<double>(sums + k * packed_, part);
        continue;
      }
      for (std::size_t j = 0; j < d; ++j) part[j] = sums[k * packed_ + j];
    }
    return sums[K * packed_];
  }

 private:
  struct Worker {
    Aligned<double> numbers;
    Caps::Scratch of_caps;
  };

  [[nodiscard]] std::size_t outputs() const { return choice_.outputs; }

  void pack_all(std::span<const double> theta) {
    const std::size_t d = table_.features;
    for (std::size_t k = 0; k < outputs(); ++k) {
      pack_for(table_, theta.subspan(k * d, d), theta_.data() + k * packed_);
    }
  }
  // Every row's score or curvature.
  void find_rows(std::span<const double> theta, bool scores) {
    scores_ = scores;
    of_rows_.resize(table_.rows.size());
    std::vector<double> unused(theta.size());
    gradient(theta, unused);
  }

  void add(std::size_t first, std::size_t last, Worker& worker, double* sum) {
    const RowsPart rows = table_.part(first, last);
    double* const z = worker.numbers.data();
    if (const std::size_t K = outputs(); K > 1) {
      outputs_logits(rows, table_.features, K, theta_.data(), z);
      sum[K * packed_] += held_outputs(choice_, z, rows.size(), table_.targets(first),
                                       caps_.from(first), limits_.information, rows.size());
      add_outputs(rows, table_.features, K, z, sum);
      return;
    }
    double* const r = z + sub_block_;
    row_logits(rows, table_.features, theta_.data(), false, z);
    sum[packed_] += held_derivatives(choice_, {z, last - first}, table_.targets(first),
                                     caps_.from(first), limits_, r, r + sub_block_);
    if (!of_rows_.empty())
      std::copy_n(scores_ ? r : r + sub_block_, last - first, &of_rows_[first]);
    add_rows(rows, r, sum);
  }

  HostRows& host_;
  Table table_;
  ThreadPool& pool_;
  ScoreLimits limits_;
  Caps caps_;
  std::vector<double> P_;  // of several outputs [d x k]
  LossChoice choice_;
  std::size_t packed_, sub_block_ = 0;
  Aligned<double> theta_;
  BlockSums sums_;  // of gradients [K x packed], and the curvature behind
  std::vector<Worker> workers_;
  std::vector<double> of_rows_;  // [n] scores or curvatures while a matrix is found
  bool scores_ = false;
  bool found_ = false;
};

// out [k x k] = sum of v v^T, rows times their factors [n] and clipped.
void add_up_moments(const Table& table, ThreadPool& pool, const Metric& metric, double clip,
                    const RowFactors& of, MatrixView<double> out) {
  const double scaled = std::ldexp(std::min(clip, 0x1p480), -metric.exponent);
  const std::size_t chunk = metric.stride <= 256 ? 2 * tile_rows : tile_rows;
  BlockSums sums(pool, table.rows.size(), moments_size(metric),
                 table.rows.size() * metric.stride * (1 + metric.stride / 16));
  std::vector<ClippedRows> workers = clipped_rows_of(metric, sums.members(), chunk);
  unpack_moments(metric,
                 sums([&](std::size_t first, std::size_t last, std::size_t member, double* sum) {
                   for (; first < last; first += chunk) {
                     const RowsPart rows = table.part(first, std::min(first + chunk, last));
                     const double* const v = workers[member](rows, scaled, of.from(first));
                     add_moments(metric, rows.size(), v, sum);
                   }
                 }),
                 out);
}

}  // namespace

Caps::Caps(const Table& table, const Loss& loss, MatrixView<const double> P, double clip)
    : table_(table),
      metric_(P),
      clip_(std::ldexp(clip, -metric_.exponent)),
      largest_(float_below(loss.max_abs_derivative())),
      sizes_(packed_or_plain(table)),
      caps_(table.rows.size()) {
  pack_for(table, metric_.sizes, sizes_.data());
}

Caps::Scratch Caps::scratch() const {
  return {Aligned<float>(most_rows * metric_.stride), Aligned<double>(most_rows)};
}

void Caps::find(std::size_t first, std::size_t last, Scratch& scratch) {
  const RowsPart rows = table_.part(first, last);
  project(metric_, rows, scratch.products.data());
  row_logits(rows, table_.features, sizes_.data(), true, scratch.sizes.data());
  find_caps(metric_, last - first, scratch.products.data(), scratch.sizes.data(), clip_, largest_,
            &caps_[first]);
}

namespace {
// Roots of weights [rows]; none where there are none.
std::vector<float> roots_of(const float* weight, std::size_t rows) {
  std::vector<float> out;
  if (weight == nullptr) return out;
  out.resize(rows);
  std::transform(weight, weight + rows, out.begin(), root_weight);
  return out;
}
// Those of the rows' own.
std::vector<float> root_weights(const Table& table) {
  return roots_of(table.weight, table.rows.size());
}
const float* shares_of(const std::vector<float>& roots) {
  return roots.empty() ? nullptr : roots.data();
}
}  // namespace

void second_moments(const Table& table, ThreadPool& pool, MatrixView<const double> P, double clip,
                    MatrixView<double> out) {
  const std::vector<float> roots = root_weights(table);
  add_up_moments(table, pool, Metric(P), clip, {nullptr, shares_of(roots)}, out);
}

void information(const Table& table, ThreadPool& pool, const Metric& metric,
                 const ScoreLimits& limits, std::span<const double> curvatures,
                 MatrixView<double> out) {
  const std::vector<float> factors = information_factors(curvatures);
  const std::vector<float> roots = root_weights(table);
  add_up_moments(table, pool, metric, information_clip(limits), {factors.data(), shares_of(roots)},
                 out);
}

void class_information(const Table& table, ThreadPool& pool, const Caps& caps,
                       const ScoreLimits& limits, std::size_t classes, const double* theta,
                       const ClassPair& pair, MatrixView<double> out) {
  const std::size_t n = table.rows.size();
  const std::vector<float> roots = roots_of(table.factor, n);  // those of classes among them
  std::vector<float> factors(n), shares(n);
  const std::size_t tasks = (n + row_block - 1) / row_block;
  pool.each(tasks, [&](std::size_t task, std::size_t) {
    const std::size_t begin = task * row_block, end = std::min<std::size_t>(begin + row_block, n);
    std::vector<double> z(classes * tile_rows), logits(classes), p(classes);
    for (std::size_t first = begin; first < end; first += tile_rows) {
      const RowsPart rows = table.part(first, std::min(first + tile_rows, end));
      outputs_logits(rows, table.features, classes, theta, z.data());
      for (std::size_t i = 0; i < rows.size(); ++i) {
        for (std::size_t k = 0; k < classes; ++k) logits[k] = z[k * rows.size() + i];
        losses::softmax(logits, p);
        const PairFactor of =
            pair_factor(p, static_cast<double>(*caps.from(first + i)), limits.information, pair);
        const float root = roots.empty() ? 1 : roots[first + i];
        factors[first + i] = of.factor * root;
        shares[first + i] = float_below(static_cast<double>(of.share) * static_cast<double>(root));
      }
    }
  });
  add_up_moments(table, pool, caps.metric(), information_clip(limits),
                 {factors.data(), shares.data()}, out);
}

void score_moments(const Table& table, ThreadPool& pool, const Metric& metric,
                   const ScoreLimits& limits, std::span<const double> scores,
                   MatrixView<double> out) {
  const std::vector<float> factors = score_factors(scores);
  const std::vector<float> roots = root_weights(table);
  add_up_moments(table, pool, metric, limits.clip, {factors.data(), shares_of(roots)}, out);
}

void clipped_rows(const Table& table, ThreadPool& pool, MatrixView<const double> P, double clip,
                  MatrixView<float> out) {
  const Metric metric(P);
  // In units of 2^exponent; beyond 2^120 no float would be left.
  const double unit = std::ldexp(1.0, metric.exponent), scaled = std::min(clip, 0x1p120) / unit;
  const std::size_t n = table.rows.size(), most_tasks = 1024;
  const std::size_t share = std::max<std::size_t>(n / (most_tasks * tile_rows), 1) * tile_rows;
  std::vector<ClippedRows> workers = clipped_rows_of(metric, pool.members(), tile_rows);
  pool.each((n + share - 1) / share, [&](std::size_t task, std::size_t member) {
    const std::size_t end = std::min((task + 1) * share, n);
    for (std::size_t first = task * share; first < end; first += tile_rows) {
      const RowsPart rows = table.part(first, std::min(first + tile_rows, end));
      const double* const v = workers[member](rows, scaled);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        for (std::size_t a = 0; a < metric.columns; ++a) {
          const double value = v[i * metric.stride + a] * unit;
          // Smaller ones would be rounded, perhaps up.
          const bool normal = std::fabs(value) >= std::numeric_limits<float>::min();
          out(first + i, a) = normal ? static_cast<float>(value) : 0.0F;
        }
      }
    }
  });
}

std::unique_ptr<CappedLoss> capped_loss(HostRows& host, const Table& table, ThreadPool& pool,
                                        MatrixView<const double> P, const ScoreLimits& limits) {
  return std::make_unique<Capped>(host, table, pool, P, limits);
}

}  // namespace gibbsite::cpu
