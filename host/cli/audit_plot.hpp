#pragma once
// Two samples of an audit's statistic, one over the other.
#include <span>
#include <string>

namespace gibbsite::cli {

/// Histograms of both on one axis, the threshold dashed. `note` stands below. XML.
std::string audit_plot(const std::string& title, const std::string& note,
                       std::span<const double> of_table, std::span<const double> of_neighbor,
                       double threshold);

}  // namespace gibbsite::cli
