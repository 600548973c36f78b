// A network: its JSON, and what verify asks of its tables.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <type_traits>
#include <variant>

#include "certificate/bought_json.hpp"
#include "certificate/model_json.hpp"
#include "certificate/release_of.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/mechanism/noise_law.hpp"
#include "gibbsite/model/bought_network.hpp"
#include "gibbsite/model/tree_model.hpp"

namespace gibbsite {

using nlohmann::json;

namespace {

json names_json(const ColumnList& columns, const std::vector<std::string>& names) {
  json out = json::array();
  for (const std::uint32_t column : columns) out.push_back(names[column]);
  return out;
}

json tree_json(const TreeRelease& tree, const std::vector<std::string>& names) {
  json columns = json::array(), scores = json::array(), tables = json::array();
  const auto table = [&](const MeasuredTable& of, std::size_t place) -> json {
    return {{"counts", of.counts}, {"noise", of.deviation}, {"potentials", tree.potentials[place]}};
  };
  for (std::size_t k = 0; k < names.size(); ++k) {
    columns.push_back(table(tree.one_ways[k], k));
    columns.back()["column"] = names[k];
  }
  for (const TableCandidate& one : tree.scores)
    scores.push_back({{"columns", names_json(one.columns, names)}, {"score", one.score}});
  for (std::size_t t = 0; t < tree.tables.size(); ++t) {
    tables.push_back(table(tree.tables[t], names.size() + t));
    tables.back()["columns"] = names_json(tree.tables[t].columns, names);
  }
  json out = {{"rows", tree.rows}, {"columns", columns}, {"tables", tables}, {"scores", scores}};
  if (tree.fit > 0) out["fit"] = tree.fit;
  if (tree.score_noise > 0) out["score_noise"] = tree.score_noise;
  return out;
}

}  // namespace

json model_json(const NetworkModel& model) {
  const std::vector<std::string> names = model.names();
  if (model.tree) {
    json out = {{"kind", "network"},
                {"preprocessing", schema_json(model.schema)},
                {"tree", tree_json(*model.tree, names)}};
    if (model.bought) out["bought"] = bought_json(*model.bought);
    return out;
  }
  json nodes = json::array();
  for (std::size_t i = 0; i < names.size(); ++i) {
    json parents = json::array(), tables = json::array();
    for (const std::uint32_t parent : model.network.parents[i]) parents.push_back(names[parent]);
    for (const auto& draw : model.tables) tables.push_back(draw[i]);
    json node = {{"column", names[i]}, {"parents", parents}, {"tables", tables}};
    if (!model.counts.empty()) {
      node["counts"] = model.counts[i];
      node["noise"] = model.noise[i];
    }
    nodes.push_back(std::move(node));
  }
  return {{"kind", "network"},
          {"preprocessing", schema_json(model.schema)},
          {"nodes", std::move(nodes)}};
}

namespace {

std::vector<double> shares_from_json(const json& draw, std::uint64_t cells, std::uint64_t levels,
                                     const std::string& source) {
  std::vector<double> out = numbers_field({{"tables", draw}}, "tables", cells, source);
  for (std::size_t first = 0; first < out.size(); first += levels) {
    double sum = 0;
    bool shares = true;
    for (std::size_t l = first; l < first + levels; ++l) {
      shares = shares && out[l] >= 0;
      sum += out[l];
    }
    if (!shares || !(std::abs(sum - 1) <= 1e-9)) {
      throw BadInput(source +
                     ": tables: shares of a configuration must be at least 0 and sum to 1; use the "
                     "file as it was written");
    }
  }
  return out;
}

const json& list_field(const json& object, const char* name, const std::string& source) {
  const json& list = field(object, name, source);
  if (!list.is_array() || list.empty()) {
    throw BadInput(
        fmt::format("{}: {}: must be a list of at least one; use the file as it was "
                    "written",
                    source, name));
  }
  return list;
}

// A list of names of columns, ascending by place, each once.
ColumnList columns_from_json(const json& object, const std::vector<std::string>& names,
                             const std::string& source) {
  ColumnList out;
  for (const json& name : list_field(object, "columns", source)) {
    const auto found =
        name.is_string() ? std::ranges::find(names, name.get<std::string>()) : names.end();
    const auto place = static_cast<std::uint32_t>(found - names.begin());
    if (found == names.end() || (!out.empty() && place <= out.back())) {
      throw BadInput(source +
                     ".columns: must be columns of preprocessing in their order, each once; use "
                     "the file as it was written");
    }
    out.push_back(place);
  }
  return out;
}

const json& any_list_field(const json& object, const char* name, const std::string& source) {
  const json& list = field(object, name, source);
  if (!list.is_array())
    throw BadInput(
        fmt::format("{}: {}: must be a list; use the file as it was written", source, name));
  return list;
}

MeasuredTable measured_from_json(const json& object, ColumnList columns, std::uint64_t cells,
                                 const std::string& source) {
  MeasuredTable out{std::move(columns), numbers_field(object, "counts", cells, source),
                    number_field(object, "noise", source)};
  require_finite_positive(out.deviation, source + ".noise");
  return out;
}

NetworkModel tree_from_json(NetworkModel out, const json& tree, const std::string& source) {
  static_cast<void>(target_column(out.schema));
  const std::vector<std::string> names = out.names();
  const std::vector<std::uint64_t>& levels = out.network.levels;
  TreeRelease& release = out.tree.emplace();
  release.rows = number_field(tree, "rows", source);
  require_finite_positive(release.rows, source + ".rows");
  const json& columns = list_field(tree, "columns", source);
  if (columns.size() != names.size()) {
    throw BadInput(
        fmt::format("{}: columns: must be {}, one for each column of preprocessing; use the file "
                    "as it was written",
                    source, names.size()));
  }
  for (std::uint32_t k = 0; k < names.size(); ++k) {
    const std::string at = fmt::format("{}: columns[{}]", source, k);
    if (text_field(columns[k], "column", at) != names[k]) {
      throw BadInput(
          fmt::format("{}.column: must be {}, as in preprocessing; use the file as it "
                      "was written",
                      at, gibbsite::quoted(names[k])));
    }
    release.one_ways.push_back(measured_from_json(columns[k], {k}, levels[k], at));
  }
  const std::vector<StructuralZero> never = structural_zeros(out.schema);
  const LevelGroups groups = group_rare_levels(release.one_ways, never);
  const std::vector<std::uint64_t> grouped = groups.levels();
  for (std::uint32_t k = 0; k < names.size(); ++k) {
    release.potentials.push_back(numbers_field(columns[k], "potentials", grouped[k],
                                               fmt::format("{}: columns[{}]", source, k)));
  }
  const json& scores = any_list_field(tree, "scores", source);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const std::string at = fmt::format("{}: scores[{}]", source, i);
    release.scores.push_back(
        {columns_from_json(scores[i], names, at), number_field(scores[i], "score", at)});
  }
  if (tree.contains("score_noise")) {
    release.score_noise = number_field(tree, "score_noise", source);
    require_finite_positive(release.score_noise, source + ".score_noise");
  }
  const json& tables = any_list_field(tree, "tables", source);
  std::vector<ColumnList> sets;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const std::string at = fmt::format("{}: tables[{}]", source, t);
    sets.push_back(columns_from_json(tables[t], names, at));
    const std::uint64_t cells = table_cells(grouped, sets.back());
    release.tables.push_back(measured_from_json(tables[t], sets.back(), cells, at));
    release.potentials.push_back(numbers_field(tables[t], "potentials", cells, at));
  }
  if (tree.contains("fit")) {
    const json& fit = tree["fit"];
    if (!fit.is_number_unsigned() || fit != tree_fit)
      throw BadInput(
          fmt::format("{}: fit: must be {}, the one that this version knows; read it "
                      "with a newer one",
                      source, tree_fit));
    release.fit = tree_fit;
  }
  for (const StructuralZero& zero : never) sets.push_back(zero.columns);
  if (const LargestClique most = largest_clique(levels, sets);
      most.cells > most_network_cells || most.columns > most_network_parents + 1) {
    throw BadInput(source +
                   ": tables: no junction tree within the limits of networks holds them; use the "
                   "file as it was written");
  }
  TreeNetwork fitted = network_of(release, levels, never);
  out.network = std::move(fitted.network);
  out.tables = {std::move(fitted.tables)};
  return out;
}

}  // namespace

