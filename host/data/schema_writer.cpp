// Schema -> TOML.
#include "data/schema_writer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "gibbsite/core/text.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/model/date.hpp"
#include "gibbsite/model/schema.hpp"
#include "model/column_type.hpp"

namespace gibbsite {

std::string toml_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return shown(out,
               [](std::uint32_t code, bool is_byte) {
                 if (is_byte)
                   return std::string(1, static_cast<char>(code));  // refused by the parser
                 return code > 0xFFFF ? fmt::format("\\U{:08X}", code)
                                      : fmt::format("\\u{:04X}", code);
               }) +
         '"';
}

std::string toml_list(std::span<const std::string> texts) {
  std::vector<std::string> out;
  for (const std::string& text : texts) out.push_back(toml_string(text));
  return fmt::format("[{}]", fmt::join(out, ", "));
}

std::string toml_key(std::string_view name) {
  const bool bare = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
  return bare ? std::string(name) : toml_string(name);
}

namespace {

std::string bins_toml(const std::vector<double>& edges) {
  return fmt::format("bins = [{}]", fmt::join(edges, ", "));
}

}  // namespace

namespace {

std::string missing_toml(const std::string& first, const std::vector<std::string>& others) {
  if (others.empty()) return "missing = " + toml_string(first);
  std::vector<std::string> marks{first};
  marks.insert(marks.end(), others.begin(), others.end());
  return "missing = " + toml_list(marks);
}

}  // namespace

