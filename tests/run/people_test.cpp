// People whose rows count together, end to end: the mechanisms that take them run and verify, no
// edit of what a file says of them does, nothing of a release follows from how many rows there are,
// and neighbors of 0 to a million rows are as near as is paid for.
#include "support/people.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Core>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <numbers>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "certificate/model_json.hpp"
#include "engine/class_contrasts.hpp"
#include "engine/people_scores.hpp"
#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/summation.hpp"
#include "gibbsite/model/family_model.hpp"
#include "gibbsite/model/linear_model.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "gibbsite/run/fit.hpp"
#include "gibbsite/run/plan_chosen.hpp"
#include "gibbsite/run/plan_request.hpp"
#include "run/example.hpp"
#include "support/backend.hpp"
#include "support/repeats.hpp"

namespace gibbsite {
namespace people_test {

using nlohmann::json;
using ::testing::HasSubstr;

/// Rows of people, the first with `rows_of_first` rows, the others with 1 to 4.
Dataset people_of(std::size_t n, std::size_t rows_of_first, std::uint64_t k, bool middle = false) {
  std::vector<std::uint32_t> places(rows_of_first, 0);
  for (std::uint32_t person = 1; person < n; ++person)
    places.insert(places.end(), 1 + person % 4, person);
  Dataset data = support::people(places.size(), 2, 11);
  if (middle) data.schema.invalid = Invalid::middle;
  data.group(places);
  data.hold_people(k);
  return data;
}

PlanRequest request_of(const std::string& mechanism, std::uint64_t k = 1) {
  PlanRequest out;
  out.mechanism = mechanism;
  out.epsilon = 2;
  out.delta = 1e-4;
  out.rows_per_person = k;
  return out;
}

TEST(PeopleOfRows, RunAndTheirFilesVerify) {
  const auto backend = support::make_test_backend("cpu");
  for (const char* mechanism : {"auto", "path", "metric-path", "whitened"}) {
    for (const std::uint64_t k : {1U, 3U}) {
      for (const bool add_remove : {false, true}) {
        SCOPED_TRACE(fmt::format("{}, {}, {}", mechanism, k, add_remove));
        const Dataset data = people_of(80, 5, k);
        PlanRequest request = request_of(mechanism, k);
        if (add_remove) request.adjacency = "add-remove", request.rows_cap = 100;
        const Plan made = plan_chosen(request, data.schema, data.counted(), budget_of(request));
        ASSERT_TRUE(made.candidate().feasible) << made.candidate().why;
        const Release release = fit(model_of(request, made), data, made, *backend, Key::from_os());
        const json file = json::parse(to_json(release).dump());
        const Verification found = verify(file);
        EXPECT_TRUE(found.valid) << ::testing::PrintToString(found.failures);
        const json& constants = file["certificate"]["constants"];
        EXPECT_EQ(constants["people"], add_remove ? 100 : 80);
        EXPECT_EQ(constants["rows_of_person"], k);
        EXPECT_FALSE(constants.contains("rows"));
        EXPECT_THAT(in_words(release.certificate()), HasSubstr("number of people"));
        EXPECT_THAT(file["certificate"]["assumptions"].dump(),
                    HasSubstr("every person has one id"));
      }
    }
  }
}

// One key, so what differs is what a table decides: draws alone.
TEST(PeopleOfRows, AreAllThatAReleaseSaysOfTheirNumber) {
  const auto backend = support::make_test_backend("cpu");
  for (const char* mechanism : {"path", "metric-path", "whitened"}) {
    std::vector<json> files;
    for (const std::size_t rows : {1U, 2U, 5000U}) {
      const Dataset data = people_of(80, rows, 1);
      const PlanRequest request = request_of(mechanism);
      const Plan made = plan_chosen(request, data.schema, data.counted(), budget_of(request));
      json file = to_json(fit(model_of(request, made), data, made, *backend, Key::from_seed(7)));
      for (const char* part : {"draws", "coefficients", "original_units", "intercept",
                               "feature_means"})  // which follow from the answers
        file["model"].erase(part);
      file["certificate"].erase("digest");
      files.push_back(std::move(file));
    }
    EXPECT_EQ(files[0], files[1]) << json::diff(files[0], files[1]);
    EXPECT_EQ(files[0], files[2]) << json::diff(files[0], files[2]);
  }
}

TEST(PeopleOfRows, NothingElseSaidOfThemVerifiesEvenResealed) {
  const auto backend = support::make_test_backend("cpu");
  for (const char* mechanism : {"path", "whitened"}) {
    const Dataset data = people_of(80, 5, 2);
    const PlanRequest request = request_of(mechanism, 2);
    const Plan made = plan_chosen(request, data.schema, data.counted(), budget_of(request));
    const json file = to_json(fit(model_of(request, made), data, made, *backend, Key::from_os()));
    ASSERT_TRUE(verify(file).valid);
    const auto changed = [&](const std::string& what, const std::function<void(json&)>& edit) {
      json other = file;
      edit(other);
      other["certificate"]["digest"] = file_digest(other);
      EXPECT_FALSE(verify(other).valid) << mechanism << ": " << what;
    };
    const std::size_t last = file["model"]["preprocessing"]["columns"].size() - 1;
    ASSERT_EQ(file["model"]["preprocessing"]["columns"][last]["type"], "person");
    const auto constants = [](json& f) -> json& { return f["certificate"]["constants"]; };
    changed("rows", [&](json& f) {
      constants(f)["rows"] = constants(f)["people"];
      constants(f).erase("people");
      constants(f).erase("rows_of_person");
    });
    changed("of one row", [&](json& f) { constants(f)["rows_of_person"] = 1; });
    changed("of fewer", [&](json& f) {
      f["certificate"]["guarantee"]["rows_per_person"] = 1;
      constants(f)["rows_of_person"] = 1;
    });
    changed("guaranteed for more",
            [&](json& f) { f["certificate"]["guarantee"]["rows_per_person"] = 3; });
    changed("not weighted", [&](json& f) { constants(f).erase("weighted"); });
    changed("no column", [&](json& f) { f["model"]["preprocessing"]["columns"].erase(last); });
    for (const char* type : {"ignore", "weight", "category"})
      changed(type, [&](json& f) { f["model"]["preprocessing"]["columns"][last]["type"] = type; });
    changed("no assumption", [&](json& f) { f["certificate"]["assumptions"].erase(0); });
  }
}

TEST(PeopleOfRows, AreRefusedWhereNoProofIsOfThem) {
  const Dataset data = people_of(400, 5, 1);
  for (const std::string_view name : mechanism_names()) {
    const bool taken = name == "path" || name == "metric-path" || name == "whitened";
    const PlanRequest request = request_of(std::string(name));
    const Plan made = plan_chosen(request, data.schema, data.counted(), budget_of(request));
    EXPECT_EQ(made.candidate().feasible, taken) << name << ": " << made.candidate().why;
    if (!taken) {
      EXPECT_THAT(made.candidate().why.text(), HasSubstr("no proof for people")) << name;
      // Nor by a certificate's settings, whoever wrote them.
      Problem rows = made.problem;
      rows.rows_of_person = 0;
      const Plan of_rows = plan(rows, budget_of(request), {.mechanism = std::string(name)});
      EXPECT_THROW(static_cast<void>(analyze(of_rows.candidate().mechanism, made.problem,
                                             budget_of(request).neighbors(), 1)),
                   BadInput)
          << name;
    }
  }
  EXPECT_THROW(family_schema(data.schema, "x0"), BadInput);

  // Plans of others than who was held.
  const auto backend = support::make_test_backend("cpu");
  const auto run = [&](const Dataset& table, std::uint64_t people, std::uint64_t k) {
    const PlanRequest request = request_of("path", k);
    const Plan made = plan_chosen(request, table.schema, people, budget_of(request));
    return fit(model_of(request, made), table, made, *backend, Key::from_os());
  };
  EXPECT_NO_THROW(static_cast<void>(run(data, 400, 1)));
  EXPECT_THROW(static_cast<void>(run(data, data.rows(), 1)), BadInput);
  EXPECT_THROW(static_cast<void>(run(data, 400, 2)), BadInput);
  Dataset unheld = support::people(20, 2, 11);
  unheld.group(std::vector<std::uint32_t>(20, 3));
  EXPECT_THROW(static_cast<void>(run(unheld, 1, 1)), BadInput);
  Dataset unsaid = data;
  unsaid.schema.columns.pop_back();
  EXPECT_THROW(static_cast<void>(run(unsaid, 400, 1)), BadInput);
  Problem problem = glm("logistic").constants(data.schema, 400);
  EXPECT_TRUE(problem.of_people());
  EXPECT_THROW(
      static_cast<void>(plan(problem, {.epsilon = 1, .delta = 1e-5, .rows_per_person = 2})),
      BadInput);
}

TEST(PeopleOfRows, AreBoundedByPublicNumbers) {
  Problem problem = glm("logistic").constants(people_of(100, 5, 4).schema, 100);
  problem.rows_of_person = 4;
  Problem of_rows = problem;
  of_rows.rows_of_person = 0, of_rows.rows = 400;
  EXPECT_EQ(problem.most_weight_up(), 400);
  EXPECT_EQ(problem.smoothness_up(2, 1), of_rows.smoothness_up(2, 1));
  EXPECT_EQ(problem.minimizer_distance_up(2, 1), of_rows.minimizer_distance_up(2, 1));
  EXPECT_EQ(problem.most_rows(), std::uint64_t{1} << 40);
  EXPECT_EQ(accumulation_depth(problem.most_rows()), 1024U + 30 + 64);
  // More roundings are paid for than of rows that are counted.
  const LangevinSteps steps{1, 1, 1e-3, 10, 0};
  EXPECT_GT(map_bounds_up(problem, steps).map_error, map_bounds_up(of_rows, steps).map_error);
}

struct Law {
  double mean = 0, variance = 1;
};

// delta(epsilon) of P against Q, normals in one dimension, by a sum over a fine grid.
double delta_of(const Law& p, const Law& q, double epsilon) {
  const double sd = std::sqrt(p.variance);
  constexpr int points = 40'000;
  double out = 0;
  for (int i = 0; i < points; ++i) {
    const double z = -14 + 28.0 * (i + 0.5) / points, x = p.mean + sd * z;
    const double away = x - q.mean;
    const double log_p = -z * z / 2 - std::log(p.variance) / 2,
                 log_q = -away * away / (2 * q.variance) - std::log(q.variance) / 2;
    const double gain = 1 - std::exp(epsilon + log_q - log_p);
    if (gain > 0)
      out += gain * std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi) * 28.0 / points;
  }
  return out;
}

// The law of a whole chain in one dimension, exactly: where the loss is a parabola each step is
// theta -> a theta + b + noise, with a and b of the engine's own sums over the table.
class PathOfPeople {
 public:
  PathOfPeople(std::uint64_t k, bool add_remove, bool holds) : k_(k), holds_(holds) {
    request_ = request_of("path", k);
    request_.model = "huber";
    request_.epsilon = 1;
    if (add_remove) request_.adjacency = "add-remove", request_.rows_cap = others + 1;
    plan_ = plan_chosen(request_, table(1, 1).schema, others + 1, budget_of(request_));
  }

