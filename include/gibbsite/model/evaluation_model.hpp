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

/// The bins that cut predicted probabilities. With several classes, the probability of the
/// likeliest class is cut.
struct EvaluationBins {
  std::vector<double> edges;  ///< [bins - 1] ascending, in (0, 1]: a bin has its lower end
  double threshold = 0.5;     ///< of two classes: the least probability of the positive class

  [[nodiscard]] std::size_t bins() const { return edges.size() + 1; }
  /// The cell that a row counts in: 2 * bin + 1 if its label is positive (several classes: if the
  /// likeliest class is the label), else 2 * bin. Any probability has a bin.
  [[nodiscard]] std::uint32_t cell(double probability, bool found) const;
  /// The first bin whose rows are predicted positive.
  [[nodiscard]] std::size_t first_positive() const;
  /// The ends [low, high] of a bin.
  [[nodiscard]] std::array<double, 2> ends(std::size_t bin) const;
  /// Throws BadInput that names `edges` or `threshold`. Edges must ascend and be in (0, 1]. A
  /// threshold above 0 must be an edge, and must not be within 1e-6 of 0 or 1 without being it.
  void validate() const;
};

/// Bins with edges at low + (1 - low) sin^2(pi i/(2 bins)), rounded to four decimals; low is 0 for
/// two classes, else 1/classes. They are finer where a probability's own spread is smaller. With
/// two classes the nearest edge is moved to the threshold, so that accuracy is a sum of cells.
/// Throws BadInput if `bins` or `threshold` is out of range.
EvaluationBins evaluation_bins(std::uint64_t bins, std::size_t classes, double threshold);
/// The default number of bins, from public numbers: the largest even one from 10 to 40 that keeps
/// the noise in accuracy small. Noise of standard deviation `deviation` in a count then moves
/// accuracy by at most 0.4 points, 95 % of the time.
std::uint64_t default_evaluation_bins(std::uint64_t rows, double deviation);

/// The released evaluation, without its certificate.
struct EvaluationModel {
  Schema schema;         ///< the model's: rows were read by it
  std::string of;        ///< certificate.digest of the model's file
  bool of_void = false;  ///< that model carries no guarantee
  EvaluationBins bins;
  std::optional<std::uint64_t> rows;  ///< n where it is public
  std::vector<double> counts;         ///< noisy [2 * bins], by EvaluationBins::cell
  double noise = 0;                   ///< deviation of a count
  std::uint64_t rows_per_person = 1;  ///< at most; they may be alike

  [[nodiscard]] bool several() const { return is<Classes>(schema.label); }
};

/// A share with its 95 % interval; the value is NaN if the noise leaves nothing to say.
struct NoisyShare {
  double value = 0, low = 0, high = 1;
};

/// Figures of the population that rows were drawn from independently. Their 95 % intervals count
/// the noise and the sampling of people. They are computed from the released counts alone.
struct EvaluationFigures {
  double rows = 0, rows_deviation = 0;  ///< n, exact where it is public
  NoisyShare accuracy;
  std::vector<double> bin_rows;  ///< [bins] noisy; of deviation bin_rows_deviation
  double bin_rows_deviation = 0;
  /// [bins] Share of the positive class; with several classes, the share predicted right. NaN if a
  /// bin's rows may be noise alone.
  std::vector<NoisyShare> found;

  // Figures of two classes.
  NoisyShare positives;
  /// Area under the ROC curve of probabilities cut to their bins; ties count one half.
  NoisyShare auc;
  /// Estimate, from noisy counts, of how far `auc` may be from that of probabilities that are not
  /// cut.
  double auc_hidden = 0;
  std::array<NoisyShare, 2> recall, precision;  ///< of the negative, of the positive class
  std::vector<NoisyShare> true_positive, false_positive;  ///< [edges] predicted from that edge on
};
EvaluationFigures figures(const EvaluationModel& model);

}  // namespace gibbsite
