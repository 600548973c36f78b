// fit --model covariance, and what coefficients prints of its file.
#include "covariance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cross_table.hpp"
#include "fit_command.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/human_count.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/release/covariance.hpp"
#include "gibbsite/run/fit_covariance.hpp"
#include "gibbsite/run/look.hpp"
#include "ledger.hpp"
#include "standard_output.hpp"
#include "text.hpp"

namespace gibbsite::cli {
namespace {

std::string moment_text(double value) { return fmt::format("{:.4g}", value); }

std::vector<std::string> moment_line(const std::string& name, const MomentEstimate& x) {
  return {name, moment_text(x.value), moment_text(x.low), moment_text(x.high)};
}

}  // namespace

std::string covariance_line(const CovariancePlan& plan) {
  const MomentDeviations of = moment_deviations(plan.mechanism, plan.problem.columns,
                                                plan.budget.adjacency, plan.problem.weighted);
  const auto rows = static_cast<double>(plan.problem.most_weight());
  return fmt::format(
      "mechanism {}: moments of {} columns; noise of a mean {:.2g}, of a variance {:.2g}, of a "
      "covariance {:.2g} at {} {} (half ranges are 1), (ε, δ) = ({:.4g}, {:.4g})",
      name_of(plan.mechanism), plan.problem.columns, of.sum / rows, of.square / rows,
      of.product / rows, plan.problem.most_weight(),
      plan.problem.of_people() ? "rows, if all people count in full"
      : plan.problem.weighted  ? "rows of the largest weight"
                               : "rows",
      plan.budget.epsilon, plan.budget.delta);
}

std::string covariance_summary(std::span<const CovariancePlan> plans, const Schema& domain) {
  const CovarianceProblem& p = plans.front().problem;
  std::string out =
      fmt::format("{} {}, {} column{}, δ = {:.4g}\n\n", human_count(static_cast<double>(p.rows)),
                  p.of_people() ? "people" : "rows", p.columns, p.columns == 1 ? "" : "s",
                  plans.front().budget.delta);
  std::vector<std::vector<std::string>> lines{{"column", "range"}};
  std::vector<std::string> guesses{"best guess", ""};
  for (const Column& column : domain.columns)
    if (column.type == ColumnType::number)
      lines.push_back({column.name, fmt::format("{:.6g} to {:.6g}", column.lo, column.hi)});
  for (const CovariancePlan& plan : plans) {
    const MomentDeviations noise =
        moment_deviations(plan.mechanism, p.columns, plan.budget.adjacency, p.weighted);
    const double of_half_range = two_sided_95 * noise.sum / static_cast<double>(p.most_weight());
    lines.front().push_back(fmt::format("ε = {:.4g}: mean ±", plan.budget.epsilon));
    std::size_t line = 0;
    for (const Column& column : domain.columns)
      if (column.type == ColumnType::number)
        lines[++line].push_back(fmt::format("{:.2g}", of_half_range * (column.hi - column.lo) / 2));
    guesses.push_back(fmt::format("{:.1f} %", best_guess_percent(plan.guarantee)));
  }
  lines.push_back(guesses);
  return out + table(lines) + "\n" +
         wrapped(fmt::format(
             "mean ±: of the noise alone, 95 % of the time{}; what the sample leaves open is in the "
             "intervals of fit, with those of deviations and correlations",
             p.of_people() || p.weighted ? ", if all rows count in full" : "")) +
         wrapped(
             "best guess: how often whoever knows all other rows is right, at even odds, about one "
             "person's");
}

std::string covariance_report(const CovarianceRelease& release) {
  const CovarianceEstimates e = covariance_estimates(release);
  std::vector<std::vector<std::string>> means{{"mean", "estimate", "95 % from", "to"}},
      deviations{{"standard deviation", "estimate", "95 % from", "to"}},
      correlations{{"correlation", "estimate", "95 % from", "to"}};
  std::size_t at = 0;
  for (std::size_t i = 0; i < e.columns.size(); ++i) {
    means.push_back(moment_line(e.columns[i], e.means[i]));
    deviations.push_back(moment_line(e.columns[i], e.deviations[i]));
    for (std::size_t j = 0; j < i; ++j, ++at) {
      correlations.push_back(
          moment_line(e.columns[j] + " and " + e.columns[i], e.correlations[at]));
    }
  }
  std::string out = table(means) + "\n" + table(deviations);
  if (at > 0) out += "\n" + table(correlations);
  const CovarianceProblem& problem = release.certificate().problem;
  out += fmt::format(
      "of the people that {}{} rows{} are a sample of{}; noise and sample are both in the interval\n",
      problem.weighted ? "about " : "", moment_text(std::max(e.rows, 0.0)),
      release.model().schema.weight() != nullptr ? " of the largest weight" : "",
      problem.weighted ? ", each as it counts" : "");
  if (release.model().schema.invalid == Invalid::middle)
    out += wrapped(
        "a cell that cannot be read counts as the middle of its column's range: estimates lean to it "
        "by the share of such cells, and intervals are of what was counted");
  if (!e.projected) return out;
  return out +
         wrapped(
             "together these numbers are of no table, as the noisy covariance is not positive "
             "semidefinite: each is an estimate on its own");
}

std::string covariance_csv(const CovarianceRelease& release) {
  const CovarianceEstimates e = covariance_estimates(release);
  std::string out = "what,column,other,estimate,lower,upper\n";
  const auto line = [&out](const char* what, const std::string& column, const std::string& other,
                           const MomentEstimate& x) {
    out += fmt::format("{},{},{},{},{},{}\n", what, csv_cell(column),
                       other.empty() ? other : csv_cell(other), x.value, x.low, x.high);
  };
  for (std::size_t i = 0; i < e.columns.size(); ++i) line("mean", e.columns[i], "", e.means[i]);
  for (std::size_t i = 0; i < e.columns.size(); ++i)
    line("deviation", e.columns[i], "", e.deviations[i]);
  const auto pairs = [&](const char* what, const std::vector<MomentEstimate>& all) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < e.columns.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) line(what, e.columns[i], e.columns[j], all[at++]);
  };
  pairs("covariance", e.covariances);
  pairs("correlation", e.correlations);
  return out;
}

