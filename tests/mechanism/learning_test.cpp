#include "gibbsite/mechanism/learning.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/positive_share.hpp"
#include "gibbsite/mechanism/analysis.hpp"
#include "gibbsite/mechanism/plan.hpp"
#include "gibbsite/model/loss.hpp"

namespace gibbsite {
namespace learning_test {

Problem problem(std::uint64_t rows, std::uint64_t features) {
  Problem p;
  p.rows = rows;
  p.features = features;
  return p;
}

TEST(Learning, SignalIsRowsInUnitsOfTheNoise) {
  const Neighbors replaced{Adjacency::replace_one, 1}, added{Adjacency::add_remove, 3};
  EXPECT_DOUBLE_EQ(signal_per_feature(problem(1000, 5), replaced, 0.2), 1000 * 0.2 / 5);
  EXPECT_DOUBLE_EQ(signal_per_feature(problem(1000, 5), added, 0.2), 2 * 1000 * 0.2 / 3 / 5);
}

TEST(Learning, CoefficientsOfSeveralClassesAreNoFeatures) {
  Problem p = problem(10, 12);
  EXPECT_EQ(coefficients_words(p), "12 features");
  p.outputs = 3;
  EXPECT_EQ(coefficients_words(p), "3 classes x 4 features");
}

TEST(Learning, MoreSignalKeepsMore) {
  for (const bool from_few : {false, true}) {
    EXPECT_EQ(kept_share(0, from_few), 0);
    double before = 0;
    for (double signal = 0.01; signal < 1e6; signal *= 1.01) {
      const double kept = kept_share(signal, from_few);
      ASSERT_GE(kept, before) << signal;
      ASSERT_GE(kept, kept_share(signal)) << signal;
      ASSERT_LT(kept - before, 0.02) << signal << ": no jump";
      ASSERT_LE(kept, 1);
      before = kept;
    }
  }
  EXPECT_DOUBLE_EQ(kept_share(20), 0.88);
  EXPECT_DOUBLE_EQ(kept_share(5, true), 0.67);
}

// The curve of small budgets is of what has their rule, whatever the number of rows.
TEST(Learning, TwoClassesOfWhitenedLearnFromFew) {
  Problem two = problem(1000, 5);
  two.loss = "logistic";
  two.intercept = true;
  two.typical_row_norm = std::sqrt(1 + 4.0 / 12);
  two.row_norm = 2;
  EXPECT_TRUE(learns_from_few(Whitened{}, two));
  EXPECT_FALSE(learns_from_few(Whitened{.information_share = 0.1}, two)) << "with intervals";
  EXPECT_FALSE(learns_from_few(MetricPath{}, two));
  Problem other = two;
  other.loss = "huber";
  EXPECT_FALSE(learns_from_few(Whitened{}, other));
  other = two;
  other.typical_row_norm = 1.5;
  EXPECT_FALSE(learns_from_few(Whitened{}, other)) << "levels";
  other = two;
  other.intercept = false;
  EXPECT_FALSE(learns_from_few(Whitened{}, other));
}

TEST(Learning, RowsKeepTheShareThatWasAskedFor) {
  for (const auto adjacency : {Adjacency::replace_one, Adjacency::add_remove}) {
    const Neighbors who{adjacency, 2};
    for (const std::uint64_t d : {1ULL, 109ULL}) {
      for (const double mu : {0.01, 0.7}) {
        for (const bool from_few : {false, true}) {
          for (const double share : {from_few ? 0.31 : 0.06, 0.5, 0.9, 0.99}) {
            const double rows = rows_to_keep(share, problem(7, d), who, mu, from_few);
            const auto kept = [&](double n) {
              return kept_share(
                  signal_per_feature(problem(static_cast<std::uint64_t>(n), d), who, mu), from_few);
            };
            EXPECT_GE(kept(rows), share - 1e-9);
            if (rows > 1) {
              EXPECT_LT(kept(rows - 1), share + 1e-9);
            }
          }
        }
        EXPECT_EQ(rows_to_keep(1, problem(7, d), who, mu),
                  rows_to_keep(0.997, problem(7, d), who, mu));
      }
    }
  }
}

// Rows of a rare class say less: 4 p (1 - p) of what rows of balanced classes say.
TEST(Learning, RareClassesTakeMoreRows) {
  Problem two = problem(50'000, 6);
  two.loss = "logistic";
  two.intercept = true;
  const Plan made = plan(two, {.epsilon = 1, .delta = 1e-6});
  const auto kept = [&](const std::optional<PositiveShare>& share) {
    return expected_learning(made, share)->kept;
  };
  EXPECT_GT(kept({}), 0.99);
  EXPECT_EQ(kept(PositiveShare{0.5, 0.5}), kept({}));
  EXPECT_LT(kept(PositiveShare{0.01, 0.01}), 0.99);
  EXPECT_LT(kept(PositiveShare{0.002, 0.002}), 0.9);
  EXPECT_NEAR(kept(PositiveShare{0.002, 0.002}), kept(PositiveShare{0.998, 0.998}), 1e-9);
  // What is said of bounds is true at both ends.
  EXPECT_EQ(kept(PositiveShare{0.002, 0.3}), kept(PositiveShare{0.002, 0.002}));
  EXPECT_EQ(kept(PositiveShare{0.3, 0.998}), kept(PositiveShare{0.998, 0.998}));
  double before = 0;
  for (double share = 1e-6; share < 0.5; share *= 1.5) {
    const double is = kept(PositiveShare{share, share});
    EXPECT_GE(is, before) << share;
    before = is;
  }
  const Neighbors who{Adjacency::replace_one, 1};
  const double even = rows_to_keep(0.9, two, who, 0.1, true);
  EXPECT_NEAR(rows_to_keep(0.9, two, who, 0.1, true, 0.04), 25 * even, 25);
  EXPECT_NEAR(rows_to_keep(0.9, two, who, 0.1, true, 0.008), 125 * even, 125);
  EXPECT_EQ(kept_share(100, true, 0.04), kept_share(4, true));
  const double rows = rows_to_keep(0.6, two, who, 0.1, true, 0.01);
  const Problem enough = problem(static_cast<std::uint64_t>(rows), 6);
  EXPECT_NEAR(kept_share(signal_per_feature(enough, who, 0.1), true, 0.01), 0.6, 1e-3);
  // The share is no part of what is planned.
  EXPECT_DOUBLE_EQ(least_evenness({0.1, 0.1}), 0.36);
  EXPECT_NEAR(least_evenness({0.1, 0.99}), 4 * 0.99 * 0.01, 1e-12);
}

TEST(Learning, SharesThatAreNone) {
  const double nan = std::nan("");
  for (const PositiveShare& bad :
       {PositiveShare{0, 0.1}, PositiveShare{0.1, 1}, PositiveShare{-0.1, 0.1},
        PositiveShare{0.4, 0.3}, PositiveShare{nan, 0.3}, PositiveShare{0.3, nan}}) {
    EXPECT_NE(fault_of(bad), "") << bad.low << " " << bad.high;
    EXPECT_THROW(require_positive_share(bad, "share"), BadInput);
  }
  EXPECT_EQ(fault_of({0.001, 0.999}), "");
}

// A plan without intervals tells how wide they would be by the settings that a fit with them has.
TEST(Learning, IntervalsAreToldOfTheFitThatHasThem) {
  for (const double epsilon : {0.1, 0.5, 2.0}) {  // N/d below and above the small budgets'
    Problem two = problem(4'000, 9);
    two.loss = "logistic";
    two.row_norm = 1;
    two.intercept = true;
    const Budget budget{.epsilon = epsilon, .delta = 1e-8};
    const Plan without = plan(two, budget), with = plan(two, budget, {.intervals = true});
    const auto candidate = candidate_with_intervals(without, {});
    ASSERT_TRUE(candidate);
    const auto settings = [](const Candidate& of) {
      std::vector<double> out;
      visit_fields(of.mechanism, [&](std::string_view name, const auto&, auto...) {
        out.push_back(setting(of.mechanism, name).value_or(-1));
      });
      return out;
    };
    EXPECT_EQ(settings(*candidate), settings(with.candidate())) << epsilon;
    EXPECT_NE(settings(without.candidate()), settings(with.candidate())) << "no power";
    EXPECT_EQ(settings(*candidate_with_intervals(with, {.intervals = true})),
              settings(with.candidate()));
  }
  Problem none = problem(4'000, 9);
  none.loss = "logistic(0.4,1)";
  EXPECT_TRUE(candidate_with_intervals(plan(none, {.epsilon = 1, .delta = 1e-8}), {}));
  none.loss = "smoothed-hinge";
  EXPECT_FALSE(candidate_with_intervals(plan(none, {.epsilon = 1, .delta = 1e-8}), {}));
}

// What a plan says of intervals is the noise where that is all, the sample where that is, and both
// together between.
TEST(Learning, HalfIntervalsHoldNoiseAndSample) {
  Problem one = problem(100'000, 10);
  one.loss = "logistic";
  const Neighbors who{Adjacency::replace_one, 1};
  Whitened settings;
  settings.query_mu = 0.3;
  settings.first_clip = 3;
  settings.first_moment_share = 0.1;
  settings.curvature_share = 0.1;
  settings.clip_factor = 0.5;
  settings.iterations = 10;
  const double noise = expected_coefficient_noise(settings, one, who, 0.3);
  const double sample = 1 / std::sqrt(100'000 * 0.2 * 0.3 * 0.3);
  EXPECT_NEAR(*expected_half_interval(settings, one, who, 0.3),
              1.959964 * std::hypot(noise, sample), 1e-6);
  // A level of few has the wider one; in proportion to 1/spread.
  EXPECT_NEAR(*expected_half_interval(settings, one, who, 0.1) /
                  *expected_half_interval(settings, one, who, 0.3),
              3, 1e-9);
  // An evenness of 4 p (1 - p) = 0.04 multiplies the noise's part by 25 and the sample's by 5.
  const double rare = *expected_half_interval(settings, one, who, 0.3, 0.04);
  EXPECT_NEAR(rare, 1.959964 * std::hypot(noise / 0.04, sample / 0.2), 1e-6);
  settings.query_mu = 1e6;  // no noise to speak of: what the sample leaves
  EXPECT_NEAR(*expected_half_interval(settings, one, who, 0.3), 1.959964 * sample, 1e-5);
}

// The sample alone: of classes one against the mean of all, of amounts a sandwich of normal errors
// as large as the tolerance, of counts Poisson's information at a mean of N/10; none with weights.
TEST(Learning, HalfIntervalsOfOtherLabels) {
  const Neighbors who{Adjacency::replace_one, 1};
  Whitened settings;
  settings.query_mu = 1e7;  // no noise to speak of
  settings.first_clip = 3;
  settings.first_moment_share = 0.1;
  settings.curvature_share = 0.1;
  settings.clip_factor = 0.5;
  settings.iterations = 10;
  Problem one = problem(10'000, 10);
  const auto half = [&](const char* loss, double largest_count) {
    const Loss& of = loss_named(loss);
    one.loss = loss;
    one.outputs = of.outputs();
    one.features = 10 * one.outputs;
    one.curvature = of.curvature();
    one.traces = of.traces();
    settings.largest_count = largest_count;
    return *expected_half_interval(settings, one, who, 0.3);
  };
  const double root = 0.3 * std::sqrt(10'000.0);
  // Three classes alike: p(1 - p) + p p of a contrast is 1/3, eight tenths of it away from 0.
  EXPECT_NEAR(half("softmax-3", 1), 1.959964 * std::sqrt(2 / 3. / (0.8 / 3)) / root, 1e-5);
  EXPECT_NEAR(half("huber", 1), 1.959964 * std::sqrt(0.51606) / 0.68269 / root, 1e-4);
  EXPECT_NEAR(half("pseudo-huber", 1), 1.959964 * std::sqrt(0.34432) / 0.56489 / root, 1e-4);
  EXPECT_NEAR(half("poisson", 10), 1.959964 / root, 1e-5);  // a mean of 1
  EXPECT_NEAR(half("poisson", 40), 1.959964 / std::sqrt(4.) / root, 1e-5);
  // A weight takes as much of the curvature as of the slope.
  settings.clip_factor = 0.1;
  EXPECT_NEAR(half("poisson", 10), 1.959964 / root, 1e-5);
  settings.query_mu = 1e-3;  // noise alone: slopes up to .3 are weighted by a third
  settings.clip_factor = 0.3;
  const double whole = half("poisson", 10) / 0.3;
  settings.clip_factor = 0.1;
  EXPECT_NEAR(half("poisson", 10) / 0.1, 3 * whole, 1e-3 * whole);
  one.loss = "smoothed-hinge";
  EXPECT_FALSE(expected_half_interval(settings, one, who, 0.3));
}

}  // namespace learning_test
}  // namespace gibbsite
