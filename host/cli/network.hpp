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

struct NetworkArguments {
  std::string structure;
  std::optional<double> structure_share;
  std::optional<std::uint64_t> parents, cells;

  void add_to(CLI::App& app);
  /// Throws BadInput naming what was given of these options, of a family's or of `plan`'s that
  /// --model does not take.
  void require_of_model(const PlanArguments& plan, const FamilyArguments& family) const;
  [[nodiscard]] NetworkWishes wishes(const PlanArguments& plan) const;
  /// Of such a schema (network_schema). Throws BadInput where it has no [network] and one is asked
  /// for, on a cap that `rows` breaks, and what NetworkProblem::validate does.
  [[nodiscard]] NetworkProblem problem(const Schema& columns, std::uint64_t rows,
                                       const PlanArguments& plan,
                                       const FamilyArguments& family) const;
};

/// What a budget buys, a line for each mechanism, and below each node's table beside its noise.
std::string network_summary(std::span<const NetworkPlan> plans, const Schema& columns);
/// One line on what will be released.
std::string network_line(const NetworkPlan& plan);
/// Its structure, a line for each column.
std::string network_report(const NetworkModel& model);

}  // namespace gibbsite::cli
