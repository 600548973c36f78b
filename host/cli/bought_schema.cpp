#include "bought_schema.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
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
#include "gibbsite/run/buy_schema.hpp"
#include "gibbsite/run/fit_bought.hpp"
#include "gibbsite/run/public_schema.hpp"
#include "gibbsite/run/purchase.hpp"
#include "gibbsite/run/request_text.hpp"
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
    const Column* const of = schema.column_named(found[k].column.name);
    const Column& column = of != nullptr ? *of : Column{.name = found[k].column.name};
    const std::string type =
        column.type == ColumnType::number
            ? fmt::format("{}, {} to {}", column.is_date() ? "date" : "number",
                          column.text_of(column.lo), column.text_of(column.hi))
        : column.type == ColumnType::person ? "person"
        : column.type == ColumnType::weight || column.type == ColumnType::exposure
            ? fmt::format("{}, {} to {}", column.type == ColumnType::weight ? "weight" : "exposure",
                          column.lo, column.hi)
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
  for (const WantedParts& wanted : bought.parts) {
    for (const DatePart part : wanted.parts) {
      const std::string name = part_name(wanted.column, part);
      const Column* const column = schema.column_named(name);
      lines.push_back(
          {name,
           column == nullptr        ? "left out"
           : part == DatePart::year ? fmt::format("year, {} to {}", column->lo, column->hi)
                                    : std::string(to_string(part)),
           column == nullptr ? "no dates were found, or there is no room" : "of the date"});
    }
  }
  return table(lines);
}

void LabelArguments::add_to(CLI::App& app, const std::string& of, const std::string& help) {
  app.add_option("--label", label, help)->type_name("COLUMN");
  app.add_option("--positive", positive, of + "of two classes, the positive one")
      ->type_name("CLASS");
  app.add_option("--classes", classes, of + "all classes, where there are more than two")
      ->type_name("A,B,C");
  app.add_option("--range", range, of + "of an amount or a count, its public range")
      ->type_name("LO,HI");
  add_number(app, "--tolerance", tolerance,
             of + "of an amount, the error above which a prediction is far off; default: a fifth "
                  "of --range");
  app.add_flag("--counts", counts, of + "--range is of counts, from 0 to the highest");
  app.add_option("--date-parts", date_parts,
                 of +
                     "parts of a date as columns of their own, as in hired=year,month,weekday; may "
                     "be repeated")
      ->type_name("COLUMN=PARTS")
      ->allow_extra_args(false);
  counting.add_to(app, of);
}

void CountingArguments::add_to(CLI::App& app, const std::string& of) {
  app.add_option("--person", person,
                 of + "the column that says whose a row is: rows of one person then count as at "
                      "most --rows-per-person together, and the guarantee is for people")
      ->type_name("COLUMN");
  app.add_option("--weight", weight, of + "the column that says how much a row counts")
      ->type_name("COLUMN");
  app.add_option("--weight-range", weight_range, "the public range of --weight, from 0 on")
      ->type_name("LO,HI");
  app.add_option("--exposure", exposure,
                 of + "the column that says over how much a count was made, such as person-years")
      ->type_name("COLUMN");
  app.add_option("--exposure-range", exposure_range,
                 "the public range of --exposure, above 0; others count as its nearer end")
      ->type_name("LO,HI");
}

const char* CountingArguments::said() const {
  return !person.empty()           ? "--person"
         : !weight.empty()         ? "--weight"
         : !weight_range.empty()   ? "--weight-range"
         : !exposure.empty()       ? "--exposure"
         : !exposure_range.empty() ? "--exposure-range"
                                   : nullptr;
}

CountingColumns CountingArguments::columns() const {
  const auto range = [](const std::string& text, const char* name) {
    return text.empty() ? std::optional<std::vector<double>>() : parse_numbers(text, name);
  };
  return CountingRequest{.person = person,
                         .weight = weight,
                         .exposure = exposure,
                         .weight_range = range(weight_range, "--weight-range"),
                         .exposure_range = range(exposure_range, "--exposure-range")}
      .columns();
}

SchemaShape LabelArguments::shape(const std::vector<std::string>& header, const Label& target,
                                  const std::string& source) const {
  SchemaShape out = schema_shape(header, label, target, source, counting.columns());
  want_parts(out, date_parts);
  return out;
}

const char* LabelArguments::said() const {
  return !positive.empty()  ? "--positive"
         : !classes.empty() ? "--classes"
         : !range.empty()   ? "--range"
         : tolerance        ? "--tolerance"
         : counts           ? "--counts"
                            : nullptr;
}

