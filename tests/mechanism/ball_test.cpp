#include "gibbsite/mechanism/ball.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "gibbsite/core/ball.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/mechanism/map_error.hpp"
#include "gibbsite/mechanism/plan.hpp"
#include "gibbsite/model/loss.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "support/reference_values.hpp"
#include "support/repeats.hpp"

namespace gibbsite {
namespace ball_test {

using ::testing::HasSubstr;
using Vector = std::vector<double>;

Problem in_ball_problem(std::uint64_t rows = 5000, std::uint64_t features = 20) {
  Problem p;
  p.rows = rows;
  p.features = features;
  p.one_signed = true;
  return p;
}

Problem capped_problem() {
  Problem p = in_ball_problem();
  p.loss = "logistic-capped";
  p.max_abs_derivative = 0.5;
  return p;
}

double sigmoid(double t) { return 1 / (1 + std::exp(-t)); }

TEST(BallSensitivity, IsAboveTheReferenceByLittle) {
  const auto cases = support::reference_cases("mechanisms_ball_sensitivity");
  if (cases.empty()) GTEST_SKIP() << support::no_reference_values;
  int compared = 0;
  for (const auto& c : cases) {
    const bool logistic = c["loss"] == "logistic";
    const double reference = std::stod(c["sensitivity_over_R"].get<std::string>());
    const double rho = std::stod(c["RB"].get<std::string>());
    const double found = logistic
                             ? logistic_difference_up(rho)
                             : squared_difference_up(rho, std::stod(c["Y"].get<std::string>()));
    EXPECT_GE(found, reference * (1 - 1e-15)) << c;
    EXPECT_LE(found, reference * (logistic ? 1.001 : 1 + 1e-14)) << c;
    ++compared;
  }
  EXPECT_EQ(compared, 15);
}

Problem squared_problem(double Y = 5, std::uint64_t rows = 5000, std::uint64_t features = 20) {
  Problem p;
  p.rows = rows;
  p.features = features;
  p.label_bound = Y;
  set_loss(p, loss_named("squared"));
  return p;
}

// Never above two slopes, never below what two rows at an angle of 0 or pi/2 have, and rising, from
// radii where the square root would cancel to those where Y is lost beside rho.
TEST(BallSensitivity, OfTheSquaredLossIsBetweenWhatIsPlain) {
  for (const double Y : {1e-30, 1e-3, 1.0, 5.0, 1e6, 1e30}) {
    double last = 0;
    for (double rho = 1e-100; rho < 1e100; rho *= 7.3) {
      const double s = squared_difference_up(rho, Y);
      EXPECT_LE(s, 2 * (rho + Y) * (1 + 1e-15)) << rho << ' ' << Y;
      EXPECT_GE(s, std::max(2 * Y, rho + std::sqrt(2.0) * Y) * (1 - 1e-15)) << rho << ' ' << Y;
      EXPECT_GE(s, last);
      EXPECT_LE(s, squared_difference_up(rho, 2 * Y));
      last = s;
    }
  }
  EXPECT_GE(squared_difference_up(0, 3), 6);
  EXPECT_LE(squared_difference_up(0, 3), 6 * (1 + 1e-15));
  for (const double bad : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW(squared_difference_up(bad, 1), BadInput) << bad;
    EXPECT_THROW(squared_difference_up(1, bad), BadInput) << bad;
  }
  EXPECT_THROW(squared_difference_up(1, 0), BadInput);
}

TEST(BallSensitivity, RisesFromOneToTwo) {
  EXPECT_GE(logistic_difference_up(0), 1);
  EXPECT_LE(logistic_difference_up(0), 1.0005);
  double last = 0;
  for (double rho = 0; rho < 1e4; rho = rho * 1.3 + 0.05) {
    const double s = logistic_difference_up(rho);
    EXPECT_GE(s, last * (1 - 1e-3)) << rho;
    EXPECT_LE(s, 2);
    last = s;
  }
  EXPECT_EQ(logistic_difference_up(1e300), 2);
  EXPECT_THROW(logistic_difference_up(-1), BadInput);
  EXPECT_THROW(logistic_difference_up(std::nan("")), BadInput);
}

Vector random_in_ball(std::mt19937_64& random, std::size_t d, double radius, bool on_the_edge) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  Vector out(d);
  for (double& v : out) v = normal(random);
  const double norm = std::sqrt(std::inner_product(out.begin(), out.end(), out.begin(), 0.0));
  const double length = on_the_edge ? radius : radius * uniform(random);
  for (double& v : out) v *= length / norm;
  return out;
}

double dot(const Vector& a, const Vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}
double apart(const Vector& u, const Vector& v, double a, double b) {
  double sum = 0;
  for (std::size_t j = 0; j < u.size(); ++j) {
    const double gap = a * u[j] - b * v[j];
    sum += gap * gap;
  }
  return std::sqrt(sum);
}
// The distance of two rows' gradients of the logistic loss, whose slope is capped at `cap`.
auto logistic_pair(double cap) {
  return [cap](const Vector& theta, const Vector& u, const Vector& v) {
    return apart(u, v, std::min(cap, sigmoid(-dot(u, theta))),
                 std::min(cap, sigmoid(-dot(v, theta))));
  };
}
// The largest distance of two rows' gradients of the squared loss. It is convex in each label, so
// the ends are worst.
auto squared_pair(double Y) {
  return [Y](const Vector& theta, const Vector& u, const Vector& v) {
    double worst = 0;
    for (const double y : {-Y, Y}) {
      for (const double z : {-Y, Y})
        worst = std::max(worst, apart(u, v, dot(u, theta) - y, dot(v, theta) - z));
    }
    return worst;
  };
}

// The worst pair that a search from many starts finds, rows and theta of any length and direction.
template <class Difference>
double searched(double rho, std::size_t d, const Difference& difference, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  double best = 0;
  for (int start = 0; start < 60; ++start) {
    const bool edge = start % 2 == 0;
    Vector theta = random_in_ball(random, d, rho, edge);
    Vector u = random_in_ball(random, d, 1, edge), v = random_in_ball(random, d, 1, edge);
    double here = difference(theta, u, v), scale = 0.5;
    for (int move = 0; move < 1500; ++move) {
      const auto moved = [&](const Vector& from, double radius) {
        Vector out = from;
        for (double& x : out) x += scale * radius * normal(random);
        project_on_ball(out, radius);
        return out;
      };
      const Vector t = moved(theta, rho), a = moved(u, 1), b = moved(v, 1);
      const double there = difference(t, a, b);
      if (there > here) {
        here = there, theta = t, u = a, v = b;
      } else {
        scale = std::max(scale * 0.99, 1e-4);
      }
    }
    best = std::max(best, here);
  }
  return best;
}

// Nothing found exceeds the bound, and something comes within 0.5 % of it: half the bound, or the
// bound of a ball of half the radius, would be found out.
TEST(BallSensitivity, NoRandomSearchExceedsIt) {
  std::mt19937_64 random(20250304);
  support::Thinned sweep(5);
  for (const double rho : {0.01, 0.3, 1.0, 3.0, 8.0, 40.0}) {
    const double bound = logistic_difference_up(rho);
    double best = 0;
    for (const std::size_t d : {1U, 2U, 3U, 5U}) {
      if (sweep.skips()) continue;
      const double found = searched(rho, d, logistic_pair(1), random);
      EXPECT_LE(found, bound) << "rho " << rho << ", d " << d;
      best = std::max(best, found);
    }
    if (support::sanitized) continue;  // what comes near was perhaps left out
    EXPECT_GT(best, 0.995 * bound) << rho;
    if (rho >= 1) {
      EXPECT_GT(best, logistic_difference_up(rho / 2)) << rho;
    }
  }
}

// No pair that a search finds exceeds the bound for the squared loss. In one dimension pairs stay
// below it; in more they reach it.
TEST(BallSensitivity, NoRandomSearchExceedsThatOfTheSquaredLoss) {
  if (support::sanitized) GTEST_SKIP() << "a release tells";
  std::mt19937_64 random(20261123);
  for (const double Y : {0.2, 6.0}) {
    for (const double rho : {0.01, 1.0, 8.0}) {
      const double bound = squared_difference_up(rho, Y);
      double best = 0;
      for (const std::size_t d : {1U, 2U, 3U}) {
        const double found = searched(rho, d, squared_pair(Y), random);
        EXPECT_LE(found, bound * (1 + 1e-14)) << "rho " << rho << ", Y " << Y << ", d " << d;
        best = std::max(best, found);
      }
      EXPECT_GT(best, 0.995 * bound) << rho << ' ' << Y;
      EXPECT_GT(best, squared_difference_up(rho, 0.9 * Y) * (rho < Y ? 1 : 0.9)) << rho;
      if (rho >= Y) {
        EXPECT_GT(best, squared_difference_up(rho / 2, Y)) << rho;
      }
    }
  }
}

// Rows shorter than the other are no worse, whatever the angle between them: the lemma of
// docs/theory/ball.md, on a grid.
TEST(BallSensitivity, ShorterRowsAreNoWorseForTheSquaredLoss) {
  for (const double Y : {0.1, 1.0, 10.0}) {
    for (const double rho : {0.1, 1.0, 10.0}) {
      const double bound = squared_difference_up(rho, Y);
      for (double q = 0; q <= 1; q += 0x1p-7) {
        for (double angle = 0; angle <= std::acos(0.0); angle += 0.01) {
          const double s = q * std::sin(angle), t = (1 - q * q) / 2;
          const double found =
              rho * (t + std::hypot(t, s)) + Y * std::sqrt(1 + q * q + 2 * q * std::cos(angle));
          EXPECT_LE(found, bound * (1 + 1e-14)) << q << ' ' << angle;
        }
      }
    }
  }
}

// A ball has nothing for the capped loss: whatever its radius, two rows differ by 2cR in it.
TEST(BallSensitivity, TheCappedLossNeedsNone) {
  std::mt19937_64 random(20250305);
  const Neighbors who;
  for (const double rho : {1e-3, 1.0, 20.0}) {
    const double found = searched(rho, 2, logistic_pair(0.5), random);
    EXPECT_LE(found, 1 + 1e-12);
    EXPECT_GT(found, 0.999);
    EXPECT_DOUBLE_EQ(gradient_difference_up(capped_problem(), who, rho), 1);
  }
  EXPECT_FALSE(ball_sharpens(capped_problem()));
}

TEST(BallSensitivity, CountsRowsInterceptAndNeighbors) {
  const Problem p = in_ball_problem();
  const Neighbors replace, three{Adjacency::replace_one, 3}, add{Adjacency::add_remove, 2};
  const double s = logistic_difference_up(1);
  EXPECT_DOUBLE_EQ(gradient_difference_up(p, replace, 1), s);
  EXPECT_DOUBLE_EQ(gradient_difference_up(p, three, 1), 3 * s);
  EXPECT_NEAR(gradient_difference_up(p, add, 1), 2 * sigmoid(1), 1e-15);
  EXPECT_GE(Wide(gradient_difference_up(p, add, 1)), 2 / (1 + exp(Wide(-1))));
  EXPECT_DOUBLE_EQ(gradient_difference_up(p, replace, 0), 2);
  EXPECT_DOUBLE_EQ(gradient_difference_up(p, add, 0), 2);
  EXPECT_DOUBLE_EQ(gradient_difference_up(p, replace, 1e50), 2);
  Problem wide = p;
  wide.row_norm = 3;
  wide.intercept = true;
  EXPECT_NEAR(gradient_difference_up(wide, replace, 0.5),
              std::sqrt(10) * logistic_difference_up(std::sqrt(10) * 0.5), 1e-6);
}

TEST(BallSensitivity, OfTheSquaredLossCountsRowsInterceptAndNeighbors) {
  Problem p = squared_problem(4);
  const Neighbors replace, three{Adjacency::replace_one, 3}, add{Adjacency::add_remove, 2};
  const double s = squared_difference_up(1, 4);
  EXPECT_DOUBLE_EQ(gradient_difference_up(p, replace, 1), s);
  EXPECT_DOUBLE_EQ(gradient_difference_up(p, three, 1), 3 * s);
  EXPECT_DOUBLE_EQ(gradient_difference_up(p, add, 1), 2 * (1 + 4));
  EXPECT_TRUE(ball_sharpens(p));
  p.row_norm = 3;
  p.intercept = true;
  const double R = std::sqrt(10);
  EXPECT_NEAR(gradient_difference_up(p, replace, 0.5), R * squared_difference_up(R / 2, 4), 1e-13);
  EXPECT_NEAR(gradient_difference_up(p, add, 0.5), 2 * R * (R / 2 + 4), 1e-13);
  EXPECT_NEAR(p.max_abs_derivative_up(0.5), R / 2 + 4, 1e-14);
  EXPECT_NEAR(p.lipschitz_up(0.5), R * (R / 2 + 4), 1e-13);
  for (const auto& who : {replace, add}) EXPECT_THROW(gradient_difference_up(p, who, 0), BadInput);
  EXPECT_THROW(static_cast<void>(p.max_abs_derivative_up()), BadInput);
  EXPECT_THROW(static_cast<void>(p.lipschitz_up()), BadInput);
  EXPECT_THROW(static_cast<void>(p.sensitivity_up(1, Adjacency::replace_one, 1)), BadInput);
  // Another loss that a ball alone bounds: two slopes.
  p.loss = "another";
  EXPECT_NEAR(gradient_difference_up(p, replace, 0.5), 2 * R * (R / 2 + 4), 1e-13);
}

// Points of a ball are published on the grid: one in which they can all be rounded to 0 is refused,
// in any other the farthest ones, worst along the diagonal, are not.
TEST(BallPlan, RefusesABallThatTheGridEmpties) {
  int refused = 0, taken = 0;
  for (const Problem& p : {in_ball_problem(), squared_problem(), in_ball_problem(50, 3)}) {
    for (double ball = 1e-9; ball < 10; ball *= support::repeats(3.1, 20.0)) {
      SCOPED_TRACE(ball);
      const Budget budget{1, 1e-6};
      const Candidate found = candidate(std::type_identity<Path>{}, p, budget, {.ball = ball});
      const Analysis analysis = analyze(found.mechanism, p, budget.neighbors(), 1);
      const double grid = analysis.release_grid;
      std::vector<double> far(p.features, 10.0);
      project_on_ball(far, ball, grid);
      const bool empties = far[0] == 0;
      if (found.feasible) {
        EXPECT_FALSE(empties) << grid;
        ++taken;
      } else {
        EXPECT_TRUE(empties || ball < 1.001 * grid * std::sqrt(static_cast<double>(p.features)));
        EXPECT_THAT(found.why, HasSubstr("can be all zeros"));
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, support::repeats(25, 5));
  EXPECT_GT(taken, support::repeats(8, 2));
}

// The largest beta, for both neighbors: it keeps the budget, 1e-9 more does not, and it is as much
// larger than without a ball as the sensitivity is smaller.
TEST(BallPath, CalibratesTightly) {
  const Neighbors replace, add{Adjacency::add_remove, 2};
  const Problem p = in_ball_problem();
  for (const Neighbors& who : {replace, add}) {
    for (const double ball : {0.1, 1.0, 5.0}) {
      for (const double m : {0.0, 1.0}) {
        for (const double T : {1.0, 50.0}) {
          const auto found = path_calibrate_relative(p, who, 0.2, {0, m, 0, T, ball}, 1.5);
          EXPECT_LE(found.mu, 0.2);
          const double beta = found.beta * (1 + 1e-9);
          const double h = 1.5 / (p.smoothness_up(beta, m) + m);
          EXPECT_GT(path_certificate(p, who, {beta, m, h, T, ball}).mu, 0.2);
          EXPECT_GT(found.beta, path_calibrate_relative(p, who, 0.2, {0, m, 0, T}, 1.5).beta);
          EXPECT_DOUBLE_EQ(found.sensitivity, found.beta * gradient_difference_up(p, who, ball));
          const auto fixed = path_calibrate_fixed(p, who, 0.2, {0, m, found.step_size, T, ball});
          EXPECT_LE(fixed.mu, 0.2);
          EXPECT_NEAR(fixed.beta, found.beta, 1e-6 * found.beta);
        }
      }
    }
  }
}

// What the projection is off by is in e, and iterates are as far from theta0 as the ball allows.
TEST(BallPath, PaysForItsProjection) {
  Problem p = in_ball_problem();
  for (const double ball : {1e-6, 1.0, 1e3}) {
    const MapBounds bounds = map_bounds_up(p, {0.1, 0, 1e-4, 100, ball});
    EXPECT_GE(bounds.map_error, projection_error_up(p.features, ball));
    EXPECT_DOUBLE_EQ(bounds.iterate_norm, ball);
    // All else as for the chain that starts there and takes a step.
    const MapBounds one = map_bounds_up(p, {0.1, 0, 1e-4, 1}, ball);
    EXPECT_LE(bounds.map_error, one.map_error + projection_error_up(p.features, ball) * 1.0001);
  }
  p.center_norm = 2;
  EXPECT_DOUBLE_EQ(map_bounds_up(p, {0.1, 0, 1e-4, 100, 3}).iterate_norm, 5);
}

template <class Make>
void expect_refusal(const Make& make, const char* what) {
  try {
    make();
    FAIL() << what;
  } catch (const BadInput& error) {
    EXPECT_THAT(error.what(), HasSubstr("`ball`"));
    EXPECT_THAT(error.what(), HasSubstr(what));
  }
}

TEST(BallPath, RefusesWhatIsNoBallAndWhoHasNone) {
  Problem p = in_ball_problem();
  const Budget budget;
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {0.0, -1.0, 1e-200, 1e200, infinity, std::nan("")}) {
    expect_refusal([&] { plan(p, budget, {.mechanism = "path", .ball = bad}); }, "a radius");
  }
  for (const std::string_view other : mechanism_names()) {
    if (other == Path::name) continue;
    expect_refusal([&] { plan(p, budget, {.mechanism = std::string(other), .ball = 1}); },
                   "only chains of `mechanism` path");
  }
  expect_refusal([&] { plan(p, budget, {.ball = 1}); }, "only chains of `mechanism` path");
  expect_refusal(
      [&] {
        plan(p, budget, {.mechanism = "path", .calibration = Calibration::minami_cor8, .ball = 1});
      },
      "minami-cor8");
  p.center_norm = 2;
  expect_refusal([&] { plan(p, budget, {.mechanism = "path", .ball = 1.9}); }, "start");
  EXPECT_NO_THROW(plan(p, budget, {.mechanism = "path", .ball = 2}));
}

TEST(BallPath, IsPlannedWithinItsBudget) {
  support::Thinned sweep(5);
  for (const auto adjacency : {Adjacency::replace_one, Adjacency::add_remove}) {
    for (const double ball : {0.05, 1.0, 20.0}) {
      for (const double epsilon : {0.1, 1.0, 8.0}) {
        if (sweep.skips()) continue;
        const Budget budget{epsilon, 1e-6, adjacency, 2, 3};
        const Problem p = in_ball_problem();
        const Plan made = plan(p, budget, {.mechanism = "path", .ball = ball});
        ASSERT_TRUE(made.candidate().feasible) << made.candidate().why;
        EXPECT_LE(delta_up(made.candidate().guarantee, epsilon), 1e-6);
        const Path& s = std::get<Path>(made.candidate().mechanism);
        EXPECT_EQ(s.ball, ball);
        EXPECT_EQ(setting(s, "ball"), ball);
        const Plan without = plan(p, budget, {.mechanism = "path"});
        EXPECT_GE(s.beta, std::get<Path>(without.candidate().mechanism).beta);
        EXPECT_EQ(setting(without.candidate().mechanism, "ball"), std::nullopt);
        // These settings without the ball do not keep the budget.
        Path open = s;
        open.ball = 0;
        const Analysis found = analyze(open, p, budget.neighbors(), budget.draws);
        EXPECT_GT(delta_up(found.guarantee, epsilon), 1e-6) << ball;
      }
    }
  }
  const Plan capped = plan(capped_problem(), Budget{}, {.mechanism = "path", .ball = 1});
  EXPECT_THAT(capped.candidate().why, HasSubstr("does not lower"));
}

// No number that is true in a ball alone reaches a mechanism that leaves it.
TEST(BallPath, IsAllThatTheSquaredLossMayHave) {
  const Problem p = squared_problem();
  const Budget budget;
  for (const std::string_view name : mechanism_names()) {
    const Plan made = plan(p, budget, {.mechanism = std::string(name)});
    EXPECT_FALSE(made.candidate().feasible) << name;
    EXPECT_THAT(made.candidate().why, HasSubstr("one row can do anything to squared")) << name;
    EXPECT_THAT(made.candidate().why, HasSubstr("`ball` (5:")) << name;
    EXPECT_THROW(require_feasible(made), Infeasible) << name;
    // The settings that another loss has.
    const Plan huber = plan(in_ball_problem(), budget, {.mechanism = std::string(name)});
    const Mechanism& settings = huber.candidate().mechanism;
    EXPECT_FALSE(bounds_derivatives(settings, p)) << name;
    EXPECT_THAT([&] { static_cast<void>(analyze(settings, p, {}, 1)); },
                testing::ThrowsMessage<BadInput>(HasSubstr("`model` squared: its slope")))
        << name;
  }
  const Plan automatic = plan(p, budget, {});
  EXPECT_FALSE(automatic.candidate().feasible);
  // With a ball there is one mechanism to choose.
  const Plan made = plan(p, budget, {.ball = 2});
  ASSERT_TRUE(made.candidate().feasible) << made.candidate().why;
  EXPECT_EQ(name_of(made.candidate().mechanism), "path");
  EXPECT_EQ(setting(made.candidate().mechanism, "ball"), 2);
  EXPECT_TRUE(bounds_derivatives(made.candidate().mechanism, p));
  for (const Candidate& candidate : made.candidates) {
    EXPECT_EQ(candidate.feasible, std::holds_alternative<Path>(candidate.mechanism));
  }
  Path open = std::get<Path>(made.candidate().mechanism);
  open.ball = 0;
  EXPECT_THROW(static_cast<void>(analyze(Mechanism(open), p, {}, 1)), BadInput);
  EXPECT_THROW(path_certificate(p, {}, {open.beta, 0, open.step_size, open.iterations}), BadInput);
}

// Within its budget or refused with the reason, however the shape is.
TEST(BallPath, OfTheSquaredLossKeepsItsBudgetAtOddShapes) {
  support::Thinned sweep(7);
  int feasible = 0, refused = 0;
  for (const std::uint64_t rows : {1UL, 2UL, 1000UL, 100'000'000UL}) {
    for (const std::uint64_t features : {1UL, 7UL, 2000UL}) {
      for (const double Y : {1.0, 7.5, 1e6}) {
        for (const double ball : {1e-3, 1.0, 1e6, 1e12}) {
          for (const auto adjacency : {Adjacency::replace_one, Adjacency::add_remove}) {
            if (sweep.skips()) continue;
            const Budget budget{1, 1e-9, adjacency, 2, 1};
            const Problem p = squared_problem(Y, rows, features);
            try {
              const Plan made = plan(p, budget, {.mechanism = "path", .ball = ball});
              ASSERT_EQ(made.candidate().feasible,
                        made.candidate().why.text().find("private at every") == 0)
                  << made.candidate().why;
              if (!made.candidate().feasible) continue;
              const Path& s = std::get<Path>(made.candidate().mechanism);
              EXPECT_TRUE(s.beta > 0 && std::isfinite(s.beta));
              ++feasible;
              EXPECT_LE(delta_up(made.candidate().guarantee, 1), 1e-9);
              const Analysis found = analyze(made.candidate().mechanism, p, budget.neighbors(), 1);
              EXPECT_GE(made.candidate().guarantee.mu, found.guarantee.mu);
              // A label twice as far, or a larger ball, is not paid for.
              const Problem further = squared_problem(2 * Y, rows, features);
              EXPECT_GT(
                  analyze(made.candidate().mechanism, further, budget.neighbors(), 1).guarantee.mu,
                  made.candidate().guarantee.mu);
              Path larger = s;
              larger.ball *= 1.5;
              if (ball < 1e-3 * Y) continue;  // hardly in it
              EXPECT_GT(analyze(Mechanism(larger), p, budget.neighbors(), 1).guarantee.mu,
                        made.candidate().guarantee.mu);
            } catch (const Infeasible&) {
              ++refused;
            } catch (const BadInput& error) {
              EXPECT_THAT(error.what(), HasSubstr("`ball`"));
              ++refused;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(feasible, support::repeats(150, 15));
}

// Slopes as computed are not held: d more roundings of the largest.
TEST(BallPath, OfTheSquaredLossPaysForSlopesThatNothingHolds) {
  const Problem p = squared_problem(3, 1000, 50);
  Problem held = p;
  held.max_abs_derivative = p.max_abs_derivative_up(2);  // 5
  const double e = map_bounds_up(p, {0.1, 0, 1e-4, 100, 2}).map_error;
  const double least = map_bounds_up(held, {0.1, 0, 1e-4, 100, 2}).map_error;
  EXPECT_GE(e, least);
  EXPECT_LE(e, least * (1 + 1e-12));
  Problem wide = squared_problem(3, 1000, std::uint64_t{1} << 39), wide_held = wide;
  wide_held.max_abs_derivative = 5;
  EXPECT_GT(map_bounds_up(wide, {0.1, 0, 1e-4, 1, 2}).map_error,
            map_bounds_up(wide_held, {0.1, 0, 1e-4, 1, 2}).map_error);
}

// Chains in a metric have no ball, whatever a file says.
TEST(BallPath, HasNoBallInAMetric) {
  const Plan made = plan(in_ball_problem(), Budget{}, {.mechanism = "metric-path"});
  MetricPath edited = std::get<MetricPath>(made.candidate().mechanism);
  EXPECT_NO_THROW(analyze(edited, in_ball_problem(), {}, 1));
  edited.chain.ball = 1;
  EXPECT_THROW(analyze(edited, in_ball_problem(), {}, 1), BadInput);
}

}  // namespace ball_test
}  // namespace gibbsite
