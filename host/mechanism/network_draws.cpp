#include "mechanism/network_draws.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/mechanism/column_change.hpp"
#include "gibbsite/mechanism/family.hpp"
#include "gibbsite/privacy/conjugate.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "mechanism/candidates.hpp"
#include "privacy/gap_price.hpp"

namespace gibbsite {
namespace {

constexpr double least_table_weight = 1e-6, most_table_scale = 1e9;
constexpr double deepest_table = 2e8;         // 50 digits hold exponents to e^-7e8
constexpr double most_trimmed_share = 0.999;  // of a row's simplex that a trim takes

// Configurations of a node whose structure is given; the most within the limits of one that is not.
std::uint64_t configurations_of(const NetworkProblem& p, std::size_t node) {
  if (p.chooses_structure()) {
    return std::max<std::uint64_t>(1, p.limits.cells / std::max<std::uint64_t>(1, p.levels[node]));
  }
  std::uint64_t out = 1;
  for (const std::uint32_t parent : (*p.parents)[node]) out *= p.levels[parent];
  return out;
}

std::uint64_t most_levels(const NetworkProblem& p) { return *std::ranges::max_element(p.levels); }

// Columns of one level are constant: nothing is drawn.
std::uint64_t telling_nodes(const NetworkProblem& p) {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(p.levels, [](std::uint64_t levels) { return levels > 1; }));
}

// One row of a table of so many levels, cut as the problem says.
FamilyProblem row_of(const NetworkProblem& p, std::uint64_t levels) {
  FamilyProblem out{.family = levels == 2 ? Family::bernoulli : Family::categorical,
                    .rows = p.rows,
                    .levels = levels,
                    .prior = std::vector<double>(levels, 1.0),
                    .trim = {}};
  out.trim = {*p.trim, 0.0};
  return out;
}

// Both ranges of a row: between two levels of it; of one level.
struct RowRange {
  double pair = 0, way = 0;
};
RowRange row_range(const NetworkProblem& p, std::uint64_t levels) {
  if (levels < 2) return {};
  const FamilyProblem row = row_of(p, levels);
  return {record_range_up(row), level_range_up(row)};
}

double table_tv(const NetworkProblem& p, std::uint64_t draws) {
  return round_up(Wide(drawn_numbers(p)) * Wide(draws) * ldexp(Wide(1), -60));
}

void require_numbers(const NetworkProblem& p, std::uint64_t draws) {
  const std::uint64_t numbers = drawn_numbers(p);
  if (numbers > most_drawn_numbers ||
      draws > most_drawn_numbers / std::max<std::uint64_t>(numbers, 1)) {
    throw BadInput(
        Field{"draws"},
        fmt::format("{} of {} numbers each are more than the {} that are drawn in reasonable time",
                    draws, numbers, most_drawn_numbers),
        format_message("take fewer {}, fewer parents or coarser bins, or {} counts", Field{"draws"},
                       Field{"mechanism"}));
  }
}

void require_table_weight(double weight) {
  if (!(weight >= least_table_weight && weight <= 1)) {
    throw BadInput(fmt::format("weight: must be from {} to 1, got {}", least_table_weight, weight));
  }
}

void require_trim(const NetworkProblem& p) {
  if (!p.trim)
    throw BadInput(Field{"trim"}, "is missing", "give the least share that tables are cut to");
  const auto levels = static_cast<double>(most_levels(p));
  if (!(*p.trim > 0 && *p.trim * levels <= most_trimmed_share)) {
    throw BadInput(
        Field{"trim"},
        fmt::format(
            "the least share must be above 0 and at most {:.4g}, for a column has {} levels",
            most_trimmed_share / levels, most_levels(p)),
        fmt::format("got {}", *p.trim));
  }
}

// As of one column: an upper bound, over all tables, on -log of the density at the trim beside the
// largest there is.
void require_table_depth(const NetworkTrimmed& s, const NetworkProblem& p) {
  const double records = s.weight * static_cast<double>(p.rows);
  const double depth =
      -(static_cast<double>(most_levels(p)) * p.prior + records) * std::log(*p.trim);
  if (!(depth <= deepest_table)) {
    throw BadInput(
        Field{"trim"},
        fmt::format("on some table the posterior would lie further outside than can be computed "
                    "(e^-{:.2g}, {:.2g} is the most)",
                    depth, deepest_table),
        "give a smaller trim, or a smaller epsilon");
  }
}

// eta of a node that has parents, and of one that has none.
double node_range(const RowRange& row, bool one_row, Adjacency adjacency) {
  if (adjacency == Adjacency::add_remove) return row.way;
  return one_row ? row.pair : 2 * row.way;
}

Wide eta_of(const NetworkProblem& p, Adjacency adjacency) {
  std::map<std::uint64_t, RowRange> ranges;
  for (const std::uint64_t levels : p.levels) {
    if (!ranges.contains(levels)) ranges[levels] = row_range(p, levels);
  }
  Wide sum = 0, least_saving = 0;
  for (std::size_t i = 0; i < p.levels.size(); ++i) {
    const RowRange& row = ranges[p.levels[i]];
    const bool one_row = !p.chooses_structure() && configurations_of(p, i) == 1;
    sum += Wide(node_range(row, one_row, adjacency));
    // Some column of a structure that is to be chosen has no parents: the one that gains least.
    const Wide saving =
        Wide(node_range(row, false, adjacency)) - Wide(node_range(row, true, adjacency));
    if (i == 0 || saving < least_saving) least_saving = saving;
  }
  return p.chooses_structure() ? sum - least_saving : sum;
}

void require_one_row(const Neighbors& who) {
  if (who.rows_per_person != 1) {
    throw BadInput(Field{"rows_per_person"},
                   fmt::format("the theorem of conjugate tables is for one row a person, got {}",
                               who.rows_per_person),
                   format_message("take {} counts, or give {}", Field{"mechanism"}, Field{"trim"}));
  }
}

// delta of all draws of all tables at that epsilon: nodes times draws independent copies of one
// pair of laws.
double tables_delta(const NetworkConjugate& s, const NetworkProblem& p, Adjacency adjacency,
                    std::uint64_t draws, double epsilon, Digits digits) {
  const std::uint64_t copies = telling_nodes(p) * draws;
  if (copies == 0) return 0;
  const double prior = s.prior_scale * p.prior;
  if (adjacency == Adjacency::add_remove) {
    return copies == 1 ? gamma_pair_delta_up(prior, s.weight, epsilon, digits)
                       : gamma_renyi_delta_up(prior, s.weight, copies, epsilon, digits);
  }
  return copies == 1 ? beta_pair_delta_up(prior, prior, s.weight, 1, epsilon, digits)
                     : beta_renyi_delta_up(prior, prior, s.weight, 1, copies, epsilon, digits);
}

void require_scale(const NetworkConjugate& s) {
  if (!(s.prior_scale >= 1 && s.prior_scale <= most_table_scale)) {
    throw BadInput(
        fmt::format("prior_scale: must be from 1 to {}, got {}", most_table_scale, s.prior_scale));
  }
}

// What the grid and a structure's gap leave of delta.
double delta_left(const NetworkProblem& p, const Budget& budget, double structure_tv) {
  return delta_left_down(budget.delta, budget.epsilon,
                         Wide(table_tv(p, budget.draws)) + Wide(structure_tv));
}

// Largest weight in [least, 1] that keeps, by bisection on a log scale to that relative tolerance;
// 0 where the least does not.
double last_weight(double tolerance, const std::function<bool(double)>& keeps) {
  if (keeps(1)) return 1;
  if (!keeps(least_table_weight)) return 0;
  double good = std::log(least_table_weight), bad = 0;
  while (bad - good > tolerance) {
    const double middle = (good + bad) / 2;
    (keeps(std::exp(middle)) ? good : bad) = middle;
  }
  return std::exp(good);
}

NetworkCandidate no_tables(NetworkMechanism mechanism, Message why) {
  NetworkCandidate out{.mechanism = mechanism};
  out.why = std::move(why);
  return out;
}

// A search in shortcuts, then the claim itself: stepped to the safe side until it holds.
template <class Settings, class Find>
NetworkCandidate found_candidate(const NetworkProblem& p, const Budget& budget, double structure_mu,
                                 double structure_tv, const Find& find) {
  try {
    const double left = delta_left(p, budget, structure_tv);
    if (!(left > 0)) {
      return no_tables(Settings{},
                       format_message("drawing on a grid takes all of delta; ask for a larger {}",
                                      Field{"delta"}));
    }
    double share = 1;
    for (int attempt = 0; attempt < 20; ++attempt, share *= 1 - 1e-3) {
      const Settings settings = find(left * share);
      const Guarantee tables =
          tables_analysis(settings, p, budget.neighbors(), budget.draws).guarantee;
      // One part is not composed: a sum rounded up would be beyond the budget's epsilon.
      const bool alone = !(structure_mu > 0 || structure_tv > 0);
      const std::vector<Guarantee> parts{
          tables, {.mu = structure_mu, .tv = structure_tv, .who = tables.who}};
      if (delta_up(alone ? tables : compose_up(parts), budget.epsilon) <= budget.delta) {
        NetworkCandidate out{.mechanism = settings};
        out.guarantee = tables;
        out.feasible = true;
        return out;
      }
      if (attempt == 0) share = 1 - 1e-9;
    }
    return no_tables(Settings{}, "no settings were found whose claim keeps the budget");
  } catch (const BadInput& error) {
    return no_tables(Settings{}, error.message());
  } catch (const Infeasible& error) {
    return no_tables(Settings{}, error.message());
  }
}

}  // namespace

