#include "engine/cpu/loss_values.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace gibbsite::cpu {
namespace {

constexpr std::size_t most_logits = 1 << 15;  // of several outputs, of some of a block's rows

// Loss of one chain's outputs over a block; thetas [K x packed] or, for sparse rows, theta [K x d].
double outputs_value(const Table& table, const LossChoice& loss, Range block, const double* thetas,
                     std::span<const double> theta, std::vector<double>& z) {
  const std::size_t outputs = loss.outputs, packed = packed_size<double>(table.features);
  const std::size_t some = std::clamp<std::size_t>(most_logits / outputs / 32 * 32, 32, row_block);
  z.resize(outputs * some);
  double sum = 0;
  for (std::size_t first = block.first; first < block.last; first += some) {
    const std::size_t n = std::min(some, block.last - first);
    const RowsPart rows = table.part(first, first + n);
    for (std::size_t k = 0; k < outputs && table.dense(); k += few_chains) {
      row_values({.x = rows.x,
                  .y = nullptr,
                  .loss = loss,
                  .chains = std::min(outputs - k, few_chains),
                  .theta = thetas + k * packed,
                  .z = z.data() + k * n,
                  .value = nullptr});
    }
    const Rows x(rows.entries, table.features);
    for (std::size_t k = 0; k < outputs && !table.dense(); ++k) {
      const auto of_output = theta.subspan(k * table.features, table.features);
      for (std::size_t i = 0; i < n; ++i) z[k * n + i] = x.dot(i, of_output);
    }
    double f[row_block];
    output_values(loss, z.data(), n, table.targets(first), n, f);
    sum = std::accumulate(f, f + n, sum);
  }
  return sum;
}

}  // namespace

std::vector<double> loss_terms(const Table& table, ThreadPool& pool, const LossChoice& loss,
                               MatrixView<const double> theta) {
  const std::size_t n_blocks = table.blocks(), packed = packed_size<double>(table.features);
  const std::size_t outputs = loss.outputs;
  std::vector<double> thetas(table.dense() ? theta.rows * outputs * packed : 0);
  std::vector<double> values_of(n_blocks * theta.rows);
  for (std::size_t a = 0; a < theta.rows * outputs && table.dense(); ++a) {
    pack({theta.data + a * table.features, table.features}, &thetas[a * packed]);
  }
  const auto block_values = [&](std::size_t b) {
    const Range rows = table.rows_of(b);
    if (outputs > 1) {
      std::vector<double> z;
      for (std::size_t c = 0; c < theta.rows; ++c) {
        values_of[b * theta.rows + c] =
            outputs_value(table, loss, rows,
                          table.dense() ? &thetas[c * outputs * packed] : nullptr, theta.row(c), z);
      }
      return;
    }
    const RowsPart given = table.part(rows.first, rows.last);
    double z[few_chains * row_block];
    for (std::size_t first = 0; first < theta.rows; first += few_chains) {
      const std::size_t chains = std::min(theta.rows - first, few_chains);
      double* const value = &values_of[b * theta.rows + first];
      if (table.dense()) {
        row_values({.x = given.x,
                    .y = table.targets(rows.first),
                    .loss = loss,
                    .chains = chains,
                    .theta = &thetas[first * packed],
                    .z = z,
                    .value = value});
        continue;
      }
      const Rows x(given.entries, table.features);
      const RowTargets y = table.targets(rows.first);
      for (std::size_t c = 0; c < chains; ++c) {
        for (std::size_t i = 0; i < rows.size(); ++i) {
          z[i] = x.dot(i, theta.row(first + c));
          if (y.offset != nullptr) z[i] += static_cast<double>(y.offset[i]);
        }
        double* const f = z + row_block;
        values(loss, {z, rows.size()}, table.y.subspan(rows.first, rows.size()), {f, rows.size()});
        for (std::size_t i = 0; y.factor != nullptr && i < rows.size(); ++i) {
          f[i] *= static_cast<double>(y.factor[i]);
        }
        value[c] = std::accumulate(f, f + rows.size(), 0.0);
      }
    }
  };
  const std::size_t threads =
      table.numbers() * theta.rows * outputs < small_work ? 1 : pool.members();
  const std::size_t parts = threads == 1 ? 1 : std::min(n_blocks, 16 * threads);
  pool.each(parts, [&](std::size_t p, std::size_t) {
    const Range range = part(n_blocks, p, parts);
    for (std::size_t b = range.first; b < range.last; ++b) block_values(b);
  });
  return values_of;
}

}  // namespace gibbsite::cpu
