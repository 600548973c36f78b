// The noisy counts of a network, as a table.
#include "gibbsite/release/network_counts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gibbsite/core/error.hpp"
#include "gibbsite/data/schema_file.hpp"

namespace gibbsite {
namespace network_counts_test {

using ::testing::ElementsAre;
using ::testing::ThrowsMessage;

Schema three_columns() {
  return parse_network_schema(
      "[columns]\na = {type = \"category\", levels = [\"x\", \"y\", \"z\"]}\n"
      "n = {type = \"number\", range = [0, 4], bins = 2}\n"
      "c = {type = \"category\", levels = [\"0\", \"1\"]}\n",
      "t.toml");
}

TEST(CountsTable, HasALineForEachCell) {
  NetworkModel model{three_columns(), {}, {{}}};
  model.network = {{3, 2, 2}, {{}, {0}, {}}};
  model.counts = {{1, -2.5, 3}, {1, 2, 3, 4, 5, 6}, {0.125, 7}};
  model.noise = {4, 5.5, 6};
  const auto lines = counts_table(model);
  ASSERT_EQ(lines.size(), 12U);
  EXPECT_THAT(lines[0], ElementsAre("table", "count", "deviation", "a", "n", "c"));
  EXPECT_THAT(lines[2], ElementsAre("1", "-2.5", "4", "y", "", ""));
  EXPECT_THAT(lines[5], ElementsAre("2", "2", "5.5", "x", "[2, 4]", ""));
  EXPECT_THAT(lines[6], ElementsAre("2", "3", "5.5", "y", "[0, 2)", ""));
  EXPECT_THAT(lines[11], ElementsAre("3", "7", "6", "", "", "1"));
}

// Levels that were counted as one have one line in tables of several columns.
TEST(CountsTable, OfATree) {
  NetworkModel model{three_columns(), {}, {{}}};
  model.network = {{3, 2, 2}, {{}, {0}, {}}};
  TreeRelease& tree = model.tree.emplace();
  tree.one_ways = {{{0}, {90, 1, 2}, 3}, {{1}, {50, 43}, 3}, {{2}, {60, 33}, 3}};
  tree.tables = {{{0, 2}, {10, 11, 12, 13}, 7}};
  const auto lines = counts_table(model);
  ASSERT_EQ(lines.size(), 12U);
  EXPECT_THAT(lines[2], ElementsAre("1", "1", "3", "y", "", ""));
  EXPECT_THAT(lines[8], ElementsAre("4", "10", "7", "x", "", "0"));
  EXPECT_THAT(lines[10], ElementsAre("4", "12", "7", "y | z", "", "0"));
  // Apart, where a rule takes them apart.
  model.schema.never = {{"a = y", "c = 1"}};
  tree.tables[0].counts = {10, 11, 12, 13, 14, 15};
  EXPECT_THAT(counts_table(model)[11], ElementsAre("4", "13", "7", "y", "", "1"));
}

TEST(CountsTable, DrawnTablesHaveNone) {
  NetworkModel model{three_columns(), {}, {{}}};
  model.network = {{3, 2, 2}, {{}, {0}, {}}};
  EXPECT_THAT([&] { counts_table(model); },
              ThrowsMessage<BadInput>(::testing::HasSubstr("were drawn, not counted")));
}

}  // namespace network_counts_test
}  // namespace gibbsite
