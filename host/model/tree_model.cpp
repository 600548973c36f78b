#include "gibbsite/model/tree_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "gibbsite/core/error.hpp"
#include "gibbsite/model/network_model.hpp"
#include "model/beliefs.hpp"

namespace gibbsite {
namespace {

using Potentials = std::vector<std::vector<double>>;

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
  // Of each cell of a table over these columns, ascending, the cell by ascending places.
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

// The fit, in reordered columns. Probabilities are shares of `rows`.
class Fit {
 public:
  Fit(std::span<const std::uint64_t> levels, const JunctionTree& tree,
      std::span<const ColumnList> tables, std::vector<std::vector<double>> counts,
      std::vector<double> weights, double rows)
      : beliefs_(levels, tree, tables),
        counts_(std::move(counts)),
        weights_(std::move(weights)),
        rows_(rows) {}

  // Expected counts and loss of these potentials.
  double run(const Potentials& potentials) {
    beliefs_.run(potentials);
    double loss = 0;
    for (std::size_t t = 0; t < counts_.size(); ++t) {
      const std::vector<double>& shares = beliefs_.table(t);
      double sum = 0;
      for (std::size_t i = 0; i < shares.size(); ++i) {
        const double off = rows_ * shares[i] - counts_[t][i];
        sum += off * off;
      }
      loss += 0.5 * weights_[t] * sum;
    }
    return loss;
  }
  // After `run`: derivatives by expected counts, and those counts.
  void slope(Potentials& gradient, Potentials& expected) const {
    gradient.resize(counts_.size());
    expected.resize(counts_.size());
    for (std::size_t t = 0; t < counts_.size(); ++t) {
      const std::vector<double>& shares = beliefs_.table(t);
      gradient[t].resize(shares.size());
      expected[t].resize(shares.size());
      for (std::size_t i = 0; i < shares.size(); ++i) {
        expected[t][i] = rows_ * shares[i];
        gradient[t][i] = weights_[t] * (expected[t][i] - counts_[t][i]);
      }
    }
  }
  // After `run`: how far expected counts moved from these, against the gradient there.
  [[nodiscard]] double descent(const Potentials& gradient, const Potentials& expected) const {
    double out = 0;
    for (std::size_t t = 0; t < counts_.size(); ++t) {
      const std::vector<double>& shares = beliefs_.table(t);
      double sum = 0;
      for (std::size_t i = 0; i < shares.size(); ++i)
        sum += gradient[t][i] * (expected[t][i] - rows_ * shares[i]);
      out += sum;
    }
    return out;
  }

