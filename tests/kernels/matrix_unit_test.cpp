// The maps of the matrix unit against their sources, and design E's tiles by them.
#include "kernels/matrix_unit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "kernels/losses.hpp"
#include "kernels/warp_group.hpp"

namespace gibbsite {
namespace matrix_unit_test {

using namespace kernels;  // NOLINT: what is tested

TEST(MatrixUnit, Bfloat16IsTheNearest) {
  EXPECT_EQ(bfloat16_of(1.0f), 0x3f80);
  EXPECT_EQ(bfloat16_of(1.0f + 0x1p-8f), 0x3f80);             // a tie: to even
  EXPECT_EQ(bfloat16_of(1.0f + 3 * 0x1p-8f), 0x3f82);         // a tie: to even, up
  EXPECT_EQ(bfloat16_of(1.0f + 0x1p-8f + 0x1p-20f), 0x3f81);  // above a tie
  EXPECT_EQ(bfloat16_of(-0.0f), 0x8000);
  EXPECT_EQ(bfloat16_of(0x1p-133f), 0x0001);  // the smallest
  EXPECT_EQ(bfloat16_of(3.4e38f), 0x7f80);    // beyond the largest: infinity
  EXPECT_EQ(bfloat16_of(-std::numeric_limits<float>::infinity()), 0xff80);
  EXPECT_TRUE(std::isnan(float_of_bfloat16(bfloat16_of(std::bit_cast<float>(0x7f800001u)))));
  std::mt19937 gen(1);
  for (int i = 0; i < 10000; ++i) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(gen()) & 0xbfffffffu);
    const float near = float_of_bfloat16(bfloat16_of(value));
    EXPECT_TRUE(std::fabs(near - value) <= 0x1p-8f * std::fabs(value) + 0x1p-134f) << value;
    const std::uint32_t pair = bfloat16_pair(value, 2.0f);
    EXPECT_EQ(pair, bfloat16_of(value) | 0x40000000u);
  }
}

// The bounds that matrix_unit.hpp states, of floats of every size, at ties and where parts
// underflow.
TEST(MatrixUnit, PairsOfBfloat16LoseWhatTheySay) {
  std::mt19937 gen(2);
  const auto parts_of = [](float value) {
    return std::array<long double, 2>{float_of_bfloat16(bfloat16_part(value, 0)),
                                      float_of_bfloat16(bfloat16_part(value, 1))};
  };
  long double most = 0;
  const auto check = [&](float x, float t) {
    const auto [xh, xl] = parts_of(x);
    const auto [th, tl] = parts_of(t);
    const long double size = std::fabs(static_cast<long double>(x));
    ASSERT_LE(std::fabs(x - xh - xl), 0x1p-17L * size + 0x1p-134L) << x;
    ASSERT_LE(std::fabs(xl), 0x1p-8L * size) << x;
    const long double exact = static_cast<long double>(x) * t, by = xh * th + (xh * tl + xl * th);
    const long double reach = std::fabs(static_cast<long double>(t)) + size;
    ASSERT_LE(std::fabs(by - exact),
              0x1p-15L * (1 + 0x1p-17L) * std::fabs(exact) + 0x1p-126L * reach)
        << x << " " << t;
    if (std::fabs(exact) > 1e-30L) most = std::max(most, std::fabs(by / exact - 1));
  };
  for (int i = 0; i < 20000; ++i) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(gen()) & 0xfeffffffu);
    const float t = std::bit_cast<float>(static_cast<std::uint32_t>(gen()) & 0xbfffffffu);
    check(x, t);
    check(1 + 0x1p-8f + static_cast<float>(i - 10000) * 0x1p-23f, 1 + 0x1p-8f - 0x1p-16f);
  }
  EXPECT_GT(most, 0x1p-16L);  // the bound is not idle
  for (const float x : {0x1p-126f, 0x1.01p-126f, 0x1.018p-120f, 0x1p-149f, 0x1.fp-130f, 0.0f}) {
    check(x, 0x1.0101p100f);
  }
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const float x : {infinity, -infinity, 3.4e38f}) {  // beyond the largest BF16 too
    EXPECT_EQ(bfloat16_part(x, 0), x < 0 ? 0xff80 : 0x7f80);
    EXPECT_EQ(bfloat16_part(x, 1), 0);
  }
  EXPECT_TRUE(std::isnan(float_of_bfloat16(bfloat16_part(NAN, 0))));
}

