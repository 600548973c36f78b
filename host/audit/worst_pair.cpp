// Pairs of tables that are told apart best, and what tells them apart (docs/how-to/audit.md,
// "Pairs").
#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <type_traits>
#include <utility>

#include "gibbsite/audit/audit.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/overloaded.hpp"
#include "gibbsite/data/reshape.hpp"
#include "gibbsite/model/contrasts.hpp"
#include "gibbsite/model/loss.hpp"
#include "gibbsite/model/losses.hpp"
#include "gibbsite/model/losses/softmax.hpp"
#include "mechanism/whitened_losses.hpp"
#include "run/answers.hpp"
#include "run/whitened_rule.hpp"

namespace gibbsite {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// A row and its label.
struct Record {
  std::vector<float> x;
  float y = 1;

  [[nodiscard]] VectorXd vector() const {
    VectorXd out(static_cast<Eigen::Index>(x.size()));
    for (std::size_t j = 0; j < x.size(); ++j) out[static_cast<Eigen::Index>(j)] = x[j];
    return out;
  }
};

// The two labels that are furthest apart: f' goes from -sup|f'| at `high` to its other end at
// `low`.
struct Labels {
  float low = -1, high = 1;
};
Labels labels_of(const Schema& schema) {
  return std::visit(
      Overloaded{[](const TwoClasses&) {
                   return Labels{-1, 1};
                 },
                 [](const Amount& amount) {
                   return Labels{scaled_label(amount, amount.lo), scaled_label(amount, amount.hi)};
                 },
                 [](const auto&) {
                   return Labels{0, 1};
                 }},
      schema.label);
}
// Where all of its slope moves theta, in units of sup|f'| of one output: along x or against it; of
// several from the other one of the two classes to its own, [K x columns].
VectorXd pull_of(const Record& record, std::uint64_t outputs) {
  const VectorXd x = record.vector();
  if (outputs == 1) return record.y > 0 ? x : VectorXd(-x);
  const bool second = record.y > 0;
  VectorXd out = VectorXd::Zero(x.size() * static_cast<Eigen::Index>(outputs));
  out.segment(second ? x.size() : 0, x.size()) = x;
  out.segment(second ? 0 : x.size(), x.size()) = -x;
  return out;
}

bool asks_for_moments(const Mechanism& mechanism) {
  return setting(mechanism, "first_clip").has_value();
}

// ---- Pairs. The saturated one: rows (R/16, +-b, 0 ...) with label +1, where the center (-K, 0
// ...) is so far that both stay misclassified with the whole slope. Their gradients are -sup|f'| x
// whatever theta does, so U is linear: what the theorems call the worst case. They differ by
// sup|f'| 2b, b = R sqrt(1 - 1/256) = 0.998 R. An amount's or a count's label is its largest, and
// predictions stay far below it. Of several classes the rows are of the first one, and the center
// puts the second one ahead of all others: p - e_y = e_2 - e_1, of length sqrt(2).
constexpr double aside = 16;            // R over the part of a row along the center
constexpr double whole_slope = 40;      // of a logit: what is left of the slope is e^-40
constexpr double deviations = 10;       // of noise, more than it ever is
constexpr double inside = 1 - 0x1p-20;  // of a ball: the center's place in it
constexpr double two_logits = 1.5;      // above sqrt(2): a move of theta is one of two predictors
constexpr std::uint64_t audited_classes = 3;

struct Reach {
  double drift = 0, noise = 0;  // of theta: what rows move it by at most, and noise's deviation
};
Reach reach_of(const Path& m, const Problem& problem, double L) {
  return {m.beta * L * m.step_size * m.iterations, *coefficient_noise_up(m, problem)};
}
template <class M>
concept NearPosterior = requires(const M& m) {
  m.beta;
  m.tv_gap;
};
Reach reach_of(const NearPosterior auto& m, const Problem& /*problem*/, double L) {
  return {m.beta * L / m.prior_precision, 1 / std::sqrt(m.prior_precision)};
}
// How far draws with pure noise go: longer than they ever are.
Reach reach_of(const PureOutputPerturbation& m, const Problem& problem, double L) {
  return {L / m.ridge, (static_cast<double>(problem.features) + deviations) / m.noise};
}
Reach reach_of(const OutputPerturbation& m, const Problem& /*problem*/, double L) {
  return {L / m.ridge, m.noise};
}
Reach reach_of(const ObjectivePerturbation& m, const Problem& /*problem*/, double L) {
  return {L / m.ridge, m.noise / m.ridge + m.output_noise};
}
Reach reach_of(const PureObjectivePerturbation& m, const Problem& problem, double L) {
  const double length = static_cast<double>(problem.features) + deviations;
  return {L / m.ridge, length / (m.noise * m.ridge) + length / m.output_noise};
}
// In a metric the center is 0.
Reach reach_of(const Whitened& /*m*/, const Problem& /*problem*/, double /*L*/) { return {}; }
template <class Chain>
Reach reach_of(const InMetric<Chain>& /*m*/, const Problem& /*problem*/, double /*L*/) {
  return {};
}

// What tells two tables apart best: where a draw lies along the difference of their gradients, how
// far it is from their two minimizers, or what all questions were answered.
enum class ToldBy { direction, distances, answers };
template <class M>
ToldBy told_by(const M& /*m*/) {
  if constexpr (requires { requires M::is_pure; }) return ToldBy::distances;
  return std::is_same_v<M, Whitened> ? ToldBy::answers : ToldBy::direction;
}
ToldBy what_tells(const Mechanism& mechanism) {
  return std::visit([](const auto& m) { return told_by(m); }, mechanism);
}

// K: the center's distance from 0 at which the pair stays saturated through a run.
double center_distance(const Plan& plan) {
  const Problem& p = plan.problem;
  const double L =
      p.lipschitz_up() * static_cast<double>(plan.candidate().guarantee.who.rows_per_person);
  const Reach reach =
      std::visit([&](const auto& m) { return reach_of(m, p, L); }, plan.candidate().mechanism);
  return aside / p.row_norm * (whole_slope + p.row_norm * (reach.drift + deviations * reach.noise));
}

// a: rows (a, +-b) of norm R with that label differ most, sqrt(R^2 - a^2) f' each, where the center
// is (-ball, 0 ...); 0 without a bend.
double along_in_ball(const Loss& loss, double R, double ball, float label) {
  double best = 0, most = 0;
  for (int i = 0; i < 4096; ++i) {
    const double a = R * i / 4096, z = -a * ball * inside;
    double derivative = 0;
    loss.derivatives({&z, 1}, {&label, 1}, {&derivative, 1});
    const double apart = std::fabs(derivative) * std::sqrt(R * R - a * a);
    if (apart > most) most = apart, best = a;
  }
  return best;
}

Label label_for(const Loss& loss) {
  const std::vector<double> weights(loss.class_weights().begin(), loss.class_weights().end());
  switch (loss.label()) {
    case LabelKind::two_classes:
      return TwoClasses{.positive = std::string("1"), .weights = weights};
    case LabelKind::amount:
      return Amount{{.lo = 0, .hi = 10}, 1};  // within 5 tolerances of the middle
    case LabelKind::count:
      return Count{{.lo = 0, .hi = 10}};
    case LabelKind::classes:
      break;
  }
  Classes out{.weights = weights};
  for (std::uint64_t k = 0; k < loss.outputs(); ++k) out.names.push_back(fmt::format("{}", k + 1));
  return out;
}

Schema schema_of(const AuditShape& shape, const Loss& loss) {
  Schema out;
  out.label_name = "label";
  out.label = label_for(loss);
  out.row_norm = shape.row_norm;
  for (std::uint64_t j = 0; j < shape.features; ++j) {
    out.columns.push_back({.name = fmt::format("x{}", j + 1), .type = ColumnType::number});
  }
  return out;
}

// A record, so many times.
struct Copies {
  Record record;
  std::uint64_t count = 0;
};

Dataset table_of(const Schema& schema, std::span<const Copies> rows) {
  Dataset out;
  out.schema = schema;
  for (const auto& [record, count] : rows) {
    for (std::uint64_t i = 0; i < count; ++i) append_row(out, record.x, record.y);
  }
  if (schema.weight() != nullptr) out.weight.assign(out.y.size(), 1);  // at worst
  return out;
}

Record record_of(const AuditShape& shape, std::initializer_list<double> first, float y) {
  Record out{std::vector<float>(shape.features), y};
  std::ranges::transform(first, out.x.begin(), [](double v) { return static_cast<float>(v); });
  static_cast<void>(clip_row_to_norm(out.x, shape.row_norm));
  return out;
}

// ---- What tells them apart.

// Along `direction`, which has a length of its own.
AuditStatistic along(VectorXd direction) {
  return [direction = std::move(direction)](const LinearModel& /*released*/,
                                            std::span<const double> draw) {
    double sum = 0;
    for (std::size_t j = 0; j < draw.size(); ++j) {
      sum += direction[static_cast<Eigen::Index>(j)] * draw[j];
    }
    return sum;
  };
}

// ||theta - of the table|| - ||theta - of the neighbor||: the log ratio of densities that fall with
// the distance, over their rate.
AuditStatistic by_distances(VectorXd table, VectorXd neighbor) {
  return [table = std::move(table), neighbor = std::move(neighbor)](const LinearModel&,
                                                                    std::span<const double> draw) {
    const Eigen::Map<const VectorXd> theta(draw.data(), static_cast<Eigen::Index>(draw.size()));
    return (theta - table).norm() - (theta - neighbor).norm();
  };
}

// What k copies of a record add to one answer of `whitened`, in the order of its values.
class Answered {
 public:
  // P [d x k] row-major and C, of gradients.
  Answered(const NoisyAnswer& answer, const Loss& loss, const std::vector<double>& P,
           const ScoreLimits& limits, const RowLengths& lengths)
      : answer_(answer), loss_(loss), P_(P), limits_(limits), lengths_(lengths) {}
  [[nodiscard]] VectorXd part_of(const Record& record) const {
    const VectorXd x = record.vector();
    if (answer_.question == "lengths") return VectorXd::Constant(1, log_length(x));
    if (answer_.question == "moments") return moments(x);
    const VectorXd z = times(P_, x);
    if (loss_.outputs() > 1) return of_outputs(z, record.y);
    const VectorXd omega =
        Eigen::Map<const VectorXd>(answer_.at.data(), static_cast<Eigen::Index>(answer_.at.size()));
    const double cap = cap_of(limits_.clip, z.norm());
    const double at = z.dot(omega);
    if (is_two_class_logistic(loss_.name())) {
      const double p = loss_.probability(at);
      const double weighed = weight(record.y) * std::min(1.0, cap / std::max(p, 1 - p));
      if (of_scores()) return weighed * (p - (record.y > 0 ? 1 : 0)) * z;
      return VectorXd::Constant(1, weighed * p * (1 - p));
    }
    double derivative = 0, curvature = 0;
    loss_.unweighted().derivatives({&at, 1}, {&record.y, 1}, {&derivative, 1});
    loss_.curvatures({&at, 1}, {&record.y, 1}, {&curvature, 1});
    if (limits_.largest_count > 0) {
      const double mean = derivative + static_cast<double>(record.y);
      const double weighed = losses::poisson::weight(mean, cap, limits_.largest_count);
      if (answer_.question == "gradient") return std::clamp(weighed * derivative, -cap, cap) * z;
      return VectorXd::Constant(1, weighed * curvature);
    }
    if (answer_.question == "gradient")
      return weight(record.y) * std::clamp(derivative, -cap, cap) * z;
    return VectorXd::Constant(1, std::fabs(derivative) < cap ? curvature : 0.0);
  }

