// A network's columns from planted answers: bins where the answers say that the rows are.
#include "gibbsite/model/bought_network.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gibbsite/core/network.hpp"
#include "gibbsite/model/network_model.hpp"

namespace gibbsite {
namespace bought_network_test {

using ::testing::ElementsAre;

constexpr double n = 10'000;

ColumnAnswers asked(const std::string& name, double texts = 0) {
  ColumnAnswers out;
  out.name = name;
  out.classes.assign(cell_classes, 0.0);
  out.classes[static_cast<std::size_t>(CellClass::text)] = texts;
  return out;
}
// A column of numbers whose rows in the bins of one range are given.
ColumnAnswers of_range(const std::string& name, double lo, double hi, std::vector<double> rows) {
  ColumnAnswers out = asked(name);
  const std::vector<double> ends = RangeQuestion{0, lo, hi}.edges();
  for (std::size_t b = 0; b < rows.size(); ++b)
    out.classes[number_class((ends[b] + ends[b + 1]) / 2)] += rows[b];
  out.ranges.assign(refinements, {lo, hi, std::move(rows)});
  return out;
}
BoughtSchema answers_of(std::vector<ColumnAnswers> columns) {
  BoughtSchema answers;
  answers.scale = {.rows = static_cast<std::uint64_t>(n),
                   .bins_noise = 20,
                   .levels_noise = 15,
                   .threshold = 100,
                   .refine_noise = 10};
  answers.columns = std::move(columns);
  return answers;
}
Schema columns_of(std::vector<ColumnAnswers> columns) {
  return bought_network_schema(answers_of(std::move(columns)));
}

// Rows of a range that lie at its lower end, by an exponential law of a tenth of its width.
std::vector<double> falling() {
  std::vector<double> out;
  for (std::size_t b = 0; b < refined_bins; ++b) {
    const auto below = [](std::size_t end) { return std::exp(-static_cast<double>(end) / 6.4); };
    out.push_back(n * (below(b) - below(b + 1)));
  }
  return out;
}

TEST(BoughtNetwork, BinsHoldAlikeManyRows) {
  const Schema schema = columns_of({of_range("x", 0, 64, falling())});
  const Column& x = schema.columns.at(0);
  ASSERT_GE(x.edges.size(), 7U);
  ASSERT_LE(x.edges.size(), default_bins - 1);
  EXPECT_FALSE(x.decimals.has_value());
  double before = 0;
  for (const double edge : x.edges) {
    const double share = std::exp(-before / 6.4) - std::exp(-edge / 6.4);
    EXPECT_NEAR(share, .1, .02);  // equal widths would hold .63 in the first
    before = edge;
  }
}

TEST(BoughtNetwork, WholeNumbersLieWithinBinsAndOftenOnesAlone) {
  ColumnAnswers hours = of_range("hours", 0, 64, std::vector<double>(refined_bins, n / 128));
  hours.ranges.back().rows[40] += n / 2;
  hours.classes[number_class(40)] += n / 2;
  for (int v = 0; v < 64; ++v) hours.levels.push_back({std::to_string(v), 150});
  hours.levels[40].rows = n / 2;
  const Column x = columns_of({hours}).columns.at(0);
  EXPECT_EQ(x.decimals, 0);
  EXPECT_THAT(x.edges, ::testing::IsSupersetOf({39.5, 40.5}));
  for (const double edge : x.edges) EXPECT_EQ(edge - std::floor(edge), .5);
  // One level with a fraction, and nothing says that numbers are whole.
  hours.levels.push_back({"7.25", 120});
  EXPECT_FALSE(columns_of({hours}).columns.at(0).decimals.has_value());
}

// Most people have no gain: in a wide range too 0 is a bin of its own, which made-up rows have.
TEST(BoughtNetwork, AFrequentZeroOfAWideRangeIsAlone) {
  ColumnAnswers gain = of_range("gain", 0, 10'000, std::vector<double>(refined_bins, .08 * n / 64));
  gain.ranges.back().rows[0] += .92 * n;
  gain.levels.push_back({"0", .92 * n});
  const Column x = columns_of({gain}).columns.at(0);
  EXPECT_EQ(x.decimals, 0);
  ASSERT_FALSE(x.edges.empty());
  EXPECT_EQ(x.edges.front(), .5);
  // It is not where a float of the range does not tell 0 from 1.
  ColumnAnswers wide = of_range("wide", 0, 1e9, std::vector<double>(refined_bins, .08 * n / 64));
  wide.ranges.back().rows[0] += .92 * n;
  wide.levels.push_back({"0", .92 * n});
  EXPECT_GE(columns_of({wide}).columns.at(0).edges.front(), 1e9 * 0x1p-20);
}

// Zero in 96 of 100 rows, and the rest of a range.
ColumnAnswers mostly_zero(double hi, double rest) {
  ColumnAnswers out = of_range("loss", 0, hi, std::vector<double>(refined_bins, rest * n / 64));
  out.ranges.back().rows[0] += (1 - rest) * n;
  out.classes[number_class(0)] += (1 - rest) * n;
  out.levels = {{"0", (1 - rest) * n}};
  return out;
}

TEST(BoughtNetwork, WhatTheOtherRowsOfAZeroColumnHaveIsKept) {
  for (const double hi : {4'000.0, 10.0}) {
    const Column x = columns_of({mostly_zero(hi, .04)}).columns.at(0);
    ASSERT_EQ(x.type, ColumnType::number) << hi;
    EXPECT_LE(x.lo, 0);
    EXPECT_GE(x.hi, .9 * hi);
    ASSERT_TRUE(x.decimals.has_value());
    const double step = std::pow(10.0, -*x.decimals);
    ASSERT_FALSE(x.edges.empty());
    EXPECT_NEAR(x.edges.front(), step / 2, 1e-9);  // 0 alone is below
    EXPECT_LE(step, hi / 10);                      // and the others are told apart
    EXPECT_GE(x.edges.size(), 5U);
  }
}

// More answers do not make levels of what is a range: with them 0 and some amounts are 95 of 100.
TEST(BoughtNetwork, AFewFrequentAmountsAreNoCategory) {
  ColumnAnswers gain = mostly_zero(20'000, .04);
  gain.levels.front().rows = .91 * n;
  gain.levels.push_back({"15024", .05 * n});
  gain.ranges.back().rows[48] += .05 * n;
  gain.ranges.back().rows[0] -= .05 * n;
  gain.classes[number_class(15'024)] += .05 * n;
  gain.classes[number_class(0)] -= .05 * n;
  const Column x = columns_of({gain}).columns.at(0);
  EXPECT_EQ(x.type, ColumnType::number);
  EXPECT_EQ(x.decimals, 0);
  EXPECT_EQ(x.edges.front(), .5);
  // Codes of a narrow range are one.
  ColumnAnswers codes = mostly_zero(10, .04);
  codes.levels.front().rows = .91 * n;
  codes.levels.push_back({"1", .05 * n});
  codes.classes[number_class(1)] += .05 * n;
  codes.classes[number_class(0)] -= .05 * n;
  EXPECT_EQ(columns_of({codes}).columns.at(0).type, ColumnType::category);
}

// A frequent number with a fraction is written as it is, as far as the range has such digits.
TEST(BoughtNetwork, AFrequentFractionIsAlone) {
  for (const char* const often : {"1.5", "0.7", "2"}) {
    ColumnAnswers dose = mostly_zero(10, .04);
    const double value = std::stod(often);
    dose.ranges.back().rows[0] -= .96 * n;
    dose.ranges.back().rows[static_cast<std::size_t>(value * refined_bins / 10)] += .96 * n;
    dose.classes[number_class(0)] -= .96 * n;
    dose.classes[number_class(value)] += .96 * n;
    dose.levels = {{often, .96 * n}};
    const Column x = columns_of({dose}).columns.at(0);
    ASSERT_EQ(x.type, ColumnType::number) << often;
    ASSERT_EQ(x.decimals, 1) << often;
    const auto above = std::ranges::upper_bound(x.edges, value);
    ASSERT_NE(above, x.edges.end());
    EXPECT_NEAR(*above, value + .05, 1e-9) << often;
    // All of its bin are written as it is, and no row lies below the range.
    const double below = above == x.edges.begin() ? x.lo : *(above - 1);
    EXPECT_GE(below, value - .05 - 1e-9) << often;
  }
  ColumnAnswers fine = mostly_zero(10, .04);
  fine.levels = {{"0.0625", .96 * n}};
  EXPECT_EQ(columns_of({fine}).columns.at(0).decimals, std::nullopt);
}

TEST(BoughtNetwork, ARestThatTheNoiseHidesLeavesAConstant) {
  const Column x = columns_of({mostly_zero(4'000, .002)}).columns.at(0);
  EXPECT_EQ(x.type, ColumnType::category);
  EXPECT_EQ(x.unlisted, "0");
  // Numbers that are levels are no rest: of codes nothing is left but noise.
  ColumnAnswers codes = asked("codes");
  codes.classes[number_class(0)] = .96 * n;
  codes.classes[number_class(1)] = .04 * n;
  codes.levels = {{"0", .96 * n}, {"1", .04 * n}};
  EXPECT_EQ(columns_of({codes}).columns.at(0).type, ColumnType::category);
  // Nor is a number a text's rest.
  ColumnAnswers text = asked("text", .96 * n);
  text.classes[number_class(100)] = .04 * n;
  text.levels = {{"none", .96 * n}};
  EXPECT_EQ(columns_of({text}).columns.at(0).type, ColumnType::category);
}

// What stands for none, as "999999999" or the largest double: in one range with it all others would
// be one bin, or the range have no end.
TEST(BoughtNetwork, ANumberFarFromAllOthersIsALevel) {
  for (const char* const far : {"1.7976931348623157e+308", "-1.7976931348623157e+308",
                                "-3.4028234663852886e+38", "999999999"}) {
    ColumnAnswers column = asked("x");
    column.levels = {{far, .96 * n}};
    column.classes[number_class(std::stod(far))] = .96 * n;
    column.classes[number_class(150)] = .02 * n;
    column.classes[number_class(700)] = .02 * n;
    const BoughtSchema answers = answers_of({column});
    EXPECT_TRUE(range_questions(answers).empty()) << far;
    const Column x = bought_network_schema(answers).columns.at(0);
    EXPECT_EQ(x.type, ColumnType::category) << far;
    EXPECT_THAT(x.levels, ElementsAre(far));
  }
}

TEST(BoughtNetwork, AConstantWithARestThatIsSeenHasTwoLevels) {
  ColumnAnswers same = asked("same", 100 * n);
  same.levels = {{"x", 99.6 * n}};
  BoughtSchema answers = answers_of({same});
  answers.scale.rows *= 100;
  const Schema schema = bought_network_schema(answers);
  EXPECT_THAT(network_levels(schema), ElementsAre(2U));
  // Older files take it for one.
  answers.questions = lone_questions;
  EXPECT_THAT(network_levels(bought_network_schema(answers)), ElementsAre(1U));
}

TEST(BoughtNetwork, OlderFilesHaveOfAZeroColumnItsZeroAlone) {
  BoughtSchema answers = answers_of({mostly_zero(4'000, .04)});
  answers.questions = lone_questions;
  EXPECT_EQ(bought_network_schema(answers).columns.at(0).type, ColumnType::category);
}

// Answers that a file from elsewhere may hold.
TEST(BoughtNetwork, PartsOfDatesAreNoNodes) {
  ColumnAnswers dates = asked("dates"), same = asked("same", n);
  dates.classes[static_cast<std::size_t>(CellClass::date)] = n;
  same.levels = {{"x", n}};
  BoughtSchema answers = answers_of({dates, same});
  const Schema without = bought_network_schema(answers);
  answers.parts = {{"dates", {DatePart::year, DatePart::month, DatePart::weekday}}};
  EXPECT_EQ(bought_network_schema(answers), without);
}

// Texts that are more rows than the histogram counted, as where it read another form.
TEST(BoughtNetwork, MoreHeapsThanBinsAreNoBinsWithoutEnd) {
  for (const double part : {1.0, .1}) {
    ColumnAnswers one = of_range("x", 0, 16, std::vector<double>(refined_bins, part * n / 64));
    for (int value = 1; value < 14; ++value)
      one.levels.push_back({std::to_string(value) + ".5", n / 10});
    const Schema schema = columns_of({one});
    ASSERT_EQ(schema.columns.size(), 1U);
    EXPECT_LE(schema.columns[0].edges.size(), 2 * 13U + 1);
  }
}

TEST(BoughtNetwork, AConstantIsALevelAndWhatIsUnseenIsLeftOut) {
  ColumnAnswers same = asked("same", n), names = asked("names", n), dates = asked("dates");
  same.levels = {{"x", n}};
  dates.classes[static_cast<std::size_t>(CellClass::date)] = n;
  const Schema schema = columns_of({same, names, dates});
  ASSERT_EQ(schema.columns.size(), 1U);
  EXPECT_EQ(schema.columns[0].name, "same");
  EXPECT_THAT(network_levels(schema), ElementsAre(1U));
  // Nothing at all is seen: one column is there all the same.
  EXPECT_THAT(network_levels(columns_of({names, dates})), ElementsAre(default_bins));
}

TEST(BoughtNetwork, KeepsToTheLimits) {
  std::vector<ColumnAnswers> many;
  for (std::size_t c = 0; c < most_network_columns + 30; ++c) {
    many.push_back(asked("c" + std::to_string(c), n));
    many.back().levels = {{"a", n / 2}, {"b", n / 3}};
  }
  for (std::size_t l = 2; l < 3 * most_network_levels; ++l)
    many.front().levels.push_back({"l" + std::to_string(l), 100});
  many.front().classes[0] = n / 8;
  const std::vector<std::uint64_t> levels = network_levels(columns_of(many));
  EXPECT_EQ(levels.size(), most_network_columns);
  EXPECT_LE(*std::ranges::max_element(levels), most_network_levels);
}

// Whatever noise says, the columns are legal.
TEST(BoughtNetwork, AnyAnswersLeadToALegalNetwork) {
  std::mt19937_64 bits(5);
  std::normal_distribution<double> normal;
  for (int run = 0; run < 300; ++run) {
    const double scale = std::pow(10.0, static_cast<double>(run % 5));
    std::vector<ColumnAnswers> columns;
    for (int c = 0; c < 3; ++c) {
      ColumnAnswers one = asked("c" + std::to_string(c));
      for (double& count : one.classes) count = scale * normal(bits);
      one.classes[static_cast<std::size_t>(bits() % 4 == 0 ? 2 : 4 + bits() % 100)] += n;
      for (std::uint64_t l = bits() % 20; l > 0; --l)
        one.levels.push_back(
            {std::to_string(50 * l + bits() % 50), 100 + scale * std::abs(normal(bits))});
      for (std::size_t r = 0; r < refinements && bits() % 3 > 0; ++r) {
        RangeAnswer range{-1e-6 * scale, scale * (1 + std::abs(normal(bits))), {}};
        for (std::size_t b = 0; b < refined_bins; ++b) range.rows.push_back(scale * normal(bits));
        one.ranges.push_back(std::move(range));
      }
      columns.push_back(std::move(one));
    }
    const Schema schema = columns_of(std::move(columns));
    EXPECT_NO_THROW(schema.validate("schema"));
    NetworkProblem p{.rows = 10'000, .levels = network_levels(schema), .limits = {10, 20'000}};
    EXPECT_NO_THROW(p.validate());
  }
}

}  // namespace bought_network_test
}  // namespace gibbsite
