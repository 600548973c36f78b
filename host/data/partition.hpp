#pragma once
// Columns that the names of folders hold: TABLE/key=value/part.csv, as Hive and Spark write them.
#include <optional>
#include <string>
#include <vector>

#include "gibbsite/data/arrow_abi.hpp"
#include "gibbsite/model/schema.hpp"

namespace gibbsite {

/// A column of one value in all rows of a part.
struct PartitionColumn {
  std::string name;
  std::optional<std::string> value;  ///< none: it is missing

  bool operator==(const PartitionColumn&) const = default;
};

/// The files of folders within `folder` whose names are key=value, at any depth; none where it
/// holds no such folder. Hidden names and those that begin with "_" are passed over. Throws
/// BadInput on files beside such folders.
std::vector<std::string> partitioned_files(const std::string& folder);
/// What the folders between `root` and a part say, from the outside in: %XX is decoded, and
/// __HIVE_DEFAULT_PARTITION__ is a missing value. Numbers of the schema take its decimal sign.
std::vector<PartitionColumn> partition_columns(const std::string& root, const std::string& part,
                                               const Schema& schema);
/// Throws BadInput where a part has not the columns of the first one, or a column of the file has
/// the name of one of them.
void require_same_partition(const std::string& part, const std::vector<PartitionColumn>& of_part,
                            const std::vector<PartitionColumn>& of_first);
void require_not_in_file(const std::string& part, const std::vector<PartitionColumn>& columns,
                         const std::vector<std::string>& names);
/// The stream with these columns behind its own, as dictionaries of one text. Owns `inner`.
ArrowArrayStream with_partition(ArrowArrayStream inner,
                                const std::vector<PartitionColumn>& columns);

}  // namespace gibbsite