 private:
  [[nodiscard]] bool of_scores() const {
    return answer_.question == "gradient" || answer_.question == "start";
  }
  [[nodiscard]] double log_length(const VectorXd& x) const {
    double squared = lengths_.base;
    for (Eigen::Index j = 0; j < x.size(); ++j) {
      const auto at = static_cast<std::size_t>(j);
      squared += lengths_.weight[at] * std::pow(x[j] - lengths_.center[at], 2);
    }
    return std::clamp(std::log(squared) / 2, lengths_.low, lengths_.high) - lengths_.middle();
  }
  // A score is held before the class's weight multiplies it (docs/theory/losses.md, "Weighted
  // classes").
  [[nodiscard]] double weight(float y) const {
    return static_cast<double>(class_weight(loss_.class_weights(), y));
  }
  // The score w (p - e_y) z^T [K x k], or the trace w (1 - ||p||^2); w is such that no label's
  // score could be longer than the cap.
  [[nodiscard]] VectorXd of_outputs(const VectorXd& z, float y) const {
    const auto K = static_cast<Eigen::Index>(loss_.outputs());
    const Eigen::Map<const Eigen::MatrixXd> omega(answer_.at.data(), z.size(), K);
    const VectorXd at = omega.transpose() * z;
    VectorXd p(K);
    losses::softmax({at.data(), loss_.outputs()}, {p.data(), loss_.outputs()});
    const double squares = p.squaredNorm();
    const double longest = std::sqrt(1 + squares - 2 * p.minCoeff());
    const double weighed = weight(y) * std::min(1.0, limits_.clip / (z.norm() * longest));
    if (answer_.question != "gradient") return VectorXd::Constant(1, weighed * (1 - squares));
    p[static_cast<Eigen::Index>(y)] -= 1;
    const Eigen::MatrixXd out = weighed * z * p.transpose();
    return out.reshaped();
  }
  // P^T x of P [d x k] row-major.
  static VectorXd times(const std::vector<double>& P, const VectorXd& x) {
    using Metric = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const auto k = static_cast<Eigen::Index>(P.size()) / x.size();
    return Eigen::Map<const Metric>(P.data(), x.size(), k).transpose() * x;
  }
  // Off the diagonal times sqrt(2): the noise is smaller there.
  [[nodiscard]] VectorXd moments(const VectorXd& x) const {
    VectorXd u = times(answer_.at, x);
    u *= std::min(1.0, answer_.clip / u.norm());
    VectorXd out(static_cast<Eigen::Index>(answer_.values.size()));
    Eigen::Index at = 0;
    for (Eigen::Index a = 0; a < u.size(); ++a) {
      for (Eigen::Index b = 0; b <= a; ++b, ++at) out[at] = u[a] * u[b];
    }
    return out;
  }

