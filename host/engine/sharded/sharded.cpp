// An engine that owns a share of the rows and answers for all of them.
//
// What one process adds in the tree over blocks, ranks add as nodes of it (sums.hpp): a local
// engine for each node of the share. What it adds one row after another goes from rank to rank:
// each begins with what the rows before its own left, so that these rare questions take as long as
// on one process, but for what can be found before (logits, terms). A step is made by rank 0 alone,
// which sends theta to the others: noise is drawn once, and no rank can go a way of its own.
//
// A GPU has a whole share, as nodes would each be a pass too short for it, and ranks add what
// shares are in the tree over ranks: bits depend on their number. Steps of chains are the GPUs'
// own affair where they can talk (CardShare); all else passes through the host.
//
// Every question carries a mark of itself and of its arguments, which ranks compare (Mark).
#include "gibbsite/engine/sharded.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "engine/checks.hpp"
#include "engine/clip.hpp"
#include "engine/gpu_share.hpp"
#include "engine/host_rows.hpp"
#include "engine/ordered_sums.hpp"
#include "engine/sharded/sums.hpp"
#include "engine/symmetric.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/summation.hpp"
#include "gibbsite/version.hpp"

namespace gibbsite {
namespace sharded {
namespace {

enum Question : std::uint64_t {
  ask_step,
  ask_gradients,
  ask_values,
  ask_moments,
  ask_clipped_rows,
  ask_caps,
  ask_capped_gradient,
  ask_information,
  ask_score_moments,
  ask_lengths,
  ask_weighted_gradients,
  ask_plain_value,
  ask_plain_gradient,
  ask_hessian,
  ask_dense,
  ask_diagonal,
  ask_product,
  ask_logit,
  ask_difference,
  ask_norms,
  ask_offset,
  ask_fault,
};

std::span<const double> all_of(MatrixView<const double> m) { return {m.data, m.rows * m.cols}; }

Mark mark_of(Question question, std::span<const double> numbers, double other = 0) {
  Mark mark(question);
  mark.add(numbers.size());
  mark.add(numbers);
  mark.add(other);
  return mark;
}

/// Ranks that ask one question, or end together where `stop` of one of them is set.
struct Asking {
  Communicator& ranks;
  const std::atomic<bool>* stop;

  void require_equal(const Mark& mark) const {
    require_same(ranks.gather(mark.value_or_stop(stop)));
  }
};

// state goes from rank to rank, each of which changes it; at last all have it.
template <class F>
void relay(Communicator& ranks, std::span<double> state, const F& change) {
  const std::size_t rank = ranks.rank();
  if (rank > 0) ranks.receive(std::as_writable_bytes(state), rank - 1);
  change();
  if (rank + 1 < ranks.size()) ranks.send(std::as_bytes(state), rank + 1);
  ranks.broadcast(std::as_writable_bytes(state), ranks.size() - 1);
}

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

class ShardedHessian final : public LossHessian {
 public:
  ShardedHessian(const Asking& asking, std::unique_ptr<HostHessian> local)
      : asking_(asking), local_(std::move(local)) {}

  void dense(MatrixView<double> out) const override {
    asking_.require_equal(Mark(ask_dense));
    std::vector<double> h(out.rows * out.rows);
    relay(asking_.ranks, h, [&] { local_->add(h); });
    local_->unfold(h, out);
  }
  void add_diagonal(std::span<double> out) const override {
    asking_.require_equal(mark_of(ask_diagonal, out));
    relay(asking_.ranks, out, [&] { local_->add_diagonal(out); });
  }
  void add_product(std::span<const double> v, std::span<double> out) const override {
    Mark mark = mark_of(ask_product, v);
    mark.add(std::span<const double>(out));
    asking_.require_equal(mark);
    relay(asking_.ranks, out, [&] { local_->add_product(v, out); });
  }

