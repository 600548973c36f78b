// The SIMD kernels of the cpu backend: ulps of the residuals, float arithmetic within its own
// bound.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "engine/cpu/kernels.hpp"
#include "gibbsite/core/summation.hpp"
#include "gibbsite/engine/engine.hpp"
#include "support/cut_run.hpp"
#include "support/instruction_sets.hpp"
#include "support/loss_oracle.hpp"
#include "support/odd_rows.hpp"
#include "support/repeats.hpp"

namespace gibbsite {
namespace cpu_kernels_test {

using support::on_every_instruction_set;

// |got - exact| in units in the last place of the nearest T. What underflows costs the smallest
// normal number (1.02: where the kernels stop, an exp is that much above it).
template <class T>
double ulps(T got, long double exact) {
  if (std::isnan(got)) return std::numeric_limits<double>::infinity();
  constexpr auto smallest = static_cast<long double>(std::numeric_limits<T>::min());
  const long double error = std::fabs(static_cast<long double>(got) - exact) - 1.02L * smallest;
  if (error <= 0) return 0;
  return static_cast<double>(
      error / std::ldexp(1.0L, std::ilogb(exact) + 1 - std::numeric_limits<T>::digits));
}

// Logits of either sign: a fine grid where the loss bends, every scale below, far beyond both ends.
template <class T>
std::vector<T> logits() {
  std::vector<T> z;
  std::mt19937 gen(1);
  std::uniform_real_distribution<double> near(-40, 40), far(-800, 800), scale(-60, 10);
  for (int i = 0; i < support::repeats(100'000, 8'000); ++i) {
    z.push_back(static_cast<T>(near(gen)));
    z.push_back(static_cast<T>(far(gen)));
    z.push_back(static_cast<T>(std::exp2(scale(gen))));
    z.push_back(-z.back());
  }
  for (const double v : {0.0, -0.0, 1e-300, 1e30, -1e30, 708.0, -708.0, 745.2, -745.2, 103.9}) {
    z.push_back(static_cast<T>(v));
  }
  return z;
}

constexpr const char* with_kernels[] = {"logistic", "logistic-capped"};
// Losses whose f' crosses or reaches zero: their error is measured in units of sup |f'|.
constexpr const char* with_a_zero[] = {"smoothed-hinge", "huber", "pseudo-huber", "poisson",
                                       "squared"};

// The largest error of f' in ulps for a logistic loss, with the losing side's slope capped or not.
template <class T>
double worst_ulps(const Loss& loss) {
  const bool held = loss.max_abs_derivative() < 1;
  const std::vector<T> z = logits<T>();
  double worst = 0;
  for (const float label : {1.0f, -1.0f}) {
    const std::vector<float> y(z.size(), label);
    std::vector<T> r(z.size());
    cpu::derivatives(cpu::choose_loss(loss), z, y, r);
    for (std::size_t i = 0; i < z.size(); ++i) {
      const long double t = static_cast<long double>(label) * z[i];
      const long double e = std::exp(-std::fabs(t));
      const long double size = held && t < 0 ? 0.5L : (t >= 0 ? e : 1.0L) / (1 + e);
      worst = std::max(worst, ulps(r[i], -label * size));
    }
  }
  return worst;
}

// The map error allows 16 roundings, 16 half ulps (docs/theory/map-error.md, step 2). Few of the
// grid's points are far from an exp's worst case, so what is seen is near the maximum.
TEST(CpuKernels, DerivativesAreWithinTheirUlps) {
  fmt::print("  worst error of f', ulps\n  {:<16} {:>8} {:>8}\n", "instructions", "double",
             "float");
  on_every_instruction_set([](const std::string& name) {
    for (const char* const loss : with_kernels) {
      const double in_double = worst_ulps<double>(loss_named(loss));
      const double in_float = worst_ulps<float>(loss_named(loss));
      fmt::print("  {:<16} {:>8.2f} {:>8.2f}\n", name, in_double, in_float);
      EXPECT_TRUE(in_double <= 4) << name << loss;
      EXPECT_TRUE(in_float <= 4) << name << loss;
    }
  });
}

// |r - f'| in roundings of sup |f'| = 1, around every label; of `squared` in its own.
template <class T>
double worst_roundings(const Loss& loss) {
  const std::vector<T> grid = logits<T>();
  double worst = 0;
  for (const float label : support::labels_of(loss, 200)) {
    std::vector<T> z;
    for (std::size_t i = 0; i < grid.size(); i += 29) {
      z.push_back(grid[i]);
      z.push_back(grid[i] + static_cast<T>(label));
    }
    const std::vector<float> y(z.size(), label);
    std::vector<T> r(z.size());
    cpu::derivatives(cpu::choose_loss(loss), z, y, r);
    for (std::size_t i = 0; i < z.size(); ++i) {
      const long double exact = support::exact_loss(loss.name(), z[i], label).derivative;
      const bool held = std::isfinite(loss.max_abs_derivative());
      if (held && !(std::fabs(r[i]) <= 1)) return std::numeric_limits<double>::infinity();
      // Without a bound, of itself.
      const long double size = held ? 1.0L : std::max(std::fabs(exact), 1e-300L);
      const auto error = std::fabs(static_cast<long double>(r[i]) - exact) / size;
      worst =
          std::max(worst, static_cast<double>(std::ldexp(error, std::numeric_limits<T>::digits)));
    }
  }
  return worst;
}

// docs/theory/map-error.md, step 2, allows 16.
TEST(CpuKernels, DerivativesWithAZeroAreWithinRoundingsOfTheirSupremum) {
  fmt::print("  worst error of f', roundings of its supremum\n  {:<16} {:<16} {:>8} {:>8}\n",
             "instructions", "loss", "double", "float");
  on_every_instruction_set([](const std::string& name) {
    for (const char* const loss : with_a_zero) {
      const double in_double = worst_roundings<double>(loss_named(loss));
      const double in_float = worst_roundings<float>(loss_named(loss));
      fmt::print("  {:<16} {:<16} {:>8.2f} {:>8.2f}\n", name, loss, in_double, in_float);
      EXPECT_TRUE(in_double <= 8) << name << loss;
      EXPECT_TRUE(in_float <= 8) << name << loss;
    }
  });
}

// |f - exact| in roundings of f; of `poisson` beyond what a rounding of z - log 10 moves it by.
double worst_roundings_of_values(const Loss& loss) {
  const std::vector<double> grid = logits<double>();
  double worst = 0;
  for (const float label : support::labels_of(loss, 200)) {
    std::vector<double> z;
    for (std::size_t i = 0; i < grid.size(); i += 29) {
      z.push_back(grid[i]);
      z.push_back(grid[i] + static_cast<double>(label));
    }
    const std::vector<float> y(z.size(), label);
    std::vector<double> f(z.size());
    cpu::values(cpu::choose_loss(loss), z, y, f);
    for (std::size_t i = 0; i < z.size(); ++i) {
      const auto exact = support::exact_loss(loss.name(), z[i], label);
      if (!(f[i] >= 0)) return std::numeric_limits<double>::infinity();
      long double allowed = 1.02L * std::numeric_limits<double>::min();
      if (loss.name() == std::string_view("poisson"))
        allowed += 0x1p-53L * std::fabs(static_cast<long double>(z[i]) - 2.3L) *
                   std::fabs(exact.derivative);
      const long double error = std::fabs(f[i] - exact.value) - allowed;
      if (error <= 0) continue;
      worst = std::max(worst, static_cast<double>(std::ldexp(error, 53) / exact.value));
    }
  }
  return worst;
}

TEST(CpuKernels, ValuesWithAZeroAreWithinTheirRoundings) {
  fmt::print("  worst error of f, roundings\n  {:<16} {:<16} {:>8}\n", "instructions", "loss",
             "double");
  on_every_instruction_set([](const std::string& name) {
    for (const char* const loss : with_a_zero) {
      const double in_double = worst_roundings_of_values(loss_named(loss));
      fmt::print("  {:<16} {:<16} {:>8.2f}\n", name, loss, in_double);
      EXPECT_TRUE(in_double <= 8) << name << loss;
    }
  });
}

TEST(CpuKernels, WhatIsNoNumberIsNoneForEveryLoss) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  on_every_instruction_set([&](const std::string& name) {
    for (const std::string_view each : loss_names()) {
      const Loss& loss = loss_named(each);
      for (const float label : support::labels_of(loss)) {
        const double z[] = {std::numeric_limits<double>::quiet_NaN(), inf, -inf, 1e308, -1e308};
        const std::vector<float> y(5, label);
        double r[5], f[5];
        cpu::derivatives(cpu::choose_loss(loss), z, y, r);
        cpu::values(cpu::choose_loss(loss), z, y, f);
        EXPECT_TRUE(std::isnan(r[0]) && std::isnan(f[0])) << name << each << label;
        if (!std::isfinite(loss.max_abs_derivative())) {
          EXPECT_TRUE(r[1] == inf && r[2] == -inf && f[1] == inf && f[2] == inf) << name << each;
          EXPECT_TRUE(std::fabs(r[3] - z[3]) <= 1e293 && std::fabs(r[4] - z[4]) <= 1e293) << name;
          continue;
        }
        // An end's slope is that of far away, but for what underflows.
        EXPECT_NEAR(r[1], r[3], 1e-307) << name << each << label;
        EXPECT_NEAR(r[2], r[4], 1e-307) << name << each << label;
        EXPECT_LE(std::max(std::fabs(r[3]), std::fabs(r[4])), loss.max_abs_derivative());
        EXPECT_FALSE(f[1] < 0 || f[2] < 0) << name << each << label;
        EXPECT_TRUE(f[3] >= 0 && f[4] >= 0 && std::isfinite(f[3]) && std::isfinite(f[4]))
            << name << each << label;
      }
    }
  });
}

double worst_ulps_of_values(const Loss& loss) {
  const bool held = loss.max_abs_derivative() < 1;
  const std::vector<double> z = logits<double>();
  double worst = 0;
  for (const float label : {1.0f, -1.0f}) {
    const std::vector<float> y(z.size(), label);
    std::vector<double> f(z.size());
    cpu::values(cpu::choose_loss(loss), z, y, f);
    for (std::size_t i = 0; i < z.size(); ++i) {
      const long double t = -static_cast<long double>(label) * z[i];
      const long double plain = std::max(t, 0.0L) + std::log1p(std::exp(-std::fabs(t)));
      worst = std::max(worst, ulps(f[i], held && t > 0 ? std::log(2.0L) + t / 2 : plain));
    }
  }
  return worst;
}

// Roundings from the exp (2 ulps, as in the table above: 4 half ulps) to the value: 2 + e, s, two
// of atanh and the sum, 9 half ulps.
TEST(CpuKernels, ValuesAreWithinTheirUlps) {
  fmt::print("  worst error of f, ulps\n  {:<16} {:>8}\n", "instructions", "double");
  on_every_instruction_set([](const std::string& name) {
    for (const char* const loss : with_kernels) {
      const double in_double = worst_ulps_of_values(loss_named(loss));
      fmt::print("  {:<16} {:>8.2f}\n", name, in_double);
      EXPECT_TRUE(in_double <= 4.5) << name << loss;
    }
  });
}

TEST(CpuKernels, ValuesOfWhatIsNoNumber) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const double z[] = {std::numeric_limits<double>::quiet_NaN(), inf, -inf};
  const float y[] = {1, 1, 1};
  on_every_instruction_set([&](const std::string& name) {
    for (const char* const loss : with_kernels) {
      double f[3];
      cpu::values(cpu::choose_loss(loss_named(loss)), z, y, f);
      EXPECT_TRUE(std::isnan(f[0])) << name;
      EXPECT_TRUE(std::fabs(f[1]) <= 1.02 * std::numeric_limits<double>::min()) << name;
      EXPECT_EQ(f[2], inf) << name;
    }
  });
}

