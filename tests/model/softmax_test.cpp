// The softmax loss: its constants by brute force, its derivatives by differences and in 64 bits,
// its names.
#include "gibbsite/model/losses/softmax.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/model/model.hpp"
#include "support/loss_oracle.hpp"
#include "support/roundings.hpp"

namespace gibbsite {
namespace softmax_test {

using support::exact_outputs;
using support::gamma_k;
using support::labels_of;

using Vector = std::vector<double>;

double norm(const Vector& v) {
  double squares = 0;
  for (const double x : v) squares += x * x;
  return std::sqrt(squares);
}

class SoftmaxOf : public testing::TestWithParam<std::size_t> {
 protected:
  SoftmaxOf() : K_(GetParam()), loss_(loss_named("softmax-" + std::to_string(K_))) {}

  [[nodiscard]] double value(const Vector& z, float y) const { return loss_.value_sum(z, {&y, 1}); }
  [[nodiscard]] Vector derivative(const Vector& z, float y) const {
    Vector r(K_, NAN);
    loss_.derivatives(z, {&y, 1}, r);
    return r;
  }
  [[nodiscard]] Vector product(const Vector& z, float y, Vector v) const {
    loss_.curvature_products(z, {&y, 1}, v, v);
    return v;
  }
  [[nodiscard]] double curvature_along(const Vector& z, const Vector& v) const {
    const Vector hv = product(z, 0, v);
    double sum = 0;
    for (std::size_t k = 0; k < K_; ++k) sum += v[k] * hv[k];
    return sum;
  }
  [[nodiscard]] float some_label() { return static_cast<float>(random_() % K_); }
  [[nodiscard]] Vector normals(double scale) {
    Vector v(K_);
    for (double& x : v) x = scale * normal_(random_);
    return v;
  }
  // Small ones, some within rounding of each other, and far ones; one or two classes ahead.
  [[nodiscard]] Vector predictors(int trial) {
    Vector z = normals(std::pow(10.0, trial % 6 - 3));
    if (trial % 3 == 1) z[random_() % K_] += 30;
    if (trial % 3 == 2) {
      for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) z[k] = 40 + 1e-3 * z[k];
    }
    return z;
  }

