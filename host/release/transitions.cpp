#include "gibbsite/release/transitions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/release/cross_table.hpp"

namespace gibbsite {
namespace {

using Numbers = std::vector<double>;

// A count of transitions i -> j beside all from i, and how sure noise leaves them.
struct Counted {
  double to = 0, others = 0;              // not negative
  double variance = 0, row_variance = 0;  // of the cell and of the row's sum
  double levels = 1, rows_alike = 1;

  // Whether q may be the probability. With T = x(1 - q) - y q, of mean 0 there, noise has variance
  // v - 2 q w/K + q^2 w and the sample r n q(1 - q), n = x + y a deviation further; its skew and
  // its steps add up to r/2 + r |1 - 2q| (z^2 - 1)/6 (Cornish and Fisher 1938).
  [[nodiscard]] bool allows(double q, double z = half_width_deviations) const {
    const double skew = (z * z - 1) / 6;
    const double noise = variance - 2 * q * row_variance / levels + q * q * row_variance;
    const double sample = rows_alike * (to + others + std::sqrt(row_variance)) * q * (1 - q);
    const double both = std::max(noise, 0.0) + sample;
    const double uneven =
        sample > 0 ? rows_alike * sample / both * (0.5 + skew * std::abs(1 - 2 * q)) : 0;
    return std::abs(to * (1 - q) - others * q) <= z * std::sqrt(both) + uneven;
  }

