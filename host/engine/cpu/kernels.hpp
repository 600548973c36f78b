#pragma once
// SIMD kernels of the CPU backend on float rows, in double or float arithmetic (T), compiled for
// every instruction set and chosen at run time (Highway). A chain's bits do not depend on how many
// rows a call is given nor on the chains beside it: every sum runs in one fixed order.
//
// Few chains: lanes run along the features of a row; bound by the bandwidth of x.
//   theta and g are packed: vectors of `lanes` numbers at offsets 0, L, 2L, ..., and d - L for the
//   tail, which overlaps the vector before it; the overlap is 0 in theta and ignored in g.
// Many chains: lanes run along the chains of a panel [.. x width]; register tiles of rows x width
//   accumulators, bound by FMA and, per row and chain, an exp.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gibbsite/data/rows.hpp"
#include "gibbsite/model/loss.hpp"

namespace gibbsite {
struct ScoreLimits;
}
namespace gibbsite::cpu {

/// Instruction set in use, for people.
std::string instruction_set();

/// Numbers in one of its vectors.
template <class T>
std::size_t lanes();

/// A loss as the kernels take it.
struct LossChoice {
  unsigned index;  ///< place in the list of losses (kernels/losses.hpp); no_loss: not compiled in
  const Loss* other;        ///< what runs for no_loss, slowly
  std::size_t outputs = 1;  ///< K; of more than one it is softmax
};
/// The loss before its classes are weighted. Throws std::logic_error on a loss of several outputs
/// that is not softmax.
LossChoice choose_loss(const Loss& loss);

/// What rows are judged by, beside x.
struct RowTargets {
  const float* y = nullptr;       ///< [rows]
  const float* offset = nullptr;  ///< [rows] o of the logits x . theta + o; null: 0
  const float* factor = nullptr;  ///< [rows] f and f' are multiplied by; null: 1

