#pragma once
// A fitted model: coefficients and what predicting with them needs.
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gibbsite/model/schema.hpp"

namespace gibbsite {

/// Coefficients and the whole schema: what predicting needs. Says nothing about privacy.
struct LinearModel {
  std::string loss;
  Schema schema;
  std::vector<std::vector<double>> draws;  ///< [draws][d]
};

/// Coefficients in the units of the original columns, valid for rows that are not scaled down.
struct OriginalUnits {
  double intercept = 0;
  std::vector<std::pair<std::string, double>> slopes;  ///< per number column, or per level
  bool exact = false;  ///< no row can be clipped, so it holds for every row
};
OriginalUnits original_units(const Schema& schema, std::span<const double> theta);

}  // namespace gibbsite
