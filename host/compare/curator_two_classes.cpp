// The curator's page where the label has two classes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compare/curator_parts.hpp"

namespace gibbsite::curator {

namespace {

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

struct JudgedTwoClasses {
  Evaluation figures;
  RankedScores scores;
};

}  // namespace

void two_classes_sections(Html& page, const Dataset& data, const Pair<const LinearModel*>& models,
                          double threshold) {
  const Schema& schema = models.model->schema;
  const std::string& positive = std::get<TwoClasses>(schema.label).positive;
  const auto judged = both(models, [&](const LinearModel* of) {
    const std::vector<double> p = predict_probabilities(*of, data.view());
    return JudgedTwoClasses{evaluate(p, data.y, threshold, data.weight),
                            RankedScores(p, [&](std::size_t i) { return data.y[i] > 0; })};
  });
  const auto of = [&](auto f) {
    return both(judged, [&](const JudgedTwoClasses& one) { return f(one.figures); });
  };
  const Evaluation& e = judged.model.figures;
  summary(page, e.rows, judged.other.has_value(), "majority class",
          {{"accuracy", of([](const Evaluation& one) { return percent_of(one.accuracy); })},
           {"log-loss", of([](const Evaluation& one) { return four(one.log_loss); })},
           {"AUC", of([](const Evaluation& one) { return four(one.auc); })}},
          {percent_of(e.majority), "", "0.5"});
  const auto scores = both(judged, [](const JudgedTwoClasses& one) { return one.scores; });
  heading(page, "roc", "ROC curve");
  if (std::isnan(e.auc)) {
    page.put("<p>These rows are all of one class: there is no ROC curve and no AUC.</p>\n");
  } else {
    roc_figure(page, scores, of([](const Evaluation& one) { return one.auc; }),
               schema.label_name + " = " + positive, 400, threshold);
  }
  calibration_section(page, of([](const Evaluation& one) { return one.calibration; }),
                      "mean probability predicted", "share found", "found");
  heading(page, "thresholds", "Confusion by threshold");
  page.put(
      "<p>“{}” is predicted from a probability of the threshold on. TP: rows that are so and "
      "predicted so; FN: missed; FP: false alarms; TN: the others, rightly. Recall is TP of TP + "
      "FN, precision TP of TP + FP, false alarms FP of FP + TN.</p>\n",
      positive);
  scores.each([&](const RankedScores& one, bool other) {
    threshold_table(page, one, threshold, whose(other));
  });
  threshold_figures(page, scores, threshold);
}

}  // namespace gibbsite::curator
