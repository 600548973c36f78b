// Losses of several outputs on the cpu backend: softmax's residuals and values against long double,
// gradients and steps against a plain oracle, and bits that depend on nothing they should not.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "engine/cpu/kernels.hpp"
#include "engine/cpu/many_columns.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/engine/engine.hpp"
#include "support/cut_run.hpp"
#include "support/instruction_sets.hpp"
#include "support/odd_rows.hpp"
#include "support/repeats.hpp"

namespace gibbsite {
namespace cpu_outputs_test {

using support::on_every_instruction_set;
using support::repeats;

const Loss& softmax_of(std::size_t outputs) {
  return loss_named(fmt::format("softmax-{}", outputs));
}

// z [K] -> p - e_y, the label's without cancellation; the loss is returned.
long double exact_softmax(std::span<const long double> z, std::size_t label,
                          std::span<long double> r) {
  const std::size_t top = static_cast<std::size_t>(std::ranges::max_element(z) - z.begin());
  long double sum = 0, rest = 0, others = 0;
  for (std::size_t k = 0; k < z.size(); ++k) {
    r[k] = std::exp(z[k] - z[top]);
    sum += r[k];
    if (k != top) rest += r[k];
    if (k != label) others += r[k];
  }
  for (std::size_t k = 0; k < z.size(); ++k) r[k] = (k == label ? -others : r[k]) / sum;
  return std::log1p(rest) + (z[top] - z[label]);
}

template <class T>
struct Logits {
  std::size_t outputs, rows;
  std::vector<T> z;      // [K x n]
  std::vector<float> y;  // [n]
};

// Rows whose logits spread from 2^-30 to 2^12, every label; those of `exactly` are whole multiples
// of 2^-6 below 2^5, so that z - max z is exact.
template <class T>
Logits<T> make_logits(std::size_t outputs, std::size_t rows, bool exactly) {
  Logits<T> out{outputs, rows, std::vector<T>(outputs * rows), std::vector<float>(rows)};
  std::mt19937 gen(static_cast<unsigned>(outputs));
  std::normal_distribution<double> normal(0, 1);
  std::uniform_real_distribution<double> scale(-30, 12);
  for (std::size_t i = 0; i < rows; ++i) {
    const double size = std::exp2(scale(gen));
    for (std::size_t k = 0; k < outputs; ++k) {
      const double v = exactly ? std::round(std::clamp(normal(gen) * 10, -31.0, 31.0) * 64) / 64
                               : normal(gen) * size;
      out.z[k * rows + i] = static_cast<T>(v);
    }
    out.y[i] = static_cast<float>(gen() % outputs);
  }
  return out;
}

struct Worst {
  double roundings = 0;  // of ||r - exact||, of 1
  double ulps = 0;       // of a residual
};
template <class T>
Worst worst_derivatives(const Logits<T>& logits) {
  const auto [outputs, rows, z, y] = logits;
  std::vector<T> r(z.size());
  cpu::derivatives(cpu::choose_loss(softmax_of(outputs)), std::span<const T>(z), y,
                   std::span<T>(r));
  std::vector<long double> of_row(outputs), exact(outputs);
  Worst worst;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t k = 0; k < outputs; ++k) of_row[k] = z[k * rows + i];
    exact_softmax(of_row, static_cast<std::size_t>(y[i]), exact);
    long double squared = 0;
    for (std::size_t k = 0; k < outputs; ++k) {
      const T got = r[k * rows + i];
      if (!(std::fabs(got) <= 1)) return {1e300, 1e300};
      const long double error = std::fabs(static_cast<long double>(got) - exact[k]);
      squared += error * error;
      if (error <= 2 * static_cast<long double>(std::numeric_limits<T>::min())) continue;
      worst.ulps = std::max(
          worst.ulps,
          static_cast<double>(
              error / std::ldexp(1.0L, std::ilogb(exact[k]) + 1 - std::numeric_limits<T>::digits)));
    }
    worst.roundings = std::max(
        worst.roundings,
        static_cast<double>(std::ldexp(std::sqrt(squared), std::numeric_limits<T>::digits)));
  }
  return worst;
}

