// Estimates from noisy answers (docs/theory/intervals.md): a public model of the rows, the noisy
// information that corrects it, one non-linear equation, and the posterior of its root.
#include "run/estimates.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/model/contrasts.hpp"
#include "gibbsite/model/interaction.hpp"
#include "run/estimates_parts.hpp"

namespace gibbsite {
namespace {

using Eigen::ArrayXd;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Public constants, chosen once by simulation (docs/theory/intervals.md). None has to do with
// privacy.
constexpr double prior_scale = 2.5;          // tau: log-odds of a level, and of one sd of a number
constexpr double least_deviation = 1e-6;     // of a number, as a part of its range
constexpr double constant_precision = 1e-4;  // of the prior of the constant
constexpr double least_curvature = 0.02;     // of the derivative, as a part of the public model's
constexpr double information_error = 0.5;    // part of the error of A_2 that counts
constexpr double bend_error = 0.5;           // part of a bend of F that may be wrong
constexpr double clear_bend = 1;             // in deviations of U's other errors: below it none is
constexpr double rare_class = 0.02, common_class = 0.05;  // shares; F's bend counts below
constexpr double part_of_knot = 0.5;                      // in the rows that tell most of it
constexpr double path_doubt = 0.5;   // deviation of what the path tells of a level, as a part of it
constexpr double least_alpha = 0.1;  // of the number of rows
constexpr double least_scores = 0.02;  // of answered scores, as a part of the model's
constexpr double most_scores = 4;      // likewise, times k
constexpr double long_deviation = 2;   // sd of the predictor from which it counts as long
constexpr double maybe_long = 3;       // or that sd and its own deviation together
constexpr double rarest_share = 1e-4;  // of a level
constexpr double normal_95 = 1.959963984540054;
constexpr int newton_steps = 30;
constexpr double newton_accuracy = 0.02;  // of the last step, in posterior deviations
constexpr int length_steps = 20;          // of Newton's method at one length of the predictor
constexpr double most_left = 0.5;  // of a step there, in deviations, or its density means nothing
constexpr double quadrature_reach = 8;  // of the trapezoid's rule, in deviations
// Its step: in deviations, and in scores. The rule errs by exp(-2 pi^2) where the logistic curve's
// third derivative is what bends. Gauss and Hermite's points lie too far apart where deviations are
// 4 or more, and effects came out too small by a tenth.
constexpr double quadrature_step = 0.25, score_step = 1;

MatrixXd symmetric(const MatrixXd& M) { return 0.5 * (M + M.transpose()); }

// The inverse of a symmetric positive definite matrix, or of the nearest one if rounding spoils
// that.
MatrixXd inverse_of(const MatrixXd& M) {
  const Eigen::LLT<MatrixXd> factor(M);
  if (factor.info() == Eigen::Success) {
    MatrixXd out = factor.solve(MatrixXd::Identity(M.rows(), M.cols()));
    if (out.allFinite()) return symmetric(out);
  }
  const Eigen::SelfAdjointEigenSolver<MatrixXd> e(M);
  const double least = 1e-13 * e.eigenvalues().cwiseAbs().maxCoeff();
  const VectorXd values = e.eigenvalues().cwiseMax(std::max(least, 1e-300));
  return e.eigenvectors() * values.cwiseInverse().asDiagonal() * e.eigenvectors().transpose();
}

double log_determinant(const MatrixXd& M) {
  const Eigen::LDLT<MatrixXd> factor(M);
  return factor.vectorD().array().abs().max(1e-300).log().sum();
}

MatrixXd pseudo_inverse(const MatrixXd& P) {
  return Eigen::CompleteOrthogonalDecomposition<MatrixXd>(P).pseudoInverse();
}

// The probability at a score and its first three derivatives.
std::array<double, 4> logistic(double score) {
  const double p = score < 0 ? std::exp(score) / (1 + std::exp(score)) : 1 / (1 + std::exp(-score));
  const double q = p * (1 - p);
  return {p, q, q * (1 - 2 * p), q * (1 - 6 * q)};
}

// The averages of what `of` says at a score, over normal scores.
std::array<double, 4> over_normal(double center, double deviation, const auto& of) {
  std::array<double, 4> sum{};
  double total = 0;
  const double widest = std::min(quadrature_step, score_step / deviation);
  const int half = static_cast<int>(std::min(std::ceil(quadrature_reach / widest), 1e5));
  for (int k = -half; k <= half; ++k) {
    const double point = quadrature_reach * static_cast<double>(k) / static_cast<double>(half);
    const double weight = std::exp(-0.5 * point * point);
    const std::array<double, 4> at = of(center + deviation * point);
    total += weight;
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += weight * at[i];
  }
  for (double& value : sum) value /= total;
  return sum;
}

// What normal rows z with the answered first two moments would give. Stein's lemma: with
// a_i = E sigma^(i)(z . omega), h(omega) = E sigma(z . omega) z = a_0 mu + a_1 S omega.
class NormalRows {
 public:
  NormalRows(VectorXd mean, MatrixXd covariance)
      : mean_(std::move(mean)), covariance_(std::move(covariance)) {}

  [[nodiscard]] const MatrixXd& covariance() const { return covariance_; }
  [[nodiscard]] double variance(const VectorXd& omega) const {
    return omega.dot(covariance_ * omega);
  }
  [[nodiscard]] const VectorXd& mean() const { return mean_; }
  [[nodiscard]] std::array<double, 4> averages(const VectorXd& omega) const {
    return averages(mean_.dot(omega), std::sqrt(std::max(variance(omega), 1e-8)));
  }
  [[nodiscard]] std::array<double, 4> averages(double center, double deviation) const {
    return over_normal(center, deviation, logistic);
  }
  // a_1: the mean of p(1 - p).
  [[nodiscard]] double curvature(const VectorXd& omega) const { return averages(omega)[1]; }
  // h [k].
  [[nodiscard]] VectorXd score(const VectorXd& omega) const {
    const auto a = averages(omega);
    return a[0] * mean_ + a[1] * (covariance_ * omega);
  }
  // dh/domega = E sigma'(z . omega) z z^T [k x k].
  [[nodiscard]] MatrixXd information(const VectorXd& omega) const {
    const auto a = averages(omega);
    const VectorXd u = covariance_ * omega;
    return a[1] * (covariance_ + mean_ * mean_.transpose()) +
           a[2] * (mean_ * u.transpose() + u * mean_.transpose()) + a[3] * (u * u.transpose());
  }

