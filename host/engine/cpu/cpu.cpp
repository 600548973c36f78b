// One pass over X per step for all chains of a group. For a sub-block of rows that stays in cache:
// the logits of every chain, their residuals, and X^T r added to the sum of the sub-block's
// 1024-row block; the sums of blocks are added pairwise (pairwise.hpp). So the bits of a chain
// depend on the machine's instruction set and on whether at most `few_chains` (one, where rows are
// sparse) or more are unfinished, not on the number of threads nor on what they did, not on how a
// run is cut.
//
//   few chains:  reads n*d floats, 4*n*d flops a chain: bound by memory (kernels.hpp)
//   many chains: 4*n*d*C flops on panels of chains: bound by FMA and, per (row, chain), one exp.
//                A group is as many panels as stay in cache with their sums; X is read once a group
//
// Where few entries are not zero (one-hot categories), those are kept beside X, row after row, and
// the others skipped: the same sums without their zeros.
//
// Theta stays as the kernels read it, from the first step to the last of a call: a panel's noise
// and update run in its lanes, right behind its gradient (noise.hpp).
//
// Long tables are cut into nodes of the tree, which threads take one by one (crew.hpp), step by
// step; a node that a thread holds too long is summed again by the caller. On short ones a thread
// takes groups of chains and makes many of their steps, X in cache.
#include "engine/cpu/cpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/crew.hpp"
#include "engine/checks.hpp"
#include "engine/clip.hpp"
#include "engine/cpu/entries.hpp"
#include "engine/cpu/kernels.hpp"
#include "engine/cpu/layout.hpp"
#include "engine/cpu/noise.hpp"
#include "engine/cpu/pairwise.hpp"
#include "engine/cpu/whitened.hpp"
#include "engine/cpu/wide.hpp"
#include "engine/host_rows.hpp"
#include "gibbsite/core/summation.hpp"
#include "gibbsite/engine/machine.hpp"

namespace gibbsite {
namespace {

using cpu::Group;
using cpu::PairwiseSum;
using cpu::Panel;
using cpu::part;
using cpu::Range;

constexpr std::size_t slice_work = 4 << 20;     // numbers of X times chains: about 0.3 ms
constexpr std::size_t shared_update = 1 << 15;  // numbers that are worth a second thread

std::size_t threads_available() {
  return std::clamp<std::size_t>(static_cast<std::size_t>(thread_count()), 1, Crew::most_members);
}

// What one thread needs to compute gradients of a group over a node's blocks.
template <class T>
struct Worker {
  PairwiseSum gradient;           // [size]
  cpu::Aligned<T> sums;           // [size] of a block; double sums are added in place
  cpu::Aligned<T> rows, scratch;  // a sub-block of x as T; its residuals
};

template <class T>
class CpuEngine final : public HostRows {
 public:
  CpuEngine(const Rows& x, std::span<const float> y, const Loss& loss, std::size_t threads)
      : HostRows(x, y, loss),
        crew_(threads),
        x_(x.matrix()),
        in_memory_(x.in_memory),
        y_(y),
        entries_(x, crew_),
        choice_(cpu::choose_loss(loss)) {}
  ~CpuEngine() override { crew_.settle(); }  // a late helper still reads

  [[nodiscard]] bool certifiable() const override { return !single; }

  void advance(Ensemble& ensemble, std::uint64_t steps) override {
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
      prepare(active_.size());
      set_moves(ensemble);
      for (const Group& group : layout_.groups) {
        group.put(features(), theta_.data() + group.offset,
                  [&](std::size_t a) { return std::as_const(ensemble).chain(active_[a]); });
        round(group);
      }
      move(ensemble, now);
      for (const Group& group : layout_.groups) {
        group.take(features(), theta_.data() + group.offset,
                   [&](std::size_t a) { return ensemble.chain(active_[a]); });
      }
      for (const std::size_t c : active_) ensemble.step[c] += now;
      steps -= now;
    }
  }

