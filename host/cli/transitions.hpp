#pragma once
// Transitions of a chain, as they are printed.
#include <string>
#include <vector>

#include "gibbsite/certificate/model_file.hpp"

namespace gibbsite::cli {

/// What --model says of the transitions from one column's state to another's: a network of these
/// two that is counted.
inline constexpr const char* transitions_model = "transitions";

/// The two columns of --columns. Throws BadInput where they are not two.
std::vector<std::string> transition_columns(const std::string& list);
/// The matrix and the long run, with their intervals.
std::string transitions_report(const NetworkRelease& release);
/// CSV of both: what, previous, next, estimate, lower, upper.
std::string transitions_csv(const NetworkRelease& release);

}  // namespace gibbsite::cli
