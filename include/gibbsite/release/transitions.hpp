#pragma once
// Transition probabilities of a discrete chain from a released network of one edge, the state
// before -> the state after. Nothing else is read, so they cost nothing
// (docs/theory/transitions.md).
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/model/network_model.hpp"

namespace gibbsite {

/// An estimate of a probability with its 95 % interval.
struct ShareEstimate {
  double value = 0, low = 0, high = 1;
};

/// A transition matrix, its intervals, and where the chain stays in the long run.
struct Transitions {
  std::string previous, next;       ///< the columns
  std::vector<std::string> states;  ///< [K]
  /// [K x K] row-major: P(next = j | previous = i) of the people that the table is a sample of,
  /// as `answer` says it. Noise and sample are both in the interval, with the rows of one person
  /// taken for alike.
  std::vector<ShareEstimate> matrix;
  /// [K] shares of time in the long run from an even start. `low` and `high` are the least and the
  /// largest that any matrix within the intervals has, from any start. Empty with more than
  /// most_stationary_states states.
  std::vector<ShareEstimate> stationary{};
};
inline constexpr std::size_t most_stationary_states = 100;

/// What the intervals of a transition matrix mean.
inline constexpr std::string_view meaning_of_transitions =
    "Each interval holds the probability among the people that the table is a sample of, 95 % of "
    "the time, one number at a time: noise and sample are both in it. Where it is 0 to 1 noise "
    "hides the state before, and the estimate is of all states together.";
/// What the bounds of the shares in the long run mean.
inline constexpr std::string_view meaning_of_long_run =
    "Long run: the share of time in a state after many steps. Its interval holds what any matrix "
    "within the intervals above has, from any start: where it is wide, states may be left hardly "
    "ever, or never reached.";

/// Throws BadInput "`columns`: ..." unless a schema of table_schema has two columns of the same
/// levels in the same order.
void require_states(const Schema& columns);
/// Whether a network has two columns of the same levels, one edge from the first to the second, and
/// counted tables.
bool has_transitions(const NetworkModel& model);
/// The transitions of noisy counts, with the total `rows` where it is public, and of up to
/// `rows_per_person` rows a person. Throws BadInput unless has_transitions(model).
Transitions transitions(const NetworkModel& model, std::optional<std::uint64_t> rows,
                        std::uint64_t rows_per_person);
/// The transitions of a release; its total is public under replace-one.
Transitions transitions(const NetworkRelease& release);

/// Least and largest long-run share of `state` over all stochastic K x K matrices with entries
/// between `low` and `high` [K x K], from any start, to within 1e-7 and never too narrow but for
/// rounding. Needs low <= some stochastic matrix <= high.
struct LongRunRange {
  double low = 0, high = 1;
};
LongRunRange long_run_range(const std::vector<double>& low, const std::vector<double>& high,
                            std::size_t states, std::size_t state);

}  // namespace gibbsite
