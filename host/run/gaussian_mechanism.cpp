#include "run/gaussian_mechanism.hpp"

#include <cmath>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/mechanism/noise_law.hpp"

namespace gibbsite {
namespace {

// + 0.0 turns -0 into 0.
double nearest(double value, double grid) { return std::nearbyint(value / grid) * grid + 0.0; }

}  // namespace

GaussianMechanism::GaussianMechanism(const StreamKey& key, std::uint64_t answer,
                                     std::size_t numbers)
    : normals_(numbers) {
  answer_normals(key, 0, answer, normals_);
}

double GaussianMechanism::release(double sum, double deviation) {
  if (released_ == normals_.size()) {
    throw BadInput("answers: one has more numbers than noise was drawn for; report this");
  }
  const double noise = deviation * normals_[released_++];
  const double out = nearest(sum + noise, answer_grid(deviation));
  if (!std::isfinite(out)) {
    throw BadInput("answers: one is not finite; report this, no legal rows lead to such a sum");
  }
  return out;
}

std::vector<double> GaussianMechanism::release(std::span<const double> sums, double deviation) {
  std::vector<double> out;
  out.reserve(sums.size());
  for (const double sum : sums) out.push_back(release(sum, deviation));
  return out;
}

std::vector<double> GaussianMechanism::release_symmetric(MatrixView<const double> sums,
                                                         double deviation) {
  const double off_diagonal = round_up(Wide(deviation) / sqrt(Wide(2)));
  std::vector<double> out;
  for (std::size_t a = 0; a < sums.rows; ++a) {
    for (std::size_t b = 0; b <= a; ++b) {
      out.push_back(release(sums(a, b), a == b ? deviation : off_diagonal));
    }
  }
  return out;
}

void fill_noise(NoiseLaw law, double noise, const NoisePlace& place, std::span<double> out) {
  if (law == NoiseLaw::pure) {
    fill_laplace(place.key, place.stream, place.step, noise, out);
    return;
  }
  const auto fill = place.step == start_step ? fill_normals : answer_normals;
  fill(place.key, place.stream, place.step, out);
  for (double& v : out) v *= noise;
}

void add_noise(NoiseLaw law, double noise, const NoisePlace& place, std::span<const double> vector,
               std::span<double> out) {
  fill_noise(law, noise, place, out);
  for (std::size_t j = 0; j < out.size(); ++j) out[j] = vector[j] + out[j];
}

double on_grid(double value, double grid) {
  if (!std::isfinite(value)) {
    throw BadInput("coefficients: one is not finite; report this, no legal run leaves such a draw");
  }
  return nearest(value, grid);
}

}  // namespace gibbsite
