#include "gibbsite/engine/made_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/format_message.hpp"
#include "engine/checks.hpp"
#include "engine/clip.hpp"
#include "engine/sharded/sums.hpp"
#include "engine/sharded/tree.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/summation.hpp"
#include "gibbsite/engine/sharded.hpp"
#include "machine/thread_pool.hpp"

namespace gibbsite {
namespace made {
namespace {

using sharded::Mark;
using sharded::Node;
using sharded::NodeSums;

constexpr std::size_t chunk_bytes = std::size_t{1} << 20;  // of rows at a time: they stay in cache
constexpr std::size_t most_chunk = 64;                     // blocks
constexpr std::size_t most_tasks = 512;                    // of a node
constexpr std::size_t most_sums = std::size_t{1} << 23;    // numbers, of all tasks

enum Question : std::uint64_t {  // marks of the other engine's begin at 0
  ask_gradients = 1000,
  ask_moments,
  ask_caps,
  ask_capped_gradient,
  ask_information,
  ask_score_moments,
  ask_lengths,
  ask_fault,
};

std::span<const double> all_of(MatrixView<const double> m) { return {m.data, m.rows * m.cols}; }

// Where the tree of core/summation.hpp cuts blocks [first, last) of a node.
std::size_t half_of(std::size_t first, std::size_t last) {
  return first + std::bit_ceil(last - first) / 2;
}

class MadeEngine final : public Engine {
 public:
  MadeEngine(Backend& local, const RowMaker& maker, const Loss& loss, Communicator& ranks,
             std::vector<std::uint64_t> bounds, std::size_t threads)
      : local_(local),
        maker_(maker),
        loss_(loss),
        ranks_(ranks),
        bounds_(std::move(bounds)),
        sums_(ranks, blocks_of(bounds_)),
        pool_(std::clamp<std::size_t>(threads, 1, ThreadPool::most_members)),
        chunk_(std::bit_floor(std::clamp<std::size_t>(
            chunk_bytes / (row_block * maker.features() * sizeof(float)), 1, most_chunk))) {
    for (std::size_t member = 0; member < pool_.members(); ++member) {
      Worker& worker = workers_.emplace_back();
      worker.x.resize(chunk_ * row_block * columns());
      worker.y.resize(chunk_ * row_block);
    }
    ranks.together([&] {
      const std::size_t some = static_cast<std::size_t>(std::min<std::uint64_t>(rows(), row_block));
      certifiable_ = load(workers_[0], 0, some)->certifiable();
    });
  }

  [[nodiscard]] bool certifiable() const override { return certifiable_; }
  [[nodiscard]] std::string design() const override {
    return fmt::format("rows made anew for every pass, {} KiB at a time; on {} rank{}",
                       chunk_ * row_block * columns() * sizeof(float) / 1024, ranks_.size(),
                       ranks_.size() == 1 ? "" : "s");
  }
  [[nodiscard]] std::size_t rows() const override { return bounds_.back(); }
  [[nodiscard]] std::size_t local_rows() const override {
    return bounds_[ranks_.rank() + 1] - bounds_[ranks_.rank()];
  }
  [[nodiscard]] std::size_t features() const override { return columns() * loss_.outputs(); }
  [[nodiscard]] const Loss& loss() const override { return loss_; }

  void loss_gradients(MatrixView<const double> theta, MatrixView<double> out) override {
    const std::size_t size = theta.rows * features();
    const Mark mark = mark_of(ask_gradients, all_of(theta), 0);
    require_equal(mark);
    if (size == 0) return;
    const auto sum = add(mark, size, [&](Engine& engine, std::span<double> part) {
      engine.loss_gradients(theta, {part.data(), theta.rows, features()});
    });
    std::ranges::copy(sum, out.data);
  }

  void second_moments(MatrixView<const double> P, double clip, MatrixView<double> out) override {
    require_metric(P, columns(), clip);
    const std::size_t k = P.cols;
    const Mark mark = mark_of(ask_moments, all_of(P), clip);
    require_equal(mark);
    const auto sum = add(mark, k * k, [&](Engine& engine, std::span<double> part) {
      engine.second_moments(P, clip, {part.data(), k, k});
    });
    std::ranges::copy(sum, out.data);
  }

