#include "gibbsite/release/predict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "command.hpp"
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/core/file.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/csv_columns.hpp"
#include "gibbsite/model/linear_model.hpp"
#include "options.hpp"
#include "reading.hpp"
#include "standard_output.hpp"
#include "text.hpp"

namespace gibbsite::cli {
namespace {

struct PredictCommand {
  TableArguments table;
  std::string model, out;
  std::vector<std::string> keep;
  std::optional<double> threshold;
  bool probabilities = false, intervals = false, force = false;
  enum class Unseen { unsaid, middle, refuse, skip } unseen = Unseen::unsaid;

  void run() const {
    require_other_file(out, table.data, "--data");
    require_other_file(out, model, "--model");
    if (!out.empty()) require_new(out, force);
    if (!keep.empty() && std::filesystem::exists(table.data) &&
        !std::filesystem::is_regular_file(table.data)) {
      throw BadInput(
          "--keep: " + table.data +
          " is a pipe, which is read only once, so no column of it can be kept; give a file");
    }
    const LinearModel linear = read_release(model).model();
    if (intervals && !linear.estimates) {
      throw BadInput(model + ": holds no intervals; fit with --intervals");
    }
    const Label& label = linear.schema.label;
    const bool of_classes = is<Classes>(label), of_amounts = number_of(label) != nullptr;
    if ((of_classes && threshold) || (of_amounts && (probabilities || threshold))) {
      throw BadInput(not_of_label(of_amounts && probabilities ? "--probabilities" : "--threshold",
                                  model, label));
    }
    if (threshold) require_between(*threshold, 0, 1, "--threshold");
    using Unreadable = ReadOptions::Unreadable;
    const Dataset data = table.read(
        linear.schema,
        {.labels = ReadOptions::Labels::optional,
         .unreadable = unseen == Unseen::refuse ? Unreadable::refused : Unreadable::marked,
         .may_be_empty = true,
         .ignore_extra_columns = true,
         .label_path = {},
         .progress = {}});
    tell_reading(data);
    warn_of_unreadable(data);
    // A file keeps the bytes of a name, a terminal does not obey them.
    const bool on_screen = out.empty() && isatty(STDOUT_FILENO) == 1;
    const auto name = [&](const std::string& text) {
      return csv_cell(on_screen ? shown(text) : text);
    };
    if (of_classes) return write(class_lines(linear, data, name));
    std::vector<PredictionInterval> around;
    if (intervals) around = predict_intervals(linear, data.view());
    if (of_amounts) {
      const std::vector<double> amounts = predict_amounts(linear, data.view());
      std::vector<std::string> head{"prediction"};
      if (intervals) head.insert(head.end(), {"low", "high"});
      return write(lines(data, head, name, [&](auto end, std::size_t i) {
        fmt::format_to(end, "{:.8g}", amounts[i]);
        if (intervals) fmt::format_to(end, ",{:.8g},{:.8g}", around[i].low, around[i].high);
      }));
    }
    const std::vector<double> positive = predict_probabilities(linear, data.view());
    const TwoClasses& two = std::get<TwoClasses>(label);
    const std::string names[] = {name(two.negative_name()), name(two.positive)};
    const bool with_probability = probabilities || intervals;
    std::vector<std::string> head{"prediction"};
    if (with_probability) head.emplace_back("probability");
    if (intervals) head.insert(head.end(), {"low", "high"});
    write(lines(data, head, name, [&](auto end, std::size_t i) {
      fmt::format_to(end, "{}", names[positive[i] >= threshold.value_or(0.5) ? 1 : 0]);
      if (with_probability) fmt::format_to(end, ",{:.6g}", positive[i]);
      if (intervals) fmt::format_to(end, ",{:.6g},{:.6g}", around[i].low, around[i].high);
    }));
  }

  /// The likeliest class, and with --probabilities that of each, a column "probability=CLASS"; with
  /// --intervals its ends too, "low=CLASS" and "high=CLASS".
  template <class Name>
  [[nodiscard]] fmt::memory_buffer class_lines(const LinearModel& linear, const Dataset& data,
                                               const Name& name) const {
    const std::vector<double> all = predict_classes(linear, data.view());
    std::vector<PredictionInterval> around;
    if (intervals) around = predict_class_intervals(linear, data.view());
    std::vector<std::string> names;
    std::vector<std::string> head{"prediction"};
    for (const std::string& one : class_names(linear.schema.label)) {
      names.push_back(name(one));
      if (probabilities || intervals) head.push_back(name("probability=" + one));
      if (intervals) head.insert(head.end(), {name("low=" + one), name("high=" + one)});
    }
    return lines(data, head, name, [&](auto end, std::size_t i) {
      const std::span<const double> row(all.data() + i * names.size(), names.size());
      fmt::format_to(end, "{}", names[likeliest(row)]);
      if (!probabilities && !intervals) return;
      for (std::size_t k = 0; k < row.size(); ++k) {
        fmt::format_to(end, ",{:.6g}", row[k]);
        if (!intervals) continue;
        const PredictionInterval& of = around[i * row.size() + k];
        fmt::format_to(end, ",{:.6g},{:.6g}", of.low, of.high);
      }
    });
  }

