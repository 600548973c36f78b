#include "gibbsite/model/estimates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace {

constexpr double quantile_95 = 1.959963984540054;  // of the normal distribution, two-sided
constexpr double hidden_share = 0.5;               // of the prior's variance
constexpr double least_inflation = 12;  // of a variance, by what other columns' effects may be
constexpr double least_left = 0.4;      // of the prior's variance along the confounded combination

double normal_probability(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

// Normal components of one number: they share a standard deviation.
struct Mixture {
  std::span<const double> weights;
  std::vector<double> means;
  double deviation = 0;

  [[nodiscard]] double mean() const {
    double sum = 0;
    for (std::size_t m = 0; m < means.size(); ++m) sum += weights[m] * means[m];
    return sum;
  }
  [[nodiscard]] double variance() const {
    const double center = mean();
    double sum = deviation * deviation;
    for (std::size_t m = 0; m < means.size(); ++m)
      sum += weights[m] * (means[m] - center) * (means[m] - center);
    return sum;
  }
  [[nodiscard]] double below(double value) const {
    double sum = 0;
    for (std::size_t m = 0; m < means.size(); ++m) {
      const double away = value - means[m];
      if (deviation > 0) {
        sum += weights[m] * normal_probability(away / deviation);
      } else {
        sum += away > 0 ? weights[m] : 0.0;
      }
    }
    return sum;
  }
  // 1 - below(value), without its cancellation.
  [[nodiscard]] double above(double value) const {
    Mixture mirrored{weights, means, deviation};
    for (double& mean : mirrored.means) mean = -mean;
    return mirrored.below(-value);
  }
  // By bisection. Chebyshev: no more than 1/81 lies beyond nine standard deviations.
  [[nodiscard]] double quantile(double probability) const {
    const double width = 9 * std::sqrt(variance());
    double low = mean() - width, high = mean() + width;
    for (int halving = 0; halving < 60; ++halving) {
      const double middle = 0.5 * (low + high);
      (below(middle) < probability ? low : high) = middle;
    }
    return 0.5 * (low + high);
  }
};

// c' V c, V the lower triangle by rows.
double quadratic_form(std::span<const double> c, const std::vector<double>& triangle) {
  double sum = 0;
  std::size_t at = 0;
  for (std::size_t a = 0; a < c.size(); ++a) {
    double row = 0;
    for (std::size_t b = 0; b < a; ++b) row += triangle[at++] * c[b];
    sum += c[a] * (2 * row + triangle[at++] * c[a]);
  }
  return std::max(sum, 0.0);
}

// In place: the lower triangle L of a symmetric positive definite matrix M = L L^T [n x n] by rows.
// Pivots that are not positive become `least`.
void factorize(std::vector<double>& M, std::size_t n, double least) {
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b <= a; ++b) {
      double sum = M[a * n + b];
      for (std::size_t i = 0; i < b; ++i) sum -= M[a * n + i] * M[b * n + i];
      M[a * n + b] = a == b ? std::sqrt(std::max(sum, least)) : sum / M[b * n + b];
    }
  }
}

// x = (L L^T)^-1 x.
void solve(const std::vector<double>& L, std::size_t n, std::span<double> x) {
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b < a; ++b) x[a] -= L[a * n + b] * x[b];
    x[a] /= L[a * n + a];
  }
  for (std::size_t a = n; a-- > 0;) {
    for (std::size_t b = a + 1; b < n; ++b) x[a] -= L[b * n + a] * x[b];
    x[a] /= L[a * n + a];
  }
}

void require_length(std::size_t length, std::size_t expected, const char* what) {
  if (length == expected) return;
  throw BadInput(
      fmt::format("{}: must be {} numbers, got {}; give one for each coefficient of the "
                  "estimates",
                  what, expected, length));
}

// First feature and number of features of the column that feature j comes from.
struct Group {
  std::size_t first = 0, size = 0;
  bool is_category = false;
};

Group group_of(const Schema& schema, std::size_t j) {
  std::size_t first = 0;
  for (const Column& column : schema.columns) {
    const std::size_t size = schema.features_of(column);
    if (j < first + size) return {first, size, column.has_levels()};
    first += size;
  }
  for (const Interaction& interaction : schema.interactions) {
    const std::size_t size = schema.features_of(interaction);
    if (j < first + size) return {first, size, true};
    first += size;
  }
  return {first, 1, false};
}

