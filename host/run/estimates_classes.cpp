// Estimates of several classes from noisy answers (docs/theory/intervals.md, "Several classes").
// Everything is in orthonormal contrasts of the classes: K - 1 coefficients for each coordinate of
// the metric.
#include "run/estimates_classes.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include "engine/class_contrasts.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/engine/engine.hpp"
#include "run/estimates_parts.hpp"

namespace gibbsite {
namespace estimates_classes {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Public constants, chosen by simulation (docs/theory/intervals.md). None has to do with privacy.
constexpr double least_part = 0.02;    // of the derivative, of the public model's
constexpr double least_rows = 0.1;     // of alpha, of the number of rows
constexpr double least_scores = 0.02;  // of answered scores, as a part of the model's
constexpr double most_scores = 4;      // likewise, times k
constexpr double long_deviation = 3;   // sd of scores, a contrast, from which they count as long
constexpr int newton_steps = 30;
constexpr double newton_accuracy = 0.02;             // of the last step, in posterior deviations
constexpr double grid_reach = 6, score_step = 1.25;  // of one and two contrasts: deviations, scores
constexpr double least_points = 20, most_points = 80;  // along each, less one
constexpr Index points_beyond = 2000;                  // of more than two contrasts

Index index_of(std::size_t n) { return static_cast<Index>(n); }

MatrixXd symmetric(const MatrixXd& M) { return 0.5 * (M + M.transpose()); }

// Points [D x Q] and weights whose mean is 0 and whose covariance is 1, for means over a normal of
// D dimensions: a grid for one and two, beyond an additive sequence of square roots of primes, made
// normal by Box and Muller's formula and symmetric.
struct NormalPoints {
  MatrixXd points;
  VectorXd weights;
};

// For scores of that largest deviation: points that lie further apart than a logistic curve is wide
// err as to how it bends.
NormalPoints grid_of_normal(Index D, double deviation) {
  const double needed = std::ceil(2 * grid_reach * deviation / score_step);
  const auto side = static_cast<Index>(std::clamp(needed, least_points, most_points)) + 1;
  const VectorXd line = VectorXd::LinSpaced(side, -grid_reach, grid_reach);
  const VectorXd density = (-0.5 * line.array().square()).exp();
  NormalPoints out;
  const Index Q = D == 1 ? side : side * side;
  out.points.resize(D, Q);
  out.weights.resize(Q);
  for (Index q = 0; q < Q; ++q) {
    out.points(0, q) = line[q % side];
    out.weights[q] = density[q % side];
    if (D == 1) continue;
    out.points(1, q) = line[q / side];
    out.weights[q] *= density[q / side];
  }
  out.weights /= out.weights.sum();
  return out;
}

NormalPoints sequence_of_normal(Index D) {
  const Index half = points_beyond / 2, pairs = (D + 1) / 2;
  std::vector<double> steps;
  for (int candidate = 2; index_of(steps.size()) < 2 * pairs; ++candidate) {
    bool prime = true;
    for (int divisor = 2; divisor * divisor <= candidate; ++divisor)
      prime = prime && candidate % divisor != 0;
    if (prime) steps.push_back(std::sqrt(static_cast<double>(candidate)));
  }
  const auto part = [](double v) { return v - std::floor(v); };
  MatrixXd first(2 * pairs, half);
  for (Index q = 0; q < half; ++q) {
    for (Index pair = 0; pair < pairs; ++pair) {
      const auto at = static_cast<std::size_t>(2 * pair);
      const double place = static_cast<double>(q) + 0.5;
      const double radius = std::sqrt(-2 * std::log(std::max(part(place * steps[at]), 1e-12)));
      const double angle = 2 * std::numbers::pi * part(place * steps[at + 1]);
      first(2 * pair, q) = radius * std::cos(angle);
      first(2 * pair + 1, q) = radius * std::sin(angle);
    }
  }
  const MatrixXd used = first.topRows(D);
  const MatrixXd covariance = used * used.transpose() / static_cast<double>(half);
  const MatrixXd whitened = covariance.llt().matrixL().solve(used);
  NormalPoints out;
  out.points.resize(D, 2 * half);
  out.points << whitened, -whitened;
  out.weights = VectorXd::Constant(2 * half, 1 / static_cast<double>(2 * half));
  return out;
}

// Averages over normal rows at one omega: the mean score and, for every pair of classes,
// E p_a p_b z z^T.
struct Averages {
  VectorXd score;                // E C^T p (x) z [(K - 1) k]
  std::vector<MatrixXd> pairs;   // [k x k] each
  std::vector<double> products;  // E p_a p_b
};

class NormalRowsOfClasses {
 public:
  NormalRowsOfClasses(const FeatureParts& features, const VectorXd& lambda, Index classes)
      : contrasts_(class_contrasts(classes)),
        class_pairs_(class_pairs(static_cast<std::size_t>(classes))),
        beyond_(classes > 3 ? sequence_of_normal(classes - 1) : NormalPoints()),
        mean_(features.row_mean) {
    covariance_ = MatrixXd(lambda.asDiagonal()) - mean_ * mean_.transpose();
  }

