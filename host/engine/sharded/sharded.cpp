// Backends whose engines have a share of the rows and answer for all of them.
//
// What one process adds in the tree over blocks, ranks add as nodes of it (sums.hpp): a local
// engine for each node of the share. What it adds one row after another goes from rank to rank:
// each begins with what the rows before its own left, so that these rare questions take as long as
// on one process, but for what can be found before (terms, weights). A step is made by rank 0
// alone, which sends theta to the others: noise is drawn once, and no rank can go a way of its own.
// The questions are those of distributed/questions.hpp; ranks compare each and its arguments.
//
// A GPU has a whole share, as nodes would each be a pass too short for it, and ranks add what
// shares are in the tree over ranks: bits depend on their number. Steps of chains are the GPUs'
// own affair where they can talk (GpuShare); all else passes through the host.
#include "gibbsite/engine/sharded.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/checks.hpp"
#include "engine/distributed/distributed_sums.hpp"
#include "engine/distributed/share_rows.hpp"
#include "engine/gpu_share.hpp"
#include "engine/sharded/rank_transport.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/summation.hpp"
#include "gibbsite/version.hpp"

namespace gibbsite {
namespace sharded {
namespace {

using distributed::DistributedSums;
using distributed::RowOfZeros;
using distributed::ShareRows;

// What of the rows and of the program must be the same on all ranks, and what becomes of shares.
struct Shares {
  std::vector<std::uint64_t> bounds;  // [ranks + 1] of rows
  Rows::Whole whole;
  bool sparse = false, in_memory = true;
};

Shares meet(Communicator& ranks, const Backend& local, const Rows& x, std::span<const float> y,
            const Loss& loss) {
  ranks.together([&] {
    if (x.rows > 0) return require_loadable(x, y, loss);
    if (!y.empty()) throw BadInput("data: no rows, but labels; give one label per row");
  });
  const std::vector<std::string> words =
      ranks.gather(fmt::format("gibbsite {}; {} features; {}; {}: {}", GIBBSITE_VERSION, x.cols,
                               loss.name(), local.name(), local.arithmetic()));
  for (std::size_t p = 1; p < words.size(); ++p) {
    if (words[p] == words[0]) continue;
    throw BadInput(fmt::format(
        "ranks: rank {} is '{}' and rank 0 '{}'; start all with the same program, options and "
        "files, on machines of one kind",
        p, words[p], words[0]));
  }
  const auto rows = ranks.gather(std::uint64_t{x.rows});
  const auto entries = ranks.gather(
      x.is_sparse() || x.in_memory ? x.nonzeros() : std::uint64_t{0});  // pages stay as they are
  const auto kinds = ranks.gather(std::uint64_t{x.is_sparse()} | std::uint64_t{x.in_memory} << 1 |
                                  std::uint64_t{x.offset != nullptr} << 2 |
                                  std::uint64_t{x.weight != nullptr} << 3);
  Shares out;
  out.bounds.push_back(0);
  std::uint64_t kind = 0;
  bool first = true;
  for (std::size_t p = 0; p < rows.size(); ++p) {
    const std::uint64_t before = out.bounds.back();
    out.bounds.push_back(before + rows[p]);
    if (rows[p] == 0) continue;
    if (before % row_block != 0) {
      throw BadInput(fmt::format(
          "ranks: the rows of rank {} begin behind row {}; give shares of whole blocks of {} rows",
          p, before, row_block));
    }
    if (!first && kinds[p] != kind) {
      throw BadInput(fmt::format(
          "ranks: the rows of rank {} are kept in another way than those before (as entries, on "
          "disk, or with an exposure or weights); give all in one",
          p));
    }
    kind = kinds[p];
    first = false;
  }
  if (out.bounds.back() == 0) throw BadInput("data: there are no rows; give at least one");
  out.whole = {out.bounds.back(), std::accumulate(entries.begin(), entries.end(), std::uint64_t{0}),
               ranks.size()};
  out.sparse = (kind & 1) != 0;
  out.in_memory = (kind & 2) != 0;
  return out;
}

// Ranks whose GPUs exchange sums without the host.
class GpuTransport final : public RankTransport {
 public:
  GpuTransport(const Asking& asking, std::span<const std::size_t> leaves,
               std::unique_ptr<ShareRows> rows, GpuShare& share, DeviceRanks& gpus)
      : RankTransport(asking, leaves, std::move(rows)), share_(share), gpus_(gpus) {}
  bool advance(Ensemble& ensemble, std::uint64_t steps) override {
    if (!share_.exchanges()) return false;
    share_.advance_among(ensemble, steps, ranks(), gpus_);
    return true;
  }

