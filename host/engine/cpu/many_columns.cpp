// Chain after chain, and of each output after output, r_i x_ij added to sums [d] row after row,
// compensated, so that their error does not grow with the number of rows and no tree of blocks is
// needed (docs/theory/map-error.md, step 3).
//
// More threads than one meet a chunk of rows twice, by rows for the residuals and by ranges of
// features for the sums, each of which still adds its rows in order: the same bits.
//
//   reads 8 bytes an entry twice (once from memory where a chunk, for one thread a sub-block, stays
//   in cache) and at random 8 bytes of theta and 16 of a sum: bound by those
#include "engine/cpu/many_columns.hpp"

#include <algorithm>
#include <cmath>

#include "engine/checks.hpp"
#include "engine/clip.hpp"
#include "engine/cpu/kernels.hpp"
#include "engine/cpu/noise.hpp"
#include "engine/cpu/whitened.hpp"
#include "engine/host_rows.hpp"
#include "engine/ordered_sums.hpp"
#include "gibbsite/core/summation.hpp"
#include "machine/thread_pool.hpp"

namespace gibbsite::cpu {
namespace {

constexpr std::size_t sub_block = 256;          // rows whose entries are met twice while in cache
constexpr std::size_t small_work = 1 << 17;     // entries and features that one thread does
constexpr std::size_t chunk_entries = 1 << 20;  // 8 MB
constexpr std::size_t parts_each = 4;           // of a thread: the last one is not waited for long

// sum + low is the sum of what was added, up to u of itself and (n u)^2 of the sum of the terms'
// sizes (Ogita, Rump, Oishi, SIAM J. Sci. Comput. 26 (2005), Sum2).
struct Compensated {
  double sum = 0, low = 0;
  void add(double v) {
    const double next = sum + v, back = next - sum;
    low += (sum - (next - back)) + (v - back);
    sum = next;
  }
  [[nodiscard]] double value() const { return sum + low; }
};

// Adds terms to the last row of a state [rows x 2], or to 0 where there is none; the sum.
double add_last(std::span<const double> terms, std::span<double> state) {
  Compensated sum;
  if (!state.empty()) sum = {state[state.size() - 2], state.back()};
  for (const double term : terms) sum.add(term);
  if (!state.empty()) {
    state[state.size() - 2] = sum.sum;
    state.back() = sum.low;
  }
  return sum.value();
}

class ManyColumnsEngine final : public SteppingRows, public OrderedSums {
 public:
  [[nodiscard]] bool certifiable() const override { return true; }
  ManyColumnsEngine(const Rows& x, std::span<const float> y, const Loss& loss, std::size_t threads)
      : SteppingRows(x, y, loss),
        x_(x),
        y_(y),
        choice_(choose_loss(loss)),
        factors_(row_factors(loss, y, x.weight)),
        sums_(loss.outputs() * x.cols),
        pool_(threads) {
    const std::size_t work = x.sparse.entries() + x.cols;
    if (threads > 1 && work >= small_work) share_features();
    gradient_.resize(features());
    noise_.resize(features());
    words_.resize(x.cols + x.cols % 2);
  }

  void advance(Ensemble& ensemble, std::uint64_t steps) override {
    require_fitting(ensemble, features());
    require_output_streams(ensemble, outputs());
    for (std::size_t c = 0; c < ensemble.chains(); ++c) {
      const ChainSpec& spec = ensemble.specs[c];
      std::uint64_t& step = ensemble.step[c];
      for (std::uint64_t k = 0; k < steps && step < spec.iterations; ++k, ++step) {
        gradient(ensemble.chain(c), gradient_);
        move(ensemble, c, gradient_);
      }
    }
  }
  void step(Ensemble& ensemble, MatrixView<const double> gradients) override {
    std::size_t at = 0;
    for (std::size_t c = 0; c < ensemble.chains(); ++c) {
      if (ensemble.step[c] >= ensemble.specs[c].iterations) continue;
      move(ensemble, c, gradients.row(at++));
      ++ensemble.step[c];
    }
  }