  [[nodiscard]] double log_lengths(const RowLengths& lengths) override {
    require_lengths(lengths, columns());
    const Mark mark = sharded::mark_of_lengths(ask_lengths, lengths);
    require_equal(mark);
    return add(mark, 1, [&](Engine& engine, std::span<double> part) {
      part[0] = engine.log_lengths(lengths);
    })[0];
  }

  [[nodiscard]] std::unique_ptr<CappedLoss> capped_loss(MatrixView<const double> P,
                                                        const ScoreLimits& limits) override {
    require_metric(P, columns(), limits);
    Mark mark = mark_of(ask_caps, all_of(P), limits.clip);
    mark.add(limits.information);
    require_equal(mark);
    return std::make_unique<Capped>(*this, P, limits);
  }

  [[nodiscard]] std::optional<RowFault> first_fault(const RowLimits& limits) const override {
    Mark mark(ask_fault);
    for (const double v : {limits.norm_squared, limits.label_bound, limits.offset_bound}) {
      mark.add(v);
    }
    require_equal(mark);
    std::mutex mutex;
    std::uint64_t first = 0, what = 0;  // from 1; 0: none
    ranks_.together([&] {
      for (const Node& node : sums_.mine()) {
        each_task(node, task_blocks(node, 1),
                  [&](std::size_t, std::size_t from, std::size_t to, Worker& worker) {
                    for (std::size_t block = from; block < to; block += chunk_) {
                      const auto fault =
                          load(worker, block * row_block, end_of(std::min(block + chunk_, to)))
                              ->first_fault(limits);
                      if (!fault) continue;
                      const std::scoped_lock lock(mutex);
                      const std::uint64_t row = block * row_block + fault->row + 1;
                      if (first == 0 || row < first) {
                        first = row;
                        what = static_cast<std::uint64_t>(fault->what);
                      }
                    }
                  });
      }
    });
    for (const std::uint64_t fault : ranks_.gather(first << 2 | what)) {
      if (fault != 0) return RowFault{(fault >> 2) - 1, static_cast<RowFault::What>(fault & 3)};
    }
    return {};
  }

  void advance(Ensemble&, std::uint64_t) override { refuse("steps of chains"); }
  void loss_values(MatrixView<const double>, std::span<double>) override { refuse("values"); }
  void clipped_rows(MatrixView<const double>, double, MatrixView<float>) override {
    refuse("clipped rows");
  }
  void weighted_loss_gradients(MatrixView<const double>, std::span<const double>,
                               MatrixView<double>) override {
    refuse("weighted gradients");
  }
  [[nodiscard]] double plain_value(std::span<const double>) const override {
    refuse("plain values");
  }
  void plain_gradient(std::span<const double>, std::span<double>) const override {
    refuse("plain gradients");
  }
  [[nodiscard]] std::unique_ptr<LossHessian> hessian(std::span<const double>,
                                                     double) const override {
    refuse("Hessians");
  }
  [[nodiscard]] double largest_logit(std::span<const double>) const override {
    refuse("the largest logit");
  }
  [[nodiscard]] std::array<double, 4> exact_difference(MatrixView<const double>,
                                                       std::span<const double>) const override {
    refuse("exact differences");
  }
  [[nodiscard]] RowNorms row_norms() const override { refuse("lengths of rows"); }

 private:
  struct Worker {
    std::vector<float> x, y;   // of a chunk
    std::vector<double> sums;  // of a task's halves
  };

  class Capped final : public CappedLoss {
   public:
    Capped(MadeEngine& of, MatrixView<const double> P, const ScoreLimits& limits)
        : of_(of), P_(P.data, P.data + P.rows * P.cols), k_(P.cols), limits_(limits) {}
    void information_between(std::span<const double> theta, ClassPair pair,
                             MatrixView<double> out) override {
      require_information(of_.loss_, limits_, pair);
      Mark mark = mark_of(ask_information, theta, 0);
      mark.add(std::uint64_t{pair.first});
      mark.add(std::uint64_t{pair.second});
      of_.require_equal(mark);
      const auto sum = of_.add(mark, k_ * k_, [&](Engine& engine, std::span<double> part) {
        engine.capped_loss(metric(), limits_)
            ->information_between(theta, pair, {part.data(), k_, k_});
      });
      std::ranges::copy(sum, out.data);
    }
    void information(std::span<const double> theta, MatrixView<double> out) override {
      require_information(of_.loss_, limits_);
      ask_matrix(&CappedLoss::information, ask_information, theta, out);
    }
    void score_moments(std::span<const double> theta, MatrixView<double> out) override {
      ask_matrix(&CappedLoss::score_moments, ask_score_moments, theta, out);
    }
    double gradient(std::span<const double> theta, std::span<double> out) override {
      const std::size_t d = out.size();
      const Mark mark = mark_of(ask_capped_gradient, theta, 0);
      of_.require_equal(mark);
      // Caps are found anew: a float a row would be kept.
      const auto sum = of_.add(mark, d + 1, [&](Engine& engine, std::span<double> part) {
        part[d] = engine.capped_loss(metric(), limits_)->gradient(theta, part.first(d));
      });
      std::copy_n(sum.begin(), d, out.begin());
      return sum[d];
    }