NetworkModel GraphicalKind::model_from_json(const json& model, const std::string& source) {
  if (text_field(model, "kind", source) != "network") {
    throw BadInput(source + ": kind: must be network; use the file as it was written");
  }
  NetworkModel out{.schema = schema_from_json(field(model, "preprocessing", source), source, true),
                   .network = {},
                   .tables = {}};
  const std::vector<std::string> names = out.names();
  out.network.levels = network_levels(out.schema);
  if (model.contains("bought")) out.bought = bought_from_json(model["bought"], source + ": bought");
  if (out.bought && !out.bought->parts.empty()) {
    throw BadInput(source + ": bought.date_parts: are of a model of rows; use the file as written");
  }
  if (model.contains("tree"))
    return tree_from_json(std::move(out), field(model, "tree", source), source + ": tree");
  const json& nodes = list_field(model, "nodes", source);
  if (nodes.size() != names.size()) {
    throw BadInput(
        fmt::format("{}: nodes: must be {}, one for each column of preprocessing; use "
                    "the file as it was written",
                    source, names.size()));
  }
  std::vector<std::string> at;  // of each node, for errors
  for (std::size_t i = 0; i < names.size(); ++i) {
    at.push_back(fmt::format("{}: nodes[{}]", source, i));
    if (text_field(nodes[i], "column", at[i]) != names[i]) {
      throw BadInput(
          fmt::format("{}.column: must be {}, as in preprocessing; use the file as it "
                      "was written",
                      at[i], gibbsite::quoted(names[i])));
    }
    std::vector<std::uint32_t> parents;
    const json& listed = field(nodes[i], "parents", at[i]);
    if (!listed.is_array()) throw BadInput(at[i] + ".parents: must be a list of columns");
    for (const json& parent : listed) {
      const auto found =
          parent.is_string() ? std::ranges::find(names, parent.get<std::string>()) : names.end();
      if (found == names.end()) {
        throw BadInput(at[i] +
                       ".parents: names a column that there is not; use the file as it was "
                       "written");
      }
      parents.push_back(static_cast<std::uint32_t>(found - names.begin()));
    }
    out.network.parents.push_back(std::move(parents));
  }
  try {
    out.network.validate(names);
  } catch (const BadInput& error) {
    throw BadInput(FilePosition{source}, error.message());
  }
  const bool counted = nodes[0].contains("counts");
  const std::size_t draws = list_field(nodes[0], "tables", at[0]).size();
  out.tables.resize(draws);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::uint64_t cells = out.network.cells(i);
    const json& tables = list_field(nodes[i], "tables", at[i]);
    if (tables.size() != draws) {
      throw BadInput(fmt::format("{}.tables: must be {} draws, as of the others", at[i], draws));
    }
    for (std::size_t k = 0; k < draws; ++k) {
      out.tables[k].push_back(shares_from_json(tables[k], cells, out.network.levels[i], at[i]));
    }
    if (nodes[i].contains("counts") != counted) {
      throw BadInput(at[i] + ".counts: must be there for all columns or for none");
    }
    if (!counted) continue;
    out.counts.push_back(numbers_field(nodes[i], "counts", cells, at[i]));
    out.noise.push_back(number_field(nodes[i], "noise", at[i]));
    require_finite_positive(out.noise.back(), at[i] + ".noise");
  }
  return out;
}

