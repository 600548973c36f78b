// `fit` without a schema: one budget buys it and fits by it.
#include "gibbsite/run/fit_bought.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "backend.hpp"
#include "bought_schema.hpp"
#include "fit_command.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/ledger/ledger.hpp"
#include "gibbsite/run/public_schema.hpp"
#include "gibbsite/run/purchase.hpp"
#include "interrupt.hpp"
#include "ledger.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "ranks.hpp"
#include "reading.hpp"
#include "text.hpp"

namespace gibbsite::cli {
namespace {

// What --check says of the labels' texts, to the curator alone.
void tell_labels(const TableCells& labels, const Label& target) {
  constexpr std::size_t most = 20;
  if (number_of(target) != nullptr) {
    fmt::print(stderr, "private: {} rows; labels are read by their range\n", labels.rows);
    return;
  }
  std::vector<std::string> names = class_names(target);
  const auto* const two = std::get_if<TwoClasses>(&target);
  if (two != nullptr && two->negative.empty()) names = {two->positive};
  const auto& texts = labels.columns.front().levels;
  std::uint64_t listed = 0;
  std::string lines;
  for (std::size_t k = 0; k < names.size(); ++k) {
    const auto found =
        std::ranges::find_if(texts, [&](const auto& t) { return t.first == names[k]; });
    const std::uint64_t rows = found == texts.end() ? 0 : found->second;
    listed += rows;
    if (k < most) lines += fmt::format("private:   {}: {}\n", shown(names[k]), rows);
    if (rows == 0) {
      fmt::print(stderr, "gibbsite: warning: private: no label is of the class '{}'\n",
                 shown(names[k]));
    }
  }
  fmt::print(stderr, "private: {} rows; labels:\n{}private:   others, or none: {}\n", labels.rows,
             lines, labels.rows - listed);
}

// Before anything is spent.
void warn_of_bought_curves() {
  warn(
      "--intervals: numbers of a bought schema become curves, and if most columns are numbers, "
      "expect intervals of all effects to be several times as wide as with straight lines; for "
      "those buy the schema apart (gibbsite schema --epsilon), and leave curve = \"auto\" out of it");
}

}  // namespace

void FitCommand::require_of_bought() const {
  const auto refuse = [](const std::string& option) {
    throw BadInput(fmt::format(
        "{}: has no meaning where the schema is bought; leave it out, or give --schema", option));
  };
  if (!label.date_parts.empty() && (plan.model == network_model || family_named(plan.model)))
    throw BadInput(
        fmt::format("--date-parts: are features of a model of rows, and --model is {}; "
                    "leave it out",
                    plan.model));
  if (family_named(plan.model) && label.counting.said() != nullptr) {
    throw BadInput(fmt::format(
        "{}: draws of --model {} cost what is derived for rows that count as one each; leave it out",
        label.counting.said(), plan.model));
  }
  if (!family_named(plan.model)) static_cast<void>(label.counting.columns());
  if (plan.model == network_model) {
    require_no_engine();
    const char* const said = label.label.empty() ? label.said() : "--label";
    if (said != nullptr)
      throw BadInput(fmt::format(
          "{}: a network has no label, every column is asked about; leave it out", said));
  } else if (family_named(plan.model)) {
    require_no_engine();
    if (family.column.empty())
      throw BadInput(
          fmt::format("--column: is missing; name the column that {} is fitted to", plan.model));
    const char* const said = label.label.empty() ? label.said() : "--label";
    if (said != nullptr)
      throw BadInput(fmt::format("{}: --model {} is fitted to --column alone; leave it out", said,
                                 plan.model));
  } else {
    if (label.label.empty())
      throw BadInput(fmt::format("{}: says what --label holds; give --label too", label.said()));
    static_cast<void>(label.target());
  }
  if (ranks().size() > 1) refuse("a launcher of ranks");
  if (removes_cache) refuse("--remove-cache");
  if (cache == "always") refuse("--cache always");
  if (!checkpoint.empty()) refuse("--checkpoint");
  if (!table.labels.empty()) refuse("--labels");
  if (!columns.empty()) refuse("--columns");
  if (schema_share) require_between(*schema_share, 0, 1, "--schema-share");
  std::error_code ignored;
  if (std::filesystem::exists(table.data, ignored) &&
      !std::filesystem::is_regular_file(table.data, ignored))
    throw BadInput("--data: is read up to four times to buy a schema; give a regular file");
}

Schema FitCommand::given_schema() const {
  if (!schema.empty()) {
    Schema given = read_schema(schema);
    require_other_table(given, table.data);
    return given;
  }
  const auto refuse = [](const std::string& option) {
    throw BadInput(fmt::format(
        "{}: has no meaning with --public; leave it out, or write the schema (gibbsite schema "
        "--public) and give it as --schema",
        option));
  };
  if (ranks().size() > 1) refuse("a launcher of ranks");
  if (schema_share) refuse("--schema-share");
  static_cast<void>(label.counting.columns());
  if (!table.labels.empty()) refuse("--labels");
  const PublicSchema found = public_schema_of(table.data, label, public_table);
  say(bought_table(found.counts, found.schema) + public_words(found.schema) + "\n");
  return found.schema;
}

void FitCommand::fit_bought() const {
  require_of_bought();
  const bool of_network = plan.model == network_model;
  const bool drawn = family_named(plan.model).has_value();
  const Label target = of_network || drawn ? Label(TwoClasses{}) : label.target();
  BoughtRequest asked{.request = of_network ? bought_network_request(plan)
                                 : drawn    ? bought_family_request(plan)
                                         : bought_request(plan, target, label.counting.columns()),
                      .shape = {},
                      .share = schema_share};
  const Budget budget = plan.budget();
  const auto engine_maker = make_backend_of_ranks(backend, quiet, design);
  const auto ledger = opened_ledger();
  prepare();
  const std::vector<std::string> header = header_of_table(table.data);
  asked.shape = drawn ? family_shape(header, family.column, table.data)
                      : label.shape(header, target, table.data);
  const auto found = purchase(asked, table.data, ledger ? &*ledger : nullptr, warn);
  const BoughtFitPlan& made = found.plan;
  stop_if_asked();
  if (!drawn) note_ids(asked.shape, budget.rows_per_person, note);
  if (!of_network && !drawn && bought_curves_widen(asked, made)) warn_of_bought_curves();
  if (check) {
    fmt::print(
        "{}\nChecked: nothing was released or spent, and no model was written. Leave out "
        "--check to fit.\n",
        wrapped_lines(bought_plan_words(made)));
    if (!of_network && !drawn) tell_labels(count_cells(table.data, {label.label}), target);
    return;
  }
  const std::size_t columns = asked.shape.asked.size();
  say(fmt::format("{}{} {}, {} column{} asked about with {:.3g} % of mu^2; the rest fits\n",
                  plan.rows_cap ? "at most " : "", made.problem.rows,
                  made.problem.of_people() ? "people" : "rows", columns, columns == 1 ? "" : "s",
                  100 * made.share));
  Progress bar("fitting", quiet, interval());
  FitOptions options = watched(bar, ledger);
  options.release_answers = release_moments;
  // A class that no label is of is said on screen, as by every fit; nothing is stopped by it.
  // It is said once the release is entered: before, an interrupt would be free.
  Dataset as_read;  // without rows
  const auto rows_by = [&](const Schema& by) {
    Dataset data = read(by, of_network || drawn).data;
    as_read.schema = data.schema;
    as_read.counts = data.counts;
    as_read.y = data.y;
    return data;
  };
  const TableToBuy bought{.shape = asked.shape,
                          .cells = found.cells,
                          .source = CellSource(table.data),
                          .read = rows_by};
  if (drawn) {
    const FamilyRelease release =
        gibbsite::fit_bought_family(bought, made, asked.request, key(), options);
    const BoughtSchema& answers = *release.model().bought;
    return say_family(release, ledger, bought_table(answers, release.model().schema) + "\n");
  }
  if (of_network) {
    const NetworkRelease release =
        gibbsite::fit_bought_network(bought, made, asked.request, key(), options);
    if (!found.warned) warn_of_seen(*release.model().bought, warn);
    return say_network(release, ledger,
                       bought_table(*release.model().bought, release.model().schema) + "\n");
  }
  const Release model =
      gibbsite::fit_bought(bought, made, asked.request, *engine_maker, key(), options);
  static_cast<void>(
      warn_of_reading(as_read, as_read.counts, as_read.y.size(), Readers::this_process));
  if (!found.warned) warn_of_seen(*model.model().bought, warn);
  if (asked.request.intervals && !model.model().estimates) warn_of_no_intervals();
  write_entered(ledger, [&](Existing existing) { write_release(out, model, existing); });
  say("\n" + bought_table(*model.model().bought, model.model().schema) + report(model));
}

}  // namespace gibbsite::cli
