// One pass over X per step for all chains of a group. For a sub-block of rows that stays in cache:
// the logits of every chain, their residuals, and X^T r added to the sum of the sub-block's
// 1024-row block; the sums of blocks are added pairwise (pairwise.hpp). So the bits of a chain
// depend on the instruction set (AVX2 and AVX-512 have the same in double) and on whether at most
// `few_chains` (one, where rows are sparse) or more are unfinished, a chain of K outputs counting
// as K, not on the number of threads nor on what they did, not on how a run is cut.
//
//   few chains:  reads n*d floats, 4*n*d flops a chain: bound by memory (kernels.hpp)
//   many chains: 4*n*d*C flops on panels of chains: bound by FMA and, per (row, chain), one exp.
//                A group is as many panels as stay in cache with their sums; X is read once a group
//
// A chain of K outputs (softmax) is K chains to layouts and kernels; for a sub-block, the logits of
// all of them are there before its residuals are made (`GradientSums::add_outputs`).
//
// Where few entries are not zero (one-hot categories), those are kept beside X, row after row, and
// the others skipped: the same sums without their zeros.
//
// Theta stays as the kernels read it, from the first step to the last of a call: a panel's noise
// and update run in its lanes, right behind its gradient (noise.hpp).
//
// Long tables are cut into nodes of the tree, which threads take one by one (thread_pool.hpp),
// step by step; a node that a thread holds too long is summed again by the caller. On short ones a
// thread takes groups of chains and makes many of their steps, X in cache.
#include "engine/cpu/cpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/checks.hpp"
#include "engine/clip.hpp"
#include "engine/cpu/entries.hpp"
#include "engine/cpu/gradient_sums.hpp"
#include "engine/cpu/loss_values.hpp"
#include "engine/cpu/many_columns.hpp"
#include "engine/cpu/packed_chains.hpp"
#include "engine/cpu/whitened.hpp"
#include "engine/host_rows.hpp"
#include "gibbsite/engine/machine.hpp"
#include "machine/instructions.hpp"
#include "machine/thread_pool.hpp"

namespace gibbsite {
namespace {

using cpu::GradientSums;
using cpu::Group;
using cpu::Layout;
using cpu::PackedChains;

constexpr std::size_t slice_work = 4 << 20;     // numbers of X times chains: about 0.3 ms
constexpr std::size_t shared_update = 1 << 15;  // numbers that are worth a second thread

std::size_t threads_available() {
  return std::clamp<std::size_t>(static_cast<std::size_t>(thread_count()), 1,
                                 ThreadPool::most_members);
}

cpu::Table table_of(const Rows& x, const cpu::Entries& entries, std::span<const float> y,
                    const std::vector<float>& factors) {
  const float* const factor = factors.empty() ? nullptr : factors.data();
  if (entries.used())
    return {{{}, entries.rows({0, x.rows})}, x.cols, y, x.offset, factor, x.weight};
  return {{x.matrix(), {}}, x.cols, y, x.offset, factor, x.weight};
}

template <class T>
class CpuEngine final : public SteppingRows {
 public:
  CpuEngine(const Rows& x, std::span<const float> y, const Loss& loss, std::size_t threads)
      : SteppingRows(x, y, loss),
        pool_(threads),
        in_memory_(x.in_memory),
        entries_(x, pool_),
        factors_(cpu::row_factors(loss, y, x.weight)),
        table_(table_of(x, entries_, y, factors_)),
        choice_(cpu::choose_loss(loss)) {}
  ~CpuEngine() override { pool_.settle(); }  // a late helper still reads

  [[nodiscard]] bool certifiable() const override { return !single; }

