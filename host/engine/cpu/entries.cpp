#include "engine/cpu/entries.hpp"

#include <limits>
#include <numeric>

namespace gibbsite::cpu {
namespace {

std::uint64_t count(std::span<const float> row) {
  return row.size() - static_cast<std::size_t>(std::ranges::count(row, 0.0f));
}

}  // namespace

Entries::Entries(const Rows& x, ThreadPool& pool) : entries_(x.sparse) {
  if (!x.is_sparse() && x.in_memory && x.cols <= std::numeric_limits<std::uint32_t>::max()) {
    gather(x.matrix(), x.whole, pool);
  }
}

void Entries::gather(const MatrixView<const float>& x, const Rows::Whole& whole, ThreadPool& pool) {
  own_.begin.assign(x.rows + 1, 0);
  const std::size_t parts =
      x.rows * x.cols < small_work ? 1 : std::min<std::size_t>(x.rows, 8 * pool.members());
  const auto each_row = [&](const auto& f) {
    pool.each(parts, [&](std::size_t p, std::size_t) {
      const Range rows = part(x.rows, p, parts);
      for (std::size_t i = rows.first; i < rows.last; ++i) f(i);
    });
  };
  each_row([&](std::size_t i) { own_.begin[i + 1] = gibbsite::cpu::count(x.row(i)); });
  std::partial_sum(own_.begin.begin(), own_.begin.end(), own_.begin.begin());
  const Rows::Whole all = whole.rows > 0 ? whole : Rows::Whole{x.rows, own_.begin.back()};
  if (static_cast<double>(all.entries) >
      most_sparse_density * static_cast<double>(all.rows) * static_cast<double>(x.cols)) {
    own_ = {};
    return;
  }
  own_.feature.resize(own_.begin.back());
  own_.value.resize(own_.begin.back());
  each_row([&](std::size_t i) {
    std::size_t e = own_.begin[i];
    for (std::size_t j = 0; j < x.cols; ++j) {
      const float v = x.data[i * x.cols + j];
      if (v == 0.0f) continue;
      own_.feature[e] = static_cast<std::uint32_t>(j);
      own_.value[e++] = v;
    }
  });
  entries_ = own_.view();
}

}  // namespace gibbsite::cpu
