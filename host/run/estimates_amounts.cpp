// Estimates of amounts and counts from noisy answers (docs/theory/intervals.md, "Amounts and
// counts"): the root of the block's score in one step, and a sandwich covariance with the error of
// the answered information.
#include "run/estimates_amounts.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/model/losses/poisson.hpp"
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
constexpr double least_own = 0.7;         // of a rare level's direction, beside other columns
constexpr double least_part = 0.005;      // of a matrix, as a part of its public model
constexpr double least_curvature = 1e-3;  // mean curvature of a row
// An error is one of scores over the slope, and that may be as much smaller: by so many of its
// deviations beyond the small ones, but no smaller than a part.
constexpr double slope_doubt = 2, small_doubt = 0.1, least_slope = 0.1;
constexpr double bend = 0.15;  // relative error of the slope between center and root
constexpr int steps = 6;
constexpr double most_dispersion = 20, least_dispersion = 0.01;
constexpr double believed_dispersion = 5;  // above it counts are not believed to be of such a law
constexpr double law_error = 0.4;          // of a mean square that the law expects
constexpr double telling = 2.2;            // least mean square at believed_dispersion, in Poisson's
constexpr double largest_counted = 500;    // counts with a larger range are taken in coarser units

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
  Index feature = 0;
  double share = 0, information = 1, scores = 1, unweighted = 1;
  double count = 0, square = 1, cap = 1;  // its part of the rows; their squared norm; of slopes
  double across = 0, others = 0;          // squares: of its rows, and of all others, along u
  double doubt = 0;                       // relative error of `count`, by the noise in it
};
// What an answered share with noise says of a share above 0, every one of which is as likely
// before.
struct Counted {
  double mean = 0, deviation = 0;
};
Counted counted_part(const AnsweredScores& answers, std::size_t feature) {
  const double share = answers.means[feature];
  if (answers.mean_deviations.empty()) return {share, 0};
  const double deviation = answers.mean_deviations[feature], z = share / deviation;
  const double hazard = normal_density(z) / (1 - normal_beyond(z));
  const double left = std::max(1 - z * hazard - hazard * hazard, 0.0);
  return {share + deviation * hazard, deviation * std::sqrt(left)};
}

// What no other column's numbers and levels say of a level's direction. Levels are asked about
// column by column, as each column takes O(k^3) time.
class OwnParts {
 public:
  OwnParts(const VectorXd& lambda, const FeatureParts& features)
      : root_(lambda.cwiseSqrt().cwiseInverse()), features_(features) {}

  // 1 where columns do not lean on each other, next to 0 where they determine each other.
  [[nodiscard]] double of(const LevelPart& level) {
    if (level.column != column_) look_at(level.column);
    if (others_.cols() == 0) return 1;
    const VectorXd own = root_.cwiseProduct(features_.directions.row(level.direction).transpose());
    return (own - others_ * squares_.solve(own)).squaredNorm() / own.squaredNorm();
  }

 private:
  void look_at(Index column) {
    column_ = column;
    std::vector<Index> others(features_.numbers.size());
    std::iota(others.begin(), others.end(), Index{0});
    for (const LevelPart& other : features_.levels)
      if (other.column != column) others.push_back(other.direction);
    others_ = root_.asDiagonal() * features_.directions(others, Eigen::all).transpose();
    if (!others.empty()) squares_.compute(others_);
  }

  VectorXd root_;
  const FeatureParts& features_;
  Index column_ = -1;
  MatrixXd others_;  // [k x others]
  Eigen::CompleteOrthogonalDecomposition<MatrixXd> squares_;
};