 private:
  VectorXd mean_;
  MatrixXd covariance_;
};

// Features of a category or a curve.
struct Levels {
  Index first = 0, size = 0;
  // P holds contrasts of these levels: their coefficients add up to 0, their cells to a constant.
  bool contrasts = false;
  // Hats of a curve, of which a row has parts of two: their means are no shares of rows.
  bool curve = false;
  // The "(missing)" of a number, beside which there is no other level.
  bool alone = false;
};

// The features of a schema as the equation sees them: numbers centered at the middle of their
// range, and what the answered moments say of them.
struct Features {
  MatrixXd metric;   // P with the constant's coefficient taken at the middle of all ranges [d x k]
  MatrixXd inverse;  // pseudo-inverse [k x d]: x = inverse^T z
  std::vector<Index> numbers;
  std::vector<Levels> categories;
  Index constant = -1;    // none: -1
  VectorXd middle;        // of the ranges [d]
  VectorXd one;           // the constant is one . z [k]; empty where no feature is one
  double one_moment = 1;  // answered second moment of the constant
  VectorXd mean;          // of the centered features; of levels their shares [d]
  VectorXd deviation;     // [d]
  VectorXd precision;     // of the prior [d]

  Features(const AnsweredScores& answers, const Schema& schema);

 private:
  void answer_moments(const VectorXd& lambda, const Schema& schema);
};

Features::Features(const AnsweredScores& answers, const Schema& schema) : metric(answers.metric) {
  const Index d = metric.rows();
  const std::vector<double> public_middle = schema.middle();
  middle = Eigen::Map<const VectorXd>(public_middle.data(), d);
  Index first = 0;
  for (const Column& column : schema.terms()) {
    const auto size = static_cast<Index>(schema.features_of(column));
    if (column.has_levels() && size > 0) {
      const auto rows = metric.middleRows(first, size);
      const bool contrasts = rows.colwise().sum().norm() <= 1e-6 * rows.norm();
      categories.push_back({first, size, contrasts, column.is_curve()});
    } else if (column.type == ColumnType::number) {
      numbers.push_back(first);
      if (size > 1) categories.push_back({first + 1, size - 1, false, false, true});
    }
    first += size;
  }
  if (schema.intercept) {
    constant = d - 1;
    metric.row(constant) += middle.transpose() * answers.metric;
  }
  inverse = pseudo_inverse(metric);
  if (schema.intercept) {
    one = inverse.col(constant);
  } else {
    for (const Levels& group : categories)  // levels of which a row has one add up to it
      if (!group.contrasts && !group.alone && one.size() == 0)
        one = inverse.middleCols(group.first, group.size).rowwise().sum();
  }
  answer_moments(answers.lambda, schema);
  precision = VectorXd::Constant(d, 1 / (prior_scale * prior_scale));
  for (const Index j : numbers) precision[j] = std::pow(deviation[j] / prior_scale, 2);
  if (constant >= 0) precision[constant] = constant_precision;
}

void Features::answer_moments(const VectorXd& lambda, const Schema& schema) {
  const Index d = metric.rows();
  const VectorXd second = (inverse.array().square().matrix().transpose() * lambda).cwiseMax(0);
  if (one.size() > 0) {
    one_moment = std::max(one.dot(lambda.cwiseProduct(one)), 1e-6);
    mean = inverse.transpose() * lambda.cwiseProduct(one) / one_moment;
    // About the mean at once: of a number that fills a small part of its range the difference of
    // second moments would be rounding.
    const MatrixXd centered = inverse - one * mean.transpose();
    deviation = ((centered.array().square().matrix().transpose() * lambda).array() / one_moment)
                    .sqrt()
                    .max(least_deviation);
  } else {
    // Second moments alone: of a level they are its share, a number counts as evenly spread over
    // the low part of its range.
    mean = VectorXd::Zero(d);
    deviation = VectorXd::Constant(d, 1e-3);
    for (const Index j : numbers) {
      const double moment = std::clamp(second[j], 1e-6, 1.0);
      mean[j] = std::max(moment, std::sqrt(0.75 * moment));
      deviation[j] = std::sqrt(std::max(moment - mean[j] * mean[j], 4e-4));
      mean[j] -= middle[j];
    }
    for (const Levels& group : categories)
      mean.segment(group.first, group.size) = second.segment(group.first, group.size);
  }
  for (const Levels& group : categories) {
    auto shares = mean.segment(group.first, group.size);
    if (group.contrasts) shares.array() += 1 / static_cast<double>(group.size) - shares.mean();
  }
  if (one.size() > 0 && !schema.interactions.empty()) {
    std::vector<double> of_features(static_cast<std::size_t>(d));
    Eigen::Map<VectorXd> all(of_features.data(), d);
    all = mean + middle;
    add_main_parts(schema, of_features);
    mean = all - middle;
  }
  for (const Levels& group : categories) {
    auto shares = mean.segment(group.first, group.size);
    shares = shares.cwiseMax(rarest_share).eval();
    if (!group.alone || shares.sum() > 1) shares /= shares.sum();
    for (Index l = group.first; l < group.first + group.size; ++l) {
      const double of_level = std::sqrt(mean[l] * (1 - mean[l]));
      // Hats are from 0 to 1, so a level that has one or none varies the most.
      deviation[l] = group.curve && one.size() > 0 ? std::min(deviation[l], of_level) : of_level;
    }
  }
  if (constant >= 0) {
    mean[constant] = 1;
    deviation[constant] = 0;
  }
}

// Normal rows with the answered moments, of mean 0 where nothing says what it is.
NormalRows normal_rows(const Features& features, const VectorXd& lambda) {
  VectorXd mean = VectorXd::Zero(lambda.size());
  if (features.one.size() > 0)
    mean = lambda.cwiseProduct(features.one) / std::sqrt(features.one_moment);
  MatrixXd covariance = MatrixXd(lambda.asDiagonal()) - mean * mean.transpose();
  return {std::move(mean), std::move(covariance)};
}

// [J x k] Unit directions in the metric along which each number and each level varies, then the
// axes.
MatrixXd unit_directions(const Features& features, const VectorXd& lambda) {
  const Index k = lambda.size();
  std::vector<VectorXd> all;
  for (const Index j : features.numbers) all.emplace_back(features.inverse.col(j));
  for (const Levels& group : features.categories) {
    VectorXd shift = VectorXd::Zero(k);
    if (group.contrasts && features.one.size() > 0) {
      shift = features.one / static_cast<double>(group.size) -
              features.inverse.middleCols(group.first, group.size).rowwise().mean();
    }
    for (Index l = group.first; l < group.first + group.size; ++l)
      all.emplace_back(features.inverse.col(l) + shift);
  }
  const auto effects = static_cast<Index>(all.size());
  MatrixXd out(effects + k, k);
  for (Index j = 0; j < effects; ++j) {
    VectorXd b = all[static_cast<std::size_t>(j)];
    if (features.one.size() > 0)
      b -= b.dot(lambda.cwiseProduct(features.one)) / features.one_moment * features.one;
    const VectorXd u = b.cwiseProduct(lambda);
    out.row(j) = u.transpose() / std::sqrt(std::max(b.dot(u), 1e-12));
  }
  out.bottomRows(k).setIdentity();
  return out;
}

// V max(l, least) V^T of the matrix, in units of the rows' spread: `scale` is one over its root.
MatrixXd held_above(const MatrixXd& M, double least, const ArrayXd& scale) {
  const Eigen::SelfAdjointEigenSolver<MatrixXd> e(
      symmetric(scale.matrix().asDiagonal() * M * scale.matrix().asDiagonal()));
  const MatrixXd V = scale.inverse().matrix().asDiagonal() * e.eigenvectors();
  return V * e.eigenvalues().cwiseMax(least).asDiagonal() * V.transpose();
}

// A_2 = alpha H_g(omega_0) + D with D as ShrunkInformation has it, in units of alpha a_1(omega_0);
// alpha by least squares.
class Information {
 public:
  Information(const AnsweredScores& answers, const Features& features, const NormalRows& rows)
      : Information(answers, unit_directions(features, answers.lambda),
                    rows.information(answers.points.back()),
                    rows.curvature(answers.points.back())) {}

