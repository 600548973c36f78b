#include "engine/distributed/distributed_sums.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "engine/checks.hpp"
#include "engine/clip.hpp"
#include "engine/distributed/questions.hpp"
#include "engine/host_rows.hpp"
#include "engine/ordered_sums.hpp"
#include "engine/people_scores.hpp"
#include "engine/symmetric.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/summation.hpp"

namespace gibbsite::distributed {
namespace {

std::vector<double> all_of(MatrixView<const double> m) {
  return {m.data, m.data + m.rows * m.cols};
}
std::vector<double> all_of(std::span<const double> v) { return {v.begin(), v.end()}; }

sharded::Mark mark_of_chains(const Ensemble& ensemble, std::uint64_t steps) {
  sharded::Mark mark(steps);
  mark.add(std::uint64_t{ensemble.chains()});
  mark.add(std::span<const double>(ensemble.theta));
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

}  // namespace

RowOfZeros::RowOfZeros(Backend& local, std::size_t columns, const Loss& loss,
                       const Rows::Whole& whole, bool sparse, bool in_memory)
    : zeros_(columns) {
  Rows row = sparse ? Rows(SparseRows{no_entries_.data(), nullptr, nullptr, 1}, columns)
                    : Rows(zeros_.data(), 1, columns);
  row.in_memory = in_memory;
  row.whole = whole;
  engine_ = local.load(row, label_, loss);
}

DistributedSums::DistributedSums(const Table& table, std::unique_ptr<Transport> transport,
                                 std::unique_ptr<RowOfZeros> stepper)
    : table_(table),
      transport_(std::move(transport)),
      stepper_(std::move(stepper)),
      ordered_(stepper_ && dynamic_cast<OrderedSums*>(&stepper_->engine()) != nullptr) {}

void DistributedSums::ask(const Question& q, std::span<double> out) const {
  require_asked(*this, q, out.size());
  switch (q.of->added) {
    case Added::by_tree:
      return transport_->sum(q, out);
    case Added::in_turn:
      return transport_->relay(q, out);
    case Added::largest:
    case Added::first:
      std::ranges::fill(out, 0.0);
      for (const std::vector<double>& of_share : transport_->ask_all(q, out.size())) {
        add_share(q.of->added, of_share, out);
      }
  }
}

void DistributedSums::add_up(const Question& by_tree, const Declared& ordered,
                             std::span<double> out) const {
  if (!ordered_) return ask(by_tree, out);
  Question in_turn = by_tree;
  in_turn.of = &ordered;
  std::vector<double> state(2 * out.size());
  ask(in_turn, state);
  for (std::size_t j = 0; j < out.size(); ++j) out[j] = state[2 * j] + state[2 * j + 1];
}

void DistributedSums::ask_symmetric(const Question& q, MatrixView<double> out) const {
  std::vector<double> half(triangle_size(out.rows));
  ask(q, half);
  unpack_triangle(half, out);
}

void DistributedSums::find_gradients(std::span<const double> theta, std::span<double> out,
                                     bool agreed) const {
  Question q{&gradients, theta.size() / features(), 0, all_of(theta)};
  q.agreed = agreed;
  add_up(q, ordered_gradients, out);
}

// Chains.

void DistributedSums::advance(Ensemble& ensemble, std::uint64_t steps) {
  require_fitting(ensemble, features());
  require_output_streams(ensemble, outputs());
  transport_->agree(mark_of_chains(ensemble, steps));
  if (transport_->advance(ensemble, steps)) return;
  const std::size_t d = features();
  std::vector<std::size_t> active;
  std::vector<double> theta, gradient;
  for (; steps > 0; --steps) {
    active.clear();
    theta.clear();
    for (std::size_t c = 0; c < ensemble.chains(); ++c) {
      if (ensemble.step[c] >= ensemble.specs[c].iterations) continue;
      active.push_back(c);
      const std::span<const double> of_chain = std::as_const(ensemble).chain(c);
      theta.insert(theta.end(), of_chain.begin(), of_chain.end());
    }
    if (active.empty()) return;
    gradient.resize(theta.size());
    find_gradients(theta, gradient, true);
    if (transport_->leads()) {
      step(ensemble, {gradient.data(), active.size(), d});
      for (std::size_t a = 0; a < active.size(); ++a) {
        std::ranges::copy(ensemble.chain(active[a]), theta.data() + a * d);
      }
    }
    transport_->broadcast(theta);
    if (transport_->leads()) continue;
    for (std::size_t a = 0; a < active.size(); ++a) {
      std::copy_n(theta.data() + a * d, d, ensemble.chain(active[a]).begin());
      ++ensemble.step[active[a]];
    }
  }
}
void DistributedSums::step(Ensemble& ensemble, MatrixView<const double> gradients) {
  stepper_->engine().stepper()->step(ensemble, gradients);
}

// Sums.

void DistributedSums::loss_gradients(MatrixView<const double> theta, MatrixView<double> out) {
  if (theta.rows == 0) return;
  find_gradients({theta.data, theta.rows * theta.cols}, {out.data, theta.rows * features()}, false);
}
void DistributedSums::loss_values_and_gradients(MatrixView<const double> theta,
                                                std::span<double> losses, MatrixView<double> out) {
  if (theta.rows == 0) return;
  const std::size_t chains = theta.rows, d = features();
  Question q{&values_and_gradients, chains, 0, all_of(theta)};
  if (!ordered_) {
    std::vector<double> both(chains * (d + 1));
    ask(q, both);
    std::copy_n(both.begin(), chains, losses.begin());
    std::copy_n(both.begin() + static_cast<std::ptrdiff_t>(chains), chains * d, out.data);
    return;
  }
  q.of = &ordered_values_and_gradients;
  std::vector<double> state(2 * chains * (d + 1));
  ask(q, state);
  for (std::size_t c = 0; c < chains; ++c) {
    const double* const of_chain = &state[2 * c * (d + 1)];
    const auto sum = [&](std::size_t j) { return of_chain[2 * j] + of_chain[2 * j + 1]; };
    for (std::size_t j = 0; j < d; ++j) out.row(c)[j] = sum(j);
    losses[c] = sum(d);
  }
}
void DistributedSums::loss_values(MatrixView<const double> theta, std::span<double> out) {
  std::ranges::fill(out, 0.0);
  if (theta.rows > 0) ask({&values, theta.rows, 0, all_of(theta)}, out);
}
void DistributedSums::second_moments(MatrixView<const double> P, double clip,
                                     MatrixView<double> out) {
  require_metric(P, table_.columns, clip);
  ask_symmetric({&moments, P.cols, clip, all_of(P)}, out);
}
double DistributedSums::log_lengths(const RowLengths& of) {
  require_lengths(of, table_.columns);
  Question q{&lengths, 1, 0, of.weight, of.center};
  for (const double v : {of.base, of.low, of.high}) q.second.push_back(v);
  double out = 0;
  ask(q, {&out, 1});
  return out;
}
void DistributedSums::clipped_rows(MatrixView<const double> P, double clip, MatrixView<float> out) {
  require_metric(P, table_.columns, clip);
  RowSums& own = transport_->own_rows(
      "mechanism: one in a metric of its own makes new rows, and these lie elsewhere; take "
      "another, or fit in one process");
  sharded::Mark mark(P.rows);
  mark.add(std::span(P.data, P.rows * P.cols));
  mark.add(clip);
  transport_->agree(mark);
  own.clipped_rows(P, clip, out);
}
void DistributedSums::weighted_loss_gradients(MatrixView<const double> theta,
                                              std::span<const double> weights,
                                              MatrixView<double> out) {
  transport_->own_rows("weights: rows that lie elsewhere are all asked alike; fit in one process");
  transport_->together([&] {
    if (weights.size() == local_rows()) return;
    throw BadInput(fmt::format("weights: {} for {} rows of the rank; give one for each",
                               weights.size(), local_rows()));
  });
  if (theta.rows == 0) return;
  ask({&weighted_gradients, theta.rows, 0, all_of(theta), {}, weights},
      {out.data, theta.rows * features()});
}

void DistributedSums::people_score_moments(MatrixView<const double> P, const ScoreLimits& limits,
                                           std::span<const double> theta, const PersonOfRow& rows,
                                           MatrixView<double> out) {
  require_metric(P, table_.columns, limits);
  require_score_moments(loss(), P.cols, out);
  transport_->own_rows(people_elsewhere);
  transport_->together([&] {
    // People's rows are listed by numbers of 32 bits.
    if (rows.place.size() != local_rows() ||
        local_rows() > std::numeric_limits<std::uint32_t>::max())
      throw BadInput(
          "people: intervals of them take one place for each row of the rank, of at most 2^32 - 1 "
          "rows");
  });
  std::vector<double> place(rows.place.size());
  std::ranges::transform(rows.place, place.begin(), [&](std::uint32_t p) {
    return p == rows.nobody ? -1.0 : static_cast<double>(p);
  });
  double all = 0;
  Question q{&people_end};
  q.own = place;
  ask(q, {&all, 1});
  const auto people = static_cast<std::size_t>(all);
  q.of = &people_scores;
  q.rows = P.cols;
  q.number = limits.clip;
  q.second = distributed::with_limits(all_of(P), limits);
  q.of_second = q.mark_of_second();
  // Whole blocks of people at a time, as memory allows.
  const std::size_t d = features(), at_once = row_block * std::max<std::size_t>(
                                                              most_people_sums / d / row_block, 1);
  std::vector<double> found;
  std::size_t begin = 0, end = 0;
  const auto copy = [&](std::size_t first, std::size_t last, std::span<double> sums) {
    if (last > end) {
      begin = first;
      end = std::min(people, first + at_once);
      q.first = all_of(theta);
      for (const std::size_t p : {begin, end}) q.first.push_back(static_cast<double>(p));
      found.assign((end - begin) * d, 0.0);
      ask(q, found);
    }
    std::copy_n(found.begin() + static_cast<std::ptrdiff_t>((first - begin) * d), sums.size(),
                sums.begin());
  };
  moments_of_people(loss(), P, limits, {people, rows.longest, copy}, out);
}

double DistributedSums::plain_value(std::span<const double> theta) const {
  double sum = 0;
  ask({&distributed::plain_value, 1, 0, all_of(theta)}, {&sum, 1});
  return sum;
}
void DistributedSums::plain_gradient(std::span<const double> theta, std::span<double> out) const {
  std::ranges::fill(out, 0.0);
  ask({&distributed::plain_gradient, 1, 0, all_of(theta)}, out);
}
double DistributedSums::largest_logit(std::span<const double> theta) const {
  double largest = 0;
  ask({&distributed::largest_logit, 1, 0, all_of(theta)}, {&largest, 1});
  return largest;
}
double DistributedSums::largest_offset() const {
  double largest = 0;
  ask({&distributed::largest_offset}, {&largest, 1});
  return largest;
}
std::array<double, 4> DistributedSums::exact_difference(MatrixView<const double> terms,
                                                        std::span<const double> w) const {
  std::array<double, 4> sum{};
  ask({&difference, terms.rows, 0, all_of(terms), all_of(w)}, sum);
  return sum;
}
RowNorms DistributedSums::row_norms() const {
  std::array<double, 2> of{};
  ask({&norms}, of);
  return {of[0], of[1]};
}
std::optional<RowFault> DistributedSums::first_fault(const RowLimits& limits) const {
  std::array<double, 2> fault{};
  ask({&distributed::first_fault,
       static_cast<std::uint64_t>(limits.label) << 1 | std::uint64_t{limits.intercept},
       0,
       {limits.norm_squared, limits.label_bound, limits.offset_bound}},
      fault);
  if (fault[0] == 0) return {};
  if (!(fault[0] >= 1 && fault[0] <= static_cast<double>(rows()) && fault[1] >= 0 &&
        fault[1] <= 3)) {
    throw BadInput("shares: a fault is of no row; report this");
  }
  return RowFault{static_cast<std::size_t>(fault[0]) - 1,
                  static_cast<RowFault::What>(static_cast<int>(fault[1]))};
}

class DistributedSums::Hessian final : public LossHessian {
 public:
  Hessian(const DistributedSums& of, std::span<const double> theta, double scale)
      : of_(of), theta_(all_of(theta)), scale_(scale) {}

