#include "data/number_rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "data/clip.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "data/number_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gibbsite::number_rows::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
hn::Vec<D> LoadDoubles(D d, const double* at) {
  return hn::LoadU(d, at);
}
template <class D>
hn::Vec<D> LoadDoubles(D d, const float* at) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), at));
}

/// Scales a row to x [k] and counts what was clamped, infinities too. Returns what it
/// found of `special` and `zero`.
template <class T>
int ScaleRow(const T* HWY_RESTRICT in, const NumberRows::Ranges& of, float* HWY_RESTRICT x,
             uint64_t* HWY_RESTRICT clamped) {
  int found = 0;
  const auto from = [&](auto d, size_t j) {
    const hn::Rebind<float, decltype(d)> df;
    const hn::RebindToUnsigned<decltype(d)> du;
    const auto value = LoadDoubles(d, in + j), lo = hn::LoadU(d, of.lo.data() + j),
               hi = hn::LoadU(d, of.hi.data() + j);
    const auto below = hn::Lt(value, lo), above = hn::Gt(value, hi);
    const auto inside = hn::IfThenElse(below, lo, hn::IfThenElse(above, hi, value));
    // A mask is -1 where it holds.
    const auto changed = hn::BitCast(du, hn::VecFromMask(d, hn::Or(below, above)));
    hn::StoreU(hn::Sub(hn::LoadU(du, clamped + j), changed), du, clamped + j);
    const auto finite = hn::Le(hn::Abs(value), hn::Set(d, std::numeric_limits<double>::max()));
    const auto missing = hn::Eq(value, hn::LoadU(d, of.missing.data() + j));
    if (!hn::AllTrue(d, finite) || !hn::AllFalse(d, missing)) found |= NumberRows::special;
    // + 0: a row's entries that are not kept are 0, never -0.
    const auto scaled =
        hn::Add(hn::DemoteTo(df, hn::Div(hn::Sub(inside, lo), hn::LoadU(d, of.width.data() + j))),
                hn::Zero(df));
    if (!hn::AllFalse(df, hn::Eq(scaled, hn::Zero(df)))) found |= NumberRows::zero;
    hn::StoreU(scaled, df, x + j);
  };
  const hn::ScalableTag<double> d;
  const size_t k = of.lo.size(), lanes = hn::Lanes(d);
  size_t j = 0;
  for (; j + lanes <= k; j += lanes) from(d, j);
  for (; j < k; ++j) from(hn::CappedTag<double, 1>(), j);
  return found;
}
int ScaleFloats(const float* in, const NumberRows::Ranges& of, float* x, uint64_t* clamped) {
  return ScaleRow(in, of, x, clamped);
}
int ScaleDoubles(const double* in, const NumberRows::Ranges& of, float* x, uint64_t* clamped) {
  return ScaleRow(in, of, x, clamped);
}

/// What of x [k] is not zero to `out`, which has room for a whole vector more; returns how many.
size_t Gather(const float* HWY_RESTRICT x, size_t k, float* HWY_RESTRICT out) {
  const hn::CappedTag<float, NumberRows::most_lanes> d;
  const size_t lanes = hn::Lanes(d);
  size_t count = 0, j = 0;
  for (; j + lanes <= k; j += lanes) {
    const auto value = hn::LoadU(d, x + j);
    count += hn::CompressStore(value, hn::Ne(value, hn::Zero(d)), d, out + count);
  }
  for (; j < k; ++j) {
    out[count] = x[j];
    count += x[j] != 0 ? 1U : 0U;
  }
  return count;
}

}  // namespace gibbsite::number_rows::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gibbsite {
namespace number_rows {
HWY_EXPORT(ScaleFloats);
HWY_EXPORT(ScaleDoubles);
HWY_EXPORT(Gather);
namespace {
std::size_t gather(const float* x, std::size_t k, float* out) {
  return HWY_DYNAMIC_DISPATCH(Gather)(x, k, out);
}
int scale(const float* in, const NumberRows::Ranges& of, float* x, std::uint64_t* clamped) {
  return HWY_DYNAMIC_DISPATCH(ScaleFloats)(in, of, x, clamped);
}
int scale(const double* in, const NumberRows::Ranges& of, float* x, std::uint64_t* clamped) {
  return HWY_DYNAMIC_DISPATCH(ScaleDoubles)(in, of, x, clamped);
}
}  // namespace
}  // namespace number_rows