  [[nodiscard]] const Plan& plan() const { return plan_; }
  /// The others' rows, and m of one person with that label.
  [[nodiscard]] Law law(std::size_t m, float y) const {
    const Dataset data = table(m, y);
    const auto backend = support::make_test_backend("cpu");
    const auto engine = backend->load(data.view(), data.y, loss_named("huber"));
    std::vector<double> at{0, 0x1p-4}, out(2);
    engine->loss_gradients({at.data(), 2, 1}, {out.data(), 2, 1});
    const auto& s = std::get<Path>(plan_.candidate().mechanism);
    const double curvature = s.beta * (out[1] - out[0]) / at[1] + s.prior_precision;
    const double a = 1 - s.step_size * curvature, b = -s.step_size * s.beta * out[0];
    Law found{0, 0};
    for (int t = 0; t < static_cast<int>(s.iterations); ++t) {
      found.mean = a * found.mean + b;
      found.variance = a * a * found.variance + 2 * s.step_size;
    }
    return found;
  }

 private:
  static constexpr std::uint32_t others = 60;

  [[nodiscard]] Dataset table(std::size_t m, float y) const {
    std::vector<std::uint32_t> places(m, others);
    for (std::uint32_t person = 0; person < others; ++person)
      places.insert(places.begin(), 1 + person % 3, person);
    Dataset data = support::amounts(places.size(), 1, 3);
    data.schema.intercept = false;
    data.schema.row_norm = 1;
    data.dense().assign(places.size(), 1.0F);
    for (std::size_t i = 0; i < places.size(); ++i)
      data.y[i] = places[i] == others ? y : places[i] % 2 == 0 ? 0.5F : -0.5F;
    // Under add-remove nobody has the last place where m is 0.
    data.group(places);
    data.hold_people(k_);
    if (!holds_) data.weight.assign(places.size(), 1.0F);
    return data;
  }

