#include "bought_schema.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/file.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/ledger/ledger.hpp"
#include "gibbsite/mechanism/ledger_guarantee.hpp"
#include "gibbsite/run/buy_schema.hpp"
#include "interrupt.hpp"
#include "ledger.hpp"
#include "options.hpp"
#include "ranks.hpp"
#include "text.hpp"

namespace gibbsite::cli {
namespace {

constexpr double default_schema_delta = 1e-7;

std::string certificate_path(const std::string& out) { return out + ".json"; }

}  // namespace

std::string bought_table(const BoughtSchema& bought, const Schema& schema) {
  std::vector<std::vector<std::string>> lines{{"column", "taken for", "found"}};
  const std::vector<ColumnFinding> found = findings(bought);
  for (std::size_t k = 0; k < found.size(); ++k) {
    const Column& column = schema.columns.at(k);
    const std::string type = column.type == ColumnType::number
                                 ? fmt::format("{}, {} to {}", column.is_date() ? "date" : "number",
                                               column.text_of(column.lo), column.text_of(column.hi))
                             : column.type == ColumnType::category
                                 ? fmt::format("category, {} level{}", column.levels.size(),
                                               column.levels.size() == 1 ? "" : "s")
                                 : "ignored";
    std::string words = found[k].words;
    constexpr std::size_t most = 60;
    if (columns_of(words) > most) {
      words = words.substr(0, words.rfind(", ", most));
      words += ", ...";
    }
    lines.push_back({column.name, type, words});
  }
  return table(lines);
}

void require_visible(const SchemaQuestions& questions, const SchemaProblem& problem) {
  const double share = least_visible_share(questions, problem);
  if (share > refused_share) {
    throw Infeasible(
        "--epsilon",
        fmt::format("a level is seen from {:.3g} % of {} rows on, and above {:.0f} % too much of a "
                    "table stays unseen",
                    100 * share, problem.rows, 100 * refused_share),
        "give a larger --epsilon, or write the ranges and levels (gibbsite schema without "
        "--epsilon makes a form)");
  }
  if (share > warned_share) {
    fmt::print(stderr,
               "gibbsite: warning: levels of fewer than {:.3g} % of the rows go into (other), and "
               "ranges lose their rare ends: a larger --epsilon sees more\n",
               100 * share);
  }
}

std::string bought_plan_words(const BoughtFitPlan& plan) {
  const double share = least_visible_share(plan.questions, plan.problem);
  return fmt::format(
      "ε = {:.4g}: {:.3g} % of mu^2 buys the schema of {} columns, the fit keeps {:.3g} % of its "
      "mu; levels are seen from {:.0f} rows on, {:.3g} % of {}{}\n",
      plan.budget.epsilon, 100 * plan.share, plan.problem.columns, 100 * std::sqrt(1 - plan.share),
      plan.questions.threshold, 100 * share, human_count(static_cast<double>(plan.problem.rows)),
      share > refused_share  ? ": too much stays unseen, and fit refuses"
      : share > warned_share ? ": rarer ones go into (other), and fit warns"
                             : "");
}

void SchemaPurchase::add_to(CLI::App& app) {
  add_number(app, "--epsilon", epsilon,
             "find types, ranges and levels in the table's cells, with noise and a certificate");
  add_number(app, "--delta", delta,
             fmt::format("--epsilon: privacy budget δ; default {}", default_schema_delta));
  app.add_option("--out", out,
                 "--epsilon: the schema (TOML); its certificate is written beside it, as FILE.json")
      ->type_name("FILE");
  app.add_option("--label", label, "--epsilon: the column to predict, which is not asked about")
      ->type_name("COLUMN");
  app.add_option("--positive", positive, "--label: its positive class")->type_name("CLASS");
  add_count(app, "--rows-per-person", rows_per_person,
            "--epsilon: most rows one person has; default 1");
  app.add_option("--ledger", ledger_path,
                 "--epsilon: budget of all releases about these people, where this one is entered")
      ->type_name("FILE");
  add_force(app, force);
}

bool SchemaPurchase::asked() const {
  const std::array<std::pair<bool, const char*>, 6> others{
      {{delta.has_value(), "--delta"},
       {!out.empty(), "--out"},
       {!label.empty(), "--label"},
       {!positive.empty(), "--positive"},
       {rows_per_person.has_value(), "--rows-per-person"},
       {!ledger_path.empty(), "--ledger"}}};
  for (const auto& [given, name] : others) {
    if (given && !epsilon) {
      throw BadInput(fmt::format(
          "{}: is of a schema that is bought; give --epsilon too, or leave it out", name));
    }
  }
  if (!epsilon) return false;
  if (out.empty()) {
    throw BadInput("--out: is missing; give the file that the schema is written to");
  }
  if (label.empty() != positive.empty()) {
    throw BadInput(label.empty()
                       ? "--positive: is a class of --label; give --label too, or leave it out"
                       : "--positive: is missing; name the positive class of --label");
  }
  return true;
}

void SchemaPurchase::require_places(const std::string& table) const {
  if (ranks().size() > 1) {
    throw BadInput("--epsilon: a schema is bought by one process; run it without a launcher");
  }
  std::error_code ignored;
  if (std::filesystem::exists(table, ignored) && !std::filesystem::is_regular_file(table, ignored))
    throw BadInput(table + ": is read up to three times; give a regular file");
  if (table == "-") throw BadInput("table: is read up to three times; give a file, not -");
  if (out == "-") throw BadInput("--out: two files are written; give a name, not -");
  for (const std::string& path : {out, certificate_path(out)}) {
    require_other_file(path, table, "the table");
    require_new(path, force);
    require_writable(path, "--out");
    if (!ledger_path.empty()) require_not_of_ledger(path, ledger_path, "--out");
  }
}

void SchemaPurchase::run(const std::string& table, bool is_header) const {
  const Budget budget{.epsilon = *epsilon,
                      .delta = delta.value_or(default_schema_delta),
                      .rows_per_person = rows_per_person.value_or(1)};
  budget.validate();
  const std::string beside = certificate_path(out);
  std::optional<Ledger> ledger;
  if (!ledger_path.empty()) {
    ledger.emplace(ledger_path);
    static_cast<void>(ledger->read());
  }
  const std::vector<std::string> header = first_line_names(table);
  if (header.empty()) {
    throw BadInput(
        fmt::format("{}: is no CSV file, of which alone a schema is bought; write it as "
                    "CSV",
                    table));
  }
  if (!is_header) {
    require_names(header, table);
    // The second line is a person's, so it cannot say whether the first one is too.
    if (label.empty()) {
      throw BadInput(
          table +
          ":1: its cells are published as names of columns, and nothing says that they are names; "
          "name the column to predict with --label and --positive, or give --header yes");
    }
  }
  const SchemaShape shape = schema_shape(header, label, positive, table);
  const auto planned = [&](std::uint64_t rows, const Budget& at) {
    return plan_schema({.rows = rows, .columns = shape.asked.size()}, at);
  };
  static_cast<void>(planned(budget.rows_per_person, budget));  // an illegal request ends here
  catch_interrupts();
  const TableCells cells = count_cells(table, shape.asked);
  stop_if_asked();
  if (cells.rows == 0) throw BadInput(table + ": has no rows; give a table with some");
  // From here on public numbers decide: under replace-one the number of rows is one.
  const SchemaPlan plan = planned(cells.rows, budget);
  require_visible(std::get<SchemaQuestions>(plan.mechanism), plan.problem);
  if (ledger) {
    require_room(*ledger, budget, own_guarantee(plan),
                 [&](const Budget& smaller) -> std::optional<Guarantee> {
                   try {
                     return ledger_guarantee(planned(cells.rows, smaller));
                   } catch (const Infeasible&) {
                     return std::nullopt;
                   }
                 });
  }
  warn_of_large_budget(budget, cells.rows);
  FitOptions options;
  options.ledger = ledger ? &*ledger : nullptr;
  const SchemaRelease made = buy_schema(shape, cells, table, plan, Key::from_os(), options);
  write_entered(beside, force, ledger,
                [&](Existing existing) { write_release(beside, made, existing); });
  write_entered(out, force, ledger, [&](Existing existing) {
    write_file_atomically(out, bought_toml(made.model()), public_file, existing);
  });
  fmt::print("{}\n{}\n{}Written: {} and {}; next:\n  gibbsite verify {}\n",
             bought_table(made.model(), made.model().schema), in_words(made.certificate()),
             ledger ? entered_line(*ledger) : "", out, beside, beside);
}

}  // namespace gibbsite::cli