  void advance(Ensemble& ensemble, std::uint64_t steps) override {
    require_fitting(ensemble, features());
    require_output_streams(ensemble, outputs());
    while (steps > 0) {
      // Until the next chain is done, all that are not move together.
      std::uint64_t now = steps;
      active_.clear();
      for (std::size_t c = 0; c < ensemble.chains(); ++c) {
        if (ensemble.step[c] >= ensemble.specs[c].iterations) continue;
        active_.push_back(c);
        now = std::min(now, ensemble.specs[c].iterations - ensemble.step[c]);
      }
      if (active_.empty()) return;
      prepare(active_.size() * outputs());
      chains_.set_moves(ensemble, active_);
      const auto theta = [&](std::size_t a) {
        return ensemble.chain(active_[a / outputs()]).subspan(a % outputs() * columns(), columns());
      };
      for (const Group& group : layout().groups) chains_.put(group, theta);
      move(ensemble, now);
      for (const Group& group : layout().groups) chains_.take(group, theta);
      for (const std::size_t c : active_) ensemble.step[c] += now;
      steps -= now;
    }
  }

  void loss_gradients(MatrixView<const double> theta, MatrixView<double> out) override {
    find(theta, out, {});
  }
  void loss_values_and_gradients(MatrixView<const double> theta, std::span<double> values,
                                 MatrixView<double> gradients) override {
    if constexpr (single) return RowSums::loss_values_and_gradients(theta, values, gradients);
    find(theta, gradients, values);
  }

  void second_moments(MatrixView<const double> P, double clip, MatrixView<double> out) override {
    require_metric(P, columns(), clip);
    cpu::second_moments(table_, pool_, P, clip, out);
  }
  void clipped_rows(MatrixView<const double> P, double clip, MatrixView<float> out) override {
    require_metric(P, columns(), clip);
    cpu::clipped_rows(table_, pool_, P, clip, out);
  }
  std::unique_ptr<CappedLoss> capped_loss(MatrixView<const double> P,
                                          const ScoreLimits& limits) override {
    require_metric(P, columns(), limits);
    return cpu::capped_loss(*this, table_, pool_, P, limits);
  }

  void loss_values(MatrixView<const double> theta, std::span<double> out) override {
    add_terms(loss_terms(theta), out);
  }
  std::vector<double> loss_terms(MatrixView<const double> theta) override {
    return cpu::loss_terms(table_, pool_, choice_, theta);
  }

  void step(Ensemble& ensemble, MatrixView<const double> gradients) override {
    active_.clear();
    for (std::size_t c = 0; c < ensemble.chains(); ++c) {
      if (ensemble.step[c] < ensemble.specs[c].iterations) active_.push_back(c);
    }
    if (active_.empty()) return;
    prepare(active_.size() * outputs());
    chains_.set_moves(ensemble, active_);
    const auto theta = [&](std::size_t a) {
      return ensemble.chain(active_[a / outputs()]).subspan(a % outputs() * columns(), columns());
    };
    const auto gradient = [&](std::size_t a) {
      return gradients.row(a / outputs()).subspan(a % outputs() * columns(), columns());
    };
    for (const Group& group : layout().groups) {
      chains_.put(group, theta);
      chains_.update_by(ensemble, group, gradient);
      chains_.take(group, theta);
    }
    for (const std::size_t c : active_) ++ensemble.step[c];
  }

 private:
  static constexpr bool single = sizeof(T) == sizeof(float);

  // Gradients of the chains, and their losses where there is room for them.
  void find(MatrixView<const double> of_chains, MatrixView<double> of_sums,
            std::span<double> losses) {
    if (of_chains.rows == 0) return;
    const MatrixView<const double> theta{of_chains.data, of_chains.rows * outputs(), columns()};
    const MatrixView<double> out{of_sums.data, of_sums.rows * outputs(), columns()};
    prepare(theta.rows);
    const auto lay_out = [&](const Group& group) {
      chains_.put(group, [&](std::size_t a) { return theta.row(a); });
    };
    const auto give = [&](const Group& group, const double* sums) {
      chains_.take_sums(group, sums, [&](std::size_t a) { return out.row(a); });
      if (losses.empty()) return;
      const std::size_t first = group.chains.first / outputs();
      std::copy_n(sums + group.size, group.chains.size() / outputs(), losses.data() + first);
    };
    if (layout().by_groups) {
      return share(layout().groups.size(), [&](std::size_t g, std::size_t member) {
        lay_out(layout().groups[g]);
        give(layout().groups[g], group_gradient(layout().groups[g], member, !losses.empty()));
      });
    }
    for (const Group& group : layout().groups) lay_out(group);
    for (std::size_t first = 0; first < layout().groups.size(); first += layout().batch) {
      const std::span<const Group> batch = layout().batch_from(first);
      find_gradients(batch, !losses.empty());
      for (std::size_t g = 0; g < batch.size(); ++g) give(batch[g], sums_[g]);
    }
  }

