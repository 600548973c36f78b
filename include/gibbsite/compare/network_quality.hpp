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

/// Total variation 1/2 sum |p - q| between the table's shares of two columns' levels and laws of
/// the same; of one column where `first` = `second`.
struct MarginalDistance {
  std::uint32_t first = 0, second = 0;
  double network = 0;
  /// Distance of the product of the table's own shares: what independent columns would give without
  /// any noise. 0 for one column.
  double independent = 0;
};

struct NetworkQuality {
  std::uint64_t rows = 0;
  std::vector<MarginalDistance> one;  ///< [K]
  std::vector<MarginalDistance> two;  ///< [K (K - 1)/2] pairs, the first before the second
  double one_mean = 0, two_mean = 0, two_mean_independent = 0;
  /// Mean of log P(row) in nats, of the average over draws; -infinity where a row has none.
  double log_likelihood = 0;              ///< mean of the rows that are possible; else no number
  double log_likelihood_independent = 0;  ///< of the table's own shares of each column, same rows
  std::uint64_t impossible_rows = 0;      ///< that the network gives probability 0
};
/// `data` read through the model's schema. The network's marginals are exact (`joint`), not of a
/// sample. Throws BadInput on no rows, another schema's rows, and as `joint`; Interrupted when
/// `stop` is set.
NetworkQuality network_quality(const NetworkModel& model, const Dataset& data,
                               const std::atomic<bool>* stop = nullptr);

/// A classifier of one column by all others, judged on the same rows that were held out.
struct SyntheticClassifier {
  std::string target, positive;  ///< its level against all others
  std::uint64_t training_rows = 0, held_out_rows = 0;
  Evaluation synthetic;  ///< trained on as many rows drawn from the network
  Evaluation real;       ///< trained on the table's other rows; NOT PRIVATE
};
/// Logistic regression (`non_private_fit`) on synthetic rows and on the rows that are not held out,
/// a share of 0.3. `target`: a category; of two levels the second is the positive one, of more the
/// first. Throws BadInput when it is none, or has more features than are fitted.
SyntheticClassifier synthetic_classifier(const NetworkModel& model, const Dataset& data,
                                         const std::string& target, std::uint64_t seed = 1);

}  // namespace gibbsite
