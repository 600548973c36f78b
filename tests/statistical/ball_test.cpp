// Nothing beats the certificate on a ball (docs/theory/ball.md): exact laws of neighbors, by
// quadrature, of truncated posteriors and of projected chains. Nothing here is random.
#include "gibbsite/mechanism/ball.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "gibbsite/mechanism/path.hpp"
#include "gibbsite/model/loss.hpp"
#include "gibbsite/model/losses/logistic.hpp"
#include "gibbsite/model/losses/squared.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "statistical/quadrature.hpp"

namespace gibbsite {
namespace ball_test {

struct BallRow {
  double x = 1, y = 1;
};
using BallRows = std::vector<BallRow>;

struct BallPair {
  std::string name;
  BallRows here, there;  ///< shorter: a row removed
};

/// The pair of extremes, beside `n` rows that pull to the edge of the ball.
std::vector<BallPair> ball_pairs(std::size_t n) {
  const BallRows down(n, {1, -1}), both{{1, 1}, {1, -1}};
  const auto with = [](BallRows rows, const BallRows& more) {
    rows.insert(rows.end(), more.begin(), more.end());
    return rows;
  };
  return {
      {"label flipped", with(down, {{1, 1}}), with(down, {{1, -1}})},
      {"label flipped, nothing pulls", with(both, {{1, 1}}), with(both, {{1, -1}})},
      {"row turned", with(down, {{1, 1}}), with(down, {{-0.4, 1}})},
      {"a row of nothing", with(down, {{1, 1}}), with(down, {{0, 1}})},
      {"removed", with(down, {{1, 1}}), down},
      {"removed, nothing pulls", with(both, {{1, 1}}), both},
  };
}

template <class F = losses::logistic>
quadrature::Slope slope_of(const BallRows& rows, double beta, double m) {
  return [=](double theta) {
    double sum = 0;
    for (const BallRow& row : rows) sum += row.x * F::derivative(row.x * theta, row.y);
    return beta * sum + m * theta;
  };
}

Problem ball_problem(const BallPair& pair) {
  Problem p;
  p.rows = std::max(pair.here.size(), pair.there.size());
  p.features = 1;
  return p;
}

Neighbors neighbors_of(const BallPair& pair) {
  const bool same = pair.here.size() == pair.there.size();
  return {same ? Adjacency::replace_one : Adjacency::add_remove, 1};
}

const std::vector<double> epsilons{0, 0.01, 0.1, 0.3, 1, 2, 4};

/// exp(-U) cut to [-ball, ball] for both of a pair, by the midpoint rule.
class TruncatedPair {
 public:
  TruncatedPair(const BallPair& pair, double beta, double m, double ball) {
    for (const std::size_t side : {0U, 1U}) {
      std::vector<double>& density = density_[side];
      double sum = 0;
      for (int i = 0; i < points; ++i) {
        const double theta = ball * (2 * (i + 0.5) / points - 1);
        double u = m * theta * theta / 2;
        for (const BallRow& row : side == 0 ? pair.here : pair.there) {
          u += beta * losses::logistic::value(row.x * theta, row.y);
        }
        density.push_back(std::exp(-u));
        sum += density.back();
      }
      for (double& v : density) v /= sum;
    }
  }
  /// delta(epsilon), the worse way.
  [[nodiscard]] double delta(double epsilon) const {
    double worst = 0;
    for (const std::size_t way : {0U, 1U}) {
      double sum = 0;
      for (std::size_t k = 0; k < points; ++k) {
        sum += std::max(0.0, density_[way][k] - std::exp(epsilon) * density_[1 - way][k]);
      }
      worst = std::max(worst, sum);
    }
    return worst;
  }

 private:
  static constexpr int points = 4000;
  std::array<std::vector<double>, 2> density_;
};

/// Whether delta exceeds that of mu somewhere, by more than `error`.
template <class Delta>
bool beats(const Delta& delta, double mu, double error) {
  return std::ranges::any_of(
      epsilons, [&](double epsilon) { return delta(epsilon) > gdp_delta_up(epsilon, mu) + error; });
}

TEST(BallLaw, TruncatedPosteriorsKeepTheirCurve) {
  int tight = 0;
  for (const std::size_t n : {0U, 10U}) {
    for (const BallPair& pair : ball_pairs(n)) {
      for (const double ball : {0.3, 1.0, 3.0}) {
        for (const double beta : {0.3, 1.0, 4.0}) {
          for (const double m : {0.2, 2.0}) {
            const double S =
                beta * gradient_difference_up(ball_problem(pair), neighbors_of(pair), ball);
            const TruncatedPair laws(pair, beta, m, ball);
            const auto exact = [&](double epsilon) { return laws.delta(epsilon); };
            EXPECT_FALSE(beats(exact, S / std::sqrt(m), 1e-6))
                << pair.name << ", n " << n << ", ball " << ball << ", beta " << beta << ", m "
                << m;
            tight += beats(exact, S / std::sqrt(m) / 2, 1e-6);
          }
        }
      }
    }
  }
  EXPECT_GT(tight, 20);  // half the sensitivity is found out
}

/// The chain's law before it is projected: theta' = phi(P(theta)) + noise, P the projection. Two
/// lattices; the coarse one prices the error, of which the kinks at the edge have most.
template <class F = losses::logistic>
struct ProjectedLaws {
  std::vector<quadrature::ChainLaw> laws;

