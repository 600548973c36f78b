// The model of how long a step takes, on backends whose steps cost what the test says: their clock
// moves when they do. Costs are sums of powers of two, so predictions are exact.
#include "gibbsite/speed/speed.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/engine/machine.hpp"
#include "support/adult.hpp"
#include "support/forwarding_engine.hpp"

namespace gibbsite {
namespace speed_test {

using StepCost = std::function<double(std::uint64_t rows, std::uint64_t chains)>;

struct FakeClock {
  double now = 0;
  std::uint64_t calls = 0, steps = 0;
  std::uint64_t hiccup_every = 0;  // a call that takes a thousand times as long
};

class FakeEngine final : public support::ForwardingEngine {
 public:
  FakeEngine(FakeClock& clock, StepCost cost, std::uint64_t rows, std::uint64_t features)
      : clock_(clock), cost_(std::move(cost)), rows_(rows), features_(features) {}
  [[nodiscard]] std::size_t rows() const override { return rows_; }
  [[nodiscard]] std::size_t features() const override { return features_; }
  void advance(Ensemble& ensemble, std::uint64_t steps) override {
    ++clock_.calls;
    clock_.steps += steps;
    double seconds = static_cast<double>(steps) * cost_(rows_, ensemble.chains());
    if (clock_.hiccup_every > 0 && clock_.calls % clock_.hiccup_every == 0) seconds *= 1024;
    clock_.now += seconds;
  }
  void loss_gradients(MatrixView<const double>, MatrixView<double>) override {}
  void loss_values(MatrixView<const double>, std::span<double>) override {}

 private:
  FakeClock& clock_;
  StepCost cost_;
  std::uint64_t rows_, features_;
};

class FakeBackend final : public Backend {
 public:
  FakeBackend(FakeClock& clock, StepCost cost) : clock_(clock), cost_(std::move(cost)) {}
  [[nodiscard]] std::string_view name() const override { return "fake"; }
  [[nodiscard]] std::string description() const override { return "fake"; }
  std::unique_ptr<Engine> load(const Rows& x, std::span<const float>, const Loss&) override {
    return std::make_unique<FakeEngine>(clock_, cost_, x.rows, x.cols);
  }

