#include "engine/cpu/noise.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/cpu/targets.hpp"
#include "gibbsite/core/random_bits.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/cpu/noise.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "engine/cpu/atanh-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace gibbsite::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::ScalableTag<double>;
using Words = hn::RebindToUnsigned<Doubles>;
using Double = hn::Vec<Doubles>;
using Word = hn::Vec<Words>;

constexpr std::uint64_t low_half = 0xFFFFFFFF;
constexpr size_t pairs = block_coordinates / 2;

// Words 2q and 2q + 1 of a block in lanes.
struct Block {
  Word first[pairs], second[pairs];
};

// ---- ciphers ----

// Lane i's block counter of chain i of a vector of chains.
struct Lanes {
  const PanelChains* chains;
  size_t offset;  // of the vector in the panel
  std::uint64_t step;
  std::uint64_t block;

  [[nodiscard]] HWY_INLINE Word Load(const std::uint64_t* words) const {
    return hn::LoadU(Words(), words + offset);
  }
  [[nodiscard]] HWY_INLINE Word Key(size_t i) const { return Load(chains->key(i)); }
  [[nodiscard]] HWY_INLINE Word Stream() const { return Load(chains->stream()); }
  [[nodiscard]] HWY_INLINE Word Step() const {
    return hn::Add(Load(chains->step()), hn::Set(Words(), step));
  }
};

#if HWY_TARGET == HWY_SCALAR

// A lane a vector: through the functions that CUDA kernels use.
HWY_INLINE void OneLane(const Lanes& lanes, bool philox, Block& out) {
  std::uint32_t key[8];
  for (size_t i = 0; i < 8; ++i) key[i] = static_cast<std::uint32_t>(hn::GetLane(lanes.Key(i)));
  const auto stream = static_cast<std::uint32_t>(hn::GetLane(lanes.Stream()));
  for (size_t q = 0; q < pairs; ++q) {
    const auto pair = static_cast<std::uint32_t>(lanes.block * pairs + q);
    const WordPair words =
        (philox ? philox_pair : chacha20_pair)(key, stream, hn::GetLane(lanes.Step()), pair);
    out.first[q] = hn::Set(Words(), words.first);
    out.second[q] = hn::Set(Words(), words.second);
  }
}
HWY_INLINE void ChaCha20(const Lanes& a, const Lanes& b, Block& of_a, Block& of_b) {
  OneLane(a, false, of_a);
  OneLane(b, false, of_b);
}
HWY_INLINE void Philox(const Lanes& lanes, Block& out) { OneLane(lanes, true, out); }

#else

using Halves = hn::Repartition<std::uint32_t, Words>;
using Half = hn::Vec<Halves>;

// The low halves of a in even lanes, those of b in odd ones.
HWY_INLINE Half LowHalves(Word a, Word b) {
  return hn::BitCast(Halves(),
                     hn::Or(hn::And(a, hn::Set(Words(), low_half)), hn::ShiftLeft<32>(b)));
}
HWY_INLINE Half HighHalves(Word a, Word b) {
  return hn::BitCast(Halves(),
                     hn::Or(hn::ShiftRight<32>(a), hn::AndNot(hn::Set(Words(), low_half), b)));
}

// RFC 8439, 2.1.
HWY_INLINE void QuarterRound(Half& a, Half& b, Half& c, Half& d) {
  a = hn::Add(a, b), d = hn::RotateRight<16>(hn::Xor(d, a));
  c = hn::Add(c, d), b = hn::RotateRight<20>(hn::Xor(b, c));
  a = hn::Add(a, b), d = hn::RotateRight<24>(hn::Xor(d, a));
  c = hn::Add(c, d), b = hn::RotateRight<25>(hn::Xor(b, c));
}

