#pragma once
// Noisy sums of numbers, their squares and their products (docs/theory/covariance.md).
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "gibbsite/core/covariance_columns.hpp"
#include "gibbsite/mechanism/analysis.hpp"

namespace gibbsite {

inline constexpr std::uint64_t most_covariance_rows = std::uint64_t{1} << 27;  // sums are exact
/// Numbers are moved to [-1, 1]; they and their products are held to multiples of 2^-26.
inline constexpr int covariance_bits = 26;

/// Everything about the table that the mechanism may know.
struct CovarianceProblem {
  std::uint64_t rows = 0;     ///< n; under add-remove a public cap. With rows_of_person of people
  std::uint64_t columns = 0;  ///< d
  /// A row counts by a weight in [0, 1], so that what all rows count is private, and is answered.
  bool weighted = false;
  /// k: weights hold all rows of one person to at most k rows together. 0: rows are public.
  std::uint64_t rows_of_person = 0;

  [[nodiscard]] bool of_people() const { return rows_of_person > 0; }
  /// Upper bound of what all rows count: n, of people k n.
  [[nodiscard]] std::uint64_t most_weight() const {
    return of_people() ? rows * rows_of_person : rows;
  }
  /// Throws BadInput naming the field that is out of range.
  void validate() const;
};

/// Gaussian noise on the sums over rows x in [-1, 1]^d of x_j, x_j^2 and x_i x_j, i < j; under
/// add-remove, and where rows have weights, on what all rows count too, and squares are
/// x_j^2 - 1/2. Released once.
struct CovarianceMoments {
  static constexpr std::string_view name = "moments";
  static constexpr std::string_view theorem = "docs/covariance.md";

  double noise = 0;  ///< deviation of a sum of products

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("noise", self.noise, Legal::positive);
  }
};

using CovarianceMechanism = std::variant<CovarianceMoments>;

/// What a budget buys.
struct CovariancePlan {
  CovarianceProblem problem;
  Budget budget;
  CovarianceMechanism mechanism;
  Guarantee guarantee{};
};

/// Deviations of the noise of each number, in rows.
struct MomentDeviations {
  double count = 0;  ///< 0: the number of rows is public
  double sum = 0, square = 0, product = 0;
  double shift = 0;  ///< what is taken off a square before it is summed
};

/// The least noise that keeps the budget. Throws BadInput on an illegal request, Infeasible where
/// none does.
CovariancePlan plan_covariance(const CovarianceProblem& problem, const Budget& budget);

std::string_view name_of(const CovarianceMechanism& mechanism);
std::string_view theorem_of(const CovarianceMechanism& mechanism);
std::string basis_of(const CovarianceMechanism& mechanism, const CovarianceProblem& problem);
/// What the settings imply: plan and verify call the same. Throws BadInput when a setting is out of
/// range, or draws is not 1.
Analysis analyze(const CovarianceMechanism& mechanism, const CovarianceProblem& problem,
                 const Neighbors& who, std::uint64_t draws);
/// Deviations for the weights of docs/theory/covariance.md, rounded up.
MomentDeviations moment_deviations(const CovarianceMechanism& mechanism, std::uint64_t columns,
                                   Adjacency adjacency, bool weighted = false);
/// By how far, in norm, one row of d numbers moves all sums, each over its deviation at noise 1:
/// d + sqrt(d)/2 under replace-one. With weights by how far rows do that count as one together.
/// With what rounding products, and weighted sums, adds. Rounded up.
double covariance_change_up(std::uint64_t columns, Adjacency adjacency, bool weighted = false);

}  // namespace gibbsite
