// The model of ranks: by hand where messages can be counted, and bytes as the engine sends them.
#include "gibbsite/speed/cluster.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "gibbsite/core/error.hpp"
#include "gibbsite/engine/sharded.hpp"
#include "gibbsite/speed/made_up.hpp"
#include "support/thread_ranks.hpp"

namespace gibbsite {
namespace cluster_test {

using support::ThreadRanks;

struct Counts {
  std::uint64_t gathers = 0, exchanges = 0, broadcasts = 0, bytes = 0;
};

// What a rank receives.
class Counting final : public Communicator {
 public:
  explicit Counting(Communicator& of) : of_(of) {}
  [[nodiscard]] std::size_t rank() const override { return of_.rank(); }
  [[nodiscard]] std::size_t size() const override { return of_.size(); }
  [[nodiscard]] std::string_view name() const override { return of_.name(); }
  void gather(std::span<const std::byte> mine, std::span<const std::size_t> counts,
              std::span<std::byte> out) override {
    ++seen.gathers;
    seen.bytes += out.size();
    of_.gather(mine, counts, out);
  }
  void broadcast(std::span<std::byte> bytes, std::size_t root) override {
    ++seen.broadcasts;
    of_.broadcast(bytes, root);
  }
  void exchange(std::span<const std::byte> mine, std::span<const std::size_t> to,
                std::span<std::byte> received, std::span<const std::size_t> from) override {
    ++seen.exchanges;
    seen.bytes += received.size();
    of_.exchange(mine, to, received, from);
  }
  void send(std::span<const std::byte> bytes, std::size_t to) override { of_.send(bytes, to); }
  void receive(std::span<std::byte> bytes, std::size_t from) override { of_.receive(bytes, from); }
  [[noreturn]] void abort(const std::string& message, Status status) override {
    throw Error(status, message);
  }
  Counts seen;

