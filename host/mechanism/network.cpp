#include "gibbsite/mechanism/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <type_traits>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/floating_point.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/mechanism/kinds.hpp"
#include "gibbsite/mechanism/noise_law.hpp"
#include "gibbsite/privacy/conjugate.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "mechanism/network_draws.hpp"
#include "mechanism/network_tree.hpp"

namespace gibbsite {
namespace {

constexpr std::uint64_t most_rows_of_a_person = 1000;
constexpr double default_structure_share = 0.1;  // of mu^2; found by measurement
constexpr double least_noise = 1e-100, most_noise = 1e100;

void require_who_of_network(const NetworkProblem& p, const Neighbors& who) {
  if (p.of_people() && p.rows_of_person != who.rows_per_person) {
    throw BadInput(fmt::format(
        "rows_of_person: weights hold a person to {} rows, and the guarantee is for {}; give both "
        "the same",
        p.rows_of_person, who.rows_per_person));
  }
  const std::uint64_t most = p.of_people() ? most_rows_of_a_person : p.rows;
  if (who.rows_per_person < 1 || who.rows_per_person > most_rows_of_a_person ||
      who.rows_per_person > most) {
    throw BadInput(Field{"rows_per_person"},
                   fmt::format("must be from 1 to {} and at most the rows, got {}",
                               most_rows_of_a_person, who.rows_per_person));
  }
}

// Whether rows that do not count the same have a guarantee there (docs/theory/row-weights.md).
bool takes_weights(const NetworkMechanism& mechanism, const NetworkProblem& p) {
  return std::holds_alternative<NetworkTree>(mechanism) ||
         (!draws_tables(mechanism) && !p.chooses_structure());
}
constexpr std::string_view no_weights =
    "has no proof for rows that count by weight: draws have another law then, and picks of parents "
    "another bound; take counts of a structure that is given, or tree";

double counts_mu_up(double noise, const Neighbors& who) {
  return round_up(table_change(who) / Wide(noise));
}

// The cost of all picks together.
struct StructureCost {
  double mu = 0, tv = 0, range = 0;
};
StructureCost structure_cost(double score_weight, const NetworkProblem& p, const Neighbors& who) {
  const std::uint64_t picks = picks_of(p);
  if (picks == 0) {
    if (score_weight != 0) {
      throw BadInput(
          "score_weight: is of a structure that is chosen from the table, and this one is given; "
          "leave it out");
    }
    return {};
  }
  p.require_few_candidates();
  require_finite_positive(score_weight, "score_weight");
  StructureCost out;
  out.range = round_up(2 * Wide(score_weight) * Wide(score_change_up(p, who)));
  require_finite_positive(out.range, "score_weight");
  out.mu = round_up(Wide(bounded_range_mu_up(out.range)) * sqrt(Wide(picks)));
  out.tv = round_up(Wide(picks) * Wide(pick_tv));
  return out;
}

double structure_tv(const NetworkProblem& p) { return round_up(Wide(picks_of(p)) * Wide(pick_tv)); }

// b whose picks together cost that mu at most; 0 where there is no pick.
double score_weight_down(double mu, const NetworkProblem& p, const Neighbors& who) {
  const std::uint64_t picks = picks_of(p);
  if (picks == 0) return 0;
  const double range = bounded_range_down(gdp_split_down(mu, picks));
  double b = round_down(Wide(range) / (2 * Wide(score_change_up(p, who))));
  while (b > 0 && !(structure_cost(b, p, who).mu <= mu)) b *= 1 - 1e-15;
  return b;
}

double numbers_answered(const NetworkProblem& p) { return static_cast<double>(p.most_cells()); }

Analysis tables_analysis(const NetworkCounts& s, const NetworkProblem& p, const Neighbors& who,
                         std::uint64_t draws) {
  if (draws != 1) {
    throw BadInput(Field{"draws"},
                   "counts are released once, and any number of people are drawn from them",
                   fmt::format("leave it out (got {})", draws));
  }
  require_legal_noise(s.noise, "noise");
  Analysis out;
  const double numbers = numbers_answered(p), mu = counts_mu_up(s.noise, who);
  out.noise = noise_cost_up(AnsweredNoise{numbers}, 1);
  out.guarantee = {mu, out.noise.epsilon, 0,
                   answers_resolve(static_cast<double>(p.most_weight()), mu) ? out.noise.tv : 1.0,
                   who};
  // The finest of all tables: the one with the most cells has the least noise, at least that.
  out.release_grid = answer_grid(s.noise);
  out.constants = {{"answered_numbers", numbers}};
  return out;
}

bool keeps(const Guarantee& guarantee, const Budget& budget) {
  return delta_up(guarantee, budget.epsilon) <= budget.delta;
}

// The largest mu that keeps the budget beside that pure part and that tv, rounded down; 0 where
// there is none.
double mu_beside(const Budget& budget, double epsilon0, double tv) {
  const double epsilon = round_down(Wide(budget.epsilon) - Wide(epsilon0));
  if (!(epsilon > 0)) return 0;
  const Neighbors who = budget.neighbors();
  double high = gdp_mu_down(epsilon, budget.delta);
  const auto kept = [&](double mu) { return keeps({mu, epsilon0, 0, tv, who}, budget); };
  if (kept(high)) return high;
  double low = high;
  for (int i = 0; i < 60 && !kept(low); ++i) {
    high = low;
    low *= i < 20 ? 1 - std::ldexp(1e-9, i) : 0.5;
  }
  if (!kept(low)) return 0;
  for (int i = 0; i < 40; ++i) {
    const double middle = low + (high - low) / 2;
    (kept(middle) ? low : high) = middle;
  }
  return low;
}

double tables_part_down(double mu, double structure_mu) {
  return round_down(sqrt(Wide(mu) * Wide(mu) - Wide(structure_mu) * Wide(structure_mu)));
}

double share_of(const NetworkProblem& p, const NetworkWishes& plan_options) {
  return picks_of(p) == 0 ? 0 : plan_options.structure_share.value_or(default_structure_share);
}

double counts_deviation(double noise, const NetworkProblem& p) {
  if (p.chooses_structure()) {  // tables alike
    return noise * std::sqrt(static_cast<double>(p.levels.size()));
  }
  const Network network = p.network();
  const std::vector<double> deviations = table_deviations(noise, network);
  double sum = 0;
  for (std::size_t i = 0; i < network.size(); ++i) {
    sum += static_cast<double>(network.cells(i)) * deviations[i];
  }
  return sum / numbers_answered(p);
}

constexpr std::string_view nothing_left =
    "choosing the structure and computing noise in double leave nothing of the budget; ask for a "
    "larger epsilon or delta";

NetworkCandidate candidate_of(std::type_identity<NetworkCounts> /*which*/, const NetworkProblem& p,
                              const Budget& budget, const NetworkWishes& plan_options) {
  const Neighbors who = budget.neighbors();
  NetworkCandidate out{.mechanism = NetworkCounts{}};
  if (budget.draws != 1) {
    out.why = format_message(
        "releases one set of tables, and any number of people are drawn from it; leave out {}",
        Field{"draws"});
    return out;
  }
  const NoiseCost noise = noise_cost_up(AnsweredNoise{numbers_answered(p)}, 1);
  const double tv = round_up(Wide(noise.tv) + Wide(structure_tv(p)));
  const double whole = mu_beside(budget, noise.epsilon, tv);
  out.why = nothing_left;
  if (!(whole > 0)) return out;
  NetworkCounts s;
  double step = 1;
  for (int attempt = 0; attempt < 20; ++attempt) {  // to the safe side until the claim holds
    const double mu = whole * step;
    const double chosen = round_down(Wide(mu) * sqrt(Wide(share_of(p, plan_options))));
    s.score_weight = chosen > 0 ? score_weight_down(chosen, p, who) : 0;
    if (picks_of(p) > 0 && !(s.score_weight > 0)) return out;
    s.noise = round_up(table_change(who) / Wide(tables_part_down(mu, chosen)));
    if (!is_legal_noise(s.noise)) return out;
    out.mechanism = s;
    out.guarantee = analyze(out.mechanism, p, who, 1).guarantee;
    if (keeps(out.guarantee, budget)) break;
    step = attempt == 0 ? 1 - 1e-12 : 1 - std::ldexp(1e-12, 2 * attempt);
  }
  if (!keeps(out.guarantee, budget)) {
    out.why =
        "computing noise in double takes more than the budget has; ask for a larger delta or "
        "fewer "
        "rows";
    return out;
  }
  out.deviation = counts_deviation(s.noise, p);
  out.feasible = true;
  out.why = "every table counted once with Gaussian noise: nothing is cut off and no prior pulls";
  return out;
}

template <class Drawn>
NetworkCandidate candidate_of(std::type_identity<Drawn> which, const NetworkProblem& p,
                              const Budget& budget, const NetworkWishes& plan_options) {
  const Neighbors who = budget.neighbors();
  NetworkCandidate out{.mechanism = Drawn{}};
  if (p.chooses_structure() && std::is_same_v<Drawn, NetworkConjugate>) {
    out.why = format_message(
        "takes a structure that is given; write [network] in the schema, or use {} counts",
        Field{"mechanism"});
    return out;
  }
  const double tv = structure_tv(p);
  const double whole = mu_beside(budget, 0, tv);
  double chosen = 0, weight = 0;
  if (picks_of(p) > 0) {
    chosen = round_down(Wide(whole) * sqrt(Wide(share_of(p, plan_options))));
    weight = chosen > 0 ? score_weight_down(chosen, p, who) : 0;
    out.why = nothing_left;
    if (!(weight > 0)) return out;
  }
  out = tables_candidate(which, p, budget, chosen, tv);
  if (!out.feasible) return out;
  if constexpr (requires(Drawn s) { s.score_weight; }) {
    std::get<Drawn>(out.mechanism).score_weight = weight;
  }
  out.why = std::is_same_v<Drawn, NetworkTrimmed>
                ? "random draws of all tables, shares cut to a public least one"
                : "random draws of all tables under a strong prior";
  out.guarantee = analyze(out.mechanism, p, who, budget.draws).guarantee;
  if (!keeps(out.guarantee, budget)) {
    out.feasible = false;
    out.why = "rounding takes more than the budget has; ask for a larger delta";
  }
  return out;
}

NetworkCandidate candidate_of(std::type_identity<NetworkTree> /*which*/, const NetworkProblem& p,
                              const Budget& budget, const NetworkWishes& plan_options) {
  const Neighbors who = budget.neighbors();
  NetworkCandidate out{.mechanism = NetworkTree{}};
  if (!p.chooses_structure()) {
    out.why = format_message(
        "chooses its tables from the table, and the structure is given; give "
        "{} private",
        Field{"structure"});
    return out;
  }
  if (budget.draws != 1) {
    out.why = format_message(
        "releases one model, and any number of people are drawn from it; leave out {}",
        Field{"draws"});
    return out;
  }
  const NoiseCost noise = noise_cost_up(AnsweredNoise{tree_numbers(p)}, 1);
  const double whole = mu_beside(budget, noise.epsilon, noise.tv);
  out.why = nothing_left;
  if (!(whole > 0)) return out;
  const double share = plan_options.structure_share.value_or(default_structure_share);
  double step = 1;
  for (int attempt = 0; attempt < 20; ++attempt) {  // to the safe side until the claim holds
    const auto settings = tree_settings(p, who, whole * step, share);
    if (!settings) return out;
    out.mechanism = *settings;
    out.guarantee = analyze(out.mechanism, p, who, 1).guarantee;
    out.feasible = keeps(out.guarantee, budget);
    if (out.feasible) break;
    step = attempt == 0 ? 1 - 1e-12 : 1 - std::ldexp(1e-12, 2 * attempt);
  }
  if (!out.feasible) return out;
  const auto& s = std::get<NetworkTree>(out.mechanism);
  // As many tables alike as a tree of pairs has.
  out.deviation =
      s.noise > 0 ? s.noise * std::sqrt(static_cast<double>(p.levels.size())) : s.one_way_noise;
  out.why = "one graphical model for noisy counts of the tables that noisy scores choose";
  return out;
}

// The place of that name in the variant; none for auto.
std::optional<std::size_t> wished(const std::string& name) {
  const std::vector<std::string_view> names = kind_names<NetworkMechanism>();
  constexpr std::string_view prefix = "network-";
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (name == names[i] || name == names[i].substr(prefix.size())) return i;
  }
  if (name == "auto") return {};
  throw BadInput(format_message("{}: '", Field{"mechanism"}) + name +
                 "' is none of a network's; give auto, counts, trimmed, conjugate or tree");
}

}  // namespace

