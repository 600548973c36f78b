#include "data/number_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "data/clip.hpp"
#include "machine/instructions.hpp"
#include "model/column_type.hpp"

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
    if (!hn::AllTrue(d, finite)) found |= NumberRows::special;
    for (size_t mark = j; mark < of.missing.size(); mark += of.lo.size())
      if (!hn::AllFalse(d, hn::Eq(value, hn::LoadU(d, of.missing.data() + mark))))
        found |= NumberRows::special;
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

#if HWY_TARGET != HWY_SCALAR
/// Doubles scaled; what is outside of the range becomes the end that it is nearer to and is
/// counted. `unfit` is 0 as long as values are finite.
template <class D, class V>
HWY_INLINE hn::Vec<hn::Rebind<float, D>> ScaleVector(D d, V value, const double* of, V& unfit,
                                                     hn::Vec<hn::RebindToUnsigned<D>>& clamped) {
  const hn::RebindToUnsigned<D> du;
  const auto lo = hn::Set(d, of[0]);
  const auto inside = hn::Min(hn::Max(value, lo), hn::Set(d, of[1]));
  unfit = hn::MulAdd(value, hn::Zero(d), unfit);
  // A mask is -1 where it holds.
  clamped = hn::Sub(clamped, hn::BitCast(du, hn::VecFromMask(d, hn::Ne(inside, value))));
  return hn::DemoteTo(hn::Rebind<float, D>(), hn::Div(hn::Sub(inside, lo), hn::Set(d, of[2])));
}

/// Whole vectors of the first rows of ScaleColumns; returns how many rows.
template <class T>
size_t ScaleVectors(const NumberRows::Columns& in, size_t rows, float* HWY_RESTRICT out,
                    size_t stride, uint64_t* HWY_RESTRICT clamped, bool& fits) {
  constexpr size_t wide = NumberRows::Columns::most;
  // `lanes` rows at a time: a vector of floats of each column, which are two of doubles.
  const hn::CappedTag<float, NumberRows::most_lanes> df;
  const hn::Half<decltype(df)> dh;
  const hn::Rebind<double, decltype(dh)> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::Repartition<uint64_t, decltype(df)> d2;
  const size_t lanes = hn::Lanes(df), half = hn::Lanes(d);
  auto unfit = hn::Zero(d);
  auto found = hn::Lt(unfit, unfit);
  auto n0 = hn::Zero(du), n1 = n0, n2 = n0, n3 = n0;
  const auto column = [&](size_t c, size_t i, auto& count) HWY_ATTR {
    const T* const at = static_cast<const T*>(in.values[c]) + i;
    const auto a = LoadDoubles(d, at), b = LoadDoubles(d, at + half);
    if (in.any_missing) {
      const auto missing = hn::Set(d, in.of[c][3]);
      found = hn::Or(found, hn::Or(hn::Eq(a, missing), hn::Eq(b, missing)));
    }
    const auto lower = ScaleVector(d, a, in.of[c], unfit, count),
               upper = ScaleVector(d, b, in.of[c], unfit, count);
    return hn::Add(hn::Combine(df, upper, lower), hn::Zero(df));  // 0, never -0
  };
  HWY_ALIGN float side[wide][NumberRows::most_lanes];
  size_t i = 0;
  for (; i + lanes <= rows; i += lanes) {
    const auto c0 = column(0, i, n0), c1 = column(1, i, n1), c2 = column(2, i, n2),
               c3 = column(3, i, n3);
    // Blocks of four lanes are transposed: row 4 b + r is at side[r] + 4 b.
    const auto p = hn::BitCast(d2, hn::InterleaveLower(df, c0, c1)),
               q = hn::BitCast(d2, hn::InterleaveLower(df, c2, c3)),
               u = hn::BitCast(d2, hn::InterleaveUpper(df, c0, c1)),
               v = hn::BitCast(d2, hn::InterleaveUpper(df, c2, c3));
    hn::Store(hn::BitCast(df, hn::InterleaveLower(d2, p, q)), df, side[0]);
    hn::Store(hn::BitCast(df, hn::InterleaveUpper(d2, p, q)), df, side[1]);
    hn::Store(hn::BitCast(df, hn::InterleaveLower(d2, u, v)), df, side[2]);
    hn::Store(hn::BitCast(df, hn::InterleaveUpper(d2, u, v)), df, side[3]);
    float* row = out + i * stride;
    for (size_t r = 0; r < lanes; ++r, row += stride) {
      const float* const from = side[r % wide] + r / wide * wide;
      if (in.count == wide)
        std::memcpy(row, from, wide * sizeof(float));
      else
        for (size_t c = 0; c < in.count; ++c) row[c] = from[c];
    }
  }
  const auto sum = [&](auto n) HWY_ATTR { return hn::GetLane(hn::SumOfLanes(du, n)); };
  const uint64_t counts[wide] = {sum(n0), sum(n1), sum(n2), sum(n3)};
  for (size_t c = 0; c < in.count; ++c) clamped[c] += counts[c];
  fits = hn::AllFalse(d, found) && hn::AllTrue(d, hn::Eq(unfit, hn::Zero(d)));
  return i;
}
#endif

