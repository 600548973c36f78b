// Runs of whitened: a question to the rows, noise, the rule; the answers are all that it keeps.
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "core/rounding.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/summation.hpp"
#include "gibbsite/mechanism/noise_law.hpp"
#include "mechanism/whitened_losses.hpp"
#include "run/answers.hpp"
#include "run/sampler.hpp"
#include "run/whitened_rule.hpp"

namespace gibbsite {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using Metric = WhitenedRule::Metric;

std::size_t count(Eigen::Index n) { return static_cast<std::size_t>(n); }

// ||P^-1||_2, rounded up; infinite where double cannot tell. With X P = I - E and ||E|| < 1,
// P^-1 = (I - E)^-1 X.
Wide inverse_norm_up(const Metric& P) {
  const MatrixXd X = MatrixXd(P).inverse();
  const double infinity = std::numeric_limits<double>::infinity();
  if (!X.allFinite()) return infinity;
  const MatrixXd residual = MatrixXd::Identity(P.rows(), P.cols()) - X * P;
  const Wide slack = 1 + Wide(1e-9), d = count(P.rows());
  const Wide E = slack * (Wide(residual.norm()) + gamma_k(d + 2) * Wide(X.norm()) * Wide(P.norm()));
  return E < Wide(0.5) ? slack * Wide(X.norm()) / (1 - E) : Wide(infinity);
}

// How far a computed gradient P^T (X^T r) of n rows is off, in norm: the sum over rows, of numbers
// cap_i ||x_i|| <= min(sup |f'| row norm, C ||P^-1||) each, and the product (docs/whitened.md,
// "Rounding"). Of several outputs in the Frobenius norm.
double gradient_error_up(const Metric& P, double clip, const Problem& problem) {
  const Wide n = problem.rows, d = problem.row_features(), slack = 1 + Wide(1e-9);
  const Wide by_cap = Wide(clip) * inverse_norm_up(P);
  const Wide longest = std::min(by_cap, Wide(problem.lipschitz_up()));
  const Wide roundings = gamma_k(Wide(accumulation_depth(problem.rows)) + 2) + gamma_k(d + 2);
  return round_up(slack * Wide(P.norm()) * n * longest * roundings);
}
// A row's own curvature is computed within u of at most `curvature`.
double curvature_error_up(const Problem& problem) {
  const Wide depth = accumulation_depth(problem.rows);
  return round_up((gamma_k(depth + 2) * Wide(problem.rows) + ldexp(Wide(1), -40)) *
                  Wide(largest_trace(problem)));
}

class WhitenedSampler final : public Sampler {
 public:
  WhitenedSampler(const Whitened& settings, const Task& task)
      : settings_(settings), task_(task), rule_(new_rule()) {}

  void begin() override {}
  // A question at a time: `steps` counts them.
  void advance(std::uint64_t steps) override {
    for (; steps > 0 && done() < total(); --steps) ask();
  }
  [[nodiscard]] std::uint64_t done() const override { return rule_.answered(); }
  [[nodiscard]] std::uint64_t total() const override { return rule_.questions(); }
  [[nodiscard]] std::vector<std::vector<double>> draws() const override {
    const VectorXd theta = rule_.theta();
    return {{theta.begin(), theta.end()}};
  }
  void complete(LinearModel& model) const override { model.answers = answers_; }

  void save(Checkpoint& checkpoint) const override {
    checkpoint.theta.clear();
    for (const NoisyAnswer& answer : answers_) {
      checkpoint.theta.insert(checkpoint.theta.end(), answer.values.begin(), answer.values.end());
    }
    checkpoint.step = {done()};
  }
  [[nodiscard]] bool fits(const Checkpoint& checkpoint) const override {
    return checkpoint.step.size() == 1 && checkpoint.step[0] <= total() &&
           checkpoint.theta.size() == numbers_until(checkpoint.step[0]);
  }
  // The rule comes to the same questions from the same answers.
  void restore(const Checkpoint& checkpoint) override {
    rule_ = new_rule();
    answers_.clear();
    gradient_error_.reset();
    std::span<const double> left = checkpoint.theta;
    while (done() < checkpoint.step[0]) {
      const std::size_t numbers = numbers_of(rule_.asks_moments());
      take({left.begin(), left.begin() + static_cast<std::ptrdiff_t>(numbers)});
      left = left.subspan(numbers);
    }
  }

