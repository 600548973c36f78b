#pragma once
// The interface every backend implements: it owns the rows and advances an ensemble. Whoever is
// above asks it for sums over rows and reads none.
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gibbsite/core/message.hpp"
#include "gibbsite/data/rows.hpp"
#include "gibbsite/engine/ensemble.hpp"
#include "gibbsite/model/contrasts.hpp"
#include "gibbsite/model/loss.hpp"

namespace gibbsite {

/// In what the gradient is computed; the state of a chain is double everywhere.
enum class Arithmetic {
  float64,   ///< double on float storage: the only one that a certificate covers
  float32,   ///< throughput, as pairs of bfloat16 where that is faster: no certificate
  bfloat16,  ///< throughput on matrix units, thetas relative to a center: no certificate
};
std::string_view to_string(Arithmetic arithmetic);

/// Lengths of the rows, as double sums have them: d roundings for the largest, n + d for the sum.
struct RowNorms {
  double largest_squared = 0;  ///< max_i ||x_i||^2
  double sum_squares = 0;      ///< sum_i ||x_i||^2
};

/// What a plan takes for granted of every row.
struct RowLimits {
  double norm_squared = 0;  ///< at most; the intercept's 1 is not counted
  bool intercept = false;   ///< the last feature is 1 everywhere
  LabelKind label = LabelKind::two_classes;
  double label_bound = 1;   ///< of amounts: |y| is at most that; of several classes: y is below it
  double offset_bound = 0;  ///< |o| is at most that
};
/// The first row that breaks them.
struct RowFault {
  enum class What { length_or_intercept, label, offset };
  std::size_t row = 0;  ///< from 0
  What what = What::length_or_intercept;
};

/// scale X^T diag(f''(X theta, y)) X at one theta, which is met once, when it is made. Of K outputs
/// the sum of grad_z^2 f (x) x x^T.
class LossHessian {
 public:
  virtual ~LossHessian() = default;
  /// out [d x d], all of it. Work n d^2/2.
  virtual void dense(MatrixView<double> out) const = 0;
  /// out[d] += the diagonal, row by row. Work n d.
  virtual void add_diagonal(std::span<double> out) const = 0;
  /// out[d] += the product with v [d], row by row. Work 2 n d, no matrix is formed.
  virtual void add_product(std::span<const double> v, std::span<double> out) const = 0;
};

/// What one row may add to a sum of scores, and to an information matrix.
struct ScoreLimits {
  double clip = 0;  ///< C: the norm of a row's score
  /// B / C^2, at least 1/4: the Frobenius norm of a row's information is at most B. Infinite: it is
  /// not limited.
  double information = std::numeric_limits<double>::infinity();
};

/// Two classes first < second of those of softmax-K, which has K (K - 1)/2 such pairs.
struct ClassPair {
  std::size_t first = 0;
  std::size_t second = 1;
};
/// All pairs of `classes` >= 2 classes: {0, 1}, {0, 2}, {1, 2}, {0, 3}, ...
std::vector<ClassPair> class_pairs(std::size_t classes);

/// The sum of the rows' scores, each capped by the row's own length (docs/theory/whitened.md): cap_i is
/// min(sup |f'|, clip / ||P^T x_i||) rounded down to a float, so that cap_i ||P^T x_i|| <= clip in
/// exact arithmetic; sup |f'| where the row is 0. With r_i = grad_z f of one row:
///
///   logistic, softmax   score w_i r_i, w_i = min(1, cap_i / the largest ||r_i|| of any label,
///                                                limits.information cap_i^2 / s_i)
///   other losses        score w_i clamp(r_i, -cap_i, cap_i), w_i = min(1, limits.information cap_i^2)
///
/// s_i = p (1 - p) of logistic; of softmax the square root of the sum of (p_a p_b)^2 over all pairs
/// of classes. Of weighted classes f is the loss before weights, and the score is multiplied by w(y_i) <= 1. A
/// score is a function of (row, P, limits, theta) alone: not of the row's place, of the other rows,
/// of how they are stored, nor of threads. Not to outlive its engine.
class CappedLoss {
 public:
  virtual ~CappedLoss() = default;
  /// out[K x columns] = sum_i score_i x_i^T, ||score_i|| <= cap_i exactly; returns the sum of the
  /// curvatures, each in [0, sup tr grad_z^2 f]: w_i tr grad_z^2 f of logistic and softmax,
  /// w_i f'' [|f'| < cap_i] of the others. Sums keep to accumulation_depth. Reads X once.
  virtual double gradient(std::span<const double> theta, std::span<double> out) = 0;
  /// out[k x k] = sum_i v_i v_i^T with v_i = P^T x_i sqrt(the row's curvature) in floats and
  /// ||v_i||^2 <= limits.information clip^2 in exact arithmetic: the derivative of the sum of
  /// scores, of logistic of its mean. Everything else as of Engine::second_moments. Throws BadInput
  /// on a loss of several outputs, and where information is not limited.
  virtual void information(std::span<const double> theta, MatrixView<double> out) = 0;
  /// out[k x k] = sum_i v_i v_i^T with v_i = P^T x_i score_i in floats and ||v_i|| <= limits.clip in
  /// exact arithmetic: the second moments of the scores. Everything else as of
  /// Engine::second_moments. Throws BadInput on a loss of several outputs.
  virtual void score_moments(std::span<const double> theta, MatrixView<double> out) = 0;
  /// The same of several classes, one pair a < b of them: v_i = P^T x_i sqrt(w_i p_a p_b) with the
  /// probabilities p. With all pairs of classes the v_i of one row have sum ||v_i||^4 <=
  /// (limits.information clip^2)^2 in exact arithmetic. sum_ab (e_a - e_b)(e_a - e_b)^T (x) out_ab is
  /// the derivative of the sum of scores' mean. Throws BadInput on another loss than softmax, on a
  /// pair that is none of its classes, and where information is not limited.
  virtual void information_between(std::span<const double> theta, ClassPair pair,
                                   MatrixView<double> out) = 0;
};

/// A data set and a loss, resident on a backend.
class Engine {
 public:
  virtual ~Engine() = default;
  /// Double gradients and noise of the chains' own streams: what a certified run needs.
  /// Whoever writes an engine vouches for it.
  [[nodiscard]] virtual bool certifiable() const { return false; }
  /// How the last question was answered ("one-pass: ..."), one line for people; may be empty.
  [[nodiscard]] virtual std::string design() const { return ""; }
  /// n: of all ranks, where rows lie on several.
  [[nodiscard]] virtual std::size_t rows() const = 0;
  /// Rows that this process holds, and `clipped_rows` and `weighted_loss_gradients` are about:
  /// rows(), but where they lie on several ranks (engine/sharded.hpp).
  [[nodiscard]] virtual std::size_t local_rows() const { return rows(); }
  /// Coordinates of theta: the columns of the rows for each output of the loss, [K x columns].
  /// Written d below.
  [[nodiscard]] virtual std::size_t features() const = 0;
  [[nodiscard]] virtual const Loss& loss() const = 0;

