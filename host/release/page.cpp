#include "release/page.hpp"

#include <fmt/format.h>

#include "gibbsite/core/text.hpp"

namespace gibbsite {
namespace {

// Colors are named here and nowhere else; a test holds every text against every ground, 4.5 : 1.
constexpr const char* style = R"(<style>
:root { --page: #ffffff; --card: #f3f5f7; --ink: #1f2429; --soft: #4d545c; --link: #00588c; --alert: #9b1c1c; --line: #c3c9d0; --mark: #0072b2; --band: #b9d4e6; }
@media (prefers-color-scheme: dark) { :root { --page: #14181c; --card: #1e242a; --ink: #e8ebee; --soft: #b7bfc8; --link: #7cc4f2; --alert: #ffa198; --line: #47515b; --mark: #56b4e9; --band: #234a63; } }
@media print { :root { --page: #ffffff; --card: #ffffff; --ink: #000000; --soft: #33383d; --link: #000000; --alert: #9b1c1c; --line: #8a929b; --mark: #0072b2; --band: #b9d4e6; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; overflow-wrap: anywhere; }
main { max-width: 54rem; margin: 0 auto; padding: 1rem 1rem 3rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0.5rem 0; } h2 { font-size: 1.2rem; margin: 2.2rem 0 0.4rem; padding-top: 0.6rem; border-top: 1px solid var(--line); } h3 { font-size: 1rem; margin: 1.2rem 0 0.3rem; }
p, ul, ol { margin: 0.5rem 0; } ul, ol { padding-left: 1.3rem; } a { color: var(--link); }
.soft, caption, .note { color: var(--soft); } .note { font-size: 0.9rem; }
.said { background: var(--card); border-left: 4px solid var(--mark); padding: 0.6rem 0.9rem; }
.void { color: var(--alert); background: var(--card); border: 2px solid var(--alert); padding: 0.6rem 0.9rem; font-weight: 600; }
table { border-collapse: collapse; width: 100%; table-layout: fixed; font-size: 0.9rem; margin: 0.6rem 0; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-size: 0.85rem; padding-bottom: 0.3rem; }
th, td { text-align: left; vertical-align: top; padding: 0.25rem 0.5rem 0.25rem 0; border-bottom: 1px solid var(--line); font-weight: 400; } thead th { font-weight: 600; } .coefficients th:first-child { width: 24%; } .coefficients .picture { width: 30%; } .effects th:first-child { width: 19%; } .effects .picture { width: 26%; } .effects th { overflow-wrap: break-word; } .meanings th:first-child { width: 22%; } .meanings th:last-child { width: 52%; } @media (max-width: 37rem) { .picture { display: none; } }
figure { margin: 0.8rem 0; max-width: 30rem; } figcaption { font-size: 0.85rem; color: var(--soft); } svg { display: block; width: 100%; height: auto; }
svg text { font-size: 12px; fill: var(--soft); } svg .strong { fill: var(--ink); font-weight: 600; } .end { text-anchor: end; } .middle { text-anchor: middle; }
.axis { stroke: var(--soft); fill: none; } .rule { stroke: var(--line); fill: none; } .whisker { stroke: var(--ink); stroke-width: 1.5; fill: none; } .soft .whisker { stroke: var(--soft); } .soft .dot { fill: var(--soft); } .even { stroke: var(--soft); stroke-dasharray: 3 3; fill: none; } .curve { stroke: var(--mark); stroke-width: 2; fill: none; } .dot, .full { fill: var(--mark); } .track { fill: var(--card); stroke: var(--soft); } .band { fill: var(--band); }
.terms { columns: 19rem; column-gap: 1.6rem; } .terms figure { margin: 0; padding: 0.5rem 0 0.8rem; break-inside: avoid; } .term { stroke: var(--mark); stroke-width: 2; fill: none; } .bar { fill: var(--band); stroke: var(--mark); } .faint { fill: none; stroke: var(--soft); stroke-dasharray: 2 2; } .open { fill: var(--page); stroke: var(--soft); } .terms .ring { stroke: var(--ink); stroke-width: 1.5; fill: none; }
code, pre { font: 0.9rem/1.5 ui-monospace, Menlo, Consolas, monospace; } pre { background: var(--card); padding: 0.6rem 0.9rem; white-space: pre-wrap; margin: 0.5rem 0; }
.list { list-style: none; padding-left: 0; } .list li { margin: 0.45rem 0; padding-left: 1.8rem; } .list input { margin: 0 0.5rem 0 -1.8rem; width: 1.1rem; height: 1.1rem; vertical-align: -0.15rem; }
.blank { display: block; border-bottom: 1px solid var(--soft); height: 1.9rem; } .sign { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: 1rem; }
@media print { .terms { columns: 2; } body { font-size: 10pt; } main { max-width: none; padding: 0; } figure, tr, li, .said, .sign { break-inside: avoid; } h2, h3, caption { break-after: avoid; } tbody tr:first-child { break-before: avoid; } thead { display: table-header-group; } @page { margin: 16mm; } }
</style>
)";

}  // namespace

std::string number(double value) { return fmt::format("{:.5g}", value); }
std::string exact(double value) { return number_text(value); }
const char* plural(std::uint64_t count) { return count == 1 ? "" : "s"; }

void open_page(Html& page, const std::string& title, const Markup& more) {
  page.put(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n<title>{}</title>\n"
      "{}{}</head>\n<body>\n<main>\n",
      title, Markup{style}, more);
}

std::string closed(Html& page) {
  page.put("</main>\n</body>\n</html>\n");
  return page.text();
}

void heading(Html& page, std::string_view id, std::string_view title) {
  page.put("<h2 id=\"{}\">{}</h2>\n", id, title);
}

void void_line(Html& page) {
  page.put(
      "<p class=\"void\">NO GUARANTEE: this model is void as a private release. Its noise follows "
      "from a user's seed, so whoever knows or guesses it can take the noise out again.</p>\n");
}

void end_figure(Html& page, const Markup& caption) {
  page.put("</svg><figcaption>{}</figcaption></figure>\n", caption);
}

void SquarePlot::begin(Html& page, std::string_view says, int above) {
  page.put("<figure><svg viewBox=\"0 {} 360 {}\" role=\"img\" aria-label=\"{}\">\n", -above,
           352 + above, says);
}

void SquarePlot::share_grid(Html& page) const {
  for (const double tick : {0.0, 0.5, 1.0}) {
    page.put("<path class=\"rule\" d=\"M{:.1f} {}v{}M{} {:.1f}h{}\"/>\n", x(tick), top, side, left,
             y(tick), side);
    page.put("<text class=\"middle\" x=\"{:.1f}\" y=\"{}\">{:.0f} %</text>\n", x(tick),
             top + side + 16, 100 * tick);
    page.put("<text class=\"end\" x=\"{}\" y=\"{:.1f}\">{:.0f} %</text>\n", left - 5, y(tick) + 4,
             100 * tick);
  }
}

void SquarePlot::names(Html& page, std::string_view of_across, std::string_view of_up,
                       double up_at) const {
  page.put("<text class=\"middle\" x=\"{}\" y=\"{}\">{}</text>\n", left + side / 2, top + side + 34,
           of_across);
  page.put("<text class=\"middle\" transform=\"translate(14 {}) rotate(-90)\">{}</text>\n", up_at,
           of_up);
}

}  // namespace gibbsite
