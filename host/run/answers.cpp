#include "run/answers.hpp"

#include "core/rounding.hpp"
#include "gibbsite/core/summation.hpp"
#include "gibbsite/core/wide.hpp"

namespace gibbsite {

MatrixView<const double> view(const WhitenedRule::Metric& metric) {
  return {metric.data(), static_cast<std::size_t>(metric.rows()),
          static_cast<std::size_t>(metric.cols())};
}

double moments_error_up(double clip, const Problem& problem) {
  const Wide depth = accumulation_depth(problem.most_rows());
  return round_up(gamma_k(depth + 2) * Wide(problem.most_weight_up()) * Wide(clip) * Wide(clip));
}

double lengths_error_up(const RowLengths& lengths, const Problem& problem) {
  const Wide depth = accumulation_depth(problem.most_rows());
  return round_up(gamma_k(depth + 2) * Wide(problem.most_weight_up()) * Wide(lengths.half()));
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
