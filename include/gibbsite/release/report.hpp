#pragma once
// A model file as a page for people who do not run the program (docs/how-to/report.md).
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace gibbsite {

/// One HTML page, whole in itself: no script, nothing loaded, pictures as inline SVG, for screen
/// and paper. `text` is a model file's, of a linear model, a family's draws or a network; the page
/// is a function of it alone: the same bytes make the same page, on any day. Texts of the file are
/// escaped as core/text.hpp has it, then as HTML. Of a void model the first line says that there is
/// no guarantee. Throws BadInput "SOURCE: ..." on what is no model file or is of another version,
/// and Infeasible on one whose certificate does not verify.
std::string html_report(const std::string& text, const std::string& source);
/// The report of the file `path`. Throws BadInput if it cannot be read.
std::string read_html_report(const std::string& path);

/// Throws Infeasible on a model file whose certificate does not verify, unless being void is all
/// that it fails by: there is no page of such a file. `source` names it.
void require_verified(const nlohmann::json& file, const std::string& source);

}  // namespace gibbsite
