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

void philox_words(const StreamKey& key, std::uint32_t chain, std::uint64_t step,
                  std::uint64_t first, std::span<std::uint64_t> out) {
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
