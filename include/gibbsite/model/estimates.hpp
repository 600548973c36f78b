#pragma once
// Estimates of a model's coefficients with their uncertainty, from released answers alone
// (docs/theory/intervals.md). Nothing here reads a row.
#include <cstddef>
#include <span>
#include <vector>

#include "gibbsite/model/schema.hpp"

namespace gibbsite {

/// What is known of one linear combination c . theta of coefficients.
struct EffectEstimate {
  double estimate = 0;        ///< in log-odds (of amounts and counts: in units of the score z)
  double standard_error = 0;  ///< square root of the posterior variance
  double lower = 0;           ///< end of the 95 % interval
  double upper = 0;           ///< end of the 95 % interval
  double p_value = 1;         ///< two-sided, of "the effect is 0": what follows from the interval
  /// Whether the noise hides it: the interval is hardly narrower than what the prior alone says.
  bool hidden = false;
  /// Whether the table cannot tell it from effects of other columns (`Collinearity`).
  bool collinear = false;
};

/// Posterior of the coefficients that the same model has without noise and without a strong prior:
/// a mixture of normals that share one covariance. Coefficients are those of the encoded features
/// (numbers scaled to [0, 1], a 0/1 feature for each level), theta [K x d].
struct Estimates {
  static constexpr double level = 0.95;

  std::vector<double> weights;             ///< [m], add up to 1; one for a normal
  std::vector<std::vector<double>> means;  ///< [m][K x d]
  std::vector<double> covariance;          ///< [Kd (Kd + 1)/2] lower triangle by rows
  std::vector<double> prior_deviation;     ///< [K x d] of the prior; infinite for the constant
  std::vector<double> feature_means;       ///< [d] answered means of the features: of levels shares
  std::vector<double> feature_deviations;  ///< [d] answered standard deviations of the features
  /// [K x d] or empty: by how much further the half of an interval reaches than the normal one, in
  /// quadrature and for 1 of the coefficient, above and below it. Rows that carry one effect
  /// saturate together: what is known of their probability says little of their log-odds.
  std::vector<double> further_above, further_below;

  /// The combination c . theta, c [K x d]: the mean of the mixture and its quantiles; each half of
  /// the interval h becomes sqrt(h^2 + sum_j c_j^2 further_j^2), but reaches no further than the
  /// prior's. The p-value is at most 0.05 exactly where the interval does not hold 0. `hidden`: at
  /// least half of the prior's variance is left. Throws BadInput on another length.
  [[nodiscard]] EffectEstimate combination(std::span<const double> c) const;
};

/// Which effects the table cannot tell from those of other columns, as far as the release says: two
/// columns that determine each other, or nearly. It follows from the estimates' numbers alone.
/// Takes O(n^3) time of n coefficients once.
class Collinearity {
 public:
  explicit Collinearity(const Estimates& estimates);
  /// Whether c . theta, c [K x d], would be known with at most 1/12 of its variance if the other
  /// columns' coefficients were known, and nothing but the prior says how it is split between them:
  /// along the combination by which the others make up for it, at least 0.4 of the prior's variance
  /// is left.
  [[nodiscard]] bool holds(std::span<const double> c) const;

 private:
  std::size_t size_, features_;
  std::vector<double> covariance_, information_;  // [n x n] by rows, of theta's posterior
  std::vector<double> prior_precision_;           // [n]
};

/// Weights by which `count` levels of a category, from feature `first` on, are averaged [count]:
/// their answered shares among `means` [d], those below 0 counting as 0, so that they add up to 1;
/// all the same where no share is above 0 or `means` is empty.
std::vector<double> level_weights(std::span<const double> means, std::size_t first,
                                  std::size_t count);

/// The combination c [K x d] that stands for feature j of `schema` (`feature_effect`), and for a
/// level against another one of its column (`level_against`).
std::vector<double> feature_combination(const Estimates& estimates, const Schema& schema,
                                        std::size_t j, std::size_t k = 0);
std::vector<double> level_combination(const Estimates& estimates, const Schema& schema,
                                      std::size_t level, std::size_t reference, std::size_t k = 0);

/// What is printed for feature j of `schema` (of class k of several): a number over its whole
/// range, a level against the mean of its column's levels weighted by their answered shares, the
/// constant with all levels at that mean and all numbers at the low end of their range.
/// Throws BadInput where the schema has another number of features.
EffectEstimate feature_effect(const Estimates& estimates, const Schema& schema, std::size_t j,
                              std::size_t k = 0);
/// A level against another one of the same column, by their features.
EffectEstimate level_against(const Estimates& estimates, const Schema& schema, std::size_t level,
                             std::size_t reference, std::size_t k = 0);

}  // namespace gibbsite