  ProjectedLaws(const BallPair& pair, double beta, double m, double h, double ball) {
    for (const double resolution : {12.0, 8.0}) {
      for (const BallRows& rows : {pair.here, pair.there}) {
        const quadrature::Slope inside = slope_of<F>(rows, beta, m);
        laws.emplace_back(
            [=](double theta) {
              const double kept = std::clamp(theta, -ball, ball);
              return (theta - kept) / h + inside(kept);
            },
            0, h, resolution);
      }
    }
  }
  void step() {
    for (auto& law : laws) law.step();
  }
  [[nodiscard]] bool beats(double mu) const {
    const quadrature::HockeyStick fine(laws[0], laws[1]), coarse(laws[2], laws[3]);
    return std::ranges::any_of(epsilons, [&](double epsilon) {
      const double delta = fine.delta(epsilon);
      return delta - 2 * std::fabs(delta - coarse.delta(epsilon)) - 1e-10 >
             gdp_delta_up(epsilon, mu);
    });
  }
};

// And the power of it: with half the sensitivity, or 0.85 of it, it is beaten.
TEST(BallLaw, ProjectedChainsAreNotBeaten) {
  int compared = 0, half = 0, most = 0;
  for (const std::size_t n : {3U, 30U}) {
    for (const BallPair& pair : ball_pairs(n)) {
      for (const double ball : {0.3, 1.0}) {
        for (const double m : {0.0, 0.5}) {
          const double beta = 1;
          const Problem p = ball_problem(pair);
          const double M = p.smoothness_up(beta, m), h = 1.5 / (M + m);
          const double S = beta * gradient_difference_up(p, neighbors_of(pair), ball);
          ProjectedLaws<> laws(pair, beta, m, h, ball);
          for (int T = 1; T <= 20; ++T) {
            if (T > 1) laws.step();
            if (T != 1 && T != 2 && T != 6 && T != 20) continue;
            const auto mu = [&](double share) { return path_mu_up(share * S, m, M, h, T); };
            EXPECT_FALSE(laws.beats(mu(1)))
                << pair.name << ", n " << n << ", ball " << ball << ", m " << m << ", T " << T;
            half += laws.beats(mu(0.5));
            most += laws.beats(mu(0.85));
            ++compared;
          }
        }
      }
    }
  }
  EXPECT_EQ(compared, 192);
  EXPECT_GT(half, 60);
  EXPECT_GT(most, 10);
}

/// Rows whose slopes are furthest apart in [-ball, ball], beside `n` that pull to its edge, labels
/// of at most Y.
std::vector<BallPair> squared_pairs(std::size_t n, double ball, double Y) {
  const BallRows edge(n, {1, Y});
  const auto with = [&](BallRow row) {
    BallRows rows = edge;
    rows.push_back(row);
    return rows;
  };
  const double shorter = std::min(1.0, Y / (2 * ball));  // whose slope at the edge is least
  return {
      {"other end of the range", with({1, Y}), with({1, -Y})},
      {"row turned", with({1, Y}), with({-1, Y})},
      {"a shorter row", with({1, -Y}), with({shorter, Y})},
      {"a row of nothing", with({1, -Y}), with({0, Y})},
      {"removed", with({1, -Y}), edge},
  };
}

// The squared loss, whose certificate is of a ball or none.
TEST(BallLaw, ChainsOfTheSquaredLossAreNotBeaten) {
  int compared = 0, half = 0, most = 0;
  for (const std::size_t n : {2U, 20U}) {
    for (const double ball : {0.3, 1.0, 2.0}) {
      for (const double Y : {1.0, 3.0}) {
        for (const BallPair& pair : squared_pairs(n, ball, Y)) {
          for (const double m : {0.0, 0.5}) {
            const double beta = 0.4;
            Problem p = ball_problem(pair);
            p.label_bound = Y;
            set_loss(p, loss_named("squared"));
            const double M = p.smoothness_up(beta, m), h = 1.5 / (M + m);
            const double S = beta * gradient_difference_up(p, neighbors_of(pair), ball);
            ProjectedLaws<losses::squared> laws(pair, beta, m, h, ball);
            for (int T = 1; T <= 6; ++T) {
              if (T > 1) laws.step();
              if (T != 1 && T != 2 && T != 6) continue;
              const auto mu = [&](double share) { return path_mu_up(share * S, m, M, h, T); };
              EXPECT_FALSE(laws.beats(mu(1))) << pair.name << ", n " << n << ", ball " << ball
                                              << ", Y " << Y << ", m " << m << ", T " << T;
              half += laws.beats(mu(0.5));
              most += laws.beats(mu(0.95));
              ++compared;
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(compared, 360);
  EXPECT_GT(half, 60);
  EXPECT_GT(most, 5);
}

/// Two steps in two dimensions: rows e_1 pull theta along e_1, one row (cos a, sin a) is replaced
/// by (cos a, -sin a), others are 0. What e_2 . theta_2 tells, over half-lines.
struct PulledAlong {
  double beta = 1.6, angle = 2;
  int rows = 40, pulling = 39;

  [[nodiscard]] Problem problem() const {
    Problem p;
    p.rows = static_cast<std::uint64_t>(rows);
    p.features = 2;
    return p;
  }
  [[nodiscard]] double step_size() const { return 1.98 / problem().smoothness_up(beta, 0); }

  [[nodiscard]] quadrature::Mixture told(double sign, double ball) const {
    const Eigen::Vector2d pull(1, 0), row(std::cos(angle), sign * std::sin(angle));
    const double h = step_size();
    const auto stepped = [&](const Eigen::Vector2d& theta) -> Eigen::Vector2d {
      const double length = theta.norm();
      const Eigen::Vector2d at = length > ball ? Eigen::Vector2d(theta * (ball / length)) : theta;
      const auto slope = [&](const Eigen::Vector2d& x) -> Eigen::Vector2d {
        return losses::logistic::derivative(x.dot(at), 1.0) * x;
      };
      return at - h * beta * (pulling * slope(pull) + slope(row));
    };
    constexpr int width = 40;  // points each way, 5 a scale
    const double scale = std::sqrt(2 * h), spacing = scale / 5;
    const Eigen::Vector2d first = stepped(Eigen::Vector2d::Zero());
    constexpr int points = (2 * width + 1) * (2 * width + 1);
    quadrature::Mixture out{Eigen::ArrayXd(points), Eigen::ArrayXd(points), scale};
    int k = 0;
    for (int i = -width; i <= width; ++i) {
      for (int j = -width; j <= width; ++j, ++k) {
        out.weight(k) = spacing * spacing * quadrature::gaussian(i * spacing, scale) *
                        quadrature::gaussian(j * spacing, scale);
        out.center(k) = stepped(first + spacing * Eigen::Vector2d(i, j))(1);
      }
    }
    return out;
  }

  /// At most delta(epsilon).
  [[nodiscard]] double delta_down(double epsilon, double ball) const {
    const quadrature::Mixture p = told(1, ball), q = told(-1, ball);
    double best = 0;
    for (int i = -60; i <= 60; ++i) {
      const double t = 0.1 * i * p.scale;
      best = std::max({best, p.above(t) - std::exp(epsilon) * q.above(t),
                       q.above(t) - std::exp(epsilon) * p.above(t)});
    }
    return best;
  }
  [[nodiscard]] bool beaten(double share, double radius, double ball) const {
    const double S = share * beta * gradient_difference_up(problem(), {}, radius);
    const double mu = path_mu_up(S, 0, problem().smoothness_up(beta, 0), step_size(), 2);
    return std::ranges::any_of(std::vector<double>{0, 0.2, 1, 2}, [&](double epsilon) {
      return delta_down(epsilon, ball) > gdp_delta_up(epsilon, mu) + 1e-9;
    });
  }
};

// The certificate of a ball is about a chain that is kept in it: an open one is found out, and so
// is one that is kept in a larger ball than it says.
TEST(BallLaw, AChainThatIsNotProjectedIsFoundOut) {
  const double radius = 0.5, open = 1e9;
  for (const double angle : {1.6, 1.8, 2.0, 2.5}) {
    const PulledAlong run{.angle = angle};
    EXPECT_FALSE(run.beaten(1, radius, radius)) << angle;
    EXPECT_FALSE(run.beaten(1, open, open)) << angle;  // the certificate without a ball
  }
  const PulledAlong away{.angle = 2};
  EXPECT_TRUE(away.beaten(1, radius, open));
  EXPECT_TRUE(away.beaten(1, radius, 4));
  // Kept just inside, what the first step told is not drawn in: the curve is nearly reached.
  const PulledAlong near{.beta = 10, .angle = 1.8, .rows = 160, .pulling = 16};
  EXPECT_FALSE(near.beaten(1, radius, radius));
  EXPECT_TRUE(near.beaten(0.95, radius, radius));
}

}  // namespace ball_test
}  // namespace gibbsite
