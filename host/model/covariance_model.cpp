#include "gibbsite/model/covariance_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/format_message.hpp"
#include "gibbsite/core/covariance_columns.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/model/family_model.hpp"
#include "model/column_type.hpp"

namespace gibbsite {
namespace {

void require_number(const Column& column) {
  if (column.type == ColumnType::number) return;
  throw BadInput(Field{"columns"},
                 fmt::format("{} is a category, and moments are of numbers", quoted(column.name)),
                 "leave it out, or count it in a cross table or a network");
}

Column moment_column(const Schema& one, bool counted) {
  Column out = one.columns.front();
  require_number(out);
  out.typical.reset();
  const bool missed = one.missing_in(out) != nullptr;
  out.missing_level = missed ? std::optional(true) : std::nullopt;
  if (!missed || counted) return out;
  throw BadInput(
      Field{"columns"},
      fmt::format("cells of {} may be missing by the schema, rows with one are left out, and how "
                  "many are left is private",
                  quoted(out.name)),
      format_message(
          "take {} out of the schema if no cell is missing, or give {} add-remove and {}",
          Word{"missing"}, Field{"adjacency"}, Field{"rows_cap"}));
}

// What family_schema says of one column, of several.
void require_column(const Schema& whole, const std::string& name) {
  if (name == whole.label_name) return;
  const auto found = std::ranges::find(whole.columns, name, &Column::name);
  const bool known = found != whole.columns.end();
  if (!known || found->type == ColumnType::ignore) {
    throw BadInput(
        Field{"columns"},
        fmt::format("{} is {} the schema", quoted(name), known ? "ignored by" : "not in"),
        "give columns of it");
  }
  if (says_how_rows_count(found->type)) {
    throw BadInput(Field{"columns"},
                   fmt::format("{} says how rows count, which every moment goes by", quoted(name)),
                   "leave it out");
  }
  if (found->date.empty()) return;
  throw BadInput(
      Field{"columns"},
      fmt::format("{} is a date or a part of one, and moments are of numbers", quoted(name)),
      "leave it out, or write its year into a column of the table, of type number in the schema");
}

}  // namespace

std::vector<std::string> CovarianceModel::columns() const {
  std::vector<std::string> out;
  for (const Column& column : schema.columns)
    if (!says_how_rows_count(column.type)) out.push_back(column.name);
  return out;
}

bool counts_by_weight(const Schema& schema) {
  return schema.weight() != nullptr || schema.person() != nullptr;
}

Schema covariance_schema(const Schema& whole, const std::vector<std::string>& columns,
                         Adjacency adjacency) {
  if (columns.empty() || columns.size() > most_covariance_columns) {
    throw BadInput(Field{"columns"}, fmt::format("must be from 1 to {} columns, got {}",
                                                 most_covariance_columns, columns.size()));
  }
  Schema out;
  std::vector<Column> all;
  for (const std::string& name : columns) {
    if (std::ranges::count(columns, name) > 1) {
      throw BadInput(Field{"columns"}, fmt::format("{} is given twice", quoted(name)),
                     "give it once");
    }
    require_column(whole, name);
    out = one_column_schema(whole, name);
    all.push_back(
        moment_column(out, adjacency == Adjacency::add_remove || counts_by_weight(whole)));
  }
  std::ranges::copy_if(whole.columns, std::back_inserter(all),
                       [](const Column& column) { return says_how_rows_count(column.type); });
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
