#pragma once
// What every backend implements: it owns the rows and answers questions by sums over them
// (RowSums). Most can step chains too (ChainStepper). Who is above asks, and reads no row.
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

/// The arithmetic of gradients; the state of a chain is double everywhere.
enum class Arithmetic {
  float64,   ///< double on float storage: the only one that a certificate covers
  float32,   ///< throughput, as pairs of bfloat16 where that is faster: no certificate
  bfloat16,  ///< throughput on matrix units, thetas relative to a center: no certificate
};
std::string_view to_string(Arithmetic arithmetic);

/// Norms of the rows by double sums, with d roundings for the largest and n + d for the sum.
struct RowNorms {
  double largest_squared = 0;  ///< max_i ||x_i||^2
  double sum_squares = 0;      ///< sum_i ||x_i||^2
};

/// Limits on every row that a plan relies on.
struct RowLimits {
  double norm_squared = 0;  ///< at most; the intercept's 1 is not counted
  bool intercept = false;   ///< the last feature is 1 everywhere
  LabelKind label = LabelKind::two_classes;
  double label_bound = 1;   ///< of amounts: |y| is at most that; of several classes: y is below it
  double offset_bound = 0;  ///< |o| is at most that
};
/// A row that breaks the limits.
struct RowFault {
  enum class What { length_or_intercept, label, offset, weight };
  std::size_t row = 0;  ///< from 0
  What what = What::length_or_intercept;
};

/// The Hessian scale X^T diag(f''(X theta, y)) X at one theta. For K outputs it is the sum of
/// grad_z^2 f (x) x x^T.
class LossHessian {
 public:
  virtual ~LossHessian() = default;
  /// Writes the whole matrix to out [d x d]. Work n d^2/2.
  virtual void dense(MatrixView<double> out) const = 0;
  /// Adds the diagonal to out [d], row by row. Work n d.
  virtual void add_diagonal(std::span<double> out) const = 0;
  /// Adds the product with v [d] to out [d], row by row, without forming a matrix. Work 2 n d.
  virtual void add_product(std::span<const double> v, std::span<double> out) const = 0;
};

/// Limits on what one row adds to a sum of scores, and to an information matrix.
struct ScoreLimits {
  double clip = 0;  ///< C: the norm of a row's score
  /// B / C^2, at least 1/4, where B bounds the Frobenius norm of a row's information. Infinite: no
  /// limit.
  double information = std::numeric_limits<double>::infinity();
  /// N, at least 1: slopes of counts up to N are weighted by what such counts vary. 0: they are
  /// held, as those of amounts are.
  double largest_count = 0;
};

/// A pair of classes first < second of softmax-K, which has K (K - 1)/2 of them.
struct ClassPair {
  std::size_t first = 0;
  std::size_t second = 1;
};
/// All pairs of `classes` >= 2 classes: {0, 1}, {0, 2}, {1, 2}, {0, 3}, ...
std::vector<ClassPair> class_pairs(std::size_t classes);