TEST(CpuKernels, DerivativesOfWhatIsNoNumber) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const double z[] = {std::numeric_limits<double>::quiet_NaN(), inf, -inf};
  const float y[] = {1, 1, 1};
  on_every_instruction_set([&](const std::string& name) {
    for (const char* const loss : with_kernels) {
      double r[3];
      cpu::derivatives(cpu::choose_loss(loss_named(loss)), z, y, r);
      EXPECT_TRUE(std::isnan(r[0])) << name;
      EXPECT_TRUE(std::fabs(r[1]) <= 1.02 * std::numeric_limits<double>::min()) << name;
      EXPECT_EQ(r[2], -loss_named(loss).max_abs_derivative()) << name;
    }
  });
}

// A number's bits do not depend on its place among the others.
TEST(CpuKernels, DerivativesDoNotDependOnTheirPlace) {
  std::vector<double> z = logits<double>();
  z.resize(1000);
  std::vector<float> y(z.size(), 1.0f);
  std::vector<double> whole(z.size()), one(1);
  on_every_instruction_set([&](const std::string& name) {
    for (const std::string_view each : loss_names()) {
      const cpu::LossChoice loss = cpu::choose_loss(loss_named(each));
      cpu::derivatives(loss, z, y, whole);
      for (std::size_t i = 0; i < z.size(); ++i) {
        cpu::derivatives(loss, std::span(z).subspan(i, 1), std::span(y).subspan(i, 1), one);
        ASSERT_EQ(one[0], whole[i]) << name << " " << z[i];
      }
    }
  });
}

