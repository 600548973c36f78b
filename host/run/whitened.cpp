// Runs of whitened: a question to the rows, noise, the rule; the answers are all that it keeps.
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>

#include "core/rounding.hpp"
#include "core/score_coordinates.hpp"
#include "engine/people_scores.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/summation.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/mechanism/noise_law.hpp"
#include "gibbsite/model/contrasts.hpp"
#include "mechanism/whitened_losses.hpp"
#include "run/answers.hpp"
#include "run/estimates.hpp"
#include "run/estimates_amounts.hpp"
#include "run/estimates_classes.hpp"
#include "run/gaussian_mechanism.hpp"
#include "run/mechanism_run.hpp"
#include "run/whitened_rule.hpp"

namespace gibbsite {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using Metric = WhitenedRule::Metric;

std::size_t count(Eigen::Index n) { return static_cast<std::size_t>(n); }

// ||P^-1||_2, rounded up; infinite where double cannot tell, and where P [d x k] has fewer columns
// than rows. With X P = I - E and ||E|| < 1, P^-1 = (I - E)^-1 X.
Wide inverse_norm_up(const Metric& P) {
  const double infinity = std::numeric_limits<double>::infinity();
  if (P.rows() != P.cols()) return infinity;
  const MatrixXd X = MatrixXd(P).inverse();
  if (!X.allFinite()) return infinity;
  const MatrixXd residual = MatrixXd::Identity(P.rows(), P.cols()) - X * P;
  const Wide slack = 1 + Wide(1e-9), d = count(P.rows());
  const Wide E = slack * (Wide(residual.norm()) + gamma_k(d + 2) * Wide(X.norm()) * Wide(P.norm()));
  return E < Wide(0.5) ? slack * Wide(X.norm()) / (1 - E) : Wide(infinity);
}

// How far a computed gradient P^T (X^T r) of n rows is off, in norm: the sum over rows, of numbers
// cap_i ||x_i|| <= min(sup |f'| row norm, C ||P^-1||) each, and the product
// (docs/theory/whitened.md, "Rounding"). Of several outputs in the Frobenius norm. In coordinates
// of contrasts the row norm alone bounds a row: one that no schema can encode may have z = 0 and
// yet that norm.
double gradient_error_up(const Metric& P, double clip, const Problem& problem) {
  const Wide n = problem.most_weight_up(), d = problem.row_features(), slack = 1 + Wide(1e-9);
  const Wide by_cap = Wide(clip) * inverse_norm_up(P);
  const Wide longest = std::min(by_cap, Wide(problem.lipschitz_up()));
  const Wide roundings =
      gamma_k(Wide(accumulation_depth(problem.most_rows())) + 2) + gamma_k(d + 2);
  return round_up(slack * Wide(P.norm()) * n * longest * roundings);
}
// A row's own curvature is computed within u of at most `curvature`.
double curvature_error_up(const Problem& problem) {
  const Wide depth = accumulation_depth(problem.most_rows());
  return round_up((gamma_k(depth + 2) * Wide(problem.most_weight_up()) + ldexp(Wide(1), -40)) *
                  Wide(largest_trace(problem)));
}

class WhitenedRun final : public MechanismRun {
 public:
  WhitenedRun(const Whitened& settings, const Task& task)
      : settings_(settings), task_(task), lengths_(row_lengths(task.schema)), rule_(new_rule()) {}

  void begin() override {}
  // A question at a time: `steps` counts them.
  void advance(std::uint64_t steps) override {
    for (; steps > 0 && done() < total(); --steps) ask();
  }
  [[nodiscard]] std::uint64_t done() const override { return rule_.answered(); }
  [[nodiscard]] std::uint64_t total() const override { return rule_.questions(); }
  [[nodiscard]] std::vector<std::vector<double>> draws() const override {
    const VectorXd theta = rule_.theta();
    std::vector<double> out(theta.begin(), theta.end());
    const ContrastBasis contrasts = contrast_basis(task_.schema);
    for (std::size_t first = 0; first < out.size(); first += contrasts.features) {
      center_levels(contrasts, std::span(out).subspan(first, contrasts.features));
    }
    return {std::move(out)};
  }
  void complete(LinearModel& model) const override {
    model.answers = answers_;
    const FirstMeans first = first_means();
    model.feature_means = first.means;
    if (settings_.information_share > 0) {
      AnsweredScores answered_scores = scores();
      answered_scores.means = first.means;
      answered_scores.mean_deviations = first.deviations;
      if (settings_.score_share > 0 && !holds_slopes()) answered_scores.scores = score_moments();
      model.estimates =
          task_.outputs() > 1 ? estimate_classes(answered_scores, task_.outputs(), task_.schema)
          : holds_slopes()    ? estimate_amounts(answered_scores, score_moments(), task_.schema)
                              : estimate(answered_scores, task_.schema);
      if (model.estimates) model.estimates->rows_alike = rows_alike();
    }
  }

