// The page's pictures of the terms (term_pictures.cpp), for others and for the curator.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gibbsite/core/text.hpp"
#include "gibbsite/release/svg.hpp"
#include "gibbsite/release/terms.hpp"
#include "release/page.hpp"
#include "release/report_parts.hpp"

namespace gibbsite {
namespace {

constexpr std::size_t most_pictures = 60;

}  // namespace

void terms_part(Html& page, const LinearModel& model) {
  std::vector<TermPicture> pictures = term_pictures(model);
  if (pictures.empty()) return;
  const std::size_t all = pictures.size();
  std::ranges::stable_sort(pictures, {}, &TermPicture::certainty);
  pictures.resize(std::min(all, most_pictures));
  page.put("<p class=\"note\">{}{}</p>\n<div class=\"terms\">\n", term_words(model),
           all > 1 ? " The surest come first." : "");
  for (const TermPicture& picture : pictures) {
    const std::vector<std::string> title =
        lines_that_fit(shown(picture.column), term_picture_width - 16);
    const double above = svg_line * static_cast<double>(title.size());
    page.put(
        "<figure><svg viewBox=\"0 {:.0f} {:.0f} {:.0f}\" role=\"img\" "
        "aria-label=\"{}\">\n",
        -above, term_picture_width, picture.height + above, picture.says);
    double y = 14 - above;
    for (const std::string& line : title) {
      page.put("<text class=\"strong\" x=\"8\" y=\"{:.0f}\">{}</text>\n", y, line);
      y += svg_line;
    }
    page.put("{}</svg><figcaption>{}</figcaption></figure>\n", Markup{picture.drawing},
             picture.caption);
  }
  page.put("</div>\n");
  if (all > pictures.size())
    page.put("<p>Pictures of {} of {} columns are here.</p>\n", pictures.size(), all);
}

}  // namespace gibbsite
