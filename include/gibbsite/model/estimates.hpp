#pragma once
// Estimates of a model's coefficients with their uncertainty, from released answers alone
// (docs/theory/intervals.md). Nothing here reads a row.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gibbsite/model/schema.hpp"

namespace gibbsite {

/// The estimate of one linear combination c . theta of coefficients.
struct EffectEstimate {
  double estimate = 0;        ///< in log-odds (of amounts and counts: in units of the score z)
  double standard_error = 0;  ///< square root of the posterior variance
  double lower = 0;           ///< end of the 95 % interval
  double upper = 0;           ///< end of the 95 % interval
  double p_value = 1;         ///< two-sided, of "the effect is 0": what follows from the interval
  /// True if the noise hides the effect: at least half of the prior's variance is left.
  bool hidden = false;
  /// True if the table cannot tell the effect from those of other columns (`Collinearity`).
  bool collinear = false;
};

/// Posterior of the coefficients that a fit without noise and without a strong prior would have. It
/// is a mixture of normals that share one covariance. Coefficients are those of the encoded
/// features (numbers scaled to [0, 1], a 0/1 feature for each level), theta [K x d].
struct Estimates {
  static constexpr double level = 0.95;

  std::vector<double> weights;             ///< [m], add up to 1; one for a normal
  std::vector<std::vector<double>> means;  ///< [m][K x d]
  std::vector<double> covariance;          ///< [Kd (Kd + 1)/2] lower triangle by rows
  std::vector<double> prior_deviation;     ///< [K x d] of the prior; infinite for the constant
  std::vector<double> feature_means;       ///< [d] answered means of the features: of levels shares
  std::vector<double> feature_deviations;  ///< [d] answered standard deviations of the features
  /// [K x d] or empty: how much further an interval extends above and below a coefficient than the
  /// normal one does, in quadrature. Rows that carry one effect saturate together: what is known of
  /// their probability says little of their log-odds.
  std::vector<double> further_above, further_below;
  /// k of rows whose people nobody named: the sample's part is that of k rows that are all alike. 1
  /// of people, of a row each, and in files from before it was counted.
  std::uint64_t rows_alike = 1;
  /// How far counts spread beyond Poisson's law: their variance is mean + count_dispersion mean^2,
  /// by the scores' answered second moments less two deviations of their noise. 0 of other labels,
  /// where rows count by weights or people, and in older files.
  double count_dispersion = 0;

  /// Estimate of c . theta, for c [K x d]: the mean of the mixture and its quantiles. Each half h
  /// of the interval becomes sqrt(h^2 + sum_j c_j^2 further_j^2), but extends no further than the
  /// prior's. The p-value is at most 0.05 exactly if the interval excludes 0. Throws BadInput if c
  /// has another length.
  [[nodiscard]] EffectEstimate combination(std::span<const double> c) const;
};

/// Finds effects that the release cannot tell from those of other columns: columns that determine
/// each other, or nearly. It uses the estimates' numbers alone. The constructor takes O(n^3) time
/// for n coefficients.
class Collinearity {
 public:
  explicit Collinearity(const Estimates& estimates);
  /// True if c . theta, for c [K x d], is collinear, which needs two things. Its variance would
  /// fall to at most 1/12 if the coefficients of the other columns were known. And at least 0.4 of
  /// the prior's variance is left along the combination by which the others make up for it.
  [[nodiscard]] bool holds(std::span<const double> c) const;

 private:
  std::size_t size_, features_;
  std::vector<double> covariance_, information_;  // [n x n] by rows, of theta's posterior
  std::vector<double> prior_precision_;           // [n]
};

/// Weights [count] for averaging the levels of a category, from feature `first` on. They are the
/// levels' released shares among `means` [d], with negative shares taken as 0, and add up to 1. All
/// weights are equal if no share is above 0 or `means` is empty.
std::vector<double> level_weights(std::span<const double> means, std::size_t first,
                                  std::size_t count);

/// The combination c [K x d] for feature j of `schema` (`feature_effect`), or for a level against
/// another level of its column, both as places of features [0, d). k is the class, for several
/// classes.
std::vector<double> feature_combination(const Estimates& estimates, const Schema& schema,
                                        std::size_t j, std::size_t k = 0);
std::vector<double> level_combination(const Estimates& estimates, const Schema& schema,
                                      std::size_t level, std::size_t reference, std::size_t k = 0);

/// Estimate of the effect of feature j of `schema`, for class k of several. A number counts over
/// its whole range, a level against the mean of its column's levels by their released shares. The
/// constant is for all levels at that mean and all numbers at the low end of their range. Throws
/// BadInput if the schema has another number of features.
EffectEstimate feature_effect(const Estimates& estimates, const Schema& schema, std::size_t j,
                              std::size_t k = 0);
}  // namespace gibbsite
