// Predictions of models of several classes and how good they are, against numbers made by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/model/losses/softmax.hpp"
#include "gibbsite/release/predict.hpp"

namespace gibbsite {
namespace classes_test {

using ::testing::ElementsAre;

LinearModel three_classes() {
  LinearModel out;
  out.loss = "softmax-3";
  out.schema.label_name = "species";
  out.schema.label = Classes{{"a", "b", "c"}};
  out.schema.row_norm = 2;
  out.schema.intercept = true;
  out.schema.columns = {{.name = "x", .type = ColumnType::number, .lo = 0, .hi = 2}};
  out.draws = {{1, 0, -1, 0.5, 0, 0.25}};
  return out;
}

TEST(Classes, AreSoftmaxOfTheirCoefficientsMeanOverDraws) {
  LinearModel model = three_classes();
  model.draws.push_back({0, 800, 1, 2, 3, 4});  // stable: beyond what exp takes
  const std::vector<float> x{0.5F, 1, -2, 1};
  const std::vector<double> p = predict_classes(model, Rows(x.data(), 2, 2));
  ASSERT_EQ(p.size(), 6U);
  for (std::size_t i = 0; i < 2; ++i) {
    const double t = static_cast<double>(x[2 * i]);
    const double a = std::exp(t), b = std::exp(-t + 0.5), c = std::exp(0.25);
    EXPECT_NEAR(p[3 * i], (a / (a + b + c) + 1) / 2, 1e-15);
    EXPECT_NEAR(p[3 * i + 1], b / (a + b + c) / 2, 1e-15);
    EXPECT_NEAR(p[3 * i + 2], c / (a + b + c) / 2, 1e-15);
  }
  EXPECT_EQ(likeliest(std::vector<double>{0.2, 0.4, 0.4}), 1U);  // the first of equals
  EXPECT_EQ(likeliest(std::vector<double>{1.0 / 3, 1.0 / 3, 1.0 / 3}), 0U);
}

TEST(Classes, AreAskedForByTheirOwnFunction) {
  const LinearModel model = three_classes();
  const std::vector<float> x{0.5F, 1};
  const Rows rows(x.data(), 1, 2);
  EXPECT_THROW(static_cast<void>(predict_probabilities(model, rows)), BadInput);
  EXPECT_THROW(static_cast<void>(predict_amounts(model, rows)), BadInput);
  EXPECT_THROW(static_cast<void>(predict_classes(model, Rows(x.data(), 2, 1))), BadInput);
  LinearModel two;
  two.loss = "logistic";
  two.draws = {{1, 2}};
  EXPECT_THROW(static_cast<void>(predict_classes(two, rows)), BadInput);
}

TEST(Classes, HaveNamesAndUnitsOfTheirOwn) {
  const LinearModel model = three_classes();
  EXPECT_THAT(
      coefficient_names(model.schema),
      ElementsAre("a: x", "a: (intercept)", "b: x", "b: (intercept)", "c: x", "c: (intercept)"));
  const OriginalUnits b =
      original_units(model, coefficients_of(model.schema, model.draws.front(), 1));
  EXPECT_EQ(b.slopes.front().second, -0.5);  // over a range of 2
  EXPECT_EQ(b.intercept, 0.5);
}

// Predictions for many classes equal one product for each class, bit for bit, for rows of numbers
// and of entries.
TEST(Classes, AreThoseOfOneProductAClass) {
  constexpr std::size_t n = 20, d = 5, classes = 1000;
  LinearModel model;
  model.loss = "softmax-1000";
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  for (int draw = 0; draw < 2; ++draw) {
    std::vector<double>& theta = model.draws.emplace_back(classes * d);
    std::ranges::generate(theta, [&] { return normal(random); });
  }
  std::vector<float> x(n * d);
  SparseTable entries;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::uint32_t j = 0; j < d; ++j) {
      if (random() % 3 == 0) continue;
      x[i * d + j] = static_cast<float>(normal(random));
      entries.value.push_back(x[i * d + j]);
      entries.feature.push_back(j);
    }
    entries.begin.push_back(entries.value.size());
  }
  const Rows dense(x.data(), n, d);
  const std::vector<double> found = predict_classes(model, dense);
  std::vector<double> z(classes), p(classes);
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> mean(classes);
    for (const auto& theta : model.draws) {
      for (std::size_t k = 0; k < classes; ++k)
        z[k] = dense.dot(i, std::span(theta).subspan(k * d, d));
      losses::softmax(z, p);
      for (std::size_t k = 0; k < classes; ++k) mean[k] += p[k];
    }
    for (std::size_t k = 0; k < classes; ++k) ASSERT_EQ(found[i * classes + k], mean[k] / 2);
  }
  EXPECT_EQ(predict_classes(model, Rows(entries.view(), d)), found);
}

// Every area pair by pair, with ties.
TEST(Classes, HaveTheAreasOfTheirPairs) {
  constexpr std::size_t n = 120, classes = 7;
  std::mt19937 random(4);
  std::vector<double> p(n * classes);
  std::ranges::generate(p, [&] { return static_cast<double>(random() % 16) / 16; });
  std::vector<float> y(n);
  std::ranges::generate(y, [&] { return static_cast<float>(random() % (classes - 1)); });
  const ClassesEvaluation e = evaluate_classes(p, y, classes);
  for (std::size_t k = 0; k + 1 < classes; ++k) {
    double right = 0, pairs = 0;
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = 0; b < n; ++b) {
        if (y[a] != static_cast<float>(k) || y[b] == static_cast<float>(k)) continue;
        const double one = p[a * classes + k], other = p[b * classes + k];
        right += one > other ? 1 : one == other ? 0.5 : 0;
        ++pairs;
      }
    }
    EXPECT_EQ(e.auc[k], right / pairs) << k;
  }
  EXPECT_TRUE(std::isnan(e.auc[classes - 1]));
}

