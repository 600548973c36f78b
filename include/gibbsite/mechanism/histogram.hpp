#pragma once
// One noisy histogram of cells that each row is in exactly one of (docs/theory/evaluation.md).
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "gibbsite/mechanism/analysis.hpp"

namespace gibbsite {

/// Everything about the table that the histogram's mechanism may know.
struct HistogramProblem {
  std::uint64_t rows = 0;   ///< n; under add-remove a public cap
  std::uint64_t cells = 0;  ///< c

  /// Throws BadInput naming the field that is out of range.
  void validate() const;
};

/// Counts of all cells with Gaussian noise of one deviation, released once: `network-counts` of a
/// network of one column with c levels.
struct HistogramCounts {
  static constexpr std::string_view name = "histogram";
  static constexpr std::string_view theorem = "docs/evaluation.md";

  double noise = 0;  ///< s/mu; s = sqrt(2) k under replace-one, k under add-remove

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("noise", self.noise, Legal::positive);
  }
};

using HistogramMechanism = std::variant<HistogramCounts>;

/// What a budget buys.
struct HistogramPlan {
  HistogramProblem problem;
  Budget budget;
  HistogramMechanism mechanism;
  Guarantee guarantee{};
  double deviation = 0;  ///< of a count, in rows
};

/// The least noise that keeps the budget. Throws BadInput on an illegal request, Infeasible where
/// none does.
HistogramPlan plan_histogram(const HistogramProblem& problem, const Budget& budget);

std::string_view name_of(const HistogramMechanism& mechanism);
std::string_view theorem_of(const HistogramMechanism& mechanism);
std::string basis_of(const HistogramMechanism& mechanism, const HistogramProblem& problem);
/// What the settings imply: plan and verify call the same. Throws BadInput when a setting is out of
/// range, or draws is not 1.
Analysis analyze(const HistogramMechanism& mechanism, const HistogramProblem& problem,
                 const Neighbors& who, std::uint64_t draws);
/// Deviation of the noise of a count, a double that the answers' noise takes.
double histogram_deviation(const HistogramMechanism& mechanism, const HistogramProblem& problem);

}  // namespace gibbsite
