#pragma once
// What every engine with its rows in host memory answers in the same way: the rare questions.
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/people_scores.hpp"
#include "gibbsite/engine/engine.hpp"

namespace gibbsite {

/// out[C] = the sum of terms [m x C], one row after another.
void add_terms(std::span<const double> terms, std::span<double> out);

/// The loss that `weight_beside` multiplies: the one before class weights if rows have weights.
const Loss& bare_loss(const Loss& loss, const Rows& x);
/// The weights of row i and of its class (`row_factor`) if rows have weights; else 1, as the loss
/// has those of classes.
double weight_beside(const Loss& loss, const Rows& x, std::span<const float> y, std::size_t i);

/// out [d x d] = the Hessian of K outputs over `columns` features, from its sum h [d x d] as
/// HostHessian::add leaves it.
void unfold_hessian(std::size_t columns, std::span<const double> h, MatrixView<double> out);

/// A Hessian whose rows are added to what those before them left.
class HostHessian : public LossHessian {
 public:
  explicit HostHessian(std::size_t columns) : columns_(columns) {}
  /// h [d x d] of all outputs: column-major, of a block of outputs the lower triangle.
  virtual void add(std::span<double> h) const = 0;
  void dense(MatrixView<double> out) const final {
    std::vector<double> h(out.rows * out.rows);
    add(h);
    unfold_hessian(columns_, h, out);
  }

 private:
  std::size_t columns_;
};

/// Rows, labels and loss, as `Backend::load` was given them: views only.
class HostRows : public Engine, public PeopleScores {
 public:
  [[nodiscard]] std::size_t rows() const override { return table_.rows; }
  [[nodiscard]] std::size_t features() const final { return columns() * outputs(); }
  /// Features of a row.
  [[nodiscard]] std::size_t columns() const { return table_.cols; }
  /// K of the loss: theta is [K x columns()].
  [[nodiscard]] std::size_t outputs() const { return loss_->outputs(); }
  [[nodiscard]] const Loss& loss() const final { return *loss_; }

  // The readable definitions, one thread.
  void second_moments(MatrixView<const double> P, double clip, MatrixView<double> out) override;
  void clipped_rows(MatrixView<const double> P, double clip, MatrixView<float> out) override;
  [[nodiscard]] std::unique_ptr<CappedLoss> capped_loss(MatrixView<const double> P,
                                                        const ScoreLimits& limits) override;

  void people_score_moments(MatrixView<const double> P, const ScoreLimits& limits,
                            std::span<const double> theta, const PersonOfRow& rows,
                            MatrixView<double> out) override;

  [[nodiscard]] double log_lengths(const RowLengths& lengths) override;
  void weighted_loss_gradients(MatrixView<const double> theta, std::span<const double> weights,
                               MatrixView<double> out) override;
  [[nodiscard]] double plain_value(std::span<const double> theta) const override;
  void plain_gradient(std::span<const double> theta, std::span<double> out) const override;
  [[nodiscard]] std::unique_ptr<LossHessian> hessian(std::span<const double> theta,
                                                     double scale) const override;
  [[nodiscard]] double largest_logit(std::span<const double> theta) const override;
  [[nodiscard]] std::array<double, 4> exact_difference(MatrixView<const double> terms,
                                                       std::span<const double> w) const override;
  [[nodiscard]] RowNorms row_norms() const override;
  [[nodiscard]] double largest_offset() const override;
  [[nodiscard]] std::optional<RowFault> first_fault(const RowLimits& limits) const override;

 protected:
  HostRows(const Rows& x, std::span<const float> y, const Loss& loss)
      : table_(x), labels_(y), loss_(&loss) {}

  // The questions whose rows are added one after another, of rows behind others: from what those
  // before them left. `before`: how many those are, for messages.
  [[nodiscard]] double plain_value_from(double sum, std::span<const double> theta) const;
  void add_plain_gradient(std::span<const double> theta, std::span<double> out) const;
  // sums [(last - first) x d] of people [first, last) plus the scores times the rows that are
  // theirs. place [n]: whose each row is; below 0: nobody's.
  void add_people_scores(MatrixView<const double> P, const ScoreLimits& limits,
                         std::span<const double> theta, std::span<const double> place,
                         std::array<std::size_t, 2> people, std::span<double> sums) const;
  [[nodiscard]] std::unique_ptr<HostHessian> host_hessian(std::span<const double> theta,
                                                          double scale) const;
  [[nodiscard]] std::array<double, 4> exact_difference_from(const std::array<double, 4>& sum,
                                                            MatrixView<const double> terms,
                                                            std::span<const double> w,
                                                            std::size_t before) const;
  [[nodiscard]] RowNorms row_norms_from(RowNorms norms) const;
  [[nodiscard]] const Rows& table() const { return table_; }
  [[nodiscard]] std::span<const float> labels() const { return labels_; }
  // The sum of the losses of rows [first, last) at logits z [K x (last - first)], and their
  // derivatives [K x (last - first)], all times the weights of rows and classes.
  [[nodiscard]] double loss_value(std::size_t first, std::size_t last,
                                  std::span<const double> z) const;
  void find_derivatives(std::size_t first, std::size_t last, std::span<const double> z,
                        std::span<double> r) const;

 private:
  // loss_value on top of the sum of rows before these.
  [[nodiscard]] double weighted_value_from(double sum, std::size_t first, std::size_t last,
                                           std::span<const double> z) const;
  // [K x (last - first)] of rows [first, last).
  [[nodiscard]] std::vector<double> logits(std::span<const double> theta, std::size_t first,
                                           std::size_t last) const;

  Rows table_;                     // [n x columns()]
  std::span<const float> labels_;  // [n]
  const Loss* loss_;
};

/// Rows in host memory on which chains step.
class SteppingRows : public HostRows, public ChainStepper {
 public:
  [[nodiscard]] ChainStepper* stepper() final { return this; }
  /// By the host's own streams of noise.
  void step(Ensemble& ensemble, MatrixView<const double> gradients) override;
  void advance(Ensemble& ensemble, std::uint64_t steps) override = 0;

 protected:
  using HostRows::HostRows;
};

}  // namespace gibbsite