 private:
  [[nodiscard]] WhitenedRule new_rule() const {
    return {settings_, task_.problem, task_.who, task_.schema.middle()};
  }
  [[nodiscard]] std::size_t numbers_of(bool moments) const {
    const std::size_t d = task_.row_features();
    return moments ? d * (d + 1) / 2 : task_.features() + 1;
  }
  [[nodiscard]] std::size_t numbers_until(std::uint64_t questions) const {
    const std::uint64_t moments =
        std::min<std::uint64_t>(questions, settings_.second_moment_share > 0 ? 2 : 1);
    return moments * numbers_of(true) + (questions - moments) * numbers_of(false);
  }

  struct Deviations {
    double sum, curvature;
  };
  // From public numbers and former answers.
  [[nodiscard]] Deviations deviations() {
    const double clip = rule_.clip();
    if (rule_.asks_moments()) {
      return {moment_deviation_up(settings_, task_.who, rule_.second(), clip,
                                  moments_error_up(clip, task_.problem)),
              0};
    }
    if (!gradient_error_) {  // one metric for all of them
      gradient_error_ = gradient_error_up(rule_.metric(), clip, task_.problem);
    }
    return {gradient_deviation_up(settings_, task_.who, next_gradient(), clip, *gradient_error_),
            curvature_deviation_up(settings_, task_.who, largest_trace(task_.problem),
                                   curvature_error_up(task_.problem))};
  }
  [[nodiscard]] std::uint64_t next_gradient() const {
    return done() - (settings_.second_moment_share > 0 ? 2 : 1) + 1;
  }

  void ask() {
    const std::size_t numbers = task_.features();
    const Deviations noise = deviations();
    std::vector<double> values(numbers_of(rule_.asks_moments()));
    // Of the run's one stream, a step for each question.
    answer_normals(task_.key, 0, done(), values);
    if (rule_.asks_moments()) {
      answer_moments(*task_.engine, view(rule_.metric()), rule_.clip(), noise.sum, values);
    } else {
      if (!capped_)
        capped_ = task_.engine->capped_loss(view(rule_.metric()), {.clip = rule_.clip()});
      const VectorXd theta = rule_.theta();
      VectorXd sum(theta.size());
      const double curvature = capped_->gradient({theta.data(), numbers}, {sum.data(), numbers});
      const auto d = rule_.metric().rows();
      for (Eigen::Index first = 0; first < sum.size(); first += d) {
        const VectorXd gradient = rule_.metric().transpose() * sum.segment(first, d);
        for (Eigen::Index j = 0; j < d; ++j) {
          double& value = values[count(first + j)];
          value = answered(gradient[j], noise.sum * value, noise.sum);
        }
      }
      values[numbers] = answered(curvature, noise.curvature * values[numbers], noise.curvature);
    }
    take(std::move(values));
  }

  // The same from a checkpoint as from the rows.
  void take(std::vector<double> values) {
    const auto d = static_cast<Eigen::Index>(task_.features());
    const Deviations noise = deviations();
    const double clip = rule_.clip();
    if (rule_.asks_moments()) {
      const MatrixXd moments = whole_matrix(values, task_.row_features());
      const Metric& P = rule_.metric();
      answers_.push_back(
          {"moments", clip, noise.sum, {P.data(), P.data() + P.size()}, std::move(values)});
      rule_.answer_moments(moments, noise.sum);
      return;
    }
    const VectorXd omega = rule_.omega();
    const VectorXd gradient = Eigen::Map<const VectorXd>(values.data(), d);
    const double curvature = values.back();
    values.pop_back();
    const std::vector<double> at(omega.begin(), omega.end());
    answers_.push_back({"gradient", clip, noise.sum, at, std::move(values)});
    answers_.push_back({"curvature", 0, noise.curvature, at, {curvature}});
    rule_.answer_gradient(gradient, noise.sum, curvature);
  }

  Whitened settings_;
  Task task_;
  WhitenedRule rule_;
  std::unique_ptr<CappedLoss> capped_;
  std::optional<double> gradient_error_;
  std::vector<NoisyAnswer> answers_;
};

}  // namespace

std::unique_ptr<Sampler> sampler_of(const Whitened& settings, const Task& task) {
  return std::make_unique<WhitenedSampler>(settings, task);
}

}  // namespace gibbsite
