#include "gibbsite/model/loss.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace {

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
TEST(LogisticLoss, ValueResidualAndCurvatureAreAccurateAtEveryLogit) {
  const Loss& loss = loss_named("logistic");
  for (const double z : logit_grid()) {
    for (const float y : {-1.0f, 1.0f}) {
      const long double t = static_cast<long double>(y) * z;
      const long double e = std::exp(-std::fabs(t));
      const long double value = (t < 0 ? -t : 0) + std::log1p(e);
      const long double residual = -y * ((t >= 0 ? e : 1) / (1 + e));
      const long double second = e / ((1 + e) * (1 + e));
      double r = 0, w = 0;
      loss.residuals({&z, 1}, {&y, 1}, {&r, 1});
      loss.curvatures({&z, 1}, {&y, 1}, {&w, 1});
      const double v = loss.value_sum({&z, 1}, {&y, 1});
      EXPECT_TRUE(std::isfinite(v));
      EXPECT_TRUE(std::fabs(v - value) <= 4 * ulp * value + smallest) << z << " " << y;
      EXPECT_TRUE(std::fabs(r - residual) <= 4 * ulp * std::fabs(residual) + smallest)
          << z << " " << y;
      EXPECT_TRUE(std::fabs(w - second) <= 4 * ulp * second + smallest) << z;
    }
  }
}

class EveryLoss : public testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(Losses, EveryLoss, testing::ValuesIn(loss_names()), [](const auto& p) {
  std::string name(p.param);
  std::ranges::replace(name, '-', '_');
  return name;
});

// The certificate rests on these two constants.
TEST_P(EveryLoss, ConstantsBoundTheDerivatives) {
  const Loss& loss = loss_named(GetParam());
  double largest_r = 0, largest_w = 0;
  for (const double z : logit_grid()) {
    for (const float y : {-1.0f, 1.0f}) {
      double r = 0, w = 0;
      loss.residuals({&z, 1}, {&y, 1}, {&r, 1});
      loss.curvatures({&z, 1}, {&y, 1}, {&w, 1});
      EXPECT_GE(w, 0);
      if (loss.one_signed()) {
        EXPECT_LE(r * static_cast<double>(y), 0) << z;
      }
      // docs/objective-pure.md, Theorem 1.
      if (std::isfinite(loss.self_concordance())) {
        EXPECT_LE(w, loss.self_concordance() * (loss.max_abs_residual() - std::fabs(r)) + 4 * ulp);
      }
      largest_r = std::max(largest_r, std::fabs(r));
      largest_w = std::max(largest_w, w);
    }
  }
  EXPECT_LE(largest_r, loss.max_abs_residual() * (1 + 4 * ulp));  // computed, so rounded
  EXPECT_LE(largest_w, loss.curvature() * (1 + 4 * ulp));
  EXPECT_GT(largest_w, 0.99 * loss.curvature());  // and they are not idle
}

// Central differences: truncation s^2/6 sup |f'''| <= s^2, rounding 4 ulp * (1 + |z|) / s.
TEST_P(EveryLoss, DerivativesAreDerivatives) {
  const Loss& loss = loss_named(GetParam());
  const double s = 1e-4;
  for (double z = -20; z <= 20; z += 0.37) {
    for (const float y : {-1.0f, 1.0f}) {
      const double points[] = {z - s, z + s};
      const float labels[] = {y, y};
      double r = 0, w = 0, around[2];
      loss.residuals({&z, 1}, {&y, 1}, {&r, 1});
      loss.curvatures({&z, 1}, {&y, 1}, {&w, 1});
      loss.residuals(points, labels, around);
      const double slope =
          (loss.value_sum({points + 1, 1}, {&y, 1}) - loss.value_sum({points, 1}, {&y, 1})) /
          (2 * s);
      const double bound = s * s + 4 * ulp * (1 + std::fabs(z)) / s;
      EXPECT_TRUE(std::fabs(slope - r) <= bound) << z;
      EXPECT_TRUE(std::fabs((around[1] - around[0]) / (2 * s) - w) <= bound) << z;
    }
  }
}

// p f'(z, 1) + (1 - p) f'(z, -1) = 0: what a model that can reach it is calibrated by. Both
// classes get all of [0, 1] and p rises with z.
TEST_P(EveryLoss, ProbabilityIsWhereTheMeanLossIsLeast) {
  const Loss& loss = loss_named(GetParam());
  double before = 0;
  for (double z = -30; z <= 30; z += 0.13) {
    const double p = loss.probability(z), logits[] = {z, z};
    const float labels[] = {1, -1};
    double r[2];
    loss.residuals(logits, labels, r);
    EXPECT_NEAR(p * r[0] + (1 - p) * r[1], 0, 1e-15) << z;
    EXPECT_TRUE(p > before && p < 1) << z;
    EXPECT_NEAR(p + loss.probability(-z), 1, 1e-15);
    before = p;
  }
}

// The losing side's slope is held at 1/2: nothing changes where the label agrees with the logit.
TEST(LogisticCapped, IsTheLogisticLossOfRowsOnTheRightSide) {
  const Loss& capped = loss_named("logistic-capped");
  const Loss& plain = loss_named("logistic");
  for (const double z : logit_grid()) {
    for (const float y : {-1.0f, 1.0f}) {
      double r = 0, w = 0, r0 = 0, w0 = 0;
      capped.residuals({&z, 1}, {&y, 1}, {&r, 1});
      capped.curvatures({&z, 1}, {&y, 1}, {&w, 1});
      plain.residuals({&z, 1}, {&y, 1}, {&r0, 1});
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

}  // namespace
}  // namespace gibbsite