  void second_moments(MatrixView<const double> P, double clip, MatrixView<double> out) override {
    require_metric(P, columns(), clip);
    cpu::second_moments(table(), pool_, P, clip, out);
  }
  void clipped_rows(MatrixView<const double> P, double clip, MatrixView<float> out) override {
    require_metric(P, columns(), clip);
    cpu::clipped_rows(table(), pool_, P, clip, out);
  }
  std::unique_ptr<CappedLoss> capped_loss(MatrixView<const double> P,
                                          const ScoreLimits& limits) override {
    require_metric(P, columns(), limits);
    return std::make_unique<Capped>(*this, P, limits);
  }

  void loss_gradients(MatrixView<const double> theta, MatrixView<double> out) override {
    for (std::size_t c = 0; c < theta.rows; ++c) gradient(theta.row(c), out.row(c));
  }

  void loss_values_and_gradients(MatrixView<const double> theta, std::span<double> values,
                                 MatrixView<double> gradients) override {
    for (std::size_t c = 0; c < theta.rows; ++c)
      values[c] = value_and_gradient(theta.row(c), gradients.row(c), {});
  }

  void add_gradient(std::span<const double> theta, std::span<double> state) override {
    gradient_of([&](std::size_t first, std::span<double> r,
                    std::size_t) { find_derivatives(theta, first, r); },
                gradient_, state);
  }
  void add_value_and_gradient(std::span<const double> theta, std::span<double> state) override {
    value_and_gradient(theta, gradient_, state);
  }
  void add_capped(CappedLoss& capped, std::span<const double> theta,
                  std::span<double> state) override {
    dynamic_cast<Capped&>(capped).add(theta, gradient_, state);
  }

  void loss_values(MatrixView<const double> theta, std::span<double> out) override {
    add_terms(loss_terms(theta), out);
  }
  [[nodiscard]] std::vector<double> loss_terms(MatrixView<const double> theta) override {
    const std::size_t blocks = (x_.rows + row_block - 1) / row_block;
    std::vector<double> values(blocks * theta.rows);
    for (std::size_t c = 0; c < theta.rows; ++c) {
      const auto block_value = [&](std::size_t b) {
        const std::size_t first = b * row_block;
        const std::size_t n = std::min<std::size_t>(row_block, x_.rows - first);
        std::vector<double> z(outputs() * n);
        find_logits(theta.row(c), first, n, z);
        values[b * theta.rows + c] = loss_value(first, first + n, z);
      };
      const std::size_t parts = std::min(blocks, 16 * pool_.members());
      pool_.each(parts, [&](std::size_t p, std::size_t) {
        for (std::size_t b = blocks * p / parts; b < blocks * (p + 1) / parts; ++b) block_value(b);
      });
    }
    return values;
  }

