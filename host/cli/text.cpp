#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "gibbsite/core/text.hpp"

namespace gibbsite::cli {
namespace {

// Code points of a UTF-8 text; every one used here is one column wide.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::string digits(double value) { return fmt::format("{:.4g}", value); }

}  // namespace

std::string human_time(double seconds) {
  if (std::isnan(seconds)) return "?";
  struct Unit {
    double seconds;
    const char* name;
  };
  constexpr std::array<Unit, 5> units{
      {{365.25 * 86400, "years"}, {86400, "days"}, {3600, "h"}, {60, "min"}, {1, "s"}}};
  for (const Unit& unit : units) {
    if (seconds >= 0.95 * unit.seconds)
      return fmt::format("{:.2g} {}", seconds / unit.seconds, unit.name);
  }
  return seconds < 0.001 ? "under 1 ms" : fmt::format("{:.0f} ms", 1000 * seconds);
}

std::string about(double seconds) {
  const std::string time = human_time(seconds);
  return time.starts_with("under") ? time : "about " + time;
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

std::string table(const std::vector<std::vector<std::string>>& texts) {
  std::vector<std::vector<std::string>> lines = texts;
  for (auto& line : lines)
    for (std::string& cell : line) cell = shown(cell);
  std::vector<std::size_t> widths;
  for (const auto& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (std::size_t j = 0; j < line.size(); ++j) widths[j] = std::max(widths[j], width(line[j]));
  }
  std::string out;
  for (const auto& line : lines) {
    std::string text = " ";
    for (std::size_t j = 0; j < line.size(); ++j) {
      text += ' ';
      text += line[j];
      if (j + 1 < line.size()) text += std::string(widths[j] - width(line[j]) + 1, ' ');
    }
    text += '\n';
    out += text;
  }
  return out;
}

std::string describe(const Problem& constants, const Budget& budget) {
  const bool replace = budget.adjacency == Adjacency::replace_one;
  return fmt::format("{} {}, {} features, row norm {:.4g}{}; {}, {} {} per person, {} {}",
                     replace ? human_count(static_cast<double>(constants.rows))
                             : "at most " + human_count(static_cast<double>(constants.rows)),
                     constants.rows == 1 ? "row" : "rows", constants.features, constants.row_norm,
                     constants.intercept ? " and an intercept" : "", to_string(budget.adjacency),
                     budget.rows_per_person, budget.rows_per_person == 1 ? "row" : "rows",
                     budget.draws, budget.draws == 1 ? "draw" : "draws");
}

std::string plan_table(const Plan& plan) {
  std::vector<std::vector<std::string>> lines{{"", "certificate", "T", "step size h", "β",
                                               "prior m", "μ", "TV gap", "(ε, δ)", "passes",
                                               "time on this machine"}};
  for (std::size_t i = 0; i < plan.certificates.size(); ++i) {
    const CertificatePlan& c = plan.certificates[i];
    const std::string name(to_string(c.kind));
    if (!(c.iterations > 0)) {  // it could not be planned at all
      lines.push_back(
          {" ", name, "-", "-", "-", digits(c.prior_precision), "-", "-", "-", "-", "-"});
      continue;
    }
    lines.push_back({i == plan.chosen && c.feasible ? "→" : " ", name, human_count(c.iterations),
                     digits(c.step_size), digits(c.beta), digits(c.prior_precision), digits(c.mu),
                     digits(c.tv_gap), fmt::format("({:.4g}, {:.4g})", c.epsilon, c.delta),
                     human_count(c.passes), human_time(c.seconds)});
  }
  std::string out = describe(plan.constants, plan.budget) + "\n\n" + table(lines) + "\n";
  for (std::size_t i = 0; i < plan.certificates.size(); ++i) {
    const CertificatePlan& c = plan.certificates[i];
    out += fmt::format("{} {}: {}\n",
                       !c.feasible        ? "out of reach:"
                       : i == plan.chosen ? "chosen:"
                                          : "also possible:",
                       to_string(c.kind), c.why);
  }
  return out;
}

std::string plan_line(const CertificatePlan& c) {
  const std::string count = human_count(c.iterations);
  std::string how = fmt::format("{} steps of {:.3g}", count, c.step_size);
  if (c.kind == CertificateKind::rejection) {
    how = fmt::format("proposals until one is accepted, about {} passes", human_count(c.passes));
  } else if (c.kind == CertificateKind::proximal) {
    how = fmt::format("{} iterations of step {:.3g}, about {} passes", count, c.step_size,
                      human_count(c.passes));
  } else if (c.kind == CertificateKind::averaged) {
    how = fmt::format("up to {} steps of {:.3g}", count, c.step_size);
  }
  if (c.tv_gap > 0) how += fmt::format(", within {:.3g} of the posterior", c.tv_gap);
  return fmt::format(
      "certificate {} ({}): {}, β = {:.4g}, prior precision {:.4g}, μ = {:.4g}, (ε, δ) = ({:.4g}, "
      "{:.4g}), {}",
      to_string(c.kind), to_string(c.calibration), how, c.beta, c.prior_precision, c.mu, c.epsilon,
      c.delta, about(c.seconds));
}

}  // namespace gibbsite::cli
