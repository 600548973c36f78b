#pragma once
// What a release's file guarantees of one column of a person (docs/theory/columns.md). It follows
// from the file, and no file and no ledger holds it.
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "gibbsite/privacy/guarantee.hpp"

namespace gibbsite {

/// The guarantee against somebody who knows every other row and, of one person, all but a column.
struct ColumnGuarantee {
  std::string column;
  std::optional<double> moves_by{};  ///< the two values are no further apart, in its unit
  Neighbors who{};                   ///< of the release
  double epsilon = 0, delta = 0;     ///< delta is that of the certificate
  double mu = 0;                     ///< NaN for draws that no mu describes
  double guess_percent = 50;         ///< of the best guess between two cells, rounded up
  bool is_whole = false;             ///< no better than the certificate's own is known
};

/// Derives it from a file, whose numbers it believes: `verify` it first. Throws BadInput "`column`:
/// ..." or "`moves_by`: ..." if the file has no such column, and for releases that have no theorem
/// of it: other kinds, void ones, and those whose schema was bought with the same budget.
ColumnGuarantee column_guarantee(const nlohmann::json& file, const std::string& column,
                                 const std::optional<double>& moves_by = {});

/// Several lines for a person, which say that the unit is a weaker one.
std::string in_words(const ColumnGuarantee& of);

}  // namespace gibbsite
