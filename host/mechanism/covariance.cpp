#include "gibbsite/mechanism/covariance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/floating_point.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/mechanism/column_change.hpp"
#include "gibbsite/mechanism/noise_law.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "mechanism/network_tree.hpp"

namespace gibbsite {
namespace {

// Squared weights of the sums, that of a product being 1.
struct MomentWeights {
  Wide count = 0, sum = 0, square = 0;
};

MomentWeights weights_of(std::uint64_t columns, Adjacency adjacency, bool weighted) {
  const Wide d = columns, root = sqrt(d);
  if (adjacency == Adjacency::add_remove || weighted) return {d / 4, root / 2, root};
  // a^2 = sqrt(d)/2, and as much for squares as the theorem gives away: a^2 + (d + 1)/2.
  return {0, root / 2, root / 2 + (d + 1) / 2};
}

// The theorems': in exact arithmetic.
Wide exact_change(std::uint64_t columns, Adjacency adjacency, bool weighted) {
  const Wide d = columns;
  const MomentWeights w = weights_of(columns, adjacency, weighted);
  const Wide added = sqrt(Wide(w.count + d * w.sum + d * w.square / 4 + d * (d - 1) / 2));
  const Wide replaced = d + w.sum;
  if (adjacency == Adjacency::add_remove) return added;
  return weighted ? std::max(replaced, added) : replaced;
}

std::uint64_t moments_answered(std::uint64_t d) { return 1 + d + d * (d + 1) / 2; }

const CovarianceMoments& settings_of(const CovarianceMechanism& mechanism) {
  return std::get<CovarianceMoments>(mechanism);
}

double moments_mu_up(double noise, const CovarianceProblem& problem, const Neighbors& who) {
  return round_up(Wide(who.rows_per_person) *
                  Wide(covariance_change_up(problem.columns, who.adjacency, problem.weighted)) /
                  Wide(noise));
}

}  // namespace

void CovarianceProblem::validate() const {
  if (rows < 1 || rows > most_covariance_rows) {
    throw BadInput(fmt::format("rows: must be from 1 to {}, got {}", most_covariance_rows, rows));
  }
  if (of_people() &&
      (rows_of_person > most_covariance_rows || most_weight() > most_covariance_rows)) {
    throw BadInput(
        Field{"rows_per_person"},
        fmt::format("{} people of {} rows each are more than the {} rows that are counted "
                    "exactly",
                    rows, rows_of_person, most_covariance_rows),
        "give a smaller one");
  }
  if (of_people() && !weighted)
    throw BadInput("weighted: is missing; rows of people count by weight");
  if (columns < 1 || columns > most_covariance_columns) {
    throw BadInput(Field{"columns"},
                   fmt::format("must be from 1 to {}, got {}", most_covariance_columns, columns));
  }
}

double covariance_change_up(std::uint64_t columns, Adjacency adjacency, bool weighted) {
  const Wide d = columns;
  // A rounded product is off by 2^-27 at most, in both of two rows.
  const MomentWeights w = weights_of(columns, adjacency, weighted);
  const Wide heaviest = std::max(Wide(1), w.square);
  Wide rounded = ldexp(sqrt(Wide(heaviest * d * (d + 1) / 2)), -covariance_bits);
  // A weighted sum is rounded down to a step, once in each of two tables.
  if (weighted)
    rounded += ldexp(sqrt(Wide(w.sum * d + heaviest * d * (d + 1) / 2)), -covariance_bits);
  return round_up(exact_change(columns, adjacency, weighted) + rounded);
}

double covariance_column_change_up(std::uint64_t columns, Adjacency adjacency, double by,
                                   bool weighted) {
  if (!(by > 0 && by <= 2)) throw BadInput("by: must be above 0 and at most 2");
  const Wide d = columns;
  const MomentWeights w = weights_of(columns, adjacency, weighted);
  const auto squared = [&](const Wide& u) -> Wide {
    return u * u * (w.sum + d - 1 + w.square * (2 - u) * (2 - u));
  };
  Wide most = squared(Wide(by));
  // It grows in u but for one column, where a smaller move may change the square by more.
  const Wide root = 1 - 2 * (w.sum + d - 1) / w.square;
  if (root > 0) {
    const Wide highest = (3 - sqrt(root)) / 2;
    if (highest < Wide(by)) most = std::max(most, squared(highest));
  }
  const Wide heaviest = std::max(Wide(1), w.square);
  Wide rounded = ldexp(sqrt(Wide(heaviest * d)), -covariance_bits);
  if (weighted) rounded += ldexp(sqrt(Wide(w.sum + heaviest * d)), -covariance_bits);
  return round_up(sqrt(most) + rounded);
}

MomentDeviations moment_deviations(const CovarianceMechanism& mechanism, std::uint64_t columns,
                                   Adjacency adjacency, bool weighted) {
  const MomentWeights w = weights_of(columns, adjacency, weighted);
  const double noise = settings_of(mechanism).noise;
  const auto over = [noise](const Wide& weight) { return round_up(Wide(noise) / sqrt(weight)); };
  const bool counted = adjacency == Adjacency::add_remove || weighted;
  return {counted ? over(w.count) : 0, over(w.sum), over(w.square), noise, counted ? 0.5 : 0};
}

Analysis analyze(const CovarianceMechanism& mechanism, const CovarianceProblem& problem,
                 const Neighbors& who, std::uint64_t draws) {
  problem.validate();
  if (draws != 1) {
    throw BadInput(Field{"draws"}, "moments are released once",
                   fmt::format("leave it out (got {})", draws));
  }
  if (who.rows_per_person < 1 || (!problem.of_people() && who.rows_per_person > problem.rows)) {
    throw BadInput(
        Field{"rows_per_person"},
        fmt::format("must be at least 1 and at most the rows, got {}", who.rows_per_person));
  }
  if (problem.of_people() && problem.rows_of_person != who.rows_per_person) {
    throw BadInput(fmt::format(
        "rows_of_person: weights hold a person to {} rows, and the guarantee is for {}; give both "
        "the same",
        problem.rows_of_person, who.rows_per_person));
  }
  const double noise = settings_of(mechanism).noise;
  require_legal_noise(noise, "noise");
  Analysis out;
  const double mu = moments_mu_up(noise, problem, who);
  const auto numbers = static_cast<double>(moments_answered(problem.columns));
  out.noise = noise_cost_up(AnsweredNoise{numbers}, 1);
  out.guarantee = {
      mu, out.noise.epsilon, 0,
      answers_resolve(static_cast<double>(problem.most_weight()), mu) ? out.noise.tv : 1.0, who};
  // The finest of all: each number has a grid of its own, a power of two.
  const MomentDeviations of =
      moment_deviations(mechanism, problem.columns, who.adjacency, problem.weighted);
  out.release_grid = answer_grid(std::min({of.sum, of.square, of.product}));
  out.constants = {{"answered_numbers", numbers}};
  return out;
}

CovariancePlan plan_covariance(const CovarianceProblem& problem, const Budget& budget) {
  const StandardArithmetic arithmetic;
  problem.validate();
  budget.validate();
  const Neighbors who = budget.neighbors();
  const Wide change = Wide(who.rows_per_person) *
                      Wide(covariance_change_up(problem.columns, who.adjacency, problem.weighted));
  CovariancePlan out{.problem = problem, .budget = budget, .mechanism = CovarianceMoments{}};
  double mu = gdp_mu_down(budget.epsilon, budget.delta);
  for (int attempt = 0; attempt < 60 && mu > 0; ++attempt) {  // until what computing adds fits too
    out.mechanism = CovarianceMoments{round_up(change / Wide(mu))};
    out.guarantee = analyze(out.mechanism, problem, who, budget.draws).guarantee;
    if (delta_up(out.guarantee, budget.epsilon) <= budget.delta) return out;
    mu *= attempt < 24 ? 1 - std::ldexp(1e-9, attempt) : 0.5;
  }
  throw Infeasible(format_message("{} {}, {} {}", Field{"epsilon"}, budget.epsilon, Field{"delta"},
                                  budget.delta),
                   "no noise in double precision keeps these moments to that",
                   "ask for a larger epsilon or delta");
}

std::string_view name_of(const CovarianceMechanism& /*mechanism*/) {
  return CovarianceMoments::name;
}

std::string_view theorem_of(const CovarianceMechanism& /*mechanism*/) {
  return CovarianceMoments::theorem;
}

std::string basis_of(const CovarianceMechanism& /*mechanism*/, const CovarianceProblem& problem) {
  return fmt::format(
      "It rests on Gaussian noise in {}the sums of {} columns, of their squares and of their "
      "products{}",
      problem.weighted ? "what all rows count and in " : "", problem.columns,
      problem.of_people()
          ? fmt::format("; rows of one person count as at most {} together", problem.rows_of_person)
      : problem.weighted ? "; a row counts by its weight, at most as one row"
                         : "");
}

}  // namespace gibbsite