  [[nodiscard]] const MatrixXd& contrasts() const { return contrasts_; }
  [[nodiscard]] const std::vector<ClassPair>& pairs() const { return class_pairs_; }
  // C^T (e_a - e_b) of every pair.
  [[nodiscard]] VectorXd difference(const ClassPair& pair) const {
    return contrasts_.row(index_of(pair.first)) - contrasts_.row(index_of(pair.second));
  }
  [[nodiscard]] VectorXd probabilities(const VectorXd& scores) const {
    VectorXd out = contrasts_ * scores;
    out = (out.array() - out.maxCoeff()).exp();
    return out / out.sum();
  }
  // (1 (x) S) omega: how the variance of the scores, of all contrasts, changes with omega.
  [[nodiscard]] VectorXd spread(const VectorXd& omega) const {
    const Index k = mean_.size();
    const Eigen::Map<const MatrixXd> columns(omega.data(), k, omega.size() / k);
    const MatrixXd out = covariance_ * columns;
    return out.reshaped();
  }
  // [(K - 1) x k] of omega.
  [[nodiscard]] MatrixXd rows_of(const VectorXd& omega) const {
    const Index k = mean_.size();
    return Eigen::Map<const MatrixXd>(omega.data(), k, omega.size() / k).transpose();
  }

  // Scores s of the K - 1 contrasts are normal, and z is E z|s plus a normal rest.
  [[nodiscard]] Averages at(const VectorXd& omega, bool with_pairs) const {
    const Index D = contrasts_.cols(), k = mean_.size();
    const MatrixXd M = rows_of(omega);
    const MatrixXd SM = covariance_ * M.transpose();  // [k x D]
    const MatrixXd spread = symmetric(M * SM) + 1e-8 * MatrixXd::Identity(D, D);
    const Eigen::LLT<MatrixXd> factor(spread);
    const MatrixXd L = factor.matrixL();
    const NormalPoints grid =
        D > 2 ? NormalPoints() : grid_of_normal(D, std::sqrt(std::max(spread.trace(), 0.0)));
    const NormalPoints& normal = D > 2 ? beyond_ : grid;
    const MatrixXd B =
        factor.matrixL().solve(SM.transpose()).transpose();  // z = mean + B xi + rest
    const VectorXd center = M * mean_;
    const MatrixXd rest = covariance_ - B * B.transpose();

    Averages out;
    VectorXd mean_probability = VectorXd::Zero(D);
    MatrixXd with_point = MatrixXd::Zero(D, D);  // E C^T p xi^T
    std::vector<double> j0(class_pairs_.size(), 0.0);
    std::vector<VectorXd> j1(class_pairs_.size(), VectorXd::Zero(D));
    std::vector<MatrixXd> j2(class_pairs_.size(), MatrixXd::Zero(D, D));
    for (Index q = 0; q < normal.weights.size(); ++q) {
      const VectorXd xi = normal.points.col(q);
      const VectorXd p = probabilities(center + L * xi);
      const double weight = normal.weights[q];
      const VectorXd g = weight * (contrasts_.transpose() * p);
      mean_probability += g;
      with_point += g * xi.transpose();
      for (std::size_t i = 0; i < class_pairs_.size(); ++i) {
        const double product =
            weight * p[index_of(class_pairs_[i].first)] * p[index_of(class_pairs_[i].second)];
        j0[i] += product;
        if (!with_pairs) continue;
        j1[i] += product * xi;
        j2[i] += product * xi * xi.transpose();
      }
    }
    out.score.resize(D * k);
    for (Index a = 0; a < D; ++a) {
      out.score.segment(a * k, k) = mean_probability[a] * mean_ + B * with_point.row(a).transpose();
    }
    out.products = j0;
    if (!with_pairs) return out;
    for (std::size_t i = 0; i < class_pairs_.size(); ++i) {
      const VectorXd beside = B * j1[i];
      out.pairs.push_back(symmetric(j0[i] * (mean_ * mean_.transpose() + rest) +
                                    mean_ * beside.transpose() + beside * mean_.transpose() +
                                    B * j2[i] * B.transpose()));
    }
    return out;
  }

