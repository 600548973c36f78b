#include "gibbsite/core/random.hpp"

#include <sodium.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>

#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace {

// Words are read and written as little-endian memory, as RFC 8439 lays them out.
static_assert(std::endian::native == std::endian::little, "gibbsite needs a little-endian machine");

constexpr std::size_t words_per_block = 8;  // ChaCha20: 64 bytes

// Chooses libsodium's fastest ChaCha20 for this machine, once; needed before randombytes_buf.
void require_sodium() {
  static const bool ready = sodium_init() >= 0;
  if (!ready) {
    throw Error(Status::backend_unavailable,
                "libsodium: no source of randomness; run where getrandom(2) or /dev/urandom works");
  }
}

void chacha20_words(const Key& key, std::uint32_t chain, std::uint64_t step, std::uint64_t first,
                    std::span<std::uint64_t> out) {
  require_sodium();
  std::array<unsigned char, crypto_stream_chacha20_ietf_NONCEBYTES> nonce;
  static_assert(sizeof(chain) + sizeof(step) == nonce.size());
  std::memcpy(nonce.data(), &chain, sizeof(chain));
  std::memcpy(nonce.data() + sizeof(chain), &step, sizeof(step));
  // The stream is the exclusive or of the key stream with zeros.
  auto* bytes = reinterpret_cast<unsigned char*>(out.data());
  std::fill(out.begin(), out.end(), 0);
  crypto_stream_chacha20_ietf_xor_ic(bytes, bytes, out.size_bytes(), nonce.data(),
                                     static_cast<std::uint32_t>(first / words_per_block),
                                     key.bytes.data());
}

void philox_words(const Key& key, std::uint32_t chain, std::uint64_t step, std::uint64_t first,
                  std::span<std::uint64_t> out) {
  std::array<std::uint32_t, 2> seed;
  std::memcpy(seed.data(), key.bytes.data(), sizeof(seed));
  for (std::size_t i = 0; i < out.size(); i += 2) {
    const auto block = philox4x32_10(
        {static_cast<std::uint32_t>((first + i) / 2), static_cast<std::uint32_t>(step),
         static_cast<std::uint32_t>(step >> 32), chain},
        seed);
    std::memcpy(out.data() + i, block.data(), std::min<std::size_t>(out.size() - i, 2) * 8);
  }
}

// Words first, first + 1, ... of the stream; `first` is a multiple of words_per_block.
void fill_words_from(const Key& key, std::uint32_t chain, std::uint64_t step, std::uint64_t first,
                     std::span<std::uint64_t> out) {
  switch (key.kind) {
    case NoiseKind::chacha20:
      return chacha20_words(key, chain, step, first, out);
    case NoiseKind::philox:
      return philox_words(key, chain, step, first, out);
  }
}

}  // namespace

std::string_view to_string(NoiseKind kind) {
  return kind == NoiseKind::chacha20 ? "chacha20" : "philox";
}

Key Key::from_os() {
  require_sodium();
  Key key;
  randombytes_buf(key.bytes.data(), key.bytes.size());
  return key;
}

Key Key::from_seed(std::uint64_t seed) {
  Key key;
  key.kind = NoiseKind::philox;
  std::memcpy(key.bytes.data(), &seed, sizeof(seed));
  return key;
}

std::array<std::uint32_t, 4> philox4x32_10(std::array<std::uint32_t, 4> counter,
                                           std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {
        static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(p1),
        static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(p0)};
    key[0] += 0x9E3779B9;  // golden ratio
    key[1] += 0xBB67AE85;  // sqrt(3) - 1
  }
  return counter;
}

void fill_words(const Key& key, std::uint32_t chain, std::uint64_t step,
                std::span<std::uint64_t> out) {
  fill_words_from(key, chain, step, 0, out);
}

std::array<double, 2> box_muller(std::uint64_t radius_word, std::uint64_t angle_word) {
  // -log u for u = (w + 1/2) 2^-64. Both tails keep their digits: near u = 1 through 1 - u, which
  // is (~w + 1/2) 2^-64.
  const bool upper = radius_word >> 63;
  const auto tail = static_cast<double>(upper ? ~radius_word : radius_word);
  const double u = (tail + 0.5) * 0x1p-64;
  const double radius = std::sqrt(-2 * (upper ? std::log1p(-u) : std::log(u)));

  // The angle 2 pi k 2^-53 is (pi/4)(octant + f), f exact in [0, 1). Odd octants run backwards, so
  // sin and cos are only taken on [0, pi/4] and are accurate to an ulp or two also near their
  // zeros.
  const std::uint64_t k = angle_word >> 11;
  const auto octant = static_cast<unsigned>(k >> 50);
  const std::uint64_t low = k & ((std::uint64_t{1} << 50) - 1);
  const auto f = static_cast<double>(octant % 2 == 0 ? low : (std::uint64_t{1} << 50) - low);
  const double phi = f * 0x1p-50 * (std::numbers::pi / 4);
  double c = std::cos(phi), s = std::sin(phi);
  if ((octant + 1) / 2 % 2 == 1) std::swap(c, s);  // octants 1, 2, 5, 6
  if (octant >= 2 && octant < 6) c = -c;           // left half plane
  if (octant >= 4) s = -s;                         // lower half plane
  return {radius * c, radius * s};
}

void fill_normals(const Key& key, std::uint32_t chain, std::uint64_t step, std::span<double> out) {
  constexpr std::size_t chunk = 512;  // words on the stack
  std::array<std::uint64_t, chunk> words;
  for (std::size_t first = 0; first < out.size(); first += chunk) {
    const std::size_t n = std::min(chunk, out.size() - first);
    const std::size_t even = n + n % 2;
    fill_words_from(key, chain, step, first, {words.data(), even});
    for (std::size_t j = 0; j < n; j += 2) {
      const auto pair = box_muller(words[j], words[j + 1]);
      out[first + j] = pair[0];
      if (j + 1 < n) out[first + j + 1] = pair[1];
    }
  }
}

}  // namespace gibbsite