  std::size_t K_;
  const Loss& loss_;
  std::mt19937_64 random_{11};
  std::normal_distribution<double> normal_;
};
INSTANTIATE_TEST_SUITE_P(Classes, SoftmaxOf, testing::Values(2, 3, 5, 10));

constexpr int trials = 20000;

TEST_P(SoftmaxOf, ConstantsBoundTheDerivativesAndAreReached) {
  EXPECT_EQ(loss_.outputs(), K_);
  EXPECT_EQ(loss_.curvature(), 0.5);
  EXPECT_GE(loss_.max_abs_derivative(), std::sqrt(2.0L));
  EXPECT_LT(loss_.max_abs_derivative(), std::sqrt(2.0) * (1 + 1e-15));
  EXPECT_FALSE(loss_.one_signed());
  double largest_r = 0, largest_w = 0;
  for (int trial = 0; trial < trials; ++trial) {
    const Vector z = predictors(trial);
    const double r = norm(derivative(z, some_label()));
    EXPECT_LE(r, loss_.max_abs_derivative() * (1 + gamma_k(static_cast<double>(K_))));
    largest_r = std::max(largest_r, r);
    // Gershgorin: eigenvalues are within a row's other entries of its diagonal.
    std::vector<Vector> h;
    for (std::size_t k = 0; k < K_; ++k) {
      Vector unit(K_, 0);
      unit[k] = 1;
      h.push_back(product(z, 0, unit));
    }
    for (std::size_t k = 0; k < K_; ++k) {
      double others = 0;
      for (std::size_t j = 0; j < K_; ++j) {
        ASSERT_NEAR(h[k][j], h[j][k], 1e-16);
        others += j == k ? 0 : std::fabs(h[k][j]);
      }
      EXPECT_LE(h[k][k] + others, 0.5 + 1e-15);
      EXPECT_GE(h[k][k] - others, -1e-15);
    }
    const Vector v = normals(1);
    const double along = curvature_along(z, v) / (norm(v) * norm(v));
    EXPECT_LE(along, 0.5 + 1e-15);
    largest_w = std::max(largest_w, along);
  }
  EXPECT_GT(largest_r, std::sqrt(2.0) - 1e-6);
  EXPECT_GT(largest_w, K_ > 5 ? 0.3 : 0.45);
  // At p = (1/2, 1/2, 0, ...) along (1, -1, 0, ...).
  Vector z(K_, -800), v(K_, 0);
  z[0] = z[1] = 0;
  v[0] = 1;
  v[1] = -1;
  EXPECT_EQ(curvature_along(z, v), 0.5 * 2);
}

// The slope is 1/2-Lipschitz and monotone between whatever points, f convex.
TEST_P(SoftmaxOf, SlopesRiseNoFasterThanCurvatureSays) {
  double fastest = 0;
  for (int trial = 0; trial < trials; ++trial) {
    const Vector a = predictors(trial);
    Vector b = normals(std::pow(10.0, trial % 5 - 3));
    if (trial % 3 == 2) b = {-b[1], b[1]};
    b.resize(K_, 0);
    for (std::size_t k = 0; k < K_; ++k) b[k] += a[k];
    const float y = some_label();
    const Vector r = derivative(a, y), s = derivative(b, y);
    double rise = 0, along_r = 0, along_s = 0, sizes = 0;
    Vector apart(K_), moved(K_);
    for (std::size_t k = 0; k < K_; ++k) {
      apart[k] = s[k] - r[k];
      moved[k] = b[k] - a[k];
      rise += apart[k] * moved[k];
      along_r += r[k] * moved[k];
      along_s += s[k] * moved[k];
      sizes += std::fabs(a[k]) + std::fabs(b[k]) + 1;
    }
    EXPECT_LE(norm(apart), 0.5 * norm(moved) + 1e-14);
    EXPECT_GE(rise, -1e-14 * sizes);
    EXPECT_GE(value(b, y) - value(a, y), along_r - 1e-14 * sizes);
    EXPECT_LE(value(b, y) - value(a, y), along_s + 1e-14 * sizes);
    if (norm(moved) > 1e-4) fastest = std::max(fastest, norm(apart) / norm(moved));
  }
  EXPECT_GT(fastest, 0.49);
}

// |d/ds v'H(z + s u)v| <= 2 max|u| v'H(z)v, and less than (max u - min u) v'H(z)v. Central
// differences of a log: truncation s^2 times a third derivative of it, at most 16 (max|u|)^3.
TEST_P(SoftmaxOf, CurvatureChangesNoFasterThanSelfConcordanceSays) {
  EXPECT_EQ(loss_.self_concordance(), 2);
  double fastest = 0;
  const double s = 1e-4;
  for (int trial = 0; trial < trials; ++trial) {
    const Vector z = normals(trial % 2 == 0 ? 1 : 4), v = normals(1);
    Vector u = normals(1);
    if (trial % 4 == 3) {  // the class ahead of all others against them
      const auto most = std::ranges::max_element(z) - z.begin();
      std::ranges::fill(u, -1.0);
      u[static_cast<std::size_t>(most)] = 1;
    }
    const double size =
        std::fabs(*std::ranges::max_element(u, {}, [](double x) { return std::fabs(x); }));
    for (double& x : u) x /= size;
    Vector above = z, below = z;
    for (std::size_t k = 0; k < K_; ++k) {
      above[k] += s * u[k];
      below[k] -= s * u[k];
    }
    if (curvature_along(z, v) < 1e-6) continue;
    const double rate =
        std::fabs(std::log(curvature_along(above, v) / curvature_along(below, v))) / (2 * s);
    const auto [least, most] = std::ranges::minmax(u);
    EXPECT_LE(rate, (most - least) + 1e-5);
    EXPECT_LE(rate, loss_.self_concordance() + 1e-5);
    fastest = std::max(fastest, rate);
  }
  EXPECT_GT(fastest, 0.98 * loss_.self_concordance());
}

TEST_P(SoftmaxOf, DerivativesAreDerivatives) {
  const double s = 1e-4;
  double largest = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    const Vector z = normals(trial % 2 == 0 ? 1 : 5), v = normals(0.5);
    const float y = some_label();
    Vector above = z, below = z;
    for (std::size_t k = 0; k < K_; ++k) {
      above[k] += s * v[k];
      below[k] -= s * v[k];
    }
    const Vector r = derivative(z, y), hv = product(z, y, v);
    const Vector up = derivative(above, y), down = derivative(below, y);
    double along = 0;
    for (std::size_t k = 0; k < K_; ++k) {
      along += r[k] * v[k];
      EXPECT_NEAR((up[k] - down[k]) / (2 * s), hv[k], 1e-6 * std::max(1.0, norm(v)));
      largest = std::max(largest, std::fabs(hv[k]));
    }
    EXPECT_NEAR((value(above, y) - value(below, y)) / (2 * s), along,
                1e-6 * std::max(1.0, norm(v)));
  }
  EXPECT_GT(largest, 0.05);
}

