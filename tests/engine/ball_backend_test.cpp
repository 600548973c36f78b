// Chains in a ball: on every backend the reference's, step by step, and inside.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string_view>
#include <utility>

#include "gibbsite/core/ball.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/engine/engine.hpp"
#include "support/backend.hpp"
#include "support/forwarding_engine.hpp"
#include "support/odd_rows.hpp"

namespace gibbsite {
namespace ball_backend_test {

constexpr std::uint64_t ball_steps = 12;

class BallChains : public support::TestOn {
 protected:
  BallChains() : TestOn(GIBBSITE_TEST_BACKEND) {}

  static Ensemble chains(std::size_t d, std::size_t count) {
    std::vector<ChainSpec> specs;
    for (std::uint32_t c = 0; c < count; ++c) {
      specs.push_back({.inverse_temperature = 0.5,
                       .prior_precision = 0.1,
                       .step_size = 0.01,
                       .iterations = ball_steps - c % 3,
                       .key = StreamKey::from_seed(7),
                       .stream = c});
    }
    return start(std::move(specs), d);
  }
  // Without the column of large numbers: a step of these is to contract.
  static support::OddRows tame(std::size_t d, bool sparse) {
    support::OddRows p = support::make_odd_rows(300, d, 3);
    for (std::size_t i = 0; i < p.n; ++i) {
      p.x[i * d + d - 2] = 0;
      for (std::size_t j = 0; j + 1 < d; ++j) {
        if (sparse && (i + 3 * j) % 10 != 0) p.x[i * d + j] = 0;
      }
    }
    if (sparse) support::make_sparse(p);
    return p;
  }
  static std::unique_ptr<Engine> engine(const support::OddRows& rows, const char* backend) {
    return support::make_test_backend(backend)->load(rows.view(), rows.y, loss_named("logistic"));
  }
};

TEST_F(BallChains, AreTheReferencesAndInside) {
  for (const bool sparse : {false, true}) {  // both layouts of rows
    for (const std::size_t count : {1U, 7U}) {
      const support::OddRows rows = sparse ? tame(40, true) : tame(9, false);
      const auto here = engine(rows, GIBBSITE_TEST_BACKEND), oracle = engine(rows, "reference");
      for (const double ball : {0.05, 0.4}) {
        Ensemble found = chains(rows.d, count), expected = found, cut = found, open = found;
        std::vector<double> gradient(found.theta.size()), noise(rows.d);
        int kept_back = 0;
        for (std::uint64_t step = 0; step < ball_steps; ++step) {
          advance_in_ball(*here, found, ball, 1);
          // By hand: the oracle's gradient, the step of one chain, the projection.
          oracle->loss_gradients({expected.theta.data(), count, rows.d},
                                 {gradient.data(), count, rows.d});
          for (std::size_t c = 0; c < count; ++c) {
            const std::uint64_t T = expected.specs[c].iterations;
            if (expected.step[c] == T) continue;
            langevin_update(expected.specs[c], expected.step[c],
                            std::span(gradient).subspan(c * rows.d, rows.d), expected.chain(c),
                            noise);
            const bool last = ++expected.step[c] == T;
            kept_back += !in_ball(expected.chain(c), ball);
            if (!last) project_on_ball(expected.chain(c), ball);
            ASSERT_EQ(found.step[c], expected.step[c]);
            ASSERT_TRUE(last || in_ball(found.chain(c), ball)) << "step " << step;
          }
          for (std::size_t k = 0; k < found.theta.size(); ++k) {
            ASSERT_NEAR(found.theta[k], expected.theta[k], 1e-9) << "step " << step;
          }
        }
        EXPECT_GT(kept_back, 5);  // the ball has a say
        EXPECT_TRUE(found.finished());
        // A run that is cut into parts gives the same bits.
        advance_in_ball(*here, cut, ball, 5);
        advance_in_ball(*here, cut, ball, 1'000'000);
        EXPECT_EQ(cut.theta, found.theta);
        here->advance(open, ball_steps);
        EXPECT_NE(open.theta, found.theta);
      }
      Ensemble large = chains(rows.d, count), open = large;
      advance_in_ball(*here, large, 1e9, ball_steps);
      for (std::uint64_t step = 0; step < ball_steps; ++step) here->advance(open, 1);
      EXPECT_EQ(large.theta, open.theta);
      EXPECT_THROW(advance_in_ball(*here, large, 0, 1), BadInput);
    }
  }
}

/// Whether it was ever asked for a gradient at a point outside of the ball, or for two steps at
/// once.
class WatchedBall : public support::ForwardingEngine {
 public:
  WatchedBall(std::shared_ptr<Engine> inner, double ball)
      : support::ForwardingEngine(std::move(inner)), ball_(ball) {}
  void advance(Ensemble& ensemble, std::uint64_t steps) override {
    ++asked;
    left += steps != 1;
    for (std::size_t c = 0; c < ensemble.chains(); ++c) {
      if (ensemble.step[c] < ensemble.specs[c].iterations)
        left += !in_ball(ensemble.chain(c), ball_);
    }
    support::ForwardingEngine::advance(ensemble, steps);
  }
  int asked = 0, left = 0;

 private:
  double ball_;
};

// What a slope without a bound rests on (docs/theory/ball.md, "The squared loss"): from the start,
// here at the edge, to the last step, however far a step goes beyond.
TEST_F(BallChains, AskForGradientsInTheBallAlone) {
  support::OddRows rows = tame(9, false);
  for (std::size_t i = 0; i < rows.n; ++i) rows.y[i] = i % 3 == 0 ? 40.0F : -7.5F;
  const Loss& loss = loss_named(on_a_gpu() ? "logistic" : "squared");
  for (const double ball : {1e-3, 0.3, 1e6}) {
    WatchedBall watched(
        support::make_test_backend(GIBBSITE_TEST_BACKEND)->load(rows.view(), rows.y, loss), ball);
    std::vector<ChainSpec> specs(5, {.inverse_temperature = 0.5,
                                     .prior_precision = 0.1,
                                     .step_size = 0.01,
                                     .iterations = ball_steps,
                                     .key = StreamKey::from_seed(8)});
    for (std::uint32_t c = 0; c < specs.size(); ++c) {
      specs[c].stream = c;
      specs[c].center.assign(rows.d, 0);
      specs[c].center[c] = ball * (1 - 1e-12);  // in_ball wants room for a norm's roundings
    }
    Ensemble e = start(std::move(specs), rows.d);
    advance_in_ball(watched, e, ball, 5);
    advance_in_ball(watched, e, ball, 1000);
    EXPECT_EQ(watched.asked, static_cast<int>(ball_steps));
    EXPECT_EQ(watched.left, 0) << ball;
    EXPECT_TRUE(e.finished());
    if (ball > 1) continue;
    bool beyond = false;
    for (std::size_t c = 0; c < e.chains(); ++c) beyond = beyond || !in_ball(e.chain(c), ball);
    EXPECT_TRUE(beyond);  // the last step is projected with the release
  }
}

}  // namespace ball_backend_test
}  // namespace gibbsite
