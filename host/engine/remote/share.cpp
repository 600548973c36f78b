// A share of the rows on a worker: bytes in, bytes out.
#include <fmt/format.h>

#include <mutex>
#include <optional>
#include <utility>

#include "engine/checks.hpp"
#include "engine/distributed/share_rows.hpp"
#include "engine/remote/program.hpp"
#include "engine/remote/wire.hpp"
#include "engine/sharded/tree.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/floating_point.hpp"
#include "gibbsite/core/summation.hpp"
#include "gibbsite/engine/remote.hpp"
#include "gibbsite/version.hpp"

namespace gibbsite {
namespace remote {

std::string name_of_program(const Backend& local) {
  return fmt::format("gibbsite {}; {}: {}", GIBBSITE_VERSION, local.name(), local.arithmetic());
}

Bytes raw_digest(std::string_view bytes) {
  Digest digest;
  digest.add(bytes.data(), bytes.size());
  return digest.raw();
}

namespace {

// Rows and the backend that asks them.
struct AskedShare {
  std::unique_ptr<Backend> backend = make_backend("cpu", {.threads = 1});
  std::unique_ptr<distributed::ShareRows> rows;

  AskedShare(const Rows& x, std::span<const float> y, const Loss& loss, const SharePlace& place) {
    const auto block_of = [](std::uint64_t row) { return (row + row_block - 1) / row_block; };
    const auto nodes = sharded::nodes_of(
        block_of(place.first_row), block_of(place.first_row + x.rows), block_of(place.table_rows));
    rows = std::make_unique<distributed::ShareRows>(
        *backend, x, y, loss,
        distributed::Place{place.first_row, {place.table_rows, place.table_entries}, nodes});
  }

  // numbers: of the share before this one, of a question that is asked in turn.
  void answer(const distributed::Question& q, std::vector<double>& numbers) const {
    distributed::require_asked(*rows, q);
    const std::size_t size = q.of->size(*rows, q);
    switch (q.of->added) {
      case distributed::Added::by_tree:
        numbers.assign(rows->nodes().size() * size, 0.0);
        return rows->of_nodes(q, numbers);
      case distributed::Added::in_turn:
        distributed::require_asked(*rows, q, numbers.size());
        return rows->in_turn(q)(numbers);
      case distributed::Added::largest:
      case distributed::Added::first:
        numbers.assign(size, 0.0);
        return rows->of_share(q, numbers);
    }
  }
};

}  // namespace
}  // namespace remote

struct Share::State {
  State(HeldRows held, const SharePlace& at, std::string of)
      : rows(std::move(held)), place(at), loss(std::move(of)) {
    const Loss& asked = loss_named(loss);
    if (rows.rows() > 0) require_loadable(rows.view(), rows.y, asked);
    const std::uint64_t end = place.first_row + rows.rows();
    if (place.first_row % row_block != 0 || end > place.table_rows ||
        (end % row_block != 0 && end != place.table_rows)) {
      throw BadInput(fmt::format(
          "shares: rows {} to {} of {} are no whole blocks of {} rows; cut the table there",
          place.first_row, end, place.table_rows, row_block));
    }
    asks.emplace(rows.view(), rows.y, asked, place);
    stamp.rows = remote::raw_digest(bytes());
    stamp.program = remote::raw_digest(remote::name_of_program(*asks->backend));
  }
  [[nodiscard]] std::string bytes() const {
    return remote::Writer().add(place).add_all(loss).add_all(rows.bytes()).take();
  }

  HeldRows rows;
  SharePlace place;
  std::string loss;
  remote::Stamp stamp;
  std::mutex one_at_a_time;
  std::optional<remote::AskedShare> asks;
};

Share::Share(HeldRows rows, const SharePlace& place, const std::string& loss)
    : state_(std::make_unique<State>(std::move(rows), place, loss)) {}
Share::Share(Share&&) noexcept = default;
Share::~Share() = default;

const HeldRows& Share::rows() const { return state_->rows; }
std::string Share::digest() const {
  return {reinterpret_cast<const char*>(state_->stamp.rows.data()), state_->stamp.rows.size()};
}
std::string Share::bytes() const { return state_->bytes(); }

Share Share::parse(std::string_view bytes) {
  const StandardArithmetic arithmetic;
  SharePlace place;
  std::string loss, rows;
  remote::Reader(bytes).get(place).get_all(loss).get_all(rows).end();
  return {HeldRows::parse(rows), place, loss};
}

std::string Share::answer(std::string_view question, std::string_view before) const {
  const StandardArithmetic arithmetic;  // in whatever thread a worker calls from
  remote::Answer out = before.empty() ? remote::Answer{} : remote::answer_of(before);
  out.stamps.push_back(state_->stamp);
  out.stamps.back().question = remote::raw_digest(question);
  const std::scoped_lock lock(state_->one_at_a_time);
  state_->asks->answer(distributed::Question::parse(question), out.numbers);
  return remote::bytes_of(out);
}

}  // namespace gibbsite