// To where doubles end. f to relative K + 16 roundings but for an exp's argument (u t e^-t); f' to
// as many of its supremum.
TEST_P(SoftmaxOf, IsAccurateAtEveryPredictor) {
  const double room = gamma_k(16 + static_cast<double>(K_));
  for (const double far : {1e-300, 1e-9, 1.0, 30.0, 36.04, 700.0, 745.0, 1e4, 1e18, 1e155, 8e307}) {
    for (int trial = 0; trial < 300; ++trial) {
      Vector z = predictors(trial);
      for (std::size_t k = 0; k < K_; ++k) {
        const auto pick = random_() % 4;
        if (pick < 2)
          z[k] = (pick == 0 ? far : -far) * (trial % 5 == 0 ? 1 : std::fabs(std::sin(z[k])));
      }
      const float y = some_label();
      const auto exact = exact_outputs(loss_, {z.begin(), z.end()}, y);
      const double v = value(z, y);
      double of_exp = 0;  // sum e^-t t, t below the largest
      const double most = std::ranges::max(z);
      for (const double x : z) of_exp += std::exp(x - most) * std::min(most - x, 800.0);
      ASSERT_TRUE(std::isfinite(v));
      EXPECT_TRUE(std::fabs(v - exact.value) <= room * (exact.value + of_exp) + 1e-300)
          << v << " for " << static_cast<double>(exact.value);
      const Vector r = derivative(z, y);
      long double off = 0;
      for (std::size_t k = 0; k < K_; ++k)
        off += (r[k] - exact.derivative[k]) * (r[k] - exact.derivative[k]);
      EXPECT_LE(std::sqrt(off), room * loss_.max_abs_derivative());
      for (std::size_t k = 0; k < K_; ++k) {
        Vector unit(K_, 0);
        unit[k] = 1;
        const Vector column = product(z, y, unit);
        for (std::size_t j = 0; j < K_; ++j)
          EXPECT_NEAR(column[j], static_cast<double>(exact.curvature[j * K_ + k]), room) << far;
      }
    }
  }
}

TEST_P(SoftmaxOf, WhatIsNoNumberOrNoClassStaysNone) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (std::size_t k = 0; k < K_; ++k) {
    Vector z(K_, 1);
    z[k] = nan;
    EXPECT_TRUE(std::isnan(value(z, 0)));
    for (const double r : derivative(z, 0)) EXPECT_TRUE(std::isnan(r));
  }
  const auto K = static_cast<float>(K_);
  for (const float y :
       {-1.0F, 0.5F, K, K - 0.5F, 1e30F, -1e-30F, static_cast<float>(nan), INFINITY}) {
    const Vector z(K_, 1);
    EXPECT_EQ(losses::class_of(y, K_), K_) << y;
    EXPECT_TRUE(std::isnan(value(z, y))) << y;
    for (const double r : derivative(z, y)) EXPECT_TRUE(std::isnan(r)) << y;
    for (const double h : product(z, y, z)) EXPECT_TRUE(std::isnan(h)) << y;
  }
  EXPECT_EQ(losses::class_of(K - 1, K_), K_ - 1);
}

// Rows keep to themselves, output-major.
TEST_P(SoftmaxOf, BlocksAreTheirRows) {
  const std::size_t n = 7;
  std::vector<Vector> rows;
  std::vector<float> y;
  Vector z(K_ * n), v(K_ * n), r(K_ * n), hv(K_ * n);
  double total = 0;
  for (std::size_t i = 0; i < n; ++i) {
    rows.push_back(normals(2));
    y.push_back(some_label());
    total += value(rows[i], y[i]);
    for (std::size_t k = 0; k < K_; ++k) {
      z[k * n + i] = rows[i][k];
      v[k * n + i] = rows[i][K_ - 1 - k];
    }
  }
  loss_.derivatives(z, y, r);
  loss_.curvature_products(z, y, v, hv);
  EXPECT_NEAR(loss_.value_sum(z, y), total, 1e-13);
  for (std::size_t i = 0; i < n; ++i) {
    const Vector derivatives = derivative(rows[i], y[i]);
    const Vector products = product(rows[i], y[i], {rows[i].rbegin(), rows[i].rend()});
    for (std::size_t k = 0; k < K_; ++k) {
      EXPECT_EQ(r[k * n + i], derivatives[k]);
      EXPECT_EQ(hv[k * n + i], products[k]);
    }
  }
}

