// Rows on several ranks: every question has the bits that one process has, for any number of ranks
// and any shares, and ranks that are not at the same place end the run.
#include "gibbsite/engine/sharded.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <mutex>

#include "core/score_coordinates.hpp"
#include "engine/people_scores.hpp"
#include "engine/sharded/sums.hpp"
#include "engine/sharded_cases.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/summation.hpp"
#include "support/repeats.hpp"
#include "support/thread_ranks.hpp"

namespace gibbsite::sharded_cases {
namespace sharded_test {

using testing::HasSubstr;

TEST_P(Sharded, HasTheBitsOfOneProcess) {
  const Case c = GetParam();
  const Table t(c);
  static support::Thinned sweep(5);  // over all cases
  for (const char* const backend : {"reference", "cpu"}) {
    SCOPED_TRACE(backend);
    const auto alone = one(backend)->load(t.rows.view(), t.rows.y, t.loss);
    const Answers whole = ask(*alone, c, t, 0, 7);
    const auto expect_same_of = [&](const std::vector<std::uint64_t>& bounds) {
      if (!sweep.skips()) expect_same_on(backend, c, t, whole, bounds);
    };
    for (const std::size_t ranks : {1U, 2U, 3U, 4U, 7U}) {
      expect_same_of(share_bounds(c.n, ranks));
    }
    expect_same_of({0, 0, c.n});  // rank 0 has none
    expect_same_of({0, c.n, c.n, c.n});
    if (c.n > 9 * block) {
      expect_same_of({0, block, 9 * block, c.n});
      expect_same_of({0, 0, 3 * block, 3 * block, 8 * block, c.n});
    }
  }
}

// Sums of people's scores: each person has rows on several ranks, and some rows are nobody's.
std::vector<double> people_moments(Engine& engine, const Table& t, std::size_t first) {
  const std::size_t d = t.P.size() / 2, K = t.loss.outputs(), size = score_coordinates(K, 2);
  std::vector<std::uint32_t> place;
  for (std::size_t i = first; i < first + engine.local_rows(); ++i)
    place.push_back(i % 11 == 5 ? ~0U
                                : static_cast<std::uint32_t>(i * 7919 % (d > 1000 ? 1100 : 2600)));
  std::vector<double> out(size * size, NAN);
  people_score_moments(engine, {t.P.data(), d, 2}, {.clip = 0.4}, std::span(t.theta).first(d * K),
                       {place, ~0U, 0.9}, {out.data(), size, size});
  return out;
}

TEST_P(Sharded, AddsScoresOfPeopleWithTheBitsOfOneProcess) {
  const Case c = GetParam();
  const Table t(c);
  static support::Thinned sweep(5);
  for (const char* const backend : {"reference", "cpu"}) {
    const auto whole = people_moments(*one(backend)->load(t.rows.view(), t.rows.y, t.loss), t, 0);
    for (const std::vector<std::uint64_t>& bounds :
         {share_bounds(c.n, 2), share_bounds(c.n, 3), {0, 0, c.n}, {0, c.n, c.n}}) {
      if (sweep.skips()) continue;
      SCOPED_TRACE(fmt::format("{} {}", backend, fmt::join(bounds, ", ")));
      ThreadRanks::run(bounds.size() - 1, [&](Communicator& ranks) {
        const std::size_t first = bounds[ranks.rank()], last = bounds[ranks.rank() + 1];
        const auto sharded = shard(one(backend), ranks);
        EXPECT_EQ(people_moments(*load(t, *sharded, first, last), t, first), whole);
      });
    }
  }
}

// What is asked of ranks: people and places that fit.
TEST(ShardedPeople, AreRefusedWithoutAPlaceForEachRow) {
  EXPECT_THAT(refusal([](const Case& c, const Table& t, Communicator& ranks, std::size_t first,
                         std::size_t last) {
                const auto sharded = shard(one("cpu"), ranks);
                const auto engine = load(t, *sharded, first, last);
                std::vector<std::uint32_t> place(last - first - (ranks.rank() == 1 ? 1 : 0));
                std::vector<double> out(4);
                people_score_moments(*engine, {t.P.data(), c.d, 2}, {.clip = 0.4},
                                     std::span(t.theta).first(c.d), {place, ~0U, 1},
                                     {out.data(), 2, 2});
              }),
              HasSubstr("one place for each row of the rank"));
  EXPECT_THAT(refusal([](const Case& c, const Table& t, Communicator& ranks, std::size_t first,
                         std::size_t last) {
                const auto sharded = shard(one("cpu"), ranks);
                const auto engine = load(t, *sharded, first, last);
                const std::vector<std::uint32_t> place(last - first, 3);
                std::vector<double> out(4);
                people_score_moments(
                    *engine, {t.P.data(), c.d, 2}, {.clip = ranks.rank() == 1 ? 0.5 : 0.4},
                    std::span(t.theta).first(c.d), {place, ~0U, 1}, {out.data(), 2, 2});
              }),
              HasSubstr("rank 1"));
}

constexpr std::size_t ten = 10 * block + 7;
INSTANTIATE_TEST_SUITE_P(
    Cases, Sharded,
    testing::Values(Case{"logistic", 1, 3}, Case{"logistic", 1000, 9, 0, Kept::dense, 3},
                    Case{"logistic", 1025, 5, 0, Kept::dense, 16}, Case{"logistic", ten, 5},
                    Case{"logistic", ten, 17, 0, Kept::dense, 16},
                    Case{"logistic(0.4,1)", ten, 4, 0, Kept::dense, 3},
                    Case{"huber", ten, 8, 0, Kept::dense, 3},
                    Case{"poisson", ten, 6, 0, Kept::dense, 16}, Case{"poisson", 1025, 6},
                    Case{"softmax-3", ten, 5, 0, Kept::dense, 1},
                    Case{"softmax-3", 1025, 5, 0, Kept::dense, 16},
                    Case{"softmax-3(0.5,1,1)", ten, 4, 0, Kept::dense, 3},
                    Case{"logistic(0.4,1)", ten, 5, 0, Kept::dense, 3, true},
                    Case{"poisson", 1025, 40, 4, Kept::entries, 1, true},
                    Case{"softmax-3", 1025, 5, 0, Kept::dense, 1, true},
                    // Entries: as such, of dense rows, and more features than a block has of them.
                    Case{"logistic", ten, 40, 4, Kept::entries, 3},
                    Case{"logistic", ten, 40, 4, Kept::entries, 1},
                    Case{"softmax-3", ten, 40, 4, Kept::entries, 3},
                    Case{"logistic", ten, 40, 2, Kept::zeros_of_half, 3},
                    Case{"poisson", ten, 40, 2, Kept::zeros_of_half, 1},
                    Case{"logistic", support::repeats(ten, 2 * block + 7), 4000, 2, Kept::entries,
                         3},
                    Case{"poisson", 1025, 4000, 2, Kept::entries, 1},
                    Case{"softmax-3", 2 * block + 5, 4000, 2, Kept::entries, 1}),
    [](const auto& p) {
      std::string name = fmt::format("{}_{}x{}_{}_C{}", p.param.loss, p.param.n, p.param.d,
                                     p.param.kept == Kept::dense     ? "dense"
                                     : p.param.kept == Kept::entries ? "entries"
                                                                     : "few",
                                     p.param.chains) +
                         (p.param.weighted ? "_weighted" : "");
      for (char& v : name) {
        if (std::isalnum(static_cast<unsigned char>(v)) == 0) v = '_';
      }
      return name;
    });

TEST(ShardedThreads, ChangeNoBit) {
  const Case c{"logistic", 70 * block + 3, 20, 0, Kept::dense, 3};
  const Table t(c);
  const auto alone = one("cpu")->load(t.rows.view(), t.rows.y, t.loss);
  const Answers whole = ask(*alone, c, t, 0, 7);
  ThreadRanks::run(2, [&](Communicator& ranks) {
    const auto bounds = share_bounds(c.n, 2);
    const std::size_t first = bounds[ranks.rank()], last = bounds[ranks.rank() + 1];
    const auto sharded = shard(make_backend("cpu", {.threads = 3}), ranks);
    const auto engine = sharded->load(t.part(first, last),
                                      std::span(t.rows.y).subspan(first, last - first), t.loss);
    expect_same(whole, ask(*engine, c, t, first, 7), first, ranks.rank());
  });
}

TEST(ShareBounds, AreWholeBlocksOfAboutTheSameSize) {
  EXPECT_THAT(share_bounds(1, 3), testing::ElementsAre(0, testing::_, testing::_, 1));
  for (const std::uint64_t rows : {1UL, 1024UL, 1025UL, 100000UL, 1000000UL, 200000000UL}) {
    for (const std::size_t ranks : {1U, 2U, 3U, 7U, 64U}) {
      const auto bounds = share_bounds(rows, ranks);
      ASSERT_EQ(bounds.size(), ranks + 1);
      EXPECT_EQ(bounds.front(), 0U);
      EXPECT_EQ(bounds.back(), rows);
      for (std::size_t p = 0; p < ranks; ++p) {
        EXPECT_LE(bounds[p], bounds[p + 1]);
        EXPECT_TRUE(bounds[p] % block == 0 || bounds[p] == rows);
        const double mean = static_cast<double>(rows) / static_cast<double>(ranks);
        if (mean < 32 * block) continue;
        EXPECT_LE(static_cast<double>(bounds[p + 1] - bounds[p]), 1.035 * mean)
            << rows << " on " << ranks;
      }
    }
  }
}

// The sums of nodes in an order that shows who was added to whom.
TEST(NodeSums, AreTheTreesWhateverTheShares) {
  using sharded::Mark;
  using sharded::Node;
  using sharded::NodeSums;
  std::mt19937 bits(5);
  std::lognormal_distribution<double> far(0, 12);
  for (const std::size_t blocks : {1U, 2U, 5U, 13U, 32U, 77U}) {
    std::vector<double> terms(3 * blocks);
    for (double& v : terms) v = (bits() % 2 == 0 ? -1 : 1) * far(bits);
    const std::function<double(std::size_t, std::size_t, std::size_t)> sum =
        [&](std::size_t first, std::size_t last, std::size_t i) {
          if (last - first == 1) return terms[3 * first + i];
          const std::size_t half = first + std::bit_ceil(last - first) / 2;
          return sum(first, half, i) + sum(half, last, i);
        };
    for (const std::size_t most : {std::size_t{0}, std::size_t{1} << 18}) {
      for (const std::size_t size : {1U, 2U, 3U, 4U, 7U}) {
        std::vector<std::size_t> bounds{0};
        for (std::size_t p = 1; p < size; ++p) bounds.push_back(bits() % (blocks + 1));
        bounds.push_back(blocks);
        std::ranges::sort(bounds);
        ThreadRanks::run(size, [&](Communicator& ranks) {
          NodeSums sums(ranks, bounds, nullptr, most);
          const auto out = sums(Mark(1), 3, [&](std::size_t k, std::span<double> part) {
            const Node& node = sums.mine()[k];
            for (std::size_t i = 0; i < 3; ++i) part[i] = sum(node.first, node.last, i);
          });
          for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(out[i], sum(0, blocks, i)) << blocks;
        });
      }
    }
  }
}

TEST(ShardedRefuses, RanksThatAreNotAtTheSamePlace) {
  const auto run = [](const auto& change, std::uint64_t calls) {
    return refusal([&](const Case& c, const Table& t, Communicator& ranks, std::size_t first,
                       std::size_t last) {
      const auto backend = shard(one("cpu"), ranks);
      const auto engine = load(t, *backend, first, last);
      Ensemble chains = chains_of(c, t, 7);
      engine->advance(chains, 2);
      if (ranks.rank() == 1) change(chains);
      for (std::uint64_t k = 0; k < calls; ++k) engine->advance(chains, 1);
    });
  };
  EXPECT_EQ(run([](Ensemble&) {}, 2), "");
  const auto is_told = HasSubstr("ranks: rank 1 is not where rank 0 is");
  // An ulp of theta, as noise of another key on one rank would leave; a step; a setting.
  EXPECT_THAT(run([](Ensemble& e) { e.theta[1] = std::nextafter(e.theta[1], 9); }, 1), is_told);
  EXPECT_THAT(run([](Ensemble& e) { ++e.step[0]; }, 1), is_told);
  EXPECT_THAT(run([](Ensemble& e) { e.specs[0].step_size *= 2; }, 1), is_told);
  EXPECT_THAT(run([](Ensemble& e) { e.step[0] = e.step[1] = 100; }, 1), is_told);
}

TEST(ShardedRefuses, AnotherQuestion) {
  EXPECT_THAT(refusal([](const Case&, const Table& t, Communicator& ranks, std::size_t first,
                         std::size_t last) {
                const auto backend = shard(one("reference"), ranks);
                const auto engine = load(t, *backend, first, last);
                if (ranks.rank() == 2) {
                  static_cast<void>(engine->row_norms());
                } else {
                  static_cast<void>(engine->largest_logit(std::span(t.theta).first(4)));
                }
              }),
              HasSubstr("ranks: rank 2 is not where rank 0 is"));
}

// Whatever is asked, in a step with it: the ranks that were not asked to end do not wait.
TEST(ShardedStops, AllAtTheQuestionOfOne) {
  const Case c{"logistic", 3 * block, 4};
  const Table t(c);
  const std::span<const double> theta = std::span(t.theta).first(4);
  using Ask = std::function<void(Engine&)>;
  const std::vector<Ask> asks{[&](Engine& e) { static_cast<void>(e.plain_value(theta)); },
                              [&](Engine& e) { static_cast<void>(e.largest_logit(theta)); },
                              [&](Engine& e) {
                                std::vector<double> g(4);
                                e.loss_gradients({theta.data(), 1, 4}, {g.data(), 1, 4});
                              },
                              [&](Engine& e) {
                                std::vector<double> v(1);
                                e.loss_values({theta.data(), 1, 4}, v);
                              },
                              [&](Engine& e) {
                                std::vector<double> v(4);
                                e.hessian(theta, 1)->add_diagonal(v);
                              }};
  for (const Ask& ask : asks) {
    std::array<std::atomic<bool>, 3> stop{};
    std::array<int, 3> answered{}, ended{};
    ThreadRanks::run(3, [&](Communicator& ranks) {
      const std::size_t rank = ranks.rank(), first = rank * block;
      const auto backend = shard(one("cpu"), ranks, &stop[rank]);
      const auto engine = load(t, *backend, first, first + block);
      for (int k = 0; k < 3; ++k) {
        if (rank == 1 && k == 2) stop[1] = true;
        try {
          ask(*engine);
          ++answered[rank];
        } catch (const Interrupted&) {
          ++ended[rank];
        }
      }
    });
    EXPECT_EQ(answered, (std::array{2, 2, 2}));
    EXPECT_EQ(ended, (std::array{1, 1, 1}));
  }
}

TEST(ShardedRefuses, SharesThatDoNotFit) {
  EXPECT_THAT(
      refusal([](const Case& c, const Table& t, Communicator& ranks, std::size_t, std::size_t) {
        const std::size_t bounds[] = {0, 1000, 2000, c.n};
        load(t, *shard(one("cpu"), ranks), bounds[ranks.rank()], bounds[ranks.rank() + 1]);
      }),
      HasSubstr("ranks: the rows of rank 1 begin behind row 1000"));
  EXPECT_THAT(refusal([](const Case&, const Table& t, Communicator& ranks, std::size_t first,
                         std::size_t last) {
                load(t, *shard(one(ranks.rank() == 1 ? "reference" : "cpu"), ranks), first, last);
              }),
              HasSubstr("ranks: rank 1 is 'gibbsite"));
  EXPECT_THAT(refusal([](const Case&, const Table& t, Communicator& ranks, std::size_t first,
                         std::size_t last) {
                const std::size_t labels = last - first - (ranks.rank() == 2 ? 1 : 0);
                shard(one("cpu"), ranks)
                    ->load(t.part(first, last), std::span(t.rows.y).subspan(first, labels), t.loss);
              }),
              HasSubstr("rank 2: data: "));
  EXPECT_THAT(refusal([](const Case&, const Table& t, Communicator& ranks, std::size_t,
                         std::size_t) { load(t, *shard(one("cpu"), ranks), 0, 0); }),
              HasSubstr("data: there are no rows"));
}

// A label that is none of softmax's classes, met in 50 digits, by its place among all rows.
TEST(ShardedRefuses, ALabelOnALaterRank) {
  const Case c{"softmax-3", 2 * block, 2};
  Table t(c);
  t.rows.y[block + 5] = 7;
  EXPECT_THAT(
      [&] {
        ThreadRanks::run(2, [&](Communicator& ranks) {
          const std::size_t first = ranks.rank() * block;
          const auto backend = shard(one("cpu"), ranks);
          const std::vector<double> w(6, 0.5);
          static_cast<void>(
              load(t, *backend, first, first + block)->exact_difference({t.theta.data(), 1, 6}, w));
        });
      },
      testing::ThrowsMessage<BadInput>(HasSubstr("rank 1: data: the label of row 1029 is none")));
}

}  // namespace sharded_test
}  // namespace gibbsite::sharded_cases
