#pragma once
// A schema and what is fitted by it, in the order that privacy rests on, the same of every kind.
// Internal to the run module.
#include <fmt/format.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "certificate/certify.hpp"
#include "core/format_message.hpp"
#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/floating_point.hpp"
#include "gibbsite/mechanism/bought_fit.hpp"
#include "gibbsite/mechanism/ledger_guarantee.hpp"
#include "gibbsite/privacy/gdp_fit.hpp"
#include "gibbsite/run/fit_bought.hpp"
#include "model/column_type.hpp"
#include "run/entering.hpp"
#include "run/schema_answers.hpp"

namespace gibbsite {

/// Refuses an option of a request, for what such a run does: "a network's tables are counted once".
[[noreturn]] inline void refuse_with_bought(const char* field, const char* why) {
  throw BadInput(
      Field{field}, fmt::format("has no meaning where the schema is bought with the fit: {}", why),
      format_message("leave it out, or buy the schema apart (the command schema with {}) and give "
                     "it as {}",
                     Field{"epsilon"}, Field{"schema"}));
}

/// People are those of the purchase, however the reader of rows takes an id: what they are many is
/// public, and no row may end a fit by being read as somebody else's.
inline void hold_as_counted(Dataset& rows, const PeopleRows& held, const SchemaProblem& problem) {
  if (rows.rows() != held.person.size() || rows.rows_of_person > 0)
    throw BadInput("data: its rows are not those that were counted; read it as it was");
  rows.person = held.person;
  rows.hold_people(problem.rows_of_person);
}

/// A schema that may follow from a purchase: these columns, of no table, beside those of how its
/// rows count.
inline Schema schema_that_may_follow(const Label& target, std::vector<Column> columns,
                                     const CountingColumns& counting) {
  Schema out;
  out.label_name = "y";
  out.label = target;
  out.invalid = Invalid::middle;
  out.intercept = true;
  out.columns = std::move(columns);
  // Under names of their own: those of the table may be the label's here.
  for (Column& beside : counting.columns()) {
    beside.name = to_string(beside.type);
    out.columns.push_back(std::move(beside));
  }
  out.row_norm = out.auto_row_norm();
  return out;
}

/// An error behind the noise, which says so. Several at once stay as they are.
template <class E>
[[noreturn]] void throw_paid(const E& error) {
  if (dynamic_cast<const BadInputs*>(&error) != nullptr) throw;
  const Message paid = "the budget is spent, as the schema was bought";
  throw E(error.about(), error.wrong(), error.hint().empty() ? paid : paid + "; " + error.hint());
}

/// What a kind's own part of such a run is made of. Both steps may throw: what ends there is paid.
template <class Kind>
struct BoughtSteps {
  using Plan = typename Kind::Plan;

  std::string run;  ///< what a ledger calls it, "fit whitened"
  std::string backend = "reference";
  /// Reads the table by the schema that follows from the answers, and plans for it.
  std::function<Plan(const BoughtSchema&)> planned;
  /// The model of such a plan, its numbers on the release grid of the analysis.
  std::function<typename Kind::Model(const Plan&, StreamKey&, const Analysis&)> made;
};

/// What the fit costs with its schema is within what was fixed before the schema was known.
inline void require_within(const Guarantee& is, const Guarantee& fixed) {
  if (is.mu <= fixed.mu && is.epsilon0 <= fixed.epsilon0 && is.delta0 <= fixed.delta0 &&
      is.tv <= fixed.tv && is.who == fixed.who)
    return;
  throw BadInput("plan: the fit costs more than was fixed for every schema; report this");
}

/// The schema, the fit and their one release, entered in the ledger of the options. `plan` was
/// computed by the run, the counts are those of the table, and whatever no schema could mend has
/// been refused.
template <class Kind>
ReleaseOf<Kind> bought_release(const TableToBuy& table, const BoughtFitPlan& plan,
                               const FitOptions& options, StreamKey& stream,
                               const BoughtSteps<Kind>& steps) {
  const bool people = plan.problem.of_people();
  const LedgerPrice price{in_a_ledger(gdp_cover_up(plan.guarantee), people),
                          in_a_ledger(plan.guarantee, people)};
  if (options.ledger != nullptr) require_room(options, stream.kind, price);
  bool is_entered = false;
  // From here on there is noise, so a refusal may tell of it and is paid.
  try {
    BoughtSchema shape = table.shape.shape;
    shape.rows_per_person = plan.guarantee.who.rows_per_person;
    BoughtSchema bought =
        answered_schema(std::move(shape), table.cells, table.source, plan.questions, stream);
    const typename Kind::Plan made = steps.planned(bought);
    StandardArithmetic::require();  // the caller's code has run
    const Analysis own = analysis_of_plan(made);
    const Analysis both = with_schema(own, plan.questions, plan.problem, plan.guarantee.who);
    require_within(both.guarantee, plan.guarantee);
    typename Kind::Model model = steps.made(made, stream, own);
    StandardArithmetic::require();
    model.bought = std::move(bought);
    const StandardArithmetic again;
    auto certificate = certify<Kind>(
        made, {stream.kind, steps.backend, model.schema.invalid == Invalid::refuse, {}}, both,
        Kind::extra_of(std::as_const(model)));
    certificate.epsilon = plan.budget.epsilon;
    certificate.delta = plan.budget.delta;
    certificate.claimed = plan.guarantee;
    ReleaseOf<Kind> out = ReleaseAccess::make(std::move(model), std::move(certificate));
    if (out.certificate().is_void()) return out;
    enter(options, steps.run + ", with its schema", price, key_hash(stream), to_json(out));
    is_entered = true;
    if (const Verification check = verify(out); !check.valid) {
      throw BadInput(fmt::format(
          "plan: its certificate does not verify ({}); use the plan as plan_bought_fit() made it",
          check.failures.front()));
    }
    return out;
  } catch (const Interrupted& error) {
    if (is_entered) throw;
    // The fit's progress tells how wide the bought schema is: without a price, who interrupts and
    // tries again could wait for one that he likes.
    enter_refused(options, steps.run + ", interrupted with its schema", price, stream);
    throw Interrupted(std::string(error.what()) +
                      "; the budget is spent, as the schema was bought");
  } catch (...) {
    if (!is_entered) enter_refused(options, steps.run + ", refused with its schema", price, stream);
    try {
      throw;
    } catch (const BadInput& error) {
      throw_paid(error);
    } catch (const Infeasible& error) {
      throw_paid(error);
    }
  }
}

}  // namespace gibbsite
