#pragma once
// Parents chosen from the table, a pick at a time by the exponential mechanism
// (docs/theory/network.md, "Structure").
#include <cstdint>
#include <span>
#include <vector>

#include "engine/contingency.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/core/wide.hpp"
#include "gibbsite/mechanism/network.hpp"
#include "gibbsite/run/fit_options.hpp"

namespace gibbsite {

/// sum |n N_{X,Pi} - N_X N_Pi|, exact, of a table of N_{X,Pi} whose last column of `levels` is X;
/// n = its sum, at most 2^38.
Wide dependence(std::span<const std::uint64_t> counts, std::uint64_t levels);

/// The place that `uniform` in (0, 1) falls on of shares proportional to exp(weight * score).
std::size_t exponential_pick(std::span<const Wide> scores, double weight, const Wide& uniform);
/// That of 128 bits, the words (structure_chain, pick) of the key's stream.
std::size_t exponential_pick(std::span<const Wide> scores, double weight, const StreamKey& key,
                             std::uint64_t pick);

/// The column that is placed first, without parents: of the fewest levels, the last of several.
std::uint32_t first_placed(std::span<const std::uint64_t> levels);

/// Parents of every column [K], ascending: after the first, one column after the other is placed
/// with its parents. Words of (structure_chain, pick) of the key's stream. Of the
/// options `stop` and `progress` are heeded; (picks done, picks + K). Throws Interrupted.
std::vector<std::vector<std::uint32_t>> choose_structure(const LevelRows& rows,
                                                         const NetworkProblem& problem,
                                                         double weight, double penalty,
                                                         const StreamKey& key,
                                                         const FitOptions& options);
/// No draw of tables has it.
inline constexpr std::uint32_t structure_chain = 0xffffffff;

}  // namespace gibbsite
