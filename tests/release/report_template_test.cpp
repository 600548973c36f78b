// The template of the report: every name is known, used and described; an edited copy is rendered
// or refused at its line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "core/digest.hpp"
#include "gibbsite/core/error.hpp"
#include "release/page_template.hpp"
#include "support/html.hpp"
#include "support/temp_dir.hpp"

namespace gibbsite {
namespace report_template_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string text_of_source(const std::string& path) {
  std::ifstream file(GIBBSITE_SOURCE_DIR + ("/" + path), std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

const TemplateNames few{{"yes", "no"}, {"name", "items", "picture"}};

PageFacts some_facts() {
  PageFacts facts;
  facts.conditions["yes"] = true;
  facts.texts["name"] = "<b>**x**";
  facts.lists["items"] = {"first", "second"};
  facts.parts["picture"] = [](Html& page, const Markup& caption) {
    page.put("<figure>{}</figure>\n", caption);
  };
  return facts;
}

std::string body_of(const std::string& text) {
  return page_of({"# T\n" + text, "mine.md"}, few, some_facts()).body.text.substr(11);
}

void expect_refused(const std::string& text, const std::string& what) {
  try {
    static_cast<void>(page_of({text, "mine.md"}, few, some_facts()));
    ADD_FAILURE() << text;
  } catch (const BadInput& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr(what), Not(HasSubstr("\n")))) << text;
  }
}

TEST(ReportTemplate, IsTheFileAndUsesAndDescribesEveryName) {
  const std::string words = default_report_template().text;
  EXPECT_EQ(words, text_of_source("host/release/templates/report.md"));
  const std::string page = text_of_source("docs/reference/report-template.md");
  for (const std::string& name : report_names().conditions) {
    EXPECT_TRUE(words.find("{if " + name + "}") != std::string::npos ||
                words.find("{if not " + name + "}") != std::string::npos)
        << name;
    EXPECT_THAT(page, HasSubstr("`" + name + "`"));
  }
  for (const std::string& name : report_names().texts) {
    EXPECT_THAT(words, HasSubstr("{" + name + "}"));
    EXPECT_THAT(page, HasSubstr("`{" + name + "}`"));
  }
  // Nothing else is named there: with no facts at all, every name is still looked at.
  const ReportTemplate none{"# T\n{if void}\n" + words + "{end}\n", "report.md"};
  EXPECT_EQ(page_of(none, report_names(), {}).title, "T");
}

// What the page says to check a template by is b2sum of the file, not of what was read of it.
TEST(ReportTemplate, OfAFileHasTheDigestOfItsBytes) {
  const gibbsite::testing::TempDir folder;
  const std::string bytes = "\xef\xbb\xbf# T\r\none\r\n";
  const ReportTemplate read = read_report_template(folder.write("mine.md", bytes));
  EXPECT_EQ(read.text, "# T\none\n");
  EXPECT_EQ(read.digest, digest_of(bytes));
  EXPECT_NE(read.digest, digest_of(read.text));
  for (const char* const mark : {"\xff\xfe", "\xfe\xff"}) {
    const std::string path = folder.write("utf-16.md", std::string(mark) + "#");
    EXPECT_THROW(static_cast<void>(read_report_template(path)), BadInput);
  }
}

TEST(ReportTemplate, IsMarkdown) {
  EXPECT_EQ(body_of("one\ntwo\n\nthree"), "<p>one two</p>\n<p>three</p>\n");
  EXPECT_EQ(body_of("## Two words {#id}\n### Three\n"),
            "<h2 id=\"id\">Two words</h2>\n<h3>Three</h3>\n");
  EXPECT_EQ(body_of("- a\n  b\n- c\nd\n"), "<ul>\n<li>a b</li>\n<li>c d</li>\n</ul>\n");
  EXPECT_EQ(body_of("> small\n> print\n"), "<p class=\"note\">small print</p>\n");
  EXPECT_EQ(body_of("> - a\n>   b\n"), "<ul class=\"note\">\n<li>a b</li>\n</ul>\n");
  EXPECT_EQ(body_of("```\na  <b>\n\n{name}\n```\nend"),
            "<pre>a  &lt;b&gt;\n\n&lt;b&gt;**x**</pre>\n<p>end</p>\n");
  EXPECT_EQ(body_of("**a** `b*c` x^2^ [t](https://a.b/?c=d&e)"),
            "<p><strong>a</strong> <code>b*c</code> x<sup>2</sup> <a "
            "href=\"https://a.b/?c=d&amp;e\">t</a></p>\n");
  EXPECT_EQ(body_of("Name ____ Date ____"),
            "<div class=\"sign\"><p>Name<span class=\"blank\">&nbsp;</span></p><p>Date<span "
            "class=\"blank\">&nbsp;</span></p></div>\n");
  EXPECT_EQ(body_of("- [ ] {items}\n- [ ] why: ____\n"),
            "<ul class=\"list\">\n"
            "<li><input type=\"checkbox\" id=\"a1\"><label for=\"a1\">first</label></li>\n"
            "<li><input type=\"checkbox\" id=\"a2\"><label for=\"a2\">second</label></li>\n"
            "<li><input type=\"checkbox\" id=\"a3\"><label for=\"a3\">why:</label><span "
            "class=\"blank\">&nbsp;</span></li>\n</ul>\n");
  EXPECT_EQ(body_of("{picture}\n: of\n{name}\n\n{picture}\nmore"),
            "<figure>of &lt;b&gt;**x**</figure>\n<figure></figure>\n<p>more</p>\n");
  EXPECT_EQ(body_of("<!-- {unknown}\nmore -->\n\\{ \\** {items}\r\n"),
            "<p>{ ** first, second</p>\n");
}

TEST(ReportTemplate, ChoosesByConditions) {
  EXPECT_EQ(body_of("a {if yes}b{else}c{end}{if not yes}d{end}"), "<p>a b</p>\n");
  EXPECT_EQ(body_of("a\n{if no}\nb\n\nc\n{else}\nd\n{if yes}\ne\n{end}\n{end}\nf"),
            "<p>a d e f</p>\n");
  // A name of a text that has no meaning here may stand where it is not shown.
  PageFacts facts;
  EXPECT_EQ(page_of({"# T\n{if no}\n{name}\n{picture}\n{end}\n", "m"}, few, facts).body.text,
            "<h1>T</h1>\n");
}

// What a file holds, and what its editor writes, is text: no tag, no script, no other scheme.
TEST(ReportTemplate, IsHarmless) {
  PageFacts facts = some_facts();
  const TemplatePage page =
      page_of({"# {name} <script>\n<script>x</script>\n\n[a](javascript:b) &amp; {name}\n", "m"},
              few, facts);
  EXPECT_EQ(page.title, "<b>**x** <script>");
  EXPECT_EQ(page.body.text,
            "<h1>&lt;b&gt;**x** &lt;script&gt;</h1>\n<p>&lt;script&gt;x&lt;/script&gt;</p>\n"
            "<p>[a](javascript:b) &amp;amp; &lt;b&gt;**x**</p>\n");
  for (const char* odd : {"- ",      "- [ ] ",
                          "> ",      ">",
                          "#",       "# ",
                          "## {#",   ": ",
                          "```",     "**",
                          "`",       "^",
                          "[",       "[](",
                          "____",    "_____",
                          "\\",      "{#x}",
                          "#\\{x",   "#{if yes}{end}\\{",
                          "a \\{ b", "- [ ] {items}",
                          "> > a",   "####### a",
                          "\x01\xff"}) {
    try {
      static_cast<void>(page_of({std::string("# T\n") + odd, "m"}, few, facts));
      static_cast<void>(page_of({std::string("# T\n{picture}\n") + odd + "\n", "m"}, few, facts));
    } catch (const BadInput&) {  // NOLINT(bugprone-empty-catch): refused is as good
    }
  }
}

TEST(ReportTemplate, IsRefusedAtItsLine) {
  expect_refused(
      "# T\n\n{nam}",
      "mine.md:3: {nam} is no name of a report, did you mean name?; known are name, items");
  expect_refused("# T\n{if yess}x{end}", "mine.md:2: {if yess} asks for what is not known");
  expect_refused("# T\n{if no}\n{nam}\n{end}", "mine.md:3: {nam}");  // where it is not shown too
  expect_refused("# T\n{if yes}\nx", "mine.md:2: {if} has no {end}");
  expect_refused("# T\nx{end}", "mine.md:2: {end} belongs to no {if}");
  expect_refused("# T\n{else}", "mine.md:2: {else} belongs to no {if}");
  expect_refused("# T\n{if yes}{else}{else}{end}", "mine.md:2: {else}");
  expect_refused("# T\n{name\n}", "mine.md:2: { has no }");
  expect_refused("# T\n<!-- x", "mine.md:2: <!-- has no -->");
  expect_refused("# T\nsee {picture}",
                 "mine.md:2: {picture} is a table or a picture; give it a line");
  expect_refused("no title", "mine.md:1: has no title");
  PageFacts facts;
  EXPECT_THROW(static_cast<void>(page_of({"# {name}", "m"}, few, facts)), BadInput);
}

}  // namespace report_template_test
}  // namespace gibbsite
