// Softmax between the products of design F, and its values: against 64 bits, at extreme logits, and
// in every place that a row can have. Losses of one output in float.
#include "kernels/softmax.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>

#include "engine/cuda/engine.hpp"
#include "gibbsite/core/error.hpp"
#include "support/backend.hpp"
#include "support/loss_oracle.hpp"
#include "support/odd_rows.hpp"

namespace gibbsite {
namespace softmax_test {

using support::DeviceArray;
using support::OddRows;

constexpr double largest = std::numeric_limits<double>::max();

class SoftmaxKernels : public support::DeviceTest {
 protected:
  SoftmaxKernels() : DeviceTest(GIBBSITE_TEST_DEVICE) {}

  // z [n x C x K] of any place, as rows and chains; the same shape comes back.
  template <class Real>
  std::vector<Real> derivatives(const std::vector<Real>& z, const std::vector<float>& y,
                                std::size_t chains, std::size_t K, std::size_t block_rows) {
    const std::size_t n = y.size(), blocks = kernels::ceil_div(n, block_rows);
    std::vector<Real> laid(blocks * chains * K * block_rows, Real{-7});
    const auto at = [&](std::size_t i, std::size_t c, std::size_t k) {
      return ((i / block_rows * chains + c) * K + k) * block_rows + i % block_rows;
    };
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t c = 0; c < chains; ++c) {
        for (std::size_t k = 0; k < K; ++k) laid[at(i, c, k)] = z[(i * chains + c) * K + k];
      }
    }
    const DeviceArray<Real> of(*device_, std::span<const Real>(laid));
    const DeviceArray<float> labels(*device_, std::span<const float>(y));
    kernels::SoftmaxDerivatives p{.z = {},
                                  .z_single = {},
                                  .y = labels.view(),
                                  .rows = n,
                                  .chains = chains,
                                  .outputs = K,
                                  .block_rows = block_rows};
    if constexpr (sizeof(Real) == sizeof(double)) {
      p.z = of.view();
    } else {
      p.z_single = of.view();
    }
    device_->launch(p);
    const std::vector<Real> back = of.read();
    std::vector<Real> out(z.size());
    std::vector<bool> taken(laid.size());
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t c = 0; c < chains; ++c) {
        for (std::size_t k = 0; k < K; ++k) {
          out[(i * chains + c) * K + k] = back[at(i, c, k)];
          taken[at(i, c, k)] = true;
        }
      }
    }
    for (std::size_t a = 0; a < back.size(); ++a) {
      if (taken[a]) continue;
      EXPECT_EQ(back[a], Real{-7}) << "row past the end, at " << a;
    }
    return out;
  }
};

std::vector<double> spread(std::size_t count, double scale, unsigned seed) {
  std::mt19937_64 bits(seed);
  std::normal_distribution<double> normal;
  std::vector<double> z(count);
  for (double& v : z) v = scale * normal(bits);
  return z;
}

struct Worst {
  double ulps = 0;    // of an entry, in its own last places
  double length = 0;  // of a row's error, over the bound
};

// ||r - (p - e_y)|| <= gamma_{16 + 4K} sqrt(2), the bound that certificates count on
// (docs/theory/map-error.md, "Several outputs", 2).
template <class Real>
Worst held_to_bound(const std::vector<Real>& z, const std::vector<float>& y, std::size_t K,
                    const std::vector<Real>& got) {
  constexpr double unit = std::numeric_limits<Real>::epsilon() / 2;
  const Loss& loss = loss_named(fmt::format("softmax-{}", K));
  const double k = 16 + 4 * static_cast<double>(K), gamma = k * unit / (1 - k * unit);
  Worst worst;
  const std::size_t rows = z.size() / K;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::vector<long double> of_row(z.begin() + static_cast<std::ptrdiff_t>(i * K),
                                          z.begin() + static_cast<std::ptrdiff_t>((i + 1) * K));
    const auto exact = support::exact_outputs(loss, of_row, y[i * y.size() / rows]).derivative;
    long double squares = 0;
    for (std::size_t j = 0; j < K; ++j) {
      const long double error = static_cast<long double>(got[i * K + j]) - exact[j];
      squares += error * error;
      if (std::fabs(exact[j]) > 1e3L * std::numeric_limits<Real>::min()) {
        const Real size = std::fabs(static_cast<Real>(exact[j]));
        const Real ulp = std::nextafter(size, std::numeric_limits<Real>::infinity()) - size;
        worst.ulps = std::max(worst.ulps, static_cast<double>(std::fabs(error) / ulp));
      }
    }
    const double length = static_cast<double>(std::sqrt(squares));
    worst.length = std::max(worst.length, length / (gamma * loss.max_abs_derivative()));
  }
  return worst;
}

