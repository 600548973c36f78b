// Vectors of T beside rows of floats. Compiled once per instruction set, as Highway wants it.
#if defined(GIBBSITE_ENGINE_CPU_VECTORS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef GIBBSITE_ENGINE_CPU_VECTORS_INL_HPP
#undef GIBBSITE_ENGINE_CPU_VECTORS_INL_HPP
#else
#define GIBBSITE_ENGINE_CPU_VECTORS_INL_HPP
#endif

#include <hwy/highway.h>

#include "engine/cpu/kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace gibbsite::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Full = hn::ScalableTag<T>;  // whole vectors
template <class T>
using Narrow = hn::CappedTag<T, 1>;  // rows shorter than a vector

template <class D>
using Lane = hn::TFromD<D>;
// Vectors side by side that a row's sums run in. AVX2 takes two of doubles, so that its sums have
// the order of AVX-512's, and the same bits. Without fused multiply-add the bits are others anyway.
template <class D>
constexpr size_t row_vectors = HWY_NATIVE_FMA != 0 && hn::MaxLanes(D()) * sizeof(Lane<D>) == 32 &&
                                       sizeof(Lane<D>) == 8
                                   ? 2
                                   : 1;
template <class D>
constexpr size_t row_lanes = row_vectors<D>* hn::MaxLanes(D());
template <class T>
constexpr size_t most_lanes = HWY_MAX_BYTES / sizeof(T);

// Floats in memory as T.
template <class D>
HWY_INLINE hn::Vec<D> LoadAs(D d, const float* HWY_RESTRICT x) {
  if constexpr (sizeof(Lane<D>) == sizeof(float)) {
    return hn::LoadU(d, x);
  } else {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), x));
  }
}

// Sums of all lanes of a group of vectors: halves are added, then quarters, as AVX-512 does in one.
template <class D>
HWY_INLINE Lane<D> SumOfGroup(D d, const hn::Vec<D> (&sum)[row_vectors<D>]) {
  if constexpr (row_vectors<D> == 1) return hn::GetLane(hn::SumOfLanes(d, sum[0]));
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(sum[0], sum[row_vectors<D> - 1])));
}

// Sum of f [rows], in the same order on AVX2 and AVX-512.
HWY_INLINE double SumOfRows(const double* HWY_RESTRICT f, size_t rows) {
  const Full<double> d;
  constexpr size_t V = row_vectors<Full<double>>, lanes = hn::MaxLanes(Full<double>());
  hn::Vec<Full<double>> sum[V];
  for (size_t v = 0; v < V; ++v) sum[v] = hn::Zero(d);
  size_t i = 0;
  for (; i + V * lanes <= rows; i += V * lanes) {
    for (size_t v = 0; v < V; ++v) sum[v] = hn::Add(sum[v], hn::LoadU(d, f + i + v * lanes));
  }
  double out = SumOfGroup(d, sum);
  for (; i < rows; ++i) out += f[i];
  return out;
}

// r[i] = f'(z[i], y[i]) and f[i] = f(z[i], y[i]); may be where z is. In losses.cpp.
template <class T>
void DerivativesOf(const LossChoice& loss, const T* z, const float* y, size_t count, T* r);
void Values(const LossChoice& loss, const double* z, const float* y, size_t count, double* f);
// In place: with offsets before, and factors after.
template <class T>
void SlopesOf(const LossChoice& loss, const RowTargets& y, size_t count, T* z);
void ValuesOf(const LossChoice& loss, const RowTargets& y, size_t count, double* z);
// Derivatives of K outputs, in place (`output_derivatives`).
template <class T>
void OutputDerivativesOf(size_t outputs, T* z, size_t stride, const RowTargets& y, size_t rows);
// `loss_sum`.
double LossSum(const LossChoice& loss, const double* z, size_t stride, const RowTargets& y,
               size_t rows, double* f);
// Adds the losses of logits z [C x rows] to where they are wanted.
template <class T>
HWY_INLINE void AddLosses(const LossChoice& loss, const LossSums& to, const RowTargets& y,
                          size_t chains, size_t rows, const T* z) {
  if constexpr (sizeof(T) == sizeof(double)) {
    for (size_t c = 0; to.value != nullptr && c < chains; c += loss.outputs) {
      to.value[c / loss.outputs] += LossSum(loss, z + c * rows, rows, y, rows, to.f);
    }
  }
}

}  // namespace gibbsite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
