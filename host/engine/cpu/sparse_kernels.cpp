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
    if (p.losses.value != nullptr)
      AddLosses(p.loss, {p.losses.value + c, p.losses.f}, p.y, 1, p.x.rows, r);
    SlopesOf(p.loss, p.y, p.x.rows, r);
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

// even, odd: sums over a row's entries in those places, half the latency of one sum.
template <size_t V, class T>
HWY_INLINE void EntrySums(const SparsePanelGradient<T>& p, std::uint64_t e, std::uint64_t end,
                          hn::Vec<Full<T>> (&even)[V], hn::Vec<Full<T>> (&odd)[V]) {
  const Full<T> d;
  const size_t lanes = hn::Lanes(d), width = V * lanes;
  for (size_t v = 0; v < V; ++v) even[v] = odd[v] = hn::Zero(d);
  for (; e + 2 <= end; e += 2) {
    const T* const first = p.theta + p.x.feature[e] * width;
    const T* const second = p.theta + p.x.feature[e + 1] * width;
    const auto x = hn::Set(d, static_cast<T>(p.x.value[e]));
    const auto x2 = hn::Set(d, static_cast<T>(p.x.value[e + 1]));
    for (size_t v = 0; v < V; ++v) {
      even[v] = hn::MulAdd(x, hn::LoadU(d, first + v * lanes), even[v]);
      odd[v] = hn::MulAdd(x2, hn::LoadU(d, second + v * lanes), odd[v]);
    }
  }
  if (e < end) {
    const T* const last = p.theta + p.x.feature[e] * width;
    const auto x = hn::Set(d, static_cast<T>(p.x.value[e]));
    for (size_t v = 0; v < V; ++v) {
      even[v] = hn::MulAdd(x, hn::LoadU(d, last + v * lanes), even[v]);
    }
  }
}

template <size_t V, class T>
HWY_INLINE void AddEntries(const SparsePanelGradient<T>& p, std::uint64_t e, std::uint64_t end,
                           const hn::Vec<Full<T>> (&r)[V]) {
  const Full<T> d;
  const size_t lanes = hn::Lanes(d), width = V * lanes;
  for (; e < end; ++e) {
    T* const g = p.g + p.x.feature[e] * width;
    const auto x = hn::Set(d, static_cast<T>(p.x.value[e]));
    for (size_t v = 0; v < V; ++v) {
      T* const at = g + v * lanes;
      hn::StoreU(hn::MulAdd(x, r[v], hn::LoadU(d, at)), d, at);
    }
  }
}

template <size_t V, class T, class Loss>
void SparsePanelOf(const SparsePanelGradient<T>& p, const Loss& loss) {
  const Full<T> d;
  const std::uint64_t* const begin = p.x.begin;
  for (size_t i = 0; i < p.x.rows; ++i) {
    hn::Vec<Full<T>> even[V], odd[V], r[V];
    EntrySums<V>(p, begin[i], begin[i + 1], even, odd);
    const auto label = hn::Set(d, static_cast<T>(p.y.y[i]));
    for (size_t v = 0; v < V; ++v) {
      r[v] = SlopeOf(d, loss, p.y, i, hn::Add(even[v], odd[v]), label);
    }
    AddEntries<V>(p, begin[i], begin[i + 1], r);
  }
}

// f.operator()<vectors of a panel's width>().
template <class T, class F>
HWY_INLINE void WithSparseVectors(const SparsePanelGradient<T>& p, const F& f) {
  p.width == hn::Lanes(Full<T>()) ? f.template operator()<1>()
                                  : f.template operator()<sparse_vectors>();
}

template <class T>
void SparsePanelGradientOf(const SparsePanelGradient<T>& p) {
  WithKernel(p.loss, [&](const auto& loss) HWY_ATTR {
    WithSparseVectors(p, [&]<size_t V>() HWY_ATTR { SparsePanelOf<V>(p, loss); });
  });
}
void SparsePanelDouble(const SparsePanelGradient<double>& p) { SparsePanelGradientOf(p); }
void SparsePanelFloat(const SparsePanelGradient<float>& p) { SparsePanelGradientOf(p); }

// In parts.
template <class T>
void SparsePanelLogitsOf(const SparsePanelGradient<T>& p) {
  WithSparseVectors(p, [&]<size_t V>() HWY_ATTR {
    const Full<T> d;
    for (size_t i = 0; i < p.x.rows; ++i) {
      hn::Vec<Full<T>> even[V], odd[V];
      EntrySums<V>(p, p.x.begin[i], p.x.begin[i + 1], even, odd);
      for (size_t v = 0; v < V; ++v) {
        hn::StoreU(hn::Add(even[v], odd[v]), d, p.r + (i * V + v) * hn::Lanes(d));
      }
    }
  });
}
template <class T>
void SparsePanelSumsOf(const SparsePanelGradient<T>& p) {
  WithSparseVectors(p, [&]<size_t V>() HWY_ATTR {
    const Full<T> d;
    for (size_t i = 0; i < p.x.rows; ++i) {
      hn::Vec<Full<T>> r[V];
      for (size_t v = 0; v < V; ++v) r[v] = hn::LoadU(d, p.r + (i * V + v) * hn::Lanes(d));
      AddEntries<V>(p, p.x.begin[i], p.x.begin[i + 1], r);
    }
  });
}
void SparsePanelLogitsDouble(const SparsePanelGradient<double>& p) { SparsePanelLogitsOf(p); }
void SparsePanelLogitsFloat(const SparsePanelGradient<float>& p) { SparsePanelLogitsOf(p); }
void SparsePanelSumsDouble(const SparsePanelGradient<double>& p) { SparsePanelSumsOf(p); }
void SparsePanelSumsFloat(const SparsePanelGradient<float>& p) { SparsePanelSumsOf(p); }

}  // namespace gibbsite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gibbsite::cpu {

HWY_EXPORT(SparseVectors);
HWY_EXPORT(SparseRowsDouble);
HWY_EXPORT(SparseRowsFloat);
HWY_EXPORT(SparsePanelDouble);
HWY_EXPORT(SparsePanelFloat);
HWY_EXPORT(SparsePanelLogitsDouble);
HWY_EXPORT(SparsePanelLogitsFloat);
HWY_EXPORT(SparsePanelSumsDouble);
HWY_EXPORT(SparsePanelSumsFloat);

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
void sparse_panel_logits(const SparsePanelGradient<double>& panel) {
  HWY_DYNAMIC_DISPATCH(SparsePanelLogitsDouble)(panel);
}
void sparse_panel_logits(const SparsePanelGradient<float>& panel) {
  HWY_DYNAMIC_DISPATCH(SparsePanelLogitsFloat)(panel);
}
void sparse_panel_sums(const SparsePanelGradient<double>& panel) {
  HWY_DYNAMIC_DISPATCH(SparsePanelSumsDouble)(panel);
}
void sparse_panel_sums(const SparsePanelGradient<float>& panel) {
  HWY_DYNAMIC_DISPATCH(SparsePanelSumsFloat)(panel);
}

}  // namespace gibbsite::cpu
#endif  // HWY_ONCE
