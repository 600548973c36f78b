#pragma once
// Between the "estimates" object of a model file and values (docs/theory/intervals.md).
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

#include "gibbsite/model/estimates.hpp"

namespace gibbsite {

/// An infinite prior deviation, that of the constant, is null.
nlohmann::json estimates_json(const Estimates& estimates);
/// Reads the estimates of a model of d features and that many outputs. Throws BadInput "SOURCE:
/// estimates.NAME: ..." on a missing, unknown or ill-typed field, another length than d and outputs
/// say, numbers that are not finite, weights that are negative or do not add up to 1, negative
/// deviations, or a covariance with a negative variance or a correlation beyond 1.
Estimates estimates_from_json(const nlohmann::json& object, std::size_t d, std::size_t outputs,
                              const std::string& source);

}  // namespace gibbsite
