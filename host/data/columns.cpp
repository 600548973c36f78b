#include "data/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "core/format_message.hpp"
#include "data/text.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"

namespace gibbsite {

namespace {
// The columns that the schema does not know: the label may be among them.
std::string strangers(const std::vector<std::string>& names, const Schema& schema) {
  constexpr std::size_t most = 3;
  std::string out;
  std::size_t count = 0;
  for (const std::string& name : names) {
    const bool known = std::any_of(schema.columns.begin(), schema.columns.end(),
                                   [&](const Column& column) { return column.name == name; });
    if (known || ++count > most) continue;
    out += (out.empty() ? " (is it " : " or ") + gibbsite::quoted(name);
  }
  return out.empty() ? "" : out + (count > most ? ", ...?)" : "?)");
}

std::vector<std::string> schema_names(const Schema& schema) {
  std::vector<std::string> out{schema.label_name};
  for (const Column& column : schema.columns) out.push_back(column.name);
  return out;
}

// The table's names, each as the schema spells it if only its accents are written another way.
std::vector<std::string> as_in_schema(const std::vector<std::string>& names, const Schema& schema) {
  std::map<std::string, std::string_view> spelled;
  std::set<std::string_view> exact{schema.label_name};
  spelled.emplace(composed(schema.label_name), schema.label_name);
  for (const Column& column : schema.columns) {
    exact.insert(column.name);
    spelled.emplace(composed(column.name), column.name);
  }
  std::vector<std::string> out = names;
  for (std::string& name : out) {
    if (is_ascii(name) || exact.contains(name)) continue;
    if (const auto found = spelled.find(composed(name)); found != spelled.end())
      name = found->second;
  }
  return out;
}
}  // namespace

void require_distinct(const std::vector<std::string>& names, const std::string& where,
                      const std::string& what) {
  std::set<std::string_view> seen;
  for (const std::string& name : names)
    if (!seen.insert(name).second)
      throw BadInput(fmt::format("{}: column {} occurs twice in {}; rename one", where,
                                 gibbsite::quoted(name), what));
}

std::vector<ColumnTarget> match_columns(const std::vector<std::string>& written,
                                        const Schema& schema, const ReadOptions& options,
                                        const std::string& what, bool has_labels,
                                        CellEncoder& rows) {
  const std::vector<std::string> names = as_in_schema(written, schema);
  if (what == "the header" && !names.empty() && names.front().empty())
    rows.fail(
        what +
        " has no name for its first column: are they the row numbers that R and pandas write? "
        "write the table without them (R: row.names = FALSE; pandas: index=False)");
  const bool of_model = options.unreadable != ReadOptions::Unreadable::by_schema;
  const auto is_read = [&](const Encoding& e) {
    return e.type != ColumnType::ignore &&
           ((e.type != ColumnType::weight && !e.is_person()) || rows.reads_weights());
  };
  // Names of cells, each with the first column that reads them.
  std::map<std::string_view, const Encoding*> known;
  for (const Encoding& e : rows.encodings()) {
    const auto [at, is_new] = known.emplace(schema.columns[e.column].cell_name(), &e);
    if (!is_new && at->second->type == ColumnType::ignore) at->second = &e;
  }
  // First, as a label under another name is a column that is not in the schema too.
  if (!has_labels && std::find(names.begin(), names.end(), schema.label_name) == names.end())
    rows.set_unlabeled(
        format_message("{} lacks the label column {}{}; add it{}", what,
                       gibbsite::quoted(schema.label_name), strangers(names, schema),
                       of_model ? Message(" (the schema is the model's)")
                                : format_message(", or fix {} in the schema", Word{"label"})));
  std::vector<ColumnTarget> targets;
  for (const std::string& name : names) {
    ColumnTarget target;
    const auto found = known.find(name);
    if (name == schema.label_name) {
      target.is_label = !has_labels;
    } else if (found != known.end()) {
      if (is_read(*found->second)) target.encoding = found->second;
      known.erase(found);
    } else if (!options.ignore_extra_columns && !is_utf8(name)) {
      rows.fail(
          fmt::format("column {} is not in the schema, and is not UTF-8; save the file as "
                      "UTF-8",
                      gibbsite::quoted(name)));
    } else if (!options.ignore_extra_columns) {
      rows.fail(
          fmt::format("column {} is not in the schema{}; add it under [columns], as {{type = "
                      "\"ignore\"}} to skip it",
                      gibbsite::quoted(name), did_you_mean(name, schema_names(schema))));
    }
    targets.push_back(target);
  }
  for (const auto& [name, encoding] : known)
    if (is_read(*encoding))
      rows.fail(fmt::format("{} lacks column {} of the schema{}; add it{}", what,
                            gibbsite::quoted(name), did_you_mean(name, written),
                            of_model ? " (the model needs it)" : ", or remove it from the schema"));
  return targets;
}

void require_no_parts(const CellEncoder& rows) {
  for (const Encoding& e : rows.encodings())
    if (e.part != DatePart::none)
      rows.fail(fmt::format(
          "column {}: a part of a date, whose cells have names and texts; write the table as CSV, "
          "Parquet or Arrow",
          gibbsite::quoted(e.name)));
}

std::vector<const Encoding*> array_columns(std::size_t columns, const CellEncoder& rows) {
  require_no_parts(rows);
  std::vector<const Encoding*> out;
  const std::vector<Encoding>& all = rows.encodings();
  for (const Encoding& e : all) {
    if (e.is_person() && rows.reads_weights())
      rows.fail(format_message(
          "column {}: ids in an array of numbers may be rounded; write the table as CSV, Parquet or "
          "Arrow",
          gibbsite::quoted(e.name)));
    const bool apart = (e.type == ColumnType::weight || e.is_person()) && !rows.reads_weights();
    if (apart && columns < all.size()) continue;
    out.push_back(apart || e.type == ColumnType::ignore ? nullptr : &e);
  }
  return out;
}

}  // namespace gibbsite
