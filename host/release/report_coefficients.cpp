// The page's coefficients and, of a family, its estimates, each with how sure it is.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "gibbsite/core/human_count.hpp"
#include "gibbsite/core/overloaded.hpp"
#include "gibbsite/mechanism/mechanism.hpp"
#include "gibbsite/model/loss.hpp"
#include "gibbsite/release/coefficients.hpp"
#include "gibbsite/release/query.hpp"
#include "release/forest.hpp"
#include "release/page.hpp"
#include "release/report_parts.hpp"

namespace gibbsite {
namespace {

constexpr std::size_t most_lines = 1000;  // of coefficients
constexpr std::size_t most_shares = 100;  // of a family's parameters

std::string interval_words(const LinearModel& model, const Certificate& certificate) {
  if (!coefficient_noise_up(certificate.mechanism, certificate.problem))
    return "No bound on how far noise moved them holds for every table: none is given.";
  return fmt::format(
      "±: how far privacy's noise moves a coefficient from the median of its law, with a "
      "probability of at least {:.3g} %{}. That the table is a sample is not in it. Gray: within "
      "that of 0, so it may be noise.",
      95 - 100 * setting(certificate.mechanism, "tv_gap").value_or(0),
      model.draws.size() == 1 ? "" : " each");
}

std::string sum_words(const LinearModel& model) {
  const Schema& s = model.schema;
  if (is<Amount>(s.label)) return "the prediction";
  if (is<Count>(s.label))
    return "the log of the mean predicted" +
           std::string(s.exposure() == nullptr ? "" : " for one of the exposure");
  if (is<Classes>(s.label))
    return "the score of the class; the largest is the likeliest, and only differences between "
           "classes count";
  return score_words(model).empty()
             ? "log-odds"
             : "the score from which the probability follows (model.link of the file)";
}

// Public range of the column that feature j comes from; 0: it is a level, or none.
std::vector<double> widths(const Schema& schema) {
  std::vector<double> out(schema.features(), 0.0);
  std::size_t first = 0;
  for (const Column& column : schema.columns) {
    if (column.type == ColumnType::number && !column.is_curve()) out[first] = column.hi - column.lo;
    first += schema.features_of(column);
  }
  return out;
}

void constant_words(Html& page, const OriginalUnits& units, double constant,
                    const LinearModel& model) {
  page.put(
      "<p class=\"note\">In the columns' own units: {} + the sum of “for one more” times each "
      "number, and of the effects of the levels that a row has, is {}. {}</p>\n",
      number(constant), sum_words(model),
      units.exact ? "Numbers outside of their range count as its nearer end."
                  : "It holds for rows that are not scaled down; for others approximately.");
}

void one_output_table(Html& page, const LinearModel& model, const Certificate& certificate) {
  const CoefficientLines lines = coefficient_lines(model, certificate);
  const Schema& schema = model.schema;
  const bool bounded = !lines.half_widths.empty();
  const bool odds = lines.multiplies;
  std::vector<double> width = widths(schema);
  width.resize(lines.values.size(), 0.0);  // the baseline's
  const auto half = [&](std::size_t j) { return bounded ? lines.half_widths[j] : 0.0; };
  std::vector<Whisker> whiskers;
  for (std::size_t j = 0; j < lines.values.size(); ++j)
    whiskers.push_back({lines.values[j] - half(j), lines.values[j], lines.values[j] + half(j)});
  const Forest forest(whiskers, odds);
  // What may be noise comes last.
  std::vector<std::size_t> order(lines.values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_partition(order.begin(), order.end(),
                        [&](std::size_t j) { return !lines.is_inside(j) && !lines.is_unseen(j); });
  page.put(
      "<table class=\"coefficients\"><caption>{}</caption><thead><tr><th scope=\"col\">of</th><th "
      "scope=\"col\">effect{}</th><th scope=\"col\" class=\"picture\">{}{}</th>{}<th "
      "scope=\"col\">for one more</th></tr></thead><tbody>\n",
      std::string("Effect of a number: from the low end of its range to the high end; of a level: "
                  "where the row has it") +
          (!odds                     ? ""
           : is<Count>(schema.label) ? "; ×: what that multiplies the mean by"
                                     : "; ×: what that multiplies the odds by"),
      bounded ? " ±" : "",
      !odds                     ? "effect"
      : is<Count>(schema.label) ? "mean ×"
                                : "odds ×",
      forest.axis(),
      Markup{!odds                     ? ""
             : is<Count>(schema.label) ? "<th scope=\"col\">mean ×</th>"
                                       : "<th scope=\"col\">odds ×</th>"});
  if (order.size() > most_lines) order.resize(most_lines);
  for (const std::size_t j : order) {
    const double value = lines.values[j];
    page.put("<tr{}><th scope=\"row\">{}</th><td>{:+.4g}{}</td><td class=\"picture\">{}</td>",
             Markup{lines.is_inside(j) || lines.is_unseen(j) ? " class=\"soft\"" : ""},
             lines.names[j] + (lines.is_unseen(j) ? " – few rows or none: noise" : ""), value,
             bounded ? fmt::format(" ± {:.3g}", half(j)) : "", forest.row(whiskers[j]));
    if (odds) {
      page.put("<td>{:.3g}{}</td>", std::exp(value),
               bounded ? fmt::format(" ({:.3g} to {:.3g})", std::exp(value - half(j)),
                                     std::exp(value + half(j)))
                       : "");
    }
    page.put("<td>{}</td></tr>\n",
             width[j] > 0 ? fmt::format("{:+.4g}{}", value / width[j],
                                        bounded ? fmt::format(" ± {:.3g}", half(j) / width[j]) : "")
                          : "");
  }
  page.put("<tr><th scope=\"row\"></th><td></td><td class=\"picture\">{}</td>{}<td></td></tr>\n",
           forest.foot(), Markup{odds ? "<td></td>" : ""});
  page.put("</tbody></table>\n");
  if (lines.values.size() > most_lines)
    page.put("<p>and {} more (all in the file)</p>\n", lines.values.size() - most_lines);
  const OriginalUnits units = original_units(model, model.draws.front());
  constant_words(page, units, units.intercept, model);
}

void class_tables(Html& page, const LinearModel& model, const Certificate& certificate) {
  const Schema& schema = model.schema;
  const std::vector<std::string> names = coefficient_line_names(schema);
  const std::vector<double> width = widths(schema);
  const auto deviation = coefficient_noise_up(certificate.mechanism, certificate.problem);
  const double half = two_sided_95 * deviation.value_or(0);
  std::size_t left = most_lines;
  const std::vector<std::string> classes = class_names(schema.label);
  for (std::size_t k = 0; k < classes.size() && left > 0; ++k) {
    const std::span<const double> theta = coefficients_of(schema, model.draws.front(), k);
    page.put("<h3>{}</h3>\n", classes[k]);
    page.put(
        "<table><caption>Coefficients of the class {}{}</caption><thead><tr><th scope=\"col\">of"
        "</th><th scope=\"col\">coefficient{}</th><th scope=\"col\">for one more</th></tr></thead>"
        "<tbody>\n",
        classes[k], "", deviation ? fmt::format(" ± {:.3g}", half) : "");
    for (std::size_t j = 0; j < theta.size() && left > 0; ++j, --left) {
      page.put("<tr{}><th scope=\"row\">{}</th><td>{:+.4g}</td><td>{}</td></tr>\n",
               Markup{deviation && std::fabs(theta[j]) <= half ? " class=\"soft\"" : ""}, names[j],
               theta[j], width[j] > 0 ? fmt::format("{:+.4g}", theta[j] / width[j]) : "");
    }
    page.put("</tbody></table>\n");
    const OriginalUnits units = original_units(model, theta);
    constant_words(page, units, units.intercept, model);
  }
  const std::size_t all = names.size() * classes.size();
  if (all > most_lines)
    page.put("<p>{} of {} coefficients are shown; all are in the file.</p>\n", most_lines, all);
}

}  // namespace

void coefficients_section(Html& page, const LinearModel& model, const Certificate& certificate) {
  heading(page, "utility",
          model.estimates ? "Utility: the effects and how sure they are"
                          : "Utility: the coefficients and how sure they are");
  const Schema& schema = model.schema;
  if (model.draws.size() > 1 && !model.estimates)
    page.put("<p>Of the first of {} draws; predictions average over all.</p>\n",
             model.draws.size());
  std::visit(
      Overloaded{[&](const TwoClasses& two) {
                   page.put("<p>Above 0 speaks for {} = {}.</p>\n", schema.label_name,
                            two.positive);
                   if (const std::string words = score_words(model).text(); !words.empty())
                     page.put("<p>{}</p>\n", words);
                 },
                 [&](const Classes&) {
                   page.put(
                       "<p>By {}: the class that they add up to most for is the likeliest; only "
                       "differences between classes count.</p>\n",
                       schema.label_name);
                 },
                 [&](const Amount& amount) {
                   page.put("<p>A prediction of {} is {} plus what coefficients add.</p>\n",
                            schema.label_name, number(amount.middle()));
                 },
                 [&](const Count&) {
                   page.put("<p>Above 0 speaks for more {}.</p>\n", schema.label_name);
                 }},
      schema.label);
  terms_part(page, model);
  if (model.estimates) {
    effects_part(page, model, certificate.claimed.who.rows_per_person);
  } else if (is<Classes>(schema.label)) {
    class_tables(page, model, certificate);
  } else {
    one_output_table(page, model, certificate);
  }
  if (!model.estimates) page.put("<p class=\"note\">{}</p>\n", interval_words(model, certificate));
  page.put(
      "<p class=\"note\">How accurate it is on the private table is not said here: that would read "
      "the table again, and no guarantee covers it.</p>\n");
}

void estimates_section(Html& page, const FamilyRelease& release) {
  const FamilyProblem& p = release.certificate().problem;
  heading(page, "utility", "Utility: the estimates and how sure they are");
  page.put(
      "<table><caption>{} of {}, from {} draw{}</caption><thead><tr><th scope=\"col\">of</th><th "
      "scope=\"col\">estimate</th><th scope=\"col\">95 % from</th><th scope=\"col\">to</th></tr>"
      "</thead><tbody>\n",
      p.has_levels() ? "Shares of the levels" : std::string(to_string(p.family)),
      release.model().column(), release.model().draws.size(), plural(release.model().draws.size()));
  const auto all = estimates(release, most_shares);
  for (const ParameterEstimate& one : all) {
    page.put("<tr><th scope=\"row\">{}</th><td>{:.4g}</td><td>{:.4g}</td><td>{:.4g}</td></tr>\n",
             one.name, one.value, one.low, one.high);
  }
  page.put("</tbody></table>\n");
  if (p.levels > all.size()) page.put("<p>and {} levels with less</p>\n", p.levels - all.size());
  const std::uint64_t k = release.certificate().claimed.who.rows_per_person;
  page.put(
      "<p class=\"note\">Of the people that the table is a sample of; noise and sample are both in "
      "the interval.{}{}</p>\n",
      k > 1 ? fmt::format(" The {} rows of a person are taken for alike.", k) : "",
      p.trim ? " The whole range stands where draws at the bounds that they are trimmed to tell no "
               "more."
             : "");
  if (const std::string missing = missing_meaning(release); !missing.empty())
    page.put("<p class=\"note\">{}</p>\n", missing);
  if (release.certificate().bought && !p.has_levels())
    page.put(
        "<p class=\"note\">Of numbers held to {:.4g} to {:.4g}, a range found through noise: where "
        "it cuts off some, what is true of them all may lie outside of the interval.</p>\n",
        p.lo, p.hi);
}

}  // namespace gibbsite
