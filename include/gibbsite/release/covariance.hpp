#pragma once
// What released moments say of means, standard deviations and correlations
// (docs/theory/covariance.md). It reads nothing else, so it costs nothing.
#include <string>
#include <vector>

#include "gibbsite/certificate/model_file.hpp"

namespace gibbsite {

/// An estimate for the people that the table is a sample of, with its 95 % interval.
struct MomentEstimate {
  double value = 0;
  double low = 0, high = 0;  ///< noise and sample together; all there may be where noise hides it
};

/// Pairs are i > j, by rows of the lower triangle without its diagonal.
struct CovarianceEstimates {
  std::vector<std::string> columns;               ///< [d]
  double rows = 0;                                ///< public, or the noisy number of complete ones
  std::vector<MomentEstimate> means, deviations;  ///< [d], in the columns' units
  std::vector<MomentEstimate> covariances, correlations;  ///< [d (d - 1)/2]
  /// [d x d] The nearest positive semidefinite matrix to the noisy one, in units of half the
  /// columns' ranges, put back into the columns' units: for what needs such a matrix. Where it is
  /// another one its diagonal is too large, and the values above are better estimates.
  std::vector<double> covariance;
  bool projected = false;  ///< whether the noisy matrix was not positive semidefinite itself
};

CovarianceEstimates covariance_estimates(const CovarianceRelease& release);

}  // namespace gibbsite