  // sum over pairs of d d^T (x) block, d = C^T (e_a - e_b).
  [[nodiscard]] MatrixXd assembled(const std::vector<MatrixXd>& blocks) const {
    const Index D = contrasts_.cols(), k = mean_.size();
    MatrixXd out = MatrixXd::Zero(D * k, D * k);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const VectorXd d = difference(class_pairs_[i]);
      for (Index a = 0; a < D; ++a)
        for (Index b = 0; b < D; ++b) out.block(a * k, b * k, k, k) += d[a] * d[b] * blocks[i];
    }
    return out;
  }

 private:
  MatrixXd contrasts_;
  std::vector<ClassPair> class_pairs_;
  NormalPoints beyond_;  // of more than two contrasts
  VectorXd mean_;
  MatrixXd covariance_;
};

struct Posterior {
  VectorXd mean;
  MatrixXd covariance;
};

// U = F(omega) + noise, F(omega) = alpha h(omega) + sum over pairs of d d^T (x) (M + D E p_a p_b at
// omega over that at omega_0) (omega - omega_0): its derivative at omega_0 is the answered
// information. M is what a pair's own multiple adds.
class ClassEquation {
 public:
  ClassEquation(const AnsweredScores& answers, const FeatureParts& features, Index classes)
      : rows_(features, answers.lambda, classes),
        k_(answers.lambda.size()),
        rows_alike_(answers.rows_alike),
        directions_(features.directions) {
    const Index D = classes - 1, m = D * k_;
    at_ = contrasts_of(answers.points.back());
    start_ = rows_.at(at_, true);
    const std::size_t pairs = rows_.pairs().size();
    double along = 0, squares = 0, products = 0;
    std::vector<MatrixXd> answered;
    for (std::size_t i = 0; i < pairs; ++i) {
      answered.emplace_back(answers.information.middleRows(index_of(i) * k_, k_));
      along += answered[i].cwiseProduct(start_.pairs[i]).sum();
      squares += start_.pairs[i].squaredNorm();
      products += start_.products[i];
    }
    // Weights are at most 1, and a row's sum of p_a p_b is at most (1 - 1/K)/2.
    const double largest = 0.5 * (1 - 1 / static_cast<double>(classes));
    alpha_ = std::clamp(along / squares, least_rows * answers.least_weight * answers.rows,
                        std::max(least_rows, largest / std::max(products, 1e-12)) * answers.rows);
    for (std::size_t i = 0; i < pairs; ++i) {
      const double apart =
          own_multiple(answered[i], start_.pairs[i], answers.information_deviation);
      apart_.emplace_back(apart * start_.pairs[i]);
      const double unit = (alpha_ + apart) * start_.products[i];
      ExpectedMatrix expected{(alpha_ + apart) * start_.pairs[i]};
      // As of two classes: the moments that the model is made of have noise.
      if (answers.scores) expected.noise = unit * noise_of_moments(answers.lambda);
      information_.emplace_back(answered[i], answers.information_deviation, expected, unit,
                                directions_,
                                correction_deviations(directions_.rows(), answers.lambda));
    }
    scale_ = answers.lambda.array().rsqrt().matrix().replicate(D, 1);
    const MatrixXd prior =
        features.metric.transpose() * features.precision.asDiagonal() * features.metric;
    answer_unresolved(answers, features, prior, answered);
    prior_ = MatrixXd::Zero(m, m);
    for (Index a = 0; a < D; ++a) prior_.block(a * k_, a * k_, k_, k_) = prior;
    path_prior_ = prior_;
    path_prior_.diagonal() += (answers.prior_scale * answers.prior).cwiseInverse().replicate(D, 1);
    // The late half of the path and the block, weighted by their precision.
    const std::size_t last = answers.points.size() - 1, first = last / 2;
    double weight = 0;
    sum_ = center_ = VectorXd::Zero(m);
    for (std::size_t t = first; t <= last; ++t) {
      const double w = 1 / answers.variances[t];
      const VectorXd point = contrasts_of(answers.points[t]);
      sum_ += w * (score(point) - contrasts_of(answers.gradients[t]));
      center_ += w * point;
      weight += w;
    }
    variance_ = 1 / weight;
    sum_ *= variance_;
    center_ *= variance_;
    if (answers.scores) answer_scores(answers);
  }

