#pragma once
// A schema that follows from a public table at no cost: exact counts of its cells under the rules
// of bought schemas (docs/theory/bought-schema.md). Of the private table the names of columns alone
// are read.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gibbsite/data/cell_counts.hpp"
#include "gibbsite/model/bought_schema.hpp"
#include "gibbsite/run/buy_schema.hpp"

namespace gibbsite {

/// The least rows of a public table.
inline constexpr std::uint64_t least_public_rows = 10;

/// What a public table says.
struct PublicSchema {
  BoughtSchema counts;  ///< its exact counts
  Schema schema;        ///< what follows, with typical values and the table's record
};

/// The schema of those columns. It is legal for a fit (fit_schema_of). A level is kept from one
/// percent of the rows on, three at least; typical values are mean and standard deviation of at
/// least 30 numbers, each held to its range. `known` names the table; its rows are counted here.
/// Throws BadInput where the table lacks one of the columns or has fewer than least_public_rows,
/// and where none of them can be used.
PublicSchema public_schema(const SchemaShape& shape, const CellSource& table, PublicTable known);

/// Likewise of files. Throws BadInput, too, where `public_path` has the bytes of `private_path` or
/// changes meanwhile. Of the private table a digest is read, where the public file is as long; ""
/// names none.
PublicSchema public_schema_of_file(const SchemaShape& shape, const std::string& private_path,
                                   const std::string& public_path);

/// Likewise of a frame's cells, which is called "frame": its digest is of the cells that are asked
/// about, row by row, each in quotes, numbers in their shortest digits, with commas between.
PublicSchema public_schema_of_cells(const SchemaShape& shape, const CellSource& private_table,
                                    const std::vector<std::string>& header,
                                    const CellSource& table);

/// The names of a private table's columns, which a schema publishes. Throws BadInput where a first
/// line does not look like names.
std::vector<std::string> header_of_table(const std::string& path);

/// The record of a public file. Throws BadInput unless it is a regular file whose name can be
/// written, and where it has the bytes of `private_path` ("" names none), of which a digest is
/// read where both are as long. Its rows are the caller's to count.
PublicTable public_table_of_file(const std::string& public_path, const std::string& private_path);
/// Throws BadInput where the file's digest is no longer that of the record.
void require_unchanged(const std::string& public_path, const PublicTable& known);

/// Throws BadInput where the public table that the schema names is that file, byte for byte.
void require_other_table(const Schema& schema, const std::string& private_path);
/// Throws BadInput where both tables have the same cells in the columns asked about.
void require_other_cells(const SchemaShape& shape, const CellSource& private_table,
                         const CellSource& table);

/// SHA-256 of a file's bytes, in hexadecimal digits. Throws BadInput "PATH: ...".
std::string sha256_of_file(const std::string& path);
/// SHA-256 of a text, likewise.
std::string sha256_of_text(std::string_view text);

}  // namespace gibbsite