  [[nodiscard]] MatrixXd error(const MatrixXd& vv) const { return shrunk_.error(vv); }
  // [J x k] Unit vectors: numbers, levels, axes.
  [[nodiscard]] const MatrixXd& directions() const { return shrunk_.directions(); }
  // D [k x k]: what is added to alpha H_g.
  [[nodiscard]] const MatrixXd& correction() const { return correction_; }
  // Makes alpha H_g(omega_0) + D positive, as its derivative is held.
  void hold_positive(const AnsweredScores& answers, const NormalRows& rows) {
    const VectorXd& at = answers.points.back();
    const MatrixXd expected = alpha * rows.information(at);
    correction_ =
        held_above(expected + shrunk_.correction(), least_curvature * alpha * rows.curvature(at),
                   answers.lambda.array().rsqrt()) -
        expected;
  }

  double alpha = 0;

 private:
  Information(const AnsweredScores& answers, const MatrixXd& directions, const MatrixXd& H,
              double mean_curvature)
      : alpha(alpha_of(answers, H, mean_curvature)),
        shrunk_(answers.information, answers.information_deviation,
                {alpha * H, noise_of_model(answers, alpha * mean_curvature)},
                alpha * mean_curvature, directions,
                correction_deviations(directions.rows(), answers.lambda)),
        correction_(shrunk_.correction()) {}
  // For people and weighted rows alpha H_g has the noise of the moments that it is made of: along
  // columns that lean on each other the metric may have more noise than rows. Others have none.
  static VectorXd noise_of_model(const AnsweredScores& answers, double unit) {
    return answers.weighted ? VectorXd(unit * noise_of_moments(answers.lambda)) : VectorXd();
  }
  static double alpha_of(const AnsweredScores& answers, const MatrixXd& H, double mean_curvature) {
    // Weights are at most 1 and p(1 - p) at most 1/4, so more than that is noise.
    const double most =
        std::max(least_alpha, 0.25 / std::max(mean_curvature, 1e-12)) * answers.rows;
    return std::clamp(answers.information.cwiseProduct(H).sum() / H.squaredNorm(),
                      least_alpha * answers.least_weight * answers.rows, most);
  }

  ShrunkInformation shrunk_;
  MatrixXd correction_;
};

// How the probability of a level's rows bends as the level's own effect moves away from where A_2
// was asked: with t = r u . (omega - omega_0), amplitude r u (p(s_0 + t) - p_0 - q_0 t), 0 to first
// order at omega_0. Without it a rare level whose score was far off there keeps the information
// that it had there. A row has a level of every category, so what moves all rows alike must not
// bend here: the public model has that once.
class LevelCurves {
 public:
  LevelCurves(const AnsweredScores& answers, const Features& features, const NormalRows& rows,
              const Information& information)
      : path_information(MatrixXd::Zero(answers.lambda.size(), answers.lambda.size())),
        rows_(rows) {
    const VectorXd& at = answers.points.back();
    const MatrixXd A = information.alpha * rows.information(at) + information.correction();
    Index j = static_cast<Index>(features.numbers.size());  // the row of information.directions
    for (const Levels& group : features.categories) {
      const auto levels = features.metric.middleRows(group.first, group.size);
      const auto shares = features.mean.segment(group.first, group.size);
      const VectorXd weighted = levels.transpose() * shares;
      for (Index l = 0; l < group.size; ++l, ++j) {
        const VectorXd u = information.directions().row(j);
        const VectorXd row = average_row(rows.mean() + levels.row(l).transpose() - weighted, u,
                                         rows.mean(), answers.lambda);
        const double across = row.dot(u);
        Curve curve;
        curve.direction = across * u;
        const double along = u.dot(at);
        curve.deviation = std::sqrt(std::max(rows.variance(at) - along * along, 1e-8));
        curve.score = row.dot(at);
        curve.before = curve.direction.dot(at);
        const auto a = rows.averages(curve.score, curve.deviation);
        curve.probability = a[0];
        curve.curvature = a[1];
        // The information of these rows, answered; their weights are at most 1.
        const double of_level = std::max(u.dot(A * u), 0.0);
        curve.amplitude =
            std::min(of_level / std::max(a[1] * across * across, 1e-12), answers.rows * shares[l]);
        const double score = curve.score, deviation = curve.deviation;
        if (curve.amplitude > 0) curves_.push_back(std::move(curve));
        if (!(answers.clip > 0 && answers.information_bound > 0)) continue;
        // These rows' norm, as if all were alike. Of a knot rows have any part: those that tell
        // most of it have half of it or more, and count least.
        const double part = group.curve ? part_of_knot : 1;
        const double square =
            std::max(answers.lambda.sum() - 1, 0.0) + part * part * across * across;
        Weights weights = weights_of(answers, square, score, deviation);
        weights.direction = u;
        path_information +=
            beyond_block(answers, weights, of_level) * (1 - shares[l]) * u * u.transpose();
        weights_.push_back(std::move(weights));
      }
    }
  }

  void add_score(const VectorXd& omega, VectorXd& sum) const {
    for (const Curve& curve : curves_) {
      const double moved = curve.direction.dot(omega) - curve.before;
      const double p = rows_.averages(curve.score + moved, curve.deviation)[0];
      sum += curve.amplitude * (p - curve.probability - curve.curvature * moved) * curve.direction;
    }
  }
  void add_derivative(const VectorXd& omega, MatrixXd& sum) const {
    for (const Curve& curve : curves_) {
      const double moved = curve.direction.dot(omega) - curve.before;
      const double q = rows_.averages(curve.score + moved, curve.deviation)[1];
      sum +=
          curve.amplitude * (q - curve.curvature) * curve.direction * curve.direction.transpose();
    }
  }
  // Information without weights: along a level at least what `weighted` is over their weight.
  void add_unweighted(const MatrixXd& weighted, double path_share, MatrixXd& full) const {
    for (const Weights& w : weights_) {
      const VectorXd& u = w.direction;
      const double weight = path_share * w.path + (1 - path_share) * w.block;
      full += std::max(u.dot(weighted * u) / weight - u.dot(full * u), 0.0) * u * u.transpose();
    }
  }

  // What a gradient of the path tells of rare levels beyond the block, whose rows weigh less.
  MatrixXd path_information;

