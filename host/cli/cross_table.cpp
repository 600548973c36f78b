#include "cross_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/privacy/guarantee.hpp"
#include "network.hpp"
#include "text.hpp"

namespace gibbsite::cli {
namespace {

using Lines = std::vector<std::vector<std::string>>;

constexpr std::size_t most_listed_cells = 100;

constexpr const char* meaning_of_table =
    "Each interval holds the table's own count with probability 95 %, one number at a time: it is "
    "what privacy's noise leaves open. It says nothing of a population that these rows are a sample "
    "of.";
constexpr const char* meaning_of_negative =
    " Numbers below 0 are noise, left as they are so that sums are not biased.";

std::string half_width(double deviation) {
  const double half = half_width_deviations * deviation;
  return half == 0   ? "exact"
         : half < 10 ? fmt::format("± {:.2g}", half)
                     : fmt::format("± {:.0f}", half);
}

// "all", in parentheses where a level is called that.
std::string head_of_all(const CrossTable& of, const std::string& with) {
  return fmt::format("{} {}", all_levels(of), with);
}

std::string marked_count(const TableNumber& number) {
  return fmt::format("{:.0f}{}", number.whole, number.hidden() ? " *" : "");
}

bool has(const CrossTable& of, bool (*what)(const TableNumber&)) {
  bool out = what(of.total) || std::ranges::any_of(of.cells, what);
  for (const auto& margin : of.margins) out = out || std::ranges::any_of(margin, what);
  return out;
}

// What every screen ends with.
std::string table_legend(const CrossTable& of) {
  const auto width = [&](double deviation) {
    if (of.weight.empty()) return half_width(deviation);
    return fmt::format("{} (× {:.6g}: {})", half_width(deviation), of.unit,
                       half_width(deviation * of.unit));
  };
  std::string out = fmt::format("95 % intervals, in {}: a cell {}", unit_of_counts(of),
                                width(of.cells.front().deviation));
  for (std::size_t c = 0; of.columns.size() > 1 && c < of.columns.size(); ++c) {
    out +=
        fmt::format(", {} alone {}", shown(of.columns[c]), width(of.margins[c].front().deviation));
  }
  out +=
      of.rows ? ", the total is public" : fmt::format(", the total {}", width(of.total.deviation));
  out += ".\n";
  out = wrapped(out);
  if (std::string counted = counting_words(of); !counted.empty()) {
    if (!of.weight.empty()) counted += " --csv has the column `weighted`.";
    out += wrapped(counted);
  }
  if (has(of, [](const TableNumber& number) { return number.hidden(); }))
    out += "* noise hides it: its interval holds 0.\n";
  const bool negative = has(of, [](const TableNumber& number) { return number.whole < 0; });
  return out + wrapped(std::string(meaning_of_table) + (negative ? meaning_of_negative : ""));
}

std::string table_square(const CrossTable& of) {
  const std::size_t columns = of.levels[1].size();
  Lines lines{{fmt::format("{} \\ {}", of.columns[0], of.columns[1])}};
  for (const std::string& level : of.levels[1]) lines[0].push_back(level);
  lines[0].push_back(head_of_all(of, half_width(of.margins[0].front().deviation)));
  for (std::size_t r = 0; r < of.levels[0].size(); ++r) {
    lines.push_back({of.levels[0][r]});
    for (std::size_t c = 0; c < columns; ++c)
      lines.back().push_back(marked_count(of.cells[r * columns + c]));
    lines.back().push_back(marked_count(of.margins[0][r]));
  }
  lines.push_back({head_of_all(of, half_width(of.margins[1].front().deviation))});
  for (std::size_t c = 0; c < columns; ++c) lines.back().push_back(marked_count(of.margins[1][c]));
  lines.back().push_back(marked_count(of.total));
  return table(lines);
}

// Calls visit(levels in words, number) for the cells, the margins and the total. Of one column the
// margins are its cells.
void for_each_number(const CrossTable& of,
                     const std::function<void(const std::vector<std::optional<std::size_t>>&,
                                              const TableNumber&)>& visit,
                     std::size_t most_cells) {
  const std::size_t d = of.columns.size();
  std::vector<std::optional<std::size_t>> at(d);
  for (std::size_t cell = 0; cell < std::min(most_cells, of.cells.size()); ++cell) {
    const std::vector<std::uint32_t> levels = of.levels_of(cell);
    at.assign(levels.begin(), levels.end());
    visit(at, of.cells[cell]);
  }
  at.assign(d, std::nullopt);
  for (std::size_t c = 0; d > 1 && c < d; ++c) {
    for (std::size_t l = 0; l < of.levels[c].size(); ++l) {
      at[c] = l;
      visit(at, of.margins[c][l]);
    }
    at[c].reset();
  }
  visit(at, of.total);
}

std::vector<std::string> level_words(const CrossTable& of,
                                     const std::vector<std::optional<std::size_t>>& at) {
  std::vector<std::string> out;
  for (std::size_t c = 0; c < at.size(); ++c)
    out.push_back(at[c] ? of.levels[c][*at[c]] : all_levels(of));
  return out;
}

std::string table_list(const CrossTable& of) {
  Lines lines{of.columns};
  const bool weighted = !of.weight.empty();
  lines[0].push_back(unit_of_counts(of));
  lines[0].emplace_back("95 % interval");
  if (weighted) {
    lines[0].push_back(fmt::format("× {:.6g}", of.unit));
    lines[0].emplace_back("95 % interval");
  }
  lines[0].emplace_back();
  for_each_number(
      of,
      [&](const auto& at, const TableNumber& number) {
        lines.push_back(level_words(of, at));
        lines.back().push_back(fmt::format("{:.0f}", number.whole));
        lines.back().push_back(number.deviation == 0 ? "exact" : interval_text(number));
        if (weighted) {
          lines.back().push_back(count_text(number.estimate, number.deviation, of.unit));
          lines.back().push_back(interval_text(number, of.unit));
        }
        lines.back().emplace_back(number.hidden() ? "*" : "");
      },
      most_listed_cells);
  std::string out = table(lines);
  if (of.cells.size() > most_listed_cells) {
    out += fmt::format("  of {} cells the first {}; --csv FILE writes all of them\n",
                       of.cells.size(), most_listed_cells);
  }
  return out;
}

// Standard errors of a plan's table.
TableDeviations deviations_of(const NetworkPlan& plan) {
  const Network network = plan.problem.network();
  return cross_table_deviations(network, table_deviations(plan.candidate(), network),
                                plan.problem.total_is_public(plan.budget.adjacency));
}

// What counts of a plan's table are of.
std::string unit_of(const NetworkProblem& p, const Schema& columns) {
  CrossTable of;
  of.rows_of_person = p.rows_of_person;
  if (const Column* const weight = columns.weight()) of.weight = weight->name, of.unit = weight->hi;
  return unit_of_counts(of);
}

// A line where noise hides the average cell, by public numbers; else "".
std::string hidden_words(const NetworkPlan& plan, const TableDeviations& is) {
  double cells = 1;
  for (const std::uint64_t levels : plan.problem.levels) cells *= static_cast<double>(levels);
  const double average = static_cast<double>(plan.problem.rows) / cells;
  if (half_width_deviations * is.cell < average) return "";
  return fmt::format(
      "at ε = {:.4g} noise hides an average cell, of {:.3g} {}: give fewer columns, or columns "
      "with fewer bins or levels\n",
      plan.budget.epsilon, average, plan.problem.of_people() ? "people" : "rows");
}

// "public", or how far it is off.
std::string total_text(const NetworkPlan& plan, const TableDeviations& is) {
  return plan.problem.total_is_public(plan.budget.adjacency) ? "public" : half_width(is.total);
}

}  // namespace

std::vector<std::string> named_columns(const std::string& text) {
  std::vector<std::string> out(1);
  bool quoted_name = false, was_quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' && quoted_name && i + 1 < text.size() && text[i + 1] == '"') {
      out.back() += c, ++i;
    } else if (c == '"' && (quoted_name || out.back().empty())) {
      quoted_name = !quoted_name, was_quoted = true;
    } else if (c == ',' && !quoted_name) {
      out.emplace_back();
    } else if (c == ' ' && !quoted_name && out.back().empty()) {
      continue;  // behind a comma
    } else {
      out.back() += c;
    }
  }
  if (quoted_name) throw BadInput("--columns: a quote is not closed; put one behind the name");
  if (!was_quoted) {
    for (std::string& name : out) name.erase(name.find_last_not_of(' ') + 1);
  }
  for (const std::string& name : out)
    if (name.empty()) throw BadInput("--columns: a name is empty; give names with commas between");
  return out;
}

