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
#include "gibbsite/data/reading_warnings.hpp"
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
    if (of_amounts && probabilities) {
      throw BadInput(fmt::format("--probabilities: {} predicts {} and no class; leave it out",
                                 model, to_string(kind_of(label))));
    }
    const double least = decision_threshold(threshold, label, model);
    ReadOptions reading = reading_to_predict();
    if (unseen == Unseen::refuse) reading.unreadable = ReadOptions::Unreadable::refused;
    const Dataset data = table.read(linear.schema, reading);
    tell_reading(data);
    warn_of_unreadable(data);
    // A file keeps the bytes of a name, a terminal does not obey them.
    const bool on_screen = out.empty() && isatty(STDOUT_FILENO) == 1;
    const auto name = [&](const std::string& text) {
      return csv_cell(on_screen ? shown(text) : text);
    };
    const Predictions of = predict(linear, data.view(), intervals);
    const auto ends = [&](auto end, std::size_t k, bool of_amount) {
      if (!intervals) return;
      const auto& [low, high] = of.intervals[k];
      fmt::format_to(end, ",{:.{}g},{:.{}g}", low, of_amount ? 8 : 6, high, of_amount ? 8 : 6);
    };
    std::vector<std::string> head{"prediction"};
    std::vector<std::string> names;
    if (!of_amounts)
      for (const std::string& one : class_names(label)) names.push_back(name(one));
    if (of_amounts) {
      if (intervals) head.insert(head.end(), {"low", "high"});
    } else if (probabilities || intervals) {
      // Several classes have a column each.
      for (const std::string& one :
           of_classes ? class_names(label) : std::vector<std::string>{""}) {
        const std::string end = one.empty() ? "" : "=" + one;
        head.push_back(name("probability" + end));
        if (intervals) head.insert(head.end(), {name("low" + end), name("high" + end)});
      }
    }
    write(lines(data, head, name, [&](auto end, std::size_t i) {
      const std::span<const double> row(of.values.data() + i * of.columns, of.columns);
      if (of_amounts) {
        fmt::format_to(end, "{:.8g}", row[0]);
        ends(end, i, true);
        return;
      }
      const std::size_t place = of_classes ? likeliest(row) : (row[0] >= least ? 1U : 0U);
      fmt::format_to(end, "{}", names[place]);
      for (std::size_t k = 0; k < row.size() && (probabilities || intervals); ++k) {
        fmt::format_to(end, ",{:.6g}", row[k]);
        ends(end, i * row.size() + k, false);
      }
    }));
  }

  /// Private: what the table holds. The lines of the output say which rows, with --unseen.
  void warn_of_unreadable(const Dataset& data) const {
    const std::string words = unreadable_words(data);
    if (words.empty()) return;
    warn(words + ": " +
         (unseen == Unseen::skip
              ? "they have no prediction"
              : "predicted as of another level or a missing cell; --unseen middle says in a column "
                "which they are, skip leaves them without a prediction, refuse stops") +
         " (private)");
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