  const NoisyAnswer& answer_;
  const Loss& loss_;
  const std::vector<double>& P_;
  ScoreLimits limits_;
  const RowLengths& lengths_;
};

// P of gradients: what the rule makes of the moments that were answered (of settings in which
// nothing is planted that has to do with it).
class MetricOf {
 public:
  MetricOf(const Plan& plan, const Schema& schema)
      : settings_(std::get<Whitened>(plan.candidate().mechanism)),
        problem_(plan.problem),
        who_(plan.budget.neighbors()),
        start_(starting_metric(schema)),
        plain_(plain_metric(schema)),
        lengths_(row_lengths(schema)) {}
  [[nodiscard]] const RowLengths& lengths() const { return lengths_; }
  [[nodiscard]] double largest_count() const { return settings_.largest_count; }
  std::vector<double> operator()(const LinearModel& released) const {
    WhitenedRule rule(settings_, problem_, who_, start_, plain_);
    for (const NoisyAnswer& answer : released.answers) {
      if (answer.question == "lengths") rule.answer_lengths(answer.values[0], lengths_);
      if (answer.question == "moments")
        rule.answer_moments(whole_matrix(answer.values, rule.coordinates()), answer.deviation);
    }
    const auto& P = rule.metric();
    return {P.data(), P.data() + P.size()};
  }