// docs/theory/map-error.md, step 2, allows 16.
constexpr std::size_t class_counts[] = {2, 3, 10, 100, 1000};

TEST(CpuOutputs, DerivativesAreWithinTheirRoundings) {
  fmt::print(
      "  worst error of softmax's residuals: roundings of the norm, and ulps where differences of\n"
      "  logits are exact\n  {:<14} {:>7} {:>16} {:>16}\n",
      "instructions", "classes", "double", "float");
  on_every_instruction_set([](const std::string& name) {
    for (const std::size_t outputs : class_counts) {
      const std::size_t rows = repeats<std::size_t>(10'000, 1'000) / outputs + 7;
      const auto spread = worst_derivatives(make_logits<double>(outputs, rows, false));
      const auto exact = worst_derivatives(make_logits<double>(outputs, rows, true));
      const auto spread_float = worst_derivatives(make_logits<float>(outputs, rows, false));
      const auto exact_float = worst_derivatives(make_logits<float>(outputs, rows, true));
      fmt::print("  {:<14} {:>7} {:>8.2f} {:>7.2f} {:>8.2f} {:>7.2f}\n", name, outputs,
                 spread.roundings, exact.ulps, spread_float.roundings, exact_float.ulps);
      for (const double roundings : {spread.roundings, spread_float.roundings}) {
        EXPECT_LE(roundings, 8) << name << outputs;
      }
      for (const double ulps : {exact.ulps, exact_float.ulps})
        EXPECT_LE(ulps, 8) << name << outputs;
    }
  });
}

TEST(CpuOutputs, ValuesAreWithinTheirRoundings) {
  on_every_instruction_set([](const std::string& name) {
    for (const std::size_t outputs : class_counts) {
      const std::size_t rows = repeats<std::size_t>(10'000, 1'000) / outputs + 7;
      const auto [K, n, z, y] = make_logits<double>(outputs, rows, true);
      std::vector<double> f(n);
      cpu::values(cpu::choose_loss(softmax_of(K)), z, y, f);
      std::vector<long double> of_row(K), r(K);
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t k = 0; k < K; ++k) of_row[k] = z[k * n + i];
        const long double exact = exact_softmax(of_row, static_cast<std::size_t>(y[i]), r);
        ASSERT_LE(std::fabs(f[i] - exact), 10 * 0x1p-53L * exact) << name << K;
      }
    }
  });
}

TEST(CpuOutputs, FarLogitsAreWhatTheyTendTo) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  on_every_instruction_set([&](const std::string& name) {
    for (const std::size_t outputs : class_counts) {
      const Loss& loss = softmax_of(outputs);
      const auto choice = cpu::choose_loss(loss);
      // Rows: all equal; output 1 far above; label far above; far below all others.
      constexpr std::size_t n = 5;
      std::vector<double> z(outputs * n, 3.0), r(outputs * n), f(n);
      const std::vector<float> y(n, 0.0f);
      for (std::size_t k = 0; k < outputs; ++k) {
        z[k * n + 1] = k == 1 ? 1e308 : -1e308;
        z[k * n + 2] = k == 0 ? 1e308 : -1e308;
        z[k * n + 3] = k == 0 ? -1e308 : 1e308;
        z[k * n + 4] = k == 0 ? 0 : -inf;
      }
      cpu::derivatives(choice, z, y, r);
      cpu::values(choice, z, y, f);
      const auto K = static_cast<double>(outputs);
      for (std::size_t k = 0; k < outputs; ++k) {
        const std::string at = fmt::format("{} {} of {}", name, k, outputs);
        EXPECT_NEAR(r[k * n], k == 0 ? 1 / K - 1 : 1 / K, 0x1p-51) << at;
        EXPECT_EQ(r[k * n + 1], k == 0 ? -1.0 : k == 1 ? 1.0 : 0.0) << at;
        EXPECT_EQ(r[k * n + 2], 0.0) << at;
        EXPECT_NEAR(r[k * n + 3], k == 0 ? -1.0 : 1 / (K - 1), 0x1p-51) << at;
        EXPECT_EQ(r[k * n + 4], 0.0) << at;
      }
      EXPECT_NEAR(f[0], std::log(K), 1e-14);
      EXPECT_EQ(f[2], 0.0);
      EXPECT_GE(f[1], 1e308);
      for (const std::size_t bad : {std::size_t{0}, std::size_t{1}, outputs - 1}) {
        std::vector<double> with(outputs, 0.5), res(outputs), value(1);
        with[bad] = std::numeric_limits<double>::quiet_NaN();
        for (const float label : {0.0f, static_cast<float>(outputs - 1)}) {
          cpu::derivatives(choice, with, {&label, 1}, res);
          cpu::values(choice, with, {&label, 1}, value);
          EXPECT_TRUE(std::ranges::all_of(res, [](double v) { return std::isnan(v); })) << name;
          EXPECT_TRUE(std::isnan(value[0])) << name << outputs;
        }
      }
    }
  });
}

