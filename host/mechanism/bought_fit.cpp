#include "gibbsite/mechanism/bought_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/family_problem.hpp"
#include "gibbsite/core/floating_point.hpp"
#include "gibbsite/core/network.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/mechanism/network_tree.hpp"
#include "gibbsite/mechanism/noise_law.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "mechanism/schema_settings.hpp"
#include "mechanism/whitened_losses.hpp"

namespace gibbsite {
namespace {

constexpr double least_share = .1, most_share = .2;
// A bin with this part of the rows stands so many deviations above the noise.
constexpr double seen_part = .05, seen_above = 4.5;
// Numbers of a whitened fit of K outputs: two second moments of d (d + 1)/2, one start of K d, and
// of at most 40 gradients K d + 1 each (mechanism/whitened.hpp). With intervals also the block of
// K d, the scores' moments, and the information in a block for each pair of classes.
constexpr double most_gradients = 40;

// Draws ask about one column: a share of 3 % sees a level of as many percent of 10,000 rows.
constexpr double least_draws_share = .03;
// Parts of delta where draws are (epsilon, delta)-private: theirs, and that of the schema's answers
// beside the threshold.
constexpr double draws_delta = .5, answers_delta = .485;

// The share of mu^2 at which a bin of seen_part stands seen_above deviations above the noise.
double seen_share(const SchemaProblem& problem, const Budget& budget) {
  const double mu = gdp_mu_down(budget.epsilon, .99 * budget.delta);
  const double k = static_cast<double>(budget.rows_per_person);
  const double part = seen_above * k / (seen_part * static_cast<double>(problem.rows) * mu);
  const double moved = budget.adjacency == Adjacency::replace_one ? 2 : 1;  // counts a column
  return part * part * moved * static_cast<double>(problem.columns) /
         (schema_bins_share * (1 - schema_refine_share));
}

// The least epsilon at which a mu has that delta, rounded up.
double epsilon_of_mu_up(double mu, double delta, double most) {
  double low = 0, high = most;
  for (int i = 0; i < 60; ++i) {
    const double middle = low + (high - low) / 2;
    (gdp_delta_up(middle, mu) > delta ? low : high) = middle;
  }
  return high;
}

// The noise of a smaller share is beyond double precision.
constexpr double least_legal_share = 1e-12;
void require_share(const std::optional<double>& share) {
  if (!share) return;
  require_between(*share, 0, 1, Field{"schema_share"});
  if (*share >= least_legal_share) return;
  throw BadInput(Field{"schema_share"},
                 fmt::format("is {}, and nothing is seen for so little", *share),
                 "leave it out, or give a part such as 0.1");
}

[[noreturn]] void refuse_both(const Budget& budget) {
  throw Infeasible(format_message("{} {}, {} {}", Field{"epsilon"}, budget.epsilon, Field{"delta"},
                                  budget.delta),
                   "no noise in double precision keeps a schema and a fit to that",
                   budget.epsilon > 20 ? "ask for a smaller epsilon, or a larger delta"
                                       : "ask for a larger epsilon or delta");
}

// A plan before its budget is split: its questions and its fit are still to be set.
BoughtFitPlan unsplit(const SchemaProblem& problem, const Budget& budget, double share,
                      double most_tv) {
  return {.problem = problem,
          .budget = budget,
          .share = share,
          .questions = {},
          .fit = budget,
          .most_tv = most_tv};
}

// Both by mu: the threshold stands z deviations high, and the fit's computed noise costs at most
// `noise`.
BoughtFitPlan split_by_mu(BoughtFitPlan out, double z, const NoiseCost& noise) {
  const SchemaProblem& problem = out.problem;
  const Budget& budget = out.budget;
  const Neighbors who = budget.neighbors();
  const NoiseCost own = schema_noise_up(problem, who);
  const double epsilon = round_down(Wide(budget.epsilon) - Wide(noise.epsilon) - Wide(own.epsilon));
  const double delta = round_down(Wide(budget.delta) * (1 - Wide(schema_threshold_share)));
  const double whole = epsilon > 0 ? gdp_mu_down(epsilon, delta) : 0;
  double step = 1;
  for (int attempt = 0; attempt < 20 && whole > 0; ++attempt) {  // until the claim holds
    const double mu = whole * step;
    step = attempt == 0 ? 1 - 1e-12 : 1 - std::ldexp(1e-12, 2 * attempt);
    const double of_schema = round_down(Wide(mu) * sqrt(Wide(out.share)));
    const double of_fit = round_down(Wide(mu) * sqrt(1 - Wide(out.share)));
    out.questions = schema_settings_at(of_schema, z, problem, who);
    const Analysis schema = analyze(SchemaMechanism(out.questions), problem, who, 1);
    // The fit's settings cost at most the mu of its budget, whatever its noise takes of it.
    out.fit.delta = gdp_delta_up(budget.epsilon, of_fit) * (1 - 1e-9);
    if (!(out.fit.delta > 0 && out.fit.delta < budget.delta)) continue;
    const double fit_mu = gdp_mu_down(budget.epsilon, out.fit.delta);
    out.guarantee = compose_up(
        std::array{schema.guarantee,
                   Guarantee{.mu = fit_mu, .epsilon0 = noise.epsilon, .tv = noise.tv, .who = who}});
    if (delta_up(out.guarantee, budget.epsilon) <= budget.delta) return out;
  }
  refuse_both(budget);
}

// The schema by mu, draws by the epsilon and delta that are left: theirs are subtracted and added.
BoughtFitPlan split_by_epsilon(BoughtFitPlan out, double z, const NoiseCost& noise) {
  const SchemaProblem& problem = out.problem;
  const Budget& budget = out.budget;
  const Neighbors who = budget.neighbors();
  const double whole = gdp_mu_down(
      budget.epsilon, round_down(Wide(budget.delta) * (1 - Wide(schema_threshold_share))));
  const double of_schema = whole > 0 ? round_down(Wide(whole) * sqrt(Wide(out.share))) : 0;
  if (!(of_schema > 0)) refuse_both(budget);
  out.questions = schema_settings_at(of_schema, z, problem, who);
  const Guarantee schema = analyze(SchemaMechanism(out.questions), problem, who, 1).guarantee;
  const double taken =
      epsilon_of_mu_up(schema.mu, answers_delta * budget.delta, budget.epsilon) + schema.epsilon0;
  out.fit.epsilon = round_down((Wide(budget.epsilon) - Wide(taken)) * (1 - Wide(1e-9)));
  out.fit.delta = draws_delta * budget.delta;
  if (!(out.fit.epsilon > 0)) refuse_both(budget);
  out.guarantee = compose_up(
      std::array{schema, Guarantee{.epsilon0 = round_up(Wide(out.fit.epsilon) * (1 + Wide(1e-12))),
                                   .delta0 = out.fit.delta,
                                   .tv = noise.tv,
                                   .who = who}});
  if (!(delta_up(out.guarantee, budget.epsilon) <= budget.delta)) refuse_both(budget);
  return out;
}

}  // namespace

NoiseCost largest_fit_noise_up(const LargestFit& fit) {
  // tree_numbers: of every column its levels, of every pair within the limit. Fewer columns than
  // are asked about have a wider limit, and yet fewer numbers.
  if (fit.columns > 0) {
    const std::uint64_t columns = std::min(fit.columns, most_network_columns);
    const auto K = static_cast<double>(columns), levels = static_cast<double>(most_network_levels),
               cells = static_cast<double>(tree_limits(columns).cells);
    return noise_cost_up(AnsweredNoise{K * levels + K * (K - 1) / 2 * (1 + cells)}, 1);
  }
  const auto d = static_cast<double>(most_bought_features(fit)),
             K = static_cast<double>(fit.outputs);
  const double coordinates = d * K, blocks = K > 1 ? K * (K - 1) / 2 : 1;
  // A score of K classes has K - 1 contrasts.
  const double score = K > 1 && fit.weighed ? (K - 1) * d : d;
  const double intervals =
      fit.intervals ? coordinates + blocks * d * (d + 1) / 2 + score * (score + 1) / 2 : 0;
  return noise_cost_up(
      AnsweredNoise{d * (d + 1) + most_gradients * (coordinates + 1) + coordinates + 1 + intervals},
      1);
}

std::uint64_t most_bought_features(const LargestFit& fit) {
  if (!fit.intervals || fit.outputs < 2) return most_metric_features;
  return static_cast<std::uint64_t>(most_contrasts / static_cast<double>(fit.outputs - 1));
}

double default_schema_share(const SchemaProblem& problem, const Budget& budget) {
  return std::clamp(seen_share(problem, budget), least_share, most_share);
}

Analysis with_schema(const Analysis& fit, const SchemaQuestions& questions,
                     const SchemaProblem& problem, const Neighbors& who) {
  const Analysis schema = analyze(SchemaMechanism(questions), problem, who, 1);
  Analysis out = fit;
  out.guarantee = compose_up(std::array{fit.guarantee, schema.guarantee});
  out.noise.tv = round_up(Wide(fit.noise.tv) + Wide(schema.noise.tv));
  out.noise.epsilon = round_up(Wide(fit.noise.epsilon) + Wide(schema.noise.epsilon));
  out.constants.push_back({"schema_mu", schema.guarantee.mu});
  out.constants.push_back({"schema_tv", schema.guarantee.tv});
  return out;
}

BoughtFitPlan plan_bought_fit(const SchemaProblem& problem, const Budget& budget,
                              const std::optional<double>& share, const LargestFit& fit,
                              double most_tv) {
  const StandardArithmetic arithmetic;
  const double z =
      schema_threshold_height(problem, budget, most_tv);  // throws on an illegal request
  require_share(share);
  const double part = share.value_or(default_schema_share(problem, budget));
  return split_by_mu(unsplit(problem, budget, part, most_tv), z, largest_fit_noise_up(fit));
}

BoughtFitPlan plan_bought_draws(const SchemaProblem& problem, const Budget& budget, bool gaussian,
                                const std::optional<double>& share, double most_tv) {
  const StandardArithmetic arithmetic;
  Budget once = budget;
  once.draws = 1;
  const double z = schema_threshold_height(problem, once, most_tv);  // throws on an illegal request
  require_share(share);
  const double part =
      share.value_or(std::clamp(seen_share(problem, budget), least_draws_share, most_share));
  // Numbers of a draw (mechanism/family.cpp): a mean, or what splits the most levels.
  const std::uint64_t numbers = gaussian ? 1 : most_family_levels - 1;
  const NoiseCost noise{.tv = round_up(Wide(numbers) * Wide(budget.draws) * ldexp(Wide(1), -60))};
  const BoughtFitPlan asked = unsplit(problem, budget, part, most_tv);
  return gaussian ? split_by_mu(asked, z, noise) : split_by_epsilon(asked, z, noise);
}

}  // namespace gibbsite
