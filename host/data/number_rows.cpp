#include "data/number_rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gibbsite {

bool NumberRows::fit(const Schema& schema) {
  return std::ranges::none_of(
      schema.columns, [](const Column& c) { return c.type == ColumnType::category; });
}

NumberRows::NumberRows(const Schema& schema, std::span<const Encoding> encodings)
    : columns_(encodings.size()),
      refuses_(schema.invalid == Invalid::refuse),
      intercept_(schema.intercept),
      may_clip_(schema.max_unclipped_norm() > schema.row_norm),
      row_norm_(schema.row_norm) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (std::size_t j = 0; j < columns_; ++j) {
    const Encoding& e = encodings[j];
    if (e.type == ColumnType::ignore) continue;
    source_.push_back(j);
    lo_.push_back(e.lo);
    hi_.push_back(e.hi);
    width_.push_back(e.hi - e.lo);
    missing_.push_back(e.missing_number.value_or(nan));
    nan_missing_.push_back(e.missing_number && std::isnan(*e.missing_number) ? 1 : 0);
  }
  if (source_.size() == columns_) source_.clear();
}

template <class T>
std::size_t NumberRows::encode(const T* in, std::size_t rows, float* out, Tally& tally) const {
  const std::size_t k = lo_.size();
  const double *const lo = lo_.data(), *const hi = hi_.data(), *const width = width_.data(),
               *const missing = missing_.data();
  tally.cells.resize(k);
  tally.numbers.resize(k);
  tally.clamped.assign(k, 0);
  std::uint64_t* __restrict const clamped = tally.clamped.data();
  double* __restrict const numbers = tally.numbers.data();
  std::size_t row = 0;
  for (; row < rows; ++row, in += columns_, out += features()) {
    if (source_.empty())
      for (std::size_t j = 0; j < k; ++j) numbers[j] = static_cast<double>(in[j]);
    else
      for (std::size_t j = 0; j < k; ++j) numbers[j] = static_cast<double>(in[source_[j]]);
    float* __restrict const x = out;
    std::uint64_t special = 0;
    for (std::size_t j = 0; j < k; ++j) {
      const double value = numbers[j];
      const double inside = value < lo[j] ? lo[j] : value > hi[j] ? hi[j] : value;
      clamped[j] += inside != value ? 1U : 0U;
      special |= std::fabs(value) <= std::numeric_limits<double>::max() ? 0U : 1U;
      special |= value == missing[j] ? 1U : 0U;
      // + 0: an entry that is zero is not kept, and a row's other cells are 0, never -0.
      x[j] = static_cast<float>((inside - lo[j]) / width[j]) + 0.0F;
    }
    if (special != 0 && !mend(numbers, x, tally)) break;
    if (may_clip_) clip(x, tally);
    if (intercept_) x[k] = 1.0F;
  }
  for (std::size_t j = 0; j < k; ++j) tally.cells[j].clamped += clamped[j];
  return row;
}

template std::size_t NumberRows::encode(const float*, std::size_t, float*, Tally&) const;
template std::size_t NumberRows::encode(const double*, std::size_t, float*, Tally&) const;

/// The cells of a row that are missing or no number, which the loop above took for numbers. False
/// where one is refused.
bool NumberRows::mend(const double* numbers, float* out, Tally& tally) const {
  for (std::size_t j = 0; j < lo_.size(); ++j) {
    const double value = numbers[j];
    const bool missing = value == missing_[j] || (std::isnan(value) && nan_missing_[j] != 0);
    if (!missing && std::isfinite(value)) continue;
    if (!missing && refuses_) return false;
    // What counts as clamped there does so for every value outside of the range, and for NaN.
    if (!(value >= lo_[j] && value <= hi_[j])) --tally.clamped[j];
    ++(missing ? tally.cells[j].missing : tally.cells[j].invalid);
    out[j] = 0.5F;
  }
  return true;
}

/// The scale depends on the entries that are not zero and their order alone, as in a sparse row.
void NumberRows::clip(float* row, Tally& tally) const {
  const std::size_t k = lo_.size();
  bool zero = false;
  for (std::size_t j = 0; j < k; ++j) zero |= row[j] == 0;
  if (!zero) {
    tally.clipped_rows += clip_row_to_norm({row, k}, row_norm_) ? 1U : 0U;
    return;
  }
  tally.entries.resize(k);
  float* const entries = tally.entries.data();
  std::size_t count = 0;
  for (std::size_t j = 0; j < k; ++j) {
    entries[count] = row[j];
    count += row[j] != 0 ? 1U : 0U;
  }
  if (!clip_row_to_norm({entries, count}, row_norm_)) return;
  ++tally.clipped_rows;
  count = 0;
  for (std::size_t j = 0; j < k; ++j) {
    const bool kept = row[j] != 0;
    row[j] = kept ? entries[count] : 0.0F;
    count += kept ? 1U : 0U;
  }
}

}  // namespace gibbsite
