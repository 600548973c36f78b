// fit --model network, and the cross tables of `table`.
#include "gibbsite/run/fit_network.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "cross_table.hpp"
#include "fit_command.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/run/look.hpp"
#include "interrupt.hpp"
#include "ledger.hpp"
#include "network.hpp"
#include "progress.hpp"
#include "reading.hpp"
#include "standard_output.hpp"
#include "text.hpp"

namespace gibbsite::cli {
namespace {

// A question to begin with.
std::string asked_of(const NetworkModel& model) {
  std::size_t column = model.network.size() - 1;
  const auto is_level = [&](std::size_t c) {
    return model.schema.columns[c].type == ColumnType::category;
  };
  while (column > 0 && !is_level(column)) --column;
  const Column& asked = model.schema.columns[column];
  if (!is_level(column)) return fmt::format("P({} >= {})", asked.name, asked.edges.front());
  return fmt::format("P({} = {})", asked.name, asked.levels.front());
}

}  // namespace

void FitCommand::fit_network_model() const {
  require_no_engine();
  const Budget budget = plan.budget();
  cache_from_string(cache);
  const auto ledger = opened_ledger();
  prepare();
  const Schema domain =
      columns.empty() ? read_network_schema(schema) : read_table_schema(schema, columns);
  // Throws on what no table could mend.
  static_cast<void>(network_problem(plan, domain, 1));
  TableArguments::Share share = read(domain, true);
  // What is public under replace-one: of people, who they are many.
  const std::uint64_t rows = counted(share, budget.rows_per_person);
  if (!check) share.data.person = {};  // four bytes a row that nothing else asks for
  const Dataset data = std::move(share.data);
  Checked read_as = checked(data, data.rows());
  read_as.warnings += warn_of_network_reading(data);
  const NetworkPlan made = gibbsite::plan(plan, network_problem(plan, domain, rows), budget);
  look_at(plan, made, ledger ? &*ledger : nullptr, warn);
  if (!release_counts.empty() && draws_tables(made.candidate().mechanism))
    throw BadInput(
        fmt::format("--release-counts: --mechanism {} draws tables and counts none; "
                    "leave it out",
                    name_of(made.candidate().mechanism)));
  const std::string planned =
      (columns.empty() ? network_line(made) : cross_table_line(made, domain)) + "\n";
  if (check) return say_checked(planned, read_as);
  if (verbose) say(planned + "\n");
  Progress bar("counting", quiet, interval());
  const NetworkRelease release = fit_network(data, made, key(), watched(bar, ledger));
  say_network(release, ledger);
  tell_private(read_as);
}

void FitCommand::say_network(const NetworkRelease& release, const std::optional<Ledger>& ledger,
                             const std::string& before) const {
  write_entered(ledger, [&](Existing existing) { write_release(out, release, existing); });
  try {
    if (!release_counts.empty()) {
      write_new(
          release_counts, force,
          [&](Existing existing) {
            write_file_atomically(release_counts, counts_csv(release.model()), public_file,
                                  existing);
          },
          "--release-counts");
    }
    if (told) return told(release);
  } catch (const Error&) {
    // Whoever runs the same again pays twice.
    fmt::print(stderr,
               "gibbsite: warning: {} is written and paid for; what could not be written beside it "
               "costs nothing more (gibbsite table --model {}, gibbsite query --model {})\n",
               out, out, out);
    throw;
  }
  say(before + fmt::format("{}{}\n{}\nWritten: {}; next:\n"
                           "  gibbsite query --model {} '{}'\n"
                           "  gibbsite synthesize --model {} --rows 1000 --out synthetic.csv\n"
                           "  gibbsite verify {}\n",
                           network_report(release.model()), weighted_words(release.model().schema),
                           wrapped_lines(in_words(release.certificate())),
                           StandardOutput::named(out), out, shown(asked_of(release.model())), out,
                           out));
}

}  // namespace gibbsite::cli
