#include "gibbsite/schedule/dalalyan.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace {

double number(const nlohmann::json& value) { return std::stod(value.get<std::string>()); }

TEST(Dalalyan, ReproducesTheReferenceValues) {
  std::ifstream file(GIBBSITE_SHARED_DIR "/vectors/schedule.json");
  if (!file) GTEST_SKIP() << "the reference values are not here";
  const auto cases = nlohmann::json::parse(file).at("cases");
  ASSERT_FALSE(cases.empty());
  for (const auto& c : cases) {
    const auto got =
        dalalyan_schedule(number(c["d"]), number(c["m"]), number(c["M"]), number(c["gamma"]));
    const double h = number(c["dalalyan_h"]), K = number(c["dalalyan_K"]);
    EXPECT_NEAR(got.step_size, h, 2e-15 * h) << c;
    EXPECT_NEAR(got.iterations, K, std::max(1.0, 2e-15 * K)) << c;  // a shorter h may need one more
    EXPECT_EQ(got.iterations, std::floor(got.iterations));
  }
}

// gamma_1 + gamma_2 <= gamma up to the last step's rounding up, both halves by construction.
TEST(Dalalyan, SplitsTheErrorInHalves) {
  for (const double tv : {0.3, 1e-2, 1e-8}) {
    for (const double gradient : {0.0, 0.1, 3.0}) {
      const auto got = dalalyan_schedule(5, 0.2, 7, tv, gradient);
      EXPECT_LE(got.tv_mixing, tv / 2 * (1 + 1e-15));
      EXPECT_GT(got.tv_mixing, tv / 2 * 0.99);
      EXPECT_NEAR(got.tv_steps, tv / 2, tv * 1e-3);
    }
  }
}

TEST(Dalalyan, AWorseStartNeedsMoreSteps) {
  EXPECT_GT(dalalyan_schedule(5, 0.2, 7, 1e-3, 3.0).iterations,
            dalalyan_schedule(5, 0.2, 7, 1e-3, 0.0).iterations);
}

// The erratum: with m to the first power the count is short by exactly m (THEORY 3.1).
TEST(Dalalyan, ThePrintedCountIsTooSmallForSmallM) {
  const double correct = dalalyan_schedule(1, 0.05, 0.55, 0.02).iterations;
  const double printed = dalalyan_iterations_as_printed(1, 0.05, 0.55, 0.02);
  EXPECT_NEAR(printed / correct, 0.05, 1e-3);
}

TEST(Dalalyan, CountsBeyondTwoToThe64) {
  const auto got = dalalyan_schedule(100, 1, 1e4, 1e-12);
  EXPECT_GT(got.iterations, 0x1p64);
  EXPECT_TRUE(std::isfinite(got.iterations));
  EXPECT_GT(got.step_size, 0);
}

TEST(Dalalyan, RefusesWhatTheTheoremDoesNotCover) {
  EXPECT_THROW(dalalyan_schedule(5, 0.0, 7, 0.1), BadInput);
  EXPECT_THROW(dalalyan_schedule(5, 8.0, 7, 0.1), BadInput);
  EXPECT_THROW(dalalyan_schedule(5, 1.0, 7, 0.5), BadInput);
  EXPECT_THROW(dalalyan_schedule(5, 1.0, 7, 0.0), BadInput);
  EXPECT_THROW(dalalyan_schedule(5, 1.0, 7, std::nan("")), BadInput);
}

}  // namespace
}  // namespace gibbsite
