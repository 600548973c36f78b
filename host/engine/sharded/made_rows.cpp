#include "gibbsite/engine/made_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "core/format_message.hpp"
#include "engine/distributed/distributed_sums.hpp"
#include "engine/eigen_index.hpp"
#include "engine/sharded/rank_transport.hpp"
#include "engine/sharded/tree.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/summation.hpp"
#include "gibbsite/engine/sharded.hpp"
#include "machine/thread_pool.hpp"

namespace gibbsite {
namespace made {
namespace {

using distributed::AskedRows;
using distributed::Question;
using sharded::Node;

constexpr std::size_t chunk_bytes = std::size_t{1} << 20;  // of rows at a time: they stay in cache
constexpr std::size_t most_chunk = 64;                     // blocks
constexpr std::size_t most_tasks = 512;                    // of a node
constexpr std::size_t most_sums = std::size_t{1} << 23;    // numbers, of all tasks

// Where the tree of core/summation.hpp cuts blocks [first, last) of a node.
std::size_t half_of(std::size_t first, std::size_t last) {
  return first + std::bit_ceil(last - first) / 2;
}

class MadeRows final : public AskedRows {
 public:
  MadeRows(Backend& local, const RowMaker& maker, const Loss& loss, std::vector<Node> nodes,
           std::size_t threads)
      : local_(local),
        maker_(maker),
        loss_(loss),
        nodes_(std::move(nodes)),
        pool_(std::clamp<std::size_t>(threads, 1, ThreadPool::most_members)),
        chunk_(std::bit_floor(std::clamp<std::size_t>(
            chunk_bytes / (row_block * maker.features() * sizeof(float)), 1, most_chunk))) {
    for (std::size_t member = 0; member < pool_.members(); ++member) {
      Worker& worker = workers_.emplace_back();
      worker.x.resize(chunk_ * row_block * columns());
      worker.y.resize(chunk_ * row_block);
    }
    const std::size_t some = static_cast<std::size_t>(std::min<std::uint64_t>(rows(), row_block));
    certifiable_ = load(workers_[0], 0, some)->certifiable();
  }

  [[nodiscard]] bool certifiable() const { return certifiable_; }
  [[nodiscard]] bool can_fail() const override { return true; }
  [[nodiscard]] std::string design_on(std::size_t ranks) const override {
    return fmt::format("rows made anew for every pass, {} KiB at a time; on {} rank{}",
                       chunk_ * row_block * columns() * sizeof(float) / 1024, ranks,
                       ranks == 1 ? "" : "s");
  }

  void of_nodes(const Question& q, std::span<double> out) override {
    const std::size_t size = out.size() / nodes_.size();
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      std::ranges::copy(node_sum(nodes_[k], size, q), out.begin() + index(k * size));
    }
  }
  void of_share(const Question& q, std::span<double> out) override {
    std::mutex mutex;
    for (const Node& node : nodes_) {
      each_task(node, task_blocks(node, 1),
                [&](std::size_t, std::size_t from, std::size_t to, Worker& worker) {
                  std::vector<double> of_chunk(out.size());
                  for (std::size_t block = from; block < to; block += chunk_) {
                    std::ranges::fill(of_chunk, 0.0);
                    ask(worker, block, std::min(block + chunk_, to), q, of_chunk);
                    const std::scoped_lock lock(mutex);
                    distributed::add_share(q.of->added, of_chunk, out);
                  }
                });
    }
  }
  [[nodiscard]] distributed::Change in_turn(const Question& q) override {
    throw BadInput(
        format_message("rows that are made anew: {} is not found of them; ask for {} whitened",
                       q.of->name, Field{"mechanism"}));
  }

 private:
  struct Worker {
    std::vector<float> x, y;   // of a chunk
    std::vector<double> sums;  // of a task's halves
  };

  [[nodiscard]] std::uint64_t rows() const { return maker_.rows(); }
  [[nodiscard]] std::size_t columns() const { return maker_.features(); }
  [[nodiscard]] std::size_t end_of(std::size_t block) const {
    return std::min<std::size_t>(block * row_block, rows());
  }

  // Asks rows of blocks [first, last), of at most a chunk. Caps are found anew: a float a row would
  // be kept.
  void ask(Worker& worker, std::size_t first, std::size_t last, const Question& q,
           std::span<double> out) const {
    const std::unique_ptr<Engine> rows = load(worker, first * row_block, end_of(last));
    std::unique_ptr<CappedLoss> capped;
    if (q.of->capped) {
      capped = rows->capped_loss(distributed::metric_of(*rows, q), distributed::limits_of(q));
    }
    q.of->of_rows({*rows, first * row_block, 0, capped.get()}, q, out);
  }

  // Rows [first, last), of at most a chunk, until the worker's next.
  std::unique_ptr<Engine> load(Worker& worker, std::size_t first, std::size_t last) const {
    const std::size_t n = last - first;
    maker_.make(first, last, std::span(worker.x).first(n * columns()),
                std::span(worker.y).first(n));
    Rows x(worker.x.data(), n, columns());
    x.whole = {rows(), rows() * columns()};
    return local_.load(x, std::span(worker.y).first(n), loss_);
  }

  // Blocks of a task whose sums are that many numbers.
  [[nodiscard]] std::size_t task_blocks(const Node& node, std::size_t numbers) const {
    const std::size_t most = std::clamp(most_sums / numbers, 4 * pool_.members(), most_tasks);
    std::size_t size = chunk_;
    while ((node.last - node.first + size - 1) / size > most) size *= 2;
    return size;
  }

