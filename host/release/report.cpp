#include "gibbsite/release/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <vector>

#include "certificate/model_json.hpp"
#include "core/digest.hpp"
#include "gibbsite/certificate/family_file.hpp"
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/certificate/network_file.hpp"
#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/human_count.hpp"
#include "gibbsite/mechanism/mechanism.hpp"
#include "gibbsite/model/loss.hpp"
#include "gibbsite/privacy/guarantee.hpp"
#include "gibbsite/release/coefficients.hpp"
#include "gibbsite/release/network_query.hpp"
#include "gibbsite/release/query.hpp"
#include "release/page.hpp"

namespace gibbsite {
namespace {

using nlohmann::json;

constexpr std::size_t most_lines = 1000;   // of coefficients
constexpr std::size_t most_columns = 400;  // of the dictionary, runs of alike ones counted once
constexpr std::size_t most_levels = 60;    // of a column's that are listed
constexpr std::size_t most_shares = 100;   // of a family's parameters
constexpr std::size_t most_tables = 60;    // of a network's columns
constexpr std::size_t most_given = 40;     // configurations of one of them
constexpr std::size_t most_drawn = 40;     // columns in a picture of it

// What a certificate of either kind comes to.
struct ReportFacts {
  const Claims& claims;
  double guess = 100;  // percent
  std::uint64_t rows = 0;
  std::string basis;
  bool sharper = false;  // the guess is better than what the guarantee's four numbers say
};

std::string percent(double value) { return fmt::format("{:.1f} %", value); }

// Lines of words as paragraphs: in_words breaks sentences for a terminal.
void paragraphs(Html& page, const std::string& words) {
  std::string text = words;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::string one;
  const auto end = [&] {
    if (!one.empty()) page.put("<p>{}</p>\n", one);
    one.clear();
  };
  std::size_t first = 0;
  while (first <= text.size()) {
    const std::size_t stop = std::min(text.find('\n', first), text.size());
    const std::string line = text.substr(first, stop - first);
    one += (one.empty() ? "" : " ") + line;
    if (line.ends_with('.')) end();
    first = stop + 1;
  }
  end();
}

// From 50 % to what the best guess reaches, under the grades of the words.
void guess_bar(Html& page, double guess) {
  constexpr double left = 10, width = 340, y = 34, height = 22;
  const auto at = [&](double p) { return left + width * (p - 50) / 50; };
  const double end = at(std::clamp(guess, 50.0, 100.0));
  page.put(
      "<figure><svg viewBox=\"0 0 360 104\" role=\"img\" aria-label=\"Bar from 50 % to {0}, the "
      "best guess about one person\">\n",
      percent(guess));
  page.put("<rect class=\"track\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n", left, y, width,
           height);
  page.put("<rect class=\"full\" x=\"{}\" y=\"{}\" width=\"{:.2f}\" height=\"{}\"/>\n", left, y,
           end - left, height);
  page.put("<text class=\"strong\" x=\"{}\" y=\"{}\">{}</text>\n", left, y - 10,
           "best guess right at most " + percent(guess) + " of the time");
  for (const double tick : {50.0, 60.0, 75.0, 90.0, 100.0}) {
    page.put("<path class=\"axis\" d=\"M{:.1f} {}v6\"/>\n", at(tick), y + height);
    page.put("<text{} x=\"{:.1f}\" y=\"{}\">{} %</text>\n",
             Markup{tick == 50    ? ""
                    : tick == 100 ? " class=\"end\""
                                  : " class=\"middle\""},
             tick == 50    ? left
             : tick == 100 ? left + width
                           : at(tick),
             y + height + 20, tick);
  }
  const std::pair<double, const char*> grades[] = {
      {55, "little"}, {67.5, "something"}, {82.5, "much"}, {95, "nearly all"}};
  for (const auto& [middle, word] : grades) {
    page.put("<text class=\"middle\" x=\"{:.1f}\" y=\"{}\">{}</text>\n", at(middle),
             y + height + 38, word);
  }
  page.put(
      "</svg><figcaption>How often somebody who knows every other row is right about one person, "
      "at even odds: 50 % without the model, at most {} with it. Below: what that may "
      "learn.</figcaption></figure>\n",
      percent(guess));
}

// The least rate of misses beside a rate of false alarms, over all tests of one person's data
// (Dong, Roth, Su 2022): lines 1 - delta - e^epsilon a and their mirrors, each of which holds. So
// the curve is nowhere above the true one.
class TradeOff {
 public:
  TradeOff(const Guarantee& g, double claimed_epsilon, const ReportFacts& facts) : g_(g) {
    add(claimed_epsilon);
    add(g.pure);
    if (g.mu > 0) {
      constexpr int lines = 40;
      for (int k = 1; k <= lines; ++k) {
        const double z = g.mu / 2 + 5.0 * k / lines;
        add(g.pure + g.mu * (z - g.mu / 2));
      }
    }
    // Total variation t: misses + false alarms >= 1 - t.
    if (facts.sharper) lines_.emplace_back(0, 2 * facts.guess / 100 - 1);
  }
  [[nodiscard]] double at(double a) const {
    double most = 0;
    for (const auto& [epsilon, delta] : lines_) {
      most =
          std::max({most, 1 - delta - std::exp(epsilon) * a, std::exp(-epsilon) * (1 - delta - a)});
    }
    return most;
  }
  // Where the line of epsilon meets the curve.
  [[nodiscard]] double meets(double epsilon, double delta) const {
    if (!(g_.mu > 0)) return (1 - delta) / (1 + std::exp(epsilon));
    return std::erfc((g_.mu / 2 + (epsilon - g_.pure) / g_.mu) / std::sqrt(2.0)) / 2;
  }

 private:
  void add(double epsilon) {
    if (epsilon <= 700) lines_.emplace_back(epsilon, delta_up(g_, epsilon));
  }

