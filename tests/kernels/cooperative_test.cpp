// Design B step by step against a long-double oracle, and its bits.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "engine/cuda/source.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/core/summation.hpp"
#include "kernels/losses.hpp"
#include "support/backend.hpp"
#include "support/odd_rows.hpp"
#include "support/repeats.hpp"
#include "support/roundings.hpp"

namespace gibbsite {
namespace cooperative_test {

using cuda::Design;
using support::DeviceArray;
using support::OddRows;

using support::gamma_k;
constexpr double u_double = support::unit_roundoff, u_float = 0x1p-24;

// Chains on the device as the engine uploads them; steps through the loop of design B.
class Chains {
 public:
  Chains(cuda::Device& device, const cuda::DeviceProblem& problem, const OddRows& p,
         const Ensemble& e)
      : device_(device),
        loop_(cuda::make_loop(Design::cooperative, problem)),
        x_(device, padded(p.x)),
        y_(device, padded(p.y)),
        theta_(device, std::span<const double>(e.theta)),
        centers_(device, centers(e)),
        chain_(device, chains(e)),
        clock_(device, std::vector<std::uint64_t>(1, 0)),
        scratch_(device, loop_->scratch_bytes()),
        run_{{x_.view(), y_.view(), p.n},
             theta_.view(),
             centers_.view(),
             chain_.view(),
             clock_.view(),
             e.chains(),
             p.d} {}

  void advance(std::uint64_t steps) {
    loop_->enqueue(device_, run_, steps, scratch_.bytes());
    device_.synchronize();
  }
  void set_clock(std::uint64_t steps) {
    device_.copy_in(cuda::Queue::compute, clock_.bytes(), &steps, sizeof(steps));
    device_.synchronize();
  }
  [[nodiscard]] std::vector<double> theta() const { return theta_.read(); }
  [[nodiscard]] std::size_t depth() const { return loop_->depth(); }

 private:
  static std::vector<float> padded(std::vector<float> values) {
    values.resize(kernels::round_up_to(values.size(), 4), 0.0f);
    return values;
  }
  static std::vector<double> centers(const Ensemble& e) {
    std::vector<double> all;
    for (const ChainSpec& spec : e.specs) {
      all.insert(all.end(), spec.center.begin(), spec.center.end());
      if (spec.center.empty()) all.resize(all.size() + e.features, 0.0);
    }
    return all;
  }
  static std::vector<kernels::Chain> chains(const Ensemble& e) {
    std::vector<kernels::Chain> all;
    for (std::size_t c = 0; c < e.chains(); ++c) {
      all.push_back(kernels::make_chain(e.specs[c], e.step[c]));
    }
    return all;
  }

