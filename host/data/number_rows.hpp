#pragma once
// Rows of which every cell is a number, many at a time: loops over arrays, which fill vector
// registers, in place of a call for each cell. The bits and the counts are CellEncoder's.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/encoder.hpp"
#include "gibbsite/model/curve.hpp"
#include "gibbsite/model/schema.hpp"

namespace gibbsite {

class NumberRows {
 public:
  /// Ranges of the columns that are used: ends and hi - lo [columns]; the numbers that are missing
  /// cells, NaN if a column has fewer [most of a column x columns].
  struct Ranges {
    std::vector<double> lo, hi, width, missing;
    std::vector<float> none;    ///< what a cell that is no number is
    std::vector<float> absent;  ///< what a missing cell is; NaN: a "(missing)" feature of its own
  };
  /// In a row: a cell that is missing or not finite; an entry that is zero.
  static constexpr int special = 1, zero = 2;
  /// Lanes of the vectors that rows are gathered with.
  static constexpr std::size_t most_lanes = 16;
  /// Counts of the rows that one thread encoded, and room for one of them.
  struct Tally {
    std::vector<CellCounts> cells;  ///< [columns used]
    std::uint64_t clipped_rows = 0;
    std::vector<float> entries;
    std::vector<double> numbers;
    std::vector<float> scaled;
    std::vector<std::uint64_t> clamped;
  };

  /// Columns of a table that lie side by side in its rows.
  struct Columns {
    static constexpr std::size_t most = 4;
    std::size_t count = 0;
    bool floats = false;         ///< or doubles
    const void* values[most]{};  ///< [rows] of each; beyond `count` those of another
    double of[most][4]{};        ///< ends of its range, hi - lo, and the number that is a missing
                                 ///< cell, or NaN
    bool any_missing = false;    ///< whether there is such a number
  };
  /// Rows of these columns, scaled, to out, out + stride, ... Adds what was clamped to clamped
  /// [count]. Returns false where a cell is missing or not finite: neither then means anything.
  static bool scale(const Columns& columns, std::size_t rows, float* out, std::size_t stride,
                    std::uint64_t* clamped);
  /// Scales a row without its intercept down to the norm; returns whether it was longer. has_zero:
  /// whether it may hold zeros, for which `room` is needed.
  static bool clip(std::span<float> row, bool has_zero, double norm, std::vector<float>& room);

  /// Whether every column is a number or ignored, and none interact.
  static bool fit(const Schema& schema);
  NumberRows(const Schema& schema, std::span<const Encoding> encodings);

  [[nodiscard]] std::size_t columns() const { return columns_; }
  [[nodiscard]] std::size_t features() const { return features_; }
  /// Whether some column has several features, a curve's or a "(missing)" one: then rows are made
  /// as entries.
  [[nodiscard]] bool has_entries() const { return !places_.empty(); }

  /// Rows `in` [rows x columns] to `out` [rows x features], scaled, clipped and with the intercept.
  /// Returns how many came before a cell that the schema refuses: all of them where there is none.
  template <class T>
  std::size_t encode(const T* in, std::size_t rows, float* out, Tally& tally) const;
  /// Likewise what is not zero, in place of what `out` had.
  template <class T>
  std::size_t encode(const T* in, std::size_t rows, CellEncoder::SparseRowsMade& out,
                     Tally& tally) const;
  /// The first of such rows to `out` [rows x features].
  void lay_out(const CellEncoder::SparseRowsMade& made, std::size_t rows, float* out) const;

 private:
  /// Where a column's features are.
  struct Place {
    std::uint32_t first = 0, missing = 0;
    std::optional<Hats> hats;
  };
  /// Numbers of a row to x [columns used], scaled. False where a cell is refused. `found`: zeros.
  template <class T>
  bool scale_row(const T* in, float* x, Tally& tally, int& found) const;
  void begin(Tally& tally) const;
  void end(Tally& tally) const;
  template <class Number>
  bool mend(const Number& number, float* out, Tally& tally) const;

  std::size_t columns_;
  std::vector<std::size_t> source_;  // columns that are used; empty: all
  Ranges ranges_;
  std::vector<Place> places_;  // none where every column has one feature
  std::vector<unsigned char> nan_missing_;
  std::size_t features_;
  bool refuses_, intercept_, may_clip_;
  double row_norm_;
};

}  // namespace gibbsite
