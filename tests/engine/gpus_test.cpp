// Rows on GPUs of several ranks, in software: within rounding of one GPU, the same bits among
// ranks, and GPUs that are not at the same place end the run.
#include "engine/sharded/gpus.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <mutex>

#include "engine/cuda/engine.hpp"
#include "engine/sharded_cases.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/summation.hpp"
#include "gibbsite/engine/sharded.hpp"
#include "support/repeats.hpp"
#include "support/talking_gpus.hpp"
#include "support/thread_ranks.hpp"

namespace gibbsite::sharded_cases {
namespace gpus_test {

using support::own_gpu;
using support::TalkingGpus;
using testing::HasSubstr;

enum class Talk { by_host, by_gpus };

std::unique_ptr<Backend> on_gpus(Communicator& ranks, Talk talk,
                                 const support::EmulatedGpu& made = {}) {
  return shard(own_gpu(made), ranks, nullptr,
               talk == Talk::by_gpus ? std::make_unique<TalkingGpus>(ranks) : nullptr);
}

// How far two engines' answers may be apart that both keep to accumulation_depth
// (docs/theory/map-error.md, steps 1 to 3, coordinate by coordinate); 0 where all say the same
// bits.
double apart(const std::string& name, std::size_t at, const Answers& whole, const Case& c,
             const Table& t) {
  constexpr double u = 0x1p-53;
  const std::size_t d = c.d * t.loss.outputs(), j = at % d % c.d;
  const double depth = static_cast<double>(accumulation_depth(c.n)) + 1,
               n = static_cast<double>(c.n);
  const auto length = [](auto numbers) {
    double squares = 0;
    for (const double v : numbers) squares += v * v;
    return std::sqrt(squares);
  };
  if (name.starts_with("values")) return 2 * u * n * whole.at(name)[at];
  if (name == "moments" || name == "information" || name == "score moments") {
    const auto& m = whole.at(name);  // [k x k]: of coordinates a and b, at most as on the diagonal
    const auto k = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(m.size()))));
    const double of_a = m[at / k * (k + 1)], of_b = m[at % k * (k + 1)];
    return 2 * 1.01 * depth * u * std::sqrt(of_a * of_b);
  }
  const bool curvature = name.starts_with("capped") && at == d;
  if (curvature) {
    return 2 * (depth + 32) * u * n * t.loss.curvature() * static_cast<double>(t.loss.outputs());
  }
  if (name != "theta" && !name.starts_with("gradients") && name != "weighted" &&
      !name.starts_with("capped"))
    return 0;
  const double roundings = depth + 16 + 4 * static_cast<double>(t.loss.outputs());
  const double norm = length(t.theta) + length(whole.at("theta"));
  double sum = 0;
  for (std::size_t i = 0; i < c.n; ++i) {
    const std::span<const float> x(t.rows.x.data() + i * c.d, c.d);
    const double w = name == "weighted" ? std::abs(t.weights[i]) : 1;
    sum += w * std::abs(static_cast<double>(x[j])) *
           (roundings * t.loss.max_abs_derivative() +
            t.loss.curvature() * static_cast<double>(c.d) * length(x) * norm);
  }
  const double gradient = 2 * 1.01 * u * sum;
  // Seven steps with h = 1e-3 and beta = 1e-2 add this much, and their updates round.
  return name == "theta" ? 2 * 7e-5 * gradient + 7 * 100 * u * (1 + norm) : gradient;
}

void expect_near(const Answers& whole, const Answers& of_rank, std::size_t first, const Case& c,
                 const Table& t) {
  for (const auto& [name, got] : of_rank) {
    const bool rows = name.starts_with("clipped ");
    const std::span<const double> all = whole.at(rows ? "clipped 0" : name);
    const auto expected = all.subspan(rows ? 2 * first : 0, got.size());
    for (std::size_t k = 0; k < got.size(); ++k) {
      ASSERT_LE(std::abs(got[k] - expected[k]), rows ? 0 : apart(name, k, whole, c, t))
          << name << " " << k;
    }
  }
}

// Returns the answers of every rank, one entry for each.
std::vector<Answers> ask_gpus(const Case& c, const Table& t,
                              const std::vector<std::uint64_t>& bounds, Talk talk,
                              std::uint64_t seed) {
  std::vector<Answers> out(bounds.size() - 1);
  ThreadRanks::run(out.size(), [&](Communicator& ranks) {
    const std::size_t first = bounds[ranks.rank()], last = bounds[ranks.rank() + 1];
    const auto backend = on_gpus(ranks, talk, {.seed = seed + ranks.rank()});
    const auto engine = backend->load(t.part(first, last),
                                      std::span(t.rows.y).subspan(first, last - first), t.loss);
    EXPECT_TRUE(engine->certifiable());
    out[ranks.rank()] = ask(*engine, c, t, first, 7 + ranks.rank());
  });
  return out;
}

