#pragma once
// Runs of whitened seen from inside: the questions that answers were given to, asked again of other
// rows.
#include <Eigen/Dense>
#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "gibbsite/engine/engine.hpp"
#include "gibbsite/mechanism/plan.hpp"
#include "gibbsite/model/linear_model.hpp"
#include "run/answers.hpp"

namespace gibbsite::support {

/// One question of a run.
struct Question {
  bool moments = false;
  WhitenedRule::Metric metric;  ///< P
  double clip = 0;
  Eigen::VectorXd omega;                   ///< of a gradient
  double deviation = 0, of_curvature = 0;  ///< of the noise in its answer
};

/// The questions that lead to these released answers: the rule once more.
inline std::vector<Question> questions_of(const Whitened& settings, const Problem& problem,
                                          const Neighbors& who, std::span<const double> middle,
                                          std::span<const NoisyAnswer> answers) {
  WhitenedRule rule(settings, problem, who, middle);
  std::vector<Question> out;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const NoisyAnswer& a = answers[i];
    Question q{a.question == "moments", rule.metric(), rule.clip(), rule.omega(), a.deviation, 0};
    if (q.moments) {
      rule.answer_moments(whole_matrix(a.values, problem.row_features()), a.deviation);
    } else {
      const NoisyAnswer& curvature = answers[++i];
      q.of_curvature = curvature.deviation;
      rule.answer_gradient(Eigen::Map<const Eigen::VectorXd>(
                               a.values.data(), static_cast<Eigen::Index>(a.values.size())),
                           a.deviation, curvature.values[0]);
    }
    out.push_back(std::move(q));
  }
  return out;
}

/// What the rows answer, without noise, in units of its deviation and orthonormal coordinates of
/// the norm that sensitivities are in: the distance of two tables' is what tells them apart.
inline std::vector<double> exact_answer(Engine& engine, const Question& q) {
  const auto d = static_cast<std::size_t>(q.metric.rows());
  const MatrixView<const double> P{q.metric.data(), d, d};
  std::vector<double> out;
  if (q.moments) {
    std::vector<double> sums(d * d);
    engine.second_moments(P, q.clip, {sums.data(), d, d});
    // All entries: one off the diagonal is there twice, and the sum of its squares too.
    for (const double v : sums) out.push_back(v / q.deviation);
    return out;
  }
  using Outputs = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const std::size_t numbers = static_cast<std::size_t>(q.omega.size());  // [K x d]
  const Eigen::Map<const Outputs> omega(q.omega.data(), q.omega.size() / q.metric.rows(),
                                        q.metric.rows());
  const Outputs theta = omega * q.metric.transpose();
  Outputs sum(theta.rows(), theta.cols());
  const double curvature =
      engine.capped_loss(P, q.clip)->gradient({theta.data(), numbers}, {sum.data(), numbers});
  const Outputs gradient = sum * q.metric;
  for (Eigen::Index i = 0; i < gradient.size(); ++i) {
    out.push_back(gradient.data()[i] / q.deviation);
  }
  out.push_back(curvature / q.of_curvature);
  return out;
}

inline double squared_distance(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

}  // namespace gibbsite::support
