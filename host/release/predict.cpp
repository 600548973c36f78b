#include "gibbsite/release/predict.hpp"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/model/linear_model.hpp"
#include "gibbsite/model/loss.hpp"
#include "gibbsite/model/losses/softmax.hpp"

namespace gibbsite {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

// What rows count in an evaluation.
class RowsCount {
 public:
  RowsCount(std::span<const float> weights, std::size_t rows) : weights_(weights) {
    if (!weights.empty() && weights.size() != rows)
      throw BadInput("evaluate: needs one weight per row or none; give the table's");
    all_ = static_cast<double>(rows);
    if (!weights.empty()) all_ = std::accumulate(weights.begin(), weights.end(), 0.0);
    if (rows > 0 && !(all_ > 0))
      throw BadInput("evaluate: no row counts, all weights are 0; give a table of others");
  }
  [[nodiscard]] double of(std::size_t i) const {
    return weights_.empty() ? 1 : static_cast<double>(weights_[i]);
  }
  [[nodiscard]] double all() const { return all_; }

 private:
  std::span<const float> weights_;
  double all_ = 0;
};

// Area under the ROC curve: the chance that a positive outranks a negative, ties one half, both
// drawn by what they count. The positives alone are sorted: of one class of many they are few.
template <class IsPositive>
double area_under_curve(std::span<const double> scores, const RowsCount& rows,
                        const IsPositive& is_positive) {
  std::vector<std::pair<double, double>> found;  // score, weight
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (is_positive(i)) found.emplace_back(scores[i], rows.of(i));
  }
  std::ranges::sort(found);
  std::vector<double> positives, above(found.size() + 1);  // above[k]: the weight of k, k + 1, ...
  for (const auto& [score, weight] : found) positives.push_back(score);
  for (std::size_t k = found.size(); k-- > 0;) above[k] = above[k + 1] + found[k].second;
  double negatives = 0, outranked = 0;  // without weights whole halves, so exact in any order
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (is_positive(i)) continue;
    const auto [first, last] = std::equal_range(positives.begin(), positives.end(), scores[i]);
    const auto from = [&](auto at) {
      return above[static_cast<std::size_t>(at - positives.begin())];
    };
    negatives += rows.of(i);
    outranked += rows.of(i) * (from(first) + from(last)) / 2;
  }
  return above[0] > 0 && negatives > 0 ? outranked / (above[0] * negatives) : undefined;
}

// The cap of every row, of models that hold a capped link: 2 d^2 flops a row, by blocks of rows.
std::vector<double> caps(const LegacyCappedLink& link, const Rows& x) {
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto index = [](std::size_t n) { return static_cast<Eigen::Index>(n); };
  const Eigen::Map<const RowMajor> metric(link.metric.data(), index(x.cols), index(x.cols));
  constexpr std::size_t block = 256;
  RowMajor rows(index(block), index(x.cols)), whitened;
  std::vector<double> out(x.rows);
  for (std::size_t first = 0; first < x.rows; first += block) {
    const std::size_t count = std::min(block, x.rows - first);
    rows.setZero();
    for (std::size_t i = 0; i < count; ++i) {
      x.for_each(first + i, [&](std::size_t j, float v) { rows(index(i), index(j)) = v; });
    }
    whitened.noalias() = rows * metric;
    for (std::size_t i = 0; i < count; ++i) {
      out[first + i] = cap_of(link.clip, whitened.row(index(i)).norm());
    }
  }
  return out;
}

void require_fitting(const LinearModel& model, const Rows& x) {
  const std::size_t outputs = loss_named(model.loss).outputs();
  for (const auto& theta : model.draws) {
    if (theta.size() != outputs * x.cols) {
      throw BadInput(fmt::format(
          "model: has {} coefficients{}, but the rows have {} features; use "
          "the schema of the model",
          theta.size(), outputs == 1 ? "" : fmt::format(" of {} classes", outputs), x.cols));
    }
  }
}

// -log of a probability; one that rounds to 0 counts as 2^-53.
double nats(double p) { return -std::log(std::max(p, 0x1p-53)); }

