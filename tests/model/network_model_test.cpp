// Networks over a schema's columns, and conditional tables from noisy counts.
#include "gibbsite/model/network_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <map>
#include <numeric>
#include <random>
#include <utility>

#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace network_model_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Throws;
using Tables = std::vector<std::vector<double>>;

Schema three_columns() {
  Schema out;
  out.label_name = "(none)";
  out.label = TwoClasses{.positive = "(none)"};
  out.row_norm = 2;
  Column number{.name = "x", .type = ColumnType::number, .lo = 0, .hi = 10};
  number.edges = {2.5, 5};
  Column level{.name = "c", .type = ColumnType::category, .levels = {"a", "b"}, .other = true};
  level.has_missing = true;
  level.missing = "NA";
  out.columns = {number, level, {.name = "gone"}};
  return out;
}

TEST(NetworkModel, NamesLevels) {
  const NetworkModel model{network_schema(three_columns()), {}, {}};
  EXPECT_THAT(model.names(), ElementsAre("x", "c"));
  EXPECT_THAT(model.level_names(0), ElementsAre("[0, 2.5)", "[2.5, 5)", "[5, 10]"));
  EXPECT_THAT(model.level_names(1), ElementsAre("a", "b", "(missing)", "(other)"));
  const std::vector<LevelColumn> columns = level_columns(model.schema);
  EXPECT_EQ(columns[1].first_feature, 1U);
  EXPECT_EQ(columns[1].levels, 4U);
  EXPECT_THAT(columns[0].edges, ElementsAre(0.25F, 0.5F));
}

Schema people() {
  Schema out = three_columns();
  out.label_name = "y";
  out.label = TwoClasses{.positive = "1", .negative = "0"};
  Column whole{.name = "kids", .type = ColumnType::number, .lo = 0, .hi = 4};
  whole.decimals = 0;
  out.columns.push_back(whole);
  out.columns.push_back({.name = "height", .type = ColumnType::number, .lo = 0, .hi = 2});
  return out;
}

TEST(NetworkModel, ATableIsAChainOfItsColumns) {
  const Schema three = table_schema(people(), {"kids", "y", "c"});
  ASSERT_EQ(three.columns.size(), 3U);
  EXPECT_EQ(three.columns[0].name, "kids");  // in the order asked, the label's column too
  EXPECT_EQ(three.columns[1].name, "y");
  EXPECT_THAT(network_levels(three), ElementsAre(5, 2, 4));
  // From the fewest levels to the most.
  EXPECT_THAT(network_parents(three),
              ElementsAre(ElementsAre(1, 2), ElementsAre(), ElementsAre(1)));
  const Schema one = table_schema(people(), {"x"});
  EXPECT_THAT(network_parents(one), ElementsAre(ElementsAre()));
  EXPECT_NE(one.label_name, "y");
  // Columns that are not asked have no say: of two without bins one is asked.
  Schema other = people();
  other.invalid = Invalid::middle;
  other.columns.push_back({.name = "closed", .type = ColumnType::category, .levels = {"p"}});
  EXPECT_NO_THROW(table_schema(other, {"c"}));
  EXPECT_THROW(table_schema(other, {"closed"}), BadInput);
}

TEST(NetworkModel, RefusesColumnsThatMakeNoTable) {
  const auto refused = [](const Schema& schema, const std::vector<std::string>& columns,
                          const std::string& what) {
    EXPECT_THAT([&] { static_cast<void>(table_schema(schema, columns)); },
                Throws<BadInput>(::testing::Property(&BadInput::what, HasSubstr(what))));
  };
  refused(people(), {}, "from 1 to 11");
  refused(people(), {"x", "c", "x"}, "'x' is given twice");
  refused(people(), {"kid"}, "'kid' is not in the schema, did you mean kids?");
  refused(people(), {"gone"}, "'gone' is ignored by the schema");
  refused(people(), {"height"}, "'height' has no bins");
  refused(three_columns(), {"(none)"}, "'(none)' is not in the schema");
  Schema wide = people();
  std::vector<std::string> names;
  for (int k = 0; k < 12; ++k) {
    Column column{.name = "w" + std::to_string(k), .type = ColumnType::category};
    for (int l = 0; l < 4; ++l) column.levels.push_back(std::to_string(l));
    column.other = true;
    wide.columns.push_back(column);
    names.push_back(column.name);
  }
  refused(wide, names, "from 1 to 11 of them, got 12");
  names.pop_back();
  refused(wide, names, "would have 48828125 cells");
}

TEST(NetworkModel, HasALevelForMissingNumbersBehindTheBins) {
  Schema schema = three_columns();
  schema.columns[0].has_missing = true;
  const NetworkModel model{network_schema(schema), {}, {}};
  EXPECT_THAT(model.level_names(0), ElementsAre("[0, 2.5)", "[2.5, 5)", "[5, 10]", "(missing)"));
  const std::vector<LevelColumn> columns = level_columns(model.schema);
  EXPECT_EQ(columns[0].levels, 4U);
  EXPECT_THAT(columns[0].edges, ElementsAre(0.25F, 0.5F, missing_bin_edge));
  EXPECT_GT(missing_bin_edge, 1);  // no number is there
  EXPECT_GT(missing_bin_value, missing_bin_edge);
}