  /// Advances every unfinished chain by min(steps, T - step) Langevin steps. Bitwise reproducible
  /// for one backend and machine, however a run is cut into calls, whatever the number of threads
  /// and whatever else the machine does. Throws BadInput on chains of another length.
  virtual void advance(Ensemble& ensemble, std::uint64_t steps) = 0;

  /// out[C x d] = sum_i grad l(theta_c; x_i, y_i) for each row of theta [C x d]: the loss alone, no
  /// beta, no prior. Sums keep to accumulation_depth (core/summation.hpp).
  virtual void loss_gradients(MatrixView<const double> theta, MatrixView<double> out) = 0;

  /// out[C] = sum_i l(theta_c; x_i, y_i). Reads private data: diagnostics only.
  virtual void loss_values(MatrixView<const double> theta, std::span<double> out) = 0;

  // What an engine of several is made of (engine/sharded.hpp).

  /// One step of every unfinished chain, in order of chains, from the sums of their gradients
  /// [unfinished x d]: the bits of `advance`, where those are what it would find.
  virtual void step(Ensemble& ensemble, MatrixView<const double> gradients);
  /// [m x C] row-major: what `loss_values` adds up, one row after another; for one engine's rows
  /// behind another's, theirs one after another. Reads private data: diagnostics only.
  [[nodiscard]] virtual std::vector<double> loss_terms(MatrixView<const double> theta);