Wide table_change(const Neighbors& who) {
  const Wide k = who.rows_per_person;
  return who.adjacency == Adjacency::replace_one ? Wide(k * sqrt(Wide(2))) : k;
}

bool is_legal_noise(double noise) { return noise >= least_noise && noise <= most_noise; }

void require_legal_noise(double noise, std::string_view name) {
  if (is_legal_noise(noise)) return;
  throw BadInput(
      fmt::format("{}: must be from {} to {}, got {}", name, least_noise, most_noise, noise));
}

std::uint64_t picks_of(const NetworkProblem& problem) {
  return problem.chooses_structure() ? problem.levels.size() - 1 : 0;
}

std::string_view name_of(const NetworkMechanism& mechanism) {
  return std::visit([](const auto& m) { return std::decay_t<decltype(m)>::name; }, mechanism);
}

std::string_view theorem_of(const NetworkMechanism& mechanism) {
  return std::visit([](const auto& m) { return std::decay_t<decltype(m)>::theorem; }, mechanism);
}

bool draws_tables(const NetworkMechanism& mechanism) {
  return std::visit([]<class M>(const M&) { return M::draws_tables; }, mechanism);
}

double score_weight_of(const NetworkMechanism& mechanism) {
  return std::visit(
      [](const auto& m) {
        if constexpr (requires { m.score_weight; }) {
          return m.score_weight;
        } else {
          return 0.0;
        }
      },
      mechanism);
}