// RFC 8439, 2.3, of two vectors of chains: a in even lanes, b in odd ones, so that both halves of a
// 64-bit word come to its place by shifts alone.
HWY_INLINE void ChaCha20(const Lanes& a, const Lanes& b, Block& of_a, Block& of_b) {
  const Words d;
  const auto initial = [&](size_t i) HWY_ATTR {
    constexpr std::uint32_t constants[] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    if (i < 4) return hn::Set(Halves(), constants[i]);
    if (i < 12) return LowHalves(a.Key(i - 4), b.Key(i - 4));
    if (i == 12) return LowHalves(hn::Set(d, a.block), hn::Set(d, b.block));
    if (i == 13) return LowHalves(a.Stream(), b.Stream());
    return i == 14 ? LowHalves(a.Step(), b.Step()) : HighHalves(a.Step(), b.Step());
  };
  Half s[16];
  for (size_t i = 0; i < 16; ++i) s[i] = initial(i);
  for (int round = 0; round < 10; ++round) {
    QuarterRound(s[0], s[4], s[8], s[12]);
    QuarterRound(s[1], s[5], s[9], s[13]);
    QuarterRound(s[2], s[6], s[10], s[14]);
    QuarterRound(s[3], s[7], s[11], s[15]);
    QuarterRound(s[0], s[5], s[10], s[15]);
    QuarterRound(s[1], s[6], s[11], s[12]);
    QuarterRound(s[2], s[7], s[8], s[13]);
    QuarterRound(s[3], s[4], s[9], s[14]);
  }
  const auto word = [&](size_t i) HWY_ATTR { return hn::BitCast(d, hn::Add(s[i], initial(i))); };
  for (size_t q = 0; q < pairs; ++q) {
    const Word w0 = word(4 * q), w1 = word(4 * q + 1);
    const Word w2 = word(4 * q + 2), w3 = word(4 * q + 3);
    of_a.first[q] = hn::BitCast(d, LowHalves(w0, w1));
    of_a.second[q] = hn::BitCast(d, LowHalves(w2, w3));
    of_b.first[q] = hn::BitCast(d, HighHalves(w0, w1));
    of_b.second[q] = hn::BitCast(d, HighHalves(w2, w3));
  }
}

// Philox4x32-10 (`philox4x32_10_block`) on low halves; what stands in high ones is never read.
HWY_INLINE void Philox(const Lanes& lanes, Block& out) {
  const Words d;
  const Halves h;
  const auto product = [&](std::uint32_t m, Word c)
                           HWY_ATTR { return hn::MulEven(hn::Set(h, m), hn::BitCast(h, c)); };
  const Word step = lanes.Step();
  Word key0 = lanes.Key(0), key1 = lanes.Key(1), c[pairs][4];
  for (size_t q = 0; q < pairs; ++q) {
    c[q][0] = hn::Set(d, lanes.block * pairs + q);
    c[q][1] = step;
    c[q][2] = hn::ShiftRight<32>(step);
    c[q][3] = lanes.Stream();
  }
  for (int round = 0; round < 10; ++round) {
    for (size_t q = 0; q < pairs; ++q) {
      const Word p0 = product(0xD2511F53, c[q][0]), p1 = product(0xCD9E8D57, c[q][2]);
      c[q][0] = hn::Xor(hn::Xor(hn::ShiftRight<32>(p1), c[q][1]), key0);
      c[q][1] = p1;
      c[q][2] = hn::Xor(hn::Xor(hn::ShiftRight<32>(p0), c[q][3]), key1);
      c[q][3] = p0;
    }
    key0 = hn::Add(key0, hn::Set(d, std::uint64_t{0x9E3779B9}));  // golden ratio
    key1 = hn::Add(key1, hn::Set(d, std::uint64_t{0xBB67AE85}));  // sqrt(3) - 1
  }
  for (size_t q = 0; q < pairs; ++q) {
    out.first[q] = hn::BitCast(d, LowHalves(c[q][0], c[q][1]));
    out.second[q] = hn::BitCast(d, LowHalves(c[q][2], c[q][3]));
  }
}

#endif