  /// out[k x k] = sum_i v_i v_i^T of vectors v_i of floats (times a power of two that P fixes),
  /// with ||v_i|| <= clip in exact arithmetic, for P [d x k] and clip >= 0. v_i is a function of
  /// (row i, P, clip) alone: not of its place, of the other rows, of how they are stored, nor of
  /// threads. It is about u_i = P^T x_i min(1, clip/||P^T x_i||): off by the roundings of the
  /// product in floats at most; numbers of u_i below the normal floats count as 0, and so does a
  /// u_i that leaves the floats. Products of floats are exact, sums in double keep to
  /// accumulation_depth, the same bits for any number of threads; finite whatever finite rows, P
  /// and clip are. Work n (d k + k^2/2), and n k for the first where no column of P has more than
  /// two entries that are not 0. Throws BadInput on a P of other rows or that is not finite, or
  /// such a clip.
  virtual void second_moments(MatrixView<const double> P, double clip, MatrixView<double> out) = 0;

  /// out[local n x k] = the v_i of `second_moments`, here plain floats: what an engine of their own
  /// can be loaded with (docs/theory/metric.md). Work 2 n d k. Throws as `second_moments` does.
  virtual void clipped_rows(MatrixView<const double> P, double clip, MatrixView<float> out) = 0;

  /// The loss capped at `limits` in the metric of P [d x k]; one float a row, found by the first
  /// gradient. Throws as `second_moments` does, and on an information below 1/4.
  [[nodiscard]] virtual std::unique_ptr<CappedLoss> capped_loss(MatrixView<const double> P,
                                                                const ScoreLimits& limits) = 0;

  /// sum_i (log length of row i - lengths.middle()), each within lengths.half(): a row's is a function
  /// of (row, lengths) alone, not of its place, of the other rows, nor of how they are stored; that
  /// of a row of zeros is at the lower end. In double whatever the engine's arithmetic; sums keep to
  /// accumulation_depth. Work n d. Throws BadInput on lengths of other rows, or that are not finite.
  [[nodiscard]] virtual double log_lengths(const RowLengths& lengths) = 0;

  // What is asked rarely. In double whatever the engine's arithmetic, in an order that the number
  // of rows fixes: the same bits on every engine of a machine.