  RowTargets() = default;
  RowTargets(const float* labels, const float* offsets = nullptr,  // NOLINT: labels alone
             const float* factors = nullptr)
      : y(labels), offset(offsets), factor(factors) {}
  /// The targets of the rows from `first` on.
  [[nodiscard]] RowTargets from(std::size_t first) const {
    const auto at = [&](const float* v) { return v == nullptr ? nullptr : v + first; };
    return {at(y), at(offset), at(factor)};
  }
};
/// The weight of each row's class times the row's own `weight` [rows] (null: 1), rounded down to a
/// float in [0, 1]; none where all are 1.
std::vector<float> row_factors(const Loss& loss, std::span<const float> y, const float* weight);

// A chain of K outputs is K chains to the kernels, beside each other: theta [C x K x d] is
// [CK x d]. Logits of all of them, then the residuals of each row, then X^T r.

/// Most chains that go along features.
inline constexpr std::size_t few_chains = 4;

/// Numbers in a packed vector of d features.
template <class T>
std::size_t packed_size(std::size_t d);
template <class T>
void pack(std::span<const double> v, T* packed);
/// Sums in double of what was packed as T.
template <class T>
void unpack(const double* packed, std::span<double> v);

/// value[c] = sum_i f(x_i . theta_c, y_i) for C <= few_chains chains, in double, of one output.
/// Reads x once. Where `value` is null, the logits alone.
struct RowValues {
  MatrixView<const float> x;
  RowTargets y;  ///< [rows]
  LossChoice loss;
  std::size_t chains;
  const double* theta;  ///< [C x packed]
  double* z;            ///< [C x rows] scratch: logits
  double* value;        ///< [C]
};
void row_values(const RowValues& rows);

/// Where the losses of a gradient's rows are added up too, in double.
struct LossSums {
  double* value = nullptr;  ///< [C / K] of chains; null: nowhere
  double* f = nullptr;      ///< [rows] scratch
};

/// g_c += sum_i f'(x_i . theta_c, y_i) x_i for C <= few_chains chains. Reads x from memory once,
/// then from cache: give it as many rows as fit there. C is a whole number of chains' outputs.
template <class T>
struct RowGradient {
  MatrixView<const float> x;
  RowTargets y;  ///< [rows]
  LossChoice loss;
  std::size_t chains;
  const T* theta;  ///< [C x packed]
  T* r;            ///< [C x rows] scratch: logits, then residuals
  T* g;            ///< [C x packed]
  LossSums losses{};
};
void row_gradient(const RowGradient<double>& rows);
void row_gradient(const RowGradient<float>& rows);

/// g_c += sum_i f'(x_i . theta_c, y_i) x_i for C <= few_chains chains, one entry after another.
template <class T>
struct SparseRowGradient {
  SparseRows x;
  RowTargets y;  ///< [rows]
  LossChoice loss;
  std::size_t features, chains;
  const T* theta;  ///< [C x d]
  T* r;            ///< [C x rows] scratch: logits, then residuals
  T* g;            ///< [C x d]
  LossSums losses{};
};
void sparse_row_gradient(const SparseRowGradient<double>& rows);
void sparse_row_gradient(const SparseRowGradient<float>& rows);

/// The sparse gradient for a panel of at most max_sparse_width chains: an entry is met while the
/// row's logits and residuals are in registers. theta and g of a panel should stay in L1.
template <class T>
struct SparsePanelGradient {
  SparseRows x;
  RowTargets y;  ///< [rows]
  std::size_t width;
  LossChoice loss;
  const T* theta;  ///< [d x width]
  T* g;            ///< [d x width]
  T* r = nullptr;  ///< [rows x width] of the parts: logits, then residuals
};
void sparse_panel_gradient(const SparsePanelGradient<double>& panel);
void sparse_panel_gradient(const SparsePanelGradient<float>& panel);
template <class T>
std::size_t max_sparse_width();

/// Rows as numbers, or as entries where x has none.
struct RowsPart {
  MatrixView<const float> x;
  SparseRows entries;
  [[nodiscard]] std::size_t size() const { return x.data != nullptr ? x.rows : entries.rows; }
};
/// A gradient of one chain in its parts. theta and g are packed where rows are numbers, [d] where
/// they are entries; the bits of a row's z and r are the same either way, wherever it is.
/// z[i] = x_i . theta, or of the absolute values of x_i.
void row_logits(const RowsPart& rows, std::size_t features, const double* theta, bool absolute,
                double* z);
/// Scores r [rows] of rows with logits z: derivatives f'(z[i], y[i]) capped at cap[i]. Logistic:
/// weighted_score, counts up to N: count_score (engine/clip.hpp). Another loss: held_weight
/// clamp(f', -cap, cap). w [rows] then holds the rows' curvatures; another loss has held_weight f''
/// where |f'| < cap. Returns their sum. With factors all are multiplied by w(y[i]) after that.
double held_derivatives(const LossChoice& loss, std::span<const double> z, const RowTargets& y,
                        const float* cap, const ScoreLimits& limits, double* r, double* w);
/// Scores of K outputs: z [K x rows], its outputs `stride` apart, becomes grad_z f of each row
/// times min(1, cap[i] / its largest length of any label, limit cap[i]^2 / pair_norm of its p).
/// Returns the sum of that weight times tr grad_z^2 f. A row's bits do not depend on its place.
double held_outputs(const LossChoice& loss, double* z, std::size_t stride, const RowTargets& y,
                    const float* cap, double limit, std::size_t rows);
/// g += sum_i r[i] x_i.
void add_rows(const RowsPart& rows, double* r, double* g);
/// Both of K outputs beside each other: theta and g [K x packed or d], z and r [K x rows]. Up to
/// four share a read of x; bits are those of one after the other.
void outputs_logits(const RowsPart& rows, std::size_t features, std::size_t outputs,
                    const double* theta, double* z);
void add_outputs(const RowsPart& rows, std::size_t features, std::size_t outputs, double* r,
                 double* g);

/// Widest panel, and the width of a panel of `chains` <= that many.
template <class T>
std::size_t max_panel_width();
template <class T>
std::size_t panel_width(std::size_t chains);
/// out[i] = x[i] in double.
void widen(std::span<const float> x, double* out);

/// The gradient for a panel of chains: 4 d flops a row and chain.
template <class T>
struct PanelGradient {
  const T* x;    ///< [rows x d]
  RowTargets y;  ///< [rows]
  std::size_t rows, features, width;
  LossChoice loss;
  const T* theta;  ///< [d x width]
  T* r;            ///< [rows x width] scratch: logits, then residuals
  T* g;            ///< [d x width]
};
void panel_gradient(const PanelGradient<double>& panel);
void panel_gradient(const PanelGradient<float>& panel);

// In parts, for losses of several outputs and where losses are wanted: logits of every panel of a
// chain to r; r turned, residuals of outputs, r turned back; g += X^T r of every panel.
void panel_logits(const PanelGradient<double>& panel);
void panel_logits(const PanelGradient<float>& panel);
void panel_sums(const PanelGradient<double>& panel);
void panel_sums(const PanelGradient<float>& panel);
void sparse_panel_logits(const SparsePanelGradient<double>& panel);
void sparse_panel_logits(const SparsePanelGradient<float>& panel);
void sparse_panel_sums(const SparsePanelGradient<double>& panel);
void sparse_panel_sums(const SparsePanelGradient<float>& panel);
/// by_lane[lane * stride + row] = panel[row * width + lane]: whole vectors of rows, so up to
/// lanes<T>() - 1 rows more than `rows`, for which both have room.
void turn_panel(const double* panel, std::size_t rows, std::size_t width, double* by_lane,
                std::size_t stride);
void turn_panel(const float* panel, std::size_t rows, std::size_t width, float* by_lane,
                std::size_t stride);
/// The other way.
void turn_back(const double* by_lane, std::size_t stride, std::size_t rows, std::size_t width,
               double* panel);
void turn_back(const float* by_lane, std::size_t stride, std::size_t rows, std::size_t width,
               float* panel);
/// z [K x rows], its outputs `stride` apart, becomes grad_z f of each row, with its offset and
/// factor; a row's bits do not depend on its place.
void output_derivatives(const LossChoice& loss, double* z, std::size_t stride, const RowTargets& y,
                        std::size_t rows);
void output_derivatives(const LossChoice& loss, float* z, std::size_t stride, const RowTargets& y,
                        std::size_t rows);
/// f[i] of the logits z [K x rows], its outputs `stride` apart, with the rows' offsets and factors.
void output_values(const LossChoice& loss, const double* z, std::size_t stride, const RowTargets& y,
                   std::size_t rows, double* f);
/// The sum of these f [rows], which is scratch.
double loss_sum(const LossChoice& loss, const double* z, std::size_t stride, const RowTargets& y,
                std::size_t rows, double* f);

/// f[i] = f(z[i], y[i]) as the kernels compute it. Of K outputs z is [K x n].
void values(const LossChoice& loss, std::span<const double> z, std::span<const float> y,
            std::span<double> f);
/// r[i] = f'(z[i], y[i]) as the kernels compute it; what the table of ulps in the tests is of. Of K
/// outputs z and r are [K x n].
void derivatives(const LossChoice& loss, std::span<const double> z, std::span<const float> y,
                 std::span<double> r);
void derivatives(const LossChoice& loss, std::span<const float> z, std::span<const float> y,
                 std::span<float> r);

}  // namespace gibbsite::cpu
