#include "evaluation.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/ledger/ledger.hpp"
#include "gibbsite/release/evaluation_cells.hpp"
#include "gibbsite/release/predict.hpp"
#include "gibbsite/run/planned_evaluation.hpp"
#include "gibbsite/run/release_evaluation.hpp"
#include "interrupt.hpp"
#include "ledger.hpp"
#include "ranks.hpp"
#include "reading.hpp"
#include "standard_output.hpp"
#include "text.hpp"

namespace gibbsite::cli {
namespace {

std::vector<std::string> line_of(const std::string& name, const NoisyShare& share,
                                 bool in_percent = true) {
  const auto text = [&](double value) {
    return in_percent ? fmt::format("{:.2f} %", 100 * value) : fmt::format("{:.4f}", value);
  };
  return {name, std::isnan(share.value) ? "-" : text(share.value),
          fmt::format("{} to {}", text(share.low), text(share.high))};
}

std::string screen(const EvaluationModel& model) {
  const EvaluationFigures f = figures(model);
  const std::string rows =
      model.rows ? fmt::format("{} rows", human_count(f.rows))
                 : fmt::format("about {:.0f} {}, ± {:.0f}", f.rows,
                               model.schema.weight() == nullptr ? "rows" : "of the largest weight",
                               1.96 * f.rows_deviation);
  std::vector<std::vector<std::string>> lines{{rows, "released", "95 % interval"},
                                              line_of("accuracy", f.accuracy)};
  if (!model.several()) {
    const TwoClasses& two = std::get<TwoClasses>(model.schema.label);
    const std::array<std::string, 2> names{shown(two.negative_name()), shown(two.positive)};
    lines.push_back(line_of("AUC, ties in a bin one half", f.auc, false));
    for (const std::size_t is : std::array<std::size_t, 2>{1, 0})
      lines.push_back(line_of("recall of " + names[is], f.recall[is]));
    for (const std::size_t is : std::array<std::size_t, 2>{1, 0})
      lines.push_back(line_of("precision of " + names[is], f.precision[is]));
    lines.push_back(line_of("share of " + names[1], f.positives));
  }
  std::string out = table(lines);
  if (!model.several()) {
    out +=
        fmt::format("  bins hide about {:.4f} of the AUC of whole probabilities\n", f.auc_hidden);
  }
  std::vector<std::vector<std::string>> bins{
      {"probability", fmt::format("rows ± {:.0f}", 1.96 * f.bin_rows_deviation),
       model.several() ? "right" : "found", "95 % interval", ""}};
  for (std::size_t b = 0; b < f.found.size(); ++b) {
    const auto [low, high] = model.bins.ends(b);
    std::vector<std::string> line = line_of(fmt::format("{:.4g} to {:.4g}", low, high), f.found[b]);
    if (std::isnan(f.found[b].value)) line.back() = "-";
    line.insert(line.begin() + 1, fmt::format("{:.0f}", std::round(f.bin_rows[b]) + 0.0));  // no -0
    line.emplace_back(f.found[b].low > high   ? "more than predicted"
                      : f.found[b].high < low ? "fewer than predicted"
                                              : "");
    bins.push_back(std::move(line));
  }
  return out + (model.several() ? "\nOf the class predicted:\n" : "\n") + table(bins);
}

}  // namespace

void ReleasedEvaluation::add_to(CLI::App& app) {
  add_number(app, "--epsilon", epsilon,
             "release figures that may be published: noisy counts of this table by probability and "
             "class, certified, written to --out");
  add_number(app, "--delta", delta,
             fmt::format("--epsilon: privacy budget δ; default {}", EvaluationRequest{}.delta));
  add_output(app, "--out", out,
             "--epsilon: the evaluation's file; written whole or not at all; - is standard output");
  add_count(app, "--bins", bins,
            "--epsilon: of probabilities, 10 to 100; default: from the budget and the public "
            "number of rows",
            least_evaluation_bins);
  app.add_option("--adjacency", adjacency, "--epsilon: replace-one, or add-remove with --rows-cap")
      ->type_name("NAME");
  add_count(app, "--rows-cap", rows_cap, "add-remove: public upper bound on the number of rows");
  add_count(app, "--rows-per-person", rows_per_person,
            "--epsilon: most rows one person has; default 1");
  app.add_option("--ledger", ledger_path,
                 "--epsilon: budget of all releases about these people, where this one is entered")
      ->type_name("FILE");
}

bool ReleasedEvaluation::asked() const {
  const std::array<std::pair<bool, const char*>, 7> others{
      {{delta.has_value(), "--delta"},
       {!out.empty(), "--out"},
       {bins.has_value(), "--bins"},
       {!adjacency.empty(), "--adjacency"},
       {rows_cap.has_value(), "--rows-cap"},
       {rows_per_person.has_value(), "--rows-per-person"},
       {!ledger_path.empty(), "--ledger"}}};
  for (const auto& [given, name] : others) {
    if (given && !epsilon) {
      throw BadInput(fmt::format("{}: is of a release; give --epsilon too, or leave it out", name));
    }
  }
  if (epsilon && out.empty()) {
    throw BadInput("--out: is missing; give the file that the evaluation is written to");
  }
  return epsilon.has_value();
}

void ReleasedEvaluation::run(const std::string& text, const std::string& model,
                             const TableArguments& table, std::optional<double> threshold,
                             bool force, bool json) const {
  // What can go wrong without the data goes wrong first.
  const PlannedEvaluation planned(
      text, model,
      {.epsilon = *epsilon,
       .delta = delta.value_or(EvaluationRequest{}.delta),
       .adjacency = adjacency.empty() ? Adjacency::replace_one : adjacency_from_string(adjacency),
       .rows_cap = rows_cap,
       .rows_per_person = rows_per_person.value_or(1),
       .bins = bins,
       .threshold = threshold});
  const LinearModel& linear = planned.model();
  if (is_first_rank()) {
    require_other_file(out, model, "--model");
    require_other_file(out, table.data, "--data");
    require_other_file(out, table.labels, "--labels");
    require_new(out, force);
    require_writable(out, "--out");
  }
  std::optional<Ledger> ledger;
  if (!ledger_path.empty() && is_first_rank()) {
    require_not_of_ledger(out, ledger_path, "--out");
    ledger.emplace(ledger_path);
    static_cast<void>(ledger->read());
  }
  planned.warn_of_void(warn);
  catch_interrupts();

  const TableArguments::Share share =
      table.read_share(linear.schema, reading_to_evaluate(linear.schema));
  const HistogramPlan plan = planned.plan(share.rows);
  tell_reading_of_ranks(share.data, share.rows);
  planned.look_at(plan, ledger ? &*ledger : nullptr, warn);
  const EvaluationModel shape = planned.shape(plan);
  std::vector<std::uint32_t> of_share = evaluation_cells(linear, shape.bins, share.data);
  ranks().together(stop_if_asked);
  const std::vector<std::uint32_t> cells = at_first_rank(std::move(of_share));
  const std::vector<float> weights = at_first_rank(share.data.weight);
  if (!is_first_rank()) return;  // waits for what is written
  FitOptions options;
  options.ledger = ledger ? &*ledger : nullptr;
  const EvaluationRelease made =
      release_evaluation(shape, cells, plan, Key::from_os(), options, weights);
  write_entered(out, force, ledger, [&](Existing existing) { write_release(out, made, existing); });
  if (json) {
    const nlohmann::json file = to_json(made);
    fmt::print("{}\n", nlohmann::json{{"figures", file.at("model").at("figures")},
                                      {"guarantee", file.at("certificate").at("guarantee")},
                                      {"of", file.at("model").at("of")},
                                      {"digest", file.at("certificate").at("digest")}}
                           .dump(2));
    return;
  }
  fmt::print("{}\n{}\n{}Written: {}; next:\n  gibbsite verify {}\n", screen(made.model()),
             wrapped_lines(in_words(made.certificate())), ledger ? entered_line(*ledger) : "", out,
             out);
}

}  // namespace gibbsite::cli
