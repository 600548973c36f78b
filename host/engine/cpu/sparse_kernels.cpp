// Rows as entries: one chain after another, or the lanes along the chains of a panel.
#include "engine/cpu/kernels.hpp"
#include "engine/cpu/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/cpu/sparse_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "engine/cpu/losses-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace gibbsite::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
void SparseRowsOf(const SparseRowGradient<T>& p) {
  const std::uint64_t* const begin = p.x.begin;
  for (size_t c = 0; c < p.chains; ++c) {
    const T* HWY_RESTRICT theta = p.theta + c * p.features;
    T* HWY_RESTRICT g = p.g + c * p.features;
    T* HWY_RESTRICT r = p.r + c * p.x.rows;
    for (size_t i = 0; i < p.x.rows; ++i) {
      T sum[4] = {};  // four sums hide the latency of an addition
      std::uint64_t e = begin[i];
      for (; e + 4 <= begin[i + 1]; e += 4) {
        for (size_t k = 0; k < 4; ++k) {
          sum[k] += static_cast<T>(p.x.value[e + k]) * theta[p.x.feature[e + k]];
        }
      }
      for (; e < begin[i + 1]; ++e) sum[0] += static_cast<T>(p.x.value[e]) * theta[p.x.feature[e]];
      r[i] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
    ResidualsOf(p.loss, r, p.y, p.x.rows, r);
    for (size_t i = 0; i < p.x.rows; ++i) {
      for (std::uint64_t e = begin[i]; e < begin[i + 1]; ++e) {
        g[p.x.feature[e]] += r[i] * static_cast<T>(p.x.value[e]);
      }
    }
  }
}
void SparseRowsDouble(const SparseRowGradient<double>& p) { SparseRowsOf(p); }
void SparseRowsFloat(const SparseRowGradient<float>& p) { SparseRowsOf(p); }

constexpr size_t sparse_vectors = 2;
size_t SparseVectors() { return sparse_vectors; }

template <size_t V, class T, class Loss>
void SparsePanelOf(const SparsePanelGradient<T>& p, const Loss& loss) {
  const Wide<T> d;
  const size_t lanes = hn::Lanes(d), width = V * lanes;
  const std::uint64_t* const begin = p.x.begin;
  for (size_t i = 0; i < p.x.rows; ++i) {
    hn::Vec<Wide<T>> even[V], odd[V];  // of the entries: half the latency of one sum
    for (size_t v = 0; v < V; ++v) even[v] = odd[v] = hn::Zero(d);
    std::uint64_t e = begin[i];
    for (; e + 2 <= begin[i + 1]; e += 2) {
      const T* const first = p.theta + p.x.feature[e] * width;
      const T* const second = p.theta + p.x.feature[e + 1] * width;
      const auto x = hn::Set(d, static_cast<T>(p.x.value[e]));
      const auto x2 = hn::Set(d, static_cast<T>(p.x.value[e + 1]));
      for (size_t v = 0; v < V; ++v) {
        even[v] = hn::MulAdd(x, hn::LoadU(d, first + v * lanes), even[v]);
        odd[v] = hn::MulAdd(x2, hn::LoadU(d, second + v * lanes), odd[v]);
      }
    }
    if (e < begin[i + 1]) {
      const T* const last = p.theta + p.x.feature[e] * width;
      const auto x = hn::Set(d, static_cast<T>(p.x.value[e]));
      for (size_t v = 0; v < V; ++v) {
        even[v] = hn::MulAdd(x, hn::LoadU(d, last + v * lanes), even[v]);
      }
    }
    const auto label = hn::Set(d, static_cast<T>(p.y[i]));
    hn::Vec<Wide<T>> r[V];
    for (size_t v = 0; v < V; ++v) r[v] = Residual(d, loss, hn::Add(even[v], odd[v]), label);
    for (e = begin[i]; e < begin[i + 1]; ++e) {
      T* const g = p.g + p.x.feature[e] * width;
      const auto x = hn::Set(d, static_cast<T>(p.x.value[e]));
      for (size_t v = 0; v < V; ++v) {
        T* const at = g + v * lanes;
        hn::StoreU(hn::MulAdd(x, r[v], hn::LoadU(d, at)), d, at);
      }
    }
  }
}

template <class T>
void SparsePanelGradientOf(const SparsePanelGradient<T>& p) {
  WithKernel(p.loss, [&](const auto& loss) HWY_ATTR {
    p.width == hn::Lanes(Wide<T>()) ? SparsePanelOf<1>(p, loss)
                                    : SparsePanelOf<sparse_vectors>(p, loss);
  });
}
void SparsePanelDouble(const SparsePanelGradient<double>& p) { SparsePanelGradientOf(p); }
void SparsePanelFloat(const SparsePanelGradient<float>& p) { SparsePanelGradientOf(p); }

}  // namespace gibbsite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gibbsite::cpu {

HWY_EXPORT(SparseVectors);
HWY_EXPORT(SparseRowsDouble);
HWY_EXPORT(SparseRowsFloat);
HWY_EXPORT(SparsePanelDouble);
HWY_EXPORT(SparsePanelFloat);

template <class T>
std::size_t max_sparse_width() {
  return HWY_DYNAMIC_DISPATCH(SparseVectors)() * lanes<T>();
}

template std::size_t max_sparse_width<double>();
template std::size_t max_sparse_width<float>();

void sparse_row_gradient(const SparseRowGradient<double>& rows) {
  HWY_DYNAMIC_DISPATCH(SparseRowsDouble)(rows);
}
void sparse_row_gradient(const SparseRowGradient<float>& rows) {
  HWY_DYNAMIC_DISPATCH(SparseRowsFloat)(rows);
}
void sparse_panel_gradient(const SparsePanelGradient<double>& panel) {
  HWY_DYNAMIC_DISPATCH(SparsePanelDouble)(panel);
}
void sparse_panel_gradient(const SparsePanelGradient<float>& panel) {
  HWY_DYNAMIC_DISPATCH(SparsePanelFloat)(panel);
}

}  // namespace gibbsite::cpu
#endif  // HWY_ONCE
