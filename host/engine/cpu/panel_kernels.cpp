// Many chains: lanes run along the chains of a panel.
#include <algorithm>

#include "engine/cpu/kernels.hpp"
#include "engine/cpu/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/cpu/panel_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "engine/cpu/losses-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace gibbsite::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr bool many_registers = HWY_MAX_BYTES >= 64;
constexpr size_t tile_vectors = many_registers ? 4 : 2;
// Rows of a tile of V vectors: the accumulators, V of b and one broadcast fill the registers, and
// there are enough of them to hide the latency of two FMA units.
constexpr size_t RowsOfTile(size_t vectors) {
  if (!many_registers) return vectors == 1 ? 10 : 6;
  return vectors <= 2 ? 12 : vectors == 3 ? 8 : 6;
}

size_t TileVectors() { return tile_vectors; }

void Widen(std::span<const float> x, double* HWY_RESTRICT out) {
  const Full<double> d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= x.size(); i += lanes) hn::StoreU(LoadAs(d, &x[i]), d, out + i);
  for (; i < x.size(); ++i) out[i] = static_cast<double>(x[i]);
}

// out[r][w] (+)= sum_k a[r * row_stride + k * inner_stride] * b[k][w], r < R, k < inner in order,
// w < V vectors: X theta with strides (d, 1), X^T R with (1, d).
template <size_t R, size_t V, bool accumulate, class T>
HWY_INLINE void Tile(const T* HWY_RESTRICT a, size_t row_stride, size_t inner_stride, size_t inner,
                     const T* HWY_RESTRICT b, T* HWY_RESTRICT out) {
  const Full<T> d;
  const size_t lanes = hn::Lanes(d), width = V * lanes;
  hn::Vec<Full<T>> sum[R][V];
  for (size_t r = 0; r < R; ++r) {
    for (size_t v = 0; v < V; ++v) {
      sum[r][v] = accumulate ? hn::LoadU(d, out + r * width + v * lanes) : hn::Zero(d);
    }
  }
  for (size_t k = 0; k < inner; ++k) {
    hn::Vec<Full<T>> chains[V];
    for (size_t v = 0; v < V; ++v) chains[v] = hn::LoadU(d, b + v * lanes);
    for (size_t r = 0; r < R; ++r) {
      const auto x = hn::Set(d, a[r * row_stride]);
      for (size_t v = 0; v < V; ++v) sum[r][v] = hn::MulAdd(x, chains[v], sum[r][v]);
    }
    a += inner_stride;
    b += width;
  }
  for (size_t r = 0; r < R; ++r) {
    for (size_t v = 0; v < V; ++v) hn::StoreU(sum[r][v], d, out + r * width + v * lanes);
  }
}

// f.operator()<R>(first) for tiles of R rows, then of 2 and 1.
template <size_t R, class F>
HWY_INLINE void ForEachTile(size_t rows, F f) {
  size_t row = 0;
  for (; row + R <= rows; row += R) f.template operator()<R>(row);
  for (; row + 2 <= rows; row += 2) f.template operator()<2>(row);
  for (; row < rows; ++row) f.template operator()<1>(row);
}

template <size_t V, class T>
HWY_INLINE void AddSums(const PanelGradient<T>& p) {
  const size_t width = V * hn::Lanes(Full<T>());
  ForEachTile<RowsOfTile(V)>(p.features, [&]<size_t rows>(size_t row) HWY_ATTR {
    Tile<rows, V, true>(p.x + row, 1, p.features, p.rows, p.r, p.g + row * width);
  });
}

template <size_t V, class T, class Loss>
void PanelOf(const PanelGradient<T>& p, const Loss& loss) {
  const Full<T> d;
  const size_t lanes = hn::Lanes(d), width = V * lanes;
  constexpr size_t R = RowsOfTile(V);
  ForEachTile<R>(p.rows, [&]<size_t rows>(size_t row) HWY_ATTR {
    T* HWY_RESTRICT r = p.r + row * width;
    Tile<rows, V, false>(p.x + row * p.features, p.features, 1, p.features, p.theta, r);
    for (size_t i = 0; i < rows; ++i) {  // what was just written is in the nearest cache
      const auto label = hn::Set(d, static_cast<T>(p.y.y[row + i]));
      for (size_t v = 0; v < V; ++v) {
        T* const at = r + i * width + v * lanes;
        hn::StoreU(SlopeOf(d, loss, p.y, row + i, hn::LoadU(d, at), label), d, at);
      }
    }
  });
  AddSums<V>(p);
}