std::vector<double> table_deviations(double noise, const Network& network) {
  std::vector<std::uint64_t> cells;
  for (std::size_t i = 0; i < network.size(); ++i) cells.push_back(network.cells(i));
  return table_deviations(noise, cells);
}

std::vector<double> table_deviations(double noise, std::span<const std::uint64_t> cells) {
  require_finite_positive(noise, "noise");
  const Wide third = Wide(1) / 3;
  std::vector<Wide> roots;
  Wide sum = 0;
  for (const std::uint64_t of : cells) {
    roots.push_back(pow(Wide(of), third));
    sum += roots.back() * roots.back();
  }
  std::vector<double> out;
  const Wide scale = Wide(noise) * sqrt(sum);
  for (const Wide& root : roots) out.push_back(round_up(scale / root));
  return out;
}

std::vector<double> table_deviations(const NetworkCandidate& candidate, const Network& network) {
  const auto* const counts = std::get_if<NetworkCounts>(&candidate.mechanism);
  return counts == nullptr ? std::vector<double>(network.size(), candidate.deviation)
                           : table_deviations(counts->noise, network);
}

double score_change_up(const NetworkProblem& /*problem*/, const Neighbors& who) {
  const double of_one = who.adjacency == Adjacency::replace_one ? 6 : 4;
  return of_one * static_cast<double>(who.rows_per_person);  // exact
}

