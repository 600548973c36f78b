// Questions that the library does not have: declared here, once, and answered by ranks and by
// shares elsewhere alike.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/distributed/distributed_sums.hpp"
#include "engine/distributed/questions.hpp"
#include "engine/remote_cases.hpp"
#include "engine/sharded_cases.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/engine/sharded.hpp"
#include "support/thread_ranks.hpp"

namespace gibbsite::sharded_cases {
namespace distributed_test {

using distributed::Added;
using distributed::Change;
using distributed::Declared;
using distributed::DistributedSums;
using distributed::NodeRows;
using distributed::Question;
using distributed::ShareRows;
using testing::HasSubstr;

bool fits(const RowSums& /*of*/, const Question& q) { return q.first.size() == 2; }
std::size_t three(const RowSums& /*of*/, const Question& /*q*/) { return 3; }

// first: two numbers. Their multiples by the number of rows and by their lengths, and the rows.
constexpr Declared toy_sums{
    .name = "toy_sums",
    .added = Added::by_tree,
    .fits = fits,
    .size = three,
    .of_rows = [](const NodeRows& of, const Question& q, std::span<double> out) {
      out[0] = q.first[0] * static_cast<double>(of.rows.rows());
      out[1] = q.first[1] * of.rows.row_norms().sum_squares;
      out[2] = static_cast<double>(of.rows.rows());
    }};
// The rows of each share, as digits: who comes before whom shows.
constexpr Declared toy_turns{.name = "toy_turns",
                             .added = Added::in_turn,
                             .fits = fits,
                             .size = three,
                             .in_turn = [](ShareRows& rows, const Question& q) -> Change {
                               return [&rows, &q](std::span<double> state) {
                                 const auto blocks =
                                     static_cast<double>((rows.rows() + block - 1) / block);
                                 state[0] = 10 * state[0] + blocks;
                                 state[1] += q.first[0];
                                 state[2] = static_cast<double>(rows.before());
                               };
                             }};
constexpr Declared toy_first{
    .name = "toy_first",
    .added = Added::first,
    .fits = fits,
    .size = three,
    .of_rows = [](const NodeRows& of, const Question& q, std::span<double> out) {
      if (static_cast<double>(of.before + of.rows.rows()) <= q.first[0]) return;
      out[0] = static_cast<double>(of.before + 1);
      out[1] = q.first[1];
    }};
constexpr Declared toy_largest{
    .name = "toy_largest",
    .added = Added::largest,
    .fits = fits,
    .size = three,
    .of_rows = [](const NodeRows& of, const Question& q, std::span<double> out) {
      out[0] = of.rows.row_norms().largest_squared;
      out[1] = q.first[0] / static_cast<double>(of.rows.rows());
      out[2] = of.before > 0 ? std::nan("") : 1;
    }};

// Questions that shares know while it lives.
class Knowing {
 public:
  explicit Knowing(std::vector<const Declared*> toys) : before_(distributed::known()) {
    distributed::known().insert(distributed::known().end(), toys.begin(), toys.end());
  }
  ~Knowing() { distributed::known() = before_; }
  Knowing(const Knowing&) = delete;
  Knowing& operator=(const Knowing&) = delete;

 private:
  std::vector<const Declared*> before_;
};

std::vector<double> answer_of(Engine& engine, const Declared& toy) {
  const double threshold = 2 * block;
  std::vector<double> out(3);
  dynamic_cast<DistributedSums&>(engine).ask({&toy, 1, 0, {threshold, 0.3}}, out);
  return out;
}

// Shares that keep what they found, unlike Carrier's.
class KeepingCarrier final : public ShareCarrier {
 public:
  explicit KeepingCarrier(const std::vector<Share>& shares) : shares_(shares) {}
  std::vector<std::string> ask(const std::string& question) override {
    std::vector<std::string> out;
    for (const Share& share : shares_) out.push_back(share.answer(question, ""));
    return out;
  }
  std::string relay(const std::string& question, const std::string& before) override {
    std::string state = before;
    for (const Share& share : shares_) state = share.answer(question, state);
    return state;
  }

 private:
  const std::vector<Share>& shares_;
};

class Toys : public testing::Test {
 protected:
  const Case c{"logistic", 5 * block + 9, 4};
  const Table t{c};
  const std::vector<std::uint64_t> bounds{0, 2 * block, 2 * block, 3 * block, c.n};

