#include "audit_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "gibbsite/release/svg.hpp"

namespace gibbsite::cli {
namespace {

class AuditPlot : Svg {
 public:
  AuditPlot(std::span<const double> of_table, std::span<const double> of_neighbor, double threshold)
      : threshold_(threshold) {
    std::vector<double> all(of_table.begin(), of_table.end());
    all.insert(all.end(), of_neighbor.begin(), of_neighbor.end());
    std::ranges::sort(all);
    // Without the last thousandth on either side: far tails would leave nothing to see.
    const std::size_t cut = all.size() / 1000;
    x_ = {std::min(all[cut], threshold), std::max(all[all.size() - 1 - cut], threshold)};
    const double room = std::max(0.02 * (x_.high - x_.low), 1e-12 * (1 + std::fabs(x_.low)));
    x_ = {x_.low - room, x_.high + room};
    for (const auto& sample : {of_table, of_neighbor}) {
      std::vector<double> shares(bins);
      for (const double value : sample) {
        const double bin = x_.share(value) * bins;
        if (bin >= 0 && bin < bins) shares[static_cast<std::size_t>(bin)] += 1;
      }
      for (double& share : shares) {
        share /= static_cast<double>(sample.size());
        highest_ = std::max(highest_, share);
      }
      shares_.push_back(std::move(shares));
    }
  }

  std::string svg(const std::string& title, const std::string& note, const std::string& mark) {
    const std::vector<std::string> notes = lines_that_fit(note, width - left - 10);
    begin(width, height + svg_line * static_cast<double>(notes.size() - 1), left, title, mark);
    for (const double tick : ticks(x_.low, x_.high, 6)) {
      put("<path class=\"axis\" d=\"M{:.1f} {}v4\"/>", across(tick), bottom);
      put("<text class=\"middle\" x=\"{:.1f}\" y=\"{}\">{:.4g}</text>\n", across(tick), bottom + 18,
          tick + 0.0);
    }
    histogram(0, "the table");
    histogram(1, "its neighbor");
    put("<path stroke=\"#7d858e\" stroke-width=\"1.2\" stroke-dasharray=\"8 3\" "
        "d=\"M{:.1f} {}V{}\"/>\n",
        across(threshold_), top, bottom);
    put("<path class=\"axis\" d=\"M{} {}H{}\"/>\n", left, bottom, right);
    put("<text class=\"middle\" x=\"{}\" y=\"{}\">what tells them apart; dashed: the "
        "threshold</text>\n",
        (left + right) / 2, bottom + 36);
    lines(left, bottom + 58, notes);
    return end();
  }

 private:
  static constexpr double left = 30, top = 46, panel_width = 560, panel_height = 300;
  static constexpr double right = left + panel_width, bottom = top + panel_height;
  static constexpr double width = right + 160, height = bottom + 68;
  static constexpr std::size_t bins = 70;

  [[nodiscard]] double across(double value) const { return left + x_.share(value) * panel_width; }
  [[nodiscard]] double at(double share) const { return bottom - share / highest_ * panel_height; }

  void histogram(std::size_t k, const char* name) {
    std::string line = fmt::format("M{:.1f} {:.1f}", left, bottom);
    for (std::size_t b = 0; b < bins; ++b) {
      const double x = left + panel_width * static_cast<double>(b + 1) / bins;
      line += fmt::format("V{:.1f}H{:.1f}", at(shares_[k][b]), x);
    }
    const char* const color = svg_colors[k];
    put("<path stroke=\"{}\" stroke-width=\"1.6\" fill=\"{}\" fill-opacity=\"0.15\" "
        "d=\"{}V{:.1f}\"/>\n",
        color, color, line, bottom);
    const double y = top + 16 * static_cast<double>(k + 1);
    put("<path stroke=\"{}\" stroke-width=\"1.8\" d=\"M{} {:.1f}h22\"/>", color, right + 10, y);
    put("<text x=\"{}\" y=\"{:.1f}\">{}</text>\n", right + 40, y + 4, name);
  }

  double threshold_;
  Range x_;
  std::vector<std::vector<double>> shares_;
  double highest_ = 1e-12;
};

}  // namespace

std::string audit_plot(const std::string& title, const std::string& note, const std::string& mark,
                       std::span<const double> of_table, std::span<const double> of_neighbor,
                       double threshold) {
  return AuditPlot(of_table, of_neighbor, threshold).svg(title, note, mark);
}

}  // namespace gibbsite::cli
