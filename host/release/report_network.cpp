// The page's tables of a network, and its graph.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gibbsite/core/human_count.hpp"
#include "gibbsite/core/network.hpp"
#include "gibbsite/release/cross_table.hpp"
#include "gibbsite/release/network_query.hpp"
#include "release/page.hpp"
#include "release/report_parts.hpp"

namespace gibbsite {
namespace {

constexpr std::size_t most_tables = 60;  // of a network's columns
constexpr std::size_t most_given = 40;   // configurations of one of them
constexpr std::size_t most_drawn = 40;   // columns in a picture of it

// As much of a name as a box holds, whole signs of UTF-8.
std::string cut(const std::string& name, std::size_t most) {
  std::string out;
  std::size_t signs = 0;
  for (const char c : name) {
    const bool begins = (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    if (begins && signs == most) return out + "…";
    signs += begins ? 1 : 0;
    out += c;
  }
  return out;
}

// Columns in lines below all that they depend on, four to a line, with an arrow from each parent.
void graph_picture(Html& page, const NetworkModel& model, const Markup& caption) {
  constexpr std::size_t to_a_line = 4;
  constexpr double wide = 104, high = 24, step = 112, down = 62, top = 6;
  const Network& network = model.network;
  const std::vector<std::string> names = model.names();
  std::vector<std::size_t> depth(network.size());
  std::size_t deepest = 0;
  for (const std::uint32_t node : network.order()) {
    for (const std::uint32_t parent : network.parents[node])
      depth[node] = std::max(depth[node], depth[parent] + 1);
    deepest = std::max(deepest, depth[node]);
  }
  std::vector<std::pair<double, double>> at(network.size());  // middle, top
  double y = top;
  for (std::size_t level = 0; level <= deepest; ++level) {
    std::vector<std::size_t> of_level;
    for (std::size_t k = 0; k < network.size(); ++k)
      if (depth[k] == level) of_level.push_back(k);
    for (std::size_t first = 0; first < of_level.size(); first += to_a_line, y += down) {
      const std::size_t count = std::min(to_a_line, of_level.size() - first);
      const double left = step * static_cast<double>(to_a_line - count) / 2;
      for (std::size_t i = 0; i < count; ++i)
        at[of_level[first + i]] = {left + step * (static_cast<double>(i) + 0.5), y};
    }
  }
  page.put(
      "<figure><svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"Graph of {} columns: an arrow "
      "goes from a column to each that depends on it\">\n",
      step * to_a_line, y - down + high + top, network.size());
  for (std::size_t k = 0; k < network.size(); ++k) {
    for (const std::uint32_t parent : network.parents[k]) {
      page.put("<path class=\"axis\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>\n", at[parent].first,
               at[parent].second + high, at[k].first, at[k].second - 6);
      page.put("<path class=\"full\" d=\"M{:.1f} {:.1f}l-4 -8h8z\"/>\n", at[k].first, at[k].second);
    }
  }
  for (std::size_t k = 0; k < network.size(); ++k) {
    page.put("<rect class=\"track\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\"/>\n",
             at[k].first - wide / 2, at[k].second, wide, high);
    page.put("<text class=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", at[k].first,
             at[k].second + 16, cut(names[k], 14));
  }
  end_figure(page, caption);
}

// A network's names, made once.
struct Names {
  explicit Names(const NetworkModel& model) : columns(model.names()) {
    for (std::size_t k = 0; k < columns.size(); ++k) levels.push_back(model.level_names(k));
  }
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> levels;
};

// Parents' levels of a configuration, the last parent's fastest.
std::string given_words(const Network& network, const Names& names, std::size_t node,
                        std::uint64_t configuration) {
  const auto& parents = network.parents[node];
  if (parents.empty()) return "everybody";
  std::vector<std::string> said(parents.size());
  for (std::size_t i = parents.size(); i-- > 0;) {
    const std::uint32_t parent = parents[i];
    said[i] = fmt::format("{} = {}", names.columns[parent],
                          names.levels[parent][configuration % network.levels[parent]]);
    configuration /= network.levels[parent];
  }
  return fmt::format("{}", fmt::join(said, ", "));
}

// How far the noise alone takes a count of a table; "" of tables that were drawn.
std::string noise_words(const NetworkModel& model, std::size_t node, bool after_counts) {
  if (model.noise.empty()) return "";
  return fmt::format("; the noise in a count of this table {}is up to ±{:.3g}, 95 % of the time",
                     after_counts ? "alone " : "", two_sided_95 * model.noise[node]);
}

void node_table(Html& page, const NetworkModel& model, const Names& names, std::size_t node,
                bool after_counts) {
  constexpr std::size_t most_wide = 6;  // levels that are columns; else they are a list
  const std::vector<std::string>& levels = names.levels[node];
  const bool wide = levels.size() <= most_wide;
  page.put(
      "<table><caption>Shares of {} in percent{}</caption><thead><tr><th scope=\"col\">of</th>",
      names.columns[node], noise_words(model, node, after_counts));
  if (wide) {
    for (const std::string& level : levels) page.put("<th scope=\"col\">{}</th>", level);
  } else {
    page.put("<th scope=\"col\">{}</th>", "levels");
  }
  page.put("</tr></thead><tbody>\n");
  const std::uint64_t all = model.network.configurations(node);
  for (std::uint64_t c = 0; c < std::min<std::uint64_t>(all, most_given); ++c) {
    page.put("<tr><th scope=\"row\">{}</th>", given_words(model.network, names, node, c));
    std::string list;
    std::size_t listed = 0;
    for (std::size_t l = 0; l < levels.size(); ++l) {
      double share = 0;
      for (const auto& draw : model.tables) share += draw[node][c * levels.size() + l];
      share *= 100 / static_cast<double>(model.tables.size());
      if (wide) {
        page.put("<td>{:.3g}</td>", share);
      } else if (share > 0 && ++listed <= most_levels) {
        list += fmt::format("{}{} {:.3g}", list.empty() ? "" : " · ", levels[l], share);
      }
    }
    if (listed > most_levels)
      list += fmt::format(" · and {} more (all in the file)", listed - most_levels);
    if (listed < levels.size()) list += fmt::format(" · the other {} 0", levels.size() - listed);
    if (!wide) page.put("<td>{}</td>", list);
    page.put("</tr>\n");
  }
  page.put("</tbody></table>\n");
  if (all > most_given)
    page.put("<p>{} of {} lines are shown; all are in the file.</p>\n", most_given,
             human_count(static_cast<double>(all)));
}

// Shares of one column's levels, with how far the table's own may be from them.
void tree_column(Html& page, const NetworkModel& model, const Names& names, std::uint32_t column) {
  const std::vector<std::string>& levels = names.levels[column];
  page.put(
      "<table><caption>Shares of {} in percent, and how far off they may be</caption>"
      "<thead><tr><th scope=\"col\">level</th><th scope=\"col\">share</th>"
      "<th scope=\"col\">±</th></tr></thead><tbody>\n",
      names.columns[column]);
  const std::size_t shown = std::min(levels.size(), most_levels);
  for (std::uint32_t level = 0; level < shown; ++level) {
    const NetworkQuestion question{.target = {{column, {level}}}, .evidence = {}};
    const std::optional<double> reach = question_reach(model, question);
    page.put("<tr><th scope=\"row\">{}</th><td>{:.3g}</td><td>{}</td></tr>\n", levels[level],
             100 * answer(model, question).front(),
             reach ? fmt::format("{:.2g}", 100 * *reach) : std::string());
  }
  page.put("</tbody></table>\n");
  if (shown < levels.size())
    page.put("<p>and {} more levels (all in the file)</p>\n", levels.size() - shown);
}

void tree_tables(Html& page, const NetworkModel& model) {
  const Names names(model);
  const std::size_t shown = std::min(names.columns.size(), most_tables);
  for (std::size_t k = 0; k < shown; ++k)
    tree_column(page, model, names, static_cast<std::uint32_t>(k));
  if (shown < names.columns.size())
    page.put("<p>Shares of {} of {} columns are shown; all are in the file.</p>\n", shown,
             names.columns.size());
  if (model.tree->tables.empty()) return;
  page.put(
      "<table><caption>Columns that were counted together</caption><thead><tr>"
      "<th scope=\"col\">columns</th><th scope=\"col\">cells</th>"
      "<th scope=\"col\">noise in a count, rows, 95 %</th></tr></thead><tbody>\n");
  for (const MeasuredTable& one : model.tree->tables) {
    std::vector<std::string> of;
    for (const std::uint32_t column : one.columns) of.push_back(names.columns[column]);
    page.put("<tr><th scope=\"row\">{}</th><td>{}</td><td>±{:.3g}</td></tr>\n",
             fmt::format("{}", fmt::join(of, ", ")),
             human_count(static_cast<double>(one.counts.size())), two_sided_95 * one.deviation);
  }
  page.put("</tbody></table>\n");
}

void network_tables(Html& page, const NetworkModel& model, bool after_counts) {
  if (model.tree) return tree_tables(page, model);
  const std::vector<std::uint32_t> order = model.network.order();
  const Names names(model);
  for (std::size_t i = 0; i < std::min(order.size(), most_tables); ++i)
    node_table(page, model, names, order[i], after_counts);
  if (order.size() > most_tables)
    page.put("<p>Tables of {} of {} columns are shown; all are in the file.</p>\n", most_tables,
             order.size());
}

// One that the network can answer: the share of a level, given another.
std::string question_of(const NetworkModel& model) {
  const std::uint32_t asked = model.network.order().back();
  const auto first_level = [&](std::uint32_t column) {
    return model.names()[column] + " = " + model.level_names(column).front();
  };
  const auto& parents = model.network.parents[asked];
  return first_level(asked) + (parents.empty() ? "" : " | " + first_level(parents.front()));
}

}  // namespace

void add_network(PageFacts& page, const NetworkRelease& release) {
  const NetworkModel& model = release.model();
  const NetworkProblem& problem = release.certificate().problem;
  const Column* const weight = model.schema.weight();
  const std::uint64_t k = problem.rows_of_person;
  const bool is_whole = is_cross_table(model);
  std::uint64_t cells = 0;
  for (std::size_t node = 0; node < model.network.size(); ++node)
    cells += model.network.cells(node);
  page.conditions.insert({{"cross_table", is_whole},
                          {"tables", !is_whole || model.network.size() > 2},
                          {"one_column", model.network.size() == 1},
                          {"persons", k > 0},
                          {"one_of_person", k == 1},
                          {"weights", weight != nullptr},
                          {"weighed", k > 0 || weight != nullptr},
                          {"chosen_structure", problem.chooses_structure()},
                          {"drawn", model.network.size() <= most_drawn},
                          {"counted_together", model.tree.has_value()},
                          {"noisy_counts", !model.noise.empty() || model.tree}});
  page.texts.insert({{"columns", fmt::format("{}", model.network.size())},
                     {"rows_of_person", fmt::format("{}", k)},
                     {"weight", weight == nullptr ? "" : weight->name},
                     {"cells", human_count(static_cast<double>(cells))},
                     {"question", question_of(model)}});
  page.parts["graph"] = [&model](Html& to, const Markup& caption) {
    graph_picture(to, model, caption);
  };
  page.parts["network_tables"] = [&model, is_whole](Html& to, const Markup&) {
    network_tables(to, model, is_whole);
  };
  if (is_whole) add_counts(page, release);
}

}  // namespace gibbsite
