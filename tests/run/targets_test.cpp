// Weighted classes and counts over an exposure, end to end: every mechanism runs them and its file
// verifies, no edit of a weight or a range does, what they mean is what a closed form says, and
// neighbors differ by no more than is paid for.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "certificate/model_json.hpp"
#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/chains/potential.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/release/predict.hpp"
#include "gibbsite/run/fit.hpp"
#include "run/example.hpp"
#include "support/backend.hpp"
#include "support/people.hpp"

namespace gibbsite {
namespace targets_test {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct TargetCase {
  std::string loss;
  Dataset data;
};

Dataset weighted_people(std::size_t n) {
  Dataset data = support::people(n, 2, 11);
  data.schema.label = TwoClasses{.positive = "1", .negative = "0", .weights = {1, 2.5}};
  return data;
}
Dataset weighted_classes(std::size_t n) {
  Dataset data = support::class_people(n, 2, 3, 12);
  std::get<Classes>(data.schema.label).weights = {1, 4, 2};
  return data;
}
// Exposures at both ends of their range and between.
Dataset exposed_counts(std::size_t n) {
  Dataset data = support::counts(n, 2, 13);
  data.schema.columns.push_back(
      {.name = "years", .type = ColumnType::exposure, .lo = 0.1, .hi = 10});
  for (std::size_t i = 0; i < n; ++i) {
    const double years = i % 3 == 0   ? 0.1
                         : i % 3 == 1 ? 10
                                      : 0.1 + static_cast<double>(i % 90) / 10;
    data.offset.push_back(data.schema.scaled_exposure(years));
  }
  return data;
}
std::vector<TargetCase> target_cases(std::size_t n) {
  return {{"logistic(0.4,1)", weighted_people(n)},
          {"logistic-capped(0.4,1)", weighted_people(n)},
          {"smoothed-hinge(0.4,1)", weighted_people(n)},
          {"softmax-3(0.25,1,0.5)", weighted_classes(n)},
          {"poisson", exposed_counts(n)}};
}

struct TargetRun {
  const char* mechanism;
  Budget budget;
  double tv = 0;
  std::optional<double> prior = {};
};
const std::vector<TargetRun>& target_runs() {
  static const std::vector<TargetRun> all = {
      {"path", {2, 1e-4}},
      {"metric-path", {2, 1e-4}},
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
// What no loss of that kind is run by.
bool is_refused(const TargetRun& run, const std::string& loss) {
  return run.mechanism == std::string_view("whitened") && !loss.starts_with("logistic(") &&
         !loss.starts_with("softmax") && loss != "poisson";
}
std::pair<Model, Plan> target_plan(const TargetCase& of, const TargetRun& run) {
  Model model = glm(of.loss, {.prior_precision = run.prior, .center = {}});
  PlanOptions plan_options{.mechanism = run.mechanism};
  if (run.tv > 0) plan_options.tv = run.tv;
  Plan made = testing::example_plan(model.constants(of.data.schema, of.data.rows()), run.budget,
                                    plan_options);
  return {std::move(model), std::move(made)};
}

json sealed_again(json file) {
  file["certificate"]["digest"] = file_digest(file);
  return file;
}

TEST(Targets, EveryMechanismRunsThemAndItsFileVerifies) {
  for (const char* name : {"reference", "cpu"}) {
    const auto backend = support::make_test_backend(name);
    for (const TargetCase& of : target_cases(60)) {
      for (const TargetRun& run : target_runs()) {
        if (is_refused(run, of.loss)) continue;
        const bool shown = run.mechanism == std::string_view("path") ||
                           run.mechanism == std::string_view("whitened");
        if (name == std::string_view("reference") && !shown) continue;
        SCOPED_TRACE(fmt::format("{}, {}, {}", name, of.loss, run.mechanism));
        const auto [model, made] = target_plan(of, run);
        ASSERT_TRUE(made.candidate().feasible) << made.candidate().why;
        const Release release = fit(model, of.data, made, *backend, Key::from_os());
        for (const double v : release.model().draws[0]) EXPECT_TRUE(std::isfinite(v));
        const json file = json::parse(to_json(release).dump());
        const Verification found = verify(file);
        EXPECT_TRUE(found.valid) << ::testing::PrintToString(found.failures);
        EXPECT_EQ(file["certificate"]["constants"]["loss"], of.loss);
      }
    }
  }
}

TEST(Targets, NoOtherWeightOrRangeVerifiesEvenResealed) {
  const auto backend = support::make_test_backend("reference");
  for (const TargetCase& of : target_cases(60)) {
    for (const char* mechanism : {"output", "path"}) {
      const TargetRun run{mechanism, {2, 1e-4}};
      const auto [model, made] = target_plan(of, run);
      const json file = to_json(fit(model, of.data, made, *backend, Key::from_os()));
      ASSERT_TRUE(verify(file).valid);
      const auto changed = [&](const std::string& what, const std::function<void(json&)>& edit) {
        json other = file;
        edit(other);
        ASSERT_NE(other, file) << what;
        EXPECT_FALSE(verify(sealed_again(other)).valid)
            << of.loss << ", " << mechanism << ": " << what;
      };
      auto& schema = file["model"]["preprocessing"];
      if (of.loss == "poisson") {
        const std::size_t at = 2;
        ASSERT_EQ(schema["columns"][at]["type"], "exposure");
        for (const auto& range :
             {std::pair{0.1, 20.0}, {0.05, 10.0}, {1.0, 100.0}, {0.2, 20.0}, {0.1, 9.0}}) {
          changed("range", [&](json& f) {
            f["model"]["preprocessing"]["columns"][at]["range"] = {range.first, range.second};
          });
        }
        changed("a number",
                [&](json& f) { f["model"]["preprocessing"]["columns"][at]["type"] = "number"; });
        changed("none", [&](json& f) { f["model"]["preprocessing"]["columns"].erase(at); });
        for (const double factor : {0.0, 0.5, 0.999, 1.001, 2.0, -1.0}) {
          changed("offset_bound", [&](json& f) {
            json& bound = f["certificate"]["constants"]["offset_bound"];
            bound = factor * bound.get<double>();
          });
        }
        changed("no bound", [](json& f) { f["certificate"]["constants"].erase("offset_bound"); });
        continue;
      }
      const std::string first = schema["class_weights"].begin().key();
      for (const double weight : {1e-6, 0.5, 1.001, 100.0, 0.0, -1.0}) {
        changed("weight",
                [&](json& f) { f["model"]["preprocessing"]["class_weights"][first] = weight; });
      }
      changed("no weights", [](json& f) { f["model"]["preprocessing"].erase("class_weights"); });
      changed("a class less",
              [&](json& f) { f["model"]["preprocessing"]["class_weights"].erase(first); });
      changed("a class more",
              [](json& f) { f["model"]["preprocessing"]["class_weights"]["other"] = 1; });
      const std::string plain(unweighted_name(of.loss));
      for (const std::string& loss :
           {plain, plain + "(1,0.4)", plain + "(0.5,1)", plain + "(1,1)", plain + "(4,1)"}) {
        changed("loss " + loss, [&](json& f) { f["model"]["loss"] = loss; });
        changed("loss " + loss, [&](json& f) { f["certificate"]["constants"]["loss"] = loss; });
        changed("both " + loss, [&](json& f) {
          f["certificate"]["constants"]["loss"] = f["model"]["loss"] = loss;
        });
      }
    }
  }
}

TEST(Targets, OneRowAndTinyWeightsEndInAModel) {
  const auto backend = support::make_test_backend("cpu");
  for (const std::size_t n : {1U, 3U}) {
    for (TargetCase of : target_cases(n)) {
      if (!class_weights(of.data.schema.label).empty() && of.loss.starts_with("logistic(")) {
        std::get<TwoClasses>(of.data.schema.label).weights = {1e-6, 1};
        of.loss = "logistic(1e-06,1)";
      }
      for (const TargetRun& run : target_runs()) {
        if (is_refused(run, of.loss)) continue;
        const auto [model, made] = target_plan(of, run);
        if (!made.candidate().feasible) continue;
        const Release release = fit(model, of.data, made, *backend, Key::from_os());
        for (const double v : release.model().draws[0])
          EXPECT_TRUE(std::isfinite(v)) << run.mechanism;
        EXPECT_TRUE(verify(release).valid);
      }
    }
  }
}

// A column that is 1 in every row and nothing else.
Dataset constants_alone(const Dataset& like, std::vector<float> y) {
  Dataset data;
  data.schema = like.schema;
  data.schema.columns.front() = {.name = "one", .type = ColumnType::number};
  data.schema.columns.erase(data.schema.columns.begin() + 1);
  data.schema.intercept = false;
  data.dense().assign(y.size(), 1.0F);
  data.y = std::move(y);
  return data;
}

// log-odds = log(w+ n+ / w- n-), and a rate's maximum of likelihood is counts over exposures.
TEST(Targets, MinimaAreTheClosedForms) {
  for (const char* name : {"reference", "cpu"}) {
    const auto backend = support::make_test_backend(name);
    Dataset data = constants_alone(weighted_people(1), {1, 1, 1, -1, -1, -1, -1, -1, -1, -1});
    const auto minimum = [&](const char* loss) {
      const Potential u{.engine = backend->load(data.view(), data.y, loss_named(loss)),
                        .prior_precision = 1e-12};
      return minimize(u, 1e-11).theta;
    };
    EXPECT_NEAR(minimum("logistic(0.4,1)")[0], std::log(3 / (0.4F * 7.0)), 1e-9);
    EXPECT_NEAR(minimum("logistic")[0], std::log(3 / 7.0), 1e-9);

    data = constants_alone(weighted_classes(1), {0, 0, 0, 0, 1, 2, 2});
    const std::vector<double> z = minimum("softmax-3(0.25,1,0.5)");
    EXPECT_NEAR(z[1] - z[0], std::log(1 / (0.25 * 4)), 1e-7);
    EXPECT_NEAR(z[2] - z[0], std::log(0.5 * 2 / (0.25 * 4)), 1e-7);

    data = constants_alone(exposed_counts(1), {0.1F, 0, 0.3F, 0.2F});
    double years = 0, counts = 0;
    data.offset.clear();
    for (std::size_t i = 0; i < 4; ++i) {
      const double e = std::vector<double>{0.1, 2.5, 10, 7}[i];
      data.offset.push_back(data.schema.scaled_exposure(e));
      years += e;
      counts += 10 * static_cast<double>(data.y[i]);
    }
    const std::vector<double> theta = minimum("poisson");
    // N/10 e^z E/hi = E counts/years.
    EXPECT_NEAR(theta[0], std::log(counts / years * 10), 1e-6);
    const LinearModel model{"poisson", data.schema, {theta}, {}, {}};
    const std::vector<double> predicted = predict_amounts(model, data.view());
    EXPECT_NEAR(predicted[1], 2.5 * counts / years, 1e-6);
    EXPECT_NEAR(predicted[2] / predicted[0], 100, 1e-4);
    EXPECT_NEAR(std::exp(original_units(model, theta).intercept +
                         original_units(model, theta).slopes[0].second),
                counts / years, 1e-6);
  }
}

// Two gradients of neighbors, of any two rows: exposures and weights may differ with the rest.
TEST(Targets, NeighborsGradientsDifferByWhatIsPaidFor) {
  for (const TargetCase& of : target_cases(40)) {
    const Problem problem = glm(of.loss).constants(of.data.schema, 40);
    const auto backend = support::make_test_backend("reference");
    const std::size_t d = of.data.features(), K = loss_named(of.loss).outputs();
    double largest = 0;
    for (int at = 0; at < 30; ++at) {
      std::vector<double> theta(d * K);
      for (std::size_t j = 0; j < theta.size(); ++j)
        theta[j] = 20 * std::sin(static_cast<double>(7 * at) + static_cast<double>(3 * j));
      std::vector<std::vector<double>> rows;
      for (std::size_t i = 0; i < 40; ++i) {  // each row alone
        Rows one(of.data.dense().data() + i * d, 1, d);
        if (!of.data.offset.empty()) one.offset = of.data.offset.data() + i;
        std::vector<double> g(d * K);
        backend->load(one, {&of.data.y[i], 1}, loss_named(of.loss))->plain_gradient(theta, g);
        rows.push_back(std::move(g));
      }
      for (std::size_t a = 0; a < 40; ++a) {
        for (std::size_t b = 0; b < a; ++b) {
          double squares = 0;
          for (std::size_t j = 0; j < d * K; ++j)
            squares += (rows[a][j] - rows[b][j]) * (rows[a][j] - rows[b][j]);
          largest = std::max(largest, std::sqrt(squares));
        }
      }
    }
    EXPECT_LE(largest, problem.sensitivity_up(1, Adjacency::replace_one, 1)) << of.loss;
    EXPECT_GT(largest, 0.5) << of.loss;
  }
}

TEST(Targets, AnOffsetOutsideOfItsRangeIsRefused) {
  const auto backend = support::make_test_backend("cpu");
  for (const float bad : {-4.7F, 0x1p-10F, 5.0F, std::nanf("")}) {
    TargetCase of{"poisson", exposed_counts(20)};
    of.data.offset[4] = bad;
    const auto [model, made] = target_plan(of, target_runs()[3]);
    const bool legal = std::fabs(bad) <= of.data.schema.offset_bound();
    if (legal) continue;
    try {
      static_cast<void>(fit(model, of.data, made, *backend, Key::from_os()));
      ADD_FAILURE() << bad;
    } catch (const BadInput& error) {
      EXPECT_THAT(error.what(), HasSubstr("row 5 has an exposure outside of its range"));
    }
  }
  for (const std::size_t given : {0U, 1U, 19U, 21U}) {
    TargetCase of{"poisson", exposed_counts(20)};
    of.data.offset.resize(given, -1.0F);
    const std::pair<Model, Plan> run = target_plan(of, target_runs()[3]);
    EXPECT_THAT(
        [&] { static_cast<void>(fit(run.first, of.data, run.second, *backend, Key::from_os())); },
        ::testing::ThrowsMessage<BadInput>(
            HasSubstr(fmt::format("has {} exposures of 20 rows", given))));
  }
  // A schema without an exposure column refuses a table that has exposures.
  TargetCase of{"poisson", exposed_counts(20)};
  of.data.schema.columns.pop_back();
  const auto [model, made] = target_plan(of, target_runs()[3]);
  EXPECT_THROW(static_cast<void>(fit(model, of.data, made, *backend, Key::from_os())), BadInput);
}

TEST(Targets, WeightsLeaveALossOfAnotherLabelItsName) {
  const Dataset data = weighted_people(10);
  EXPECT_THAT(
      [&] { static_cast<void>(glm("huber").constants(data.schema, 10)); },
      ::testing::ThrowsMessage<BadInput>(AllOf(HasSubstr("huber"), Not(HasSubstr("huber(")))));
}

}  // namespace targets_test
}  // namespace gibbsite