// None of a model with interactions, whose levels are parts of their columns'.
std::vector<RareLevel> rare_levels(const AnsweredScores& answers, const FeatureParts& features,
                                   const Schema& schema) {
  std::vector<RareLevel> out;
  if (!schema.interactions.empty()) return out;
  OwnParts own(answers.lambda, features);
  const double squares = answers.lambda.sum();
  for (const LevelPart& level : features.levels) {
    // Rows have any part of a knot, so those near a curve's end are not alike.
    if (!(level.share < rare_share) || level.is_knot) continue;
    if (own.of(level) < least_own) continue;
    RareLevel rare;
    rare.direction = features.directions.row(level.direction);
    rare.row = level.row;
    rare.feature = level.feature;
    rare.share = level.share;
    const double s = level.share;
    rare.across = level.across * level.across;
    rare.square = std::max(squares - 1, 0.0) + rare.across;
    rare.cap = std::min(1.0, answers.clip / std::sqrt(rare.square));
    // The first question, which scales hardly any row down, says how many they are; the metric
    // has what noise left of them, and how far it set all others off.
    rare.others = rare.across * s * s / (1 - s);
    rare.count = s;
    if (!answers.means.empty()) {
      const Counted counted = counted_part(answers, static_cast<std::size_t>(level.feature));
      rare.count = std::max(s, std::min(counted.mean, rare_share));
      rare.doubt = counted.deviation / rare.count;
    }
    out.push_back(std::move(rare));
  }
  return out;
}

// A row of a level by one of all rows: its curvature, and its squared slope, as they are capped.
struct OfLevel {
  double curvature = 1, square = 1;
};
void set_matrices(RareLevel& level, const OfLevel& row, double information_bound) {
  const double weight = std::min(1.0, information_bound / level.square);
  const double of_level = level.count * level.across * row.curvature;
  level.information = weight * of_level + level.others;
  level.unweighted = (of_level + level.others) / level.information;
  level.scores = level.count * level.across * row.square + level.others;
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
      own[level.direction] *=
          std::hypot(1, rare[next].doubt / own[level.direction]) * rare[next].*along;
      spanned.col(static_cast<Index>(next++)) = u;
    }
    if (!rare.empty()) {  // what axes say of these levels is said by the levels
      const Eigen::ColPivHouseholderQR<MatrixXd> qr(spanned);
      const MatrixXd Q = qr.householderQ() * MatrixXd::Identity(k, qr.rank());
      directions.bottomRows(k) -= (directions.bottomRows(k) * Q * Q.transpose()).eval();
    }
    scale = std::clamp(answer.sum.cwiseProduct(model).sum() / model.squaredNorm(), least, most);
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

  MatrixXd matrix;   // [k x k], positive definite
  double scale = 1;  // of its public model

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
// parts of `largest`, and their slopes mean - count weighted at a cap.
class WeightedCounts {
 public:
  WeightedCounts(double largest, double dispersion)
      : largest_(std::min(largest, largest_counted)),
        of_all_(largest),
        unit_(largest / largest_),
        dispersion_(dispersion) {}

  struct Slope {
    double beyond = 0;     // mean of the score, less that of the slope times its weight
    double square = 0;     // mean square of the score
    double curvature = 0;  // mean of the weight times the mean
  };
  [[nodiscard]] Slope slope(double mean, double cap) const {
    const double part_of_all = std::clamp(mean, 1e-6, 1.0), counts = part_of_all * largest_;
    const double weight = losses::poisson::weight(part_of_all, cap, of_all_);
    // In units of several counts the variance of as many counts is smaller.
    const double spread = std::max(dispersion_ + (1 / unit_ - 1) / counts, 0.0);
    const double p = counts / (1 + spread * counts);
    double chance =
        spread > 1e-9 ? std::exp(-std::log1p(spread * counts) / spread) : std::exp(-counts);
    double left = 1;
    Slope out;
    out.curvature = weight * part_of_all;
    for (double y = 0; y <= largest_; ++y) {
      const double part = y + 1 > largest_ ? left : chance;
      const double r = weight * (counts - y) / largest_, held = std::clamp(r, -cap, cap);
      out.beyond += part * (held - r);
      out.square += part * held * held;
      left -= chance;
      chance *= p * (1 + spread * y) / (y + 1);
    }
    return out;
  }
  // Means over normal predictors, of which exp(z - shift) is the mean.
  [[nodiscard]] Slope slope(double center, double deviation, double cap) const {
    constexpr std::array<double, 5> points{-2.856970013872806, -1.355626179974266, 0,
                                           1.355626179974266, 2.856970013872806};
    constexpr std::array<double, 5> weights{0.011257411327721, 0.222075922005613, 0.533333333333333,
                                            0.222075922005613, 0.011257411327721};
    Slope out;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const Slope at = slope(losses::poisson::predicted(center + deviation * points[i]), cap);
      out.beyond += weights[i] * at.beyond;
      out.square += weights[i] * at.square;
      out.curvature += weights[i] * at.curvature;
    }
    return out;
  }

 private:
  double largest_, of_all_, unit_, dispersion_;
};

