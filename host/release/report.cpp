// The page for others, from its sections (report_parts.hpp): what a reader needs first, what one
// recomputes last.
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
namespace {

using nlohmann::json;

constexpr const char* who_is_missing =
    "<li>Differential privacy corrects nothing of how people came into the table: who is missing "
    "there is missing here.</li>\n</ul>\n";

void network_bias_section(Html& page, bool counted, bool whole) {
  heading(page, "bias", "Bias");
  page.put(
      "<ul>\n<li>Cells outside of their range, unlisted levels and missing cells were changed by "
      "the rules of the dictionary; of numbers only the bin is known.</li>\n<li>{}: small groups "
      "are described worst.</li>\n{}{}",
      counted
          ? "The noise is as large in a count of few people as in one of many, and the tables may "
            "say that there is nobody where somebody was"
          : "The prior and what was cut pull shares toward each other, small ones most",
      Markup{whole
                 ? ""
                 : "<li>What two columns share beyond what the arrows carry is lost: a difference "
                   "between groups may be missing here.</li>\n"},
      Markup{who_is_missing});
}

// `linear`: of a linear model; null of draws of a family.
void bias_section(Html& page, const LinearModel* linear, bool of_public = false) {
  heading(page, "bias", "Bias");
  page.put("<ul>\n");
  if (linear != nullptr) {
    page.put(
        "<li>Cells outside of their range, unlisted levels, missing cells and long rows were "
        "changed by the rules of the dictionary; people to whom that happens more often are "
        "described worse.</li>\n<li>{} small groups are described worst.</li>\n",
        score_words(*linear).empty()
            ? "The prior pulls coefficients toward 0, those of rare levels most:"
            : "Slopes were held, which can make coefficients of rare levels too large:");
  } else {
    page.put(
        "<li>Cells outside of the range, unlisted levels and missing cells were changed by the "
        "rules of the dictionary.</li>\n<li>The prior pulls shares and means toward the middle of "
        "what they can be, small ones most{}.</li>\n",
        of_public ? ", and toward those of the public table" : "");
  }
  page.put("{}", Markup{who_is_missing});
}

void checklist_section(Html& page, const json& certificate, const Claims& claims) {
  heading(page, "assumptions", "Deployment and trust: what to check and sign");
  if (claims.is_void()) {
    page.put("<p>Nothing: no assumption makes a guarantee of a void model.</p>\n");
    return;
  }
  page.put(
      "<p>No program can check what follows. The guarantee holds where all of it is true; whoever "
      "publishes the model ticks each line and signs.</p>\n<h3>Assumptions of the "
      "certificate</h3>\n"
      "<ul class=\"list\">\n");
  std::size_t i = 0;
  const auto line = [&](const std::string& text, bool blank) {
    ++i;
    page.put("<li><input type=\"checkbox\" id=\"a{}\"><label for=\"a{}\">{}</label>{}</li>\n", i, i,
             text, Markup{blank ? "<span class=\"blank\">&nbsp;</span>" : ""});
  };
  for (const json& one : certificate.at("assumptions"))
    line(with_paths_of_pages(one.get<std::string>()), false);
  page.put("</ul>\n<h3>Who and from which source</h3>\n<ul class=\"list\">\n");
  line(
      "Who chose the ranges, levels, classes and the bound on rows, and from which source (a "
      "codebook, a form, a law), without looking at the table:",
      true);
  line("Who chose ε, δ and the options, when, and for what reason:", true);
  line(claims.people ? "How it was made sure that every person has one id:"
                     : fmt::format("How it was made sure that one person has at most {} row{}:",
                                   claims.claimed.who.rows_per_person,
                                   plural(claims.claimed.who.rows_per_person)),
       true);
  line("Which other releases about these people there are, and where they are counted (a ledger):",
       true);
  page.put(
      "</ul>\n<h3>Trust model and queries</h3>\n<p>The central model: the noise was drawn where "
      "the whole table is. One release: what is asked of the file later reads no row.</p>\n<ul "
      "class=\"list\">\n");
  line("Who ran the program on the table, and is trusted with all of it:", true);
  page.put("</ul>\n<h3>Side channels</h3>\n<ul class=\"list\">\n");
  line(
      "Who could see how long the run took, its error messages or what else shared its machine, "
      "and why that told nobody about a person:",
      true);
  page.put("</ul>\n<h3>Data security and access control</h3>\n<ul class=\"list\">\n");
  line(
      "Who may read the table, screen output, logs, checkpoints and caches, and how they are kept:",
      true);
  page.put("</ul>\n<h3>Data collection exposure</h3>\n<ul class=\"list\">\n");
  line("How the data were collected, who saw them on the way, and when they will be deleted:",
       true);
  page.put(
      "</ul>\n<div class=\"sign\"><p>Name<span class=\"blank\">&nbsp;</span></p><p>Role<span "
      "class=\"blank\">&nbsp;</span></p><p>Date<span "
      "class=\"blank\">&nbsp;</span></p><p>Signature<span "
      "class=\"blank\">&nbsp;</span></p></div>\n");
}

void verify_section(Html& page, const std::string& text, const json& certificate, bool is_void) {
  heading(page, "verify", "How to verify this page");
  page.put(
      "<p>This page was made from the model file alone. Anybody can make it again, to the same "
      "bytes, and recompute the guarantee from the public numbers:</p>\n<pre>gibbsite verify "
      "model.json\ngibbsite report model.json --out report.html\nb2sum -l 256 model.json</pre>\n"
      "<p>The last prints the digest (BLAKE2b-256) of the file's bytes:</p>\n<pre>{}</pre>\n"
      "<p>In the file, <code>certificate.digest</code>, of its contents:</p>\n<pre>{}</pre>\n",
      digest_of(text), certificate.at("digest").get<std::string>());
  page.put("<p>{}</p>\n", is_void ? "When this page was made everything verified but that there is "
                                    "no guarantee."
                                  : "When this page was made the certificate verified.");
  page.put(
      "<p class=\"note\">A digest is no signature: it says which file this page is about, not who "
      "made it. What cannot be verified is whether the program ran, which noise it used, and the "
      "assumptions above.</p>\n<h3>Sources</h3>\n<ul class=\"note\">\n<li>Headings follow the "
      "subjects of J. Near, D. Darais, N. Lefkovitz, G. Howarth: Guidelines for Evaluating "
      "Differential Privacy Guarantees, NIST SP 800-226, March 2025, <a "
      "href=\"https://doi.org/10.6028/NIST.SP.800-226\">doi.org/10.6028/NIST.SP.800-226</a>. This "
      "page is no assessment by NIST, and the dictionary of columns and this section are its "
      "own.</li>\n<li>The curve: J. Dong, A. Roth, W. Su: Gaussian "
      "Differential Privacy, Journal of the Royal Statistical Society B 84 (2022).</li>\n</ul>\n");
}

// "A logistic regression": what people call a model of that label and loss.
std::string_view regression_of(const LinearModel& model) {
  if (is<Classes>(model.schema.label)) return "A multinomial logistic regression";
  if (is<Count>(model.schema.label)) return "A Poisson regression";
  if (is<TwoClasses>(model.schema.label)) {
    return model.loss.starts_with("logistic") ? "A logistic regression"
                                              : "A linear classifier of two classes";
  }
  return model.loss == "squared" ? "A linear regression" : "A robust linear regression";
}

void title_block(Html& page, const std::string& title, const std::string& what,
                 const ReportFacts& facts) {
  open_page(page, (facts.claims.is_void() ? "Void. " : "") + title);
  if (facts.claims.is_void()) void_line(page);
  page.put("<h1>{}</h1>\n<p>{}</p>\n", title, what);
}

std::string report_of(const Release& release, const json& file, const std::string& text) {
  const LinearModel& model = release.model();
  const Certificate& c = release.certificate();
  const json certificate = to_json(c);  // of a file of version 1 too, by today's names
  ReportFacts facts{.claims = c, .rows = c.problem.rows, .basis = basis_of(c.mechanism)};
  if (!c.is_void()) facts.guess = best_guess_percent(c.claimed);
  Html page;
  const std::size_t used =
      static_cast<std::size_t>(std::ranges::count_if(model.schema.columns, [](const Column& one) {
        return one.type != ColumnType::ignore && one.type != ColumnType::person;
      }));
  title_block(
      page, "Privacy report: a model of " + model.schema.label_name,
      fmt::format("{} that predicts {} from {} column{}, fitted on a private table of {}{} "
                  "{}.",
                  regression_of(model), model.schema.label_name, used, plural(used),
                  c.claimed.who.adjacency == Adjacency::replace_one ? "" : "at most ",
                  human_count(static_cast<double>(c.problem.rows)), c.people ? "people" : "rows"),
      facts);
  promise_section(page, facts, in_words(c));
  coefficients_section(page, model, c);
  unit_section(page, facts);
  bias_section(page, &model);
  dictionary_section(page, model.schema, true);
  checklist_section(page, certificate, c);
  parameters_section(page, facts);
  algorithm_section(
      page, facts, certificate,
      fmt::format("Loss {}, {} coefficient{}, {} draw{}.", model.loss, c.problem.features,
                  plural(c.problem.features), c.draws, plural(c.draws)));
  verify_section(page, text, file.at("certificate"), c.is_void());
  return closed(page);
}

std::string report_of(const FamilyRelease& release, const json& file, const std::string& text) {
  const FamilyCertificate& c = release.certificate();
  const FamilyModel& model = release.model();
  ReportFacts facts{.claims = c, .rows = c.problem.rows, .basis = basis_of(c.mechanism, c.problem)};
  if (!c.is_void()) {
    facts.guess = c.bought ? best_guess_percent(c.claimed)
                           : best_guess_percent(c.mechanism, c.problem, c.claimed, c.draws);
    facts.sharper = facts.guess < best_guess_percent(c.claimed);
  }
  Html page;
  title_block(page, "Privacy report: " + model.column(),
              fmt::format("Draws of the parameters of {}, {}, from a private table of {}{} rows.",
                          model.column(), std::string(to_string(model.family)),
                          c.claimed.who.adjacency == Adjacency::replace_one ? "" : "at most ",
                          human_count(static_cast<double>(c.problem.rows))),
              facts);
  promise_section(page, facts, in_words(c));
  estimates_section(page, release);
  unit_section(page, facts);
  bias_section(page, nullptr, c.problem.public_counts.has_value());
  dictionary_section(page, model.schema, false);
  checklist_section(page, file.at("certificate"), c);
  parameters_section(page, facts);
  algorithm_section(
      page, facts, file.at("certificate"),
      fmt::format("Family {}, {} draw{}.", to_string(model.family), c.draws, plural(c.draws)));
  verify_section(page, text, file.at("certificate"), c.is_void());
  return closed(page);
}

const char* structure_words(const NetworkProblem& problem) {
  return problem.chooses_structure()
             ? "; what depends on what was chosen from the table, which the guarantee covers"
             : "; what depends on what was written by people";
}

// What rows count as; "" where each counts as one.
std::string counted_sentence(const NetworkRelease& release) {
  const std::uint64_t k = release.certificate().problem.rows_of_person;
  const Column* const weight = release.model().schema.weight();
  if (k == 0 && weight == nullptr) return "";
  if (is_cross_table(release.model()))
    return fmt::format(" Counts are of {}.", unit_of_counts(cross_table(release)));
  std::string out;
  if (k == 1) out = " All rows of a person count as one together.";
  if (k > 1) out = fmt::format(" All rows of a person count as at most {} together.", k);
  return weight == nullptr ? out : out + fmt::format(" Rows count by the weight {}.", weight->name);
}

void network_title(Html& page, const NetworkRelease& release, const ReportFacts& facts) {
  const NetworkCertificate& c = release.certificate();
  const NetworkModel& model = release.model();
  const std::string columns =
      fmt::format("{} column{}", model.network.size(), plural(model.network.size()));
  const std::string rows =
      fmt::format("{}{} {}", c.claimed.who.adjacency == Adjacency::replace_one ? "" : "at most ",
                  human_count(static_cast<double>(c.problem.rows)), c.people ? "people" : "rows");
  const std::string counted = counted_sentence(release);
  if (is_cross_table(model)) {
    const std::string by = fmt::format("{}", fmt::join(model.names(), " × "));
    title_block(
        page, "Privacy report: a table of " + by,
        fmt::format("Noisy counts by {} of a private table of {}: of each cell, of each "
                    "level alone, and in all{}.{}",
                    by, rows,
                    model.network.size() > 2 ? ", and shares as of a network of " + columns : "",
                    counted),
        facts);
    return;
  }
  title_block(
      page, "Privacy report: a network of " + columns,
      fmt::format(
          "Tables of a discrete Bayesian network over {} of a private table of {}: the share "
          "of each level, given those that it depends on.{}",
          columns, rows, counted),
      facts);
}

std::string report_of(const NetworkRelease& release, const json& file, const std::string& text) {
  const NetworkCertificate& c = release.certificate();
  const NetworkModel& model = release.model();
  ReportFacts facts{.claims = c, .rows = c.problem.rows, .basis = basis_of(c.mechanism, c.problem)};
  if (!c.is_void()) facts.guess = best_guess_percent(c.claimed);
  std::uint64_t cells = 0;
  for (std::size_t k = 0; k < model.network.size(); ++k) cells += model.network.cells(k);
  Html page;
  const bool whole = is_cross_table(model);
  network_title(page, release, facts);
  promise_section(page, facts, in_words(c));
  if (whole) counts_section(page, release);
  if (!whole || model.network.size() > 2) tables_section(page, model, whole);
  unit_section(page, facts);
  network_bias_section(page, !model.noise.empty() || model.tree, whole);
  dictionary_section(page, model.schema, false, true);
  checklist_section(page, file.at("certificate"), c);
  parameters_section(page, facts);
  algorithm_section(page, facts, file.at("certificate"),
                    fmt::format("{} cells, {} draw{}{}.", human_count(static_cast<double>(cells)),
                                c.draws, plural(c.draws), whole ? "" : structure_words(c.problem)));
  verify_section(page, text, file.at("certificate"), c.is_void());
  return closed(page);
}

// What each column was taken for, and the noisy counts that say so.
void findings_section(Html& page, const BoughtSchema& bought) {
  heading(page, "columns", "What was found");
  page.put("<table>\n<tr><th>Column</th><th>Taken for</th><th>Noisy counts</th></tr>\n");
  for (const ColumnFinding& found : findings(bought)) {
    const Column& column = found.column;
    const std::string range =
        column.type == ColumnType::number || column.type == ColumnType::weight
            ? fmt::format(" from {} to {}", column.text_of(column.lo), column.text_of(column.hi))
            : "";
    page.put("<tr><td>{}</td><td>{}{}</td><td>{}</td></tr>\n", column.name,
             std::string(column.is_date()                      ? "date"
                         : column.is_boolean                   ? "boolean"
                         : column.type == ColumnType::number   ? "number"
                         : column.type == ColumnType::category ? "category"
                         : column.type == ColumnType::person   ? "person"
                         : column.type == ColumnType::weight   ? "weight"
                                                               : "ignored"),
             range, found.words);
  }
  page.put("</table>\n");
}

std::string report_of(const SchemaRelease& release, const json& file, const std::string& text) {
  const SchemaCertificate& c = release.certificate();
  ReportFacts facts{.claims = c, .rows = c.problem.rows, .basis = basis_of(c.mechanism, c.problem)};
  if (!c.is_void()) facts.guess = best_guess_percent(c.claimed);
  Html page;
  title_block(
      page, "Privacy report: a schema",
      fmt::format("Types, ranges and levels of {} column{}, found by noisy counts in a "
                  "private table of {} {}.",
                  c.problem.columns, plural(c.problem.columns),
                  human_count(static_cast<double>(c.problem.rows)), c.people ? "people" : "rows"),
      facts);
  promise_section(page, facts, in_words(c));
  findings_section(page, release.model());
  unit_section(page, facts);
  checklist_section(page, file.at("certificate"), c);
  parameters_section(page, facts);
  algorithm_section(page, facts, file.at("certificate"),
                    fmt::format("Levels of fewer than {:.0f} rows are not seen.",
                                release.model().scale.threshold));
  verify_section(page, text, file.at("certificate"), c.is_void());
  return closed(page);
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

std::string html_report(const std::string& text, const std::string& source) {
  const json file = parse_release_json(text, source);
  require_verified(file, source);
  if (is_of<ConjugateKind>(file.at("certificate")))
    return report_of(parse_release<ConjugateKind>(text, source), file, text);
  if (is_of<GraphicalKind>(file.at("certificate")))
    return report_of(parse_release<GraphicalKind>(text, source), file, text);
  if (is_of<SchemaKind>(file.at("certificate")))
    return report_of(parse_release<SchemaKind>(text, source), file, text);
  return report_of(parse_release(text, source), file, text);
}

std::string read_html_report(const std::string& path) { return html_report(text_of(path), path); }

}  // namespace gibbsite