  // What all ranks answer.
  [[nodiscard]] std::vector<double> of_ranks(const Declared& toy) const {
    std::vector<std::vector<double>> out(bounds.size() - 1);
    ThreadRanks::run(out.size(), [&](Communicator& ranks) {
      const auto backend = shard(one("cpu"), ranks);
      const auto engine = load(t, *backend, bounds[ranks.rank()], bounds[ranks.rank() + 1]);
      out[ranks.rank()] = answer_of(*engine, toy);
    });
    for (const auto& of_rank : out) EXPECT_TRUE(same_bits(of_rank, out[0]));
    return out[0];
  }
  [[nodiscard]] std::vector<double> of_shares(const Declared& toy) const {
    const Elsewhere there(c, t, bounds, 700);
    Carrier carrier(there.shares);
    const auto backend = make_remote_backend(one("cpu"), there.table, carrier);
    return answer_of(*backend->load(Rows(nullptr, 0, c.d), {}, t.loss), toy);
  }
};

TEST_F(Toys, AreAnsweredByEveryTransport) {
  const Knowing toys({&toy_sums, &toy_turns, &toy_first, &toy_largest});
  for (const Declared* const toy : {&toy_sums, &toy_turns, &toy_first, &toy_largest}) {
    EXPECT_TRUE(same_bits(of_ranks(*toy), of_shares(*toy))) << toy->name;
  }
  const auto n = static_cast<double>(c.n);
  const double squares = one("cpu")->load(t.rows.view(), t.rows.y, t.loss)->row_norms().sum_squares;
  const std::vector<double> sums = of_ranks(toy_sums);
  EXPECT_EQ(sums[0], 2 * block * n);  // whole numbers: no rounding
  EXPECT_NEAR(sums[1], 0.3 * squares, 1e-10 * squares);
  EXPECT_EQ(sums[2], n);
  // Shares of 2, 0, 1 and 3 blocks.
  EXPECT_THAT(of_ranks(toy_turns), testing::ElementsAre(2013, 8 * block, 3 * block));
  EXPECT_THAT(of_ranks(toy_first), testing::ElementsAre(2 * block + 1, 0.3, 0));
  EXPECT_TRUE(std::isnan(of_ranks(toy_largest)[2]));
}

TEST_F(Toys, AreRefusedWhereTheyDoNotFit) {
  EXPECT_THAT([&] { static_cast<void>(of_shares(toy_sums)); },
              testing::ThrowsMessage<BadInput>(HasSubstr("the question is not one of these rows")));
  const auto alone = [&](const Question& q, std::size_t size) {
    const Elsewhere there(c, t, bounds, 700);
    Carrier carrier(there.shares);
    const auto backend = make_remote_backend(one("cpu"), there.table, carrier);
    std::vector<double> out(size);
    const auto engine = backend->load(Rows(nullptr, 0, c.d), {}, t.loss);
    dynamic_cast<DistributedSums&>(*engine).ask(q, out);
  };
  EXPECT_THROW(alone({&distributed::gradients, 1, 0, {1, 2, 3}}, 4), BadInput);
  EXPECT_THROW(alone({&distributed::gradients, 1, 0, {1, 2, 3, 4}}, 3), BadInput);
  EXPECT_NO_THROW(alone({&distributed::gradients, 1, 0, {1, 2, 3, 4}}, 4));
  // Bytes of a worker's own making.
  const Elsewhere there(c, t, bounds, 700);
  for (const Declared* const of : distributed::all_questions) {
    const Question none{of, 7, 0, std::vector<double>(5)};
    EXPECT_THROW(static_cast<void>(there.shares[0].answer(none.bytes(), "")), BadInput) << of->name;
  }
}

// A share keeps what it found for the last ones; more than it keeps, in turn, and no clip, limit or
// metric is another's.
TEST_F(Toys, CappedLossesOfOneTableAreKeptApart) {
  std::vector<double> other = t.P;
  other[3] *= 2;
  struct Kind {
    const std::vector<double>& P;
    ScoreLimits limits;
  };
  const std::vector<Kind> kinds{{t.P, {.clip = 0.4, .information = 0.3}},
                                {t.P, {.clip = 0.2, .information = 0.3}},
                                {t.P, {.clip = 0.4, .information = 0.5}},
                                {other, {.clip = 0.4, .information = 0.3}}};
  const auto answers = [&](Engine& engine) {
    std::vector<std::unique_ptr<CappedLoss>> capped;
    for (const Kind& kind : kinds) {
      capped.push_back(engine.capped_loss({kind.P.data(), c.d, 2}, kind.limits));
    }
    std::vector<double> out, g(c.d);
    for (const std::size_t k : {0U, 1U, 0U, 1U, 2U, 3U, 0U, 2U, 1U}) {
      out.push_back(capped[k]->gradient(t.theta, g));
      out.insert(out.end(), g.begin(), g.end());
    }
    return out;
  };
  const auto whole = answers(*one("cpu")->load(t.rows.view(), t.rows.y, t.loss));
  for (const std::size_t at : {1U, 4U, 5U}) EXPECT_NE(whole[0], whole[at * (c.d + 1)]);
  ThreadRanks::run(bounds.size() - 1, [&](Communicator& ranks) {
    const auto backend = shard(one("cpu"), ranks);
    const auto engine = load(t, *backend, bounds[ranks.rank()], bounds[ranks.rank() + 1]);
    EXPECT_TRUE(same_bits(answers(*engine), whole));
  });
  const Elsewhere there(c, t, bounds, 700);
  KeepingCarrier carrier(there.shares);
  const auto backend = make_remote_backend(one("cpu"), there.table, carrier);
  EXPECT_TRUE(same_bits(answers(*backend->load(Rows(nullptr, 0, c.d), {}, t.loss)), whole));
}

TEST(Questions, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const Declared* const of : distributed::all_questions) {
    EXPECT_TRUE(names.insert(of->name).second) << of->name;
    EXPECT_EQ(of->in_turn != nullptr, of->added == Added::in_turn) << of->name;
    EXPECT_EQ(of->of_rows != nullptr, of->added != Added::in_turn) << of->name;
  }
  const Question q{&distributed::moments, 2, 0.5, {1, 2}, {3}};
  const Question again = Question::parse(q.bytes());
  EXPECT_EQ(again.of, q.of);
  EXPECT_EQ(again.mark().value(), q.mark().value());
  Question other = q;
  other.second[0] = std::nextafter(3, 9);
  EXPECT_NE(other.mark().value(), q.mark().value());
  other = q;
  other.of = &distributed::lengths;
  EXPECT_NE(other.mark().value(), q.mark().value());
}

}  // namespace distributed_test
}  // namespace gibbsite::sharded_cases
