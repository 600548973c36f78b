// The page's counts of a cross table.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "gibbsite/core/human_count.hpp"
#include "gibbsite/release/cross_table.hpp"
#include "gibbsite/release/transitions.hpp"
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
           number.deviation == 0 ? std::string("public") : interval_text(number));
  if (!of.weight.empty())
    page.put("<td>{}</td><td>{}</td>", count_text(number.estimate, number.deviation, of.unit),
             interval_text(number, of.unit));
  page.put("</tr>\n");
}

void head_line(Html& page, const CrossTable& of) {
  page.put("<table><caption>Counts of {}</caption><thead><tr>", unit_of_counts(of));
  for (const std::string& column : of.columns) page.put("<th scope=\"col\">{}</th>", column);
  page.put("<th scope=\"col\">count</th><th scope=\"col\">95 % interval</th>");
  if (!of.weight.empty()) {
    page.put("<th scope=\"col\">count × {:.6g}</th>", of.unit);
    page.put("<th scope=\"col\">95 % interval × {:.6g}</th>", of.unit);
  }
  page.put("</tr></thead><tbody>\n");
}

std::string share_text(const ShareEstimate& one) {
  return fmt::format("{:.3g} ({:.3g} to {:.3g})", one.value, one.low, one.high);
}

// A row for each state before; of many states a line for each pair.
void matrix_table(Html& page, const Transitions& of) {
  constexpr std::size_t most_wide = 6;
  const std::size_t k = of.states.size();
  page.put(
      "<table><caption>Probability of each {} given {}, with 95 % intervals</caption><thead><tr>"
      "<th scope=\"col\">{}</th>",
      of.next, of.previous, of.previous);
  if (k > most_wide) {
    page.put("<th scope=\"col\">{}</th><th scope=\"col\">probability</th>", of.next);
  } else {
    for (const std::string& state : of.states) page.put("<th scope=\"col\">{}</th>", state);
  }
  page.put("</tr></thead><tbody>\n");
  const std::size_t lines = k > most_wide ? std::min(k * k, most_cells) : k;
  for (std::size_t line = 0; line < lines; ++line) {
    if (k > most_wide) {
      page.put("<tr><th scope=\"row\">{}</th><th scope=\"row\">{}</th><td>{}</td></tr>\n",
               of.states[line / k], of.states[line % k], share_text(of.matrix[line]));
      continue;
    }
    page.put("<tr><th scope=\"row\">{}</th>", of.states[line]);
    for (std::size_t j = 0; j < k; ++j)
      page.put("<td>{}</td>", share_text(of.matrix[line * k + j]));
    page.put("</tr>\n");
  }
  page.put("</tbody></table>\n");
}

// Where two columns have the same levels: from the one to the other.
void transitions_part(Html& page, const NetworkRelease& release) {
  if (!has_transitions(release.model())) return;
  const Transitions of = transitions(release);
  page.put("<h3>From {} to {}</h3>\n", of.previous, of.next);
  matrix_table(page, of);
  const std::uint64_t k = release.certificate().claimed.who.rows_per_person;
  page.put("<p class=\"note\">{}{}</p>\n", std::string(meaning_of_transitions),
           k > 1 ? fmt::format(" The {} rows of a person are taken for alike.", k) : std::string());
  if (!of.stationary.empty()) {
    page.put(
        "<table><caption>Share of time in the long run, with bounds</caption><thead><tr><th "
        "scope=\"col\">state</th><th scope=\"col\">share</th></tr></thead><tbody>\n");
    for (std::size_t i = 0; i < of.states.size(); ++i)
      page.put("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", of.states[i],
               share_text(of.stationary[i]));
    page.put("</tbody></table>\n<p class=\"note\">{}</p>\n", std::string(meaning_of_long_run));
  }
  page.put(
      "<p>All of them as a file, at no cost in privacy:</p>\n<pre>gibbsite coefficients model.json "
      "--csv</pre>\n");
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
  if (const std::string counted = counting_words(of); !counted.empty())
    page.put("<p>{}</p>\n", counted);
  if (of.cells.size() > most_cells)
    page.put("<p>{} of {} cells are shown; all are in the file.</p>\n", most_cells,
             human_count(static_cast<double>(of.cells.size())));
  page.put(
      "<p class=\"note\">An interval holds the table's own count with probability 95 %, one number "
      "at a time: it is what privacy's noise leaves open, and says nothing of a population that "
      "these rows are a sample of. Numbers below 0 are noise, left as they are so that sums are not "
      "biased.</p>\n<p>The table as a file, at no cost in privacy:</p>\n<pre>gibbsite table --model "
      "model.json --csv table.csv</pre>\n");
  transitions_part(page, release);
}

}  // namespace gibbsite