// Scores of counts, which a weight that does not look at the count keeps below their caps, but for
// counts that spread more than Poisson's: those are held, so the mean of their scores is not 0 at
// the truth. How far counts spread is what the mean square of all rows' scores says, a released
// number. How rows of a level differ is not known well enough to move an estimate by it, so it is
// an error of the scores' sum.
class CountScores {
 public:
  CountScores(const AnsweredScores& answers, const AnsweredMoments& scores, const VectorXd& mean,
              const std::vector<RareLevel>& rare, const Schema& schema)
      : rare_(rare),
        rows_(answers.rows),
        largest_(number_of(schema.label)->hi),
        mean_(mean),
        lambda_(answers.lambda),
        last_(answers.points.back()),
        cap_(std::min(1.0, answers.clip / std::sqrt(lambda_.sum()))),
        law_(largest_, 0) {
    if (schema.offset_bound() > 0) find_shift(answers);
    // With weights or people J adds up squares of what rows count, so it says of the dispersion
    // less than there is.
    law_ = WeightedCounts(largest_, found_dispersion(scores.sum.trace()));
    // Scores of a small range tell next to nothing of the dispersion.
    if (trace_with(believed_dispersion) < telling * trace_with(0)) return;
    const double noise = scores.deviation * std::sqrt(static_cast<double>(lambda_.size()));
    const auto without_error = [&](double trace) {
      return found_dispersion(trace / (1 + law_error));
    };
    unknown_ = std::clamp(without_error(scores.sum.trace()) / believed_dispersion - 1, 0.0, 1.0);
    if (!answers.weighted && answers.rows_of_person <= 1)
      dispersion_ = without_error(scores.sum.trace() - 2 * noise);
  }
  // What is more than noise and the law's error make of it.
  [[nodiscard]] double dispersion() const { return dispersion_; }

  // That error's covariance [k x k]: each level's along its average row. Of counts that spread as
  // no such law says, the mean score of a level's rows may be any that its cap allows.
  [[nodiscard]] MatrixXd covariance(const VectorXd& omega) const {
    MatrixXd out = MatrixXd::Zero(omega.size(), omega.size());
    for (const RareLevel& level : rare_) {
      const double beyond =
          std::max(std::abs(slope_of(law_, level, omega).beyond), unknown_ * level.cap);
      out += std::pow(rows_ * level.count * beyond, 2) * level.row * level.row.transpose();
    }
    return out;
  }
  // Where the last gradient was asked. A level's mean may be a few times that of all.
  [[nodiscard]] OfLevel of(const RareLevel& level) const {
    const auto own = slope_of(law_, level, last_), all = slope_of_others(law_);
    return {std::clamp(own.curvature / all.curvature, 0.2, 5.0),
            std::clamp(own.square / all.square, 0.1, 10.0)};
  }

 private:
  using Slope = WeightedCounts::Slope;

