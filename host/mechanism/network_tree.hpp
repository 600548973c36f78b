#pragma once
// What the three vectors of a network-tree cost, and what a budget buys.
#include <cstdint>
#include <optional>
#include <string_view>

#include "gibbsite/core/wide.hpp"
#include "gibbsite/mechanism/network.hpp"

namespace gibbsite {

/// The most that a person moves one table of counts, in norm: sqrt(2) k replace-one, k add-remove.
Wide table_change(const Neighbors& who);
bool is_legal_noise(double noise);
/// Throws BadInput naming the setting.
void require_legal_noise(double noise, std::string_view name);

/// Guarantee of all three, what computing the noise costs, and constants. Throws BadInput on
/// settings that are out of range or of a structure that is given, and on draws other than 1.
Analysis tables_analysis(const NetworkTree& settings, const NetworkProblem& problem,
                         const Neighbors& who, std::uint64_t draws);

/// Numbers that are answered at most: counts of columns, scores, and all tables that have a score.
double tree_numbers(const NetworkProblem& problem);

/// Settings whose three costs are at most mu together; `structure_share` of mu^2 is for scores, a
/// ninth of the rest for counts of columns. Where no pair may be counted all is for those. Not
/// there where a deviation would be out of range.
std::optional<NetworkTree> tree_settings(const NetworkProblem& problem, const Neighbors& who,
                                         double mu, double structure_share);

}  // namespace gibbsite