// Adds `factor` times the mean of the group's levels, weighted by their shares.
void add_weighted_mean(const Estimates& estimates, const Group& group, double factor,
                       std::span<double> c) {
  const std::vector<double> weights =
      level_weights(estimates.feature_means, group.first, group.size);
  for (std::size_t l = 0; l < group.size; ++l) c[group.first + l] += factor * weights[l];
}

// Zeros for all coefficients, and the place where those of class k begin.
std::vector<double> no_combination(const Estimates& estimates, const Schema& schema, std::size_t j,
                                   std::size_t k) {
  const std::size_t d = schema.features();
  require_length(estimates.feature_means.size(), d, "feature_means");
  const std::size_t size = estimates.prior_deviation.size();
  if (j >= d || (k + 1) * d > size) {
    throw BadInput(
        fmt::format("feature {} of class {}: is none of the estimates' {} coefficients; "
                    "give a feature of their schema",
                    j, k, size));
  }
  return std::vector<double>(size, 0.0);
}

}  // namespace

EffectEstimate Estimates::combination(std::span<const double> c) const {
  const std::size_t size = prior_deviation.size();
  require_length(c.size(), size, "combination");
  require_length(covariance.size(), size * (size + 1) / 2, "covariance");
  Mixture mixture{weights, {}, std::sqrt(quadratic_form(c, covariance))};
  for (const std::vector<double>& component : means) {
    double sum = 0;
    for (std::size_t j = 0; j < size; ++j) sum += c[j] * component[j];
    mixture.means.push_back(sum);
  }
  double prior_variance = 0, above = 0, below = 0;
  for (std::size_t j = 0; j < size; ++j) {
    if (c[j] == 0) continue;
    prior_variance += c[j] * c[j] * prior_deviation[j] * prior_deviation[j];
    if (further_above.size() != size || further_below.size() != size) continue;
    above += std::pow(c[j] * (c[j] > 0 ? further_above[j] : further_below[j]), 2);
    below += std::pow(c[j] * (c[j] > 0 ? further_below[j] : further_above[j]), 2);
  }
  EffectEstimate out;
  out.estimate = mixture.mean();
  out.standard_error = std::sqrt(mixture.variance());
  const bool normal = mixture.means.size() == 1;
  const double tail = 0.5 * (1 - level);
  const double half = quantile_95 * out.standard_error;
  double up = normal ? half : mixture.quantile(1 - tail) - out.estimate;
  double down = normal ? half : out.estimate - mixture.quantile(tail);
  const double of_prior = quantile_95 * std::sqrt(prior_variance);
  // No further than to the end of the prior's interval, whose middle is 0.
  const auto widen = [&](double& side, double further, double most) {
    side = std::max(side, std::min(std::sqrt(std::max(side, 0.0) * side + further), most));
  };
  if (above > 0) widen(up, above, of_prior - out.estimate);
  if (below > 0) widen(down, below, of_prior + out.estimate);
  out.lower = out.estimate - down;
  out.upper = out.estimate + up;
  // What the mixture says of 0, and what the interval's half towards 0 says where it is wider.
  if (out.standard_error > 0) {
    out.p_value = std::clamp(2 * std::min(mixture.below(0), mixture.above(0)), 0.0, 1.0);
    const double towards = out.estimate > 0 ? down : up;
    if ((out.estimate > 0 ? below : above) > 0 && towards > 0) {
      const double z = quantile_95 * std::fabs(out.estimate) / towards;
      out.p_value = std::max(out.p_value, 2 * normal_probability(-z));
    }
  } else {
    out.p_value = out.estimate == 0 ? 1 : 0;
  }
  const double mean_half = 0.5 * (out.upper - out.lower);
  out.hidden = mean_half * mean_half >= hidden_share * of_prior * of_prior;
  return out;
}

