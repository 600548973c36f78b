#pragma once
// How sure released coefficients are: the parametric bootstrap of docs/intervals.md.
#include <optional>

#include "gibbsite/mechanism/plan.hpp"
#include "gibbsite/model/linear_model.hpp"
#include "gibbsite/run/fit_options.hpp"

namespace gibbsite {

/// Of a plan whose mechanism takes `intervals`.
/// From the noisy answers of `model` and public numbers alone, so free: makes rows with the second
/// moments that were answered, draws coefficients from what the answers leave open and labels by
/// them, and runs the mechanism on these, Intervals::replicas times. The same for the same answers
/// on every machine with the same libraries, whatever the number of threads. None where the metric
/// cannot be inverted in double. Throws Interrupted when options.stop is set.
std::optional<Intervals> bootstrap_intervals(const LinearModel& model, const Plan& plan,
                                             const FitOptions& options);

}  // namespace gibbsite