  void dense(MatrixView<double> out) const override {
    std::vector<double> h(out.rows * out.rows);
    of_.ask({&hessian_matrix, 1, scale_, theta_}, h);
    unfold_hessian(of_.table_.columns, h, out);
  }
  void add_diagonal(std::span<double> out) const override {
    of_.ask({&hessian_diagonal, 1, scale_, theta_}, out);
  }
  void add_product(std::span<const double> v, std::span<double> out) const override {
    of_.ask({&hessian_product, 1, scale_, theta_, all_of(v)}, out);
  }

 private:
  const DistributedSums& of_;
  std::vector<double> theta_;
  double scale_;
};
std::unique_ptr<LossHessian> DistributedSums::hessian(std::span<const double> theta,
                                                      double scale) const {
  return std::make_unique<Hessian>(*this, theta, scale);
}

class DistributedSums::Capped final : public CappedLoss {
 public:
  Capped(const DistributedSums& of, MatrixView<const double> P, const ScoreLimits& limits)
      : of_(of),
        limits_(limits),
        question_{&capped_gradient,
                  P.cols,
                  limits.clip,
                  {},
                  distributed::with_limits(all_of(P), limits)} {
    question_.of_second = question_.mark_of_second();  // d k numbers, once
  }
  double gradient(std::span<const double> theta, std::span<double> out) override {
    std::vector<double> sum(out.size() + 1);
    of_.add_up(about(capped_gradient, theta), ordered_capped, sum);
    std::copy_n(sum.begin(), out.size(), out.begin());
    return sum.back();
  }
  void information(std::span<const double> theta, MatrixView<double> out) override {
    require_information(of_.loss(), limits_);
    of_.ask_symmetric(about(distributed::information, theta), out);
  }
  void score_moments(std::span<const double> theta, MatrixView<double> out) override {
    require_score_moments(of_.loss(), question_.rows, out);
    of_.ask_symmetric(about(distributed::score_moments, theta), out);
  }
  void information_between(std::span<const double> theta, ClassPair pair,
                           MatrixView<double> out) override {
    require_information(of_.loss(), limits_, pair);
    about(distributed::information_between, theta);
    question_.first.push_back(static_cast<double>(pair.first));
    question_.first.push_back(static_cast<double>(pair.second));
    of_.ask_symmetric(question_, out);
  }

 private:
  const Question& about(const Declared& what, std::span<const double> theta) {
    question_.of = &what;
    question_.first.assign(theta.begin(), theta.end());
    return question_;
  }

  const DistributedSums& of_;
  ScoreLimits limits_;
  Question question_;
};
std::unique_ptr<CappedLoss> DistributedSums::capped_loss(MatrixView<const double> P,
                                                         const ScoreLimits& limits) {
  require_metric(P, table_.columns, limits);
  return std::make_unique<Capped>(*this, P, limits);
}

}  // namespace gibbsite::distributed