 private:
  Beliefs beliefs_;
  std::vector<std::vector<double>> counts_;
  std::vector<double> weights_;
  double rows_;
};

}  // namespace

void TreeModel::validate() const {
  if (tables.size() != potentials.size())
    throw BadInput(fmt::format("potentials: there are {} lists for {} tables", potentials.size(),
                               tables.size()));
  for (std::size_t t = 0; t < tables.size(); ++t) {
    require_columns(levels, tables[t], potentials[t].size(), "potentials");
    if (!std::ranges::all_of(potentials[t], [](double p) { return std::isfinite(p); }))
      throw BadInput("potentials: one is not finite");
  }
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

TreeFit fit_tree(std::span<const std::uint64_t> levels, std::span<const MeasuredTable> measured,
                 double rows, const TreeFitOptions& options) {
  require_measured(levels, measured);
  if (!(rows > 0) || !std::isfinite(rows))
    throw BadInput(fmt::format("rows: must be above 0, got {}", rows));
  TreeFit out;
  out.model.levels.assign(levels.begin(), levels.end());
  const Reordered order(levels);
  std::vector<ColumnList> tables;
  std::vector<std::vector<std::uint32_t>> cells;
  std::vector<std::vector<double>> counts;
  std::vector<double> weights;
  Potentials now;
  std::vector<bool> begun(levels.size());
  for (const MeasuredTable& table : measured) {
    out.model.tables.push_back(table.columns);
    tables.push_back(order.places(table.columns));
    cells.push_back(order.cells(table.columns));
    counts.push_back(scattered(table.counts, cells.back()));
    weights.push_back(1 / (table.deviation * table.deviation));
    now.emplace_back(table.counts.size(), 0.0);
    // Begins at the one-way counts, as far as they are above 0.
    if (table.columns.size() != 1 || begun[table.columns[0]]) continue;
    begun[table.columns[0]] = true;
    std::vector<double> shares = counts.back();
    project_counts(shares, rows);
    for (std::size_t l = 0; l < shares.size(); ++l)
      now.back()[l] = log_of(std::max(shares[l], std::min(0.5, rows / 2)) / rows);
  }
  const JunctionTree tree = junction_tree(order.levels(), tables);
  Fit fit(order.levels(), tree, tables, std::move(counts), std::move(weights), rows);

  // Mirror descent: the gradient by expected counts is a step of log potentials.
  Potentials gradient, expected, next = now;
  double loss = fit.run(now), step = 1 / rows;
  fit.slope(gradient, expected);
  std::vector<double> losses{loss};
  constexpr std::uint64_t window = 20;
  for (; out.iterations < options.iterations; ++out.iterations) {
    if (options.progress && !options.progress(out.iterations, options.iterations))
      throw Interrupted("interrupted; nothing was written");
    bool first = true, moved = false;
    double tried = loss;
    for (int tries = 0; tries < 40 && !moved; ++tries) {
      for (std::size_t t = 0; t < now.size(); ++t)
        for (std::size_t i = 0; i < now[t].size(); ++i)
          next[t][i] = now[t][i] - step * gradient[t][i];
      tried = fit.run(next);
      moved = loss - tried >= 0.25 * fit.descent(gradient, expected);
      if (!moved) step *= 0.5, first = false;
    }
    if (!moved) break;
    std::swap(now, next);
    loss = tried;
    fit.slope(gradient, expected);
    if (first) step *= 1.9;
    losses.push_back(loss);
    if (losses.size() > window &&
        losses[losses.size() - 1 - window] - loss <= options.tolerance * loss)
      break;
  }
  out.loss = loss;
  for (std::size_t t = 0; t < now.size(); ++t)
    out.model.potentials.push_back(gathered(now[t], cells[t]));
  return out;
}

namespace {

// A model in reordered columns, its tree and its beliefs.
struct Propagated {
  explicit Propagated(const TreeModel& model)
      : order(model.levels), tables(places(model)), tree(junction_tree(order.levels(), tables)) {}
  static std::vector<ColumnList> places(const TreeModel& model) {
    model.validate();
    const Reordered order(model.levels);
    std::vector<ColumnList> out;
    for (const ColumnList& table : model.tables) out.push_back(order.places(table));
    return out;
  }
  [[nodiscard]] Potentials potentials(const TreeModel& model) const {
    Potentials out;
    for (std::size_t t = 0; t < tables.size(); ++t)
      out.push_back(scattered(model.potentials[t], order.cells(model.tables[t])));
    return out;
  }

  Reordered order;
  std::vector<ColumnList> tables;
  JunctionTree tree;
};

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
  const Propagated at(model);
  Beliefs beliefs(at.order.levels(), at.tree, at.tables);
  beliefs.run(at.potentials(model));
  const std::span<const std::uint64_t> levels = at.order.levels();
  TreeNetwork out;
  out.network.levels = model.levels;
  out.network.parents.resize(levels.size());
  out.tables.resize(levels.size());
  std::vector<bool> placed(levels.size());
  for (std::size_t c = 0; c < at.tree.size(); ++c) {
    // The columns that came before, then the new ones: a margin of one column less each time.
    ColumnList columns, fresh;
    for (const std::uint32_t k : at.tree.cliques[c]) (placed[k] ? columns : fresh).push_back(k);
    columns.insert(columns.end(), fresh.begin(), fresh.end());
    std::vector<double> shares =
        gathered_axes(beliefs.clique(c), levels, at.tree.cliques[c], columns);
    while (!fresh.empty()) {
      const std::uint32_t k = fresh.back();
      const auto r = static_cast<std::size_t>(levels[k]);
      const std::vector<double> below = without_last(shares, r);
      // The network's order of parents: ascending columns of the model.
      ColumnList before(columns.begin(), columns.end() - 1);
      ColumnList parents = at.order.columns(before), wanted;
      for (const std::uint32_t p : parents) wanted.push_back(at.order.place(p));
      wanted.push_back(k);
      const std::uint32_t column = at.order.column(k);
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

}  // namespace gibbsite
