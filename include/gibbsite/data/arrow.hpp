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

/// Reads a table that comes as a stream of record batches. It consumes and releases the stream,
/// also if it throws. Columns are found by name, in any order, as in read_csv.
/// docs/reference/data.md, "Arrow", lists the types that are read and the treatment of nulls. Bits
/// and counts are those of read_csv for the same text and of read_npy for the same numbers.
/// labels [n], as in read_array, take the place of a label column; a column of the label's name is
/// then skipped. If empty, the label column is read as options.labels says. Nothing is cached, so
/// options.cache has no effect. Errors are BadInput "SOURCE: row I: ...", I from 1. Errors of the
/// stream, and breaches of the interface that can be noticed, are BadInput too. options.progress
/// gets bytes of the columns that are used, and 0 for all.
Dataset read_arrow(ArrowArrayStream& stream, const Schema& schema, const ReadOptions& options = {},
                   std::span<const double> labels = {}, const std::string& source = "table");

/// Opens .parquet, .arrow, .feather and .ipc files. It fills *out with a stream of the named
/// columns (none: all) and reads no row before the first get_next. It returns the number of rows, 0
/// if the file does not say. Throws BadInput.
using ArrowOpener = std::function<std::uint64_t(
    const std::string& path, const std::vector<std::string>& columns, ArrowArrayStream* out)>;
/// Sets the opener for the whole process. Without one (or with an empty one) the library
/// libgibbsite_parquet.so is used. It is looked for beside the program, in ../lib, and where the
/// loader looks.
void set_arrow_opener(ArrowOpener opener);

}  // namespace gibbsite