std::uint64_t drawn_numbers(const NetworkProblem& p) {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < p.levels.size(); ++i) {
    out += configurations_of(p, i) * (p.levels[i] - 1);
  }
  return out;
}

double network_range_up(const NetworkProblem& p, Adjacency adjacency) {
  require_trim(p);
  return round_up(eta_of(p, adjacency));
}

double columns_range_up(const NetworkProblem& p, std::span<const std::uint32_t> columns) {
  require_trim(p);
  const auto changes = [&](std::uint32_t column) {
    return p.levels[column] > 1 && std::ranges::find(columns, column) != columns.end();
  };
  Wide sum = 0;
  for (std::uint32_t i = 0; i < p.levels.size(); ++i) {
    const bool leaves_row = std::ranges::any_of((*p.parents)[i], changes);
    if (!leaves_row && !changes(i)) continue;
    sum += Wide(node_range(row_range(p, p.levels[i]), !leaves_row, Adjacency::replace_one));
  }
  return round_up(sum);
}

Analysis tables_analysis(const NetworkTrimmed& s, const NetworkProblem& p, const Neighbors& who,
                         std::uint64_t draws) {
  require_trim(p);
  require_table_weight(s.weight);
  require_table_depth(s, p);
  require_numbers(p, draws);
  Analysis out;
  const double eta = network_range_up(p, who.adjacency);
  const double range = round_up(Wide(s.weight) * Wide(who.rows_per_person) * Wide(eta));
  const double mu = range > 0 ? draws_mu_up(bounded_range_mu_up(range), draws) : 0;
  out.noise.tv = table_tv(p, draws);
  out.guarantee = {.mu = mu, .tv = out.noise.tv, .who = who};
  out.release_grid = network_draw_grid;
  out.constants.push_back({"record_range", eta});
  return out;
}