  // The end of what is allowed between `inside` and `end`, on the far side of the rounding.
  [[nodiscard]] double last_allowed(double inside, double end) const {
    if (allows(end)) return end;
    for (int step = 0; step < 60; ++step) {
      const double middle = std::midpoint(inside, end);
      (allows(middle) ? inside : end) = middle;
    }
    return end;
  }
};

// The share that `shares` says with all that its counts allow.
ShareEstimate estimate_of(const Counted& counted, double share) {
  const double all = counted.to + counted.others;
  const double inside = all > 0 ? counted.to / all : share;
  return {share, std::min(share, counted.last_allowed(inside, 0)),
          std::max(share, counted.last_allowed(inside, 1))};
}

// The row between `low` and `high` with the largest sum of p h; `by_h` has its columns by h, the
// largest first.
void best_row(std::span<const double> low, std::span<const double> high,
              const std::vector<std::size_t>& by_h, std::span<double> row) {
  std::ranges::copy(low, row.begin());
  double left = 1 - std::accumulate(low.begin(), low.end(), 0.0);
  for (const std::size_t j : by_h) {
    const double more = std::clamp(left, 0.0, std::max(high[j] - low[j], 0.0));
    row[j] += more;
    left -= more;
  }
}

// h = stay r + (1 - stay) P h by elimination: rows of I - (1 - stay) P are dominated by their
// diagonals, so no pivot is needed. O(K^3).
Numbers discounted(const Numbers& p, std::size_t k, Numbers h, double stay) {
  Numbers a(k * k);
  for (std::size_t i = 0; i < k * k; ++i) a[i] = (i % (k + 1) == 0 ? 1.0 : 0.0) - (1 - stay) * p[i];
  for (double& one : h) one *= stay;
  for (std::size_t c = 0; c < k; ++c) {
    for (std::size_t r = c + 1; r < k; ++r) {
      const double factor = a[r * k + c] / a[c * k + c];
      if (factor == 0) continue;
      for (std::size_t j = c; j < k; ++j) a[r * k + j] -= factor * a[c * k + j];
      h[r] -= factor * h[c];
    }
  }
  for (std::size_t c = k; c-- > 0;) {
    for (std::size_t j = c + 1; j < k; ++j) h[c] -= a[c * k + j] * h[j];
    h[c] /= a[c * k + c];
  }
  return h;
}

// A chain that is discounted so has one long run, whatever parts its matrix falls into.
constexpr double restart = 1e-8;

// Upper bound of the long-run mean of `reward` in [0, 1] over matrices in the bounds and starts.
// Howard's policy iteration finds the best matrix. For every h the mean of a matrix is at most the
// largest reward + (P h - h)/restart, as the long-run mean of P h - h is 0: each round bounds it.
double largest_mean(const Numbers& low, const Numbers& high, std::size_t k, const Numbers& reward) {
  constexpr int most_rounds = 100;
  constexpr double tolerance = 1e-7;
  Numbers h = reward, p(k * k);
  std::vector<std::size_t> by_h(k);
  double bound = 1;
  for (int round = 0; round < most_rounds; ++round) {
    std::iota(by_h.begin(), by_h.end(), std::size_t{0});
    std::ranges::stable_sort(by_h, [&](std::size_t a, std::size_t b) { return h[a] > h[b]; });
    double largest = 0;
    for (std::size_t i = 0; i < k; ++i) {
      const auto row = std::span(p).subspan(i * k, k);
      best_row(std::span(low).subspan(i * k, k), std::span(high).subspan(i * k, k), by_h, row);
      const double next = std::inner_product(row.begin(), row.end(), h.begin(), 0.0);
      largest = std::max(largest, reward[i] + (next - h[i]) / restart);
    }
    bound = std::min(bound, largest);
    h = discounted(p, k, reward, restart);
    if (bound <= std::ranges::max(h) + tolerance) break;
  }
  return bound;
}

// Shares of time in the long run from an even start.
Numbers long_run(const Numbers& p, std::size_t k) {
  Numbers out(k);
  for (std::size_t state = 0; state < k; ++state) {
    Numbers reward(k, 0.0);
    reward[state] = 1;
    const Numbers from = discounted(p, k, reward, restart);
    out[state] = std::accumulate(from.begin(), from.end(), 0.0) / static_cast<double>(k);
    if (out[state] < 1e-6) out[state] = 0;  // that of a restart
  }
  const double sum = std::accumulate(out.begin(), out.end(), 0.0);
  for (double& one : out) one /= sum;
  return out;
}

// An interval for the long run. Where states are never left, several probabilities are 0 or 1 at
// once: all K^2 tests of these together fail 2.5 % of the time, as P(normal > z) <= exp(-z^2/2)/2.
ShareEstimate with_ends(const Counted& counted, ShareEstimate of) {
  const double z = std::sqrt(2 * std::log(20 * counted.levels * counted.levels));
  if (counted.allows(0, z)) of.low = 0;
  if (counted.allows(1, z)) of.high = 1;
  return of;
}

// `within` [K x K] are the intervals of `matrix` for the long run.
std::vector<ShareEstimate> stationary_of(const std::vector<ShareEstimate>& matrix,
                                         const std::vector<ShareEstimate>& within, std::size_t k) {
  if (k > most_stationary_states) return {};
  Numbers value, low, high;
  for (std::size_t cell = 0; cell < matrix.size(); ++cell) {
    value.push_back(matrix[cell].value);
    low.push_back(within[cell].low);
    high.push_back(within[cell].high);
  }
  const Numbers shares = long_run(value, k);
  std::vector<ShareEstimate> out;
  for (std::size_t state = 0; state < k; ++state) {
    const LongRunRange range = long_run_range(low, high, k, state);
    out.push_back(
        {shares[state], std::min(range.low, shares[state]), std::max(range.high, shares[state])});
  }
  return out;
}

}  // namespace

LongRunRange long_run_range(const Numbers& low, const Numbers& high, std::size_t states,
                            std::size_t state) {
  Numbers there(states, 0.0), elsewhere(states, 1.0);
  there[state] = 1, elsewhere[state] = 0;
  return {std::max(1 - largest_mean(low, high, states, elsewhere), 0.0),
          largest_mean(low, high, states, there)};
}

void require_states(const Schema& columns) {
  if (node_columns(columns).size() != 2)
    throw BadInput(Field{"columns"}, "transitions are of two columns",
                   "give the column of the state before, and that of the state after");
  const std::vector<std::string> before = network_level_names(columns, 0),
                                 after = network_level_names(columns, 1);
  if (before == after) return;
  const std::size_t common = std::min(before.size(), after.size());
  std::size_t at = 0;
  while (at < common && before[at] == after[at]) ++at;
  const auto level = [at](const std::vector<std::string>& of) {
    return at < of.size() ? gibbsite::quoted(of[at]) : std::string("none");
  };
  throw BadInput(Field{"columns"},
                 fmt::format("level {} of {} is {} and of {} {}", at + 1,
                             gibbsite::quoted(columns.columns[0].name), level(before),
                             gibbsite::quoted(columns.columns[1].name), level(after)),
                 "states before and after are the same: give both columns the same levels, in the "
                 "same order, in the schema");
}

bool has_transitions(const NetworkModel& model) {
  const Network& network = model.network;
  return network.size() == 2 && network.parents[0].empty() &&
         network.parents[1] == std::vector<std::uint32_t>{0} && !model.counts.empty() &&
         model.level_names(0) == model.level_names(1);
}

Transitions transitions(const NetworkModel& model, std::optional<std::uint64_t> rows,
                        std::uint64_t rows_per_person) {
  if (!has_transitions(model))
    throw BadInput(
        "model: has no transitions, which are counted of two columns with the same levels; give a "
        "release of them");
  const CrossTable table = cross_table(model, rows);
  const std::size_t k = table.levels[0].size();
  Transitions out{table.columns[0], table.columns[1], table.levels[0], {}};
  std::vector<ShareEstimate> within;
  for (std::size_t cell = 0; cell < k * k; ++cell) {
    const TableNumber &to = table.cells[cell], &all = table.margins[0][cell / k];
    const Counted counted{.to = std::max(to.estimate, 0.0),
                          .others = std::max(all.estimate - to.estimate, 0.0),
                          .variance = to.deviation * to.deviation,
                          .row_variance = all.deviation * all.deviation,
                          .levels = static_cast<double>(k),
                          .rows_alike = static_cast<double>(rows_per_person)};
    out.matrix.push_back(estimate_of(counted, model.tables[0][1][cell]));
    within.push_back(with_ends(counted, out.matrix.back()));
  }
  out.stationary = stationary_of(out.matrix, within, k);
  return out;
}

Transitions transitions(const NetworkRelease& release) {
  const NetworkCertificate& of = release.certificate();
  const bool is_public = of.problem.total_is_public(of.claimed.who.adjacency);
  return transitions(release.model(), is_public ? std::optional(of.problem.rows) : std::nullopt,
                     of.claimed.who.rows_per_person);
}

}  // namespace gibbsite
