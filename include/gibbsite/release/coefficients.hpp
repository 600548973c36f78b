#pragma once
// Released coefficients with how far they may be off, as people read them: on screen and in the
// report.
#include <string>
#include <vector>

#include "gibbsite/certificate/certificate.hpp"
#include "gibbsite/model/linear_model.hpp"
#include "gibbsite/release/effects.hpp"

namespace gibbsite {

/// The level of a column as people read it: of a curve a knot with as few digits, at least four, as
/// tell it from the others; of other columns the level as it is.
std::string shown_level(const Column& column, const std::string& level);

/// Names of the coefficients for people [d]: "age, 17 to 90", "work=Private", ..., "(intercept)".
/// Knots have few digits; the file has all.
std::vector<std::string> coefficient_line_names(const Schema& schema);

/// A sentence about the coefficients of two classes that are no log-odds, and what an effect does
/// to the odds. Empty for other models.
Message score_words(const LinearModel& model);

/// Coefficients of the first draw of a model of one output; amounts are in the label's own unit.
struct CoefficientLines {
  std::vector<std::string> names;
  /// Values of the coefficients; a number counts from the low to the high end of its range.
  std::vector<double> values;
  /// Half-widths that contain 95 % of the noise of each coefficient (coefficient_noise_up). Empty
  /// if there is no bound.
  std::vector<double> half_widths;
  bool multiplies = false;   ///< exp(value) multiplies odds or a mean
  std::vector<bool> unseen;  ///< unseen_levels

  [[nodiscard]] bool is_unseen(std::size_t j) const { return !unseen.empty() && unseen[j]; }
  [[nodiscard]] bool is_inside(std::size_t j) const;  ///< may be noise: the bound holds 0
};
CoefficientLines coefficient_lines(const LinearModel& model, const Certificate& certificate);

/// Levels of which the released share is so small that perhaps no row has them (within two
/// deviations of its noise), by feature [d]: their coefficients follow from noise. Empty if that is
/// not known: of a model with intervals, which say it themselves, or without answered shares.
std::vector<bool> unseen_levels(const LinearModel& model, const Certificate& certificate);
/// The table of effects of a released model, in which `hidden` says that of models without
/// intervals. Throws as effect_table of the model.
EffectTable effect_table(const LinearModel& model, const Certificate& certificate,
                         const References& references = {});

}  // namespace gibbsite
