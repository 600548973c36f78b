// Intervals of whitened: that they follow from released numbers alone, and that errors are as large
// as they say.
#include "run/intervals.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "gibbsite/core/error.hpp"
#include "gibbsite/release/predict.hpp"
#include "gibbsite/run/fit.hpp"
#include "tests/support/backend.hpp"
#include "tests/support/people.hpp"
#include "tests/support/repeats.hpp"
#include "tests/support/temp_dir.hpp"

namespace gibbsite {
namespace intervals_test {

using support::people;
using testing::TempDir;

Release fit_with(const Dataset& data, const Budget& budget, std::uint64_t seed, FitOptions options,
                 std::uint64_t cap = 0, const char* mechanism = "whitened") {
  options.intervals = true;
  const Plan made = plan(logistic_regression().constants(data.schema, cap > 0 ? cap : data.rows()),
                         budget, {.mechanism = mechanism});
  const auto backend = support::make_test_backend("cpu");
  return fit(logistic_regression(), data, made, *backend, Key::from_seed(seed), options);
}

// A function of answers and public numbers: not of the rows, not of threads.
TEST(Intervals, FollowFromTheAnswersAlone) {
  const Dataset data = people(500, 3, 7);
  FitOptions keep;
  keep.release_answers = true;
  const Release release = fit_with(data, {.epsilon = 1, .delta = 1e-6}, 3, keep);
  const LinearModel& model = release.model();
  ASSERT_TRUE(model.intervals);
  ASSERT_EQ(model.intervals->errors.size(), Intervals::replicas);
  const Plan made = plan(logistic_regression().constants(data.schema, data.rows()),
                         {.epsilon = 1, .delta = 1e-6}, {.mechanism = "whitened"});
  const auto again = [&] { return bootstrap_intervals(model, made, {}); };
  setenv("OMP_NUM_THREADS", "1", 1);  // NOLINT(concurrency-mt-unsafe): one thread here
  const auto alone = again();
  unsetenv("OMP_NUM_THREADS");  // NOLINT(concurrency-mt-unsafe)
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->errors, model.intervals->errors);
  EXPECT_EQ(again()->errors, model.intervals->errors);
}

TEST(Intervals, AreInTheFileAndAnswersOnlyWhereAsked) {
  const TempDir folder;
  const std::string path = folder.path() + "/model.json";
  const Dataset data = people(300, 2, 1);
  const Release release = fit_with(data, {.epsilon = 1, .delta = 1e-6}, 1, {});
  EXPECT_TRUE(release.model().answers.empty());
  write_release(path, release);
  const LinearModel read = read_release(path).model();
  ASSERT_TRUE(read.intervals);
  EXPECT_EQ(read.intervals->errors, release.model().intervals->errors);
  nlohmann::json file = to_json(release);
  EXPECT_EQ(file["model"]["intervals"]["half_width"][1], release.model().intervals->half_width(1));
  const auto refused = [&](const auto& edit) {
    nlohmann::json edited = file;
    edit(edited["model"]["intervals"]);
    EXPECT_THROW(static_cast<void>(release_from_json(edited, "m")), BadInput) << edited.dump();
  };
  refused([](nlohmann::json& i) { i["errors"].erase(0); });
  refused([](nlohmann::json& i) { i["errors"][3].erase(0); });
  refused([](nlohmann::json& i) { i["errors"][3][0] = "wide"; });
  refused([](nlohmann::json& i) { i["multiplier"] = 1.0; });
  refused([](nlohmann::json& i) { i["note"] = ""; });
}

TEST(Intervals, OfARowHoldItsProbability) {
  const Dataset data = people(400, 3, 5);
  LinearModel model = fit_with(data, {.epsilon = 1, .delta = 1e-6}, 2, {}).model();
  const std::vector<double> positive = predict_probabilities(model, data.view());
  const std::vector<ProbabilityInterval> around = predict_intervals(model, data.view());
  ASSERT_EQ(around.size(), positive.size());
  for (std::size_t i = 0; i < positive.size(); ++i) {
    EXPECT_LT(around[i].low, positive[i]);
    EXPECT_LT(positive[i], around[i].high);
  }
  // By hand, for one row: a score's errors are sums of coefficients' errors, which are not
  // independent.
  double sum = 0;
  for (const auto& error : model.intervals->errors) {
    const double of_score = data.view().dot(7, error);
    sum += of_score * of_score / Intervals::replicas;
  }
  const double z = data.view().dot(7, model.draws[0]);
  EXPECT_NEAR(predict_intervals(model, data.view())[7].high,
              1 / (1 + std::exp(-z - Intervals::multiplier * std::sqrt(sum))), 1e-12);
  model.intervals.reset();
  EXPECT_THROW(static_cast<void>(predict_intervals(model, data.view())), BadInput);
}

TEST(Intervals, AreFiniteWhateverTheTable) {
  support::Thinned sweep(5);
  for (const auto& [name, data, epsilon] : support::odd_tables()) {
    for (const bool add_remove : {false, true}) {
      if (sweep.skips()) continue;
      Budget budget{.epsilon = epsilon, .delta = 1e-6};
      if (add_remove) budget.adjacency = Adjacency::add_remove;
      const LinearModel model =
          fit_with(data, budget, 4, {}, add_remove ? data.rows() + 20 : 0).model();
      ASSERT_TRUE(model.intervals) << name;
      for (std::size_t j = 0; j < data.features(); ++j) {
        EXPECT_TRUE(std::isfinite(model.intervals->half_width(j))) << name << " " << j;
        EXPECT_GT(model.intervals->half_width(j), 0) << name << " " << j;
      }
    }
  }
}

TEST(Intervals, AreNotMadeFromWhatReleasesNoMoments) {
  const Dataset data = people(300, 2, 1);
  EXPECT_THROW(static_cast<void>(fit_with(data, {.epsilon = 1, .delta = 1e-6}, 1, {}, 0, "path")),
               BadInput);
}

TEST(Intervals, CanBeInterrupted) {
  const TempDir folder;
  const Dataset data = people(300, 2, 1);
  std::atomic<bool> stop = false;
  FitOptions options;
  options.checkpoint = folder.path() + "/run";
  options.stop = &stop;
  options.intervals_progress = [&](std::uint64_t, std::uint64_t) { stop = true; };
  setenv("OMP_NUM_THREADS", "1", 1);  // NOLINT(concurrency-mt-unsafe): the caller does a replica
  EXPECT_THROW(static_cast<void>(fit_with(data, {.epsilon = 1, .delta = 1e-6}, 6, options)),
               Interrupted);
  unsetenv("OMP_NUM_THREADS");  // NOLINT(concurrency-mt-unsafe)
  options.stop = nullptr;
  options.intervals_progress = {};
  const Release after = fit_with(data, {.epsilon = 1, .delta = 1e-6}, 6, options);
  const Release whole = fit_with(data, {.epsilon = 1, .delta = 1e-6}, 6, {});
  EXPECT_EQ(after.model().draws, whole.model().draws);
  EXPECT_EQ(after.model().intervals->errors, whole.model().intervals->errors);
}

}  // namespace intervals_test
}  // namespace gibbsite
