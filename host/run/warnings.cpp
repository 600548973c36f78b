#include "gibbsite/run/warnings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "core/format_message.hpp"
#include "gibbsite/certificate/certificate.hpp"
#include "gibbsite/core/human_count.hpp"
#include "gibbsite/mechanism/learning.hpp"
#include "gibbsite/model/curve.hpp"

namespace gibbsite {
namespace {

std::size_t most_knots_of(const Schema& schema) {
  std::size_t knots = 0;
  for (const Column& column : schema.columns)
    if (column.is_curve()) knots = std::max(knots, column.knots.size());
  return knots;
}

// At the time, because the time is what tells.
void warn_of_run_time(const Mechanism& mechanism, const Note& warn) {
  const std::string_view reason = run_time_tells(mechanism);
  if (reason.empty()) return;
  warn(format_message(
      "{0} {1}: how long this run takes depends on the private rows ({2}), and the certificate "
      "does not cover it: keep its time to yourself, or run {0} path or {0} proximal {3}, whose "
      "passes are public",
      Field{"mechanism"}, name_of(mechanism), reason, Field{"padded"}));
}

}  // namespace

void warn_of_budget(const Budget& budget, std::uint64_t rows, const Note& warn) {
  constexpr double most_usual_epsilon = 10;  // a best guess may then be right 99.99 % of the time
  if (budget.epsilon > most_usual_epsilon) {
    warn(format_message(
        "{}: ε = {:.4g} by itself lets whoever knows all other rows be all but certain about one "
        "person's: this hardly protects anybody; give one from 0.1 to 10",
        Field{"epsilon"}, budget.epsilon));
  }
  if (budget.delta_is_large(rows))
    warn(format_message("{}: {}", Field{"delta"}, large_delta(budget.delta)));
}

void warn_of_uncounted_rows(const Budget& budget, PeopleBy could, const Note& warn) {
  const std::uint64_t k = budget.rows_per_person;
  if (k == 1) return;
  const Message counted = fmt::format(", and all rows of one count as at most {} together", k);
  const Message how = could == PeopleBy::schema
                          ? "give the column of ids {type = \"person\"} in the schema" + counted
                      : could == PeopleBy::purchase
                          ? format_message("give {} the column of ids{}", Field{"person"}, counted)
                          : Message("make sure that nobody has more");
  warn(format_message(
      "{}: nothing enforces it: of somebody with more than {} rows only so many are hidden; {}",
      Field{"rows_per_person"}, k, how));
}

void warn_of_few_rows(const Plan& plan, const std::optional<PositiveShare>& share,
                      const Note& warn) {
  constexpr double too_little = 0.5, enough = 0.9;
  if (!is_measured(plan.candidate().mechanism)) return;
  const auto expected = expected_learning(plan, share);
  if (!expected || !(expected->kept < too_little)) return;
  const double rows = rows_to_keep(enough, plan.problem, plan.budget.neighbors(), expected->mu,
                                   expected->from_few, expected->evenness);
  const char* const counted = plan.problem.of_people() ? "people" : "rows";
  const bool one = plan.problem.rows == 1;
  warn(fmt::format(
      "{} {} few for {} at ε = {:.4g}: expect {} of what could be learned without "
      "privacy; {} {} would keep about {:.0f} %",
      human_count(static_cast<double>(plan.problem.rows)),
      one ? (plan.problem.of_people() ? "person is" : "row is") : fmt::format("{} are", counted),
      coefficients_words(plan.problem), plan.budget.epsilon, kept_words(expected->kept),
      human_count(rows), counted, 100 * enough));
}

bool curves_widen(const Schema& asked, const Schema& chosen, const Plan& made) {
  if (automatic_curves(asked) == 0 || !made.candidate().feasible) return false;
  // Found on a census of 32,561 people: above this, curves widen the intervals of other effects
  // less than twice; at a sixth of it and less about three times.
  constexpr double enough = 100;
  const double signal =
      signal_per_feature(made.problem, made.budget.neighbors(), made.candidate().guarantee.mu);
  return most_knots_of(chosen) > 0 && signal < enough;
}

void warn_of_wide_curves(const PlanRequest& request, const Schema& asked, const Schema& chosen,
                         const Plan& made, const Note& warn) {
  if (!request.intervals || !curves_widen(asked, chosen, made)) return;
  const std::size_t knots = most_knots_of(chosen);
  warn(format_message(
      "curve = \"auto\" and {}: {} rows at ε = {:.4g} are few for curves of {} knots: expect "
      "intervals of all effects to be several times as wide as with straight lines; give fewer "
      "knots, such as curve = {}, or leave curve out",
      Field{"intervals"}, human_count(static_cast<double>(made.problem.rows)), made.budget.epsilon,
      knots, knots > 5 ? 4 : 3));
}

void warn_of_plan(const PlannedFit& fit, const Note& warn) { warn_of_plans({&fit, 1}, warn); }

void warn_of_plans(std::span<const PlannedFit> fits, const Note& warn) {
  if (fits.empty()) return;
  std::vector<PlanRequest> requests;
  for (const PlannedFit& fit : fits) requests.push_back(fit.request);
  warn_of_budget(largest_of(requests), fits.front().plan.problem.rows, warn);
  for (const PlannedFit& fit : fits) {
    warn_of_few_rows(fit.plan, fit.positive_share, warn);
    if (fit.asked && fit.chosen)
      warn_of_wide_curves(fit.request, *fit.asked, *fit.chosen, fit.plan, warn);
  }
}

void warn_of_fit(const PlannedFit& fit, const Note& warn) {
  warn_of_plan(fit, warn);
  if (fit.plan.candidate().feasible) warn_of_run_time(fit.plan.candidate().mechanism, warn);
}

}  // namespace gibbsite
