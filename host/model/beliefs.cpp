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

std::vector<ArrayPart> array_parts(std::span<const std::uint64_t> levels, const ColumnList& array,
                                   const ColumnList& table, std::size_t cells) {
  constexpr std::size_t least_segment = 512;
  const auto all = static_cast<std::size_t>(table_cells(levels, array));
  const std::size_t wanted = std::max<std::size_t>(all / cells, 1);
  // The first `axes` columns of the array have `groups` configurations of the table's among them.
  std::size_t axes = 0, groups = 1, length = all, rest = all;
  for (std::size_t a = 0; a < array.size() && groups < wanted; ++a) {
    rest /= static_cast<std::size_t>(levels[array[a]]);
    if (rest < least_segment) break;
    if (!has(table, array[a])) continue;
    axes = a + 1, length = rest;
    groups *= static_cast<std::size_t>(levels[array[a]]);
  }
  const std::size_t parts = std::min(groups, wanted);
  const std::size_t of_group = static_cast<std::size_t>(table_cells(levels, table)) / groups;
  std::vector<ArrayPart> out(parts);
  for (std::size_t p = 0; p < parts; ++p) {
    out[p].first = (p * groups + parts - 1) / parts * of_group;
    out[p].last = ((p + 1) * groups + parts - 1) / parts * of_group;
  }
  std::vector<std::size_t> group{0};
  for (std::size_t a = 0; a < axes; ++a) {
    const auto r = static_cast<std::size_t>(levels[array[a]]);
    std::vector<std::size_t> next;
    for (const std::size_t g : group)
      for (std::size_t l = 0; l < r; ++l) next.push_back(has(table, array[a]) ? g * r + l : g);
    group = std::move(next);
  }
  for (std::size_t s = 0; s < group.size(); ++s) {
    std::vector<Segment>& segments = out[group[s] * parts / groups].segments;
    if (segments.empty() || segments.back().end != s * length)
      segments.push_back({s * length, s * length});
    segments.back().end += length;
  }
  return out;
}

namespace {

// f(first cell, cell of the table, cells) for each row of the placement, as far as it is inside.
template <class F>
[[gnu::always_inline]] inline void each_row(const Placement& place, Segment segment, const F& f) {
  const std::size_t length = place.length;
  std::size_t row = segment.begin / length, skipped = segment.begin % length;
  std::size_t cell = segment.begin;
  if (skipped == 0)
    for (; cell + length <= segment.end; cell += length) f(cell, place.at[row++], length);
  for (; cell < segment.end; ++row, skipped = 0) {
    const std::size_t count = std::min(length - skipped, segment.end - cell);
    f(cell, place.at[row] + (place.inside ? skipped : 0), count);
    cell += count;
  }
}

constexpr auto plus = [](double a, double b) { return a + b; };
constexpr auto minus = [](double a, double b) { return a - b; };
constexpr auto times = [](double a, double b) { return a * b; };
constexpr auto larger = [](double a, double b) { return b > a ? b : a; };

// to[i] <- f(to[i], from[i]).
template <class F>
[[gnu::always_inline]] inline void combine(double* __restrict to, const double* __restrict from,
                                           std::size_t count, const F& f) {
  for (std::size_t i = 0; i < count; ++i) to[i] = f(to[i], from[i]);
}

// Each cell of a segment by f of it and of its cell of the table.
template <class F>
void change(const Placement& place, Segment segment, const double* table, double* array,
            const F& f) {
  if (place.inside) {
    each_row(place, segment, [&](std::size_t cell, std::size_t at, std::size_t count) {
      combine(array + cell, table + at, count, f);
    });
  } else {
    each_row(place, segment, [&](std::size_t cell, std::size_t at, std::size_t count) {
      const double here = table[at];
      for (std::size_t i = 0; i < count; ++i) array[cell + i] = f(array[cell + i], here);
    });
  }
}

// Each cell of the table by f of it and of the array's there: `all` of a row that meets one.
template <class F, class All>
void reduce(const Placement& place, Segment segment, const double* array, double* table, const F& f,
            const All& all) {
  if (place.inside) {
    each_row(place, segment, [&](std::size_t cell, std::size_t at, std::size_t count) {
      combine(table + at, array + cell, count, f);
    });
  } else {
    each_row(place, segment, [&](std::size_t cell, std::size_t at, std::size_t count) {
      table[at] = f(table[at], all(array + cell, count));
    });
  }
}

void most_table(const Placement& place, Segment segment, const double* array, double* table) {
  reduce(place, segment, array, table, larger, most_of);
}

void add_range(const std::vector<double>& from, Segment segment, double* to) {
  combine(to + segment.begin, from.data() + segment.begin, segment.end - segment.begin, plus);
}

}  // namespace

void add_table(const Placement& place, Segment segment, const double* table, double* array) {
  change(place, segment, table, array, plus);
}

