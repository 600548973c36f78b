#pragma once
// Chains as plain state: {theta, step} and what drives them. No hidden generator.
#include <cstdint>
#include <span>
#include <vector>

#include "gibbsite/core/random.hpp"

namespace gibbsite {

/// The target of one chain, and how it moves. Chains of one ensemble may differ in every field.
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
  /// True if every chain has done its T steps.
  [[nodiscard]] bool finished() const;
};

/// Makes chains at their public start: theta0 of each spec, step 0. Throws BadInput if a spec is
/// out of range (h <= 0, beta < 0, m < 0, T = 0, center of the wrong length) or there is no chain.
Ensemble start(std::vector<ChainSpec> specs, std::size_t features);

/// Moves every chain to a random start theta_c = center + deviation N(0, I). Its noise is that of
/// (key, stream, start_step), which no Langevin step uses. Throws BadInput if the center [d] has
/// another length or is not finite, or the deviation is not finite and at least 0.
void start_at_random(Ensemble& ensemble, std::span<const double> center, double deviation);

/// Makes one Langevin step of one chain: theta <- theta - h (beta g + m (theta - theta0)) +
/// sqrt(2h) noise. g = loss_gradient is that of the loss sum at theta; all vectors are [d].
void langevin_update(const ChainSpec& spec, std::span<const double> loss_gradient,
                     std::span<const double> noise, std::span<double> theta);

/// The noise stream of output k of a chain of K outputs: K stream + k. Throws BadInput if that
/// exceeds 32 bits.
std::uint32_t output_stream(std::uint32_t stream, std::size_t outputs, std::size_t k);
/// Throws as `output_stream` if any chain's streams exceed 32 bits; engines call it before a chain
/// moves.
void require_output_streams(const Ensemble& ensemble, std::size_t outputs);

/// Makes one Langevin step, in place, with the noise xi(key, stream, step). Each of K outputs has
/// d/K coordinates from a stream of its own. The result is a pure function of (theta, spec, step,
/// g). `noise` is scratch [d].
void langevin_update(const ChainSpec& spec, std::uint64_t step,
                     std::span<const double> loss_gradient, std::span<double> theta,
                     std::span<double> noise, std::size_t outputs = 1);

}  // namespace gibbsite
