// The cuda engine's memory, queues, choices and errors, on the emulated GPU and on a real one.
#include "engine/cuda/engine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "engine/cuda/cuda.hpp"
#include "engine/cuda/source.hpp"
#include "engine/cuda/why_not.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/summation.hpp"
#include "gibbsite/engine/automatic.hpp"
#include "support/backend.hpp"
#include "support/repeats.hpp"

namespace gibbsite::cuda {
namespace engine_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

const bool emulated = std::string_view(GIBBSITE_TEST_DEVICE) == "emulated";

struct Table {
  std::size_t n, d;
  std::vector<float> x, y;
  Table(std::size_t rows, std::size_t features, unsigned seed = 1)
      : n(rows), d(features), x(rows * features), y(rows) {
    std::mt19937 gen(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (float& v : x) v = uniform(gen);
    for (float& v : y) v = uniform(gen) < 0 ? -1.0f : 1.0f;
  }
  [[nodiscard]] MatrixView<const float> view() const { return {x.data(), n, d}; }
};

Ensemble make_ensemble(std::size_t chains, std::size_t d, std::uint64_t iterations = 7) {
  std::vector<ChainSpec> specs(chains, {.key = StreamKey::from_seed(0)});
  for (std::size_t c = 0; c < chains; ++c) {
    specs[c].inverse_temperature = 0.1 + 0.01 * static_cast<double>(c);
    specs[c].step_size = 1e-4;
    specs[c].iterations = iterations;
    specs[c].center.assign(d, 0.3);
    specs[c].key = StreamKey::from_seed(c);
  }
  return start(std::move(specs), d);
}

EngineOptions limited(std::size_t bytes) {
  EngineOptions options;
  options.memory_limit = bytes;
  return options;
}
EngineOptions forced(Design design) {
  EngineOptions options;
  options.design = design;
  return options;
}
EngineOptions library_noise() {
  EngineOptions options;
  options.noise = NoiseSource::curand;
  return options;
}
EngineOptions throughput(NoiseSource noise) {
  EngineOptions options;
  options.arithmetic = Arithmetic::float32;
  options.noise = noise;
  return options;
}

class CudaEngine : public support::DeviceTest {
 protected:
  CudaEngine() : DeviceTest(GIBBSITE_TEST_DEVICE) {}
  std::unique_ptr<Engine> load(const Table& t, const EngineOptions& options = {}) {
    return make_engine(device_, t.view(), t.y, loss_named("logistic"), options);
  }
  static std::vector<double> gradients(Engine& engine, const Ensemble& e) {
    std::vector<double> out(e.theta.size());
    engine.loss_gradients({e.theta.data(), e.chains(), e.features},
                          {out.data(), e.chains(), e.features});
    return out;
  }
};

// Bytes that leave room for two chunks of `rows` rows and everything else, not for all of X.
std::size_t room_for(const Table& t, std::size_t chains, std::size_t rows, Arithmetic arithmetic,
                     const Gpu& gpu, std::size_t outputs = 1) {
  const Shape shape{t.n, t.d, chains * outputs, outputs, outputs == 1};
  const Choice choice = choose_design(shape, arithmetic, gpu);
  const auto source =
      make_source(gradient_design(choice.design, shape), {shape, arithmetic, 0, gpu});
  std::size_t low = 1 << 10, high = std::size_t{1} << 34;
  while (high - low > 1) {  // the least that gives chunks of at least `rows`
    const std::size_t middle = low + (high - low) / 2;
    bool enough = false;
    try {
      enough = plan_layout(shape, *source, middle).chunk_rows >= rows;
    } catch (const CudaError&) {
    }
    (enough ? high : low) = middle;
  }
  return high;
}

// X in chunks gives the gradient of X whole: the sums are grouped otherwise, so each coordinate may
// move by 2 gamma_D sum_i |x_ij| sup|f'|, D the longest path of additions.
TEST_F(CudaEngine, StreamedRowsGiveTheSameGradientAndValue) {
  const Table t(6 * 1024 + 77, 9);
  const Ensemble e = make_ensemble(3, t.d);
  const auto whole = load(t);
  const auto expected = gradients(*whole, e);
  std::vector<double> value(3), streamed_value(3);
  whole->loss_values({e.theta.data(), 3, t.d}, value);
  const double u = std::numeric_limits<double>::epsilon() / 2;
  const double gamma = static_cast<double>(accumulation_depth(t.n)) * u * 1.01;
  for (const std::size_t rows : {1024ul, 2048ul}) {
    const auto streamed =
        load(t, limited(room_for(t, 3, rows, Arithmetic::float64, device_->gpu())));
    const auto got = gradients(*streamed, e);
    EXPECT_THAT(streamed->design(), HasSubstr("X streamed in"));
    for (std::size_t j = 0; j < t.d; ++j) {
      double sum = 0;
      for (std::size_t i = 0; i < t.n; ++i) sum += std::fabs(static_cast<double>(t.x[i * t.d + j]));
      for (std::size_t c = 0; c < 3; ++c) {
        ASSERT_TRUE(std::fabs(got[c * t.d + j] - expected[c * t.d + j]) <= 2 * gamma * sum)
            << rows << " " << c << " " << j;
      }
    }
    streamed->loss_values({e.theta.data(), 3, t.d}, streamed_value);
    for (std::size_t c = 0; c < 3; ++c) {
      EXPECT_TRUE(std::fabs(streamed_value[c] - value[c]) <=
                  2 * static_cast<double>(t.n) * u * value[c]);
    }
  }
}

// A table that is one rank's share of several uses no resident loop: its sums are added to other
// ranks'.
TEST_F(CudaEngine, AShareTakesNoLoop) {
  const Table t(300, 4);
  const Ensemble e = make_ensemble(2, t.d);
  Rows share = t.view();
  share.whole = {5000, 20000, 4};
  const auto engine = make_engine(device_, share, t.y, loss_named("logistic"), {});
  EXPECT_EQ(gradients(*engine, e), gradients(*load(t, forced(Design::one_pass)), e));
  EXPECT_THAT(engine->design(), StartsWith("one-pass: its sums are added to other ranks'"));
  const auto looped =
      make_engine(device_, share, t.y, loss_named("logistic"), forced(Design::resident));
  EXPECT_THAT([&] { gradients(*looped, e); },
              ThrowsMessage<BadInput>(HasSubstr("`design`: resident makes steps without a stop")));
}

// Losses of several outputs are streamed too; their rows of theta meet in the residuals. A cut run
// continues on streamed rows.
TEST_F(CudaEngine, SeveralOutputsAreStreamedToo) {
  Table t(5 * 1024 + 77, 5);
  for (std::size_t i = 0; i < t.n; ++i) t.y[i] = static_cast<float>(i * i % 3);
  const Loss& loss = loss_named("softmax-3");
  Ensemble e = make_ensemble(2, 3 * t.d, 3);
  for (std::size_t j = 0; j < e.theta.size(); ++j) e.theta[j] = std::sin(static_cast<double>(j));
  const auto whole = make_engine(device_, t.view(), t.y, loss, {});
  const std::vector<double> expected = gradients(*whole, e);
  EXPECT_THAT(whole->design(), StartsWith("blocked: 3 outputs"));
  const auto options = limited(room_for(t, 2, 1024, Arithmetic::float64, device_->gpu(), 3));
  const auto streamed = make_engine(device_, t.view(), t.y, loss, options);
  const std::vector<double> got = gradients(*streamed, e);
  EXPECT_THAT(streamed->design(), HasSubstr("X streamed in"));
  const double gamma = static_cast<double>(accumulation_depth(t.n)) * 0x1.1p-53;
  for (std::size_t j = 0; j < got.size(); ++j) {
    double sum = 0;
    for (std::size_t i = 0; i < t.n; ++i)
      sum += std::fabs(static_cast<double>(t.x[i * t.d + j % t.d]));
    ASSERT_TRUE(std::fabs(got[j] - expected[j]) <= 2 * gamma * std::sqrt(2) * sum) << j;
  }
  std::vector<double> values(2), streamed_values(2);
  whole->loss_values({e.theta.data(), 2, 3 * t.d}, values);
  streamed->loss_values({e.theta.data(), 2, 3 * t.d}, streamed_values);
  for (std::size_t c = 0; c < 2; ++c) EXPECT_NEAR(streamed_values[c], values[c], 1e-12 * values[c]);
  Ensemble cut = e;
  streamed->advance(e, 9);
  for (int k = 0; k < 3; ++k) streamed->advance(cut, 1);
  EXPECT_EQ(e.theta, cut.theta);
  EXPECT_TRUE(cut.finished());
}

// Queues may run as early or as late as events allow: the bits must not know. The emulated GPU
// interleaves by its seed; on a real GPU the runs repeat.
TEST_F(CudaEngine, StreamedBitsDoNotDependOnHowQueuesInterleave) {
  const Table t(5 * 1024 + 13, 6);
  const Ensemble begin = make_ensemble(2, t.d);
  std::vector<double> first;
  for (std::uint64_t seed = 1; seed <= support::repeats(12U, 3U); ++seed) {
    if (emulated) device_ = support::make_emulated_device({.seed = seed});
    const auto engine = load(t, limited(room_for(t, 2, 1024, Arithmetic::float64, device_->gpu())));
    Ensemble e = begin;
    engine->advance(e, 3);
    EXPECT_THAT(engine->design(), HasSubstr("in 6 chunks of 1024 rows"));
    if (first.empty()) first = e.theta;
    ASSERT_EQ(e.theta, first) << seed;
  }
}

// Rows that are on the GPU stay there when the number of thetas changes, whatever the design; the
// bits are those of an engine that begins with that number. Streamed ones, and questions in a
// metric between, take their place.
TEST_F(CudaEngine, RowsAreUploadedOnce) {
  const Table t(600, 30);
  const auto engine_counting = [&](std::size_t& copied) {
    if (emulated) device_ = support::make_emulated_device({.copied_in = &copied});
    return load(t);
  };
  std::size_t copied = 0, of_fresh = 0;
  const auto engine = engine_counting(copied);
  const std::size_t in_rows = t.x.size() * sizeof(float);
  std::size_t asked = 0;
  for (const std::size_t chains : {3ul, 20ul, 1ul, 3ul}) {
    SCOPED_TRACE(chains);
    copied = of_fresh = 0;
    Ensemble e = make_ensemble(chains, t.d), other = e;
    engine->advance(e, 2);
    const auto fresh = engine_counting(of_fresh);
    fresh->advance(other, 2);
    EXPECT_EQ(e.theta, other.theta);
    EXPECT_EQ(gradients(*engine, e), gradients(*fresh, other));
    if (!emulated) continue;
    EXPECT_EQ(copied >= in_rows, asked++ == 0);
    EXPECT_GE(of_fresh, in_rows);
  }
  // A metric takes the GPU, and the rows come again.
  const std::vector<double> P(t.d * t.d, 0.01);
  std::vector<double> moments(t.d * t.d);
  engine->second_moments({P.data(), t.d, t.d}, 1, {moments.data(), t.d, t.d});
  copied = 0;
  Ensemble e = make_ensemble(3, t.d);
  engine->advance(e, 2);
  if (emulated) {
    EXPECT_GE(copied, in_rows);
  }
}

// Steps of design F, captured after the first: bits under cuts, of shapes whose products are
// aligned to one number alone.
TEST_F(CudaEngine, BlockedStepsAreCaptured) {
  const Table t(1400, 7);
  for (const Arithmetic arithmetic : {Arithmetic::float64, Arithmetic::float32}) {
    EngineOptions options = forced(Design::blocked);
    options.arithmetic = arithmetic;
    const auto engine = load(t, options), other = load(t, options);
    Ensemble whole = make_ensemble(3, t.d), cut = whole;
    engine->advance(whole, 6);
    for (const std::uint64_t steps : {1U, 2U, 3U}) other->advance(cut, steps);
    EXPECT_EQ(cut.theta, whole.theta);
    for (const double v : whole.theta) EXPECT_TRUE(std::isfinite(v));
  }
}

// A loop needs all of X on the GPU: chosen, it gives way where there is no room; asked for by
// name, it is refused.
TEST_F(CudaEngine, LittleRoomTakesAnotherWay) {
  const Table t(4 * 1024 + 5, 8);
  Ensemble begin = make_ensemble(3, t.d);
  const Shape shape{t.n, t.d, 3};
  ASSERT_EQ(choose_design(shape, Arithmetic::float64, device_->gpu()).design, Design::resident);
  const std::size_t room = room_for(t, 3, 1024, Arithmetic::float64, device_->gpu());
  const auto engine = load(t, limited(room));
  Ensemble e = begin;
  engine->advance(e, 2);
  EXPECT_THAT(engine->design(), AllOf(StartsWith("one-pass"), HasSubstr("X streamed in")));
  EngineOptions options = limited(room);
  options.design = Design::resident;
  EXPECT_THAT([&] { load(t, options)->advance(e, 2); },
              ThrowsMessage<BadInput>(HasSubstr("needs all rows on the card")));
}

// Long tables on the GPU are summed in chunks too, where one sum would be too long.
TEST_F(CudaEngine, ResidentRowsAreSummedInChunksWhereOneSumWouldBeTooLong) {
  const Shape shape{100'000'000, 4, 1};
  const auto source =
      make_source(Design::one_pass, {shape, Arithmetic::float64, 0, device_->gpu()});
  const Layout layout = plan_layout(shape, *source, std::size_t{60} << 30);
  EXPECT_FALSE(layout.streamed);
  EXPECT_GT(layout.chunks, 1u);
  EXPECT_LE(summation_depth(*source, layout), accumulation_depth(shape.rows));
  Layout whole = layout;
  whole.chunk_rows = shape.rows;
  whole.chunks = 1;
  EXPECT_GT(summation_depth(*source, whole), accumulation_depth(shape.rows));
}

TEST_F(CudaEngine, AGpuThatIsFullIsSaidWithTheNumbers) {
  const Table t(4096, 50);
  const auto engine = load(t, limited(100'000));
  Ensemble e = make_ensemble(40, t.d);
  const Ensemble before = e;
  EXPECT_THAT(
      [&] { engine->advance(e, 1); },
      ThrowsMessage<CudaError>(AllOf(HasSubstr("4096 rows x 50 features and 40 chains"),
                                     HasSubstr("MiB are free"), HasSubstr("`backend` cpu"))));
  EXPECT_EQ(e.theta, before.theta);
  EXPECT_EQ(e.step, before.step);
}

TEST_F(CudaEngine, NoChainsAndNoRowsAreRefusedOrNothing) {
  const Table t(10, 3);
  EXPECT_THAT(
      [&] {
        make_engine(device_, {t.x.data(), 0, 3}, {}, loss_named("logistic"), {});
      },
      ThrowsMessage<BadInput>(HasSubstr("no rows")));
  EXPECT_THROW(start({}, 3), BadInput);
  const auto engine = load(t);
  engine->loss_gradients({nullptr, 0, 3}, {nullptr, 0, 3});
  Ensemble none;
  none.features = 3;
  engine->advance(none, 5);
}

// What the GPU has no kernels of, `auto` takes the processor for, says so once and stays there;
// the GPU asked for by name refuses.
TEST_F(CudaEngine, AutoTakesTheProcessorForWhatHasNoKernels) {
  const Table t(50, 3);
  const std::vector<float> offsets(t.n, -0.5F);
  Rows exposed(t.view());
  exposed.offset = offsets.data();
  struct Case {
    const char* loss;
    Rows rows;
    const char* why;
  };
  for (const Case& of : {Case{"logistic", t.view(), ""}, Case{"huber", t.view(), ""},
                         Case{"squared", t.view(), "has no kernels of the loss squared"},
                         Case{"logistic(0.4,1)", t.view(), "has no kernels of the loss logistic("},
                         Case{"poisson", exposed, "has no kernels of rows with an exposure"}}) {
    SCOPED_TRACE(of.loss);
    const Loss& loss = loss_named(of.loss);
    std::vector<float> y = t.y;
    if (loss.label() == LabelKind::count) std::ranges::fill(y, 0.5F);
    std::vector<std::string> notes;
    const auto automatic = make_automatic_backend(
        make_cuda_backend(device_, {}), why_no_kernels, [] { return make_backend("cpu"); },
        [&](const Message& line) { notes.push_back(line.text()); });
    EXPECT_EQ(automatic->name(), "cuda");
    const auto gpu = make_cuda_backend(device_, {});
    if (*of.why == 0) {
      EXPECT_TRUE(why_no_kernels(loss, false).empty());
      static_cast<void>(automatic->load(of.rows, y, loss));
      EXPECT_EQ(automatic->name(), "cuda");
      EXPECT_TRUE(notes.empty());
      continue;
    }
    EXPECT_THAT([&] { gpu->load(of.rows, y, loss); }, ThrowsMessage<BadInput>(HasSubstr(of.why)));
    const auto cpu = make_backend("cpu");
    std::vector<double> theta(t.d, 0.2), out(t.d, NAN), expected(t.d, NAN);
    for (int again = 0; again < 2; ++again) {
      automatic->load(of.rows, y, loss)
          ->loss_gradients({theta.data(), 1, t.d}, {out.data(), 1, t.d});
      cpu->load(of.rows, y, loss)
          ->loss_gradients({theta.data(), 1, t.d}, {expected.data(), 1, t.d});
      EXPECT_EQ(out, expected);
      EXPECT_EQ(automatic->name(), "cpu");
      EXPECT_EQ(automatic->arithmetic(), cpu->arithmetic());
    }
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_THAT(notes[0], AllOf(StartsWith("`backend` auto: cuda has no kernels"),
                                HasSubstr(of.why), HasSubstr("this runs on cpu")));
    static_cast<void>(automatic->load(t.view(), t.y, loss_named("logistic")));
    EXPECT_EQ(automatic->name(), "cpu") << "one run, one backend";
  }
}

// d beyond a design's limit: another takes over; asked for by name: refused with the reason.
TEST_F(CudaEngine, AnotherDesignTakesOverBeyondALimit) {
  const Table wide(40, kernels::one_pass_most_features + 1, 3);
  const auto engine = load(wide);
  Ensemble e = make_ensemble(1, wide.d);
  engine->advance(e, 1);
  EXPECT_THAT(engine->design(), ::testing::Not(StartsWith("one-pass")));
  const auto by_name = load(wide, forced(Design::one_pass));
  EXPECT_THAT([&] { by_name->advance(e, 1); },
              ThrowsMessage<BadInput>(HasSubstr("one-pass takes at most 256 features")));
}

// Normals of the library: each coordinate and each step gets its own, scaled by sqrt(2h), and a run
// cut in two goes on where it was.
TEST_F(CudaEngine, LibraryNoiseMovesChainsAndIsNotCertifiable) {
  const Table t(20, 5);
  const std::uint64_t steps = support::repeats(1000U, 100U);
  std::vector<ChainSpec> specs(4, {.key = StreamKey::from_seed(9)});
  for (ChainSpec& spec : specs) {
    spec.inverse_temperature = 0;
    spec.prior_precision = 0;
    spec.step_size = 0.5;  // theta is the sum of the normals
    spec.iterations = steps;
  }
  const auto engine = load(t, throughput(NoiseSource::curand));
  EXPECT_FALSE(engine->certifiable());
  EXPECT_TRUE(load(t)->certifiable());
  EXPECT_FALSE(load(t, throughput(NoiseSource::streams))->certifiable());
  EXPECT_FALSE(load(t, library_noise())->certifiable());
  Ensemble e = start(specs, t.d);
  engine->advance(e, 1);
  for (std::size_t a = 0; a < e.theta.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) ASSERT_NE(e.theta[a], e.theta[b]);
  }
  const std::vector<double> after_one = e.theta;
  engine->advance(e, 1);
  for (std::size_t a = 0; a < e.theta.size(); ++a) {
    ASSERT_NE(e.theta[a] - after_one[a], after_one[a]);
  }
  // The k = 20 (steps - 2) normals of the steps after them: their mean square is within 1 +- t, t =
  // 6 sqrt(2 / k), but with probability 2 exp(-k/2 (t - log(1 + t))) (chi-square, Chernoff): 2.4e-7
  // of 98 steps, less of more. And |sum| <= 7 sqrt(steps) but with 20 * 2.6e-12.
  double square = 0;
  for (std::uint64_t k = 2; k < steps; ++k) {
    const std::vector<double> before = e.theta;
    engine->advance(e, 1);
    for (std::size_t a = 0; a < e.theta.size(); ++a) square += std::pow(e.theta[a] - before[a], 2);
  }
  const double drawn = 20 * static_cast<double>(steps - 2);
  EXPECT_LE(std::fabs(square / drawn - 1), 6 * std::sqrt(2 / drawn)) << square / drawn;
  for (const double v : e.theta) {
    ASSERT_TRUE(std::fabs(v) <= 7 * std::sqrt(static_cast<double>(steps)));
  }
  Ensemble cut = start(specs, t.d), whole = start(specs, t.d);
  load(t, throughput(NoiseSource::curand))->advance(whole, 6);
  engine->advance(cut, 2);
  engine->advance(cut, 4);
  EXPECT_EQ(cut.theta, whole.theta);
}

// Whatever launch faults, the caller's chains are what they were, and the GPU's error comes out.
TEST(CudaEngineFault, LeavesTheEnsembleAsItWas) {
  if (!emulated) GTEST_SKIP() << "faults are injected into the emulated card only";
  const struct {
    Design design;
    Arithmetic arithmetic;
    std::uint64_t launches;  // of an advance of two steps
  } designs[] = {{Design::one_pass, Arithmetic::float64, 6},
                 {Design::blocked, Arithmetic::float64, 8},
                 {Design::tiled, Arithmetic::float32, 6},
                 {Design::warp_group, Arithmetic::bfloat16, 11},
                 {Design::warp_group, Arithmetic::float32, 11},
                 {Design::resident, Arithmetic::float64, 1},
                 {Design::cooperative, Arithmetic::float64, 1},
                 {Design::double_matrix, Arithmetic::float64, 6}};
  const Table t(600, 4);
  for (const auto& [design, arithmetic, launches] : designs) {
    const std::size_t chains = design == Design::warp_group ? 64 : 2;
    EngineOptions options = forced(design);
    options.arithmetic = arithmetic;
    for (std::uint64_t k = 1; k <= launches; ++k) {
      std::shared_ptr<Device> device = support::make_emulated_device({.fault_at_launch = k});
      const auto engine = make_engine(device, t.view(), t.y, loss_named("logistic"), options);
      Ensemble e = make_ensemble(chains, t.d);
      const Ensemble before = e;
      try {
        engine->advance(e, 2);
        ADD_FAILURE() << to_string(design) << " did not fault at launch " << k;
      } catch (const CudaError& error) {
        EXPECT_THAT(error.what(), HasSubstr("injected fault"));
      }
      EXPECT_EQ(e.theta, before.theta) << to_string(design) << k;
      EXPECT_EQ(e.step, before.step) << to_string(design) << k;
      EXPECT_THROW(engine->advance(e, 1), CudaError);  // the GPU is gone
    }
  }
}

// Layouts for GPUs and tables that no test can hold: each plan fits, keeps the promised map error,
// and streams only if it must.
TEST(CudaLayout, FitsTheGpuAndKeepsThePromise) {
  constexpr std::size_t gib = std::size_t{1} << 30;
  for (const std::size_t n :
       {1ul, 1000ul, 32561ul, 1'000'000ul, 10'000'000ul, 1'000'000'000ul, 4'000'000'000ul}) {
    for (const std::size_t d : {1ul, 20ul, 108ul, 256ul, 1000ul}) {
      for (const std::size_t chains : {1ul, 8ul, 64ul, 1024ul}) {
        const Gpu gpu{.name = "",
                      .capability = 90,
                      .multiprocessors = 132,
                      .shared_bytes = 227 << 10,
                      .l2_bytes = 50 << 20,
                      .total_bytes = 80 * gib,
                      .free_bytes = 79 * gib};
        const Shape shape{n, d, chains};
        const Choice choice = choose_design(shape, Arithmetic::float64, gpu);
        const auto source = make_source(gradient_design(choice.design, shape),
                                        {shape, Arithmetic::float64, 0, gpu});
        const Layout layout = plan_layout(shape, *source, gpu.free_bytes);
        const std::size_t bytes = (layout.streamed ? 2 : 1) * layout.row_bytes + layout.work_bytes;
        EXPECT_LE(bytes, gpu.free_bytes) << n << " " << d << " " << chains;
        EXPECT_GE(layout.chunks * layout.chunk_rows, n);
        if (layout.chunks > 1) {
          EXPECT_EQ(layout.chunk_rows % row_block, 0u);
        }
        EXPECT_LE(summation_depth(*source, layout), accumulation_depth(n))
            << n << " " << d << " " << chains;
        if (n * d * 4 < 60 * gib) {
          EXPECT_FALSE(layout.streamed) << n << " " << d << " " << chains;
        }
        if (n * d * 4 > 79 * gib) {
          EXPECT_TRUE(layout.streamed) << n << " " << d << " " << chains;
        }
      }
    }
  }
}

}  // namespace engine_test
}  // namespace gibbsite::cuda
