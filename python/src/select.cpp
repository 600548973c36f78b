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
#include "gibbsite/release/predict.hpp"
#include "gibbsite/release/row_scores.hpp"
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

// What every choice is asked for with.
struct ChoiceRequest {
  Budget budget;
  std::optional<std::uint64_t> cap, seed;
  const Ledger* ledger = nullptr;
};

ChoiceRequest choice_request(Arguments& given) {
  constexpr double default_delta = 1e-15;
  ChoiceRequest out;
  out.budget = {
      .epsilon = given.need<double>("epsilon"),
      .delta = given.take<double>("delta", default_delta),
      .adjacency = adjacency_from_string(given.take<std::string>("adjacency", "replace-one")),
      .rows_per_person = given.take<std::uint64_t>("rows_per_person", std::uint64_t{1})};
  out.cap = given.take<std::uint64_t>("rows_cap");
  out.seed = given.take<std::uint64_t>("seed");
  out.ledger = given.take<const Ledger*>("ledger", nullptr);
  given.finish();
  return out;
}

// add(sums) adds the scores of the n rows.
template <class Add>
SelectRelease released_choice(const SelectionModel& shape, std::uint64_t n,
                              const ChoiceRequest& asked, const Add& add) {
  shape.validate();
  asked.budget.validate();
  const std::size_t c = shape.candidates.size();
  const SelectPlan plan = plan_select(
      {.rows = planned_rows(n, asked.cap, asked.budget.adjacency), .candidates = c}, asked.budget);
  const RunArguments run{asked.seed, asked.ledger};
  require_private_run(run);
  warn_of([&](const Note& warn) {
    look_at(
        plan, asked.budget, [&](const Budget& at) { return plan_select(plan.problem, at); },
        run.ledger, warn);
    warn_of_uncounted_rows(asked.budget, PeopleBy::nobody, warn);
  });
  return private_run(run, FitOptions{}, [&](Key&& key, const FitOptions& options) {
    ScoreSums sums(c, shape.lo, shape.hi);
    add(sums);
    return release_selection(shape, sums, plan, std::move(key), options);
  });
}

SelectRelease select_one(const Scores& scores, const nb::kwargs& arguments) {
  Arguments given("select", arguments);
  SelectionModel shape{.candidates = given.need<std::vector<std::string>>("candidates"),
                       .score = "given"};
  std::tie(shape.lo, shape.hi) =
      given.take<std::pair<double, double>>("range", std::pair<double, double>(0, 1));
  const ChoiceRequest asked = choice_request(given);
  shape.validate();
  const std::size_t n = scores.shape(0), c = scores.shape(1);
  if (c != shape.candidates.size()) {
    throw BadInput(Field{"candidates"}, fmt::format("there are {}, and scores have {} columns",
                                                    shape.candidates.size(), c));
  }
  return released_choice(shape, n, asked, [&](ScoreSums& sums) {
    for (std::size_t i = 0; i < n; ++i) sums.add({scores.data() + i * c, c});
  });
}

SelectRelease draw_in_ball(const Dataset& data, const nb::kwargs& arguments) {
  Arguments given("draw_in_ball", arguments);
  const auto radius = given.need<double>("ball");
  const ChoiceRequest asked = choice_request(given);
  const CoefficientBall ball = coefficient_ball(data.schema, radius, most_select_candidates);
  std::vector<std::vector<double>> points;
  for (const auto& z : ball.lattice()) points.push_back(ball.coefficients(z));
  return released_choice(selection_in_ball(ball), data.rows(), asked, [&](ScoreSums& sums) {
    log_likelihoods(data, points, [&](std::span<const double> row) { sums.add(row); });
  });
}

nb::object drawn_coefficients(const SelectRelease& release) {
  const auto theta = release.model().coefficients();
  if (!theta) return nb::none();
  nb::dict out;
  const std::vector<std::string> names = release.model().ball->schema.feature_names();
  for (std::size_t j = 0; j < names.size(); ++j) out[names[j].c_str()] = theta->at(j);
  return out;
}

// P(positive class) [n] at the chosen coefficients.
Numbers drawn_probabilities(const SelectRelease& release, const Dataset& data) {
  const SelectionModel& model = release.model();
  if (!model.ball)
    throw BadInput("data: a choice among names predicts nothing; ask one of draw_in_ball");
  if (data.features() != model.ball->schema.features()) {
    throw BadInput(
        fmt::format("data: has {} features, the draw {}; read the table with the draw's own schema",
                    data.features(), model.ball->schema.features()));
  }
  std::vector<double> p = predict_probabilities(
      {.loss = "logistic", .schema = model.ball->schema, .draws = {*model.coefficients()}},
      data.view());
  const std::size_t n = p.size();
  return to_numpy(std::move(p), {n});
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
      .def_prop_ro(
          "coefficients", &drawn_coefficients,
          "A dict of the coefficients that draw_in_ball drew, by the names of the features "
          "as rows are scaled; None of another choice.")
      .def(
          "predict_probabilities", &drawn_probabilities, "data"_a,
          "P(positive class) for the rows of a Dataset [n], at those coefficients. Raises BadInput "
          "of another choice.")
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
  m.def(
      "draw_in_ball", &draw_in_ball, "data"_a, "arguments"_a,
      nb::sig("def draw_in_ball(data: Dataset, *, ball: float, epsilon: float, "
              "delta: float = 1e-15, adjacency: str = 'replace-one', "
              "rows_cap: int | None = None, rows_per_person: int = 1, "
              "seed: int | None = None, ledger: Ledger | None = None) -> SelectRelease"),
      "Draws coefficients of the logistic posterior of a Dataset of two classes from a lattice of "
      "at most 10,000 points in the ball of radius `ball`, purely private but for the delta of the "
      "pick's rounding, and returns a SelectRelease (docs/theory/select.md). The posterior is to the power "
      "beta = epsilon/(2 k ball R), of norms R of rows. The other arguments are those of "
      "`select`. Raises BadInput, Infeasible or BudgetSpent.");
}

}  // namespace gibbsite::python
