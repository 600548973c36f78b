#include "gibbsite/core/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/junction_tree.hpp"
#include "gibbsite/core/text.hpp"

namespace gibbsite {
namespace {

constexpr std::uint64_t beyond = std::numeric_limits<std::uint64_t>::max();
constexpr double most_prior = 1e12;

std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  return b != 0 && a > beyond / b ? beyond : a * b;
}
std::uint64_t plus(std::uint64_t a, std::uint64_t b) { return a > beyond - b ? beyond : a + b; }

std::string column_name(std::span<const std::string> names, std::size_t place) {
  return place < names.size() ? gibbsite::quoted(names[place]) : fmt::format("column {}", place);
}

void require_levels(std::span<const std::uint64_t> levels, std::span<const std::string> names) {
  if (levels.empty() || levels.size() > most_network_columns) {
    throw BadInput(fmt::format("levels: a network has from 1 to {} columns, got {}",
                               most_network_columns, levels.size()));
  }
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (levels[i] < 1 || levels[i] > most_network_levels) {
      throw BadInput(
          fmt::format("levels: {} has {}; from 1 to {} are taken: give it fewer levels or bins, "
                      "or "
                      "leave it out",
                      column_name(names, i), levels[i], most_network_levels));
    }
  }
}

// Checks a node's parents; the list of levels is sound.
void require_parents(const Network& network, std::size_t node, std::span<const std::string> names) {
  const auto& parents = network.parents[node];
  if (parents.size() > most_network_parents) {
    throw BadInput(fmt::format("parents: {} has {}; at most {} are taken, leave some out",
                               column_name(names, node), parents.size(), most_network_parents));
  }
  for (std::size_t i = 0; i < parents.size(); ++i) {
    if (parents[i] >= network.size()) {
      throw BadInput(fmt::format("parents: {} has one at place {} of {} columns",
                                 column_name(names, node), parents[i], network.size()));
    }
    if (parents[i] == node) {
      throw BadInput(
          fmt::format("parents: {} is its own; take it out of its list", column_name(names, node)));
    }
    if (i > 0 && parents[i] <= parents[i - 1]) {
      throw BadInput(fmt::format("parents: those of {} must be in order, each once",
                                 column_name(names, node)));
    }
  }
  if (const std::uint64_t cells = network.cells(node); cells > most_network_cells) {
    throw BadInput(fmt::format(
        "parents: the table of {} would have {} cells, {} of its own times {} of its parents; at "
        "most {} are taken: give it fewer parents, or them fewer levels or bins",
        column_name(names, node), cells == beyond ? "too many" : std::to_string(cells),
        network.levels[node],
        network.configurations(node) == beyond ? "too many"
                                               : std::to_string(network.configurations(node)),
        most_network_cells));
  }
}

[[noreturn]] void refuse_cycle(const Network& network, const std::vector<bool>& placed,
                               std::span<const std::string> names) {
  // Every column that is not placed has a parent that is not: walked up, one comes again.
  const auto open_parent = [&](std::uint32_t node) {
    return *std::ranges::find_if(network.parents[node], [&](auto p) { return !placed[p]; });
  };
  auto node = static_cast<std::uint32_t>(std::ranges::find(placed, false) - placed.begin());
  for (std::size_t i = 0; i < network.size(); ++i) node = open_parent(node);
  std::string way = column_name(names, node);
  for (std::uint32_t next = open_parent(node);; next = open_parent(next)) {
    way = fmt::format("{} -> {}", column_name(names, next), way);
    if (next == node) break;
  }
  throw BadInput(
      fmt::format("parents: {} is a cycle; take one of these columns out of another's list", way));
}

// One tree of cliques within the limits holds the columns of every rule.
void require_zeros(const NetworkProblem& problem) {
  if (problem.never.empty()) return;
  if (problem.parents) {
    throw BadInput(
        "never: is of a structure that is chosen from the table, and this one is given; leave one "
        "of them out");
  }
  std::vector<ColumnList> sets;
  for (const StructuralZero& zero : problem.never) {
    bool sound =
        !zero.columns.empty() && zero.levels.size() == zero.columns.size() &&
        std::ranges::adjacent_find(zero.columns, std::greater_equal{}) == zero.columns.end() &&
        zero.columns.back() < problem.levels.size();
    for (std::size_t c = 0; sound && c < zero.columns.size(); ++c) {
      const auto& levels = zero.levels[c];
      sound = !levels.empty() && levels.back() < problem.levels[zero.columns[c]] &&
              std::ranges::adjacent_find(levels, std::greater_equal{}) == levels.end();
    }
    if (!sound) throw BadInput("never: each has columns and levels of these, ascending, each once");
    sets.push_back(zero.columns);
  }
  const LargestClique most = largest_clique(problem.levels, sets);
  if (most.cells > problem.limits.cells) {
    throw BadInput(
        Field{"cells"},
        fmt::format("the schema's rules of what is never take cliques of up to {} cells, "
                    "and at most {} are taken",
                    most.cells, problem.limits.cells),
        "give more, fewer bins or levels, or rules of fewer columns");
  }
  if (most.columns > problem.limits.parents + 1) {
    throw BadInput(Field{"parents"},
                   fmt::format("the schema's rules of what is never take cliques of up to {} "
                               "columns, and at most {} are taken",
                               most.columns, problem.limits.parents + 1),
                   "give more, or rules of fewer columns");
  }
}

}  // namespace