// f.operator()<vectors of a panel's width>().
template <class T, class F>
HWY_INLINE void WithVectors(const PanelGradient<T>& p, const F& f) {
  const size_t vectors = p.width / hn::Lanes(Full<T>());
  if (vectors == 1) return f.template operator()<1>();
  if constexpr (tile_vectors > 2) {
    if (vectors == 2) return f.template operator()<2>();
    if (vectors == 3) return f.template operator()<3>();
  }
  return f.template operator()<tile_vectors>();
}

template <class T>
void PanelGradientOf(const PanelGradient<T>& p) {
  WithKernel(p.loss, [&](const auto& loss) HWY_ATTR {
    WithVectors(p, [&]<size_t V>() HWY_ATTR { PanelOf<V>(p, loss); });
  });
}
void PanelGradientDouble(const PanelGradient<double>& p) { PanelGradientOf(p); }
void PanelGradientFloat(const PanelGradient<float>& p) { PanelGradientOf(p); }

// ---- in parts ----

template <class T>
void PanelLogitsOf(const PanelGradient<T>& p) {
  WithVectors(p, [&]<size_t V>() HWY_ATTR {
    const size_t width = V * hn::Lanes(Full<T>());
    ForEachTile<RowsOfTile(V)>(p.rows, [&]<size_t rows>(size_t row) HWY_ATTR {
      Tile<rows, V, false>(p.x + row * p.features, p.features, 1, p.features, p.theta,
                           p.r + row * width);
    });
  });
}
template <class T>
void PanelSumsOf(const PanelGradient<T>& p) {
  WithVectors(p, [&]<size_t V>() HWY_ATTR { AddSums<V>(p); });
}
void PanelLogitsDouble(const PanelGradient<double>& p) { PanelLogitsOf(p); }
void PanelLogitsFloat(const PanelGradient<float>& p) { PanelLogitsOf(p); }
void PanelSumsDouble(const PanelGradient<double>& p) { PanelSumsOf(p); }
void PanelSumsFloat(const PanelGradient<float>& p) { PanelSumsOf(p); }

#if HWY_TARGET != HWY_SCALAR
// Swaps lanes of each pair, `distance` apart, of L vectors of L lanes: those of the first whose
// number has that bit with those of the second whose number has it not.
template <size_t distance, size_t L, class D>
HWY_INLINE void Swap(D d, hn::Vec<D> (&v)[L]) {
  constexpr size_t bytes = distance * sizeof(Lane<D>);
  for (size_t k = 0; k < L; ++k) {
    if ((k & distance) != 0) continue;
    const auto a = v[k], b = v[k + distance];
    if constexpr (bytes == 4) {
      v[k] = hn::OddEven(hn::Shuffle2301(b), a);
      v[k + distance] = hn::OddEven(b, hn::Shuffle2301(a));
    } else if constexpr (bytes == 8) {
      const hn::Repartition<double, D> wide;
      const auto x = hn::BitCast(wide, a), y = hn::BitCast(wide, b);
      v[k] = hn::BitCast(d, hn::InterleaveLower(wide, x, y));
      v[k + distance] = hn::BitCast(d, hn::InterleaveUpper(wide, x, y));
    } else if constexpr (2 * distance == L) {
      v[k] = hn::ConcatLowerLower(d, b, a);
      v[k + distance] = hn::ConcatUpperUpper(d, b, a);
    } else {
      v[k] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), a);
      v[k + distance] = hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(a));
    }
  }
}
#endif

