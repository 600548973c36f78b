// The page's counts of a cross table.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "gibbsite/core/human_count.hpp"
#include "gibbsite/release/cross_table.hpp"
#include "release/page.hpp"
#include "release/report_parts.hpp"

namespace gibbsite {
namespace {

constexpr std::size_t most_cells = 200;  // that are listed

void count_line(Html& page, const CrossTable& of, const std::vector<std::string>& levels,
                const TableNumber& number) {
  page.put("<tr{}>", Markup{number.hidden() ? " class=\"soft\"" : ""});
  for (const std::string& level : levels) page.put("<th scope=\"row\">{}</th>", level);
  page.put("<td>{:.0f}{}</td><td>{}</td>", number.whole,
           std::string(number.hidden() ? " – hidden by noise" : ""),
           number.deviation == 0 ? std::string("public")
                                 : fmt::format("{:.0f} to {:.0f}", number.lower, number.upper));
  if (!of.weight.empty()) page.put("<td>{:.6g}</td>", number.estimate * of.unit);
  page.put("</tr>\n");
}

void head_line(Html& page, const CrossTable& of) {
  page.put("<table><caption>Counts{}</caption><thead><tr>",
           of.weight.empty() ? std::string()
                             : fmt::format(" of rows of {} = {:.6g}; times {:.6g} they are in the "
                                           "units of the population that {} is of",
                                           of.weight, of.unit, of.unit, of.weight));
  for (const std::string& column : of.columns) page.put("<th scope=\"col\">{}</th>", column);
  page.put("<th scope=\"col\">count</th><th scope=\"col\">95 % interval</th>");
  if (!of.weight.empty()) page.put("<th scope=\"col\">count × {:.6g}</th>", of.unit);
  page.put("</tr></thead><tbody>\n");
}

}  // namespace

void counts_section(Html& page, const NetworkRelease& release) {
  heading(page, "utility", "Utility: the counts and how sure they are");
  const CrossTable of = cross_table(release);
  const std::size_t d = of.columns.size();
  head_line(page, of);
  for (std::size_t cell = 0; cell < std::min(most_cells, of.cells.size()); ++cell) {
    const std::vector<std::uint32_t> at = of.levels_of(cell);
    std::vector<std::string> levels(d);
    for (std::size_t c = 0; c < d; ++c) levels[c] = of.levels[c][at[c]];
    count_line(page, of, levels, of.cells[cell]);
  }
  const std::vector<std::string> all(d, all_levels(of));
  for (std::size_t c = 0; d > 1 && c < d; ++c) {
    for (std::size_t l = 0; l < of.levels[c].size(); ++l) {
      std::vector<std::string> levels = all;
      levels[c] = of.levels[c][l];
      count_line(page, of, levels, of.margins[c][l]);
    }
  }
  count_line(page, of, all, of.total);
  page.put("</tbody></table>\n");
  if (of.cells.size() > most_cells)
    page.put("<p>{} of {} cells are shown; all are in the file.</p>\n", most_cells,
             human_count(static_cast<double>(of.cells.size())));
  page.put(
      "<p class=\"note\">An interval holds the table's own count with probability 95 %, one number "
      "at a time: it is what privacy's noise leaves open, and says nothing of a population that "
      "these rows are a sample of. Numbers below 0 are noise, left as they are so that sums are not "
      "biased.</p>\n<p>The table as a file, at no cost in privacy:</p>\n<pre>gibbsite table --model "
      "model.json --csv table.csv</pre>\n");
}

}  // namespace gibbsite
