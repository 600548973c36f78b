// Whole runs of rows on the GPUs of several ranks: one model on all of them, certified.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <mutex>

#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/engine/sharded.hpp"
#include "gibbsite/run/fit.hpp"
#include "tests/support/people.hpp"
#include "tests/support/talking_gpus.hpp"
#include "tests/support/thread_ranks.hpp"

namespace gibbsite {
namespace gpus_test {

// A rank's rows [first, last).
Dataset rows_of_share(const Dataset& data, std::size_t first, std::size_t last) {
  Dataset out = data;
  const auto at = [](std::size_t k) { return static_cast<std::ptrdiff_t>(k); };
  const std::size_t d = data.features();
  out.dense().assign(data.dense().begin() + at(first * d), data.dense().begin() + at(last * d));
  out.y.assign(data.y.begin() + at(first), data.y.begin() + at(last));
  return out;
}

std::vector<Release> fit_on_gpus(const Dataset& data, const Plan& made, std::size_t count,
                                 bool talk, bool seeded,
                                 const support::TalkingGpus::Spoil& spoil = {}) {
  std::vector<Release> out;
  std::mutex mutex;
  const auto bounds = share_bounds(data.rows(), count);
  support::ThreadRanks::run(count, [&](Communicator& ranks) {
    const Dataset mine = rows_of_share(data, bounds[ranks.rank()], bounds[ranks.rank() + 1]);
    const auto backend = shard(
        support::own_gpu({.seed = ranks.rank() + 1}), ranks, nullptr,
        talk ? std::make_unique<support::TalkingGpus>(ranks, ranks.rank() == 1 ? spoil : nullptr)
             : nullptr);
    FitOptions options;
    options.ranks = &ranks;
    Release release = fit(glm("logistic"), mine, made, *backend,
                          seeded ? Key::from_seed(3 + ranks.rank()) : Key::from_os(), options);
    const std::scoped_lock lock(mutex);
    out.push_back(std::move(release));
  });
  return out;
}

Plan plan_of(const Dataset& data, const char* mechanism) {
  return plan(glm("logistic").constants(data.schema, data.rows()), {.epsilon = 1, .delta = 1e-5},
              {.mechanism = mechanism});
}

TEST(FitOnGpus, IsOneCertifiedModel) {
  const Dataset data = support::people(1100, 2, 1);
  const auto releases = fit_on_gpus(data, plan_of(data, "whitened"), 2, false, false);
  const Verification verified = verify(releases[0]);
  EXPECT_TRUE(verified.valid && !verified.void_run);
  EXPECT_EQ(releases[0].model().draws, releases[1].model().draws);
}

// With a seed, noise and grid are the CPU's, so the model is near the CPU's.
TEST(FitOnGpus, IsNearTheCpus) {
  const Dataset data = support::people(1100, 2, 1);
  for (const auto& [mechanism, talk] : {std::pair("whitened", false), std::pair("path", true)}) {
    SCOPED_TRACE(mechanism);
    const Plan made = plan_of(data, mechanism);
    const auto releases = fit_on_gpus(data, made, 2, talk, true);
    EXPECT_EQ(releases[0].model().draws, releases[1].model().draws);
    const auto cpu = make_backend("cpu");
    const Release alone = fit(glm("logistic"), data, made, *cpu, Key::from_seed(3));
    EXPECT_TRUE(verify(releases[0]).void_run);
    for (std::size_t j = 0; j < alone.model().draws[0].size(); ++j) {
      EXPECT_NEAR(releases[0].model().draws[0][j], alone.model().draws[0][j], 1e-6);
    }
  }
}

// What a GPU receives after the last step is added nowhere, and is compared before the release.
TEST(FitOnGpus, IsNoneWhereTheLastThetaOfAGpuIsAnother) {
  const Dataset data = support::people(1100, 2, 1);
  const Plan made = plan_of(data, "path");
  const double steps = std::get<Path>(require_feasible(made).mechanism).iterations;
  double received = 0;
  EXPECT_THAT(
      [&] {
        fit_on_gpus(data, made, 2, true, false, [&](std::span<double> theta) {
          if (++received == steps) theta[0] = std::nextafter(theta[0], 9.0);
        });
      },
      ::testing::ThrowsMessage<BadInput>(::testing::HasSubstr(
          "ranks: the chains of rank 1 are not those of rank 0, so nothing is released")));
  EXPECT_EQ(received, steps);
}

}  // namespace gpus_test
}  // namespace gibbsite
