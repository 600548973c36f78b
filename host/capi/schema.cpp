// Schemas, and the terms of a formula.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "capi/call.hpp"
#include "certificate/model_json.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/model/curve.hpp"
#include "gibbsite/model/interaction.hpp"
#include "gibbsite/version.hpp"

namespace gibbsite::capi {
namespace {

using nlohmann::json;

[[noreturn]] void refuse_term(const json& term) {
  throw BadInput(
      Word{"terms"}, shown(term.dump()) + " is no term",
      R"(give a column "age", a curve {"curve": "age"} or {"curve": "age", "knots": 8}, )"
      R"(or an interaction ["age", "sex"])");
}

int kind_given(int kind) {
  if (kind == GIBBSITE_ROWS || kind == GIBBSITE_NETWORK) return kind;
  throw BadInput(Word{"kind"}, fmt::format("{} is none", kind),
                 "give GIBBSITE_ROWS or GIBBSITE_NETWORK");
}

/// Keeps the terms of a formula of a schema, and drops the rest.
class Terms {
 public:
  explicit Terms(const Schema& schema) : from_(schema), out_(schema) {
    for (Column& column : out_.columns) {
      if (column.type != ColumnType::number && column.type != ColumnType::category) continue;
      column = Column{.name = column.name, .type = ColumnType::ignore};
    }
    out_.interactions.clear();
    out_.network.reset();
  }
  void add(const json& term) {
    if (term.is_string()) {
      keep(term.get<std::string>());
    } else if (term.is_object() && term.contains("curve") && term["curve"].is_string()) {
      curve(term);
    } else if (term.is_array() && term.size() >= 2 &&
               std::ranges::all_of(term, [](const json& one) { return one.is_string(); })) {
      interactions_.push_back(term.get<std::vector<std::string>>());
    } else {
      refuse_term(term);
    }
  }
  Schema finish(bool intercept, bool norm_follows) {
    for (const auto& columns : interactions_) interact(columns);
    if (!intercept) out_.intercept = false;
    if (norm_follows) out_.row_norm = out_.auto_row_norm();
    out_.validate("terms");
    return std::move(out_);
  }

 private:
  Column& keep(const std::string& name) {
    const Column* const column = from_.column_named(name);
    if (column == nullptr || column->type == ColumnType::ignore) {
      throw BadInput(
          Word{"terms"},
          fmt::format("the schema {} {}", column == nullptr ? "has no column" : "ignores",
                      gibbsite::quoted(name)),
          "describe it in the schema, or leave the term out");
    }
    Column& kept = out_.columns[static_cast<std::size_t>(column - from_.columns.data())];
    if (kept.type == ColumnType::ignore) kept = *column;
    return kept;
  }
  void curve(const json& term) {
    const auto name = term["curve"].get<std::string>();
    Column& column = keep(name);
    if (column.type != ColumnType::number) {
      throw BadInput(Word{"terms"},
                     fmt::format("{} is no number, so it has no curve", gibbsite::quoted(name)),
                     "take the column as it is");
    }
    if (!term.contains("knots")) {
      if (!column.is_curve()) column.automatic_curve = true;  // else it is one by the schema
      return;
    }
    const json& knots = term["knots"];
    if (!knots.is_number_integer() || knots < 2 || knots > most_knots) refuse_term(term);
    without_curve(column);
    if (knots > 2) column.knots = placed_knots(column, knots.get<std::size_t>());
  }
  void interact(const std::vector<std::string>& columns) {
    Interaction made;
    for (const std::string& name : columns) {
      const Column* const column = out_.column_named(name);
      if (column == nullptr || column->type == ColumnType::ignore) {
        throw BadInput(
            Word{"terms"},
            fmt::format("{} is in an interaction and is no term itself", gibbsite::quoted(name)),
            "add it as a term, as a * b does");
      }
      made.parts.push_back({name});
      if (column->type == ColumnType::number) made.parts.back().knots = interaction_knots(*column);
    }
    // What the schema says of that interaction counts.
    for (const Interaction& known : from_.interactions)
      if (known.name() == made.name()) made = known;
    out_.interactions.push_back(std::move(made));
  }

  const Schema& from_;
  Schema out_;
  std::vector<std::vector<std::string>> interactions_;
};

}  // namespace
}  // namespace gibbsite::capi

using namespace gibbsite;
using namespace gibbsite::capi;

const char* gibbsite_version(void) { return GIBBSITE_VERSION; }
void gibbsite_free(void* memory) { std::free(memory); }  // NOLINT: what C was given

gibbsite_status gibbsite_schema_parse(const char* toml, int kind, gibbsite_schema** schema,
                                      char** error) {
  return call(error, [&] {
    gibbsite_schema*& out = out_given(schema, "schema");
    const std::string text = text_given(toml, "toml");
    out = new gibbsite_schema{kind_given(kind) == GIBBSITE_NETWORK
                                  ? parse_network_schema(text, "schema")
                                  : parse_schema(text, "schema"),
                              kind};
  });
}

gibbsite_status gibbsite_schema_read(const char* path, int kind, gibbsite_schema** schema,
                                     char** error) {
  return call(error, [&] {
    gibbsite_schema*& out = out_given(schema, "schema");
    const std::string file = text_given(path, "path");
    out = new gibbsite_schema{
        kind_given(kind) == GIBBSITE_NETWORK ? read_network_schema(file) : read_schema(file), kind};
  });
}

gibbsite_status gibbsite_schema_select(const gibbsite_schema* schema, const char* terms,
                                       int intercept, gibbsite_schema** selected, char** error) {
  return call(error, [&] {
    gibbsite_schema*& out = out_given(selected, "selected");
    const gibbsite_schema& from = given(schema, "schema");
    if (from.kind != GIBBSITE_ROWS)
      throw BadInput(Field{"schema"}, "is of a network, which has no terms", "give one of rows");
    const json all = json::parse(text_given(terms, "terms"), nullptr, false);
    if (!all.is_array()) throw BadInput(Word{"terms"}, "is no JSON list", "give one");
    // The largest row follows from the columns, unless a person said something else.
    const bool norm_follows = from.schema.row_norm == from.schema.auto_row_norm();
    Terms kept(from.schema);
    for (const json& term : all) kept.add(term);
    out = new gibbsite_schema{kept.finish(intercept != 0, norm_follows), GIBBSITE_ROWS};
  });
}

gibbsite_status gibbsite_schema_toml(const gibbsite_schema* schema, char** toml, char** error) {
  return call(error, [&] {
    char*& out = out_given(toml, "toml");
    out = copied(to_toml(given(schema, "schema").schema));
  });
}

gibbsite_status gibbsite_schema_json(const gibbsite_schema* schema, char** json, char** error) {
  return call(error, [&] {
    char*& out = out_given(json, "json");
    out = json_copied(schema_json(given(schema, "schema").schema));
  });
}

void gibbsite_schema_free(gibbsite_schema* schema) { delete schema; }
