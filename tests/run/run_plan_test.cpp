#include "run/run_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "core/key_access.hpp"
#include "gibbsite/chains/potential.hpp"
#include "gibbsite/core/ball.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/mechanism/map_error.hpp"
#include "gibbsite/model/model.hpp"
#include "run/entering.hpp"
#include "support/backend.hpp"
#include "support/temp_dir.hpp"

namespace gibbsite {
namespace run_plan_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::TempDir;
using ::testing::ThrowsMessage;

struct Ran {
  LinearModel model;
  NoiseKind noise;
};
// As `fit` runs it, its draws not rounded.
Ran run_plan(const Model& model, const Dataset& data, const Plan& plan, Backend& backend, Key&& key,
             const FitOptions& options = {}) {
  StreamKey stream = key_of_first_rank(std::move(key), *one_process());
  require_planned(model, data, plan, options);
  LinearModel made = gibbsite::run_plan(model, data, plan, backend, stream, options);
  return {std::move(made), stream.kind};
}

constexpr std::size_t n = 300, d = 4;  // three numbers and an intercept

Dataset make_data() {
  Dataset data;
  data.schema.label_name = "y";
  data.schema.label = TwoClasses{.positive = "1"};
  data.schema.intercept = true;
  for (const char* name : {"a", "b", "c"}) {
    Column column;
    column.name = name;
    column.type = ColumnType::number;
    data.schema.columns.push_back(column);
  }
  std::mt19937 gen(1);
  std::uniform_real_distribution<float> uniform(-0.5f, 0.5f);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j + 1 < d; ++j) data.dense().push_back(uniform(gen));
    data.dense().push_back(1.0f);
    data.y.push_back(data.dense()[i * d] + uniform(gen) > 0 ? 1.0f : -1.0f);
  }
  return data;
}

// The stream of a key that could be certified.
StreamKey fresh() { return KeyAccess::take(Key::from_os()); }

// A schedule by hand: it need not meet a budget to be run.
Plan make_plan(const Model& model, const Dataset& data, std::uint64_t draws, double iterations) {
  Plan plan;
  plan.problem = model.constants(data.schema, n);
  plan.budget.draws = draws;
  Candidate candidate;
  candidate.mechanism = Path{Calibration::gdp, 0.3, 0.8, 0.02, iterations};
  candidate.feasible = true;
  plan.candidates = {candidate};
  return plan;
}

Path& path_of(Plan& plan) { return std::get<Path>(plan.candidates[0].mechanism); }

class Sample : public ::testing::TestWithParam<const char*> {
 protected:
  Ran run(const StreamKey& key, const FitOptions& options = {}) {
    return run_plan(model, data, plan, *backend, KeyAccess::make(key), options);
  }
  // Interrupts after `polls` calls of progress; returns what the error says.
  std::string interrupt(const StreamKey& key, int polls, FitOptions options = {}) {
    std::atomic<bool> stop = false;
    options.stop = &stop;
    options.progress = [&](std::uint64_t, std::uint64_t) { stop = --polls <= 0; };
    try {
      run(key, options);
    } catch (const Interrupted& e) {
      return e.what();
    }
    return "not interrupted";
  }
  std::string error(const FitOptions& options = {},
                    const StreamKey& key = StreamKey::from_seed(1)) {
    try {
      run(key, options);
    } catch (const BadInput& e) {
      return e.what();
    }
    return "no error";
  }

  TempDir folder;
  Model model = logistic_regression({.center = {0.5, 0, -0.5, 0}});
  Dataset data = make_data();
  Plan plan = make_plan(model, data, 3, 200);
  std::unique_ptr<Backend> backend = support::make_test_backend(GetParam());
  FitOptions kept{.checkpoint = folder.path("run.ckpt"), .progress = {}};
};
INSTANTIATE_TEST_SUITE_P(Backends, Sample, ::testing::Values("reference", "cpu", "emulated"),
                         [](const auto& p) { return std::string(p.param); });

