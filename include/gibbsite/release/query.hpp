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

/// The estimate of one parameter: a level's share, the mean count, the mean time, the mean.
struct ParameterEstimate {
  std::string name;          ///< "yes"; the column's name for numbers
  double value = 0;          ///< for the people that the table is a sample of
  double low = 0, high = 0;  ///< 95 %, noise and sample together
};
/// Estimates of the people's parameters from the draws, with prior and weight taken out. They are
/// computed by quadrature over the possible means of the table, given the draws. For trimmed draws:
/// the mean and quantiles of the draws themselves. At most the `most` largest levels are returned.
std::vector<ParameterEstimate> estimates(
    const FamilyRelease& release, std::size_t most = std::numeric_limits<std::size_t>::max());

/// The sentence, for readers, on a number of which cells may have been missing or unreadable: what
/// such a cell counted as. Empty of others. A function of the schema alone.
std::string missing_meaning(const FamilyRelease& release);

/// Names of the parameters that a query may ask for: levels, or "rate", "time" or "mean" for
/// numbers.
std::vector<std::string> parameter_names(const FamilyRelease& release);
/// An answer: the people's parameter as in `estimates`, and its standard deviation. For trimmed
/// draws it is the average over them (of 1/theta for "time") and its Monte Carlo error, which is 0
/// for a single draw.
struct Answer {
  double value = 0, error = 0;
};
Answer expectation(const FamilyRelease& release, const std::string& parameter);
/// The probability of an event such as "yes > 0.3", "rate <= 2" or "yes > no". For trimmed draws it
/// is the fraction of draws for which the event holds. Else it is the probability for the people,
/// noise and sample together, with error 0. Throws BadInput on another form, an unknown parameter,
/// or two parameters of several draws that are not trimmed.
Answer probability(const FamilyRelease& release, const std::string& event);

/// Utilities of responses, by the value that a new person turns out to have.
struct UtilityTable {
  std::string source = "utilities";    ///< names it in errors
  std::vector<std::string> responses;  ///< [R]
  /// [outcomes]: levels; for numbers the lower ends of intervals of the value, of which the first
  /// includes all values below.
  std::vector<std::string> outcomes;
  std::vector<std::vector<double>> utility;  ///< [R][outcomes]
};
/// Reads utilities from a CSV file: a header "response,OUTCOME,...", then a line for each response.
/// Throws BadInput "FILE:LINE: ..." on malformed text, a repeated outcome, or a utility that is no
/// finite number.
UtilityTable read_utilities(const std::string& path);

/// The expected utility of one response for a new person: over trimmed draws, else by the
/// estimates.
struct Response {
  std::string name;
  double utility = 0;
};
struct BestResponse {
  std::vector<Response> ranked;  ///< best first
  /// Upper bound, except with probability 5 %, of how much utility the first response loses against
  /// the best one for the released posterior. Only for trimmed draws.
  std::optional<double> regret{};
};
/// Ranks the responses by expected utility. Throws BadInput if outcomes are not the release's
/// levels, or not ascending numbers.
BestResponse best_response(const FamilyRelease& release, const UtilityTable& table);

}  // namespace gibbsite
