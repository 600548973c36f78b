#include "gibbsite/audit/bounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"
#include "privacy/wrong_guess.hpp"

namespace gibbsite {
namespace {

// Slack for Boost's inverses, which are good to some units in the last place.
constexpr double slack = 1e-12;

void require_counts(std::uint64_t k, std::uint64_t n, double level) {
  if (n == 0 || k > n) {
    throw BadInput(fmt::format("counts: {} of {} is none; give at most all of at least 1", k, n));
  }
  require_between(level, 0, 1, "level");
}

// What may go wrong, a = 1 - confidence.
double risk(double confidence) {
  require_between(confidence, 0, 1, Field{"confidence"});
  return 1 - confidence;
}

double difference_down(std::uint64_t k10, std::uint64_t k01, std::uint64_t n, double level) {
  return clopper_pearson_down(k10, n, level) - clopper_pearson_up(k01, n, level);
}

}  // namespace

double clopper_pearson_up(std::uint64_t k, std::uint64_t n, double level) {
  require_counts(k, n, level);
  if (k == n) return 1;
  const double p =
      boost::math::ibetac_inv(static_cast<double>(k + 1), static_cast<double>(n - k), level);
  return std::min(1.0, p * (1 + slack));
}

double clopper_pearson_down(std::uint64_t k, std::uint64_t n, double level) {
  require_counts(k, n, level);
  if (k == 0) return 0;
  return boost::math::ibeta_inv(static_cast<double>(k), static_cast<double>(n - k + 1), level) *
         (1 - slack);
}

double mu_of_advantage_down(double advantage) {
  if (!(advantage < 1)) throw BadInput("advantage: must be below 1; give a smaller one");
  if (!(advantage > 0)) return 0;
  return 2 * std::sqrt(2.0) * boost::math::erf_inv(advantage) * (1 - slack);
}

double coupled_mu_down(std::uint64_t neighbor_alone, std::uint64_t table_alone, std::uint64_t pairs,
                       double confidence) {
  return mu_of_advantage_down(
      difference_down(neighbor_alone, table_alone, pairs, risk(confidence) / 2));
}

double coupled_epsilon_down(std::uint64_t neighbor_alone, std::uint64_t table_alone,
                            std::uint64_t table_above, std::uint64_t pairs, double delta,
                            double confidence) {
  const double level = risk(confidence) / 3;
  const double beyond = difference_down(neighbor_alone, table_alone, pairs, level) - delta;
  if (!(beyond > 0)) return 0;
  return std::log1p(beyond / clopper_pearson_up(table_above, pairs, level)) * (1 - slack);
}

double advantage_up(const Guarantee& g) {
  const double missed = std::erfc(g.mu / 2 / std::sqrt(2.0)) * (1 - slack);
  const double most = round_up(1 - 2 * wrong_guess(g, Wide(missed)));
  return most < 1 ? std::max(0.0, most) : 1.0;  // 1 for NaN too
}

}  // namespace gibbsite
