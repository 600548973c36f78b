// The noise on host and device: the same words, bit by bit, and normals within a few ulp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>

#include "gibbsite/core/random_bits.hpp"
#include "support/backend.hpp"

namespace gibbsite {
namespace noise_test {

// RFC 8439, 2.3.2: key 00..1f, nonce 00:00:00:09:00:00:00:4a:00:00:00:00, counter 1.
TEST(SharedNoise, ChaCha20BlockOfTheRfc) {
  std::uint32_t key[8];
  for (std::uint32_t i = 0; i < 8; ++i) key[i] = 0x03020100 + i * 0x04040404;
  const std::uint32_t nonce[3] = {0x09000000, 0x4a000000, 0};
  std::uint32_t out[16];
  chacha20_block(key, 1, nonce, out);
  const std::uint32_t expected[16] = {0xe4e7f110, 0x15593bd1, 0x1fdd0f50, 0xc47120a3,
                                      0xc7f4d1c7, 0x0368c033, 0x9aaa2204, 0x4e6cd4c3,
                                      0x466482d2, 0x09aa9f07, 0x05d7c214, 0xa2028bd9,
                                      0xd19c12b5, 0xb94e16de, 0xe883d0cb, 0x4e3c50a2};
  for (int i = 0; i < 16; ++i) EXPECT_EQ(out[i], expected[i]) << i;
}

// Random123's known answers for philox4x32-10.
TEST(SharedNoise, PhiloxOfRandom123) {
  const Philox4 zeros = philox4x32_10_block({{0, 0, 0, 0}}, 0, 0);
  const std::uint32_t of_zeros[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  const Philox4 pi = philox4x32_10_block({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
                                         0xa4093822, 0x299f31d0);
  const std::uint32_t of_pi[4] = {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(zeros.word[i], of_zeros[i]);
    EXPECT_EQ(pi.word[i], of_pi[i]);
  }
}

class DeviceNoise : public support::DeviceTest {
 protected:
  DeviceNoise() : DeviceTest(GIBBSITE_TEST_DEVICE) {}
};

// Words of the kernel against libsodium's ChaCha20 and the host's Philox (core/random.hpp), for
// steps and streams up to their last bit; normals within 8 ulp of the host's, since each side is
// within 4 (docs/theory/noise.md).
TEST_F(DeviceNoise, WordsAreTheHostsAndNormalsAgree) {
  std::mt19937_64 gen(7);
  for (const std::size_t d : {1ul, 2ul, 3ul, 7ul, 8ul, 9ul, 31ul, 130ul}) {
    std::vector<ChainSpec> specs(5, {.key = StreamKey::from_seed(0)});
    std::vector<kernels::Chain> chains;
    for (std::size_t c = 0; c < specs.size(); ++c) {
      specs[c].key.kind = c % 2 == 0 ? NoiseKind::chacha20 : NoiseKind::philox;
      for (auto& byte : specs[c].key.bytes) byte = static_cast<std::uint8_t>(gen());
      specs[c].stream = c == 4 ? ~0u : static_cast<std::uint32_t>(gen());
      chains.push_back(kernels::make_chain(specs[c], 0));
    }
    const std::uint64_t step = d % 2 == 0 ? start_step : gen();
    const std::size_t even = 2 * kernels::ceil_div(d, 2), count = specs.size();
    std::vector<std::uint64_t> words(count * even);
    std::vector<double> normals(count * d);
    std::byte* const at_chains = device_->allocate(count * sizeof(kernels::Chain));
    std::byte* const at_words = device_->allocate(words.size() * 8);
    std::byte* const at_normals = device_->allocate(normals.size() * 8);
    device_->copy_in(cuda::Queue::compute, at_chains, chains.data(),
                     count * sizeof(kernels::Chain));
    device_->launch(
        kernels::Normals{.chain = {reinterpret_cast<const kernels::Chain*>(at_chains), count},
                         .normals = {reinterpret_cast<double*>(at_normals), normals.size()},
                         .words = {reinterpret_cast<std::uint64_t*>(at_words), words.size()},
                         .chains = count,
                         .features = d,
                         .step = step});
    device_->copy_out(cuda::Queue::compute, words.data(), at_words, words.size() * 8);
    device_->copy_out(cuda::Queue::compute, normals.data(), at_normals, normals.size() * 8);
    device_->synchronize();
    for (auto* memory : {at_chains, at_words, at_normals}) device_->release(memory);

    std::vector<std::uint64_t> expected(even);
    std::vector<double> normal(d);
    for (std::size_t c = 0; c < count; ++c) {
      fill_words(specs[c].key, specs[c].stream, step, expected);
      fill_normals(specs[c].key, specs[c].stream, step, normal);
      for (std::size_t w = 0; w < even; ++w) {
        ASSERT_EQ(words[c * even + w], expected[w]) << "chain " << c << " word " << w;
      }
      for (std::size_t j = 0; j < d; ++j) {
        ASSERT_TRUE(std::fabs(normals[c * d + j] - normal[j]) <=
                    8 * 0x1p-53 * 2 * std::fabs(normal[j]))
            << c << " " << j;
      }
    }
  }
}

// The offset of the library's normals counts normals, not words: a draw of 2N from 0 ends in the
// draw of N from N, whatever N. Did it count words, steps of a run would share half their noise.
TEST_F(DeviceNoise, LibraryOffsetsCountNormals) {
  const auto drawn = [&](std::size_t count, std::uint64_t offset) {
    std::byte* const at = device_->allocate(count * sizeof(double));
    device_->fill_normals({reinterpret_cast<double*>(at), count}, 0x0123456789abcdef, offset);
    std::vector<double> out(count);
    device_->copy_out(cuda::Queue::compute, out.data(), at, count * sizeof(double));
    device_->synchronize();
    device_->release(at);
    return out;
  };
  for (const std::size_t n : {2ul, 6ul, 64ul, 1000ul, 4098ul, 70'000ul}) {
    const std::vector<double> both = drawn(2 * n, 0);
    EXPECT_TRUE(std::ranges::equal(drawn(n, n), std::span(both).last(n))) << n;
    EXPECT_TRUE(std::ranges::equal(drawn(n, 0), std::span(both).first(n))) << n;
    EXPECT_FALSE(std::ranges::equal(drawn(n, n / 2), std::span(both).last(n))) << n;
  }
}

}  // namespace noise_test
}  // namespace gibbsite
