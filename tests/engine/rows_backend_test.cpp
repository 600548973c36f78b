// What is asked of an engine besides steps: each question against an oracle in wider arithmetic, on
// every backend, for dense and sparse rows; and the same bits whichever backend answers.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/summation.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/engine/engine.hpp"
#include "support/backend.hpp"
#include "support/odd_rows.hpp"
#include "support/repeats.hpp"
#include "support/roundings.hpp"

namespace gibbsite {
namespace rows_backend_test {

using support::gamma_k;
using support::OddRows;

constexpr double tiny = std::numeric_limits<double>::min();  // what underflows costs less

struct Shape {
  std::size_t n, d;
  double per_row = 0;  // above 0: so many entries, handed on as entries
};
constexpr Shape shapes[] = {{1, 1},        {1, 7},
                            {2, 3},        {33, 9},
                            {7, 31},       {1000, 4},
                            {1024, 3},     {1025, 8},
                            {3100, 4},     {1, 1, 1},
                            {33, 40, 5},   {7, 9, 8},
                            {2050, 40, 4}, {support::repeats(1500UL, 200UL), 2000, 1}};

void PrintTo(const Shape& s, std::ostream* out) {
  *out << fmt::format("{} x {}, {} entries a row", s.n, s.d, s.per_row);
}

// Rows, a theta and the terms of its logits.
struct Case {
  OddRows rows;
  std::vector<double> theta, other, weights;
  explicit Case(const Shape& s, double scale = 1, unsigned seed = 1)
      : rows(s.per_row > 0 ? support::make_sparse_rows(s.n, s.d, s.per_row, seed)
                           : support::make_odd_rows(s.n, s.d, seed)) {
    std::mt19937 bits(seed + 7);
    std::normal_distribution<double> normal;
    for (std::size_t j = 0; j < s.d; ++j) theta.push_back(scale * normal(bits));
    for (std::size_t j = 0; j < s.d; ++j) other.push_back(normal(bits));
    for (std::size_t i = 0; i < s.n; ++i) weights.push_back(i % 5 == 1 ? 0.0 : 2 * normal(bits));
  }
  [[nodiscard]] long double x(std::size_t i, std::size_t j) const {
    return static_cast<long double>(rows.x[i * rows.d + j]);
  }
  [[nodiscard]] long double y(std::size_t i) const { return rows.y[i]; }
  [[nodiscard]] long double logit(std::size_t i, std::span<const double> at) const {
    long double z = 0;
    for (std::size_t j = 0; j < rows.d; ++j) z += x(i, j) * at[j];
    return z;
  }
  // Error of a logit in double.
  [[nodiscard]] double logit_error(std::size_t i, std::span<const double> at) const {
    long double sizes = 0;
    for (std::size_t j = 0; j < rows.d; ++j) sizes += std::fabs(x(i, j) * at[j]);
    return gamma_k(static_cast<double>(rows.d)) * static_cast<double>(sizes);
  }
};

class Rare : public support::TestOn, public testing::WithParamInterface<Shape> {
 protected:
  Rare() : TestOn(GIBBSITE_TEST_BACKEND) {}
  static std::unique_ptr<Engine> load(const Case& c, const char* backend = GIBBSITE_TEST_BACKEND,
                                      BackendOptions options = {}) {
    return support::make_test_backend(backend, options)
        ->load(c.rows.view(), c.rows.y, loss_named("logistic"));
  }
};
INSTANTIATE_TEST_SUITE_P(Shapes, Rare, testing::ValuesIn(shapes), [](const auto& p) {
  return fmt::format("n{}_d{}{}", p.param.n, p.param.d, p.param.per_row > 0 ? "_sparse" : "");
});

TEST_P(Rare, WeightedGradientIsWithinItsBound) {
  for (const double scale : {1.0, 300.0}) {
    const Case c(GetParam(), scale);
    const std::size_t n = c.rows.n, d = c.rows.d;
    std::vector<double> thetas = c.theta, out(2 * d, NAN);
    thetas.insert(thetas.end(), c.other.begin(), c.other.end());
    load(c)->weighted_loss_gradients({thetas.data(), 2, d}, c.weights, {out.data(), 2, d});
    const double depth = static_cast<double>(accumulation_depth(n)) + 18;
    for (const std::size_t k : {0U, 1U}) {
      const std::span<const double> theta(&thetas[k * d], d);
      std::vector<long double> exact(d, 0);
      std::vector<double> bound(d, 0);
      for (std::size_t i = 0; i < n; ++i) {
        const long double r = -c.y(i) / (1 + std::exp(c.logit(i, theta) * c.y(i)));
        const double error = gamma_k(depth) * static_cast<double>(std::fabs(r)) +
                             0.25 * c.logit_error(i, theta) + tiny;
        for (std::size_t j = 0; j < d; ++j) {
          exact[j] += c.weights[i] * r * c.x(i, j);
          bound[j] += static_cast<double>(std::fabs(c.weights[i] * c.x(i, j))) * error;
        }
      }
      for (std::size_t j = 0; j < d; ++j) {
        ASSERT_TRUE(std::fabs(out[k * d + j] - exact[j]) <= bound[j])
            << k << ' ' << j << ": " << out[k * d + j] << " for " << exact[j];
      }
    }
  }
}

// Every backend returns the sum of the rows' log-lengths, each held to half the range on either
// side, for any row.
TEST_P(Rare, LogarithmsOfLengthsAreHeldAndAddedUp) {
  for (const double width : {0.25, 4.0}) {
    const Case c(GetParam());
    const std::size_t n = c.rows.n, d = c.rows.d;
    RowLengths lengths{0.01, {}, {}, -width / 2, width / 2, false};
    for (std::size_t j = 0; j < d; ++j) {
      lengths.weight.push_back(j % 3 == 1 ? 0.0 : 1.0);
      lengths.center.push_back(j % 2 == 0 ? 0.5 : 0.0);
    }
    long double sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      long double squared = lengths.base;
      for (std::size_t j = 0; j < d; ++j) {
        const long double away = c.x(i, j) - static_cast<long double>(lengths.center[j]);
        squared += static_cast<long double>(lengths.weight[j]) * away * away;
      }
      sum += std::clamp(std::log(squared) / 2, -0.5L * width, 0.5L * width);
    }
    const double found = load(c)->log_lengths(lengths);
    EXPECT_NEAR(found, static_cast<double>(sum), 1e-12 * width * static_cast<double>(n + 100));
    EXPECT_LE(std::fabs(found), width / 2 * static_cast<double>(n) * (1 + 1e-12));
  }
}

// Rows of zeros, rows that leave the doubles: at the ends, and no NaN.
TEST(RowLengths, OfRowsThatNobodyHas) {
  const std::vector<float> x{0, 0, 3e38F, 3e38F, 1e-38F, 0}, y{1, -1, 1};
  const auto engine = support::make_test_backend(GIBBSITE_TEST_BACKEND)
                          ->load({x.data(), 3, 2}, y, loss_named("logistic"));
  const RowLengths lengths{0, {1e300, 1e300}, {0, 0}, -1, 2, false};
  EXPECT_EQ(engine->log_lengths(lengths), -1.5 + 1.5 + 1.5) << "at -1, 2 and 2, from the middle";
  const auto refused = [&](RowLengths of) {
    EXPECT_THROW(static_cast<void>(engine->log_lengths(of)), BadInput);
  };
  refused({0, {1}, {0, 0}, -1, 2, false});
  refused({0, {1, 1}, {0}, -1, 2, false});
  refused({0, {1, 1}, {0, 0}, 2, 2, false});
  refused({0, {1, NAN}, {0, 0}, -1, 2, false});
  refused({INFINITY, {1, 1}, {0, 0}, -1, 2, false});
}

TEST_P(Rare, PlainSumsAreWithinTheirBound) {
  for (const double scale : {1.0, 300.0}) {
    const Case c(GetParam(), scale);
    const std::size_t n = c.rows.n, d = c.rows.d;
    const auto engine = load(c);
    std::vector<double> out(d, NAN);
    engine->plain_gradient(c.theta, out);
    const double roundings = static_cast<double>(n) + 18;
    long double value = 0;
    double value_bound = 0;
    std::vector<long double> exact(d, 0);
    std::vector<double> bound(d, 0);
    for (std::size_t i = 0; i < n; ++i) {
      const long double t = -c.logit(i, c.theta) * c.y(i);
      const long double f = (t > 0 ? t : 0) + std::log1p(std::exp(-std::fabs(t)));
      const long double r = -c.y(i) / (1 + std::exp(-t));
      value += f;
      const double logit_error = c.logit_error(i, c.theta);
      value_bound += gamma_k(roundings) * static_cast<double>(f) + logit_error;
      for (std::size_t j = 0; j < d; ++j) {
        exact[j] += r * c.x(i, j);
        bound[j] +=
            static_cast<double>(std::fabs(c.x(i, j))) *
            (gamma_k(roundings) * static_cast<double>(std::fabs(r)) + 0.25 * logit_error + tiny);
      }
    }
    EXPECT_TRUE(std::fabs(engine->plain_value(c.theta) - value) <= value_bound);
    for (std::size_t j = 0; j < d; ++j) {
      ASSERT_TRUE(std::fabs(out[j] - exact[j]) <= bound[j]) << j;
    }
  }
}

// |f'''| < 0.1 passes the error of a logit on; the root of a weight, if it is taken, is within 2
// roundings of its square.
TEST_P(Rare, HessianIsWithinItsBound) {
  for (const double scale : {1.0, 300.0}) {
    const Case c(GetParam(), scale);
    const std::size_t n = c.rows.n, d = c.rows.d;
    const double beta = 0.3;
    const auto h = load(c)->hessian(c.theta, beta);
    std::vector<double> dense(d * d, NAN), diagonal(d, 0.5), product(d, -0.25);
    h->dense({dense.data(), d, d});
    h->add_diagonal(diagonal);
    h->add_product(c.other, product);
    std::vector<long double> exact(d * d, 0), along(d, -0.25L);
    std::vector<double> bound(d * d, 0), along_bound(d, 0.25 * gamma_k(static_cast<double>(n)));
    const double roundings = static_cast<double>(n + d) + 30;
    for (std::size_t i = 0; i < n; ++i) {
      const long double e = std::exp(-std::fabs(c.logit(i, c.theta)));
      const long double w = beta * e / ((1 + e) * (1 + e));
      const double w_error = gamma_k(roundings) * static_cast<double>(w) +
                             0.1 * beta * c.logit_error(i, c.theta) + tiny;
      for (std::size_t j = 0; j < d; ++j) {
        if (c.x(i, j) == 0) continue;
        for (std::size_t k = 0; k < d; ++k) {
          const long double xx = c.x(i, j) * c.x(i, k);
          exact[j * d + k] += w * xx;
          along[j] += w * xx * c.other[k];
          bound[j * d + k] += w_error * static_cast<double>(std::fabs(xx));
          along_bound[j] +=
              2 * w_error * static_cast<double>(std::fabs(xx)) * std::fabs(c.other[k]);
        }
      }
    }
    for (std::size_t j = 0; j < d; ++j) {
      for (std::size_t k = 0; k < d; ++k) {
        ASSERT_TRUE(std::fabs(dense[j * d + k] - exact[j * d + k]) <= bound[j * d + k])
            << j << ' ' << k << ": " << dense[j * d + k] << " for " << exact[j * d + k];
        ASSERT_EQ(dense[j * d + k], dense[k * d + j]);
      }
      ASSERT_TRUE(std::fabs(diagonal[j] - 0.5L - exact[j * d + j]) <=
                  bound[j * d + j] + 0.5 * gamma_k(static_cast<double>(n)))
          << j;
      ASSERT_TRUE(std::fabs(product[j] - along[j]) <= along_bound[j]) << j;
    }
  }
}

TEST_P(Rare, LargestLogitIsTheLargest) {
  const Case c(GetParam(), 3);
  const auto engine = load(c);
  long double largest = 0;
  double error = 0;
  for (std::size_t i = 0; i < c.rows.n; ++i) {
    largest = std::max(largest, std::fabs(c.logit(i, c.theta)));
    error = std::max(error, c.logit_error(i, c.theta));
  }
  EXPECT_TRUE(std::fabs(engine->largest_logit(c.theta) - largest) <= error);
  EXPECT_EQ(engine->largest_logit(std::vector<double>(c.rows.d, 0.0)), 0);
  // A number that is not one is not passed over, whatever follows.
  if (std::ranges::any_of(c.rows.x, [](float v) { return v != 0; })) {
    EXPECT_TRUE(std::isnan(engine->largest_logit(std::vector<double>(c.rows.d, NAN))));
  }
}

// theta = w + terms that double cannot add to it; against the sum in 50 digits, of which each loss
// loses a few.
TEST_P(Rare, ExactDifferenceHasFiftyDigits) {
  const Case c(GetParam());
  const std::size_t n = c.rows.n, d = c.rows.d;
  const auto engine = load(c);
  for (const double far : {1.0, 1e-17, 1e-30}) {
    std::vector<double> terms = c.theta;
    for (std::size_t j = 0; j < d; ++j) terms.push_back(far * c.other[j]);
    for (std::size_t j = 0; j < d; ++j) terms.push_back(1e-18 * far * c.theta[j]);
    Wide exact = 0;
    for (std::size_t i = 0; i < n; ++i) {
      Wide z = 0, z0 = 0;
      for (std::size_t j = 0; j < d; ++j) {
        if (c.x(i, j) == 0) continue;
        const Wide x(c.rows.x[i * d + j]);
        z += x * (Wide(terms[j]) + Wide(terms[d + j]) + Wide(terms[2 * d + j]));
        z0 += x * Wide(c.theta[j]);
      }
      const Wide y(c.rows.y[i]);
      exact += log1p(exp(Wide(-y * z))) - log1p(exp(Wide(-y * z0)));
    }
    Wide got = 0;
    for (const double part : engine->exact_difference({terms.data(), 3, d}, c.theta)) {
      got += Wide(part);
    }
    const Wide bound = Wide("1e-44") * static_cast<double>(n * d);  // logits of up to some 1e4
    EXPECT_TRUE(abs(got - exact) <= bound)
        << far << ": off by " << static_cast<double>(got - exact);
    if (far == 1e-30 && n > 1) {
      EXPECT_TRUE(got != 0) << "no power";
    }
  }
}

TEST_P(Rare, RowNormsAreWithinTheirBound) {
  const Case c(GetParam());
  long double largest = 0, sum = 0;
  for (std::size_t i = 0; i < c.rows.n; ++i) {
    long double squared = 0;
    for (std::size_t j = 0; j < c.rows.d; ++j) squared += c.x(i, j) * c.x(i, j);
    largest = std::max(largest, squared);
    sum += squared;
  }
  const RowNorms norms = load(c)->row_norms();
  const auto d = static_cast<double>(c.rows.d), n = static_cast<double>(c.rows.n);
  EXPECT_TRUE(std::fabs(norms.largest_squared - largest) <= gamma_k(d) * largest + tiny);
  EXPECT_TRUE(std::fabs(norms.sum_squares - sum) <= gamma_k(n + d) * sum + tiny);
}

// Plain sums, Hessians: one definition, whatever the backend and its arithmetic.
TEST_P(Rare, BitsAreTheSameOnEveryEngine) {
  const Case c(GetParam());
  const std::size_t d = c.rows.d;
  const auto answers = [&](Engine& engine) {
    std::vector<double> all{engine.plain_value(c.theta), engine.largest_logit(c.theta),
                            engine.row_norms().largest_squared, engine.row_norms().sum_squares};
    std::vector<double> out(d, 0.0);
    const auto keep = [&](const auto& v) { all.insert(all.end(), v.begin(), v.end()); };
    engine.plain_gradient(c.theta, out);
    keep(out);
    engine.weighted_loss_gradients({c.theta.data(), 1, d}, c.weights, {out.data(), 1, d});
    keep(out);
    const auto h = engine.hessian(c.theta, 2);
    h->add_product(c.other, out);
    h->add_diagonal(out);
    keep(out);
    std::vector<double> dense(d * d);
    h->dense({dense.data(), d, d});
    keep(dense);
    keep(engine.exact_difference({c.other.data(), 1, d}, c.theta));
    return all;
  };
  const auto here = answers(*load(c));
  EXPECT_EQ(here, answers(*load(c, "reference")));
  EXPECT_EQ(here, answers(*load(c, "cpu")));
  if (name_ == "reference") return;
  EXPECT_EQ(here, answers(*load(c, GIBBSITE_TEST_BACKEND, {.arithmetic = Arithmetic::float32})));
}

class RareCases : public Rare {};
INSTANTIATE_TEST_SUITE_P(One, RareCases, testing::Values(Shape{40, 3}),
                         [](const auto&) { return std::string("rows"); });

TEST_P(RareCases, RefuseWhatHasNoMeaning) {
  const Case c(GetParam());
  const auto engine = load(c);
  std::vector<double> out(9);
  EXPECT_THAT(
      [&] {
        engine->weighted_loss_gradients({c.theta.data(), 1, 3}, std::span(c.weights).first(39),
                                        {out.data(), 1, 3});
      },
      testing::ThrowsMessage<BadInput>(testing::HasSubstr("39 for 40 rows")));
}

TEST_P(RareCases, FirstFaultIsTheFirst) {
  using What = RowFault::What;
  Case clean(GetParam());
  for (std::size_t i = 0; i < 40; ++i) {
    const auto angle = static_cast<float>(i);
    const float row[] = {0.6F * std::sin(angle), 0.6F * std::cos(angle), 1.0F};
    std::copy_n(row, 3, &clean.rows.x[3 * i]);
  }
  const RowLimits limits{0.37, true};
  struct Fault {
    std::size_t row, column;  // column 3: the label
    float value;
    What what;
  };
  const Fault faults[] = {{17, 0, 0.7F, What::length_or_intercept},
                          {0, 1, NAN, What::length_or_intercept},
                          {39, 2, 0.999F, What::length_or_intercept},
                          {39, 2, 0.0F, What::length_or_intercept},
                          {5, 3, 0.0F, What::label},
                          {39, 3, -2.0F, What::label},
                          {7, 3, NAN, What::label}};
  for (const bool sparse : {false, true}) {
    const auto fault_of = [&](Case c, const RowLimits& at) {
      if (sparse) support::make_sparse(c.rows);
      return load(c)->first_fault(at);
    };
    EXPECT_FALSE(fault_of(clean, limits).has_value());
    // The intercept counts where it is not said to be one.
    EXPECT_TRUE(fault_of(clean, {0.37, false}).has_value());
    EXPECT_FALSE(fault_of(clean, {1.37, false}).has_value());
    for (const Fault& f : faults) {
      Case c = clean;
      (f.column == 3 ? c.rows.y[f.row] : c.rows.x[3 * f.row + f.column]) = f.value;
      auto found = fault_of(c, limits);
      ASSERT_TRUE(found.has_value()) << f.row << ' ' << f.column;
      EXPECT_EQ(found->row, f.row);
      EXPECT_EQ(found->what, f.what) << f.row << ' ' << f.column;
      // The first row counts, and of a row its length.
      c.rows.x[3 * 39 + 1] = 9;
      found = fault_of(c, limits);
      EXPECT_EQ(found->row, f.row);
      EXPECT_EQ(found->what, f.row == 39 ? What::length_or_intercept : f.what);
    }
  }
}

}  // namespace rows_backend_test
}  // namespace gibbsite
