#pragma once
// A model's released evaluation: noisy counts of held-out rows by probability and class, and the
// figures that follow from them alone (docs/theory/evaluation.md).
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gibbsite/model/schema.hpp"

namespace gibbsite {

inline constexpr std::uint64_t least_evaluation_bins = 10, most_evaluation_bins = 100;

/// Where probabilities are cut. Of several classes it is the probability of the likeliest class
/// that is cut.
struct EvaluationBins {
  std::vector<double> edges;  ///< [bins - 1] ascending, in (0, 1]: a bin has its lower end
  double threshold = 0.5;     ///< of two classes: the least probability of the positive class

  [[nodiscard]] std::size_t bins() const { return edges.size() + 1; }
  /// The cell that a row counts in: 2 * bin + 1 if its label is positive (several classes: if the
  /// likeliest class is the label), else 2 * bin. Any probability has a bin.
  [[nodiscard]] std::uint32_t cell(double probability, bool found) const;
  /// The first bin whose rows are predicted positive.
  [[nodiscard]] std::size_t first_positive() const;
  /// [low, high] of a bin of a model of `classes` classes.
  [[nodiscard]] std::array<double, 2> ends(std::size_t bin) const;
  /// Throws BadInput naming `edges` or `threshold`: edges that do not rise, or out of range; a
  /// threshold above 0 that is no edge, or within 1e-6 of 0 or 1 without being it.
  void validate() const;
};

/// Edges at low + (1 - low) sin^2(pi i/(2 bins)), low = 1/classes of several classes and 0 of two:
/// finer where a probability's own spread is smaller; to four decimals. Of two classes the nearest
/// edge is moved to the threshold, so that accuracy is a sum of cells. Throws BadInput on a number
/// of bins or a threshold that is out of range.
EvaluationBins evaluation_bins(std::uint64_t bins, std::size_t classes, double threshold);
/// From public numbers: the most bins, even, from 10 to 40, for which noise of that deviation in a
/// count moves accuracy by two fifths of a point at most, 95 % of the time.
std::uint64_t default_evaluation_bins(std::uint64_t rows, double deviation);

/// What is released. Says nothing about privacy.
struct EvaluationModel {
  Schema schema;         ///< the model's: rows were read by it
  std::string of;        ///< certificate.digest of the model's file
  bool of_void = false;  ///< that model carries no guarantee
  EvaluationBins bins;
  std::optional<std::uint64_t> rows;  ///< n where it is public
  std::vector<double> counts;         ///< noisy [2 * bins], by EvaluationBins::cell
  double noise = 0;                   ///< deviation of a count
  std::uint64_t rows_per_person = 1;  ///< at most; they may be alike

  [[nodiscard]] bool several() const { return schema.label_kind == LabelKind::classes; }
};

/// A share with its 95 % interval; NaN where the noise leaves nothing to say.
struct NoisyShare {
  double value = 0, low = 0, high = 1;
};

/// Figures of the population that rows were drawn from independently, with intervals of 95 % that
/// count the noise and the people's sampling. The released counts are all that they are made from.
struct EvaluationFigures {
  double rows = 0, rows_deviation = 0;  ///< n, exact where it is public
  NoisyShare accuracy;
  std::vector<double> bin_rows;  ///< [bins] noisy; of deviation bin_rows_deviation
  double bin_rows_deviation = 0;
  /// [bins] of the positive class; of several: right. NaN where its rows may be noise alone.
  std::vector<NoisyShare> found;

  // Figures of two classes.
  NoisyShare positives;
  /// Area under the ROC curve of probabilities cut to their bins; ties count one half.
  NoisyShare auc;
  /// About how much it may differ from that of whole probabilities: an estimate by noisy counts.
  double auc_hidden = 0;
  std::array<NoisyShare, 2> recall, precision;  ///< of the negative, of the positive class
  std::vector<NoisyShare> true_positive, false_positive;  ///< [edges] predicted from that edge on
};
EvaluationFigures figures(const EvaluationModel& model);

}  // namespace gibbsite