// A loss without kernels of its own: through its virtual functions.
struct squared_like {
  static constexpr const char* name = "not compiled in";
  static constexpr double max_abs_derivative = 1, curvature = 1;
  static constexpr double self_concordance = 0, drop_from_zero = 1e300;
  static double value(double z, double y) { return 0.5 * (z - y) * (z - y); }
  static double derivative(double z, double y) { return z - y; }
  static double second_derivative(double /*z*/, double /*y*/) { return 1; }
};

TEST(CpuKernels, AnyLossHasValues) {
  const LossOf<squared_like> loss;
  const support::OddRows p = support::make_odd_rows(1100, 9, 3);
  for (const std::size_t chains : {1ul, 2ul, 3ul, 4ul, 9ul}) {
    const Ensemble e = support::make_odd_chains(chains, p.d);
    std::vector<double> expected(chains), got(chains);
    make_backend("reference")
        ->load(p.view(), p.y, loss)
        ->loss_values({e.theta.data(), chains, p.d}, expected);
    make_backend("cpu")->load(p.view(), p.y, loss)->loss_values({e.theta.data(), chains, p.d}, got);
    for (std::size_t c = 0; c < chains; ++c) {
      // All terms are positive: 9 roundings in a logit of either, 1100 additions and a few of f.
      EXPECT_TRUE(std::fabs(got[c] - expected[c]) <= 2 * 1200 * 1.2e-16 * expected[c]) << c;
    }
  }
}