support::OddRows make_rows(std::size_t n, std::size_t d, std::size_t outputs, bool sparse) {
  support::OddRows p = support::make_odd_rows(n, d, 1);
  std::mt19937 gen(static_cast<unsigned>(n + d + outputs));
  for (float& v : p.x) v = sparse && gen() % 4 != 0 ? 0.0f : std::clamp(v, -2.0f, 2.0f);
  for (float& y : p.y) y = static_cast<float>(gen() % outputs);
  if (sparse) support::make_sparse(p);
  return p;
}

// Chains [C x K d] that differ in every field, centers and both kinds of noise among them.
Ensemble make_chains(std::size_t chains, std::size_t d) {
  Ensemble e = support::make_odd_chains(chains, d);
  for (std::size_t c = 0; c < chains; ++c) {
    ChainSpec& spec = e.specs[c];
    for (std::size_t j = 0; j < spec.center.size(); ++j) {
      spec.center[j] = 0.1 * std::sin(static_cast<double>(j + c));
    }
    for (double& v : e.chain(c)) v = std::fmod(v, 2.0);
  }
  return e;
}

// A gradient in long double, and a bound on the error of one in arithmetic of that rounding:
// logits, residuals that move no more than logits do, sums.
struct Exact {
  std::vector<long double> gradient, bound;  // [K x d]
  long double value = 0;
};
Exact exact_gradient(const support::OddRows& p, std::size_t outputs, std::span<const double> theta,
                     long double rounding) {
  const std::size_t d = p.d;
  Exact out{std::vector<long double>(outputs * d), std::vector<long double>(outputs * d)};
  std::vector<long double> z(outputs), r(outputs);
  for (std::size_t i = 0; i < p.n; ++i) {
    const float* const x = &p.x[i * d];
    long double size = 0;
    for (std::size_t k = 0; k < outputs; ++k) {
      long double sum = 0, sizes = 0;
      for (std::size_t j = 0; j < d; ++j) {
        const long double term = static_cast<long double>(x[j]) * theta[k * d + j];
        sum += term;
        sizes += std::fabs(term);
      }
      z[k] = sum;
      size = std::max(size, sizes);
    }
    out.value += exact_softmax(z, static_cast<std::size_t>(p.y[i]), r);
    const long double moved = rounding * (static_cast<long double>(2 * d + 4) * size + 32);
    for (std::size_t k = 0; k < outputs; ++k) {
      for (std::size_t j = 0; j < d; ++j) {
        const long double v = x[j],
                          rows = static_cast<long double>(std::min<std::size_t>(p.n, 1040));
        out.gradient[k * d + j] += r[k] * v;
        out.bound[k * d + j] += std::fabs(v) * (moved + rounding * rows * std::fabs(r[k]));
      }
    }
  }
  return out;
}

struct Shape {
  std::size_t outputs, chains, n, d;
};

