#include "gibbsite/run/purchase.hpp"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/rounded_text.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/run/plan_chosen.hpp"
#include "gibbsite/run/room.hpp"
#include "gibbsite/run/warnings.hpp"
#include "run/bought_release.hpp"

namespace gibbsite {
namespace {

using QuestionsAt = std::function<SchemaQuestions(const Budget&)>;

// Whether it warned.
bool warn_of_share(double share, bool of_people, const Note& warn) {
  if (!(share > warned_share)) return false;
  warn(
      format_message("levels of fewer than {:.3g} % of the {} go into (other), and ranges lose "
                     "their rare ends: a larger {} sees more",
                     100 * share, of_people ? "people" : "rows", Field{"epsilon"}));
  return true;
}

// The least epsilon to two digits, rounded up, at which enough of a table is seen; 0 if a hundred
// times the budget is too little.
double visible_from(const SchemaProblem& problem, const Budget& budget,
                    const QuestionsAt& questions_at) {
  const auto is_seen = [&](double epsilon) {
    Budget larger = budget;
    larger.epsilon = epsilon;
    try {
      return least_visible_share(questions_at(larger), problem) <= refused_share;
    } catch (const Error&) {
      return false;
    }
  };
  constexpr double most = 100;
  double low = budget.epsilon, high = most * budget.epsilon;
  if (!is_seen(high)) return 0;
  for (int halving = 0; halving < 12; ++halving) {
    const double middle = std::sqrt(low * high);
    (is_seen(middle) ? high : low) = middle;
  }
  const double rounded = std::stod(text_up(high, 2));
  return is_seen(rounded) ? rounded : high;
}

// require_visible with an epsilon that would do; whether it warned.
bool warn_of_visible(const SchemaQuestions& questions, const SchemaProblem& problem,
                     const Budget& budget, const QuestionsAt& questions_at, const Note& warn) {
  const bool refused = least_visible_share(questions, problem) > refused_share;
  require_visible(questions, problem, refused ? visible_from(problem, budget, questions_at) : 0);
  return warn_of_share(least_visible_share(questions, problem), problem.of_people(), warn);
}

const SchemaQuestions& questions_of(const BoughtFitPlan& plan) { return plan.questions; }
const SchemaQuestions& questions_of(const SchemaPlan& plan) {
  return std::get<SchemaQuestions>(plan.mechanism);
}

void require_room_for(const Ledger& ledger, const BoughtFitPlan& plan,
                      const std::function<BoughtFitPlan(const Budget&)>& at, const Note& warn) {
  require_room(ledger, plan, at, warn);
}
void require_room_for(const Ledger& ledger, const SchemaPlan& plan,
                      const std::function<SchemaPlan(const Budget&)>& at, const Note& warn) {
  // Whoever buys a schema fits by it: a ledger of which nothing is left is refused.
  require_room(
      ledger, plan.budget, {}, [&](const Budget& smaller) { return ledger_guarantee(at(smaller)); },
      warn);
}

Budget budget_of_purchase(const BoughtRequest& asked) { return budget_of(asked.request); }
Budget budget_of_purchase(const SchemaRequest& asked) { return asked.budget; }
const std::optional<std::uint64_t>& cap_of(const BoughtRequest& asked) {
  return asked.request.rows_cap;
}
const std::optional<std::uint64_t>& cap_of(const SchemaRequest& asked) { return asked.rows_cap; }

PeopleBy people_by(const BoughtRequest& asked) {
  return kind_of(asked.request) == of_family ? PeopleBy::nobody : PeopleBy::purchase;
}
PeopleBy people_by(const SchemaRequest& /*asked*/) { return PeopleBy::purchase; }
bool people_said(const BoughtRequest& asked) { return asked.people_said; }
bool people_said(const SchemaRequest& /*asked*/) { return false; }

template <class Asked>
auto made_purchase(const Asked& asked, const CellSource& table, const Ledger* ledger,
                   const Note& warn) {
  const Budget budget = budget_of_purchase(asked);
  const double most_tv = tv_left(ledger);
  std::uint64_t rows = cap_of(asked).value_or(budget.rows_per_person);
  using PlanOfKind = decltype(plan_bought(asked, rows, budget, most_tv));
  const auto planned = [&](const Budget& at) { return plan_bought(asked, rows, at, most_tv); };
  // An illegal request ends here.
  static_cast<void>(planned(budget));
  Purchase<PlanOfKind> out{.cells = count_asked(asked.shape, table, budget.rows_per_person),
                           .plan = {}};
  if (out.cells.rows == 0) throw BadInput(table.name + ": has no rows; give a table with some");
  // From here on public numbers decide: that of rows, or people, under replace-one, else its cap.
  rows = cap_of(asked).value_or(out.cells.rows);
  out.plan = planned(budget);
  out.warned = warn_of_visible(
      questions_of(out.plan), out.plan.problem, budget,
      [&](const Budget& at) { return questions_of(planned(at)); }, warn);
  if (ledger != nullptr) require_room_for(*ledger, out.plan, planned, warn);
  warn_of_budget(budget, rows, warn);
  if (!out.plan.problem.of_people() && !people_said(asked))
    warn_of_uncounted_rows(budget, people_by(asked), warn);
  return out;
}

}  // namespace

BoughtFitPlan plan_bought(const BoughtRequest& asked, std::uint64_t rows, const Budget& budget,
                          double most_tv) {
  const PlanRequest& r = asked.request;
  if (kind_of(r) == of_network)
    return plan_bought_network(asked.shape, rows, budget, asked.share, most_tv);
  if (kind_of(r) != of_family)
    return plan_bought_fit(asked.shape, rows, budget, asked.share, r.intervals, most_tv);
  PlanRequest drawn = r;
  drawn.epsilon = budget.epsilon;
  drawn.delta = budget.delta;
  return plan_bought_family(drawn, rows, asked.share, most_tv);
}

SchemaPlan plan_bought(const SchemaRequest& asked, std::uint64_t rows, const Budget& budget,
                       double most_tv) {
  return plan_schema(problem_of(asked.shape, rows, budget.rows_per_person), budget, most_tv);
}

Purchase<BoughtFitPlan> purchase(const BoughtRequest& asked, const CellSource& table,
                                 const Ledger* ledger, const Note& warn) {
  return made_purchase(asked, table, ledger, warn);
}

Purchase<SchemaPlan> purchase(const SchemaRequest& asked, const CellSource& table,
                              const Ledger* ledger, const Note& warn) {
  return made_purchase(asked, table, ledger, warn);
}

void warn_of_seen(const BoughtSchema& bought, const Note& warn) {
  const AnswerScale& scale = bought.scale;
  if (!(scale.rows_noise > 0)) return;
  static_cast<void>(warn_of_share(scale.threshold / static_cast<double>(scale.rows),
                                  !bought.counting.person.empty(), warn));
}

void note_ids(const SchemaShape& shape, std::uint64_t rows_per_person, const Note& note) {
  if (!shape.shape.counting.person.empty() || rows_per_person > 1) return;
  for (const ColumnAnswers& column : shape.shape.columns) {
    if (!named_like_an_id(column.name) || shape.shape.counting.names(column.name)) continue;
    note(
        format_message("column {0} is named like an id and ignored, so that each row counts as one "
                       "person; if a person may have several rows, give {1} {0}",
                       gibbsite::quoted(column.name), Field{"person"}));
    return;
  }
}

bool bought_curves_widen(const BoughtRequest& asked, const BoughtFitPlan& plan) {
  constexpr std::size_t most_columns = 200;
  const BoughtSchema& shape = asked.shape.shape;
  if (!asked.request.intervals || asked.shape.asked.size() > most_columns) return false;
  std::vector<Column> numbers(asked.shape.asked.size());
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    numbers[k].name = fmt::format("x{}", k);
    numbers[k].type = ColumnType::number;
    numbers[k].hi = 1;
    numbers[k].automatic_curve = true;
  }
  const Schema lines = schema_that_may_follow(shape.target, std::move(numbers), shape.counting);
  const Schema chosen = chosen_curves(asked.request, lines, plan.problem.rows, plan.fit);
  return curves_widen(lines, chosen,
                      plan_chosen(asked.request, chosen, plan.problem.rows, plan.fit));
}

}  // namespace gibbsite
