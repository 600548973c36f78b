#include "run/estimates_parts.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "run/whitened_rule.hpp"

namespace gibbsite {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Public constants, found by simulation (docs/theory/intervals.md). Variances are in deviations of
// what noise alone has along the same direction.
constexpr double clear_variance = 5, certain_variance = 7;  // of a feature that is no noise itself
constexpr double certain_rest = 5, clear_rest = 7;          // of what other columns leave of it
constexpr double clear_inflation = 1.6, certain_inflation = 2.2;  // one over its part of the whole
constexpr double certain_information = 3.5, clear_information = 4.5;  // answered, in deviations
constexpr double prior_log_odds = 2;  // of no information against what the rest would have
constexpr double narrow_number = 0.04, other_number = 0.06;  // deviations, of the range
constexpr double least_doubt = 0.1;
constexpr double new_part = 0.5;  // of the length that a direction has beyond earlier ones

// From 0 at `from` to 1 at `to`, which may be below it.
double ramp(double value, double from, double to) {
  return std::clamp((value - from) / (to - from), 0.0, 1.0);
}

// A direction along which a feature is what another column says, and how surely.
struct Unseparated {
  double doubt = 0;
  VectorXd direction;
};

double kept_part(double mean_square, double noise) {
  return mean_square > noise ? 1 - noise / mean_square : 0;
}

// How far from certain it is that rows have information along a direction t.
double doubt_of_information(const AnsweredDirections& answers, const VectorXd& t, double moment) {
  const double deviation = t.squaredNorm() * answers.deviation;
  const double seen = t.dot(answers.information * t) / deviation;
  const double expected = answers.unit * moment / deviation;
  // Log-odds of no information against the expected one, each with normal noise of deviation 1.
  const double log_odds =
      std::clamp(expected * (0.5 * expected - seen) + prior_log_odds, -50.0, 50.0);
  return ramp(seen, clear_information, certain_information) / (1 + std::exp(-log_odds));
}

}  // namespace

// The last moments that were asked have eigenvalues l, with noise of deviation s on the diagonal.
// The metric makes them lambda = l/(l + ridge), ridge = whitened_ridge_share s sqrt(2k), so that
// noise becomes s/(l + ridge).
VectorXd noise_of_moments(const VectorXd& lambda) {
  const double ridge = whitened_ridge_share * std::sqrt(2 * static_cast<double>(lambda.size()));
  return ((1 - lambda.array()) / ridge).max(1e-9);
}

// The mean of z over the level's rows is mean + t u with u = Lambda b / sqrt(b . Lambda b), where
// b . z is the level's indicator less its share: a linear regression. t is what the level alone
// says. Noise N of Lambda moves it by t N b / sqrt(b . Lambda b), so the positive-part estimator
// of James and Stein keeps 1 - E||noise||^2/||difference||^2 of the difference.
VectorXd average_row(const VectorXd& alone, const VectorXd& u, const VectorXd& mean,
                     const VectorXd& lambda) {
  const VectorXd across = u.cwiseQuotient(lambda), noise = noise_of_moments(lambda);
  const double t = across.dot(alone - mean);
  const VectorXd difference = mean + t * u - alone;
  const double mean_square =
      0.5 * t * t *
      (noise.sum() * noise.dot(across.cwiseAbs2()) + noise.cwiseProduct(across).squaredNorm());
  return alone + kept_part(difference.squaredNorm(), mean_square) * difference;
}

MatrixXd unseparated(const ColumnDirections& features, const AnsweredDirections& answers,
                     const MatrixXd& prior) {
  const VectorXd& lambda = answers.lambda;
  const VectorXd noise = noise_of_moments(lambda);
  const MatrixXd& all = features.inverse;
  const bool has_one = features.one.size() > 0;
  // Without what the constant says of a feature: its own variance, and that of noise.
  MatrixXd alone = all;
  if (has_one) {
    const VectorXd weighted = lambda.cwiseProduct(features.one);
    alone -= features.one * (weighted.transpose() * all) / features.one.dot(weighted);
  }
  const auto along = [](const VectorXd& t, const VectorXd& weights) {
    return t.cwiseAbs2().dot(weights);
  };
  const VectorXd root = (lambda + noise).cwiseSqrt();
  std::vector<Unseparated> found;
  for (const ColumnDirections::Column& by : features.columns) {
    // Least squares, by moments that noise is added to: a rare level's coefficient is mostly noise.
    MatrixXd X(lambda.size(), by.size + (has_one ? 1 : 0));
    X.leftCols(by.size) = all.middleCols(by.first, by.size);
    if (has_one) X.rightCols(1) = features.one;
    Eigen::CompleteOrthogonalDecomposition<MatrixXd> squares;
    squares.setThreshold(1e-9);
    squares.compute(root.asDiagonal() * X);
    const MatrixXd rest = all - X * squares.solve(root.asDiagonal() * all);
    for (const ColumnDirections::Column& of : features.columns) {
      if (of.first == by.first) continue;
      for (Index j = of.first; j < of.first + of.size; ++j) {
        const VectorXd t = rest.col(j), own = alone.col(j);
        const double moment = along(t, lambda), variance = along(own, lambda);
        if (!(moment > 0 && along(own, noise) > 0)) continue;
        const double doubt = ramp(moment / along(t, noise), clear_rest, certain_rest) *
                             ramp(variance / moment, clear_inflation, certain_inflation) *
                             ramp(variance / along(own, noise), clear_variance, certain_variance) *
                             doubt_of_information(answers, t, moment);
        if (doubt >= least_doubt) found.push_back({doubt, t / std::sqrt(t.dot(prior * t))});
      }
    }
  }
  std::ranges::stable_sort(found, std::ranges::greater(), &Unseparated::doubt);
  // Each direction counts once, even if several pairs of columns find it.
  MatrixXd out = MatrixXd::Zero(lambda.size(), lambda.size());
  std::vector<VectorXd> known;
  for (Unseparated& one : found) {
    VectorXd& t = one.direction;
    for (const VectorXd& before : known) t -= before * before.dot(prior * t);
    const double length = std::sqrt(std::max(t.dot(prior * t), 0.0));
    if (!(length >= new_part)) continue;
    t /= length;
    out += one.doubt * t * t.transpose();
    known.push_back(std::move(t));
  }
  return out;
}

