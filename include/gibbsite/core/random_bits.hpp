#pragma once
// The noise of (chain, step, coordinate), one pair of coordinates at a time: the same words on host
// and device. Bulk generation on the host is `fill_normals` (core/random.hpp), which agrees with
// this word for word (docs/theory/noise.md).
#include <cmath>
#include <cstdint>

#include "gibbsite/core/host_device.hpp"

namespace gibbsite {

/// Words 2p and 2p + 1 of a stream, for coordinates 2p and 2p + 1.
struct WordPair {
  std::uint64_t first, second;
};

struct NormalPair {
  double first, second;
};

/// Four 32-bit words: a counter and a block of Philox4x32.
struct Philox4 {
  std::uint32_t word[4];
};

/// One Philox4x32-10 block (Salmon, Moraes, Dror, Shaw, SC 2011).
GIBBSITE_HD inline Philox4 philox4x32_10_block(Philox4 c, std::uint32_t key0, std::uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c.word[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * c.word[2];
    c = {{static_cast<std::uint32_t>(p1 >> 32) ^ c.word[1] ^ key0, static_cast<std::uint32_t>(p1),
          static_cast<std::uint32_t>(p0 >> 32) ^ c.word[3] ^ key1, static_cast<std::uint32_t>(p0)}};
    key0 += 0x9E3779B9;  // golden ratio
    key1 += 0xBB67AE85;  // sqrt(3) - 1
  }
  return c;
}

/// Words 2p and 2p + 1 of the Philox stream (chain, step): counter {p, step, chain}.
GIBBSITE_HD inline WordPair philox_pair(const std::uint32_t* key, std::uint32_t chain,
                                        std::uint64_t step, std::uint32_t pair) {
  const Philox4 b = philox4x32_10_block(
      {{pair, static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(step >> 32), chain}},
      key[0], key[1]);
  return {b.word[0] | std::uint64_t{b.word[1]} << 32, b.word[2] | std::uint64_t{b.word[3]} << 32};
}

/// ChaCha20 quarter round (RFC 8439, 2.1).
GIBBSITE_HD inline void chacha20_quarter_round(std::uint32_t& a, std::uint32_t& b, std::uint32_t& c,
                                               std::uint32_t& d) {
  const auto rotate = [](std::uint32_t v, int k) { return v << k | v >> (32 - k); };
  a += b, d = rotate(d ^ a, 16);
  c += d, b = rotate(b ^ c, 12);
  a += b, d = rotate(d ^ a, 8);
  c += d, b = rotate(b ^ c, 7);
}

/// The ChaCha20 block function (RFC 8439, 2.3): key [8], block counter, nonce [3] -> out [16].
GIBBSITE_HD inline void chacha20_block(const std::uint32_t* key, std::uint32_t counter,
                                       const std::uint32_t* nonce, std::uint32_t* out) {
  std::uint32_t s[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
  GIBBSITE_UNROLL
  for (int i = 0; i < 8; ++i) s[4 + i] = key[i];
  s[12] = counter;
  GIBBSITE_UNROLL
  for (int i = 0; i < 3; ++i) s[13 + i] = nonce[i];
  GIBBSITE_UNROLL
  for (int i = 0; i < 16; ++i) out[i] = s[i];
  for (int round = 0; round < 10; ++round) {
    chacha20_quarter_round(s[0], s[4], s[8], s[12]);
    chacha20_quarter_round(s[1], s[5], s[9], s[13]);
    chacha20_quarter_round(s[2], s[6], s[10], s[14]);
    chacha20_quarter_round(s[3], s[7], s[11], s[15]);
    chacha20_quarter_round(s[0], s[5], s[10], s[15]);
    chacha20_quarter_round(s[1], s[6], s[11], s[12]);
    chacha20_quarter_round(s[2], s[7], s[8], s[13]);
    chacha20_quarter_round(s[3], s[4], s[9], s[14]);
  }
  GIBBSITE_UNROLL
  for (int i = 0; i < 16; ++i) out[i] += s[i];
}

/// Words 2p and 2p + 1 of the ChaCha20 stream (chain, step): a block has four pairs.
GIBBSITE_HD inline WordPair chacha20_pair(const std::uint32_t* key, std::uint32_t chain,
                                          std::uint64_t step, std::uint32_t pair) {
  const std::uint32_t nonce[3] = {chain, static_cast<std::uint32_t>(step),
                                  static_cast<std::uint32_t>(step >> 32)};
  std::uint32_t b[16];
  chacha20_block(key, pair / 4, nonce, b);
  // Masks, not branches: a compiler makes of branches an index at run time, and of that a trip to
  // memory.
  WordPair words{0, 0};
  GIBBSITE_UNROLL
  for (unsigned q = 0; q < 4; ++q) {
    const std::uint64_t mask = pair % 4 == q ? ~std::uint64_t{0} : 0;
    words.first |= (b[4 * q] | std::uint64_t{b[4 * q + 1]} << 32) & mask;
    words.second |= (b[4 * q + 2] | std::uint64_t{b[4 * q + 3]} << 32) & mask;
  }
  return words;
}

/// The pair of normals with this radius and the angle 2 pi (word >> 11) 2^-53.
GIBBSITE_HD inline NormalPair turned(double radius, std::uint64_t angle_word) {
  // The angle 2 pi k 2^-53 is (pi/4)(octant + f), f exact in [0, 1). Odd octants run backwards, so
  // sin and cos are only taken on [0, pi/4] and are accurate to an ulp or two also near their
  // zeros.
  const std::uint64_t k = angle_word >> 11;
  const auto octant = static_cast<unsigned>(k >> 50);
  const std::uint64_t low = k & ((std::uint64_t{1} << 50) - 1);
  const auto f = static_cast<double>(octant % 2 == 0 ? low : (std::uint64_t{1} << 50) - low);
#ifdef __CUDA_ARCH__
  double sine, cosine;
  sincospi(f * 0x1p-52, &sine, &cosine);  // sin and cos would keep room to reduce large angles
#else
  constexpr double quarter_pi = 0.78539816339744830962;
  const double phi = f * 0x1p-50 * quarter_pi;
  const double cosine = std::cos(phi), sine = std::sin(phi);
#endif
  const bool swapped = (octant + 1) / 2 % 2 == 1;  // octants 1, 2, 5, 6
  const double x = swapped ? sine : cosine, y = swapped ? cosine : sine;
  return {radius * (octant >= 2 && octant < 6 ? -x : x),  // left half plane
          radius * (octant >= 4 ? -y : y)};               // lower half plane
}

/// The radius of a pair: sqrt(-2 log u), or sqrt(-2 log(1 - u)) in the upper half.
GIBBSITE_HD inline double radius_at(bool upper, double u) {
  return std::sqrt(-2 * (upper ? std::log1p(-u) : std::log(u)));
}

/// Two independent N(0,1) by Box-Muller in double (core/random.hpp, `box_muller`;
/// docs/theory/noise.md). Through the platform's log, log1p, sin and cos, so the last ulp may
/// differ between host and device; the relative error is below 1e-15 on both.
GIBBSITE_HD inline NormalPair box_muller_pair(WordPair words) {
  // -log u for u = (w + 1/2) 2^-64. Both tails keep their digits: near u = 1 through 1 - u, which
  // is (~w + 1/2) 2^-64.
  const bool upper = words.first >> 63;
  const auto tail = static_cast<double>(upper ? ~words.first : words.first);
  return turned(radius_at(upper, (tail + 0.5) * 0x1p-64), words.second);
}

/// The pair of normals with 64 more bits of the radius: u = (w 2^64 + low + 1/2) 2^-128.
inline NormalPair box_muller_pair(WordPair words, std::uint64_t low) {
  const bool upper = words.first >> 63;
  const auto high = static_cast<double>(upper ? ~words.first : words.first);
  const auto rest = static_cast<double>(upper ? ~low : low);
  return turned(radius_at(upper, (high + (rest + 0.5) * 0x1p-64) * 0x1p-64), words.second);
}

}  // namespace gibbsite
