#pragma once
// Questions to released draws of a family: answers read nothing else, so they cost nothing
// (docs/theory/trimmed.md, "Questions").
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gibbsite/certificate/model_file.hpp"

namespace gibbsite {

/// About one parameter: a level's share, the mean count, the mean time, the mean.
struct ParameterEstimate {
  std::string name;          ///< "yes"; the column's name for numbers
  double value = 0;          ///< for the people that the table is a sample of
  double low = 0, high = 0;  ///< 95 %, noise and sample together
};
/// What the draws say about the parameters of those people: prior and weight are taken out again.
/// By quadrature over what the table's mean may have been, given the draws; of trimmed draws the
/// mean and quantiles of the draws themselves.
/// Of the `most` largest levels, where there are more.
std::vector<ParameterEstimate> estimates(
    const FamilyRelease& release, std::size_t most = std::numeric_limits<std::size_t>::max());

/// What a query asks about: a level's share; "rate", "time" or "mean" for numbers.
std::vector<std::string> parameter_names(const FamilyRelease& release);
/// Of trimmed draws: average of the parameter over them (of 1/theta for "time"), and its Monte
/// Carlo error; 0 where there is one draw, for which it is not known. Else the people's parameter
/// as `estimates` has it, and its deviation.
struct Answer {
  double value = 0, error = 0;
};
Answer expectation(const FamilyRelease& release, const std::string& parameter);
/// "yes > 0.3", "rate <= 2", "yes > no": the fraction of trimmed draws for which it holds; else the
/// probability that it holds for the people, noise and sample together, error 0. Throws BadInput on
/// another form, a parameter that the release does not have, or two of several that are not
/// trimmed.
Answer probability(const FamilyRelease& release, const std::string& event);

/// Utilities of responses, by what a new person's value turns out to be.
struct UtilityTable {
  std::string source = "utilities";    ///< names it in errors
  std::vector<std::string> responses;  ///< [R]
  /// [outcomes]: levels; for numbers lower ends of intervals of the value, the first taking all
  /// below too.
  std::vector<std::string> outcomes;
  std::vector<std::vector<double>> utility;  ///< [R][outcomes]
};
/// CSV: a header "response,OUTCOME,...", then a line a response. Throws BadInput "FILE:LINE: ..."
/// on malformed text, outcomes given twice or a utility that is no finite number.
UtilityTable read_utilities(const std::string& path);

/// One response's expected utility over trimmed draws, else for the estimates; and a new person.
struct Response {
  std::string name;
  double utility = 0;
};
struct BestResponse {
  std::vector<Response> ranked;  ///< best first
  /// Of trimmed draws: how much worse than the best for the released posterior the first may be, in
  /// its units, but with probability 5 %.
  std::optional<double> regret{};
};
/// Throws BadInput where outcomes are not the release's levels, or not ascending numbers.
BestResponse best_response(const FamilyRelease& release, const UtilityTable& table);

}  // namespace gibbsite
