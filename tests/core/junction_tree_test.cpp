#include "gibbsite/core/junction_tree.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <set>

#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace junction_tree_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;
using Levels = std::vector<std::uint64_t>;

// What makes it a junction tree, read off its definition.
void expect_junction_tree(const Levels& levels, const std::vector<ColumnList>& sets,
                          const JunctionTree& tree) {
  ASSERT_EQ(tree.parents.size(), tree.size());
  EXPECT_EQ(tree.parents[0], 0U);
  for (std::size_t c = 1; c < tree.size(); ++c) EXPECT_LT(tree.parents[c], c);
  for (const ColumnList& set : sets) EXPECT_LT(tree.home(levels, set), tree.size());
  for (std::size_t a = 0; a < tree.size(); ++a)
    for (std::size_t b = 0; b < tree.size(); ++b)
      if (a != b) {
        EXPECT_FALSE(std::ranges::includes(tree.cliques[a], tree.cliques[b]));
      }
  for (std::uint32_t k = 0; k < levels.size(); ++k) {
    // All cliques but one that have the column have a parent that has it.
    int roots = 0;
    for (std::size_t c = 0; c < tree.size(); ++c) {
      const auto has = [&](std::size_t at) {
        return std::ranges::binary_search(tree.cliques[at], k);
      };
      if (has(c) && (c == 0 || !has(tree.parents[c]))) ++roots;
    }
    EXPECT_EQ(roots, 1) << "column " << k;
  }
  std::uint64_t cells = 0;
  std::size_t columns = 0;
  for (const ColumnList& clique : tree.cliques) {
    cells = std::max(cells, table_cells(levels, clique));
    columns = std::max(columns, clique.size());
  }
  EXPECT_EQ(largest_clique(levels, sets).cells, cells);
  EXPECT_EQ(largest_clique(levels, sets).columns, columns);
}

TEST(JunctionTree, HoldsEverySetOfRandomOnes) {
  std::mt19937_64 bits(1);
  for (int repeat = 0; repeat < 300; ++repeat) {
    const std::size_t count = 1 + bits() % 9;
    Levels levels;
    for (std::size_t k = 0; k < count; ++k) levels.push_back(1 + bits() % 12);
    std::vector<ColumnList> sets;
    for (std::size_t s = bits() % 14; s > 0; --s) {
      std::set<std::uint32_t> one;
      for (std::size_t size = 1 + bits() % 3; size > 0; --size)
        one.insert(static_cast<std::uint32_t>(bits() % count));
      sets.emplace_back(one.begin(), one.end());
    }
    const JunctionTree tree = junction_tree(levels, sets);
    expect_junction_tree(levels, sets, tree);
    EXPECT_EQ(tree, junction_tree(levels, sets));
    std::ranges::reverse(sets);
    EXPECT_EQ(tree, junction_tree(levels, sets)) << "the order of sets must not matter";
  }
}

TEST(JunctionTree, OfAChainAndOfACircle) {
  const Levels levels{2, 3, 4, 5};
  const JunctionTree chain = junction_tree(levels, std::vector<ColumnList>{{0, 1}, {1, 2}, {2, 3}});
  EXPECT_THAT(chain.cliques, ElementsAre(ElementsAre(0, 1), ElementsAre(1, 2), ElementsAre(2, 3)));
  EXPECT_THAT(chain.separator(0), IsEmpty());
  EXPECT_THAT(chain.separator(2), ElementsAre(2));
  const std::vector<ColumnList> circle{{0, 1}, {1, 2}, {2, 3}, {0, 3}};
  EXPECT_EQ(largest_clique(levels, circle).cells, 40U);  // 1 goes first, then 0, 2, 3 are left
  EXPECT_EQ(largest_clique(levels, circle).columns, 3U);
}

TEST(JunctionTree, JoinsPartsByNothing) {
  const Levels levels{2, 3, 4};
  const JunctionTree apart = junction_tree(levels, {});
  EXPECT_THAT(apart.cliques, ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2)));
  for (std::size_t c = 0; c < 3; ++c) EXPECT_THAT(apart.separator(c), IsEmpty());
  EXPECT_EQ(apart.home(levels, ColumnList{0, 1}), apart.size());
  EXPECT_THAT(junction_tree(Levels{1}, {}).cliques, ElementsAre(ElementsAre(0)));
}

TEST(JunctionTree, CountsCellsWithoutOverflow) {
  const Levels levels(12, 1'000'000);
  ColumnList all;
  for (std::uint32_t k = 0; k < 12; ++k) all.push_back(k);
  const std::vector<ColumnList> sets{all};
  EXPECT_EQ(table_cells(levels, all), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(largest_clique(levels, sets).cells, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(largest_clique(levels, sets).columns, 12U);
}

TEST(JunctionTree, RefusesWhatIsNoTable) {
  EXPECT_THAT([] { junction_tree(Levels{}, {}); }, ThrowsMessage<BadInput>(HasSubstr("levels")));
  EXPECT_THAT(
      [] {
        junction_tree(Levels{2, 0}, {});
      },
      ThrowsMessage<BadInput>(HasSubstr("has none")));
  for (const ColumnList& bad : {ColumnList{1, 0}, ColumnList{1, 1}, ColumnList{0, 2}})
    EXPECT_THAT(
        [&] {
          junction_tree(Levels{2, 2}, std::vector<ColumnList>{bad});
        },
        ThrowsMessage<BadInput>(HasSubstr("ascending")));
}

}  // namespace junction_tree_test
}  // namespace gibbsite