 private:
  struct Weights {
    VectorXd direction;          // u
    double path = 1, block = 1;  // averages by p(1 - p) of the rows' weights
    double of_scores = 1;        // of the path's, by w p(1 - p)
  };
  // Rows have one norm, and their scores are normal.
  static Weights weights_of(const AnsweredScores& answers, double square, double score,
                            double deviation) {
    square = std::max(square, 1e-12);
    const auto a = over_normal(score, deviation, [&](double at) -> std::array<double, 4> {
      const std::array<double, 4> of = logistic(at);
      const double w =
          std::min(1.0, answers.clip / (std::sqrt(square) * std::max(of[0], 1 - of[0])));
      return {of[1], w * of[1], w * w * of[1],
              std::min(w * of[1], answers.information_bound / square)};
    });
    Weights out;
    if (!(a[0] > 0)) {  // probabilities of 1 to the last bit
      out.path = out.block = out.of_scores = std::min(1.0, answers.clip / std::sqrt(square));
      return out;
    }
    out.path = a[1] / a[0];
    out.block = a[3] / a[0];
    out.of_scores = a[2] / a[1];
    return out;
  }
  // (w_path/w_block - 1) i where scores of a level's rows are normal, i their information in the
  // block. Rows at both ends tell the block all that they tell the path. J, the second moments of
  // the path's scores, is w_J times what the path's gradients tell, w_J the average of w by
  // w p(1 - p), where omega_0 is near the root; elsewhere a misfit of (p - p_0)(1 - 2 p_0) a row is
  // in it too. Where rows have weights, or people several rows, J counts them otherwise than A_2.
  static double beyond_block(const AnsweredScores& answers, const Weights& w, double of_level) {
    const double normal = (w.path / w.block - 1) * of_level;
    const bool alike = !answers.weighted && answers.least_weight == 1;
    if (!answers.scores || !alike || !(normal > 0)) return std::max(normal, 0.0);
    const VectorXd& u = w.direction;
    const double answered = u.dot(answers.scores->sum * u) / w.of_scores - of_level;
    const double noise = answers.scores->deviation * u.squaredNorm() / w.of_scores;
    const double doubt = path_doubt * normal;
    const double kept = doubt * doubt / (doubt * doubt + noise * noise);
    return std::clamp(normal + kept * (answered - normal), 0.0, normal);
  }
  struct Curve {
    VectorXd direction;    // r u: how the score of average rows of the level moves by its effect
    double deviation = 0;  // of their scores
    double score = 0, probability = 0, curvature = 0;  // at omega_0: s_0, p_0, q_0
    double before = 0;                                 // direction . omega_0
    double amplitude = 0;
  };

  const NormalRows& rows_;
  std::vector<Curve> curves_;
  std::vector<Weights> weights_;
};

struct Normal {
  VectorXd mean;
  MatrixXd covariance;
};

// U = F(omega) + noise, F(omega) = alpha h(omega) + D (omega - omega_0) a_1(omega)/a_1(omega_0) +
// the levels' curves: its derivative at omega_0 is the answered information.
class Equation {
 public:
  Equation(const AnsweredScores& answers, const Features& features, const NormalRows& rows,
           const Information& information)
      : rows_(rows),
        information_(information),
        curves_(answers, features, rows, information),
        n_(answers.rows),
        rows_alike_(answers.rows_alike),
        at_(answers.points.back()),
        curvature_at_(rows.curvature(at_)),
        scale_(answers.lambda.array().rsqrt()),
        prior_(features.metric.transpose() * features.precision.asDiagonal() * features.metric),
        path_prior_(prior_) {
    path_prior_.diagonal() += (answers.prior_scale * answers.prior).cwiseInverse();
    const AnsweredDirections answered{answers.lambda, answers.information,
                                      answers.information_deviation,
                                      information.alpha * curvature_at_};
    unseparated_ =
        unseparated({features.inverse, features.one, columns_of(features)}, answered, prior_) +
        unresolved(information.directions(), features.deviation(features.numbers), answered,
                   prior_);
    // The late half of the path, and the block, weighted by their precision.
    const std::size_t last = answers.points.size() - 1, first = last / 2;
    double weight = 0;
    sum_ = center_ = VectorXd::Zero(at_.size());
    for (std::size_t t = first; t <= last; ++t) {
      const double w = 1 / answers.variances[t];
      sum_ += w * (block_score(answers.points[t]) - answers.gradients[t]);
      if (t < last) {
        sum_ += w * (curves_.path_information * answers.points[t]);
        path_share_ += w;
      }
      center_ += w * answers.points[t];
      weight += w;
    }
    variance_ = 1 / weight;
    sum_ *= variance_;
    center_ *= variance_;
    path_share_ *= variance_;
    const double positive = rows.averages(at_)[0], share = std::min(positive, 1 - positive);
    rare_ = std::clamp((common_class - share) / (common_class - rare_class), 0.0, 1.0);
    score_at_ = normal_score(at_);
    derivative_at_ = information.alpha * rows.information(at_) + information.correction();
    if (answers.scores) answer_scores(answers);
  }

  [[nodiscard]] const MatrixXd& prior() const { return prior_; }

  // What all gradients are on average, weighted as in U.
  [[nodiscard]] VectorXd score(const VectorXd& omega) const {
    return block_score(omega) + path_share_ * (curves_.path_information * omega);
  }
  [[nodiscard]] VectorXd block_score(const VectorXd& omega) const {
    VectorXd out = normal_score(omega);
    curves_.add_score(omega, out);
    return out;
  }
  // Without the levels' curves.
  [[nodiscard]] VectorXd normal_score(const VectorXd& omega) const {
    return information_.alpha * rows_.score(omega) +
           information_.correction() * (omega - at_) * (rows_.curvature(omega) / curvature_at_);
  }

  // dF/domega, held positive: no direction has less than a part of the public model's.
  [[nodiscard]] MatrixXd derivative(const VectorXd& omega) const {
    const double a1 = rows_.curvature(omega);
    MatrixXd out = information_.alpha * rows_.information(omega) +
                   information_.correction() * (a1 / curvature_at_);
    curves_.add_derivative(omega, out);
    out += path_share_ * curves_.path_information;
    return held_above(out, least_curvature * information_.alpha * a1, scale_);
  }

  // Inverse of the covariance of U - F(omega): privacy's noise, the sample, the errors of A_2 and
  // of F's bend.
  // `posterior`: how far omega may be from where it is thought; null: A_2 counts as exact.
  [[nodiscard]] MatrixXd precision(const VectorXd& omega, const MatrixXd& derivative,
                                   const MatrixXd* posterior) const {
    MatrixXd covariance =
        rows_alike_ * (scores_.size() > 0
                           ? MatrixXd(scores_ * (rows_.curvature(omega) / curvature_at_))
                           : modeled_scores(derivative));
    covariance.diagonal().array() += variance_;
    covariance += derivative * unseparated_ * derivative;
    if (posterior != nullptr) {
      const VectorXd away = omega - center_;
      const MatrixXd narrow = inverse_of(inverse_of(*posterior) - prior_ + path_prior_);
      // F takes D, error and all, times a_1(omega)/a_1(omega_0).
      const double ratio = std::max(rows_.curvature(omega) / curvature_at_, 1.0);
      covariance +=
          information_error * ratio * ratio * information_.error(away * away.transpose() + narrow);
      if (rare_ > 0) {
        const VectorXd bent = bend(omega, covariance);
        covariance += bent * bent.transpose();
      }
    }
    return inverse_of(symmetric(covariance));
  }

