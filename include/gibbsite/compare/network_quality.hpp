#pragma once
// How near a released network is to a table. Private: every figure reads the rows and no
// certificate covers it; for the curator.
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gibbsite/core/random.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/model/network_model.hpp"
#include "gibbsite/release/predict.hpp"

namespace gibbsite {

/// Total variation distance 1/2 sum |p - q| between the table's shares of two columns' levels and a
/// model's; of one column if `first` = `second`.
struct MarginalDistance {
  std::uint32_t first = 0, second = 0;
  double network = 0;
  /// The distance for the product of the table's own shares, which independent columns without
  /// noise would give. 0 for one column.
  double independent = 0;
};

struct NetworkQuality {
  std::uint64_t rows = 0;
  std::vector<MarginalDistance> one;  ///< [K]
  std::vector<MarginalDistance> two;  ///< [K (K - 1)/2] pairs, the first before the second
  double one_mean = 0, two_mean = 0, two_mean_independent = 0;
  /// Mean log P(row) in nats over the rows that the network gives a probability above 0, with P
  /// averaged over draws. NaN if there is no such row.
  double log_likelihood = 0;
  /// That mean over the same rows for independent columns with the table's own shares.
  double log_likelihood_independent = 0;
  std::uint64_t impossible_rows = 0;  ///< rows that the network gives probability 0
};
/// How close a network is to a table, which was read through the model's schema. The network's
/// marginals are exact (`joint`), not those of a sample. Throws BadInput on no rows, another
/// schema's rows, and as `joint`. Throws Interrupted if `stop` is set.
NetworkQuality network_quality(const NetworkModel& model, const Dataset& data,
                               const std::atomic<bool>* stop = nullptr);

/// Scores of a classifier of one column by all others, on held-out rows of the table.
struct SyntheticClassifier {
  std::string target, positive;  ///< its level against all others
  std::uint64_t training_rows = 0, held_out_rows = 0;
  Evaluation synthetic;  ///< trained on as many rows drawn from the network
  Evaluation real;       ///< trained on the table's other rows; NOT PRIVATE
};
/// Compares logistic regressions (`non_private_fit`) that were trained on synthetic rows and on the
/// table's rows, of which a share of 0.3 is held out. `target` is a category; the positive level is
/// the second of two, or the first of more. Throws BadInput if it is no category, or there are more
/// features than are fitted.
SyntheticClassifier synthetic_classifier(const NetworkModel& model, const Dataset& data,
                                         const std::string& target, std::uint64_t seed = 1);

}  // namespace gibbsite
