#include "plots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <iterator>
#include <numeric>

#include "gibbsite/release/svg.hpp"
#include "text.hpp"

namespace gibbsite::cli {
namespace {

constexpr std::size_t most_chains = std::size(svg_colors);
constexpr double panel_width = 430, panel_height = 104, left = 66, gap = 74, right = 18;
constexpr double head = 78, row_height = panel_height + 42, foot = 66;
constexpr double ranks_left = left + panel_width + gap;
constexpr double width = ranks_left + panel_width + right;
// Ranks from 1 to S of the S draws of one parameter, equal draws sharing their mean rank.
std::vector<double> mean_ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> out(values.size());
  for (std::size_t i = 0, j = 0; i < order.size(); i = j) {
    while (j < order.size() && values[order[j]] == values[order[i]]) ++j;
    for (std::size_t k = i; k < j; ++k) out[order[k]] = static_cast<double>(i + j + 1) / 2;
  }
  return out;
}

class Plots : Svg {
 public:
  Plots(const Draws& draws, std::span<const std::size_t> parameters)
      : draws_(draws),
        parameters_(parameters),
        bins_(std::clamp<std::size_t>(draws.draws / 5, 4, 20)) {
    for (const std::size_t j : parameters) count(j);
    choose_chains();
  }

  std::string svg(const std::string& title, const std::string& mark,
                  const std::vector<std::string>& names, const std::vector<Summary>& summaries) {
    const double height = head + static_cast<double>(parameters_.size()) * row_height + foot;
    const std::vector<std::string> notes = lines_that_fit(
        "Gray band: where all bars of a row stay with a probability of at least 95 % "
        "when the chains agree and their draws are independent.",
        width - left - 10);
    begin(width, height + svg_line * static_cast<double>(notes.size() - 1), left, title, mark);
    legend();
    for (std::size_t p = 0; p < parameters_.size(); ++p) {
      const std::size_t j = parameters_[p];
      const double top = head + static_cast<double>(p) * row_height + 22;
      const Summary& s = summaries[j];
      put("<text class=\"panel\" x=\"{}\" y=\"{}\">{}</text>\n", left, top - 8,
          escaped_xml(names[j]));
      put("<text class=\"end\" x=\"{}\" y=\"{}\">R̂ {:.3f} · effective draws {} bulk, {} "
          "tail</text>\n",
          width - right, top - 8, s.r_hat, human_count(std::round(s.ess_bulk)),
          human_count(std::round(s.ess_tail)));
      const bool last = p + 1 == parameters_.size();
      traces(j, top, last);
      ranks(p, top, last);
    }
    const double bottom = head + static_cast<double>(parameters_.size()) * row_height;
    put("<text class=\"middle\" x=\"{}\" y=\"{}\">draw</text>\n", left + panel_width / 2,
        bottom + 22);
    put("<text class=\"middle\" x=\"{}\" y=\"{}\">{}</text>\n", ranks_left + panel_width / 2,
        bottom + 22,
        draws_.chains > 1 ? "rank among the draws of all chains, lowest to highest" : "");
    if (draws_.chains > 1) {
      lines(left, bottom + 50, notes);
    }
    return end();
  }

 private:
  [[nodiscard]] double value(std::size_t n, std::size_t c, std::size_t j) const {
    return draws_.values[(n * draws_.chains + c) * draws_.parameters + j];
  }

  // How many draws of each chain have ranks in which bin [C x bins].
  void count(std::size_t j) {
    std::vector<double> values;
    values.reserve(draws_.draws * draws_.chains);
    for (std::size_t n = 0; n < draws_.draws; ++n) {
      for (std::size_t c = 0; c < draws_.chains; ++c) values.push_back(value(n, c, j));
    }
    const std::vector<double> ranks = mean_ranks(values);
    std::vector<double>& counts = counts_.emplace_back(draws_.chains * bins_);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const double share = (ranks[i] - 0.5) / static_cast<double>(ranks.size());
      const auto bin = static_cast<std::size_t>(share * static_cast<double>(bins_));
      ++counts[i % draws_.chains * bins_ + std::min(bin, bins_ - 1)];
    }
  }

