#pragma once
// What a budget buys in terms of the model: measured, for people; no guarantee rests on it
// (docs/theory/whitened.md, "What a budget buys").
#include <string>

#include "gibbsite/core/problem.hpp"
#include "gibbsite/mechanism/mechanism.hpp"
#include "gibbsite/privacy/guarantee.hpp"

namespace gibbsite {

/// Deviation of an ordinary feature: a number that is spread evenly over its range has 0.29, a
/// level that a tenth of the rows has 0.3.
inline constexpr double ordinary_spread = 0.3;

/// What has a coefficient: "108 features", of several outputs "3 classes x 4 features".
std::string coefficients_words(const Problem& problem);

/// N/d: rows in units of the noise that hides one of them, n mu/k under replace-one and 2 n mu/k
/// under add-remove, for each feature. `mu` of all that is released.
double signal_per_feature(const Problem& problem, const Neighbors& who, double mu);

/// Whether it is one of those whose fits were measured against N/d.
bool is_measured(const Mechanism& mechanism);

/// Whether few rows tell it more than the others: `whitened` where small budgets have a rule of
/// their own (docs/theory/whitened.md, "Small budgets").
bool learns_from_few(const Mechanism& mechanism, const Problem& problem);

/// The share of what a fit without privacy gains over always naming the commoner class that a fit
/// in a private metric keeps at that N/d, in [0, 1]: the middle of 65 fits of 13 tables; of 28
/// tables whose classes are of like size where it learns `from_few`. `evenness`, of two classes
/// (least_evenness): below 1 it is the share of what the AUC gains over one half, at N/d times the
/// evenness, measured down to a positive class of 0.2 % (experiments/measure-learning).
double kept_share(double signal_per_feature, bool from_few = false, double evenness = 1);

/// Such a share in words: "about 70 %", "next to nothing".
std::string kept_words(double share);

/// How many rows, at the same mu, keep that share; `share` within those that were measured,
/// (0.05, 0.997), else the nearest. Rounded up. `evenness` as of kept_share.
double rows_to_keep(double share, const Problem& problem, const Neighbors& who, double mu,
                    bool from_few = false, double evenness = 1);

/// The deviation that privacy's noise has in a coefficient of `whitened`, as it can be expected of
/// a feature that leans on no other and whose values have that deviation, from public numbers
/// (docs/theory/whitened.md, "What a budget buys"). No bound: features that lean on others have
/// more. `evenness`: least_evenness of two classes, of which a rare one says as much less of a
/// coefficient.
double expected_coefficient_noise(const Whitened& settings, const Problem& problem,
                                  const Neighbors& who, double spread = ordinary_spread,
                                  double evenness = 1);
/// The expected noise of a mechanism; none if nothing is expected beyond coefficient_noise_up.
std::optional<double> expected_coefficient_noise(const Mechanism& mechanism, const Problem& problem,
                                                 const Neighbors& who, double evenness = 1);

/// Half of the narrowest 95 % interval that can be expected of such a feature's effect: privacy's
/// noise and the sample together. Two classes: log-odds. Several: the score of one class against
/// the mean of all. Amounts: in tolerances, where errors are normal and as large as the tolerance.
/// Counts: a log of the mean, where the mean is a tenth of the largest. Features that lean on
/// others, and levels of few rows at small budgets, have wider ones (docs/theory/intervals.md,
/// "What a plan can say beforehand"). Without a column of people the k rows of one are taken for
/// alike. None of a problem that no intervals can be had of.
std::optional<double> expected_half_interval(const Whitened& settings, const Problem& problem,
                                             const Neighbors& who, double spread = ordinary_spread,
                                             double evenness = 1);

}  // namespace gibbsite
