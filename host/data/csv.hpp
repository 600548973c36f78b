#pragma once
// CSV text through libcsv.
#include <string>
#include <vector>

namespace gibbsite {

/// What a table is by its file's extension; CSV where that says nothing.
enum class TableKind { csv, libsvm, npy, arrow };
TableKind table_kind(const std::string& path);

/// The cells of the header line. Reads no line behind it: what one row holds would say whether a
/// run ends. Throws BadInput on a missing or empty file, malformed quotes or a name given twice.
std::vector<std::string> read_csv_header(const std::string& path);

/// For whoever writes a schema, who spends nothing: looks at 20 lines. Throws BadInput where the
/// first one is a title, a comment or Excel's "sep=," and the header comes after it: lines below
/// have more cells, whose number is all that is said.
void require_csv_header_on_top(const std::string& path);

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