  void loss_gradients(MatrixView<const double> theta, MatrixView<double> out) override {
    if (theta.rows == 0) return;
    prepare(theta.rows);
    const auto lay_out = [&](const Group& group) {
      group.put(features(), theta_.data() + group.offset,
                [&](std::size_t a) { return theta.row(a); });
      round(group);
    };
    const auto give = [&](const Group& group, const double* sums) {
      if (group.panels.empty()) {
        for (std::size_t a = 0; a < layout_.chains; ++a)
          unpack(sums + a * layout_.packed_size, out.row(a));
      } else {
        group.take(features(), sums, [&](std::size_t a) { return out.row(a); });
      }
    };
    if (layout_.by_groups) {
      return share(layout_.groups.size(), [&](std::size_t g, std::size_t member) {
        lay_out(layout_.groups[g]);
        give(layout_.groups[g], group_gradient(layout_.groups[g], member));
      });
    }
    for (const Group& group : layout_.groups) lay_out(group);
    for (std::size_t first = 0; first < layout_.groups.size(); first += layout_.batch) {
      const std::span<const Group> batch = layout_.batch_from(first);
      find_gradients(batch);
      for (std::size_t g = 0; g < batch.size(); ++g) give(batch[g], sums_[g]);
    }
  }

  void second_moments(MatrixView<const double> P, double clip, MatrixView<double> out) override {
    require_metric(P, features(), clip);
    cpu::second_moments(table(), crew_, P, clip, out);
  }
  void clipped_rows(MatrixView<const double> P, double clip, MatrixView<float> out) override {
    require_metric(P, features(), clip);
    cpu::clipped_rows(table(), crew_, P, clip, out);
  }
  std::unique_ptr<CappedLoss> capped_loss(MatrixView<const double> P, double clip) override {
    require_metric(P, features(), clip);
    return cpu::capped_loss(table(), crew_, loss(), P, clip);
  }

  // Reads X from memory once: a block stays in cache for all chains, few_chains at a time.
  void loss_values(MatrixView<const double> theta, std::span<double> out) override {
    const std::size_t n_blocks = blocks(), packed = cpu::packed_size<double>(features());
    std::vector<double> thetas(sparse() ? 0 : theta.rows * packed), values(n_blocks * theta.rows);
    for (std::size_t c = 0; c < theta.rows && !sparse(); ++c) {
      cpu::pack(theta.row(c), &thetas[c * packed]);
    }
    const auto block_values = [&](std::size_t b) {
      const Range rows = rows_of(b);
      double z[cpu::few_chains * row_block];
      for (std::size_t first = 0; first < theta.rows; first += cpu::few_chains) {
        const std::size_t chains = std::min(theta.rows - first, cpu::few_chains);
        double* const value = &values[b * theta.rows + first];
        if (!sparse()) {
          cpu::row_values({.x = view(rows),
                           .y = &y_[rows.first],
                           .loss = choice_,
                           .chains = chains,
                           .theta = &thetas[first * packed],
                           .z = z,
                           .value = value});
          continue;
        }
        const Rows x(entries_.rows(rows), features());
        for (std::size_t c = 0; c < chains; ++c) {
          for (std::size_t i = 0; i < rows.size(); ++i) z[i] = x.dot(i, theta.row(first + c));
          double* const f = z + row_block;
          cpu::values(choice_, {z, rows.size()}, y_.subspan(rows.first, rows.size()),
                      {f, rows.size()});
          value[c] = std::accumulate(f, f + rows.size(), 0.0);
        }
      }
    };
    const std::size_t threads = threads_for(numbers() * theta.rows);
    const std::size_t parts = threads == 1 ? 1 : std::min(n_blocks, 16 * threads);
    crew_.each(parts, [&](std::size_t p, std::size_t) {
      const Range range = part(n_blocks, p, parts);
      for (std::size_t b = range.first; b < range.last; ++b) block_values(b);
    });
    for (std::size_t c = 0; c < theta.rows; ++c) {
      out[c] = 0;
      for (std::size_t b = 0; b < n_blocks; ++b) out[c] += values[b * theta.rows + c];
    }
  }

