// The page's counts of a cross table.
#include <fmt/format.h>
#include <fmt/ranges.h>

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

void head_line(Html& page, const CrossTable& of, const Markup& caption) {
  page.put("<table><caption>{}</caption><thead><tr>", caption);
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
void matrix_table(Html& page, const Transitions& of, const Markup& caption) {
  constexpr std::size_t most_wide = 6;
  const std::size_t k = of.states.size();
  page.put("<table><caption>{}</caption><thead><tr><th scope=\"col\">{}</th>", caption,
           of.previous);
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

void long_run_table(Html& page, const Transitions& of, const Markup& caption) {
  page.put(
      "<table><caption>{}</caption><thead><tr><th scope=\"col\">state</th><th "
      "scope=\"col\">share</th></tr></thead><tbody>\n",
      caption);
  for (std::size_t i = 0; i < of.states.size(); ++i)
    page.put("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", of.states[i],
             share_text(of.stationary[i]));
  page.put("</tbody></table>\n");
}

// Where two columns have the same levels: from the one to the other.
void add_transitions(PageFacts& page, const NetworkRelease& release) {
  if (!has_transitions(release.model())) return;
  const Transitions of = transitions(release);
  page.conditions["transitions"] = true;
  page.texts.insert({{"previous", of.previous},
                     {"next", of.next},
                     {"transition_words", std::string(meaning_of_transitions)}});
  page.parts["transitions_table"] = [of](Html& to, const Markup& caption) {
    matrix_table(to, of, caption);
  };
  if (of.stationary.empty()) return;
  page.conditions["long_run"] = true;
  page.texts["long_run_words"] = meaning_of_long_run;
  page.parts["long_run_table"] = [of](Html& to, const Markup& caption) {
    long_run_table(to, of, caption);
  };
}

void counts_table(Html& page, const CrossTable& of, const Markup& caption) {
  const std::size_t d = of.columns.size();
  head_line(page, of, caption);
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
}

}  // namespace

void add_counts(PageFacts& page, const NetworkRelease& release) {
  const CrossTable of = cross_table(release);
  const std::string counting = counting_words(of);
  page.conditions["counting"] = !counting.empty();
  page.conditions["all_cells"] = of.cells.size() <= most_cells;
  page.texts.insert({{"cross", fmt::format("{}", fmt::join(release.model().names(), " × "))},
                     {"unit", unit_of_counts(of)},
                     {"counting_words", counting},
                     {"shown_cells", fmt::format("{}", most_cells)},
                     {"table_cells", human_count(static_cast<double>(of.cells.size()))}});
  page.parts["counts_table"] = [of](Html& to, const Markup& caption) {
    counts_table(to, of, caption);
  };
  add_transitions(page, release);
}

}  // namespace gibbsite