 private:
  // Its caps and slopes are those of the other engine, bit by bit: which of the two is taken
  // depends on the number of entries, so on other rows.
  class Capped final : public CappedLoss {
   public:
    Capped(ManyColumnsEngine& engine, MatrixView<const double> P, const ScoreLimits& limits)
        : engine_(engine),
          limits_(limits),
          caps_(engine.table(), engine.loss(), P, limits.clip),
          curvatures_((engine.rows() + sub_block - 1) / sub_block) {
      if (engine.outputs() > 1) P_.assign(P.data, P.data + P.rows * P.cols);
      for (std::size_t w = 0; w < engine.pool_.members(); ++w) workers_.push_back(caps_.scratch());
    }
    double gradient(std::span<const double> theta, std::span<double> out) override {
      return add(theta, out, {});
    }
    void information_between(std::span<const double> theta, ClassPair pair,
                             MatrixView<double> out) override {
      require_information(engine_.loss(), limits_, pair);
      std::vector<double> unused(found_ ? 0 : theta.size());
      if (!found_) gradient(theta, unused);
      class_information(engine_.table(), engine_.pool_, caps_, limits_, engine_.outputs(),
                        theta.data(), pair, out);
    }
    void information(std::span<const double> theta, MatrixView<double> out) override {
      require_information(engine_.loss(), limits_);
      find_rows(theta, false);
      cpu::information(engine_.table(), engine_.pool_, caps_.metric(), limits_, of_rows_, out);
      of_rows_.clear();
    }
    void score_moments(std::span<const double> theta, MatrixView<double> out) override {
      require_score_moments(engine_.loss(), caps_.metric().columns, out);
      if (engine_.outputs() > 1) {
        const MatrixView<const double> P{P_.data(), engine_.columns(), caps_.metric().columns};
        return engine_.HostRows::capped_loss(P, limits_)->score_moments(theta, out);
      }
      find_rows(theta, true);
      cpu::score_moments(engine_.table(), engine_.pool_, caps_.metric(), limits_, of_rows_, out);
      of_rows_.clear();
    }
    // state [(K d + 1) x 2] as OrderedSums has it, or none.
    double add(std::span<const double> theta, std::span<double> out, std::span<double> state) {
      engine_.gradient_of(
          [&](std::size_t first, std::span<double> r, std::size_t member) {
            const std::size_t n = r.size() / engine_.outputs(), last = first + n;
            if (!found_) caps_.find(first, last, workers_[member]);
            const RowsPart rows = engine_.table().part(first, last);
            double& curvature = curvatures_[first / sub_block];
            const RowTargets y = engine_.table().targets(first);
            const std::size_t d = engine_.columns();
            if (const std::size_t K = engine_.outputs(); K > 1) {
              outputs_logits(rows, d, K, theta.data(), r.data());
              curvature = held_outputs(engine_.choice_, r.data(), n, y, caps_.from(first),
                                       limits_.information, n);
              return;
            }
            double z[sub_block], w[sub_block];
            row_logits(rows, d, theta.data(), false, z);
            curvature = held_derivatives(engine_.choice_, {z, n}, y, caps_.from(first), limits_,
                                         r.data(), w);
            if (!of_rows_.empty()) std::copy_n(scores_ ? r.data() : w, n, &of_rows_[first]);
          },
          out, state.empty() ? state : state.first(2 * out.size()));
      found_ = true;
      return add_last(curvatures_, state);
    }

   private:
    // Every row's score or curvature.
    void find_rows(std::span<const double> theta, bool scores) {
      scores_ = scores;
      of_rows_.resize(engine_.rows());
      std::vector<double> unused(theta.size());
      gradient(theta, unused);
    }

    ManyColumnsEngine& engine_;
    ScoreLimits limits_;
    Caps caps_;
    std::vector<double> P_;  // of several outputs [d x k]
    std::vector<Caps::Scratch> workers_;
    std::vector<double> curvatures_;  // of sub-blocks
    std::vector<double> of_rows_;     // [n] scores or curvatures while a matrix is found
    bool scores_ = false;
    bool found_ = false;
  };
  [[nodiscard]] Table table() const {
    const float* const factors = factors_.empty() ? nullptr : factors_.data();
    return {{{}, x_.sparse}, columns(), y_, x_.offset, factors, x_.weight};
  }

  // Bounds of features between which about as many entries lie, the features themselves counted.
  void share_features() {
    std::vector<std::uint64_t> weight(x_.cols, 1);
    for (std::size_t i = 0; i < x_.rows; ++i) {
      x_.for_each(i, [&](std::size_t j, float) { ++weight[j]; });
    }
    const std::uint64_t all = x_.sparse.entries() + x_.cols;
    const std::size_t parts = parts_each * pool_.members();
    bounds_.push_back(0);
    std::uint64_t sum = 0;
    for (std::size_t j = 0; j < x_.cols; ++j) {
      sum += weight[j];
      if (sum * parts >= all * bounds_.size()) bounds_.push_back(j + 1);
    }
    const std::size_t chunks = x_.sparse.entries() / chunk_entries + 1;
    chunk_ = (x_.rows / chunks / sub_block + 1) * sub_block;
    derivatives_.resize(outputs() * std::min(chunk_, x_.rows));
  }

