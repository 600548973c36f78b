// Estimates of amounts and counts from noisy answers (docs/theory/intervals.md, "Amounts and
// counts"): the root of the block's held score in one step, and a sandwich covariance with the
// error of the answered information.
#include "run/estimates_amounts.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "run/estimates_parts.hpp"

namespace gibbsite {
namespace amounts {  // names of its own in a module that is compiled as one
namespace {

using Eigen::ArrayXd;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Public constants (docs/theory/intervals.md). None has to do with privacy.
constexpr double of_two_classes = 2.5;    // deviation of the prior that feature_parts has
constexpr double rare_share = 0.1;        // of a level whose rows count as alike
constexpr double least_part = 0.005;      // of a matrix, as a part of its public model
constexpr double least_curvature = 1e-3;  // mean curvature of a row
constexpr double bend = 0.15;             // relative error of the slope between center and root
constexpr int steps = 6;
constexpr double most_dispersion = 20;
constexpr double largest_counted = 500;  // counts with a larger range are taken in coarser units

MatrixXd symmetric(const MatrixXd& M) { return 0.5 * (M + M.transpose()); }
double normal_density(double z) { return std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi); }
double normal_beyond(double z) { return 0.5 * std::erfc(z / std::numbers::sqrt2); }

// Normal errors of that deviation, held at a cap: how many are free, and their mean square.
struct NormalErrors {
  double deviation = 1;
  [[nodiscard]] double free(double cap) const { return 1 - 2 * normal_beyond(cap / deviation); }
  [[nodiscard]] double mean_square(double cap) const {
    const double t = cap / deviation, beyond = 2 * normal_beyond(t);
    return deviation * deviation * (1 - beyond - 2 * t * normal_density(t)) + cap * cap * beyond;
  }
};
// The errors whose mean square, held at that cap, is what it is.
NormalErrors errors_of(double mean_square, double cap) {
  double low = 1e-4, high = 100;
  for (int halving = 0; halving < 60; ++halving) {
    const double middle = std::sqrt(low * high);
    (NormalErrors{middle}.mean_square(cap) < mean_square ? low : high) = middle;
  }
  return {low};
}

// What the schema, the metric and the limits say of the rows of a rare level, as if all were alike:
// what the two matrices have of its direction u, Lambda^-1 u by Lambda^-1 u in units of their
// scale, and how many times the information is without weights.
struct RareLevel {
  VectorXd direction, row;
  double share = 0, information = 1, scores = 1, unweighted = 1;
  double count = 0, square = 1, cap = 1;  // its part of the rows; their squared norm; of slopes
};
std::vector<RareLevel> rare_levels(const AnsweredScores& answers, const FeatureParts& features,
                                   double mean_square, bool of_counts) {
  std::vector<RareLevel> out;
  const double squares = answers.lambda.sum();
  const double cap = std::min(1.0, answers.clip / std::sqrt(squares));
  const NormalErrors errors = errors_of(std::min(mean_square, 0.98 * cap * cap), cap);
  for (const LevelPart& level : features.levels) {
    if (!(level.share < rare_share)) continue;
    RareLevel rare;
    rare.direction = features.directions.row(level.direction);
    rare.row = level.row;
    rare.share = level.share;
    const double across = level.across * level.across, s = level.share;
    const double square = std::max(squares - 1, 0.0) + across;
    const double own_cap = std::min(1.0, answers.clip / std::sqrt(square));
    const double weight = std::min(1.0, answers.information_bound / square);
    // The mean count of the level over that of all.
    const double ratio =
        of_counts ? std::clamp(std::exp(level.across * rare.direction.dot(answers.points.back())),
                               0.2, 5.0)
                  : 1.0;
    const NormalErrors own{errors.deviation * std::sqrt(ratio)};
    // The first question, which scales hardly any row down, says how many they are; the metric
    // has what noise left of them, and how far it set all others off.
    const double others = across * s * s / (1 - s);
    const double count =
        answers.means.empty()
            ? s
            : std::max(
                  s, std::min(answers.means[static_cast<std::size_t>(level.feature)], rare_share));
    rare.count = count;
    rare.square = square;
    rare.cap = own_cap;
    const double of_level = count * across * ratio * own.free(own_cap) / errors.free(cap);
    rare.information = weight * of_level + others;
    rare.unweighted = (of_level + others) / rare.information;
    rare.scores = count * across * own.mean_square(own_cap) / errors.mean_square(cap) + others;
    out.push_back(std::move(rare));
  }
  return out;
}

// An answered matrix, A = scale B + scale sum_j delta_j u_j u_j^T + rest with a public model B: the
// scale by least squares, delta_j by their prior, the rest shrunk element by element by its own
// size. Of a rare level's direction B has what the level says, and delta half of that.
class Smoothed {
 public:
  Smoothed(const AnsweredMoments& answer, MatrixXd model, const FeatureParts& features,
           const VectorXd& lambda, const std::vector<RareLevel>& rare, double RareLevel::*along,
           double least, double most) {
    const Index k = lambda.size();
    MatrixXd directions = features.directions;
    VectorXd own = correction_deviations(directions.rows(), lambda);
    MatrixXd spanned(k, static_cast<Index>(rare.size()));
    std::size_t next = 0;
    for (const LevelPart& level : features.levels) {
      if (next == rare.size() ||
          directions.row(level.direction).transpose() != rare[next].direction)
        continue;
      // u is of length 1 by Lambda^-1: what B has of u u^T is seen along Lambda^-1 u.
      const VectorXd& u = rare[next].direction;
      const VectorXd across = u.cwiseQuotient(lambda);
      model += (rare[next].*along - across.dot(model * across)) * u * u.transpose();
      own[level.direction] *= rare[next].*along;
      spanned.col(static_cast<Index>(next++)) = u;
    }
    if (!rare.empty()) {  // what axes say of these levels is said by the levels
      const Eigen::ColPivHouseholderQR<MatrixXd> qr(spanned);
      const MatrixXd Q = qr.householderQ() * MatrixXd::Identity(k, qr.rank());
      directions.bottomRows(k) -= (directions.bottomRows(k) * Q * Q.transpose()).eval();
    }
    const double scale =
        std::clamp(answer.sum.cwiseProduct(model).sum() / model.squaredNorm(), least, most);
    shrunk_.emplace(answer.sum, answer.deviation, ExpectedMatrix{scale * model}, scale,
                    std::move(directions), own);
    matrix = scale * model + shrunk_->correction();
    // No direction has less than a part of the scale.
    const ArrayXd root = lambda.array().sqrt();
    const Eigen::SelfAdjointEigenSolver<MatrixXd> e(symmetric(
        root.inverse().matrix().asDiagonal() * matrix * root.inverse().matrix().asDiagonal()));
    const MatrixXd V = root.matrix().asDiagonal() * e.eigenvectors();
    matrix = V * e.eigenvalues().cwiseMax(least_part * scale).asDiagonal() * V.transpose();
  }

