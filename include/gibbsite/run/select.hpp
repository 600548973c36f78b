#pragma once
// From sums of rows' scores and a plan to a released choice: the same function picks and certifies.
#include <cstdint>
#include <span>
#include <vector>

#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/mechanism/select.hpp"
#include "gibbsite/model/selection.hpp"
#include "gibbsite/run/fit_options.hpp"

namespace gibbsite {

/// Sums of rows' scores, exact and so the same in any order. As private as the rows.
class ScoreSums {
 public:
  /// There are `candidates` scores a row, which are clamped to [lo, hi].
  ScoreSums(std::size_t candidates, double lo, double hi);
  /// Adds a row [candidates], each score clamped and rounded to 2^-30 of the range; NaN is its
  /// middle.
  void add(std::span<const double> scores);

  [[nodiscard]] std::uint64_t rows() const { return rows_; }
  /// In steps of 2^-30 of the range above lo [candidates].
  [[nodiscard]] const std::vector<std::uint64_t>& steps() const { return steps_; }
  [[nodiscard]] double lo() const { return lo_; }
  [[nodiscard]] double hi() const { return hi_; }

 private:
  double lo_, hi_;
  std::uint64_t rows_ = 0;
  std::vector<std::uint64_t> steps_;
};

/// Picks a candidate by the plan's mechanism and certifies the choice. Void when the key came from
/// a seed. `shape` is the choice without what is chosen. Uses the key up, also when it throws:
/// BadInput where the sums are not of the plan's shape, or on a plan whose numbers do not verify.
/// `ledger` alone of the options is heeded, as by `fit`.
SelectRelease release_selection(const SelectionModel& shape, const ScoreSums& sums,
                                const SelectPlan& plan, Key&& key, const FitOptions& options = {});

}  // namespace gibbsite