double cell_penalty(const NetworkMechanism& mechanism, const NetworkProblem& problem) {
  constexpr double mean_of_absolute = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;  // of N(0,1)
  constexpr double part = 0.25;  // found by measurement: most noise is taken out again
  const auto K = static_cast<double>(problem.levels.size());
  if (const auto* const counts = std::get_if<NetworkCounts>(&mechanism)) {
    return part * mean_of_absolute * counts->noise * std::sqrt(K);
  }
  // A draw's, of records that lie evenly over the largest table.
  const auto* const trimmed = std::get_if<NetworkTrimmed>(&mechanism);
  const double weight = trimmed == nullptr ? 1 : trimmed->weight;
  const double records =
      static_cast<double>(problem.rows) / static_cast<double>(problem.limits.cells);
  return part * mean_of_absolute * std::sqrt(records / weight);
}

Analysis analyze(const NetworkMechanism& mechanism, const NetworkProblem& problem,
                 const Neighbors& who, std::uint64_t draws) {
  problem.validate();
  require_who_of_network(problem, who);
  if (problem.weighted && !takes_weights(mechanism, problem))
    throw BadInput(fmt::format("mechanism: {} {}", name_of(mechanism), no_weights));
  if (problem.chooses_structure() && std::holds_alternative<NetworkConjugate>(mechanism)) {
    throw BadInput("parents: conjugate tables take a structure that is given");
  }
  if (const auto* const tree = std::get_if<NetworkTree>(&mechanism))
    return tables_analysis(*tree, problem, who, draws);
  const StructureCost chosen = structure_cost(score_weight_of(mechanism), problem, who);
  Analysis out =
      std::visit([&](const auto& s) { return tables_analysis(s, problem, who, draws); }, mechanism);
  if (picks_of(problem) == 0) return out;
  out.constants.push_back({"score_change", score_change_up(problem, who)});
  out.constants.push_back({"pick_range", chosen.range});
  out.constants.push_back({"structure_mu", chosen.mu});
  out.constants.push_back({"structure_tv", chosen.tv});
  out.constants.push_back({"tables_mu", out.guarantee.mu});
  out.guarantee = compose_up(
      std::array{Guarantee{.mu = chosen.mu, .tv = chosen.tv, .who = who}, out.guarantee});
  return out;
}