 private:
  static constexpr bool single = sizeof(T) == sizeof(float);

  [[nodiscard]] std::size_t blocks() const { return cpu::blocks_of(x_.rows); }
  [[nodiscard]] Range rows_of(std::size_t block) const {
    return {block * row_block, std::min<std::size_t>((block + 1) * row_block, x_.rows)};
  }
  [[nodiscard]] MatrixView<const float> view(Range rows) const {
    return {x_.data + rows.first * x_.cols, rows.size(), x_.cols};
  }
  [[nodiscard]] cpu::Table table() const {
    if (sparse()) return {{{}, entries_.rows({0, x_.rows})}, features(), y_};
    return {{x_, {}}, features(), y_};
  }
  [[nodiscard]] std::size_t numbers() const { return table().numbers(); }
  [[nodiscard]] std::size_t threads_for(std::size_t work) const {
    return work < cpu::small_work ? 1 : crew_.members();
  }
  // f(task, member) by the threads that the layout is for.
  template <class F>
  void share(std::size_t tasks, const F& f) {
    if (workers_.size() > 1) return crew_.each(tasks, f);
    for (std::size_t task = 0; task < tasks; ++task) f(task, 0);
  }
  [[nodiscard]] bool sparse() const { return entries_.used(); }
  // Lays out the work for C chains; everything a step needs is allocated here.
  void prepare(std::size_t chains) {
    if (chains == layout_.chains) return;
    crew_.settle();
    const std::size_t d = features();
    layout_ = cpu::lay_out<T>({.rows = x_.rows,
                               .features = d,
                               .chains = chains,
                               .numbers = numbers(),
                               .threads = crew_.members(),
                               .sparse = sparse(),
                               .in_memory = in_memory_});
    theta_ = cpu::Aligned<double>(layout_.all);
    center_ = cpu::Aligned<double>(layout_.few ? 0 : layout_.all);
    if (layout_.few || single) packed_ = cpu::Aligned<T>(layout_.all);
    workers_.clear();
    // Any helper may come, whatever the number of tasks.
    for (std::size_t w = 0; w < (layout_.members == 1 ? 1 : crew_.members()); ++w) {
      Worker<T> worker;
      worker.gradient = PairwiseSum(layout_.size, layout_.node_blocks);
      if (single) worker.sums = cpu::Aligned<T>(layout_.size);
      if (!layout_.few && !single && !sparse()) {
        worker.rows = cpu::Aligned<T>(layout_.sub_block * d);
      }
      worker.scratch = cpu::Aligned<T>(layout_.sub_block * layout_.width);
      workers_.push_back(std::move(worker));
    }
    gradient_row_.resize(d);
    noise_.resize(d);
    words_.resize(d + d % 2);
    results_.clear();
    read_.clear();
    sums_.resize(layout_.batch);
    if (layout_.by_groups) steps_done_.resize(layout_.groups.size());
    if (!layout_.uses_nodes()) return;
    results_.resize(crew_.results());
    for (std::size_t k = 0; k < layout_.batch * layout_.nodes; ++k) {
      results_[crew_.result(k)] = cpu::Aligned<double>(layout_.size);
    }
    for (std::size_t w = 0; w < workers_.size(); ++w) {
      results_[crew_.spare(w)] = cpu::Aligned<double>(layout_.size);
      read_.push_back({nullptr, cpu::Aligned<T>(layout_.all)});
    }
  }

