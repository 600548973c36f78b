// Estimates of several classes: of exact answers the sample's own, of nothing but noise the
// prior's.
#include "run/estimates_classes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "engine/class_contrasts.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/engine/engine.hpp"

namespace gibbsite {
namespace estimates_classes_test {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

Schema schema_of(std::size_t numbers, std::size_t classes) {
  Schema out;
  out.label_name = "y";
  out.intercept = true;
  Classes several;
  for (std::size_t k = 0; k < classes; ++k) several.names.push_back("c" + std::to_string(k));
  out.label = several;
  for (std::size_t j = 0; j < numbers; ++j)
    out.columns.push_back({.name = "x" + std::to_string(j), .type = ColumnType::number});
  return out;
}

VectorXd softmax(const VectorXd& z) {
  const VectorXd e = (z.array() - z.maxCoeff()).exp();
  return e / e.sum();
}

// Two numbers at the ends and the middle of their range, and the constant: nine kinds of rows.
constexpr Index d = 3, kinds = 9;
constexpr double of_each = 800;
MatrixXd rows_of_kinds() {
  MatrixXd out(kinds, d);
  for (Index a = 0; a < kinds; ++a)
    out.row(a) << static_cast<double>(a / 3) / 2, static_cast<double>(a % 3) / 2, 1;
  return out;
}
// [K x d], each column of which adds up to 0.
MatrixXd truth_of(Index classes) {
  MatrixXd out(classes, d);
  for (Index k = 0; k < classes; ++k)
    out.row(k) << 1.2 * std::cos(2.0 * static_cast<double>(k)),
        0.9 * std::sin(1.0 + 1.7 * static_cast<double>(k)), 0.1 * static_cast<double>(k);
  return out.rowwise() - out.colwise().mean();
}

// What a run without capped rows answers, asked along a path from 0 to `last`; noise of those
// deviations only in what the answers claim.
AnsweredScores exact_answers(const MatrixXd& truth, const MatrixXd& last, double gradient_deviation,
                             double information_deviation, const MatrixXd& x = rows_of_kinds()) {
  const Index K = truth.rows();
  const MatrixXd moments = x.transpose() * x / static_cast<double>(x.rows());
  const Eigen::SelfAdjointEigenSolver<MatrixXd> e(moments);
  AnsweredScores out;
  out.metric = e.eigenvectors() * e.eigenvalues().cwiseSqrt().cwiseInverse().asDiagonal();
  out.lambda = VectorXd::Ones(d);
  out.rows = of_each * static_cast<double>(x.rows());
  const MatrixXd z = x * out.metric;
  for (const double part : {0.0, 0.5, 0.75, 1.0, 1.0}) {
    const MatrixXd omega = part * last * out.metric.transpose().inverse();  // [K x k]
    MatrixXd gradient = MatrixXd::Zero(d, K);  // of class k in column k
    for (Index a = 0; a < x.rows(); ++a) {
      const VectorXd away =
          softmax(omega * z.row(a).transpose()) - softmax(truth * x.row(a).transpose());
      gradient += of_each * z.row(a).transpose() * away.transpose();
    }
    const MatrixXd columns = omega.transpose();
    out.points.emplace_back(columns.reshaped());
    out.gradients.emplace_back(gradient.reshaped());
    out.variances.push_back(gradient_deviation * gradient_deviation);
  }
  const auto pairs = class_pairs(static_cast<std::size_t>(K));
  out.information = MatrixXd::Zero(static_cast<Index>(pairs.size()) * d, d);
  for (Index a = 0; a < x.rows(); ++a) {
    const VectorXd p = softmax(last * x.row(a).transpose());
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      out.information.middleRows(static_cast<Index>(i) * d, d) +=
          of_each * p[static_cast<Index>(pairs[i].first)] * p[static_cast<Index>(pairs[i].second)] *
          z.row(a).transpose() * z.row(a);
    }
  }
  out.information_deviation = information_deviation;
  out.prior = VectorXd::Constant(d, 1 / static_cast<double>(d));
  out.prior_scale = 1.5;
  return out;
}

// The sample's covariance of coefficients that add up to 0 over the classes.
MatrixXd sample_covariance(const MatrixXd& truth) {
  const MatrixXd x = rows_of_kinds();
  const Index K = truth.rows();
  MatrixXd fisher = MatrixXd::Zero(K * d, K * d);
  for (Index a = 0; a < kinds; ++a) {
    const VectorXd p = softmax(truth * x.row(a).transpose());
    const MatrixXd J = MatrixXd(p.asDiagonal()) - p * p.transpose();
    for (Index k = 0; k < K; ++k)
      for (Index l = 0; l < K; ++l)
        fisher.block(k * d, l * d, d, d) += of_each * J(k, l) * x.row(a).transpose() * x.row(a);
  }
  return fisher.completeOrthogonalDecomposition().pseudoInverse();
}

// Asked at the truth and away from it, the estimates are the truth, and their deviations the
// sample's (planted: without the other pairs' blocks, or a gradient read row by row, this fails).
TEST(EstimatesOfClasses, WithoutNoiseAreTheTruthWithTheSamplesDeviation) {
  for (const Index K : {2, 3, 4}) {
    const MatrixXd truth = truth_of(K);
    for (const double part : {1.0, 0.7}) {
      const AnsweredScores answers = exact_answers(truth, part * truth, 0.01, 0.01);
      const auto classes = static_cast<std::size_t>(K);
      const auto found = estimate_classes(answers, classes, schema_of(2, classes));
      ASSERT_TRUE(found);
      const MatrixXd V = sample_covariance(truth);
      ASSERT_EQ(found->prior_deviation.size(), classes * d);
      for (std::size_t j = 0; j < d; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < classes; ++k) {
          std::vector<double> c(classes * d);
          c[k * d + j] = 1;
          const EffectEstimate is = found->combination(c);
          const auto at = static_cast<Index>(k * d + j);
          const double deviation = std::sqrt(V(at, at));
          EXPECT_NEAR(is.estimate, truth(static_cast<Index>(k), static_cast<Index>(j)),
                      0.5 * deviation)
              << K << part << k << j;
          EXPECT_NEAR(is.standard_error, deviation, 0.1 * deviation) << K << part << k << j;
          sum += is.estimate;
        }
        EXPECT_NEAR(sum, 0, 1e-9);
      }
    }
  }
}

