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

void one_output_table(Html& page, const LinearModel& model, const Certificate& certificate,
                      const Markup& caption) {
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
      caption, bounded ? " ±" : "",
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
        "<table><caption>Coefficients of the class {}</caption><thead><tr><th scope=\"col\">of"
        "</th><th scope=\"col\">coefficient{}</th><th scope=\"col\">for one more</th></tr></thead>"
        "<tbody>\n",
        classes[k], deviation ? fmt::format(" ± {:.3g}", half) : "");
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

void add_coefficients(PageFacts& page, const LinearModel& model, const Certificate& certificate) {
  const Schema& schema = model.schema;
  const Label& label = schema.label;
  const std::size_t columns =
      static_cast<std::size_t>(std::ranges::count_if(schema.columns, [](const Column& one) {
        return one.type != ColumnType::ignore && one.type != ColumnType::person;
      }));
  const bool classes = is<Classes>(label), counts = is<Count>(label);
  const auto score = score_words(model);
  page.conditions.insert({{"two_classes", is<TwoClasses>(label)},
                          {"several_classes", classes},
                          {"amounts", is<Amount>(label)},
                          {"counts", counts},
                          {"logistic", model.loss.starts_with("logistic")},
                          {"squared", model.loss == "squared"},
                          {"one_column", columns == 1},
                          {"one_coefficient", certificate.problem.features == 1},
                          {"scored", !score.empty()},
                          {"effects", model.estimates.has_value()},
                          {"long_rows", !(schema.max_unclipped_norm() <= schema.row_norm)}});
  page.texts.insert({{"label", schema.label_name},
                     {"loss", model.loss},
                     {"columns", fmt::format("{}", columns)},
                     {"coefficients", fmt::format("{}", certificate.problem.features)},
                     {"score", score.text()},
                     {"row_norm", number(schema.row_norm)}});
  if (const auto* two = std::get_if<TwoClasses>(&label)) page.texts["positive"] = two->positive;
  if (const auto* amount = std::get_if<Amount>(&label))
    page.texts["middle"] = number(amount->middle());
  page.parts["term_pictures"] = [&model](Html& to, const Markup&) { terms_part(to, model); };
  page.parts["label_rules"] = [&schema](Html& to, const Markup&) { label_rules(to, schema); };
  if (model.estimates) return add_effects(page, model, certificate.claimed.who.rows_per_person);
  page.conditions["ratios"] = !classes && coefficient_lines(model, certificate).multiplies;
  page.conditions["bounded"] =
      coefficient_noise_up(certificate.mechanism, certificate.problem).has_value();
  page.texts["noise_probability"] =
      fmt::format("{:.3g}", 95 - 100 * setting(certificate.mechanism, "tv_gap").value_or(0));
  page.parts["coefficients_tables"] = [&model, &certificate, classes](Html& to,
                                                                      const Markup& caption) {
    classes ? class_tables(to, model, certificate)
            : one_output_table(to, model, certificate, caption);
  };
}

void add_estimates(PageFacts& page, const FamilyRelease& release) {
  const FamilyProblem& p = release.certificate().problem;
  const std::string missing = missing_meaning(release);
  page.conditions.insert({{"levels", p.has_levels()},
                          {"trimmed", p.trim.has_value()},
                          {"missing", !missing.empty()},
                          {"bought_range", release.certificate().bought && !p.has_levels()},
                          {"public_table", p.public_counts.has_value()}});
  page.texts.insert({{"label", release.model().column()},
                     {"loss", std::string(to_string(release.model().family))},
                     {"missing_words", missing},
                     {"range_low", fmt::format("{:.4g}", p.lo)},
                     {"range_high", fmt::format("{:.4g}", p.hi)}});
  page.parts["estimates_table"] = [&release, &p](Html& to, const Markup& caption) {
    to.put(
        "<table><caption>{}</caption><thead><tr><th scope=\"col\">of</th><th "
        "scope=\"col\">estimate</th><th scope=\"col\">95 % from</th><th scope=\"col\">to</th></tr>"
        "</thead><tbody>\n",
        caption);
    const auto all = estimates(release, most_shares);
    for (const ParameterEstimate& one : all) {
      to.put("<tr><th scope=\"row\">{}</th><td>{:.4g}</td><td>{:.4g}</td><td>{:.4g}</td></tr>\n",
             one.name, one.value, one.low, one.high);
    }
    to.put("</tbody></table>\n");
    if (p.levels > all.size()) to.put("<p>and {} levels with less</p>\n", p.levels - all.size());
  };
}

}  // namespace gibbsite
