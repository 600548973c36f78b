#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "backend.hpp"
#include "command.hpp"
#include "evaluation.hpp"
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/compare/compare.hpp"
#include "gibbsite/compare/curator_report.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/model/linear_model.hpp"
#include "gibbsite/release/evaluation.hpp"
#include "gibbsite/release/predict.hpp"
#include "gibbsite/release/report.hpp"
#include "interrupt.hpp"
#include "network_quality.hpp"
#include "options.hpp"
#include "ranks.hpp"
#include "reading.hpp"
#include "standard_output.hpp"
#include "text.hpp"

namespace gibbsite::cli {
namespace {

constexpr const char* yardstick_name = "NOT PRIVATE fit of these rows";

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
  const std::vector<std::string> names = class_names(schema.label);
  std::vector<std::vector<std::string>> lines{{shown(schema.label_name),
                                               "predicted " + shown(names[0]),
                                               "predicted " + shown(names[1]), "recall"}};
  for (std::size_t is = 0; is < 2; ++is) {
    lines.push_back({"is " + shown(names[is]), fmt::format("{}", e.confusion[is][0]),
                     fmt::format("{}", e.confusion[is][1]), fraction(e.recall(is))});
  }
  lines.push_back({"precision", fraction(e.precision(0)), fraction(e.precision(1)), ""});
  return lines;
}

std::vector<std::vector<std::string>> calibration_lines(const CalibrationBins& calibration,
                                                        const std::string& found = "found") {
  std::vector<std::vector<std::string>> lines{{"probability", "rows", "mean", found}};
  for (std::size_t tenth = 0; tenth < calibration.size(); ++tenth) {
    const CalibrationBin& bin = calibration[tenth];
    if (bin.rows == 0) continue;
    lines.push_back({fmt::format("{:.1f} to {:.1f}", 0.1 * static_cast<double>(tenth),
                                 0.1 * static_cast<double>(tenth + 1)),
                     fmt::format("{}", bin.rows), percent(bin.predicted), percent(bin.found)});
  }
  return lines;
}

// A matrix that fits a screen, or the pairs that are taken for each other most often.
std::vector<std::vector<std::string>> confusion_lines(const ClassesEvaluation& e,
                                                      const Schema& schema) {
  constexpr std::size_t most_columns = 8, most_pairs = 10;
  const std::vector<std::string> names = class_names(schema.label);
  std::vector<std::vector<std::string>> lines;
  if (e.classes <= most_columns) {
    lines.push_back({schema.label_name});
    for (const std::string& name : names) lines[0].push_back("predicted " + name);
    for (std::size_t is = 0; is < e.classes; ++is) {
      lines.push_back({"is " + names[is]});
      for (std::size_t k = 0; k < e.classes; ++k)
        lines.back().push_back(fmt::format("{}", e.rows_of(is, k)));
    }
    return lines;
  }
  lines.push_back({schema.label_name, "most often taken for", "rows"});
  for (const std::size_t pair : e.most_confused(most_pairs)) {
    lines.push_back({"is " + names[pair / e.classes], "predicted " + names[pair % e.classes],
                     fmt::format("{}", e.confusion[pair])});
  }
  return lines;
}

// A line each, of the largest ones where there are many.
std::string class_table(const ClassesEvaluation& e, const Schema& schema) {
  constexpr std::size_t most = 30;
  const std::vector<std::string> names = class_names(schema.label);
  std::vector<std::size_t> order(e.classes);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (e.classes > most) {
    std::ranges::stable_sort(order, std::greater{}, [&](std::size_t k) { return e.rows_of(k); });
    order.resize(most);
  }
  std::vector<std::vector<std::string>> lines{
      {"class", "rows", "precision", "recall", "AUC against the others"}};
  for (const std::size_t k : order) {
    lines.push_back({names[k], fmt::format("{}", e.rows_of(k)), fraction(e.precision(k)),
                     fraction(e.recall(k)),
                     std::isnan(e.auc[k]) ? "-" : fmt::format("{:.4f}", e.auc[k])});
  }
  return table(lines) +
         (e.classes > most
              ? fmt::format("  the {} with the most rows; --json has all {}\n", most, e.classes)
              : "");
}

// What the screen shows of each kind, `beside` that of the fit without privacy, if any.
std::vector<std::vector<std::string>> shared_lines(const auto& result, const auto* beside) {
  std::vector<std::vector<std::string>> lines{
      {fmt::format("{} rows", human_count(static_cast<double>(result.rows))), "this model",
       "majority class"},
      {"accuracy", percent(result.accuracy), percent(result.majority)},
      {"log-loss", fmt::format("{:.4f}", result.log_loss), ""}};
  if (beside != nullptr) {
    lines[0].emplace_back(yardstick_name);
    lines[1].push_back(percent(beside->accuracy));
    lines[2].push_back(fmt::format("{:.4f}", beside->log_loss));
  }
  return lines;
}

std::string screen(const Evaluation& result, const Evaluation* beside, const Schema& schema) {
  std::vector<std::vector<std::string>> lines = shared_lines(result, beside);
  lines.push_back({"AUC", area(result.auc), ""});
  if (beside != nullptr) lines.back().push_back(area(beside->auc));
  return fmt::format("{}\n{}\n{}", table(lines), table(confusion_lines(result, schema)),
                     table(calibration_lines(result.calibration)));
}

std::string screen(const ClassesEvaluation& result, const ClassesEvaluation* beside,
                   const Schema& schema) {
  std::vector<std::vector<std::string>> lines = shared_lines(result, beside);
  lines.push_back({"AUC, mean of the classes", area(result.mean_auc), ""});
  if (beside != nullptr) lines.back().push_back(area(beside->mean_auc));
  return fmt::format("{}\n{}\n{}\nOf the class predicted:\n{}", table(lines),
                     table(confusion_lines(result, schema)), class_table(result, schema),
                     table(calibration_lines(result.calibration, "right")));
}

std::string screen(const AmountEvaluation& result, const AmountEvaluation* beside,
                   const Schema& schema) {
  std::vector<std::vector<std::string>> lines{
      {fmt::format("{} rows", human_count(static_cast<double>(result.rows))), "this model",
       "the labels' mean"},
      {"RMSE", figure(result.rmse), figure(result.deviation)},
      {"mean absolute error", figure(result.mae), ""},
      {"R²", figure(result.r2), "0"}};
  if (is<Count>(schema.label))
    lines.push_back({"deviance a row", figure(result.deviance), figure(result.mean_deviance)});
  if (beside == nullptr) return table(lines);
  const std::array<std::string, 5> more{yardstick_name, figure(beside->rmse), figure(beside->mae),
                                        figure(beside->r2), figure(beside->deviance)};
  for (std::size_t i = 0; i < lines.size(); ++i) lines[i].push_back(more[i]);
  return table(lines);
}

struct EvaluateCommand {
  TableArguments data_table;
  std::string model, report;
  std::optional<double> threshold;
  bool json = false, beside = false;
  NetworkEvaluation network{};
  ReleasedEvaluation released{};

