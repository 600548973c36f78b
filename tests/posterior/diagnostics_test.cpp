// The statistics of an ensemble against ArviZ's numbers on the same draws, and what they must do.
#include "gibbsite/posterior/diagnostics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>
#include <thrust/system/omp/execution_policy.h>
#include <thrust/system/omp/vector.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/cuda/cuda.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/random.hpp"
#include "kernels/ensemble_statistics.hpp"
#include "support/known_draws.hpp"

namespace gibbsite {
namespace diagnostics_test {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::size_t kinds = support::draw_kinds.size();

struct OpenMp {
  template <class T>
  using Vector = thrust::omp::vector<T>;
  static auto policy() { return thrust::omp::par; }
};

std::vector<double> numbers(const Summary& s) {
  std::vector<double> v = {s.mean,     s.deviation,          s.r_hat, s.ess_bulk, s.ess_tail,
                           s.ess_mean, s.mean_standard_error};
  for (const Quantile& q : s.quantiles) v.insert(v.end(), {q.value, q.standard_error});
  return v;
}

double number(const nlohmann::json& v) {
  return v.is_string() ? std::stod(v.get<std::string>()) : v.get<double>();
}

// Every statistic of 64 sets of draws within 1e-9 of ArviZ's, the promise being 1e-6: normal
// quantiles are good to 1e-15 on both sides, and sums of 16 000 terms lose a few digits.
void expect_arviz(std::vector<Summary> (*summarize_draws)(const Draws&, std::span<const double>)) {
  std::ifstream file(GIBBSITE_SOURCE_DIR "/tests/posterior/diagnostics.json");
  const auto expected = nlohmann::json::parse(file);
  ASSERT_EQ(expected["kinds"].get<std::vector<std::string>>(),
            std::vector<std::string>(support::draw_kinds.begin(), support::draw_kinds.end()));
  const auto probabilities = expected["probabilities"].get<std::vector<double>>();
  ASSERT_EQ(expected["cases"].size() % kinds, 0u);
  for (std::size_t i = 0; i < expected["cases"].size(); i += kinds) {
    const std::size_t n = expected["cases"][i]["draws"], c = expected["cases"][i]["chains"];
    const std::vector<double> values = support::known_draws(n, c);
    const auto summaries = summarize_draws({values, n, c, kinds}, probabilities);
    ASSERT_EQ(summaries.size(), kinds);
    for (std::size_t j = 0; j < kinds; ++j) {
      const auto& of = expected["cases"][i + j];
      SCOPED_TRACE(of.dump());
      const double size = std::fabs(number(of["quantiles"].back())) + 1e-300;
      const auto near = [&](double ours, const nlohmann::json& arviz, double absolute) {
        const double theirs = number(arviz);
        if (std::isnan(theirs)) return std::isnan(ours);
        return std::fabs(ours - theirs) <= 1e-9 * std::fabs(theirs) + absolute;
      };
      const Summary& s = summaries[j];
      EXPECT_TRUE(near(s.mean, of["mean"], 1e-14 * size)) << s.mean;
      EXPECT_TRUE(near(s.deviation, of["deviation"], 1e-14 * size)) << s.deviation;
      EXPECT_TRUE(near(s.r_hat, of["r_hat"], 0)) << s.r_hat;
      EXPECT_TRUE(near(s.ess_bulk, of["ess_bulk"], 0)) << s.ess_bulk;
      EXPECT_TRUE(near(s.ess_tail, of["ess_tail"], 0)) << s.ess_tail;
      EXPECT_TRUE(near(s.ess_mean, of["ess_mean"], 0)) << s.ess_mean;
      EXPECT_TRUE(near(s.mean_standard_error, of["mean_standard_error"], 1e-14 * size))
          << s.mean_standard_error;
      ASSERT_EQ(s.quantiles.size(), probabilities.size());
      for (std::size_t q = 0; q < probabilities.size(); ++q) {
        EXPECT_EQ(s.quantiles[q].probability, probabilities[q]);
        EXPECT_TRUE(near(s.quantiles[q].value, of["quantiles"][q], 1e-14 * size)) << q;
        EXPECT_TRUE(
            near(s.quantiles[q].standard_error, of["quantile_standard_errors"][q], 1e-14 * size))
            << q << " " << s.quantiles[q].standard_error;
      }
    }
  }
}

TEST(Diagnostics, AreArviZs) {
  expect_arviz([](const Draws& draws, std::span<const double> probabilities) {
    return summarize(draws, probabilities);
  });
}

TEST(Diagnostics, AreArviZsInOpenMp) {
  expect_arviz([](const Draws& draws, std::span<const double> probabilities) {
    return kernels::summarize_on<OpenMp>(draws, probabilities);
  });
}

// Bitwise: no sum's order depends on the threads, nor on the Thrust system. More draws than one
// partial sum has.
TEST(Diagnostics, SameBitsForAnyNumberOfThreads) {
  const std::size_t n = 2501, c = 5;
  const std::vector<double> values = support::known_draws(n, c), p = {0.1, 0.5};
  const Draws draws{values, n, c, kinds};
  const auto other = kernels::summarize_on<OpenMp>(draws, p);
  const int before = omp_get_max_threads();
  for (const int threads : {1, 2, 7}) {
    omp_set_num_threads(threads);
    const auto many = summarize(draws, p);
    omp_set_num_threads(before);
    for (std::size_t j = 0; j < kinds; ++j) {
      const auto a = numbers(other[j]), b = numbers(many[j]);
      for (std::size_t k = 0; k < a.size(); ++k) {
        EXPECT_TRUE(a[k] == b[k] || (std::isnan(a[k]) && std::isnan(b[k])))
            << threads << " threads, " << support::draw_kinds[j] << ", number " << k;
      }
    }
  }
}

// Quantiles, R-hat of ranks and tails see no order of chains; sums see it in their rounding.
TEST(Diagnostics, OrderOfChainsDoesNotMatter) {
  const std::size_t n = 101, c = 6;
  const std::vector<double> values = support::known_draws(n, c), p = {0.05, 0.5};
  std::vector<double> turned(values.size());
  for (std::size_t t = 0; t < n; ++t) {
    for (std::size_t k = 0; k < c; ++k) {
      for (std::size_t j = 0; j < kinds; ++j) {
        turned[(t * c + (5 * k + 2) % c) * kinds + j] = values[(t * c + k) * kinds + j];
      }
    }
  }
  const auto a = summarize({values, n, c, kinds}, p), b = summarize({turned, n, c, kinds}, p);
  for (std::size_t j = 0; j < kinds; ++j) {
    const auto x = numbers(a[j]), y = numbers(b[j]);
    for (std::size_t k = 0; k < x.size(); ++k) {
      if (std::isnan(x[k])) {
        EXPECT_TRUE(std::isnan(y[k]));
      } else {
        EXPECT_NEAR(x[k], y[k], 1e-11 * std::fabs(x[k]) + 1e-12) << j << " " << k;
      }
    }
  }
}

TEST(Diagnostics, MomentsAndQuantilesByHand) {
  const std::size_t n = 2048, c = 3;
  const std::vector<double> values = support::known_draws(n, c), p = {0, 0.25, 0.999, 1};
  const auto summaries = summarize({values, n, c, kinds}, p);
  for (std::size_t j = 0; j < kinds; ++j) {
    std::vector<double> x;
    for (std::size_t i = 0; i < n * c; ++i) x.push_back(values[i * kinds + j]);
    long double sum = 0, squares = 0;
    for (const double v : x) sum += v;
    const long double mean = sum / static_cast<long double>(x.size());
    for (const double v : x) squares += (v - mean) * (v - mean);
    const long double deviation = std::sqrt(squares / static_cast<long double>(x.size() - 1));
    EXPECT_NEAR(summaries[j].mean, static_cast<double>(mean),
                1e-14 * static_cast<double>(deviation + std::fabs(mean)));
    EXPECT_NEAR(summaries[j].deviation, static_cast<double>(deviation),
                1e-13 * static_cast<double>(deviation) + 1e-14 * std::fabs(summaries[j].mean));
    std::sort(x.begin(), x.end());
    for (std::size_t q = 0; q < p.size(); ++q) {
      const double at = p[q] * static_cast<double>(x.size() - 1);
      const auto below = static_cast<std::size_t>(at);
      const double above = x[std::min(below + 1, x.size() - 1)];
      EXPECT_NEAR(summaries[j].quantiles[q].value, std::lerp(x[below], above, at - std::floor(at)),
                  1e-12 * std::fabs(above));
    }
  }
}

// Normal draws, C x N of them, by the project's own noise; a chain's mean and scale may differ.
std::vector<double> normal_chains(std::size_t n, std::size_t c, double apart, double wider) {
  const StreamKey key = StreamKey::from_seed(5);
  std::vector<double> values(n * c), xi(n);
  for (std::size_t k = 0; k < c; ++k) {
    fill_normals(key, static_cast<std::uint32_t>(k), 0, xi);
    const auto index = static_cast<double>(k);
    for (std::size_t t = 0; t < n; ++t) {
      values[t * c + k] = apart * index + (1 + wider * index) * xi[t];
    }
  }
  return values;
}

// 64 chains of 1000 independent draws. The relative error of the effective size is about
// sqrt(2 / (C N)) times a small factor, 1%; it is off by 10% with probability below 1e-6 (fixed
// seed).
TEST(Diagnostics, IndependentDrawsAreEffectiveDraws) {
  const std::size_t n = 1000, c = 64;
  const std::vector<double> values = normal_chains(n, c, 0, 0);
  const Summary s = summarize({values, n, c, 1}, {}).front();
  for (const double ess : {s.ess_bulk, s.ess_tail, s.ess_mean}) {
    EXPECT_NEAR(ess / static_cast<double>(n * c), 1, 0.1);
  }
  EXPECT_NEAR(s.r_hat, 1, 0.002);
  EXPECT_NEAR(s.mean, 0, 5 / std::sqrt(static_cast<double>(n * c)));
}

// Chains that differ in place are seen by the bulk (normal scores of four separated chains bound
// R-hat by about 2.84), chains that differ in scale by the folded draws alone. Chains of one value
// each: R-hat has no bound.
TEST(Diagnostics, RHatSeesChainsThatDiffer) {
  const std::size_t n = 500, c = 4;
  const std::vector<double> apart = normal_chains(n, c, 10, 0), wider = normal_chains(n, c, 0, 1);
  EXPECT_GT(summarize({apart, n, c, 1}, {}).front().r_hat, 2.5);
  EXPECT_LT(summarize({apart, n, c, 1}, {}).front().ess_bulk, 10);
  EXPECT_GT(summarize({wider, n, c, 1}, {}).front().r_hat, 1.1);
  std::vector<double> stuck(n * c);
  for (std::size_t i = 0; i < stuck.size(); ++i) stuck[i] = static_cast<double>(i % c);
  EXPECT_GT(summarize({stuck, n, c, 1}, {}).front().r_hat, 1e6);
}

// A chain that drifts: only the split shows it.
TEST(Diagnostics, RHatSeesADrift) {
  const std::size_t n = 500, c = 4;
  std::vector<double> values = normal_chains(n, c, 0, 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] += 6 * static_cast<double>(i / c) / static_cast<double>(n);
  }
  EXPECT_GT(summarize({values, n, c, 1}, {}).front().r_hat, 1.5);
}

TEST(Diagnostics, ADrawThatIsNotFiniteMakesItsParameterNaN) {
  const std::size_t n = 8, c = 2;
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    std::vector<double> values = support::known_draws(n, c);
    values[5 * kinds + 1] = bad;
    const std::vector<double> p = {0.5};
    const auto summaries = summarize({values, n, c, kinds}, p);
    for (const double v : numbers(summaries[1])) EXPECT_TRUE(std::isnan(v));
    EXPECT_EQ(summaries[1].quantiles.size(), 1u);
    for (const double v : numbers(summaries[0])) EXPECT_TRUE(std::isfinite(v));
  }
}

