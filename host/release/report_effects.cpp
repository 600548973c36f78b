// The page's effects of a model that has estimates: numbers and a forest plot, the surest first.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "gibbsite/release/effects.hpp"
#include "gibbsite/release/joint_test.hpp"
#include "release/forest.hpp"
#include "release/page.hpp"
#include "release/report_parts.hpp"

namespace gibbsite {
namespace {

constexpr std::size_t most_effects = 1000;  // that are listed

std::string interval_text(const EffectEstimate& of) {
  return fmt::format("{:+.3g} ({:.3g} to {:.3g})", of.estimate, of.lower, of.upper);
}

std::string ratio_text(const EffectEstimate& of, int digits = 3) {
  return fmt::format("{:.{}g} ({:.{}g} to {:.{}g})", std::exp(of.estimate), digits,
                     std::exp(of.lower), digits, std::exp(of.upper), digits);
}

// What one more of a number does, or how a level stands to the reference level.
std::string beside(const EffectTable& table, const Effect& effect) {
  // A unit may move a ratio little, so it has more digits.
  const auto text = [&](const EffectEstimate& of, int digits = 3) {
    return table.ratio.empty() ? interval_text(of) : ratio_text(of, digits);
  };
  if (effect.is_reference()) return "reference level";
  if (effect.per_unit) {
    const auto [of, unit] = shown_per_unit(effect);
    return fmt::format("{} a {}", text(of, 5), unit);
  }
  if (!effect.against_reference) return "";
  return fmt::format("{} against {}{}", text(*effect.against_reference), effect.reference,
                     effect.against_reference->hidden ? ", hidden by noise" : "");
}

void table_of(Html& page, const Schema& schema, const EffectTable& table, const Markup& caption,
              std::size_t& left) {
  std::vector<Whisker> whiskers, known;
  for (const Effect& one : table.effects) {
    whiskers.push_back({one.effect.lower, one.effect.estimate, one.effect.upper});
    if (!one.effect.hidden && !one.is_constant()) known.push_back(whiskers.back());
  }
  // What noise hides has intervals so wide that nothing else could be told on their scale.
  const Forest forest(known.empty() ? whiskers : known, !table.ratio.empty());
  const std::string ratio_head =
      table.ratio.empty() ? "" : fmt::format("<th scope=\"col\">{} (95 %)</th>", table.ratio);
  page.put(
      "<table class=\"effects\"><caption>{}</caption><thead><tr><th scope=\"col\">effect</th><th "
      "scope=\"col\">estimate (95 % confidence interval)</th>{}<th scope=\"col\" "
      "class=\"picture\">{}{}</th><th scope=\"col\">p-value</th><th scope=\"col\">per unit, or "
      "against the reference level</th></tr></thead><tbody>\n",
      caption, Markup{ratio_head}, table.ratio.empty() ? table.unit : table.ratio, forest.axis());
  for (const std::size_t i : table.by_certainty()) {
    if (left == 0) break;
    --left;
    const Effect& effect = table.effects[i];
    const bool hidden = effect.effect.hidden && !effect.is_constant();
    page.put(
        "<tr{}><th scope=\"row\">{}{}</th><td>{}</td>{}<td class=\"picture\">{}</td><td>{}"
        "</td><td>{}</td></tr>\n",
        Markup{hidden ? " class=\"soft\"" : ""}, shown_name(schema, effect),
        std::string(hidden ? " – hidden by noise" : "") +
            (effect.effect.collinear && !effect.is_constant()
                 ? fmt::format(" – {}", collinear_meaning)
                 : ""),
        interval_text(effect.effect),
        Markup{table.ratio.empty() ? "" : fmt::format("<td>{}</td>", ratio_text(effect.effect))},
        forest.row(whiskers[i]), effect.is_constant() ? "" : p_value_text(effect.effect.p_value),
        beside(table, effect));
  }
  page.put(
      "<tr><th scope=\"row\"></th><td></td>{}<td class=\"picture\">{}</td><td></td><td></td></tr>\n",
      Markup{table.ratio.empty() ? "" : "<td></td>"}, forest.foot());
  page.put("</tbody></table>\n");
}

// What tests say of whole columns.
void column_table(Html& page, const LinearModel& model) {
  const std::vector<ColumnTest> tests = tests_of_levels(model);
  if (tests.empty()) return;
  page.put(
      "<table><caption>Whole columns: {}</caption><thead><tr><th scope=\"col\">column</th><th "
      "scope=\"col\">hypothesis</th><th scope=\"col\">chi squared</th><th scope=\"col\">degrees of "
      "freedom</th><th scope=\"col\">p-value</th></tr></thead><tbody>\n",
      column_test_meaning);
  for (const auto& [column, hypothesis, levels, test] : tests)
    page.put("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
             column, hypothesis, fmt::format("{:.3g}", test.statistic), test.degrees,
             p_value_text(test.p_value));
  page.put("</tbody></table>\n");
}

// One table, or one for each of several classes.
void effects_tables(Html& page, const LinearModel& model, const Markup& caption) {
  const EffectTable all = effect_table(model);
  std::size_t left = most_effects;
  if (!all.has_classes) {
    table_of(page, model.schema, all, caption, left);
  } else {
    for (const std::string& name : class_names(model.schema.label)) {
      if (left == 0) break;
      EffectTable one = all;
      std::erase_if(one.effects, [&](const Effect& effect) { return effect.of_class != name; });
      page.put("<h3>{}</h3>\n", name);
      table_of(page, model.schema, one, caption, left);
    }
  }
  if (all.effects.size() > most_effects)
    page.put("<p>and {} more (all in the file)</p>\n", all.effects.size() - most_effects);
  column_table(page, model);
}

}  // namespace

void add_effects(PageFacts& page, const LinearModel& model, std::uint64_t rows_per_person) {
  const EffectTable table = effect_table(model);
  page.conditions["ratios"] = !table.ratio.empty();
  page.conditions["hidden_effects"] = table.hidden() > 0;
  page.texts.insert(
      {{"unit", table.unit},
       {"hidden_effects", fmt::format("{}", table.hidden())},
       {"all_effects",
        fmt::format("{}", std::ranges::count_if(table.effects,
                                                [](const Effect& e) { return !e.is_constant(); }))},
       {"interval_words", interval_meaning_of(model, rows_per_person)}});
  page.parts["effects_tables"] = [&model](Html& to, const Markup& caption) {
    effects_tables(to, model, caption);
  };
}

}  // namespace gibbsite
