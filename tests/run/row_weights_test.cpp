// Rows that count by weights, end to end: every mechanism runs them and its file verifies, no edit
// of what it says of weights does, neighbors are as near as is paid for, and what is learned is
// what the survey's weights say.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "certificate/model_json.hpp"
#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/chains/potential.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/model/family_model.hpp"
#include "gibbsite/model/linear_model.hpp"
#include "gibbsite/release/predict.hpp"
#include "gibbsite/run/fit.hpp"
#include "gibbsite/run/release_evaluation.hpp"
#include "run/example.hpp"
#include "support/backend.hpp"
#include "support/people.hpp"
#include "support/repeats.hpp"
#include "support/whitened_run.hpp"

namespace gibbsite {
namespace row_weights_test {

using nlohmann::json;
using ::testing::HasSubstr;

struct WeightedCase {
  std::string loss;
  Dataset data;
};

constexpr double highest_weight = 8;

// Weights of 0, of the largest, and between.
Dataset weighted(Dataset data) {
  std::vector<double> weights;
  for (std::size_t i = 0; i < data.rows(); ++i)
    weights.push_back(i % 4 == 0   ? 0
                      : i % 4 == 1 ? highest_weight
                                   : 0.1 * static_cast<double>(1 + i % 70));
  data.weigh(weights, highest_weight);
  return data;
}
Dataset weighted_classes(Dataset data) {
  data.schema.label = TwoClasses{.positive = "1", .negative = "0", .weights = {1, 2.5}};
  return weighted(std::move(data));
}
Dataset exposed(Dataset data) {
  data.schema.columns.push_back(
      {.name = "years", .type = ColumnType::exposure, .lo = 0.1, .hi = 10});
  for (std::size_t i = 0; i < data.rows(); ++i)
    data.offset.push_back(data.schema.scaled_exposure(i % 3 == 0 ? 0.1 : 5));
  return weighted(std::move(data));
}
std::vector<WeightedCase> weighted_cases(std::size_t n) {
  return {{"logistic", weighted(support::people(n, 2, 11))},
          {"logistic(0.4,1)", weighted_classes(support::people(n, 2, 11))},
          {"smoothed-hinge", weighted(support::people(n, 2, 11))},
          {"softmax-3", weighted(support::class_people(n, 2, 3, 12))},
          {"huber", weighted(support::amounts(n, 2, 13))},
          {"poisson", exposed(support::counts(n, 2, 13))}};
}

struct WeightedRun {
  const char* mechanism;
  Budget budget;
  double tv = 0;
  std::optional<double> prior = {};
};
const std::vector<WeightedRun>& weighted_runs() {
  static const std::vector<WeightedRun> all = {
      {"path", {2, 1e-4}},
      {"metric-path", {2, 1e-4}},
      {"dalalyan", {2, 0.05}, 1e-2, 20.0},
      {"whitened", {2, 1e-4}},
      {"output", {2, 1e-4}},
      {"output-pure", {2, 1e-20}},
      {"objective", {2, 1e-4}},
      {"objective-pure", {2, 1e-20}},
      {"proximal", {2, 0.05}, 1e-3, 2.0},
      {"rejection", {2, 0.05}, 1e-3, 20.0},
      {"metric-proximal", {2, 0.05}, 1e-3},
  };
  return all;
}
bool is_refused(const WeightedRun& run, const std::string& loss) {
  return run.mechanism == std::string_view("whitened") && loss == "smoothed-hinge";
}
std::pair<Model, Plan> weighted_plan(const WeightedCase& of, const WeightedRun& run) {
  Model model = glm(of.loss, {.prior_precision = run.prior, .center = {}});
  PlanOptions plan_options{.mechanism = run.mechanism};
  if (run.tv > 0) plan_options.tv = run.tv;
  Plan made = testing::example_plan(model.constants(of.data.schema, of.data.rows()), run.budget,
                                    plan_options);
  return {std::move(model), std::move(made)};
}

TEST(RowWeights, EveryMechanismRunsThemAndItsFileVerifies) {
  std::size_t ran = 0;
  for (const char* name : {"reference", "cpu"}) {
    const auto backend = support::make_test_backend(name);
    for (const WeightedCase& of : weighted_cases(60)) {
      for (const WeightedRun& run : weighted_runs()) {
        if (is_refused(run, of.loss)) continue;
        const bool shown = run.mechanism == std::string_view("path") ||
                           run.mechanism == std::string_view("whitened");
        if (name == std::string_view("reference") && !shown) continue;
        SCOPED_TRACE(fmt::format("{}, {}, {}", name, of.loss, run.mechanism));
        const auto [model, made] = weighted_plan(of, run);
        if (!made.candidate().feasible && run.tv > 0) continue;
        ASSERT_TRUE(made.candidate().feasible) << made.candidate().why;
        const Release release = fit(model, of.data, made, *backend, Key::from_os());
        for (const double v : release.model().draws[0]) EXPECT_TRUE(std::isfinite(v));
        const json file = json::parse(to_json(release).dump());
        const Verification found = verify(file);
        EXPECT_TRUE(found.valid) << ::testing::PrintToString(found.failures);
        EXPECT_EQ(file["certificate"]["constants"]["weighted"], true);
        EXPECT_THAT(in_words(release.certificate()), HasSubstr("a row counts by its weight"));
        EXPECT_EQ(file["model"]["preprocessing"]["columns"].back()["type"], "weight");
        ++ran;
      }
    }
  }
  EXPECT_GT(ran, 45U);
}

TEST(RowWeights, NothingElseSaidOfThemVerifiesEvenResealed) {
  const auto backend = support::make_test_backend("reference");
  for (const char* mechanism : {"output", "path", "whitened"}) {
    const WeightedCase of = weighted_cases(60)[0];
    const auto [model, made] = weighted_plan(of, {mechanism, {2, 1e-4}});
    const json file = to_json(fit(model, of.data, made, *backend, Key::from_os()));
    ASSERT_TRUE(verify(file).valid);
    const auto changed = [&](const std::string& what, const std::function<void(json&)>& edit) {
      json other = file;
      edit(other);
      other["certificate"]["digest"] = file_digest(other);
      EXPECT_FALSE(verify(other).valid) << mechanism << ": " << what;
    };
    json& columns = const_cast<json&>(file)["model"]["preprocessing"]["columns"];
    const std::size_t last = columns.size() - 1;
    changed("no weights", [](json& f) { f["certificate"]["constants"].erase("weighted"); });
    changed("false", [](json& f) { f["certificate"]["constants"]["weighted"] = false; });
    changed("a number", [](json& f) { f["certificate"]["constants"]["weighted"] = 1; });
    changed("no column", [&](json& f) { f["model"]["preprocessing"]["columns"].erase(last); });
    for (const char* type : {"ignore", "number", "exposure", "category"}) {
      changed(type, [&](json& f) { f["model"]["preprocessing"]["columns"][last]["type"] = type; });
    }
    changed("a range below 0", [&](json& f) {
      f["model"]["preprocessing"]["columns"][last]["range"] = {-1, 8};
    });
  }
}

// log-odds = log(w+/w-) of the weights of either class; an amount's mean is that of weights.
TEST(RowWeights, MinimaAreTheClosedForms) {
  for (const char* name : {"reference", "cpu"}) {
    const auto backend = support::make_test_backend(name);
    Dataset data = support::people(7, 1, 3);
    data.schema.columns[0].name = "one";
    data.schema.intercept = false;
    data.dense().assign(7, 1.0F);
    const auto minimum = [&](const char* loss) {
      const Potential u{.engine = backend->load(data.view(), data.y, loss_named(loss)),
                        .prior_precision = 1e-12};
      return minimize(u, 1e-11).theta[0];
    };
    data.y = {1, 1, 1, -1, -1, -1, -1};
    data.weight = {1, 0.5F, 0, 0.25F, 0.25F, 0.125F, 0};
    EXPECT_NEAR(minimum("logistic"), std::log(1.5 / 0.625), 1e-9);
    EXPECT_NEAR(minimum("logistic(0.4,1)"), std::log(1.5 / (0.4F * 0.625)), 1e-6);
    data.y = {0.5F, -0.25F, 7, 0.125F, 0, 0.25F, -7};
    EXPECT_NEAR(minimum("huber"),
                (0.5 - 0.125 + 0.25 * 0.125 + 0.125 * 0.25) / (1 + 0.5 + 0.25 + 0.25 + 0.125),
                1e-9);
  }
}

// In one dimension, for every pair of neighbors: output's law is a normal about the minimizer, so
// its exact cost is how far two minimizers are apart over the noise.
TEST(RowWeights, OutputOfNeighborsCostsNoMoreThanIsPaidFor) {
  const auto backend = support::make_test_backend("reference");
  Dataset data = support::people(20, 1, 3);
  data.schema.intercept = false;
  data.schema.row_norm = 1;
  data.dense().assign(20, 1.0F);
  for (std::size_t i = 0; i < 20; ++i) data.y[i] = i % 2 == 0 ? 1.0F : -1.0F;
  data.weigh(std::vector<double>(20, 0.0), 1);  // what is apart is that of one row
  const auto [model, made] = weighted_plan({"logistic", data}, {"output", {1, 1e-4}, 0, 1.0});
  ASSERT_TRUE(made.candidate().feasible);
  const auto& settings = std::get<OutputPerturbation>(made.candidate().mechanism);
  const double beta = 1;
  const auto minimizer_of = [&](float y, float weight, float x) {
    data.y[0] = y, data.weight[0] = weight, data.dense()[0] = x;
    const Potential u{.engine = backend->load(data.view(), data.y, loss_named("logistic")),
                      .beta = beta,
                      .prior_precision = 1};
    return minimize(u, 1e-12).theta[0];
  };
  double most = 0, least = 1e9, unweighted = 0;
  std::vector<double> at;
  for (const float y : {-1.0F, 1.0F})
    for (const float weight : {0.0F, 1e-6F, 0.5F, 1.0F})
      for (const float x : {-1.0F, 0.25F, 1.0F}) at.push_back(minimizer_of(y, weight, x));
  for (const double v : at) most = std::max(most, v), least = std::min(least, v);
  unweighted = std::fabs(minimizer_of(1, 1.5F, 1) - minimizer_of(-1, 1.5F, 1));
  const Problem& problem = made.problem;
  // S/m: what the plan pays for.
  const double paid = problem.sensitivity_up(beta, Adjacency::replace_one, 1) / 1;
  EXPECT_LE(most - least, paid);
  EXPECT_GT(most - least, 0.2 * paid);
  EXPECT_GT(unweighted, 1.2 * (most - least));  // a weight above 1 would be seen
  static_cast<void>(settings);
}

TEST(RowWeights, OutsideOfTheirRangeOrOfAnotherNumberAreRefused) {
  const auto backend = support::make_test_backend("cpu");
  for (const float bad : {1.0000001F, -0x1p-40F, 5.0F, std::nanf("")}) {
    WeightedCase of{"logistic", weighted(support::people(20, 2, 11))};
    of.data.weight[4] = bad;
    const auto [model, made] = weighted_plan(of, weighted_runs()[4]);
    try {
      static_cast<void>(fit(model, of.data, made, *backend, Key::from_os()));
      ADD_FAILURE() << bad;
    } catch (const BadInput& error) {
      EXPECT_THAT(error.what(), HasSubstr("row 5 has a weight outside of its range"));
    }
  }
  for (const std::size_t given : {0U, 1U, 19U, 21U}) {
    WeightedCase of{"logistic", weighted(support::people(20, 2, 11))};
    of.data.weight.resize(given, 0.5F);
    const std::pair<Model, Plan> run = weighted_plan(of, weighted_runs()[4]);
    EXPECT_THAT(
        [&] { static_cast<void>(fit(run.first, of.data, run.second, *backend, Key::from_os())); },
        ::testing::ThrowsMessage<BadInput>(
            HasSubstr(fmt::format("has {} weights of 20 rows", given))));
  }
  WeightedCase of{"logistic", weighted(support::people(20, 2, 11))};
  of.data.schema.columns.pop_back();  // a table that has weights, and a schema that has none
  const auto [model, made] = weighted_plan(of, weighted_runs()[4]);
  EXPECT_THROW(static_cast<void>(fit(model, of.data, made, *backend, Key::from_os())), BadInput);
}

TEST(RowWeights, ThatAreAllZeroEndInAModel) {
  const auto backend = support::make_test_backend("cpu");
  for (WeightedCase of : weighted_cases(20)) {
    of.data.weight.assign(20, 0.0F);
    for (const WeightedRun& run : weighted_runs()) {
      if (is_refused(run, of.loss)) continue;
      const auto [model, made] = weighted_plan(of, run);
      if (!made.candidate().feasible) continue;
      const Release release = fit(model, of.data, made, *backend, Key::from_os());
      for (const double v : release.model().draws[0])
        EXPECT_TRUE(std::isfinite(v)) << run.mechanism << ", " << of.loss;
      EXPECT_TRUE(verify(release).valid);
    }
  }
}

// Intervals of three classes ask for (K - 1) k by (K - 1) k second moments of scores: the file says
// how many numbers were answered, verifies with them, and not without their share or their noise.
// No row with any label and weight is further away than is paid for, all questions together.
TEST(RowWeights, IntervalsOfClassesAskForMomentsOfScoresInContrasts) {
  const auto backend = support::make_test_backend("cpu");
  Dataset data = weighted(support::class_people(400, 2, 3, 12));
  const std::size_t d = data.features(), size = 2 * d;
  const Plan made = plan(glm("softmax-3").constants(data.schema, 400),
                         {.epsilon = 2, .delta = 1e-4}, {.intervals = true});
  const auto& settings = std::get<Whitened>(made.candidate().mechanism);
  EXPECT_EQ(settings.score_share, 0.03);
  FitOptions options;
  options.release_answers = true;
  const Release release = fit(glm("softmax-3"), data, made, *backend, Key::from_seed(3), options);
  std::size_t numbers = 0;
  for (const NoisyAnswer& answer : release.model().answers) numbers += answer.values.size();
  EXPECT_EQ(release.model().answers.back().question, "scores");
  EXPECT_EQ(release.model().answers.back().values.size(), size * (size + 1) / 2);
  const json file = json::parse(
      to_json(fit(glm("softmax-3"), data, made, *backend, Key::from_os(), options)).dump());
  EXPECT_EQ(file["certificate"]["constants"]["answered_numbers"], numbers);
  EXPECT_TRUE(verify(file).valid) << ::testing::PrintToString(verify(file).failures);
  ASSERT_TRUE(release.model().estimates);
  const auto refused = [&](const std::function<void(json&)>& edit) {
    json other = file;
    edit(other);
    other["certificate"]["digest"] = file_digest(other);
    return !verify(other).valid;
  };
  EXPECT_TRUE(refused([](json& f) { f["certificate"]["mechanism"].erase("score_share"); }));
  EXPECT_TRUE(refused([](json& f) { f["certificate"]["mechanism"]["score_share"] = 0.06; }));
  EXPECT_TRUE(refused([](json& f) {
    json& last = f["model"]["answers"].back();
    last["deviation"] = 0.9 * last["deviation"].get<double>();
  }));

  const auto asked = support::questions_of(settings, made.problem, made.budget.neighbors(),
                                           data.schema, release.model().answers);
  ASSERT_EQ(asked.back().name, "scores");
  std::vector<std::vector<std::vector<double>>> answers;  // of each neighbor, each question's
  for (const float x : {0.0F, 1.0F, -40.0F, 40.0F}) {
    for (const float y : {0.0F, 1.0F, 2.0F}) {
      for (const float weight : {0.0F, 1.0F}) {
        data.dense()[d * 17] = data.dense()[d * 17 + 1] = x;
        data.y[17] = y, data.weight[17] = weight;
        const auto engine = backend->load(data.view(), data.y, loss_named("softmax-3"));
        auto& of_one = answers.emplace_back();
        for (const auto& q : asked) of_one.push_back(support::exact_answer(*engine, q));
      }
    }
  }
  const double mu2 = std::pow(made.candidate().guarantee.mu, 2);
  double most = 0, of_scores = 0;
  for (const auto& here : answers) {
    for (const auto& there : answers) {
      double sum = 0;
      for (std::size_t i = 0; i < asked.size(); ++i)
        sum += support::squared_distance(here[i], there[i]);
      most = std::max(most, sum / mu2);
      of_scores = std::max(of_scores, support::squared_distance(here.back(), there.back()) / mu2);
    }
  }
  EXPECT_LE(most, 1 + 1e-9);
  EXPECT_GT(most, 0.3);
  EXPECT_LE(of_scores, settings.score_share * (1 + 1e-9));
  EXPECT_GT(of_scores, 0.4 * settings.score_share);
}

TEST(RowWeights, WhatIsNotDerivedForThemIsRefused) {
  const Dataset data = weighted(support::people(400, 2, 11));
  const Budget budget{.epsilon = 2, .delta = 1e-4};
  const Problem problem = glm("logistic").constants(data.schema, data.rows());
  Problem hinge = problem;
  hinge.loss = "smoothed-hinge(0.5,1)";
  EXPECT_THAT([&] { static_cast<void>(plan(hinge, budget, {.intervals = true})); },
              ::testing::ThrowsMessage<BadInput>(HasSubstr("logistic and softmax regressions")));
  // Small budgets ask for lengths over a number of rows, which nobody knows here.
  Problem one = problem;
  one.weighted = false;
  const PlanOptions whitened{.mechanism = "whitened"};
  const auto length_share = [&](const Problem& of) {
    const Plan made = testing::example_plan(of, {.epsilon = 0.5, .delta = 1e-4}, whitened);
    return std::get<Whitened>(made.candidate().mechanism).length_share;
  };
  EXPECT_GT(length_share(one), 0);
  EXPECT_EQ(length_share(problem), 0);
  Problem bare = problem;
  bare.intercept = false;
  const Plan made = testing::example_plan(bare, budget, whitened);
  EXPECT_FALSE(made.candidate().feasible);
  EXPECT_THAT(made.candidate().why.text(), HasSubstr("as they have weights"));
  EXPECT_THROW(family_schema(data.schema, "x0"), BadInput);
}

// A survey that asked half of its people in a group of a fifth of the population, whose amounts are
// higher: the weighted private mean is within 1 % of the range of the weighted one without privacy,
// the mean without weights is far off. 10,000 rows, epsilon 1; 20 runs, fixed seeds.
TEST(RowWeights, OfASurveyGiveItsMeanAtEpsilonOne) {
  if (support::sanitized) GTEST_SKIP() << "a verdict of a release";
  constexpr std::size_t n = 10'000;
  const auto backend = support::make_test_backend("cpu");
  double worst = 0, worst_of_slope = 0;
  for (std::uint64_t run = 0; run < 20; ++run) {
    Dataset data = support::people(n, 1, 100 + run);
    data.schema.label = Amount{{.lo = 0, .hi = 100}, 40};
    std::mt19937_64 random(run);
    std::normal_distribution<double> normal;
    std::vector<double> weights(n), y(n);
    double sum = 0, all = 0, plain = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const bool rare = i % 2 == 0;
      weights[i] = rare ? 0.4 : 1.6;  // inclusion probabilities' inverses, up to a factor
      const auto x = static_cast<double>(data.dense()[2 * i]);
      y[i] = std::clamp((rare ? 70 : 30) + 10 * (x - 0.5) + 8 * normal(random), 0.0, 100.0);
      data.y[i] = scaled_label(data.schema.label, y[i]);
      sum += weights[i] * y[i], all += weights[i], plain += y[i] / n;
    }
    data.weigh(weights, 2);
    const WeightedCase of{"huber", data};
    const auto [model, made] = weighted_plan(of, {"whitened", {1, 1e-6}});
    ASSERT_TRUE(made.candidate().feasible) << made.candidate().why;
    const Release release = fit(model, data, made, *backend, Key::from_seed(run));
    const std::vector<double> predicted = predict_amounts(release.model(), data.view());
    double mean = 0;
    for (std::size_t i = 0; i < n; ++i) mean += weights[i] * predicted[i] / all;
    worst = std::max(worst, std::fabs(mean - sum / all));
    EXPECT_GT(std::fabs(plain - sum / all), 8);
    const Potential exact{.engine = backend->load(data.view(), data.y, loss_named("huber")),
                          .prior_precision = 1e-3};
    const double slope = original_units(release.model(), release.model().draws[0]).slopes[0].second;
    const double target =
        original_units(release.model(), minimize(exact, 1e-6).theta).slopes[0].second;
    worst_of_slope = std::max(worst_of_slope, std::fabs(slope - target));
  }
  EXPECT_LT(worst, 1);
  EXPECT_LT(worst_of_slope, 3);
  RecordProperty("worst_of_mean", fmt::format("{}", worst));
  RecordProperty("worst_of_slope", fmt::format("{}", worst_of_slope));
}

TEST(RowWeights, OfAnEvaluationAreItsCounts) {
  Dataset data = weighted(support::people(4000, 2, 11));
  const std::vector<double> p(4000, 0.75);
  const Evaluation e = evaluate(p, data.y, 0.5, data.weight);
  double right = 0, all = 0;
  for (std::size_t i = 0; i < 4000; ++i) {
    all += static_cast<double>(data.weight[i]);
    right += data.y[i] > 0 ? static_cast<double>(data.weight[i]) : 0;
  }
  EXPECT_NEAR(e.accuracy, right / all, 1e-12);
  EXPECT_NEAR(e.auc, 0.5, 1e-12);
  EXPECT_THROW(evaluate(p, data.y, 0.5, std::vector<float>(4000, 0.0F)), BadInput);
  EXPECT_THROW(evaluate(p, data.y, 0.5, std::vector<float>(3, 1.0F)), BadInput);

  EvaluationModel shape{.schema = data.schema,
                        .of = "blake2b-256:" + std::string(64, '0'),
                        .bins = evaluation_bins(10, 2, 0.5),
                        .rows = {},
                        .counts = {}};
  std::get<TwoClasses>(shape.schema.label).negative = "0";
  std::vector<std::uint32_t> cells;
  for (const float y : data.y) cells.push_back(shape.bins.cell(0.75, y > 0));
  const HistogramPlan made =
      plan_histogram({.rows = 4000, .cells = 20}, {.epsilon = 20, .delta = 1e-6});
  const EvaluationRelease release =
      release_evaluation(shape, cells, made, Key::from_os(), {}, data.weight);
  EXPECT_TRUE(verify(release).valid);
  EXPECT_FALSE(release.model().rows);  // how much rows count is private
  EXPECT_NEAR(figures(release.model()).accuracy.value, right / all, 0.02);
  EXPECT_NEAR(figures(release.model()).rows, all, 30);
  EXPECT_THROW(release_evaluation(shape, cells, made, Key::from_os()), BadInput);
  std::vector<float> beyond = data.weight;
  beyond[7] = 1.0000001F;
  EXPECT_THROW(release_evaluation(shape, cells, made, Key::from_os(), {}, beyond), BadInput);
}

}  // namespace row_weights_test
}  // namespace gibbsite
