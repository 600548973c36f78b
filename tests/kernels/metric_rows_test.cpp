// Rows in a metric on a GPU: each kernel family against sums that are exact in double, so that one
// row, one partial or one rounding too many shows; then the whole, in chunks and streamed.
#include "engine/cuda/metric_rows.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "engine/clip.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/summation.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/engine/engine.hpp"
#include "kernels/losses.hpp"
#include "support/backend.hpp"
#include "support/odd_rows.hpp"
#include "support/repeats.hpp"

namespace gibbsite::cuda {
namespace metric_rows_test {

using support::DeviceArray;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
constexpr double infinity = std::numeric_limits<double>::infinity();
const bool emulated = std::string_view(GIBBSITE_TEST_DEVICE) == "emulated";

// Whole numbers up to 2^20: sums of them and of their products are exact in double, not in float.
std::vector<float> whole_numbers(std::size_t count, unsigned seed) {
  std::mt19937 bits(seed);
  std::vector<float> v(count);
  for (float& x : v) x = static_cast<float>(static_cast<int>(bits() % 0x200001) - 0x100000);
  return v;
}
std::vector<float> labels_of(std::size_t n) {
  std::vector<float> y(n);
  for (std::size_t i = 0; i < n; ++i) y[i] = i % 3 == 0 ? -1.0F : 1.0F;
  return y;
}

class MetricKernels : public support::DeviceTest {
 protected:
  MetricKernels() : DeviceTest(GIBBSITE_TEST_DEVICE) {}

