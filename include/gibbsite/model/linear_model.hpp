#pragma once
// A fitted model: coefficients and what predicting with them needs.
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gibbsite/model/bought_schema.hpp"
#include "gibbsite/model/estimates.hpp"
#include "gibbsite/model/schema.hpp"

namespace gibbsite {

/// The link of logistic models of `whitened` in files of gibbsite-release/2, whose fits clipped
/// each row's slope. The probability follows from the score z and the row's cap. New models have no
/// such link.
struct LegacyCappedLink {
  double clip = 0;             ///< C
  std::vector<double> metric;  ///< P [d x d] row-major, to seven digits
};
/// The cap of a row: min(1, clip/norm) with norm = ||P^T x||; 1 for a row of norm 0.
double cap_of(double clip, double norm);
/// P(y = +1) by a LegacyCappedLink at the score z of a row with this cap; it rises with z. The
/// losing side has s = sigmoid(-|z|) if neither side is capped, and s/(cap + s) if the winning one
/// is.
double capped_probability(double z, double cap);

/// A released noisy answer about the private rows; a model is computed from such answers.
struct NoisyAnswer {
  std::string question;  ///< "moments", "gradient" or "curvature"
  double clip = 0;       ///< of a row's part; 0: bounded by itself
  double deviation = 0;  ///< of the noise in it; off a diagonal over sqrt(2)
  /// Where the question was asked: P [d x k] for moments, omega [K x k] for gradients, which also
  /// use the last P before. k is the number of coordinates of `contrast_basis`
  /// (model/contrasts.hpp).
  std::vector<double> at;
  std::vector<double> values;  ///< lower triangle [k (k + 1)/2] by rows, a vector [K x k], a number
};

/// Replicas of a fit in files of gibbsite-release/2: errors of the mechanism on rows and labels
/// made from released numbers. Their intervals held less often than they said, so nothing shows
/// them any more. New models have Estimates instead.
struct Intervals {
  static constexpr double level = 0.95;
  static constexpr std::size_t replicas = 24;
  static constexpr double multiplier = 2.0639;  ///< Student's t, 24 degrees of freedom, 97.5 %

  std::vector<std::vector<double>> errors;  ///< [replicas][d]

  /// Root mean square of of(errors [d]) over the replicas; bias is included.
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

/// Coefficients and the schema that predicting needs, without a certificate.
struct LinearModel {
  std::string loss;
  Schema schema;
  std::vector<std::vector<double>> draws;            ///< [draws][d]; of K classes [draws][K x d]
  std::optional<LegacyCappedLink> legacy_link = {};  ///< of files of format 2 alone
  std::vector<NoisyAnswer> answers = {};             ///< released on request
  std::optional<Intervals> intervals = {};           ///< of files of format 2 alone
  std::optional<Estimates> estimates = {};           ///< asked for on request
  /// [d] Released means of the features, which are shares for levels; empty if moments were not
  /// asked.
  std::vector<double> feature_means = {};
  /// The answers that the schema follows from, if it was bought with the model.
  std::optional<BoughtSchema> bought = {};
};

/// Released means of the features [d], those of the estimates if there are some; empty if the model
/// has none.
std::span<const double> feature_means_of(const LinearModel& model);

/// Names of a draw's coefficients [K x d]: the schema's features, with several classes "CLASS:
/// feature", class after class.
std::vector<std::string> coefficient_names(const Schema& schema);
/// The coefficients [d] of class k in a draw theta [K x d]; all of theta for a model of one output.
std::span<const double> coefficients_of(const Schema& schema, std::span<const double> theta,
                                        std::size_t k);

/// Coefficients in the units of the original columns, valid for rows that are not scaled down. They
/// are log-odds, an amount in its own unit, the log of a mean count, or a class's z.
struct OriginalUnits {
  double intercept = 0;
  std::vector<std::pair<std::string, double>> slopes;  ///< per number column, or per level
  bool exact = false;  ///< no row can be clipped, so it holds for every row
};
/// Converts theta [d] to the units of the original columns. Throws BadInput if it has another
/// length.
OriginalUnits original_units(const LinearModel& model, std::span<const double> theta);

}  // namespace gibbsite
