#include "run/estimate_features.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

namespace gibbsite {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

// Public constants, chosen once by simulation (docs/intervals.md). None has to do with privacy.
constexpr double least_deviation = 0.02;     // of a number, as a part of its range
constexpr double constant_precision = 1e-4;  // of the prior of the constant

}  // namespace

MatrixXd symmetric(const MatrixXd& M) { return 0.5 * (M + M.transpose()); }

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

MatrixXd pseudo_inverse(const MatrixXd& P) {
  return Eigen::CompleteOrthogonalDecomposition<MatrixXd>(P).pseudoInverse();
}

double rounded(double value) {
  constexpr int digits = 10;
  if (value == 0 || !std::isfinite(value)) return value;
  const int places = digits - 1 - static_cast<int>(std::floor(std::log10(std::fabs(value))));
  const double scale = std::pow(10.0, std::abs(places));
  const double out =
      places >= 0 ? std::round(value * scale) / scale : std::round(value / scale) * scale;
  return std::isfinite(out) ? out : value;
}

bool is_usable(const AnsweredScores& answers) {
  const auto positive = [](double value) { return std::isfinite(value) && value > 0; };
  bool out = answers.metric.allFinite() && answers.information.allFinite() &&
             positive(answers.rows) && positive(answers.information_deviation) &&
             positive(answers.prior_scale) && answers.lambda.allFinite() &&
             answers.lambda.minCoeff() > 0 && answers.prior.allFinite() &&
             answers.prior.minCoeff() > 0;
  for (const double variance : answers.variances) out = out && positive(variance);
  for (const VectorXd& point : answers.points) out = out && point.allFinite();
  for (const VectorXd& gradient : answers.gradients) out = out && gradient.allFinite();
  return out;
}

NormalQuadrature::NormalQuadrature(Index count) {
  MatrixXd jacobi = MatrixXd::Zero(count, count);
  for (Index a = 1; a < count; ++a)
    jacobi(a, a - 1) = jacobi(a - 1, a) = std::sqrt(static_cast<double>(a));
  const Eigen::SelfAdjointEigenSolver<MatrixXd> e(jacobi);
  points = e.eigenvalues();
  weights = e.eigenvectors().row(0).transpose().array().square();
  weights /= weights.sum();
}

Features::Features(const AnsweredScores& answers, const Schema& schema) : metric(answers.metric) {
  const Index d = metric.rows();
  const std::vector<double> public_middle = schema.middle();
  middle = Eigen::Map<const VectorXd>(public_middle.data(), d);
  Index first = 0;
  for (const Column& column : schema.columns) {
    const auto size = static_cast<Index>(schema.features_of(column));
    if (column.type == ColumnType::number) {
      numbers.push_back(first);
    } else if (column.type == ColumnType::category && size > 0) {
      const auto rows = metric.middleRows(first, size);
      const bool contrasts = rows.colwise().sum().norm() <= 1e-6 * rows.norm();
      categories.push_back({first, size, contrasts});
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
      if (!group.contrasts && one.size() == 0)
        one = inverse.middleCols(group.first, group.size).rowwise().sum();
  }
  answer_moments(answers.lambda);
  precision = VectorXd::Constant(d, 1 / (prior_scale * prior_scale));
  for (const Index j : numbers)
    precision[j] = std::pow(std::max(deviation[j], least_deviation) / prior_scale, 2);
  if (constant >= 0) precision[constant] = constant_precision;
}

void Features::answer_moments(const VectorXd& lambda) {
  const Index d = metric.rows();
  const VectorXd second = (inverse.array().square().matrix().transpose() * lambda).cwiseMax(0);
  if (one.size() > 0) {
    one_moment = std::max(one.dot(lambda.cwiseProduct(one)), 1e-6);
    mean = inverse.transpose() * lambda.cwiseProduct(one) / one_moment;
    deviation = (second.array() / one_moment - mean.array().square()).max(1e-6).sqrt();
  } else {
    // Second moments alone: of a level they are its share, a number counts as evenly spread over
    // the low part of its range.
    mean = VectorXd::Zero(d);
    deviation = VectorXd::Constant(d, 1e-3);
    for (const Index j : numbers) {
      const double moment = std::clamp(second[j], 1e-6, 1.0);
      mean[j] = std::max(moment, std::sqrt(0.75 * moment));
      deviation[j] = std::sqrt(std::max(moment - mean[j] * mean[j], 1e-6));
      mean[j] -= middle[j];
    }
    for (const Levels& group : categories)
      mean.segment(group.first, group.size) = second.segment(group.first, group.size);
  }
  for (const Levels& group : categories) {
    auto shares = mean.segment(group.first, group.size);
    if (group.contrasts) shares.array() += 1 / static_cast<double>(group.size) - shares.mean();
    shares = shares.cwiseMax(rarest_share).eval();
    shares /= shares.sum();
    for (Index l = group.first; l < group.first + group.size; ++l)
      deviation[l] = std::sqrt(mean[l] * (1 - mean[l]));
  }
  if (constant >= 0) {
    mean[constant] = 1;
    deviation[constant] = 0;
  }
}

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

}  // namespace gibbsite
