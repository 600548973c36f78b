// Runs of chains in a private metric: one question for moments, then a run of the chain's own
// sampler on rows in the metric.
#include <fmt/format.h>

#include <Eigen/Core>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/engine/engine.hpp"
#include "gibbsite/model/contrasts.hpp"
#include "mechanism/moments_question.hpp"
#include "run/answers.hpp"
#include "run/gaussian_mechanism.hpp"
#include "run/mechanism_run.hpp"

namespace gibbsite {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

template <class Chain>
class MetricRun final : public MechanismRun {
 public:
  MetricRun(const InMetric<Chain>& settings, const Task& task)
      : settings_(settings),
        task_(task),
        problem_(in_metric(task.problem)),
        model_(task.model),
        start_(starting_metric(task.schema)) {
    model_.center.clear();
    chain_ = sampler_of(settings_.chain, chain_task(task_.engine));  // for total() and fits()
  }

  void begin() override {
    const WhitenedRule rule = asked();
    const std::size_t k = rule.coordinates();
    std::vector<double> sums(k * k);
    task_.engine->second_moments(view(rule.metric()), rule.clip(), {sums.data(), k, k});
    take(GaussianMechanism(task_.key, moments_step, answers())
             .release_symmetric({sums.data(), k, k}, deviation(rule)));
    chain_->begin();
  }
  void advance(std::uint64_t steps) override { chain_->advance(steps); }
  [[nodiscard]] std::uint64_t done() const override { return chain_->done(); }
  [[nodiscard]] std::uint64_t total() const override { return chain_->total(); }

  // theta = P omega, omega on the grid that its certificate covers.
  [[nodiscard]] std::vector<std::vector<double>> draws() const override {
    const double grid = analyze(settings_.chain, problem_, task_.who, task_.draws).release_grid;
    const ContrastBasis contrasts = contrast_basis(task_.schema);
    std::vector<std::vector<double>> out = chain_->draws();
    for (auto& draw : out) {
      for (double& v : draw) v = on_grid(v, grid);
      const auto k = metric_.cols();
      const Eigen::Map<const MatrixXd> omega(draw.data(), k,
                                             static_cast<Eigen::Index>(draw.size()) / k);
      MatrixXd theta(metric_.rows(), omega.cols());  // a column for each output
      for (Eigen::Index output = 0; output < omega.cols(); ++output) {
        const VectorXd of_output = omega.col(output);
        theta.col(output) = metric_ * of_output;
      }
      draw.assign(theta.data(), theta.data() + theta.size());
      for (std::size_t first = 0; first < draw.size(); first += contrasts.features) {
        center_levels(contrasts, std::span(draw).subspan(first, contrasts.features));
      }
    }
    return out;
  }
  void complete(LinearModel& model) const override { model.answers = {*answer_}; }

  void save(Checkpoint& checkpoint) const override {
    chain_->save(checkpoint);
    checkpoint.answers = answer_->values;
    checkpoint.arithmetic = arithmetic();
  }
  [[nodiscard]] bool fits(const Checkpoint& checkpoint) const override {
    return checkpoint.answers.size() == answers() && chain_->fits(checkpoint);
  }
  void restore(const Checkpoint& checkpoint) override {
    // Other instructions round otherwise, so rows in the metric would differ, and a chain's theorem
    // is about steps on one table. Asked by name: whether a row did differ would tell about it.
    if (checkpoint.arithmetic != arithmetic()) {
      throw BadInput(fmt::format(
          "checkpoint: it was begun on {} and this is {}: rows in a metric have other last places "
          "there; go on where it was begun, or start again",
          checkpoint.arithmetic, arithmetic()));
    }
    take(checkpoint.answers);
    chain_->restore(checkpoint);
  }

 private:
  [[nodiscard]] std::size_t answers() const {
    const auto k = static_cast<std::size_t>(start_.cols());
    return k * (k + 1) / 2;
  }
  [[nodiscard]] std::string arithmetic() const {
    return fmt::format("{}: {}", task_.backend.name(), task_.backend.arithmetic());
  }
  [[nodiscard]] Task chain_task(std::shared_ptr<Engine> engine) const {
    return {model_,        problem_,      task_.who,
            task_.draws,   task_.schema,  std::move(engine),
            task_.key,     task_.backend, task_.labels,
            task_.offsets, task_.weights, static_cast<std::size_t>(start_.cols())};
  }
  // The rule of whitened, which asks once.
  [[nodiscard]] WhitenedRule asked() const {
    return {moments_only(settings_), task_.problem, task_.who, start_};
  }
  [[nodiscard]] double deviation(const WhitenedRule& rule) const {
    return moment_deviation_up(Wide(settings_.moments_mu), task_.who, rule.clip(),
                               moments_error_up(rule.clip(), task_.problem));
  }

  // From the answer alone: the metric, and an engine over the rows in it.
  void take(std::vector<double> values) {
    WhitenedRule rule = asked();
    const WhitenedRule::Metric& P = rule.metric();
    answer_ = {"moments", rule.clip(), deviation(rule), {P.data(), P.data() + P.size()}, values};
    rule.answer_moments(whole_matrix(values, rule.coordinates()), answer_->deviation);
    metric_ = rule.metric() / rule.clip();
    chain_ = sampler_of(
        settings_.chain,
        chain_task(load_in_metric(*task_.engine, task_.backend,
                                  {task_.labels, task_.offsets, task_.weights}, view(metric_), 1)));
  }

  InMetric<Chain> settings_;
  Task task_;
  Problem problem_;
  Model model_;
  WhitenedRule::Metric start_;   // of the question for moments [d x k]
  WhitenedRule::Metric metric_;  // of the chains' rows [d x k]
  std::optional<NoisyAnswer> answer_;
  std::unique_ptr<MechanismRun> chain_;
};

}  // namespace

std::unique_ptr<MechanismRun> sampler_of(const MetricPath& settings, const Task& task) {
  return std::make_unique<MetricRun<Path>>(settings, task);
}
std::unique_ptr<MechanismRun> sampler_of(const MetricProximal& settings, const Task& task) {
  return std::make_unique<MetricRun<Proximal>>(settings, task);
}

}  // namespace gibbsite
