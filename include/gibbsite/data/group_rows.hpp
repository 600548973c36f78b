#pragma once
// People of rows that a table does not name.
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "gibbsite/data/dataset.hpp"

namespace gibbsite {

/// Dataset::group of texts: `rows` [n] are places in `ids` of each row's id, which is read as a
/// cell of a column of people is (docs/reference/data.md, "People"); none is nobody's. Throws
/// BadInput as that does, and on a place beyond the ids.
void group_rows(Dataset& data, std::span<const std::optional<std::string>> ids,
                std::span<const std::uint32_t> rows);

}  // namespace gibbsite
