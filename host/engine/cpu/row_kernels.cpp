// Few chains: lanes run along the features of a row.
#include <algorithm>
#include <cmath>

#include "engine/cpu/kernels.hpp"
#include "engine/cpu/targets.hpp"
#include "machine/instructions.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/cpu/row_kernels.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "engine/cpu/vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace gibbsite::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

const char* TargetName() { return hwy::TargetName(HWY_TARGET); }

size_t LanesDouble() { return hn::Lanes(Full<double>()); }
size_t LanesFloat() { return hn::Lanes(Full<float>()); }
size_t RowLanesDouble() { return row_lanes<Full<double>>; }
size_t RowLanesFloat() { return row_lanes<Full<float>>; }

// Inlines a lambda that is called from two places: else its vectors would lie in memory.
#undef GIBBSITE_IN_REGISTERS
#define GIBBSITE_IN_REGISTERS HWY_ATTR __attribute__((always_inline))

// f(offset in the row, offset in the packed vector) over the groups of row_vectors of a row.
template <class D, class F>
HWY_INLINE void ForEachGroup(D /*d*/, size_t features, F f) {
  constexpr size_t lanes = row_lanes<D>;
  size_t j = 0;
  for (; j + lanes <= features; j += lanes) f(j, j);
  if (j < features) f(features - lanes, j);
}

// Numbers of a packed vector of so many features.
template <class D>
HWY_INLINE size_t PackedSize(D /*d*/, size_t features) {
  return (features + row_lanes<D> - 1) / row_lanes<D> * row_lanes<D>;
}

template <class T>
struct FewChains {
  const T* HWY_RESTRICT theta;  // [C x packed]
  T* HWY_RESTRICT r;            // [C x rows]
  T* HWY_RESTRICT g;            // [C x packed]
  size_t rows, packed;
};

template <size_t R, size_t C, bool absolute, class D>
HWY_INLINE void DotRows(D d, const float* HWY_RESTRICT x, size_t features,
                        const FewChains<Lane<D>>& p, size_t row) {
  constexpr size_t V = row_vectors<D>, lanes = hn::MaxLanes(D());
  hn::Vec<D> sum[R][C][V];
  for (size_t i = 0; i < R; ++i) {
    for (size_t c = 0; c < C; ++c) {
      for (size_t v = 0; v < V; ++v) sum[i][c][v] = hn::Zero(d);
    }
  }
  ForEachGroup(d, features, [&](size_t from, size_t packed) GIBBSITE_IN_REGISTERS {
    for (size_t v = 0; v < V; ++v) {
      hn::Vec<D> theta[C];
      for (size_t c = 0; c < C; ++c) {
        theta[c] = hn::LoadU(d, p.theta + c * p.packed + packed + v * lanes);
      }
      for (size_t i = 0; i < R; ++i) {
        auto row_part = LoadAs(d, x + i * features + from + v * lanes);
        if constexpr (absolute) row_part = hn::Abs(row_part);
        for (size_t c = 0; c < C; ++c) {
          sum[i][c][v] = hn::MulAdd(row_part, theta[c], sum[i][c][v]);
        }
      }
    }
  });
  for (size_t i = 0; i < R; ++i) {
    for (size_t c = 0; c < C; ++c) {
      p.r[c * p.rows + row + i] = SumOfGroup(d, sum[i][c]);
    }
  }
}

template <size_t R, size_t C, bool absolute = false, class D>
HWY_INLINE void Logits(D d, const float* HWY_RESTRICT x, size_t features,
                       const FewChains<Lane<D>>& p) {
  constexpr size_t S = R / row_vectors<D>;  // as many sums as there are registers for
  size_t i = 0;
  for (; i + S <= p.rows; i += S) DotRows<S, C, absolute>(d, x + i * features, features, p, i);
  for (; i < p.rows; ++i) DotRows<1, C, absolute>(d, x + i * features, features, p, i);
}

// Fetches the rows `ahead` floats further: the next call's, while this one computes.
template <size_t R, size_t C, class D>
HWY_INLINE void AddRows(D d, const float* HWY_RESTRICT x, size_t features,
                        const FewChains<Lane<D>>& p, size_t row, size_t ahead) {
  hn::Vec<D> weight[R][C];
  for (size_t i = 0; i < R; ++i) {
    for (size_t c = 0; c < C; ++c) weight[i][c] = hn::Set(d, p.r[c * p.rows + row + i]);
  }
  ForEachGroup(d, features, [&](size_t from, size_t packed) GIBBSITE_IN_REGISTERS {
    for (size_t k = 0; k < row_lanes<D>; k += hn::MaxLanes(D())) {
      Lane<D>* const g = p.g + packed + k;
      hn::Vec<D> sum[C];
      for (size_t c = 0; c < C; ++c) sum[c] = hn::LoadU(d, g + c * p.packed);
      for (size_t i = 0; i < R; ++i) {
        const float* const at = x + i * features + from + k;
        hwy::Prefetch(at + ahead);
        const auto v = LoadAs(d, at);
        for (size_t c = 0; c < C; ++c) sum[c] = hn::MulAdd(v, weight[i][c], sum[c]);
      }
      for (size_t c = 0; c < C; ++c) hn::StoreU(sum[c], d, g + c * p.packed);
    }
  });
}

