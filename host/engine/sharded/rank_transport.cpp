#include "engine/sharded/rank_transport.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "gibbsite/core/error.hpp"

namespace gibbsite::sharded {

RankTransport::RankTransport(const Asking& asking, std::span<const std::size_t> leaves,
                             std::unique_ptr<distributed::AskedRows> rows)
    : asking_(asking), rows_(std::move(rows)), sums_(asking.ranks, leaves, asking.stop) {}

void RankTransport::agree(const Mark& mark) {
  require_same(ranks().gather(mark.value_or_stop(asking_.stop)));
}

void RankTransport::sum(const Question& q, std::span<double> out) {
  const Mark mark = q.mark();
  if (!q.agreed) agree(mark);  // or messages would not fit
  const std::size_t size = out.size();
  mine_.assign(sums_.mine().size() * size, 0.0);
  find([&] {
    if (!mine_.empty()) rows_->of_nodes(q, mine_);
  });
  const auto sum = sums_(mark, size, [&](std::size_t k, std::span<double> part) {
    std::copy_n(mine_.data() + k * size, size, part.begin());
  });
  std::ranges::copy(sum, out.begin());
}

std::vector<std::vector<double>> RankTransport::ask_all(const Question& q, std::size_t size) {
  agree(q.mark());
  std::vector<double> mine(size);
  find([&] { rows_->of_share(q, mine); });
  const std::vector<double> all = ranks().gather(std::span<const double>(mine));
  std::vector<std::vector<double>> out;
  for (auto at = all.begin(); at != all.end(); at += static_cast<std::ptrdiff_t>(size)) {
    out.emplace_back(at, at + static_cast<std::ptrdiff_t>(size));
  }
  return out;
}

void RankTransport::relay(const Question& q, std::span<double> state) {
  if (!q.agreed) agree(q.mark());
  const std::size_t rank = ranks().rank(), last = ranks().size() - 1;
  // A rank adds its rows to one part while the one before it does to the next.
  std::vector<Question> parts;
  for (std::size_t c = 0; q.of->by_row && c < q.rows; ++c) parts.push_back(q.row(c));
  std::vector<distributed::Change> changes;
  find([&] {
    for (const Question& part : parts) changes.push_back(rows_->in_turn(part));
    if (parts.empty()) changes.push_back(rows_->in_turn(q));
  });
  std::optional<Message> error;
  const std::size_t size = state.size() / changes.size();
  for (std::size_t c = 0; c < changes.size(); ++c) {
    const std::span part = state.subspan(c * size, size);
    if (rank > 0) ranks().receive(std::as_writable_bytes(part), rank - 1);
    try {
      changes[c](part);
    } catch (const Error& failure) {  // others wait for what this rank sends
      if (q.agreed) throw;            // they ask nothing after it: leaving ends all ranks
      error = failure.message();
    }
    if (rank < last) ranks().send(std::as_bytes(part), rank + 1);
  }
  ranks().broadcast(std::as_writable_bytes(state), last);
  if (!q.agreed) ranks().agree(error);
}

RowSums& RankTransport::own_rows(const Message& elsewhere) {
  auto* const own = dynamic_cast<RowSums*>(rows_.get());
  return own != nullptr ? *own : Transport::own_rows(elsewhere);
}

void RankTransport::broadcast(std::span<double> theta) {
  ranks().broadcast(std::as_writable_bytes(theta), 0);
}

}  // namespace gibbsite::sharded
