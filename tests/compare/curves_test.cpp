// Curves over thresholds and bins by prediction, against counting row by row.
#include "compare/curves.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "gibbsite/release/predict.hpp"

namespace gibbsite {
namespace curves_test {

struct Rows {
  std::vector<double> scores;
  std::vector<float> labels;
};

// Scores of `levels` values, so that many are equal; positives lie higher.
Rows some_rows(std::size_t n, int levels, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Rows out;
  for (std::size_t i = 0; i < n; ++i) {
    const bool positive = random() % 3 == 0;
    const double u = static_cast<double>(random() % 1000) / 1000;
    out.labels.push_back(positive ? 1.0F : -1.0F);
    out.scores.push_back(std::floor((0.6 * u + (positive ? 0.4 : 0)) * levels) / levels);
  }
  return out;
}

RankedScores ranked(const Rows& rows) {
  return {rows.scores, [&](std::size_t i) { return rows.labels[i] > 0; }};
}

ConfusionCounts counted(const Rows& rows, double threshold) {
  ConfusionCounts out;
  for (std::size_t i = 0; i < rows.scores.size(); ++i) {
    const bool predicted = rows.scores[i] >= threshold;
    if (rows.labels[i] > 0)
      ++(predicted ? out.true_positives : out.false_negatives);
    else
      ++(predicted ? out.false_positives : out.true_negatives);
  }
  return out;
}

TEST(Curves, CountAsEvaluateDoes) {
  const Rows rows = some_rows(500, 20, 1);
  const RankedScores scores = ranked(rows);
  for (const double t : {0.0, 0.05, 0.1, 0.35, 0.5, 0.51, 0.95, 1.0}) {
    const ConfusionCounts at = scores.at(t), by_hand = counted(rows, t);
    EXPECT_EQ(at.true_positives, by_hand.true_positives) << t;
    EXPECT_EQ(at.false_positives, by_hand.false_positives) << t;
    EXPECT_EQ(at.false_negatives, by_hand.false_negatives) << t;
    EXPECT_EQ(at.true_negatives, by_hand.true_negatives) << t;
    const Evaluation e = evaluate(rows.scores, rows.labels, t);
    EXPECT_EQ(at.true_positives, e.confusion[1][1]);
    EXPECT_EQ(at.false_positives, e.confusion[0][1]);
    EXPECT_DOUBLE_EQ(at.accuracy(), e.accuracy);
    EXPECT_DOUBLE_EQ(at.recall(), e.recall(1));
    EXPECT_DOUBLE_EQ(at.false_alarms(), 1 - e.recall(0));
    if (at.true_positives + at.false_positives > 0) {
      EXPECT_DOUBLE_EQ(at.precision(), e.precision(1));
    }
  }
  EXPECT_TRUE(std::isnan(scores.at(2).precision()));
}

// The trapezoids under all points are the AUC, whose ties count one half.
TEST(Curves, OfRocAreUnderTheirArea) {
  for (const int levels : {1, 3, 20, 100000}) {
    const Rows rows = some_rows(700, levels, 2);
    const std::vector<RocPoint> all = ranked(rows).roc(1000000);
    ASSERT_GE(all.size(), 2U);
    double area = 0;
    for (std::size_t k = 1; k < all.size(); ++k) {
      EXPECT_GE(all[k].false_alarms, all[k - 1].false_alarms);
      EXPECT_GE(all[k].recall, all[k - 1].recall);
      area +=
          (all[k].false_alarms - all[k - 1].false_alarms) * (all[k].recall + all[k - 1].recall) / 2;
    }
    EXPECT_NEAR(area, evaluate(rows.scores, rows.labels).auc, 1e-12) << levels;
    EXPECT_EQ(all.front().recall + all.front().false_alarms, 0);
    EXPECT_EQ(all.back().recall, 1);
    EXPECT_EQ(all.back().false_alarms, 1);
  }
}

TEST(Curves, OfRocAreThinnedToPointsThatLieOnThem) {
  const Rows rows = some_rows(20000, 1 << 30, 3);
  const RankedScores scores = ranked(rows);
  const std::vector<RocPoint> all = scores.roc(1000000), few = scores.roc(100);
  EXPECT_GT(all.size(), 500U);  // there are 1000 scores of each class
  EXPECT_LE(few.size(), 110U);
  std::size_t at = 0;
  for (std::size_t k = 0; k < few.size(); ++k) {
    while (at < all.size() &&
           (all[at].recall != few[k].recall || all[at].false_alarms != few[k].false_alarms))
      ++at;
    ASSERT_LT(at, all.size()) << k;  // one of them, in their order
    if (k > 0) {
      EXPECT_LE(few[k].recall - few[k - 1].recall + few[k].false_alarms - few[k - 1].false_alarms,
                4.0 / 100 + 1e-12);
    }
  }
  EXPECT_EQ(few.back().recall + few.back().false_alarms, 2);
}

TEST(Curves, OfOneClassAreNone) {
  Rows rows = some_rows(10, 5, 4);
  std::ranges::fill(rows.labels, 1.0F);
  EXPECT_TRUE(ranked(rows).roc(100).empty());
  EXPECT_EQ(ranked(rows).at(0).true_positives, 10U);
  EXPECT_TRUE(std::isnan(ranked(rows).at(0).false_alarms()));
  const Rows one{{0.25}, {-1.0F}};
  EXPECT_EQ(ranked(one).at(0.25).false_positives, 1U);
  EXPECT_EQ(ranked(one).at(0.26).true_negatives, 1U);
}

TEST(Bins, HoldEveryRowOnceAndEqualPredictionsTogether) {
  for (const std::size_t n : {1U, 2U, 9U, 10U, 11U, 1000U}) {
    for (const int levels : {1, 4, 100000}) {
      const Rows rows = some_rows(n, levels, n);
      std::vector<double> found(rows.labels.begin(), rows.labels.end());
      const auto bins = bins_by_prediction(rows.scores, found, 10);
      ASSERT_LE(bins.size(), std::min<std::size_t>(n, 10));
      std::uint64_t sum = 0;
      double squares = 0, total = 0;
      for (std::size_t k = 0; k < bins.size(); ++k) {
        ASSERT_GT(bins[k].rows, 0U);
        sum += bins[k].rows;
        squares += bins[k].rmse * bins[k].rmse * static_cast<double>(bins[k].rows);
        EXPECT_LE(bins[k].low, bins[k].high);
        EXPECT_GE(bins[k].predicted, bins[k].low - 1e-12);
        EXPECT_LE(bins[k].predicted, bins[k].high + 1e-12);
        if (k > 0) {
          EXPECT_LT(bins[k - 1].high, bins[k].low);
        }
        double mean = 0, rows_there = 0;
        for (std::size_t i = 0; i < n; ++i) {
          if (rows.scores[i] < bins[k].low || rows.scores[i] > bins[k].high) continue;
          mean += found[i];
          rows_there += 1;
        }
        EXPECT_EQ(rows_there, static_cast<double>(bins[k].rows));
        EXPECT_NEAR(bins[k].found, mean / rows_there, 1e-12);
      }
      for (std::size_t i = 0; i < n; ++i)
        total += (rows.scores[i] - found[i]) * (rows.scores[i] - found[i]);
      EXPECT_EQ(sum, n);
      EXPECT_NEAR(squares, total, 1e-9 * std::max(1.0, total));
    }
  }
}

}  // namespace curves_test
}  // namespace gibbsite
