#include "model/beliefs.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace gibbsite {
namespace {

// exp(n log 2 + r), |r| <= log(2)/2: ten terms of the series, and 2^n by its bits.
inline double exp_here(double x) {
  constexpr double to_whole = 0x1.8p52, least = -700;
  const double inside = x > least ? x : least;
  const double shifted = inside * 1.4426950408889634 + to_whole;
  const double n = shifted - to_whole;
  const double r = (inside - n * 0x1.62e42feep-1) - n * 0x1.a39ef35793c76p-33;
  double sum = 1.0 / 3628800;
  sum = sum * r + 1.0 / 362880;
  sum = sum * r + 1.0 / 40320;
  sum = sum * r + 1.0 / 5040;
  sum = sum * r + 1.0 / 720;
  sum = sum * r + 1.0 / 120;
  sum = sum * r + 1.0 / 24;
  sum = sum * r + 1.0 / 6;
  sum = sum * r + 0.5;
  sum = sum * r + 1;
  sum = sum * r + 1;
  const auto power = std::bit_cast<double>((std::bit_cast<std::uint64_t>(shifted) + 1023) << 52);
  const double out = sum * power;
  return x > least ? out : 0.0;
}

// log(m 2^power), m in [1/2, 1).
inline double log_here(double m, double power) {
  const bool below = m < 0.70710678118654752;
  const double inside = below ? m * 2 : m, exponent = below ? power - 1 : power;
  const double s = (inside - 1) / (inside + 1), square = s * s;
  double sum = 0;  // of s^2j/(2j + 1); |s| < 0.172
  for (int j = 9; j >= 0; --j) sum = sum * square + 1.0 / (2 * j + 1);
  return exponent * 0.69314718055994531 + 2 * s * sum;
}

// x <- exp(x), x <= 0; x <- log(x), x at least 1 and finite. One pointer and no branch: compilers
// make vectors of the loops, whose steps are those of one number.
[[gnu::always_inline]] inline void exp_loop(double* x, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) x[i] = exp_here(x[i]);
}
[[gnu::always_inline]] inline void log_loop(double* x, std::size_t count) {
  constexpr std::uint64_t mantissa = (std::uint64_t{1} << 52) - 1;
  constexpr double to_whole = 0x1p52;
  for (std::size_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<std::uint64_t>(x[i]);
    const auto m = std::bit_cast<double>((bits & mantissa) | std::uint64_t{1022} << 52);
    // The exponent's bits as a number, by those of 2^52.
    const auto power = std::bit_cast<double>(std::bit_cast<std::uint64_t>(to_whole) | bits >> 52) -
                       (to_whole + 1022);
    x[i] = log_here(m, power);
  }
}
void exp_plain(double* x, std::size_t count) { exp_loop(x, count); }
void log_plain(double* x, std::size_t count) { log_loop(x, count); }
#ifdef __x86_64__
// Vectors of four, whose bits are the same: no product is contracted into a sum.
[[gnu::target("avx2")]] void exp_wide(double* x, std::size_t count) { exp_loop(x, count); }
[[gnu::target("avx2")]] void log_wide(double* x, std::size_t count) { log_loop(x, count); }
bool has_wide() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}
#else
constexpr auto exp_wide = exp_plain, log_wide = log_plain;
bool has_wide() { return false; }
#endif

// Sums in four lanes, whatever the machine's vectors.
inline double sum_of(const double* from, std::size_t count) {
  double lanes[4] = {0, 0, 0, 0};
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4)
    for (std::size_t l = 0; l < 4; ++l) lanes[l] += from[i + l];
  for (std::size_t l = 0; i < count; ++i, ++l) lanes[l] += from[i];
  return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
}
inline double most_of(const double* from, std::size_t count) {
  double lanes[4] = {from[0], from[0], from[0], from[0]};
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4)
    for (std::size_t l = 0; l < 4; ++l) lanes[l] = from[i + l] > lanes[l] ? from[i + l] : lanes[l];
  for (; i < count; ++i) lanes[0] = from[i] > lanes[0] ? from[i] : lanes[0];
  const double a = std::max(lanes[0], lanes[1]), b = std::max(lanes[2], lanes[3]);
  return std::max(a, b);
}

ColumnList with(const ColumnList& a, const ColumnList& b) {
  ColumnList out;
  std::ranges::set_union(a, b, std::back_inserter(out));
  return out;
}
bool has(const ColumnList& columns, std::uint32_t k) {
  return std::ranges::binary_search(columns, k);
}

}  // namespace

