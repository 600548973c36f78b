#include "gibbsite/mechanism/select.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/floating_point.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/mechanism/network.hpp"
#include "gibbsite/privacy/conjugate.hpp"
#include "gibbsite/privacy/rdp.hpp"

namespace gibbsite {
namespace {

constexpr double score_grid = 0x1p-30;  // of a row's score
constexpr double most_range = 700;      // as of an epsilon

const ExponentialPick& settings_of(const SelectMechanism& mechanism) {
  return std::get<ExponentialPick>(mechanism);
}

// By how far apart one person can move two candidates' sums: its k rows bring other scores, each
// from 0 to 1, or come.
Wide change_of(const Neighbors& who) {
  const Wide k = who.rows_per_person;
  return who.adjacency == Adjacency::replace_one ? 2 * k : k;
}

}  // namespace

void SelectProblem::validate() const {
  if (rows < 1 || rows > most_select_rows) {
    throw BadInput(fmt::format("rows: must be from 1 to {}, got {}", most_select_rows, rows));
  }
  if (candidates < 2 || candidates > most_select_candidates) {
    throw BadInput(Field{"candidates"},
                   fmt::format("must be from 2 to {}, got {}", most_select_candidates, candidates));
  }
}

double select_range_up(const SelectMechanism& mechanism, const Neighbors& who) {
  return round_up(Wide(settings_of(mechanism).weight) * change_of(who));
}

Analysis analyze(const SelectMechanism& mechanism, const SelectProblem& problem,
                 const Neighbors& who, std::uint64_t draws) {
  problem.validate();
  if (draws != 1) {
    throw BadInput(Field{"draws"}, "a choice is released once",
                   fmt::format("leave it out (got {})", draws));
  }
  if (who.rows_per_person < 1 || who.rows_per_person > problem.rows) {
    throw BadInput(
        Field{"rows_per_person"},
        fmt::format("must be at least 1 and at most the rows, got {}", who.rows_per_person));
  }
  const double range = select_range_up(mechanism, who);
  if (!(settings_of(mechanism).weight > 0 && range <= most_range)) {
    throw BadInput(fmt::format("weight: must be above 0, and its range at most {}, got {}",
                               most_range, settings_of(mechanism).weight));
  }
  Analysis out;
  out.noise.tv = pick_tv;
  out.guarantee = {0, range, 0, pick_tv, who};
  out.release_grid = score_grid;
  return out;
}

Guarantee select_cover_up(const SelectMechanism& mechanism, const SelectProblem& problem,
                          const Neighbors& who) {
  Guarantee out = analyze(mechanism, problem, who, 1).guarantee;
  out.mu = bounded_range_mu_up(out.epsilon0);
  out.epsilon0 = 0;
  return out;
}

double renyi_up(const SelectMechanism& mechanism, const Neighbors& who, double order) {
  const double range = select_range_up(mechanism, who);
  const double pure = renyi_up(Guarantee{.epsilon0 = range}, order);
  return std::min(pure, round_up(Wide(order) * Wide(range) * Wide(range) / 8));
}

SelectPlan plan_select(const SelectProblem& problem, const Budget& budget) {
  const StandardArithmetic arithmetic;
  problem.validate();
  budget.validate();
  const Neighbors who = budget.neighbors();
  ExponentialPick pick{round_down(Wide(budget.epsilon) / change_of(who))};
  while (pick.weight > 0 && !(select_range_up(pick, who) <= budget.epsilon)) {
    pick.weight = std::nextafter(pick.weight, 0.0);
  }
  SelectPlan out{.problem = problem, .budget = budget, .mechanism = pick};
  out.guarantee = analyze(out.mechanism, problem, who, budget.draws).guarantee;
  if (!(delta_up(out.guarantee, budget.epsilon) <= budget.delta)) {
    throw Infeasible(format_message("{} {}, {} {}", Field{"epsilon"}, budget.epsilon,
                                    Field{"delta"}, budget.delta),
                     "the law as it is computed is off by more than that delta pays for",
                     "ask for a larger delta or a smaller epsilon");
  }
  // Each of c - 1 others that is more than t behind is e^(-w t) times as likely as the best.
  out.behind = std::log(20 * static_cast<double>(problem.candidates - 1)) / pick.weight;
  return out;
}

std::string_view name_of(const SelectMechanism& /*mechanism*/) { return ExponentialPick::name; }

std::string_view theorem_of(const SelectMechanism& /*mechanism*/) {
  return ExponentialPick::theorem;
}

std::string basis_of(const SelectMechanism& mechanism, const SelectProblem& problem) {
  return fmt::format(
      "It rests on one random pick among {} candidates: a full score of one row more makes one "
      "{:.4g} times as likely",
      problem.candidates, std::exp(settings_of(mechanism).weight));
}

}  // namespace gibbsite