  void save(Checkpoint& checkpoint) const override {
    checkpoint.theta.clear();
    for (const NoisyAnswer& answer : answers_) {
      checkpoint.theta.insert(checkpoint.theta.end(), answer.values.begin(), answer.values.end());
    }
    checkpoint.step = {done()};
  }
  [[nodiscard]] bool fits(const Checkpoint& checkpoint) const override {
    return checkpoint.step.size() == 1 && checkpoint.step[0] <= total() &&
           (checkpoint.theta.size() == numbers_until(checkpoint.step[0], false) ||
            (is_small_budget(settings_) &&
             checkpoint.theta.size() == numbers_until(checkpoint.step[0], true)));
  }
  // The rule comes to the same questions from the same answers.
  void restore(const Checkpoint& checkpoint) override {
    rule_ = new_rule();
    answers_.clear();
    gradient_error_.reset();
    capped_.reset();
    block_.reset();
    std::span<const double> left = checkpoint.theta;
    while (done() < checkpoint.step[0]) {
      const std::size_t numbers = numbers_of(asked());
      if (numbers > left.size()) {
        throw BadInput("checkpoint: its answers lead to another question; start anew without it");
      }
      take({left.begin(), left.begin() + static_cast<std::ptrdiff_t>(numbers)});
      left = left.subspan(numbers);
    }
    // What an answer decides about the next question may round otherwise on another machine.
    if (!left.empty()) {
      throw BadInput("checkpoint: its answers lead to other questions here; start anew without it");
    }
  }

