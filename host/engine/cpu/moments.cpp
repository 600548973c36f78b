#include "engine/cpu/moments.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "engine/clip.hpp"
#include "engine/cpu/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/cpu/moments.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// Once for all instruction sets.
#ifndef GIBBSITE_CPU_MOMENTS_ONCE
#define GIBBSITE_CPU_MOMENTS_ONCE
namespace gibbsite::cpu {
namespace {

// Where a vector of a slot's features lies in a row.
enum SlotKind : std::uint8_t { one_after_another, all_the_same, anywhere };

}  // namespace
}  // namespace gibbsite::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace gibbsite::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Doubles = hn::ScalableTag<double>;
using OneFloat = hn::CappedTag<float, 1>;

constexpr bool many_registers = HWY_MAX_BYTES >= 64;
constexpr size_t panel_vectors = many_registers ? 4 : 2;
constexpr size_t moment_vectors = 2;
constexpr size_t RowsOfTile(size_t vectors) {
  if (!many_registers) return vectors == 1 ? 10 : 6;
  return vectors <= 2 ? 12 : vectors == 3 ? 8 : 6;
}

size_t FloatLanes() { return hn::Lanes(Floats()); }
size_t PanelVectors() { return panel_vectors; }
size_t MomentWidth() { return moment_vectors * hn::Lanes(Doubles()); }

// tile(row) with R rows, then one row at a time.
template <size_t R, class F>
HWY_INLINE void ForEachTile(size_t begin, size_t end, const F& tile) {
  size_t row = begin;
  for (; row + R <= end; row += R) tile.template operator()<R>(row);
  if constexpr (R > 4) {
    for (; row + 4 <= end; row += 4) tile.template operator()<4>(row);
  }
  for (; row < end; ++row) tile.template operator()<1>(row);
}

template <size_t V>
void PanelProducts(const Metric& m, const RowsPart& rows, const float* HWY_RESTRICT panel,
                   size_t column, float* HWY_RESTRICT u) {
  const Floats d;
  const size_t lanes = hn::Lanes(d), width = V * lanes, features = m.features;
  if (rows.x.data == nullptr) {
    const SparseRows& x = rows.entries;
    for (size_t i = 0; i < x.rows; ++i) {
      hn::Vec<Floats> sum[V];
      for (size_t v = 0; v < V; ++v) sum[v] = hn::Zero(d);
      for (std::uint64_t e = x.begin[i]; e < x.begin[i + 1]; ++e) {
        const auto value = hn::Set(d, x.value[e]);
        const float* const p = panel + x.feature[e] * width;
        for (size_t v = 0; v < V; ++v)
          sum[v] = hn::MulAdd(value, hn::LoadU(d, p + v * lanes), sum[v]);
      }
      for (size_t v = 0; v < V; ++v) hn::StoreU(sum[v], d, u + i * m.stride + column + v * lanes);
    }
    return;
  }
  ForEachTile<RowsOfTile(V)>(0, rows.x.rows, [&]<size_t R>(size_t row) HWY_ATTR {
    const float* HWY_RESTRICT x = rows.x.data + row * features;
    hn::Vec<Floats> sum[R][V];
    for (size_t r = 0; r < R; ++r) {
      for (size_t v = 0; v < V; ++v) sum[r][v] = hn::Zero(d);
    }
    for (size_t j = 0; j < features; ++j) {
      hn::Vec<Floats> p[V];
      for (size_t v = 0; v < V; ++v) p[v] = hn::LoadU(d, panel + j * width + v * lanes);
      for (size_t r = 0; r < R; ++r) {
        const auto value = hn::Set(d, x[r * features + j]);
        for (size_t v = 0; v < V; ++v) sum[r][v] = hn::MulAdd(value, p[v], sum[r][v]);
      }
    }
    for (size_t r = 0; r < R; ++r) {
      float* const to = u + (row + r) * m.stride + column;
      for (size_t v = 0; v < V; ++v) hn::StoreU(sum[r][v], d, to + v * lanes);
    }
  });
}