void sum_table(const Placement& place, Segment segment, const double* array, double* table) {
  reduce(place, segment, array, table, plus, sum_of);
}

Beliefs::Beliefs(std::span<const std::uint64_t> levels, const JunctionTree& tree,
                 std::span<const ColumnList> tables, EachTask each)
    : each_(std::move(each)), levels_(levels.begin(), levels.end()), cliques_(tree.size()) {
  std::vector<std::vector<ColumnList>> wanted(tree.size());
  for (const ColumnList& columns : tables) {
    home_.push_back(tree.home(levels, columns));
    wanted[home_.back()].push_back(columns);
  }
  for (std::size_t c = 1; c < tree.size(); ++c) {
    cliques_[c].parent = tree.parents[c];
    cliques_[tree.parents[c]].children.push_back(c);
    wanted[tree.parents[c]].push_back(tree.separator(c));
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
    if (c > 0) clique.parent_array = array_of(cliques_[clique.parent], separator);
    lay_parts(c, tree.cliques[c], separator);
  }
  for (std::size_t t = 0; t < tables.size(); ++t) {
    Clique& clique = cliques_[home_[t]];
    node_.push_back(array_of(clique, tables[t]));
    clique.tables.push_back(t);
  }
  lay_waves();
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

// So that what a task goes over several times stays near the processor.
constexpr std::size_t part_cells = 8192;

void Beliefs::lay_parts(std::size_t c, const ColumnList& columns, const ColumnList& separator) {
  Clique& clique = cliques_[c];
  // The root has no separator and one sum of all: its other steps may go by any part.
  clique.parts = array_parts(levels_, columns, c == 0 ? columns : separator, part_cells);
  for (std::size_t a = 1; a < clique.arrays.size(); ++a)
    if (clique.arrays[a].source == 0)
      clique.arrays[a].parts = array_parts(levels_, columns, clique.arrays[a].columns, part_cells);
}

void Beliefs::lay_waves() {
  std::vector<std::size_t> depth(cliques_.size(), 0);
  for (std::size_t c = 0; c < cliques_.size(); ++c) {
    if (c > 0) depth[c] = depth[cliques_[c].parent] + 1;
    waves_.resize(std::max(waves_.size(), depth[c] + 1));
    Wave& wave = waves_[depth[c]];
    const Clique& clique = cliques_[c];
    wave.cells += clique.arrays.front().cells.size();
    wave.cliques.push_back(c);
    for (std::size_t p = 0; p < clique.parts.size(); ++p) wave.parts.push_back({c, 0, p});
    for (std::size_t a = 1; a < clique.arrays.size(); ++a)
      for (std::size_t p = 0; p < clique.arrays[a].parts.size(); ++p)
        wave.margins.push_back({c, a, p});
  }
}

template <class F>
void Beliefs::each(const Wave& wave, std::size_t tasks, const F& f) const {
  // Less gains nothing: handing over a step, and cells that lie at another processor, take as long.
  if (each_ && tasks > 1 && wave.cells >= 8 * part_cells) {
    each_(tasks, f);
  } else {
    for (std::size_t task = 0; task < tasks; ++task) f(task);
  }
}

void Beliefs::run(std::span<const std::vector<double>> potentials) {
  potentials_ = potentials;
  for (std::size_t w = waves_.size(); w-- > 0;) {
    const Wave& wave = waves_[w];
    each(wave, wave.cliques.size(), [&](std::size_t i) { join(wave.cliques[i]); });
    if (w == 0) break;
    each(wave, wave.parts.size(), [&](std::size_t i) {
      const Task& task = wave.parts[i];
      up(cliques_[task.clique], cliques_[task.clique].parts[task.part]);
    });
  }
  up_root();
  for (const Wave& wave : waves_) {
    each(wave, wave.parts.size(), [&](std::size_t i) {
      const Task& task = wave.parts[i];
      down(cliques_[task.clique], cliques_[task.clique].parts[task.part]);
    });
    each(wave, wave.margins.size(), [&](std::size_t i) {
      const Task& task = wave.margins[i];
      Array& margin = cliques_[task.clique].arrays[task.array];
      down_margin(cliques_[task.clique], margin, margin.parts[task.part]);
    });
    each(wave, wave.cliques.size(),
         [&](std::size_t i) { down_margins(cliques_[wave.cliques[i]]); });
  }
}

// Log potentials with what the children say, in all arrays of a clique but its own.
void Beliefs::join(std::size_t c) {
  Clique& clique = cliques_[c];
  for (std::size_t a = 1; a < clique.arrays.size(); ++a)
    std::ranges::fill(clique.arrays[a].cells, 0.0);
  const auto add = [&](std::size_t a, const std::vector<double>& from) {
    if (a > 0) add_range(from, {0, from.size()}, clique.arrays[a].cells.data());
  };
  for (const std::size_t t : clique.tables) add(node_[t], potentials_[t]);
  for (const std::size_t child : clique.children)
    add(cliques_[child].parent_array, cliques_[child].message);
  for (std::size_t a = clique.arrays.size(); a-- > 1;) {
    const Array& from = clique.arrays[a];
    if (from.source == 0) continue;
    std::vector<double>& to = clique.arrays[from.source].cells;
    add_table(from.in_source, {0, to.size()}, from.cells.data(), to.data());
  }
}

// And in a segment of its own.
void Beliefs::join(const Clique& clique, Segment segment, double* cells) const {
  std::fill(cells + segment.begin, cells + segment.end, 0.0);
  for (const std::size_t t : clique.tables)
    if (node_[t] == 0) add_range(potentials_[t], segment, cells);
  for (const std::size_t child : clique.children)
    if (cliques_[child].parent_array == 0) add_range(cliques_[child].message, segment, cells);
  for (std::size_t a = clique.arrays.size(); a-- > 1;) {
    const Array& from = clique.arrays[a];
    if (from.source == 0) add_table(from.in_source, segment, from.cells.data(), cells);
  }
}

// Then their exponentials, the largest of each configuration of the separator 1; what they say of
// the separator goes to the parent.
void Beliefs::up(Clique& clique, const ArrayPart& part) const {
  const Placement& place = clique.separator;
  double* const cells = clique.arrays.front().cells.data();
  double *const most = clique.most.data(), *const sums = clique.sums.data();
  std::fill(most + part.first, most + part.last, -std::numeric_limits<double>::infinity());
  std::fill(sums + part.first, sums + part.last, 0.0);
  for (const Segment segment : part.segments) {
    join(clique, segment, cells);
    most_table(place, segment, cells, most);
  }
  for (const Segment segment : part.segments) {
    change(place, segment, most, cells, minus);
    exp_each({cells + segment.begin, cells + segment.end});
    sum_table(place, segment, cells, sums);
  }
  tell(clique, part.first, part.last);
}

// The message, once the sums are there.
void Beliefs::tell(Clique& clique, std::size_t first, std::size_t last) {
  double* const message = clique.message.data();
  std::copy(clique.sums.data() + first, clique.sums.data() + last, message + first);
  log_each({message + first, message + last});
  add_range(clique.most, {first, last}, message);
}

void Beliefs::up_root() {
  Clique& clique = cliques_.front();
  const Wave& wave = waves_.front();
  double* const cells = clique.arrays.front().cells.data();
  std::vector<double> most(clique.parts.size());
  each(wave, most.size(), [&](std::size_t p) {
    most[p] = -std::numeric_limits<double>::infinity();
    for (const Segment segment : clique.parts[p].segments) {
      join(clique, segment, cells);
      most[p] = std::max(most[p], most_of(cells + segment.begin, segment.end - segment.begin));
    }
  });
  clique.most.front() = *std::ranges::max_element(most);
  each(wave, most.size(), [&](std::size_t p) {
    for (const Segment segment : clique.parts[p].segments) {
      for (std::size_t i = segment.begin; i < segment.end; ++i) cells[i] -= clique.most.front();
      exp_each({cells + segment.begin, cells + segment.end});
    }
  });
  clique.sums.front() = 0;
  sum_table(clique.separator, {0, clique.arrays.front().cells.size()}, cells, clique.sums.data());
  tell(clique, 0, 1);
  log_sum_ = clique.message.front();
  clique.message.front() = 1 / clique.sums.front();
}

// Shares: each configuration of the separator has its parent's.
void Beliefs::down(Clique& clique, const ArrayPart& part) const {
  double* const cells = clique.arrays.front().cells.data();
  double* const ratio = clique.message.data();
  if (&clique == &cliques_.front()) {
    for (const Segment segment : part.segments)
      for (std::size_t i = segment.begin; i < segment.end; ++i) cells[i] *= *ratio;
    return;
  }
  const std::vector<double>& shares = cliques_[clique.parent].arrays[clique.parent_array].cells;
  for (std::size_t s = part.first; s < part.last; ++s) ratio[s] = shares[s] / clique.sums[s];
  for (const Segment segment : part.segments)
    change(clique.separator, segment, ratio, cells, times);
}

void Beliefs::down_margin(const Clique& clique, Array& margin, const ArrayPart& part) {
  double* const cells = margin.cells.data();
  std::fill(cells + part.first, cells + part.last, 0.0);
  for (const Segment segment : part.segments)
    sum_table(margin.in_source, segment, clique.arrays.front().cells.data(), cells);
}

void Beliefs::down_margins(Clique& clique) {
  for (std::size_t a = 1; a < clique.arrays.size(); ++a) {
    Array& to = clique.arrays[a];
    if (to.source == 0) continue;
    std::ranges::fill(to.cells, 0.0);
    const std::vector<double>& from = clique.arrays[to.source].cells;
    sum_table(to.in_source, {0, from.size()}, from.data(), to.cells.data());
  }
}

}  // namespace gibbsite
