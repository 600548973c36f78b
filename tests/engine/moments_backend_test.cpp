// Second moments and capped gradients: what privacy rests on is held exactly, against 50 digits, on
// every backend: the norm of a row's part, and that it is a function of the row alone.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Core>
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "engine/class_contrasts.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/summation.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/engine/engine.hpp"
#include "support/backend.hpp"
#include "support/odd_rows.hpp"
#include "support/repeats.hpp"
#include "support/roundings.hpp"

namespace gibbsite {
namespace moments_backend_test {

using support::gamma_k;
using support::OddRows;
constexpr double infinity = std::numeric_limits<double>::infinity();

// f = 2 log cosh(z - y): f' = 2 tanh(z - y), not compiled into any kernel.
struct tanh_loss {
  static constexpr const char* name = "tanh";
  static constexpr double max_abs_derivative = 2, curvature = 2, self_concordance = 2,
                          drop_from_zero = 1;
  static double value(double z, double y) { return 2 * std::log(std::cosh(z - y)); }
  static double derivative(double z, double y) { return 2 * std::tanh(z - y); }
  static double second_derivative(double z, double y) {
    const double t = std::tanh(z - y);
    return 2 * (1 - t * t);
  }
};

struct Metric {
  std::size_t d, k;
  std::vector<double> p;  // [d x k]
  [[nodiscard]] MatrixView<const double> view() const { return {p.data(), d, k}; }
};

enum class Kind { full, spread, shifted, scattered };
constexpr Kind kinds[] = {Kind::full, Kind::spread, Kind::shifted, Kind::scattered};

// Normal numbers; columns from 1e-3 to 1e3; the identity and a full row; a few entries a column.
Metric make_metric(std::size_t d, std::size_t k, Kind kind, double scale = 1) {
  Metric m{d, k, std::vector<double>(d * k)};
  std::mt19937 bits(static_cast<unsigned>(d + 17 * k));
  std::normal_distribution<double> normal;
  for (std::size_t j = 0; j < d; ++j) {
    for (std::size_t a = 0; a < k; ++a) {
      double v = scale * normal(bits);
      if (kind == Kind::spread) {
        v *= std::pow(10, 6 * static_cast<double>(a) / static_cast<double>(k) - 3);
      }
      if (kind == Kind::shifted) {
        v = a == j ? scale : j == d - 1 ? -0.3 * scale * static_cast<double>(a % 3) : 0;
      }
      if (kind == Kind::scattered && (7 * j + 3 * a) % d > 1) v = 0;
      m.p[j * k + a] = v;
    }
  }
  return m;
}

std::vector<Wide> product(const Metric& m, std::span<const float> x) {
  std::vector<Wide> u(m.k);
  for (std::size_t j = 0; j < m.d; ++j) {
    if (x[j] == 0) continue;
    for (std::size_t a = 0; a < m.k; ++a) {
      if (const double p = m.p[j * m.k + a]; p != 0)
        u[a] += Wide(static_cast<double>(x[j])) * Wide(p);
    }
  }
  return u;
}
Wide norm_squared(std::span<const Wide> u) {
  Wide sum = 0;
  for (const Wide& v : u) sum += v * v;
  return sum;
}

long double length(const Metric& m, std::span<const float> x) {
  std::vector<long double> u(m.k);
  for (std::size_t j = 0; j < m.d; ++j) {
    for (std::size_t a = 0; a < m.k && x[j] != 0; ++a)
      u[a] += m.p[j * m.k + a] * static_cast<long double>(x[j]);
  }
  long double squares = 0;
  for (const long double v : u) squares += v * v;
  return std::sqrt(squares);
}

// What a row's part of the norm is in floats: sum_j |x_j| ||P_j||.
double sizes(const Metric& m, std::span<const float> x) {
  long double sum = 0;
  for (std::size_t j = 0; j < m.d; ++j) {
    if (x[j] == 0) continue;
    long double squares = 0;
    for (std::size_t a = 0; a < m.k; ++a) {
      squares += static_cast<long double>(m.p[j * m.k + a]) * m.p[j * m.k + a];
    }
    sum += std::fabs(static_cast<long double>(x[j])) * std::sqrt(squares);
  }
  return static_cast<double>(sum);
}

// Rows of every size: some 1, all of 1e30, the largest float, 1e-30, the least, zeros; one entry.
std::vector<std::vector<float>> odd_rows(std::size_t d) {
  std::vector<std::vector<float>> rows;
  std::mt19937 bits(5);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (const float scale : {1.0F, 0.01F, 1e30F, std::numeric_limits<float>::max(), 1e-30F, 1e-42F,
                            std::numeric_limits<float>::denorm_min(), 0.0F}) {
    std::vector<float>& row = rows.emplace_back(d);
    for (float& v : row) v = scale * uniform(bits);
    row[d / 2] = scale;
  }
  rows.emplace_back(d)[d - 1] = 0.7F;
  std::vector<float>& mixed = rows.emplace_back(d);
  for (std::size_t j = 0; j < d; ++j)
    mixed[j] = std::ldexp(uniform(bits), 9 * static_cast<int>(j % 7) - 30);
  return rows;
}

struct Shape {
  std::size_t d, k;
};
constexpr Shape shapes[] = {{1, 1}, {1, 3}, {3, 2}, {7, 7}, {8, 17}, {33, 33}, {40, 5}, {101, 101}};

const bool emulated = std::string_view(GIBBSITE_TEST_BACKEND) == "emulated";  // takes its time

class Whitened : public support::TestOn {
 protected:
  Whitened() : TestOn(GIBBSITE_TEST_BACKEND) {}
  const bool any_loss_ = name_ == "reference" || name_ == "cpu";  // also one not compiled in