  cuda::Device& device_;
  std::unique_ptr<cuda::StepLoop> loop_;
  DeviceArray<float> x_, y_;
  DeviceArray<double> theta_, centers_;
  DeviceArray<kernels::Chain> chain_;
  DeviceArray<std::uint64_t> clock_;
  DeviceArray<std::byte> scratch_;
  cuda::Residents run_;
};

struct Shape {
  std::size_t n, d, chains;
};
void PrintTo(const Shape& s, std::ostream* out) {
  *out << fmt::format("{} x {}, {} chains", s.n, s.d, s.chains);
}

class Cooperative : public support::DeviceTest {
 protected:
  Cooperative() : DeviceTest(GIBBSITE_TEST_DEVICE) {}
  [[nodiscard]] cuda::DeviceProblem problem(const Shape& s,
                                            Arithmetic arithmetic = Arithmetic::float64) const {
    return {{s.n, s.d, s.chains}, arithmetic, kernels::index_of_loss("logistic"), device_->gpu()};
  }
};
class CooperativeOfShape : public Cooperative, public testing::WithParamInterface<Shape> {};

// Features around 8, 32, 64, 128, 256 and the tiles of 8; every group of chains; one leaf (128
// rows), several a block, more than the 32 and the 256 that are read at once.
constexpr Shape shapes[] = {
    {1, 1, 1},     {1, 7, 8},    {2, 2, 2},     {2, 256, 3},  {7, 31, 7},    {31, 8, 1},
    {32, 9, 4},    {33, 33, 5},  {127, 65, 1},  {128, 32, 2}, {129, 128, 1}, {130, 129, 1},
    {150, 64, 3},  {257, 7, 8},  {300, 255, 8}, {1025, 2, 2}, {1100, 33, 1}, {1300, 17, 3},
    {200, 108, 8}, {4300, 3, 1}, {33000, 1, 1},
};
// The remaining groups of chains for each shape of a leaf (kernels/leaf_gradient.hpp). Both lists
// together run every kernel of the family.
constexpr Shape other_kernels[] = {
    {140, 5, 3}, {140, 20, 1}, {140, 50, 2}, {140, 100, 2}, {140, 100, 3}, {140, 200, 2},
};
const auto shape_name = [](const auto& p) {
  return fmt::format("n{}_d{}_C{}", p.param.n, p.param.d, p.param.chains);
};
INSTANTIATE_TEST_SUITE_P(Shapes, CooperativeOfShape, testing::ValuesIn(shapes), shape_name);
INSTANTIATE_TEST_SUITE_P(OtherKernels, CooperativeOfShape, testing::ValuesIn(other_kernels),
                         shape_name);

// One step from `before` of `step[c]` steps done:
//   |g_j - exact| <= sum_i |x_ij| ( gamma_{D+1} |r_i|       additions, and the product
//                                  + gamma_16 |r_i|        exp and the operations of the residual
//                                  + phi gamma_{d+1} sum_k |x_ik theta_k| )   the logit; theta in
//                                                                             float
// with D the loop's depth, phi = 1/4 and the unit roundoff of the arithmetic; what underflows costs
// at most its smallest normal; then 8 roundings of each part of the update in double, and of the
// noise, whose log, sin and cos are the device's.
void expect_step(const OddRows& p, const Ensemble& e, std::span<const double> before,
                 std::span<const double> after, std::uint64_t steps_done, double depth, double u) {
  const double smallest = u == u_double ? std::numeric_limits<double>::min()
                                        : static_cast<double>(std::numeric_limits<float>::min());
  std::vector<double> noise(p.d);
  for (std::size_t c = 0; c < e.chains(); ++c) {
    const double* const theta = &before[c * p.d];
    const ChainSpec& spec = e.specs[c];
    if (steps_done >= spec.iterations) {
      for (std::size_t j = 0; j < p.d; ++j)
        ASSERT_EQ(after[c * p.d + j], theta[j]) << c << " " << j;
      continue;
    }
    std::vector<long double> g(p.d, 0);
    std::vector<double> bound(p.d, 0);
    for (std::size_t i = 0; i < p.n; ++i) {
      const auto [z, magnitude] = support::exact_logit(p, i, theta);
      const long double r = -p.y[i] / (1 + std::exp(z * p.y[i]));
      const double of_derivative =
          (gamma_k(depth + 1, u) + gamma_k(16, u)) * static_cast<double>(std::fabs(r)) +
          0.25 * gamma_k(static_cast<double>(p.d) + 1, u) * magnitude + smallest;
      for (std::size_t j = 0; j < p.d; ++j) {
        const float x = p.x[i * p.d + j];
        g[j] += r * x;
        bound[j] += std::fabs(static_cast<double>(x)) * of_derivative + smallest;
      }
    }
    fill_normals(spec.key, spec.stream, steps_done, noise);
    const long double h = spec.step_size;
    for (std::size_t j = 0; j < p.d; ++j) {
      const long double from_center = theta[j] - (spec.center.empty() ? 0.0L : spec.center[j]);
      const long double drift = h * spec.inverse_temperature * g[j];
      const long double prior = h * spec.prior_precision * from_center;
      const long double kick = std::sqrt(2 * h) * noise[j];
      const long double exact = theta[j] - drift - prior + kick;
      const long double parts = std::fabs(static_cast<long double>(theta[j])) + std::fabs(drift) +
                                std::fabs(prior) + 2 * std::fabs(kick);
      const long double allowed =
          h * spec.inverse_temperature * bound[j] + gamma_k(8, u_double) * parts;
      ASSERT_TRUE(std::fabs(after[c * p.d + j] - exact) <= allowed * (1 + 1e-3L))
          << "chain " << c << " coordinate " << j << ": " << after[c * p.d + j] << " for "
          << static_cast<double>(exact) << ", allowed " << static_cast<double>(allowed);
    }
  }
}

// Two launches of a step, then one that goes on from the clock: chains that are done rest.
TEST_P(CooperativeOfShape, EveryStepIsWithinItsBound) {
  const Shape s = GetParam();
  const OddRows p = support::make_odd_rows(s.n, s.d, 1);
  const Ensemble e = support::make_odd_chains(s.chains, s.d);  // T = 2, 3, 4, 5, 2, ...
  for (const Arithmetic arithmetic : {Arithmetic::float64, Arithmetic::float32}) {
    const cuda::DeviceProblem here = problem(s, arithmetic);
    ASSERT_EQ(cuda::why_not(Design::cooperative, here.shape, arithmetic, here.gpu), "");
    Chains run(*device_, here, p, e);
    EXPECT_LE(run.depth(), accumulation_depth(s.n));
    std::vector<double> before = e.theta;
    for (std::uint64_t step = 0; step < (s.n > 2000 ? 1 : 3); ++step) {
      run.set_clock(step);
      run.advance(1);
      const std::vector<double> after = run.theta();
      expect_step(p, e, before, after, step, static_cast<double>(run.depth()),
                  arithmetic == Arithmetic::float64 ? u_double : u_float);
      before = after;
    }
  }
}

// All steps in one launch or cut, on any number of multiprocessors: the same bits.
TEST_P(CooperativeOfShape, BitsDependOnTheRowsAlone) {
  const Shape s = GetParam();
  const OddRows p = support::make_odd_rows(s.n, s.d, 2);
  const Ensemble e = support::make_odd_chains(s.chains, s.d);
  const std::uint64_t steps = s.n > 2000 ? 2 : support::repeats(5UL, 2UL);
  const cuda::DeviceProblem here = problem(s);
  Chains whole(*device_, here, p, e), cut(*device_, here, p, e);
  whole.advance(steps);
  cut.advance(1);
  cut.set_clock(1);
  cut.advance(steps - 1);
  EXPECT_EQ(cut.theta(), whole.theta());
  for (const unsigned multiprocessors : {1u, 3u}) {
    if (support::sanitized && s.n > 30000 && multiprocessors == 1) continue;  // seconds
    if (name_ != "emulated") break;
    const auto other = support::make_emulated_device({.multiprocessors = multiprocessors});
    Chains run(*other, here, p, e);
    run.advance(steps);
    EXPECT_EQ(run.theta(), whole.theta()) << multiprocessors;
  }
}

TEST_P(CooperativeOfShape, PermutingChainsPermutesResults) {
  const Shape s = GetParam();
  if (s.chains == 1) return;
  const OddRows p = support::make_odd_rows(s.n, s.d, 3);
  const Ensemble e = support::make_odd_chains(s.chains, s.d);
  Ensemble reversed = e;
  std::ranges::reverse(reversed.specs);
  for (std::size_t c = 0; c < s.chains; ++c) {
    std::ranges::copy(e.chain(c), reversed.chain(s.chains - 1 - c).begin());
  }
  Chains one(*device_, problem(s), p, e), other(*device_, problem(s), p, reversed);
  one.advance(2);
  other.advance(2);
  const std::vector<double> a = one.theta(), b = other.theta();
  for (std::size_t c = 0; c < s.chains; ++c) {
    for (std::size_t j = 0; j < s.d; ++j) {
      ASSERT_EQ(a[c * s.d + j], b[(s.chains - 1 - c) * s.d + j]) << c << " " << j;
    }
  }
}

TEST_F(Cooperative, RefusesWhatItCannotDo) {
  cuda::Gpu gpu;
  gpu.l2_bytes = std::size_t{50} << 20;
  const auto why = [&](const cuda::Shape& shape) {
    return cuda::why_not(Design::cooperative, shape, Arithmetic::float64, gpu);
  };
  EXPECT_EQ(why({32561, 108, 8}), "");
  EXPECT_NE(why({32561, 108, 9}), "");
  EXPECT_NE(why({1000, 257, 1}), "");
  EXPECT_NE(why({581012, 54, 1}), "");
  // Each half of the cache keeps a copy of what all read; GPUs of another make have one.
  EXPECT_EQ(why({6'500'000, 1, 1}), "");
  EXPECT_NE(why({7'000'000, 1, 1}), "");
  gpu.capability = 89;
  EXPECT_EQ(why({13'000'000, 1, 1}), "");
  gpu.l2_bytes = std::size_t{1} << 32;  // where rows are short and many, the sum of leaves is long
  EXPECT_NE(why({500'000'000, 1, 1}), "");
}

// A launch ends now and then; where it ends is in no bit.
TEST_F(Cooperative, LongRunsAreLaunchesOfSomeSteps) {
  EXPECT_EQ(kernels::cooperative_most_steps(2, 1, 1), 2048U);
  EXPECT_EQ(kernels::cooperative_most_steps(32561, 108, 1), 2048U);
  EXPECT_EQ(kernels::cooperative_most_steps(32561, 108, 8), 305U);
  EXPECT_EQ(kernels::cooperative_most_steps(std::size_t{1} << 40, 1, 1), 1U);
  if (support::sanitized) GTEST_SKIP() << "long";
  const OddRows p = support::make_odd_rows(2, 1, 4);
  Ensemble begin = support::make_odd_chains(1, p.d);
  begin.specs[0].iterations = 3000;
  const auto advanced = [&](const support::EmulatedGpu& gpu, std::uint64_t first) {
    std::shared_ptr<cuda::Device> device = support::make_emulated_device(gpu);
    if (name_ == "cuda") device = device_;
    const auto engine = cuda::make_cuda_backend(device, {Arithmetic::float64, "cooperative"})
                            ->load(p.view(), p.y, loss_named("logistic"));
    Ensemble e = begin;
    if (first > 0) engine->advance(e, first);
    engine->advance(e, 2051 - first);
    return e.theta;
  };
  const std::vector<double> whole = advanced({}, 0);
  EXPECT_EQ(advanced({}, 100), whole);
  if (name_ == "emulated") {
    EXPECT_THROW(advanced({.fault_at_launch = 2}, 0), CudaError);
  }
}

// A block that the GPU's shared memory cannot hold is said to be so before the GPU is asked.
TEST_F(Cooperative, SaysThatTheGpuHoldsNoBlock) {
  if (name_ != "emulated") GTEST_SKIP() << "a card has the shared memory that it has";
  const OddRows p = support::make_odd_rows(700, 21, 4);
  const auto device = std::shared_ptr<cuda::Device>(
      support::make_emulated_device(support::EmulatedGpu{.shared_bytes = 1024}));
  const auto engine = cuda::make_cuda_backend(device, {Arithmetic::float64, "cooperative"})
                          ->load(p.view(), p.y, loss_named("logistic"));
  Ensemble chains = support::make_odd_chains(7, p.d);
  try {
    engine->advance(chains, 1);
    ADD_FAILURE() << "ran";
  } catch (const CudaError& e) {
    EXPECT_THAT(e.what(), ::testing::HasSubstr("holds no block of design cooperative"));
  }
}

// Whatever it takes, the longest path of additions keeps to the promise of every backend.
TEST_F(Cooperative, DepthKeepsThePromise) {
  cuda::Gpu gpu;
  gpu.l2_bytes = ~std::size_t{0};
  for (std::size_t n = 1; n < 1'000'000'000; n += 1 + n / 7) {
    const bool taken = cuda::why_not(Design::cooperative, {n, 1, 1}, {}, gpu).empty();
    const auto loop = cuda::make_loop(Design::cooperative, {{n, 1, 1}, {}, 0, gpu});
    EXPECT_EQ(taken, loop->depth() <= accumulation_depth(n)) << n;
    EXPECT_TRUE(taken || n > 20'000'000) << n;
  }
}

// In the engine: gradients come from design C, steps from the loop, cut anyhow.
TEST_F(Cooperative, EngineMovesChains) {
  const OddRows p = support::make_odd_rows(700, 21, 4);
  const Ensemble begin = support::make_odd_chains(7, p.d);
  const BackendOptions options{Arithmetic::float64, "cooperative"};
  const auto engine =
      cuda::make_cuda_backend(support::make_test_device(GIBBSITE_TEST_DEVICE), options)
          ->load(p.view(), p.y, loss_named("logistic"));
  Ensemble whole = begin, cut = begin;
  engine->advance(whole, 1000);
  EXPECT_TRUE(whole.finished());
  EXPECT_TRUE(engine->design().starts_with("cooperative")) << engine->design();
  std::vector<double> before = begin.theta;
  for (std::uint64_t step = 0; step < 5; ++step) {
    engine->advance(cut, 1);
    expect_step(p, begin, before, cut.theta, step, static_cast<double>(accumulation_depth(p.n)),
                u_double);
    before = cut.theta;
  }
  EXPECT_EQ(cut.theta, whole.theta);
}

}  // namespace cooperative_test
}  // namespace gibbsite