// The planned chains in their ball, interrupted or not; what is released is in it, on the grid.
TEST_P(Sample, KeepsThePathInItsBall) {
  model = logistic_regression({.center = {0.1, 0, -0.1, 0}});
  plan = make_plan(model, data, 3, 200);
  path_of(plan).ball = 0.3;
  const StreamKey key = StreamKey::from_seed(5);
  const auto whole = run(key);
  std::vector<ChainSpec> specs;
  for (std::uint32_t c = 0; c < 3; ++c) {
    specs.push_back({0.3, 0.8, 0.02, 200, model.center, key, c});
  }
  Ensemble expected = start(specs, d);
  advance_in_ball(*backend->load(data.view(), data.y, *model.loss), expected, 0.3, 200);
  const double grid =
      analyze(plan.candidate().mechanism, plan.problem, plan.budget.neighbors(), 3).release_grid;
  const LinearModel made = on_release_grid(whole.model, plan.candidate().mechanism, grid);
  int outside = 0;
  for (std::size_t c = 0; c < 3; ++c) {
    const std::vector<double> exact(expected.chain(c).begin(), expected.chain(c).end());
    EXPECT_EQ(whole.model.draws[c], exact);  // the last step is projected when it is released
    outside += !in_ball(exact, 0.3);
    std::vector<double> rounded = exact;
    for (double& v : rounded) v = std::nearbyint(v / grid) * grid;
    project_on_ball(rounded, 0.3, grid);
    EXPECT_EQ(made.draws[c], rounded);
    EXPECT_TRUE(in_ball(made.draws[c], 0.3));
  }
  EXPECT_GT(outside, 0);
  EXPECT_NE(interrupt(key, 2, kept), "not interrupted");
  path_of(plan).ball = 0.31;
  EXPECT_THAT(error(kept, key), HasSubstr("the data or the plan changed"));
  path_of(plan).ball = 0;
  EXPECT_THAT(error(kept, key), HasSubstr("the data or the plan changed"));
  path_of(plan).ball = 0.3;
  EXPECT_EQ(run(key, kept).model.draws, whole.model.draws);
}

TEST_P(Sample, DrawsAreThePlannedChainsOnStreams012) {
  const StreamKey key = fresh();
  const auto result = run(key);
  std::vector<ChainSpec> specs;
  for (std::uint32_t c = 0; c < 3; ++c) {
    specs.push_back({0.3, 0.8, 0.02, 200, model.center, key, c});
  }
  Ensemble expected = start(specs, d);
  backend->load(data.view(), data.y, *model.loss)->advance(expected, 200);
  ASSERT_EQ(result.model.draws.size(), 3u);
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_EQ(result.model.draws[c],
              std::vector<double>(expected.chain(c).begin(), expected.chain(c).end()));
  }
  EXPECT_NE(result.model.draws[0], result.model.draws[1]);
  EXPECT_EQ(result.model.loss, "logistic");
  EXPECT_EQ(result.model.schema.label_name, "y");
  EXPECT_EQ(result.noise, NoiseKind::chacha20);
  EXPECT_EQ(run(StreamKey::from_seed(1)).noise, NoiseKind::philox);
}

TEST_P(Sample, ProgressRisesToTheTotal) {
  std::uint64_t last = 0;
  FitOptions options;
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    EXPECT_GT(done, last);
    EXPECT_EQ(total, 600u);
    last = done;
  };
  run(StreamKey::from_seed(1), options);
  EXPECT_EQ(last, 600u);
}