 private:
  FakeClock& clock_;
  StepCost cost_;
};

class Speed : public ::testing::Test {
 protected:
  StepTime time(const StepCost& cost, const TableShape& shape, std::uint64_t chains,
                TimingOptions options = {}) {
    FakeBackend backend(clock, cost);
    options.clock = [this] { return clock.now; };
    StepTimer timer(backend, shape, loss_named("logistic"), options);
    return timer.time(chains);
  }
  static TableShape dense(std::uint64_t rows, std::uint64_t features) {
    return dense_shape({features, 1.0, false}, rows);
  }
  // A fixed part and one for every row and chain.
  static double typical(std::uint64_t rows, std::uint64_t chains) {
    return 0x1p-12 + 0x1p-24 * static_cast<double>(rows) * static_cast<double>(chains);
  }
  FakeClock clock;
};

TEST(TableShape, OfASchemaHasOneEntryAColumn) {
  const TableShape adult = shape_of(parse_schema(testing::adult_toml(true), "adult"), 7);
  EXPECT_EQ(adult.rows, 7U);
  EXPECT_EQ(adult.features(), 109U);
  EXPECT_EQ(adult.entries(), 15U);  // 6 numbers, 8 categories, the intercept
  const TableShape missing = shape_of(
      parse_schema(
          "label = \"y\"\npositive = \"1\"\nmissing = \"?\"\nintercept = false\n[columns]\n"
          "a = {type = \"category\", levels = [\"x\", \"z\"], other = true, missing = \"?\"}\n"
          "b = {type = \"ignore\"}\nc = {type = \"number\", range = [0, 1]}\n",
          "missing"),
      3);
  EXPECT_EQ(missing.widths, (std::vector<std::uint32_t>{4, 1}));
  EXPECT_EQ(dense_shape({5, 1.0, true}, 3).entries(), 5U);
}

TEST(TableShape, IsSparseWhereTheReadersWouldKeepEntries) {
  const TableShape adult = shape_of(parse_schema(testing::adult_toml(true), "adult"), 7);
  EXPECT_TRUE(adult.is_sparse());                      // 15 of 109
  EXPECT_EQ(adult.bytes_per_row(), 15.0 * 8 + 8 + 4);  // entries, their begin, the label
  const TableShape dense{7, {1, 2, 3}};
  EXPECT_FALSE(dense.is_sparse());
  EXPECT_EQ(dense.bytes_per_row(), 6.0 * 4 + 4);
}

TEST(TableShape, OfRowsThatAreMostlyZeroHasTheirEntries) {
  for (const auto& [features, entries, columns] :
       {std::tuple{10'001U, 20.6, 21U}, {10U, 0.0, 1U}, {10U, 3.0, 3U}, {10U, 99.0, 10U}}) {
    const TableShape shape = sparse_shape(features, 7, entries);
    EXPECT_EQ(shape.rows, 7U);
    EXPECT_EQ(shape.features(), features);
    EXPECT_EQ(shape.entries(), columns);
    EXPECT_EQ(shape.is_sparse(), columns <= 0.15 * features);
    for (const std::uint32_t width : shape.widths) EXPECT_GE(width, 1U);
  }
}

class MadeUp : public ::testing::TestWithParam<std::vector<std::uint32_t>> {};

TEST_P(MadeUp, RowsHaveOneEntryAColumnAndNormOne) {
  constexpr std::uint64_t n = 1000;
  const TableShape shape{n, GetParam()};
  const MadeUpRows rows = make_up_rows(shape, n);
  const Rows x = rows.view();
  x.validate();
  EXPECT_EQ(x.rows, n);
  EXPECT_EQ(x.cols, shape.features());
  EXPECT_EQ(x.is_sparse(), shape.is_sparse());
  std::vector<int> met(x.cols);
  int positive = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double squared = 0;
    std::size_t first = 0;
    for (const std::uint32_t width : shape.widths) {
      int not_zero = 0;
      for (std::size_t j = first; j < first + width; ++j) {
        const float cell = x(i, j);
        not_zero += cell != 0 ? 1 : 0;
        met[j] += cell != 0 ? 1 : 0;
        squared += static_cast<double>(cell) * static_cast<double>(cell);
      }
      EXPECT_EQ(not_zero, 1);
      first += width;
    }
    // k cells of k^-1/2 rounded to float: (1 + 2^-24)^2 - 1 < 2^-22, and sums in double.
    EXPECT_LE(std::fabs(squared - 1), 0x1p-22);
    EXPECT_EQ(std::fabs(rows.y[i]), 1.0F);
    positive += rows.y[i] > 0 ? 1 : 0;
  }
  for (const int count : met) EXPECT_GT(count, 0);  // every level is met
  EXPECT_GT(positive, 400);
  EXPECT_LT(positive, 600);
}
INSTANTIATE_TEST_SUITE_P(OfAShape, MadeUp,
                         ::testing::Values(std::vector<std::uint32_t>{1, 5, 1, 4, 2},
                                           std::vector<std::uint32_t>{1, 40, 1, 30, 2}));

TEST_F(Speed, IsTheCostItselfWhereAllRowsAreMeasured) {
  for (const std::uint64_t rows : {1U, 1000U, 100000U}) {
    for (const std::uint64_t chains : {1U, 16U, 64U, 256U}) {
      const StepTime t = time(typical, dense(rows, 4), chains);
      EXPECT_EQ(t.seconds, typical(rows, chains)) << rows << " " << chains;
      EXPECT_EQ(t.rows, rows);
      EXPECT_EQ(t.chains, chains);
      EXPECT_GE(t.windows, 3U);
    }
  }
}

TEST_F(Speed, CountsRowsBeyondTheMemoryInProportion) {
  const StepCost per_row = [](std::uint64_t rows, std::uint64_t) {
    return 0x1p-20 * static_cast<double>(rows);
  };
  const StepTime t = time(per_row, dense(1 << 14, 3), 1, {.most_bytes = 1 << 14});
  EXPECT_EQ(t.rows, 1U << 10);  // 16 bytes a row
  EXPECT_EQ(t.seconds, 0x1p-6);
}

TEST_F(Speed, CountsChainsBeyondThoseMeasuredInProportion) {
  const StepCost per_chain = [](std::uint64_t, std::uint64_t chains) {
    return 0x1p-18 * static_cast<double>(chains);
  };
  const StepTime t = time(per_chain, dense(100, 4), 1024);
  EXPECT_EQ(t.chains, 256U);
  EXPECT_EQ(t.seconds, 0x1p-8);
  const StepTime wide = time(per_chain, dense(1, 1 << 20), 1024);
  EXPECT_EQ(wide.chains, 32U);  // 2^25 coefficients
  EXPECT_EQ(wide.seconds, 0x1p-8);
}

TEST_F(Speed, MeasuresFewerRowsWhereAStepIsLong) {
  const StepCost slow = [](std::uint64_t rows, std::uint64_t chains) {
    return 0x1p-27 * static_cast<double>(rows) * static_cast<double>(chains);
  };
  const StepTime t = time(slow, dense(1 << 20, 2), 128);  // a step of one second
  EXPECT_EQ(t.rows, 1U << 18);                            // a quarter
  EXPECT_EQ(t.seconds, 1.0);
  EXPECT_LT(clock.now, 2.0);
  // Never so few that threads would share them in another way.
  const StepTime slower =
      time([&](std::uint64_t rows, std::uint64_t chains) { return 64 * slow(rows, chains); },
           dense(1 << 20, 2), 128);
  EXPECT_EQ(slower.rows, 16384U);
  EXPECT_EQ(slower.seconds, 64.0);
}

TEST_F(Speed, IsAMedianThatHiccupsDoNotMove) {
  clock.hiccup_every = 4;
  EXPECT_EQ(time(typical, dense(1000, 4), 4).seconds, typical(1000, 4));
}

TEST_F(Speed, DoesNotCountTheFirstStep) {
  std::uint64_t calls = 0;
  const StepCost warm = [&](std::uint64_t rows, std::uint64_t chains) {
    return calls++ == 0 ? 8.0 : typical(rows, chains);
  };
  EXPECT_EQ(time(warm, dense(1000, 4), 4).seconds, typical(1000, 4));
}

TEST_F(Speed, TakesAboutTheTimeItIsGiven) {
  // Finding the number of steps of a window takes less than two windows of a twelfth, and the last
  // window ends at most one after the time is up.
  time(typical, dense(1000, 4), 4, {.seconds = 0.25});
  EXPECT_GE(clock.now, 0.25);
  EXPECT_LE(clock.now, 0.25 * (1 + 3.0 / 12) + typical(1000, 4));
}

TEST_F(Speed, StopsWhenAsked) {
  int polls = 0;
  const TimingOptions options{.poll = [&] {
    if (++polls == 4) throw std::runtime_error("stop");
  }};
  EXPECT_THROW(time(typical, dense(1000, 4), 4, options), std::runtime_error);
  EXPECT_EQ(clock.calls, 3U);
}

TEST_F(Speed, ShortRunsAreTimedForATwentiethOfTheirTime) {
  const auto spent = [&](double steps) {
    const double begin = clock.now;
    static_cast<void>(time(typical, dense(1000, 4), 4, {.planned_steps = steps}));
    return clock.now - begin;
  };
  const double step = typical(1000, 4), unlimited = spent(1e9);
  EXPECT_EQ(spent(std::numeric_limits<double>::infinity()), unlimited);
  EXPECT_GE(unlimited, 0.25);
  EXPECT_LE(spent(1), 10 * step);
  EXPECT_GE(spent(1000), 50 * step);
  EXPECT_LE(spent(1000), 120 * step);
}

TEST_F(Speed, OfRowsThatAreThere) {
  FakeBackend backend(clock, typical);
  const std::vector<float> x(300 * 4, 1.0F), y(300, 1.0F);
  StepTimer timer(backend, Rows(x.data(), 300, 4), y, loss_named("logistic"),
                  {.clock = [this] { return clock.now; }});
  EXPECT_EQ(timer.time(8).seconds, typical(300, 8));
}

TEST(WorkTime, OfTheCpuBackend) {
  const auto backend = make_backend("cpu");
  StepTimer timer(*backend, {500, {1, 1, 30}}, loss_named("logistic"), {.seconds = 0.01});
  std::vector<Candidate> offers(2);
  offers[0].cost.moments = 1;  // out of reach
  EXPECT_TRUE(std::isnan(measure_work(timer, offers, 3).first_moments));
  offers[0].feasible = true;
  const WorkTime time = measure_work(timer, offers, 3);
  EXPECT_TRUE(std::isfinite(time.pass));
  EXPECT_GT(time.pass, 0);
  for (const double moments : {time.first_moments, time.moments}) {
    EXPECT_TRUE(std::isfinite(moments));
    EXPECT_GT(moments, 0);
  }
  EXPECT_NEAR(time.release, (13e-6 * 3 + 7e-6) * 32, 1e-12);
  EXPECT_TRUE(std::isnan(time.capped));
  offers[1].cost.capped = 40;  // out of reach
  EXPECT_TRUE(std::isnan(measure_work(timer, offers, 1).capped));
  offers[0].cost.capped = 40;
  EXPECT_GT(measure_work(timer, offers, 1).capped, 0);
}

TEST(PredictedSeconds, AreWorkTimesAPassOfEveryOffer) {
  Plan plan;
  plan.candidates.resize(4);
  plan.candidates[0].cost = {.passes = 4, .work = 8};  // a batch costs more than its read
  plan.candidates[1].cost = {.passes = 2, .work = 2};
  plan.candidates[3].cost = {.passes = 42, .work = 240, .moments = 2, .moments_work = 200};
  plan.chosen = 1;
  EXPECT_EQ(predicted_seconds(plan, {.pass = 0.25, .first_moments = 3, .moments = 7, .release = 1}),
            (std::vector<double>{3, 1.5, 1, 21}));
  EXPECT_EQ(predicted_seconds(plan.candidate(), {.pass = 0.25}), 0.5);
  EXPECT_EQ(predicted_seconds(plan, {.pass = 0.25})[3], 60);
  plan.candidates[3].cost.capped = 40;
  EXPECT_EQ(predicted_seconds(plan, {.pass = 0.25})[3], 60);
  EXPECT_EQ(predicted_seconds(plan, {.pass = 0.25, .capped = 0.5})[3], 200 * 0.25 + 40 * 0.5);
  EXPECT_EQ(
      predicted_seconds(plan, {.pass = 0.25, .capped = 0.5, .first_moments = 3, .moments = 7})[3],
      40 * 0.5 + 10);
}

TEST(Machine, HasRoofs) {
  EXPECT_NE(instruction_set(), "");
  EXPECT_GE(thread_count(), 1);
  for (const std::size_t floats : {1U, 1000U, 1U << 20}) {
    const double bytes = read_bandwidth(std::vector<float>(floats, 1.0F));
    EXPECT_TRUE(std::isfinite(bytes) && bytes > 0) << bytes;
  }
  for (const double rate : {double_fma_rate(), float_fma_rate()}) {
    EXPECT_TRUE(std::isfinite(rate) && rate > 0) << rate;
  }
}

}  // namespace speed_test
}  // namespace gibbsite