 private:
  Asking asking_;
  std::unique_ptr<HostHessian> local_;
};

// The base answers for the rows of this rank.
class ShardedEngine final : public HostRows {
 public:
  ShardedEngine(Backend& local, const Asking& asking, DeviceRanks* gpus, const Rows& x,
                std::span<const float> y, const Loss& loss, const Shares& shares)
      : HostRows(x, y, loss),
        asking_(asking),
        gpus_(gpus),
        shares_(shares),
        stepper_(load_stepper(local)),
        on_gpus_(dynamic_cast<GpuShare*>(stepper_.get()) != nullptr),
        ordered_(dynamic_cast<OrderedSums*>(stepper_.get()) != nullptr),
        sums_(asking_.ranks, leaves_of(shares.bounds), asking.stop) {
    Rows mine = x;
    mine.whole = shares_.whole;
    asking_.ranks.together([&] {
      if (on_gpus_) {
        if (x.rows > 0) nodes_.push_back({0, x.rows, local.load(mine, y, loss)});
        return;
      }
      for (const Node& node : sums_.mine()) {
        const std::size_t before = shares.bounds[asking_.ranks.rank()];
        const std::size_t first = node.first * row_block - before;
        const std::size_t last =
            std::min<std::size_t>(node.last * row_block, shares.whole.rows) - before;
        nodes_.push_back(
            {first, last,
             local.load(mine.part(first, last), y.subspan(first, last - first), loss)});
      }
    });
  }

  [[nodiscard]] bool certifiable() const override { return stepper_->certifiable(); }
  [[nodiscard]] std::string design() const override {
    const std::string local = nodes_.empty() ? "" : nodes_.front().engine->design();
    return fmt::format("{}{}rows on {} ranks", local, local.empty() ? "" : "; ",
                       asking_.ranks.size());
  }
  [[nodiscard]] std::size_t rows() const override { return shares_.whole.rows; }
  [[nodiscard]] std::size_t local_rows() const override { return table().rows; }

  void advance(Ensemble& ensemble, std::uint64_t steps) override {
    require_fitting(ensemble, features());
    require_output_streams(ensemble, outputs());
    const std::size_t d = features();
    asking_.require_equal(mark_of_chains(ensemble, steps));
    // A rank without rows takes the stepper, whose sums are zeros.
    Engine& here = nodes_.empty() ? *stepper_ : *nodes_.front().engine;
    if (auto* const gpu = dynamic_cast<GpuShare*>(&here);
        gpus_ != nullptr && gpu != nullptr && gpu->exchanges()) {
      return gpu->advance_among(ensemble, steps, asking_.ranks, *gpus_);
    }
    for (; steps > 0; --steps) {
      active_.clear();
      theta_.clear();
      for (std::size_t c = 0; c < ensemble.chains(); ++c) {
        if (ensemble.step[c] >= ensemble.specs[c].iterations) continue;
        active_.push_back(c);
        const std::span<const double> of_chain = std::as_const(ensemble).chain(c);
        theta_.insert(theta_.end(), of_chain.begin(), of_chain.end());
      }
      if (active_.empty()) return;
      gradient_.resize(theta_.size());
      find_gradients(mark_of(ask_step, theta_), {theta_.data(), active_.size(), d},
                     {gradient_.data(), active_.size(), d});
      if (asking_.ranks.rank() == 0) {
        stepper_->step(ensemble, {gradient_.data(), active_.size(), d});
        for (std::size_t a = 0; a < active_.size(); ++a) {
          std::ranges::copy(ensemble.chain(active_[a]), theta_.data() + a * d);
        }
      }
      asking_.ranks.broadcast(std::as_writable_bytes(std::span(theta_)), 0);
      if (asking_.ranks.rank() == 0) continue;
      for (std::size_t a = 0; a < active_.size(); ++a) {
        std::copy_n(theta_.data() + a * d, d, ensemble.chain(active_[a]).begin());
        ++ensemble.step[active_[a]];
      }
    }
  }
  void step(Ensemble& ensemble, MatrixView<const double> gradients) override {
    stepper_->step(ensemble, gradients);
  }

  void loss_gradients(MatrixView<const double> theta, MatrixView<double> out) override {
    const Mark mark = mark_of(ask_gradients, all_of(theta));
    asking_.require_equal(mark);  // or messages would not fit
    if (theta.rows > 0) find_gradients(mark, theta, out);
  }

  void loss_values(MatrixView<const double> theta, std::span<double> out) override {
    asking_.require_equal(mark_of(ask_values, all_of(theta)));
    std::vector<double> terms;
    const auto find = [&] { terms = loss_terms(theta); };
    if (on_gpus_) {
      asking_.ranks.together(find);  // a GPU can fail
    } else {
      find();
    }
    std::ranges::fill(out, 0.0);
    relay(asking_.ranks, out, [&] {
      for (std::size_t k = 0; k < terms.size(); ++k) out[k % out.size()] += terms[k];
    });
  }
  // The loss terms of this rank's rows.
  [[nodiscard]] std::vector<double> loss_terms(MatrixView<const double> theta) override {
    std::vector<double> terms;
    for (const Local& node : nodes_) {
      const std::vector<double> of_node = node.engine->loss_terms(theta);
      terms.insert(terms.end(), of_node.begin(), of_node.end());
    }
    return terms;
  }

