#include "gibbsite/release/svg.hpp"

#include <algorithm>
#include <sstream>

namespace gibbsite {
namespace {

constexpr const char* svg_style =
    R"(<style>
text { font-family: system-ui, "Segoe UI", Helvetica, Arial, sans-serif; font-size: 12px; fill: #4d545c; }
.title { font-size: 16px; font-weight: 600; } .panel { font-size: 13px; font-weight: 600; }
.mark { font-weight: 600; fill: #9b1c1c; }
.end { text-anchor: end; } .middle { text-anchor: middle; }
.axis { stroke: #7d858e; stroke-width: 1; fill: none; } .rule { stroke: #8a929b; stroke-opacity: 0.25; }
.trace { fill: none; stroke-width: 0.8; stroke-opacity: 0.75; stroke-linejoin: round; }
.band { fill: #8a929b; fill-opacity: 0.22; } .edge { stroke: #7d858e; stroke-width: 0.8; fill: none; }
.even { stroke: #7d858e; stroke-width: 0.8; stroke-dasharray: 3 3; fill: none; }
@media (prefers-color-scheme: dark) { text { fill: #c3cad2; } .mark { fill: #ffa198; } }
</style>
)";

// Width of a sign over the size of its text: more than the mean of bold text in Verdana or DejaVu.
constexpr double widest_sign = 0.72;
constexpr double small_text = 12, title_text = 16, title_line = 22;

std::size_t signs_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

// Breaks at blanks, and words that are longer than a line between whole signs of UTF-8.
std::vector<std::string> broken(const std::string& text, double room, double size) {
  const auto most = std::max<std::size_t>(8, static_cast<std::size_t>(room / (widest_sign * size)));
  std::vector<std::string> out{""};
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::size_t columns = signs_of(out.back());
    if (columns > 0 && columns + 1 + signs_of(word) > most) out.emplace_back();
    if (!out.back().empty()) out.back() += ' ';
    for (const char c : word) {
      const bool begins = (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
      if (begins && signs_of(out.back()) >= most) out.emplace_back();
      out.back() += c;
    }
  }
  return out;
}

}  // namespace

std::vector<std::string> lines_that_fit(const std::string& text, double room) {
  return broken(text, room, small_text);
}

std::string escaped_xml(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 32 ? '?' : c;  // no XML has control characters
    }
  }
  return out;
}

void Svg::begin(double width, double height, double left, const std::string& title,
                const std::string& mark, const std::string& says) {
  constexpr double top = 24, margin = 10;
  const double room = width - left - margin;
  const std::vector<std::string> titles = broken(title, room, title_text);
  const std::vector<std::string> marks =
      mark.empty() ? std::vector<std::string>{} : lines_that_fit(mark, room);
  const double pushed = title_line * static_cast<double>(titles.size() - 1) +
                        svg_line * static_cast<double>(marks.size());
  put(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img" aria-label="{2}">)",
      width, height + pushed,
      escaped_xml((mark.empty() ? "" : mark + ". ") + (says.empty() ? title : says)));
  out_ += '\n';
  out_ += svg_style;
  double y = top;
  for (const std::string& line : titles) {
    put("<text class=\"title\" x=\"{}\" y=\"{}\">{}</text>\n", left, y, escaped_xml(line));
    y += title_line;
  }
  lines(left, y, marks, "mark");
  put("<g transform=\"translate(0 {})\">\n", pushed);
}

void Svg::lines(double x, double y, const std::vector<std::string>& text, const char* kind) {
  for (const std::string& line : text) {
    put("<text class=\"{}\" x=\"{}\" y=\"{}\">{}</text>\n", kind, x, y, escaped_xml(line));
    y += svg_line;
  }
}

std::string Svg::end() {
  out_ += "</g></svg>\n";
  return std::move(out_);
}

}  // namespace gibbsite
