#pragma once
// An audit of runs without common noise (docs/how-to/audit.md).
#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cstdint>

#include "gibbsite/audit/bounds.hpp"

namespace gibbsite::support {

/// A lower bound of mu from n runs on each table, not coupled: `false_positives` of the table's are
/// above the threshold, `false_negatives` of the neighbor's are not:
///   Phi^-1(1 - FPR_up) - Phi^-1(FNR_up), each at a/2; at least 0.
inline double two_samples_mu_down(std::uint64_t false_positives, std::uint64_t false_negatives,
                                  std::uint64_t n, double confidence) {
  const double level = (1 - confidence) / 2;
  const double fpr = clopper_pearson_up(false_positives, n, level);
  const double fnr = clopper_pearson_up(false_negatives, n, level);
  if (fpr >= 1 || fnr >= 1) return 0;
  const boost::math::normal normal;
  return std::max(0.0, (-quantile(normal, fpr) - quantile(normal, fnr)) * (1 - 1e-11));
}

}  // namespace gibbsite::support
