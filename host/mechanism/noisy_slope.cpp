#include "mechanism/noisy_slope.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/format_message.hpp"
#include "core/rounding.hpp"
#include "gibbsite/core/error.hpp"
#include "mechanism/released_minimizer.hpp"

namespace gibbsite {

namespace {

bool is_proved(const Problem& problem) {
  return problem.outputs == 1 || problem.loss.starts_with("softmax-");
}

}  // namespace

std::uint64_t row_rank(const Problem& problem) {
  return problem.outputs > 1 ? problem.outputs - 1 : 1;
}

double curvature_ratio_up(const Problem& problem, double ridge) {
  const Wide R = problem.full_row_norm_up();
  const Wide trace = Wide(problem.curvature) * Wide(problem.traces.most);
  return round_up(trace * R * R / (Wide(ridge) * Wide(row_rank(problem))));
}

double curvature_ridge(const Problem& problem, const Neighbors& who, double epsilon, double share) {
  const double R = problem.full_row_norm_up();
  const double each = epsilon / static_cast<double>(who.rows_per_person);
  return problem.curvature * problem.traces.most * R * R / std::min(share * each, 0.5);
}

Message ridge_refused(const Problem& problem, double ridge) {
  if (!is_proved(problem)) return unproved_outputs();
  if (!(ridge > 0 && std::isfinite(ridge))) {
    return format_message("needs a strongly convex loss; give {} above 0",
                          Field{"prior_precision"});
  }
  const double t = curvature_ratio_up(problem, ridge);
  return t > 1e-30 && t < 1e30 ? Message() : noise_beyond_double();
}

void require_proved_outputs(const Problem& problem) {
  if (!is_proved(problem)) throw BadInput("mechanism", unproved_outputs());
}

NoisySlope::NoisySlope(const Problem& problem, double Lambda, const Wide& longest,
                       const Wide& noise_off)
    : about(problem), ridge(Lambda) {
  about.center_norm = round_up(Wide(problem.center_norm) + longest / Wide(ridge));
  off = noise_off + gamma_k(Wide(4)) * Wide(ridge) * Wide(about.center_norm);
}

double NoisySlope::search_norm_down(double gradient_norm) const {
  return round_down(Wide(gradient_norm) - off);
}

bool NoisySlope::found_to(double norm) const {
  return norm > 0 && minimizer_found(about, ridge, norm);
}

NoisySlope::Search NoisySlope::search(double least, double most) const {
  const double off_up = round_up(off);
  double norm = least * ridge / about.smoothness_up(1, ridge);
  if (!std::isnormal(norm) || !std::isnormal(most) || !std::isfinite(off_up)) return {};
  while (!found_to(norm) && norm < most) norm *= 2;
  double g = round_up(Wide(norm) + Wide(off_up));
  while (!(search_norm_down(g) >= norm)) g = std::nextafter(g, INFINITY);
  return {g, found_to(norm)};
}

}  // namespace gibbsite