  // Whether the kernels read theta where the update writes it.
  [[nodiscard]] bool in_place(const Group& group) const { return !single && !group.panels.empty(); }
  // theta of a group as the kernels read it.
  [[nodiscard]] const T* packed(const Group& group) const {
    if constexpr (!single) {
      if (in_place(group)) return theta_.data() + group.offset;
    }
    return packed_.data() + group.offset;
  }
  void round(const Group& group) {
    if (in_place(group)) return;
    if (group.panels.empty()) {
      for (std::size_t a = 0; a < group.chains.size(); ++a) round(a);
    } else {
      std::transform(theta_.data() + group.offset, theta_.data() + group.offset + group.size,
                     packed_.data() + group.offset, [](double v) { return static_cast<T>(v); });
    }
  }
  // Of one chain among few.
  void round(std::size_t a) {
    const std::span<const double> from(theta_.data() + a * features(), features());
    T* const to = packed_.data() + a * layout_.packed_size;
    if (sparse()) {
      std::ranges::transform(from, to, [](double v) { return static_cast<T>(v); });
    } else {
      cpu::pack<T>(from, to);
    }
  }
  // Sums of one chain among few.
  void unpack(const double* sums, std::span<double> gradient) const {
    if (sparse()) {
      std::copy_n(sums, features(), gradient.begin());
    } else {
      cpu::unpack<T>(sums, gradient);
    }
  }

  // worker.gradient <- sums of those blocks for a group packed in theta.
  void sum_blocks(Worker<T>& worker, const Group& group, const T* theta, Range blocks) {
    worker.gradient.clear(group.size);
    for (std::size_t b = blocks.first; b < blocks.last; ++b) {
      double* const total = worker.gradient.open();
      T* sums = nullptr;
      if constexpr (single) {
        sums = worker.sums.data();
        std::fill_n(sums, group.size, T{0});
      } else {
        sums = total;
      }
      const Range block = rows_of(b);
      for (std::size_t first = block.first; first < block.last; first += layout_.sub_block) {
        const Range rows{first, std::min(first + layout_.sub_block, block.last)};
        group.panels.empty() ? add_few(worker, group, theta, rows, sums)
                             : add_panels(worker, group, theta, rows, sums);
      }
      if constexpr (single) {
        for (std::size_t i = 0; i < group.size; ++i) total[i] = static_cast<double>(sums[i]);
      }
      worker.gradient.close();
    }
  }

  void add_few(Worker<T>& worker, const Group& group, const T* theta, Range rows, T* sums) {
    if (sparse()) {
      return cpu::sparse_row_gradient(cpu::SparseRowGradient<T>{.x = entries_.rows(rows),
                                                                .y = &y_[rows.first],
                                                                .loss = choice_,
                                                                .features = features(),
                                                                .chains = group.chains.size(),
                                                                .theta = theta,
                                                                .r = worker.scratch.data(),
                                                                .g = sums});
    }
    cpu::row_gradient(cpu::RowGradient<T>{.x = view(rows),
                                          .y = &y_[rows.first],
                                          .loss = choice_,
                                          .chains = group.chains.size(),
                                          .theta = theta,
                                          .r = worker.scratch.data(),
                                          .g = sums});
  }

  void add_panels(Worker<T>& worker, const Group& group, const T* theta, Range rows, T* sums) {
    if (sparse()) {
      for (const Panel& panel : group.panels) {
        cpu::sparse_panel_gradient(cpu::SparsePanelGradient<T>{.x = entries_.rows(rows),
                                                               .y = &y_[rows.first],
                                                               .width = panel.width,
                                                               .loss = choice_,
                                                               .theta = theta + panel.offset,
                                                               .g = sums + panel.offset});
      }
      return;
    }
    const std::size_t n = rows.size(), d = features();
    const float* const stored = x_.data + rows.first * d;
    const T* x = nullptr;
    if constexpr (single) {
      x = stored;
    } else {
      cpu::widen({stored, n * d}, worker.rows.data());
      x = worker.rows.data();
    }
    for (const Panel& panel : group.panels) {
      cpu::panel_gradient(cpu::PanelGradient<T>{.x = x,
                                                .y = &y_[rows.first],
                                                .rows = n,
                                                .features = d,
                                                .width = panel.width,
                                                .loss = choice_,
                                                .theta = theta + panel.offset,
                                                .r = worker.scratch.data(),
                                                .g = sums + panel.offset});
    }
  }