  [[nodiscard]] const MatrixXd& contrasts() const { return rows_.contrasts(); }
  [[nodiscard]] const NormalRowsOfClasses& rows() const { return rows_; }

  // Newton's method from where the block was asked, as of two classes.
  [[nodiscard]] Posterior solve() const {
    VectorXd omega = at_;
    std::optional<MatrixXd> V;
    MatrixXd H, S;
    const auto linearize = [&] {
      H = derivative(omega);
      S = precision(omega, H, V ? &*V : nullptr);
      V = inverse_of_symmetric(symmetric(H * S * H) + prior_);
    };
    Relaxation relaxed;
    for (int k = 0; k < newton_steps; ++k) {
      linearize();
      const MatrixXd weighted = H * S;
      const auto slope = [&](const VectorXd& at) {
        return VectorXd(weighted * (sum_ - score(at)) - prior_ * at);
      };
      const auto length = [&](const VectorXd& of_slope) {  // of its step, in deviations
        return std::sqrt(std::max(of_slope.dot(*V * of_slope), 0.0));
      };
      const VectorXd here = slope(omega), step = *V * here;
      const double now = length(here);
      if (now < newton_accuracy) break;
      const auto part = helpful_part(relaxed.part_of(now), now, [&](double of_it) {
        return length(slope(omega + of_it * step));
      });
      if (!part) break;
      omega += *part * step;
    }
    linearize();
    widen_length(omega, *V);
    return {omega, *V};
  }

 private:
  // Where scores are long their length is hardly known, and the prior and the bend of F hold it too
  // short: its deviation counts up to three times.
  void widen_length(const VectorXd& omega, MatrixXd& V) const {
    const VectorXd along = rows_.spread(omega);
    const double variance = omega.dot(along), contrasts = static_cast<double>(contrast_count());
    if (!(variance > 0)) return;
    const double part = std::clamp(std::sqrt(variance / contrasts) - long_deviation, 0.0, 1.0);
    const double relative = along.dot(V * along) / (variance * variance);
    V += 8 * part * relative * omega * omega.transpose();
  }
  [[nodiscard]] Index contrast_count() const { return rows_.contrasts().cols(); }

  // (C^T (x) 1) v of [K x k].
  [[nodiscard]] VectorXd contrasts_of(const VectorXd& v) const {
    const MatrixXd& C = rows_.contrasts();
    const Eigen::Map<const MatrixXd> columns(v.data(), k_, C.rows());
    const MatrixXd out = columns * C;
    return out.reshaped();
  }

