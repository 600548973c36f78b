#pragma once
// Schemas as TOML files.
#include <string>
#include <vector>

#include "gibbsite/core/problem.hpp"
#include "gibbsite/model/bought_schema.hpp"
#include "gibbsite/model/schema.hpp"

namespace gibbsite {

/// Reads a schema from TOML (docs/reference/data.md). Throws BadInput "FILE:LINE: ..." on a syntax
/// error, an unknown key, a wrong type or an illegal value.
Schema read_schema(const std::string& path);
/// Parses a schema from text; `source` names it in errors.
Schema parse_schema(const std::string& toml, const std::string& source);
/// The schema of one column alone, as in family_schema. It needs no label (unless the label is the
/// column) and nothing about other columns. Throws as read_schema, and BadInput if there is no such
/// column.
Schema read_column_schema(const std::string& path, const std::string& column);
Schema parse_column_schema(const std::string& toml, const std::string& source,
                           const std::string& column);
/// The schema of a network's columns, as in network_schema; it needs no label. Throws as
/// read_schema and network_schema.
Schema read_network_schema(const std::string& path);
Schema parse_network_schema(const std::string& toml, const std::string& source);
/// The schema of a cross table of these columns, as in table_schema; it needs no label. Throws as
/// read_schema and table_schema.
Schema read_table_schema(const std::string& path, const std::vector<std::string>& columns);
Schema parse_table_schema(const std::string& toml, const std::string& source,
                          const std::vector<std::string>& columns);
/// The schema of columns whose moments are released, as in covariance_schema; it needs no label.
/// Throws as read_schema and covariance_schema.
Schema read_covariance_schema(const std::string& path, const std::vector<std::string>& columns,
                              Adjacency adjacency);
Schema parse_covariance_schema(const std::string& toml, const std::string& source,
                               const std::vector<std::string>& columns, Adjacency adjacency);
/// TOML text that parse_schema reads back to an equal schema.
std::string to_toml(const Schema& schema);
/// TOML text of a bought schema, with what was found as comments: noisy counts, and why a column is
/// ignored; what it was bought with is data. Without a label a person has to name one before a
/// model of rows is fitted.
std::string bought_toml(const BoughtSchema& bought, const BoughtApart& with);
/// TOML text of a schema that follows from the exact counts of a public table, with what was found
/// as comments.
std::string public_toml(const BoughtSchema& counts, const Schema& schema);
/// Whether the first line of a table names its columns: a person says so, or the line itself must
/// show it.
enum class Header { given, unknown };
/// TOML text of a schema to fill in, from the header line alone (or a Parquet or Arrow file's
/// column names). Each column is listed with its three choices in comments. The text says why the
/// tool does not look at the rows; parse_schema refuses it until every column has its range, its
/// levels or "ignore".
/// Throws BadInput on a missing or empty file. With an unknown header it also throws if a cell of
/// the first line is a number or empty. Such a line would be a person's row, whose cells would end
/// as names in the model. It throws too if the first two lines are all words and of one length:
/// nothing then tells a row from names.
std::string schema_template(const std::string& path, Header header = Header::unknown);

/// Throws BadInput if a cell of a header line is a number or empty: the line is then a row.
void require_names(const std::vector<std::string>& header, const std::string& path);

/// The cells of the first line of a text, which schema_template takes for column names. Empty for a
/// Parquet or Arrow file, which names its columns itself.
std::vector<std::string> first_line_names(const std::string& path);

/// The names of a table's columns, of a first line or the file's own. Throws BadInput.
std::vector<std::string> column_names(const std::string& path);

}  // namespace gibbsite