// What of a gradient is made: of several outputs the residuals lie between two passes.
enum class Pass { all, logits, sums };

template <Pass pass, size_t C, class D>
void RowsOf(D d, const RowGradient<Lane<D>>& p, size_t packed) {
  constexpr size_t R = C == 1 ? 8 : 4;
  const size_t features = p.x.cols, rows = p.x.rows;
  const FewChains<Lane<D>> few{p.theta, p.r, p.g, rows, packed};
  if constexpr (pass != Pass::sums) Logits<R, C>(d, p.x.data, features, few);
  if constexpr (pass == Pass::logits) return;
  if constexpr (pass == Pass::all) AddLosses(p.loss, p.losses, p.y, C, rows, p.r);
  for (size_t c = 0; pass == Pass::all && c < C; ++c) {
    SlopesOf(p.loss, p.y, rows, p.r + c * rows);
  }
  const size_t ahead = rows * features;
  size_t i = 0;
  for (; i + R <= rows; i += R) AddRows<R, C>(d, p.x.data + i * features, features, few, i, ahead);
  for (; i < rows; ++i) AddRows<1, C>(d, p.x.data + i * features, features, few, i, ahead);
}

template <Pass pass, class D>
void RowPass(D d, const RowGradient<Lane<D>>& p) {
  const size_t packed = PackedSize(d, p.x.cols);
  RowGradient<Lane<D>> part = p;
  size_t c = 0;
  const auto next = [&](size_t chains) {
    part.chains = chains;
    part.theta = p.theta + c * packed;
    part.g = p.g + c * packed;
    if (pass != Pass::all) part.r = p.r + c * p.x.rows;
    if (p.losses.value != nullptr) part.losses.value = p.losses.value + c / p.loss.outputs;
    c += chains;
  };
  while (p.chains - c >= 4) {
    next(4);
    RowsOf<pass, 4>(d, part, packed);
  }
  if (p.chains - c >= 2) {
    next(2);
    RowsOf<pass, 2>(d, part, packed);
  }
  if (p.chains - c >= 1) {
    next(1);
    RowsOf<pass, 1>(d, part, packed);
  }
}

template <class D>
void RowGradientOf(D d, const RowGradient<Lane<D>>& p) {
  const size_t outputs = p.loss.outputs, rows = p.x.rows;
  if (outputs == 1) return RowPass<Pass::all>(d, p);
  RowPass<Pass::logits>(d, p);
  AddLosses(p.loss, p.losses, p.y, p.chains, rows, p.r);
  for (size_t c = 0; c < p.chains; c += outputs) {
    OutputDerivativesOf(outputs, p.r + c * rows, rows, p.y, rows);
  }
  RowPass<Pass::sums>(d, p);
}

template <class T>
HWY_INLINE void RowGradientAnyWidth(const RowGradient<T>& p) {
  if (p.x.cols < row_lanes<Full<T>>) {
    RowGradientOf(Narrow<T>(), p);
  } else {
    RowGradientOf(Full<T>(), p);
  }
}
void RowGradientDouble(const RowGradient<double>& p) { RowGradientAnyWidth(p); }
void RowGradientFloat(const RowGradient<float>& p) { RowGradientAnyWidth(p); }

template <class D>
void RowValuesOf(D d, const RowValues& p) {
  const size_t packed = PackedSize(d, p.x.cols), rows = p.x.rows;
  const FewChains<double> few{p.theta, p.z, nullptr, rows, packed};
  switch (p.chains) {
    case 1:
      Logits<8, 1>(d, p.x.data, p.x.cols, few);
      break;
    case 2:
      Logits<4, 2>(d, p.x.data, p.x.cols, few);
      break;
    case 3:
      Logits<4, 3>(d, p.x.data, p.x.cols, few);
      break;
    default:
      Logits<4, 4>(d, p.x.data, p.x.cols, few);
  }
  for (size_t c = 0; p.value != nullptr && c < p.chains; ++c) {
    ValuesOf(p.loss, p.y, rows, p.z + c * rows);
    p.value[c] = SumOfRows(p.z + c * rows, rows);
  }
}
void RowValuesDouble(const RowValues& p) {
  p.x.cols < row_lanes<Full<double>> ? RowValuesOf(Narrow<double>(), p)
                                     : RowValuesOf(Full<double>(), p);
}