  [[nodiscard]] double even() const {
    return static_cast<double>(draws_.draws) / static_cast<double>(bins_);
  }

  void choose_chains() {
    std::vector<double> uneven(draws_.chains);
    for (const auto& counts : counts_) {
      for (std::size_t i = 0; i < counts.size(); ++i) {
        uneven[i / bins_] += (counts[i] - even()) * (counts[i] - even());
      }
    }
    shown_.resize(draws_.chains);
    std::iota(shown_.begin(), shown_.end(), 0);
    std::ranges::stable_sort(shown_,
                             [&](std::size_t a, std::size_t b) { return uneven[a] > uneven[b]; });
    shown_.resize(std::min(shown_.size(), most_chains));
    std::ranges::sort(shown_);
  }

  void legend() {
    double x = left;
    for (std::size_t k = 0; k < shown_.size(); ++k, x += 88) {
      put("<path d=\"M{} 48h20\" stroke=\"{}\" stroke-width=\"3\"/>", x, svg_colors[k]);
      put("<text x=\"{}\" y=\"52\">chain {}</text>\n", x + 26, shown_[k] + 1);
    }
    if (shown_.size() < draws_.chains) {
      put("<text x=\"{}\" y=\"52\">the {} of {} with the most uneven ranks</text>\n", x,
          shown_.size(), draws_.chains);
    }
  }