  void second_moments(MatrixView<const double> P, double clip, MatrixView<double> out) override {
    require_metric(P, columns(), clip);
    add_symmetric(mark_of(ask_moments, all_of(P), clip), out,
                  [&](std::size_t node, MatrixView<double> of_node) {
                    nodes_[node].engine->second_moments(P, clip, of_node);
                  });
  }

  [[nodiscard]] double log_lengths(const RowLengths& lengths) override {
    require_lengths(lengths, columns());
    const Mark mark = mark_of_lengths(ask_lengths, lengths);
    asking_.require_equal(mark);
    return add(mark, 1, [&](std::size_t node, std::span<double> part) {
      part[0] = nodes_[node].engine->log_lengths(lengths);
    })[0];
  }

  void clipped_rows(MatrixView<const double> P, double clip, MatrixView<float> out) override {
    require_metric(P, columns(), clip);
    asking_.require_equal(mark_of(ask_clipped_rows, all_of(P), clip));
    for (const Local& node : nodes_) {
      node.engine->clipped_rows(
          P, clip, {out.data + node.first * out.cols, node.last - node.first, out.cols});
    }
  }

  std::unique_ptr<CappedLoss> capped_loss(MatrixView<const double> P,
                                          const ScoreLimits& limits) override {
    require_metric(P, columns(), limits);
    Mark mark = mark_of(ask_caps, all_of(P), limits.clip);
    mark.add(limits.information);
    asking_.require_equal(mark);
    return std::make_unique<Capped>(*this, P, limits);
  }

  void weighted_loss_gradients(MatrixView<const double> theta, std::span<const double> weights,
                               MatrixView<double> out) override {
    asking_.ranks.together([&] {
      if (weights.size() == local_rows()) return;
      throw BadInput(fmt::format("weights: {} for {} rows of the rank; give one for each",
                                 weights.size(), local_rows()));
    });
    const std::size_t d = features();
    const Mark mark = mark_of(ask_weighted_gradients, all_of(theta));
    asking_.require_equal(mark);
    const auto sum = add(mark, theta.rows * d, [&](std::size_t k, std::span<double> part) {
      const Local& node = nodes_[k];
      node.engine->weighted_loss_gradients(
          theta, weights.subspan(node.first, node.last - node.first), {part.data(), theta.rows, d});
    });
    std::ranges::copy(sum, out.data);
  }

  [[nodiscard]] double plain_value(std::span<const double> theta) const override {
    asking_.require_equal(mark_of(ask_plain_value, theta));
    double sum = 0;
    relay(asking_.ranks, {&sum, 1}, [&] { sum = plain_value_from(sum, theta); });
    return sum;
  }
  void plain_gradient(std::span<const double> theta, std::span<double> out) const override {
    asking_.require_equal(mark_of(ask_plain_gradient, theta));
    std::ranges::fill(out, 0.0);
    relay(asking_.ranks, out, [&] { add_plain_gradient(theta, out); });
  }
  [[nodiscard]] std::unique_ptr<LossHessian> hessian(std::span<const double> theta,
                                                     double scale) const override {
    asking_.require_equal(mark_of(ask_hessian, theta, scale));
    return std::make_unique<ShardedHessian>(asking_, host_hessian(theta, scale));
  }
  [[nodiscard]] double largest_logit(std::span<const double> theta) const override {
    return largest(mark_of(ask_logit, theta), HostRows::largest_logit(theta));
  }
  [[nodiscard]] double largest_offset() const override {
    return largest(Mark(ask_offset), HostRows::largest_offset());
  }
  [[nodiscard]] std::array<double, 4> exact_difference(MatrixView<const double> terms,
                                                       std::span<const double> w) const override {
    Mark mark = mark_of(ask_difference, all_of(terms));
    mark.add(w);
    asking_.require_equal(mark);
    std::array<double, 4> sum{};
    std::optional<Message> error;
    relay(asking_.ranks, sum, [&] {
      try {
        sum = exact_difference_from(sum, terms, w, shares_.bounds[asking_.ranks.rank()]);
      } catch (const Error& failure) {  // others wait for what this rank sends
        error = failure.message();
      }
    });
    asking_.ranks.agree(error);
    return sum;
  }
  [[nodiscard]] RowNorms row_norms() const override {
    asking_.require_equal(Mark(ask_norms));
    std::array<double, 2> norms{};
    relay(asking_.ranks, norms, [&] {
      const RowNorms of = row_norms_from({norms[0], norms[1]});
      norms = {of.largest_squared, of.sum_squares};
    });
    return {norms[0], norms[1]};
  }
  [[nodiscard]] std::optional<RowFault> first_fault(const RowLimits& limits) const override {
    Mark mark(ask_fault);
    for (const double v : {limits.norm_squared, limits.label_bound, limits.offset_bound}) {
      mark.add(v);
    }
    mark.add(static_cast<std::uint64_t>(limits.label) << 1 | std::uint64_t{limits.intercept});
    asking_.require_equal(mark);
    const auto mine = HostRows::first_fault(limits);
    // 0, or the row from 1 in all ranks' and which.
    const auto all =
        asking_.ranks.gather(!mine ? 0
                                   : (mine->row + shares_.bounds[asking_.ranks.rank()] + 1) << 2 |
                                         static_cast<std::uint64_t>(mine->what));
    for (const std::uint64_t fault : all) {  // the first rank's is the first row
      if (fault != 0) return RowFault{(fault >> 2) - 1, static_cast<RowFault::What>(fault & 3)};
    }
    return {};
  }

