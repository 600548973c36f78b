#pragma once
// Some rows of a table's file, by each reader (shares.hpp). They are as in the whole table's; the
// header of a CSV file is read in any case. options.cache is never; with
// options.to_files they go there. `columns`: those that the names of folders hold.
#include <cstdint>
#include <string>

#include "data/partition.hpp"
#include "data/text_index.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/data/shares.hpp"

namespace gibbsite {

/// Bytes [first, last) of a text, whole records.
struct TextRange {
  std::uint64_t first = 0, last = 0;
  std::uint64_t line = 1;  ///< the number of the first byte's
  std::uint64_t rows = 0;
};

/// Throw BadInput where the top of the file is no header, or a line too long.
TextRules csv_rules(const std::string& path);
TextRules libsvm_rules(const std::string& path);
Dataset read_csv_part(const std::string& path, const Schema& schema, const ReadOptions& options,
                      const TextRange& part, const std::vector<PartitionColumn>& columns = {});
/// Rows of a compressed CSV file, by reading all of it, and those of a range, by reading all before
/// it too.
std::uint64_t compressed_csv_rows(const std::string& path);
Dataset read_compressed_csv_part(const std::string& path, const Schema& schema,
                                 const ReadOptions& options, RowRange range,
                                 const std::vector<PartitionColumn>& columns = {});
Dataset read_libsvm_part(const std::string& path, const Schema& schema, const ReadOptions& options,
                         const TextRange& part);
std::uint64_t npy_rows(const std::string& path);
Dataset read_npy_part(const std::string& path, const Schema& schema, const ReadOptions& options,
                      RowRange range);
std::uint64_t arrow_file_rows(const std::string& path);
Dataset read_arrow_file_part(const std::string& path, const Schema& schema,
                             const ReadOptions& options, RowRange range,
                             const std::vector<PartitionColumn>& columns = {});

}  // namespace gibbsite
