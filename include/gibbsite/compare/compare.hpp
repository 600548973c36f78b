#pragma once
// Plans side by side on held-out rows of one table. Not private: seeded noise, and figures that
// read labels; for tables that are public.
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gibbsite/data/dataset.hpp"
#include "gibbsite/engine/engine.hpp"
#include "gibbsite/mechanism/plan.hpp"
#include "gibbsite/model/linear_model.hpp"
#include "gibbsite/release/predict.hpp"

namespace gibbsite {

/// A split of a table: row numbers, ascending; together they have each row once.
struct Split {
  std::vector<std::size_t> training, held_out;
};
/// Number of held-out rows: round(share * rows). Throws BadInput "NAME: ..." unless 0 < share < 1
/// and a row is left on either side.
std::uint64_t held_out_rows(std::uint64_t rows, double share, std::string_view name = "share");
/// Holds out `held_out` of `rows` rows; over seeds, every set of that size is equally likely. A
/// pure function of its arguments (mt19937_64).
Split split_rows(std::uint64_t rows, std::uint64_t held_out, std::uint64_t seed);

/// Throws BadInput unless the label has two classes: others are not compared.
void require_two_classes(const Schema& schema);

/// The largest number of features of a non-private fit, which is Newton's method on a dense
/// Hessian.
inline constexpr std::uint64_t most_non_private_features = 2000;
/// The ordinary fit, as a yardstick without any privacy: the maximum likelihood estimate with a
/// ridge of 10^-3, just large enough that it exists. None beyond most_non_private_features.
std::optional<LinearModel> non_private_fit(const Dataset& data, std::string_view loss);
/// The ordinary fit on another backend than the reference: the sharded one if ranks have the rows.
std::optional<LinearModel> non_private_fit(const Dataset& data, std::string_view loss,
                                           Backend& backend);

/// One fit and its scores on the held-out rows.
struct Trial {
  std::uint64_t seed = 0;
  Evaluation scores;
  double seconds = 0;  ///< wall time of the fit, on rows that are in memory
};

/// Mean and standard deviation of a figure over trials.
struct Spread {
  double mean = 0;
  double sd = 0;  ///< of the sample, divided by count - 1; NaN for one
};
/// The spread of `values`; NaN if there are none, or one is NaN.
Spread spread_of(std::span<const double> values);

struct Scores {
  Spread accuracy, log_loss, auc, seconds;
};
Scores scores_of(std::span<const Trial> trials);

/// The rows that scores are computed on: a share of the table, drawn anew for each seed. Or another
/// table, the same for each seed; then every row of the first is fitted.
struct HeldOut {
  double share = 0.3;
  const Dataset* table = nullptr;
};

struct CompareOptions {
  std::uint64_t first_seed = 1, seeds = 10;  ///< first_seed, first_seed + 1, ...
  /// Called with (passes done, passes in all, as planned) a few times a second.
  std::function<void(std::uint64_t, std::uint64_t)> progress{};
  const std::atomic<bool>* stop = nullptr;  ///< set by a signal handler
};

struct Comparison {
  std::uint64_t training_rows = 0, held_out_rows = 0;
  std::vector<std::vector<Trial>> of_plans;  ///< [plans][seeds]; empty where a run was infeasible
  std::vector<Message> why;                  ///< [plans] it was; "" elsewhere
  std::vector<Trial> non_private;            ///< [seeds]; empty where there is none
  std::vector<Trial> majority;  ///< [seeds] the share of the training rows' classes for every row
};

/// Compares plans: runs `fit` for each seed and plan on that seed's training rows, and scores it on
/// the held-out rows. All plans are for training_rows rows and a model centered at 0; noise comes
/// from Key::from_seed(seed). Throws BadInput on unlabeled or differently shaped tables, no seeds,
/// and as `fit` and `held_out_rows`. Throws Interrupted if `stop` is set.
Comparison compare(const Dataset& data, const HeldOut& held_out, std::span<const Plan> plans,
                   Backend& backend, const CompareOptions& options);

}  // namespace gibbsite