   private:
    [[nodiscard]] MatrixView<const double> metric() const { return {P_.data(), of_.columns(), k_}; }
    template <class Matrix>
    void ask_matrix(Matrix matrix, Question question, std::span<const double> theta,
                    MatrixView<double> out) {
      const Mark mark = mark_of(question, theta, 0);
      of_.require_equal(mark);
      const std::size_t numbers = out.rows;
      const auto sum =
          of_.add(mark, numbers * numbers, [&](Engine& engine, std::span<double> part) {
            const auto capped = engine.capped_loss(metric(), limits_);
            ((*capped).*matrix)(theta, {part.data(), numbers, numbers});
          });
      std::ranges::copy(sum, out.data);
    }

    MadeEngine& of_;
    std::vector<double> P_;
    std::size_t k_;
    ScoreLimits limits_;
  };

  [[noreturn]] static void refuse(const char* what) {
    throw BadInput(
        format_message("rows that are made anew: {} are not found of them; ask for {} whitened",
                       what, Field{"mechanism"}));
  }

  static std::vector<std::size_t> blocks_of(std::span<const std::uint64_t> bounds) {
    std::vector<std::size_t> out;
    for (const std::uint64_t row : bounds) out.push_back((row + row_block - 1) / row_block);
    return out;
  }
  static Mark mark_of(Question question, std::span<const double> numbers, double other) {
    Mark mark(question);
    mark.add(numbers.size());
    mark.add(numbers);
    mark.add(other);
    return mark;
  }
  void require_equal(const Mark& mark) const { sharded::require_same(ranks_.gather(mark.value())); }

  [[nodiscard]] std::size_t columns() const { return maker_.features(); }
  [[nodiscard]] std::size_t end_of(std::size_t block) const {
    return std::min<std::size_t>(block * row_block, rows());
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

  // sum [size] = what `find` says of blocks [first, last), added as the tree says; what lies behind
  // `sum` is for halves.
  template <class F>
  void add_task(std::size_t first, std::size_t last, std::size_t size, double* sum, Worker& worker,
                const F& find) const {
    if (last - first <= chunk_) {
      find(*load(worker, first * row_block, end_of(last)), std::span(sum, size));
      return;
    }
    const std::size_t half = half_of(first, last);
    add_task(first, half, size, sum, worker, find);
    add_task(half, last, size, sum + size, worker, find);
    for (std::size_t i = 0; i < size; ++i) sum[i] += sum[size + i];
  }

  template <class F>
  std::span<const double> add(const Mark& mark, std::size_t size, const F& find) {
    // A rank that failed would leave the others waiting for what it was to send.
    std::vector<std::vector<double>> mine(sums_.mine().size());
    ranks_.together([&] {
      for (std::size_t k = 0; k < mine.size(); ++k) mine[k] = node_sum(k, size, find);
    });
    return sums_(mark, size, [&](std::size_t k, std::span<double> part) {
      std::ranges::copy(mine[k], part.begin());
    });
  }

  template <class F>
  std::vector<double> node_sum(std::size_t k, std::size_t size, const F& find) {
    const Node node = sums_.mine()[k];
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
                add_task(first, last, size, worker.sums.data(), worker, find);
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
  Communicator& ranks_;
  std::vector<std::uint64_t> bounds_;
  NodeSums sums_;
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
    return std::make_unique<MadeEngine>(*local_, maker_, loss, ranks_,
                                        share_bounds(maker_.rows(), ranks_.size()), threads_);
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
