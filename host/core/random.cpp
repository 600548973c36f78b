#include "gibbsite/core/random.hpp"

#include <sodium.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "core/key_access.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/random_bits.hpp"
#include "gibbsite/core/wide.hpp"

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

void chacha20_words(const StreamKey& key, std::uint32_t chain, std::uint64_t step,
                    std::uint64_t first, std::span<std::uint64_t> out) {
  require_sodium();
  std::array<unsigned char, crypto_stream_chacha20_ietf_NONCEBYTES> nonce;
  static_assert(sizeof(chain) + sizeof(step) == nonce.size());
  std::memcpy(nonce.data(), &chain, sizeof(chain));
  std::memcpy(nonce.data() + sizeof(chain), &step, sizeof(step));
  if (out.empty()) return;  // no address that libsodium would take
  // The stream is the exclusive or of the key stream with zeros.
  auto* bytes = reinterpret_cast<unsigned char*>(out.data());
  std::fill(out.begin(), out.end(), 0);
  crypto_stream_chacha20_ietf_xor_ic(bytes, bytes, out.size_bytes(), nonce.data(),
                                     static_cast<std::uint32_t>(first / words_per_block),
                                     key.bytes.data());
}

// Blocks of as many counters at once as the registers of AVX2 hold; the words of
// philox4x32_10_block.
constexpr std::size_t philox_lanes = 8;
[[gnu::always_inline]] inline void philox_loop(std::uint32_t pair, const Philox4& rest,
                                               std::array<std::uint32_t, 2> seed,
                                               std::uint32_t* out) {
  std::uint32_t a[philox_lanes], b[philox_lanes], c[philox_lanes], d[philox_lanes];
  for (std::uint32_t l = 0; l < philox_lanes; ++l) {
    a[l] = pair + l;
    b[l] = rest.word[1], c[l] = rest.word[2], d[l] = rest.word[3];
  }
  for (int round = 0; round < 10; ++round) {
    for (std::size_t l = 0; l < philox_lanes; ++l) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53} * a[l];
      const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * c[l];
      a[l] = static_cast<std::uint32_t>(p1 >> 32) ^ b[l] ^ seed[0];
      b[l] = static_cast<std::uint32_t>(p1);
      c[l] = static_cast<std::uint32_t>(p0 >> 32) ^ d[l] ^ seed[1];
      d[l] = static_cast<std::uint32_t>(p0);
    }
    seed[0] += 0x9E3779B9;
    seed[1] += 0xBB67AE85;
  }
  for (std::size_t l = 0; l < philox_lanes; ++l) {
    out[4 * l] = a[l], out[4 * l + 1] = b[l];
    out[4 * l + 2] = c[l], out[4 * l + 3] = d[l];
  }
}
void philox_plain(std::uint32_t pair, const Philox4& rest, std::array<std::uint32_t, 2> seed,
                  std::uint32_t* out) {
  philox_loop(pair, rest, seed, out);
}
#ifdef __x86_64__
[[gnu::target("avx2")]] void philox_wide(std::uint32_t pair, const Philox4& rest,
                                         std::array<std::uint32_t, 2> seed, std::uint32_t* out) {
  philox_loop(pair, rest, seed, out);
}
bool has_wide() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}
#else
constexpr auto philox_wide = philox_plain;
bool has_wide() { return false; }
#endif

void philox_words(const StreamKey& key, std::uint32_t chain, std::uint64_t step,
                  std::uint64_t first, std::span<std::uint64_t> out) {
  std::array<std::uint32_t, 2> seed;
  std::memcpy(seed.data(), key.bytes.data(), sizeof(seed));
  const auto pair = static_cast<std::uint32_t>(first / 2);
  const Philox4 rest{
      {0, static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(step >> 32), chain}};
  const auto blocks = has_wide() ? philox_wide : philox_plain;
  constexpr std::size_t words = 2 * philox_lanes;
  std::size_t i = 0;
  for (; i + words <= out.size(); i += words) {
    std::array<std::uint32_t, 2 * words> block;
    blocks(pair + static_cast<std::uint32_t>(i / 2), rest, seed, block.data());
    std::memcpy(out.data() + i, block.data(), words * 8);
  }
  for (; i < out.size(); i += 2) {
    const Philox4 block = philox4x32_10_block(
        {{pair + static_cast<std::uint32_t>(i / 2), rest.word[1], rest.word[2], chain}}, seed[0],
        seed[1]);
    std::memcpy(out.data() + i, block.word, std::min<std::size_t>(out.size() - i, 2) * 8);
  }
}

