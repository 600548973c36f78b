#pragma once
// How the work of a step is cut: chains into panels and groups, rows into sub-blocks and nodes of
// the tree. The bits of a chain depend on it through `few` and `sub_block` alone.
//
// A chain of K outputs is K chains here, theta [C x K x d] being [CK x d]: chain a is output a mod
// K of chain a / K of the engine's. All K are in one group, beside each other.
#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "engine/cpu/noise.hpp"
#include "gibbsite/core/summation.hpp"

namespace gibbsite::cpu {

// Numbers of X times chains below this: a second thread costs more than it gives (1000 x 25: slower
// at C = 4, no faster at 16, faster at 256; docs/reference/performance.md), and much more on a busy
// machine.
inline constexpr std::size_t small_work = 1 << 20;

struct Range {
  std::size_t first = 0, last = 0;
  [[nodiscard]] std::size_t size() const { return last - first; }
};

/// Part k of [0, n) in `parts` contiguous parts.
inline Range part(std::size_t n, std::size_t k, std::size_t parts) {
  return {n * k / parts, n * (k + 1) / parts};
}

inline std::size_t blocks_of(std::size_t rows) { return (rows + row_block - 1) / row_block; }

/// Chains side by side in lanes: [d x width].
struct Panel {
  Range chains;
  std::size_t width = 0;
  std::size_t offset = 0;  ///< of this panel in its group's [size] numbers
  std::size_t lane = 0;    ///< its first one among its group's
  PanelChains moves{};
};

/// Chains that share a pass over X: panels of many, or few without a panel, packed one by one.
struct Group {
  Range chains;
  std::vector<Panel> panels;
  std::size_t offset = 0;  ///< of this group in the numbers of all
  std::size_t size = 0;

  /// numbers [size] <- row(a) [d] of the chains: [C x d], or panels [d x width] whose unused lanes
  /// are 0.
  template <class Row>
  void put(std::size_t d, double* numbers, const Row& row) const {
    if (panels.empty()) {
      for (std::size_t a = 0; a < chains.size(); ++a) std::ranges::copy(row(a), numbers + a * d);
      return;
    }
    for (const Panel& panel : panels) {
      double* const out = numbers + panel.offset;
      std::fill_n(out, panel.width * d, 0.0);
      for (std::size_t c = 0; c < panel.chains.size(); ++c) {
        const std::span<const double> from = row(panel.chains.first + c);
        for (std::size_t j = 0; j < from.size(); ++j) out[j * panel.width + c] = from[j];
      }
    }
  }
  /// row(a) [d] of the chains <- numbers [size], as `put` lays them out.
  template <class Row>
  void take(std::size_t d, const double* numbers, const Row& row) const {
    if (panels.empty()) {
      for (std::size_t a = 0; a < chains.size(); ++a) {
        std::copy_n(numbers + a * d, d, row(a).begin());
      }
      return;
    }
    for (const Panel& panel : panels) {
      const double* const from = numbers + panel.offset;
      for (std::size_t c = 0; c < panel.chains.size(); ++c) {
        const std::span<double> to = row(panel.chains.first + c);
        for (std::size_t j = 0; j < d; ++j) to[j] = from[j * panel.width + c];
      }
    }
  }
};

/// What a layout is made for.
struct Work {
  std::size_t rows = 0, features = 0;
  std::size_t chains = 0;   ///< the engine's, times outputs
  std::size_t outputs = 1;  ///< K
  std::size_t numbers = 0;  ///< of X, as dense ones
  std::size_t threads = 1;  ///< of the thread pool
  bool sparse = false;
  bool in_memory = true;  ///< else X is read once for all chains
};

struct Layout {
  std::size_t chains = 0;
  bool few = true;  ///< chains go one by one
  /// A thread takes groups; else nodes of the tree over blocks of rows.
  bool by_groups = false;
  std::size_t members = 1;                 ///< threads that the work is worth
  std::size_t packed_size = 0;             ///< numbers of one chain where there are few
  std::size_t sub_block = 0;               ///< rows
  std::size_t size = 0;                    ///< of the largest group
  std::size_t width = 0;                   ///< of the widest panel
  std::size_t lanes = 0;                   ///< of the panels of the group that has most
  std::size_t all = 0;                     ///< numbers of all groups
  std::size_t nodes = 1, node_blocks = 1;  ///< of a group; blocks of a node
  std::size_t batch = 1;                   ///< groups whose nodes are taken together
  std::vector<Group> groups{};

  [[nodiscard]] bool uses_nodes() const { return !by_groups && members > 1; }
  [[nodiscard]] std::span<const Group> batch_from(std::size_t first) const {
    return std::span(groups).subspan(first, std::min(batch, groups.size() - first));
  }
};

/// For gradients in T: float or double.
template <class T>
Layout lay_out(const Work& work);

}  // namespace gibbsite::cpu
