// Every loss on every backend: gradients, values, Hessians and the exact difference against 64 bits
// and 50 digits, for dense and sparse rows, few chains and panels; the GPU has no kernels of
// weighted classes, nor of rows with an exposure, and says so.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <utility>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/summation.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/engine/engine.hpp"
#include "support/backend.hpp"
#include "support/loss_oracle.hpp"
#include "support/odd_rows.hpp"
#include "support/repeats.hpp"
#include "support/roundings.hpp"

namespace gibbsite {
namespace losses_backend_test {

using support::gamma_k;
using support::OddRows;

struct TableShape {
  std::size_t n, d, chains;
  double per_row = 0;  // above 0: so many entries, handed on as entries
};
constexpr TableShape table_shapes[] = {{1, 1, 1},       {33, 9, 2},       {47, 7, 17},
                                       {100, 31, 70},   {1025, 8, 4},     {2050, 5, 1},
                                       {33, 100, 3, 7}, {2050, 40, 4, 5}, {60, 90, 65, 9}};

class EachLoss : public support::TestOn, public testing::WithParamInterface<std::string_view> {
 protected:
  EachLoss() : TestOn(GIBBSITE_TEST_BACKEND), loss_(loss_named(GetParam())) {}
  std::unique_ptr<Engine> load(const OddRows& p, const char* backend = GIBBSITE_TEST_BACKEND,
                               BackendOptions options = {}) const {
    return support::make_test_backend(backend, options)->load(p.view(), p.y, loss_);
  }
  [[nodiscard]] OddRows rows(const TableShape& s, unsigned seed) const {
    OddRows p = s.per_row > 0 ? support::make_sparse_rows(s.n, s.d, s.per_row, seed)
                              : support::make_odd_rows(s.n, s.d, seed);
    p.y = support::random_labels(loss_, s.n, 200, seed);
    if (loss_.label() == LabelKind::count && !on_a_gpu()) {
      // Exposures from a thousandth of the highest on.
      std::mt19937 bits(seed);
      std::uniform_real_distribution<float> uniform(-6.9F, 0);
      for (std::size_t i = 0; i < s.n; ++i)
        p.offset.push_back(i % 5 == 1 ? 0.0F : i % 5 == 2 ? -6.9F : uniform(bits));
    }
    return p;
  }
  [[nodiscard]] std::size_t outputs() const { return loss_.outputs(); }
  // A row's predictors, and the norm of what rounding moves them by, over gamma_d.
  [[nodiscard]] std::pair<std::vector<long double>, double> logits(
      const OddRows& p, std::size_t i, std::span<const double> theta) const {
    std::vector<long double> z(outputs(), 0);
    double squares = 0;
    for (std::size_t k = 0; k < z.size(); ++k) {
      double size = 0;
      for (std::size_t j = 0; j < p.d; ++j) {
        const long double term = static_cast<long double>(p.x[i * p.d + j]) * theta[k * p.d + j];
        z[k] += term;
        size += static_cast<double>(std::fabs(term));
      }
      if (!p.offset.empty()) {
        z[k] += p.offset[i];
        size += 2 * (size + static_cast<double>(std::fabs(p.offset[i])));  // one more rounding
      }
      squares += size * size;
    }
    return {z, std::sqrt(squares)};
  }
  // Roundings of a slope, with those of its sum over K classes.
  [[nodiscard]] double slope_roundings() const {
    return 16 + (outputs() == 1 ? 0 : static_cast<double>(outputs()));
  }
  // A bound of |f'| for one row: |y| + sum |x_j theta_j| if the loss has no global one.
  [[nodiscard]] double most_slope(float y, double size) const {
    const double everywhere = loss_.max_abs_derivative();
    return std::isfinite(everywhere) ? everywhere : std::fabs(static_cast<double>(y)) + size;
  }
  const Loss& loss_;
};
std::vector<std::string_view> each_loss() {
  std::vector<std::string_view> names = loss_names();
  names.insert(names.end(),
               {"softmax-2", "softmax-3", "softmax-7", "logistic(0.4,1)", "logistic-capped(1,0.3)",
                "smoothed-hinge(1,1e-06)", "softmax-3(0.25,1,0.7)", "softmax-2(1,0.1)"});
  // A GPU refuses weights (targets_backend_test.cpp) and what has a guarantee in a ball alone.
  if (support::is_a_gpu(GIBBSITE_TEST_BACKEND)) {
    std::erase_if(names,
                  [](std::string_view name) { return name.ends_with(')') || name == "squared"; });
  }
  return names;
}
INSTANTIATE_TEST_SUITE_P(Losses, EachLoss, testing::ValuesIn(each_loss()), [](const auto& p) {
  std::string name(p.param);
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});

class OnAGpu : public support::TestOn {
 protected:
  OnAGpu() : TestOn(GIBBSITE_TEST_BACKEND) {}
  static void expect_refusal(const OddRows& p, std::string_view name, const char* what) {
    EXPECT_THAT(
        [&] {
          support::make_test_backend(GIBBSITE_TEST_BACKEND)->load(p.view(), p.y, loss_named(name));
        },
        testing::ThrowsMessage<BadInput>(testing::AllOf(testing::StartsWith("`backend` cuda: "),
                                                        testing::HasSubstr(what),
                                                        testing::EndsWith("use `backend` cpu"))));
  }
};

TEST_F(OnAGpu, WeightsExposuresAndASlopeWithoutABoundAreRefused) {
  if (!on_a_gpu()) GTEST_SKIP() << "no card";
  OddRows p = support::make_odd_rows(5, 3, 1);
  for (const char* const name : {"logistic(0.4,1)", "softmax-3(0.25,1,0.7)", "squared"}) {
    p.y = support::random_labels(loss_named(name), p.n, 1, 1);
    expect_refusal(p, name, name);
  }
  p.y = support::random_labels(loss_named("poisson"), p.n, 1, 1);
  p.offset.assign(p.n, -0.5F);
  expect_refusal(p, "poisson", "an exposure");
}

//   |g_j - exact| <= sum_i |x_ij| (gamma_{D+1} |r_i| + gamma_16 sup|f'| + phi gamma_d |x| |theta|)
// (docs/theory/map-error.md, steps 1-3), with the magnitudes of this very problem; of K outputs
// gamma_{16+K}, and the norm of what rounding moves the predictors by.
TEST_P(EachLoss, GradientsAndValuesAreWithinTheirBounds) {
  for (const TableShape& s : table_shapes) {
    SCOPED_TRACE(fmt::format("{} x {}, {} chains", s.n, s.d, s.chains));
    const OddRows p = rows(s, 1);
    const std::size_t D = s.d * outputs();
    const Ensemble e = support::make_odd_chains(s.chains, D);
    const auto engine = load(p);
    ASSERT_EQ(engine->features(), D);
    std::vector<double> out(e.theta.size(), NAN), values(s.chains, NAN);
    engine->loss_gradients({e.theta.data(), s.chains, D}, {out.data(), s.chains, D});
    engine->loss_values({e.theta.data(), s.chains, D}, values);
    const double depth = static_cast<double>(accumulation_depth(s.n)) + 1;
    for (std::size_t c = 0; c < s.chains; ++c) {
      std::vector<long double> exact(D, 0);
      std::vector<double> bound(D, 0);
      long double value = 0;
      double value_bound = 0;
      for (std::size_t i = 0; i < s.n; ++i) {
        const auto [z, size] = logits(p, i, e.chain(c));
        const auto f = support::exact_outputs(loss_, z, p.y[i]);
        // Softmax rounds differences of predictors once more.
        const double moved = gamma_k(static_cast<double>(s.d) + (outputs() == 1 ? 1 : 3)) * size;
        for (std::size_t j = 0; j < D; ++j) {
          const long double derivative = f.derivative[j / s.d];
          const double error = gamma_k(depth) * static_cast<double>(std::fabs(derivative)) +
                               gamma_k(slope_roundings()) * most_slope(p.y[i], size) +
                               loss_.curvature() * moved + std::numeric_limits<double>::min();
          const float x = p.x[i * s.d + j % s.d];
          exact[j] += derivative * x;
          bound[j] += std::fabs(static_cast<double>(x)) * error;
        }
        value += f.value;
        value_bound += gamma_k(static_cast<double>(s.n) + 12) * static_cast<double>(f.value) +
                       most_slope(p.y[i], size) * moved + std::numeric_limits<double>::min() +
                       (outputs() == 1 ? 0 : gamma_k(slope_roundings()));
      }
      for (std::size_t j = 0; j < D; ++j) {
        ASSERT_TRUE(std::fabs(out[c * D + j] - exact[j]) <=
                    bound[j] + support::unit_roundoff * static_cast<double>(std::fabs(exact[j])))
            << c << ' ' << j << ": " << out[c * D + j] << " for " << static_cast<double>(exact[j])
            << ", bound " << bound[j];
      }
      ASSERT_TRUE(std::fabs(values[c] - value) <= value_bound) << c;
    }
  }
}

// One step from the same state: two gradients within their bounds and 8 roundings of an update's
// parts; and no bit depends on cuts, threads or the order of chains.
TEST_P(EachLoss, StepsAreTheReferencesAndTheirBitsAreTheirOwn) {
  const bool emulated = std::string_view(GIBBSITE_TEST_BACKEND) == "emulated";
  support::Thinned sweep(emulated ? 7 : 1, !emulated ? 1 : outputs() > 1 ? 4 : 2);
  for (const TableShape& s : table_shapes) {
    if (sweep.skips()) continue;
    SCOPED_TRACE(fmt::format("{} x {}, {} chains", s.n, s.d, s.chains));
    const OddRows p = rows(s, 2);
    const auto engine = load(p);
    const Ensemble begin = support::make_odd_chains(s.chains, s.d * outputs());
    Ensemble here = begin, there = begin;
    engine->advance(here, 1);
    load(p, "reference")->advance(there, 1);
    const double depth = static_cast<double>(accumulation_depth(s.n)) + 1 + slope_roundings();
    for (std::size_t c = 0; c < s.chains; ++c) {
      const ChainSpec& spec = begin.specs[c];
      const double far = std::fabs(
          *std::ranges::max_element(begin.chain(c), {}, [](double v) { return std::fabs(v); }));
      std::vector<double> moved(s.n), derivative(s.n);
      for (std::size_t i = 0; i < s.n; ++i) {
        const double size = logits(p, i, begin.chain(c)).second;
        moved[i] = gamma_k(static_cast<double>(s.d) + (outputs() == 1 ? 0 : 2)) * size;
        derivative[i] = most_slope(p.y[i], size);
      }
      for (std::size_t j = 0; j < s.d * outputs(); ++j) {
        double g = 0;
        for (std::size_t i = 0; i < s.n; ++i) {
          const double x = std::fabs(static_cast<double>(p.x[i * s.d + j % s.d]));
          g += x * (gamma_k(depth) * derivative[i] + moved[i]);
        }
        const double size = g / gamma_k(depth);
        const double h = spec.step_size, beta = spec.inverse_temperature;
        const double bound =
            2 * (h * beta * g + gamma_k(8) * (2 * far + 1 + h * beta * size +
                                              10 * std::sqrt(2 * h) + h * spec.prior_precision));
        ASSERT_TRUE(std::fabs(here.chain(c)[j] - there.chain(c)[j]) <= bound) << c << ' ' << j;
      }
    }
    Ensemble whole = begin, reversed = begin;
    engine->advance(whole, 1000);
    std::ranges::reverse(reversed.specs);
    for (std::size_t c = 0; c < s.chains; ++c)
      std::ranges::copy(begin.chain(c), reversed.chain(s.chains - 1 - c).begin());
    engine->advance(reversed, 1000);
    for (const std::size_t threads : {1U, 3U}) {
      Ensemble cut = begin;
      const auto another = load(p, GIBBSITE_TEST_BACKEND, {.threads = threads});
      another->advance(cut, 1);
      another->advance(cut, 1000);
      ASSERT_EQ(cut.theta, whole.theta);
    }
    for (std::size_t c = 0; c < s.chains; ++c)
      ASSERT_TRUE(std::ranges::equal(whole.chain(c), reversed.chain(s.chains - 1 - c))) << c;
  }
}

// Where f'' jumps a rounding of the logit may be on either side: rows that come close to one are
// left out by the seed, and counted.
TEST_P(EachLoss, HessiansAndPlainSumsAreWithinTheirBounds) {
  for (const TableShape& s : {TableShape{33, 9, 1}, TableShape{300, 4, 1}, TableShape{33, 40, 1, 5},
                              TableShape{1100, 3, 1}, TableShape{2050, 9, 1, 3}}) {
    SCOPED_TRACE(fmt::format("{} x {}", s.n, s.d));
    const OddRows p = rows(s, 3);
    const std::size_t D = s.d * outputs();
    Ensemble e = support::make_odd_chains(1, D);
    for (double& v : e.theta) v /= 100;  // one column is of thousands
    const auto engine = load(p);
    std::vector<double> dense(D * D, NAN), gradient(D, NAN), diagonal(D, 0.5), product(D, -2);
    std::vector<double> v(D);
    for (std::size_t j = 0; j < D; ++j) v[j] = std::cos(static_cast<double>(7 * j));
    const auto hessian = engine->hessian(e.theta, 0.3);
    hessian->dense({dense.data(), D, D});
    hessian->add_diagonal(diagonal);
    hessian->add_product(v, product);
    engine->plain_gradient(e.theta, gradient);
    std::vector<long double> exact(D * D, 0), derivative(D, 0);
    std::vector<double> size(D * D, 0), slope_size(D, 0);
    long double value = 0, largest = 0;
    for (std::size_t i = 0; i < s.n; ++i) {
      const auto [z, reached] = logits(p, i, e.theta);
      const double most = most_slope(p.y[i], reached);
      for (const long double at : z) largest = std::max(largest, std::fabs(at));
      const auto f = support::exact_outputs(loss_, z, p.y[i]);
      value += f.value;
      for (std::size_t j = 0; j < D; ++j) {
        const long double x = p.x[i * s.d + j % s.d];
        derivative[j] += f.derivative[j / s.d] * x;
        slope_size[j] += most * static_cast<double>(std::fabs(x));
        for (std::size_t k = 0; k < D; ++k) {
          const long double xx = x * p.x[i * s.d + k % s.d];
          exact[j * D + k] += 0.3 * f.curvature[j / s.d * outputs() + k / s.d] * xx;
          size[j * D + k] += static_cast<double>(std::fabs(xx));
        }
      }
    }
    EXPECT_NEAR(engine->largest_logit(e.theta), static_cast<double>(largest),
                1e-11 * static_cast<double>(largest));
    EXPECT_NEAR(engine->plain_value(e.theta), static_cast<double>(value),
                1e-11 * static_cast<double>(value) + 1e-9);
    for (std::size_t j = 0; j < D; ++j) {
      EXPECT_NEAR(gradient[j], static_cast<double>(derivative[j]), 1e-11 * slope_size[j]) << j;
      long double along = -2;
      double along_size = 1;
      for (std::size_t k = 0; k < D; ++k) {
        EXPECT_NEAR(dense[j * D + k], static_cast<double>(exact[j * D + k]),
                    1e-11 * size[j * D + k])
            << j << ' ' << k;
        along += exact[j * D + k] * v[k];
        along_size += size[j * D + k];
      }
      EXPECT_NEAR(diagonal[j], 0.5 + static_cast<double>(exact[j * D + j]),
                  1e-11 * (1 + size[j * D + j]))
          << j;
      EXPECT_NEAR(product[j], static_cast<double>(along), 1e-11 * along_size) << j;
    }
  }
}

// Hessian products of a smooth loss equal (grad(theta + s v) - grad(theta - s v))/2s. The
// difference quotient is off by s^2/6 sup|f'''| |x| |x.v|^2 <= c phi s^2/6 |x| |x.v|^2 and
// roundings.
TEST_P(EachLoss, HessiansAreDifferencesOfGradients) {
  if (!std::isfinite(loss_.self_concordance())) return;
  for (const TableShape& s :
       {TableShape{40, 4, 1}, TableShape{1100, 3, 1}, TableShape{60, 12, 1, 4}}) {
    OddRows p = rows(s, 6);
    p.y = support::random_labels(loss_, s.n, 3, 6);
    const std::size_t D = s.d * outputs();
    std::vector<double> theta(D), v(D), product(D, 0), above(D), below(D);
    for (std::size_t j = 0; j < D; ++j) {
      theta[j] = p.d > 4 && j % s.d == s.d - 2 ? 1e-3 : std::sin(static_cast<double>(3 * j + 1));
      v[j] = std::cos(static_cast<double>(5 * j)) / 8;
      if (p.d > 4 && j % s.d == s.d - 2) v[j] *= 1e-3;  // a column of thousands
    }
    const auto engine = load(p);
    engine->hessian(theta, 1)->add_product(v, product);
    const double step = 1e-4;
    std::vector<double> near = theta;
    for (std::size_t j = 0; j < D; ++j) near[j] = theta[j] + step * v[j];
    engine->plain_gradient(near, above);
    for (std::size_t j = 0; j < D; ++j) near[j] = theta[j] - step * v[j];
    engine->plain_gradient(near, below);
    double largest = 0;
    for (std::size_t j = 0; j < D; ++j) {
      double size = 0;
      for (std::size_t i = 0; i < s.n; ++i)
        size += std::fabs(static_cast<double>(p.x[i * s.d + j % s.d])) *
                std::max(1.0, most_slope(p.y[i], 0));
      EXPECT_NEAR((above[j] - below[j]) / (2 * step), product[j], size * 1e-7) << j;
      largest = std::max(largest, std::fabs(product[j]) / (size + 1e-30));
    }
    EXPECT_GT(largest, loss_.class_weights().empty() ? 1e-2 : 1e-3) << "no power";
  }
}

TEST_P(EachLoss, WeightedGradientsAreWithinTheirBounds) {
  for (const TableShape& s :
       {TableShape{47, 7, 2}, TableShape{2050, 5, 3}, TableShape{1100, 30, 2, 5}}) {
    SCOPED_TRACE(fmt::format("{} x {}", s.n, s.d));
    const OddRows p = rows(s, 5);
    const std::size_t D = s.d * outputs();
    const Ensemble e = support::make_odd_chains(s.chains, D);
    std::vector<double> weights(s.n), out(e.theta.size(), NAN);
    for (std::size_t i = 0; i < s.n; ++i) weights[i] = std::sin(static_cast<double>(i)) * 3;
    const auto engine = load(p);
    engine->weighted_loss_gradients({e.theta.data(), s.chains, D}, weights,
                                    {out.data(), s.chains, D});
    for (std::size_t c = 0; c < s.chains; ++c) {
      std::vector<long double> exact(D, 0);
      std::vector<double> bound(D, 1e-300);
      for (std::size_t i = 0; i < s.n; ++i) {
        const auto [z, size] = logits(p, i, e.chain(c));
        const auto f = support::exact_outputs(loss_, z, p.y[i]);
        for (std::size_t j = 0; j < D; ++j) {
          const long double wx = static_cast<long double>(weights[i]) * p.x[i * s.d + j % s.d];
          exact[j] += wx * f.derivative[j / s.d];
          bound[j] +=
              static_cast<double>(std::fabs(wx)) *
              (1e-12 * most_slope(p.y[i], size) + gamma_k(static_cast<double>(s.d) + 3) * size);
        }
      }
      for (std::size_t j = 0; j < D; ++j)
        ASSERT_TRUE(std::fabs(out[c * D + j] - exact[j]) <= bound[j]) << c << ' ' << j;
    }
    weights.pop_back();
    EXPECT_THROW(engine->weighted_loss_gradients({e.theta.data(), s.chains, D}, weights,
                                                 {out.data(), s.chains, D}),
                 BadInput);
  }
}

// What is asked of rows alone does not know the loss: P has a row for each of their columns.
TEST_P(EachLoss, QuestionsAboutRowsAreThoseOfAnyLoss) {
  const OddRows p = rows({100, 5, 1}, 7);
  const auto engine = load(p), other = load(p, "reference");
  const auto plain =
      support::make_test_backend("reference")->load(p.view(), p.y, loss_named("logistic"));
  std::vector<double> P(5 * 2);
  for (std::size_t j = 0; j < P.size(); ++j) P[j] = std::sin(static_cast<double>(j + 1));
  std::vector<double> here(4, NAN), there(4, NAN);
  engine->second_moments({P.data(), 5, 2}, 0.7, {here.data(), 2, 2});
  plain->second_moments({P.data(), 5, 2}, 0.7, {there.data(), 2, 2});
  for (std::size_t a = 0; a < 4; ++a) EXPECT_NEAR(here[a], there[a], 1e-4 * 100 * 0.49) << a;
  std::vector<float> v(100 * 2, NAN), w(100 * 2, NAN);
  engine->clipped_rows({P.data(), 5, 2}, 0.7, {v.data(), 100, 2});
  plain->clipped_rows({P.data(), 5, 2}, 0.7, {w.data(), 100, 2});
  for (std::size_t a = 0; a < v.size(); ++a) EXPECT_NEAR(v[a], w[a], 1e-5) << a;
  EXPECT_THROW(engine->second_moments({P.data(), 2, 5}, 0.7, {here.data(), 2, 2}), BadInput);
  EXPECT_EQ(engine->row_norms().sum_squares, plain->row_norms().sum_squares);
  EXPECT_EQ(engine->row_norms().largest_squared, plain->row_norms().largest_squared);
  const auto capped = engine->capped_loss({P.data(), 5, 2}, {.clip = 0.7});
  const auto definition = other->capped_loss({P.data(), 5, 2}, {.clip = 0.7});
  if (outputs() == 1 || !on_a_gpu()) return;  // of several outputs the host answers for a GPU
  const std::vector<double> theta(5 * outputs(), 0.1);
  std::vector<double> g(theta.size(), NAN), exact(theta.size(), NAN);
  EXPECT_EQ(capped->gradient(theta, g), definition->gradient(theta, exact));
  EXPECT_EQ(g, exact);
  EXPECT_THAT(engine->design(), testing::HasSubstr("on the host"));
}

// Without a gradient or a prior a step is its noise: output k of a chain of stream s has that of
// stream K s + k.
TEST_P(EachLoss, AnOutputsNoiseIsAStreamOfItsOwn) {
  const OddRows p = rows({20, 6, 1}, 8);
  const std::size_t K = outputs(), d = 6;
  const auto engine = load(p);
  for (const std::size_t chains : {1U, 3U, 40U}) {
    std::vector<ChainSpec> specs(chains, {.key = StreamKey::from_seed(5)});
    for (std::size_t c = 0; c < chains; ++c) {
      specs[c].inverse_temperature = 0;
      specs[c].prior_precision = 0;
      specs[c].step_size = 0.5;
      specs[c].iterations = 2;
      specs[c].stream = static_cast<std::uint32_t>(11 + 5 * c);
      if (c % 2 == 1) specs[c].key.kind = NoiseKind::chacha20;
    }
    if (chains == 3) specs[1].stream = static_cast<std::uint32_t>(0xffffffff / K - 1);
    Ensemble e = start(std::move(specs), d * K);
    engine->advance(e, 2);
    for (std::size_t c = 0; c < chains; ++c) {
      for (std::size_t k = 0; k < K; ++k) {
        std::vector<double> first(d), second(d);
        const auto stream = static_cast<std::uint32_t>(K * e.specs[c].stream + k);
        fill_normals(e.specs[c].key, stream, 0, first);
        fill_normals(e.specs[c].key, stream, 1, second);
        for (std::size_t j = 0; j < d; ++j)
          ASSERT_NEAR(e.chain(c)[k * d + j], first[j] + second[j],
                      1e-14 * (10 + std::fabs(first[j])))
              << c << ' ' << k << ' ' << j;
      }
    }
  }
  if (K == 1) return;
  std::vector<ChainSpec> specs(2, {.key = StreamKey::from_seed(5)});
  specs[1].stream = static_cast<std::uint32_t>(0xffffffff / K + 1);
  Ensemble e = start(std::move(specs), d * K);
  const Ensemble begin = e;
  EXPECT_THAT([&] { engine->advance(e, 1); },
              testing::ThrowsMessage<BadInput>(testing::StartsWith("stream: chain ")));
  EXPECT_EQ(e.theta, begin.theta);
  EXPECT_EQ(e.step, begin.step);
}

// f in 50 digits, in another form than the program's.
Wide wide_value(std::string_view name, const std::vector<Wide>& predictors, float label) {
  if (name.starts_with("softmax-")) {
    Wide sum = 0;
    for (const Wide& v : predictors)
      sum += exp(Wide(v - predictors[static_cast<std::size_t>(label)]));
    return log(sum);
  }
  const Wide z = predictors[0], y(label);
  const auto held = [](const Wide& v, const Wide& lo, const Wide& hi) {
    return v < lo ? lo : v > hi ? hi : v;
  };
  if (name == "huber") {
    const Wide r = z - y, h = held(r, -1, 1);
    return h * r - h * h / 2;
  }
  if (name == "squared") return (z - y) * (z - y) / 2;
  if (name == "pseudo-huber") return sqrt(Wide((z - y) * (z - y) + 1)) - 1;
  if (name == "smoothed-hinge") {
    const Wide room = 1 - y * z, h = held(room, 0, 1);
    return h * room - h * h / 2;
  }
  if (name == "poisson") {
    const Wide at = z - Wide(2.302585092994045684);
    return at <= 0 ? Wide(exp(at) - y * at) : Wide(1 + at - y * at);
  }
  const Wide t = -y * z;
  if (name == "logistic-capped" && t > 0) return log(Wide(2)) + t / 2;
  return log1p(exp(t));
}

TEST_P(EachLoss, ExactDifferenceHasFiftyDigits) {
  const std::size_t n = 60, d = 5, D = d * outputs();
  const OddRows p = rows({n, d, 1}, 4);
  const Ensemble e = support::make_odd_chains(1, D);
  const auto engine = load(p);
  for (const double far : {1.0, 1e-17, 1e-30}) {
    std::vector<double> terms(e.theta);
    for (std::size_t j = 0; j < D; ++j) terms.push_back(far * (0.3 + static_cast<double>(j * j)));
    Wide exact = 0, size = 0;
    for (std::size_t i = 0; i < n; ++i) {
      std::vector<Wide> z(outputs()), z0(outputs());
      for (std::size_t j = 0; j < D; ++j) {
        const Wide x(p.x[i * d + j % d]);
        z[j / d] += x * (Wide(terms[j]) + Wide(terms[D + j]));
        z0[j / d] += x * Wide(e.theta[j]);
      }
      if (!p.offset.empty()) {
        z[0] += Wide(p.offset[i]);
        z0[0] += Wide(p.offset[i]);
      }
      const std::string_view plain = unweighted_name(GetParam());
      const Wide there = wide_value(plain, z, p.y[i]);
      exact += Wide(class_weight(loss_.class_weights(), p.y[i])) *
               (there - wide_value(plain, z0, p.y[i]));
      if (!std::isfinite(loss_.max_abs_derivative())) size += 2 * there;  // squares are larger
      for (const Wide& v : z) size += abs(v) + 1;
      for (const Wide& v : z0) size += abs(v);
      size += abs(Wide(p.y[i]));
    }
    Wide got = 0;
    for (const double part : engine->exact_difference({terms.data(), 2, D}, e.theta))
      got += Wide(part);
    EXPECT_TRUE(abs(got - exact) <= Wide("1e-46") * size) << far;
    if (far == 1e-30) {
      EXPECT_TRUE(got != 0) << "no power";
    }
  }
}

// Labels of its kind, and none else.
TEST_P(EachLoss, FirstFaultKnowsTheKindOfLabel) {
  const LabelKind kind = loss_.label();
  OddRows p{4, 1, {0.5F, 0.5F, 0.5F, 0.5F}, {1, 1, 1, 1}};
  const RowLimits limits{1, false, kind,
                         kind == LabelKind::amount    ? 7.25
                         : kind == LabelKind::classes ? static_cast<double>(outputs())
                                                      : 1};
  const auto fault = [&](float label) {
    p.y[2] = label;
    return load(p)->first_fault(limits);
  };
  EXPECT_FALSE(fault(1).has_value());
  std::vector<float> bad{NAN, INFINITY, -INFINITY, 7.5F, 1e30F};
  std::vector<float> good;
  switch (kind) {
    case LabelKind::two_classes:
      good = {-1};
      bad.insert(bad.end(), {0, 0.5F, 2, -2});
      break;
    case LabelKind::amount:
      good = {0, 0.3F, -7.25F, 7.25F};
      bad.insert(bad.end(), {-7.2500005F});
      break;
    case LabelKind::count:
      good = {0, 0.3F, 1e-30F};
      bad.insert(bad.end(), {-1, -1e-30F, 1.0000001F});
      break;
    case LabelKind::classes:
      good = {0, -0.0F, static_cast<float>(outputs() - 1)};
      bad.insert(bad.end(), {-1, 0.5F, -1e-30F, static_cast<float>(outputs())});
  }
  for (const float label : good) EXPECT_FALSE(fault(label).has_value()) << label;
  for (const float label : bad) {
    const auto found = fault(label);
    ASSERT_TRUE(found.has_value()) << label;
    EXPECT_EQ(found->row, 2U);
    EXPECT_EQ(found->what, RowFault::What::label);
  }
}

}  // namespace losses_backend_test
}  // namespace gibbsite
