#include "gibbsite/model/covariance_model.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/model/family_model.hpp"

namespace gibbsite {
namespace {

constexpr std::size_t most_moment_columns = 64;  // most_covariance_columns

void require_number_without_days(const Column& column) {
  if (column.type == ColumnType::number && !column.is_date()) return;
  throw BadInput(Field{"columns"},
                 fmt::format("{} is a {}, and moments are of numbers", quoted(column.name),
                             column.type == ColumnType::category ? "category" : "date"),
                 "leave it out, or count it in a cross table or a network");
}

Column moment_column(const Schema& one, Adjacency adjacency) {
  Column out = one.columns.front();
  require_number_without_days(out);
  out.typical.reset();
  const bool missed = one.missing_in(out) != nullptr;
  out.missing_level = missed ? std::optional(true) : std::nullopt;
  if (!missed || adjacency == Adjacency::add_remove) return out;
  throw BadInput(
      Field{"columns"},
      fmt::format("{} has missing cells, rows with one are left out, and how many are "
                  "left is private",
                  quoted(out.name)),
      format_message("give {} add-remove and {}", Field{"adjacency"}, Field{"rows_cap"}));
}

}  // namespace

std::vector<std::string> CovarianceModel::columns() const {
  std::vector<std::string> out;
  for (const Column& column : schema.columns) out.push_back(column.name);
  return out;
}

Schema covariance_schema(const Schema& whole, const std::vector<std::string>& columns,
                         Adjacency adjacency) {
  if (columns.empty() || columns.size() > most_moment_columns) {
    throw BadInput(Field{"columns"}, fmt::format("must be from 1 to {} columns, got {}",
                                                 most_moment_columns, columns.size()));
  }
  Schema out;
  std::vector<Column> all;
  for (const std::string& name : columns) {
    if (std::ranges::count(columns, name) > 1) {
      throw BadInput(Field{"columns"}, fmt::format("{} is given twice", quoted(name)),
                     "give it once");
    }
    out = family_schema(whole, name);
    all.push_back(moment_column(out, adjacency));
  }
  out.columns = std::move(all);
  out.row_norm = std::max(out.max_unclipped_norm(), 1.0);
  out.validate("schema");
  return out;
}

bool is_covariance_schema(const Schema& schema, Adjacency adjacency) {
  try {
    return schema ==
           covariance_schema(schema, CovarianceModel{.schema = schema}.columns(), adjacency);
  } catch (const BadInput&) {
    return false;
  }
}

}  // namespace gibbsite
