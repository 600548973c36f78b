#include "gibbsite/mechanism/mechanism.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <type_traits>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/mechanism/kinds.hpp"
#include "mechanism/candidates.hpp"
#include "privacy/gap_price.hpp"

namespace gibbsite {

std::string passes_words(const Cost& cost) {
  return fmt::format("about {:.3g} passes over the data", cost.passes);
}

std::string_view name_of(const Mechanism& mechanism) {
  return std::visit([](const auto& m) { return std::decay_t<decltype(m)>::name; }, mechanism);
}

const SupportedOptions& taken_by(const Mechanism& mechanism) {
  return std::visit([]<class M>(const M&) -> const SupportedOptions& { return M::takes; },
                    mechanism);
}

std::string_view theorem_of(const Mechanism& mechanism) {
  return std::visit([](const auto& m) { return std::decay_t<decltype(m)>::theorem; }, mechanism);
}

std::vector<std::string_view> mechanism_names() { return kind_names<Mechanism>(); }

Mechanism mechanism_named(std::string_view name) {
  const std::optional<Mechanism> out = kind_named<Mechanism>(name);
  if (!out) {
    throw BadInput(Field{"mechanism"}, fmt::format("'{}' is unknown", name),
                   fmt::format("give auto, {}", fmt::join(mechanism_names(), ", ")));
  }
  return *out;
}

std::optional<double> setting(const Mechanism& mechanism, std::string_view name) {
  struct Finder {
    std::string_view name;
    std::optional<double>& found;
    void operator()(std::string_view field, double value, Legal legal) const {
      if (field == name && !is_absent(legal, value)) found = value;
    }
    void operator()(std::string_view /*field*/, Calibration /*value*/) const {}
  };
  std::optional<double> out;
  visit_fields(mechanism, Finder{name, out});
  return out;
}

bool bounds_derivatives(const Mechanism& mechanism, const Problem& problem) {
  return problem.bounded() ||
         (std::holds_alternative<Path>(mechanism) && std::get<Path>(mechanism).ball > 0);
}

std::string no_people(const Mechanism& mechanism) {
  return fmt::format(
      "{} has no proof for people of any number of rows, which weights hold together: what a person "
      "does to more than sums would have to be bounded too (docs/theory/row-weights.md)",
      name_of(mechanism));
}

Analysis analyze(const Mechanism& mechanism, const Problem& problem, const Neighbors& who,
                 std::uint64_t draws) {
  if (problem.of_people()) {
    if (problem.rows_of_person != who.rows_per_person) {
      throw BadInput(fmt::format(
          "rows_of_person: weights hold a person to {} rows, and the guarantee is for {}; give "
          "both the same",
          problem.rows_of_person, who.rows_per_person));
    }
    if (!taken_by(mechanism).people)
      throw BadInput(Field{"mechanism"}, no_people(mechanism),
                     "take whitened, metric-path or path");
  }
  // Throws: no number that is true in a ball alone reaches what leaves it.
  if (!bounds_derivatives(mechanism, problem)) static_cast<void>(problem.max_abs_derivative_up());
  return std::visit([&](const auto& m) { return analyze(m, problem, who, draws); }, mechanism);
}

bool calibration_allows(const Mechanism& mechanism, const Problem& problem, const Budget& budget,
                        const Analysis& analysis) {
  return std::visit(
      [&]<class M>(const M& m) {
        if constexpr (M::takes.posterior_calibration) {
          if (m.calibration == Calibration::gdp) return true;
          Budget left = budget;
          left.epsilon = round_down(Wide(budget.epsilon) - Wide(analysis.guarantee.epsilon0));
          left.delta = delta_left_down(budget.delta, budget.epsilon, analysis.guarantee.tv);
          return m.beta <=
                 gibbs_beta_down(problem, left, m.calibration, left.delta, m.prior_precision);
        } else {
          return true;
        }
      },
      mechanism);
}

std::string assumption_of(const Mechanism& mechanism) {
  return std::visit([](const auto& m) { return assumption_of(m); }, mechanism);
}

std::string_view run_time_tells(const Mechanism& mechanism) {
  return std::visit([](const auto& m) { return run_time_tells(m); }, mechanism);
}

std::string basis_of(const Mechanism& mechanism) {
  return std::visit([](const auto& m) { return basis_of(m); }, mechanism);
}

std::string procedure_of(const Mechanism& mechanism, const Cost& cost) {
  return std::visit([&](const auto& m) { return procedure_of(m, cost); }, mechanism);
}

std::optional<double> coefficient_noise_up(const Mechanism& mechanism, const Problem& problem) {
  return std::visit([&](const auto& m) { return coefficient_noise_up(m, problem); }, mechanism);
}

}  // namespace gibbsite
