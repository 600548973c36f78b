// Draws of families against their laws, and how often their intervals hold.
#include <gtest/gtest.h>

#include <array>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

#include "gibbsite/release/query.hpp"
#include "gibbsite/run/fit_family.hpp"
#include "run/family_draws.hpp"
#include "statistical/distance.hpp"

namespace gibbsite {
namespace family_test {

FamilyProblem levels(std::uint64_t K, std::uint64_t rows) {
  FamilyProblem p{.family = K == 2 ? Family::bernoulli : Family::categorical, .rows = rows};
  p.levels = K;
  p.prior = std::vector<double>(K, 1.5);
  return p;
}
FamilyProblem numbers(Family family, std::uint64_t rows, double lo, double hi) {
  FamilyProblem p{.family = family, .rows = rows, .levels = 0, .lo = lo, .hi = hi};
  p.variance = family == Family::mean ? 4 : 0;
  if (p.is_centered()) p.center = lo + (hi - lo) / 4;
  p.prior = p.default_prior();
  return p;
}

// Each draw against the uniform that it inverts: the share of every split, or the number itself.
// `below` is the distribution function of the split (first, middle, last).
template <class Below>
void expect_inverts(const FamilyMechanism& mechanism, const FamilyProblem& p,
                    const FamilyStatistic& statistic, const Below& below, const char* what) {
  const StreamKey key = StreamKey::from_seed(5);
  for (std::uint32_t k = 0; k < 150; ++k) {
    const std::vector<double> draw = family_draw(mechanism, p, statistic, key, k);
    std::uint64_t step = 0;
    const auto expect = [&](double got, bool lowest = false, bool highest = false) {
      std::array<std::uint64_t, 2> words{};
      fill_words(key, k, step++, words);
      const double u = std::ldexp(static_cast<double>(words[0]), -64);
      if (!lowest) {
        EXPECT_GT(u, got - 1e-6) << what << " " << k;
      }
      if (!highest) {
        EXPECT_LT(u, got + 1e-6) << what << " " << k;
      }
    };
    if (!p.has_levels()) {  // beyond its reach lies the outermost cell
      const auto [low, high] = p.reach();
      const double step_size = family_grid(p);
      expect(below(0, 0, 0, draw[0]), draw[0] <= low + step_size, draw[0] >= high - step_size);
      continue;
    }
    for_each_split(0, p.levels, [&](std::uint64_t first, std::uint64_t middle, std::uint64_t last) {
      const auto total = [&](std::uint64_t from, std::uint64_t to) {
        return std::accumulate(draw.begin() + static_cast<std::ptrdiff_t>(from),
                               draw.begin() + static_cast<std::ptrdiff_t>(to), 0.0);
      };
      expect(below(first, middle, last, total(first, middle) / total(first, last)));
    });
    EXPECT_NEAR(std::accumulate(draw.begin(), draw.end(), 0.0), 1, 1e-14) << what;
  }
}

// The distribution function of a law that is restricted to [low, high].
template <class Below>
auto between(Below below, double low, double high) {
  return [=](double x) { return (below(x) - below(low)) / (below(high) - below(low)); };
}

TEST(FamilyDraws, InvertTheirLaws) {
  using boost::math::gamma_p, boost::math::ibeta;
  const ConjugateDraw whole{.weight = 0.5, .prior_scale = 2, .epsilon = 1};
  const TrimmedDraw cut{0.5};
  const auto beta = [](std::vector<double> counts) {
    return [=](std::uint64_t first, std::uint64_t middle, std::uint64_t last, double x) {
      const auto total = [&](std::uint64_t from, std::uint64_t to) {
        return std::accumulate(counts.begin() + static_cast<std::ptrdiff_t>(from),
                               counts.begin() + static_cast<std::ptrdiff_t>(to), 0.0);
      };
      return ibeta(total(first, middle), total(middle, last), x);
    };
  };
  const auto gamma = [](double a, double b) {
    return [=](std::uint64_t, std::uint64_t, std::uint64_t, double x) { return gamma_p(a, b * x); };
  };
  const FamilyProblem two = levels(2, 20);
  expect_inverts(whole, two, {{8, 12}}, beta({3 + 4, 3 + 6}), "bernoulli");
  expect_inverts(whole, two, {{0, 20}}, beta({3, 3 + 10}), "bernoulli, all alike");
  const FamilyProblem five = levels(5, 20);
  expect_inverts(whole, five, {{8, 5, 0, 6, 1}}, beta({7, 5.5, 3, 6, 3.5}), "categorical");
  const FamilyProblem rate = numbers(Family::rate, 10, 0, 6);
  expect_inverts(whole, rate, {{21}, 6}, gamma(2 * 1 + 0.5 * 21, 2.0 / 3 + 0.5 * 10), "rate");
  const FamilyProblem waiting = numbers(Family::waiting, 10, 1, 9);
  // Sum of times: 10 * 1 + 8 * 0.25 * 10.
  expect_inverts(whole, waiting, {{10 << 22}, 0x1p24}, gamma(2 * 1 + 0.5 * 10, 2 * 5 + 0.5 * 30),
                 "waiting");
  const FamilyProblem mean = numbers(Family::mean, 10, -3, 5);
  const double precision = 2 * mean.prior[0] + 10 * 0.5 / 4;
  const double center = (2 * mean.prior[0] * 1 + 0.5 / 4 * (-30 + 8 * 2.5)) / precision;
  const auto normal = [&](std::uint64_t, std::uint64_t, std::uint64_t, double x) {
    return normal_below((x - center) * std::sqrt(precision));
  };
  expect_inverts(whole, mean, {{10 << 22}, 0x1p24}, normal, "mean");

  // About -1: distances from 0.06 to 6; sums 10 * least + 0.25 * 10 * (most - least).
  const FamilyProblem laplace = numbers(Family::laplace, 10, -3, 5);
  expect_inverts(whole, laplace, {{10 << 22}, 0x1p24},
                 gamma(2 + 0.5 * 10, 2 * 3.03 + 0.5 * (0.6 + 2.5 * 5.94)), "laplace");
  const FamilyProblem variance = numbers(Family::variance, 10, -3, 5);
  expect_inverts(whole, variance, {{10 << 22}, 0x1p24},
                 gamma(2 + 0.25 * 10, 2 * 18.0018 + 0.25 * (0.036 + 2.5 * (36 - 0.0036))),
                 "variance");
  const FamilyProblem part = numbers(Family::bounded_mean, 10, -3, 5);
  const auto share = [](double x) { return std::clamp((x + 3) / 8, 0.0, 1.0); };
  const auto parts = [&](std::uint64_t, std::uint64_t, std::uint64_t, double x) {
    return ibeta(2 + 0.5 * 2.5, 2 + 0.5 * 7.5, share(x));
  };
  expect_inverts(whole, part, {{10 << 22}, 0x1p24}, parts, "bounded-mean");

  FamilyProblem inside = levels(2, 20);
  inside.trim = {0.2, 0.0};
  const auto between = [](auto below, double low, double high) {
    return [=](std::uint64_t first, std::uint64_t middle, std::uint64_t last, double x) {
      const auto at = [&](double y) { return below(first, middle, last, y); };
      return (at(x) - at(low)) / (at(high) - at(low));
    };
  };
  expect_inverts(cut, inside, {{8, 12}}, between(beta({5.5, 7.5}), 0.2, 0.8), "trimmed");
  FamilyProblem cut_rate = rate;
  cut_rate.trim = {1.0, 2.5};
  expect_inverts(cut, cut_rate, {{21}, 6}, between(gamma(11.5, 1.0 / 3 + 5), 1.0, 2.5),
                 "trimmed rate");
  FamilyProblem tree = levels(5, 20);
  tree.trim = {0.1, 0.0};
  expect_inverts(
      cut, tree, {{8, 5, 0, 6, 1}},
      [&](std::uint64_t first, std::uint64_t middle, std::uint64_t last, double x) {
        const auto [low, high] = split_trim(tree, first, middle, last);
        return between(beta({5.5, 4, 1.5, 4.5, 2}), low, high)(first, middle, last, x);
      },
      "trimmed tree");

  // Nearly all of the posterior lies beyond the trim, on either side: next to the bound the law
  // falls like x^(a-1) (1-x)^(b-1), integrated here.
  FamilyProblem beyond = levels(2, 2000);
  beyond.trim = {0.2, 0.0};
  const double a = 1.5, b = 1001.5;
  constexpr int cells = 200'000;
  constexpr double width = 0.04;
  std::vector<double> up_to(cells + 1, 0.0);
  for (std::size_t i = 0; i < cells; ++i) {
    const double t = 0.2 + width * (static_cast<double>(i) + 0.5) / cells;
    up_to[i + 1] =
        up_to[i] + std::exp((a - 1) * std::log(t / 0.2) + (b - 1) * std::log((1 - t) / 0.8));
  }
  const auto edge = [&](double x) {
    const double at = std::clamp((x - 0.2) / width * cells, 0.0, cells - 1.0);
    const auto i = static_cast<std::size_t>(at);
    return (up_to[i] + (at - static_cast<double>(i)) * (up_to[i + 1] - up_to[i])) / up_to.back();
  };
  expect_inverts(
      cut, beyond, {{0, 2000}},
      [&](std::uint64_t, std::uint64_t, std::uint64_t, double x) { return edge(x); },
      "far below the trim");
  expect_inverts(
      cut, beyond, {{2000, 0}},
      [&](std::uint64_t, std::uint64_t, std::uint64_t, double x) { return 1 - edge(1 - x); },
      "far above the trim");
}

// As deep outside of its bounds as plans allow: still inside them, next to the nearer one, and not
// all at one point.
TEST(FamilyDraws, KeepTheirLawFarOutside) {
  struct Case {
    FamilyProblem p;
    double weight;
    std::vector<std::uint64_t> sums;
    double scale;
    bool at_low;
  };
  FamilyProblem mean = numbers(Family::mean, 1'000'000, 0, 1);
  mean.variance = 1e-3;
  mean.trim = {0.5, 0.6};
  FamilyProblem rate = numbers(Family::rate, 1'000'000, 0, 50);
  rate.trim = {10.0, 20.0};
  FamilyProblem shares = levels(2, 40'000'000);
  shares.trim = {0.2, 0.0};
  for (const Case& c : {Case{mean, 1, {0}, 0x1p24, true},
                        {mean, 1, {1'000'000ULL << 24}, 0x1p24, false},
                        {rate, 1, {0}, 50, true},
                        {rate, 1, {50'000'000}, 50, false},
                        {shares, 1, {0, 40'000'000}, 1, true},
                        {shares, 1, {40'000'000, 0}, 1, false}}) {
    const auto [low, high] = c.p.has_levels() ? split_trim(c.p, 0, 1, 2) : *c.p.trim;
    std::set<double> seen;
    for (std::uint32_t k = 0; k < 6; ++k) {
      const double x =
          family_draw(TrimmedDraw{c.weight}, c.p, {c.sums, c.scale}, StreamKey::from_seed(9), k)[0];
      EXPECT_LT(std::abs(x - (c.at_low ? low : high)), 1e-3 * (high - low)) << c.sums[0];
      seen.insert(x);
    }
    EXPECT_GT(seen.size(), 3U) << c.sums[0];
  }
}

// 95 % intervals of what the people's parameter is, over tables and draws: by chance they miss by
// 0.125 in 150 tables with probability 8e-9, by 0.075 in 300 with 2e-7.
TEST(FamilyEstimates, CoverTheTruth) {
  int tables = 150;
  std::mt19937_64 random(11);
  const auto covered = [&](Family family, double truth, const auto& value, std::size_t at,
                           double prior = 0, double epsilon = 1,
                           std::optional<std::pair<double, double>> trim = {},
                           std::uint64_t draws = 1) {
    Schema schema;
    schema.label_name = std::string("(none)");
    schema.label = TwoClasses{.positive = std::string("(none)")};
    const bool category = family == Family::bernoulli || family == Family::categorical;
    schema.columns = {{.name = std::string("x"),
                       .type = category ? ColumnType::category : ColumnType::number,
                       .lo = 0,
                       .hi = 20,
                       .levels = {}}};
    if (category) schema.columns[0].levels = {"a", "b", "c"};
    if (family == Family::bernoulli) schema.columns[0].levels = {"a", "b"};
    const std::size_t d = schema.features();
    const std::size_t n = prior > 0 ? 20'000 : 300;
    FamilyProblem p = family_problem(schema, family, n);
    p.prior = p.default_prior();
    if (prior > 0) p.prior.assign(p.prior.size(), prior);
    if (family == Family::mean) p.variance = 4;
    if (p.is_centered()) p.center = 8;
    if (p.is_centered()) p.prior = p.default_prior();
    p.trim = trim;
    const auto plan = plan_family(p, {.epsilon = epsilon, .delta = 1e-5, .draws = draws},
                                  {.concentrated = prior == 0});
    int hits = 0;
    for (int t = 0; t < tables; ++t) {
      Dataset data;
      data.schema = schema;
      data.dense().assign(n * d, 0.0F);
      for (std::size_t i = 0; i < n; ++i) value(random, &data.dense()[i * d]);
      const auto release = fit_family(data, plan, Key::from_seed(static_cast<std::uint64_t>(t)));
      const auto found = estimates(release)[at];
      hits += found.low <= truth && truth <= found.high;
    }
    return hits / static_cast<double>(tables);
  };
  const auto bernoulli = [](auto& r, float* x) {
    x[std::bernoulli_distribution(0.15)(r) ? 0 : 1] = 1;
  };
  const auto categorical = [](auto& r, float* x) {
    x[std::discrete_distribution<std::size_t>({0.5, 0.45, 0.05})(r)] = 1;
  };
  const auto rate = [](auto& r, float* x) {
    x[0] = static_cast<float>(std::min(std::poisson_distribution<int>(2.5)(r), 20)) / 20;
  };
  const auto mean = [](auto& r, float* x) {
    x[0] = std::clamp(static_cast<float>(std::normal_distribution<>(8, 2)(r)) / 20, 0.0F, 1.0F);
  };
  const double slack = 0.125;
  EXPECT_NEAR(covered(Family::bernoulli, 0.15, bernoulli, 0), 0.95, slack);
  // A share near 0 under a prior of next to nothing: draws of 1e-10, whose likelihood falls by the
  // logarithm alone. An interval of a flat prior alone held in 83 % of tables.
  const auto rare = [](auto& r, float* x) { x[std::bernoulli_distribution(5e-4)(r) ? 0 : 1] = 1; };
  tables = 300;
  EXPECT_GT(covered(Family::bernoulli, 5e-4, rare, 0, 0.05), 0.95 - 0.075);
  tables = 150;
  // Parameters that are nearer to the end of their range than noise tells: a flat prior alone held
  // 15 to 30 % of them.
  const auto rarer = [](auto& r, float* x) {
    x[std::bernoulli_distribution(0.002)(r) ? 0 : 1] = 1;
  };
  EXPECT_GT(covered(Family::bernoulli, 0.002, rarer, 0, 0, 0.25), 0.95 - slack);
  const auto few = [](auto& r, float* x) {
    x[0] = static_cast<float>(std::min(std::poisson_distribution<int>(0.02)(r), 20)) / 20;
  };
  EXPECT_GT(covered(Family::rate, 0.02, few, 0, 0, 0.25), 0.95 - slack);
  EXPECT_NEAR(covered(Family::categorical, 0.05, categorical, 2), 0.95, slack);
  EXPECT_NEAR(covered(Family::rate, 2.5, rate, 0), 0.95, slack);
  EXPECT_NEAR(covered(Family::mean, 8, mean, 0), 0.95, slack);
  EXPECT_NEAR(covered(Family::variance, 4, mean, 0), 0.95, slack);
  const auto laplace = [](auto& r, float* x) {
    const double off = std::exponential_distribution<>(0.8)(r);
    const bool left = std::bernoulli_distribution(0.5)(r);
    x[0] = std::clamp(static_cast<float>(8 + (left ? -off : off)) / 20, 0.0F, 1.0F);
  };
  EXPECT_NEAR(covered(Family::laplace, 1.25, laplace, 0), 0.95, slack);
  // As wide as two values at the ends need: at least 95 % for others, of a mean near an end too.
  const auto ends = [](auto& r, float* x) { x[0] = std::bernoulli_distribution(0.3)(r) ? 1 : 0; };
  EXPECT_NEAR(covered(Family::bounded_mean, 6, ends, 0), 0.95, slack);
  const auto even = [](auto& r, float* x) {
    x[0] = std::uniform_real_distribution<float>(0, 1)(r);
  };
  EXPECT_GT(covered(Family::bounded_mean, 10, even, 0), 0.95 - slack);
  const auto low = [](auto& r, float* x) {
    x[0] = std::uniform_real_distribution<float>(0, 0.04F)(r);
  };
  EXPECT_GT(covered(Family::bounded_mean, 0.4, low, 0), 0.95 - slack);
  tables = 60;
  // Trimmed draws, of which quantiles alone held none (one draw) and 60 % (five): of 60 tables
  // 45 or fewer are held by chance with probability below 1e-6.
  for (const std::uint64_t draws : {1U, 5U}) {
    const std::pair<double, double> shares{0.02, 0}, rates{0.5, 6};
    EXPECT_GT(covered(Family::bernoulli, 0.15, bernoulli, 0, 0, 4, shares, draws), 0.755);
    EXPECT_GT(covered(Family::bernoulli, 0.002, rarer, 0, 0, 4, shares, draws), 0.755);
    EXPECT_GT(covered(Family::categorical, 0.05, categorical, 2, 0, 4, shares, draws), 0.755);
    EXPECT_GT(covered(Family::rate, 2.5, rate, 0, 0, 4, rates, draws), 0.755);
    // Cuts that matter: of three levels the draw's law is not known, so the interval is the range.
    const std::pair<double, double> near{0.2, 0};
    EXPECT_GT(covered(Family::categorical, 0.05, categorical, 2, 0, 4, near, draws), 0.755);
    EXPECT_GT(covered(Family::bernoulli, 0.15, bernoulli, 0, 0, 4, near, draws), 0.755);
  }
}

// Tables of 50 people with 20 rows each that are all alike, 60 tables for each family: 45 or fewer
// are held by chance with probability below 1e-6. Taken for rows of 1,000 people 25 to 43 were.
TEST(FamilyEstimates, CoverTheTruthThoughAPersonsRowsAreAlike) {
  constexpr std::uint64_t k = 20;
  constexpr std::size_t people = 50;
  constexpr int tables = 60;
  std::mt19937_64 random(3);
  const auto held = [&](Family family, double truth, const auto& value) {
    FamilyProblem p =
        family == Family::bernoulli ? levels(2, k * people) : numbers(family, k * people, 0.5, 20);
    if (family == Family::rate || family == Family::bounded_mean) p.lo = 0;
    p.prior = p.default_prior();
    Dataset data;
    data.schema.columns = {{.name = std::string("x"),
                            .type = p.has_levels() ? ColumnType::category : ColumnType::number,
                            .lo = p.lo,
                            .hi = p.hi,
                            .levels = {}}};
    if (p.has_levels()) data.schema.columns[0].levels = {"a", "b"};
    const auto plan =
        plan_family(p, {.epsilon = 20, .delta = 1e-5, .rows_per_person = k, .draws = 1},
                    {.concentrated = true});
    int hits = 0;
    for (int t = 0; t < tables; ++t) {
      data.dense().clear();
      for (std::size_t i = 0; i < people; ++i) {
        const double x = value(random);
        for (std::uint64_t row = 0; row < k; ++row) {
          if (p.has_levels()) data.dense().push_back(static_cast<float>(1 - x));
          data.dense().push_back(
              static_cast<float>(p.has_levels() ? x : (x - p.lo) / (p.hi - p.lo)));
        }
      }
      const auto release = fit_family(data, plan, Key::from_seed(static_cast<std::uint64_t>(t)));
      const ParameterEstimate found = estimates(release).back();
      hits += found.low <= truth && truth <= found.high ? 1 : 0;
    }
    return hits;
  };
  const auto two = [](auto& r) { return std::bernoulli_distribution(0.3)(r) ? 1.0 : 0.0; };
  const auto count = [](auto& r) { return std::min(std::poisson_distribution<int>(4)(r), 20); };
  const auto normal = [](auto& r) {
    return std::clamp(std::normal_distribution<>(8, 2)(r), 0.5, 20.0);
  };
  const auto ends = [](auto& r) { return std::bernoulli_distribution(0.3)(r) ? 20.0 : 0.0; };
  const auto wait = [](auto& r) {
    return std::clamp(0.5 + std::exponential_distribution<>(0.4)(r), 0.5, 20.0);
  };
  EXPECT_GT(held(Family::bernoulli, 0.3, two), 45);
  EXPECT_GT(held(Family::rate, 4, count), 45);
  EXPECT_GT(held(Family::mean, 8, normal), 45);
  EXPECT_GT(held(Family::bounded_mean, 6, ends), 45);
  EXPECT_GT(held(Family::waiting, 3, wait), 45);
}

}  // namespace family_test
}  // namespace gibbsite
