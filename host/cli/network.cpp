#include "network.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <variant>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/model/tree_model.hpp"
#include "gibbsite/privacy/guarantee.hpp"
#include "gibbsite/release/network_counts.hpp"
#include "text.hpp"

namespace gibbsite::cli {
namespace {

std::string list_of(const std::vector<std::uint32_t>& parents, const Schema& columns) {
  std::vector<std::string> names;
  for (const std::uint32_t parent : parents) names.push_back(shown(columns.columns[parent].name));
  return names.empty() ? "-" : fmt::format("{}", fmt::join(names, ", "));
}

// "± 19": how far a count is off 95 % of the time.
std::string rows_text(double rows) { return fmt::format("{:.3g}", rows); }

// The percentage of mu^2 that choosing the structure takes.
double structure_percent(const NetworkPlan& plan) {
  const Analysis found =
      analyze(plan.candidate().mechanism, plan.problem, plan.budget.neighbors(), plan.budget.draws);
  for (const NamedNumber& one : found.constants) {
    const double part = one.value / plan.candidate().guarantee.mu;
    if (one.name == "structure_mu" || one.name == "score_mu") return 100 * part * part;
  }
  return 0;
}

// A line for each node of a plan's chosen offer; the widest table of each if the structure is
// private.
std::string nodes_table(const NetworkPlan& plan, const Schema& columns) {
  const NetworkProblem& p = plan.problem;
  const auto n = static_cast<double>(p.rows);
  const bool has_candidate = plan.candidate().feasible;
  if (const auto* const tree = std::get_if<NetworkTree>(&plan.candidate().mechanism)) {
    const std::size_t pairs = scored_pairs(p).size();
    if (pairs == 0)
      return fmt::format("no two columns have a table of up to {} cells: each is counted alone\n",
                         p.limits.cells);
    std::string out = fmt::format(
        "each column is counted (off by {} rows), {} pairs are scored, and the tables worth their "
        "noise are\ncounted: such that a junction tree of cliques of up to {} columns and {} cells "
        "holds them;\nthey are known when they are paid for. Scores take {:.3g} % of what is spent, as "
        "mu squared; a structure\nthat is given in the schema's [network] takes none\n",
        rows_text(tree->one_way_noise), pairs, p.limits.parents + 1, p.limits.cells,
        structure_percent(plan));
    if (p.target) {
      out += fmt::format("tables with {} count {} times: rows are to predict it\n",
                         shown(columns.columns[*p.target].name), target_weight);
    }
    return out;
  }
  if (p.chooses_structure()) {
    const double cells = static_cast<double>(p.limits.cells), per = n / cells;
    std::string out = fmt::format(
        "the structure is chosen from the table: up to {} parents of a column, tables of up to {} "
        "cells,\nin which {} rows are expected in a cell; its tables are known when it is paid "
        "for\n",
        p.limits.parents, p.limits.cells, rows_text(per));
    if (has_candidate) {
      out += fmt::format(
          "choosing takes {:.3g} % of what is spent, as mu squared; a structure that is given in "
          "the schema's [network] takes none\n",
          structure_percent(plan));
    }
    return out;
  }
  const Network network = p.network();
  std::vector<double> sigma(network.size());
  if (has_candidate) sigma = table_deviations(plan.candidate(), network);
  std::vector<std::vector<std::string>> lines{
      {"column", "parents", "cells", "rows expected in a cell", "noise in a cell", ""}};
  std::size_t lost = 0;
  for (const std::uint32_t node : network.order()) {
    const double per = n / static_cast<double>(network.cells(node));
    const bool hidden = has_candidate && sigma[node] > per;
    lost += hidden ? 1 : 0;
    lines.push_back({columns.columns[node].name, list_of(network.parents[node], columns),
                     std::to_string(network.cells(node)), rows_text(per),
                     has_candidate ? rows_text(sigma[node]) : "-",
                     hidden ? "more noise than rows" : ""});
  }
  std::string out = table(lines);
  if (lost > 0) {
    out += fmt::format(
        "{} of {} tables are too rich for so few rows: give those columns fewer parents, or their "
        "columns fewer bins or levels\n",
        lost, network.size());
  }
  return out;
}

}  // namespace

std::string plan_weights(const NetworkProblem& p) {
  if (p.of_people()) {
    return fmt::format(
        "people: all rows of one count as at most {} together; figures are as if everybody had "
        "that many\n",
        p.rows_of_person);
  }
  return p.weighted ? "weights: figures are those of rows that all have the largest weight\n" : "";
}

void add_network_to(CLI::App& app, PlanArguments& plan) {
  app.add_option(
         "--structure", plan.structure,
         "network: given, as [network] in the schema says (default where it is there), or "
         "private: the tables to count are chosen from the table, for a share of the budget")
      ->type_name("NAME");
  add_number(app, "--structure-share", plan.structure_share,
             "--structure private: share of μ² that choosing takes");
  add_count(app, "--parents", plan.parents,
            fmt::format("--structure private: most parents of a column; default {}, with "
                        "--mechanism counts or trimmed {}",
                        tree_limits(1).parents, StructureLimits{}.parents));
  add_count(
      app, "--cells", plan.cells,
      fmt::format(
          "--structure private: most cells of a column's table, or of a clique; default "
          "{} to {}, the fewer the more columns there are, with --mechanism counts or trimmed {}",
          tree_limits(most_network_columns).cells, tree_limits(1).cells, StructureLimits{}.cells));
}

std::string people_words(const Schema& columns) {
  const Column* const person = columns.person();
  return person == nullptr
             ? ""
             : fmt::format("All rows with one {} count together, as the certificate says.\n",
                           shown(person->name));
}

std::string weighted_words(const Schema& columns) {
  const Column *const weight = columns.weight(), *const person = columns.person();
  std::string out = people_words(columns);
  if (weight == nullptr) return out;
  if (person != nullptr)
    return out + wrapped(fmt::format("A row counts by {} over {:.6g}, times what the rows of its "
                                     "person count: shares and drawn people are of that table.",
                                     shown(weight->name), weight->hi));
  return out + wrapped(fmt::format(
                   "Rows count by {0} over {1:.6g}: shares and drawn people are of the weighted "
                   "table, and {1:.6g} times a count is a sum of {0}.",
                   shown(weight->name), weight->hi));
}

std::string network_summary(std::span<const NetworkPlan> plans, const Schema& columns) {
  const NetworkPlan& first = plans.front();
  const NetworkProblem& p = first.problem;
  std::string out =
      fmt::format("{} {}, {} columns, δ = {:.4g}, {}\n\n", human_count(static_cast<double>(p.rows)),
                  p.of_people() ? "people" : "rows", p.levels.size(), first.budget.delta,
                  p.chooses_structure() ? "structure chosen from the table" : "structure given");
  std::vector<std::vector<std::string>> lines{
      {"", "ε", "mechanism", "noise in a count, rows", "best guess", ""}};
  for (const NetworkPlan& plan : plans) {
    for (std::size_t i = 0; i < plan.candidates.size(); ++i) {
      const NetworkCandidate& candidate = plan.candidates[i];
      if (!candidate.feasible && in_options(candidate.why) == "was not asked for") continue;
      lines.push_back(
          {i == plan.chosen && candidate.feasible ? "→" : " ",
           fmt::format("{:.4g}", plan.budget.epsilon), std::string(name_of(candidate.mechanism)),
           candidate.feasible ? rows_text(candidate.deviation) : "-",
           candidate.feasible ? fmt::format("{:.1f} %", best_guess_percent(candidate.guarantee))
                              : "-",
           candidate.feasible ? "" : in_options(candidate.why)});
    }
  }
  out += table(lines) + "\n";
  std::string before;  // what only repeats what was said of another ε is left out
  for (const NetworkPlan& plan : plans) {
    const std::string nodes = nodes_table(plan, columns);
    if (nodes == before) continue;
    if (plans.size() > 1) out += fmt::format("ε = {:.4g}:\n", plan.budget.epsilon);
    out += before = nodes;
  }
  out +=
      "best guess: how often whoever knows all other rows is right, at even odds, about one "
      "person's\n";
  return out + plan_weights(p);
}

std::string network_line(const NetworkPlan& plan) {
  const NetworkCandidate& candidate = plan.candidate();
  return fmt::format(
      "mechanism {}: {} columns, {}, a count of a cell is off by {} rows, (ε, δ) = "
      "({:.4g}, {:.4g})",
      name_of(candidate.mechanism), plan.problem.levels.size(),
      plan.problem.chooses_structure() ? "structure chosen from the table" : "structure given",
      rows_text(candidate.deviation), plan.budget.epsilon, plan.budget.delta);
}

namespace {

// Levels that all other columns take for one, a line for each column that has some.
std::string merged_levels(const NetworkModel& model) {
  constexpr std::size_t most = 10;
  const LevelGroups groups =
      group_rare_levels(model.tree->one_ways, structural_zeros(model.schema));
  std::string out;
  for (std::size_t k = 0; k < model.network.size(); ++k) {
    const std::vector<std::string> names = model.level_names(k);
    std::map<std::uint32_t, std::vector<std::string>> members;
    for (std::size_t l = 0; l < names.size(); ++l)
      members[groups.group[k][l]].push_back(shown(names[l]));
    for (auto& [group, of] : members) {
      if (of.size() == 1) continue;
      const std::size_t all = of.size();
      of.resize(std::min(most, all));
      out += fmt::format("{}: too rare to be told apart by other columns: {}{}\n",
                         shown(model.schema.columns[k].name), fmt::join(of, ", "),
                         all > most ? fmt::format(" and {} more", all - most) : "");
    }
  }
  return out.empty() ? out : "\n" + out;
}

// A bin that holds most of a column and many values: rows are spread over it, whatever is in it. By
// counts that were answered.
std::string crowded_bins(const NetworkModel& model) {
  constexpr double most = 0.7;
  std::string out;
  for (std::size_t k = 0; k < model.network.size(); ++k) {
    const Column& column = model.schema.columns[k];
    if (column.type != ColumnType::number) continue;
    const std::vector<double>& counts = model.tree->one_ways[k].counts;
    const auto largest = std::ranges::max_element(counts);
    double all = 0;
    for (const double count : counts) all += std::max(count, 0.0);
    const auto bin = static_cast<std::size_t>(largest - counts.begin());
    if (!(*largest > most * all) || bin > column.edges.size()) continue;
    if (number_of_bin(column, bin)) continue;
    out += wrapped(fmt::format(
        "{}: about {:.0f} % lie in one bin, {}, over which drawn numbers are spread; if they do "
        "not, give bins that meet within it (another fit costs again)",
        shown(column.name), 100 * *largest / all, model.level_names(k)[bin]));
  }
  return out.empty() ? out : "\n" + out;
}

std::string tree_report(const NetworkModel& model) {
  std::vector<std::vector<std::string>> lines{{"column", "levels", "noise in a count, rows"}};
  for (std::size_t k = 0; k < model.network.size(); ++k) {
    lines.push_back({model.schema.columns[k].name, std::to_string(model.network.levels[k]),
                     rows_text(model.tree->one_ways[k].deviation)});
  }
  std::string out = table(lines);
  if (model.tree->tables.empty())
    return out + "no table of two columns was worth its noise: they are taken for independent\n" +
           crowded_bins(model);
  lines = {{"counted together", "cells", "noise in a count, rows"}};
  for (const MeasuredTable& one : model.tree->tables) {
    lines.push_back({list_of(one.columns, model.schema), std::to_string(one.counts.size()),
                     rows_text(one.deviation)});
  }
  return out + "\n" + table(lines) + merged_levels(model) + crowded_bins(model);
}

}  // namespace

std::string counts_csv(const NetworkModel& model) {
  std::string out;
  for (const std::vector<std::string>& line : counts_table(model)) {
    for (std::size_t i = 0; i < line.size(); ++i) out += (i == 0 ? "" : ",") + csv_cell(line[i]);
    out += '\n';
  }
  return out;
}

std::string network_report(const NetworkModel& model) {
  if (model.tree) return tree_report(model);
  std::vector<std::vector<std::string>> lines{{"column", "levels", "parents", "cells"}};
  for (const std::uint32_t node : model.network.order()) {
    lines.push_back({model.schema.columns[node].name, std::to_string(model.network.levels[node]),
                     list_of(model.network.parents[node], model.schema),
                     std::to_string(model.network.cells(node))});
  }
  return table(lines);
}

}  // namespace gibbsite::cli