 private:
  // Answered means of the features [d], of levels shares, and the deviations of their noise; empty
  // without a constant column.
  struct FirstMeans {
    std::vector<double> means, deviations;
  };
  [[nodiscard]] FirstMeans first_means() const {
    const auto first = std::ranges::find(answers_, "moments", &NoisyAnswer::question);
    const Metric start = starting_metric(task_.schema);
    MatrixXd moments = whole_matrix(first->values, rule_.coordinates());
    const Eigen::Index last = moments.rows() - 1;
    VectorXd noise = VectorXd::Constant(last + 1, first->deviation / std::numbers::sqrt2);
    noise[last] = first->deviation;
    if (is_small_budget(settings_)) {  // they were asked in coordinates that lengths had scaled
      const Eigen::Map<const Metric> asked(first->at.data(), start.rows(), start.cols());
      const VectorXd back =
          (start.colwise().norm().array() / asked.colwise().norm().array()).matrix();
      moments = (back.asDiagonal() * moments * back.asDiagonal()).eval();
      noise = noise.cwiseProduct(back) * back[last];
    }
    return {answered_means(start, moments, task_.schema),
            answered_mean_deviations(start, moments(last, last), noise, task_.schema)};
  }
  // P whose columns are centered as released coefficients are: the same scores for every row.
  [[nodiscard]] MatrixXd centered_metric() const {
    MatrixXd out = rule_.metric();  // column by column in memory
    const ContrastBasis contrasts = contrast_basis(task_.schema);
    for (Eigen::Index j = 0; j < out.cols(); ++j) {
      center_levels(contrasts, {out.col(j).data(), count(out.rows())});
    }
    return out;
  }
  // Rows of one person that nobody says who has: for all that is known they are alike.
  [[nodiscard]] std::uint64_t rows_alike() const {
    return task_.problem.of_people() ? 1 : task_.who.rows_per_person;
  }
  // What the estimates follow from: answers, where they were asked, and the rule's public numbers.
  [[nodiscard]] AnsweredScores scores() const {
    const auto numbers = static_cast<Eigen::Index>(rule_.coordinates() * task_.outputs());
    AnsweredScores out;
    out.metric = centered_metric();
    out.lambda = rule_.lambda();
    out.rows = rule_.rows();
    out.prior = rule_.prior();
    out.prior_scale = rule_.block_variance();
    out.clip = rule_.clip();
    out.information_bound = block_limit(settings_, task_.problem) * rule_.clip() * rule_.clip();
    out.rows_of_person = std::max<double>(static_cast<double>(task_.problem.rows_of_person), 1);
    out.rows_alike = static_cast<double>(rows_alike());
    out.weighted = task_.problem.weighted;
    out.least_weight = least_class_weight(task_.problem);
    for (const NoisyAnswer& answer : answers_) {
      if (answer.question == "information") {
        out.information = information_blocks(answer.values);
        out.information_deviation = answer.deviation;
      } else if (answer.question == "gradient" || answer.question == "block") {
        out.points.emplace_back(Eigen::Map<const VectorXd>(answer.at.data(), numbers));
        out.gradients.emplace_back(Eigen::Map<const VectorXd>(answer.values.data(), numbers));
        out.variances.push_back(answer.deviation * answer.deviation);
      }
    }
    return out;
  }
  /// Two classes, or those of the loss.
  [[nodiscard]] std::vector<ClassPair> pairs() const {
    return class_pairs(std::max<std::size_t>(task_.outputs(), 2));
  }
  // The blocks of an answered information, one under another [pairs k x k].
  [[nodiscard]] MatrixXd information_blocks(std::span<const double> values) const {
    const std::size_t k = rule_.coordinates(), numbers = k * (k + 1) / 2, count = pairs().size();
    MatrixXd out(static_cast<Eigen::Index>(count * k), static_cast<Eigen::Index>(k));
    for (std::size_t pair = 0; pair < count; ++pair) {
      out.middleRows(static_cast<Eigen::Index>(pair * k), static_cast<Eigen::Index>(k)) =
          whole_matrix(values.subspan(pair * numbers, numbers), k);
    }
    return out;
  }
  // Whether the path's scores are the block's: amounts and counts.
  [[nodiscard]] bool holds_slopes() const { return has_capped_derivatives(task_.problem); }
  // The second moments of scores where the block was asked, the last answer where there are any.
  [[nodiscard]] AnsweredMoments score_moments() const {
    return {whole_matrix(answers_.back().values, score_size()), answers_.back().deviation};
  }
  // Rows and columns of that matrix.
  [[nodiscard]] std::size_t score_size() const {
    return score_coordinates(task_.outputs(), rule_.coordinates());
  }
  [[nodiscard]] WhitenedRule new_rule() const {
    WhitenedRule out(settings_, task_.problem, task_.who, starting_metric(task_.schema),
                     plain_metric(task_.schema), task_.model.center);
    out.take_constant(constant_feature(task_.schema));
    return out;
  }
  enum class Asked { lengths, moments, start, gradient, block, information, scores };
  [[nodiscard]] Asked asked() const {
    return rule_.asks_lengths()       ? Asked::lengths
           : rule_.asks_moments()     ? Asked::moments
           : rule_.asks_start()       ? Asked::start
           : rule_.asks_block()       ? Asked::block
           : rule_.asks_information() ? Asked::information
           : rule_.asks_scores()      ? Asked::scores
                                      : Asked::gradient;
  }
  [[nodiscard]] std::size_t numbers_of(Asked what) const {
    const std::size_t k = rule_.coordinates(), scores = score_size();
    if (what == Asked::lengths) return 1;
    if (what == Asked::scores) return scores * (scores + 1) / 2;
    if (what == Asked::block || what == Asked::start) return k * task_.outputs();
    if (what == Asked::information) return pairs().size() * (k * (k + 1) / 2);
    return what == Asked::gradient ? k * task_.outputs() + 1 : k * (k + 1) / 2;
  }
  /// `with_start`: of a small budget that asks a gradient in place of second moments.
  [[nodiscard]] std::size_t numbers_until(std::uint64_t questions, bool with_start) const {
    std::vector<Asked> order;
    if (is_small_budget(settings_)) order.push_back(Asked::lengths);
    order.push_back(Asked::moments);
    if (settings_.second_moment_share > 0)
      order.push_back(with_start ? Asked::start : Asked::moments);
    order.insert(order.end(), static_cast<std::size_t>(settings_.iterations), Asked::gradient);
    for (const Asked last : {Asked::block, Asked::information, Asked::scores})
      order.push_back(last);
    std::size_t numbers = 0;
    for (std::uint64_t i = 0; i < questions; ++i) numbers += numbers_of(order[i]);
    return numbers;
  }

  /// C, and N of counts.
  [[nodiscard]] ScoreLimits limits_of_path() const {
    return {.clip = rule_.clip(), .largest_count = settings_.largest_count};
  }
  /// B over C^2 too, for the block and the information.
  [[nodiscard]] ScoreLimits limits_of_block() const {
    ScoreLimits out = limits_of_path();
    out.information = block_limit(settings_, task_.problem);
    return out;
  }
  /// sqrt(B), which engines round down: at least the norm of a row's v in the information, of
  /// several classes the fourth root of the sum of ||v||^4 over pairs of classes.
  [[nodiscard]] double information_clip() const {
    const ScoreLimits limits = limits_of_block();
    return std::sqrt(limits.information) * limits.clip;
  }