  void move(Ensemble& ensemble, std::size_t c, std::span<const double> gradient) {
    const ChainSpec& spec = ensemble.specs[c];
    for (std::size_t output = 0; output < outputs(); ++output) {
      fill_words(spec.key, output_stream(spec.stream, outputs(), output), ensemble.step[c], words_);
      normals(words_, std::span(noise_).subspan(output * columns(), columns()));
    }
    langevin_update(spec, gradient, noise_, ensemble.chain(c));
  }

  void gradient(std::span<const double> theta, std::span<double> out) {
    gradient_of([&](std::size_t first, std::span<double> r,
                    std::size_t) { find_derivatives(theta, first, r); },
                out);
  }

  // The gradient, and the loss of the logits that it takes anyway; state [(K d + 1) x 2] or none.
  double value_and_gradient(std::span<const double> theta, std::span<double> out,
                            std::span<double> state) {
    std::vector<double> losses((x_.rows + sub_block - 1) / sub_block);
    gradient_of(
        [&](std::size_t first, std::span<double> r, std::size_t) {
          find_logits(theta, first, r.size() / outputs(), r);
          losses[first / sub_block] = loss_value(first, first + r.size() / outputs(), r);
          replace_by_derivatives(first, r);
        },
        out, state.first(std::min(state.size(), 2 * out.size())));
    return add_last(losses, state);
  }

  // find(first, r, member) is to find the residuals [K x n] of a sub-block's n rows. Where there is
  // a state [K d x 2], sums begin with it and end in it.
  template <class Find>
  void gradient_of(const Find& find, std::span<double> out, std::span<double> state = {}) {
    for (std::size_t j = 0; 2 * j < state.size(); ++j) sums_[j] = {state[2 * j], state[2 * j + 1]};
    add_all(find, out, state.empty());
    for (std::size_t j = 0; 2 * j < state.size(); ++j) {
      state[2 * j] = sums_[j].sum;
      state[2 * j + 1] = sums_[j].low;
    }
  }
  template <class Find>
  void add_all(const Find& find, std::span<double> out, bool from_zero) {
    if (bounds_.empty()) {
      if (from_zero) std::ranges::fill(sums_, Compensated());
      for (std::size_t first = 0; first < x_.rows; first += sub_block) {
        const std::size_t n = std::min(sub_block, x_.rows - first);
        derivatives_.resize(outputs() * sub_block);
        const std::span r(derivatives_.data(), outputs() * n);
        find(first, r, 0);
        for (std::size_t k = 0; k < outputs(); ++k) {
          Compensated* const sums = sums_.data() + k * columns();
          for (std::size_t i = 0; i < n; ++i) {
            x_.for_each(first + i, [&](std::size_t j, float v) {
              sums[j].add(r[k * n + i] * static_cast<double>(v));
            });
          }
        }
      }
      std::ranges::transform(sums_, out.begin(), &Compensated::value);
      return;
    }
    for (std::size_t begin = 0; begin < x_.rows; begin += chunk_) {
      const std::size_t end = std::min(begin + chunk_, x_.rows);
      const std::size_t blocks = (end - begin + sub_block - 1) / sub_block;
      const std::size_t parts = std::min(blocks, parts_each * pool_.members());
      pool_.each(parts, [&](std::size_t p, std::size_t member) {
        for (std::size_t b = blocks * p / parts; b < blocks * (p + 1) / parts; ++b) {
          const std::size_t first = b * sub_block;
          const std::size_t n = std::min(sub_block, end - begin - first);
          find(begin + first, std::span(derivatives_).subspan(outputs() * first, outputs() * n),
               member);
        }
      });
      pool_.each(bounds_.size() - 1, [&](std::size_t p, std::size_t) {
        for (std::size_t k = 0; k < outputs(); ++k) {
          add_rows(begin, end, k, bounds_[p], bounds_[p + 1], out, begin == 0 && from_zero);
        }
      });
    }
  }

