// The parametric bootstrap of whitened (docs/intervals.md). Sees no row: those that it asks are
// made here from released numbers.
#include "run/intervals.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <random>
#include <variant>

#include "gibbsite/core/error.hpp"
#include "gibbsite/mechanism/whitened.hpp"
#include "machine/crew.hpp"
#include "machine/processors.hpp"
#include "run/answers.hpp"
#include "run/whitened_rule.hpp"

namespace gibbsite {
namespace {

using Eigen::ArrayXd;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using Matrix = WhitenedRule::Metric;
using Random = std::mt19937_64;

// Rows that are made: each stands for as many of the table's as there are over this.
constexpr std::size_t most_rows = 8192, rows_a_feature = 4;
constexpr std::uint64_t seed = 0x67696262736974;  // public: nothing is hidden by it

double sigmoid(double z) { return 1 / (1 + std::exp(-z)); }

Matrix normals(Eigen::Index rows, Eigen::Index columns, Random& random) {
  std::normal_distribution<double> normal;
  Matrix out(rows, columns);
  for (Eigen::Index i = 0; i < out.size(); ++i) out.data()[i] = normal(random);
  return out;
}

// The rule after all answers that the model holds.
WhitenedRule replayed(WhitenedRule rule, const LinearModel& model) {
  const std::size_t d = model.schema.features();
  for (std::size_t a = 0; a < model.answers.size(); ++a) {
    const NoisyAnswer& answer = model.answers[a];
    if (rule.asks_moments()) {
      rule.answer_moments(whole_matrix(answer.values, d), answer.deviation);
    } else {  // a curvature goes with every gradient
      const Eigen::Map<const VectorXd> gradient(answer.values.data(), static_cast<Eigen::Index>(d));
      rule.answer_gradient(gradient, answer.deviation, model.answers[++a].values.front());
    }
  }
  return rule;
}

// Of each made row the level of `features` columns from `first` on whose number is largest beside
// what makes levels as frequent as `shares` say; that one becomes 1, the others 0.
void choose_level(Eigen::Ref<MatrixXd> block, VectorXd shares) {
  constexpr double rarest = 1e-4, step = 0.7;
  constexpr int rounds = 30;
  const double n = static_cast<double>(block.rows());
  shares = shares.cwiseMax(rarest);
  shares /= shares.sum();
  for (Eigen::Index k = 0; k < block.cols(); ++k) {
    const double mean = block.col(k).mean();
    const double deviation = std::sqrt((block.col(k).array() - mean).square().mean());
    block.col(k) = (block.col(k).array() - mean) / std::max(deviation, rarest);
  }
  ArrayXd raised = shares.array().log();
  std::vector<Eigen::Index> level(static_cast<std::size_t>(block.rows()));
  for (int round = 0; round < rounds; ++round) {
    VectorXd found = VectorXd::Zero(block.cols());
    for (Eigen::Index i = 0; i < block.rows(); ++i) {
      (block.row(i).transpose().array() + raised).maxCoeff(&level[static_cast<std::size_t>(i)]);
      found[level[static_cast<std::size_t>(i)]] += 1 / n;
    }
    if (round + 1 < rounds) {
      raised += step * (shares.array().log() - found.array().max(0.3 / n).log());
    }
  }
  block.setZero();
  for (Eigen::Index i = 0; i < block.rows(); ++i) block(i, level[static_cast<std::size_t>(i)]) = 1;
}

// Rows that a schema could have read: a level of each category, numbers within their range, the
// constant. `mean` of the features is that of the table.
void make_legal(const Schema& schema, const VectorXd& mean, MatrixXd& rows) {
  Eigen::Index first = 0;
  for (const Column& column : schema.columns) {
    const auto features = static_cast<Eigen::Index>(schema.features_of(column));
    if (column.type == ColumnType::number) {
      rows.col(first) = rows.col(first).cwiseMax(0).cwiseMin(1);
    } else if (column.type == ColumnType::category) {
      choose_level(rows.middleCols(first, features), mean.segment(first, features));
    }
    first += features;
  }
  rows.col(first).setOnes();
}

// [n x d] with the second moments of the rule's metric: legal ones where a constant column says
// what the means are and no row was scaled down, else normal. None: the metric has no inverse.
std::optional<MatrixXd> made_rows(const WhitenedRule& rule, const Schema& schema, Eigen::Index n,
                                  Random& random) {
  const MatrixXd inverse = MatrixXd(rule.metric()).inverse();
  if (!inverse.allFinite()) return {};
  const Eigen::Index d = inverse.rows();
  const bool legal = schema.intercept && schema.max_unclipped_norm() <= schema.row_norm;
  const MatrixXd noise = normals(n, d, random);
  if (!legal) return noise * rule.lambda().cwiseSqrt().asDiagonal() * inverse;
  MatrixXd moments = inverse.transpose() * rule.lambda().asDiagonal() * inverse;
  moments /= std::max(moments(d - 1, d - 1), 1e-9);
  const VectorXd mean = moments.col(d - 1);
  const Eigen::SelfAdjointEigenSolver<MatrixXd> spread(moments - mean * mean.transpose());
  if (spread.info() != Eigen::Success) return {};
  MatrixXd rows = noise * spread.eigenvalues().cwiseMax(0).cwiseSqrt().asDiagonal() *
                  spread.eigenvectors().transpose();
  rows.rowwise() += mean.transpose();
  make_legal(schema, mean, rows);
  return rows;
}

// [d x d] Takes an omega to the one of the same scores that is shortest by the prior, which is what
// a fit without noise would find: levels of two categories can rise against each other unseen.
MatrixXd identified(const MatrixXd& x, const WhitenedRule& rule) {
  constexpr double unseen = 1e-10;  // of the largest eigenvalue
  const ArrayXd scale = rule.prior().array().sqrt();
  const MatrixXd z = x * rule.metric() * scale.matrix().asDiagonal();
  const Eigen::SelfAdjointEigenSolver<MatrixXd> found(z.transpose() * z);
  if (found.info() != Eigen::Success) return MatrixXd::Identity(x.cols(), x.cols());
  const MatrixXd& V = found.eigenvectors();
  const ArrayXd& values = found.eigenvalues().array();
  const VectorXd seen = (values > unseen * values.maxCoeff()).cast<double>();
  return scale.matrix().asDiagonal() * V * seen.asDiagonal() * V.transpose() *
         scale.inverse().matrix().asDiagonal();
}

// What the table's rows are to `whitened`, of rows in memory that each stand for `weight` of them
// with labels of their own.
class MadeTable {
 public:
  MadeTable(const MatrixXd& x, double weight, Random random)
      : x_(x), weight_(weight), random_(random) {}

