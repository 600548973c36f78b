// The engine that asks: it has no row, and adds what shares answer as one process would.
#include "gibbsite/engine/remote.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "core/format_message.hpp"
#include "engine/checks.hpp"
#include "engine/clip.hpp"
#include "engine/host_rows.hpp"
#include "engine/ordered_sums.hpp"
#include "engine/remote/program.hpp"
#include "engine/remote/wire.hpp"
#include "engine/sharded/tree.hpp"
#include "engine/symmetric.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/summation.hpp"

namespace gibbsite {
namespace remote {
namespace {

using sharded::Node;

std::vector<double> all_of(MatrixView<const double> m) {
  return {m.data, m.data + m.rows * m.cols};
}
std::vector<double> all_of(std::span<const double> v) { return {v.begin(), v.end()}; }

/// Questions and what comes back, checked.
class Asker {
 public:
  Asker(const RemoteTable& table, ShareCarrier& carrier, Bytes program)
      : table_(table), carrier_(carrier), program_(program) {
    const auto block_of = [](std::uint64_t row) { return (row + row_block - 1) / row_block; };
    const std::size_t blocks = block_of(rows());
    for (std::size_t p = 0; p < shares(); ++p) {
      const auto of_share =
          sharded::nodes_of(block_of(table.bounds[p]), block_of(table.bounds[p + 1]), blocks);
      nodes_.insert(nodes_.end(), of_share.begin(), of_share.end());
      counts_.push_back(of_share.size());
    }
    additions_ = sharded::additions(nodes_, blocks);
  }
  [[nodiscard]] std::uint64_t rows() const { return table_.bounds.back(); }
  [[nodiscard]] std::size_t shares() const { return table_.digests.size(); }

  /// What each share answers, `size` numbers.
  [[nodiscard]] std::vector<std::vector<double>> each(const Question& q, std::size_t size) const {
    return answers(q, [size](std::size_t /*share*/) { return size; });
  }
  /// The sum over all blocks of what shares answer of their nodes, `size` numbers each.
  [[nodiscard]] std::vector<double> sum(const Question& q, std::size_t size) const {
    auto parts = answers(q, [&](std::size_t p) { return counts_[p] * size; });
    std::vector<double*> at;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      for (std::size_t k = 0; k < counts_[p]; ++k) at.push_back(parts[p].data() + k * size);
    }
    for (const auto& [left, right] : additions_) {
      for (std::size_t i = 0; i < size; ++i) at[left][i] += at[right][i];
    }
    return {at[0], at[0] + size};
  }
  /// state, as it is behind the last share.
  void in_turn(const Question& q, std::span<double> state) const {
    const std::string question = bytes_of(q);
    const Answer answer =
        answer_of(carrier_.relay(question, bytes_of(Answer{{}, all_of(std::span(state))})));
    require_stamps(answer.stamps, 0, shares(), raw_digest(question));
    require_size(answer.numbers.size(), state.size());
    std::ranges::copy(answer.numbers, state.begin());
  }

