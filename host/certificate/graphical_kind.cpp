// A network: its JSON, and what verify asks of its tables.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "certificate/model_json.hpp"
#include "certificate/release_of.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/mechanism/noise_law.hpp"

namespace gibbsite {

using nlohmann::json;

json model_json(const NetworkModel& model) {
  const std::vector<std::string> names = model.names();
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

std::string assumption_of(const NetworkCertificate& c) {
  return c.problem.chooses_structure()
             ? "the limits of the structure were chosen without looking at the table"
             : "the structure, which columns are parents of which, was given without looking at "
               "the table";
}

std::size_t draws_of(const NetworkModel& model) { return model.tables.size(); }

NetworkProblem problem_of(const NetworkModel& model, const NetworkCertificate& c) {
  NetworkProblem out = c.problem;
  out.levels = model.network.levels;
  if (out.parents) out.parents = model.network.parents;
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
      beyond += !(count >= -noise && count <= static_cast<double>(p.rows) + noise);
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

}  // namespace

void check_model(Verifier& v, const NetworkModel& model, const NetworkCertificate& c) {
  const NetworkProblem& p = c.problem;
  if (!p.parents) {
    bool within = true;
    for (std::size_t i = 0; i < model.network.size(); ++i) {
      within = within && model.network.parents[i].size() <= p.limits.parents &&
               model.network.cells(i) <= p.limits.cells;
    }
    v.check(within, "constants.limits: every table of the model is within them");
  }
  std::visit([&](const auto& s) { verify_tables(v, s, p, model); }, c.mechanism);
}

GIBBSITE_RELEASE_KIND(GraphicalKind);

}  // namespace gibbsite
