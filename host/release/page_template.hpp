#pragma once
// A page's words as a text that people edit: Markdown with names in braces (templates/report.md).
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "gibbsite/release/report.hpp"
#include "release/html.hpp"

namespace gibbsite {

/// What a page says of one release, by the names that its template uses.
struct PageFacts {
  /// Writes a table or a picture; the caption is the template's.
  using Part = std::function<void(Html& page, const Markup& caption)>;
  std::map<std::string, bool, std::less<>> conditions{};  // one that is absent is false
  std::map<std::string, std::string, std::less<>> texts{};
  std::map<std::string, std::vector<std::string>, std::less<>> lists{};  // one item each
  std::map<std::string, Part, std::less<>> parts{};
};

/// Names that templates may use: in {if NAME}, and as {NAME}.
struct TemplateNames {
  std::vector<std::string> conditions, texts;
};

/// What a template makes of the facts.
struct TemplatePage {
  std::string title;  // plain text, of the line "# Title"
  Markup body;
};

/// Throws BadInput "SOURCE:LINE: ..." if the template uses a name that is not in `names`, or, where
/// its conditions hold, one that these facts lack, or if it has no title.
TemplatePage page_of(const ReportTemplate& words, const TemplateNames& names,
                     const PageFacts& facts);

/// All names of report.cpp's templates.
const TemplateNames& report_names();

}  // namespace gibbsite