  [[nodiscard]] MatrixXd error(const MatrixXd& vv) const { return shrunk_->error(vv); }

  MatrixXd matrix;  // [k x k], positive definite

 private:
  std::optional<ShrunkInformation> shrunk_;
};

// E e^(z . omega) z z^T of normal rows z over E e^(z . omega): that of rows moved by S omega.
MatrixXd of_log_means(const VectorXd& lambda, const VectorXd& mean, const VectorXd& omega) {
  const MatrixXd covariance = MatrixXd(lambda.asDiagonal()) - mean * mean.transpose();
  const VectorXd moved = mean + covariance * omega;
  return covariance + moved * moved.transpose();
}

// Counts up to `largest` whose variance is mean + dispersion mean^2 (negative binomial's law), as
// parts of `largest`, and their slopes mean - count held at a cap.
class HeldCounts {
 public:
  HeldCounts(double largest, double dispersion)
      : largest_(std::min(largest, largest_counted)),
        unit_(largest / largest_),
        dispersion_(dispersion) {}

  struct Slope {
    double beyond = 0;  // mean of the held slope, less that of the slope itself
    double square = 0;  // mean square of the held slope
  };
  [[nodiscard]] Slope slope(double mean, double cap) const {
    const double counts = std::clamp(mean, 1e-6, 1.0) * largest_;
    // In units of several counts the variance of as many counts is smaller.
    const double spread = std::max(dispersion_ + (1 / unit_ - 1) / counts, 0.0);
    const double p = counts / (1 + spread * counts);
    double chance =
        spread > 1e-9 ? std::exp(-std::log1p(spread * counts) / spread) : std::exp(-counts);
    double left = 1;
    Slope out;
    for (double y = 0; y <= largest_; ++y) {
      const double part = y + 1 > largest_ ? left : chance;
      const double r = (counts - y) / largest_, held = std::clamp(r, -cap, cap);
      out.beyond += part * (held - r);
      out.square += part * held * held;
      left -= chance;
      chance *= p * (1 + spread * y) / (y + 1);
    }
    return out;
  }
  // Means over normal logarithms of the mean.
  [[nodiscard]] Slope slope(double center, double deviation, double cap) const {
    constexpr std::array<double, 5> points{-2.856970013872806, -1.355626179974266, 0,
                                           1.355626179974266, 2.856970013872806};
    constexpr std::array<double, 5> weights{0.011257411327721, 0.222075922005613, 0.533333333333333,
                                            0.222075922005613, 0.011257411327721};
    Slope out;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const Slope at = slope(std::exp(center + deviation * points[i]), cap);
      out.beyond += weights[i] * at.beyond;
      out.square += weights[i] * at.square;
    }
    return out;
  }

