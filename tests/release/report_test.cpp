// The report: a page of a model file alone, safe to open, readable, refused where nothing holds.
#include "gibbsite/release/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "certificate/model_json.hpp"
#include "gibbsite/core/error.hpp"
#include "release/html.hpp"
#include "support/html.hpp"

namespace gibbsite {
namespace report_test {

using nlohmann::json;
using support::all_of;
using support::contrast;
using support::expect_harmless;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string golden_text(const std::string& name) {
  std::ifstream file(std::string(GIBBSITE_SOURCE_DIR) + "/tests/golden/v3/" + name + ".json",
                     std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

std::string page_of(const std::string& name) { return html_report(golden_text(name), name); }

TEST(Report, IsAFunctionOfTheFileAlone) {
  for (const char* name : {"path", "averaged", "dalalyan", "path-minami-cor8", "proximal",
                           "proximal-padded", "rejection"}) {
    const std::string page = page_of(name);
    EXPECT_EQ(page, html_report(golden_text(name), "another name")) << name;
    expect_harmless(page);
    EXPECT_LT(page.size(), 200'000U);
    const json certificate = json::parse(golden_text(name)).at("certificate");
    EXPECT_THAT(page, HasSubstr(certificate.at("digest").get<std::string>()));
    for (const char* id : {"promise", "parameters", "unit", "algorithm", "utility", "bias", "data",
                           "assumptions", "verify"})
      EXPECT_THAT(page, HasSubstr(std::string("<h2 id=\"") + id + "\">"));
    EXPECT_THAT(page, HasSubstr("NIST SP 800-226"));
    // What a reader needs comes before what one recomputes.
    std::size_t last = 0;
    for (const char* id : {"promise", "utility", "unit", "bias", "data", "assumptions",
                           "parameters", "algorithm", "verify"}) {
      const std::size_t at = page.find(std::string("<h2 id=\"") + id + "\">");
      EXPECT_GT(at, last) << id;
      last = at;
    }
    EXPECT_GT(page.find(">numerics."), page.find("id=\"algorithm\""));
  }
}

TEST(Report, HasTextThatStandsOutFromEveryGround) {
  const std::string page = page_of("path");
  const std::vector<std::string> palettes = all_of(page, ":root \\{([^}]*)\\}");
  ASSERT_EQ(palettes.size(), 3U);  // light, dark, paper
  // All that text and grounds may be: nothing else in the page names a color.
  const std::vector<std::string> texts{"ink", "soft", "link", "alert"}, grounds{"page", "card"};
  for (const std::string& palette : palettes) {
    std::map<std::string, std::string> color;
    const std::regex one("--([a-z]+): (#[0-9a-f]{6});");
    for (auto hit = std::sregex_iterator(palette.begin(), palette.end(), one);
         hit != std::sregex_iterator(); ++hit)
      color[(*hit)[1]] = (*hit)[2];
    ASSERT_EQ(color.size(), 9U);
    for (const std::string& text : texts)
      for (const std::string& ground : grounds)
        EXPECT_GE(contrast(color.at(text), color.at(ground)), 4.5) << text << " on " << ground;
    EXPECT_GE(contrast(color.at("mark"), color.at("page")), 3);  // lines and dots
    EXPECT_GE(contrast(color.at("mark"), color.at("card")), 3);
  }
  std::string rest = page;
  for (const std::string& palette : palettes) rest.erase(rest.find(palette), palette.size());
  EXPECT_TRUE(all_of(rest, "(#[0-9a-fA-F]{3,8}\\b(?!;))(?=[ ;\"])").empty());
  for (const std::string& name : all_of(rest, "[ {;](?:color): var\\(--([a-z]+)\\)"))
    EXPECT_THAT(texts, ::testing::Contains(name));
  for (const std::string& name : all_of(rest, "background: var\\(--([a-z]+)\\)"))
    EXPECT_THAT(grounds, ::testing::Contains(name));
  // Text in pictures is outside of what is filled with other colors.
  EXPECT_THAT(rest, HasSubstr("svg text { font-size: 12px; fill: var(--soft); }"));
  EXPECT_NEAR(contrast("#000000", "#ffffff"), 21, 1e-12);
  EXPECT_LT(contrast("#777777", "#ffffff"), 4.5);  // WCAG's own example of too little
}

// path of version 1 is Gaussian but for the noise's own share: the curve is that of mu, from below.
TEST(Report, DrawsTheTradeOffCurveFromBelow) {
  const std::string text = golden_text("path");
  const double mu = json::parse(text).at("certificate").at("guarantee").at("mu");
  const std::vector<std::string> curve =
      all_of(html_report(text, "path"), "class=\"curve\" d=\"M([^\"]*)\"");
  ASSERT_EQ(curve.size(), 1U);
  std::string points = curve.front();
  std::ranges::replace(points, 'L', ' ');
  std::istringstream numbers(points);
  const boost::math::normal normal;
  std::size_t seen = 0;
  for (double x = 0, y = 0; numbers >> x >> y; ++seen) {
    const double a = (x - 44) / 290, b = 1 - (y - 12) / 290;  // one tenth is 3.4e-4
    if (a <= 0 || a >= 1) continue;
    // What 0.05 of a pixel does to a moves the curve by its slope.
    const double step = 0.06 / 290;
    const auto at = [&](double alarms) {
      return alarms <= 0   ? 1.0
             : alarms >= 1 ? 0.0
                           : cdf(normal, quantile(complement(normal, alarms)) - mu);
    };
    EXPECT_LE(b, at(a - step) + step) << a;
    EXPECT_GE(b, at(a + step) - 0.004) << a;
  }
  EXPECT_EQ(seen, 101U);
}

TEST(Report, OfAVoidModelSaysSoFirst) {
  const std::string page = page_of("seeded");
  const std::string body = page.substr(page.find("<main>\n") + 7);
  EXPECT_THAT(body.substr(0, body.find('\n')), HasSubstr("NO GUARANTEE"));
  EXPECT_THAT(page, AllOf(Not(HasSubstr("best guess right")), Not(HasSubstr("class=\"curve\"")),
                          Not(HasSubstr("the certificate verified")), Not(HasSubstr("Signature")),
                          Not(HasSubstr("guarantee holds")), HasSubstr("<title>Void. ")));
  expect_harmless(page);
}

TEST(Report, IsRefusedOfWhatDoesNotVerify) {
  const json file = json::parse(golden_text("path"));
  const auto expect_invalid = [](const json& edited, const std::string& what) {
    try {
      static_cast<void>(html_report(edited.dump(), "m.json"));
      ADD_FAILURE() << what;
    } catch (const Infeasible& error) {
      EXPECT_THAT(error.what(),
                  AllOf(HasSubstr("m.json: NOT VALID: "), HasSubstr(what), Not(HasSubstr("\n"))));
    }
  };
  json edited = file;  // its digest does not cover the claim
  edited["certificate"]["guarantee"]["epsilon"] =
      file["certificate"]["guarantee"]["epsilon"].get<double>() / 2;
  expect_invalid(edited, "guarantee");
  edited = file;
  edited["model"]["coefficients"][0] = 7.0;
  expect_invalid(edited, "model.");
  edited = json::parse(golden_text("seeded"));  // void, and changed besides
  edited["model"]["coefficients"][0] = 7.0;
  expect_invalid(edited, "model");
  edited = file;
  edited["format"] = "gibbsite-release/4";
  EXPECT_THROW(static_cast<void>(html_report(edited.dump(), "m.json")), BadInput);
  EXPECT_THROW(static_cast<void>(html_report("{", "m.json")), BadInput);
  EXPECT_THROW(static_cast<void>(read_html_report("/no/such/file")), BadInput);
}

TEST(Report, EscapesNames) {
  EXPECT_EQ(escaped_html("<b a='1'>\"&\x1b\xff"), "&lt;b a=&#39;1&#39;&gt;&quot;&amp;\\x1b\\xff");
  Html page;
  page.put("{}{}{}{}", std::string("<i>"), "<u>", Markup{"<b>"}, 3);
  EXPECT_EQ(page.text(), "&lt;i&gt;&lt;u&gt;<b>3");

  const std::string script = "<script>alert(1)</script>", close = "</td></table>\"'>",
                    control = "a\x1b[31m\x01 & \xe2\x80\xae", comment = "--><!--", braces = "{}{0}";
  json file = json::parse(golden_text("path"));
  LinearModel model = LinearKind::model_from_json(file.at("model"), "path");
  model.schema.label_name = script;
  model.schema.label = TwoClasses{.positive = close, .negative = control};
  std::size_t k = 0;
  for (Column& column : model.schema.columns) {
    column.name = (k % 2 == 0 ? control : script) + std::to_string(k);
    for (std::size_t i = 0; i < column.levels.size(); ++i)
      column.levels[i] = (i % 2 == 0 ? close : comment + braces) + std::to_string(i);
    ++k;
  }
  file["model"] = model_json(model);
  file["certificate"]["digest"] = file_digest(file);
  const std::string out = html_report(file.dump(), "m.json");
  expect_harmless(out);
  EXPECT_THAT(out, AllOf(HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;"),
                         HasSubstr("&lt;/td&gt;&lt;/table&gt;&quot;&#39;&gt;"),
                         HasSubstr("a\\x1b[31m\\x01 &amp; \\u{202e}"), HasSubstr("{}{0}")));
  EXPECT_THAT(out, AllOf(Not(HasSubstr("<!--")), Not(HasSubstr("alert(1)<"))));
}

}  // namespace report_test
}  // namespace gibbsite
