#pragma once
// What files call the types of columns, and what these have.
#include <optional>
#include <string_view>

#include "gibbsite/model/schema.hpp"

namespace gibbsite {

/// Whether its cells are no features, but numbers that stand beside the rows.
constexpr bool is_beside_rows(ColumnType type) {
  return type == ColumnType::exposure || type == ColumnType::weight;
}
/// Whether it says how much a row counts, or whose it is.
constexpr bool says_how_rows_count(ColumnType type) {
  return type == ColumnType::weight || type == ColumnType::person;
}
/// Whether its cells are numbers, with a public range that they are clamped to.
constexpr bool has_range(ColumnType type) {
  return type == ColumnType::number || is_beside_rows(type);
}

/// "number", "category", "exposure", "weight", "person" or "ignore".
std::string_view to_string(ColumnType type);
/// The type of that name; none: of another name.
std::optional<ColumnType> column_type_named(std::string_view name);

/// "even", "log" or "series"; empty of `automatic`, which files leave out.
std::string_view to_string(KnotScale scale);
/// The scale of that name; none: of another name.
std::optional<KnotScale> knot_scale_named(std::string_view name);

}  // namespace gibbsite