 private:
  double largest_, unit_, dispersion_;
};

// What clipping may do to the scores of rare levels' counts at the truth: large ones are held,
// small ones are not, so the mean of the scores is not 0 there. How far counts spread is what the
// mean square of all rows' scores says, a released number. How rows of a level differ is not known
// well enough to move an estimate by it, so it is an error of the scores' sum.
class ClippedCounts {
 public:
  ClippedCounts(const AnsweredScores& answers, const AnsweredMoments& scores, const VectorXd& mean,
                const std::vector<RareLevel>& rare, double largest)
      : rare_(rare), rows_(answers.rows), mean_(mean), lambda_(answers.lambda) {
    if (answers.weighted || answers.rows_of_person > 1) return;  // J is no mean of rows there
    const double cap = std::min(1.0, answers.clip / std::sqrt(lambda_.sum()));
    double low = 0, high = most_dispersion;
    for (int halving = 0; halving < 25; ++halving) {
      const double middle = (low + high) / 2;
      const HeldCounts law(largest, middle);
      (rows_ * trace(law, answers.points.back(), cap) < scores.sum.trace() ? low : high) = middle;
    }
    law_.emplace(largest, low);
  }

  // That error's covariance [k x k]: each level's along its average row.
  [[nodiscard]] MatrixXd covariance(const VectorXd& omega) const {
    MatrixXd out = MatrixXd::Zero(omega.size(), omega.size());
    if (!law_) return out;
    for (const RareLevel& level : rare_) {
      const double wide = deviation(omega, level.direction.dot(omega));
      const double beyond = law_->slope(level.row.dot(omega), wide, level.cap).beyond;
      out += std::pow(rows_ * level.count * beyond, 2) * level.row * level.row.transpose();
    }
    return out;
  }