  std::vector<float> project(std::span<const float> x, const MatrixView<const double>& P,
                             double clip, bool caps) {
    const std::size_t d = P.rows, k = P.cols, n = x.size() / d;
    std::vector<double> lengths(d);
    const NormBound bound = bound_norms(P, lengths);
    const DeviceArray<float> rows(*device_, x), out(*device_, n * (caps ? 1 : k));
    const DeviceArray<double> p(*device_, std::span<const double>(P.data, d * k)),
        sizes(*device_, std::span<const double>(lengths));
    device_->launch(kernels::ProjectedRows{.x = rows.view(),
                                           .P = p.view(),
                                           .sizes = sizes.view(),
                                           .caps = caps ? out.view() : kernels::View<float>{},
                                           .clipped = caps ? kernels::View<float>{} : out.view(),
                                           .rows = n,
                                           .features = d,
                                           .columns = k,
                                           .clip = clip,
                                           .largest = 0.75F,
                                           .bound = bound});
    return out.read();
  }
};

struct Size {
  std::size_t n, d, k;
};
constexpr Size sizes[] = {{1, 1, 1},    {2, 3, 5},    {63, 16, 64}, {64, 17, 65},
                          {65, 15, 63}, {130, 40, 7}, {66, 2, 130}, {70, 130, 20}};

// Exactly below, not far below, and the same bits for a row at any place among any rows.
TEST_F(MetricKernels, RowsAreClippedExactly) {
  for (const auto& [n, d, k] : sizes) {
    std::mt19937 bits(static_cast<unsigned>(n + d));
    std::normal_distribution<double> normal;
    std::vector<double> P(d * k);
    for (double& v : P) v = normal(bits);
    std::vector<float> x(n * d);
    for (float& v : x) v = static_cast<float>(normal(bits));
    if (n > 1) std::fill_n(&x[d], d, 0.0F);
    const MatrixView<const double> metric{P.data(), d, k};
    std::vector<float> turned(n * d);  // rows the other way round
    for (std::size_t i = 0; i < n; ++i) std::copy_n(&x[i * d], d, &turned[(n - 1 - i) * d]);
    for (const double clip : {0.3, 1.7 * std::sqrt(static_cast<double>(d * k))}) {
      const auto where = fmt::format("{} x {}, k {}, clip {}", n, d, k, clip);
      const auto caps = project(x, metric, clip, true), v = project(x, metric, clip, false);
      auto caps_turned = project(turned, metric, clip, true);
      std::ranges::reverse(caps_turned);
      ASSERT_EQ(caps_turned, caps) << where;
      const auto v_turned = project(turned, metric, clip, false);
      for (std::size_t i = 0; i < n; ++i) {
        Wide squares = 0, of_v = 0;
        std::vector<double> u(k);
        for (std::size_t a = 0; a < k; ++a) {
          Wide sum = 0;
          for (std::size_t j = 0; j < d; ++j)
            sum += Wide(static_cast<double>(x[i * d + j])) * Wide(P[j * k + a]);
          squares += sum * sum;
          u[a] = static_cast<double>(sum);
          const Wide part(static_cast<double>(v[i * k + a]));
          of_v += part * part;
          ASSERT_EQ(v_turned[(n - 1 - i) * k + a], v[i * k + a]) << where;
        }
        const Wide norm = sqrt(squares), cap(static_cast<double>(caps[i]));
        ASSERT_TRUE(of_v <= Wide(clip) * Wide(clip)) << where << ", row " << i;
        ASSERT_TRUE(cap * norm <= Wide(clip)) << where << ", row " << i;
        const double most = std::min(0.75, clip / static_cast<double>(norm));  // inf for 0
        ASSERT_GE(static_cast<double>(caps[i]), most * (1 - 0x1p-22)) << where << ", row " << i;
        const double shrink = std::min(1.0, clip / static_cast<double>(norm));
        for (std::size_t a = 0; a < k && norm > Wide(0.0); ++a) {
          ASSERT_NEAR(static_cast<double>(v[i * k + a]), u[a] * shrink,
                      std::fabs(u[a]) * shrink * 0x1p-20 + static_cast<double>(norm) * 0x1p-40)
              << where;
        }
      }
    }
  }
}

// Sums of whole numbers: nothing may be off.
TEST_F(MetricKernels, MomentsOfWholeNumbersAreExact) {
  for (const std::size_t k : {1u, 3u, 63u, 64u, 65u, 130u}) {
    for (const std::size_t n : {1u, 15u, 17u, 64u, 65u, 200u}) {
      if (k > 64 && n == 200) continue;
      constexpr std::size_t leaf = 64;
      const std::size_t leaves = kernels::ceil_div(n, leaf), cells = kernels::packed_moments(k);
      const std::vector<float> v = whole_numbers(n * k, 3);
      const DeviceArray<float> rows(*device_, std::span<const float>(v));
      const DeviceArray<double> out(*device_, leaves * cells);
      device_->launch(kernels::Moments{rows.view(), out.view(), n, k, leaf});
      const std::vector<double> got = out.read();
      std::vector<double> exact(leaves * cells);
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t a = 0; a < k; ++a) {
          for (std::size_t b = 0; b <= a; ++b) {
            exact[i / leaf * cells + a * (a + 1) / 2 + b] +=
                static_cast<double>(v[i * k + a]) * static_cast<double>(v[i * k + b]);
          }
        }
      }
      ASSERT_EQ(got, exact) << n << " x " << k;
    }
  }
}