 private:
  Whitened settings_;
  Problem problem_;
  Neighbors who_;
  WhitenedRule::Metric start_, plain_;
  RowLengths lengths_;
};

// The log ratio of the densities of all answers, f and f' what all rows of the two tables add:
//   sum over numbers v of (f' - f) (v - (f + f')/2)/sigma^2.
AuditStatistic by_answers(std::vector<Copies> table, std::vector<Copies> neighbor,
                          std::vector<Copies> both, MetricOf metric) {
  return [table = std::move(table), neighbor = std::move(neighbor), both = std::move(both),
          metric = std::move(metric)](const LinearModel& released,
                                      std::span<const double> /*draw*/) {
    double sum = 0, clip = 0;
    const std::vector<double> P = metric(released);
    const Loss& loss = loss_named(released.loss);
    for (const NoisyAnswer& answer : released.answers) {
      // The clip holds for the curvature behind a gradient too.
      if (answer.question == "gradient" || answer.question == "start") clip = answer.clip;
      const Answered asked(answer, loss, P, {.clip = clip, .largest_count = metric.largest_count()},
                           metric.lengths());
      const auto size = static_cast<Eigen::Index>(answer.values.size());
      const auto part = [&](const std::vector<Copies>& rows) {
        VectorXd out = VectorXd::Zero(size);
        for (const auto& [record, count] : rows) {
          out += static_cast<double>(count) * asked.part_of(record);
        }
        return out;
      };
      const VectorXd here = part(table), there = part(neighbor), common = part(both);
      Eigen::Index a = 0, b = 0;
      for (Eigen::Index i = 0; i < size; ++i) {
        // The lower triangle: (a, b) of moments.
        const bool off_diagonal = answer.question == "moments" && a != b;
        const double precision = (off_diagonal ? 2 : 1) / (answer.deviation * answer.deviation);
        sum += precision * (there[i] - here[i]) *
               (answer.values[static_cast<std::size_t>(i)] - common[i] - (here[i] + there[i]) / 2);
        if (b++ == a) ++a, b = 0;
      }
    }
    return sum;
  };
}

VectorXd gradient_direction(const Record& table, const std::optional<Record>& neighbor,
                            std::uint64_t outputs) {
  VectorXd out = -pull_of(table, outputs);
  if (neighbor) out += pull_of(*neighbor, outputs);
  return out / out.norm();
}

void require_shape(const AuditShape& shape, const Budget& budget) {
  if (shape.features < 2) {
    throw BadInput(
        Field{"features"},
        fmt::format(
            "must be at least 2, got {}: in one dimension no two rows have all of their slope at "
            "once",
            shape.features),
        "give more");
  }
  require_finite_positive(shape.row_norm, Field{"row_norm"});
  if (shape.rows <= budget.rows_per_person) {
    throw BadInput(Field{"rows"},
                   fmt::format("must be above rows per person, {}, got {}", budget.rows_per_person,
                               shape.rows),
                   "give more");
  }
  if (budget.draws != 1) throw BadInput(Field{"draws"}, "an audit is of one draw", "leave it out");
}

constexpr const char* table_pair =
    "the table with its first row replaced by one of full norm where it has least, and that "
    "row's "
    "other label";

constexpr std::size_t most_eigenvector_features = 500;

// A row of full norm along the direction in which the rows have least: nothing that others say
// hides what it does there. `in_metric`: where whitened and chains in a metric look, which see no
// direction that the schema rules out.
Record weakest_record(const Dataset& data, bool in_metric) {
  // Second moments: the Hessian of a loss whose curvature is 1 whatever label and offset.
  const auto engine =
      make_backend("reference")->load(data.view(), data.y, loss_named(losses::squared::name));
  const std::size_t features = engine->features();
  const std::vector<double> zero(features);
  const auto moments = engine->hessian(zero, 1);
  const std::size_t kept = data.schema.intercept ? features - 1 : features;
  const auto size = static_cast<Eigen::Index>(kept);
  VectorXd least = VectorXd::Zero(size);
  if (kept <= most_eigenvector_features) {
    const auto all = static_cast<Eigen::Index>(features);
    MatrixXd whole(all, all);
    moments->dense({whole.data(), features, features});
    MatrixXd basis = MatrixXd::Identity(size, size);
    if (in_metric) {
      const WhitenedRule::Metric start = starting_metric(data.schema);
      basis = start.topLeftCorner(size, start.cols() - (all - size));
    }
    if (basis.cols() > 0) {
      const MatrixXd moments_of_rows = basis.transpose() * whole.topLeftCorner(size, size) * basis;
      least =
          basis * Eigen::SelfAdjointEigenSolver<MatrixXd>(moments_of_rows).eigenvectors().col(0);
    }
  } else {
    std::vector<double> diagonal(features);
    moments->add_diagonal(diagonal);
    least[std::ranges::min_element(diagonal.begin(), diagonal.begin() + size) - diagonal.begin()] =
        1;
  }
  Record out{std::vector<float>(features), 1};
  for (std::size_t j = 0; j < kept; ++j) {
    out.x[j] = static_cast<float>(data.schema.row_norm * least[static_cast<Eigen::Index>(j)]);
  }
  static_cast<void>(clip_row_to_norm({out.x.data(), kept}, data.schema.row_norm));
  if (data.schema.intercept) out.x[kept] = 1;
  return out;
}

std::string_view loss_for(const Mechanism& mechanism) {
  return taken_by(mechanism).loss_of_chains ? losses::logistic_capped::name
                                            : losses::logistic::name;
}

}  // namespace

