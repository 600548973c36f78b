#include "engine/cuda/metric_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/format_message.hpp"
#include "engine/clip.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/summation.hpp"

namespace gibbsite::cuda {
namespace {

std::size_t blocks_of(const Shape& shape, const MetricPlan& plan) {
  return kernels::ceil_div(shape.rows, plan.block_rows);  // which chunks are whole numbers of
}

// Power of two by which P is divided, so that no finite row's product leaves the floats:
// |x . P_a| <= d max|x| max|P| < 2^127.
int exponent_of(MatrixView<const double> P) {
  double largest = 0;
  for (std::size_t at = 0; at < P.rows * P.cols; ++at) {
    largest = std::max(largest, std::fabs(P.data[at]));
  }
  return largest == 0 ? 0 : std::ilogb(largest) + 2 + static_cast<int>(std::bit_width(P.rows));
}

}  // namespace

MetricPlan plan_metric(const Shape& shape, std::size_t k, std::size_t most_rows) {
  const auto power = [&](std::size_t rows, std::size_t most) {
    return std::clamp(std::bit_floor(rows), std::size_t{row_block}, std::min(most, most_rows));
  };
  MetricPlan plan;
  // 256 MiB of X, 32 MiB of clipped rows, which are in L2 when they are read again.
  plan.chunk_rows = power((std::size_t{1} << 26) / shape.features, std::size_t{1} << 20);
  plan.block_rows =
      std::min(plan.chunk_rows, power((std::size_t{1} << 23) / k, std::size_t{1} << 16));
  plan.leaf_rows = leaf_rows(shape.rows);
  // A thread of wide rows adds a leaf's rows one after another.
  if (shape.features > kernels::leaf_most_features) {
    plan.leaf_rows = std::min<std::size_t>(plan.leaf_rows, 256);
  }
  plan.moment_leaf_rows = 256;
  return plan;
}

std::size_t capped_gradient_depth(const Shape& shape, const MetricPlan& plan) {
  const std::size_t chunk = std::min(shape.rows, plan.chunk_rows);
  const std::size_t leaf = std::min(chunk, plan.leaf_rows),
                    chunks = kernels::ceil_div(shape.rows, chunk);
  return kernels::capped_depth(leaf, shape.features) +
         kernels::finish_depth(kernels::ceil_div(chunk, leaf)) + std::bit_width(chunks - 1) + 1;
}

std::size_t moments_depth(const Shape& shape, const MetricPlan& plan) {
  const std::size_t block = std::min(shape.rows, plan.block_rows);
  const std::size_t leaf = std::min(block, plan.moment_leaf_rows);
  return leaf + kernels::finish_depth(kernels::ceil_div(block, leaf)) +
         std::bit_width(blocks_of(shape, plan) - 1) + 1;
}

// The sum of what blocks of rows leave, one block after another: two neighbors of one height are
// joined as soon as they are there, what is left in the end from the last one on.
class MetricRows::Tree {
 public:
  Tree(Device& device, View<double> sums, std::size_t cells)
      : device_(device), sums_(sums), cells_(cells) {}

  /// Where `count` partials of the next block are to be written.
  View<double> open(View<double> partials, std::size_t count) {
    count_ = count;
    from_ = count == 1 ? sums_.part(held_ * cells_, cells_) : partials.part(0, count * cells_);
    return from_;
  }
  void close() {
    if (count_ > 1) add_up(from_, count_, held_);
    ++held_;
    for (std::size_t b = blocks_++; b % 2 == 1; b /= 2) join();
  }
  View<double> total() {
    while (held_ > 1) join();
    return sums_.part(0, cells_);
  }

 private:
  void add_up(View<double> partials, std::size_t count, std::size_t to) {
    kernels::Finish finish{};
    finish.partials = partials;
    finish.count = count;
    finish.chains = 1;
    finish.features = cells_;
    finish.gradient = sums_.part(to * cells_, cells_);
    device_.launch(finish);
  }
  // The last two, in place: a block of threads writes what it alone has read.
  void join() {
    held_ -= 2;
    add_up(sums_.part(held_ * cells_, 2 * cells_), 2, held_);
    ++held_;
  }

