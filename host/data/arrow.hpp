#pragma once
// Files of Arrow and Parquet, by what opens them.
#include <string>
#include <vector>

#include "gibbsite/data/arrow.hpp"
#include "gibbsite/data/cell_counts.hpp"

namespace gibbsite {

/// The names of a stream's columns, which are distinct; consumes it. Throws BadInput.
std::vector<std::string> arrow_names(ArrowArrayStream& stream, const std::string& source);

/// Whether the extension is .parquet, .arrow, .feather or .ipc.
bool is_arrow_file(const std::string& path);
/// The names of its columns; no row is read. Throws BadInput.
std::vector<std::string> read_arrow_file_names(const std::string& path);
/// Its cells as texts (data/cell_counts.hpp); only the columns that are asked for are decoded.
CellSource cells_of_arrow_file(const std::string& path);
/// As read_arrow; only the columns that the schema uses are asked for.
Dataset read_arrow_file(const std::string& path, const Schema& schema, const ReadOptions& options);

}  // namespace gibbsite
