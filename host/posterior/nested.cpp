#include "gibbsite/posterior/nested.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/math/distributions/fisher_f.hpp>
#include <cmath>
#include <exception>
#include <functional>
#include <limits>
#include <numeric>

#include "gibbsite/core/error.hpp"
#include "gibbsite/engine/machine.hpp"
#include "kernels/ensemble_statistics.hpp"
#include "machine/processors.hpp"

namespace gibbsite {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double tolerated = 1.01;  // R-hat
constexpr double alarm = 1e-3;      // chance that a run at rest has a parameter above its limit
constexpr std::size_t statistics_each = 2;

// Values of one parameter [C x N], and what is said of any function of them.
class ShortChains {
 public:
  ShortChains(std::size_t chains, std::size_t draws, std::size_t superchains, double quantile)
      : C_(chains), N_(draws), K_(superchains), quantile_(quantile), means_(chains) {}

  struct Nested {
    double r_hat = nan, limit = tolerated;
    [[nodiscard]] double excess() const { return r_hat - limit; }
  };

  // B between superchains' means, W the mean over superchains of the variance of the chains' means
  // (b) and within chains. Where starts are forgotten the chains' means are independent, so B over
  // the mean of b/M has the law F(K - 1, C - K).
  Nested nested(std::span<const double> x) {
    set_means(x);
    std::vector<double> group(K_, 0), size(K_, 0);
    for (std::size_t c = 0; c < C_; ++c) {
      const std::size_t k = superchain_of(c, C_, K_);
      group[k] += means_[c];
      size[k] += 1;
    }
    double mean = 0;
    for (std::size_t k = 0; k < K_; ++k) mean += (group[k] /= size[k]) / static_cast<double>(K_);
    double between = 0, chains = 0, within = 0, share = 0;
    std::vector<double> of_group(K_, 0);
    for (std::size_t c = 0; c < C_; ++c) {
      const std::size_t k = superchain_of(c, C_, K_);
      of_group[k] += square(means_[c] - group[k]) / (size[k] - 1);
      if (N_ == 1) continue;
      double sum = 0;
      for (std::size_t n = 0; n < N_; ++n) sum += square(x[c * N_ + n] - means_[c]);
      within += sum / static_cast<double>(N_ - 1) / size[k] / static_cast<double>(K_);
    }
    for (std::size_t k = 0; k < K_; ++k) {
      between += square(group[k] - mean) / static_cast<double>(K_ - 1);
      chains += of_group[k] / static_cast<double>(K_);
      share += of_group[k] / size[k] / static_cast<double>(K_);
    }
    const double W = chains + within;
    if (!(W > 0)) return {};
    return {std::sqrt(1 + between / W), std::sqrt(tolerated * tolerated + quantile_ * share / W)};
  }

  // C s^2 / (variance of the chains' means), at most S log10 S as in VGSCB.
  double effective(std::span<const double> x) {
    set_means(x);
    const double mean = sum(means_) / static_cast<double>(C_);
    double of_means = 0, all = 0;
    for (const double m : means_) of_means += square(m - mean);
    for (const double v : x) all += square(v - mean);
    of_means /= static_cast<double>(C_ - 1);
    all /= static_cast<double>(x.size() - 1);
    if (!(all > 0)) return nan;
    const auto size = static_cast<double>(x.size());
    return std::min(static_cast<double>(C_) * all / of_means, size * std::log10(size));
  }

 private:
  static double square(double v) { return v * v; }
  static double sum(std::span<const double> x) { return std::accumulate(x.begin(), x.end(), 0.0); }
  void set_means(std::span<const double> x) {
    for (std::size_t c = 0; c < C_; ++c)
      means_[c] = sum(x.subspan(c * N_, N_)) / static_cast<double>(N_);
  }

  std::size_t C_, N_, K_;
  double quantile_;
  std::vector<double> means_;
};

double quantile_of(std::span<const double> sorted, double p) {
  const double at = p * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - std::floor(at)) * (sorted[high] - sorted[low]);
}