  Device& device_;
  View<double> sums_, from_;
  std::size_t cells_, count_ = 0, held_ = 0, blocks_ = 0;
};

void MetricRows::lay_out(Parts& parts, const MetricPlan& plan, std::size_t k) {
  const std::size_t n = x_.rows, d = x_.cols, cells = kernels::packed_moments(k);
  const std::size_t chunk = std::min(n, plan.chunk_rows), block = std::min(n, plan.block_rows);
  const std::size_t heights = std::bit_width(blocks_of(shape(), plan)) + 1;
  labels_ = parts.take<float>(n + 4);
  caps_ = parts.take<float>(n);
  theta_ = parts.take<double>(d);
  P_ = parts.take<double>(d * k);
  sizes_ = parts.take<double>(d);
  clipped_ = parts.take<float>(block * k);
  partials_ = parts.take<double>(std::max(kernels::ceil_div(chunk, plan.leaf_rows) * (d + 1),
                                          kernels::ceil_div(block, plan.moment_leaf_rows) * cells));
  sums_ = parts.take<double>(heights * std::max(d + 1, cells));
}

void MetricRows::prepare(std::size_t k) {
  if (k <= k_) return;
  forget();
  const MetricPlan plan = plan_metric(shape(), k, most_rows_);
  const std::size_t depth =
      std::max(capped_gradient_depth(shape(), plan), moments_depth(shape(), plan));
  if (depth > most_depth_) {
    throw BadInput(
        format_message("{} cuda", Field{"backend"}),
        fmt::format(
            "sums of {} additions in a row, where the certificate has room for {} beside those "
            "over ranks",
            depth, most_depth_),
        "start fewer ranks, of even shares");
  }
  Parts sizes;
  lay_out(sizes, plan, k);
  Layout layout{.chunk_rows = plan.chunk_rows,
                .chunks = kernels::ceil_div(x_.rows, plan.chunk_rows),
                .streamed = false,
                .row_bytes = bytes_of_rows(x_.rows, x_.cols),
                .work_bytes = sizes.used};
  const auto bytes = [&] {
    return PlacedRows::buffers(layout) * layout.row_bytes + layout.work_bytes;
  };
  const std::size_t free = std::min(device_.gpu().free_bytes, memory_limit_);
  const std::size_t usable = free - std::min<std::size_t>(free / 16, std::size_t{512} << 20);
  if (bytes() > usable) {
    const std::size_t whole = bytes();
    layout.streamed = true;
    layout.row_bytes = bytes_of_rows(std::min(x_.rows, plan.chunk_rows), x_.cols);
    if (bytes() > usable) {
      throw CudaError(
          format_message("{} cuda", Field{"backend"}),
          fmt::format(
              "{} rows x {} features in a metric of {} columns need {} MiB on the card, or {} "
              "MiB when X is streamed, and {} MiB are free",
              x_.rows, x_.cols, k, (whole >> 20) + 1, (bytes() >> 20) + 1, free >> 20),
          format_message("free the card or use {} cpu", Field{"backend"}));
    }
  }
  arena_ = std::make_unique<Memory>(device_, bytes());
  Parts parts{arena_->data + PlacedRows::buffers(layout) * layout.row_bytes, 0};
  lay_out(parts, plan, k);
  device_.fill_zero(Queue::compute, arena_->data, arena_->bytes);
  rows_ = PlacedRows(device_, x_, layout, arena_->data, labels_);
  rows_.fill(y_);
  device_.synchronize();
  plan_ = plan;
  k_ = k;
  how_ = fmt::format("in a metric, on the card: {}",
                     layout.streamed ? fmt::format("X streamed in {} chunks of {} rows",
                                                   layout.chunks, layout.chunk_rows)
                                     : fmt::format("{} MiB", arena_->bytes >> 20));
}

void MetricRows::forget() noexcept {
  if (arena_) arena_->wipe();
  arena_.reset();
  rows_ = {};
  k_ = 0;
  caps_id_ = 0;
}

void MetricRows::second_moments(MatrixView<const double> P, double clip, MatrixView<double> out) {
  const std::size_t k = P.cols, d = x_.cols, cells = kernels::packed_moments(k);
  prepare(k);
  const int exponent = exponent_of(P);
  std::vector<double> scaled(P.data, P.data + d * k), sum(cells);
  for (double& v : scaled) v = std::ldexp(v, -exponent);
  const double scaled_clip = std::ldexp(std::min(clip, 0x1p480), -exponent);
  device_.copy_in(Queue::compute, bytes_of(P_), scaled.data(), d * k * sizeof(double));
  Tree tree(device_, sums_, cells);
  rows_.for_each_chunk([&](const Chunk& chunk, std::size_t) {
    for (std::size_t first = 0; first < chunk.rows; first += plan_.block_rows) {
      const std::size_t rows = std::min(plan_.block_rows, chunk.rows - first);
      const View<float> clipped = clipped_.part(0, rows * k);
      device_.launch(kernels::ProjectedRows{.x = chunk.x.part(first * d, rows * d),
                                            .P = P_.part(0, d * k),
                                            .sizes = {},
                                            .caps = {},
                                            .clipped = clipped,
                                            .rows = rows,
                                            .features = d,
                                            .columns = k,
                                            .clip = scaled_clip,
                                            .largest = 0,
                                            .bound = {}});
      const std::size_t leaves = kernels::ceil_div(rows, plan_.moment_leaf_rows);
      device_.launch(kernels::Moments{.v = clipped,
                                      .partials = tree.open(partials_, leaves),
                                      .rows = rows,
                                      .columns = k,
                                      .leaf_rows = plan_.moment_leaf_rows});
      tree.close();
    }
  });
  device_.copy_out(Queue::compute, sum.data(), bytes_of(tree.total()), cells * sizeof(double));
  device_.synchronize();
  for (std::size_t a = 0; a < k; ++a) {
    for (std::size_t b = 0; b <= a; ++b) {
      out(a, b) = out(b, a) = std::ldexp(sum[kernels::packed_moments(a) + b], 2 * exponent);
    }
  }
}

double MetricRows::capped_gradient(const CapsOf& of, std::span<const double> theta,
                                   std::span<double> out) {
  const std::size_t d = x_.cols;
  prepare(of.k);
  std::vector<double> sizes(d), sum(d + 1);
  const std::vector<double> at(theta.begin(), theta.end());
  const bool found = caps_id_ == of.id;
  NormBound bound;
  if (!found) {
    caps_id_ = 0;
    bound = bound_norms({of.P.data(), d, of.k}, sizes);
    device_.copy_in(Queue::compute, bytes_of(P_), of.P.data(), of.P.size() * sizeof(double));
    device_.copy_in(Queue::compute, bytes_of(sizes_), sizes.data(), d * sizeof(double));
  }
  device_.copy_in(Queue::compute, bytes_of(theta_), at.data(), d * sizeof(double));
  Tree tree(device_, sums_, d + 1);
  rows_.for_each_chunk([&](const Chunk& chunk, std::size_t index) {
    const View<float> caps = caps_.part(index * plan_.chunk_rows, chunk.rows);
    if (!found) {
      device_.launch(kernels::ProjectedRows{.x = chunk.x,
                                            .P = P_.part(0, d * of.k),
                                            .sizes = sizes_,
                                            .caps = caps,
                                            .clipped = {},
                                            .rows = chunk.rows,
                                            .features = d,
                                            .columns = of.k,
                                            .clip = of.limits.clip,
                                            .largest = float_below(largest_),
                                            .bound = bound});
    }
    device_.launch(kernels::Capped{
        .x = chunk.x,
        .y = chunk.y,
        .caps = caps,
        .theta = theta_,
        .partials = tree.open(partials_, kernels::ceil_div(chunk.rows, plan_.leaf_rows)),
        .rows = chunk.rows,
        .features = d,
        .leaf_rows = plan_.leaf_rows,
        .loss = loss_,
        .limit = of.limits.information,
        .largest_count = of.limits.largest_count});
    tree.close();
  });
  device_.copy_out(Queue::compute, sum.data(), bytes_of(tree.total()), (d + 1) * sizeof(double));
  device_.synchronize();
  caps_id_ = of.id;
  std::copy_n(sum.begin(), d, out.begin());
  return sum[d];
}

}  // namespace gibbsite::cuda
