// The proximal sampler on every backend: contract, bits and counts. Its law is judged in
// tests/statistical/proximal_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "gibbsite/chains/potential.hpp"
#include "gibbsite/chains/proximal.hpp"
#include "gibbsite/core/error.hpp"
#include "support/backend.hpp"

namespace gibbsite {
namespace proximal_backend_test {

struct Instance {
  std::size_t n = 0, d = 0;
  std::vector<float> x, y;

  [[nodiscard]] Potential potential(double beta = 0.5, double m = 1.0) const {
    return {support::make_test_backend(GIBBSITE_TEST_BACKEND)
                ->load(Rows(x.data(), n, d), y, loss_named("logistic")),
            beta,
            m,
            {}};
  }
};

// Rows of norm at most 1.
Instance make_problem(std::size_t n, std::size_t d, unsigned seed) {
  std::mt19937 bits(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Instance p{n, d, std::vector<float>(n * d), std::vector<float>(n)};
  for (float& v : p.x) v = uniform(bits) / std::sqrt(static_cast<float>(d));
  for (float& v : p.y) v = uniform(bits) < -0.3f ? -1.0f : 1.0f;
  return p;
}

double smoothness(const Potential& u) {
  return u.beta * static_cast<double>(u.engine->rows()) * 0.25 + u.prior_precision;
}

class Proximal : public support::TestOn {
 protected:
  Proximal() : TestOn(GIBBSITE_TEST_BACKEND) {}

  // theta of every chain after that many iterations.
  std::vector<std::vector<double>> run(const Potential& u, const ProximalSchedule& schedule,
                                       std::size_t chains, std::uint64_t iterations,
                                       double caution = 1, ProximalCounts* counts = nullptr) {
    ProximalChains sampler(u, schedule, center(u, schedule), chains, StreamKey::from_seed(4));
    sampler.be_cautious(caution);
    sampler.start_at_random(0.3);
    while (sampler.advance(iterations)) {
    }
    if (counts != nullptr) *counts = sampler.counts();
    std::vector<std::vector<double>> out;
    for (std::size_t c = 0; c < chains; ++c) {
      out.emplace_back(sampler.theta(c).begin(), sampler.theta(c).end());
    }
    return out;
  }
  static std::vector<double> center(const Potential& u, const ProximalSchedule& schedule) {
    if (schedule.gradients > 0) return std::vector<double>(u.features(), 0.0);
    return minimize(u, 1e-6).theta;
  }
};

ProximalSchedule schedule_for(const Potential& u, bool padded = false, double tv = 1e-8) {
  const double G = padded ? u.beta * static_cast<double>(u.engine->rows()) : 1e-3;
  return proximal_schedule(
      {static_cast<double>(u.features()), u.prior_precision, smoothness(u), tv, G}, padded);
}

TEST_F(Proximal, BitsRepeatWhoeverIsBeside) {
  const Instance p = make_problem(300, 7, 1);
  const auto u = p.potential();
  const auto schedule = schedule_for(u);
  const auto alone = run(u, schedule, 1, 6), five = run(u, schedule, 5, 6);
  EXPECT_EQ(five, run(u, schedule, 5, 6));
  EXPECT_NE(five[0], five[1]);
  // The cpu backend adds in another order for many chains than for few, and so may cuBLAS; the
  // decisions are exact, so only the mean of the proposals feels it.
  for (std::size_t j = 0; j < p.d; ++j) EXPECT_NEAR(alone[0][j], five[0][j], 1e-9);
}

TEST_F(Proximal, DecisionsDoNotDependOnTheirArithmetic) {
  const Instance p = make_problem(40, 3, 2);
  const auto u = p.potential(2.0, 0.5);
  ProximalCounts quick, slow;
  const auto doubles = run(u, schedule_for(u), 3, 5, 1, &quick);
  const auto digits = run(u, schedule_for(u), 3, 5, 1e16, &slow);
  EXPECT_EQ(doubles, digits);
  EXPECT_EQ(quick.exact, 0u);
  EXPECT_GT(slow.exact, slow.accepted) << "nothing was decided in 50 digits";
  EXPECT_EQ(quick.proposals, slow.proposals);
}

TEST_F(Proximal, StoppedAndRestoredIsUninterrupted) {
  const Instance p = make_problem(200, 5, 3);
  const auto u = p.potential();
  const auto schedule = schedule_for(u);
  const auto whole = run(u, schedule, 3, 8);
  const auto at = center(u, schedule);
  ProximalChains first(u, schedule, at, 3, StreamKey::from_seed(4));
  first.start_at_random(0.3);
  for (int pass = 0; pass < 7; ++pass) first.advance(8);
  ProximalChains second(u, schedule, at, 3, StreamKey::from_seed(4));
  second.restore(first.positions(), first.iterations());
  while (second.advance(8)) {
  }
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t j = 0; j < p.d; ++j) EXPECT_NEAR(second.theta(c)[j], whole[c][j], 1e-9);
  }
  EXPECT_THAT(second.iterations(), testing::Each(8u));
}

// Padded: the passes are public, whatever the rows, the labels and the bits.
TEST_F(Proximal, PaddedPassesArePublic) {
  for (const unsigned seed : {5u, 6u}) {
    Instance p = make_problem(100, 4, seed);
    if (seed == 6) std::fill(p.x.begin(), p.x.end(), 0.0f);
    const auto u = p.potential();
    const auto schedule = schedule_for(u, true);
    ProximalCounts counts;
    run(u, schedule, 2, 4, 1, &counts);
    EXPECT_EQ(static_cast<double>(counts.gradient_passes), 4 * schedule.gradients);
    EXPECT_EQ(static_cast<double>(counts.proposal_passes), 4 * schedule.rounds);
    EXPECT_EQ(counts.capped, 0u);
    EXPECT_EQ(counts.accepted, 8u);
  }
}

// One chain's passes stay within the plan's: two gradients, and the rounds expected at the bound on
// acceptance. An iteration's rounds are at most geometric with that mean r, so k of them exceed
// k r + 6 sqrt(k) r with probability below 1e-7 (normal tail at six deviations; k >= 100).
TEST_F(Proximal, PassesStayWithinThePlan) {
  const Instance p = make_problem(400, 6, 7);
  const auto u = p.potential(0.5, 1.0);
  auto schedule = schedule_for(u);
  const double k = 120, A = smoothness(u) - 1.0;
  schedule.step_size = 3 / A;
  schedule.proposals = 4;
  schedule.residual = std::sqrt(0.02 / A) * (1.0 + A / 3);
  const auto bounds = proposal_bounds(6, 1.0, smoothness(u), schedule.step_size, schedule.residual);
  const double r = expected_rounds(bounds.acceptance_down, schedule.proposals);
  ProximalCounts counts;
  run(u, schedule, 1, static_cast<std::uint64_t>(k), 1, &counts);
  EXPECT_LE(static_cast<double>(counts.gradient_passes), 2 * k);
  EXPECT_LE(static_cast<double>(counts.proposal_passes), k * r + 6 * std::sqrt(k) * r);
  EXPECT_EQ(counts.capped, 0u);
}

TEST_F(Proximal, MoreFeaturesThanRowsAndNoPrediction) {
  const Instance wide = make_problem(5, 1100, 8);  // beyond the features that are predicted
  const auto u = wide.potential();
  ProximalCounts counts;
  const auto theta = run(u, schedule_for(u), 1, 3, 1, &counts);
  EXPECT_EQ(counts.accepted, 3u);
  double squared = 0;
  for (const double v : theta[0]) squared += v * v;
  EXPECT_NEAR(squared, 1100, 400) << "the prior rules nearly every direction";
}

TEST_F(Proximal, ExactRejectionTakesOneIteration) {
  const Instance p = make_problem(50, 4, 9);
  const auto u = p.potential(0.5, 5.0);
  const auto schedule = rejection_schedule({4, 5.0, smoothness(u), 1e-9, 1e-5});
  ProximalChains chains(u, schedule, minimize(u, 1e-6).theta, 20, StreamKey::from_seed(1));
  while (chains.advance(1)) {
  }
  EXPECT_EQ(chains.counts().accepted, 20u);
  EXPECT_EQ(chains.counts().gradient_passes, 1u);
  EXPECT_NE(chains.theta(0)[0], chains.theta(1)[0]);
}

TEST_F(Proximal, RefusesWhatItCannotSample) {
  const Instance p = make_problem(20, 3, 10);
  const auto u = p.potential();
  const auto expect_bad = [&](const Potential& potential, ProximalSchedule schedule,
                              std::vector<double> at, std::size_t chains, const char* name) {
    try {
      ProximalChains(potential, schedule, at, chains, StreamKey::from_seed(1));
      FAIL() << name << " was accepted";
    } catch (const BadInput& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(name));
    }
  };
  const auto good = schedule_for(u);
  const std::vector<double> zero(3, 0.0);
  expect_bad(p.potential(0.5, 0.0), good, zero, 1, "`prior_precision`");
  expect_bad(u, good, {0.0, NAN, 0.0}, 1, "start");
  expect_bad(u, good, {0.0, 0.0}, 1, "start");
  expect_bad(u, good, zero, 0, "chains");
  auto bad = good;
  bad.step_size = -1;
  expect_bad(u, bad, zero, 1, "step_size");
  bad = good;
  bad.residual = 0;
  expect_bad(u, bad, zero, 1, "residual");
  bad = good;
  bad.rounds = 1e12;
  expect_bad(u, bad, zero, 1, "rounds");
}

}  // namespace proximal_backend_test
}  // namespace gibbsite
