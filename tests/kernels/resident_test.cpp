// Design A: a step against a long-double oracle, many steps against the same steps cut otherwise.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/cuda/source.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/summation.hpp"
#include "kernels/losses.hpp"
#include "support/backend.hpp"
#include "support/odd_rows.hpp"
#include "support/roundings.hpp"

namespace gibbsite {
namespace resident_test {

using cuda::Design;
using support::DeviceArray;
using support::OddRows;

using support::gamma_k;
constexpr double double_roundoff = support::unit_roundoff;
constexpr double float_roundoff = std::numeric_limits<float>::epsilon() / 2.0;

struct Shape {
  std::size_t n, d, chains;
};
void PrintTo(const Shape& s, std::ostream* out) {
  *out << fmt::format("{} x {}, {} chains", s.n, s.d, s.chains);
}

class ResidentTest : public support::DeviceTest {
 protected:
  ResidentTest() : DeviceTest(GIBBSITE_TEST_DEVICE) {}

  // The thetas after one launch; the chains are uploaded at `uploaded` steps, `clock` more are
  // done.
  std::vector<double> launch(const OddRows& p, const Ensemble& e, unsigned group, bool single,
                             unsigned steps, std::uint64_t clock = 0, std::uint64_t first = 0) {
    std::vector<kernels::Chain> chains;
    std::vector<double> centers(e.theta.size(), 0.0);
    for (std::size_t c = 0; c < e.chains(); ++c) {
      const ChainSpec& spec = e.specs[c];
      chains.push_back(kernels::make_chain(spec, e.step[c]));
      std::ranges::copy(spec.center, centers.begin() + static_cast<std::ptrdiff_t>(c * p.d));
    }
    const DeviceArray<float> x(*device_, std::span(p.x)), y(*device_, std::span(p.y));
    const DeviceArray<double> theta(*device_, std::span(e.theta)),
        center(*device_, std::span<const double>(centers));
    const DeviceArray<kernels::Chain> chain(*device_, std::span<const kernels::Chain>(chains));
    const DeviceArray<std::uint64_t> clocks(*device_, std::span<const std::uint64_t>(&clock, 1));
    device_->launch(kernels::Resident{.x = x.view(),
                                      .y = y.view(),
                                      .theta = theta.view(),
                                      .centers = center.view(),
                                      .chain = chain.view(),
                                      .clock = clocks.view(),
                                      .rows = p.n,
                                      .features = p.d,
                                      .chains = e.chains(),
                                      .first = first,
                                      .steps = steps,
                                      .group = group,
                                      .loss = kernels::index_of_loss("logistic"),
                                      .single = single});
    return theta.read();
  }
};

class ResidentOfShape : public ResidentTest, public testing::WithParamInterface<Shape> {};

// Rows around a warp, 128 (lanes of a row), 256 and 512 (rows at a time); features around every
// number of column lanes, 512 (columns of a thread) and the limit; groups whole and broken.
constexpr Shape shapes[] = {
    {1, 1, 1},    {2, 2, 2},    {7, 7, 7},    {31, 31, 9},  {32, 32, 8},   {33, 33, 3},
    {1, 1000, 2}, {1000, 1, 5}, {128, 2, 8},  {129, 3, 9},  {64, 17, 4},   {65, 64, 5},
    {256, 16, 3}, {257, 65, 2}, {511, 9, 3},  {512, 63, 2}, {513, 8, 13},  {1031, 31, 3},
    {2000, 5, 4}, {33, 513, 3}, {31, 512, 2}, {7, 1024, 2}, {20, 1023, 1}, {1200, 32, 1},
};
INSTANTIATE_TEST_SUITE_P(Shapes, ResidentOfShape, testing::ValuesIn(shapes), [](const auto& p) {
  return fmt::format("n{}_d{}_C{}", p.param.n, p.param.d, p.param.chains);
});

//   |g_j - exact| <= sum_i |x_ij| ( gamma_{D+1} |r_i|        D = depth() additions, and the product
//                                  + gamma_16 |r_i|         exp and the operations of the residual
//                                  + phi gamma_{d+1} sum_k |x_ik theta_k| )   the logit; theta
// in the arithmetic of the gradient, phi = 1/4; what underflows costs at most its smallest normal.
// The move is double: 8 roundings of its parts, and 16 of the noise, whose functions differ
// (random_bits).
TEST_P(ResidentOfShape, OneStepIsWithinItsBound) {
  const auto [n, d, chains] = GetParam();
  const OddRows p = support::make_odd_rows(n, d, 1);
  const Ensemble e = support::make_odd_chains(chains, d);
  std::vector<double> noise(d);
  for (const bool single : {false, true}) {
    const double u = single ? float_roundoff : double_roundoff;
    const double smallest = single ? static_cast<double>(std::numeric_limits<float>::min())
                                   : std::numeric_limits<double>::min();
    const auto depth = static_cast<double>(kernels::resident_depth(n, d));
    const std::vector<double> got = launch(p, e, 4, single, 1);
    for (std::size_t c = 0; c < chains; ++c) {
      std::vector<long double> exact(d, 0);
      std::vector<double> bound(d, 0);
      for (std::size_t i = 0; i < n; ++i) {
        const auto [z, magnitude] = support::exact_logit(p, i, e.chain(c).data());
        const long double r = -p.y[i] / (1 + std::exp(z * p.y[i]));
        const double of_derivative =
            (gamma_k(depth + 1, u) + gamma_k(16, u)) * static_cast<double>(std::fabs(r)) +
            0.25 * gamma_k(static_cast<double>(d) + 1, u) * magnitude + smallest;
        for (std::size_t j = 0; j < d; ++j) {
          exact[j] += r * p.x[i * d + j];
          bound[j] += std::fabs(static_cast<double>(p.x[i * d + j])) * of_derivative + smallest;
        }
      }
      const ChainSpec& spec = e.specs[c];
      fill_normals(spec.key, spec.stream, e.step[c], noise);
      const double h = spec.step_size, beta = spec.inverse_temperature, m = spec.prior_precision;
      for (std::size_t j = 0; j < d; ++j) {
        const double theta = e.chain(c)[j], center = spec.center.empty() ? 0 : spec.center[j];
        const auto g = static_cast<double>(exact[j]);
        const double xi = std::sqrt(2 * h) * noise[j];
        const double moved = theta - h * (beta * g + m * (theta - center)) + xi;
        const double parts = std::fabs(theta) + h * beta * std::fabs(g) +
                             h * m * (std::fabs(theta) + std::fabs(center)) + std::fabs(xi);
        // Twice the roundings: `moved` has them too.
        const double most = h * beta * bound[j] * (1 + 1e-3) +
                            2 * gamma_k(8, double_roundoff) * parts +
                            gamma_k(16, double_roundoff) * std::fabs(xi);
        ASSERT_TRUE(std::fabs(got[c * d + j] - moved) <= most)
            << (single ? "float " : "double ") << "chain " << c << " coordinate " << j << ": "
            << got[c * d + j] << " for " << moved << ", bound " << most;
      }
    }
  }
}

// A chain's bits do not depend on the size of its group (1, 4 or 8) or its place there. Nor do they
// depend on how uploads, the clock or an offset cut the steps into launches. Chains rest at their
// T.
TEST_P(ResidentOfShape, BitsAreOfTheChainAlone) {
  const auto [n, d, chains] = GetParam();
  const OddRows p = support::make_odd_rows(n, d, 2);
  const Ensemble e = support::make_odd_chains(chains, d);  // T = 2, 3, 4, 5, 2, ...
  for (const bool single : {false, true}) {
    if (single && n * d > 10'000) continue;  // nothing new
    const std::vector<double> whole = launch(p, e, 1, single, 9);
    EXPECT_NE(whole, e.theta);
    EXPECT_EQ(launch(p, e, 4, single, 9), whole);
    EXPECT_EQ(launch(p, e, 8, single, 9), whole);

    Ensemble reversed = e;
    std::ranges::reverse(reversed.specs);
    for (std::size_t c = 0; c < chains; ++c) {
      std::ranges::copy(e.chain(c), reversed.chain(chains - 1 - c).begin());
    }
    reversed.theta = launch(p, reversed, 8, single, 9);
    for (std::size_t c = 0; c < chains; ++c) {
      ASSERT_TRUE(std::ranges::equal(std::as_const(reversed).chain(chains - 1 - c),
                                     std::span(&whole[c * d], d)))
          << c;
    }

    Ensemble cut = e;
    cut.theta = launch(p, cut, 4, single, 1);
    cut.theta = launch(p, cut, 4, single, 0, 1);
    cut.theta = launch(p, cut, 8, single, 1, 1);
    cut.theta = launch(p, cut, 1, single, 1, 1, 1);
    for (std::size_t c = 0; c < chains; ++c) {
      cut.step[c] = std::min<std::uint64_t>(3, cut.specs[c].iterations);
    }
    cut.theta = launch(p, cut, 4, single, 9);
    EXPECT_EQ(cut.theta, whole);
  }
}

// The promise of float64 arithmetic holds for whatever fits the largest block.
TEST_F(ResidentTest, DepthIsWithinThePromise) {
  for (std::size_t d = 1; d <= kernels::resident_most_features; ++d) {
    for (std::size_t n = 1; kernels::resident_pool(n, d, 1, false).bytes <= 227 << 10;
         n += 1 + n / 16) {
      ASSERT_LE(kernels::resident_depth(n, d), accumulation_depth(n)) << n << " " << d;
    }
  }
}

TEST_F(ResidentTest, RefusesWhatDoesNotFit) {
  cuda::Gpu gpu = device_->gpu();
  gpu.shared_bytes = std::size_t{227} << 10;
  const auto why_not = [&](std::size_t n, std::size_t d, Arithmetic arithmetic) {
    return cuda::why_not(Design::resident, {n, d, 100}, arithmetic, gpu);
  };
  EXPECT_EQ(why_not(500, 100, Arithmetic::float64), "");
  EXPECT_EQ(why_not(500, 100, Arithmetic::float32), "");
  EXPECT_NE(why_not(500, 100, Arithmetic::bfloat16), "");
  EXPECT_NE(why_not(600, 100, Arithmetic::float64), "");
  EXPECT_EQ(why_not(20, 1024, Arithmetic::float64), "");
  EXPECT_NE(why_not(20, 1025, Arithmetic::float64), "");
  gpu.shared_bytes = std::size_t{163} << 10;
  EXPECT_NE(why_not(500, 100, Arithmetic::float64), "");
}

// In the engine, a long run is several launches; it agrees with the reference where both are short.
TEST_F(ResidentTest, EngineMovesChains) {
  const auto load = [&](const OddRows& p, Arithmetic arithmetic) {
    return cuda::make_cuda_backend(support::make_test_device(GIBBSITE_TEST_DEVICE),
                                   {arithmetic, "resident"})
        ->load(p.view(), p.y, loss_named("logistic"));
  };
  const OddRows p = support::make_odd_rows(300, 6, 3);
  const Ensemble begin = support::make_odd_chains(5, p.d);
  for (const Arithmetic arithmetic : {Arithmetic::float64, Arithmetic::float32}) {
    const auto engine = load(p, arithmetic);
    Ensemble whole = begin, cut = begin;
    engine->advance(whole, 1000);
    EXPECT_TRUE(whole.finished());
    EXPECT_TRUE(engine->design().starts_with("resident")) << engine->design();
    for (const std::uint64_t steps : {1u, 0u, 2u, 1000u}) engine->advance(cut, steps);
    EXPECT_EQ(cut.theta, whole.theta);
  }

  // 2^20 rows and steps to a launch: 52 steps and 8.
  const OddRows high = support::make_odd_rows(20'000, 1, 4);
  Ensemble whole = support::make_odd_chains(1, 1);
  whole.specs[0].iterations = 60;
  Ensemble cut = whole;
  const auto engine = load(high, Arithmetic::float64);
  engine->advance(whole, 1000);
  EXPECT_TRUE(whole.finished());
  engine->advance(cut, 7);
  engine->advance(cut, 1000);
  EXPECT_EQ(cut.theta, whole.theta);
}

}  // namespace resident_test
}  // namespace gibbsite