 private:
  // Rows [first, last) of this rank's.
  struct Local {
    std::size_t first, last;
    std::unique_ptr<Engine> engine;
  };

  class Capped final : public CappedLoss {
   public:
    Capped(ShardedEngine& of, MatrixView<const double> P, const ScoreLimits& limits)
        : of_(of), limits_(limits) {
      for (const Local& node : of.nodes_) nodes_.push_back(node.engine->capped_loss(P, limits));
    }
    void information_between(std::span<const double> theta, ClassPair pair,
                             MatrixView<double> out) override {
      require_information(of_.loss(), limits_, pair);
      Mark mark = mark_of(ask_information, theta);
      mark.add(std::uint64_t{pair.first});
      mark.add(std::uint64_t{pair.second});
      of_.add_symmetric(mark, out, [&](std::size_t node, MatrixView<double> of_node) {
        nodes_[node]->information_between(theta, pair, of_node);
      });
    }
    void information(std::span<const double> theta, MatrixView<double> out) override {
      require_information(of_.loss(), limits_);
      of_.add_symmetric(mark_of(ask_information, theta), out,
                        [&](std::size_t node, MatrixView<double> of_node) {
                          nodes_[node]->information(theta, of_node);
                        });
    }
    void score_moments(std::span<const double> theta, MatrixView<double> out) override {
      of_.add_symmetric(mark_of(ask_score_moments, theta), out,
                        [&](std::size_t node, MatrixView<double> of_node) {
                          nodes_[node]->score_moments(theta, of_node);
                        });
    }
    double gradient(std::span<const double> theta, std::span<double> out) override {
      const Mark mark = mark_of(ask_capped_gradient, theta);
      const std::size_t d = out.size();
      of_.asking_.require_equal(mark);
      if (of_.ordered_) {
        std::vector<double> state(2 * (d + 1));
        relay(of_.asking_.ranks, state, [&] {
          for (std::size_t k = 0; k < nodes_.size(); ++k) {
            dynamic_cast<OrderedSums&>(*of_.nodes_[k].engine).add_capped(*nodes_[k], theta, state);
          }
        });
        for (std::size_t j = 0; j < d; ++j) out[j] = state[2 * j] + state[2 * j + 1];
        return state[2 * d] + state[2 * d + 1];
      }
      const auto sum = of_.add(mark, d + 1, [&](std::size_t k, std::span<double> part) {
        part[d] = nodes_[k]->gradient(theta, part.first(d));
      });
      std::copy_n(sum.begin(), d, out.begin());
      return sum[d];
    }

   private:
    ShardedEngine& of_;
    ScoreLimits limits_;
    std::vector<std::unique_ptr<CappedLoss>> nodes_;
  };

  // out [k x k] = the sum of the nodes' symmetric matrices, which find(node, matrix) gives.
  template <class Find>
  void add_symmetric(const Mark& mark, MatrixView<double> out, const Find& find) {
    const std::size_t k = out.rows;
    asking_.require_equal(mark);
    std::vector<double> whole(k * k);
    const auto sum = add(mark, triangle_size(k), [&](std::size_t node, std::span<double> half) {
      find(node, MatrixView<double>{whole.data(), k, k});
      pack_triangle({whole.data(), k, k}, half);
    });
    unpack_triangle(sum, out);
  }

