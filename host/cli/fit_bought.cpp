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
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/curves.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/ledger/ledger.hpp"
#include "gibbsite/mechanism/ledger_guarantee.hpp"
#include "gibbsite/privacy/gdp_fit.hpp"
#include "gibbsite/run/plan_chosen.hpp"
#include "gibbsite/run/public_center.hpp"
#include "gibbsite/run/public_prior.hpp"
#include "gibbsite/run/public_schema.hpp"
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
    if (k < most) lines += fmt::format("  {}: {}\n", shown(names[k]), rows);
    if (rows == 0) {
      fmt::print(stderr, "gibbsite: warning: private: no label is of the class '{}'\n",
                 shown(names[k]));
    }
  }
  fmt::print(stderr, "private: {} rows; labels:\n{}  others, or none: {}\n", labels.rows, lines,
             labels.rows - listed);
}

// The schema for a public table, which need not say whose its rows are, nor what they count.
Schema of_rows(Schema schema) {
  for (Column& column : schema.columns) {
    if (column.type != ColumnType::person && column.type != ColumnType::weight) continue;
    column = Column{.name = column.name};
    column.type = ColumnType::ignore;
  }
  return schema;
}

// Before anything is spent: what curves may do to intervals, as if each column asked about were a
// number.
void warn_of_bought_curves(const PlanRequest& request, const Label& target,
                           const SchemaShape& shape, const BoughtFitPlan& made) {
  constexpr std::size_t most_columns = 200;
  if (!request.intervals || shape.asked.size() > most_columns) return;
  Schema asked;
  asked.label_name = "y";
  asked.label = target;
  asked.invalid = Invalid::middle;
  asked.intercept = true;
  for (std::size_t k = 0; k < shape.asked.size(); ++k) {
    Column& column = asked.columns.emplace_back();
    column.name = fmt::format("x{}", k);
    column.type = ColumnType::number;
    column.hi = 1;
    column.automatic_curve = true;
  }
  for (Column& column : shape.shape.counting.columns()) {
    column.name = column.type == ColumnType::person ? "person" : "weight";
    asked.columns.push_back(std::move(column));
  }
  asked.row_norm = asked.auto_row_norm();
  const Schema chosen = chosen_curves(request, asked, made.problem.rows, made.fit);
  const Plan planned = plan_chosen(request, chosen, made.problem.rows, made.fit);
  if (!curves_widen(asked, chosen, planned)) return;
  fmt::print(
      stderr,
      "gibbsite: warning: --intervals: numbers of a bought schema become curves, and if most "
      "columns are numbers, expect intervals of all effects to be several times as wide as "
      "with straight lines; for those buy the schema apart (gibbsite schema --epsilon), and "
      "leave curve = \"auto\" out of it\n");
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

Model FitCommand::model_of_plan(Plan& made, const Schema& lines, const Schema& domain,
                                Backend& engine_maker) const {
  Model out = model_of(plan, made);
  if (public_table.empty() || !gains_by_center(made)) return out;
  const std::vector<std::string> names = column_names(public_table);
  if (std::ranges::find(names, domain.label_name) == names.end()) {
    say(fmt::format("{} has no column {}, so the prior's center is 0\n", shown(public_table),
                    gibbsite::quoted(domain.label_name)));
    return out;
  }
  const Dataset rows = with_curves(read_public_rows(public_table, of_rows(lines)), of_rows(domain));
  if (!domain.from_public || sha256_of_file(public_table) != domain.from_public->sha256) {
    throw BadInput("--public: " + gibbsite::quoted(public_table) +
                   " changed while it was read; give a file that does not");
  }
  if (!has_usable_labels(rows)) {
    say(fmt::format("labels of {} are of one kind or cannot be read, so the prior's center is 0\n",
                    shown(public_table)));
    return out;
  }
  out = centered_model(std::move(out), made, domain, public_center(rows, made, engine_maker));
  say(fmt::format("the prior's center, and where the path begins, follow from {} too\n",
                  shown(public_table)));
  return out;
}

void FitCommand::fit_bought() const {
  require_of_bought();
  const bool of_network = plan.model == network_model;
  const std::optional<Family> drawn = family_named(plan.model);
  const Label target = of_network || drawn ? Label(TwoClasses{}) : label.target();
  const PlanRequest request = of_network ? bought_network_request(plan)
                              : drawn    ? bought_family_request(plan)
                                         : bought_request(plan, target, label.counting.columns());
  const Budget budget = plan.budget();
  const auto engine_maker = make_backend_of_ranks(backend, quiet, design);
  const auto ledger = opened_ledger();
  prepare();
  const std::vector<std::string> header = column_names(table.data);
  if (!first_line_names(table.data).empty()) require_names(header, table.data);
  const SchemaShape shape = drawn ? family_shape(header, family.column, table.data)
                                  : label.shape(header, target, table.data);
  const double most_tv = tv_left(ledger ? &*ledger : nullptr);
  const auto planned = [&](std::uint64_t rows, const Budget& at) {
    PlanRequest smaller = request;
    smaller.epsilon = at.epsilon;
    smaller.delta = at.delta;
    return of_network ? plan_bought_network(shape, rows, at, schema_share, most_tv)
           : drawn    ? plan_bought_family(smaller, rows, schema_share, most_tv)
                      : plan_bought_fit(shape, rows, at, schema_share, request.intervals, most_tv);
  };
  // An illegal request ends here.
  static_cast<void>(planned(request.rows_cap.value_or(budget.rows_per_person), budget));
  const TableCells cells = count_asked(shape, table.data, budget.rows_per_person);
  stop_if_asked();
  if (cells.rows == 0) throw BadInput(table.data + ": has no rows; give a table with some");
  // From here on public numbers decide: that of rows, or people, under replace-one, else its cap.
  const std::uint64_t rows = request.rows_cap.value_or(cells.rows);
  const BoughtFitPlan made = planned(rows, budget);
  const bool warned = warn_of_visible(made.questions, made.problem, budget, [&](const Budget& at) {
    return planned(rows, at).questions;
  });
  if (!drawn) note_ids(shape, budget.rows_per_person);
  if (!of_network && !drawn) warn_of_bought_curves(request, target, shape, made);
  if (ledger) {
    const bool people = made.problem.of_people();
    require_room(*ledger, budget, in_a_ledger(made.guarantee, people), [&](const Budget& smaller) {
      return in_a_ledger(gdp_cover_up(planned(rows, smaller).guarantee), people);
    });
  }
  warn_of_large_budget(budget, rows);
  if (check) {
    fmt::print(
        "{}\nChecked: nothing was released or spent, and no model was written. Leave out "
        "--check to fit.\n",
        wrapped_lines(bought_plan_words(made)));
    if (!of_network && !drawn) tell_labels(count_cells(table.data, {label.label}), target);
    return;
  }
  say(fmt::format("{}{} {}, {} column{} asked about with {:.3g} % of mu^2; the rest fits\n",
                  request.rows_cap ? "at most " : "", rows,
                  made.problem.of_people() ? "people" : "rows", shape.asked.size(),
                  shape.asked.size() == 1 ? "" : "s", 100 * made.share));
  Progress bar("fitting", quiet, interval());
  FitOptions options;
  options.release_answers = release_moments;
  options.ledger = ledger ? &*ledger : nullptr;
  options.stop = &stop_flag();
  options.progress = [&bar](std::uint64_t done, std::uint64_t total) { bar.update(done, total); };
  // A class that no label is of is said on screen, as by every fit; nothing is stopped by it.
  // It is said once the release is entered: before, an interrupt would be free.
  Dataset as_read;  // without rows
  const auto rows_by = [&](const Schema& found) {
    Dataset data = read(found, of_network || drawn).data;
    as_read.schema = data.schema;
    as_read.counts = data.counts;
    as_read.y = data.y;
    return data;
  };
  const TableToBuy bought{
      .shape = shape, .cells = cells, .source = CellSource(table.data), .read = rows_by};
  if (drawn) {
    const FamilyRelease release =
        gibbsite::fit_bought_family(bought, made, request, key(), options);
    const BoughtSchema& answers = *release.model().bought;
    return say_family(release, ledger, bought_table(answers, release.model().schema) + "\n");
  }
  if (of_network) {
    const NetworkRelease release =
        gibbsite::fit_bought_network(bought, made, request, key(), options);
    warn_of_seen(*release.model().bought, warned);
    return say_network(release, ledger,
                       bought_table(*release.model().bought, release.model().schema) + "\n");
  }
  const Release model = gibbsite::fit_bought(bought, made, request, *engine_maker, key(), options);
  static_cast<void>(
      warn_of_reading(as_read, as_read.counts, as_read.y.size(), Readers::this_process));
  warn_of_seen(*model.model().bought, warned);
  if (request.intervals && !model.model().estimates) warn_of_no_intervals();
  write_entered(ledger, [&](Existing existing) { write_release(out, model, existing); });
  say("\n" + bought_table(*model.model().bought, model.model().schema) + report(model));
}

}  // namespace gibbsite::cli
