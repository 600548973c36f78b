// Design G: the maps of its instruction against their sources, then the kernel against a
// long-double oracle, within the bound that certificates count on, whatever order an instruction
// adds in.
#include "kernels/double_matrix.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "engine/cuda/engine.hpp"
#include "engine/cuda/source.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/summation.hpp"
#include "kernels/losses.hpp"
#include "support/backend.hpp"
#include "support/double_unit.hpp"
#include "support/odd_rows.hpp"

namespace gibbsite {
namespace double_matrix_test {

using cuda::Design;
using support::DeviceArray;
using support::DoubleOrder;
using support::OddRows;

const bool emulated = std::string_view(GIBBSITE_TEST_DEVICE) == "emulated";

// ---- the maps ----

// CuTe, evaluated as it does, matrices column-major: SM90_16x8x4_F64F64F64F64_TN has
// A ((4,8),2):((16,1),8) of [16 x 4], B ((4,8),1):((8,1),0) of [8 x 4] (n, k),
// C ((4,8),(2,2)):((32,1),(16,8)) of [16 x 8].
TEST(DoubleUnit, FragmentsAreThoseOfTheSources) {
  std::set<unsigned> a, b, d;
  for (unsigned t = 0; t < 32; ++t) {
    const unsigned low = t % 4, high = t / 4;
    for (unsigned r = 0; r < 2; ++r) {
      const unsigned place = low * 16 + high + 8 * r;
      EXPECT_EQ(kernels::double_a_row(t, r), place % 16);
      EXPECT_EQ(kernels::double_a_column(t), place / 16);
      a.insert(place);
    }
    EXPECT_EQ(kernels::double_b_column(t), (low * 8 + high) % 8);
    EXPECT_EQ(kernels::double_b_row(t), (low * 8 + high) / 8);
    b.insert(low * 8 + high);
    for (unsigned r = 0; r < 4; ++r) {
      const unsigned place = low * 32 + high + r % 2 * 16 + r / 2 * 8;
      EXPECT_EQ(kernels::double_d_row(t, r), place % 16);
      EXPECT_EQ(kernels::double_d_column(t, r), place / 16);
      d.insert(place);
    }
    // 8 x 8 x 4 of older GPUs: A ((4,8),1):((8,1),0), C ((4,8),2):((16,1),8) of [8 x 8]; row
    // halves of the larger one.
    for (unsigned r = 0; r < 4; ++r) {
      const unsigned place = low * 16 + high + r % 2 * 8;
      EXPECT_EQ(kernels::double_d_row(t, r), place % 8 + r / 2 * 8);
      EXPECT_EQ(kernels::double_d_column(t, r), place / 8);
      EXPECT_EQ(kernels::double_a_row(t, r / 2), (low * 8 + high) % 8 + r / 2 * 8);
    }
  }
  EXPECT_EQ(a.size(), 64u);
  EXPECT_EQ(b.size(), 32u);
  EXPECT_EQ(d.size(), 128u);
}

// ---- the kernel ----

constexpr double u = 0x1p-53;
double gamma_k(double k) { return k * u / (1 - k * u); }

constexpr std::size_t range_rows = 128;  // of a small run

struct Shape {
  std::size_t n, d, chains;
};
void PrintTo(const Shape& s, std::ostream* out) {
  *out << fmt::format("{} x {}, {} chains", s.n, s.d, s.chains);
}

// Partials of the source; `after`: what a longer chunk left behind the rows, or zeros.
std::vector<double> partials(cuda::Device& device, const cuda::DeviceProblem& problem,
                             const OddRows& p, std::span<const double> theta, float after = 0) {
  const std::size_t chains = theta.size() / p.d;
  const auto source = cuda::make_source(Design::double_matrix, problem);
  EXPECT_FALSE(source->single_partials());
  std::vector<float> padded = p.x;
  padded.resize(kernels::round_up_to(p.n * p.d + 4, 4) + (after == 0 ? 0 : 300 * p.d), after);
  const DeviceArray<float> x(device, std::span<const float>(padded)),
      y(device, std::span<const float>(p.y));
  const DeviceArray<double> thetas(device, theta);
  const DeviceArray<double> out(device, source->partials(p.n) * theta.size());
  source->enqueue(device, {x.view(), y.view(), p.n}, thetas.view(), chains, out.bytes(), nullptr);
  return out.read();
}

cuda::DeviceProblem problem_of(const cuda::Device& device, const OddRows& p, std::size_t chains) {
  return {
      {p.n, p.d, chains}, Arithmetic::float64, kernels::index_of_loss("logistic"), device.gpu()};
}

// Up to the order as kernels::Finish does: [C x d].
std::vector<double> sum(const std::vector<double>& partials, std::size_t cells) {
  std::vector<double> sums(cells, 0);
  for (std::size_t i = 0; i < partials.size(); ++i) sums[i % cells] += partials[i];
  return sums;
}

// Step by step what docs/theory/map-error.md counts, coordinate by coordinate:
//   |g_j - exact| <= sum_i |x_ij| (gamma_{D+1} |r_i| + gamma_16 + phi gamma_d sum_k |x_ik theta_k|)
// with D additions between a row's term and the gradient and phi = 1/4; second orders in the
// factor.
void expect_within_bound(const OddRows& p, const std::vector<double>& theta,
                         const std::vector<double>& got, std::size_t additions) {
  const std::size_t chains = theta.size() / p.d;
  const double depth = gamma_k(static_cast<double>(additions + 1));
  const double logit = gamma_k(static_cast<double>(p.d));
  for (std::size_t c = 0; c < chains; ++c) {
    std::vector<long double> exact(p.d, 0);
    std::vector<double> bound(p.d, 0);
    for (std::size_t i = 0; i < p.n; ++i) {
      const auto [z, magnitude] = support::exact_logit(p, i, &theta[c * p.d]);
      const long double r = -p.y[i] / (1 + std::exp(z * p.y[i]));
      const double of_slope =
          depth * static_cast<double>(std::fabs(r)) + gamma_k(16) + 0.25 * logit * magnitude;
      for (std::size_t j = 0; j < p.d; ++j) {
        exact[j] += r * p.x[i * p.d + j];
        bound[j] += std::fabs(static_cast<double>(p.x[i * p.d + j])) * of_slope;
      }
    }
    for (std::size_t j = 0; j < p.d; ++j) {
      const double error = std::fabs(got[c * p.d + j] - static_cast<double>(exact[j]));
      ASSERT_TRUE(error <= bound[j] * (1 + 1e-6) + 1e-300)
          << "chain " << c << " coordinate " << j << ": " << got[c * p.d + j] << " for "
          << static_cast<double>(exact[j]) << ", bound " << bound[j];
    }
  }
}

class DoubleMatrix : public support::DeviceTest {
 protected:
  DoubleMatrix() : DeviceTest(GIBBSITE_TEST_DEVICE) {}
  void TearDown() override { support::double_order = DoubleOrder::ascending; }
};

class DoubleMatrixOfShape : public DoubleMatrix, public testing::WithParamInterface<Shape> {};

// Sizes around every tile: rows 16 and 128, chains 8 and 16, features 4, 16, 32, 64, 128, 256; d of
// every residue mod 8, several ranges, whole and broken.
constexpr Shape shapes[] = {
    {1, 1, 1},     {2, 2, 2},     {7, 7, 7},     {15, 3, 8},    {16, 4, 9},     {17, 5, 16},
    {31, 8, 17},   {33, 15, 4},   {100, 16, 5},  {127, 17, 6},  {128, 20, 8},   {129, 24, 24},
    {130, 31, 10}, {145, 32, 16}, {160, 33, 33}, {200, 54, 12}, {65, 63, 4},    {255, 64, 8},
    {256, 65, 9},  {257, 66, 3},  {33, 96, 40},  {144, 97, 8},  {190, 108, 16}, {64, 113, 5},
    {140, 128, 9}, {150, 127, 8}, {40, 129, 16}, {30, 160, 8},  {70, 200, 4},   {50, 255, 9},
    {129, 256, 5}, {1031, 9, 31},
};
INSTANTIATE_TEST_SUITE_P(Shapes, DoubleMatrixOfShape, testing::ValuesIn(shapes), [](const auto& p) {
  return fmt::format("n{}_d{}_C{}", p.param.n, p.param.d, p.param.chains);
});

TEST_P(DoubleMatrixOfShape, GradientIsWithinTheCertificatesBoundInAnyOrder) {
  const auto [n, d, chains] = GetParam();
  const OddRows p = support::make_odd_rows(n, d, 1);
  const Ensemble e = support::make_odd_chains(chains, d);
  const cuda::DeviceProblem problem = problem_of(*device_, p, chains);
  ASSERT_EQ(cuda::why_not(Design::double_matrix, problem.shape, problem.arithmetic, problem.gpu),
            "");
  const auto source = cuda::make_source(Design::double_matrix, problem);
  const std::size_t additions = source->depth(n) + source->partials(n);
  for (const DoubleOrder order :
       {DoubleOrder::ascending, DoubleOrder::descending, DoubleOrder::by_pairs}) {
    if (order != DoubleOrder::ascending && (!emulated || n * d * chains > 20'000)) continue;
    support::double_order = order;
    expect_within_bound(p, e.theta, sum(partials(*device_, problem, p, e.theta), e.theta.size()),
                        additions);
  }
}

// A chain's sums are the same bits in a run of any number of chains, at any place in it; with one
// or two tiles of X in shared memory; whatever the multiprocessors; whatever follows the rows.
TEST_P(DoubleMatrixOfShape, BitsAreOfTheChainAlone) {
  const auto [n, d, chains] = GetParam();
  const OddRows p = support::make_odd_rows(n, d, 2);
  const Ensemble e = support::make_odd_chains(chains, d);
  const cuda::DeviceProblem problem = problem_of(*device_, p, chains);
  const std::vector<double> all = partials(*device_, problem, p, e.theta);
  const std::size_t ranges = all.size() / e.theta.size();
  ASSERT_EQ(ranges, kernels::ceil_div(n, range_rows));

  std::vector<double> more(12 * d, 0.5);  // another tile of chains than that of few
  std::ranges::copy(e.chain(chains - 1), more.end() - static_cast<std::ptrdiff_t>(d));
  const std::vector<double> among = partials(*device_, problem_of(*device_, p, 12), p, more);
  const std::vector<double> alone =
      partials(*device_, problem_of(*device_, p, 1), p, e.chain(chains - 1));
  for (std::size_t k = 0; k < ranges; ++k) {
    for (std::size_t j = 0; j < d; ++j) {
      ASSERT_EQ(all[((k + 1) * chains - 1) * d + j], alone[k * d + j]) << k << " " << j;
      ASSERT_EQ(among[((k + 1) * 12 - 1) * d + j], alone[k * d + j]) << k << " " << j;
    }
  }

  cuda::DeviceProblem other = problem;
  other.gpu.multiprocessors = 999;
  other.gpu.shared_bytes = kernels::double_matrix_shared_bytes(d, chains, 1);  // one tile of X
  EXPECT_EQ(partials(*device_, other, p, e.theta), all);
  EXPECT_EQ(partials(*device_, problem, p, e.theta, 1e30f), all);
}

// A large run's range takes many tiles of rows for a warp, the last one broken: the same sums but
// for their order.
TEST_F(DoubleMatrix, LongRangesGoRoundTheTiles) {
  const OddRows p = support::make_odd_rows(1500, 36, 3);
  const Ensemble e = support::make_odd_chains(9, p.d);
  cuda::DeviceProblem problem = problem_of(*device_, p, 9);
  problem.shape.rows = 3'000'000;  // ranges of 4096 rows
  const std::vector<double> one = partials(*device_, problem, p, e.theta);
  ASSERT_EQ(one.size(), e.theta.size());
  expect_within_bound(p, e.theta, one, kernels::double_matrix_depth(1500));
}

// The longest path of additions, measured. At theta = 0 every slope is -y/2 exactly, so of terms 1
// and then a little less than u, each addition after the first loses its term whole: a coordinate
// is off by the additions between, in units of u. No order within an instruction makes it more than
// the depth that is promised, and rows of one warp nearly reach it.
TEST_F(DoubleMatrix, TheDepthIsThatOfTheSums) {
  const std::size_t n = 1024, d = 3, chains = 5;
  OddRows p{n, d, std::vector<float>(n * d, 0.9f * 0x1p-53f), std::vector<float>(n, -1.0f)};
  for (std::size_t j = 0; j < d; ++j) p.x[j] = 1;
  const std::vector<double> theta(chains * d, 0);
  cuda::DeviceProblem problem = problem_of(*device_, p, chains);
  problem.shape.rows = 3'000'000;  // one range
  const auto source = cuda::make_source(Design::double_matrix, problem);
  const auto depth = static_cast<double>(source->depth(n));
  EXPECT_EQ(depth, 16 * 8 + 8);  // 8 tiles of 16 rows a warp, 8 warps
  for (const DoubleOrder order :
       {DoubleOrder::ascending, DoubleOrder::descending, DoubleOrder::by_pairs}) {
    if (order != DoubleOrder::ascending && !emulated) continue;
    support::double_order = order;
    const std::vector<double> got = partials(*device_, problem, p, theta);
    ASSERT_EQ(got.size(), theta.size());
    long double exact = 0;
    for (std::size_t i = 0; i < n; ++i) exact += 0.5L * static_cast<long double>(p.x[i * d]);
    for (const double v : got) {
      const auto lost = static_cast<double>((exact - static_cast<long double>(v)) / (0.5L * u));
      EXPECT_LE(std::fabs(lost), depth);
      if (order == DoubleOrder::by_pairs) continue;
      EXPECT_GE(lost, 0.85 * 120);  // 127 additions of a warp
    }
  }
}

// A chain that diverged spoils nobody's sums but its own; what is no number comes out as none.
TEST_F(DoubleMatrix, AChainThatIsNotFiniteIsAlone) {
  const OddRows p = support::make_odd_rows(150, 21, 5);
  const Ensemble e = support::make_odd_chains(11, p.d);
  const cuda::DeviceProblem problem = problem_of(*device_, p, 11);
  const std::vector<double> whole = partials(*device_, problem, p, e.theta);
  std::vector<double> theta = e.theta;
  theta[3 * p.d + 20] = std::numeric_limits<double>::quiet_NaN();
  theta[9 * p.d] = std::numeric_limits<double>::infinity();
  const std::vector<double> got = partials(*device_, problem, p, theta);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::size_t c = i / p.d % 11;
    if (c == 3 || c == 9) {
      EXPECT_FALSE(std::isfinite(got[i]) && c == 3) << i;
    } else {
      EXPECT_EQ(got[i], whole[i]) << i;
    }
  }
}

// A shape is refused exactly where the block does not fit; on GPUs with room the rest runs.
TEST_F(DoubleMatrix, RefusesWhatDoesNotFit) {
  cuda::Gpu gpu = device_->gpu();
  const auto why = [&](std::size_t d, std::size_t chains, Arithmetic a) {
    return cuda::why_not(Design::double_matrix, {100, d, chains}, a, gpu);
  };
  EXPECT_NE(why(20, 8, Arithmetic::float32), "");
  EXPECT_NE(why(20, 8, Arithmetic::bfloat16), "");
  EXPECT_NE(why(257, 8, Arithmetic::float64), "");
  for (const std::size_t bytes : {std::size_t{227} << 10, std::size_t{163} << 10}) {
    gpu.shared_bytes = bytes;
    for (std::size_t d = 1; d <= 256; ++d) {
      for (const std::size_t chains : {1u, 8u, 9u, 1000u}) {
        EXPECT_EQ(why(d, chains, Arithmetic::float64), "") << d;
      }
    }
  }
  gpu.shared_bytes = std::size_t{99} << 10;  // compute capability 8.6
  EXPECT_NE(why(256, 8, Arithmetic::float64), "");
  EXPECT_EQ(why(108, 8, Arithmetic::float64), "");
}

// What a plan promises is within accumulation_depth, whatever the rows.
TEST_F(DoubleMatrix, PlansKeepThePromise) {
  for (const std::size_t n : {1ul, 100ul, 1024ul, 32561ul, 3'000'000ul, 100'000'000ul}) {
    const cuda::Shape shape{n, 20, 64};
    const auto source =
        cuda::make_source(Design::double_matrix, {shape, Arithmetic::float64, 0, device_->gpu()});
    const cuda::Layout layout = cuda::plan_layout(shape, *source, std::size_t{79} << 30);
    EXPECT_LE(cuda::summation_depth(*source, layout), accumulation_depth(n)) << n;
    EXPECT_GT(cuda::summation_depth(*source, layout), 0u);
  }
}

// In the engine: certified, resident and streamed, steps cut anyhow; with labels of both logistic
// losses.
TEST_F(DoubleMatrix, EngineMovesChains) {
  const OddRows p = support::make_odd_rows(3000, 21, 4);
  const Ensemble begin = support::make_odd_chains(12, p.d);
  const BackendOptions options{Arithmetic::float64, "double-matrix"};
  const auto load = [&](std::shared_ptr<cuda::Device> device, const char* loss) {
    return cuda::make_cuda_backend(std::move(device), options)
        ->load(p.view(), p.y, loss_named(loss));
  };
  const auto engine = load(support::make_test_device(GIBBSITE_TEST_DEVICE), "logistic");
  EXPECT_TRUE(engine->certifiable());
  std::vector<double> out(begin.theta.size());
  engine->loss_gradients({begin.theta.data(), 12, p.d}, {out.data(), 12, p.d});
  expect_within_bound(p, begin.theta, out, accumulation_depth(p.n));
  EXPECT_TRUE(engine->design().starts_with("double-matrix")) << engine->design();

  Ensemble whole = begin, cut = begin;
  engine->advance(whole, 1000);
  EXPECT_TRUE(whole.finished());
  for (const std::uint64_t steps : {1u, 0u, 2u, 1000u}) engine->advance(cut, steps);
  EXPECT_EQ(cut.theta, whole.theta);

  const auto capped =
      load(support::make_test_device(GIBBSITE_TEST_DEVICE), losses::logistic_capped::name);
  capped->loss_gradients({begin.theta.data(), 12, p.d}, {out.data(), 12, p.d});
  const auto cpu = make_backend("cpu")->load(p.view(), p.y, loss_named("logistic-capped"));
  std::vector<double> expected(out.size());
  cpu->loss_gradients({begin.theta.data(), 12, p.d}, {expected.data(), 12, p.d});
  for (std::size_t i = 0; i < out.size(); ++i) {
    double size = 0;
    for (std::size_t k = 0; k < p.n; ++k) {
      size += std::fabs(static_cast<double>(p.x[k * p.d + i % p.d]));
    }
    // Slopes of 1/2 at most; logits below 1e6, and two errors.
    EXPECT_NEAR(out[i], expected[i], 2 * size * (gamma_k(3200) + gamma_k(21) * 1e6 / 4)) << i;
  }

  if (!emulated) return;  // of a small GPU
  const auto small = load(support::make_emulated_device({.total_bytes = 300'000}), "logistic");
  small->loss_gradients({begin.theta.data(), 12, p.d}, {out.data(), 12, p.d});
  EXPECT_TRUE(small->design().find("streamed") != std::string::npos) << small->design();
  expect_within_bound(p, begin.theta, out, accumulation_depth(p.n));
}

}  // namespace double_matrix_test
}  // namespace gibbsite