TEST(CpuKernels, AnyLossHasGradients) {
  const LossOf<squared_like> loss;
  const support::OddRows p = support::make_odd_rows(50, 9, 3);
  for (const std::size_t chains : {1ul, 3ul, 4ul, 5ul, 40ul}) {
    for (const Arithmetic arithmetic : {Arithmetic::float64, Arithmetic::float32}) {
      const Ensemble e = support::make_odd_chains(chains, p.d);
      std::vector<double> expected(e.theta.size()), got(e.theta.size());
      make_backend("reference")
          ->load(p.view(), p.y, loss)
          ->loss_gradients({e.theta.data(), chains, p.d}, {expected.data(), chains, p.d});
      make_backend("cpu", {.arithmetic = arithmetic})
          ->load(p.view(), p.y, loss)
          ->loss_gradients({e.theta.data(), chains, p.d}, {got.data(), chains, p.d});
      for (std::size_t c = 0; c < chains; ++c) {
        double size = 1;
        for (std::size_t j = 0; j < p.d; ++j) size += std::fabs(expected[c * p.d + j]);
        const double u = arithmetic == Arithmetic::float64 ? 1e-15 : 1e-6;
        for (std::size_t j = 0; j < p.d; ++j) {
          const std::size_t k = c * p.d + j;
          // 50 rows, 9 terms: below 100 roundings of terms no larger than 1000 gradients.
          ASSERT_TRUE(std::fabs(got[k] - expected[k]) <= 100 * u * 1000 * size) << c << " " << j;
        }
      }
    }
  }
}

