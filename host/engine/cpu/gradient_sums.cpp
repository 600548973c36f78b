#include "engine/cpu/gradient_sums.hpp"

#include <algorithm>

namespace gibbsite::cpu {

template <class T>
GradientSums<T>::GradientSums(const Table& table, const LossChoice& loss, const Layout& layout)
    : table_(table),
      loss_(loss),
      sub_block_(layout.sub_block),
      gradient_(layout.size, layout.node_blocks),
      scratch_(layout.sub_block *
               (loss.outputs > 1 ? std::max(layout.lanes, layout.width) : layout.width)) {
  if (loss.outputs > 1 && !layout.few) {
    by_lane_ = Aligned<T>(layout.sub_block * layout.lanes);
    // What lies behind the last rows is turned with them.
    std::fill_n(scratch_.data(), layout.sub_block * layout.lanes, T{0});
    std::fill_n(by_lane_.data(), layout.sub_block * layout.lanes, T{0});
  }
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
      : loss_.outputs == 1 ? add_panels(group, theta, rows, sums)
                           : add_outputs(group, theta, rows, sums);
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
  const RowTargets y = table_.targets(range.first);
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
const T* GradientSums<T>::widened(MatrixView<const float> x) {
  if constexpr (single) {
    return x.data;
  } else {
    widen({x.data, x.rows * x.cols}, widened_.data());
    return widened_.data();
  }
}

template <class T>
void GradientSums<T>::add_panels(const Group& group, const T* theta, Range range, T* sums) {
  const RowsPart rows = table_.part(range.first, range.last);
  const RowTargets y = table_.targets(range.first);
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
  const T* const x = widened(rows.x);
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

template <class T>
void GradientSums<T>::add_outputs(const Group& group, const T* theta, Range range, T* sums) {
  const RowsPart rows = table_.part(range.first, range.last);
  const RowTargets y = table_.targets(range.first);
  const std::size_t n = rows.size(), d = table_.features;
  const T* const x = table_.dense() ? widened(rows.x) : nullptr;
  const auto dense = [&](const Panel& panel) {
    return PanelGradient<T>{.x = x,
                            .y = y,
                            .rows = n,
                            .features = d,
                            .width = panel.width,
                            .loss = loss_,
                            .theta = theta + panel.offset,
                            .r = scratch_.data() + panel.lane * sub_block_,
                            .g = sums + panel.offset};
  };
  const auto sparse = [&](const Panel& panel) {
    return SparsePanelGradient<T>{.x = rows.entries,
                                  .y = y,
                                  .width = panel.width,
                                  .loss = loss_,
                                  .theta = theta + panel.offset,
                                  .g = sums + panel.offset,
                                  .r = scratch_.data() + panel.lane * sub_block_};
  };
  for (const Panel& panel : group.panels) {
    table_.dense() ? panel_logits(dense(panel)) : sparse_panel_logits(sparse(panel));
    turn_panel(scratch_.data() + panel.lane * sub_block_, n, panel.width,
               by_lane_.data() + panel.lane * sub_block_, sub_block_);
  }
  for (std::size_t lane = 0; lane < group.chains.size(); lane += loss_.outputs) {
    output_residuals(loss_, by_lane_.data() + lane * sub_block_, sub_block_, y, n);
  }
  for (const Panel& panel : group.panels) {
    turn_back(by_lane_.data() + panel.lane * sub_block_, sub_block_, n, panel.width,
              scratch_.data() + panel.lane * sub_block_);
    table_.dense() ? panel_sums(dense(panel)) : sparse_panel_sums(sparse(panel));
  }
}

template class GradientSums<float>;
template class GradientSums<double>;

}  // namespace gibbsite::cpu