// to[j * to_stride + i] = from[i * from_stride + j], in whole squares of L x L numbers.
template <class T>
void Turn(const T* HWY_RESTRICT from, size_t from_stride, size_t rows, size_t columns,
          T* HWY_RESTRICT to, size_t to_stride) {
  const Full<T> d;
  constexpr size_t L = hn::MaxLanes(Full<T>());
  for (size_t i = 0; i < rows; i += L) {
    for (size_t j = 0; j < columns; j += L) {
      hn::Vec<Full<T>> v[L];
      for (size_t k = 0; k < L; ++k) v[k] = hn::LoadU(d, from + (i + k) * from_stride + j);
#if HWY_TARGET != HWY_SCALAR
      if constexpr (L > 8) Swap<8>(d, v);
      if constexpr (L > 4) Swap<4>(d, v);
      if constexpr (L > 2) Swap<2>(d, v);
      if constexpr (L > 1) Swap<1>(d, v);
#endif
      for (size_t k = 0; k < L; ++k) hn::StoreU(v[k], d, to + (j + k) * to_stride + i);
    }
  }
}
void TurnDouble(const double* from, size_t from_stride, size_t rows, size_t columns, double* to,
                size_t to_stride) {
  Turn(from, from_stride, rows, columns, to, to_stride);
}
void TurnFloat(const float* from, size_t from_stride, size_t rows, size_t columns, float* to,
               size_t to_stride) {
  Turn(from, from_stride, rows, columns, to, to_stride);
}

}  // namespace gibbsite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gibbsite::cpu {

HWY_EXPORT(TileVectors);
HWY_EXPORT(Widen);
HWY_EXPORT(PanelGradientDouble);
HWY_EXPORT(PanelGradientFloat);
HWY_EXPORT(PanelLogitsDouble);
HWY_EXPORT(PanelLogitsFloat);
HWY_EXPORT(PanelSumsDouble);
HWY_EXPORT(PanelSumsFloat);
HWY_EXPORT(TurnDouble);
HWY_EXPORT(TurnFloat);

template <class T>
std::size_t max_panel_width() {
  return HWY_DYNAMIC_DISPATCH(TileVectors)() * lanes<T>();
}

template <class T>
std::size_t panel_width(std::size_t chains) {
  return std::min(max_panel_width<T>(), (chains + lanes<T>() - 1) / lanes<T>() * lanes<T>());
}

template std::size_t max_panel_width<double>();
template std::size_t max_panel_width<float>();
template std::size_t panel_width<double>(std::size_t);
template std::size_t panel_width<float>(std::size_t);

void widen(std::span<const float> x, double* out) { HWY_DYNAMIC_DISPATCH(Widen)(x, out); }
void panel_gradient(const PanelGradient<double>& panel) {
  HWY_DYNAMIC_DISPATCH(PanelGradientDouble)(panel);
}
void panel_gradient(const PanelGradient<float>& panel) {
  HWY_DYNAMIC_DISPATCH(PanelGradientFloat)(panel);
}
void panel_logits(const PanelGradient<double>& panel) {
  HWY_DYNAMIC_DISPATCH(PanelLogitsDouble)(panel);
}
void panel_logits(const PanelGradient<float>& panel) {
  HWY_DYNAMIC_DISPATCH(PanelLogitsFloat)(panel);
}
void panel_sums(const PanelGradient<double>& panel) {
  HWY_DYNAMIC_DISPATCH(PanelSumsDouble)(panel);
}
void panel_sums(const PanelGradient<float>& panel) { HWY_DYNAMIC_DISPATCH(PanelSumsFloat)(panel); }

void turn_panel(const double* panel, std::size_t rows, std::size_t width, double* by_lane,
                std::size_t stride) {
  HWY_DYNAMIC_DISPATCH(TurnDouble)(panel, width, rows, width, by_lane, stride);
}
void turn_panel(const float* panel, std::size_t rows, std::size_t width, float* by_lane,
                std::size_t stride) {
  HWY_DYNAMIC_DISPATCH(TurnFloat)(panel, width, rows, width, by_lane, stride);
}
void turn_back(const double* by_lane, std::size_t stride, std::size_t rows, std::size_t width,
               double* panel) {
  HWY_DYNAMIC_DISPATCH(TurnDouble)(by_lane, stride, width, rows, panel, width);
}
void turn_back(const float* by_lane, std::size_t stride, std::size_t rows, std::size_t width,
               float* panel) {
  HWY_DYNAMIC_DISPATCH(TurnFloat)(by_lane, stride, width, rows, panel, width);
}

}  // namespace gibbsite::cpu
#endif  // HWY_ONCE