  // Minus twice the log of the posterior density, but for a constant.
  [[nodiscard]] double cost(const VectorXd& omega, const MatrixXd& precision) const {
    const VectorXd left = sum_ - score(omega);
    return left.dot(precision * left) + omega.dot(prior_ * omega);
  }

  // Half the gradient of -cost: H S (U - F(omega)) - Q omega.
  [[nodiscard]] VectorXd slope(const VectorXd& omega, const MatrixXd& weighted) const {
    return weighted * (sum_ - score(omega)) - prior_ * omega;
  }

  // Where a class is rare its rows lie in the tail of the predictor, and how F bends from where the
  // block was asked to omega is the word of normal rows alone: what of it is more than the other
  // errors of U may be wrong by a part of itself.
  [[nodiscard]] VectorXd bend(const VectorXd& omega, const MatrixXd& others) const {
    const VectorXd bent = normal_score(omega) - score_at_ - derivative_at_ * (omega - at_);
    const double size = std::sqrt(std::max(bent.dot(inverse_of(symmetric(others)) * bent), 1e-12));
    return rare_ * bend_error * std::max(1 - clear_bend / size, 0.0) * bent;
  }

  struct Solution {
    Normal law;
    bool stuck = false;  // no step from where the block was asked helped
  };

  // Newton's method from where the block was asked.
  [[nodiscard]] Solution solve() const {
    Solution out;
    VectorXd omega = at_;
    std::optional<MatrixXd> V;
    MatrixXd H, S;
    const auto linearize = [&] {
      H = derivative(omega);
      S = precision(omega, H, V ? &*V : nullptr);
      V = inverse_of(symmetric(H * S * H) + prior_);
    };
    Relaxation relaxed;
    for (int k = 0; k < newton_steps; ++k) {
      linearize();
      const MatrixXd weighted = H * S;
      const auto length = [&](const VectorXd& at) {  // of the step from there, in deviations
        const VectorXd g = slope(at, weighted);
        return std::sqrt(std::max(g.dot(*V * g), 0.0));
      };
      const VectorXd step = *V * slope(omega, weighted);
      const double now = length(omega);
      if (now < newton_accuracy) break;
      const auto part = helpful_part(relaxed.part_of(now), now,
                                     [&](double of_it) { return length(omega + of_it * step); });
      if (!part) {
        out.stuck = k == 0;
        break;
      }
      omega += *part * step;
    }
    linearize();
    out.law = {std::move(omega), std::move(*V)};
    return out;
  }

 private:
  // The sample's part if the model holds. J = sum p(1-p) w^2 z z^T is at most
  // H = sum p(1-p) w z z^T, and at least H I^-1 H with I = sum p(1-p) z z^T (Cauchy-Schwarz).
  // Weights are alpha/n on average. They differ between rows, so J is taken half way up to H; along
  // a level at its lower end.
  [[nodiscard]] MatrixXd modeled_scores(const MatrixXd& derivative) const {
    MatrixXd full = derivative * std::max(std::sqrt(n_ / information_.alpha), 1.0);
    curves_.add_unweighted(derivative, path_share_, full);
    return derivative * full.llt().solve(derivative);
  }
  // The sample's part at omega_0: what was answered, without what is noise in it, as A_2.
  void answer_scores(const AnsweredScores& answers) {
    const MatrixXd model = modeled_scores(derivative(at_));
    const double of_model =
        std::clamp(answers.scores->sum.cwiseProduct(model).sum() / model.squaredNorm(),
                   least_scores, most_scores * answers.rows_of_person);
    const double unit = of_model * information_.alpha * curvature_at_;
    const ShrunkInformation found(
        answers.scores->sum, answers.scores->deviation, {of_model * model}, unit,
        information_.directions(),
        correction_deviations(information_.directions().rows(), answers.lambda));
    scores_ = held_above(of_model * model + found.correction(), least_scores * unit, scale_);
  }

  static std::vector<ColumnDirections::Column> columns_of(const Features& features) {
    std::vector<ColumnDirections::Column> out;
    for (const Index j : features.numbers) out.push_back({j, 1});
    for (const Levels& group : features.categories) out.push_back({group.first, group.size});
    std::ranges::sort(out, {}, &ColumnDirections::Column::first);
    return out;
  }
  const NormalRows& rows_;
  const Information& information_;
  LevelCurves curves_;
  double n_, rows_alike_;
  VectorXd at_;  // omega_0
  double curvature_at_;
  ArrayXd scale_;
  MatrixXd prior_, path_prior_;  // Q; Q and the prior that the path used
  MatrixXd unseparated_;         // T: of what no answer tells of omega
  MatrixXd scores_;              // J at omega_0 where it was answered, else empty
  VectorXd sum_, center_;        // U; mean of the points, weighted as in U
  VectorXd score_at_;            // F at omega_0 without the levels' curves
  MatrixXd derivative_at_;       // its derivative there
  double rare_ = 0;              // 1: a class is rare at omega_0; 0: none is
  double variance_ = 0;          // of the noise in U
  double path_share_ = 0;        // of the path in U; the rest is the block's
};

// Where the predictor is long, its length is hardly known: quadrature over the length, Laplace's
// approximation across it.
class OverLength {
 public:
  // `one`: the constant is one . z; empty: no feature is one.
  OverLength(const Equation& equation, const NormalRows& rows, const Normal& mode,
             const VectorXd& one)
      : equation_(equation),
        mode_(mode),
        spread_(rows.covariance()),
        mean_(rows.mean()),
        one_(one.size() > 0 ? one : VectorXd::Zero(spread_.rows())) {
    const auto k = static_cast<double>(spread_.rows());
    spread_.diagonal().array() += 1e-9 * spread_.trace() / k;
  }

  struct Point {
    double log_weight = 0;
    Normal law;
    double left = 0;  // of Newton's method, in deviations
  };

  // Whether the length is hardly known: the predictor is long, or may be.
  static bool is_long(const NormalRows& rows, const Normal& mode) {
    const double length = std::sqrt(std::max(rows.variance(mode.mean), 0.0));
    const VectorXd along = rows.covariance() * mode.mean / std::max(length, 1e-9);
    const double uncertain = std::sqrt(std::max(along.dot(mode.covariance * along), 0.0));
    return length >= long_deviation || length + uncertain >= maybe_long;
  }