  struct Deviations {
    double sum, curvature;
  };
  // From public numbers and former answers.
  [[nodiscard]] Deviations deviations() {
    const double clip = rule_.clip();
    if (rule_.asks_lengths()) {
      return {length_deviation_up(settings_, task_.who, lengths_.half(),
                                  lengths_error_up(lengths_, task_.problem)),
              0};
    }
    if (rule_.asks_moments()) {
      return {moment_deviation_up(settings_, task_.who, rule_.second(), clip,
                                  moments_error_up(clip, task_.problem)),
              0};
    }
    if (rule_.asks_information()) {
      const double longest = information_clip();
      return {information_deviation_up(settings_, task_.who, longest,
                                       moments_error_up(longest, task_.problem)),
              0};
    }
    if (rule_.asks_scores()) {
      const double longest = score_clip(task_.problem, clip);
      return {score_deviation_up(settings_, score_neighbors(task_.problem, task_.who), longest,
                                 moments_error_up(longest, task_.problem)),
              0};
    }
    if (!gradient_error_) {  // one metric for all of them
      gradient_error_ = gradient_error_up(rule_.metric(), clip, task_.problem);
    }
    if (rule_.asks_start()) {
      return {start_deviation_up(settings_, task_.who, clip, *gradient_error_), 0};
    }
    return {
        gradient_deviation_up(settings_, task_.who, rule_.next_gradient(), clip, *gradient_error_),
        curvature_deviation_up(settings_, task_.who, largest_trace(task_.problem),
                               curvature_error_up(task_.problem))};
  }

  // The path's scores.
  CappedLoss& path() {
    if (!capped_) capped_ = task_.engine->capped_loss(view(rule_.metric()), limits_of_path());
    return *capped_;
  }
  // Those of the block: of two classes where the rows' information is limited too.
  CappedLoss& block_scores() { return holds_slopes() ? path() : block(); }
  // Where the rows' information is limited too.
  CappedLoss& block() {
    if (!block_) block_ = task_.engine->capped_loss(view(rule_.metric()), limits_of_block());
    return *block_;
  }

  void ask() {
    const Deviations deviation = deviations();
    const Asked what = asked();
    // Each question takes an answer of the run's one stream.
    GaussianMechanism noise(task_.key, done(), numbers_of(what));
    std::vector<double> values;
    if (what == Asked::lengths) {
      values = {noise.release(task_.engine->log_lengths(lengths_), deviation.sum)};
    } else if (what == Asked::moments) {
      const std::size_t k = rule_.coordinates();
      std::vector<double> sums(k * k);
      task_.engine->second_moments(view(rule_.metric()), rule_.clip(), {sums.data(), k, k});
      values = noise.release_symmetric({sums.data(), k, k}, deviation.sum);
    } else if (what == Asked::information) {
      values = answer_information(noise, deviation.sum);
    } else if (what == Asked::scores) {
      values = answer_score_moments(noise, deviation.sum);
    } else {
      double curvature = 0;
      const VectorXd gradient =
          gradient_of(what == Asked::block ? block_scores() : path(), curvature);
      values = noise.release({gradient.data(), count(gradient.size())}, deviation.sum);
      if (what == Asked::gradient) values.push_back(noise.release(curvature, deviation.curvature));
    }
    take(std::move(values));
  }
  // The exact gradient in the metric [K x k], and the curvature.
  [[nodiscard]] VectorXd gradient_of(CappedLoss& loss, double& curvature) const {
    const VectorXd theta = rule_.theta();
    VectorXd sum(theta.size());
    curvature = loss.gradient({theta.data(), task_.features()}, {sum.data(), task_.features()});
    const auto d = rule_.metric().rows(), k = rule_.metric().cols();
    VectorXd out(sum.size() / d * k);
    for (Eigen::Index output = 0; output * d < sum.size(); ++output) {
      out.segment(output * k, k) = rule_.metric().transpose() * sum.segment(output * d, d);
    }
    return out;
  }
  // [K d] where the block was asked.
  [[nodiscard]] VectorXd block_theta() const {
    const auto d = rule_.metric().rows(), k = rule_.metric().cols(),
               K = static_cast<Eigen::Index>(task_.outputs());
    VectorXd theta(K * d);
    for (Eigen::Index output = 0; output < K; ++output) {
      theta.segment(output * d, d) = rule_.metric() * rule_.block_omega().segment(output * k, k);
    }
    return theta;
  }
  // [pairs][k (k + 1)/2], where the block was asked.
  std::vector<double> answer_information(GaussianMechanism& noise, double deviation) {
    const std::size_t k = rule_.coordinates();
    const VectorXd theta = block_theta();
    std::vector<double> sum(k * k), out;
    if (task_.outputs() == 1) {
      block().information({theta.data(), task_.features()}, {sum.data(), k, k});
      out = noise.release_symmetric({sum.data(), k, k}, deviation);
    } else {
      for (const ClassPair& pair : pairs()) {
        block().information_between({theta.data(), task_.features()}, pair, {sum.data(), k, k});
        const auto of_pair = noise.release_symmetric({sum.data(), k, k}, deviation);
        out.insert(out.end(), of_pair.begin(), of_pair.end());
      }
    }
    block_.reset();
    return out;
  }
  // Likewise the noisy second moments of the scores, of people those of their rows together.
  std::vector<double> answer_score_moments(GaussianMechanism& noise, double deviation) {
    const VectorXd theta = block_theta();
    const std::size_t size = score_size();
    std::vector<double> sum(size * size);
    const MatrixView<double> out{sum.data(), size, size};
    if (task_.problem.of_people()) {
      people_score_moments(
          *task_.engine, view(rule_.metric()), limits_of_path(), {theta.data(), task_.features()},
          {task_.person, Dataset::nobody, score_clip(task_.problem, rule_.clip())}, out);
    } else {
      path().score_moments({theta.data(), task_.features()}, out);
    }
    return noise.release_symmetric(out, deviation);
  }