// A number of which most cells lie low in its range and few far out, and another one: log-normal
// quantiles, by the three ends and middle.
MatrixXd rows_with_few_far_out() {
  constexpr std::array<double, 12> deviates{0.052, 0.157, 0.264, 0.374, 0.489, 0.610,
                                            0.742, 0.887, 1.054, 1.258, 1.534, 2.037};
  MatrixXd out(72, d);
  for (Index a = 0; a < out.rows(); ++a) {
    const double deviate = deviates[static_cast<std::size_t>(a / 3 % 12)];
    out.row(a) << std::exp(a < 36 ? -deviate : deviate) / 60, static_cast<double>(a % 3) / 2, 1;
  }
  return out;
}

// The slope at omega_0 is the answered information, whatever rows are like: asked where effects are
// four fifths of the truth, the root is the truth (planted: a correction times omega and not times
// its distance from omega_0 is six deviations off).
TEST(EstimatesOfClasses, AreTheTruthWhereRowsLieFarOut) {
  const MatrixXd x = rows_with_few_far_out();
  const double mean = x.col(0).mean();
  const double deviation = std::sqrt((x.col(0).array() - mean).square().mean());
  MatrixXd truth(3, d);
  truth << 1.4 / deviation, 0.8, 0.1, -0.42 / deviation, -0.5, 0, -0.98 / deviation, -0.3, -0.1;
  truth.col(2) -= mean * truth.col(0);
  for (const double part : {1.0, 0.8}) {
    const auto found =
        estimate_classes(exact_answers(truth, part * truth, 0.01, 0.01, x), 3, schema_of(2, 3));
    ASSERT_TRUE(found);
    for (std::size_t k = 0; k < 3; ++k) {
      for (std::size_t j = 0; j < 2; ++j) {
        const EffectEstimate is = feature_effect(*found, schema_of(2, 3), j, k);
        EXPECT_NEAR(is.estimate, truth(static_cast<Index>(k), static_cast<Index>(j)),
                    0.5 * is.standard_error)
            << part << k << j;
      }
    }
  }
}

// Noise in the gradients alone: V = H^-1 + sigma^2 H^-2 in contrasts, which is far more than the
// sample's.
TEST(EstimatesOfClasses, NoiseOfGradientsWidensThem) {
  const MatrixXd truth = truth_of(3);
  const auto exact = estimate_classes(exact_answers(truth, truth, 0.01, 0.01), 3, schema_of(2, 3));
  const auto noisy = estimate_classes(exact_answers(truth, truth, 150, 0.01), 3, schema_of(2, 3));
  ASSERT_TRUE(exact && noisy);
  std::vector<double> c(9);
  c[0] = 1, c[3] = -1;
  EXPECT_GT(noisy->combination(c).standard_error, 1.5 * exact->combination(c).standard_error);
  // And where the information is noise too they are wider still, as the points are away from 0.
  const auto blurred = estimate_classes(exact_answers(truth, truth, 150, 400), 3, schema_of(2, 3));
  ASSERT_TRUE(blurred);
  EXPECT_GT(blurred->combination(c).standard_error, 1.02 * noisy->combination(c).standard_error);
}

