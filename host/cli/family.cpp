#include "family.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/mechanism/covariance.hpp"
#include "gibbsite/release/query.hpp"
#include "text.hpp"

namespace gibbsite::cli {
namespace {

std::pair<double, double> two_of(const std::string& list, const char* name) {
  const auto numbers = parse_numbers(list, name);
  if (numbers.size() != 2) {
    throw BadInput(
        fmt::format("{}: must be two numbers with a comma between, got '{}'", name, shown(list)));
  }
  return {numbers[0], numbers[1]};
}

// "± 0.012": a parameter's deviation as half of an interval.
std::string plus_minus(double deviation) { return fmt::format("{:.2g}", two_sided_95 * deviation); }

std::string of_what(const FamilyProblem& p) {
  switch (p.family) {
    case Family::bernoulli:
    case Family::categorical:
      return "share";
    case Family::rate:
      return "mean count";
    case Family::waiting:
      return "mean time";
    case Family::variance:
      return "variance";
    case Family::laplace:
      return "scale";
    case Family::mean:
    case Family::bounded_mean:
      break;
  }
  return "mean";
}

std::string prior_words(const FamilyPlan& plan) {
  const FamilyProblem& p = plan.problem;
  const double scale = prior_scale_of(plan.mechanism);
  const std::vector<double> prior = p.prior_at(scale);
  const bool alike = std::ranges::adjacent_find(prior, std::ranges::not_equal_to{}) == prior.end();
  if (p.has_levels() && alike) return fmt::format("{:.3g} rows a level", prior[0]);
  std::string out;
  for (std::size_t i = 0; i < std::min<std::size_t>(prior.size(), 4); ++i) {
    out += fmt::format("{}{:.3g}", i == 0 ? "" : ", ", prior[i]);
  }
  return out + (prior.size() > 4 ? ", ..." : "");
}

// "" of a row a person.
std::string alike_words(std::uint64_t rows_per_person) {
  return rows_per_person == 1
             ? ""
             : fmt::format("The {} rows of a person are taken for alike.\n", rows_per_person);
}

}  // namespace

void FamilyArguments::add_to(CLI::App& app, PlanArguments& plan, bool shape) {
  app.add_option(
         "--column", column,
         "--model bernoulli, categorical, rate, waiting, mean, bounded-mean, variance or laplace: "
         "the column it is fitted to")
      ->type_name("NAME");
  add_numbers(app, "--prior", plan.prior,
              "a family's prior: pseudo-counts of the levels, shape and rate, or a mean's "
              "precision (of a network the pseudo-count of each cell of drawn tables); then "
              "records are weighed down, and without it the prior is scaled up, "
              "until the budget is kept (docs/theory/conjugate.md)")
      ->type_name("A,B");
  app.add_flag("--diffused", plan.diffused, "a family: weigh records down whatever the prior");
  add_numbers(
      app, "--trim", plan.trim,
      "a family: draws cut to public bounds, the least share of a level within each split of "
      "the levels, or low,high: many --draws that `query` asks (docs/theory/trimmed.md); a network: "
      "the least share of a level in each row of its tables")
      ->type_name("A[,B]");
  add_number(app, "--variance", plan.variance,
             "mean: known variance of the column; default: the most that its range allows");
  add_number(app, "--center", plan.center,
             "variance, laplace: the known mean that the column is about");
  if (!shape) return;
  add_count(app, "--levels", levels, "a family over levels, instead of --schema: how many", 2);
  app.add_option("--range", range, "a family over numbers, instead of --schema: its range")
      ->type_name("LO,HI");
}

void FamilyArguments::require_of_model(const PlanArguments& plan) const {
  const char* const given = !column.empty()  ? "--column"
                            : levels         ? "--levels"
                            : !range.empty() ? "--range"
                                             : nullptr;
  if (given != nullptr && kind_of(plan) != of_family) {
    if (kind_of(plan) == of_linear && !plan.model.empty() && plan.model != "auto")
      static_cast<void>(loss_named(full_loss_name(plan.model, 2)));  // "median" is no model at all
    throw BadInput(
        fmt::format("{}: has no meaning with --model {}; leave it out", given, shown(plan.model)));
  }
  if (!columns.empty() && kind_of(plan) != of_covariance) {
    throw BadInput(
        fmt::format("--columns: is of --model covariance and transitions, and the model is {}; "
                    "leave it out",
                    shown(plan.model)));
  }
  gibbsite::require_of_model(plan);
}

FamilyProblem FamilyArguments::problem_of_shape(Family family, std::uint64_t rows) const {
  FamilyProblem out{.family = family, .rows = rows};
  if (out.has_levels()) {
    if (!range.empty()) throw BadInput("--range: is of numbers; give --levels");
    out.levels = levels.value_or(family == Family::bernoulli ? 2 : 0);
    if (out.levels == 0) throw BadInput("--levels: is missing; give how many, or --schema");
    return out;
  }
  if (levels) throw BadInput("--levels: is of categories; give --range LO,HI");
  if (range.empty()) throw BadInput("--range: is missing; give LO,HI, or --schema");
  std::tie(out.lo, out.hi) = two_of(range, "--range");
  return out;
}

namespace {

// A draw of a mean has the noise of the widest law that the range allows; noise in a sum has less.
std::string surer_mean(std::span<const FamilyPlan> plans) {
  const FamilyProblem& p = plans.front().problem;
  const bool means = p.family == Family::mean || p.family == Family::bounded_mean;
  if (!means || p.trim || p.public_counts || plans.front().budget.draws != 1 ||
      p.rows > most_covariance_rows)
    return "";
  std::vector<std::string> noise;
  for (const FamilyPlan& plan : plans) {
    const CovariancePlan sums = plan_covariance({.rows = p.rows, .columns = 1}, plan.budget);
    const MomentDeviations of = moment_deviations(sums.mechanism, 1, plan.budget.adjacency);
    noise.push_back(plus_minus(of.sum / static_cast<double>(p.rows) * (p.hi - p.lo) / 2));
  }
  return wrapped(fmt::format(
      "a mean alone is surer by --model covariance --columns NAME: privacy adds ±{} to what the "
      "sample leaves open",
      fmt::join(noise, ", ")));
}

}  // namespace

std::string family_summary(std::span<const FamilyPlan> plans) {
  const FamilyPlan& first = plans.front();
  const FamilyProblem& p = first.problem;
  std::vector<std::vector<std::string>> lines{{"ε", "mechanism", "a record counts", "prior",
                                               "best guess", "estimate ±", "without privacy"}};
  for (const FamilyPlan& plan : plans) {
    lines.push_back(
        {fmt::format("{:.4g}", plan.budget.epsilon), std::string(name_of(plan.mechanism)),
         fmt::format("{:.3g}", weight_of(plan.mechanism)), prior_words(plan),
         fmt::format("{:.1f} %",
                     best_guess_percent(plan.mechanism, p, plan.guarantee, plan.budget.draws)),
         plus_minus(plan.deviation), plus_minus(plan.sample_deviation)});
  }
  std::string out = fmt::format("{} rows, {}, {} {} to release, δ = {:.4g}\n\n{}\n",
                                human_count(static_cast<double>(p.rows)),
                                p.has_levels() ? fmt::format("{} levels", p.levels)
                                               : fmt::format("range [{:.6g}, {:.6g}]", p.lo, p.hi),
                                first.budget.draws, first.budget.draws == 1 ? "draw" : "draws",
                                first.budget.delta, table(lines));
  out += fmt::format(
      "best guess: how often whoever knows all other rows is right, at even odds, about one "
      "person's\nestimate ±: of the {}, noise and sample together, 95 % of the time, in the middle "
      "of what it can be\n{}",
      of_what(p), alike_words(first.budget.rows_per_person));
  out += surer_mean(plans);
  if (p.trim) {
    constexpr double failure = 0.05;
    out += fmt::format(
        "regret: the response that is best over {} draws is worse than the best for their "
        "posterior by at most\n{:.2g} of the utilities' range with two responses to choose from, "
        "{:.2g} with ten (95 %), and by twice the part\nof the posterior that the trim cuts off: "
        "of the prior {:.2g}; of a table whose parameter lies well inside, next to nothing\n",
        first.budget.draws, std::min(1.0, regret_of_draws(2, first.budget.draws, failure)),
        std::min(1.0, regret_of_draws(10, first.budget.draws, failure)), first.cut_mass);
  }
  return out;
}

std::string family_line(const FamilyPlan& plan) {
  return fmt::format(
      "mechanism {}: {} {}, a record counts {:.3g}, prior {}, (ε, δ) = ({:.4g}, {:.4g})",
      name_of(plan.mechanism), plan.budget.draws, plan.budget.draws == 1 ? "draw" : "draws",
      weight_of(plan.mechanism), prior_words(plan), plan.budget.epsilon, plan.budget.delta);
}

std::string family_report(const FamilyRelease& release) {
  constexpr std::size_t most = 30;
  const FamilyProblem& p = release.certificate().problem;
  std::vector<std::vector<std::string>> lines{{of_what(p), "estimate", "95 % from", "to"}};
  const auto all = estimates(release, most);
  for (const auto& one : all) {
    lines.push_back({one.name, fmt::format("{:.4g}", one.value), fmt::format("{:.4g}", one.low),
                     fmt::format("{:.4g}", one.high)});
  }
  std::string out = fmt::format("{} of {}:\n{}", to_string(p.family),
                                shown(release.model().column()), table(lines));
  if (p.levels > all.size()) out += fmt::format("and {} levels with less\n", p.levels - all.size());
  out += wrapped(fmt::format(
      "of the people that the table is a sample of{}; noise and sample are both in the interval",
      p.is_beta() ? "" : ", if their numbers are of that law"));
  out += alike_words(release.certificate().claimed.who.rows_per_person);
  if (p.public_counts)
    out += fmt::format(
        "of the people of the private table alone: the {} public row{} in the prior moved the draw, "
        "and estimate and interval\ntake that out again\n",
        p.public_counts->rows, p.public_counts->rows == 1 ? "" : "s");
  if (p.trim) out += "the whole range stands where draws at the bounds of --trim tell no more\n";
  // A bought range holds most numbers, and what it cuts off moves an estimate by more than noise.
  if (release.certificate().bought && !p.has_levels())
    out += fmt::format(
        "of numbers held to {:.4g} to {:.4g}, a range found through noise: where it cuts off some, "
        "what is true of them\nall may lie outside of the interval; give --schema with a range "
        "that holds them\n",
        p.lo, p.hi);
  if (const std::string missing = missing_meaning(release); !missing.empty())
    out += wrapped(missing);
  return out;
}

}  // namespace gibbsite::cli