  // Components and their weights, normalized. The mode's law alone where Newton's method misses a
  // point beside the top, since densities that are too low make any top look sharp.
  [[nodiscard]] std::vector<Point> components() const {
    const double start = std::log(std::max(length(mode_.mean), 0.05)), top = start + 2.6;
    double low = start - 1, high = start + 1.5;
    VectorXd best = mode_.mean;
    std::vector<Point> grid;
    for (int zoom = 0; zoom < zooms; ++zoom) {
      const auto logs = ArrayXd::LinSpaced(grid_points, low, high).eval();
      grid = walk(logs, best);
      const std::size_t k = keep_one_top(grid, nearest(logs, start));
      if (misses_beside(grid, k)) return {{0, mode_}};
      best = grid[k].law.mean;
      std::size_t a = grid_points, b = 0;
      for (std::size_t j = 0; j < grid_points; ++j) {
        if (!(grid[j].log_weight > -5)) continue;
        a = std::min(a, j);
        b = j;
      }
      a = a > 0 ? a - 1 : 0;
      b = std::min<std::size_t>(b + 1, grid_points - 1);
      const bool last = zoom == zooms - 1;
      if (b - a >= grid_points - 3) {
        if (b == grid_points - 1 && grid.back().log_weight > -3 && !last && high < top) {
          high += 0.6;
          continue;
        }
        break;
      }
      if (!last) {
        low = logs[static_cast<Index>(a)];
        high = logs[static_cast<Index>(b)];
      }
    }
    blur(grid);
    double total = 0;
    for (const Point& point : grid) total += std::exp(point.log_weight);
    std::vector<Point> out;
    double rest = 0;
    for (Point& point : grid) {
      const double weight = std::exp(point.log_weight) / total;
      if (!(weight >= least_weight)) continue;
      rest += weight;
      out.push_back({weight, std::move(point.law), point.left});
    }
    for (Point& point : out) point.log_weight = std::log(point.log_weight / rest);
    return out;
  }

 private:
  static constexpr std::size_t grid_points = 9;
  static constexpr int zooms = 3;
  static constexpr double least_weight = 1e-6;

  [[nodiscard]] double length(const VectorXd& omega) const {
    return std::sqrt(std::max(omega.dot(spread_ * omega), 0.0));
  }
  static std::size_t nearest(const ArrayXd& logs, double value) {
    Index at = 0;
    (logs - value).abs().minCoeff(&at);
    return static_cast<std::size_t>(at);
  }

  static bool misses_beside(const std::vector<Point>& grid, std::size_t top) {
    const std::size_t first = top > 0 ? top - 1 : 0, last = std::min(top + 1, grid.size() - 1);
    bool out = false;
    for (std::size_t j = first; j <= last; ++j) out = out || !(grid[j].left <= most_left);
    return out;
  }

  // Rows' scores get that length about their mean, which stays: the constant has no length, and
  // where a class is rare it is the larger part of omega.
  [[nodiscard]] VectorXd scaled(const VectorXd& omega, double wanted) const {
    const double part = wanted / length(omega);
    return part * omega + (1 - part) * mean_.dot(omega) * one_;
  }

  // Laplace's approximation across the length, at omega.
  struct Across {
    MatrixXd S, weighted;  // precision of U; H S
    MatrixXd covariance;
    double log_determinant = 0;
  };
  [[nodiscard]] Across across(const VectorXd& omega) const {
    Across out;
    const MatrixXd H = equation_.derivative(omega);
    out.S = equation_.precision(omega, H, &mode_.covariance);
    const VectorXd normal = (spread_ * omega).normalized();
    out.weighted = H * out.S;
    const MatrixXd M = symmetric(out.weighted * H) + equation_.prior();
    const VectorXd Mn = M * normal;
    const double c = M.trace() / static_cast<double>(M.rows());
    const MatrixXd tangent = M - normal * Mn.transpose() - Mn * normal.transpose() +
                             (normal.dot(Mn) + c) * normal * normal.transpose();
    out.covariance = inverse_of(tangent) - normal * normal.transpose() / c;
    out.log_determinant = log_determinant(tangent) - std::log(c);
    return out;
  }

  // The best omega of that length, by Newton's method from `omega`, and the density there.
  [[nodiscard]] Point at(double wanted, VectorXd omega) const {
    omega = scaled(omega, wanted);
    const VectorXd start = omega;
    Point out;
    Across around;
    Relaxation relaxed;
    for (int step = 0; step < length_steps; ++step) {
      around = across(omega);
      const auto left = [&](const VectorXd& at) {
        const VectorXd g = equation_.slope(at, around.weighted);
        return std::sqrt(std::max(g.dot(around.covariance * g), 0.0));
      };
      out.left = left(omega);
      if (out.left < newton_accuracy) break;
      const VectorXd move = around.covariance * equation_.slope(omega, around.weighted);
      const auto part = helpful_part(relaxed.part_of(out.left), out.left, [&](double of_it) {
        return left(scaled(omega + of_it * move, wanted));
      });
      if (!part) break;
      omega = scaled(omega + *part * move, wanted);
    }
    out.law.covariance = around.covariance;
    out.log_weight = -0.5 * equation_.cost(omega, around.S) - 0.5 * around.log_determinant +
                     0.5 * log_determinant(around.S) + 2 * std::log(wanted) -
                     std::log((spread_ * omega).norm());
    out.law.mean = std::move(omega);
    if (!std::isfinite(out.log_weight) || !out.law.mean.allFinite() ||
        !out.law.covariance.allFinite()) {
      return {never, {start, mode_.covariance}, std::numeric_limits<double>::infinity()};
    }
    return out;
  }

  // Up and down from the length of `best`, each from its neighbor's omega.
  [[nodiscard]] std::vector<Point> walk(const ArrayXd& logs, const VectorXd& best) const {
    std::vector<Point> out(grid_points);
    const std::size_t middle = nearest(logs, std::log(length(best)));
    const auto wanted = [&](std::size_t j) { return std::exp(logs[static_cast<Index>(j)]); };
    out[middle] = at(wanted(middle), best);
    for (std::size_t j = middle + 1; j < grid_points; ++j)
      out[j] = at(wanted(j), out[j - 1].law.mean);
    for (std::size_t j = middle; j-- > 0;) out[j] = at(wanted(j), out[j + 1].law.mean);
    return out;
  }

  // The top that is reached uphill from j; what lies beyond the first valley beside it weighs
  // nothing. Log weights become those against the top's.
  static std::size_t keep_one_top(std::vector<Point>& grid, std::size_t j) {
    const auto at = [&](std::size_t i) { return grid[i].log_weight; };
    for (;;) {
      const bool left = j > 0 && at(j - 1) > at(j);
      const bool right = j + 1 < grid.size() && at(j + 1) > at(j);
      if (!left && !right) break;
      j = left && (!right || at(j - 1) >= at(j + 1)) ? j - 1 : j + 1;
    }
    std::vector<double> kept(grid.size(), never);
    const double top = at(j);
    kept[j] = 0;
    for (std::size_t i = j; i + 1 < grid.size() && at(i + 1) <= at(i) + 1e-9; ++i)
      kept[i + 1] = at(i + 1) - top;
    for (std::size_t i = j; i > 0 && at(i - 1) <= at(i) + 1e-9; --i) kept[i - 1] = at(i - 1) - top;
    for (std::size_t i = 0; i < grid.size(); ++i) grid[i].log_weight = kept[i];
    return j;
  }