double exp_of(double x) { return exp_here(x); }

void exp_each(std::span<double> x) { (has_wide() ? exp_wide : exp_plain)(x.data(), x.size()); }

void log_each(std::span<double> x) { (has_wide() ? log_wide : log_plain)(x.data(), x.size()); }

double log_of(double x) {
  int power = 0;
  const double m = std::frexp(x, &power);
  return log_here(m, power);
}

Placement placement(std::span<const std::uint64_t> levels, const ColumnList& array,
                    const ColumnList& table) {
  Placement out;
  std::size_t axes = array.size();
  if (axes > 0) out.inside = has(table, array.back());
  while (axes > 0 && has(table, array[axes - 1]) == out.inside)
    out.length *= static_cast<std::size_t>(levels[array[--axes]]);
  std::size_t stride = out.inside ? out.length : 1;
  std::vector<std::size_t> strides(axes, 0);
  for (std::size_t a = axes; a-- > 0;)
    if (has(table, array[a])) {
      strides[a] = stride;
      stride *= static_cast<std::size_t>(levels[array[a]]);
    }
  out.at = {0};
  for (std::size_t a = 0; a < axes; ++a) {
    std::vector<std::uint32_t> next;
    next.reserve(out.at.size() * levels[array[a]]);
    for (const std::uint32_t first : out.at)
      for (std::size_t l = 0; l < levels[array[a]]; ++l)
        next.push_back(first + static_cast<std::uint32_t>(l * strides[a]));
    out.at = std::move(next);
  }
  return out;
}

void add_table(const Placement& place, const double* __restrict table, double* __restrict array) {
  for (const std::uint32_t at : place.at) {
    if (place.inside) {
      for (std::size_t i = 0; i < place.length; ++i) array[i] += table[at + i];
    } else {
      for (std::size_t i = 0; i < place.length; ++i) array[i] += table[at];
    }
    array += place.length;
  }
}

void sum_table(const Placement& place, const double* __restrict array, double* __restrict table) {
  for (const std::uint32_t at : place.at) {
    if (place.inside) {
      for (std::size_t i = 0; i < place.length; ++i) table[at + i] += array[i];
    } else {
      table[at] += sum_of(array, place.length);
    }
    array += place.length;
  }
}

Beliefs::Beliefs(std::span<const std::uint64_t> levels, const JunctionTree& tree,
                 std::span<const ColumnList> tables)
    : levels_(levels.begin(), levels.end()),
      parents_(tree.parents),
      children_(tree.size()),
      cliques_(tree.size()) {
  std::vector<std::vector<ColumnList>> wanted(tree.size());
  for (const ColumnList& columns : tables) {
    home_.push_back(tree.home(levels, columns));
    wanted[home_.back()].push_back(columns);
  }
  for (std::size_t c = 1; c < tree.size(); ++c) {
    children_[parents_[c]].push_back(c);
    wanted[parents_[c]].push_back(tree.separator(c));
  }
  for (std::size_t c = 0; c < tree.size(); ++c) {
    Clique& clique = cliques_[c];
    Array whole;
    whole.columns = tree.cliques[c];
    clique.arrays.push_back(std::move(whole));
    lay_arrays(clique, 0, std::move(wanted[c]));
    for (Array& array : clique.arrays)
      array.cells.resize(static_cast<std::size_t>(table_cells(levels, array.columns)));
    const ColumnList separator = tree.separator(c);
    clique.separator = placement(levels, tree.cliques[c], separator);
    const auto cells = static_cast<std::size_t>(table_cells(levels, separator));
    clique.most.resize(cells);
    clique.sums.resize(cells);
    clique.message.resize(cells);
    if (c > 0) clique.parent_array = array_of(cliques_[parents_[c]], separator);
  }
  for (std::size_t t = 0; t < tables.size(); ++t) {
    Clique& clique = cliques_[home_[t]];
    node_.push_back(array_of(clique, tables[t]));
    clique.tables.push_back(t);
  }
}

std::size_t Beliefs::array_of(Clique& clique, const ColumnList& columns) {
  const auto at = std::ranges::find(clique.arrays, columns, &Array::columns);
  return static_cast<std::size_t>(at - clique.arrays.begin());
}

