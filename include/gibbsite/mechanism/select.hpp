#pragma once
// One of several named candidates, chosen by sums of bounded scores with the exponential mechanism
// (docs/theory/select.md).
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "gibbsite/mechanism/analysis.hpp"

namespace gibbsite {

inline constexpr std::uint64_t most_select_candidates = 10'000;
inline constexpr std::uint64_t most_select_rows = std::uint64_t{1} << 33;  // sums are exact

/// Everything about the table that the choice's mechanism may know.
struct SelectProblem {
  std::uint64_t rows = 0;        ///< n; under add-remove a public cap
  std::uint64_t candidates = 0;  ///< c

  /// Throws BadInput naming the field that is out of range.
  void validate() const;
};

/// Candidate i is chosen with a probability proportional to exp(weight q_i), q_i the sum of the
/// rows' scores of it, each from 0 to 1.
struct ExponentialPick {
  static constexpr std::string_view name = "exponential";
  static constexpr std::string_view theorem = "docs/select.md";

  double weight = 0;  ///< w

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("weight", self.weight, Legal::positive);
  }
};

using SelectMechanism = std::variant<ExponentialPick>;

/// What a budget buys.
struct SelectPlan {
  SelectProblem problem;
  Budget budget;
  SelectMechanism mechanism;
  Guarantee guarantee{};  ///< pure, and the tv of the computed law
  /// But for one time in twenty the chosen candidate's sum is within this of the best, in rows.
  double behind = 0;
};

/// The largest weight that keeps the budget. Throws BadInput on an illegal request, Infeasible
/// where none does.
SelectPlan plan_select(const SelectProblem& problem, const Budget& budget);

std::string_view name_of(const SelectMechanism& mechanism);
std::string_view theorem_of(const SelectMechanism& mechanism);
std::string basis_of(const SelectMechanism& mechanism, const SelectProblem& problem);
/// What the settings imply: plan and verify call the same. Throws BadInput when a setting is out of
/// range, or draws is not 1.
Analysis analyze(const SelectMechanism& mechanism, const SelectProblem& problem,
                 const Neighbors& who, std::uint64_t draws);
/// v: the logarithms of two neighbors' probabilities differ by numbers from an interval of this
/// length, rounded up. 2 k w under replace-one, k w under add-remove.
double select_range_up(const SelectMechanism& mechanism, const Neighbors& who);
/// The Gaussian that covers a bounded range: no larger than what its pure part alone says.
Guarantee select_cover_up(const SelectMechanism& mechanism, const SelectProblem& problem,
                          const Neighbors& who);
/// The Renyi divergence of that order > 1, rounded up: order v^2 / 8, or that of pure v where that
/// is less (docs/theory/select.md).
double renyi_up(const SelectMechanism& mechanism, const Neighbors& who, double order);

}  // namespace gibbsite