namespace {

std::string bought_apart_toml(const BoughtApart& bought) {
  std::string unit;
  if (!bought.person.empty()) unit += ", person = " + toml_string(bought.person);
  if (bought.rows_per_person > 0)
    unit += fmt::format(", rows_per_person = {}", bought.rows_per_person);
  if (!bought.adjacency.empty()) unit += ", adjacency = " + toml_string(bought.adjacency);
  return fmt::format("bought = {{certificate = {}, epsilon = {}, delta = {}{}}}\n",
                     toml_string(bought.certificate), bought.epsilon, bought.delta, unit);
}

std::string public_table_toml(const PublicTable& known) {
  return fmt::format("public = {{file = {}, sha256 = \"{}\", rows = {}}}\n",
                     toml_string(known.file), known.sha256, known.rows);
}

std::string label_toml(const TwoClasses& two) {
  std::string out = fmt::format("positive = {}\n", toml_string(two.positive));
  if (!two.negative.empty()) out += fmt::format("negative = {}\n", toml_string(two.negative));
  if (two.refuses_unlisted) out += "unlisted_label = \"refuse\"\n";
  return out;
}

std::string label_toml(const Classes& several) {
  return fmt::format("classes = {}\n", toml_list(several.names));
}

std::string number_toml(const NumberLabel& number, const std::string& kind) {
  std::string out = fmt::format("range = [{}, {}]\n{}\n", number.lo, number.hi, kind);
  if (!number.edges.empty()) out += bins_toml(number.edges) + "\n";
  if (number.decimals) out += fmt::format("decimals = {}\n", *number.decimals);
  return out;
}

std::string label_toml(const Amount& amount) {
  return number_toml(amount, fmt::format("tolerance = {}", amount.tolerance));
}

std::string label_toml(const Count& count) { return number_toml(count, "counts = true"); }

// "thousands = ...".
std::string thousands_toml(const std::vector<std::string>& signs) {
  return "thousands = " + (signs.size() == 1 ? toml_string(signs.front()) : toml_list(signs));
}

// Numbers of the column as TOML: of dates quoted days.
std::string values_toml(const Column& column, const std::vector<double>& values) {
  if (!column.is_date()) return fmt::format("[{}]", fmt::join(values, ", "));
  std::vector<std::string> days;
  for (const double value : values) days.push_back(column.text_of(value));
  return toml_list(days);
}

// says_cells: whether the column itself says how its cells are written, and not one that it is of.
std::string column_toml(const Column& column, bool says_cells) {
  std::string out = fmt::format("{} = {{type = \"{}\"", toml_key(column.name),
                                column.part != DatePart::none ? to_string(column.part)
                                : column.is_date()            ? "date"
                                : column.is_boolean           ? "boolean"
                                                              : to_string(column.type));
  if (!column.of.empty()) out += fmt::format(", of = {}", toml_string(column.of));
  if (has_range(column.type)) out += ", range = " + values_toml(column, {column.lo, column.hi});
  if (!column.date.empty() && column.date != iso_date && says_cells)
    out += fmt::format(", format = {}", toml_string(column.date));
  if (column.numbers) {
    out += fmt::format(", decimal = \"{}\"", column.numbers->decimal);
    if (!column.numbers->thousands.empty()) out += ", " + thousands_toml(column.numbers->thousands);
  }
  if (!column.edges.empty()) out += ", " + bins_toml(column.edges);
  if (column.decimals) out += fmt::format(", decimals = {}", *column.decimals);
  if (column.is_curve()) out += ", knots = " + values_toml(column, column.knots);
  if (column.automatic_curve) out += ", curve = \"auto\"";
  if (const std::string_view scale = to_string(column.scale); !scale.empty())
    out += fmt::format(", scale = \"{}\"", scale);
  if (column.typical)
    out += fmt::format(", typical = [{}, {}]", column.typical->center, column.typical->spread);
  if (column.missing_level) out += fmt::format(", missing_level = {}", *column.missing_level);
  if (column.type == ColumnType::category) {
    if (!column.is_boolean && column.part == DatePart::none)
      out += ", levels = " + toml_list(column.levels);
    out += fmt::format(", other = {}", column.other);
    if (!column.unlisted.empty())
      out += fmt::format(", unlisted = {}", toml_string(column.unlisted));
    if (!column.reference.empty())
      out += fmt::format(", reference = {}", toml_string(column.reference));
  }
  if (column.has_missing && says_cells)
    out += ", " + missing_toml(column.missing, column.also_missing);
  return out + "}\n";
}

std::string column_toml(const Schema& schema, const Column& column) {
  const Column* const of = column.of.empty() ? nullptr : schema.column_named(column.of);
  return column_toml(column, of == nullptr || of->type == ColumnType::ignore);
}

std::string interaction_toml(const Schema& schema, const Interaction& interaction) {
  std::vector<std::string> names, knots;
  for (const Interaction::Part& part : interaction.parts) {
    names.push_back(part.column);
    if (part.knots.empty()) continue;
    const Column* const column = schema.column_named(part.column);
    knots.push_back(fmt::format("{} = {}", toml_key(part.column),
                                values_toml(column == nullptr ? Column{} : *column, part.knots)));
  }
  std::string out = fmt::format("\n[[interaction]]\ncolumns = {}\n", toml_list(names));
  if (!knots.empty()) out += fmt::format("knots = {{{}}}\n", fmt::join(knots, ", "));
  return out;
}

// One list a rule.
std::string never_toml(const std::vector<std::vector<std::string>>& never) {
  std::vector<std::string> rules;
  for (const std::vector<std::string>& rule : never) rules.push_back(toml_list(rule));
  return fmt::format("never = [{}]\n", fmt::join(rules, ", "));
}

}  // namespace