// visit(coordinate, offset of the vector, first word, second word) for every pair of the blocks.
template <class Visit>
HWY_INLINE void ForEachPair(const PanelBlocks& p, const Visit& visit) {
  const size_t lanes = hn::Lanes(Words()), width = p.chains->width();
  Lanes next{p.chains, 0, p.step, p.first};
  const bool chacha20 = p.chains->any(NoiseKind::chacha20);
  const bool philox = p.chains->any(NoiseKind::philox);
  while (next.block < p.last) {
    Lanes at[2] = {next, next};
    size_t both = 0;
    for (; both < 2 && next.block < p.last; ++both) {
      at[both] = next;
      next.offset += lanes;
      if (next.offset < width) continue;
      next.offset = 0;
      ++next.block;
    }
    Block words[2];
    if (chacha20) ChaCha20(at[0], at[1], words[0], words[1]);
    for (size_t k = 0; k < both; ++k) {
      Block& block = words[k];
      if (philox && !chacha20) Philox(at[k], block);
      if (philox && chacha20) {
        Block other;
        Philox(at[k], other);
        const Word which = at[k].Load(p.chains->philox());
        for (size_t q = 0; q < pairs; ++q) {
          block.first[q] = hn::IfVecThenElse(which, other.first[q], block.first[q]);
          block.second[q] = hn::IfVecThenElse(which, other.second[q], block.second[q]);
        }
      }
      const size_t first = at[k].block * block_coordinates;
      const size_t last = std::min(first + block_coordinates, p.features);
      for (size_t j = first, q = 0; j < last; j += 2, ++q) {
        visit(j, at[k].offset, block.first[q], block.second[q]);
      }
    }
  }
}

void PanelWords(const PanelBlocks& p, std::uint64_t* out) {
  ForEachPair(p, [&](size_t j, size_t offset, Word first, Word second) HWY_ATTR {
    const size_t width = p.chains->width();
    std::uint64_t* const at = out + (j - p.first * block_coordinates) * width + offset;
    hn::StoreU(first, Words(), at);
    hn::StoreU(second, Words(), at + width);
  });
}

// ---- Box-Muller ----

// -log((w + 1/2) 2^-64) = K log 2 - log(1 - v), 0 < v <= 1/2: both parts are positive, so nothing
// cancels. Above 1/2, K = 0 and v is what is missing to 1, from the complement of w; below,
// 1 - v is the significand. Roundings: of w, 2 - v, s, two of atanh, of K log 2 and the sum: 5 u.
HWY_INLINE Double MinusLog(Word w) {
  const Doubles d;
  const Words bits;
  const hn::RebindToSigned<Doubles> whole;
  const Word upper = hn::BitCast(bits, hn::BroadcastSignBit(hn::BitCast(whole, w)));
  const Word tail = hn::Xor(w, upper);  // < 2^63
  // The halves of a word as significands of 2^84 and 2^52: w + 1/2, rounded once.
  constexpr std::uint64_t two84 = 0x4530000000000000, two52 = 0x4330000000000000;
  const auto high = hn::BitCast(d, hn::Or(hn::ShiftRight<32>(tail), hn::Set(bits, two84)));
  const auto low =
      hn::BitCast(d, hn::Or(hn::And(tail, hn::Set(bits, low_half)), hn::Set(bits, two52)));
  const auto x = hn::Add(hn::Sub(high, hn::Set(d, 0x1p84)), hn::Sub(low, hn::Set(d, 0x1p52 - 0.5)));

  const Word of_x = hn::BitCast(bits, x);
  const auto significand =
      hn::BitCast(d, hn::Or(hn::And(of_x, hn::Set(bits, (std::uint64_t{1} << 52) - 1)),
                            hn::Set(bits, 0x3FE0000000000000)));  // in [1/2, 1)
  const auto exponent =
      hn::Sub(hn::BitCast(d, hn::Sub(hn::Set(bits, two52 + 1022 + 64), hn::ShiftRight<52>(of_x))),
              hn::Set(d, 0x1p52));
  const auto above = hn::MaskFromVec(hn::BitCast(d, upper));
  const auto v =
      hn::IfThenElse(above, hn::Mul(x, hn::Set(d, 0x1p-64)), hn::Sub(hn::Set(d, 1.0), significand));
  const auto k = hn::IfThenZeroElse(above, exponent);
  const auto s = hn::Div(v, hn::Sub(hn::Set(d, 2.0), v));
  return hn::MulAdd(k, hn::Set(d, 0.69314718055994530942), TwiceAtanh(d, s));
}