AuditCase worst_known_case(const AuditShape& shape, const Budget& budget,
                           const PlanOptions& plan_options, std::string_view loss,
                           std::optional<double> prior_precision) {
  budget.validate();
  require_shape(shape, budget);
  const Mechanism asked = mechanism_named(plan_options.mechanism);
  const std::string of_loss =
      full_loss_name(loss.empty() ? loss_for(asked) : loss, audited_classes);
  const std::uint64_t outputs = loss_named(of_loss).outputs();
  const Schema schema = schema_of(shape, loss_named(of_loss));
  auto [low, high] = labels_of(schema);
  if (outputs > 1) std::swap(low, high);  // rows of the first class, the second one ahead
  const bool metric = asks_for_moments(asked);
  AuditCase out;
  const auto made = [&](double K) {
    std::vector<double> center;
    if (K > 0) {
      center.assign(shape.features * outputs, 0);
      (outputs == 1 ? center[0] : center[shape.features]) = outputs == 1 ? -K : two_logits * K;
    }
    out.model = glm(of_loss, {.prior_precision = prior_precision, .center = std::move(center)});
    out.plan = plan(out.model.constants(schema, shape.rows), budget, plan_options);
  };
  const bool in_ball = plan_options.ball && outputs == 1;
  double K = in_ball ? *plan_options.ball * inside : 0;
  made(K);
  // Settings hardly depend on the center.
  for (int attempt = 0;
       !metric && !plan_options.ball && attempt < 8 && out.plan.candidate().feasible; ++attempt) {
    const double needed = center_distance(out.plan);
    if (needed <= K) break;
    made(K = 2 * needed);
  }
  const std::uint64_t k = budget.rows_per_person;
  const bool replaces = budget.adjacency == Adjacency::replace_one;
  const double R = shape.row_norm;
  const double a = metric    ? R
                   : in_ball ? along_in_ball(*out.model.loss, R, *plan_options.ball, high)
                             : R / aside;
  const double b = metric ? 0 : std::sqrt(R * R - a * a);
  const Record table = record_of(shape, {a, b}, high);
  std::optional<Record> neighbor;
  // In a metric there is no center: the same row, with its other label.
  if (replaces) neighbor = metric ? record_of(shape, {a, b}, low) : record_of(shape, {a, -b}, high);
  out.zeros_left_out = !metric;
  const ToldBy told = what_tells(asked);
  const bool answers = told == ToldBy::answers;
  std::vector<Copies> here{{table, k}}, there, common;
  if (neighbor) there.push_back({*neighbor, k});
  if (answers) {
    // Every label of every axis, as often: they hold what is fitted near 0, where the pair differs
    // most. Of several classes a score's weight is largest where all are as likely.
    const std::uint64_t labels = outputs > 1 ? outputs : 2, places = labels * shape.features;
    for (std::uint64_t place = 0; place < places; ++place) {
      const std::uint64_t which = place % labels;
      const float of_class = static_cast<float>(which);
      Record axis{std::vector<float>(shape.features), outputs > 1  ? of_class
                                                      : which == 0 ? high
                                                                   : low};
      axis.x[place / labels] = table.x[0];
      const std::uint64_t rest = shape.rows - k;
      common.push_back({axis, rest / places + (place < rest % places ? 1 : 0)});
    }
  } else {
    common.push_back({Record{std::vector<float>(shape.features), high},
                      metric ? shape.rows - k : std::uint64_t{1}});
  }
  const auto with_common = [&](std::vector<Copies> rows) {
    rows.insert(rows.end(), common.begin(), common.end());
    return table_of(schema, rows);
  };
  out.table = with_common(here);
  out.neighbor = with_common(there);
  if (answers || metric) {
    out.pair = replaces ? "a row and its other label, among " : "a row, among ";
    out.pair += answers ? "rows that say nothing" : "zeros";
  } else if (plan_options.ball) {
    out.pair = replaces ? "rows whose slopes differ most at the edge of the ball"
                        : "a row at the edge of the ball";
  } else {
    out.pair = replaces ? "opposite rows with their whole slope, far from 0"
                        : "a row with its whole slope, far from 0";
  }
  if (answers) {
    out.statistic = by_answers(std::move(here), std::move(there), std::move(common),
                               MetricOf(out.plan, schema));
    return out;
  }
  const VectorXd direction = gradient_direction(table, neighbor, outputs);
  const auto centers = [&](double ridge) {
    const VectorXd pull = pull_of(table, outputs);
    VectorXd center = VectorXd::Zero(pull.size());
    std::ranges::copy(out.model.center, center.begin());
    const double derivative =
        static_cast<double>(k) * (outputs == 1 ? out.plan.problem.max_abs_derivative : 1) / ridge;
    const VectorXd other = neighbor ? pull_of(*neighbor, outputs) : VectorXd(0 * center);
    return by_distances(center + derivative * pull, center + derivative * other);
  };
  out.statistic = told == ToldBy::distances
                      ? centers(setting(out.plan.candidate().mechanism, "ridge").value())
                      : along(direction);
  return out;
}