  void run() const {
    const std::string text = read_release_text(model);
    require_same_everywhere(text, model);
    if (released.asked()) {
      require_released_alone();
      return released.run(text, model, data_table, threshold, network.force, json);
    }
    if (holds<GraphicalKind>(text, model)) {
      require_one_process(model + ": holds a network, which");
      if (!report.empty()) {
        throw BadInput(
            fmt::format("--report: {} holds a network, of which there is no such page; leave it "
                        "out, or draw how near it is with --plot",
                        model));
      }
      if (threshold || beside) {
        throw BadInput(
            fmt::format("{}: has no meaning with {}, which holds a network; leave it out",
                        threshold ? "--threshold" : "--beside-non-private", model));
      }
      return network.run(parse_release<GraphicalKind>(text, model), model, data_table, json);
    }
    network.require_absent(model, !report.empty());
    const LinearModel linear = parse_release(text, model).model();
    const Label& label = linear.schema.label;
    static_cast<void>(decision_threshold(threshold, label, model));
    if (!report.empty()) {
      require_one_process("--report: this page");
      require_reportable(text);
    }
    if (ranks().size() > 1) catch_interrupts();  // one process ends by them at once
    ReadOptions reading = reading_to_evaluate(linear.schema);
    reading.holds_people = true;
    TableArguments::Share share = data_table.read_share(linear.schema, reading);
    const Dataset& data = share.data;
    tell_reading_of_ranks(data, share.rows);
    if (const Column* const person = linear.schema.person()) {
      static_cast<void>(counted(share, 1));
      fmt::print(stderr,
                 "gibbsite: rows of one {} count together as one; tables of classes and "
                 "probabilities below count rows\n",
                 shown(person->name));
    }
    if (const Column* const weight = linear.schema.weight()) {
      fmt::print(
          stderr,
          "gibbsite: rows count by {}; tables of classes and probabilities below count rows\n",
          shown(weight->name));
    }
    fmt::print(stderr,
               "private: these figures read the labels of this table and the certificate does not "
               "cover them; publish them only if the table is public\n");
    std::optional<LinearModel> yardstick;
    if (beside || !report.empty())
      yardstick = non_private_fit(data, linear.loss,
                                  *make_backend_of_ranks("reference", true, "auto", &stop_flag()));
    if (beside && !yardstick) {
      throw BadInput(
          fmt::format("--beside-non-private: the model has {} coefficients, at most {} are fitted; "
                      "leave it out",
                      linear.draws.front().size(), most_non_private_features));
    }
    if (!report.empty()) write_report(text, data, yardstick);
    const ModelEvaluation result = judged(linear, data);
    const auto beside_it = beside ? std::optional(judged(*yardstick, data)) : std::nullopt;
    if (!is_first_rank()) return;
    if (json) return fmt::print("{}\n", to_json(result, linear.schema).dump(2));
    std::visit(
        [&]<class E>(const E& of) {
          fmt::print("{}",
                     screen(of, beside_it ? &std::get<E>(*beside_it) : nullptr, linear.schema));
        },
        result);
  }