  Guarantee g_;
  std::vector<std::pair<double, double>> lines_;  // epsilon, delta
};

using Points = std::vector<std::pair<double, double>>;  // epsilon, delta

// Of the claim, and of parts and multiples of its epsilon.
Points points_of(const Claims& claims) {
  Points out;
  for (const double part : {0.1, 0.25, 0.5, 1.0, 1.5, 2.0}) {
    const double epsilon = part * claims.epsilon;
    const double delta = part == 1 ? claims.delta : delta_up(claims.claimed, epsilon);
    if (delta < 1 && epsilon <= 700) out.emplace_back(epsilon, delta);
  }
  return out;
}

void trade_off_picture(Html& page, const TradeOff& curve, const Points& points, double claimed) {
  const SquarePlot plot;
  const auto x = [&](double a) { return plot.x(a); };
  const auto y = [&](double b) { return plot.y(b); };
  SquarePlot::begin(page,
                    "Trade-off curve: the least rate of misses for each rate of false alarms");
  std::string path;
  constexpr int steps = 100;
  for (int k = 0; k <= steps; ++k) {
    const double share = static_cast<double>(k) / steps, a = share * share;  // dense where steep
    path += fmt::format("{}{:.1f} {:.1f}", k == 0 ? "M" : "L", x(a), y(curve.at(a)));
  }
  page.put("<path class=\"band\" d=\"{}L{} {}Z\"/>\n", path, x(0), y(0));
  plot.share_grid(page);
  page.put("<path class=\"even\" d=\"M{} {}L{} {}\"/>\n", x(0), y(1), x(1), y(0));
  page.put("<path class=\"curve\" d=\"{}\"/>\n", path);
  // The claim's first: others near it are dots without a name.
  std::vector<double> named;
  for (const bool claim : {true, false}) {
    for (const auto& [epsilon, delta] : points) {
      if (epsilon > claimed || claim != (epsilon == claimed)) continue;
      const double a = curve.meets(epsilon, delta), b = curve.at(a);
      page.put("<circle class=\"dot\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"/>\n", x(a), y(b));
      const double line = y(b) + 4;
      if (std::ranges::any_of(named, [&](double other) { return std::fabs(other - line) < 14; }))
        continue;
      named.push_back(line);
      page.put("<text{} x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
               Markup{claim ? " class=\"strong\"" : ""}, x(a) + 10, line, "ε = " + number(epsilon));
    }
  }
  plot.names(page, "false alarms", "misses", SquarePlot::top + SquarePlot::side / 4);
  page.put(
      "</svg><figcaption>Whoever tests whether a person's data were in the table errs in two ways. "
      "No test lies in the shaded region: with so many false alarms it misses at least what the "
      "curve says. Dashed: a test that has not seen the model. Dots: what the (ε, δ) below say."
      "</figcaption></figure>\n");
}

void guarantee_sections(Html& page, const ReportFacts& facts, const std::string& words) {
  const Claims& c = facts.claims;
  heading(page, "promise", "The promise of differential privacy");
  page.put("<div class=\"said\">\n");
  paragraphs(page, words);
  page.put("</div>\n");
  if (c.is_void()) return;
  guess_bar(page, facts.guess);

  heading(page, "parameters", "Privacy parameters");
  page.put(
      "<p>For every two neighboring tables and every set of models, the probability that the model "
      "is in that set is for one table at most e<sup>ε</sup> times that for the other, plus δ. "
      "All pairs (ε, δ) hold at once, for {} released draw{}.</p>\n",
      c.draws, plural(c.draws));
  const Points points = points_of(c);
  trade_off_picture(page, TradeOff(c.claimed, c.epsilon, facts), points, c.epsilon);
  page.put(
      "<table><caption>Pairs (ε, δ) that this model keeps, δ rounded up</caption><thead><tr><th "
      "scope=\"col\">ε</th><th scope=\"col\">δ</th><th scope=\"col\">what</th></tr></thead>"
      "<tbody>\n");
  for (const auto& [epsilon, delta] : points) {
    page.put("<tr><td>{}</td><td>{:.4g}</td><td>{}</td></tr>\n", number(epsilon), delta,
             epsilon == c.epsilon ? "claimed" : "follows");
  }
  page.put("</tbody></table>\n");
  const Guarantee& g = c.claimed;
  const std::pair<const char*, std::pair<double, const char*>> parts[] = {
      {"μ",
       {g.mu, "of Gaussian differential privacy: telling two normals apart, μ deviations apart"}},
      {"pure", {g.pure, "what a part without δ adds to ε"}},
      {"reveal", {g.reveal, "the probability with which everything may be told"}},
      {"tv", {g.tv, "total variation to the law that the rest is about"}}};
  page.put(
      "<table class=\"meanings\"><caption>The numbers that the curve follows from: δ(ε) = H(ε − "
      "pure; μ) + reveal + "
      "(1 + e<sup>ε</sup>) tv, H that of Gaussian differential privacy</caption><thead><tr><th "
      "scope=\"col\">number</th><th scope=\"col\">value</th><th scope=\"col\">meaning</th></tr>"
      "</thead><tbody>\n");
  for (const auto& [name, rest] : parts)
    page.put("<tr><th scope=\"row\">{}</th><td>{:.6g}</td><td>{}</td></tr>\n", name, rest.first,
             rest.second);
  page.put("</tbody></table>\n");
  if (facts.sharper) {
    page.put(
        "<p class=\"note\">The bar above and the curve also use the total variation between draws "
        "from neighboring tables, which is known for this family and says more than these "
        "numbers.</p>\n");
  }
}

void unit_section(Html& page, const ReportFacts& facts) {
  const Claims& c = facts.claims;
  const std::uint64_t k = c.claimed.who.rows_per_person;
  const bool replace = c.claimed.who.adjacency == Adjacency::replace_one;
  heading(page, "unit", "Unit of privacy: who is protected, and from what not");
  if (c.is_void()) {
    page.put("<p>Nobody: the noise can be taken out again by whoever knows the seed.</p>\n");
    return;
  }
  page.put(
      "<p><strong>Protected</strong> is every person with at most {} row{} of the table. Compared "
      "are {}.</p>\n<p><strong>Not protected</strong> by it:</p>\n<ul>\n",
      k, plural(k),
      replace ? "tables of the same number of rows in which one person's rows are any others "
                "(replace-one)"
              : "the table with and without that person (add-remove)");
  page.put(
      "<li>a person with more than {} row{}: what the model may tell grows with every one</li>\n",
      k, plural(k));
  page.put(
      "<li>a secret of a group (a family, a firm, a village) that many rows share</li>\n"
      "<li>what is true of people in general: if smokers die younger the model may say so, also "
      "about people who were never in the table</li>\n"
      "<li>what is public: the schema below, the options, and the {} {}</li>\n"
      "<li>anything else that leaves the curator's hands: screen output, accuracy on the private "
      "table, run time, the table itself</li>\n"
      "<li>the sum of several releases about the same people, of which this is one</li>\n</ul>\n",
      replace ? "number of rows," : "cap on the number of rows,",
      human_count(static_cast<double>(facts.rows)));
}

void settings_table(Html& page, const json& certificate) {
  page.put(
      "<table><caption>Settings and constants, as in the file; every number is recomputed by "
      "verify</caption><thead><tr><th scope=\"col\">name</th><th scope=\"col\">value</th></tr>"
      "</thead><tbody>\n");
  for (const char* part : {"mechanism", "constants", "numerics"}) {
    for (const auto& item : certificate.at(part).items()) {
      std::string value =
          item.value().is_string() ? item.value().get<std::string>() : item.value().dump();
      if (value.size() > 120) value = value.substr(0, 100) + " … (all in the file)";
      page.put("<tr><th scope=\"row\">{}.{}</th><td>{}</td></tr>\n", part, item.key(), value);
    }
  }
  page.put("</tbody></table>\n");
}

void algorithm_section(Html& page, const ReportFacts& facts, const json& certificate,
                       const std::string& fitted) {
  heading(page, "algorithm", "Algorithm and its correctness");
  page.put("<p>{}</p>\n", fitted);
  if (!facts.claims.is_void()) page.put("<p>{}.</p>\n", facts.basis);
  page.put(
      "<p>Mechanism <strong>{}</strong>; {} in <code>{}</code> of the program's documentation. "
      "Written by gibbsite {}, backend {}.</p>\n",
      certificate.at("mechanism").at("name").get<std::string>(),
      facts.claims.is_void() ? "what it does is" : "what it guarantees is proved",
      certificate.at("theorem").get<std::string>(), facts.claims.version, facts.claims.backend);
  settings_table(page, certificate);
}

std::string or_refused(const Schema& schema, const std::string& middle) {
  return schema.invalid == Invalid::refuse ? "refused" : middle;
}

std::string range_words(const Column& c) {
  return fmt::format("{} to {}", exact(c.lo), exact(c.hi));
}

// What becomes of a cell that is missing.
std::string missing_words(const Schema& schema, const Column& c) {
  const std::string* const reads = schema.missing_in(c);
  const bool category = c.type == ColumnType::category;
  const std::string middle = "read as " + exact(c.lo / 2 + c.hi / 2) + ", the middle";
  if (reads == nullptr) {
    return "none is expected; an empty cell is " +
           or_refused(schema, category ? (c.other ? "“(other)”" : "no level") : middle);
  }
  const std::string how = reads->empty() ? "an empty cell" : "“" + *reads + "”";
  if (!category) return how + " is " + middle;
  if (schema.has_missing_level(c)) return how + " is a level of its own";
  if (std::ranges::find(c.levels, *reads) != c.levels.end()) return how + " is a listed level";
  return how + " is no level";
}

std::string unlisted_words(const Schema& schema, const Column& c) {
  if (c.type == ColumnType::category)
    return "an unlisted level is " +
           (c.other ? std::string("“(other)”") : or_refused(schema, std::string("no level")));
  return "below or above counts as the nearer end; what is no number is " +
         or_refused(schema, "read as the middle");
}

std::string levels_words(const Column& c) {
  std::string out;
  for (std::size_t k = 0; k < std::min(c.levels.size(), most_levels); ++k)
    out += (k == 0 ? "" : " · ") + c.levels[k];
  if (c.levels.size() > most_levels)
    out += fmt::format(" · and {} more (all in the file)", c.levels.size() - most_levels);
  return out;
}

bool alike(Column a, const Column& b) {
  a.name = b.name;
  return a == b;
}

void label_words(Html& page, const Schema& schema) {
  page.put("<p><strong>{}</strong> is what is predicted: ", schema.label);
  const std::string middle_class = or_refused(schema, "counted as the first of them");
  switch (schema.label_kind) {
    case LabelKind::two_classes:
      page.put("“{}”, against {}.", schema.positive,
               schema.negative.empty() ? "every other value" : "“" + schema.negative + "”");
      if (!schema.negative.empty())
        page.put(" A third value is {}.", schema.refuses_unlisted_label
                                              ? std::string("refused")
                                              : "counted as “" + schema.negative + "”");
      page.put(" A missing one is {}.",
               or_refused(schema, "counted as “" + schema.negative_name() + "”"));
      break;
    case LabelKind::classes: {
      Column listed;
      listed.levels = schema.classes;
      page.put("one of {}. One that is missing or not listed is {}.", levels_words(listed),
               middle_class);
      break;
    }
    case LabelKind::amount:
      page.put(
          "an amount from {} to {}; below or above counts as the nearer end. An error of more than "
          "{} counts as far off. What is missing or no number is {}.",
          exact(schema.label_lo), exact(schema.label_hi), exact(schema.tolerance),
          or_refused(schema, "read as the middle"));
      break;
    case LabelKind::count:
      page.put("a count from 0 to {}; above counts as that. What is missing or no count is {}.",
               exact(schema.label_hi), or_refused(schema, "read as half of it"));
      break;
  }
  page.put("</p>\n");
  if (!schema.class_weights.empty()) {
    page.put("<p>Public weights of the classes:");
    const std::vector<std::string> names = schema.class_names();
    for (std::size_t k = 0; k < names.size() && k < most_levels; ++k)
      page.put(" {} {}{}", names[k], exact(schema.class_weights[k]),
               k + 1 == names.size() ? "." : ",");
    page.put("</p>\n");
  }
}

// Where the bins of a network's number meet.
std::string bins_words(const Column& c) {
  std::string out = c.decimals == 0 ? ", whole numbers" : "";
  const std::vector<double> ends = bin_ends(c);
  if (ends.size() < 3) return out + ", one bin";
  out += ", in bins that meet at ";
  for (std::size_t k = 1; k + 1 < ends.size() && k <= most_levels; ++k)
    out += (k == 1 ? "" : " · ") + exact(ends[k]);
  if (ends.size() - 2 > most_levels)
    out += fmt::format(" · and {} more (all in the file)", ends.size() - 2 - most_levels);
  return out;
}

// has_label: of a model of rows. Else of a network, or of one column, whose numbers have no bins.
void dictionary_section(Html& page, const Schema& schema, bool has_label, bool has_bins = false) {
  heading(page, "data", "Data: the dictionary of columns");
  page.put(
      "<p>Ranges and levels are public and were written by people; none was read off the table. "
      "They are part of what is released.</p>\n");
  if (has_label) label_words(page, schema);
  page.put(
      "<table><caption>Columns in their order</caption><thead><tr><th scope=\"col\">column</th><th "
      "scope=\"col\">range or levels</th><th scope=\"col\">what becomes of other cells</th></tr>"
      "</thead><tbody>\n");
  std::size_t lines = 0;
  const auto& columns = schema.columns;
  for (std::size_t i = 0; i < columns.size();) {
    std::size_t end = i + 1;
    while (end < columns.size() && alike(columns[end], columns[i])) ++end;
    if (end - i < 4) end = i + 1;
    if (++lines > most_columns) {
      page.put("<tr><td colspan=\"3\">and {} more columns (all in the file)</td></tr>\n",
               columns.size() - i);
      break;
    }
    const Column& c = columns[i];
    const std::string name = end - i == 1 ? c.name
                                          : fmt::format("{} to {} ({} columns, all alike)", c.name,
                                                        columns[end - 1].name, end - i);
    if (c.type == ColumnType::ignore) {
      page.put("<tr><th scope=\"row\">{}</th><td>not used</td><td></td></tr>\n", name);
    } else {
      const std::string what = c.type == ColumnType::category ? levels_words(c)
                               : c.type == ColumnType::exposure
                                   ? "exposure, over which is counted: " + range_words(c)
                                   : range_words(c) + (has_bins ? bins_words(c) : "");
      page.put("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}; {}</td></tr>\n", name, what,
               missing_words(schema, c), unlisted_words(schema, c));
    }
    i = end;
  }
  page.put("</tbody></table>\n");
  if (!has_label) return;
  page.put("<p>{}</p>\n", schema.max_unclipped_norm() <= schema.row_norm
                              ? std::string("No row can be longer than the public bound ") +
                                    number(schema.row_norm) + ", so none is scaled down."
                              : "Rows longer than the public bound " + number(schema.row_norm) +
                                    " are scaled down to it, when fitting and when predicting.");
}

std::string interval_words(const LinearModel& model, const Certificate& certificate) {
  if (model.intervals) {
    return fmt::format(
        "±: {:.0f} % intervals, privacy's noise and the sample together; levels stand against "
        "their mean. Measured, not proven: of eight tables they held 83 to 100 %, of Adult 66 to "
        "78 %, of one whose columns lean on each other 40 %, of one whose classes nearly separate "
        "10 % (docs/intervals.md). Gray: the interval holds 0.",
        100 * Intervals::level);
  }
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
  switch (s.label_kind) {
    case LabelKind::amount:
      return "the prediction";
    case LabelKind::count:
      return "the log of the mean predicted" +
             std::string(s.exposure() == nullptr ? "" : " for one of the exposure");
    case LabelKind::classes:
      return "the score of the class; the largest is the likeliest, and only differences between "
             "classes count";
    case LabelKind::two_classes:
      break;
  }
  return loss_named(model.loss).link_words().empty() && !model.link
             ? "log-odds"
             : "the score from which the probability follows (model.link of the file)";
}

// Public range of the column that feature j comes from; 0: it is a level, or none.
std::vector<double> widths(const Schema& schema) {
  std::vector<double> out(schema.features(), 0.0);
  std::size_t first = 0;
  for (const Column& column : schema.columns) {
    if (column.type == ColumnType::number) out[first] = column.hi - column.lo;
    first += schema.features_of(column);
  }
  return out;
}

// A coefficient and its interval about a line at 0.
Markup interval_picture(double value, double half, double most) {
  const auto at = [&](double v) { return 45 + 42 * std::clamp(v / most, -1.0, 1.0); };
  std::string out =
      "<svg viewBox=\"0 0 90 14\" aria-hidden=\"true\"><path class=\"rule\" d=\"M45 0v14\"/>";
  if (half > 0)
    out += fmt::format("<path class=\"axis\" d=\"M{:.1f} 7H{:.1f}\"/>", at(value - half),
                       at(value + half));
  return {out +
          fmt::format("<circle class=\"dot\" cx=\"{:.1f}\" cy=\"7\" r=\"3\"/></svg>", at(value))};
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
  double most = 0;
  for (std::size_t j = 0; j < lines.values.size(); ++j)
    most = std::max(most, std::fabs(lines.values[j]) + half(j));
  most = most > 0 ? most : 1;
  page.put(
      "<table class=\"coefficients\"><caption>{}</caption><thead><tr><th scope=\"col\">of</th><th "
      "scope=\"col\">effect{}</th><th scope=\"col\" class=\"picture\">about 0</th>{}<th "
      "scope=\"col\">for one more</th></tr></thead><tbody>\n",
      std::string("Effect of a number: from the low end of its range to the high end; of a level: "
                  "where the row has it") +
          (!odds                                   ? ""
           : schema.label_kind == LabelKind::count ? "; ×: what that multiplies the mean by"
                                                   : "; ×: what that multiplies the odds by"),
      bounded ? " ±" : "",
      Markup{!odds                                   ? ""
             : schema.label_kind == LabelKind::count ? "<th scope=\"col\">mean ×</th>"
                                                     : "<th scope=\"col\">odds ×</th>"});
  for (std::size_t j = 0; j < std::min(lines.values.size(), most_lines); ++j) {
    const double value = lines.values[j];
    page.put("<tr{}><th scope=\"row\">{}</th><td>{:+.4g}{}</td><td class=\"picture\">{}</td>",
             Markup{lines.is_inside(j) ? " class=\"soft\"" : ""}, lines.names[j], value,
             bounded ? fmt::format(" ± {:.3g}", half(j)) : "",
             interval_picture(value, half(j), most));
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
  page.put("</tbody></table>\n");
  if (lines.values.size() > most_lines)
    page.put("<p>and {} more (all in the file)</p>\n", lines.values.size() - most_lines);
  const OriginalUnits units = original_units(model, model.draws.front());
  double constant = units.intercept;
  if (model.intervals) {  // levels against their mean: the baseline has taken the means up
    const double unit = schema.label_kind == LabelKind::amount ? schema.label_unit() : 1;
    constant += lines.values.back() - (schema.intercept ? unit * model.draws.front().back() : 0);
  }
  constant_words(page, units, constant, model);
}

void class_tables(Html& page, const LinearModel& model, const Certificate& certificate) {
  const Schema& schema = model.schema;
  const std::vector<std::string> names = coefficient_line_names(schema, false);
  const std::vector<double> width = widths(schema);
  const auto deviation = coefficient_noise_up(certificate.mechanism, certificate.problem);
  const double half = two_sided_95 * deviation.value_or(0);
  std::size_t left = most_lines;
  for (std::size_t k = 0; k < schema.classes.size() && left > 0; ++k) {
    const std::span<const double> theta = coefficients_of(schema, model.draws.front(), k);
    page.put("<h3>{}</h3>\n", schema.classes[k]);
    page.put(
        "<table><caption>Coefficients of the class {}{}</caption><thead><tr><th scope=\"col\">of"
        "</th><th scope=\"col\">coefficient{}</th><th scope=\"col\">for one more</th></tr></thead>"
        "<tbody>\n",
        schema.classes[k], "", deviation ? fmt::format(" ± {:.3g}", half) : "");
    for (std::size_t j = 0; j < theta.size() && left > 0; ++j, --left) {
      page.put("<tr{}><th scope=\"row\">{}</th><td>{:+.4g}</td><td>{}</td></tr>\n",
               Markup{deviation && std::fabs(theta[j]) <= half ? " class=\"soft\"" : ""}, names[j],
               theta[j], width[j] > 0 ? fmt::format("{:+.4g}", theta[j] / width[j]) : "");
    }
    page.put("</tbody></table>\n");
    const OriginalUnits units = original_units(model, theta);
    constant_words(page, units, units.intercept, model);
  }
  const std::size_t all = names.size() * schema.classes.size();
  if (all > most_lines)
    page.put("<p>{} of {} coefficients are shown; all are in the file.</p>\n", most_lines, all);
}

void coefficients_section(Html& page, const LinearModel& model, const Certificate& certificate) {
  heading(page, "utility", "Utility: the coefficients and how sure they are");
  const Schema& schema = model.schema;
  if (model.draws.size() > 1)
    page.put("<p>Of the first of {} draws; predictions average over all.</p>\n",
             model.draws.size());
  switch (schema.label_kind) {
    case LabelKind::two_classes:
      page.put("<p>Above 0 speaks for {} = {}.</p>\n", schema.label, schema.positive);
      break;
    case LabelKind::amount:
      page.put("<p>A prediction of {} is {} plus what they add.</p>\n", schema.label,
               number(schema.label_middle()));
      break;
    case LabelKind::count:
      page.put("<p>Above 0 speaks for more {}.</p>\n", schema.label);
      break;
    case LabelKind::classes:
      page.put(
          "<p>By {}: the class that they add up to most for is the likeliest; only differences "
          "between classes count.</p>\n",
          schema.label);
      break;
  }
  if (schema.label_kind == LabelKind::classes) {
    class_tables(page, model, certificate);
  } else {
    one_output_table(page, model, certificate);
  }
  page.put("<p class=\"note\">{}</p>\n", interval_words(model, certificate));
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
  page.put("<p class=\"note\">{}</p>\n",
           p.trim ? "Mean and quantiles of the draws: their posterior is as flat as a record's "
                    "weight makes it."
                  : "Of the people that the table is a sample of; noise and sample are both in the "
                    "interval.");
}

// As much of a name as a box holds, whole signs of UTF-8.
std::string cut(const std::string& name, std::size_t most) {
  std::string out;
  std::size_t signs = 0;
  for (const char c : name) {
    const bool begins = (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    if (begins && signs == most) return out + "…";
    signs += begins ? 1 : 0;
    out += c;
  }
  return out;
}

// Columns in lines below all that they depend on, four to a line, with an arrow from each parent.
void graph_picture(Html& page, const NetworkModel& model) {
  constexpr std::size_t to_a_line = 4;
  constexpr double wide = 104, high = 24, step = 112, down = 62, top = 6;
  const Network& network = model.network;
  const std::vector<std::string> names = model.names();
  std::vector<std::size_t> depth(network.size());
  std::size_t deepest = 0;
  for (const std::uint32_t node : network.order()) {
    for (const std::uint32_t parent : network.parents[node])
      depth[node] = std::max(depth[node], depth[parent] + 1);
    deepest = std::max(deepest, depth[node]);
  }
  std::vector<std::pair<double, double>> at(network.size());  // middle, top
  double y = top;
  for (std::size_t level = 0; level <= deepest; ++level) {
    std::vector<std::size_t> of_level;
    for (std::size_t k = 0; k < network.size(); ++k)
      if (depth[k] == level) of_level.push_back(k);
    for (std::size_t first = 0; first < of_level.size(); first += to_a_line, y += down) {
      const std::size_t count = std::min(to_a_line, of_level.size() - first);
      const double left = step * static_cast<double>(to_a_line - count) / 2;
      for (std::size_t i = 0; i < count; ++i)
        at[of_level[first + i]] = {left + step * (static_cast<double>(i) + 0.5), y};
    }
  }
  page.put(
      "<figure><svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"Graph of {} columns: an arrow "
      "goes from a column to each that depends on it\">\n",
      step * to_a_line, y - down + high + top, network.size());
  for (std::size_t k = 0; k < network.size(); ++k) {
    for (const std::uint32_t parent : network.parents[k]) {
      page.put("<path class=\"axis\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>\n", at[parent].first,
               at[parent].second + high, at[k].first, at[k].second - 6);
      page.put("<path class=\"full\" d=\"M{:.1f} {:.1f}l-4 -8h8z\"/>\n", at[k].first, at[k].second);
    }
  }
  for (std::size_t k = 0; k < network.size(); ++k) {
    page.put("<rect class=\"track\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\"/>\n",
             at[k].first - wide / 2, at[k].second, wide, high);
    page.put("<text class=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", at[k].first,
             at[k].second + 16, cut(names[k], 14));
  }
  page.put(
      "</svg><figcaption>What the network lets depend on what; each table names it too. It is part "
      "of what is released.</figcaption></figure>\n");
}

// A network's names, made once.
struct Names {
  explicit Names(const NetworkModel& model) : columns(model.names()) {
    for (std::size_t k = 0; k < columns.size(); ++k) levels.push_back(model.level_names(k));
  }
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> levels;
};

// Parents' levels of a configuration, the last parent's fastest.
std::string given_words(const Network& network, const Names& names, std::size_t node,
                        std::uint64_t configuration) {
  const auto& parents = network.parents[node];
  if (parents.empty()) return "everybody";
  std::vector<std::string> said(parents.size());
  for (std::size_t i = parents.size(); i-- > 0;) {
    const std::uint32_t parent = parents[i];
    said[i] = fmt::format("{} = {}", names.columns[parent],
                          names.levels[parent][configuration % network.levels[parent]]);
    configuration /= network.levels[parent];
  }
  return fmt::format("{}", fmt::join(said, ", "));
}

void node_table(Html& page, const NetworkModel& model, const Names& names, std::size_t node) {
  constexpr std::size_t most_wide = 6;  // levels that are columns; else they are a list
  const std::vector<std::string>& levels = names.levels[node];
  const bool wide = levels.size() <= most_wide;
  page.put(
      "<table><caption>Shares of {} in percent{}</caption><thead><tr><th scope=\"col\">of</th>",
      names.columns[node],
      model.noise.empty() ? ""
                          : fmt::format("; counts of people are off by up to {:.3g}, 95 % of "
                                        "the time",
                                        two_sided_95 * model.noise[node]));
  if (wide) {
    for (const std::string& level : levels) page.put("<th scope=\"col\">{}</th>", level);
  } else {
    page.put("<th scope=\"col\">{}</th>", "levels");
  }
  page.put("</tr></thead><tbody>\n");
  const std::uint64_t all = model.network.configurations(node);
  for (std::uint64_t c = 0; c < std::min<std::uint64_t>(all, most_given); ++c) {
    page.put("<tr><th scope=\"row\">{}</th>", given_words(model.network, names, node, c));
    std::string list;
    std::size_t listed = 0;
    for (std::size_t l = 0; l < levels.size(); ++l) {
      double share = 0;
      for (const auto& draw : model.tables) share += draw[node][c * levels.size() + l];
      share *= 100 / static_cast<double>(model.tables.size());
      if (wide) {
        page.put("<td>{:.3g}</td>", share);
      } else if (share > 0 && ++listed <= most_levels) {
        list += fmt::format("{}{} {:.3g}", list.empty() ? "" : " · ", levels[l], share);
      }
    }
    if (listed > most_levels)
      list += fmt::format(" · and {} more (all in the file)", listed - most_levels);
    if (listed < levels.size()) list += fmt::format(" · the other {} 0", levels.size() - listed);
    if (!wide) page.put("<td>{}</td>", list);
    page.put("</tr>\n");
  }
  page.put("</tbody></table>\n");
  if (all > most_given)
    page.put("<p>{} of {} lines are shown; all are in the file.</p>\n", most_given,
             human_count(static_cast<double>(all)));
}

void tables_section(Html& page, const NetworkModel& model) {
  heading(page, "utility", "Utility: the tables and how sure they are");
  const std::vector<std::uint32_t> order = model.network.order();
  const Names names(model);
  if (order.size() <= most_drawn) graph_picture(page, model);
  if (model.tables.size() > 1)
    page.put("<p>Shares are averages over {} draws; the file has each.</p>\n", model.tables.size());
  for (std::size_t i = 0; i < std::min(order.size(), most_tables); ++i)
    node_table(page, model, names, order[i]);
  if (order.size() > most_tables)
    page.put("<p>Tables of {} of {} columns are shown; all are in the file.</p>\n", most_tables,
             order.size());
  page.put(
      "<p class=\"note\">A share is that of a count by the count of its line: of a line that few "
      "people are in it is mostly noise. How near the tables are to the private one is not said "
      "here: that would read it again, and no guarantee covers it.</p>\n<h3>Questions one can "
      "ask</h3>\n<p>Any of this form, and tables of people who never lived; neither reads a row, "
      "so they cost no privacy, however many:</p>\n");
  const std::uint32_t asked = order.back();
  std::string question = names.columns[asked] + " = " + names.levels[asked].front();
  if (!model.network.parents[asked].empty()) {
    const std::uint32_t parent = model.network.parents[asked].front();
    question += " | " + names.columns[parent] + " = " + names.levels[parent].front();
  }
  page.put(
      "<pre>gibbsite query --model model.json \"P({})\"\ngibbsite synthesize --model model.json "
      "--rows 1000 --out people.csv</pre>\n",
      question);
}

constexpr const char* who_is_missing =
    "<li>Differential privacy corrects nothing of how people came into the table: who is missing "
    "there is missing here.</li>\n</ul>\n";

void network_bias_section(Html& page, bool counted) {
  heading(page, "bias", "Bias");
  page.put(
      "<ul>\n<li>Cells outside of their range, unlisted levels and missing cells were changed by "
      "the rules of the dictionary; of numbers only the bin is known.</li>\n<li>{}: small groups "
      "are described worst.</li>\n<li>What two columns share beyond what the arrows carry is lost: "
      "a difference between groups may be missing here.</li>\n{}",
      counted
          ? "The noise is as large in a count of few people as in one of many, and the tables may "
            "say that there is nobody where somebody was"
          : "The prior and what was cut pull shares toward each other, small ones most",
      Markup{who_is_missing});
}

void bias_section(Html& page, bool linear) {
  heading(page, "bias", "Bias");
  page.put("<ul>\n");
  if (linear) {
    page.put(
        "<li>Cells outside of their range, unlisted levels, missing cells and long rows were "
        "changed by the rules of the dictionary; people to whom that happens more often are "
        "described worse.</li>\n<li>A prior and the noise pull coefficients toward 0, those of "
        "rare levels most: small groups are described worst.</li>\n");
  } else {
    page.put(
        "<li>Cells outside of the range, unlisted levels and missing cells were changed by the "
        "rules of the dictionary.</li>\n<li>The prior pulls shares and means toward the middle of "
        "what they can be, small ones most.</li>\n");
  }
  page.put("{}", Markup{who_is_missing});
}

void checklist_section(Html& page, const json& certificate, const Claims& claims) {
  heading(page, "assumptions", "Deployment and trust: what to check and sign");
  if (claims.is_void()) {
    page.put("<p>Nothing: no assumption makes a guarantee of a void model.</p>\n");
    return;
  }
  page.put(
      "<p>No program can check what follows. The guarantee holds where all of it is true; whoever "
      "publishes the model ticks each line and signs.</p>\n<h3>Assumptions of the "
      "certificate</h3>\n"
      "<ul class=\"list\">\n");
  std::size_t i = 0;
  const auto line = [&](const std::string& text, bool blank) {
    ++i;
    page.put("<li><input type=\"checkbox\" id=\"a{}\"><label for=\"a{}\">{}</label>{}</li>\n", i, i,
             text, Markup{blank ? "<span class=\"blank\">&nbsp;</span>" : ""});
  };
  for (const json& one : certificate.at("assumptions")) line(one.get<std::string>(), false);
  page.put("</ul>\n<h3>Who and from which source</h3>\n<ul class=\"list\">\n");
  line(
      "Who chose the ranges, levels, classes and the bound on rows, and from which source (a "
      "codebook, a form, a law), without looking at the table:",
      true);
  line("Who chose ε, δ and the options, when, and for what reason:", true);
  line(fmt::format("How it was made sure that one person has at most {} row{}:",
                   claims.claimed.who.rows_per_person, plural(claims.claimed.who.rows_per_person)),
       true);
  line("Which other releases about these people there are, and where they are counted (a ledger):",
       true);
  page.put(
      "</ul>\n<h3>Trust model and queries</h3>\n<p>The central model: the noise was drawn where "
      "the whole table is. One release: what is asked of the file later reads no row.</p>\n<ul "
      "class=\"list\">\n");
  line("Who ran the program on the table, and is trusted with all of it:", true);
  page.put("</ul>\n<h3>Side channels</h3>\n<ul class=\"list\">\n");
  line(
      "Who could see how long the run took, its error messages or what else shared its machine, "
      "and why that told nobody about a person:",
      true);
  page.put("</ul>\n<h3>Data security and access control</h3>\n<ul class=\"list\">\n");
  line(
      "Who may read the table, screen output, logs, checkpoints and caches, and how they are kept:",
      true);
  page.put("</ul>\n<h3>Data collection exposure</h3>\n<ul class=\"list\">\n");
  line("How the data were collected, who saw them on the way, and when they will be deleted:",
       true);
  page.put(
      "</ul>\n<div class=\"sign\"><p>Name<span class=\"blank\">&nbsp;</span></p><p>Role<span "
      "class=\"blank\">&nbsp;</span></p><p>Date<span "
      "class=\"blank\">&nbsp;</span></p><p>Signature<span "
      "class=\"blank\">&nbsp;</span></p></div>\n");
}

void verify_section(Html& page, const std::string& text, const json& certificate, bool is_void) {
  heading(page, "verify", "How to verify this page");
  page.put(
      "<p>This page was made from the model file alone. Anybody can make it again, to the same "
      "bytes, and recompute the guarantee from the public numbers:</p>\n<pre>gibbsite verify "
      "model.json\ngibbsite report model.json --out report.html\nb2sum -l 256 model.json</pre>\n"
      "<p>The last prints the digest (BLAKE2b-256) of the file's bytes:</p>\n<pre>{}</pre>\n"
      "<p>In the file, <code>certificate.digest</code>, of its contents:</p>\n<pre>{}</pre>\n",
      digest_of(text), certificate.at("digest").get<std::string>());
  page.put("<p>{}</p>\n", is_void ? "When this page was made everything verified but that there is "
                                    "no guarantee."
                                  : "When this page was made the certificate verified.");
  page.put(
      "<p class=\"note\">A digest is no signature: it says which file this page is about, not who "
      "made it. What cannot be verified is whether the program ran, which noise it used, and the "
      "assumptions above.</p>\n<h3>Sources</h3>\n<ul class=\"note\">\n<li>Headings follow the "
      "subjects of J. Near, D. Darais, N. Lefkovitz, G. Howarth: Guidelines for Evaluating "
      "Differential Privacy Guarantees, NIST SP 800-226, March 2025, <a "
      "href=\"https://doi.org/10.6028/NIST.SP.800-226\">doi.org/10.6028/NIST.SP.800-226</a>. This "
      "page is no assessment by NIST, and the dictionary of columns and this section are its "
      "own.</li>\n<li>The curve: J. Dong, A. Roth, W. Su: Gaussian "
      "Differential Privacy, Journal of the Royal Statistical Society B 84 (2022).</li>\n</ul>\n");
}

void title_block(Html& page, const std::string& title, const std::string& what,
                 const ReportFacts& facts) {
  open_page(page, (facts.claims.is_void() ? "Void. " : "") + title);
  if (facts.claims.is_void()) void_line(page);
  page.put("<h1>{}</h1>\n<p>{}</p>\n", title, what);
}

std::string report_of(const Release& release, const json& file, const std::string& text) {
  const LinearModel& model = release.model();
  const Certificate& c = release.certificate();
  const json certificate = to_json(c);  // of a file of version 1 too, by today's names
  ReportFacts facts{.claims = c, .rows = c.problem.rows, .basis = basis_of(c.mechanism)};
  if (!c.is_void()) facts.guess = best_guess_percent(c.claimed);
  Html page;
  const std::size_t used = static_cast<std::size_t>(std::ranges::count_if(
      model.schema.columns, [](const Column& one) { return one.type != ColumnType::ignore; }));
  title_block(page, "Privacy report: a model of " + model.schema.label,
              fmt::format("A linear model that predicts {} from {} column{}, fitted on a private "
                          "table of {}{} rows.",
                          model.schema.label, used, plural(used),
                          c.claimed.who.adjacency == Adjacency::replace_one ? "" : "at most ",
                          human_count(static_cast<double>(c.problem.rows))),
              facts);
  guarantee_sections(page, facts, in_words(c));
  unit_section(page, facts);
  algorithm_section(
      page, facts, certificate,
      fmt::format("Loss {}, {} coefficient{}, {} draw{}.", model.loss, c.problem.features,
                  plural(c.problem.features), c.draws, plural(c.draws)));
  coefficients_section(page, model, c);
  bias_section(page, true);
  dictionary_section(page, model.schema, true);
  checklist_section(page, certificate, c);
  verify_section(page, text, file.at("certificate"), c.is_void());
  return closed(page);
}

std::string report_of(const FamilyRelease& release, const json& file, const std::string& text) {
  const FamilyCertificate& c = release.certificate();
  const FamilyModel& model = release.model();
  ReportFacts facts{.claims = c, .rows = c.problem.rows, .basis = basis_of(c.mechanism, c.problem)};
  if (!c.is_void()) {
    facts.guess = best_guess_percent(c.mechanism, c.problem, c.claimed, c.draws);
    facts.sharper = facts.guess < best_guess_percent(c.claimed);
  }
  Html page;
  title_block(page, "Privacy report: " + model.column(),
              fmt::format("Draws of the parameters of {}, {}, from a private table of {}{} rows.",
                          model.column(), std::string(to_string(model.family)),
                          c.claimed.who.adjacency == Adjacency::replace_one ? "" : "at most ",
                          human_count(static_cast<double>(c.problem.rows))),
              facts);
  guarantee_sections(page, facts, in_words(c));
  unit_section(page, facts);
  algorithm_section(
      page, facts, file.at("certificate"),
      fmt::format("Family {}, {} draw{}.", to_string(model.family), c.draws, plural(c.draws)));
  estimates_section(page, release);
  bias_section(page, false);
  dictionary_section(page, model.schema, false);
  checklist_section(page, file.at("certificate"), c);
  verify_section(page, text, file.at("certificate"), c.is_void());
  return closed(page);
}

std::string report_of(const NetworkRelease& release, const json& file, const std::string& text) {
  const NetworkCertificate& c = release.certificate();
  const NetworkModel& model = release.model();
  ReportFacts facts{.claims = c, .rows = c.problem.rows, .basis = basis_of(c.mechanism, c.problem)};
  if (!c.is_void()) facts.guess = best_guess_percent(c.claimed);
  std::uint64_t cells = 0;
  for (std::size_t k = 0; k < model.network.size(); ++k) cells += model.network.cells(k);
  Html page;
  const std::string columns =
      fmt::format("{} column{}", model.network.size(), plural(model.network.size()));
  title_block(
      page, "Privacy report: a network of " + columns,
      fmt::format("Tables of a discrete Bayesian network over {} of a private table of {}{} "
                  "rows: the share of each level, given those that it depends on.",
                  columns, c.claimed.who.adjacency == Adjacency::replace_one ? "" : "at most ",
                  human_count(static_cast<double>(c.problem.rows))),
      facts);
  guarantee_sections(page, facts, in_words(c));
  unit_section(page, facts);
  algorithm_section(page, facts, file.at("certificate"),
                    fmt::format("{} cells, {} draw{}; what depends on what was {}.",
                                human_count(static_cast<double>(cells)), c.draws, plural(c.draws),
                                c.problem.chooses_structure()
                                    ? "chosen from the table, which the guarantee covers"
                                    : "written by people"));
  tables_section(page, model);
  network_bias_section(page, !model.noise.empty());
  dictionary_section(page, model.schema, false, true);
  checklist_section(page, file.at("certificate"), c);
  verify_section(page, text, file.at("certificate"), c.is_void());
  return closed(page);
}

}  // namespace

// A void file has one failure: that it is void.
void require_verified(const json& file, const std::string& source) {
  const Verification found = verify(file);
  const std::size_t allowed = found.void_run ? 1 : 0;
  if (found.failures.size() <= allowed) return;
  const bool second = found.void_run && found.failures.front().starts_with("guarantee: void");
  throw Infeasible(fmt::format(
      "{}: NOT VALID: {}; there is no report of a file whose certificate does not verify "
      "(verifying it says what does not hold)",
      source, shown(found.failures[second ? 1 : 0])));
}

std::string html_report(const std::string& text, const std::string& source) {
  const json file = parse_release_json(text, source);
  require_verified(file, source);
  if (is_of_family(file.at("certificate")))
    return report_of(parse_family(text, source), file, text);
  if (is_of_network(file.at("certificate")))
    return report_of(parse_network(text, source), file, text);
  return report_of(parse_release(text, source), file, text);
}

std::string read_html_report(const std::string& path) { return html_report(text_of(path), path); }

}  // namespace gibbsite
