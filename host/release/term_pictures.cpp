// Terms as pictures: curves with bands, levels as bars with whiskers, all on one scale. The same
// drawings are in the page for others, in the curator's page and in files.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "gibbsite/core/human_count.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/core/ticks.hpp"
#include "gibbsite/model/date.hpp"
#include "gibbsite/release/predict.hpp"
#include "gibbsite/release/svg.hpp"
#include "gibbsite/release/terms.hpp"
#include "release/forest.hpp"
#include "release/html.hpp"

namespace gibbsite {
namespace {

constexpr std::size_t most_bars = 60;     // of one picture
constexpr std::size_t most_outputs = 12;  // that have a panel
constexpr std::size_t most_dots = 24;     // more knots have none
constexpr std::size_t most_names = 6;     // in a list of a caption
constexpr double letter = 7.2;            // a wide one of small text
constexpr double axis_line = 16, name_line = 15;

// What effects are measured in.
struct EffectScale {
  bool ratio = false;
  std::string axis;  // what is multiplied, or added to
  Range range;

  [[nodiscard]] std::string text(double value) const {
    if (ratio) return "×" + effect_text(std::exp(value));
    return (value > 0 ? "+" : "") + effect_text(value + 0.0);
  }
  [[nodiscard]] std::string none() const { return ratio ? "×1" : "0"; }
  // "×1.4 (1.2 to 1.7)"; the interval only where there is one.
  [[nodiscard]] std::string text(const TermPoint& point) const {
    if (!(point.upper > point.lower)) return text(point.value);
    return fmt::format("{} ({} to {})", text(point.value),
                       effect_text(ratio ? std::exp(point.lower) : point.lower),
                       effect_text(ratio ? std::exp(point.upper) : point.upper));
  }
  [[nodiscard]] bool is_beyond(const TermPoint& point) const {
    return point.lower < range.low || point.upper > range.high || point.value < range.low ||
           point.value > range.high;
  }
};

// What noise hides has intervals so wide that nothing else could be told on their scale, and those
// of others extend the scale by at most 30 % of what the values need.
Range range_of(const std::vector<Term>& terms) {
  for (const bool all : {false, true}) {
    Range values{0, 0}, ends{0, 0};
    const auto meet = [&](const TermPoint& point) {
      if (point.hidden && !all) return;
      values = {std::min(values.low, point.value), std::max(values.high, point.value)};
      if (point.upper > point.lower)
        ends = {std::min(ends.low, point.lower), std::max(ends.high, point.upper)};
    };
    for (const Term& term : terms) {
      for (const TermOutput& output : term.outputs) {
        for (const TermPoint& point : output.points) meet(point);
        if (output.missing) meet(*output.missing);
      }
    }
    const double span = values.high - values.low;
    if (!(span > 0)) continue;
    const double low = std::max(std::min(values.low, ends.low), values.low - 0.3 * span);
    const double high = std::min(std::max(values.high, ends.high), values.high + 0.3 * span);
    return {low - 0.04 * (high - low), high + 0.04 * (high - low)};
  }
  return {-1, 1};
}

EffectScale scale_of(const LinearModel& model, const std::vector<Term>& terms) {
  const Schema& schema = model.schema;
  const std::string label = shown(schema.label_name);
  EffectScale out;
  out.range = range_of(terms);
  out.ratio =
      is<Count>(schema.label) || (is<TwoClasses>(schema.label) && scores_are_log_odds(model));
  if (is<Amount>(schema.label)) {
    out.axis = fmt::format("{}, in its own unit", label);
  } else if (is<Count>(schema.label)) {
    out.axis = fmt::format("mean of {}, ×", label);
  } else if (const auto* const two = std::get_if<TwoClasses>(&schema.label)) {
    out.axis = fmt::format("{} of {} = {}{}", out.ratio ? "odds" : "score", label,
                           shown(two->positive), out.ratio ? ", ×" : "");
  } else {
    out.axis = "score of the class";
  }
  return out;
}

// A name as a caption has it: with at most 40 signs.
std::string short_name(const std::string& name) {
  constexpr std::size_t most = 40;
  std::string out;
  std::size_t signs = 0;
  for (const char c : shown(name)) {
    const bool begins = (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    if (begins && ++signs > most) return out + "…";
    out += c;
  }
  return out;
}

std::string first_names(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < std::min(names.size(), most_names); ++i)
    out += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > most_names) out += fmt::format(" and {} more", names.size() - most_names);
  return out;
}

std::string number_of_axis(double value) {
  return std::fabs(value) >= 1e4 && std::fabs(value) < 1e7 && value == std::round(value)
             ? (value < 0 ? "−" : "") + human_count(std::fabs(value))
             : fmt::format("{:.6g}", value + 0.0);
}

class TermDrawing : Html {
 public:
  TermDrawing(const Term& term, const EffectScale& scale) : term_(term), scale_(scale) {}

