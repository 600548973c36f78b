#include "gibbsite/core/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <new>
#include <numbers>
#include <random>
#include <set>
#include <type_traits>
#include <vector>

#include "core/key_access.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/random_bits.hpp"
#include "gibbsite/core/wide.hpp"

namespace gibbsite {
namespace random_test {

StreamKey chacha_key(std::uint8_t first) {
  StreamKey key(NoiseKind::chacha20, {});
  for (std::size_t i = 0; i < key.bytes.size(); ++i) {
    key.bytes[i] = static_cast<std::uint8_t>(first + i);
  }
  return key;
}

std::vector<std::uint64_t> words(const StreamKey& key, std::uint32_t chain, std::uint64_t step,
                                 std::size_t n) {
  std::vector<std::uint64_t> out(n);
  fill_words(key, chain, step, out);
  return out;
}

std::vector<double> normals(const StreamKey& key, std::uint32_t chain, std::uint64_t step,
                            std::size_t n) {
  std::vector<double> out(n);
  fill_normals(key, chain, step, out);
  return out;
}

std::string hex(const std::uint64_t* first, std::size_t n) {
  std::string text;
  std::vector<unsigned char> bytes(n * 8);
  std::memcpy(bytes.data(), first, bytes.size());
  for (const unsigned char byte : bytes) {
    text += "0123456789abcdef"[byte / 16];
    text += "0123456789abcdef"[byte % 16];
  }
  return text;
}

// Nonce bytes 00 00 00 09 | 00 00 00 4a 00 00 00 00, block counter 1.
TEST(ChaCha20, Rfc8439Section232) {
  const auto w = words(chacha_key(0), 0x09000000, 0x4a000000, 16);
  EXPECT_EQ(hex(&w[8], 8),
            "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
            "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e");
}

// Nonce bytes 00 00 00 00 | 00 00 00 4a 00 00 00 00: blocks 1 and 2 (the second as far as printed).
TEST(ChaCha20, Rfc8439Section242) {
  const auto w = words(chacha_key(0), 0, 0x4a000000, 24);
  EXPECT_EQ(hex(&w[8], 14),
            "224f51f3401bd9e12fde276fb8631ded8c131f823d2c06e27e4fcaec9ef3cf78"
            "8a3b0aa372600a92b57974cded2b9334794cba40c63e34cdea212c4cf07d41b7"
            "69a6749f3f630f4122cafe28ec4dc47e26d4346d70b98c73f3e9c53ac40c5945"
            "398b6eda1a832c89c167eacd901d7e2b");
}

// kat_vectors of the Random123 distribution, philox4x32 with 10 rounds.
TEST(Philox, Random123Vectors) {
  using Block = std::array<std::uint32_t, 4>;
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}),
            (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32_10({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(
      philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
      (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, WordsAreBlocksOfTheDocumentedCounter) {
  const std::uint64_t step = 0x0123456789abcdef;
  // Eight blocks are made at once, those that are left one by one.
  for (std::size_t count = 0; count < 40; ++count) {
    const auto w = words(StreamKey::from_seed(0x299f31d0a4093822), 7, step, count);
    for (std::uint32_t i = 0; i < w.size(); ++i) {
      const auto block =
          philox4x32_10({i / 2, 0x89abcdef, 0x01234567, 7}, {0xa4093822, 0x299f31d0});
      const std::size_t at = i % 2 * 2;
      EXPECT_EQ(w[i], block[at] | std::uint64_t{block[at + 1]} << 32) << i;
    }
  }
}

TEST(Key, FromTheOperatingSystemIsFreshAndCertified) {
  EXPECT_EQ(Key::from_os().kind(), NoiseKind::chacha20);
  const StreamKey a = KeyAccess::take(Key::from_os()), b = KeyAccess::take(Key::from_os());
  EXPECT_EQ(a.kind, NoiseKind::chacha20);
  EXPECT_NE(a.bytes, b.bytes);  // equal by chance: 2^-256
}

TEST(Key, FromSeedUsesAll64BitsAndIsNotCertified) {
  EXPECT_EQ(Key::from_seed(1).kind(), NoiseKind::philox);
  EXPECT_EQ(KeyAccess::take(Key::from_seed(1)).bytes, StreamKey::from_seed(1).bytes);
  EXPECT_NE(words(StreamKey::from_seed(1), 0, 0, 1),
            words(StreamKey::from_seed(1 + (1ull << 63)), 0, 0, 1));
}

// Only the two functions make one, and it serves once.
static_assert(!std::is_default_constructible_v<Key> && !std::is_aggregate_v<Key>);
static_assert(!std::is_copy_constructible_v<Key> && !std::is_copy_assignable_v<Key>);
static_assert(std::is_nothrow_move_constructible_v<Key> && std::is_nothrow_move_assignable_v<Key>);
static_assert(!std::is_constructible_v<Key, StreamKey> && !std::is_convertible_v<Key, StreamKey>);
static_assert(!std::is_constructible_v<Key, NoiseKind, std::array<std::uint8_t, 32>>);
static_assert(!std::is_default_constructible_v<StreamKey>);  // no key of zeros by forgetting one
template <class K>
concept ShowsItsBytes = requires(K key) {
  key.bytes;
};
static_assert(ShowsItsBytes<StreamKey> && !ShowsItsBytes<Key>);

TEST(Key, IsUsedUpByAMove) {
  Key first = Key::from_seed(7);
  Key second = std::move(first);
  EXPECT_THROW(static_cast<void>(first.kind()), BadInput);
  EXPECT_THROW(KeyAccess::take(std::move(first)), BadInput);
  first = std::move(second);
  EXPECT_EQ(first.kind(), NoiseKind::philox);
  EXPECT_THROW(static_cast<void>(second.kind()), BadInput);
  EXPECT_EQ(KeyAccess::take(std::move(first)).bytes, StreamKey::from_seed(7).bytes);
  EXPECT_THROW(KeyAccess::take(std::move(first)), BadInput);
  // Its bytes are gone.
  alignas(Key) std::array<unsigned char, sizeof(Key)> memory;
  Key* const placed = new (memory.data()) Key(Key::from_seed(0x0123456789abcdef));
  const auto holds_seed = [&] {
    const std::uint64_t seed = 0x0123456789abcdef;
    const auto* const bytes = reinterpret_cast<const unsigned char*>(&seed);
    return std::search(memory.begin(), memory.end(), bytes, bytes + sizeof(seed)) != memory.end();
  };
  EXPECT_TRUE(holds_seed());
  const Key elsewhere = std::move(*placed);
  EXPECT_FALSE(holds_seed());
  placed->~Key();
}

class BothKinds : public ::testing::TestWithParam<NoiseKind> {
 protected:
  static StreamKey key(std::uint64_t seed) {
    StreamKey k = StreamKey::from_seed(seed * 0x9E3779B97F4A7C15);
    k.kind = GetParam();
    return k;
  }
};
INSTANTIATE_TEST_SUITE_P(Noise, BothKinds,
                         ::testing::Values(NoiseKind::chacha20, NoiseKind::philox),
                         [](const auto& p) { return std::string(to_string(p.param)); });

// A coordinate's normal does not depend on how many are asked for, in which order, or how often.
TEST_P(BothKinds, IsAPureFunctionOfChainStepCoordinate) {
  const auto all = normals(key(1), 3, 5, 1501);  // beyond one internal chunk
  for (const std::size_t n : {1501u, 1500u, 1024u, 513u, 512u, 511u, 33u, 8u, 7u, 2u, 1u, 0u}) {
    const auto some = normals(key(1), 3, 5, n);
    EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin())) << n;
  }
  const auto w = words(key(1), 3, 5, 1502);
  for (std::size_t j = 0; j < all.size(); ++j) {
    EXPECT_EQ(all[j], box_muller(w[j / 2 * 2], w[j / 2 * 2 + 1])[j % 2]) << j;
  }
}

// 4 keys x 8 chains x 8 steps x 200 words; two equal by chance with probability 7e-11.
TEST_P(BothKinds, EveryKeyChainStepAndCoordinateHasItsOwnWord) {
  std::set<std::uint64_t> seen;
  std::size_t count = 0;
  for (std::uint64_t k = 1; k <= 4; ++k) {
    for (const std::uint32_t chain : {0u, 1u, 2u, 3u, 256u, 1u << 16, 1u << 31, ~0u}) {
      for (const std::uint64_t step :
           {0ull, 1ull, 2ull, 1ull << 31, 1ull << 32, (1ull << 32) + 1, 1ull << 63, ~0ull}) {
        for (const auto word : words(key(k), chain, step, 200)) seen.insert(word), ++count;
      }
    }
  }
  EXPECT_EQ(seen.size(), count);
}

// ---- statistical tests: fixed keys; each bound is crossed by chance with probability <= 4e-8 ----

constexpr double z_limit = 5.5;  // P(|N(0,1)| > 5.5) = 3.8e-8

struct Moments {
  double worst_z = 0;  // largest |z| of the first four moments
  double ks = 0;       // sqrt(N) times the Kolmogorov-Smirnov distance to N(0,1)
};

Moments moments_of(std::vector<double> x) {
  const auto n = static_cast<double>(x.size());
  Moments out;
  // E x^k and Var x^k of N(0,1), k = 1..4.
  const double mean[] = {0, 1, 0, 3}, variance[] = {1, 2, 15, 96};
  for (int k = 1; k <= 4; ++k) {
    double sum = 0;
    for (const double v : x) sum += std::pow(v, k);
    const double z = (sum / n - mean[k - 1]) / std::sqrt(variance[k - 1] / n);
    out.worst_z = std::max(out.worst_z, std::fabs(z));
  }
  std::sort(x.begin(), x.end());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double cdf = 0.5 * std::erfc(-x[i] / std::numbers::sqrt2);
    const auto at = static_cast<double>(i);
    out.ks = std::max({out.ks, cdf - at / n, (at + 1) / n - cdf});
  }
  out.ks *= std::sqrt(n);
  return out;
}

// |z| of the correlation of x and y, and of their squares.
double dependence_z(const std::vector<double>& x, const std::vector<double>& y) {
  double xy = 0, squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += x[i] * y[i];
    squares += (x[i] * x[i] - 1) * (y[i] * y[i] - 1) / 2;
  }
  return std::max(std::fabs(xy), std::fabs(squares)) / std::sqrt(static_cast<double>(x.size()));
}

std::vector<double> gather(const StreamKey& key) {
  std::vector<double> all;
  for (std::uint32_t chain = 0; chain < 40; ++chain) {
    for (std::uint64_t step = 0; step < 100; ++step) {
      for (const double v : normals(key, chain, step, 101)) all.push_back(v);
    }
  }
  return all;
}

// N = 404,000. KS limit: 2 exp(-2 * 3^2) = 3e-8.
TEST_P(BothKinds, NormalsAreStandardNormal) {
  auto x = gather(key(1));
  const auto good = moments_of(x);
  EXPECT_LT(good.worst_z, z_limit);
  EXPECT_LT(good.ks, 3.0);
  // Power: noise that is 2 % too large is seen.
  for (double& v : x) v *= 1.02;
  EXPECT_GT(moments_of(x).worst_z, z_limit);
}

// The classic bug: one noise vector shared by all chains (or steps, or keys).
TEST_P(BothKinds, ChainsStepsCoordinatesAndKeysAreIndependent) {
  constexpr std::size_t n = 200'000;
  const auto base = normals(key(1), 0, 0, n + 1);
  const std::vector<double> here(base.begin(), base.end() - 1);
  EXPECT_LT(dependence_z(here, {base.begin() + 1, base.end()}), z_limit) << "coordinates";
  EXPECT_LT(dependence_z(here, normals(key(1), 1, 0, n)), z_limit) << "chains";
  EXPECT_LT(dependence_z(here, normals(key(1), 0, 1, n)), z_limit) << "steps";
  EXPECT_LT(dependence_z(here, normals(key(2), 0, 0, n)), z_limit) << "keys";
  EXPECT_GT(dependence_z(here, here), z_limit) << "power";

  // Independence holds across streams too: coordinates 0 and 1 of many (chain, step), as a chain
  // consumes them.
  std::vector<double> first, second, next_step, next_chain;
  for (std::uint32_t chain = 0; chain < 100; ++chain) {
    for (std::uint64_t step = 0; step < 500; ++step) {
      const auto pair = normals(key(3), chain, step, 2);
      first.push_back(pair[0]);
      second.push_back(pair[1]);
      next_step.push_back(normals(key(3), chain, step + 1, 1)[0]);
      next_chain.push_back(normals(key(3), chain + 1, step, 1)[0]);
    }
  }
  EXPECT_LT(moments_of(first).worst_z, z_limit);
  EXPECT_LT(dependence_z(first, second), z_limit);
  EXPECT_LT(dependence_z(first, next_step), z_limit);
  EXPECT_LT(dependence_z(first, next_chain), z_limit);
}

// 256 counts per byte position of 2^16 words; chi-square with 255 degrees of freedom exceeds 255 +
// 7 sqrt(510) = 413 with probability below 1e-9.
TEST_P(BothKinds, EveryByteOfAWordIsUniform) {
  const auto w = words(key(5), 1, 2, 1 << 16);
  for (unsigned shift = 0; shift < 64; shift += 8) {
    std::array<double, 256> count{};
    for (const auto word : w) count[(word >> shift) & 255] += 1;
    double chi2 = 0;
    for (const double c : count) chi2 += (c - 256) * (c - 256) / 256;
    EXPECT_LT(chi2, 413) << shift;
  }
}

// ---- Box-Muller ----

// Number of radius words w (out of 2^64) for which box_muller satisfies a predicate that holds on
// [0, count).
double count_words(const std::function<bool(std::uint64_t)>& holds) {
  if (!holds(0)) return 0;
  std::uint64_t lo = 0, hi = ~std::uint64_t{0};
  if (holds(hi)) return 0x1p64;
  while (hi - lo > 1) {
    const std::uint64_t mid = lo + (hi - lo) / 2;
    (holds(mid) ? lo : hi) = mid;
  }
  return static_cast<double>(lo + 1);
}

// Exact tails of the radius map. The count differs from 2^64 exp(-t^2/2) by at most 1 for being
// whole, and by t^2 * 1e-15 < 1e-12 of itself for the rounding of the radius.
TEST(BoxMuller, RadiusTailIsExactInCounts) {
  for (const double t : {0.01, 0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 7.03, 7.43, 8.0, 9.0}) {
    const double count = count_words([&](std::uint64_t w) { return box_muller(w, 0)[0] > t; });
    const double expected = 0x1p64 * std::exp(-t * t / 2);
    EXPECT_TRUE(std::fabs(count - expected) <= 1 + 1e-12 * expected) << t;
  }
  for (const double t : {1e-9, 1e-6, 1e-3, 0.1}) {  // the other end: small radii, w near 2^64
    const double count = count_words([&](std::uint64_t w) { return box_muller(~w, 0)[0] < t; });
    const double expected = -0x1p64 * std::expm1(-t * t / 2);
    EXPECT_TRUE(std::fabs(count - expected) <= 1 + 1e-12 * expected) << t;
  }
}

// P(xi > t) of both coordinates by the trapezoidal rule over the angle (periodic and smooth, so it
// converges faster than any power), each angle exact by counting; down to probability 1e-12.
TEST(BoxMuller, NormalTailIsExactTo1e12) {
  constexpr std::uint64_t angles = 1 << 10;
  for (const double t : {0.5, 1.0, 2.0, 4.0, 5.0, 6.0, 7.03}) {
    const double expected = 0.5 * std::erfc(t / std::numbers::sqrt2);
    for (const std::size_t coordinate : {0u, 1u}) {
      for (const double sign : {1.0, -1.0}) {
        double count = 0;
        for (std::uint64_t a = 0; a < angles; ++a) {
          const std::uint64_t angle_word = (a << 54) + (std::uint64_t{1} << 53);
          count += count_words(
              [&](std::uint64_t w) { return sign * box_muller(w, angle_word)[coordinate] > t; });
        }
        const double probability = count / 0x1p64 / static_cast<double>(angles);
        EXPECT_TRUE(std::fabs(probability / expected - 1) <= 1e-6)
            << "t " << t << " coordinate " << coordinate << " sign " << sign << ": " << probability;
      }
    }
  }
}

TEST(BoxMuller, LargestMagnitudeIsTheDocumentedOne) {
  EXPECT_LE(box_muller(0, 0)[0], max_abs_normal);
  EXPECT_GT(box_muller(0, 0)[0], max_abs_normal - 1e-4);
  EXPECT_GT(box_muller(~std::uint64_t{0}, 0)[0], 0);  // the radius is never 0
}

// Pairs whose radius has 128 bits agree with 50 digits, for words of every size and for both ends.
TEST(AnswerNormals, AgreeWithFiftyDigits) {
  std::mt19937_64 random(20261122);
  double worst = 0, largest = 0;
  for (int i = 0; i < 4000; ++i) {
    std::uint64_t high = random() >> (i % 64), low = random();
    if (i % 3 == 0) high = ~high;
    if (i % 100 == 1) high = 0, low >>= i % 64;
    if (i == 2) high = low = 0;
    if (i == 5) high = low = ~std::uint64_t{0};
    // Octant 0, where the angle is (word >> 11) 2^-53 of a turn.
    const std::uint64_t angle = random() >> 3;
    const Wide u = ldexp(Wide(high), -64) + ldexp(Wide(low), -128) + ldexp(Wide(1), -129);
    // -log of a u near 1 by 1 - u, as it is known exactly.
    const bool upper = high >> 63;
    const Wide rest = ldexp(Wide(~high), -64) + ldexp(Wide(~low), -128) + ldexp(Wide(1), -129);
    const Wide radius = sqrt(-2 * (upper ? log1p(Wide(-rest)) : log(u)));
    const NormalPair got = box_muller_pair({high, angle}, low);
    const double computed = std::hypot(got.first, got.second);
    worst = std::max(worst, std::fabs(static_cast<double>(Wide(computed) / radius - 1)));
    largest = std::max(largest, computed);
  }
  EXPECT_LT(worst, 9 * 0x1p-53);
  EXPECT_LE(largest, max_abs_answer_normal);
  EXPECT_GT(largest, max_abs_answer_normal - 2e-4) << "the smallest word was not met";
}

// Answer normals are the pairs of `box_muller` up to rounding: only the radius takes its word from
// another place.
TEST(AnswerNormals, AreThoseOfTheirWords) {
  const StreamKey key = StreamKey::from_seed(5);
  std::vector<double> answers(7);
  answer_normals(key, 3, 9, answers);
  std::vector<std::uint64_t> words(12);
  fill_words(key, 3, 9, words);
  for (std::size_t j = 0; j < answers.size(); ++j) {
    const std::uint64_t* const w = &words[j / 2 * 3];
    EXPECT_NEAR(answers[j], box_muller(w[0], w[1])[j % 2], 1e-12) << j;
  }
}

// Pairs agree with 64-bit significands that reduce the angle otherwise (to the nearest quarter
// turn). Roundings: log 1, its argument 1, both halved by the square root; sqrt, sin, phi (2),
// product. Their sum is below 8 half ulps = 1e-15.
TEST(BoxMuller, AgreesWithLongDouble) {
  if (std::numeric_limits<long double>::digits < 64) GTEST_SKIP() << "long double is too short";
  std::vector<std::uint64_t> samples = words(StreamKey::from_seed(9), 0, 0, 2000);
  for (unsigned b = 0; b < 64; ++b) {
    for (const std::uint64_t d : {0ull, 1ull, 2048ull}) {
      samples.push_back((1ull << b) + d);
      samples.push_back(-(1ull << b) - d);
      samples.push_back((3ull << 62) + (1ull << b) + d);
      samples.push_back((1ull << 63) - (1ull << b) - d);
    }
  }
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::uint64_t w = samples[i], a = samples[(i * 7 + 3) % samples.size()];
    const long double u = (static_cast<long double>(w) + 0.5L) * 0x1p-64L;
    const long double log_u =
        w >> 63 ? std::log1p(-(static_cast<long double>(~w) + 0.5L) * 0x1p-64L) : std::log(u);
    const long double radius = std::sqrt(-2 * log_u);
    const auto k = static_cast<std::int64_t>(a >> 11);
    const std::int64_t quarter = (k + (std::int64_t{1} << 50)) >> 51;
    const long double phi =
        static_cast<long double>(k - (quarter << 51)) * 0x1p-52L * std::numbers::pi_v<long double>;
    const long double c = std::cos(phi), s = std::sin(phi);
    const long double turned[4][2] = {{c, s}, {-s, c}, {-c, -s}, {s, -c}};
    const auto got = box_muller(w, a);
    for (const std::size_t coordinate : {0u, 1u}) {
      const long double expected = radius * turned[quarter % 4][coordinate];
      EXPECT_TRUE(std::fabs(got[coordinate] - expected) <= 1e-15L * std::fabs(expected))
          << std::hex << w << " " << a << " " << coordinate;
    }
  }
}

}  // namespace random_test
}  // namespace gibbsite
