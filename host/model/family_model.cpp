#include "gibbsite/model/family_model.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/overloaded.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/model/curve.hpp"

namespace gibbsite {
namespace {

// Stands where a schema must name a label: no table has a column of that name with this meaning.
constexpr const char* no_label = "(none)";

}  // namespace

std::vector<std::string> FamilyModel::levels() const {
  if (schema.columns.front().type != ColumnType::category) return {};
  std::vector<std::string> out = schema.feature_names();
  for (std::string& name : out) name.erase(0, column().size() + 1);
  return out;
}

bool has_label(const Schema& schema) { return schema.label_name != no_label; }

void drop_label(Schema& schema) {
  schema.label_name = no_label;
  schema.label = TwoClasses{.positive = no_label};
  schema.interactions.clear();
  for (Column& column : schema.columns) {
    // Without a count it is a number like others; without a label to predict no number has a curve.
    if (column.type == ColumnType::exposure) column.type = ColumnType::number;
    without_curve(column);
  }
}

namespace {

// A weight would make the total of what records count private too, and the posterior's law with it.
void require_rows_alike(const Schema& schema) {
  const bool people = schema.person() != nullptr;
  const Column* const column = people ? schema.person() : schema.weight();
  if (column == nullptr) return;
  throw BadInput(fmt::format(
      "column {}: says {}, and this is derived for records that count as one each; count by it in a "
      "cross table or a network, or its moments (covariance){}",
      quoted(column->name), people ? "whose a row is" : "how much a row counts",
      people ? "; a schema that ignores it would hide one row of somebody, not the person"
             : ", or give it type = \"ignore\" here"));
}

}  // namespace

// A record without a number would count as the middle of the range, and move the estimate there.
void require_a_number_a_row(const Schema& one_column) {
  const Column& column = one_column.columns.front();
  if (column.type != ColumnType::number || one_column.missing_in(column) == nullptr) return;
  throw BadInput(
      Field{"column"},
      fmt::format(
          "cells of {} may be missing by the schema, and how many numbers are left is private",
          quoted(column.name)),
      format_message(
          "take {} out of the schema if no cell is missing, or use {} covariance with {} "
          "add-remove, for the mean of the numbers that there are",
          Word{"missing"}, Field{"model"}, Field{"adjacency"}));
}

Schema family_schema(const Schema& whole, const std::string& column) {
  require_rows_alike(whole);
  Schema out = one_column_schema(whole, column);
  require_a_number_a_row(out);
  return out;
}

Schema one_column_schema(const Schema& whole, const std::string& column) {
  Schema out = whole;
  drop_label(out);
  out.network.reset();
  out.intercept = false;
  out.row_norm = 1;
  if (column == whole.label_name) {
    out.columns = {std::visit(Overloaded{[&](const TwoClasses& two) {
                                           const bool other =
                                               two.negative.empty() || !two.refuses_unlisted;
                                           Column classes{.name = column,
                                                          .type = ColumnType::category,
                                                          .levels = {two.positive},
                                                          .other = other};
                                           if (!other) classes.levels.push_back(two.negative);
                                           return classes;
                                         },
                                         [&](const Classes& several) {
                                           // Where a label that cannot be read is no error
                                           // it needs a level.
                                           return Column{.name = column,
                                                         .type = ColumnType::category,
                                                         .levels = several.names,
                                                         .other = whole.invalid == Invalid::middle};
                                         },
                                         [&](const NumberLabel& number) {
                                           return Column{.name = column,
                                                         .type = ColumnType::number,
                                                         .lo = number.lo,
                                                         .hi = number.hi};
                                         }},
                              whole.label)};
    return out;
  }
  const auto found = std::ranges::find(whole.columns, column, &Column::name);
  if (found == whole.columns.end() || found->type == ColumnType::ignore) {
    throw BadInput(Field{"column"},
                   fmt::format("{} is {} the schema", quoted(column),
                               found == whole.columns.end() ? "not in" : "ignored by"),
                   "give one of its columns");
  }
  if (!found->date.empty()) {
    throw BadInput(
        Field{"column"},
        fmt::format("{} is a date or a part of one, which no family describes", quoted(column)),
        "give a number or a category, or write its year into a column of the table, of type number in "
        "the schema");
  }
  out.columns = {*found};
  // A missing number is the middle of its range here, whatever level the column has in a model.
  out.columns.front().missing_level.reset();
  out.columns.front().typical.reset();
  without_curve(out.columns.front());
  return out;
}

FamilyProblem family_problem(const Schema& one_column, Family family, std::uint64_t rows) {
  const Column& column = one_column.columns.front();
  FamilyProblem out{.family = family, .rows = rows};
  const bool category = column.type == ColumnType::category;
  if (out.has_levels() != category) {
    throw BadInput(
        format_message("{} {}", Field{"model"}, to_string(family)),
        fmt::format("takes a {} column, {} is a {}", out.has_levels() ? "category" : "number",
                    quoted(column.name), category ? "category" : "number"),
        format_message("give another {}", Field{"column"}));
  }
  if (category) {
    // Every record counts as some level.
    const bool missed = one_column.missing_in(column) != nullptr &&
                        !one_column.has_missing_level(column) &&
                        one_column.missing_level(column) == nullptr;
    if (!column.other && (missed || one_column.invalid == Invalid::middle)) {
      throw BadInput(Field{"column"},
                     fmt::format("{} has no level for cells that {}", quoted(column.name),
                                 missed ? "are missing" : "cannot be read"),
                     fmt::format("give it other = true in the schema{}",
                                 missed ? ", or a missing of its own" : ""));
    }
    out.levels = one_column.features();
  } else {
    out.lo = column.lo;
    out.hi = column.hi;
  }
  return out;
}

}  // namespace gibbsite