 private:
  GpuShare& share_;
  DeviceRanks& gpus_;
};

class ShardedBackend final : public Backend {
 public:
  ShardedBackend(std::unique_ptr<Backend> local, const Asking& asking,
                 std::shared_ptr<DeviceRanks> gpus)
      : local_(std::move(local)), asking_(asking), gpus_(std::move(gpus)) {}

  [[nodiscard]] std::string_view name() const override { return local_->name(); }
  [[nodiscard]] std::string description() const override {
    return fmt::format("{}; {} ranks by {}{}", local_->description(), asking_.ranks.size(),
                       asking_.ranks.name(), gpus_ ? fmt::format(" and {}", gpus_->name()) : "");
  }
  [[nodiscard]] std::string arithmetic() const override { return local_->arithmetic(); }
  std::unique_ptr<Engine> load(const Rows& x, std::span<const float> y, const Loss& loss) override {
    const Shares shares = meet(asking_.ranks, *local_, x, y, loss);
    const std::size_t rank = asking_.ranks.rank();
    auto stepper = std::make_unique<RowOfZeros>(*local_, x.cols, loss, shares.whole, shares.sparse,
                                                shares.in_memory);
    auto* gpu = dynamic_cast<GpuShare*>(&stepper->engine());
    const std::vector<std::size_t> leaves = leaves_of(shares.bounds, gpu != nullptr);
    const std::vector<Node> nodes = nodes_of(leaves[rank], leaves[rank + 1], leaves.back());
    std::unique_ptr<ShareRows> rows;
    asking_.ranks.together([&] {
      rows = std::make_unique<ShareRows>(
          *local_, x, y, loss,
          distributed::Place{shares.bounds[rank], shares.whole, nodes, gpu != nullptr});
    });
    const distributed::Table table{&loss, x.cols, shares.whole.rows, x.rows,
                                   stepper->engine().certifiable()};
    std::unique_ptr<distributed::Transport> transport;
    if (gpu != nullptr && gpus_) {
      // A rank without rows takes the stepper, whose sums are zeros.
      if (!rows->nodes().empty()) gpu = &dynamic_cast<GpuShare&>(*rows->nodes()[0].engine);
      transport = std::make_unique<GpuTransport>(asking_, leaves, std::move(rows), *gpu, *gpus_);
    } else {
      transport = std::make_unique<RankTransport>(asking_, leaves, std::move(rows));
    }
    return std::make_unique<DistributedSums>(table, std::move(transport), std::move(stepper));
  }

 private:
  // Leaves of the tree before each rank's and in all: blocks, or ranks, those without rows too.
  static std::vector<std::size_t> leaves_of(std::span<const std::uint64_t> bounds, bool of_gpus) {
    std::vector<std::size_t> out;
    for (const std::uint64_t row : bounds) {
      out.push_back(of_gpus ? out.size() : (row + row_block - 1) / row_block);
    }
    return out;
  }

  std::unique_ptr<Backend> local_;
  Asking asking_;
  std::shared_ptr<DeviceRanks> gpus_;
};

}  // namespace
}  // namespace sharded

std::vector<std::uint64_t> share_bounds(std::uint64_t rows, std::size_t ranks) {
  const std::uint64_t blocks = (rows + row_block - 1) / row_block;
  std::uint64_t unit = 1;
  while (blocks / (2 * unit * ranks) >= 32) unit *= 2;
  std::vector<std::uint64_t> out;
  for (std::size_t p = 0; p <= ranks; ++p) {
    const std::uint64_t block = (blocks * p / ranks + unit / 2) / unit * unit;
    out.push_back(p == ranks ? rows : std::min(block * row_block, rows));
  }
  return out;
}

std::unique_ptr<Backend> shard(std::unique_ptr<Backend> local, Communicator& ranks,
                               const std::atomic<bool>* stop, std::unique_ptr<DeviceRanks> gpus) {
  if (ranks.size() == 1) return local;
  return std::make_unique<sharded::ShardedBackend>(std::move(local), sharded::Asking{ranks, stop},
                                                   std::move(gpus));
}

}  // namespace gibbsite
