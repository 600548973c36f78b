#include "compare_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "gibbsite/release/svg.hpp"

namespace gibbsite::cli {
namespace {

class AccuracyPlot : Svg {
 public:
  AccuracyPlot(const std::vector<Curve>& curves, const std::vector<Level>& levels)
      : curves_(curves), levels_(levels) {
    double low = 1, high = 0;
    const auto meet = [&](double value) {
      low = std::min(low, value);
      high = std::max(high, value);
    };
    for (const Curve& curve : curves) {
      for (const auto& [epsilon, accuracy] : curve.points) {
        const double half = std::isnan(accuracy.sd) ? 0 : accuracy.sd;
        meet(accuracy.mean - half);
        meet(accuracy.mean + half);
        epsilons_.push_back(epsilon);
      }
    }
    for (const Level& level : levels) meet(level.accuracy);
    const double margin = std::max(0.04 * (high - low), 1e-3);
    y_ = {std::max(0.0, low - margin), std::min(1.0, high + margin)};
    std::ranges::sort(epsilons_);
    epsilons_.erase(std::unique(epsilons_.begin(), epsilons_.end()), epsilons_.end());
    x_ = {std::log(epsilons_.front()), std::log(epsilons_.back())};
    const double room = std::max(0.07 * (x_.high - x_.low), 0.05);
    x_ = {x_.low - room, x_.high + room};
  }

  std::string svg(const std::string& title, const std::string& note, const std::string& mark) {
    const std::vector<std::string> notes = lines_that_fit(note, width - left - 10);
    begin(width, height + svg_line * static_cast<double>(notes.size() - 1), left, title, mark);
    axes(notes);
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      const Label& level = labels_.emplace_back(
          Label{levels_[l].name,
                fmt::format("stroke=\"#7d858e\" stroke-width=\"1.2\" stroke-dasharray=\"{}\"",
                            l == 0 ? "8 3" : "2 3"),
                at(levels_[l].accuracy)});
      put("<path {} d=\"M{} {:.1f}h{}\"/>\n", level.stroke, left, level.y, panel_width);
    }
    for (std::size_t k = 0; k < curves_.size(); ++k) curve(k);
    names();
    return end();
  }

 private:
  static constexpr double left = 66, top = 46, panel_width = 500, panel_height = 320;
  static constexpr double right = left + panel_width, bottom = top + panel_height;
  static constexpr double width = right + 176, height = bottom + 68;
  static constexpr double line_height = 16;  // of names
  static constexpr double beside = 5;        // between curves at one epsilon

  struct Label {
    std::string name, stroke;
    double y = 0;  // where its line ends
  };

  [[nodiscard]] double at(double accuracy) const {
    return top + (1 - y_.share(accuracy)) * panel_height;
  }
  [[nodiscard]] double across(double epsilon) const {
    return left + x_.share(std::log(epsilon)) * panel_width;
  }

  void axes(const std::vector<std::string>& notes) {
    const double percent = 100;
    for (const double tick : ticks(percent * y_.low, percent * y_.high, 6)) {
      const double y = at(tick / percent);
      put("<path class=\"rule\" d=\"M{} {:.1f}h{}\"/>\n", left, y, panel_width);
      put("<text class=\"end\" x=\"{}\" y=\"{:.1f}\">{:.6g} %</text>\n", left - 7, y + 4, tick);
    }
    double last = -std::numeric_limits<double>::infinity();
    for (const double epsilon : epsilons_) {
      const std::string text = fmt::format("{:.4g}", epsilon);
      const double x = across(epsilon), half = 4.0 * static_cast<double>(text.size());
      put("<path class=\"axis\" d=\"M{:.1f} {}v4\"/>", x, bottom);
      if (x - half < last) continue;
      last = x + half;
      put("<text class=\"middle\" x=\"{:.1f}\" y=\"{}\">{}</text>\n", x, bottom + 18, text);
    }
    put("<path class=\"axis\" d=\"M{} {}V{}H{}\"/>\n", left, top, bottom, right);
    put("<text class=\"middle\" x=\"{}\" y=\"{}\">privacy budget ε</text>\n",
        left + panel_width / 2, bottom + 36);
    lines(left, bottom + 58, notes);
  }

  // Beside each other at one epsilon, so that their bars can be told apart.
  void curve(std::size_t k) {
    const Curve& curve = curves_[k];
    const char* const color = svg_colors[k % std::size(svg_colors)];
    const double shift =
        beside * (static_cast<double>(k) - static_cast<double>(curves_.size() - 1) / 2);
    std::string line, bars;
    for (const auto& [epsilon, accuracy] : curve.points) {
      const double x = across(epsilon) + shift, y = at(accuracy.mean);
      line += fmt::format("{}{:.1f} {:.1f}", line.empty() ? 'M' : 'L', x, y);
      if (accuracy.sd > 0) {
        bars += fmt::format("M{:.1f} {:.1f}V{:.1f}", x, at(accuracy.mean - accuracy.sd),
                            at(accuracy.mean + accuracy.sd));
      }
    }
    const std::string stroke =
        fmt::format("stroke=\"{}\" stroke-width=\"1.8\"{}", color,
                    k < std::size(svg_colors) ? "" : " stroke-dasharray=\"7 3\"");
    put("<path {} stroke-linejoin=\"round\" fill=\"none\" d=\"{}\"/>\n", stroke, line);
    if (!bars.empty()) {
      put("<path stroke=\"{}\" stroke-width=\"1.2\" stroke-opacity=\"0.8\" fill=\"none\" "
          "d=\"{}\"/>\n",
          color, bars);
    }
    for (const auto& [epsilon, accuracy] : curve.points) {
      put("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", across(epsilon) + shift,
          at(accuracy.mean), color);
    }
    labels_.push_back({curve.name, stroke, at(curve.points.back().accuracy.mean)});
  }

  // Beside the ends of their lines, moved apart where they would touch.
  void names() {
    std::ranges::stable_sort(labels_, {}, &Label::y);
    std::vector<double> places;
    for (const Label& label : labels_) {
      places.push_back(places.empty() ? label.y : std::max(label.y, places.back() + line_height));
    }
    double highest = bottom;  // and up again from below the panel
    for (std::size_t i = places.size(); i-- > 0; highest = places[i] - line_height) {
      places[i] = std::min(places[i], highest);
    }
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      const Label& label = labels_[i];
      put("<path {} d=\"M{} {:.1f}h22\"/>", label.stroke, right + 10, places[i]);
      put("<text x=\"{}\" y=\"{:.1f}\">{}</text>\n", right + 40, places[i] + 4,
          escaped_xml(label.name));
    }
  }

  const std::vector<Curve>& curves_;
  const std::vector<Level>& levels_;
  std::vector<double> epsilons_;
  Range x_, y_;
  std::vector<Label> labels_;
};

}  // namespace

std::string accuracy_plot(const std::string& title, const std::string& note,
                          const std::string& mark, const std::vector<Curve>& curves,
                          const std::vector<Level>& levels) {
  return AccuracyPlot(curves, levels).svg(title, note, mark);
}

}  // namespace gibbsite::cli
