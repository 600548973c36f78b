#include "run/network_draws.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <numeric>

#include "gibbsite/core/error.hpp"
#include "gibbsite/mechanism/family.hpp"
#include "mechanism/network_draws.hpp"
#include "run/family_draws.hpp"
#include "statistical/distance.hpp"
#include "support/repeats.hpp"

namespace gibbsite {
namespace network_draws_test {

using Counts = std::vector<std::vector<std::uint64_t>>;
using Tables = std::vector<std::vector<double>>;

// A of three levels, B of two given A.
NetworkProblem three_and_two() {
  NetworkProblem p{.rows = 40, .levels = {3, 2}};
  p.parents = {{{}, {0}}};
  p.prior = 0.7;
  return p;
}
const Counts counted{{20, 15, 5}, {2, 18, 15, 0, 1, 4}};

Tables drawn(const NetworkMechanism& mechanism, const NetworkProblem& p, std::uint32_t draw,
             const FitOptions& options = {}) {
  return tables_draw(mechanism, p,
                     p.chooses_structure() ? Network{} : Network{p.levels, *p.parents}, counted,
                     StreamKey::from_seed(3), draw, 4, options);
}

// Samples of every split's share.
std::vector<std::vector<double>> shares_of(const NetworkMechanism& mechanism,
                                           const NetworkProblem& p, std::uint32_t draws) {
  std::vector<std::vector<double>> out(5);
  for (std::uint32_t k = 0; k < draws; ++k) {
    const Tables t = drawn(mechanism, p, k);
    out[0].push_back(t[0][0]);
    out[1].push_back(t[0][1] / (t[0][1] + t[0][2]));
    for (std::size_t c = 0; c < 3; ++c) out[2 + c].push_back(t[1][2 * c]);
  }
  return out;
}

double prior_and_count(double prior, double weight, double count) { return prior + weight * count; }

// The five Betas of the posterior, by hand.
std::vector<std::array<double, 2>> betas(double prior, double weight) {
  const auto at = [&](double count) { return prior_and_count(prior, weight, count); };
  return {
      {at(20), at(15) + at(5)}, {at(15), at(5)}, {at(2), at(18)}, {at(15), at(0)}, {at(1), at(4)}};
}

constexpr double chance = 1e-7;  // of each of five distances, `chance_distance`

TEST(NetworkDraws, AreOfTheConjugatePosterior) {
  static_assert(5 * chance < 1e-6);
  const std::uint32_t draws = support::repeats(300U, 60U);
  const auto shares = shares_of(NetworkConjugate{.weight = 0.5, .prior_scale = 3, .epsilon = 1},
                                three_and_two(), draws);
  const auto right = betas(3 * 0.7, 0.5), whole = betas(3 * 0.7, 1);
  double planted = 0;
  for (std::size_t i = 0; i < right.size(); ++i) {
    const auto law = [&](const auto& ab) {
      return [&ab](double x) { return boost::math::ibeta(ab[0], ab[1], std::clamp(x, 0.0, 1.0)); };
    };
    EXPECT_LT(distance_to_law(shares[i], law(right[i])), chance_distance(draws)) << i;
    planted = std::max(planted, distance_to_law(shares[i], law(whole[i])) / chance_distance(draws));
  }
  if (!support::sanitized) {  // records of twice the weight show
    EXPECT_GT(planted, 1.5);
  }
}

TEST(NetworkDraws, AreOfTheCutPosterior) {
  const std::uint32_t draws = support::repeats(300U, 60U);
  NetworkProblem p = three_and_two();
  p.trim = 0.15;
  const auto shares = shares_of(NetworkTrimmed{.weight = 0.5}, p, draws);
  const auto right = betas(0.7, 0.5);
  double whole = 0;
  for (std::size_t i = 0; i < right.size(); ++i) {
    // The first split of three levels leaves two on the other side.
    const double low = 0.15, high = i == 0 ? 0.7 : 0.85;
    const auto below = [&](double x) { return boost::math::ibeta(right[i][0], right[i][1], x); };
    const auto law = [&](double x) {
      return (below(std::clamp(x, low, high)) - below(low)) / (below(high) - below(low));
    };
    EXPECT_LT(distance_to_law(shares[i], law), chance_distance(draws)) << i;
    for (const double x : shares[i]) {
      EXPECT_GE(x, low - 1e-9);
      EXPECT_LE(x, high + 1e-9);
    }
    whole = std::max(whole, distance_to_law(shares[i], below) / chance_distance(draws));
  }
  if (!support::sanitized) {  // left whole, they would not be that law
    EXPECT_GT(whole, 1.5);
  }
}

// As one row by the function that draws one column, of the words whose places follow.
TEST(NetworkDraws, TakeEachWordOnce) {
  const NetworkConjugate s{.weight = 0.5, .prior_scale = 3, .epsilon = 1};
  const NetworkProblem p = three_and_two();
  const StreamKey key = StreamKey::from_seed(3);
  const Tables t = drawn(s, p, 2);
  std::uint64_t step = 0;
  for (std::size_t node = 0; node < 2; ++node) {
    const std::uint64_t levels = p.levels[node];
    for (std::size_t first = 0; first < counted[node].size(); first += levels) {
      FamilyProblem row{.family = Family::categorical, .rows = 40, .levels = levels};
      std::vector<Wide> cells(levels);
      for (std::size_t l = 0; l < levels; ++l) {
        cells[l] = Wide(3 * 0.7) + Wide(0.5) * Wide(counted[node][first + l]);
      }
      const auto expected = dirichlet_draw(row, cells, network_draw_grid, key, 2, step);
      for (std::size_t l = 0; l < levels; ++l) EXPECT_EQ(t[node][first + l], expected[l]);
      EXPECT_NEAR(std::accumulate(expected.begin(), expected.end(), 0.0), 1, 1e-14);
      step += levels - 1;
    }
  }
  EXPECT_EQ(step, drawn_numbers(p));
  EXPECT_NE(drawn(s, p, 2), drawn(s, p, 3));
  EXPECT_EQ(drawn(s, p, 2), t);
}

TEST(NetworkDraws, StopAndRefuse) {
  const NetworkConjugate s{.epsilon = 1};
  const NetworkProblem p = three_and_two();
  std::atomic<bool> stop = true;
  FitOptions options;
  options.stop = &stop;
  EXPECT_THROW(drawn(s, p, 0, options), Interrupted);
  EXPECT_THROW(drawn(NetworkCounts{.noise = 1}, p, 0), BadInput);
  EXPECT_THROW(drawn(NetworkTrimmed{}, p, 0), BadInput);
  const Network net{p.levels, *p.parents};
  const auto with = [&](const Counts& counts) {
    return tables_draw(s, p, net, counts, StreamKey::from_seed(3), 0, 1, {});
  };
  EXPECT_THROW(with({{20, 15, 5}}), BadInput);
  EXPECT_THROW(with({{20, 15, 5}, {1, 2, 3}}), BadInput);
  EXPECT_THROW(with({{20, 15, 5}, {}}), BadInput);
}

}  // namespace network_draws_test
}  // namespace gibbsite