  // u u^T summed over rows u = P^T x scaled down to norm `clip`.
  [[nodiscard]] static MatrixXd moments(const MatrixXd& x, const Matrix& P, double clip) {
    MatrixXd u = x * P;
    for (Eigen::Index i = 0; i < u.rows(); ++i) u.row(i) *= cap_of(clip, u.row(i).norm());
    return u.transpose() * u;
  }

  // Labels at `theta`, by the probabilities that the released model has.
  void draw_labels(const VectorXd& theta) {
    const VectorXd logit = x_ * theta;
    const int people = std::max(1, static_cast<int>(std::lround(weight_)));
    positive_.resize(x_.rows());
    for (Eigen::Index i = 0; i < x_.rows(); ++i) {
      std::binomial_distribution<int> count(people, sigmoid(logit[i]));
      positive_[i] = count(random_) / static_cast<double>(people);
    }
  }

  // The mechanism on these rows; `first` are their moments as they are asked first.
  [[nodiscard]] VectorXd run(WhitenedRule rule, const Whitened& settings, const Problem& problem,
                             const Neighbors& who, const MatrixXd& first) {
    while (rule.asks_moments()) {
      const bool second = rule.second();
      const double deviation = moment_deviation_up(settings, who, second, rule.clip(), 0);
      MatrixXd noisy = weight_ * (second ? moments(x_, rule.metric(), rule.clip()) : first);
      for (Eigen::Index a = 0; a < noisy.rows(); ++a) {
        for (Eigen::Index b = 0; b <= a; ++b) {
          noisy(a, b) += deviation * (a == b ? 1 : M_SQRT1_2) * normal_(random_);
          noisy(b, a) = noisy(a, b);
        }
      }
      rule.answer_moments(noisy, deviation);
    }
    const MatrixXd z = x_ * rule.metric();
    const ArrayXd cap =
        z.rowwise().norm().unaryExpr([&](double norm) { return cap_of(rule.clip(), norm); });
    const double of_curvature = curvature_deviation_up(settings, who, problem.curvature, 0);
    VectorXd slope(x_.rows());
    for (std::uint64_t t = 1; rule.answered() < rule.questions(); ++t) {
      const VectorXd logit = z * rule.omega();
      double curvature = 0;
      for (Eigen::Index i = 0; i < x_.rows(); ++i) {
        // The weight does not look at the label (docs/whitened.md, "Probabilities").
        const double p = sigmoid(logit[i]), weight = std::min(1.0, cap[i] / std::max(p, 1 - p));
        slope[i] = weight * (p - positive_[i]);
        curvature += weight * p * (1 - p);
      }
      const double deviation = gradient_deviation_up(settings, who, t, rule.clip(), 0);
      VectorXd gradient = weight_ * (z.transpose() * slope);
      for (double& value : gradient) value += deviation * normal_(random_);
      rule.answer_gradient(gradient, deviation,
                           weight_ * curvature + of_curvature * normal_(random_));
    }
    return rule.theta();
  }