/// The capped loss: a sum of scores, each capped by its row's own length (docs/theory/whitened.md).
/// cap_i is min(sup |f'|, clip / ||P^T x_i||), rounded down to a float so that cap_i ||P^T x_i|| <=
/// clip in exact arithmetic. It is sup |f'| if the row is 0. With r_i = grad_z f of one row:
///
///   logistic, softmax   score w_i r_i, w_i = min(1, cap_i / the largest ||r_i|| of any label,
///                                                limits.information cap_i^2 / s_i)
///   other losses        score w_i clamp(r_i, -cap_i, cap_i),
///                       w_i = min(1, limits.information cap_i^2)
///   poisson, counts up to limits.largest_count
///                       score w_i clamp(q_i r_i, -cap_i, cap_i), q_i as count_score has it
///
/// s_i is p (1 - p) for logistic; for softmax it is the square root of the sum of (p_a p_b)^2 over
/// all pairs of classes. With class weights f is the loss before weights, and the score is
/// multiplied by w(y_i) <= 1. A score is a function of (row, P, limits, theta) alone, whatever the
/// row's place, the other rows, the layout or threads. A CappedLoss must not outlive its engine.
class CappedLoss {
 public:
  virtual ~CappedLoss() = default;
  /// Writes the sum of scores out[K x columns] = sum_i score_i x_i^T, where ||score_i|| <= cap_i
  /// exactly. Returns the sum of the curvatures, each in [0, sup tr grad_z^2 f]: w_i tr grad_z^2 f
  /// for logistic and softmax, w_i f'' [|f'| < cap_i] for the others. Sums keep to
  /// accumulation_depth. Of weighted counts it is w_i q_i f''. Reads X once.
  virtual double gradient(std::span<const double> theta, std::span<double> out) = 0;
  /// Writes the information matrix out[k x k] = sum_i v_i v_i^T with v_i = P^T x_i sqrt(the row's
  /// curvature) in floats. In exact arithmetic ||v_i||^2 <= limits.information clip^2. It is the
  /// derivative of the sum of scores, for logistic of its mean. Everything else is as in
  /// RowSums::second_moments. Throws BadInput on a loss of several outputs, and if information is
  /// not limited.
  virtual void information(std::span<const double> theta, MatrixView<double> out) = 0;
  /// Writes the second moments of the scores out[k x k] = sum_i v_i v_i^T with v_i = P^T x_i
  /// score_i in floats. In exact arithmetic ||v_i|| <= limits.clip. Everything else is as in
  /// RowSums::second_moments. Of a loss of K outputs, whose scores add up to 0 over them, v_i is
  /// the score in K - 1 orthonormal contrasts, one [k] behind the other: out[(K - 1) k x (K - 1)
  /// k]. Throws BadInput on an out of another size.
  virtual void score_moments(std::span<const double> theta, MatrixView<double> out) = 0;
  /// Writes the information matrix of one pair of classes a < b, with v_i = P^T x_i sqrt(w_i p_a
  /// p_b) and the probabilities p. Over all pairs, the v_i of one row have sum ||v_i||^4 <=
  /// (limits.information clip^2)^2 in exact arithmetic. sum_ab (e_a - e_b)(e_a - e_b)^T (x) out_ab
  /// is the derivative of the sum of scores' mean. Throws BadInput on another loss than softmax, on
  /// a pair that is none of its classes, and if information is not limited.
  virtual void information_between(std::span<const double> theta, ClassPair pair,
                                   MatrixView<double> out) = 0;
};

/// A data set and a loss that answer questions by sums over rows. If rows have weights
/// (Rows::weight), every sum over rows below is of w_i times the row's term: one definition for
/// losses, gradients, Hessians, moments, scores, curvatures and lengths. A weight of 0 is a row
/// that is not there. Norms and largest values are of all rows.
class RowSums {
 public:
  virtual ~RowSums() = default;
  /// True if the engine fulfils what a certified run needs: double gradients, and noise from the
  /// chains' own streams if it steps chains. The engine's author vouches for it.
  [[nodiscard]] virtual bool certifiable() const { return false; }
  /// How the last question was answered ("one-pass: ..."): one line for people, or empty.
  [[nodiscard]] virtual std::string design() const { return ""; }
  /// n, the number of rows of all ranks.
  [[nodiscard]] virtual std::size_t rows() const = 0;
  /// Number of rows of this process, which `clipped_rows` and `weighted_loss_gradients` are about.
  /// Equal to rows() unless rows are on several ranks (engine/sharded.hpp).
  [[nodiscard]] virtual std::size_t local_rows() const { return rows(); }
  /// Number of coordinates of theta, [K x columns]: the columns of the rows for each output of the
  /// loss. Written d below.
  [[nodiscard]] virtual std::size_t features() const = 0;
  [[nodiscard]] virtual const Loss& loss() const = 0;

  /// Writes loss gradients out[C x d] = sum_i grad l(theta_c; x_i, y_i), for each row of theta [C x
  /// d]: the loss alone, no beta, no prior. Sums keep to accumulation_depth (core/summation.hpp).
  virtual void loss_gradients(MatrixView<const double> theta, MatrixView<double> out) = 0;

  /// Writes loss values out[C] = sum_i l(theta_c; x_i, y_i). Reads private data: diagnostics only.
  virtual void loss_values(MatrixView<const double> theta, std::span<double> out) = 0;

  /// Both: `values` [C] up to the order of its sums, `gradients` [C x d] with the bits of
  /// `loss_gradients`. An engine that can reads X once. Reads private data: diagnostics only.
  virtual void loss_values_and_gradients(MatrixView<const double> theta, std::span<double> values,
                                         MatrixView<double> gradients);

