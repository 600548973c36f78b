#pragma once
// The statistics of posterior/diagnostics.hpp, one parameter at a time, written once in Thrust: for
// the device (ensemble_statistics.cu), for one thread, of which the host runs several, each with
// parameters of its own (host/posterior/ensemble_statistics.cpp), and, in the tests, for OpenMP. A
// System says where:
//
//   struct System {
//     template <class T> using Vector = ...;  // a Thrust vector there
//     static auto policy();                   // a Thrust execution policy
//   };
//
// Sections are those of VGSCB (posterior/diagnostics.hpp); m = 2C half chains of n draws.
//
// Determinism: Thrust sorts, gathers and compares, which are exact. Sums of doubles are ours
// (`row_sums`), in an order that depends on the shape alone, since Thrust's reductions promise
// none.
//
// Traffic a parameter, S = C N: two sorts (three for odd N) of S doubles, two searches of S in S
// for the ranks, and for every lag of every effective size 2 S doubles through the caches.
#include <thrust/binary_search.h>
#include <thrust/copy.h>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/sort.h>
#include <thrust/tabulate.h>
#include <thrust/transform.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <vector>
#ifndef __CUDACC__
#include <boost/math/special_functions/erf.hpp>
#endif

#include "gibbsite/core/host_device.hpp"
#include "gibbsite/posterior/diagnostics.hpp"

namespace gibbsite::kernels {

/// Draws that one partial sum covers.
inline constexpr std::size_t summed_at_once = 1024;
/// Autocovariances are computed so many lags at a time.
inline constexpr std::size_t lags_at_once = 32;

/// Effective draws of m chains of n (VGSCB 3.2: Geyer's initial positive and monotone
/// sequences), given the variance of the m means (0 for m = 1) and the mean over the chains of the
/// autocovariances with divisor n.
double effective_size(std::size_t m, std::size_t n, double variance_of_means,
                      const std::function<double(std::size_t lag)>& autocovariance);

/// Zero-based order statistics that bound the 68% interval of a quantile (VGSCB 4.4), given the
/// effective draws for it out of `size`.
std::array<std::size_t, 2> quantile_interval(double probability, double effective,
                                             std::size_t size);

/// `summarize` on the device, for checked arguments. Throws CudaError.
std::vector<Summary> summarize_on_device(const Draws& draws, std::span<const double> probabilities);

/// Standard normal quantile of p in (0, 1).
GIBBSITE_HD inline double normal_quantile(double p) {
#ifdef __CUDACC__
  return normcdfinv(p);
#else
  using Policy = boost::math::policies::policy<boost::math::policies::promote_double<false> >;
  return -1.41421356237309504880 * boost::math::erfc_inv(2 * p, Policy());
#endif
}

/// Element i of [m x n] split chains: the first and the last n of N draws of each chain.
struct SplitElement {
  const double* x;  ///< [C x N]
  std::size_t draws, half;
  GIBBSITE_HD double operator()(std::size_t i) const {
    const std::size_t row = i / half, first = row % 2 == 0 ? 0 : draws - half;
    return x[row / 2 * draws + first + i % half];
  }
};

/// Normal score of a value among `size` sorted ones, ties sharing their mean rank (VGSCB 4.1).
struct NormalScore {
  const double* sorted;
  std::size_t size;
  GIBBSITE_HD double operator()(double v) const {
    const double* end = sorted + size;
    const double* first = thrust::lower_bound(thrust::seq, sorted, end, v);
    const double* last = thrust::upper_bound(thrust::seq, first, end, v);
    const auto rank = 0.5 * static_cast<double>((first - sorted) + (last - sorted) + 1);
    return normal_quantile((rank - 0.375) / (static_cast<double>(size) + 0.25));
  }
};

struct DistanceFrom {
  double center;
  GIBBSITE_HD double operator()(double v) const { return std::fabs(v - center); }
};

struct DividedBy {
  double divisor;
  GIBBSITE_HD double operator()(double v) const { return v / divisor; }
};

struct AtMost {
  double bound;
  GIBBSITE_HD double operator()(double v) const { return v <= bound ? 1.0 : 0.0; }
};

// Terms of `row_sums`: length(row), and the term t of a row.

struct RowTerm {
  const double* x;  ///< [rows x n]
  std::size_t n;
  GIBBSITE_HD std::size_t length(std::size_t) const { return n; }
  GIBBSITE_HD double operator()(std::size_t row, std::size_t t) const { return x[row * n + t]; }
};

struct ColumnTerm {
  const double* x;  ///< [n x columns]
  std::size_t n, columns;
  GIBBSITE_HD std::size_t length(std::size_t) const { return n; }
  GIBBSITE_HD double operator()(std::size_t row, std::size_t t) const {
    return x[t * columns + row];
  }
};

struct SquareTerm {
  const double* x;  ///< [n]
  std::size_t n;
  double center;
  GIBBSITE_HD std::size_t length(std::size_t) const { return n; }
  GIBBSITE_HD double operator()(std::size_t, std::size_t t) const {
    return (x[t] - center) * (x[t] - center);
  }
};

/// Row c * lags + l: products of chain c at lag first + l. Neighboring rows read neighboring
/// draws.
struct LagTerm {
  const double* x;      ///< [m x n]
  const double* means;  ///< [m]
  std::size_t n, first, lags;
  GIBBSITE_HD std::size_t length(std::size_t row) const { return n - first - row % lags; }
  GIBBSITE_HD double operator()(std::size_t row, std::size_t t) const {
    const double* chain = x + row / lags * n;
    const double mean = means[row / lags];
    return (chain[t] - mean) * (chain[t + first + row % lags] - mean);
  }
};

/// Sum i of [blocks x rows]: `summed_at_once` terms of a row, in four interleaved sums.
template <class Term>
struct BlockSum {
  Term term;
  std::size_t rows;
  GIBBSITE_HD double operator()(std::size_t i) const {
    const std::size_t row = i % rows, length = term.length(row);
    std::size_t t = i / rows * summed_at_once;
    const std::size_t end = t + summed_at_once < length ? t + summed_at_once : length;
    double sum[4] = {0, 0, 0, 0};
    for (; t + 4 <= end; t += 4) {
      GIBBSITE_UNROLL
      for (unsigned q = 0; q < 4; ++q) sum[q] += term(row, t + q);
    }
    for (; t < end; ++t) sum[0] += term(row, t);
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }
};

/// Buffers for one parameter of C chains of N draws, and its statistics.
template <class System>
class EnsembleStatistics {
  using Vector = typename System::template Vector<double>;