  // Sums [size] of a thread's own group, all rows.
  const double* group_gradient(const Group& group, std::size_t member) {
    Worker<T>& worker = workers_[member];
    sum_blocks(worker, group, packed(group), {0, blocks()});
    return worker.gradient.total();
  }

  // sums_ <- sums [size] of each group of a batch, the nodes of which threads sum.
  void find_gradients(std::span<const Group> batch) {
    if (workers_.size() == 1) {  // then a batch is one
      sums_[0] = group_gradient(batch[0], 0);
      return;
    }
    const std::size_t place = crew_.free_place();
    read_[place].batch = batch.data();
    for (const Group& group : batch) {
      std::copy_n(packed(group), group.size, read_[place].theta.data() + group.offset);
    }
    crew_.each_twice(place, batch.size() * layout_.nodes, *this);
    for (std::size_t g = 0; g < batch.size(); ++g) {
      sums_[g] = cpu::sum_nodes(layout_.nodes, batch[g].size, [&](std::size_t k) {
        return results_[crew_.result(g * layout_.nodes + k)].data();
      });
    }
  }

 public:
  // Of the crew: sums of a node of a group, to the result that is this member's.
  void run(std::size_t place, std::size_t task, std::size_t member) {
    const Group& group = read_[place].batch[task / layout_.nodes];
    const std::size_t first = task % layout_.nodes * layout_.node_blocks;
    Worker<T>& worker = workers_[member];
    sum_blocks(worker, group, read_[place].theta.data() + group.offset,
               {first, std::min(first + layout_.node_blocks, blocks())});
    std::copy_n(worker.gradient.total(), group.size, results_[crew_.spare(member)].data());
  }

 private:
  // Lays out what drives the chains, as `prepare` laid out the chains.
  void set_moves(const Ensemble& ensemble) {
    const std::size_t d = features();
    const auto centered = [&](std::size_t c) { return !ensemble.specs[c].center.empty(); };
    centered_ = std::ranges::any_of(active_, centered);
    for (Group& group : layout_.groups) {
      for (Panel& panel : group.panels) {
        panel.moves.clear();
        double* const center = center_.data() + group.offset + panel.offset;
        if (centered_) std::fill_n(center, panel.width * d, 0.0);
        for (std::size_t lane = 0; lane < panel.chains.size(); ++lane) {
          const std::size_t c = active_[panel.chains.first + lane];
          panel.moves.set(lane, ensemble.specs[c], ensemble.step[c]);
          if (!centered(c)) continue;
          for (std::size_t j = 0; j < d; ++j) {
            center[j * panel.width + lane] = ensemble.specs[c].center[j];
          }
        }
      }
    }
  }

  // theta <- theta - h (beta g + m (theta - theta0)) + sqrt(2h) xi: step k from here of part p of
  // `parts` of a group, whose sums of gradients these are. Parts are coordinates of panels, or
  // chains of few.
  void update(const Ensemble& ensemble, const Group& group, const double* sums, std::uint64_t k,
              std::size_t p, std::size_t parts) {
    const std::size_t d = features();
    for (const Panel& panel : group.panels) {
      const std::size_t at = group.offset + panel.offset;
      const std::size_t n_blocks = (d + cpu::block_coordinates - 1) / cpu::block_coordinates;
      const Range range = part(n_blocks, p, parts);
      float* rounded = nullptr;
      if constexpr (single) rounded = packed_.data() + at;
      cpu::langevin_panel({.blocks = {&panel.moves, k, d, range.first, range.last},
                           .gradient = sums + panel.offset,
                           .center = centered_ ? center_.data() + at : nullptr,
                           .theta = theta_.data() + at,
                           .rounded = rounded});
    }
    if (!group.panels.empty()) return;
    for (std::size_t a = 0; a < group.chains.size(); ++a) {
      const std::size_t c = active_[a];
      const ChainSpec& spec = ensemble.specs[c];
      unpack(sums + a * layout_.packed_size, gradient_row_);
      fill_words(spec.key, spec.stream, ensemble.step[c] + k, words_);
      cpu::normals(words_, noise_);
      langevin_update(spec, gradient_row_, noise_, {theta_.data() + a * d, d});
      round(a);
    }
  }