// At theta = 0 slopes, curvatures and caps are powers of two: with whole numbers nothing may be
// off. The slope of the logistic loss is 1/2 of either sign and the curvature 1/4; of Huber's with
// labels of 1/2 the slope is the label's negative and the curvature 1, which a cap takes whole or
// leaves.
TEST_F(MetricKernels, CappedSumsOfWholeNumbersAreExact) {
  for (const char* const loss : {"logistic", "huber"}) {
    const bool logistic = std::string_view(loss) == "logistic";
    for (const std::size_t d : {1u, 8u, 9u, 32u, 33u, 64u, 65u, 128u, 129u, 256u, 257u, 512u, 513u,
                                1024u, 1025u, 2048u}) {
      for (const std::size_t n : {1u, 63u, 131u}) {
        if (!logistic && n == 63) continue;
        constexpr std::size_t leaf = 128;
        const std::size_t leaves = kernels::ceil_div(n, leaf);
        const std::vector<float> x = whole_numbers(n * d, 5);
        std::vector<float> y = labels_of(n), caps(n);
        for (float& label : y) label *= logistic ? 1.0F : 0.5F;
        for (std::size_t i = 0; i < n; ++i)
          caps[i] = i % 5 == 4 ? 0.0F : std::ldexp(1.0F, -static_cast<int>(i % 5));
        const DeviceArray<float> rows(*device_, std::span<const float>(x)),
            labels(*device_, std::span<const float>(y)), of(*device_, std::span<const float>(caps));
        const std::vector<double> zero(d);
        const DeviceArray<double> theta(*device_, std::span<const double>(zero)),
            out(*device_, leaves * (d + 1));
        device_->launch(kernels::Capped{rows.view(), labels.view(), of.view(), theta.view(),
                                        out.view(), n, d, leaf, kernels::index_of_loss(loss)});
        std::vector<double> exact(leaves * (d + 1));
        for (std::size_t i = 0; i < n; ++i) {
          double* const to = &exact[i / leaf * (d + 1)];
          const double cap = static_cast<double>(caps[i]), sign = y[i] < 0 ? 1 : -1;
          for (std::size_t j = 0; j < d; ++j)
            to[j] += sign * std::min(0.5, cap) * static_cast<double>(x[i * d + j]);
          to[d] += logistic ? 0.25 * std::min(1.0, cap / 0.5) : cap > 0.5 ? 1 : 0;
        }
        ASSERT_EQ(out.read(), exact) << loss << ", " << n << " x " << d;
      }
    }
  }
}

// The logit, and so whether a row is held, has the same bits at every place: the curvature, which
// jumps there, says so; of the logistic loss, which does not jump, the score does. Caps are put on
// the slope of a row that is alone, and one float above.
TEST_F(MetricKernels, ARowIsHeldOrNotWhereverItIs) {
  for (const std::size_t d : {7u, 31u, 50u, 101u, 200u, 300u, 32u, 201u}) {
    const bool jumps = d != 32 && d != 201;
    const char* const name = jumps ? "huber" : "logistic";
    const Loss& loss = loss_named(name);
    const float label = jumps ? 2.6F : 1.0F;
    std::mt19937 bits(2);
    std::normal_distribution<float> normal;
    std::vector<float> row(d);
    std::vector<double> theta(d);
    for (float& v : row) v = normal(bits);
    // A logit of about 3: its last bit is seen in the slope.
    double square = 0;
    for (const float v : row) square += static_cast<double>(v) * static_cast<double>(v);
    for (std::size_t j = 0; j < d; ++j) theta[j] = 3.1 * static_cast<double>(row[j]) / square;
    const auto run = [&](std::size_t n, std::size_t place, float cap) {
      std::vector<float> x(n * d), y(n, label), caps(n, 0.0F);
      std::copy_n(row.begin(), d, &x[place * d]);
      caps[place] = cap;
      const DeviceArray<float> rows(*device_, std::span<const float>(x)),
          labels(*device_, std::span<const float>(y)), of(*device_, std::span<const float>(caps));
      const DeviceArray<double> at(*device_, std::span<const double>(theta)), out(*device_, d + 1);
      device_->launch(kernels::Capped{rows.view(), labels.view(), of.view(), at.view(), out.view(),
                                      n, d, 128, kernels::index_of_loss(name)});
      return out.read();
    };
    double z = 0, derivative = 0;
    for (std::size_t j = 0; j < d; ++j) z += static_cast<double>(row[j]) * theta[j];
    loss.derivatives({&z, 1}, {&label, 1}, {&derivative, 1});
    const float below = float_below(std::fabs(derivative));
    const float above = std::nextafter(below, 1.0F);
    if (jumps) {
      EXPECT_EQ(run(1, 0, below)[d], 0) << d;
      EXPECT_GT(run(1, 0, above)[d], 0) << d;
    }
    for (const float cap : {below, above, 1.0F}) {
      const std::vector<double> alone = run(1, 0, cap);
      for (const std::size_t place : {0u, 1u, 7u, 8u, 37u, 65u, 127u}) {
        ASSERT_EQ(run(128, place, cap), alone) << d << ", place " << place;
      }
    }
  }
}