  TermPicture drawn() {
    TermPicture out;
    for (const std::string& line : lines_that_fit(scale_.axis, term_picture_width - 2 * margin)) {
      put("<text x=\"{}\" y=\"{}\">{}</text>\n", margin, y_ + 12, line);
      y_ += axis_line;
    }
    const std::size_t panels = std::min(term_.outputs.size(), most_outputs);
    for (std::size_t k = 0; k < panels; ++k) {
      const TermOutput& output = term_.outputs[k];
      if (const std::string name = panel_name(output); !name.empty()) strong(name);
      if (term_.kind == Term::Kind::levels)
        bars(output);
      else
        curve(output, k + 1 == panels);
      caption(output);
    }
    if (panels < term_.outputs.size())
      caption_ += fmt::format("{} of {} {} are drawn. ", panels, term_.outputs.size(),
                              term_.outputs.front().beside.empty() ? "classes" : "panels");
    if (beyond_) caption_ += "An arrow or a band that is cut goes on beyond the picture. ";
    if (!caption_.empty()) caption_.pop_back();
    out.column = term_.column;
    out.height = y_ + 4;
    out.drawing = text();
    out.caption = caption_;
    out.says = fmt::format(
        "Effect of {} on {}. {}", shown(term_.column),
        scale_.ratio ? scale_.axis.substr(0, scale_.axis.rfind(", ×")) : scale_.axis, caption_);
    out.certainty = term_.certainty;
    return out;
  }

 private:
  static constexpr double margin = 8, right = term_picture_width - 12;
  static constexpr double plot_left = 54, missing_room = 66;

  // The class, and of an interaction where its other column is.
  static std::string panel_name(const TermOutput& output) {
    return output.of_class + (output.of_class.empty() || output.beside.empty() ? "" : ", ") +
           output.beside;
  }

  void strong(const std::string& name) {
    for (const std::string& line : lines_that_fit(shown(name), term_picture_width - 2 * margin)) {
      put("<text class=\"strong\" x=\"{}\" y=\"{}\">{}</text>\n", margin, y_ + 14, line);
      y_ += axis_line;
    }
    y_ += 4;
  }