  /// Private: what the table holds. The lines of the output say which rows, with --unseen.
  void warn_of_unreadable(const Dataset& data) const {
    if (data.unreadable.empty()) return;
    std::vector<std::size_t> of_column(data.schema.columns.size());
    std::size_t rows = 0;
    for (std::size_t k = 0; k < data.unreadable.size(); ++k) {
      ++of_column[data.unreadable[k].column];
      rows += k == 0 || data.unreadable[k].row != data.unreadable[k - 1].row ? 1U : 0U;
    }
    std::string columns;
    constexpr std::size_t most = 5;
    std::size_t named = 0;
    for (std::size_t j = 0; j < of_column.size(); ++j) {
      if (of_column[j] == 0 || ++named > most) continue;
      columns += fmt::format("{}{} in {}", named == 1 ? "" : ", ", of_column[j],
                             gibbsite::quoted(data.schema.columns[j].name));
    }
    fmt::print(
        stderr,
        "gibbsite: warning: {} of {} rows have a cell that the model cannot read, a level that "
        "is not listed, no number or empty ({}{}): {} (private)\n",
        rows, data.rows(), columns, named > most ? ", ..." : "",
        unseen == Unseen::skip
            ? "they have no prediction"
            : "predicted as of another level or a missing cell; --unseen middle says in a "
              "column which they are, skip leaves them without a prediction, refuse stops");
  }

  /// The header and a line for each row: the cells that are kept, then what `put` says of row i,
  /// and with --unseen the columns whose cell the model could not read.
  template <class Name, class Put>
  [[nodiscard]] fmt::memory_buffer lines(const Dataset& data, std::vector<std::string> head,
                                         const Name& name, const Put& put_row) const {
    const std::size_t rows = data.rows();
    const std::string nothing(head.size() - 1, ',');
    const bool says_which = unseen == Unseen::middle || unseen == Unseen::skip;
    if (says_which) head.emplace_back("unseen");
    std::size_t mark = 0;
    const auto put = [&](auto end, std::size_t i) {
      std::string which;
      for (; mark < data.unreadable.size() && data.unreadable[mark].row == i; ++mark)
        which +=
            (which.empty() ? "" : ";") + data.schema.columns[data.unreadable[mark].column].name;
      if (unseen == Unseen::skip && !which.empty())
        fmt::format_to(end, "{}", nothing);
      else
        put_row(end, i);
      if (says_which) fmt::format_to(end, ",{}", name(which));
    };
    fmt::memory_buffer text;
    const auto end = std::back_inserter(text);
    for (const std::string& column : keep) fmt::format_to(end, "{},", name(column));
    fmt::format_to(end, "{}\n", fmt::join(head, ","));
    std::size_t i = 0;
    const auto line = [&](std::span<const std::string> cells) {
      if (i == rows) throw BadInput(table.data + ": has more rows than before; leave it alone");
      for (const std::string& cell : cells) fmt::format_to(end, "{},", name(cell));
      put(end, i++);
      text.push_back('\n');
    };
    if (keep.empty()) {
      for (std::size_t k = 0; k < rows; ++k) line({});
    } else {
      read_csv_columns(table.data, keep, line);
      if (i < rows) throw BadInput(table.data + ": has fewer rows than before; leave it alone");
    }
    return text;
  }

  void write(const fmt::memory_buffer& text) const {
    if (out.empty()) {
      std::fwrite(text.data(), 1, text.size(), stdout);
    } else {
      write_new(out, force, [&](Existing existing) {
        write_file_atomically(out, {text.data(), text.size()}, private_file, existing);
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
  add_output(app, "--out", command->out, "CSV to write; standard output when absent or -");
  app.add_option("--keep", command->keep,
                 "columns of a CSV table to write before the prediction, with commas between")
      ->delimiter(',')
      ->type_name("NAMES")
      ->allow_extra_args(false);
  add_force(app, command->force);
  app.add_option_function<std::string>(
         "--unseen",
         [command](const std::string& text) {
           using Unseen = PredictCommand::Unseen;
           if (text != "middle" && text != "refuse" && text != "skip") {
             throw BadInput(
                 fmt::format("--unseen: '{}' is none of middle, refuse, skip; give one", text));
           }
           command->unseen = text == "middle"   ? Unseen::middle
                             : text == "refuse" ? Unseen::refuse
                                                : Unseen::skip;
         },
         "cells that the model cannot read (a level not listed, no number, empty): middle predicts "
         "as of another level or a missing cell, skip leaves the row without a prediction, both with "
         "a column 'unseen' of their names; refuse stops; default middle, counted on the screen")
      ->type_name("NAME");
  add_number(app, "--threshold", command->threshold,
             "least probability for which the positive class is predicted; default 0.5");
  app.add_flag("--probabilities", command->probabilities,
               "add the probability of the positive class, or of each of several");
  app.add_flag("--intervals", command->intervals,
               "add it and its 95 % interval, of amounts that of the mean; of a model fitted with "
               "--intervals (docs/theory/intervals.md)");
  app.callback([command] { command->run(); });
}

const Register predict_command{
    {3, "predict", "Predict the class, amount or count of every row of a table",
     "gibbsite predict --model model.json --data new.csv --out predictions.csv "
     "--probabilities",
     define_predict}};

}  // namespace
}  // namespace gibbsite::cli
