// What draws of a posterior cost where settings are given and no budget.
#include <nlohmann/json.hpp>

#include "arguments.hpp"
#include "bind.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/model/model.hpp"
#include "gibbsite/run/priced_posterior.hpp"

namespace gibbsite::python {

namespace {

nb::object make_price(const nb::kwargs& arguments) {
  Arguments given("posterior_price", arguments);
  const PlanRequest request = given.request_without_budget(of_linear | of_family);
  const auto rows = given.take<std::uint64_t>("rows");
  const auto* const schema = given.need<const Schema*>("schema");
  given.finish();
  require_of_model(request);
  if (!rows && !request.rows_cap)
    throw BadInput(Field{"rows"}, "is missing", "give the number of rows");
  const auto family = family_named(request.model);
  const nb::gil_scoped_release unlocked;
  const PricedPosterior priced =
      family ? priced_posterior(
                   request, complete(request, family_problem(*schema, *family, rows.value_or(0))))
             : priced_posterior(request, *schema, rows.value_or(0));
  const nlohmann::json json = price_json(priced);
  const nb::gil_scoped_acquire locked;
  return to_python(json);
}

}  // namespace

void bind_price(nb::module_& m) {
  m.def(
      "posterior_price", &make_price, "arguments"_a,
      nb::sig("def posterior_price(*, schema: Schema, delta: float, rows: int | None = None, "
              "model: str = 'auto', beta: float | None = None, "
              "prior_precision: float | None = None, loss_cap: float | None = None, "
              "prior: Sequence[float] | None = None, diffused: bool = False, "
              "trim: Sequence[float] | None = None, variance: float | None = None, "
              "center: float | None = None, adjacency: str = 'replace-one', "
              "rows_cap: int | None = None, rows_per_person: int = 1, draws: int = 1) -> dict"),
      "Says what exact draws of a posterior cost where no budget is asked for, as `gibbsite plan` "
      "without --epsilon (docs/theory/calibrations.md). A regression's posterior is that of beta "
      "(1: the posterior itself) and prior_precision, in units of encoded features; a family's "
      "(model) takes every record whole, and schema is then of one column (Schema.read_column). "
      "Returns a dict: epsilon (rounded up; None if nothing is promised) with delta, best_guess in "
      "percent, fit_epsilon (the least epsilon at which `fit` draws from a regression's posterior, "
      "what computing it adds included; None if none does), and the numbers of the guarantee. "
      "Raises BadInput.");
}

}  // namespace gibbsite::python
