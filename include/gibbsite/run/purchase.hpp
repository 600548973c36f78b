#pragma once
// What every front end does before a schema is bought, alone or with a fit: it counts the cells,
// plans by public numbers, says what will stay unseen, and asks the ledger for room.
#include <cstdint>
#include <optional>

#include "gibbsite/data/cell_counts.hpp"
#include "gibbsite/engine/automatic.hpp"
#include "gibbsite/ledger/ledger.hpp"
#include "gibbsite/run/fit_bought.hpp"

namespace gibbsite {

/// A fit of rows, a network, or draws of a family, that buys its schema.
struct BoughtRequest {
  PlanRequest
      request;  ///< as bought_request, bought_network_request, bought_family_request made it
  SchemaShape shape;
  std::optional<double> share{};  ///< of mu^2, for the schema
  bool people_said = false;       ///< the front end says itself if nobody counts a person's rows
};
/// A schema that is bought alone.
struct SchemaRequest {
  SchemaShape shape;
  Budget budget;
  std::optional<std::uint64_t> rows_cap{};  ///< under add-remove: public bound on the rows
};

/// How a budget is split, the request's or one of another epsilon. rows: of the table, or its
/// people; under add-remove the cap counts. most_tv: what a ledger has left for total variation.
/// Throws as plan_bought_fit.
BoughtFitPlan plan_bought(const BoughtRequest& asked, std::uint64_t rows, const Budget& budget,
                          double most_tv = 1);
SchemaPlan plan_bought(const SchemaRequest& asked, std::uint64_t rows, const Budget& budget,
                       double most_tv = 1);

/// A purchase that is ready to run.
template <class PlanOfKind>
struct Purchase {
  TableCells cells;     ///< private
  PlanOfKind plan;      ///< from public numbers alone
  bool warned = false;  ///< whether it was said that levels will go into "(other)"
};

/// Ends on an illegal request before a row is read; then counts, plans, and warns of levels that
/// stay unseen, of a large budget, of rows of a person that nobody counts, and of a ledger of which
/// nothing is left. Throws BadInput on a
/// table without rows; Infeasible as require_visible, with an epsilon that would do; BudgetSpent as
/// require_room (run/room.hpp), also where a schema alone would take all of the ledger, as nobody
/// could fit by it. `ledger` may be null.
Purchase<BoughtFitPlan> purchase(const BoughtRequest& asked, const CellSource& table,
                                 const Ledger* ledger, const Note& warn);
Purchase<SchemaPlan> purchase(const SchemaRequest& asked, const CellSource& table,
                              const Ledger* ledger, const Note& warn);

/// Where the number of rows is an answer: warns by that of levels that go into "(other)".
void warn_of_seen(const BoughtSchema& bought, const Note& warn);

/// Notes a column that is ignored for its name, where each row counts as one person.
void note_ids(const SchemaShape& shape, std::uint64_t rows_per_person, const Note& note);

/// Whether intervals of a fit that buys its schema would be several times as wide as those of
/// straight lines, if each column asked about were a number: numbers of a bought schema become
/// curves. By public numbers alone.
bool bought_curves_widen(const BoughtRequest& asked, const BoughtFitPlan& plan);

}  // namespace gibbsite