  // f(task, member) by the threads that the layout is for.
  template <class F>
  void share(std::size_t tasks, const F& f) {
    if (workers_.size() > 1) return pool_.each(tasks, f);
    for (std::size_t task = 0; task < tasks; ++task) f(task, 0);
  }
  [[nodiscard]] const Layout& layout() const { return chains_.layout(); }

  // Lays out the work for that many chains of a layout; everything a step needs is allocated here.
  void prepare(std::size_t chains) {
    if (chains == layout().chains) return;
    pool_.settle();
    workers_.clear();
    results_.clear();
    read_.clear();
    chains_ = PackedChains<T>({.rows = rows(),
                               .features = columns(),
                               .chains = chains,
                               .outputs = outputs(),
                               .numbers = table_.numbers(),
                               .threads = pool_.members(),
                               .sparse = !table_.dense(),
                               .in_memory = in_memory_});
    // Any helper may come, whatever the number of tasks.
    for (std::size_t w = 0; w < (layout().members == 1 ? 1 : pool_.members()); ++w) {
      workers_.emplace_back(table_, choice_, layout());
    }
    sums_.resize(layout().batch);
    if (layout().by_groups) steps_done_.resize(layout().groups.size());
    if (!layout().uses_nodes()) return;
    results_.resize(pool_.results());
    for (std::size_t k = 0; k < layout().batch * layout().nodes; ++k) {
      results_[pool_.result(k)] = cpu::Aligned<double>(layout().size + chains);
    }
    for (std::size_t w = 0; w < workers_.size(); ++w) {
      results_[pool_.spare(w)] = cpu::Aligned<double>(layout().size + chains);
      read_.push_back({nullptr, cpu::Aligned<T>(layout().all)});
    }
  }

  // Sums of a thread's own group, all rows, as GradientSums gives them.
  const double* group_gradient(const Group& group, std::size_t member, bool losses_too = false) {
    return workers_[member].over(group, chains_.theta(group), {0, table_.blocks()}, losses_too);
  }
  [[nodiscard]] std::size_t size_of(const Group& group, bool losses_too) const {
    return group.size + (losses_too ? group.chains.size() / outputs() : 0);
  }

  // sums_ <- such sums of each group of a batch, the nodes of which threads sum.
  void find_gradients(std::span<const Group> batch, bool losses_too = false) {
    if (workers_.size() == 1) {  // then a batch is one
      sums_[0] = group_gradient(batch[0], 0, losses_too);
      return;
    }
    const std::size_t place = pool_.free_place();
    read_[place].batch = batch.data();
    read_[place].losses_too = losses_too;
    for (const Group& group : batch) {
      std::copy_n(chains_.theta(group), group.size, read_[place].theta.data() + group.offset);
    }
    pool_.each_twice(place, batch.size() * layout().nodes, *this);
    for (std::size_t g = 0; g < batch.size(); ++g) {
      sums_[g] = cpu::sum_nodes(layout().nodes, size_of(batch[g], losses_too), [&](std::size_t k) {
        return results_[pool_.result(g * layout().nodes + k)].data();
      });
    }
  }

 public:
  // A task of the thread pool: sums of a node of a group, added to this member's result.
  void run(std::size_t place, std::size_t task, std::size_t member) {
    const Read& read = read_[place];
    const Group& group = read.batch[task / layout().nodes];
    const std::size_t first = task % layout().nodes * layout().node_blocks;
    const double* const sums = workers_[member].over(
        group, read.theta.data() + group.offset,
        {first, std::min(first + layout().node_blocks, table_.blocks())}, read.losses_too);
    std::copy_n(sums, size_of(group, read.losses_too), results_[pool_.spare(member)].data());
  }