  [[nodiscard]] std::vector<MatrixXd> corrections(const Averages& here) const {
    std::vector<MatrixXd> out;
    for (std::size_t i = 0; i < information_.size(); ++i) {
      const double ratio = here.products[i] / std::max(start_.products[i], 1e-12);
      out.emplace_back(information_[i].correction() * std::min(ratio, 10.0));
    }
    return out;
  }
  [[nodiscard]] VectorXd score(const VectorXd& omega) const {
    const Averages here = rows_.at(omega, false);
    const std::vector<MatrixXd> of_pairs = corrections(here);
    VectorXd out = alpha_ * here.score;
    const MatrixXd away = rows_.rows_of(VectorXd(omega - at_));
    for (std::size_t i = 0; i < of_pairs.size(); ++i) {
      const VectorXd d = rows_.difference(rows_.pairs()[i]);
      const VectorXd moved = (of_pairs[i] + apart_[i]) * (away.transpose() * d);
      for (Index a = 0; a < d.size(); ++a) out.segment(a * k_, k_) += d[a] * moved;
    }
    return out;
  }
  // dF/domega, held positive: no direction has less than a part of the public model's mean.
  [[nodiscard]] MatrixXd derivative(const VectorXd& omega) const {
    const Averages here = rows_.at(omega, true);
    std::vector<MatrixXd> blocks = corrections(here);
    for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] += alpha_ * here.pairs[i] + apart_[i];
    return held_above(rows_.assembled(blocks), least_part * mean_information(here));
  }
  // What no answer tells of numbers, by all pairs of classes together.
  void answer_unresolved(const AnsweredScores& answers, const FeatureParts& features,
                         const MatrixXd& prior, const std::vector<MatrixXd>& of_pairs) {
    MatrixXd sum = MatrixXd::Zero(k_, k_);
    double unit = 0;
    for (std::size_t i = 0; i < of_pairs.size(); ++i) {
      sum += of_pairs[i];
      unit += alpha_ * start_.products[i];
    }
    const double deviation =
        answers.information_deviation * std::sqrt(static_cast<double>(of_pairs.size()));
    const MatrixXd of_contrast = unresolved(directions_, features.deviations(features.numbers),
                                            {answers.lambda, sum, deviation, unit}, prior);
    unresolved_ = MatrixXd::Zero(contrast_count() * k_, contrast_count() * k_);
    for (Index a = 0; a < contrast_count(); ++a)
      unresolved_.block(a * k_, a * k_, k_, k_) = of_contrast;
  }
  // What a contrast of rows of variance 1 has by the public model. The trace over the K - 1
  // contrasts of one row is twice the sum of p_a p_b.
  [[nodiscard]] double mean_information(const Averages& at) const {
    double mean = 0;
    for (const double product : at.products) mean += product;
    return alpha_ * 2 * mean / static_cast<double>(contrast_count());
  }
  // V max(l, least) V^T of the matrix, in units of the rows' spread.
  [[nodiscard]] MatrixXd held_above(const MatrixXd& M, double least) const {
    const Eigen::SelfAdjointEigenSolver<MatrixXd> e(
        symmetric(scale_.asDiagonal() * M * scale_.asDiagonal()));
    const VectorXd values = e.eigenvalues().cwiseMax(least);
    const MatrixXd vectors = scale_.cwiseInverse().asDiagonal() * e.eigenvectors();
    return vectors * values.asDiagonal() * vectors.transpose();
  }
  // The sample's part J of people, or of rows that count by weights, at omega_0: what was answered
  // in contrasts, without what is noise in it. Its public model is a multiple of the derivative.
  void answer_scores(const AnsweredScores& answers) {
    const Index D = contrast_count(), J = directions_.rows();
    const MatrixXd model = derivative(at_);
    const double of_model =
        std::clamp(answers.scores->sum.cwiseProduct(model).sum() / model.squaredNorm(),
                   least_scores, most_scores * answers.rows_of_person);
    const double unit = of_model * mean_information(start_);
    MatrixXd directions = MatrixXd::Zero(D * J, D * k_);
    for (Index a = 0; a < D; ++a) directions.block(a * J, a * k_, J, k_) = directions_;
    const ShrunkInformation found(answers.scores->sum, answers.scores->deviation,
                                  {of_model * model}, unit, directions,
                                  correction_deviations(J, answers.lambda).replicate(D, 1));
    scores_ = held_above(of_model * model + found.correction(), least_scores * unit);
  }
  // What a pair's own multiple of the public model is beyond alpha: rows of a rare class may be
  // longer than others, and so weigh less. Drawn to 0 by the noise, from half of alpha.
  [[nodiscard]] double own_multiple(const MatrixXd& answered, const MatrixXd& model,
                                    double deviation) const {
    const double square = std::max(model.squaredNorm(), 1e-300);
    const double own = answered.cwiseProduct(model).sum() / square;
    const double signal = alpha_ * alpha_ / 4, noise = deviation * deviation / square;
    return std::clamp((own - alpha_) * signal / (signal + noise), -0.9 * alpha_, alpha_);
  }
  // Inverse of the covariance of U - F(omega): privacy's noise, the sample, the error of A_2. Of
  // rows that count the same the sample's part sum w^2 (diag p - p p^T) (x) z z^T is at most the
  // derivative, as w is at most 1.
  [[nodiscard]] MatrixXd precision(const VectorXd& omega, const MatrixXd& derivative,
                                   const MatrixXd* posterior) const {
    MatrixXd covariance = derivative;
    if (scores_.size() > 0)
      covariance = scores_ * (mean_information(rows_.at(omega, false)) / mean_information(start_));
    covariance *= rows_alike_;
    covariance.diagonal().array() += variance_;
    covariance += derivative * unresolved_ * derivative;
    if (posterior != nullptr) {
      const VectorXd away = omega - center_;
      const MatrixXd narrow =
          inverse_of_symmetric(inverse_of_symmetric(*posterior) - prior_ + path_prior_);
      const MatrixXd vv = away * away.transpose() + narrow;
      std::vector<MatrixXd> errors;
      for (std::size_t i = 0; i < information_.size(); ++i) {
        const VectorXd d = rows_.difference(rows_.pairs()[i]);
        MatrixXd of_pair = MatrixXd::Zero(k_, k_);
        for (Index a = 0; a < d.size(); ++a)
          for (Index b = 0; b < d.size(); ++b)
            of_pair += d[a] * d[b] * vv.block(a * k_, b * k_, k_, k_);
        errors.push_back(information_[i].error(symmetric(of_pair)));
      }
      covariance += rows_.assembled(errors);
    }
    return inverse_of_symmetric(symmetric(covariance));
  }

