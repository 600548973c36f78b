#pragma once
// Means, standard deviations and correlations of several columns, as they are printed.
#include <string>

#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/mechanism/covariance.hpp"

namespace gibbsite::cli {

/// One line on what will be released.
std::string covariance_line(const CovariancePlan& plan);
/// Means and standard deviations, then correlations, with their intervals.
std::string covariance_report(const CovarianceRelease& release);
/// CSV of all estimates: what, column, other, estimate, lower, upper.
std::string covariance_csv(const CovarianceRelease& release);

}  // namespace gibbsite::cli