  std::uint64_t k_;
  bool holds_;
  PlanRequest request_;
  Plan plan_;
};

TEST(PeopleOfRows, NeighborsInOneDimensionAreAsNearAsIsPaidFor) {
  if (support::sanitized) GTEST_SKIP() << "a release tells";
  for (const std::uint64_t k : {1U, 3U}) {
    for (const bool add_remove : {false, true}) {
      double most = 0;
      const PathOfPeople chain(k, add_remove, true);
      ASSERT_TRUE(chain.plan().candidate().feasible);
      const double mu = chain.plan().candidate().guarantee.mu;
      const Law nobody = add_remove ? chain.law(0, 0) : Law{};
      std::vector<Law> laws;
      for (const std::size_t m : std::vector<std::size_t>{1, k, k + 1, 1000, 1'000'000})
        for (const float y : {-1.0F, 0.0F, 1.0F}) laws.push_back(chain.law(m, y));
      for (const Law& one : laws) {
        for (const Law& other : add_remove ? std::vector<Law>{nobody} : laws) {
          for (const double epsilon : {0.0, 0.3, 1.0}) {
            const double paid = gdp_delta_up(epsilon, mu);
            EXPECT_LE(delta_of(one, other, epsilon), paid * 1.0001) << k << add_remove;
            EXPECT_LE(delta_of(other, one, epsilon), paid * 1.0001) << k << add_remove;
            if (epsilon == 0) most = std::max(most, delta_of(one, other, epsilon) / paid);
          }
        }
      }
      EXPECT_GT(most, 0.2) << k << add_remove;  // a parabola has slopes below the largest
      // Rows that nothing holds together would be seen.
      const PathOfPeople each(k, add_remove, false);
      const Law far = each.law(20 * k, 1), near = add_remove ? nobody : each.law(20 * k, -1);
      EXPECT_GT(delta_of(far, near, 1), 10 * gdp_delta_up(1, mu));
    }
  }
}

// The questions themselves, asked of the longest rows there may be: sums of gradients and of second
// moments move by no more than their noise is scaled to, of 0 to a million rows.
TEST(PeopleOfRows, MoveEveryQuestionByAsMuchAsIsPaidFor) {
  if (support::sanitized) GTEST_SKIP() << "a release tells";
  const auto backend = support::make_test_backend("cpu");
  for (const std::uint64_t k : {1U, 3U}) {
    const auto sums = [&](std::size_t m, float x, float y) {
      std::vector<std::uint32_t> places(m, 40);
      for (std::uint32_t person = 0; person < 40; ++person) places.push_back(person);
      Dataset data = support::people(places.size(), 1, 3);
      data.schema.row_norm = 1;
      for (std::size_t i = 0; i < m; ++i) data.dense()[2 * i] = x, data.y[i] = y;
      for (std::size_t i = m; i < places.size(); ++i) data.dense()[2 * i] = 0, data.y[i] = 1;
      data.group(places);
      data.hold_people(k);
      const auto engine = backend->load(data.view(), data.y, loss_named("logistic"));
      const std::vector<double> eye{1, 0, 0, 1}, theta{8, 0};
      std::vector<double> moments(4), gradient(2);
      engine->second_moments({eye.data(), 2, 2}, std::numbers::sqrt2, {moments.data(), 2, 2});
      engine->loss_gradients({theta.data(), 1, 2}, {gradient.data(), 1, 2});
      return std::pair(moments, gradient);
    };
    const auto apart = [](const std::vector<double>& a, const std::vector<double>& b) {
      double squared = 0;
      for (std::size_t i = 0; i < a.size(); ++i) squared += (a[i] - b[i]) * (a[i] - b[i]);
      return std::sqrt(squared);
    };
    const auto paid = static_cast<double>(k);
    std::vector<std::pair<std::vector<double>, std::vector<double>>> all;
    for (const std::size_t m : std::vector<std::size_t>{1, k, k + 1, 777, 1'000'000})
      for (const float x : {0.0F, 1.0F})
        for (const float y : {-1.0F, 1.0F}) all.push_back(sums(m, x, y));
    const auto none = sums(0, 0, 0);
    double most = 0, most_moments = 0;
    for (const auto& one : all) {
      EXPECT_LE(apart(one.first, none.first), paid * 2 * (1 + 1e-9));  // k R^2, R^2 = 2
      EXPECT_LE(apart(one.second, none.second), paid * std::numbers::sqrt2 * (1 + 1e-9));
      for (const auto& other : all) {
        EXPECT_LE(apart(one.first, other.first), paid * 2 * std::numbers::sqrt2 * (1 + 1e-9));
        EXPECT_LE(apart(one.second, other.second), paid * 2 * std::numbers::sqrt2 * (1 + 1e-9));
        most = std::max(most, apart(one.second, other.second) / paid);
        most_moments = std::max(most_moments, apart(one.first, other.first) / paid);
      }
    }
    EXPECT_GT(most, 1.4);
    EXPECT_GT(most_moments, 1.7);
  }
}

// The question of people's scores, asked of rows that reach their caps: one person with 0 to
// 100,000 rows of any kind moves it by no more than its noise is scaled to, k^2 times a row's.
TEST(PeopleOfRows, MoveTheirScoresMomentsByAsMuchAsIsPaidFor) {
  const auto backend = support::make_test_backend("cpu");
  constexpr double clip = 0.4;
  const std::vector<double> eye{1, 0, 0, 1}, theta{3, -1};
  for (const std::uint64_t k : {1U, 3U}) {
    const auto longest = static_cast<double>(k) * clip;
    const auto moments = [&](std::size_t m, float x, float y, bool holds = true,
                             double most = std::numeric_limits<double>::infinity()) {
      std::vector<std::uint32_t> places(m, 40);
      for (std::uint32_t person = 0; person < 40; ++person) places.push_back(person);
      Dataset data = support::people(places.size(), 1, 3);
      for (std::size_t i = 0; i < places.size(); ++i) {
        data.dense()[2 * i] = i < m ? x : 0.25F;
        data.y[i] = i >= m ? 1 : x == 0.5F && i % 2 == 1 ? -y : y;
      }
      data.group(places);
      data.hold_people(k);
      if (!holds) data.weight.assign(places.size(), 1.0F);
      const auto engine = backend->load(data.view(), data.y, loss_named("logistic"));
      std::vector<double> out(4);
      people_score_moments(*engine, {eye.data(), 2, 2}, {.clip = clip}, theta,
                           {data.person, Dataset::nobody, std::min(most, longest)},
                           {out.data(), 2, 2});
      return out;
    };
    const auto apart = [](const std::vector<double>& a, const std::vector<double>& b) {
      double squared = 0;
      for (std::size_t i = 0; i < a.size(); ++i) squared += (a[i] - b[i]) * (a[i] - b[i]);
      return std::sqrt(squared);
    };
    const std::vector<double> none = moments(0, 0, 0);
    std::vector<std::vector<double>> all;
    for (const std::size_t m : std::vector<std::size_t>{1, k, k + 1, 777, 100'000})
      for (const float x : {-40.0F, 0.0F, 0.5F, 1.0F, 40.0F})
        for (const float y : {-1.0F, 1.0F}) all.push_back(moments(m, x, y));
    double most = 0, most_of_one = 0;
    const double paid = longest * longest;
    for (const auto& one : all) {
      EXPECT_LE(apart(one, none), paid * (1 + 1e-12));
      most_of_one = std::max(most_of_one, apart(one, none));
      for (const auto& other : all) {
        EXPECT_LE(apart(one, other), paid * std::numbers::sqrt2 * (1 + 1e-12));
        most = std::max(most, apart(one, other));
      }
    }
    EXPECT_GT(most_of_one, 0.99 * paid);
    EXPECT_GT(most, 1.3 * paid);
    // Even rows that no weight holds together: the sum is held again.
    EXPECT_LE(apart(moments(777, 40, -1, false), none), paid * (1 + 1e-12));
    // k times what one row does, in place of k^2, would not be enough.
    EXPECT_GE(most, 0.9 * std::numbers::sqrt2 * paid);
  }
}

// Likewise of three classes, in contrasts: hill climbing over two neighbors, each a number of rows
// of one kind with labels in turn and a weight of their own, finds nothing beyond what is paid for,
// and comes near to it. Rows that nothing holds together, whose sum is not held again, or whose
// weights are left out of the question, go far beyond.
class ScoresOfOneOfClasses {
 public:
  explicit ScoresOfOneOfClasses(std::uint64_t k) : k_(k) {}

  enum class Planted { none, rows_not_held, weights_left_out, sums_not_held };
  struct One {
    std::size_t rows = 1;
    float x = 0, weight = 1;
    int label = 0;  ///< of all rows, or from 3 one after another
  };
  [[nodiscard]] double paid() const { return static_cast<double>(k_ * k_) * clip * clip; }

  // Second moments in units of what is paid for.
  [[nodiscard]] std::vector<double> moments(const One& one, Planted planted) const {
    std::vector<std::uint32_t> places(one.rows, 5);
    for (std::uint32_t person = 0; person < 5; ++person) places.push_back(person);
    Dataset data = support::class_people(places.size(), 1, 3, 3);
    for (std::size_t i = 0; i < places.size(); ++i) {
      data.dense()[2 * i] = i < one.rows ? one.x : 0.25F;
      data.y[i] = static_cast<float>(i >= one.rows   ? 1
                                     : one.label < 3 ? static_cast<std::size_t>(one.label)
                                                     : i % 3);
    }
    std::vector<double> weights(places.size(), 1.0);
    const bool weighted = planted != Planted::weights_left_out;
    for (std::size_t i = 0; i < one.rows; ++i) weights[i] = static_cast<double>(one.weight);
    data.weigh(weights, 1);
    data.group(places);
    data.hold_people(k_);
    if (!weighted || planted == Planted::rows_not_held) data.weight.assign(places.size(), 1.0F);
    const double none = std::numeric_limits<double>::infinity();
    const double longest = planted == Planted::none || planted == Planted::rows_not_held
                               ? static_cast<double>(k_) * clip
                               : none;
    const auto engine = backend_->load(data.view(), data.y, loss_named("softmax-3"));
    std::vector<double> out(16);
    people_score_moments(*engine, {eye_.data(), 2, 2}, {.clip = clip}, theta_,
                         {data.person, Dataset::nobody, longest}, {out.data(), 4, 4});
    for (double& v : out) v /= paid();
    return out;
  }
  // The largest distance of two that hill climbing finds.
  [[nodiscard]] double climb(Planted planted, unsigned seed) const {
    std::mt19937 bits(seed);
    const auto pick = [&](const One& from) {
      One out = from;
      const std::vector<std::size_t> counts{1, k_, k_ + 1, 2 * k_ + 5, 60};
      const auto chance = bits() % 4;
      if (chance == 0) out.rows = counts[bits() % counts.size()];
      if (chance == 1) out.x = static_cast<float>(std::normal_distribution<double>(0, 9)(bits));
      if (chance == 2) out.weight = std::min(1.0F, static_cast<float>(bits() % 5) / 3);
      if (chance == 3) out.label = static_cast<int>(bits() % 4);
      return out;
    };
    One one[2] = {{.rows = 60, .x = 1}, {.x = -1, .label = 2}};
    std::vector<double> of[2] = {moments(one[0], planted), moments(one[1], planted)};
    double best = 0;
    for (int step = 0; step < support::repeats(300, 20); ++step) {
      const auto which = bits() % 2;
      const One moved = pick(one[which]);
      std::vector<double> of_moved = moments(moved, planted);
      double squared = 0;
      for (std::size_t i = 0; i < of_moved.size(); ++i)
        squared += std::pow(of_moved[i] - of[1 - which][i], 2);
      if (squared < best) continue;
      best = squared, one[which] = moved, of[which] = std::move(of_moved);
    }
    return std::sqrt(best);
  }

 private:
  static constexpr double clip = 0.4;
  std::uint64_t k_;
  std::unique_ptr<Backend> backend_ = support::make_test_backend("cpu");
  std::vector<double> eye_{1, 0, 0, 1}, theta_{3, -1, -2, 0.5, 0.3, 0.4};
};
TEST(PeopleOfRows, OfClassesMoveTheirScoresMomentsByAsMuchAsIsPaidFor) {
  using Planted = ScoresOfOneOfClasses::Planted;
  for (const std::uint64_t k : {1U, 3U}) {
    const ScoresOfOneOfClasses person(k);
    double most = 0;
    for (unsigned seed = 0; seed < 4; ++seed)
      most = std::max(most, person.climb(Planted::none, seed));
    EXPECT_LE(most, std::numbers::sqrt2 * (1 + 1e-12)) << k;
    EXPECT_GT(most, 1.3) << k;
    // Even rows that no weight holds together: the sum is held again.
    EXPECT_LE(person.climb(Planted::rows_not_held, 1), std::numbers::sqrt2 * (1 + 1e-12)) << k;
    EXPECT_GT(person.climb(Planted::weights_left_out, 1), 5) << k;
    // Held rows alone keep their sum within rounding.
    EXPECT_LE(person.climb(Planted::sums_not_held, 1), std::numbers::sqrt2 * (1 + 1e-5)) << k;
  }
}

// The information of a person with more rows than count: that of each row is held to the row's
// share of B, and so theirs to B. Held to B alone, a factor rounded up leaves B behind in every
// fifth table, by up to 2e-7 of it.
TEST(PeopleOfRows, HaveInformationWithinWhatIsPaidFor) {
  constexpr double clip = 1, limit = 0.25;
  const std::vector<double> eye{1, 0, 0, 1}, theta{0, 0};
  for (const char* name : {"cpu", "reference"}) {
    const auto backend = support::make_test_backend(name);
    double largest = 0;
    for (std::uint32_t table = 0; table < 400; ++table) {
      const std::uint32_t m = 2 + table % 7;
      Dataset data = support::people(m, 1, 3);
      for (std::uint32_t i = 0; i < m; ++i) {
        data.dense()[2 * i] = 2 + static_cast<float>((table * 29 + 1) % 101) / 17;
        data.dense()[2 * i + 1] = 1 + static_cast<float>(table % 13) / 7;
      }
      data.group(std::vector<std::uint32_t>(m, 0));
      data.hold_people(1);
      const auto engine = backend->load(data.view(), data.y, loss_named("logistic"));
      std::vector<double> out(4);
      engine->capped_loss({eye.data(), 2, 2}, {.clip = clip, .information = limit})
          ->information(theta, {out.data(), 2, 2});
      largest = std::max(largest, out[0] + out[3]);
    }
    EXPECT_LE(largest, limit * clip * clip * (1 + 1e-12)) << name;
    EXPECT_GT(largest, limit * clip * clip * (1 - 1e-5)) << name;
  }
}

// Likewise of three classes: over all pairs of them the traces' squares add up to at most B^2.
TEST(PeopleOfRows, OfClassesHaveInformationWithinWhatIsPaidFor) {
  constexpr double clip = 1, limit = 0.25;
  const std::vector<double> eye{1, 0, 0, 1}, theta(6, 0.0);
  for (const char* name : {"cpu", "reference"}) {
    const auto backend = support::make_test_backend(name);
    double largest = 0;
    for (std::uint32_t table = 0; table < 400; ++table) {
      const std::uint32_t m = 2 + table % 7;
      Dataset data = support::class_people(m, 1, 3, 3);
      for (std::uint32_t i = 0; i < m; ++i) {
        data.dense()[2 * i] = 2 + static_cast<float>((table * 29 + 1) % 101) / 17;
        data.dense()[2 * i + 1] = 1 + static_cast<float>(table % 13) / 7;
      }
      data.group(std::vector<std::uint32_t>(m, 0));
      data.hold_people(1);
      const auto engine = backend->load(data.view(), data.y, loss_named("softmax-3"));
      const auto capped = engine->capped_loss({eye.data(), 2, 2}, {clip, limit});
      double squares = 0;
      for (const ClassPair& pair : class_pairs(3)) {
        std::vector<double> out(4);
        capped->information_between(theta, pair, {out.data(), 2, 2});
        for (const double v : out) squares += v * v;
      }
      largest = std::max(largest, std::sqrt(squares));
    }
    EXPECT_LE(largest, limit * clip * clip * (1 + 1e-12)) << name;
    EXPECT_GT(largest, limit * clip * clip * (1 - 1e-5)) << name;
  }
}

// Squares of each person's own gradient, wherever their rows lie.
TEST(PeopleOfRows, HaveScoresThatAreTheirOwnGradients) {
  const auto backend = support::make_test_backend("cpu");
  constexpr double clip = 0.7;
  const std::vector<double> P{0.5, 0.1, -0.3, 1, 0.2, 0.4};
  const MatrixView<const double> metric{P.data(), 3, 2};
  for (const std::string loss : {"logistic", "huber", "softmax-3"}) {
    const Eigen::Index K = loss == "softmax-3" ? 3 : 1;
    const std::size_t size = K == 3 ? 4 : 2;
    const std::vector<double> theta =
        K == 3 ? std::vector<double>{1, -2, 0.5, 0, 0.7, -0.2, -1, 0.4, 0.1}
               : std::vector<double>{1, -2, 0.5};
    const Eigen::MatrixXd C = K == 3 ? class_contrasts(K) : Eigen::MatrixXd::Ones(1, 1);
    std::vector<std::uint32_t> places(60);
    for (std::uint32_t i = 0; i < 60; ++i) places[i] = (7 * i) % 11;
    Dataset data = K == 3 ? support::class_people(60, 2, 3, 5) : support::people(60, 2, 5);
    data.group(places);
    data.hold_people(2);
    const auto engine = backend->load(data.view(), data.y, loss_named(loss));
    std::vector<double> found(size * size), expected(size * size);
    people_score_moments(*engine, metric, {.clip = clip}, theta,
                         {data.person, Dataset::nobody, 2 * clip}, {found.data(), size, size});
    for (std::uint32_t person = 0; person < 11; ++person) {
      Dataset own = data;
      own.dense().clear(), own.y.clear(), own.weight.clear();
      for (std::size_t i = 0; i < 60; ++i) {
        if (places[i] != person) continue;
        own.dense().insert(own.dense().end(), &data.dense()[3 * i], &data.dense()[3 * i] + 3);
        own.y.push_back(data.y[i]);
        own.weight.push_back(data.weight[i]);
      }
      const auto alone = backend->load(own.view(), own.y, loss_named(loss));
      std::vector<double> gradient(theta.size()), v(size);
      alone->capped_loss(metric, {.clip = clip})->gradient(theta, gradient);
      for (std::size_t a = 0; a < size; ++a)  // contrast a / 2, coordinate a % 2
        for (std::size_t j = 0; j < theta.size(); ++j)
          v[a] += C(static_cast<Eigen::Index>(j / 3), static_cast<Eigen::Index>(a / 2)) *
                  gradient[j] * P[2 * (j % 3) + a % 2];
      for (std::size_t a = 0; a < size; ++a)
        for (std::size_t b = 0; b < size; ++b) expected[size * a + b] += v[a] * v[b];
    }
    double trace = 0;
    for (std::size_t a = 0; a < size; ++a) trace += expected[size * a + a];
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i], expected[i], 1e-5 * trace) << loss;
  }
}

// A person whose row is there ten times tells as much as once: the same key gives the same
// estimates, and intervals that are no narrower. By rows they would be by the root of ten.
TEST(PeopleOfRows, HaveIntervalsThatCopiesOfTheirRowsDoNotNarrow) {
  const auto backend = support::make_test_backend("cpu");
  for (const std::string model : {"logistic", "huber", "softmax"}) {
    const std::size_t outputs = model == "softmax" ? 3 : 1;
    const auto deviations = [&](std::uint32_t copies) {
      const std::size_t people = 2000;
      Dataset once = model == "huber" ? support::amounts(people, 2, 11)
                     : outputs == 3   ? support::class_people(people, 2, 3, 11)
                                      : support::people(people, 2, 11);
      Dataset data = once;
      data.dense().clear(), data.y.clear();
      std::vector<std::uint32_t> places;
      for (std::uint32_t copy = 0; copy < copies; ++copy) {
        for (std::uint32_t i = 0; i < people; ++i) {
          data.dense().insert(data.dense().end(), &once.dense()[3 * i], &once.dense()[3 * i] + 3);
          data.y.push_back(once.y[i]);
          places.push_back(i);
        }
      }
      data.group(places);
      data.hold_people(1);
      PlanRequest request = request_of("whitened");
      request.model = model;
      request.intervals = true;
      request.epsilon = 20;
      const Plan made = plan_chosen(request, data.schema, data.counted(), budget_of(request));
      EXPECT_TRUE(made.candidate().feasible) << made.candidate().why;
      const Release release = fit(model_of(request, made), data, made, *backend, Key::from_seed(7));
      std::vector<double> out;
      if (!release.model().estimates) return out;
      const std::vector<double>& covariance = release.model().estimates->covariance;
      for (std::size_t a = 0, at = 0; a < 3 * outputs; at += ++a + 1)
        out.push_back(std::sqrt(covariance[at]));
      return out;
    };
    const std::vector<double> one = deviations(1), ten = deviations(10);
    ASSERT_EQ(one.size(), 3 * outputs) << model;
    ASSERT_EQ(ten.size(), 3 * outputs) << model;
    for (std::size_t a = 0; a < one.size(); ++a)
      EXPECT_NEAR(ten[a], one[a], 0.02 * one[a]) << model;
  }
}

}  // namespace people_test
}  // namespace gibbsite
