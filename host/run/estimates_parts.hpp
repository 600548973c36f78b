#pragma once
// What the estimates of two classes and of amounts share: the features of a schema as the answered
// moments describe them (docs/intervals.md). Sees no row.
#include <Eigen/Core>
#include <vector>

#include "gibbsite/model/schema.hpp"
#include "run/estimates.hpp"

namespace gibbsite {

/// A level of a category as its rows lie in the metric.
struct LevelPart {
  Eigen::Index direction = 0;  ///< row of FeatureParts::directions
  double share = 0;            ///< answered, of the rows
  double across = 0;           ///< z . direction of an average one of its rows
};

/// The features of a schema [d], in the metric [d x k] and by their answered moments.
struct FeatureParts {
  Eigen::MatrixXd metric;      ///< P, the constant's coefficient taken at the middle of all ranges
  Eigen::MatrixXd directions;  ///< [J x k] unit vectors: numbers, levels, then the k axes
  Eigen::VectorXd row_mean;    ///< [k] of z; 0 where nothing says what it is
  Eigen::VectorXd means;       ///< [d] of levels their shares
  Eigen::VectorXd deviations;  ///< [d]
  Eigen::VectorXd precision;   ///< [d] of the prior of two classes, of deviation 2.5
  std::vector<LevelPart> levels;
  bool usable = false;  ///< all answers are finite and sound
};
/// Throws BadInput where the shapes do not fit each other or the schema.
FeatureParts feature_parts(const AnsweredScores& answers, const Schema& schema);

/// To ten significant digits, so that a file holds no more and means the same.
double rounded_estimate(double value);
/// Inverse of a symmetric positive definite matrix; where rounding spoils that, of the nearest that
/// is.
Eigen::MatrixXd inverse_of_symmetric(const Eigen::MatrixXd& matrix);

}  // namespace gibbsite
