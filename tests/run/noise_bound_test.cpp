// How far privacy's noise moves a coefficient: the bound on screen, against chains that run.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <tuple>

#include "gibbsite/core/error.hpp"
#include "gibbsite/engine/ensemble.hpp"
#include "gibbsite/gibbsite.hpp"
#include "gibbsite/mechanism/mechanism.hpp"

namespace gibbsite {
namespace noise_bound_test {

// The bound for curvatures in [m, M]: one row of norm 2 has curvature 1 at beta = 1.
double path_noise(double h, double m, double M, double T) {
  Problem one;
  one.rows = 1;
  one.features = 1;
  one.row_norm = 2;
  return *coefficient_noise_up(Path{Calibration::gdp, M - m, m, h, T}, one);
}

// U quadratic with curvature k in [m, M]: theta_T is Gaussian with variance 2h sum (1 - hk)^2i. The
// bound is the largest of them, attained at one end.
TEST(CoefficientNoise, IsAttainedByAQuadratic) {
  for (const auto& [h, m, M] :
       {std::array{0.1, 0.5, 4.0}, std::array{0.4, 0.5, 4.0}, std::array{0.5, 0.0, 4.0},
        std::array{0.01, 0.0, 9.0}, std::array{0.25, 4.0, 4.0}, std::array{0.49, 3.0, 4.0}}) {
    for (const int T : {1, 2, 5, 100}) {
      double largest = 0;
      for (const double k : {m, M}) {
        double variance = 0;
        for (int i = 0; i < T; ++i) variance = (1 - h * k) * (1 - h * k) * variance + 2 * h;
        largest = std::max(largest, variance);
      }
      const double s = path_noise(h, m, M, T);
      EXPECT_NEAR(s * s / largest, 1, 1e-12) << h << ' ' << m << ' ' << M << ' ' << T;
      EXPECT_GE(s * s, largest * (1 - 1e-14));
    }
  }
  EXPECT_NEAR(path_noise(1e-8, 1, 100, 1e12), 1, 1e-6);  // forgotten: 1/sqrt(m)
}

TEST(CoefficientNoise, OfATvCertificateIsThatOfItsPrior) {
  Proximal c;
  c.prior_precision = 4;
  EXPECT_DOUBLE_EQ(*coefficient_noise_up(c, {}), 0.5);
  c.prior_precision = 0;
  EXPECT_THROW(coefficient_noise_up(c, {}), BadInput);
}

// Logistic chains, four shapes: each coordinate within 1.96 s of its median. The median is that of
// 20,000 other chains: at level 0.5 +- 0.0225 but with probability 4e-9 (Hoeffding). Isoperimetry
// from a set of mass 0.4775 on either side leaves at most 2 Phi(-1.96 + 0.0565) = 0.057 outside,
// and the fraction seen is less by 0.0225 with probability 2e-9: 0.9205, 6e-8 in all.
TEST(CoefficientNoise, HoldsForLogisticChains) {
  constexpr std::uint32_t chains = 20000;
  std::mt19937_64 random(17);
  std::uniform_real_distribution<double> uniform(0, 1);
  const Model model = logistic_regression();
  const auto backend = make_backend("cpu");
  bool near = false;  // the bound is not idle
  for (const auto& [d, prior, relative, T] :
       {std::tuple{1U, 0.5, 1.0, 20U}, std::tuple{3U, 0.0, 0.5, 8U}, std::tuple{2U, 2.0, 1.9, 5U},
        std::tuple{2U, 0.0, 0.2, 2U}}) {
    const std::size_t n = 30;
    std::vector<float> x(n * d), y(n);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < d; ++j)
        x[i * d + j] = static_cast<float>(uniform(random) / std::sqrt(d));
      y[i] = uniform(random) < 0.8 ? 1.0F : -1.0F;
    }
    const double beta = 2, M = beta * static_cast<double>(n) * 0.25 + prior, h = relative / M;
    const auto draw = [&, d = d, prior = prior, T = T](std::uint64_t seed) {
      std::vector<ChainSpec> specs;
      for (std::uint32_t c = 0; c < chains; ++c) {
        specs.push_back({.inverse_temperature = beta,
                         .prior_precision = prior,
                         .step_size = h,
                         .iterations = T,
                         .center = {},
                         .key = StreamKey::from_seed(seed),
                         .stream = c});
      }
      Ensemble ensemble = start(std::move(specs), d);
      const auto engine = backend->load(Rows(x.data(), n, d), y, *model.loss);
      while (!ensemble.finished()) engine->advance(ensemble, T);
      return ensemble.theta;
    };
    const double s = path_noise(h, prior, M, T);
    const std::vector<double> for_median = draw(1), tested = draw(2);
    for (std::size_t j = 0; j < d; ++j) {
      std::vector<double> column(chains);
      for (std::size_t c = 0; c < chains; ++c) column[c] = for_median[c * d + j];
      std::ranges::nth_element(column, column.begin() + chains / 2);
      const double median = column[chains / 2];
      const auto fraction = [&, d = d](double t) {
        std::size_t inside = 0;
        for (std::size_t c = 0; c < chains; ++c)
          if (std::fabs(tested[c * d + j] - median) <= t * s) ++inside;
        return static_cast<double>(inside) / chains;
      };
      EXPECT_GE(fraction(1.96), 0.9205) << d << ' ' << j;
      near = near || fraction(1.96 / 1.2) < 0.9205;  // 20 % less noise would be refuted
    }
  }
  EXPECT_TRUE(near);
}

}  // namespace noise_bound_test
}  // namespace gibbsite
