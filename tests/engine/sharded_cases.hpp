#pragma once
// Tables, everything an engine is asked about them, and answers of ranks held against one
// process's.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/score_coordinates.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/summation.hpp"
#include "gibbsite/engine/sharded.hpp"
#include "support/loss_oracle.hpp"
#include "support/odd_rows.hpp"
#include "support/thread_ranks.hpp"

namespace gibbsite::sharded_cases {

using support::OddRows;
using support::ThreadRanks;

inline constexpr std::size_t block = row_block;

enum class Kept { dense, entries, zeros_of_half };  // the last: dense, and entries to an engine

struct Case {
  const char* loss;
  std::size_t n, d;
  double per_row = 0;  // above 0: so many numbers that are not 0
  Kept kept = Kept::dense;
  std::size_t chains = 1;
  bool weighted = false;  // rows count by weights from 0 to 1
};

// Names of answers and their bits.
using Answers = std::map<std::string, std::vector<double>>;

class Table {
 public:
  explicit Table(const Case& c)
      : loss(loss_named(c.loss)),
        rows{c.n, c.d, std::vector<float>(c.n * c.d), support::random_labels(loss, c.n, 1, 4)} {
    std::mt19937 bits(9);
    std::normal_distribution<float> normal;
    std::bernoulli_distribution keep(c.per_row > 0 ? c.per_row / static_cast<double>(c.d) : 1.0);
    for (std::size_t i = 0; i < c.n; ++i) {
      const bool all = c.kept == Kept::zeros_of_half && i < c.n / 16;  // a share that is dense
      for (std::size_t j = 0; j < c.d; ++j) {
        rows.x[i * c.d + j] = all || keep(bits) ? normal(bits) : 0.0F;
      }
    }
    if (c.kept == Kept::entries) support::make_sparse(rows);
    if (loss.label() == LabelKind::count) {
      for (std::size_t i = 0; i < c.n; ++i) rows.offset.push_back(-static_cast<float>(i % 8));
    }
    for (std::size_t i = 0; c.weighted && i < c.n; ++i)
      rows.weight.push_back(std::array{0.5F, 1.0F, 0.0F, 1 / 3.0F, 1e-6F}[i % 5]);
    std::mt19937 other(3);
    std::normal_distribution<double> wide;
    for (std::size_t i = 0; i < c.n; ++i) weights.push_back(wide(other));
    for (std::size_t j = 0; j < c.chains * c.d * loss.outputs(); ++j) theta.push_back(wide(other));
    for (std::size_t j = 0; j < 2 * c.d; ++j) P.push_back(wide(other));
  }
  // Rows [first, last).
  [[nodiscard]] Rows part(std::size_t first, std::size_t last) const {
    Rows out = rows.view();
    out.rows = last - first;
    if (out.is_sparse()) {
      out.sparse = out.sparse.part(first, last);
    } else {
      out.dense += first * out.cols;
    }
    if (out.offset != nullptr) out.offset += first;
    if (out.weight != nullptr) out.weight += first;
    return out;
  }

