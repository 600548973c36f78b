#pragma once
// Questions among ranks: each has a share of the rows, all ask the same, and each adds up what all
// answer (sums.hpp).
#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/distributed/share_rows.hpp"
#include "engine/distributed/transport.hpp"
#include "engine/sharded/sums.hpp"
#include "gibbsite/machine/communicator.hpp"

namespace gibbsite::sharded {

/// Ranks, and the flag that ends them at the next question; it may be null.
struct Asking {
  Communicator& ranks;
  const std::atomic<bool>* stop = nullptr;
};

class RankTransport : public distributed::Transport {
 public:
  using Question = distributed::Question;

  /// Leaves [leaves[p], leaves[p + 1]) of the tree lie on rank p, and this rank's are `rows`.
  RankTransport(const Asking& asking, std::span<const std::size_t> leaves,
                std::unique_ptr<distributed::AskedRows> rows);

  void sum(const Question& q, std::span<double> out) override;
  std::vector<std::vector<double>> ask_all(const Question& q, std::size_t size) override;
  void relay(const Question& q, std::span<double> state) override;
  [[nodiscard]] std::string design() const override { return rows_->design_on(ranks().size()); }
  RowSums& own_rows(const Message& elsewhere) override;
  void together(const std::function<void()>& f) override { ranks().together(f); }
  void agree(const Mark& mark) override;
  [[nodiscard]] bool leads() const override { return ranks().rank() == 0; }
  void broadcast(std::span<double> theta) override;

 protected:
  [[nodiscard]] Communicator& ranks() const { return asking_.ranks; }

 private:
  // f of this rank's rows: a rank that failed would leave the others waiting for its message.
  template <class F>
  void find(const F& f) {
    rows_->can_fail() ? ranks().together(f) : f();
  }

  Asking asking_;
  std::unique_ptr<distributed::AskedRows> rows_;
  NodeSums sums_;
  std::vector<double> mine_;  // of this rank's nodes
};

}  // namespace gibbsite::sharded