MatrixXd unresolved(const MatrixXd& directions, const VectorXd& deviations,
                    const AnsweredDirections& answers, const MatrixXd& prior) {
  const VectorXd noise = noise_of_moments(answers.lambda);
  MatrixXd out = MatrixXd::Zero(prior.rows(), prior.cols());
  for (Index j = 0; j < deviations.size(); ++j) {
    // Its variance is 1 by the answered moments.
    const VectorXd t = directions.row(j).transpose().cwiseQuotient(answers.lambda);
    const double doubt = ramp(deviations[j], other_number, narrow_number) *
                         ramp(1 / t.cwiseAbs2().dot(noise), clear_rest, certain_rest) *
                         doubt_of_information(answers, t, 1);
    if (doubt >= least_doubt) out += doubt / t.dot(prior * t) * t * t.transpose();
  }
  return out;
}

VectorXd correction_deviations(Index directions, const VectorXd& lambda) {
  constexpr double prior_correction = 0.5;
  VectorXd out(directions);
  out << VectorXd::Constant(directions - lambda.size(), prior_correction),
      prior_correction * lambda;
  return out;
}

ShrunkInformation::ShrunkInformation(const MatrixXd& answered, double deviation,
                                     const ExpectedMatrix& expected, double scale,
                                     MatrixXd directions, const VectorXd& deviations)
    : deviation_(deviation), scale_(scale), directions_(std::move(directions)) {
  const double s2 = deviation * deviation;
  const MatrixXd& u = directions_;
  const Index k = u.cols();
  const VectorXd& of_expected = expected.noise;
  const bool noisy = of_expected.size() > 0;
  MatrixXd rest = answered - expected.value;
  MatrixXd across = u, light = rest;
  if (noisy) {
    // An element has noise s^2 + m_a m_b <= (s + m_a)(s + m_b), a product, so time is O(k^3) still.
    const VectorXd part = deviation / (deviation + of_expected.array());
    across *= part.cwiseSqrt().asDiagonal();
    light = part.asDiagonal() * rest * part.asDiagonal();
  }
  spread_ = inverse_of_symmetric(
      MatrixXd((across * across.transpose()).cwiseAbs2() * (scale * scale / s2)) +
      MatrixXd(deviations.cwiseAbs2().cwiseInverse().asDiagonal()));
  const VectorXd seen = (u * light).cwiseProduct(u).rowwise().sum() * (scale / s2);
  const VectorXd delta = spread_ * seen;
  correction_ = scale * u.transpose() * delta.asDiagonal() * u;
  rest -= correction_;
  const MatrixXd own = of_expected * of_expected.transpose();
  const VectorXd diagonal = rest.diagonal();
  const double of_k = static_cast<double>(k), pairs = static_cast<double>(k * (k - 1));
  // Mean squares, without what is the noise of what was expected.
  double on = diagonal.squaredNorm() / of_k, off = 0;
  if (noisy) on -= own.trace() / of_k;
  diagonal_kept_ = kept_part(on, s2);
  if (k > 1) {
    off = (rest.squaredNorm() - diagonal.squaredNorm()) / pairs;
    if (noisy) off -= 0.5 * (own.sum() - own.trace()) / pairs;
    beside_kept_ = kept_part(off, 0.5 * s2);
  }
  correction_ += beside_kept_ * rest;
  correction_.diagonal() += (diagonal_kept_ - beside_kept_) * diagonal;
  if (!noisy) return;
  further_kept_ = 1 - beside_kept_ - s2 / (own.array() + std::max(2 * off, s2));
  further_kept_.diagonal() = 1 - diagonal_kept_ - s2 / (own.diagonal().array() + std::max(on, s2));
  correction_ += further_kept_.cwiseProduct(rest);
}

MatrixXd ShrunkInformation::error(const MatrixXd& vv) const {
  const double s2 = deviation_ * deviation_;
  const VectorXd q = vv.diagonal();
  MatrixXd out = vv;
  out.diagonal() += VectorXd::Constant(q.size(), q.sum()) - 2 * q;
  out *= 0.5 * beside_kept_ * s2;
  out.diagonal() += diagonal_kept_ * s2 * q;
  if (further_kept_.size() > 0) {
    const MatrixXd& kept = further_kept_;
    MatrixXd further = kept.cwiseProduct(vv);
    further.diagonal() = kept * q + kept.diagonal().cwiseProduct(q);
    out += 0.5 * s2 * further;
  }
  const MatrixXd& u = directions_;
  const MatrixXd between = spread_.cwiseProduct(u * vv * u.transpose());
  return out + scale_ * scale_ * (u.transpose() * between * u);
}

}  // namespace gibbsite