GraphicalKind::Extra GraphicalKind::extra_of(const NetworkModel& model) {
  return model.bought ? Extra{terms_of(*model.bought)} : Extra{};
}

std::string public_choices(const NetworkCertificate& c) {
  if (!c.bought) return "the schema (columns, ranges, levels, classes, row norm)";
  return fmt::format("the names of the columns{}", counting_choices(c.problem));
}

namespace {

std::string own_assumption(const NetworkCertificate& c) {
  if (std::holds_alternative<NetworkTree>(c.mechanism)) {
    return "the limits of the structure were chosen without looking at the table, and "
           "model.tree.potentials were fitted to the noisy counts of the file alone";
  }
  return c.problem.chooses_structure()
             ? "the limits of the structure were chosen without looking at the table"
             : "the structure, which columns are parents of which, was given without looking at "
               "the table";
}

}  // namespace

std::string assumption_of(const NetworkCertificate& c) {
  const std::string own = own_assumption(c);
  return c.bought ? fmt::format("{}; {}", own, bought_assumption) : own;
}

std::size_t draws_of(const NetworkModel& model) { return model.tables.size(); }

NetworkProblem problem_of(const NetworkModel& model, const NetworkCertificate& c) {
  NetworkProblem out = c.problem;
  out.levels = model.network.levels;
  if (out.parents) out.parents = model.network.parents;
  out.weighted = model.schema.weight() != nullptr || model.schema.person() != nullptr;
  out.rows_of_person = model.schema.person() != nullptr ? c.claimed.who.rows_per_person : 0;
  return out;
}

