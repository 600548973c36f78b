// The curator's page where the label is an amount or a count.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "compare/curator_parts.hpp"
#include "gibbsite/core/ticks.hpp"

namespace gibbsite::curator {

namespace {

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
  begin(page, plot, fmt::format("Mean of {} found by the mean predicted", schema.label_name));
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

}  // namespace

void amount_sections(Html& page, const Dataset& data, const Pair<const LinearModel*>& models) {
  const Schema& schema = models.model->schema;
  const bool counts = is<Count>(schema.label);
  std::vector<double> found;
  for (const float y : data.y)
    found.push_back(label_middle(schema.label) + label_unit(schema.label) * static_cast<double>(y));
  const auto judged = both(models, [&](const LinearModel* of) {
    const std::vector<double> predicted = predict_amounts(*of, data.view());
    Amounts out{evaluate_amounts(schema, predicted, data.y, data.weight),
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

}  // namespace gibbsite::curator
