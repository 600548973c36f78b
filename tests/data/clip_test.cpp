// Clipping against exact integer arithmetic: a float times 2^149 is an integer, and a double above
// 1e-3 times 2^200 is one.
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "support.hpp"

namespace gibbsite {
namespace clip_test {

using Int = boost::multiprecision::cpp_int;

/// Sign of (sum of squares - (factor * norm)^2), exactly; factor a double.
int compare_norm(const std::vector<float>& row, double norm, double factor = 1) {
  Int sum = 0;
  for (const float v : row) {
    const Int scaled(std::ldexp(static_cast<double>(v), 149));
    sum += scaled * scaled;
  }
  const Int bound = Int(std::ldexp(norm, 200)) * Int(std::ldexp(factor, 60));
  return Int(sum << (2 * (200 + 60 - 149))).compare(Int(bound * bound));
}

/// Clips and checks everything that clip_row_to_norm promises; returns whether it changed.
bool check(const std::vector<float>& row, double norm) {
  std::vector<float> clipped = row;
  const bool inside = compare_norm(row, norm) <= 0;
  const bool changed = clip_row_to_norm(clipped, norm);
  EXPECT_EQ(changed, !inside);
  EXPECT_LE(compare_norm(clipped, norm), 0);
  if (inside) {
    EXPECT_EQ(std::memcmp(clipped.data(), row.data(), row.size() * sizeof(float)), 0);
  } else {
    EXPECT_GE(compare_norm(clipped, norm, 1 - 1.3e-7), 0) << "shrunk too far";
    for (std::size_t i = 0; i < row.size(); ++i) {
      EXPECT_LE(std::abs(clipped[i]), std::abs(row[i]));
      EXPECT_EQ(std::signbit(clipped[i]), std::signbit(row[i]));
    }
  }
  return changed;
}

const std::vector<double> norms = {1e-3,
                                   0.1,
                                   1.0,
                                   1.4142135623730951,
                                   std::sqrt(3.0),
                                   2.5,
                                   1e3,
                                   std::nextafter(1.0, 0.0),
                                   std::nextafter(1.0, 2.0)};

TEST(Clip, RandomRowsOfEveryLength) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  int changed = 0, rows = 0;
  for (const std::size_t d :
       std::vector<std::size_t>{1, 2, 3, 7, 8, 9, 31, 32, 33, 108, 1000, 5000})
    for (const double norm : norms)
      for (int repeat = 0; repeat < 10; ++repeat, ++rows) {
        std::vector<float> row(d);
        // Rows near the bound, half of them just inside.
        const double size = norm * (1 + 1e-7 * uniform(random));
        double sum = 0;
        for (float& v : row) sum += std::pow(v = uniform(random), 2);
        for (float& v : row) v = static_cast<float>(v * size / std::sqrt(sum));
        SCOPED_TRACE(::testing::Message() << "d " << d << " norm " << norm);
        changed += check(row, norm) ? 1 : 0;
      }
  EXPECT_GT(changed, rows / 4);  // both outcomes are tested
  EXPECT_LT(changed, rows * 3 / 4);
}

TEST(Clip, RowsExactlyOnTheBoundKeepTheirBits) {
  EXPECT_FALSE(check({1, 0, 0}, 1.0));
  EXPECT_FALSE(check({0.6F, 0, -0.0F}, 0.6F));
  EXPECT_FALSE(check({3, 4}, 5.0));
  EXPECT_FALSE(check({1, 0, 1}, 1.4142135623730951));  // rounded up: 2 is inside
  EXPECT_TRUE(check({1, 1, 1}, std::sqrt(3.0)));       // rounded down: 3 is outside
  EXPECT_FALSE(check({1, 1, 1}, std::nextafter(std::sqrt(3.0), 2.0)));
  // R^2 is no double: just inside R^2 > fl(R^2), and on fl(R^2) > R^2.
  EXPECT_FALSE(check({1, 0x1p-26F, 0x1p-26F, 0x1p-53F, 0x1p-53F}, std::nextafter(1.0, 2.0)));
  EXPECT_TRUE(check({1, 1, 0x1p-26F, 0x1p-26F}, 1.4142135623730951));
  // 1 + 2^-280 differs from 1 in no double.
  EXPECT_TRUE(check({1, 0x1p-140F}, 1.0));
  EXPECT_FALSE(check({1, 0x1p-140F}, std::nextafter(1.0, 2.0)));
  std::vector<float> many(5000, 0x1p-30F);
  many[2500] = 1;
  EXPECT_TRUE(check(many, 1.0));
}

TEST(Clip, AdversarialRows) {
  const float big = std::numeric_limits<float>::max();
  const float tiny = std::numeric_limits<float>::denorm_min();
  for (const double norm : norms) {
    for (const std::size_t d : std::vector<std::size_t>{1, 2, 33, 5000}) {
      check(std::vector<float>(d, 0.0F), norm);
      check(std::vector<float>(d, tiny), norm);
      check(std::vector<float>(d, big), norm);
      check(std::vector<float>(d, static_cast<float>(norm)), norm);
      check(std::vector<float>(d, static_cast<float>(norm / std::sqrt(static_cast<double>(d)))),
            norm);
      std::vector<float> one(d, tiny);
      one[d / 2] = -big;
      check(one, norm);
      one[d / 2] = static_cast<float>(norm);
      check(one, norm);
    }
  }
}

TEST(Clip, RefusesWhatHasNoNorm) {
  std::vector<float> row = {1, std::numeric_limits<float>::infinity()};
  test::expect_bad_input([&] { clip_row_to_norm(row, 1); }, {"finite"});
  row[1] = std::numeric_limits<float>::quiet_NaN();
  test::expect_bad_input([&] { clip_row_to_norm(row, 1); }, {"finite"});
  row[1] = 0;
  for (const double norm : {0.0, -1.0, std::nan(""), HUGE_VAL})
    test::expect_bad_input([&] { clip_row_to_norm(row, norm); }, {"row_norm"});
}

}  // namespace clip_test
}  // namespace gibbsite
