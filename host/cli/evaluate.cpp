#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/compare/compare.hpp"
#include "gibbsite/core/error.hpp"
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

struct EvaluateCommand {
  TableArguments table;
  std::string model;
  bool json = false, beside = false;

  void run() const {
    const LinearModel linear = read_release(model).model();
    const Dataset data = table.read(linear.schema, {.labels = ReadOptions::Labels::required,
                                                    .ignore_extra_columns = true,
                                                    .label_path = {},
                                                    .progress = {}});
    const Evaluation result = evaluate(predict_probabilities(linear, data.view()), data.y);
    fmt::print(stderr,
               "private: these figures read the labels of this table and the certificate does not "
               "cover them; publish them only if the table is public\n");
    if (json) {
      fmt::print("{}\n", nlohmann::json{{"rows", result.rows},
                                        {"accuracy", result.accuracy},
                                        {"log_loss", result.log_loss},
                                        {"auc", result.auc},  // NaN is written as null
                                        {"majority", result.majority}}
                             .dump(2));
      return;
    }
    std::vector<std::vector<std::string>> lines{
        {fmt::format("{} rows", human_count(static_cast<double>(result.rows))), "this model",
         "majority class"},
        {"accuracy", percent(result.accuracy), percent(result.majority)},
        {"log-loss", fmt::format("{:.4f}", result.log_loss), ""},
        {"AUC", area(result.auc), ""}};
    if (beside) {
      const auto fitted = non_private_fit(data, linear.loss);
      if (!fitted) {
        throw BadInput(fmt::format(
            "--beside-non-private: the table has {} features, at most {} are fitted; leave it out",
            data.features(), most_non_private_features));
      }
      const Evaluation yardstick = evaluate(predict_probabilities(*fitted, data.view()), data.y);
      lines[0].emplace_back("NOT PRIVATE fit of these rows");
      lines[1].push_back(percent(yardstick.accuracy));
      lines[2].push_back(fmt::format("{:.4f}", yardstick.log_loss));
      lines[3].push_back(area(yardstick.auc));
    }
    fmt::print("{}", gibbsite::cli::table(lines));
  }
};

void define_evaluate(CLI::App& app) {
  const auto command = std::make_shared<EvaluateCommand>();
  app.add_option("--model", command->model, "model file that fit wrote")
      ->type_name("FILE")
      ->required();
  command->table.add_to(app, true);
  auto* json = app.add_flag("--json", command->json, "print JSON");
  app.add_flag("--beside-non-private", command->beside,
               "fit the same rows without privacy, for comparison; nothing of it is kept")
      ->excludes(json);
  app.callback([command] { command->run(); });
}

const Register evaluate_command{
    {4, "evaluate", "Accuracy, log-loss, AUC and majority rate on a labeled table",
     "gibbsite evaluate --model model.json --data test.csv", define_evaluate}};

}  // namespace
}  // namespace gibbsite::cli
