#pragma once
// Runs of whitened seen from inside: the questions that answers were given to, asked again of other
// rows.
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/score_coordinates.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/engine/engine.hpp"
#include "gibbsite/mechanism/plan.hpp"
#include "gibbsite/model/contrasts.hpp"
#include "gibbsite/model/linear_model.hpp"
#include "mechanism/whitened_losses.hpp"
#include "run/answers.hpp"

namespace gibbsite::support {

/// One question of a run.
struct Question {
  bool moments = false;
  WhitenedRule::Metric metric;  ///< P
  double clip = 0;
  Eigen::VectorXd omega;                   ///< of a gradient
  double deviation = 0, of_curvature = 0;  ///< of the noise in its answer
  std::string name = {};  ///< lengths, moments, start, gradient, block, information or scores
  double limit = std::numeric_limits<double>::infinity();  ///< ScoreLimits::information
  RowLengths lengths = {};
  double largest_count = 0;  ///< ScoreLimits::largest_count
};

/// The questions that lead to these released answers: the rule once more.
inline std::vector<Question> questions_of(const Whitened& settings, const Problem& problem,
                                          const Neighbors& who, const Schema& schema,
                                          std::span<const NoisyAnswer> answers) {
  WhitenedRule rule(settings, problem, who, starting_metric(schema), plain_metric(schema));
  std::vector<Question> out;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const NoisyAnswer& a = answers[i];
    Question q{a.question == "moments",
               rule.metric(),
               rule.clip(),
               rule.omega(),
               a.deviation,
               0,
               a.question};
    q.largest_count = settings.largest_count;
    const auto values = [&] {
      return Eigen::Map<const Eigen::VectorXd>(a.values.data(),
                                               static_cast<Eigen::Index>(a.values.size()));
    };
    if (q.name == "lengths") {
      q.lengths = row_lengths(schema);
      rule.answer_lengths(a.values[0], q.lengths);
    } else if (q.name == "start") {
      rule.answer_start(values(), a.deviation);
    } else if (q.moments) {
      rule.answer_moments(whole_matrix(a.values, rule.coordinates()), a.deviation);
    } else if (q.name == "block") {
      // With held slopes its scores are those of the path.
      if (!has_capped_derivatives(problem)) q.limit = block_limit(settings, problem);
      rule.answer_block(values(), a.deviation);
    } else if (q.name == "information") {
      q.limit = block_limit(settings, problem);
      q.omega = rule.block_omega();
      rule.answer_information();
    } else if (q.name == "scores") {
      q.omega = rule.block_omega();
      rule.answer_scores();
    } else {
      const NoisyAnswer& curvature = answers[++i];
      q.of_curvature = curvature.deviation;
      rule.answer_gradient(values(), a.deviation, curvature.values[0]);
    }
    out.push_back(std::move(q));
  }
  return out;
}

/// What the rows answer, without noise, in units of its deviation and orthonormal coordinates of
/// the norm that sensitivities are in: the distance of two tables' is what tells them apart.
inline std::vector<double> exact_answer(Engine& engine, const Question& q) {
  const auto d = static_cast<std::size_t>(q.metric.rows()),
             k = static_cast<std::size_t>(q.metric.cols());
  const MatrixView<const double> P{q.metric.data(), d, k};
  std::vector<double> out;
  if (q.name == "lengths") return {engine.log_lengths(q.lengths) / q.deviation};
  if (q.moments) {
    std::vector<double> sums(k * k);
    engine.second_moments(P, q.clip, {sums.data(), k, k});
    // All entries: one off the diagonal is there twice, and the sum of its squares too.
    for (const double v : sums) out.push_back(v / q.deviation);
    return out;
  }
  using Outputs = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Eigen::Map<const Outputs> omega(q.omega.data(), q.omega.size() / q.metric.cols(),
                                        q.metric.cols());
  const Outputs theta = omega * q.metric.transpose();
  Outputs sum(theta.rows(), theta.cols());
  const auto numbers = static_cast<std::size_t>(theta.size());  // [K x d]
  const auto capped = engine.capped_loss(
      P, {.clip = q.clip, .information = q.limit, .largest_count = q.largest_count});
  const std::size_t outputs = engine.loss().outputs();
  if (q.name == "scores") {
    const std::size_t size = score_coordinates(outputs, k);
    std::vector<double> sums(size * size);
    capped->score_moments({theta.data(), numbers}, {sums.data(), size, size});
    for (const double v : sums) out.push_back(v / q.deviation);
    return out;
  }
  if (q.name == "information") {
    std::vector<double> sums(k * k);
    const MatrixView<double> of_rows{sums.data(), k, k};
    for (const ClassPair& pair : class_pairs(std::max<std::size_t>(outputs, 2))) {
      if (outputs > 1) {
        capped->information_between({theta.data(), numbers}, pair, of_rows);
      } else {
        capped->information({theta.data(), numbers}, of_rows);
      }
      for (const double v : sums) out.push_back(v / q.deviation);
    }
    return out;
  }
  const double curvature = capped->gradient({theta.data(), numbers}, {sum.data(), numbers});
  const Outputs gradient = sum * q.metric;
  for (Eigen::Index i = 0; i < gradient.size(); ++i) {
    out.push_back(gradient.data()[i] / q.deviation);
  }
  if (q.name == "gradient") out.push_back(curvature / q.of_curvature);
  return out;
}

inline double squared_distance(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

/// What tells two tables apart in a run of chains of a private metric, as a mu of its own: the
/// moments' answer, and T steps at the worst of the positions `omegas` [K k], each S^2 h/2.
inline double metric_run_mu(Backend& backend, const Dataset& here, const Dataset& there,
                            std::string_view loss, const NoisyAnswer& answer,
                            const WhitenedRule::Metric& P, const Path& chain,
                            const std::vector<std::vector<double>>& omegas) {
  std::vector<double> moments[2], gradients[2];
  const std::size_t d = here.features(), k = static_cast<std::size_t>(P.cols()),
                    all = omegas.front().size();
  for (const int which : {0, 1}) {
    const Dataset& table = which == 0 ? here : there;
    const auto engine = backend.load(table.view(), table.y, loss_named(loss));
    moments[which].resize(k * k);
    engine->second_moments({answer.at.data(), d, k}, answer.clip, {moments[which].data(), k, k});
    const Rows rows = table.view();
    const auto in_metric =
        load_in_metric(*engine, backend, {table.y, rows.offset, rows.weight}, {P.data(), d, k}, 1);
    for (const std::vector<double>& omega : omegas) {
      std::vector<double> g(all);
      in_metric->loss_gradients({omega.data(), 1, all}, {g.data(), 1, all});
      gradients[which].insert(gradients[which].end(), g.begin(), g.end());
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
