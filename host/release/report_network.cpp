// The page's tables of a network, and its graph.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gibbsite/core/human_count.hpp"
#include "gibbsite/core/network.hpp"
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
void graph_picture(Html& page, const NetworkModel& model) {
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
  page.put(
      "</svg><figcaption>What the network lets depend on what; each table names it too. It is part "
      "of what is released.</figcaption></figure>\n");
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

}  // namespace

void tables_section(Html& page, const NetworkModel& model, bool after_counts) {
  if (after_counts) {
    page.put(
        "<h2>Shares of the network</h2>\n<p>Each table here was counted with noise of its own, and "
        "questions are answered by its shares. The counts above put all tables together, so they "
        "are surer and differ a little from these shares.</p>\n");
  } else {
    heading(page, "utility", "Utility: the tables and how sure they are");
  }
  const std::vector<std::uint32_t> order = model.network.order();
  const Names names(model);
  if (order.size() <= most_drawn) graph_picture(page, model);
  if (model.tables.size() > 1)
    page.put("<p>Shares are averages over {} draws; the file has each.</p>\n", model.tables.size());
  for (std::size_t i = 0; i < std::min(order.size(), most_tables); ++i)
    node_table(page, model, names, order[i], after_counts);
  if (order.size() > most_tables)
    page.put("<p>Tables of {} of {} columns are shown; all are in the file.</p>\n", most_tables,
             order.size());
  page.put(
      "<p class=\"note\">A share is that of a count by the count of its line: of a line that few "
      "people are in it is mostly noise. How near the tables are to the private one is not said "
      "here: that would read it again, and no guarantee covers it.</p>\n<h3>Questions one can "
      "ask</h3>\n<p>Any of this form, and tables of people who never lived; neither reads a row, "
      "so they cost no privacy, however many:</p>\n");
  const std::uint32_t asked = order.back();
  std::string question = names.columns[asked] + " = " + names.levels[asked].front();
  if (!model.network.parents[asked].empty()) {
    const std::uint32_t parent = model.network.parents[asked].front();
    question += " | " + names.columns[parent] + " = " + names.levels[parent].front();
  }
  page.put(
      "<pre>gibbsite query --model model.json \"P({})\"\ngibbsite synthesize --model model.json "
      "--rows 1000 --out people.csv</pre>\n",
      question);
}

}  // namespace gibbsite