template <class T>
bool ScaleColumns(const NumberRows::Columns& in, size_t rows, float* HWY_RESTRICT out,
                  size_t stride, uint64_t* HWY_RESTRICT clamped) {
  size_t first = 0;
  bool fits = true;
#if HWY_TARGET != HWY_SCALAR
  first = ScaleVectors<T>(in, rows, out, stride, clamped, fits);
#endif
  for (size_t c = 0; c < in.count; ++c) {
    const double lo = in.of[c][0], hi = in.of[c][1], width = in.of[c][2], missing = in.of[c][3];
    for (size_t i = first; i < rows; ++i) {
      const auto value = static_cast<double>(static_cast<const T*>(in.values[c])[i]);
      const double inside = value < lo ? lo : value > hi ? hi : value;
      fits = fits && value - value == 0 && value != missing;
      clamped[c] += inside != value ? 1U : 0U;
      out[i * stride + c] = static_cast<float>((inside - lo) / width) + 0.0F;
    }
  }
  return fits;
}
bool ScaleFloatColumns(const NumberRows::Columns& in, size_t rows, float* out, size_t stride,
                       uint64_t* clamped) {
  return ScaleColumns<float>(in, rows, out, stride, clamped);
}
bool ScaleDoubleColumns(const NumberRows::Columns& in, size_t rows, float* out, size_t stride,
                        uint64_t* clamped) {
  return ScaleColumns<double>(in, rows, out, stride, clamped);
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
HWY_EXPORT(ScaleFloatColumns);
HWY_EXPORT(ScaleDoubleColumns);
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
  return schema.interactions.empty() && std::ranges::none_of(schema.columns, [](const Column& c) {
           return c.type != ColumnType::number && c.type != ColumnType::ignore;
         });
}

NumberRows::NumberRows(const Schema& schema, std::span<const Encoding> encodings)
    : columns_(encodings.size()),
      features_(schema.features()),
      refuses_(schema.invalid == Invalid::refuse),
      intercept_(schema.intercept),
      may_clip_(schema.may_clip()),
      row_norm_(schema.row_norm) {
  force_instructions();  // a library's user may read rows before any backend is made
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  std::size_t marks = 0;
  std::vector<const Encoding*> used;
  for (std::size_t j = 0; j < columns_; ++j) {
    const Encoding& e = encodings[j];
    if (e.type == ColumnType::ignore) continue;
    source_.push_back(j);
    ranges_.lo.push_back(e.lo);
    ranges_.hi.push_back(e.hi);
    ranges_.width.push_back(e.hi - e.lo);
    ranges_.none.push_back(e.middle());
    ranges_.absent.push_back(e.missing == Encoding::none ? e.middle()
                                                         : std::numeric_limits<float>::quiet_NaN());
    nan_missing_.push_back(e.nan_is_missing ? 1 : 0);
    marks = std::max(marks, e.missing_numbers.size());
    used.push_back(&e);
  }
  for (std::size_t k = 0; k < marks; ++k)
    for (const Encoding* const e : used)
      ranges_.missing.push_back(k < e->missing_numbers.size() ? e->missing_numbers[k] : nan);
  if (source_.size() == columns_) source_.clear();
  const auto is_plain = [](const Encoding* e) { return !e->hats && e->missing == Encoding::none; };
  if (std::ranges::all_of(used, is_plain)) return;
  for (const Encoding* const e : used)
    places_.push_back({.first = static_cast<std::uint32_t>(e->first),
                       .missing = static_cast<std::uint32_t>(e->missing),
                       .hats = e->hats});
}

/// The cells of a row that are missing or no number, which were scaled as if they were numbers.
/// False where one is refused.
template <class Number>
bool NumberRows::mend(const Number& number, float* out, Tally& tally) const {
  const Ranges& of = ranges_;
  for (std::size_t j = 0; j < of.lo.size(); ++j) {
    const double value = number(j);
    bool missing = std::isnan(value) && nan_missing_[j] != 0;
    for (std::size_t mark = j; mark < of.missing.size(); mark += of.lo.size())
      missing = missing || value == of.missing[mark];
    if (!missing && std::isfinite(value)) continue;
    if (!missing && refuses_) return false;
    if (value < of.lo[j] || value > of.hi[j]) --tally.clamped[j];
    ++(missing ? tally.cells[j].missing : tally.cells[j].invalid);
    out[j] = missing ? of.absent[j] : of.none[j];
  }
  return true;
}

void NumberRows::begin(Tally& tally) const {
  const std::size_t k = ranges_.lo.size();
  tally.cells.resize(k);
  tally.numbers.resize(source_.size());
  tally.scaled.resize(k);
  tally.clamped.assign(k, 0);
}