// u = P^T x for a P with few entries.
void EntryProducts(const Metric& m, const RowsPart& rows, float* HWY_RESTRICT u) {
  const Floats d;
  const OneFloat one;
  const hn::RebindToSigned<Floats> places;
  const size_t lanes = hn::Lanes(d);
  for (size_t i = 0; i < rows.size(); ++i) {
    float* HWY_RESTRICT to = u + i * m.stride;
    if (rows.x.data == nullptr) {
      std::fill_n(to, m.stride, 0.0F);
      const SparseRows& x = rows.entries;
      for (std::uint64_t e = x.begin[i]; e < x.begin[i + 1]; ++e) {
        const auto value = hn::Set(one, x.value[e]);
        for (size_t k = m.begin[x.feature[e]]; k < m.begin[x.feature[e] + 1]; ++k) {
          float* const at = to + m.column[k];
          hn::StoreU(hn::MulAdd(value, hn::LoadU(one, &m.value[k]), hn::LoadU(one, at)), one, at);
        }
      }
      continue;
    }
    const float* HWY_RESTRICT x = rows.x.data + i * m.features;
    for (size_t a = 0; a < m.stride; a += lanes) {
      auto sum = hn::Zero(d);
      for (size_t s = 0; s < m.slots; ++s) {
        const size_t at = s * m.stride + a;
        const std::int32_t* const from = &m.slot_feature[at];
        hn::Vec<Floats> value;
        switch (m.slot_kind[at / lanes]) {
          case one_after_another:
            value = hn::LoadU(d, x + *from);
            break;
          case all_the_same:
            value = hn::Set(d, x[*from]);
            break;
          default:
            value = hn::GatherIndex(d, x, hn::LoadU(places, from));
        }
        sum = hn::MulAdd(value, hn::LoadU(d, &m.slot_value[at]), sum);
      }
      hn::StoreU(sum, d, to + a);
    }
  }
}

void Project(const Metric& m, const RowsPart& rows, float* u) {
  if (m.by_entries) return EntryProducts(m, rows, u);
  const size_t lanes = hn::Lanes(Floats());
  const float* panel = m.panels.data();
  for (size_t column = 0; column < m.stride;) {
    const size_t vectors = std::min(panel_vectors, (m.stride - column) / lanes);
    switch (vectors) {
      case 1:
        PanelProducts<1>(m, rows, panel, column, u);
        break;
      case 2:
        PanelProducts<2>(m, rows, panel, column, u);
        break;
      case 3:
        PanelProducts<std::min<size_t>(3, panel_vectors)>(m, rows, panel, column, u);
        break;
      default:
        PanelProducts<panel_vectors>(m, rows, panel, column, u);
    }
    panel += m.features * vectors * lanes;
    column += vectors * lanes;
  }
}

// sum_a u_a^2, squares exact, in an order that the stride fixes: in 16 sums with AVX2 and AVX-512,
// so that both have the same bits. The stride is a multiple of two vectors, and what is beyond the
// columns is 0, which changes no sum.
HWY_INLINE double Squares(const Metric& m, const float* HWY_RESTRICT u) {
  const Doubles d;
  const hn::Rebind<float, Doubles> half;
  constexpr size_t V = HWY_MAX_BYTES == 32 ? 4 : 2, lanes = hn::MaxLanes(Doubles());
  hn::Vec<Doubles> sum[V];
  for (size_t v = 0; v < V; ++v) sum[v] = hn::Zero(d);
  const auto add = [&](size_t v, size_t a) HWY_ATTR {
    const auto w = hn::PromoteTo(d, hn::LoadU(half, u + a));
    sum[v] = hn::MulAdd(w, w, sum[v]);
  };
  size_t a = 0;
  for (; a + V * lanes <= m.stride; a += V * lanes) {
    for (size_t v = 0; v < V; ++v) add(v, a + v * lanes);
  }
  for (size_t v = 0; a < m.stride; ++v, a += lanes) add(v, a);
  if constexpr (V == 4) {
    sum[0] = hn::Add(sum[0], sum[2]);
    sum[1] = hn::Add(sum[1], sum[3]);
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(sum[0], sum[1])));
}

void FindCaps(const Metric& m, size_t rows, const float* u, const double* w, double clip,
              float largest, float* cap) {
  for (size_t i = 0; i < rows; ++i) {
    const double norm =
        (std::sqrt(Squares(m, u + i * m.stride)) + m.roundings * w[i]) * m.slack + m.underflow;
    cap[i] = w[i] == 0 ? largest : cap_below(clip, norm, largest);
  }
}

