#pragma once
// Cross tables: what `table` and `plan --columns` print.
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "gibbsite/mechanism/network.hpp"
#include "gibbsite/release/cross_table.hpp"

namespace gibbsite::cli {

/// The columns of --columns: names with commas between. A name that has a comma is put in quotes,
/// "a, b", in which a quote is written twice, as in CSV. Throws BadInput on an empty name.
std::vector<std::string> named_columns(const std::string& list);

/// Two columns as rows by columns; a list for more, or if that is too wide for a terminal.
std::string cross_table_screen(const CrossTable& table);
/// A header, the cells, the margins and the total: columns, then estimate, std_err, lower, upper,
/// count, hidden. Numbers read back to the same doubles.
std::string cross_table_csv(const CrossTable& table);
/// The cross table as an object.
nlohmann::json cross_table_json(const CrossTable& table);

/// How wide the intervals will be, a line for each budget.
std::string cross_table_summary(std::span<const NetworkPlan> plans, const Schema& columns);
/// One line on what will be released.
std::string cross_table_line(const NetworkPlan& plan, const Schema& columns);
nlohmann::json cross_table_plan_json(const NetworkPlan& plan, const Schema& columns);

}  // namespace gibbsite::cli