namespace {

// Counts have the noise that they are paid for with, and tables follow from them.
void verify_tables(Verifier& v, const NetworkCounts& s, const NetworkProblem& p,
                   const NetworkModel& model) {
  if (model.counts.empty()) {
    v.check(false, "model.nodes: counts are missing");
    return;
  }
  v.check(model.noise == table_deviations(s.noise, model.network),
          "model.nodes: each has the noise that follows from mechanism.noise");
  std::size_t off = 0, beyond = 0;
  for (std::size_t i = 0; i < model.counts.size(); ++i) {
    const double grid = answer_grid(model.noise[i]);
    const double noise = answer_reach(model.noise[i]);
    for (const double count : model.counts[i]) {
      off += std::remainder(count, grid) != 0;
      beyond += !(count >= -noise && count <= static_cast<double>(p.most_weight()) + noise);
    }
  }
  v.check(off == 0, fmt::format("model.nodes: {} counts off the grid of their noise", off));
  v.check(beyond == 0, fmt::format("model.nodes: {} counts that no noise leads to", beyond));
  const auto tables = tables_of_counts(model.network, model.counts, model.noise);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    for (std::size_t j = 0; j < tables[i].size(); ++j) {
      wrong += !(std::abs(tables[i][j] - model.tables[0][i][j]) <= 1e-9);  // no number is wrong too
    }
  }
  v.check(wrong == 0, fmt::format("model.nodes: {} shares do not follow from the counts", wrong));
}

void verify_draws(Verifier& v, const NetworkProblem& p, const NetworkModel& model) {
  v.check(model.counts.empty(), "model.nodes: drawn tables have no counts");
  if (!p.trim) return;
  std::size_t below = 0;
  for (const auto& draw : model.tables) {
    for (std::size_t i = 0; i < draw.size(); ++i) {
      const std::uint64_t levels = model.network.levels[i];
      for (std::size_t first = 0; first < draw[i].size(); first += levels) {
        const auto share = [&](std::uint64_t from, std::uint64_t to) {
          double sum = 0;
          for (std::uint64_t l = from; l < to; ++l) sum += draw[i][first + l];
          return sum;
        };
        for_each_split(0, levels, [&](std::uint64_t a, std::uint64_t b, std::uint64_t c) {
          const double chosen = share(a, b) / share(a, c);
          const auto [least, most] = split_trim(*p.trim, a, b, c);
          below += !(chosen >= least - 1e-9 && chosen <= most + 1e-9);
        });
      }
    }
  }
  v.check(below == 0, fmt::format("model.nodes: {} splits outside of the trim {}", below, *p.trim));
}

void verify_tables(Verifier& v, const NetworkTrimmed& /*settings*/, const NetworkProblem& p,
                   const NetworkModel& model) {
  verify_draws(v, p, model);
}
void verify_tables(Verifier& v, const NetworkConjugate& /*settings*/, const NetworkProblem& p,
                   const NetworkModel& model) {
  verify_draws(v, p, model);
}

// Answers with that noise to questions whose exact answers are from 0 to `most`.
void verify_answers(Verifier& v, const std::string& what, std::span<const double> answers,
                    double noise, double most) {
  const double grid = answer_grid(noise), reach = answer_reach(noise);
  std::size_t off = 0, beyond = 0;
  for (const double answer : answers) {
    off += std::remainder(answer, grid) != 0;
    beyond += !(answer >= -reach && answer <= most + reach);
  }
  v.check(off == 0, fmt::format("{}: {} numbers off the grid of their noise", what, off));
  v.check(beyond == 0, fmt::format("{}: {} numbers that no noise leads to", what, beyond));
}

