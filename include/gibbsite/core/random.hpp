#pragma once
// Counter-based noise: the normal of (chain, step, coordinate) is a pure function of the key, so a
// run can be stopped, resumed, moved between backends and compared step by step.
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace gibbsite {

/// Which generator turns a key and a counter into bits.
enum class NoiseKind {
  chacha20,  ///< RFC 8439: certified runs, keyed by the operating system
  philox,    ///< Philox4x32-10 (Salmon et al. 2011): reproducible, uncertified runs
};
std::string_view to_string(NoiseKind kind);

/// A key of noise streams, for chains, engines and draws that are not private. It does not say
/// where its bytes came from, so no guarantee rests on it: that takes a `Key`.
struct StreamKey {
  NoiseKind kind;
  std::array<std::uint8_t, 32> bytes;

  constexpr StreamKey(NoiseKind kind_, const std::array<std::uint8_t, 32>& bytes_)
      : kind(kind_), bytes(bytes_) {}
  /// Philox keyed by a user's seed.
  static StreamKey from_seed(std::uint64_t seed);
};

/// Key of one private run's noise. Whoever knows it can remove the noise, and noise that serves
/// twice hides nothing: the bytes cannot be read or copied, and the run that takes the key uses it
/// up.
class Key {
 public:
  /// 256 bits from the operating system, for ChaCha20: what a certificate needs. Throws Error when
  /// it gives none.
  static Key from_os();
  /// Philox keyed by a user's seed: reproducible, and the certificate of its run is void.
  static Key from_seed(std::uint64_t seed);

  Key(Key&& other) noexcept;  ///< `other` is used up
  Key& operator=(Key&& other) noexcept;
  Key(const Key&) = delete;
  Key& operator=(const Key&) = delete;
  ~Key();  ///< wipes the bytes

  /// Throws BadInput when the key is used up.
  [[nodiscard]] NoiseKind kind() const;

 private:
  friend struct KeyAccess;  // host/core/key_access.hpp
  explicit Key(const StreamKey& stream) : stream_(stream) {}
  void wipe() noexcept;

  StreamKey stream_;
  bool used_ = false;
};

/// One Philox4x32-10 block (Salmon, Moraes, Dror, Shaw, SC 2011): counter, key -> 4 words.
std::array<std::uint32_t, 4> philox4x32_10(std::array<std::uint32_t, 4> counter,
                                           std::array<std::uint32_t, 2> key);

/// Writes the words of the stream (chain, step): out[i] is 64-bit word i. ChaCha20: RFC 8439 block
/// function with nonce (chain, step) little-endian in 4 + 8 bytes and block counter i / 8. Philox:
/// counter {i / 2, step low, step high, chain}, key = seed.
void fill_words(const StreamKey& key, std::uint32_t chain, std::uint64_t step,
                std::span<std::uint64_t> out);

/// Two independent N(0,1) from two uniform words by Box-Muller in double: the radius is
/// sqrt(-2 log((w0 + 1/2) 2^-64)), the angle 2 pi (w1 >> 11) 2^-53. Relative error
/// below 1e-15 in both tails of the radius and near the zeros of the angle.
std::array<double, 2> box_muller(std::uint64_t radius_word, std::uint64_t angle_word);

/// Largest |normal| that box_muller can return, rounded up: sqrt(2 * 65 log 2) = 9.4925...
inline constexpr double max_abs_normal = 9.4926;

/// Writes standard normals of (chain, step): out[j] is that of coordinate j, and words (2p, 2p+1)
/// give coordinates (2p, 2p+1). Pure: no state, thread safe.
void fill_normals(const StreamKey& key, std::uint32_t chain, std::uint64_t step,
                  std::span<double> out);

/// Writes standard normals whose radius has 128 bits, for answers to questions about private sums.
/// Words 3p and 3p + 2 give the radius and word 3p + 1 the angle, for coordinates (2p, 2p + 1) of
/// (chain, step). Many of them together are off by nothing that a delta could show
/// (docs/theory/noise-law.md). The relative error is that of box_muller.
void answer_normals(const StreamKey& key, std::uint32_t chain, std::uint64_t step,
                    std::span<double> out);
/// Largest |normal| that answer_normals can return, rounded up: sqrt(2 * 129 log 2).
inline constexpr double max_abs_answer_normal = 13.3729;

/// Draws out [d] = b with a density proportional to exp(-rate ||b||): its norm is Gamma(d) over the
/// rate, its direction uniform. b = ||zeta|| xi/rate, where xi [d] are the `answer_normals` of
/// (chain, step) and zeta [d + 1] those of (chain, step + 1). The norm is computed in 50 digits
/// (docs/theory/noise-law.md, "Pure noise"). Nothing is rejected or drawn again. Throws BadInput
/// unless the rate is finite and positive.
void fill_laplace(const StreamKey& key, std::uint32_t chain, std::uint64_t step, double rate,
                  std::span<double> out);

/// Step number reserved for the start of a chain drawn at random (schedules that need one).
inline constexpr std::uint64_t start_step = ~std::uint64_t{0};
/// Step number reserved for the word that decides where a chain stops (mechanism/averaged.hpp).
inline constexpr std::uint64_t stop_step = start_step - 1;
/// Step number reserved for an answer that chains wait for (mechanism/in_metric.hpp).
inline constexpr std::uint64_t moments_step = start_step - 2;

}  // namespace gibbsite
