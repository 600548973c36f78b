// Pure draws in a ball: the exact law on neighbors, the law they stand for, and their file.
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
#include "gibbsite/release/row_scores.hpp"
#include "gibbsite/run/select.hpp"
#include "support/repeats.hpp"

namespace gibbsite {
namespace ball_draw_test {

using nlohmann::json;
using ::testing::HasSubstr;

struct BallRow {
  std::vector<float> x;
  float y;
};

Schema ball_schema(std::size_t d) {
  Schema out;
  out.label_name = "y";
  out.label = TwoClasses{.positive = "a", .negative = "b"};
  out.row_norm = 1;
  for (std::size_t j = 0; j < d; ++j)
    out.columns.push_back({"x" + std::to_string(j), ColumnType::number, 0, 1, {}, false});
  return out;
}

Dataset ball_data(const Schema& schema, const std::vector<BallRow>& rows) {
  Dataset out;
  out.schema = schema;
  DenseTable x;
  for (const BallRow& row : rows) {
    x.insert(x.end(), row.x.begin(), row.x.end());
    out.y.push_back(row.y);
  }
  out.storage = std::move(x);
  return out;
}

ScoreSums sums_of(const SelectionModel& shape, const std::vector<BallRow>& rows) {
  ScoreSums sums(shape.candidates.size(), shape.lo, shape.hi);
  std::vector<std::vector<double>> points;
  for (const auto& z : shape.ball->lattice()) points.push_back(shape.ball->coefficients(z));
  log_likelihoods(ball_data(shape.ball->schema, rows), points,
                  [&](std::span<const double> row) { sums.add(row); });
  return sums;
}

double weight_of(const SelectPlan& plan) {
  return std::get<ExponentialPick>(plan.mechanism).weight;
}

// log P of each point, by the exact sums; the largest is taken off, so that nothing overflows.
std::vector<double> log_law(const SelectionModel& shape, const std::vector<BallRow>& rows,
                            double weight) {
  const ScoreSums sums = sums_of(shape, rows);
  const std::uint64_t best = *std::ranges::max_element(sums.steps());
  std::vector<double> out;
  double total = 0;
  for (const std::uint64_t steps : sums.steps()) {
    out.push_back(-weight * std::ldexp(static_cast<double>(best - steps), -30));
    total += std::exp(out.back());
  }
  for (double& v : out) v -= std::log(total);
  return out;
}

double farthest(const std::vector<double>& a, const std::vector<double>& b) {
  double out = 0;
  for (std::size_t i = 0; i < a.size(); ++i) out = std::max(out, std::fabs(a[i] - b[i]));
  return out;
}

// Rows that another can be: the ends, the middle, and one that is longer than the schema allows.
std::vector<BallRow> possible_rows(std::size_t d) {
  std::vector<BallRow> out;
  for (const float y : {-1.0F, 1.0F}) {
    for (const float x : {-50.0F, -1.0F, -0.3F, 0.0F, 0.7F, 1.0F, 50.0F}) {
      std::vector<float> row(d, 0.0F);
      row.front() = x;
      out.push_back({row, y});
    }
  }
  return out;
}

// One class of duplicates, both classes, one row, and made-up rows.
std::vector<std::vector<BallRow>> tables(std::size_t d) {
  std::vector<float> first(d, 0.0F);
  first.front() = 1;
  const BallRow plus{first, 1}, minus{first, -1};
  std::mt19937 noise(5);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<BallRow> made_up;
  for (int i = 0; i < 30; ++i) {
    std::vector<float> x(d);
    for (float& v : x) v = uniform(noise) / static_cast<float>(d);
    made_up.push_back({x, uniform(noise) > 0 ? 1.0F : -1.0F});
  }
  return {std::vector<BallRow>(200, plus),
          std::vector<BallRow>(200, minus),
          {plus},
          {minus, plus},
          made_up};
}

// The largest log ratio of replaced rows, of k of them at once.
double worst_replaced(const SelectionModel& shape, double weight, std::size_t k) {
  const std::size_t d = shape.ball->schema.features();
  double worst = 0;
  for (const std::vector<BallRow>& table : tables(d)) {
    if (table.size() < k) continue;
    const std::vector<double> law = log_law(shape, table, weight);
    for (const BallRow& other : possible_rows(d)) {
      std::vector<BallRow> neighbor = table;
      for (std::size_t i = 0; i < k; ++i) neighbor[i] = other;
      worst = std::max(worst, farthest(law, log_law(shape, neighbor, weight)));
    }
  }
  return worst;
}

// Pure: at every point of every pair, and the worst pair comes close to epsilon.
TEST(DrawInABall, OfNeighborsKeepsEpsilonAtEveryPoint) {
  for (const std::size_t d : {1U, 2U}) {
    const SelectionModel shape = selection_in_ball({ball_schema(d), 3, 25});
    for (const std::uint64_t k : {1U, 2U}) {
      const SelectPlan plan = plan_select({.rows = 200, .candidates = shape.candidates.size()},
                                          {.epsilon = 4, .delta = 1e-15, .rows_per_person = k});
      const double worst = worst_replaced(shape, weight_of(plan), k);
      EXPECT_LE(worst, 4 * (1 + 1e-9)) << d << " " << k;
      EXPECT_GT(worst, 3.5) << d << " " << k;
    }
  }
}

TEST(DrawInABall, OfOneMoreRowKeepsEpsilonAtEveryPoint) {
  const SelectionModel shape = selection_in_ball({ball_schema(1), 3, 25});
  const SelectPlan plan =
      plan_select({.rows = 300, .candidates = shape.candidates.size()},
                  {.epsilon = 4, .delta = 1e-15, .adjacency = Adjacency::add_remove});
  double worst = 0;
  for (const std::vector<BallRow>& table : tables(1)) {
    const std::vector<double> law = log_law(shape, table, weight_of(plan));
    for (const BallRow& more : possible_rows(1)) {
      std::vector<BallRow> neighbor = table;
      neighbor.push_back(more);
      worst = std::max(worst, farthest(law, log_law(shape, neighbor, weight_of(plan))));
    }
  }
  EXPECT_LE(worst, 4 * (1 + 1e-9));
  EXPECT_GT(worst, 3.5);
}

// In one dimension the lattice of 9,999 points has the law of exp(-beta sum of losses), cut to
// [-B, B], with beta = epsilon/(2 B R): distribution functions differ by a point's mass at most.
TEST(DrawInABall, HasTheLawOfTheCutPosterior) {
  const double radius = 5, epsilon = 6, beta = epsilon / (2 * radius);
  const SelectionModel shape =
      selection_in_ball(coefficient_ball(ball_schema(1), radius, most_select_candidates));
  const std::size_t c = shape.candidates.size();
  ASSERT_EQ(c, 9'999U);
  const SelectPlan plan =
      plan_select({.rows = 30, .candidates = c}, {.epsilon = epsilon, .delta = 1e-15});
  EXPECT_NEAR(weight_of(plan) / (shape.hi - shape.lo), beta, 1e-12);
  const std::vector<BallRow> rows = tables(1).back();
  const std::vector<double> law = log_law(shape, rows, weight_of(plan));
  const auto density = [&](double theta) {
    double sum = 0;
    for (const BallRow& row : rows)
      sum += std::log1p(std::exp(-static_cast<double>(row.x[0] * row.y) * theta));
    return std::exp(-beta * sum);
  };
  constexpr int panels = 20'000;
  const double h = 2 * radius / panels;
  std::vector<double> up{0};  // the integral up to each node, by the trapezoid rule
  for (int i = 0; i < panels; ++i)
    up.push_back(up.back() + h / 2 * (density(-radius + i * h) + density(-radius + (i + 1) * h)));
  double below = 0, off = 0, mass = 0;
  const auto lattice = shape.ball->lattice();
  for (std::size_t i = 0; i < c; ++i) {
    const double theta = shape.ball->coefficients(lattice[i])[0];
    const double p = std::exp(law[i]);
    const auto node = static_cast<std::size_t>(std::lround((theta + radius) / h));
    off = std::max(off, std::fabs(below + p / 2 - up[node] / up.back()));
    below += p, mass = std::max(mass, p);
  }
  EXPECT_LT(mass, 1e-3);
  EXPECT_LT(off, 2 * mass);
}

// E F - min F <= (log c)/beta, for F in units of 1/beta.
TEST(DrawInABall, LosesAtMostTheLogOfThePoints) {
  const SelectionModel shape = selection_in_ball({ball_schema(2), 3, 25});
  const auto c = static_cast<double>(shape.candidates.size());
  for (const double weight : {0.01, 1.0, 30.0}) {
    for (const std::vector<BallRow>& table : tables(2)) {
      const std::vector<double> law = log_law(shape, table, weight);
      const double best = *std::ranges::max_element(law);
      double loss = 0;
      for (const double v : law) loss += std::exp(v) * (best - v);
      EXPECT_LE(loss, std::log(c)) << weight;
      EXPECT_GT(loss, 0);
    }
  }
}

Key ball_key(std::uint32_t number) {
  std::array<std::uint8_t, 32> bytes{78};
  for (std::size_t i = 0; i < 4; ++i) bytes[28 + i] = static_cast<std::uint8_t>(number >> (8 * i));
  return KeyAccess::make(StreamKey(NoiseKind::chacha20, bytes));
}

SelectRelease ball_run(std::uint32_t key, double epsilon = 4) {
  const SelectionModel shape = selection_in_ball({ball_schema(2), 3, 1});
  const std::vector<BallRow> rows = tables(2).back();
  const SelectPlan plan = plan_select({.rows = rows.size(), .candidates = shape.candidates.size()},
                                      {.epsilon = epsilon, .delta = 1e-15});
  return release_selection(shape, sums_of(shape, rows), plan, ball_key(key));
}

// 600 keys; a share is off by 7 of its deviations with a probability below 1e-6.
TEST(DrawInABall, IsDrawnByThatLaw) {
  const SelectionModel shape = selection_in_ball({ball_schema(2), 3, 1});
  const SelectPlan plan =
      plan_select({.rows = 30, .candidates = 5}, {.epsilon = 4, .delta = 1e-15});
  const std::vector<double> law = log_law(shape, tables(2).back(), weight_of(plan));
  const auto runs = support::repeats(600U, 200U);
  std::array<double, 5> found{};
  for (std::uint32_t run = 0; run < runs; ++run)
    found.at(ball_run(run).model().chosen) += 1.0 / runs;
  for (std::size_t i = 0; i < 5; ++i) {
    const double p = std::exp(law[i]);
    EXPECT_NEAR(found.at(i), p, 7 * std::sqrt(p * (1 - p) / runs)) << i;
    EXPECT_GT(p, 0.02);
  }
}

TEST(DrawInABall, VerifiesAndIsReadAgain) {
  const SelectRelease made = ball_run(1);
  EXPECT_TRUE(verify(made).valid);
  const json file = to_json(made);
  EXPECT_TRUE(verify(file).valid) << verify(file).failures.front();
  EXPECT_EQ(file["model"]["score"], "log-likelihood");
  EXPECT_EQ(file["model"]["features"], json({"x0", "x1"}));
  const SelectRelease again = parse_release<SelectKind>(file.dump(), "again");
  EXPECT_EQ(to_json(again), file);
  EXPECT_EQ(again.model().coefficients(), made.model().coefficients());
  EXPECT_THAT(in_words(made.certificate()), HasSubstr("one random pick among 5 candidates"));
}

TEST(DrawInABall, EditsAreSeen) {
  const json file = to_json(ball_run(2));
  const auto expect_seen = [&](const char* where, const json& value) {
    json edited = file;
    edited[json::json_pointer(where)] = value;
    edited["certificate"]["digest"] = file_digest(edited);
    EXPECT_FALSE(verify(edited).valid) << where;
  };
  expect_seen("/model/coefficients/0", 0.125);
  expect_seen("/model/features/0", "other");
  expect_seen("/model/ball/radius", 4);
  expect_seen("/model/ball/squares", 2);
  expect_seen("/model/ball/squares", 1e15);
  expect_seen("/model/range/0", -4);
  expect_seen("/model/candidates/0", "-2 0");
  expect_seen("/model/preprocessing/row_norm", 0.5);
  expect_seen("/model/preprocessing/intercept", true);
  expect_seen("/model/score", "accuracy");
  expect_seen("/certificate/guarantee/epsilon", 3);
}

TEST(LogLikelihoods, RefuseOtherRows) {
  const std::vector<std::vector<double>> points{{0.5}};
  const auto nothing = [](std::span<const double>) {};
  Dataset data = ball_data(ball_schema(1), {{{1}, 1}});
  data.y.clear();
  EXPECT_THROW(log_likelihoods(data, points, nothing), BadInput);
  data.y = {1};
  data.weight = {0.5};
  EXPECT_THROW(log_likelihoods(data, points, nothing), BadInput);
}

}  // namespace ball_draw_test
}  // namespace gibbsite