  // z [K x n] of the rows from `first` on.
  void find_logits(std::span<const double> theta, std::size_t first, std::size_t n,
                   std::span<double> z) const {
    for (std::size_t k = 0; k < outputs(); ++k) {
      const auto of_output = theta.subspan(k * columns(), columns());
      for (std::size_t i = 0; i < n; ++i) {
        z[k * n + i] = x_.dot(first + i, of_output);
        if (x_.offset != nullptr) z[i] += x_.offset_of(first + i);  // K is 1
      }
    }
  }
  // r [K x n]: f'(x_i . theta, y_i) of the rows from `first` on.
  void find_derivatives(std::span<const double> theta, std::size_t first,
                        std::span<double> r) const {
    find_logits(theta, first, r.size() / outputs(), r);
    replace_by_derivatives(first, r);
  }
  void replace_by_derivatives(std::size_t first, std::span<double> r) const {
    const std::size_t n = r.size() / outputs();
    derivatives(choice_, r, y_.subspan(first, n), r);
    for (std::size_t i = 0; !factors_.empty() && i < r.size(); ++i) {
      r[i] *= static_cast<double>(factors_[first + i % n]);
    }
  }

  // Adds r_i x_ij of rows [begin, end) for output k and features j in [low, high); out[j] of it
  // with the last row.
  void add_rows(std::size_t begin, std::size_t end, std::size_t k, std::size_t low,
                std::size_t high, std::span<double> out, bool from_zero) {
    Compensated* const sums = sums_.data() + k * columns();
    if (from_zero) std::fill(sums + low, sums + high, Compensated());
    const SparseRows& x = x_.sparse;
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t first = (i - begin) / sub_block * sub_block;
      const std::size_t n = std::min(sub_block, end - begin - first);
      const double r = derivatives_[outputs() * first + k * n + (i - begin - first)];
      const std::uint32_t* const last = x.feature + x.begin[i + 1];
      for (const std::uint32_t* at = std::lower_bound(x.feature + x.begin[i], last, low);
           at != last && *at < high; ++at) {
        sums[*at].add(r * static_cast<double>(x.value[at - x.feature]));
      }
    }
    if (end < x_.rows) return;
    for (std::size_t j = low; j < high; ++j) out[k * columns() + j] = sums[j].value();
  }

  Rows x_;                    // [n x d], sparse
  std::span<const float> y_;  // [n]
  LossChoice choice_;
  std::vector<float> factors_;            // [n] where rows or classes are weighted
  std::vector<Compensated> sums_;         // [K x d]
  std::vector<double> gradient_, noise_;  // [K x d]
  std::vector<std::uint64_t> words_;      // [d], an even number of them
  std::vector<std::size_t> bounds_;       // of ranges of features; none for one thread
  std::size_t chunk_ = 0;                 // rows met twice while in cache, where there are ranges
  std::vector<double> derivatives_;       // [K x sub-block] of each of a chunk
  ThreadPool pool_;
};

}  // namespace

bool has_many_columns(const Rows& x) {
  // Where (n u)^2 would pass what the map error allows for a sum, blocks go on.
  constexpr double most_rows = 3e9;
  if (!x.is_sparse()) return false;
  const Rows::Whole all = x.whole.rows > 0 ? x.whole : Rows::Whole{x.rows, x.sparse.entries()};
  return static_cast<double>(all.rows) <= most_rows &&
         static_cast<double>(x.cols) * static_cast<double>(all.rows) >
             static_cast<double>(row_block) * static_cast<double>(all.entries);
}

std::unique_ptr<Engine> make_many_columns_engine(const Rows& x, std::span<const float> y,
                                                 const Loss& loss, std::size_t threads) {
  return std::make_unique<ManyColumnsEngine>(x, y, loss, threads);
}

}  // namespace gibbsite::cpu