bool NumberRows::fit(const Schema& schema) {
  return std::ranges::none_of(schema.columns,
                              [](const Column& c) { return c.type == ColumnType::category; });
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
    ranges_.lo.push_back(e.lo);
    ranges_.hi.push_back(e.hi);
    ranges_.width.push_back(e.hi - e.lo);
    ranges_.missing.push_back(e.missing_number.value_or(nan));
    nan_missing_.push_back(e.missing_number && std::isnan(*e.missing_number) ? 1 : 0);
  }
  if (source_.size() == columns_) source_.clear();
}

/// The cells of a row that are missing or no number, which were scaled as if they were numbers.
/// False where one is refused.
template <class Number>
bool NumberRows::mend(const Number& number, float* out, Tally& tally) const {
  const Ranges& of = ranges_;
  for (std::size_t j = 0; j < of.lo.size(); ++j) {
    const double value = number(j);
    const bool missing = value == of.missing[j] || (std::isnan(value) && nan_missing_[j] != 0);
    if (!missing && std::isfinite(value)) continue;
    if (!missing && refuses_) return false;
    if (value < of.lo[j] || value > of.hi[j]) --tally.clamped[j];
    ++(missing ? tally.cells[j].missing : tally.cells[j].invalid);
    out[j] = 0.5F;
  }
  return true;
}

template <class T>
std::size_t NumberRows::encode(const T* in, std::size_t rows, float* out, Tally& tally) const {
  const std::size_t k = ranges_.lo.size();
  tally.cells.resize(k);
  tally.numbers.resize(source_.size());
  tally.clamped.assign(k, 0);
  std::size_t row = 0;
  for (; row < rows; ++row, in += columns_, out += features()) {
    for (std::size_t j = 0; j < source_.size(); ++j)
      tally.numbers[j] = static_cast<double>(in[source_[j]]);
    std::uint64_t* const clamped = tally.clamped.data();
    const int found = source_.empty()
                          ? number_rows::scale(in, ranges_, out, clamped)
                          : number_rows::scale(tally.numbers.data(), ranges_, out, clamped);
    const auto number = [&](std::size_t j) {
      return static_cast<double>(in[source_.empty() ? j : source_[j]]);
    };
    if ((found & special) != 0 && !mend(number, out, tally)) break;
    if (may_clip_) clip(out, (found & zero) != 0, tally);
    if (intercept_) out[k] = 1.0F;
  }
  for (std::size_t j = 0; j < k; ++j) tally.cells[j].clamped += tally.clamped[j];
  return row;
}

template std::size_t NumberRows::encode(const float*, std::size_t, float*, Tally&) const;
template std::size_t NumberRows::encode(const double*, std::size_t, float*, Tally&) const;

/// The factor depends on the entries that are not zero and their order alone, as in a sparse row.
void NumberRows::clip(float* row, bool has_zero, Tally& tally) const {
  const std::size_t k = ranges_.lo.size();
  std::span<const float> entries(row, k);
  if (has_zero) {
    tally.entries.resize(k + NumberRows::most_lanes);
    entries = {tally.entries.data(), number_rows::gather(row, k, tally.entries.data())};
  }
  const double factor = clip_factor(entries, row_norm_);
  if (factor == 1) return;
  scale_row({row, k}, factor);
  ++tally.clipped_rows;
}

}  // namespace gibbsite
#endif  // HWY_ONCE
