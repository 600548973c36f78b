#pragma once
// Tables made of tables. As private as those are; schemas and what is not named here stay.
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "gibbsite/data/dataset.hpp"

namespace gibbsite {

/// A copy of these rows (counted from 0) in this order, with their labels and offsets, in memory,
/// and sparse if the table is. Its counts are empty. Throws BadInput on a number that is no row's.
Dataset select_rows(const Dataset& data, std::span<const std::size_t> rows);

/// A copy of the table in which row i is x [d], the intercept included, with this label. Its offset
/// and the counts stay. Throws BadInput if the table has no row i or no labels, x has another
/// length, or rows are not in memory.
Dataset with_row(const Dataset& data, std::size_t i, std::span<const float> x, float label);

/// Appends the row x [d] with this label: as entries if the table is sparse or has no rows. Throws
/// BadInput as `with_row` does, and on rows with offsets.
void append_row(Dataset& data, std::span<const float> x, float label);

/// A table in which the category `target` is the label and all other columns are features. It is
/// dense, with an intercept, and no row is clipped. The label is +1 for the second of two levels,
/// or for the first of more, and -1 else. Labels and counts of the table are dropped. Throws
/// BadInput that names `target` if it is no category or the only column, and on an exposure.
Dataset with_category_as_label(const Dataset& data, const std::string& target);

/// For each of the schema's classes (of two: -1, +1), whether a label is of it. Throws BadInput on
/// amounts and counts.
std::vector<bool> classes_present(const Dataset& data);

}  // namespace gibbsite
