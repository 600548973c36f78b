// Design C: the sums of every leaf against long double, for every loss and every kernel of the
// family; and the kernels of any loss that need no leaf: slopes and values.
#include "kernels/one_pass.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "engine/cuda/engine.hpp"
#include "gibbsite/core/summation.hpp"
#include "gibbsite/model/loss.hpp"
#include "support/backend.hpp"
#include "support/loss_oracle.hpp"
#include "support/odd_rows.hpp"
#include "support/repeats.hpp"
#include "support/roundings.hpp"

namespace gibbsite {
namespace one_pass_test {

using support::DeviceArray;
using support::gamma_k;
using support::OddRows;
constexpr double u_double = support::unit_roundoff, u_float = 0x1p-24;

constexpr const char* losses[] = {"logistic", "smoothed-hinge", "huber", "pseudo-huber", "poisson"};
constexpr std::size_t features[] = {5, 20, 50, 100, 200};  // one of each shape of a leaf
constexpr std::size_t chain_counts[] = {1, 2, 3, 8};       // three chains have the kernel of four

OddRows make_rows(std::size_t n, std::size_t d, const Loss& loss) {
  OddRows p = support::make_odd_rows(n, d, static_cast<unsigned>(d));
  if (loss.label() != LabelKind::two_classes) p.y = support::random_labels(loss, n, 10, 5);
  return p;
}

// Logits of a few units, so that slopes are of every size, and of hundreds in every third chain.
std::vector<double> make_thetas(std::size_t chains, std::size_t d) {
  std::mt19937 gen(static_cast<unsigned>(8 * d + chains));
  std::normal_distribution<double> normal;
  std::vector<double> theta(chains * d);
  for (std::size_t c = 0; c < chains; ++c) {
    for (std::size_t j = 0; j < d; ++j) {
      const bool large = d > 4 && j == d - 2;  // the column of large numbers
      theta[c * d + j] = normal(gen) * (c % 3 == 2 ? 30 : 1) * (large ? 1e-3 : 1);
    }
  }
  return theta;
}

struct Sums {
  std::vector<long double> exact;
  std::vector<double> bound;
};

// What rows [first, last) add to the gradient of one chain [d], and what it may be off by:
//   sum_i |x_ij| ( gamma_{D+1} |r_i|                     D additions, and the product
//                  + gamma_16 max(|r_i|, s)              the residual's own operations
//                  + phi gamma_{d+1} sum_k |x_ik theta_k| )   the logit; theta in float
// with D = `depth`, phi = sup f'' and the unit roundoff of the arithmetic. Slopes of the logistic
// losses have a relative error, s = 0. Slopes of the others are differences of numbers of about 1
// wherever they are not at their ends, so their error is absolute, s = 1. What underflows costs at
// most the smallest normal number.
Sums sums_of(const OddRows& p, const Loss& loss, const double* theta, std::size_t first,
             std::size_t last, double depth, double u) {
  const double least = loss.name().starts_with("logistic") ? 0 : 1;
  const double smallest = u == u_double ? std::numeric_limits<double>::min()
                                        : static_cast<double>(std::numeric_limits<float>::min());
  Sums sums{std::vector<long double>(p.d), std::vector<double>(p.d)};
  for (std::size_t i = first; i < last; ++i) {
    const auto [z, magnitude] = support::exact_logit(p, i, theta);
    const long double r =
        support::exact_loss(loss.name(), z, static_cast<long double>(p.y[i])).derivative;
    const auto size = static_cast<double>(std::fabs(r));
    const double of_derivative =
        gamma_k(depth + 1, u) * size + gamma_k(16, u) * std::max(size, least) +
        loss.curvature() * gamma_k(static_cast<double>(p.d) + 1, u) * magnitude + smallest;
    for (std::size_t j = 0; j < p.d; ++j) {
      const float x = p.x[i * p.d + j];
      sums.exact[j] += r * x;
      sums.bound[j] += std::fabs(static_cast<double>(x)) * of_derivative + smallest;
    }
  }
  return sums;
}

class OnePassTest : public support::DeviceTest {
 protected:
  OnePassTest() : DeviceTest(GIBBSITE_TEST_DEVICE) {}