std::string cross_table_screen(const CrossTable& of) {
  if (of.columns.size() == 2) {
    const std::string out = table_square(of);
    if (widest_line(out) <= terminal_columns) return out + table_legend(of);
  }
  return table_list(of) + table_legend(of);
}

std::string cross_table_csv(const CrossTable& of) {
  std::string out;
  for (const std::string& column : of.columns) out += csv_cell(column) + ",";
  std::vector<std::string> names{"estimate", "std_err", "lower", "upper", "count", "hidden"};
  const bool weighted = !of.weight.empty();
  const bool people = of.rows_of_person > 0;
  if (weighted) names.insert(names.end(), {"weighted", "unit", "weighted_lower", "weighted_upper"});
  if (people) names.emplace_back("count_of");
  for (std::string& name : names)
    while (std::ranges::find(of.columns, name) != of.columns.end()) name += "_";
  out += fmt::format("{}\n", fmt::join(names, ","));
  for_each_number(
      of,
      [&](const auto& at, const TableNumber& number) {
        for (const std::string& level : level_words(of, at)) out += csv_cell(level) + ",";
        out += fmt::format("{},{},{},{},{},{}", number.estimate, number.deviation, number.lower,
                           number.upper, number.count, number.hidden());
        if (weighted)
          out += fmt::format(",{},{},{},{}", number.estimate * of.unit, of.unit,
                             number.lower * of.unit, number.upper * of.unit);
        if (people) out += "," + csv_cell(counted_unit(of.rows_of_person));
        out += '\n';
      },
      of.cells.size());
  return out;
}

