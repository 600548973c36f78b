// Bits of the cpu backend in double on every instruction set of the machine: those of AVX2 are
// those of AVX-512, and other sets differ by what fused multiply-adds would have rounded.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <string>

#include "engine/cpu/kernels.hpp"
#include "engine/cpu/noise.hpp"
#include "gibbsite/engine/engine.hpp"
#include "support/instruction_sets.hpp"
#include "support/odd_rows.hpp"
#include "support/repeats.hpp"

namespace gibbsite {
namespace instruction_bits_test {

using Numbers = std::vector<double>;

// What `make` returns on every instruction set.
template <class F>
std::map<std::string, Numbers> on_each(const F& make) {
  std::map<std::string, Numbers> out;
  support::on_every_instruction_set([&](const std::string& set) { out[set] = make(); });
  return out;
}

// Places where two have other bits; NaN has any.
std::size_t differing(const Numbers& a, const Numbers& b) {
  std::size_t out = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const bool none = std::isnan(a[i]) && std::isnan(b[i]);
    if (!none && std::bit_cast<std::uint64_t>(a[i]) != std::bit_cast<std::uint64_t>(b[i])) ++out;
  }
  return out;
}

// |a - b| <= tolerance (largest |a| of the numbers around).
void expect_near(const Numbers& a, const Numbers& b, double tolerance, const std::string& what) {
  ASSERT_EQ(a.size(), b.size());
  double scale = 0;
  for (const double v : a) scale = std::max(scale, std::fabs(v));
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_LE(std::fabs(a[i] - b[i]), tolerance * scale) << what << " at " << i;
  }
}

class InstructionBits : public ::testing::Test {
 protected:
  // Sets with fused multiply-add have one result; the others are near it.
  static void expect_promise(const std::map<std::string, Numbers>& found, double tolerance,
                             const std::string& what) {
    const auto avx2 = found.find("AVX2");
    for (const auto& [set, numbers] : found) {
      if (avx2 == found.end()) continue;
      if (set.starts_with("AVX3")) {
        EXPECT_EQ(differing(avx2->second, numbers), 0U) << what << ": AVX2 and " << set;
      } else {
        expect_near(avx2->second, numbers, tolerance, what + ": " + set);
      }
    }
  }
  void SetUp() override {
    const auto sets = on_each([] { return Numbers{}; });
    if (!sets.contains("AVX2")) GTEST_SKIP() << "this machine, or the one forced, has no AVX2";
  }
};

TEST_F(InstructionBits, OfDerivativesAndValues) {
  Numbers z;
  std::mt19937_64 bits(1);
  std::uniform_real_distribution<double> near(-40, 40), far(-750, 750);
  for (int i = 0; i < support::repeats(200'000, 10'000); ++i) {
    z.push_back(near(bits));
    z.push_back(far(bits));
  }
  // 1 + e^z of ones alone, the one number whose reciprocal a plain Newton step rounds wrongly.
  for (int k = -8; k <= 8; ++k) z.push_back(k * 0x1p-53);
  z.push_back(std::numeric_limits<double>::quiet_NaN());
  std::vector<float> y;
  for (std::size_t i = 0; i < z.size(); ++i) y.push_back(i % 3 == 0 ? 1.0F : -1.0F);
  for (const char* name : {"logistic", "logistic-capped", "huber", "pseudo-huber", "squared",
                           "smoothed-hinge", "poisson"}) {
    const auto found = on_each([&] {
      const cpu::LossChoice loss = cpu::choose_loss(loss_named(name));
      Numbers out(2 * z.size());
      cpu::derivatives(loss, z, y, std::span(out).first(z.size()));
      cpu::values(loss, z, y, std::span(out).last(z.size()));
      return out;
    });
    for (const auto& [set, numbers] : found) {
      if (!set.starts_with("AVX3")) continue;
      EXPECT_EQ(differing(found.at("AVX2"), numbers), 0U) << name << ' ' << set;
    }
  }
}

TEST_F(InstructionBits, OfTheReciprocalAreADivisions) {
  // Residuals of logistic are -y / (1 + e^t) by a reciprocal: -y times what a division gives.
  Numbers z;
  for (int k = -8; k <= 8; k += 2) z.push_back(k * 0x1p-53);  // -2: a sum of ones alone
  const std::vector<float> y(z.size(), 1.0F);
  support::on_every_instruction_set([&](const std::string& set) {
    Numbers r(z.size());
    cpu::derivatives(cpu::choose_loss(loss_named("logistic")), z, y, r);
    // e^t of so small a t is 1 + t, rounded.
    for (std::size_t i = 0; i < z.size(); ++i) {
      EXPECT_EQ(r[i], -1 / (1 + (1 + z[i]))) << set << ' ' << z[i];
    }
  });
}