 private:
  // `steps` steps of the chains.
  void move(const Ensemble& ensemble, std::uint64_t steps) {
    if (layout().by_groups) return move_groups(ensemble, steps);
    for (std::uint64_t k = 0; k < steps; ++k) {
      for (std::size_t first = 0; first < layout().groups.size(); first += layout().batch) {
        const std::span<const Group> batch = layout().batch_from(first);
        find_gradients(batch);
        const bool shared = !layout().few && batch.size() * batch[0].size >= shared_update;
        const std::size_t parts = shared ? 4 * workers_.size() / batch.size() + 1 : 1;
        const auto run_part = [&](std::size_t p, std::size_t) {
          const std::size_t g = p / parts;
          chains_.update(ensemble, batch[g], sums_[g], k, p % parts, parts);
        };
        if (shared) {
          share(batch.size() * parts, run_part);
        } else {
          for (std::size_t g = 0; g < batch.size(); ++g) run_part(g, 0);
        }
      }
    }
  }

  void move_groups(const Ensemble& ensemble, std::uint64_t steps) {
    std::ranges::fill(steps_done_, 0);
    const auto slice = [&](std::size_t g, std::size_t member) {
      const Group& group = layout().groups[g];
      const std::uint64_t now = 1 + slice_work / (table_.numbers() * group.chains.size() + 1);
      const std::uint64_t last = std::min(steps, steps_done_[g] + now);
      for (std::uint64_t& k = steps_done_[g]; k < last; ++k) {
        chains_.update(ensemble, group, group_gradient(group, member), k, 0, 1);
      }
      return last == steps;
    };
    if (workers_.size() > 1) return pool_.each_in_slices(layout().groups.size(), slice);
    for (std::size_t g = 0; g < layout().groups.size(); ++g) {
      while (!slice(g, 0)) {
      }
    }
  }

  // What a thread reads that sums nodes.
  struct Read {
    const Group* batch;
    cpu::Aligned<T> theta;  // of all groups
    bool losses_too = false;
  };

  ThreadPool pool_;
  bool in_memory_;
  cpu::Entries entries_;
  std::vector<float> factors_;  // of rows, where they or classes are weighted
  cpu::Table table_;
  cpu::LossChoice choice_;

  PackedChains<T> chains_;
  std::vector<const double*> sums_;            // [batch] their sums
  std::vector<GradientSums<T>> workers_;       // of the thread pool's members, or of one
  std::vector<cpu::Aligned<double>> results_;  // [size] of a node or spare
  std::vector<Read> read_;                     // at the thread pool's places
  std::vector<std::uint64_t> steps_done_;      // of groups
  std::vector<std::size_t> active_;            // unfinished chains
};

class CpuBackend final : public Backend {
 public:
  CpuBackend(Arithmetic arithmetic, std::size_t threads)
      : arithmetic_(arithmetic), threads_(threads == 0 ? threads_available() : threads) {}

  [[nodiscard]] std::string_view name() const override { return "cpu"; }
  [[nodiscard]] std::string description() const override {
    return fmt::format("{}{}; {} thread{}", arithmetic(),
                       force_instructions().empty() ? "" : " by GIBBSITE_INSTRUCTIONS", threads_,
                       threads_ == 1 ? "" : "s");
  }
  [[nodiscard]] std::string arithmetic() const override {
    return fmt::format("{} on float storage; {}", to_string(arithmetic_), cpu::instruction_set());
  }
  std::unique_ptr<Engine> load(const Rows& x, std::span<const float> y, const Loss& loss) override {
    require_loadable(x, y, loss);
    if (cpu::has_many_columns(x)) return cpu::make_many_columns_engine(x, y, loss, threads_);
    if (arithmetic_ == Arithmetic::float32) {
      return std::make_unique<CpuEngine<float>>(x, y, loss, threads_);
    }
    return std::make_unique<CpuEngine<double>>(x, y, loss, threads_);
  }

 private:
  Arithmetic arithmetic_;
  std::size_t threads_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(Arithmetic arithmetic, std::size_t threads) {
  force_instructions();
  return std::make_unique<CpuBackend>(arithmetic, threads);
}

}  // namespace gibbsite
