#pragma once
// Runs of whitened seen from inside: the questions that answers were given to, asked again of other
// rows.
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "gibbsite/data/dataset.hpp"
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
  const double curvature = engine.capped_loss(P, {.clip = q.clip})
                               ->gradient({theta.data(), numbers}, {sum.data(), numbers});
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

/// What tells two tables apart in a run of chains of a private metric, as a mu of its own: the
/// moments' answer, and T steps at the worst of the positions `omegas` [K d], each S^2 h/2.
inline double metric_run_mu(Backend& backend, const Dataset& here, const Dataset& there,
                            std::string_view loss, const NoisyAnswer& answer,
                            const WhitenedRule::Metric& P, const Path& chain,
                            const std::vector<std::vector<double>>& omegas) {
  std::vector<double> moments[2], gradients[2];
  const std::size_t d = here.features(), all = omegas.front().size();
  for (const int k : {0, 1}) {
    const Dataset& table = k == 0 ? here : there;
    const auto engine = backend.load(table.view(), table.y, loss_named(loss));
    moments[k].resize(d * d);
    engine->second_moments({answer.at.data(), d, d}, answer.clip, {moments[k].data(), d, d});
    const auto in_metric =
        load_in_metric(*engine, backend, table.y, table.view().offset, {P.data(), d, d}, 1);
    for (const std::vector<double>& omega : omegas) {
      std::vector<double> g(all);
      in_metric->loss_gradients({omega.data(), 1, all}, {g.data(), 1, all});
      gradients[k].insert(gradients[k].end(), g.begin(), g.end());
    }
  }
  double step = 0;
  for (std::size_t at = 0; at < gradients[0].size(); at += all) {
    step = std::max(step, squared_distance(std::span(gradients[0]).subspan(at, all),
                                           std::span(gradients[1]).subspan(at, all)));
  }
  return std::sqrt(squared_distance(moments[0], moments[1]) /
                       (answer.deviation * answer.deviation) +
                   chain.iterations * step * chain.step_size * chain.beta * chain.beta / 2);
}

}  // namespace gibbsite::support
