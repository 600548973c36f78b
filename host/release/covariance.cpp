#include "gibbsite/release/covariance.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <utility>

#include "gibbsite/core/human_count.hpp"
#include "gibbsite/mechanism/covariance.hpp"

namespace gibbsite {
namespace {

// Beyond this deviation of a mean's noise, in half ranges, its square is no small error.
constexpr double most_mean_noise = 0.2;
constexpr double least_rows_over_noise = 10;

double square_of(double v) { return v * v; }
std::size_t triangle_place(std::size_t i, std::size_t j) { return i * (i + 1) / 2 + j; }

// Moments of x in [-1, 1]^d as they follow from the released numbers, and the variances of the
// noise in those, each over the rows squared.
class NoisyMoments {
 public:
  explicit NoisyMoments(const CovarianceRelease& release)
      : model_(release.model()), d_(model_.sums.size()) {
    const CovarianceCertificate& c = release.certificate();
    noise_ = moment_deviations(c.mechanism, c.problem.columns, c.claimed.who.adjacency,
                               c.problem.weighted);
    rows_ = model_.count.value_or(static_cast<double>(c.problem.rows));
    // Rows of one person may be alike: so many tell as much as this many people. With weights of at
    // most 1 they tell no less, as the sum of their squares is at most theirs.
    people_ = rows_ / static_cast<double>(c.claimed.who.rows_per_person);
    if (!(rows_ >= std::max(2.0, least_rows_over_noise * noise_.count))) return;
    known_ = true;
    for (double* deviation : {&noise_.count, &noise_.sum, &noise_.square, &noise_.product})
      *deviation = square_of(*deviation / rows_);
    for (std::size_t j = 0; j < d_; ++j) {
      mean_.push_back(model_.sums[j] / rows_);
      mean_noise_.push_back(noise_.sum + square_of(mean_[j]) * noise_.count);
      square_.push_back(model_.moments[triangle_place(j, j)] / rows_ + noise_.shift);
      // The square of a noisy mean is too large by the variance of its noise.
      const double about = square_[j] - square_of(mean_[j]) + mean_noise_[j];
      variance_.push_back(about * rows_ / (rows_ - 1));
      square_count_.push_back(noise_.shift - square_[j] + 2 * square_of(mean_[j]));
      known_ = known_ && mean_noise_[j] < square_of(most_mean_noise);
    }
  }

  [[nodiscard]] std::size_t size() const { return d_; }
  [[nodiscard]] double rows() const { return rows_; }
  [[nodiscard]] bool has_means() const { return !mean_.empty(); }
  /// Whether noise leaves something to say of second moments.
  [[nodiscard]] bool known() const { return known_; }
  [[nodiscard]] double mean(std::size_t j) const { return mean_[j]; }
  [[nodiscard]] double variance(std::size_t j) const { return variance_[j]; }
  [[nodiscard]] double covariance(std::size_t i, std::size_t j) const {
    return model_.moments[triangle_place(i, j)] / rows_ - mean_[i] * mean_[j];
  }

  [[nodiscard]] MomentEstimate mean_interval(std::size_t j) const {
    // A standard error more than the variance, as far as that is known: for skewed numbers the
    // variance is too small just where the mean is.
    const double v = positive(j), error = (square_of(farthest(j)) * v - v * v) / people_;
    const double most = std::min(v + std::sqrt(variance_noise(j) + std::max(error, 0.0)), 1.0);
    const double half = two_sided_95 * std::sqrt(mean_noise_[j] + most / people_);
    return {mean_[j], std::clamp(mean_[j] - half, -1.0, 1.0),
            std::clamp(mean_[j] + half, -1.0, 1.0)};
  }

  // All v with (variance - v)^2 <= z^2 (noise + (B v - v^2)/n): no fourth moment of numbers that
  // are within reach r of their mean is larger than B v, B = r^2.
  [[nodiscard]] std::pair<double, double> variance_interval(std::size_t j) const {
    const double noise = variance_noise(j);
    const double v = variance_[j], share = two_sided_95 * two_sided_95 / people_,
                 reach = square_of(farthest(j));
    const double a = 1 + share, b = 2 * v + share * reach,
                 c = v * v - two_sided_95 * two_sided_95 * noise;
    const double root = b * b - 4 * a * c;
    // Where noise makes the variance negative, up to what noise alone reaches: "0 to 0" would say
    // that all rows are one number.
    const double of_noise = std::min(two_sided_95 * std::sqrt(noise), 1.0);
    if (!(root >= 0)) return {0, of_noise};
    const double low = (b - std::sqrt(root)) / (2 * a), high = (b + std::sqrt(root)) / (2 * a);
    return {std::clamp(low, 0.0, 1.0), std::clamp(high, low > 0 ? 0.0 : of_noise, 1.0)};
  }

