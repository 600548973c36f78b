#include "engine/cpu/gradient_sums.hpp"

#include <algorithm>

namespace gibbsite::cpu {

// Rows of what is made in parts: residuals of all lanes of a group lie beside each other, twice.
constexpr std::size_t most_part_rows = 128;

template <class T>
GradientSums<T>::GradientSums(const Table& table, const LossChoice& loss, const Layout& layout)
    : table_(table),
      loss_(loss),
      sub_block_(layout.sub_block),
      lanes_(layout.lanes),
      gradient_(layout.size + layout.chains, layout.node_blocks),
      scratch_(layout.sub_block * layout.width),
      row_losses_(single ? 0 : layout.sub_block) {
  if (loss.outputs > 1 && !layout.few) prepare_parts();
  if (single) sums_ = Aligned<T>(layout.size);
  if (!layout.few && !single && table.dense()) {
    widened_ = Aligned<T>(layout.sub_block * table.features);
  }
}

template <class T>
void GradientSums<T>::prepare_parts() {
  if (part_rows_ > 0) return;
  part_rows_ = std::min(sub_block_, most_part_rows);
  for (Aligned<T>* const residuals : {&parts_, &by_lane_}) {
    *residuals = Aligned<T>(part_rows_ * lanes_);
    // What lies behind the last rows is turned with them.
    std::fill_n(residuals->data(), part_rows_ * lanes_, T{0});
  }
}

template <class T>
const double* GradientSums<T>::over(const Group& group, const T* theta, Range blocks,
                                    bool losses_too) {
  const bool in_parts = !group.panels.empty() && (loss_.outputs > 1 || losses_too);
  if (in_parts) prepare_parts();
  const std::size_t some = in_parts ? part_rows_ : sub_block_;
  gradient_.clear(group.size + (losses_too ? group.chains.size() / loss_.outputs : 0));
  for (std::size_t b = blocks.first; b < blocks.last; ++b) {
    double* const total = gradient_.open();
    double* const losses = losses_too ? total + group.size : nullptr;
    T* sums = nullptr;
    if constexpr (single) {
      sums = sums_.data();
      std::fill_n(sums, group.size, T{0});
    } else {
      sums = total;
    }
    const Range block = table_.rows_of(b);
    for (std::size_t first = block.first; first < block.last; first += some) {
      const Range rows{first, std::min(first + some, block.last)};
      group.panels.empty() ? add_few(group, theta, rows, sums, losses)
      : in_parts           ? add_in_parts(group, theta, rows, sums, losses)
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
void GradientSums<T>::add_few(const Group& group, const T* theta, Range range, T* sums,
                              double* losses) {
  const RowsPart rows = table_.part(range.first, range.last);
  const RowTargets y = table_.targets(range.first);
  const LossSums to{losses, row_losses_.data()};
  if (!table_.dense()) {
    return sparse_row_gradient(SparseRowGradient<T>{.x = rows.entries,
                                                    .y = y,
                                                    .loss = loss_,
                                                    .features = table_.features,
                                                    .chains = group.chains.size(),
                                                    .theta = theta,
                                                    .r = scratch_.data(),
                                                    .g = sums,
                                                    .losses = to});
  }
  row_gradient(RowGradient<T>{.x = rows.x,
                              .y = y,
                              .loss = loss_,
                              .chains = group.chains.size(),
                              .theta = theta,
                              .r = scratch_.data(),
                              .g = sums,
                              .losses = to});
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
void GradientSums<T>::add_in_parts(const Group& group, const T* theta, Range range, T* sums,
                                   double* losses) {
  const PanelRows rows = panel_rows(range);
  const auto r = [&](const Panel& panel) { return parts_.data() + panel.lane * part_rows_; };
  const auto by_lane = [&](std::size_t lane) { return by_lane_.data() + lane * part_rows_; };
  for (const Panel& panel : group.panels) {
    table_.dense() ? panel_logits(dense(rows, panel, theta, r(panel), sums))
                   : sparse_panel_logits(sparse(rows, panel, theta, r(panel), sums));
    turn_panel(r(panel), rows.size, panel.width, by_lane(panel.lane), part_rows_);
  }
  for (std::size_t lane = 0; lane < group.chains.size(); lane += loss_.outputs) {
    if constexpr (!single) {
      if (losses != nullptr) {
        losses[lane / loss_.outputs] +=
            loss_sum(loss_, by_lane(lane), part_rows_, rows.y, rows.size, row_losses_.data());
      }
    }
    output_derivatives(loss_, by_lane(lane), part_rows_, rows.y, rows.size);
  }
  for (const Panel& panel : group.panels) {
    turn_back(by_lane(panel.lane), part_rows_, rows.size, panel.width, r(panel));
    table_.dense() ? panel_sums(dense(rows, panel, theta, r(panel), sums))
                   : sparse_panel_sums(sparse(rows, panel, theta, r(panel), sums));
  }
}

template class GradientSums<float>;
template class GradientSums<double>;

}  // namespace gibbsite::cpu
