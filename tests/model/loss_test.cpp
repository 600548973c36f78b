#include "gibbsite/model/loss.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "gibbsite/core/error.hpp"
#include "gibbsite/model/model.hpp"
#include "support/loss_oracle.hpp"

namespace gibbsite {
namespace loss_test {

using support::exact_loss;
using support::ExactLoss;
using support::labels_of;

constexpr double ulp = std::numeric_limits<double>::epsilon();
constexpr double smallest = std::numeric_limits<double>::denorm_min();

std::vector<double> logit_grid() {
  std::vector<double> z{0, 1e-300, 1e-20, 1e-9, 800, 1e4, 36.04, 37, 708, 709, 710, 744.4, 746};
  for (double v = 1e-3; v < 800; v *= 1.07) z.push_back(v);
  for (std::size_t i = 0, n = z.size(); i < n; ++i) z.push_back(-z[i]);
  return z;
}

// exp 1 ulp, 1 + e 1/2, quotient 1/2 (value: log1p 1, sum 1/2, with the error of exp passed on):
// below 4 ulp; what underflows is off by less than the smallest number.
TEST(LogisticLoss, ValueDerivativeAndCurvatureAreAccurateAtEveryLogit) {
  const Loss& loss = loss_named("logistic");
  for (const double z : logit_grid()) {
    for (const float y : {-1.0f, 1.0f}) {
      const long double t = static_cast<long double>(y) * z;
      const long double e = std::exp(-std::fabs(t));
      const long double value = (t < 0 ? -t : 0) + std::log1p(e);
      const long double derivative = -y * ((t >= 0 ? e : 1) / (1 + e));
      const long double second = e / ((1 + e) * (1 + e));
      double r = 0, w = 0;
      loss.derivatives({&z, 1}, {&y, 1}, {&r, 1});
      loss.curvatures({&z, 1}, {&y, 1}, {&w, 1});
      const double v = loss.value_sum({&z, 1}, {&y, 1});
      EXPECT_TRUE(std::isfinite(v));
      EXPECT_TRUE(std::fabs(v - value) <= 4 * ulp * value + smallest) << z << " " << y;
      EXPECT_TRUE(std::fabs(r - derivative) <= 4 * ulp * std::fabs(derivative) + smallest)
          << z << " " << y;
      EXPECT_TRUE(std::fabs(w - second) <= 4 * ulp * second + smallest) << z;
    }
  }
}

class EveryLoss : public testing::TestWithParam<std::string_view> {};
std::vector<std::string_view> every_loss() {
  std::vector<std::string_view> names = loss_names();
  names.insert(names.end(),
               {"logistic(0.4,1)", "logistic-capped(1,0.3)", "smoothed-hinge(1,1e-06)"});
  return names;
}
INSTANTIATE_TEST_SUITE_P(Losses, EveryLoss, testing::ValuesIn(every_loss()), [](const auto& p) {
  std::string name(p.param);
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});

double value_at(const Loss& loss, double z, float y) { return loss.value_sum({&z, 1}, {&y, 1}); }
double derivative_at(const Loss& loss, double z, float y) {
  double r = 0;
  loss.derivatives({&z, 1}, {&y, 1}, {&r, 1});
  return r;
}
double curvature_at(const Loss& loss, double z, float y) {
  double w = 0;
  loss.curvatures({&z, 1}, {&y, 1}, {&w, 1});
  return w;
}

// Labels of that bound, predictors of that size.
double most_slope(const Loss& loss, double z, double bound) {
  const double everywhere = loss.max_abs_derivative();
  return std::isfinite(everywhere)
             ? everywhere
             : loss.derivative_at_zero(bound) + loss.curvature() * std::fabs(z);
}
// By which absolute roundings of a loss with bounded slopes are small ones of one without.
double growth(const Loss& loss, double size) {
  return std::isfinite(loss.max_abs_derivative()) ? 1 : 1 + size;
}

// The certificate rests on these constants.
TEST_P(EveryLoss, ConstantsBoundTheDerivatives) {
  const Loss& loss = loss_named(GetParam());
  double largest_r = 0, largest_w = 0;
  for (const float y : labels_of(loss)) {
    std::vector<double> points = logit_grid();
    for (std::size_t i = 0, n = points.size(); i < n; ++i) {
      points.push_back(points[i] + static_cast<double>(y));  // amounts bend around their label
    }
    for (const double z : points) {
      const double r = derivative_at(loss, z, y), w = curvature_at(loss, z, y);
      EXPECT_GE(w, 0);
      if (loss.one_signed()) {
        EXPECT_LE(r * static_cast<double>(y), 0) << z;
      }
      // docs/theory/objective-pure.md, Theorem 1.
      if (std::isfinite(loss.self_concordance()) && std::isfinite(loss.max_abs_derivative())) {
        EXPECT_LE(w,
                  loss.self_concordance() * (loss.max_abs_derivative() - std::fabs(r)) + 4 * ulp);
      }
      largest_r = std::max(largest_r, std::fabs(r) / most_slope(loss, z, 1e6));
      largest_w = std::max(largest_w, w);
    }
  }
  EXPECT_LE(largest_r, 1 + 4 * ulp);  // computed, so rounded
  EXPECT_LE(largest_w, loss.curvature() * (1 + 4 * ulp));
  // And they are not idle.
  EXPECT_GT(largest_r, 0.99);
  for (const double bound : {1.0, 5.0, 1e6}) {
    double at_zero = 0;
    for (const float y : labels_of(loss, bound))
      at_zero = std::max(at_zero, std::fabs(derivative_at(loss, 0, y)));
    EXPECT_LE(at_zero, loss.derivative_at_zero(bound));
    EXPECT_GT(at_zero, 0.3 * loss.derivative_at_zero(bound));
  }
  EXPECT_GT(largest_w, 0.99 * loss.curvature());
}

// f' is phi-Lipschitz and does not fall, between whatever points: what the map's contraction needs
// where f'' jumps. f is convex.
TEST_P(EveryLoss, SlopesRiseNoFasterThanCurvatureSays) {
  const Loss& loss = loss_named(GetParam());
  std::vector<double> grid = logit_grid();
  std::ranges::sort(grid);
  for (const float y : labels_of(loss, 200)) {
    for (std::size_t i = 1; i < grid.size(); ++i) {
      const double a = grid[i - 1], b = grid[i];
      const double rise = derivative_at(loss, b, y) - derivative_at(loss, a, y);
      const double size = std::max(std::fabs(a), std::fabs(b)) + 200;
      const double slack = 8 * ulp * growth(loss, size);
      EXPECT_GE(rise, -slack) << a << " " << b << " " << y;
      EXPECT_LE(rise, loss.curvature() * (b - a) * (1 + 4 * ulp) + slack)
          << a << " " << b << " " << y;
      const double drop = value_at(loss, b, y) - value_at(loss, a, y);
      const double room = 16 * ulp * (std::fabs(a) + std::fabs(b) + 200) * growth(loss, size);
      EXPECT_GE(drop, derivative_at(loss, a, y) * (b - a) - room) << a << " " << b << " " << y;
      EXPECT_LE(drop, derivative_at(loss, b, y) * (b - a) + room) << a << " " << b << " " << y;
    }
  }
}

// |f'''| <= c f'' where it is finite: log f'' is c-Lipschitz.
TEST_P(EveryLoss, CurvatureChangesNoFasterThanSelfConcordanceSays) {
  const Loss& loss = loss_named(GetParam());
  if (!std::isfinite(loss.self_concordance())) {
    bool jumps = false;
    for (const float y : labels_of(loss, 10)) {
      for (double z = -12; z < 12; z += 1e-3) {
        jumps =
            jumps || std::fabs(curvature_at(loss, z, y) - curvature_at(loss, z + 1e-3, y)) > 0.2;
      }
    }
    EXPECT_TRUE(jumps);
    return;
  }
  double fastest = 0;
  const double s = 1e-3;
  for (double z = -20; z <= 20; z += 0.01) {
    for (const float y : labels_of(loss, 10)) {
      const double rate =
          std::fabs(std::log(curvature_at(loss, z + s, y) / curvature_at(loss, z, y))) / s;
      EXPECT_LE(rate, loss.self_concordance() * (1 + 1e-9) + 1e-9) << z << " " << y;
      fastest = std::max(fastest, rate);
    }
  }
  EXPECT_GE(fastest, 0.99 * loss.self_concordance());
}

// Central differences: truncation s^2/6 sup |f'''| <= s^2 where f'' does not jump (where it does, a
// jump of f'' within s on either side moves the first by s and the second by 1), rounding
// 4 ulp * (1 + |z| + |y|) / s.
TEST_P(EveryLoss, DerivativesAreDerivatives) {
  const Loss& loss = loss_named(GetParam());
  const bool kinked = !std::isfinite(loss.self_concordance());
  const double s = 1e-4;
  int compared = 0;
  for (double z = -20; z <= 20; z += 0.0737) {
    for (const float y : labels_of(loss, 10)) {
      const double r = derivative_at(loss, z, y), w = curvature_at(loss, z, y);
      const double derivative = (value_at(loss, z + s, y) - value_at(loss, z - s, y)) / (2 * s);
      const double size = std::fabs(z) + std::fabs(static_cast<double>(y));
      const double bound = s * s + 4 * ulp * (1 + size) * growth(loss, size) / s;
      EXPECT_TRUE(std::fabs(derivative - r) <= bound + (kinked ? s : 0)) << z << " " << y;
      const double below = curvature_at(loss, z - s, y), above = curvature_at(loss, z + s, y);
      if (kinked && std::fabs(above - below) > 3 * s) continue;
      ++compared;
      const double second =
          (derivative_at(loss, z + s, y) - derivative_at(loss, z - s, y)) / (2 * s);
      EXPECT_TRUE(std::fabs(second - w) <= bound) << z << " " << y;
    }
  }
  EXPECT_GT(compared, 900);
}

// Against 64 bits to where doubles end. Relative to f, f'' but for an exp's argument (u |z| e^z);
// f' within 16 roundings of its supremum, which is what docs/theory/map-error.md, step 2, allows.
TEST_P(EveryLoss, IsAccurateAtEveryPredictor) {
  const Loss& loss = loss_named(GetParam());
  std::vector<double> points = logit_grid();
  for (const double far : {1e4, 1e18, 1e30, 1e155, 1e308}) {
    points.push_back(far);
    points.push_back(-far);
  }
  for (const float y : labels_of(loss)) {
    for (const double z : points) {
      if (std::fabs(z) > 1e150 && !std::isfinite(loss.max_abs_derivative())) continue;  // z^2
      const ExactLoss exact = exact_loss(loss.name(), z, y);
      const double v = value_at(loss, z, y), r = derivative_at(loss, z, y),
                   w = curvature_at(loss, z, y);
      EXPECT_TRUE(std::isfinite(v) && std::isfinite(r) && std::isfinite(w)) << z << " " << y;
      const long double of_exp = std::exp(-std::fabs(static_cast<long double>(z))) * 800 * ulp;
      EXPECT_TRUE(std::fabs(v - exact.value) <= 8 * ulp * exact.value + of_exp + 800 * smallest)
          << z << " " << y << " " << v;
      EXPECT_TRUE(std::fabs(r - exact.derivative) <=
                  8 * ulp *
                      std::min(loss.max_abs_derivative(),
                               std::max(1.0, std::fabs(static_cast<double>(exact.derivative)))))
          << z << " " << y;
      // Where f'' jumps a rounding may be on either side.
      const double at = static_cast<double>(y) * z, off = z - static_cast<double>(y);
      const bool at_jump = !std::isfinite(loss.self_concordance()) &&
                           (std::fabs(std::fabs(off) - 1) < 1e-9 * (1 + std::fabs(z)) ||
                            std::fabs(at - 1) < 1e-9 || std::fabs(at) < 1e-9);
      if (at_jump) continue;
      EXPECT_TRUE(std::fabs(w - exact.curvature) <= 8 * ulp * exact.curvature + of_exp + 1e-53)
          << z << " " << y << " " << w;
    }
  }
}

TEST_P(EveryLoss, WhatIsNoNumberStaysNone) {
  const Loss& loss = loss_named(GetParam());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  for (const float y : labels_of(loss)) {
    EXPECT_TRUE(std::isnan(value_at(loss, nan, y))) << y;
    EXPECT_TRUE(std::isnan(derivative_at(loss, nan, y))) << y;
    EXPECT_TRUE(std::isnan(curvature_at(loss, nan, y))) << y;
    for (const double end : {inf, -inf}) {  // the slope's own limit, and nothing larger
      const bool held = std::isfinite(loss.max_abs_derivative());
      EXPECT_EQ(derivative_at(loss, end, y),
                held ? derivative_at(loss, std::copysign(1e300, end), y) : end)
          << y;
      EXPECT_FALSE(value_at(loss, end, y) < 0) << y;
    }
  }
}

// sup over |y| <= bound of f(0, y) - inf f: what bounds the minimizer's distance.
TEST_P(EveryLoss, DropFromZeroBoundsWhatThereIsToGain) {
  const Loss& loss = loss_named(GetParam());
  for (const double bound : {1.0, 1.5, 5.0, 100.0, 1e6}) {
    double largest = 0;
    std::vector<float> labels = labels_of(loss, bound);
    if (loss.label() == LabelKind::amount) {
      labels.push_back(static_cast<float>(bound));
      labels.push_back(static_cast<float>(-bound));
    }
    for (const float y : labels) {
      double least = value_at(loss, static_cast<double>(y), y);
      for (double z = -60; z <= 60; z += 0x1p-7) least = std::min(least, value_at(loss, z, y));
      largest = std::max(largest, value_at(loss, 0, y) - least);
    }
    EXPECT_LE(largest, loss.drop_from_zero(bound) * (1 + ulp)) << bound;
    EXPECT_GE(largest, 0.4 * loss.drop_from_zero(bound)) << bound;
    if (bound >= 100 || loss.label() != LabelKind::amount) {
      EXPECT_GE(largest, 0.98 * loss.drop_from_zero(bound)) << bound;
    }
  }
}

// p f'(z, 1) + (1 - p) f'(z, -1) = 0: what a model that can reach it is calibrated by. Both
// classes get all of [0, 1] and p rises with z; but the smoothed hinge tells nothing apart where
// |z| is almost 1 or more, and takes 1/1000.
TEST_P(EveryLoss, ProbabilityIsWhereTheMeanLossIsLeast) {
  // The check uses the loss without class weights: a weighted class counts as if it were that much
  // more frequent.
  const Loss& loss = loss_named(GetParam()).unweighted();
  if (loss.label() != LabelKind::two_classes) return;
  const bool held = loss.name() == "smoothed-hinge";
  double before = 0;
  int exact = 0;
  for (double z = -30; z <= 30; z += held ? 0.013 : 0.13) {
    const double p = loss.probability(z);
    if (held && std::fabs(z) > 0.99) {
      EXPECT_TRUE(p >= before && std::min(p, 1 - p) > 0.000999) << z;
      EXPECT_LE(std::min(p, 1 - p), 0.01) << z;
    } else {
      EXPECT_NEAR(p * derivative_at(loss, z, 1) + (1 - p) * derivative_at(loss, z, -1), 0, 1e-15)
          << z;
      EXPECT_TRUE(p > before && p < 1) << z;
      ++exact;
    }
    EXPECT_NEAR(p + loss.probability(-z), 1, 1e-15);
    before = p;
  }
  EXPECT_GT(exact, 100);
}

// An amount or a count whose mean is what is predicted leaves no slope: E f'(z, y) = 0 where E y =
// predicted(z) for counts, f'(z, predicted(z)) = 0 and odd about it for amounts. It rises with z.
TEST_P(EveryLoss, PredictedIsWhereTheMeanLossIsLeast) {
  const Loss& loss = loss_named(GetParam());
  if (loss.label() == LabelKind::two_classes) return;
  double before = -std::numeric_limits<double>::infinity();
  for (double z = -30; z <= 30; z += 0.13) {
    const double y = loss.predicted(z);
    EXPECT_GE(y, before) << z;
    before = y;
    if (loss.label() == LabelKind::amount) {
      EXPECT_EQ(y, z);
      const auto label = static_cast<float>(y);
      for (const double off : {0.0, 0.5, 2.0, 30.0}) {
        EXPECT_NEAR(derivative_at(loss, static_cast<double>(label) + off, label) +
                        derivative_at(loss, static_cast<double>(label) - off, label),
                    0, 1e-13)
            << z;
      }
      continue;
    }
    EXPECT_TRUE(y > 0 && y <= 1) << z;
    // All or nothing with that mean.
    EXPECT_NEAR(y * derivative_at(loss, z, 1) + (1 - y) * derivative_at(loss, z, 0), 0, 1e-15) << z;
    if (z > 2.31) {
      EXPECT_EQ(y, 1) << z;
    }
  }
  if (loss.label() == LabelKind::count) {
    EXPECT_NEAR(loss.predicted(0), 0.1, 1e-16);
  }
}

// Brute force over rows, labels and theta: two gradients of one row are no further apart than
// 2 R sup |f'|, and come near; two minimizers of tables that differ by a row, no further than
// 2 R sup |f'|/m.
TEST_P(EveryLoss, GradientsOfNeighborsAreWithinTwoSlopes) {
  const Loss& loss = loss_named(GetParam());
  const std::vector<float> labels = labels_of(loss, 100);
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  const double R = 1.5, longest_label = loss.label() == LabelKind::amount ? 4.7F : 1.0;
  double largest = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    double x[2], other[2], theta[2];
    const double scale = std::pow(10, trial % 4 - 1);
    for (double& v : theta) v = scale * normal(random);
    for (double* row : {x, other}) {
      for (int j = 0; j < 2; ++j) row[j] = normal(random);
      const double norm = std::hypot(row[0], row[1]);
      for (int j = 0; j < 2; ++j) row[j] *= R / norm;
    }
    if (trial % 2 == 0) {  // across theta's line
      for (int j = 0; j < 2; ++j) other[j] = -x[j];
    }
    const float y = labels[random() % labels.size()], changed = labels[random() % labels.size()];
    const double r = derivative_at(loss, x[0] * theta[0] + x[1] * theta[1], y);
    const double s = derivative_at(loss, other[0] * theta[0] + other[1] * theta[1], changed);
    const double apart = std::hypot(r * x[0] - s * other[0], r * x[1] - s * other[1]);
    const double most = 2 * R * most_slope(loss, R * std::hypot(theta[0], theta[1]), longest_label);
    EXPECT_LE(apart, most * (1 + 1e-14));
    largest = std::max(largest, apart / most);
  }
  // With class weights, only pairs with both rows of the heaviest class come near the bound; fewer
  // of the tried pairs do.
  const double reached = !loss.class_weights().empty()              ? 0.9
                         : std::isfinite(loss.max_abs_derivative()) ? 0.99
                                                                    : 0.95;
  EXPECT_GT(largest, reached);
}

// The one of sum f(x_i theta, y_i) + m theta^2/2.
double minimizer_of(const Loss& loss, const std::vector<std::pair<double, float>>& rows, double m) {
  double lo = -1e4, hi = 1e4;
  for (int i = 0; i < 200; ++i) {
    const double middle = lo + (hi - lo) / 2;
    double derivative = m * middle;
    for (const auto& [x, y] : rows) derivative += x * derivative_at(loss, x * middle, y);
    (derivative < 0 ? lo : hi) = middle;
  }
  return lo;
}

TEST_P(EveryLoss, MinimizersAreWhereTheBoundsSay) {
  const Loss& loss = loss_named(GetParam());
  std::mt19937_64 random(8);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (const double bound : {1.0, 4.8, 130.0}) {
    const std::vector<float> labels = labels_of(loss, bound);
    const auto row = [&](bool alike) {
      return std::pair{alike ? 1.0 : uniform(random),
                       alike ? labels.back() : labels[random() % labels.size()]};
    };
    double nearest = 0;
    for (int trial = 0; trial < 300; ++trial) {
      Problem p;
      p.rows = 5;
      p.label_bound = bound;
      set_loss(p, loss);
      const double m = std::pow(10, trial % 5 - 2);
      std::vector<std::pair<double, float>> table;
      for (std::uint64_t i = 0; i < p.rows; ++i) table.push_back(row(trial % 3 == 0));
      const double here = minimizer_of(loss, table, m);
      EXPECT_LE(std::fabs(here), p.minimizer_distance_up(1, m) * (1 + 1e-12));
      nearest = std::max(nearest, std::fabs(here) / p.minimizer_distance_up(1, m));
      table[0] = row(false);
      const double there = minimizer_of(loss, table, m);
      const double derivative = most_slope(loss, there, bound);  // where one gradient is 0
      EXPECT_LE(std::fabs(here - there), 2 * derivative / m * (1 + 1e-12));
    }
    EXPECT_GT(nearest, 0.3) << bound;
  }
}

TEST(Losses, OfEachKindOfLabelThereAreSome) {
  EXPECT_THAT(loss_names(LabelKind::two_classes),
              testing::UnorderedElementsAre("logistic", "logistic-capped", "smoothed-hinge"));
  EXPECT_THAT(loss_names(LabelKind::amount),
              testing::UnorderedElementsAre("huber", "pseudo-huber", "squared"));
  EXPECT_THAT(loss_names(LabelKind::count), testing::UnorderedElementsAre("poisson"));
}

TEST(Losses, WithoutAGuaranteeAreRefusedWithTheReason) {
  const auto refused = [](const char* name, const char* why) {
    EXPECT_THAT([&] { glm(name); }, testing::ThrowsMessage<BadInput>(testing::HasSubstr(why)));
  };
  refused("hinge", "use smoothed-hinge");
  refused("probit", "use logistic");
  refused("softmin", "pseudo-huber");  // unknown: the known ones are named
}

TEST(Losses, OfAnotherLabelThanTheSchemasAreRefused) {
  FeatureSpace space;
  space.features = 2;
  for (const LabelKind kind : {LabelKind::two_classes, LabelKind::amount, LabelKind::count}) {
    space.label = kind;
    space.label_bound = kind == LabelKind::amount ? 7 : 1;
    for (const std::string_view name : loss_names()) {
      const Model model = glm(name);
      if (loss_named(name).label() != kind) {
        EXPECT_THAT([&] { static_cast<void>(model.constants(space, 10)); },
                    testing::ThrowsMessage<BadInput>(
                        testing::AllOf(testing::HasSubstr(std::string(name).append(" predicts ")),
                                       testing::HasSubstr(std::string(loss_names(kind).front())))));
        continue;
      }
      const Problem p = model.constants(space, 10);
      EXPECT_EQ(p.label_bound, space.label_bound);
      EXPECT_EQ(p.drop_from_zero, loss_named(name).drop_from_zero(space.label_bound)) << name;
      EXPECT_EQ(p.one_signed, kind == LabelKind::two_classes) << name;
      EXPECT_EQ(p.bounded(), name != "squared") << name;
    }
  }
}

// The losing side's slope is held at 1/2: nothing changes where the label agrees with the logit.
TEST(LogisticCapped, IsTheLogisticLossOfRowsOnTheRightSide) {
  const Loss& capped = loss_named("logistic-capped");
  const Loss& plain = loss_named("logistic");
  for (const double z : logit_grid()) {
    for (const float y : {-1.0f, 1.0f}) {
      double r = 0, w = 0, r0 = 0, w0 = 0;
      capped.derivatives({&z, 1}, {&y, 1}, {&r, 1});
      capped.curvatures({&z, 1}, {&y, 1}, {&w, 1});
      plain.derivatives({&z, 1}, {&y, 1}, {&r0, 1});
      plain.curvatures({&z, 1}, {&y, 1}, {&w0, 1});
      const double v = capped.value_sum({&z, 1}, {&y, 1});
      const double t = z * static_cast<double>(y);
      if (t >= 0) {
        EXPECT_EQ(r, r0);
        EXPECT_EQ(w, w0);
        EXPECT_EQ(v, plain.value_sum({&z, 1}, {&y, 1}));
      } else {
        EXPECT_EQ(r, -static_cast<double>(y) / 2);
        EXPECT_EQ(w, 0);
        EXPECT_NEAR(v, std::log(2.0) - t / 2, 2 * ulp * v);
      }
    }
  }
}

TEST(Loss, UnknownNameListsTheKnownOnes) {
  EXPECT_THAT([] { loss_named("hinge2"); },
              testing::ThrowsMessage<BadInput>(testing::HasSubstr("logistic")));
}

}  // namespace loss_test
}  // namespace gibbsite
