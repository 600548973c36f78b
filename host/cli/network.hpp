#pragma once
// Bayesian networks: the options of `fit` and `plan`, and what they print.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "family.hpp"
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/mechanism/network.hpp"
#include "options.hpp"

namespace gibbsite::cli {

/// The options of `plan` that are a network's alone.
void add_network_to(CLI::App& app, PlanArguments& plan);

/// What a budget buys, a line for each mechanism, and below each node's table beside its noise.
std::string network_summary(std::span<const NetworkPlan> plans, const Schema& columns);
/// One line on what will be released.
std::string network_line(const NetworkPlan& plan);
/// Its structure, a line for each column.
std::string network_report(const NetworkModel& model);
/// Its noisy counts as CSV (release/network_counts.hpp). Throws BadInput.
std::string counts_csv(const NetworkModel& model);

}  // namespace gibbsite::cli
