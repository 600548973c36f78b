#pragma once
// Tables by the Arrow C stream interface: from pandas, polars, pyarrow, DuckDB, or out of files.
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "gibbsite/data/arrow_abi.hpp"
#include "gibbsite/data/dataset.hpp"

namespace gibbsite {

/// Rows of a table that comes as a stream of record batches. Consumes and releases the stream, also
/// when it throws. Columns are found by name, in any order, as in read_csv; which types are read
/// and what becomes of nulls is in docs/reference/data.md, "Arrow". The bits and counts are those
/// of read_csv for the same text and of read_npy for the same numbers.
///
/// labels [n] as read_array has them, -1 or +1 of two classes, take the place of a label column:
/// one of the label's name is then skipped. Empty: the label column, under options.labels. Nothing
/// is cached: options.cache is not looked at. Errors are BadInput "SOURCE: row I: ...", I from 1; a
/// stream's own errors, and one that is not as the interface says, as far as that can be told, are
/// BadInput too. options.progress is given bytes of the columns that are used, and 0 for all.
Dataset read_arrow(ArrowArrayStream& stream, const Schema& schema, const ReadOptions& options = {},
                   std::span<const double> labels = {}, const std::string& source = "table");

/// What opens .parquet, .arrow, .feather and .ipc files: fills *out with a stream of the columns of
/// these names (none: all), which opens the file and reads no row before the first get_next.
/// Returns how many rows there are, 0 where the file does not say. Throws BadInput.
using ArrowOpener = std::function<std::uint64_t(
    const std::string& path, const std::vector<std::string>& columns, ArrowArrayStream* out)>;
/// From now on, in all of the process. Without one (or an empty one) the library
/// libgibbsite_parquet.so is looked for: beside the program, in ../lib, where the loader looks.
void set_arrow_opener(ArrowOpener opener);

}  // namespace gibbsite
