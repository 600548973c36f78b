// Whole runs of several classes: every mechanism that holds, from fit to verify; what neighbors do
// to them; metrics; checkpoints; labels that are none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <atomic>
#include <cmath>

#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/run/fit.hpp"
#include "run/answers.hpp"
#include "support/repeats.hpp"
#include "tests/support/backend.hpp"
#include "tests/support/people.hpp"
#include "tests/support/temp_dir.hpp"
#include "tests/support/whitened_run.hpp"

namespace gibbsite {
namespace softmax_test {

using support::class_people;
using ::testing::HasSubstr;
using testing::TempDir;

constexpr const char* const backend_name = "cpu";

struct Run3 {
  const char* mechanism;
  Budget budget;
  double tv = 0;
  std::optional<double> prior{};
};
// The mechanisms and budgets that are run on tables of at most 60 rows.
const std::vector<Run3>& runs() {
  static const std::vector<Run3> all{
      {"path", {2, 1e-4}},
      {"metric-path", {2, 1e-4}},
      {"output", {2, 1e-4}},
      {"output-pure", {2, 1e-20}},
      {"objective", {2, 1e-4}},
      {"objective-pure", {2, 1e-20}},
      {"proximal", {2, 0.05}, 1e-3, 2.0},
      {"rejection", {2, 0.05}, 1e-3, 20.0},
      {"metric-proximal", {2, 0.05}, 1e-3},
      {"averaged", {0.3, 0.49}, 0.15, 1e4},
      {"dalalyan", {0.3, 0.49}, 0.15, 1e4},
  };
  return all;
}
Model model_of(const Dataset& data, const Run3& run) {
  return glm(full_loss_name("softmax", class_names(data.schema.label).size()),
             {.prior_precision = run.prior});
}
Plan plan_of(const Dataset& data, const Run3& run, std::uint64_t draws = 1) {
  PlanOptions plan_options{.mechanism = run.mechanism};
  if (run.tv > 0) plan_options.tv = run.tv;
  Budget budget = run.budget;
  budget.draws = draws;
  return plan(model_of(data, run).constants(data.schema, data.rows()), budget, plan_options);
}

TEST(SoftmaxRun, EveryMechanismEndsInAModelThatVerifies) {
  const auto backend = support::make_test_backend(backend_name);
  for (const std::size_t classes : {3U, 5U}) {
    const Dataset data = class_people(60, 2, classes, 1);
    for (const Run3& run : runs()) {
      const Plan made = plan_of(data, run, 2);
      ASSERT_TRUE(made.candidate().feasible) << run.mechanism << ": " << made.candidate().why;
      const Release release = fit(model_of(data, run), data, made, *backend, Key::from_os());
      EXPECT_EQ(release.model().draws.size(), 2U);
      for (const auto& draw : release.model().draws) EXPECT_EQ(draw.size(), classes * 3);
      const Verification found = verify(release);
      EXPECT_TRUE(found.valid) << run.mechanism << ": " << ::testing::PrintToString(found.failures);
    }
  }
}

// Rows of one class, equal rows, rows of zeros, one row, one column.
TEST(SoftmaxRun, DegenerateTablesEndInAModel) {
  const auto backend = support::make_test_backend(backend_name);
  std::vector<Dataset> tables;
  Dataset data = class_people(20, 2, 3, 2);
  std::ranges::fill(data.y, 2.0F);
  tables.push_back(data);
  for (std::size_t i = 0; i < 20; ++i)
    std::copy_n(data.dense().begin(), 3, data.dense().begin() + static_cast<std::ptrdiff_t>(3 * i));
  tables.push_back(data);
  data = class_people(20, 2, 3, 2);
  for (std::size_t i = 0; i < 20; ++i) data.dense()[3 * i] = data.dense()[3 * i + 1] = 0;
  tables.push_back(data);
  tables.push_back(class_people(1, 2, 3, 2));
  data = class_people(20, 1, 3, 2);
  data.schema.intercept = false;
  for (std::size_t i = 0; i < 20; ++i) data.dense()[i] = data.dense()[2 * i];
  data.dense().resize(20);
  tables.push_back(data);
  for (const Dataset& table : tables) {
    for (const Run3& run : runs()) {
      const Plan made = plan_of(table, run);
      if (!made.candidate().feasible) continue;
      const Release release = fit(model_of(table, run), table, made, *backend, Key::from_seed(1));
      for (const double v : release.model().draws[0])
        EXPECT_TRUE(std::isfinite(v)) << run.mechanism;
    }
    EXPECT_TRUE(plan_of(table, runs()[0]).candidate().feasible);
    EXPECT_TRUE(plan_of(table, runs()[2]).candidate().feasible);
  }
}

// A row's label is the place of a class.
TEST(SoftmaxRun, RowsOfNoClassAreRefused) {
  const auto backend = support::make_test_backend(backend_name);
  for (const float label : {3.0F, -1.0F, 0.5F, 1e9F, std::nanf("")}) {
    Dataset data = class_people(20, 2, 3, 3);
    data.y[4] = label;
    try {
      static_cast<void>(fit(model_of(data, runs()[0]), data, plan_of(data, runs()[0]), *backend,
                            Key::from_seed(1)));
      ADD_FAILURE() << label;
    } catch (const BadInput& error) {
      EXPECT_THAT(error.what(), HasSubstr("row 5 has a label that is not a class's place"));
    }
  }
  // A plan of another number of classes, and one that says so of itself.
  const Dataset data = class_people(20, 2, 3, 3);
  const Plan of_four = plan_of(class_people(20, 2, 4, 3), runs()[0]);
  EXPECT_THROW(fit(model_of(data, runs()[0]), data, of_four, *backend, Key::from_seed(1)),
               BadInput);
  Plan edited = plan_of(data, runs()[0]);
  edited.problem.outputs = 1;
  EXPECT_THROW(fit(model_of(data, runs()[0]), data, edited, *backend, Key::from_seed(1)), BadInput);
}

WhitenedRule::Metric metric_of(const Release& release, const Plan& made, const Schema& schema) {
  const auto& s = std::get<MetricPath>(made.candidate().mechanism);
  WhitenedRule rule(moments_only(s), made.problem, made.budget.neighbors(),
                    starting_metric(schema));
  const NoisyAnswer& answer = release.model().answers.at(0);
  rule.answer_moments(whole_matrix(answer.values, made.problem.row_features()), answer.deviation);
  return rule.metric() / rule.clip();
}

// theta_k = P omega_k of every class, omega on its grid; the answer is of columns.
TEST(SoftmaxRun, ClassesShareOneMetric) {
  const Dataset data = class_people(400, 3, 3, 4);
  const Plan made = plan_of(data, runs()[1], 2);
  const auto backend = support::make_test_backend(backend_name);
  const Release release = fit(model_of(data, runs()[1]), data, made, *backend, Key::from_seed(2),
                              {.release_answers = true});
  EXPECT_EQ(release.model().answers.at(0).values.size(), 10U);
  const auto& s = std::get<MetricPath>(made.candidate().mechanism);
  const double grid = analyze(s.chain, in_metric(made.problem), {}, 2).release_grid;
  const Eigen::MatrixXd inverse = Eigen::MatrixXd(metric_of(release, made, data.schema)).inverse();
  ASSERT_EQ(inverse.rows(), 4);
  for (const auto& draw : release.model().draws) {
    ASSERT_EQ(draw.size(), 12U);
    double most = 0;
    for (std::size_t at = 0; at < draw.size(); at += 4) {
      const Eigen::VectorXd omega = inverse * Eigen::Map<const Eigen::VectorXd>(&draw[at], 4);
      for (const double v : omega) EXPECT_NEAR(v / grid, std::nearbyint(v / grid), 1e-2);
      most = std::max(most, omega.norm());
    }
    EXPECT_GT(most, 16 * grid);
  }
}

// A pair of rows and labels costs the question's part and T steps' at the worst of some positions.
// That is never more than mu, and near it if the rows give up their class.
TEST(SoftmaxRun, NoNeighborIsFurtherAwayThanMu) {
  double nearest = 0;
  const Dataset data = class_people(300, 2, 3, 7);
  const Run3 tight{"metric-path", {1, 1e-5}};
  const Plan made = plan_of(data, tight);
  const auto& s = std::get<MetricPath>(made.candidate().mechanism);
  const auto backend = support::make_test_backend(backend_name);
  const Release release = fit(model_of(data, tight), data, made, *backend, Key::from_seed(3),
                              {.release_answers = true});
  const WhitenedRule::Metric P = metric_of(release, made, data.schema);
  const NoisyAnswer& answer = release.model().answers[0];
  const std::size_t d = data.features(), all = 3 * d;
  // Class 1 ahead of row 17 of both tables where they lie on one side.
  std::vector<std::vector<double>> positions;
  for (const double far : {0.0, 3.0, 100.0, -100.0}) {
    std::vector<double>& omega = positions.emplace_back(all, 0.0);
    std::fill_n(omega.begin() + static_cast<std::ptrdiff_t>(d), d, far);
  }
  std::vector<std::vector<float>> rows{
      {0, 0, 0}, {1, 1, 1}, {1e4F, 1e4F, 1e4F}, {-1e4F, -1e4F, -1}};
  for (std::size_t a = 0; a < rows.size(); ++a) {
    for (std::size_t b = a; b < rows.size(); ++b) {
      for (const float label : {0.0F, 1.0F, 2.0F}) {
        Dataset tables[2]{data, data};
        for (const std::size_t k : {0U, 1U}) {
          std::ranges::copy(rows[k == 0 ? a : b],
                            tables[k].dense().begin() + static_cast<std::ptrdiff_t>(17 * d));
          tables[k].y[17] = k == 0 ? 0 : label;
        }
        const double mu = made.candidate().guarantee.mu;
        const double found = support::metric_run_mu(*backend, tables[0], tables[1], "softmax-3",
                                                    answer, P, s.chain, positions);
        EXPECT_LE(found, mu * (1 + 1e-9));
        nearest = std::max(nearest, found / mu);
      }
    }
  }
  EXPECT_GT(nearest, 0.5) << "no pair came near: the noise is more than is needed";
}

TEST(SoftmaxRun, GoesOnFromACheckpointToTheSameBits) {
  const Dataset data = class_people(40, 2, 3, 1);
  const auto backend = support::make_test_backend(backend_name);
  for (const Run3& run : runs()) {
    const Plan made = plan_of(data, run, 2);
    const Release whole = fit(model_of(data, run), data, made, *backend, Key::from_seed(3));
    const TempDir folder;
    const FitOptions kept{.checkpoint = folder.path("run.ckpt")};
    for (int attempts = 0;; ++attempts) {
      ASSERT_LT(attempts, 100) << run.mechanism;
      std::atomic<bool> stop = false;
      FitOptions options = kept;
      options.stop = &stop;
      int calls = 0;
      options.progress = [&](std::uint64_t, std::uint64_t) {
        if (calls++ >= attempts) stop = true;
      };
      try {
        const Release resumed =
            fit(model_of(data, run), data, made, *backend, Key::from_seed(3), options);
        EXPECT_EQ(resumed.model().draws, whole.model().draws) << run.mechanism;
        break;
      } catch (const Interrupted&) {
      }
    }
  }
}

}  // namespace softmax_test
}  // namespace gibbsite
