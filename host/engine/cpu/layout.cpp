#include "engine/cpu/layout.hpp"

#include <utility>

#include "engine/cpu/kernels.hpp"
#include "machine/thread_pool.hpp"

namespace gibbsite::cpu {
namespace {

constexpr std::size_t row_bytes = 12 << 10;        // a sub-block of few chains: half of it in L1
constexpr std::size_t panel_rows = 48;             // whole tiles; residuals [48 x width] stay in L1
constexpr std::size_t group_bytes = 384 << 10;     // theta and sums of a group of panels: in L2
constexpr std::size_t sparse_rows = 128;           // of several outputs, as panel_rows
constexpr std::size_t lane_bytes = 2 << 10;        // of a row's residuals of several outputs
constexpr std::size_t most_node_bytes = 64 << 20;  // sums of all nodes that threads take
constexpr std::size_t most_batch = 16;             // groups whose nodes are taken together

// Lanes of a group of at most `most`: whole chains of the engine's, one at least, as many as leave
// the smallest share of the lanes of their vectors unused.
std::size_t whole_chains(const Work& work, std::size_t most, std::size_t vector) {
  const std::size_t outputs = work.outputs, chains = std::max<std::size_t>(most / outputs, 1);
  const auto filled = [&](std::size_t n) { return (n + vector - 1) / vector * vector; };
  std::size_t best = chains * outputs;
  for (std::size_t c = chains; 2 * c > chains; --c) {
    const std::size_t n = c * outputs;
    if (filled(n) * best < filled(best) * n) best = n;
  }
  return best;
}

// Chains in groups of so many.
template <class Width>
std::vector<Group> groups_of(const Work& work, std::size_t per_group, const Width& width) {
  std::vector<Group> groups;
  for (std::size_t first = 0, offset = 0; first < work.chains;) {
    Group group{{first, first}, {}, offset, 0};
    const std::size_t end = std::min(first + per_group, work.chains);
    for (std::size_t lane = 0; first < end;) {
      const std::size_t w = width(end - first), last = std::min(first + w, end);
      group.panels.push_back({{first, last}, w, group.size, lane, PanelChains(w)});
      group.size += w * work.features;
      lane += w;
      first = last;
    }
    group.chains.last = first;
    offset += group.size;
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace

template <class T>
Layout lay_out(const Work& work) {
  const std::size_t d = work.features, blocks = blocks_of(work.rows);
  const std::size_t threads = work.numbers * work.chains < small_work ? 1 : work.threads;
  Layout out;
  out.chains = work.chains;
  // The entries of sparse rows serve a panel better from two chains on.
  out.few = work.chains <= (work.sparse ? 1 : few_chains);
  out.packed_size = work.sparse ? d : packed_size<T>(d);
  if (out.few) {
    out.groups.push_back({{0, work.chains}, {}, 0, work.chains * out.packed_size});
  } else {
    const auto panel_of = [&](std::size_t chains) {
      const std::size_t width = panel_width<T>(chains);
      return work.sparse ? std::min(width, max_sparse_width<T>()) : width;
    };
    const std::size_t width = panel_of(work.chains);
    const std::size_t panels = (work.chains + width - 1) / width;
    // Blocks enough for every thread: groups by cache alone. Else a group a thread, if there are.
    out.by_groups = work.in_memory && blocks < 8 * threads && panels >= threads;
    const std::size_t fit =
        work.in_memory ? std::max<std::size_t>(group_bytes / (2 * sizeof(double) * d * width), 1)
                       : panels;
    std::size_t lanes =
        width * (out.by_groups ? std::min(fit, (panels + threads - 1) / threads) : fit);
    if (work.outputs > 1) {
      // Residuals of a sub-block of all of a group's lanes lie beside each other, twice.
      if (work.in_memory) lanes = std::min(lanes, lane_bytes / sizeof(T));
      lanes = whole_chains(work, lanes, panel_of(1));
    }
    out.groups = groups_of(work, lanes, panel_of);
  }
  out.sub_block = work.sparse ? (work.outputs > 1 ? sparse_rows : row_block)
                  : out.few
                      ? std::clamp<std::size_t>(row_bytes / (d * sizeof(float)) / 8 * 8, 8, 256)
                      : panel_rows;

  out.width = few_chains;
  for (const Group& group : out.groups) {
    out.size = std::max(out.size, group.size);
    for (const Panel& panel : group.panels) {
      out.width = std::max(out.width, panel.width);
      out.lanes = std::max(out.lanes, panel.lane + panel.width);
    }
  }
  out.all = out.groups.back().offset + out.groups.back().size;
  out.members = std::min(threads, out.by_groups ? out.groups.size() : blocks);
  if (!out.uses_nodes()) {
    out.node_blocks = blocks;
    return out;
  }
  const std::size_t most =
      std::clamp(most_node_bytes / (sizeof(double) * out.size),
                 std::min(4 * out.members, ThreadPool::most_results), ThreadPool::most_results);
  out.batch = std::clamp<std::size_t>(most / 8, 1, std::min(out.groups.size(), most_batch));
  while ((blocks + out.node_blocks - 1) / out.node_blocks > most / out.batch) out.node_blocks *= 2;
  out.nodes = (blocks + out.node_blocks - 1) / out.node_blocks;
  return out;
}

template Layout lay_out<float>(const Work& work);
template Layout lay_out<double>(const Work& work);

}  // namespace gibbsite::cpu