class MetricAnswers : public MetricKernels {
 protected:
  MetricRows rows_of(std::size_t n, std::size_t d, std::size_t memory = ~std::size_t{0}) {
    return {*device_,
            {x_.data(), n, d},
            y_,
            loss_named("logistic"),
            kernels::index_of_loss("logistic"),
            memory,
            accumulation_depth(n),
            1024};
  }
  std::vector<float> x_, y_;
};

// Whole numbers, the unit matrix for P, no clip: exact however rows are cut, and where X is
// streamed. Six chunks: the tree of their sums is not a full one.
TEST_F(MetricAnswers, ChunksAndStreamsAreExactToo) {
  const std::size_t n = 5 * 1024 + 13, d = 3;
  x_ = whole_numbers(n * d, 6);
  y_ = labels_of(n);
  std::vector<double> P(d * d), moments(d * d), exact(d * d), gradient(d), exact_gradient(d);
  for (std::size_t j = 0; j < d; ++j) P[j * d + j] = 1;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t a = 0; a < d; ++a) {
      const auto v = static_cast<double>(x_[i * d + a]);
      exact_gradient[a] -= 0.5 * static_cast<double>(y_[i]) * v;
      for (std::size_t b = 0; b < d; ++b)
        exact[a * d + b] += v * static_cast<double>(x_[i * d + b]);
    }
  }
  const CapsOf free{1, d, P, {.clip = infinity}}, held{2, d, P, {.clip = 5e5}};
  const std::vector<double> zero(d), theta(d, 1e-6);
  std::vector<double> first(d);
  double first_curvature = -1;
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u}) {
    if (seed > support::repeats(4U, 2U)) break;
    if (emulated) device_ = support::make_emulated_device({.seed = seed});
    const bool streamed = seed > 1;
    MetricRows rows = rows_of(n, d, streamed ? 100'000 : ~std::size_t{0});
    rows.second_moments({P.data(), d, d}, infinity, {moments.data(), d, d});
    EXPECT_THAT(rows.how(), HasSubstr(streamed ? "X streamed in 6 chunks of 1024 rows" : "MiB"));
    ASSERT_EQ(moments, exact) << seed;
    ASSERT_EQ(rows.capped_gradient(free, zero, gradient), 0.25 * static_cast<double>(n)) << seed;
    ASSERT_EQ(gradient, exact_gradient) << seed;
    // Caps that another question has found are not taken for one's own.
    const double curvature = rows.capped_gradient(held, theta, gradient);
    EXPECT_LT(curvature, 0.9 * 0.25 * static_cast<double>(n));
    EXPECT_GT(curvature, 0.1 * 0.25 * static_cast<double>(n));
    if (first_curvature < 0) {
      first = gradient;
      first_curvature = curvature;
    }
    ASSERT_EQ(gradient, first) << seed;
    ASSERT_EQ(curvature, first_curvature) << seed;
    ASSERT_EQ(rows.capped_gradient(held, theta, gradient), first_curvature) << seed;  // caps found
    ASSERT_EQ(gradient, first) << seed;
    rows.capped_gradient(free, zero, gradient);
    ASSERT_EQ(gradient, exact_gradient) << seed;
    ASSERT_EQ(rows.capped_gradient(held, theta, gradient), first_curvature) << seed;
  }
}

