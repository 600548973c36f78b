// `summarize`: its checks, its host-only formulas, and Thrust's statistics on the host: each thread
// takes the next parameter, so that threads never wait for each other over short chains.
#include "kernels/ensemble_statistics.hpp"

#include <fmt/format.h>
#include <thrust/system/cpp/execution_policy.h>
#include <thrust/system/cpp/vector.h>

#include <atomic>
#include <boost/math/special_functions/beta.hpp>
#include <exception>

#include "engine/cuda/cuda.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/engine/machine.hpp"
#include "machine/processors.hpp"

namespace gibbsite {
namespace kernels {
namespace {

struct OneThread {
  template <class T>
  using Vector = thrust::cpp::vector<T>;
  static auto policy() { return thrust::cpp::par; }
};

std::vector<Summary> summarize_on_host(const Draws& draws, std::span<const double> probabilities) {
  std::vector<Summary> summaries(draws.parameters);
  std::atomic<std::size_t> next = 0;
  std::exception_ptr error;
#pragma omp parallel num_threads(startable_threads(thread_count()))
  try {
    EnsembleStatistics<OneThread> statistics(draws.chains, draws.draws);
    for (std::size_t j = next++; j < draws.parameters; j = next++) {
      summaries[j] = statistics.summarize(draws, j, probabilities);
    }
  } catch (...) {
#pragma omp critical
    error = std::current_exception();
  }
  if (error) std::rethrow_exception(error);
  return summaries;
}

}  // namespace

double effective_size(std::size_t m, std::size_t n, double variance_of_means,
                      const std::function<double(std::size_t)>& autocovariance) {
  const auto length = static_cast<double>(n), size = static_cast<double>(m) * length;
  const double within = autocovariance(0) * length / (length - 1);
  const double total = autocovariance(0) + variance_of_means;
  if (!std::isfinite(total)) return std::numeric_limits<double>::quiet_NaN();
  const auto correlation = [&](std::size_t lag) {
    return 1 - (within - autocovariance(lag)) / total;
  };

  // tau = -1 + 2 sum of the pairs (2k, 2k + 1) while they are positive, none above the one before.
  double tau = -1, even = 1, odd = correlation(1);
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t k = 1; 2 * k + 2 < n && even + odd > 0; ++k) {
    least = std::min(least, even + odd);
    tau += 2 * least;
    even = correlation(2 * k);
    odd = correlation(2 * k + 1);
  }
  // The even one of the pair that ended it counts once: antithetic chains need it.
  tau += even + odd < 0 ? std::max(even, 0.0) : even;
  return size / std::max(tau, 1 / std::log10(size));
}

std::array<std::size_t, 2> quantile_interval(double probability, double effective,
                                             std::size_t size) {
  const auto position = [&](double tail) {
    const double p = boost::math::ibeta_inv(effective * probability + 1,
                                            effective * (1 - probability) + 1, tail);
    return p * static_cast<double>(size) - 1;
  };
  // +-1 standard deviation, to the digits that ArviZ has
  const double low = std::max(position(0.1586553), 0.0);
  const double high = std::min(position(0.8413447), static_cast<double>(size - 1));
  return {static_cast<std::size_t>(std::floor(low)), static_cast<std::size_t>(std::ceil(high))};
}

#ifndef GIBBSITE_HAS_CUDA
std::vector<Summary> summarize_on_device(const Draws&, std::span<const double>) {
  throw NotCompiled("diagnostics: this build has no GPU code; compute them on the host");
}
#endif

}  // namespace kernels

std::vector<Summary> summarize(const Draws& draws, std::span<const double> probabilities,
                               Processor processor) {
  if (draws.chains < 1) throw BadInput("chains: there is none; give at least one");
  if (draws.parameters < 1) throw BadInput("parameters: there is none; give at least one");
  if (draws.draws < 4) {
    throw BadInput(
        fmt::format("draws: must be at least 4 of each chain, got {}; draw more", draws.draws));
  }
  if (draws.values.size() != draws.draws * draws.chains * draws.parameters) {
    throw BadInput(
        fmt::format("values: has {} numbers; give draws x chains x parameters = {} x {} x {}",
                    draws.values.size(), draws.draws, draws.chains, draws.parameters));
  }
  for (const double p : probabilities) {
    if (!(p >= 0 && p <= 1)) {
      throw BadInput(fmt::format("probabilities: must lie in [0, 1], got {}; give such", p));
    }
  }
  if (processor == Processor::host) return kernels::summarize_on_host(draws, probabilities);
  cuda::make_device();  // chooses the GPU, or says why there is none
  return kernels::summarize_on_device(draws, probabilities);
}

}  // namespace gibbsite
