#pragma once
// How questions reach the shares of a table and answers come back: ranks (sharded/sharded.cpp) or
// workers (remote/remote.cpp).
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/distributed/question.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/message.hpp"
#include "gibbsite/engine/engine.hpp"

namespace gibbsite::distributed {

class Transport {
 public:
  virtual ~Transport() = default;
  /// Writes the sum over all blocks of the answers of nodes.
  virtual void sum(const Question& q, std::span<double> out) = 0;
  /// What each share answers, `size` numbers.
  virtual std::vector<std::vector<double>> ask_all(const Question& q, std::size_t size) = 0;
  /// Lets the state go from share to share; it is the last one's in the end.
  virtual void relay(const Question& q, std::span<double> state) = 0;

  /// How rows are kept and asked: for people.
  [[nodiscard]] virtual std::string design() const = 0;
  /// The rows that this process has, as an engine of their own. Throws BadInput with this message
  /// if it has none.
  virtual RowSums& own_rows(const Message& elsewhere) { throw BadInput(elsewhere); }

  /// Calls f, and throws on all ranks if it throws on one.
  virtual void together(const std::function<void()>& f) { f(); }

  // Chains step in one process, which sends theta to the others.

  /// Throws on all ranks unless all have the same mark.
  virtual void agree(const sharded::Mark& /*mark*/) {}
  [[nodiscard]] virtual bool leads() const { return true; }
  virtual void broadcast(std::span<double> /*theta*/) {}
  /// Whether it makes the steps by itself, and then it has.
  virtual bool advance(Ensemble& /*ensemble*/, std::uint64_t /*steps*/) { return false; }
};

}  // namespace gibbsite::distributed
