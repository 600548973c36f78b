#pragma once
// Cells of a CSV file as they stand there, for what is to be written beside predictions.
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace gibbsite {

/// Calls row(cells) for each row of a CSV file with the text of `columns`, in that order, without
/// quotes and blanks around it. Throws BadInput on another kind of table, on a column that the
/// header lacks, and as read_csv does.
void read_csv_columns(const std::string& path, const std::vector<std::string>& columns,
                      const std::function<void(std::span<const std::string>)>& row);

}  // namespace gibbsite
