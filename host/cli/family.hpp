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

struct FamilyArguments {
  std::string column, prior, trim, range;
  std::optional<double> variance;
  std::optional<std::uint64_t> levels;
  bool diffused = false;

  /// `shape`: with --levels and --range in place of a schema's column.
  void add_to(CLI::App& app, bool shape);
  /// Throws BadInput naming what was given of these options, or of `plan`'s, that --model does not
  /// take.
  void require_of_model(const PlanArguments& plan) const;
  [[nodiscard]] FamilyWishes wishes(const PlanArguments& plan) const;
  /// With prior, variance and trim as asked for, or their defaults. Throws BadInput.
  [[nodiscard]] FamilyProblem complete(FamilyProblem problem) const;
  /// Of --levels and --range.
  [[nodiscard]] FamilyProblem problem_of_shape(Family family, std::uint64_t rows) const;
};

/// What a budget buys, a line for each, and what that means.
std::string family_summary(std::span<const FamilyPlan> plans);
/// One line on what will be drawn.
std::string family_line(const FamilyPlan& plan);
/// The parameters with their intervals, a line each.
std::string family_report(const FamilyRelease& release);

}  // namespace gibbsite::cli
