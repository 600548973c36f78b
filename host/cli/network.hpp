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
/// What a plan's figures suppose where rows do not count the same; "" where they do.
std::string plan_weights(const NetworkProblem& problem);
/// One line on what will be released.
std::string network_line(const NetworkPlan& plan);
/// A line on what rows of such a table count, "" where each counts as one.
std::string weighted_words(const Schema& columns);
/// The part of these words that is of people.
std::string people_words(const Schema& columns);
/// Its structure, a line for each column.
std::string network_report(const NetworkModel& model);
/// Its noisy counts as CSV (release/network_counts.hpp). Throws BadInput.
std::string counts_csv(const NetworkModel& model);

}  // namespace gibbsite::cli
