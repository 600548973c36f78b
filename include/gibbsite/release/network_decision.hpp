#pragma once
// Decisions by a released network: the response of the largest expected utility given evidence, and
// whether the noise could turn it. They read nothing else, so they cost nothing
// (docs/theory/trimmed.md, "Questions").
#include <optional>
#include <string>
#include <vector>

#include "gibbsite/release/network_query.hpp"
#include "gibbsite/release/query.hpp"

namespace gibbsite {

struct NetworkDecision {
  std::vector<Response> ranked;  ///< best first, for a person as the evidence says
  /// How much better another response can be at the most, if the rows' own shares of all outcomes
  /// lie within question_reach; 0 where the first stays the best. None where the reach is unknown.
  std::optional<double> regret{};
  std::string rival{};  ///< the response that can be better by `regret`; "" if none can
};
/// Ranks the responses by expected utility over the levels of the column that `asked` is about
/// (parse_outcome). The table's outcomes are those levels, each once. Throws BadInput otherwise,
/// and as `answer` does.
NetworkDecision best_response(const NetworkModel& model, const NetworkQuestion& asked,
                              const UtilityTable& table);

}  // namespace gibbsite
