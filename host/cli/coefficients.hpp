#pragma once
// Released coefficients as people read them.
#include <string>

#include "gibbsite/certificate/certificate.hpp"
#include "gibbsite/model/linear_model.hpp"

namespace gibbsite::cli {

/// A table of at most ten lines, the largest first where there are more (with
/// intervals the surest): each coefficient, how far
/// it may be off, what it multiplies the odds by; gray where it may be noise. With intervals the
/// levels of a category stand against their mean, which the baseline takes up. Of several classes a
/// column each, a dot where it may be noise.
std::string coefficient_report(const LinearModel& model, const Certificate& certificate);

}  // namespace gibbsite::cli