Label LabelArguments::target() const {
  LabelRequest asked{
      .label = label, .positive = positive, .tolerance = tolerance, .counts = counts};
  if (!classes.empty()) asked.classes = pieces(classes);
  if (!range.empty()) asked.range = parse_numbers(range, "--range");
  return asked.target();
}

PublicSchema public_schema_of(const std::string& data, const LabelArguments& label,
                              const std::string& public_table) {
  std::error_code ignored;
  if (std::filesystem::exists(data, ignored) && !std::filesystem::is_regular_file(data, ignored))
    throw BadInput("--data: its header is read first; give a regular file");
  const SchemaShape shape = label.shape(header_of_table(data), label.target(), data);
  PublicSchema found = public_schema_of_file(shape, data, public_table);
  require_other_cells(shape, data, public_table);  // the table in another format
  note_ids(shape, 1, note);
  return found;
}

std::string public_words(const Schema& schema) {
  return fmt::format(
      "ranges, levels and typical values come from {} ({} rows), which you say is public: no "
      "guarantee covers people in it\n",
      shown(schema.from_public->file), schema.from_public->rows);
}

std::string bought_plan_words(const BoughtFitPlan& plan) {
  const double share = least_visible_share(plan.questions, plan.problem);
  const std::string kept =
      plan.fit.epsilon < plan.budget.epsilon
          ? fmt::format("draws keep ε = {:.3g}", plan.fit.epsilon)
          : fmt::format("the fit keeps {:.3g} % of its mu", 100 * std::sqrt(1 - plan.share));
  return fmt::format(
      "ε = {:.4g}: {:.3g} % of mu^2 buys the schema of {} column{}, {}; levels are seen from {:.0f} rows on, {:.3g} % of {}{}{}\n",
      plan.budget.epsilon, 100 * plan.share, plan.problem.columns,
      plan.problem.columns == 1 ? "" : "s", kept, plan.questions.threshold, 100 * share,
      human_count(static_cast<double>(plan.problem.rows)),
      plan.problem.of_people() ? " people" : "",
      share > refused_share  ? ": too much stays unseen, and fit refuses"
      : share > warned_share ? ": rarer ones go into (other), and fit warns"
                             : "");
}

void SchemaPurchase::add_to(CLI::App& app) {
  add_number(app, "--epsilon", epsilon,
             "find types, ranges and levels in the table's cells, with noise and a certificate");
  add_number(app, "--delta", delta,
             fmt::format("--epsilon: privacy budget δ; default {}", default_schema_delta));
  app.add_option(
         "--out", out,
         "the schema (TOML); of --epsilon its certificate is written beside it, as FILE.json")
      ->type_name("FILE");
  app.add_option("--public", public_table,
                 "find types, ranges and levels in the cells of this public table of the same "
                 "columns, at no cost; nothing protects people in it")
      ->type_name("FILE");
  label.add_to(app,
               "--label: ", "--epsilon, --public: the column to predict, which is not asked about");
  app.add_option("--adjacency", adjacency, "--epsilon: replace-one, or add-remove with --rows-cap")
      ->type_name("NAME");
  add_count(app, "--rows-cap", rows_cap,
            "add-remove: public upper bound on the number of rows, with --person of people");
  add_count(
      app, "--rows-per-person", rows_per_person,
      "--epsilon: most rows one person has, with --person what somebody's rows count at most; "
      "default 1");
  app.add_option("--ledger", ledger_path,
                 "--epsilon: budget of all releases about these people, where this one is entered")
      ->type_name("FILE");
  add_force(app, force);
}

bool SchemaPurchase::asked() const {
  const bool is_public = !public_table.empty();
  struct Other {
    bool given, of_public;
    const char* name;
  };
  const std::array<Other, 10> others{
      {{delta.has_value(), false, "--delta"},
       {!out.empty(), true, "--out"},
       {!label.label.empty(), true, "--label"},
       {label.said() != nullptr, true, label.said()},
       {!label.date_parts.empty(), true, "--date-parts"},
       {label.counting.said() != nullptr, true, label.counting.said()},
       {!adjacency.empty(), false, "--adjacency"},
       {rows_cap.has_value(), false, "--rows-cap"},
       {rows_per_person.has_value(), false, "--rows-per-person"},
       {!ledger_path.empty(), false, "--ledger"}}};
  if (is_public && epsilon)
    throw BadInput("--public: costs nothing, and --epsilon buys; leave one of them out");
  for (const auto& [given, of_public, name] : others) {
    if (given && !epsilon && !(is_public && of_public)) {
      throw BadInput(fmt::format(
          "{}: is of a schema that is bought; give --epsilon too, or leave it out", name));
    }
  }
  if (!epsilon && !is_public) return false;
  static_cast<void>(label.counting.columns());
  if (out.empty() && !is_public) {
    throw BadInput("--out: is missing; give the file that the schema is written to");
  }
  if (label.label.empty() && label.said() != nullptr) {
    throw BadInput(fmt::format("{}: says what --label holds; give --label too, or leave it out",
                               label.said()));
  }
  if (label.label.empty()) return true;
  const Label target = label.target();
  if (!is_public) static_cast<void>(bought_request({}, target, label.counting.columns()));
  return true;
}

