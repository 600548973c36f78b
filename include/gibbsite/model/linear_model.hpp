#pragma once
// A fitted model: coefficients and what predicting with them needs.
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gibbsite/model/estimates.hpp"
#include "gibbsite/model/schema.hpp"

namespace gibbsite {

/// What logistic models of `whitened` hold in files of gibbsite-release/2, whose fits clipped each
/// row's slope: the probability follows from the score z and the row's cap. New models have none.
struct LegacyCappedLink {
  double clip = 0;             ///< C
  std::vector<double> metric;  ///< P [d x d] row-major, to seven digits
};
/// min(1, C/norm), norm = ||P^T x||; 1 for a row of norm 0.
double cap_of(double clip, double norm);
/// P(y = +1) by a LegacyCappedLink, of a row with that cap. Rises with the score z: the losing
/// side has s = sigmoid(-|z|) where neither side is capped, s/(cap + s) where the winning one is.
double capped_probability(double z, double cap);

/// A noisy answer about the private rows that a model follows from.
struct NoisyAnswer {
  std::string question;  ///< "moments", "gradient" or "curvature"
  double clip = 0;       ///< of a row's part; 0: bounded by itself
  double deviation = 0;  ///< of the noise in it; off a diagonal over sqrt(2)
  /// Where it was asked: P [d x k] of moments, omega [K x k] of gradients, with P the last before;
  /// k is of `contrast_basis` (model/contrasts.hpp).
  std::vector<double> at;
  std::vector<double> values;  ///< lower triangle [k (k + 1)/2] by rows, a vector [K x k], a number
};

/// What files of gibbsite-release/2 may hold: errors of the same mechanism on rows and labels that
/// were made from the released numbers. Intervals made of them held less often than they said, so
/// nothing shows them any more. New models have Estimates in their place.
struct Intervals {
  static constexpr double level = 0.95;
  static constexpr std::size_t replicas = 24;
  static constexpr double multiplier = 2.0639;  ///< Student's t, 24 degrees of freedom, 97.5 %

  std::vector<std::vector<double>> errors;  ///< [replicas][d]

  /// Root mean square of what `of` makes of each replica's errors [d]: bias is in it.
  template <class Of>
  [[nodiscard]] double deviation(const Of& of) const {
    double sum = 0;
    for (const auto& error : errors) {
      const double value = of(error);
      sum += value * value;
    }
    return std::sqrt(sum / static_cast<double>(errors.size()));
  }
  /// The standard deviation of coefficient j.
  [[nodiscard]] double deviation(std::size_t j) const {
    return deviation([j](const std::vector<double>& error) { return error[j]; });
  }
  /// Half the width of the interval about coefficient j.
  [[nodiscard]] double half_width(std::size_t j) const { return multiplier * deviation(j); }
};

/// Coefficients and the whole schema: what predicting needs. Says nothing about privacy.
struct LinearModel {
  std::string loss;
  Schema schema;
  std::vector<std::vector<double>> draws;            ///< [draws][d]; of K classes [draws][K x d]
  std::optional<LegacyCappedLink> legacy_link = {};  ///< of files of format 2 alone
  std::vector<NoisyAnswer> answers = {};             ///< released on request
  std::optional<Intervals> intervals = {};           ///< of files of format 2 alone
  std::optional<Estimates> estimates = {};           ///< asked for on request
  /// [d] answered means of the features, so shares of levels; empty where moments were not asked.
  std::vector<double> feature_means = {};
};

/// Answered means of the features [d], those of the estimates where there are some; empty where the
/// model has none.
std::span<const double> feature_means_of(const LinearModel& model);

/// Names of a draw's coefficients: the schema's features; of several classes "CLASS: feature", one
/// class after the other.
std::vector<std::string> coefficient_names(const Schema& schema);
/// Those of class k in a draw [K x d] of a model of several classes, or all of another's draw: [d].
std::span<const double> coefficients_of(const Schema& schema, std::span<const double> theta,
                                        std::size_t k);

/// Coefficients in the units of the original columns, valid for rows that are not scaled down: of
/// log-odds, of an amount in its own unit, of the log of a mean count, of a class's z.
struct OriginalUnits {
  double intercept = 0;
  std::vector<std::pair<std::string, double>> slopes;  ///< per number column, or per level
  bool exact = false;  ///< no row can be clipped, so it holds for every row
};
/// `theta` [d]. Throws BadInput on another length.
OriginalUnits original_units(const LinearModel& model, std::span<const double> theta);

}  // namespace gibbsite
