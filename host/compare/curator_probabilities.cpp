// How probabilities are judged, of two classes or of each of several: ROC curves and calibration.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compare/curator_parts.hpp"
#include "gibbsite/core/human_count.hpp"

namespace gibbsite::curator {

namespace {

Curve roc_curve(const RankedScores& scores, std::size_t most) {
  Curve out;
  for (const RocPoint& p : scores.roc(most)) out.push_back({p.false_alarms, p.recall});
  return out;
}

}  // namespace

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

namespace {

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

}  // namespace

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

}  // namespace gibbsite::curator
