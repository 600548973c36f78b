#include "gibbsite/engine/ensemble.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr StreamKey key(NoiseKind::philox, {});

TEST(Ensemble, StartsAtThePublicCenter) {
  const Ensemble e =
      start({{.center = {1, 2}, .key = key}, {.key = key}, {.center = {-3, 4}, .key = key}}, 2);
  EXPECT_EQ(e.chains(), 3u);
  EXPECT_THAT(e.theta, ElementsAre(1, 2, 0, 0, -3, 4));
  EXPECT_THAT(e.step, ElementsAre(0, 0, 0));
  EXPECT_FALSE(e.finished());
}

TEST(Ensemble, IsFinishedWhenEveryChainIs) {
  Ensemble e = start({{.iterations = 2, .key = key}, {.iterations = 5, .key = key}}, 1);
  e.step = {2, 4};
  EXPECT_FALSE(e.finished());
  e.step = {2, 5};
  EXPECT_TRUE(e.finished());
}

TEST(Ensemble, RefusesWhatCannotRun) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto refused = [](const ChainSpec& spec, const char* name) {
    EXPECT_THAT([&] { start({spec}, 2); }, ThrowsMessage<BadInput>(HasSubstr(name)));
  };
  for (const double h : {0.0, -1.0, inf, nan}) refused({.step_size = h, .key = key}, "step_size");
  for (const double b : {-1.0, inf, nan}) {
    refused({.inverse_temperature = b, .key = key}, "inverse_temperature");
    refused({.prior_precision = b, .key = key}, "prior_precision");
  }
  refused({.iterations = 0, .key = key}, "iterations");
  refused({.center = {1}, .key = key}, "center");
  refused({.center = {1, nan}, .key = key}, "center");
  EXPECT_THAT([] { start({}, 2); }, ThrowsMessage<BadInput>(HasSubstr("chains")));
}

// theta - h (beta g + m (theta - theta0)) + sqrt(2h) xi, at most 8 roundings of each part.
// A pure function of key, chain and coordinate, in noise that no step uses.
TEST(Ensemble, StartsAtRandom) {
  const std::vector<double> center = {1, -2, 0.5};
  Ensemble e = start({{.key = key, .stream = 7}, {.key = key, .stream = 2}}, 3);
  start_at_random(e, center, 0.25);
  for (std::size_t c = 0; c < 2; ++c) {
    std::vector<double> xi(3);
    fill_normals(key, e.specs[c].stream, start_step, xi);
    for (std::size_t j = 0; j < 3; ++j) {
      EXPECT_EQ(e.chain(c)[j], center[j] + 0.25 * xi[j]);
    }
  }
  EXPECT_NE(e.chain(0)[0], e.chain(1)[0]);
  EXPECT_THAT(e.step, ElementsAre(0, 0));
  start_at_random(e, center, 0);
  EXPECT_THAT(e.theta, ElementsAre(1, -2, 0.5, 1, -2, 0.5));

  EXPECT_THAT(
      [&] {
        start_at_random(e, std::vector<double>{1, 2}, 1);
      },
      ThrowsMessage<BadInput>(HasSubstr("center: has 2")));
  EXPECT_THAT(
      [&] {
        start_at_random(e, std::vector<double>{1, 2, HUGE_VAL}, 1);
      },
      ThrowsMessage<BadInput>(HasSubstr("not finite")));
  for (const double bad : {-1.0, HUGE_VAL, std::nan("")}) {
    EXPECT_THAT([&] { start_at_random(e, center, bad); },
                ThrowsMessage<BadInput>(HasSubstr("deviation: ")));
  }
}

TEST(LangevinUpdate, IsTheFormula) {
  constexpr double u = std::numeric_limits<double>::epsilon() / 2;
  const std::size_t d = 13;
  for (const bool centered : {false, true}) {
    ChainSpec spec{.inverse_temperature = 0.3,
                   .prior_precision = 0.7,
                   .step_size = 0.011,
                   .center = std::vector<double>(centered ? d : 0, 2.5),
                   .key = StreamKey::from_seed(8),
                   .stream = 3};
    std::vector<double> theta(d), gradient(d), noise(d), xi(d), scratch(d);
    for (std::size_t j = 0; j < d; ++j) {
      theta[j] = std::cos(static_cast<double>(j));
      gradient[j] = 100 * std::sin(static_cast<double>(j));
    }
    fill_normals(spec.key, 3, 41, xi);
    const auto before = theta;
    langevin_update(spec, 41, gradient, theta, scratch);
    for (std::size_t j = 0; j < d; ++j) {
      const long double from_center = before[j] - static_cast<long double>(centered ? 2.5 : 0.0);
      const long double drift = 0.011 * static_cast<long double>(0.3) * gradient[j];
      const long double prior = 0.011 * static_cast<long double>(0.7) * from_center;
      const long double kick = std::sqrt(2 * static_cast<long double>(0.011)) * xi[j];
      const long double exact = before[j] - drift - prior + kick;
      const long double bound = 8 * u *
                                (std::fabs(static_cast<long double>(before[j])) + std::fabs(drift) +
                                 std::fabs(prior) + std::fabs(kick));
      EXPECT_TRUE(std::fabs(theta[j] - exact) <= bound) << j;
    }
    // Pure: the same arguments give the same bits; another step or stream gives other noise.
    auto again = before, other = before;
    langevin_update(spec, 41, gradient, again, scratch);
    EXPECT_EQ(again, theta);
    langevin_update(spec, 42, gradient, other, scratch);
    EXPECT_NE(other, theta);
    other = before;
    spec.stream = 4;
    langevin_update(spec, 41, gradient, other, scratch);
    EXPECT_NE(other, theta);
  }
}

}  // namespace
}  // namespace gibbsite