  // A number: the curve or line with its band, and the level of missing cells beside it.
  void curve(const TermOutput& output, bool last) {
    const double height = term_.outputs.size() > 1 ? 110 : 160, top = y_ + 8;
    const double bottom = top + height, end = output.missing ? right - missing_room : right;
    const double width = end - plot_left;
    // Places far above the low end of a curve by ratios: as its knots have it (model/curve.hpp).
    const double step = (term_.hi - term_.lo) / 1000;
    const double far = std::log1p(1000);
    const auto share = [&](double v) {
      return term_.by_ratio ? std::log1p((v - term_.lo) / step) / far
                            : (v - term_.lo) / (term_.hi - term_.lo);
    };
    const auto x = [&](double v) { return plot_left + width * share(v); };
    const auto y = [&](double v) {
      return bottom - height * std::clamp(scale_.range.share(v), 0.0, 1.0);
    };
    // Between two points both ends of the interval and the value are straight in the column's unit.
    std::vector<TermPoint> path;
    const bool is_bent =
        term_.by_ratio || std::ranges::any_of(output.points, [&](const TermPoint& point) {
          return scale_.is_beyond(point);
        });
    const int steps = is_bent ? 12 : 1;
    for (std::size_t i = 0; i + 1 < output.points.size(); ++i) {
      const TermPoint &from = output.points[i], &to = output.points[i + 1];
      const double s0 = share(from.at), s1 = share(to.at);
      for (int k = 0; k < steps; ++k) {
        const double s = s0 + (s1 - s0) * k / steps;
        TermPoint one;
        one.at = k == 0           ? from.at
                 : term_.by_ratio ? term_.lo + step * std::expm1(s * far)
                                  : from.at + (to.at - from.at) * k / steps;
        const double t = (one.at - from.at) / (to.at - from.at);
        one.value = from.value + t * (to.value - from.value);
        one.lower = from.lower + t * (to.lower - from.lower);
        one.upper = from.upper + t * (to.upper - from.upper);
        path.push_back(one);
      }
    }
    path.push_back(output.points.back());
    if (std::ranges::all_of(path, [](const TermPoint& p) { return p.upper >= p.lower; })) {
      std::string up, down;
      for (const TermPoint& point : path)
        up += fmt::format("{}{:.1f} {:.1f}", up.empty() ? 'M' : 'L', x(point.at), y(point.upper));
      for (auto point = path.rbegin(); point != path.rend(); ++point)
        down += fmt::format("L{:.1f} {:.1f}", x(point->at), y(point->lower));
      put("<path class=\"band\" d=\"{}{}z\"/>\n", up, down);
    }
    for (const EffectTick& tick : effect_ticks(scale_.range, scale_.ratio)) {
      put("<path class=\"{}\" d=\"M{} {:.1f}H{:.1f}\"/>", tick.at == 0 ? "even" : "rule", plot_left,
          y(tick.at), right);
      put("<text class=\"end\" x=\"{}\" y=\"{:.1f}\">{}{}</text>\n", plot_left - 9, y(tick.at) + 4,
          scale_.ratio ? "×" : "", tick.label);
    }
    std::string line;
    for (const TermPoint& point : path)
      line += fmt::format("{}{:.1f} {:.1f}", line.empty() ? 'M' : 'L', x(point.at), y(point.value));
    put("<path class=\"term\" d=\"{}\"/>\n", line);
    const bool has_dots = term_.kind == Term::Kind::curve && output.points.size() <= most_dots;
    for (const TermPoint& point : output.points) {
      if (scale_.is_beyond(point)) beyond_ = true;
      if (point.value < scale_.range.low || point.value > scale_.range.high) continue;
      if (has_dots || point.hidden) dot(x(point.at), y(point.value), point.hidden);
      if (point.reference)
        put("<circle class=\"ring\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"6\"/>\n", x(point.at),
            y(point.value));
    }
    put("<path class=\"axis\" d=\"M{} {:.1f}V{:.1f}H{:.1f}\"/>\n", plot_left, top, bottom, end);
    for (const double tick : number_ticks(width, share)) {
      put("<path class=\"axis\" d=\"M{:.1f} {:.1f}v4\"/>", x(tick), bottom);
      put("<text class=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
          std::min(x(tick),
                   term_picture_width - letter / 2 * static_cast<double>(of_axis(tick).size())),
          bottom + 17, of_axis(tick));
    }
    if (output.missing) missing(*output.missing, bottom, y);
    y_ = bottom + 22;
    if (!last) return;
    const std::string words = shown(term_.across) + (term_.by_ratio ? " (logarithmic axis)" : "");
    for (const std::string& one : lines_that_fit(words, right - plot_left)) {
      put("<text class=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", (plot_left + right) / 2,
          y_ + 13, one);
      y_ += axis_line;
    }
  }

  void dot(double x, double y, bool hidden) {
    put("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"/>", hidden ? "open" : "dot", x,
        y);
  }