 private:
  Communicator& of_;
};

// A step of the engine itself, gathered whole and in slices.
TEST(SumTraffic, IsWhatAStepSends) {
  struct Case {
    std::uint64_t rows;
    std::size_t features, count;
    bool slices;
  };
  for (const Case& each :
       {Case{20000, 3, 3, false}, Case{150000, 12, 5, false}, Case{30000, 4000, 4, true}}) {
    const std::uint64_t rows = each.rows;
    const std::size_t features = each.features, count = each.count;
    const bool slices = each.slices;
    const MadeUpTable table(7, rows, features, false);
    const SumTraffic told = sum_traffic(rows, count, features);
    EXPECT_EQ(told.in_slices, slices);
    std::vector<Counts> seen(count);
    ThreadRanks::run(count, [&](Communicator& ranks) {
      Counting counting(ranks);
      const auto bounds = share_bounds(rows, count);
      const std::uint64_t first = bounds[ranks.rank()], n = bounds[ranks.rank() + 1] - first;
      std::vector<float> x(n * features), y(n);
      table.make(first, first + n, x, y);
      const auto engine = shard(make_backend("cpu", {.threads = 1}), counting)
                              ->load(Rows(x.data(), n, features), y, loss_named("logistic"));
      std::vector<ChainSpec> specs{
          {.step_size = 1e-3, .iterations = 9, .key = StreamKey::from_seed(1)}};
      Ensemble chain = start(std::move(specs), features);
      engine->advance(chain, 1);
      const Counts one = counting.seen;
      engine->advance(chain, 3);
      // Two steps more than another such call: a call itself gathers marks.
      Counts two = counting.seen;
      engine->advance(chain, 1);
      const Counts three = counting.seen;
      const auto of_two_steps = [&](auto member) {
        return (two.*member - one.*member) - (three.*member - two.*member);
      };
      seen[ranks.rank()] = {of_two_steps(&Counts::gathers), of_two_steps(&Counts::exchanges),
                            of_two_steps(&Counts::broadcasts), of_two_steps(&Counts::bytes)};
    });
    std::uint64_t most = 0;
    for (const Counts& of_rank : seen) {
      EXPECT_EQ(of_rank.gathers, 2 * told.gathers);
      EXPECT_EQ(of_rank.exchanges, 2 * told.exchanges);
      EXPECT_EQ(of_rank.broadcasts, 2U);
      most = std::max(most, of_rank.bytes);
    }
    EXPECT_EQ(most, 2 * told.bytes) << rows << " x " << features;
  }
}

TEST(SumTraffic, NodesAreThoseOfTheTree) {
  EXPECT_EQ(sum_traffic(1 << 20, 1, 100).bytes, 0U);  // nobody to tell
  EXPECT_EQ(sum_traffic(1 << 20, 4, 100).nodes, 4U);  // 1,024 blocks: four quarters
  EXPECT_EQ(sum_traffic(1 << 20, 4, 100).bytes, (4 * 100 + 4) * sizeof(double));
  EXPECT_LE(sum_traffic(1'000'000'000, 1000, 1).nodes, 1000U * 12);
}

// The way that is taken is the sooner one, but where both take about as long: a message as long as
// receiving and adding 16 KiB. Up to 256 KiB, of few ranks, it is the gather in any case.
TEST(SumTraffic, TakesTheSoonerWay) {
  constexpr double alpha = 0x1p-19, received = 5e10, adds = 0x1p34;
  std::size_t gathered = 0, in_slices = 0;
  for (const std::size_t ranks : {2U, 16U, 64U, 200U, 1024U}) {
    for (const std::size_t numbers : {10U, 100U, 1000U, 5050U, 40000U}) {
      const SumTraffic told = sum_traffic(1'000'000'000, ranks, numbers);
      const double rounds = std::ceil(std::log2(static_cast<double>(ranks)));
      const auto all = static_cast<double>(told.nodes * numbers * sizeof(double)),
                 P = static_cast<double>(ranks);
      const double gather = rounds * alpha + all / received + all / adds,
                   slices = (2 * rounds + P - 1) * alpha + all / P / received + all / P / adds;
      (told.in_slices ? in_slices : gathered) += 1;
      if (all <= 0x1p18) {
        EXPECT_FALSE(told.in_slices);
      } else {
        EXPECT_LT(told.in_slices ? slices : gather, 1.5 * std::min(gather, slices))
            << ranks << " ranks, " << numbers;
      }
    }
  }
  EXPECT_GT(gathered, 5U);
  EXPECT_GT(in_slices, 5U);
}

// 2^20 rows of 16 features on 8 ranks: 8 nodes. All numbers are powers of two, so exact.
TEST(ClusterTime, ByHand) {
  const ClusterShape shape{1 << 20, 16, 8};
  const RankSpeed speed{0x1p20, 0x1p19, 0x1p18, 0x1p17};
  const RankLink link{0x1p-10, 0x1p20};
  const ClusterTime step = step_time(shape, speed, link);
  EXPECT_EQ(step.rows, 0x1p-3);
  // A gather of 8 nodes and 8 marks, 3 rounds; a broadcast of theta, 3 rounds with 16 numbers each.
  EXPECT_EQ(step.messages, 3 * 0x1p-10 + (8 * 16 + 8) * 8 * 0x1p-20 + 8 * 16 * 8 * 0x1p-34 +
                               3 * (0x1p-10 + 16 * 8 * 0x1p-20));
  const ClusterTime capped = capped_time(shape, speed, link);
  EXPECT_EQ(capped.rows, 0x1p-2);
  EXPECT_EQ(capped.messages, 3 * 0x1p-10 + 64 * 0x1p-20 + 3 * 0x1p-10 + (8 * 17 + 8) * 8 * 0x1p-20 +
                                 8 * 17 * 8 * 0x1p-34);
  EXPECT_EQ(caps_time(shape, speed).seconds(), 0x1p-1);
  const ClusterTime moments = moments_time(shape, speed, link);
  EXPECT_EQ(moments.rows, 1);
  EXPECT_EQ(moments.messages, 3 * 0x1p-10 + 64 * 0x1p-20 + 3 * 0x1p-10 +
                                  (8 * 136 + 8) * 8 * 0x1p-20 + 8 * 136 * 8 * 0x1p-34);
  EXPECT_EQ(step_time({1 << 20, 16, 1}, speed, link).messages, 0);
  // Sums of more than 256 KiB: marks, an exchange with 7 others, the slices.
  const ClusterTime wide = step_time({1 << 20, 1 << 13, 8}, speed, link);
  EXPECT_EQ(wide.messages, (3 + 7 + 3) * 0x1p-10 + (8 + 8 * 1024 + 8192) * 8 * 0x1p-20 +
                               8 * 1024 * 8 * 0x1p-34 + 3 * (0x1p-10 + 8192 * 8 * 0x1p-20));
}

TEST(ClusterTime, HalfWay) {
  const auto time = [](std::uint64_t p) {
    return ClusterTime{1000.0 / static_cast<double>(p), static_cast<double>(p) / 10};
  };
  EXPECT_EQ(half_way(time, 1 << 20), 100U);
  EXPECT_EQ(half_way(time, 99), std::nullopt);
  EXPECT_EQ(half_way(time, 100), 100U);
}

// Rows of one call or of several are the same, of norm at most 1, and their labels follow w.
TEST(MadeUpTable, IsAFunctionOfThePlace) {
  for (const bool intercept : {false, true}) {
    const MadeUpTable table(3, 5000, 7, intercept);
    const std::size_t d = table.features();
    EXPECT_EQ(d, intercept ? 8U : 7U);
    EXPECT_EQ(table.schema().features(), d);
    std::vector<float> x(5000 * d), y(5000), x2(100 * d), y2(100);
    table.make(0, 5000, x, y);
    table.make(1234, 1334, x2, y2);
    EXPECT_TRUE(
        std::equal(x2.begin(), x2.end(), x.begin() + static_cast<std::ptrdiff_t>(1234 * d)));
    EXPECT_TRUE(std::equal(y2.begin(), y2.end(), y.begin() + 1234));
    std::size_t agree = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      double squares = 0, score = 0;
      for (std::size_t j = 0; j < 7; ++j) {
        const double v = static_cast<double>(x[i * d + j]);
        squares += v * v;
        score += j % 2 == 0 ? v : -v;
      }
      EXPECT_LE(squares, 1);
      EXPECT_EQ(intercept ? x[i * d + 7] : 1, 1);
      agree += std::size_t{(score > 0) == (y[i] > 0)};
    }
    // About 3/4 of the 5,000 labels agree, with a deviation of 0.006; the seed is fixed.
    EXPECT_GT(agree, 3500U);
    EXPECT_LT(agree, 4000U);
    const MadeUpTable other(4, 5000, 7, intercept);
    other.make(1234, 1334, x2, y2);
    EXPECT_FALSE(
        std::equal(x2.begin(), x2.end(), x.begin() + static_cast<std::ptrdiff_t>(1234 * d)));
  }
  const MadeUpTable table(3, 10, 4, false);
  EXPECT_EQ(table.agreement(std::vector<double>{2, -2, 2, -2}), 1);
  EXPECT_EQ(table.agreement(std::vector<double>{1, 1, 1, 1}), 0);
}

// What is made anew has the bits of an engine that holds the rows, whatever the ranks and threads.
TEST(MadeRows, HaveTheBitsOfRowsInMemory) {
  constexpr std::uint64_t n = 300'000;  // several chunks, the last of them short
  constexpr std::size_t d = 21;
  const MadeUpTable table(11, n, d - 1, true);
  const Loss& loss = loss_named("logistic");
  std::vector<float> x(n * d), y(n);
  table.make(0, n, x, y);
  const auto held = make_backend("cpu", {.threads = 1})->load(Rows(x.data(), n, d), y, loss);
  std::vector<double> metric(d * d), theta(d);
  for (std::size_t k = 0; k < d * d; ++k) metric[k] = static_cast<double>(k * 37 % 41) / 41 - 0.4;
  for (std::size_t j = 0; j < d; ++j) theta[j] = static_cast<double>(j) / 8 - 1;
  const MatrixView<const double> P{metric.data(), d, d}, at{theta.data(), 1, d};
  const RowLimits fine{1.001, true, LabelKind::two_classes}, long_row{0.55, true};
  const auto answers = [&](Engine& engine) {
    std::vector<double> out(d * d + 2 * d + 1);
    engine.second_moments(P, 0.8, {out.data(), d, d});
    engine.loss_gradients(at, {out.data() + d * d, 1, d});
    const auto capped = engine.capped_loss(P, {.clip = 0.3});
    out.back() = capped->gradient(theta, std::span(out).subspan(d * d + d, d));
    EXPECT_FALSE(engine.first_fault(fine));
    const auto fault = engine.first_fault(long_row);
    out.push_back(fault ? static_cast<double>(fault->row) : -1);
    return out;
  };
  const std::vector<double> of_held = answers(*held);
  EXPECT_GT(of_held.back(), 0);
  struct Case {
    std::size_t count, threads;
  };
  for (const Case& each : {Case{1, 1}, Case{1, 3}, Case{3, 1}, Case{2, 2}}) {
    const std::size_t count = each.count, threads = each.threads;
    ThreadRanks::run(count, [&](Communicator& ranks) {
      const auto backend = make_rows(make_backend("cpu", {.threads = 1}), table, ranks, threads);
      const auto engine = backend->load(Rows(nullptr, 0, d), {}, loss);
      EXPECT_TRUE(engine->certifiable());
      EXPECT_EQ(engine->rows(), n);
      EXPECT_EQ(answers(*engine), of_held) << count << " ranks, " << threads << " threads";
      EXPECT_THROW(static_cast<void>(engine->plain_value(theta)), BadInput);
      EXPECT_EQ(engine->stepper(), nullptr);
      Ensemble chains = start({{.key = StreamKey::from_seed(1)}}, d);
      EXPECT_THAT([&] { engine->advance(chains, 1); },
                  testing::ThrowsMessage<BadInput>(testing::HasSubstr("no chain steps on them")));
    });
  }
  // A table that holds rows, or has other columns, is not theirs.
  const auto alone = one_process();
  const auto backend = make_rows(make_backend("cpu", {.threads = 1}), table, *alone, 1);
  EXPECT_THROW(static_cast<void>(backend->load(Rows(x.data(), n, d), y, loss)), BadInput);
  EXPECT_THROW(static_cast<void>(backend->load(Rows(nullptr, 0, d - 1), {}, loss)), BadInput);
  // And a table without rows is nobody else's.
  EXPECT_THROW(static_cast<void>(make_backend("cpu")->load(Rows(nullptr, 0, d), {}, loss)),
               BadInput);
}

}  // namespace cluster_test
}  // namespace gibbsite
