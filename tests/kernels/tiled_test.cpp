// Design D against a long-double oracle, within the bound of float arithmetic.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/cuda/source.hpp"
#include "gibbsite/core/error.hpp"
#include "kernels/losses.hpp"
#include "support/backend.hpp"
#include "support/odd_rows.hpp"

namespace gibbsite {
namespace tiled_test {

using cuda::Design;
using support::DeviceArray;
using support::OddRows;

constexpr double u = 0x1p-24;  // unit roundoff of float
double gamma_k(double k) { return k * u / (1 - k * u); }

constexpr std::size_t range_rows = 128;  // of a small run

struct Shape {
  std::size_t n, d, chains;
};
void PrintTo(const Shape& s, std::ostream* out) {
  *out << fmt::format("{} x {}, {} chains", s.n, s.d, s.chains);
}

// Partials of the source, of the first `rows` rows.
std::vector<float> partials(cuda::Device& device, const cuda::DeviceProblem& problem,
                            const OddRows& p, std::span<const double> theta, float after = 0) {
  const std::size_t chains = theta.size() / p.d;
  const auto source = cuda::make_source(Design::tiled, problem);
  EXPECT_TRUE(source->single_partials());
  std::vector<float> padded = p.x;
  // What a longer chunk left there, or zeros.
  padded.resize(kernels::round_up_to(p.n * p.d + 4, 4) + (after == 0 ? 0 : 300 * p.d), after);
  const DeviceArray<float> x(device, std::span<const float>(padded)),
      y(device, std::span<const float>(p.y));
  const DeviceArray<double> thetas(device, theta);
  const DeviceArray<float> out(device, source->partials(p.n) * theta.size());
  source->enqueue(device, {x.view(), y.view(), p.n}, thetas.view(), chains, out.bytes(), nullptr);
  return out.read();
}

cuda::DeviceProblem problem_of(const cuda::Device& device, const OddRows& p, std::size_t chains) {
  return {
      {p.n, p.d, chains}, Arithmetic::float32, kernels::index_of_loss("logistic"), device.gpu()};
}

// Partials summed as kernels::Finish does, up to the order: [C x d].
std::vector<double> sum(const std::vector<float>& partials, std::size_t cells) {
  std::vector<double> sums(cells, 0);
  for (std::size_t i = 0; i < partials.size(); ++i) {
    sums[i % cells] += static_cast<double>(partials[i]);
  }
  return sums;
}

//   |g_j - exact| <= sum_i |x_ij| ( gamma_{D+1} |r_i|        at most D additions, and the product
//                                  + gamma_16 |r_i|         exp and the operations of the residual
//                                  + phi gamma_{d+1} sum_k |x_ik theta_k| )   the logit; theta in
//                                  float
// with D = rows of a range, phi = 1/4. What underflows, in r or in a product, costs at most the
// smallest normal. The sum of ranges in double is covered by the factor, second orders too.
void expect_within_bound(const OddRows& p, const std::vector<double>& theta,
                         const std::vector<double>& got) {
  const std::size_t chains = theta.size() / p.d;
  const double smallest = std::numeric_limits<float>::min();
  const auto depth = static_cast<double>(std::min(p.n, range_rows)) + 1;
  const auto d = static_cast<double>(p.d);
  for (std::size_t c = 0; c < chains; ++c) {
    std::vector<long double> exact(p.d, 0);
    std::vector<double> bound(p.d, 0);
    for (std::size_t i = 0; i < p.n; ++i) {
      const auto [z, magnitude] = support::exact_logit(p, i, &theta[c * p.d]);
      const long double r = -p.y[i] / (1 + std::exp(z * p.y[i]));
      const double of_derivative =
          (gamma_k(depth) + gamma_k(16)) * static_cast<double>(std::fabs(r)) +
          0.25 * gamma_k(d + 1) * magnitude + smallest;
      for (std::size_t j = 0; j < p.d; ++j) {
        exact[j] += r * p.x[i * p.d + j];
        bound[j] += std::fabs(static_cast<double>(p.x[i * p.d + j])) * of_derivative + smallest;
      }
    }
    for (std::size_t j = 0; j < p.d; ++j) {
      const double error = std::fabs(got[c * p.d + j] - static_cast<double>(exact[j]));
      ASSERT_TRUE(error <= bound[j] * (1 + 1e-3))
          << "chain " << c << " coordinate " << j << ": " << got[c * p.d + j] << " for "
          << static_cast<double>(exact[j]) << ", bound " << bound[j];
    }
  }
}

class Tiled : public support::DeviceTest {
 protected:
  Tiled() : DeviceTest(GIBBSITE_TEST_DEVICE) {}
};

class TiledOfShape : public Tiled, public testing::WithParamInterface<Shape> {};

// Sizes around every tile: rows 64 and 128, chains 32 and 64, features 32, 64, 128, 256; d of every
// residue mod 4, multiples of 16 and 32 (permuted quads); several ranges, whole and broken.
constexpr Shape shapes[] = {
    {1, 1, 1},     {2, 2, 2},      {7, 7, 7},      {31, 31, 31},   {32, 32, 32},   {33, 33, 33},
    {1, 256, 65},  {33, 1, 1},     {7, 3, 64},     {64, 4, 63},    {127, 5, 9},    {128, 8, 33},
    {129, 12, 65}, {130, 16, 3},   {63, 48, 64},   {65, 54, 64},   {255, 64, 31},  {300, 63, 10},
    {64, 65, 32},  {129, 66, 40},  {190, 108, 33}, {257, 128, 64}, {128, 127, 2},  {65, 129, 33},
    {193, 130, 5}, {64, 160, 64},  {131, 255, 9},  {257, 256, 70}, {1000, 2, 129}, {1025, 20, 12},
    {1031, 9, 31}, {1024, 54, 10}, {1025, 32, 40},
};
INSTANTIATE_TEST_SUITE_P(Shapes, TiledOfShape, testing::ValuesIn(shapes), [](const auto& p) {
  return fmt::format("n{}_d{}_C{}", p.param.n, p.param.d, p.param.chains);
});

TEST_P(TiledOfShape, GradientIsWithinTheBoundOfFloat) {
  const auto [n, d, chains] = GetParam();
  const OddRows p = support::make_odd_rows(n, d, 1);
  const Ensemble e = support::make_odd_chains(chains, d);
  const cuda::DeviceProblem problem = problem_of(*device_, p, chains);
  ASSERT_EQ(cuda::why_not(Design::tiled, problem.shape, problem.arithmetic, problem.gpu), "");
  expect_within_bound(p, e.theta, sum(partials(*device_, problem, p, e.theta), e.theta.size()));
}

// A chain's sums are the same bits in a run of any number of chains, at any place in it; with one
// or two tiles of X in shared memory; whatever the multiprocessors; whatever follows the rows.
TEST_P(TiledOfShape, BitsAreOfTheChainAlone) {
  const auto [n, d, chains] = GetParam();
  const OddRows p = support::make_odd_rows(n, d, 2);
  const Ensemble e = support::make_odd_chains(chains, d);
  const cuda::DeviceProblem problem = problem_of(*device_, p, chains);
  const std::vector<float> all = partials(*device_, problem, p, e.theta);
  const std::size_t ranges = all.size() / e.theta.size();
  ASSERT_EQ(ranges, kernels::ceil_div(n, range_rows));

  std::vector<double> more(33 * d, 0.5);  // another tile of chains than that of few
  std::ranges::copy(e.chain(chains - 1), more.end() - static_cast<std::ptrdiff_t>(d));
  const std::vector<float> among = partials(*device_, problem_of(*device_, p, 33), p, more);
  const std::vector<float> alone =
      partials(*device_, problem_of(*device_, p, 1), p, e.chain(chains - 1));
  for (std::size_t k = 0; k < ranges; ++k) {
    for (std::size_t j = 0; j < d; ++j) {
      ASSERT_EQ(all[((k + 1) * chains - 1) * d + j], alone[k * d + j]) << k << " " << j;
      ASSERT_EQ(among[((k + 1) * 33 - 1) * d + j], alone[k * d + j]) << k << " " << j;
    }
  }

  cuda::DeviceProblem other = problem;
  other.gpu.multiprocessors = 999;
  other.gpu.shared_bytes = kernels::tiled_shared_bytes(d, chains, 1);  // one tile of X
  EXPECT_EQ(partials(*device_, other, p, e.theta), all);
  EXPECT_EQ(partials(*device_, problem, p, e.theta, 1e30f), all);
}

// A large run's range takes many tiles of rows, the last one broken: the same sums but for their
// order.
TEST_F(Tiled, LongRangesGoRoundTheTiles) {
  const OddRows p = support::make_odd_rows(2000, 68, 3);
  const Ensemble e = support::make_odd_chains(9, p.d);
  cuda::DeviceProblem problem = problem_of(*device_, p, 9);
  const std::vector<double> sums = sum(partials(*device_, problem, p, e.theta), e.theta.size());
  problem.shape.rows = 3'000'000;  // ranges of 4096 rows
  const std::vector<float> one = partials(*device_, problem, p, e.theta);
  ASSERT_EQ(one.size(), e.theta.size());
  // Both sums of the same rounded terms, of at most 2000 and 128 additions in float.
  const std::vector<double> whole = sum(one, e.theta.size());
  std::vector<double> magnitude(p.d, 0);
  for (std::size_t i = 0; i < p.x.size(); ++i) {
    magnitude[i % p.d] += std::fabs(static_cast<double>(p.x[i]));
  }
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_TRUE(std::fabs(whole[i] - sums[i]) <=
                gamma_k(2001 + 129) * (magnitude[i % p.d] + std::numeric_limits<float>::min()))
        << i;
  }
}

// A shape is refused exactly where the block does not fit; on every GPU the rest runs.
TEST_F(Tiled, RefusesWhatDoesNotFit) {
  cuda::Gpu gpu = device_->gpu();
  const cuda::Shape shape{100, 256, 64};
  EXPECT_NE(cuda::why_not(Design::tiled, shape, Arithmetic::float64, gpu), "");
  EXPECT_NE(cuda::why_not(Design::tiled, shape, Arithmetic::bfloat16, gpu), "");
  EXPECT_NE(cuda::why_not(Design::tiled, {100, 257, 64}, Arithmetic::float32, gpu), "");
  for (const std::size_t bytes : {std::size_t{227} << 10, std::size_t{163} << 10}) {
    gpu.shared_bytes = bytes;
    for (std::size_t d = 1; d <= 256; ++d) {
      for (const std::size_t chains : {1u, 32u, 33u, 1000u}) {
        EXPECT_EQ(cuda::why_not(Design::tiled, {100, d, chains}, Arithmetic::float32, gpu), "");
      }
    }
  }
  gpu.shared_bytes = std::size_t{99} << 10;  // compute capability 8.6
  EXPECT_NE(cuda::why_not(Design::tiled, shape, Arithmetic::float32, gpu), "");
  EXPECT_EQ(cuda::why_not(Design::tiled, {100, 54, 64}, Arithmetic::float32, gpu), "");
}

// In the engine: resident and streamed, steps cut anyhow; one step is the exact one within
// h beta times the gradient's bound.
TEST_F(Tiled, EngineMovesChains) {
  const OddRows p = support::make_odd_rows(3000, 21, 4);
  const Ensemble begin = support::make_odd_chains(40, p.d);
  const BackendOptions options{Arithmetic::float32, "tiled"};
  const auto load = [&](std::shared_ptr<cuda::Device> device) {
    return cuda::make_cuda_backend(std::move(device), options)
        ->load(p.view(), p.y, loss_named("logistic"));
  };
  const auto engine = load(support::make_test_device(GIBBSITE_TEST_DEVICE));
  EXPECT_FALSE(engine->certifiable());
  std::vector<double> out(begin.theta.size());
  engine->loss_gradients({begin.theta.data(), 40, p.d}, {out.data(), 40, p.d});
  expect_within_bound(p, begin.theta, out);
  EXPECT_TRUE(engine->design().starts_with("tiled")) << engine->design();

  Ensemble whole = begin, cut = begin;
  engine->advance(whole, 1000);
  EXPECT_TRUE(whole.finished());
  for (const std::uint64_t steps : {1u, 0u, 2u, 1000u}) engine->advance(cut, steps);
  EXPECT_EQ(cut.theta, whole.theta);

  if (std::string_view(GIBBSITE_TEST_DEVICE) != "emulated") return;  // of a small GPU
  const auto small = load(support::make_emulated_device({.total_bytes = 300'000}));
  small->loss_gradients({begin.theta.data(), 40, p.d}, {out.data(), 40, p.d});
  EXPECT_TRUE(small->design().find("streamed") != std::string::npos) << small->design();
  expect_within_bound(p, begin.theta, out);
}

}  // namespace tiled_test
}  // namespace gibbsite