Collinearity::Collinearity(const Estimates& estimates)
    : size_(estimates.prior_deviation.size()), features_(estimates.feature_means.size()) {
  const std::size_t n = size_;
  require_length(estimates.covariance.size(), n * (n + 1) / 2, "covariance");
  covariance_.resize(n * n);
  for (std::size_t a = 0, at = 0; a < n; ++a)
    for (std::size_t b = 0; b <= a; ++b, ++at)
      covariance_[a * n + b] = covariance_[b * n + a] = estimates.covariance[at];
  // Levels' coefficients add up to a constant, so the covariance has no inverse; hardly more has.
  std::vector<double> factor = covariance_;
  double largest = 0;
  for (std::size_t a = 0; a < n; ++a) largest = std::max(largest, covariance_[a * n + a]);
  for (std::size_t a = 0; a < n; ++a)
    factor[a * n + a] += 1e-8 * covariance_[a * n + a] + 1e-14 * largest;
  factorize(factor, n, 1e-300);
  information_.resize(n * n);
  for (std::size_t a = 0; a < n; ++a) {
    information_[a * n + a] = 1;
    solve(factor, n, std::span(information_).subspan(a * n, n));
  }
  for (const double deviation : estimates.prior_deviation)
    prior_precision_.push_back(deviation > 0 ? 1 / (deviation * deviation) : 0);
}

bool Collinearity::holds(std::span<const double> c) const {
  const std::size_t n = size_;
  require_length(c.size(), n, "combination");
  if (features_ == 0) return false;
  // Cov(theta, c . theta) = variance t: theta moves by t where c . theta moves by 1.
  std::vector<double> t(n);
  double variance = 0;
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b < n; ++b) t[a] += covariance_[a * n + b] * c[b];
    variance += c[a] * t[a];
  }
  if (!(variance > 0)) return false;
  double prior = 0;
  for (std::size_t a = 0; a < n; ++a) prior += prior_precision_[a] * t[a] * t[a] / variance;
  if (!(prior >= least_left)) return false;  // prior / (1/variance) along t
  // Own coefficients, of all classes, and constants; their variance where the others are known is
  // the inverse of the information's block.
  std::vector<bool> is_own(features_);
  for (std::size_t a = 0; a < n; ++a)
    if (c[a] != 0 || prior_precision_[a] == 0) is_own[a % features_] = true;
  std::vector<std::size_t> own;
  for (std::size_t a = 0; a < n; ++a)
    if (is_own[a % features_]) own.push_back(a);
  const std::size_t m = own.size();
  std::vector<double> block(m * m), x(m);
  for (std::size_t a = 0; a < m; ++a) {
    x[a] = c[own[a]];
    for (std::size_t b = 0; b < m; ++b) block[a * m + b] = information_[own[a] * n + own[b]];
  }
  factorize(block, m, 1e-300);
  solve(block, m, x);
  double alone = 0;
  for (std::size_t a = 0; a < m; ++a) alone += c[own[a]] * x[a];
  return variance >= least_inflation * alone;
}

std::vector<double> level_weights(std::span<const double> means, std::size_t first,
                                  std::size_t count) {
  std::vector<double> out(count, 1.0);
  double sum = 0;
  for (std::size_t l = 0; l < count && !means.empty(); ++l)
    sum += out[l] = means[first + l] > 0 ? means[first + l] : 0.0;
  if (!(sum > 0)) {
    out.assign(count, 1.0);
    sum = static_cast<double>(count);
  }
  for (double& weight : out) weight /= sum;
  return out;
}

std::vector<double> feature_combination(const Estimates& estimates, const Schema& schema,
                                        std::size_t j, std::size_t k) {
  std::vector<double> c = no_combination(estimates, schema, j, k);
  const std::size_t d = schema.features();
  const auto of_class = std::span(c).subspan(k * d, d);
  of_class[j] = 1;
  if (schema.intercept && j == d - 1) {
    for (std::size_t first = 0; first < d - 1; first += group_of(schema, first).size) {
      const Group group = group_of(schema, first);
      if (group.is_category) add_weighted_mean(estimates, group, 1, of_class);
    }
  } else if (const Group group = group_of(schema, j); group.is_category) {
    add_weighted_mean(estimates, group, -1, of_class);
  }
  return c;
}

std::vector<double> level_combination(const Estimates& estimates, const Schema& schema,
                                      std::size_t level, std::size_t reference, std::size_t k) {
  std::vector<double> c = no_combination(estimates, schema, std::max(level, reference), k);
  const std::size_t d = schema.features();
  c[k * d + level] += 1;
  c[k * d + reference] -= 1;
  return c;
}

EffectEstimate feature_effect(const Estimates& estimates, const Schema& schema, std::size_t j,
                              std::size_t k) {
  return estimates.combination(feature_combination(estimates, schema, j, k));
}

}  // namespace gibbsite