// Five rows of classes a, a, b, b, b; none is of c, and one is predicted to be.
TEST(Classes, AreJudgedByHand) {
  const std::vector<double> p{0.7, 0.2,  0.1,   //
                              0.3, 0.3,  0.4,   // taken for c
                              0.2, 0.75, 0.05,  //
                              0.5, 0.5,  0,     // taken for a, the first of equals
                              0.0, 1.0,  0.0};
  const std::vector<float> y{0, 0, 1, 1, 1};
  const ClassesEvaluation e = evaluate_classes(p, y, 3);
  EXPECT_EQ(e.rows, 5U);
  EXPECT_DOUBLE_EQ(e.accuracy, 0.6);
  EXPECT_DOUBLE_EQ(e.majority, 0.6);
  EXPECT_NEAR(e.log_loss, -std::log(0.7 * 0.3 * 0.75 * 0.5) / 5, 1e-15);
  EXPECT_THAT(e.confusion, ElementsAre(1, 0, 1, 1, 2, 0, 0, 0, 0));
  EXPECT_DOUBLE_EQ(e.precision(0), 0.5);
  EXPECT_DOUBLE_EQ(e.precision(1), 1);
  EXPECT_DOUBLE_EQ(e.precision(2), 0);
  EXPECT_DOUBLE_EQ(e.recall(0), 0.5);
  EXPECT_DOUBLE_EQ(e.recall(1), 2.0 / 3);
  EXPECT_TRUE(std::isnan(e.recall(2)));
  // a: 0.7, 0.3 against 0.2, 0.5, 0: five of six pairs; b: 0.75, 0.5, 1 against 0.2, 0.3: all.
  ASSERT_EQ(e.auc.size(), 3U);
  EXPECT_DOUBLE_EQ(e.auc[0], 5.0 / 6);
  EXPECT_DOUBLE_EQ(e.auc[1], 1);
  EXPECT_TRUE(std::isnan(e.auc[2]));
  EXPECT_DOUBLE_EQ(e.mean_auc, (5.0 / 6 + 1) / 2);
  // Bins hold the probability of the predicted class: 0.7 and 0.75 were right, 0.4 and 0.5 wrong, 1
  // right.
  EXPECT_EQ(e.calibration[7].rows, 2U);
  EXPECT_DOUBLE_EQ(e.calibration[7].predicted, 0.725);
  EXPECT_EQ(e.calibration[7].found, 1);
  EXPECT_EQ(e.calibration[4].found, 0);
  EXPECT_EQ(e.calibration[5].found, 0);
  EXPECT_EQ(e.calibration[9].found, 1);
  EXPECT_TRUE(std::isnan(e.calibration[0].found));
}

TEST(Classes, OfOneOrOfNoneHaveNoArea) {
  const ClassesEvaluation e =
      evaluate_classes(std::vector<double>{0.2, 0.3, 0.5, 1, 0, 0}, std::vector<float>{2, 2}, 3);
  EXPECT_TRUE(std::isnan(e.mean_auc));
  EXPECT_TRUE(std::ranges::all_of(e.auc, [](double a) { return std::isnan(a); }));
  EXPECT_NEAR(e.log_loss, (std::log(2.0) + 53 * std::log(2.0)) / 2, 1e-12);  // 0 counts as 2^-53
  const std::vector<double> row{0.2, 0.3, 0.5};
  EXPECT_THROW(static_cast<void>(evaluate_classes(row, std::vector<float>{3}, 3)), BadInput);
  EXPECT_THROW(static_cast<void>(evaluate_classes(row, std::vector<float>{-1}, 3)), BadInput);
  EXPECT_THROW(static_cast<void>(evaluate_classes(row, std::vector<float>{0, 1}, 3)), BadInput);
  EXPECT_THROW(static_cast<void>(evaluate_classes({}, {}, 3)), BadInput);
}

// Two classes one way and the other: the same figures.
TEST(Classes, OfTwoAreJudgedAsTwoAre) {
  std::vector<double> positive, both;
  std::vector<float> signs, places;
  for (int i = 0; i < 200; ++i) {
    const double p = static_cast<double>((i * 37) % 101) / 101 + 1e-3;
    positive.push_back(p);
    both.insert(both.end(), {1 - p, p});
    places.push_back((i * i) % 7 < 3 ? 1.0F : 0.0F);
    signs.push_back(2 * places.back() - 1);
  }
  const Evaluation two = evaluate(positive, signs);
  const ClassesEvaluation several = evaluate_classes(both, places, 2);
  EXPECT_DOUBLE_EQ(several.accuracy, two.accuracy);
  EXPECT_NEAR(several.log_loss, two.log_loss, 1e-14);
  EXPECT_DOUBLE_EQ(several.majority, two.majority);
  EXPECT_DOUBLE_EQ(several.auc[1], two.auc);
  EXPECT_NEAR(several.mean_auc, two.auc, 1e-14);
  for (const std::size_t k : {0U, 1U}) {
    EXPECT_DOUBLE_EQ(several.precision(k), two.precision(k));
    EXPECT_DOUBLE_EQ(several.recall(k), two.recall(k));
  }
}

}  // namespace classes_test
}  // namespace gibbsite