void SchemaPurchase::require_places(const std::string& table) const {
  if (!public_table.empty()) {
    if (out.empty() || out == "-") return;
    require_other_file(out, table, "the table");
    require_other_file(out, public_table, "--public");
    require_new(out, force);
    return require_writable(out, "--out");
  }
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

std::vector<std::string> SchemaPurchase::names_of(const std::string& table, bool is_header) const {
  std::vector<std::string> header = column_names(table);
  // A Parquet or Arrow file names its columns itself.
  if (!is_header && !first_line_names(table).empty()) {
    require_names(header, table);
    // The second line is a person's, so it cannot say whether the first one is too.
    if (label.label.empty()) {
      throw BadInput(
          table +
          ":1: its cells are published as names of columns, and nothing says that they are names; "
          "name the column to predict with --label, or give --header yes");
    }
  }
  return header;
}

void SchemaPurchase::run_public(const std::string& table,
                                const std::vector<std::string>& header) const {
  const SchemaShape shape =
      label.shape(header, label.label.empty() ? TwoClasses{} : label.target(), table);
  const PublicSchema found = public_schema_of_file(shape, table, public_table);
  note_ids(shape, 1, note);
  const std::string text = public_toml(found.counts, found.schema);
  if (out.empty() || out == "-") return fmt::print("{}", text);
  write_file_atomically(out, text, public_file, force ? Existing::replaced : Existing::kept);
  fmt::print("{}{}\nWritten: {}\n", bought_table(found.counts, found.schema),
             public_words(found.schema), out);
}

Budget SchemaPurchase::budget() const {
  const Budget out{
      .epsilon = *epsilon,
      .delta = delta.value_or(default_schema_delta),
      .adjacency = adjacency.empty() ? Adjacency::replace_one : adjacency_from_string(adjacency),
      .rows_per_person = rows_per_person.value_or(1)};
  out.validate();
  const bool replaced = out.adjacency == Adjacency::replace_one;
  if (replaced == rows_cap.has_value()) {
    throw BadInput(replaced ? "--rows-cap: has a meaning with --adjacency add-remove; leave it out"
                            : "--rows-cap: is missing; under add-remove the number of rows, or of "
                              "people, is not public, give a bound that holds");
  }
  return out;
}

void SchemaPurchase::run(const std::string& table, bool is_header) const {
  if (!public_table.empty()) return run_public(table, names_of(table, is_header));
  const Budget budget = this->budget();
  const std::string beside = certificate_path(out);
  std::optional<Ledger> ledger;
  if (!ledger_path.empty()) ledger.emplace(ledger_path);
  const SchemaRequest asked{
      .shape = label.shape(names_of(table, is_header),
                           label.label.empty() ? TwoClasses{} : label.target(), table),
      .budget = budget,
      .rows_cap = rows_cap};
  catch_interrupts();
  const auto bought = purchase(asked, table, ledger ? &*ledger : nullptr, warn);
  stop_if_asked();
  note_ids(asked.shape, budget.rows_per_person, note);
  FitOptions options;
  options.ledger = ledger ? &*ledger : nullptr;
  const SchemaRelease made =
      buy_schema(asked.shape, bought.cells, table, bought.plan, Key::from_os(), options);
  if (!bought.warned) warn_of_seen(made.model(), warn);
  write_entered(beside, force, ledger,
                [&](Existing existing) { write_release(beside, made, existing); });
  write_entered(out, force, ledger, [&](Existing existing) {
    write_file_atomically(out, bought_toml(made.model(), purchase_of(made)), public_file, existing);
  });
  fmt::print("{}\n{}\n{}Written: {} and {}; next:\n  gibbsite verify {}\n",
             bought_table(made.model(), made.model().schema),
             wrapped_lines(in_words(made.certificate())), ledger ? entered_line(*ledger) : "", out,
             beside, beside);
}

}  // namespace gibbsite::cli
