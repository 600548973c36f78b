// fit --model of a family over one column.
#include "gibbsite/run/fit_family.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "family.hpp"
#include "fit_command.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/release/query.hpp"
#include "gibbsite/run/look.hpp"
#include "gibbsite/run/public_prior.hpp"
#include "interrupt.hpp"
#include "ledger.hpp"
#include "progress.hpp"
#include "standard_output.hpp"
#include "text.hpp"

namespace gibbsite::cli {
namespace {

// An event to begin with: of a listed level, as "(other)" says little, or of a number beside its
// estimate.
std::string event_of(const FamilyRelease& drawn) {
  const auto names = parameter_names(drawn);
  const std::string name = shown(names.back().starts_with('(') ? names.front() : names.back());
  if (drawn.certificate().problem.has_levels()) return name + " > 0.5";
  return fmt::format("{} > {:.2g}", name, estimates(drawn, 1).front().value);
}

}  // namespace

void FitCommand::fit_family_model(Family kind) const {
  require_no_engine();
  if (family.column.empty()) {
    throw BadInput(
        fmt::format("--column: is missing; name the column that {} is fitted to", plan.model));
  }
  const Budget budget = plan.budget();
  cache_from_string(cache);
  const auto ledger = opened_ledger();
  prepare();
  const Schema domain = read_column_schema(schema, family.column);
  // Throws on what no table could mend.
  static_cast<void>(complete(plan, family_problem(domain, kind, 1)));
  // Public rows are read before a private one is.
  std::optional<PublicColumn> known;
  if (!public_table.empty()) known = read_public_column(public_table, table.data, domain);
  const Dataset data = read(domain, true).data;
  const Checked read_as = checked(data, data.rows());
  FamilyProblem problem = complete(plan, family_problem(domain, kind, data.rows()));
  if (known)
    problem.public_counts = public_counts(known->data, problem, public_weight, known->table);
  const FamilyPlan made = gibbsite::plan(plan, problem, budget);
  look_at(plan, made, ledger ? &*ledger : nullptr, warn);
  if (check) return say_checked(family_line(made) + "\n", read_as);
  if (verbose) say(family_line(made) + "\n\n");
  Progress bar("drawing", quiet, interval());
  const FamilyRelease drawn = fit_family(data, made, key(), watched(bar, ledger));
  say_family(drawn, ledger);
  tell_private(read_as);
}

void FitCommand::say_family(const FamilyRelease& drawn, const std::optional<Ledger>& ledger,
                            const std::string& before) const {
  write_entered(ledger, [&](Existing existing) { write_release(out, drawn, existing); });
  say(before + fmt::format("{}\n{}\nWritten: {}; next:\n"
                           "  gibbsite query --model {} --probability '{}'\n"
                           "  gibbsite verify {}\n",
                           family_report(drawn), wrapped_lines(in_words(drawn.certificate())),
                           StandardOutput::named(out), out, event_of(drawn), out));
}

}  // namespace gibbsite::cli
