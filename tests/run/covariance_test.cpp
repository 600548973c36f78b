// Released moments: their noise, their file, what a run refuses, and how often intervals hold.
#include "gibbsite/release/covariance.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "certificate/model_json.hpp"
#include "core/key_access.hpp"
#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/ledger/ledger.hpp"
#include "gibbsite/mechanism/ledger_guarantee.hpp"
#include "gibbsite/mechanism/noise_law.hpp"
#include "gibbsite/run/fit_covariance.hpp"
#include "support/repeats.hpp"
#include "support/temp_dir.hpp"

namespace gibbsite {
namespace covariance_test {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Key covariance_key(std::uint32_t number) {
  std::array<std::uint8_t, 32> bytes{78};
  for (std::size_t i = 0; i < 4; ++i) bytes[28 + i] = static_cast<std::uint8_t>(number >> (8 * i));
  return KeyAccess::make(StreamKey(NoiseKind::chacha20, bytes));
}

using Row = std::vector<double>;

struct Range {
  double lo = 0, hi = 1;
};

Dataset table_of(const std::vector<Range>& ranges, const std::vector<Row>& rows) {
  Schema whole;
  whole.label_name = "y";
  whole.label = TwoClasses{.positive = "1"};
  std::vector<std::string> names;
  for (const Range& range : ranges) {
    names.push_back("x" + std::to_string(names.size()));
    whole.columns.push_back({names.back(), ColumnType::number, range.lo, range.hi, {}, false});
  }
  Dataset out;
  out.schema = covariance_schema(whole, names, Adjacency::replace_one);
  for (const auto& row : rows) {
    for (std::size_t j = 0; j < row.size(); ++j) {
      const Range& in = ranges[j];
      out.dense().push_back(
          static_cast<float>(std::clamp((row[j] - in.lo) / (in.hi - in.lo), 0.0, 1.0)));
    }
  }
  return out;
}

CovariancePlan plan_for(const Dataset& data, const Budget& budget) {
  return plan_covariance({.rows = data.rows(), .columns = data.schema.columns.size()}, budget);
}

const Budget covariance_budget{.epsilon = 1, .delta = 1e-6};
const Budget counted_budget{.epsilon = 1, .delta = 1e-6, .adjacency = Adjacency::add_remove};

Dataset three_rows() {
  return table_of({{0, 4}, {-1, 1}}, {{0, 1}, {3, 0.5}, {5, -1}});  // the last 5 is held to 4
}

// Numbers are -1, 0.5, 1 and 1, 0.5, -1. 2,000 keys: a mean is off by 6 of its deviations with a
// probability below 1e-8, and a variance by 6 of its own with one below 1e-7.
TEST(FitCovariance, AddsTheNoiseThatItsCertificateSays) {
  const Dataset data = three_rows();
  const auto runs = support::repeats(2000U, 100U);
  for (const Budget& budget : {covariance_budget, counted_budget}) {
    const CovariancePlan plan = plan_for(data, budget);
    const MomentDeviations of = moment_deviations(plan.mechanism, 2, budget.adjacency);
    const std::vector<double> exact{0.5, 0.5, 2.25 - 3 * of.shift, -1.75, 2.25 - 3 * of.shift};
    const std::vector<double> deviation{of.sum, of.sum, of.square, of.product, of.square};
    std::vector<double> sum(5), squares(5);
    for (std::uint32_t run = 0; run < runs; ++run) {
      const CovarianceRelease made = fit_covariance(data, plan, covariance_key(run));
      std::vector<double> all = made.model().sums;
      all.insert(all.end(), made.model().moments.begin(), made.model().moments.end());
      ASSERT_EQ(made.model().count.has_value(), of.count > 0);
      for (std::size_t i = 0; i < 5; ++i) {
        const double off = (all[i] - exact[i]) / deviation[i];
        sum[i] += off, squares[i] += off * off;
      }
    }
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_NEAR(sum[i] / runs, 0, 6 / std::sqrt(runs)) << i;
      EXPECT_NEAR(squares[i] / runs, 1, 6 * std::sqrt(2.0 / runs) + 0.002) << i;
    }
  }
}

TEST(FitCovariance, VerifiesAndIsReadBack) {
  const Dataset data = three_rows();
  for (const Budget& budget : {covariance_budget, counted_budget}) {
    const CovarianceRelease made = fit_covariance(data, plan_for(data, budget), covariance_key(1));
    const Verification check = verify(made);
    EXPECT_TRUE(check.valid) << (check.failures.empty() ? "" : check.failures.front());
    const json file = to_json(made);
    EXPECT_TRUE(verify(file).valid);
    const CovarianceRelease read = parse_release<CovarianceKind>(file.dump(), "file");
    EXPECT_EQ(read.model().moments, made.model().moments);
    EXPECT_EQ(to_json(read), file);
    EXPECT_THAT(in_words(made.certificate()), HasSubstr("sums of 2 columns"));
    const auto broken = [&](auto change) {
      json other = file;
      change(other);
      other["certificate"]["digest"] = file_digest(other);
      return !verify(other).valid;
    };
    EXPECT_TRUE(broken([](json& f) { f["model"]["sums"][0] = 0.1; }));
    EXPECT_TRUE(broken([](json& f) { f["model"]["moments"].erase(0); }));
    EXPECT_TRUE(broken([](json& f) { f["model"]["sums"][0] = 0x1p40; }));
    EXPECT_TRUE(broken([](json& f) { f["model"]["moments"][0] = -0x1p40; }));
    EXPECT_TRUE(broken([](json& f) { f["model"]["preprocessing"]["intercept"] = true; }));
    EXPECT_TRUE(broken([](json& f) { f["model"]["preprocessing"]["row_norm"] = 0.5; }));
    EXPECT_TRUE(broken([](json& f) { f["model"]["count"] = 3.03; }));
    EXPECT_TRUE(broken([](json& f) { f["certificate"]["constants"]["covariance_columns"] = 3; }));
    EXPECT_TRUE(broken([](json& f) {
      f["certificate"]["mechanism"]["noise"] =
          f["certificate"]["mechanism"]["noise"].get<double>() / 2;
    }));
    EXPECT_THAT([&] { static_cast<void>(parse_release(file.dump(), "file")); },
                ThrowsMessage<BadInput>(HasSubstr("holds means and a covariance")));
  }
}

TEST(FitCovariance, IsEnteredAndRefusesOtherTables) {
  const testing::TempDir folder;
  const Dataset data = three_rows();
  const CovariancePlan plan = plan_for(data, covariance_budget);
  const Ledger ledger =
      Ledger::create(folder.path("l.ledger"), 1.2, 2e-6, {}, {}, {.memory = folder.path("m")});
  FitOptions options;
  options.ledger = &ledger;
  static_cast<void>(fit_covariance(data, plan, covariance_key(1), options));
  EXPECT_THROW(static_cast<void>(fit_covariance(data, plan, covariance_key(2), options)),
               BudgetSpent);
  const Dataset other = table_of({{0, 4}, {-1, 1}}, {{0, 1}, {3, 0.5}});
  EXPECT_THROW(static_cast<void>(fit_covariance(other, plan, covariance_key(3))), BadInput);
  Dataset scaled = data;
  scaled.schema.row_norm = 0.5;
  EXPECT_THROW(static_cast<void>(fit_covariance(scaled, plan, covariance_key(3))), BadInput);
  const Dataset narrow = table_of({{0, 4}}, {{0}, {3}, {5}});
  EXPECT_THROW(static_cast<void>(fit_covariance(narrow, plan, covariance_key(3))), BadInput);
  EXPECT_FALSE(verify(fit_covariance(data, plan, Key::from_seed(1))).valid);
  // What is certified is what noise is drawn for, whatever else a plan says.
  CovariancePlan mixed = plan;
  mixed.budget.adjacency = Adjacency::add_remove;
  EXPECT_FALSE(fit_covariance(data, mixed, covariance_key(4)).model().count.has_value());
}

constexpr const char* covariance_toml =
    "[columns]\na = {type = \"number\", range = [0, 2], missing = \"?\"}\nb = {type = \"number\", "
    "range = [0, 2]}\nc = {type = \"category\", levels = [\"x\"]}\nw = {type = \"weight\", range = "
    "[0, 2]}\n";

// Rows without one of their numbers are left out, and counted with noise: 40 deviations are far.
TEST(FitCovariance, LeavesIncompleteRowsOut) {
  const testing::TempDir folder;
  const std::string all = covariance_toml, toml = all.substr(0, all.find("w ="));
  const std::vector<std::string> columns{"a", "b"};
  EXPECT_THAT(
      [&] {
        static_cast<void>(parse_covariance_schema(toml, "s", columns, Adjacency::replace_one));
      },
      ThrowsMessage<BadInput>(HasSubstr("add-remove")));
  const Schema schema = parse_covariance_schema(toml, "s", columns, Adjacency::add_remove);
  std::string text = "a,b\n";
  for (int i = 0; i < 20'000; ++i) text += i % 4 == 0 ? "?,2\n" : "2,0\n";
  folder.write("t.csv", text);
  ReadOptions options;
  options.labels = ReadOptions::Labels::optional;
  const Dataset data = read_csv(folder.path("t.csv"), schema, options);
  const CovariancePlan plan = plan_for(data, counted_budget);
  const CovarianceRelease made = fit_covariance(data, plan, covariance_key(5));
  const MomentDeviations of = moment_deviations(plan.mechanism, 2, Adjacency::add_remove);
  ASSERT_LT(40 * of.sum, 4000);
  ASSERT_TRUE(made.model().count.has_value());
  EXPECT_NEAR(made.model().count.value_or(0), 15'000, 40 * of.count);
  EXPECT_NEAR(made.model().sums[0], 15'000, 40 * of.sum);
  EXPECT_NEAR(made.model().sums[1], -15'000, 40 * of.sum);
  EXPECT_NEAR(made.model().moments[1], -15'000, 40 * of.product);
  EXPECT_TRUE(verify(made).valid);
  const CovarianceRelease read = parse_release<CovarianceKind>(to_json(made).dump(), "file");
  EXPECT_EQ(to_json(read), to_json(made));
  EXPECT_NEAR(covariance_estimates(read).means[0].value, 2, 0.2);
}

TEST(CovarianceSchema, RefusesWhatHasNoMoments) {
  const auto read = [](const std::vector<std::string>& columns) {
    return [=] {
      static_cast<void>(
          parse_covariance_schema(covariance_toml, "s", columns, Adjacency::add_remove));
    };
  };
  EXPECT_THAT(read({"a", "w"}), ThrowsMessage<BadInput>(HasSubstr("says how rows count")));
  EXPECT_THROW(read({"b", "c"})(), BadInput);
  EXPECT_THROW(read({"b", "b"})(), BadInput);
  EXPECT_THROW(read({"d"})(), BadInput);
  EXPECT_THROW(read({})(), BadInput);
}

// A table of four columns: a normal one, one that is 0.95 with it, a clipped log-normal one with a
// little of it, and one that is 1 in 2 %.
struct Population {
  static std::vector<Range> ranges() { return {{60, 200}, {30, 130}, {0, 30}, {0, 1}}; }
  static std::vector<double> row(std::mt19937_64& random) {
    std::normal_distribution<double> normal;
    const double g = normal(random), h = normal(random), l = normal(random);
    return {120 + 15 * g, 75 + 10 * (0.95 * g + std::sqrt(1 - 0.9025) * h),
            std::min(std::exp(0.8 * l + 1 + 0.3 * g), 30.0),
            std::uniform_real_distribution<double>()(random) < 0.02 ? 1.0 : 0.0};
  }
};

// Means, deviations and correlations of the population, by 2^20 of its rows.
struct Truth {
  std::vector<double> means, deviations, covariances, correlations;
};
Truth truth() {
  std::mt19937_64 random(1);
  constexpr std::size_t d = 4, rows = std::size_t{1} << 20;
  std::vector<double> sum(d), products(d * d);
  const std::vector<double> middle{120, 75, 4, 0};
  for (std::size_t i = 0; i < rows; ++i) {
    std::vector<double> x = Population::row(random);
    for (std::size_t a = 0; a < d; ++a) {
      x[a] -= middle[a];
      sum[a] += x[a];
      for (std::size_t b = 0; b <= a; ++b) products[a * d + b] += x[a] * x[b];
    }
  }
  Truth out;
  const auto covariance = [&](std::size_t a, std::size_t b) {
    return products[a * d + b] / rows - sum[a] / rows * sum[b] / rows;
  };
  for (std::size_t a = 0; a < d; ++a) {
    out.means.push_back(middle[a] + sum[a] / rows);
    out.deviations.push_back(std::sqrt(covariance(a, a)));
    for (std::size_t b = 0; b < a; ++b) {
      out.covariances.push_back(covariance(a, b));
      out.correlations.push_back(covariance(a, b) / out.deviations[a] / out.deviations[b]);
    }
  }
  return out;
}

struct Held {
  std::vector<int> times = std::vector<int>(32);
  void add(const std::vector<MomentEstimate>& found, const std::vector<double>& is) {
    for (std::size_t i = 0; i < found.size(); ++i, ++at)
      times.at(at) += found[i].low <= is[i] && is[i] <= found[i].high;
  }
  std::size_t at = 0;
};

// Where an interval holds 94 % of the time, 300 tables have it less than 87 % of the time with a
// probability below 1e-6; the truth of 2^20 rows is off by a twentieth of an interval.
TEST(CovarianceEstimates, HoldTheTruthAsOftenAsTheySay) {
  if (support::sanitized) GTEST_SKIP() << "a release tells";
  const Truth is = truth();
  const int tables = 300;
  for (const std::size_t rows : {300U, 3000U}) {
    // With the last one the sample is most of an interval.
    for (const Budget& budget :
         {covariance_budget, counted_budget, Budget{.epsilon = 20, .delta = 1e-6}}) {
      Held held;
      std::mt19937_64 random(rows);
      for (int run = 0; run < tables; ++run) {
        std::vector<Row> all;
        for (std::size_t i = 0; i < rows; ++i) all.push_back(Population::row(random));
        const Dataset data = table_of(Population::ranges(), all);
        const CovarianceEstimates found = covariance_estimates(fit_covariance(
            data, plan_for(data, budget), covariance_key(static_cast<std::uint32_t>(run))));
        held.at = 0;
        held.add(found.means, is.means);
        held.add(found.deviations, is.deviations);
        held.add(found.covariances, is.covariances);
        held.add(found.correlations, is.correlations);
      }
      for (std::size_t i = 0; i < held.at; ++i)
        EXPECT_GE(held.times[i], (tables > 100 ? 0.87 : 0.5) * tables) << rows << " " << i;
    }
  }
}

// Where noise makes a variance negative its interval is of what noise reaches, not of 0 alone.
TEST(CovarianceEstimates, NoDeviationIsSurelyZero) {
  std::mt19937_64 random(7);
  const std::vector<Row> all(600, Population::row(random));
  const Dataset data = table_of(Population::ranges(), all);
  const CovariancePlan plan = plan_for(data, {.epsilon = 1, .delta = 1e-6});
  int zeros = 0;
  for (std::uint32_t run = 0; run < 60; ++run) {
    for (const MomentEstimate& of :
         covariance_estimates(fit_covariance(data, plan, covariance_key(run))).deviations) {
      EXPECT_GT(of.high, 0) << run;
      zeros += of.value == 0 ? 1 : 0;
    }
  }
  EXPECT_GT(zeros, 20);
}

// Four rows of a person that are alike tell of one: without that these intervals hold some 70 %.
TEST(CovarianceEstimates, KnowThatRowsOfAPersonMayBeAlike) {
  const Truth is = truth();
  const int tables = static_cast<int>(support::repeats(300U, 20U));
  const Budget budget{.epsilon = 20, .delta = 1e-6, .rows_per_person = 4};
  Held held;
  std::mt19937_64 random(5);
  for (int run = 0; run < tables; ++run) {
    std::vector<Row> all;
    for (int i = 0; i < 1000; ++i) all.insert(all.end(), 4, Population::row(random));
    const Dataset data = table_of(Population::ranges(), all);
    const CovarianceEstimates found = covariance_estimates(fit_covariance(
        data, plan_for(data, budget), covariance_key(static_cast<std::uint32_t>(run))));
    held.at = 0;
    held.add(found.means, is.means);
    held.add(found.deviations, is.deviations);
    held.add(found.correlations, is.correlations);
  }
  for (std::size_t i = 0; i < held.at; ++i)
    EXPECT_GE(held.times[i], (tables > 100 ? 0.87 : 0.5) * tables) << i;
}

// Forty columns at a small budget: the nearest semidefinite matrix has variances far too large,
// those that are said are within their intervals, and no interval ends before it begins.
TEST(CovarianceEstimates, OfManyColumnsAreWithinTheirIntervals) {
  constexpr std::size_t d = 40;
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal(0, 0.05);
  std::vector<Row> all(5000, Row(d));
  for (Row& row : all)
    for (std::size_t j = 0; j < d; ++j) row[j] = j == 0 ? 1 : normal(random);
  const Dataset data = table_of(std::vector<Range>(d, {-1, 1}), all);
  double said = 0, nearest = 0;
  for (std::uint32_t run = 0; run < 20; ++run) {
    const CovarianceEstimates found = covariance_estimates(
        fit_covariance(data, plan_for(data, covariance_budget), covariance_key(run)));
    EXPECT_TRUE(found.projected);
    const auto is_within = [](const MomentEstimate& one, double most) {
      return one.low <= one.value && one.value <= one.high && one.high <= most;
    };
    for (std::size_t j = 0; j < d; ++j) {
      EXPECT_TRUE(is_within(found.means[j], 1)) << j;
      EXPECT_TRUE(is_within(found.deviations[j], 1)) << j;
      said += found.deviations[j].value * found.deviations[j].value;
      nearest += found.covariance[j * d + j];
    }
    for (const MomentEstimate& one : found.correlations) EXPECT_TRUE(is_within(one, 1));
  }
  EXPECT_LT(said, 0.5 * nearest);
}

// Two columns that are one: with noise their matrix is none of a table every other time, and the
// one that is said always is. Where noise hides all, all there may be is said.
TEST(CovarianceEstimates, AreOfAMatrixThatATableMayHave) {
  std::vector<Row> all;
  for (int i = 0; i < 300; ++i) all.push_back({i % 10 / 9.0, i % 10 / 9.0, 0.5});
  const Dataset data = table_of({{0, 1}, {0, 1}, {0, 1}}, all);
  int projected = 0;
  for (std::uint32_t run = 0; run < 20; ++run) {
    const CovarianceEstimates found = covariance_estimates(
        fit_covariance(data, plan_for(data, covariance_budget), covariance_key(run)));
    projected += found.projected;
    const std::vector<double>& c = found.covariance;
    for (const std::size_t i : {0U, 1U, 2U}) {
      EXPECT_GE(c[4 * i], 0);
      EXPECT_LE(found.deviations[i].low, found.deviations[i].high);
    }
    EXPECT_LE(c[1] * c[1], c[0] * c[4] + 1e-12);
    for (const MomentEstimate& one : found.correlations) EXPECT_LE(std::abs(one.value), 1);
  }
  EXPECT_GE(projected, 10);
  Budget small = covariance_budget;
  small.epsilon = 0.01;
  const CovarianceEstimates hidden =
      covariance_estimates(fit_covariance(data, plan_for(data, small), covariance_key(1)));
  EXPECT_EQ(hidden.correlations[0].low, -1);
  EXPECT_EQ(hidden.correlations[0].high, 1);
  EXPECT_EQ(hidden.deviations[0].low, 0);
  EXPECT_EQ(hidden.deviations[0].high, 0.5);
  EXPECT_EQ(hidden.means[0].low, 0);
  EXPECT_EQ(hidden.means[0].high, 1);
}

// Without noise to speak of, estimates are those of the rows; and the matrix is one of a table.
TEST(CovarianceEstimates, AreOfTheRowsWhereNoiseIsSmall) {
  std::mt19937_64 random(3);
  std::vector<Row> all;
  for (int i = 0; i < 20'000; ++i) all.push_back(Population::row(random));
  const Dataset data = table_of(Population::ranges(), all);
  const Budget large{.epsilon = 500, .delta = 1e-6};
  const CovarianceEstimates found =
      covariance_estimates(fit_covariance(data, plan_for(data, large), covariance_key(1)));
  Row sum(4), products(10);
  for (const Row& row : all) {
    for (std::size_t a = 0, at = 0; a < 4; ++a) {
      sum[a] += row[a];
      for (std::size_t b = 0; b <= a; ++b) products[at++] += row[a] * row[b];
    }
  }
  const double n = 20'000;
  EXPECT_FALSE(found.projected);
  EXPECT_EQ(found.rows, n);
  std::size_t pair = 0;
  for (std::size_t a = 0, at = 0; a < 4; ++a) {
    const double width = data.schema.columns[a].hi - data.schema.columns[a].lo;
    EXPECT_NEAR(found.means[a].value, sum[a] / n, 1e-4 * width) << a;
    for (std::size_t b = 0; b <= a; ++b, ++at) {
      const double is = products[at] / n - sum[a] / n * (sum[b] / n);
      const double units = width * (data.schema.columns[b].hi - data.schema.columns[b].lo);
      EXPECT_NEAR(found.covariance[a * 4 + b], is, 1e-4 * units) << a << b;
      EXPECT_EQ(found.covariance[a * 4 + b], found.covariance[b * 4 + a]);
      if (a == b) {
        EXPECT_NEAR(found.deviations[a].value * found.deviations[a].value, is, 1e-4 * units);
      } else {
        EXPECT_NEAR(found.covariances[pair++].value, is, 1e-4 * units);
      }
    }
  }
  EXPECT_NEAR(found.correlations[0].value, 0.95, 0.02);
}

}  // namespace covariance_test
}  // namespace gibbsite