  // `steps` steps of theta_.
  void move(const Ensemble& ensemble, std::uint64_t steps) {
    if (layout_.by_groups) return move_groups(ensemble, steps);
    for (std::uint64_t k = 0; k < steps; ++k) {
      for (std::size_t first = 0; first < layout_.groups.size(); first += layout_.batch) {
        const std::span<const Group> batch = layout_.batch_from(first);
        find_gradients(batch);
        const bool shared = !layout_.few && batch.size() * batch[0].size >= shared_update;
        const std::size_t parts = shared ? 4 * workers_.size() / batch.size() + 1 : 1;
        const auto run_part = [&](std::size_t p, std::size_t) {
          const std::size_t g = p / parts;
          update(ensemble, batch[g], sums_[g], k, p % parts, parts);
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
      const Group& group = layout_.groups[g];
      const std::uint64_t now = 1 + slice_work / (numbers() * group.chains.size() + 1);
      const std::uint64_t last = std::min(steps, steps_done_[g] + now);
      for (std::uint64_t& k = steps_done_[g]; k < last; ++k) {
        update(ensemble, group, group_gradient(group, member), k, 0, 1);
      }
      return last == steps;
    };
    if (workers_.size() > 1) return crew_.each_in_slices(layout_.groups.size(), slice);
    for (std::size_t g = 0; g < layout_.groups.size(); ++g) {
      while (!slice(g, 0)) {
      }
    }
  }

  // What a thread reads that sums nodes.
  struct Read {
    const Group* batch;
    cpu::Aligned<T> theta;  // of all groups
  };

  Crew crew_;
  MatrixView<const float> x_;  // [n x d]; without numbers where they came sparse
  bool in_memory_;
  std::span<const float> y_;  // [n]
  cpu::Entries entries_;
  cpu::LossChoice choice_;

  cpu::Layout layout_;
  std::vector<const double*> sums_;            // [batch] their sums
  std::vector<Worker<T>> workers_;             // of the crew's members, or of one
  std::vector<cpu::Aligned<double>> results_;  // [size] of a node or spare
  std::vector<Read> read_;                     // at the crew's places
  std::vector<std::uint64_t> steps_done_;      // of groups
  std::vector<double> gradient_row_, noise_;   // few chains: [d]
  std::vector<std::uint64_t> words_;           // and an even number of them
  std::vector<std::size_t> active_;            // unfinished chains
  bool centered_ = false;                      // some of them not at 0
  // Group after group: [C x d] of few chains, panels [d x width] of many.
  cpu::Aligned<double> theta_, center_;
  cpu::Aligned<T> packed_;  // theta_ as the kernels read it, where that is another thing
};

class CpuBackend final : public Backend {
 public:
  CpuBackend(Arithmetic arithmetic, std::size_t threads)
      : arithmetic_(arithmetic), threads_(threads == 0 ? threads_available() : threads) {}

  [[nodiscard]] std::string_view name() const override { return "cpu"; }
  [[nodiscard]] std::string description() const override {
    return fmt::format("{}; {} thread{}", arithmetic(), threads_, threads_ == 1 ? "" : "s");
  }
  [[nodiscard]] std::string arithmetic() const override {
    return fmt::format("{} on float storage; {}", to_string(arithmetic_), cpu::instruction_set());
  }
  std::unique_ptr<Engine> load(const Rows& x, std::span<const float> y, const Loss& loss) override {
    require_loadable(x, y);
    if (cpu::is_wide(x)) return cpu::make_wide_engine(x, y, loss, threads_);
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
  return std::make_unique<CpuBackend>(arithmetic, threads);
}

}  // namespace gibbsite
