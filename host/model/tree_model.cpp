#include "gibbsite/model/tree_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "gibbsite/core/error.hpp"
#include "gibbsite/model/network_model.hpp"
#include "model/beliefs.hpp"

namespace gibbsite {
namespace {

using Potentials = std::vector<std::vector<double>>;
using Vector = std::vector<double>;  // numbers of all tables, one after the other
// Sums of those of a few hundred tables are far from overflow.
constexpr double most_potential = 1e6;

void require_columns(std::span<const std::uint64_t> levels, const ColumnList& columns,
                     std::size_t numbers, const char* field) {
  if (columns.empty() ||
      std::ranges::adjacent_find(columns, std::greater_equal{}) != columns.end() ||
      columns.back() >= levels.size())
    throw BadInput(fmt::format("{}: a table has places of the {} columns, ascending, each once",
                               field, levels.size()));
  if (numbers != table_cells(levels, columns))
    throw BadInput(fmt::format("{}: a table has {} numbers for {} cells", field, numbers,
                               table_cells(levels, columns)));
}

// Columns in the order of their levels, so that loops over the last one are long.
class Reordered {
 public:
  explicit Reordered(std::span<const std::uint64_t> levels) : from_(levels.size()) {
    std::iota(from_.begin(), from_.end(), 0U);
    std::ranges::stable_sort(from_, {}, [&](std::uint32_t k) { return levels[k]; });
    to_.resize(levels.size());
    for (std::uint32_t k = 0; k < from_.size(); ++k) {
      to_[from_[k]] = k;
      levels_.push_back(levels[from_[k]]);
    }
  }
  [[nodiscard]] std::span<const std::uint64_t> levels() const { return levels_; }
  [[nodiscard]] std::uint32_t place(std::uint32_t column) const { return to_[column]; }
  [[nodiscard]] std::uint32_t column(std::uint32_t place) const { return from_[place]; }
  [[nodiscard]] ColumnList places(const ColumnList& columns) const {
    ColumnList out;
    for (const std::uint32_t k : columns) out.push_back(to_[k]);
    std::ranges::sort(out);
    return out;
  }
  [[nodiscard]] ColumnList columns(const ColumnList& places) const {
    ColumnList out;
    for (const std::uint32_t k : places) out.push_back(from_[k]);
    std::ranges::sort(out);
    return out;
  }
  [[nodiscard]] JunctionTree tree(const JunctionTree& of) const {
    JunctionTree out = of;
    for (ColumnList& clique : out.cliques) clique = places(clique);
    return out;
  }
  // For each cell of a table over these columns, ascending, the cell by ascending places.
  [[nodiscard]] std::vector<std::uint32_t> cells(const ColumnList& columns) const {
    const ColumnList sorted = places(columns);
    std::vector<std::uint32_t> out{0};
    for (const std::uint32_t column : columns) {
      const std::uint32_t place = to_[column];
      std::uint32_t stride = 1;
      for (const std::uint32_t k : sorted)
        if (k > place) stride *= static_cast<std::uint32_t>(levels_[k]);
      std::vector<std::uint32_t> next;
      next.reserve(out.size() * levels_[place]);
      for (const std::uint32_t first : out)
        for (std::uint32_t l = 0; l < levels_[place]; ++l) next.push_back(first + l * stride);
      out = std::move(next);
    }
    return out;
  }