  /// out[C x d] = sum_i w_i grad l(theta_c; x_i, y_i), weights w [local n] of either sign. Sums
  /// keep to accumulation_depth. Throws BadInput where there is another number of weights.
  virtual void weighted_loss_gradients(MatrixView<const double> theta,
                                       std::span<const double> weights, MatrixView<double> out) = 0;
  /// sum_i l(theta; x_i, y_i) and its gradient out[d], rows one after another: the readable
  /// definition of `loss_values` and `loss_gradients`, and what a minimizer is found by.
  [[nodiscard]] virtual double plain_value(std::span<const double> theta) const = 0;
  virtual void plain_gradient(std::span<const double> theta, std::span<double> out) const = 0;
  /// scale X^T diag(f''(X theta, y)) X, rows one after another; not to outlive this.
  [[nodiscard]] virtual std::unique_ptr<LossHessian> hessian(std::span<const double> theta,
                                                             double scale) const = 0;
  /// max |x_i . theta + o_i| over rows and outputs; NaN when one is.
  [[nodiscard]] virtual double largest_logit(std::span<const double> theta) const = 0;
  /// sum_i l(theta; x_i, y_i) - l(w; x_i, y_i) in 50 digits, as an unevaluated sum of doubles that
  /// is exactly it. theta [d] is the exact sum of the rows of `terms` [k x d].
  /// Throws BadInput on a loss that was not compiled in.
  [[nodiscard]] virtual std::array<double, 4> exact_difference(MatrixView<const double> terms,
                                                               std::span<const double> w) const = 0;
  [[nodiscard]] virtual RowNorms row_norms() const = 0;
  /// max |o_i| of the rows' offsets; 0 where they have none.
  [[nodiscard]] virtual double largest_offset() const { return 0; }
  /// The first row longer than the limit, without its intercept, or with a label that is none of
  /// its kind (LabelKind).
  [[nodiscard]] virtual std::optional<RowFault> first_fault(const RowLimits& limits) const = 0;
};

/// Like `Engine::advance`, and after every step but a chain's last one theta is projected on
/// ||theta|| <= ball (core/ball.hpp), by the host, the same for every engine. What the last step
/// leaves is to be rounded to the release grid before it is projected (docs/theory/ball.md). Chains start
/// in the ball. Throws what `require_ball` throws.
void advance_in_ball(Engine& engine, Ensemble& ensemble, double ball, std::uint64_t steps);

class Backend {
 public:
  virtual ~Backend() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// "double on float storage; AVX-512; 2 threads": one line for people.
  [[nodiscard]] virtual std::string description() const = 0;
  /// By what rows in other coordinates have their last places: the description without what does
  /// not round, as threads.
  [[nodiscard]] virtual std::string arithmetic() const { return description(); }
  /// Takes the data in. The views must outlive the engine. Throws BadInput on zero rows, zero
  /// columns, labels of the wrong length, or offsets beside a loss of several outputs.
  virtual std::unique_ptr<Engine> load(const Rows& x, std::span<const float> y,
                                       const Loss& loss) = 0;
};

/// The rows of `clipped_rows` on an engine of their own, which holds them: of `backend`, which the
/// engine is of, with the labels y [local n] and offsets [local n] (null: none) that it was loaded
/// with, and its loss, theta [K x k] (docs/theory/metric.md). Needs local n x k floats of memory, and what
/// the backend takes. Throws as `clipped_rows` and `load` do.
std::shared_ptr<Engine> load_in_metric(Engine& engine, Backend& backend, std::span<const float> y,
                                       const float* offset, MatrixView<const double> P,
                                       double clip);

/// What `gibbsite devices` lists.
struct BackendInfo {
  std::string name;  ///< "reference", "cpu", "cuda"
  bool available = false;
  Message description;  ///< or why it is not available
};
std::vector<BackendInfo> list_backends();

/// Where a throughput run takes its normals from.
enum class NoiseSource {
  streams,  ///< the chains' keys: pure in (key, stream, step, coordinate)
  curand,   ///< the library's Philox, seeded by the first chain's key: no certificate, and a run's
            ///< bits depend on how its chains are grouped
};

struct BackendOptions {
  Arithmetic arithmetic =
      Arithmetic::float64;                   ///< cuda: any; cpu: not bfloat16; reference: float64
  std::string design = "auto";               ///< cuda only: docs/reference/cuda.md names them
  NoiseSource noise = NoiseSource::streams;  ///< cuda only
  std::size_t threads = 0;  ///< cpu only: so many, at most 64; 0: thread_count() of them
};

/// "auto" (the fastest one available), "reference", "cpu", "cuda". An explicit name never falls
/// back. Throws BadInput on an unknown name, NotCompiled / NoDevice / CudaError when it cannot be
/// used.
std::unique_ptr<Backend> make_backend(std::string_view name, const BackendOptions& options = {});

}  // namespace gibbsite