  /// The terms [m x C] row-major that `loss_values` adds up, one row after another: of engines of
  /// consecutive rows, the terms of the first come before those of the next. Reads private data:
  /// diagnostics only.
  [[nodiscard]] virtual std::vector<double> loss_terms(MatrixView<const double> theta);

  /// Second moments out[k x k] = sum_i v_i v_i^T of clipped rows, for P [d x k] and clip >= 0. v_i
  /// are floats (times a power of two that P fixes) with ||v_i|| <= clip in exact arithmetic. v_i
  /// is a function of (row i, P, clip) alone, whatever its place, the other rows, the layout or
  /// threads. If rows have weights, v_i is multiplied by sqrt(w_i), rounded down.
  /// v_i approximates u_i = P^T x_i min(1, clip/||P^T x_i||), up to the roundings of the product in
  /// floats. Numbers of u_i below the normal floats count as 0, and so does a u_i beyond the
  /// floats. Products of floats are exact, and sums in double keep to accumulation_depth, with the
  /// same bits for any number of threads. The result is finite for all finite rows, P and clip.
  /// Work n (d k + k^2/2); n k in place of n d k if no column of P has more than two nonzeros.
  /// Throws BadInput if P has other rows or is not finite, or clip is illegal.
  virtual void second_moments(MatrixView<const double> P, double clip, MatrixView<double> out) = 0;

  /// Writes the v_i of `second_moments` without weights, here plain floats, to out [local n x k];
  /// another engine
  /// can be loaded with them (docs/theory/metric.md). Work 2 n d k. Throws as `second_moments`.
  virtual void clipped_rows(MatrixView<const double> P, double clip, MatrixView<float> out) = 0;

  /// The loss capped at `limits` in the metric of P [d x k]. It keeps one float for each row, which
  /// the first gradient computes. Throws as `second_moments`, and if limits.information is below
  /// 1/4.
  [[nodiscard]] virtual std::unique_ptr<CappedLoss> capped_loss(MatrixView<const double> P,
                                                                const ScoreLimits& limits) = 0;

  /// Returns sum_i (log length of row i - lengths.middle()), each term clamped to lengths.half() on
  /// either side. A term is a function of (row, lengths) alone, whatever its place, the other rows
  /// or the layout; that of a row of zeros is at the lower end. It is computed in double, whatever
  /// the engine's arithmetic, and sums keep to accumulation_depth. Work n d. Throws BadInput if
  /// lengths are for other rows, or not finite.
  [[nodiscard]] virtual double log_lengths(const RowLengths& lengths) = 0;

  // What is asked rarely. In double whatever the engine's arithmetic, in an order that the number
  // of rows fixes: the same bits on every engine of a machine.

  /// Weighted gradients out[C x d] = sum_i w_i grad l(theta_c; x_i, y_i), for weights w [local n]
  /// of either sign. Sums keep to accumulation_depth. Throws BadInput on another number of weights.
  virtual void weighted_loss_gradients(MatrixView<const double> theta,
                                       std::span<const double> weights, MatrixView<double> out) = 0;
  /// The loss sum_i l(theta; x_i, y_i) and its gradient out [d], one row after another. They define
  /// `loss_values` and `loss_gradients` readably, and minimizers are found by them.
  [[nodiscard]] virtual double plain_value(std::span<const double> theta) const = 0;
  virtual void plain_gradient(std::span<const double> theta, std::span<double> out) const = 0;
  /// The Hessian scale X^T diag(f''(X theta, y)) X, one row after another. It must not outlive this
  /// engine.
  [[nodiscard]] virtual std::unique_ptr<LossHessian> hessian(std::span<const double> theta,
                                                             double scale) const = 0;
  /// Largest |x_i . theta + o_i| over rows and outputs; NaN if one is NaN.
  [[nodiscard]] virtual double largest_logit(std::span<const double> theta) const = 0;
  /// The difference sum_i l(theta; x_i, y_i) - l(w; x_i, y_i), computed in 50 digits and returned
  /// as an unevaluated sum of doubles that equals it. theta [d] is the exact sum of the rows of
  /// `terms` [k x d]. Throws BadInput on a loss that was not compiled in.
  [[nodiscard]] virtual std::array<double, 4> exact_difference(MatrixView<const double> terms,
                                                               std::span<const double> w) const = 0;
  [[nodiscard]] virtual RowNorms row_norms() const = 0;
  /// Largest |o_i| of the rows' offsets; 0 if there are none.
  [[nodiscard]] virtual double largest_offset() const { return 0; }
  /// The first row that breaks the limits: longer than allowed without its intercept, or with a
  /// label that is none of its kind (LabelKind), or with a weight outside [0, 1]. None if all rows
  /// keep them.
  [[nodiscard]] virtual std::optional<RowFault> first_fault(const RowLimits& limits) const = 0;
};

