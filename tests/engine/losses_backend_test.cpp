// Every loss on every backend: gradients, values, Hessians and the exact difference against 64 bits
// and 50 digits, for dense and sparse rows, few chains and panels; the card has kernels of the
// logistic losses alone and says so.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/summation.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/engine/engine.hpp"
#include "support/backend.hpp"
#include "support/loss_oracle.hpp"
#include "support/odd_rows.hpp"
#include "support/roundings.hpp"

namespace gibbsite {
namespace {

using support::gamma_of;
using support::OddRows;

bool on_a_card() {
  const std::string_view backend = GIBBSITE_TEST_BACKEND;
  return backend == "emulated" || backend == "cuda";
}

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
  [[nodiscard]] bool has_no_kernels() const {
    return on_a_card() && !loss_.name().starts_with("logistic");
  }
  [[nodiscard]] OddRows rows(const TableShape& s, unsigned seed) const {
    OddRows p = s.per_row > 0 ? support::make_sparse_rows(s.n, s.d, s.per_row, seed)
                              : support::make_odd_rows(s.n, s.d, seed);
    p.y = support::random_labels(loss_, s.n, 200, seed);
    return p;
  }
  // A logit, and what rounding moves it by, over gamma_d.
  static std::pair<long double, double> logit(const OddRows& p, std::size_t i,
                                              std::span<const double> theta) {
    long double z = 0;
    double size = 0;
    for (std::size_t j = 0; j < p.d; ++j) {
      const long double term = static_cast<long double>(p.x[i * p.d + j]) * theta[j];
      z += term;
      size += static_cast<double>(std::fabs(term));
    }
    return {z, size};
  }
  const Loss& loss_;
};
INSTANTIATE_TEST_SUITE_P(Losses, EachLoss, testing::ValuesIn(loss_names()), [](const auto& p) {
  std::string name(p.param);
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST_P(EachLoss, TheCardHasKernelsOrSaysThatItHasNone) {
  const OddRows p = rows({5, 3, 1}, 1);
  if (!has_no_kernels()) {
    EXPECT_NO_THROW(load(p));
    return;
  }
  try {
    load(p);
    FAIL() << "runs " << GetParam();
  } catch (const BadInput& error) {
    const std::string what = error.what();
    EXPECT_THAT(what, testing::StartsWith("`backend` cuda: "));
    EXPECT_THAT(what, testing::HasSubstr(std::string(GetParam()).append("; use `backend` cpu")));
    EXPECT_EQ(what.find('\n'), std::string::npos);
  }
}

//   |g_j - exact| <= sum_i |x_ij| (gamma_{D+1} |r_i| + gamma_16 sup|f'| + phi gamma_d |x| |theta|)
// (docs/map-error.md, steps 1-3), with the magnitudes of this very problem.
TEST_P(EachLoss, GradientsAndValuesAreWithinTheirBounds) {
  if (has_no_kernels()) return;
  for (const TableShape& s : table_shapes) {
    SCOPED_TRACE(fmt::format("{} x {}, {} chains", s.n, s.d, s.chains));
    const OddRows p = rows(s, 1);
    const Ensemble e = support::make_odd_chains(s.chains, s.d);
    const auto engine = load(p);
    std::vector<double> out(e.theta.size(), NAN), values(s.chains, NAN);
    engine->loss_gradients({e.theta.data(), s.chains, s.d}, {out.data(), s.chains, s.d});
    engine->loss_values({e.theta.data(), s.chains, s.d}, values);
    const double depth = static_cast<double>(accumulation_depth(s.n)) + 1;
    for (std::size_t c = 0; c < s.chains; ++c) {
      std::vector<long double> exact(s.d, 0);
      std::vector<double> bound(s.d, 0);
      long double value = 0;
      double value_bound = 0;
      for (std::size_t i = 0; i < s.n; ++i) {
        const auto [z, size] = logit(p, i, e.chain(c));
        const auto f = support::exact_loss(GetParam(), z, p.y[i]);
        const double moved = gamma_of(static_cast<double>(s.d) + 1) * size;
        const double error = gamma_of(depth) * static_cast<double>(std::fabs(f.slope)) +
                             gamma_of(16) * loss_.max_abs_residual() + loss_.curvature() * moved +
                             std::numeric_limits<double>::min();
        for (std::size_t j = 0; j < s.d; ++j) {
          exact[j] += f.slope * p.x[i * s.d + j];
          bound[j] += std::fabs(static_cast<double>(p.x[i * s.d + j])) * error;
        }
        value += f.value;
        value_bound += gamma_of(static_cast<double>(s.n) + 12) * static_cast<double>(f.value) +
                       loss_.max_abs_residual() * moved + std::numeric_limits<double>::min();
      }
      for (std::size_t j = 0; j < s.d; ++j) {
        ASSERT_TRUE(std::fabs(out[c * s.d + j] - exact[j]) <=
                    bound[j] + support::unit_roundoff * static_cast<double>(std::fabs(exact[j])))
            << c << ' ' << j << ": " << out[c * s.d + j] << " for " << static_cast<double>(exact[j])
            << ", bound " << bound[j];
      }
      ASSERT_TRUE(std::fabs(values[c] - value) <= value_bound) << c;
    }
  }
}

// One step from the same state: two gradients within their bounds and 8 roundings of an update's
// parts; and no bit depends on cuts, threads or the order of chains.
TEST_P(EachLoss, StepsAreTheReferencesAndTheirBitsAreTheirOwn) {
  if (has_no_kernels()) return;
  for (const TableShape& s : table_shapes) {
    SCOPED_TRACE(fmt::format("{} x {}, {} chains", s.n, s.d, s.chains));
    const OddRows p = rows(s, 2);
    const auto engine = load(p);
    const Ensemble begin = support::make_odd_chains(s.chains, s.d);
    Ensemble here = begin, there = begin;
    engine->advance(here, 1);
    load(p, "reference")->advance(there, 1);
    const double depth = static_cast<double>(accumulation_depth(s.n)) + 17;
    for (std::size_t c = 0; c < s.chains; ++c) {
      const ChainSpec& spec = begin.specs[c];
      const double far = std::fabs(
          *std::ranges::max_element(begin.chain(c), {}, [](double v) { return std::fabs(v); }));
      for (std::size_t j = 0; j < s.d; ++j) {
        double g = 0;
        for (std::size_t i = 0; i < s.n; ++i) {
          const double x = std::fabs(static_cast<double>(p.x[i * s.d + j]));
          g += x * (gamma_of(depth) * loss_.max_abs_residual() +
                    gamma_of(static_cast<double>(s.d)) * logit(p, i, begin.chain(c)).second);
        }
        const double size = g / gamma_of(depth);
        const double h = spec.step_size, beta = spec.inverse_temperature;
        const double bound =
            2 * (h * beta * g + gamma_of(8) * (2 * far + 1 + h * beta * size +
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
  if (has_no_kernels()) return;
  for (const TableShape& s :
       {TableShape{33, 9, 1}, TableShape{300, 4, 1}, TableShape{33, 40, 1, 5}}) {
    const OddRows p = rows(s, 3);
    Ensemble e = support::make_odd_chains(1, s.d);
    for (double& v : e.theta) v /= 100;  // one column is of thousands
    const auto engine = load(p);
    std::vector<double> dense(s.d * s.d, NAN), gradient(s.d, NAN);
    engine->hessian(e.theta, 0.3)->dense({dense.data(), s.d, s.d});
    engine->plain_gradient(e.theta, gradient);
    std::vector<long double> exact(s.d * s.d, 0), slope(s.d, 0);
    std::vector<double> size(s.d * s.d, 0), slope_size(s.d, 0);
    long double value = 0;
    for (std::size_t i = 0; i < s.n; ++i) {
      const auto f = support::exact_loss(GetParam(), logit(p, i, e.theta).first, p.y[i]);
      value += f.value;
      for (std::size_t j = 0; j < s.d; ++j) {
        slope[j] += f.slope * p.x[i * s.d + j];
        slope_size[j] += std::fabs(static_cast<double>(p.x[i * s.d + j]));
        for (std::size_t k = 0; k < s.d; ++k) {
          const long double xx = static_cast<long double>(p.x[i * s.d + j]) * p.x[i * s.d + k];
          exact[j * s.d + k] += 0.3 * f.curvature * xx;
          size[j * s.d + k] += static_cast<double>(std::fabs(xx));
        }
      }
    }
    EXPECT_NEAR(engine->plain_value(e.theta), static_cast<double>(value),
                1e-11 * static_cast<double>(value) + 1e-9);
    for (std::size_t j = 0; j < s.d; ++j) {
      EXPECT_NEAR(gradient[j], static_cast<double>(slope[j]), 1e-11 * slope_size[j]) << j;
      for (std::size_t k = 0; k < s.d; ++k) {
        EXPECT_NEAR(dense[j * s.d + k], static_cast<double>(exact[j * s.d + k]),
                    1e-11 * size[j * s.d + k])
            << j << ' ' << k;
      }
    }
  }
}

// f in 50 digits, in another form than the program's.
Wide wide_value(std::string_view name, const Wide& z, const Wide& y) {
  const auto held = [](const Wide& v, const Wide& lo, const Wide& hi) {
    return v < lo ? lo : v > hi ? hi : v;
  };
  if (name == "huber") {
    const Wide r = z - y, h = held(r, -1, 1);
    return h * r - h * h / 2;
  }
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
  if (has_no_kernels()) return;
  const std::size_t n = 60, d = 5;
  const OddRows p = rows({n, d, 1}, 4);
  const Ensemble e = support::make_odd_chains(1, d);
  const auto engine = load(p);
  for (const double far : {1.0, 1e-17, 1e-30}) {
    std::vector<double> terms(e.theta);
    for (std::size_t j = 0; j < d; ++j) terms.push_back(far * (0.3 + static_cast<double>(j)));
    Wide exact = 0, size = 0;
    for (std::size_t i = 0; i < n; ++i) {
      Wide z = 0, z0 = 0;
      for (std::size_t j = 0; j < d; ++j) {
        const Wide x(p.x[i * d + j]);
        z += x * (Wide(terms[j]) + Wide(terms[d + j]));
        z0 += x * Wide(e.theta[j]);
      }
      const Wide y(p.y[i]);
      exact += wide_value(GetParam(), z, y) - wide_value(GetParam(), z0, y);
      size += abs(z) + abs(z0) + abs(y) + 1;
    }
    Wide got = 0;
    for (const double part : engine->exact_difference({terms.data(), 2, d}, e.theta))
      got += Wide(part);
    EXPECT_TRUE(abs(got - exact) <= Wide("1e-46") * size) << far;
    if (far == 1e-30) {
      EXPECT_TRUE(got != 0) << "no power";
    }
  }
}

// Labels of its kind, and none else.
TEST_P(EachLoss, FirstFaultKnowsTheKindOfLabel) {
  if (has_no_kernels()) return;
  const LabelKind kind = loss_.label();
  OddRows p{4, 1, {0.5F, 0.5F, 0.5F, 0.5F}, {1, 1, 1, 1}};
  const RowLimits limits{1, false, kind, kind == LabelKind::amount ? 7.25 : 1};
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
  }
  for (const float label : good) EXPECT_FALSE(fault(label).has_value()) << label;
  for (const float label : bad) {
    const auto found = fault(label);
    ASSERT_TRUE(found.has_value()) << label;
    EXPECT_EQ(found->row, 2U);
    EXPECT_EQ(found->what, RowFault::What::label);
  }
}

}  // namespace
}  // namespace gibbsite