  // [leaves x C x d]
  std::vector<double> partials(const OddRows& p, const Loss& loss, const std::vector<double>& theta,
                               std::size_t leaf_rows, bool single) {
    const std::size_t chains = theta.size() / p.d, leaves = kernels::ceil_div(p.n, leaf_rows);
    const DeviceArray<float> x(*device_, std::span(p.x)), y(*device_, std::span(p.y));
    const DeviceArray<double> thetas(*device_, std::span(theta)),
        out(*device_, leaves * theta.size());
    device_->launch(kernels::OnePass{.x = x.view(),
                                     .y = y.view(),
                                     .theta = thetas.view(),
                                     .partials = out.view(),
                                     .rows = p.n,
                                     .features = p.d,
                                     .chains = chains,
                                     .leaf_rows = leaf_rows,
                                     .loss = kernels::index_of_loss(loss.name()),
                                     .single = single});
    return out.read();
  }
};

class OnePassOfLoss : public OnePassTest,
                      public testing::WithParamInterface<std::tuple<const char*, bool>> {};
INSTANTIATE_TEST_SUITE_P(Losses, OnePassOfLoss,
                         testing::Combine(testing::ValuesIn(losses), testing::Bool()),
                         [](const auto& p) {
                           std::string name = std::get<0>(p.param);
                           std::ranges::replace(name, '-', '_');
                           return name + (std::get<1>(p.param) ? "_float32" : "_float64");
                         });

// Leaves of more turns of a block than one, the last of them short; a GPU takes more.
TEST_P(OnePassOfLoss, SumsOfLeavesAreWithinTheirBound) {
  const auto [name, single] = GetParam();
  const Loss& loss = loss_named(name);
  const double u = single ? u_float : u_double;
  const std::size_t n = name_ == "cuda" ? 1301 : 101, leaf_rows = name_ == "cuda" ? 512 : 80;
  support::Thinned thinned(3);
  for (const std::size_t d : features) {
    const OddRows p = make_rows(n, d, loss);
    const auto depth = static_cast<double>(kernels::leaf_depth(leaf_rows, d));
    for (const std::size_t chains : chain_counts) {
      if (thinned.skips()) continue;
      const std::vector<double> theta = make_thetas(chains, d);
      const std::vector<double> got = partials(p, loss, theta, leaf_rows, single);
      for (std::size_t leaf = 0; leaf * leaf_rows < n; ++leaf) {
        for (std::size_t c = 0; c < chains; ++c) {
          const Sums sums = sums_of(p, loss, &theta[c * d], leaf * leaf_rows,
                                    std::min(n, (leaf + 1) * leaf_rows), depth, u);
          for (std::size_t j = 0; j < d; ++j) {
            const double value = got[(leaf * chains + c) * d + j];
            ASSERT_TRUE(std::fabs(value - sums.exact[j]) <= sums.bound[j]) << fmt::format(
                "d {}, {} chains, leaf {}, chain {}, feature {}: {} for {}, bound {}", d, chains,
                leaf, c, j, value, static_cast<double>(sums.exact[j]), sums.bound[j]);
          }
        }
      }
    }
  }
}

// In an engine: labels are handed on as the kernels take them, and leaves are added.
TEST_F(OnePassTest, EngineAddsLeavesOfEveryLoss) {
  const std::size_t d = 20, chains = 3;
  const std::vector<double> theta = make_thetas(chains, d);
  for (const char* const name :
       {"logistic", "logistic-capped", "smoothed-hinge", "huber", "pseudo-huber", "poisson"}) {
    const Loss& loss = loss_named(name);
    const OddRows p = make_rows(700, d, loss);
    for (const bool single : {false, true}) {
      cuda::EngineOptions options;
      options.arithmetic = single ? Arithmetic::float32 : Arithmetic::float64;
      options.design = cuda::Design::one_pass;
      const auto engine = cuda::make_engine(device_, p.view(), p.y, loss, options);
      std::vector<double> got(theta.size());
      engine->loss_gradients({theta.data(), chains, d}, {got.data(), chains, d});
      EXPECT_TRUE(engine->design().starts_with("one-pass")) << engine->design();
      const auto depth = static_cast<double>(accumulation_depth(p.n));
      for (std::size_t c = 0; c < chains; ++c) {
        const Sums sums =
            sums_of(p, loss, &theta[c * d], 0, p.n, depth, single ? u_float : u_double);
        for (std::size_t j = 0; j < d; ++j) {
          ASSERT_TRUE(std::fabs(got[c * d + j] - sums.exact[j]) <= sums.bound[j])
              << fmt::format("{}, chain {}, feature {}: {} for {}, bound {}", name, c, j,
                             got[c * d + j], static_cast<double>(sums.exact[j]), sums.bound[j]);
        }
      }
    }
  }
}

// Slopes of design F (kernels/blocked.hpp) at logits that are given: the residual's own operations
// alone. Blocks of rows, the last of them short.
TEST_P(OnePassOfLoss, SlopesOfLogitsAreWithinTheirBound) {
  const auto [name, single] = GetParam();
  const Loss& loss = loss_named(name);
  const double u = single ? u_float : u_double;
  constexpr std::size_t n = 1200, chains = 2, block_rows = 1100, blocks = 2;
  const std::vector<float> labels = support::random_labels(loss, n, 10, 3);
  std::mt19937 gen(4);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> z(blocks * chains * block_rows);
  for (float& v : z) v = normal(gen);
  const DeviceArray<float> y(*device_, std::span(labels)), of_float(*device_, std::span(z));
  const std::vector<double> wide(z.begin(), z.end());
  const DeviceArray<double> of_double(*device_, std::span(wide));
  device_->launch(
      kernels::Derivatives{.z = single ? kernels::View<double>{} : of_double.view(),
                           .z_single = single ? of_float.view() : kernels::View<float>{},
                           .y = y.view(),
                           .rows = n,
                           .chains = chains,
                           .block_rows = block_rows,
                           .loss = kernels::index_of_loss(name)});
  std::vector<double> got = of_double.read();
  if (single) std::ranges::copy(of_float.read(), got.begin());
  for (std::size_t k = 0; k < got.size(); ++k) {
    const std::size_t row = k / (chains * block_rows) * block_rows + k % block_rows;
    if (row >= n) {
      ASSERT_EQ(got[k], wide[k]) << k;  // left alone
      continue;
    }
    const long double r =
        support::exact_loss(name, wide[k], static_cast<long double>(labels[row])).derivative;
    const double least = std::string_view(name) == "logistic" ? 0 : 1;
    const double size = std::max(static_cast<double>(std::fabs(r)), least);
    ASSERT_TRUE(std::fabs(got[k] - r) <= gamma_k(16, u) * size + 1e-37)
        << k << ": " << got[k] << " for " << static_cast<double>(r);
  }
}

// Values of the loss: sums of n terms of one sign or nearly so, and what a logit is off by times
// sup |f'| = 1. The value's own operations: 16 of numbers of at most 2 (1 + |z| + |y|).
TEST_P(OnePassOfLoss, ValuesAreWithinTheirBound) {
  const auto [name, single] = GetParam();
  if (single) return;  // they are in double whatever the arithmetic
  const Loss& loss = loss_named(name);
  constexpr std::size_t n = 300, d = 6, chains = 2, leaf_rows = 200, leaves = 2;
  const OddRows p = make_rows(n, d, loss);
  const std::vector<double> theta = make_thetas(chains, d);
  const DeviceArray<float> x(*device_, std::span(p.x)), y(*device_, std::span(p.y));
  const DeviceArray<double> thetas(*device_, std::span(theta)), out(*device_, leaves * chains);
  device_->launch(kernels::Values{.x = x.view(),
                                  .y = y.view(),
                                  .theta = thetas.view(),
                                  .partials = out.view(),
                                  .rows = n,
                                  .features = d,
                                  .chains = chains,
                                  .leaf_rows = leaf_rows,
                                  .loss = kernels::index_of_loss(name)});
  const std::vector<double> got = out.read();
  for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
    for (std::size_t c = 0; c < chains; ++c) {
      long double exact = 0;
      double bound = 0;
      for (std::size_t i = leaf * leaf_rows; i < std::min(n, (leaf + 1) * leaf_rows); ++i) {
        const auto [z, magnitude] = support::exact_logit(p, i, &theta[c * d]);
        const auto label = static_cast<long double>(p.y[i]);
        const long double value = support::exact_loss(name, z, label).value;
        exact += value;
        bound +=
            gamma_k(leaf_rows, u_double) * static_cast<double>(std::fabs(value)) +
            gamma_k(d + 1, u_double) * magnitude +
            gamma_k(16, u_double) * 2 * static_cast<double>(1 + std::fabs(z) + std::fabs(label));
      }
      const double value = got[leaf * chains + c];
      EXPECT_TRUE(std::fabs(value - exact) <= bound)
          << fmt::format("leaf {}, chain {}: {} for {}, bound {}", leaf, c, value,
                         static_cast<double>(exact), bound);
    }
  }
}

}  // namespace one_pass_test
}  // namespace gibbsite
