#include "gibbsite/mechanism/network_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/mechanism/noise_law.hpp"
#include "gibbsite/privacy/guarantee.hpp"
#include "mechanism/network_tree.hpp"

namespace gibbsite {
namespace {

// Part of what scores leave that the counts of columns get; found by measurement (10 % and 80 %).
constexpr int one_way_part = 9;

Wide rows_of_a_person(const Neighbors& who) { return who.rows_per_person; }
bool replaces(const Neighbors& who) { return who.adjacency == Adjacency::replace_one; }

// What a vector that moves by `change` costs with that noise, and the noise for that cost.
double tree_mu_up(const Wide& change, double noise) { return round_up(change / Wide(noise)); }
double noise_up(const Wide& change, const Wide& mu) { return round_up(change / mu); }

}  // namespace

StructureLimits tree_limits(std::size_t columns) {
  constexpr std::uint64_t in_all = 4'000'000, least = 20'000, most = 400'000;
  return {.parents = 10,
          .cells = std::clamp(in_all / std::max<std::uint64_t>(columns, 1), least, most)};
}

std::vector<std::array<std::uint32_t, 2>> scored_pairs(const NetworkProblem& problem) {
  std::vector<std::array<std::uint32_t, 2>> out;
  const std::vector<std::uint64_t>& levels = problem.levels;
  for (std::uint32_t a = 0; a < levels.size(); ++a) {
    for (std::uint32_t b = a + 1; b < levels.size(); ++b) {
      if (levels[a] > 1 && levels[b] > 1 && levels[a] * levels[b] <= problem.limits.cells)
        out.push_back({a, b});
    }
  }
  return out;
}

double one_way_change_up(const NetworkProblem& problem, const Neighbors& who) {
  const std::uint64_t all = problem.levels.size();
  // A column of one level counts all rows: a replaced one leaves it as it is, but for its weight.
  const auto changing = static_cast<std::uint64_t>(
      std::ranges::count_if(problem.levels, [](std::uint64_t r) { return r > 1; }));
  const std::uint64_t replaced = std::max(2 * changing, problem.weighted ? all : 2);
  const Wide columns(replaces(who) ? replaced : all);
  return round_up(rows_of_a_person(who) * sqrt(columns));
}

double pair_scores_change_up(const NetworkProblem& problem, const Neighbors& who) {
  const auto pairs = static_cast<std::uint64_t>(scored_pairs(problem).size());
  const Wide of_one = replaces(who) ? Wide(2) : Wide(1);
  return round_up(of_one * rows_of_a_person(who) * sqrt(Wide(pairs)));
}

double pair_score(const std::vector<std::uint64_t>& counts, const std::vector<double>& first,
                  const std::vector<double>& second, double rows, int bits) {
  // Whole numbers of 2^-20: at most 2^58 each, at most 2^60 in all.
  constexpr int fraction_bits = weight_bits;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    for (std::size_t j = 0; j < second.size(); ++j) {
      const double expected = std::clamp(first[i] * second[j] / rows, 0.0, rows);
      const auto less =
          static_cast<std::uint64_t>(std::llround(std::ldexp(expected, fraction_bits)));
      const std::uint64_t more = counts[i * second.size() + j] << (fraction_bits - bits);
      sum += more > less ? more - less : less - more;
    }
  }
  return std::ldexp(static_cast<double>(sum), -fraction_bits);
}

double tree_numbers(const NetworkProblem& problem) {
  double out = 0;
  for (const std::uint64_t levels : problem.levels) out += static_cast<double>(levels);
  for (const auto& [a, b] : scored_pairs(problem))
    out += 1 + static_cast<double>(problem.levels[a]) * static_cast<double>(problem.levels[b]);
  return out;
}

Analysis tables_analysis(const NetworkTree& s, const NetworkProblem& p, const Neighbors& who,
                         std::uint64_t draws) {
  if (!p.chooses_structure()) {
    throw BadInput("parents: a tree's are chosen from the table, and these are given");
  }
  if (draws != 1) {
    throw BadInput(Field{"draws"},
                   "counts are released once, and any number of people are drawn from them",
                   fmt::format("leave it out (got {})", draws));
  }
  require_legal_noise(s.one_way_noise, "one_way_noise");
  std::vector<Guarantee> parts{
      {.mu = tree_mu_up(Wide(one_way_change_up(p, who)), s.one_way_noise), .who = who}};
  double finest = s.one_way_noise;
  if (scored_pairs(p).empty()) {
    if (s.score_noise != 0 || s.noise != 0) {
      throw BadInput("noise: no pair of columns may be counted within the limits; leave it out");
    }
  } else {
    require_legal_noise(s.score_noise, "score_noise");
    require_legal_noise(s.noise, "noise");
    parts.push_back(
        {.mu = tree_mu_up(Wide(pair_scores_change_up(p, who)), s.score_noise), .who = who});
    parts.push_back({.mu = tree_mu_up(table_change(who), s.noise), .who = who});
    finest = std::min({finest, s.score_noise, s.noise});
  }
  Analysis out;
  const double numbers = tree_numbers(p);
  out.noise = noise_cost_up(AnsweredNoise{numbers}, 1);
  out.guarantee = compose_up(parts);
  out.guarantee.epsilon0 = out.noise.epsilon;
  // A score is at most 2 rows and half a row of rounding, and one row moves it by 1 or 2.
  out.guarantee.tv = answers_resolve(2 * static_cast<double>(p.most_weight()) + 1, out.guarantee.mu)
                         ? out.noise.tv
                         : 1.0;
  out.release_grid = answer_grid(finest);
  out.constants = {{"answered_numbers", numbers},
                   {"one_way_change", one_way_change_up(p, who)},
                   {"one_way_mu", parts[0].mu}};
  if (parts.size() > 1) {
    out.constants.push_back({"score_change", pair_scores_change_up(p, who)});
    out.constants.push_back({"score_mu", parts[1].mu});
    out.constants.push_back({"tables_mu", parts[2].mu});
  }
  return out;
}

std::optional<NetworkTree> tree_settings(const NetworkProblem& p, const Neighbors& who, double mu,
                                         double structure_share) {
  const Wide whole = Wide(mu) * Wide(mu);
  NetworkTree out;
  if (scored_pairs(p).empty()) {
    out.one_way_noise = noise_up(Wide(one_way_change_up(p, who)), Wide(mu));
    return is_legal_noise(out.one_way_noise) ? std::optional(out) : std::nullopt;
  }
  const Wide scores = whole * Wide(structure_share), left = whole - scores;
  out.one_way_noise = noise_up(Wide(one_way_change_up(p, who)), sqrt(left / one_way_part));
  out.score_noise = noise_up(Wide(pair_scores_change_up(p, who)), sqrt(scores));
  out.noise = noise_up(table_change(who), sqrt(left - left / one_way_part));
  const bool all = is_legal_noise(out.one_way_noise) && is_legal_noise(out.score_noise) &&
                   is_legal_noise(out.noise);
  return all ? std::optional(out) : std::nullopt;
}

}  // namespace gibbsite
