// The statistics of an ensemble on a GPU against the host's.
#include "kernels/ensemble_statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "gibbsite/posterior/diagnostics.hpp"
#include "support/backend.hpp"
#include "support/known_draws.hpp"

namespace gibbsite {
namespace ensemble_statistics_test {

class DeviceStatistics : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::string_view(GIBBSITE_TEST_DEVICE) != "cuda") GTEST_SKIP() << "Thrust needs a GPU";
    if (support::gpu_is_missing()) GTEST_SKIP() << "no GPU";
  }
};

// Sums are in the same order on both; a fused multiply-add and the last bit of a normal quantile
// differ. The order statistics that bound a quantile's error are the same unless a position falls
// on an integer, which it does for none of these.
TEST_F(DeviceStatistics, AreTheHostsAndRepeatBitForBit) {
  const std::vector<double> probabilities = {0, 0.05, 0.5, 1};
  constexpr std::size_t kinds = support::draw_kinds.size();
  for (const auto& [n, c] :
       {std::pair<std::size_t, std::size_t>{4, 1}, {5, 33}, {101, 32}, {1000, 31}, {4099, 3}}) {
    const std::vector<double> values = support::known_draws(n, c);
    const Draws draws{values, n, c, kinds};
    const auto host = summarize(draws, probabilities);
    const auto device = summarize(draws, probabilities, Processor::device);
    const auto again = summarize(draws, probabilities, Processor::device);
    for (std::size_t j = 0; j < kinds; ++j) {
      SCOPED_TRACE(testing::Message() << n << " x " << c << " " << support::draw_kinds[j]);
      const auto expect_same = [&](double Summary::*field) {
        const double h = host[j].*field, d = device[j].*field, a = again[j].*field;
        EXPECT_TRUE((std::isnan(h) && std::isnan(d)) ||
                    std::fabs(h - d) <= 1e-10 * std::fabs(h) + 1e-14)
            << h << " " << d;
        EXPECT_TRUE((std::isnan(a) && std::isnan(d)) || a == d) << a << " " << d;
      };
      for (double Summary::*field :
           {&Summary::mean, &Summary::deviation, &Summary::r_hat, &Summary::ess_bulk,
            &Summary::ess_tail, &Summary::ess_mean, &Summary::mean_standard_error}) {
        expect_same(field);
      }
      for (std::size_t q = 0; q < probabilities.size(); ++q) {
        EXPECT_EQ(host[j].quantiles[q].value, device[j].quantiles[q].value);
        EXPECT_EQ(host[j].quantiles[q].standard_error, device[j].quantiles[q].standard_error);
      }
    }
  }
}

// More draws than any GPU has memory for: refused with the numbers before any is allocated.
TEST_F(DeviceStatistics, DrawsThatDoNotFitAreRefused) {
  const std::size_t n = std::size_t{1} << 36;
  const std::span<const double> values(static_cast<const double*>(nullptr), 0);
  try {
    static_cast<void>(kernels::summarize_on_device({values, n, 1, 1}, {}));
    FAIL() << "no error";
  } catch (const CudaError& error) {
    EXPECT_NE(std::string(error.what()).find("4194321 MiB on the GPU"), std::string::npos)
        << error.what();
  }
}

}  // namespace ensemble_statistics_test
}  // namespace gibbsite
