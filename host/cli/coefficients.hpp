#pragma once
// Released coefficients as people read them.
#include <string>

#include "gibbsite/certificate/certificate.hpp"
#include "gibbsite/model/linear_model.hpp"
#include "gibbsite/release/effects.hpp"

namespace gibbsite::cli {

/// What of the table of effects is shown.
struct CoefficientView {
  bool all = false;            ///< every line; else the ten surest
  References references = {};  ///< reference levels in place of the schema's
  std::string file = {};       ///< the model's, named where more can be had; empty: not named
};

/// A table of at most ten lines unless `all` is asked for. With estimates: effects with standard
/// errors, confidence intervals, odds or rate ratios and p-values, the surest first; those that
/// noise hides come last and say so. Otherwise coefficients, and how far noise may have moved them
/// where a bound is known. Of several classes without estimates a column each.
std::string coefficient_report(const LinearModel& model, const Certificate& certificate,
                               const CoefficientView& view = {});

}  // namespace gibbsite::cli
