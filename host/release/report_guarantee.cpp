// What the page says of the guarantee: what it promises, whom it protects, how it comes about.
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
void guess_bar(Html& page, double guess, const Markup& caption) {
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
  end_figure(page, caption);
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

void trade_off_picture(Html& page, const ReportFacts& facts, const Markup& caption) {
  const double claimed = facts.claims.epsilon;
  const TradeOff curve(facts.claims.claimed, claimed, facts);
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
    for (const auto& [epsilon, delta] : points_of(facts.claims)) {
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
  end_figure(page, caption);
}

void pairs_table(Html& page, const Claims& claims, const Markup& caption) {
  page.put(
      "<table><caption>{}</caption><thead><tr><th scope=\"col\">ε</th><th scope=\"col\">δ</th><th "
      "scope=\"col\">what</th></tr></thead><tbody>\n",
      caption);
  for (const auto& [epsilon, delta] : points_of(claims)) {
    page.put("<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n", text_up(epsilon, 5), text_up(delta),
             epsilon == claims.epsilon ? "claimed" : "follows");
  }
  page.put("</tbody></table>\n");
}

void numbers_table(Html& page, const Guarantee& g, const Markup& caption) {
  const std::pair<const char*, std::pair<double, const char*>> parts[] = {
      {"μ",
       {g.mu, "of Gaussian differential privacy: telling two normals apart, μ deviations apart"}},
      {"pure", {g.epsilon0, "what a part without δ adds to ε"}},
      {"reveal", {g.delta0, "the probability with which everything may be told"}},
      {"tv", {g.tv, "total variation to the law that the rest is about"}}};
  page.put(
      "<table class=\"meanings\"><caption>{}</caption><thead><tr><th scope=\"col\">number</th><th "
      "scope=\"col\">value</th><th scope=\"col\">meaning</th></tr></thead><tbody>\n",
      caption);
  for (const auto& [name, rest] : parts)
    page.put("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td></tr>\n", name,
             text_up(rest.first, 6), rest.second);
  page.put("</tbody></table>\n");
}

void settings_table(Html& page, const json& certificate, const Markup& caption) {
  page.put(
      "<table><caption>{}</caption><thead><tr><th scope=\"col\">name</th><th "
      "scope=\"col\">value</th></tr></thead><tbody>\n",
      caption);
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

void add_guarantee(PageFacts& page, const ReportFacts& facts, const json& certificate,
                   const std::string& words) {
  const Claims& c = facts.claims;
  const std::uint64_t k = c.claimed.who.rows_per_person;
  page.conditions.insert({{"void", c.is_void()},
                          {"people", c.people},
                          {"replace_one", c.claimed.who.adjacency == Adjacency::replace_one},
                          {"one_row", k == 1},
                          {"one_draw", c.draws == 1},
                          {"sharper", facts.sharper}});
  page.texts.insert({{"rows", human_count(static_cast<double>(facts.rows))},
                     {"rows_of_each", fmt::format("{}", k)},
                     {"draws", fmt::format("{}", c.draws)},
                     {"guess", percent(facts.guess)},
                     {"basis", facts.basis},
                     {"mechanism", certificate.at("mechanism").at("name").get<std::string>()},
                     {"theorem", with_paths_of_pages(certificate.at("theorem").get<std::string>())},
                     {"version", c.version},
                     {"backend", c.backend}});
  auto& assumptions = page.lists["assumptions"];
  for (const json& one : certificate.at("assumptions"))
    assumptions.push_back(with_paths_of_pages(one.get<std::string>()));
  page.parts["promise"] = [words](Html& to, const Markup&) {
    to.put("<div class=\"said\">\n");
    paragraphs(to, words);
    to.put("</div>\n");
  };
  page.parts["settings"] = [&certificate](Html& to, const Markup& caption) {
    settings_table(to, certificate, caption);
  };
  if (c.is_void()) return;
  page.parts["guess_bar"] = [&facts](Html& to, const Markup& caption) {
    guess_bar(to, facts.guess, caption);
  };
  page.parts["trade_off"] = [&facts](Html& to, const Markup& caption) {
    trade_off_picture(to, facts, caption);
  };
  page.parts["pairs"] = [&c](Html& to, const Markup& caption) { pairs_table(to, c, caption); };
  page.parts["guarantee_numbers"] = [&c](Html& to, const Markup& caption) {
    numbers_table(to, c.claimed, caption);
  };
}

}  // namespace gibbsite
