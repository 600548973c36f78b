// The backend that asks: it has no row, and adds what shares answer as one process would.
#include "gibbsite/engine/remote.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/format_message.hpp"
#include "engine/distributed/distributed_sums.hpp"
#include "engine/remote/program.hpp"
#include "engine/remote/wire.hpp"
#include "engine/sharded/tree.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/summation.hpp"

namespace gibbsite {
namespace remote {
namespace {

using distributed::Question;
using sharded::Node;

/// Questions and what comes back, checked.
class ShareTransport final : public distributed::Transport {
 public:
  ShareTransport(const RemoteTable& table, ShareCarrier& carrier, Bytes program)
      : table_(table), carrier_(carrier), program_(program) {
    const auto block_of = [](std::uint64_t row) { return (row + row_block - 1) / row_block; };
    const std::size_t blocks = block_of(table.bounds.back());
    for (std::size_t p = 0; p < shares(); ++p) {
      const auto of_share =
          sharded::nodes_of(block_of(table.bounds[p]), block_of(table.bounds[p + 1]), blocks);
      nodes_.insert(nodes_.end(), of_share.begin(), of_share.end());
      counts_.push_back(of_share.size());
    }
    additions_ = sharded::additions(nodes_, blocks);
  }

  void sum(const Question& q, std::span<double> out) override {
    const std::size_t size = out.size();
    auto parts = answers(q, [&](std::size_t p) { return counts_[p] * size; });
    std::vector<double*> at;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      for (std::size_t k = 0; k < counts_[p]; ++k) at.push_back(parts[p].data() + k * size);
    }
    for (const auto& [left, right] : additions_) {
      for (std::size_t i = 0; i < size; ++i) at[left][i] += at[right][i];
    }
    std::copy_n(at[0], size, out.begin());
  }
  std::vector<std::vector<double>> ask_all(const Question& q, std::size_t size) override {
    return answers(q, [size](std::size_t /*share*/) { return size; });
  }
  void relay(const Question& q, std::span<double> state) override {
    const std::string question = q.bytes();
    const Answer answer =
        answer_of(carrier_.relay(question, bytes_of(Answer{{}, {state.begin(), state.end()}})));
    require_stamps(answer.stamps, 0, shares(), raw_digest(question));
    require_size(answer.numbers.size(), state.size());
    std::ranges::copy(answer.numbers, state.begin());
  }
  [[nodiscard]] std::string design() const override {
    return fmt::format("rows in {} shares elsewhere", shares());
  }

 private:
  [[nodiscard]] std::size_t shares() const { return table_.digests.size(); }
  template <class Size>
  [[nodiscard]] std::vector<std::vector<double>> answers(const Question& q,
                                                         const Size& size) const {
    const std::string question = q.bytes();
    const Bytes digest = raw_digest(question);
    const std::vector<std::string> all = carrier_.ask(question);
    require_size(all.size(), shares());
    std::vector<std::vector<double>> out;
    for (std::size_t p = 0; p < shares(); ++p) {
      Answer answer = answer_of(all[p]);
      require_stamps(answer.stamps, p, p + 1, digest);
      require_size(answer.numbers.size(), size(p));
      out.push_back(std::move(answer.numbers));
    }
    return out;
  }
  // Checks shares [first, last): a lost share may have been made again, on another machine.
  void require_stamps(std::span<const Stamp> stamps, std::size_t first, std::size_t last,
                      const Bytes& question) const {
    require_size(stamps.size(), last - first);
    for (std::size_t p = first; p < last; ++p) {
      const Stamp& stamp = stamps[p - first];
      if (!std::ranges::equal(stamp.rows, table_.digests[p], [](unsigned char a, char b) {
            return a == static_cast<unsigned char>(b);
          })) {
        throw BadInput(fmt::format(
            "shares: rows {} to {} are not those of before: what makes them gives other rows "
            "each "
            "time, so nothing is released; give a table that is the same whenever it is read",
            table_.bounds[p] + 1, table_.bounds[p + 1]));
      }
      if (stamp.program != program_) {
        throw BadInput(fmt::format(
            "shares: rows {} to {} are asked by another version or instruction set than here; "
            "run "
            "the same gibbsite on machines of one kind",
            table_.bounds[p] + 1, table_.bounds[p + 1]));
      }
      if (stamp.question != question) {
        throw BadInput(fmt::format("shares: rows {} to {} answered another question; report this",
                                   table_.bounds[p] + 1, table_.bounds[p + 1]));
      }
    }
  }
  static void require_size(std::size_t got, std::size_t expected) {
    if (got != expected) {
      throw BadInput(
          fmt::format("shares: {} answers or numbers where {} were asked for; report "
                      "this",
                      got, expected));
    }
  }

  const RemoteTable& table_;
  ShareCarrier& carrier_;
  Bytes program_;
  std::vector<Node> nodes_;          // of all shares
  std::vector<std::size_t> counts_;  // of each share
  std::vector<std::pair<std::size_t, std::size_t>> additions_;
};

class RemoteBackend final : public Backend {
 public:
  RemoteBackend(std::unique_ptr<Backend> local, RemoteTable table, ShareCarrier& carrier)
      : local_(std::move(local)), table_(std::move(table)), carrier_(carrier) {
    if (local_->name() != "cpu") {
      throw BadInput(format_message("{} {}", Field{"backend"}, local_->name()),
                     "rows elsewhere are asked on the CPU", "give cpu");
    }
    const auto& bounds = table_.bounds;
    if (bounds.size() != table_.digests.size() + 1 || bounds.front() != 0 ||
        !std::ranges::is_sorted(bounds)) {
      throw BadInput("shares: their bounds are not in order; give share_bounds(rows, shares)");
    }
    if (bounds.back() == 0) throw BadInput("data: there are no rows; give at least one");
  }

  [[nodiscard]] std::string_view name() const override { return local_->name(); }
  [[nodiscard]] std::string description() const override {
    return fmt::format("{}; {} shares elsewhere", local_->description(), table_.digests.size());
  }
  [[nodiscard]] std::string arithmetic() const override { return local_->arithmetic(); }
  std::unique_ptr<Engine> load(const Rows& x, std::span<const float> y, const Loss& loss) override {
    if (x.rows > 0 || !y.empty()) {
      throw BadInput("data: rows lie elsewhere, and some are here too; give one table");
    }
    const std::uint64_t rows = table_.bounds.back();
    auto stepper = std::make_unique<distributed::RowOfZeros>(
        *local_, x.cols, loss, Rows::Whole{rows, table_.entries}, table_.is_sparse);
    const distributed::Table table{&loss, x.cols, rows, 0, stepper->engine().certifiable()};
    return std::make_unique<distributed::DistributedSums>(
        table,
        std::make_unique<ShareTransport>(table_, carrier_, raw_digest(name_of_program(*local_))),
        std::move(stepper));
  }

 private:
  std::unique_ptr<Backend> local_;
  RemoteTable table_;
  ShareCarrier& carrier_;
};

}  // namespace
}  // namespace remote

std::unique_ptr<Backend> make_remote_backend(std::unique_ptr<Backend> local, RemoteTable table,
                                             ShareCarrier& carrier) {
  return std::make_unique<remote::RemoteBackend>(std::move(local), std::move(table), carrier);
}

}  // namespace gibbsite