AuditCase table_case(const Dataset& data, const Model& model, const Plan& plan) {
  const Budget& budget = plan.budget;
  if (budget.adjacency != Adjacency::replace_one || budget.rows_per_person != 1 ||
      budget.draws != 1) {
    throw BadInput(
        "adjacency, rows per person, draws: an audit of a table replaces one row and looks at "
        "one "
        "draw; leave them out");
  }
  if (data.on_disk()) {
    throw BadInput("data: an audit changes a row in memory; give a table that fits there");
  }
  if (!data.labeled()) throw BadInput("data: has no labels; give a table with the label column");
  AuditCase out;
  out.plan = plan;
  out.model = model;
  out.synthetic = false;
  const auto [low, high] = labels_of(data.schema);
  Record record = weakest_record(data, asks_for_moments(plan.candidate().mechanism));
  record.y = high;
  Record other = record;
  other.y = low;
  out.table = with_row(data, 0, record.x, record.y);
  out.neighbor = with_row(data, 0, other.x, other.y);
  if (!data.weight.empty()) out.table.weight[0] = out.neighbor.weight[0] = 1;  // at worst
  out.pair = table_pair;
  out.statistic = what_tells(plan.candidate().mechanism) == ToldBy::answers
                      ? by_answers({{record, 1}}, {{other, 1}}, {}, MetricOf(plan, data.schema))
                      : along(gradient_direction(record, other, plan.problem.outputs));
  return out;
}

}  // namespace gibbsite
