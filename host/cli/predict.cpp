#include "gibbsite/release/predict.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "command.hpp"
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/core/file.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/model/linear_model.hpp"
#include "options.hpp"
#include "text.hpp"

namespace gibbsite::cli {
namespace {

struct PredictCommand {
  TableArguments table;
  std::string model, out;
  std::optional<double> threshold;
  bool probabilities = false, intervals = false, force = false;

  void run() const {
    require_other_file(out, table.data, "--data");
    require_other_file(out, model, "--model");
    if (!out.empty()) require_new(out, force);
    const LinearModel linear = read_release(model).model();
    if (intervals && !linear.intervals) {
      throw BadInput(model + ": holds no intervals; fit with --intervals");
    }
    const bool of_amounts = linear.schema.label_kind != LabelKind::two_classes;
    if (of_amounts && (probabilities || threshold)) {
      throw BadInput(fmt::format("{}: {} predicts {} and no class; leave it out",
                                 probabilities ? "--probabilities" : "--threshold", model,
                                 to_string(linear.schema.label_kind)));
    }
    if (threshold) require_between(*threshold, 0, 1, "--threshold");
    const Dataset data = table.read(linear.schema, {.labels = ReadOptions::Labels::optional,
                                                    .ignore_extra_columns = true,
                                                    .label_path = {},
                                                    .progress = {}});
    if (of_amounts) return write(amounts(predict_amounts(linear, data.view())));
    const std::vector<double> positive = predict_probabilities(linear, data.view());
    std::vector<ProbabilityInterval> around;
    if (intervals) around = predict_intervals(linear, data.view());
    // A file keeps the bytes of a name, a terminal does not obey them.
    const bool on_screen = out.empty() && isatty(STDOUT_FILENO) == 1;
    const auto name = [&](const std::string& text) {
      return csv_cell(on_screen ? shown(text) : text);
    };
    const std::string names[] = {name(linear.schema.negative_name()), name(linear.schema.positive)};
    fmt::memory_buffer text;
    const auto end = std::back_inserter(text);
    const bool with_probability = probabilities || intervals;
    fmt::format_to(end, "prediction{}{}\n", with_probability ? ",probability" : "",
                   intervals ? ",low,high" : "");
    for (std::size_t i = 0; i < positive.size(); ++i) {
      fmt::format_to(end, "{}", names[positive[i] >= threshold.value_or(0.5) ? 1 : 0]);
      if (with_probability) fmt::format_to(end, ",{:.6g}", positive[i]);
      if (intervals) fmt::format_to(end, ",{:.6g},{:.6g}", around[i].low, around[i].high);
      text.push_back('\n');
    }
    write(text);
  }

  static fmt::memory_buffer amounts(const std::vector<double>& predicted) {
    fmt::memory_buffer text;
    const auto end = std::back_inserter(text);
    fmt::format_to(end, "prediction\n");
    for (const double amount : predicted) fmt::format_to(end, "{:.8g}\n", amount);
    return text;
  }

  void write(const fmt::memory_buffer& text) const {
    if (out.empty()) {
      std::fwrite(text.data(), 1, text.size(), stdout);
    } else {
      write_new(out, force, [&](Existing existing) {
        write_file_atomically(out, {text.data(), text.size()}, 0644, existing);
      });
    }
  }
};

void define_predict(CLI::App& app) {
  const auto command = std::make_shared<PredictCommand>();
  app.add_option("--model", command->model, "model file that fit wrote")
      ->type_name("FILE")
      ->required();
  command->table.add_to(app, true);
  app.add_option("--out", command->out, "CSV to write; standard output when absent")
      ->type_name("FILE");
  add_force(app, command->force);
  add_number(app, "--threshold", command->threshold,
             "least probability for which the positive class is predicted; default 0.5");
  app.add_flag("--probabilities", command->probabilities,
               "add the probability of the positive class");
  app.add_flag(
      "--intervals", command->intervals,
      "add it and its 95 % interval, of a model fitted with --intervals (docs/intervals.md)");
  app.callback([command] { command->run(); });
}

const Register predict_command{
    {3, "predict", "Predict the class, amount or count of every row of a table",
     "gibbsite predict --model model.json --data new.csv --out predictions.csv "
     "--probabilities",
     define_predict}};

}  // namespace
}  // namespace gibbsite::cli