// Words first, first + 1, ... of the stream; `first` is a multiple of words_per_block.
void fill_words_from(const StreamKey& key, std::uint32_t chain, std::uint64_t step,
                     std::uint64_t first, std::span<std::uint64_t> out) {
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

StreamKey StreamKey::from_seed(std::uint64_t seed) {
  StreamKey key(NoiseKind::philox, {});
  std::memcpy(key.bytes.data(), &seed, sizeof(seed));
  return key;
}

Key Key::from_os() {
  require_sodium();
  Key key(StreamKey(NoiseKind::chacha20, {}));
  randombytes_buf(key.stream_.bytes.data(), key.stream_.bytes.size());
  return key;
}

Key Key::from_seed(std::uint64_t seed) { return Key(StreamKey::from_seed(seed)); }

Key::Key(Key&& other) noexcept : stream_(other.stream_), used_(other.used_) { other.wipe(); }

Key& Key::operator=(Key&& other) noexcept {
  if (this != &other) {
    stream_ = other.stream_;
    used_ = other.used_;
    other.wipe();
  }
  return *this;
}

Key::~Key() { wipe(); }

void Key::wipe() noexcept {
  sodium_memzero(stream_.bytes.data(), stream_.bytes.size());
  used_ = true;
}

NoiseKind Key::kind() const {
  if (used_) {
    throw BadInput("key: a run has used it up; give every run its own, from Key::from_os()");
  }
  return stream_.kind;
}

StreamKey KeyAccess::take(Key&& key) {
  static_cast<void>(key.kind());  // throws when it is used up
  const Key taken = std::move(key);
  return taken.stream_;
}

std::array<std::uint32_t, 4> philox4x32_10(std::array<std::uint32_t, 4> counter,
                                           std::array<std::uint32_t, 2> key) {
  return std::bit_cast<std::array<std::uint32_t, 4>>(
      philox4x32_10_block(std::bit_cast<Philox4>(counter), key[0], key[1]));
}

void fill_words(const StreamKey& key, std::uint32_t chain, std::uint64_t step,
                std::span<std::uint64_t> out) {
  fill_words_from(key, chain, step, 0, out);
}

std::array<double, 2> box_muller(std::uint64_t radius_word, std::uint64_t angle_word) {
  const NormalPair pair = box_muller_pair({radius_word, angle_word});
  return {pair.first, pair.second};
}

void fill_normals(const StreamKey& key, std::uint32_t chain, std::uint64_t step,
                  std::span<double> out) {
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

void answer_normals(const StreamKey& key, std::uint32_t chain, std::uint64_t step,
                    std::span<double> out) {
  std::vector<std::uint64_t> words((out.size() + 1) / 2 * 3);
  fill_words(key, chain, step, words);
  for (std::size_t j = 0; j < out.size(); j += 2) {
    const std::uint64_t* const w = &words[j / 2 * 3];
    const NormalPair pair = box_muller_pair({w[0], w[1]}, w[2]);
    out[j] = pair.first;
    if (j + 1 < out.size()) out[j + 1] = pair.second;
  }
  sodium_memzero(words.data(), words.size() * sizeof(words[0]));
}

void fill_laplace(const StreamKey& key, std::uint32_t chain, std::uint64_t step, double rate,
                  std::span<double> out) {
  require_finite_positive(rate, "rate");
  std::vector<double> zeta(out.size() + 1);
  answer_normals(key, chain, step + 1, zeta);
  Wide square = 0;
  for (const double z : zeta) square += Wide(z) * Wide(z);
  const auto scale = static_cast<double>(sqrt(square) / Wide(rate));
  answer_normals(key, chain, step, out);
  for (double& b : out) b *= scale;
  sodium_memzero(zeta.data(), zeta.size() * sizeof(zeta[0]));
}

}  // namespace gibbsite