  // Takes an answer, from a checkpoint as from the rows.
  void take(std::vector<double> values) {
    const Deviations noise = deviations();
    const double clip = rule_.clip();
    if (rule_.asks_lengths()) {
      const double answer = values[0];
      answers_.push_back({"lengths",
                          lengths_.half(),
                          noise.sum,
                          {lengths_.low, lengths_.high},
                          std::move(values)});
      rule_.answer_lengths(answer, lengths_);
      return;
    }
    if (rule_.asks_moments()) {
      const MatrixXd moments = whole_matrix(values, rule_.coordinates());
      const Metric& P = rule_.metric();
      answers_.push_back(
          {"moments", clip, noise.sum, {P.data(), P.data() + P.size()}, std::move(values)});
      rule_.answer_moments(moments, noise.sum);
      return;
    }
    if (rule_.asks_information()) {
      const VectorXd& omega = rule_.block_omega();
      answers_.push_back({"information",
                          information_clip(),
                          noise.sum,
                          {omega.begin(), omega.end()},
                          std::move(values)});
      rule_.answer_information();
      return;
    }
    if (rule_.asks_scores()) {
      const VectorXd& omega = rule_.block_omega();
      answers_.push_back({"scores",
                          score_clip(task_.problem, clip),
                          noise.sum,
                          {omega.begin(), omega.end()},
                          std::move(values)});
      rule_.answer_scores();
      return;
    }
    const VectorXd omega = rule_.omega();
    const VectorXd gradient = Eigen::Map<const VectorXd>(values.data(), omega.size());
    if (rule_.asks_start()) {
      answers_.push_back(
          {"start", clip, noise.sum, {omega.begin(), omega.end()}, std::move(values)});
      rule_.answer_start(gradient, noise.sum);
      return;
    }
    if (rule_.asks_block()) {
      answers_.push_back(
          {"block", clip, noise.sum, {omega.begin(), omega.end()}, std::move(values)});
      rule_.answer_block(gradient, noise.sum);
      return;
    }
    const double curvature = values.back();
    values.pop_back();
    const std::vector<double> at(omega.begin(), omega.end());
    answers_.push_back({"gradient", clip, noise.sum, at, std::move(values)});
    answers_.push_back({"curvature", 0, noise.curvature, at, {curvature}});
    rule_.answer_gradient(gradient, noise.sum, curvature);
  }

  Whitened settings_;
  Task task_;
  RowLengths lengths_;
  WhitenedRule rule_;
  std::unique_ptr<CappedLoss> capped_, block_;
  std::optional<double> gradient_error_;
  std::vector<NoisyAnswer> answers_;
};

}  // namespace

std::unique_ptr<MechanismRun> sampler_of(const Whitened& settings, const Task& task) {
  return std::make_unique<WhitenedRun>(settings, task);
}

}  // namespace gibbsite