Analysis tables_analysis(const NetworkConjugate& s, const NetworkProblem& p, const Neighbors& who,
                         std::uint64_t draws) {
  if (p.trim) {
    throw BadInput(Field{"trim"}, "conjugate tables are not cut",
                   "the mechanism of a trim is trimmed");
  }
  require_one_row(who);
  require_table_weight(s.weight);
  require_scale(s);
  require_finite_positive(s.epsilon, "epsilon");
  require_numbers(p, draws);
  Analysis out;
  out.noise.tv = table_tv(p, draws);
  const double delta = tables_delta(s, p, who.adjacency, draws, s.epsilon, Digits::fifty);
  out.guarantee = {.epsilon0 = s.epsilon, .delta0 = delta, .tv = out.noise.tv, .who = who};
  out.release_grid = network_draw_grid;
  return out;
}

NetworkCandidate tables_candidate(std::type_identity<NetworkTrimmed> /*which*/,
                                  const NetworkProblem& p, const Budget& budget,
                                  double structure_mu, double structure_tv) {
  NetworkCandidate out = found_candidate<NetworkTrimmed>(
      p, budget, structure_mu, structure_tv, [&](double delta) -> NetworkTrimmed {
        const Wide person =
            Wide(budget.rows_per_person) * Wide(network_range_up(p, budget.adjacency));
        if (!(person > 0)) return {};
        const Wide total = gdp_mu_down(budget.epsilon, delta), structure = structure_mu;
        if (!(structure < total)) throw Infeasible("the structure leaves nothing of the budget");
        const double tables = round_down(sqrt(total * total - structure * structure));
        const double each = gdp_split_down(tables, budget.draws);
        const double weight = std::min(1.0, round_down(Wide(bounded_range_down(each)) / person));
        if (!(weight >= least_table_weight)) {
          throw Infeasible(format_message(
              "tables cut to this {} keep the budget with no weight above 1e-6; give a larger {}, "
              "fewer {} or a larger epsilon",
              Field{"trim"}, Field{"trim"}, Field{"draws"}));
        }
        return {.weight = weight};
      });
  if (out.feasible) {
    out.deviation =
        drawn_deviation(p, std::get<NetworkTrimmed>(out.mechanism).weight, 1, budget.draws);
  }
  return out;
}