/// Steps chains by the gradients of an engine's rows.
class ChainStepper {
 public:
  virtual ~ChainStepper() = default;
  /// Advances every unfinished chain by min(steps, T - step) Langevin steps. Bitwise reproducible
  /// for one backend and machine, however a run is cut into calls, whatever the number of threads
  /// and whatever else the machine does. Throws BadInput on chains of another length.
  virtual void advance(Ensemble& ensemble, std::uint64_t steps) = 0;
  /// Makes one step of every unfinished chain, in order of chains, from the sums of their gradients
  /// [unfinished x d]. Bits are those of `advance` if it would find these sums.
  virtual void step(Ensemble& ensemble, MatrixView<const double> gradients) = 0;
};

/// A data set and a loss, resident on a backend: sums over the rows, and mostly chains on them.
class Engine : public RowSums {
 public:
  /// What steps chains on these rows; null if they answer questions only. The engine owns it.
  [[nodiscard]] virtual ChainStepper* stepper() { return nullptr; }
  /// Advances as `ChainStepper::advance`. Throws BadInput if there is no stepper.
  void advance(Ensemble& ensemble, std::uint64_t steps);
};

/// Advances as `Engine::advance`, and projects theta on ||theta|| <= ball after every step but a
/// chain's last one (core/ball.hpp). The host projects, with the same result for every engine. The
/// last theta must be rounded to the release grid before it is projected (docs/theory/ball.md).
/// Chains start in the ball. Throws as `require_ball`.
void advance_in_ball(Engine& engine, Ensemble& ensemble, double ball, std::uint64_t steps);

class Backend {
 public:
  virtual ~Backend() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// "double on float storage; AVX-512; 2 threads": one line for people.
  [[nodiscard]] virtual std::string description() const = 0;
  /// Names the arithmetic that determines the last places of rows in other coordinates: the
  /// description without what does not round, such as threads.
  [[nodiscard]] virtual std::string arithmetic() const { return description(); }
  /// Loads rows x [n x d], labels y [n] and a loss. The views must outlive the engine. Throws
  /// BadInput on zero rows, zero columns, labels of the wrong length, or offsets with a loss of
  /// several outputs.
  virtual std::unique_ptr<Engine> load(const Rows& x, std::span<const float> y,
                                       const Loss& loss) = 0;
};

/// What an engine was loaded with beside its rows: views.
struct LoadedTargets {
  std::span<const float> y;       ///< [local n]
  const float* offset = nullptr;  ///< [local n]; null: none
  const float* weight = nullptr;  ///< [local n]; null: none
};
/// Makes an engine that owns the rows of `clipped_rows`, with the loss of `engine` and theta [K x
/// k] (docs/theory/metric.md). `backend` is the one of `engine`, which was loaded with `targets`.
/// Needs local n x k floats of memory, and what the backend takes. Throws as `clipped_rows` and
/// `load`.
std::shared_ptr<Engine> load_in_metric(RowSums& engine, Backend& backend,
                                       const LoadedTargets& targets, MatrixView<const double> P,
                                       double clip);

/// A backend as `gibbsite devices` lists it.
struct BackendInfo {
  std::string name;  ///< "reference", "cpu", "cuda"
  bool available = false;
  Message description;  ///< or why it is not available
};
std::vector<BackendInfo> list_backends();

/// The source of normals of a throughput run.
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

/// Makes a backend: "auto" (the fastest one available), "reference", "cpu" or "cuda". An explicit
/// name never falls back to another. Throws BadInput on an unknown name. Throws NotCompiled,
/// NoDevice or CudaError if the backend cannot be used.
std::unique_ptr<Backend> make_backend(std::string_view name, const BackendOptions& options = {});

}  // namespace gibbsite