  // f(task, first block, last block, worker) for parts of a node that are nodes themselves.
  template <class F>
  void each_task(const Node& node, std::size_t size, const F& f) const {
    const std::size_t blocks = node.last - node.first;
    std::exception_ptr failure;
    std::mutex mutex;
    pool_.each((blocks + size - 1) / size, [&](std::size_t task, std::size_t member) {
      try {
        const std::size_t first = node.first + task * size;
        f(task, first, std::min(first + size, node.last), workers_[member]);
      } catch (...) {
        const std::scoped_lock lock(mutex);
        failure = std::current_exception();
      }
    });
    if (failure) std::rethrow_exception(failure);
  }

  // sum [size] = the answer of blocks [first, last), added as the tree says; what lies behind
  // `sum` is for halves.
  void add_task(const Node& blocks, std::size_t size, double* sum, Worker& worker,
                const Question& q) const {
    const auto [first, last] = blocks;
    if (last - first <= chunk_) {
      std::fill_n(sum, size, 0.0);
      return ask(worker, first, last, q, {sum, size});
    }
    const std::size_t half = half_of(first, last);
    add_task({first, half}, size, sum, worker, q);
    add_task({half, last}, size, sum + size, worker, q);
    for (std::size_t i = 0; i < size; ++i) sum[i] += sum[size + i];
  }

  std::vector<double> node_sum(const Node& node, std::size_t size, const Question& q) {
    const std::size_t blocks = node.last - node.first, of_task = task_blocks(node, size);
    std::vector<Node> tasks;
    for (std::size_t first = 0; first < blocks; first += of_task) {
      tasks.push_back({first, std::min(first + of_task, blocks)});
    }
    std::vector<double> sums(tasks.size() * size);
    const auto levels = static_cast<std::size_t>(std::bit_width(of_task / chunk_));
    for (Worker& worker : workers_) worker.sums.resize(levels * size);
    each_task(node, of_task,
              [&](std::size_t task, std::size_t first, std::size_t last, Worker& worker) {
                add_task({first, last}, size, worker.sums.data(), worker, q);
                std::copy_n(worker.sums.data(), size, sums.data() + task * size);
              });
    for (const auto& [left, right] : sharded::additions(tasks, blocks)) {
      for (std::size_t i = 0; i < size; ++i) sums[left * size + i] += sums[right * size + i];
    }
    sums.resize(size);
    return sums;
  }

  Backend& local_;
  const RowMaker& maker_;
  const Loss& loss_;
  std::vector<Node> nodes_;  // of this rank
  mutable ThreadPool pool_;
  std::size_t chunk_;  // blocks, a power of two
  mutable std::vector<Worker> workers_;
  bool certifiable_ = false;
};

class MadeBackend final : public Backend {
 public:
  MadeBackend(std::unique_ptr<Backend> local, const RowMaker& maker, Communicator& ranks,
              std::size_t threads)
      : local_(std::move(local)), maker_(maker), ranks_(ranks), threads_(threads) {}

  [[nodiscard]] std::string_view name() const override { return local_->name(); }
  [[nodiscard]] std::string description() const override {
    return fmt::format("{}; {} of it on each of {} rank{}, rows made anew for every pass",
                       local_->description(), threads_, ranks_.size(),
                       ranks_.size() == 1 ? "" : "s");
  }
  [[nodiscard]] std::string arithmetic() const override { return local_->arithmetic(); }
  std::unique_ptr<Engine> load(const Rows& x, std::span<const float> y, const Loss& loss) override {
    ranks_.together([&] {
      if (x.rows == 0 && y.empty() && x.cols == maker_.features()) return;
      throw BadInput(
          fmt::format("data: {} rows of {} features, and rows of {} are to be made; give a table "
                      "of that many features without rows",
                      x.rows, x.cols, maker_.features()));
    });
    const auto bounds = share_bounds(maker_.rows(), ranks_.size());
    const std::size_t rank = ranks_.rank();
    std::vector<std::size_t> blocks;
    for (const std::uint64_t row : bounds) blocks.push_back((row + row_block - 1) / row_block);
    std::unique_ptr<MadeRows> rows;
    ranks_.together([&] {
      rows = std::make_unique<MadeRows>(
          *local_, maker_, loss, sharded::nodes_of(blocks[rank], blocks[rank + 1], blocks.back()),
          threads_);
    });
    const distributed::Table table{&loss, x.cols, maker_.rows(), bounds[rank + 1] - bounds[rank],
                                   rows->certifiable()};
    return std::make_unique<distributed::DistributedSums>(
        table,
        std::make_unique<sharded::RankTransport>(sharded::Asking{ranks_}, blocks, std::move(rows)),
        nullptr);
  }

 private:
  std::unique_ptr<Backend> local_;
  const RowMaker& maker_;
  Communicator& ranks_;
  std::size_t threads_;
};

}  // namespace
}  // namespace made

std::unique_ptr<Backend> make_rows(std::unique_ptr<Backend> local, const RowMaker& maker,
                                   Communicator& ranks, std::size_t threads) {
  return std::make_unique<made::MadeBackend>(std::move(local), maker, ranks, threads);
}

}  // namespace gibbsite