void ClipRows(const Metric& m, size_t rows, const float* u, double clip, const RowFactors& of,
              double* v) {
  const Doubles d;
  const hn::Rebind<float, Doubles> half;
  const size_t lanes = hn::Lanes(d);
  const auto least = hn::Set(half, std::numeric_limits<float>::min());
  for (size_t i = 0; i < rows; ++i) {
    const float* const from = u + i * m.stride;
    const float shorter = shrinking(Squares(m, from), m.columns, clip);
    const auto s = hn::Set(half, shared(of.factor == nullptr ? 1 : of.factor[i],
                                        of.share == nullptr ? 1 : of.share[i], shorter));
    for (size_t a = 0; a < m.stride; a += lanes) {
      const auto scaled = hn::Mul(hn::LoadU(half, from + a), s);
      const auto kept = hn::IfThenElseZero(hn::Ge(hn::Abs(scaled), least), scaled);
      hn::StoreU(hn::PromoteTo(d, kept), d, v + i * m.stride + a);
    }
  }
}

// to[r][w] += sum_i left[i][r] right[i][w] over rows > 0 rows.
template <size_t R, size_t V>
HWY_INLINE void MomentsTile(const double* HWY_RESTRICT left, const double* HWY_RESTRICT right,
                            size_t stride, size_t rows, double* HWY_RESTRICT to) {
  const Doubles d;
  const size_t lanes = hn::Lanes(d), width = V * lanes;
  hn::Vec<Doubles> tile[R][V];
  for (size_t r = 0; r < R; ++r) {
    for (size_t w = 0; w < V; ++w) tile[r][w] = hn::LoadU(d, to + r * width + w * lanes);
  }
  const double* const end = left + rows * stride;
  do {
    hn::Vec<Doubles> b[V];
    for (size_t w = 0; w < V; ++w) b[w] = hn::LoadU(d, right + w * lanes);
    for (size_t r = 0; r < R; ++r) {
      const auto a = hn::Set(d, left[r]);
      for (size_t w = 0; w < V; ++w) tile[r][w] = hn::MulAdd(a, b[w], tile[r][w]);
    }
    left += stride;
    right += stride;
  } while (left != end);
  for (size_t r = 0; r < R; ++r) {
    for (size_t w = 0; w < V; ++w) hn::StoreU(tile[r][w], d, to + r * width + w * lanes);
  }
}

void AddMoments(const Metric& m, size_t rows, const double* HWY_RESTRICT v,
                double* HWY_RESTRICT sum) {
  constexpr size_t V = moment_vectors;
  const size_t width = V * hn::Lanes(Doubles()), k = m.columns, stride = m.stride;
  for (size_t column = 0; column < k; column += width) {
    ForEachTile<RowsOfTile(V)>(column, k, [=]<size_t R>(size_t row) HWY_ATTR {
      MomentsTile<R, V>(v + row, v + column, stride, rows, sum + (row - column) * width);
    });
    sum += (k - column) * width;
  }
}

}  // namespace gibbsite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gibbsite::cpu {

HWY_EXPORT(FloatLanes);
HWY_EXPORT(PanelVectors);
HWY_EXPORT(MomentWidth);
HWY_EXPORT(Project);
HWY_EXPORT(FindCaps);
HWY_EXPORT(ClipRows);
HWY_EXPORT(AddMoments);

namespace {

std::size_t rounded_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

}  // namespace

