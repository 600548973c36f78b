// Design E: the kernels against double.
#include "kernels/warp_group.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "engine/cuda/engine.hpp"
#include "engine/cuda/source.hpp"
#include "gibbsite/core/matrix_view.hpp"
#include "kernels/losses.hpp"
#include "support/backend.hpp"
#include "support/repeats.hpp"

namespace gibbsite {
namespace warp_group_test {

using namespace kernels;  // NOLINT: what is tested
using Sizes = std::initializer_list<std::size_t>;

// By rows and chains alone; no range above the limit; never more ranges than rows need.
TEST(WarpGroupRanges, CoverTheRows) {
  for (const std::size_t rows :
       Sizes{1, 128, 129, 5000, 500'000, 1'081'344, 1'081'345, 100'000'000}) {
    for (const std::size_t chains : Sizes{64, 128, 129, 1000, 5000, 100'000}) {
      const std::size_t range = warp_group_range(rows, chains);
      EXPECT_EQ(range % warp_group_rows, 0u);
      EXPECT_LE(range, warp_group_most_range) << rows << " " << chains;
      EXPECT_GE(range, 1u);
    }
  }
  EXPECT_EQ(ceil_div(500'000, warp_group_range(500'000, 128)), 131u);  // 132 multiprocessors
}

struct Table {
  std::size_t n, d;
  std::vector<float> x, y;
  [[nodiscard]] MatrixView<const float> view() const { return {x.data(), n, d}; }
};

// Rows in [-1,1]^d with a row of zeros, duplicates, a constant column, zeros, tiny and large ones.
Table make_table(std::size_t n, std::size_t d, unsigned seed) {
  std::mt19937 gen(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Table p{n, d, std::vector<float>(n * d), std::vector<float>(n)};
  for (float& v : p.x) v = uniform(gen);
  for (float& v : p.y) v = uniform(gen) < 0 ? -1.0f : 1.0f;
  for (std::size_t i = 0; i < n; ++i) {
    float* row = &p.x[i * d];
    if (d > 1) row[d - 1] = 1.0f;
    if (d > 4) {
      row[1] = 0.0f;
      row[2] *= 1e-20f;
      row[d - 2] *= 30;
    }
    if (i % 11 == 5) std::fill_n(row, d, 0.0f);
    if (i % 7 == 3) std::copy_n(&p.x[(i - 1) * d], d, row);
  }
  return p;
}

// Chains around `center`, some of them far out.
std::vector<double> make_thetas(std::size_t chains, std::size_t d, double center, double spread,
                                unsigned seed) {
  std::mt19937 gen(seed);
  std::normal_distribution<double> normal(0, spread);
  std::vector<double> theta(chains * d);
  for (std::size_t c = 0; c < chains; ++c) {
    for (std::size_t j = 0; j < d; ++j) {
      theta[c * d + j] = center * (j % 2 == 0 ? 1 : -1) + normal(gen) * (c % 17 == 5 ? 20 : 1);
    }
  }
  return theta;
}

// What is rounded, with u = 2^-8 of BF16, v = 2^-24 of float, w = 2^-22 for a sum of the matrix
// unit (float, not rounded to nearest), phi = 1/4, D = |theta - mean| + 2 (mean distance from it)
// >= |theta - reference|, for every chain:
//   logit      e_i = (p + s_d) sum_j |x_ij| D_j                   what products lose; sums
//                    + 2v (|z_i| + sum_j |x_ij| D_j)              the reference's logit; its sum
//   residual   f_i = phi e_i + (32 + 4 |z_i|) v |r_i|             quick_logistic
//   gradient   sum_i |x_ij| ((1 + p) f_i + p |r_i|) + s_range sum_i |x_ij| (|r_i| + f_i)
// In BF16 p = 2u + u^2 and s_k = gamma_k(w) (1+u)^2. Of pairs p = 2^-15 (1 + 2^-8), theta's
// rounding to float with it, and a sum's small products come first, are 2.1u of it, and twice as
// many:
//   s_d = gamma_d(w) (1 + 5u) + gamma_2d(w) 2.1u,   s_range = s_tile + gamma_tiles(v) (1 + 5u)
// What underflows costs at most 2^-123 times the other operand. The second figure is the root of
// the sum of squares of a row's parts: roundings of different rows have independent signs, so over
// all coordinates the root mean square of the errors must stay below its root mean square; 2 for
// the duplicate rows.
struct Expected {
  std::vector<double> exact, bound, square;  // [C x d]
};
Expected expected_gradients(const Table& p, const std::vector<double>& theta, unsigned parts = 1) {
  constexpr double u = 0x1p-8, v = 0x1p-24, w = 0x1p-22, phi = 0.25, tiny = 0x1p-123;
  const auto gamma = [](double k, double unit) { return k * unit / (1 - k * unit); };
  const std::size_t chains = theta.size() / p.d;
  const auto count = static_cast<double>(chains);
  std::vector<double> mean(p.d, 0), apart(p.d, 0);
  for (std::size_t k = 0; k < theta.size(); ++k) mean[k % p.d] += theta[k] / count;
  for (std::size_t k = 0; k < theta.size(); ++k) {
    apart[k % p.d] += std::fabs(theta[k] - mean[k % p.d]) / count;
  }
  const double product = parts == 1 ? 2 * u + u * u : 0x1p-15 * (1 + 0x1p-8);
  const auto sum_of = [&](double k) {
    return parts == 1 ? gamma(k, w) * (1 + u) * (1 + u)
                      : gamma(k, w) * (1 + 5 * u) + gamma(2 * k, w) * 2.1 * u;
  };
  const double first = sum_of(static_cast<double>(p.d) + 17);
  const auto range = static_cast<double>(std::min(p.n, warp_group_range(p.n, chains)));
  const double tile = p.d <= 64 ? 128 : 64;
  const double second =
      parts == 1 ? sum_of(range + 17) : sum_of(tile + 1) + gamma(range / tile + 2, v) * (1 + 5 * u);
  Expected g{std::vector<double>(theta.size()), std::vector<double>(theta.size()),
             std::vector<double>(theta.size())};
  for (std::size_t c = 0; c < chains; ++c) {
    for (std::size_t i = 0; i < p.n; ++i) {
      long double logit = 0;
      double reach = 0, underflow = 0;
      for (std::size_t j = 0; j < p.d; ++j) {
        const double x = p.x[i * p.d + j];
        const double distance =
            std::fabs(theta[c * p.d + j] - mean[j]) + 2 * apart[j] + 1e-11 * std::fabs(mean[j]);
        logit += static_cast<long double>(x) * theta[c * p.d + j];
        reach += std::fabs(x) * distance;
        underflow += tiny * (1 + std::fabs(x) + distance);
      }
      const auto z = static_cast<double>(logit);
      const double r = losses::logistic::derivative(z, static_cast<double>(p.y[i]));
      const double e = (product + first) * reach + 2 * v * (std::fabs(z) + reach) + underflow;
      const double f = phi * e + (32 + 4 * std::fabs(z)) * v * std::fabs(r);
      for (std::size_t j = 0; j < p.d; ++j) {
        const double x = p.x[i * p.d + j], size = std::fabs(x);
        const double part = size * ((1 + product) * f + product * std::fabs(r)) + tiny * (1 + size);
        g.exact[c * p.d + j] += r * x;
        g.bound[c * p.d + j] += part + second * size * (std::fabs(r) + f);
        g.square[c * p.d + j] += part * part;
      }
    }
  }
  return g;
}

// The bound that kernels/losses.hpp states, and what the residual does with signs and caps. On a
// GPU the gradients above hold the instructions to it.
TEST(QuickDerivative, IsWithinItsBound) {
  using kernels::logistic_by_label;
  for (float t = -100; t <= 100; t += 0.0078125F) {
    const double exact = 1 / (1 + std::exp(static_cast<double>(t)));
    const double bound = exact * (0x1p-21 + std::fabs(static_cast<double>(t)) * 0x1p-22) + 0x1p-126;
    ASSERT_LE(std::fabs(static_cast<double>(kernels::quick_logistic(t)) - exact), bound) << t;
    for (const float y : {1.0F, -1.0F, 0.5F, -0.5F}) {
      const double held = std::min(exact, std::fabs(static_cast<double>(y)));
      const float z = y < 0 ? -t : t;
      ASSERT_LE(std::fabs(static_cast<double>(logistic_by_label::quick_derivative(z, y)) -
                          (y < 0 ? held : -held)),
                bound)
          << t << " " << y;
    }
  }
  EXPECT_EQ(logistic_by_label::quick_derivative(200, 1), 0);
  EXPECT_EQ(logistic_by_label::quick_derivative(200, -1), 1);
  EXPECT_EQ(logistic_by_label::quick_derivative(-200, 0.5F), -0.5F);
  EXPECT_TRUE(std::isnan(logistic_by_label::quick_derivative(NAN, 0.5F)));
}

double root_mean_square(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v * v / static_cast<double>(values.size());
  return std::sqrt(sum);
}

class WarpGroupTest : public support::DeviceTest {
 protected:
  WarpGroupTest() : DeviceTest(GIBBSITE_TEST_DEVICE) {}
  void SetUp() override {
    DeviceTest::SetUp();
    if (device_ && device_->gpu().capability / 10 != 9) GTEST_SKIP() << "not a Hopper card";
  }

  // parts: 1 in BF16, 2 in float.
  static std::unique_ptr<Engine> load(const Table& p, std::shared_ptr<cuda::Device> device,
                                      unsigned parts = 1) {
    return cuda::make_engine(
        std::move(device), p.view(), p.y, loss_named("logistic"),
        {parts == 1 ? Arithmetic::bfloat16 : Arithmetic::float32, cuda::Design::warp_group});
  }
  static std::unique_ptr<Engine> load(const Table& p, unsigned parts = 1) {
    return load(p, support::make_test_device(GIBBSITE_TEST_DEVICE), parts);
  }
  static std::vector<double> gradients(Engine& engine, const Table& p,
                                       const std::vector<double>& theta) {
    std::vector<double> out(theta.size(), std::numeric_limits<double>::quiet_NaN());
    engine.loss_gradients({theta.data(), theta.size() / p.d, p.d},
                          {out.data(), theta.size() / p.d, p.d});
    return out;
  }
  static void expect_within_bounds(const std::vector<double>& got, const Expected& expected) {
    std::vector<double> error(got.size());
    double square = 0;
    for (std::size_t k = 0; k < got.size(); ++k) {
      error[k] = got[k] - expected.exact[k];
      square += expected.square[k] / static_cast<double>(got.size());
      ASSERT_TRUE(std::fabs(error[k]) <= expected.bound[k])
          << k << ": " << got[k] << " for " << expected.exact[k] << ", bound " << expected.bound[k];
    }
    EXPECT_TRUE(root_mean_square(error) <= 2 * std::sqrt(square))
        << root_mean_square(error) << " of " << 2 * std::sqrt(square);
  }
};

struct Shape {
  std::size_t n, d, chains;
};
void PrintTo(const Shape& s, std::ostream* out) {
  *out << fmt::format("{} x {}, {} chains", s.n, s.d, s.chains);
}
class WarpGroupOfShape : public WarpGroupTest, public testing::WithParamInterface<Shape> {};
INSTANTIATE_TEST_SUITE_P(
    Shapes, WarpGroupOfShape,
    testing::Values(Shape{1, 1, 64}, Shape{1, 16, 200}, Shape{1, 256, 65}, Shape{2, 7, 65},
                    Shape{31, 33, 64}, Shape{127, 15, 128}, Shape{127, 108, 65}, Shape{128, 17, 64},
                    Shape{128, 255, 128}, Shape{129, 1, 128}, Shape{129, 108, 200},
                    Shape{129, 256, 64}, Shape{1001, 64, 130}, Shape{5000, 15, 64},
                    Shape{5000, 16, 65}, Shape{5000, 108, 128}),
    [](const auto& p) { return fmt::format("n{}_d{}_C{}", p.param.n, p.param.d, p.param.chains); });

// Each width that a kernel is compiled for, with features that fill it and features that do not;
// two tiles of rows, the second of them short.
std::vector<Shape> widths() {
  std::vector<Shape> all;
  for (const std::size_t d : Sizes{85, 96, 145, 160, 170, 185, 192, 200, 215, 224, 230, 240, 241}) {
    if (!support::sanitized || d % 3 == 0) all.push_back({70, d, 70});
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Widths, WarpGroupOfShape, testing::ValuesIn(widths()),
                         [](const auto& p) { return fmt::format("d{}", p.param.d); });

TEST_P(WarpGroupOfShape, GradientsAreWithinTheirBounds) {
  const auto [n, d, chains] = GetParam();
  const Table p = make_table(n, d, 1);
  const std::vector<double> theta = make_thetas(chains, d, 0.3, 0.2, 2);
  expect_within_bounds(gradients(*load(p), p, theta), expected_gradients(p, theta));
}

class WarpGroupPairOfShape : public WarpGroupOfShape {};
INSTANTIATE_TEST_SUITE_P(Shapes, WarpGroupPairOfShape,
                         testing::Values(Shape{1, 1, 64}, Shape{1, 16, 130}, Shape{1, 128, 65},
                                         Shape{2, 7, 65}, Shape{31, 33, 64}, Shape{127, 108, 65},
                                         Shape{128, 65, 64}, Shape{129, 64, 128},
                                         Shape{257, 128, 64}, Shape{1001, 15, 70}),
                         [](const auto& p) {
                           return fmt::format("n{}_d{}_C{}", p.param.n, p.param.d, p.param.chains);
                         });
INSTANTIATE_TEST_SUITE_P(Widths, WarpGroupPairOfShape,
                         testing::Values(Shape{70, 85, 70}, Shape{70, 96, 70}),
                         [](const auto& p) { return fmt::format("d{}", p.param.d); });

// And much nearer than those in BF16.
TEST_P(WarpGroupPairOfShape, GradientsAreWithinTheirBounds) {
  const auto [n, d, chains] = GetParam();
  const Table p = make_table(n, d, 1);
  const std::vector<double> theta = make_thetas(chains, d, 0.3, 0.2, 2);
  const Expected expected = expected_gradients(p, theta, 2);
  const std::vector<double> got = gradients(*load(p, 2), p, theta);
  expect_within_bounds(got, expected);
  const std::vector<double> coarse = gradients(*load(p), p, theta);
  std::vector<double> error(got.size()), of_coarse(got.size());
  for (std::size_t k = 0; k < got.size(); ++k) {
    error[k] = got[k] - expected.exact[k];
    of_coarse[k] = coarse[k] - expected.exact[k];
  }
  EXPECT_LT(100 * root_mean_square(error), root_mean_square(of_coarse));
}

// Logits by themselves: a column of ones makes the gradient of a lone row its residual. Features
// nearly cancel, or are so large or small that low parts underflow.
TEST_F(WarpGroupTest, LogitsOfPairsAreWithinTheirBound) {
  constexpr std::size_t d = 5, chains = 64;
  std::mt19937 gen(21);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (const int exponent : {0, 20, 100, -100, -120, -130, -140}) {
    Table p{1, d, std::vector<float>(d), {1}};
    std::vector<double> theta(chains * d);
    for (float& v : p.x) v = static_cast<float>(std::ldexp(uniform(gen), exponent));
    p.x[1] = p.x[0] * (1 + 0x1p-12f);
    p.x[d - 1] = 1;
    for (std::size_t c = 0; c < chains; ++c) {
      for (std::size_t j = 0; j + 1 < d; ++j) {
        theta[c * d + j] = std::ldexp(uniform(gen), std::min(-exponent, 120));
      }
      theta[c * d + 1] = -theta[c * d] * (1 + 0x1p-12 * uniform(gen));
      theta[c * d + d - 1] = 1e-3 * uniform(gen);
    }
    const Expected expected = expected_gradients(p, theta, 2);
    const std::vector<double> got = gradients(*load(p, 2), p, theta);
    expect_within_bounds(got, expected);
    for (std::size_t c = 0; c < chains; ++c) {
      long double z = 0, reach = 0;
      for (std::size_t j = 0; j < d; ++j) {
        z += static_cast<long double>(p.x[j]) * theta[c * d + j];
        reach += std::fabs(static_cast<long double>(p.x[j])) *
                 (std::ldexp(3.0, std::min(-exponent, 120)) + 3e-3);
      }
      const double r = -got[c * d + d - 1];
      const double logit = std::log1p(-r) - std::log(r);
      ASSERT_NEAR(logit, static_cast<double>(z),
                  static_cast<double>(2 * 0x1p-15L * (reach + 1) + 0x1p-20L))
          << exponent << " " << c;
    }
  }
}

// What is no number is not lost in a pair: a row with one spoils the gradients as in other designs.
TEST_F(WarpGroupTest, RowsOfPairsThatAreNotFiniteShow) {
  const std::vector<double> theta = make_thetas(64, 9, 0.3, 0.2, 2);
  for (const float odd :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    Table p = make_table(200, 9, 1);
    p.x[150 * 9 + 4] = odd;
    const std::vector<double> got = gradients(*load(p, 2), p, theta);
    for (std::size_t c = 0; c < 64; ++c) EXPECT_FALSE(std::isfinite(got[c * 9 + 4])) << c;
  }
}

// Partials of ranges of so many rows: the launches themselves, since the engine cuts few rows into
// ranges of one tile.
template <unsigned Parts>
std::vector<float> partials_of(const Table& p, const std::vector<double>& theta,
                               std::size_t range_rows) {
  const std::size_t n = p.n, d = p.d, chains = theta.size() / d;
  const auto device = support::make_test_device(GIBBSITE_TEST_DEVICE);
  const std::size_t width = warp_group_width(d), padded = round_up_to(n, warp_group_rows);
  const std::size_t ranges = ceil_div(n, range_rows);
  std::vector<std::byte*> owned;
  const auto allocate = [&]<class T>(std::size_t count, const T* from) {
    owned.push_back(device->allocate(count * sizeof(T)));
    if (from != nullptr) {
      device->copy_in(cuda::Queue::compute, owned.back(), from, count * sizeof(T));
    }
    return View<T>{reinterpret_cast<T*>(owned.back()), count};
  };
  const auto x = allocate(n * d, p.x.data());
  const auto y = allocate(n, p.y.data());
  const auto thetas = allocate(chains * d, theta.data());
  const auto packed = allocate(Parts * padded * width / 8, static_cast<const Line*>(nullptr));
  const auto logits = allocate(padded, static_cast<const RowLogit*>(nullptr));
  const auto reference = allocate(width, static_cast<const double*>(nullptr));
  const auto moved = allocate(reference_blocks(d), static_cast<const unsigned*>(nullptr));
  const auto partials = allocate(ranges * chains * d, static_cast<const float*>(nullptr));
  device->launch(PackRows{.x = x,
                          .y = y,
                          .packed = packed,
                          .logits = logits,
                          .reference = reference,
                          .rows = n,
                          .features = d,
                          .width = width,
                          .parts = Parts});
  device->launch(CenterReference{
      .theta = thetas, .reference = reference, .moved = moved, .chains = chains, .features = d});
  device->launch(ReferenceLogits{
      .x = x, .reference = reference, .moved = moved, .logits = logits, .rows = n, .features = d});
  device->launch(WarpGroupOf<Parts>{.x = packed,
                                    .logits = logits,
                                    .theta = thetas,
                                    .reference = reference,
                                    .partials = partials,
                                    .rows = n,
                                    .features = d,
                                    .chains = chains,
                                    .range_rows = range_rows,
                                    .loss = index_of_loss("logistic")});
  std::vector<float> out(ranges * chains * d);
  device->copy_out(cuda::Queue::compute, out.data(), owned.back(), out.size() * sizeof(float));
  device->synchronize();
  for (std::byte* memory : owned) device->release(memory);
  return out;
}

// A range of many tiles, so that every stage is used and emptied several times.
TEST_F(WarpGroupTest, LongRangesGoRoundTheStages) {
  const auto check = [&]<unsigned Parts>(std::size_t d) {
    constexpr std::size_t n = 2500, chains = 80;
    const Table p = make_table(n, d, 11);
    const std::vector<double> theta = make_thetas(chains, d, 0.3, 0.2, 12);
    const std::vector<float> out = partials_of<Parts>(p, theta, 1280);
    std::vector<double> sum(chains * d);
    for (std::size_t k = 0; k < out.size(); ++k) sum[k % sum.size()] += out[k];
    Expected expected = expected_gradients(p, theta, Parts);
    // Sums over 1280 rows, where the bound has those of the engine's ranges of 128.
    for (std::size_t k = 0; k < sum.size(); ++k) {
      double reach = 0;
      for (std::size_t i = 0; i < n; ++i) reach += std::fabs(p.x[i * d + k % d]);
      const double more = Parts == 1 ? 1300 * 0x1p-22 : 24 * 0x1p-24;
      expected.bound[k] += more * 1.02 * reach;  // |r| <= 1
    }
    expect_within_bounds(sum, expected);
  };
  check.template operator()<1>(130);  // tiles of 64 rows
  check.template operator()<2>(70);
  if (support::sanitized) return;
  check.template operator()<1>(20);  // of 128
  check.template operator()<2>(20);
}

// Sums of pairs whose terms all have one sign, over a long range: what the matrix unit cuts off
// must not add up.
TEST_F(WarpGroupTest, SumsOfPairsDoNotDrift) {
  constexpr std::size_t n = 4096, d = 3, chains = 64;
  std::mt19937 gen(23);
  std::uniform_real_distribution<float> uniform(0.5f, 1);
  Table p{n, d, std::vector<float>(n * d), std::vector<float>(n, 1.0f)};
  for (float& v : p.x) v = uniform(gen);
  const std::vector<double> theta(chains * d, 0.0);  // every residual is -1/2
  const std::vector<float> out = partials_of<2>(p, theta, n);
  for (std::size_t j = 0; j < d; ++j) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum -= 0.5 * p.x[i * d + j];
    EXPECT_NEAR(out[j] / sum, 1, 0x1p-19);  // in the unit alone: 2^-17.4
  }
}

// Far from 0 and close together: features come in pairs that nearly cancel, so that logits are
// small where thetas are large. What a BF16 theta does to the same gradients is for comparison.
TEST_F(WarpGroupTest, ErrorsShrinkWithTheSpreadNotWithTheThetas) {
  constexpr std::size_t n = 256, d = 16, chains = 64;
  Table p = make_table(n, d, 3);
  std::mt19937 gen(4);
  std::uniform_int_distribution<int> eighths(
      -8, 8);  // exact in BF16: the rounding of X is not at stake
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < d; j += 2) {
      p.x[i * d + j] = static_cast<float>(eighths(gen)) / 8;
      p.x[i * d + j + 1] = p.x[i * d + j] + static_cast<float>(eighths(gen)) / 128;
    }
  }
  const auto engine = load(p);
  double before = std::numeric_limits<double>::infinity();
  for (const double spread : {0.5, 0.02, 0.0}) {
    const std::vector<double> theta = make_thetas(chains, d, 100, spread, 5);
    const Expected expected = expected_gradients(p, theta);
    const std::vector<double> got = gradients(*engine, p, theta);
    expect_within_bounds(got, expected);
    std::vector<double> rounded = theta;
    for (double& v : rounded) v = float_of_bfloat16(bfloat16_of(static_cast<float>(v)));
    const std::vector<double> coarse = expected_gradients(p, rounded).exact;
    std::vector<double> error(got.size()), of_coarse(got.size()), scale(got.size());
    for (std::size_t k = 0; k < got.size(); ++k) {
      error[k] = got[k] - expected.exact[k];
      of_coarse[k] = coarse[k] - expected.exact[k];
    }
    const double now = root_mean_square(error);
    RecordProperty(fmt::format("spread_{}", spread),
                   fmt::format("{} against {}", now, root_mean_square(of_coarse)));
    EXPECT_TRUE(now < before) << spread;
    if (spread > 0) {
      EXPECT_TRUE(now < 0.2 * root_mean_square(of_coarse)) << spread;
    }
    before = now;
  }
}

// ---- the reference ----

class ReferenceTest : public WarpGroupTest {
 protected:
  struct Result {
    std::vector<double> reference;  // [d]
    std::vector<unsigned> moved;
  };
  // From the reference 0, `times` in a row.
  static Result center(const std::vector<double>& theta, std::size_t d, int times = 1) {
    const auto device = support::make_test_device(GIBBSITE_TEST_DEVICE);
    const std::size_t blocks = reference_blocks(d);
    std::byte* const thetas = device->allocate(theta.size() * sizeof(double));
    std::byte* const reference = device->allocate(d * sizeof(double));
    std::byte* const moved = device->allocate(blocks * sizeof(unsigned));
    device->copy_in(cuda::Queue::compute, thetas, theta.data(), theta.size() * sizeof(double));
    device->fill_zero(cuda::Queue::compute, reference, d * sizeof(double));
    for (int k = 0; k < times; ++k) {
      device->launch(
          CenterReference{.theta = {reinterpret_cast<const double*>(thetas), theta.size()},
                          .reference = {reinterpret_cast<double*>(reference), d},
                          .moved = {reinterpret_cast<unsigned*>(moved), blocks},
                          .chains = theta.size() / d,
                          .features = d});
    }
    Result r{std::vector<double>(d), std::vector<unsigned>(blocks)};
    device->copy_out(cuda::Queue::compute, r.reference.data(), reference, d * sizeof(double));
    device->copy_out(cuda::Queue::compute, r.moved.data(), moved, blocks * sizeof(unsigned));
    device->synchronize();
    for (std::byte* memory : {thetas, reference, moved}) device->release(memory);
    return r;
  }
};

// |reference - mean| <= half the grid <= twice the mean distance from the mean, whatever the order.
TEST_F(ReferenceTest, IsNearTheMeanWhateverTheOrder) {
  for (const std::size_t chains : Sizes{1, 2, 7, 31, 32, 33, 200, 1001}) {
    for (const std::size_t d : Sizes{1, 33}) {
      std::vector<double> theta = make_thetas(chains, d, 3, 0.1, 7);
      for (std::size_t c = 0; c < chains; ++c) theta[c * d] *= 1e-7;
      const Result r = center(theta, d);
      for (std::size_t j = 0; j < d; ++j) {
        double mean = 0, apart = 0, largest = 0;
        for (std::size_t c = 0; c < chains; ++c) {
          mean += theta[c * d + j] / static_cast<double>(chains);
          largest = std::max(largest, std::fabs(theta[c * d + j]));
        }
        for (std::size_t c = 0; c < chains; ++c) {
          apart += std::fabs(theta[c * d + j] - mean) / static_cast<double>(chains);
        }
        EXPECT_TRUE(std::fabs(r.reference[j] - mean) <= 2 * apart + 4 * 0x1p-39 * largest)
            << chains << " " << d << " " << j;
      }
      std::vector<double> reversed(theta.size());
      for (std::size_t c = 0; c < chains; ++c) {
        std::copy_n(&theta[c * d], d, &reversed[(chains - 1 - c) * d]);
      }
      EXPECT_EQ(center(reversed, d).reference, r.reference) << chains << " " << d;
    }
  }
}

TEST_F(ReferenceTest, SaysWhetherItMoved) {
  const std::vector<double> theta = make_thetas(40, 70, 3, 0.1, 8);
  EXPECT_EQ(center(theta, 70, 1).moved, (std::vector<unsigned>{1, 1, 1}));
  EXPECT_EQ(center(theta, 70, 2).moved, (std::vector<unsigned>{0, 0, 0}));
  std::vector<double> one(40 * 70, 0.0);
  for (std::size_t c = 0; c < 40; ++c) one[c * 70 + 69] = 2;
  EXPECT_EQ(center(one, 70, 1).moved, (std::vector<unsigned>{0, 0, 1}));
  // Steps that are small against the spread leave it where it is, nearly always.
  std::mt19937 gen(9);
  std::normal_distribution<double> step(0, 1e-4);
  std::vector<double> walk = theta;
  const Result before = center(walk, 70);
  for (double& v : walk) v += step(gen);
  const Result after = center(walk, 70);
  std::size_t same = 0;
  for (std::size_t j = 0; j < 70; ++j) same += before.reference[j] == after.reference[j];
  EXPECT_GE(same, 68u);
}

TEST_F(ReferenceTest, LeavesOutChainsThatAreNotFinite) {
  std::vector<double> theta(12 * 3, 0.5);
  theta[4] = std::numeric_limits<double>::quiet_NaN();
  theta[7] = std::numeric_limits<double>::infinity();
  EXPECT_EQ(center(theta, 3).reference, (std::vector<double>{0.5, 0.5, 0.5}));
  const std::vector<double> none(3, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(center(none, 3).reference, (std::vector<double>{0, 0, 0}));
}

// ---- the source in an engine ----

Ensemble make_ensemble(std::size_t chains, std::size_t d, std::uint64_t iterations) {
  std::vector<ChainSpec> specs(chains, {.key = StreamKey::from_seed(0)});
  for (std::size_t c = 0; c < chains; ++c) {
    const auto k = static_cast<double>(c);
    specs[c].inverse_temperature = 0.1 + 0.01 * k;
    specs[c].prior_precision = c % 5 == 4 ? 0.0 : 0.5 + std::fmod(0.1 * k, 3);
    specs[c].step_size = 1e-4 / (1 + std::fmod(k, 7));
    specs[c].iterations = iterations;
    if (c % 3 == 1) specs[c].center.assign(d, 0.2 * std::sin(k));
    specs[c].key = StreamKey::from_seed(c / 2);
    if (c % 2 == 1) specs[c].key.kind = NoiseKind::chacha20;
    specs[c].stream = static_cast<std::uint32_t>(c % 3);
  }
  Ensemble e = start(std::move(specs), d);
  std::ranges::copy(make_thetas(chains, d, 0.3, 0.2, 10), e.theta.begin());
  return e;
}

// A step is a function of the chains alone: not of cuts, of the run before, of their order.
TEST_F(WarpGroupTest, BitsDoNotDependOnCutsNorOnTheOrderOfChains) {
  const Table p = make_table(300, 9, 6);
  const Ensemble begin = make_ensemble(70, 9, 4);
  for (const unsigned parts : {1U, 2U}) {
    const auto engine = load(p, parts);
    Ensemble whole = begin, cut = begin;
    engine->advance(whole, 4);
    EXPECT_TRUE(whole.finished());
    EXPECT_NE(engine->design().find("warp-group"), std::string::npos) << engine->design();
    const auto another = load(p, parts);
    another->advance(cut, 1);
    another->advance(cut, 3);
    EXPECT_EQ(cut.theta, whole.theta);

    Ensemble reversed = begin;
    std::ranges::reverse(reversed.specs);
    for (std::size_t c = 0; c < 70; ++c) {
      std::ranges::copy(begin.chain(c), reversed.chain(69 - c).begin());
    }
    engine->advance(reversed, 4);
    for (std::size_t c = 0; c < 70; ++c) {
      EXPECT_TRUE(std::ranges::equal(whole.chain(c), reversed.chain(69 - c))) << c;
    }
  }
}

// Where X and its packed copy do not fit, chunks are packed as they come, from X on the GPU or
// streamed.
TEST_F(WarpGroupTest, ChunksGiveTheSameGradients) {
  if (std::string_view(GIBBSITE_TEST_DEVICE) == "cuda") GTEST_SKIP() << "needs a small card";
  const Table p = make_table(9000, 30, 7);
  const std::vector<double> theta = make_thetas(64, 30, 0.3, 0.2, 8);
  const Expected expected = expected_gradients(p, theta);
  bool whole = false, chunked = false, streamed = false;
  for (std::size_t kib = 1200; kib <= 4800; kib += support::repeats(400U, 1200U)) {
    support::EmulatedGpu small;
    small.total_bytes = kib << 10;
    const std::shared_ptr<cuda::Device> device = support::make_emulated_device(small);
    const auto engine = load(p, device);
    const std::vector<double> got = gradients(*engine, p, theta);
    const std::string design(engine->design());
    EXPECT_TRUE(design.starts_with("warp-group")) << design;
    if (design.find("chunks") == std::string::npos) {
      whole = true;
    } else {
      (design.find("streamed") == std::string::npos ? chunked : streamed) = true;
    }
    expect_within_bounds(got, expected);
  }
  EXPECT_TRUE(whole);
  EXPECT_TRUE(chunked);
  EXPECT_TRUE(streamed);
  if (support::sanitized) return;
  support::EmulatedGpu small;
  small.total_bytes = 2000 << 10;
  const auto engine = load(p, support::make_emulated_device(small), 2);
  expect_within_bounds(gradients(*engine, p, theta), expected_gradients(p, theta, 2));
  EXPECT_NE(engine->design().find("chunks"), std::string_view::npos) << engine->design();
}

TEST(WarpGroupDesign, SaysWhyNot) {
  const auto why = [](std::size_t d, std::size_t chains, Arithmetic arithmetic, int capability) {
    cuda::Gpu gpu;
    gpu.capability = capability;
    return cuda::why_not(cuda::Design::warp_group, {1000, d, chains}, arithmetic, gpu);
  };
  EXPECT_EQ(why(256, 64, Arithmetic::bfloat16, 90), "");
  EXPECT_EQ(why(128, 64, Arithmetic::float32, 90), "");
  EXPECT_NE(why(129, 64, Arithmetic::float32, 90).find("128"), std::string::npos);
  EXPECT_NE(why(64, 64, Arithmetic::float32, 100).find("Hopper"), std::string::npos);
  EXPECT_NE(why(256, 64, Arithmetic::float64, 90).find("bfloat16"), std::string::npos);
  EXPECT_NE(why(256, 64, Arithmetic::bfloat16, 100).find("Hopper"), std::string::npos);
  EXPECT_NE(why(256, 64, Arithmetic::bfloat16, 80).find("Hopper"), std::string::npos);
  EXPECT_NE(why(257, 64, Arithmetic::bfloat16, 90).find("256"), std::string::npos);
  EXPECT_NE(why(256, 63, Arithmetic::bfloat16, 90).find("64"), std::string::npos);
}

}  // namespace warp_group_test
}  // namespace gibbsite