// Every answer has the noise that it is paid for with, what was asked follows from the answers
// before, and the potentials from all of them.
void verify_tree(Verifier& v, const NetworkTree& s, NetworkProblem p, const Neighbors& who,
                 const NetworkModel& model) {
  if (!model.tree) {
    v.check(false, "model.tree: is missing");
    return;
  }
  const TreeRelease& tree = *model.tree;
  p.never = structural_zeros(model.schema);
  p.target = target_column(model.schema);
  // Files of before do not say which fit made them: their digest alone guards the potentials.
  if (tree.fit == tree_fit)
    v.check(tree.potentials == fitted_potentials(tree, p.levels, p.never, {}),
            "model.tree: its potentials are those of the fit to its counts");
  const auto most = static_cast<double>(p.most_weight());
  bool noise_of_columns = true;
  for (const MeasuredTable& one : tree.one_ways) {
    noise_of_columns = noise_of_columns && one.deviation == s.one_way_noise;
    verify_answers(v, "model.tree.columns", one.counts, one.deviation, most);
  }
  v.check(noise_of_columns, "model.tree.columns: each has the noise mechanism.one_way_noise");
  const bool is_public = p.total_is_public(who.adjacency);
  v.check(tree.rows == tree_rows(tree.one_ways, is_public ? std::optional(p.rows) : std::nullopt,
                                 p.most_weight()),
          "model.tree.rows: is public, or follows from the counts of columns");
  const auto pairs = scored_pairs(p);
  bool of_pairs = tree.scores.size() == pairs.size();
  std::vector<double> scores;
  for (std::size_t i = 0; i < tree.scores.size(); ++i) {
    scores.push_back(tree.scores[i].score);
    of_pairs = of_pairs && tree.scores[i].columns == ColumnList{pairs[i][0], pairs[i][1]};
  }
  v.check(of_pairs && tree.score_noise == s.score_noise,
          "model.tree.scores: one of every pair within the limits, with the noise "
          "mechanism.score_noise");
  if (!of_pairs || pairs.empty()) {
    v.check(tree.tables.empty(), "model.tree.tables: none was scored");
    return;
  }
  verify_answers(v, "model.tree.scores", scores, s.score_noise, 2 * most + 1);
  const LevelGroups groups = group_rare_levels(tree.one_ways, p.never);
  std::vector<ColumnList> counted;
  for (const MeasuredTable& table : tree.tables) counted.push_back(table.columns);
  std::vector<ColumnList> chosen = chosen_tables(tree, groups, p, s.noise);
  if (counted != chosen)
    chosen = chosen_tables(tree, groups, p, s.noise, TableLimits::Penalties::to_16);
  v.check(counted == chosen,
          "model.tree.tables: are those that follow from the scores and the counts of columns");
  if (counted != chosen) return;
  const std::vector<double> deviations =
      table_deviations(s.noise, weighted_sizes(chosen, groups, p.target));
  bool noise_of_tables = true;
  for (std::size_t t = 0; t < chosen.size(); ++t) {
    noise_of_tables = noise_of_tables && tree.tables[t].deviation == deviations[t];
    verify_answers(v, "model.tree.tables", tree.tables[t].counts, deviations[t], most);
  }
  v.check(noise_of_tables,
          "model.tree.tables: each has the noise that follows from mechanism.noise");
}

void verify_bought(Verifier& v, const NetworkModel& model, const NetworkCertificate& c) {
  v.check(model.bought.has_value() == c.bought.has_value(),
          "model.bought: there where the certificate covers a schema, and there only");
  if (!model.bought || !c.bought) return;
  check_bought(v, *model.bought, *c.bought, schema_problem_of(c), c.claimed.who);
  const auto follows = [&](WholeBins rule) {
    return model.schema == bought_network_schema(*model.bought, rule);
  };
  v.check(follows(WholeBins::of_one) || follows(WholeBins::of_a_thousandth),
          "model.preprocessing: follows from the answers that it was bought with");
}

}  // namespace

void check_model(Verifier& v, const NetworkModel& model, const NetworkCertificate& c) {
  const NetworkProblem& p = c.problem;
  verify_bought(v, model, c);
  const auto* const tree = std::get_if<NetworkTree>(&c.mechanism);
  if (tree == nullptr && model.tree) {
    v.check(false, "model.tree: is of the mechanism network-tree");
    return;
  }
  if (!p.parents) {
    bool within = true;
    for (std::size_t i = 0; i < model.network.size(); ++i) {
      within = within && model.network.parents[i].size() <= p.limits.parents &&
               model.network.cells(i) <= p.limits.cells;
    }
    v.check(within, "constants.limits: every table of the model is within them");
  }
  if (tree != nullptr) return verify_tree(v, *tree, p, c.claimed.who, model);
  std::visit(
      [&]<class M>(const M& s) {
        if constexpr (!std::is_same_v<M, NetworkTree>) verify_tables(v, s, p, model);
      },
      c.mechanism);
}

GIBBSITE_RELEASE_KIND(GraphicalKind);

}  // namespace gibbsite
