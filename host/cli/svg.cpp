#include "svg.hpp"

namespace gibbsite::cli {
namespace {

constexpr const char* style =
    R"(<style>
text { font-family: system-ui, "Segoe UI", Helvetica, Arial, sans-serif; font-size: 12px; fill: #4d545c; }
.title { font-size: 16px; font-weight: 600; } .panel { font-size: 13px; font-weight: 600; }
.end { text-anchor: end; } .middle { text-anchor: middle; }
.axis { stroke: #7d858e; stroke-width: 1; fill: none; } .rule { stroke: #8a929b; stroke-opacity: 0.25; }
.trace { fill: none; stroke-width: 0.8; stroke-opacity: 0.75; stroke-linejoin: round; }
.band { fill: #8a929b; fill-opacity: 0.22; } .edge { stroke: #7d858e; stroke-width: 0.8; fill: none; }
.even { stroke: #7d858e; stroke-width: 0.8; stroke-dasharray: 3 3; fill: none; }
@media (prefers-color-scheme: dark) { text { fill: #c3cad2; } }
</style>
)";

}  // namespace

std::string escaped(const std::string& text) {
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

void Svg::begin(double width, double height, double left, const std::string& title) {
  put(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img" aria-label="{2}">)",
      width, height, escaped(title));
  out_ += '\n';
  out_ += style;
  put("<text class=\"title\" x=\"{}\" y=\"24\">{}</text>\n", left, escaped(title));
}

std::string Svg::end() {
  out_ += "</svg>\n";
  return std::move(out_);
}

}  // namespace gibbsite::cli
