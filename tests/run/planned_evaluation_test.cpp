// What is asked of a released evaluation is refused before the table is read, in the words of every
// front end; a table that breaks its cap is refused after.
#include "gibbsite/run/planned_evaluation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace planned_evaluation_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string model_text(const std::string& name) {
  std::ifstream file(GIBBSITE_SOURCE_DIR + ("/tests/golden/" + name + ".json"), std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void expect_refused(const std::string& model, const EvaluationRequest& request,
                    const std::string& what) {
  try {
    PlannedEvaluation(model_text(model), "m.json", request);
    ADD_FAILURE() << what;
  } catch (const BadInput& error) {
    EXPECT_THAT(error.message().plain(), HasSubstr(what));
  }
}

TEST(PlannedEvaluation, RefusesBeforeTheTableIsRead) {
  expect_refused("v2/network", {}, "epsilon: is for a model of classes, m.json holds a network");
  expect_refused("v2/poisson", {}, "epsilon: is for a model of classes, m.json predicts counts");
  expect_refused("v3/path", {.rows_cap = 9}, "rows_cap: has a meaning with adjacency add-remove");
  expect_refused("v3/path", {.adjacency = Adjacency::add_remove}, "rows_cap: is missing");
  expect_refused("v3/path",
                 {.adjacency = Adjacency::add_remove, .rows_cap = std::uint64_t{1} << 39},
                 "rows_cap: must be from 1 to 2^38");
  expect_refused("v3/path", {.bins = 9}, "bins");
  expect_refused("v3/path", {.epsilon = 0}, "epsilon: must be");
  expect_refused("v2/softmax", {.threshold = 0.5}, "threshold: m.json is of several classes");
}

TEST(PlannedEvaluation, PlansByPublicNumbers) {
  const PlannedEvaluation planned(model_text("v3/path"), "m.json", {.epsilon = 20});
  const HistogramPlan plan = planned.plan(1000);
  EXPECT_EQ(plan.problem.rows, 1000U);
  EXPECT_EQ(planned.shape(plan).bins.bins(), plan.problem.cells / 2);
  std::vector<std::string> said;
  const Note note = [&](const Message& line) { said.push_back(line.plain()); };
  planned.warn_of_void(note);
  planned.look_at(plan, nullptr, note);
  EXPECT_THAT(said, ElementsAre(HasSubstr("epsilon: ε = ")));
  PlannedEvaluation(model_text("v3/seeded"), "m.json", {}).warn_of_void(note);
  EXPECT_THAT(said.back(), HasSubstr("model: m.json is void"));

  const PlannedEvaluation capped(model_text("v3/path"), "m.json",
                                 {.adjacency = Adjacency::add_remove, .rows_cap = 1000});
  EXPECT_EQ(capped.plan(7).problem.rows, 1000U);
  EXPECT_THROW(static_cast<void>(capped.plan(1001)), BadInput);
}

}  // namespace planned_evaluation_test
}  // namespace gibbsite
