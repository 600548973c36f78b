#pragma once
// A share of the rows: what it answers, by engines of the nodes of the tree that it is.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/distributed/question.hpp"
#include "engine/host_rows.hpp"
#include "engine/ordered_sums.hpp"
#include "engine/sharded/tree.hpp"

namespace gibbsite::distributed {

/// Rows of one place that are asked.
class AskedRows {
 public:
  virtual ~AskedRows() = default;
  /// Whether it may fail where others do not, as a GPU does.
  [[nodiscard]] virtual bool can_fail() const { return false; }
  /// Writes the answers of the nodes, one after another.
  virtual void of_nodes(const Question& q, std::span<double> out) = 0;
  virtual void of_share(const Question& q, std::span<double> out) = 0;
  [[nodiscard]] virtual Change in_turn(const Question& q) = 0;
  /// How rows on that many ranks are kept and asked: for people.
  [[nodiscard]] virtual std::string design_on(std::size_t ranks) const = 0;
};

/// Where a share lies in its table, and its nodes as blocks of the table.
struct Place {
  std::uint64_t before = 0;  ///< rows
  Rows::Whole whole;
  std::span<const sharded::Node> nodes;
  bool one_node = false;  ///< a GPU's: all rows are one node, if there are any
};

class ShareRows final : public HostRows, public AskedRows {
 public:
  /// Rows [first, last) of the share.
  struct Node {
    std::size_t first, last;
    std::unique_ptr<Engine> engine;
  };

  ShareRows(Backend& local, const Rows& x, std::span<const float> y, const Loss& loss,
            const Place& place);

  [[nodiscard]] bool can_fail() const override { return one_node_; }
  void of_nodes(const Question& q, std::span<double> out) override;
  void of_share(const Question& q, std::span<double> out) override;
  [[nodiscard]] Change in_turn(const Question& q) override { return q.of->in_turn(*this, q); }

  [[nodiscard]] std::string design_on(std::size_t ranks) const override;

  // For questions in turn.
  [[nodiscard]] std::span<const Node> nodes() const { return nodes_; }
  [[nodiscard]] std::uint64_t before() const { return before_; }
  /// Those of the nodes, kept for the next question.
  std::span<const std::unique_ptr<CappedLoss>> capped_of(const Question& q);
  /// That at theta `first` and scale `number`, kept for the next question.
  const HostHessian& hessian_of(const Question& q);
  static OrderedSums& ordered(Engine& engine);
  [[nodiscard]] std::vector<double> loss_terms(MatrixView<const double> theta) override;
  using HostRows::add_people_scores, HostRows::add_plain_gradient, HostRows::exact_difference_from,
      HostRows::plain_value_from, HostRows::row_norms_from;

  void clipped_rows(MatrixView<const double> P, double clip, MatrixView<float> out) override;

 private:
  void loss_gradients(MatrixView<const double> theta, MatrixView<double> out) override;
  void loss_values(MatrixView<const double> theta, std::span<double> out) override;

  std::uint64_t before_;
  bool one_node_;
  std::vector<Node> nodes_;

  // What was found for the last questions.
  struct Kept {
    std::vector<double> metric;
    double clip = 0;
    std::vector<std::unique_ptr<CappedLoss>> of_nodes;
  };
  std::vector<Kept> capped_;  // at most two, the last one first
  std::unique_ptr<HostHessian> hessian_;
  std::vector<double> hessian_theta_;
  double hessian_scale_ = 0;
};

}  // namespace gibbsite::distributed