 private:
  std::vector<std::uint32_t> from_, to_;
  std::vector<std::uint64_t> levels_;
};

std::vector<double> gathered(const std::vector<double>& from,
                             const std::vector<std::uint32_t>& at) {
  std::vector<double> out(from.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = from[at[i]];
  return out;
}
std::vector<double> scattered(const std::vector<double>& from,
                              const std::vector<std::uint32_t>& at) {
  std::vector<double> out(from.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[at[i]] = from[i];
  return out;
}

// Potentials of cells that no row is in: sums of those of tables are far from it, and sums of
// several of it are no infinities.
constexpr double forbidden = -1e12;

// A table over the rule's columns, 0 but where it forbids. In places, ascending.
Vector mask_of(const StructuralZero& zero, const Reordered& order) {
  const std::vector<std::uint32_t> cells = order.cells(zero.columns);
  Vector out(cells.size(), 0.0);
  for (std::size_t cell = 0; cell < cells.size(); ++cell) {
    bool inside = true;
    std::size_t rest = cell;
    for (std::size_t c = zero.columns.size(); c-- > 0;) {
      const std::uint64_t levels = order.levels()[order.place(zero.columns[c])];
      inside = inside && std::ranges::binary_search(zero.levels[c], rest % levels);
      rest /= static_cast<std::size_t>(levels);
    }
    if (inside) out[cells[cell]] = forbidden;
  }
  return out;
}

std::vector<ColumnList> with_zeros(std::vector<ColumnList> tables,
                                   std::span<const StructuralZero> never) {
  for (const StructuralZero& zero : never) tables.push_back(zero.columns);
  return tables;
}

void require_zeros_of(std::span<const std::uint64_t> levels,
                      std::span<const StructuralZero> never) {
  for (const StructuralZero& zero : never) {
    require_columns(levels, zero.columns, table_cells(levels, zero.columns), "never");
    bool sound = zero.levels.size() == zero.columns.size();
    for (std::size_t c = 0; sound && c < zero.columns.size(); ++c)
      sound = !zero.levels[c].empty() && std::ranges::is_sorted(zero.levels[c]) &&
              zero.levels[c].back() < levels[zero.columns[c]];
    if (!sound) throw BadInput("never: each column has levels of its own, ascending");
  }
}

void require_rows_left(const Beliefs& beliefs) {
  if (beliefs.log_sum() < forbidden / 2)
    throw BadInput("never: its rules leave no row that there may be; take one of them back");
}

// The tree has each column and each of these tables, and joins them as trees do.
void require_tree(std::span<const std::uint64_t> levels, const JunctionTree& tree,
                  std::span<const ColumnList> tables) {
  const auto refuse = [] {
    throw BadInput("tree: is no junction tree of the tables; take junction_tree of their columns");
  };
  if (tree.size() == 0 || tree.parents.size() != tree.size()) refuse();
  std::vector<bool> placed(levels.size());
  std::size_t columns = 0;
  for (std::size_t c = 0; c < tree.size(); ++c) {
    const ColumnList& clique = tree.cliques[c];
    require_columns(levels, clique, table_cells(levels, clique), "tree");
    if (tree.parents[c] >= std::max<std::size_t>(c, 1)) refuse();
    const ColumnList separator = tree.separator(c);
    for (const std::uint32_t k : clique) {
      if (placed[k] != std::ranges::binary_search(separator, k)) refuse();
      if (!placed[k]) ++columns;
      placed[k] = true;
    }
  }
  if (columns != levels.size()) refuse();
  for (const ColumnList& table : tables)
    if (tree.home(levels, table) == tree.size()) refuse();
}

void require_measured(std::span<const std::uint64_t> levels,
                      std::span<const MeasuredTable> measured) {
  for (const MeasuredTable& table : measured) {
    require_columns(levels, table.columns, table.counts.size(), "measured");
    if (!(table.deviation > 0) || !std::isfinite(table.deviation))
      throw BadInput(
          fmt::format("measured: a table's deviation is {}; it must be above 0", table.deviation));
    if (!std::ranges::all_of(table.counts, [](double c) { return std::isfinite(c); }))
      throw BadInput("measured: a count is not finite");
  }
}

double dot(const Vector& a, const Vector& b) {
  double lanes[4] = {0, 0, 0, 0};
  std::size_t i = 0;
  for (; i + 4 <= a.size(); i += 4)
    for (std::size_t l = 0; l < 4; ++l) lanes[l] += a[i + l] * b[i + l];
  for (std::size_t l = 0; i < a.size(); ++i, ++l) lanes[l] += a[i] * b[i];
  return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
}
void add(double times, const Vector& of, Vector& to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += times * of[i];
}

// What a round minimises: rows log Z(t) - t.y + sum of ridge (t - centre)^2 / 2.
class Objective {
 public:
  struct Counts {
    Vector values, ridge;  // of each cell of the measured tables
    double rows = 0;
  };
  /// Behind the `measured` tables are those of `masks`, whose potentials stay. No count is looked
  /// at of cells that no row is in.
  Objective(std::span<const std::uint64_t> levels, const JunctionTree& tree,
            std::span<const ColumnList> tables, std::vector<Vector> masks, Counts counts,
            const EachTask& each)
      : measured_(tables.size() - masks.size()),
        beliefs_(levels, tree, tables, each),
        counts_(std::move(counts.values)),
        ridge_(std::move(counts.ridge)),
        rows_(counts.rows) {
    for (std::size_t t = 0; t < measured_; ++t)
      potentials_.emplace_back(static_cast<std::size_t>(table_cells(levels, tables[t])));
    if (masks.empty()) return;
    for (Vector& mask : masks) potentials_.push_back(std::move(mask));
    beliefs_.run(potentials_);
    require_rows_left(beliefs_);
    std::size_t next = 0;
    for (std::size_t t = 0; t < measured_; ++t)
      for (const double share : beliefs_.table(t)) {
        if (share == 0) counts_[next] = 0;
        ++next;
      }
  }

  void centre(const Vector& t) { centre_ = t; }
  double at(const Vector& t) {
    std::size_t next = 0;
    for (std::size_t table = 0; table < measured_; ++table)
      for (double& potential : potentials_[table]) potential = t[next++];
    beliefs_.run(potentials_);
    double out = 0;
    for (std::size_t i = 0; i < t.size(); ++i) {
      const double moved = t[i] - centre_[i];
      out += 0.5 * ridge_[i] * moved * moved - t[i] * counts_[i];
    }
    return rows_ * beliefs_.log_sum() + out;
  }
  // After `at(t)`: its derivatives, and about their own ones.
  void slope(const Vector& t, Vector& gradient, Vector& scale) const {
    std::size_t next = 0;
    for (std::size_t table = 0; table < measured_; ++table)
      for (const double share : beliefs_.table(table)) {
        const double expected = rows_ * share;
        gradient[next] = expected - counts_[next] + ridge_[next] * (t[next] - centre_[next]);
        scale[next] = expected + ridge_[next];
        ++next;
      }
  }

 private:
  std::size_t measured_;
  Beliefs beliefs_;
  Potentials potentials_;
  Vector counts_, ridge_, centre_;
  double rows_;
};

// Steps of L-BFGS (Nocedal 1980) whose first guess of the curvature is diagonal.
class Directions {
 public:
  // -H gradient.
  [[nodiscard]] Vector along(const Vector& gradient, const Vector& scale) const {
    Vector out = gradient, weights(steps_.size());
    for (double& v : out) v = -v;
    for (std::size_t i = steps_.size(); i-- > 0;) {
      weights[i] = dot(steps_[i], out) / products_[i];
      add(-weights[i], changes_[i], out);
    }
    double factor = 1;
    if (!steps_.empty()) {
      double curved = 0;
      for (std::size_t i = 0; i < out.size(); ++i)
        curved += changes_.back()[i] * changes_.back()[i] / scale[i];
      factor = products_.back() / curved;
    }
    for (std::size_t i = 0; i < out.size(); ++i) out[i] *= factor / scale[i];
    for (std::size_t i = 0; i < steps_.size(); ++i)
      add(weights[i] - dot(changes_[i], out) / products_[i], steps_[i], out);
    return out;
  }
  void learn(Vector step, Vector change) {
    const double product = dot(step, change);
    if (!(product > 0)) return;
    if (steps_.size() == most) {
      steps_.erase(steps_.begin());
      changes_.erase(changes_.begin());
      products_.erase(products_.begin());
    }
    steps_.push_back(std::move(step));
    changes_.push_back(std::move(change));
    products_.push_back(product);
  }

 private:
  static constexpr std::size_t most = 10;
  std::vector<Vector> steps_, changes_;
  Vector products_;
};

}  // namespace

void TreeModel::validate() const {
  if (tables.size() != potentials.size())
    throw BadInput(fmt::format("potentials: there are {} lists for {} tables", potentials.size(),
                               tables.size()));
  for (std::size_t t = 0; t < tables.size(); ++t) {
    require_columns(levels, tables[t], potentials[t].size(), "potentials");
    if (!std::ranges::all_of(potentials[t], [](double p) { return std::abs(p) <= most_potential; }))
      throw BadInput(fmt::format("potentials: one is not between -{0} and {0}", most_potential));
  }
  require_zeros_of(levels, never);
  require_tree(levels, tree, with_zeros(tables, never));
}

double measured_rows(std::span<const MeasuredTable> measured) {
  double sum = 0, weights = 0;
  for (const MeasuredTable& table : measured) {
    const double weight =
        1 / (table.deviation * table.deviation * static_cast<double>(table.counts.size()));
    sum += weight * std::accumulate(table.counts.begin(), table.counts.end(), 0.0);
    weights += weight;
  }
  return weights > 0 ? std::max(sum / weights, 1.0) : 1.0;
}

std::vector<double> projected_counts(std::vector<double> counts, double total) {
  const double most = *std::ranges::max_element(counts);
  for (double& count : counts) count -= most;
  project_counts(counts, total);
  for (double& count : counts) count = std::clamp(count, 0.0, total);
  return counts;
}

TreeFit fit_tree(std::span<const std::uint64_t> levels, const JunctionTree& tree,
                 std::span<const MeasuredTable> measured, double rows,
                 const TreeFitOptions& options, std::span<const StructuralZero> never) {
  require_measured(levels, measured);
  require_zeros_of(levels, never);
  if (!(rows > 0) || !std::isfinite(rows))
    throw BadInput(fmt::format("rows: must be above 0, got {}", rows));
  TreeFit out;
  out.model.levels.assign(levels.begin(), levels.end());
  out.model.tree = tree;
  for (const MeasuredTable& table : measured) out.model.tables.push_back(table.columns);
  require_tree(levels, tree, with_zeros(out.model.tables, never));
  out.model.never.assign(never.begin(), never.end());
  const Reordered order(levels);
  std::vector<ColumnList> tables;
  std::vector<std::vector<std::uint32_t>> cells;
  Vector now, counts, ridge, deviations;
  std::vector<bool> begun(levels.size());
  for (const MeasuredTable& table : measured) {
    tables.push_back(order.places(table.columns));
    cells.push_back(order.cells(table.columns));
    Vector sorted = scattered(table.counts, cells.back());
    counts.insert(counts.end(), sorted.begin(), sorted.end());
    ridge.insert(ridge.end(), sorted.size(), options.ridge * table.deviation);
    deviations.insert(deviations.end(), sorted.size(), table.deviation);
    // Begins at the one-way counts, as far as they are above 0.
    const bool begins = table.columns.size() == 1 && !begun[table.columns[0]];
    if (begins) {
      begun[table.columns[0]] = true;
      sorted = projected_counts(std::move(sorted), rows);
    }
    const double least = std::min(0.5, rows / 2);
    for (const double count : sorted)
      now.push_back(begins ? log_of(std::max(count, least) / rows) : 0.0);
  }
  std::vector<Vector> masks;
  for (const StructuralZero& zero : never) {
    tables.push_back(order.places(zero.columns));
    masks.push_back(mask_of(zero, order));
  }
  Objective objective(order.levels(), order.tree(tree), tables, std::move(masks),
                      {std::move(counts), std::move(ridge), rows}, options.each);

  Vector gradient(now.size()), scale(now.size());
  const auto off = [&] {
    double most = 0;
    for (std::size_t i = 0; i < gradient.size(); ++i)
      most = std::max(most, std::abs(gradient[i]) / deviations[i]);
    return most;
  };
  for (std::uint64_t round = 0; round < options.rounds; ++round) {
    objective.centre(now);
    double value = objective.at(now);
    objective.slope(now, gradient, scale);
    Directions directions;
    for (std::uint64_t i = 0; i < options.iterations; ++i, ++out.iterations) {
      if (options.progress &&
          !options.progress(round * options.iterations + i, options.rounds * options.iterations))
        throw Interrupted("interrupted; nothing was written");
      if (off() <= options.tolerance) break;
      const Vector direction = directions.along(gradient, scale);
      const double slope = dot(gradient, direction);
      if (!(slope < 0)) break;  // by rounding alone
      Vector next, next_gradient(now.size());
      double step = 1, tried = 0;
      bool moved = false;
      for (int tries = 0; tries < 40 && !moved; ++tries) {
        next = now;
        add(step, direction, next);
        tried = objective.at(next);
        objective.slope(next, next_gradient, scale);
        // Where values differ by rounding alone, by the slope (Hager and Zhang 2005).
        moved =
            tried <= value + 1e-4 * step * slope || (tried <= value + 1e-12 * std::abs(value) &&
                                                     dot(next_gradient, direction) <= -0.9 * slope);
        if (!moved) step *= 0.4;
      }
      if (!moved) break;
      Vector change = next_gradient, moves = next;
      add(-1, gradient, change);
      add(-1, now, moves);
      std::swap(gradient, next_gradient);
      directions.learn(std::move(moves), std::move(change));
      now = std::move(next);
      value = tried;
    }
    out.off = std::max(out.off, off());
  }
  for (double& potential : now) potential = std::clamp(potential, -most_potential, most_potential);
  std::size_t next = 0;
  for (const auto& of : cells) {
    const auto from = now.begin() + static_cast<std::ptrdiff_t>(next);
    const Vector sorted(from, from + static_cast<std::ptrdiff_t>(of.size()));
    out.model.potentials.push_back(gathered(sorted, of));
    next += of.size();
  }
  return out;
}

namespace {

// Sum over the last of the columns of a table.
std::vector<double> without_last(const std::vector<double>& cells, std::size_t levels) {
  std::vector<double> out(cells.size() / levels, 0.0);
  for (std::size_t i = 0; i < out.size(); ++i)
    for (std::size_t l = 0; l < levels; ++l) out[i] += cells[i * levels + l];
  return out;
}

// A table's cells with its columns in another order.
std::vector<double> gathered_axes(const std::vector<double>& cells,
                                  std::span<const std::uint64_t> levels, const ColumnList& from,
                                  const ColumnList& to) {
  std::vector<std::size_t> strides(from.size());
  std::size_t stride = 1;
  for (std::size_t a = from.size(); a-- > 0;) {
    strides[a] = stride;
    stride *= static_cast<std::size_t>(levels[from[a]]);
  }
  std::vector<double> out;
  out.reserve(cells.size());
  std::vector<std::size_t> steps, at(to.size(), 0);
  for (const std::uint32_t k : to)
    steps.push_back(strides[static_cast<std::size_t>(std::ranges::find(from, k) - from.begin())]);
  std::size_t cell = 0;
  while (out.size() < cells.size()) {
    out.push_back(cells[cell]);
    for (std::size_t a = to.size(); a-- > 0;) {
      cell += steps[a];
      if (++at[a] < levels[to[a]]) break;
      cell -= steps[a] * at[a];
      at[a] = 0;
    }
  }
  return out;
}

// Each row of r shares is divided by its sum; a row of nothing becomes that of all rows together.
void normalise(std::vector<double>& shares, std::size_t r) {
  std::vector<double> whole(r, 0.0);
  for (std::size_t i = 0; i < shares.size(); ++i) whole[i % r] += shares[i];
  for (std::size_t first = 0; first < shares.size(); first += r) {
    const auto row = std::span(shares).subspan(first, r);
    if (!(std::accumulate(row.begin(), row.end(), 0.0) > 0)) std::ranges::copy(whole, row.begin());
    const double sum = std::accumulate(row.begin(), row.end(), 0.0);
    for (double& share : row) share /= sum;
  }
}

}  // namespace

TreeNetwork network_of(const TreeModel& model) {
  model.validate();
  const Reordered order(model.levels);
  const std::span<const std::uint64_t> levels = order.levels();
  const JunctionTree tree = order.tree(model.tree);
  std::vector<ColumnList> places;
  Potentials potentials;
  for (std::size_t t = 0; t < model.tables.size(); ++t) {
    places.push_back(order.places(model.tables[t]));
    potentials.push_back(scattered(model.potentials[t], order.cells(model.tables[t])));
  }
  for (const StructuralZero& zero : model.never) {
    places.push_back(order.places(zero.columns));
    potentials.push_back(mask_of(zero, order));
  }
  Beliefs beliefs(levels, tree, places);
  beliefs.run(potentials);
  require_rows_left(beliefs);
  TreeNetwork out;
  out.network.levels = model.levels;
  out.network.parents.resize(levels.size());
  out.tables.resize(levels.size());
  std::vector<bool> placed(levels.size());
  for (std::size_t c = 0; c < tree.size(); ++c) {
    // The columns that came before, then the new ones: a margin of one column less each time.
    ColumnList columns, fresh;
    for (const std::uint32_t k : tree.cliques[c]) (placed[k] ? columns : fresh).push_back(k);
    columns.insert(columns.end(), fresh.begin(), fresh.end());
    std::vector<double> shares = gathered_axes(beliefs.clique(c), levels, tree.cliques[c], columns);
    while (!fresh.empty()) {
      const std::uint32_t k = fresh.back();
      const auto r = static_cast<std::size_t>(levels[k]);
      const std::vector<double> below = without_last(shares, r);
      // The network's order of parents: ascending columns of the model.
      ColumnList before(columns.begin(), columns.end() - 1);
      ColumnList parents = order.columns(before), wanted;
      for (const std::uint32_t p : parents) wanted.push_back(order.place(p));
      wanted.push_back(k);
      const std::uint32_t column = order.column(k);
      out.network.parents[column] = std::move(parents);
      out.tables[column] = gathered_axes(shares, levels, columns, wanted);
      normalise(out.tables[column], r);
      placed[k] = true;
      shares = below;
      columns.pop_back();
      fresh.pop_back();
    }
  }
  return out;
}

bool leaves_rows(std::span<const std::uint64_t> levels, std::span<const StructuralZero> never) {
  if (never.empty()) return true;
  require_zeros_of(levels, never);
  const Reordered order(levels);
  const std::vector<ColumnList> sets = with_zeros({}, never);
  std::vector<ColumnList> places;
  std::vector<Vector> masks;
  for (const StructuralZero& zero : never) {
    places.push_back(order.places(zero.columns));
    masks.push_back(mask_of(zero, order));
  }
  Beliefs beliefs(order.levels(), order.tree(junction_tree(levels, sets)), places);
  beliefs.run(masks);
  return !(beliefs.log_sum() < forbidden / 2);
}

std::vector<std::uint64_t> LevelGroups::levels() const {
  std::vector<std::uint64_t> out;
  for (const std::vector<std::uint32_t>& of : group)
    out.push_back(of.empty() ? 0 : *std::ranges::max_element(of) + std::uint64_t{1});
  return out;
}

namespace {

// For each level of a column, which of the rules take it: levels that all take alike are equal.
std::vector<std::vector<bool>> taken_by(std::span<const StructuralZero> never, std::uint32_t column,
                                        std::size_t levels) {
  std::vector<std::vector<bool>> out(levels);
  for (const StructuralZero& zero : never)
    for (std::size_t c = 0; c < zero.columns.size(); ++c) {
      if (zero.columns[c] != column) continue;
      for (std::uint32_t l = 0; l < levels; ++l)
        out[l].push_back(std::ranges::binary_search(zero.levels[c], l));
    }
  return out;
}

}  // namespace

LevelGroups group_rare_levels(std::span<const MeasuredTable> one_ways,
                              std::span<const StructuralZero> never) {
  constexpr double seen = 3;  // deviations above 0
  LevelGroups out;
  for (const MeasuredTable& one : one_ways) {
    const std::size_t levels = one.counts.size();
    const auto taken = taken_by(never, one.columns.front(), levels);
    const auto is_rare = [&](std::size_t l) { return one.counts[l] < seen * one.deviation; };
    std::vector<std::uint32_t>& group = out.group.emplace_back();
    std::vector<double>& shares = out.shares.emplace_back(levels, 1.0);
    std::uint32_t next = 0;
    std::vector<std::vector<std::size_t>> merged;  // rare ones that the rules take alike
    std::vector<std::uint32_t> of_merged;
    for (std::size_t l = 0; l < levels; ++l) {
      std::size_t m = 0;
      while (is_rare(l) && m < merged.size() && taken[merged[m].front()] != taken[l]) ++m;
      if (is_rare(l) && m < merged.size()) {
        merged[m].push_back(l);
        group.push_back(of_merged[m]);
        continue;
      }
      if (is_rare(l)) merged.push_back({l}), of_merged.push_back(next);
      group.push_back(next++);
    }
    // Shares of the rare ones: what is left of their counts when noise is taken off.
    for (const std::vector<std::size_t>& members : merged) {
      if (members.size() == 1) continue;
      std::vector<double> counts;
      for (const std::size_t l : members) counts.push_back(one.counts[l]);
      const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
      if (total > 0 && std::isfinite(total)) counts = projected_counts(std::move(counts), total);
      if (!(total > 0 && std::isfinite(total))) counts.assign(counts.size(), 1.0);
      const double sum = std::accumulate(counts.begin(), counts.end(), 0.0);
      for (std::size_t i = 0; i < members.size(); ++i) shares[members[i]] = counts[i] / sum;
    }
  }
  return out;
}

std::vector<StructuralZero> grouped_zeros(std::span<const StructuralZero> never,
                                          const LevelGroups& groups) {
  std::vector<StructuralZero> out;
  for (const StructuralZero& zero : never) {
    StructuralZero& one = out.emplace_back(StructuralZero{zero.columns, {}});
    for (std::size_t c = 0; c < zero.columns.size(); ++c) {
      std::vector<std::uint32_t>& levels = one.levels.emplace_back();
      for (const std::uint32_t level : zero.levels[c])
        levels.push_back(groups.group[zero.columns[c]][level]);
      std::ranges::sort(levels);
      levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
    }
  }
  return out;
}

TreeNetwork split_groups(const TreeNetwork& grouped, const LevelGroups& groups) {
  TreeNetwork out;
  out.network.parents = grouped.network.parents;
  for (const auto& of : groups.group) out.network.levels.push_back(of.size());
  for (std::size_t k = 0; k < groups.group.size(); ++k) {
    const std::vector<std::uint32_t>& parents = out.network.parents[k];
    const std::vector<std::uint32_t>& group = groups.group[k];
    const auto few = static_cast<std::size_t>(grouped.network.levels[k]);
    std::vector<double>& table = out.tables.emplace_back();
    table.reserve(static_cast<std::size_t>(out.network.cells(k)));
    std::vector<std::size_t> at(parents.size(), 0);
    for (bool more = true; more;) {
      std::size_t row = 0;
      for (std::size_t p = 0; p < parents.size(); ++p)
        row = row * static_cast<std::size_t>(grouped.network.levels[parents[p]]) +
              groups.group[parents[p]][at[p]];
      for (std::size_t l = 0; l < group.size(); ++l)
        table.push_back(grouped.tables[k][row * few + group[l]] * groups.shares[k][l]);
      more = false;
      for (std::size_t p = parents.size(); p-- > 0 && !more;) {
        more = ++at[p] < groups.group[parents[p]].size();
        if (!more) at[p] = 0;
      }
    }
  }
  return out;
}

}  // namespace gibbsite
