// Rows on several ranks, or in shares elsewhere: every question has the bits that one process has,
// for any number of ranks and any shares, and ranks that are not at the same place end the run.
#include "gibbsite/engine/sharded.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <mutex>
#include <random>

#include "engine/cuda/engine.hpp"
#include "engine/sharded/cards.hpp"
#include "engine/sharded/sums.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/summation.hpp"
#include "gibbsite/engine/remote.hpp"
#include "support/loss_oracle.hpp"
#include "support/odd_rows.hpp"
#include "support/repeats.hpp"
#include "support/talking_cards.hpp"
#include "support/thread_ranks.hpp"

namespace gibbsite {
namespace {

using support::OddRows;
using support::own_card;
using support::TalkingCards;
using support::ThreadRanks;
using testing::HasSubstr;

constexpr std::size_t block = row_block;

enum class Kept { dense, entries, zeros_of_half };  // the last: dense, and entries to an engine

struct Case {
  const char* loss;
  std::size_t n, d;
  double per_row = 0;  // above 0: so many numbers that are not 0
  Kept kept = Kept::dense;
  std::size_t chains = 1;
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
    return out;
  }

  const Loss& loss;
  OddRows rows;
  std::vector<double> weights, theta, P;
};

Ensemble chains_of(const Case& c, const Table& t, std::uint64_t seed) {
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
constexpr std::size_t elsewhere = SIZE_MAX;

// Everything an engine is asked; rows [first, ...) are those it holds.
Answers ask(Engine& engine, const Case& c, const Table& t, std::size_t first, std::uint64_t seed) {
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
  auto& moments = out["moments"] = zeros(4);
  engine.second_moments(P, 0.7, {moments.data(), 2, 2});
  if (first != elsewhere) {
    std::vector<float> clipped(2 * local);
    engine.clipped_rows(P, 0.7, {clipped.data(), local, 2});
    auto& of_rows = out["clipped " + std::to_string(first)];
    of_rows.assign(clipped.begin(), clipped.end());
  }
  const auto capped = engine.capped_loss(P, 0.4);
  for (const char* const time : {"capped", "capped again"}) {
    auto& slope = out[time] = zeros(d);
    slope.push_back(capped->gradient(theta.row(0), std::span(slope).first(d)));
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

bool same_bits(std::span<const double> a, std::span<const double> b) {
  return std::ranges::equal(a, b, [](double v, double w) {
    return std::bit_cast<std::uint64_t>(v) == std::bit_cast<std::uint64_t>(w);
  });
}

void expect_same(const Answers& whole, const Answers& of_rank, std::size_t first,
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

std::unique_ptr<Backend> one(const char* backend) {
  BackendOptions options;
  if (backend == std::string_view("cpu")) options.threads = 1;
  return make_backend(backend, options);
}

// One rank's answers of each share [bounds[p], bounds[p + 1]).
void expect_same_on(const char* backend, const Case& c, const Table& t, const Answers& whole,
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

TEST_P(Sharded, HasTheBitsOfOneProcess) {
  const Case c = GetParam();
  const Table t(c);
  static support::Thinned sweep(5);  // over all cases
  for (const char* const backend : {"reference", "cpu"}) {
    SCOPED_TRACE(backend);
    const auto alone = one(backend)->load(t.rows.view(), t.rows.y, t.loss);
    const Answers whole = ask(*alone, c, t, 0, 7);
    const auto expect_same_of = [&](const std::vector<std::uint64_t>& bounds) {
      if (!sweep.skips()) expect_same_on(backend, c, t, whole, bounds);
    };
    for (const std::size_t ranks : {1U, 2U, 3U, 4U, 7U}) {
      expect_same_of(share_bounds(c.n, ranks));
    }
    expect_same_of({0, 0, c.n});  // rank 0 has none
    expect_same_of({0, c.n, c.n, c.n});
    if (c.n > 9 * block) {
      expect_same_of({0, block, 9 * block, c.n});
      expect_same_of({0, 0, 3 * block, 3 * block, 8 * block, c.n});
    }
  }
}

constexpr std::size_t ten = 10 * block + 7;
INSTANTIATE_TEST_SUITE_P(
    Cases, Sharded,
    testing::Values(Case{"logistic", 1, 3}, Case{"logistic", 1000, 9, 0, Kept::dense, 3},
                    Case{"logistic", 1025, 5, 0, Kept::dense, 16}, Case{"logistic", ten, 5},
                    Case{"logistic", ten, 17, 0, Kept::dense, 16},
                    Case{"logistic(0.4,1)", ten, 4, 0, Kept::dense, 3},
                    Case{"huber", ten, 8, 0, Kept::dense, 3},
                    Case{"poisson", ten, 6, 0, Kept::dense, 16}, Case{"poisson", 1025, 6},
                    Case{"softmax-3", ten, 5, 0, Kept::dense, 1},
                    Case{"softmax-3", 1025, 5, 0, Kept::dense, 16},
                    Case{"softmax-3(0.5,1,1)", ten, 4, 0, Kept::dense, 3},
                    // Entries: as such, of dense rows, and more features than a block has of them.
                    Case{"logistic", ten, 40, 4, Kept::entries, 3},
                    Case{"logistic", ten, 40, 4, Kept::entries, 1},
                    Case{"softmax-3", ten, 40, 4, Kept::entries, 3},
                    Case{"logistic", ten, 40, 2, Kept::zeros_of_half, 3},
                    Case{"poisson", ten, 40, 2, Kept::zeros_of_half, 1},
                    Case{"logistic", ten, 4000, 2, Kept::entries, 3},
                    Case{"poisson", 1025, 4000, 2, Kept::entries, 1},
                    Case{"softmax-3", 2 * block + 5, 4000, 2, Kept::entries, 1}),
    [](const auto& p) {
      std::string name = fmt::format("{}_{}x{}_{}_C{}", p.param.loss, p.param.n, p.param.d,
                                     p.param.kept == Kept::dense     ? "dense"
                                     : p.param.kept == Kept::entries ? "entries"
                                                                     : "few",
                                     p.param.chains);
      for (char& v : name) {
        if (std::isalnum(static_cast<unsigned char>(v)) == 0) v = '_';
      }
      return name;
    });

TEST(ShardedThreads, ChangeNoBit) {
  const Case c{"logistic", 70 * block + 3, 20, 0, Kept::dense, 3};
  const Table t(c);
  const auto alone = one("cpu")->load(t.rows.view(), t.rows.y, t.loss);
  const Answers whole = ask(*alone, c, t, 0, 7);
  ThreadRanks::run(2, [&](Communicator& ranks) {
    const auto bounds = share_bounds(c.n, 2);
    const std::size_t first = bounds[ranks.rank()], last = bounds[ranks.rank() + 1];
    const auto sharded = shard(make_backend("cpu", {.threads = 3}), ranks);
    const auto engine = sharded->load(t.part(first, last),
                                      std::span(t.rows.y).subspan(first, last - first), t.loss);
    expect_same(whole, ask(*engine, c, t, first, 7), first, ranks.rank());
  });
}

TEST(ShareBounds, AreWholeBlocksOfAboutTheSameSize) {
  EXPECT_THAT(share_bounds(1, 3), testing::ElementsAre(0, testing::_, testing::_, 1));
  for (const std::uint64_t rows : {1UL, 1024UL, 1025UL, 100000UL, 1000000UL, 200000000UL}) {
    for (const std::size_t ranks : {1U, 2U, 3U, 7U, 64U}) {
      const auto bounds = share_bounds(rows, ranks);
      ASSERT_EQ(bounds.size(), ranks + 1);
      EXPECT_EQ(bounds.front(), 0U);
      EXPECT_EQ(bounds.back(), rows);
      for (std::size_t p = 0; p < ranks; ++p) {
        EXPECT_LE(bounds[p], bounds[p + 1]);
        EXPECT_TRUE(bounds[p] % block == 0 || bounds[p] == rows);
        const double mean = static_cast<double>(rows) / static_cast<double>(ranks);
        if (mean < 32 * block) continue;
        EXPECT_LE(static_cast<double>(bounds[p + 1] - bounds[p]), 1.035 * mean)
            << rows << " on " << ranks;
      }
    }
  }
}

// The sums of nodes in an order that shows who was added to whom.
TEST(NodeSums, AreTheTreesWhateverTheShares) {
  using sharded::Mark;
  using sharded::Node;
  using sharded::NodeSums;
  std::mt19937 bits(5);
  std::lognormal_distribution<double> far(0, 12);
  for (const std::size_t blocks : {1U, 2U, 5U, 13U, 32U, 77U}) {
    std::vector<double> terms(3 * blocks);
    for (double& v : terms) v = (bits() % 2 == 0 ? -1 : 1) * far(bits);
    const std::function<double(std::size_t, std::size_t, std::size_t)> sum =
        [&](std::size_t first, std::size_t last, std::size_t i) {
          if (last - first == 1) return terms[3 * first + i];
          const std::size_t half = first + std::bit_ceil(last - first) / 2;
          return sum(first, half, i) + sum(half, last, i);
        };
    for (const std::size_t most : {std::size_t{0}, std::size_t{1} << 18}) {
      for (const std::size_t size : {1U, 2U, 3U, 4U, 7U}) {
        std::vector<std::size_t> bounds{0};
        for (std::size_t p = 1; p < size; ++p) bounds.push_back(bits() % (blocks + 1));
        bounds.push_back(blocks);
        std::ranges::sort(bounds);
        ThreadRanks::run(size, [&](Communicator& ranks) {
          NodeSums sums(ranks, bounds, nullptr, most);
          const auto out = sums(Mark(1), 3, [&](std::size_t k, std::span<double> part) {
            const Node& node = sums.mine()[k];
            for (std::size_t i = 0; i < 3; ++i) part[i] = sum(node.first, node.last, i);
          });
          for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(out[i], sum(0, blocks, i)) << blocks;
        });
      }
    }
  }
}

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

std::unique_ptr<Engine> load(const Table& t, Backend& backend, std::size_t first,
                             std::size_t last) {
  return backend.load(t.part(first, last), std::span(t.rows.y).subspan(first, last - first),
                      t.loss);
}

TEST(ShardedRefuses, RanksThatAreNotAtTheSamePlace) {
  const auto run = [](const auto& change, std::uint64_t calls) {
    return refusal([&](const Case& c, const Table& t, Communicator& ranks, std::size_t first,
                       std::size_t last) {
      const auto backend = shard(one("cpu"), ranks);
      const auto engine = load(t, *backend, first, last);
      Ensemble chains = chains_of(c, t, 7);
      engine->advance(chains, 2);
      if (ranks.rank() == 1) change(chains);
      for (std::uint64_t k = 0; k < calls; ++k) engine->advance(chains, 1);
    });
  };
  EXPECT_EQ(run([](Ensemble&) {}, 2), "");
  const auto is_told = HasSubstr("ranks: rank 1 is not where rank 0 is");
  // An ulp of theta, as noise of another key on one rank would leave; a step; a setting.
  EXPECT_THAT(run([](Ensemble& e) { e.theta[1] = std::nextafter(e.theta[1], 9); }, 1), is_told);
  EXPECT_THAT(run([](Ensemble& e) { ++e.step[0]; }, 1), is_told);
  EXPECT_THAT(run([](Ensemble& e) { e.specs[0].step_size *= 2; }, 1), is_told);
  EXPECT_THAT(run([](Ensemble& e) { e.step[0] = e.step[1] = 100; }, 1), is_told);
}

TEST(ShardedRefuses, AnotherQuestion) {
  EXPECT_THAT(refusal([](const Case&, const Table& t, Communicator& ranks, std::size_t first,
                         std::size_t last) {
                const auto backend = shard(one("reference"), ranks);
                const auto engine = load(t, *backend, first, last);
                if (ranks.rank() == 2) {
                  static_cast<void>(engine->row_norms());
                } else {
                  static_cast<void>(engine->largest_logit(std::span(t.theta).first(4)));
                }
              }),
              HasSubstr("ranks: rank 2 is not where rank 0 is"));
}

// Whatever is asked, in a step with it: the ranks that were not asked to end do not wait.
TEST(ShardedStops, AllAtTheQuestionOfOne) {
  const Case c{"logistic", 3 * block, 4};
  const Table t(c);
  const std::span<const double> theta = std::span(t.theta).first(4);
  using Ask = std::function<void(Engine&)>;
  const std::vector<Ask> asks{[&](Engine& e) { static_cast<void>(e.plain_value(theta)); },
                              [&](Engine& e) { static_cast<void>(e.largest_logit(theta)); },
                              [&](Engine& e) {
                                std::vector<double> g(4);
                                e.loss_gradients({theta.data(), 1, 4}, {g.data(), 1, 4});
                              },
                              [&](Engine& e) {
                                std::vector<double> v(1);
                                e.loss_values({theta.data(), 1, 4}, v);
                              },
                              [&](Engine& e) {
                                std::vector<double> v(4);
                                e.hessian(theta, 1)->add_diagonal(v);
                              }};
  for (const Ask& ask : asks) {
    std::array<std::atomic<bool>, 3> stop{};
    std::array<int, 3> answered{}, ended{};
    ThreadRanks::run(3, [&](Communicator& ranks) {
      const std::size_t rank = ranks.rank(), first = rank * block;
      const auto backend = shard(one("cpu"), ranks, &stop[rank]);
      const auto engine = load(t, *backend, first, first + block);
      for (int k = 0; k < 3; ++k) {
        if (rank == 1 && k == 2) stop[1] = true;
        try {
          ask(*engine);
          ++answered[rank];
        } catch (const Interrupted&) {
          ++ended[rank];
        }
      }
    });
    EXPECT_EQ(answered, (std::array{2, 2, 2}));
    EXPECT_EQ(ended, (std::array{1, 1, 1}));
  }
}

TEST(ShardedRefuses, SharesThatDoNotFit) {
  EXPECT_THAT(
      refusal([](const Case& c, const Table& t, Communicator& ranks, std::size_t, std::size_t) {
        const std::size_t bounds[] = {0, 1000, 2000, c.n};
        load(t, *shard(one("cpu"), ranks), bounds[ranks.rank()], bounds[ranks.rank() + 1]);
      }),
      HasSubstr("ranks: the rows of rank 1 begin behind row 1000"));
  EXPECT_THAT(refusal([](const Case&, const Table& t, Communicator& ranks, std::size_t first,
                         std::size_t last) {
                load(t, *shard(one(ranks.rank() == 1 ? "reference" : "cpu"), ranks), first, last);
              }),
              HasSubstr("ranks: rank 1 is 'gibbsite"));
  EXPECT_THAT(refusal([](const Case&, const Table& t, Communicator& ranks, std::size_t first,
                         std::size_t last) {
                const std::size_t labels = last - first - (ranks.rank() == 2 ? 1 : 0);
                shard(one("cpu"), ranks)
                    ->load(t.part(first, last), std::span(t.rows.y).subspan(first, labels), t.loss);
              }),
              HasSubstr("rank 2: data: "));
  EXPECT_THAT(refusal([](const Case&, const Table& t, Communicator& ranks, std::size_t,
                         std::size_t) { load(t, *shard(one("cpu"), ranks), 0, 0); }),
              HasSubstr("data: there are no rows"));
}

// A label that is none of softmax's classes, met in 50 digits, by its place among all rows.
TEST(ShardedRefuses, ALabelOnALaterRank) {
  const Case c{"softmax-3", 2 * block, 2};
  Table t(c);
  t.rows.y[block + 5] = 7;
  EXPECT_THAT(
      [&] {
        ThreadRanks::run(2, [&](Communicator& ranks) {
          const std::size_t first = ranks.rank() * block;
          const auto backend = shard(one("cpu"), ranks);
          const std::vector<double> w(6, 0.5);
          static_cast<void>(
              load(t, *backend, first, first + block)->exact_difference({t.theta.data(), 1, 6}, w));
        });
      },
      testing::ThrowsMessage<BadInput>(HasSubstr("rank 1: data: the label of row 1029 is none")));
}

// Cards, in software.

enum class Talk { by_host, by_cards };

std::unique_ptr<Backend> on_cards(Communicator& ranks, Talk talk,
                                  const support::EmulatedCard& made = {}) {
  return shard(own_card(made), ranks, nullptr,
               talk == Talk::by_cards ? std::make_unique<TalkingCards>(ranks) : nullptr);
}

// How far two engines' answers may be apart that both keep to accumulation_depth
// (docs/map-error.md, steps 1 to 3, coordinate by coordinate); 0 where all say the same bits.
double apart(const std::string& name, std::size_t at, const Answers& whole, const Case& c,
             const Table& t) {
  constexpr double u = 0x1p-53;
  const std::size_t d = c.d * t.loss.outputs(), j = at % d % c.d;
  const double depth = static_cast<double>(accumulation_depth(c.n)) + 1,
               n = static_cast<double>(c.n);
  const auto length = [](auto numbers) {
    double squares = 0;
    for (const double v : numbers) squares += v * v;
    return std::sqrt(squares);
  };
  if (name == "values") return 2 * u * n * whole.at(name)[at];
  if (name == "moments") {
    const auto& m = whole.at(name);
    return 2 * 1.01 * depth * u * std::sqrt(m[at / 2 * 3] * m[at % 2 * 3]);
  }
  const bool curvature = name.starts_with("capped") && at == d;
  if (curvature) {
    return 2 * (depth + 32) * u * n * t.loss.curvature() * static_cast<double>(t.loss.outputs());
  }
  if (name != "theta" && name != "gradients" && name != "weighted" && !name.starts_with("capped"))
    return 0;
  const double roundings = depth + 16 + 4 * static_cast<double>(t.loss.outputs());
  const double norm = length(t.theta) + length(whole.at("theta"));
  double sum = 0;
  for (std::size_t i = 0; i < c.n; ++i) {
    const std::span<const float> x(t.rows.x.data() + i * c.d, c.d);
    const double w = name == "weighted" ? std::abs(t.weights[i]) : 1;
    sum += w * std::abs(static_cast<double>(x[j])) *
           (roundings * t.loss.max_abs_residual() +
            t.loss.curvature() * static_cast<double>(c.d) * length(x) * norm);
  }
  const double gradient = 2 * 1.01 * u * sum;
  // Of 7 steps of h = 1e-3 with beta = 1e-2, and what their updates round.
  return name == "theta" ? 2 * 7e-5 * gradient + 7 * 100 * u * (1 + norm) : gradient;
}

void expect_near(const Answers& whole, const Answers& of_rank, std::size_t first, const Case& c,
                 const Table& t) {
  for (const auto& [name, got] : of_rank) {
    const bool rows = name.starts_with("clipped ");
    const std::span<const double> all = whole.at(rows ? "clipped 0" : name);
    const auto expected = all.subspan(rows ? 2 * first : 0, got.size());
    for (std::size_t k = 0; k < got.size(); ++k) {
      ASSERT_LE(std::abs(got[k] - expected[k]), rows ? 0 : apart(name, k, whole, c, t))
          << name << " " << k;
    }
  }
}

// Of each rank.
std::vector<Answers> ask_cards(const Case& c, const Table& t,
                               const std::vector<std::uint64_t>& bounds, Talk talk,
                               std::uint64_t seed) {
  std::vector<Answers> out(bounds.size() - 1);
  ThreadRanks::run(out.size(), [&](Communicator& ranks) {
    const std::size_t first = bounds[ranks.rank()], last = bounds[ranks.rank() + 1];
    const auto backend = on_cards(ranks, talk, {.seed = seed + ranks.rank()});
    const auto engine = backend->load(t.part(first, last),
                                      std::span(t.rows.y).subspan(first, last - first), t.loss);
    EXPECT_TRUE(engine->certifiable());
    out[ranks.rank()] = ask(*engine, c, t, first, 7 + ranks.rank());
  });
  return out;
}

class ShardedCards : public testing::TestWithParam<Case> {};

TEST_P(ShardedCards, AreWithinRoundingOfOneCard) {
  const Case c = GetParam();
  const Table t(c);
  const auto alone = own_card()->load(t.rows.view(), t.rows.y, t.loss);
  const Answers whole = ask(*alone, c, t, 0, 7);
  std::vector<std::vector<std::uint64_t>> shares{{0, 0, 2 * block, 2 * block, c.n}};
  for (const std::size_t ranks : {1U, 2U, 4U, 7U}) shares.push_back(share_bounds(c.n, ranks));
  static support::Thinned sweep(7, 4);  // over all cases
  for (const auto& bounds : shares) {
    if (sweep.skips()) continue;
    SCOPED_TRACE(fmt::format("bounds {}", fmt::join(bounds, ", ")));
    const auto by_host = ask_cards(c, t, bounds, Talk::by_host, 1);
    for (std::size_t p = 0; p + 1 < bounds.size(); ++p) {
      SCOPED_TRACE(p);
      expect_near(whole, by_host[p], bounds[p], c, t);
    }
    // Cards that talk add in the same tree, and this card's normals are the host's: the same bits,
    // on every rank, whatever the queues' timing.
    const auto by_cards = ask_cards(c, t, bounds, Talk::by_cards, 100);
    for (std::size_t p = 0; p + 1 < bounds.size(); ++p) {
      SCOPED_TRACE(p);
      for (const auto& [name, bits] : by_cards[p]) {
        EXPECT_TRUE(same_bits(bits, by_host[p].at(name))) << name;
        if (name.starts_with("clipped")) continue;
        EXPECT_TRUE(same_bits(bits, by_host[0].at(name))) << name;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, ShardedCards,
                         testing::Values(Case{"logistic", 3 * block + 7, 5, 0, Kept::dense, 2},
                                         Case{"logistic", 2 * block + 7, 3, 2, Kept::entries, 5},
                                         Case{"softmax-3", 3 * block + 7, 3, 0, Kept::dense, 1}),
                         [](const auto& p) { return std::to_string(p.index); });

// A rank on whose card theta was not received, or not all of it, ends the run on all of them, and
// no chain has moved.
TEST(ShardedCards, ThatAddAtAnotherThetaEndTheRun) {
  const auto run = [](const TalkingCards::Spoil& spoil) {
    return refusal([&](const Case& c, const Table& t, Communicator& ranks, std::size_t first,
                       std::size_t last) {
      const bool spoils = ranks.rank() == 1;
      const auto backend =
          shard(own_card(), ranks, nullptr,
                std::make_unique<TalkingCards>(ranks, spoils ? spoil : TalkingCards::Spoil{}));
      const auto engine = load(t, *backend, first, last);
      Ensemble chains = chains_of(c, t, 7);
      const std::vector<double> before = chains.theta;
      try {
        engine->advance(chains, 3);
      } catch (const BadInput&) {
        EXPECT_EQ(chains.theta, before);
        EXPECT_EQ(chains.step[0], 0U);
        throw;
      }
    });
  };
  EXPECT_EQ(run({}), "");
  const auto is_told = HasSubstr("ranks: rank 1 is not where rank 0 is: another theta on its card");
  int received = 0;
  std::vector<double> old(8);
  EXPECT_THAT(run([&](std::span<double> theta) {  // the first one is lost
                if (received++ == 0) std::ranges::copy(old, theta.begin());
              }),
              is_told);
  EXPECT_THAT(run([](std::span<double> theta) { theta[7] = std::nextafter(theta[7], 9.0); }),
              is_told);
  EXPECT_THAT(run([](std::span<double> theta) { std::swap(theta[0], theta[1]); }), is_told);
  received = 0;
  EXPECT_THAT(run([&](std::span<double> theta) {  // what the last of the 3 steps adds at
                if (received++ == 1) theta[7] = std::nextafter(theta[7], 9.0);
              }),
              is_told);
}

// One that faults ends all, by the name of its rank where the host has a say.
TEST(ShardedCards, ThatFaultEndAll) {
  for (const Talk talk : {Talk::by_host, Talk::by_cards}) {
    const Case c{"logistic", 3 * block, 4, 0, Kept::dense, 2};
    const Table t(c);
    EXPECT_THAT(
        [&] {
          ThreadRanks::run(3, [&](Communicator& ranks) {
            const auto backend =
                on_cards(ranks, talk, {.fault_at_launch = ranks.rank() == 1 ? 4U : 0U});
            const auto engine = load(t, *backend, ranks.rank() * block, (ranks.rank() + 1) * block);
            Ensemble chains = chains_of(c, t, 7);
            engine->advance(chains, 3);
          });
        },
        testing::ThrowsMessage<BackendUnavailable>(
            HasSubstr(talk == Talk::by_host ? "rank 1: emulated card: injected fault"
                                            : "emulated card: injected fault")));
  }
  // A card without room is found before any of them waits for another's.
  const std::string full = refusal(
      [](const Case& c, const Table& t, Communicator& ranks, std::size_t first, std::size_t last) {
        const std::size_t bytes = ranks.rank() == 2 ? 1000 : 1'000'000;
        const auto engine =
            load(t, *on_cards(ranks, Talk::by_cards, {.total_bytes = bytes}), first, last);
        Ensemble chains = chains_of(c, t, 7);
        engine->advance(chains, 3);
      });
  EXPECT_THAT(full, HasSubstr("rank 2: `backend` cuda: 2048 rows x 4 features"));
}

// What shares' sums may take of the path that a certificate counts, and the tree over ranks takes.
TEST(ShardedCards, LeaveRoomForTheAdditionsOverRanks) {
  for (const std::uint64_t rows : {1UL, 1024UL, 1025UL, 1000000UL}) {
    for (const std::uint64_t ranks : {1UL, 2UL, 3UL, 7UL, 8UL, 1024UL}) {
      Rows share(nullptr, rows, 3);
      share.whole = {rows + 5 * block, 0, ranks};
      std::size_t levels = 0;
      while ((std::uint64_t{1} << levels) < ranks) ++levels;
      EXPECT_EQ(cuda::depth_left(share) + levels, accumulation_depth(rows + 5 * block));
    }
  }
}

TEST(OwnCard, IsTheFirstThatNoRankBeforeHas) {
  using Ids = std::vector<std::string>;
  const auto own = [](const std::vector<std::pair<std::string, Ids>>& ranks_see) {
    std::vector<std::size_t> out(ranks_see.size());
    std::mutex mutex;
    std::vector<std::string> errors;
    ThreadRanks::run(out.size(), [&](Communicator& ranks) {
      const auto& [machine, ids] = ranks_see[ranks.rank()];
      try {
        out[ranks.rank()] = sharded::own_card(ranks, ids, machine);
      } catch (const NoDevice& error) {
        const std::scoped_lock lock(mutex);
        errors.emplace_back(error.what());
      }
    });
    EXPECT_TRUE(errors.empty() || errors.size() == out.size());
    return std::pair(out, errors.empty() ? "" : errors.front());
  };
  using Places = std::vector<std::size_t>;
  // Two machines of two cards, ranks side by side and in turn; each rank shown one of its own.
  EXPECT_EQ(own({{"a", {"1", "2"}}, {"a", {"1", "2"}}, {"b", {"3", "4"}}, {"b", {"3", "4"}}}).first,
            (Places{0, 1, 0, 1}));
  EXPECT_EQ(own({{"a", {"1", "2"}}, {"b", {"3", "4"}}, {"a", {"1", "2"}}, {"b", {"3", "4"}}}).first,
            (Places{0, 0, 1, 1}));
  EXPECT_EQ(own({{"a", {"1"}}, {"a", {"2"}}, {"a", {"3"}}}).first, (Places{0, 0, 0}));
  EXPECT_EQ(own({{"a", {"1", "2"}}, {"b", {"3"}}, {"a", {"1", "2"}}, {"a", {"1", "2"}}}).second,
            "rank 3: `backend` cuda: a shows it 2 cards for 3 ranks; start one rank for each card "
            "there, or use `backend` cpu");
  EXPECT_THAT(own({{"a", {"1"}}, {"a", {"1"}}}).second, HasSubstr("1 card for 2 ranks"));
}

// Shares in this process, each a copy of its own made of bytes before every question: as a worker
// has it that gets one for the first time.
class Carrier final : public ShareCarrier {
 public:
  explicit Carrier(const std::vector<Share>& shares) {
    for (const Share& share : shares) bytes.push_back(share.bytes());
  }
  std::vector<std::string> ask(const std::string& question) override {
    std::vector<std::string> out;
    for (const std::string& share : bytes) out.push_back(Share::parse(share).answer(question, ""));
    return out;
  }
  std::string relay(const std::string& question, const std::string& before) override {
    std::string state = before;
    for (const std::string& share : bytes) state = Share::parse(share).answer(question, state);
    return state;
  }

  std::vector<std::string> bytes;
};

// Rows [first, last) as a worker keeps them.
HeldRows held(const Table& t, std::size_t first, std::size_t last) {
  const Rows x = t.part(first, last);
  HeldRows out;
  out.columns = x.cols;
  out.is_sparse = x.is_sparse();
  if (x.is_sparse()) {
    const std::uint64_t begin = x.sparse.begin[0];
    for (std::size_t i = 0; i < x.rows; ++i) {
      out.sparse.begin.push_back(x.sparse.begin[i + 1] - begin);
    }
    const std::uint64_t end = begin + x.sparse.entries();
    out.sparse.feature.assign(x.sparse.feature + begin, x.sparse.feature + end);
    out.sparse.value.assign(x.sparse.value + begin, x.sparse.value + end);
  } else {
    out.x.assign(x.dense, x.dense + x.rows * x.cols);
  }
  const auto labels = std::span(t.rows.y).subspan(first, last - first);
  out.y.assign(labels.begin(), labels.end());
  if (x.offset != nullptr) out.offset.assign(x.offset, x.offset + x.rows);
  return out;
}

struct Elsewhere {
  // Partitions of `rows` rows, whose slices become shares of whole blocks.
  Elsewhere(const Case& c, const Table& t, std::vector<std::uint64_t> bounds, std::size_t rows) {
    for (std::size_t first = 0; first < c.n; first += rows) {
      partitions.push_back(held(t, first, std::min(first + rows, c.n)));
    }
    table.bounds = std::move(bounds);
    for (const HeldRows& part : partitions) table.entries += part.entries();
    table.is_sparse = c.kept == Kept::entries;
    for (std::size_t p = 0; p + 1 < table.bounds.size(); ++p) {
      std::vector<Slice> slices;
      for (std::size_t k = 0; k < partitions.size(); ++k) {
        const std::uint64_t begin = std::uint64_t{k} * rows, end = begin + partitions[k].rows();
        const std::uint64_t first = std::clamp(table.bounds[p], begin, end);
        const std::uint64_t last = std::clamp(table.bounds[p + 1], begin, end);
        slices.push_back({&partitions[k], first - begin, last - begin});
      }
      shares.emplace_back(join(slices), SharePlace{table.bounds[p], c.n, table.entries},
                          std::string(t.loss.name()));
      table.digests.push_back(shares.back().digest());
    }
  }
  std::vector<HeldRows> partitions;
  std::vector<Share> shares;
  RemoteTable table;
};

TEST_P(Sharded, HasTheBitsOfOneProcessInSharesElsewhere) {
  const Case c = GetParam();
  const Table t(c);
  const auto alone = one("cpu")->load(t.rows.view(), t.rows.y, t.loss);
  const Answers whole = ask(*alone, c, t, 0, 7);
  static support::Thinned sweep(4);  // over all cases
  for (const std::size_t count : {1U, 3U, 7U}) {
    if (sweep.skips()) continue;
    SCOPED_TRACE(count);
    const Elsewhere there(c, t, share_bounds(c.n, count), 700);
    Carrier carrier(there.shares);
    const auto backend = make_remote_backend(one("cpu"), there.table, carrier);
    const auto engine = backend->load(Rows(nullptr, 0, c.d), {}, t.loss);
    expect_same(whole, ask(*engine, c, t, elsewhere, 7), elsewhere, 0);
  }
}

TEST(RemoteRefuses, WhatIsNotTheShareThatWasAsked) {
  const Case c{"logistic", 3 * block, 4};
  const Table t(c);
  const Elsewhere there(c, t, {0, block, 3 * block}, 700);
  const auto refusal_of = [&](const auto& change) {
    Carrier carrier(there.shares);
    const auto backend = make_remote_backend(one("cpu"), there.table, carrier);
    const auto engine = backend->load(Rows(nullptr, 0, c.d), {}, t.loss);
    std::vector<double> gradient(c.d);
    engine->plain_gradient(t.theta, gradient);
    change(carrier);
    std::string said;
    for (const bool in_turn : {true, false}) {
      try {
        if (in_turn) {
          engine->plain_gradient(t.theta, gradient);
        } else {
          engine->loss_gradients({t.theta.data(), 1, c.d}, {gradient.data(), 1, c.d});
        }
        said += "nothing";
      } catch (const BadInput& error) {
        said += std::string(error.what()) + "\n";
      }
    }
    const std::size_t half = said.size() / 2;
    EXPECT_EQ(said.substr(0, half), said.substr(half));
    return said.substr(0, half);
  };
  // One label of the second share is another, as of a partition that was computed again.
  EXPECT_THAT(
      refusal_of([&](Carrier& carrier) {
        HeldRows other = held(t, block, 3 * block);
        other.y[5] = -other.y[5];
        carrier.bytes[1] = Share(other, {block, c.n, there.table.entries}, "logistic").bytes();
      }),
      HasSubstr("shares: rows 1025 to 3072 are not those of before"));
  EXPECT_THAT(refusal_of([](Carrier& carrier) { carrier.bytes[1] = carrier.bytes[0]; }),
              HasSubstr("shares: rows 1025 to 3072 are not those of before"));
  EXPECT_THAT(refusal_of([](Carrier& carrier) { carrier.bytes.pop_back(); }),
              HasSubstr("shares: 1 answers or numbers where 2 were asked for"));
  EXPECT_THAT(refusal_of([](Carrier& carrier) { carrier.bytes[0].pop_back(); }),
              HasSubstr("shares: bytes are cut off"));
}

TEST(RemoteRefuses, SharesThatDoNotFit) {
  const Case c{"logistic", 3 * block, 4};
  const Table t(c);
  const auto refusal_of = [](const auto& make) -> std::string {
    try {
      make();
    } catch (const BadInput& error) {
      return error.what();
    }
    return "nothing";
  };
  const auto share = [&](std::size_t first, std::size_t last, std::size_t in_all) {
    return refusal_of([&] { Share(held(t, first, last), {first, in_all, 9}, "logistic"); });
  };
  EXPECT_EQ(share(block, 2 * block, c.n), "nothing");
  EXPECT_THAT(share(5, block, c.n), HasSubstr("rows 5 to 1024 of 3072 are no whole blocks"));
  EXPECT_THAT(share(0, 1000, c.n), HasSubstr("are no whole blocks"));
  EXPECT_THAT(share(0, c.n, c.n - 1), HasSubstr("are no whole blocks"));
  const HeldRows some = held(t, 0, 10);
  const std::vector<Slice> beyond{{&some, 0, 11}};
  EXPECT_THAT(refusal_of([&] { join(beyond); }), HasSubstr("shares: rows 0 to 11 of 10"));
  Carrier none{{}};
  EXPECT_THAT(refusal_of([&] {
                static_cast<void>(make_remote_backend(one("reference"), {{0, 5}, {""}}, none));
              }),
              HasSubstr("on the CPU"));
  EXPECT_THAT(refusal_of([&] {
                static_cast<void>(make_remote_backend(one("cpu"), {{0, 5}, {""}}, none)
                                      ->load(t.rows.view(), t.rows.y, t.loss));
              }),
              HasSubstr("rows lie elsewhere, and some are here too"));
}

}  // namespace
}  // namespace gibbsite