TEST_F(InstructionBits, OfNormals) {
  std::mt19937_64 bits(2);
  std::vector<std::uint64_t> words(2 * static_cast<std::size_t>(support::repeats(100'000, 5'000)));
  for (auto& word : words) word = bits();
  expect_promise(on_each([&] {
                   Numbers out(words.size());
                   cpu::normals(words, out);
                   return out;
                 }),
                 1e-14, "normals");
}

struct Shape {
  std::size_t n, d, chains;
  bool sparse;
};

// Sums over rows: few chains (lanes along the features) and many (along the chains), rows as
// numbers and as entries, fewer features than lanes, rests; the moments of rows in a metric; steps.
TEST_F(InstructionBits, OfAnEnginesAnswers) {
  support::Thinned sweep(3);
  for (const Shape& shape : {Shape{50, 1, 1, false},
                             {1100, 3, 2, false},
                             {300, 5, 1, false},
                             {2100, 7, 3, false},
                             {500, 8, 4, false},
                             {1030, 13, 1, false},
                             {400, 17, 2, false},
                             {90, 40, 33, false},
                             {1500, 11, 9, false},
                             {400, 60, 1, true},
                             {400, 60, 7, true}}) {
    if (sweep.skips()) continue;
    const std::size_t n = shape.n, d = shape.d, chains = shape.chains;
    const bool sparse = shape.sparse;
    support::OddRows p = support::make_odd_rows(n, d, static_cast<unsigned>(d));
    if (sparse) p = support::make_sparse_rows(n, d, 4, 9);
    std::mt19937 bits(3);
    std::normal_distribution<double> normal(0, 0.3);
    const std::size_t k = d + 2;
    Numbers P(d * k), theta(chains * d);
    for (double& v : P) v = normal(bits);
    for (std::size_t c = 0; c < chains; ++c) {
      for (std::size_t j = 0; j < d; ++j) {
        theta[c * d + j] = normal(bits) * (d > 4 && j == d - 2 ? 1e-3 : 1);
      }
    }
    const std::string what = std::to_string(d) + " features, " + std::to_string(chains) + " chains";
    const auto engine = [&] {
      return make_backend("cpu", {.threads = 1})->load(p.view(), p.y, loss_named("logistic"));
    };
    expect_promise(on_each([&] {
                     Numbers out(chains * d);
                     engine()->loss_gradients({theta.data(), chains, d}, {out.data(), chains, d});
                     return out;
                   }),
                   1e-12, "gradients, " + what);
    expect_promise(on_each([&] {
                     return engine()->loss_terms({theta.data(), chains, d});
                   }),
                   1e-13, "values, " + what);
    expect_promise(on_each([&] {
                     Numbers out(k * k);
                     engine()->second_moments({P.data(), d, k}, 1.0, {out.data(), k, k});
                     return out;
                   }),
                   1e-5, "moments, " + what);  // numbers of v are floats
    expect_promise(on_each([&] {
                     std::vector<float> out(n * k);
                     engine()->clipped_rows({P.data(), d, k}, 1.0, {out.data(), n, k});
                     return Numbers(out.begin(), out.end());
                   }),
                   1e-5, "rows in a metric, " + what);
    expect_promise(
        on_each([&] {
          Numbers out(d);
          engine()->capped_loss({P.data(), d, k}, {.clip = 0.1})->gradient({theta.data(), d}, out);
          return out;
        }),
        1e-5, "capped gradients, " + what);
    expect_promise(on_each([&] {
                     std::vector<ChainSpec> specs(chains, {.inverse_temperature = 0.7,
                                                           .prior_precision = 1.5,
                                                           .step_size = 1e-3,
                                                           .iterations = 5,
                                                           .key = StreamKey::from_seed(4)});
                     for (std::size_t c = 0; c < chains; ++c) {
                       specs[c].stream = static_cast<std::uint32_t>(c);
                     }
                     Ensemble e = start(std::move(specs), d);
                     engine()->advance(e, 5);
                     return e.theta;
                   }),
                   1e-9, "steps, " + what);
  }
}

}  // namespace instruction_bits_test
}  // namespace gibbsite
