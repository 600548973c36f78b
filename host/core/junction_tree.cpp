#include "gibbsite/core/junction_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <iterator>
#include <limits>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/network.hpp"

namespace gibbsite {
namespace {

// A set of columns whose members are found word by word: choices ask of many thousand sets.
class Bits {
 public:
  void set(std::uint32_t k) { words_[k / 64] |= bit(k); }
  void reset(std::uint32_t k) { words_[k / 64] &= ~bit(k); }
  void add(const Bits& other) {
    for (std::size_t w = 0; w < words_.size(); ++w) words_[w] |= other.words_[w];
  }
  [[nodiscard]] std::size_t shared(const Bits& other) const {
    std::size_t out = 0;
    for (std::size_t w = 0; w < words_.size(); ++w)
      out += static_cast<std::size_t>(std::popcount(words_[w] & other.words_[w]));
    return out;
  }
  [[nodiscard]] std::size_t count() const { return shared(*this); }
  // f(column) for each, ascending.
  template <class F>
  void each(const F& f) const {
    for (std::size_t w = 0; w < words_.size(); ++w)
      for (std::uint64_t left = words_[w]; left != 0; left &= left - 1)
        f(static_cast<std::uint32_t>(w * 64) + static_cast<std::uint32_t>(std::countr_zero(left)));
  }

 private:
  static std::uint64_t bit(std::uint32_t k) { return std::uint64_t{1} << k % 64; }
  std::array<std::uint64_t, (most_network_columns + 63) / 64> words_{};
};
constexpr std::uint64_t most_cells_said = std::numeric_limits<std::uint64_t>::max();

std::uint64_t product_of(std::uint64_t a, std::uint64_t b) {
  return b != 0 && a > most_cells_said / b ? most_cells_said : a * b;
}

std::uint64_t cells_of(std::span<const std::uint64_t> levels, const Bits& columns) {
  std::uint64_t out = 1;
  columns.each([&](std::uint32_t k) { out = product_of(out, levels[k]); });
  return out;
}

ColumnList listed(const Bits& columns) {
  ColumnList out;
  columns.each([&](std::uint32_t k) { out.push_back(k); });
  return out;
}

void require(std::span<const std::uint64_t> levels, std::span<const ColumnList> sets) {
  if (levels.empty() || levels.size() > most_network_columns)
    throw BadInput(fmt::format("levels: a tree has from 1 to {} columns, got {}",
                               most_network_columns, levels.size()));
  if (std::ranges::find(levels, std::uint64_t{0}) != levels.end())
    throw BadInput("levels: a column has none; each has 1 or more");
  for (const ColumnList& set : sets) {
    if (std::ranges::adjacent_find(set, std::greater_equal{}) != set.end() ||
        (!set.empty() && set.back() >= levels.size()))
      throw BadInput(fmt::format("sets: each has places of the {} columns, ascending, each once",
                                 levels.size()));
  }
}

// Calls made(clique, cells) for the clique that each elimination makes, until it returns false.
template <class Made>
void eliminate(std::span<const std::uint64_t> levels, std::span<const ColumnList> sets,
               const Made& made) {
  require(levels, sets);
  const std::size_t count = levels.size();
  std::vector<Bits> near(count);  // a column and its neighbours
  for (std::uint32_t k = 0; k < count; ++k) near[k].set(k);
  for (const ColumnList& set : sets) {
    Bits all;
    for (const std::uint32_t k : set) all.set(k);
    for (const std::uint32_t k : set) near[k].add(all);
  }
  std::vector<std::uint64_t> cells(count);
  for (std::size_t k = 0; k < count; ++k) cells[k] = cells_of(levels, near[k]);
  std::vector<std::uint32_t> left(count);
  for (std::uint32_t k = 0; k < count; ++k) left[k] = k;
  while (!left.empty()) {
    const auto least = std::ranges::min_element(left, {}, [&](auto k) { return cells[k]; });
    const std::uint32_t k = *least;
    left.erase(least);
    const Bits clique = near[k];
    if (!made(clique, cells[k])) return;
    Bits others = clique;
    others.reset(k);
    others.each([&](std::uint32_t other) {
      near[other].add(others);
      near[other].reset(k);
      cells[other] = cells_of(levels, near[other]);
    });
  }
}

}  // namespace

std::uint64_t table_cells(std::span<const std::uint64_t> levels,
                          std::span<const std::uint32_t> columns) {
  std::uint64_t out = 1;
  for (const std::uint32_t k : columns) out = product_of(out, levels[k]);
  return out;
}

ColumnList JunctionTree::separator(std::size_t clique) const {
  ColumnList out;
  if (parents[clique] != clique)
    std::ranges::set_intersection(cliques[clique], cliques[parents[clique]],
                                  std::back_inserter(out));
  return out;
}

std::size_t JunctionTree::home(std::span<const std::uint64_t> levels,
                               std::span<const std::uint32_t> columns) const {
  std::size_t best = size();
  std::uint64_t least = 0;
  for (std::size_t c = 0; c < size(); ++c) {
    if (!std::ranges::includes(cliques[c], columns)) continue;
    const std::uint64_t cells = table_cells(levels, cliques[c]);
    if (best == size() || cells < least) best = c, least = cells;
  }
  return best;
}

JunctionTree junction_tree(std::span<const std::uint64_t> levels,
                           std::span<const ColumnList> sets) {
  std::vector<Bits> cliques;
  eliminate(levels, sets, [&](const Bits& clique, std::uint64_t) {
    const auto holds = [&](const Bits& other) { return clique.shared(other) == clique.count(); };
    if (std::ranges::none_of(cliques, holds)) cliques.push_back(clique);
    return true;
  });
  std::ranges::sort(cliques, {}, [](const Bits& c) { return listed(c); });
  // Prim's tree: each time the clique outside that shares the most columns with one inside.
  JunctionTree out;
  const std::size_t count = cliques.size();
  std::vector<std::size_t> place(count, count), best(count, 0);  // places are those of `out`
  std::vector<std::size_t> shared(count, 0);
  std::size_t next = 0;
  while (true) {
    place[next] = out.size();
    out.parents.push_back(static_cast<std::uint32_t>(out.size() == 0 ? 0 : best[next]));
    out.cliques.push_back(listed(cliques[next]));
    std::size_t most = count;
    for (std::size_t c = 0; c < count; ++c) {
      if (place[c] != count) continue;
      const std::size_t with = cliques[c].shared(cliques[next]);
      if (with > shared[c]) shared[c] = with, best[c] = place[next];
      if (most == count || shared[c] > shared[most]) most = c;
    }
    if (most == count) return out;
    next = most;
  }
}

LargestClique largest_clique(std::span<const std::uint64_t> levels,
                             std::span<const ColumnList> sets, std::uint64_t enough) {
  LargestClique out;
  eliminate(levels, sets, [&](const Bits& clique, std::uint64_t cells) {
    out.cells = std::max(out.cells, cells);
    out.columns = std::max(out.columns, clique.count());
    return out.cells <= enough;
  });
  return out;
}

}  // namespace gibbsite