struct Shape {
  std::size_t n, d, chains;
};
void PrintTo(const Shape& s, std::ostream* out) {
  *out << fmt::format("{} x {}, {} chains", s.n, s.d, s.chains);
}
std::string shape_name(const testing::TestParamInfo<Shape>& p) {
  return fmt::format("n{}_d{}_C{}", p.param.n, p.param.d, p.param.chains);
}
//   |g_j - exact| <= sum_i |x_ij| ( gamma_{D+1} |r_i| + gamma_16 |r_i|   (sup |f'| where it has a
//                                                                        zero)
//                                  + phi gamma_{d+1} sum_k |x_ik theta_k| )
// in roundings u of the arithmetic; D additions in it on the longest path (in float, blocks are
// added in double), the rounding of theta; what underflows costs the smallest normal. Entries that
// are zero add nothing to either side, so sparse rows have the same bound.
void expect_within_bound(support::OddRows p, const Ensemble& e, Arithmetic arithmetic,
                         const std::string& name, const char* loss_name = "logistic") {
  const Loss& loss = loss_named(loss_name);
  const bool has_zero =
      std::ranges::find(with_a_zero, std::string_view(loss_name)) != std::end(with_a_zero);
  if (has_zero) p.y = support::random_labels(loss, p.n, 200, 3);
  const bool in_double = arithmetic == Arithmetic::float64;
  const double u = in_double ? 0x1p-53 : 0x1p-24;
  const auto gamma = [u](double k) { return k * u / (1 - k * u); };
  const double smallest = in_double ? std::numeric_limits<double>::min()
                                    : static_cast<double>(std::numeric_limits<float>::min());
  const double depth = in_double ? static_cast<double>(accumulation_depth(p.n))
                                 : static_cast<double>(std::min<std::size_t>(p.n, 1024)) + 64;
  const std::size_t d = p.d, chains = e.chains();
  const auto engine = make_backend("cpu", {.arithmetic = arithmetic})->load(p.view(), p.y, loss);
  EXPECT_EQ(engine->certifiable(), in_double);
  std::vector<double> got(e.theta.size());
  engine->loss_gradients({e.theta.data(), chains, d}, {got.data(), chains, d});
  for (std::size_t c = 0; c < chains; c += support::repeats(1U, 7U)) {
    std::vector<long double> exact(d, 0);
    std::vector<double> bound(d, 0);
    for (std::size_t i = 0; i < p.n; ++i) {
      long double z = 0;
      double magnitude = 0;
      for (std::size_t j = 0; j < d; ++j) {
        if (p.x[i * d + j] == 0.0f) continue;
        const long double term = static_cast<long double>(p.x[i * d + j]) * e.theta[c * d + j];
        z += term;
        magnitude += static_cast<double>(std::fabs(term));
      }
      const long double r = support::exact_loss(loss_name, z, p.y[i]).derivative;
      const double of_slope = has_zero ? 1 : static_cast<double>(std::fabs(r));
      const double of_derivative =
          gamma(depth + 1) * static_cast<double>(std::fabs(r)) + gamma(16) * of_slope +
          loss.curvature() * gamma(static_cast<double>(d) + 1) * magnitude + smallest;
      for (std::size_t j = 0; j < d; ++j) {
        if (p.x[i * d + j] == 0.0f) continue;
        exact[j] += r * p.x[i * d + j];
        bound[j] += std::fabs(static_cast<double>(p.x[i * d + j])) * of_derivative + smallest;
      }
    }
    for (std::size_t j = 0; j < d; ++j) {
      bound[j] += u * static_cast<double>(std::fabs(exact[j]));  // rounding of the result
      ASSERT_TRUE(std::fabs(got[c * d + j] - exact[j]) <= bound[j])
          << name << " chain " << c << " coordinate " << j << ": " << got[c * d + j] << " for "
          << static_cast<double>(exact[j]) << ", bound " << bound[j];
    }
  }
}

// Cuts, threads and the order of chains change no bit; a chain that is done rests.
void expect_same_bits(support::OddRows p, const Ensemble& begin, Arithmetic arithmetic,
                      const char* loss = "logistic") {
  if (loss != std::string_view("logistic"))
    p.y = support::random_labels(loss_named(loss), p.n, 200, 4);
  const auto load = [&](std::size_t threads = 0) {
    return make_backend("cpu", {.arithmetic = arithmetic, .threads = threads})
        ->load(p.view(), p.y, loss_named(loss));
  };
  Ensemble whole = begin;
  load()->advance(whole, 1000);
  EXPECT_TRUE(whole.finished());
  for (const std::size_t t : {1u, 2u, 3u, 7u}) {
    const auto engine = load(t);
    EXPECT_EQ(support::advanced_in_pieces(*engine, begin).theta, whole.theta) << t;
  }
  const std::size_t chains = begin.chains();
  Ensemble reversed = begin;
  std::ranges::reverse(reversed.specs);
  for (std::size_t c = 0; c < chains; ++c) {
    std::ranges::copy(begin.chain(c), reversed.chain(chains - 1 - c).begin());
  }
  load()->advance(reversed, 1000);
  for (std::size_t c = 0; c < chains; ++c) {
    ASSERT_TRUE(std::ranges::equal(whole.chain(c), reversed.chain(chains - 1 - c))) << c;
  }
}

