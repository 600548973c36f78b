#include "run/whitened_rule.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <utility>

#include "gibbsite/mechanism/learning.hpp"
#include "gibbsite/model/contrasts.hpp"
#include "gibbsite/model/loss.hpp"
#include "mechanism/whitened_losses.hpp"

namespace gibbsite {
namespace {

using Eigen::ArrayXd;
using Eigen::ArrayXXd;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Constants of the rule: found by measurement, flat about these values (docs/theory/whitened.md).
// None has to do with privacy.
constexpr double prior_power = 0.75;  // of coefficients' own variances
constexpr double near_cap = 0.5;  // of a cap: how far below it the number of rows is taken to be
constexpr double least_variance = 0.01;  // of z, a priori
constexpr int variances_tried = 60;
constexpr double overshoot = 2, damped = 1.5;
// Parts of phi: the curvature below which one of two classes is rare, and the least that is taken
// then. Found on simulated tables (bench/results/rare-classes-2026-11-29.md).
constexpr double rare_curvature = 0.16, rare_least_curvature = 0.1;
// N/d from which on. Below, noise is what a path that forgets its first gradients would have most.
constexpr double least_rare_signal = 60;
constexpr double least_count_curvature = 0.002;  // of what is usual
constexpr int fits = 12;
constexpr double first_part = 0.5;  // of a public center, where the path begins

struct Eigenpairs {
  VectorXd values;
  MatrixXd vectors;
};

// A diagonal where the iteration fails.
Eigenpairs eigenpairs(const MatrixXd& symmetric) {
  const Eigen::SelfAdjointEigenSolver<MatrixXd> found(symmetric);
  if (found.info() == Eigen::Success && found.eigenvectors().allFinite()) {
    return {found.eigenvalues(), found.eigenvectors()};
  }
  return {symmetric.diagonal(), MatrixXd::Identity(symmetric.rows(), symmetric.cols())};
}

// B is second moments of a row with noise of `deviation` on the diagonal: fits low rank plus
// diagonal, where noise cannot be told from a low rank below its operator norm.
Eigenpairs without_noise(const MatrixXd& B, double deviation, double noise_norm, bool first) {
  const auto d = static_cast<double>(B.rows());
  const VectorXd diagonal = B.diagonal();
  const double floor = std::max(deviation, 1e-4 * std::max(diagonal.sum(), 1e-9) / d);
  VectorXd own = first ? VectorXd::Zero(B.rows()).eval() : diagonal.cwiseMax(floor).eval();
  MatrixXd low;
  for (int fit = 0; fit < fits; ++fit) {
    const Eigenpairs e = eigenpairs(B - MatrixXd(own.asDiagonal()));
    const VectorXd kept = e.values.unaryExpr(
        [&](double l) { return (first ? l : std::fabs(l)) > noise_norm ? l : 0.0; });
    low.noalias() = e.vectors * kept.asDiagonal() * e.vectors.transpose();
    const VectorXd next = (diagonal - low.diagonal()).cwiseMax(floor);
    const double moved = (next - own).cwiseAbs().maxCoeff();
    if (moved < 1e-3 * floor) break;
    own = next;
  }
  Eigenpairs out = eigenpairs(low + MatrixXd(own.asDiagonal()));
  out.values = out.values.cwiseMax(0.5 * floor);
  return out;
}

// Second moments' own diagonal [d], the last the constant's: drawn to its mean by as much as its
// spread is noise of `deviation`.
VectorXd drawn_to_mean(const VectorXd& of, double deviation, double constant) {
  const auto count = of.size() - 1;
  const VectorXd others = of.head(count);
  const double noise = deviation * deviation, n = static_cast<double>(count);
  const double mean = std::max(
      {count > 0 ? others.mean() : 0.0, 0.3 * deviation / std::sqrt(std::max(n, 1.0)), 1e-9});
  // What the spread of so many numbers of noise alone hardly exceeds.
  const double most_noise = (1 + std::sqrt(2 / std::max(n - 1, 1.0))) * noise;
  const double spread = count > 1 ? (others.array() - others.mean()).square().sum() / (n - 1) : 0;
  const double variance = std::max(spread - most_noise, 0.0);
  const double kept = variance / (variance + noise);
  VectorXd out(of.size());
  out.head(count) = (mean + kept * (others.array() - mean)).max(0.1 * mean);
  out[count] = std::max(of[count], 0.05 * constant);
  return out;
}

// As `without_noise` for small budgets: low rank plus a diagonal in the rows' columns Q [d x k],
// Q^T Q = 1, B's coordinates. The last column is the constant, whose own moment is known.
Eigenpairs without_much_noise(const MatrixXd& B, double deviation, double noise_norm,
                              double constant, const MatrixXd& Q) {
  MatrixXd of_columns = Q * B * Q.transpose();
  of_columns.bottomRightCorner(1, 1).setConstant(constant);
  const MatrixXd onto = Q * Q.transpose();
  const VectorXd seen = onto.diagonal().cwiseMax(1e-9), diagonal = of_columns.diagonal();
  VectorXd own = drawn_to_mean(diagonal.cwiseQuotient(seen), deviation, constant);
  MatrixXd low;
  for (int fit = 0; fit < fits; ++fit) {
    const Eigenpairs e = eigenpairs(of_columns - onto * own.asDiagonal() * onto);
    const VectorXd kept = e.values.unaryExpr([&](double l) { return l > noise_norm ? l : 0.0; });
    low.noalias() = e.vectors * kept.asDiagonal() * e.vectors.transpose();
    const VectorXd next =
        drawn_to_mean((diagonal - low.diagonal()).cwiseQuotient(seen), deviation, constant);
    const double moved = (next - own).cwiseAbs().maxCoeff();
    if (moved < 1e-3 * own.mean()) break;
    own = next;
  }
  Eigenpairs out = eigenpairs(Q.transpose() * (low + MatrixXd(own.asDiagonal())) * Q);
  out.values = out.values.cwiseMax(1e-3 * own.mean());
  return out;
}

double median_of(const VectorXd& values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

}  // namespace

WhitenedRule::WhitenedRule(const Whitened& settings, const Problem& problem, const Neighbors& who,
                           Metric start, Metric plain, std::vector<double> center)
    : settings_(settings),
      constants_(constants_for(problem)),
      small_(SmallBudget::for_signal(signal_per_feature(problem, who, settings.query_mu) *
                                     static_cast<double>(problem.outputs))),
      counts_rows_(who.adjacency == Adjacency::add_remove || problem.weighted),
      outputs_(problem.outputs),
      rows_(problem.most_weight_up()),
      intercept_(problem.intercept),
      // Who asks for moments alone asks for no curvature.
      curvature_noise_(constants_.rare + constants_.counts > 0 && settings.curvature_share > 0
                           ? curvature_deviation_up(settings, who, largest_trace(problem), 0)
                           : 0),
      metric_(std::move(start)),
      plain_(std::move(plain)),
      clip_(settings.first_clip),
      public_(std::move(center)) {
  if (signal_per_feature(problem, who, settings.query_mu) < least_rare_signal) constants_.rare = 0;
  if (intercept_) constant_feature_ = VectorXd::Unit(metric_.rows(), metric_.rows() - 1);
  omega_ = sum_omega_ = sum_gradient_ =
      VectorXd::Zero(metric_.cols() * static_cast<Eigen::Index>(problem.outputs));
}

VectorXd constant_feature(const Schema& schema) {
  const auto d = static_cast<Eigen::Index>(schema.features());
  if (schema.intercept) return VectorXd::Unit(d, d - 1);
  Eigen::Index first = 0;
  for (const Column& column : schema.terms()) {
    const auto features = static_cast<Eigen::Index>(schema.features_of(column));
    VectorXd out = VectorXd::Zero(d);
    out.segment(first, features).setOnes();
    if (column.type == ColumnType::category && always_has_level(schema, column)) return out;
    first += features;
  }
  return {};
}

double least_class_weight(const Problem& problem) {
  double least = 1;
  for (const float w : loss_named(problem.loss).class_weights())
    least = std::min(least, static_cast<double>(w));
  return least;
}

WhitenedRule::SmallBudget WhitenedRule::SmallBudget::for_signal(double s) {
  return {.constant = std::min(s / 40, 1.0),
          .explained = std::clamp(1 - s / 60, 0.4, 0.72),
          .lean = std::min(0.5, std::sqrt(2 / s)),
          .power = std::clamp(s / 40, 0.5, prior_power)};
}

namespace {
// The basis B [d x k], with numbers about these centers.
WhitenedRule::Metric centered_basis(const Schema& schema, const ContrastBasis& contrasts,
                                    const std::vector<double>& basis,
                                    const TypicalFeatures& typical) {
  const auto d = static_cast<Eigen::Index>(contrasts.features);
  WhitenedRule::Metric out = Eigen::Map<const WhitenedRule::Metric>(
      basis.data(), d, static_cast<Eigen::Index>(contrasts.coordinates));
  out = (Eigen::Map<const VectorXd>(typical.factor.data(), d).asDiagonal() * out).eval();
  if (!schema.intercept) return out;
  const Eigen::Map<const VectorXd> shift(typical.center.data(), d);  // 0 for levels
  out.row(d - 1) -= (shift.transpose() * out).eval();
  return out;
}
}  // namespace

WhitenedRule::Metric starting_metric(const Schema& schema) {
  const ContrastBasis contrasts = contrast_basis(schema);
  return centered_basis(schema, contrasts, contrasts.basis, typical_features(schema));
}

WhitenedRule::Metric plain_metric(const Schema& schema) {
  const ContrastBasis contrasts = contrast_basis(schema);
  TypicalFeatures typical = typical_features(schema);
  if (contrasts.plain.empty() && !typical.any) return {};
  std::ranges::fill(typical.factor, 1.0);
  return centered_basis(schema, contrasts,
                        contrasts.plain.empty() ? contrasts.basis : contrasts.plain, typical);
}

WhitenedRule::Constants WhitenedRule::constants_for(const Problem& problem) {
  const double phi = problem.curvature;
  if (problem.outputs > 1) {
    // A row may curve more in one direction than on average, up to phi.
    const double mean = largest_mean_curvature(problem);
    return {0.35 * mean, mean, phi, 0, 1.5, 100, static_cast<double>(problem.outputs - 1)};
  }
  if (is_two_class_logistic(problem.loss)) {
    Constants out{0.24 * phi, phi, phi, 0, 3, 100};
    out.rare = rare_curvature * phi;
    return out;
  }
  const double B2 = problem.label_bound * problem.label_bound;
  // Counts: the curvature is a mean count over the largest one, and grows with it.
  const bool counts = problem.loss == "poisson";
  Constants out{(counts ? 0.04 : 0.15) * phi, phi, 2 * phi, 2, std::max(3.0, B2 / 4),
                std::max(100.0, 4 * B2)};
  out.by_step = counts;
  if (counts) out.counts = out.least_curvature;
  return out;
}

std::uint64_t WhitenedRule::questions() const {
  return (is_small_budget(settings_) ? 1 : 0) + moment_questions() + iterations() +
         (settings_.information_share > 0 ? 2 : 0) + (settings_.score_share > 0 ? 1 : 0);
}

void WhitenedRule::answer_lengths(double noisy, const RowLengths& lengths) {
  const auto d = metric_.rows(), k = metric_.cols();
  const double length =
      std::exp(std::clamp(lengths.middle() + noisy / rows_, lengths.low, lengths.high));
  // The constant fills no more of a row than it must to be seen, and a row as long as others is as
  // long as the clip.
  // Under add/remove it says how many rows there are, too.
  const double least = lengths.categories || counts_rows_ ? 0.5 : 0.25;
  const double constant = std::min(std::max(small_.constant, least) * length, 1.0);
  const double scale = clip_ / std::hypot(length, constant);
  columns_ = plain_.size() > 0 ? plain_ : metric_;
  columns_.row(d - 1).setZero();
  columns_.col(k - 1).setZero();
  columns_(d - 1, k - 1) = 1;
  const double of_constant = constant * metric_(d - 1, k - 1);  // it was 1/that of every row
  metric_.col(k - 1) *= of_constant;
  metric_ *= scale;
  if (plain_.size() > 0) {
    plain_.col(k - 1) *= of_constant;
    plain_ *= scale;
  }
  constant_ = constant * scale;
  ++lengths_;
}

void WhitenedRule::answer_moments(const MatrixXd& noisy, double deviation) {
  const auto k = noisy.rows();
  const bool small = is_small_budget(settings_);
  // Under add/remove, and if rows have weights, `rows_` is a cap: about so many rows are there, or
  // so much do they count, by the constant's own moment.
  if (moments_ == 0 && counts_rows_ && intercept_) {
    const double constant =
        small ? constant_ : 1 / metric_(metric_.rows() - 1, k - 1);  // of every row
    double found = noisy(k - 1, k - 1) / (constant * constant);
    if (small) {  // as far as it is no noise: a cap is taken to be near to what it caps
      const double noise = deviation / (constant * constant * rows_);
      found = rows_ + (found - rows_) / (1 + noise * noise / (near_cap * near_cap));
    }
    rows_ = std::clamp(found, 0.001 * rows_, rows_);
  }
  const double of_one = deviation / rows_;
  const double noise_norm = of_one * std::sqrt(2 * static_cast<double>(k));
  const MatrixXd B = noisy / rows_;
  const Eigenpairs e =
      !small ? without_noise(B, of_one, noise_norm, moments_ == 0)
      : moments_ == 0
          ? without_much_noise(B, of_one, noise_norm, constant_ * constant_, columns_)
          : without_much_noise(B, of_one, noise_norm, B(k - 1, k - 1), MatrixXd::Identity(k, k));
  const ArrayXd scale = (e.values.array() + whitened_ridge_share * noise_norm).rsqrt();
  metric_ = (metric_ * e.vectors * scale.matrix().asDiagonal()).eval();
  if (plain_.size() > 0) plain_ = (plain_ * e.vectors * scale.matrix().asDiagonal()).eval();
  lambda_ = e.values.array() * scale.square();
  curve_ = lambda_;
  if (small) {
    // Where noise may hide that a direction has more, its curvature is taken to be between.
    const ArrayXd most = ((e.values.array() + noise_norm) * scale.square()).min(lambda_.sum());
    curve_ = lambda_.array() * (most / lambda_.array()).pow(small_.lean);
    explained_ = 1 - static_cast<double>(k) * median_of(e.values) / e.values.sum();
  }
  ++moments_;
  if (asks_moments()) {
    clip_ = std::sqrt(lambda_.sum());
    return;
  }
  clip_ = gradient_clip(settings_, lambda_.sum());
  const Metric& P = plain_.size() > 0 ? plain_ : metric_;
  const MatrixXd gram = P.transpose() * P + 1e-12 * MatrixXd::Identity(k, k);
  prior_ = gram.inverse().diagonal().array().max(1e-12).pow(small ? small_.power : prior_power);
  if (!prior_.allFinite()) prior_.setOnes();
  prior_ /= prior_.dot(lambda_);
  if (!public_.empty()) begin_at_center();
}

// P omega = theta0 by least squares: rows of the schema have theta0's scores.
void WhitenedRule::begin_at_center() {
  const auto d = metric_.rows(), K = static_cast<Eigen::Index>(outputs_);
  const Eigen::Map<const MatrixXd> theta(public_.data(), d, K);
  const MatrixXd omega = MatrixXd(metric_).completeOrthogonalDecomposition().solve(theta);
  if (!omega.allFinite()) return;
  center_ = centered(omega.reshaped());
  part_ = first_part;
  omega_ = part_ * center_;
}

VectorXd WhitenedRule::theta() const {
  const auto d = metric_.rows(), k = metric_.cols(), K = static_cast<Eigen::Index>(outputs_);
  VectorXd out(K * d);
  for (Eigen::Index output = 0; output < K; ++output) {
    out.segment(output * d, d) = metric_ * omega_.segment(output * k, k);
  }
  return out;
}

// Gradients of several outputs add up to 0 over them but for noise, of which that takes 1/K.
VectorXd WhitenedRule::centered(const VectorXd& of_outputs) const {
  if (outputs_ == 1) return of_outputs;
  const auto k = metric_.cols(), K = static_cast<Eigen::Index>(outputs_);
  const Eigen::Map<const MatrixXd> columns(of_outputs.data(), k, K);
  MatrixXd out = columns.colwise() - columns.rowwise().mean();
  return Eigen::Map<VectorXd>(out.data(), out.size());
}

void WhitenedRule::answer_gradient(const VectorXd& answer, double deviation,
                                   double noisy_curvature) {
  const VectorXd noisy = centered(answer);
  if (gradients_ > 0) {
    look_for_rare_class(noisy_curvature);
    damp(noisy, deviation);
  }
  look_for_rare_counts(noisy, deviation, noisy_curvature);
  const double mean_curvature = noisy_curvature / rows_ / constants_.directions;
  curvature_ = gradients_ > 0 ? std::clamp(mean_curvature, constants_.least_curvature,
                                           constants_.most_curvature)
                              : constants_.most_curvature;
  path_.push_back({omega_, noisy, deviation});
  add(noisy, deviation, std::pow(static_cast<double>(gradients_ + 1), constants_.recency));
  ++gradients_;
}

// Where a class is rare the loss curves less the nearer omega comes, and `least_curvature` is
// several times what there is: the path would stand still on its way. Then steps are of less
// curvature, early gradients, far off, count less, also those before, and damping may go back.
void WhitenedRule::look_for_rare_class(double curvature) {
  const bool rare = curvature + overshoot * curvature_noise_ < constants_.rare * rows_;
  if (constants_.rare == 0 || !rare) return;
  constants_.least_curvature = constants_.rare * (rare_least_curvature / rare_curvature);
  constants_.recency = 2;
  constants_.by_step = true;
  constants_.rare = 0;  // once
  sum_omega_.setZero(), sum_gradient_.setZero();
  weight_ = squares_ = 0;
  for (std::size_t t = 0; t < path_.size(); ++t)
    sum_up(path_[t].omega, path_[t].gradient, path_[t].deviation,
           std::pow(static_cast<double>(t + 1), constants_.recency));
}

// The curvature of counts is their mean m at omega, as a part of N, and the gradient along the
// constant is the sum of what m lies above their own mean y. The larger of both is a step's
// curvature that overshoots from neither side; where both are surely small, what is usual is many
// times too much, and the path would end on its way.
void WhitenedRule::look_for_rare_counts(const VectorXd& gradient, double deviation,
                                        double curvature) {
  if (constants_.counts == 0 || constant_feature_.size() == 0) return;
  if (of_constant_.size() == 0) {
    of_constant_ = MatrixXd(metric_).completeOrthogonalDecomposition().solve(constant_feature_);
    if (!of_constant_.allFinite()) of_constant_.setZero(metric_.cols());
  }
  // Their sum, by all answers so far, and what m adds up to by the surer of two answers.
  const double above = of_constant_.dot(gradient), noise = deviation * of_constant_.norm();
  const double variance = curvature_noise_ * curvature_noise_ + noise * noise;
  labels_ += (curvature - above) / variance;
  labels_precision_ += 1 / variance;
  const double labels = labels_ / labels_precision_, of_labels = 1 / std::sqrt(labels_precision_);
  const bool by_gradient = std::hypot(of_labels, noise) < curvature_noise_;
  const double most_means = by_gradient ? labels + above + overshoot * std::hypot(of_labels, noise)
                                        : curvature + overshoot * curvature_noise_;
  const double surely = std::max(most_means, labels + overshoot * of_labels) / rows_;
  constants_.least_curvature =
      std::clamp(surely, least_count_curvature * constants_.counts, constants_.counts);
}

void WhitenedRule::sum_up(const VectorXd& omega, const VectorXd& gradient, double deviation,
                          double recent) {
  const double weight = recent / (deviation * deviation);
  sum_omega_ += weight * omega;
  sum_gradient_ += weight * gradient;
  weight_ += weight;
  squares_ += recent * weight;
}

// The noise is new, so this tests what it seems to: whether the loss rises along omega. Of counts a
// step that is too long meets e times the curvature for each unit of the predictor, and damping of
// then would hold all later ones: so it follows the last step, and goes back where the loss still
// falls.
void WhitenedRule::damp(const VectorXd& gradient, double deviation) {
  VectorXd along = omega_;
  if (constants_.by_step) {
    along -= path_.back().omega;
  } else if (center_.size() > 0) {
    along -= part_ * center_;
  }
  const double slope = gradient.dot(along), noise = overshoot * deviation * along.norm();
  // At the least curvature steps are shorter than they should be already.
  const bool short_already = constants_.by_step && curvature_ <= constants_.least_curvature;
  if (slope > noise) {
    if (!short_already) damping_ *= damped;
  } else if (constants_.by_step && slope < -noise) {
    damping_ = std::max(1.0, damping_ / damped);
  }
}

void WhitenedRule::answer_start(const VectorXd& answer, double deviation) {
  sum_up(omega_, centered(answer), deviation, 1);
  ++starts_;
}

void WhitenedRule::answer_block(const VectorXd& answer, double deviation) {
  block_omega_ = omega_;
  block_variance_ = variance_;
  add(centered(answer), deviation, 1);
  ++of_intervals_;
}

void WhitenedRule::add(const VectorXd& noisy, double deviation, double recent) {
  sum_up(omega_, noisy, deviation, recent);
  // All gradients, moved to one quadratic: U = H omega* + noise of variance s2.
  const ArrayXd H = rows_ * damped_curvature() * curve_.array();
  const double s2 = noise();
  const auto k = metric_.cols(), K = static_cast<Eigen::Index>(outputs_);
  ArrayXXd U =
      1 / weight_ *
      (sum_omega_.reshaped(k, K).array().colwise() * H - sum_gradient_.reshaped(k, K).array());
  const ArrayXd squares = U.square().rowwise().sum();
  const ArrayXd per_variance = H.square() * prior_.array();
  // A public center explains a part of U, in [0, 1] and by least squares for each variance tried.
  const bool is_centered = center_.size() > 0;
  ArrayXXd of_center;
  ArrayXd along, own;
  if (is_centered) {
    of_center = center_.reshaped(k, K).array().colwise() * H;
    along = (of_center * U).rowwise().sum();
    own = of_center.square().rowwise().sum();
  }
  double best = INFINITY;
  variance_ = constants_.expected_variance;
  const double lowest = std::log(least_variance), highest = std::log(constants_.most_variance);
  for (int tried = 0; tried < variances_tried; ++tried) {
    const double logarithm = lowest + (highest - lowest) * tried / (variances_tried - 1);
    const ArrayXd total = s2 + std::exp(logarithm) * per_variance;
    const double away = logarithm - std::log(constants_.expected_variance);
    double cost = (constants_.directions * total.log() + squares / total).sum() + away * away;
    double part = 0;
    if (is_centered) {
      const double with = (along / total).sum(), of_itself = (own / total).sum();
      part = of_itself > 0 ? std::clamp(with / of_itself, 0.0, 1.0) : 0;
      cost += part * (part * of_itself - 2 * with);
    }
    if (cost < best) best = cost, variance_ = std::exp(logarithm), part_ = part;
  }
  const ArrayXd shrunk = H * prior_.array() * variance_ / (s2 + variance_ * per_variance);
  if (is_centered) U -= part_ * of_center;
  omega_ = (U.colwise() * shrunk).reshaped();
  if (is_centered) omega_ += part_ * center_;
}

// No loss curves more than `most_damped`: beyond it damping would hold omega where it is, and
// the loss that still rises along it would damp more and more.
double WhitenedRule::damped_curvature() const {
  return std::min(curvature_ * damping_, constants_.most_damped);
}

// Equal to 1/weight_, bit by bit, if the power is 0.
double WhitenedRule::noise() const { return squares_ / weight_ / weight_; }

}  // namespace gibbsite