  [[nodiscard]] MomentEstimate covariance_interval(std::size_t i, std::size_t j) const {
    const double c = covariance(i, j), vi = positive(i), vj = positive(j);
    const double fourth = std::min(square_of(reach(i)) * vj, square_of(reach(j)) * vi);
    const double sampled = std::max(fourth - c * c, 0.0) / people_;
    const double half = two_sided_95 * std::sqrt(noise_of(i, j, 0, 0) + sampled);
    return {c, std::max(c - half, -1.0), std::min(c + half, 1.0)};
  }

  // Fieller: all r that c - r (t v_i + v_j / t)/2 does not refuse, t = sqrt(v_j/v_i). An error of t
  // moves it in second order alone.
  [[nodiscard]] std::pair<double, double> correlation_interval(std::size_t i, std::size_t j) const {
    if (!(variance_[i] > 0 && variance_[j] > 0)) return {-1, 1};
    const double ratio = std::sqrt(variance_[j] / variance_[i]);
    const double scale = std::sqrt(variance_[i] * variance_[j]), c = covariance(i, j);
    const auto error = [&](double r) {
      return std::sqrt(noise_of(i, j, r * ratio / 2, r / (2 * ratio)) +
                       sampled_of(i, j, r) / people_);
    };
    const auto kept = [&](double r) { return std::abs(c - r * scale) <= two_sided_95 * error(r); };
    constexpr int steps = 400;
    const auto at = [](int k) { return static_cast<double>(2 * k - steps) / steps; };
    int first = 0, last = steps;
    while (first <= steps && !kept(at(first))) ++first;
    if (first > steps) {  // beyond an end
      const double width = std::min(two_sided_95 * error(1) / scale, 2.0);
      return c > 0 ? std::pair(1 - width, 1.0) : std::pair(-1.0, width - 1);
    }
    while (!kept(at(last))) --last;
    return {std::max(at(first - 1), -1.0), std::min(at(last + 1), 1.0)};
  }

 private:
  [[nodiscard]] double variance_noise(std::size_t j) const {
    return noise_.square + square_of(square_count_[j]) * noise_.count +
           4 * square_of(mean_[j]) * noise_.sum + 2 * square_of(mean_noise_[j]);
  }
  [[nodiscard]] double positive(std::size_t j) const { return std::clamp(variance_[j], 0.0, 1.0); }
  // How far numbers may be from the mean, at most.
  [[nodiscard]] double reach(std::size_t j) const { return 1 + std::min(std::abs(mean_[j]), 1.0); }
  // That distance for every mean that noise leaves.
  [[nodiscard]] double farthest(std::size_t j) const {
    return 1 + std::min(std::abs(mean_[j]) + two_sided_95 * std::sqrt(mean_noise_[j]), 1.0);
  }
  // The variance of the noise in cov - hi v_i - hj v_j, by the derivative of each noisy number; the
  // last terms are of products of two noises.
  [[nodiscard]] double noise_of(std::size_t i, std::size_t j, double hi, double hj) const {
    const double of_count = 2 * mean_[i] * mean_[j] - model_.moments[triangle_place(i, j)] / rows_ -
                            hi * square_count_[i] - hj * square_count_[j];
    const double of_i = 2 * hi * mean_[i] - mean_[j], of_j = 2 * hj * mean_[j] - mean_[i];
    return noise_.product + (hi * hi + hj * hj) * noise_.square +
           (of_i * of_i + of_j * of_j) * noise_.sum + square_of(of_count) * noise_.count +
           mean_noise_[i] * mean_noise_[j] + 2 * square_of(hi * mean_noise_[i]) +
           2 * square_of(hj * mean_noise_[j]);
  }
  // The most variance of s_i s_j (u w - r (u^2 + w^2)/2) for standardized u, w of correlation r:
  // it is s_i s_j (1 - r^2)(p^2 - q^2)/2 with p, q uncorrelated, of variance 1 and bounded.
  [[nodiscard]] double sampled_of(std::size_t i, std::size_t j, double r) const {
    const double far = reach(i) * std::sqrt(positive(j)) + reach(j) * std::sqrt(positive(i));
    return (1 - r * r) * far * far / 4;
  }