TEST_P(SoftmaxOf, DropFromZeroBoundsWhatThereIsToGain) {
  const double most = loss_.drop_from_zero(1);
  for (const float y : labels_of(loss_)) {
    Vector z(K_, 0);
    EXPECT_LE(value(z, y), most);
    EXPECT_GE(value(z, y), most * (1 - 1e-14));
    const double at_zero = value(z, y);
    z[static_cast<std::size_t>(y)] = 800;  // inf f = 0
    EXPECT_GE(at_zero - value(z, y), most * (1 - 1e-14));
  }
  for (int trial = 0; trial < 2000; ++trial) EXPECT_GE(value(predictors(trial), some_label()), 0);
}

// Brute force over rows, labels and theta [K x 2]: gradients of two rows are no further apart than
// 2 sqrt(2) R, and come near.
TEST_P(SoftmaxOf, GradientsOfNeighborsAreWithinTwoSlopes) {
  const double R = 1.5, bound = 2 * R * loss_.max_abs_derivative();
  double largest = 0;
  for (int trial = 0; trial < trials; ++trial) {
    const double scale = std::pow(10, trial % 5 - 1);
    const Vector t0 = normals(scale), t1 = normals(scale);
    const double angle = normal_(random_) * 3, turn = normal_(random_) * (trial % 2 == 0 ? 0.1 : 2);
    std::vector<Vector> gradients;
    for (const double at : {angle, angle + turn}) {
      const double x[2] = {R * std::cos(at), R * std::sin(at)};
      Vector z(K_);
      for (std::size_t k = 0; k < K_; ++k) z[k] = t0[k] * x[0] + t1[k] * x[1];
      Vector g;
      // Across a border of two classes each is the other's label.
      const auto most = static_cast<std::size_t>(std::ranges::max_element(z) - z.begin());
      std::size_t second = most == 0 ? 1 : 0;
      for (std::size_t k = 0; k < K_; ++k) {
        if (k != most && z[k] > z[second]) second = k;
      }
      for (const double r :
           derivative(z, trial % 3 == 0 ? some_label() : static_cast<float>(second))) {
        g.push_back(r * x[0]);
        g.push_back(r * x[1]);
      }
      gradients.push_back(g);
    }
    Vector apart(2 * K_);
    for (std::size_t j = 0; j < apart.size(); ++j) apart[j] = gradients[0][j] - gradients[1][j];
    EXPECT_LE(norm(apart), bound * (1 + 1e-14));
    largest = std::max(largest, norm(apart));
  }
  EXPECT_GT(largest, 0.99 * bound);
}

// Two classes: log(1 + e^{z_1 - z_0}) is the logistic loss of z_1 - z_0. With the priors
// m_2 ||theta||^2/2 on both outputs the best pair of a difference t is -+t/2: m_2 t^2/4, that of
// logistic with m = m_2/2.
TEST(Softmax, OfTwoClassesIsTheLogisticLossOfTheDifference) {
  const Loss& two = loss_named("softmax-2");
  const Loss& logistic = loss_named("logistic");
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  for (int trial = 0; trial < trials; ++trial) {
    const double scale = std::pow(10, trial % 5 - 2);
    const Vector z{scale * normal(random), scale * normal(random)};
    const double t = z[1] - z[0];
    const float y = trial % 2 == 0 ? 1.0F : 0.0F, sign = 2 * y - 1;
    double r = 0, w = 0, derivatives[2], products[2];
    logistic.derivatives({&t, 1}, {&sign, 1}, {&r, 1});
    logistic.curvatures({&t, 1}, {&sign, 1}, {&w, 1});
    two.derivatives(z, {&y, 1}, derivatives);
    const double v[2] = {0.3, -1.7};
    two.curvature_products(z, {&y, 1}, v, products);
    const double value = logistic.value_sum({&t, 1}, {&sign, 1});
    EXPECT_NEAR(two.value_sum(z, {&y, 1}), value, 1e-14 * value + 1e-300);
    EXPECT_NEAR(derivatives[1], r, 1e-15);
    EXPECT_NEAR(derivatives[0], -r, 1e-15);
    EXPECT_NEAR(products[1], w * (v[1] - v[0]), 1e-15);
    EXPECT_NEAR(products[0], -w * (v[1] - v[0]), 1e-15);
  }
}

