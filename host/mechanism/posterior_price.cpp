#include "gibbsite/mechanism/posterior_price.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "mechanism/candidates.hpp"
#include "mechanism/conjugate_profile.hpp"
#include "mechanism/gap.hpp"

namespace gibbsite {
namespace {

constexpr double too_much = std::numeric_limits<double>::infinity();

void require_request(const Neighbors& who, std::uint64_t draws, double delta) {
  Budget{.delta = delta, .rows_per_person = who.rows_per_person, .draws = draws}.validate();
}

PosteriorPrice gaussian_price(const Guarantee& g, double delta) {
  const double epsilon = gdp_epsilon_up(g.mu, delta);
  return {g, epsilon <= most_epsilon ? epsilon : too_much, delta};
}

}  // namespace

PosteriorPrice posterior_price(const Problem& problem, const Neighbors& who, std::uint64_t draws,
                               double beta, double delta) {
  problem.validate();
  require_request(who, draws, delta);
  require_finite_positive(beta, Field{"beta"});
  if (!(problem.prior_precision.value_or(0) > 0)) {
    throw BadInput(
        Field{"prior_precision"},
        "is missing, without which a posterior has no price: its draws go as far as one "
        "person takes them",
        format_message("give one above 0, or {} and {}", Field{"epsilon"}, Field{"delta"}));
  }
  if (!problem.bounded()) {
    throw BadInput(Field{"model"},
                   "one row can do anything to a loss whose slope has no bound: its posterior has "
                   "no price",
                   "take huber");
  }
  const double mu = gibbs_mu_up(problem, who, beta, *problem.prior_precision);
  return gaussian_price({.mu = draws_mu_up(mu, draws), .who = who}, delta);
}

PosteriorPrice posterior_price(const FamilyProblem& problem, const Neighbors& who,
                               std::uint64_t draws, double delta) {
  problem.validate();
  require_request(who, draws, delta);
  if (problem.trim)
    return gaussian_price(analyze(TrimmedDraw{}, problem, who, draws).guarantee, delta);
  if (problem.family == Family::mean)
    return gaussian_price(analyze(ConjugateDraw{}, problem, who, draws).guarantee, delta);
  // Each draw at epsilon/draws, as the certificate has it. The search is in double, the claim in 50
  // digits.
  const auto each = round_down(Wide(delta) / Wide(draws));
  const auto about = [&](double epsilon) {
    return conjugate_delta_up({}, problem, who, epsilon, Digits::few) <= each;
  };
  double low = 0, high = 1e-3;
  while (!about(high) && high < most_epsilon) low = high, high *= 2;
  for (int i = 0; i < 40 && high - low > 1e-9 * high; ++i) {
    const double middle = (low + high) / 2;
    (about(middle) ? high : low) = middle;
  }
  for (double more = high; more <= most_epsilon; more *= 1 + 1e-6) {
    const Guarantee g = analyze(ConjugateDraw{.epsilon = more}, problem, who, draws).guarantee;
    if (g.delta0 <= delta) return {g, g.epsilon0 <= most_epsilon ? g.epsilon0 : too_much, delta};
    if (more > 1.01 * high) break;  // double and 50 digits are never so far apart
  }
  return {{.delta0 = 1, .who = who}, too_much, delta};
}

}  // namespace gibbsite