// PTX ISA, matrix descriptor: address in bits 0-13, LBO in 16-29, SBO in 32-45, all / 16; no
// swizzle.
static_assert(matrix_descriptor(0x400, 128, 2048) == 0x0000'0080'0008'0040u);
static_assert(matrix_descriptor(0x3'8010, 0x3'fff0, 16) == 0x0000'0001'3fff'3801u);
static_assert(advanced(matrix_descriptor(0x400, 128, 2048), 256) ==
              matrix_descriptor(0x500, 128, 2048));

// The canonical layouts, written as CuTe writes them and evaluated as CuTe does, in BF16 elements:
// K-major ((8,m),(T,2)):((1T,SBO),(1,LBO)), MN-major ((T,1,m),(8,k)):((1,T,SBO),(1T,LBO)), T = 8.
TEST(MatrixUnit, OperandAddressesAreTheCanonicalLayouts) {
  const auto at = [](std::vector<unsigned> shape, std::vector<unsigned> stride, unsigned i) {
    unsigned offset = 0;
    for (std::size_t mode = 0; mode < shape.size(); ++mode) {
      const bool last = mode + 1 == shape.size();
      offset += (last ? i : i % shape[mode]) * stride[mode];
      i /= shape[mode];
    }
    return offset;
  };
  constexpr unsigned T = 8, lbo = 4096, sbo = 384, start = 1024;
  const std::uint64_t descriptor = matrix_descriptor(start, lbo, sbo);
  for (unsigned mn = 0; mn < 256; ++mn) {
    for (unsigned k = 0; k < 16; ++k) {
      const unsigned k_major = at({8, 32}, {1 * T, sbo / 2}, mn) + at({T, 2}, {1, lbo / 2}, k);
      const unsigned mn_major =
          at({T, 1, 32}, {1, T, sbo / 2}, mn) + at({8, 2}, {1 * T, lbo / 2}, k);
      ASSERT_EQ(operand_address(descriptor, Major::k, mn, k), start + 2 * k_major);
      ASSERT_EQ(operand_address(descriptor, Major::mn, mn, k), start + 2 * mn_major);
    }
  }
}

// The descriptors that the kernel builds find (row, feature) of a packed tile in both products.
template <unsigned Width, unsigned Parts>
void expect_both_products_find_a_tile() {
  using Body = WarpGroupBody<losses::logistic, Width, Parts>;
  constexpr std::uint32_t tile = 2048;
  constexpr unsigned columns = Parts * Width;
  const auto packed = [](unsigned row, unsigned j) {
    return tile + static_cast<std::uint32_t>(packed_line(row, j / 8, columns)) * 16 + j % 8 * 2;
  };
  const std::uint64_t first = matrix_descriptor(tile, core_bytes, row_group_bytes(columns));
  const std::uint64_t second = matrix_descriptor(tile, row_group_bytes(columns), core_bytes);
  std::set<std::uint32_t> seen;
  for (unsigned row = 0; row < Body::tile_rows; ++row) {
    for (unsigned column = 0; column < columns; ++column) {
      const unsigned j = column % Width, part = column / Width * Body::along_parts;
      seen.insert(packed(row, column));
      ASSERT_EQ(operand_address(advanced(first, j / 16 * Body::along_features + part), Major::k,
                                row, j % 16),
                packed(row, column));
      ASSERT_EQ(operand_address(advanced(second, row / 16 * Body::along_rows + part), Major::mn, j,
                                row % 16),
                packed(row, column));
    }
  }
  EXPECT_EQ(seen.size(), Body::tile_rows * columns);
  WarpGroupOf<Parts> launch;
  launch.range_rows = warp_group_rows;
  EXPECT_LE(Body::shape(launch).shared_bytes, 227u << 10);
  EXPECT_EQ(*seen.rbegin(), tile + Body::tile_bytes - 2);
}
TEST(MatrixUnit, BothProductsFindATile) {
  expect_both_products_find_a_tile<16, 1>();
  expect_both_products_find_a_tile<48, 1>();
  expect_both_products_find_a_tile<112, 1>();
  expect_both_products_find_a_tile<256, 1>();
  expect_both_products_find_a_tile<16, 2>();
  expect_both_products_find_a_tile<64, 2>();
  expect_both_products_find_a_tile<112, 2>();
  expect_both_products_find_a_tile<128, 2>();
}

// CuTe: CLayout_64xN = ((4,8,4),(2,2,N/8)):((128,1,16),(64,8,512)), column-major [64 x N]; the
// fragment of A is the same with N = 16.
TEST(MatrixUnit, FragmentsAreThoseOfTheSources) {
  std::set<std::pair<unsigned, unsigned>> seen;
  for (unsigned t = 0; t < 128; ++t) {
    for (unsigned r = 0; r < 128; ++r) {
      const unsigned place =
          t % 4 * 128 + t / 4 % 8 * 1 + t / 32 * 16 + r % 2 * 64 + r / 2 % 2 * 8 + r / 4 * 512;
      ASSERT_EQ(accumulator_row(t, r), place % 64);
      ASSERT_EQ(accumulator_column(t, r), place / 64);
      seen.insert({place % 64, place / 64});
      // Re-packed: register r of the accumulator is half r % 8 of fragment r / 8, columns 16 (r /
      // 8)..
      ASSERT_EQ(fragment_row(t, r % 8), accumulator_row(t, r));
      ASSERT_EQ(fragment_column(t, r % 8) + r / 8 * 16, accumulator_column(t, r));
      ASSERT_EQ(fragment_register(r), r / 8 * 4 + r % 8 / 2);
    }
  }
  EXPECT_EQ(seen.size(), 64 * 256);
}

TEST(MatrixUnit, TurnsGoRound) {
  for (std::size_t t = 0; t < 40; ++t) {
    EXPECT_EQ(turn_of(t, 4).stage, t % 4);
    EXPECT_EQ(turn_of(t, 4).parity, t / 4 % 2);
  }
}

}  // namespace matrix_unit_test
}  // namespace gibbsite
