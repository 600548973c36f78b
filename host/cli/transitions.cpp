// fit --model transitions, and what coefficients prints of its file.
#include "transitions.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "cross_table.hpp"
#include "fit_command.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/release/transitions.hpp"
#include "network.hpp"
#include "standard_output.hpp"
#include "text.hpp"

namespace gibbsite::cli {
namespace {

constexpr std::size_t most_listed = 100;

std::string between(const ShareEstimate& one) {
  return fmt::format("{:.3g} ({:.3g} to {:.3g})", one.value, one.low, one.high);
}

std::string matrix_square(const Transitions& of) {
  const std::size_t k = of.states.size();
  std::vector<std::vector<std::string>> lines{{fmt::format("{} \\ {}", of.previous, of.next)}};
  for (const std::string& state : of.states) lines[0].push_back(state);
  for (std::size_t i = 0; i < k; ++i) {
    lines.push_back({of.states[i]});
    for (std::size_t j = 0; j < k; ++j) lines.back().push_back(between(of.matrix[i * k + j]));
  }
  return table(lines);
}

std::string matrix_list(const Transitions& of) {
  const std::size_t k = of.states.size();
  std::vector<std::vector<std::string>> lines{{of.previous, of.next, "probability (95 %)"}};
  for (std::size_t cell = 0; cell < std::min(k * k, most_listed); ++cell)
    lines.push_back({of.states[cell / k], of.states[cell % k], between(of.matrix[cell])});
  std::string out = table(lines);
  if (k * k > most_listed)
    out +=
        fmt::format("  of {} probabilities the first {}; gibbsite coefficients --csv prints all\n",
                    k * k, most_listed);
  return out;
}

std::string long_run_list(const Transitions& of) {
  if (of.stationary.empty()) return "";
  std::vector<std::vector<std::string>> lines{{"state", "share in the long run (bounds)"}};
  for (std::size_t i = 0; i < std::min(of.states.size(), most_listed); ++i)
    lines.push_back({of.states[i], between(of.stationary[i])});
  return "\n" + table(lines) + wrapped(std::string(meaning_of_long_run));
}

// What a network of two columns takes and transitions do not.
void require_counted(const PlanArguments& plan) {
  const bool counts = plan.mechanism == "auto" || plan.mechanism == NetworkCounts::name ||
                      plan.mechanism == "counts";
  const char* const given = !counts                ? "--mechanism"
                            : plan.structure       ? "--structure"
                            : plan.structure_share ? "--structure-share"
                            : plan.parents         ? "--parents"
                            : plan.cells           ? "--cells"
                            : plan.prior           ? "--prior"
                            : plan.trim            ? "--trim"
                                                   : nullptr;
  if (given != nullptr)
    throw BadInput(fmt::format(
        "{}: has no meaning with --model transitions, whose counts get noise; leave it out",
        given));
}

}  // namespace

std::vector<std::string> transition_columns(const std::string& list) {
  std::vector<std::string> out;
  if (!list.empty()) out = named_columns(list);
  if (out.size() != 2)
    throw BadInput(
        fmt::format("--columns: {}; name the column of the state before and that of the state "
                    "after, with a comma between",
                    out.empty() ? "is missing" : "transitions are of two columns"));
  return out;
}

std::string transitions_report(const NetworkRelease& release) {
  const Transitions of = transitions(release);
  std::string out = matrix_square(of);
  if (widest_line(out) > terminal_columns) out = matrix_list(of);
  const std::uint64_t k = release.certificate().claimed.who.rows_per_person;
  out += wrapped(std::string(meaning_of_transitions));
  if (k > 1) out += fmt::format("The {} rows of a person are taken for alike.\n", k);
  return out + long_run_list(of) + weighted_words(release.model().schema);
}

std::string transitions_csv(const NetworkRelease& release) {
  const Transitions of = transitions(release);
  const std::size_t k = of.states.size();
  std::string out = "what,previous,next,estimate,lower,upper\n";
  const auto line = [&out](const char* what, const std::string& before, const std::string& after,
                           const ShareEstimate& x) {
    out += fmt::format("{},{},{},{},{},{}\n", what, before, after, x.value, x.low, x.high);
  };
  for (std::size_t cell = 0; cell < of.matrix.size(); ++cell)
    line("transition", csv_cell(of.states[cell / k]), csv_cell(of.states[cell % k]),
         of.matrix[cell]);
  for (std::size_t i = 0; i < of.stationary.size(); ++i)
    line("long-run", "", csv_cell(of.states[i]), of.stationary[i]);
  return out;
}

void FitCommand::fit_transitions() const {
  if (schema.empty())
    throw BadInput("--schema: is missing; --model transitions needs the states as public levels");
  require_counted(plan);
  FitCommand of = *this;
  of.columns = transition_columns(family.columns);
  of.family.columns.clear();
  of.plan.model = network_model;
  of.plan.mechanism = NetworkCounts::name;
  require_states(read_table_schema(schema, of.columns));
  of.told = [&of](const NetworkRelease& release) {
    of.say(
        fmt::format("{}\n{}\nWritten: {}; next:\n  gibbsite coefficients {} --csv\n"
                    "  gibbsite verify {}\n",
                    transitions_report(release), wrapped_lines(in_words(release.certificate())),
                    StandardOutput::named(of.out), of.out, of.out));
  };
  of.run();
}

}  // namespace gibbsite::cli