TEST_F(SoftmaxKernels, DerivativesAreWithinTheirBound) {
  std::printf("softmax residuals, last places of an entry and of a row's bound\n%8s", "K");
  const double scales[] = {1e-3, 1, 30, 700, 1e300};
  for (const double scale : scales) std::printf("%18g", scale);
  std::printf("\n");
  for (const std::size_t K : {2U, 3U, 5U, 10U, 100U, 1000U}) {
    const std::size_t n = K < 100 ? 600 : K < 1000 ? 40 : 4, chains = K < 100 ? 3 : 1;
    const std::vector<float> y =
        support::random_labels(loss_named(fmt::format("softmax-{}", K)), n, 0, 3);
    std::printf("%8zu", K);
    for (const double scale : scales) {
      const std::vector<double> z = spread(n * chains * K, scale, static_cast<unsigned>(K));
      const Worst worst = held_to_bound(z, y, K, derivatives(z, y, chains, K, 512));
      std::printf("%9.2f%9.3f", worst.ulps, worst.length);
      EXPECT_LE(worst.length, 1) << K << " classes, scale " << scale;
      if (scale <= 1) {
        EXPECT_LE(worst.ulps, 2 * static_cast<double>(K) + 16);
        EXPECT_GT(worst.ulps, 0.1) << "no power";
      }
    }
    std::printf("\n");
  }
}

TEST_F(SoftmaxKernels, FloatsAreWithinTheSameBoundOfFloats) {
  for (const std::size_t K : {2U, 3U, 10U, 100U}) {
    const std::vector<float> y =
        support::random_labels(loss_named(fmt::format("softmax-{}", K)), 300, 0, 3);
    for (const double scale : {1e-3, 1.0, 30.0, 1e37}) {
      const std::vector<double> wide = spread(300 * K, scale, static_cast<unsigned>(K));
      const std::vector<float> z(wide.begin(), wide.end());
      EXPECT_LE(held_to_bound(z, y, K, derivatives(z, y, 1, K, 128)).length, 1) << K;
    }
  }
}

// e^z of these is inf or 0 unless the largest is taken away.
TEST_F(SoftmaxKernels, ExtremeLogitsAreExact) {
  const std::vector<double> z{1e300,  1e300, 1e300,  -1e300, -1e300, -1e300, 1e300,   -1e300,   0,
                              -1e300, 1e300, 1e300,  800,    800,    0,      largest, -largest, 0,
                              -900,   -900,  -1e300, 1e300,  1e300,  -1e300, 0,       1e300,    0};
  const std::vector<float> y{0, 1, 2, 0, 2, 1, 0, 2, 1};
  const double third = 1.0 / 3;
  const std::vector<double> exact{-2 * third, third, third, third, -2 * third, third, 1, 0,  -1,
                                  -1,         0.5,   0.5,   0.5,   0.5,        -1,    1, -1, 0,
                                  -0.5,       0.5,   0,     0.5,   0.5,        -1,    0, 0,  0};
  const std::vector<double> got = derivatives(z, y, 1, 3, 512);
  for (std::size_t a = 0; a < z.size(); ++a) EXPECT_NEAR(got[a], exact[a], 2e-16) << a;
}

TEST_F(SoftmaxKernels, WhatIsNoNumberOrNoClassStaysInItsRow) {
  constexpr std::size_t K = 4, n = 64;
  std::vector<double> z = spread(n * K, 3, 5);
  std::vector<float> y = support::random_labels(loss_named("softmax-4"), n, 0, 3);
  const std::vector<double> before = derivatives(z, y, 1, K, 512);
  const std::size_t bad[] = {3, 11, 17, 30, 31, 32, 33, 63};
  z[3 * K] = NAN;
  z[11 * K + 2] = NAN;
  z[17 * K + 1] = std::numeric_limits<double>::infinity();
  const float labels[] = {-1, 4, 0.5F, NAN, 1e30F};
  for (std::size_t a = 0; a < 5; ++a) y[bad[3 + a]] = labels[a];
  const std::vector<double> after = derivatives(z, y, 1, K, 512);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < K; ++k) {
      if (std::ranges::find(bad, i) == std::end(bad)) {
        EXPECT_EQ(after[i * K + k], before[i * K + k]) << i;
      } else {
        EXPECT_TRUE(std::isnan(after[i * K + k])) << i << ' ' << k;
      }
    }
  }
}