 private:
  // The predictor's deviation between rows that do not differ in the `along` of it.
  [[nodiscard]] double deviation(const VectorXd& omega, double along) const {
    const double mean = mean_.dot(omega);
    const double variance = omega.cwiseAbs2().dot(lambda_) - mean * mean - along * along;
    return std::sqrt(std::clamp(variance, 0.0, 4.0));
  }
  // The mean of a row's squared score: rare levels' rows are longer, and so held lower.
  [[nodiscard]] double trace(const HeldCounts& law, const VectorXd& at, double cap) const {
    double others = lambda_.sum(), out = 0;
    for (const RareLevel& level : rare_) {
      const double square = level.count * level.square;
      others -= square;
      const double wide = deviation(at, level.direction.dot(at));
      out += square * law.slope(level.row.dot(at), wide, level.cap).square;
    }
    others = std::max(others, 0.2 * lambda_.sum());
    return out + others * law.slope(mean_.dot(at), deviation(at, 0), cap).square;
  }

  const std::vector<RareLevel>& rare_;
  double rows_;
  VectorXd mean_, lambda_;
  std::optional<HeldCounts> law_;
};

struct Posterior {
  VectorXd mean;
  MatrixXd covariance;
};

// R of the slope of the scores, H = R A_2 R, whose rows have no weights: R^2 is, of all rows, a
// normal row's squared norm over what the limit leaves of it, and along a rare level what its rows
// and all others have without weights.
MatrixXd without_weights(const AnsweredScores& answers, const std::vector<RareLevel>& rare) {
  const double mean = answers.lambda.sum(), deviation = std::sqrt(2.0) * answers.lambda.norm();
  const double t = (answers.information_bound - mean) / deviation;
  const double left = mean - deviation * (normal_density(t) - t * normal_beyond(t));
  const Index k = answers.lambda.size();
  MatrixXd squared = std::clamp(mean / left, 1.0, 2.0) * MatrixXd::Identity(k, k);
  for (const RareLevel& level : rare) {
    const VectorXd u = level.direction.normalized();
    squared += (level.unweighted - 1) * (1 - level.share) * u * u.transpose();
  }
  return Eigen::SelfAdjointEigenSolver<MatrixXd>(squared).operatorSqrt();
}

// sum of v_t (H omega_t - G_t) = H omega + noise, of covariance sigma^2 + J + (error of H)(center -
// omega): the end of the path and the block, weighted by their precision.
Posterior solve(const AnsweredScores& answers, const Smoothed& information,
                const std::vector<RareLevel>& rare, const MatrixXd& J, const MatrixXd& prior,
                const std::optional<ClippedCounts>& counts) {
  const Index k = answers.lambda.size();
  const MatrixXd R = without_weights(answers, rare);
  const MatrixXd H = symmetric(R * information.matrix * R);
  const std::size_t last = answers.points.size() - 1;
  VectorXd center = VectorXd::Zero(k), gradient = center;
  double weight = 0;
  for (std::size_t t = last - last / 4; t <= last; ++t) {
    const double w = 1 / answers.variances[t];
    center += w * answers.points[t];
    gradient += w * answers.gradients[t];
    weight += w;
  }
  center /= weight;
  gradient /= weight;
  const VectorXd U = H * center - gradient;
  MatrixXd path_prior = prior;
  path_prior.diagonal() += (answers.prior_scale * answers.prior).cwiseInverse();
  MatrixXd known = J;
  known.diagonal().array() += 1 / weight;
  Posterior out{center, {}};
  MatrixXd noise = known;
  for (int step = 0; step < steps; ++step) {
    const MatrixXd S = inverse_of_symmetric(symmetric(noise));
    out.covariance = inverse_of_symmetric(symmetric(H * S * H) + prior);
    out.mean = out.covariance * (H * (S * U));
    const VectorXd away = center - out.mean;
    const MatrixXd narrow =
        inverse_of_symmetric(inverse_of_symmetric(out.covariance) - prior + path_prior);
    const MatrixXd vv = away * away.transpose() + narrow;
    // A count's curvature is its mean, which changes by half of the predictor's change on the way.
    const double turn = vv.diagonal().dot(answers.lambda) / 4;
    const double slope = counts ? std::max(bend * bend, turn) : bend * bend;
    noise = known + R * information.error(R * vv * R) * R + slope * (H * vv * H);
    if (counts) noise += counts->covariance(out.mean);
  }
  return out;
}

bool all_finite(const std::vector<double>& values) {
  return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
}

std::vector<double> values_of(const VectorXd& v) { return {v.begin(), v.end()}; }

std::optional<Estimates> posterior_of(const AnsweredScores& answers, const AnsweredMoments& scores,
                                      const Schema& schema) {
  const FeatureParts features = feature_parts(answers, schema);
  const Index k = answers.metric.cols();
  if (scores.sum.rows() != k || scores.sum.cols() != k)
    throw BadInput("answers: scores must be [k x k]; give all answers of one run with its schema");
  if (!features.usable || !scores.sum.allFinite() || !(scores.deviation > 0)) return {};
  if (!(answers.clip > 0 && answers.information_bound > 0)) return {};

  const double n = answers.rows, clip2 = answers.clip * answers.clip;
  const VectorXd& lambda = answers.lambda;
  const bool of_counts = is<Count>(schema.label);
  const MatrixXd model = of_counts ? of_log_means(lambda, features.row_mean, answers.points.back())
                                   : MatrixXd(lambda.asDiagonal());
  // What the trace of J allows: people's scores are as long as k of a row.
  const double most = n * answers.rows_of_person * clip2 / lambda.sum();
  const double mean_square = std::clamp(scores.sum.trace() / lambda.sum(), 1e-6 * most, most) / n;
  const std::vector<RareLevel> rare = rare_levels(answers, features, mean_square, of_counts);
  const Smoothed information({answers.information, answers.information_deviation}, model, features,
                             lambda, rare, &RareLevel::information, least_curvature * n, n);
  const Smoothed variance(scores, model, features, lambda, rare, &RareLevel::scores, 1e-6 * most,
                          most);
  // A prior as wide as the range of amounts allows: its half is `range` tolerances.
  const NumberLabel& ends = *number_of(schema.label);
  const double range = (ends.hi - ends.lo) / (2 * label_unit(schema.label));
  const double deviation = of_counts ? of_two_classes : std::max(of_two_classes, range / 2);
  const VectorXd precision = features.precision * std::pow(of_two_classes / deviation, 2);
  const MatrixXd prior = features.metric.transpose() * precision.asDiagonal() * features.metric;
  std::optional<ClippedCounts> counts;
  if (of_counts) counts.emplace(answers, scores, features.row_mean, rare, ends.hi);
  const Posterior found =
      solve(answers, information, rare, answers.rows_alike * variance.matrix, prior, counts);
  if (!found.mean.allFinite() || !found.covariance.allFinite()) return {};

  Estimates out;
  const MatrixXd& P = answers.metric;
  out.weights = {1};
  out.means = {values_of(P * found.mean)};
  const MatrixXd covariance = P * found.covariance * P.transpose();
  for (Index a = 0; a < covariance.rows(); ++a) {
    for (Index b = 0; b <= a; ++b) {
      const double value = 0.5 * (covariance(a, b) + covariance(b, a));
      out.covariance.push_back(rounded_estimate(a == b ? std::max(value, 0.0) : value));
    }
  }
  out.prior_deviation = values_of(precision.cwiseSqrt().cwiseInverse());
  if (schema.intercept) out.prior_deviation.back() = std::numeric_limits<double>::infinity();
  out.feature_means = answers.means.empty() ? values_of(features.means) : answers.means;
  if (schema.intercept) out.feature_means.back() = 1;
  out.feature_deviations = values_of(features.deviations);
  if (!all_finite(out.means[0]) || !all_finite(out.covariance) || !all_finite(out.feature_means))
    return {};
  return out;
}

}  // namespace
}  // namespace amounts

std::optional<Estimates> estimate_amounts(const AnsweredScores& answers,
                                          const AnsweredMoments& scores, const Schema& schema) {
  return amounts::posterior_of(answers, scores, schema);
}

}  // namespace gibbsite