void count(CalibrationBins& bins, double p, bool found) {
  CalibrationBin& bin = bins[std::min<std::size_t>(static_cast<std::size_t>(10 * p), 9)];
  ++bin.rows;
  bin.predicted += p;
  bin.found += found ? 1 : 0;
}

void finish(CalibrationBins& bins) {
  for (CalibrationBin& bin : bins) {
    bin.predicted /= static_cast<double>(bin.rows);  // 0/0 is NaN
    bin.found /= static_cast<double>(bin.rows);
  }
}

constexpr const char* a_label_each =
    "evaluate: needs one label per row and at least one row; give a labeled table";

// f(i, P) for every row, P(z) its probability at a score z.
template <class F>
void for_each_row(const LinearModel& model, const Rows& x, const F& f) {
  require_fitting(model, x);
  const std::vector<double> cap =
      model.legacy_link ? caps(*model.legacy_link, x) : std::vector<double>();
  const Loss& loss = loss_named(model.loss);
  for (std::size_t i = 0; i < x.rows; ++i) {
    f(i,
      [&](double z) { return cap.empty() ? loss.probability(z) : capped_probability(z, cap[i]); });
  }
}

// What is predicted at a score, in the label's unit.
double amount_at(const LinearModel& model, double score) {
  const Schema& schema = model.schema;
  const double y = loss_named(model.loss).predicted(score);
  const NumberLabel& range = *number_of(schema.label);
  return std::clamp(label_middle(schema.label) + label_unit(schema.label) * y, range.lo, range.hi);
}

}  // namespace

std::vector<double> predict_amounts(const LinearModel& model, const Rows& x) {
  const Loss& loss = loss_named(model.loss);
  if (loss.label() == LabelKind::two_classes || loss.label() == LabelKind::classes) {
    throw BadInput("model: predicts classes and no amount; ask for probabilities");
  }
  require_fitting(model, x);
  std::vector<double> out(x.rows, 0.0);
  for (std::size_t i = 0; i < x.rows; ++i) {
    for (const auto& theta : model.draws)
      out[i] += amount_at(model, x.dot(i, theta) + x.offset_of(i));
    out[i] /= static_cast<double>(model.draws.size());
  }
  return out;
}

std::vector<double> predict_probabilities(const LinearModel& model, const Rows& x) {
  if (loss_named(model.loss).label() != LabelKind::two_classes) {
    const LabelKind label = loss_named(model.loss).label();
    throw BadInput(label == LabelKind::classes
                       ? "model: predicts several classes; ask for the probabilities of all"
                       : fmt::format("model: predicts {} and no probability; ask for amounts",
                                     to_string(label)));
  }
  std::vector<double> out(x.rows, 0.0);
  for_each_row(model, x, [&](std::size_t i, const auto& probability) {
    for (const auto& theta : model.draws) out[i] += probability(x.dot(i, theta));
    out[i] /= static_cast<double>(model.draws.size());
  });
  return out;
}

bool scores_are_log_odds(const LinearModel& model) {
  const Loss& loss = loss_named(model.loss);
  return loss.label() == LabelKind::two_classes && loss.link_words().empty() && !model.legacy_link;
}

std::vector<double> predict_log_odds(const LinearModel& model, const Rows& x) {
  std::vector<double> out = predict_probabilities(model, x);
  if (model.draws.size() == 1 && scores_are_log_odds(model)) {
    for (std::size_t i = 0; i < x.rows; ++i) out[i] = x.dot(i, model.draws.front());
    return out;
  }
  for (double& p : out) {  // above 36.7 a double cannot tell a probability from 1
    p = std::clamp(p, std::numeric_limits<double>::min(), 1 - 0x1p-53);
    p = std::log(p) - std::log1p(-p);
  }
  return out;
}

