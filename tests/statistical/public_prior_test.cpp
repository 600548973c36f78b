// Families whose prior counts rows of a public table: laws, prices, intervals
// (docs/theory/public-prior.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/mechanism/family.hpp"
#include "gibbsite/release/query.hpp"
#include "gibbsite/run/fit_family.hpp"
#include "run/family_draws.hpp"
#include "statistical/distance.hpp"

namespace gibbsite {
namespace public_prior_test {

using boost::math::gamma_p, boost::math::ibeta;

PublicCounts of_rows(std::vector<double> counts, std::uint64_t rows, double weight) {
  return {.counts = std::move(counts),
          .weight = weight,
          .file = std::string("lastyear.csv"),
          .sha256 = std::string(64, 'a'),
          .rows = rows};
}

FamilyProblem two_levels(std::uint64_t rows) {
  return {.family = Family::bernoulli, .rows = rows, .levels = 2, .prior = {1, 1}};
}
FamilyProblem numbers(Family family, std::uint64_t rows, double lo, double hi) {
  FamilyProblem p{.family = family, .rows = rows, .levels = 0, .lo = lo, .hi = hi};
  p.variance = family == Family::mean ? 4 : 0;
  p.prior = p.default_prior();
  return p;
}

// Whether 150 draws are where the law's own distribution function has their uniforms.
template <class Below>
void expect_law(const FamilyProblem& p, const FamilyStatistic& statistic, const Below& below,
                const char* what) {
  const ConjugateDraw mechanism{.weight = 0.5, .prior_scale = 2, .epsilon = 1};
  const StreamKey key = StreamKey::from_seed(5);
  for (std::uint32_t k = 0; k < 150; ++k) {
    std::array<std::uint64_t, 2> words{};
    fill_words(key, k, 0, words);
    const double u = std::ldexp(static_cast<double>(words[0]), -64);
    EXPECT_NEAR(below(family_draw(mechanism, p, statistic, key, k)[0]), u, 1e-6) << what << k;
  }
}

// The scale of the prior is not the public rows': they count what their weight says.
TEST(PublicPrior, DrawsHaveThePosteriorOfBothTables) {
  FamilyProblem two = two_levels(20);
  two.public_counts = of_rows({3, 12}, 30, 0.5);
  expect_law(
      two, {{8, 12}}, [](double x) { return ibeta(2 + 3 + 4.0, 2 + 12 + 6.0, x); }, "levels");
  FamilyProblem rate = numbers(Family::rate, 10, 0, 6);
  rate.public_counts = of_rows({25, 10}, 20, 0.5);
  expect_law(
      rate, {{21}, 6}, [](double x) { return gamma_p(2 + 25 + 10.5, (2.0 / 3 + 10 + 5) * x); },
      "rate");
  FamilyProblem mean = numbers(Family::mean, 10, -3, 5);
  mean.public_counts = of_rows({2.5, 3}, 20, 0.5);  // 20 rows at a half, of variance 4
  const double own = 2 * mean.prior[0], g = 0.5 / 4, precision = own + 2.5 + 10 * g;
  const double center = (own * 1 + 2.5 * 3 + g * (-30 + 8 * 2.5)) / precision;
  expect_law(
      mean, {{10 << 22}, 0x1p24},
      [&](double x) { return normal_below((x - center) * std::sqrt(precision)); }, "mean");
  FamilyProblem waiting = numbers(Family::waiting, 10, 1, 9);
  waiting.public_counts = of_rows({10, 40}, 20, 0.5);
  expect_law(
      waiting, {{10 << 22}, 0x1p24},
      [](double x) { return gamma_p(2 + 10 + 5.0, (2 * 5 + 40 + 0.5 * 30) * x); }, "waiting");
}

// sup_A P(A) - e^epsilon Q(A), by the law itself on a grid: of Beta(a, b) laws.
double beta_stick(double a, double b, double a2, double b2, double epsilon) {
  constexpr int cells = 2'000;
  double sum = 0;
  for (int i = 0; i < cells; ++i) {
    const double lo = i / double(cells), hi = (i + 1) / double(cells);
    sum += std::max(0.0, ibeta(a, b, hi) - ibeta(a, b, lo) -
                             std::exp(epsilon) * (ibeta(a2, b2, hi) - ibeta(a2, b2, lo)));
  }
  return sum;
}

// Every pair of neighbors of small tables, one of one row and one without private rows in a level
// among them: the law of what is drawn against the certified (epsilon, delta).
TEST(PublicPrior, TheExactProfileIsBelowTheClaim) {
  for (const std::vector<double>& counts :
       {std::vector<double>{0, 40}, {2, 38}, {15, 25}, {400, 600}}) {
    for (const std::uint64_t rows : {1U, 2U, 12U}) {
      FamilyProblem p = two_levels(rows);
      const double all = counts[0] + counts[1];
      p.public_counts = of_rows(counts, static_cast<std::uint64_t>(all), 1);
      const FamilyPlan plan = plan_family(p, {.epsilon = 0.3, .delta = 1e-3});
      const double s = prior_scale_of(plan.mechanism), r = weight_of(plan.mechanism);
      EXPECT_EQ(r, 1);
      double worst = 0;
      for (std::uint64_t j = 0; j < rows; ++j) {
        const double a = s + counts[0] + r * static_cast<double>(j);
        const double b = s + counts[1] + r * static_cast<double>(rows - 1 - j);
        worst = std::max(
            {worst, beta_stick(a + r, b, a, b + r, 0.3), beta_stick(a, b + r, a + r, b, 0.3)});
      }
      EXPECT_LE(worst, 1e-3 * (1 + 1e-6)) << counts[0] << " " << rows;
      // Tight, but where the weak prior is enough: what is claimed is that of the worst j.
      if (s > 1) {
        EXPECT_GT(worst, 0.9e-3) << counts[0] << " " << rows;
      }
      // What was certified is recomputed from the counts; others have another price.
      FamilyProblem less = p;
      less.public_counts->counts = {0, 1};
      less.public_counts->rows = 1;
      if (counts[0] > 0) {
        EXPECT_GT(delta_up(analyze(plan.mechanism, less, {}, 1).guarantee, 0.3), 1e-3);
      }
    }
  }
}

TEST(PublicPrior, PublicRowsTakeTheScaleOfThePriorsPlace) {
  const Budget budget{.epsilon = 0.3, .delta = 1e-6};
  FamilyProblem p = two_levels(1000);
  const double alone = prior_scale_of(plan_family(p, budget).mechanism);
  p.public_counts = of_rows({100, 100}, 200, 1);
  EXPECT_NEAR(prior_scale_of(plan_family(p, budget).mechanism), alone - 100, 1);
  p.public_counts = of_rows({2000, 3000}, 5000, 1);
  EXPECT_EQ(prior_scale_of(plan_family(p, budget).mechanism), 1);
  // The mean's price falls with the precision alone, wherever the public rows have their mean.
  FamilyProblem mean = numbers(Family::mean, 1000, -3, 5);
  std::optional<double> price;
  for (const double center : {-3.0, 0.0, 5.0}) {
    mean.public_counts = of_rows({250, center}, 1000, 1);
    const double mu = analyze(ConjugateDraw{}, mean, {}, 1).guarantee.mu;
    EXPECT_NEAR(mu, 8 / 4.0 / std::sqrt(mean.prior[0] + 250 + 250), 1e-9);
    EXPECT_EQ(price.value_or(mu), mu);
    price = mu;
  }
}

TEST(PublicPrior, CountsThatNoRowsHaveAreRefused) {
  const auto refused = [](FamilyProblem p, PublicCounts counts) {
    p.public_counts = std::move(counts);
    EXPECT_THROW(p.validate(), BadInput);
  };
  const FamilyProblem two = two_levels(10), rate = numbers(Family::rate, 10, 0, 6);
  const FamilyProblem mean = numbers(Family::mean, 10, -3, 5);
  const FamilyProblem waiting = numbers(Family::waiting, 10, 1, 9);
  refused(two, of_rows({3, 8}, 10, 1));    // eleven rows
  refused(two, of_rows({3, 7}, 10, 0.5));  // of ten at a half
  refused(two, of_rows({-1, 11}, 10, 1));
  refused(two, of_rows({3, 3, 4}, 10, 1));
  refused(two, of_rows({3, 7}, 10, 0));
  refused(two, of_rows({6, 14}, 10, 2));  // a row is no two
  refused(two, of_rows({NAN, 10}, 10, 1));
  refused(rate, of_rows({61, 10}, 10, 1));  // more than six each
  refused(rate, of_rows({30, 9}, 10, 1));
  refused(mean, of_rows({2.5, 6}, 10, 1));  // outside of the range
  refused(mean, of_rows({3, 1}, 10, 1));
  refused(waiting, of_rows({10, 9}, 10, 1));
  FamilyProblem legal = two;
  legal.public_counts = of_rows({3, 7}, 10, 1);
  EXPECT_NO_THROW(legal.validate());
  legal.public_counts->sha256 = std::string("none");
  EXPECT_THROW(legal.validate(), BadInput);
}

struct Figures {
  double coverage = 0, error = 0, draw_error = 0, width = 0, scale = 0, weight = 0;
};

struct Setting {
  Family family = Family::bernoulli;
  double truth = 0.15, elsewhere = 0.15;  // of the private table's people, of the public ones
  std::size_t rows = 500, public_rows = 2000;
  double epsilon = 0.3;
  bool diffused = false;
};

// A value as it is stored: a level's mark, or a share of the range [0, 20].
void put_value(Family family, double parameter, std::mt19937_64& random, float* x) {
  if (family == Family::bernoulli) {
    x[std::bernoulli_distribution(parameter)(random) ? 0 : 1] = 1;
  } else if (family == Family::rate) {
    x[0] = static_cast<float>(std::min(std::poisson_distribution<int>(parameter)(random), 20)) / 20;
  } else {
    x[0] = static_cast<float>(
        std::clamp(std::normal_distribution<>(parameter, 2)(random) / 20, 0.0, 1.0));
  }
}

Dataset table_of(Family family, double parameter, std::size_t rows, std::mt19937_64& random) {
  Dataset data;
  const bool levels = family == Family::bernoulli;
  data.schema.label_name = std::string("(none)");
  data.schema.label = TwoClasses{.positive = std::string("(none)")};
  data.schema.columns = {{.name = std::string("x"),
                          .type = levels ? ColumnType::category : ColumnType::number,
                          .lo = 0,
                          .hi = 20,
                          .levels = {}}};
  if (levels) data.schema.columns[0].levels = {"a", "b"};
  const std::size_t d = data.schema.features();
  data.dense().assign(rows * d, 0.0F);
  for (std::size_t i = 0; i < rows; ++i) put_value(family, parameter, random, &data.dense()[i * d]);
  return data;
}

// The public rows' counts, each at `weight`, of such a table.
PublicCounts counts_of(const FamilyProblem& p, const Dataset& data, double weight) {
  const auto rows = static_cast<double>(data.rows());
  double sum = 0;
  const std::size_t d = data.schema.features();
  for (std::size_t i = 0; i < data.rows(); ++i)
    sum += static_cast<double>(data.dense()[i * d]) * (p.has_levels() ? 1 : p.hi);
  const double w = weight;
  std::vector<double> counts{w * sum, w * (rows - sum)};
  if (p.family == Family::rate) counts = {w * std::round(sum), w * rows};
  if (p.family == Family::mean) counts = {w * rows / p.variance, sum / rows};
  return of_rows(std::move(counts), data.rows(), w);
}

Figures figures_of(const Setting& at, int tables, bool is_public = true) {
  std::mt19937_64 random(17);
  Dataset first = table_of(at.family, at.elsewhere, at.public_rows, random);
  FamilyProblem p = family_problem(first.schema, at.family, at.rows);
  if (at.family == Family::mean) p.variance = 4;
  p.prior = p.default_prior();
  const double weight =
      std::min(1.0, static_cast<double>(at.rows) / static_cast<double>(at.public_rows));
  if (is_public) p.public_counts = counts_of(p, first, weight);
  const FamilyPlan plan =
      plan_family(p, {.epsilon = at.epsilon, .delta = 1e-6}, {.concentrated = !at.diffused});
  Figures out{.scale = prior_scale_of(plan.mechanism), .weight = weight_of(plan.mechanism)};
  for (int t = 0; t < tables; ++t) {
    const Dataset data = table_of(at.family, at.truth, at.rows, random);
    const auto release = fit_family(data, plan, Key::from_seed(static_cast<std::uint64_t>(t)));
    const ParameterEstimate found = estimates(release)[0];
    const double draw = release.model().draws[0][0];
    out.coverage += (found.low <= at.truth && at.truth <= found.high) / double(tables);
    out.error += std::pow(found.value - at.truth, 2) / tables;
    out.draw_error += std::pow(draw - at.truth, 2) / tables;
    out.width += (found.high - found.low) / tables;
  }
  out.error = std::sqrt(out.error), out.draw_error = std::sqrt(out.draw_error);
  return out;
}

// An interval takes the prior out: it holds the parameter of the private table's people as often
// as it says whatever the public rows are of. With 0.95, 80 or fewer of 100 tables are held by
// chance with probability 1.1e-7.
TEST(PublicPrior, IntervalsHoldWhateverThePublicRowsAreOf) {
  struct Case {
    Family family;
    double truth, elsewhere;
  };
  for (const Case& one :
       {Case{Family::bernoulli, 0.15, 0.4}, {Family::rate, 2.5, 6.0}, {Family::mean, 8, 14}}) {
    const Figures found =
        figures_of({.family = one.family, .truth = one.truth, .elsewhere = one.elsewhere}, 100);
    EXPECT_GT(found.coverage, 0.805) << to_string(one.family) << " " << one.elsewhere;
  }
}

// Rows of one law bring a draw nearer to the parameter; of another they hold it off. The errors are
// biases, a draw's deviation is a tenth of them.
TEST(PublicPrior, ADrawLeansOnThePublicRows) {
  const Setting same{};
  Setting other = same;
  other.elsewhere = 0.4;
  const double alone = figures_of(same, 30, false).draw_error;
  EXPECT_LT(figures_of(same, 30).draw_error, 0.85 * alone);
  EXPECT_GT(figures_of(other, 30).draw_error, 0.05);
}

}  // namespace public_prior_test
}  // namespace gibbsite