std::uint64_t Network::configurations(std::size_t node) const {
  std::uint64_t out = 1;
  for (const std::uint32_t parent : parents[node]) out = times(out, levels[parent]);
  return out;
}

std::uint64_t Network::cells(std::size_t node) const {
  return times(configurations(node), levels[node]);
}

std::vector<std::uint32_t> Network::order(std::span<const std::string> names) const {
  std::vector<std::uint32_t> out;
  std::vector<bool> placed(size());
  while (out.size() < size()) {
    const std::size_t before = out.size();
    for (std::uint32_t node = 0; node < size(); ++node) {
      const auto is_placed = [&](std::uint32_t p) { return bool{placed[p]}; };
      if (placed[node] || !std::ranges::all_of(parents[node], is_placed)) continue;
      placed[node] = true;
      out.push_back(node);
      break;
    }
    if (out.size() == before) refuse_cycle(*this, placed, names);
  }
  return out;
}

void Network::validate(std::span<const std::string> names) const {
  require_levels(levels, names);
  if (parents.size() != size()) {
    throw BadInput(
        fmt::format("parents: there are {} lists of them for {} columns", parents.size(), size()));
  }
  for (std::size_t node = 0; node < size(); ++node) require_parents(*this, node, names);
  static_cast<void>(order(names));
}

Network NetworkProblem::network() const {
  if (!parents) {
    throw BadInput("parents: are chosen from the table; this needs a structure that was given");
  }
  return {levels, *parents};
}

std::uint64_t NetworkProblem::most_candidates() const {
  std::uint64_t most = 0;
  for (std::uint64_t placed = 1; placed < levels.size(); ++placed) {
    std::uint64_t sets = 0, choose = 1;  // C(placed, size)
    for (std::uint64_t size = 0; size <= std::min(limits.parents, placed); ++size) {
      sets = plus(sets, choose);
      choose = choose > beyond / placed ? beyond : choose * (placed - size) / (size + 1);
    }
    most = std::max(most, times(sets, levels.size() - placed));
  }
  return most;
}

std::uint64_t NetworkProblem::most_cells() const {
  if (!parents) return times(levels.size(), limits.cells);
  const Network given = network();
  std::uint64_t out = 0;
  for (std::size_t node = 0; node < given.size(); ++node) out = plus(out, given.cells(node));
  return out;
}

void NetworkProblem::require_few_candidates() const {
  const std::uint64_t most = most_candidates();
  if (most <= most_network_candidates) return;
  throw BadInput(
      Field{"parents"},
      fmt::format("with up to {} of {} columns one pick would choose among {} sets", limits.parents,
                  levels.size(), most == beyond ? "too many" : std::to_string(most)),
      fmt::format("at most {} are taken: give fewer parents", most_network_candidates));
}

std::uint64_t NetworkProblem::most_weight() const {
  return times(rows, std::max<std::uint64_t>(rows_of_person, 1));
}

void NetworkProblem::validate() const {
  if (rows < 1 || rows > (std::uint64_t{1} << 38)) {
    throw BadInput(fmt::format("rows: must be from 1 to 2^38, got {}", rows));
  }
  if (of_people() && !weighted)
    throw BadInput("weighted: people are held to their rows by weights; give true");
  // Sums of multiples of 2^-20 are exact as doubles.
  constexpr std::uint64_t most_exact = std::uint64_t{1} << (53 - weight_bits);
  if (weighted && most_weight() > most_exact) {
    throw BadInput(
        Field{rows > most_exact ? "rows_cap" : "rows_per_person"},
        fmt::format("{} {} are more than the 2^{} rows that weights count exactly", rows,
                    of_people() ? fmt::format("people of {} rows each", rows_of_person) : "rows",
                    53 - weight_bits),
        "give a smaller number");
  }
  require_levels(levels, {});
  if (target && *target >= levels.size())
    throw BadInput(
        fmt::format("target: must be one of {} columns, got place {}", levels.size(), *target));
  const std::uint64_t widest = *std::ranges::max_element(levels);
  if (parents) {
    network().validate();
  } else {
    if (limits.parents < 1 || limits.parents > most_network_parents) {
      throw BadInput(Field{"parents"},
                     fmt::format("a private structure has from 1 to {} of a column, got {}",
                                 most_network_parents, limits.parents));
    }
    if (limits.cells < widest || limits.cells > most_network_cells) {
      throw BadInput(
          Field{"cells"},
          fmt::format(
              "tables of a private structure have from {}, the most levels of a column, to {} "
              "cells at most, got {}",
              widest, most_network_cells, limits.cells));
    }
  }
  require_zeros(*this);
  if (!(prior > 0 && prior <= most_prior)) {
    throw BadInput(Field{"prior"},
                   fmt::format("must be above 0 and at most {}, got {}", most_prior, prior));
  }
  if (trim && !(*trim > 0 && *trim * static_cast<double>(widest) < 1)) {
    throw BadInput(
        Field{"trim"},
        fmt::format(
            "the least share must be above 0 and below 1/{}, one over the most levels, got {}",
            widest, *trim));
  }
}

}  // namespace gibbsite
