// The page for others: its words are templates/report.md, what they say of a release comes from
// report_parts.hpp.
#include "gibbsite/release/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "certificate/model_json.hpp"
#include "core/digest.hpp"
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/human_count.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/mechanism/mechanism.hpp"
#include "gibbsite/privacy/guarantee.hpp"
#include "gibbsite/release/coefficients.hpp"
#include "gibbsite/release/cross_table.hpp"
#include "release/page.hpp"
#include "release/report_parts.hpp"

namespace gibbsite {

extern const char* const report_template_text;  // templates/report.md, written by the build

namespace {

using nlohmann::json;

// docs/reference/report-template.md says what each is.
const TemplateNames& names() {
  static const TemplateNames all{
      {"model",       "family",           "network",         "schema",          "void",
       "people",      "replace_one",      "one_row",         "one_draw",        "sharper",
       "edited",      "two_classes",      "several_classes", "amounts",         "counts",
       "logistic",    "squared",          "one_column",      "one_coefficient", "scored",
       "effects",     "hidden_effects",   "ratios",          "bounded",         "long_rows",
       "levels",      "trimmed",          "missing",         "bought_range",    "public_table",
       "cross_table", "tables",           "persons",         "one_of_person",   "weights",
       "weighed",     "chosen_structure", "drawn",           "noisy_counts",    "counting",
       "all_cells",   "transitions",      "long_run",        "counted_together"},
      {"rows",
       "rows_of_each",
       "draws",
       "guess",
       "basis",
       "mechanism",
       "theorem",
       "version",
       "backend",
       "assumptions",
       "file_digest",
       "contents_digest",
       "template_digest",
       "promise",
       "guess_bar",
       "trade_off",
       "pairs",
       "guarantee_numbers",
       "settings",
       "dictionary",
       "label",
       "loss",
       "columns",
       "coefficients",
       "score",
       "row_norm",
       "positive",
       "middle",
       "noise_probability",
       "unit",
       "all_effects",
       "hidden_effects",
       "interval_words",
       "label_rules",
       "term_pictures",
       "effects_tables",
       "coefficients_tables",
       "missing_words",
       "range_low",
       "range_high",
       "estimates_table",
       "cross",
       "counting_words",
       "shown_cells",
       "table_cells",
       "counts_table",
       "previous",
       "next",
       "transition_words",
       "transitions_table",
       "long_run_words",
       "long_run_table",
       "rows_of_person",
       "weight",
       "cells",
       "question",
       "graph",
       "network_tables",
       "threshold",
       "findings"}};
  return all;
}

ReportFacts facts_of(const Certificate& c) {
  return {.claims = c, .rows = c.problem.rows, .basis = basis_of(c.mechanism)};
}
template <class CertificateOfKind>
ReportFacts facts_of(const CertificateOfKind& c) {
  return {.claims = c, .rows = c.problem.rows, .basis = basis_of(c.mechanism, c.problem)};
}

double guess_of(const Claims& claims) {
  return claims.is_void() ? 100 : best_guess_percent(claims.claimed);
}

// What each kind says, and the facts that it says it by.
void add_kind(PageFacts& page, ReportFacts& facts, const Release& release) {
  page.conditions["model"] = true;
  facts.guess = guess_of(release.certificate());
  add_coefficients(page, release.model(), release.certificate());
  page.parts["dictionary"] = [&release](Html& to, const Markup& caption) {
    dictionary_table(to, release.model().schema, false, caption);
  };
}

void add_kind(PageFacts& page, ReportFacts& facts, const FamilyRelease& release) {
  const FamilyCertificate& c = release.certificate();
  page.conditions["family"] = true;
  facts.guess = guess_of(c);
  if (!c.is_void() && !c.bought) {
    const double of_all = facts.guess;
    facts.guess = best_guess_percent(c.mechanism, c.problem, c.claimed, c.draws);
    facts.sharper = facts.guess < of_all;
  }
  add_estimates(page, release);
  page.parts["dictionary"] = [&release](Html& to, const Markup& caption) {
    dictionary_table(to, release.model().schema, false, caption);
  };
}

void add_kind(PageFacts& page, ReportFacts& facts, const NetworkRelease& release) {
  page.conditions["network"] = true;
  facts.guess = guess_of(release.certificate());
  add_network(page, release);
  page.parts["dictionary"] = [&release](Html& to, const Markup& caption) {
    dictionary_table(to, release.model().schema, true, caption);
  };
}

// What each column was taken for, and the noisy counts that say so.
void findings_table(Html& page, const BoughtSchema& bought) {
  page.put("<table>\n<tr><th>Column</th><th>Taken for</th><th>Noisy counts</th></tr>\n");
  for (const ColumnFinding& found : findings(bought)) {
    const Column& column = found.column;
    const std::string range =
        column.type == ColumnType::number || column.type == ColumnType::weight ||
                column.type == ColumnType::exposure
            ? fmt::format(" from {} to {}", column.text_of(column.lo), column.text_of(column.hi))
            : "";
    page.put("<tr><td>{}</td><td>{}{}</td><td>{}</td></tr>\n", column.name,
             std::string(column.is_date()                      ? "date"
                         : column.is_boolean                   ? "boolean"
                         : column.type == ColumnType::number   ? "number"
                         : column.type == ColumnType::category ? "category"
                         : column.type == ColumnType::person   ? "person"
                         : column.type == ColumnType::weight   ? "weight"
                         : column.type == ColumnType::exposure ? "exposure"
                                                               : "ignored"),
             range, found.words);
  }
  page.put("</table>\n");
}

void add_kind(PageFacts& page, ReportFacts& facts, const SchemaRelease& release) {
  page.conditions["schema"] = true;
  facts.guess = guess_of(release.certificate());
  const std::uint64_t columns = release.certificate().problem.columns;
  page.conditions["one_column"] = columns == 1;
  page.texts["columns"] = fmt::format("{}", columns);
  page.texts["threshold"] = fmt::format("{:.0f}", release.model().scale.threshold);
  page.parts["findings"] = [&release](Html& to, const Markup&) {
    findings_table(to, release.model());
  };
}

template <class ReleaseOfKind>
std::string report_of(const ReleaseOfKind& release, const json& file, const std::string& text,
                      const ReportTemplate& words) {
  const auto& c = release.certificate();
  const json certificate = to_json(c);  // of a file of version 1 too, by today's names
  ReportFacts facts = facts_of(c);
  PageFacts page;
  add_kind(page, facts, release);
  add_guarantee(page, facts, certificate, in_words(c));
  const bool edited = words.text != default_report_template().text;
  page.conditions["edited"] = edited;
  if (edited)
    page.texts["template_digest"] = words.digest.empty() ? digest_of(words.text) : words.digest;
  page.texts["file_digest"] = digest_of(text);
  page.texts["contents_digest"] = file.at("certificate").at("digest").get<std::string>();
  const TemplatePage made = page_of(words, names(), page);
  Html out;
  open_page(out, (c.is_void() ? "Void. " : "") + made.title);
  if (c.is_void()) void_line(out);
  out.put("{}", made.body);
  // A template may leave out what says that its words are not the program's.
  if (edited && made.body.text.find(page.texts.at("template_digest")) == std::string::npos)
    out.put(
        "<p class=\"note\">The words of this page were edited; digest of their template: {}.</p>\n",
        page.texts.at("template_digest"));
  return closed(out);
}

}  // namespace

// A void file has one failure: that it is void.
void require_verified(const json& file, const std::string& source) {
  const Verification found = verify(file);
  const std::size_t allowed = found.void_run ? 1 : 0;
  if (found.failures.size() <= allowed) return;
  const bool second = found.void_run && found.failures.front().starts_with("guarantee: void");
  throw Infeasible(fmt::format(
      "{}: NOT VALID: {}; there is no report of a file whose certificate does not verify "
      "(verifying it says what does not hold)",
      source, shown(found.failures[second ? 1 : 0])));
}

namespace {
void require_page(const json& certificate, const std::string& source) {
  with_kind(certificate, [&]<class Held>(std::type_identity<Held>) {
    if constexpr (!std::is_same_v<Held, LinearKind>)
      throw BadInput(FilePosition{source},
                     fmt::format("holds {}, of which there is no page", Held::holds),
                     Message(Held::use));
  });
}
}  // namespace

std::string html_report(const std::string& text, const std::string& source,
                        const ReportTemplate& words) {
  const json file = parse_release_json(text, source);
  require_verified(file, source);
  if (is_of<ConjugateKind>(file.at("certificate")))
    return report_of(parse_release<ConjugateKind>(text, source), file, text, words);
  if (is_of<GraphicalKind>(file.at("certificate")))
    return report_of(parse_release<GraphicalKind>(text, source), file, text, words);
  if (is_of<SchemaKind>(file.at("certificate")))
    return report_of(parse_release<SchemaKind>(text, source), file, text, words);
  require_page(file.at("certificate"), source);
  return report_of(parse_release(text, source), file, text, words);
}

std::string html_report(const std::string& text, const std::string& source) {
  return html_report(text, source, default_report_template());
}

std::string read_html_report(const std::string& path) { return html_report(text_of(path), path); }

ReportTemplate default_report_template() { return {report_template_text, "report.md"}; }

ReportTemplate read_report_template(const std::string& path) {
  std::string words = text_of(
      path, "give an edited copy of the report's template (docs/reference/report-template.md)");
  constexpr std::string_view mark = "\xef\xbb\xbf";  // which editors of some systems write first
  if (words.starts_with("\xff\xfe") || words.starts_with("\xfe\xff"))
    throw BadInput(path + ": the file is UTF-16 text; save it as UTF-8");
  std::string digest = digest_of(words);
  if (words.starts_with(mark)) words.erase(0, mark.size());
  for (std::size_t at = 0; (at = words.find("\r\n", at)) != std::string::npos;) words.erase(at, 1);
  return {std::move(words), path, std::move(digest)};
}

const TemplateNames& report_names() { return names(); }

}  // namespace gibbsite
