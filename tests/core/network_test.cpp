#include "gibbsite/core/network.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <random>

#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace network_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(Network, CountsCellsWithoutOverflow) {
  const Network three{{2, 3, 4}, {{}, {0}, {0, 1}}};
  EXPECT_EQ(three.configurations(0), 1U);
  EXPECT_EQ(three.cells(2), 24U);
  Network wide{std::vector<std::uint64_t>(11, 1000), {}};
  wide.parents.resize(11);
  for (std::uint32_t i = 0; i < 10; ++i) wide.parents[10].push_back(i);
  EXPECT_EQ(wide.cells(10), std::numeric_limits<std::uint64_t>::max());  // 10^33
  EXPECT_THAT([&] { wide.validate(); },
              ThrowsMessage<BadInput>(HasSubstr("the table of column 10 would have too many")));
}

TEST(Network, OrdersColumnsAfterTheirParents) {
  const Network backwards{{2, 2, 2, 2}, {{3}, {}, {0}, {1}}};
  EXPECT_THAT(backwards.order(), ElementsAre(1, 3, 0, 2));
  const Network alone{{1}, {{}}};
  EXPECT_THAT(alone.order(), ElementsAre(0));
  std::mt19937 random(3);
  for (int trial = 0; trial < 50; ++trial) {
    Network network{std::vector<std::uint64_t>(12, 2), {}};
    std::vector<std::uint32_t> places(12);
    std::ranges::generate(places, [i = 0U]() mutable { return i++; });
    std::ranges::shuffle(places, random);
    network.parents.resize(12);
    for (std::size_t at = 1; at < 12; ++at) {
      auto& own = network.parents[places[at]];
      for (std::size_t before = 0; before < at; ++before) {
        if (random() % 3 == 0) own.push_back(places[before]);
      }
      std::ranges::sort(own);
    }
    const auto order = network.order();
    std::vector<std::size_t> at(12, 99);
    for (std::size_t i = 0; i < order.size(); ++i) at[order[i]] = i;
    for (std::size_t node = 0; node < 12; ++node) {
      ASSERT_LT(at[node], 12U);
      for (const std::uint32_t parent : network.parents[node]) EXPECT_LT(at[parent], at[node]);
    }
  }
}

TEST(Network, NamesTheCycle) {
  const Network ring{{2, 2, 2, 2}, {{2}, {0}, {1}, {2}}};
  const std::vector<std::string> names{"age", "sex", "pay", "job"};
  EXPECT_THAT([&] { ring.validate(names); },
              ThrowsMessage<BadInput>(HasSubstr("'pay' -> 'age' -> 'sex' -> 'pay' is a cycle")));
}

TEST(Network, RefusesWhatIsNoNetwork) {
  const auto refuses = [](const Network& network, const char* why) {
    EXPECT_THAT([&] { network.validate(); }, ThrowsMessage<BadInput>(HasSubstr(why)));
  };
  refuses({{}, {}}, "levels: a network has from 1 to 200");
  refuses({std::vector<std::uint64_t>(201, 2), {}}, "levels: a network has from 1 to 200");
  refuses({{2, 0}, {{}, {}}}, "column 1 has 0");
  refuses({{1001}, {{}}}, "column 0 has 1001");
  refuses({{2, 2}, {{}}}, "1 lists of them for 2");
  refuses({{2, 2}, {{}, {2}}}, "place 2 of 2");
  refuses({{2, 2}, {{}, {1}}}, "its own");
  refuses({{2, 2, 2}, {{}, {}, {1, 0}}}, "in order, each once");
  refuses({{2, 2, 2}, {{}, {}, {0, 0}}}, "in order, each once");
  refuses({std::vector<std::uint64_t>(12, 1),
           {{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}},
          "at most 10");
  refuses({{1000, 1000, 2}, {{}, {}, {0, 1}}}, "2000000 cells");
}

NetworkProblem problem(std::vector<std::uint64_t> levels) {
  return {.rows = 100, .levels = std::move(levels)};
}

TEST(NetworkProblem, RefusesWhatIsOutOfRange) {
  const auto refuses = [](const auto& change, const char* why) {
    NetworkProblem p = problem({2, 5, 3});
    change(p);
    EXPECT_THAT([&] { p.validate(); }, ThrowsMessage<BadInput>(HasSubstr(why)));
  };
  EXPECT_NO_THROW(problem({2, 5, 3}).validate());
  EXPECT_NO_THROW(problem({1}).validate());
  refuses([](auto& p) { p.rows = 0; }, "rows: must be from 1");
  refuses([](auto& p) { p.rows = 1ULL << 39; }, "rows: must be from 1");
  refuses([](auto& p) { p.levels.clear(); }, "levels:");
  refuses([](auto& p) { p.limits.parents = 0; }, "`parents`: a private structure");
  refuses([](auto& p) { p.limits.parents = 11; }, "`parents`: a private structure");
  refuses([](auto& p) { p.limits.cells = 4; },
          "`cells`: tables of a private structure have from 5");
  refuses([](auto& p) { p.limits.cells = 1'000'001; }, "`cells`:");
  refuses([](auto& p) { p.prior = 0; }, "`prior`:");
  refuses([](auto& p) { p.prior = std::numeric_limits<double>::quiet_NaN(); }, "`prior`:");
  refuses([](auto& p) { p.trim = 0.2; }, "`trim`:");
  refuses([](auto& p) { p.trim = 0.0; }, "`trim`:");
  refuses([](auto& p) { p.parents.emplace(); }, "0 lists of them for 3");
  refuses([](auto& p) { p.parents = {{1}, {0}, {}}; }, "is a cycle");
  // A pick of parents has few candidates; a tree picks none.
  NetworkProblem wide = problem({2});
  wide.levels.assign(200, 2), wide.limits.parents = 3;
  EXPECT_NO_THROW(wide.validate());
  EXPECT_THAT([&] { wide.require_few_candidates(); },
              ThrowsMessage<BadInput>(HasSubstr("one pick would choose")));
}

// Against the sets themselves.
TEST(NetworkProblem, CountsCandidatesOfAPick) {
  for (const std::uint64_t K : {1U, 2U, 5U, 9U}) {
    for (const std::uint64_t most : {1U, 2U, 3U, 10U}) {
      NetworkProblem p = problem(std::vector<std::uint64_t>(K, 2));
      p.limits.parents = most;
      std::uint64_t expected = 0;
      for (std::uint64_t placed = 1; placed < K; ++placed) {
        std::uint64_t sets = 0;
        for (std::uint64_t set = 0; set < (1ULL << placed); ++set) {
          sets += static_cast<std::uint64_t>(std::popcount(set)) <= most ? 1U : 0U;
        }
        expected = std::max(expected, sets * (K - placed));
      }
      EXPECT_EQ(p.most_candidates(), expected) << K << " " << most;
    }
  }
}

TEST(NetworkProblem, KnowsCellsBeforeTheStructure) {
  NetworkProblem p = problem({2, 5, 3});
  p.limits.cells = 40;
  EXPECT_EQ(p.most_cells(), 120U);
  EXPECT_THROW(static_cast<void>(p.network()), BadInput);
  p.parents = {{}, {0}, {0, 1}};
  EXPECT_EQ(p.most_cells(), 2U + 10 + 30);
}

}  // namespace network_test
}  // namespace gibbsite