  NormalRowsOfClasses rows_;
  Index k_;
  double rows_alike_;
  MatrixXd directions_;
  VectorXd at_;     // omega_0
  Averages start_;  // there
  double alpha_ = 0;
  std::vector<MatrixXd> apart_;  // of each pair: what its own multiple adds at omega_0
  std::vector<ShrunkInformation> information_;  // of each pair of classes
  VectorXd scale_;
  MatrixXd scores_;              // J at omega_0 where it was answered, else empty
  MatrixXd prior_, path_prior_;  // Q; Q and the prior that the path used
  MatrixXd unresolved_;          // of what no answer tells of omega
  VectorXd sum_, center_;        // U; mean of the points, weighted as in U
  double variance_ = 0;          // of the noise in U
};

void check(const AnsweredScores& answers, Index classes, const Schema& schema) {
  const Index d = answers.metric.rows(), k = answers.metric.cols();
  const auto require = [](bool holds, const char* what) {
    if (!holds)
      throw BadInput(fmt::format("answers: {}; give all answers of one run with its schema", what));
  };
  require(classes >= 2, "fewer than two classes");
  require(schema.features() == static_cast<std::size_t>(d) && k > 0, "another number of features");
  require(answers.lambda.size() == k && answers.prior.size() == k, "lambda and prior must be [k]");
  require(answers.information.rows() == classes * (classes - 1) / 2 * k &&
              answers.information.cols() == k,
          "information must be [k x k] for each pair of classes");
  const Index m = (classes - 1) * k;
  require(!answers.scores || (answers.scores->sum.rows() == m && answers.scores->sum.cols() == m),
          "scores must be [(classes - 1) k x (classes - 1) k]");
  require(!answers.points.empty() && answers.points.size() == answers.gradients.size() &&
              answers.points.size() == answers.variances.size(),
          "points, gradients and variances must be as many");
  for (std::size_t t = 0; t < answers.points.size(); ++t)
    require(answers.points[t].size() == classes * k && answers.gradients[t].size() == classes * k,
            "points and gradients must be [classes x k]");
}

