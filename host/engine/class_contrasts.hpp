#pragma once
// Orthonormal contrasts of classes: the coordinates in which scores of several classes are asked
// and estimated (docs/theory/intervals.md, "People and weights").
#include <Eigen/Core>
#include <cmath>

namespace gibbsite {

/// C [K x (K - 1)]: orthonormal columns that add up to 0, for K >= 2 classes (Helmert).
inline Eigen::MatrixXd class_contrasts(Eigen::Index K) {
  Eigen::MatrixXd out = Eigen::MatrixXd::Zero(K, K - 1);
  for (Eigen::Index a = 0; a + 1 < K; ++a) {
    const auto before = static_cast<double>(a + 1);
    out.col(a).head(a + 1).setConstant(1 / std::sqrt(before * (before + 1)));
    out(a + 1, a) = -before / std::sqrt(before * (before + 1));
  }
  return out;
}

}  // namespace gibbsite