  template <class Y>
  void missing(const TermPoint& point, double bottom, const Y& y) {
    const double x = right - 26;
    if (point.upper > point.lower)
      put("<path class=\"whisker\" d=\"M{0:.1f} {1:.1f}V{2:.1f}\"/>", x, y(point.lower),
          y(point.upper));
    dot(x, y(point.value), point.hidden);
    if (point.reference)
      put("<circle class=\"ring\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"6\"/>\n", x, y(point.value));
    put("<text class=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">(missing)</text>\n", x, bottom + 17);
    if (scale_.is_beyond(point)) beyond_ = true;
  }

  // A year by itself where it begins there.
  [[nodiscard]] std::string of_axis(double value) const {
    if (!term_.is_date) return number_of_axis(value);
    const std::string day = date_text(value);
    return day.ends_with("-01-01") ? day.substr(0, 4) : day;
  }

  // The first days of round years, or both ends where there is no such day.
  [[nodiscard]] std::vector<double> year_ticks() const {
    const auto year_of = [](double day) { return std::stoi(date_text(day).substr(0, 4)); };
    const int first = year_of(term_.lo), last = year_of(term_.hi);
    std::vector<double> out;
    for (const int step : {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000}) {
      if ((last - first) / step > 6) continue;
      for (int year = first; year <= last; ++year) {
        const auto day = parse_date(fmt::format("{:04}-01-01", year));
        if (year % step == 0 && day && *day >= term_.lo && *day <= term_.hi) out.push_back(*day);
      }
      break;
    }
    return out.size() >= 2 ? out : std::vector<double>{term_.lo, term_.hi};
  }

  // Round numbers whose labels do not touch.
  template <class Share>
  [[nodiscard]] std::vector<double> number_ticks(double width, const Share& share) const {
    if (term_.is_date) return year_ticks();
    if (!term_.by_ratio) {
      std::vector<double> out;
      for (double count = 6; count >= 1; --count) {
        out = ticks(term_.lo, term_.hi, count);
        double letters = 0;
        for (const double tick : out)
          letters = std::max(letters, static_cast<double>(number_of_axis(tick).size()));
        const double gap = out.size() < 2 ? width : width * (share(out[1]) - share(out[0]));
        if (gap >= letters * letter + 6) break;
      }
      return out;
    }
    // The ends first, then powers of ten from the largest, then what is between them.
    std::vector<double> wanted{term_.lo, term_.hi}, out;
    for (const double digit : {1.0, 3.0, 5.0, 2.0}) {
      for (int power = 15; power >= -15; --power) {
        for (const double sign : {1.0, -1.0}) {
          const double v = sign * digit * std::pow(10.0, power);
          if (v > term_.lo && v < term_.hi) wanted.push_back(v);
        }
      }
    }
    for (const double v : wanted) {
      const auto touches = [&](double other) {
        const auto letters =
            static_cast<double>(number_of_axis(v).size() + number_of_axis(other).size());
        return std::fabs(share(v) - share(other)) * width < letters * letter / 2 + 8;
      };
      if (std::ranges::none_of(out, touches)) out.push_back(v);
    }
    std::ranges::sort(out);
    return out;
  }

  // Places of the levels that are drawn, in their order: the surest ones where they are many.
  [[nodiscard]] std::vector<std::size_t> drawn_levels(const TermOutput& output) const {
    std::vector<std::size_t> out(output.points.size());
    std::iota(out.begin(), out.end(), std::size_t{0});
    const std::size_t most =
        std::max<std::size_t>(8, most_bars / std::min(term_.outputs.size(), most_outputs));
    if (out.size() <= most) return out;
    const auto certainty = [&](std::size_t i) {
      const TermPoint& point = output.points[i];
      const double half = (point.upper - point.lower) / 2;
      return std::fabs(point.value) / (half > 0 ? half : 1) - (point.hidden ? 1e9 : 0) +
             (point.reference ? 1e9 : 0);
    };
    std::ranges::stable_sort(
        out, [&](std::size_t a, std::size_t b) { return certainty(a) > certainty(b); });
    out.resize(most);
    std::ranges::sort(out);
    return out;
  }

  // A category: a level's name and number, and its bar below.
  void bars(const TermOutput& output) {
    const double left = 12, width = right - left;
    const auto x = [&](double v) {
      return left + width * std::clamp(scale_.range.share(v), 0.0, 1.0);
    };
    const std::vector<EffectTick> places = effect_ticks(scale_.range, scale_.ratio);
    const auto axis = [&] {
      put("<path class=\"axis\" d=\"M{} {:.1f}H{}\"/>", left, y_ + 22, right);
      for (const EffectTick& tick : places) {
        put("<path class=\"axis\" d=\"M{:.1f} {:.1f}v6\"/>", x(tick.at), y_ + 19);
        put("<text class=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">{}{}</text>\n", x(tick.at), y_ + 14,
            scale_.ratio ? "×" : "", tick.label);
      }
      y_ += 28;
    };
    axis();
    const std::vector<std::size_t> levels = drawn_levels(output);
    for (const std::size_t i : levels) {
      const TermPoint& point = output.points[i];
      const std::string said = point.hidden ? "hidden by noise" : scale_.text(point);
      const std::string whole = shown(point.name) + (point.reference ? " (reference)" : "");
      const double room = right - left - letter * static_cast<double>(said.size()) - 8;
      std::vector<std::string> name = lines_that_fit(whole, room);
      const bool beside = name.size() == 1;  // else the number has a line of its own
      if (!beside) name = lines_that_fit(whole, right - left);
      for (const std::string& line : name) {
        put("<text{} x=\"{}\" y=\"{:.1f}\">{}</text>\n",
            Markup{point.hidden ? "" : " class=\"strong\""}, left, y_ + 12, line);
        y_ += name_line;
      }
      if (beside) y_ -= name_line;
      put("<text class=\"end\" x=\"{}\" y=\"{:.1f}\">{}</text>\n", right, y_ + 12, said);
      y_ += name_line;
      bar(point, x);
      y_ += 22;
    }
    if (levels.size() < output.points.size())
      caption_ += fmt::format("{} of {} levels are drawn, the surest. ", levels.size(),
                              output.points.size());
  }

  template <class X>
  void bar(const TermPoint& point, const X& x) {
    const double top = y_ + 4, height = 10, middle = top + height / 2;
    for (const EffectTick& tick : effect_ticks(scale_.range, scale_.ratio))
      put("<path class=\"rule\" d=\"M{:.1f} {:.1f}v{}\"/>", x(tick.at), top - 2, height + 4);
    const double from = std::min(x(0), x(point.value)), to = std::max(x(0), x(point.value));
    put("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\"/>",
        point.hidden ? "faint" : "bar", from, top, to - from, height);
    put("<path class=\"axis\" d=\"M{:.1f} {:.1f}v{}\"/>", x(0), top - 2, height + 4);
    if (point.upper > point.lower) {
      put("<path class=\"whisker\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>", x(point.lower), middle,
          x(point.upper));
      const auto end = [&](double at, bool beyond, double towards) {
        if (beyond)
          put("<path class=\"whisker\" d=\"M{:.1f} {:.1f}l{:.0f} 4l{:.0f} 4\"/>", at - towards,
              middle - 4, towards, -towards);
        else
          put("<path class=\"whisker\" d=\"M{:.1f} {:.1f}v8\"/>", at, middle - 4);
      };
      end(x(point.lower), point.lower < scale_.range.low, -5);
      end(x(point.upper), point.upper > scale_.range.high, 5);
      if (scale_.is_beyond(point)) beyond_ = true;
    }
    put("\n");
  }

  void caption(const TermOutput& output) {
    const TermPoint *low = nullptr, *high = nullptr, *reference = nullptr;
    std::vector<std::string> hidden;
    const auto meet = [&](const TermPoint& point) {
      if (point.reference) reference = &point;
      if (point.hidden) {
        hidden.push_back(short_name(point.name));
        return;
      }
      if (low == nullptr || point.value < low->value) low = &point;
      if (high == nullptr || point.value > high->value) high = &point;
    };
    for (const TermPoint& point : output.points) meet(point);
    if (output.missing) meet(*output.missing);
    const std::string name = panel_name(output), of = name.empty() ? "" : short_name(name) + ": ";
    if (low == nullptr) {
      caption_ += of + (of.empty() ? "Noise" : "noise") + " hides all of it. ";
      return;
    }
    const auto said = [&](const TermPoint& point) {
      return term_.outputs.size() > 1 ? scale_.text(point.value) : scale_.text(point);
    };
    if (term_.kind == Term::Kind::line) {
      const TermPoint &first = output.points.front(), &last = output.points.back();
      caption_ +=
          fmt::format("{}{} at {}, {} at {}. ", of, said(first), first.name, said(last), last.name);
      if (output.missing) caption_ += fmt::format("(missing): {}. ", said(*output.missing));
      return;
    }
    const char* const at = term_.kind == Term::Kind::levels ? "for" : "at";
    if (low == high)
      caption_ += fmt::format("{}{} {} {}. ", of, said(*low), at, short_name(low->name));
    else
      caption_ += fmt::format("{}{} {} {} {}, highest {} {} {}. ", of,
                              of.empty() ? "Lowest" : "lowest", said(*low), at,
                              short_name(low->name), said(*high), at, short_name(high->name));
    if (reference != nullptr && !reference->hidden && term_.outputs.size() == 1)
      caption_ +=
          fmt::format("At the reference, {}: {}. ", short_name(reference->name), said(*reference));
    if (!hidden.empty()) caption_ += fmt::format("Hidden by noise: {}. ", first_names(hidden));
  }

  const Term& term_;
  const EffectScale& scale_;
  double y_ = 0;
  bool beyond_ = false;
  std::string caption_;
};

constexpr const char* term_style = R"(<style>
.term { stroke: #0072b2; stroke-width: 2; fill: none; } .dot { fill: #0072b2; } .bar { fill: #0072b2; fill-opacity: 0.35; stroke: #0072b2; }
.faint { fill: none; stroke: #7d858e; stroke-dasharray: 2 2; } .open { fill: #ffffff; stroke: #7d858e; } .ring { fill: none; stroke: #4d545c; stroke-width: 1.5; } .whisker { stroke: #4d545c; stroke-width: 1.5; fill: none; } .strong { font-weight: 600; }
@media (prefers-color-scheme: dark) { .term, .bar { stroke: #56b4e9; } .dot, .bar { fill: #56b4e9; } .ring, .whisker { stroke: #c3cad2; } .open { fill: #14181c; } }
</style>
)";

}  // namespace

std::vector<TermPicture> term_pictures(const LinearModel& model) {
  const std::vector<Term> terms = terms_of(model);
  const EffectScale scale = scale_of(model, terms);
  std::vector<TermPicture> out;
  for (const Term& term : terms) out.push_back(TermDrawing(term, scale).drawn());
  return out;
}

std::string term_words(const LinearModel& model) {
  const EffectScale scale = scale_of(model, {});
  const bool has_intervals = model.estimates.has_value();
  const bool has_levels = !model.schema.interactions.empty() ||
                          std::ranges::any_of(model.schema.columns, &Column::has_levels);
  const bool has_lines = std::ranges::any_of(model.schema.columns, [](const Column& column) {
    return column.type == ColumnType::number && !column.is_curve();
  });
  std::string out = scale.ratio
                        ? fmt::format("What each column multiplies the {} by: ×2 doubles it. ",
                                      scale.axis.substr(0, scale.axis.rfind(", ×")))
                        : fmt::format("What each column adds to the {}. ", scale.axis);
  std::string middle;
  if (has_levels)
    middle = has_intervals ? "the mean of a column, by how many people have each level or are near "
                             "each knot"
                           : "the mean of a curve over its range, or of all levels";
  if (has_lines) {
    middle += middle.empty() ? "" : "; for a straight line ";
    middle += "the middle of its range";
  }
  out += fmt::format("{} is {}. ", scale.none(), middle);
  if (model.draws.size() > 1 && !has_intervals)
    out += fmt::format("Drawn is the first of {} draws. ", model.draws.size());
  if (has_intervals) {
    out += "Bands and whiskers are 95 % intervals of that difference";
    out += has_lines ? "; a straight line has none in its middle. " : ". ";
  } else {
    out += "This release has no intervals, so nothing here says how far noise has moved a value. ";
  }
  if (has_levels) out += "A ring marks the reference. ";
  out += "All pictures of the model have one scale.";
  return out;
}

std::string term_svg(const TermPicture& picture, const std::string& words,
                     const std::string& mark) {
  constexpr double left = 8, title_room = 34;
  const std::vector<std::string> captions =
      lines_that_fit(picture.caption, term_picture_width - 2 * left);
  const std::vector<std::string> notes = lines_that_fit(words, term_picture_width - 2 * left);
  const double below = title_room + picture.height;
  Svg svg;
  svg.begin(term_picture_width,
            below + svg_line * static_cast<double>(captions.size() + notes.size()) + 22, left,
            shown(picture.column), mark, picture.says + " " + words);
  svg.put("{}<g transform=\"translate(0 {})\">\n{}</g>\n", term_style, title_room, picture.drawing);
  svg.lines(left, below + 16, captions);
  svg.lines(left, below + 22 + svg_line * static_cast<double>(captions.size()), notes);
  return svg.end();
}

}  // namespace gibbsite