// Those of the first class: what says how features are, and nothing of the coefficients.
AnsweredScores of_one_class(const AnsweredScores& answers) {
  const Index k = answers.metric.cols();
  AnsweredScores out = answers;
  for (VectorXd& point : out.points) point = point.head(k).eval();
  for (VectorXd& gradient : out.gradients) gradient = gradient.head(k).eval();
  out.information = answers.information.topRows(k).eval();
  out.scores.reset();
  return out;
}

bool all_numbers(const AnsweredScores& answers) {
  bool out = answers.information.allFinite();
  if (answers.scores) out = out && answers.scores->sum.allFinite() && answers.scores->deviation > 0;
  for (const VectorXd& point : answers.points) out = out && point.allFinite();
  for (const VectorXd& gradient : answers.gradients) out = out && gradient.allFinite();
  return out;
}

bool are_finite(const std::vector<double>& values) {
  return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
}

}  // namespace estimates_classes

std::optional<Estimates> estimate_classes(const AnsweredScores& answers, std::size_t classes,
                                          const Schema& schema) {
  using namespace estimates_classes;
  const Index K = index_of(classes), D = K - 1;
  check(answers, K, schema);
  if (!all_numbers(answers)) return {};
  const FeatureParts features = feature_parts(of_one_class(answers), schema);
  if (!features.usable) return {};
  const ClassEquation equation(answers, features, K);
  const Posterior posterior = equation.solve();
  if (!posterior.mean.allFinite() || !posterior.covariance.allFinite()) return {};

  // From contrasts and coordinates to classes and features.
  const MatrixXd& P = answers.metric;
  const MatrixXd& C = equation.contrasts();
  const Index d = P.rows(), k = P.cols();
  MatrixXd whole(K * d, D * k);
  for (Index c = 0; c < K; ++c)
    for (Index a = 0; a < D; ++a) whole.block(c * d, a * k, d, k) = C(c, a) * P;
  const VectorXd mean = whole * posterior.mean;
  const MatrixXd covariance = whole * posterior.covariance * whole.transpose();

  Estimates out;
  out.weights = {1};
  out.means = {{mean.begin(), mean.end()}};
  for (Index a = 0; a < covariance.rows(); ++a) {
    for (Index b = 0; b <= a; ++b) {
      const double value = 0.5 * (covariance(a, b) + covariance(b, a));
      out.covariance.push_back(rounded_estimate(a == b ? std::max(value, 0.0) : value));
    }
  }
  VectorXd prior = features.precision.cwiseSqrt().cwiseInverse();
  if (schema.intercept) prior[d - 1] = std::numeric_limits<double>::infinity();
  for (Index c = 0; c < K; ++c)
    out.prior_deviation.insert(out.prior_deviation.end(), prior.begin(), prior.end());
  out.feature_means = answers.means;
  if (out.feature_means.empty()) out.feature_means = {features.means.begin(), features.means.end()};
  if (schema.intercept) out.feature_means.back() = 1;
  out.feature_deviations = {features.deviations.begin(), features.deviations.end()};
  if (!are_finite(out.covariance) || !are_finite(out.means.front()) ||
      !are_finite(out.feature_means))
    return {};
  return out;
}

}  // namespace gibbsite