  static Mark mark_of_chains(const Ensemble& ensemble, std::uint64_t steps) {
    Mark mark = mark_of(ask_step, ensemble.theta, static_cast<double>(steps));
    for (std::size_t c = 0; c < ensemble.chains(); ++c) {
      const ChainSpec& spec = ensemble.specs[c];
      mark.add(ensemble.step[c]);
      mark.add(spec.iterations);
      for (const double v : {spec.inverse_temperature, spec.prior_precision, spec.step_size}) {
        mark.add(v);
      }
      mark.add(std::span<const double>(spec.center));
    }
    return mark;
  }

  // Leaves of the tree before each rank's and in all: blocks, or ranks, those without rows too.
  [[nodiscard]] std::vector<std::size_t> leaves_of(std::span<const std::uint64_t> bounds) const {
    std::vector<std::size_t> out;
    for (const std::uint64_t row : bounds) {
      out.push_back(on_gpus_ ? out.size() : (row + row_block - 1) / row_block);
    }
    return out;
  }

  // It makes steps and reads no row: one of zeros, kept as all are. Rank 0 may have none.
  std::unique_ptr<Engine> load_stepper(Backend& local) {
    zeros_.assign(columns(), 0.0F);
    no_entries_ = {0, 0};
    Rows row = shares_.sparse ? Rows(SparseRows{no_entries_.data(), nullptr, nullptr, 1}, columns())
                              : Rows(zeros_.data(), 1, columns());
    row.in_memory = shares_.in_memory;
    row.whole = shares_.whole;
    return local.load(row, label_, loss());
  }

  // The sum over all rows of find(node of this rank, its sum).
  template <class F>
  std::span<const double> add(const Mark& mark, std::size_t size, const F& find) {
    if (!on_gpus_) return sums_(mark, size, find);
    // A GPU can fail, and its rank would leave the others waiting for what it was to send.
    mine_.assign(size, 0.0);
    asking_.ranks.together([&] {
      if (!nodes_.empty()) find(0, std::span(mine_));
    });
    return sums_(mark, size, [&](std::size_t, std::span<double> part) {
      std::ranges::copy(mine_, part.begin());
    });
  }

  void find_gradients(const Mark& mark, MatrixView<const double> theta, MatrixView<double> out) {
    const std::size_t d = features();
    if (!ordered_) {
      const auto sum = add(mark, theta.rows * d, [&](std::size_t k, std::span<double> part) {
        nodes_[k].engine->loss_gradients(theta, {part.data(), theta.rows, d});
      });
      std::ranges::copy(sum, out.data);
      return;
    }
    // A rank adds its rows for one chain while the one before it does for the next.
    std::vector<double> state(2 * d);
    const std::size_t rank = asking_.ranks.rank(), last = asking_.ranks.size() - 1;
    for (std::size_t c = 0; c < theta.rows; ++c) {
      std::ranges::fill(state, 0.0);
      if (rank > 0) asking_.ranks.receive(std::as_writable_bytes(std::span(state)), rank - 1);
      for (const Local& node : nodes_) {
        dynamic_cast<OrderedSums&>(*node.engine).add_gradient(theta.row(c), state);
      }
      if (rank < last) asking_.ranks.send(std::as_bytes(std::span(state)), rank + 1);
      for (std::size_t j = 0; j < d; ++j) out(c, j) = state[2 * j] + state[2 * j + 1];
    }
    asking_.ranks.broadcast(std::as_writable_bytes(std::span(out.data, theta.rows * d)), last);
  }

  [[nodiscard]] double largest(const Mark& mark, double mine) const {
    asking_.require_equal(mark);
    double out = 0;
    for (const double v : asking_.ranks.gather(std::span<const double>(&mine, 1))) {
      if (std::isnan(v)) return v;
      out = std::max(out, v);
    }
    return out;
  }

  Asking asking_;
  DeviceRanks* gpus_;  // null: they do not talk
  Shares shares_;
  std::vector<float> zeros_;
  std::array<std::uint64_t, 2> no_entries_{};
  std::array<float, 1> label_{1.0F};
  std::unique_ptr<Engine> stepper_;
  bool on_gpus_;  // a share is one sum, not one of each node
  bool ordered_;  // sums of rows one after another (OrderedSums), not of the tree
  NodeSums sums_;
  std::vector<Local> nodes_;  // of this rank

  std::vector<std::size_t> active_;
  std::vector<double> theta_, gradient_;  // [unfinished x d]
  std::vector<double> mine_;              // a GPU's sum
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
    return std::make_unique<ShardedEngine>(*local_, asking_, gpus_.get(), x, y, loss, shares);
  }

 private:
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
