#include "mechanism/gap.hpp"

#include "gibbsite/mechanism/map_error.hpp"

namespace gibbsite {

ChainError chain_error(const Problem& problem, double beta, double prior_precision,
                       double step_size, double iterations, double start_gradient_norm,
                       const Wide& spread) {
  const Wide m = prior_precision, G = start_gradient_norm, K = iterations, h = step_size;
  // theta_hat = theta0 - (beta grad - g)/m.
  const double start = round_up((Wide(start_gradient_up(problem, beta)) + G) / m + spread);
  const MapBounds bounds =
      map_bounds_up(problem, beta, prior_precision, step_size, iterations, start);
  ChainError out{bounds.map_error, 0};
  if (std::isfinite(bounds.map_error)) {
    out.rounding = Wide(bounds.map_error) * sqrt(Wide(K / (8 * h)));
  }
  return out;
}

}  // namespace gibbsite