// Answered moments of scores say what the sample is: four times those of rows that count the same
// make deviations twice as long, the same ones no others. (Planted: J left out fails here.)
TEST(EstimatesOfClasses, AnsweredScoresAreTheSamplesPart) {
  for (const Index K : {3, 4}) {
    const MatrixXd truth = truth_of(K);
    const auto classes = static_cast<std::size_t>(K);
    AnsweredScores answers = exact_answers(truth, truth, 0.01, 0.01);
    const MatrixXd x = rows_of_kinds(), z = x * answers.metric, C = class_contrasts(K);
    MatrixXd J = MatrixXd::Zero((K - 1) * d, (K - 1) * d);
    for (Index a = 0; a < kinds; ++a) {
      const VectorXd p = softmax(truth * x.row(a).transpose());
      const MatrixXd of_classes =
          C.transpose() * (MatrixXd(p.asDiagonal()) - p * p.transpose()) * C;
      for (Index b = 0; b < K - 1; ++b)
        for (Index c = 0; c < K - 1; ++c)
          J.block(b * d, c * d, d, d) +=
              of_each * of_classes(b, c) * z.row(a).transpose() * z.row(a);
    }
    const auto plain = estimate_classes(answers, classes, schema_of(2, classes));
    ASSERT_TRUE(plain);
    for (const double times : {1.0, 4.0}) {
      // Four times along the first contrast alone is seen there alone.
      for (const bool of_first : {false, true}) {
        VectorXd root = VectorXd::Constant(J.rows(), std::sqrt(times));
        if (of_first) root.tail(J.rows() - d).setOnes();
        answers.scores = AnsweredMoments{root.asDiagonal() * J * root.asDiagonal(), 0.01};
        const auto found = estimate_classes(answers, classes, schema_of(2, classes));
        ASSERT_TRUE(found);
        const MatrixXd H = J.inverse(), expected = H * answers.scores->sum * H;
        for (Index contrast = 0; contrast < K - 1; ++contrast) {
          std::vector<double> c(classes * d);
          for (Index k = 0; k < K; ++k) c[static_cast<std::size_t>(k * d)] = C(k, contrast);
          const VectorXd of = answers.metric.row(0).transpose();
          const double variance = of.dot(expected.block(contrast * d, contrast * d, d, d) * of);
          EXPECT_NEAR(found->combination(c).standard_error, std::sqrt(variance),
                      0.12 * std::sqrt(variance))
              << K << times << of_first << contrast;
        }
      }
    }
    answers.scores->sum.conservativeResize(d, d);
    EXPECT_THROW(estimate_classes(answers, classes, schema_of(2, classes)), BadInput);
  }
}

// Rows of four that may be alike: without noise errors are twice as long.
TEST(EstimatesOfClasses, OfRowsThatMayBeAlikeHaveTheirPeoplesDeviation) {
  const MatrixXd truth = truth_of(3);
  AnsweredScores answers = exact_answers(truth, truth, 0.01, 0.01);
  const auto once = estimate_classes(answers, 3, schema_of(2, 3));
  answers.rows_alike = 4;
  const auto alike = estimate_classes(answers, 3, schema_of(2, 3));
  ASSERT_TRUE(once && alike);
  std::vector<double> c(9);
  c[0] = 1, c[3] = -1;
  EXPECT_NEAR(alike->combination(c).standard_error / once->combination(c).standard_error, 2, 0.03);
}

TEST(EstimatesOfClasses, OfNothingButNoiseAreThePriors) {
  const MatrixXd truth = truth_of(3);
  const auto found = estimate_classes(exact_answers(truth, truth, 1e7, 1e7), 3, schema_of(2, 3));
  ASSERT_TRUE(found);
  std::vector<double> c(9);
  c[0] = 1, c[3] = -1;
  const EffectEstimate is = found->combination(c);
  EXPECT_TRUE(is.hidden);
  const double prior = std::hypot(found->prior_deviation[0], found->prior_deviation[3]);
  EXPECT_NEAR(is.standard_error, prior, 0.02 * prior);
}

TEST(EstimatesOfClasses, OfOtherShapesOrNoNumbersAreNone) {
  const MatrixXd truth = truth_of(3);
  const AnsweredScores good = exact_answers(truth, truth, 1, 1);
  const Schema schema = schema_of(2, 3);
  AnsweredScores bad = good;
  bad.information(4, 1) = NAN;
  EXPECT_FALSE(estimate_classes(bad, 3, schema));
  bad = good;
  bad.gradients[1][2] = INFINITY;
  EXPECT_FALSE(estimate_classes(bad, 3, schema));
  EXPECT_THROW(estimate_classes(good, 4, schema), BadInput);
  EXPECT_THROW(estimate_classes(good, 3, schema_of(3, 3)), BadInput);
  bad = good;
  bad.information.conservativeResize(6, 3);
  EXPECT_THROW(estimate_classes(bad, 3, schema), BadInput);
}

}  // namespace estimates_classes_test
}  // namespace gibbsite
