// Bins of probabilities, and intervals of the figures that follow from noisy counts.
#include "gibbsite/model/evaluation_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace evaluation_model_test {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(EvaluationBins, HaveAnEdgeAtTheThreshold) {
  for (const std::uint64_t bins : std::vector<std::uint64_t>{10, 11, 40, 100}) {
    for (const double threshold : {0.0, 1e-6, 0.003, 0.2, 0.5, 0.77, 1 - 1e-6, 1.0}) {
      const EvaluationBins made = evaluation_bins(bins, 2, threshold);
      ASSERT_EQ(made.bins(), bins);
      for (const double p : {0.0, 1e-7, 0.1, 0.2, 0.4999, 0.5, 0.77, 0.9, 1.0}) {
        for (const bool found : {false, true}) {
          const std::uint32_t cell = made.cell(p, found);
          ASSERT_LT(cell, 2 * bins);
          EXPECT_EQ(cell % 2 == 1, found);
          EXPECT_EQ(cell / 2 >= made.first_positive(), p >= threshold) << p << " " << threshold;
          const auto [low, high] = made.ends(cell / 2);
          EXPECT_TRUE(p >= low && p <= high) << p;
        }
      }
      EXPECT_LT(made.cell(std::nan(""), true), 2 * bins);  // one cell, whatever comes
    }
  }
  EXPECT_EQ(
      evaluation_bins(10, 2, 0.5).edges,
      (std::vector<double>{0.0245, 0.0955, 0.2061, 0.3455, 0.5, 0.6545, 0.7939, 0.9045, 0.9755}));
  EXPECT_EQ(
      evaluation_bins(10, 4, 0.5).edges,  // from 1/4 to 1
      (std::vector<double>{0.2684, 0.3216, 0.4046, 0.5091, 0.625, 0.7409, 0.8454, 0.9284, 0.9816}));
  EXPECT_FALSE(std::signbit(evaluation_bins(10, 2, -0.0).threshold));
}

TEST(EvaluationBins, SayWhatTheyRefuse) {
  EXPECT_THAT([] { evaluation_bins(9, 2, 0.5); }, ThrowsMessage<BadInput>(HasSubstr("`bins`")));
  EXPECT_THAT([] { evaluation_bins(101, 2, 0.5); }, ThrowsMessage<BadInput>(HasSubstr("`bins`")));
  for (const double threshold : {-0.1, 1.1, std::nan(""), 5e-324, 9e-7, 1 - 9e-7, 1 - 1e-16}) {
    EXPECT_THAT([&] { evaluation_bins(10, 2, threshold); },
                ThrowsMessage<BadInput>(HasSubstr("`threshold`")));
  }
  const EvaluationBins made = evaluation_bins(10, 2, 0.5);
  for (const double edge : {0.0, 0.9045, 1.5, std::nan("")}) {
    EvaluationBins bins = made;
    bins.edges.back() = edge;
    EXPECT_THAT([&] { bins.validate(); }, ThrowsMessage<BadInput>(HasSubstr("must rise")));
  }
  const EvaluationBins few{.edges = {0.2, 0.5}, .threshold = 0.5};
  EXPECT_THAT([&] { few.validate(); }, ThrowsMessage<BadInput>(HasSubstr("edges: must be from 9")));
  EvaluationBins off = made;
  off.threshold = 0.51;
  EXPECT_THAT([&] { off.validate(); }, ThrowsMessage<BadInput>(HasSubstr("threshold")));
}