class ShardedGpus : public testing::TestWithParam<Case> {};

TEST_P(ShardedGpus, AreWithinRoundingOfOneGpu) {
  const Case c = GetParam();
  const Table t(c);
  const auto alone = own_gpu()->load(t.rows.view(), t.rows.y, t.loss);
  const Answers whole = ask(*alone, c, t, 0, 7);
  std::vector<std::vector<std::uint64_t>> shares{{0, 0, 2 * block, 2 * block, c.n}};
  for (const std::size_t ranks : {1U, 2U, 4U, 7U}) shares.push_back(share_bounds(c.n, ranks));
  static support::Thinned sweep(7, 4);  // over all cases
  for (const auto& bounds : shares) {
    if (sweep.skips()) continue;
    SCOPED_TRACE(fmt::format("bounds {}", fmt::join(bounds, ", ")));
    const auto by_host = ask_gpus(c, t, bounds, Talk::by_host, 1);
    for (std::size_t p = 0; p + 1 < bounds.size(); ++p) {
      SCOPED_TRACE(p);
      expect_near(whole, by_host[p], bounds[p], c, t);
    }
    // GPUs that talk add in the same tree, and this GPU's normals are the host's: the same bits,
    // on every rank, whatever the queues' timing.
    const auto by_gpus = ask_gpus(c, t, bounds, Talk::by_gpus, 100);
    for (std::size_t p = 0; p + 1 < bounds.size(); ++p) {
      SCOPED_TRACE(p);
      for (const auto& [name, bits] : by_gpus[p]) {
        EXPECT_TRUE(same_bits(bits, by_host[p].at(name))) << name;
        if (name.starts_with("clipped")) continue;
        EXPECT_TRUE(same_bits(bits, by_host[0].at(name))) << name;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, ShardedGpus,
                         testing::Values(Case{"logistic", 3 * block + 7, 5, 0, Kept::dense, 2},
                                         Case{"logistic", 2 * block + 7, 3, 2, Kept::entries, 5},
                                         Case{"softmax-3", 3 * block + 7, 3, 0, Kept::dense, 1}),
                         [](const auto& p) { return std::to_string(p.index); });

// A rank on whose GPU theta was not received, or not all of it, ends the run on all of them, and
// no chain has moved.
TEST(ShardedGpus, ThatAddAtAnotherThetaEndTheRun) {
  const auto run = [](const TalkingGpus::Spoil& spoil) {
    return refusal([&](const Case& c, const Table& t, Communicator& ranks, std::size_t first,
                       std::size_t last) {
      const bool spoils = ranks.rank() == 1;
      const auto backend =
          shard(own_gpu(), ranks, nullptr,
                std::make_unique<TalkingGpus>(ranks, spoils ? spoil : TalkingGpus::Spoil{}));
      const auto engine = load(t, *backend, first, last);
      Ensemble chains = chains_of(c, t, 7);
      const std::vector<double> before = chains.theta;
      try {
        engine->advance(chains, 3);
      } catch (const BadInput&) {
        EXPECT_EQ(chains.theta, before);
        EXPECT_EQ(chains.step[0], 0U);
        throw;
      }
    });
  };
  EXPECT_EQ(run({}), "");
  const auto is_told = HasSubstr("ranks: rank 1 is not where rank 0 is: another theta on its card");
  int received = 0;
  std::vector<double> old(8);
  EXPECT_THAT(run([&](std::span<double> theta) {  // the first one is lost
                if (received++ == 0) std::ranges::copy(old, theta.begin());
              }),
              is_told);
  EXPECT_THAT(run([](std::span<double> theta) { theta[7] = std::nextafter(theta[7], 9.0); }),
              is_told);
  EXPECT_THAT(run([](std::span<double> theta) { std::swap(theta[0], theta[1]); }), is_told);
  received = 0;
  EXPECT_THAT(run([&](std::span<double> theta) {  // what the last of the 3 steps adds at
                if (received++ == 1) theta[7] = std::nextafter(theta[7], 9.0);
              }),
              is_told);
}

// One that faults ends all, by the name of its rank where the host has a say.
TEST(ShardedGpus, ThatFaultEndAll) {
  for (const Talk talk : {Talk::by_host, Talk::by_gpus}) {
    const Case c{"logistic", 3 * block, 4, 0, Kept::dense, 2};
    const Table t(c);
    EXPECT_THAT(
        [&] {
          ThreadRanks::run(3, [&](Communicator& ranks) {
            const auto backend =
                on_gpus(ranks, talk, {.fault_at_launch = ranks.rank() == 1 ? 4U : 0U});
            const auto engine = load(t, *backend, ranks.rank() * block, (ranks.rank() + 1) * block);
            Ensemble chains = chains_of(c, t, 7);
            engine->advance(chains, 3);
          });
        },
        testing::ThrowsMessage<BackendUnavailable>(
            HasSubstr(talk == Talk::by_host ? "rank 1: emulated card: injected fault"
                                            : "emulated card: injected fault")));
  }
  // A GPU without room is found before any of them waits for another's.
  const std::string full = refusal(
      [](const Case& c, const Table& t, Communicator& ranks, std::size_t first, std::size_t last) {
        const std::size_t bytes = ranks.rank() == 2 ? 1000 : 1'000'000;
        const auto engine =
            load(t, *on_gpus(ranks, Talk::by_gpus, {.total_bytes = bytes}), first, last);
        Ensemble chains = chains_of(c, t, 7);
        engine->advance(chains, 3);
      });
  EXPECT_THAT(full, HasSubstr("rank 2: `backend` cuda: 2048 rows x 4 features"));
}

// What shares' sums may take of the path that a certificate counts, and the tree over ranks takes.
TEST(ShardedGpus, LeaveRoomForTheAdditionsOverRanks) {
  for (const std::uint64_t rows : {1UL, 1024UL, 1025UL, 1000000UL}) {
    for (const std::uint64_t ranks : {1UL, 2UL, 3UL, 7UL, 8UL, 1024UL}) {
      Rows share(nullptr, rows, 3);
      share.whole = {rows + 5 * block, 0, ranks};
      std::size_t levels = 0;
      while ((std::uint64_t{1} << levels) < ranks) ++levels;
      EXPECT_EQ(cuda::depth_left(share) + levels, accumulation_depth(rows + 5 * block));
    }
  }
}

TEST(OwnGpu, IsTheFirstThatNoRankBeforeHas) {
  using Ids = std::vector<std::string>;
  const auto own = [](const std::vector<std::pair<std::string, Ids>>& ranks_see) {
    std::vector<std::size_t> out(ranks_see.size());
    std::mutex mutex;
    std::vector<std::string> errors;
    ThreadRanks::run(out.size(), [&](Communicator& ranks) {
      const auto& [machine, ids] = ranks_see[ranks.rank()];
      try {
        out[ranks.rank()] = sharded::own_gpu(ranks, ids, machine);
      } catch (const NoDevice& error) {
        const std::scoped_lock lock(mutex);
        errors.emplace_back(error.what());
      }
    });
    EXPECT_TRUE(errors.empty() || errors.size() == out.size());
    return std::pair(out, errors.empty() ? "" : errors.front());
  };
  using Places = std::vector<std::size_t>;
  // Two machines of two GPUs, ranks side by side and in turn; each rank shown one of its own.
  EXPECT_EQ(own({{"a", {"1", "2"}}, {"a", {"1", "2"}}, {"b", {"3", "4"}}, {"b", {"3", "4"}}}).first,
            (Places{0, 1, 0, 1}));
  EXPECT_EQ(own({{"a", {"1", "2"}}, {"b", {"3", "4"}}, {"a", {"1", "2"}}, {"b", {"3", "4"}}}).first,
            (Places{0, 0, 1, 1}));
  EXPECT_EQ(own({{"a", {"1"}}, {"a", {"2"}}, {"a", {"3"}}}).first, (Places{0, 0, 0}));
  EXPECT_EQ(own({{"a", {"1", "2"}}, {"b", {"3"}}, {"a", {"1", "2"}}, {"a", {"1", "2"}}}).second,
            "rank 3: `backend` cuda: a shows it 2 cards for 3 ranks; start one rank for each card "
            "there, or use `backend` cpu");
  EXPECT_THAT(own({{"a", {"1"}}, {"a", {"1"}}}).second, HasSubstr("1 card for 2 ranks"));
}

}  // namespace gpus_test
}  // namespace gibbsite::sharded_cases
