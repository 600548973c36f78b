// Noise and update of the cpu backend: the words are the cipher's, the normals are within their
// bound, a chain's bits are its own.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "engine/cpu/noise.hpp"
#include "gibbsite/core/random_bits.hpp"
#include "support/instruction_sets.hpp"

namespace gibbsite {
namespace cpu_noise_test {

using support::on_every_instruction_set;

enum class Kinds { chacha20, philox, both };
constexpr Kinds all_kinds[] = {Kinds::chacha20, Kinds::philox, Kinds::both};

// Chains whose every field is random; streams and steps at both ends among them.
std::vector<ChainSpec> random_chains(std::size_t chains, Kinds kinds, std::mt19937_64& gen) {
  std::vector<ChainSpec> specs(chains, {.key = StreamKey::from_seed(0)});
  for (std::size_t c = 0; c < chains; ++c) {
    for (std::uint8_t& byte : specs[c].key.bytes) byte = static_cast<std::uint8_t>(gen());
    const bool philox = kinds == Kinds::philox || (kinds == Kinds::both && gen() % 2 == 0);
    specs[c].key.kind = philox ? NoiseKind::philox : NoiseKind::chacha20;
    specs[c].stream = c % 5 == 3 ? ~0u : c % 5 == 4 ? 0 : static_cast<std::uint32_t>(gen());
  }
  return specs;
}
std::uint64_t random_step(std::size_t c, std::mt19937_64& gen) {
  const std::uint64_t ends[] = {0, 0xFFFFFFFF, 0x100000000, ~std::uint64_t{0} - 3};
  return c % 6 < 4 ? ends[c % 6] : gen();
}

// Against libsodium and the scalar Philox. Whole panels and one lane too few, every length around a
// block, a step later than the one that was set.
TEST(CpuNoise, WordsAreTheCiphers) {
  on_every_instruction_set([](const std::string& name) {
    std::mt19937_64 gen(1);
    for (const Kinds kinds : all_kinds) {
      for (const std::size_t width : {8u, 16u, 24u, 64u}) {
        for (const std::size_t d : {1u, 2u, 7u, 8u, 9u, 16u, 25u, 108u, 1001u}) {
          const std::size_t chains = width - d % 2, blocks = (d + 7) / 8;
          const auto specs = random_chains(chains, kinds, gen);
          cpu::PanelChains panel(width);
          std::vector<std::uint64_t> first(chains);
          for (std::size_t c = 0; c < chains; ++c) {
            panel.set(c, specs[c], first[c] = random_step(c, gen));
          }
          const std::uint64_t later = gen() % 3;
          std::vector<std::uint64_t> got((d + d % 2) * width), expected(d);
          cpu::panel_words({&panel, later, d, 0, blocks}, got.data());
          for (std::size_t c = 0; c < chains; ++c) {
            fill_words(specs[c].key, specs[c].stream, first[c] + later, expected);
            for (std::size_t j = 0; j < d; ++j) {
              ASSERT_EQ(got[j * width + c], expected[j])
                  << name << " width " << width << " d " << d << " lane " << c << " word " << j;
            }
          }
        }
      }
    }
  });
}

// Blocks far along a stream, to the last one that 32 bits of pairs number.
TEST(CpuNoise, WordsFarAlongAStream) {
  on_every_instruction_set([](const std::string& name) {
    std::mt19937_64 gen(2);
    for (const Kinds kinds : all_kinds) {
      const auto specs = random_chains(8, kinds, gen);
      cpu::PanelChains panel(8);
      for (std::size_t c = 0; c < 8; ++c) panel.set(c, specs[c], 5);
      constexpr std::size_t end = std::size_t{1} << 30;
      for (const std::size_t first :
           {std::size_t{0}, end / 8 - 1, end / 4 - 1, end / 2 - 1, end - 3}) {
        std::vector<std::uint64_t> got(3 * 8 * 8);
        cpu::panel_words({&panel, 0, 8 * end, first, first + 3}, got.data());
        for (std::size_t c = 0; c < 8; ++c) {
          std::uint32_t key[8];
          std::memcpy(key, specs[c].key.bytes.data(), sizeof(key));
          const bool philox = specs[c].key.kind == NoiseKind::philox;
          for (std::size_t p = 0; p < 3 * 4; ++p) {
            const auto pair = static_cast<std::uint32_t>(4 * first + p);
            const WordPair words =
                (philox ? philox_pair : chacha20_pair)(key, specs[c].stream, 5, pair);
            ASSERT_EQ(got[2 * p * 8 + c], words.first) << name << " " << first << " " << p;
            ASSERT_EQ(got[(2 * p + 1) * 8 + c], words.second) << name << " " << first << " " << p;
          }
        }
      }
    }
  });
}

// ---- normals ----

// Not the library's own 50 digits: a linker keeps one of two templates of a name.
using Exact = boost::multiprecision::number<boost::multiprecision::cpp_bin_float<60>>;

struct Sample {
  std::uint64_t radius_word, angle_word;
  Exact radius, cosine, sine;
};

// Random words, and words at every scale from both ends of the radius and from every eighth turn.
const std::vector<Sample>& samples() {
  static const std::vector<Sample> all = [] {
    std::mt19937_64 gen(3);
    std::vector<std::uint64_t> words;
    for (unsigned b = 0; b < 64; ++b) {
      for (const std::uint64_t delta : {0ull, 1ull, 2048ull}) {
        for (std::uint64_t eighth = 0; eighth < 8; ++eighth) {
          words.push_back((eighth << 61) + (1ull << b) + delta);
          words.push_back((eighth << 61) - (1ull << b) - delta);
        }
      }
    }
    for (int i = 0; i < 4000; ++i) words.push_back(gen() >> (i % 3 == 0 ? gen() % 64 : 0));
    const Exact two_pi = 2 * boost::math::constants::pi<Exact>();
    std::vector<Sample> out(words.size());
    for (std::size_t i = 0; i < words.size(); ++i) {
      Sample& s = out[i];
      s.radius_word = words[i];
      s.angle_word = words[(i * 7 + 3) % words.size()];
      s.radius = sqrt(Exact(-2 * log(ldexp(Exact(s.radius_word) + 0.5, -64))));
      const Exact angle = two_pi * ldexp(Exact(s.angle_word >> 11), -53);
      s.cosine = cos(angle);
      s.sine = sin(angle);
      // In 60 digits a quarter turn is not quite one.
      if (s.angle_word >> 11 << 13 == 0) ((s.angle_word >> 62) % 2 == 0 ? s.sine : s.cosine) = 0;
    }
    return out;
  }();
  return all;
}

// Relative error in units of u = 2^-53.
double units(double got, const Exact& exact) {
  if (exact == 0) return got == 0 ? 0 : std::numeric_limits<double>::infinity();
  if (!std::isfinite(got)) return std::numeric_limits<double>::infinity();
  return ldexp(Exact(abs(Exact(got) / exact - 1)), 53).convert_to<double>();
}

// The bounds are those derived beside the code (noise.cpp): 5 u of the logarithm halved, and the
// square root; 2 u of sin and cos, and the product. Without FMA a product and a sum are two
// roundings, of what is at most a third of the result: one u more in either part. 1e-15 is 9 u.
TEST(CpuNoise, NormalsAreWithinTheirBound) {
  std::vector<std::uint64_t> radius_words, words;
  for (const Sample& s : samples()) {
    radius_words.insert(radius_words.end(), {s.radius_word, 0});
    words.insert(words.end(), {s.radius_word, s.angle_word});
  }
  fmt::print("  worst relative error, 2^-53\n  {:<16} {:>8} {:>8} {:>8} {:>8}\n", "instructions",
             "radius", "r cos", "r sin", "normal");
  on_every_instruction_set([&](const std::string& name) {
    const bool fused = name.starts_with("AVX2") || name.starts_with("AVX3");
    std::vector<double> radii(words.size()), normals(words.size());
    cpu::normals(radius_words, radii);
    cpu::normals(words, normals);
    double of_radius = 0, of_cosine = 0, of_sine = 0, of_normal = 0;
    for (std::size_t i = 0; i < samples().size(); ++i) {
      const Sample& s = samples()[i];
      const double r = radii[2 * i];
      of_radius = std::max(of_radius, units(r, s.radius));
      of_cosine = std::max(of_cosine, units(normals[2 * i], r * s.cosine));
      of_sine = std::max(of_sine, units(normals[2 * i + 1], r * s.sine));
      of_normal = std::max({of_normal, units(normals[2 * i], s.radius * s.cosine),
                            units(normals[2 * i + 1], s.radius * s.sine)});
      ASSERT_TRUE(std::fabs(normals[2 * i]) <= max_abs_normal);
      ASSERT_TRUE(std::fabs(normals[2 * i + 1]) <= max_abs_normal);
    }
    fmt::print("  {:<16} {:>8.2f} {:>8.2f} {:>8.2f} {:>8.2f}\n", name, of_radius, of_cosine,
               of_sine, of_normal);
    EXPECT_TRUE(of_radius <= (fused ? 3.5 : 4.5)) << name;
    EXPECT_TRUE(of_cosine <= (fused ? 3 : 4)) << name;
    EXPECT_TRUE(of_sine <= (fused ? 3 : 4)) << name;
    EXPECT_TRUE(of_normal * 0x1p-53 < 1e-15) << name;
  });
}

TEST(CpuNoise, LargestNormalIsTheDocumentedOne) {
  on_every_instruction_set([](const std::string& name) {
    const std::uint64_t words[] = {0, 0, ~std::uint64_t{0}, 0};
    double out[4];
    cpu::normals(words, out);
    EXPECT_TRUE(out[0] <= max_abs_normal && out[0] > max_abs_normal - 1e-4) << name;
    EXPECT_TRUE(out[2] > 0) << name << ": the radius is never 0";
  });
}

// h = 1/2 from 0 without gradient and prior: theta becomes the noise itself.
std::vector<double> noise_of(std::vector<ChainSpec> specs, std::size_t width, std::uint64_t step,
                             std::size_t d, std::size_t cut) {
  cpu::PanelChains panel(width);
  for (std::size_t c = 0; c < specs.size(); ++c) {
    specs[c].inverse_temperature = specs[c].prior_precision = 0;
    specs[c].step_size = 0.5;
    panel.set(c, specs[c], step);
  }
  std::vector<double> theta(d * width), gradient(d * width);
  const std::size_t blocks = (d + 7) / 8;
  for (std::size_t first = 0; first < blocks; first += cut) {
    cpu::langevin_panel({.blocks = {&panel, 0, d, first, std::min(first + cut, blocks)},
                         .gradient = gradient.data(),
                         .center = nullptr,
                         .theta = theta.data(),
                         .rounded = nullptr});
  }
  return theta;
}

// Whatever its lane, the panel's width, the cut of the coordinates, the kinds beside it, or as one
// of few.
TEST(CpuNoise, BitsOfAChainAreItsOwn) {
  constexpr std::size_t d = 43, width = 32;
  on_every_instruction_set([&](const std::string& name) {
    std::mt19937_64 gen(4);
    for (const Kinds kinds : all_kinds) {
      const auto specs = random_chains(width - 1, kinds, gen);
      const auto together = noise_of(specs, width, 77, d, 100);
      ASSERT_EQ(noise_of(specs, width, 77, d, 1), together) << name;
      ASSERT_EQ(noise_of(specs, width, 77, d, 3), together) << name;
      for (std::size_t c = 0; c < specs.size(); ++c) {
        const auto alone = noise_of({specs[c]}, 8, 77, d, 2);
        std::vector<std::uint64_t> words(d + 1);
        std::vector<double> few(d);
        fill_words(specs[c].key, specs[c].stream, 77, words);
        cpu::normals(words, few);
        for (std::size_t j = 0; j < d; ++j) {
          ASSERT_EQ(together[j * width + c], alone[j * 8]) << name << " " << c << " " << j;
          ASSERT_EQ(together[j * width + c], few[j]) << name << " " << c << " " << j;
        }
      }
      for (std::size_t j = 0; j < d; ++j) ASSERT_EQ(together[j * width + width - 1], 0) << name;
    }
  });
}

// Within 8 roundings of the parts of either (docs/theory/map-error.md, step 4), the noise the same;
// in float what is in double, rounded.
TEST(CpuNoise, UpdateIsTheLangevinStep) {
  constexpr std::size_t d = 21, width = 16, chains = 13;
  constexpr double gamma = 8 * 0x1p-53 / (1 - 8 * 0x1p-53);
  on_every_instruction_set([&](const std::string& name) {
    std::mt19937_64 gen(5);
    std::uniform_real_distribution<double> uniform(-3, 3);
    auto specs = random_chains(chains, Kinds::both, gen);
    cpu::PanelChains panel(width);
    std::vector<double> theta(d * width), gradient(d * width), center(d * width);
    for (std::size_t c = 0; c < chains; ++c) {
      specs[c].inverse_temperature = std::exp(uniform(gen));
      specs[c].prior_precision = std::exp(uniform(gen));
      specs[c].step_size = std::exp(2 * uniform(gen) - 5);
      panel.set(c, specs[c], 40);
      for (std::size_t j = 0; j < d; ++j) {
        theta[j * width + c] = uniform(gen);
        gradient[j * width + c] = 100 * uniform(gen);
        center[j * width + c] = uniform(gen);
      }
    }
    for (const bool centered : {false, true}) {
      std::vector<double> moved = theta;
      std::vector<float> rounded(d * width);
      cpu::langevin_panel({.blocks = {&panel, 2, d, 0, 3},
                           .gradient = gradient.data(),
                           .center = centered ? center.data() : nullptr,
                           .theta = moved.data(),
                           .rounded = rounded.data()});
      for (std::size_t c = 0; c < chains; ++c) {
        std::vector<std::uint64_t> words(d + 1);
        std::vector<double> noise(d), g(d), expected(d);
        fill_words(specs[c].key, specs[c].stream, 42, words);
        cpu::normals(words, noise);
        specs[c].center.assign(centered ? d : 0, 0.0);
        for (std::size_t j = 0; j < d; ++j) {
          g[j] = gradient[j * width + c];
          expected[j] = theta[j * width + c];
          if (centered) specs[c].center[j] = center[j * width + c];
        }
        langevin_update(specs[c], g, noise, expected);
        const double h = specs[c].step_size;
        for (std::size_t j = 0; j < d; ++j) {
          const double before = theta[j * width + c];
          const double from = centered ? specs[c].center[j] : 0;
          const double parts =
              std::fabs(before) + h * specs[c].inverse_temperature * std::fabs(g[j]) +
              h * specs[c].prior_precision * (std::fabs(before) + std::fabs(from)) +
              std::sqrt(2 * h) * std::fabs(noise[j]);
          const double got = moved[j * width + c];
          ASSERT_TRUE(std::fabs(got - expected[j]) <= 2 * gamma * parts)
              << name << " " << c << " " << j;
          ASSERT_EQ(rounded[j * width + c], static_cast<float>(got)) << name;
        }
      }
    }
  });
}

}  // namespace cpu_noise_test
}  // namespace gibbsite