void expect_gradients(const Shape& s, bool sparse, Arithmetic arithmetic) {
  const auto p = make_rows(s.n, s.d, s.outputs, sparse);
  const std::size_t coordinates = s.outputs * s.d;
  const Ensemble e = make_chains(s.chains, coordinates);
  const auto engine =
      make_backend("cpu", {.arithmetic = arithmetic})->load(p.view(), p.y, softmax_of(s.outputs));
  ASSERT_EQ(engine->features(), coordinates);
  std::vector<double> g(e.theta.size()), f(s.chains);
  engine->loss_gradients({e.theta.data(), s.chains, coordinates},
                         {g.data(), s.chains, coordinates});
  engine->loss_values({e.theta.data(), s.chains, coordinates}, f);
  std::vector<double> beside(g.size()), losses(s.chains);
  engine->loss_values_and_gradients({e.theta.data(), s.chains, coordinates}, losses,
                                    {beside.data(), s.chains, coordinates});
  const std::string what =
      fmt::format("{} outputs {} chains {} x {} {} {}", s.outputs, s.chains, s.n, s.d,
                  sparse ? "sparse" : "dense", to_string(arithmetic));
  const long double rounding = arithmetic == Arithmetic::float32 ? 0x1p-24L : 0x1p-53L;
  ASSERT_EQ(beside, g) << what;
  // Where there are many, the first, a middle one and the last.
  for (std::size_t c = 0; c < s.chains; c += std::max<std::size_t>((s.chains - 1) / 2, 1)) {
    const Exact exact = exact_gradient(p, s.outputs, e.chain(c), rounding);
    for (std::size_t j = 0; j < coordinates; ++j) {
      ASSERT_LE(std::fabs(g[c * coordinates + j] - exact.gradient[j]), exact.bound[j] + 1e-300L)
          << what << " chain " << c << " coordinate " << j;
    }
    for (const double value : {f[c], losses[c]}) {
      ASSERT_NEAR(value, static_cast<double>(exact.value),
                  1e-12 * static_cast<double>(exact.value) + 1e-12 * static_cast<double>(s.n))
          << what;
    }
  }
}