void FitCommand::fit_covariance_model() const {
  require_no_engine();
  if (family.columns.empty())
    throw BadInput("--columns: is missing; name the columns of numbers, with commas between");
  const Budget budget = plan.budget();
  cache_from_string(cache);
  const auto ledger = opened_ledger();
  prepare();
  const Schema domain =
      read_covariance_schema(schema, named_columns(family.columns), budget.adjacency);
  // Throws on what no table could mend.
  static_cast<void>(covariance_problem(plan, domain, 1));
  TableArguments::Share share = read(domain, true);
  // What is public under replace-one: of people, who they are many.
  const std::uint64_t rows = counted(share, budget.rows_per_person);
  const Dataset data = std::move(share.data);
  const Checked read_as = checked(data, data.rows());
  const CovariancePlan made = gibbsite::plan(plan, covariance_problem(plan, domain, rows), budget);
  look_at(plan, made, ledger ? &*ledger : nullptr, warn);
  if (check) return say_checked(wrapped(covariance_line(made)), read_as);
  if (verbose) say(wrapped(covariance_line(made)) + "\n");
  FitOptions options;
  options.ledger = ledger ? &*ledger : nullptr;
  const CovarianceRelease release = fit_covariance(data, made, key(), options);
  write_entered(ledger, [&](Existing existing) { write_release(out, release, existing); });
  say(
      fmt::format("{}\n{}\nWritten: {}; next:\n  gibbsite coefficients {} --csv\n"
                  "  gibbsite verify {}\n",
                  covariance_report(release), wrapped_lines(in_words(release.certificate())),
                  StandardOutput::named(out), out, out));
  tell_private(read_as);
}

}  // namespace gibbsite::cli
