#pragma once
// Estimates of the coefficients with their uncertainty, from the noisy answers of `whitened`
// (docs/theory/intervals.md). Sees no row: noisy answers and public numbers alone, so nothing here
// costs privacy.
#include <Eigen/Core>
#include <optional>
#include <vector>

#include "gibbsite/model/estimates.hpp"
#include "gibbsite/model/schema.hpp"

namespace gibbsite {

/// A symmetric matrix with noise of that deviation on its diagonal and over sqrt(2) beside it.
struct AnsweredMoments {
  Eigen::MatrixXd sum;  ///< [k x k]
  double deviation = 0;
};

/// What was answered of rows z = P^T x of two classes, and the public numbers that go with it. Of
/// several classes see run/estimates_classes.hpp.
struct AnsweredScores {
  Eigen::MatrixXd metric;  ///< P [d x k]; k < d where the schema rules directions out
  Eigen::VectorXd lambda;  ///< answered eigenvalues of E z z^T, which is diagonal [k]
  double rows = 0;         ///< n, or what an answer says of it
  /// Where gradients of the weighted log-likelihood were asked, in the order of asking [T + 1][k].
  /// The last one is the block: its weights bound the information of a row as well.
  std::vector<Eigen::VectorXd> points;
  std::vector<Eigen::VectorXd> gradients;  ///< sums over rows of (p - t) w z, with noise [T + 1][k]
  std::vector<double> variances;           ///< of the noise in each of their coordinates [T + 1]
  /// Sum of p(1 - p) w z z^T at the last point with the block's weights, symmetric, with noise of
  /// that deviation on the diagonal and over sqrt(2) beside it [k x k].
  Eigen::MatrixXd information;
  double information_deviation = 0;
  /// C and B of the weights (docs/theory/intervals.md); 0: unknown, then what follows from them for
  /// rows of rare levels is left out, and their intervals are several times wider.
  double clip = 0, information_bound = 0;
  Eigen::VectorXd prior;                ///< v: shape of the prior variances that the path used [k]
  std::vector<double> means;            ///< answered_means [d], or empty: then those of the metric
  std::vector<double> mean_deviations;  ///< of the noise in them [d], or empty: unknown
  double prior_scale = 0;  ///< their scale that the path found, after the last gradient
  /// Sum of s s^T at the last point, where s is the score of a row with its weight, or the sum of a
  /// person's. None, as of several classes that count the same and in former files: what the model
  /// says. [k x k], of several classes as estimate_classes says.
  std::optional<AnsweredMoments> scores;
  /// Rows count by weights, or as their people do.
  bool weighted = false;
  /// The smallest public weight of a class: rows count at least so much for `information` and
  /// gradients, but as 1 for `lambda` and `rows`.
  double least_weight = 1;
  double rows_of_person = 1;  ///< k: ||s|| <= k clip
  /// k of rows whose people nobody names: they may all be alike, so the sample's part counts k
  /// times, the most that it can be (Cauchy-Schwarz). 1 of people, and of a row each.
  double rows_alike = 1;
};

/// Answered means of the features [d], of levels shares that add up to 1, from the first answer:
/// the noisy sum of u u^T [k x k] of u = S^T x with the starting metric S [d x k], whose last
/// coordinate is the constant's. That question scales hardly any row down, later ones do, most
/// those of rare levels. Shares and means are held to what a table can have. Empty without a
/// constant column.
std::vector<double> answered_means(const Eigen::MatrixXd& start, const Eigen::MatrixXd& moments,
                                   const Schema& schema);

/// The deviations of the noise in answered_means [d], of `moments` of which the last column has
/// noise of these `deviations` [k], about the mean square `squares` of the last coordinate in all
/// rows. Empty without a constant column.
std::vector<double> answered_mean_deviations(const Eigen::MatrixXd& start, double squares,
                                             const Eigen::VectorXd& deviations,
                                             const Schema& schema);

/// The posterior of the coefficients of the plain logistic model. The same for the same answers on
/// every machine with the same libraries. Takes O(k^3) time. None where the answers
/// leave no finite one. Throws BadInput where the shapes do not fit each other or the schema.
std::optional<Estimates> estimate(const AnsweredScores& answers, const Schema& schema);

}  // namespace gibbsite
