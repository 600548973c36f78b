// The page's sections on the guarantee: what it promises, whom it protects, how it comes about.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "gibbsite/core/human_count.hpp"
#include "gibbsite/core/rounded_text.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/privacy/guarantee.hpp"
#include "release/page.hpp"
#include "release/report_parts.hpp"

namespace gibbsite {
namespace {

using nlohmann::json;

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
void guess_bar(Html& page, double guess, bool of_people) {
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
      "</svg><figcaption>How often somebody who knows {} is right about one person, at even odds: 50 "
      "% without the model, at most {} with it. Below: what that may learn.</figcaption></figure>\n",
      std::string(of_people ? "all rows of everybody else" : "every other row"), percent(guess));
}

// The least rate of misses beside a rate of false alarms, over all tests of one person's data
// (Dong, Roth, Su 2022): lines 1 - delta - e^epsilon a and their mirrors, each of which holds. So
// the curve is nowhere above the true one.
class TradeOff {
 public:
  TradeOff(const Guarantee& g, double claimed_epsilon, const ReportFacts& facts) : g_(g) {
    add(claimed_epsilon);
    add(g.epsilon0);
    if (g.mu > 0) {
      constexpr int lines = 40;
      for (int k = 1; k <= lines; ++k) {
        const double z = g.mu / 2 + 5.0 * k / lines;
        add(g.epsilon0 + g.mu * (z - g.mu / 2));
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
    return std::erfc((g_.mu / 2 + (epsilon - g_.epsilon0) / g_.mu) / std::sqrt(2.0)) / 2;
  }

 private:
  void add(double epsilon) {
    if (epsilon <= 700) lines_.emplace_back(epsilon, delta_up(g_, epsilon));
  }

  Guarantee g_;
  std::vector<std::pair<double, double>> lines_;  // epsilon, delta
};

using Points = std::vector<std::pair<double, double>>;  // epsilon, delta

// Points of the claim, and of parts and multiples of its epsilon.
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
               Markup{claim ? " class=\"strong\"" : ""}, x(a) + 10, line,
               "ε = " + text_up(epsilon, 5));
    }
  }
  plot.names(page, "false alarms", "misses", SquarePlot::top + SquarePlot::side / 4);
  page.put(
      "</svg><figcaption>Whoever tests whether a person's data were in the table errs in two ways. "
      "No test lies in the shaded region: with so many false alarms it misses at least what the "
      "curve says. Dashed: a test that has not seen the model. Dots: what the (ε, δ) below say."
      "</figcaption></figure>\n");
}

}  // namespace

void promise_section(Html& page, const ReportFacts& facts, const std::string& words) {
  heading(page, "promise", "The promise of differential privacy");
  page.put("<div class=\"said\">\n");
  paragraphs(page, words);
  page.put("</div>\n");
  if (!facts.claims.is_void()) guess_bar(page, facts.guess, facts.claims.people);
}

void parameters_section(Html& page, const ReportFacts& facts) {
  const Claims& c = facts.claims;
  if (c.is_void()) return;
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
    page.put("<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n", text_up(epsilon, 5), text_up(delta),
             epsilon == c.epsilon ? "claimed" : "follows");
  }
  page.put("</tbody></table>\n");
  const Guarantee& g = c.claimed;
  const std::pair<const char*, std::pair<double, const char*>> parts[] = {
      {"μ",
       {g.mu, "of Gaussian differential privacy: telling two normals apart, μ deviations apart"}},
      {"pure", {g.epsilon0, "what a part without δ adds to ε"}},
      {"reveal", {g.delta0, "the probability with which everything may be told"}},
      {"tv", {g.tv, "total variation to the law that the rest is about"}}};
  page.put(
      "<table class=\"meanings\"><caption>The numbers that the curve follows from: δ(ε) = H(ε − "
      "pure; μ) + reveal + "
      "(1 + e<sup>ε</sup>) tv, H that of Gaussian differential privacy</caption><thead><tr><th "
      "scope=\"col\">number</th><th scope=\"col\">value</th><th scope=\"col\">meaning</th></tr>"
      "</thead><tbody>\n");
  for (const auto& [name, rest] : parts)
    page.put("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td></tr>\n", name,
             text_up(rest.first, 6), rest.second);
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
  if (c.people) {
    page.put(
        "<p><strong>Protected</strong> is every person, whatever their number of rows, which count "
        "as at most {} together. Compared are {}.</p>\n<p><strong>Not protected</strong> by "
        "it:</p>\n<ul>\n<li>a person with several ids</li>\n",
        k,
        replace
            ? "tables of the same number of people in which one person's rows are any others, any "
              "number of them (replace-one)"
            : "the table with and without that person (add-remove)");
  } else {
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
  }
  page.put(
      "<li>a secret of a group (a family, a firm, a village) that many rows share</li>\n"
      "<li>what is true of people in general: if smokers die younger the model may say so, also "
      "about people who were never in the table</li>\n"
      "<li>what is public: the schema below, the options, and the {} {}</li>\n"
      "<li>anything else that leaves the curator's hands: screen output, accuracy on the private "
      "table, run time, the table itself</li>\n"
      "<li>the sum of several releases about the same people, of which this is one</li>\n</ul>\n",
      c.people  ? replace ? "number of people," : "cap on the number of people,"
      : replace ? "number of rows,"
                : "cap on the number of rows,",
      human_count(static_cast<double>(facts.rows)));
}

namespace {

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

}  // namespace

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
      with_paths_of_pages(certificate.at("theorem").get<std::string>()), facts.claims.version,
      facts.claims.backend);
  settings_table(page, certificate);
}

}  // namespace gibbsite