// Every number of outputs with every number of chains, rows and features in turn; then every shape
// of rows for two chains of three outputs.
TEST(CpuOutputs, GradientsAndValuesAreWithinTheirBound) {
  constexpr std::size_t rows[] = {1, 33, 1025, 2050}, features[] = {1, 7, 31, 100};
  std::size_t turn = 0;
  support::Thinned thinned(7);
  const auto meet = [&](const Shape& s) {
    for (const bool sparse : {false, true}) {
      if (thinned.skips()) continue;
      expect_gradients(s, sparse, turn % 3 == 0 ? Arithmetic::float32 : Arithmetic::float64);
    }
    ++turn;
  };
  for (const std::size_t outputs : {2u, 3u, 5u, 9u, 17u, 33u, 100u}) {
    for (const std::size_t chains : {1u, 2u, 3u, 5u, 17u}) {
      std::size_t n = rows[turn % 4], d = features[turn / 4 % 4];
      while (outputs * n * d > 200'000) n > 33 ? n = 33 : d = 7;
      meet({outputs, chains, n, d});
    }
  }
  for (const std::size_t n : rows) {
    for (const std::size_t d : features) meet({3, 2, n, d});
  }
  for (const std::size_t chains : {1u, 2u}) meet({1000, chains, 65, 3});
}

TEST(CpuOutputs, GradientsOnEveryInstructionSet) {
  on_every_instruction_set([](const std::string&) {
    for (const std::size_t outputs : {2u, 3u, 11u}) {
      for (const std::size_t chains : {1u, 4u}) {
        for (const Arithmetic arithmetic : {Arithmetic::float64, Arithmetic::float32}) {
          expect_gradients({outputs, chains, 103, 19}, false, arithmetic);
          expect_gradients({outputs, chains, 131, 19}, true, arithmetic);
        }
      }
    }
  });
}

// One step of every chain from its gradients: the noise of output k is that of stream K s + k.
TEST(CpuOutputs, StepsAreTheirDefinition) {
  for (const std::size_t outputs : {2u, 3u, 10u}) {
    for (const std::size_t chains : {1u, 2u, 5u}) {
      for (const bool sparse : {false, true}) {
        constexpr std::size_t d = 9;
        const auto p = make_rows(70, d, outputs, sparse);
        const Ensemble begin = make_chains(chains, outputs * d);
        const auto engine = make_backend("cpu")->load(p.view(), p.y, softmax_of(outputs));
        std::vector<double> g(begin.theta.size());
        engine->loss_gradients({begin.theta.data(), chains, outputs * d},
                               {g.data(), chains, outputs * d});
        Ensemble moved = begin;
        engine->advance(moved, 1);
        for (std::size_t c = 0; c < chains; ++c) {
          const ChainSpec& s = begin.specs[c];
          for (std::size_t k = 0; k < outputs; ++k) {
            std::vector<double> noise(d);
            fill_normals(s.key, static_cast<std::uint32_t>(outputs * s.stream + k), 0, noise);
            for (std::size_t j = 0; j < d; ++j) {
              const std::size_t at = k * d + j;
              const double theta = begin.chain(c)[at], center = s.center.empty() ? 0 : s.center[at];
              const double drift = s.inverse_temperature * g[c * outputs * d + at] +
                                   s.prior_precision * (theta - center);
              const double expected =
                  theta - s.step_size * drift + std::sqrt(2 * s.step_size) * noise[j];
              ASSERT_NEAR(moved.chain(c)[at], expected, 1e-14 * (1 + std::fabs(drift)))
                  << outputs << " outputs, chain " << c << " of " << chains << ", output " << k;
            }
          }
        }
        Ensemble of_reference = begin;
        make_backend("reference")
            ->load(p.view(), p.y, softmax_of(outputs))
            ->advance(of_reference, 3);
        Ensemble three = begin;
        engine->advance(three, 3);
        for (std::size_t j = 0; j < three.theta.size(); ++j) {
          ASSERT_NEAR(three.theta[j], of_reference.theta[j], 1e-12);
        }
      }
    }
  }
}

// z_1 - z_0 is the logistic loss's predictor.
TEST(CpuOutputs, TwoClassesAreTheLogisticLoss) {
  constexpr std::size_t n = 300, d = 13, chains = 5;
  auto p = make_rows(n, d, 2, false);
  const Ensemble e = make_chains(chains, 2 * d);
  std::vector<double> difference(chains * d), g(chains * 2 * d), of_logistic(chains * d);
  for (std::size_t c = 0; c < chains; ++c) {
    for (std::size_t j = 0; j < d; ++j) {
      difference[c * d + j] = e.chain(c)[d + j] - e.chain(c)[j];
    }
  }
  make_backend("cpu")
      ->load(p.view(), p.y, softmax_of(2))
      ->loss_gradients({e.theta.data(), chains, 2 * d}, {g.data(), chains, 2 * d});
  for (float& y : p.y) y = y == 1 ? 1.0f : -1.0f;
  make_backend("cpu")
      ->load(p.view(), p.y, loss_named("logistic"))
      ->loss_gradients({difference.data(), chains, d}, {of_logistic.data(), chains, d});
  for (std::size_t c = 0; c < chains; ++c) {
    for (std::size_t j = 0; j < d; ++j) {
      const double expected = of_logistic[c * d + j];
      EXPECT_NEAR(g[c * 2 * d + d + j], expected, 1e-12);
      EXPECT_NEAR(g[c * 2 * d + j], -expected, 1e-12);
    }
  }
}

// Threads, cuts of a run, and the order of chains.
void expect_same_bits(const support::OddRows& p, const Loss& loss, const Ensemble& begin,
                      Arithmetic arithmetic) {
  const std::size_t chains = begin.chains(), coordinates = begin.features;
  const auto load = [&](std::size_t threads) {
    return make_backend("cpu", {.arithmetic = arithmetic, .threads = threads})
        ->load(p.view(), p.y, loss);
  };
  Ensemble whole = begin;
  std::vector<double> g(begin.theta.size()), f(chains);
  {
    const auto engine = load(1);
    engine->advance(whole, 1000);
    engine->loss_gradients({begin.theta.data(), chains, coordinates},
                           {g.data(), chains, coordinates});
    engine->loss_values({begin.theta.data(), chains, coordinates}, f);
  }
  EXPECT_TRUE(whole.finished());
  for (const std::size_t t : {2u, 3u, 7u}) {
    const auto engine = load(t);
    EXPECT_EQ(support::advanced_in_pieces(*engine, begin).theta, whole.theta) << t;
    std::vector<double> gradients(g.size()), values(chains);
    engine->loss_gradients({begin.theta.data(), chains, coordinates},
                           {gradients.data(), chains, coordinates});
    engine->loss_values({begin.theta.data(), chains, coordinates}, values);
    EXPECT_EQ(gradients, g) << t;
    EXPECT_EQ(values, f) << t;
  }
  Ensemble reversed = begin;
  std::ranges::reverse(reversed.specs);
  for (std::size_t c = 0; c < chains; ++c) {
    std::ranges::copy(begin.chain(c), reversed.chain(chains - 1 - c).begin());
  }
  load(2)->advance(reversed, 1000);
  for (std::size_t c = 0; c < chains; ++c) {
    ASSERT_TRUE(std::ranges::equal(whole.chain(c), reversed.chain(chains - 1 - c))) << c;
  }
}

TEST(CpuOutputs, BitsDoNotDependOnCutsThreadsOrOrder) {
  constexpr Shape shapes[] = {{3, 1, 5000, 31},  {2, 2, 3000, 9}, {3, 7, 3000, 31},
                              {10, 5, 2050, 25}, {17, 9, 60, 33}, {100, 3, 1030, 9}};
  support::Thinned thinned(5);
  for (const Shape& s : shapes) {
    for (const bool sparse : {false, true}) {
      for (const Arithmetic arithmetic : {Arithmetic::float64, Arithmetic::float32}) {
        if (thinned.skips()) continue;
        expect_same_bits(make_rows(s.n, s.d, s.outputs, sparse), softmax_of(s.outputs),
                         make_chains(s.chains, s.outputs * s.d), arithmetic);
      }
    }
  }
}

// Nor on whether rows are read once for all chains; and what is no number stays in its chain.
TEST(CpuOutputs, ChainsDoNotTouchEachOther) {
  constexpr std::size_t outputs = 10, chains = 9, d = 7, coordinates = outputs * d;
  for (const bool sparse : {false, true}) {
    const auto p = make_rows(300, d, outputs, sparse);
    Ensemble e = make_chains(chains, coordinates);
    const auto gradients = [&](bool in_memory) {
      Rows rows = p.view();
      rows.in_memory = in_memory;
      std::vector<double> g(e.theta.size());
      make_backend("cpu")
          ->load(rows, p.y, softmax_of(outputs))
          ->loss_gradients({e.theta.data(), chains, coordinates}, {g.data(), chains, coordinates});
      return g;
    };
    const std::vector<double> g = gradients(true);
    EXPECT_EQ(gradients(false), g);
    e.chain(4)[3 * d] = std::numeric_limits<double>::quiet_NaN();
    const std::vector<double> with = gradients(true);
    for (std::size_t j = 0; j < with.size(); ++j) {
      if (j / coordinates == 4) continue;
      ASSERT_EQ(with[j], g[j]) << j;
    }
    // Every output of a row whose entry is met, so of each feature that is not 0 everywhere.
    for (std::size_t k = 0; k < outputs; ++k) {
      EXPECT_TRUE(std::isnan(with[4 * coordinates + k * d])) << k;
    }
  }
}

// A row's residuals do not depend on where it lies in a vector or on its neighbors.
TEST(CpuOutputs, BitsOfARowDoNotDependOnItsPlace) {
  on_every_instruction_set([](const std::string& name) {
    for (const std::size_t outputs : {2u, 3u, 10u, 100u}) {
      const auto [K, n, z, y] = make_logits<double>(outputs, 29, false);
      const auto choice = cpu::choose_loss(softmax_of(K));
      std::vector<double> all(z.size());
      cpu::derivatives(choice, z, y, all);
      for (std::size_t i = 0; i < n; ++i) {
        std::vector<double> one(K), r(K);
        for (std::size_t k = 0; k < K; ++k) one[k] = z[k * n + i];
        cpu::derivatives(choice, one, {&y[i], 1}, r);
        for (std::size_t k = 0; k < K; ++k) ASSERT_EQ(r[k], all[k * n + i]) << name << outputs;
      }
    }
  });
}

TEST(CpuOutputs, ManyColumns) {
  constexpr std::size_t n = 700, d = 70'000, step = d / 40, outputs = 3;
  support::OddRows p{n, d, {}, std::vector<float>(n)};
  std::mt19937 gen(5);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (std::size_t i = 0; i < n; ++i) {
    p.y[i] = static_cast<float>(gen() % outputs);
    for (std::size_t j = 0; j < d && i % 11 != 5; j += step) {
      p.entries.feature.push_back(static_cast<std::uint32_t>(j + gen() % step));
      p.entries.value.push_back(uniform(gen));
    }
    p.entries.begin.push_back(p.entries.value.size());
  }
  ASSERT_TRUE(cpu::has_many_columns(p.view()));
  const Ensemble begin = make_chains(2, outputs * d);
  expect_same_bits(p, softmax_of(outputs), begin, Arithmetic::float64);
  // Against the definition, of the features that rows have.
  const auto engine = make_backend("cpu")->load(p.view(), p.y, softmax_of(outputs));
  std::vector<double> g(outputs * d), f(1);
  engine->loss_gradients({begin.theta.data(), 1, g.size()}, {g.data(), 1, g.size()});
  engine->loss_values({begin.theta.data(), 1, g.size()}, f);
  std::vector<long double> exact(g.size()), z(outputs), r(outputs);
  long double value = 0;
  for (std::size_t i = 0; i < n; ++i) {
    std::ranges::fill(z, 0.0L);
    p.view().for_each(i, [&](std::size_t j, float v) {
      for (std::size_t k = 0; k < outputs; ++k) {
        z[k] += static_cast<long double>(v) * begin.theta[k * d + j];
      }
    });
    value += exact_softmax(z, static_cast<std::size_t>(p.y[i]), r);
    p.view().for_each(i, [&](std::size_t j, float v) {
      for (std::size_t k = 0; k < outputs; ++k) exact[k * d + j] += r[k] * v;
    });
  }
  for (std::size_t j = 0; j < g.size(); ++j) {
    ASSERT_NEAR(g[j], static_cast<double>(exact[j]), 1e-13) << j;
  }
  EXPECT_NEAR(f[0], static_cast<double>(value), 1e-12 * static_cast<double>(value));
  Ensemble reference = begin, moved = begin;
  engine->advance(moved, 1);
  make_backend("reference")->load(p.view(), p.y, softmax_of(outputs))->advance(reference, 1);
  for (std::size_t j = 0; j < moved.theta.size(); ++j) {
    ASSERT_NEAR(moved.theta[j], reference.theta[j], 1e-12);
  }
}

TEST(CpuOutputs, StreamsBeyondAKeyAreRefused) {
  const auto p = make_rows(10, 4, 3, false);
  const auto engine = make_backend("cpu")->load(p.view(), p.y, softmax_of(3));
  Ensemble e = make_chains(1, 12);
  e.specs[0].stream = 0x5555'5555;  // 3 of them begin at 2^32 - 1
  EXPECT_THROW(engine->advance(e, 1), BadInput);
  EXPECT_EQ(e.step[0], 0u);
  --e.specs[0].stream;
  engine->advance(e, 1);
  EXPECT_EQ(e.step[0], 1u);
}

}  // namespace cpu_outputs_test
}  // namespace gibbsite