 public:
  EnsembleStatistics(std::size_t chains, std::size_t draws)
      : draws_(draws), m_(2 * chains), n_(draws / 2), x_(chains * draws) {}

  /// Summarizes parameter j. The draws have this many chains and draws.
  Summary summarize(const Draws& draws, std::size_t j, std::span<const double> probabilities) {
    gathered_.resize(x_.size());
    bool finite = true;
    for (std::size_t i = 0; i < gathered_.size(); ++i) {
      const double v = draws.values[i * draws.parameters + j];
      gathered_[i % draws.chains * draws_ + i / draws.chains] = v;
      finite = finite && std::isfinite(v);
    }
    if (finite) return summarize_gathered(probabilities);
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    Summary s{nan, nan, nan, nan, nan, nan, nan, {}};
    for (const double p : probabilities) s.quantiles.push_back({p, nan, nan});
    return s;
  }

 private:
  Summary summarize_gathered(std::span<const double> probabilities) {
    const std::size_t size = gathered_.size();
    // Pointers: one memcpy.
    thrust::copy(gathered_.data(), gathered_.data() + size, x_.begin());
    sorted_ = x_;
    thrust::sort(System::policy(), sorted_.begin(), sorted_.end());
    split_.resize(m_ * n_);
    thrust::tabulate(System::policy(), split_.begin(), split_.end(),
                     SplitElement{raw(x_), draws_, n_});
    series_.resize(split_.size());

    Summary s;
    s.mean = total(RowTerm{raw(x_), size}) / static_cast<double>(size);
    s.deviation =
        std::sqrt(total(SquareTerm{raw(x_), size, s.mean}) / static_cast<double>(size - 1));
    examine(split_);
    s.ess_mean = effective();
    s.mean_standard_error = s.deviation / std::sqrt(s.ess_mean);

    std::map<double, double> sizes;  // effective draws for the quantiles, by probability
    const auto quantile_size = [&](double p) {
      const auto [at, is_new] = sizes.try_emplace(p);
      if (is_new) {
        map(split_, AtMost{quantile(p)});
        examine(series_);
        at->second = effective();
      }
      return at->second;
    };
    s.ess_tail = std::min(quantile_size(0.05), quantile_size(0.95));
    for (const double p : probabilities) {
      const auto [low, high] = quantile_interval(p, quantile_size(p), size);
      s.quantiles.push_back({p, quantile(p), (sorted_[high] - sorted_[low]) / 2});
    }

    if (draws_ % 2 != 0) sort(split_);  // without the middle draws
    const double median = quantile(0.5);
    map(split_, NormalScore{raw(sorted_), sorted_.size()});
    examine(series_);
    s.ess_bulk = effective();
    const double bulk = r_hat();

    map(split_, DistanceFrom{median});
    sort(series_);
    map(series_, NormalScore{raw(sorted_), sorted_.size()});
    examine(series_);
    const double folded = r_hat();
    s.r_hat = m_ == 2 ? std::numeric_limits<double>::quiet_NaN() : folded > bulk ? folded : bulk;
    return s;
  }

