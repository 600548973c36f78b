// Draws of families against their laws, and how often their intervals hold.
#include <gtest/gtest.h>

#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <random>

#include "gibbsite/release/query.hpp"
#include "gibbsite/run/fit_family.hpp"
#include "run/family_draws.hpp"
#include "statistical/distance.hpp"
#include "support/repeats.hpp"

namespace gibbsite {
namespace {

FamilyProblem levels(std::uint64_t K, std::uint64_t rows) {
  FamilyProblem p{.family = K == 2 ? Family::bernoulli : Family::categorical, .rows = rows};
  p.levels = K;
  p.prior = std::vector<double>(K, 1.5);
  return p;
}
FamilyProblem numbers(Family family, std::uint64_t rows, double lo, double hi) {
  FamilyProblem p{.family = family, .rows = rows, .levels = 0, .lo = lo, .hi = hi};
  p.variance = family == Family::mean ? 4 : 0;
  p.prior = p.default_prior();
  return p;
}

// One law of `at`, uncut: its distribution function; and where it is cut.
template <class Below>
void expect_law(const FamilyMechanism& mechanism, const FamilyProblem& p,
                const FamilyStatistic& statistic, std::size_t at, const Below& below,
                const char* what) {
  const std::uint32_t draws = support::repeats(20'000U, 400U);
  const StreamKey key = StreamKey::from_seed(5);
  std::vector<double> sample;
  for (std::uint32_t k = 0; k < draws; ++k) {
    sample.push_back(family_draw(mechanism, p, statistic, key, k)[at]);
  }
  EXPECT_LT(distance_to_law(sample, below), chance_distance(draws)) << what;
}

// Of a law between bounds.
template <class Below>
auto between(Below below, double low, double high) {
  return [=](double x) { return (below(x) - below(low)) / (below(high) - below(low)); };
}

// Fails by chance with probability 1e-7 a law, twelve laws.
TEST(FamilyDraws, FollowTheirLaws) {
  const ConjugateDraw whole{.weight = 0.5, .prior_scale = 2, .epsilon = 1};
  const auto beta = [](double a, double b) {
    return [=](double x) { return boost::math::ibeta(a, b, x); };
  };
  const auto gamma = [](double a, double b) {
    return [=](double x) { return boost::math::gamma_p(a, b * x); };
  };
  const FamilyProblem two = levels(2, 20);
  expect_law(whole, two, {{8, 12}}, 0, beta(3 + 4, 3 + 6), "bernoulli");
  expect_law(whole, two, {{0, 20}}, 1, beta(3 + 10, 3), "bernoulli, all alike");
  const FamilyProblem five = levels(5, 20);
  expect_law(whole, five, {{8, 5, 0, 6, 1}}, 0, beta(3 + 4, 12 + 6), "categorical, first");
  expect_law(whole, five, {{8, 5, 0, 6, 1}}, 2, beta(3, 12 + 10), "categorical, third");
  expect_law(whole, five, {{8, 5, 0, 6, 1}}, 4, beta(3 + 0.5, 12 + 9.5), "categorical, last");
  const FamilyProblem rate = numbers(Family::rate, 10, 0, 6);
  expect_law(whole, rate, {{21}, 6}, 0, gamma(2 * 1 + 0.5 * 21, 2.0 / 3 + 0.5 * 10), "rate");
  const FamilyProblem waiting = numbers(Family::waiting, 10, 1, 9);
  // Sum of times: 10 * 1 + 8 * 0.25 * 10.
  expect_law(whole, waiting, {{10ULL << 22}, 0x1p24}, 0, gamma(2 * 1 + 0.5 * 10, 2 * 5 + 0.5 * 30),
             "waiting");
  const FamilyProblem mean = numbers(Family::mean, 10, -3, 5);
  const double precision = 2 * mean.prior[0] + 10 * 0.5 / 4;
  const double center = (2 * mean.prior[0] * 1 + 0.5 / 4 * (-30 + 8 * 2.5)) / precision;
  expect_law(
      whole, mean, {{10ULL << 22}, 0x1p24}, 0,
      [&](double x) { return normal_below((x - center) * std::sqrt(precision)); }, "mean");

  const TrimmedDraw cut{0.5};
  FamilyProblem inside = levels(2, 20);
  inside.trim = {0.2, 0.0};
  expect_law(cut, inside, {{8, 12}}, 0, between(beta(1.5 + 4, 1.5 + 6), 0.2, 0.8), "trimmed");
  // Nearly all of the posterior lies beyond the trim, on either side.
  FamilyProblem beyond = levels(2, 2000);
  beyond.trim = {0.2, 0.0};
  const double a = 1.5, b = 1001.5;
  // Near its bound the law is an exponential: (1 - x)^b falls by e^(-b/(1 - 0.2)) a unit.
  const auto edge = [=](double x) {
    const double start = std::log(0.2) * (a - 1) + std::log1p(-0.2) * (b - 1);
    double sum = 0, up_to = 0;
    for (int i = 0; i < 4000; ++i) {
      const double t = 0.2 + 0.03 * (i + 0.5) / 4000;
      const double w = std::exp(std::log(t) * (a - 1) + std::log1p(-t) * (b - 1) - start);
      sum += w;
      if (t < x) up_to += w;
    }
    return up_to / sum;
  };
  expect_law(cut, beyond, {{0, 2000}}, 0, edge, "far below the trim");
  expect_law(cut, beyond, {{2000, 0}}, 1, edge, "far above the trim");
  FamilyProblem cut_rate = rate;
  cut_rate.trim = {1.0, 2.5};
  expect_law(cut, cut_rate, {{21}, 6}, 0,
             between(gamma(1 + 0.5 * 21, 1.0 / 3 + 0.5 * 10), 1.0, 2.5), "trimmed rate");
}

// 95 % intervals of what the people's parameter is, over tables and draws: a miss of 0.045 by
// chance has probability below 1e-6 for 600 tables (a deviation is 0.0089).
TEST(FamilyEstimates, CoverTheTruth) {
  constexpr int tables = support::repeats(600, 12);
  std::mt19937_64 random(11);
  const auto covered = [&](Family family, double truth, const auto& value, std::size_t at) {
    Schema schema;
    schema.label = schema.positive = std::string("(none)");
    const bool category = family == Family::bernoulli || family == Family::categorical;
    schema.columns = {{.name = std::string("x"),
                       .type = category ? ColumnType::category : ColumnType::number,
                       .lo = family == Family::waiting ? 0.5 : 0,
                       .hi = 20,
                       .levels = {}}};
    if (category) schema.columns[0].levels = {"a", "b", "c"};
    if (family == Family::bernoulli) schema.columns[0].levels = {"a", "b"};
    const std::size_t d = schema.features();
    int hits = 0;
    for (int t = 0; t < tables; ++t) {
      Dataset data;
      data.schema = schema;
      constexpr std::size_t n = 300;
      data.x.assign(n * d, 0.0F);
      for (std::size_t i = 0; i < n; ++i) value(random, &data.x[i * d]);
      FamilyProblem p = family_problem(schema, family, n);
      p.prior = p.default_prior();
      if (family == Family::mean) p.variance = 4;
      const auto plan = plan_family(p, {.epsilon = 1, .delta = 1e-5});
      const auto release = fit_family(data, plan, Key::from_seed(static_cast<std::uint64_t>(t)));
      const auto found = estimates(release)[at];
      hits += found.low <= truth && truth <= found.high;
    }
    return hits / static_cast<double>(tables);
  };
  const auto bernoulli = [](auto& r, float* x) {
    x[std::bernoulli_distribution(0.15)(r) ? 0 : 1] = 1;
  };
  const auto categorical = [](auto& r, float* x) {
    x[std::discrete_distribution<std::size_t>({0.5, 0.45, 0.05})(r)] = 1;
  };
  const auto rate = [](auto& r, float* x) {
    x[0] = static_cast<float>(std::min(std::poisson_distribution<int>(2.5)(r), 20)) / 20;
  };
  const auto mean = [](auto& r, float* x) {
    x[0] = std::clamp(static_cast<float>(std::normal_distribution<>(8, 2)(r)) / 20, 0.0F, 1.0F);
  };
  const double slack = support::repeats(0.045, 0.6);
  EXPECT_NEAR(covered(Family::bernoulli, 0.15, bernoulli, 0), 0.95, slack);
  EXPECT_NEAR(covered(Family::categorical, 0.05, categorical, 2), 0.95, slack);
  EXPECT_NEAR(covered(Family::rate, 2.5, rate, 0), 0.95, slack);
  EXPECT_NEAR(covered(Family::mean, 8, mean, 0), 0.95, slack);
}

}  // namespace
}  // namespace gibbsite
