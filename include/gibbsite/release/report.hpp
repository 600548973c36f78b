#pragma once
// A model file as a page for people who do not run the program (docs/how-to/report.md).
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace gibbsite {

/// The words of the page: Markdown with names in braces (docs/reference/report-template.md).
struct ReportTemplate {
  std::string text, source;  // source names it in errors
  std::string digest{};      // BLAKE2b-256 of the file's bytes; empty: of the text
};

/// The words of html_report, to be copied and edited.
ReportTemplate default_report_template();
/// Lines may end as in files of Windows, after a byte order mark. Throws BadInput if the file
/// cannot be read or is UTF-16.
ReportTemplate read_report_template(const std::string& path);

/// A self-contained HTML page about a model file: no script, nothing loaded, pictures as inline
/// SVG, for screen and paper. `text` is the file of a linear model, a family's draws or a network;
/// the same bytes always make the same page. Its texts are escaped as in core/text.hpp, then as
/// HTML. A void model's page says in its first line that there is no guarantee. Throws BadInput
/// "SOURCE: ..." if the text is no model file or of another version. Throws Infeasible if its
/// certificate does not verify.
std::string html_report(const std::string& text, const std::string& source);
/// Writes the page in other words, and says there that they are others. Also throws BadInput
/// "SOURCE:LINE: ..." if they use a name that is not known, or that says nothing of this release.
std::string html_report(const std::string& text, const std::string& source,
                        const ReportTemplate& words);
/// The report of the file `path`. Throws BadInput if it cannot be read.
std::string read_html_report(const std::string& path);

/// Throws Infeasible if the certificate of a model file does not verify, unless its only failure is
/// that it is void. `source` names the file.
void require_verified(const nlohmann::json& file, const std::string& source);

}  // namespace gibbsite