Summary summary_of(ShortChains& chains, const Draws& draws, std::size_t j,
                   std::span<const double> probabilities) {
  const std::size_t C = draws.chains, N = draws.draws, S = C * N;
  std::vector<double> x(S), z(S);
  for (std::size_t n = 0; n < N; ++n) {
    for (std::size_t c = 0; c < C; ++c)
      x[c * N + n] = draws.values[(n * C + c) * draws.parameters + j];
  }
  Summary out;
  const auto finite = [](double v) { return std::isfinite(v); };
  if (!std::ranges::all_of(x, finite)) {
    out = {nan, nan, nan, nan, nan, nan, nan, {}};
    for (const double p : probabilities) out.quantiles.push_back({p, nan, nan});
    return out;
  }
  const double size = static_cast<double>(S);
  out.mean = std::accumulate(x.begin(), x.end(), 0.0) / size;
  double squares = 0;
  for (const double v : x) squares += (v - out.mean) * (v - out.mean);
  out.deviation = std::sqrt(squares / (size - 1));
  std::vector<double> sorted = x;
  std::ranges::sort(sorted);
  const auto score = [&](std::span<const double> values, std::vector<double>& of) {
    const kernels::NormalScore normal{of.data(), S};
    std::vector<double> scores(S);
    std::ranges::transform(values, scores.begin(), normal);
    of = std::move(scores);
  };
  z = sorted;
  score(x, z);
  out.ess_bulk = chains.effective(z);
  const ShortChains::Nested bulk = chains.nested(z);
  const double median = quantile_of(sorted, 0.5);
  std::vector<double> folded(S);
  std::ranges::transform(x, folded.begin(), [&](double v) { return std::abs(v - median); });
  z = folded;
  std::ranges::sort(z);
  score(folded, z);
  const ShortChains::Nested spread = chains.nested(z);
  const ShortChains::Nested& worst = spread.excess() > bulk.excess() ? spread : bulk;
  out.r_hat = worst.r_hat;
  out.r_hat_limit = worst.limit;
  const auto below = [&](double bound) {
    std::ranges::transform(x, z.begin(), [&](double v) { return v <= bound ? 1.0 : 0.0; });
    return chains.effective(z);
  };
  const double low = below(quantile_of(sorted, 0.05)), high = below(quantile_of(sorted, 0.95));
  out.ess_tail = std::isnan(low) ? low : std::min(low, high);
  out.ess_mean = chains.effective(x);
  out.mean_standard_error = out.deviation / std::sqrt(out.ess_mean);
  for (const double p : probabilities) {
    const double at = quantile_of(sorted, p), worth = below(at);
    double error = nan;
    if (!std::isnan(worth)) {
      const auto [from, to] = kernels::quantile_interval(p, worth, S);
      error = (sorted[to] - sorted[from]) / 2;
    }
    out.quantiles.push_back({p, at, error});
  }
  return out;
}

}  // namespace

std::size_t superchains_of(std::size_t chains) {
  return std::min<std::size_t>(16, std::max<std::size_t>(1, chains / 4));
}

std::vector<Summary> summarize_nested(const Draws& draws, std::size_t superchains,
                                      std::span<const double> probabilities) {
  if (superchains < 2 || draws.chains < 2 * superchains) {
    throw BadInput(fmt::format("superchains: {} of {} chains; give 2 or more, of 2 chains or more",
                               superchains, draws.chains));
  }
  if (draws.draws < 1 || draws.parameters < 1 ||
      draws.values.size() != draws.draws * draws.chains * draws.parameters) {
    throw BadInput(
        fmt::format("values: has {} numbers; give draws x chains x parameters = {} x {} x {}",
                    draws.values.size(), draws.draws, draws.chains, draws.parameters));
  }
  for (const double p : probabilities) {
    if (!(p >= 0 && p <= 1)) {
      throw BadInput(fmt::format("probabilities: must lie in [0, 1], got {}; give such", p));
    }
  }
  const boost::math::fisher_f law(static_cast<double>(superchains - 1),
                                  static_cast<double>(draws.chains - superchains));
  const double each = alarm / static_cast<double>(statistics_each * draws.parameters);
  const double quantile = boost::math::quantile(boost::math::complement(law, each));
  std::vector<Summary> summaries(draws.parameters);
  std::atomic<std::size_t> next = 0;
  std::exception_ptr error;
#pragma omp parallel num_threads(startable_threads(thread_count()))
  try {
    ShortChains chains(draws.chains, draws.draws, superchains, quantile);
    for (std::size_t j = next++; j < draws.parameters; j = next++)
      summaries[j] = summary_of(chains, draws, j, probabilities);
  } catch (...) {
#pragma omp critical
    error = std::current_exception();
  }
  if (error) std::rethrow_exception(error);
  return summaries;
}

}  // namespace gibbsite
