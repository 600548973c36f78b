// Capped gradients of weighted classes and of rows with offsets: what is held is held before the
// weight, in the dense, the sparse and the wide engine.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "gibbsite/core/error.hpp"
#include "gibbsite/engine/engine.hpp"
#include "support/backend.hpp"
#include "support/loss_oracle.hpp"
#include "support/odd_rows.hpp"

namespace gibbsite {
namespace targets_backend_test {

using support::OddRows;

class CappedTargets : public support::TestOn {
 protected:
  CappedTargets() : TestOn(GIBBSITE_TEST_BACKEND) {}
};

OddRows plain_rows(std::size_t n, std::size_t d, double per_row, const Loss& loss) {
  OddRows p{n, d, std::vector<float>(n * d), support::random_labels(loss, n, 1, 4)};
  std::mt19937 bits(9);
  std::normal_distribution<float> normal;
  std::bernoulli_distribution keep(per_row > 0 ? per_row / static_cast<double>(d) : 1.0);
  for (float& v : p.x) v = keep(bits) ? normal(bits) : 0.0F;
  if (per_row > 0) support::make_sparse(p);
  return p;
}

TEST_F(CappedTargets, AreHeldBeforeTheyAreWeighed) {
  if (on_a_gpu()) GTEST_SKIP() << "no kernels";
  struct Shape {
    std::size_t n, d;
    double per_row;
  };
  for (const auto& [name, N] : {std::pair{"logistic(0.4,1)", 0.0},
                                {"logistic(1,1e-06)", 0.0},
                                {"poisson", 0.0},
                                {"poisson", 5.0}}) {
    const Loss& loss = loss_named(name);
    for (const auto& [n, d, per_row] : {Shape{1, 1, 0}, Shape{37, 7, 0}, Shape{1300, 11, 0},
                                        Shape{400, 60, 5}, Shape{60, 3000, 3}}) {
      SCOPED_TRACE(fmt::format("{}, N {}, {} x {}", name, N, n, d));
      OddRows p = plain_rows(n, d, per_row, loss);
      if (loss.label() == LabelKind::count) {
        for (std::size_t i = 0; i < n; ++i) p.offset.push_back(-static_cast<float>(i % 8));
      }
      const auto engine =
          support::make_test_backend(GIBBSITE_TEST_BACKEND)->load(p.view(), p.y, loss);
      std::vector<double> identity(d, 0.0), theta(d), out(d, NAN);
      for (std::size_t j = 0; j < d; ++j) {
        identity[j] = 1;  // P [d x 1]: |sum of a row| is its norm
        theta[j] = 2 * std::sin(static_cast<double>(j + 1));
      }
      const double clip = 0.8;
      const auto capped = engine->capped_loss(
          {identity.data(), d, 1}, {.clip = clip,
                                    .information = std::numeric_limits<double>::infinity(),
                                    .largest_count = N});
      const double curvature = capped->gradient(theta, out);
      std::vector<long double> exact(d, 0);
      long double exact_curvature = 0;
      std::size_t held = 0;
      for (std::size_t i = 0; i < n; ++i) {
        long double z = p.offset.empty() ? 0.0F : p.offset[i], norm = 0;
        for (std::size_t j = 0; j < d; ++j) {
          z += static_cast<long double>(p.x[i * d + j]) * theta[j];
          norm += p.x[i * d + j];
        }
        const auto f = support::exact_loss(loss.unweighted().name(), z, p.y[i]);
        const long double w = class_weight(loss.class_weights(), p.y[i]);
        const long double cap = std::min(1.0L, clip / std::fabs(norm));
        // Logistic and counts up to N: a weight that does not look at the label. Without N: held.
        const bool counts = loss.label() == LabelKind::count, weighted = !counts || N > 0;
        const long double size = std::fabs(f.derivative);
        const long double mean = f.derivative + static_cast<long double>(p.y[i]);
        const long double longest =
            counts ? std::max(mean, std::min((1 + 2 * std::sqrt(N * mean)) / N, 1 - mean))
                   : std::max(size, 1 - size);
        const long double part = weighted ? std::min(1.0L, cap / longest) : 1;
        const long double derivative = std::clamp(part * f.derivative, -cap, cap);
        held += derivative != f.derivative ? 1 : 0;
        if (weighted || derivative == f.derivative) exact_curvature += w * part * f.curvature;
        for (std::size_t j = 0; j < d; ++j) exact[j] += w * derivative * p.x[i * d + j];
      }
      // Caps are below by the roundings of a product of d terms in floats.
      const double near = d > 1000 ? 1e-2 : 2e-6 * static_cast<double>(n);
      for (std::size_t j = 0; j < d; ++j)
        EXPECT_NEAR(out[j], static_cast<double>(exact[j]), near) << j;
      // A weight follows the cap, which is below; what is held jumps.
      const double of_curvature =
          loss.label() == LabelKind::two_classes || N > 0 ? near : 1e-9 * static_cast<double>(n);
      EXPECT_NEAR(curvature, static_cast<double>(exact_curvature), of_curvature);
      if (n > 30) {
        EXPECT_GT(held, n / 20);
        EXPECT_LT(held, n - n / 20);
      }
    }
  }
}

// Weights that are all the same and offsets that are all 0 change no bit.
TEST_F(CappedTargets, OffsetsOfZeroChangeNoBit) {
  if (on_a_gpu()) GTEST_SKIP() << "no kernels";
  const Loss& loss = loss_named("poisson");
  for (const double per_row : {0.0, 4.0}) {
    OddRows p = plain_rows(1500, 30, per_row, loss);
    const auto without =
        support::make_test_backend(GIBBSITE_TEST_BACKEND)->load(p.view(), p.y, loss);
    OddRows q = p;
    q.offset.assign(p.n, 0.0F);
    const auto with = support::make_test_backend(GIBBSITE_TEST_BACKEND)->load(q.view(), q.y, loss);
    EXPECT_EQ(without->largest_offset(), 0);
    for (const std::size_t chains : {1U, 3U, 40U}) {
      const Ensemble e = support::make_odd_chains(chains, p.d);
      std::vector<double> a(e.theta.size()), b(e.theta.size()), f(chains), g(chains);
      without->loss_gradients({e.theta.data(), chains, p.d}, {a.data(), chains, p.d});
      with->loss_gradients({e.theta.data(), chains, p.d}, {b.data(), chains, p.d});
      EXPECT_EQ(a, b);
      without->loss_values({e.theta.data(), chains, p.d}, f);
      with->loss_values({e.theta.data(), chains, p.d}, g);
      EXPECT_EQ(f, g);
    }
  }
}

// Weighted classes, rows with offsets and with weights, in the dense, the sparse and the wide
// engine.
TEST_F(CappedTargets, LossesBesideGradientsAreThoseAlone) {
  if (on_a_gpu()) GTEST_SKIP() << "no kernels";
  for (const char* name : {"logistic", "logistic(0.4,1)", "poisson", "huber"}) {
    const Loss& loss = loss_named(name);
    for (const auto& [n, d, per_row] :
         {std::tuple{1U, 1U, 0.0}, std::tuple{37U, 7U, 0.0}, std::tuple{1300U, 11U, 0.0},
          std::tuple{2500U, 60U, 5.0}, std::tuple{60U, 3000U, 3.0}}) {
      OddRows p = plain_rows(n, d, per_row, loss);
      for (std::size_t i = 0; i < n; ++i) {
        if (loss.label() == LabelKind::count) p.offset.push_back(-static_cast<float>(i % 8));
        p.weight.push_back(static_cast<float>(i % 5) / 4);
      }
      const auto engine =
          support::make_test_backend(GIBBSITE_TEST_BACKEND)->load(p.view(), p.y, loss);
      for (const std::size_t chains : {1U, 2U, 3U, 4U, 5U, 40U}) {
        SCOPED_TRACE(fmt::format("{}, {} x {}, {} chains", name, n, d, chains));
        const Ensemble e = support::make_odd_chains(chains, d);
        std::vector<double> alone(e.theta.size()), g(e.theta.size(), NAN), f(chains);
        std::vector<double> v(chains, NAN);
        engine->loss_gradients({e.theta.data(), chains, d}, {alone.data(), chains, d});
        engine->loss_values({e.theta.data(), chains, d}, f);
        engine->loss_values_and_gradients({e.theta.data(), chains, d}, v, {g.data(), chains, d});
        EXPECT_EQ(g, alone);
        for (std::size_t c = 0; c < chains; ++c)
          EXPECT_NEAR(v[c], f[c], 1e-12 * (1 + std::fabs(f[c])));
      }
    }
  }
}

TEST_F(CappedTargets, OffsetsAreFoundAndBounded) {
  if (on_a_gpu()) {
    OddRows p = plain_rows(4, 2, 0, loss_named("logistic"));
    p.offset = {0, 0, 0, 0};
    EXPECT_THROW(static_cast<void>(support::make_test_backend(GIBBSITE_TEST_BACKEND)
                                       ->load(p.view(), p.y, loss_named("logistic"))),
                 BadInput);
    return;
  }
  const Loss& loss = loss_named("poisson");
  OddRows p = plain_rows(4, 2, 0, loss);
  p.offset = {0, -1.5F, -2, 0};
  const auto engine = support::make_test_backend(GIBBSITE_TEST_BACKEND)->load(p.view(), p.y, loss);
  EXPECT_EQ(engine->largest_offset(), 2);
  RowLimits limits{.norm_squared = 1e9, .label = LabelKind::count, .offset_bound = 2};
  EXPECT_FALSE(engine->first_fault(limits));
  limits.offset_bound = 1.5;
  ASSERT_TRUE(engine->first_fault(limits));
  EXPECT_EQ(engine->first_fault(limits)->row, 2U);
  EXPECT_EQ(engine->first_fault(limits)->what, RowFault::What::offset);
  const OddRows several = plain_rows(3, 2, 0, loss_named("softmax-3"));
  OddRows q = several;
  q.offset = {0, 0, 0};
  EXPECT_THROW(static_cast<void>(support::make_test_backend(GIBBSITE_TEST_BACKEND)
                                     ->load(q.view(), q.y, loss_named("softmax-3"))),
               BadInput);
}

}  // namespace targets_backend_test
}  // namespace gibbsite