class CpuFloat : public testing::TestWithParam<Shape> {};
INSTANTIATE_TEST_SUITE_P(Shapes, CpuFloat,
                         testing::Values(Shape{1, 1, 1}, Shape{7, 3, 2}, Shape{33, 15, 3},
                                         Shape{31, 16, 4}, Shape{32, 17, 5}, Shape{100, 31, 16},
                                         Shape{47, 33, 17}, Shape{48, 108, 64}, Shape{49, 7, 65},
                                         Shape{1000, 54, 33}, Shape{1025, 9, 130},
                                         Shape{2050, 25, 1}, Shape{5000, 6, 4}, Shape{60, 300, 7}),
                         shape_name);

TEST_P(CpuFloat, GradientsAreWithinTheirBound) {
  const auto [n, d, chains] = GetParam();
  const support::OddRows p = support::make_odd_rows(n, d, 1);
  const Ensemble e = support::make_odd_chains(chains, d);
  on_every_instruction_set([&](const std::string& name) {
    expect_within_bound(p, e, Arithmetic::float32, name);
    for (const char* const loss : with_a_zero)
      expect_within_bound(p, e, Arithmetic::float32, name + " " + loss, loss);
  });
}

TEST_P(CpuFloat, BitsDoNotDependOnCutsThreadsOrOrder) {
  const auto [n, d, chains] = GetParam();
  expect_same_bits(support::make_odd_rows(n, d, 2), support::make_odd_chains(chains, d),
                   Arithmetic::float32);
  for (const char* const loss : with_a_zero)
    expect_same_bits(support::make_odd_rows(n, d, 2), support::make_odd_chains(chains, d),
                     Arithmetic::float32, loss);
}

