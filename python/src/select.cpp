// A private choice among candidates.
#include "gibbsite/run/select.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "bind.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "private_run.hpp"
#include "release_file.hpp"

namespace gibbsite::python {
namespace {

using Scores = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// The number of rows is the table's, or the public cap under add-remove.
std::uint64_t planned_rows(std::uint64_t rows, const std::optional<std::uint64_t>& cap,
                           Adjacency adjacency) {
  if ((adjacency == Adjacency::replace_one) == cap.has_value()) {
    throw BadInput(Field{"rows_cap"},
                   cap ? "has a meaning under the adjacency add-remove only"
                       : "is missing: under add-remove the number of rows is not public",
                   cap ? "leave it out" : "give a bound that holds");
  }
  if (cap && rows > *cap) {
    throw BadInput(Field{"rows_cap"}, fmt::format("the table has more than {} rows", *cap),
                   "give a public bound that holds (private: how many rows there are is not "
                   "public)");
  }
  return cap.value_or(rows);
}

SelectRelease select_one(const Scores& scores, const nb::kwargs& arguments) {
  constexpr double default_delta = 1e-15;
  Arguments given("select", arguments);
  SelectionModel shape{.candidates = given.need<std::vector<std::string>>("candidates"),
                       .score = "given"};
  std::tie(shape.lo, shape.hi) =
      given.take<std::pair<double, double>>("range", std::pair<double, double>(0, 1));
  const Budget budget{
      .epsilon = given.need<double>("epsilon"),
      .delta = given.take<double>("delta", default_delta),
      .adjacency = adjacency_from_string(given.take<std::string>("adjacency", "replace-one")),
      .rows_per_person = given.take<std::uint64_t>("rows_per_person", std::uint64_t{1})};
  const auto cap = given.take<std::uint64_t>("rows_cap");
  const auto seed = given.take<std::uint64_t>("seed");
  const auto* const ledger = given.take<const Ledger*>("ledger", nullptr);
  given.finish();
  shape.validate();
  budget.validate();
  const std::size_t n = scores.shape(0), c = scores.shape(1);
  if (c != shape.candidates.size()) {
    throw BadInput(Field{"candidates"}, fmt::format("there are {}, and scores have {} columns",
                                                    shape.candidates.size(), c));
  }
  const SelectPlan plan =
      plan_select({.rows = planned_rows(n, cap, budget.adjacency), .candidates = c}, budget);
  return private_run(nb::none(), ledger, seed, {}, [&](Key&& key, const FitOptions& options) {
    ScoreSums sums(c, shape.lo, shape.hi);
    for (std::size_t i = 0; i < n; ++i) sums.add({scores.data() + i * c, c});
    return release_selection(shape, sums, plan, std::move(key), options);
  });
}

}  // namespace

void bind_select(nb::module_& m) {
  nb::class_<SelectRelease> release(
      m, "SelectRelease",
      "A private choice among candidates with its certificate. `select` makes one.");
  bind_release_file(release);
  release
      .def_prop_ro(
          "chosen",
          [](const SelectRelease& r) { return r.model().candidates.at(r.model().chosen); },
          "Name of the candidate that was chosen.")
      .def_prop_ro(
          "candidates", [](const SelectRelease& r) { return r.model().candidates; },
          "Names of all candidates, which are public.")
      .def("__repr__", [](const SelectRelease& r) {
        return fmt::format("<gibbsite.SelectRelease: {} of {}>",
                           shown(r.model().candidates.at(r.model().chosen)),
                           r.model().candidates.size());
      });
  m.def("select", &select_one, "scores"_a, "arguments"_a,
        nb::sig("def select(scores: object, *, candidates: Sequence[str], epsilon: float, "
                "delta: float = 1e-15, range: tuple[float, float] = (0, 1), "
                "adjacency: str = 'replace-one', rows_cap: int | None = None, "
                "rows_per_person: int = 1, seed: int | None = None, "
                "ledger: Ledger | None = None) -> SelectRelease"),
        "Chooses one of several candidates by private scores and returns a SelectRelease with its "
        "certificate (docs/theory/select.md).\n"
        "\n"
        "scores: float64 [rows, candidates], a person's rows among them, higher is better. Each "
        "score must depend on its row and on public things alone; it is clamped to the public "
        "`range`, and NaN counts as its middle. seed makes the choice repeatable and void. ledger: "
        "the choice is entered there before this returns. Raises BadInput, Infeasible or "
        "BudgetSpent.");
}

}  // namespace gibbsite::python
