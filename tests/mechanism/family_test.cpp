#include "gibbsite/mechanism/family.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "gibbsite/core/error.hpp"
#include "gibbsite/privacy/conjugate.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "support/repeats.hpp"

namespace gibbsite {
namespace family_test {

using ::testing::HasSubstr;

FamilyProblem levels(std::uint64_t K, std::uint64_t rows, std::vector<double> prior) {
  FamilyProblem p{.family = K == 2 ? Family::bernoulli : Family::categorical, .rows = rows};
  p.levels = K;
  p.prior = std::move(prior);
  return p;
}
FamilyProblem numbers(Family family, std::uint64_t rows, double lo, double hi) {
  FamilyProblem p{.family = family, .rows = rows, .levels = 0, .lo = lo, .hi = hi};
  p.variance = family == Family::mean ? (hi - lo) * (hi - lo) / 4 : 0;
  p.prior = p.default_prior();
  return p;
}
std::vector<FamilyProblem> problems() {
  std::vector<FamilyProblem> out{levels(2, 100, {6, 18}),
                                 levels(2, 5000, {1, 1}),
                                 levels(3, 400, {1, 2, 0.5}),
                                 levels(7, 100'000, {1, 1, 1, 1, 1, 1, 1}),
                                 numbers(Family::rate, 1000, 0, 20),
                                 numbers(Family::waiting, 1000, 0.5, 100),
                                 numbers(Family::mean, 1000, -3, 5)};
  const std::size_t plain = out.size();
  for (std::size_t i = 0; i < plain; ++i) {
    FamilyProblem cut = out[i];
    cut.trim = cut.has_levels()                ? std::pair{0.02, 0.0}
               : cut.family == Family::mean    ? std::pair{-1.0, 2.0}
               : cut.family == Family::waiting ? std::pair{0.02, 1.0}
                                               : std::pair{0.5, 8.0};
    out.push_back(cut);
  }
  return out;
}

// What the exact profile is worth.
TEST(Families, WeightsAreThoseOfTheReferenceValues) {
  std::ifstream file(std::string(GIBBSITE_SHARED_DIR) +
                     "/vectors/mechanisms_beta_calibration.json");
  if (!file) GTEST_SKIP() << "no reference values under " << GIBBSITE_SHARED_DIR;
  const auto cases = nlohmann::json::parse(file)["cases"];
  ASSERT_GE(cases.size(), 3U);
  for (const auto& c : cases) {
    const auto value = [&](const char* name) { return std::stod(c[name].get<std::string>()); };
    const FamilyProblem p = levels(2, c["n"], {value("a0"), value("b0")});
    const Budget budget{.epsilon = value("epsilon"), .delta = value("delta")};
    const auto exact = plan_family(p, budget, {.concentrated = false});
    EXPECT_NEAR(weight_of(exact.mechanism) / value("r_exact"), 1, 1e-8) << c;
    EXPECT_LE(delta_up(exact.guarantee, budget.epsilon), budget.delta);
    if (value("a0") != 6) continue;  // seconds each
    const auto renyi =
        plan_family(p, budget, {.calibration = Calibration::geumlek_rdp, .concentrated = false});
    EXPECT_NEAR(weight_of(renyi.mechanism) / value("r_rdp_order_grid"), 1, 2e-5) << c;
  }
}

TEST(Families, AMeanIsGaussianAsTheReferenceValuesSay) {
  std::ifstream file(std::string(GIBBSITE_SHARED_DIR) + "/vectors/mechanisms_gaussian_mean.json");
  if (!file) GTEST_SKIP() << "no reference values under " << GIBBSITE_SHARED_DIR;
  const auto cases = nlohmann::json::parse(file)["cases"];
  for (const auto& c : cases) {
    const auto value = [&](const char* name) {
      return c[name].is_string() ? std::stod(c[name].get<std::string>()) : c[name].get<double>();
    };
    FamilyProblem p = numbers(Family::mean, c["n"], -value("data_radius"), value("data_radius"));
    p.variance = value("variance");
    p.prior = {value("prior_precision")};
    const Analysis found = analyze(ConjugateDraw{.weight = value("beta")}, p, {}, 1);
    EXPECT_NEAR(found.guarantee.mu / value("mu"), 1, 1e-14) << c;
  }
}

TEST(Families, PlansKeepTheirBudget) {
  const auto all = problems();
  for (std::size_t i = 0; i < all.size(); i += support::repeats(1U, 29U)) {
    const FamilyProblem& p = all[i];
    for (const double epsilon : {0.1, 8.0}) {
      for (const std::uint64_t draws : {1U, 20U}) {
        for (const bool concentrated : {false, true}) {
          const Budget budget{.epsilon = epsilon, .delta = 1e-6, .draws = draws};
          const FamilyPlan plan = plan_family(p, budget, {.concentrated = concentrated});
          const Analysis found = analyze(plan.mechanism, p, {}, draws);
          EXPECT_LE(delta_up(found.guarantee, epsilon), 1e-6)
              << to_string(p.family) << " " << epsilon;
          EXPECT_GT(plan.deviation, plan.sample_deviation);
          // And use it up, unless every record already counts whole under the prior as it is.
          if (weight_of(plan.mechanism) == 1 && prior_scale_of(plan.mechanism) == 1) continue;
          EXPECT_GT(delta_up(found.guarantee, epsilon), 0.99e-6)
              << to_string(p.family) << " " << epsilon << " " << concentrated;
        }
      }
    }
  }
}

// Scaling the prior up is worth more than weighing records down: the reason for the default.
TEST(Families, TheDefaultIsTheMoreAccurate) {
  for (const FamilyProblem& p : problems()) {
    if (p.trim || p.family == Family::mean) continue;
    const Budget budget{.epsilon = 0.5, .delta = 1e-6};
    FamilyProblem weak = p;
    weak.prior = p.default_prior();
    EXPECT_LT(plan_family(weak, budget).deviation,
              plan_family(weak, budget, {.concentrated = false}).deviation)
        << to_string(p.family);
  }
}

// What a table without the record's weight, half of it, or the other cell left out would claim: the
// exact profile of what is then drawn is above the claim.
TEST(Families, PlantedErrorsAreAboveTheClaim) {
  const Budget budget{.epsilon = 1, .delta = 1e-6};
  const FamilyProblem p = levels(2, 50, {3, 3});
  const auto plan = plan_family(p, budget, {.concentrated = false});
  const double r = weight_of(plan.mechanism);
  EXPECT_LE(beta_delta_up(3, 3, r, 50, 1), 1e-6);
  EXPECT_GT(beta_delta_up(3, 3, 1.01 * r, 50, 1), 1e-6);
  // One more record in one cell against one more in the other, not against none.
  EXPECT_GT(beta_delta_up(3, 3, 2 * r, 50, 1), 100e-6);
  const FamilyProblem counts = numbers(Family::rate, 50, 0, 20);
  const auto rate = plan_family(counts, budget);
  const double prior = prior_scale_of(rate.mechanism) * counts.prior[0];
  EXPECT_LE(gamma_pair_delta_up(prior, 20, 1), 1e-6);
  EXPECT_GT(gamma_pair_delta_up(prior / 2, 20, 1), 10e-6);
}

// log theta_i - log theta_j over the trimmed set, by its corners: a tree's shares are independent.
TEST(Families, RecordRangeIsThatOfEveryPairOfLevels) {
  std::mt19937_64 random(7);
  for (const std::uint64_t K : {2U, 3U, 4U, 5U, 7U}) {
    FamilyProblem p = levels(K, 10, std::vector<double>(K, 1.0));
    p.trim = {0.4 / static_cast<double>(K), 0.0};
    std::size_t splits = 0;
    for_each_split(0, K, [&](auto, auto, auto) { ++splits; });
    ASSERT_EQ(splits, K - 1);
    std::vector<double> most(K * K, -INFINITY);
    for (std::uint64_t corner = 0; corner < (1U << splits); ++corner) {
      std::vector<double> log_share(K, 0.0);
      std::size_t split = 0;
      for_each_split(0, K, [&](std::uint64_t first, std::uint64_t middle, std::uint64_t last) {
        const auto [low, high] = split_trim(p, first, middle, last);
        EXPECT_LT(low, high);
        const double share = (corner >> split++ & 1) == 0 ? low : high;
        for (std::uint64_t i = first; i < last; ++i) {
          log_share[i] += std::log(i < middle ? share : 1 - share);
        }
      });
      for (std::uint64_t i = 0; i < K; ++i) {
        for (std::uint64_t j = 0; j < K; ++j) {
          most[i * K + j] = std::max(most[i * K + j], log_share[i] - log_share[j]);
        }
      }
    }
    double range = 0;
    for (std::uint64_t i = 0; i < K; ++i) {
      for (std::uint64_t j = 0; j < K; ++j) {
        range = std::max(range, most[i * K + j] + most[j * K + i]);
      }
    }
    EXPECT_NEAR(record_range_up(p), range, 1e-12) << K;
    if (K == 2) {
      EXPECT_NEAR(range, 2 * std::log(0.8 / 0.2), 1e-12);
    }
  }
  FamilyProblem rate = numbers(Family::rate, 10, 0, 20);
  rate.trim = {0.5, 8.0};
  EXPECT_NEAR(record_range_up(rate), 20 * std::log(16.0), 1e-12);
  FamilyProblem mean = numbers(Family::mean, 10, -3, 5);
  mean.trim = {-1.0, 2.0};
  EXPECT_NEAR(record_range_up(mean), 3.0 * 8 / 16, 1e-14);
}

// One trimmed draw of two levels, its exact law on both neighbors: below the claim at every
// epsilon, within two thirds of it somewhere, and above it with three times the weight.
TEST(Families, TrimmedLawsOfNeighborsAreBelowTheClaim) {
  FamilyProblem p = levels(2, 4, {0.01, 0.01});
  p.trim = {0.05, 0.0};
  const Budget budget{.epsilon = 1, .delta = 1e-3};
  const auto plan = plan_family(p, budget);
  constexpr int cells = 20'000;
  const auto law = [&](double weight, int ones) {
    std::vector<double> out(cells);
    double sum = 0;
    for (int i = 0; i < cells; ++i) {
      const double x = 0.05 + 0.9 * (i + 0.5) / cells;
      sum += out[static_cast<std::size_t>(i)] = std::exp(
          (weight * ones - 0.99) * std::log(x) + (weight * (4 - ones) - 0.99) * std::log1p(-x));
    }
    for (double& v : out) v /= sum;
    return out;
  };
  const auto worst = [&](double weight) {
    double most = 0;
    for (int k = 0; k < 4; ++k) {
      const auto here = law(weight, k), there = law(weight, k + 1);
      for (const double epsilon : {0.0, 0.2, 0.5, 1.0}) {
        double one = 0, other = 0;
        for (std::size_t i = 0; i < here.size(); ++i) {
          one += std::max(0.0, here[i] - std::exp(epsilon) * there[i]);
          other += std::max(0.0, there[i] - std::exp(epsilon) * here[i]);
        }
        most = std::max(most, std::max(one, other) / gdp_delta_up(epsilon, plan.guarantee.mu));
      }
    }
    return most;
  };
  const double r = weight_of(plan.mechanism);
  EXPECT_LE(worst(r), 1 + 1e-9);
  EXPECT_GT(worst(r), 0.4);
  EXPECT_GT(worst(3 * r), 1);
}

// The best guess about a person is that of the total variation, which (epsilon, delta) hides.
TEST(Families, TheBestGuessIsThatOfTheTotalVariation) {
  const FamilyProblem p = levels(2, 500, {1, 1});
  const auto plan = plan_family(p, {.epsilon = 1, .delta = 1e-6});
  const double scale = prior_scale_of(plan.mechanism);
  const double apart = beta_delta_up(scale, scale, 1, 500, 0);
  const double guess = best_guess_percent(plan.mechanism, p, plan.guarantee, 1);
  EXPECT_NEAR(guess, 50 + 50 * apart, 0.1001);
  EXPECT_GE(guess, 50 + 50 * apart);
  EXPECT_LT(guess, 56);
  EXPECT_NEAR(best_guess_percent(plan.guarantee), 73.2, 0.1);
}

TEST(Families, SeveralDrawsTakeTheBetterComposition) {
  const FamilyProblem p = levels(2, 10'000, {1, 1});
  const Budget ten{.epsilon = 1, .delta = 1e-6, .draws = 10};
  const auto plan = plan_family(p, ten);
  EXPECT_EQ(std::get<ConjugateDraw>(plan.mechanism).calibration, Calibration::geumlek_rdp);
  EXPECT_LT(prior_scale_of(plan.mechanism), 250);
  EXPECT_GT(prior_scale_of(plan_family(p, ten, {.calibration = Calibration::exact}).mechanism),
            1500);
}

// Ranges and sizes that people have: planned at once, and the largest prior there is not begun
// with.
TEST(Families, WideRangesArePlanned) {
  for (const FamilyProblem& p :
       {numbers(Family::rate, 1'000'000, 0, 5'000), numbers(Family::mean, 1000, 0, 100'000),
        numbers(Family::waiting, 1000, 1e-7, 1e-3), numbers(Family::mean, 1000, 0, 1e-7)}) {
    const auto plan = plan_family(p, {.epsilon = 1, .delta = 1e-6});
    EXPECT_LE(delta_up(plan.guarantee, 1), 1e-6) << to_string(p.family);
  }
}

template <class F>
std::string refusal(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Families, RefusalsSayWhatToDo) {
  const auto plan = [](FamilyProblem p, Budget budget = {}, FamilyWishes plan_options = {}) {
    return refusal([&] { plan_family(p, budget, plan_options); });
  };
  EXPECT_THAT(plan(levels(2, 10, {0, 1})),
              HasSubstr("`prior`: must be numbers, the first from 1e-06"));
  EXPECT_THAT(plan(levels(2, 10, {-1, 1})), HasSubstr("`prior`"));
  EXPECT_THAT(plan(levels(2, 10, {1})), HasSubstr("`prior`: bernoulli takes 2 numbers, got 1"));
  EXPECT_THAT(plan(levels(2, 0, {1, 1})), HasSubstr("rows"));
  FamilyProblem cut = levels(5, 10, {1, 1, 1, 1, 1});
  cut.trim = {0.2, 0.0};
  EXPECT_THAT(plan(cut), HasSubstr("below 1/5, got 0.2"));
  EXPECT_THAT(plan(numbers(Family::rate, 10, 0, 20.5)), HasSubstr("whole counts"));
  EXPECT_THAT(plan(numbers(Family::rate, 10, 1, 20)), HasSubstr("whole counts"));
  EXPECT_THAT(plan(numbers(Family::waiting, 10, 0, 20)), HasSubstr("lowest time above 0"));
  EXPECT_THAT(plan(numbers(Family::waiting, 10, -1, 20)), HasSubstr("times above 0"));
  EXPECT_THAT(plan(levels(3, 10, {1, 1, 1}), {.rows_per_person = 2}),
              HasSubstr("one row a person"));
  EXPECT_THAT(plan(levels(2, 10, {1, 1}), {.adjacency = Adjacency::add_remove}),
              HasSubstr("replace-one"));
  EXPECT_THAT(
      plan(numbers(Family::waiting, 10, 1, 20), {}, {.calibration = Calibration::geumlek_rdp}),
      HasSubstr("leave it out for waiting"));
  EXPECT_THAT(plan(levels(2, 10, {1, 1}), {}, {.calibration = Calibration::redberg}),
              HasSubstr("exact or geumlek-rdp"));
  EXPECT_THAT(plan(levels(2, 10, {1e-6, 1e-6}), {.epsilon = 1e-6}, {.concentrated = false}),
              HasSubstr("give a stronger `prior`"));
  EXPECT_EQ(plan(levels(2, 10, {1, 1}), {.rows_per_person = 3}), "");
}

// Where some table's posterior would be cut to nothing that 50 digits hold, and a law would be
// lost.
TEST(Families, ATrimFarFromWhatATableMayHoldIsRefused) {
  FamilyProblem p = numbers(Family::mean, 10'000, 0, 1e6);
  p.variance = 1e5;
  p.prior = {p.default_prior()[0]};
  p.trim = {500'000.0, 500'000.1};
  EXPECT_THAT(refusal([&] { plan_family(p, {.epsilon = 1, .delta = 1e-8, .draws = 3}); }),
              ::testing::HasSubstr("further outside"));
  p.variance = 1e9;
  p.trim = {400'000.0, 600'000.0};
  EXPECT_EQ(refusal([&] { plan_family(p, {.epsilon = 1, .delta = 1e-8}); }), "");
  FamilyProblem rate = numbers(Family::rate, 1'000'000'000, 0, 1000);
  rate.trim = {1e-3, 2e-3};
  EXPECT_THAT(refusal([&] { analyze(TrimmedDraw{1}, rate, {}, 1); }),
              ::testing::HasSubstr("further outside"));
}

TEST(Families, RegretFallsWithTheDraws) {
  EXPECT_NEAR(regret_of_draws(2, 100, 0.05), 2 * std::sqrt(std::log(80) / 200), 1e-15);
  EXPECT_LT(regret_of_draws(2, 400, 0.05), regret_of_draws(2, 100, 0.05));
}

}  // namespace family_test
}  // namespace gibbsite
