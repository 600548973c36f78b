#include "run/gaussian_mechanism.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "gibbsite/core/error.hpp"
#include "gibbsite/mechanism/noise_law.hpp"

namespace gibbsite {
namespace gaussian_mechanism_test {

const StreamKey key = StreamKey::from_seed(7);

std::vector<double> normals_of(std::uint64_t answer, std::size_t numbers) {
  std::vector<double> out(numbers);
  answer_normals(key, 0, answer, out);
  return out;
}
double expected(double sum, double normal, double deviation) {
  const double grid = answer_grid(deviation);
  return std::nearbyint((sum + deviation * normal) / grid) * grid;
}

TEST(GaussianMechanism, EveryNumberHasANormalOfItsOwn) {
  const std::vector<double> normals = normals_of(3, 5), sums{1, -2, 1000.5};
  GaussianMechanism noise(key, 3, 5);
  const std::vector<double> first = noise.release(sums, 0.7);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(first[i], expected(sums[i], normals[i], 0.7));
  EXPECT_EQ(noise.release(4, 9), expected(4, normals[3], 9));
  EXPECT_EQ(noise.release(4, 9), expected(4, normals[4], 9));
  EXPECT_NE(normals_of(4, 5), normals) << "answers are apart";
}

TEST(GaussianMechanism, NoNormalServesTwice) {
  GaussianMechanism noise(key, 0, 1);
  static_cast<void>(noise.release(0, 1));
  EXPECT_THROW(noise.release(0, 1), BadInput);
}

TEST(GaussianMechanism, ASymmetricMatrixHasLessNoiseBesideItsDiagonal) {
  const std::vector<double> sums{5, 6, 6, 7};
  for (std::uint64_t answer = 0; answer < 20; ++answer) {
    const std::vector<double> normals = normals_of(answer, 3);
    const std::vector<double> lower =
        GaussianMechanism(key, answer, 3).release_symmetric({sums.data(), 2, 2}, 2);
    ASSERT_EQ(lower.size(), 3U);
    EXPECT_EQ(lower[0], expected(5, normals[0], 2));
    EXPECT_NEAR(lower[1], 6 + std::sqrt(2.0) * normals[1], 0.0625 + 1e-12) << "half a grid";
    EXPECT_EQ(lower[2], expected(7, normals[2], 2));
  }
}

TEST(GaussianMechanism, NothingThatIsNotFiniteIsReleased) {
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_THROW(GaussianMechanism(key, 0, 1).release(infinite, 1), BadInput);
  EXPECT_THROW(on_grid(std::nan(""), 0.25), BadInput);
  EXPECT_EQ(on_grid(0.3, 0.25), 0.25);
  EXPECT_FALSE(std::signbit(on_grid(-0.01, 0.25)));
}

// Pure noise and the two Gaussian streams are those of their places.
TEST(AddedNoise, IsThatOfItsLawAndPlace) {
  const std::vector<double> vector{1, 2, 3};
  std::vector<double> out(3), raw(3);
  add_noise(NoiseLaw::gaussian, 0.5, {key, 2, start_step}, vector, out);
  fill_normals(key, 2, start_step, raw);
  for (std::size_t j = 0; j < 3; ++j) EXPECT_EQ(out[j], vector[j] + 0.5 * raw[j]);
  fill_noise(NoiseLaw::gaussian, 0.5, {key, 2, 0}, out);
  answer_normals(key, 2, 0, raw);
  for (std::size_t j = 0; j < 3; ++j) EXPECT_EQ(out[j], 0.5 * raw[j]);
  fill_noise(NoiseLaw::pure, 4, {key, 2, 2}, out);
  fill_laplace(key, 2, 2, 4, raw);
  EXPECT_EQ(out, raw);
}

}  // namespace gaussian_mechanism_test
}  // namespace gibbsite
