#include "gibbsite/release/cross_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/mechanism/noise_law.hpp"

namespace gibbsite {
namespace {

using Columns = std::vector<std::uint32_t>;
using Counts = std::vector<double>;

// A table over `from`, summed to the columns `to`, a subset of them in any order. Of both the last
// column goes fastest.
Counts summed(const std::vector<std::uint64_t>& levels, const Columns& from, const Counts& counts,
              const Columns& to) {
  std::vector<std::size_t> stride(from.size(), 0), level(from.size(), 0);
  std::size_t size = 1;
  for (std::size_t a = to.size(); a-- > 0;) {
    stride[static_cast<std::size_t>(std::ranges::find(from, to[a]) - from.begin())] = size;
    size *= levels[to[a]];
  }
  Counts out(size, 0.0);
  std::size_t place = 0;
  for (const double count : counts) {
    out[place] += count;
    for (std::size_t c = from.size(); c-- > 0;) {  // the next cell, as an odometer
      place += stride[c];
      if (++level[c] < levels[from[c]]) break;
      place -= stride[c] * level[c];
      level[c] = 0;
    }
  }
  return out;
}

Columns set_of(const Network& network, std::size_t node) {
  Columns out = network.parents[node];
  out.push_back(static_cast<std::uint32_t>(node));
  std::ranges::sort(out);
  return out;
}

// Counted tables that are margins of one another: table i is over the first tables[i].columns
// columns of `order`, the last one over all of them.
struct Chain {
  struct Measured {
    std::size_t node = 0, columns = 0;
    double variance = 0;  // of a cell: of the noise and of its rounding to the grid
  };
  Columns order;
  std::vector<double> cells;       // c_j of the first j columns [d + 1]
  std::vector<Measured> tables;    // ascending
  std::vector<double> components;  // tau_j^2 (docs/how-to/table.md) [d + 1]
};

double variance_of_noise(double deviation) {
  const double grid = answer_grid(deviation);
  return deviation * deviation + grid * grid / 12;
}

Chain chain_below(const Network& network, std::span<const double> noise, std::size_t last,
                  bool total_is_public) {
  // From the widest table down, each time the widest one within the one before.
  std::vector<std::size_t> nodes{last};
  Columns inner = set_of(network, last);
  std::vector<Columns> sets{inner};
  for (bool found = true; found;) {
    found = false;
    Columns widest;
    std::size_t at = 0;
    for (std::size_t node = 0; node < network.size(); ++node) {
      const Columns set = set_of(network, node);
      if (set.size() >= inner.size() || set.size() <= widest.size()) continue;
      if (!std::ranges::includes(inner, set)) continue;
      widest = set, at = node, found = true;
    }
    if (!found) break;
    nodes.push_back(at);
    sets.push_back(widest);
    inner = widest;
  }
  Chain out;
  for (std::size_t i = nodes.size(); i-- > 0;) {
    for (const std::uint32_t column : sets[i])
      if (std::ranges::find(out.order, column) == out.order.end()) out.order.push_back(column);
    out.tables.push_back({nodes[i], sets[i].size(), variance_of_noise(noise[nodes[i]])});
  }
  out.cells.push_back(1);
  for (const std::uint32_t column : out.order)
    out.cells.push_back(out.cells.back() * static_cast<double>(network.levels[column]));
  for (std::size_t j = 0; j < out.cells.size(); ++j) {
    double precision = 0;
    for (const Chain::Measured& table : out.tables)
      if (table.columns >= j)
        precision += out.cells.back() / (out.cells[table.columns] * table.variance);
    out.components.push_back(j == 0 && total_is_public ? 0 : 1 / precision);
  }
  return out;
}

// The proof of docs/how-to/table.md, "Estimates". Spread each cell of table i evenly over its
// C/c_i cells of N. That is the projection of N onto the sum of the spaces 0 … i, plus noise with
// the covariance (c_i/C) v_i times that projection: isotropic there, hence independent between
// spaces. Different tables have independent noise. So each space has independent measurements of
// one vector with covariances that are multiples of the identity, and generalized least squares is
// their weighted mean. A count over S is the inner product of N with an indicator 1_S. q_j is the
// squared norm of 1_S projected onto the spaces 0 … j: averaging over column k of S divides it by
// r_k. The spaces are orthogonal, so variances add. A public total measures the space 0 without
// noise. ∎

// Deviation of the estimated count of one configuration of these columns, the others summed over.
double deviation_of(const Network& network, const Chain& chain, const Columns& margin) {
  const auto levels = [&](std::uint32_t column) {
    return static_cast<double>(network.levels[column]);
  };
  const auto is_of = [&](std::uint32_t column) {
    return std::ranges::find(margin, column) != margin.end();
  };
  double before = chain.cells.back();  // squared norm of the margin's part below component j
  for (const std::uint32_t column : margin) before /= levels(column) * levels(column);
  double variance = chain.components.front() * before;
  for (std::size_t j = 1; j < chain.cells.size(); ++j) {
    const std::uint32_t column = chain.order[j - 1];
    const double now = is_of(column) ? before * levels(column) : before;
    variance += chain.components[j] * (now - before);
    before = now;
  }
  return std::sqrt(variance);
}

// Best linear unbiased estimates of the chain's widest table, laid out in its order.
Counts estimates_of(const NetworkModel& model, const Chain& chain,
                    std::optional<std::uint64_t> rows) {
  const Network& network = model.network;
  const std::size_t d = chain.order.size();
  const auto first = [&](std::size_t j) {
    return Columns(chain.order.begin(), chain.order.begin() + static_cast<std::ptrdiff_t>(j));
  };
  // mean[j]: the weighted mean of the tables of j columns or more, each summed to the first j.
  std::vector<Counts> mean(d + 1);
  std::vector<double> weights(d + 1, 0.0);
  for (const Chain::Measured& table : chain.tables) {
    Columns laid = network.parents[table.node];
    laid.push_back(static_cast<std::uint32_t>(table.node));
    Counts counts = summed(network.levels, laid, model.counts[table.node], first(table.columns));
    const double weight = 1 / (chain.cells[table.columns] * table.variance);
    for (std::size_t j = table.columns + 1; j-- > 0;) {
      if (j < table.columns) counts = summed(network.levels, first(j + 1), counts, first(j));
      mean[j].resize(counts.size(), 0.0);
      for (std::size_t cell = 0; cell < counts.size(); ++cell)
        mean[j][cell] += weight * counts[cell];
      weights[j] += weight;
    }
  }
  for (std::size_t j = 0; j <= d; ++j)
    for (double& count : mean[j]) count /= weights[j];
  Counts out = rows ? Counts{static_cast<double>(*rows)} : mean[0];
  for (std::size_t j = 1; j <= d; ++j) {
    const std::size_t r = network.levels[chain.order[j - 1]];
    Counts next(mean[j].size());
    for (std::size_t parent = 0; parent < out.size(); ++parent) {
      const auto children = std::span(mean[j]).subspan(parent * r, r);
      const double sum = std::accumulate(children.begin(), children.end(), 0.0);
      const double shift = (out[parent] - sum) / static_cast<double>(r);
      for (std::size_t l = 0; l < r; ++l) next[parent * r + l] = children[l] + shift;
    }
    out = std::move(next);
  }
  return out;
}

// Multiples of `grid` next to the values, whose sum, up to rounding, is `sum`, that add up to
// `sum`, a multiple itself: those of the largest rest are rounded up.
void apportion(std::span<double> values, double sum, double grid) {
  std::vector<std::size_t> by_rest(values.size());
  std::vector<double> rest(values.size());
  double floors = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double floor = std::floor(values[i] / grid) * grid;
    rest[i] = values[i] - floor;
    values[i] = floor;
    floors += floor;
    by_rest[i] = i;
  }
  std::ranges::stable_sort(by_rest,
                           [&](std::size_t a, std::size_t b) { return rest[a] > rest[b]; });
  double left = std::round((sum - floors) / grid);
  for (std::size_t i = 0; left > 0; i = (i + 1) % values.size(), --left) values[by_rest[i]] += grid;
  // By a rounding error alone.
  for (std::size_t i = values.size(); left < 0; ++left) {
    i = i == 0 ? values.size() - 1 : i - 1;
    values[by_rest[i]] -= grid;
  }
}

// What becomes of one configuration's sum when it is split among the levels of the next column.
enum class Split { as_it_is, not_negative };

// A table of multiples of `grid` near these, from the total down one column after the other, so
// that all of its margins are sums of its cells.
Counts split_down(const std::vector<std::uint64_t>& levels, const Columns& order,
                  const Counts& cells, double grid, Split how) {
  std::vector<Counts> sums{cells};  // over the first d, d - 1, ... columns
  for (std::size_t j = order.size(); j-- > 0;) {
    const std::size_t r = levels[order[j]];
    Counts next(sums.back().size() / r);
    for (std::size_t parent = 0; parent < next.size(); ++parent) {
      const auto children = std::span(sums.back()).subspan(parent * r, r);
      next[parent] = std::accumulate(children.begin(), children.end(), 0.0);
    }
    sums.push_back(std::move(next));
  }
  Counts out{std::round(sums.back().front() / grid) * grid};
  if (how == Split::not_negative) out.front() = std::max(out.front(), 0.0);
  for (std::size_t j = 0; j < order.size(); ++j) {
    Counts& values = sums[order.size() - 1 - j];
    const std::size_t r = levels[order[j]];
    for (std::size_t parent = 0; parent < out.size(); ++parent) {
      const auto children = std::span(values).subspan(parent * r, r);
      if (how == Split::not_negative) {
        Counts projected(r, 0.0);
        if (out[parent] > 0) {
          projected.assign(children.begin(), children.end());
          project_counts(projected, out[parent]);
        }
        std::ranges::copy(projected, children.begin());
      }
      apportion(children, out[parent], grid);
    }
    out = std::move(values);
  }
  return out;
}

// Powers of two on which sums of counts are exact in double: one far below the noise, and 1 or, of
// numbers that no table has, the least that is.
struct Grids {
  double estimates = 1, wholes = 1;
};
// That of a power of two; of what no table has, an infinity or no number, the largest one.
int exponent_of(double size) {
  using Limits = std::numeric_limits<double>;
  if (size == 0) return Limits::min_exponent;
  return std::isfinite(size) ? std::ilogb(size) : Limits::max_exponent;
}
Grids exact_grids(const Chain& chain, const Counts& estimates) {
  double largest = 1, least = chain.tables.front().variance;
  for (const double estimate : estimates) largest += std::abs(estimate);
  for (const Chain::Measured& table : chain.tables) least = std::min(least, table.variance);
  constexpr int below_noise = 10, exact_bits = 51;
  const int of_noise = std::min(exponent_of(std::sqrt(least)) - below_noise, 0);
  const int of_size = exponent_of(largest) + 1 - exact_bits;
  return {std::ldexp(1, std::max(of_noise, of_size)), std::ldexp(1, std::max(0, of_size))};
}

std::vector<std::string> names_of_levels(const NetworkModel& model, std::size_t column) {
  std::vector<std::string> out = model.level_names(column);
  for (std::size_t level = 0; level < out.size(); ++level) {
    const auto number = number_of_bin(model.schema.columns[column], level);
    if (number) out[level] = number_text(*number);
  }
  return out;
}

Columns places_of(const NetworkModel& model, const std::vector<std::string>& columns) {
  const std::vector<std::string> names = model.names();
  Columns out;
  for (const std::string& column : columns) {
    const auto at = std::ranges::find(names, column);
    if (at == names.end()) {
      throw BadInput(Field{"columns"},
                     fmt::format("{} is no column of the released tables{}", quoted(column),
                                 did_you_mean(column, names)),
                     "give columns of them");
    }
    out.push_back(static_cast<std::uint32_t>(at - names.begin()));
    if (std::ranges::count(out, out.back()) > 1) {
      throw BadInput(Field{"columns"}, fmt::format("{} is given twice", quoted(column)),
                     "leave one out");
    }
  }
  if (!out.empty()) return out;
  out.resize(names.size());
  std::iota(out.begin(), out.end(), 0U);
  return out;
}

// The chain whose widest table has these columns and tells them best.
Chain best_chain(const Network& network, std::span<const double> noise, const Columns& columns,
                 bool total_is_public) {
  Columns sorted = columns;
  std::ranges::sort(sorted);
  std::optional<Chain> best;
  for (std::size_t node = 0; node < network.size(); ++node) {
    if (!std::ranges::includes(set_of(network, node), sorted)) continue;
    Chain chain = chain_below(network, noise, node, total_is_public);
    if (!best || deviation_of(network, chain, columns) < deviation_of(network, *best, columns)) {
      best = std::move(chain);
    }
  }
  if (!best) {
    throw BadInput(Field{"columns"}, "no table that was counted has all of these columns",
                   "give those of one column and its parents, or release their table");
  }
  return *std::move(best);
}

// Numbers of one deviation from estimates, wholes and counts alike laid out.
std::vector<TableNumber> numbers_of(const Counts& estimates, const Counts& wholes,
                                    const Counts& counts, double deviation,
                                    std::optional<std::uint64_t> rows) {
  std::vector<TableNumber> out;
  const double most = rows ? static_cast<double>(*rows) : std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < estimates.size(); ++i) {
    const CountInterval within = count_interval(estimates[i], deviation, most);
    // + 0.0: no -0.
    out.push_back({estimates[i] + 0.0, deviation, within.lower, within.upper, wholes[i] + 0.0,
                   counts[i] + 0.0});
  }
  return out;
}