  void frame(double x, double top) {
    put("<path class=\"axis\" d=\"M{} {}v{}h{}\"/>\n", x, top, panel_height, panel_width);
  }
  void y_tick(double x, double y, const std::string& label) {
    put("<text class=\"end\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x - 7, y + 4, label);
  }

  void traces(std::size_t j, double top, bool last) {
    Range y{value(0, 0, j), value(0, 0, j)};
    for (std::size_t n = 0; n < draws_.draws; ++n) {
      for (const std::size_t c : shown_) {
        y.low = std::min(y.low, value(n, c, j));
        y.high = std::max(y.high, value(n, c, j));
      }
    }
    // Also where a chain never moved: ticks need a width.
    const double margin = std::max(0.04 * (y.high - y.low), 1e-6 * (1 + std::fabs(y.high)));
    y = {y.low - margin, y.high + margin};
    const auto height = [&](double v) { return top + (1 - y.share(v)) * panel_height; };
    for (const double tick : ticks(y.low, y.high, 4)) {
      put("<path class=\"rule\" d=\"M{} {:.1f}h{}\"/>\n", left, height(tick), panel_width);
      y_tick(left, height(tick), fmt::format("{:.6g}", tick));
    }
    const auto steps = static_cast<double>(draws_.draws);
    const auto across = [&](double n) { return left + (n + 0.5) / steps * panel_width; };
    if (last) {
      for (const double tick : ticks(1, steps, 5)) {
        put("<path class=\"axis\" d=\"M{:.1f} {}v4\"/>", across(tick - 1), top + panel_height);
        put("<text class=\"middle\" x=\"{:.1f}\" y=\"{}\">{}</text>\n", across(tick - 1),
            top + panel_height + 17, human_count(tick));
      }
    }
    // More draws than half pixels: each pixel's lowest and highest.
    const auto columns = static_cast<std::size_t>(panel_width);
    const bool all = draws_.draws <= 2 * columns;
    for (std::size_t k = 0; k < shown_.size(); ++k) {
      put("<path class=\"trace\" stroke=\"{}\" d=\"", svg_colors[k]);
      if (all) {
        for (std::size_t n = 0; n < draws_.draws; ++n) {
          put("{}{:.1f} {:.1f}", n == 0 ? 'M' : 'L', across(static_cast<double>(n)),
              height(value(n, shown_[k], j)));
        }
      } else {
        for (std::size_t i = 0; i < columns; ++i) {
          const std::size_t begin = i * draws_.draws / columns;
          const std::size_t end = (i + 1) * draws_.draws / columns;
          double low = value(begin, shown_[k], j), high = low;
          for (std::size_t n = begin + 1; n < end; ++n) {
            low = std::min(low, value(n, shown_[k], j));
            high = std::max(high, value(n, shown_[k], j));
          }
          put("{}{} {:.1f}V{:.1f}", i == 0 ? 'M' : 'L', left + static_cast<double>(i) + 0.5,
              height(low), height(high));
        }
      }
      put("\"/>\n");
    }
    frame(left, top);
  }

  void ranks(std::size_t p, double top, bool last) {
    if (draws_.chains == 1) {
      put("<text class=\"middle\" x=\"{}\" y=\"{}\">ranks compare chains; here is one</text>\n",
          ranks_left + panel_width / 2, top + panel_height / 2);
      return;
    }
    // n of the S draws are this chain's, S / bins ranks are in a bin.
    const auto n = static_cast<double>(draws_.draws);
    const double s = n * static_cast<double>(draws_.chains);
    const auto b = static_cast<double>(bins_);
    const double deviation = std::sqrt(n / b * (1 - 1 / b) * (s - n) / (s - 1));
    const double bars = b * static_cast<double>(draws_.chains);
    const double half = deviation * quantile(complement(boost::math::normal(), 0.05 / (2 * bars)));
    double highest = even() + half;
    for (const std::size_t c : shown_) {
      for (std::size_t i = 0; i < bins_; ++i) highest = std::max(highest, bar(p, c, i));
    }
    const Range y{0, 1.06 * highest};
    const auto height = [&](double v) { return top + (1 - y.share(v)) * panel_height; };
    const double bottom = top + panel_height;
    const double low = height(std::max(0.0, even() - half)), high = height(even() + half);
    const double facet = panel_width / static_cast<double>(shown_.size());
    const double bar_width = (facet - 10) / b;
    for (std::size_t k = 0; k < shown_.size(); ++k) {
      const double x = ranks_left + static_cast<double>(k) * facet + 5;
      put("<rect class=\"band\" x=\"{:.1f}\" width=\"{:.1f}\" y=\"{:.1f}\" height=\"{:.1f}\"/>\n",
          x, facet - 10, high, low - high);
      put("<path fill=\"{}\" fill-opacity=\"0.85\" d=\"M{:.1f} {:.1f}", svg_colors[k], x, bottom);
      for (std::size_t i = 0; i < bins_; ++i) {
        put("V{:.1f}h{:.2f}", height(bar(p, shown_[k], i)), bar_width);
      }
      put("V{:.1f}z\"/>\n", bottom);
      put("<path class=\"edge\" d=\"M{0:.1f} {1:.1f}h{3:.1f}M{0:.1f} {2:.1f}h{3:.1f}\"/>", x, low,
          high, facet - 10);
      put("<path class=\"even\" d=\"M{:.1f} {:.1f}h{:.1f}\"/>\n", x, height(even()), facet - 10);
      if (last) {
        put("<text class=\"middle\" x=\"{:.1f}\" y=\"{}\">chain {}</text>\n", x + (facet - 10) / 2,
            bottom + 17, shown_[k] + 1);
      }
    }
    for (const double tick : ticks(0, y.high, 4)) {
      y_tick(ranks_left, height(tick), fmt::format("{:.6g}", tick));
    }
    frame(ranks_left, top);
  }

  [[nodiscard]] double bar(std::size_t p, std::size_t chain, std::size_t bin) const {
    return counts_[p][chain * bins_ + bin];
  }

  const Draws& draws_;
  std::span<const std::size_t> parameters_;
  std::size_t bins_;
  std::vector<std::vector<double>> counts_;  // of `parameters`: [C x bins]
  std::vector<std::size_t> shown_;           // chains
};

}  // namespace

std::string chain_plots(const std::string& title, const std::string& mark, const Draws& draws,
                        std::span<const std::size_t> parameters,
                        const std::vector<std::string>& names,
                        const std::vector<Summary>& summaries) {
  return Plots(draws, parameters).svg(title, mark, names, summaries);
}

}  // namespace gibbsite::cli