// Margins by way of margins: the column without which most of what is wanted can do goes first, so
// that the many tables of a clique cost few passes over all of it.
void Beliefs::lay_arrays(Clique& clique, std::size_t source, std::vector<ColumnList> wanted) {
  std::erase(wanted, clique.arrays[source].columns);
  std::ranges::sort(wanted);
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  while (!wanted.empty()) {
    std::uint32_t leave = 0;
    double best = -1;
    for (const std::uint32_t k : clique.arrays[source].columns) {
      const auto without = std::ranges::count_if(wanted, [&](const auto& w) { return !has(w, k); });
      const double worth =
          static_cast<double>(without) * (1 - 0.5 / static_cast<double>(levels_[k]));
      if (worth > best) best = worth, leave = k;
    }
    std::vector<ColumnList> now, later;
    for (ColumnList& w : wanted) (has(w, leave) ? later : now).push_back(std::move(w));
    ColumnList columns;
    for (const ColumnList& w : now) columns = with(columns, w);
    Array margin;
    margin.in_source = placement(levels_, clique.arrays[source].columns, columns);
    margin.columns = std::move(columns);
    margin.source = source;
    clique.arrays.push_back(std::move(margin));
    lay_arrays(clique, clique.arrays.size() - 1, std::move(now));
    wanted = std::move(later);
  }
}

void Beliefs::run(std::span<const std::vector<double>> potentials) {
  for (std::size_t c = cliques_.size(); c-- > 0;) up(c, potentials);
  log_sum_ = cliques_.front().message.front();
  for (std::size_t c = 0; c < cliques_.size(); ++c) down(c);
}

// Log potentials with what the children say, then their exponentials, the largest of each
// configuration of the separator 1; what they say of the separator goes to the parent.
void Beliefs::up(std::size_t c, std::span<const std::vector<double>> potentials) {
  Clique& clique = cliques_[c];
  for (Array& array : clique.arrays) std::ranges::fill(array.cells, 0.0);
  const auto add = [](const std::vector<double>& from, std::vector<double>& to) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
  };
  for (const std::size_t t : clique.tables) add(potentials[t], clique.arrays[node_[t]].cells);
  for (const std::size_t child : children_[c])
    add(cliques_[child].message, clique.arrays[cliques_[child].parent_array].cells);
  for (std::size_t a = clique.arrays.size(); a-- > 1;) {
    const Array& from = clique.arrays[a];
    add_table(from.in_source, from.cells.data(), clique.arrays[from.source].cells.data());
  }
  const Placement& place = clique.separator;
  std::ranges::fill(clique.most, -std::numeric_limits<double>::infinity());
  std::ranges::fill(clique.sums, 0.0);
  double* row = clique.arrays.front().cells.data();
  for (const std::uint32_t at : place.at) {
    double* const most = clique.most.data() + at;
    if (place.inside) {
      for (std::size_t i = 0; i < place.length; ++i) most[i] = row[i] > most[i] ? row[i] : most[i];
    } else {
      *most = std::max(*most, most_of(row, place.length));
    }
    row += place.length;
  }
  std::vector<double>& cells = clique.arrays.front().cells;
  row = cells.data();
  for (const std::uint32_t at : place.at) {
    const double* const most = clique.most.data() + at;
    if (place.inside) {
      for (std::size_t i = 0; i < place.length; ++i) row[i] -= most[i];
    } else {
      const double m = *most;
      for (std::size_t i = 0; i < place.length; ++i) row[i] -= m;
    }
    row += place.length;
  }
  exp_each(cells);
  sum_table(place, cells.data(), clique.sums.data());
  clique.message = clique.sums;
  log_each(clique.message);
  for (std::size_t s = 0; s < clique.sums.size(); ++s) clique.message[s] += clique.most[s];
}

// Shares: each configuration of the separator has its parent's.
void Beliefs::down(std::size_t c) {
  Clique& clique = cliques_[c];
  const Placement& place = clique.separator;
  std::vector<double>& ratio = clique.message;
  for (std::size_t s = 0; s < ratio.size(); ++s) {
    const double share = c == 0 ? 1.0 : cliques_[parents_[c]].arrays[clique.parent_array].cells[s];
    ratio[s] = share / clique.sums[s];
  }
  double* row = clique.arrays.front().cells.data();
  for (const std::uint32_t at : place.at) {
    if (place.inside) {
      for (std::size_t i = 0; i < place.length; ++i) row[i] *= ratio[at + i];
    } else {
      for (std::size_t i = 0; i < place.length; ++i) row[i] *= ratio[at];
    }
    row += place.length;
  }
  for (std::size_t a = 1; a < clique.arrays.size(); ++a) {
    Array& to = clique.arrays[a];
    std::ranges::fill(to.cells, 0.0);
    sum_table(to.in_source, clique.arrays[to.source].cells.data(), to.cells.data());
  }
}

}  // namespace gibbsite
