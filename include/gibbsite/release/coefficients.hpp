#pragma once
// Released coefficients with how far they may be off, as people read them: on screen and in the
// report.
#include <string>
#include <vector>

#include "gibbsite/certificate/certificate.hpp"
#include "gibbsite/model/linear_model.hpp"

namespace gibbsite {

/// "age, 17 to 90", "work=Private", ..., "(intercept)" [d].
std::vector<std::string> coefficient_line_names(const Schema& schema);

/// "", or of two classes whose coefficients are no log-odds a sentence that says so and what an
/// effect does to the odds; fields stand in backquotes.
Message score_words(const LinearModel& model);

/// Of the first draw of a model of one output, amounts in the label's own unit.
struct CoefficientLines {
  std::vector<std::string> names;
  /// A number from the low end of its range to the high end.
  std::vector<double> values;
  /// Within which 95 % of the noise leaves each (coefficient_noise_up). Empty: there is no bound.
  std::vector<double> half_widths;
  bool multiplies = false;  ///< exp(value) multiplies odds or a mean

  [[nodiscard]] bool is_inside(std::size_t j) const;  ///< may be noise: the bound holds 0
};
CoefficientLines coefficient_lines(const LinearModel& model, const Certificate& certificate);

}  // namespace gibbsite
