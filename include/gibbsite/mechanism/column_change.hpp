#pragma once
// What a release guarantees if only one column of a person is in question: a weaker unit than the
// person, derived from the same settings (docs/theory/columns.md).
#include <cstdint>
#include <functional>
#include <span>

#include "gibbsite/mechanism/covariance.hpp"
#include "gibbsite/mechanism/family.hpp"
#include "gibbsite/mechanism/network.hpp"
#include "gibbsite/privacy/conjugate.hpp"
#include "gibbsite/privacy/guarantee.hpp"

namespace gibbsite {

/// The privacy profile of a release between tables that differ in some columns of one person.
struct ColumnPrice {
  Guarantee guarantee{};  ///< if `delta` is empty
  /// The delta of all draws at an epsilon, of laws that no mu describes, less guarantee.tv.
  std::function<double(double epsilon, Digits digits)> delta{};
  double apart = 1;  ///< upper bound of the total variation, if `delta` is there
};

/// Prices a change of these columns of a network, which are one cell of a person's rows. `whole` is
/// the release's guarantee, of `draws` draws. Throws BadInput where no theorem has a price: parents
/// that were picked one after the other, under add-remove.
ColumnPrice column_price(const NetworkMechanism& mechanism, const NetworkProblem& problem,
                         const Guarantee& whole, std::uint64_t draws,
                         std::span<const std::uint32_t> columns);

/// Prices a move of one number by at most `part` of its range, in (0, 1]. With `part` 1 under
/// add-remove the cell may also be missing, which leaves the whole row out.
ColumnPrice column_price(const CovarianceMechanism& mechanism, const CovarianceProblem& problem,
                         const Guarantee& whole, double part);

/// eta of a record of which these columns alone change, in drawn tables of a structure that is
/// given: the length of the interval that its log likelihoods differ in, within the trim. Tables
/// that hold none of the columns do not count. Rounded up.
double columns_range_up(const NetworkProblem& problem, std::span<const std::uint32_t> columns);

/// As covariance_change_up, of a row of which one number in [-1, 1] moves by at most `by`, in
/// (0, 2] (docs/theory/columns.md, Theorem 3).
double covariance_column_change_up(std::uint64_t columns, Adjacency adjacency, double by,
                                   bool weighted = false);

/// Prices a move of the column's number by at most `by`, in the column's unit. Throws BadInput for
/// levels, and if `by` is not above 0.
ColumnPrice column_price(const FamilyMechanism& mechanism, const FamilyProblem& problem,
                         const Guarantee& whole, std::uint64_t draws, double by);

/// The smallest epsilon with that delta, rounded up; infinite if there is none up to 700.
double column_epsilon_up(const ColumnPrice& price, double delta);
/// How often, in percent rounded up to a tenth, the best guess between two values is right.
double column_guess_percent(const ColumnPrice& price);

}  // namespace gibbsite
