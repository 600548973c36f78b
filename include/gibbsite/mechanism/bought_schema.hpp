#pragma once
// Questions about a table's cells whose noisy answers say types, ranges and levels
// (docs/theory/bought-schema.md).
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "gibbsite/core/schema_questions.hpp"
#include "gibbsite/mechanism/analysis.hpp"

namespace gibbsite {

/// Everything about the table that the questions' mechanism may know.
struct SchemaProblem {
  /// n; under add-remove a public cap. With rows_of_person of people, not of rows.
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;                   ///< c: those asked about
  std::uint64_t questions = newest_questions;  ///< which (core/schema_questions.hpp)
  /// k: `rows` counts people, and weights hold all rows of one person to at most k rows together.
  /// 0: `rows` counts rows, each as one.
  std::uint64_t rows_of_person = 0;

  [[nodiscard]] bool of_people() const { return rows_of_person > 0; }
  /// Upper bound of the sum of what rows count: n, of people k n.
  [[nodiscard]] std::uint64_t most_weight() const;
  /// Throws BadInput naming the field that is out of range.
  void validate() const;
};

/// For each column asked about: noisy counts of a public partition of cells, the noisy counts of
/// the texts that reach a threshold, and twice noisy counts in equal bins of a range that follows
/// from the answers before.
struct SchemaQuestions {
  static constexpr std::string_view name = "bought-schema";
  static constexpr std::string_view theorem = "docs/bought-schema.md";

  double bins_noise = 0;    ///< deviation of a count of the partition
  double levels_noise = 0;  ///< deviation of a text's count
  double threshold = 0;     ///< tau: a text whose noisy count is below is not released
  double refine_noise = 0;  ///< deviation of a bin where one column is asked again; times
                            ///< sqrt(columns) of several
  /// Deviation of the sum of what rows count, where that is private: under add-remove, and of
  /// people. 0: it is the public number of rows.
  double rows_noise = 0;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("bins_noise", self.bins_noise, Legal::positive);
    visit("levels_noise", self.levels_noise, Legal::positive);
    visit("threshold", self.threshold, Legal::positive);
    visit("refine_noise", self.refine_noise, Legal::positive);
    visit("rows_noise", self.rows_noise, Legal::positive_or_absent);
  }
};

using SchemaMechanism = std::variant<SchemaQuestions>;

/// What a budget buys.
struct SchemaPlan {
  SchemaProblem problem;
  Budget budget;
  SchemaMechanism mechanism;
  Guarantee guarantee{};
};

/// The least noise that keeps the budget; a hundredth of delta pays for the threshold. `most_tv`:
/// what a ledger has left for total variation (LedgerState::tv_left); the threshold takes at most
/// half of it, and is higher where that is less. What no threshold keeps to is not heeded: the
/// ledger refuses it. Throws BadInput on an illegal request, Infeasible if no noise does.
SchemaPlan plan_schema(const SchemaProblem& problem, const Budget& budget, double most_tv = 1);

std::string_view name_of(const SchemaMechanism& mechanism);
std::string_view theorem_of(const SchemaMechanism& mechanism);
std::string basis_of(const SchemaMechanism& mechanism, const SchemaProblem& problem);
/// What the settings imply: plan and verify call the same. Throws BadInput when a setting is out of
/// range or draws is not 1, and on noise of a number of rows that is public.
Analysis analyze(const SchemaMechanism& mechanism, const SchemaProblem& problem,
                 const Neighbors& who, std::uint64_t draws);

/// What a text has to count to be answered: 0, that is, to occur. Of people k rows, so that at most
/// n texts of a column are answered, however many rows somebody has.
double least_answered(const SchemaProblem& problem);
/// Upper bound of the probability that a text which counts less than least_answered, or does not
/// occur, would reach the threshold by its noise, as computed and rounded to its grid.
double one_text_up(const SchemaQuestions& questions, const SchemaProblem& problem);
/// Deviation of a refinement's counts where so many columns are asked again, rounded up.
double refined_deviation_up(const SchemaQuestions& questions, std::uint64_t columns);

/// The share of rows, or of their cap, below which a level is not seen, tau/n: a public number.
/// Rarer levels go into "(other)".
double least_visible_share(const SchemaQuestions& questions, const SchemaProblem& problem);
/// Above the first a person is warned, above the second asked for ranges and levels.
inline constexpr double warned_share = 0.03, refused_share = 0.1;

}  // namespace gibbsite