void NumberRows::end(Tally& tally) const {
  for (std::size_t j = 0; j < ranges_.lo.size(); ++j) tally.cells[j].clamped += tally.clamped[j];
}

template <class T>
bool NumberRows::scale_row(const T* in, float* x, Tally& tally, int& found) const {
  for (std::size_t j = 0; j < source_.size(); ++j)
    tally.numbers[j] = static_cast<double>(in[source_[j]]);
  std::uint64_t* const clamped = tally.clamped.data();
  found = source_.empty() ? number_rows::scale(in, ranges_, x, clamped)
                          : number_rows::scale(tally.numbers.data(), ranges_, x, clamped);
  const auto number = [&](std::size_t j) {
    return static_cast<double>(in[source_.empty() ? j : source_[j]]);
  };
  return (found & special) == 0 || mend(number, x, tally);
}

template <class T>
std::size_t NumberRows::encode(const T* in, std::size_t rows, float* out, Tally& tally) const {
  const std::size_t k = ranges_.lo.size();
  begin(tally);
  std::size_t row = 0;
  for (int found = 0; row < rows; ++row, in += columns_, out += features_) {
    if (!scale_row(in, out, tally, found)) break;
    if (may_clip_ && clip({out, k}, (found & zero) != 0, row_norm_, tally.entries))
      ++tally.clipped_rows;
    if (intercept_) out[k] = 1.0F;
  }
  end(tally);
  return row;
}

template std::size_t NumberRows::encode(const float*, std::size_t, float*, Tally&) const;
template std::size_t NumberRows::encode(const double*, std::size_t, float*, Tally&) const;

template <class T>
std::size_t NumberRows::encode(const T* in, std::size_t rows, CellEncoder::SparseRowsMade& out,
                               Tally& tally) const {
  const std::size_t k = places_.size(), most = 2 * k + 1;
  begin(tally);
  out.sizes.resize(rows);
  out.features.resize(rows * most);
  out.values.resize(rows * most);
  std::uint32_t* feature = out.features.data();
  float* value = out.values.data();
  // What is zero is written, and the next one over it.
  const auto add = [&](std::uint32_t of, float v) {
    *feature = of;
    *value = v;
    const std::size_t kept = v != 0 ? 1 : 0;
    feature += kept;
    value += kept;
  };
  std::size_t row = 0;
  for (int found = 0; row < rows; ++row, in += columns_) {
    if (!scale_row(in, tally.scaled.data(), tally, found)) break;
    float* const first = value;
    for (std::size_t j = 0; j < k; ++j) {
      const Place& place = places_[j];
      const float x = tally.scaled[j];
      if (std::isnan(x)) {
        add(place.missing, 1);
      } else if (place.hats) {
        const Hat hat = place.hats->at(x);
        const auto at = static_cast<std::uint32_t>(place.first + hat.first);
        add(at, hat.value);
        add(at + 1, hat.next);
      } else {
        add(place.first, x);
      }
    }
    if (may_clip_ && clip({first, value}, false, row_norm_, tally.entries)) ++tally.clipped_rows;
    if (intercept_) add(static_cast<std::uint32_t>(features_ - 1), 1);
    out.sizes[row] = static_cast<std::uint64_t>(value - first);
  }
  end(tally);
  return row;
}

template std::size_t NumberRows::encode(const float*, std::size_t, CellEncoder::SparseRowsMade&,
                                        Tally&) const;
template std::size_t NumberRows::encode(const double*, std::size_t, CellEncoder::SparseRowsMade&,
                                        Tally&) const;

void NumberRows::lay_out(const CellEncoder::SparseRowsMade& made, std::size_t rows,
                         float* out) const {
  std::size_t entry = 0;
  for (std::size_t i = 0; i < rows; ++i, out += features_) {
    std::fill_n(out, features_, 0.0F);
    for (const std::size_t last = entry + made.sizes[i]; entry < last; ++entry)
      out[made.features[entry]] = made.values[entry];
  }
}

/// The factor depends on the entries that are not zero and their order alone, as in a sparse row.
bool NumberRows::clip(std::span<float> row, bool has_zero, double norm, std::vector<float>& room) {
  std::span<const float> entries = row;
  if (has_zero) {
    room.resize(row.size() + NumberRows::most_lanes);
    entries = {room.data(), number_rows::gather(row.data(), row.size(), room.data())};
  }
  const double factor = clip_factor(entries, norm);
  if (factor == 1) return false;
  gibbsite::scale_row(row, factor);
  return true;
}

bool NumberRows::scale(const Columns& columns, std::size_t rows, float* out, std::size_t stride,
                       std::uint64_t* clamped) {
  using namespace number_rows;
  return columns.floats
             ? HWY_DYNAMIC_DISPATCH(ScaleFloatColumns)(columns, rows, out, stride, clamped)
             : HWY_DYNAMIC_DISPATCH(ScaleDoubleColumns)(columns, rows, out, stride, clamped);
}

}  // namespace gibbsite
#endif  // HWY_ONCE