std::vector<double> predict_classes(const LinearModel& model, const Rows& x) {
  const Loss& loss = loss_named(model.loss);
  if (loss.label() != LabelKind::classes) {
    throw BadInput(fmt::format("model: predicts {}, not several classes; ask for that",
                               to_string(loss.label())));
  }
  require_fitting(model, x);
  const std::size_t classes = loss.outputs();
  // Coefficients of all classes side by side: a row is met once a draw. [d x K] each.
  std::vector<std::vector<double>> by_feature;
  for (const auto& theta : model.draws) {
    std::vector<double>& turned = by_feature.emplace_back(theta.size());
    for (std::size_t k = 0; k < classes; ++k) {
      for (std::size_t j = 0; j < x.cols; ++j) turned[j * classes + k] = theta[k * x.cols + j];
    }
  }
  std::vector<double> out(x.rows * classes, 0.0), z(classes), p(classes);
  for (std::size_t i = 0; i < x.rows; ++i) {
    const std::span<double> mean(out.data() + i * classes, classes);
    for (const auto& theta : by_feature) {
      std::ranges::fill(z, 0.0);
      x.for_each(i, [&](std::size_t j, float v) {
        const double* const at = theta.data() + j * classes;
        for (std::size_t k = 0; k < classes; ++k) z[k] += static_cast<double>(v) * at[k];
      });
      losses::softmax(z, p);
      for (std::size_t k = 0; k < classes; ++k) mean[k] += p[k];
    }
    for (double& value : mean) value /= static_cast<double>(model.draws.size());
  }
  return out;
}

Predictions predict(const LinearModel& model, const Rows& x, bool with_intervals) {
  Predictions out;
  if (is<Classes>(model.schema.label)) {
    out.columns = class_names(model.schema.label).size();
    out.values = predict_classes(model, x);
    if (with_intervals) out.intervals = predict_class_intervals(model, x);
    return out;
  }
  out.values = is<TwoClasses>(model.schema.label) ? predict_probabilities(model, x)
                                                  : predict_amounts(model, x);
  if (with_intervals) out.intervals = predict_intervals(model, x);
  return out;
}

void require_same_features(const LinearModel& model, const Dataset& data) {
  if (data.features() == model.schema.features()) return;
  throw BadInput(
      fmt::format("data: has {} features, the model {}; read the table with the model's own schema",
                  data.features(), model.schema.features()));
}

ReadOptions reading_to_predict() {
  return {.labels = ReadOptions::Labels::optional,
          .unreadable = ReadOptions::Unreadable::marked,
          .may_be_empty = true,
          .ignore_extra_columns = true};
}

ReadOptions reading_to_evaluate(const Schema& schema) {
  using Unreadable = ReadOptions::Unreadable;
  return {
      .labels = ReadOptions::Labels::required,
      .unreadable = schema.invalid == Invalid::refuse ? Unreadable::refused : Unreadable::by_schema,
      .ignore_extra_columns = true};
}

std::size_t likeliest(std::span<const double> probabilities) {
  return static_cast<std::size_t>(std::ranges::max_element(probabilities) - probabilities.begin());
}

namespace {
const Estimates& require_estimates(const LinearModel& model) {
  if (model.estimates) return *model.estimates;
  throw BadInput(
      model.intervals
          ? format_message(
                "model: its intervals were made in an older way that held less often than it "
                "said; fit it again with {}",
                Field{"intervals"})
          : format_message("model: holds no intervals; fit it with {}", Field{"intervals"}));
}
}  // namespace

std::vector<PredictionInterval> predict_intervals(const LinearModel& model, const Rows& x) {
  static_cast<void>(require_estimates(model));
  std::vector<PredictionInterval> out(x.rows);
  std::vector<double> row(model.schema.features());
  const auto score_of = [&](std::size_t i) {
    std::ranges::fill(row, 0.0);
    x.for_each(i, [&](std::size_t j, float v) { row[j] = static_cast<double>(v); });
    return model.estimates->combination(row);
  };
  if (number_of(model.schema.label) != nullptr) {
    require_fitting(model, x);
    for (std::size_t i = 0; i < x.rows; ++i) {
      const EffectEstimate score = score_of(i);
      out[i] = {amount_at(model, score.lower + x.offset_of(i)),
                amount_at(model, score.upper + x.offset_of(i))};
    }
    return out;
  }
  for_each_row(model, x, [&](std::size_t i, const auto& probability) {
    const EffectEstimate score = score_of(i);
    out[i] = {probability(score.lower), probability(score.upper)};
  });
  return out;
}