// The angle 2 pi (w >> 11) 2^-53 is a whole number of quarter turns and f more, f exact in
// [-1/2, 1/2). sin(pi/2 f) = f (pi/2 + f^2 p(f^2)) and cos(pi/2 f) = 1 + f^2 q(f^2): minimax
// polynomials of the relative error, 4e-18 and 4e-20 (Remez exchange in 60 digits). With pi/2 in
// two parts, sin and cos are within 2 u.
HWY_INLINE void CosSin(Word w, Double& cosine, Double& sine) {
  static constexpr double p[] = {-0.64596409750624486087,   0.079692626246059798523,
                                 -0.0046817541325626033844, 0.00016044115216846291382,
                                 -3.598647775494292159e-6,  5.6344630788779481172e-8};
  static constexpr double q[] = {-1.2337005501361698153,      0.25366950790104681547,
                                 -0.020863480763312570575,    0.0009192602741910825482,
                                 -0.000025202036788364265176, 4.7106096711099363698e-7,
                                 -6.3212022258973509777e-9};
  constexpr double half_pi = 1.5707963267948966, half_pi_low = 6.1232339957367658861e-17;
  const Doubles d;
  const Words bits;
  const Word turned = hn::Add(w, hn::Set(bits, std::uint64_t{1} << 61));  // by half a quarter
  const auto f = hn::Sub(hn::BitCast(d, hn::Or(hn::And(hn::ShiftRight<10>(turned),
                                                       hn::Set(bits, (std::uint64_t{1} << 52) - 2)),
                                               hn::Set(bits, 0x3FF0000000000000))),
                         hn::Set(d, 1.5));
  const auto square = hn::Mul(f, f);
  const auto correction = hn::MulAdd(square, Polynomial(d, square, p), hn::Set(d, half_pi_low));
  const auto s = hn::MulAdd(f, hn::Set(d, half_pi), hn::Mul(f, correction));
  const auto c = hn::MulAdd(square, Polynomial(d, square, q), hn::Set(d, 1.0));
  // Quarters 0 to 3: (c, s), (-s, c), (-c, -s), (s, -c).
  const auto odd = hn::RebindMask(d, hn::TestBit(turned, hn::Set(bits, std::uint64_t{1} << 62)));
  const auto sign = hn::Set(bits, std::uint64_t{1} << 63);
  const Word left = hn::And(hn::Xor(turned, hn::ShiftLeft<1>(turned)), sign);
  const Word below = hn::And(turned, sign);
  cosine = hn::Xor(hn::IfThenElse(odd, s, c), hn::BitCast(d, left));
  sine = hn::Xor(hn::IfThenElse(odd, c, s), hn::BitCast(d, below));
}

// (r cos, r sin): 2.5 u of the logarithm's 5, the square root, 2 of sin and the product: 6.5 u.
HWY_INLINE void BoxMuller(Word radius_word, Word angle_word, Double& first, Double& second) {
  const auto minus_log = MinusLog(radius_word);
  const auto radius = hn::Sqrt(hn::Add(minus_log, minus_log));
  Double cosine, sine;
  CosSin(angle_word, cosine, sine);
  first = hn::Mul(radius, cosine);
  second = hn::Mul(radius, sine);
}

void Normals(std::span<const std::uint64_t> words, std::span<double> out) {
  const size_t lanes = hn::Lanes(Words());
  const auto make = [&](const std::uint64_t* from, double* to) HWY_ATTR {
    Word w0, w1;
    hn::LoadInterleaved2(Words(), from, w0, w1);
    Double n0, n1;
    BoxMuller(w0, w1, n0, n1);
    hn::StoreInterleaved2(n0, n1, Doubles(), to);
  };
  size_t i = 0;
  for (; i + 2 * lanes <= out.size(); i += 2 * lanes) make(&words[i], &out[i]);
  if (i == out.size()) return;
  constexpr size_t most = 2 * HWY_MAX_BYTES / sizeof(double);
  HWY_ALIGN std::uint64_t from[most] = {};
  HWY_ALIGN double to[most];
  std::copy(words.begin() + static_cast<std::ptrdiff_t>(i), words.end(), from);
  make(from, to);
  std::copy_n(to, out.size() - i, &out[i]);
}

