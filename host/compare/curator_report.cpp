#include "gibbsite/compare/curator_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "compare/curves.hpp"
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/compare/compare.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/human_count.hpp"
#include "gibbsite/core/ticks.hpp"
#include "gibbsite/mechanism/mechanism.hpp"
#include "gibbsite/release/predict.hpp"
#include "gibbsite/release/report.hpp"
#include "release/page.hpp"

namespace gibbsite {
namespace {

constexpr std::size_t most_columns_listed = 300;
constexpr std::size_t most_class_curves = 8, most_matrix = 8, most_pairs = 20, most_classes = 60;

// On the screen the mark stays in view; on paper it is the head and the foot of a table, which
// every browser repeats on each page.
constexpr const char* curator_style = R"(<meta name="robots" content="noindex">
<style>
:root { --other: #a34700; }
@media (prefers-color-scheme: dark) { :root { --other: #f5a65b; } }
@media print { :root { --other: #a34700; } }
.mark { position: sticky; top: 0; z-index: 1; margin: 0 0 0.8rem; padding: 0.5rem 0.9rem; background: var(--card); color: var(--alert); border: 2px solid var(--alert); font-weight: 600; }
.foot { position: static; margin: 2rem 0 0; } h2 { scroll-margin-top: 5rem; }
.other { stroke: var(--other); stroke-width: 2; stroke-dasharray: 7 4; fill: none; } .ring { stroke: var(--other); stroke-width: 2; fill: var(--page); }
.key { display: inline-block; width: 1.6rem; height: 0; line-height: 0; overflow: hidden; border-top: 3px solid var(--mark); vertical-align: middle; } .two { border-top: 3px dashed var(--other); }
.grid { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr)); gap: 0 1.6rem; } .grid > * { min-width: 0; } .grid h3 { margin-bottom: 0; }
td.right { font-weight: 600; }
.wide { table-layout: auto; } .wide td, .wide thead th { overflow-wrap: break-word; } .names th:first-child { width: 25%; } .names thead th { overflow-wrap: anywhere; }
@media (max-width: 37rem) { .wide { font-size: 0.75rem; } .wide th, .wide td { padding-right: 0.3rem; } }
@media print { main { display: table; width: 100%; } .mark { position: static; display: table-header-group; break-inside: avoid; background: none; border: 0; } .foot { display: table-footer-group; } .grid { display: block; } .grid figure { display: inline-block; width: 47%; margin: 0.8rem 1%; vertical-align: top; } .wide, p { break-inside: avoid; } figure { max-width: 24rem; } }
</style>
)";

constexpr const char* beside_name = "NOT PRIVATE fit";

std::string percent_of(double fraction) {
  return std::isnan(fraction) ? "-" : fmt::format("{:.2f} %", 100 * fraction);
}
std::string one_digit(double fraction) {
  return std::isnan(fraction) ? "-" : fmt::format("{:.1f} %", 100 * fraction);
}
std::string four(double value) { return std::isnan(value) ? "-" : fmt::format("{:.4f}", value); }
// Four digits, or all before the point.
std::string figure_of(double value) {
  if (std::isnan(value)) return "-";
  const double size = std::fabs(value);
  if (size < 1000 || size >= 1e7) return fmt::format("{:.4g}", value);
  return (value < 0 ? "-" : "") + human_count(std::round(size));
}
std::string rows_words(std::uint64_t rows) {
  return human_count(static_cast<double>(rows)) + " row" + plural(rows);
}

const char* whose(bool other) { return other ? "the NOT PRIVATE fit" : "this model"; }

using Line = std::vector<std::string>;

// The first cell of a line names it.
void table_of(Html& page, std::string_view caption, const Line& head,
              const std::vector<Line>& lines, std::string_view kind = "wide") {
  page.put("<table class=\"{}\"><caption>{}</caption><thead><tr>", kind, caption);
  for (const std::string& cell : head) page.put("<th scope=\"col\">{}</th>", cell);
  page.put("</tr></thead><tbody>\n");
  for (const Line& line : lines) {
    page.put("<tr><th scope=\"row\">{}</th>", line.front());
    for (std::size_t k = 1; k < line.size(); ++k) page.put("<td>{}</td>", line[k]);
    page.put("</tr>\n");
  }
  page.put("</tbody></table>\n");
}

// What one of the two models does.
template <class Judged>
struct Pair {
  Judged model;
  std::optional<Judged> other;

  // f(judged, whether it is the other one).
  template <class F>
  void each(const F& f) const {
    f(model, false);
    if (other) f(*other, true);
  }
};

struct Point {
  double x = 0, y = 0;
};
using Curve = std::vector<Point>;  // broken where y is NaN

std::string path_of(const SquarePlot& plot, const Curve& curve) {
  std::string out;
  bool begun = false;
  for (const Point& p : curve) {
    if (std::isnan(p.y)) {
      begun = false;
      continue;
    }
    out += fmt::format("{}{:.1f} {:.1f}", begun ? "L" : "M", plot.x(p.x), plot.y(p.y));
    begun = true;
  }
  return out;
}

// The other one first: where they are the same this model's is seen.
void draw(Html& page, const SquarePlot& plot, const Pair<Curve>& curves) {
  const auto one = [&](const Curve& curve, const char* kind) {
    const std::string path = path_of(plot, curve);
    if (!path.empty()) page.put("<path class=\"{}\" d=\"{}\"/>\n", kind, path);
  };
  if (curves.other) one(*curves.other, "other");
  one(curves.model, "curve");
}

void begin(Html& page, const SquarePlot& plot, const std::string& says) {
  SquarePlot::begin(page, "PRIVATE. " + says);
  page.put("<text class=\"strong end\" x=\"{}\" y=\"9\">PRIVATE</text>\n",
           plot.left + SquarePlot::side);
}

void diagonal(Html& page, const SquarePlot& plot) {
  page.put("<path class=\"even\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>\n", plot.x(plot.across.low),
           plot.y(plot.across.low), plot.x(plot.across.high), plot.y(plot.across.high));
}

// Ends the figure: what its lines are, and more.
void end(Html& page, const Pair<std::string>& lines, const std::string& more) {
  page.put("</svg><figcaption>PRIVATE. <span class=\"key\">&nbsp;</span> this model{}",
           lines.model.empty() ? "" : ", " + lines.model);
  if (lines.other) {
    page.put(" <span class=\"key two\">&nbsp;</span> {}{}", beside_name,
             lines.other->empty() ? "" : ", " + *lines.other);
  }
  page.put(". {}</figcaption></figure>\n", more);
}

template <class Judged, class F>
auto both(const Pair<Judged>& of, const F& f) {
  Pair<decltype(f(of.model))> out{f(of.model), std::nullopt};
  if (of.other) out.other = f(*of.other);
  return out;
}

// Lines with a column for each model and one for what needs none.
void summary(Html& page, std::uint64_t rows, bool beside, const std::string& none,
             const std::vector<std::pair<std::string, Pair<std::string>>>& lines,
             const std::vector<std::string>& without) {
  heading(page, "summary", "In short");
  Line head{rows_words(rows), "this model"};
  if (beside) head.emplace_back("NOT PRIVATE fit of these rows");
  head.push_back(none);
  std::vector<Line> out;
  for (std::size_t k = 0; k < lines.size(); ++k) {
    const auto& [name, values] = lines[k];
    Line line{name, values.model};
    if (beside) line.push_back(values.other.value_or(""));
    line.push_back(without[k]);
    out.push_back(line);
  }
  table_of(page, "PRIVATE. Judged on these rows", head, out, "");
}

// --- Classes -------------------------------------------------------------------------------------

Curve roc_curve(const RankedScores& scores, std::size_t most) {
  Curve out;
  for (const RocPoint& p : scores.roc(most)) out.push_back({p.false_alarms, p.recall});
  return out;
}

void roc_figure(Html& page, const Pair<RankedScores>& scores, const Pair<double>& areas,
                const std::string& of, std::size_t most, std::optional<double> threshold) {
  const SquarePlot plot;
  begin(page, plot, fmt::format("ROC curve of {}: recall for each rate of false alarms", of));
  plot.share_grid(page);
  diagonal(page, plot);
  draw(page, plot, both(scores, [&](const RankedScores& s) { return roc_curve(s, most); }));
  if (threshold) {
    const auto dot = [&](const RankedScores& s, const char* kind) {
      const ConfusionCounts at = s.at(*threshold);
      page.put("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"/>\n", kind,
               plot.x(at.false_alarms()), plot.y(at.recall()));
    };
    if (scores.other) dot(*scores.other, "ring");
    dot(scores.model, "dot");
  }
  plot.names(page, "false alarms: share of the other rows predicted so", "recall",
             SquarePlot::top + SquarePlot::side / 4);
  end(page, both(areas, [](double area) { return "AUC " + four(area); }),
      (threshold ? fmt::format("Dots: threshold {}. ", number(*threshold)) : "") +
          "Dotted: guessing.");
}

// Between which the share lies that gave `found` of so many rows, 95 % (Wilson 1927).
std::pair<double, double> wilson(double found, std::uint64_t rows) {
  const auto n = static_cast<double>(rows);
  const double z2 = two_sided_95 * two_sided_95;
  const double middle = (found + z2 / (2 * n)) / (1 + z2 / n);
  const double half =
      two_sided_95 * std::sqrt(found * (1 - found) / n + z2 / (4 * n * n)) / (1 + z2 / n);
  return {std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

void calibration_figure(Html& page, const Pair<CalibrationBins>& bins, const std::string& across,
                        const std::string& up) {
  const SquarePlot plot;
  begin(page, plot, fmt::format("Calibration: {} by {}", up, across));
  plot.share_grid(page);
  diagonal(page, plot);
  for (const CalibrationBin& bin : bins.model) {
    if (bin.rows == 0) continue;
    const auto [low, high] = wilson(bin.found, bin.rows);
    page.put("<path class=\"axis\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>\n", plot.x(bin.predicted),
             plot.y(low), plot.y(high));
  }
  const auto curve = [](const CalibrationBins& of) {
    Curve out;
    for (const CalibrationBin& bin : of)
      if (bin.rows > 0) out.push_back({bin.predicted, bin.found});
    return out;
  };
  draw(page, plot, both(bins, curve));
  const auto dots = [&](const CalibrationBins& of, const char* kind) {
    for (const Point& p : curve(of))
      page.put("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"/>\n", kind, plot.x(p.x),
               plot.y(p.y));
  };
  if (bins.other) dots(*bins.other, "ring");
  dots(bins.model, "dot");
  plot.names(page, across, up, SquarePlot::top + SquarePlot::side / 4);
  end(page, both(bins, [](const CalibrationBins&) { return std::string(); }),
      "Each tenth of the probabilities that has rows; upright: 95 % for a share found in so many "
      "rows, of this model. On the dotted line predictions are what is found.");
}

void calibration_table(Html& page, const CalibrationBins& bins, const std::string& of,
                       const std::string& found) {
  std::vector<Line> lines;
  for (std::size_t tenth = 0; tenth < bins.size(); ++tenth) {
    const CalibrationBin& bin = bins[tenth];
    if (bin.rows == 0) continue;
    lines.push_back({fmt::format("{:.1f} to {:.1f}", 0.1 * static_cast<double>(tenth),
                                 0.1 * static_cast<double>(tenth + 1)),
                     fmt::format("{}", bin.rows), percent_of(bin.predicted),
                     percent_of(bin.found)});
  }
  table_of(page, "PRIVATE. Calibration of " + of, {"probability", "rows", "mean", found}, lines);
}

void calibration_section(Html& page, const Pair<CalibrationBins>& bins, const std::string& across,
                         const std::string& up, const std::string& found) {
  heading(page, "calibration", "Calibration");
  calibration_figure(page, bins, across, up);
  page.put("<div class=\"grid\">\n");
  bins.each([&](const CalibrationBins& of, bool other) {
    page.put("<div>\n");
    calibration_table(page, of, whose(other), found);
    page.put("</div>\n");
  });
  page.put("</div>\n");
}

void threshold_table(Html& page, const RankedScores& scores, double used, const std::string& of) {
  std::vector<double> thresholds{used};
  for (int k = 1; k < 10; ++k) thresholds.push_back(k / 10.0);
  std::ranges::sort(thresholds);
  thresholds.erase(std::unique(thresholds.begin(), thresholds.end()), thresholds.end());
  std::vector<Line> lines;
  for (const double t : thresholds) {
    const ConfusionCounts at = scores.at(t);
    lines.push_back({number(t) + (t == used ? " (used)" : ""), fmt::format("{}", at.true_positives),
                     fmt::format("{}", at.false_negatives), fmt::format("{}", at.false_positives),
                     fmt::format("{}", at.true_negatives), one_digit(at.recall()),
                     one_digit(at.precision())});
  }
  table_of(page, "PRIVATE. Confusion of " + of,
           {"threshold", "TP", "FN", "FP", "TN", "recall", "precision"}, lines);
}

void threshold_figures(Html& page, const Pair<RankedScores>& scores, double used) {
  const std::pair<const char*, double (ConfusionCounts::*)() const> panels[] = {
      {"recall", &ConfusionCounts::recall},
      {"precision", &ConfusionCounts::precision},
      {"false alarms", &ConfusionCounts::false_alarms},
      {"accuracy", &ConfusionCounts::accuracy}};
  constexpr int steps = 100;
  page.put("<div class=\"grid\">\n");
  for (const auto& [name, share] : panels) {
    const SquarePlot plot;
    begin(page, plot, fmt::format("{} for each threshold", name));
    plot.share_grid(page);
    page.put("<path class=\"even\" d=\"M{:.1f} {}v{}\"/>\n", plot.x(used), SquarePlot::top,
             SquarePlot::side);
    draw(page, plot, both(scores, [&, share = share](const RankedScores& of) {
           Curve out;
           for (int k = 0; k <= steps; ++k) {
             const double t = static_cast<double>(k) / steps;
             out.push_back({t, (of.at(t).*share)()});
           }
           return out;
         }));
    plot.names(page, "threshold", name, SquarePlot::top + SquarePlot::side / 4);
    end(page, both(scores, [](const RankedScores&) { return std::string(); }),
        fmt::format("Dotted: the threshold {}.", number(used)));
  }
  page.put("</div>\n");
}

struct TwoClasses {
  Evaluation figures;
  RankedScores scores;
};

void two_classes_sections(Html& page, const Dataset& data, const Pair<const LinearModel*>& models,
                          double threshold) {
  const Schema& schema = models.model->schema;
  const auto judged = both(models, [&](const LinearModel* of) {
    const std::vector<double> p = predict_probabilities(*of, data.view());
    return TwoClasses{evaluate(p, data.y, threshold),
                      RankedScores(p, [&](std::size_t i) { return data.y[i] > 0; })};
  });
  const auto of = [&](auto f) {
    return both(judged, [&](const TwoClasses& one) { return f(one.figures); });
  };
  const Evaluation& e = judged.model.figures;
  summary(page, e.rows, judged.other.has_value(), "majority class",
          {{"accuracy", of([](const Evaluation& one) { return percent_of(one.accuracy); })},
           {"log-loss", of([](const Evaluation& one) { return four(one.log_loss); })},
           {"AUC", of([](const Evaluation& one) { return four(one.auc); })}},
          {percent_of(e.majority), "", "0.5"});
  const auto scores = both(judged, [](const TwoClasses& one) { return one.scores; });
  heading(page, "roc", "ROC curve");
  if (std::isnan(e.auc)) {
    page.put("<p>These rows are all of one class: there is no ROC curve and no AUC.</p>\n");
  } else {
    roc_figure(page, scores, of([](const Evaluation& one) { return one.auc; }),
               schema.label + " = " + schema.positive, 400, threshold);
  }
  calibration_section(page, of([](const Evaluation& one) { return one.calibration; }),
                      "mean probability predicted", "share found", "found");
  heading(page, "thresholds", "Confusion by threshold");
  page.put(
      "<p>“{}” is predicted from a probability of the threshold on. TP: rows that are so and "
      "predicted so; FN: missed; FP: false alarms; TN: the others, rightly. Recall is TP of TP + "
      "FN, precision TP of TP + FP, false alarms FP of FP + TN.</p>\n",
      schema.positive);
  scores.each([&](const RankedScores& one, bool other) {
    threshold_table(page, one, threshold, whose(other));
  });
  threshold_figures(page, scores, threshold);
}

// Places of classes, those with the most rows first, at most `most`, in the schema's order.
std::vector<std::size_t> largest_classes(const ClassesEvaluation& e, std::size_t most) {
  std::vector<std::size_t> out(e.classes);
  std::iota(out.begin(), out.end(), std::size_t{0});
  if (out.size() <= most) return out;
  std::ranges::stable_sort(out, std::greater{}, [&](std::size_t k) { return e.rows_of(k); });
  out.resize(most);
  std::ranges::sort(out);
  return out;
}

void matrix_table(Html& page, const ClassesEvaluation& e, const Schema& schema,
                  const std::string& of) {
  if (e.classes > most_matrix) {
    std::vector<Line> lines;
    for (const std::size_t pair : e.most_confused(most_pairs)) {
      lines.push_back({schema.classes[pair / e.classes], schema.classes[pair % e.classes],
                       fmt::format("{}", e.confusion[pair])});
    }
    return table_of(page, "PRIVATE. Most often taken for another class by " + of,
                    {"is", "predicted", "rows"}, lines);
  }
  page.put(
      "<table class=\"wide names\"><caption>PRIVATE. Confusion of {}: rows by what is, columns by "
      "what "
      "is predicted</caption><thead><tr><th scope=\"col\">is</th>",
      of);
  for (const std::string& name : schema.classes) page.put("<th scope=\"col\">{}</th>", name);
  page.put("</tr></thead><tbody>\n");
  for (std::size_t is = 0; is < e.classes; ++is) {
    page.put("<tr><th scope=\"row\">{}</th>", schema.classes[is]);
    for (std::size_t k = 0; k < e.classes; ++k)
      page.put("<td{}>{}</td>", Markup{k == is ? " class=\"right\"" : ""}, e.rows_of(is, k));
    page.put("</tr>\n");
  }
  page.put("</tbody></table>\n");
}

void class_table(Html& page, const ClassesEvaluation& e, const Schema& schema,
                 const std::string& of) {
  std::vector<Line> lines;
  for (const std::size_t k : largest_classes(e, most_classes)) {
    lines.push_back({schema.classes[k], fmt::format("{}", e.rows_of(k)), one_digit(e.recall(k)),
                     one_digit(e.precision(k)), four(e.auc[k])});
  }
  table_of(page, "PRIVATE. Each class against all others, by " + of,
           {"class", "rows", "recall", "precision", "AUC"}, lines);
}

void classes_sections(Html& page, const Dataset& data, const Pair<const LinearModel*>& models) {
  const Schema& schema = models.model->schema;
  const std::size_t classes = schema.classes.size();
  const auto probabilities =
      both(models, [&](const LinearModel* of) { return predict_classes(*of, data.view()); });
  const auto judged = both(probabilities, [&](const std::vector<double>& p) {
    return evaluate_classes(p, data.y, classes);
  });
  const auto of = [&](auto f) { return both(judged, f); };
  const ClassesEvaluation& e = judged.model;
  summary(page, e.rows, judged.other.has_value(), "largest class",
          {{"accuracy", of([](const auto& one) { return percent_of(one.accuracy); })},
           {"log-loss", of([](const auto& one) { return four(one.log_loss); })},
           {"AUC, mean of the classes", of([](const auto& one) { return four(one.mean_auc); })}},
          {percent_of(e.majority), "", "0.5"});
  heading(page, "roc", "ROC curves, each class against the rest");
  std::vector<std::size_t> shown_classes;
  for (const std::size_t k : largest_classes(e, most_class_curves))
    if (!std::isnan(e.auc[k])) shown_classes.push_back(k);
  if (shown_classes.empty()) {
    page.put("<p>These rows are all of one class: there is no ROC curve and no AUC.</p>\n");
  } else if (classes > shown_classes.size()) {
    page.put("<p>Of {} of {} classes, those with the most rows.</p>\n", shown_classes.size(),
             classes);
  }
  page.put("{}", Markup{shown_classes.empty() ? "" : "<div class=\"grid\">\n"});
  std::vector<double> of_class(data.rows());
  for (const std::size_t k : shown_classes) {
    const auto scores = both(probabilities, [&](const std::vector<double>& p) {
      for (std::size_t i = 0; i < of_class.size(); ++i) of_class[i] = p[i * classes + k];
      return RankedScores(of_class,
                          [&](std::size_t i) { return static_cast<std::size_t>(data.y[i]) == k; });
    });
    page.put("<div>\n<h3>{}</h3>\n", schema.classes[k]);
    roc_figure(page, scores, of([&](const auto& one) { return one.auc[k]; }),
               schema.label + " = " + schema.classes[k], 200, std::nullopt);
    page.put("</div>\n");
  }
  page.put("{}", Markup{shown_classes.empty() ? "" : "</div>\n"});
  heading(page, "confusion", "Confusion");
  judged.each([&](const ClassesEvaluation& one, bool other) {
    matrix_table(page, one, schema, whose(other));
  });
  judged.each([&](const ClassesEvaluation& one, bool other) {
    class_table(page, one, schema, whose(other));
  });
  if (classes > most_classes)
    page.put("<p>The {} classes with the most rows, of {}.</p>\n", most_classes, classes);
  calibration_section(page, of([](const auto& one) { return one.calibration; }),
                      "mean probability of the class predicted", "share right", "right");
}

// --- Amounts and counts --------------------------------------------------------------------------

struct Amounts {
  AmountEvaluation figures;
  std::vector<double> errors;  // predicted - found [n]
  double mean_error = 0;
  std::vector<PredictionBin> bins;
};

// With room for its numbers.
SquarePlot amount_plot(Range across, Range up) {
  SquarePlot plot;
  plot.across = across;
  plot.up = up;
  plot.left = 68;
  return plot;
}

void amount_grid(Html& page, const SquarePlot& plot, bool shares) {
  for (const double tick : ticks(plot.across.low, plot.across.high, 5)) {
    page.put("<path class=\"rule\" d=\"M{:.1f} {}v{}\"/>\n", plot.x(tick), SquarePlot::top,
             SquarePlot::side);
    page.put("<text class=\"middle\" x=\"{:.1f}\" y=\"{}\">{}</text>\n",
             std::min(plot.x(tick), 338.0), SquarePlot::top + SquarePlot::side + 16,
             figure_of(tick));
  }
  for (const double tick : ticks(plot.up.low, plot.up.high, 5)) {
    page.put("<path class=\"rule\" d=\"M{} {:.1f}h{}\"/>\n", plot.left, plot.y(tick),
             SquarePlot::side);
    page.put("<text class=\"end\" x=\"{}\" y=\"{:.1f}\">{}</text>\n", plot.left - 5,
             plot.y(tick) + 4, shares ? fmt::format("{:.4g} %", 100 * tick) : figure_of(tick));
  }
}

void predicted_figure(Html& page, const Pair<Amounts>& judged, const Schema& schema) {
  Range range{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  judged.each([&](const Amounts& one, bool) {
    for (const PredictionBin& bin : one.bins) {
      range.low = std::min({range.low, bin.predicted, bin.found});
      range.high = std::max({range.high, bin.predicted, bin.found});
    }
  });
  const double room = range.high > range.low ? 0.04 * (range.high - range.low) : 1;
  range = {range.low - room, range.high + room};
  const SquarePlot plot = amount_plot(range, range);
  begin(page, plot, fmt::format("Mean of {} found by the mean predicted", schema.label));
  amount_grid(page, plot, false);
  diagonal(page, plot);
  const auto curve = [](const Amounts& one) {
    Curve out;
    for (const PredictionBin& bin : one.bins) out.push_back({bin.predicted, bin.found});
    return out;
  };
  draw(page, plot, both(judged, curve));
  const auto dots = [&](const Amounts& one, const char* kind) {
    for (const Point& p : curve(one))
      page.put("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"/>\n", kind, plot.x(p.x),
               plot.y(p.y));
  };
  if (judged.other) dots(*judged.other, "ring");
  dots(judged.model, "dot");
  plot.names(page, "mean predicted", "mean found", SquarePlot::top + SquarePlot::side / 2);
  end(page, both(judged, [](const Amounts&) { return std::string(); }),
      "Ten groups of about as many rows, by what is predicted. On the dotted line predictions are "
      "what is found.");
}

void error_figure(Html& page, const Pair<Amounts>& judged) {
  constexpr std::size_t bars = 41;
  double most = 0;  // holds 99 % of the errors of each
  judged.each([&](const Amounts& one, bool) {
    std::vector<double> sizes;
    for (const double error : one.errors) sizes.push_back(std::fabs(error));
    const auto at = sizes.begin() + static_cast<std::ptrdiff_t>((sizes.size() - 1) * 99 / 100);
    std::ranges::nth_element(sizes, at);
    most = std::max(most, *at);
  });
  if (!(most > 0)) most = 1;
  const Range range{-most, most};
  double highest = 0;
  const auto heights = both(judged, [&](const Amounts& one) {
    std::vector<double> out(bars, 0.0);
    for (const double error : one.errors) {
      const double place = std::clamp(range.share(error), 0.0, 1.0) * static_cast<double>(bars);
      out[std::min(static_cast<std::size_t>(place), bars - 1)] +=
          1 / static_cast<double>(one.errors.size());
    }
    highest = std::max(highest, std::ranges::max(out));
    return out;
  });
  const SquarePlot plot = amount_plot(range, {0, 1.05 * highest});
  begin(page, plot, "How the errors lie");
  amount_grid(page, plot, true);
  page.put("<path class=\"even\" d=\"M{:.1f} {}v{}\"/>\n", plot.x(0), SquarePlot::top,
           SquarePlot::side);
  draw(page, plot, both(heights, [&](const std::vector<double>& of) {
         Curve out;
         const double width = 2 * most / static_cast<double>(bars);
         for (std::size_t k = 0; k < bars; ++k) {
           const double from = -most + static_cast<double>(k) * width;
           out.insert(out.end(), {{from, of[k]}, {from + width, of[k]}});
         }
         return out;
       }));
  plot.names(page, "error: predicted less found", "share of the rows",
             SquarePlot::top + SquarePlot::side / 2);
  end(page, both(judged, [](const Amounts&) { return std::string(); }),
      "The first bar and the last hold what lies beyond.");
}

void amount_table(Html& page, const Amounts& one, const std::string& of) {
  std::vector<Line> lines;
  for (const PredictionBin& bin : one.bins) {
    lines.push_back({bin.low == bin.high ? figure_of(bin.low)
                                         : figure_of(bin.low) + " to " + figure_of(bin.high),
                     fmt::format("{}", bin.rows), figure_of(bin.predicted), figure_of(bin.found),
                     figure_of(bin.rmse)});
  }
  table_of(page, "PRIVATE. Rows by what " + of + " predicts",
           {"predicted", "rows", "mean", "found", "RMSE"}, lines);
}

void amount_sections(Html& page, const Dataset& data, const Pair<const LinearModel*>& models) {
  const Schema& schema = models.model->schema;
  const bool counts = schema.label_kind == LabelKind::count;
  std::vector<double> found;
  for (const float y : data.y)
    found.push_back(schema.label_middle() + schema.label_unit() * static_cast<double>(y));
  const auto judged = both(models, [&](const LinearModel* of) {
    const std::vector<double> predicted = predict_amounts(*of, data.view());
    Amounts out{evaluate_amounts(schema, predicted, data.y),
                {},
                0,
                bins_by_prediction(predicted, found, 10)};
    for (std::size_t i = 0; i < found.size(); ++i) {
      out.errors.push_back(predicted[i] - found[i]);
      out.mean_error += out.errors.back() / static_cast<double>(found.size());
    }
    return out;
  });
  const auto of = [&](double AmountEvaluation::*what) {
    return both(judged, [&](const Amounts& one) { return figure_of(one.figures.*what); });
  };
  const AmountEvaluation& e = judged.model.figures;
  std::vector<std::pair<std::string, Pair<std::string>>> lines{
      {"RMSE", of(&AmountEvaluation::rmse)},
      {"mean absolute error", of(&AmountEvaluation::mae)},
      {"mean error", both(judged, [](const Amounts& one) { return figure_of(one.mean_error); })},
      {"R²", of(&AmountEvaluation::r2)}};
  std::vector<std::string> without{figure_of(e.deviation), "", "0",
                                   std::isnan(e.r2) ? "- (all equal)" : "0"};
  if (counts) {
    lines.emplace_back("deviance a row", of(&AmountEvaluation::deviance));
    without.push_back(figure_of(e.mean_deviance));
  }
  summary(page, e.rows, judged.other.has_value(), "the labels’ mean", lines, without);
  heading(page, "predicted", "What is found beside what is predicted");
  predicted_figure(page, judged, schema);
  page.put("<div class=\"grid\">\n");
  judged.each([&](const Amounts& one, bool other) {
    page.put("<div>\n");
    amount_table(page, one, whose(other));
    page.put("</div>\n");
  });
  page.put("</div>\n");
  heading(page, "errors", "Errors");
  error_figure(page, judged);
}

// --- All
// ------------------------------------------------------------------------------------------

void cells_section(Html& page, const Dataset& data) {
  heading(page, "cells", "Cells that the reader changed");
  const Schema& schema = data.schema;
  const IngestCounts& counts = data.counts;
  const auto rows = static_cast<double>(data.rows());
  const auto cell = [&](std::uint64_t count) {
    return count == 0
               ? std::string("0")
               : fmt::format("{} ({:.2g} %)", count, 100 * static_cast<double>(count) / rows);
  };
  std::vector<std::size_t> changed;
  std::size_t used = 0;
  for (std::size_t j = 0; j < std::min(counts.columns.size(), schema.columns.size()); ++j) {
    if (schema.columns[j].type == ColumnType::ignore) continue;
    ++used;
    if (counts.columns[j].sum() > 0) changed.push_back(j);
  }
  std::ranges::stable_sort(changed, std::greater{},
                           [&](std::size_t j) { return counts.columns[j].sum(); });
  const std::size_t all = changed.size();
  page.put(
      "<p>Outside: numbers below or above their public range, counted as the nearer end. Missing: "
      "as the schema writes it. Unlisted: levels counted as “(other)”. Unreadable: what is no cell "
      "of the column, counted as the middle.</p>\n");
  if (all == 0) {
    page.put("<p>Of {} column{} not one cell was changed.</p>\n", used, plural(used));
  } else {
    changed.resize(std::min(all, most_columns_listed));
    std::vector<Line> lines;
    for (const std::size_t j : changed) {
      const CellCounts& c = counts.columns[j];
      lines.push_back({schema.columns[j].name, cell(c.clamped), cell(c.missing), cell(c.other),
                       cell(c.invalid)});
    }
    table_of(page, "PRIVATE. Cells by column, the most first",
             {"column", "outside", "missing", "unlisted", "unreadable"}, lines);
    if (all > changed.size())
      page.put("<p>and {} more columns with fewer</p>\n", all - changed.size());
    if (used > all)
      page.put("<p>The other {} column{}: not one cell.</p>\n", used - all, plural(used - all));
  }
  const std::pair<std::uint64_t, const char*> others[] = {
      {counts.clamped_labels, "labels outside of their public range"},
      {counts.unlisted_labels, "labels of no listed class"},
      {counts.invalid_labels, "labels missing or unreadable"},
      {counts.clipped_rows, "rows longer than the public bound, scaled down"}};
  page.put("<ul>\n");
  for (const auto& [count, what] : others) page.put("<li>{}: {}</li>\n", what, cell(count));
  page.put("</ul>\n");
}

void head_sections(Html& page, const Release& release, const std::string& digest,
                   const std::optional<LinearModel>& non_private, const CuratorOptions& options) {
  const LinearModel& model = release.model();
  const bool is_void = release.certificate().is_void();
  const std::string title = "How good the model of " + model.schema.label + " is";
  open_page(page, std::string("PRIVATE. ") + (is_void ? "Void. " : "") + title, {curator_style});
  page.put(
      "<p class=\"mark\">{}PRIVATE: for the curator alone. No certificate covers this page.</p>\n",
      is_void ? "NO GUARANTEE, AND " : "");
  if (is_void) void_line(page);
  page.put("<h1>{}</h1>\n<p>Loss {}, mechanism {}, judged on {}.</p>\n", title, model.loss,
           std::string(name_of(release.certificate().mechanism)),
           options.table.empty() ? std::string("a table") : "the table " + options.table);
  page.put(
      "<div class=\"said\"><p>Every number and every curve here reads the rows of this table. "
      "Whoever publishes one of them, or chooses by them what to publish, tells something about "
      "these people that no certificate counts. Publish it only if the table is public. For others "
      "there is <code>gibbsite report</code>, which reads the model file alone.</p>\n");
  page.put("</div>\n");
  if (non_private) {
    page.put(
        "<p>Beside it, the <strong>{}</strong>: the ordinary fit of the same loss to these same "
        "rows, without noise. It is judged on the rows that it was fitted to, so it looks a little "
        "better than it is; nothing of it was kept.</p>\n",
        beside_name);
  } else {
    page.put(
        "<p>There is no fit without privacy beside it: the model has {} coefficients, and at most "
        "{} are fitted.</p>\n",
        model.draws.front().size(), most_non_private_features);
  }
  page.put(
      "<p class=\"note\">Where these are the rows that the model itself was fitted to, it too "
      "looks "
      "better than on others. Digest in the model file: <code>{}</code>.</p>\n",
      digest);
}

}  // namespace

std::string curator_report(const std::string& text, const std::string& source, const Dataset& data,
                           const std::optional<LinearModel>& non_private,
                           const CuratorOptions& options) {
  const nlohmann::json file = parse_release_json(text, source);
  const Release release = parse_release(text, source);
  require_verified(file, source);
  const LinearModel& model = release.model();
  Html page;
  head_sections(page, release, file.at("certificate").at("digest").get<std::string>(), non_private,
                options);
  const Pair<const LinearModel*> models{
      &model, non_private ? std::optional<const LinearModel*>(&*non_private) : std::nullopt};
  switch (model.schema.label_kind) {
    case LabelKind::two_classes:
      two_classes_sections(page, data, models, options.threshold);
      break;
    case LabelKind::classes:
      classes_sections(page, data, models);
      break;
    case LabelKind::amount:
    case LabelKind::count:
      amount_sections(page, data, models);
      break;
  }
  cells_section(page, data);
  page.put("<p class=\"mark foot\">PRIVATE: for the curator alone.</p>\n");
  return closed(page);
}

}  // namespace gibbsite