nlohmann::json cross_table_json(const CrossTable& of) {
  nlohmann::json numbers = nlohmann::json::array();
  for_each_number(
      of,
      [&](const auto& at, const TableNumber& number) {
        nlohmann::json levels = nlohmann::json::array();
        for (std::size_t c = 0; c < at.size(); ++c)
          levels.push_back(at[c] ? nlohmann::json(of.levels[c][*at[c]]) : nlohmann::json(nullptr));
        numbers.push_back({{"levels", levels},
                           {"estimate", number.estimate},
                           {"std_err", number.deviation},
                           {"lower", number.lower},
                           {"upper", number.upper},
                           {"count", number.count},
                           {"hidden", number.hidden()}});
        if (of.weight.empty()) return;
        numbers.back()["weighted"] = number.estimate * of.unit;
        numbers.back()["weighted_lower"] = number.lower * of.unit;
        numbers.back()["weighted_upper"] = number.upper * of.unit;
      },
      of.cells.size());
  nlohmann::json out{{"columns", of.columns},
                     {"rows", of.rows ? nlohmann::json(*of.rows) : nlohmann::json(nullptr)},
                     {"count_of", counted_unit(of.rows_of_person)},
                     {"level", 0.95},
                     {"numbers", numbers}};
  if (of.rows_of_person > 0) out["rows_of_person"] = of.rows_of_person;
  if (!of.weight.empty()) out["weight"] = {{"column", of.weight}, {"unit", of.unit}};
  return out;
}

std::string cross_table_summary(std::span<const NetworkPlan> plans, const Schema& columns) {
  const NetworkPlan& first = plans.front();
  const NetworkProblem& p = first.problem;
  double cells = 1;
  std::vector<std::string> shape;
  for (std::size_t c = 0; c < p.levels.size(); ++c) {
    cells *= static_cast<double>(p.levels[c]);
    shape.push_back(fmt::format("{} ({})", shown(columns.columns[c].name), p.levels[c]));
  }
  std::string out = fmt::format(
      "{}: {:.0f} cells, {} {}, {:.3g} of them in a cell on average{}, δ = {:.4g}\n"
      "95 % intervals, in {}:\n\n",
      fmt::join(shape, " × "), cells, human_count(static_cast<double>(p.rows)),
      p.of_people() ? "people" : "rows", static_cast<double>(p.rows) / cells,
      columns.weight() == nullptr ? "" : " (by number, not by weight)", first.budget.delta,
      unit_of(p, columns));
  Lines lines{{"ε", "a cell"}};
  for (const Column& column : node_columns(columns)) {
    if (p.levels.size() > 1) lines[0].push_back(column.name + " alone");
  }
  lines[0].insert(lines[0].end(), {"the total", "best guess"});
  for (const NetworkPlan& plan : plans) {
    const TableDeviations is = deviations_of(plan);
    lines.push_back({fmt::format("{:.4g}", plan.budget.epsilon), half_width(is.cell)});
    for (const double margin : is.margins)
      if (p.levels.size() > 1) lines.back().push_back(half_width(margin));
    lines.back().push_back(total_text(plan, is));
    lines.back().push_back(fmt::format("{:.1f} %", best_guess_percent(plan.candidate().guarantee)));
  }
  out += table(lines) + "\n";
  for (const NetworkPlan& plan : plans) out += hidden_words(plan, deviations_of(plan));
  return out +
         "best guess: how often whoever knows all other rows is right, at even odds, about one "
         "person's\n" +
         plan_weights(p);
}

std::string cross_table_line(const NetworkPlan& plan, const Schema& columns) {
  const TableDeviations is = deviations_of(plan);
  std::string out = fmt::format("mechanism {}: {} cells, 95 % intervals of {} {} a cell",
                                name_of(plan.candidate().mechanism),
                                plan.problem.network().cells(plan.problem.network().order().back()),
                                half_width(is.cell), unit_of(plan.problem, columns));
  for (std::size_t c = 0; is.margins.size() > 1 && c < is.margins.size(); ++c)
    out +=
        fmt::format(", {} for {} alone", half_width(is.margins[c]), shown(columns.columns[c].name));
  out += fmt::format(", total {}, (ε, δ) = ({:.4g}, {:.4g})", total_text(plan, is),
                     plan.budget.epsilon, plan.budget.delta);
  const std::string hidden = hidden_words(plan, is);
  if (hidden.empty()) return out;
  out += "\n" + wrapped(hidden);
  out.pop_back();  // the end of the last line
  return out;
}

nlohmann::json cross_table_plan_json(const NetworkPlan& plan, const Schema& columns) {
  const TableDeviations is = deviations_of(plan);
  nlohmann::json margins = nlohmann::json::array();
  for (std::size_t c = 0; c < is.margins.size(); ++c)
    margins.push_back({{"column", columns.columns[c].name}, {"std_err", is.margins[c]}});
  return {{"cell_std_err", is.cell}, {"margins", margins}, {"total_std_err", is.total}};
}

}  // namespace gibbsite::cli