Metric::Metric(MatrixView<const double> P) : features(P.rows), columns(P.cols) {
  const std::size_t d = features, k = columns, lanes = HWY_DYNAMIC_DISPATCH(FloatLanes)();
  stride = rounded_up(k, std::max(lanes, HWY_DYNAMIC_DISPATCH(MomentWidth)()));
  double largest = 0;
  for (std::size_t at = 0; at < d * k; ++at) largest = std::max(largest, std::fabs(P.data[at]));
  exponent = largest == 0 ? 0 : std::ilogb(largest) + 2 + static_cast<int>(std::bit_width(d));

  std::vector<float> rounded(d * k);
  std::vector<std::size_t> entries(k);
  const double least = std::sqrt(static_cast<double>(k)) * 0x1p-126;  // what P lost below floats
  sizes.resize(d);
  begin.assign(1, 0);
  for (std::size_t j = 0; j < d; ++j) {
    bool zero = true;
    for (std::size_t a = 0; a < k; ++a) {
      const double p = std::ldexp(P(j, a), -exponent);
      sizes[j] = std::hypot(sizes[j], p);  // off by an ulp each
      rounded[j * k + a] = static_cast<float>(p);
      if (P(j, a) == 0) continue;
      zero = false;
      ++entries[a];
    }
    if (!zero) sizes[j] += least;
  }
  slots = std::ranges::max(entries);
  const auto m = static_cast<double>(slots);
  // One for the rounding of P, one for second orders.
  roundings = (m + 2) * 0x1p-24 / (1 - (m + 2) * 0x1p-24);
  if (!(roundings >= 0)) roundings = std::numeric_limits<double>::infinity();
  slack = 1 + static_cast<double>(2 * k + d + 16) * 0x1p-52;
  underflow = std::sqrt(static_cast<double>(k)) * (m + 1) * 0x1p-149;

  by_entries = slots <= 2 || 16 * slots <= d;
  if (!by_entries) {
    panels = Aligned<float>(d * stride);
    const std::size_t widest = HWY_DYNAMIC_DISPATCH(PanelVectors)() * lanes;
    float* to = panels.data();
    for (std::size_t first = 0; first < stride; first += widest) {
      const std::size_t width = std::min(widest, stride - first);
      for (std::size_t j = 0; j < d; ++j, to += width) {
        for (std::size_t a = 0; a < width; ++a) {
          to[a] = first + a < k ? rounded[j * k + first + a] : 0.0F;
        }
      }
    }
    return;
  }
  slot_feature.assign(slots * stride, -1);
  slot_value.assign(slots * stride, 0.0F);
  std::ranges::fill(entries, 0);
  for (std::size_t j = 0; j < d; ++j) {
    for (std::size_t a = 0; a < k; ++a) {
      if (P(j, a) == 0) continue;
      column.push_back(static_cast<std::uint32_t>(a));
      value.push_back(rounded[j * k + a]);
      const std::size_t at = entries[a]++ * stride + a;
      slot_feature[at] = static_cast<std::int32_t>(j);
      slot_value[at] = rounded[j * k + a];
    }
    begin.push_back(column.size());
  }
  for (std::size_t at = 0; at < slots * stride; at += lanes) {
    const std::span<std::int32_t> from(&slot_feature[at], lanes);
    std::int32_t first = 0, same = 0;  // of the vector if they lie one after another, or on one
    for (std::size_t l = 0; l < lanes; ++l) {
      if (from[l] < 0) continue;
      first = from[l] - static_cast<std::int32_t>(l);
      same = from[l];
    }
    bool one = first >= 0 && static_cast<std::size_t>(first) + lanes <= d, all = true;
    for (std::size_t l = 0; l < lanes; ++l) {
      if (from[l] < 0) continue;
      one = one && from[l] == first + static_cast<std::int32_t>(l);
      all = all && from[l] == same;
    }
    slot_kind.push_back(one ? one_after_another : all ? all_the_same : anywhere);
    for (std::size_t l = 0; l < lanes; ++l) {
      if (one || all) {
        from[l] = one ? first : same;
      } else {
        from[l] = std::max(from[l], 0);
      }
    }
  }
}

void project(const Metric& metric, const RowsPart& rows, float* u) {
  HWY_DYNAMIC_DISPATCH(Project)(metric, rows, u);
}
void find_caps(const Metric& metric, std::size_t rows, const float* u, const double* w, double clip,
               float largest, float* cap) {
  HWY_DYNAMIC_DISPATCH(FindCaps)(metric, rows, u, w, clip, largest, cap);
}
void clip_rows(const Metric& metric, std::size_t rows, const float* u, double clip,
               const RowFactors& of, double* v) {
  HWY_DYNAMIC_DISPATCH(ClipRows)(metric, rows, u, clip, of, v);
}

std::size_t moments_size(const Metric& metric) {
  const std::size_t width = HWY_DYNAMIC_DISPATCH(MomentWidth)();
  std::size_t size = 0;
  for (std::size_t column = 0; column < metric.columns; column += width) {
    size += (metric.columns - column) * width;
  }
  return size;
}
void add_moments(const Metric& metric, std::size_t rows, const double* v, double* sum) {
  HWY_DYNAMIC_DISPATCH(AddMoments)(metric, rows, v, sum);
}
void unpack_moments(const Metric& metric, const double* sum, MatrixView<double> out) {
  const std::size_t width = HWY_DYNAMIC_DISPATCH(MomentWidth)(), k = metric.columns;
  for (std::size_t column = 0; column < k; column += width) {
    for (std::size_t a = column; a < k; ++a, sum += width) {
      for (std::size_t b = column; b <= std::min(a, column + width - 1); ++b) {
        out(a, b) = out(b, a) = std::ldexp(sum[b - column], 2 * metric.exponent);
      }
    }
  }
}

}  // namespace gibbsite::cpu
#endif  // HWY_ONCE