  static std::unique_ptr<Engine> load(const Rows& x, std::span<const float> y,
                                      std::size_t threads = 2,
                                      const Loss& loss = loss_named("logistic")) {
    return support::make_test_backend(GIBBSITE_TEST_BACKEND, {.threads = threads})
        ->load(x, y, loss);
  }
  static std::vector<double> moments(Engine& engine, const Metric& m, double clip) {
    std::vector<double> out(m.k * m.k, NAN);
    engine.second_moments(m.view(), clip, {out.data(), m.k, m.k});
    return out;
  }
  // The gradient, and the curvature behind it.
  static std::vector<double> gradient(Engine& engine, const Metric& m, double clip,
                                      std::span<const double> theta) {
    const std::size_t numbers = engine.features();  // of all outputs
    std::vector<double> out(numbers + 1, NAN);
    const auto capped = engine.capped_loss(m.view(), {.clip = clip});
    out[numbers] = capped->gradient(theta, {out.data(), numbers});
    const std::vector<double> first = out;  // which found the caps: the second has the same bits
    out[numbers] = capped->gradient(theta, {out.data(), numbers});
    EXPECT_EQ(out, first);
    return out;
  }
  // The cap of a row: of a loss whose slope is 1 there it is what is left.
  static double cap_of(std::span<const float> x, const Metric& m, double clip) {
    const auto at = static_cast<std::size_t>(
        std::ranges::max_element(x, {}, [](float v) { return std::fabs(v); }) - x.begin());
    std::vector<double> theta(x.size());
    theta[at] = 800 / static_cast<double>(x[at]);
    const std::vector<float> y{-1.0F};
    const auto engine = load(Rows(x.data(), 1, x.size()), y);
    return gradient(*engine, m, clip, theta)[at] / static_cast<double>(x[at]);
  }
};

TEST_F(Whitened, CapsAreExactlyBelow) {
  std::size_t held = 0;
  support::Thinned sweep(17, emulated ? 7 : 1);
  for (const auto& [d, k] : shapes) {
    for (const Kind kind : kinds) {
      for (const double scale : {1.0, 1e-9, 1e60, 1e-60, 1e300, 1e-300}) {
        const Metric m = make_metric(d, k, kind, scale);
        for (const auto& x : odd_rows(d)) {
          if (std::ranges::all_of(x, [](float v) { return v == 0; }) || sweep.skips()) continue;
          const Wide norm = sqrt(norm_squared(product(m, x)));
          for (const double clip : {0.0, 1e-300, 1e-40, 0.3, 5.0, 1e30, infinity}) {
            const double cap = cap_of(x, m, clip);
            const auto where = [&, d = d, k = k] {
              return fmt::format("{} x {}, kind {}, scale {}, row of {}, clip {}: cap {}", d, k,
                                 static_cast<int>(kind), scale, x[d / 2], clip, cap);
            };
            ASSERT_TRUE(cap >= 0 && cap <= 1) << where();
            ASSERT_EQ(cap, static_cast<double>(static_cast<float>(cap))) << where();
            if (clip == infinity) continue;
            ASSERT_TRUE(Wide(cap) * norm <= Wide(clip)) << where();
            // Not much below where the product is of numbers that floats and doubles hold.
            const double size = sizes(m, x);
            if (!(size < 1e200) || std::fabs(x[d / 2]) < 1e-20F || scale > 1e100 ||
                scale < 1e-100 || kind == Kind::spread) {
              continue;
            }
            const Wide least =
                Wide(clip) / (norm + Wide(size * static_cast<double>(d + 8) * 1.3e-7));
            if (least < Wide(1e-37)) continue;
            ++held;
            ASSERT_TRUE(Wide(cap) >= (least < Wide(1.0) ? least : Wide(1.0)) * Wide(1 - 1e-6))
                << where();
          }
        }
      }
    }
  }
  EXPECT_GT(held, support::repeats(emulated ? 140U : 1000U, 40U));
}

// What is left of a product that cancels is rounding, which the norm has to count.
TEST_F(Whitened, CapsAreExactlyBelowWhereProductsCancel) {
  for (const std::size_t d : {3u, 9u, 40u}) {
    for (const std::size_t k : {1u, 2u, 20u}) {
      for (const bool in_double : {false, true}) {
        Metric m = make_metric(d, k, Kind::full);
        std::vector<float> x = odd_rows(d).front();
        x[d - 1] = 1;
        for (std::size_t a = 0; a < k; ++a) {
          double sum = 0;
          for (std::size_t j = 0; j + 1 < d; ++j) sum += static_cast<double>(x[j]) * m.p[j * k + a];
          m.p[(d - 1) * k + a] = in_double ? -sum : static_cast<double>(static_cast<float>(-sum));
        }
        const Wide norm = sqrt(norm_squared(product(m, x)));
        for (const double clip : {1e-20, 1e-17, 1e-16, 1e-12, 1e-8, 1e-7}) {
          ASSERT_TRUE(Wide(cap_of(x, m, clip)) * norm <= Wide(clip))
              << d << ' ' << k << ' ' << clip;
        }
      }
    }
  }
}

TEST_F(Whitened, MomentsOfARowAreExactlyBelow) {
  std::size_t held = 0;
  support::Thinned sweep(23, emulated ? 7 : 1);
  for (const auto& [d, k] : shapes) {
    for (const Kind kind : kinds) {
      for (const double scale : {1.0, 1e-9, 1e60, 1e-60, 1e300, 1e-300}) {
        if (d > 100 && scale != 1 && scale != 1e60) continue;
        const Metric m = make_metric(d, k, kind, scale);
        for (const auto& x : odd_rows(d)) {
          if (sweep.skips()) continue;
          const std::vector<float> y{1.0F};
          const auto engine = load(Rows(x.data(), 1, d), y);
          const std::vector<Wide> u = product(m, x);
          const Wide norm = sqrt(norm_squared(u));
          for (const double clip : {0.0, 1e-40, 1e-20, 0.3, 5.0, 1e30, infinity}) {
            const std::vector<double> out = moments(*engine, m, clip);
            const auto where = [&, d = d, k = k] {
              return fmt::format("{} x {}, kind {}, scale {}, row of {}, clip {}", d, k,
                                 static_cast<int>(kind), scale, x[d / 2], clip);
            };
            Wide trace = 0;  // squares of floats: exact
            for (std::size_t a = 0; a < k; ++a) {
              trace += Wide(out[a * k + a]);
              for (std::size_t b = 0; b < k; ++b) {
                ASSERT_TRUE(std::isfinite(out[a * k + b])) << where();
                ASSERT_EQ(out[a * k + b], out[b * k + a]) << where();
                // v_a^2 v_b^2 = (v_a v_b)^2: one vector made all of it, a float each.
                const Wide ab(out[a * k + b]), aa(out[a * k + a]), bb(out[b * k + b]);
                ASSERT_TRUE(abs(ab * ab - aa * bb) <=
                            Wide(1e-12) * aa * bb + Wide(1e-322) * (abs(ab) + aa + bb))
                    << where();
              }
            }
            if (clip < infinity) {
              ASSERT_TRUE(trace <= Wide(clip) * Wide(clip)) << where();
            }
            const double size = sizes(m, x);
            if (scale != 1 || clip < 1e-18 || std::fabs(x[d / 2]) < 1e-20F || !(size < 1e29))
              continue;
            ++held;
            const Wide shrink = norm > Wide(clip) ? Wide(clip) / norm : Wide(1.0);
            const Wide off =
                (Wide(size * static_cast<double>(d + 8) * 1.3e-7) + norm * Wide(1e-6)) * shrink;
            const Wide bound = Wide(2.0) * off * norm * shrink + off * off + Wide(1e-70);
            for (std::size_t a = 0; a < k; ++a) {
              for (std::size_t b = 0; b < k; ++b) {
                ASSERT_TRUE(abs(Wide(out[a * k + b]) - u[a] * u[b] * shrink * shrink) <= bound)
                    << where() << ": " << out[a * k + b];
              }
            }
          }
        }
      }
    }
  }
  EXPECT_GT(held, support::repeats(emulated ? 40U : 300U, 8U));
}

// Zero rows have the largest cap, of any loss.
TEST_F(Whitened, ARowOfZerosIsNotHeld) {
  const std::vector<float> x(6), y{1.0F, -1.0F};
  const Metric m = make_metric(3, 3, Kind::full);
  for (const double clip : {0.0, 1e-300, 1.0}) {
    const std::vector<double> theta(3, 1.0);
    EXPECT_EQ(gradient(*load(Rows(x.data(), 2, 3), y), m, clip, theta)[3], 0.5);
    if (!any_loss_) continue;
    const LossOf<tanh_loss> loss;
    const double t = std::tanh(1.0), curvature = 2 * (1 - t * t);
    EXPECT_EQ(gradient(*load(Rows(x.data(), 2, 3), y, 2, loss), m, clip, theta)[3], 2 * curvature);
  }
}

// Rows of every size with labels at and beyond the ends: of amounts and counts a row's slope is
// within its cap exactly, its curvature in [0, phi], and both are those of the loss.
TEST_F(Whitened, RowsOfAmountsAndCountsAreWithinTheirBounds) {
  std::size_t held = 0, free = 0, turn = 0;
  for (const char* name : {"huber", "pseudo-huber", "poisson", "smoothed-hinge"}) {
    const Loss& loss = loss_named(name);
    const std::vector<float> labels =
        loss.label() == LabelKind::amount  ? std::vector<float>{-1e6F, -5, -0.3F, 0, 1, 1e6F}
        : loss.label() == LabelKind::count ? std::vector<float>{0, 0.3F, 1}
                                           : std::vector<float>{-1, 1};
    for (const auto& [d, k] : {Shape{1, 1}, Shape{3, 2}, Shape{8, 17}, Shape{40, 5}}) {
      const Metric m = make_metric(d, k, Kind::full);
      for (const auto& x : odd_rows(d)) {
        if (std::ranges::all_of(x, [](float v) { return v == 0; })) continue;
        const auto at = static_cast<std::size_t>(
            std::ranges::max_element(x, {}, [](float v) { return std::fabs(v); }) - x.begin());
        const auto largest = static_cast<double>(x[at]);
        for (const double clip : {1e-3, 0.3, 1e30}) {
          const double cap = cap_of(x, m, clip);
          for (const float y : labels) {
            const auto engine = load(Rows(x.data(), 1, d), {&y, 1}, 1, loss);
            for (const double logit : {0.0, 0.29, -0.8, 1.0, 2.4, -40.0, 1e4}) {
              if (emulated && turn++ % support::repeats(13UL, 29UL) != 0) continue;
              std::vector<double> theta(d);
              theta[at] = logit / largest;
              const double z = theta[at] * largest;
              const std::vector<double> out = gradient(*engine, m, clip, theta);
              double r = 0, second = 0;
              loss.derivatives({&z, 1}, {&y, 1}, {&r, 1});
              loss.curvatures({&z, 1}, {&y, 1}, {&second, 1});
              const auto where = [&, d = d] {
                return fmt::format("{}, d {}, row of {}, label {}, z {}, clip {}", name, d, largest,
                                   y, z, clip);
              };
              ASSERT_TRUE(out[d] >= 0 && out[d] <= loss.curvature()) << where();
              for (std::size_t j = 0; j < d; ++j) {  // a double of at most the cap, times a float
                ASSERT_LE(std::fabs(out[j]), cap * std::fabs(static_cast<double>(x[j]))) << where();
              }
              const double derivative = out[at] / largest;
              ASSERT_NEAR(derivative, std::clamp(r, -cap, cap), 1e-12) << where();
              if (std::fabs(std::fabs(r) - cap) < 1e-12) continue;  // either side
              const bool is_free = std::fabs(r) < cap;
              ++(is_free ? free : held);
              // Where f'' jumps a rounding decides.
              if (std::fabs(std::fabs(r) - 1) < 1e-12 || r == 0) continue;
              ASSERT_NEAR(out[d], is_free ? second : 0.0, 1e-12) << where();
            }
          }
        }
      }
    }
  }
  EXPECT_GT(held, emulated ? support::repeats(50U, 20U) : 1000U);
  EXPECT_GT(free, emulated ? support::repeats(50U, 20U) : 1000U);
}

// The score of a count and its curvature, in long double, with sup f'' = 1.
struct CountScore {
  long double score, curvature, weight;
};
CountScore count_score_of(long double logit, long double y, long double cap, long double N) {
  const long double mean = std::min(std::exp(logit) / 10, 1.0L);
  const long double spread = std::min((1 + 2 * std::sqrt(N * mean)) / N, 1 - mean);
  const long double w = std::min(1.0L, cap / std::max(mean, spread));
  return {std::clamp(w * (mean - y), -cap, cap), mean < 1 ? w * mean : 0, w};
}

// Counts up to N are weighted by their mean and not by themselves. Scores are within caps exactly,
// curvatures in [0, 1]; the mean of the score is 0 at the truth for N = 1 whatever the cap, and
// beyond that it is a small part of the curvature, and where slopes are held it is not.
TEST_F(Whitened, CountsAreWeightedByTheirMean) {
  const Loss& loss = loss_named("poisson");
  const auto exact_slope = [](double z, float y) {
    return std::min(std::exp(z) / 10, 1.0) - static_cast<double>(y);
  };
  std::size_t held = 0, weighted = 0, biased = 0, turn = 0;
  for (const auto& [d, k] : {Shape{1, 1}, Shape{3, 2}, Shape{40, 5}, Shape{300, 3}}) {
    const Metric m = make_metric(d, k, Kind::full);
    for (const auto& x : odd_rows(d)) {
      if (std::ranges::all_of(x, [](float v) { return v == 0; })) continue;
      const auto at = static_cast<std::size_t>(
          std::ranges::max_element(x, {}, [](float v) { return std::fabs(v); }) - x.begin());
      const auto largest = static_cast<double>(x[at]), norm = static_cast<double>(length(m, x));
      if (!(norm > 1e-15 && norm < 1e15) || std::fabs(largest) < 1e-10) continue;
      for (const double part : {1e-3, 0.05, 0.3, 1e3}) {
        const double clip = part * norm, cap = cap_of(x, m, clip);
        for (const double N : {1.0, 2.0, 10.0, 1000.0}) {
          for (const double logit : {-700.0, -40.0, -3.0, -0.7, 1.0, 2.2, 3.0, 1e4}) {
            if (turn++ % support::repeats(emulated ? 29UL : 3UL, 97UL) != 0) continue;
            std::vector<double> theta(d), sum(d);
            theta[at] = logit / largest;
            const double z = theta[at] * largest;
            long double mean = 0, of_held = 0, free = 0,
                        chance = std::exp(-std::min(std::exp(z) / 10, 1.0) * N);
            const double mean_count = std::min(std::exp(z) / 10, 1.0) * N;
            if (N == 1) chance = 1 - mean_count;
            for (double count = 0; count <= std::min(N, 40.0); ++count) {
              const auto y = static_cast<float>(count / N);
              const auto engine = load(Rows(x.data(), 1, d), {&y, 1}, 1, loss);
              const auto capped = engine->capped_loss(m.view(), {clip, 0.25, N});
              const double curvature = capped->gradient(theta, sum), score = sum[at] / largest;
              const auto bare = engine->capped_loss(
                  m.view(), {.clip = clip, .information = infinity, .largest_count = N});
              const double of_bare = bare->gradient(theta, sum), slope = sum[at] / largest;
              of_held +=
                  chance * static_cast<long double>(std::clamp(exact_slope(z, y), -cap, cap));
              for (std::size_t j = 0; j < d; ++j) {
                ASSERT_LE(std::fabs(sum[j]), cap * std::fabs(static_cast<double>(x[j])));
              }
              const CountScore exact = count_score_of(z, y, cap, N);
              const auto where = [&, d = d] {
                return fmt::format("d {}, row of {}, N {}, count {}, z {}, cap {}", d, largest, N,
                                   count, z, cap);
              };
              // The mean is the slope and the label, so it is off by a rounding of the label.
              ASSERT_NEAR(slope, static_cast<double>(exact.score), 1e-7 * cap) << where();
              ASSERT_NEAR(of_bare, static_cast<double>(exact.curvature),
                          1e-7 * static_cast<double>(exact.curvature) + 1e-15)
                  << where();
              ASSERT_TRUE(of_bare >= 0 && of_bare <= 1) << where();
              const double limited = std::min(1.0, 0.25 * cap * cap);
              ASSERT_NEAR(score, limited * slope, 1e-12 * cap) << where();
              ASSERT_NEAR(curvature, limited * of_bare, 1e-12) << where();
              held += static_cast<double>(std::fabs(exact.score)) >= cap * 0.999 ? 1U : 0U;
              weighted += exact.weight < 0.99L ? 1U : 0U;
              mean += chance * static_cast<long double>(slope);
              free = exact.curvature;
              chance = N == 1 ? static_cast<long double>(mean_count)
                              : chance * static_cast<long double>(mean_count / (count + 1));
            }
            // Counts beyond N, or beyond those tried, are no part of it.
            const double most = mean_count + 5 * std::sqrt(mean_count) + 1;
            if (N == 1 ? mean_count >= 1 : most > std::min(N, 40.0)) continue;
            biased += std::fabs(of_held) > 0.1L * free && free > 0 ? 1U : 0U;
            ASSERT_LE(std::fabs(static_cast<double>(mean)),
                      static_cast<double>(free) * (N == 1 ? 1e-6 : 0.03) + 1e-16 * cap)
                << N << ' ' << z << ' ' << cap;
          }
        }
      }
    }
  }
  EXPECT_GT(held, emulated ? 3U : support::repeats(30U, 1U));
  EXPECT_GT(weighted, emulated ? 20U : support::repeats(300U, 8U));
  EXPECT_GT(biased, emulated ? 2U : support::repeats(30U, 1U));
}

// The weight of a row does not look at its label, so that the mean of its score over labels that
// follow the model is 0, held or not: p score(+1's opposite) balances. Of classes likewise.
TEST_F(Whitened, ScoresHaveMeanZeroAtTheTruth) {
  std::size_t held = 0, turn = 0;
  for (const std::size_t K : {1u, 2u, 3u, 7u}) {
    if (K > 1 && !any_loss_) continue;
    const Loss& loss = K == 1 ? loss_named("logistic") : loss_named(fmt::format("softmax-{}", K));
    for (const auto& [d, k] : {Shape{1, 1}, Shape{3, 2}, Shape{8, 17}, Shape{40, 5}}) {
      const Metric m = make_metric(d, k, Kind::full);
      std::vector<float> x = odd_rows(d).front();
      x[d / 2] = 1;
      const auto norm = static_cast<double>(length(m, x));
      for (const double part : {0.05, 0.4, 0.7, 0.95, 3.0}) {
        for (const double far : {0.0, 0.3, -1.1, 2.5, -6.0, 14.0}) {
          if (emulated && turn++ % 5 != 0) continue;
          std::vector<double> theta(K * d), z(K);
          for (std::size_t c = 0; c < K; ++c) {
            z[c] = theta[c * d + d / 2] = far * (c == 0 ? 1 : 0.2 * static_cast<double>(c));
          }
          std::vector<double> p;  // of labels, in the order of y
          double sum = 0;
          if (K == 1) {
            p = {1 / (1 + std::exp(z[0])), 1 / (1 + std::exp(-z[0]))};
          } else {
            for (const double v : z)
              sum += p.emplace_back(std::exp(v - *std::ranges::max_element(z)));
            for (double& v : p) v /= sum;
          }
          std::vector<double> mean(K), plain(K), curvatures;
          for (std::size_t label = 0; label < p.size(); ++label) {
            const float y = K == 1 ? 2 * static_cast<float>(label) - 1 : static_cast<float>(label);
            const auto out =
                gradient(*load(Rows(x.data(), 1, d), {&y, 1}, 1, loss), m, part * norm, theta);
            std::vector<double> r(K);
            loss.derivatives(z, {&y, 1}, r);
            for (std::size_t c = 0; c < K; ++c) {
              mean[c] += p[label] * out[c * d + d / 2];
              plain[c] = std::max(plain[c], std::fabs(r[c] - out[c * d + d / 2]));
            }
            curvatures.push_back(out.back());
          }
          for (std::size_t c = 0; c < K; ++c) {
            ASSERT_NEAR(mean[c], 0, 1e-15) << K << ' ' << d << ' ' << part << ' ' << far;
            held += plain[c] > 0.01 ? 1U : 0U;
          }
          // Nor does the curvature.
          for (const double v : curvatures) ASSERT_NEAR(v, curvatures[0], 1e-15);
        }
      }
    }
  }
  EXPECT_GT(held, emulated ? 5U : any_loss_ ? 100U : 50U);
}

// v v^T of one row: exactly below the limit whatever the row, the metric and theta, v = P^T x
// sqrt(w p (1 - p)) in floats, and w the weight that the score has.
TEST_F(Whitened, InformationOfARowIsExactlyBelow) {
  std::size_t held = 0, seen = 0;
  support::Thinned sweep(13, emulated ? 7 : 1);
  for (const auto& [d, k] : shapes) {
    for (const Kind kind : kinds) {
      for (const double scale : {1.0, 1e-9, 1e60, 1e300, 1e-300}) {
        if (d > 100 && scale != 1) continue;
        const Metric m = make_metric(d, k, kind, scale);
        for (const auto& x : odd_rows(d)) {
          const auto at = static_cast<std::size_t>(
              std::ranges::max_element(x, {}, [](float v) { return std::fabs(v); }) - x.begin());
          const std::vector<Wide> u = product(m, x);
          const Wide norm = sqrt(norm_squared(u));
          for (const double clip : {0.0, 1e-40, 0.3, 5.0, 1e30}) {
            for (const double limit : {0.25, 0.5, 8.0}) {
              if (sweep.skips()) continue;
              const double logit = seen % 3 == 0 ? 0 : seen % 3 == 1 ? 1.5 : -4;
              std::vector<double> theta(d);
              if (x[at] != 0) theta[at] = logit / static_cast<double>(x[at]);
              const std::vector<float> y{seen % 2 == 0 ? 1.0F : -1.0F};
              const auto engine = load(Rows(x.data(), 1, d), y);
              const auto capped = engine->capped_loss(m.view(), {clip, limit});
              std::vector<double> out(k * k, NAN), sum(d);
              capped->information(theta, {out.data(), k, k});
              const double curvature = capped->gradient(theta, sum);
              const auto where = [&, d = d, k = k] {
                return fmt::format("{} x {}, kind {}, scale {}, row of {}, clip {}, limit {}", d, k,
                                   static_cast<int>(kind), scale, x[at], clip, limit);
              };
              Wide trace = 0;
              for (std::size_t a = 0; a < k; ++a) {
                trace += Wide(out[a * k + a]);
                for (std::size_t b = 0; b < k; ++b) ASSERT_TRUE(std::isfinite(out[a * k + b]));
              }
              ++seen;
              ASSERT_TRUE(trace <= Wide(limit) * Wide(clip) * Wide(clip)) << where();
              const double size = sizes(m, x);
              if (scale != 1 || kind == Kind::spread || std::fabs(x[at]) < 1e-20F ||
                  !(size < 1e15) || clip < 1e-18) {
                continue;
              }
              // The curvature is the gradient's: w p (1 - p) is known to be within the limit.
              const Wide expected = Wide(curvature) * norm * norm;
              const Wide off =
                  expected * Wide(1e-5) + Wide(size * static_cast<double>(d + 8) * 3e-7) * norm;
              ASSERT_TRUE(abs(trace - expected) <= off + Wide(1e-60))
                  << where() << ": " << static_cast<double>(trace) << " for "
                  << static_cast<double>(expected);
              const double p =
                  1 / (1 + std::exp(-std::fabs(theta[at] * static_cast<double>(x[at]))));
              const double free = p * (1 - p);
              held += curvature < 0.99 * free ? 1U : 0U;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(held, support::repeats(emulated ? 10U : 100U, 5U));
}

// Losses of amounts and counts: v v^T of one row is below the limit and s s^T of its score below
// the clip. Both hold exactly, for any row, label and metric. Both use the score of the gradient,
// whose weight does not depend on the label.
TEST_F(Whitened, MatricesOfARowWithAHeldSlopeAreExactlyBelow) {
  std::size_t held = 0, weighted = 0, seen = 0;
  support::Thinned sweep(7, emulated ? 7 : 1);
  for (const auto& [name, N] : {std::pair{"huber", 0.0},
                                {"pseudo-huber", 0.0},
                                {"poisson", 0.0},
                                {"poisson", 1.0},
                                {"poisson", 30.0}}) {
    const Loss& loss = loss_named(name);
    for (const auto& [d, k] : {Shape{1, 1}, Shape{3, 2}, Shape{8, 17}, Shape{40, 5}}) {
      const Metric m = make_metric(d, k, Kind::full);
      for (const auto& x : odd_rows(d)) {
        const auto at = static_cast<std::size_t>(
            std::ranges::max_element(x, {}, [](float v) { return std::fabs(v); }) - x.begin());
        const auto norm = static_cast<double>(length(m, x));
        for (const double clip : {0.0, 1e-40, 0.3, 5.0, 1e30}) {
          for (const double limit : {0.25, 1.0, 8.0}) {
            for (const float label : {-1e6F, 0.2F, 5.0F}) {
              const float y =
                  loss.label() == LabelKind::count ? std::clamp(label, 0.0F, 1.0F) : label;
              if (sweep.skips()) continue;
              const std::vector<double> theta(d);
              const auto engine = load(Rows(x.data(), 1, d), {&y, 1}, 1, loss);
              const auto capped = engine->capped_loss(m.view(), {clip, limit, N});
              std::vector<double> information(k * k, NAN), scores(k * k, NAN), sum(d);
              capped->information(theta, {information.data(), k, k});
              capped->score_moments(theta, {scores.data(), k, k});
              const double curvature = capped->gradient(theta, sum);
              const auto where = [&, d = d, name = name, N = N] {
                return fmt::format("{}, N {}, d {}, row of {}, label {}, clip {}, limit {}", name,
                                   N, d, x[at], y, clip, limit);
              };
              Wide of_information = 0, of_scores = 0;
              for (std::size_t a = 0; a < k; ++a) {
                of_information += Wide(information[a * k + a]);
                of_scores += Wide(scores[a * k + a]);
              }
              ++seen;
              ASSERT_TRUE(of_information <= Wide(limit) * Wide(clip) * Wide(clip)) << where();
              ASSERT_TRUE(of_scores <= Wide(clip) * Wide(clip)) << where();
              if (x[at] == 0 || std::fabs(x[at]) < 1e-20F || norm > 1e15 || clip < 1e-18) continue;
              const double score = sum[at] / static_cast<double>(x[at]);
              const double off = 3e-6 * (1 + sizes(m, x) / norm * static_cast<double>(d + 8));
              ASSERT_NEAR(static_cast<double>(of_scores) / (norm * norm), score * score,
                          off * score * score + 1e-60)
                  << where();
              ASSERT_NEAR(static_cast<double>(of_information) / (norm * norm), curvature,
                          off * curvature + 1e-60)
                  << where();
              const double cap = std::min(1.0, clip / norm), w = std::min(1.0, limit * cap * cap);
              double r = 0, z = 0;
              loss.derivatives({&z, 1}, {&y, 1}, {&r, 1});
              const double rough = 1e-5 + 2 * off;
              const double q = N > 0 ? static_cast<double>(count_score_of(0, y, cap, N).weight) : 1;
              ASSERT_NEAR(score, w * std::clamp(q * r, -cap, cap), rough * w * cap) << where();
              held += std::fabs(r) > cap ? 1U : 0U;
              weighted += w < 0.99 ? 1U : 0U;
            }
          }
        }
      }
    }
  }
  const bool few = support::sanitized || emulated;  // rows are tried there
  EXPECT_GT(held, few ? 5U : 100U);
  EXPECT_GT(weighted, few ? 5U : 100U);
  EXPECT_GT(seen, held);
}

// The limit is one more weight of the score: the information is the derivative of the scores' mean.
TEST_F(Whitened, InformationIsTheDerivativeOfTheScoresMean) {
  const std::size_t n = emulated ? 40 : 500, d = 4;
  const OddRows p = support::make_odd_rows(n, d, 6);
  const Metric m = make_metric(d, d, Kind::full);
  std::vector<double> theta{0.3, -0.5, 0.2, 0.4}, identity(d * d);
  const double clip = 0.8, limit = 0.5;
  // sum_i w_i p_i (1 - p_i) z_i z_i^T with the weights that the gradient has, in long double.
  std::vector<long double> exact(d * d);
  std::size_t limited = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::span<const float> x(&p.x[i * d], d);
    long double z = 0;
    std::vector<long double> u(d);
    for (std::size_t j = 0; j < d; ++j) {
      z += static_cast<long double>(x[j]) * theta[j];
      for (std::size_t a = 0; a < d; ++a) u[a] += static_cast<long double>(x[j]) * m.p[j * d + a];
    }
    const long double up = 1 / (1 + std::exp(-z)), free = up * (1 - up), norm = length(m, x);
    if (norm == 0) continue;
    const long double cap = std::min<long double>(1, clip / norm);
    const long double of_cap = cap / std::max(up, 1 - up), of_limit = limit * cap * cap / free;
    limited += of_limit < std::min<long double>(1, of_cap) ? 1U : 0U;
    const long double w = std::min({1.0L, of_cap, of_limit});
    for (std::size_t a = 0; a < d; ++a) {
      for (std::size_t b = 0; b < d; ++b) exact[a * d + b] += w * free * u[a] * u[b];
    }
  }
  std::vector<double> out(d * d);
  const auto engine = load(p.view(), p.y);
  engine->capped_loss(m.view(), {clip, limit})->information(theta, {out.data(), d, d});
  long double trace = 0;
  for (std::size_t a = 0; a < d; ++a) trace += exact[a * d + a];
  for (std::size_t a = 0; a < d * d; ++a) {
    ASSERT_NEAR(out[a], static_cast<double>(exact[a]), 1e-4 * static_cast<double>(trace)) << a;
  }
  EXPECT_GT(limited, n / 20) << "no row met the limit";
}

// ---- Several outputs: softmax of K classes.

const Loss& softmax_of(std::size_t K) { return loss_named(fmt::format("softmax-{}", K)); }

// The score w (p - e_y) with w = min(1, cap / length), length the largest ||p - e_k|| of any class
// k, and w (1 - ||p||^2), in long double.
struct HeldSlope {
  std::vector<long double> r;
  long double length = 0, trace = 0;
  bool free = true;
};
HeldSlope held_slope(std::span<const long double> z, std::size_t label, long double cap) {
  HeldSlope out;
  const long double most = *std::ranges::max_element(z);
  long double sum = 0, squares = 0, others = 0;
  std::vector<long double> p;
  for (const long double v : z) sum += p.emplace_back(std::exp(v - most));
  for (std::size_t k = 0; k < p.size(); ++k) {
    p[k] /= sum;
    squares += p[k] * p[k];
    others += k == label ? 0 : p[k];
  }
  for (std::size_t k = 0; k < p.size(); ++k) {
    out.r.push_back(k == label ? -others : p[k]);
    long double of_class = 0;
    for (std::size_t j = 0; j < p.size(); ++j) {
      const long double away = p[j] - (j == k ? 1 : 0);
      of_class += away * away;
    }
    out.length = std::max(out.length, std::sqrt(of_class));
  }
  out.free = out.length <= cap;
  const long double w = out.free ? 1 : cap / out.length;
  out.trace = w * (1 - squares);
  for (long double& v : out.r) v *= w;
  return out;
}

// ||r|| <= cap for every row, class, metric and clip, in exact arithmetic; the direction, the
// length and the trace are those of the formulas; the trace is in [0, 1 - 1/K].
TEST_F(Whitened, SlopesOfClassesAreExactlyBelowTheirCaps) {
  if (!any_loss_) GTEST_SKIP() << "the card caps losses of one output";
  std::size_t held = 0, free = 0;
  for (const std::size_t K : {2u, 3u, 5u, 10u}) {
    const Loss& loss = softmax_of(K);
    const Wide most_trace = Wide(loss.curvature()) * Wide(loss.traces().most);
    ASSERT_LE(static_cast<double>(most_trace), 1 - 1 / static_cast<double>(K) + 1e-15);
    for (const auto& [d, k] : {Shape{1, 1}, Shape{3, 2}, Shape{8, 17}, Shape{33, 33}}) {
      for (const double scale : {1.0, 1e-9, 1e60, 1e-60}) {
        const Metric m = make_metric(d, k, Kind::full, scale);
        std::vector<float> x = odd_rows(d).front();
        x[d / 2] = 1;  // so that sums over this one row are r itself
        const Wide norm = sqrt(norm_squared(product(m, x)));
        const auto length_of_row = static_cast<double>(norm);
        for (const double part : {0.0, 1e-300, 1e-3, 0.2, 0.6, 0.9, 1.3, 1e9}) {
          const double clip = part > 1e-200 ? part * length_of_row : part;
          for (const float y : {0.0F, static_cast<float>(K - 1)}) {
            const auto engine = load(Rows(x.data(), 1, d), {&y, 1}, 1, loss);
            for (const double far : {0.0, 0.4, -2.0, 5.0, -30.0, 700.0, -1e5}) {
              std::vector<double> theta(K * d);
              std::vector<long double> z(K);
              for (std::size_t c = 0; c < K; ++c) {
                const double at = far * (c == 0 ? 1 : 0.1 * static_cast<double>(c % 4));
                theta[c * d + d / 2] = at;
                z[c] = at;
              }
              const std::vector<double> out = gradient(*engine, m, clip, theta);
              Wide squares = 0;
              for (std::size_t c = 0; c < K; ++c) {
                squares += Wide(out[c * d + d / 2]) * Wide(out[c * d + d / 2]);
              }
              const auto where = [&, d = d] {
                return fmt::format("K {}, d {}, scale {}, part {}, label {}, z {}", K, d, scale,
                                   part, y, far);
              };
              const Wide most = Wide(clip) / norm;
              ASSERT_TRUE(squares <= most * most) << where();
              ASSERT_TRUE(squares <= Wide(2.0)) << where();
              ASSERT_TRUE(out.back() >= 0 && Wide(out.back()) <= most_trace) << where();
              const double cap = std::min(static_cast<double>(most), std::sqrt(2.0));
              if (cap < 1e-30 || scale == 1e-60) continue;
              const HeldSlope exact = held_slope(z, static_cast<std::size_t>(y), cap);
              ++(exact.free ? free : held);
              // The cap is off by the floats of P, sizes/norm of them.
              const double off = 1e-12 + cap * (1e-6 + sizes(m, x) / length_of_row *
                                                           static_cast<double>(d + 8) * 1.3e-7);
              for (std::size_t c = 0; c < K; ++c) {
                ASSERT_NEAR(out[c * d + d / 2], static_cast<double>(exact.r[c]),
                            exact.length < cap * 0.999 && exact.free ? 1e-14 : off)
                    << where();
              }
              if (std::fabs(static_cast<double>(exact.length) / cap - 1) < off + 1e-5) continue;
              ASSERT_NEAR(out.back(), static_cast<double>(exact.trace),
                          exact.free ? 1e-14 : 2 * off)
                  << where();
            }
          }
        }
      }
    }
  }
  EXPECT_GT(held, 1000U);
  EXPECT_GT(free, 1000U);
}

std::vector<long double> probabilities(std::span<const long double> z) {
  const long double most = *std::ranges::max_element(z);
  std::vector<long double> p;
  long double sum = 0;
  for (const long double v : z) sum += p.emplace_back(std::exp(v - most));
  for (long double& v : p) v /= sum;
  return p;
}
long double norm_of_pairs(std::span<const long double> p) {
  long double sum = 0;
  for (const ClassPair& pair : class_pairs(p.size()))
    sum += p[pair.first] * p[pair.first] * p[pair.second] * p[pair.second];
  return std::sqrt(sum);
}

// The blocks v v^T of one row, of all pairs of classes: sum ||v||^4 is exactly at most the limit's
// square, and ||v||^2 is w p_a p_b ||z||^2 with the weight that the score has.
TEST_F(Whitened, InformationOfClassesIsExactlyBelow) {
  if (!any_loss_) GTEST_SKIP() << "the card caps losses of one output";
  std::size_t held = 0, seen = 0;
  support::Thinned sweep(13, 1);
  for (const std::size_t K : {2u, 3u, 6u}) {
    const Loss& loss = softmax_of(K);
    for (const auto& [d, k] : {Shape{1, 1}, Shape{3, 2}, Shape{8, 17}, Shape{33, 33}}) {
      for (const double scale : {1.0, 1e-9, 1e60, 1e300, 1e-300}) {
        const Metric m = make_metric(d, k, seen % 2 == 0 ? Kind::full : Kind::shifted, scale);
        for (const auto& x : odd_rows(d)) {
          const auto at = static_cast<std::size_t>(
              std::ranges::max_element(x, {}, [](float v) { return std::fabs(v); }) - x.begin());
          const Wide norm = sqrt(norm_squared(product(m, x)));
          for (const double clip : {0.0, 1e-40, 0.3, 5.0, 1e30}) {
            for (const double limit : {0.25, 0.5, 8.0}) {
              if (sweep.skips()) continue;
              std::vector<double> theta(K * d);
              std::vector<long double> z(K);
              for (std::size_t c = 0; c < K; ++c) {
                const double far = seen % 3 == 0 ? 0 : seen % 3 == 1 ? 1.5 : -40;
                if (x[at] == 0) continue;
                theta[c * d + at] =
                    far * (c == 0 ? 1 : 0.1 * static_cast<double>(c)) / static_cast<double>(x[at]);
                z[c] =
                    static_cast<long double>(theta[c * d + at]) * static_cast<long double>(x[at]);
              }
              const float y = static_cast<float>(seen % K);
              const auto engine = load(Rows(x.data(), 1, d), {&y, 1}, 1, loss);
              const auto capped = engine->capped_loss(m.view(), {clip, limit});
              const std::vector<long double> p = probabilities(z);
              Wide squares = 0;
              std::vector<Wide> traces;
              for (const ClassPair& pair : class_pairs(K)) {
                std::vector<double> out(k * k, NAN);
                capped->information_between(theta, pair, {out.data(), k, k});
                Wide& trace = traces.emplace_back(0);
                for (std::size_t a = 0; a < k; ++a) trace += Wide(out[a * k + a]);
                for (const double v : out) ASSERT_TRUE(std::isfinite(v));
                squares += trace * trace;
              }
              const auto where = [&, d = d, k = k] {
                return fmt::format("K {}, {} x {}, scale {}, row of {}, clip {}, limit {}", K, d, k,
                                   scale, x[at], clip, limit);
              };
              const Wide most = Wide(limit) * Wide(clip) * Wide(clip);
              ++seen;
              ASSERT_TRUE(squares <= most * most) << where();
              const double size = sizes(m, x);
              if (scale != 1 || std::fabs(x[at]) < 1e-20F || !(size < 1e15) || clip < 1e-18)
                continue;
              std::vector<double> sum(K * d);
              const double curvature = capped->gradient(theta, sum);
              long double products = 0;
              for (const ClassPair& pair : class_pairs(K))
                products += p[pair.first] * p[pair.second];
              if (products < 1e-12) continue;
              const auto w = static_cast<double>(curvature / (2 * products));
              held += w < 0.99 ? 1U : 0U;
              for (std::size_t i = 0; i < traces.size(); ++i) {
                const ClassPair pair = class_pairs(K)[i];
                const Wide expected =
                    Wide(w * static_cast<double>(p[pair.first] * p[pair.second])) * norm * norm;
                const Wide off =
                    expected * Wide(1e-5) + Wide(size * static_cast<double>(d + 8) * 3e-7) * norm;
                ASSERT_TRUE(abs(traces[i] - expected) <= off + Wide(1e-60))
                    << where() << ": " << static_cast<double>(traces[i]) << " for "
                    << static_cast<double>(expected);
              }
            }
          }
        }
      }
    }
  }
  EXPECT_GT(held, support::sanitized ? 3U : 50U);
}

// [D k x D k] of v v^T, v = (C^T (x) P^T) sum of a score [K d].
std::vector<double> square_in_contrasts(std::span<const double> sum, const Metric& m,
                                        std::size_t K) {
  const Eigen::MatrixXd C = class_contrasts(static_cast<Eigen::Index>(K));
  std::vector<double> v((K - 1) * m.k), out;
  for (std::size_t c = 0; c + 1 < K; ++c)
    for (std::size_t a = 0; a < m.k; ++a)
      for (std::size_t of = 0; of < K; ++of)
        for (std::size_t j = 0; j < m.d; ++j)
          v[c * m.k + a] += C(static_cast<Eigen::Index>(of), static_cast<Eigen::Index>(c)) *
                            m.p[j * m.k + a] * sum[of * m.d + j];
  for (const double one : v)
    for (const double other : v) out.push_back(one * other);
  return out;
}

// Scores' moments of several classes are sums of v v^T of each row's own gradient, times its weight
// as that is; of one row ||v|| is below the clip exactly, whatever the row, its label and its
// weight are. (Planted: a weight left out fails here.)
TEST_F(Whitened, ScoresOfClassesAreSquaresOfTheirGradientsExactlyBelow) {
  if (!any_loss_) GTEST_SKIP() << "the card caps losses of one output";
  std::size_t held = 0, seen = 0;
  for (const std::size_t K : {2U, 3U, 5U}) {
    for (const auto& [d, k] : {Shape{2, 2}, Shape{5, 3}}) {
      const Metric m = make_metric(d, k, Kind::full);
      const std::size_t size = (K - 1) * k;
      for (const auto& x : odd_rows(d)) {
        for (const double clip : {0.0, 0.3, 5.0}) {
          for (const float weight : {0.0F, 0.3F, 1.0F}) {
            std::vector<double> theta(K * d), sum(K * d), out(size * size, NAN);
            for (std::size_t j = 0; j < theta.size(); ++j)
              theta[j] = seen % 4 == 0 ? 0 : std::sin(static_cast<double>(j + seen));
            const float y = static_cast<float>(seen++ % K);
            Rows row(x.data(), 1, d);
            row.weight = &weight;
            const auto engine = load(row, {&y, 1}, 1, softmax_of(K));
            const auto capped = engine->capped_loss(m.view(), {.clip = clip});
            capped->score_moments(theta, {out.data(), size, size});
            Wide trace = 0;
            for (std::size_t a = 0; a < size; ++a) trace += Wide(out[a * size + a]);
            ASSERT_TRUE(trace <= Wide(clip) * Wide(clip)) << K << " " << d << " " << clip;
            const auto norm = static_cast<double>(length(m, x));
            if (!(norm < 1e6)) continue;
            capped->gradient(theta, sum);
            const std::vector<double> expected = square_in_contrasts(sum, m, K);
            for (std::size_t a = 0; a < out.size(); ++a)
              ASSERT_NEAR(out[a], expected[a], 1e-5 * clip * clip + 1e-12) << K << " " << a;
            held += static_cast<double>(trace) > 0.98 * clip * clip && clip > 0 ? 1U : 0U;
          }
        }
      }
    }
  }
  EXPECT_GT(held, 4U) << "no score came near to the clip";
}

// With the limit as one more weight sum_ab (e_a - e_b)(e_a - e_b)^T (x) block_ab is the derivative
// of the scores' mean.
TEST_F(Whitened, InformationOfClassesIsTheDerivativeOfTheScoresMean) {
  if (!any_loss_) GTEST_SKIP() << "the card caps losses of one output";
  const std::size_t n = 500, d = 4, K = 3;
  const OddRows rows = support::make_odd_rows(n, d, 6);
  std::vector<float> y(n);
  for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<float>(i % K);
  const Metric m = make_metric(d, d, Kind::full);
  const std::vector<double> theta{0.3, -0.5, 0.2, 0.4, -0.1, 0.7, -0.3, 0.2, 0, 0.1, 0.1, -0.9};
  const double clip = 0.8, limit = 0.3;
  const auto pairs = class_pairs(K);
  std::vector<std::vector<long double>> exact(pairs.size(), std::vector<long double>(d * d));
  std::size_t limited = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::span<const float> x(&rows.x[i * d], d);
    std::vector<long double> u(d), z(K);
    for (std::size_t j = 0; j < d; ++j) {
      for (std::size_t c = 0; c < K; ++c) z[c] += static_cast<long double>(x[j]) * theta[c * d + j];
      for (std::size_t a = 0; a < d; ++a) u[a] += static_cast<long double>(x[j]) * m.p[j * d + a];
    }
    const std::vector<long double> p = probabilities(z);
    const long double norm = length(m, x), cap = std::min(std::sqrt(2.0L), clip / norm);
    if (norm == 0) continue;
    const long double of_cap = cap / held_slope(z, 0, 0).length,
                      of_limit = limit * cap * cap / norm_of_pairs(p);
    limited += of_limit < std::min(1.0L, of_cap) ? 1U : 0U;
    const long double w = std::min({1.0L, of_cap, of_limit});
    for (std::size_t at = 0; at < pairs.size(); ++at) {
      for (std::size_t a = 0; a < d; ++a)
        for (std::size_t b = 0; b < d; ++b)
          exact[at][a * d + b] += w * p[pairs[at].first] * p[pairs[at].second] * u[a] * u[b];
    }
  }
  const auto engine = load(rows.view(), y, 2, softmax_of(K));
  const auto capped = engine->capped_loss(m.view(), {clip, limit});
  for (std::size_t at = 0; at < pairs.size(); ++at) {
    std::vector<double> out(d * d);
    capped->information_between(theta, pairs[at], {out.data(), d, d});
    long double trace = 0;
    for (std::size_t a = 0; a < d; ++a) trace += exact[at][a * d + a];
    for (std::size_t a = 0; a < d * d; ++a)
      ASSERT_NEAR(out[a], static_cast<double>(exact[at][a]), 1e-4 * static_cast<double>(trace))
          << a;
  }
  EXPECT_GT(limited, n / 20) << "no row met the limit";
  // And of the gradient: its curvature is the blocks' weight, whatever the labels are.
  std::vector<double> sum(K * d);
  const double curvature = capped->gradient(theta, sum);
  std::ranges::fill(y, 2.0F);
  const auto other = load(rows.view(), y, 2, softmax_of(K));
  EXPECT_NEAR(other->capped_loss(m.view(), {clip, limit})->gradient(theta, sum), curvature,
              1e-11 * curvature);
  for (const ClassPair& none : {ClassPair{1, 1}, ClassPair{2, 1}, ClassPair{0, 3}}) {
    std::vector<double> out(d * d);
    EXPECT_THROW(capped->information_between(theta, none, {out.data(), d, d}), BadInput);
  }
  EXPECT_THROW(engine->capped_loss(m.view(), {.clip = clip})
                   ->information_between(theta, {}, {sum.data(), 1, 1}),
               BadInput);
}

// At the largest cap, the float below sqrt(2), which is known: a slope all but sqrt(2) long is held
// to it, however its numbers are rounded.
TEST_F(Whitened, SlopesOfClassesAreBelowTheLargestCap) {
  if (!any_loss_) GTEST_SKIP() << "the card caps losses of one output";
  const float x = 1, root = 0x1.6a09e6p+0F;
  ASSERT_LT(Wide(static_cast<double>(root)) * Wide(static_cast<double>(root)), Wide(2.0));
  const Metric m{1, 1, {1e-30}};
  std::mt19937 bits(6);
  std::uniform_real_distribution<double> uniform(20, 40);
  int held = 0;
  for (const std::size_t K : {2u, 3u, 5u, 10u, 40u}) {
    for (int trial = 0; trial < 300; ++trial) {
      const float y = 0;
      const auto engine = load(Rows(&x, 1, 1), {&y, 1}, 1, softmax_of(K));
      std::vector<double> theta(K);
      for (double& v : theta) v = -uniform(bits);
      theta[1] = 0;
      const std::vector<double> out = gradient(*engine, m, 1, theta);
      Wide squares = 0;
      for (std::size_t k = 0; k < K; ++k) squares += Wide(out[k]) * Wide(out[k]);
      ASSERT_TRUE(squares <= Wide(static_cast<double>(root)) * Wide(static_cast<double>(root)))
          << K << ' ' << trial;
      held += squares >= Wide(1.9999999) ? 1 : 0;
    }
  }
  EXPECT_GT(held, 1000);
}

// A row's part of both answers has the same bits alone and first, last or anywhere in a table, by
// however many threads, kept as numbers or as entries. The other rows have no part: their slope is
// 1e-260, or P takes them to 0.
class Locality : public Whitened, public testing::WithParamInterface<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Features, Locality, testing::Values(1, 2, 5, 8, 9, 31, 64, 101, 2100),
                         testing::PrintToStringParamName());

enum class Storage { dense, file, entries, entries_and_zeros };

void drop_zeros(SparseTable& table) {
  SparseTable kept;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    for (std::uint64_t e = table.begin[i]; e < table.begin[i + 1]; ++e) {
      if (table.value[e] == 0) continue;
      kept.feature.push_back(table.feature[e]);
      kept.value.push_back(table.value[e]);
    }
    kept.begin.push_back(kept.value.size());
  }
  table = std::move(kept);
}

// A table of other rows, of all entries or of one, and the row among them; f(rows, labels, where).
template <class Other, class F>
void for_each_table(std::size_t n, std::span<const float> row, const Other& other, const F& f) {
  const std::size_t d = row.size();
  support::Thinned sweep(emulated ? 11 : 7, emulated ? 7 : 1);  // meet every storage and place
  for (const bool one_entry : {false, true}) {
    OddRows p{n, d, std::vector<float>(n * d), std::vector<float>(n)};
    for (std::size_t i = 0; i < n; ++i) p.y[i] = other(i, one_entry, std::span(&p.x[i * d], d));
    for (const std::size_t place : {std::size_t{0}, std::min<std::size_t>(1023, n - 2), n - 1}) {
      OddRows q = p;
      std::ranges::copy(row, &q.x[place * d]);
      q.y[place] = 1;
      for (const Storage storage :
           {Storage::dense, Storage::file, Storage::entries, Storage::entries_and_zeros}) {
        if (sweep.skips()) continue;
        q.entries = {};
        if (storage >= Storage::entries) support::make_sparse(q);
        if (storage == Storage::entries) {  // of few entries a table is "wide" then
          drop_zeros(q.entries);
        }
        Rows rows = storage >= Storage::entries ? q.view() : Rows(q.x.data(), n, d);
        rows.in_memory = storage != Storage::file;
        f(rows, q.y,
          fmt::format("place {}, storage {}, one entry {}", place, static_cast<int>(storage),
                      one_entry));
      }
    }
  }
}

TEST_P(Locality, OfCapsAndSlopes) {
  const std::size_t d = GetParam(), n = d > 1000 || emulated ? 300 : 1100;
  std::mt19937 bits(11);
  std::normal_distribution<float> normal;
  std::vector<double> theta(d);
  for (double& v : theta)
    v = 0.4 * static_cast<double>(normal(bits)) / std::sqrt(static_cast<double>(d));
  theta[0] = 600;  // e^-600: far below a rounding, far above what makes a processor slow
  const auto other = [&](std::size_t i, bool one_entry, std::span<float> x) {
    for (std::size_t j = 0; j < d && !one_entry; ++j) x[j] = 1e-3F * normal(bits);
    return x[0] = i % 3 == 0 ? 1.0F : -1.0F;
  };
  for (const bool few_entries : {false, true}) {
    std::vector<float> row(d);
    for (float& v : row) v = few_entries && bits() % 8 != 0 ? 0.0F : normal(bits);
    row[0] = 5e-4F;
    for_each_table(
        n, row, other, [&](const Rows& rows, std::span<const float> y, const std::string& where) {
          for (const Kind kind : {Kind::full, Kind::shifted}) {
            const Metric m = make_metric(d, std::min<std::size_t>(d, 20), kind);
            const auto norm = static_cast<double>(length(m, row));
            if (d > 1000 && kind != Kind::full) continue;
            for (const double clip :
                 {1e9, 0.1 * norm, 0.5 * norm}) {  // free, held, about at its end
              const std::vector<float> label{1.0F};
              const auto alone = gradient(*load(Rows(row.data(), 1, d), label, 1), m, clip, theta);
              auto out = gradient(*load(rows, y, clip > 1e8 ? 3 : 1), m, clip, theta);
              for (std::size_t j = 0; j < d; ++j) {
                if (row[j] == 0 || j == 0) out[j] = alone[j];  // what is left of the others
              }
              if (out[d] < 1e-200) out[d] = 0;
              ASSERT_EQ(out, alone) << "clip " << clip << ", " << where << ' ' << few_entries;
            }
          }
        });
  }
}

// Other rows of several classes add nothing: they are so sure of their class that their slopes
// vanish.
TEST_P(Locality, OfSlopesOfClasses) {
  if (!any_loss_) GTEST_SKIP() << "the card caps losses of one output";
  // Outputs go four by four, then two and one.
  const std::size_t d = GetParam(), n = d > 1000 ? 300 : 1100, K = d % 2 == 1 ? 7 : 3;
  std::mt19937 bits(12);
  std::normal_distribution<float> normal;
  std::vector<double> theta(K * d);
  for (double& v : theta)
    v = 0.4 * static_cast<double>(normal(bits)) / std::sqrt(static_cast<double>(d));
  theta[0] = 2000;
  theta[d] = -2000;
  const auto other = [&](std::size_t i, bool one_entry, std::span<float> x) {
    for (std::size_t j = 0; j < d && !one_entry; ++j) x[j] = 1e-3F * normal(bits);
    x[0] = i % 3 == 0 ? 1.0F : -1.0F;
    return x[0] > 0 ? 0.0F : 1.0F;
  };
  for (const bool few_entries : {false, true}) {
    std::vector<float> row(d);
    for (float& v : row) v = few_entries && bits() % 8 != 0 ? 0.0F : normal(bits);
    row[0] = 5e-4F;
    for_each_table(
        n, row, other, [&](const Rows& rows, std::span<const float> y, const std::string& where) {
          const Metric m = make_metric(d, std::min<std::size_t>(d, 20), Kind::full);
          const auto norm = static_cast<double>(length(m, row));
          for (const double clip : {1e9, 0.1 * norm, 1.2 * norm}) {
            const std::vector<float> label{1.0F};
            const auto alone =
                gradient(*load(Rows(row.data(), 1, d), label, 1, softmax_of(K)), m, clip, theta);
            const auto out =
                gradient(*load(rows, y, clip > 1e8 ? 3 : 1, softmax_of(K)), m, clip, theta);
            ASSERT_GT(alone.back(), 0);
            ASSERT_EQ(out, alone) << "clip " << clip << ", " << where << ' ' << few_entries;
          }
        });
  }
}

// Other rows are zeros, their labels so far away that they have no curvature (of counts the same
// one each).
TEST_P(Locality, OfSlopesOfAmountsAndCounts) {
  const std::size_t d = GetParam(), n = d > 1000 || emulated ? 300 : 1100;
  if (d > 200) GTEST_SKIP() << "as of classes";
  std::mt19937 bits(13);
  std::normal_distribution<float> normal;
  std::vector<double> theta(d);
  for (double& v : theta) v = static_cast<double>(normal(bits)) / std::sqrt(static_cast<double>(d));
  std::vector<float> row(d);
  for (float& v : row) v = normal(bits);
  const Metric m = make_metric(d, std::min<std::size_t>(d, 20), Kind::full);
  const auto norm = static_cast<double>(length(m, row));
  double z = 0;
  for (std::size_t j = 0; j < d; ++j) z += static_cast<double>(row[j]) * theta[j];
  support::Thinned sweep(7, emulated ? 3 : 1);
  for (const char* name : {"huber", "pseudo-huber", "poisson"}) {
    const Loss& loss = loss_named(name);
    const bool counts = loss.label() == LabelKind::count;
    const float far = counts ? 0.0F : 1e19F;
    std::vector<float> x(n * d);
    std::vector<float> y(n, far);
    // Near the prediction, so that a bit of it decides whether the slope is free.
    for (const double away : {0.1, 0.5}) {
      const float label = counts ? 0.9F : static_cast<float>(z - away);
      const std::vector<float> one{label};
      const double derivative =
          counts ? std::fabs(std::exp(std::min(z - 2.302585092994046, 0.0)) - 0.9) : away;
      for (const double clip :
           {1e9, 0.5 * derivative * norm, derivative * norm, 2 * derivative * norm}) {
        if (sweep.skips()) continue;
        const auto alone = gradient(*load(Rows(row.data(), 1, d), one, 1, loss), m, clip, theta);
        for (const std::size_t place : {std::size_t{0}, std::size_t{7}, n / 2, n - 1}) {
          std::ranges::copy(row, x.begin() + static_cast<std::ptrdiff_t>(place * d));
          y[place] = label;
          for (const std::size_t threads : {1U, 3U}) {
            if (!any_loss_ && threads > 1) continue;  // a GPU's are its own
            auto out = gradient(*load(Rows(x.data(), n, d), y, threads, loss), m, clip, theta);
            if (counts) out[d] = alone[d];
            ASSERT_EQ(out, alone) << name << ", clip " << clip << ", place " << place;
          }
          std::fill_n(x.begin() + static_cast<std::ptrdiff_t>(place * d), d, 0.0F);
          y[place] = far;
        }
      }
    }
  }
}

TEST_P(Locality, OfMoments) {
  const std::size_t d = GetParam(), n = d > 1000 || emulated ? 300 : 1100;
  if (d == 1) return;  // P takes no row to 0
  std::mt19937 bits(12);
  std::normal_distribution<float> normal;
  const auto other = [&](std::size_t, bool one_entry, std::span<float> x) {
    for (std::size_t j = 0; j < (one_entry ? 1 : d / 2); ++j) x[j] = normal(bits);
    return 1.0F;
  };
  for (const bool few_entries : {false, true}) {
    std::vector<float> row(d);
    for (float& v : row) v = few_entries && bits() % 8 != 0 ? 0.0F : normal(bits);
    row[d - 1] = 1.5F;
    for_each_table(
        n, row, other, [&](const Rows& rows, std::span<const float> y, const std::string& where) {
          for (const Kind kind : {Kind::full, Kind::shifted}) {
            Metric m = make_metric(d, std::min<std::size_t>(d, 20), kind);
            std::fill_n(m.p.begin(), d / 2 * m.k,
                        0.0);  // the first half of the features is ignored
            for (const double clip : {1e9, 0.7}) {
              const std::vector<float> label{1.0F};
              const auto alone = moments(*load(Rows(row.data(), 1, d), label, 1), m, clip);
              ASSERT_EQ(moments(*load(rows, y, clip > 1e8 ? 3 : 1), m, clip), alone)
                  << "clip " << clip << ", " << where << ' ' << few_entries;
            }
          }
        });
  }
}

struct Table {
  std::size_t n, d;
  double per_row = 0;  // above 0: so many entries, handed on as entries
};
const bool small = support::sanitized || emulated;
const std::size_t wide_rows = small ? 200 : 1500, wide_features = small ? 1100 : 2000;
const Table tables[] = {{1, 1},
                        {1, 7},
                        {2, 3},
                        {33, 9},
                        {7, 31},
                        {1000, 4},
                        {1024, 3},
                        {1025, 8},
                        {small ? 1100UL : 3100UL, 20},
                        {1, 1, 1},
                        {33, 40, 5},
                        {7, 9, 8},
                        {small ? 1100UL : 2050UL, 40, 4},
                        {wide_rows, wide_features, 1}};
void PrintTo(const Table& s, std::ostream* out) {
  *out << fmt::format("{} x {}, {} entries a row", s.n, s.d, s.per_row);
}

class Sums : public Whitened, public testing::WithParamInterface<Table> {
 protected:
  static OddRows make(const Table& t, unsigned seed) {
    return t.per_row > 0 ? support::make_sparse_rows(t.n, t.d, t.per_row, seed)
                         : support::make_odd_rows(t.n, t.d, seed);
  }
};
INSTANTIATE_TEST_SUITE_P(Tables, Sums, testing::ValuesIn(tables), [](const auto& p) {
  return fmt::format("n{}_d{}{}", p.param.n, p.param.d, p.param.per_row > 0 ? "_sparse" : "");
});

// Against long double, with the caps that each row has alone.
TEST_P(Sums, GradientIsWithinItsBound) {
  const OddRows p = make(GetParam(), 1);
  const std::size_t n = p.n, d = p.d;
  const LossOf<tanh_loss> other;
  std::mt19937 bits(8);
  std::normal_distribution<double> normal;
  std::vector<double> theta(d);
  for (double& v : theta) v = normal(bits) / std::sqrt(static_cast<double>(d));
  const Metric m = make_metric(d, std::min<std::size_t>(d, 12), Kind::full);
  std::size_t held = 0, free = 0;
  for (const Loss* const loss : {&loss_named("logistic"), static_cast<const Loss*>(&other)}) {
    const bool logistic = loss != &other;
    if (!logistic && !any_loss_) continue;
    const auto engine = load(p.view(), p.y, 2, *loss);
    for (const double clip : {infinity, 2.0, 0.0}) {
      std::vector<long double> exact(d + 1, 0);
      std::vector<double> bound(d + 1, static_cast<double>(n) * std::numeric_limits<double>::min());
      for (std::size_t i = 0; i < n; ++i) {
        const std::span<const float> x(&p.x[i * d], d);
        long double z = 0, size = 0;
        for (std::size_t j = 0; j < d; ++j) {
          z += static_cast<long double>(x[j]) * theta[j];
          size += std::fabs(static_cast<long double>(x[j]) * theta[j]);
        }
        const long double y = p.y[i];
        const long double t = logistic ? 1 / (1 + std::exp(y * z)) : std::tanh(z - y);
        const long double r = logistic ? -y * t : 2 * t;
        const long double second = logistic ? t * (1 - t) : 2 * (1 - t * t);
        // Off by the floats of P and of the norm.
        const auto norm = static_cast<double>(length(m, x));
        const double most = logistic ? 1 : 2;
        const double cap = norm == 0 ? most : std::min(most, clip / norm);
        const double cap_off =
            cap == 0 ? 0 : cap * (1e-6 + sizes(m, x) / norm * static_cast<double>(d + 8) * 1.3e-7);
        const double off = 2 * gamma_k(static_cast<double>(d) + 20) * static_cast<double>(size) +
                           gamma_k(static_cast<double>(accumulation_depth(n)) + 60) * most;
        // The logistic score is weighted by what either label could reach and does not jump.
        const long double reach = logistic ? std::max(t, 1 - t) : std::fabs(r);
        const bool is_free = reach < cap;
        ++(is_free ? free : held);
        const bool unclear = std::fabs(static_cast<double>(reach) - cap) <= cap_off + off;
        const long double w = is_free ? 1 : logistic ? cap / reach : 0;
        exact[d] += w * second;
        bound[d] += is_free || logistic ? 4 * off + (is_free && !unclear ? 0 : cap_off) : 0;
        if (unclear && !logistic) bound[d] += 0.5;
        const long double derivative = logistic ? w * r : std::clamp<long double>(r, -cap, cap);
        for (std::size_t j = 0; j < d; ++j) {
          exact[j] += derivative * x[j];
          bound[j] +=
              static_cast<double>(std::fabs(x[j])) * (off + (is_free && !unclear ? 0 : cap_off));
        }
      }
      const std::vector<double> out = gradient(*engine, m, clip, theta);
      for (std::size_t j = 0; j <= d; ++j) {
        ASSERT_TRUE(std::fabs(out[j] - exact[j]) <= bound[j])
            << loss->name() << ", clip " << clip << ", " << j << ": " << out[j] << " for "
            << exact[j] << " +- " << bound[j];
      }
    }
  }
  if (n >= 33) {
    EXPECT_GT(held, 0U);
    EXPECT_GT(free, 0U);
  }
}

// Gradients of several classes agree with long double, with the cap that each row has alone. For
// pairs that differ in one row and its label, gradients in coordinates of z differ by at most 2
// clip.
TEST_P(Sums, GradientsOfClassesAreWithinTheirBounds) {
  if (!any_loss_) GTEST_SKIP() << "the card caps losses of one output";
  const OddRows p = make(GetParam(), 4);
  const std::size_t n = p.n, d = p.d;
  std::mt19937 bits(8);
  std::normal_distribution<double> normal;
  const Metric m = make_metric(d, std::min<std::size_t>(d, 12), Kind::full);
  std::size_t held = 0, free = 0;
  for (const std::size_t K : {2u, 3u, 7u}) {
    std::vector<float> y(n);
    for (float& v : y) v = static_cast<float>(bits() % K);
    std::vector<double> theta(K * d);
    for (double& v : theta) v = normal(bits) / std::sqrt(static_cast<double>(d));
    const auto engine = load(p.view(), y, 2, softmax_of(K));
    for (const double clip : {infinity, 2.0, 0.0}) {
      std::vector<long double> exact(K * d + 1, 0), z(K);
      std::vector<double> bound(K * d + 1, static_cast<double>(n) * 1e-300);
      for (std::size_t i = 0; i < n; ++i) {
        const std::span<const float> x(&p.x[i * d], d);
        double size = 0;
        for (std::size_t k = 0; k < K; ++k) {
          z[k] = 0;
          for (std::size_t j = 0; j < d; ++j) {
            z[k] += static_cast<long double>(x[j]) * theta[k * d + j];
            size += std::fabs(static_cast<double>(x[j]) * theta[k * d + j]);
          }
        }
        const auto norm = static_cast<double>(length(m, x));
        const double cap = norm == 0 ? std::sqrt(2.0) : std::min(std::sqrt(2.0), clip / norm);
        const double cap_off =
            cap == 0
                ? 0
                : cap *
                      (1e-6 +
                       (norm == 0 ? 0 : sizes(m, x) / norm * static_cast<double>(d + 8) * 1.3e-7));
        const double off = 2 * gamma_k(static_cast<double>(d + K) + 40) * size +
                           2 * gamma_k(static_cast<double>(accumulation_depth(n)) + 60);
        const HeldSlope derivative = held_slope(z, static_cast<std::size_t>(y[i]), cap);
        ++(derivative.free ? free : held);
        const double gap = std::fabs(static_cast<double>(derivative.length) - cap);
        const bool unclear = gap <= cap_off + off;
        exact[K * d] += derivative.trace;
        bound[K * d] += 8 * off + (derivative.free ? 0 : 2 * cap_off) + (unclear ? 1 : 0);
        for (std::size_t k = 0; k < K; ++k) {
          for (std::size_t j = 0; j < d; ++j) {
            exact[k * d + j] += derivative.r[k] * x[j];
            bound[k * d + j] += static_cast<double>(std::fabs(x[j])) *
                                (off + (derivative.free && !unclear ? 0 : cap_off));
          }
        }
      }
      const std::vector<double> out = gradient(*engine, m, clip, theta);
      for (std::size_t j = 0; j <= K * d; ++j) {
        ASSERT_TRUE(std::fabs(out[j] - exact[j]) <= bound[j])
            << K << " classes, clip " << clip << ", " << j << ": " << out[j] << " for " << exact[j]
            << " +- " << bound[j];
      }
    }

    // Neighbors.
    const double clip = 0.5;
    std::vector<std::vector<double>> answers;
    double lengths = 0, far = 0, moved = 0;
    for (const float v : p.x) lengths += std::fabs(static_cast<double>(v));
    for (const double v : m.p) far = std::hypot(far, v);
    const double depth = gamma_k(static_cast<double>(accumulation_depth(n)) + 2);
    // Two classes level and the others out of the question far out: opposite slopes there.
    for (std::size_t j = 0; j < theta.size(); ++j) theta[j] = j < 2 * d ? 1 : -1;
    for (const float scale : {1.0F, -1.0F, 0.0F, 1e4F}) {
      for (std::size_t label = 0; label < std::min<std::size_t>(K, 3); ++label) {
        OddRows q = p;
        q.entries = {};
        for (std::size_t j = 0; j < d; ++j) q.x[n / 2 * d + j] = scale;
        std::vector<float> labels = y;
        labels[n / 2] = static_cast<float>(label);
        if (p.entries.rows() > 0) support::make_sparse(q);
        answers.push_back(gradient(*load(q.view(), labels, 1, softmax_of(K)), m, clip, theta));
      }
    }
    for (const auto& a : answers) {
      for (const auto& b : answers) {
        double square = 0;
        for (std::size_t k = 0; k < K; ++k) {
          for (std::size_t c = 0; c < m.k; ++c) {
            long double along = 0;
            for (std::size_t j = 0; j < d; ++j) {
              along += static_cast<long double>(m.p[j * m.k + c]) * (a[k * d + j] - b[k * d + j]);
            }
            square += static_cast<double>(along * along);
          }
        }
        ASSERT_LE(
            std::sqrt(square),
            2 * clip * (1 + 1e-12) + 8 * depth * far * (lengths + static_cast<double>(d) * 1e4));
        ASSERT_LE(std::fabs(a.back() - b.back()),
                  1 - 1 / static_cast<double>(K) + 1e-15 + depth * static_cast<double>(n));
        moved = std::max(moved, std::sqrt(square));
      }
    }
    // Rows of other directions reach 2 clip for more classes (tests/run/whitened_test.cpp).
    EXPECT_GT(moved, (K == 2 ? 1.9 : 1.1) * clip) << "no power: " << K;
  }
  if (n >= 33) {
    EXPECT_GT(held, 0U);
    EXPECT_GT(free, 0U);
  }
}

TEST_P(Sums, MomentsAreWithinTheirBound) {
  const OddRows p = make(GetParam(), 2);
  const std::size_t n = p.n, d = p.d;
  const auto engine = load(p.view(), p.y);
  for (const Kind kind : kinds) {
    const Metric m = make_metric(d, std::min<std::size_t>(d, 37), kind);
    const std::size_t k = m.k;
    for (const double clip : {infinity, 0.7, 0.0}) {
      std::vector<double> exact(k * k);  // of long doubles: far nearer than the floats of a row
      std::vector<long double> sum(k * k), u(k);
      double bound = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const std::span<const float> x(&p.x[i * d], d);
        std::ranges::fill(u, 0);
        long double norm = 0;
        for (std::size_t j = 0; j < d; ++j) {
          for (std::size_t a = 0; a < k && x[j] != 0; ++a) {
            u[a] += static_cast<long double>(x[j]) * m.p[j * k + a];
          }
        }
        for (const long double v : u) norm += v * v;
        norm = std::sqrt(norm);
        const long double shrink = norm > clip ? clip / norm : 1;
        for (std::size_t a = 0; a < k; ++a) {
          for (std::size_t b = 0; b < k; ++b) sum[a * k + b] += u[a] * u[b] * shrink * shrink;
        }
        const double length = static_cast<double>(norm * shrink);
        const double off =
            static_cast<double>(shrink) * sizes(m, x) * static_cast<double>(d + 8) * 1.3e-7 +
            1e-6 * length;
        bound += 2 * length * off + off * off +
                 gamma_k(static_cast<double>(accumulation_depth(n)) + 2) * length * length;
      }
      const std::vector<double> out = moments(*engine, m, clip);
      for (std::size_t a = 0; a < k; ++a) {
        for (std::size_t b = 0; b < k; ++b) {
          ASSERT_TRUE(std::fabs(out[a * k + b] - sum[a * k + b]) <= bound)
              << "clip " << clip << ", " << a << ' ' << b << ": " << out[a * k + b] << " for "
              << sum[a * k + b];
          ASSERT_EQ(out[a * k + b], out[b * k + a]);
        }
      }
    }
  }
}

// One row replaced by a worse one: both answers move by no more than their sensitivities, and
// roundings that they are owed.
TEST_P(Sums, MoveByTheirSensitivitiesAtMost) {
  const OddRows p = make(GetParam(), 3);
  const std::size_t n = p.n, d = p.d;
  const double clip = 0.5;
  const Metric m = make_metric(d, d > 200 ? 40 : d, Kind::full);
  std::mt19937 bits(9);
  std::normal_distribution<double> normal;
  std::vector<double> theta(d);
  for (double& v : theta) v = 3 * normal(bits);
  std::vector<double> before_moments, before;
  double moved = 0, moved_curvature = 0;
  const double depth = gamma_k(static_cast<double>(accumulation_depth(n)) + 2);
  for (const float scale : {1.0F, 0.0F, 1e-4F, 30.0F, -30.0F, 1e4F}) {
    // One row dense and large: of few rows it also changes how they are kept.
    OddRows q = p;
    q.entries = {};
    float* const row = &q.x[n / 2 * d];
    for (std::size_t j = 0; j < d; ++j) row[j] = scale * static_cast<float>(normal(bits));
    if (p.entries.rows() > 0) support::make_sparse(q);
    double far = 0, lengths = 0;
    for (std::size_t i = 0; i < n; ++i) {
      double length = 0;
      for (std::size_t j = 0; j < d; ++j)
        length = std::hypot(length, static_cast<double>(q.x[i * d + j]));
      lengths += length;
    }
    for (const double v : m.p) far = std::hypot(far, v);
    const auto engine = load(q.view(), q.y);
    const auto after_moments = moments(*engine, m, clip), after = gradient(*engine, m, clip, theta);
    if (!before.empty()) {
      double square = 0;
      for (std::size_t a = 0; a < after_moments.size(); ++a) {
        square += std::pow(after_moments[a] - before_moments[a], 2);
      }
      const double rounded = 2 * depth * static_cast<double>(n) * clip * clip;
      ASSERT_LE(std::sqrt(square), std::sqrt(2) * clip * clip * (1 + 1e-12) + rounded);
      square = 0;
      for (std::size_t a = 0; a < m.k; ++a) {
        long double along = 0;
        for (std::size_t j = 0; j < d; ++j) {
          along += static_cast<long double>(m.p[j * m.k + a]) * (after[j] - before[j]);
        }
        square += static_cast<double>(along * along);
      }
      ASSERT_LE(std::sqrt(square), 2 * clip * (1 + 1e-12) + 4 * depth * far * (lengths + 1e6));
      ASSERT_LE(std::fabs(after[d] - before[d]), 0.25 + depth * static_cast<double>(n));
      moved = std::max(moved, std::sqrt(square));
      moved_curvature = std::max(moved_curvature, std::fabs(after[d] - before[d]));
    }
    before_moments = after_moments;
    before = after;
  }
  EXPECT_GT(moved, clip / 2) << "no power";
}

TEST_F(Whitened, ThreadsChangeNoBit) {
  for (const double per_row : {0.0, 30.0}) {
    const std::size_t n =
        emulated ? support::repeats(300UL, 200UL) : support::repeats(5000UL, 2100UL);
    const std::size_t d = 300;
    const OddRows p =
        per_row > 0 ? support::make_sparse_rows(n, d, per_row, 4) : support::make_odd_rows(n, d, 4);
    const std::vector<double> theta(d, 0.1);
    for (const Kind kind : {Kind::full, Kind::shifted}) {
      const Metric m = make_metric(d, 70, kind);
      std::vector<double> first, first_moments;
      for (const std::size_t threads : {1u, 2u, 5u}) {
        const auto engine = load(p.view(), p.y, threads);
        auto out = gradient(*engine, m, 1.0, theta), of_moments = moments(*engine, m, 1.0);
        if (threads == 1) {
          first = out;
          first_moments = of_moments;
        }
        ASSERT_EQ(out, first) << threads;
        ASSERT_EQ(of_moments, first_moments) << threads;
      }
    }
  }
}

TEST_F(Whitened, ThreadsChangeNoBitOfClasses) {
  if (!any_loss_) GTEST_SKIP() << "the card caps losses of one output";
  const std::size_t n = support::repeats(5000UL, 2100UL), d = 60, K = 5;
  for (const double per_row : {0.0, 6.0}) {
    const OddRows p =
        per_row > 0 ? support::make_sparse_rows(n, d, per_row, 4) : support::make_odd_rows(n, d, 4);
    std::vector<float> y(n);
    for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<float>(i * i % K);
    std::vector<double> theta(K * d);
    for (std::size_t j = 0; j < theta.size(); ++j) theta[j] = 0.01 * static_cast<double>(j % 17);
    const Metric m = make_metric(d, 30, Kind::full);
    std::vector<double> first;
    for (const std::size_t threads : {1u, 2u, 5u}) {
      const auto out = gradient(*load(p.view(), y, threads, softmax_of(K)), m, 1.0, theta);
      if (threads == 1) first = out;
      ASSERT_EQ(out, first) << threads;
    }
  }
}

// So many features that threads share them.
TEST_F(Whitened, ThreadsChangeNoBitOfWideRows) {
  const std::size_t n = 600, d = 140'000;
  SparseTable table;
  std::vector<float> y;
  std::mt19937 bits(6);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t e = 0; e < 5; ++e) {
      table.feature.push_back(static_cast<std::uint32_t>(e * 28'000 + bits() % 28'000));
      table.value.push_back(1 + static_cast<float>(e));
    }
    table.begin.push_back(table.value.size());
    y.push_back(i % 2 == 0 ? 1.0F : -1.0F);
  }
  Metric m{d, 2, std::vector<double>(2 * d)};
  for (double& v : m.p) v = 1 + static_cast<double>(bits() % 8);
  const std::vector<double> theta(d, 0.05);
  std::vector<double> first;
  for (const std::size_t threads : {1u, 3u}) {
    const auto engine = load({table.view(), d}, y, threads);
    const auto out = gradient(*engine, m, 40.0, theta);
    EXPECT_GT(out[d], 0) << "no row was free";
    EXPECT_LT(out[d], 0.2 * static_cast<double>(n)) << "no row was held";
    if (first.empty()) first = out;
    ASSERT_EQ(out, first);
  }
}

// By the number of features alone.
TEST_F(Whitened, TheGpuAnswersByItself) {
  if (any_loss_) GTEST_SKIP() << "no card";
  for (const std::size_t d : {3u, 2048u, 2049u}) {
    const OddRows p = support::make_odd_rows(5, d, 1);
    const Metric m = make_metric(d, 2, Kind::full);
    const auto engine = load(p.view(), p.y);
    const std::string where = d > 2048 ? "on the host: the card takes at most 2048" : "on the card";
    moments(*engine, m, 1);
    EXPECT_THAT(engine->design(), testing::HasSubstr(where)) << d;
    const auto other = load(p.view(), p.y);
    gradient(*other, m, 1, std::vector<double>(d, 0.1));
    EXPECT_THAT(other->design(), testing::HasSubstr(where)) << d;
  }
}

TEST_F(Whitened, RefuseWhatHasNoMeaning) {
  const OddRows p = support::make_odd_rows(10, 3, 1);
  const auto engine = load(p.view(), p.y);
  Metric m = make_metric(3, 3, Kind::full);
  const auto refuses = [&](const Metric& metric, double clip, const char* why) {
    EXPECT_THAT([&] { moments(*engine, metric, clip); },
                testing::ThrowsMessage<BadInput>(testing::HasSubstr(why)));
    EXPECT_THAT([&] { std::ignore = engine->capped_loss(metric.view(), {.clip = clip}); },
                testing::ThrowsMessage<BadInput>(testing::HasSubstr(why)));
  };
  refuses(m, -1, "clip");
  refuses(m, NAN, "clip");
  refuses(make_metric(2, 3, Kind::full), 1, "P: 2 x 3 for 3 features");
  for (const double limit : {0.2, -1.0, std::nan("")}) {
    EXPECT_THAT(
        [&] {
          std::ignore = engine->capped_loss(m.view(), {1, limit});
        },
        testing::ThrowsMessage<BadInput>(testing::HasSubstr("information")));
  }
  const std::vector<double> theta(3);
  std::vector<double> out(9);
  EXPECT_THAT(
      [&] {
        engine->capped_loss(m.view(), {.clip = 1})->information(theta, {out.data(), 3, 3});
      },
      testing::ThrowsMessage<BadInput>(testing::HasSubstr("limited")));
  EXPECT_THAT(
      [&] {
        engine->capped_loss(m.view(), {1, 0.5})->information_between(theta, {}, {out.data(), 3, 3});
      },
      testing::ThrowsMessage<BadInput>(testing::HasSubstr("ask it of softmax")));
  if (any_loss_) {
    const std::vector<float> labels(10, 0.0F);
    const auto classes = load(p.view(), labels, 2, loss_named("softmax-3"));
    const std::vector<double> of_classes(9);
    EXPECT_THAT(
        [&] {
          classes->capped_loss(m.view(), {1, 0.5})->score_moments(of_classes, {out.data(), 3, 3});
        },
        testing::ThrowsMessage<BadInput>(testing::HasSubstr("scores have 6 coordinates")));
  }
  m.p[4] = infinity;
  refuses(m, 1, "P: a number is not finite");
}

}  // namespace moments_backend_test
}  // namespace gibbsite
