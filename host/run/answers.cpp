#include "run/answers.hpp"

#include <cmath>

#include "core/rounding.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/summation.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/mechanism/noise_law.hpp"

namespace gibbsite {

MatrixView<const double> view(const WhitenedRule::Metric& metric) {
  return {metric.data(), static_cast<std::size_t>(metric.rows()),
          static_cast<std::size_t>(metric.cols())};
}

double moments_error_up(double clip, const Problem& problem) {
  const Wide depth = accumulation_depth(problem.rows);
  return round_up(gamma_k(depth + 2) * Wide(problem.rows) * Wide(clip) * Wide(clip));
}

double lengths_error_up(const RowLengths& lengths, const Problem& problem) {
  const Wide depth = accumulation_depth(problem.rows);
  return round_up(gamma_k(depth + 2) * Wide(problem.rows) * Wide(lengths.half()));
}

double answered(double sum, double noise, double deviation) {
  const double grid = answer_grid(deviation);
  const double out = std::nearbyint((sum + noise) / grid) * grid + 0.0;
  if (!std::isfinite(out)) {
    throw BadInput("answers: one is not finite; report this, no legal rows lead to such a sum");
  }
  return out;
}

void answer_moments(Engine& engine, MatrixView<const double> P, double clip, double deviation,
                    std::span<double> values) {
  const std::size_t k = P.cols;
  std::vector<double> sums(k * k);
  engine.second_moments(P, clip, {sums.data(), k, k});
  answer_symmetric({sums.data(), k, k}, deviation, values);
}

void answer_symmetric(MatrixView<const double> sums, double deviation, std::span<double> values) {
  const std::size_t k = sums.rows;
  const double off_diagonal = round_up(Wide(deviation) / sqrt(Wide(2)));
  for (std::size_t a = 0, at = 0; a < k; ++a) {
    for (std::size_t b = 0; b <= a; ++b, ++at) {
      const double sigma = a == b ? deviation : off_diagonal;
      values[at] = answered(sums(a, b), sigma * values[at], sigma);
    }
  }
}

Eigen::MatrixXd whole_matrix(std::span<const double> values, std::size_t k) {
  const auto size = static_cast<Eigen::Index>(k);
  Eigen::MatrixXd out(size, size);
  std::size_t at = 0;
  for (Eigen::Index a = 0; a < size; ++a) {
    for (Eigen::Index b = 0; b <= a; ++b, ++at) out(a, b) = out(b, a) = values[at];
  }
  return out;
}

}  // namespace gibbsite
