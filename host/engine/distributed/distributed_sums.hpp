#pragma once
// The engine of rows that lie in several places: it has none of them, asks by a transport and
// answers for the whole table.
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/distributed/question.hpp"
#include "engine/distributed/transport.hpp"
#include "engine/people_scores.hpp"
#include "gibbsite/engine/engine.hpp"

namespace gibbsite::distributed {

/// An engine of one row of zeros: it is kept as the whole table is, steps chains and is asked
/// nothing.
class RowOfZeros {
 public:
  RowOfZeros(Backend& local, std::size_t columns, const Loss& loss, const Rows::Whole& whole,
             bool sparse, bool in_memory = true);
  [[nodiscard]] Engine& engine() const { return *engine_; }

 private:
  std::vector<float> zeros_;
  std::array<std::uint64_t, 2> no_entries_{};
  std::array<float, 1> label_{1.0F};
  std::unique_ptr<Engine> engine_;
};

/// What an engine of distributed rows knows of its table.
struct Table {
  const Loss* loss = nullptr;
  std::size_t columns = 0;
  std::uint64_t rows = 0;
  std::uint64_t local_rows = 0;
  bool certifiable = false;
};

class DistributedSums final : public Engine, public PeopleScores, private ChainStepper {
 public:
  /// `stepper`: null if chains do not step on these rows.
  DistributedSums(const Table& table, std::unique_ptr<Transport> transport,
                  std::unique_ptr<RowOfZeros> stepper);

  /// Asks any question that was declared: writes the answer, or, if it goes from share to share,
  /// takes out as the state before the first. Throws BadInput if it does not fit these rows.
  void ask(const Question& q, std::span<double> out) const;

  [[nodiscard]] bool certifiable() const override { return table_.certifiable; }
  [[nodiscard]] std::string design() const override { return transport_->design(); }
  [[nodiscard]] std::size_t rows() const override { return table_.rows; }
  [[nodiscard]] std::size_t local_rows() const override { return table_.local_rows; }
  [[nodiscard]] std::size_t features() const override { return table_.columns * outputs(); }
  [[nodiscard]] const Loss& loss() const override { return *table_.loss; }
  [[nodiscard]] ChainStepper* stepper() override { return stepper_ ? this : nullptr; }

  void loss_gradients(MatrixView<const double> theta, MatrixView<double> out) override;
  void loss_values(MatrixView<const double> theta, std::span<double> out) override;
  void loss_values_and_gradients(MatrixView<const double> theta, std::span<double> losses,
                                 MatrixView<double> out) override;
  void second_moments(MatrixView<const double> P, double clip, MatrixView<double> out) override;
  void clipped_rows(MatrixView<const double> P, double clip, MatrixView<float> out) override;
  [[nodiscard]] std::unique_ptr<CappedLoss> capped_loss(MatrixView<const double> P,
                                                        const ScoreLimits& limits) override;
  [[nodiscard]] double log_lengths(const RowLengths& lengths) override;
  void people_score_moments(MatrixView<const double> P, const ScoreLimits& limits,
                            std::span<const double> theta, const PersonOfRow& rows,
                            MatrixView<double> out) override;
  void weighted_loss_gradients(MatrixView<const double> theta, std::span<const double> weights,
                               MatrixView<double> out) override;
  [[nodiscard]] double plain_value(std::span<const double> theta) const override;
  void plain_gradient(std::span<const double> theta, std::span<double> out) const override;
  [[nodiscard]] std::unique_ptr<LossHessian> hessian(std::span<const double> theta,
                                                     double scale) const override;
  [[nodiscard]] double largest_logit(std::span<const double> theta) const override;
  [[nodiscard]] double largest_offset() const override;
  [[nodiscard]] std::array<double, 4> exact_difference(MatrixView<const double> terms,
                                                       std::span<const double> w) const override;
  [[nodiscard]] RowNorms row_norms() const override;
  [[nodiscard]] std::optional<RowFault> first_fault(const RowLimits& limits) const override;

 private:
  class Capped;
  class Hessian;

  void advance(Ensemble& ensemble, std::uint64_t steps) override;
  void step(Ensemble& ensemble, MatrixView<const double> gradients) override;

  [[nodiscard]] std::size_t outputs() const { return table_.loss->outputs(); }
  // out = the sum, by the tree or by what is lost of sums in turn.
  void add_up(const Question& by_tree, const Declared& ordered, std::span<double> out) const;
  void find_gradients(std::span<const double> theta, std::span<double> out, bool agreed) const;
  // out [k x k] = the symmetric matrix whose lower triangle is answered.
  void ask_symmetric(const Question& q, MatrixView<double> out) const;

  Table table_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<RowOfZeros> stepper_;
  bool ordered_;  // sums of rows one after another (OrderedSums), not of the tree
};

}  // namespace gibbsite::distributed