NetworkCandidate tables_candidate(std::type_identity<NetworkConjugate> /*which*/,
                                  const NetworkProblem& p, const Budget& budget,
                                  double structure_mu, double structure_tv) {
  if (p.chooses_structure() || structure_mu > 0 || structure_tv > 0) {
    return no_tables(NetworkConjugate{}, "conjugate tables are of a structure that is given");
  }
  NetworkConjugate s{.epsilon = budget.epsilon};
  const auto weigh = [&](double delta, double tolerance) {
    s.weight = last_weight(tolerance, [&](double weight) {
      s.weight = weight;
      return tables_delta(s, p, budget.adjacency, budget.draws, s.epsilon, Digits::few) <= delta;
    });
    return s.weight > 0;
  };
  // Strong priors pull, low weights blur: the scale in between that expects least of both. Once a
  // doubling gains less than 0.1 %, all others together gain some percent at most.
  double found = 0;
  const auto find_scale = [&](double delta) {
    double least = std::numeric_limits<double>::infinity();
    const double most = std::min(most_table_scale, most_conjugate_shape / p.prior);
    for (s.prior_scale = 1; s.prior_scale <= most; s.prior_scale *= 2) {
      if (!weigh(delta, 2e-4)) continue;
      const double deviation = drawn_deviation(p, s.weight, s.prior_scale, budget.draws);
      const bool gains = deviation < 0.999 * least;
      if (deviation < least) least = deviation, found = s.prior_scale;
      if (s.weight == 1 || !gains) break;
    }
  };
  NetworkCandidate out =
      found_candidate<NetworkConjugate>(p, budget, 0, 0, [&](double delta) -> NetworkConjugate {
        require_one_row(budget.neighbors());
        if (found == 0) find_scale(delta);
        s.prior_scale = found;
        if (found == 0 || !weigh(delta, 1e-12)) {
          throw Infeasible(format_message(
              "conjugate tables keep the budget with no prior and no weight that can be evaluated; "
              "ask for a larger epsilon or delta, or fewer {}",
              Field{"draws"}));
        }
        return s;
      });
  if (out.feasible) {
    out.deviation = drawn_deviation(p, s.weight, s.prior_scale, budget.draws);
  }
  return out;
}

double drawn_deviation(const NetworkProblem& p, double weight, double prior_scale,
                       std::uint64_t draws) {
  const auto n = static_cast<double>(p.rows);
  double sum = 0, cells = 0;
  for (std::size_t i = 0; i < p.levels.size(); ++i) {
    const auto levels = static_cast<double>(p.levels[i]);
    const auto rows = static_cast<double>(configurations_of(p, i));
    cells += rows * levels;
    if (p.levels[i] < 2) continue;
    const double records = n / rows, prior = levels * prior_scale * p.prior;
    const double total = prior + weight * records, pull = prior / total;
    // Variance of one share of a uniform point of the simplex; the expected t (1 - t) of its pull.
    const double spread = (levels - 1) / (levels * levels * (levels + 1));
    const double mixed = (1 - 1 / levels) / levels - (1 - pull) * (1 - pull) * spread;
    const double drawn = mixed / (total + 1) / static_cast<double>(draws);
    const double noise = records * std::sqrt(drawn) / (1 - pull);
    const double pulled = records * pull * std::sqrt(spread);
    sum += rows * levels * std::hypot(noise, pulled);
  }
  return sum / cells;
}

}  // namespace gibbsite
