#pragma once
// The noisy counts that a network was made of, as a table.
#include <string>
#include <vector>

#include "gibbsite/model/network_model.hpp"

namespace gibbsite {

/// A header and a line for each counted cell: "table" (1, 2, ... in the file's order), "count" and
/// its "deviation", in rows, then for each column of the network its level, "" where the table does
/// not have the column. Levels that were counted as one are joined by " | ". Numbers are the
/// shortest that read back the same. Throws BadInput where tables were drawn, not counted.
std::vector<std::vector<std::string>> counts_table(const NetworkModel& model);

}  // namespace gibbsite
