#pragma once
// What holds of every page.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace gibbsite::support {

// As what matches once in every hit.
inline std::vector<std::string> all_of(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::vector<std::string> out;
  for (auto hit = std::sregex_iterator(text.begin(), text.end(), regex);
       hit != std::sregex_iterator(); ++hit)
    out.push_back((*hit)[1]);
  return out;
}

// WCAG 2.2: relative luminance of #rrggbb.
inline double luminance(const std::string& color) {
  double out = 0;
  const double weights[] = {0.2126, 0.7152, 0.0722};
  for (std::size_t i = 0; i < 3; ++i) {
    const double c = std::stoi(color.substr(1 + 2 * i, 2), nullptr, 16) / 255.0;
    out += weights[i] * (c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4));
  }
  return out;
}

inline double contrast(const std::string& a, const std::string& b) {
  const double one = luminance(a) + 0.05, other = luminance(b) + 0.05;
  return std::max(one, other) / std::min(one, other);
}

// Nothing that a page can load or run, and no element that the report does not write.
inline void expect_harmless(const std::string& page) {
  const std::set<std::string> known{
      "html",  "head",  "meta",  "title",   "style", "body",  "main",       "h1",     "h2",
      "h3",    "p",     "div",   "span",    "ul",    "li",    "strong",     "sup",    "code",
      "pre",   "a",     "table", "caption", "thead", "tbody", "tr",         "th",     "td",
      "input", "label", "svg",   "figure",  "path",  "rect",  "figcaption", "circle", "text"};
  for (const std::string& tag : all_of(page, "<[/]?([A-Za-z][A-Za-z0-9]*)"))
    EXPECT_TRUE(known.contains(tag)) << tag;
  for (const std::string& link : all_of(page, "(?:href|src)=\"([^\"]*)\""))
    EXPECT_EQ(link, "https://doi.org/10.6028/NIST.SP.800-226");
  EXPECT_TRUE(all_of(page, "<[^>]*\\s(on[a-z]+)=").empty());
  EXPECT_TRUE(std::ranges::none_of(
      page, [](char c) { return (static_cast<unsigned char>(c) < 32 && c != '\n') || c == 127; }));
}

}  // namespace gibbsite::support
