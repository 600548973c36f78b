// Whole runs of chains in a private metric: what they would have released for a neighbor, that they
// go on from a checkpoint to the same bits, and tables that nobody would fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <atomic>
#include <cmath>
#include <random>

#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/model/contrasts.hpp"
#include "gibbsite/release/predict.hpp"
#include "gibbsite/run/fit.hpp"
#include "run/answers.hpp"
#include "support/repeats.hpp"
#include "tests/support/backend.hpp"
#include "tests/support/people.hpp"
#include "tests/support/temp_dir.hpp"
#include "tests/support/whitened_run.hpp"

namespace gibbsite {
namespace metric_test {

using support::people;
using testing::TempDir;

Plan plan_of(const Dataset& data, const Budget& budget, PlanOptions plan_options,
             std::uint64_t cap = 0, const char* loss = "logistic") {
  if (plan_options.mechanism == "auto") plan_options.mechanism = "metric-path";
  return plan(glm(loss).constants(data.schema, cap > 0 ? cap : data.rows()), budget, plan_options);
}

Release fit_seeded(const Dataset& data, const Plan& made, std::uint64_t seed,
                   const char* backend = "cpu") {
  const auto maker = support::make_test_backend(backend);
  return fit(glm(made.problem.loss), data, made, *maker, Key::from_seed(seed),
             {.release_answers = true});
}

// What follows from the released answer: the rule once more.
WhitenedRule::Metric metric_of(const Release& release, const MetricPath& s, const Plan& made,
                               const Schema& schema) {
  WhitenedRule rule(moments_only(s), made.problem, made.budget.neighbors(),
                    starting_metric(schema));
  const NoisyAnswer& answer = release.model().answers.at(0);
  rule.answer_moments(whole_matrix(answer.values, rule.coordinates()), answer.deviation);
  return rule.metric() / rule.clip();
}

// A pair of neighbors costs the question's part and T steps' at the worst of some positions. No
// pair costs more than mu, and the worst one comes near it. Rows are far longer than 1 in the
// metric; their own length does not count.
TEST(MetricRun, NoNeighborIsFurtherAwayThanMu) {
  double nearest = 0;
  int pairs = 0;
  for (const bool add_remove : {false, true}) {
    for (const char* loss : {"logistic", "logistic-capped"}) {
      for (const std::size_t numbers : {1U, 2U, 4U}) {  // 2 with categories
        const Dataset data = numbers == 2
                                 ? support::with_categories(people(300, numbers, 7), {3, 1, 5}, 7)
                                 : people(300, numbers, 7);
        Budget budget{.epsilon = 1, .delta = 1e-5};
        if (add_remove) budget.adjacency = Adjacency::add_remove;
        const Plan made = plan_of(data, budget, {}, add_remove ? 400 : 0, loss);
        const auto& s = std::get<MetricPath>(made.candidate().mechanism);
        const double mu = made.candidate().guarantee.mu;
        const Release release = fit_seeded(data, made, 3);
        const WhitenedRule::Metric P = metric_of(release, s, made, data.schema);
        const NoisyAnswer& answer = release.model().answers[0];
        const std::size_t d = data.features(), k = numbers == 2 ? d - 3 : d;
        ASSERT_EQ(P.cols(), static_cast<Eigen::Index>(k));
        std::vector<std::vector<double>> positions;
        for (const double far : {0.0, 3.0, 30.0, -30.0}) positions.emplace_back(k, far);
        std::vector<std::vector<float>> rows{std::vector<float>(d, 0), std::vector<float>(d, 1)};
        rows.push_back(rows[0]);
        rows.back()[0] = 1;
        rows.push_back(rows[0]);
        for (float& v : rows.back()) v = 1e4F;  // no schema allows it: the clip holds nonetheless
        for (std::size_t a = 0; a < rows.size(); ++a) {
          for (std::size_t b = add_remove ? rows.size() - 1 : a; b < rows.size(); ++b) {
            for (const float label : {-1.0F, 1.0F}) {
              Dataset here = data, there = data;
              std::ranges::copy(rows[a],
                                here.dense().begin() + static_cast<std::ptrdiff_t>(17 * d));
              here.y[17] = 1;
              if (add_remove) {
                const auto at = there.dense().begin() + static_cast<std::ptrdiff_t>(17 * d);
                there.dense().erase(at, at + static_cast<std::ptrdiff_t>(d));
                there.y.erase(there.y.begin() + 17);
              } else {
                std::ranges::copy(rows[b],
                                  there.dense().begin() + static_cast<std::ptrdiff_t>(17 * d));
                there.y[17] = label;
              }
              const auto backend = support::make_test_backend("cpu");
              const double found = support::metric_run_mu(*backend, here, there, loss, answer, P,
                                                          s.chain, positions);
              EXPECT_LE(found, mu * (1 + 1e-9)) << loss << " " << numbers;
              nearest = std::max(nearest, found / mu);
              ++pairs;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(pairs, 80);
  EXPECT_GT(nearest, 0.9) << "no pair came near: the noise is more than is needed";
}

// What is released is P omega of an omega on the grid that the chain's certificate speaks of.
TEST(MetricRun, DrawsAreImagesOfTheCoordinatesGrid) {
  for (const bool categories : {false, true}) {
    const Dataset data =
        categories ? support::with_categories(people(500, 2, 2), {3, 1}, 2) : people(500, 3, 2);
    const Plan made = plan_of(data, {.epsilon = 1, .delta = 1e-6, .draws = 3}, {.iterations = 20});
    const auto& s = std::get<MetricPath>(made.candidate().mechanism);
    const Analysis found = analyze(made.candidate().mechanism, made.problem, {}, 3);
    const Analysis chain = analyze(s.chain, in_metric(made.problem), {}, 3);
    double grid = 0;
    for (const auto& [name, value] : found.constants) {
      if (name == "coordinates_grid") grid = value;
    }
    ASSERT_EQ(grid, chain.release_grid);
    const Release release = fit_seeded(data, made, 1);
    ASSERT_EQ(release.model().draws.size(), 3U);
    const Eigen::MatrixXd P = metric_of(release, s, made, data.schema);
    // Levels are centered at the constant in a draw, which the basis does not see.
    const ContrastBasis contrasts = contrast_basis(data.schema);
    const Eigen::Map<const WhitenedRule::Metric> basis(contrasts.basis.data(), P.rows(), P.cols());
    const Eigen::MatrixXd inverse = (basis.transpose() * P).inverse() * basis.transpose();
    for (const auto& draw : release.model().draws) {
      const Eigen::VectorXd omega =
          inverse * Eigen::Map<const Eigen::VectorXd>(draw.data(), inverse.cols());
      for (const double v : omega) {
        EXPECT_NEAR(v / grid, std::nearbyint(v / grid), 1e-2);
      }
    }
  }
}

// Remembers the longest row of every table that it was given.
class Measuring final : public Backend {
 public:
  [[nodiscard]] std::string_view name() const override { return inner_->name(); }
  [[nodiscard]] std::string description() const override { return inner_->description(); }
  std::unique_ptr<Engine> load(const Rows& x, std::span<const float> y, const Loss& loss) override {
    auto out = inner_->load(x, y, loss);
    longest.push_back(std::sqrt(out->row_norms().largest_squared));
    return out;
  }
  std::vector<double> longest;

 private:
  std::unique_ptr<Backend> inner_ = make_backend("cpu");
};

// The chain's certificate is about rows of norm 1: those are what it runs on.
TEST(MetricRun, TheChainRunsOnRowsOfNormOne) {
  const Dataset data = people(300, 4, 7);
  const Plan made = plan_of(data, {.epsilon = 1, .delta = 1e-5}, {.iterations = 3});
  Measuring backend;
  static_cast<void>(fit(logistic_regression(), data, made, backend, Key::from_seed(2)));
  ASSERT_EQ(backend.longest.size(), 2U);
  EXPECT_GT(backend.longest[0], 1.5) << "no row would have been scaled down";
  EXPECT_LE(backend.longest[1], 1);
  EXPECT_GT(backend.longest[1], 0.99) << "the metric is not used up";
}

// Released without being asked for, the answer would be in a file whose reader does not expect it.
TEST(MetricRun, TheAnswerIsReleasedOnRequestAlone) {
  const Dataset data = people(200, 2, 2);
  const Plan made = plan_of(data, {.epsilon = 1, .delta = 1e-6}, {.iterations = 5});
  const auto backend = make_backend("cpu");
  const Release without = fit(logistic_regression(), data, made, *backend, Key::from_seed(4));
  const Release with = fit_seeded(data, made, 4);
  EXPECT_TRUE(without.model().answers.empty());
  EXPECT_EQ(with.model().answers.size(), 1U);
  EXPECT_EQ(with.model().draws, without.model().draws);
}

class MetricBackend : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Backends, MetricBackend, ::testing::Values("reference", "cpu", "emulated"),
                         [](const auto& p) { return std::string(p.param); });

TEST_P(MetricBackend, GoesOnFromACheckpointToTheSameBits) {
  const auto backend = support::make_test_backend(GetParam());
  for (const Dataset& data :
       {people(60, 2, 1), support::with_categories(people(60, 1, 1), {2, 1}, 1)})
    for (const char* mechanism : {"metric-path", "metric-proximal"}) {
      PlanOptions plan_options{.mechanism = mechanism};
      if (plan_options.mechanism == "metric-proximal") plan_options.tv = 1e-3;
      const Plan made = plan_of(data, {.epsilon = 2, .delta = 0.05, .draws = 2}, plan_options);
      ASSERT_TRUE(made.candidate().feasible) << made.candidate().why;
      const Release whole = fit(logistic_regression(), data, made, *backend, Key::from_seed(3),
                                {.release_answers = true});
      const TempDir folder;
      const FitOptions kept{.checkpoint = folder.path("run.ckpt"), .release_answers = true};
      for (int attempts = 0;; ++attempts) {
        ASSERT_LT(attempts, 100) << mechanism;
        std::atomic<bool> stop = false;
        FitOptions options = kept;
        options.stop = &stop;
        int calls = 0;
        options.progress = [&](std::uint64_t, std::uint64_t) {
          if (calls++ >= attempts) stop = true;
        };
        try {
          const Release resumed =
              fit(logistic_regression(), data, made, *backend, Key::from_seed(3), options);
          EXPECT_GT(attempts, 0) << mechanism;
          EXPECT_EQ(resumed.model().draws, whole.model().draws) << mechanism;
          EXPECT_EQ(resumed.model().answers[0].values, whole.model().answers[0].values);
          break;
        } catch (const Interrupted&) {
        }
      }
    }
}

// The answers are no whole number for each chain, whatever the features.
TEST(MetricRun, GoesOnFromACheckpointForAnyNumberOfDraws) {
  const auto backend = support::make_test_backend("cpu");
  support::Thinned sweep(3);
  for (const std::size_t numbers : {1U, 2U, 3U, 4U}) {
    for (const std::uint64_t draws : {1U, 2U, 3U, 4U, 5U}) {
      if (sweep.skips()) continue;
      const Dataset data = people(60, numbers, 1);
      const Plan made = plan_of(data, {.epsilon = 2, .delta = 0.05, .draws = draws}, {});
      const TempDir folder;
      std::atomic<bool> stop = false;
      FitOptions options{.checkpoint = folder.path("run.ckpt")};
      options.stop = &stop;
      options.progress = [&](std::uint64_t, std::uint64_t) { stop = true; };
      EXPECT_THROW(fit(logistic_regression(), data, made, *backend, Key::from_seed(3), options),
                   Interrupted);
      stop = false;
      options.progress = {};
      EXPECT_NO_THROW(fit(logistic_regression(), data, made, *backend, Key::from_seed(3), options))
          << data.features() << " features, " << draws << " draws";
    }
  }
}

// Rows in a metric have other last places elsewhere: k steps toward one law would be some toward
// another.
TEST(MetricRun, NoCheckpointGoesOnWithOtherArithmetic) {
  const Dataset data = people(60, 2, 1);
  PlanOptions plan_options{.mechanism = "metric-proximal"};
  plan_options.tv = 1e-3;
  const Plan made = plan_of(data, {.epsilon = 2, .delta = 0.05}, plan_options);
  const TempDir folder;
  std::atomic<bool> stop = false;
  FitOptions options{.checkpoint = folder.path("run.ckpt")};
  options.stop = &stop;
  options.progress = [&](std::uint64_t, std::uint64_t) { stop = true; };
  const auto go_on = [&](const BackendOptions& how, const char* name) {
    const auto backend = make_backend(name, how);
    return fit(logistic_regression(), data, made, *backend, Key::from_seed(3), options);
  };
  EXPECT_THROW(go_on({.threads = 2}, "cpu"), Interrupted);
  stop = false;
  try {
    go_on({}, "reference");
    ADD_FAILURE() << "went on";
  } catch (const BadInput& e) {
    EXPECT_THAT(e.what(), ::testing::HasSubstr("begun on cpu"));
  }
  options.progress = {};
  EXPECT_NO_THROW(go_on({.threads = 1}, "cpu")) << "threads change no bit";
}

TEST_P(MetricBackend, AgreesWithTheReference) {
  for (const Dataset& data :
       {people(500, 4, 9), support::with_categories(people(500, 2, 9), {4, 1, 3}, 9)}) {
    const Plan made = plan_of(data, {.epsilon = 2, .delta = 1e-5}, {.iterations = 30});
    const auto a = fit_seeded(data, made, 8, "reference").model().draws[0];
    const auto b = fit_seeded(data, made, 8, GetParam()).model().draws[0];
    for (std::size_t j = 0; j < a.size(); ++j)
      EXPECT_NEAR(a[j], b[j], 1e-3 * std::fabs(a[j]) + 1e-3);
  }
}

TEST(MetricRun, NoCheckpointGoesOnForOtherNeighbors) {
  const Dataset data = people(200, 1, 2);
  const auto backend = support::make_test_backend("cpu");
  const Plan first = plan_of(data, {.epsilon = 2, .delta = 1e-5}, {});
  Plan second = first;  // open to its caller: the same settings, vouched for to more
  second.candidates[second.chosen].guarantee.who.rows_per_person = 2;
  second.budget.rows_per_person = 2;
  const TempDir folder;
  std::atomic<bool> stop = false;
  FitOptions options{.checkpoint = folder.path("run.ckpt")};
  options.stop = &stop;
  options.progress = [&](std::uint64_t, std::uint64_t) { stop = true; };
  EXPECT_THROW(fit(logistic_regression(), data, first, *backend, Key::from_os(), options),
               Interrupted);
  stop = false;
  EXPECT_THROW(fit(logistic_regression(), data, second, *backend, Key::from_os(), options),
               BadInput);
}

// Tables that nobody would fit: a model, certified and finite, and probabilities for every row.
TEST(MetricRun, DegenerateTablesEndInAModel) {
  support::Thinned sweep(3);
  for (const char* mechanism : {"metric-path", "metric-proximal"}) {
    for (const char* loss : {"logistic", "logistic-capped"}) {
      for (const support::OddTable& odd : support::odd_tables()) {
        if (sweep.skips()) continue;
        PlanOptions plan_options{.mechanism = mechanism};
        if (plan_options.mechanism == "metric-proximal") plan_options.tv = 1e-3;
        const Plan made = plan_of(odd.data, {.epsilon = 1, .delta = 0.02}, plan_options, 0, loss);
        ASSERT_TRUE(made.candidate().feasible) << odd.name << ": " << made.candidate().why;
        const auto backend = support::make_test_backend("cpu");
        const Release out = fit(glm(loss), odd.data, made, *backend, Key::from_os());
        EXPECT_TRUE(verify(out).valid) << odd.name;
        for (const double v : out.model().draws[0]) EXPECT_TRUE(std::isfinite(v)) << odd.name;
        for (const double p : predict_probabilities(out.model(), odd.data.view())) {
          EXPECT_TRUE(p >= 0 && p <= 1) << odd.name << " " << p;
        }
      }
    }
  }
}

}  // namespace metric_test
}  // namespace gibbsite