  const CovarianceModel& model_;
  std::size_t d_;
  MomentDeviations noise_;  // squared and over rows^2, once known
  double rows_ = 0, people_ = 0;
  bool known_ = false;
  std::vector<double> mean_, mean_noise_, square_, square_count_, variance_;
};

// The nearest positive semidefinite matrix, by its eigenvalues; whether it is another one.
bool project_onto_semidefinite(Eigen::MatrixXd& matrix) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> parts(matrix);
  if (parts.eigenvalues().minCoeff() >= 0) return false;
  matrix = parts.eigenvectors() * parts.eigenvalues().cwiseMax(0).asDiagonal() *
           parts.eigenvectors().transpose();
  return true;
}

Eigen::MatrixXd noisy_covariance(const NoisyMoments& m) {
  const auto d = static_cast<Eigen::Index>(m.size());
  Eigen::MatrixXd out(d, d);
  for (std::size_t i = 0; i < m.size(); ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      const auto a = static_cast<Eigen::Index>(i), b = static_cast<Eigen::Index>(j);
      out(a, b) = out(b, a) = i == j ? m.variance(i) : m.covariance(i, j);
    }
  }
  return out;
}

double half_of_range(const Column& column) { return (column.hi - column.lo) / 2; }

MomentEstimate mean_estimate(const NoisyMoments& m, const Column& column, std::size_t j) {
  const double half = half_of_range(column), middle = column.lo + half;
  if (!m.has_means()) return {middle, column.lo, column.hi};
  const MomentEstimate x = m.mean_interval(j);
  const double value = std::clamp(x.value, -1.0, 1.0);
  return {middle + half * value, middle + half * x.low, middle + half * x.high};
}

// Each is of its own noisy numbers: the nearest positive semidefinite matrix has a larger diagonal,
// by far where columns are many, and so is no estimate of deviations.
MomentEstimate within(double value, double low, double high) {
  return {std::clamp(value, low, high), low, high};
}

MomentEstimate deviation_estimate(const NoisyMoments& m, std::size_t j) {
  const auto [low, high] = m.known() ? m.variance_interval(j) : std::pair(0.0, 1.0);
  const double variance = m.has_means() ? std::max(m.variance(j), 0.0) : 0;
  return within(std::sqrt(variance), std::sqrt(low), std::sqrt(high));
}

MomentEstimate covariance_estimate(const NoisyMoments& m, std::size_t i, std::size_t j) {
  if (!m.known()) return within(m.has_means() ? m.covariance(i, j) : 0, -1, 1);
  const MomentEstimate x = m.covariance_interval(i, j);
  return within(x.value, x.low, x.high);
}

MomentEstimate correlation_estimate(const NoisyMoments& m, std::size_t i, std::size_t j) {
  const auto [low, high] = m.known() ? m.correlation_interval(i, j) : std::pair(-1.0, 1.0);
  const bool seen = m.has_means() && m.variance(i) > 0 && m.variance(j) > 0;
  const double value = seen ? m.covariance(i, j) / std::sqrt(m.variance(i) * m.variance(j)) : 0;
  return within(value, low, high);
}

}  // namespace

CovarianceEstimates covariance_estimates(const CovarianceRelease& release) {
  const NoisyMoments m(release);
  const std::vector<Column>& columns = release.model().schema.columns;
  CovarianceEstimates out;
  out.columns = release.model().columns();
  out.rows = m.rows();
  const auto d = static_cast<Eigen::Index>(m.size());
  Eigen::MatrixXd of = Eigen::MatrixXd::Zero(d, d);
  if (m.has_means()) {
    of = noisy_covariance(m);
    out.projected = project_onto_semidefinite(of);
  }
  for (std::size_t i = 0; i < m.size(); ++i) {
    const auto a = static_cast<Eigen::Index>(i);
    const double half = half_of_range(columns[i]);
    out.means.push_back(mean_estimate(m, columns[i], i));
    const MomentEstimate deviation = deviation_estimate(m, i);
    out.deviations.push_back({half * deviation.value, half * deviation.low, half * deviation.high});
    for (std::size_t j = 0; j < m.size(); ++j) {
      const auto b = static_cast<Eigen::Index>(j);
      const double units = half * half_of_range(columns[j]);
      out.covariance.push_back(units * of(a, b));
      if (j >= i) continue;
      const MomentEstimate x = covariance_estimate(m, i, j);
      out.covariances.push_back({units * x.value, units * x.low, units * x.high});
      out.correlations.push_back(correlation_estimate(m, i, j));
    }
  }
  return out;
}

}  // namespace gibbsite
