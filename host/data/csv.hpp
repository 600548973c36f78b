#pragma once
// CSV text through libcsv.
#include <string>
#include <vector>

namespace gibbsite {

/// What a table is by its file's extension; CSV where that says nothing.
enum class TableKind { csv, libsvm, npy, arrow };
TableKind table_kind(const std::string& path);

/// The cells of the header line; of the lines behind it only how many cells they have. Throws BadInput on a missing or
/// empty file, malformed quotes, a line above the header or a name that is given twice.
std::vector<std::string> read_csv_header(const std::string& path);

/// The cells of the first line behind the header; empty if there is none, or it cannot be read. The
/// cells are private.
std::vector<std::string> read_csv_first_row(const std::string& path);

/// A record of a small public table, as text; the header is the first.
struct CsvRecord {
  std::string where;  ///< "FILE:LINE"
  std::vector<std::string> cells;
};
/// Throws as read_csv_header, and on a record that has not as many cells as the header.
std::vector<CsvRecord> read_csv_records(const std::string& path);

}  // namespace gibbsite