TEST_P(Sample, InterruptedAndResumedGivesTheSameBits) {
  for (const bool certified : {true, false}) {
    const StreamKey key = certified ? fresh() : StreamKey::from_seed(7);
    const auto whole = run(key);
    EXPECT_THAT(interrupt(key, 1, kept), AllOf(StartsWith("interrupted after 3 of 600 steps; "),
                                               HasSubstr(kept.checkpoint)));
    EXPECT_EQ(std::filesystem::status(kept.checkpoint).permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    // A certified run that goes on gets a fresh key from its caller and must not use it.
    const StreamKey later = certified ? fresh() : key;
    EXPECT_THAT(interrupt(later, 2, kept), StartsWith("interrupted after "));
    const auto resumed = run(later, kept);
    EXPECT_EQ(resumed.model.draws, whole.model.draws);
    EXPECT_EQ(resumed.noise, key.kind);
    // The last state stays until the model is written: the same draws again, without a step.
    EXPECT_EQ(read_checkpoint(kept.checkpoint).step, std::vector<std::uint64_t>(3, 200));
    FitOptions done = kept;
    done.progress = [](std::uint64_t, std::uint64_t) { FAIL() << "a step was made"; };
    EXPECT_EQ(run(later, done).model.draws, whole.model.draws);
    discard_checkpoint(kept.checkpoint);
    EXPECT_TRUE(folder.names().empty());
  }
}

// Every kind of chain: its last state gives the draws again, without a step.
TEST_P(Sample, WholeRunIsReadBackFromItsCheckpoint) {
  const Budget budget{.epsilon = 1, .delta = 0.01, .draws = 2};
  model = logistic_regression({.prior_precision = 10.0, .center = {}});
  for (const std::string mechanism : {"path", "averaged", "rejection", "proximal", "output",
                                      "output-pure", "objective", "objective-pure"}) {
    const bool gap = mechanism == "rejection" || mechanism == "proximal";
    if (mechanism == "averaged") {  // out of reach of this budget: by hand
      plan = make_plan(model, data, 2, 50);
      plan.candidates[0].mechanism = Averaged{Calibration::gdp, 0.3, 10, 1e-6, 0.02, 50, 0};
    } else {
      PlanOptions plan_options{.mechanism = mechanism};
      if (gap) plan_options.tv = 1e-3;
      plan = gibbsite::plan(model.constants(data.schema, n), budget, plan_options);
    }
    ASSERT_TRUE(plan.candidate().feasible) << plan.candidate().why;
    const StreamKey key = StreamKey::from_seed(5);
    const auto whole = run(key);
    EXPECT_EQ(run(key, kept).model.draws, whole.model.draws);
    FitOptions done = kept;
    done.progress = [](std::uint64_t, std::uint64_t) { FAIL() << "a step was made"; };
    EXPECT_EQ(run(key, done).model.draws, whole.model.draws) << mechanism;
    discard_checkpoint(kept.checkpoint);
  }
}

TEST_P(Sample, UsesItsKeyUp) {
  Key key = Key::from_os();
  const auto first = run_plan(model, data, plan, *backend, std::move(key));
  EXPECT_EQ(first.noise, NoiseKind::chacha20);
  const auto again = [&] { run_plan(model, data, plan, *backend, std::move(key)); };
  EXPECT_THAT(again, ThrowsMessage<BadInput>(HasSubstr("a run has used it up")));
  // Also by a run that came to nothing.
  Key other = Key::from_os();
  data.y.clear();
  EXPECT_THROW(run_plan(model, data, plan, *backend, std::move(other)), BadInput);
  EXPECT_THAT([&] { static_cast<void>(other.kind()); },
              ThrowsMessage<BadInput>(HasSubstr("used it up")));
}

// A killed process leaves its last periodic checkpoint.
TEST_P(Sample, PeriodicCheckpointCanBeResumed) {
  const StreamKey key = fresh();
  const std::string copy = folder.path("copy");
  FitOptions options = kept;
  options.checkpoint_every_seconds = 0;
  int calls = 0;
  options.progress = [&](std::uint64_t, std::uint64_t) {
    if (++calls == 2) std::filesystem::copy_file(kept.checkpoint, copy);
  };
  const auto whole = run(key, options);
  const auto step = read_checkpoint(copy).step;
  EXPECT_GT(step[0], 0u);
  EXPECT_LT(step[0], 200u);
  std::filesystem::rename(copy, kept.checkpoint);
  EXPECT_EQ(run(fresh(), kept).model.draws, whole.model.draws);
}

// Each of T steps differs by at most 2e (docs/theory/map-error.md) and the steps do not expand
// distances.
TEST_P(Sample, ResumesOnAnotherBackend) {
  const StreamKey key = fresh();
  const auto whole = run(key);
  interrupt(key, 2, kept);
  backend = make_backend(std::string(GetParam()) == "cpu" ? "reference" : "cpu");
  const auto resumed = run(fresh(), kept);
  const Path& c = path_of(plan);
  const double bound =
      2 * c.iterations *
      map_bounds_up(plan.problem, {c.beta, c.prior_precision, c.step_size, c.iterations}).map_error;
  EXPECT_LT(bound, 1e-6);
  for (std::size_t k = 0; k < 3; ++k) {
    for (std::size_t j = 0; j < d; ++j) {
      EXPECT_TRUE(std::fabs(resumed.model.draws[k][j] - whole.model.draws[k][j]) <= bound);
    }
  }
}

TEST_P(Sample, InterruptedWithoutCheckpointKeepsNothing) {
  EXPECT_THAT(interrupt(fresh(), 1), HasSubstr("nothing was kept; give `checkpoint`"));
  EXPECT_TRUE(folder.names().empty());
  std::atomic<bool> stop = true;  // before the first step
  FitOptions options;
  options.stop = &stop;
  EXPECT_THROW(run(fresh(), options), Interrupted);
}

TEST_P(Sample, CheckpointOfAnotherRunIsRefused) {
  const StreamKey key = fresh();
  interrupt(key, 1, kept);
  const auto refused = [&] { return error(kept, fresh()); };
  const auto other_run =
      AllOf(StartsWith(kept.checkpoint), HasSubstr("the data or the plan changed"));
  data.dense()[5] = std::nextafter(data.dense()[5], 0.0f);
  EXPECT_THAT(refused(), other_run) << "one bit of the data";
  data = make_data();
  data.y[9] = -data.y[9];
  EXPECT_THAT(refused(), other_run) << "one label";
  data = make_data();
  std::get<TwoClasses>(data.schema.label).positive = "2";
  EXPECT_THAT(refused(), other_run) << "schema";
  data = make_data();
  const Plan planned = plan;
  path_of(plan).beta = std::nextafter(path_of(plan).beta, 0.0);
  EXPECT_THAT(refused(), other_run) << "beta";
  plan = planned;
  path_of(plan).step_size *= 0.5;
  EXPECT_THAT(refused(), other_run) << "step size";
  plan = planned;
  path_of(plan).iterations = 201;
  EXPECT_THAT(refused(), other_run) << "iterations";
  plan = planned;
  plan.budget.draws = 2;
  EXPECT_THAT(refused(), other_run) << "draws";
  plan = planned;
  std::swap(model.center[0], model.center[1]);
  EXPECT_THAT(refused(), other_run) << "center";
  std::swap(model.center[0], model.center[1]);
  EXPECT_THAT(error(kept, StreamKey::from_seed(1)), HasSubstr("another `seed`"));
  // And the right one goes on, whatever a plan is told of the classes.
  std::get<TwoClasses>(data.schema.label).positive_share = PositiveShare{0.1, 0.2};
  EXPECT_EQ(refused(), "no error");
  discard_checkpoint(kept.checkpoint);

  interrupt(StreamKey::from_seed(4), 1, kept);
  EXPECT_THAT(error(kept, StreamKey::from_seed(5)), HasSubstr("another `seed`"));
  EXPECT_THAT(error(kept, fresh()), HasSubstr("another `seed`"));
}

TEST_P(Sample, CheckpointThatCannotBeWrittenIsFoundBeforeTheWork) {
  kept.checkpoint = folder.path("no/folder/run.ckpt");
  kept.progress = [](std::uint64_t, std::uint64_t) { FAIL() << "a step was made"; };
  EXPECT_THAT(error(kept), AllOf(StartsWith(kept.checkpoint), HasSubstr("cannot write")));
  kept.checkpoint = folder.path();
  EXPECT_THAT(error(kept), AllOf(StartsWith(kept.checkpoint), HasSubstr("cannot read")));
  EXPECT_TRUE(folder.names().empty());
}

TEST_P(Sample, DataMustHaveThePlannedShape) {
  const Plan planned = plan;
  const auto refused = [&](auto change, const char* what) {
    change();
    EXPECT_THAT(error(), HasSubstr(what));
    plan = planned;
    data = make_data();
    model = logistic_regression({.center = {0.5, 0, -0.5, 0}});
  };
  refused([&] { plan.problem.rows = n + 1; }, "rows: 300 here, 301 in the plan");
  refused([&] { plan.problem.features = 5; }, "features");
  refused([&] { plan.problem.row_norm = 2; }, "row_norm");
  refused([&] { plan.problem.intercept = false; }, "intercept");
  refused([&] { plan.problem.loss = "other"; }, "loss");
  refused([&] { plan.problem.center_norm = 0; }, "center_norm");
  refused([&] { plan.problem.traces.most = 0.5; }, "traces.most");
  refused([&] { plan.problem.traces.majorant = 0.5; }, "traces.majorant");
  refused([&] { plan.problem.self_concordance = 0; }, "self_concordance");
  refused([&] { plan.problem.drop_from_zero = 0; }, "drop_from_zero");
  refused([&] { model.prior_precision = 0.7; }, "prior_precision");
  refused([&] { data.y.clear(); }, "no labels");
  refused([&] { data.y[3] = 0.5f; }, "row 4 has a label");
  refused([&] { data.dense()[2 * d] = 1.0001f; }, "row 3 is longer than row_norm");
  refused([&] { data.dense()[2 * d + 3] = 0.9f; },
          "row 3 is longer than row_norm or lacks the intercept");
  refused([&] { data.dense()[0] = std::nanf(""); }, "row 1 is longer");
  // One feature twice: its parts are short, their sum need not be.
  refused(
      [&] {
        SparseTable entries;
        for (std::size_t i = 0; i < n; ++i) {
          entries.feature.insert(entries.feature.end(), {0, 0, d - 1});
          entries.value.insert(entries.value.end(), {0.7f, 0.7f, 1.0f});
          entries.begin.push_back(entries.value.size());
        }
        data.storage = std::move(entries);
      },
      "entries of row 1 are not in order");
  // A public cap under add-remove: fewer rows are fine, more are not.
  plan.candidates[0].guarantee.who.adjacency = Adjacency::add_remove;
  plan.problem.rows = n + 50;
  EXPECT_EQ(error(), "no error");
  plan.problem.rows = n - 1;
  EXPECT_THAT(error(), HasSubstr("public cap"));
}

// Nothing but double gradients and the chains' own noise may carry a certificate.
TEST(SampleGuard, ThroughputArithmeticAndNoiseAreRefused) {
  const Model model = logistic_regression({.center = {0.5, 0, -0.5, 0}});
  const Dataset data = make_data();
  const Plan plan = make_plan(model, data, 1, 10);
  const gibbsite::testing::TempDir folder;
  const auto expect_refused = [&](Backend& backend) {
    FitOptions keep;
    keep.checkpoint = folder.path("checkpoint");
    EXPECT_THAT([&] { run_plan(model, data, plan, backend, Key::from_os(), keep); },
                ThrowsMessage<BadInput>(HasSubstr("no certificate covers")));
    EXPECT_TRUE(folder.names().empty()) << "the noise key was left behind";
  };
  for (const BackendOptions& options : {BackendOptions{.arithmetic = Arithmetic::float32},
                                        BackendOptions{.arithmetic = Arithmetic::bfloat16},
                                        BackendOptions{.noise = NoiseSource::curand}}) {
    const auto backend = support::make_test_backend("emulated", options);
    expect_refused(*backend);
  }
  expect_refused(*make_backend("cpu", {.arithmetic = Arithmetic::float32}));
}

TEST_P(Sample, PlanOutOfReachIsNotRun) {
  plan.candidates[0].feasible = false;
  plan.candidates[0].why = "takes 10^20 years";
  EXPECT_THAT([&] { run(fresh()); }, ThrowsMessage<Infeasible>(HasSubstr("10^20 years")));
}

// One step so short that the draw is its start: theta_hat + xi / sqrt(M), a start for each draw.
TEST_P(Sample, DalalyanStartsAroundTheMinimizer) {
  Dalalyan c{Calibration::gdp, 0.3, 0.8, 1e-6, 1e-40, 1, 0};
  plan.candidates[0].mechanism = c;
  const double smoothness = plan.problem.smoothness_up(c.beta, c.prior_precision);
  const StreamKey key = fresh();
  const auto result = run(key);
  const Potential u{make_backend("reference")->load(data.view(), data.y, *model.loss), c.beta,
                    c.prior_precision, model.center};
  const Minimum minimum = minimize(u, 1e-12);
  for (std::uint32_t k = 0; k < 3; ++k) {
    std::vector<double> xi(d);
    fill_normals(key, k, start_step, xi);
    for (std::size_t j = 0; j < d; ++j) {
      // ||theta_hat - theta*|| <= G/m for both.
      EXPECT_TRUE(std::fabs(result.model.draws[k][j] - minimum.theta[j] -
                            xi[j] / std::sqrt(smoothness)) <= 2e-6 / c.prior_precision);
    }
  }
  c.start_gradient_norm = 1e-18;  // below what double can show
  plan.candidates[0].mechanism = c;
  EXPECT_THAT([&] { run(key); }, ThrowsMessage<Infeasible>(HasSubstr("public tolerance")));
}

}  // namespace run_plan_test
}  // namespace gibbsite
