// Every backend against a long-double oracle and against the reference backend, step by step.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/summation.hpp"
#include "gibbsite/engine/engine.hpp"
#include "support/backend.hpp"
#include "support/instruction_sets.hpp"
#include "support/odd_rows.hpp"
#include "support/repeats.hpp"
#include "support/roundings.hpp"

namespace gibbsite {
namespace engine_backend_test {

using support::gamma_k;
using support::make_odd_chains;
using support::make_odd_rows;
using support::OddRows;

// The oracle is slow: under sanitizers it meets every seventh chain.
constexpr std::size_t few_chains = support::repeats(1U, 7U);

struct Gradient {
  std::vector<double> exact;  // [d], rounded once from 64-bit significands
  std::vector<double>
      bound;  // [d], of what a backend promises (docs/theory/map-error.md, steps 1-3)
};

//   |g_j - exact| <= sum_i |x_ij| ( gamma_{D+1} |r_i|      additions, and the product
//                                  + gamma_16 |r_i|        exp and the operations of the residual
//                                  + phi gamma_d sum_k |x_ik theta_k| )       the logit
// with the magnitudes of this very problem. What underflows costs at most the smallest normal.
Gradient oracle(const OddRows& p, std::span<const double> theta, bool capped = false) {
  const double depth = static_cast<double>(accumulation_depth(p.n)) + 1;
  const auto d = static_cast<double>(p.d);
  std::vector<long double> exact(p.d, 0);
  Gradient g{std::vector<double>(p.d), std::vector<double>(p.d, 0)};
  for (std::size_t i = 0; i < p.n; ++i) {
    long double z = 0;
    double magnitude = 0;
    for (std::size_t j = 0; j < p.d; ++j) {
      if (p.x[i * p.d + j] == 0.0f) continue;
      z += static_cast<long double>(p.x[i * p.d + j]) * theta[j];
      magnitude += std::fabs(static_cast<double>(p.x[i * p.d + j]) * theta[j]);
    }
    const long double size = 1 / (1 + std::exp(z * p.y[i]));
    const long double r = -p.y[i] * (capped && size > 0.5L ? 0.5L : size);
    const double derivative_bound =
        (gamma_k(depth) + gamma_k(16)) * static_cast<double>(std::fabs(r)) +
        0.25 * gamma_k(d) * magnitude + std::numeric_limits<double>::min();
    for (std::size_t j = 0; j < p.d; ++j) {
      if (p.x[i * p.d + j] == 0.0f) continue;
      exact[j] += r * p.x[i * p.d + j];
      g.bound[j] += std::fabs(static_cast<double>(p.x[i * p.d + j])) * derivative_bound;
    }
  }
  for (std::size_t j = 0; j < p.d; ++j) {
    g.exact[j] = static_cast<double>(exact[j]);
    g.bound[j] += support::unit_roundoff * std::fabs(g.exact[j]);  // rounding of `exact`
  }
  return g;
}

std::unique_ptr<Engine> load(const OddRows& p, const char* design = "auto",
                             const char* backend = GIBBSITE_TEST_BACKEND, std::size_t threads = 0,
                             const char* loss = "logistic") {
  return support::make_test_backend(backend, {.design = design, .threads = threads})
      ->load(p.view(), p.y, loss_named(loss));
}

void expect_gradients_within_bound(const OddRows& p, const Ensemble& e, Engine& engine) {
  const bool capped = engine.loss().max_abs_derivative() < 1;
  std::vector<double> out(e.theta.size(), std::numeric_limits<double>::quiet_NaN());
  engine.loss_gradients({e.theta.data(), e.chains(), p.d}, {out.data(), e.chains(), p.d});
  for (std::size_t c = 0; c < e.chains(); c += few_chains) {
    const Gradient g = oracle(p, e.chain(c), capped);
    for (std::size_t j = 0; j < p.d; ++j) {
      ASSERT_TRUE(std::fabs(out[c * p.d + j] - g.exact[j]) <= g.bound[j])
          << "chain " << c << " coordinate " << j << ": " << out[c * p.d + j] << " for "
          << g.exact[j] << ", bound " << g.bound[j];
    }
  }
}

struct Shape {
  std::size_t n, d, chains;
  const char* design = "auto";
  double per_row = 0;  // above 0: so many entries, handed on as entries
};
OddRows rows_of(const Shape& s, unsigned seed) {
  const auto make = [&] {
    return s.per_row > 0 ? support::make_sparse_rows(s.n, s.d, s.per_row, seed)
                         : make_odd_rows(s.n, s.d, seed);
  };
  if (!support::sanitized || s.n * s.d < 100'000) return make();
  static std::map<std::tuple<std::size_t, std::size_t, double>, OddRows> kept;  // seconds to make
  const std::tuple key(s.n, s.d, s.per_row);
  if (!kept.contains(key)) kept.emplace(key, make());
  return kept.at(key);
}
// Every size of {1, 2, 7, 31, 32, 33, 1000} as n, as d and as C; d > n; several 1024-row blocks,
// whole and broken, so that trees, threads and panels are in play.
constexpr Shape shapes[] = {
    {1, 1, 1},
    {1, 1000, 2},
    {1, 33, 1000},
    {2, 2, 33},
    {2, 1000, 7},
    {2, 7, 32},
    {7, 1, 31},
    {7, 31, 1},
    {7, 32, 2},
    {7, 7, 7},
    {31, 33, 33},
    {31, 2, 1000},
    {31, 1000, 1},
    {32, 32, 32},
    {32, 7, 1},
    {32, 1, 2},
    {33, 31, 7},
    {33, 1000, 31},
    {33, 2, 1},
    {1000, 1, 33},
    {1000, 2, 7},
    {1000, 7, 2},
    {1000, 31, 31},
    {1000, 32, 1},
    {1000, 33, 32},
    {1000, 1000, 1},
    {1024, 9, 1},
    {1025, 8, 3},
    {5000, 33, 1},
    {4097, 17, 2},
    {3 * 1024, 5, 70},
    {7 * 1024 + 1, 3, 1},
    // Entries; the last three have more features than a block of rows has entries.
    {1, 1, 1, "auto", 1},
    {33, 100, 1, "auto", 7},
    {1000, 60, 33, "auto", 9},
    {2050, 40, 4, "auto", 5},
    {7, 9, 31, "auto", 8},
    {33, 4000, 2, "auto", 2},
    {1500, 2000, 1, "auto", 1},
    {1, 3000, 3, "auto", 2},
};

// On a GPU also through the two designs in double that take long tables; the rule takes A and B
// for most of these.
std::vector<Shape> all_shapes() {
  const std::string_view backend = GIBBSITE_TEST_BACKEND;
  std::vector<Shape> all(std::begin(shapes), std::end(shapes));
  if (backend == "cpu") {
    // Large enough for threads: few chains, panels by blocks of rows, panels by groups; as entries.
    for (const double per_row : {0.0, 3.0}) {
      const std::size_t more = per_row > 0 ? 11 : 1;  // 3 of 33 entries, with duplicated rows
      all.push_back({33'000 * more, 33, 1, "auto", per_row});
      all.push_back({9'000 * more, 33, 4, "auto", per_row});
      all.push_back({17'000, 33, 5 * more, "auto", per_row});
      all.push_back({1'500 * more, 33, 65, "auto", per_row});
    }
    return all;
  }
  if (backend != "emulated" && backend != "cuda") return all;
  for (const Shape& s : shapes) {
    if (s.per_row > 0) continue;
    if (s.d <= 256 && s.chains < 33) all.push_back({s.n, s.d, s.chains, "one-pass"});
    if (s.chains < 1000) all.push_back({s.n, s.d, s.chains, "blocked"});
  }
#ifdef GIBBSITE_SANITIZED
  // Threads of threads: what is large runs without sanitizers.
  std::erase_if(all, [](const Shape& s) { return (s.n + 256) * s.chains * (s.d + 8) > 200'000; });
#endif
  return all;
}

void PrintTo(const Shape& s, std::ostream* out) {
  *out << fmt::format("{} x {}, {} chains, {}, {} entries a row", s.n, s.d, s.chains, s.design,
                      s.per_row);
}

class EngineTest : public support::TestOn {
 protected:
  EngineTest() : TestOn(GIBBSITE_TEST_BACKEND) {}
};
class OfShape : public EngineTest, public testing::WithParamInterface<Shape> {};
INSTANTIATE_TEST_SUITE_P(Shapes, OfShape, testing::ValuesIn(all_shapes()), [](const auto& p) {
  std::string name = fmt::format("n{}_d{}_C{}_{}{}", p.param.n, p.param.d, p.param.chains,
                                 p.param.design, p.param.per_row > 0 ? "_sparse" : "");
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST_P(OfShape, LossGradientIsWithinItsBound) {
  const auto [n, d, chains, design, per_row] = GetParam();
  const OddRows p = rows_of(GetParam(), 1);
  expect_gradients_within_bound(p, make_odd_chains(chains, d), *load(p, design));
  if (n * d * chains > 300'000) return;
  expect_gradients_within_bound(p, make_odd_chains(chains, d),
                                *load(p, design, GIBBSITE_TEST_BACKEND, 0, "logistic-capped"));
}

// One step from the same state in both backends: the gradients differ by at most two bounds, each
// update by 8 roundings of its parts (docs/theory/map-error.md, step 4).
TEST_P(OfShape, AgreesWithTheReferenceStepByStep) {
  const auto [n, d, chains, design, per_row] = GetParam();
  const OddRows p = rows_of(GetParam(), 2);
  const auto engine = load(p, design), reference = load(p, "auto", "reference");
  Ensemble here = make_odd_chains(chains, d);
  std::vector<double> noise(d);
  for (int steps = 0; steps < 2; ++steps) {
    const Ensemble before = here;
    Ensemble there = here;
    engine->advance(here, 1);
    reference->advance(there, 1);
    EXPECT_EQ(here.step, there.step);
    for (std::size_t c = 0; c < chains; c += few_chains) {
      const ChainSpec& spec = here.specs[c];
      const Gradient g = oracle(p, before.chain(c));
      fill_normals(spec.key, spec.stream, before.step[c], noise);
      const double h = spec.step_size, beta = spec.inverse_temperature, m = spec.prior_precision;
      for (std::size_t j = 0; j < d; ++j) {
        const double theta = before.chain(c)[j];
        const double center = spec.center.empty() ? 0 : spec.center[j];
        const double parts = std::fabs(theta) + h * beta * std::fabs(g.exact[j]) +
                             h * m * (std::fabs(theta) + std::fabs(center)) +
                             std::sqrt(2 * h) * std::fabs(noise[j]);
        const double bound = 2 * (h * beta * g.bound[j] + gamma_k(8) * parts) * (1 + 1e-9);
        ASSERT_TRUE(std::fabs(here.chain(c)[j] - there.chain(c)[j]) <= bound)
            << "chain " << c << " coordinate " << j;
      }
    }
    if (n * d * chains > 300'000) return;  // one step says it
  }
}

TEST_P(OfShape, LossValueIsWithinItsBound) {
  const auto [n, d, chains, design, per_row] = GetParam();
  const OddRows p = rows_of(GetParam(), 3);
  const Ensemble e = make_odd_chains(std::min<std::size_t>(chains, 3), d);
  std::vector<double> values(e.chains());
  for (std::size_t run = 0; run < 2 * e.chains(); ++run) {
    const std::size_t c = run % e.chains();
    const bool capped = run >= e.chains();
    if (c == 0) {
      load(p, design, GIBBSITE_TEST_BACKEND, 0, capped ? "logistic-capped" : "logistic")
          ->loss_values({e.theta.data(), e.chains(), d}, values);
    }
    long double exact = 0;
    double bound = 0;
    for (std::size_t i = 0; i < n; ++i) {
      long double z = 0;
      double magnitude = 0;
      for (std::size_t j = 0; j < d; ++j) {
        if (p.x[i * d + j] == 0.0f) continue;
        const long double term = static_cast<long double>(p.x[i * d + j]) * e.chain(c)[j];
        z += term;
        magnitude += static_cast<double>(std::fabs(term));
      }
      const long double t = -z * p.y[i];
      const long double f = capped && t > 0 ? std::log(2.0L) + t / 2
                                            : (t > 0 ? t : 0) + std::log1p(std::exp(-std::fabs(t)));
      exact += f;
      // |f'| <= 1 passes the logit's error on; n additions and 8 roundings of f.
      bound += gamma_k(static_cast<double>(d)) * magnitude +
               gamma_k(static_cast<double>(n) + 8) * static_cast<double>(f);
    }
    EXPECT_TRUE(std::fabs(values[c] - exact) <= bound) << c;
  }
}

// Chains are independent of how a run is cut, of the run, of the number of threads, of their place.
TEST_P(OfShape, BitsDoNotDependOnCutsRunsOrThreads) {
  const auto [n, d, chains, design, per_row] = GetParam();
  const OddRows p = rows_of(GetParam(), 4);
  const Ensemble begin = make_odd_chains(chains, d);
  Ensemble whole = begin;
  const auto engine = load(p, design);
  engine->advance(whole, 1000);
  EXPECT_TRUE(whole.finished());

  const bool threaded = std::string_view(GIBBSITE_TEST_BACKEND) == "cpu";
  for (const std::size_t t : threaded ? std::vector<std::size_t>{1, 2, 3, 7} : std::vector{2UL}) {
    Ensemble cut = begin;
    const auto another = load(p, design, GIBBSITE_TEST_BACKEND, t);
    if (t == 2) {
      another->advance(cut, 1);
      another->advance(cut, 0);
      another->advance(cut, 2);
      another->advance(cut, 1);
    }
    another->advance(cut, 1000);
    EXPECT_EQ(cut.theta, whole.theta) << t << " threads";
    EXPECT_EQ(cut.step, whole.step);
  }
  // The engine holds no state of the run.
  Ensemble again = begin;
  engine->advance(again, 1000);
  EXPECT_EQ(again.theta, whole.theta);
}

TEST_P(OfShape, PermutingChainsPermutesResults) {
  const auto [n, d, chains, design, per_row] = GetParam();
  const OddRows p = rows_of(GetParam(), 5);
  Ensemble straight = make_odd_chains(chains, d), reversed = straight;
  std::reverse(reversed.specs.begin(), reversed.specs.end());
  for (std::size_t c = 0; c < chains; ++c) {
    std::ranges::copy(straight.chain(c), reversed.chain(chains - 1 - c).begin());
  }
  const auto engine = load(p, design);
  engine->advance(straight, 1000);
  engine->advance(reversed, 1000);
  for (std::size_t c = 0; c < chains; ++c) {
    const auto a = straight.chain(c), b = reversed.chain(chains - 1 - c);
    ASSERT_TRUE(std::equal(a.begin(), a.end(), b.begin())) << c;
  }
}

TEST_F(EngineTest, RefusesChainsOfAnotherLength) {
  const OddRows p = make_odd_rows(50, 9, 6);
  for (const std::size_t coordinates : {1U, 8U, 10U, 27U}) {
    Ensemble e = make_odd_chains(2, coordinates);
    EXPECT_THROW(load(p)->advance(e, 1), BadInput) << coordinates;
  }
}

TEST_F(EngineTest, FinishedChainsRest) {
  const OddRows p = make_odd_rows(50, 9, 6);
  const auto engine = load(p);
  Ensemble e = make_odd_chains(9, 9);  // T = 2, 3, 4, 5, 2, ...
  for (std::uint64_t k = 1; k <= 6; ++k) {
    const Ensemble before = e;
    engine->advance(e, 1);
    for (std::size_t c = 0; c < e.chains(); ++c) {
      EXPECT_EQ(e.step[c], std::min(k, e.specs[c].iterations));
      const bool rests = before.step[c] == e.specs[c].iterations;
      EXPECT_EQ(std::ranges::equal(before.chain(c), e.chain(c)), rests) << k << " " << c;
    }
  }
}

// Chains that differ in one field only must part ways: no field is ignored or shared.
TEST_F(EngineTest, EveryFieldOfAChainCounts) {
  const OddRows p = make_odd_rows(50, 9, 7);
  const ChainSpec base{.inverse_temperature = 0.5,
                       .prior_precision = 0.5,
                       .step_size = 0.01,
                       .iterations = 3,
                       .center = {},
                       .key = StreamKey::from_seed(1),
                       .stream = 0};
  std::vector<ChainSpec> specs(8, base);
  specs[1].inverse_temperature = 0.6;
  specs[2].prior_precision = 0.6;
  specs[3].step_size = 0.02;
  specs[4].iterations = 4;
  specs[5].center.assign(9, 0.5);
  specs[6].key = StreamKey::from_seed(2);
  specs[7].stream = 1;
  Ensemble e = start(specs, 9);
  for (double& v : e.theta) v = 0.1;  // the same place, whatever the center
  load(p)->advance(e, 10);
  for (std::size_t a = 0; a < specs.size(); ++a) {
    for (std::size_t b = a + 1; b < specs.size(); ++b) {
      EXPECT_FALSE(std::ranges::equal(e.chain(a), e.chain(b))) << a << " " << b;
    }
  }
}

// Gradients keep the error bound on every instruction set that this machine can run.
TEST_F(EngineTest, EveryInstructionSetKeepsTheBound) {
  std::vector<std::string> seen;
  support::on_every_instruction_set([&](const std::string& /*name*/) {
    seen.push_back(support::make_test_backend(GIBBSITE_TEST_BACKEND)->description());
    for (const auto& [n, d, chains, design, per_row] :
         {Shape{33, 1, 1}, {33, 3, 1}, {33, 31, 1}, {33, 32, 5}, {40, 9, 33}, {2050, 17, 3}}) {
      const OddRows p = make_odd_rows(n, d, 8);
      expect_gradients_within_bound(p, make_odd_chains(chains, d), *load(p, design));
    }
  });
  EXPECT_FALSE(seen.empty());
  RecordProperty("instruction_sets", testing::PrintToString(seen));
}

}  // namespace engine_backend_test
}  // namespace gibbsite
