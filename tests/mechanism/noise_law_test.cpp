#include "gibbsite/mechanism/noise_law.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/constants/constants.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <numbers>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/mechanism/path.hpp"
#include "gibbsite/mechanism/plan.hpp"
#include "support/repeats.hpp"

namespace gibbsite {
namespace noise_law_test {

using boost::math::quadrature::gauss_kronrod;
using testing::HasSubstr;

double radius(double u) { return std::sqrt(-2 * std::log(u)); }

// E|r(U) - r(middle of its word)| for words of `bits`, as docs/theory/noise-law.md bounds it.
double mean_shift_bound(int bits) {
  const double log2 = std::numbers::ln2, far = std::sqrt(2 * bits * log2);
  const double middle = std::sqrt(2 * (bits + 1) * log2) - far;
  return std::ldexp(far / 2 + 1 / far + middle, -bits);
}

TEST(NoiseLaw, MeanShiftOfARadius) {
  for (const int bits : {6, 8, 10}) {
    const double width = std::ldexp(1.0, -bits), far = bits * std::numbers::ln2;
    // Word 0: u = width e^-t.
    const double first = radius(width / 2);
    double mean = width * gauss_kronrod<double, 61>::integrate(
                              [&](double t) {
                                return std::fabs(std::sqrt(2 * (far + t)) - first) * std::exp(-t);
                              },
                              0.0, 60.0, 6, 1e-9);
    for (int w = 1; w < 1 << bits; ++w) {
      const double lo = w * width, middle = radius((w + 0.5) * width);
      const auto off = [&](double u) { return std::fabs(radius(std::min(u, 1.0)) - middle); };
      mean += gauss_kronrod<double, 15>::integrate(off, lo, lo + width / 2, 3, 1e-9) +
              gauss_kronrod<double, 15>::integrate(off, lo + width / 2, lo + width, 3, 1e-9);
    }
    EXPECT_LE(mean, mean_shift_bound(bits)) << bits;
    EXPECT_GE(mean, 0.3 * mean_shift_bound(bits)) << bits << ": the bound is loose";
  }
  EXPECT_LE(std::ldexp(mean_shift_bound(64), 64), 4.9);
  EXPECT_GE(std::ldexp(mean_shift_bound(64), 64), 4.85);
}

// P(a boundary t lies between r cos a and its word's middle) <= 2^-(bits + 2).
TEST(NoiseLaw, CrossingOfABoundary) {
  constexpr int bits = 10;
  const double width = std::ldexp(1.0, -bits);
  double largest = 0;
  for (const double t : {0.01, 0.3, 1.0, 1.777, 2.5, 3.3}) {
    const auto given_angle = [&](double a) {
      const double u = std::exp(-std::pow(t / std::cos(a), 2) / 2);
      const double w = std::floor(u / width);
      return std::fabs(u - (w + 0.5) * width);  // of r on the far side of t/cos a from the middle
    };
    double sum = 0;  // over the angles with a positive cosine: half of all
    constexpr int angles = 400000;
    for (int i = 0; i < angles; ++i)
      sum += given_angle(std::numbers::pi * ((i + 0.5) / angles - 0.5));
    const double p = sum / angles / 2;
    EXPECT_LE(p, std::ldexp(1.0, -bits - 2)) << t;
    largest = std::max(largest, p);
  }
  EXPECT_GE(largest, 0.3 * std::ldexp(1.0, -bits - 2)) << "the bound is loose";
}

Problem problem(std::uint64_t rows, std::uint64_t features) {
  Problem c;
  c.rows = rows;
  c.features = features;
  c.drop_from_zero = std::numbers::ln2 * (1 + 1e-15);
  return c;
}

ChainNoise path_noise(double h, double T) {
  return {.step_size = h, .iterations = T, .smoothness = 1 / h, .map_error = 1e-16 * std::sqrt(h)};
}

// What a cell gains when its ends move by s = 20u 9.4926 sigma, against the normal law.
TEST(NoiseLaw, ACellGainsNoMoreThanReleaseEpsilon) {
  const double h = 0.02, sigma = std::sqrt(2 * h);
  const ChainNoise c = path_noise(h, 100);
  const double grid = release_grid(c), s = 20 * 0x1p-53 * 9.4926 * sigma;
  const double allowed = noise_cost_up(c, 1, 1).epsilon;
  const boost::math::normal law(0, sigma);
  double most = 0;
  for (double at = -9.5 * sigma; at < 9.5 * sigma; at += grid * 0.37) {
    const double mass = at > 0 ? cdf(complement(law, at)) - cdf(complement(law, at + grid))
                               : cdf(law, at + grid) - cdf(law, at);
    most = std::max(most, 2 * s * (pdf(law, at) + pdf(law, at + grid)) / mass);
  }
  EXPECT_LE(most, allowed);
  EXPECT_GE(most, 0.5 * allowed) << "the bound is loose";
  EXPECT_NEAR(noise_cost_up(c, 50, 3).epsilon / allowed, 150, 1e-6);
}

TEST(NoiseLaw, CostsGrowWithWhatTheyAreOf) {
  const auto cost = [](double T, std::uint64_t d, std::uint64_t draws) {
    return noise_cost_up(path_noise(0.02, T), d, draws).tv;
  };
  const double step = (cost(2e6, 10, 1) - cost(1e6, 10, 1)) / 1e6;
  EXPECT_NEAR(step / (5 * 0.39895 * 4.9 * 0x1p-64), 1, 1e-6);  // five pairs
  EXPECT_NEAR((cost(2e6, 9, 1) - cost(1e6, 9, 1)) / 1e6 / step, 1, 1e-6) << "half a pair is a pair";
  EXPECT_NEAR(cost(1e6, 10, 7) / cost(1e6, 10, 1), 7, 1e-9);
  // The release: 2^-65 (19 sigma/grid + 1) + 2^-64 and the range, a coordinate.
  EXPECT_GT(cost(1, 1000, 1), 1000 * 19 * 256 * 0x1p-65);
  EXPECT_LT(cost(1, 1000, 1), 1000 * (20 * 512 * 0x1p-65 + 1e-19));
}

// A sum is rounded to double before it comes to the grid: cells keep their width but for 1/64.
TEST(NoiseLaw, AddedNoiseIsReleasedOnAGridThatItsSumResolves) {
  EXPECT_EQ(release_grid(AddedNoise{1, 0}), 0x1p-8);
  EXPECT_EQ(release_grid(AddedNoise{1, 1e9}), 0x1p-8);
  for (const double reach : {1e11, 1e13, 1e15, 1e18}) {
    const double grid = release_grid(AddedNoise{1, reach});
    const double spacing = std::nextafter(reach, INFINITY) - reach;
    EXPECT_GE(grid, 64 * spacing) << reach;
    EXPECT_LE(grid, std::max(0x1p-8, 512 * spacing)) << reach;
  }
  for (const AddedNoise c :
       {AddedNoise{1e-170, 0}, AddedNoise{1e170, 0}, AddedNoise{1, INFINITY}}) {
    EXPECT_TRUE(std::isnan(release_grid(c)));
    EXPECT_EQ(noise_cost_up(c, 1, 1).tv, INFINITY);
    EXPECT_EQ(noise_cost_up(c, 1, 1).epsilon, INFINITY);
  }
}

// Answers: 128 bits of the radius leave nothing to pay but roundings.
TEST(NoiseLaw, AnswersCostRoundingsAlone) {
  const NoiseCost one = noise_cost_up(AnsweredNoise{1}, 1);
  EXPECT_LT(one.tv, 1e-35);
  EXPECT_GT(one.tv, 27 * 16 * 0x1p-129) << "each boundary within reach";
  EXPECT_NEAR(noise_cost_up(AnsweredNoise{1e4}, 3).epsilon / one.epsilon, 3e4, 1e-3);
  // What a cell gains when its ends move by s, for the narrowest cell and the widest.
  const double s = 20 * 0x1p-53 * max_abs_answer_normal;
  const boost::math::normal law(0, 1);
  for (const double grid : {1.0 / 16 * 63 / 64, 1.0 / 8}) {
    double most = 0;
    for (double at = -13.4; at < 13.4; at += grid * 0.37) {
      const double mass = at > 0 ? cdf(complement(law, at)) - cdf(complement(law, at + grid))
                                 : cdf(law, at + grid) - cdf(law, at);
      most = std::max(most, 2 * s * (pdf(law, at) + pdf(law, at + grid)) / mass);
    }
    EXPECT_LE(most, one.epsilon);
    EXPECT_GE(most, 0.2 * one.epsilon) << "the bound is loose";
  }
  for (const double sigma : {1e-10, 0.99, 1.0, 1.01, 3e7}) {
    EXPECT_LE(answer_grid(sigma), sigma / 8);
    EXPECT_GT(answer_grid(sigma), sigma / 16);
    int exponent = 0;
    EXPECT_EQ(std::frexp(answer_grid(sigma), &exponent), 0.5);
    EXPECT_GE(answer_reach(sigma), max_abs_answer_normal * sigma + answer_grid(sigma) / 2);
    EXPECT_LE(answer_reach(sigma), (max_abs_answer_normal + 0.125) * sigma * (1 + 0x1p-50));
  }
  // A sum of n parts, mu sigma each, and its noise: rounding to double moves the two ends of a cell
  // by 1/64 of it.
  const auto largest_rounding = [](double rows, double mu) {
    return 2 * 0x1p-53 * (rows * mu + max_abs_answer_normal);
  };
  for (const double mu : {0.01, 1.0, 6.0}) {
    double rows = 1;
    while (answers_resolve(2 * rows, mu)) rows *= 2;
    EXPECT_LE(largest_rounding(rows, mu), 1.0 / 16 / 64);
    EXPECT_GE(largest_rounding(4 * rows, mu), 1.0 / 16 / 64) << "the bound is loose";
  }
}

// Not the library's own 50: a linker keeps one of two templates of a name, and this one is compiled
// slowly.
using Sixty = boost::multiprecision::number<boost::multiprecision::cpp_bin_float<60>>;

// The d coordinates of a product of normals have the density of pure noise: the integral over
// ||zeta||^2 (chi squared, d + 1 degrees) of N(0, ||zeta||^2 I) is Gamma(d/2)/(2 pi^(d/2) Gamma(d))
// e^-||b||.
TEST(NoiseLaw, AProductOfNormalsHasTheDensityOfPureNoise) {
  for (const double d : {1.0, 2.0, 3.0, 8.0, 41.0}) {
    for (const double x : {0.01, 0.3, 1.0, d, 2 * d + 10}) {
      const auto log_density_at = [&](double s) {  // of s = ||zeta||, and of b given s
        return d * std::log(s) - s * s / 2 - (d - 1) / 2 * std::numbers::ln2 -
               std::lgamma((d + 1) / 2) - d / 2 * std::log(2 * std::numbers::pi * s * s) -
               x * x / (2 * s * s);
      };
      const double claim = std::lgamma(d / 2) - std::numbers::ln2 -
                           d / 2 * std::log(std::numbers::pi) - std::lgamma(d) - x;
      const double ratio = gauss_kronrod<double, 61>::integrate(
          [&](double s) { return s > 0 ? std::exp(log_density_at(s) - claim) : 0.0; }, 0.0,
          std::sqrt(d + 1) + std::sqrt(x) + 20, 15, 1e-12);
      EXPECT_NEAR(ratio, 1, 1e-10) << d << ' ' << x;
    }
  }
}

// Words of the streams that fill_laplace names, in 60 digits: radii at the middle of their words,
// angles at either end of theirs.
std::vector<Sixty> exact_normals(const StreamKey& key, std::uint64_t step, std::size_t n,
                                 int angle_end, Sixty& square_of_radii, Sixty& longest_radius) {
  std::vector<std::uint64_t> words((n + 1) / 2 * 3);
  fill_words(key, 7, step, words);
  std::vector<Sixty> out;
  for (std::size_t p = 0; p < words.size(); p += 3) {
    const Sixty u = ldexp(Sixty(words[p]), -64) + ldexp(Sixty(words[p + 2]) + 0.5, -128);
    const Sixty square = -2 * log(u), radius = sqrt(square);
    const Sixty turn = ldexp(Sixty((words[p + 1] >> 11) + static_cast<unsigned>(angle_end)), -53);
    const Sixty angle = boost::math::constants::two_pi<Sixty>() * turn;
    square_of_radii += square;
    longest_radius = std::max(longest_radius, radius);
    out.push_back(radius * cos(angle));
    if (out.size() < n) out.push_back(radius * sin(angle));
  }
  return out;
}

// What roundings and the angles' bits move pure noise by: 36 u of its whole length times the pair's
// radius.
TEST(NoiseLaw, PureNoiseIsItsProductInFiftyDigits) {
  double worst = 0;
  for (const std::size_t d : {1U, 2U, 3U, 10U, 101U}) {
    for (std::uint64_t seed = 0; seed < 40; seed += support::repeats(1U, 7U)) {
      const StreamKey key = StreamKey::from_seed(seed);
      const double rate = std::exp(static_cast<double>(seed) - 20);
      std::vector<double> got(d);
      fill_laplace(key, 7, 3, rate, got);
      for (const int end : {0, 1}) {
        Sixty whole = 0, radius = 0, unused_square = 0, unused_radius = 0, square = 0;
        const auto zeta = exact_normals(key, 4, d + 1, end, whole, unused_radius);
        const auto xi = exact_normals(key, 3, d, end, unused_square, radius);
        for (const Sixty& z : zeta) square += z * z;
        const Sixty allowed = ldexp(Sixty(36), -53) * sqrt(whole) * radius / rate;
        for (std::size_t j = 0; j < d; ++j) {
          const Sixty off = fabs(got[j] - Sixty(sqrt(square) * xi[j] / rate)) / allowed;
          worst = std::max(worst, static_cast<double>(off));
        }
      }
    }
  }
  EXPECT_LE(worst, 1);
  EXPECT_GE(worst, support::repeats(0.1, 0.01)) << "the bound is loose";
  std::vector<double> none(2);
  for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    EXPECT_THROW(fill_laplace(StreamKey::from_seed(1), 0, 0, bad, none), BadInput);
  }
}

// With short words, angles exact, one feature: how often the radii of zeta and xi end in another
// cell than those of the middles of their words, against the sum over edges of half a word each.
TEST(NoiseLaw, CrossingsOfPureNoise) {
  constexpr int bits = 5, words = 1 << bits, angles = 128, parts = 8;
  const double far = radius(0.5 / words / parts);  // the farthest of the parts below
  for (const double grid : {0.25, 1.0}) {
    std::uint64_t crossed = 0, all = 0;
    const auto radii = [&](int word) {  // the middle's, and of parts of the word
      std::vector<double> out{radius((word + 0.5) / words)};
      for (int i = 0; i < parts; ++i) out.push_back(radius((word + (i + 0.5) / parts) / words));
      return out;
    };
    for (int z = 0; z < words; ++z) {
      const auto zeta = radii(z);
      for (int x = 0; x < words; ++x) {
        const auto xi = radii(x);
        for (int a = 0; a < angles; ++a) {
          const double along = std::cos(2 * std::numbers::pi * (a + 0.5) / angles) / grid;
          const double cell = std::floor(zeta[0] * xi[0] * along + 0.3);
          for (int i = 1; i <= parts; ++i) {
            for (int j = 1; j <= parts; ++j) {
              const double at = zeta[static_cast<std::size_t>(i)] * xi[static_cast<std::size_t>(j)];
              crossed += std::floor(at * along + 0.3) != cell ? 1 : 0;
              ++all;
            }
          }
        }
      }
    }
    const double p = static_cast<double>(crossed) / static_cast<double>(all);
    const double half = std::ldexp(0.5, -bits);
    const double bound = half * (2 * far * std::sqrt(2.0) / grid + 1 + far / grid + 1) + 4 * half;
    EXPECT_LE(p, bound) << grid;
    EXPECT_GE(p, 0.1 * bound) << grid << ": the bound is loose";
  }
}

// noise_cost_up of pure noise is that sum for 128 bits, each edge twice, and the gain of a cell.
TEST(NoiseLaw, PureNoiseCostsItsCrossingsAndItsCells) {
  EXPECT_EQ(release_grid(LaplaceNoise{1, 0, 3}), 0x1p-7);  // 2/rate a coordinate
  EXPECT_EQ(release_grid(LaplaceNoise{0.5, 0, 8}), 0x1p-6);
  for (const std::uint64_t d : {1ULL, 4ULL, 9ULL, 1000ULL}) {
    const auto wide = static_cast<double>(d), pairs = std::floor((wide + 2) / 2);
    const LaplaceNoise c{3, 0, d};
    const double per_cell = 1 / (3 * release_grid(c));
    const double edges = 26.8 * std::sqrt(wide + 1) * per_cell + 2 + pairs * (13.4 * per_cell + 2);
    EXPECT_NEAR(noise_cost_up(c, 1).tv / (wide * edges * 0x1p-128 + 1.1e-39), 1, 1e-12) << d;
    EXPECT_NEAR(noise_cost_up(c, 7).tv / noise_cost_up(c, 1).tv, 7, 1e-12);
    EXPECT_NEAR(noise_cost_up(c, 7).epsilon / noise_cost_up(c, 1).epsilon, 7, 1e-12);
  }
  for (const LaplaceNoise c : {LaplaceNoise{1e170, 0, 1}, LaplaceNoise{1e-170, 0, 1},
                               LaplaceNoise{1, INFINITY, 1}, LaplaceNoise{0, 0, 1}}) {
    EXPECT_TRUE(std::isnan(release_grid(c)));
    EXPECT_EQ(noise_cost_up(c, 1).tv, INFINITY);
    EXPECT_EQ(noise_cost_up(c, 1).epsilon, INFINITY);
  }
}

// What a cell gains when its edges move by s: one feature exactly, two by quadrature over its
// boundary and its inside.
TEST(NoiseLaw, ACellOfPureNoiseGainsNoMoreThanReleaseEpsilon) {
  const double rate = 2.5, u = 0x1p-53;
  const auto shift = [&](double d) {
    return 36 * u * (std::sqrt(d + 2) + 13.4) * max_abs_answer_normal / rate;
  };
  const double grid_1 = release_grid(LaplaceNoise{rate, 0, 1});
  const double allowed_1 = noise_cost_up(LaplaceNoise{rate, 0, 1}, 1).epsilon;
  const auto density = [&](double x, double y) { return std::exp(-rate * std::hypot(x, y)); };
  double most = 0;
  for (double at = -3; at < 3; at += 0.37 * grid_1) {
    const double mass = gauss_kronrod<double, 31>::integrate(
        [&](double x) { return density(x, 0); }, at, at + grid_1, 5, 1e-9);
    most = std::max(most, 2 * shift(1) * (density(at, 0) + density(at + grid_1, 0)) / mass);
  }
  EXPECT_LE(most, allowed_1);
  EXPECT_GE(most, 0.5 * allowed_1) << "the bound is loose";

  const double grid = release_grid(LaplaceNoise{rate, 0, 2});
  const double allowed = noise_cost_up(LaplaceNoise{rate, 0, 2}, 1).epsilon;
  most = 0;
  for (double x = -3; x < 3; x += 0.41) {
    for (double y = -3; y < 3; y += 0.41) {
      using Rule = boost::math::quadrature::gauss<double, 15>;
      const auto across = [&](double at) {
        return Rule::integrate([&](double v) { return density(at, v); }, y, y + grid);
      };
      const auto along = [&](double at) {
        return Rule::integrate([&](double v) { return density(v, at); }, x, x + grid);
      };
      const double inside = Rule::integrate(across, x, x + grid);
      const double edges = across(x) + across(x + grid) + along(y) + along(y + grid);
      most = std::max(most, 2 * shift(2) * edges / inside);
    }
  }
  EXPECT_LE(most, allowed);
  EXPECT_GE(most, 0.5 * allowed) << "the bound is loose";
}

// The largest noise, on a sum that is rounded to double before it comes to the grid.
TEST(NoiseLaw, PureNoiseIsReleasedOnAGridThatItsSumResolves) {
  for (const double reach : {1e9, 1e12, 1e15, 1e18}) {
    const double grid = release_grid(LaplaceNoise{1, reach, 3});
    const double spacing = std::nextafter(reach, INFINITY) - reach;
    EXPECT_GE(grid, 64 * spacing) << reach;
    EXPECT_LE(grid, std::max(0x1p-7, 512 * spacing)) << reach;
  }
}

// The map error has room for the normals' own roundings: 16u of the noise beside the update's 8u,
// and 8u of the iterate, which after one step is the noise.
TEST(NoiseLaw, TheMapErrorPaysForTheNormals) {
  const double h = 1e-3, noise = std::sqrt(2 * h * 4) * 9.4926;
  const PathCertificate c = path_certificate(problem(10, 4), {}, {1e-9, 0, h, 1});
  EXPECT_GE(c.map_error, 31.9 * 0x1p-53 * noise);
  EXPECT_LE(c.map_error, 32.1 * 0x1p-53 * noise);
}

TEST(NoiseLaw, BudgetsBelowTheNoiseAreRefusedWithTheReason) {
  const auto planned = [](double delta, const std::string& mechanism, std::uint64_t rows) {
    return plan(problem(rows, 20), {.epsilon = 1, .delta = delta}, {.mechanism = mechanism})
        .candidate();
  };
  for (const double delta : {1e-30, 1e-16}) {
    for (const std::string mechanism : {"path", "proximal"}) {
      const Candidate c = planned(delta, mechanism, 2000);
      EXPECT_FALSE(c.feasible) << delta;
      EXPECT_THAT(c.why, HasSubstr(mechanism == "path" ? "normals computed in double"
                                                       : "double arithmetic"));
    }
  }
  // What is left pays for the rest, and all of it is claimed.
  for (const std::string mechanism : {"path", "output"}) {
    for (const double delta : {1e-6, 1e-9, 1e-12}) {
      const Candidate c = planned(delta, mechanism, 100000);
      EXPECT_TRUE(c.feasible) << c.why;
      EXPECT_GT(c.guarantee.tv, 0);
      EXPECT_GT(c.guarantee.epsilon0, 0);
      EXPECT_LE(delta_up(c.guarantee, 1), delta);
      EXPECT_GE(delta_up(c.guarantee, 1), delta * (1 - 1e-3)) << "less was bought than paid for";
    }
  }
  const Candidate c = planned(1e-6, "proximal", 2000);
  EXPECT_TRUE(c.feasible) << c.why;
  EXPECT_LE(delta_up(c.guarantee, 1), 1e-6);
}

}  // namespace noise_law_test
}  // namespace gibbsite
