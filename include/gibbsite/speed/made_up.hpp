#pragma once
// A table of any number of rows that is made up to measure with, and kept nowhere.
#include <cstdint>
#include <span>

#include "gibbsite/engine/made_rows.hpp"
#include "gibbsite/model/schema.hpp"

namespace gibbsite {

/// A generated table whose rows follow from (seed, place) alone, by whole numbers, so bits are the
/// same on every machine. Rows are uniform on a cube in the ball of norm 1, with the intercept
/// last, if there is one. Labels -1 and 1 follow the sign of x.w + e with w_j =
/// (-1)^j/sqrt(columns). e is a sum of four uniform numbers of about the same size: three of four
/// labels are the sign of x.w.
class MadeUpTable final : public RowMaker {
 public:
  /// A table of `rows` rows with `features` >= 1 features, the intercept not counted.
  MadeUpTable(std::uint64_t seed, std::uint64_t rows, std::size_t features, bool intercept);

  [[nodiscard]] std::uint64_t rows() const override { return rows_; }
  [[nodiscard]] std::size_t features() const override { return features_ + (intercept_ ? 1 : 0); }
  void make(std::uint64_t first, std::uint64_t last, std::span<float> x,
            std::span<float> y) const override;

  /// The schema of such rows: numbers x1, x2, ... of norm at most 1.
  [[nodiscard]] Schema schema() const;
  /// The cosine between coefficients [features()] and w, the intercept's left out.
  [[nodiscard]] double agreement(std::span<const double> theta) const;

 private:
  std::uint64_t seed_, rows_;
  std::size_t features_;
  bool intercept_;
  float scale_;
};

}  // namespace gibbsite