std::string basis_of(const NetworkMechanism& mechanism, const NetworkProblem& problem) {
  std::string out;
  if (const auto* const tree = std::get_if<NetworkTree>(&mechanism)) {
    const std::size_t pairs = scored_pairs(problem).size();
    out = fmt::format("It rests on Gaussian noise in the counts of each of {} columns",
                      problem.levels.size());
    if (tree->noise > 0) {
      out += fmt::format(
          ", in scores of {} pairs of them, and in every count of the tables that these choose; "
          "one model is fitted to all",
          pairs);
    }
    return out;
  }
  if (!draws_tables(mechanism)) {
    out = fmt::format(
        "It rests on Gaussian noise in every count of {} tables, one for each column beside its "
        "parents",
        problem.levels.size());
  } else {
    const double weight = std::visit(
        [](const auto& m) -> double {
          if constexpr (requires { m.weight; }) return m.weight;
          return 1;
        },
        mechanism);
    out = fmt::format(
        "It rests on random draws of {} tables given the rows, {}{}", problem.levels.size(),
        std::holds_alternative<NetworkTrimmed>(mechanism) ? "shares cut to a public least one, "
                                                          : "",
        weight == 1 ? "every row whole" : fmt::format("every row at {:.3g} of its weight", weight));
  }
  if (picks_of(problem) > 0) {
    out +=
        fmt::format(", and on {} random picks of parents by how much they tell", picks_of(problem));
  }
  return out;
}

NetworkPlan plan_network(const NetworkProblem& problem, const Budget& budget,
                         const NetworkWishes& plan_options) {
  const StandardArithmetic arithmetic;
  problem.validate();
  budget.validate();
  require_who_of_network(problem, budget.neighbors());
  if (plan_options.structure_share) {
    require_between(*plan_options.structure_share, 0, 1, Field{"structure_share"});
    if (!problem.chooses_structure()) {
      throw BadInput(Field{"structure_share"},
                     "is of a structure chosen from the table, and this one is given",
                     "leave it out");
    }
  }
  const std::optional<std::size_t> only = wished(plan_options.mechanism);
  NetworkPlan out{problem, budget, {}, 0};
  const auto candidate = [&]<class M>(std::type_identity<M> which) {
    NetworkCandidate one{.mechanism = M{}};
    one.why = "was not asked for";
    constexpr bool is_tree = std::is_same_v<M, NetworkTree>;
    bool asked = only ? *only == out.candidates.size() : is_tree == problem.chooses_structure();
    if (std::is_same_v<M, NetworkTrimmed> && !only && !problem.trim && problem.parents) {
      asked = false;
      one.why = format_message(
          "draws of tables whose shares are cut to a least one; to have them give {}",
          Field{"trim"});
    }
    if (asked && problem.weighted && !takes_weights(one.mechanism, problem)) {
      asked = false;
      one.why = no_weights;
    }
    if (asked && !is_tree && !problem.never.empty()) {
      asked = false;
      one.why = format_message(
          "does not know what the schema says is never; leave it out, or use {} tree",
          Field{"mechanism"});
    }
    out.candidates.push_back(asked ? candidate_of(which, problem, budget, plan_options) : one);
  };
  candidate(std::type_identity<NetworkCounts>{});
  candidate(std::type_identity<NetworkTrimmed>{});
  candidate(std::type_identity<NetworkConjugate>{});
  if (problem.chooses_structure() || only == std::size_t{3})
    candidate(std::type_identity<NetworkTree>{});
  if (only) {
    out.chosen = *only;
  } else if (problem.chooses_structure()) {
    out.chosen = out.candidates.size() - 1;
  } else {
    for (std::size_t i = 1; i < out.candidates.size(); ++i) {
      const NetworkCandidate &one = out.candidates[i], &best = out.candidates[out.chosen];
      if (one.feasible && (!best.feasible || one.deviation < best.deviation)) out.chosen = i;
    }
  }
  if (!out.candidate().feasible) {
    throw Infeasible(
        format_message("{} {}", Field{"mechanism"}, name_of(out.candidate().mechanism)),
        out.candidate().why);
  }
  return out;
}

}  // namespace gibbsite