std::string to_toml(const Schema& schema) {
  std::string out = fmt::format("label = {}\n", toml_string(schema.label_name));
  out += std::visit([](const auto& label) { return label_toml(label); }, schema.label);
  if (const auto given = class_weights(schema.label); !given.empty()) {
    const std::vector<std::string> names = class_names(schema.label);
    std::vector<std::string> weights;
    for (std::size_t k = 0; k < names.size(); ++k)
      weights.push_back(fmt::format("{} = {}", toml_string(names[k]), given[k]));
    out += fmt::format("class_weights = {{{}}}\n", fmt::join(weights, ", "));
  }
  const TwoClasses* const two = std::get_if<TwoClasses>(&schema.label);
  if (two != nullptr && two->positive_share) {
    out += fmt::format("positive_share = [{}, {}]\n", two->positive_share->low,
                       two->positive_share->high);
  }
  if (schema.bought) out += bought_apart_toml(*schema.bought);
  if (schema.from_public) out += public_table_toml(*schema.from_public);
  if (schema.invalid == Invalid::middle) out += "invalid = \"middle\"\n";
  if (schema.text.decimal == ',') out += "decimal = \",\"\n";
  if (!schema.text.thousands.empty()) out += thousands_toml(schema.text.thousands) + "\n";
  out += fmt::format("row_norm = {}\n", schema.row_norm);
  out += fmt::format("intercept = {}\n", schema.intercept);
  if (schema.text.has_missing)
    out += missing_toml(schema.text.missing, schema.text.also_missing) + "\n";
  if (!schema.never.empty()) out += never_toml(schema.never);
  if (!schema.target.empty()) out += fmt::format("target = {}\n", toml_string(schema.target));
  out += "\n[columns]\n";
  for (const Column& column : schema.columns) out += column_toml(schema, column);
  for (const Interaction& interaction : schema.interactions)
    out += interaction_toml(schema, interaction);
  if (schema.network) {
    out += "\n[network]\n";
    for (const auto& [node, parents] : *schema.network)
      out += fmt::format("{} = {}\n", toml_key(node), toml_list(parents));
  }
  return out;
}

namespace {

// A schema with what was found of a table's cells; `record` says of which.
std::string found_toml(const BoughtSchema& found_in, const Schema& schema,
                       const std::string& record) {
  std::string out;
  if (found_in.label.empty()) {
    out +=
        "label = \"\"     # the column to predict; remove its line under [columns]\n"
        "positive = \"\"  # its positive class\n";
  } else {
    out += fmt::format("label = {}\n", toml_string(found_in.label)) +
           std::visit([](const auto& label) { return label_toml(label); }, found_in.target);
  }
  out += record + "invalid = \"middle\"\nrow_norm = \"auto\"\n" +
         missing_toml(schema.text.missing, schema.text.also_missing) + "\n\n[columns]\n";
  const std::vector<ColumnFinding> found = findings(found_in);
  for (std::size_t k = 0; k < found.size(); ++k)
    out += fmt::format("# {}: {}\n", shown(found[k].column.name), found[k].words) +
           column_toml(schema, schema.columns.at(k));
  for (std::size_t k = found.size(); k < schema.columns.size(); ++k)
    out += column_toml(schema, schema.columns[k]);
  return out;
}

}  // namespace

std::string bought_toml(const BoughtSchema& bought, const BoughtApart& with) {
  const AnswerScale& scale = bought.scale;
  const std::string people =
      with.person.empty()
          ? ""
          : fmt::format(", each person's counted as at most {}", with.rows_per_person);
  return fmt::format(
             "# A schema bought with privacy budget from a table of {}{} rows{}; its certificate "
             "stands beside it.\n"
             "# Counts are noisy: +- {:.3g} rows a kind of cell, +- {:.3g} a level. Levels of fewer "
             "than {:.0f} rows are in (other).\n"
             "# It may be published, and edited with public knowledge.\n\n",
             scale.rows_noise == 0 ? "" : "about ", scale.rows, people, 2 * scale.bins_noise,
             2 * scale.levels_noise, scale.threshold) +
         found_toml(bought, bought.schema, bought_apart_toml(with));
}

std::string public_toml(const BoughtSchema& counts, const Schema& schema) {
  return fmt::format(
             "# Ranges, levels and typical values come from the public table below: they cost "
             "nothing,\n"
             "# and no guarantee covers people in it. Levels of fewer than {:.0f} rows are in "
             "(other).\n"
             "# It may be published, and edited with public knowledge.\n\n",
             std::ceil(counts.scale.threshold)) +
         found_toml(counts, schema, public_table_toml(*schema.from_public));
}

}  // namespace gibbsite