TEST(NetworkModel, ParentsComeFromTheSchema) {
  Schema schema = network_schema(three_columns());
  EXPECT_THAT([&] { network_parents(schema); },
              Throws<BadInput>(::testing::Property(&BadInput::what, HasSubstr("no [network]"))));
  const auto edges = [](std::initializer_list<std::pair<const char*, const char*>> pairs) {
    std::map<std::string, std::vector<std::string>> out;
    for (const auto& [node, parent] : pairs) out[node].emplace_back(parent);
    return out;
  };
  schema.network = edges({{"c", "x"}});
  EXPECT_THAT(network_parents(schema), ElementsAre(ElementsAre(), ElementsAre(0)));
  schema.network = edges({{"c", "x"}, {"x", "c"}});
  EXPECT_THAT([&] { network_parents(schema); },
              Throws<BadInput>(::testing::Property(&BadInput::what, HasSubstr("is a cycle"))));
  schema.network = edges({{"c", "gone"}});
  EXPECT_THAT([&] { network_parents(schema); },
              Throws<BadInput>(::testing::Property(&BadInput::what, HasSubstr("'gone'"))));
}

// A chain a -> b -> c of laws that are known.
struct Chain {
  Network network{{2, 3, 4}, {{}, {0}, {1}}};
  double n = 1e6;
  Tables shares{{0.3, 0.7},
                {0.2, 0.3, 0.5, 0.6, 0.3, 0.1},
                {0.1, 0.2, 0.3, 0.4, 0.4, 0.3, 0.2, 0.1, 0.25, 0.25, 0.25, 0.25}};

  [[nodiscard]] Tables counts() const {
    Tables out(3);
    std::vector<double> b(3);
    for (std::size_t i = 0; i < 2; ++i) {
      out[0].push_back(n * shares[0][i]);
      for (std::size_t j = 0; j < 3; ++j) {
        out[1].push_back(n * shares[0][i] * shares[1][i * 3 + j]);
        b[j] += out[1].back();
      }
    }
    for (std::size_t j = 0; j < 3; ++j)
      for (std::size_t k = 0; k < 4; ++k) out[2].push_back(b[j] * shares[2][j * 4 + k]);
    return out;
  }
};

TEST(TablesOfCounts, GiveExactCountsBack) {
  const Chain chain;
  const std::vector<double> noise{1e-9, 1e-9, 1e-9};
  const Tables tables = tables_of_counts(chain.network, chain.counts(), noise);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t cell = 0; cell < tables[i].size(); ++cell)
      EXPECT_NEAR(tables[i][cell], chain.shares[i][cell], 1e-9);
}

// Whatever the counts: shares that are none negative and sum to 1.
TEST(TablesOfCounts, AreLaws) {
  const Network network{{3, 1, 5, 2}, {{}, {0}, {0, 1, 3}, {0}}};
  std::mt19937_64 bits(5);
  for (int trial = 0; trial < 200; ++trial) {
    std::normal_distribution<double> law(trial % 3 - 1.0, std::pow(10.0, trial % 7 - 1));
    Tables counts;
    for (std::size_t i = 0; i < network.size(); ++i) {
      counts.emplace_back(network.cells(i));
      for (double& count : counts.back()) count = trial % 5 == 4 ? 0 : law(bits);
    }
    const std::vector<double> noise{1, 2, 3, 0.5};
    const Tables tables = tables_of_counts(network, counts, noise);
    for (std::size_t i = 0; i < network.size(); ++i) {
      ASSERT_EQ(tables[i].size(), network.cells(i));
      for (std::size_t first = 0; first < tables[i].size(); first += network.levels[i]) {
        double sum = 0;
        for (std::size_t l = 0; l < network.levels[i]; ++l) {
          ASSERT_GE(tables[i][first + l], 0) << trial;
          sum += tables[i][first + l];
        }
        ASSERT_NEAR(sum, 1, 1e-12) << trial;
      }
    }
  }
}

// What two tables both say of a column is worth more than one says: the error of the first column,
// whose own table is the noisier, is that of both together. 4,000 trials; the bound of 1.2 times
// the theory's fails by chance with probability below 1e-15, 1.2 being 9 deviations off.
TEST(TablesOfCounts, ReconcileCommonMargins) {
  const Chain chain;
  const std::vector<double> noise{3000, 500, 500};
  std::mt19937_64 bits(7);
  std::normal_distribution<double> law;
  double alone = 0, together = 0;
  constexpr int trials = 4'000;
  for (int trial = 0; trial < trials; ++trial) {
    Tables counts = chain.counts();
    for (std::size_t i = 0; i < 3; ++i)
      for (double& count : counts[i]) count += noise[i] * law(bits);
    const double sum = counts[0][0] + counts[0][1];
    alone += std::pow(counts[0][0] / sum - 0.3, 2) / trials;
    const Tables tables = tables_of_counts(chain.network, counts, noise);
    together += std::pow(tables[0][0] - 0.3, 2) / trials;
  }
  // The second table tells the margin with variance 3 * 500^2 a level.
  const double variance = 1 / (1 / 9e6 + 1 / (3 * 2.5e5));
  const double expected = variance * (0.3 * 0.3 + 0.7 * 0.7) / 1e12;
  EXPECT_LT(together, 1.2 * expected);
  EXPECT_GT(alone, 5 * expected);
}

// Configurations that noise hides get the column's own law, not noise's.
TEST(TablesOfCounts, LostConfigurationsTakeTheMarginal) {
  const Network network{{2, 2}, {{}, {0}}};
  const Tables counts{{10'000, 0}, {9'000, 1'000, -20, 15}};
  const std::vector<double> noise{30, 30};
  const Tables tables = tables_of_counts(network, counts, noise);
  EXPECT_NEAR(tables[1][2], 0.9, 0.1);
}

}  // namespace network_model_test
}  // namespace gibbsite
