#pragma once
// Tables made of tables. As private as those are; schemas and what is not named here stay.
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "gibbsite/data/dataset.hpp"

namespace gibbsite {

/// A copy of those rows in that order, with their labels and offsets, in memory, sparse where the
/// table is. Its counts are empty. Throws BadInput on a number that is no row's, counted from 0,
/// and on rows that a backend makes.
Dataset select_rows(const Dataset& data, std::span<const std::size_t> rows);

/// A copy whose row i is x [d], the intercept included, with that label; its offset stays, and so
/// do the counts. Throws BadInput where the table has no row i or no labels, on an x of another
/// length, and on rows that are not in memory.
Dataset with_row(const Dataset& data, std::size_t i, std::span<const float> x, float label);

/// Appends x [d] with that label, as entries but where the rows are dense. Throws BadInput as
/// `with_row` does, and on rows with offsets.
void append_row(Dataset& data, std::span<const float> x, float label);

/// The rows by all columns but one category, which is their label: dense, an intercept behind them,
/// and as long as they may be, so that none is clipped. +1 is its second level of two, of more its
/// first, and -1 any other. Labels and counts of the table are left out. Throws BadInput naming
/// `target` when that is no category or the only column, on an exposure, and on rows that a backend
/// makes.
Dataset with_category_as_label(const Dataset& data, const std::string& target);

/// Which of the schema's classes, of two [-1, +1], a label is of. Throws BadInput on amounts and
/// counts.
std::vector<bool> classes_present(const Dataset& data);

}  // namespace gibbsite
