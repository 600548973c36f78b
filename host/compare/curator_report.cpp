// The curator's page: its head, its sections by the kind of label, the cells that were changed.
#include "gibbsite/compare/curator_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "compare/curator_parts.hpp"
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/compare/compare.hpp"
#include "gibbsite/core/human_count.hpp"
#include "gibbsite/mechanism/mechanism.hpp"
#include "gibbsite/release/report.hpp"
#include "release/page.hpp"
#include "release/report_parts.hpp"

namespace gibbsite {
namespace curator {
namespace {

constexpr std::size_t most_columns_listed = 300;

// On the screen the mark stays in view; on paper it is the head and the foot of a table, which
// every browser repeats on each page.
constexpr const char* curator_style = R"(<meta name="robots" content="noindex">
<style>
:root { --other: #a34700; }
@media (prefers-color-scheme: dark) { :root { --other: #f5a65b; } }
@media print { :root { --other: #a34700; } }
.mark { position: sticky; top: 0; z-index: 1; margin: 0 0 0.8rem; padding: 0.5rem 0.9rem; background: var(--card); color: var(--alert); border: 2px solid var(--alert); font-weight: 600; }
.foot { position: static; margin: 2rem 0 0; } h2 { scroll-margin-top: 5rem; }
.other { stroke: var(--other); stroke-width: 2; stroke-dasharray: 7 4; fill: none; } .ring { stroke: var(--other); stroke-width: 2; fill: var(--page); }
.key { display: inline-block; width: 1.6rem; height: 0; line-height: 0; overflow: hidden; border-top: 3px solid var(--mark); vertical-align: middle; } .two { border-top: 3px dashed var(--other); }
.grid { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr)); gap: 0 1.6rem; } .grid > * { min-width: 0; } .grid h3 { margin-bottom: 0; }
td.right { font-weight: 600; }
.wide { table-layout: auto; } .wide td, .wide thead th { overflow-wrap: break-word; } .names th:first-child { width: 25%; } .names thead th { overflow-wrap: anywhere; }
@media (max-width: 37rem) { .wide { font-size: 0.75rem; } .wide th, .wide td { padding-right: 0.3rem; } }
@media print { main { display: table; width: 100%; } .mark { position: static; display: table-header-group; break-inside: avoid; background: none; border: 0; } .foot { display: table-footer-group; } .grid { display: block; } .grid figure { display: inline-block; width: 47%; margin: 0.8rem 1%; vertical-align: top; } .wide, p { break-inside: avoid; } figure { max-width: 24rem; } }
</style>
)";

void cells_section(Html& page, const Dataset& data) {
  heading(page, "cells", "Cells that the reader changed");
  const Schema& schema = data.schema;
  const IngestCounts& counts = data.counts;
  const auto rows = static_cast<double>(data.rows());
  const auto cell = [&](std::uint64_t count) {
    return count == 0
               ? std::string("0")
               : fmt::format("{} ({:.2g} %)", count, 100 * static_cast<double>(count) / rows);
  };
  std::vector<std::size_t> changed;
  std::size_t used = 0;
  for (std::size_t j = 0; j < std::min(counts.columns.size(), schema.columns.size()); ++j) {
    if (schema.columns[j].type == ColumnType::ignore) continue;
    ++used;
    if (counts.columns[j].sum() > 0) changed.push_back(j);
  }
  std::ranges::stable_sort(changed, std::greater{},
                           [&](std::size_t j) { return counts.columns[j].sum(); });
  const std::size_t all = changed.size();
  page.put(
      "<p>Outside: numbers below or above their public range, counted as the nearer end. Missing: "
      "as the schema writes it. Unlisted: levels counted as “(other)”. Unreadable: what is no cell "
      "of the column, counted as the middle.</p>\n");
  if (all == 0) {
    page.put("<p>Of {} column{} not one cell was changed.</p>\n", used, plural(used));
  } else {
    changed.resize(std::min(all, most_columns_listed));
    std::vector<Line> lines;
    for (const std::size_t j : changed) {
      const CellCounts& c = counts.columns[j];
      lines.push_back({schema.columns[j].name, cell(c.clamped), cell(c.missing), cell(c.other),
                       cell(c.invalid)});
    }
    table_of(page, "PRIVATE. Cells by column, the most first",
             {"column", "outside", "missing", "unlisted", "unreadable"}, lines);
    if (all > changed.size())
      page.put("<p>and {} more columns with fewer</p>\n", all - changed.size());
    if (used > all)
      page.put("<p>The other {} column{}: not one cell.</p>\n", used - all, plural(used - all));
  }
  const std::pair<std::uint64_t, const char*> others[] = {
      {counts.clamped_labels, "labels outside of their public range"},
      {counts.unlisted_labels, "labels of no listed class"},
      {counts.invalid_labels, "labels missing or unreadable"},
      {counts.clipped_rows, "rows longer than the public bound, scaled down"}};
  page.put("<ul>\n");
  for (const auto& [count, what] : others) page.put("<li>{}: {}</li>\n", what, cell(count));
  page.put("</ul>\n");
}

// The one section that reads no row.
void terms_section(Html& page, const LinearModel& model) {
  heading(page, "terms", "What the model says of each column");
  page.put(
      "<p>From the model file alone: these pictures are released, and those of <code>gibbsite "
      "report</code>.</p>\n");
  terms_part(page, model);
}

void head_sections(Html& page, const Release& release, const std::string& digest,
                   const std::optional<LinearModel>& non_private, const CuratorOptions& options) {
  const LinearModel& model = release.model();
  const bool is_void = release.certificate().is_void();
  const std::string title = "How good the model of " + model.schema.label_name + " is";
  open_page(page, std::string("PRIVATE. ") + (is_void ? "Void. " : "") + title, {curator_style});
  page.put(
      "<p class=\"mark\">{}PRIVATE: for the curator alone. No certificate covers this page.</p>\n",
      is_void ? "NO GUARANTEE, AND " : "");
  if (is_void) void_line(page);
  page.put("<h1>{}</h1>\n<p>Loss {}, mechanism {}, judged on {}.</p>\n", title, model.loss,
           std::string(name_of(release.certificate().mechanism)),
           options.table.empty() ? std::string("a table") : "the table " + options.table);
  page.put(
      "<div class=\"said\"><p>Every number and every curve here reads the rows of this table, but "
      "for the pictures of the columns. "
      "Whoever publishes one of them, or chooses by them what to publish, tells something about "
      "these people that no certificate counts. Publish it only if the table is public. For others "
      "there is <code>gibbsite report</code>, which reads the model file alone.</p>\n");
  page.put("</div>\n");
  if (non_private) {
    page.put(
        "<p>Beside it, the <strong>{}</strong>: the ordinary fit of the same loss to these same "
        "rows, without noise. It is judged on the rows that it was fitted to, so it looks a little "
        "better than it is; nothing of it was kept.</p>\n",
        beside_name);
  } else {
    page.put(
        "<p>There is no fit without privacy beside it: the model has {} coefficients, and at most "
        "{} are fitted.</p>\n",
        model.draws.front().size(), most_non_private_features);
  }
  page.put(
      "<p class=\"note\">Where these are the rows that the model itself was fitted to, it too "
      "looks "
      "better than on others. Digest in the model file: <code>{}</code>.</p>\n",
      digest);
}

}  // namespace
}  // namespace curator

std::string curator_report(const std::string& text, const std::string& source, const Dataset& data,
                           const std::optional<LinearModel>& non_private,
                           const CuratorOptions& options) {
  const nlohmann::json file = parse_release_json(text, source);
  const Release release = parse_release(text, source);
  require_verified(file, source);
  const LinearModel& model = release.model();
  Html page;
  curator::head_sections(page, release, file.at("certificate").at("digest").get<std::string>(),
                         non_private, options);
  const curator::Pair<const LinearModel*> models{
      &model, non_private ? std::optional<const LinearModel*>(&*non_private) : std::nullopt};
  if (is<TwoClasses>(model.schema.label)) {
    curator::two_classes_sections(page, data, models, options.threshold);
  } else if (is<Classes>(model.schema.label)) {
    curator::classes_sections(page, data, models);
  } else {
    curator::amount_sections(page, data, models);
  }
  curator::terms_section(page, model);
  curator::cells_section(page, data);
  page.put("<p class=\"mark foot\">PRIVATE: for the curator alone.</p>\n");
  return closed(page);
}

}  // namespace gibbsite