  // Each point stands for all lengths up to half way to its neighbors.
  static void blur(std::vector<Point>& grid) {
    std::vector<VectorXd> moved(grid.size());
    for (std::size_t j = 0; j < grid.size(); ++j) {
      const std::size_t a = j > 0 ? j - 1 : 0, b = std::min(j + 1, grid.size() - 1);
      moved[j] = (grid[b].law.mean - grid[a].law.mean) / static_cast<double>(b - a);
    }
    for (std::size_t j = 0; j < grid.size(); ++j)
      grid[j].law.covariance += moved[j] * moved[j].transpose() / 12;
  }

  static constexpr double never = -1e9;

  const Equation& equation_;
  const Normal& mode_;
  MatrixXd spread_;
  VectorXd mean_, one_;  // of the rows; 0 if no feature is one
};

// Rows that carry one effect saturate together: those of a level, and the few far out of a number
// that is bunched at one end of its range (as two points of its mean and deviation).
struct Together {
  std::size_t feature = 0;
  double side = 1;      // of the rows, from the mean
  double reach = 1;     // how far out they are, of the range
  double factor = 1;    // of the interval
  double score = 0;     // of such a row
  double estimate = 0;  // of the effect
  double most = 0;      // half of the prior's interval, whose middle is 0
  double per_one = 1;   // of the effect, for 1 of its coefficient
};

// Half an interval that is symmetric in the probability of these rows, not in its log-odds.
double saturated(const Together& rows, double half, double sign) {
  const double p = logistic(rows.score)[0];
  const double q = std::max(p * (1 - p), 1e-9);
  const double end = p + rows.side * sign * rows.factor * half * rows.reach * q;
  const double most = rows.most - sign * rows.estimate;  // to the prior's end
  if (!(end > 1e-6 && end < 1 - 1e-6)) return most;
  return std::min(std::fabs(std::log(end / (1 - end)) - rows.score) / rows.reach, most);
}

std::vector<Together> together(const Features& features, const Estimates& estimates,
                               const Schema& schema) {
  std::vector<double> everyone(estimates.feature_means);
  const double mean_score = estimates.combination(everyone).estimate;
  std::size_t products = 0;  // the first feature of interactions
  for (const Column& column : schema.columns) products += schema.features_of(column);
  std::vector<Together> out;
  for (const Index number : features.numbers) {
    const auto j = static_cast<std::size_t>(number);
    const double mean = features.mean[number], deviation = features.deviation[number];
    const double near =
        std::max(std::min(mean + features.middle[number], 1 - features.middle[number] - mean),
                 least_deviation);
    if (!(near < deviation)) continue;
    Together rows{.feature = j};
    rows.side = mean + features.middle[number] < 0.5 ? 1 : -1;
    rows.reach = std::min(deviation * deviation / near + near, 1.0);
    rows.factor = near < deviation / 4 ? 1.5 : 1.0;
    rows.estimate = feature_effect(estimates, schema, j).estimate;
    rows.score = mean_score + rows.side * rows.estimate * (rows.reach - near);
    rows.most = normal_95 / std::sqrt(features.precision[number]);
    out.push_back(rows);
  }
  for (const Levels& group : features.categories) {
    for (Index l = group.first; l < group.first + group.size; ++l) {
      const auto j = static_cast<std::size_t>(l);
      Together rows{.feature = j};
      rows.estimate = feature_effect(estimates, schema, j).estimate;
      rows.score = mean_score + rows.estimate;
      if (j >= products) {
        // Its rows have the effects of its columns, too.
        std::vector<double> row = everyone;
        put_product(schema, j, row);
        rows.score = estimates.combination(row).estimate;
      }
      rows.most = normal_95 * prior_scale;
      rows.per_one = 1 - features.mean[l];
      out.push_back(rows);
    }
  }
  return out;
}

void widen_where_rows_saturate(const Features& features, const Schema& schema,
                               Estimates& estimates) {
  std::vector<double> above(estimates.prior_deviation.size(), 0.0), below = above;
  for (const Together& rows : together(features, estimates, schema)) {
    if (!(rows.per_one > 1e-9)) continue;
    const EffectEstimate effect = feature_effect(estimates, schema, rows.feature);
    const auto further = [&](double half, double sign) {
      const double wide = saturated(rows, half, sign);
      return wide > half ? std::sqrt(wide * wide - half * half) / rows.per_one : 0.0;
    };
    above[rows.feature] = further(effect.upper - effect.estimate, 1);
    below[rows.feature] = further(effect.estimate - effect.lower, -1);
  }
  estimates.further_above = std::move(above);
  estimates.further_below = std::move(below);
}

void check(const AnsweredScores& answers, const Schema& schema) {
  const Index d = answers.metric.rows(), k = answers.metric.cols();
  const auto require = [](bool holds, const char* what) {
    if (!holds)
      throw BadInput(fmt::format("answers: {}; give all answers of one run with its schema", what));
  };
  require(schema.features() == static_cast<std::size_t>(d) && k > 0, "another number of features");
  require(answers.lambda.size() == k && answers.prior.size() == k, "lambda and prior must be [k]");
  require(answers.information.rows() == k && answers.information.cols() == k,
          "information must be [k x k]");
  require(!answers.scores || (answers.scores->sum.rows() == k && answers.scores->sum.cols() == k),
          "scores must be [k x k]");
  require(!answers.points.empty() && answers.points.size() == answers.gradients.size() &&
              answers.points.size() == answers.variances.size(),
          "points, gradients and variances must be as many");
  for (std::size_t t = 0; t < answers.points.size(); ++t)
    require(answers.points[t].size() == k && answers.gradients[t].size() == k,
            "points and gradients must be [k]");
}

bool is_usable(const AnsweredScores& answers) {
  const auto positive = [](double value) { return std::isfinite(value) && value > 0; };
  bool out = (!answers.scores ||
              (answers.scores->sum.allFinite() && positive(answers.scores->deviation))) &&
             answers.metric.allFinite() && answers.information.allFinite() &&
             positive(answers.rows) && positive(answers.information_deviation) &&
             positive(answers.prior_scale) && answers.lambda.allFinite() &&
             answers.lambda.minCoeff() > 0 && answers.prior.allFinite() &&
             answers.prior.minCoeff() > 0;
  for (const double variance : answers.variances) out = out && positive(variance);
  for (const VectorXd& point : answers.points) out = out && point.allFinite();
  for (const VectorXd& gradient : answers.gradients) out = out && gradient.allFinite();
  return out;
}

// To ten significant digits, so that a file holds no more and means the same.
double rounded(double value) {
  constexpr int digits = 10;
  if (value == 0 || !std::isfinite(value)) return value;
  const int places = digits - 1 - static_cast<int>(std::floor(std::log10(std::fabs(value))));
  const double scale = std::pow(10.0, std::abs(places));
  const double out =
      places >= 0 ? std::round(value * scale) / scale : std::round(value / scale) * scale;
  return std::isfinite(out) ? out : value;
}

std::vector<double> values_of(const VectorXd& v) { return {v.begin(), v.end()}; }

}  // namespace

namespace {

// The last coordinate is the same c for every row, so sum u u_k / sum u_k^2 = mean(u)/c. With
// x = B y for every row, with its own coordinates y, u = S^T B y.
struct Coordinates {
  MatrixXd basis, to_u;  // B [d x k], S^T B [k x k]
  double c = 1;
};
Coordinates coordinates_of(const MatrixXd& start, const Schema& schema) {
  const Index d = start.rows(), k = start.cols();
  const ContrastBasis contrasts = contrast_basis(schema);
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  MatrixXd basis = Eigen::Map<const RowMajor>(contrasts.basis.data(), d, k);
  MatrixXd to_u = start.transpose() * basis;
  return {std::move(basis), std::move(to_u), 1 / start(d - 1, k - 1)};
}

}  // namespace

std::vector<double> answered_mean_deviations(const MatrixXd& start, double squares,
                                             const VectorXd& deviations, const Schema& schema) {
  if (!schema.intercept || !(squares > 0)) return {};
  const auto [basis, to_u, c] = coordinates_of(start, schema);
  const MatrixXd noise = deviations.asDiagonal();
  return values_of((basis * to_u.partialPivLu().solve(noise * (c / squares))).rowwise().norm());
}

std::vector<double> answered_means(const MatrixXd& start, const MatrixXd& moments,
                                   const Schema& schema) {
  if (!schema.intercept) return {};
  const Index k = start.cols();
  const double squares = moments(k - 1, k - 1);
  if (!(squares > 0)) return {};
  const auto [basis, to_u, c] = coordinates_of(start, schema);
  const VectorXd mean = basis * to_u.partialPivLu().solve(moments.col(k - 1) * (c / squares));
  std::vector<double> out = values_of(mean);
  Index first = 0;
  add_main_parts(schema, out);
  for (const Column& column : schema.terms()) {
    const auto size = static_cast<Index>(schema.features_of(column));
    const auto of_column =
        std::span(out).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(size));
    first += size;
    if (column.type == ColumnType::number && !column.is_curve()) {
      for (double& value : of_column) value = std::clamp(value, 0.0, 1.0);
    } else if (size > 0) {
      double sum = 0;
      for (double& share : of_column) sum += share = std::max(share, rarest_share);
      for (double& share : of_column) share /= sum;
    }
  }
  out.back() = 1;
  const bool finite = std::ranges::all_of(out, [](double value) { return std::isfinite(value); });
  return finite ? out : std::vector<double>();
}

