// The constants of a certificate by the names that files have, and the problem back from them.
#include "certificate/problem_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "gibbsite/core/error.hpp"
#include "gibbsite/model/model.hpp"

namespace gibbsite {
namespace problem_json_test {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// That text, the same from what is read of it, and an error that names each field that is missing.
template <class Mechanism>
void expect_constants(const auto& problem, const Mechanism& mechanism, const std::string& text) {
  const json constants = problem_json(problem, mechanism);
  EXPECT_EQ(constants.dump(), text);
  EXPECT_EQ(problem_json(problem_from_json(constants, mechanism), mechanism).dump(), text);
  const std::set<std::string> optional{"trim",      "offset_bound",     "center_norm",
                                       "curvature", "max_abs_residual", "lipschitz",
                                       "questions"};
  for (const auto& item : constants.items()) {
    if (optional.contains(item.key())) continue;
    json without = constants;
    without.erase(item.key());
    EXPECT_THAT([&] { problem_from_json(without, mechanism); },
                ThrowsMessage<BadInput>(HasSubstr("constants: " + item.key() + ": is missing")));
  }
}

TEST(ProblemJson, OfLinearModelsHasWhatTheirLossNeeds) {
  const Mechanism path = mechanism_named("path");
  FeatureSpace space{.features = 3, .row_norm = 2};
  Problem centered = glm("logistic").constants(space, 100);
  centered.center_norm = 5;
  expect_constants(centered, path,
                   R"({"center_norm":5.0,"curvature":0.25,"features":3,"intercept":false,)"
                   R"("lipschitz":2.0,"loss":"logistic","max_abs_residual":1.0,"row_norm":2.0,)"
                   R"("rows":100})");
  space.label = LabelKind::amount;
  space.label_bound = 4;
  expect_constants(glm("huber").constants(space, 100), path,
                   R"({"curvature":1.0,"features":3,"intercept":false,"label_bound":4.0,)"
                   R"("lipschitz":2.0,"loss":"huber","max_abs_residual":1.0,"row_norm":2.0,)"
                   R"("rows":100})");
  space.label = LabelKind::count;
  space.label_bound = 1;
  space.offset_bound = 0.5;
  expect_constants(glm("poisson").constants(space, 100), path,
                   R"({"curvature":1.0,"features":3,"intercept":false,"lipschitz":2.0,)"
                   R"("loss":"poisson","max_abs_residual":1.0,"offset_bound":0.5,"row_norm":2.0,)"
                   R"("rows":100})");
}

TEST(ProblemJson, OfFamiliesHasLevelsOrARange) {
  const FamilyMechanism conjugate = ConjugateDraw{};
  const FamilyMechanism trimmed = TrimmedDraw{};
  expect_constants(
      FamilyProblem{.family = Family::bernoulli, .rows = 30, .levels = 2, .prior = {1, 2}},
      conjugate, R"({"family":"bernoulli","levels":2,"prior":[1.0,2.0],"rows":30})");
  FamilyProblem shares{.family = Family::categorical, .rows = 30, .levels = 3, .prior = {1, 1, 1}};
  shares.trim = {0.05, 0};
  expect_constants(
      shares, trimmed,
      R"({"family":"categorical","levels":3,"prior":[1.0,1.0,1.0],"rows":30,"trim":[0.05]})");
  expect_constants(
      FamilyProblem{.family = Family::rate, .rows = 30, .lo = 0, .hi = 8, .prior = {1, 0.25}},
      conjugate, R"({"family":"rate","prior":[1.0,0.25],"range":[0.0,8.0],"rows":30})");
  FamilyProblem mean{.family = Family::mean, .rows = 30, .lo = 0, .hi = 4, .variance = 2};
  mean.prior = {0.25};
  mean.trim = {1, 3};
  expect_constants(mean, trimmed,
                   R"({"family":"mean","prior":[0.25],"range":[0.0,4.0],"rows":30,)"
                   R"("trim":[1.0,3.0],"variance":2.0})");
}

TEST(ProblemJson, OfNetworksHasParentsOrTheirLimitsAndThePriorOfDraws) {
  NetworkProblem p{.rows = 5000, .levels = {4, 2, 2}, .limits = {.parents = 2, .cells = 40}};
  p.trim = 0.02;
  expect_constants(p, NetworkMechanism{NetworkTrimmed{}},
                   R"({"levels":[4,2,2],"limits":{"cells":40,"parents":2},"network":"private",)"
                   R"("prior":0.5,"rows":5000,"trim":0.02})");
  p.trim.reset();
  p.parents = {{}, {0}, {0, 1}};
  expect_constants(p, NetworkMechanism{NetworkCounts{}},
                   R"({"levels":[4,2,2],"network":"given","parents":[[],[0],[0,1]],"rows":5000})");
}

TEST(ProblemJson, OfAnEvaluationHasItsCounts) {
  expect_constants(HistogramProblem{.rows = 5000, .cells = 20},
                   HistogramMechanism{HistogramCounts{}}, R"({"histogram":20,"rows":5000})");
  expect_constants(SchemaProblem{.rows = 5000, .columns = 14}, SchemaMechanism{SchemaQuestions{}},
                   R"({"asked_columns":14,"questions":4,"rows":5000})");
  expect_constants(SchemaProblem{.rows = 5000, .columns = 14, .questions = 1},
                   SchemaMechanism{SchemaQuestions{}}, R"({"asked_columns":14,"rows":5000})");
  const SchemaMechanism questions = SchemaQuestions{};
  const json people =
      problem_json(SchemaProblem{.rows = 5000, .columns = 14, .rows_of_person = 2}, questions);
  EXPECT_EQ(people.dump(),
            R"({"asked_columns":14,"people":5000,"questions":4,"rows_of_person":2})");
  EXPECT_EQ(problem_from_json(people, questions).rows_of_person, 2U);
}

}  // namespace problem_json_test
}  // namespace gibbsite
