#pragma once
// The Langevin step of one coordinate: the one formula that every backend
// executes; panels of the cpu backend in vectors (host/engine/cpu/noise.cpp).
#include "gibbsite/core/host_device.hpp"

namespace gibbsite {

/// theta - h (beta g + m (theta - center)) + noise_scale xi, noise_scale = sqrt(2h): at most 8
/// roundings from g to the new value (docs/theory/map-error.md, step 4).
GIBBSITE_HD inline double langevin_coordinate(double theta, double loss_gradient, double center,
                                              double inverse_temperature, double prior_precision,
                                              double step_size, double noise_scale, double normal) {
  const double drift = inverse_temperature * loss_gradient + prior_precision * (theta - center);
  return theta - step_size * drift + noise_scale * normal;
}

}  // namespace gibbsite