  // The predictor's deviation between rows that do not differ in the `along` of it.
  [[nodiscard]] double deviation(const VectorXd& omega, double along) const {
    const double mean = mean_.dot(omega);
    const double variance = omega.cwiseAbs2().dot(lambda_) - mean * mean - along * along;
    return std::sqrt(std::clamp(variance, 0.0, 4.0));
  }
  [[nodiscard]] Slope slope_of(const WeightedCounts& law, const RareLevel& level,
                               const VectorXd& omega) const {
    return law.slope(level.row.dot(omega) + shift_, deviation(omega, level.direction.dot(omega)),
                     level.cap);
  }
  [[nodiscard]] Slope slope_of_others(const WeightedCounts& law) const {
    return law.slope(mean_.dot(last_) + shift_, deviation(last_, 0), cap_);
  }
  // The trace of second moments of scores of a law of that dispersion, and the dispersion with
  // which they have that trace.
  [[nodiscard]] double trace_with(double dispersion) const {
    return rows_ * trace(WeightedCounts(largest_, dispersion), &Slope::square);
  }
  [[nodiscard]] double found_dispersion(double scores) const {
    double low = 0, high = most_dispersion;
    for (int halving = 0; halving < 25; ++halving) {
      const double middle = (low + high) / 2;
      (trace_with(middle) < scores ? low : high) = middle;
    }
    return low;
  }
  // Exposures are no part of a row, so what they do to the mean is what the answered information
  // says: the one shift with which that of the law has its trace.
  void find_shift(const AnsweredScores& answers) {
    double least = -6, most = 0;
    for (int halving = 0; halving < 25; ++halving) {
      shift_ = (least + most) / 2;
      const double found = rows_ * trace(law_, &Slope::curvature, answers.information_bound);
      (found < answers.information.trace() ? least : most) = shift_;
    }
  }
  // The mean of a row's squared score, or of its curvature times its squared norm, less what a
  // bound takes: rare levels' rows are longer, and so weigh less.
  [[nodiscard]] double trace(const WeightedCounts& law, double Slope::*what,
                             double bound = std::numeric_limits<double>::infinity()) const {
    double others = lambda_.sum(), out = 0;
    for (const RareLevel& level : rare_) {
      const double square = level.count * level.square;
      others -= square;
      out += square * std::min(1.0, bound / level.square) * (slope_of(law, level, last_).*what);
    }
    others = std::max(others, 0.2 * lambda_.sum());
    return out + others * (slope_of_others(law).*what);
  }

  const std::vector<RareLevel>& rare_;
  double rows_, largest_;
  VectorXd mean_, lambda_, last_;
  double cap_;
  WeightedCounts law_;
  double shift_ = 0;  // of predictors, by the rows' exposures
  double dispersion_ = 0;
  double unknown_ = 0;  // part of a cap
};

struct Posterior {
  VectorXd mean;
  MatrixXd covariance;
  std::vector<double> doubts{};  // relative errors of the slopes along rare levels
};

// The slope H of the scores' sum, from A_2, in which the limit weighs rows down: of all rows by a
// normal row's squared norm over what the limit leaves of it. A rare level's rows, which A_2 has by
// their weight alone, are added as rows of the level's average and of all rows' spread about it.
// How many they are is what was counted, corrected by what A_2 has along the level's direction u as
// far as its noise lets it say.
class Slope {
 public:
  Slope(const AnsweredScores& answers, const Smoothed& information,
        const std::vector<RareLevel>& rare)
      : information_(information) {
    const double mean = answers.lambda.sum(), deviation = std::sqrt(2.0) * answers.lambda.norm();
    const double t = (answers.information_bound - mean) / deviation;
    const double left = mean - deviation * (normal_density(t) - t * normal_beyond(t));
    of_all_ = std::clamp(mean / left, 1.0, 2.0);
    H = of_all_ * information.matrix;
    for (const RareLevel& level : rare) {
      const VectorXd u = level.direction.normalized();
      const MatrixXd uu = u * u.transpose();
      const double along = u.dot(level.row), more = level.unweighted - 1;
      // What A_2 says beside what is expected of it, r times: of 1 and its own noise.
      const VectorXd across = level.direction.cwiseQuotient(answers.lambda);
      const double expected = information.scale * level.information;
      const double noise = across.squaredNorm() * answers.information_deviation / expected;
      const double prior = prior_error * prior_error + level.doubt * level.doubt;
      const double kept = prior / (prior + noise * noise);
      doubts.push_back(std::sqrt(kept) * noise);
      if (!(along * along > 0) || !(more > 1e-9)) continue;
      const double seen = across.dot(answers.information * across) / expected;
      const double r = std::max(1 + kept * (seen - 1), least_seen);
      const MatrixXd spread =
          MatrixXd(answers.lambda.asDiagonal()) - u.dot(answers.lambda.cwiseProduct(u)) * uu;
      const double unit = expected * level.direction.squaredNorm() * more * (1 - level.share);
      rows_.emplace_back(unit / (along * along) * (level.row * level.row.transpose() + spread));
      H += r * rows_.back();
      // The error of A_2 along u and this one add up.
      variances_.push_back(kept * noise * noise * (level.unweighted + 1) / more);
    }
    H = symmetric(H);
  }

