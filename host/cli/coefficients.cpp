#include "coefficients.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "gibbsite/core/overloaded.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/mechanism/mechanism.hpp"
#include "gibbsite/release/coefficients.hpp"
#include "gibbsite/release/joint_test.hpp"
#include "text.hpp"

namespace gibbsite::cli {
namespace {

// A coefficient as a bar to the left or to the right of a line.
std::string bar(double value, double largest) {
  constexpr double half = 20;
  const auto length =
      static_cast<std::size_t>(largest > 0 ? std::lround(half * std::fabs(value) / largest) : 0);
  std::string blocks;
  for (std::size_t i = 0; i < length; ++i) blocks += "█";
  return value < 0 ? std::string(static_cast<std::size_t>(half) - length, ' ') + blocks + "│"
                   : std::string(static_cast<std::size_t>(half), ' ') + "│" + blocks;
}

const Column* curve_of(const Schema& schema, const Effect& effect) {
  const auto found = std::ranges::find(schema.columns, effect.column, &Column::name);
  return found != schema.columns.end() && found->is_curve() ? &*found : nullptr;
}

// The places of effects in `order` with one line for each curve, where it comes first.
std::vector<std::size_t> one_of_each_curve(const Schema& schema, const EffectTable& effects,
                                           const std::vector<std::size_t>& order) {
  if (std::ranges::none_of(schema.columns, &Column::is_curve)) return order;
  std::vector<std::size_t> out;
  std::set<std::pair<std::string, std::string>> seen;
  for (const std::size_t i : order) {
    const Effect& effect = effects.effects[i];
    if (curve_of(schema, effect) == nullptr ||
        seen.insert({effect.column, effect.of_class}).second) {
      out.push_back(i);
    }
  }
  return out;
}

// The curve that an effect is a knot of: its values at the knots, low to high.
std::vector<double> values_of_curve(const Schema& schema, const EffectTable& effects,
                                    const Effect& knot) {
  std::vector<double> out;
  for (const Effect& effect : effects.effects) {
    if (effect.column == knot.column && effect.of_class == knot.of_class &&
        out.size() < curve_of(schema, knot)->knots.size()) {
      out.push_back(effect.effect.estimate);
    }
  }
  return out;
}

// "▁▃▇█▅" at equal steps between the lowest and the highest value.
std::string sparkline(const std::vector<double>& values) {
  static constexpr const char* blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const auto [low, high] = std::ranges::minmax(values);
  std::string out;
  for (const double value : values) {
    const double part = high > low ? (value - low) / (high - low) : 0;
    out += blocks[std::lround(part * (std::size(blocks) - 1))];
  }
  return out;
}

// "age, 17 to 90".
std::string curve_name(const Column& curve) {
  return fmt::format("{}, {} to {}", curve.name, curve.text_of(curve.lo), curve.text_of(curve.hi));
}

// Gray on a terminal that takes colors.
std::string gray(const std::string& line) {
  const bool plain =
      isatty(STDOUT_FILENO) != 1 || std::getenv("NO_COLOR") != nullptr;  // NOLINT: one thread
  return plain ? line : "\x1b[90m" + line + "\x1b[0m";
}

constexpr std::size_t most = 10;  // lines

// "+0.31"; of an amount with as many digits as it needs.
std::string signed_text(double value) { return fmt::format("{:+.3g}", value); }

// "×1.9 (1.5 to 2.4)", or of what is no power "+12 (8 to 16)". A unit may move a ratio little, so
// it has more digits.
std::string with_interval(const EffectEstimate& effect, bool multiplies, int digits = 3) {
  if (effect.hidden) return "hidden";
  if (!multiplies)
    return fmt::format("{:+.3g} ({:.3g} to {:.3g})", effect.estimate, effect.lower, effect.upper);
  return fmt::format("×{:.{}g} ({:.{}g} to {:.{}g})", std::exp(effect.estimate), digits,
                     std::exp(effect.lower), digits, std::exp(effect.upper), digits);
}

// What a number does per unit, or a level beside the reference level; with its interval.
std::string estimated_beside(const EffectTable& table, const Effect& effect) {
  const bool multiplies = !table.ratio.empty();
  if (effect.is_reference()) return "reference level";
  if (effect.per_unit) {
    const auto [of, unit] = shown_per_unit(effect);
    return with_interval(of, multiplies, 5) + (effect.of_days && !of.hidden ? " a year" : "");
  }
  if (effect.against_reference) return with_interval(*effect.against_reference, multiplies);
  return "";
}

// What stands beside an effect without intervals.
std::string beside(const EffectTable& table, const Effect& effect) {
  const bool multiplies = !table.ratio.empty();
  const auto text = [&](const EffectEstimate& of, int digits) {
    return multiplies ? fmt::format("×{:.{}g}", std::exp(of.estimate), digits)
                      : signed_text(of.estimate);
  };
  if (effect.is_reference()) return "reference level";
  if (effect.per_unit) {
    const auto [of, unit] = shown_per_unit(effect);
    return fmt::format("{} a {}", text(of, 4), unit);
  }
  if (!effect.against_reference) return "";
  return fmt::format("{} against {}", text(*effect.against_reference, 3), effect.reference);
}

std::string what_effects_are(const LinearModel& model, const EffectTable& table) {
  const Schema& schema = model.schema;
  const std::string of = shown(schema.label_name);
  return std::visit(
      Overloaded{[&](const TwoClasses& two) {
                   return fmt::format("Effects on {} = {}: {}", of, shown(two.positive),
                                      table.ratio.empty() ? "score" : "log-odds, and odds ratios");
                 },
                 [&](const Classes&) {
                   return fmt::format("Effects on the score of each class of {}", of);
                 },
                 [&](const Amount&) {
                   return fmt::format(
                       "Effects on {}, in its own unit; the baseline is what is expected without "
                       "them",
                       of);
                 },
                 [&](const Count&) {
                   return fmt::format("Effects on the mean of {}: its log, and rate ratios", of);
                 }},
      schema.label);
}

// "sex=Male, race=White": what the levels that are shown are compared with.
std::string reference_levels(const Schema& schema, const EffectTable& effects,
                             const std::vector<std::size_t>& shown) {
  std::vector<std::string> levels;
  for (const std::size_t i : shown) {
    const Effect& effect = effects.effects[i];
    if (effect.reference.empty()) continue;
    const Column* const column = schema.column_named(effect.column);  // none is an interaction
    const std::string level =
        effect.column + "=" +
        (column != nullptr ? shown_level(*column, effect.reference) : effect.reference);
    if (!std::ranges::count(levels, level)) levels.push_back(level);
  }
  return fmt::format("{}", fmt::join(levels, ", "));
}

// A line of the table of effects, `narrow` without the log-odds. What noise hides has no numbers:
// they would be the prior's.
std::vector<std::string> effect_line(const Schema& schema, const EffectTable& effects,
                                     const Effect& effect, bool narrow) {
  const EffectEstimate& of = effect.effect;
  std::vector<std::string> line;
  if (effects.has_classes) line.push_back(effect.of_class);
  line.push_back(shown_name(schema, effect) + (of.collinear && !effect.is_constant() ? " *" : ""));
  line.push_back(with_interval(of, !effects.ratio.empty()));
  line.push_back(of.hidden ? "" : p_value_text(of.p_value));
  if (!narrow) {
    line.push_back(of.hidden ? ""
                   : effects.ratio.empty()
                       ? fmt::format("{:.2g}", of.standard_error)
                       : fmt::format("{} ± {:.2g}", signed_text(of.estimate), of.standard_error));
  }
  line.push_back(estimated_beside(effects, effect));
  return line;
}

// The one line of a curve: from its lowest to its highest value, and how it runs.
std::vector<std::string> curve_line(const EffectTable& effects, const Column& curve,
                                    const std::vector<double>& values, const Effect& knot,
                                    bool narrow) {
  const auto [low, high] = std::ranges::minmax(values);
  std::vector<std::string> line;
  if (effects.has_classes) line.push_back(knot.of_class);
  line.push_back(curve_name(curve));
  line.push_back(effects.ratio.empty()
                     ? fmt::format("{:+.3g} to {:+.3g}", low, high)
                     : fmt::format("×{:.3g} to ×{:.3g}", std::exp(low), std::exp(high)));
  line.insert(line.end(), narrow ? 1 : 2, "");
  line.push_back("curve " + sparkline(values));
  return line;
}

// Curves have a line each, or with `all` every knot.
std::string effect_lines(const Schema& schema, const EffectTable& effects,
                         const std::vector<std::size_t>& order, bool narrow, bool all) {
  const bool multiplies = !effects.ratio.empty();
  std::vector<std::vector<std::string>> cells(1);
  if (effects.has_classes) cells[0].emplace_back("class");
  cells[0].emplace_back("effect");
  cells[0].push_back((multiplies ? effects.ratio : "estimate") + " (95 % interval)");
  cells[0].emplace_back("p-value");
  if (!narrow) cells[0].push_back(multiplies ? effects.unit + " ± SE" : "SE");
  cells[0].emplace_back("per unit, or to reference");
  for (const std::size_t i : order) {
    const Effect& effect = effects.effects[i];
    const Column* const curve = all ? nullptr : curve_of(schema, effect);
    cells.push_back(curve == nullptr
                        ? effect_line(schema, effects, effect, narrow)
                        : curve_line(effects, *curve, values_of_curve(schema, effects, effect),
                                     effect, narrow));
  }
  return table(cells);
}

// "Whole columns, p-values that all levels are alike: education <0.001, race 0.31."
std::string column_test_lines(const LinearModel& model) {
  std::vector<std::string> each;
  for (const ColumnTest& of : tests_of_levels(model))
    each.push_back(fmt::format("{} {}", shown(of.column), p_value_text(of.test.p_value)));
  if (each.empty()) return "";
  const std::size_t more = each.size() > most ? each.size() - most : 0;
  each.resize(each.size() - more);
  return wrapped(fmt::format("Whole columns, p-value that their levels or knots are alike: {}{}.",
                             fmt::join(each, ", "),
                             more > 0 ? fmt::format(" and {} more", more) : ""));
}

// The table of a model that has estimates. Where it would be wider than a terminal, the log-odds
// beside the ratios are left out.
std::string effects_report(const LinearModel& model, std::uint64_t rows_per_person,
                           const CoefficientView& view) {
  const EffectTable effects = effect_table(model, view.references);
  std::vector<std::size_t> order = effects.by_certainty();
  const auto constants = static_cast<std::size_t>(
      std::ranges::count_if(effects.effects, [](const Effect& e) { return e.is_constant(); }));
  const std::size_t count = effects.effects.size() - constants, hidden = effects.hidden();
  if (!view.all && order.size() > most) {
    order = one_of_each_curve(model.schema, effects, order);
    order.resize(std::min({count - hidden, most, order.size()}));
  }
  std::string out = what_effects_are(model, effects);
  if (order.size() < effects.effects.size())
    out += fmt::format(" (the {} surest of {})", order.size(), count);
  out += '\n';
  bool narrow = false;
  if (!order.empty()) {
    std::string text = effect_lines(model.schema, effects, order, false, view.all);
    narrow = widest_line(text) > terminal_columns;
    if (narrow) text = effect_lines(model.schema, effects, order, true, view.all);
    std::istringstream rows(text);
    std::string line;
    for (std::size_t i = 0; std::getline(rows, line); ++i) {
      const bool soft = i > 0 && effects.effects[order[i - 1]].effect.hidden;
      out += (soft ? gray(line) : line) + '\n';
    }
  }
  out += column_test_lines(model);
  std::string notes =
      "A number: from the low end of its range to the high end. A level: against the mean of its "
      "column's levels";
  const std::string references = reference_levels(model.schema, effects, order);
  notes += references.empty() ? ". " : fmt::format("; reference {}. ", references);
  if (!order.empty() && !narrow) notes += "SE: the standard error. ";
  if (hidden > 0) {
    notes += fmt::format(
        "{} of {} effects are hidden by noise: the table may hold them, the release cannot tell. ",
        hidden, count);
  }
  if (const std::size_t collinear = effects.collinear(); collinear > 0) {
    notes += fmt::format(
        "{} of {} effects have a *: the table cannot tell them from other columns, only what they do "
        "together. ",
        collinear, count);
  }
  notes += interval_meaning_of(model, rows_per_person);
  if (model.schema.person() != nullptr) notes += " The sample is one of people, not of their rows.";
  out += wrapped(notes);
  if (order.size() < effects.effects.size() && !view.file.empty())
    out += fmt::format("All {}: gibbsite coefficients {} --all\n", count, view.file);
  return out;
}

std::string no_bound(const Certificate& certificate) {
  const char* const how =
      taken_by(certificate.mechanism).intervals ? " --intervals estimates it." : "";
  return fmt::format(
      "No bound on how far noise moved them holds for every table: none is given.{}\n", how);
}

std::string bound_words(const LinearModel& model, const Certificate& certificate,
                        std::size_t inside, std::size_t all) {
  return fmt::format(
      "how far privacy's noise moves a coefficient from the median of its law, "
      "with a probability of at least {:.3g} %{}.\n{} of {} are within it: by this "
      "bound they may be noise.\n",
      95 - 100 * setting(certificate.mechanism, "tv_gap").value_or(0),
      model.draws.size() == 1 ? "" : " each", inside, all);
}

constexpr const char* few_rows = "few rows or none: noise";  // beside unseen_levels

// A column for each class, of at most so many of them; else a line for each coefficient, the
// largest ones.
std::string class_report(const LinearModel& model, const Certificate& certificate,
                         const CoefficientView& view) {
  constexpr std::size_t most_columns = 6;
  const Schema& schema = model.schema;
  const std::vector<std::string> names = coefficient_line_names(schema);
  const std::vector<std::string> class_of = class_names(schema.label);
  const std::size_t classes = class_of.size(), d = names.size();
  const std::vector<double>& theta = model.draws.front();
  const bool columns = classes <= most_columns;
  // The largest coefficient of a line [d], or [K x d], by which lines are ordered.
  const auto size = [&](std::size_t line) {
    double largest = 0;
    for (std::size_t k = 0; columns && k < classes; ++k)
      largest = std::max(largest, std::fabs(theta[k * d + line]));
    return columns ? largest : std::fabs(theta[line]);
  };
  std::vector<std::size_t> order(columns ? d : classes * d);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const bool all = view.all || order.size() <= most;
  const std::vector<bool> unseen = unseen_levels(model, certificate);
  const auto is_seen = [&](std::size_t line) { return unseen.empty() || !unseen[line % d]; };
  if (!all) {
    std::ranges::stable_sort(order, std::greater{}, size);
    std::stable_partition(order.begin(), order.end(), is_seen);
    order.resize(most);
  }
  const auto deviation = coefficient_noise_up(certificate.mechanism, certificate.problem);
  const double noise = two_sided_95 * deviation.value_or(0);
  const auto is_inside = [&](double value) { return deviation && std::fabs(value) <= noise; };
  std::vector<std::vector<std::string>> cells;
  if (columns) {
    cells.push_back({""});
    cells[0].insert(cells[0].end(), class_of.begin(), class_of.end());
  }
  for (const std::size_t line : order) {
    const std::size_t j = line % d;
    if (columns) {
      cells.push_back({names[j]});
      for (std::size_t k = 0; k < classes; ++k) {
        const double value = theta[k * d + j];
        cells.back().push_back(fmt::format("{:+.4f}{}", value, is_inside(value) ? " ·" : ""));
      }
      if (!is_seen(line)) cells.back().emplace_back(few_rows);
    } else {
      cells.push_back({class_of[line / d], names[j],
                       fmt::format("{:+.4f}{}", theta[line], is_inside(theta[line]) ? " ·" : ""),
                       is_seen(line) ? bar(theta[line], size(order.front())) : few_rows});
    }
  }
  const std::string of_all =
      all ? "" : fmt::format(" (the {} largest of {})", most, columns ? d : classes * d);
  const std::string out = fmt::format(
      "Coefficients by {}{}{}\nThe class that they add up to most for is the likeliest; only "
      "differences between classes count.\n{}",
      shown(schema.label_name), model.draws.size() == 1 ? "" : ", of the first draw", of_all,
      table(cells));
  if (!deviation) return out + no_bound(certificate);
  const auto inside = static_cast<std::size_t>(std::ranges::count_if(theta, is_inside));
  return out + fmt::format("·: within {:.4f}, ", noise) +
         bound_words(model, certificate, inside, theta.size());
}

}  // namespace

std::string coefficient_report(const LinearModel& model, const Certificate& certificate,
                               const CoefficientView& view) {
  if (model.estimates) return effects_report(model, certificate.claimed.who.rows_per_person, view);
  const EffectTable effects =
      effect_table(model, certificate, view.references);  // refuses unknown references
  if (is<Classes>(model.schema.label)) return class_report(model, certificate, view);
  const CoefficientLines lines = coefficient_lines(model, certificate);
  const Label& label = model.schema.label;
  const std::string of = shown(model.schema.label_name);
  const bool multiplies = lines.multiplies, bounded = !lines.half_widths.empty();
  const std::vector<double>& theta = lines.values;
  const std::vector<double>& noise = lines.half_widths;
  const auto is_inside = [&](std::size_t j) { return lines.is_inside(j); };
  std::vector<std::size_t> order(theta.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const bool all = view.all || order.size() <= most;
  // Where shares are known, by how far a coefficient spreads the scores of people: a level that few
  // have moves few, however large its coefficient is.
  const bool by_spread = !model.feature_means.empty();
  if (!all && by_spread) {
    order = effects.by_certainty();
  } else if (!all) {
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::fabs(theta[a]) > std::fabs(theta[b]);
    });
  }
  if (!all) {
    order = one_of_each_curve(model.schema, effects, order);
    order.resize(std::min(order.size(), most));
  }
  double largest = 0;
  for (const std::size_t j : order)
    if (!lines.is_unseen(j)) largest = std::max(largest, std::fabs(theta[j]));
  std::vector<std::vector<std::string>> cells;
  std::size_t inside = 0;
  for (std::size_t j = 0; j < theta.size(); ++j) inside += is_inside(j) ? 1U : 0U;
  for (const std::size_t j : order) {
    const bool amount = is<Amount>(label);
    const Column* const curve =
        all || j >= effects.effects.size() ? nullptr : curve_of(model.schema, effects.effects[j]);
    if (curve != nullptr) {
      const std::vector<double> values = values_of_curve(model.schema, effects, effects.effects[j]);
      const auto [low, high] = std::ranges::minmax(values);
      cells.push_back({curve_name(*curve), fmt::format("{:+.3g} to {:+.3g}", low, high)});
      if (bounded) cells.back().emplace_back();
      if (multiplies)
        cells.back().push_back(fmt::format("×{:.2g} to ×{:.2g}", std::exp(low), std::exp(high)));
      if (bounded) cells.back().emplace_back();
      if (!view.references.empty() || by_spread) cells.back().emplace_back("curve");
      cells.back().push_back(sparkline(values));
      continue;
    }
    cells.push_back({lines.names[j],
                     amount ? fmt::format("{:+.5g}", theta[j]) : fmt::format("{:+.4f}", theta[j])});
    if (bounded)
      cells.back().push_back(amount ? fmt::format("± {:.5g}", noise[j])
                                    : fmt::format("± {:.4f}", noise[j]));
    if (multiplies) cells.back().push_back(fmt::format("×{:.3g}", std::exp(theta[j])));
    if (bounded) cells.back().emplace_back(is_inside(j) ? "within" : "");
    if (const std::string more =
            j < effects.effects.size() ? beside(effects, effects.effects[j]) : "";
        !view.references.empty() || by_spread)
      cells.back().push_back(more);
    cells.back().push_back(lines.is_unseen(j) ? few_rows : bar(theta[j], largest));
  }
  std::string out = fmt::format(
      "Coefficients{}{}{}: {}\n",
      multiplies
          ? fmt::format(" and what they multiply {} by", is<Count>(label) ? "the mean" : "the odds")
          : "",
      model.draws.size() == 1 ? "" : ", of the first draw",
      all ? ""
          : fmt::format(" (the {} {} of {})", most,
                        by_spread ? "that spread the scores most" : "largest", theta.size()),
      is<Amount>(label)
          ? fmt::format("a prediction of {} is {:.6g} plus what they add", of, label_middle(label))
      : is<Count>(label) ? fmt::format("above 0 speaks for more {}", of)
                         : fmt::format("above 0 speaks for {} = {}", of,
                                       shown(std::get<TwoClasses>(label).positive)));
  std::istringstream rows(table(cells));
  std::string line;
  for (std::size_t i = 0; std::getline(rows, line); ++i) {
    out += (is_inside(order[i]) || lines.is_unseen(order[i]) ? gray(line) : line) + '\n';
  }
  if (const Message words = score_words(model); !words.empty()) out += wrapped(in_options(words));
  if (!bounded) return out + no_bound(certificate);
  return out + "±: " + bound_words(model, certificate, inside, theta.size());
}

}  // namespace gibbsite::cli
