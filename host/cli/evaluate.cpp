#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/compare/compare.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/model/linear_model.hpp"
#include "gibbsite/release/predict.hpp"
#include "options.hpp"
#include "text.hpp"

namespace gibbsite::cli {
namespace {

std::string percent(double fraction) { return fmt::format("{:.2f} %", 100 * fraction); }
std::string area(double auc) {
  return std::isnan(auc) ? "- (one class)" : fmt::format("{:.4f}", auc);
}

std::string figure(double value) {
  return std::isnan(value) ? "- (all equal)" : fmt::format("{:.4g}", value);
}
std::string fraction(double value) { return std::isnan(value) ? "-" : percent(value); }

// Rows by class, columns by prediction.
std::vector<std::vector<std::string>> confusion_lines(const Evaluation& e, const Schema& schema) {
  const std::string names[] = {schema.negative_name(), schema.positive};
  std::vector<std::vector<std::string>> lines{{shown(schema.label), "predicted " + shown(names[0]),
                                               "predicted " + shown(names[1]), "recall"}};
  for (std::size_t is = 0; is < 2; ++is) {
    lines.push_back({"is " + shown(names[is]), fmt::format("{}", e.confusion[is][0]),
                     fmt::format("{}", e.confusion[is][1]), fraction(e.recall(is))});
  }
  lines.push_back({"precision", fraction(e.precision(0)), fraction(e.precision(1)), ""});
  return lines;
}

std::vector<std::vector<std::string>> calibration_lines(const Evaluation& e) {
  std::vector<std::vector<std::string>> lines{{"probability", "rows", "mean", "found"}};
  for (std::size_t tenth = 0; tenth < e.calibration.size(); ++tenth) {
    const CalibrationBin& bin = e.calibration[tenth];
    if (bin.rows == 0) continue;
    lines.push_back({fmt::format("{:.1f} to {:.1f}", 0.1 * static_cast<double>(tenth),
                                 0.1 * static_cast<double>(tenth + 1)),
                     fmt::format("{}", bin.rows), percent(bin.predicted), percent(bin.found)});
  }
  return lines;
}

nlohmann::json json_of(const Evaluation& e, const Schema& schema) {
  nlohmann::json bins = nlohmann::json::array();
  for (const CalibrationBin& bin : e.calibration)
    bins.push_back({{"rows", bin.rows}, {"predicted", bin.predicted}, {"found", bin.found}});
  return {{"rows", e.rows},
          {"accuracy", e.accuracy},
          {"log_loss", e.log_loss},
          {"auc", e.auc},  // NaN is written as null
          {"majority", e.majority},
          {"classes", {schema.negative_name(), schema.positive}},
          {"confusion", e.confusion},
          {"precision", {e.precision(0), e.precision(1)}},
          {"recall", {e.recall(0), e.recall(1)}},
          {"calibration", bins}};
}

struct EvaluateCommand {
  TableArguments data_table;
  std::string model;
  std::optional<double> threshold;
  bool json = false, beside = false;

  void run() const {
    const LinearModel linear = read_release(model).model();
    const bool classes = linear.schema.label_kind == LabelKind::two_classes;
    if (threshold && !classes) {
      throw BadInput(fmt::format("--threshold: {} predicts {} and no class; leave it out", model,
                                 to_string(linear.schema.label_kind)));
    }
    if (threshold) require_between(*threshold, 0, 1, "--threshold");
    const Dataset data = data_table.read(linear.schema, {.labels = ReadOptions::Labels::required,
                                                         .ignore_extra_columns = true,
                                                         .label_path = {},
                                                         .progress = {}});
    fmt::print(stderr,
               "private: these figures read the labels of this table and the certificate does not "
               "cover them; publish them only if the table is public\n");
    classes ? of_classes(linear, data) : of_amounts(linear, data);
  }