std::vector<PredictionInterval> predict_class_intervals(const LinearModel& model, const Rows& x) {
  const Estimates& estimates = require_estimates(model);
  if (loss_named(model.loss).label() != LabelKind::classes)
    throw BadInput("model: is not of several classes; ask for the interval of its probability");
  require_fitting(model, x);
  const std::size_t K = loss_named(model.loss).outputs(), d = x.cols;
  const auto log_odds = [](double p) { return std::log(p) - std::log1p(-p); };
  constexpr double least = 1e-12;
  std::vector<PredictionInterval> out(x.rows * K);
  std::vector<double> z(K), p(K), c(K * d);
  for (std::size_t i = 0; i < x.rows; ++i) {
    std::ranges::fill(z, 0.0);
    for (std::size_t m = 0; m < estimates.means.size(); ++m) {
      x.for_each(i, [&](std::size_t j, float v) {
        for (std::size_t k = 0; k < K; ++k)
          z[k] += estimates.weights[m] * estimates.means[m][k * d + j] * static_cast<double>(v);
      });
    }
    losses::softmax(z, p);
    for (std::size_t k = 0; k < K; ++k) {
      // The log-odds of class k against the others move by 1 with its score and by -p_l/(1 - p_k)
      // with that of class l.
      const double others = std::max(1 - p[k], least);
      std::ranges::fill(c, 0.0);
      for (std::size_t l = 0; l < K; ++l) {
        const double moves = l == k ? 1 : -p[l] / others;
        x.for_each(i,
                   [&](std::size_t j, float v) { c[l * d + j] = moves * static_cast<double>(v); });
      }
      const EffectEstimate score = estimates.combination(c);
      const double center = log_odds(std::clamp(p[k], least, 1 - least));
      const auto probability = [](double at) { return 1 / (1 + std::exp(-at)); };
      out[i * K + k] = {probability(center + score.lower - score.estimate),
                        probability(center + score.upper - score.estimate)};
    }
  }
  return out;
}

double Evaluation::precision(std::size_t of) const {
  return static_cast<double>(confusion[of][of]) /
         static_cast<double>(confusion[0][of] + confusion[1][of]);
}

double Evaluation::recall(std::size_t of) const {
  return static_cast<double>(confusion[of][of]) /
         static_cast<double>(confusion[of][0] + confusion[of][1]);
}

Evaluation evaluate(std::span<const double> probabilities, std::span<const float> labels,
                    double threshold, std::span<const float> weights) {
  if (probabilities.size() != labels.size() || labels.empty()) throw BadInput(a_label_each);
  Evaluation out;
  out.rows = labels.size();
  const RowsCount rows(weights, labels.size());
  const double n = rows.all();
  double right = 0, positives = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const bool positive = labels[i] > 0;
    positives += positive ? rows.of(i) : 0;
    const bool predicted = probabilities[i] >= threshold;
    right += predicted == positive ? rows.of(i) : 0;
    ++out.confusion[positive ? 1 : 0][predicted ? 1 : 0];
    count(out.calibration, probabilities[i], positive);
    out.log_loss += rows.of(i) * nats(positive ? probabilities[i] : 1 - probabilities[i]) / n;
  }
  finish(out.calibration);
  out.accuracy = right / n;
  out.majority = std::max(positives, n - positives) / n;
  out.auc = area_under_curve(probabilities, rows, [&](std::size_t i) { return labels[i] > 0; });
  return out;
}

std::uint64_t ClassesEvaluation::rows_of(std::size_t is) const {
  std::uint64_t sum = 0;
  for (std::size_t k = 0; k < classes; ++k) sum += rows_of(is, k);
  return sum;
}

std::vector<std::size_t> ClassesEvaluation::most_confused(std::size_t most) const {
  std::vector<std::size_t> pairs;
  for (std::size_t pair = 0; pair < confusion.size(); ++pair)
    if (pair / classes != pair % classes && confusion[pair] > 0) pairs.push_back(pair);
  std::ranges::stable_sort(pairs, std::greater{}, [&](std::size_t p) { return confusion[p]; });
  pairs.resize(std::min(pairs.size(), most));
  return pairs;
}

