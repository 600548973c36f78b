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
  const Wide<double> d;
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
  const Wide<T> d;
  const size_t lanes = hn::Lanes(d), width = V * lanes;
  hn::Vec<Wide<T>> sum[R][V];
  for (size_t r = 0; r < R; ++r) {
    for (size_t v = 0; v < V; ++v) {
      sum[r][v] = accumulate ? hn::LoadU(d, out + r * width + v * lanes) : hn::Zero(d);
    }
  }
  for (size_t k = 0; k < inner; ++k) {
    hn::Vec<Wide<T>> chains[V];
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

template <size_t V, class T, class Loss>
void PanelOf(const PanelGradient<T>& p, const Loss& loss) {
  const Wide<T> d;
  const size_t lanes = hn::Lanes(d), width = V * lanes;
  constexpr size_t R = RowsOfTile(V);
  ForEachTile<R>(p.rows, [&]<size_t rows>(size_t row) HWY_ATTR {
    T* HWY_RESTRICT r = p.r + row * width;
    Tile<rows, V, false>(p.x + row * p.features, p.features, 1, p.features, p.theta, r);
    for (size_t i = 0; i < rows; ++i) {  // what was just written is in the nearest cache
      const auto label = hn::Set(d, static_cast<T>(p.y[row + i]));
      for (size_t v = 0; v < V; ++v) {
        T* const at = r + i * width + v * lanes;
        hn::StoreU(Residual(d, loss, hn::LoadU(d, at), label), d, at);
      }
    }
  });
  ForEachTile<R>(p.features, [&]<size_t rows>(size_t row) HWY_ATTR {
    Tile<rows, V, true>(p.x + row, 1, p.features, p.rows, p.r, p.g + row * width);
  });
}

template <class T>
void PanelGradientOf(const PanelGradient<T>& p) {
  WithKernel(p.loss, [&](const auto& loss) HWY_ATTR {
    switch (p.width / hn::Lanes(Wide<T>())) {
      case 1:
        return PanelOf<1>(p, loss);
      case 2:
        return PanelOf<2>(p, loss);
      case 3:
        return PanelOf<std::min<size_t>(3, tile_vectors)>(p, loss);
      default:
        return PanelOf<tile_vectors>(p, loss);
    }
  });
}
void PanelGradientDouble(const PanelGradient<double>& p) { PanelGradientOf(p); }
void PanelGradientFloat(const PanelGradient<float>& p) { PanelGradientOf(p); }

}  // namespace gibbsite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gibbsite::cpu {

HWY_EXPORT(TileVectors);
HWY_EXPORT(Widen);
HWY_EXPORT(PanelGradientDouble);
HWY_EXPORT(PanelGradientFloat);

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

}  // namespace gibbsite::cpu
#endif  // HWY_ONCE
