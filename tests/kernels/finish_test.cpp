// The last kernel of a step: its blocks of 8 and of 64 features give the same bits.
#include "kernels/finish.hpp"

#include <gtest/gtest.h>

#include <random>

#include "gibbsite/core/random.hpp"
#include "support/backend.hpp"
#include "support/odd_rows.hpp"
#include "support/repeats.hpp"

namespace gibbsite {
namespace finish_test {

using support::DeviceArray;

class FinishTest : public support::DeviceTest {
 protected:
  FinishTest() : DeviceTest(GIBBSITE_TEST_DEVICE) {}

  // A step of `chains` chains, or their gradients, from the same partials for all of them; what
  // became of chain 0, which moves, and chain 1, which is done.
  std::vector<double> step(std::size_t count, std::size_t d, std::size_t chains, bool single,
                           bool gradient) {
    std::mt19937 gen(5);
    std::normal_distribution<double> normal;
    std::vector<double> one(count * d), theta(d), center(d);
    for (double& v : one) v = static_cast<float>(normal(gen));
    for (double& v : theta) v = normal(gen);
    for (double& v : center) v = normal(gen);
    std::vector<double> partials, thetas, centers;
    std::vector<kernels::Chain> chain;
    for (std::size_t k = 0; k < count; ++k) {
      for (std::size_t c = 0; c < chains; ++c) {
        partials.insert(partials.end(), one.begin() + static_cast<std::ptrdiff_t>(k * d),
                        one.begin() + static_cast<std::ptrdiff_t>((k + 1) * d));
      }
    }
    for (std::size_t c = 0; c < chains; ++c) {
      thetas.insert(thetas.end(), theta.begin(), theta.end());
      centers.insert(centers.end(), center.begin(), center.end());
      ChainSpec spec{.key = StreamKey::from_seed(3)};
      spec.inverse_temperature = 0.2;
      spec.prior_precision = 0.5;
      spec.step_size = 1e-2;
      spec.iterations = c == 1 ? 4 : 9;
      chain.push_back(kernels::make_chain(spec, 1));
    }
    const std::vector<float> narrow(partials.begin(), partials.end());
    const std::uint64_t clock = 3;
    const DeviceArray<double> p(*device_, std::span<const double>(partials)),
        t(*device_, std::span<const double>(thetas)), m(*device_, std::span<const double>(centers)),
        g(*device_, std::span<const double>(thetas));
    const DeviceArray<float> f(*device_, std::span<const float>(narrow));
    const DeviceArray<kernels::Chain> specs(*device_, std::span<const kernels::Chain>(chain));
    const DeviceArray<std::uint64_t> clocks(*device_, std::span(&clock, 1));
    const kernels::View<double> none;
    device_->launch(kernels::Finish{.partials = single ? none : p.view(),
                                    .partials_single = single ? f.view() : kernels::View<float>(),
                                    .count = count,
                                    .chains = chains,
                                    .features = d,
                                    .gradient = gradient ? g.view() : none,
                                    .theta = t.view(),
                                    .chain = specs.view(),
                                    .centers = m.view(),
                                    .clock = clocks.view(),
                                    .normals = none});
    std::vector<double> all = gradient ? g.read() : t.read();
    all.resize(2 * d);
    return all;
  }
};

TEST_F(FinishTest, NarrowAndWideBlocksGiveTheSameBits) {
  support::Thinned sweep(7, 3);
  for (const std::size_t count : {1ul, 7ul, 33ul, 300ul}) {
    for (const std::size_t d : {1ul, 8ul, 9ul, 65ul}) {
      const std::size_t many = kernels::finish_narrow_blocks / kernels::ceil_div(d, 8) + 1;
      if (count * d > 300) continue;  // the emulated GPU's minutes
      for (const bool single : {false, true}) {
        for (const bool gradient : {false, true}) {
          if (sweep.skips()) continue;
          EXPECT_EQ(step(count, d, 2, single, gradient), step(count, d, many, single, gradient))
              << count << " x " << d << (single ? ", float" : "") << (gradient ? ", g" : "");
        }
      }
    }
  }
}

// Four interleaved sums of each of eight ranges, and their sum, whatever the blocks: written out.
TEST_F(FinishTest, SumsInTheOrderThatItsDepthCounts) {
  constexpr std::size_t count = 75, d = 3;
  std::mt19937 gen(5);
  std::normal_distribution<double> normal;
  std::vector<double> one(count * d), expected(d, 0);
  for (double& v : one) v = static_cast<float>(normal(gen));
  const std::size_t range = kernels::ceil_div(count, 8);
  for (std::size_t j = 0; j < d; ++j) {
    for (std::size_t begin = 0; begin < 8 * range; begin += range) {
      double sum[4] = {};
      for (std::size_t k = begin; k < std::min(begin + range, count); ++k) {
        sum[(k - begin) % 4] += one[k * d + j];
      }
      expected[j] += (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
  }
  std::vector<double> got = step(count, d, 2, false, true);
  got.resize(d);
  EXPECT_EQ(got, expected);
}

}  // namespace finish_test
}  // namespace gibbsite
