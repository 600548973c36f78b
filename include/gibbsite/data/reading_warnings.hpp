#pragma once
// What a curator should know of a table that was read: private, as the rows are. It stops nothing,
// as a refusal would tell about a row.
#include <cstdint>
#include <string>
#include <vector>

#include "gibbsite/core/message.hpp"
#include "gibbsite/data/dataset.hpp"

namespace gibbsite {

/// Whether a cell of that column that is missing is read as the middle of its range, as it has no
/// level or bin for it.
bool reads_missing_as_middle(const Schema& schema, const Column& column);

/// What reading a table found. Where rows lie on several ranks it is of all of them.
struct TableRead {
  const Schema& schema;
  IngestCounts counts;
  std::uint64_t rows = 0;
  bool labeled = false;
  std::vector<bool> classes{};  ///< which classes some label is of, of two [-1, +1]; else empty
};
/// That of a table in one process.
TableRead table_read(const Dataset& data);

/// A line each: a column most of whose cells were clamped, are of no listed level, missing or
/// unreadable; any weight beyond its range; labels of neither class, or beyond their range; a class
/// that no label is of.
std::vector<Message> reading_warnings(const TableRead& of);
/// A line each: columns that say the same in every row, or one thing in all.
std::vector<Message> alike_warnings(const Dataset& data);
/// A line each about a table that a network is fitted to, or held against: numbers that are missing
/// count in a middle bin.
std::vector<Message> network_reading_warnings(const Dataset& data);

/// How many rows have a cell that the model cannot read, and how many such cells each of the first
/// few columns has (Dataset::unreadable); "" if there is none. A front end adds what becomes of
/// them.
std::string unreadable_words(const Dataset& data);

/// Column by column how many cells and labels do not count as they are written; "" if all do. Lines
/// begin with "private: ".
std::string changed_lines(const TableRead& of);

}  // namespace gibbsite
