// The frame of the curator's figures: numbers as text, tables, plots of two models.
#include "compare/curator_parts.hpp"

#include <fmt/format.h>

#include <cmath>

#include "gibbsite/core/human_count.hpp"

namespace gibbsite::curator {

std::string percent_of(double fraction) {
  return std::isnan(fraction) ? "-" : fmt::format("{:.2f} %", 100 * fraction);
}
std::string one_digit(double fraction) {
  return std::isnan(fraction) ? "-" : fmt::format("{:.1f} %", 100 * fraction);
}
std::string four(double value) { return std::isnan(value) ? "-" : fmt::format("{:.4f}", value); }
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

void table_of(Html& page, std::string_view caption, const Line& head,
              const std::vector<Line>& lines, std::string_view kind) {
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

namespace {

constexpr int mark_height = 20;

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

}  // namespace

void draw(Html& page, const SquarePlot& plot, const Pair<Curve>& curves) {
  const auto one = [&](const Curve& curve, const char* kind) {
    const std::string path = path_of(plot, curve);
    if (!path.empty()) page.put("<path class=\"{}\" d=\"{}\"/>\n", kind, path);
  };
  if (curves.other) one(*curves.other, "other");
  one(curves.model, "curve");
}

void begin(Html& page, const SquarePlot& plot, const std::string& says) {
  // Room of its own above the plot, for fonts that are taller or wider than ours.
  SquarePlot::begin(page, "PRIVATE. " + says, mark_height);
  page.put("<text class=\"strong end\" x=\"{}\" y=\"-4\">PRIVATE</text>\n",
           plot.left + SquarePlot::side);
}

void diagonal(Html& page, const SquarePlot& plot) {
  page.put("<path class=\"even\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>\n", plot.x(plot.across.low),
           plot.y(plot.across.low), plot.x(plot.across.high), plot.y(plot.across.high));
}

void end(Html& page, const Pair<std::string>& lines, const std::string& more) {
  page.put("</svg><figcaption>PRIVATE. <span class=\"key\">&nbsp;</span> this model{}",
           lines.model.empty() ? "" : ", " + lines.model);
  if (lines.other) {
    page.put(" <span class=\"key two\">&nbsp;</span> {}{}", beside_name,
             lines.other->empty() ? "" : ", " + *lines.other);
  }
  page.put(". {}</figcaption></figure>\n", more);
}

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

}  // namespace gibbsite::curator