// Digits behind the point: none, or so many that half a narrow interval of a count has two.
int decimals_of(double half) {
  constexpr double whole = 2;  // counts are mostly whole numbers
  constexpr int most = 6;
  if (!(half < whole) || half <= 0) return 0;
  return std::min(1 - static_cast<int>(std::floor(std::log10(half))), most);
}

std::string times_text(double number) { return fmt::format("{:.6g}", number); }

}  // namespace

std::vector<std::uint32_t> CrossTable::levels_of(std::size_t cell) const {
  std::vector<std::uint32_t> out(columns.size());
  for (std::size_t c = columns.size(); c-- > 0;) {
    out[c] = static_cast<std::uint32_t>(cell % levels[c].size());
    cell /= levels[c].size();
  }
  return out;
}

CrossTable cross_table(const NetworkModel& model, std::optional<std::uint64_t> rows,
                       const std::vector<std::string>& columns) {
  if (model.tree) {
    throw BadInput(
        Field{"columns"},
        "the network's structure was chosen, and its tables are counted with rare levels "
        "merged: they add up to no cross table",
        "query it, whose answers have a ±, or release a table of these columns");
  }
  if (model.counts.empty()) {
    throw BadInput(Field{"columns"}, "the network's tables were drawn, not counted",
                   format_message("release noisy counts, with {} counts", Field{"mechanism"}));
  }
  const Network& network = model.network;
  const Columns asked = places_of(model, columns);
  const Chain chain = best_chain(network, model.noise, asked, rows.has_value());
  Columns order;  // as asked, along the chain
  for (const std::uint32_t column : chain.order)
    if (std::ranges::find(asked, column) != asked.end()) order.push_back(column);
  const Counts whole_table = estimates_of(model, chain, rows);
  const Grids grids = exact_grids(chain, whole_table);
  const Counts along = summed(network.levels, chain.order, whole_table, order);
  const auto table_of = [&](double step, Split how) {
    const Counts cells = split_down(network.levels, order, along, step, how);
    return summed(network.levels, order, cells, asked);
  };
  const Counts estimates = table_of(grids.estimates, Split::as_it_is),
               wholes = table_of(grids.wholes, Split::as_it_is),
               counts = table_of(grids.wholes, Split::not_negative);
  const auto margin = [&](const Columns& of) {
    const auto sum = [&](const Counts& cells) { return summed(network.levels, asked, cells, of); };
    return numbers_of(sum(estimates), sum(wholes), sum(counts), deviation_of(network, chain, of),
                      rows);
  };
  CrossTable out;
  out.rows = rows;
  if (const Column* const weight = model.schema.weight()) {
    out.weight = weight->name;
    out.unit = weight->hi;
  }
  if (const Column* const person = model.schema.person()) out.person = person->name;
  for (const std::uint32_t column : asked) {
    out.columns.push_back(model.schema.columns[column].name);
    out.levels.push_back(names_of_levels(model, column));
    out.margins.push_back(margin({column}));
  }
  out.cells = margin(asked);
  out.total = margin({}).front();
  return out;
}

