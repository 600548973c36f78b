// Discrete Bayesian networks over the columns of a table, questions to them, people drawn from
// them.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "arguments.hpp"
#include "bind.hpp"
#include "core/format_message.hpp"
#include "gibbsite/compare/network_quality.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/file.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/release/cross_table.hpp"
#include "gibbsite/release/network_query.hpp"
#include "gibbsite/release/transitions.hpp"
#include "gibbsite/run/fit_network.hpp"
#include "gibbsite/run/plan_request.hpp"
#include "private_run.hpp"
#include "release_file.hpp"

namespace gibbsite::python {
namespace {

using Count = std::optional<std::uint64_t>;

using NetworkPlanOf = Requested<NetworkPlan>;

NetworkPlanOf make_network_plan(const nb::kwargs& arguments) {
  Arguments given("plan_network", arguments);
  PlanRequest request = given.request(of_network);
  request.model = network_model;
  const auto rows = given.take<std::uint64_t>("rows");
  const auto* const schema = given.need<const Schema*>("schema");
  given.finish();
  if (!rows && !request.rows_cap) {
    throw BadInput(Field{"rows"}, "is missing", "give the number of rows");
  }
  require_of_model(request);
  const Budget budget = budget_of(request);
  if (rows && request.rows_cap) {
    throw BadInput(Field{"rows"}, "the cap counts under add-remove",
                   format_message("give {} alone", Field{"rows_cap"}));
  }
  const NetworkProblem problem = network_problem(request, *schema, rows.value_or(0));
  const nb::gil_scoped_release unlocked;
  return {plan(request, problem, budget), request};
}

std::size_t column_of(const NetworkModel& model, const std::string& name) {
  const std::vector<std::string> names = model.names();
  const auto at = std::ranges::find(names, name);
  if (at == names.end()) {
    throw BadInput(fmt::format("column: {} is none of the network's; give one of its columns",
                               gibbsite::quoted(name)));
  }
  return static_cast<std::size_t>(at - names.begin());
}

Numbers table_of(const NetworkModel& model, const std::string& column) {
  const std::size_t k = column_of(model, column);
  std::vector<double> all;
  for (const auto& draw : model.tables) all.insert(all.end(), draw[k].begin(), draw[k].end());
  return to_numpy(std::move(all),
                  {model.tables.size(), model.network.configurations(k), model.network.levels[k]});
}

std::vector<double> answers(const NetworkModel& model, const std::string& question) {
  const NetworkQuestion asked = parse_question(model, question);
  warn_of(
      [&](const Note& warn) {
        for (const std::string& line : question_warnings(model, asked)) warn(line);
      },
      "warn_of_answer");
  const nb::gil_scoped_release unlocked;
  return answer(model, asked);
}

// Hands drawn people to write(text), watched.
template <class Write>
void draw_people(const NetworkRelease& release, Synthesis with, std::optional<std::int64_t> n_jobs,
                 const nb::object& progress, const Write& write) {
  with.options.threads = threads_of(n_jobs);
  watched(progress, [&](Watch& watch) {
    with.options.progress = [&watch](std::uint64_t done, std::uint64_t total) {
      watch.report(done, total);
      return !watch.stopped();
    };
    synthesize(release.model(), with, write);
    return 0;
  });
}

nb::dict evaluation_dict(const Evaluation& e) {
  nb::dict out;
  out["accuracy"] = e.accuracy;
  out["auc"] = e.auc;
  out["majority"] = e.majority;
  return out;
}

nb::dict quality_dict(const NetworkModel& model, const NetworkQuality& quality,
                      const std::optional<SyntheticClassifier>& judged) {
  const std::vector<std::string> names = model.names();
  nb::dict out, one, two;
  for (const MarginalDistance& d : quality.one) one[names[d.first].c_str()] = d.network;
  for (const MarginalDistance& d : quality.two)
    two[nb::make_tuple(names[d.first], names[d.second])] = d.network;
  out["rows"] = quality.rows;
  out["one_column"] = one;
  out["two_columns"] = two;
  out["one_mean"] = quality.one_mean;
  out["two_mean"] = quality.two_mean;
  out["two_mean_independent"] = quality.two_mean_independent;
  out["log_likelihood"] = quality.log_likelihood;
  out["log_likelihood_independent"] = quality.log_likelihood_independent;
  out["impossible_rows"] = quality.impossible_rows;
  if (judged) {
    nb::dict classifier;
    classifier["target"] = judged->target;
    classifier["positive"] = judged->positive;
    classifier["training_rows"] = judged->training_rows;
    classifier["held_out_rows"] = judged->held_out_rows;
    classifier["synthetic"] = evaluation_dict(judged->synthetic);
    classifier["real"] = evaluation_dict(judged->real);
    out["classifier"] = classifier;
  }
  return out;
}

// A list of each level and of each number: the cells, the margins (of one column there are none)
// and the total.
nb::dict cross_table_dict(const NetworkRelease& release, const std::vector<std::string>& columns) {
  const CrossTable table = cross_table(release, columns);
  const std::string all = all_levels(table);
  const std::size_t d = table.columns.size();
  std::vector<std::vector<std::string>> levels(d);
  std::vector<double> estimate, deviation, lower, upper, count;
  std::vector<bool> hidden;
  const auto add = [&](const std::vector<std::string>& at, const TableNumber& number) {
    for (std::size_t c = 0; c < d; ++c) levels[c].push_back(at[c]);
    estimate.push_back(number.estimate);
    deviation.push_back(number.deviation);
    lower.push_back(number.lower);
    upper.push_back(number.upper);
    count.push_back(number.count);
    hidden.push_back(number.hidden());
  };
  std::vector<std::string> at(d);
  for (std::size_t cell = 0; cell < table.cells.size(); ++cell) {
    const std::vector<std::uint32_t> places = table.levels_of(cell);
    for (std::size_t c = 0; c < d; ++c) at[c] = table.levels[c][places[c]];
    add(at, table.cells[cell]);
  }
  at.assign(d, all);
  for (std::size_t c = 0; d > 1 && c < d; ++c) {
    for (std::size_t l = 0; l < table.levels[c].size(); ++l) {
      at[c] = table.levels[c][l];
      add(at, table.margins[c][l]);
    }
    at[c] = all;
  }
  add(at, table.total);
  const std::size_t n = estimate.size();
  const auto numbers = [n](std::vector<double> values) { return to_numpy(std::move(values), {n}); };
  nb::dict out;
  out["columns"] = table.columns;
  out["levels"] = levels;
  out["all"] = all;
  out["rows"] = table.rows;
  out["count_of"] = counted_unit(table.rows_of_person);
  out["unit"] = unit_of_counts(table);
  out["meaning"] = counting_words(table);
  out["estimate"] = numbers(std::move(estimate));
  out["std_err"] = numbers(std::move(deviation));
  out["lower"] = numbers(std::move(lower));
  out["upper"] = numbers(std::move(upper));
  out["count"] = numbers(std::move(count));
  out["hidden"] = hidden;
  return out;
}

// (value, low, high) of each number: [n, 3].
Numbers shares_of(const std::vector<ShareEstimate>& all) {
  std::vector<double> out;
  for (const ShareEstimate& one : all) out.insert(out.end(), {one.value, one.low, one.high});
  return to_numpy(std::move(out), {all.size(), 3});
}

nb::dict transitions_dict(const NetworkRelease& release) {
  const Transitions of = transitions(release);
  nb::dict out;
  out["columns"] = std::vector<std::string>{of.previous, of.next};
  out["states"] = of.states;
  out["matrix"] = shares_of(of.matrix);
  out["long_run"] = shares_of(of.stationary);
  return out;
}

void bind_network_release(nb::module_& m) {
  m.def("_require_states", &require_states, "schema"_a);
  nb::class_<NetworkRelease> release(
      m, "NetworkRelease",
      "A released network with its conditional tables, which may be published. Questions to it "
      "and people drawn from it cost no privacy (docs/how-to/network.md).");
  bind_release_file(release);
  release
      .def_prop_ro(
          "columns", [](const NetworkRelease& r) { return r.model().names(); },
          "Names of the columns.")
      .def_prop_ro(
          "parents",
          [](const NetworkRelease& r) {
            const std::vector<std::string> names = r.model().names();
            std::map<std::string, std::vector<std::string>> out;
            for (std::size_t k = 0; k < names.size(); ++k) {
              out[names[k]];
              for (const std::uint32_t parent : r.model().network.parents[k])
                out[names[k]].push_back(names[parent]);
            }
            return out;
          },
          "The parents of each column: the columns that its distribution depends on.")
      .def(
          "levels",
          [](const NetworkRelease& r, const std::string& column) {
            return r.model().level_names(column_of(r.model(), column));
          },
          "column"_a, "Names of a column's levels; for a number its bins.")
      .def(
          "table",
          [](const NetworkRelease& r, const std::string& column) {
            return table_of(r.model(), column);
          },
          "column"_a,
          "Shares of a column's levels for each configuration of its parents [draws, "
          "configurations, levels], with the last parent's levels fastest.")
      .def("_cross_table", &cross_table_dict, "columns"_a)
      .def("_transitions", &transitions_dict)
      .def(
          "probability",
          [](const NetworkRelease& r, const std::string& question) {
            const std::vector<double> all = answers(r.model(), question);
            return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
          },
          "question"_a,
          "Returns the probability of a question such as 'P(income = >50K | sex = Female, age "
          ">= 40)', averaged over draws and exact but for rounding. Raises BadInput on an "
          "unknown column or level, or evidence of probability 0.")
      .def(
          "probabilities",
          [](const NetworkRelease& r, const std::string& question) {
            std::vector<double> all = answers(r.model(), question);
            const std::size_t n = all.size();
            return to_numpy(std::move(all), {n});
          },
          "question"_a, "Returns the answer of `probability` in each draw [draws].")
      .def(
          "reach",
          [](const NetworkRelease& r, const std::string& question) {
            return question_reach(r.model(), parse_question(r.model(), question));
          },
          "question"_a,
          "How far the rows' own share may be from the answer of `probability`, in 95 of 100 "
          "releases or more: by counted tables and scores, of three columns or more what those of "
          "pairs allow. None without a tree, or of more than ten columns.")
      .def(
          "synthesize",
          [](const NetworkRelease& r, Count rows, Count seed, std::optional<std::int64_t> n_jobs,
             const nb::object& progress) {
            std::string out;
            draw_people(r, synthesis_of(r, rows, seed), n_jobs, progress,
                        [&](std::string_view text) { out += text; });
            return out;
          },
          "rows"_a = nb::none(), nb::kw_only(), "seed"_a = nb::none(), "n_jobs"_a = nb::none(),
          "progress"_a = nb::none(),
          "Returns people drawn from the network, as the text of a CSV table that pandas, "
          "polars and read_table read. There are as many as the certificate counts, unless "
          "`rows` says otherwise. The same seed, which is no secret, gives the same people, "
          "whatever n_jobs.")
      .def(
          "write_synthetic",
          [](const NetworkRelease& r, const Path& path, Count rows, const nb::kwargs& arguments) {
            Arguments given("write_synthetic", arguments);
            const auto seed = given.take<std::uint64_t>("seed");
            const bool replace = given.take("replace", false);
            const auto n_jobs = given.take<std::int64_t>("n_jobs");
            const auto progress = given.take<nb::object>("progress", nb::none());
            given.finish();
            StreamedFile file(path.string(), public_file);
            draw_people(r, synthesis_of(r, rows, seed), n_jobs, progress,
                        [&](std::string_view text) { file.append(text); });
            file.commit(replace ? Existing::replaced : Existing::kept);
          },
          "path"_a, "rows"_a = nb::none(), "arguments"_a,
          nb::sig("def write_synthetic(self, path: str | os.PathLike, rows: int | None = None, *, "
                  "seed: int | None = None, replace: bool = False, n_jobs: int | None = None, "
                  "progress: object | None = None) -> None"),
          "Writes the people of `synthesize` to a file, whole or not at all.")
      .def(
          "evaluate",
          [](const NetworkRelease& r, const Dataset& data, const std::string& target,
             std::uint64_t seed) {
            const auto [quality, judged] = watched(nb::none(), [&](Watch& watch) {
              NetworkQuality found = network_quality(r.model(), data, watch.stop());
              std::optional<SyntheticClassifier> by;
              if (!target.empty()) by = synthetic_classifier(r.model(), data, target, seed);
              return std::pair(std::move(found), std::move(by));
            });
            return quality_dict(r.model(), quality, judged);
          },
          "data"_a, "target"_a = "", "seed"_a = 1,
          "Returns how close the network is to a table that was read through the model's "
          "columns, as a dict. one_column and two_columns: total variation distance by column "
          "and by pair. With `target`: also scores of a classifier of that column, trained on "
          "drawn people and on the table. PRIVATE: it reads the rows, and no certificate covers "
          "it.")
      .def("__repr__", [](const NetworkRelease& r) {
        const NetworkCertificate& c = r.certificate();
        return fmt::format(
            "<gibbsite.NetworkRelease: {} columns by {}, {}>", r.model().network.size(),
            name_of(c.mechanism),
            c.is_void() ? std::string("void") : fmt::format("({}, {})", c.epsilon, c.delta));
      });
}

}  // namespace

void bind_network(nb::module_& m) {
  nb::class_<NetworkPlanOf>(m, "NetworkPlan",
                            "A plan for a network: what the budget buys. `plan_network` makes one.")
      .def_prop_ro(
          "mechanism",
          [](const NetworkPlanOf& p) { return std::string(name_of(p.candidate().mechanism)); },
          "Name of the chosen mechanism.")
      .def_prop_ro(
          "deviation", [](const NetworkPlanOf& p) { return p.candidate().deviation; },
          "Expected standard deviation of the count of a cell, in rows, averaged over cells.")
      .def_prop_ro(
          "epsilon", [](const NetworkPlanOf& p) { return p.budget.epsilon; },
          "The epsilon of the budget.")
      .def_prop_ro(
          "delta", [](const NetworkPlanOf& p) { return p.budget.delta; },
          "The delta of the budget.")
      .def_prop_ro(
          "rows", [](const NetworkPlanOf& p) { return p.problem.rows; },
          "Number of rows, of people where the schema has a column of them, or a public upper bound.")
      .def(
          "to_json", [](const NetworkPlanOf& p) { return plan_json(p).dump(2); },
          "Returns the plan as JSON text.")
      .def_prop_ro(
          "chooses_structure", [](const NetworkPlanOf& p) { return p.problem.chooses_structure(); },
          "Whether the parents are chosen from the table.");
  m.def(
      "plan_network", &make_network_plan,
      nb::sig(
          "def plan_network(*, epsilon: float | None = None, delta: float, rows: int | None = None, "
          "schema: Schema, structure: str | None = None, structure_share: float | None = None, "
          "parents: int | None = None, cells: int | None = None, mechanism: str = 'auto', "
          "prior: float | None = None, trim: float | None = None, "
          "adjacency: str = 'replace-one', rows_cap: int | None = None, "
          "rows_per_person: int = 1, draws: int = 1, rho: float | None = None, "
          "rdp: float | None = None) -> NetworkPlan"),
      "Plans a network over the columns of Schema.read_network and returns a NetworkPlan "
      "(docs/theory/network.md).\n"
      "\n"
      "structure: \"given\" takes the schema's [network], \"private\" chooses which tables are "
      "counted, in cliques of at most `parents` + 1 columns and `cells` cells, for "
      "`structure_share` of the budget; None: private where there is no [network]. mechanism: "
      "auto, tree (private), counts, trimmed (with trim, the smallest share) or conjugate "
      "(prior: pseudo-count of a cell). Under adjacency "
      "add-remove, rows_cap, a public upper bound, takes the place of rows. Where the schema has a "
      "column of people, both count them (Dataset.counted), and all rows of one count as at most "
      "rows_per_person. Raises BadInput or "
      "Infeasible.");
  m.def(
      "fit_network",
      [](const Dataset& data, const NetworkPlanOf& plan, std::optional<std::uint64_t> seed,
         const Ledger* ledger, const nb::object& progress) {
        return private_run({seed, ledger, progress}, plan,
                           [&](Key&& key, const FitOptions& options) {
                             return fit_network(data, plan, std::move(key), options);
                           });
      },
      "data"_a, "plan"_a, nb::kw_only(), "seed"_a = nb::none(), "ledger"_a = nb::none(),
      "progress"_a = nb::none(),
      "Counts or draws the tables of a plan and returns a NetworkRelease with its certificate. "
      "`data` is read through Schema.read_network, with labels_optional and "
      "ignore_extra_columns, and with rows_per_person where its schema has a column of people. seed and ledger are as in `fit`. Raises BadInput or BudgetSpent.");
  bind_network_release(m);
}

}  // namespace gibbsite::python