  void of_classes(const LinearModel& linear, const Dataset& data) const {
    const auto judged = [&](const LinearModel& of) {
      return evaluate(predict_probabilities(of, data.view()), data.y, threshold.value_or(0.5));
    };
    const Evaluation result = judged(linear);
    if (json) return print(json_of(result, linear.schema));
    std::vector<std::vector<std::string>> lines{
        {fmt::format("{} rows", human_count(static_cast<double>(result.rows))), "this model",
         "majority class"},
        {"accuracy", percent(result.accuracy), percent(result.majority)},
        {"log-loss", fmt::format("{:.4f}", result.log_loss), ""},
        {"AUC", area(result.auc), ""}};
    if (beside) {
      const Evaluation yardstick = judged(fitted_beside(linear, data));
      lines[0].emplace_back("NOT PRIVATE fit of these rows");
      lines[1].push_back(percent(yardstick.accuracy));
      lines[2].push_back(fmt::format("{:.4f}", yardstick.log_loss));
      lines[3].push_back(area(yardstick.auc));
    }
    fmt::print("{}\n{}\n{}", table(lines), table(confusion_lines(result, linear.schema)),
               table(calibration_lines(result)));
  }

  void of_amounts(const LinearModel& linear, const Dataset& data) const {
    const auto judged = [&](const LinearModel& of) {
      return evaluate_amounts(linear.schema, predict_amounts(of, data.view()), data.y);
    };
    const AmountEvaluation result = judged(linear);
    const bool counts = linear.schema.label_kind == LabelKind::count;
    if (json) {
      nlohmann::json out = {
          {"rows", result.rows}, {"rmse", result.rmse}, {"mae", result.mae}, {"r2", result.r2}};
      if (counts) out["deviance"] = result.deviance;
      return print(out);
    }
    std::vector<std::vector<std::string>> lines{
        {fmt::format("{} rows", human_count(static_cast<double>(result.rows))), "this model",
         "the labels' mean"},
        {"RMSE", figure(result.rmse), figure(result.deviation)},
        {"mean absolute error", figure(result.mae), ""},
        {"R²", figure(result.r2), "0"}};
    if (counts)
      lines.push_back({"deviance a row", figure(result.deviance), figure(result.mean_deviance)});
    if (beside) {
      const AmountEvaluation yardstick = judged(fitted_beside(linear, data));
      lines[0].emplace_back("NOT PRIVATE fit of these rows");
      lines[1].push_back(figure(yardstick.rmse));
      lines[2].push_back(figure(yardstick.mae));
      lines[3].push_back(figure(yardstick.r2));
      if (counts) lines[4].push_back(figure(yardstick.deviance));
    }
    fmt::print("{}", table(lines));
  }

  static LinearModel fitted_beside(const LinearModel& linear, const Dataset& data) {
    const auto fitted = non_private_fit(data, linear.loss);
    if (!fitted) {
      throw BadInput(fmt::format(
          "--beside-non-private: the table has {} features, at most {} are fitted; leave it out",
          data.features(), most_non_private_features));
    }
    return *fitted;
  }

  static void print(const nlohmann::json& out) { fmt::print("{}\n", out.dump(2)); }
};

void define_evaluate(CLI::App& app) {
  const auto command = std::make_shared<EvaluateCommand>();
  app.add_option("--model", command->model, "model file that fit wrote")
      ->type_name("FILE")
      ->required();
  command->data_table.add_to(app, true);
  add_number(app, "--threshold", command->threshold,
             "least probability for which the positive class is predicted; default 0.5");
  auto* json = app.add_flag("--json", command->json, "print JSON");
  app.add_flag("--beside-non-private", command->beside,
               "fit the same rows without privacy, for comparison; nothing of it is kept")
      ->excludes(json);
  app.callback([command] { command->run(); });
}

const Register evaluate_command{{4, "evaluate", "How good the predictions are on a labeled table",
                                 "gibbsite evaluate --model model.json --data test.csv",
                                 define_evaluate}};

}  // namespace
}  // namespace gibbsite::cli
