#include "unspent.hpp"

#include <fmt/format.h>

#include <variant>

#include "gibbsite/core/rounded_text.hpp"
#include "text.hpp"

namespace gibbsite::cli {
namespace {

bool is_of_slope(const Mechanism& mechanism) {
  return std::holds_alternative<ObjectivePerturbation>(mechanism) ||
         std::holds_alternative<PureObjectivePerturbation>(mechanism);
}

// The least epsilon, to a thousandth of the budget's, at which the guarantee has the budget's
// delta. Delta falls in epsilon.
double spent_up(const Plan& plan) {
  const double all = plan.budget.epsilon;
  double low = 0, high = all;
  while (high - low > 1e-3 * all) {
    const double middle = (low + high) / 2;
    (delta_up(plan.candidate().guarantee, middle) <= plan.budget.delta ? high : low) = middle;
  }
  return high;
}

}  // namespace

std::string unspent_words(std::span<const Plan> plans) {
  constexpr double nearly_all = 0.95;
  std::string out;
  for (const Plan& plan : plans) {
    if (!plan.candidate().feasible || !is_of_slope(plan.candidate().mechanism)) continue;
    const double spent = spent_up(plan), asked = plan.budget.epsilon;
    if (spent > nearly_all * asked) continue;
    out += wrapped(fmt::format(
        "unspent: of ε = {:.4g} {} spends {}: what its computed noise is off by costs (1 + e^ε) "
        "times that of δ, so a larger ε buys nothing",
        asked, name_of(plan.candidate().mechanism), text_up(spent, 3)));
  }
  return out;
}

}  // namespace gibbsite::cli