 private:
  template <class Size>
  [[nodiscard]] std::vector<std::vector<double>> answers(const Question& q,
                                                         const Size& size) const {
    const std::string question = bytes_of(q);
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

class RemoteHessian final : public LossHessian {
 public:
  // `local`: of no rows, for how sums are laid out.
  RemoteHessian(const Asker& ask, std::span<const double> theta, double scale,
                std::unique_ptr<HostHessian> local)
      : ask_(ask), theta_(all_of(theta)), scale_(scale), local_(std::move(local)) {}

  void dense(MatrixView<double> out) const override {
    std::vector<double> h(out.rows * out.rows);
    ask_.in_turn(question(What::dense), h);
    local_->unfold(h, out);
  }
  void add_diagonal(std::span<double> out) const override {
    ask_.in_turn(question(What::diagonal), out);
  }
  void add_product(std::span<const double> v, std::span<double> out) const override {
    Question q = question(What::product);
    q.second = all_of(v);
    ask_.in_turn(q, out);
  }

 private:
  [[nodiscard]] Question question(What what) const { return {what, 1, scale_, theta_, {}}; }

  const Asker& ask_;
  std::vector<double> theta_;
  double scale_;
  std::unique_ptr<HostHessian> local_;
};

// The base has no rows; it knows how wide they are.
class RemoteEngine final : public HostRows {
 public:
  RemoteEngine(Backend& local, const RemoteTable& table, ShareCarrier& carrier, const Rows& none,
               const Loss& loss)
      : HostRows(none, {}, loss), ask_(table, carrier, raw_digest(name_of_program(local))) {
    // It makes steps and reads no row: one of zeros, kept as all are.
    zeros_.assign(columns(), 0.0F);
    no_entries_ = {0, 0};
    Rows row = table.is_sparse
                   ? Rows(SparseRows{no_entries_.data(), nullptr, nullptr, 1}, columns())
                   : Rows(zeros_.data(), 1, columns());
    row.whole = {ask_.rows(), table.entries};
    stepper_ = local.load(row, label_, loss);
    in_turn_ = dynamic_cast<OrderedSums*>(stepper_.get()) != nullptr;
  }

  [[nodiscard]] bool certifiable() const override { return stepper_->certifiable(); }
  [[nodiscard]] std::string design() const override {
    return fmt::format("rows in {} shares elsewhere", ask_.shares());
  }
  [[nodiscard]] std::size_t rows() const override { return ask_.rows(); }
  [[nodiscard]] std::size_t local_rows() const override { return 0; }

  void advance(Ensemble& ensemble, std::uint64_t steps) override {
    require_fitting(ensemble, features());
    require_output_streams(ensemble, outputs());
    const std::size_t d = features();
    std::vector<double> theta, gradient;
    for (; steps > 0; --steps) {
      theta.clear();
      for (std::size_t c = 0; c < ensemble.chains(); ++c) {
        if (ensemble.step[c] >= ensemble.specs[c].iterations) continue;
        const std::span<const double> of_chain = std::as_const(ensemble).chain(c);
        theta.insert(theta.end(), of_chain.begin(), of_chain.end());
      }
      if (theta.empty()) return;
      gradient.resize(theta.size());
      const std::size_t chains = theta.size() / d;
      loss_gradients({theta.data(), chains, d}, {gradient.data(), chains, d});
      stepper_->step(ensemble, {gradient.data(), chains, d});
    }
  }
  void step(Ensemble& ensemble, MatrixView<const double> gradients) override {
    stepper_->step(ensemble, gradients);
  }

  void loss_gradients(MatrixView<const double> theta, MatrixView<double> out) override {
    if (theta.rows == 0) return;
    const std::size_t d = features();
    const Question q{What::gradients, theta.rows, 0, all_of(theta), {}};
    if (!in_turn_) {
      std::ranges::copy(ask_.sum(q, theta.rows * d), out.data);
      return;
    }
    std::vector<double> state(theta.rows * 2 * d);
    ask_.in_turn(q, state);
    for (std::size_t j = 0; j < theta.rows * d; ++j) out.data[j] = state[2 * j] + state[2 * j + 1];
  }
  void loss_values(MatrixView<const double> theta, std::span<double> out) override {
    std::ranges::fill(out, 0.0);
    if (theta.rows > 0) ask_.in_turn({What::values, theta.rows, 0, all_of(theta), {}}, out);
  }
  void second_moments(MatrixView<const double> P, double clip, MatrixView<double> out) override {
    require_metric(P, columns(), clip);
    ask_symmetric({What::moments, P.cols, clip, all_of(P), {}}, out);
  }
  [[nodiscard]] double log_lengths(const RowLengths& lengths) override {
    require_lengths(lengths, columns());
    Question q{What::lengths, 1, 0, lengths.weight, lengths.center};
    for (const double v : {lengths.base, lengths.low, lengths.high}) q.second.push_back(v);
    return ask_.sum(q, 1)[0];
  }
  void clipped_rows(MatrixView<const double> /*P*/, double /*clip*/,
                    MatrixView<float> /*out*/) override {
    throw BadInput(
        "mechanism: one in a metric of its own makes new rows, and these lie elsewhere; take "
        "another, or fit in one process");
  }
  void weighted_loss_gradients(MatrixView<const double> /*theta*/,
                               std::span<const double> /*weights*/,
                               MatrixView<double> /*out*/) override {
    throw BadInput("weights: rows that lie elsewhere are all asked alike; fit in one process");
  }
  std::unique_ptr<CappedLoss> capped_loss(MatrixView<const double> P,
                                          const ScoreLimits& limits) override {
    require_metric(P, columns(), limits);
    return std::make_unique<Capped>(*this, P, limits);
  }

  [[nodiscard]] double plain_value(std::span<const double> theta) const override {
    double sum = 0;
    ask_.in_turn({What::plain_value, 1, 0, all_of(theta), {}}, {&sum, 1});
    return sum;
  }
  void plain_gradient(std::span<const double> theta, std::span<double> out) const override {
    std::ranges::fill(out, 0.0);
    ask_.in_turn({What::plain_gradient, 1, 0, all_of(theta), {}}, out);
  }
  [[nodiscard]] std::unique_ptr<LossHessian> hessian(std::span<const double> theta,
                                                     double scale) const override {
    return std::make_unique<RemoteHessian>(ask_, theta, scale, host_hessian(theta, scale));
  }
  [[nodiscard]] double largest_logit(std::span<const double> theta) const override {
    return largest({What::logit, 1, 0, all_of(theta), {}});
  }
  [[nodiscard]] double largest_offset() const override { return largest({What::offset}); }
  [[nodiscard]] std::array<double, 4> exact_difference(MatrixView<const double> terms,
                                                       std::span<const double> w) const override {
    std::array<double, 4> sum{};
    ask_.in_turn({What::difference, terms.rows, 0, all_of(terms), all_of(w)}, sum);
    return sum;
  }
  [[nodiscard]] RowNorms row_norms() const override {
    std::array<double, 2> norms{};
    ask_.in_turn({What::norms}, norms);
    return {norms[0], norms[1]};
  }
  [[nodiscard]] std::optional<RowFault> first_fault(const RowLimits& limits) const override {
    const Question q{
        What::fault,
        static_cast<std::uint64_t>(limits.label) << 1 | std::uint64_t{limits.intercept},
        0,
        {limits.norm_squared, limits.label_bound, limits.offset_bound},
        {}};
    for (const auto& fault : ask_.each(q, 2)) {  // the first share's is the first row
      if (fault[0] == 0) continue;
      if (!(fault[0] >= 1 && fault[0] <= static_cast<double>(ask_.rows()) && fault[1] >= 0 &&
            fault[1] <= 2)) {
        throw BadInput("shares: a fault is of no row; report this");
      }
      return RowFault{static_cast<std::size_t>(fault[0]) - 1,
                      static_cast<RowFault::What>(static_cast<int>(fault[1]))};
    }
    return {};
  }

 private:
  class Capped final : public CappedLoss {
   public:
    Capped(const RemoteEngine& of, MatrixView<const double> P, const ScoreLimits& limits)
        : of_(of),
          limits_(limits),
          question_{What::capped_gradient, P.cols, limits.clip, {}, all_of(P)} {
      question_.second.push_back(limits.information);
    }
    void information_between(std::span<const double> theta, ClassPair pair,
                             MatrixView<double> out) override {
      require_information(of_.loss(), limits_, pair);
      Question question = question_;
      question.what = What::information;
      question.first = all_of(theta);
      question.first.push_back(static_cast<double>(pair.first));
      question.first.push_back(static_cast<double>(pair.second));
      of_.ask_symmetric(question, out);
    }
    void information(std::span<const double> theta, MatrixView<double> out) override {
      require_information(of_.loss(), limits_);
      ask_matrix(What::information, theta, out);
    }
    void score_moments(std::span<const double> theta, MatrixView<double> out) override {
      require_score_moments(of_.loss(), question_.rows, out);
      ask_matrix(What::score_moments, theta, out);
    }
    double gradient(std::span<const double> theta, std::span<double> out) override {
      question_.first = all_of(theta);
      const std::size_t d = out.size();
      if (of_.in_turn_) {
        std::vector<double> state(2 * (d + 1));
        of_.ask_.in_turn(question_, state);
        for (std::size_t j = 0; j < d; ++j) out[j] = state[2 * j] + state[2 * j + 1];
        return state[2 * d] + state[2 * d + 1];
      }
      const auto sum = of_.ask_.sum(question_, d + 1);
      std::copy_n(sum.begin(), d, out.begin());
      return sum[d];
    }

   private:
    void ask_matrix(What what, std::span<const double> theta, MatrixView<double> out) {
      Question question = question_;
      question.what = what;
      question.first = all_of(theta);
      of_.ask_symmetric(question, out);
    }

    const RemoteEngine& of_;
    ScoreLimits limits_;
    Question question_;
  };

  // out [k x k] = the symmetric matrix whose lower triangle the shares answer.
  void ask_symmetric(const Question& q, MatrixView<double> out) const {
    unpack_triangle(ask_.sum(q, triangle_size(out.rows)), out);
  }
  [[nodiscard]] double largest(const Question& q) const {
    double out = 0;
    for (const auto& of_share : ask_.each(q, 1)) {
      if (std::isnan(of_share[0])) return of_share[0];
      out = std::max(out, of_share[0]);
    }
    return out;
  }

  Asker ask_;
  bool in_turn_ = false;  // sums of rows one after another (OrderedSums), not of the tree

  std::vector<float> zeros_;
  std::array<std::uint64_t, 2> no_entries_{};
  std::array<float, 1> label_{1.0F};
  std::unique_ptr<Engine> stepper_;
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
    return std::make_unique<RemoteEngine>(*local_, table_, carrier_, x, loss);
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
