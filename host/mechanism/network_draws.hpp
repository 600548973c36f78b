#pragma once
// Drawn tables of a network: what they cost, and what a budget buys (docs/theory/network.md, "Drawn
// tables"). Of the tables alone: a structure that was chosen is composed by the caller.
#include <cstdint>
#include <span>
#include <type_traits>

#include "gibbsite/mechanism/network.hpp"

namespace gibbsite {

/// Numbers that one fit inverts, of all draws: about a millisecond each.
inline constexpr std::uint64_t most_drawn_numbers = 1'000'000;
/// Spacing of the shares of splits that are drawn.
inline constexpr double network_draw_grid = 0x1p-32;

/// Numbers that one draw inverts: for a node of r levels r - 1 for each configuration; of a
/// structure that is to be chosen, the most within its limits.
std::uint64_t drawn_numbers(const NetworkProblem& problem);

/// eta of one record: the length of the interval in which the log likelihoods of two records
/// differ over all tables within the trim, or under add-remove that of one record; of a structure
/// that is to be chosen, of the worst. Rounded up; the problem must have a trim.
double network_range_up(const NetworkProblem& problem, Adjacency adjacency);

/// Guarantee of `draws` draws of all tables, what the grid costs, and constants. Throws BadInput
/// when a setting is out of range or the theorem does not hold.
Analysis tables_analysis(const NetworkTrimmed& settings, const NetworkProblem& problem,
                         const Neighbors& who, std::uint64_t draws);
Analysis tables_analysis(const NetworkConjugate& settings, const NetworkProblem& problem,
                         const Neighbors& who, std::uint64_t draws);

/// What the budget buys beside a structure of that mu and tv: settings, guarantee of the tables
/// alone, deviation. Not feasible, with why, where it buys nothing.
NetworkCandidate tables_candidate(std::type_identity<NetworkTrimmed> which,
                                  const NetworkProblem& problem, const Budget& budget,
                                  double structure_mu, double structure_tv);
NetworkCandidate tables_candidate(std::type_identity<NetworkConjugate> which,
                                  const NetworkProblem& problem, const Budget& budget,
                                  double structure_mu, double structure_tv);

/// Expected deviation of a cell's count in rows, as the average of `draws` draws has it, averaged
/// over cells, were records spread evenly over the configurations: of the estimate from which the
/// prior's pull is taken out, and the pull itself on shares that are uniform.
double drawn_deviation(const NetworkProblem& problem, double weight, double prior_scale,
                       std::uint64_t draws);

}  // namespace gibbsite