// A row's bits are a function of its logits and label: not of its place, of the other rows, of how
// many chains there are.
TEST_F(SoftmaxKernels, ARowsBitsAreItsOwn) {
  constexpr std::size_t K = 5, n = 700;
  const std::vector<double> z = spread(n * K, 4, 9);
  const std::vector<float> y = support::random_labels(loss_named("softmax-5"), n, 0, 4);
  const std::vector<double> plain = derivatives(z, y, 1, K, 512);
  std::vector<std::size_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = i * 263 % n;
  std::vector<double> moved;
  std::vector<float> labels;
  for (const std::size_t i : order) {
    for (std::size_t c = 0; c < 3; ++c) {  // chains: this row's logits in another order of chains
      moved.insert(moved.end(), z.begin() + static_cast<std::ptrdiff_t>(i * K),
                   z.begin() + static_cast<std::ptrdiff_t>((i + 1) * K));
    }
    labels.push_back(y[i]);
  }
  const std::vector<double> got = derivatives(moved, labels, 3, K, 100);
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t k = 0; k < K; ++k)
        ASSERT_EQ(got[(a * 3 + c) * K + k], plain[order[a] * K + k]) << a;
    }
  }
}

// (max z - z_y) + log1p(..) at logits of 1e300, and NaN where a label is no class.
TEST_F(SoftmaxKernels, ValuesAtExtremes) {
  const std::vector<float> x{1, 1, 1}, y{0, 1, 2};
  const std::vector<double> theta{1e300, 1e300, -1e300, 0, 0, 0};  // [2 x 3 x 1]
  const DeviceArray<float> rows(*device_, std::span<const float>(x)),
      labels(*device_, std::span<const float>(y));
  const DeviceArray<double> thetas(*device_, std::span<const double>(theta)), out(*device_, 2);
  const auto launch = [&](const DeviceArray<float>& of) {
    device_->launch(kernels::SoftmaxValues{.x = rows.view(),
                                           .y = of.view(),
                                           .theta = thetas.view(),
                                           .partials = out.view(),
                                           .rows = 3,
                                           .features = 1,
                                           .chains = 2,
                                           .outputs = 3,
                                           .leaf_rows = 1024});
    return out.read();
  };
  const std::vector<double> values = launch(labels);
  EXPECT_DOUBLE_EQ(values[0], 2e300);
  EXPECT_NEAR(values[1], 3 * std::log(3.0), 1e-14);
  const std::vector<float> none{0, 3, 2};
  for (const double v : launch(DeviceArray<float>(*device_, std::span<const float>(none))))
    EXPECT_TRUE(std::isnan(v));
}

class LossesInFloat : public support::DeviceTest,
                      public testing::WithParamInterface<std::string_view> {
 protected:
  LossesInFloat() : DeviceTest(GIBBSITE_TEST_DEVICE) {}
};
INSTANTIATE_TEST_SUITE_P(Losses, LossesInFloat,
                         testing::Values("smoothed-hinge", "huber", "pseudo-huber", "poisson",
                                         "softmax-3"),
                         [](const auto& p) {
                           std::string name(p.param);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// Design C of one output, F beyond its chains and of several.
TEST_P(LossesInFloat, GradientsAreNearTheExactOnes) {
  const Loss& loss = loss_named(GetParam());
  const std::size_t n = 3000, d = 6, K = loss.outputs();
  OddRows p = support::make_odd_rows(n, d, 4);
  for (float& v : p.x) v = std::clamp(v, -1.0F, 1.0F);
  p.y = support::random_labels(loss, n, 5, 4);
  for (const std::size_t chains : {1U, 70U}) {
    const auto engine = cuda::make_engine(device_, p.view(), p.y, loss,
                                          {.arithmetic = Arithmetic::float32, .design = {}});
    const std::vector<double> theta = spread(chains * K * d, 0.5, 8);
    std::vector<double> out(theta.size(), NAN);
    engine->loss_gradients({theta.data(), chains, K * d}, {out.data(), chains, K * d});
    EXPECT_THAT(engine->design(),
                testing::StartsWith(K == 1 && chains == 1 ? "one-pass" : "blocked"));
    for (std::size_t c = 0; c < chains; ++c) {
      std::vector<long double> exact(K * d, 0);
      for (std::size_t i = 0; i < n; ++i) {
        std::vector<long double> z(K, 0);
        for (std::size_t j = 0; j < K * d; ++j)
          z[j / d] += static_cast<long double>(p.x[i * d + j % d]) * theta[c * K * d + j];
        const auto f = support::exact_outputs(loss, z, p.y[i]);
        for (std::size_t j = 0; j < K * d; ++j)
          exact[j] += f.derivative[j / d] * static_cast<long double>(p.x[i * d + j % d]);
      }
      for (std::size_t j = 0; j < K * d; ++j)
        ASSERT_NEAR(out[c * K * d + j], static_cast<double>(exact[j]), 0.05) << c << ' ' << j;
    }
  }
}

}  // namespace softmax_test
}  // namespace gibbsite
