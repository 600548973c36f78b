#pragma once
// Two samples of an audit's statistic, one over the other.
#include <span>
#include <string>

namespace gibbsite::cli {

/// Histograms of both on one axis, the threshold dashed. `note` stands below, `mark`, which
/// may be empty, right below the title. XML.
std::string audit_plot(const std::string& title, const std::string& note, const std::string& mark,
                       std::span<const double> of_table, std::span<const double> of_neighbor,
                       double threshold);

}  // namespace gibbsite::cli