  static void require_one_process(const std::string& what) {
    if (ranks().size() == 1) return;
    throw BadInput(what + " takes all rows in one process; leave out the launcher of ranks");
  }

  // Whether --force, which a network's picture takes too, is all that was given beside.
  void require_released_alone() const {
    const char* const other = beside                    ? "--beside-non-private"
                              : !report.empty()         ? "--report"
                              : !network.target.empty() ? "--target"
                              : !network.plot.empty()   ? "--plot"
                                                        : nullptr;
    if (other != nullptr)
      throw BadInput(fmt::format("{}: has no meaning with --epsilon; leave it out", other));
  }

  void require_reportable(const std::string& text) const {
    require_other_file(report, data_table.data, "--data", "--report");
    require_other_file(report, model, "--model", "--report");
    if (!data_table.labels.empty())
      require_other_file(report, data_table.labels, "--labels", "--report");
    require_new(report, network.force, "--report");
    require_writable(report, "--report");
    require_verified(parse_release_json(text, model), model);
  }

  // For its owner's eyes alone, like all that holds what the rows say.
  void write_report(const std::string& text, const Dataset& data,
                    const std::optional<LinearModel>& yardstick) const {
    const std::string page =
        curator_report(text, model, data, yardstick,
                       {.threshold = threshold.value_or(0.5), .table = data_table.data});
    write_new(
        report, network.force,
        [&](Existing existing) { write_file_atomically(report, page, private_file, existing); },
        "--report");
  }

  // Scores all rows on the first rank, in the order of one process: a row's prediction is its own
  // rank's work.
  [[nodiscard]] ModelEvaluation judged(const LinearModel& by, const Dataset& data) const {
    const std::vector<float> y = at_first_rank(data.y), weights = at_first_rank(data.weight);
    std::vector<double> mine = predict(by, data.view()).values;
    ranks().together(stop_if_asked);
    const std::vector<double> all = at_first_rank(std::move(mine));
    if (!is_first_rank()) return {};
    return evaluate_predictions(by.schema, all, y, weights, threshold.value_or(0.5));
  }
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
  add_output(app, "--report", command->report,
             "page (HTML) to write for the curator: PRIVATE; curves, calibration and what the "
             "reader changed, beside such a fit");
  command->network.add_to(app);
  command->released.add_to(app);
  app.callback([command] { command->run(); });
}

const Register evaluate_command{
    {4, "evaluate", "How good predictions, or a network, are on a table",
     "gibbsite evaluate --model model.json --data test.csv", define_evaluate}};

}  // namespace
}  // namespace gibbsite::cli
