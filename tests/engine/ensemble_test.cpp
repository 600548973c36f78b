#include "gibbsite/engine/ensemble.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace ensemble_test {

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

// Output k has the noise of a chain of stream K s + k, and its part of the gradient and the center.
TEST(LangevinUpdate, OfSeveralOutputsIsALaneForEach) {
  const std::size_t K = 3, d = 5;
  ChainSpec spec{.inverse_temperature = 0.3,
                 .prior_precision = 0.7,
                 .step_size = 0.011,
                 .center = std::vector<double>(K * d),
                 .key = StreamKey::from_seed(8),
                 .stream = 7};
  std::vector<double> theta(K * d), gradient(K * d), scratch(K * d), part(d);
  for (std::size_t j = 0; j < K * d; ++j) {
    theta[j] = std::cos(static_cast<double>(j));
    gradient[j] = 100 * std::sin(static_cast<double>(j));
    spec.center[j] = 0.1 * static_cast<double>(j);
  }
  const std::vector<double> before = theta;
  langevin_update(spec, 41, gradient, theta, scratch, K);
  for (std::size_t k = 0; k < K; ++k) {
    const auto of = [&](const std::vector<double>& v) {
      return std::vector<double>(v.begin() + static_cast<std::ptrdiff_t>(k * d),
                                 v.begin() + static_cast<std::ptrdiff_t>((k + 1) * d));
    };
    ChainSpec lane = spec;
    lane.stream = static_cast<std::uint32_t>(K * 7 + k);
    lane.center = of(spec.center);
    std::vector<double> alone = of(before);
    langevin_update(lane, 41, of(gradient), alone, part);
    EXPECT_EQ(of(theta), alone) << k;
  }
}

TEST(OutputStream, IsRefusedBeyond32Bits) {
  EXPECT_EQ(output_stream(5, 1, 0), 5U);
  EXPECT_EQ(output_stream(5, 3, 2), 17U);
  EXPECT_EQ(output_stream(0xffffffff, 1, 0), 0xffffffffU);
  EXPECT_EQ(output_stream(0x55555554, 3, 2), 0xfffffffeU);  // 3 (2^32/3 - 1) + 2
  EXPECT_EQ(output_stream(0x55555555, 3, 0), 0xffffffffU);
  for (const auto& [stream, outputs, k] :
       {std::tuple{0x55555555U, 3U, 1U}, std::tuple{0x55555556U, 3U, 0U},
        std::tuple{0xffffffffU, 1000U, 0U}, std::tuple{0xffffffffU, 2U, 1U}, std::tuple{5U, 3U, 3U},
        std::tuple{5U, 0U, 0U}}) {
    EXPECT_THROW(output_stream(stream, outputs, k), BadInput) << stream << ' ' << outputs;
  }
  Ensemble e = start(
      {{.key = StreamKey::from_seed(1)}, {.key = StreamKey::from_seed(1), .stream = 0x55555555U}},
      6);
  EXPECT_NO_THROW(require_output_streams(e, 1));
  EXPECT_NO_THROW(require_output_streams(e, 2));
  EXPECT_THAT([&] { require_output_streams(e, 3); },
              testing::ThrowsMessage<BadInput>(
                  testing::AllOf(testing::StartsWith("stream: chain 1431655765 of 3 outputs"),
                                 testing::Not(testing::HasSubstr("\n")))));
}

}  // namespace ensemble_test
}  // namespace gibbsite