double ClassesEvaluation::precision(std::size_t of) const {
  std::uint64_t predicted = 0;
  for (std::size_t is = 0; is < classes; ++is) predicted += rows_of(is, of);
  return static_cast<double>(rows_of(of, of)) / static_cast<double>(predicted);
}

double ClassesEvaluation::recall(std::size_t of) const {
  return static_cast<double>(rows_of(of, of)) / static_cast<double>(rows_of(of));
}

ClassesEvaluation evaluate_classes(std::span<const double> probabilities,
                                   std::span<const float> labels, std::size_t classes,
                                   std::span<const float> weights) {
  if (probabilities.size() != labels.size() * classes || labels.empty())
    throw BadInput(a_label_each);
  ClassesEvaluation out;
  out.classes = classes;
  out.rows = labels.size();
  out.confusion.resize(classes * classes);
  const RowsCount rows(weights, labels.size());
  const double n = rows.all();
  std::vector<double> of_class(classes);
  double right = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (!(labels[i] >= 0 && static_cast<double>(labels[i]) < static_cast<double>(classes))) {
      throw BadInput(
          fmt::format("evaluate: label {} is no place of {} classes; read the table by "
                      "the model's own schema",
                      labels[i], classes));
    }
    const auto is = static_cast<std::size_t>(labels[i]);
    const std::span<const double> p = probabilities.subspan(i * classes, classes);
    const std::size_t predicted = likeliest(p);
    ++out.confusion[is * classes + predicted];
    count(out.calibration, p[predicted], predicted == is);
    out.log_loss += rows.of(i) * nats(p[is]) / n;
    of_class[is] += rows.of(i);
    right += predicted == is ? rows.of(i) : 0;
  }
  finish(out.calibration);
  std::vector<double> scores(labels.size());
  double areas = 0, sum = 0;
  out.accuracy = right / n;
  for (std::size_t k = 0; k < classes; ++k) {
    out.majority = std::max(out.majority, of_class[k] / n);
    for (std::size_t i = 0; i < scores.size(); ++i) scores[i] = probabilities[i * classes + k];
    out.auc.push_back(area_under_curve(
        scores, rows, [&](std::size_t i) { return static_cast<std::size_t>(labels[i]) == k; }));
    if (std::isnan(out.auc.back())) continue;
    areas += 1;
    sum += out.auc.back();
  }
  out.mean_auc = sum / areas;  // 0/0 is NaN
  return out;
}

AmountEvaluation evaluate_amounts(const Schema& schema, std::span<const double> predicted,
                                  std::span<const float> y, std::span<const float> weights) {
  if (predicted.size() != y.size() || y.empty()) throw BadInput(a_label_each);
  const RowsCount rows(weights, y.size());
  const double n = rows.all();
  const auto label = [&](std::size_t i) {
    return label_middle(schema.label) + label_unit(schema.label) * static_cast<double>(y[i]);
  };
  const auto deviance = [](double count, double mean) {
    // A mean that rounds to 0 counts as the smallest number.
    const double at_least = std::max(mean, std::numeric_limits<double>::min());
    return 2 * ((count > 0 ? count * std::log(count / at_least) : 0.0) - count + mean);
  };
  double mean = 0;
  for (std::size_t i = 0; i < y.size(); ++i) mean += rows.of(i) * label(i) / n;
  AmountEvaluation out;
  out.rows = y.size();
  double squares = 0, about_mean = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double is = label(i), error = predicted[i] - is, w = rows.of(i);
    squares += w * error * error / n;
    about_mean += w * (is - mean) * (is - mean) / n;
    out.mae += w * std::fabs(error) / n;
    out.deviance += w * deviance(is, predicted[i]) / n;
    out.mean_deviance += w * deviance(is, mean) / n;
  }
  out.rmse = std::sqrt(squares);
  out.deviation = std::sqrt(about_mean);
  out.r2 = about_mean > 0 ? 1 - squares / about_mean : undefined;
  if (!is<Count>(schema.label)) out.deviance = out.mean_deviance = undefined;
  return out;
}

}  // namespace gibbsite
