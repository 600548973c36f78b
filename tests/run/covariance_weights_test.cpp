// Moments of rows that count by a weight, and of people with any number of rows.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "certificate/model_json.hpp"
#include "core/key_access.hpp"
#include "engine/moment_sums.hpp"
#include "gibbsite/certificate/column_guarantee.hpp"
#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/ledger/ledger.hpp"
#include "gibbsite/privacy/any_rows.hpp"
#include "gibbsite/release/covariance.hpp"
#include "gibbsite/run/fit_covariance.hpp"
#include "support/repeats.hpp"
#include "support/temp_dir.hpp"

namespace gibbsite {
namespace covariance_weights_test {

using nlohmann::json;
using ::testing::HasSubstr;

Key key_of(std::uint32_t number) {
  std::array<std::uint8_t, 32> bytes{79};
  for (std::size_t i = 0; i < 4; ++i) bytes[28 + i] = static_cast<std::uint8_t>(number >> (8 * i));
  return KeyAccess::make(StreamKey(NoiseKind::chacha20, bytes));
}

struct Line {
  std::string id;
  double weight = 1, a = 0, b = 0;
};

constexpr const char* weights = "w = {type = \"weight\", range = [0, 4]}\n";
constexpr const char* people = "id = {type = \"person\"}\n";

Schema schema_with(const std::string& counting, Adjacency adjacency = Adjacency::replace_one) {
  return parse_covariance_schema(
      "[columns]\n" + counting +
          "a = {type = \"number\", range = [0, 2]}\nb = {type = \"number\", range = [-1, 1]}\n",
      "s", {"a", "b"}, adjacency);
}

Dataset read_lines(const std::vector<Line>& lines, const Schema& schema, std::uint64_t k = 1) {
  const testing::TempDir folder;
  std::string text = "id,w,a,b\n";
  for (const Line& line : lines)
    text += fmt::format("{},{},{},{}\n", line.id, line.weight, line.a, line.b);
  folder.write("t.csv", text);
  ReadOptions options;
  options.labels = ReadOptions::Labels::optional;
  options.ignore_extra_columns = options.holds_people = true;
  Dataset out = read_csv(folder.path("t.csv"), schema, options);
  if (schema.person() != nullptr) out.hold_people(k);
  return out;
}

CovariancePlan plan_of(const Dataset& data, const Budget& budget) {
  CovarianceProblem problem{.rows = data.counted(), .columns = 2, .weighted = true};
  if (data.schema.person() != nullptr) problem.rows_of_person = budget.rows_per_person;
  return plan_covariance(problem, budget);
}

std::vector<Line> some_lines() {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<Line> out;
  for (int person = 0; person < 50; ++person)
    for (int row = 0; row <= person % 7; ++row)
      out.push_back({fmt::format("p{}", person), 5 * uniform(random), 2 * uniform(random),
                     2 * uniform(random) - 1});
  return out;
}

// Sums are what rows count by hand, to a step of 2^-26, and neither one row nor its copies of half
// the weight, nor the order of rows, moves them by more.
TEST(WeightedMoments, AreSumsOfWhatRowsCount) {
  std::vector<Line> lines = some_lines();
  for (const std::string& counting :
       {std::string(weights), std::string(people), std::string(weights) + people}) {
    const Dataset data = read_lines(lines, schema_with(counting), 2);
    const MomentSums found = moment_sums(data.view(), {0, 1}, {}, 26);
    double rows = 0, sum = 0, product = 0;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const double counts = std::floor(static_cast<double>(data.weight[i]) * 0x1p20) / 0x1p20;
      const double a = lines[i].a - 1, b = lines[i].b;
      rows += counts, sum += counts * a, product += counts * a * b;
    }
    EXPECT_EQ(found.rows, rows);
    EXPECT_NEAR(std::ldexp(static_cast<double>(found.sums[0]), -26), sum, 1e-5);
    EXPECT_NEAR(std::ldexp(static_cast<double>(found.products[1]), -26), product, 1e-5);
    std::ranges::reverse(lines);
    const MomentSums again =
        moment_sums(read_lines(lines, schema_with(counting), 2).view(), {0, 1}, {}, 26);
    EXPECT_EQ(again.sums, found.sums);
    EXPECT_EQ(again.products, found.products);
    EXPECT_EQ(again.rows, found.rows);
  }
}

// One person of 1, k, k + 1 or 10,000 rows in place of any other moves the exact sums, over their
// deviations, by no more than is paid for.
TEST(WeightedMoments, APersonOfAnyRowsMovesThemAsKRows) {
  std::mt19937_64 random(9);
  const auto end = [&](double lo, double hi) { return random() % 2 == 0 ? lo : hi; };
  for (const Adjacency adjacency : {Adjacency::replace_one, Adjacency::add_remove}) {
    for (const std::uint64_t k : {1U, 3U}) {
      const double claimed = static_cast<double>(k) * covariance_change_up(2, adjacency, true);
      const MomentDeviations of = moment_deviations(CovarianceMoments{1}, 2, adjacency, true);
      const auto sums = [&](const std::vector<Line>& lines) {
        const MomentSums found = moment_sums(
            read_lines(lines, schema_with(std::string(weights) + people, adjacency), k).view(),
            {0, 1}, {}, 26);
        std::vector<double> out{found.rows / of.count};
        for (const std::int64_t sum : found.sums)
          out.push_back(std::ldexp(static_cast<double>(sum), -26) / of.sum);
        for (std::size_t at = 0; at < 3; ++at) {
          const double value = std::ldexp(static_cast<double>(found.products[at]), -26);
          out.push_back(at == 1 ? value / of.product : (value - of.shift * found.rows) / of.square);
        }
        return out;
      };
      double furthest = 0;
      for (const std::size_t rows :
           {std::size_t{1}, std::size_t{k}, std::size_t{k + 1}, std::size_t{10'000}}) {
        for (int trial = 0; trial < 8; ++trial) {
          std::vector<Line> one = some_lines(), other = one;
          const double a = end(0, 2), b = end(-1, 1);
          for (std::size_t i = 0; i < rows; ++i) one.push_back({"x", 4, a, b});
          if (adjacency == Adjacency::replace_one)
            for (std::size_t i = 0; i < 1 + rows / 2; ++i)
              other.push_back({"x", end(0, 4), end(0, 2), end(-1, 1)});
          const std::vector<double> p = sums(one), q = sums(other);
          double squares = 0;
          for (std::size_t i = 0; i < p.size(); ++i) squares += (p[i] - q[i]) * (p[i] - q[i]);
          EXPECT_LE(std::sqrt(squares), claimed);
          furthest = std::max(furthest, std::sqrt(squares));
        }
      }
      EXPECT_GE(furthest, 0.7 * claimed) << "power";
    }
  }
}

TEST(WeightedMoments, VerifyAndAreReadBack) {
  for (const Adjacency adjacency : {Adjacency::replace_one, Adjacency::add_remove}) {
    for (const std::string& counting :
         {std::string(weights), std::string(people), std::string(weights) + people}) {
      const bool of_people = counting.find("person") != std::string::npos;
      const Dataset data = read_lines(some_lines(), schema_with(counting, adjacency), 2);
      const Budget budget{.epsilon = 1,
                          .delta = 1e-6,
                          .adjacency = adjacency,
                          .rows_per_person = of_people ? 2U : 1U};
      const CovarianceRelease made = fit_covariance(data, plan_of(data, budget), key_of(1));
      ASSERT_TRUE(made.model().count.has_value());
      EXPECT_EQ(made.model().columns(), (std::vector<std::string>{"a", "b"}));
      const json file = to_json(made);
      const Verification check = verify(file);
      EXPECT_TRUE(check.valid) << ::testing::PrintToString(check.failures);
      EXPECT_EQ(to_json(parse_release<CovarianceKind>(file.dump(), "file")), file);
      const std::string words = in_words(made.certificate());
      EXPECT_THAT(words, HasSubstr(of_people ? "any number of rows per person, counted as at most 2"
                                             : "a row counts by its weight"));
      EXPECT_EQ(file["certificate"]["constants"].contains("people"), of_people);
      if (adjacency == Adjacency::replace_one) {
        EXPECT_LT(column_guarantee(file, "a", 0.5).epsilon, 1);
      }
      // Nothing else said of how rows count verifies, resealed or not.
      const auto broken = [&](const auto& change) {
        json other = file;
        change(other);
        other["certificate"]["digest"] = file_digest(other);
        try {
          return !verify(other).valid;
        } catch (const Error&) {
          return true;
        }
      };
      EXPECT_TRUE(broken([](json& o) { o["model"].erase("count"); }));
      EXPECT_TRUE(broken([](json& o) { o["certificate"]["constants"].erase("weighted"); }));
      EXPECT_TRUE(broken([](json& o) { o["certificate"]["constants"]["rows_of_person"] = 1; }));
      EXPECT_TRUE(broken([](json& o) {
        o["certificate"]["mechanism"]["noise"] =
            o["certificate"]["mechanism"]["noise"].get<double>() * 0.9;
      }));
    }
  }
}

TEST(WeightedMoments, ArePlannedForWhatCounts) {
  const Dataset data = read_lines(some_lines(), schema_with(people), 2);
  const Budget budget{.epsilon = 1, .delta = 1e-6, .rows_per_person = 2};
  const auto refused = [&](const CovarianceProblem& problem) {
    EXPECT_THROW(
        static_cast<void>(fit_covariance(data, plan_covariance(problem, budget), key_of(1))),
        BadInput);
  };
  refused({.rows = data.rows(), .columns = 2});
  refused({.rows = data.people, .columns = 2, .weighted = true});
  refused({.rows = data.rows(), .columns = 2, .weighted = true, .rows_of_person = 2});
  const testing::TempDir folder;
  const Ledger ledger =
      Ledger::create(folder.path("l"), 8, 1e-4, {Adjacency::replace_one, any_rows}, {},
                     {.memory = folder.path("memory")});
  FitOptions options;
  options.ledger = &ledger;
  static_cast<void>(fit_covariance(data, plan_of(data, budget), Key::from_os(), options));
  EXPECT_EQ(ledger.read().entries.size(), 1U);
  EXPECT_EQ(ledger.read().terms.who.rows_per_person, any_rows);
}

// A survey of 10,000 rows at epsilon 1: the private mean is within 1 % of the survey-weighted one
// where half a range is 1; 40 keys, each off by 5 of its noise's deviations with a probability
// below 1e-6. Without weights it would be 15 % off.
TEST(WeightedMoments, AMeanIsWithinAPercentOfTheSurveys) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<Line> lines;
  double sum = 0, all = 0, plain = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double weight = 1 + 3 * uniform(random);
    const double a = std::min(2.0, 0.3 * weight + 0.5 * uniform(random));
    lines.push_back({"", weight, a, 0});
    sum += weight * a, all += weight, plain += a;
  }
  const Schema whole = parse_covariance_schema(
      std::string("[columns]\n") + weights + "a = {type = \"number\", range = [0, 2]}\n", "s",
      {"a"}, Adjacency::replace_one);
  const Dataset data = read_lines(lines, whole);
  const CovariancePlan plan = plan_covariance({.rows = 10'000, .columns = 1, .weighted = true},
                                              {.epsilon = 1, .delta = 1e-6});
  const double exact = sum / all;
  ASSERT_GT(std::fabs(plain / 10'000 - exact), 0.04 * exact) << "power";
  for (std::uint32_t run = 0; run < 40; ++run) {
    const MomentEstimate mean =
        covariance_estimates(fit_covariance(data, plan, key_of(run))).means.front();
    EXPECT_NEAR(mean.value, exact, 0.01 * exact);
  }
}

// Intervals of the weighted population, and of people whose rows are alike: where one holds 94 % of
// the time, 300 tables have it less than 87 % of the time with a probability below 1e-6.
TEST(WeightedMoments, IntervalsHoldTheWeightedPopulation) {
  const int tables = static_cast<int>(support::repeats(300U, 20U));
  for (const bool of_people : {false, true}) {
    const Budget budget{.epsilon = 4, .delta = 1e-6};
    const Schema schema = schema_with(of_people ? people : weights);
    int means = 0, deviations = 0;
    std::mt19937_64 random(of_people ? 11 : 12);
    std::uniform_real_distribution<double> uniform(0, 1);
    for (int run = 0; run < tables; ++run) {
      std::vector<Line> lines;
      for (int i = 0; i < 400; ++i) {
        // Seen with a probability of 1 in the lower half and a quarter in the upper one.
        const double a = 2 * uniform(random);
        if (of_people) {
          const int rows = 1 + static_cast<int>(random() % 6);
          for (int row = 0; row < rows; ++row) lines.push_back({fmt::format("{}", i), 1, a, a - 1});
        } else if (a < 1 || uniform(random) < 0.25) {
          lines.push_back({"", a < 1 ? 1.0 : 4.0, a, a - 1});
        }
      }
      const Dataset data = read_lines(lines, schema);
      const CovarianceEstimates found = covariance_estimates(
          fit_covariance(data, plan_of(data, budget), key_of(static_cast<std::uint32_t>(run))));
      means += found.means[0].low <= 1 && 1 <= found.means[0].high;
      const double deviation = 2 / std::sqrt(12.0);
      deviations += found.deviations[0].low <= deviation && deviation <= found.deviations[0].high;
    }
    EXPECT_GE(means, (tables > 100 ? 0.87 : 0.5) * tables) << of_people;
    EXPECT_GE(deviations, (tables > 100 ? 0.87 : 0.5) * tables) << of_people;
  }
}

}  // namespace covariance_weights_test
}  // namespace gibbsite