// ---- one chain, in parts ----

// As Logits sums: each entry in the lane that would meet it, so with the same bits.
template <bool absolute, class D>
void EntryLogits(D d, const SparseRows& x, size_t features, const double* HWY_RESTRICT theta,
                 double* HWY_RESTRICT z) {
  const hn::CappedTag<double, 1> one;
  constexpr size_t lanes = row_lanes<D>, vector = hn::MaxLanes(D());
  const size_t whole = features / lanes * lanes;
  HWY_ALIGN double sum[lanes];
  for (size_t i = 0; i < x.rows; ++i) {
    std::fill_n(sum, lanes, 0.0);
    for (std::uint64_t e = x.begin[i]; e < x.begin[i + 1]; ++e) {
      const size_t j = x.feature[e];
      double* const at = sum + (j < whole ? j % lanes : j - (features - lanes));
      const auto value = static_cast<double>(absolute ? std::fabs(x.value[e]) : x.value[e]);
      hn::StoreU(hn::MulAdd(hn::Set(one, value), hn::LoadU(one, theta + j), hn::LoadU(one, at)),
                 one, at);
    }
    hn::Vec<D> parts[row_vectors<D>];
    for (size_t v = 0; v < row_vectors<D>; ++v) parts[v] = hn::Load(d, sum + v * vector);
    z[i] = SumOfGroup(d, parts);
  }
}

template <bool absolute, class D>
void RowLogitsOf(D d, const RowsPart& rows, size_t features, const double* theta, double* z) {
  if (rows.x.data == nullptr) return EntryLogits<absolute>(d, rows.entries, features, theta, z);
  const FewChains<double> few{theta, z, nullptr, rows.x.rows, PackedSize(d, features)};
  Logits<8, 1, absolute>(d, rows.x.data, features, few);
}
void RowLogits(const RowsPart& rows, size_t features, const double* theta, bool absolute,
               double* z) {
  const auto of = [&](auto d) HWY_ATTR {
    absolute ? RowLogitsOf<true>(d, rows, features, theta, z)
             : RowLogitsOf<false>(d, rows, features, theta, z);
  };
  features < row_lanes<Full<double>> ? of(Narrow<double>()) : of(Full<double>());
}

template <class D>
void AddRowsOf(D d, const RowsPart& rows, double* r, double* g) {
  const MatrixView<const float> x = rows.x;
  const FewChains<double> few{nullptr, r, g, x.rows, PackedSize(d, x.cols)};
  const size_t ahead = x.rows * x.cols;
  size_t i = 0;
  for (; i + 8 <= x.rows; i += 8) AddRows<8, 1>(d, x.data + i * x.cols, x.cols, few, i, ahead);
  for (; i < x.rows; ++i) AddRows<1, 1>(d, x.data + i * x.cols, x.cols, few, i, ahead);
}
void AddRowsTimes(const RowsPart& rows, double* r, double* g) {
  if (rows.x.data == nullptr) {
    const SparseRows& x = rows.entries;
    for (size_t i = 0; i < x.rows; ++i) {
      for (std::uint64_t e = x.begin[i]; e < x.begin[i + 1]; ++e) {
        g[x.feature[e]] += r[i] * static_cast<double>(x.value[e]);
      }
    }
    return;
  }
  rows.x.cols < row_lanes<Full<double>> ? AddRowsOf(Narrow<double>(), rows, r, g)
                                        : AddRowsOf(Full<double>(), rows, r, g);
}

// ---- all outputs of one chain, in parts ----

template <Pass pass>
void OutputsPass(const RowGradient<double>& p) {
  p.x.cols < row_lanes<Full<double>> ? RowPass<pass>(Narrow<double>(), p)
                                     : RowPass<pass>(Full<double>(), p);
}
void OutputsLogits(const RowsPart& rows, size_t features, size_t outputs, const double* theta,
                   double* z) {
  if (rows.x.data != nullptr) {
    return OutputsPass<Pass::logits>(
        {rows.x, {}, {0, nullptr, outputs}, outputs, theta, z, nullptr});
  }
  const size_t n = rows.size();
  for (size_t k = 0; k < outputs; ++k)
    RowLogits(rows, features, theta + k * features, false, z + k * n);
}
void AddOutputsTimes(const RowsPart& rows, size_t features, size_t outputs, double* r, double* g) {
  if (rows.x.data != nullptr) {
    return OutputsPass<Pass::sums>({rows.x, {}, {0, nullptr, outputs}, outputs, nullptr, r, g});
  }
  const size_t n = rows.size();
  for (size_t k = 0; k < outputs; ++k) AddRowsTimes(rows, r + k * n, g + k * features);
}

}  // namespace gibbsite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gibbsite::cpu {

