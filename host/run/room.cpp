#include "gibbsite/run/room.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/rounded_text.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/machine/communicator.hpp"
#include "gibbsite/privacy/gdp_fit.hpp"
#include "gibbsite/run/plan_chosen.hpp"

namespace gibbsite {
namespace {

double as_double(const Decimal& x) { return static_cast<double>(x.wide()); }

// Where the search begins: far above the cap's epsilon nothing fits.
double first_epsilon(const Ledger& ledger, const Budget& budget) {
  return std::min(budget.epsilon / 2, 8 * ledger.read().terms.epsilon);
}
constexpr double least_of_first = 1e-3;

// 0 for none. Of epsilons down to a thousandth; the price of a smaller one is smaller.
double epsilon_that_fits(const Ledger& ledger, const Budget& budget, const PriceOf& price_of) {
  const auto fits_at = [&](double epsilon) {
    Budget smaller = budget;
    smaller.epsilon = epsilon;
    try {
      ledger.require_room(price_of(smaller));
      return true;
    } catch (const BudgetSpent&) {
      return false;
    } catch (const Infeasible&) {
      return false;
    }
  };
  double low = 0, high = budget.epsilon;
  const double first = first_epsilon(ledger, budget);
  for (double at = first; at > least_of_first * first && !(low > 0); at /= 2) {
    (fits_at(at) ? low : high) = at;
  }
  for (int i = 0; i < 6 && low > 0; ++i) {
    const double middle = std::sqrt(low * high);
    (fits_at(middle) ? low : high) = middle;
  }
  if (!(low > 0)) return 0;
  const double rounded = std::stod(text_down(low, 2));
  return fits_at(rounded) ? rounded : low;
}

// What would fit in place of a release at that budget and price.
Message what_fits(const Ledger& ledger, const Budget& budget, const Guarantee& price,
                  const PriceOf& price_of) {
  const LedgerState state = ledger.read();
  // The part of delta that a fitted profile takes, which no epsilon makes smaller.
  const Decimal delta0 = Decimal::up(price.delta0), left = state.left().delta0;
  if (price.delta0 < 1 && delta0 > left) {
    if (!(left > Decimal{}))
      return format_message("take a {} without a delta of its own, such as path",
                            Field{"mechanism"});
    return format_message("that goes with {}: give at most {}", Field{"delta"},
                          text_down(0.999 * budget.delta * as_double(left) / price.delta0, 2));
  }
  const double epsilon = epsilon_that_fits(ledger, budget, price_of);
  if (epsilon > 0)
    return format_message("{} {} at this {} would fit", Field{"epsilon"}, text_down(epsilon, 3),
                          Field{"delta"});
  return format_message("no {} from {:.2g} on does, at this {}", Field{"epsilon"},
                        least_of_first * first_epsilon(ledger, budget), Field{"delta"});
}

}  // namespace

void require_one_process() {
  const std::string by = launcher();
  if (by.empty()) return;
  throw BadInput("ranks: " + by +
                 " started several processes, each of which would fit the whole table with noise "
                 "of its own; start one, or ranks by mpirun and the program");
}

void require_room(const Ledger& ledger, const Budget& budget, const std::optional<Guarantee>& own,
                  const PriceOf& price_of, const Note& warn) {
  const Guarantee price = price_of(budget);
  try {
    if (!ledger.require_room(price, own) || !warn) return;
    warn(format_message(
        "{}: this release takes all of {}, and nothing can be released after it; a smaller {} or "
        "{} leaves some",
        Field{"ledger"}, shown(ledger.path()), Field{"epsilon"}, Field{"delta"}));
  } catch (const BudgetSpent& spent) {
    throw BudgetSpent({}, spent.message(), what_fits(ledger, budget, price, price_of));
  }
}

void require_room(const Ledger& ledger, const PlannedFit& fit, const Note& warn) {
  require_room(
      ledger, budget_of(fit.request), own_guarantee(fit.plan),
      [&](const Budget& smaller) {
        const Plan other = plan_chosen(fit.request, fit.space, fit.plan.problem.rows, smaller);
        require_feasible(other);
        return ledger_guarantee(other);
      },
      warn);
}

void require_room(const Ledger& ledger, const BoughtFitPlan& plan,
                  const std::function<BoughtFitPlan(const Budget&)>& at, const Note& warn) {
  const bool people = plan.problem.of_people();
  require_room(
      ledger, plan.budget, in_a_ledger(plan.guarantee, people),
      [&](const Budget& smaller) {
        return in_a_ledger(gdp_cover_up(at(smaller).guarantee), people);
      },
      warn);
}

}  // namespace gibbsite
