#include "text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>
#include <type_traits>
#include <utility>

#include "gibbsite/core/rounded_text.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/mechanism/excess_loss.hpp"
#include "gibbsite/mechanism/learning.hpp"
#include "gibbsite/model/curve.hpp"
#include "gibbsite/model/loss.hpp"
#include "gibbsite/privacy/guarantee.hpp"
#include "standard_output.hpp"
#include "unspent.hpp"

namespace gibbsite::cli {
namespace {

std::string digits(double value) { return fmt::format("{:.4g}", value); }

}  // namespace

std::size_t columns_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::string in_options(const Message& message) {
  return message.written([](const Message::Piece& piece) {
    switch (piece.kind) {
      case Message::Kind::field: {
        std::string option = "--" + piece.text;
        std::ranges::replace(option, '_', '-');
        return option;
      }
      case Message::Kind::word:
        return '`' + piece.text + '`';
      default:
        return StandardOutput::named(piece.text);
    }
  });
}

void warn(const Message& message) {
  fmt::print(stderr, "gibbsite: warning: {}\n", in_options(message));
}

void note(const Message& message) {
  fmt::print(stderr, "gibbsite: note: {}\n", in_options(message));
}

std::string human_time(double seconds) {
  if (std::isnan(seconds)) return "?";
  struct Unit {
    double seconds;
    const char* name;
  };
  constexpr std::array<Unit, 5> units{
      {{365.25 * 86400, "years"}, {86400, "days"}, {3600, "h"}, {60, "min"}, {1, "s"}}};
  for (const Unit& unit : units) {
    if (seconds >= 0.95 * unit.seconds)
      return fmt::format("{:.2g} {}", seconds / unit.seconds, unit.name);
  }
  return seconds < 0.001 ? "under 1 ms" : fmt::format("{:.0f} ms", 1000 * seconds);
}

std::string about(double seconds) {
  const std::string time = human_time(seconds);
  return time.starts_with("under") ? time : "about " + time;
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

std::string table(const std::vector<std::vector<std::string>>& texts) {
  std::vector<std::vector<std::string>> lines = texts;
  for (auto& line : lines)
    for (std::string& cell : line) cell = shown(cell);
  std::vector<std::size_t> widths;
  for (const auto& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (std::size_t j = 0; j < line.size(); ++j)
      widths[j] = std::max(widths[j], columns_of(line[j]));
  }
  std::string out;
  for (const auto& line : lines) {
    std::string text = " ";
    for (std::size_t j = 0; j < line.size(); ++j) {
      text += ' ';
      text += line[j];
      if (j + 1 < line.size()) text += std::string(widths[j] - columns_of(line[j]) + 1, ' ');
    }
    text += '\n';
    out += text;
  }
  return out;
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, columns_of(line));
  return widest;
}

std::string wrapped(const std::string& text) {
  std::string out;
  std::size_t column = 0;
  std::istringstream words(text);
  for (std::string word; words >> word; column += columns_of(word)) {
    if (column > 0) {
      const bool fits = column + 1 + columns_of(word) <= terminal_columns;
      out += fits ? ' ' : '\n';
      column = fits ? column + 1 : 0;
    }
    out += word;
  }
  return out + '\n';
}

std::string wrapped_lines(const std::string& text) {
  constexpr std::size_t widest_whole = 120;
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    out += columns_of(line) > widest_whole ? wrapped(line) : line + '\n';
  return out;
}

std::string interactions_words(const Schema& schema) {
  std::string out;
  for (const Interaction& interaction : schema.interactions) {
    out += fmt::format("{}{} ({})", out.empty() ? "interactions: " : ", ",
                       shown(interaction.name()), schema.features_of(interaction));
  }
  return out.empty() ? out : out + " features\n";
}

std::string typical_words(const Schema& schema) {
  const auto count = std::ranges::count_if(
      schema.columns, [](const Column& column) { return column.typical.has_value(); });
  if (count == 0) return "";
  return fmt::format(
      "typical: {} number{} where the schema says (whitened, metric-path, metric-proximal)\n",
      count, count == 1 ? " starts" : "s start");
}

std::string wide_lines_words(const Schema& schema) {
  constexpr std::size_t most = 5;
  std::vector<std::string> names;
  for (const Column& column : schema.columns)
    if (is_wide_line(column)) names.push_back(gibbsite::quoted(column.name));
  if (names.empty()) return "";
  const std::size_t more = names.size() > most ? names.size() - most : 0;
  names.resize(names.size() - more);
  return wrapped(fmt::format(
      "intervals: {}{} count{} as a straight line over a wide range. Where the effect bends, an "
      "interval is of a line through it, however many rows there are; curve = \"auto\" in the schema "
      "follows the bend.",
      fmt::join(names, ", "), more > 0 ? fmt::format(" and {} more numbers", more) : "",
      names.size() + more == 1 ? "s" : ""));
}

std::string curves_words(const Schema& asked, const Schema& chosen) {
  const std::size_t curves = automatic_curves(asked);
  if (curves == 0) return "";
  std::size_t fewest = 0, most = 0;  // series have knots of their own
  for (std::size_t j = 0; j < asked.columns.size(); ++j) {
    if (!asked.columns[j].automatic_curve) continue;
    const std::size_t knots = chosen.columns[j].knots.size();
    fewest = most == 0 ? knots : std::min(fewest, knots);
    most = std::max(most, knots);
  }
  if (most == 0) {
    return fmt::format("curves: none at this budget; {}\n",
                       curves == 1 ? "the column stays a straight line"
                                   : fmt::format("{} columns stay straight lines", curves));
  }
  return fmt::format(
      "curves: {} of {} knots{}\n", curves == 1 ? "1 column" : fmt::format("{} columns", curves),
      fewest == most ? fmt::format("{}", most) : fmt::format("{} to {}", fewest, most),
      curves == 1 ? "" : " each");
}

std::string describe(const Problem& constants, const Budget& budget) {
  const bool replace = budget.adjacency == Adjacency::replace_one;
  return fmt::format(
      "{} {}, {} features{}, row norm {:.4g}{}; {}, {}, {} {}",
      replace ? human_count(static_cast<double>(constants.rows))
              : "at most " + human_count(static_cast<double>(constants.rows)),
      constants.of_people() ? constants.rows == 1 ? "person" : "people"
      : constants.rows == 1 ? "row"
                            : "rows",
      constants.row_features(),
      constants.outputs == 1 ? "" : fmt::format(", {} classes", constants.outputs),
      constants.row_norm,
      fmt::format("{}{}", constants.intercept ? " and an intercept" : "",
                  constants.weighted && !constants.of_people()        ? ", rows count by weight"
                  : constants.loss != unweighted_name(constants.loss) ? ", classes count by weight"
                                                                      : ""),
      to_string(budget.adjacency),
      constants.of_people() ? fmt::format("any number of rows per person, counted as at most {}",
                                          budget.rows_per_person)
                            : fmt::format("{} row{} per person", budget.rows_per_person,
                                          budget.rows_per_person == 1 ? "" : "s"),
      budget.draws, budget.draws == 1 ? "draw" : "draws");
}

namespace {

// Whether mu is what the guarantee comes from: of `objective` it is a small part.
bool is_gaussian(const Candidate& candidate) {
  return candidate.guarantee.mu > 0 && candidate.guarantee.delta0 == 0;
}

std::string cell(const std::optional<double>& value) { return value ? digits(*value) : "-"; }

// Two digits: it is no more than an estimate.
std::string about_count(double count) {
  const double unit = std::pow(10.0, std::max(0.0, std::floor(std::log10(count)) - 1));
  return human_count(std::ceil(count / unit) * unit);
}

// Names whose offer at some budget is (not) in reach, the chosen ones left out.
std::string others(std::span<const Plan> plans, bool feasible) {
  std::vector<std::string_view> names;
  for (std::size_t k = 0; k < plans.front().candidates.size(); ++k) {
    const auto is = [&](auto test) { return std::ranges::any_of(plans, test); };
    if (is([&](const Plan& p) { return p.chosen == k; })) continue;
    const bool reached = is([&](const Plan& p) { return p.candidates[k].feasible; });
    if (reached == feasible) names.push_back(name_of(plans.front().candidates[k].mechanism));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// "±" of a coefficient: a bound, or what can be expected.
std::string noise_cell(const Plan& plan, const Candidate& candidate, double evenness) {
  if (!candidate.feasible) return "-";
  const auto expected = expected_coefficient_noise(candidate.mechanism, plan.problem,
                                                   plan.budget.neighbors(), evenness);
  if (expected) return fmt::format("~{:.2g}", two_sided_95 * *expected);
  const auto bound = coefficient_noise_up(candidate.mechanism, plan.problem);
  return bound ? fmt::format("{:.2g}", two_sided_95 * *bound) : "-";
}

constexpr const char* noise_words =
    "coefficient ±: how far privacy's noise moves one, 95 % of the time; with ~ as expected where "
    "it leans on\nno other, of a number over its range or of a level that a tenth of the rows "
    "has\n";

// What an interval's half-width is of, and where: of amounts and counts it takes a guess.
std::string interval_guess(LabelKind label, bool known_unit) {
  if (label == LabelKind::classes) return ",\non the score of one class against the mean of all";
  if (label == LabelKind::count) {
    return ",\non the log of the mean, where the mean is a tenth of the largest count";
  }
  if (label != LabelKind::amount) return "";
  return fmt::format(",\nin {}, where errors are as large as the tolerance",
                     known_unit ? "the label's unit" : "tolerances");
}

// How wide intervals of a fit with --intervals will be at each budget, by the settings that such a
// fit has; "" where none are made, or of counts of which the largest is not known.
std::string interval_words(std::span<const Plan> plans, const PlanContext& context) {
  std::string ordinary, rare;
  const double label_unit = context.label_unit;
  const LabelKind label = loss_named(plans.front().problem.loss).label();
  if (label == LabelKind::count && label_unit == 0) return "";
  for (const Plan& plan : plans) {
    const auto candidate = candidate_with_intervals(plan, context.plan_options);
    if (!candidate) continue;
    const auto& whitened = std::get<Whitened>(candidate->mechanism);
    for (const auto& [words, share] : {std::pair{&ordinary, 0.1}, {&rare, 0.01}}) {
      const auto half = expected_half_interval(whitened, plan.problem, plan.budget.neighbors(),
                                               std::sqrt(share * (1 - share)), context.evenness());
      if (!half) continue;
      *words += fmt::format(
          ", ±{:.2g}", label == LabelKind::amount && label_unit > 0 ? label_unit * *half : *half);
    }
  }
  if (ordinary.empty()) return "";
  std::string out = fmt::format(
      "interval ±: with fit --intervals, a 95 % interval, noise and sample together, is at least "
      "about {}\nof a number over its range or of a level that a tenth of the rows has, {} of a "
      "level of 1 %{}\n",
      ordinary.substr(2), rare.substr(2), interval_guess(label, label_unit > 0));
  const Plan& first = plans.front();
  if (const std::uint64_t k = first.budget.rows_per_person; k > 1 && !first.problem.of_people())
    out += fmt::format("The {} rows of a person are taken for alike in it.\n", k);
  if (!context.read_otherwise.empty()) out += wrapped(context.read_otherwise);
  return out;
}

// What output and objective perturbation cost the mean loss at most; "" of others.
std::string excess_words(std::span<const Plan> plans) {
  std::string out;
  for (const Plan& plan : plans) {
    if (!plan.candidate().feasible) continue;
    const auto excess =
        excess_loss_up(plan.candidate().mechanism, plan.problem, plan.budget.neighbors());
    if (!excess) continue;
    out += fmt::format(
        "{} {} + {} B² at ε = {}", out.empty() ? "mean loss: on average at most" : ",",
        text_up(excess->noise, 2), text_up(excess->ridge, 2), digits(plan.budget.epsilon));
  }
  if (out.empty()) return "";
  return out +
         " above that\nof any coefficients, of encoded features, at a distance of at most B from the center\n";
}

// What the column "learns" is a part of.
std::string learns_words(LabelKind label, const std::optional<PositiveShare>& share) {
  if (share) {
    const std::string of =
        share->low == share->high
            ? fmt::format("{:.3g} %", 100 * share->low)
            : fmt::format("{:.3g} to {:.3g} %", 100 * share->low, 100 * share->high);
    return fmt::format(
        "learns: of what a fit without privacy gains in AUC over one half, where {} of the rows are "
        "of the\npositive class; probabilities are further off; tables differ\n\n",
        of);
  }
  return fmt::format(
      "learns: of what a fit without privacy gains over always {}; tables differ\n\n",
      label == LabelKind::two_classes ? "naming the commoner class, if both are of like size"
      : label == LabelKind::classes   ? "naming the commonest class"
                                      : "predicting the same number");
}

}  // namespace

std::string plan_summary(std::span<const Plan> plans, std::span<const double> seconds,
                         const PlanContext& context) {
  const std::string unit = plans.front().problem.of_people() ? "people" : "rows";
  std::vector<std::vector<std::string>> lines{{"ε", "mechanism", "passes", "time", "best guess",
                                               "coefficient ±", "learns", unit + " for 90 %",
                                               unit + " for 99 %"}};
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const Plan& plan = plans[i];
    const Candidate& candidate = plan.candidate();
    lines.push_back({digits(plan.budget.epsilon)});
    if (!candidate.feasible) {
      lines.back().emplace_back("none");
      continue;
    }
    const Neighbors who = plan.budget.neighbors();
    const double mu = candidate.guarantee.mu;
    const double evenness = context.evenness();
    lines.back().insert(
        lines.back().end(),
        {std::string(name_of(candidate.mechanism)), human_count(candidate.cost.passes),
         human_time(seconds[i]), fmt::format("{:.1f} %", best_guess_percent(candidate.guarantee)),
         noise_cell(plan, candidate, context.evenness())});
    const bool known = mu > 0 && is_measured(candidate.mechanism);
    const bool from_few = learns_from_few(candidate.mechanism, plan.problem);
    const auto rows = [&](double share) {
      const double needed =
          known ? rows_to_keep(share, plan.problem, who, mu, from_few, evenness) : HUGE_VAL;
      return std::isfinite(needed) ? about_count(needed) : "-";
    };
    const double signal = signal_per_feature(plan.problem, who, mu);
    lines.back().insert(
        lines.back().end(),
        {known ? kept_words(kept_share(signal, from_few, evenness)) : "-", rows(0.9), rows(0.99)});
  }
  const LabelKind label = loss_named(plans.front().problem.loss).label();
  std::string out = wrapped_lines(describe(plans.front().problem, plans.front().budget) +
                                  fmt::format(", δ = {:.4g}", plans.front().budget.delta)) +
                    "\n" + table(lines) +
                    "\n"
                    "best guess: how often whoever knows all other rows is right, at even odds, "
                    "about one person's\n" +
                    noise_words + excess_words(plans) + unspent_words(plans) +
                    interval_words(plans, context) + learns_words(label, context.positive_share);
  if (const Problem& of = plans.front().problem; of.of_people()) {
    const std::uint64_t k = of.rows_of_person;
    out += fmt::format(
        "people: all rows of one count as at most {} together, whatever their number, which is "
        "private.\n{}\n\n",
        k,
        k == 1
            ? "--rows-per-person K lets a person count as up to K rows, with K times the noise: a "
              "gain only\nwhere most people have K rows or more that tell more than one does"
            : fmt::format(
                  "Noise is {} times that of --rows-per-person 1. Figures are as if everybody had "
                  "one row: where nearly\nall have {} or more, they are those of "
                  "--rows-per-person 1",
                  k, k));
  } else if (of.weighted || of.loss != unweighted_name(of.loss)) {
    out +=
        "weights: figures are those of rows that all have the largest weight, and nothing better can "
        "be had.\nIf the mean weight is a tenth of the largest, they are those of a tenth of the "
        "rows";
    out += of.weighted
               ? ": choose the\nlargest weight of the schema with care, as heavier rows are "
                 "held at it\n\n"
               : "\n\n";
  }
  std::vector<std::size_t> said;
  for (const Plan& plan : plans) {
    if (std::ranges::find(said, plan.chosen) != said.end()) continue;
    said.push_back(plan.chosen);
    const Candidate& candidate = plan.candidate();
    out += fmt::format("{} {}: {}\n", candidate.feasible ? "chosen:" : "out of reach:",
                       name_of(candidate.mechanism), in_options(candidate.why));
  }
  if (const std::string names = others(plans, true); !names.empty()) {
    out += "also possible: " + names + "\n";
  }
  if (const std::string names = others(plans, false); !names.empty()) {
    out += "out of reach: " + names + "\n";
  }
  return out + "--all shows every mechanism with its settings, and why.\n";
}

std::string plan_table(const Plan& plan, std::span<const double> seconds,
                       const PlanContext& context) {
  std::vector<std::vector<std::string>> lines{{"", "mechanism", "T", "step size h", "β", "prior m",
                                               "μ", "TV gap", "coefficient ±", "passes",
                                               "time here"}};
  for (std::size_t i = 0; i < plan.candidates.size(); ++i) {
    const Candidate& candidate = plan.candidates[i];
    const Mechanism& m = candidate.mechanism;
    const std::string name(name_of(m));
    const auto ridge = setting(m, "ridge");
    const std::string prior = cell(ridge ? ridge : setting(m, "prior_precision"));
    if (!(candidate.cost.passes > 0)) {  // it could not be planned at all
      lines.push_back({" ", name, "-", "-", "-", prior, "-", "-", "-", "-", "-"});
      continue;
    }
    const auto iterations = setting(m, "iterations");
    lines.push_back({i == plan.chosen && candidate.feasible ? "→" : " ", name,
                     iterations ? human_count(*iterations) : "-", cell(setting(m, "step_size")),
                     cell(setting(m, "beta")), prior,
                     is_gaussian(candidate) ? digits(candidate.guarantee.mu) : "-",
                     cell(setting(m, "tv_gap")), noise_cell(plan, candidate, context.evenness()),
                     human_count(candidate.cost.passes), human_time(seconds[i])});
  }
  std::string out =
      wrapped_lines(describe(plan.problem, plan.budget)) +
      fmt::format("(ε, δ) = ({:.4g}, {:.4g})\n\n", plan.budget.epsilon, plan.budget.delta) +
      table(lines) + "\n" + noise_words + unspent_words({&plan, 1}) +
      interval_words({&plan, 1}, context) + "\n";
  for (std::size_t i = 0; i < plan.candidates.size(); ++i) {
    const Candidate& candidate = plan.candidates[i];
    out += wrapped(fmt::format("{} {}: {}",
                               !candidate.feasible ? "out of reach:"
                               : i == plan.chosen  ? "chosen:"
                                                   : "also possible:",
                               name_of(candidate.mechanism), in_options(candidate.why)));
  }
  return out;
}

std::string plan_line(const Plan& plan, double seconds) {
  const Candidate& candidate = plan.candidate();
  const Mechanism& m = candidate.mechanism;
  std::string out = fmt::format("mechanism {}: {}", name_of(m), procedure_of(m, candidate.cost));
  if (const auto gap = setting(m, "tv_gap")) {
    out += fmt::format(", within {} of the posterior", text_up(*gap, 3));
  }
  if (const auto beta = setting(m, "beta")) {
    out += fmt::format(", β = {:.4g}, prior precision {:.4g}", *beta,
                       setting(m, "prior_precision").value_or(0));
  }
  if (is_gaussian(candidate)) out += ", μ = " + text_up(candidate.guarantee.mu);
  out +=
      fmt::format(", (ε, δ) = ({}, {})", text_up(plan.budget.epsilon), text_up(plan.budget.delta));
  return std::isnan(seconds) ? out : out + ", " + about(seconds);
}

}  // namespace gibbsite::cli