std::optional<Estimates> estimate(const AnsweredScores& answers, const Schema& schema) {
  check(answers, schema);
  if (!is_usable(answers)) return {};
  const Features features(answers, schema);
  if (!features.inverse.allFinite()) return {};
  const NormalRows rows = normal_rows(features, answers.lambda);
  Information information(answers, features, rows);
  std::optional<Equation> equation(std::in_place, answers, features, rows, information);
  Equation::Solution solution = equation->solve();
  if (solution.stuck) {
    // Noise of the information made F fall where it must rise, so that no step leads to a root.
    information.hold_positive(answers, rows);
    equation.emplace(answers, features, rows, information);
    solution = equation->solve();
  }
  const Normal& mode = solution.law;
  if (!mode.mean.allFinite() || !mode.covariance.allFinite()) return {};

  Estimates out;
  const MatrixXd& P = answers.metric;
  MatrixXd covariance = mode.covariance;
  if (OverLength::is_long(rows, mode)) {
    covariance.setZero();
    const OverLength lengths(*equation, rows, mode, features.one);
    for (const OverLength::Point& point : lengths.components()) {
      out.weights.push_back(std::exp(point.log_weight));
      out.means.push_back(values_of(P * point.law.mean));
      covariance += out.weights.back() * point.law.covariance;
    }
  } else {
    out.weights = {1};
    out.means = {values_of(P * mode.mean)};
  }
  covariance = (P * covariance * P.transpose()).eval();
  for (Index a = 0; a < covariance.rows(); ++a) {
    for (Index b = 0; b <= a; ++b) {
      const double value = 0.5 * (covariance(a, b) + covariance(b, a));
      out.covariance.push_back(rounded(a == b ? std::max(value, 0.0) : value));
    }
  }
  out.prior_deviation = values_of(features.precision.cwiseSqrt().cwiseInverse());
  if (features.constant >= 0) out.prior_deviation.back() = std::numeric_limits<double>::infinity();
  out.feature_means = answers.means;
  if (out.feature_means.empty()) out.feature_means = values_of(features.mean + features.middle);
  if (features.constant >= 0) out.feature_means.back() = 1;
  out.feature_deviations = values_of(features.deviation);
  const auto finite = [](const std::vector<double>& values) {
    return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
  };
  if (out.means.empty() || !finite(out.weights) || !finite(out.covariance)) return {};
  if (!std::ranges::all_of(out.means, finite) || !finite(out.feature_means)) return {};
  widen_where_rows_saturate(features, schema, out);
  if (!finite(out.further_above) || !finite(out.further_below)) return {};
  return out;
}

FeatureParts feature_parts(const AnsweredScores& answers, const Schema& schema) {
  check(answers, schema);
  if (!is_usable(answers)) return {};
  const Features features(answers, schema);
  if (!features.inverse.allFinite()) return {};
  FeatureParts out{features.metric,
                   unit_directions(features, answers.lambda),
                   normal_rows(features, answers.lambda).mean(),
                   features.mean + features.middle,
                   features.deviation,
                   features.precision,
                   {},
                   true,
                   features.numbers};
  auto j = static_cast<Index>(features.numbers.size());
  for (const Levels& group : features.categories) {
    const auto levels = features.metric.middleRows(group.first, group.size);
    const auto shares = features.mean.segment(group.first, group.size);
    const VectorXd others = out.row_mean - levels.transpose() * shares;
    for (Index l = 0; l < group.size; ++l, ++j) {
      const VectorXd row = average_row(others + levels.row(l).transpose(), out.directions.row(j),
                                       out.row_mean, answers.lambda);
      out.levels.push_back({j, group.first + l, shares[l],
                            row.cwiseQuotient(answers.lambda).dot(out.directions.row(j)), row,
                            group.curve, group.first});
    }
  }
  return out;
}

double rounded_estimate(double value) { return rounded(value); }
MatrixXd inverse_of_symmetric(const MatrixXd& matrix) { return inverse_of(matrix); }

}  // namespace gibbsite