TEST_F(MetricAnswers, AGpuThatIsFullIsSaidWithTheNumbers) {
  x_ = whole_numbers(2000 * 50, 7);
  y_ = labels_of(2000);
  MetricRows rows = rows_of(2000, 50, 100'000);
  std::vector<double> P(50 * 50, 1.0), out(50 * 50);
  EXPECT_THAT(
      [&] {
        rows.second_moments({P.data(), 50, 50}, 1, {out.data(), 50, 50});
      },
      ThrowsMessage<CudaError>(HasSubstr("2000 rows x 50 features in a metric of 50")));
}

// Chains and questions in turn: each finds its rows again.
TEST_F(MetricAnswers, ChainsAndQuestionsTakeTurns) {
  const std::size_t n = 300, d = 5;
  x_ = whole_numbers(n * d, 8);
  y_ = labels_of(n);
  const auto engine = make_engine(device_, Rows(x_.data(), n, d), y_, loss_named("logistic"), {});
  std::vector<double> P(d * d, 1e-3), theta(d, 1e-4), capped(d), plain(d), again(d), moments(d * d);
  const auto loss = engine->capped_loss({P.data(), d, d}, {.clip = 0.5});
  const double curvature = loss->gradient(theta, capped);
  engine->loss_gradients({theta.data(), 1, d}, {plain.data(), 1, d});
  EXPECT_NE(plain, capped);
  EXPECT_EQ(loss->gradient(theta, again), curvature);
  EXPECT_EQ(again, capped);
  engine->second_moments({P.data(), d, d}, 0.5, {moments.data(), d, d});
  EXPECT_EQ(loss->gradient(theta, again), curvature);
  EXPECT_EQ(again, capped);
  engine->loss_gradients({theta.data(), 1, d}, {again.data(), 1, d});
  EXPECT_EQ(again, plain);
}

// Whatever launch faults, the GPU's error comes out.
TEST(MetricFault, ComesOut) {
  if (!emulated) GTEST_SKIP() << "faults are injected into the emulated card only";
  const std::vector<float> x = whole_numbers(300 * 4, 9), y = labels_of(300);
  std::vector<double> P(16, 1.0), out(16), theta(4);
  for (std::uint64_t k = 1; k <= 3; ++k) {
    for (const bool of_moments : {true, false}) {
      const auto engine = make_engine(support::make_emulated_device({.fault_at_launch = k}),
                                      Rows(x.data(), 300, 4), y, loss_named("logistic"), {});
      const auto ask = [&] {
        if (of_moments) return engine->second_moments({P.data(), 4, 4}, 1, {out.data(), 4, 4});
        engine->capped_loss({P.data(), 4, 4}, {.clip = 1})->gradient(theta, {out.data(), 4});
      };
      EXPECT_THAT(ask, ThrowsMessage<CudaError>(HasSubstr("injected fault"))) << k << of_moments;
    }
  }
}

// Sums keep to what a certificate allows them, of tables that no test can hold.
TEST(MetricPlans, KeepToTheDepth) {
  for (const std::size_t n : {1ul, 2ul, 100ul, 255ul, 257ul, 1000ul, 1025ul, 32561ul, 1'000'000ul,
                              100'000'000ul, 4'000'000'000ul}) {
    for (const std::size_t d : {1ul, 8ul, 20ul, 100ul, 256ul, 257ul, 2048ul}) {
      for (const std::size_t k : {std::size_t{1}, d}) {
        const Shape shape{n, d, 1};
        const MetricPlan plan = plan_metric(shape, k);
        EXPECT_EQ(plan.chunk_rows % plan.block_rows, 0U);
        EXPECT_EQ(plan.block_rows % plan.moment_leaf_rows, 0U);
        EXPECT_EQ(plan.chunk_rows % plan.leaf_rows, 0U);
        EXPECT_LE(capped_gradient_depth(shape, plan), accumulation_depth(n)) << n << ' ' << d;
        EXPECT_LE(moments_depth(shape, plan), accumulation_depth(n)) << n << ' ' << d << ' ' << k;
      }
    }
  }
}

}  // namespace metric_rows_test
}  // namespace gibbsite::cuda
