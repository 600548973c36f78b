#include "network.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <variant>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/privacy/guarantee.hpp"
#include "text.hpp"

namespace gibbsite::cli {
namespace {

constexpr const char *structure_given = "given", *structure_private = "private";

// "network-counts" is `counts` too.
bool is_mechanism(const std::string& wish, std::string_view name) {
  constexpr std::string_view prefix = "network-";
  return wish == name || (name.starts_with(prefix) && wish == name.substr(prefix.size()));
}

std::vector<std::string> names_of(const Schema& columns) {
  std::vector<std::string> out;
  for (const Column& column : columns.columns) out.push_back(column.name);
  return out;
}

std::string list_of(const std::vector<std::uint32_t>& parents, const Schema& columns) {
  std::vector<std::string> names;
  for (const std::uint32_t parent : parents) names.push_back(shown(columns.columns[parent].name));
  return names.empty() ? "-" : fmt::format("{}", fmt::join(names, ", "));
}

// "± 19": how far a count is off 95 % of the time.
std::string rows_text(double rows) { return fmt::format("{:.3g}", rows); }

// Of mu^2, that choosing the structure takes, in percent.
double structure_percent(const NetworkPlan& plan) {
  const Analysis found =
      analyze(plan.offer().mechanism, plan.problem, plan.budget.neighbors(), plan.budget.draws);
  for (const NamedNumber& one : found.constants) {
    const double part = one.value / plan.offer().guarantee.mu;
    if (one.name == "structure_mu") return 100 * part * part;
  }
  return 0;
}

// Of a plan's chosen offer, a line for each node; of a private structure the widest table of each.
std::string nodes_table(const NetworkPlan& plan, const Schema& columns) {
  const NetworkProblem& p = plan.problem;
  const auto n = static_cast<double>(p.rows);
  const bool has_offer = plan.offer().feasible;
  if (p.chooses_structure()) {
    const double cells = static_cast<double>(p.limits.cells), per = n / cells;
    std::string out = fmt::format(
        "the structure is chosen from the table: up to {} parents of a column, tables of up to {} "
        "cells,\nin which {} rows are expected in a cell; its tables are known when it is paid "
        "for\n",
        p.limits.parents, p.limits.cells, rows_text(per));
    if (has_offer) {
      out += fmt::format(
          "choosing takes {:.3g} % of what is spent, as mu squared; a structure that is given in "
          "the schema's [network] takes none\n",
          structure_percent(plan));
    }
    return out;
  }
  const Network network = p.network();
  std::vector<double> sigma(network.size());
  if (has_offer) sigma = table_deviations(plan.offer(), network);
  std::vector<std::vector<std::string>> lines{
      {"column", "parents", "cells", "rows expected in a cell", "noise in a cell", ""}};
  std::size_t lost = 0;
  for (const std::uint32_t node : network.order()) {
    const double per = n / static_cast<double>(network.cells(node));
    const bool hidden = has_offer && sigma[node] > per;
    lost += hidden ? 1 : 0;
    lines.push_back({columns.columns[node].name, list_of(network.parents[node], columns),
                     std::to_string(network.cells(node)), rows_text(per),
                     has_offer ? rows_text(sigma[node]) : "-",
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

void NetworkArguments::add_to(CLI::App& app) {
  app.add_option("--structure", structure,
                 "network: given (default), as [network] in the schema says, or private: parents "
                 "are chosen from the table, which takes a share of the budget")
      ->type_name("NAME");
  add_number(app, "--structure-share", structure_share,
             "--structure private: share of μ² that choosing parents takes");
  const StructureLimits limits;
  add_count(
      app, "--parents", parents,
      fmt::format("--structure private: most parents of a column; default {}", limits.parents));
  add_count(
      app, "--cells", cells,
      fmt::format("--structure private: most cells of a column's table; default {}", limits.cells));
}

void NetworkArguments::require_of_model(const PlanArguments& plan,
                                        const FamilyArguments& family) const {
  const bool of_network = plan.model == network_model;
  const bool is_private = structure == structure_private;
  struct Given {
    bool given;
    const char* name;
  };
  const std::array<Given, 4> own{{{!structure.empty(), "--structure"},
                                  {structure_share.has_value(), "--structure-share"},
                                  {parents.has_value(), "--parents"},
                                  {cells.has_value(), "--cells"}}};
  if (!of_network) {
    for (const Given& option : own) {
      if (option.given) {
        throw BadInput(
            fmt::format("{}: has a meaning with --model network; leave it out", option.name));
      }
    }
    return;
  }
  const std::array<Given, 14> others{
      {{!family.column.empty(), "--column"},
       {family.diffused, "--diffused"},
       {family.variance.has_value(), "--variance"},
       {family.levels.has_value(), "--levels"},
       {!family.range.empty(), "--range"},
       {plan.prior_precision.has_value(), "--prior-precision"},
       {plan.tv.has_value(), "--tv"},
       {plan.step_size.has_value(), "--step-size"},
       {plan.iterations.has_value(), "--iterations"},
       {plan.loss_cap.has_value(), "--loss-cap"},
       {plan.ball.has_value(), "--ball"},
       {plan.padded, "--padded"},
       {plan.positive_share.has_value(), "--positive-share"},
       {plan.calibration != to_string(Calibration::gdp), "--calibration"}}};
  for (const Given& option : others) {
    if (option.given) {
      throw BadInput(
          fmt::format("{}: has no meaning with --model network; leave it out", option.name));
    }
  }
  if (!structure.empty() && structure != structure_given && structure != structure_private) {
    throw BadInput(
        fmt::format("--structure: '{}' is neither given nor private; give one", shown(structure)));
  }
  for (const Given& option : std::span(own).subspan(1)) {
    if (option.given && !is_private) {
      throw BadInput(
          fmt::format("{}: has a meaning with --structure private; leave it out", option.name));
    }
  }
  if (structure_share) require_between(*structure_share, 0, 1, "--structure-share");
  const std::string& wish = plan.mechanism;
  const bool counts = is_mechanism(wish, NetworkCounts::name),
             trimmed = is_mechanism(wish, NetworkTrimmed::name),
             conjugate = is_mechanism(wish, NetworkConjugate::name);
  if (!counts && !trimmed && !conjugate && wish != "auto") {
    throw BadInput(
        fmt::format("--mechanism: '{}' is none of --model network's: auto, counts, trimmed, "
                    "conjugate; give one",
                    shown(wish)));
  }
  if (counts && plan.draws.value_or(1) > 1) {
    throw BadInput(
        "--draws: noisy counts are released once; leave it out, or give --mechanism "
        "trimmed or conjugate");
  }
  if (counts && (!family.prior.empty() || !family.trim.empty())) {
    throw BadInput(
        fmt::format("{}: is of drawn tables, --mechanism trimmed or conjugate; leave it "
                    "out",
                    family.prior.empty() ? "--trim" : "--prior"));
  }
  if (trimmed && family.trim.empty()) {
    throw BadInput("--mechanism trimmed: needs --trim; give the least share of a level");
  }
  if (conjugate && !family.trim.empty()) {
    throw BadInput("--trim: is of --mechanism trimmed; leave one out");
  }
  if (conjugate && is_private) {
    throw BadInput(
        "--mechanism conjugate: needs a structure that is given; give [network] in the "
        "schema and --structure given, or another mechanism");
  }
}

NetworkWishes NetworkArguments::wishes(const PlanArguments& plan) const {
  return {.mechanism = plan.mechanism, .structure_share = structure_share};
}

NetworkProblem NetworkArguments::problem(const Schema& columns, std::uint64_t rows,
                                         const PlanArguments& plan,
                                         const FamilyArguments& family) const {
  if (plan.rows_cap && rows > *plan.rows_cap) {
    throw BadInput(
        fmt::format("--rows-cap: the table has more than {} rows; give a public bound "
                    "that holds (private: how many rows there are is not public)",
                    *plan.rows_cap));
  }
  NetworkProblem out{.rows = plan.rows_cap.value_or(rows), .levels = network_levels(columns)};
  if (structure == structure_private) {
    if (parents) out.limits.parents = *parents;
    if (cells) out.limits.cells = *cells;
  } else {
    if (!columns.network) {
      throw BadInput(
          "--structure: the schema has no [network]; say there what each column depends on, such "
          "as income = [\"education\"], or give --structure private, which chooses from the table "
          "and takes a share of the budget");
    }
    out.parents = network_parents(columns);
    out.network().validate(names_of(columns));
  }
  if (!family.prior.empty()) out.prior = parse_number(family.prior, "--prior");
  if (!family.trim.empty()) out.trim = parse_number(family.trim, "--trim");
  out.validate();
  return out;
}

std::string network_summary(std::span<const NetworkPlan> plans, const Schema& columns) {
  const NetworkPlan& first = plans.front();
  const NetworkProblem& p = first.problem;
  std::string out =
      fmt::format("{} rows, {} columns, δ = {:.4g}, {}\n\n",
                  human_count(static_cast<double>(p.rows)), p.levels.size(), first.budget.delta,
                  p.chooses_structure() ? "structure chosen from the table" : "structure given");
  std::vector<std::vector<std::string>> lines{
      {"", "ε", "mechanism", "noise in a count, rows", "best guess", ""}};
  for (const NetworkPlan& plan : plans) {
    for (std::size_t i = 0; i < plan.offers.size(); ++i) {
      const NetworkOffer& offer = plan.offers[i];
      lines.push_back(
          {i == plan.chosen && offer.feasible ? "→" : " ",
           fmt::format("{:.4g}", plan.budget.epsilon), std::string(name_of(offer.mechanism)),
           offer.feasible ? rows_text(offer.deviation) : "-",
           offer.feasible ? fmt::format("{:.1f} %", best_guess_percent(offer.guarantee)) : "-",
           offer.feasible ? "" : in_options(offer.why)});
    }
  }
  out += table(lines) + "\n";
  for (const NetworkPlan& plan : plans) {
    if (plans.size() > 1) out += fmt::format("ε = {:.4g}:\n", plan.budget.epsilon);
    out += nodes_table(plan, columns);
  }
  out +=
      "best guess: how often whoever knows all other rows is right, at even odds, about one "
      "person's\n";
  return out;
}

std::string network_line(const NetworkPlan& plan) {
  const NetworkOffer& offer = plan.offer();
  return fmt::format(
      "mechanism {}: {} columns, {}, a count of a cell is off by {} rows, (ε, δ) = "
      "({:.4g}, {:.4g})",
      name_of(offer.mechanism), plan.problem.levels.size(),
      plan.problem.chooses_structure() ? "structure chosen from the table" : "structure given",
      rows_text(offer.deviation), plan.budget.epsilon, plan.budget.delta);
}

std::string network_report(const NetworkModel& model) {
  std::vector<std::vector<std::string>> lines{{"column", "levels", "parents", "cells"}};
  for (const std::uint32_t node : model.network.order()) {
    lines.push_back({model.schema.columns[node].name, std::to_string(model.network.levels[node]),
                     list_of(model.network.parents[node], model.schema),
                     std::to_string(model.network.cells(node))});
  }
  return table(lines);
}

}  // namespace gibbsite::cli
