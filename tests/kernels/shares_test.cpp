// What GPUs of several ranks make of each other's sums.
#include "kernels/shares.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include "support/backend.hpp"
#include "support/odd_rows.hpp"

namespace gibbsite {
namespace shares_test {

using support::DeviceArray;

class SharesTest : public support::DeviceTest {
 protected:
  SharesTest() : DeviceTest(GIBBSITE_TEST_DEVICE) {}

  std::uint64_t mark(const std::vector<double>& theta, std::uint64_t clock) {
    const DeviceArray<double> t(*device_, std::span<const double>(theta));
    const DeviceArray<std::uint64_t> c(*device_, std::span<const std::uint64_t>(&clock, 1));
    const double none = 0;
    const DeviceArray<double> m(*device_, std::span<const double>(&none, 1));
    device_->launch(kernels::MarkTheta{
        .theta = t.view(), .clock = c.view(), .mark = m.view(), .cells = theta.size()});
    std::uint64_t out = 0;
    const double word = m.read()[0];
    std::memcpy(&out, &word, sizeof(out));
    return out;
  }

  // Packets of sums [ranks x cells] with these marks: the total, and who was strange.
  std::pair<std::vector<double>, std::uint64_t> add(const std::vector<double>& sums,
                                                    const std::vector<double>& marks,
                                                    std::uint64_t strange = 0) {
    const std::size_t ranks = marks.size(), cells = sums.size() / ranks;
    std::vector<double> packets;
    for (std::size_t p = 0; p < ranks; ++p) {
      for (std::size_t i = 0; i < cells; ++i) packets.push_back(sums[p * cells + i]);
      packets.push_back(marks[p]);
    }
    const DeviceArray<double> all(*device_, std::span<const double>(packets));
    const DeviceArray<double> total(*device_, std::span<const double>(sums).first(cells));
    const DeviceArray<std::uint64_t> who(*device_, std::span<const std::uint64_t>(&strange, 1));
    device_->launch(kernels::AddShares{.packets = all.view(),
                                       .total = total.view(),
                                       .strange = who.view(),
                                       .shares = ranks,
                                       .cells = cells});
    return {total.read(), who.read()[0]};
  }
};

TEST_F(SharesTest, TheMarkKnowsEveryBitAndItsPlace) {
  std::vector<double> theta(300);
  for (std::size_t i = 0; i < theta.size(); ++i) theta[i] = std::sin(static_cast<double>(i));
  const std::uint64_t of = mark(theta, 5);
  EXPECT_EQ(mark(theta, 5), of);
  EXPECT_NE(mark(theta, 6), of);
  for (const std::size_t i : {0ul, 255ul, 256ul, 299ul}) {
    std::vector<double> other = theta;
    other[i] = std::nextafter(other[i], 9.0);
    EXPECT_NE(mark(other, 5), of) << i;
  }
  std::swap(theta[3], theta[259]);  // of one thread
  EXPECT_NE(mark(theta, 5), of);
  EXPECT_NE(mark({0.0}, 5), mark({-0.0}, 5));
  EXPECT_NE(mark({0.0}, 5), mark({0.0, 0.0}, 5));
}

TEST_F(SharesTest, AreAddedInTheTreeOverRanks) {
  std::mt19937 bits(5);
  std::lognormal_distribution<double> far(0, 12);
  for (const std::size_t ranks : {1ul, 2ul, 3ul, 6ul, 7ul, 16ul}) {
    for (const std::size_t cells : {1ul, 130ul}) {
      std::vector<double> sums(ranks * cells);
      for (double& v : sums) v = (bits() % 2 == 0 ? -1 : 1) * far(bits);
      const std::function<double(std::size_t, std::size_t, std::size_t)> sum =
          [&](std::size_t first, std::size_t last, std::size_t i) {
            if (last - first == 1) return sums[first * cells + i];
            std::size_t half = 1;
            while (2 * half < last - first) half *= 2;
            return sum(first, first + half, i) + sum(first + half, last, i);
          };
      const auto [total, strange] = add(sums, std::vector<double>(ranks, 0.5));
      EXPECT_EQ(strange, 0U);
      for (std::size_t i = 0; i < cells; ++i) EXPECT_EQ(total[i], sum(0, ranks, i)) << ranks;
    }
  }
}

TEST_F(SharesTest, NothingIsAddedWhereMarksDiffer) {
  const std::vector<double> sums(4 * 130, 1.0);
  const auto [total, strange] = add(sums, {0.5, 0.5, 0.25, 0.125});
  EXPECT_EQ(strange, 2U);
  for (const double v : total) EXPECT_TRUE(std::isnan(v));
  // As words: marks that are no numbers are compared too, and the first one found stays.
  EXPECT_EQ(add(sums, {NAN, NAN, NAN, NAN}).second, 0U);
  EXPECT_EQ(add(sums, {NAN, NAN, NAN, 1}, 1).second, 1U);
  EXPECT_EQ(add(sums, {0.0, -0.0, 0.0, 0.0}).second, 1U);
}

}  // namespace shares_test
}  // namespace gibbsite