TEST(EvaluationBins, AreFewerWhereNoiseIsMore) {
  EXPECT_EQ(default_evaluation_bins(10'000, 6.2), 20U);
  EXPECT_EQ(default_evaluation_bins(1'000'000, 6.2), 40U);
  EXPECT_EQ(default_evaluation_bins(1, 6.2), 10U);
  EXPECT_EQ(default_evaluation_bins(1'000, 1e300), 10U);
}

// A population: shares of cells, and what its figures are.
struct Population {
  EvaluationBins bins;
  std::vector<double> shares;  // [2 * bins]

  [[nodiscard]] std::map<std::string, double> truth(bool several) const {
    const std::size_t B = bins.bins(), k = bins.first_positive();
    double P = 0, M = 0, tp = 0, fp = 0, U = 0, below = 0;
    std::map<std::string, double> out;
    for (std::size_t b = 0; b < B; ++b) {
      const double m = shares[2 * b], p = shares[2 * b + 1];
      P += p, M += m;
      if (b >= k) tp += p, fp += m;
      U += p * (below + m / 2);
      below += m;
      out["found " + std::to_string(b)] = p / (p + m);
    }
    if (several) {
      out["accuracy"] = P / (P + M);
      return out;
    }
    out["accuracy"] = tp + M - fp;
    out["positives"] = P;
    out["auc"] = U / (P * M);
    out["recall"] = tp / P;
    out["recall of the others"] = (M - fp) / M;
    out["precision"] = tp / (tp + fp);
    out["precision of the others"] = (M - fp) / (M - fp + P - tp);
    double above_p = P, above_m = M;
    for (std::size_t b = 0; b + 1 < B; ++b) {
      above_p -= shares[2 * b + 1], above_m -= shares[2 * b];
      out["true positive " + std::to_string(b)] = above_p / P;
      out["false positive " + std::to_string(b)] = above_m / M;
    }
    return out;
  }
};

std::map<std::string, NoisyShare> named(const EvaluationFigures& f, bool several) {
  std::map<std::string, NoisyShare> out;
  for (std::size_t b = 0; b < f.found.size(); ++b) out["found " + std::to_string(b)] = f.found[b];
  out["accuracy"] = f.accuracy;
  if (several) return out;
  out["positives"] = f.positives;
  out["auc"] = f.auc;
  out["recall"] = f.recall[1];
  out["recall of the others"] = f.recall[0];
  out["precision"] = f.precision[1];
  out["precision of the others"] = f.precision[0];
  for (std::size_t b = 0; b < f.true_positive.size(); ++b) {
    out["true positive " + std::to_string(b)] = f.true_positive[b];
    out["false positive " + std::to_string(b)] = f.false_positive[b];
  }
  return out;
}

// Scores a + s N(0, 1), labels by their logistic probability: positives, and how well they are told
// from others.
Population logistic_population(double a, double s, std::uint64_t bins, double threshold = 0.5) {
  Population out{evaluation_bins(bins, 2, threshold), std::vector<double>(2 * bins)};
  constexpr int points = 4001;
  double sum = 0;
  for (int i = 0; i < points; ++i) {
    const double t = -6 + 12.0 * i / (points - 1), weight = std::exp(-t * t / 2);
    const double p = 1 / (1 + std::exp(-a - s * t));
    out.shares[out.bins.cell(p, true)] += weight * p;
    out.shares[out.bins.cell(p, false)] += weight * (1 - p);
    sum += weight;
  }
  for (double& share : out.shares) share /= sum;
  return out;
}

struct Drawn {
  std::mt19937_64 bits;
  std::normal_distribution<double> normal{};

  // n rows of the population, one multinomial draw of n/alike people, with noise on a grid.
  EvaluationModel model(const Population& of, std::uint64_t n, double noise, bool is_public,
                        std::uint64_t alike = 1) {
    EvaluationModel out{.schema = {}, .of = "", .bins = of.bins, .rows = {}, .counts = {}};
    out.rows_per_person = alike;
    out.noise = noise;
    if (is_public) out.rows = n;
    double left = 1;
    auto rest = static_cast<long long>(n / alike);
    const double grid = std::ldexp(1.0, std::ilogb(noise) - 3);
    for (const double share : of.shares) {
      const double q = std::clamp(share / left, 0.0, 1.0);
      const long long count =
          left > 1e-15 ? std::binomial_distribution<long long>(rest, q)(bits) : 0;
      left -= share;
      rest -= count;
      const double noisy =
          static_cast<double>(alike) * static_cast<double>(count) + noise * normal(bits);
      out.counts.push_back(std::nearbyint(noisy / grid) * grid);
    }
    return out;
  }
};

// Intervals at 95 % contain the population's value in 1,000 tables for each case. A true 94 % would
// miss 60 times. More than 105 misses of 1,000 at 6 % happen with probability 1e-8, for some
// hundred figures 1e-6.
// Figures that so few rows determine that noise is all contain it more often. The test was seen to
// fail with the noise left out of V, and with the sampling left out.
TEST(EvaluationFigures, IntervalsHoldThePopulationsValue) {
  struct Case {
    double a, s;
    std::uint64_t n, bins;
    double noise;
  };
  Drawn drawn{std::mt19937_64(20261123)};
  for (const Case& c : {Case{0, 1.5, 10'000, 12, 6.2},
                        {-2, 1, 10'000, 12, 6.2},
                        {0, 4, 3'000, 10, 6.2},
                        {0, 0.3, 3'000, 10, 1.5},
                        {-4, 1.5, 20'000, 10, 6.2},
                        {0.5, 1.5, 400, 10, 6.2},
                        {0, 1.5, 1'000'000, 12, 1}}) {
    const Population people = logistic_population(c.a, c.s, c.bins);
    const auto truth = people.truth(false);
    for (const bool is_public : {true, false}) {
      std::map<std::string, int> missed;
      for (int i = 0; i < 1'000; ++i) {
        for (const auto& [name, share] :
             named(figures(drawn.model(people, c.n, c.noise, is_public)), false)) {
          const double value = std::clamp(truth.at(name), 0.0, 1.0);  // of a last sum, -1e-17
          if (std::isnan(value)) continue;                            // nobody is in that bin
          missed[name] += !(share.low <= value && value <= share.high);
        }
      }
      for (const auto& [name, times] : missed) {
        EXPECT_LE(times, 105) << name << " of " << c.a << " " << c.s << " " << c.n << " "
                              << is_public;
        // Not by being far too wide: 50 are to be expected.
        if (c.n >= 3'000 && (name == "accuracy" || name == "auc")) {
          EXPECT_GE(times, 5) << name;
        }
      }
    }
  }
}

// Five rows a person, all alike: 2,000 people told of by 10,000 rows. As above.
TEST(EvaluationFigures, IntervalsAreOfPeopleNotOfRows) {
  Drawn drawn{std::mt19937_64(55)};
  const Population people = logistic_population(-0.5, 1.5, 12);
  const auto truth = people.truth(false);
  for (const bool is_public : {true, false}) {
    std::map<std::string, int> missed, as_rows;
    for (int i = 0; i < 1'000; ++i) {
      EvaluationModel model = drawn.model(people, 10'000, 9, is_public, 5);
      const auto count = [&](std::map<std::string, int>& misses) {
        for (const auto& [name, share] : named(figures(model), false)) {
          misses[name] += !(share.low <= truth.at(name) && truth.at(name) <= share.high);
        }
      };
      count(missed);
      model.rows_per_person = 1;
      count(as_rows);
    }
    for (const auto& [name, times] : missed) EXPECT_LE(times, 105) << name << " " << is_public;
    for (const char* name : {"accuracy", "auc", "positives", "recall"}) {
      EXPECT_GE(missed[name], 5) << name;
      EXPECT_GE(as_rows[name], 150) << name;
    }
  }
}

// No figure is reported for a bin whose rows may be noise alone.
TEST(EvaluationFigures, OfNoiseAloneAreNone) {
  EvaluationModel model{.schema = {},
                        .of = "",
                        .bins = evaluation_bins(10, 2, 0.5),
                        .rows = {},
                        .counts = std::vector<double>(20, 100),
                        .noise = 6};
  model.counts[0] = -7, model.counts[1] = 3, model.counts[2] = 1, model.counts[3] = 15;
  model.counts[4] = 0, model.counts[5] = 17;
  const EvaluationFigures f = figures(model);
  for (const std::size_t b : {0U, 1U}) {
    EXPECT_TRUE(std::isnan(f.found[b].value)) << b;
    EXPECT_EQ(f.found[b].low, 0) << b;
    EXPECT_EQ(f.found[b].high, 1) << b;
  }
  EXPECT_EQ(f.found[2].value, 1);
  EXPECT_GT(f.found[2].low, 0.2);
}

TEST(EvaluationFigures, OfSeveralClassesHoldAccuracyAndCalibration) {
  Drawn drawn{std::mt19937_64(5)};
  Population people = logistic_population(1, 1, 10);
  people.bins = evaluation_bins(10, 4, 0.5);
  const auto truth = people.truth(true);
  std::map<std::string, int> missed;
  for (int i = 0; i < 1'000; ++i) {
    EvaluationModel model = drawn.model(people, 5'000, 6.2, true);
    model.schema.label = Classes{};
    for (const auto& [name, share] : named(figures(model), true)) {
      missed[name] += !(share.low <= truth.at(name) && truth.at(name) <= share.high);
    }
  }
  for (const auto& [name, times] : missed) EXPECT_LE(times, 105) << name;
}

TEST(EvaluationFigures, OfExactCountsAreTheUsualOnes) {
  EvaluationModel model{.schema = {},
                        .of = "",
                        .bins = {.edges = {0.2, 0.5, 0.8}, .threshold = 0.5},
                        .rows = 1000,
                        .counts = {300, 10, 200, 90, 80, 120, 20, 180},
                        .noise = 1e-9};
  const EvaluationFigures f = figures(model);
  EXPECT_NEAR(f.accuracy.value, 0.8, 1e-9);
  // Wilson's interval.
  EXPECT_NEAR(f.accuracy.low, 0.774, 1e-3);
  EXPECT_NEAR(f.accuracy.high, 0.8237, 1e-3);
  EXPECT_NEAR(f.positives.value, 0.4, 1e-9);
  EXPECT_NEAR(f.recall[1].value, 0.75, 1e-9);
  EXPECT_NEAR(f.precision[1].value, 0.75, 1e-9);
  EXPECT_NEAR(f.recall[0].value, 500.0 / 600, 1e-9);
  const double area = (10 * 150. + 90 * 400. + 120 * 540. + 180 * 590.) / (400. * 600);
  EXPECT_NEAR(f.auc.value, area, 1e-9);
  EXPECT_NEAR(f.auc_hidden, 0.5 * (3000. + 18000 + 9600 + 3600) / 240000, 1e-9);
  EXPECT_NEAR(f.found[2].value, 0.6, 1e-9);
  EXPECT_NEAR(f.true_positive[1].value, 0.75, 1e-9);
  EXPECT_NEAR(f.false_positive[1].value, 100.0 / 600, 1e-9);
}

// Nothing is outside of [0, 1], no interval is without its value, whatever the counts.
TEST(EvaluationFigures, StayInRangeWhateverTheCounts) {
  std::mt19937_64 bits(3);
  for (int turn = 0; turn < 20'000; ++turn) {
    const std::uint64_t bins = 10 + bits() % 5;
    EvaluationModel model{.schema = {},
                          .of = "",
                          .bins = evaluation_bins(bins, 2, 0.25 * static_cast<double>(bits() % 5)),
                          .rows = {},
                          .counts = {},
                          .noise = std::exp2(static_cast<double>(bits() % 40) - 10)};
    if (bits() % 2 == 0) model.rows = 1 + bits() % (bits() % 2 == 0 ? 3 : 100'000);
    for (std::uint64_t i = 0; i < 2 * bins; ++i) {
      const double sign = bits() % 3 == 0 ? -1 : 1;
      model.counts.push_back(bits() % 4 == 0 ? 0 : sign * static_cast<double>(bits() % 100'000));
    }
    for (const auto& [name, share] : named(figures(model), false)) {
      ASSERT_TRUE(share.low >= 0 && share.high <= 1 && share.low <= share.high) << name;
      if (std::isnan(share.value)) {
        ASSERT_TRUE(share.low == 0 && share.high == 1) << name;
      } else {
        ASSERT_TRUE(share.low <= share.value && share.value <= share.high) << name;
      }
    }
  }
}

}  // namespace evaluation_model_test
}  // namespace gibbsite
