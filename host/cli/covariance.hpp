#pragma once
// Means, standard deviations and correlations of several columns, as they are printed.
#include <span>
#include <string>

#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/mechanism/covariance.hpp"
#include "gibbsite/model/schema.hpp"

namespace gibbsite::cli {

/// One line on what will be released.
std::string covariance_line(const CovariancePlan& plan);
/// What budgets buy: noise in the mean of each column of `domain` (covariance_schema), in its unit.
std::string covariance_summary(std::span<const CovariancePlan> plans, const Schema& domain);
/// Means and standard deviations, then correlations, with their intervals.
std::string covariance_report(const CovarianceRelease& release);
/// CSV of all estimates: what, column, other, estimate, lower, upper.
std::string covariance_csv(const CovarianceRelease& release);

}  // namespace gibbsite::cli