TEST(Softmax, ProbabilitiesAddUpToOne) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  for (int trial = 0; trial < 1000; ++trial) {
    Vector z(1 + static_cast<std::size_t>(trial) % 12), p(z.size(), NAN);
    for (double& x : z) x = std::pow(10, trial % 5 - 2) * normal(random);
    losses::softmax(z, p);
    double sum = 0;
    for (std::size_t k = 0; k < z.size(); ++k) {
      sum += p[k];
      EXPECT_GE(p[k], 0);
      if (p[0] > 1e-290) {
        EXPECT_NEAR(p[k], p[0] * std::exp(z[k] - z[0]), 1e-12 * p[k] + 1e-300);
      }
    }
    EXPECT_NEAR(sum, 1, 1e-14);
  }
}

TEST(Softmax, HasOneLossForEachNumberOfClasses) {
  for (const std::size_t classes : {2U, 3U, 10U, 999U, 1000U}) {
    const std::string name = "softmax-" + std::to_string(classes);
    const Loss& loss = loss_named(name);
    EXPECT_EQ(loss.name(), name);
    EXPECT_EQ(loss.outputs(), classes);
    EXPECT_EQ(loss.label(), LabelKind::classes);
    EXPECT_EQ(&loss, &loss_named(name));
  }
  for (const char* name : {"softmax", "softmax-", "softmax-0", "softmax-1", "softmax-03",
                           "softmax-1001", "softmax-3x", "softmax--3", "softmax-+3", "softmax- 3",
                           "softmax-3 ", "softmax-18446744073709551619", "softmax3", "Softmax-3"}) {
    try {
      loss_named(name);
      FAIL() << name;
    } catch (const BadInput& error) {
      const std::string what = error.what();
      EXPECT_THAT(what, testing::HasSubstr("'" + std::string(name) + "'"));
      EXPECT_THAT(what, testing::HasSubstr("softmax-K of K = 2 to 1000 classes"));
      EXPECT_THAT(what, testing::HasSubstr("logistic, "));
      EXPECT_EQ(what.find('\n'), std::string::npos);
    }
  }
  EXPECT_EQ(full_loss_name("softmax", 7), "softmax-7");
  EXPECT_EQ(full_loss_name("softmax-3", 7), "softmax-3");
  EXPECT_EQ(full_loss_name("huber", 7), "huber");
  EXPECT_EQ(default_loss(LabelKind::classes), "softmax");
  EXPECT_THAT(loss_names(LabelKind::classes), testing::ElementsAre("softmax"));
  EXPECT_THAT([] { losses::Softmax(3).curvatures({}, {}, {}); },
              testing::Throws<std::logic_error>());
}

// A problem has K d coordinates, the schema's number of classes and no other loss.
TEST(Softmax, FitsTheSchemasClassesOnly) {
  FeatureSpace space;
  space.features = 4;
  space.label = LabelKind::classes;
  space.classes = 3;
  const Problem p = glm("softmax-3").constants(space, 10);
  EXPECT_EQ(p.features, 12U);
  EXPECT_EQ(p.outputs, 3U);
  EXPECT_EQ(p.row_features(), 4U);
  EXPECT_EQ(p.curvature, 0.5);
  EXPECT_EQ(p.max_abs_derivative, loss_named("softmax-3").max_abs_derivative());
  EXPECT_FALSE(p.one_signed);
  EXPECT_GE(p.drop_from_zero, std::log(3.0));
  EXPECT_EQ(glm("softmax-3", {.center = Vector(12, 0.5)}).constants(space, 10).features, 12U);
  const auto refused = [&](const GlmOptions& options, const char* name, const char* why) {
    EXPECT_THAT([&] { static_cast<void>(glm(name, options).constants(space, 10)); },
                testing::ThrowsMessage<BadInput>(testing::HasSubstr(why)));
  };
  refused({}, "softmax-4", "softmax-4 is of 4 classes, and the schema lists 3; take softmax-3");
  refused({}, "logistic", "logistic predicts ");
  refused({.center = Vector(4, 0.5)}, "softmax-3", "center: has 4 coordinates, the model has 12");
  for (const std::uint64_t features : {std::uint64_t{1431655766}, ~std::uint64_t{0} / 3 + 2}) {
    space.features = features;  // three times the second is 5 in 64 bits
    refused({}, "softmax-3", "more than 2^32 coefficients");
  }
  space.features = 1431655765;
  EXPECT_EQ(glm("softmax-3").constants(space, 10).features, (std::uint64_t{1} << 32) - 1);
  space.label = LabelKind::two_classes;
  refused({}, "softmax-3", "softmax-3 predicts ");
}

}  // namespace softmax_test
}  // namespace gibbsite
