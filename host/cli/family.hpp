#pragma once
// Families over one column: the options of `fit` and `plan`, and what they print.
#include <CLI/CLI.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/mechanism/family.hpp"
#include "options.hpp"

namespace gibbsite::cli {

/// The column of a family, or its public shape.
struct FamilyArguments {
  std::string column, range;
  std::string columns;  // of --model covariance, with commas between
  std::optional<std::uint64_t> levels;

  /// With the fields of `plan` that are a family's. `shape`: with --levels and --range in place of
  /// a schema's column.
  void add_to(CLI::App& app, PlanArguments& plan, bool shape);
  /// Throws BadInput naming what was given of these options, or of `plan`'s, that --model does not
  /// take.
  void require_of_model(const PlanArguments& plan) const;
  /// The problem that --levels and --range describe.
  [[nodiscard]] FamilyProblem problem_of_shape(Family family, std::uint64_t rows) const;
};

/// What a budget buys, a line for each, and what that means.
std::string family_summary(std::span<const FamilyPlan> plans);
/// One line on what will be drawn.
std::string family_line(const FamilyPlan& plan);
/// The parameters with their intervals, a line each.
std::string family_report(const FamilyRelease& release);

}  // namespace gibbsite::cli
