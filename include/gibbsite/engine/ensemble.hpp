#pragma once
// Chains as plain state: {theta, step} and what drives them. No hidden generator.
#include <cstdint>
#include <span>
#include <vector>

#include "gibbsite/core/random.hpp"

namespace gibbsite {

/// What one chain targets and how it moves. Chains of one ensemble may differ in every field.
struct ChainSpec {
  double inverse_temperature = 1.0;  ///< beta
  double prior_precision = 1.0;      ///< m
  double step_size = 1e-3;           ///< h
  std::uint64_t iterations = 1;      ///< T: the chain stops there
  std::vector<double> center{};      ///< theta0 [d]; empty means 0
  StreamKey key;                     ///< noise key
  /// Chain number in the noise stream. A chain of K outputs takes K of them: output k draws from
  /// stream K number + k.
  std::uint32_t stream = 0;
};

/// C chains on one data set.
struct Ensemble {
  std::size_t features = 0;         ///< d: coordinates of theta, of all outputs
  std::vector<ChainSpec> specs;     ///< [C]
  std::vector<double> theta;        ///< [C x d] row-major
  std::vector<std::uint64_t> step;  ///< [C] steps done

  [[nodiscard]] std::size_t chains() const { return specs.size(); }
  [[nodiscard]] std::span<double> chain(std::size_t c) {
    return {theta.data() + c * features, features};
  }
  [[nodiscard]] std::span<const double> chain(std::size_t c) const {
    return {theta.data() + c * features, features};
  }
  /// Every chain has done its T steps.
  [[nodiscard]] bool finished() const;
};

/// Chains at their public start: theta0 of each spec, step 0. Throws BadInput when a spec is out of
/// range (h <= 0, beta < 0, m < 0, T = 0, center of the wrong length) or there is no chain.
Ensemble start(std::vector<ChainSpec> specs, std::size_t features);

/// Moves every chain to a start of its own: theta_c = center + deviation N(0, I), the noise of
/// (key, stream, start_step), which no Langevin step uses. Throws BadInput when the center [d] has
/// another length or is not finite, or the deviation is not finite and 0 or above.
void start_at_random(Ensemble& ensemble, std::span<const double> center, double deviation);

/// One Langevin step of one chain, given the gradient of the *loss sum* at theta and the noise, all
/// [d]: theta <- theta - h (beta g + m (theta - theta0)) + sqrt(2h) noise.
void langevin_update(const ChainSpec& spec, std::span<const double> loss_gradient,
                     std::span<const double> noise, std::span<double> theta);

/// Where output k of a chain of K outputs draws its noise: K stream + k. Throws BadInput where that
/// is beyond 32 bits.
std::uint32_t output_stream(std::uint32_t stream, std::size_t outputs, std::size_t k);
/// Throws what `output_stream` does of any chain: for engines, before a chain moves.
void require_output_streams(const Ensemble& ensemble, std::size_t outputs);

/// One Langevin step with the noise xi(key, stream, step); each of K outputs has d/K coordinates
/// from a stream of its own. In place; pure in (theta, spec, step, g). `noise` is scratch [d].
void langevin_update(const ChainSpec& spec, std::uint64_t step,
                     std::span<const double> loss_gradient, std::span<double> theta,
                     std::span<double> noise, std::size_t outputs = 1);

}  // namespace gibbsite
