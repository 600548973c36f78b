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
auto GradientSums<T>::panel_rows(Range range) -> PanelRows {
  const RowsPart rows = table_.part(range.first, range.last);
  return {table_.dense() ? widened(rows.x) : nullptr, rows.entries, table_.targets(range.first),
          rows.size()};
}

template <class T>
PanelGradient<T> GradientSums<T>::dense(const PanelRows& rows, const Panel& panel, const T* theta,
                                        T* r, T* sums) const {
  return {.x = rows.x,
          .y = rows.y,
          .rows = rows.size,
          .features = table_.features,
          .width = panel.width,
          .loss = loss_,
          .theta = theta + panel.offset,
          .r = r,
          .g = sums + panel.offset};
}

template <class T>
SparsePanelGradient<T> GradientSums<T>::sparse(const PanelRows& rows, const Panel& panel,
                                               const T* theta, T* r, T* sums) const {
  return {.x = rows.entries,
          .y = rows.y,
          .width = panel.width,
          .loss = loss_,
          .theta = theta + panel.offset,
          .g = sums + panel.offset,
          .r = r};
}

template <class T>
void GradientSums<T>::add_panels(const Group& group, const T* theta, Range range, T* sums) {
  const PanelRows rows = panel_rows(range);
  T* const r = scratch_.data();
  for (const Panel& panel : group.panels) {
    table_.dense() ? panel_gradient(dense(rows, panel, theta, r, sums))
                   : sparse_panel_gradient(sparse(rows, panel, theta, r, sums));
  }
}

template <class T>
void GradientSums<T>::add_outputs(const Group& group, const T* theta, Range range, T* sums) {
  const PanelRows rows = panel_rows(range);
  const auto r = [&](const Panel& panel) { return scratch_.data() + panel.lane * sub_block_; };
  const auto by_lane = [&](std::size_t lane) { return by_lane_.data() + lane * sub_block_; };
  for (const Panel& panel : group.panels) {
    table_.dense() ? panel_logits(dense(rows, panel, theta, r(panel), sums))
                   : sparse_panel_logits(sparse(rows, panel, theta, r(panel), sums));
    turn_panel(r(panel), rows.size, panel.width, by_lane(panel.lane), sub_block_);
  }
  for (std::size_t lane = 0; lane < group.chains.size(); lane += loss_.outputs) {
    output_derivatives(loss_, by_lane(lane), sub_block_, rows.y, rows.size);
  }
  for (const Panel& panel : group.panels) {
    turn_back(by_lane(panel.lane), sub_block_, rows.size, panel.width, r(panel));
    table_.dense() ? panel_sums(dense(rows, panel, theta, r(panel), sums))
                   : sparse_panel_sums(sparse(rows, panel, theta, r(panel), sums));
  }
}

template class GradientSums<float>;
template class GradientSums<double>;

}  // namespace gibbsite::cpu
