#include "gibbsite/core/ball.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"

namespace gibbsite {
namespace ball_test {

using Vector = std::vector<double>;

Wide wide_norm(const Vector& v) {
  Wide sum = 0;
  for (const double x : v) sum += Wide(x) * Wide(x);
  return sqrt(sum);
}

// Inside in exact arithmetic, off by no more than is claimed, and settled.
void expect_projected(const Vector& theta, double ball) {
  Vector found = theta;
  project_on_ball(found, ball);
  const Wide norm = wide_norm(theta);
  ASSERT_LE(wide_norm(found), Wide(ball))
      << "norm " << static_cast<double>(norm) << ", ball " << ball;
  ASSERT_TRUE(in_ball(found, ball));
  const Wide scale = norm > Wide(ball) ? Wide(Wide(ball) / norm) : Wide(1);
  Wide off = 0;
  for (std::size_t j = 0; j < theta.size(); ++j) {
    const Wide gap = Wide(found[j]) - scale * Wide(theta[j]);
    off += gap * gap;
  }
  ASSERT_LE(sqrt(off), Wide(projection_error_up(theta.size(), ball)))
      << "norm " << static_cast<double>(norm) << ", ball " << ball << ", d " << theta.size();
  if (norm * (1 + Wide("1e-9")) < Wide(ball)) {
    ASSERT_EQ(found, theta);
  }
  const Vector once = found;
  project_on_ball(found, ball);
  ASSERT_EQ(found, once);
}

TEST(Ball, ProjectsInsideWhateverTheSizes) {
  std::mt19937_64 random(20250301);
  std::normal_distribution<double> normal;
  const double least = std::numeric_limits<double>::denorm_min();
  const double most = std::numeric_limits<double>::max();
  for (const std::size_t d : {1U, 2U, 3U, 7U, 108U, 1000U}) {
    for (const double ball : {smallest_ball, 1e-30, 0.1, 1.0, 3.0, 1e30, largest_ball}) {
      for (const double size : {least, 1e-310, 1e-160, 0.1, 0.999, 1.0, 1.5, 1e160, 1e300}) {
        for (const bool relative : {false, true}) {
          Vector theta(d);
          for (double& v : theta) v = normal(random);
          const double norm = static_cast<double>(wide_norm(theta));
          for (double& v : theta) {
            v = std::clamp(relative ? v / norm * size * ball : v / norm * size, -most, most);
          }
          expect_projected(theta, ball);
        }
      }
      expect_projected(Vector(d, 0.0), ball);
      expect_projected(Vector(d, -most), ball);
      expect_projected(Vector(d, least), ball);
      Vector uneven(d, least);  // one coordinate that is all of it
      uneven[d / 2] = most;
      expect_projected(uneven, ball);
      uneven[d / 2] = std::nextafter(ball, most);
      expect_projected(uneven, ball);
      uneven[d / 2] = ball;
      expect_projected(uneven, ball);
    }
  }
}

// Norms within a few ulps of the radius, from both sides.
TEST(Ball, DecidesAtTheEdgeAsItPromises) {
  std::mt19937_64 random(20250302);
  std::normal_distribution<double> normal;
  int outside = 0, untouched = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::size_t d = 1 + random() % 40;
    Vector theta(d);
    for (double& v : theta) v = normal(random);
    const double ball = static_cast<double>(wide_norm(theta)) *
                        (1 + static_cast<double>(static_cast<int>(random() % 400) - 200) * 0x1p-53);
    outside += wide_norm(theta) > Wide(ball);
    untouched += in_ball(theta, ball);
    expect_projected(theta, ball);
  }
  EXPECT_GT(outside, 5000);
  EXPECT_GT(untouched, 1000);
}

TEST(Ball, OnAGridStaysOnItAndInside) {
  std::mt19937_64 random(20250303);
  std::normal_distribution<double> normal;
  for (const double grid : {0x1p-40, 0x1p-10, 0.5}) {
    for (const double ball : {1e-3, 0.7, 30.0}) {
      for (int i = 0; i < 500; ++i) {
        Vector theta(1 + random() % 30);
        for (double& v : theta) v = std::nearbyint(normal(random) / grid) * grid + 0.0;
        Vector found = theta;
        project_on_ball(found, ball, grid);
        ASSERT_LE(wide_norm(found), Wide(ball));
        ASSERT_TRUE(in_ball(found, ball));
        for (std::size_t j = 0; j < theta.size(); ++j) {
          ASSERT_EQ(std::remainder(found[j], grid), 0);
          ASSERT_LE(std::fabs(found[j]), std::fabs(theta[j]));
          ASSERT_FALSE(std::signbit(found[j]) && found[j] == 0);
        }
        if (wide_norm(theta) < Wide(0.999 * ball)) {
          ASSERT_EQ(found, theta);
        }
      }
    }
  }
}

TEST(Ball, IsTotalAndRefusesWhatIsNoRadius) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double odd : {infinity, -infinity, std::nan("")}) {
    Vector theta{1, odd, 2};
    project_on_ball(theta, 5);
    EXPECT_EQ(theta, Vector(3, 0.0));
    EXPECT_FALSE(in_ball(Vector{odd}, 5));
  }
  for (const double bad : {0.0, -1.0, 1e-101, 1e101, infinity, std::nan("")}) {
    EXPECT_THROW(require_ball(bad, "`ball`"), BadInput) << bad;
  }
  for (const double good : {smallest_ball, 1.0, largest_ball}) {
    EXPECT_NO_THROW(require_ball(good, "`ball`"));
  }
}

}  // namespace ball_test
}  // namespace gibbsite