  const Loss& loss;
  OddRows rows;
  std::vector<double> weights, theta, P;
};

inline Ensemble chains_of(const Case& c, const Table& t, std::uint64_t seed) {
  std::vector<ChainSpec> specs;
  for (std::size_t k = 0; k < c.chains; ++k) {
    ChainSpec spec{.inverse_temperature = 1e-2,
                   .prior_precision = 0.5,
                   .step_size = 1e-3,
                   .iterations = 3 + 2 * (k % 3),
                   .key = StreamKey::from_seed(seed),
                   .stream = static_cast<std::uint32_t>(k)};
    if (k % 2 == 1) spec.center.assign(t.loss.outputs() * c.d, 0.25);
    specs.push_back(spec);
  }
  return start(std::move(specs), t.loss.outputs() * c.d);
}

// In place of a row: an engine whose rows lie elsewhere, and which is not asked about them one by
// one.
inline constexpr std::size_t elsewhere = SIZE_MAX;

// Everything an engine is asked; rows [first, ...) are those it holds.
inline Answers ask(Engine& engine, const Case& c, const Table& t, std::size_t first,
                   std::uint64_t seed) {
  Answers out;
  const std::size_t d = c.d * t.loss.outputs(), local = engine.local_rows();
  const auto zeros = [](std::size_t n) { return std::vector<double>(n, NAN); };
  EXPECT_EQ(engine.rows(), c.n);
  EXPECT_EQ(engine.features(), d);

  Ensemble chains = chains_of(c, t, seed);
  engine.advance(chains, 2);
  engine.advance(chains, 1000);
  out["theta"] = chains.theta;
  out["steps"].assign(chains.step.begin(), chains.step.end());

  const MatrixView<const double> theta{t.theta.data(), c.chains, d};
  const MatrixView<const double> P{t.P.data(), c.d, 2};
  auto& gradients = out["gradients"] = zeros(c.chains * d);
  engine.loss_gradients(theta, {gradients.data(), c.chains, d});
  auto& values = out["values"] = zeros(c.chains);
  engine.loss_values(theta, values);
  auto& values_beside = out["values beside gradients"] = zeros(c.chains);
  auto& gradients_beside = out["gradients beside values"] = zeros(c.chains * d);
  engine.loss_values_and_gradients(theta, values_beside, {gradients_beside.data(), c.chains, d});
  auto& moments = out["moments"] = zeros(4);
  engine.second_moments(P, 0.7, {moments.data(), 2, 2});
  const std::vector<double> weights(c.d, 0.5), centers(c.d, 0.25);
  out["lengths"] = {engine.log_lengths({0.01, weights, centers, -1, 0.5, false})};
  if (first != elsewhere) {
    std::vector<float> clipped(2 * local);
    engine.clipped_rows(P, 0.7, {clipped.data(), local, 2});
    auto& of_rows = out["clipped " + std::to_string(first)];
    of_rows.assign(clipped.begin(), clipped.end());
  }
  const auto capped = engine.capped_loss(P, {.clip = 0.4, .information = 0.3, .largest_count = 4});
  for (const char* const time : {"capped", "capped again"}) {
    auto& derivative = out[time] = zeros(d);
    derivative.push_back(capped->gradient(theta.row(0), std::span(derivative).first(d)));
  }
  if (t.loss.unweighted().name() == "logistic") {
    auto& information = out["information"] = zeros(4);
    capped->information(theta.row(0), {information.data(), 2, 2});
  }
  if (t.loss.outputs() == 1) {
    auto& scores = out["score moments"] = zeros(4);
    capped->score_moments(theta.row(0), {scores.data(), 2, 2});
  } else {
    auto& between = out["information between"] = zeros(4);
    capped->information_between(theta.row(0), {0, 2}, {between.data(), 2, 2});
    const std::size_t size = score_coordinates(t.loss.outputs(), 2);
    auto& scores = out["score moments"] = zeros(size * size);
    capped->score_moments(theta.row(0), {scores.data(), size, size});
  }
  if (first != elsewhere) {
    auto& weighted = out["weighted"] = zeros(c.chains * d);
    engine.weighted_loss_gradients(theta, std::span(t.weights).subspan(first, local),
                                   {weighted.data(), c.chains, d});
  }
  out["plain value"] = {engine.plain_value(theta.row(0))};
  auto& plain = out["plain gradient"] = zeros(d);
  engine.plain_gradient(theta.row(0), plain);
  const auto hessian = engine.hessian(theta.row(0), 0.3);
  if (d <= 200) {
    auto& dense = out["dense"] = zeros(d * d);
    hessian->dense({dense.data(), d, d});
  }
  auto& diagonal = out["diagonal"] = std::vector<double>(d, 0.125);
  hessian->add_diagonal(diagonal);
  auto& product = out["product"] = std::vector<double>(d, 0.125);
  hessian->add_product(theta.row(0), product);
  out["logit"] = {engine.largest_logit(theta.row(0))};
  out["offset"] = {engine.largest_offset()};
  if (c.n * d <= 20000) {
    const auto exact = engine.exact_difference({t.theta.data(), 1, d}, plain);
    out["exact"].assign(exact.begin(), exact.end());
  }
  const RowNorms norms = engine.row_norms();
  out["norms"] = {norms.largest_squared, norms.sum_squares};
  for (const double most : {0.999 * norms.largest_squared, 0.0, 1e30}) {
    const auto fault = engine.first_fault({.norm_squared = most,
                                           .intercept = false,
                                           .label = t.loss.label(),
                                           .label_bound = 3,
                                           .offset_bound = 100});
    out[fmt::format("fault {}", most)] = {
        fault ? static_cast<double>(fault->row) : -1.0,
        fault ? static_cast<double>(static_cast<int>(fault->what)) : -1.0};
  }
  return out;
}

inline bool same_bits(std::span<const double> a, std::span<const double> b) {
  return std::ranges::equal(a, b, [](double v, double w) {
    return std::bit_cast<std::uint64_t>(v) == std::bit_cast<std::uint64_t>(w);
  });
}

inline void expect_same(const Answers& whole, const Answers& of_rank, std::size_t first,
                        std::size_t rank) {
  for (const auto& [name, bits] : of_rank) {
    if (name.starts_with("clipped ")) {
      EXPECT_TRUE(same_bits(bits, std::span(whole.at("clipped 0")).subspan(2 * first, bits.size())))
          << name << ", rank " << rank;
      continue;
    }
    EXPECT_TRUE(same_bits(bits, whole.at(name))) << name << ", rank " << rank;
  }
}

inline std::unique_ptr<Backend> one(const char* backend) {
  BackendOptions options;
  if (backend == std::string_view("cpu")) options.threads = 1;
  return make_backend(backend, options);
}

// One rank's answers of each share [bounds[p], bounds[p + 1]).
inline void expect_same_on(const char* backend, const Case& c, const Table& t, const Answers& whole,
                           const std::vector<std::uint64_t>& bounds) {
  SCOPED_TRACE(fmt::format("bounds {}", fmt::join(bounds, ", ")));
  ThreadRanks::run(bounds.size() - 1, [&](Communicator& ranks) {
    const std::size_t first = bounds[ranks.rank()], last = bounds[ranks.rank() + 1];
    const auto sharded = shard(one(backend), ranks);
    const auto engine = sharded->load(t.part(first, last),
                                      std::span(t.rows.y).subspan(first, last - first), t.loss);
    // Another key than rank 0's is not read.
    expect_same(whole, ask(*engine, c, t, first, 7 + ranks.rank()), first, ranks.rank());
  });
}

class Sharded : public testing::TestWithParam<Case> {};

// What a run on 3 ranks throws where `change` has its way with one of them.
template <class F>
std::string refusal(const F& f) {
  const Case c{"logistic", 5 * block, 4, 0, Kept::dense, 2};
  const Table t(c);
  const auto bounds = share_bounds(c.n, 3);
  std::mutex mutex;
  std::vector<std::string> errors;
  ThreadRanks::run(3, [&](Communicator& ranks) {
    std::string error;
    try {
      f(c, t, ranks, bounds[ranks.rank()], bounds[ranks.rank() + 1]);
    } catch (const Error& thrown) {
      error = thrown.what();
    }
    const std::scoped_lock lock(mutex);
    errors.push_back(error);
  });
  EXPECT_EQ(errors[0], errors[1]);  // on all ranks the same
  EXPECT_EQ(errors[0], errors[2]);
  return errors[0];
}

inline std::unique_ptr<Engine> load(const Table& t, Backend& backend, std::size_t first,
                                    std::size_t last) {
  return backend.load(t.part(first, last), std::span(t.rows.y).subspan(first, last - first),
                      t.loss);
}

}  // namespace gibbsite::sharded_cases
