#pragma once
// What reading changed in a table, and what looks wrong with it: for the curator alone.
#include <cstdint>
#include <string>

#include "gibbsite/data/dataset.hpp"

namespace gibbsite::cli {

/// Whose rows are meant: those of `all_ranks` need a call of every rank.
enum class Readers { this_process, all_ranks };

IngestCounts counts_of(const Dataset& data, Readers readers);

/// Whether a cell, a label or a row does not count as it is written.
bool any_changed(const IngestCounts& counts);

/// How many labels are of each class, as a private line; empty without labels of classes.
std::string label_counts(const Dataset& data, Readers readers);

/// How much rows count by their weights, and how many of one weight would tell as much about a
/// mean (Kish): (sum w)^2 / sum w^2, of people with what each counts in all. A private line; empty
/// without weights.
std::string effective_rows(const Dataset& data, Readers readers);

/// The counts, column by column, without what did not happen; with `verbose` also how rows lie in
/// memory. Every line is private and says so.
std::string ingest_report(const Dataset& data, const IngestCounts& counts, bool verbose,
                          Readers readers);

/// Warnings on stderr, each private: a column most of whose cells were clamped, are of no listed
/// level, missing or unreadable; any weight beyond its range; labels of neither class, or beyond
/// their range; a class that no label is of. Nothing is stopped: a refusal would tell about a row.
/// `rows` of all readers. Returns how many there are.
std::size_t warn_of_reading(const Dataset& data, const IngestCounts& counts, std::uint64_t rows,
                            Readers readers);

/// More of them: columns that say the same in every row, or one thing in all; of a table that one
/// process holds. Returns how many there are.
std::size_t warn_of_alike_columns(const Dataset& data);

/// More of them about a table that a network is fitted to, or held against: numbers that are
/// missing count in a middle bin. Returns how many there are.
std::size_t warn_of_network_reading(const Dataset& data);

/// For commands whose standard output is for something else: the warnings, and the counts' line if
/// a cell or a label did not count as it is written.
void tell_reading(const Dataset& data);
/// Tells of rows that all ranks hold, `rows` of them.
void tell_reading_of_ranks(const Dataset& data, std::uint64_t rows);

/// The last lines of a check (fit --check), which released, spent and wrote nothing.
std::string checked_words(std::size_t warnings);

}  // namespace gibbsite::cli