  template <class V>
  static auto raw(V& v) {
    return thrust::raw_pointer_cast(v.data());
  }

  void sort(const Vector& v) {
    sorted_ = v;
    thrust::sort(System::policy(), sorted_.begin(), sorted_.end());
  }

  /// series <- f(from)
  template <class F>
  void map(const Vector& from, F f) {
    thrust::transform(System::policy(), from.begin(), from.end(), series_.begin(), f);
  }

  /// A quantile of the sorted draws, with NumPy's rounding: among equal draws it is that draw.
  double quantile(double p) const {
    const double at = p * static_cast<double>(sorted_.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const double t = at - static_cast<double>(below);
    const double a = sorted_[below], b = sorted_[std::min(below + 1, sorted_.size() - 1)];
    return t < 0.5 ? a + (b - a) * t : b - (b - a) * (1 - t);
  }

  /// out[row] = sum of the row's terms, none longer than `length`.
  template <class Term>
  void row_sums(std::size_t rows, std::size_t length, Term term, Vector& out) {
    const std::size_t blocks = (length + summed_at_once - 1) / summed_at_once;
    partials_.resize(blocks * rows);
    thrust::tabulate(System::policy(), partials_.begin(), partials_.end(),
                     BlockSum<Term>{term, rows});
    out.resize(rows);
    thrust::tabulate(System::policy(), out.begin(), out.end(),
                     BlockSum<ColumnTerm>{{raw(partials_), blocks, rows}, rows});
  }

  template <class Term>
  double total(Term term) {
    row_sums(1, term.length(0), term, sums_);
    return sums_[0];
  }

  /// Makes `chains` [m x n] the series that `effective` and `r_hat` are about.
  void examine(const Vector& chains) {
    examined_ = raw(chains);
    const auto [low, high] = thrust::minmax_element(System::policy(), chains.begin(), chains.end());
    constant_ = *high - *low < 1e-15;  // ArviZ's threshold
    row_sums(m_, n_, RowTerm{examined_, n_}, means_);
    thrust::transform(System::policy(), means_.begin(), means_.end(), means_.begin(),
                      DividedBy{static_cast<double>(n_)});
    const auto m = static_cast<double>(m_);
    const double mean = total(RowTerm{raw(means_), m_}) / m;
    variance_of_means_ = total(SquareTerm{raw(means_), m_, mean}) / (m - 1);
    autocovariances_.clear();
  }

  /// Mean over the chains, divisor n.
  double autocovariance(std::size_t lag) {
    while (autocovariances_.size() <= lag) {
      const std::size_t first = autocovariances_.size(), lags = std::min(lags_at_once, n_ - first);
      row_sums(m_ * lags, n_ - first, LagTerm{examined_, raw(means_), n_, first, lags},
               covariances_);
      row_sums(lags, m_, ColumnTerm{raw(covariances_), m_, lags}, sums_);
      autocovariances_.resize(first + lags);
      thrust::copy(sums_.begin(), sums_.end(),
                   autocovariances_.begin() + static_cast<std::ptrdiff_t>(first));
      for (std::size_t l = first; l < first + lags; ++l) {
        autocovariances_[l] /= static_cast<double>(m_ * n_);
      }
    }
    return autocovariances_[lag];
  }

  double effective() {
    if (constant_) return static_cast<double>(m_ * n_);
    return effective_size(m_, n_, variance_of_means_,
                          [this](std::size_t lag) { return autocovariance(lag); });
  }

  /// Split R-hat of the series examined (VGSCB 3.1).
  double r_hat() {
    const auto n = static_cast<double>(n_);
    const double within = autocovariance(0) * n / (n - 1);
    return std::sqrt((n * variance_of_means_ / within + n - 1) / n);
  }

  std::size_t draws_, m_, n_;
  std::vector<double> gathered_;         ///< [C x N]
  Vector x_;                             ///< [C x N]
  Vector sorted_;                        ///< [C N] or [m n]
  Vector split_, series_;                ///< [m x n]
  Vector partials_, covariances_;        ///< at most [m x n]
  Vector means_, sums_;                  ///< [m], [lags]
  const double* examined_ = nullptr;     ///< [m x n]
  bool constant_ = false;                ///< of the series examined
  double variance_of_means_ = 0;         ///< of it
  std::vector<double> autocovariances_;  ///< of it, the lags so far
};

/// `summarize` for checked arguments, one parameter after another.
template <class System>
std::vector<Summary> summarize_on(const Draws& draws, std::span<const double> probabilities) {
  EnsembleStatistics<System> statistics(draws.chains, draws.draws);
  std::vector<Summary> summaries;
  for (std::size_t j = 0; j < draws.parameters; ++j) {
    summaries.push_back(statistics.summarize(draws, j, probabilities));
  }
  return summaries;
}

}  // namespace gibbsite::kernels