// Draws whose squares overflow have no effective size.
TEST(Diagnostics, DrawsTooLargeToSquare) {
  const std::vector<double> values = {1e300, -1e300, 1e299, -1e300, 1e300, 5e299, 0, 1e300};
  const Summary s = summarize({values, 8, 1, 1}, {}).front();
  EXPECT_TRUE(std::isnan(s.ess_mean));
  EXPECT_TRUE(std::isfinite(s.ess_bulk));
}

TEST(Diagnostics, Rejections) {
  const std::vector<double> values(24);
  const auto summarizing = [&](std::size_t n, std::size_t c, std::size_t d, double p) {
    return [&values, n, c, d, p] {
      const std::vector<double> probabilities = {p};
      static_cast<void>(summarize({values, n, c, d}, probabilities));
    };
  };
  EXPECT_NO_THROW(summarizing(4, 3, 2, 0.5)());
  EXPECT_THAT(summarizing(3, 4, 2, 0.5), ThrowsMessage<BadInput>(HasSubstr("draws: must be at")));
  EXPECT_THAT(summarizing(24, 0, 1, 0.5), ThrowsMessage<BadInput>(HasSubstr("chains: ")));
  EXPECT_THAT(summarizing(24, 1, 0, 0.5), ThrowsMessage<BadInput>(HasSubstr("parameters: ")));
  EXPECT_THAT(summarizing(4, 3, 3, 0.5), ThrowsMessage<BadInput>(HasSubstr("values: has 24")));
  EXPECT_THAT(summarizing(4, 3, 2, -0.1), ThrowsMessage<BadInput>(HasSubstr("probabilities: ")));
  EXPECT_THAT(summarizing(4, 3, 2, 1.1), ThrowsMessage<BadInput>(HasSubstr("probabilities: ")));
  EXPECT_THAT(summarizing(4, 3, 2, std::nan("")),
              ThrowsMessage<BadInput>(HasSubstr("probabilities: ")));
}

TEST(Diagnostics, WithoutCudaTheDeviceIsNotCompiled) {
  if (cuda::compiled()) GTEST_SKIP() << "this build has the kernels";
  const std::vector<double> values(8);
  EXPECT_THROW(static_cast<void>(summarize({values, 8, 1, 1}, {}, Processor::device)), NotCompiled);
}

}  // namespace diagnostics_test
}  // namespace gibbsite
