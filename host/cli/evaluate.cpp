#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "gibbsite/release/release.hpp"
#include "options.hpp"
#include "text.hpp"

namespace gibbsite::cli {
namespace {

struct EvaluateCommand {
  TableArguments table;
  std::string model;
  bool json = false;

  void run() const {
    const Release release = read_release(model);
    const Dataset data = table.read(release.schema, {.labels = ReadOptions::Labels::required,
                                                     .ignore_extra_columns = true,
                                                     .label_path = {},
                                                     .progress = {}});
    const Evaluation result = evaluate(predict_probabilities(release, data.view()), data.y);
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
    fmt::print("{}", gibbsite::cli::table(
                         {{"rows", human_count(static_cast<double>(result.rows))},
                          {"accuracy", fmt::format("{:.2f} %", 100 * result.accuracy)},
                          {"majority class", fmt::format("{:.2f} %", 100 * result.majority)},
                          {"log-loss", fmt::format("{:.4f} nats per row", result.log_loss)},
                          {"AUC", std::isnan(result.auc) ? "- (one class only)"
                                                         : fmt::format("{:.4f}", result.auc)}}));
  }
};

void define(CLI::App& app) {
  const auto command = std::make_shared<EvaluateCommand>();
  app.add_option("--model", command->model, "model file that fit wrote")
      ->type_name("FILE")
      ->required();
  command->table.add_to(app, true);
  app.add_flag("--json", command->json, "print JSON");
  app.callback([command] { command->run(); });
}

const Register command{{4, "evaluate",
                        "Accuracy, log-loss, AUC and majority rate on a labelled table",
                        "gibbsite evaluate --model model.json --data test.csv", define}};

}  // namespace
}  // namespace gibbsite::cli