// ---- update ----

void LangevinPanel(const PanelUpdate& p) {
  const Doubles d;
  const PanelChains& chains = *p.blocks.chains;
  const size_t width = chains.width(), features = p.blocks.features;
  ForEachPair(p.blocks, [&](size_t j, size_t offset, Word w0, Word w1) HWY_ATTR {
    const auto beta = hn::LoadU(d, chains.inverse_temperature() + offset);
    const auto m = hn::LoadU(d, chains.prior_precision() + offset);
    const auto h = hn::LoadU(d, chains.step_size() + offset);
    const auto scale = hn::LoadU(d, chains.noise_scale() + offset);
    Double normal[2];
    BoxMuller(w0, w1, normal[0], normal[1]);
    for (size_t k = 0; k < std::min<size_t>(features - j, 2); ++k) {
      const size_t at = (j + k) * width + offset;
      const auto theta = hn::LoadU(d, p.theta + at);
      const auto from_center =
          p.center == nullptr ? theta : hn::Sub(theta, hn::LoadU(d, p.center + at));
      const auto drift = hn::MulAdd(beta, hn::LoadU(d, p.gradient + at), hn::Mul(m, from_center));
      const auto moved = hn::MulAdd(scale, normal[k], hn::NegMulAdd(h, drift, theta));
      hn::StoreU(moved, d, p.theta + at);
      if (p.rounded != nullptr) {
        const hn::Rebind<float, Doubles> narrow;
        hn::StoreU(hn::DemoteTo(narrow, moved), narrow, p.rounded + at);
      }
    }
  });
}

}  // namespace gibbsite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gibbsite::cpu {

HWY_EXPORT(PanelWords);
HWY_EXPORT(Normals);
HWY_EXPORT(LangevinPanel);

PanelChains::PanelChains(std::size_t width)
    : width_(width), bits_(11 * width), numbers_(4 * width) {
  clear();
}

void PanelChains::clear() {
  std::fill_n(bits_.data(), 11 * width_, 0);
  std::fill_n(numbers_.data(), 4 * width_, 0.0);
  any_[0] = any_[1] = false;
}

void PanelChains::set(std::size_t c, const ChainSpec& spec, std::uint64_t step,
                      std::uint32_t stream) {
  std::uint64_t* const bits = bits_.data() + c;
  std::uint32_t words[8];
  static_assert(sizeof(words) == sizeof(spec.key.bytes));
  std::memcpy(words, spec.key.bytes.data(), sizeof(words));
  for (std::size_t i = 0; i < 8; ++i) bits[i * width_] = words[i];
  const bool philox = spec.key.kind == NoiseKind::philox;
  bits[8 * width_] = stream;
  bits[9 * width_] = step;
  bits[10 * width_] = philox ? ~std::uint64_t{0} : 0;
  any_[philox] = true;
  double* const numbers = numbers_.data() + c;
  numbers[0] = spec.inverse_temperature;
  numbers[width_] = spec.prior_precision;
  numbers[2 * width_] = spec.step_size;
  numbers[3 * width_] = std::sqrt(2 * spec.step_size);
}

void normals(std::span<const std::uint64_t> words, std::span<double> out) {
  HWY_DYNAMIC_DISPATCH(Normals)(words, out);
}
void panel_words(const PanelBlocks& blocks, std::uint64_t* out) {
  HWY_DYNAMIC_DISPATCH(PanelWords)(blocks, out);
}
void langevin_panel(const PanelUpdate& update) { HWY_DYNAMIC_DISPATCH(LangevinPanel)(update); }

}  // namespace gibbsite::cpu
#endif  // HWY_ONCE