  // E of E vv^T E, E the error of H.
  [[nodiscard]] MatrixXd error(const MatrixXd& vv) const {
    MatrixXd out = of_all_ * of_all_ * information_.error(vv);
    for (std::size_t i = 0; i < rows_.size(); ++i) out += variances_[i] * rows_[i] * vv * rows_[i];
    return out;
  }

  MatrixXd H;                  // [k x k]
  std::vector<double> doubts;  // relative errors of H along each rare level

 private:
  static constexpr double prior_error = 0.3, least_seen = 0.05;

  const Smoothed& information_;
  double of_all_ = 1;
  std::vector<MatrixXd> rows_;     // of each rare level, as many as were expected
  std::vector<double> variances_;  // of how many times as many they are
};

// sum of v_t (H omega_t - G_t) = H omega + noise, of covariance sigma^2 + J + (error of H)(center -
// omega): the end of the path and the block, weighted by their precision.
Posterior solve(const AnsweredScores& answers, const Smoothed& information,
                const std::vector<RareLevel>& rare, const MatrixXd& J, const MatrixXd& prior,
                const std::optional<CountScores>& counts) {
  const Index k = answers.lambda.size();
  const Slope of_scores(answers, information, rare);
  const MatrixXd& H = of_scores.H;
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
  Posterior out{center, {}, of_scores.doubts};
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
    noise = known + of_scores.error(vv) + slope * (H * vv * H);
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
  const NumberLabel& ends = *number_of(schema.label);
  std::vector<RareLevel> rare = rare_levels(answers, features, schema);
  std::optional<CountScores> counts;
  if (of_counts) {
    counts.emplace(answers, scores, features.row_mean, rare, schema);
    for (RareLevel& level : rare) set_matrices(level, counts->of(level), answers.information_bound);
  } else {
    const double mean_square = std::clamp(scores.sum.trace() / lambda.sum(), 1e-6 * most, most) / n;
    const double cap = std::min(1.0, answers.clip / std::sqrt(lambda.sum()));
    const NormalErrors errors = errors_of(std::min(mean_square, 0.98 * cap * cap), cap);
    for (RareLevel& level : rare)
      set_matrices(level,
                   {errors.free(level.cap) / errors.free(cap),
                    errors.mean_square(level.cap) / errors.mean_square(cap)},
                   answers.information_bound);
  }
  const Smoothed information({answers.information, answers.information_deviation}, model, features,
                             lambda, rare, &RareLevel::information, least_curvature * n, n);
  const Smoothed variance(scores, model, features, lambda, rare, &RareLevel::scores, 1e-6 * most,
                          most);
  // A prior as wide as the range of amounts allows: its half is `range` tolerances.
  const double range = (ends.hi - ends.lo) / (2 * label_unit(schema.label));
  const double deviation = of_counts ? of_two_classes : std::max(of_two_classes, range / 2);
  const VectorXd precision = features.precision * std::pow(of_two_classes / deviation, 2);
  const MatrixXd prior = features.metric.transpose() * precision.asDiagonal() * features.metric;
  const Posterior found =
      solve(answers, information, rare, answers.rows_alike * variance.matrix, prior, counts);
  if (!found.mean.allFinite() || !found.covariance.allFinite()) return {};

  Estimates out;
  const MatrixXd& P = answers.metric;
  out.weights = {1};
  out.means = {values_of(P * found.mean)};
  MatrixXd covariance = P * found.covariance * P.transpose();
  for (std::size_t i = 0; i < rare.size(); ++i) {
    double& of_level = covariance(rare[i].feature, rare[i].feature);
    const double doubt = std::max(found.doubts[i] - small_doubt, 0.0);
    const double least = std::max(1 - slope_doubt * doubt, least_slope);
    of_level =
        std::min(of_level / (least * least), std::max(of_level, 1 / precision[rare[i].feature]));
  }
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
  if (counts && counts->dispersion() > least_dispersion)
    out.count_dispersion = rounded_estimate(counts->dispersion());
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