 private:
  const MatrixXd& x_;
  double weight_;
  Random random_;
  std::normal_distribution<double> normal_;
  VectorXd positive_;  // share of the people of a row
};

}  // namespace

std::optional<Intervals> bootstrap_intervals(const LinearModel& model, const Plan& plan,
                                             const FitOptions& options) {
  const auto& settings = std::get<Whitened>(plan.offer().mechanism);
  const Problem& problem = plan.problem;
  const Neighbors& who = plan.offer().guarantee.who;
  const std::vector<double> middle = model.schema.middle();
  const WhitenedRule unasked(settings, problem, who, middle);
  const WhitenedRule rule = replayed(unasked, model);
  const auto d = static_cast<Eigen::Index>(problem.features);
  const auto n = static_cast<std::size_t>(
      std::clamp(rule.rows(), 1.0,
                 static_cast<double>(std::max(most_rows, rows_a_feature * problem.features))));
  Random random(seed);
  const std::optional<MatrixXd> x =
      made_rows(rule, model.schema, static_cast<Eigen::Index>(n), random);
  if (!x) return {};
  const double weight = rule.rows() / static_cast<double>(n);
  const MatrixXd first = MadeTable::moments(*x, unasked.metric(), unasked.clip());
  const ArrayXd spread = rule.posterior_variance().cwiseSqrt();
  const MatrixXd to_truth = rule.metric() * identified(*x, rule);

  Intervals out;
  out.errors.resize(Intervals::replicas);
  std::atomic<std::uint64_t> done = 0;
  Crew crew(static_cast<std::size_t>(std::min<int>(usable_processors(), Crew::most_members)));
  crew.each(Intervals::replicas, [&](std::size_t replica, std::size_t member) {
    if (options.stop != nullptr && *options.stop) return;
    Random own(seed + 1 + replica);
    const VectorXd open = normals(d, 1, own);
    const VectorXd truth = to_truth * (rule.omega().array() + spread * open.array()).matrix();
    MadeTable table(*x, weight, own);
    table.draw_labels(truth);
    const VectorXd error = table.run(unasked, settings, problem, who, first) - truth;
    out.errors[replica] = {error.begin(), error.end()};
    ++done;
    if (member == 0 && options.intervals_progress) {
      options.intervals_progress(done, Intervals::replicas);
    }
  });
  if (done < Intervals::replicas) {
    throw Interrupted("interrupted while intervals were made; run the same again");
  }
  return out;
}

}  // namespace gibbsite
