#pragma once
// Schemas as TOML files.
#include <string>
#include <vector>

#include "gibbsite/model/schema.hpp"

namespace gibbsite {

/// Reads a schema from TOML (docs/reference/data.md). Throws BadInput "FILE:LINE: ..." on a syntax
/// error, an unknown key, a wrong type or an illegal value.
Schema read_schema(const std::string& path);
/// Parses a schema from text; `source` names it in errors.
Schema parse_schema(const std::string& toml, const std::string& source);
/// The schema of one column alone, as family_schema: needs no label, unless that is the column, and
/// nothing of other columns. Throws as read_schema, and BadInput when there is no such column.
Schema read_column_schema(const std::string& path, const std::string& column);
Schema parse_column_schema(const std::string& toml, const std::string& source,
                           const std::string& column);
/// The schema of a network's columns, as network_schema: needs no label. Throws as read_schema, and
/// what network_schema does.
Schema read_network_schema(const std::string& path);
Schema parse_network_schema(const std::string& toml, const std::string& source);
/// The schema of a cross table of these columns, as table_schema: needs no label. Throws as
/// read_schema, and what table_schema does.
Schema read_table_schema(const std::string& path, const std::vector<std::string>& columns);
Schema parse_table_schema(const std::string& toml, const std::string& source,
                          const std::vector<std::string>& columns);
/// TOML text that parse_schema reads back to an equal schema.
std::string to_toml(const Schema& schema);
/// Whether the first line of a table names its columns: said by somebody, or to be told from it.
enum class Header { given, unknown };
/// A schema to fill in, from the header line alone (of a Parquet or Arrow file: its columns'
/// names): every column listed with the three choices in comments. The text says why the tool does
/// not look at the rows; parse_schema refuses it until every column has its range, its levels or
/// "ignore". Throws BadInput on a missing or empty file and, if the header is unknown, on a
/// first line of which a cell is a number or empty: it would be a person's row, and its cells end
/// in the released model as names. If the first two lines are all words and of one length, the
/// second line is all that tells a row from names: that is refused too.
std::string schema_template(const std::string& path, Header header = Header::unknown);

/// The cells of the first line of a text, which schema_template takes for names of columns; none of
/// a Parquet or Arrow file, which names its columns itself.
std::vector<std::string> first_line_names(const std::string& path);

}  // namespace gibbsite