bool is_cross_table(const NetworkModel& model) {
  if (model.counts.empty()) return false;
  const Network& network = model.network;
  for (std::size_t node = 0; node < network.size(); ++node)
    if (network.parents[node].size() + 1 == network.size()) return true;
  return false;
}

CrossTable cross_table(const NetworkRelease& release, const std::vector<std::string>& columns) {
  const NetworkCertificate& certificate = release.certificate();
  const bool is_public = certificate.problem.total_is_public(certificate.claimed.who.adjacency);
  CrossTable out = cross_table(
      release.model(), is_public ? std::optional(certificate.problem.rows) : std::nullopt, columns);
  out.rows_of_person = certificate.problem.rows_of_person;
  return out;
}

// The nearest possible count is no farther from any possible one than the estimate is. So of all
// counts in [0, most] none that is within half a width of the estimate is lost.
CountInterval count_interval(double estimate, double deviation, double most) {
  const double half = half_width_deviations * deviation;
  const double possible = std::clamp(estimate, 0.0, most);
  return {std::clamp(possible - half, 0.0, most), std::clamp(possible + half, 0.0, most)};
}

std::string counted_unit(std::uint64_t rows_of_person) {
  return rows_of_person == 0   ? "rows"
         : rows_of_person == 1 ? "people"
                               : fmt::format("rows, at most {} of a person", rows_of_person);
}