// One-hot rows: most entries are zero, so the engine keeps the others. Rows of zeros, rows of one
// entry, a number beside the categories.
support::OddRows make_one_hot(std::size_t n, std::size_t d, unsigned seed) {
  std::mt19937 gen(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  support::OddRows p{n, d, std::vector<float>(n * d), std::vector<float>(n)};
  for (std::size_t i = 0; i < n; ++i) {
    p.y[i] = uniform(gen) < 0 ? -1.0f : 1.0f;
    if (i % 11 == 5) continue;
    for (std::size_t first = 0; first + 11 <= d; first += 11) {
      p.x[i * d + first + gen() % 11] = 0.5f;
    }
    p.x[i * d + d - 1] = i % 3 == 0 ? 0.0f : uniform(gen);
  }
  return p;
}

class CpuSparse : public testing::TestWithParam<Shape> {};
INSTANTIATE_TEST_SUITE_P(Shapes, CpuSparse,
                         testing::Values(Shape{1, 24, 1}, Shape{7, 25, 2}, Shape{33, 32, 3},
                                         Shape{31, 39, 4}, Shape{32, 46, 5}, Shape{100, 31, 16},
                                         Shape{47, 33, 17}, Shape{48, 108, 64}, Shape{49, 24, 65},
                                         Shape{1000, 57, 33}, Shape{1025, 25, 130},
                                         Shape{2050, 50, 1}, Shape{5000, 29, 4}, Shape{60, 302, 7}),
                         shape_name);

TEST_P(CpuSparse, GradientsAreWithinTheDenseBound) {
  const auto [n, d, chains] = GetParam();
  const support::OddRows p = make_one_hot(n, d, 1);
  const auto zeros = static_cast<double>(std::ranges::count(p.x, 0.0f));
  ASSERT_GE(zeros, 0.85 * static_cast<double>(n * d)) << "these rows go another way";
  const Ensemble e = support::make_odd_chains(chains, d);
  for (const Arithmetic arithmetic : {Arithmetic::float64, Arithmetic::float32}) {
    on_every_instruction_set([&](const std::string& name) {
      expect_within_bound(p, e, arithmetic, name);
      for (const char* const loss : with_a_zero)
        expect_within_bound(p, e, arithmetic, name + " " + loss, loss);
    });
  }
}

TEST_P(CpuSparse, BitsDoNotDependOnCutsThreadsOrOrder) {
  const auto [n, d, chains] = GetParam();
  expect_same_bits(make_one_hot(n, d, 2), support::make_odd_chains(chains, d), Arithmetic::float64);
  for (const char* const loss : with_a_zero)
    expect_same_bits(make_one_hot(n, d, 2), support::make_odd_chains(chains, d),
                     Arithmetic::float64, loss);
}

// A chain's steps, gradients and losses on tables large enough to be shared, around the edges of
// blocks and of the nodes that threads take.
class CpuThreads : public testing::TestWithParam<std::tuple<std::size_t, std::size_t, bool>> {};
INSTANTIATE_TEST_SUITE_P(Shapes, CpuThreads,
                         testing::Combine(testing::Values(1, 7, 1023, 1024, 1025, 2048, 2049, 3072,
                                                          4097, 5000),
                                          testing::Values(1, 3, 5, 70), testing::Bool()),
                         [](const auto& shape) {
                           return fmt::format("{}_rows_{}_chains_{}", std::get<0>(shape.param),
                                              std::get<1>(shape.param),
                                              std::get<2>(shape.param) ? "sparse" : "dense");
                         });

TEST_P(CpuThreads, BitsAreThoseOfOne) {
  const auto [n, chains, sparse] = GetParam();
  // More numbers than an engine leaves to one thread: 2^20, an entry counted as five.
  const std::size_t d = std::clamp<std::size_t>((sparse ? 3u << 20 : 5u << 18) / (n * chains), 24,
                                                sparse ? 2000 : 20'000);
  const support::OddRows p = sparse ? make_one_hot(n, d, 3) : support::make_odd_rows(n, d, 3);
  Ensemble begin = support::make_odd_chains(chains, d);
  for (ChainSpec& spec : begin.specs) spec.iterations = std::min<std::uint64_t>(spec.iterations, 3);
  Ensemble one = begin;
  std::vector<double> gradients(begin.theta.size()), values(chains);
  for (const std::size_t t : {1u, 2u, 3u, 4u, 7u}) {
    const auto engine =
        make_backend("cpu", {.threads = t})->load(p.view(), p.y, loss_named("logistic"));
    Ensemble many = begin;
    std::vector<double> g(gradients.size()), v(values.size());
    engine->advance(many, 5);
    engine->loss_gradients({begin.theta.data(), chains, d}, {g.data(), chains, d});
    engine->loss_values({begin.theta.data(), chains, d}, v);
    if (t == 1) {
      one = many;
      gradients = g;
      values = v;
      continue;
    }
    EXPECT_EQ(many.theta, one.theta) << t << " threads";
    EXPECT_EQ(g, gradients) << t << " threads";
    EXPECT_EQ(v, values) << t << " threads";
  }
}

TEST_P(CpuThreads, LossesBesideGradientsHaveTheBitsOfOne) {
  const auto [n, chains, sparse] = GetParam();
  const std::size_t d = std::clamp<std::size_t>((sparse ? 3u << 20 : 5u << 18) / (n * chains), 24,
                                                sparse ? 2000 : 20'000);
  const support::OddRows p = sparse ? make_one_hot(n, d, 3) : support::make_odd_rows(n, d, 3);
  const Ensemble e = support::make_odd_chains(chains, d);
  std::vector<double> values(chains);
  for (const std::size_t t : {1u, 3u}) {
    const auto engine =
        make_backend("cpu", {.threads = t})->load(p.view(), p.y, loss_named("logistic"));
    std::vector<double> alone(e.theta.size()), g(e.theta.size()), v(chains), f(chains);
    engine->loss_gradients({e.theta.data(), chains, d}, {alone.data(), chains, d});
    engine->loss_values({e.theta.data(), chains, d}, f);
    engine->loss_values_and_gradients({e.theta.data(), chains, d}, v, {g.data(), chains, d});
    EXPECT_EQ(g, alone) << t << " threads";
    for (std::size_t c = 0; c < chains; ++c) EXPECT_NEAR(v[c], f[c], 1e-12 * (1 + f[c]));
    if (t == 1) values = v;
    EXPECT_EQ(v, values) << t << " threads";
  }
}

// More features than a block of rows has entries: compensated sums, in the order of rows for any
// number of threads.
TEST(CpuWide, GradientsAreWithinTheBound) {
  const support::OddRows p = support::make_sparse_rows(support::repeats(300U, 60U), 70'000, 20, 1);
  const Ensemble e = support::make_odd_chains(2, p.d);
  expect_within_bound(p, e, Arithmetic::float64, "wide");
  for (const char* const loss : with_a_zero)
    expect_within_bound(p, e, Arithmetic::float64, std::string("wide ") + loss, loss);
}

// Enough entries to be shared; then for more than one chunk of rows.
TEST(CpuWide, BitsAreThoseOfOneThread) {
  constexpr std::size_t d = 70'000, step = d / 40;
  for (const std::size_t n : {3000u, 40'000u}) {
    support::OddRows p{n, d, {}, std::vector<float>(n)};
    std::mt19937 gen(5);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (std::size_t i = 0; i < n; ++i) {
      p.y[i] = uniform(gen) < 0 ? -1.0f : 1.0f;
      for (std::size_t j = 0; j < d && i % 11 != 5; j += step) {
        p.entries.feature.push_back(static_cast<std::uint32_t>(j + gen() % step));
        p.entries.value.push_back(uniform(gen));
      }
      p.entries.begin.push_back(p.entries.value.size());
    }
    const Ensemble begin = support::make_odd_chains(2, d);
    Ensemble one = begin;
    std::vector<double> gradients, values;
    for (const std::size_t t : {1u, 2u, 3u, 4u, 7u}) {
      Ensemble whole = begin, cut = begin;
      std::vector<double> g(2 * d), v(2);
      const auto engine =
          make_backend("cpu", {.threads = t})->load(p.view(), p.y, loss_named("logistic"));
      engine->advance(whole, 3);
      engine->advance(cut, 1);
      engine->advance(cut, 2);
      EXPECT_EQ(whole.theta, cut.theta);
      engine->loss_gradients({begin.theta.data(), 2, d}, {g.data(), 2, d});
      engine->loss_values({begin.theta.data(), 2, d}, v);
      if (t == 1) {
        one = whole;
        gradients = g;
        values = v;
      }
      EXPECT_EQ(whole.theta, one.theta) << t << " threads";
      EXPECT_EQ(g, gradients) << t << " threads";
      EXPECT_EQ(v, values) << t << " threads";
    }
  }
}

// Where plain sums lose digits: rows that cancel, each with one entry of the same feature, of 21
// sizes. 20 + 24 bits of an entry and 16 of their number: exact in the oracle's 64, not in 53.
TEST(CpuWide, SumsOverManyRowsKeepTheirDigits) {
  constexpr std::size_t n = 40'000, d = 70'000;
  support::OddRows p{n, d, {}, std::vector<float>(n)};
  std::mt19937 gen(1);
  std::uniform_real_distribution<float> uniform(0.5f, 1.0f);
  long double exact = 0;
  double terms = 0;
  for (std::size_t i = 0; i < n; ++i) {
    p.y[i] = i < n / 2 ? 1.0f : -1.0f;
    p.entries.feature.push_back(3);
    p.entries.value.push_back(std::ldexp(uniform(gen), static_cast<int>(i % 21)));
    p.entries.begin.push_back(p.entries.value.size());
    terms += 0.5 * static_cast<double>(p.entries.value.back());
    exact += static_cast<long double>(-0.5f * p.y[i]) * p.entries.value.back();  // theta = 0
  }
  const std::vector<double> theta(d, 0.0);
  std::vector<double> g(d);
  make_backend("cpu")
      ->load(p.view(), p.y, loss_named("logistic"))
      ->loss_gradients({theta.data(), 1, d}, {g.data(), 1, d});
  // Sum2: u |sum| + (n u)^2 sum |terms|.
  EXPECT_LE(std::fabs(static_cast<double>(g[3] - exact)),
            0x1p-53 * std::fabs(static_cast<double>(exact)) + 0x1p-106 * n * n * terms);
  EXPECT_EQ(g[2], 0);
}

}  // namespace cpu_kernels_test
}  // namespace gibbsite
