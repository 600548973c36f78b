// Schema -> TOML.
#include "data/schema_writer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "gibbsite/core/text.hpp"
#include "gibbsite/data/schema_file.hpp"
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

std::string_view scale_name(KnotScale scale) {
  switch (scale) {
    case KnotScale::even:
      return "even";
    case KnotScale::log:
      return "log";
    case KnotScale::series:
      return "series";
    case KnotScale::automatic:
      break;
  }
  return "";
}

std::string missing_toml(const std::string& first, const std::vector<std::string>& others) {
  if (others.empty()) return "missing = " + toml_string(first);
  std::vector<std::string> marks{first};
  marks.insert(marks.end(), others.begin(), others.end());
  return "missing = " + toml_list(marks);
}

}  // namespace

std::string to_toml(const Schema& schema) {
  std::string out;
  out += fmt::format("label = {}\n", toml_string(schema.label));
  if (schema.label_kind == LabelKind::two_classes) {
    out += fmt::format("positive = {}\n", toml_string(schema.positive));
  } else if (schema.label_kind == LabelKind::classes) {
    out += fmt::format("classes = {}\n", toml_list(schema.classes));
  } else {
    out += fmt::format("range = [{}, {}]\n", schema.label_lo, schema.label_hi);
    out += schema.label_kind == LabelKind::count
               ? "counts = true\n"
               : fmt::format("tolerance = {}\n", schema.tolerance);
  }
  if (!schema.label_edges.empty()) out += bins_toml(schema.label_edges) + "\n";
  if (schema.label_decimals) out += fmt::format("decimals = {}\n", *schema.label_decimals);
  if (!schema.negative.empty()) out += fmt::format("negative = {}\n", toml_string(schema.negative));
  if (schema.refuses_unlisted_label) out += "unlisted_label = \"refuse\"\n";
  if (!schema.class_weights.empty()) {
    const std::vector<std::string> names = schema.class_names();
    std::vector<std::string> weights;
    for (std::size_t k = 0; k < names.size(); ++k)
      weights.push_back(fmt::format("{} = {}", toml_string(names[k]), schema.class_weights[k]));
    out += fmt::format("class_weights = {{{}}}\n", fmt::join(weights, ", "));
  }
  if (schema.positive_share) {
    out += fmt::format("positive_share = [{}, {}]\n", schema.positive_share->low,
                       schema.positive_share->high);
  }
  if (schema.invalid == Invalid::middle) out += "invalid = \"middle\"\n";
  if (schema.decimal == ',') out += "decimal = \",\"\n";
  if (!schema.thousands.empty())
    out += fmt::format("thousands = {}\n", toml_string(schema.thousands));
  out += fmt::format("row_norm = {}\n", schema.row_norm);
  out += fmt::format("intercept = {}\n", schema.intercept);
  if (schema.has_missing) out += missing_toml(schema.missing, schema.also_missing) + "\n";
  out += "\n[columns]\n";
  for (const Column& column : schema.columns) {
    out += fmt::format("{} = {{type = \"{}\"", toml_key(column.name), to_string(column.type));
    if (has_range(column.type)) out += fmt::format(", range = [{}, {}]", column.lo, column.hi);
    if (!column.edges.empty()) out += ", " + bins_toml(column.edges);
    if (column.decimals) out += fmt::format(", decimals = {}", *column.decimals);
    if (column.is_curve()) out += fmt::format(", knots = [{}]", fmt::join(column.knots, ", "));
    if (column.automatic_curve) out += ", curve = \"auto\"";
    if (const std::string_view scale = scale_name(column.scale); !scale.empty())
      out += fmt::format(", scale = \"{}\"", scale);
    if (column.missing_level) out += fmt::format(", missing_level = {}", *column.missing_level);
    if (column.type == ColumnType::category) {
      out += fmt::format(", levels = {}, other = {}", toml_list(column.levels), column.other);
      if (!column.unlisted.empty())
        out += fmt::format(", unlisted = {}", toml_string(column.unlisted));
      if (!column.reference.empty())
        out += fmt::format(", reference = {}", toml_string(column.reference));
    }
    if (column.has_missing) out += ", " + missing_toml(column.missing, column.also_missing);
    out += "}\n";
  }
  if (schema.network) {
    out += "\n[network]\n";
    for (const auto& [node, parents] : *schema.network)
      out += fmt::format("{} = {}\n", toml_key(node), toml_list(parents));
  }
  return out;
}

}  // namespace gibbsite
