#include "engine/cpu/gradient_sums.hpp"

#include <algorithm>

namespace gibbsite::cpu {

template <class T>
GradientSums<T>::GradientSums(const Table& table, const LossChoice& loss, const Layout& layout)
    : table_(table),
      loss_(loss),
      sub_block_(layout.sub_block),
      gradient_(layout.size, layout.node_blocks),
      scratch_(layout.sub_block * layout.width) {
  if (single) sums_ = Aligned<T>(layout.size);
  if (!layout.few && !single && table.dense()) {
    widened_ = Aligned<T>(layout.sub_block * table.features);
  }
}

template <class T>
const double* GradientSums<T>::over(const Group& group, const T* theta, Range blocks) {
  gradient_.clear(group.size);
  for (std::size_t b = blocks.first; b < blocks.last; ++b) {
    double* const total = gradient_.open();
    T* sums = nullptr;
    if constexpr (single) {
      sums = sums_.data();
      std::fill_n(sums, group.size, T{0});
    } else {
      sums = total;
    }
    const Range block = table_.rows_of(b);
    for (std::size_t first = block.first; first < block.last; first += sub_block_) {
      const Range rows{first, std::min(first + sub_block_, block.last)};
      group.panels.empty() ? add_few(group, theta, rows, sums)
                           : add_panels(group, theta, rows, sums);
    }
    if constexpr (single) {
      for (std::size_t i = 0; i < group.size; ++i) total[i] = static_cast<double>(sums[i]);
    }
    gradient_.close();
  }
  return gradient_.total();
}

template <class T>
void GradientSums<T>::add_few(const Group& group, const T* theta, Range range, T* sums) {
  const RowsPart rows = table_.part(range.first, range.last);
  const float* const y = &table_.y[range.first];
  if (!table_.dense()) {
    return sparse_row_gradient(SparseRowGradient<T>{.x = rows.entries,
                                                    .y = y,
                                                    .loss = loss_,
                                                    .features = table_.features,
                                                    .chains = group.chains.size(),
                                                    .theta = theta,
                                                    .r = scratch_.data(),
                                                    .g = sums});
  }
  row_gradient(RowGradient<T>{.x = rows.x,
                              .y = y,
                              .loss = loss_,
                              .chains = group.chains.size(),
                              .theta = theta,
                              .r = scratch_.data(),
                              .g = sums});
}

template <class T>
void GradientSums<T>::add_panels(const Group& group, const T* theta, Range range, T* sums) {
  const RowsPart rows = table_.part(range.first, range.last);
  const float* const y = &table_.y[range.first];
  if (!table_.dense()) {
    for (const Panel& panel : group.panels) {
      sparse_panel_gradient(SparsePanelGradient<T>{.x = rows.entries,
                                                   .y = y,
                                                   .width = panel.width,
                                                   .loss = loss_,
                                                   .theta = theta + panel.offset,
                                                   .g = sums + panel.offset});
    }
    return;
  }
  const std::size_t n = rows.x.rows, d = table_.features;
  const T* x = nullptr;
  if constexpr (single) {
    x = rows.x.data;
  } else {
    widen({rows.x.data, n * d}, widened_.data());
    x = widened_.data();
  }
  for (const Panel& panel : group.panels) {
    panel_gradient(PanelGradient<T>{.x = x,
                                    .y = y,
                                    .rows = n,
                                    .features = d,
                                    .width = panel.width,
                                    .loss = loss_,
                                    .theta = theta + panel.offset,
                                    .r = scratch_.data(),
                                    .g = sums + panel.offset});
  }
}

template class GradientSums<float>;
template class GradientSums<double>;

}  // namespace gibbsite::cpu
