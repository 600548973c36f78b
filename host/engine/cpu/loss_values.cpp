#include "engine/cpu/loss_values.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace gibbsite::cpu {

void loss_values(const Table& table, Crew& crew, const LossChoice& loss,
                 MatrixView<const double> theta, std::span<double> out) {
  const std::size_t n_blocks = table.blocks(), packed = packed_size<double>(table.features);
  std::vector<double> thetas(table.dense() ? theta.rows * packed : 0);
  std::vector<double> values_of(n_blocks * theta.rows);
  for (std::size_t c = 0; c < theta.rows && table.dense(); ++c) {
    pack(theta.row(c), &thetas[c * packed]);
  }
  const auto block_values = [&](std::size_t b) {
    const Range rows = table.rows_of(b);
    const RowsPart given = table.part(rows.first, rows.last);
    double z[few_chains * row_block];
    for (std::size_t first = 0; first < theta.rows; first += few_chains) {
      const std::size_t chains = std::min(theta.rows - first, few_chains);
      double* const value = &values_of[b * theta.rows + first];
      if (table.dense()) {
        row_values({.x = given.x,
                    .y = &table.y[rows.first],
                    .loss = loss,
                    .chains = chains,
                    .theta = &thetas[first * packed],
                    .z = z,
                    .value = value});
        continue;
      }
      const Rows x(given.entries, table.features);
      for (std::size_t c = 0; c < chains; ++c) {
        for (std::size_t i = 0; i < rows.size(); ++i) z[i] = x.dot(i, theta.row(first + c));
        double* const f = z + row_block;
        values(loss, {z, rows.size()}, table.y.subspan(rows.first, rows.size()), {f, rows.size()});
        value[c] = std::accumulate(f, f + rows.size(), 0.0);
      }
    }
  };
  const std::size_t threads = table.numbers() * theta.rows < small_work ? 1 : crew.members();
  const std::size_t parts = threads == 1 ? 1 : std::min(n_blocks, 16 * threads);
  crew.each(parts, [&](std::size_t p, std::size_t) {
    const Range range = part(n_blocks, p, parts);
    for (std::size_t b = range.first; b < range.last; ++b) block_values(b);
  });
  for (std::size_t c = 0; c < theta.rows; ++c) {
    out[c] = 0;
    for (std::size_t b = 0; b < n_blocks; ++b) out[c] += values_of[b * theta.rows + c];
  }
}

}  // namespace gibbsite::cpu