HWY_EXPORT(TargetName);
HWY_EXPORT(LanesDouble);
HWY_EXPORT(LanesFloat);
HWY_EXPORT(RowLanesDouble);
HWY_EXPORT(RowLanesFloat);
HWY_EXPORT(RowValuesDouble);
HWY_EXPORT(RowGradientDouble);
HWY_EXPORT(RowGradientFloat);
HWY_EXPORT(RowLogits);
HWY_EXPORT(AddRowsTimes);
HWY_EXPORT(OutputsLogits);
HWY_EXPORT(AddOutputsTimes);

template <class T>
std::size_t lanes() {
  return sizeof(T) == sizeof(double) ? HWY_DYNAMIC_DISPATCH(LanesDouble)()
                                     : HWY_DYNAMIC_DISPATCH(LanesFloat)();
}

namespace {

// Numbers that lie side by side in the packed vectors of d features.
template <class T>
std::size_t lanes_for(std::size_t d) {
  const std::size_t full = sizeof(T) == sizeof(double) ? HWY_DYNAMIC_DISPATCH(RowLanesDouble)()
                                                       : HWY_DYNAMIC_DISPATCH(RowLanesFloat)();
  return d < full ? 1 : full;
}

}  // namespace

std::string instruction_set() {
  force_instructions();
  const std::string name = HWY_DYNAMIC_DISPATCH(TargetName)();
  return name.starts_with("AVX3") ? "AVX-512" : name;
}

template <class T>
std::size_t packed_size(std::size_t d) {
  const std::size_t l = lanes_for<T>(d);
  return (d + l - 1) / l * l;
}

template <class T>
void pack(std::span<const double> v, T* packed) {
  const std::size_t d = v.size(), l = lanes_for<T>(d), whole = d / l * l;
  for (std::size_t j = 0; j < whole; ++j) packed[j] = static_cast<T>(v[j]);
  if (whole == d) return;
  // The tail vector holds features d - l ... d - 1; those before `whole` are in already.
  const std::size_t overlap = l - (d - whole);
  std::fill_n(packed + whole, overlap, T{0});
  for (std::size_t j = whole; j < d; ++j) packed[j + overlap] = static_cast<T>(v[j]);
}

template <class T>
void unpack(const double* packed, std::span<double> v) {
  const std::size_t d = v.size(), whole = d / lanes_for<T>(d) * lanes_for<T>(d);
  std::copy_n(packed, whole, v.begin());
  std::copy_n(packed + packed_size<T>(d) - (d - whole), d - whole,
              v.begin() + static_cast<std::ptrdiff_t>(whole));
}

template std::size_t lanes<double>();
template std::size_t lanes<float>();
template std::size_t packed_size<double>(std::size_t);
template std::size_t packed_size<float>(std::size_t);
template void pack(std::span<const double>, double*);
template void pack(std::span<const double>, float*);

template void unpack<double>(const double*, std::span<double>);
template void unpack<float>(const double*, std::span<double>);

void row_values(const RowValues& rows) { HWY_DYNAMIC_DISPATCH(RowValuesDouble)(rows); }
void row_gradient(const RowGradient<double>& rows) {
  HWY_DYNAMIC_DISPATCH(RowGradientDouble)(rows);
}
void row_gradient(const RowGradient<float>& rows) { HWY_DYNAMIC_DISPATCH(RowGradientFloat)(rows); }

void row_logits(const RowsPart& rows, std::size_t features, const double* theta, bool absolute,
                double* z) {
  HWY_DYNAMIC_DISPATCH(RowLogits)(rows, features, theta, absolute, z);
}
void add_rows(const RowsPart& rows, double* r, double* g) {
  HWY_DYNAMIC_DISPATCH(AddRowsTimes)(rows, r, g);
}
void outputs_logits(const RowsPart& rows, std::size_t features, std::size_t outputs,
                    const double* theta, double* z) {
  HWY_DYNAMIC_DISPATCH(OutputsLogits)(rows, features, outputs, theta, z);
}
void add_outputs(const RowsPart& rows, std::size_t features, std::size_t outputs, double* r,
                 double* g) {
  HWY_DYNAMIC_DISPATCH(AddOutputsTimes)(rows, features, outputs, r, g);
}

}  // namespace gibbsite::cpu
#endif  // HWY_ONCE