std::string unit_of_counts(const CrossTable& table) {
  std::string what = counted_unit(table.rows_of_person);
  if (table.weight.empty()) return what;
  const std::size_t comma = std::min(what.find(','), what.size());
  return fmt::format("{} of {} = {}{}", what.substr(0, comma), shown(table.weight),
                     times_text(table.unit), what.substr(comma));
}

std::string counting_words(const CrossTable& table) {
  const std::uint64_t k = table.rows_of_person;
  std::string out;
  if (!table.weight.empty()) {
    const std::string w = shown(table.weight), unit = times_text(table.unit);
    out = fmt::format(
        "Multiply by {} for the population that {} is of: a count is a sum {} {}, over {}.", unit,
        w, k == 1 ? "over people of the mean" : "of", k == 1 ? w + " of their rows" : w, unit);
  }
  if (k == 0) return out;
  if (!out.empty()) out += ' ';
  const std::string id = shown(table.person);
  if (k == 1) {
    return out + fmt::format(
                     "All rows with one {} count as one together, each as the same part: somebody "
                     "whose rows lie in several cells counts a part in each.",
                     id);
  }
  return out + fmt::format(
                   "All rows with one {} count as at most {} together: of somebody with more, each "
                   "counts as a part.",
                   id, k);
}

std::string count_text(double count, double deviation, double times) {
  std::string out =
      fmt::format("{:.{}f}", count * times, decimals_of(half_width_deviations * deviation * times));
  // No -0.
  if (out.starts_with('-') && out.find_first_of("123456789") == std::string::npos) out.erase(0, 1);
  return out;
}

std::string interval_text(const TableNumber& number, double times) {
  return fmt::format("{} to {}", count_text(number.lower, number.deviation, times),
                     count_text(number.upper, number.deviation, times));
}

TableDeviations cross_table_deviations(const Network& network, std::span<const double> noise,
                                       bool total_is_public) {
  Columns all(network.size());
  std::iota(all.begin(), all.end(), 0U);
  const Chain chain = best_chain(network, noise, all, total_is_public);
  TableDeviations out;
  out.cell = deviation_of(network, chain, all);
  for (const std::uint32_t column : all)
    out.margins.push_back(deviation_of(network, chain, {column}));
  out.total = deviation_of(network, chain, {});
  return out;
}

std::string all_levels(const CrossTable& table) {
  std::string out = "(all)";
  const auto is_level = [&](const std::vector<std::string>& levels) {
    return std::ranges::find(levels, out) != levels.end();
  };
  while (std::ranges::any_of(table.levels, is_level)) out = fmt::format("({})", out);
  return out;
}

}  // namespace gibbsite
