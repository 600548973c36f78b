// Cross tables: counted, or printed again from a released file.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "cross_table.hpp"
#include "fit_command.hpp"
#include "gibbsite/certificate/certificate.hpp"
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/core/error.hpp"
#include "ledger.hpp"
#include "network.hpp"
#include "options.hpp"
#include "standard_output.hpp"
#include "text.hpp"

namespace gibbsite::cli {
namespace {

struct TableCommand {
  FitCommand fit;
  std::string model, columns, csv;
  bool json = false;

  void run(const CLI::App& app) {
    if (!columns.empty()) fit.columns = named_columns(columns);
    if (!model.empty()) return print_again(app);
    const std::pair<const char*, bool> needed[]{{"--data", !fit.table.data.empty()},
                                                {"--schema", !fit.schema.empty()},
                                                {"--columns", !fit.columns.empty()},
                                                {"--epsilon", fit.plan.epsilon || fit.plan.rho},
                                                {"--delta", fit.plan.delta.has_value()}};
    require_given(needed);
    fit.plan.model = network_model;
    fit.plan.mechanism = NetworkCounts::name;
    if (json && !fit.check) fit.quiet = true;
    if (!fit.check) require_place_of_csv();
    fit.told = [this](const NetworkRelease& release) { say(release); };
    fit.run();
  }

 private:
  // Prints the cross table of a release: nothing but the file is read.
  void print_again(const CLI::App& app) const {
    for (const CLI::Option* option : app.get_options()) {
      const std::string name = option->get_name();
      const bool is_of_print = name == "--help" || name == "--model" || name == "--columns" ||
                               name == "--csv" || name == "--json" || name == "--force";
      if (option->count() > 0 && !is_of_print && name.find("--help") == std::string::npos) {
        throw BadInput(fmt::format(
            "{}: has no meaning with --model, whose numbers are released already; leave it out",
            name));
      }
    }
    if (!csv.empty()) {
      require_other_file(csv, model, "--model", "--csv");
      require_new(csv, fit.force, "--csv");
      require_writable(csv, "--csv");
    }
    const NetworkRelease release = read_release<GraphicalKind>(model);
    if (release.certificate().is_void()) {
      fmt::print(stderr, "gibbsite: warning: {}: its noise follows from a seed: no guarantee\n",
                 model);
    }
    const CrossTable table = cross_table(release, fit.columns);
    write_csv(table);
    if (json) {
      print_json(table);
    } else if (csv.empty()) {
      fmt::print("{}", cross_table_screen(table));
    }
  }

  void require_place_of_csv() const {
    if (csv.empty()) return;
    require_other_file(csv, fit.table.data, "--data", "--csv");
    require_other_file(csv, fit.table.labels, "--labels", "--csv");
    require_other_file(csv, fit.schema, "--schema", "--csv");
    require_other_file(csv, fit.out, "--out", "--csv");
    require_not_of_ledger(csv, fit.ledger_path, "--csv");
    require_new(csv, fit.force, "--csv");
    require_writable(csv, "--csv");
  }

  void write_csv(const CrossTable& table) const {
    if (csv.empty()) return;
    write_new(
        csv, fit.force,
        [&](Existing existing) {
          write_file_atomically(csv, cross_table_csv(table), public_file, existing);
        },
        "--csv");
  }

  static void print_json(const CrossTable& table) {
    fmt::print("{}\n", cross_table_json(table).dump(2, ' ', false,
                                                    nlohmann::json::error_handler_t::replace));
  }

  void say(const NetworkRelease& release) const {
    const CrossTable table = cross_table(release, fit.columns);
    write_csv(table);
    if (json) return print_json(table);
    const std::string out = StandardOutput::named(fit.out);
    fit.say(
        fmt::format("{}\n{}\nWritten: {}{}; next:\n"
                    "  gibbsite table --model {}\n"
                    "  gibbsite verify {}\n",
                    cross_table_screen(table), wrapped_lines(in_words(release.certificate())), out,
                    csv.empty() ? "" : " and " + csv, out, out));
  }
};

void define_table(CLI::App& app) {
  const auto command = std::make_shared<TableCommand>();
  FitCommand& fit = command->fit;
  fit.add_input(app, false);
  app.add_option("--columns", command->columns,
                 "columns of the table, with commas between; one with a comma in quotes")
      ->type_name("LIST");
  fit.plan.add_budget_to(app, false);
  add_output(app, "--csv", command->csv,
             "CSV of every cell and margin to write too: estimate, std_err, lower, upper, count; - "
             "(or no FILE) is standard output")
      ->expected(0, 1)
      ->default_str("-");
  app.add_flag("--json", command->json, "print the table as JSON and nothing else");
  app.add_option(
         "--model", command->model,
         "print the table of a file that `table`, or `fit --model network`, wrote; costs no "
         "privacy")
      ->type_name("FILE");
  fit.plan.add_neighbors_to(app);
  app.add_flag("--verbose", fit.verbose, "say more: the plan, and how rows lie in memory");
  fit.add_run(app);
  app.callback([command, &app] { command->run(app); });
}

const Register table_command{
    {3, "table", "Release a cross table: noisy counts with margins, intervals and a certificate",
     "gibbsite table --data table.csv --schema table.toml --columns sex,age --epsilon 1 --delta "
     "1e-6 --out table.json",
     define_table}};

}  // namespace
}  // namespace gibbsite::cli
